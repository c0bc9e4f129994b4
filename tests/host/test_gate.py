"""The gate: concurrency, rate, dedupe, cache and breaker, before the call and over a restart."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from penstock.executors.contract import Done, Failed, Skipped, failed
from penstock.host.clock import ManualClock
from penstock.host.embedded import Host
from penstock.host.gate import Gate, Wait, WaitingEffects
from penstock.kernel import command as C
from penstock.net.model import Breaker, Cache, Concurrency, Dedupe, Rate, Retry
from penstock.store.run_store import Batch
from penstock.store.sqlite import Sqlite
from tests.host.rig import Fn, Rig, chain, ended, eventually, fan, go, quiet, task

OK, DOWN = Done(), failed("DOWN", "external", "down")
BREAKER = Breaker(name="b", failures=3, window=10, failure_rate=1.0, half_open_requests=2, cooldown_ms=1000)


def reopened(gate: Gate) -> Gate:
    """What the next process finds: everything that the gate wants to keep is committed with a batch."""
    batch = Batch()
    gate.write(batch, 0)
    gate.store.commit(batch)
    return Gate(gate.store)


@pytest.fixture
def gate(rig: Rig) -> Gate:
    rig.store = Sqlite(rig.path)
    return Gate(rig.store)


# ---- breaker ---------------------------------------------------------------------------------------------------------


def trip(gate: Gate, now: int = 0) -> None:
    for n in range(3):
        assert gate.admit(now, f"k{n}", breaker=BREAKER) == "go"
        gate.ended(now, f"k{n}", DOWN, 1, breaker=BREAKER)


def is_open(verdict: Any) -> bool:
    return isinstance(verdict, Failed) and verdict.failure.code == "CIRCUIT_OPEN"


@pytest.mark.parametrize("crash", [False, True], ids=["", "after a restart"])
def test_e8_an_open_breaker_lets_nothing_out_and_a_half_open_one_exactly_so_many(gate: Gate, crash: bool) -> None:
    """E8: in OPEN no call leaves; HALF_OPEN lets exactly half_open_requests through; all good closes it."""
    trip(gate)
    gate = reopened(gate) if crash else gate
    assert all(is_open(gate.admit(now, "k", breaker=BREAKER)) for now in (0, 500, 999))
    let = [gate.admit(1000, f"t{n}", breaker=BREAKER) for n in range(5)]
    assert let[:2] == ["go", "go"] and all(map(is_open, let[2:]))
    gate.ended(1001, "t0", OK, 1, breaker=BREAKER)
    assert is_open(gate.admit(1001, "k", breaker=BREAKER))
    gate.ended(1002, "t1", OK, 1, breaker=BREAKER)
    gate = reopened(gate) if crash else gate
    assert [gate.admit(1002, f"u{n}", breaker=BREAKER) for n in range(5)] == ["go"] * 5


def test_one_bad_trial_opens_it_again(gate: Gate) -> None:
    trip(gate)
    assert [gate.admit(1000, n, breaker=BREAKER) for n in ("t0", "t1")] == ["go", "go"]
    gate.ended(1100, "t0", DOWN, 1, breaker=BREAKER)
    gate.ended(1100, "t1", OK, 1, breaker=BREAKER)
    assert is_open(gate.admit(2099, "k", breaker=BREAKER))
    assert gate.admit(2100, "k", breaker=BREAKER) == "go"


def test_trials_that_died_with_the_process_may_be_tried_again(gate: Gate) -> None:
    """E8: a crash while half open does not leave the breaker shut for ever."""
    trip(gate)
    assert [gate.admit(1000, n, breaker=BREAKER) for n in ("t0", "t1")] == ["go", "go"]
    gate.ended(1000, "t0", OK, 1, breaker=BREAKER)
    after = reopened(gate)
    assert [gate.breakers["b"].status, after.breakers["b"].status] == ["half_open", "half_open"]
    verdicts = [after.admit(1000, n, breaker=BREAKER) for n in ("t1", "t2")]
    assert verdicts[0] == "go" and is_open(verdicts[1])
    after.ended(1000, "t1", OK, 1, breaker=BREAKER)
    assert after.breakers["b"].status == "closed"


def test_a_dropped_call_says_nothing_about_the_one_who_was_called(gate: Gate) -> None:
    """A cancelled run neither opens a breaker nor uses up a trial."""
    for n in range(5):
        assert gate.admit(0, f"k{n}", breaker=BREAKER) == "go"
        gate.ended(0, f"k{n}", None, 1, breaker=BREAKER)
    assert gate.breakers["b"].status == "closed"
    trip(gate)
    assert gate.admit(1000, "t0", breaker=BREAKER) == "go"
    gate.ended(1000, "t0", None, 1, breaker=BREAKER)
    assert [gate.admit(1000, n, breaker=BREAKER) for n in ("t1", "t2")] == ["go", "go"]


def test_old_news_do_not_decide(gate: Gate) -> None:
    """A call that went out before the breaker opened ends while it is half open: it is no trial."""
    assert gate.admit(0, "old", breaker=BREAKER) == "go"
    trip(gate)
    assert gate.admit(1000, "t0", breaker=BREAKER) == "go"
    gate.ended(1001, "old", OK, 1, breaker=BREAKER)
    assert gate.breakers["b"].status == "half_open" and gate.breakers["b"].in_a_row == 0
    gate.ended(1001, "t0", OK, 1, breaker=BREAKER)
    assert gate.breakers["b"].status == "half_open"


def test_a_cancelled_run_opens_no_breaker(rig: Rig) -> None:
    """Through the host: the effect in flight is dropped with its run, and the next one still goes out."""
    x = Fn(lambda request: asyncio.sleep(30))
    net = chain(task("a", breaker=Breaker(name="b", failures=1, cooldown_ms=60_000)))

    async def scene() -> None:
        async with rig.driving(x) as host:
            run = host.start(host.release(net))
            await eventually(lambda: x.seen)
            await host.ask(host.store.run_by_id(run).no, C.cancel())
            await eventually(lambda: x.cancelled == 1)
            x.answer = lambda request: "fine"
            again = host.start(host.release(net))
            await ended(host, again)
            assert rig.status(again) == "COMPLETED"

    go(scene())
    assert len(x.seen) == 2


def test_rate_of_failures_and_slowness_open_it_too(gate: Gate) -> None:
    half = Breaker(name="r", failures=99, window=4, failure_rate=0.5)
    for n, ok in enumerate((True, False, True, False)):
        assert gate.admit(0, f"k{n}", breaker=half) == "go"
        gate.ended(0, f"k{n}", OK if ok else DOWN, 1, breaker=half)
    assert is_open(gate.admit(0, "k", breaker=half))
    slow = Breaker(name="s", failures=2, latency_ms=100)
    for n in range(2):
        assert gate.admit(0, f"k{n}", breaker=slow) == "go"
        gate.ended(0, f"k{n}", OK, 101, breaker=slow)
    assert is_open(gate.admit(0, "k", breaker=slow))


def test_e8_calls_that_leave_are_counted_at_the_receiver(rig: Rig) -> None:
    """E8, through the host and over a restart: while open nothing arrives at the receiver; then two, then all."""
    clock = ManualClock()
    down = Fn(lambda request: failed("DOWN", "transient", "down"))
    up = Fn(lambda request: "up")
    net = chain(task("a", breaker=BREAKER))

    async def some(executor: Fn, count: int) -> list[str | None]:
        async with rig.driving(executor, clock=clock) as host:
            runs = []
            for _ in range(count):
                runs.append(host.start(host.release(net)))
                await ended(host, runs[-1])
        return [rig.failure(run) for run in runs]

    assert go(some(down, 5)) == ["DOWN"] * 3 + ["CIRCUIT_OPEN"] * 2 and len(down.seen) == 3
    assert go(some(up, 2)) == ["CIRCUIT_OPEN"] * 2 and not up.seen
    clock.at += 1000
    assert go(some(up, 4)) == [None] * 4 and len(up.seen) == 4
    rig.sound()


# ---- rate ------------------------------------------------------------------------------------------------------------


def test_a_rate_lets_so_many_go_and_gives_the_others_their_time(gate: Gate) -> None:
    rate = Rate(name="r", limit=10, per_ms=1000)
    assert [gate.admit(0, str(n), rate=rate) for n in range(10)] == ["go"] * 10
    waits = [gate.admit(0, str(n), rate=rate) for n in range(10, 15)]
    until = [w.until for w in waits if isinstance(w, Wait)]
    assert len(until) == 5 and until == sorted(set(until)) and 100 <= until[0] <= 102 and 500 <= until[-1] <= 502
    skip = Rate(name="s", limit=1, per_ms=1000, over="skip")
    assert gate.admit(0, "a", rate=skip) == "go"
    assert gate.admit(0, "b", rate=skip) == Skipped("rate_limited")
    assert gate.admit(1000, "b", rate=skip) == "go"


def test_a_rate_is_remembered_over_a_restart(gate: Gate) -> None:
    rate = Rate(name="r", limit=2, per_ms=1000)
    assert [gate.admit(5, str(n), rate=rate) for n in range(2)] == ["go"] * 2
    assert isinstance(gate.admit(5, "2", rate=rate), Wait)
    after = reopened(gate)
    assert isinstance(after.admit(6, "2", rate=rate), Wait)
    after = reopened(gate)
    assert after.admit(600, "2", rate=rate) == "go"


def test_r_ten_calls_a_second_arrive_as_ten_calls_a_second(rig: Rig) -> None:
    """Through the host: of 30 calls at 5 in 50 ms, 5 go at once and then one every 10 ms of its clock, in order; before
    that moment none does, and none is lost."""
    clock = ManualClock()
    x = Fn()
    net = fan(*(task(f"t{i:02}", rate=Rate(name="r", limit=5, per_ms=50)) for i in range(30)))

    async def moved(host: Host, by: int, calls: int) -> None:
        """When everything has been done that can be at this moment, there have been so many calls."""
        clock.at += by
        host.wake_up()
        await eventually(lambda: len(x.seen) >= calls)
        for _ in range(3):
            host.wake_up()
            await asyncio.sleep(0)
        await eventually(lambda: not (host.turns.ready or x.ended < len(x.seen)))
        assert len(x.seen) == calls

    async def scene() -> None:
        async with rig.driving(x, serve=False, clock=clock) as host:
            run = host.start(host.release(net))
            await moved(host, 0, 5)
            await moved(host, 1, 5)
            for calls in range(6, 31):
                await moved(host, 9, calls - 1)
                await moved(host, 1, calls)
            await ended(host, run)

    go(scene())
    assert [r.node for r in x.seen] == sorted(r.node for r in x.seen)


def test_over_the_rate_is_skipped_where_the_net_says_so(rig: Rig) -> None:
    x = Fn()
    net = fan(*(task(f"t{i}", rate=Rate(name="r", limit=2, per_ms=60_000, over="skip")) for i in range(5)))

    async def scene() -> str:
        async with rig.driving(x) as host:
            run: str = host.start(host.release(net))
            await ended(host, run)
            return run

    run = go(scene())
    assert len(x.seen) == 2
    reasons = [f["meta"]["skip_reason"] for f in rig.facts(run, "settled") if f["status"] == 2]
    assert reasons == ["rate_limited"] * 3


# ---- concurrency -----------------------------------------------------------------------------------------------------


def test_no_more_than_so_many_at_once(rig: Rig) -> None:
    """D-X.27: a limit of its own, over all runs of the host; those who wait go in order."""
    now: Counter[str] = Counter()
    most: Counter[str] = Counter()

    async def slow(request: Any) -> None:
        now[request.args] += 1
        most[request.args] = max(most[request.args], now[request.args])
        await asyncio.sleep(0.003)
        now[request.args] -= 1

    x = Fn(slow)
    limits = {"a": 3, "b": 5}

    async def scene() -> None:
        async with rig.driving(x) as host:
            nets = [
                host.release(chain(task("t", args=name, concurrency=Concurrency(name=name, limit=n)), name=name))
                for name, n in limits.items()
            ]
            runs = [host.start(net) for _ in range(40) for net in nets]
            await ended(host, *runs)
            assert host.gate.running == {}
        assert [r.run for r in x.seen if r.args == "a"] == runs[::2]

    go(scene())
    assert most == limits and len(x.seen) == 80


def test_a_name_of_a_limit_is_its_tenants(rig: Rig) -> None:
    """Tenant A holds every place of a name for as long as it likes; B has the same name in its own net, and goes."""
    held = asyncio.Event()

    async def work(request: Any) -> str:
        if request.args == "holds":
            await held.wait()
        return str(request.args)

    async def scene() -> None:
        x = Fn(work)
        async with rig.driving(x) as host:
            few = Concurrency(name="press", limit=2)
            holds, goes = (host.release(chain(task("t", args=a, concurrency=few), name=a)) for a in ("holds", "goes"))
            mine = [host.start(holds, tenant="a") for _ in range(5)]
            await eventually(lambda: len(x.seen) == 2)
            others = [host.start(goes, tenant="b") for _ in range(5)]
            await ended(host, *others)
            assert [request.args for request in x.seen] == ["holds"] * 2 + ["goes"] * 5
            held.set()
            await ended(host, *mine)
            assert host.gate.running == {}

    go(scene())


@pytest.mark.parametrize("name", ["workers:b", "dedupe:b/x", "b/press"])
def test_no_name_of_a_limit_reaches_another_queue(gate: Gate, name: str) -> None:
    """A limit may be called as queues of the gate are; whoever waits for it waits in one of its own."""
    own = Concurrency(name=name, limit=1)
    assert gate.admit(0, "k1", tenant="a", concurrency=own) == "go"
    waits = gate.admit(0, "k2", tenant="a", concurrency=own)
    assert isinstance(waits, Wait) and not waits.on.startswith(("workers:", "dedupe:")) and waits.on != name
    assert gate.admit(0, "k3", tenant="b", concurrency=Concurrency(name="press", limit=1)) == "go"


def test_a_place_that_a_refused_effect_gives_up_is_not_lost(rig: Rig) -> None:
    """Ten wait for one place; the breaker opens meanwhile: all ten are answered, none hangs."""
    both: dict[str, Any] = {
        "concurrency": Concurrency(name="c", limit=1),
        "breaker": Breaker(name="b", failures=1, cooldown_ms=60_000),
    }

    async def broken(request: Any) -> Failed:
        await asyncio.sleep(0.01)
        return failed("DOWN", "external", "down")

    x = Fn(broken)

    async def scene() -> list[str]:
        async with rig.driving(x) as host:
            net = host.release(chain(task("a", **both)))
            runs = [host.start(net) for _ in range(10)]
            await ended(host, *runs)
            return runs

    runs = go(scene())
    codes = [rig.failure(run) for run in runs]
    assert codes == ["DOWN"] + ["CIRCUIT_OPEN"] * 9 and len(x.seen) == 1


def test_e10_an_effect_that_waits_for_the_gate_never_goes_out_once_its_run_is_cancelled(rig: Rig) -> None:
    """E10: neither one that waits for a place, nor one that waits for its rate; and both give their place on."""
    gates: dict[str, dict[str, Any]] = {
        "place": {"concurrency": Concurrency(name="c", limit=1)},
        "rate": {"rate": Rate(name="r", limit=1, per_ms=1500)},
    }

    async def scene(which: str) -> list[str]:
        hold = asyncio.Event()
        x = Fn(lambda request: hold.wait())
        rig.path = rig.path.with_name(f"{which}.db")
        async with rig.driving(x) as host:
            net = host.release(chain(task("a", **gates[which])))
            runs = [host.start(net) for _ in range(4)]
            await eventually(lambda: x.seen and not host.turns.ready)
            for run in runs[1:3]:
                await host.ask(host.store.run_by_id(run).no, C.cancel())
            hold.set()
            await ended(host, *runs)
        assert [r.run for r in x.seen] == [runs[0], runs[3]]
        return runs

    for which in gates:
        runs = go(scene(which))
        assert [rig.status(run) for run in runs] == ["COMPLETED", "CANCELLED", "CANCELLED", "COMPLETED"]
        rig.sound()


# ---- dedupe and cache ------------------------------------------------------------------------------------------------


def test_an_effect_with_a_known_key_is_skipped(gate: Gate) -> None:
    dedupe = [(Dedupe(key="k", ttl_ms=1000), "t/order-1")]
    assert gate.admit(0, "first", dedupe=dedupe) == "go"
    assert gate.admit(1, "second", dedupe=dedupe) == Skipped("duplicate")
    assert gate.admit(1, "first", dedupe=dedupe) == "go"  # the same effect, asked again after a crash (E3)
    after = reopened(gate)
    assert after.admit(999, "second", dedupe=dedupe) == Skipped("duplicate")
    assert after.admit(999, "first", dedupe=dedupe) == "go"
    assert reopened(gate).admit(2000, "second", dedupe=dedupe) == "go"


def test_a_failed_effect_does_not_count_as_a_known_key(gate: Gate) -> None:
    dedupe = [(Dedupe(key="k"), "t/order-1")]
    assert gate.admit(0, "first", dedupe=dedupe) == "go"
    gate.ended(1, "first", DOWN, 1, dedupe=dedupe)
    assert reopened(gate).admit(2, "second", dedupe=dedupe) == "go"


@pytest.mark.parametrize("reopen", [False, True])
def test_a_key_names_one_effect_over_runs_and_restarts(rig: Rig, reopen: bool) -> None:
    x = Fn()
    net = chain(task("a", dedupe=Dedupe(key="input.order")))

    async def scene() -> None:
        for orders in ([1, 2, 1], [2, 3]) if reopen else ([1, 2, 1, 2, 3],):
            async with rig.driving(x) as host:
                for order in orders:
                    await ended(host, host.start(host.release(net), {"order": order}))

    go(scene())
    assert [r.inputs[0].body["order"] for r in x.seen] == [1, 2, 3]


@pytest.mark.parametrize("reopen", [False, True])
def test_an_answer_is_kept_and_given_again(rig: Rig, reopen: bool) -> None:
    """The cache answers for the executor, over runs and restarts, until its time is over."""
    clock = ManualClock()
    x = Fn(lambda request: Done({"n": len(x.seen), "of": request.inputs[0].body}, None, "object"))
    net = chain(task("a", result="r", cache=Cache(key="input.q", ttl_ms=1000)))
    got: list[Any] = []

    async def scene() -> None:
        for asked in (("x", "x", "y"), ("x",)):
            if reopen or rig.host is None:
                rig.open(x, clock=clock)
            async with rig.driving() as host:
                for q in asked:
                    run = host.start(host.release(net), {"q": q})
                    await ended(host, run)
                    (settled,) = (f for f in rig.facts(run, "settled") if f["node"] == 1)
                    got.append((settled["body"]["n"], bool((settled["meta"] or {}).get("cache_hit"))))
            clock.at += 999

    go(scene())
    assert got == [(1, False), (1, True), (2, False), (1, True)]
    clock.at += 1000
    go(scene())
    assert got[4:] == [(3, False), (3, True), (4, False), (3, True)]


def test_what_cannot_be_kept_is_not_kept(rig: Rig) -> None:
    """A body that no store holds fails its node; the gate does not fall over it."""

    async def scene() -> str:
        async with rig.driving(Fn(lambda request: {"o": object()})) as host:
            run: str = host.start(host.release(chain(task("a", cache=Cache(key="1")))))
            await ended(host, run)
            return run

    assert rig.failure(go(scene())) == "OUTPUT_INVALID"


def test_a_key_that_cannot_be_evaluated_fails_its_node(rig: Rig) -> None:
    async def scene() -> str:
        async with rig.driving(Fn()) as host:
            run: str = host.start(host.release(chain(task("a", dedupe=Dedupe(key="1 / 0")))))
            await ended(host, run)
            return run

    assert rig.failure(go(scene())) == "EXPR_DIV_ZERO"


def test_an_open_breaker_is_not_worth_a_retry(rig: Rig) -> None:
    """C-19: CIRCUIT_OPEN is external, and still it is never tried again."""
    x = Fn(lambda request: failed("DOWN", "transient", "down"))
    net = chain(task("a", retry=Retry(max=5, base_ms=1), breaker=Breaker(name="b", failures=2, cooldown_ms=60_000)))

    async def scene() -> str:
        async with rig.driving(x) as host:
            run: str = host.start(host.release(net))
            await ended(host, run)
            await quiet(host)
            return run

    run = go(scene())
    assert len(x.seen) == 2 and rig.failure(run) == "CIRCUIT_OPEN"


def test_parked_effects_come_out_in_order() -> None:
    parked = WaitingEffects()
    for what, until in (("late", 30), ("early", 10), ("early too", 10)):
        parked.add("", what, until)
    for what in ("one", "two"):
        parked.add("c", what, None)
    parked.add("c", "zero", None, first=True)
    assert parked.next_due() == 10 and parked.due(9) == []
    assert parked.due(10) == ["early", "early too"] and parked.due(99) == ["late"] and parked.next_due() is None
    assert [parked.released("c") for _ in range(4)] == ["zero", "one", "two", None]


# ---- rolling rates ---------------------------------------------------------------------------------------------------

HOURLY = Rate(name="r", limit=2, per_ms=1000, over="skip", rolling=True)


def deliver(gate: Gate, now: int, owner: str, outcome: Any = OK) -> Any:
    verdict = gate.admit(now, owner, rate=HOURLY)
    if verdict == "go":
        gate.ended(now, owner, outcome, 1, rate=HOURLY)
    return verdict


@pytest.mark.parametrize("crash", [False, True], ids=["", "after a restart"])
def test_w_4_5_2_so_many_successes_in_a_rolling_hour(gate: Gate, crash: bool) -> None:
    """W-4.5.2: the third in the window is skipped; a place is free when the first is old enough, not when a bucket has
    filled; it is remembered over a restart."""
    assert [deliver(gate, at, f"k{at}") for at in (0, 900)] == ["go", "go"]
    gate = reopened(gate) if crash else gate
    assert deliver(gate, 999, "k2") == Skipped("rate_limited")
    assert deliver(gate, 1000, "k3") == "go"
    assert deliver(gate, 1500, "k4") == Skipped("rate_limited")
    assert deliver(gate, 1900, "k5") == "go"


def test_w_4_5_2_only_what_was_delivered_counts(gate: Gate) -> None:
    """W-4.5.2: what failed, was skipped or dropped leaves its place; what is in flight holds one."""
    for n, outcome in enumerate((DOWN, Skipped("policy"), None, failed("X", "validation", "x"))):
        assert deliver(gate, n, f"k{n}", outcome) == "go"
    assert [gate.admit(5, owner, rate=HOURLY) for owner in ("a", "b")] == ["go", "go"]
    assert gate.admit(5, "c", rate=HOURLY) == Skipped("rate_limited")
    assert gate.admit(5, "a", rate=HOURLY) == "go"  # the same effect, asked again, has its place
    gate.ended(6, "a", DOWN, 1, rate=HOURLY)
    assert gate.admit(6, "c", rate=HOURLY) == "go"


def test_a_rolling_rate_may_wait_instead(gate: Gate) -> None:
    rate = Rate(name="r", limit=1, per_ms=1000, rolling=True)
    assert gate.admit(0, "a", rate=rate) == "go"
    verdict = gate.admit(0, "b", rate=rate)
    assert isinstance(verdict, Wait) and not verdict.drawn and verdict.until is not None and verdict.until < 1000
    gate.ended(10, "a", OK, 1, rate=rate)
    assert gate.admit(20, "b", rate=rate) == Wait(1010)
    assert gate.admit(1010, "b", rate=rate) == "go"


def test_r_those_who_wait_for_a_rolling_rate_all_go(rig: Rig) -> None:
    x = Fn()
    net = fan(*(task(f"t{i}", rate=Rate(name="r", limit=2, per_ms=100, rolling=True)) for i in range(6)))

    async def scene() -> None:
        async with rig.driving(x, serve=False) as host:
            await ended(host, host.start(host.release(net)))

    go(scene())
    assert len(x.seen) == 6


def test_c_19_breakers_and_rates_of_tenants_are_apart(gate: Gate) -> None:
    """C-19, W-4.5.2: one tenant's failures and messages are nobody else's."""
    for n in range(3):
        assert gate.admit(0, f"k{n}", tenant="a", breaker=BREAKER) == "go"
        gate.ended(0, f"k{n}", DOWN, 1, tenant="a", breaker=BREAKER)
    assert is_open(gate.admit(0, "k", tenant="a", breaker=BREAKER))
    assert gate.admit(0, "k", tenant="b", breaker=BREAKER) == "go"
    assert [gate.admit(0, t, tenant=t, rate=Rate(name="r", limit=1, over="skip")) for t in "ab"] == ["go", "go"]
    assert gate.reset("a", "b") and not gate.reset("c", "b")
    assert gate.admit(0, "k", tenant="a", breaker=BREAKER) == "go"


def test_c_19_failures_of_the_caller_say_nothing(gate: Gate) -> None:
    """C-19: counted are transient, timeout, external, resource; a trial that says nothing may be tried again."""
    for n, category in enumerate(("validation", "permanent", "authorization", "business", "system") * 3):
        assert gate.admit(0, f"k{n}", breaker=BREAKER) == "go"
        gate.ended(0, f"k{n}", failed("X", category, "x"), 1, breaker=BREAKER)
    assert gate.breakers["b"].status == "closed" and gate.breakers["b"].window == []
    for n, category in enumerate(("transient", "timeout", "resource")):
        assert gate.admit(0, f"m{n}", breaker=BREAKER) == "go"
        gate.ended(0, f"m{n}", failed("X", category, "x"), 1, breaker=BREAKER)
    assert is_open(gate.admit(999, "k", breaker=BREAKER))
    assert gate.admit(1000, "t", breaker=BREAKER) == "go"
    gate.ended(1000, "t", failed("X", "validation", "x"), 1, breaker=BREAKER)
    assert [gate.admit(1000, n, breaker=BREAKER) for n in ("t1", "t2")] == ["go", "go"]


# ---- what becomes of a duplicate -------------------------------------------------------------------------------------


@pytest.mark.parametrize("crash", [False, True], ids=["", "after a restart"])
def test_w_8_4_3_skip_fail_or_the_kept_answer(gate: Gate, crash: bool) -> None:
    """W-8.4.3, C-49: SKIPPED, FAILED with DUPLICATE_EXECUTION (permanent), or the stored answer with its kind."""
    for known in ("skip", "answer", "fail"):
        dedupe = [(Dedupe(key="k", ttl_ms=1000, known=known), f"t/{known}")]
        assert gate.admit(0, "first", dedupe=dedupe) == "go"
        gate.ended(100, "first", Done({"n": 1}, None, "object"), 1, dedupe=dedupe)
    gate = reopened(gate) if crash else gate
    verdicts: dict[str, Any] = {}
    for known in ("skip", "answer", "fail"):
        dedupe = [(Dedupe(key="k", ttl_ms=1000, known=known), f"t/{known}")]
        verdicts[known] = gate.admit(1099, "second", dedupe=dedupe)
        assert gate.admit(1099, "first", dedupe=dedupe) == "go"
        assert Gate(gate.store).admit(1100, "third", dedupe=dedupe) == "go"  # its time began when it was done
    assert verdicts["skip"] == Skipped("duplicate")
    assert verdicts["answer"] == Done({"n": 1}, {"deduplicated": True}, "object")
    assert verdicts["fail"].failure.code == "DUPLICATE_EXECUTION" and verdicts["fail"].failure.category == "permanent"


@pytest.mark.parametrize("known", ["skip", "answer", "fail"])
def test_c_49_only_successes_are_kept(gate: Gate, known: Any) -> None:
    """C-49: after a failure, a skip or a drop the next one does it."""
    dedupe = [(Dedupe(key="k", known=known), "t/k")]
    for n, outcome in enumerate((DOWN, Skipped("policy"), None)):
        assert gate.admit(n, f"k{n}", dedupe=dedupe) == "go"
        gate.ended(n, f"k{n}", outcome, 1, dedupe=dedupe)
    assert reopened(gate).admit(9, "last", dedupe=dedupe) == "go"


def test_two_keys_are_two_reasons(gate: Gate) -> None:
    """W-4.5.2, C-49: a node with both an idempotency and a dedupe key heeds both."""
    one, two = (Dedupe(key="a", known="fail"), "t/a"), (Dedupe(key="b"), "t/b")
    assert gate.admit(0, "first", dedupe=[one, two]) == "go"
    gate.ended(0, "first", OK, 1, dedupe=[one, two])
    assert gate.admit(1, "x", dedupe=[(one[0], "t/other"), two]) == Skipped("duplicate")
    verdict = gate.admit(1, "x", dedupe=[one, (two[0], "t/other")])
    assert isinstance(verdict, Failed) and verdict.failure.code == "DUPLICATE_EXECUTION"


@pytest.mark.parametrize("first_fails", [False, True])
def test_c_49_one_concurrent_duplicate_waits_for_the_first(rig: Rig, first_fails: bool) -> None:
    """C-49: with the kept answer the second waits; when the first fails, the second does it and the third waits on."""

    async def slow(request: Any) -> Any:
        n = len(x.seen)
        await asyncio.sleep(0.02)
        return failed("DOWN", "permanent", "down") if first_fails and n == 1 else Done({"n": n}, None, "object")

    x = Fn(slow)
    net = chain(task("a", result="r", dedupe=Dedupe(key="input.k", known="answer")))

    async def scene() -> list[str]:
        async with rig.driving(x) as host:
            number = host.release(net)
            runs = [host.start(number, {"k": 1}) for _ in range(4)]
            await ended(host, *runs)
            assert not host.dispatch.waiting.queues and not host.gate.doing
            return runs

    runs = go(scene())
    assert len(x.seen) == 1 + first_fails
    bodies = [f["body"] for run in runs for f in rig.facts(run, "settled") if f["node"] == 1]
    assert bodies == [None if first_fails else {"n": 1}, *[{"n": 1 + first_fails}] * 3]
    rig.sound()


def test_c_49_one_concurrent_duplicate_is_one_at_once(rig: Rig) -> None:
    """C-49: skip and fail take the first for done while it is at it."""
    x = Fn(lambda request: asyncio.sleep(0.05))

    async def scene(known: Any) -> list[str]:
        async with rig.driving(x) as host:
            number = host.release(chain(task("a", dedupe=Dedupe(key=f"'{known}'", known=known)), name=known))
            runs = [host.start(number) for _ in range(3)]
            await ended(host, *runs)
            return runs

    assert [rig.failure(run) for run in go(scene("skip"))] == [None] * 3 and len(x.seen) == 1
    assert [rig.failure(run) for run in go(scene("fail"))] == [None] + ["DUPLICATE_EXECUTION"] * 2
    assert len(x.seen) == 2


def test_a_place_is_not_lost_to_one_who_waits_for_another(rig: Rig) -> None:
    """Who gets a place and then must wait for a duplicate gives the place on."""
    x = Fn(lambda request: asyncio.sleep(0.02))
    both: dict[str, Any] = {
        "concurrency": Concurrency(name="c", limit=2),
        "dedupe": Dedupe(key="input", known="answer"),
    }

    async def scene() -> None:
        async with rig.driving(x) as host:
            number = host.release(chain(task("a", **both)))
            await ended(host, *[host.start(number, n // 3) for n in range(12)])
            assert host.gate.running == {}

    go(scene())
    assert len(x.seen) == 4
