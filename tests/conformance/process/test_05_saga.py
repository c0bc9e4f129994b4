"""5, saga compensation: order, tools and handlers, failing steps, parallel branches."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from penstock.dialects.process.words import compensation_status, step_status
from tests.conformance.process.make import EXAMPLES, compiled, event, gateway, process, rules, service, task
from tests.conformance.process.running import Failing, Instance, Office, awaited

ABC = process(
    [service("A", compensation="undo_a"), service("B", compensation="undo_b"), service("C", compensation="undo_c")],
    ["A>B", "B>C"],
)
AGENTS: dict[str, Any] = {"A": {"a": 1}, "B": {"b": 2}, "C": Failing("C is broken")}


def ledger(run: Instance) -> dict[str, str]:
    """The steps of compensation by activity, in the words of the process."""
    st = run.p.fold(run.p.row(run.id)).reader.st
    net = run.p.net_of(run.of("run.started")[0].data["net"])
    return {net.nodes[one.node].id: step_status(one.status) for one in st.ledger}


@awaited
async def test_what_was_done_is_undone_in_reverse(tmp_path: Path) -> None:
    """P-A.11, P-5.2.2, P-5.3.2, P-5.3.3, P-5.3.4, P-5.3.5, P-5.3.7, P-1.1.3: B, then A, each with its own result; which
    activity has failed, and why, is what sets it off and stays known."""
    async with Office(tmp_path, agents=AGENTS) as office:
        run = await office.start(ABC)
        assert office.undone == [("undo_b", {"b": 2}), ("undo_a", {"a": 1})]
        assert run.status == "TERMINATED" and run.look.internal_status == "COMPENSATED"
        assert run.states() == {"A": "COMPENSATED", "B": "COMPENSATED", "C": "CANCELLED"}
        assert ledger(run) == {"A": "EXECUTED", "B": "EXECUTED"}
        assert compensation_status(run.look.internal_status, ["EXECUTED", "EXECUTED"]) == "COMPLETE"
        assert run.look.failure is not None and "C is broken" in run.look.failure["message"]
        (planned,) = run.of("undo.planned")
        assert planned.data["why"] == "failure" and planned.data["failure"]["node"] == "C"


@awaited
async def test_a_step_that_fails_does_not_stop_the_rest(tmp_path: Path) -> None:
    """P-A.12, P-5.3.6, P-X.20, P-X.36: told as an incident, the next one still runs, and the instance is TERMINATED."""
    async with Office(tmp_path, agents=AGENTS, tools={"undo_b": Failing("no such record")}) as office:
        run = await office.start(ABC)
        assert [tool for tool, _ in office.undone] == ["undo_b", "undo_a"]
        assert ledger(run) == {"A": "EXECUTED", "B": "FAILED"}
        assert run.states() == {"A": "COMPENSATED", "B": "DONE", "C": "CANCELLED"}
        (told,) = run.of("incident")
        assert told.data["code"] == "COMPENSATION_STEP_FAILED" and "no such record" in str(told.data)
        assert run.status == "TERMINATED" and run.look.internal_status == "FAILED"
        assert compensation_status("FAILED", ["EXECUTED", "FAILED"]) == "PARTIAL"


@awaited
async def test_it_goes_on_where_it_has_failed(tmp_path: Path) -> None:
    """P-X.20, P-X.21: by hand only what is left is undone; what was executed never runs twice."""
    tools: dict[str, Any] = {"undo_b": Failing("down")}
    async with Office(tmp_path, agents=AGENTS, tools=tools) as office:
        run = await office.start(ABC)
        office.tools["undo_b"] = {}
        await run.p.compensate(run.id)
        await run.rest()
        assert [tool for tool, _ in office.undone] == ["undo_b", "undo_a", "undo_b"]
        assert ledger(run) == {"A": "EXECUTED", "B": "EXECUTED"} and run.look.internal_status == "COMPENSATED"


@awaited
async def test_without_compensation_there_is_no_step(tmp_path: Path) -> None:
    """P-5.3.4, P-X.20: an activity that nothing undoes has no step, and its item stays DONE."""
    document = process([service("A", compensation="undo_a"), service("B"), service("C")], ["A>B", "B>C"])
    async with Office(tmp_path, agents=AGENTS) as office:
        run = await office.start(document)
        assert run.states() == {"A": "COMPENSATED", "B": "DONE", "C": "CANCELLED"}
        assert ledger(run)["A"] == "EXECUTED" and [tool for tool, _ in office.undone] == ["undo_a"]


# ---- what undoes -----------------------------------------------------------------------------------------------------


def test_a_tool_and_how_it_is_called() -> None:
    """P-X.18, P-5.3.10, P-5.3.1, P-X.34, P-X.21: a name or {tool, params, …}; 30 s, no retry."""
    undo = {
        "tool": "cancel_payment",
        "params": {"id": "${payment_id}", "of": ["${order}", "all", ["${ line }", 7]]},
        "timeout": 5,
        "retry": {"max": 2, "backoff_ms": 10},
    }
    net = compiled(process([service("A", compensation="x"), service("B", compensation=undo)], ["A>B"])).net
    nodes = {one.id: one for one in net.nodes}
    plain, full = nodes["A.undo"], nodes["B.undo"]
    assert plain.effect is not None and full.effect is not None
    assert plain.timeout_ms == 30_000 and plain.retry.max == 0 and plain.off_path
    assert plain.effect.args["tool"] == "x" and "params" not in plain.effect.args
    assert full.timeout_ms == 5_000 and (full.retry.max, full.retry.base_ms) == (2, 10)
    of = [{"$expr": "order"}, "all", [{"$expr": "line"}, 7]]
    assert full.effect.args["params"] == {"id": {"$expr": "payment_id"}, "of": of}
    assert nodes["A"].undo == ("A.undo",) and nodes["B"].undo == ("B.undo",)


@awaited
async def test_parameters_are_read_when_it_is_undone(tmp_path: Path) -> None:
    """P-X.18: params stand in place of the result."""
    undo = {"tool": "cancel_payment", "params": {"id": "${payment_id}", "why": "failed"}}
    document = process([service("A", compensation=undo), service("C")], ["A>C"])
    async with Office(tmp_path, agents={"A": {"payment_id": 9}, "C": Failing("x")}) as office:
        await office.start(document)
        assert office.undone == [("cancel_payment", {"id": 9, "why": "failed"})]


@awaited
async def test_an_activity_undoes_another(tmp_path: Path) -> None:
    """P-X.18, P-2.2.6: a string that is an activity's id: that activity's own handler undoes, and is on no path."""
    handler = service("Undo", instruction="취소하라")
    document = process([service("A", compensation="Undo"), service("C"), handler], ["A>C"])
    async with Office(tmp_path, agents={"A": {"n": 1}, "C": Failing("x")}) as office:
        run = await office.start(document)
        assert [one["activity_id"] for one in office.asked] == ["A", "C", "Undo"]
        assert office.asked[-1]["input_data"] == {"undone": {"n": 1}} and office.asked[-1]["instruction"] == "취소하라"
        assert run.states() == {"A": "COMPENSATED", "C": "CANCELLED"} and run.status == "TERMINATED"


@awaited
async def test_a_person_undoes(tmp_path: Path) -> None:
    """P-X.18, P-5.3.6: a handler of the mode MANUAL is work for a person; the saga waits."""
    handler = task("Undo", is_for_compensation=True)
    document = process([service("A", compensation="Undo"), service("C"), handler], ["A>C"])
    async with Office(tmp_path, agents={"A": {"n": 1}, "C": Failing("x")}) as office:
        run = await office.begin(document)
        await run.until(lambda one: one.open() == ["A.undo"])
        assert run.look.internal_status == "COMPENSATING" and run.status == "RUNNING"
        assert run.item("A.undo").prompt["data"] == {"undone": {"n": 1}}
        await run.submit("A.undo", {"done": True})
        assert run.states()["A"] == "COMPENSATED" and run.status == "TERMINATED"


@pytest.mark.parametrize(
    ("named", "who"),
    [
        ({"candidates": ["user:ria", "role:clerk"]}, ["user:ria", "role:clerk"]),
        ({"candidates": ["user:${whom}"]}, ["user:moe"]), ({"candidates": ["of nobody"]}, []),
        ({"role": "clerk"}, ["role:clerk"]), ({"role": "turns"}, ["role:turns", "role:Turns"]),
        ({"role": "begun"}, ["user:lee"]),
    ],
)  # fmt: skip
@awaited
async def test_whoever_is_named_for_it_undoes_and_nobody_else(
    tmp_path: Path, named: dict[str, Any], who: list[str]
) -> None:  # fmt: skip
    """P-X.13, P-X.18: who may do it holds for a handler, too; of a role whose people take turns it is all of them."""
    roles = [{"id": "clerk", "name": "clerk", "assignment_rule": "role:clerk"},
             {"id": "turns", "name": "Turns", "assignment_rule": "round_robin"},
             {"id": "begun", "name": "begun", "assignment_rule": "initiator"}]  # fmt: skip
    handler = task("Undo", is_for_compensation=True, **named)
    document = process([service("A", compensation="Undo"), service("C"), handler], ["A>C"])
    async with Office(tmp_path, agents={"A": {"n": 1}, "C": Failing("x")}) as office:
        run = await office.begin({**document, "roles": roles}, {"whom": "moe"})
        await run.until(lambda one: one.open() == ["A.undo"])
        assert run.item("A.undo").candidates == {"type": "any_of", "targets": who}


@pytest.mark.parametrize("wrong", ["A", "G"])
def test_what_cannot_undo(wrong: str) -> None:
    """P-X.18: an activity does not undo itself, and a gateway undoes nothing."""
    document = process([service("A", compensation=wrong), gateway("G"), task("B")], ["A>G", "G>B"])
    assert rules(document) == ["compensation_target"]


@awaited
async def test_every_visit_of_a_loop_is_undone(tmp_path: Path) -> None:
    """P-X.21, P-X.31: each DONE visit, the latest first."""
    counts = iter([{"n": 1}, {"n": 2}, {"n": 3}])
    choice = gateway("G", conditions={"G>A": "n < 3", "default": "G>C"})
    document = process(
        [event("S", "start"), service("A", compensation="undo_a"), choice, service("C")],
        ["S>A", "A>G", "G>A", "G>C"],
    )
    async with Office(tmp_path, agents={"A": lambda _: next(counts), "C": Failing("x")}) as office:
        await office.start(document)
        assert office.undone == [("undo_a", {"n": 3}), ("undo_a", {"n": 2}), ("undo_a", {"n": 1})]


@awaited
async def test_a_draft_that_waits_is_undone_too(tmp_path: Path) -> None:
    """P-4.1.10, P-4.1.11, P-5.5.4: SUBMITTED is COMPENSATED, never CANCELLED."""
    document = process(
        [gateway("F", "parallel"), service("A", "SUPERVISED", compensation="undo_a"), task("T"), service("C")],
        ["F>A", "F>T", "T>C"],
    )
    async with Office(tmp_path, agents={"A": {"a": 1}, "C": Failing("x")}) as office:
        run = await office.start(document)
        assert run.states() == {"A": "SUBMITTED", "T": "TODO"}
        await run.submit("T")
        assert run.states() == {"A": "COMPENSATED", "T": "DONE", "C": "CANCELLED"}
        assert office.undone == [("undo_a", {"a": 1})]


@awaited
async def test_compensation_thrown_by_the_process_itself(tmp_path: Path) -> None:
    """P-X.18, P-5.2.2: a compensation event undoes what was done, or one activity of it, and the process goes on."""
    elements = [service("A", compensation="undo_a"), service("B", compensation="undo_b"), task("C")]
    async with Office(tmp_path, agents=AGENTS) as office:
        for only, undone in (("", ["undo_b", "undo_a"]), ("A", ["undo_a"])):
            office.undone.clear()
            throw = event("E", "throw", "compensation", activity=only)
            run = await office.start(process([*elements, throw], ["A>B", "B>E", "E>C"]))
            assert [tool for tool, _ in office.undone] == undone
            assert run.open() == ["C"] and run.status == "RUNNING"


# ---- parallel branches -----------------------------------------------------------------------------------------------


def fork(*branches: dict[str, Any]) -> dict[str, Any]:
    names = [one["id"] for one in branches]
    return process(
        [service("P", compensation="undo_p"), gateway("F", "parallel"), *branches, gateway("J", "parallel"), task("Z")],
        ["P>F", *(f"F>{n}" for n in names), *(f"{n}>J" for n in names), "J>Z"],
    )


PARALLEL = fork(
    service("A", name="데이터 수치 검증", compensation="delete_verification"),
    service("B", name="문서 생성", compensation="delete_pdf"),
    service("C", name="데이터 분류", compensation="undo_c"),
    task("D"),
)


@awaited
async def test_open_branches_are_cancelled_then_done_ones_undone_then_what_was_before(tmp_path: Path) -> None:
    """P-A.13, P-5.5.1, P-5.5.2, P-5.5.3, P-5.5.4, P-5.5.5, P-5.5.8, P-5.5.9: three phases, in this order."""
    agents: dict[str, Any] = {"P": {"p": 0}, "A": {"a": 1}, "B": {"b": 2}, "C": "waits", "D": Failing("x")}
    async with Office(tmp_path, agents=agents) as office:
        run = await _forked(office, PARALLEL)
        await run.do("D", "set_mode", "AUTONOMOUS")
        await run.until(lambda one: one.status == "TERMINATED")
        states = {"P": "COMPENSATED", "A": "COMPENSATED", "B": "COMPENSATED", "C": "CANCELLED", "D": "CANCELLED"}
        assert run.states() == states
        assert [tool for tool, _ in office.undone][-1] == "undo_p"
        assert sorted(tool for tool, _ in office.undone[:2]) == ["delete_pdf", "delete_verification"]
        await run.until(lambda _: office.stopped == ["C"])
        moved = [(one.node, one.data["to"]) for one in run.of("work.moved") if one.data["to"] == "CANCELLED"]
        first_undo = run.of("undo.planned")[0].seq
        assert {node for node, _ in moved} == {"C", "D"}
        assert all(one.seq < first_undo for one in run.of("work.moved") if one.data["to"] == "CANCELLED")


async def _forked(office: Office, document: dict[str, Any]) -> Instance:
    run = await office.begin(document)
    await run.until(lambda one: one.states().get("A") == one.states().get("B") == "DONE" and "D" in one.states())
    return run


@awaited
async def test_what_lies_before_a_fork_waits_for_its_branches(tmp_path: Path) -> None:
    """P-X.20, P-X.37, P-5.5.7, P-X.19: a step of a branch fails: the others run, P stays PENDING until it is mended."""
    agents: dict[str, Any] = {"P": {"p": 0}, "A": {"a": 1}, "B": {"b": 2}, "D": Failing("x")}
    document = fork(service("A", compensation="undo_a"), service("B", compensation="undo_b"), task("D"))
    async with Office(tmp_path, agents=agents, tools={"undo_a": Failing("down")}) as office:
        run = await _forked(office, document)
        await run.do("D", "set_mode", "AUTONOMOUS")
        assert sorted(tool for tool, _ in office.undone) == ["undo_a", "undo_b"]
        assert ledger(run) == {"P": "PENDING", "A": "FAILED", "B": "EXECUTED"}
        assert run.look.internal_status == "FAILED" and run.status == "TERMINATED"
        office.tools["undo_a"] = {}
        await run.p.compensate(run.id)
        await run.rest()
        assert [tool for tool, _ in office.undone[2:]] == ["undo_a", "undo_p"]
        assert run.look.internal_status == "COMPENSATED"


@awaited
async def test_a_longer_branch_and_an_implicit_fork(tmp_path: Path) -> None:
    """P-X.37, P-5.5.6: everything done in a branch is undone in reverse; several ways out of an activity are a fork."""
    document = process(
        [service("P", compensation="undo_p"), service("A1", compensation="undo_a1"),
         service("A2", compensation="undo_a2"), task("T"), service("X")],
        ["P>A1", "A1>A2", "P>T", "T>X"],
    )  # fmt: skip
    async with Office(tmp_path, agents={"X": Failing("x")}, tools={"undo_a1": Failing("down")}) as office:
        run = await office.start(document)
        assert run.open() == ["T"]
        await run.submit("T")
        assert [tool for tool, _ in office.undone] == ["undo_a2", "undo_a1"]
        assert ledger(run) == {"P": "PENDING", "A1": "FAILED", "A2": "EXECUTED"}
        st = run.p.fold(run.p.row(run.id)).reader.st
        groups = {net_name(run, one.node): (one.path or [])[-1:] for one in st.ledger}
        assert groups["P"] == [] and groups["A1"] and groups["A1"][0][0].startswith("P@") and groups["A1"][0][1] == 0


def net_name(run: Instance, node: int) -> str:
    return run.p.net_of(run.of("run.started")[0].data["net"]).nodes[node].id


# ---- the seed's own examples -----------------------------------------------------------------------------------------


@awaited
async def test_the_seeds_own_examples(tmp_path: Path) -> None:
    """P-5.4.1, P-5.4.2, P-5.4.3, P-5.4.4: four activities, each with what undoes it, in the seed's words."""
    async with Office(tmp_path, agents={"approve": Failing("rejected")}) as office:
        run = await office.start(EXAMPLES / "saga.json", {"case": 1})
        assert [tool for tool, _ in office.undone] == [
            "send_correction", "delete_report", "cancel_schedule", "delete_record",
        ]  # fmt: skip
        assert run.status == "TERMINATED"


# ---- time ------------------------------------------------------------------------------------------------------------


@awaited
async def test_a_tool_that_takes_too_long(tmp_path: Path) -> None:
    """P-A.14, P-5.3.10, P-X.36: a step that is not done in its time has failed, and the rest goes on."""
    undo = {"tool": "slow", "timeout": 0.1}
    document = process(
        [service("A", compensation="undo_a"), service("B", compensation=undo), service("C")], ["A>B", "B>C"]
    )
    office = Office(tmp_path, agents=AGENTS)

    @office.p.executor("tool")
    async def tool(request: Any) -> Any:
        office.undone.append((request.args["tool"], None))
        await asyncio.sleep(40 if request.args["tool"] == "slow" else 0)

    async with office:
        run = await office.start(document)
        assert [name for name, _ in office.undone] == ["slow", "undo_a"]
        assert ledger(run) == {"A": "EXECUTED", "B": "FAILED"} and run.status == "TERMINATED"
        assert "TIMEOUT" in str(run.of("incident")[0].data)


@awaited
async def test_an_agent_that_takes_too_long(tmp_path: Path) -> None:
    """P-X.39, P-4.3.5: orchestration.timeout_s is its time; over it is a failure that is undone."""
    slow = service("B", orchestration={"timeout_s": 0.1})
    document = process([service("A", compensation="undo_a"), slow], ["A>B"])
    async with Office(tmp_path, agents={"B": "waits"}) as office:
        run = await office.start(document)
        assert run.states() == {"A": "COMPENSATED", "B": "CANCELLED"} and office.stopped == ["B"]


@awaited
async def test_terminated_by_a_person(tmp_path: Path) -> None:
    """P-X.30, P-4.1.8, P-4.1.9: what is open is cancelled, what was done is undone, the instance is TERMINATED."""
    document = process([service("A", compensation="undo_a"), task("B"), task("C")], ["A>B", "A>C"])
    async with Office(tmp_path) as office:
        run = await office.start(document)
        await run.do("B", "start")
        await run.p.cancel(run.id)
        await run.rest()
        assert run.states() == {"A": "COMPENSATED", "B": "CANCELLED", "C": "CANCELLED"}
        assert run.status == "TERMINATED"


@awaited
async def test_a_compensation_event_at_the_border(tmp_path: Path) -> None:
    """P-X.18, P-X.25: BPMN's own way: a boundary event and an activity that is only for compensation."""
    border = event("C", "boundary", "compensation", attached_to="A", activity="K")
    document = process([service("A"), border, service("K", is_for_compensation=True), service("X")], ["A>X"])
    async with Office(tmp_path, agents={"A": {"n": 1}, "X": Failing("x")}) as office:
        run = await office.start(document)
        assert [one["activity_id"] for one in office.asked] == ["A", "X", "K"]
        assert run.states() == {"A": "COMPENSATED", "X": "CANCELLED"}
    assert compiled(document).net.declares.policies["process"]["activities"]["A"]["compensation"] == "K"
