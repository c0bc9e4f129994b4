"""Timers: once, not before their time, after a restart too, and at no cost while they wait."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from penstock.executors.contract import failed
from penstock.host.clock import ManualClock
from penstock.host.embedded import Host
from penstock.host.timers import FAR_POLL_MS, HORIZON_MS
from penstock.kernel import command as C
from penstock.net.model import Edge, Net, Retry, RunRetry, Trigger
from tests.host.rig import END, START, Fn, Rig, chain, ended, eventually, go, pause, task, wait


def laps(host: Host) -> None:
    while host.iterate():
        pass


def fired(rig: Rig, run: str) -> int:
    return sum(f["why"] == "fired" for f in rig.facts(run, "timer.gone"))


def test_k17_a_timer_that_became_due_while_nobody_was_there_fires_once(rig: Rig) -> None:
    """K17: near and far timers, due while the process was down: each fires once after the restart, and never again."""
    clock = ManualClock()
    spans = [1, 50, HORIZON_MS - 1, HORIZON_MS + 1, 3_600_000, 86_400_000]
    host = rig.open(Fn(), clock=clock)
    runs = [host.start(host.release(chain(pause("t", ms), name=str(ms)))) for ms in spans]
    laps(host)
    rig.close()
    clock.at += 90_000_000
    for _ in range(3):
        host = rig.open(Fn(), clock=clock)
        host.recover()
        laps(host)
        rig.close()
    assert [(rig.status(run), fired(rig, run)) for run in runs] == [("COMPLETED", 1)] * len(spans)
    assert [len(rig.facts(run, "ignored")) for run in runs] == [0] * len(spans)
    rig.sound()


def test_k17_never_before_its_time(rig: Rig) -> None:
    """K17: on the host's own clock, to the millisecond, for near timers and for those found again in the store."""
    clock = ManualClock()
    host = rig.open(Fn(), clock=clock)
    spans = [100, HORIZON_MS - 1, HORIZON_MS + 5_000, 10 * HORIZON_MS]
    runs = {ms: host.start(host.release(chain(pause("t", ms), name=str(ms)))) for ms in spans}
    laps(host)
    start = clock.at
    for ms, run in runs.items():
        while clock.at < start + ms - 1:
            clock.at = min(clock.at + FAR_POLL_MS, start + ms - 1)
            laps(host)
        assert rig.status(run) == "WAITING", ms
        clock.at = start + ms
        laps(host)
        assert rig.status(run) == "COMPLETED", ms
    assert all(fired(rig, run) == 1 and not rig.facts(run, "ignored") for run in runs.values())
    assert not host.timers.due and len(host.turns.runs) == 0


def test_timers_ring_in_order_of_their_time(rig: Rig) -> None:
    clock = ManualClock()
    x = Fn()
    host = rig.open(x, clock=clock)
    runs = [host.start(host.release(chain(pause("t", ms), wait("w"), name=str(ms))), ms) for ms in (30, 10, 20)]
    laps(host)
    rang: list[str] = []
    host.turns.on_facts.append(lambda live, facts, n, now: rang.append(live.id))
    clock.at += 100
    laps(host)
    assert rang == [runs[1], runs[2], runs[0]] and all(fired(rig, run) == 1 for run in runs)


def test_a_paused_run_lets_its_timers_wait(rig: Rig) -> None:
    """Due while paused: nothing is written, nothing spins; after resume it rings at once, after a restart too."""
    clock = ManualClock()
    host = rig.open(Fn(), clock=clock)
    run = host.start(host.release(chain(pause("t", 1000))))
    laps(host)
    no = rig.store.run_by_id(run).no
    host.send(no, C.pause())
    laps(host)
    turns = rig.turns(run)
    for _ in range(10):
        clock.at += FAR_POLL_MS
        for _ in range(5):
            host.iterate()
    assert rig.turns(run) == turns and rig.status(run) == "WAITING"
    rig.sound()
    host = rig.open(Fn(), clock=clock)
    host.recover()
    laps(host)
    assert rig.turns(run) == turns
    host.send(no, C.resume())
    laps(host)
    assert rig.status(run) == "COMPLETED" and fired(rig, run) == 1
    rig.sound()


def test_a_timer_that_was_disarmed_does_not_ring(rig: Rig) -> None:
    """The signal came first; the old moment passes without a trace in a run that has gone on."""
    clock = ManualClock()
    host = rig.open(Fn(), clock=clock)
    either = (Trigger(port="done", kind="signal", name="go"), Trigger(port="late", kind="timer", after_ms=1000))
    first, second = wait("w"), wait("x", "end")
    nodes = (START, first.__class__(id="w", kind="wait", triggers=either), second, END)
    ways = (("s", "w", "done"), ("w", "x", "done"), ("w", "e", "late"), ("x", "e", "done"))
    edges = tuple(Edge(id=f"{a}>{b}", src=a, dst=b, port=port) for a, b, port in ways)
    run = host.start(host.release(Net(name="either", nodes=nodes, edges=edges)))
    laps(host)
    host.send(rig.store.run_by_id(run).no, C.signal("", "go"))
    laps(host)
    assert rig.store.next_wake() is None
    clock.at += 5000
    laps(host)
    assert rig.status(run) == "WAITING" and fired(rig, run) == 0
    rig.sound()


def test_back_off_survives_a_restart(rig: Rig) -> None:
    """K17, E5: the wait between two attempts is a timer like any other: neither shorter nor started over."""
    clock = ManualClock()
    x = Fn(lambda request: failed("NO", "transient", "no") if request.attempt == 1 else "ok")

    async def scene() -> str:
        net = chain(task("a", retry=Retry(max=1, base_ms=30_000)))
        async with rig.driving(x, clock=clock) as host:
            run: str = host.start(host.release(net))
            await eventually(lambda: host.row(run) and rig.facts(run, "attempt.failed"))
        clock.at += 29_999
        async with rig.driving(x, clock=clock) as host:
            await asyncio.sleep(0.05)
            assert len(x.seen) == 1
            clock.at += 1
            await ended(host, run)
        return run

    run = go(scene())
    assert [r.attempt for r in x.seen] == [1, 2] and len(set(x.keys)) == 1
    assert rig.status(run) == "COMPLETED"
    rig.sound()


def test_a_run_that_waits_for_its_own_retry_wakes_up(rig: Rig) -> None:
    """PENDING between two tries of the whole run; it is not in memory meanwhile."""
    clock = ManualClock()
    x = Fn(lambda request: failed("NO", "permanent", "no") if request.attempt == 1 else "ok")

    async def scene() -> str:
        async with rig.driving(x, clock=clock) as host:
            net = chain(task("a"), run_retry=RunRetry(max=1, delay_ms=5000))
            run: str = host.start(host.release(net))
            await eventually(lambda: host.row(run) and rig.status(run) == "PENDING")
            await eventually(lambda: len(host.turns.runs) == 0)
            clock.at += 5000
            await ended(host, run)
            return run

    run = go(scene())
    assert rig.status(run) == "COMPLETED" and len(x.seen) == 2
    rig.sound()


@pytest.mark.parametrize("serve", [True, False])
def test_real_time(rig: Rig, serve: bool) -> None:
    """A pause of 80 ms is not shorter, and the host sleeps meanwhile."""

    async def scene() -> float:
        async with rig.driving(Fn(), serve=serve) as host:
            before = time.monotonic()
            await ended(host, host.start(host.release(chain(pause("t", 80)))))
            return time.monotonic() - before

    assert go(scene()) >= 0.08


def test_an_idle_host_does_next_to_nothing(rig: Rig) -> None:
    """Waiting costs nothing: with a thousand runs that wait, a second of idling is a few wake-ups."""
    count = 0

    async def scene() -> None:
        nonlocal count
        async with rig.driving(Fn()) as host:
            net = host.release(chain(wait("w")))
            for _ in range(1000):
                host.start(net)
            await eventually(lambda: not host.turns.ready and not host.turns.runs)
            iterate = host.iterate

            def counted() -> bool:
                nonlocal count
                count += 1
                return iterate()

            host.iterate = counted  # type: ignore[method-assign]
            before, began = time.process_time(), time.monotonic()
            await asyncio.sleep(1)
            whole = time.monotonic() - began  # longer where the machine has other things to do
            assert time.process_time() - before < 0.3 * whole and count <= 25 * whole

    go(scene())


def test_signals_are_accepted_once_by_their_id(rig: Rig) -> None:
    """S2: the same id again is ignored, after a restart too; without an id each is new. S1: early ones are kept."""
    host = rig.open(Fn())
    nodes = [wait(f"w{n}") for n in range(4)]
    run = host.start(host.release(chain(*nodes, wait("last", "end"))))
    laps(host)
    no = rig.store.run_by_id(run).no

    def send(id: str, name: str = "go") -> None:
        host.send(no, C.signal(id, name))
        laps(host)

    def waits() -> list[Any]:
        with rig.reading() as store:
            return [name for (name,) in store.c.execute("SELECT name FROM waiting")]

    send("one")
    send("one")
    host = rig.open(Fn())
    send("one")
    assert sum(f["fact"] == "signal.used" for f in rig.facts(run)) == 1
    assert [f["why"] for f in rig.facts(run, "ignored")] == ["duplicate"] * 2
    send("", "end")  # comes before anybody waits for it
    assert len(rig.facts(run, "signal.kept")) == 1 and waits() == ["go"]
    send("")
    send("")
    send("two")
    assert rig.status(run) == "COMPLETED" and waits() == []
    rig.sound()
