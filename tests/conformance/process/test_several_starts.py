"""Processes that may begin in several ways: start events as alternatives, and what instantiates (BPMN 10.5.2)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.app.process.work_items import WorkItems
from penstock.app.releases.schedules import TenantSchedules
from penstock.errors import ProcessState, ProcessUnreadable
from penstock.kernel import command as C
from penstock.net.soundness import verdict
from tests.api.sites import STORES, database
from tests.conformance.process.http.world import world
from tests.conformance.process.make import (
    compiled,
    event,
    findings,
    from_xml,
    gateway,
    in_a_file,
    process,
    service,
    task,
)
from tests.conformance.process.running import PATIENCE_S, Office, awaited
from tests.conformance.process.test_starts import Desk, desk

Doc = dict[str, Any]


@pytest.fixture(params=STORES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with database() if request.param == "postgresql" else contextlib.nullcontext(str(tmp_path / "s.db")) as store:
        yield store


def several(*starts: Doc, **top: Any) -> Doc:
    """Behind each start event lies a task of its own: A behind S, and so on."""
    pairs = [(one["id"], chr(ord("A") + n)) for n, one in enumerate(starts)]
    return process([*starts, *(task(id) for _, id in pairs)], [f"{start}>{id}" for start, id in pairs], **top)


MESSAGE = event("M", "start", "message", message="order")
OTHER = event("N", "start", "message", message="call")
SIGNAL = event("G", "start", "signal", signal="news")
TIMER = event("T", "start", "timer", timer={"cycle": "R/PT1H"})
BY_HAND = event("S", "start")


@awaited
async def test_each_start_event_begins_an_instance_of_its_own(place: str, tmp_path: Path) -> None:
    """P-X.25, BPMN 10.5.2: «Each Start Event is an independent event. That is, a Process instance SHALL be generated
    when the Start Event is triggered.»"""
    async with desk(place, tmp_path) as one:
        await one.define(several(MESSAGE, OTHER, SIGNAL, BY_HAND))
        for name, open in (("order", "A"), ("call", "B"), ("news", "C")):
            (run,), _ = await one.tell(name, {"n": name})
            assert one.open(run) == [open] and one.door.view(run).variables == {"n": name}
        assert await one.tell("nobody") == ([], [])
        assert one.open(await one.begin("p", n=1)) == ["D"], "by hand: the one without a trigger"
        assert len(one.door.runs()) == 4


@awaited
async def test_a_signal_begins_once_in_each_way_that_listens(place: str, tmp_path: Path) -> None:
    """P-X.25, BPMN 10.5.2: each start event of that signal; a message, once."""
    same = [event(id, "start", "signal", signal="news") for id in "GH"]
    letters = [event(id, "start", "message", message="order") for id in "MN"]
    async with desk(place, tmp_path) as one:
        await one.define(several(*same, *letters))
        started, _ = await one.tell("news", id="e1")
        assert sorted(one.open(run) for run in started) == [["A"], ["B"]]
        again, _ = await one.tell("news", id="e1")
        assert sorted(again) == sorted(started) and len(one.door.runs()) == 2
        (run,), _ = await one.tell("order")
        assert one.open(run) == ["C"]


@awaited
async def test_messages_of_two_processes_are_told_apart(place: str, tmp_path: Path) -> None:
    """P-X.25: also where one of the two listens to several."""
    async with desk(place, tmp_path) as one:
        await one.define(several(MESSAGE, OTHER))
        with pytest.raises(ProcessState, match="order"):
            await one.define(several(SIGNAL, MESSAGE, process_definition_id="q"))
        with pytest.raises(ProcessState, match="call"):
            await one.define(several(OTHER, process_definition_id="q"))


@awaited
async def test_a_timer_is_one_of_them(place: str, tmp_path: Path) -> None:
    """P-X.25, C-31: the schedule of the process begins it at its timer, a message at its own."""
    async with desk(place, tmp_path) as one:
        await one.define(several(MESSAGE, TIMER, BY_HAND))
        (run,) = (await TenantSchedules(one.door).fire("p")).runs
        await one.door.wait(run, until_waiting=True, timeout=PATIENCE_S)
        assert one.open(run) == ["B"]
        (run,), _ = await one.tell("order")
        assert one.open(run) == ["A"]


@awaited
async def test_by_hand_one_chooses(tmp_path: Path) -> None:
    """P-X.25, P-3.2.1: the first without a trigger, or the one that is named; a name that begins nothing is refused."""
    document = several(BY_HAND, event("R", "start"), MESSAGE)
    (told,) = [one for one in findings(document) if one.rule == "several_starts"]
    assert told.severity == "warning" and told.node == "R" and '"start_event": "R"' in told.hint
    async with desk(str(tmp_path / "s.db"), tmp_path) as one:
        await one.define(document)
        work = WorkItems(one.door)
        for name, open in ((None, "A"), ("R", "B"), ("M", "C")):
            run = await work.initiate("p", by="kim", start_event=name)
            await one.door.wait(run, until_waiting=True, timeout=PATIENCE_S)
            assert one.open(run) == [open]
        with pytest.raises(ProcessUnreadable, match="S, R, M"):
            await work.initiate("p", by="kim", start_event="A")


@awaited
async def test_one_start_event_of_several_triggers(tmp_path: Path) -> None:
    """P-X.25, BPMN 10.5.2: Multiple: «there are multiple ways of triggering the Process. Only one of them is
    REQUIRED.»"""
    triggers = [{"trigger": "message", "message": "order"}, {"trigger": "signal", "signal": "news"}]
    start = event("S", "start", "multiple", triggers=triggers)
    async with desk(str(tmp_path / "s.db"), tmp_path) as one:
        await one.define(several(start))
        for name in ("order", "news"):
            (run,), _ = await one.tell(name, {"n": 1})
            assert one.open(run) == ["A"] and one.door.view(run).variables == {"n": 1}


# ---- what instantiates -----------------------------------------------------------------------------------------------


def by_gateway(**fields: Any) -> Doc:
    catches = [event("M", "catch", "message", message="order"), event("N", "catch", "signal", signal="news")]
    elements = [gateway("G", "eventBased", instantiate=True, **fields), *catches, task("A"), task("B")]
    return process(elements, ["G>M", "G>N", "M>A", "N>B"])


@awaited
async def test_a_gateway_that_begins_a_process(place: str, tmp_path: Path) -> None:
    """P-X.25, BPMN 10.6.6: «When the first of its Events is triggered, a new instance is created»; the others are not
    waited for."""
    async with desk(place, tmp_path) as one:
        await one.define(by_gateway())
        for name, open in (("order", "A"), ("news", "B")):
            (run,), _ = await one.tell(name, {"n": name})
            assert one.open(run) == [open] and one.door.view(run).variables == {"n": name}


@awaited
async def test_a_gateway_that_begins_a_process_and_waits_for_all(place: str, tmp_path: Path) -> None:
    """P-X.25, BPMN 10.6.6: Parallel: one event «does not affect» the others, which the instance waits for: «all of the
    Events … for the Process instance to complete»."""
    async with desk(place, tmp_path) as one:
        await one.define(by_gateway(all_events=True))
        (run,), _ = await one.tell("news", {"n": 1})
        assert one.open(run) == ["B", "M"]
        assert await one.tell("order", {"o": 2}) == ([], [run])
        assert one.open(run) == ["A", "B"]


@pytest.mark.parametrize("around", [False, True])
@awaited
async def test_a_receive_task_that_begins_a_process(tmp_path: Path, around: bool) -> None:
    """P-X.25, BPMN 10.3.3: «instantiate: … a Process instance is created» by its message; whoever comes to it by
    another way waits for the next."""
    elements = [service("R", bpmn="receiveTask", message="order", instantiate=True), task("A"), event("E", "end")]
    ways = ["R>A", "A>E"]
    if around:
        elements += [gateway("X", conditions={"X>R": "more == true", "default": "X>E"})]
        ways = ["R>A", "A>X", "X>R", "X>E"]
    async with desk(str(tmp_path / "s.db"), tmp_path) as one:
        await one.define(process(elements, ways))
        (run,), _ = await one.tell("order", {"n": 1})
        assert one.open(run) == ["A"] and one.door.view(run).variables == {"n": 1}
        if around:
            await one.door.command(run, _submit(one, run, {"more": True}))
            await one.door.wait(run, until_waiting=True, timeout=PATIENCE_S)
            assert one.open(run) == ["R"]


def _submit(one: Desk, run: str, data: Doc) -> C.Command:
    (no,) = one.door.watch_live(run).reader.st.items
    return C.work(no, "submit", "kim", data)


@pytest.mark.parametrize("document", [several(MESSAGE, OTHER, BY_HAND), by_gateway(), by_gateway(all_events=True)])
def test_they_are_sound(document: Doc) -> None:
    """P-X.12: with and without reductions; an event sub-process beside them changes nothing."""
    assert [one for one in findings(document) if one.severity == "error"] == []
    net = compiled(document).net
    assert verdict(net, each=True).status == verdict(net, each=True, reductions=False).status == "sound"


@awaited
async def test_beside_an_event_sub_process(tmp_path: Path) -> None:
    """P-X.25: the alternatives lie in the scope that it watches."""
    handler = [task("H", type="subProcess", triggered_by_event=True), task("Z", parent="H"),
               event("HS", "start", "signal", signal="stop", parent="H")]  # fmt: skip
    document, more = several(MESSAGE, OTHER), process(handler, ["HS>Z"])
    for name in ("activities", "events", "transitions"):
        document[name] += more[name]
    async with desk(str(tmp_path / "s.db"), tmp_path) as one:
        await one.define(document)
        (run,), _ = await one.tell("call", {"n": 1})
        assert one.open(run) == ["B"]
        await one.tell("stop")
        assert one.open(run) == ["Z"]


def test_a_file_says_it_as_the_standard_does() -> None:
    """P-X.25: `instantiate`; read, written and read again."""
    read = from_xml('<eventBasedGateway id="G" instantiate="true"/><receiveTask id="R" instantiate="true"/>')
    assert read["gateways"][0]["instantiate"] is True and read["activities"][0]["instantiate"] is True
    again = in_a_file(by_gateway(all_events=True))["gateways"][0]
    assert again["instantiate"] is True and again["all_events"] is True


@awaited
async def test_in_a_sub_process_nothing_begins_the_process(tmp_path: Path) -> None:
    """P-X.25, BPMN 10.6.6: a sub-process begins when it is reached; its gateway waits like any other, and that is
    told."""
    document = by_gateway()
    for name in ("activities", "gateways", "events"):
        document[name] = [{**one, "parent": "P"} for one in document[name]]
    document["activities"].append(task("P", type="subProcess"))
    assert [(one.rule, one.node) for one in findings(document)] == [("idle_field", "G")]
    async with Office(tmp_path) as office:
        run = await office.start(document)
        await run.p.signal(run.id, "news", {})
        await run.rest()
        assert run.open() == ["B"]


def test_a_gateway_that_something_leads_to_begins_nothing() -> None:
    """P-X.25, BPMN 10.6.6: an instantiating gateway has no incoming sequence flow. Some modelers write it all the same:
    then it waits like any other, and that is told."""
    document = by_gateway()
    document["events"].append(BY_HAND)
    document["transitions"].append({"id": "to", "source": "S", "target": "G"})
    assert [(one.severity, one.rule, one.node) for one in findings(document)] == [("warning", "idle_field", "G")]
    (node,) = [node for node in compiled(document).net.nodes if node.id == "G"]
    assert node.kind == "wait" and len(node.triggers) == 2


@awaited
async def test_a_called_process_begins_without_a_trigger(tmp_path: Path) -> None:
    """P-X.25, P-X.4, BPMN 10.5.2: a called process begins at its start event without a trigger, whatever has begun the
    one that calls it."""
    call = task("C", type="subProcess", orchestration={"sub_process": "inner"})
    outer = process([MESSAGE, BY_HAND, call], ["M>C", "S>C"], process_definition_id="outer")
    async with desk(str(tmp_path / "s.db"), tmp_path) as one:
        await one.define(several(OTHER, BY_HAND, process_definition_id="inner"))
        await one.define(outer)
        (run,), _ = await one.tell("order", {"n": 1})
        (child,) = [row.id for row in one.door.runs() if row.id != run]
        await one.door.wait(child, until_waiting=True, timeout=PATIENCE_S)
        assert one.open(child) == ["B"] and one.door.view(child).variables == {"n": 1}


@pytest.mark.parametrize("store", STORES)
def test_over_http(store: str, tmp_path: Path) -> None:
    """P-X.25, P-3.2.1: who begins an instance says in which way; a way that there is not is refused."""
    with world(store, tmp_path) as office:
        id = office.defined(several(BY_HAND, event("R", "start")))
        path = f"/processes/definitions/{id}/instances"
        begun = office.operator.post(path, json={"start_event": "R"})
        assert begun.status_code == 201, begun.text
        look = office.operator.get(f"/processes/instances/{begun.json()['proc_inst_id']}").json()
        assert [one["activity_id"] for one in look["workitems"]] == ["B"]
        refused = office.operator.post(path, json={"start_event": "A"})
        assert refused.status_code == 400 and "S, R" in refused.text
