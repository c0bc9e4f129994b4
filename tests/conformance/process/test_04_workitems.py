"""4, work items: the states, the three modes, what an agent is given, switching between them."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import pytest

from penstock.dialects.process.words import ITEMS, MODES
from penstock.errors import Refused, StatusConflict
from penstock.kernel import command as C
from penstock.lifecycle import MACHINES
from tests.conformance.process.make import compiled, process, service, task
from tests.conformance.process.running import Failing, Office, awaited

SUPERVISED = process([service("A", "SUPERVISED"), task("B")], ["A>B"])


def test_the_seven_states() -> None:
    """P-4.1.12, P-2.2.1: the words are exact, and no item knows another state."""
    assert ITEMS == ("TODO", "IN_PROGRESS", "SUBMITTED", "DONE", "REWORK", "CANCELLED", "COMPENSATED")
    assert set(MACHINES["work_item"].statuses) == set(ITEMS)
    assert MODES == ("AUTONOMOUS", "SUPERVISED", "MANUAL")


@awaited
async def test_a_person_does_it(tmp_path: Path) -> None:
    """P-4.2.3, P-4.1.2, P-4.1.5: MANUAL: somebody begins and submits; no approval is needed."""
    async with Office(tmp_path) as office:
        run = await office.start(process([task("A"), task("B")], ["A>B"]))
        await run.do("A", "start", by="park")
        assert run.states() == {"A": "IN_PROGRESS"}
        await run.submit("A", {"ok": True}, by="park")
        assert run.item("A").history == ["TODO", "IN_PROGRESS", "DONE"]
        assert run.open() == ["B"] and office.asked == []


@awaited
async def test_an_agent_alone(tmp_path: Path) -> None:
    """P-A.10, P-4.2.1, P-4.3.1, P-4.3.6, P-4.3.8: AUTONOMOUS: DONE without a human call, its answer is the result."""
    async with Office(tmp_path, agents={"A": {"n": 7}}) as office:
        run = await office.start(process([service("A")], []))
        assert run.item("A").history == ["TODO", "IN_PROGRESS", "DONE"]
        assert run.status == "COMPLETED" and run.look.variables == {"n": 7}


@awaited
async def test_an_agent_and_a_person_who_approves(tmp_path: Path) -> None:
    """P-A.8, P-4.2.2, P-4.1.3, P-4.1.4, P-4.3.7, P-X.14: SUPERVISED stops with a draft until it is approved."""
    async with Office(tmp_path, agents={"A": {"text": "draft"}}) as office:
        run = await office.start(SUPERVISED)
        item = run.item("A")
        assert item.history == ["TODO", "IN_PROGRESS", "SUBMITTED"] and item.draft == {"text": "draft"}
        assert run.open() == ["A"]
        with pytest.raises(StatusConflict):
            await run.submit("A", {"text": "mine"})
        await run.do("A", "approve", by="manager", comment="good")
        assert run.states() == {"A": "DONE", "B": "TODO"} and run.look.variables == {"text": "draft"}


@awaited
async def test_an_approver_may_change_the_draft(tmp_path: Path) -> None:
    """P-X.14: approved with overrides: they are what counts."""
    async with Office(tmp_path, agents={"A": {"text": "draft", "n": 1}}) as office:
        run = await office.start(SUPERVISED)
        await run.do("A", "approve", {"text": "better", "n": 1}, by="manager")
        assert run.look.variables == {"text": "better", "n": 1}


@awaited
async def test_rejected_is_done_again(tmp_path: Path) -> None:
    """P-A.9, P-4.1.6, P-4.1.7, P-X.14: REWORK, then TODO, and the comment stays readable and reaches the agent."""
    drafts = iter([{"text": "bad"}, {"text": "good"}])
    async with Office(tmp_path, agents={"A": lambda _: next(drafts)}) as office:
        run = await office.start(SUPERVISED)
        await run.do("A", "reject", by="manager", comment="too short")
        item = run.item("A")
        assert item.history == ["TODO", "IN_PROGRESS", "SUBMITTED", "REWORK", "TODO", "IN_PROGRESS", "SUBMITTED"]
        assert [one.get("comment") for one in item.moves if one.get("comment")] == ["too short"]
        assert (office.asked[1]["remarks"], office.asked[1]["draft"]) == ("too short", {"text": "bad"})
        await run.do("A", "approve", by="manager")
        assert run.look.variables == {"text": "good"}


@awaited
async def test_rework_of_what_is_done(tmp_path: Path) -> None:
    """P-X.15, P-4.1.6: DONE goes back while what came after is still TODO; that is cancelled."""
    async with Office(tmp_path) as office:
        run = await office.start(process([task("A"), task("B"), task("C")], ["A>B", "B>C"]))
        no = run.item("A").no
        await run.submit("A", {"n": 1})
        await run.p.command(run.id, C.work(no, "rework", "manager", None, "again"))
        await run.rest()
        moved = [(one.node, one.data["to"]) for one in run.of("work.moved")]
        assert moved == [("A", "DONE"), ("B", "CANCELLED"), ("A", "REWORK"), ("A", "TODO")]
        await run.submit("A", {"n": 2})
        assert run.open() == ["B"] and run.look.variables["n"] == 2
        no = run.item("B").no
        await run.submit("B")
        await run.do("C", "start")
        with pytest.raises(Refused):
            await run.p.command(run.id, C.work(no, "rework", "manager", None, "too late"))


# ---- agents ----------------------------------------------------------------------------------------------------------


@awaited
async def test_what_an_agent_is_given(tmp_path: Path) -> None:
    """P-4.3.2, P-4.3.4, P-2.2.6, P-X.39: the agent by its id; instruction, data, tools; its own settings and time."""
    more = {"tools": ["search"], "timeout_s": 60, "tokens": 1000, "temperature": 0}
    document = process([service("A", agent="writer", instruction="쓰라", orchestration=more)], [])
    async with Office(tmp_path) as office:
        await office.start(document, {"topic": "물"})
        (asked,) = office.asked
    assert (asked["agent"], asked["instruction"], asked["tools"]) == ("writer", "쓰라", ["search"])
    assert asked["input_data"] == {"topic": "물"}
    assert asked["orchestration"] == {"timeout_s": 60, "tokens": 1000, "temperature": 0}
    (node,) = [one for one in compiled(document).net.nodes if one.id == "A"]
    assert node.timeout_ms == 60_000
    usual = compiled(process([service("A")], [])).net
    assert [one.timeout_ms for one in usual.nodes if one.id == "A"] == [300_000]


@awaited
async def test_data_is_read_before_and_written_after(tmp_path: Path) -> None:
    """P-4.3.3, P-X.42, P-2.2.4: what is read reaches the form and the agent under its name; the result is written."""
    read = [{"name": "orders", "type": "sql", "source": "erp#SELECT 1", "fields": ["id"]}]
    write = [{"name": "report", "type": "file", "source": "out#r.json"}]
    seen: list[Any] = []
    document = process([task("A", input_data=read, output_data=write), service("B", input_data=read)], ["A>B"])
    office = Office(tmp_path, agents={"B": {}})

    @office.p.executor("process_data")
    def data(request: Any) -> Any:
        seen.append(request.args)
        return {"orders": [{"id": 7}]} if request.args["op"] == "read" else request.args["result"]

    async with office:
        run = await office.start(document, {"k": 1})
        assert run.item("A").prompt["data"] == {"orders": [{"id": 7}]}
        await run.submit("A", {"report": "text"})
        assert run.status == "COMPLETED"
    assert [one["op"] for one in seen] == ["read", "write", "read"]
    assert seen[0]["data"] == [{**read[0]}] and seen[0]["variables"]["k"] == 1
    assert seen[1]["result"] == {"report": "text"} and seen[1]["data"][0]["name"] == "report"
    assert office.asked[0]["input_data"] == {"orders": [{"id": 7}]}


@awaited
async def test_a_script_runs_by_the_engine(tmp_path: Path) -> None:
    """P-X.17, P-2.2.2: scriptTask: variables in, `result` out; it has a work item that nobody must do."""
    pytest.importorskip("pydantic_monty")
    code = "result = {'total': amount * 2}"
    document = process([task("A", type="scriptTask", python_code=code), task("B")], ["A>B"])
    async with Office(tmp_path) as office:
        run = await office.start(document, {"amount": 21})
        assert run.states() == {"A": "DONE", "B": "TODO"} and run.look.variables["total"] == 42
    (node,) = [one for one in compiled(document).net.nodes if one.id == "A"]
    assert node.effect is not None and node.effect.args["timeout"] == 30


@awaited
async def test_a_service_task_may_be_a_persons(tmp_path: Path) -> None:
    """P-X.17, P-2.2.6: a serviceTask without a mode is MANUAL, a humanTask may have an agent."""
    async with Office(tmp_path) as office:
        run = await office.start(process([task("A", type="serviceTask"), task("B", agent_mode="AUTONOMOUS")], ["A>B"]))
        assert run.states() == {"A": "TODO"} and run.item("A").mode == "MANUAL"
        await run.submit("A")
        assert run.states() == {"A": "DONE", "B": "DONE"}


# ---- switching -------------------------------------------------------------------------------------------------------


@awaited
async def test_modes_are_switched(tmp_path: Path) -> None:
    """P-X.40, P-0.1: for one instance at its start, for one item while it is TODO, and from a running agent."""
    async with Office(tmp_path, agents={"A": "waits"}) as office:
        run = await office.start(process([service("A"), task("B")], ["A>B"]), modes={"A": "MANUAL", "B": "AUTONOMOUS"})
        await run.until(lambda one: bool(one.items()))
        assert run.item("A").mode == "MANUAL"
        await run.submit("A")
        assert run.status == "COMPLETED" and [one["activity_id"] for one in office.asked] == ["B"]

        other = await office.start(process([task("C"), task("B")], ["C>B"]))
        await other.do("C", "set_mode", "SUPERVISED", by="lee")
        assert other.states() == {"C": "SUBMITTED"} and other.item("C").mode == "SUPERVISED"

        third = await office.begin(process([service("A"), task("B")], ["A>B"]))
        await third.until(lambda one: one.states().get("A") == "IN_PROGRESS")
        await third.do("A", "take_over", by="park")
        item = third.item("A")
        assert (item.status, item.mode) == ("IN_PROGRESS", "MANUAL") and item.moves[-1]["by"] == "park"
        await third.until(lambda _: office.stopped == ["A"])
        await third.submit("A", {"by": "park"}, by="park")
        assert third.open() == ["B"]


# ---- who -------------------------------------------------------------------------------------------------------------


@awaited
async def test_who_may_do_it(tmp_path: Path) -> None:
    """P-X.13, P-2.2.5: initiator, a person, one whom the host chooses; without a rule anybody who may."""
    roles = [
        {"id": "r0", "name": "누구나"},
        {"id": "r1", "name": "R1", "assignment_rule": "initiator"},
        {"id": "r2", "name": "R2", "assignment_rule": "user:choi"},
        {"id": "r3", "name": "R3", "assignment_rule": "round_robin"},
        {"id": "r4", "name": "R4", "assignment_rule": "least_loaded"},
    ]
    activities = [task(f"A{i}", role=f"r{i}") for i in range(5)] + [task("A5"), task("A6", role="누구나")]
    seen: list[Any] = []
    office = Office(tmp_path)

    @office.p.executor("assign")
    def assign(request: Any) -> Any:
        seen.append(request.args)
        return {"user": "jung" if request.args["rule"] == "round_robin" else None}

    async with office:
        run = await office.start(process(activities, [], roles=roles), initiator="han")
        who = {one.node: one.candidates for one in run.items()}
    assert who["A0"] is None and who["A5"] is None and who["A6"] is None
    assert who["A4"]["targets"] == ["role:r4", "role:R4"], "nobody has the role now: for whoever will, not for anybody"
    assert who["A1"]["targets"] == ["user:han"] and who["A2"]["targets"] == ["user:choi"]
    assert who["A3"]["targets"] == ["user:jung"]
    assert sorted((one["rule"], one["role"]) for one in seen) == [("least_loaded", "r4"), ("round_robin", "r3")]


@awaited
async def test_data_and_a_chosen_person_together(tmp_path: Path) -> None:
    """P-X.13, P-X.42: the item opens when both are there."""
    document = process(
        [task("A", role="r", input_data=[{"name": "x", "type": "file", "source": "f#a.json"}])], [],
        roles=[{"id": "r", "name": "R", "assignment_rule": "round_robin"}],
    )  # fmt: skip
    office = Office(tmp_path)
    office.p.executor("assign")(lambda request: {"user": "jung"})
    office.p.executor("process_data")(lambda request: {"x": [1]})
    async with office:
        run = await office.start(document)
        item = run.item("A")
        assert item.candidates["targets"] == ["user:jung"] and item.prompt["data"] == {"x": [1]}


@awaited
async def test_what_is_due_goes_to_others(tmp_path: Path) -> None:
    """P-X.13: due and escalate_to: the item is offered to others and stays the same item."""
    async with Office(tmp_path) as office:
        run = await office.start(process([task("A", due=0.05, escalate_to=["role:manager"])], []))
        assert run.item("A").prompt["due"] is not None and run.item("A").candidates is None
        await run.until(lambda one: one.item("A").candidates is not None)
        assert run.item("A").candidates["targets"] == ["role:manager"]
        await run.submit("A")
        assert run.status == "COMPLETED"


@awaited
async def test_an_agent_that_fails(tmp_path: Path) -> None:
    """P-4.3.5, P-X.16: its item is CANCELLED with the reason, and the instance is TERMINATED."""
    async with Office(tmp_path, agents={"A": Failing("no model")}) as office:
        run = await office.start(process([service("A")], []))
        assert run.states() == {"A": "CANCELLED"} and run.status == "TERMINATED"
        assert run.look.failure is not None and "no model" in run.look.failure["message"]


# ---- races -----------------------------------------------------------------------------------------------------------


@awaited
async def test_a_person_takes_over_while_the_agent_answers(tmp_path: Path) -> None:
    """P-X.40, P-3.4.6: whoever is first has it; the other is refused or not heard, and what follows begins once."""
    document = process([service("A"), task("B")], ["A>B"])
    async with Office(tmp_path, agents={"A": "waits"}) as office:
        for n in range(20):
            office.gates["A"] = asyncio.Event()
            run = await office.begin(document)
            await run.until(lambda one: any(item.status == "IN_PROGRESS" for item in one.items()))
            office.gates["A"].set()
            for _ in range(n % 5):
                await asyncio.sleep(0)
            with contextlib.suppress(StatusConflict):
                await run.do("A", "take_over", by="kim")
                assert (run.item("A").status, run.item("A").mode) == ("IN_PROGRESS", "MANUAL") and run.open() == ["A"]
                await run.submit("A")
            await run.rest()
            assert run.states() == {"A": "DONE", "B": "TODO"} and len(run.items()) == 2


@awaited
async def test_two_at_once(tmp_path: Path) -> None:
    """P-3.2.4, P-X.14: of two submits, and of a rejection and an approval, one counts; the other is told the status."""
    async with Office(tmp_path, agents={"A": {"n": 1}}) as office:
        run = await office.start(process([task("A"), task("B")], ["A>B"]))
        no = run.item("A").no
        told = await asyncio.gather(
            *(office.p.command(run.id, C.work(no, "submit", by, {"by": by})) for by in ("kim", "lee", "park")),
            return_exceptions=True,
        )
        assert sorted(type(one).__name__ for one in told if one is not None) == ["StatusConflict", "StatusConflict"]
        assert run.states() == {"A": "DONE", "B": "TODO"}
        run = await office.start(process([service("A", "SUPERVISED"), task("B")], ["A>B"]))
        no = run.item("A").no
        told = await asyncio.gather(
            office.p.command(run.id, C.work(no, "reject", "kim", None, "again")),
            office.p.command(run.id, C.work(no, "approve", "lee", None)),
            return_exceptions=True,
        )
        await run.rest()
        assert told[0] is None and isinstance(told[1], StatusConflict)
        assert run.states() == {"A": "SUBMITTED"} and len(office.asked) == 2
