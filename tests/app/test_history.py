"""The history of an instance in the words of its language: every transition, and none that its table does not name."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.app.penstock import Penstock
from penstock.app.runs.queries import StoreReader
from penstock.dialects.decision.history import InstanceHistory
from penstock.dialects.transitions import Transition
from penstock.errors import PenstockError
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.failure import Failure
from penstock.kernel.state import COMPLETED
from penstock.lifecycle import MACHINES
from tests.app.workflows import workflow
from tests.conformance.decision.harness import INPUT, samples
from tests.conformance.decision.make import (
    Play,
    act,
    approval,
    compiled,
    data,
    document,
    judge,
    mcp,
    parallel,
    undo,
    value,
    wait,
)
from tests.house.files import ROOT
from tests.kernel.harness import Sim

TABLES = {"instance": "decision_run", "node": "decision_node", "approval": "approval"}
MANUAL = {"type": "manual"}
NEWS = {"type": "event", "event": {"source": "lab.done"}}
POLL = {"type": "polling", "polling": {"endpoint": "/x", "interval_sec": 60, "success_condition": "response.ok"}}
RETRY = {"max": 2, "backoff_ms": 1000}


def told(sim: Sim) -> list[Transition]:
    teller = InstanceHistory(lambda _: sim.net, 0)
    for at, body in sim.turns:
        teller.turn(at, F.decode_facts(body))
    return teller.transitions


def ways(sim: Sim, of: str = "instance", node: str | None = None) -> list[str]:
    """Event and status after it; an instance's own begin and what every node adds are left out."""
    usual = {"create_instance", "schedule", "start_execution", "node_complete", "node_scheduled", "executor_pick",
             "request_approval", "notify_approvers"}  # fmt: skip
    found = [one for one in told(sim) if one.of == of and node in (None, one.node_id)]
    return [f"{one.event} {one.to}" for one in found if one.event not in usual]


def lawful(found: list[Transition]) -> dict[Any, str]:
    """W-2.2.2: every transition goes on where the last one of the same life ended, by a row of its table. The statuses
    at the end, by what they are of."""
    now: dict[Any, str] = {}
    for one in found:
        machine, whose = MACHINES[TABLES[one.of]], (one.of, one.execution)
        if one.from_ is None:
            assert one.to == machine.initial.lower(), one
        else:
            assert one.from_ == now[whose], one
            assert machine.next(one.from_.upper(), one.event) == one.to.upper(), one
        now[whose] = one.to
    assert [one.at for one in found] == sorted(one.at for one in found)
    return now


# ---- instances -------------------------------------------------------------------------------------------------------


def test_from_the_beginning_to_the_end() -> None:
    """W-2.2.2, W-2.2.5: created, pending, running; every node; completed. Each with its moment, nodes and reasons."""
    m = Play([act("a"), act("b")], "a>b")
    m.now = 1500
    m.all_ok()
    instance = [(one.event, one.from_, one.to, one.node_id) for one in told(m) if one.of == "instance"]
    assert instance == [
        ("create_instance", None, "created", None),
        ("schedule", "created", "pending", None),
        ("start_execution", "pending", "running", None),
        ("node_complete", "running", "running", "a"),
        ("node_complete", "running", "running", "b"),
        ("all_nodes_done", "running", "completed", None),
    ]
    assert (told(m)[0].at, told(m)[-1].at) == ("1970-01-01T00:00:00.000Z", "1970-01-01T00:00:01.500Z")
    lawful(told(m))


@pytest.mark.parametrize(
    ("condition", "end", "event"),
    [
        (MANUAL, lambda m: m.news("manual:w", {}), "manual_signal"),
        (NEWS, lambda m: m.news("lab.done", {}), "event_received"),
        ({"type": "time", "duration_hours": 1}, lambda m: m.tick(), "timer_elapsed"),
        (MANUAL, lambda m: m.do(C.resolve("w", {"by": "hand"})), "manual_signal"),
    ],
)
def test_how_a_wait_ends(condition: Any, end: Any, event: str) -> None:
    """W-2.2.3: wait_started, and each of the words for what resumed it."""
    m = Play([wait("w", condition), act("a")], "w>a")
    end(m)
    assert ways(m) == ["wait_started waiting", f"{event} running"]
    (resumed,) = [one for one in told(m) if one.event == event]
    assert resumed.node_id == "w"


def test_a_poll_waits_until_it_succeeds() -> None:
    """W-2.2.3: asking again is no transition; poll_succeeded is, and so is a poll that fails."""
    m = Play([wait("w", POLL), act("a")], "w>a")
    for _ in range(3):
        m.ok("w", {"ok": False})
        m.tick()
    assert ways(m) == ["wait_started waiting"]
    m.ok("w", {"ok": True})
    assert ways(m) == ["wait_started waiting", "poll_succeeded running"]
    m = Play([wait("w", POLL)])
    m.ok("w", {"ok": False})
    m.tick()
    m.ok("w", {"status": "failed", "ok": False})
    assert ways(m)[1:] == ["timer_elapsed running", "unrecoverable_error failed"]


@pytest.mark.parametrize(
    ("timeout", "after"),
    [
        ({}, ["no_recovery failed"]),
        ({"on_timeout": "skip"}, ["retry_allowed running"]),
        ({"on_timeout": "default_value", "default": 1}, ["retry_allowed running"]),
        ({"on_timeout": "alternative_path", "goto": "b"}, ["retry_allowed running"]),
    ],
)
@pytest.mark.parametrize("condition", [MANUAL, NEWS, POLL])
def test_the_time_of_a_wait_is_over(condition: Any, timeout: Any, after: list[str]) -> None:
    """C-75, W-2.2.2: WAITING → TIMEOUT wait_expired, then FAILED no_recovery, or RUNNING where there is a way on."""
    given = {"timeout": {"duration_hours": 1, **timeout}}
    m = Play([wait("w", condition, **given), act("a"), *([act("b")] if "goto" in timeout else [])], "w>a")
    if condition is POLL:
        m.ok("w", {"ok": False})
    m.tick(3_600_000)
    assert ways(m)[:3] == ["wait_started waiting", "wait_expired timeout", *after]
    lawful(told(m))


def test_a_wait_with_retries_is_armed_again() -> None:
    """C-75, W-2.3.2: TIMEOUT → RUNNING retry_allowed, WAITING again; when no retry is left, FAILED."""
    m = Play([wait("w", MANUAL, retry={"max": 1, "backoff_ms": 1000, "retry_on": ["timeout"]})])
    m.tick()
    m.tick()
    m.tick()
    expired = ["wait_started waiting", "wait_expired timeout"]
    assert ways(m) == [*expired, "retry_allowed running", *expired, "no_recovery failed"]
    assert ways(m, "node") == [
        "retry_triggered retrying", "retry_attempt running", "retry_triggered retrying", "max_retry_exceeded failed"
    ]  # fmt: skip


def test_a_join_whose_branches_wait() -> None:
    """C-72, C-75: the join's time is over while the instance waits; a branch that waited is skipped."""
    m = Play([parallel("p", {"x": ["w"], "y": ["a"]}, join={"timeout_ms": 5000}), wait("w", MANUAL), act("a")])
    m.ok("a")
    m.tick()
    assert ways(m) == ["wait_started waiting", "wait_expired timeout", "no_recovery failed"]
    assert ways(m, "node", "w") == ["cancelled skipped"] and ways(m, "node", "p") == ["execution_error failed"]


def test_the_active_time_of_a_workflow_is_over() -> None:
    """W-2.2.3, C-71: RUNNING → TIMEOUT workflow_timeout → FAILED, or COMPENSATING where something is to be undone."""
    m = Play([act("a")], policies={"timeout_ms": 1000})
    m.tick()
    assert ways(m) == ["workflow_timeout timeout", "no_recovery failed"]
    m = Play([act("a"), act("b"), undo("u", "a")], "a>b", policies={"timeout_ms": 1000})
    m.ok("a")
    m.tick()
    m.ok("u")
    assert ways(m) == ["workflow_timeout timeout", "compensation_triggered compensating",
                       "compensation_done compensated"]  # fmt: skip


def test_failed_and_retried_by_hand() -> None:
    """W-2.2.3: FAILED → RUNNING operator_retry; the failed node begins anew."""
    m = Play([act("a")])
    m.bad("a")
    m.do(C.retry("here"))
    m.ok("a")
    assert ways(m) == ["unrecoverable_error failed", "operator_retry running", "all_nodes_done completed"]
    assert ways(m, "node") == ["execution_error failed", "execution_ok succeeded"]
    assert [one.event for one in told(m) if one.of == "node"].count("node_scheduled") == 2


@pytest.mark.parametrize("first", [act("a"), wait("a", MANUAL)])
def test_cancelled(first: dict[str, Any]) -> None:
    """W-2.2.3, C-41: from RUNNING and from WAITING; with something to undo it is COMPENSATING, at a boundary not."""
    m = Play([first])
    m.do(C.cancel("now"))
    assert ways(m)[-1] == "cancel_requested cancelled" and ways(m, "node")[-1] == "cancelled skipped"
    for mode, end in (("now", "compensation_done compensated"), ("boundary", "cancel_requested cancelled")):
        m = Play([act("before"), first, undo("u", "before")], "before>a")
        m.ok("before")
        m.do(C.cancel(mode))
        m.all_ok()
        assert ways(m)[-1] == end
        assert ways(m, "node", "before")[1:] == ["workflow_compensation compensating", "compensation_done compensated"]
        lawful(told(m))


def test_compensation_that_fails() -> None:
    """W-2.2.2, W-2.3.3: COMPENSATING → FAILED, of the instance and of the node."""
    m = Play([act("a"), act("b"), undo("u", "a", retry={"max": 0})], "a>b")
    m.ok("a")
    m.bad("b")
    m.bad("u")
    assert ways(m) == ["compensation_triggered compensating", "compensation_failed failed"]
    assert ways(m, "node", "a")[1:] == ["workflow_compensation compensating", "compensation_failed failed"]


def test_a_failed_node_that_is_undone() -> None:
    """W-2.3.2, C-45: FAILED → COMPENSATING has_compensation, where a condition speaks of it."""
    m = Play([act("a"), undo("u", "a", trigger={"conditions": "a.status == 'failed'"})])
    m.bad("a")
    m.ok("u")
    undone = ["execution_error failed", "has_compensation compensating", "compensation_done compensated"]
    assert ways(m, "node", "a") == undone and ways(m, "node", "u") == ["execution_ok succeeded"]


# ---- approvals -------------------------------------------------------------------------------------------------------


def asked(**fields: Any) -> Play:
    return Play([approval("ap", **fields), act("a")], "ap>a")


def test_approved_and_rejected() -> None:
    """W-2.2.2, W-4.6.1: approval_required, approval_received; a rejection that nobody takes cancels."""
    m = asked()
    m.vote("ap")
    assert ways(m) == ["approval_required waiting", "approval_received running"]
    assert ways(m, "approval") == ["approve_action approved"]
    (received,) = [one for one in told(m) if one.event == "approval_received"]
    assert (received.by, received.node_id) == ("kim", "ap")
    m = asked()
    m.vote("ap", vote="rejected", comment="too dear")
    assert ways(m) == ["approval_required waiting", "approval_rejected cancelled"]
    (rejected,) = [one for one in told(m) if one.event == "reject_action"]
    assert (rejected.by, rejected.reason) == ("kim", "too dear")
    m = asked(on_reject="continue")
    m.vote("ap", vote="rejected")
    assert ways(m) == ["approval_required waiting", "approval_received running"]


@pytest.mark.parametrize(
    ("on_timeout", "instance", "approval_"),
    [
        ("reject", ["approval_rejected cancelled"], ["on_timeout=reject rejected"]),
        ("auto_approve", ["wait_expired timeout", "retry_allowed running"], ["on_timeout=auto_approve approved"]),
        ("escalate", [], ["on_timeout=escalate escalated", "reassign_approvers pending"]),
    ],
)  # fmt: skip
def test_nobody_decides_in_time(on_timeout: str, instance: list[str], approval_: list[str]) -> None:
    """W-4.6.1, C-34, C-75: the approval passes TIMEOUT to what its author wants then."""
    m = asked(timeout={"on_timeout": on_timeout, "duration_hours": 1})
    m.tick()
    assert ways(m) == ["approval_required waiting", *instance]
    assert ways(m, "approval") == ["timeout_reached timeout", *approval_]


def test_a_person_judges() -> None:
    """W-2.2.3: human_judgment_received."""
    m = Play([judge("j", type="ESCALATE"), act("a")], "j>a")
    m.ok("j.do", {"decision": "unknown", "escalate": "confidence"})
    m.all_ok()
    m.do(C.work(m.item("j.review"), "submit", "kim", {"decision": "normal"}))
    assert ways(m) == ["wait_started waiting", "human_judgment_received running"]
    assert ways(m, "node", "j") == ["execution_ok succeeded"]


# ---- nodes -----------------------------------------------------------------------------------------------------------


def test_attempts() -> None:
    """W-2.3.2: RETRYING between two attempts; the last one is max_retry_exceeded."""
    m = Play([act("a", retry=RETRY)])
    m.bad("a", category="transient")
    m.tick()
    m.ok("a")
    again = ["retry_triggered retrying", "retry_attempt running"]
    assert ways(m, "node") == [*again, "execution_ok succeeded"]
    m = Play([act("a", retry=RETRY)])
    for _ in range(2):
        m.bad("a", category="transient")
        m.tick()
    m.bad("a", category="transient")
    assert ways(m, "node") == [*again, *again, "retry_triggered retrying", "max_retry_exceeded failed"]


def test_skipped_with_a_reason() -> None:
    """W-2.3.2, W-2.3.3, C-43: a condition, an error, a limit, the time of a wait, a server that fails."""
    m = Play([act("a", condition="${input.x == 1}")], input={"x": 2})
    assert ways(m, "node") == ["condition_false skipped"]
    m = Play([act("a", skip_on_error=True)])
    m.bad("a", "BROKEN")
    assert ways(m, "node") == ["execution_error failed", "skip_on_error skipped"]
    assert next(one for one in told(m) if one.event == "skip_on_error").reason == "BROKEN: it broke"
    for reason in ("rate_limited", "duplicate"):
        m = Play([act("a")])
        m.do(C.skipped(m.firing("a").no, 1, reason))
        assert ways(m, "node") == [f"{reason} skipped"]
    m = Play([wait("w", MANUAL, timeout={"duration_hours": 1, "on_timeout": "skip"})])
    m.tick()
    assert ways(m, "node") == ["wait_timeout_skip skipped"]
    m = Play([mcp("m", fallback={"on_error": "skip"})])
    m.do(C.skipped(m.firing("m").no, 1, "fallback"))
    assert ways(m, "node") == ["execution_error failed", "skip_on_error skipped"]


def test_several_nodes_of_the_net_are_one_of_the_author() -> None:
    """W-2.3.1: what is fetched before, the work and what is made of its answer are one execution, also in a branch."""
    framed = data("d", output={"variable": "d_out", "expression": "output.rows"})
    m = Play([parallel("p", {"x": ["d"]}), framed, value("v", "${aas.line.L01.name}")], "p>v")
    m.ok("d.do", {"rows": []})
    m.ok("v.context", {"aas": {"line": {"L01": {"name": "one"}}}})
    m.all_ok()
    for node in ("d", "v", "p"):
        assert ways(m, "node", node) == ["execution_ok succeeded"], node
    assert m.status == "COMPLETED"
    lawful(told(m))


# ---- any run ---------------------------------------------------------------------------------------------------------

MORE = {
    "undone": document(
        [act("a", retry=RETRY), parallel("p", {"x": ["b"], "y": ["w", "c"]}, join={"on_partial_failure": "compensate"}),
         data("b", skip_on_error=True), wait("w", MANUAL, retry=RETRY), act("c"), approval("ap"), undo("u", "a"),
         undo("v", "c", actions=[{"type": "api", "endpoint": "/1"}, {"type": "api", "endpoint": "/2"}])],
        ["a>p", "p>ap"], policies={"timeout_ms": 90_000},
    ),
    "polled": document([wait("w", POLL, retry=RETRY), wait("n", NEWS), judge("j", type="ESCALATE")], ["w>j w>n"]),
}  # fmt: skip
KNOWN = {one.id: one.workflow for one in samples()} | MORE


def stir(sim: Sim, rng: random.Random) -> None:
    """One thing that may happen to it, sensible or not."""
    effects, st = sim.effects(), sim.st
    drawn = rng.random()
    sim.now += rng.randrange(2000)
    if effects and drawn < 0.6:
        one = rng.choice(effects)
        failure = Failure("X", rng.choice(["transient", "permanent", "timeout", "external"]), "it broke")
        sim.do(rng.choice([
            C.done(one.no, one.attempt, one.probe, {"ok": rng.random() < 0.5, "decision": "unknown", "escalate": "x"}),
            C.done(one.no, one.attempt, one.probe, {"ok": True, "decision": "critical", "confidence": 1}),
            C.failed(one.no, one.attempt, failure, one.probe),
            C.skipped(one.no, one.attempt, rng.choice(["rate_limited", "policy"]), one.probe),
        ]))  # fmt: skip
    elif st.items and drawn < 0.7:
        verb, said = rng.choice([("vote", {"vote": "approved"}), ("vote", {"vote": "rejected"}), ("submit", {"x": 1})])
        sim.do(C.work(rng.choice(list(st.items)), verb, rng.choice("abc"), said))
    elif st.waits and drawn < 0.75:
        sim.do(C.signal("", rng.choice(list(st.waits.values())).name, {"sample_id": "S-1"}))
    elif drawn < 0.93:
        sim.tick()
    else:
        sim.do(rng.choice([
            C.cancel("now"), C.cancel("boundary"), C.retry("here"), C.compensate(), C.pause(), C.resume(),
        ]))  # fmt: skip


@pytest.mark.parametrize("which", KNOWN)
def test_whatever_happens_every_transition_is_in_its_table(which: str) -> None:
    """W-2.2.2, W-2.2.3, W-2.3.2, W-2.3.3, C-60: the seed's samples and more, at random; the history ends where the run
    has ended, and no node is left at work. The language has no way on from COMPLETED: what is undone by hand then is
    told of the nodes alone."""
    net = compiled(KNOWN[which]).net
    for seed in range(80 if which in MORE else 12):
        sim, rng = Sim(net, INPUT, check=False), random.Random(f"{which}/{seed}")
        for _ in range(60):
            if sim.st.status >= COMPLETED and rng.random() < 0.8:
                break
            try:
                stir(sim, rng)
            except PenstockError:
                continue
        found = told(sim)
        now = lawful(found)
        moves = [line.data["to"] for line in sim.of("run.moved")]
        if "COMPLETED" not in moves[:-1]:
            shown = now.pop(("instance", None)).upper()
            at_work = shown == "WAITING" and sim.status == "RUNNING" and _only_polls(sim)
            cancels = sim.st.undo is not None and sim.st.undo.then == "CANCELLED"
            assert shown == sim.status or at_work or cancels, (seed, moves)
        if sim.st.status >= COMPLETED:
            left = {whose: status for whose, status in now.items() if whose[0] == "node"}
            assert not {"queued", "running", "retrying", "compensating"} & set(left.values()), (seed, left)


def _only_polls(sim: Sim) -> bool:
    return all(sim.net.nodes[one.node].spec.poll is not None for one in sim.effects())


# ---- from a store ----------------------------------------------------------------------------------------------------


def test_it_is_read_from_the_store(tmp_path: Path) -> None:
    """W-2.2.5: derived from the journal, so it is there as soon as the state is, and after the process has gone."""

    async def scene() -> str:
        async with Penstock(tmp_path / "store.db") as door:
            run = await door.start(door.release(json.dumps(workflow()).encode()))
            await door.wait(run, until_waiting=True, timeout=60)
            await door.signal(run, "manual:first", {})
            await door.wait(run, until_waiting=True, timeout=60)
            assert door.history(run)[-1].node_id == "second"
            return run

    run = asyncio.run(scene())
    with contextlib.closing(StoreReader(tmp_path / "store.db")) as door:
        found = door.history(run)
    assert lawful(found)["instance", None] == "waiting"
    begun = ["create_instance", "schedule", "start_execution", "wait_started", "manual_signal", "node_complete"]
    assert [one.event for one in found if one.of == "instance"] == [*begun, "wait_started"]
    told_json = msgspec.to_builtins(found[-1])
    assert told_json == {
        "at": found[-1].at, "of": "instance", "event": "wait_started", "from": "running", "to": "waiting",
        "node_id": "second", "reason": "manual:second", "by": None, "execution": None,
    }  # fmt: skip


def test_a_diagram_tells_its_own_moves(tmp_path: Path) -> None:
    """W-2.2.5: other languages have no such tables; what they tell are the moves of the run, in their own words."""

    async def scene() -> list[Transition]:
        async with Penstock(tmp_path / "store.db") as door:
            run = await door.start(door.release(ROOT / "examples" / "diagram" / "diamond.yaml"))
            await door.wait(run, timeout=60)
            return door.history(run)

    found = asyncio.run(scene())
    assert [(one.from_, one.to, one.event) for one in found] == [
        (None, "RUNNING", "start"),
        ("RUNNING", "COMPLETED", "all_done"),
    ]


def test_what_the_system_tells_a_node() -> None:
    """W-6.4.1: when the run began, as a text, also after a crash and in a retry; the document's version."""
    sent = act("a", message="${sys.execution_start} v${sys.workflow_version} ${sys.retry_count}", retry=RETRY)
    whole = document([wait("w", MANUAL), sent], ["w>a"], version=7)
    m = Sim(compiled(whole).net, None, begin=False)
    m.now = 1_700_000_000_000
    m.do(C.start("r1", None))
    m.now += 5000
    m.crash()
    m.do(C.signal("", "manual:w", {}))
    asked_for = next(line for line in m.of("effect.asked") if line.node == "a").data["args"]["message"]
    assert asked_for == "2023-11-14T22:13:20.000Z v7 0"
    m.bad("a", category="transient")
    m.tick()
    assert m.of("effect.asked")[-1].data["args"]["message"] == "2023-11-14T22:13:20.000Z v7 1"
