"""The seed's own test cases (13.2), each under its id, as whole runs against real servers on a virtual clock."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.app.decision import dead_letters as dead
from penstock.app.inbox import inbox
from penstock.errors import ApproverDenied, ItemDecided, ReplayRefused, StatusConflict
from penstock.kernel import command as C
from penstock.lifecycle import MACHINES
from tests.conformance.decision.make import act, approval, data, parallel, seeds, switch, undo, value, wait
from tests.conformance.decision.stores import Base
from tests.conformance.decision.world import (
    ADMIN,
    CCP,
    DEFECT,
    HOUR,
    MANAGER,
    MINUTE,
    OTHER,
    T0,
    Door,
    Wire,
    World,
    deaths,
    go,
    moment,
)
from tests.executors.bench import Seen, as_json

DAY = 24 * HOUR
INF = float("inf")


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    one = Wire()
    yield one
    one.close()


@pytest.fixture
def world(tmp_path: Path, wire: Wire, base: Base) -> World:
    wire.forget()
    return World(tmp_path, wire, base).plant()


def play(world: World, scene: Callable[[Door], Any]) -> Any:
    async def whole() -> Any:
        async with world.open() as door:
            return await scene(door)

    return go(whole())


def timed(world: World, place: str, *statuses: int) -> list[int]:
    """When a place was called, in ms since the beginning; it answers so, and then well."""
    times: list[int] = []

    def answer(seen: Seen) -> Any:
        times.append(world.clock.at - T0)
        status = statuses[len(times) - 1] if len(times) <= len(statuses) else 200
        return as_json({"n": len(times)}, status)

    world.wire.answers[place] = answer
    return times


# ---- TC-WF-001: basic execution flow ---------------------------------------------------------------------------------


def test_tc_wf_001_basic_execution_flow(world: World, wire: Wire) -> None:
    """TC-WF-001, W-13.2.1, W-2.2.2: 11.1 with normal: CREATED → PENDING → RUNNING → COMPLETED; four nodes SUCCEEDED, no
    other is executed; of each there is what the trace tells: type, status, times, attempts."""

    async def scene(door: Door) -> None:
        run = await door.run(DEFECT)
        look, nodes = door.view(run), ("data_defect", "judge_quality", "switch_severity", "action_log")
        assert look.status == "completed" and door.life(run) == ["created", "pending", "running", "completed"]
        assert door.ran(run) == dict.fromkeys(nodes, "succeeded")
        assert door.life(run, "node") == ["queued", "running", "succeeded"] * 4
        assert door.told(run, "run.started")[0].data["tenant"] == "tenant_001"
        assert [one.node for one in look.firings if one.node != "end"] == list(nodes)
        for one in look.firings:
            assert one.started_at == one.ended_at == T0 and one.attempt == 1
        assert (look.created_at, look.updated_at, look.failure, look.warnings) == (T0, T0, None, [])

    play(world.plant("normal"), scene)
    assert world.log() == [("L01", "normal", 1.0)] and wire.counts() == {}


# ---- TC-WF-002: SWITCH -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("decision", "confidence", "last", "ends"),
    [
        ("critical", 0.79, "request_approval", "waiting"), ("critical", 0.8, "approval_required", "completed"),
        ("warning", 0.9, "approval_required", "completed"), ("normal", 0.9, "action_log", "completed"),
        ("unknown", 0.9, "switch_severity", "completed"),
    ],
)  # fmt: skip
def test_tc_wf_002_every_row_of_the_defect_alert(
    world: World, decision: str, confidence: float, last: str, ends: str
) -> None:
    """TC-WF-002, W-11.1.4, W-11.1.8: decision, path, end."""
    if decision == "critical":
        world.sure(confidence)

    async def scene(door: Door) -> None:
        run = await door.run(DEFECT)
        assert door.view(run).status == ends and list(door.ran(run))[-1] == last

    play(world.plant(decision), scene)


async def ways(door: Door, node: dict[str, Any], *targets: str, given: Any = None, **top: Any) -> list[str]:
    """Where a switch leads: those targets that were told."""
    door.world.wire.server.seen.clear()
    run = await door.play([node, *(act(one) for one in targets)], given=given, **top)
    assert door.view(run).status == "completed", door.view(run).failure
    return sorted(seen.json["text"] for seen in door.world.wire.to("slack"))


def test_tc_wf_002_the_seeds_samples(world: World) -> None:
    """TC-WF-002, W-4.8.1, W-4.8.3: both samples of 4.8, by value and by condition, at night and by day."""
    simple, complex_ = seeds("4.8")
    simple = {**simple, "multi_match": {"enabled": False, "mode": "first"}}
    wanted = {"critical": "action_emergency", "warning": "action_warning", "normal": "action_log",
              "other": "action_escalate"}  # fmt: skip
    by_day = [
        ((0.95, "critical"), "auto_action"),
        ((0.6, "critical"), "human_review"),
        ((0.8, "normal"), "standard_flow"),
    ]

    async def scene(door: Door) -> None:
        for decision, way in wanted.items():
            context: dict[str, Any] = {"variables": {"judgment_result": {"decision": decision}}}
            assert await ways(door, simple, *wanted.values(), context=context) == [way]
        targets = ("auto_action", "human_review", "escalate_to_manager", "standard_flow")
        for hours, warned in ((0, "standard_flow"), (13, "escalate_to_manager")):  # 10:00 and 23:00 in Seoul
            door.world.clock.at = T0 + hours * HOUR
            for (confidence, decision), way in [*by_day, ((0.8, "warning"), warned)]:
                given = {"confidence": confidence, "decision": decision}
                context = {"variables": {"judgment_result": given}}
                assert await ways(door, complex_, *targets, context=context) == [way], (given, hours)

    play(world, scene)


def test_tc_wf_002_several_matches_true_end_and_none(world: World) -> None:
    """TC-WF-002, W-4.8.2, W-4.8.4, C-11, C-12, C-14: first, all, priority; a boolean case; `end`; no match."""
    cases = [
        {"condition": "input.v > 1", "goto": "a"}, {"condition": "input.v > 2", "goto": "b", "priority": 5},
        {"condition": "input.v > 3", "goto": "c", "priority": 1},
    ]  # fmt: skip

    async def scene(door: Door) -> None:
        for mode, found in (("first", ["a"]), ("all", ["a", "b", "c"]), ("priority", ["c"])):
            node = {"id": "s", "type": "SWITCH", "cases": cases, "multi_match": {"enabled": True, "mode": mode}}
            assert await ways(door, node, "a", "b", "c", given={"v": 9}) == found
        boolean = {"id": "s", "type": "SWITCH", "condition": "${input.v == 1}", "cases": [{"value": True, "goto": "a"}],
                   "default": {"goto": "end"}}  # fmt: skip
        assert await ways(door, boolean, "a", given={"v": 1}) == ["a"]
        assert await ways(door, boolean, "a", given={"v": 2}) == []
        lost = await door.play([switch("s", "${input.v}", [(1, "a")]), act("a")], given={"v": 5})
        assert door.view(lost).status == "completed"
        assert [one["code"] for one in door.view(lost).warnings] == ["SWITCH_NO_MATCH"]

    play(world, scene)


# ---- TC-WF-003: PARALLEL ---------------------------------------------------------------------------------------------

THREE = {"x": ["a"], "y": ["b"], "z": ["c"]}


def answering(body: Any, status: int) -> Callable[[Seen], Any]:
    return lambda seen: as_json(body, status)


async def fanned(door: Door, *bad: str, strategy: str = "all", branches: Any = None, **fields: Any) -> str:
    """Three branches that call the server, of which some are refused."""
    for place in ("a", "b", "c", "after"):
        door.world.wire.answers.setdefault(place, answering(place, 400 if place in bad else 200))
    more = fields.pop("more", [])
    nodes = [
        parallel("p", branches or THREE, strategy, **fields),
        data("a"),
        data("b"),
        data("c"),
        data("after"),
        *more,
    ]
    run = await door.play(nodes, "p>after", given={})
    door.world.wire.answers.clear()
    return run


def statuses(door: Door, run: str) -> dict[str, str]:
    return {name: one["status"] for name, one in door.view(run).variables["parallel_results"].items()}


def test_tc_wf_003_branches_run_at_the_same_time(world: World, wire: Wire) -> None:
    """TC-WF-003, W-4.9.1: three calls that the server answers only when all of them are there."""
    meeting = threading.Barrier(3, timeout=60)

    def meet(seen: Seen) -> Any:
        meeting.wait()
        return as_json({})

    wire.answers.update(dict.fromkeys(("a", "b", "c"), meet))

    async def scene(door: Door) -> None:
        run = await fanned(door)
        assert door.view(run).status == "completed" and set(statuses(door, run).values()) == {"succeeded"}

    play(world, scene)
    assert not meeting.broken


@pytest.mark.parametrize(
    ("strategy", "bad", "join", "ends"),
    [
        ("all", "", {}, "completed"), ("all", "b", {}, "failed"),
        ("all", "b", {"on_partial_failure": "fail"}, "failed"),
        ("all", "b", {"on_partial_failure": "continue"}, "completed"),
        ("any", "ab", {}, "completed"), ("any", "abc", {}, "failed"),
        ("n_of", "a", {"n": 2}, "completed"), ("n_of", "ab", {"n": 2}, "failed"),
    ],
)  # fmt: skip
def test_tc_wf_003_joins(world: World, wire: Wire, strategy: str, bad: str, join: Any, ends: str) -> None:
    """TC-WF-003, C-22: all, any, n_of; fail is the default; continue goes on with what is there."""

    async def scene(door: Door) -> None:
        branches = {name: {"nodes": nodes, "required": strategy == "all"} for name, nodes in THREE.items()}
        run = await fanned(door, *bad, strategy=strategy, branches=branches, join=join)
        assert door.view(run).status == ends and bool(wire.to("after")) is (ends == "completed")

    play(world, scene)


def test_tc_wf_003_conditional_and_optional_branches(world: World, wire: Wire) -> None:
    """TC-WF-003, W-4.9.2, W-4.9.3: a false condition is not run nor counted; an optional branch may fail."""

    async def scene(door: Door) -> None:
        run = await fanned(door, branches={**THREE, "y": {"nodes": ["b"], "condition": "${input.never == 1}"}})
        assert door.view(run).status == "completed" and wire.to("b") == []
        run = await fanned(door, "c", branches={**THREE, "z": {"nodes": ["c"], "required": False}})
        assert door.view(run).status == "completed" and statuses(door, run)["z"] == "failed"

    play(world, scene)


def test_tc_wf_003_a_partial_failure_compensates(world: World, wire: Wire) -> None:
    """TC-WF-003, C-22: what has succeeded is undone; COMPENSATED."""

    async def scene(door: Door) -> None:
        undos = [undo("ua", "a"), undo("ub", "b")]
        run = await fanned(door, "b", join={"on_partial_failure": "compensate"}, more=undos)
        assert door.view(run).status == "compensated" and door.moves(run) == ["COMPENSATING", "COMPENSATED"]

    play(world, scene)
    assert wire.to("undo/a") and not wire.to("undo/b") and not wire.to("after")


def test_tc_wf_003_results_are_merged(world: World) -> None:
    """TC-WF-003, C-23: array, object, first_success."""

    async def scene(door: Door) -> None:
        run = await fanned(door, output={"merge_strategy": "array"})
        assert [one["output"] for one in door.view(run).variables["parallel_results"]] == ["a", "b", "c"]
        run = await fanned(door, output={"merge_strategy": "object"})
        results = door.view(run).variables["parallel_results"]
        assert {name: one["output"] for name, one in results.items()} == {"x": "a", "y": "b", "z": "c"}
        run = await fanned(door, "a", "c", output={"merge_strategy": "first_success"},
                           join={"on_partial_failure": "continue"})  # fmt: skip
        assert door.view(run).variables["parallel_results"] == "b"

    play(world, scene)


@pytest.mark.parametrize(("how", "ends"), [("fail", "failed"), ("continue", "completed")])
def test_tc_wf_003_the_time_of_a_join(world: World, wire: Wire, how: str, ends: str) -> None:
    """TC-WF-003, C-22, C-72: JOIN_TIMEOUT after 5 s; with continue the branch is a `timeout` and it goes on."""

    async def scene(door: Door) -> None:
        slow = wait("c", {"type": "manual"})
        join = {"timeout_ms": 5000, "on_partial_failure": how}
        run = await door.play([parallel("p", THREE, join=join), data("a"), data("b"), slow, data("after")], "p>after")
        await door.to(T0 + 4999)
        assert door.view(run).status == "waiting"
        await door.later(1)
        assert door.view(run).status == ends
        if how == "fail":
            assert door.failure(run) == ("JOIN_TIMEOUT", "timeout")
        else:
            assert statuses(door, run)["z"] == "timeout" and len(wire.to("after")) == 1

    play(world, scene)


# ---- TC-WF-004: WAIT / resume ----------------------------------------------------------------------------------------

KINDS: dict[str, dict[str, Any]] = {
    "event": {"type": "event", "event": {"source": "news", "filter": {"n": "${input.n}"}}},
    "time": {"type": "time", "duration_hours": 5},
    "polling": {"type": "polling", "polling": {"endpoint": "/poll", "interval_sec": 600,
                                               "success_condition": "response.status == 'completed'"}},
    "manual": {"type": "manual"},
}  # fmt: skip


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_tc_wf_004_every_kind_is_resumed(world: World, wire: Wire, kind: str, restart: bool) -> None:
    """TC-WF-004, W-4.7.1, W-4.7.2, W-4.7.3, W-4.7.4: event, time, polling, manual; also by another process."""
    status = {"status": "running"}
    wire.answers["poll"] = lambda seen: as_json(status)

    async def begin(door: Door) -> str:
        node = wait("w", KINDS[kind], output={"variable": "got"})
        run = await door.play([node, data("after")], "w>after", given={"n": 3})
        assert door.view(run).status == "waiting" and not wire.to("after")
        if kind == "event":
            assert (await door.send_event("news", {"n": 4})).resumed == []
        return run

    async def end(door: Door, run: str) -> None:
        await door.later(4 * HOUR)
        assert door.view(run).status == "waiting" and not wire.to("after")
        if kind == "event":
            await door.send_event("news", {"n": 3, "ok": True})
        elif kind == "manual":
            await door.signal(run, "manual:w", {"go": True})
        status["status"] = "completed"
        await door.later(HOUR)
        assert door.view(run).status == "completed" and len(wire.to("after")) == 1
        assert door.view(run).variables["got"] == {
            "event": {"n": 3, "ok": True}, "manual": {"go": True}, "polling": {"status": "completed"},
            "time": {"resumed_at": moment(T0 + 5 * HOUR), "waited_ms": 5 * HOUR},
        }[kind]  # fmt: skip

    async def both(door: Door) -> None:
        await end(door, await begin(door))

    if restart:
        run = play(world, begin)
        play(world, lambda door: end(door, run))
    else:
        play(world, both)


@pytest.mark.parametrize("how", ["fail", "skip", "default_value", "alternative_path"])
@pytest.mark.parametrize("kind", ["event", "polling", "manual"])
def test_tc_wf_004_time_is_over(world: World, wire: Wire, kind: str, how: str) -> None:
    """TC-WF-004, W-4.7.5, C-36: fail, skip, default_value, alternative_path."""
    wire.answers["poll"] = lambda seen: as_json({"status": "running"})
    known: dict[str, Any] = {"default_value": {"default": {"status": "none"}}, "alternative_path": {"goto": "other"}}
    more = known.get(how, {})
    node = wait("w", KINDS[kind], timeout={"duration_minutes": 120, "on_timeout": how, **more})

    async def scene(door: Door) -> None:
        others = [data("other")] if how == "alternative_path" else []
        run = await door.play([node, data("after"), *others], "w>after", given={"n": 3})
        await door.to(T0 + 120 * MINUTE - 1)
        assert door.view(run).status == "waiting"
        await door.later(1)
        assert door.view(run).status == ("failed" if how == "fail" else "completed")
        assert door.ran(run)["w"] in {"fail": ["failed"], "skip": ["skipped"], "default_value": ["succeeded"]}.get(
            how, ["succeeded", "skipped"]
        )
        assert bool(wire.to("after")) is (how in ("skip", "default_value"))
        assert bool(wire.to("other")) is (how == "alternative_path")
        if how == "fail":
            assert door.failure(run) == ("WAIT_TIMEOUT", "timeout")

    play(world, scene)


def test_tc_wf_004_an_early_event_is_found(world: World, wire: Wire) -> None:
    """TC-WF-004, C-37: it came while the workflow was still at another node; a wrong one is ignored."""
    first = wait("first", {"type": "manual"})

    async def scene(door: Door) -> None:
        run = await door.play([first, wait("w", KINDS["event"])], "first>w", given={"n": 3})
        for n in (2, 3, 4):
            assert (await door.send_event("news", {"n": n})).resumed == []
        await door.signal(run, "manual:first")
        await door.quiet()
        assert door.view(run).status == "completed" and door.view(run).output == {"n": 3}

    play(world, scene)


# ---- TC-WF-005: APPROVAL ---------------------------------------------------------------------------------------------


def test_tc_wf_005_every_row_of_the_table() -> None:
    """TC-WF-005, W-4.6.1: the states of an approval, and nothing else."""
    machine = MACHINES["approval"]
    rows = [
        ("REQUESTED", "notify_approvers", "PENDING"), ("PENDING", "approve_action", "APPROVED"),
        ("PENDING", "reject_action", "REJECTED"), ("PENDING", "escalate_action", "ESCALATED"),
        ("PENDING", "timeout_reached", "TIMEOUT"), ("TIMEOUT", "on_timeout=reject", "REJECTED"),
        ("TIMEOUT", "on_timeout=escalate", "ESCALATED"), ("TIMEOUT", "on_timeout=auto_approve", "APPROVED"),
        ("ESCALATED", "reassign_approvers", "PENDING"),
    ]  # fmt: skip
    assert machine.initial == "REQUESTED"
    assert [machine.next(old, event) for old, event, _ in rows] == [new for *_, new in rows]
    for status in ("APPROVED", "REJECTED"):
        with pytest.raises(StatusConflict):
            machine.next(status, "approve_action")


@pytest.mark.parametrize(
    ("type", "targets", "who", "not_who"),
    [
        ("role", ["quality_manager"], [MANAGER], [OTHER, ADMIN]), ("user", [OTHER], [OTHER], [MANAGER]),
        ("group", ["quality"], [MANAGER], ["it@example.com"]),
        ("any_of", ["role:quality_manager", f"user:{OTHER}"], [OTHER], [ADMIN]),
        ("all_of", ["role:quality_manager", "role:it_manager"], [MANAGER, "it@example.com"], [OTHER]),
    ],
)  # fmt: skip
def test_tc_wf_005_who_decides(
    world: World, wire: Wire, type: str, targets: list[str], who: list[str], not_who: list[str]
) -> None:
    """TC-WF-005, W-4.6.4, C-32: user, role, group, any_of, all_of; others are refused; all_of needs everybody."""

    async def scene(door: Door) -> None:
        run = await door.play([approval("ask", *targets, type=type), data("after")], "ask>after")
        for one in not_who:
            with pytest.raises(ApproverDenied):
                await door.decide(run, by=one)
        for one in who:
            assert door.view(run).status == "waiting" and not wire.to("after")
            await door.decide(run, by=one)
        assert door.view(run).status == "completed" and len(wire.to("after")) == 1
        result = door.view(run).variables["approval_result"]
        assert result["status"] == "approved" and [one["user"] for one in result["approvals"]] == who
        with pytest.raises(ItemDecided):
            await door.decide(run, by=who[0])

    play(world, scene)


def test_tc_wf_005_a_rejection_cancels(world: World, wire: Wire) -> None:
    """TC-WF-005, C-40, W-4.6.2: also where others have approved already; an edge takes it where there is one."""

    async def scene(door: Door) -> None:
        both = approval("ask", "role:quality_manager", "role:it_manager", type="all_of")
        run = await door.play([both, data("after")], "ask>after")
        await door.decide(run)
        await door.decide(run, "rejected", by="it@example.com")
        assert door.view(run).status == "cancelled" and not wire.to("after")
        taken = await door.play([both, data("no")], ("ask>no", {"when": "rejected"}))
        await door.decide(taken, "rejected")
        assert door.view(taken).status == "completed" and len(wire.to("no")) == 1

    play(world, scene)


@pytest.mark.parametrize(
    ("how", "ends"), [("reject", "cancelled"), ("auto_approve", "completed"), ("escalate", "failed")]
)
def test_tc_wf_005_nobody_decides(world: World, wire: Wire, how: str, ends: str) -> None:
    """TC-WF-005, W-4.6.1, W-4.6.3, C-33, C-34: reminders at 1, 6 and 12 h, each once, again after each escalation;
    then what on_timeout says."""
    ask = approval("ask", "quality_manager",
                   timeout={"duration_hours": 24, "reminder_intervals": [1, 6, 12], "on_timeout": how})  # fmt: skip
    ask["notification"] = {"channels": ["email"]}
    told: list[int] = []

    async def scene(door: Door) -> None:
        run = await door.play([ask])
        levels = 4 if how == "escalate" else 1
        for hour in range(24 * levels + 1):
            await door.to(T0 + hour * HOUR)
            told.extend([hour] * (len(wire.mails("승인 요청")) - len(told)))
            assert door.view(run).status == ("waiting" if hour < 24 * levels else ends), hour
        assert told == [24 * level + hour for level in range(levels) for hour in (0, 1, 6, 12)]
        if how == "escalate":
            assert door.failure(run) == ("APPROVAL_TIMEOUT", "timeout")
        else:
            assert door.view(run).variables["approval_result"]["timed_out"] is True

    play(world, scene)


# ---- TC-WF-006: retry ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("retry", "wanted"),
    [
        ({"max": 3, "backoff_ms": 1000, "backoff_type": "fixed"}, [0, 1000, 2000, 3000]),
        ({"max": 3, "backoff_ms": 1000}, [0, 1000, 2000, 3000]),
        ({"max": 3, "backoff_ms": 1000, "backoff_type": "linear"}, [0, 1000, 3000, 6000]),
        ({"max": 3, "backoff_ms": 1000, "backoff_type": "exponential"}, [0, 1000, 3000, 7000]),
        ({"max_attempts": 4, "backoff": {"type": "fixed", "initial_ms": 500, "jitter": False}}, [0, 500, 1000, 1500]),
        ({"max_attempts": 4, "backoff": {"type": "linear", "initial_ms": 500, "jitter": False}}, [0, 500, 1500, 3000]),
        ({"max_attempts": 4, "backoff": {"type": "exponential", "initial_ms": 500, "multiplier": 3, "max_ms": 2000,
                                         "jitter": False}}, [0, 500, 2000, 4000]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("policy", [False, True], ids=["node", "policy"])
def test_tc_wf_006_delays(world: World, wire: Wire, retry: Any, wanted: list[int], policy: bool) -> None:
    """TC-WF-006, W-7.2.1, W-7.2.2, W-7.2.3, W-7.2.4, C-15: both shapes, three kinds, the longest delay; one key."""
    times = timed(world, "a", 503, 503, 503)

    async def scene(door: Door) -> None:
        node, top = (data("a"), {"policies": {"retry": retry}}) if policy else (data("a", retry=retry), {})
        run = await door.play([node], **top)
        assert door.ran(run) == {"a": "retrying"} and door.view(run).status == "running"
        await door.later(MINUTE)
        assert door.view(run).status == "completed" and door.view(run).firings[0].attempt == 4

    play(world, scene)
    assert times == wanted and len(set(wire.keys("a"))) == 1


def test_tc_wf_006_jitter_stays_in_its_bounds(world: World) -> None:
    """TC-WF-006, W-7.2.4: half of the delay to all of it, and not the same every time."""
    retry = {"max_attempts": 2, "backoff": {"type": "fixed", "initial_ms": 1000}}
    drawn = set()

    async def scene(door: Door) -> None:
        for _ in range(12):
            times, began = timed(world, "a", 503), world.clock.at - T0
            await door.play([data("a", retry=retry)])
            await door.later(2000)
            assert times[0] == began and 500 <= times[1] - began <= 1000
            drawn.add(times[1] - began)

    play(world, scene)
    assert len(drawn) > 3


@pytest.mark.parametrize(("status", "calls"), [(400, 1), (404, 1), (401, 1), (403, 1), (429, 3), (408, 3), (500, 3)])
def test_tc_wf_006_what_is_worth_a_retry(world: World, status: int, calls: int) -> None:
    """TC-WF-006, W-7.2.1, C-15, W-4.5.8: permanent and authorization are not; used up, the run FAILED."""
    times = timed(world, "a", *[status] * 9)

    async def scene(door: Door) -> None:
        run = await door.play([data("a", retry={"max": 2, "backoff_ms": 1000})])
        await door.later(MINUTE)
        assert door.view(run).status == "failed" and door.letters()[0].error["retry_count"] == calls - 1

    play(world, scene)
    assert len(times) == calls


# ---- TC-WF-007: circuit breaker --------------------------------------------------------------------------------------

FULL: dict[str, Any] = {"failure_threshold": 3, "half_open_requests": 2, "cooldown_ms": 60_000}
SHORT: dict[str, Any] = {"fail_rate": 0.5, "window": 4, "cooldown_s": 60}


async def called(door: Door, breaker: Any, times: int = 1, **fields: Any) -> list[str]:
    """How runs of one workflow end: their status, or the code of their failure."""
    more = fields.pop("more", [])
    found = []
    for _ in range(times):
        run = await door.play([data("a", circuit_breaker=breaker, **fields), *more])
        look = door.view(run)
        found.append(look.failure["code"] if look.failure else "fell back" if more else door.ran(run)["a"])
    return found


def state(door: Door) -> str:
    (one,) = door.breakers()
    return one.status


def test_tc_wf_007_every_transition_and_shared_between_instances(world: World, wire: Wire) -> None:
    """TC-WF-007, W-7.3.2, W-7.3.5: closed, open, half open, open, half open, closed; of every run and process."""

    async def opens(door: Door) -> None:
        assert await called(door, FULL) == ["succeeded"] and state(door) == "closed"
        wire.trouble["a"] = INF
        assert await called(door, FULL, 5) == ["HTTP_5XX"] * 3 + ["CIRCUIT_OPEN"] * 2
        assert state(door) == "open" and len(wire.to("a")) == 4

    async def closes(door: Door) -> None:
        await door.later(59_999)
        assert await called(door, FULL) == ["CIRCUIT_OPEN"] and len(wire.to("a")) == 4
        await door.later(1)
        assert await called(door, FULL) == ["HTTP_5XX"] and state(door) == "open"
        wire.trouble.clear()
        await door.later(60_000)
        assert await called(door, FULL) == ["succeeded"] and state(door) == "half_open"
        assert await called(door, FULL) == ["succeeded"] and state(door) == "closed"

    play(world, opens)
    play(world, closes)


def test_tc_wf_007_the_short_shape(world: World, wire: Wire) -> None:
    """TC-WF-007, C-19: a full window decides."""

    async def scene(door: Door) -> None:
        assert await called(door, SHORT, 2) == ["succeeded"] * 2
        wire.trouble["a"] = INF
        assert await called(door, SHORT, 3) == ["HTTP_5XX"] * 2 + ["CIRCUIT_OPEN"]

    play(world, scene)


@pytest.mark.parametrize(("action", "ends"), [("skip", "skipped"), ("fail", "CIRCUIT_OPEN"), ("fallback", "fell back")])
def test_tc_wf_007_what_an_open_breaker_does(world: World, wire: Wire, action: str, ends: str) -> None:
    """TC-WF-007, W-7.3.3: skip, fail, fallback; the target is not called."""
    on_open = {"action": action, **({"fallback_node": "b"} if action == "fallback" else {})}
    more = [data("b")] if action == "fallback" else []

    async def scene(door: Door) -> None:
        wire.trouble["a"] = INF
        await called(door, {**FULL, "on_open": on_open}, 3, more=more)
        found = await called(door, {**FULL, "on_open": on_open}, more=more)
        assert len(wire.to("a")) == 3 and bool(wire.to("b")) is (action == "fallback")
        assert found == [ends]

    play(world, scene)


def test_tc_wf_007_slow_calls_are_failures(world: World, wire: Wire) -> None:
    """TC-WF-007, W-7.3.4: latency as failure."""

    def slow(seen: Seen) -> Any:
        time.sleep(0.06)
        return as_json({})

    wire.answers["a"] = slow
    breaker = {**FULL, "metrics": {"track_latency": True, "latency_threshold_ms": 30}}
    found = play(world, lambda door: called(door, breaker, 4))
    assert found == ["succeeded"] * 3 + ["CIRCUIT_OPEN"]


# ---- TC-WF-008: COMPENSATION -----------------------------------------------------------------------------------------

CHAIN = ("a>b", "b>c")


def undone(wire: Wire) -> list[str]:
    """What was undone, in the order in which the server heard of it."""
    return [seen.path.removeprefix("/undo/") for seen in wire.server.seen if seen.path.startswith("/undo/")]


def test_tc_wf_008_in_reverse_order(world: World, wire: Wire) -> None:
    """TC-WF-008, W-4.10.1, C-45: A and B succeeded, C failed: B, then A, then COMPENSATED; a letter all the same."""
    wire.answers["c"] = lambda seen: as_json({}, 400)

    async def scene(door: Door) -> None:
        undos = [undo("ua", "a"), undo("ub", "b"), undo("uc", "c")]
        run = await door.play([data("a"), data("b"), data("c"), *undos], *CHAIN)
        assert door.view(run).status == "compensated" and door.moves(run) == ["COMPENSATING", "COMPENSATED"]
        assert door.failure(run) == ("HTTP_4XX", "permanent") and len(door.letters()) == 1
        wire.server.seen.clear()
        none = [undo("ua", "a", trigger={"conditions": "a.n == 5"}), undo("ub", "b")]
        run = await door.play([data("a"), data("b"), data("c"), *none], *CHAIN)
        assert door.view(run).status == "compensated" and undone(wire) == ["b"]

    play(world, scene)


def test_tc_wf_008_the_order_on_the_wire(world: World, wire: Wire) -> None:
    """TC-WF-008, W-4.10.1, W-4.10.2: the seed's own sample: release what was reserved, then tell it."""
    (sample,) = seeds("4.10")
    url = f"{wire.server.url}/reserve"
    reserve = act("action_reserve_inventory", channel={"type": "webhook", "config": {"url": url}})
    wire.answers["reserve"] = lambda seen: as_json({"reservation_id": "R-7"})
    wire.answers["c"] = lambda seen: as_json({}, 400)

    async def scene(door: Door) -> None:
        nodes = [data("a"), reserve, data("c"), undo("ua", "a"), sample]
        run = await door.play(nodes, "a>action_reserve_inventory", "action_reserve_inventory>c")
        assert door.view(run).status == "compensated", door.view(run).failure

    play(world, scene)
    paths = [seen.path.strip("/") for seen in wire.server.seen]
    assert paths == ["a", "reserve", "c", "api/inventory/release", "slack", "undo/a"]
    assert wire.to("api/inventory/release")[0].json == {"reservation_id": "R-7", "reason": "workflow_compensation"}
    assert wire.to("slack")[0].json["text"] == "재고 예약이 롤백되었습니다: R-7"


def test_tc_wf_008_retries_then_by_hand(world: World, wire: Wire) -> None:
    """TC-WF-008, W-4.10.3: two retries, then alert_and_manual: people are told, FAILED, nothing more is undone."""
    wire.answers["c"] = lambda seen: as_json({}, 400)
    wire.trouble["undo/b"] = INF
    retry = {"max": 2, "backoff_ms": 2000, "on_failure": "alert_and_manual"}

    async def scene(door: Door) -> None:
        undos = [undo("ua", "a"), undo("ub", "b", retry=retry)]
        run = await door.play([data("a"), data("b"), data("c"), *undos], *CHAIN)
        assert door.view(run).status == "compensating" and undone(wire) == ["b"]
        await door.later(4000)
        assert door.view(run).status == "failed" and door.failure(run)[0] == "COMPENSATION_FAILED"
        assert undone(wire) == ["b"] * 3 and door.moves(run) == ["COMPENSATING", "FAILED"]
        assert "COMPENSATION_STEP_FAILED" in [one["code"] for one in door.view(run).warnings]
        await door.until(lambda: wire.mails("COMPENSATION_FAILED"))

    play(world, scene)


@pytest.mark.parametrize("on", ["workflow_cancel", "manual"])
def test_tc_wf_008_by_hand_and_by_cancelling(world: World, wire: Wire, on: str) -> None:
    """TC-WF-008, W-4.10.5, C-41: each trigger does its own and no other's."""

    async def scene(door: Door) -> None:
        nodes = [data("a"), wait("w", {"type": "manual"}), undo("u", "a", trigger={"on": [on]})]
        cancelled, asked = [await door.play(nodes, "a>w") for _ in range(2)]
        await door.cancel(cancelled)
        await door.quiet()
        assert door.view(cancelled).status == ("compensated" if on == "workflow_cancel" else "cancelled")
        assert undone(wire) == (["a"] if on == "workflow_cancel" else [])
        if on == "manual":
            await door.command(asked, C.compensate())
            await door.quiet()
            assert door.view(asked).status == "compensated" and undone(wire) == ["a"]

    play(world, scene)


# ---- TC-WF-012: checkpoints ------------------------------------------------------------------------------------------

LONG = [data("a"), value("v", '{"n": 2}'), wait("w", {"type": "manual"}, checkpoint=True), data("b"), data("c")]
LONG_WAYS = ("a>v", "v>w", "w>b", "b>c")


def numbers(door: Door, run: str) -> list[tuple[int, str, str]]:
    return [(row.number, row.node, row.status) for row in reversed(door.store.checkpoints(run))]


@pytest.mark.parametrize("strategy", ["node_boundary", "time_interval", "explicit"])
def test_tc_wf_012_killed_at_every_write(world: World, wire: Wire, strategy: str) -> None:
    """TC-WF-012, W-8.1.1, W-8.1.5, W-8.3.2: at every boundary and inside WAIT; no node ends twice, no key is new, the
    checkpoints are numbered without a hole, and whoever suspends has one."""
    world.furnish()
    policies = {"checkpoint": {"strategy": strategy, "time_interval_ms": 60_000}}

    async def life(door: Door) -> None:
        rows = door.runs()
        if not rows:
            await door.play(LONG, *LONG_WAYS, policies=policies)
            rows = door.runs()
        await door.until(lambda: door.view(rows[0].id).status in ("waiting", "completed"))
        if door.view(rows[0].id).status == "waiting":
            await door.signal(rows[0].id, "manual:w", {"go": 1}, id="go")
        await door.until(lambda: door.view(rows[0].id).status == "completed")

    async def resume(other: World) -> None:
        async with other.open(again=True) as door:
            await life(door)
            (row,) = door.runs()
            found = numbers(door, row.id)
            assert [number for number, *_ in found] == list(range(1, len(found) + 1))
            assert ("w", "waiting") in [one[1:] for one in found]
            assert {node for _, node, _ in found} == ({"w", "b", "c"} if strategy == "node_boundary" else {"w"})
            ended = [one.node for one in door.told(row.id, "settled")]
            assert sorted(ended) == ["a", "b", "c", "v", "w"]
            for place in ("a", "b", "c"):
                assert len(set(wire.keys(place))) == 1 and len(wire.to(place)) <= 2
            kept = await door.checkpoint(row.id)
            assert kept is not None

    for other in deaths(world, life, prepare=lambda: None, some=True):
        go(resume(other))


def test_tc_wf_012_retention_encryption_and_size(world: World, wire: Wire) -> None:
    """TC-WF-012, W-8.1.3, W-8.1.4, C-47: encrypted at rest, measured after compression, gone after 24 hours; the newest
    of a run that waits is never deleted."""
    policies = {"checkpoint": {"strategy": "node_boundary"}}
    given = {"text": "nobody may read this " * 500}

    async def scene(door: Door) -> None:
        patient = wait("w", {"type": "manual"}, timeout={"duration_days": 1000, "on_timeout": "fail"})
        waits = await door.play([data("a"), patient], "a>w", given=given, policies=policies)
        done = await door.play([data("a"), data("b")], "a>b", given=given, policies=policies, id="wf_done")
        assert numbers(door, waits) and numbers(door, done)
        whole = b"".join(row.context for run in (waits, done) for row in door.store.checkpoints(run))
        assert b"nobody may read" not in whole
        count, total, largest = door.store.checkpoint_sizes()
        assert count == len(numbers(door, waits)) + len(numbers(door, done))
        assert 0 < largest <= total < len(msgspec.json.encode(given)) * count / 3
        kept = await door.checkpoint(waits)
        assert kept is not None
        await door.later(25 * HOUR)
        await door.until(lambda: numbers(door, done) == [])
        assert numbers(door, waits)
        await door.later(400 * DAY)
        assert [one[1:] for one in numbers(door, waits)] == [("w", "waiting")]

    play(world, scene)


# ---- TC-WF-013: DLQ --------------------------------------------------------------------------------------------------


def test_tc_wf_013_a_failed_instance_with_its_four_parts(world: World, wire: Wire) -> None:
    """TC-WF-013, W-7.5.1, W-7.5.2, W-7.1.2: 11.2 whose lab is away: error, input, context_snapshot, history."""
    wire.trouble["lab"] = INF

    async def scene(door: Door) -> None:
        door.put_in_force(CCP)
        payload = {"line_id": "L01", "severity": "high"}
        (run,) = (await door.send_event("sensor.ccp.threshold_exceeded", payload)).started
        await door.quiet()
        (letter,) = door.letters()
        assert (letter.run, letter.document, letter.version, letter.queue) == (
            run, "wf_ccp_deviation_v2", 2, "workflow_dlq"
        )  # fmt: skip
        assert set(letter.error) == {"code", "category", "message", "node_id", "context", "timestamp", "retry_count"}
        assert (letter.error["code"], letter.error["node_id"]) == ("HTTP_5XX", "action_sample_request")
        assert letter.input == payload
        outputs = letter.context_snapshot["outputs"]
        assert outputs["ccp_alert"]["ok"] == "slack" and outputs["judgment_result"]["decision"] == "critical"
        done = [(one["node_id"], one["status"]) for one in letter.execution_history or ()]
        assert ("action_sample_request", "failed") in done and done[0][0] == "data_ccp"

    play(world, scene)


def test_tc_wf_013_alert_replay_and_purge(world: World, wire: Wire) -> None:
    """TC-WF-013, W-7.5.2, W-7.5.3, W-7.5.4: the eleventh within 60 minutes is one alert; three replays and no more;
    gone after 30 days."""
    nodes, policies = [data("a")], {"dlq": {"alerts": {"channels": ["slack"]}}}
    wire.trouble["a"] = INF

    async def scene(door: Door) -> None:
        for n in range(12):
            await door.play(nodes, given={"n": n}, policies=policies)
            await door.later(5 * MINUTE)
            await door.until(lambda: not door.store.notices_left())
            assert len(wire.to("slack")) == (1 if n >= 10 else 0), n
        letters = door.letters()
        assert len(letters) == 12 and letters[-1].input == {"n": 0}
        wire.trouble.clear()
        first = letters[-1]
        for n in (1, 2, 3):
            new = await dead.replay(door, first.run)
            await door.quiet()
            assert door.view(new).status == "completed" and door.input_of(door.row(new)) == {"n": 0}
            assert dead.letter(door, first.run).replays == n
        with pytest.raises(ReplayRefused):
            await dead.replay(door, first.run)
        await door.to(first.at + 30 * DAY - 1)
        assert len(door.letters()) == 12
        await door.to(first.at + 30 * DAY + 3 * HOUR)
        await door.until(lambda: door.letters() == [])

    play(world, scene)


def test_tc_wf_013_what_waits_for_people_is_no_letter(world: World) -> None:
    """TC-WF-013, W-7.5.2: neither a completed run, nor a cancelled one, nor one that waits."""

    async def scene(door: Door) -> None:
        waits = await door.run(DEFECT)
        other = await door.run(DEFECT)
        await door.decide(other, "rejected")
        assert len(inbox.open_items(door)) == 1 and door.view(waits).status == "waiting"
        assert door.letters() == [] and json.loads(DEFECT.read_bytes())["policies"].get("dlq") is None

    play(world, scene)
