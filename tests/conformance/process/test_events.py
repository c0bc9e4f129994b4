"""What BPMN files have beyond the seed: events, sub-processes, several instances, messages, rules."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from penstock.kernel import command as C
from tests.conformance.process.make import as_bytes, compiled, event, gateway, process, rules, service, task
from tests.conformance.process.running import Failing, Office, awaited


def sub(id: str, **fields: Any) -> dict[str, Any]:
    return task(id, type="subProcess", **fields)


# ---- start, end ------------------------------------------------------------------------------------------------------


@awaited
async def test_start_and_end_events(tmp_path: Path) -> None:
    """P-X.25, P-3.1.1: start and end events are nodes of their own."""
    document = process([event("S", "start"), task("A"), event("E", "end")], ["S>A", "A>E"])
    async with Office(tmp_path) as office:
        run = await office.start(document, {"n": 1})
        assert run.look.variables == {"n": 1} and run.open() == ["A"]
        await run.submit("A")
        assert run.status == "COMPLETED" and run.of("fired", "E")


@awaited
async def test_terminate_ends_everything(tmp_path: Path) -> None:
    """P-X.25, P-3.2.9: a terminate event cancels what is open, and the process is completed."""
    document = process(
        [gateway("F", "parallel"), task("A"), task("B"), event("E", "end", "terminate")], ["F>A", "F>B", "B>E"]
    )
    async with Office(tmp_path) as office:
        run = await office.start(document)
        await run.submit("B")
        assert run.states() == {"A": "CANCELLED", "B": "DONE"} and run.status == "COMPLETED"


@awaited
async def test_an_error_end_is_a_failure(tmp_path: Path) -> None:
    """P-X.25, P-4.3.5: an error that nobody catches ends the process, and what was done is undone."""
    document = process([service("A", compensation="undo"), event("E", "end", "error", code="E42")], ["A>E"])
    async with Office(tmp_path) as office:
        run = await office.start(document)
        assert run.status == "TERMINATED" and [tool for tool, _ in office.undone] == ["undo"]
        assert run.look.failure is not None and run.look.failure["code"] == "E42"


# ---- boundary --------------------------------------------------------------------------------------------------------


@awaited
async def test_an_error_boundary_catches_its_code(tmp_path: Path) -> None:
    """P-X.25, P-4.3.5: a failure with that code goes its way and undoes nothing; any other is a failure."""
    document = process(
        [sub("S"), event("X", "end", "error", code="BAD", parent="S"), event("C", "boundary", "error", attached_to="S",
         code="BAD"), task("H"), task("N"), service("A", compensation="undo")],
        ["A>S", "S>N", "C>H"],
    )  # fmt: skip
    async with Office(tmp_path) as office:
        run = await office.start(document)
        assert run.open() == ["H"] and office.undone == []
        document["events"][0]["code"] = "OTHER"
        other = await office.start(document)
        assert other.status == "TERMINATED" and [tool for tool, _ in office.undone] == ["undo"]


@awaited
async def test_an_agents_failure_is_caught(tmp_path: Path) -> None:
    """P-X.25, P-X.16: an error event without a code catches every failure of its activity."""
    document = process(
        [service("A"), task("B"), event("C", "boundary", "error", attached_to="A"), task("H")], ["A>B", "C>H"]
    )
    async with Office(tmp_path, agents={"A": Failing("x")}) as office:
        run = await office.start(document)
        assert run.states() == {"A": "CANCELLED", "H": "TODO"}


@awaited
async def test_a_timer_at_the_border(tmp_path: Path) -> None:
    """P-X.25: interrupting: the item is cancelled; not interrupting: it stays, and something happens beside it."""
    timer = {"duration": "PT0.05S"}
    elements = [task("A"), task("B"), task("H")]
    async with Office(tmp_path) as office:
        cut = event("T", "boundary", "timer", attached_to="A", timer=timer)
        run = await office.start(process([*elements, cut], ["A>B", "T>H"]))
        await run.until(lambda one: "H" in one.states())
        assert run.states() == {"A": "CANCELLED", "H": "TODO"}
        beside = event("T", "boundary", "timer", attached_to="A", timer=timer, interrupting=False)
        run = await office.start(process([*elements, beside], ["A>B", "T>H"]))
        await run.until(lambda one: "H" in one.states())
        assert run.states() == {"A": "TODO", "H": "TODO"}
        await run.submit("A")
        assert sorted(run.open()) == ["B", "H"]


@awaited
async def test_a_cycle_reminds_again_and_again(tmp_path: Path) -> None:
    """P-X.25: R2/PT… fires twice while the activity is open."""
    timer = event("T", "boundary", "timer", attached_to="A", timer={"cycle": "R2/PT0.03S"}, interrupting=False)
    async with Office(tmp_path) as office:
        run = await office.start(process([task("A"), timer, service("R")], ["T>R"]))
        await run.until(lambda one: [x.node for x in one.items()].count("R") == 2)
        await asyncio.sleep(0.1)
        assert [x.node for x in run.items()].count("R") == 2 and run.open() == ["A"]


@awaited
async def test_a_message_at_the_border(tmp_path: Path) -> None:
    """P-X.25: news that comes while an activity is open; what it brings become variables."""
    cut = event("M", "boundary", "message", attached_to="A", message="cancelled")
    async with Office(tmp_path) as office:
        run = await office.start(process([task("A"), cut, task("H")], ["M>H"]))
        await run.p.signal(run.id, "cancelled", {"why": "변심"})
        await run.rest()
        assert run.states() == {"A": "CANCELLED", "H": "TODO"} and run.look.variables == {"why": "변심"}


@awaited
async def test_escalation_goes_up(tmp_path: Path) -> None:
    """P-X.25: thrown in a sub-process, caught at its border; not interrupting: both go on."""
    document = process(
        [sub("S"), task("A", parent="S"), event("U", "throw", "escalation", code="BIG", parent="S"),
         task("C", parent="S"), event("E", "boundary", "escalation", attached_to="S", code="BIG", interrupting=False),
         task("H"), task("N")],
        ["A>U", "U>C", "S>N", "E>H"],
    )  # fmt: skip
    async with Office(tmp_path) as office:
        run = await office.start(document)
        await run.submit("A")
        assert sorted(run.open()) == ["C", "H"]
        await run.submit("C")
        assert sorted(run.open()) == ["H", "N"]


# ---- catch and throw -------------------------------------------------------------------------------------------------


@awaited
async def test_waiting_for_time_and_news(tmp_path: Path) -> None:
    """P-X.25: a timer and a message between two activities; a correlation takes only what it means."""
    document = process(
        [task("A"), event("T", "catch", "timer", timer={"duration": 0.02}),
         event("M", "catch", "message", message="paid", correlation={"order": "${order}"}), task("B")],
        ["A>T", "T>M", "M>B"],
    )  # fmt: skip
    async with Office(tmp_path) as office:
        run = await office.start(document, {"order": 7})
        await run.submit("A")
        await run.until(lambda one: bool(one.of("wait.opened", "M")))
        await run.p.signal(run.id, "paid", {"order": 8, "sum": 1})
        await run.p.signal(run.id, "paid", {"order": 7, "sum": 2})
        await run.rest()
        assert run.open() == ["B"] and run.look.variables["sum"] == 2


@awaited
async def test_what_one_process_sends_another_receives(tmp_path: Path) -> None:
    """P-X.25: a sendTask and a throw event reach a receiveTask and a catch event of another instance."""
    waits = process(
        [service("R", bpmn="receiveTask", message="ordered"), event("C", "catch", "signal", signal="paid"), task("Z")],
        ["R>C", "C>Z"], process_definition_id="waits",
    )  # fmt: skip
    sends = process(
        [service("S", bpmn="sendTask", message="ordered"), event("T", "throw", "signal", signal="paid",
         payload={"sum": "${n * 2}"}), event("E", "end")],
        ["S>T", "T>E"], process_definition_id="sends",
    )  # fmt: skip
    async with Office(tmp_path) as office:
        other = await office.start(waits)
        run = await office.start(sends, {"n": 21})
        assert run.status == "COMPLETED" and run.states() == {"S": "DONE"}
        await other.until(lambda one: one.open() == ["Z"])
        assert other.look.variables == {"n": 21, "sum": 42}


@awaited
async def test_whatever_comes_first_decides(tmp_path: Path) -> None:
    """P-X.25, P-2.2.3: an event-based gateway goes the way of the first event; the others are not waited for."""
    document = process(
        [task("A"), gateway("G", "eventBased"), event("M", "catch", "message", message="yes"),
         event("T", "catch", "timer", timer={"duration": "PT1H"}), task("B"), task("C")],
        ["A>G", "G>M", "G>T", "M>B", "T>C"],
    )  # fmt: skip
    async with Office(tmp_path) as office:
        run = await office.start(document)
        await run.submit("A")
        await run.p.signal(run.id, "yes", {"ok": True})
        await run.rest()
        assert run.open() == ["B"] and run.look.variables == {"ok": True}


# ---- sub-processes ---------------------------------------------------------------------------------------------------


@awaited
async def test_an_embedded_sub_process(tmp_path: Path) -> None:
    """P-X.25, P-2.2.2: what is drawn in it is one step of what is around it; its work is undone like any other."""
    document = process(
        [task("A"), sub("S"), service("B", parent="S", compensation="undo_b"), task("C", parent="S"), task("D"),
         service("X")],
        ["A>S", "B>C", "S>D", "D>X"],
    )  # fmt: skip
    async with Office(tmp_path, agents={"B": {"b": 1}, "X": Failing("x")}) as office:
        run = await office.start(document)
        await run.submit("A")
        assert run.open() == ["C"]
        await run.submit("C")
        assert run.open() == ["D"]
        await run.submit("D")
        assert office.undone == [("undo_b", {"b": 1})]


@awaited
async def test_an_event_sub_process_listens_meanwhile(tmp_path: Path) -> None:
    """P-X.25: not interrupting: it runs beside, and the process is over when both are."""
    document = process(
        [task("A"), task("B"), sub("H", triggered_by_event=True),
         event("HS", "start", "message", message="note", interrupting=False, parent="H"), task("N", parent="H")],
        ["A>B", "HS>N"],
    )  # fmt: skip
    async with Office(tmp_path) as office:
        run = await office.start(document, {"k": 1})
        assert run.open() == ["A"] and run.look.variables == {"k": 1}
        await run.p.signal(run.id, "note", {"text": "hello"})
        await run.rest()
        assert sorted(run.open()) == ["A", "N"]
        await run.submit("A")
        await run.submit("B")
        assert run.status == "RUNNING" and run.open() == ["N"]
        await run.submit("N")
        assert run.status == "COMPLETED"


@awaited
async def test_an_event_sub_process_interrupts(tmp_path: Path) -> None:
    """P-X.25: interrupting: what was open is cancelled; an error is caught, and nothing is undone for it."""
    handler = [sub("H", triggered_by_event=True), task("N", parent="H")]
    news = process(
        [task("A"), *handler, event("HS", "start", "signal", signal="stop", parent="H")], ["HS>N"]
    )  # fmt: skip
    fails = process(
        [service("P", compensation="undo_p"), service("A"), *handler, event("HS", "start", "error", parent="H")],
        ["P>A", "HS>N"],
    )
    async with Office(tmp_path, agents={"A": Failing("x")}) as office:
        run = await office.start(news)
        await run.p.signal(run.id, "stop")
        await run.rest()
        assert run.states() == {"A": "CANCELLED", "N": "TODO"}
        other = await office.start(fails)
        assert other.states() == {"P": "DONE", "A": "CANCELLED", "N": "TODO"} and office.undone == []


@awaited
async def test_terminate_where_events_are_listened_for(tmp_path: Path) -> None:
    """P-X.25: a terminate event ends the whole level, also what an event sub-process has begun."""
    document = process(
        [task("A"), event("E", "end", "terminate"), sub("H", triggered_by_event=True),
         event("HS", "start", "signal", signal="note", interrupting=False, parent="H"), task("N", parent="H")],
        ["A>E", "HS>N"],
    )  # fmt: skip
    async with Office(tmp_path, agents={}) as office:
        run = await office.start(document)
        await run.p.signal(run.id, "note")
        await run.rest()
        await run.submit("A")
        assert run.states() == {"A": "DONE", "N": "CANCELLED"} and run.status == "COMPLETED"


# ---- called processes ------------------------------------------------------------------------------------------------


def _folder(folder: Path, child: dict[str, Any], **call: Any) -> Path:
    (folder / "child.json").write_bytes(as_bytes({**child, "process_definition_id": "child"}))
    parent = process(
        [sub("S", orchestration={"sub_process": "child.json", **call}, compensation="undo_s"), task("Z")], ["S>Z"]
    )
    (folder / "parent.json").write_text(json.dumps(parent), "utf-8")
    return folder / "parent.json"


@awaited
async def test_a_called_process(tmp_path: Path) -> None:
    """P-X.4, P-2.1.1, P-2.2.2: the item stays IN_PROGRESS until the child ends; input and output."""
    child = process([task("A")], [])
    path = _folder(tmp_path, child, input={"x": "${n + 1}"}, output={"answer": "y"})
    async with Office(tmp_path) as office:
        run = await office.begin(path, {"n": 1})
        await run.until(lambda one: one.states() == {"S": "IN_PROGRESS"})
        (inner,) = [one for one in office.p.runs() if one.id != run.id]
        child_run = type(run)(office, inner.id)
        await child_run.until(lambda one: one.open() == ["A"])
        assert child_run.look.variables == {"x": 2}
        await child_run.submit("A", {"y": 42})
        await run.until(lambda one: one.open() == ["Z"])
        assert run.states()["S"] == "DONE" and run.look.variables == {"n": 1, "answer": 42}


@awaited
async def test_a_called_process_that_is_terminated(tmp_path: Path) -> None:
    """P-X.4: a child that is TERMINATED is a failure of the activity."""
    path = _folder(tmp_path, process([service("A")], []))
    async with Office(tmp_path, agents={"A": Failing("x")}) as office:
        run = await office.start(path)
        assert run.states() == {"S": "CANCELLED"} and run.status == "TERMINATED"


def test_a_call_of_nothing() -> None:
    """P-X.4: a sub-process says what it calls, and that must be there."""
    assert rules(process([sub("S")], [])) == ["sub_process_missing"]
    assert rules(process([sub("S", orchestration={"sub_process": "nowhere"})], [])) == ["sub_process_unknown"]


# ---- several instances -----------------------------------------------------------------------------------------------


@awaited
async def test_for_every_item_at_once(tmp_path: Path) -> None:
    """P-X.25, P-X.37: one item each; the results are collected; what was done for each is undone, latest first."""
    multi = {"mode": "parallel", "items": "orders", "item": "order", "collect": "checked"}
    document = process([service("A", multi=multi, compensation="undo_a"), task("Z"), service("X")], ["A>Z", "Z>X"])

    def check(request: Any) -> Any:
        return {"seen": request.args["variables"]["order"], "n": len(office.asked)}

    office = Office(tmp_path, agents={"A": check, "X": Failing("x")})
    async with office:
        run = await office.start(document, {"orders": ["a", "b", "c"]})
        assert run.open() == ["Z"]
        assert [one["seen"] for one in run.look.variables["checked"]] == ["a", "b", "c"]
        await run.submit("Z")
        assert [tool for tool, _ in office.undone] == ["undo_a"] * 3


@awaited
async def test_one_after_the_other_until(tmp_path: Path) -> None:
    """P-X.25: sequential, with a completion condition in BPMN's own words."""
    multi = {"mode": "sequential", "count": 5, "until": "nrOfCompletedInstances >= 2"}
    async with Office(tmp_path) as office:
        run = await office.start(process([task("A", multi=multi), task("Z")], ["A>Z"]))
        for _ in range(2):
            assert run.open() == ["A.each"]
            await run.submit("A.each")
        assert run.open() == ["Z"]


@awaited
async def test_again_while_a_condition_holds(tmp_path: Path) -> None:
    """P-X.25: a standard loop, and one that has a most."""
    async with Office(tmp_path) as office:
        for multi, rounds in (({"mode": "loop", "again": "more"}, 3), ({"mode": "loop", "most": 2}, 2)):
            run = await office.start(process([task("A", multi=multi), task("Z")], ["A>Z"]))
            for n in range(rounds):
                assert run.open() == ["A.each"]
                await run.submit("A.each", {"more": n < rounds - 1})
            assert run.open() == ["Z"]


@awaited
async def test_a_sub_process_for_every_item(tmp_path: Path) -> None:
    """P-X.25: each instance of a sub-process sees its own item."""
    document = process(
        [sub("S", multi={"items": "names", "item": "who"}), gateway("G", parent="S", conditions={"G>A": "who == 'kim'",
         "default": "G>B"}), task("A", parent="S"), task("B", parent="S"), task("Z")],
        ["G>A", "G>B", "S>Z"],
    )  # fmt: skip
    async with Office(tmp_path) as office:
        run = await office.start(document, {"names": ["kim", "lee"]})
        assert sorted(run.open()) == ["A", "B"]
        await run.submit("A")
        await run.submit("B")
        assert run.open() == ["Z"]


@awaited
async def test_an_event_sub_process_in_each_instance(tmp_path: Path) -> None:
    """P-X.25: an instance that listens for events still knows its item, and only its own is interrupted."""
    document = process(
        [sub("S", multi={"items": "names", "item": "who"}), task("A", parent="S"),
         sub("H", triggered_by_event=True, parent="S"), task("N", parent="H"),
         event("HS", "start", "message", message="stop", correlation={"who": "${who}"}, parent="H"), task("Z")],
        ["HS>N", "S>Z"],
    )  # fmt: skip
    async with Office(tmp_path) as office:
        run = await office.start(document, {"names": ["kim", "lee"]})
        assert run.open() == ["A", "A"]
        await run.p.signal(run.id, "stop", {"who": "lee"})
        await run.rest()
        assert sorted(run.open()) == ["A", "N"]
        await run.submit("N")
        (left,) = [one for one in run.items() if one.node == "A" and one.status == "TODO"]
        await run.p.command(run.id, C.work(left.no, "submit", "kim", {}))
        await run.rest()
        assert run.open() == ["Z"]


# ---- refused ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("element", "word"),
    [
        (event("X", "catch", "error", name="뭐든"), "catch event with the trigger error"),
    ],
)
def test_refused_by_name(element: dict[str, Any], word: str) -> None:
    """P-X.25: what is not run is a finding that names the element."""
    from tests.conformance.process.make import findings

    found = [one for one in findings(process([task("A"), element], ["A>X"])) if one.severity == "error"]
    assert [one.rule for one in found] == ["bpmn_not_supported"]
    assert "뭐든" in found[0].message and word in found[0].message and found[0].node == "X"


def test_a_rule_task_asks_the_registry() -> None:
    """P-X.25, P-2.2.2: a businessRuleTask is done by a rule pack."""
    net = compiled(process([service("A", bpmn="businessRuleTask", rule_pack="credit")], [])).net
    (node,) = [one for one in net.nodes if one.id == "A"]
    assert node.effect is not None and node.effect.executor == "judgment"
    assert node.effect.args["policy"] == {"type": "RULE_ONLY", "rule_pack_id": "credit"}
