"""Who may start a process is never widened: what its file says is heeded by every door through which a person starts.

What is not understood is for nobody, and a finding says so. Messages, timers and call activities are no persons.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock import Penstock
from penstock.app.process.definitions import Processes
from penstock.app.process.work_items import WorkItems
from penstock.app.releases import start_release
from penstock.app.releases.schedules import TenantSchedules
from penstock.errors import ProcessScope, StarterDenied
from penstock.lang.compile import check_document
from penstock.lang.process.bpmn.reader import read_bpmn
from penstock.lang.process.bpmn.writer import write_bpmn
from penstock.store.schedules import ScheduleRow
from tests.conformance.process.test_who_may import BPMN, EVERYBODY, assigned, at_the_door

SPACES = {
    "camunda": "http://camunda.org/schema/1.0/bpmn", "flowable": "http://flowable.org/bpmn",
    "activiti": "http://activiti.org/bpmn", "x": "http://example.com/x",
}  # fmt: skip


def file(attributes: str = "", inner: str = "", *, extension: str = "", more: str = "", start: str = "") -> bytes:
    inside = f"<extensionElements>{extension}</extensionElements>" if extension else ""
    spaces = "".join(f' xmlns:{prefix}="{space}"' for prefix, space in SPACES.items())
    return (
        f'<definitions xmlns="{BPMN}"{spaces} targetNamespace="x">{more}'
        f'<process id="begins" isExecutable="true" {attributes}>{inside}{inner}'
        f'<startEvent id="s">{start}</startEvent><userTask id="a" name="Check"/><endEvent id="e"/>'
        '<sequenceFlow id="f1" sourceRef="s" targetRef="a"/><sequenceFlow id="f2" sourceRef="a" targetRef="e"/>'
        "</process></definitions>"
    ).encode()


async def initiated(door: Penstock, name: str, user: str) -> None:
    await WorkItems(door).initiate(name, by=user, initiator="kim")


async def started(door: Penstock, name: str, user: str) -> None:
    await start_release.start(door, name, {}, trigger={"type": "manual", "source": f"user:{user}"}, by=user)


WAYS: dict[str, Callable[[Penstock, str, str], Awaitable[None]]] = {"initiate": initiated, "start": started}


def who_may(folder: Path, source: bytes | dict[str, Any]) -> set[str]:
    """Who of all users can start it; every way gives the same answer."""

    async def work(door: Penstock) -> set[str]:
        row = (await Processes(door).define(source, by="boss")).release
        able: dict[str, set[str]] = {way: set() for way in WAYS}
        for way, begin in WAYS.items():
            for user in EVERYBODY:
                before = door.store.last_run()
                try:
                    await begin(door, row.name, user)
                except (StarterDenied, ProcessScope):
                    assert door.store.last_run() == before, "refused, and started all the same"
                else:
                    able[way].add(user)
        assert able["initiate"] == able["start"]
        return able["start"]

    return set(at_the_door(folder, work))


RESOURCE = '<resource id="r1" name="manager"/>'
HEEDED: dict[str, tuple[bytes, set[str]]] = {
    "nobody is named": (file(), set(EVERYBODY)),
    "a group": (file('camunda:candidateStarterGroups="clerk"'), {"kim"}),
    "several groups": (file('camunda:candidateStarterGroups="clerk, manager"'), {"kim", "lee"}),
    "a user": (file('camunda:candidateStarterUsers="ria"'), {"ria"}),
    "users and groups": (
        file('flowable:candidateStarterUsers="ria,boss" flowable:candidateStarterGroups="clerk"'),
        {"ria", "boss", "kim"},
    ),
    "another spelling": (file('activiti:candidateStarterUsers="RIA"'), {"ria"}),
    "a potential owner": (file(inner=f"<potentialOwner>{assigned('clerk')}</potentialOwner>"), {"kim"}),
    "users and groups of an owner": (
        file(inner=f"<potentialOwner>{assigned('user(ria), group(manager)')}</potentialOwner>"), {"ria", "lee"},
    ),
    "a performer": (file(inner=f"<humanPerformer>{assigned('ria')}</humanPerformer>"), {"ria"}),
    "a resource": (
        file(inner="<potentialOwner><resourceRef>r1</resourceRef></potentialOwner>", more=RESOURCE), {"lee"},
    ),
    "a potential starter": (
        file(extension=f"<activiti:potentialStarter>{assigned('clerk, user(ria)')}</activiti:potentialStarter>"),
        {"kim", "ria"},
    ),
    "a potential starter by calls": (
        file(extension=f"<activiti:potentialStarter>{assigned('group(clerk), user(ria)')}</activiti:potentialStarter>"),
        {"kim", "ria"},
    ),
    "a role that nobody has": (file('camunda:candidateStarterGroups="chemist"'), set()),
}  # fmt: skip


@pytest.mark.parametrize("case", HEEDED)
def test_p_x_13_who_may_start_is_heeded(tmp_path: Path, case: str) -> None:
    """The administrator has no way around it either, and naming another as initiator helps nobody."""
    source, able = HEEDED[case]
    assert who_may(tmp_path, source) == able


NOT_UNDERSTOOD: dict[str, bytes] = {
    "an expression": file('camunda:candidateStarterGroups="${groups}"'),
    "FEEL": file('camunda:candidateStarterUsers="=clerk"'),
    "commas alone": file('camunda:candidateStarterUsers=" , "'),
    "an unknown modeler": file('x:candidateStarterGroups="clerk"'),
    "no modeler": file('candidateStarterGroups="clerk"'),
    "an unknown extension": file(extension="<x:potentialStarter>clerk</x:potentialStarter>"),
    "an empty owner": file(inner='<potentialOwner name="someone"/>'),
}


@pytest.mark.parametrize("case", NOT_UNDERSTOOD)
def test_p_x_13_starters_that_are_not_understood_are_nobody(tmp_path: Path, case: str) -> None:
    _, findings = check_document(NOT_UNDERSTOOD[case], name="begins.bpmn")
    (finding,) = [finding for finding in findings if finding.rule == "starters_not_understood"]
    assert (finding.severity, finding.where.pointer) == ("warning", "/starters/0")
    assert finding.where.line and finding.hint and "nobody" in finding.message
    assert who_may(tmp_path, NOT_UNDERSTOOD[case]) == set()


def process(**more: Any) -> dict[str, Any]:
    activity = {"id": "a", "name": "A", "type": "humanTask"}
    return {"process_definition_id": "begins", "process_definition_name": "B", "activities": [activity], **more}


def test_p_x_13_starters_of_a_definition(tmp_path: Path) -> None:
    assert who_may(tmp_path / "1", process(starters=["user:ria", "group:clerk", "role:manager"])) == {
        "ria", "moe", "lee"
    }  # fmt: skip
    assert who_may(tmp_path / "2", process(starters=[])) == set()


def test_p_x_13_starters_that_nobody_is_are_a_finding(tmp_path: Path) -> None:
    async def work(door: Penstock) -> list[Any]:
        source = file('camunda:candidateStarterGroups="clerk,chemist" camunda:candidateStarterUsers="zoe"')
        return (await Processes(door).define(source)).findings

    findings = [finding for finding in at_the_door(tmp_path, work) if finding.rule == "nobody_holds"]
    assert len(findings) == 2 and all(finding.severity == "warning" for finding in findings)
    assert {name for name in ("chemist", "zoe", "clerk") if any(name in f.message for f in findings)} == {
        "chemist", "zoe"
    }  # fmt: skip


def test_p_x_25_who_may_start_is_written_into_bpmn_and_read_again() -> None:
    for source, _ in HEEDED.values():
        data, _ = read_bpmn(source.decode())
        again, _ = read_bpmn(write_bpmn(data))
        assert again.get("starters") == data.get("starters")


# ---- other ways ------------------------------------------------------------------------------------------------------


def test_messages_and_calls_are_no_persons(tmp_path: Path) -> None:
    """An event begins it, and so does another process; nobody of them was asked who they are."""
    message = '<messageEventDefinition messageRef="m"/>'
    called = {**process(starters=[]), "process_definition_id": "called"}
    call = {"id": "c", "name": "C", "type": "subProcess", "bpmn": "callActivity",
            "orchestration": {"sub_process": "called"}}  # fmt: skip
    caller = {**process(), "process_definition_id": "caller", "activities": [call]}

    async def work(door: Penstock) -> None:
        source = file('camunda:candidateStarterGroups="chemist"', start=message, more='<message id="m" name="order"/>')
        await Processes(door).define(source, by="boss")
        await Processes(door).define(called, by="boss")
        await Processes(door).define(caller, by="boss")
        assert len((await door.send_event("order", {}, id="e1")).started) == 1
        run = await WorkItems(door).initiate("caller", by="kim")
        while not any(row.parent == run for row in door.store.runs(tenant=door.tenant)):
            door.raise_if_stopped()
            await asyncio.sleep(0.01)

    at_the_door(tmp_path, work)


def test_a_schedule_is_not_fired_by_hand_by_who_may_not_start(tmp_path: Path) -> None:
    async def work(door: Penstock) -> None:
        row = (await Processes(door).define(process(starters=["user:ria"]), by="boss")).release
        times = ScheduleRow(door.tenant, row.name, row.version, "0 8 * * *", "UTC", msgspec.msgpack.encode([{}]),
                            "allow", "one", 0, None, 5000)  # fmt: skip
        door.store.move_releases((), schedules=[times])
        schedules = TenantSchedules(door)
        with pytest.raises(StarterDenied):
            await schedules.fire(row.name, by="kim")
        with pytest.raises(StarterDenied):
            await schedules.backfill(row.name, 0, 90_000_000, by="kim")
        assert not door.store.runs(tenant=door.tenant)
        assert (await schedules.fire(row.name, by="ria")).runs

    at_the_door(tmp_path, work)


def test_a_fork_is_a_start(tmp_path: Path) -> None:
    """Whoever may not start an instance does not get one by forking another's."""

    async def work(door: Penstock) -> None:
        row = (await Processes(door).define(process(starters=["user:ria"]), by="boss")).release
        run = await WorkItems(door).initiate(row.name, by="ria")
        with pytest.raises(StarterDenied):
            door.fork(run, 1, by="kim")
        assert len(door.store.runs(tenant=door.tenant)) == 1
        assert door.fork(run, 1, by="ria") != run

    at_the_door(tmp_path, work)


def test_http_asks(tmp_path: Path) -> None:
    """Both routes that start a process, and its forks: 403 with a code, and nothing is started."""
    from tests.api.serving import serving

    with contextlib.ExitStack() as stack:
        server = stack.enter_context(serving(tmp_path, "serve"))
        admin = server.client(key=Path(server.store).with_name("penstock.db.admin-key").read_text().strip())
        for user, roles in (("kim", ["operator", "clerk"]), ("ria", ["operator"])):
            assert admin.put(f"/users/{user}", json={"roles": roles}).status_code in (200, 201)
        made = [admin.post("/keys", json={"name": user, "user": user}).json()["token"] for user in ("kim", "ria")]
        kim, ria = (server.client(key=token) for token in made)
        defined = admin.post("/processes/definitions", json=process(starters=["role:clerk"]))
        assert defined.status_code == 201, defined.text
        for client, status in ((ria, 403), (kim, 201), (admin, 403)):
            assert client.post("/processes/definitions/begins/instances", json={}).status_code == status
            answer = client.post("/runs", json={"definition": "begins", "input": {}})
            assert answer.status_code == status, answer.text
        run = answer.json().get("id") or kim.get("/runs").json()["items"][0]["id"]
        refused = ria.post(f"/runs/{run}/fork", json={"fact": 1})
        assert refused.status_code == 403, refused.text
        assert len(kim.get("/runs").json()["items"]) == 2
