"""Runs of queued nets begin when there is room: by priority, then by age, each once, and within everybody's limits."""

from __future__ import annotations

import asyncio
import random
from functools import partial
from typing import Any

import pytest

from penstock.app.maintenance.verify import verify
from penstock.errors import BadInput
from penstock.host.admission import slots_of
from penstock.host.embedded import Host
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.state import COMPLETED, PENDING, RUNNING
from penstock.net.model import Net, RunRetry
from tests.host.rig import Fn, Rig, chain, eventually, go, task


def queued(name: str = "q", **more: Any) -> Net:
    return chain(task("a", on_final="restart"), name=name, queued=True, **more)


def status(host: Host) -> list[int]:
    return sorted(row.status for row in host.store.runs(limit=1000))


async def all_ended(host: Host, count: int) -> None:
    await eventually(lambda: sum(row.status >= 5 for row in host.store.runs(limit=1000)) == count)


async def never(request: Any) -> None:
    await asyncio.Event().wait()


def test_f_4_1_runs_are_picked_up_by_priority_and_then_by_age(rig: Rig) -> None:
    """F-4.1, F-X.21, F-A.5: the smaller number first; each runs exactly once."""
    x = Fn()
    wanted: list[tuple[int, int]] = []

    async def scene() -> None:
        host = rig.open(x, settings={"admission.slots": 1})
        net = host.release(queued())
        draw = random.Random(4)
        for age in range(100):
            priority = draw.choice((50, 100, 200))
            wanted.append((priority, age))
            host.start(net, age, id=f"r{age:03}", priority=priority)
        while host.turns.ready:
            host.turns.turn()
        async with rig.driving():
            await all_ended(host, 100)

    go(scene())
    assert [request.run for request in x.seen] == [f"r{age:03}" for _, age in sorted(wanted)]


def test_f_a_5_four_dispatchers_give_each_run_to_one_worker(rig: Rig) -> None:
    """F-A.5, F-4.2, F-4.1, F-X.21: four loops pick at the same time, for sixteen places; every run begins once, and in
    the order of (priority, created_at)."""
    x = Fn()
    wanted: list[tuple[int, int]] = []

    async def scene() -> None:
        host = rig.open(x, settings={"admission.slots": 16})
        net = host.release(queued())
        draw = random.Random(5)
        for age in range(100):
            wanted.append((draw.choice((1, 50, 100, 200)), age))
            host.start(net, age, id=f"r{age:03}", priority=wanted[-1][0])
        while host.turns.ready:
            host.turns.turn()

        async def dispatcher() -> None:
            while True:
                host.admission.admit()
                await asyncio.sleep(0)

        async with rig.driving():
            loops = [asyncio.create_task(dispatcher()) for _ in range(4)]
            await all_ended(host, 100)
            for loop in loops:
                loop.cancel()

    go(scene())
    assert [request.run for request in x.seen] == [f"r{age:03}" for _, age in sorted(wanted)]
    with rig.reading() as store:
        moves = [_begins(store, row.no) for row in store.runs(limit=1000)]
    assert moves == [1] * 100


def _begins(store: Any, run: int) -> int:
    """How often the run has become RUNNING."""
    facts = [fact for turn in store.journal(run) for fact in F.decode_facts(turn.body)]
    return sum(fact[0] == F.MOVED and fact[1] == "RUNNING" for fact in facts)


def test_f_4_4_no_more_are_under_way_than_there_are_places(rig: Rig) -> None:
    """F-4.4: eight wait while two are done; what ends makes room for the next."""
    at_once, most = 0, 0

    async def counted(request: Any) -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0.01)
        at_once -= 1

    async def scene() -> None:
        async with rig.driving(Fn(counted), settings={"admission.slots": 2}) as host:
            net = host.release(queued())
            for _ in range(8):
                host.start(net)
            await all_ended(host, 8)
            assert host.admission.under_way == 0
            assert verify(host.store).violations == []

    go(scene())
    assert most == 2


def test_f_8_2_every_tenant_and_a_net_have_limits_of_their_own(rig: Rig) -> None:
    """Whoever has all its places is passed over; those behind it are not held up."""

    async def scene() -> None:
        settings = {"admission.slots": 10, "tenants.loud.limits.admitted_runs": 2}
        async with rig.driving(Fn(never), settings=settings) as host:
            wide, narrow = host.release(queued("wide")), host.release(queued("narrow", limits={"executions": 1}))
            for _ in range(100):
                host.start(wide, tenant="loud", priority=1)
            for _ in range(3):
                host.start(narrow, tenant="quiet", priority=2)
                host.start(wide, tenant="quiet", priority=3)
            await eventually(lambda: status(host).count(RUNNING) == 6)
            await asyncio.sleep(0.05)
            running = sorted((row.tenant, row.net) for row in host.store.runs(limit=1000) if row.status == RUNNING)
            assert running == sorted([("loud", wide)] * 2 + [("quiet", narrow)] + [("quiet", wide)] * 3)
            nets = host.nets.head(wide), host.nets.head(narrow)
            loud, quiet = host.admission.places("loud"), host.admission.places("quiet")
            two = ("admitted_runs", 2)
            assert [loud.full(net) for net in nets] == [[two], [("executions", 1), two]]
            assert [quiet.full(net) for net in nets] == [[], [("executions", 1)]]

    go(scene())


def test_f_8_2_long_queues_of_one_tenant_are_passed_over_once(rig: Rig) -> None:
    """F-8.2, F-4.4: 3,000 of a tenant without room stand before another's; each of those costs the same few reads, and
    those of the first are taken up as its room comes."""
    reads = 0

    async def scene() -> None:
        nonlocal reads
        settings = {"admission.slots": 10, "tenants.loud.limits.admitted_runs": 1}
        held: dict[str, asyncio.Event] = {}

        async def work(request: Any) -> None:
            if request.tenant == "loud":
                await held.setdefault(request.run, asyncio.Event()).wait()

        async with rig.driving(Fn(work), settings=settings) as host:
            net = host.release(queued())
            for at in range(3000):
                host.start(net, tenant="loud", priority=1, id=f"loud{at}")
            host.start(net, tenant="quiet", priority=2, id="first")
            await eventually(lambda: ended(host, "first"))
            pending = host.store.pending_runs

            def counted(*given: Any) -> Any:
                nonlocal reads
                reads += 1
                return pending(*given)

            host.store.pending_runs = counted  # type: ignore[method-assign]
            for at in range(20):
                host.start(net, tenant="quiet", priority=2, id=f"quiet{at}")
                await eventually(partial(ended, host, f"quiet{at}"))
            for at in range(5):
                await eventually(partial(held.__contains__, f"loud{at}"))
                held[f"loud{at}"].set()
                await eventually(partial(ended, host, f"loud{at}"))

    def ended(host: Host, id: str) -> bool:
        return any(row.id == id and row.status >= 5 for row in host.store.runs(limit=5000))

    go(scene())
    assert 20 <= reads <= 100  # a start and an end may share one


def test_f_2_1_paused_runs_are_passed_over_until_it_is_resumed(rig: Rig) -> None:
    """Its place goes to the next, it is asked once and not in a circle, and it begins when it goes on."""

    async def scene() -> None:
        async with rig.driving(Fn(), settings={"admission.slots": 1}) as host:
            net = host.release(queued())
            host.turns.batch_size = 1
            host.start(net, id="held", priority=1)
            host.send(1, C.pause())
            for at in range(5):
                host.start(net, id=f"next{at}", priority=2)
            await all_ended(host, 5)
            await asyncio.sleep(0.05)
            assert status(host) == [PENDING] + [COMPLETED] * 5 and host.admission.looks is False
            host.send(1, C.resume())
            await all_ended(host, 6)

    go(scene())


def test_what_does_not_queue_is_not_wired_for_those_who_do(rig: Rig) -> None:
    """What was under way is counted without reading the nodes of every net that has open runs."""

    async def scene() -> None:
        host = rig.open(Fn())
        nets = [host.release(chain(task("a"), name=f"n{at}")) for at in range(20)] + [host.release(queued())]
        for net in nets:
            host.start(net)
        while host.turns.ready:
            host.turns.turn()
        host = rig.open(Fn())
        host.admission.admit()
        assert host.nets.wired == 0 and len(host.admission.asked) == 1

    go(scene())


def test_f_x_3_what_was_under_way_before_a_crash_keeps_its_place(rig: Rig) -> None:
    """After a crash no more are under way than before it."""

    async def scene(*, first: bool) -> None:
        async with rig.driving(Fn(never), settings={"admission.slots": 2}) as host:
            if first:
                net = host.release(queued())
                for _ in range(5):
                    host.start(net)
            await eventually(lambda: host.admission.under_way == 2 and len(host.dispatch.in_flight) == 2)
            await asyncio.sleep(0.05)
            assert status(host) == [PENDING] * 3 + [RUNNING] * 2

    go(scene(first=True))
    go(scene(first=False))


def test_f_x_6_every_retry_of_the_whole_waits_for_a_place_again(rig: Rig) -> None:
    """F-X.6, F-A.7: back to PENDING gives the place to another."""
    x = Fn(lambda request: 1 / 0 if request.run == "bad" else None)

    async def scene() -> None:
        async with rig.driving(x, settings={"admission.slots": 1}) as host:
            net = host.release(queued(run_retry=RunRetry(max=2, delay_ms=1)))
            host.start(net, id="bad", priority=1)
            host.start(net, id="good", priority=2)
            await all_ended(host, 2)

    go(scene())
    assert [request.run for request in x.seen].count("bad") == 3 and "good" in [request.run for request in x.seen]
    assert rig.status("bad") == "FAILED" and rig.status("good") == "COMPLETED"


@pytest.mark.parametrize("slots", [0, -1, True, "2", 1.5])
def test_a_number_of_places_that_is_none_is_refused(slots: Any) -> None:
    with pytest.raises(BadInput, match=r"admission\.slots"):
        slots_of({"admission.slots": slots})
