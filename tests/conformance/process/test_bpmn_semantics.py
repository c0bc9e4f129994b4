"""Processes run as BPMN 2.0.2 says: each test has the sentence of the standard that it holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.app.inbox import items as inbox
from penstock.app.process.work_items import WorkItems
from penstock.errors import ProcessState, Refused, StatusConflict
from penstock.lang.compile import check_document, compile_document
from penstock.lang.process.bpmn.writer import write_bpmn
from penstock.lang.read import read_document
from penstock.net.soundness import verdict
from tests.conformance.process.make import as_bytes, compiled, event, findings, gateway, process, rules, service, task
from tests.conformance.process.running import Failing, Office, awaited


def sub(id: str, **fields: Any) -> dict[str, Any]:
    return task(id, type="subProcess", **fields)


# ---- 13.5.6: end events ----------------------------------------------------------------------------------------------
# «For a None End Event: the token that arrives is consumed … the Process instance is completed if all start nodes have
# been visited and no token is left»: an end event takes every token that arrives, and the last one ends the instance.


FORK = [event("S", "start"), gateway("F", "parallel"), task("A"), task("B"), event("E", "end")]
TO_ONE_END: dict[str, tuple[list[dict[str, Any]], list[str]]] = {
    "side by side": (FORK, ["S>F", "F>A", "F>B", "A>E", "B>E"]),
    "a merge before it": ([*FORK, gateway("M")], ["S>F", "F>A", "F>B", "A>M", "B>M", "M>E"]),
    "no task at all": (FORK[:2] + FORK[-1:] + [task("A")], ["S>F", "F>E", "F>A", "A>E"]),
    "two flows of one task": (
        [event("S", "start"), task("A"), task("B"), event("E", "end")], ["S>A", "A>B", "A>E", "B>E"],
    ),
    "beside a task that goes on": (
        [event("S", "start"), task("A"), event("N", "boundary", "timer", attached_to="A", timer={"duration": "PT1H"},
         interrupting=False), task("B"), event("E", "end")], ["S>A", "A>E", "N>B", "B>E"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TO_ONE_END)
def test_several_tokens_may_reach_one_end_event(name: str) -> None:
    """P-X.25, BPMN 13.5.6: nothing is wrong with it, with and without reductions."""
    elements, ways = TO_ONE_END[name]
    document = process(elements, ways)
    assert findings(document) == []
    net = compiled(document).net
    assert verdict(net, each=True).status == verdict(net, each=True, reductions=False).status == "sound"


def test_a_token_at_the_end_does_not_hide_a_deadlock() -> None:
    """P-X.25, P-X.12: what is stuck beside a token that has ended is told as stuck, and before what."""
    choice = gateway("X", conditions={"X>C": "c == 1", "default": "X>D"})
    join = gateway("J", "parallel")
    elements = [*FORK, choice, task("C"), task("D"), join]
    ways = ["S>F", "F>A", "F>B", "A>E", "B>X", "X>C", "X>D", "C>J", "D>J", "J>E"]
    unsound = [finding for finding in findings(process(elements, ways)) if finding.rule == "unsound"]
    assert [finding.node for finding in unsound] == ["J"] and "waits for" in unsound[0].message


def test_work_that_would_be_done_twice_is_still_told() -> None:
    """P-X.25: what runs side by side and meets before a task without waiting would do the task twice."""
    elements = [*FORK, task("T")]
    assert rules(process(elements, ["S>F", "F>A", "F>B", "A>T", "B>T", "T>E"])) == ["unsound"]


@awaited
async def test_the_last_token_ends_the_instance(tmp_path: Path) -> None:
    """P-X.11, BPMN 13.5.6: it goes on until the last token has arrived."""
    async with Office(tmp_path) as office:
        run = await office.start(process(*TO_ONE_END["side by side"]))
        await run.submit("A")
        assert (run.status, run.open()) == ("RUNNING", ["B"])
        await run.submit("B")
        assert run.status == "COMPLETED" and len(run.of("fired", "E")) == 2


# ---- 10.5.1, 13.5.1: signals -----------------------------------------------------------------------------------------
# «A Signal … is broadcast … any number of catching events that are active can react»: who listens at the moment of the
# throw has it, who begins to listen later does not.


def listening(interrupting: bool, *more: dict[str, Any], ways: tuple[str, ...] = ()) -> dict[str, Any]:
    handler = [sub("H", triggered_by_event=True), task("N", parent="H"),
               event("HS", "start", "signal", signal="news", interrupting=interrupting, parent="H")]  # fmt: skip
    elements = [event("S", "start"), event("T", "throw", "signal", signal="news", payload={"n": 7}), *handler, *more]
    return process(elements, ["S>T", "HS>N", *ways])


@pytest.mark.parametrize("interrupting", [True, False])
@awaited
async def test_a_signal_reaches_the_event_sub_process_around_it(tmp_path: Path, interrupting: bool) -> None:
    """P-X.25, BPMN 10.5.1: thrown in the step in which its level began, and the last thing there."""
    document = listening(interrupting, event("E", "end"), ways=("T>E",))
    async with Office(tmp_path) as office:
        run = await office.start(document)
        assert (run.status, run.open(), run.look.variables) == ("RUNNING", ["N"], {"n": 7})
        assert len(run.of("signal.used")) == 1 and bool(run.of("fired", "E")) is not interrupting
        await run.submit("N")
        assert run.status == "COMPLETED"


@pytest.mark.parametrize("end", [True, False])
@pytest.mark.parametrize("interrupting", [True, False])
@awaited
async def test_a_signal_reaches_the_boundary_around_it(tmp_path: Path, interrupting: bool, end: bool) -> None:
    """P-X.25, BPMN 10.5.1: thrown inside a sub-process, by a throw or an end event, caught at its border."""
    throw = event("T", "end" if end else "throw", "signal", signal="news", parent="P")
    border = event("B", "boundary", "signal", signal="news", attached_to="P", interrupting=interrupting)
    elements = [sub("P"), event("PS", "start", parent="P"), throw, border, task("N"), task("Z")]
    document = process(elements, ["PS>T", "P>Z", "B>N"])
    async with Office(tmp_path) as office:
        run = await office.start(document)
        assert sorted(run.open()) == (["N"] if interrupting else ["N", "Z"])
        assert len(run.of("signal.used")) == 1


@awaited
async def test_who_listens_later_does_not_hear_a_signal(tmp_path: Path) -> None:
    """P-X.25, BPMN 10.5.1: the catch event right after the throw is not active when it is thrown."""
    catch = event("C", "catch", "signal", signal="news")
    elements = [event("S", "start"), event("T", "throw", "signal", signal="news"), catch, task("Z")]
    async with Office(tmp_path) as office:
        run = await office.start(process(elements, ["S>T", "T>C", "C>Z"]))
        other = await office.start(process([task("Q")], [], process_definition_id="q"))
        await other.submit("Q")
        assert (run.status, run.open(), run.of("signal.used")) == ("RUNNING", [], [])
        await run.p.signal(run.id, "news")
        await run.rest()
        assert run.open() == ["Z"]


@awaited
async def test_a_name_is_never_computed(tmp_path: Path) -> None:
    """P-X.25: who waits hears the name as it was drawn, which whoever throws it says, too."""
    name = "pay ${secrets.key} ${'x'}"
    catch = event("C", "catch", "signal", signal=name)
    elements = [event("S", "start"), gateway("G", "parallel"), catch, task("Z"), task("A"),
                event("T", "throw", "signal", signal=name)]  # fmt: skip
    async with Office(tmp_path) as office:
        run = await office.start(process(elements, ["S>G", "G>C", "C>Z", "G>A", "A>T"]))
        assert [one.name for one in run.look.waiting if one.for_ == "signal"] == [name]
        await run.submit("A")
        assert run.open() == ["Z"]


@pytest.mark.parametrize("interrupting", [True, False])
@awaited
async def test_a_signal_of_a_called_process_reaches_the_callers_boundary(tmp_path: Path, interrupting: bool) -> None:
    """P-X.25, BPMN 10.5.1: the call activity is active when the called process throws, and ends right after it."""
    (tmp_path / "child.json").write_bytes(
        as_bytes(process([event("S", "start"), event("T", "end", "signal", signal="news")], ["S>T"]))
    )
    border = event("B", "boundary", "signal", signal="news", attached_to="C", interrupting=interrupting)
    caller = process([sub("C", orchestration={"sub_process": "child.json"}), border, task("N"), task("Z")],
                     ["C>Z", "B>N"], process_definition_id="caller")  # fmt: skip
    (tmp_path / "caller.json").write_bytes(as_bytes(caller))
    async with Office(tmp_path) as office:
        run = await office.start(tmp_path / "caller.json")
        await run.until(lambda one: "N" in one.open())
        assert sorted(run.open()) == (["N"] if interrupting else ["N", "Z"])


# ---- 10.6.6, 13.4.4: event-based gateway -----------------------------------------------------------------------------
# «The first event in the configuration … wins … The Event-Based Gateway has pass-through semantics for a set of
# incoming branches … exactly one of the outgoing branches is activated afterwards».

CATCHES = {
    "a catch event": event("C", "catch", "message", message="yes"),
    "a receive task": service("C", bpmn="receiveTask", message="yes"),
}


@pytest.mark.parametrize("kind", CATCHES)
@pytest.mark.parametrize("flows", [1, 2])
@awaited
async def test_an_event_gateway_takes_one_way(tmp_path: Path, kind: str, flows: int) -> None:
    """P-2.2.3, P-X.25, BPMN 13.4.4: also where two flows lead to one catch; and it has waited for it already."""
    late = event("T", "catch", "timer", timer={"duration": "PT1H"})
    document = process([gateway("G", "eventBased"), CATCHES[kind], late, task("B"), task("D")], ["C>B", "T>D", "G>T"])
    document["transitions"] += [{"id": f"g{i}", "source": "G", "target": "C"} for i in range(flows)]
    async with Office(tmp_path) as office:
        run = await office.start(document)
        await run.p.signal(run.id, "yes", {"n": 1})
        await run.rest()
        assert run.open() == ["B"] and len(run.of("fired", "C")) == 1 and run.look.variables == {"n": 1}
        await run.submit("B")
        assert run.status == "COMPLETED"


# ---- 10.3.8, 13.3.6: loops -------------------------------------------------------------------------------------------
# «testBefore: Flag that controls whether the loop condition is evaluated at the beginning (testBefore = true) or at the
# end (testBefore = false) of the loop iteration.» «loopMaximum: Serves as a cap on the number of iterations.»

HEAD = (
    '<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL" id="d" targetNamespace="t" '
    'xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" xmlns:camunda="http://camunda.org/schema/1.0/bpmn">'
)


def in_file(inner: str, more: str = "") -> dict[str, Any]:
    text = f'{HEAD}{more}<bpmn:process id="p" isExecutable="true">{inner}</bpmn:process></bpmn:definitions>'
    found: dict[str, Any] = read_document(text.encode(), name="p.bpmn").data
    return found


def looped(attributes: str, condition: str | None = "more") -> dict[str, Any]:
    condition = "" if condition is None else f"<bpmn:loopCondition>{condition}</bpmn:loopCondition>"
    loop = f"<bpmn:standardLoopCharacteristics {attributes}>{condition}</bpmn:standardLoopCharacteristics>"
    return in_file(
        f'<bpmn:userTask id="A">{loop}</bpmn:userTask><bpmn:userTask id="Z"/>'
        '<bpmn:sequenceFlow id="f" sourceRef="A" targetRef="Z"/>'
    )


ROUNDS = {
    "while, at once false": ('testBefore="true"', False, [], 0),
    "do while, at once false": ('testBefore="false"', False, [False], 1),
    "not said": ("", False, [False], 1),
    "while": ('testBefore="true"', True, [True, False], 2),
    "do while": ("", True, [True, True, False], 3),
    "while, with a cap": ('testBefore="true" loopMaximum="2"', True, [True, True], 2),
    "do while, with a cap": ('loopMaximum="2"', True, [True, True], 2),
}


@pytest.mark.parametrize("name", ROUNDS)
@awaited
async def test_a_loop_tests_before_or_after(tmp_path: Path, name: str) -> None:
    """P-X.25, BPMN 10.3.8: testBefore, which is false where it is not said, and loopMaximum."""
    attributes, more, answers, rounds = ROUNDS[name]
    async with Office(tmp_path) as office:
        run = await office.start(looped(attributes), {"more": more})
        for answer in answers:
            assert run.open() == ["A.each"]
            await run.submit("A.each", {"more": answer})
        assert run.open() == ["Z"] and len([x for x in run.items() if x.node == "A.each"]) == rounds


@pytest.mark.parametrize("before", [True, False])
@awaited
async def test_a_loop_of_a_sub_process_tests_before_or_after(tmp_path: Path, before: bool) -> None:
    """P-X.25, BPMN 10.3.8: the same for a sub-process; what is collected of no round at all is an empty list."""
    multi = {"mode": "loop", "again": "loopCounter < 0", "test_before": before, "collect": "all"}
    elements = [sub("S", multi=multi), task("A", parent="S"), task("Z")]
    async with Office(tmp_path) as office:
        run = await office.start(process(elements, ["S>Z"]))
        assert run.open() == (["Z"] if before else ["A"])
        assert run.look.variables == ({"all": []} if before else {})


def test_a_loop_says_when_it_ends() -> None:
    """P-X.25, BPMN 10.3.8: «the looping behavior MAY be underspecified …»: «the loop cannot be formally executed»."""
    assert rules(looped("", None)) == rules(looped('testBefore="true" loopMaximum="3"', None)) == ["missing_field"]
    assert [(x.rule, x.severity) for x in findings(looped('loopMaximum="3"', None))] == [("loop_by_count", "warning")]
    assert rules(looped('loopMaximum="some"')) == ["wrong_type"]
    again = write_bpmn(looped('testBefore="true" loopMaximum="3"'))
    assert 'testBefore="true"' in again
    assert read_document(again.encode(), name="p.bpmn").data["activities"][0]["multi"] == {
        "mode": "loop", "again": "more", "most": 3, "test_before": True,
    }  # fmt: skip


# ---- 10.3.8: counters ------------------------------------------------------------------------------------------------

COUNTED = ("done", "total", "open", "failed", "last", "round", "index", "item")


@awaited
async def test_a_sub_process_does_not_hide_variables(tmp_path: Path) -> None:
    """P-X.8: a variable keeps its value inside a sub-process and its loop, and what is written there is there after."""
    values = {name: f"my {name}" for name in COUNTED}
    for multi in (None, {"mode": "loop", "most": 1}, {"items": "['x']", "item": "who"}, {"count": 1, "item": "who"}):
        test = " && ".join(f"{name} == 'my {name}'" for name in COUNTED)
        choice = gateway("G", parent="S", conditions={"G>A": test, "default": "G>B"})
        elements = [sub("S", multi=multi), choice, task("A", parent="S"), task("B", parent="S"), task("Z")]
        async with Office(tmp_path) as office:
            run = await office.start(process(elements, ["G>A", "G>B", "S>Z"]), dict(values))
            assert run.open() == ["A"], multi
            await run.submit("A", {name: f"new {name}" for name in COUNTED})
            variables = run.look.variables
            assert {name: variables[name] for name in COUNTED} == {name: f"new {name}" for name in COUNTED}


UNTIL = {
    "the count": ("nrOfCompletedInstances >= 1", {}, True),
    "all of them": ("nrOfInstances == 3 && nrOfActiveInstances == 2", {}, True),
    "our words": ("done >= 1 && total == 3 && open == 2", {}, True),
    "a variable of that name": ("total > 100", {"total": 500}, True),
    "the variable, not the count": ("total < 100", {"total": 500}, False),
    "both": ("total > 100 && nrOfInstances == 3", {"total": 500}, True),
    "a member": ("order.total > 100", {"order": {"total": 500}}, True),
    "a text": ("word == 'nrOfInstances'", {"word": "nrOfInstances"}, True),
    "what has begun": ("numberOfInstances == numberOfCompletedInstances + numberOfActiveInstances", {}, True),
    "the instance": ("loopCounter >= 0 && loopCounter < 3", {}, True),
}


@pytest.mark.parametrize("name", UNTIL)
@pytest.mark.parametrize("mode", ["parallel", "sequential"])
@awaited
async def test_counters_do_not_hide_variables(tmp_path: Path, mode: str, name: str) -> None:
    """P-X.25, BPMN 10.3.8: nrOfInstances and its like are counts; a variable of the instance is itself."""
    text, variables, ends = UNTIL[name]
    if mode == "sequential":
        text = text.replace("open == 2", "open == 0").replace("ActiveInstances == 2", "ActiveInstances == 0")
    multi = {"mode": mode, "count": 3, "until": text}
    async with Office(tmp_path) as office:
        run = await office.start(process([task("A", multi=multi), task("Z")], ["A>Z"]), variables)
        await run.submit("A.each")
        assert (run.open() == ["Z"]) is ends


@awaited
async def test_an_instance_knows_its_number(tmp_path: Path) -> None:
    """P-X.25, BPMN 10.3.8: «loopCounter» is the number of the instance, inside it."""
    multi = {"mode": "parallel", "items": "['a', 'b']"}
    choice = gateway("G", parent="S", conditions={"G>A": "loopCounter == 1", "default": "G>B"})
    elements = [sub("S", multi=multi), choice, task("A", parent="S"), task("B", parent="S")]
    async with Office(tmp_path) as office:
        run = await office.start(process(elements, ["G>A", "G>B"]))
        assert sorted(run.open()) == ["A", "B"]


# ---- 13.3.4: call activity -------------------------------------------------------------------------------------------
# «the Call Activity … transfers control to the called element … the called Process … completes»: nobody but the called
# process ends it, or an event at its border.


def calling(folder: Path, *more: dict[str, Any], ways: tuple[str, ...] = ()) -> Path:
    """A process whose activity «C» calls one with the task «A»; «Z» follows."""
    (folder / "child.json").write_bytes(as_bytes(process([task("A")], [], process_definition_id="child")))
    calls = sub("C", orchestration={"sub_process": "child.json"})
    caller = process([calls, task("Z"), *more], ["C>Z", *ways], process_definition_id="caller")
    (folder / "caller.json").write_bytes(as_bytes(caller))
    return folder / "caller.json"


MOVES = {
    "submit": ("submit", {}), "take over": ("take_over", None), "hand on": ("reassign", "user:lee"),
    "start": ("start", None), "give it to an agent": ("set_mode", "MANUAL"),
}  # fmt: skip


@pytest.mark.parametrize("how", MOVES)
@awaited
async def test_nobody_answers_for_a_called_process(tmp_path: Path, how: str) -> None:
    """P-X.4, BPMN 13.3.4: the entry of a call is moved by the called process alone, and that goes on."""
    verb, given = MOVES[how]
    async with Office(tmp_path) as office:
        run = await office.begin(calling(tmp_path))
        await run.until(lambda one: one.states() == {"C": "IN_PROGRESS"} and len(office.p.runs()) == 2)
        (inner,) = [one for one in office.p.runs() if one.id != run.id]
        child = type(run)(office, inner.id)
        await child.until(lambda one: one.open() == ["A"])
        before = len(run.lines)
        with pytest.raises((Refused, StatusConflict)):
            await run.do("C", verb, given)
        assert (child.status, child.open(), run.states(), len(run.lines)) == (
            "RUNNING", ["A"], {"C": "IN_PROGRESS"}, before,
        )  # fmt: skip
        await child.submit("A")
        await run.until(lambda one: one.open() == ["Z"])


@awaited
async def test_the_inbox_offers_nothing_for_a_call_that_runs(tmp_path: Path) -> None:
    """P-X.4, P-X.13: what only the called process can end is nobody's work, and every door says so."""
    async with Office(tmp_path) as office:
        run = await office.begin(calling(tmp_path))
        await run.until(lambda one: one.states() == {"C": "IN_PROGRESS"} and len(office.p.runs()) == 2)
        await run.until(lambda _: any(x.open() == ["A"] for x in (type(run)(office, r.id) for r in office.p.runs())))
        may = ("process.work", "process.approve")
        assert [shown.node for shown in inbox.page(office.p, "kim", may).items] == ["A"]
        shown = inbox.item(office.p, "kim", may, f"{run.id}/C")
        assert shown.moves == []
        items = WorkItems(office.p)
        id = f"{run.id}~{run.item('C').no}"
        for act in (items.submit(id, {}, by="kim"), items.take_over(id, by="kim"), items.delegate(id, "lee", by="kim")):
            with pytest.raises(ProcessState):
                await act
        assert shown.delegations == inbox.item(office.p, "kim", may, f"{run.id}/C").delegations == []


def test_a_call_that_is_late_is_not_handed_to_others() -> None:
    """P-X.4: others could only have ended what it calls; the field changes nothing there, and that is told."""
    late = sub("C", orchestration={"sub_process": "child"}, due="PT1H", escalate_to=["user:lee"])
    odd = [x.where.pointer for x in findings(process([late], [])) if x.rule == "idle_field"]
    assert odd == ["/activities/0/escalate_to"]


# ---- files: what is not imported -------------------------------------------------------------------------------------


def told(text: str) -> list[tuple[str, str, str]]:
    """Severity, rule and message of what a file's check says of things that are not imported."""
    found = check_document(f"{HEAD}{text}</bpmn:definitions>".encode(), name="p.bpmn")[1]
    return [(x.severity, x.rule, x.message) for x in found if x.rule in ("left_out", "bpmn_not_supported")]


RUN = '<bpmn:process id="p" name="Orders" isExecutable="true"><bpmn:userTask id="A" name="A"/></bpmn:process>'
POOLS = (
    '<bpmn:collaboration id="c"><bpmn:participant id="x" name="We" processRef="p"/>'
    '<bpmn:participant id="y" name="Partner" processRef="q"/></bpmn:collaboration>'
)
DROPPED = {
    "not executable": ('<bpmn:process id="q" name="Other"><bpmn:userTask id="B"/></bpmn:process>', "warning", "Other"),
    "nothing in it": ('<bpmn:process id="q" name="Other" isExecutable="true"/>', "warning", "Other"),
    "named by its pool": ('<bpmn:process id="q"/>', "warning", "Partner"),
    "only what is not run": (
        '<bpmn:process id="q" name="Other"><bpmn:transaction id="B"/></bpmn:process>', "warning", "Other"),
    "executable, too": (
        '<bpmn:process id="q" name="Other" isExecutable="true"><bpmn:userTask id="B"/></bpmn:process>', "error",
        "Other"),
    "a global task": ('<bpmn:globalUserTask id="q" name="Other"/>', "warning", "Other"),
}  # fmt: skip


@pytest.mark.parametrize("name", DROPPED)
@pytest.mark.parametrize("first", [True, False])
def test_what_is_not_imported_of_a_file_is_named(name: str, first: bool) -> None:
    """P-X.25: of several processes one is imported; each other one is named, whatever lies in it, and is not lost."""
    other, severity, named = DROPPED[name]
    text = POOLS + (other + RUN if first else RUN + other)
    ((level, _, message),) = told(text)
    named = "Orders" if first and severity == "error" else named  # of two that could be run the first one is
    assert level == severity and named in message
    document = read_document(f"{HEAD}{text}</bpmn:definitions>".encode(), name="p.bpmn").data
    if severity == "warning":
        assert [x["id"] for x in document["activities"]] == ["A"]
        again = write_bpmn(document)
        assert 'id="q"' in again
        assert read_document(again.encode(), name="p.bpmn").data["left_out"] == document["left_out"]


def test_a_process_without_elements_is_told() -> None:
    """P-X.25: a file in whose processes nothing is drawn begins nothing, and the others are named."""
    assert rules(in_file("")) == ["no_start"]
    assert len(told('<bpmn:process id="p"/><bpmn:process id="q"/>')) == 1


# ---- files: who does a task ------------------------------------------------------------------------------------------

JOB = '<bpmn:extensionElements><zeebe:taskDefinition type="charge-card"/>{}</bpmn:extensionElements>'
WORKED = {
    "a job type": (f'<bpmn:serviceTask id="A">{JOB.format("")}</bpmn:serviceTask>', "charge-card"),
    "a job type of a send task": (f'<bpmn:sendTask id="A">{JOB.format("")}</bpmn:sendTask>', "charge-card"),
    "a job type of a rule task": (
        f'<bpmn:businessRuleTask id="A">{JOB.format("")}</bpmn:businessRuleTask>', "charge-card"),
    "a topic": ('<bpmn:serviceTask id="A" camunda:type="external" camunda:topic="charge"/>', "charge"),
    "a class": ('<bpmn:serviceTask id="A" camunda:class="com.example.Charge"/>', "com.example.Charge"),
    "an expression": ('<bpmn:serviceTask id="A" camunda:delegateExpression="${charge}"/>', "charge"),
}  # fmt: skip


@pytest.mark.parametrize("name", WORKED)
def test_what_a_worker_does_is_a_job_and_no_persons_work(name: str) -> None:
    """P-X.25, P-X.28: a job of that type, the retries and headers that the file says; no person, and no tool."""
    text, type = WORKED[name]
    document = in_file(text)
    (task_,) = document["activities"]
    assert task_["job"] == type and "tool" not in task_ and "message" not in task_
    (node,) = [node for node in compile_document(as_bytes(document), name="p.json").net.nodes if node.id == "A"]
    assert node.effect is not None and (node.effect.executor, node.effect.args["type"]) == ("job", type)


@pytest.mark.parametrize("name", WORKED)
def test_a_tool_does_it_where_our_setting_says_so(name: str) -> None:
    """P-X.25: our own settings win, so a task with a job type is still a tool's."""
    text = WORKED[name][0]
    own = '<penstock:settings xmlns:penstock="urn:penstock:bpmn:1">{"tool": "charge"}</penstock:settings>'
    inside = "<bpmn:extensionElements>"
    text = text.replace(inside, inside + own) if inside in text else (
        text.replace("/>", f">{inside}{own}</bpmn:extensionElements></bpmn:serviceTask>"))
    (task_,) = in_file(text)["activities"]
    assert task_["tool"] == "charge" and "job" not in task_


@awaited
async def test_a_tool_that_fails_is_nobodys_work(tmp_path: Path) -> None:
    """P-X.25: a tool that fails is a failure of the activity, not a person's work."""
    own = '<penstock:settings xmlns:penstock="urn:penstock:bpmn:1">{"tool": "charge-card"}</penstock:settings>'
    async with Office(tmp_path, tools={"charge-card": Failing("no such tool")}) as office:
        run = await office.start(in_file(f'<bpmn:serviceTask id="A">{JOB.format(own)}</bpmn:serviceTask>'))
        assert (run.status, run.states()) == ("TERMINATED", {"A": "CANCELLED"})


IGNORED = {
    "data out": '<camunda:inputOutput><camunda:outputParameter name="x"><camunda:script>1</camunda:script>'
    "</camunda:outputParameter></camunda:inputOutput>",
    "data in": '<zeebe:ioMapping><zeebe:input source="=x" target="y z"/></zeebe:ioMapping>',
    "a listener": '<camunda:executionListener event="start" class="com.example.L"/>',
    "listeners": '<zeebe:executionListeners><zeebe:executionListener type="x"/></zeebe:executionListeners>',
}


@pytest.mark.parametrize("name", IGNORED)
def test_what_an_extension_would_change_is_told(name: str) -> None:
    """P-X.25: a modeler's extension that changes data or what runs is kept, and it is told that it is not read."""
    text = f'<bpmn:userTask id="A"><bpmn:extensionElements>{IGNORED[name]}</bpmn:extensionElements></bpmn:userTask>'
    assert [(x.severity, x.rule, x.node) for x in findings(in_file(text))] == [("warning", "left_out", "A")]


def test_our_own_settings_come_first() -> None:
    """P-X.25: who says in the file that an agent or a person does it has said who does it."""
    own = '<penstock:settings xmlns:penstock="urn:penstock:bpmn:1">{"agent_mode": "MANUAL"}</penstock:settings>'
    (task_,) = in_file(f'<bpmn:serviceTask id="A">{JOB.format(own)}</bpmn:serviceTask>')["activities"]
    assert not {"tool", "job"} & task_.keys() and task_["agent_mode"] == "MANUAL"


def test_a_service_task_of_nobody_is_told() -> None:
    """P-X.25, P-3.1.2: a person does it, as the seed has it; that the file does not say so is told."""
    document = in_file('<bpmn:serviceTask id="A"/>')
    assert [(x.severity, x.rule) for x in findings(document)] == [("warning", "service_by_person")]
    document["activities"][0]["agent_mode"] = "MANUAL"
    assert findings(document) == []


# ---- 10.5.1, 13.5.3: errors and escalations --------------------------------------------------------------------------


@pytest.mark.parametrize("code", ["E1", "E2", ""])
@awaited
async def test_an_error_of_a_called_process_is_caught_by_its_code(tmp_path: Path, code: str) -> None:
    """P-X.4, BPMN 10.5.1: «the Error is caught by an Event on the boundary of the Activity» that called; by its code,
    or by one that has none; another code does not catch it."""
    (tmp_path / "child.json").write_bytes(as_bytes(process([event("T", "end", "error", code="E1")], [])))
    border = event("B", "boundary", "error", code=code, attached_to="C")
    caller = process([sub("C", orchestration={"sub_process": "child.json"}), border, task("H"), task("Z")],
                     ["C>Z", "B>H"], process_definition_id="caller")  # fmt: skip
    (tmp_path / "caller.json").write_bytes(as_bytes(caller))
    async with Office(tmp_path) as office:
        run = await office.begin(tmp_path / "caller.json")
        await run.until(lambda one: one.open() == ["H"] or one.status == "TERMINATED")
        assert (run.status, run.open()) == (("TERMINATED", []) if code == "E2" else ("RUNNING", ["H"]))
        assert code != "E2" or (run.look.failure or {})["code"] == "E1"


@awaited
async def test_an_error_in_one_instance_ends_all_of_them(tmp_path: Path) -> None:
    """P-X.25, BPMN 13.3.2: an error interrupts the activity as a whole: its other instances are not waited for."""
    border = event("C", "boundary", "error", attached_to="S", code="X")
    elements = [sub("S", multi={"count": 3}), task("B", parent="S"), event("E", "end", "error", code="X", parent="S")]
    async with Office(tmp_path) as office:
        run = await office.start(process([*elements, border, task("H"), task("N")], ["B>E", "S>N", "C>H"]))
        await run.submit("B")
        assert run.open() == ["H"] and [x.status for x in run.items() if x.node == "B"].count("CANCELLED") == 2


@pytest.mark.parametrize("turned", [False, True])
@awaited
async def test_an_escalation_is_caught_by_its_own_code_first(tmp_path: Path, turned: bool) -> None:
    """P-X.25, BPMN 10.5.1: a catch event without a code catches what no other one catches, wherever it is drawn."""
    events = [event("C", "boundary", "escalation", attached_to="S", interrupting=False),
              event("D", "boundary", "escalation", code="E1", attached_to="S", interrupting=False)]  # fmt: skip
    elements = [sub("S"), task("A", parent="S"), event("T", "end", "escalation", code="E1", parent="S")]
    more = [*(events[::-1] if turned else events), task("H"), task("K"), task("N")]
    async with Office(tmp_path) as office:
        run = await office.start(process([*elements, *more], ["A>T", "S>N", "C>H", "D>K"]))
        await run.submit("A")
        assert sorted(run.open()) == ["K", "N"]


def test_an_escalation_of_a_called_process_is_not_promised() -> None:
    """P-X.25: escalations end with the instance that throws them; a boundary that waits for one is told."""
    border = event("B", "boundary", "escalation", code="E1", attached_to="C", interrupting=False)
    elements = [sub("C", orchestration={"sub_process": "child"}), border, task("H")]
    assert ("escalation_of_call", "B") in [(x.rule, x.node) for x in findings(process(elements, ["B>H"]))]


# ---- 13.5.5: compensation --------------------------------------------------------------------------------------------
# «If the Activity is a Sub-Process … its compensation … (a) custom handler … or (b) default compensation: the contained
# Activities are compensated in reverse order».


def undoing(activity: str, own: str | None = None) -> dict[str, Any]:
    inner = [service("A", parent="S", compensation="undo_a"), service("B", parent="S", compensation="undo_b")]
    throw = event("T", "throw", "compensation", **({"activity": activity} if activity else {}))
    elements = [service("F", compensation="undo_f"), sub("S", compensation=own), *inner, task("M"), throw, task("Z")]
    return process(elements, ["F>S", "A>B", "S>M", "M>T", "T>Z"])


@pytest.mark.parametrize(
    ("activity", "own", "undone"),
    [
        ("S", None, ["undo_b", "undo_a"]),
        ("S", "undo_s", ["undo_s"]),
        ("", None, ["undo_b", "undo_a", "undo_f"]),
        ("", "undo_s", ["undo_s", "undo_f"]),
        ("A", None, ["undo_a"]),
    ],
)
@awaited
async def test_a_sub_process_is_compensated(tmp_path: Path, activity: str, own: str | None, undone: list[str]) -> None:
    """P-X.18, P-X.37, BPMN 13.5.5: by its own handler, else by those of what was done in it, the latest first."""
    async with Office(tmp_path) as office:
        run = await office.start(undoing(activity, own))
        await run.submit("M")
        assert [tool for tool, _ in office.undone] == undone and run.open() == ["Z"]


@awaited
async def test_a_sub_process_that_did_not_end_has_no_handler_of_its_own(tmp_path: Path) -> None:
    """P-X.18, BPMN 13.5.5: only what has completed is compensated: of one that failed, what was done in it."""
    inner = [service("A", parent="S", compensation="undo_a"), service("B", parent="S")]
    elements = [sub("S", compensation="undo_s"), *inner]
    async with Office(tmp_path, agents={"B": Failing("x")}) as office:
        run = await office.start(process(elements, ["A>B"]))
        assert run.status == "TERMINATED" and [tool for tool, _ in office.undone] == ["undo_a"]


# ---- files: attributes that change how an element runs ---------------------------------------------------------------

CATCH = (
    '<bpmn:intermediateCatchEvent id="C"><bpmn:eventDefinitionRef>d1</bpmn:eventDefinitionRef>'
    "</bpmn:intermediateCatchEvent>"
)
CHANGED = {
    "two tokens to begin": '<bpmn:userTask id="X" startQuantity="2"/>',
    "two tokens behind it": '<bpmn:userTask id="X" completionQuantity="2"/>',
    "an event for each instance": '<bpmn:userTask id="X"><bpmn:multiInstanceLoopCharacteristics behavior="One">'
    "<bpmn:loopCardinality>2</bpmn:loopCardinality></bpmn:multiInstanceLoopCharacteristics></bpmn:userTask>",
}


@pytest.mark.parametrize("name", CHANGED)
def test_an_attribute_that_changes_the_run_is_refused_by_name(name: str) -> None:
    """P-X.25, BPMN 10.3, 10.5, 10.6: what would run otherwise than the standard says is not run."""
    text = f'{HEAD}<bpmn:process id="p">{CHANGED[name]}<bpmn:userTask id="A"/></bpmn:process></bpmn:definitions>'
    found = check_document(text.encode(), name="p.bpmn")[1]
    assert [(x.severity, x.rule, x.node) for x in found] == [("error", "bpmn_not_supported", "X")]
    plain = text.replace('="2"', '="1"').replace('"One"', '"All"')
    assert "bpmn_not_supported" not in [x.rule for x in check_document(plain.encode(), name="p.bpmn")[1]]


def test_an_event_definition_beside_the_process_is_read() -> None:
    """P-X.25, BPMN 10.5.1: «eventDefinitionRefs: references the reusable EventDefinitions»: it has a trigger."""
    timer = '<bpmn:timerEventDefinition id="d1"><bpmn:timeDuration>PT1H</bpmn:timeDuration></bpmn:timerEventDefinition>'
    (catch,) = in_file(CATCH, timer)["events"]
    assert (catch["trigger"], catch["timer"]) == ("timer", {"duration": "PT1H"})
    text = f'{HEAD}<bpmn:process id="p">{CATCH}</bpmn:process></bpmn:definitions>'
    assert "bpmn_not_supported" in [x.rule for x in check_document(text.encode(), name="p.bpmn")[1]]
