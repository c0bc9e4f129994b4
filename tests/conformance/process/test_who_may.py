"""Who may do the work is never widened: what a file says about people is heeded, or the work is for nobody.

A finding says so. Every door asks: the inbox of Python, HTTP's and the command line's have the same check.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from penstock import Penstock
from penstock.app.inbox.respond import answer
from penstock.app.process.definitions import Processes
from penstock.app.process.work_items import WorkItems
from penstock.errors import ApproverDenied, ProcessScope
from penstock.lang.compile import check_document
from penstock.store.work_items import WorkRow

BPMN = "http://www.omg.org/spec/BPMN/20100524/MODEL"
USERS: dict[str, dict[str, Any]] = {
    "kim": {"roles": ["clerk"]}, "lee": {"roles": ["manager"]}, "ria": {"roles": ["auditor"]},
    "moe": {"roles": [], "groups": ["clerk"]}, "boss": {"roles": ["admin"]},
}  # fmt: skip
EVERYBODY = tuple(USERS)


def file(attributes: str = "", inner: str = "", *, extension: str = "", more: str = "") -> bytes:
    """A process with one user task; the namespaces are those that modelers write."""
    inside = f"<extensionElements>{extension}</extensionElements>" if extension else ""
    return (
        f'<definitions xmlns="{BPMN}" xmlns:camunda="http://camunda.org/schema/1.0/bpmn"'
        ' xmlns:flowable="http://flowable.org/bpmn" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0"'
        f' targetNamespace="x">{more}<process id="who" isExecutable="true"><startEvent id="s"/>'
        f'<userTask id="a" name="Check" {attributes}>{inside}{inner}</userTask><endEvent id="e"/>'
        '<sequenceFlow id="f1" sourceRef="s" targetRef="a"/><sequenceFlow id="f2" sourceRef="a" targetRef="e"/>'
        "</process></definitions>"
    ).encode()


def assigned(text: str) -> str:
    return f"<resourceAssignmentExpression><formalExpression>{text}</formalExpression></resourceAssignmentExpression>"


def jbpm(to: str, text: str) -> str:
    assignment = f"<assignment><from>{text}</from><to>{to}</to></assignment>"
    return f"<dataInputAssociation><targetRef>{to}</targetRef>{assignment}</dataInputAssociation>"


def at_the_door(folder: Path, work: Callable[[Penstock], Awaitable[Any]]) -> Any:
    async def scene() -> Any:
        async with Penstock(folder / "store.db", profile="production") as door:
            for user, body in USERS.items():
                door.register("user", user, body)
            return await work(door)

    return asyncio.run(scene())


async def opened(door: Penstock, run: str) -> WorkRow:
    """The work item of a run, as soon as its user was chosen."""
    while not (rows := [row for row in WorkItems(door).each(limit=200) if row.run_id == run]):
        door.raise_if_stopped()
        await asyncio.sleep(0.01)
    return rows[0]


def who_may(folder: Path, source: bytes | dict[str, Any], variables: dict[str, Any] | None = None) -> set[str]:
    """Who of all users can begin the work, each on a run of their own; started by boss."""

    async def work(door: Penstock) -> set[str]:
        row = (await Processes(door).define(source, by="boss")).release
        able = set()
        for user in EVERYBODY:
            run = await WorkItems(door).initiate(row.name, by="boss", input=variables or {})
            item = await opened(door, run)
            inbox = {waiting.run for waiting in door.inbox.each(user)}
            try:
                await WorkItems(door).start(f"{run}~{item.firing}", by=user)
            except (ApproverDenied, ProcessScope):
                refused = run
            else:
                refused = ""
                able.add(user)
            assert (run in inbox) == (refused == ""), "whoever sees it may do it, and nobody else"
        return able

    return set(at_the_door(folder, work))


CLERK = {"clerk": "kim"}
#: what is written → the variables, and who may
HEEDED: dict[str, tuple[bytes, dict[str, Any], set[str]]] = {
    "nobody is named": (file(), {}, set(EVERYBODY)),
    "an assignee": (file('camunda:assignee="kim"'), {}, {"kim"}),
    "an assignee in a variable": (file('camunda:assignee="${clerk}"'), CLERK, {"kim"}),
    "the same of another modeler": (file('flowable:assignee="#{clerk}"'), CLERK, {"kim"}),
    "an assignee in another spelling": (file('camunda:assignee="${clerk}"'), {"clerk": "KIM"}, {"kim"}),
    "a variable that names nobody": (file('camunda:assignee="${clerk}"'), {}, set()),
    "a variable that is no name": (file('camunda:assignee="${clerk}"'), {"clerk": 7}, set()),
    "a member of a variable": (file('camunda:assignee="${order.clerk}"'), {"order": CLERK}, {"kim"}),
    "FEEL": (file(extension='<zeebe:assignmentDefinition assignee="=clerk"/>'), CLERK, {"kim"}),
    "a list in FEEL": (
        file(extension='<zeebe:assignmentDefinition candidateUsers="=[&quot;kim&quot;, &quot;lee&quot;]"/>'),
        {}, {"kim", "lee"},
    ),
    "candidate users": (file('camunda:candidateUsers="kim, lee"'), {}, {"kim", "lee"}),
    "a list of users in a variable": (
        file('camunda:candidateUsers="${them}"'), {"them": ["kim", "lee"]}, {"kim", "lee"},
    ),
    "names with commas in a variable": (file('camunda:candidateUsers="${them}"'), {"them": "kim,lee"}, {"kim", "lee"}),
    "a name around a variable": (file('camunda:assignee="${part}e"'), {"part": "le", "e": "kim"}, {"lee"}),
    "a variable inside a name": (file('camunda:candidateGroups="${part}er"'), {"part": "manag"}, {"lee"}),
    "two variables as one name": (file('camunda:assignee="${begin}${end}"'), {"begin": "l", "end": "ee"}, {"lee"}),
    "a text with a comma in an expression": (
        file("camunda:candidateUsers=\"ria, ${word == 'x, kim' ? 'boss' : 'lee'}\""), {"word": "y"}, {"ria", "lee"},
    ),
    "one group": (file('camunda:candidateGroups="clerk"'), {}, {"kim"}),
    "several groups": (file('camunda:candidateGroups="clerk,manager"'), {}, {"kim", "lee"}),
    "users and groups": (file('camunda:candidateUsers="ria" camunda:candidateGroups="manager"'), {}, {"ria", "lee"}),
    "a group in a variable": (file('camunda:candidateGroups="${role}"'), {"role": "manager"}, {"lee"}),
    "an assignee beside candidates": (file('camunda:assignee="kim" camunda:candidateUsers="lee"'), {}, {"kim"}),
    "a group that nobody is in": (file('camunda:candidateGroups="nobody_is"'), {}, set()),
    "who began it": (file('camunda:assignee="${initiator}"'), {}, {"boss"}),
    "who began it, and another": (file('camunda:candidateUsers="${initiator}, ria"'), {}, {"boss", "ria"}),
    "a potential owner": (file(inner=f"<potentialOwner>{assigned('group(clerk)')}</potentialOwner>"), {}, {"kim"}),
    "potential owners": (
        file(inner=f"<potentialOwner>{assigned('user(ria), group(clerk), group(manager)')}</potentialOwner>"),
        {}, {"ria", "kim", "lee"},
    ),
    "a potential owner by name": (file(inner=f"<potentialOwner>{assigned('manager')}</potentialOwner>"), {}, {"lee"}),
    "a human performer": (file(inner=f"<humanPerformer>{assigned('kim')}</humanPerformer>"), {}, {"kim"}),
    "a performer in a variable": (
        file(inner=f"<humanPerformer>{assigned('${clerk}')}</humanPerformer>"), CLERK, {"kim"},
    ),
    "a group of jBPM": (file(inner=jbpm("_A1_GroupIdInputX", "clerk,manager")), {}, {"kim", "lee"}),
    "an actor of jBPM": (file(inner=jbpm("ActorId", "#{clerk}")), CLERK, {"kim"}),
    "a resource": (
        file(inner="<potentialOwner><resourceRef>r1</resourceRef></potentialOwner>",
             more='<resource id="r1" name="manager"/>'),
        {}, {"lee"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", HEEDED)
def test_p_x_13_who_a_file_names_may_and_nobody_else(tmp_path: Path, case: str) -> None:
    """P-X.13: the candidates of a work item are those whom the file names."""
    source, variables, able = HEEDED[case]
    assert who_may(tmp_path, source, variables) == able


NOT_UNDERSTOOD = {
    "a bean": file('camunda:assignee="${staff.pick(execution)}"'),
    "a bean among names": file('camunda:candidateUsers="${staff.all(a, b)}"'),
    "a conditional": file('camunda:assignee="${a != null ? a : b.c()}"'),
    "a binding": file(
        inner='<potentialOwner><resourceRef>r9</resourceRef><resourceParameterBinding parameterRef="p">'
        "<formalExpression>x</formalExpression></resourceParameterBinding></potentialOwner>"
    ),
    "an unknown resource": file(inner="<potentialOwner><resourceRef>r9</resourceRef></potentialOwner>"),
    "owners by another call": file(inner=f"<potentialOwner>{assigned('membersOf(clerk), kim')}</potentialOwner>"),
    "owners but for one": file(inner=f"<potentialOwner>{assigned('group(clerk) and not user(kim)')}</potentialOwner>"),
    "commas alone": file('camunda:candidateUsers=" , "'),
    "an unknown modeler": file('x:assignee="kim" xmlns:x="http://example.com/x"'),
    "no modeler": file('assignee="kim"'),
    "an unknown extension": file(extension="<flowable:potentialOwner>kim</flowable:potentialOwner>"),
    "an input without a value": file(inner=jbpm("GroupId", "")),
    "an empty owner": file(inner='<potentialOwner name="someone"/>'),
}


@pytest.mark.parametrize("case", NOT_UNDERSTOOD)
def test_p_x_13_what_is_not_understood_is_for_nobody_and_said(tmp_path: Path, case: str) -> None:
    _, findings = check_document(NOT_UNDERSTOOD[case], name="who.bpmn")
    (finding,) = [finding for finding in findings if finding.rule == "assignment_not_understood"]
    assert (finding.severity, finding.where.pointer) == ("warning", "/activities/0/candidates/0")
    assert finding.where.line and finding.hint and "nobody" in finding.message
    assert who_may(tmp_path, NOT_UNDERSTOOD[case]) == set()


def process(**more: Any) -> dict[str, Any]:
    activity = {"id": "a", "name": "A", "type": "humanTask", **more}
    return {"process_definition_id": "who", "process_definition_name": "Who", "activities": [activity]}


def test_p_x_13_candidates_of_a_definition(tmp_path: Path) -> None:
    """Our own field: users, roles, groups and variables; none of them is for nobody (C-34)."""
    both = process(candidates=["user:ria", "group:clerk", "user:${clerk}"])
    assert who_may(tmp_path / "1", both, {"clerk": "lee"}) == {"ria", "moe", "lee"}
    assert who_may(tmp_path / "2", process(candidates=[])) == set()


@pytest.mark.parametrize("rule", ["round_robin", "least_loaded"])
def test_p_x_13_roles_that_nobody_holds_are_not_for_anybody(tmp_path: Path, rule: str) -> None:
    """P-X.13: it was for everybody when the host had nobody to choose; now it waits for who gets the role."""
    roles = [{"id": "chemist", "name": "Chemist", "assignment_rule": rule}]
    assert who_may(tmp_path, {**process(role="chemist"), "roles": roles}) == set()


def test_p_x_13_who_began_it_when_nobody_did(tmp_path: Path) -> None:
    """P-X.13: a run that an event began has no initiator, and its work is not for anybody."""

    async def work(door: Penstock) -> set[str]:
        roles = [{"id": "i", "name": "I", "assignment_rule": "initiator"}]
        row = (await Processes(door).define({**process(role="i"), "roles": roles}, by="boss")).release
        await door.start(door.hash_of(row.net), {}, trigger={"type": "event"})
        return {user for user in EVERYBODY if door.inbox.each(user)}

    assert at_the_door(tmp_path, work) == set()


def test_p_x_13_roles_that_nobody_holds_are_a_finding(tmp_path: Path) -> None:
    """Said when it is released, with its place; where no users are registered at all, nobody can say."""

    async def work(door: Penstock) -> list[Any]:
        done = await Processes(door).define(file('camunda:candidateGroups="clerk,chemist" camunda:assignee=""'))
        return done.findings

    (finding,) = [finding for finding in at_the_door(tmp_path, work) if finding.rule == "nobody_holds"]
    assert finding.severity == "warning" and "chemist" in finding.message and finding.node == "a"


def test_p_x_25_who_may_is_written_into_bpmn_and_read_again(tmp_path: Path) -> None:
    """What BPMN has no place for is kept beside it, so nobody is added on the way."""
    from penstock.lang.process.bpmn.reader import read_bpmn
    from penstock.lang.process.bpmn.writer import write_bpmn

    for source, _, _ in HEEDED.values():
        data, _ = read_bpmn(source.decode())
        again, _ = read_bpmn(write_bpmn(data))
        assert again["activities"][0].get("candidates") == data["activities"][0].get("candidates")
        assert again["activities"][0].get("role") == data["activities"][0].get("role")


def test_p_x_13_no_door_lets_others_do_it(tmp_path: Path) -> None:
    """P-X.13: begun, handed in, taken over, passed on or switched by others: refused, whichever way; whom it
    is for can."""

    async def work(door: Penstock) -> None:
        row = (await Processes(door).define(file('camunda:assignee="${clerk}"'), by="boss")).release
        run = await WorkItems(door).initiate(row.name, by="boss", input=CLERK)
        item, items = await opened(door, run), WorkItems(door)
        id = f"{run}~{item.firing}"
        for by in ("lee", "boss", "Kim2"):
            for refused in (
                items.start(id, by=by),
                items.submit(id, {}, by=by),
                items.take_over(id, by=by),
                items.delegate(id, "user:lee", by=by),
                items.set_mode(id, "AUTONOMOUS", by=by),
                door.respond(run, "a", {}, by=by),
                answer(door, run, "a", {}, by=by, permissions=["process.work"]),
            ):
                with pytest.raises((ApproverDenied, ProcessScope)):
                    await refused
        with pytest.raises(ApproverDenied):
            await door.respond(run, "a", {})
        await items.submit(id, {}, by="KIM")
        assert items.find(id).row.status == "DONE"

    at_the_door(tmp_path, work)


def test_p_x_13_nor_does_the_command_line(tmp_path: Path) -> None:
    """P-X.13: the program that people call asks the same."""
    from tests.cli.shell import Shell, Zygote

    zygote = Zygote()
    try:
        penstock = Shell(tmp_path, zygote)
        penstock.write("who.bpmn", file('camunda:candidateUsers="kim"').decode())
        for user, body in USERS.items():
            penstock("registry", "put", "user", user, json.dumps(body))
        penstock("process", "define", "who.bpmn", "--by", "boss")
        penstock("process", "start", "who", "--by", "boss", code=4)
        (item,) = penstock("items", "ls", "--json").json()
        run = item["id"].partition("~")[0]
        for words in (
            ("items", "start", item["id"]),
            ("items", "submit", item["id"]),
            ("respond", run, "a", "{}"),
        ):
            refused = penstock(*words, "--by", "lee", "--json", code=2).error()
            assert "403" in refused["code"], refused
        penstock("items", "submit", item["id"], "--by", "kim")
    finally:
        zygote.close()
