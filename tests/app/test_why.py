"""Why a run rests, by real runs of the seed's workflows, of a diagram, and of nets that get stuck."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.app.runs.queries import Queries, StoreReader
from penstock.app.runs.run_view import RunFold
from penstock.app.runs.waiting.environment import Environment, read_environment
from penstock.app.runs.waiting.wait_context import Followup, WaitContext, WaitReason
from penstock.app.runs.waiting.why import deadline_near, is_stuck, lowest, reasons, why, why_state
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.state import COMPLETED
from penstock.net.model import ALL, Concurrency, Effect, Join, Node, Rate, Retry, RunRetry, Trigger, Work
from tests.app.scenes import ASK, LAB, Echo, ccp, net, opened, task
from tests.conformance.decision.make import Play, act, data
from tests.conformance.decision.world import DEFECT, HOUR, MANAGER, MINUTE, T0, Wire, World, go
from tests.kernel.harness import Sim
from tests.kernel.storm import tangled
from tests.model.random_nets import bits


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    one = Wire()
    yield one
    one.close()


@pytest.fixture
def world(tmp_path: Path, wire: Wire) -> World:
    wire.forget()
    one = World(tmp_path, wire).plant()
    one.sure(0.6)
    return one


def of(door: Queries, run: str) -> list[WaitReason]:
    return why(door, door.reading(run), read_environment(door))


def seen(sim: Sim, **more: Any) -> list[WaitReason]:
    """Of a run on the kernel alone."""
    return why_state(sim.st, sim.net, 1, Environment(sim.now, **more))


# ---- the seed's workflows --------------------------------------------------------------------------------------------


def test_a_person_is_awaited_and_it_escalates(world: World) -> None:
    """W-4.6.1, C-34: who must decide, since when, until when, and what happens by itself then; the next
    level has its full time, and after the last one it fails."""

    async def scene() -> None:
        async with world.open() as door:
            run = await door.run(DEFECT)
            (one,) = of(door, run)
            assert (one.rank, one.kind, one.node, one.move) == (8, "work", "request_approval", "approve")
            assert one.who == ["role:quality_manager"] and one.what == "긴급 불량 알람 검토 요청"
            assert (one.since, one.until, one.then) == (T0, T0 + 2 * HOUR, Followup("escalate"))
            assert not is_stuck([one], T0 + HOUR) and deadline_near(one, T0 + 110 * MINUTE)
            await door.to(T0 + 2 * HOUR)
            (next_,) = of(door, run)
            assert (next_.since, next_.until) == (T0 + 2 * HOUR, T0 + 4 * HOUR) and next_.who != one.who
            while door.view(run).status == "waiting":
                last = of(door, run)[0].then
                await door.later(2 * HOUR)
            assert last == Followup("fail")
            (failed,) = of(door, run)
            assert (failed.rank, failed.kind, failed.node) == (1, "failed", "request_approval")

    go(scene())


def test_an_event_is_awaited_with_its_filter(world: World) -> None:
    """W-4.7.2: the event's name, what it must be about, the two hours of the document, and that it fails."""

    async def scene() -> None:
        async with world.open() as door:
            run = await ccp(door)
            (one,) = of(door, run)
            assert (one.rank, one.kind, one.node, one.what) == (9, "event", "wait_lab", LAB)
            assert (one.until, one.then, one.message) == (T0 + 2 * HOUR, Followup("fail"), "sample_id = S-L01")
            assert one.move == "signal" and one.code is None and one.attempt is None
            await door.send_event(LAB, {"sample_id": "S-L01", "ok": True})
            await door.wait(run, timeout=60)
            assert of(door, run) == []

    go(scene())


def test_a_retry_says_which_one_of_how_many(world: World, wire: Wire) -> None:
    """CONSOLE 6: the next try, its number, and what the last one failed with; then that it failed."""

    async def scene() -> None:
        async with world.open() as door:
            wire.trouble["slack"] = 99
            run = await door.run(DEFECT)
            (one,) = of(door, run)
            assert (one.rank, one.kind, one.node) == (5, "backoff", "action_slack_emergency")
            assert (one.attempt, one.of, one.since, one.until) == (2, 3, T0, T0 + 5000)
            assert (one.code, one.then) == ("HTTP_5XX", Followup("retry")) and "503" in (one.message or "")
            state = why_state(
                door.state_at(run), door.net_of(door.hash_of(door.row(run).net)), 1, read_environment(door)
            )
            assert [(w.rank, w.attempt, w.code) for w in state] == [(5, 2, None)]  # what is not known is None
            await door.later(5000)
            assert [w.attempt for w in of(door, run)] == [3]
            await door.later(5000)
            (failed,) = of(door, run)
            assert (failed.rank, failed.code, failed.attempt, failed.of) == (1, "HTTP_5XX", 3, 3)
            assert (failed.move, failed.since) == ("retry", T0 + 10_000)
            wire.trouble.clear()
            await door.retry(run)
            await door.quiet()
            assert [w.kind for w in of(door, run)] == ["work"]
            await door.decide(run, "approved", MANAGER)
            assert door.view(run).status == "completed" and of(door, run) == []

    go(scene())


def test_an_open_breaker_holds_a_retry(world: World, wire: Wire) -> None:
    """CONSOLE 6: a try that has to wait for an open breaker is rank 2, and names it."""
    policy = {"circuit_breaker": {"failure_threshold": 1, "cooldown_ms": 600_000},
              "retry": {"max": 3, "backoff_ms": 60_000}}  # fmt: skip

    async def scene() -> None:
        async with world.open() as door:
            wire.trouble["slack"] = 99
            run = await door.play([act("tell")], policies=policy)
            (one,) = of(door, run)
            assert (one.rank, one.kind, one.node, one.what) == (2, "breaker", "tell", "wf_test/tell")
            assert (one.since, one.attempt, one.of, one.then) == (T0, 2, 4, Followup("retry"))
            assert one.until == T0 + 60_000 and is_stuck([one], T0)

    go(scene())


# ---- paused, undriven, held up ---------------------------------------------------------------------------------------


def test_paused_by_hand(tmp_path: Path) -> None:
    """CONSOLE 6: paused outranks the person that it waits for; it says since when, and that resuming helps."""

    async def scene() -> None:
        async with opened(tmp_path) as door:
            run = await door.start(door.release(ASK))
            await door.wait(run, until_waiting=True, timeout=60)
            (asks,) = of(door, run)
            assert (asks.kind, asks.node, asks.move, asks.who) == ("work", "Ask name", "respond", [])
            await door.pause(run)
            first, second = of(door, run)
            assert (first.rank, first.kind, first.what, first.move) == (7, "paused", "operator", "resume")
            assert first.since is not None and first.until is None and first.who == [] and second.rank == 8
            await door.resume(run)
            assert [one.rank for one in of(door, run)] == [8]

    go(scene())


def test_nobody_drives_the_store(tmp_path: Path) -> None:
    """CONSOLE 6: an effect that was asked and that nobody performs is rank 3 and names its executor; a person's answer
    that is awaited is no matter of workers."""

    class Never(Echo):
        async def run(self, request: Any, services: Any) -> Any:
            await asyncio.sleep(600)

    async def scene() -> tuple[str, str]:
        async with opened(tmp_path, echo=Never()) as door:
            busy = await door.start(door.release(net("n", [Node(id="s", kind="start"), task("a")], "s>a")))
            asks = await door.start(door.release(ASK))
            await door.wait(asks, until_waiting=True, timeout=60)
            assert of(door, busy) == []  # it works
            return busy, asks

    busy, asks = go(scene())
    door = StoreReader(tmp_path / "store.db")
    try:
        assert read_environment(door).driven is False
        (one,) = of(door, busy)
        assert (one.rank, one.kind, one.node, one.what) == (3, "no_worker", "a", "echo") and is_stuck([one], 0)
        assert [w.kind for w in of(door, asks)] == ["work"]
    finally:
        door.close()


def test_no_room_at_the_gate(tmp_path: Path) -> None:
    """CONSOLE 6: an effect that waits for a place of its limit is rank 6 and names the limit; the one that works has no
    reason."""

    async def scene() -> None:
        gate = asyncio.Event()

        class Slow(Echo):
            async def run(self, request: Any, services: Any) -> Any:
                await gate.wait()
                return await super().run(request, services)

        one = Effect(executor="echo", concurrency=Concurrency(name="press", limit=1))
        nodes = [Node(id="s", kind="start"), *(Node(id=id, kind="task", effect=one) for id in "ab")]
        async with opened(tmp_path, echo=Slow()) as door:
            run = await door.start(door.release(net("n", nodes, "s>a", "s>b")))
            while not (found := of(door, run)):
                await asyncio.sleep(0.005)
            assert [(w.rank, w.kind, w.what, w.of) for w in found] == [(6, "limit", "press", 1)]
            gate.set()
            await door.wait(run, timeout=60)
            assert of(door, run) == []

    go(scene())


def test_an_effect_that_waits_for_its_rate_says_until_when(tmp_path: Path) -> None:
    """The second of two calls an hour has its place in the queue, and its page can be read."""

    async def scene() -> None:
        slow = Effect(executor="echo", rate=Rate(name="calls", limit=1, per_ms=3_600_000))
        nodes = [Node(id="s", kind="start"), *(Node(id=id, kind="task", effect=slow) for id in "ab")]
        async with opened(tmp_path, echo=Echo()) as door:
            run = await door.start(door.release(net("n", nodes, "s>a", "s>b")))
            while not (rested := of(door, run)):
                await asyncio.sleep(0.005)
            (reason,) = rested
            assert (reason.rank, reason.kind, reason.what) == (6, "limit", "calls")
            assert reason.until is not None and reason.until > door.now()

    go(scene())


def test_h_a_call_that_is_paced_says_so(tmp_path: Path) -> None:
    """RELIABILITY (h): each pacing is a wait reason that people can see."""

    async def scene() -> None:
        async with opened(tmp_path, starts_per_minute=1) as door:
            child = door.release(ASK)
            effect = Effect(executor="call", args={"net": child.hash, "input": {}})
            nodes = [Node(id="s", kind="start"), *(Node(id=id, kind="call", effect=effect) for id in "ab")]
            run = await door.start(door.release(net("caller", nodes, "s>a", "s>b")))
            while not (limits := [reason for reason in of(door, run) if reason.kind == "limit"]):
                await asyncio.sleep(0.005)
            (reason,) = limits
            assert reason.what == "starts_per_minute" and reason.node == "b"
            assert reason.until is not None and reason.until > door.now()

    go(scene())


def test_a_called_run_says_why(tmp_path: Path) -> None:
    """CONSOLE 6: a run that waits for one that it called has that one's reasons, too, and they come first."""

    async def scene() -> None:
        async with opened(tmp_path) as door:
            child = door.release(ASK)
            call = Node(id="call", kind="call", effect=Effect(executor="call", args={"net": child.hash, "input": {}}))
            run = await door.start(door.release(net("caller", [Node(id="s", kind="start"), call], "s>call")))
            await door.wait(run, until_waiting=True, timeout=60)
            first, second = of(door, run)
            assert (first.rank, first.kind, first.node) == (8, "work", "Ask name")
            assert (second.rank, second.kind, second.node) == (10, "child", "call")
            assert first.run == second.what and second.run is None and first.run != run

    go(scene())


# ---- on the kernel alone ---------------------------------------------------------------------------------------------


def test_a_join_that_cannot_fill_names_the_branch() -> None:
    """CONSOLE 6: while another branch still works, a join whose other way nothing can reach is rank 4."""
    choose = Node(id="choose", kind="route", port="'left'")
    nodes = [
        Node(id="s", kind="start"), choose, task("left"), task("right"), task("slow"), Node(id="j", join=ALL),
    ]  # fmt: skip
    sim = Sim(net("n", nodes, "s>choose", "s>slow", "choose:left>left", "choose:right>right", "left>j", "right>j"))
    assert seen(sim) == []
    sim.ok("left")
    (one,) = seen(sim)
    assert (one.rank, one.kind, one.node, one.what) == (4, "dead_join", "j", "right")
    assert one.until is None and one.then is None and one.move == "resolve" and is_stuck([one], 0)
    sim.ok("slow")  # nothing can happen any more: the kernel says the same
    first, second = seen(sim)
    assert (first.rank, first.code, first.move) == (1, "DEADLOCK", None)
    assert (second.rank, second.node, second.what, second.code) == (4, "j", "right", "DEADLOCK")


def test_two_of_three_may_still_come() -> None:
    """CONSOLE 6: a join that wants two is dead only when two cannot come any more."""
    two = Join(mode="k", k=2)
    choose = Node(id="choose", kind="route", port="'other'")
    nodes = [Node(id="s", kind="start"), task("a"), task("b"), choose, task("c"), task("d"), Node(id="j", join=two)]
    sim = Sim(net("n", nodes, "s>a", "s>b", "s>choose", "s>d", "choose:never>c", "a>j", "b>j", "c>j"))
    sim.ok("a")
    assert [one.kind for one in seen(sim)] == []  # b may come
    choose_b = Node(id="b", kind="route", port="'x'")
    nodes[2] = choose_b
    sim = Sim(net("n", nodes, "s>a", "s>b", "s>choose", "s>d", "choose:never>c", "a>j", "b:y>j", "c>j"))
    sim.ok("a")
    assert [(one.kind, one.what) for one in seen(sim)] == [("dead_join", "b, c")]


def test_a_deadlock_that_pauses_has_both_reasons() -> None:
    """CONSOLE 6: where a net pauses instead of failing, the dead join outranks the pause."""
    choose = Node(id="choose", kind="route", port="'left'")
    nodes = [Node(id="s", kind="start"), choose, task("left"), task("right"), Node(id="j", join=ALL)]
    ways = ("s>choose", "choose:left>left", "choose:right>right", "left>j", "right>j")
    sim = Sim(net("n", nodes, *ways, on_stuck="pause"))
    sim.ok("left")
    watcher = RunFold(lambda _: sim.net)
    for at, body in sim.turns:
        watcher.turn(at, F.decode_facts(body))
    found = sorted(
        reasons(WaitContext(watcher.reader.st, sim.net, 1, Environment(sim.now), watcher)), key=lambda one: one.rank
    )
    assert [(one.rank, one.kind, one.what) for one in found][-1] == (7, "paused", "deadlock")
    assert {(one.rank, one.node, one.what) for one in found[:-1]} == {(4, "j", "right")}


def test_a_run_that_waits_for_its_own_retry() -> None:
    """KERNEL 6: the whole run is tried again by itself: rank 5, with the run's own count."""
    nodes = [Node(id="s", kind="start"), task("a", retry=Retry(max=0))]
    sim = Sim(net("n", nodes, "s>a", run_retry=RunRetry(max=2, delay_ms=9000)))
    sim.bad("a", "NO")
    (one,) = seen(sim)
    assert (one.rank, one.kind, one.node, one.code) == (5, "backoff", "a", "NO")
    assert (one.attempt, one.of, one.until, one.then) == (2, 3, sim.now + 9000, Followup("retry"))


def test_a_timer_and_a_doubt() -> None:
    """CONSOLE 6: a moment is rank 11, with what follows it; an effect in doubt needs an operator, and is rank 1."""
    play = Play([{"id": "w", "type": "WAIT", "condition": {"type": "time", "duration_minutes": 3}}, data("d")], "w>d")
    (one,) = seen(play)
    assert (one.rank, one.kind, one.node, one.until) == (11, "timer", "w", play.now + 180_000)
    assert one.then == Followup("continue") and not deadline_near(one, play.now + 179_000)
    sim = Sim(net("n", [Node(id="s", kind="start"), task("a")], "s>a"))
    (firing,) = sim.effects()
    sim.do(C.doubt(firing.no, firing.attempt))
    (doubt,) = seen(sim)
    assert (doubt.rank, doubt.kind, doubt.node, doubt.code, doubt.move) == (1, "failed", "a", "IN_DOUBT", "resolve")


def test_tokens_before_a_full_group_wait_for_room() -> None:
    """CONSOLE 6: a limit of the net holds tokens back: rank 6, with the group and its limit."""
    nodes = [Node(id="s", kind="start"), task("a", group="g"), task("b", group="g")]
    sim = Sim(net("n", nodes, "s>a", "s>b", limits={"g": 1}))
    assert [(one.rank, one.kind, one.what, one.of) for one in seen(sim)] == [(6, "limit", "g", 1)]
    sim.ok("a")
    assert seen(sim) == []


def test_the_gravest_comes_first() -> None:
    """CONSOLE 6: all reasons are told, lowest rank first; none is None."""
    assert lowest([]) is None
    soon = Trigger(kind="timer", after_ms=5000)
    nodes = [
        Node(id="s", kind="start"), Node(id="w", kind="wait", triggers=(soon,)), task("a", retry=Retry(max=2)),
        Node(id="p", kind="work", work=Work(candidates=["user:kim"])),
    ]  # fmt: skip
    sim = Sim(net("n", nodes, "s>w", "s>a", "s>p"))
    sim.bad("a", category="transient")
    found = seen(sim)
    assert [one.rank for one in found] == [5, 8, 11] and lowest(found) is found[0] and found[1].who == ["user:kim"]


def test_what_is_called_dead_never_fires() -> None:
    """CONSOLE 6: over random nets with every join, driven at random: a node that was named as a join that can no longer
    fill does not fire any more, and none that was named has anything else than a branch that nothing comes from."""
    named = 0
    for seed in range(150):
        rng = random.Random(seed)
        sim = Sim(tangled(seed), bits(seed), check=False)
        dead: set[str] = set()
        for _ in range(60):
            dead |= {one.node or "" for one in seen(sim) if one.kind == "dead_join" and one.code is None}
            effects = sim.effects()
            if not effects or sim.st.status >= COMPLETED:
                break
            one = rng.choice(effects)
            lines = sim.do(C.done(one.no, one.attempt, one.probe, rng.random() < 0.5))
            assert not dead & {line.node for line in lines if line.fact == "fired"}, seed
        named += bool(dead)
    assert named > 5, named
