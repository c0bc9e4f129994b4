"""Fair share: turns, effects and queues are shared between tenants by what they cost (M3, RELIABILITY h)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from penstock.errors import BadInput
from penstock.executors.contract import Request
from penstock.host.fair_queue import FairQueue
from penstock.host.limits import LIMITS, Limits
from penstock.host.loaded_run import LoadedRun
from penstock.host.ready_queue import ReadyQueue
from tests.host.rig import Fn, Rig, chain, ended, eventually, go, task


def run(tenant: str, priority: int = 1000) -> LoadedRun:
    loaded = LoadedRun(1)
    loaded.tenant, loaded.priority = tenant, priority
    return loaded


def served(queue: FairQueue[str], count: int) -> str:
    return "".join(queue.pop() for _ in range(count))


def test_m3_a_queue_serves_tenants_in_turn_however_much_one_brings() -> None:
    queue: FairQueue[str] = FairQueue()
    for _ in range(1000):
        queue.put("loud", "a")
    assert served(queue, 3) == "aaa"
    for _ in range(3):
        queue.put("quiet", "b")
    assert sorted(served(queue, 6)) == list("aaabbb")
    assert len(queue) == 994


def test_m3_an_idle_share_is_not_kept() -> None:
    """Who was not there for long gets half from now on, not all until it has caught up."""
    queue: FairQueue[str] = FairQueue()
    for _ in range(500):
        queue.put("a", "a")
        queue.put("c", "c")
    served(queue, 800)
    for _ in range(100):
        queue.put("late", "l")
    assert served(queue, 30).count("l") == 10


def test_a_tenant_with_twice_the_weight_gets_twice_as_much() -> None:
    queue: FairQueue[str] = FairQueue({"a": 1.0, "b": 2.0}.__getitem__)
    for _ in range(300):
        queue.put("a", "a")
        queue.put("b", "b")
    assert served(queue, 300).count("b") in range(198, 203)


def test_who_may_not_is_passed_over_and_stays() -> None:
    queue: FairQueue[str] = FairQueue()
    queue.put("a", "a")
    queue.put("b", "b")
    assert queue.pop_of(lambda tenant: tenant == "b") == "b"
    assert queue.pop_of(lambda tenant: tenant == "b") is None
    assert queue.pop_of(lambda tenant: True) == "a" and not queue


def test_h_turns_are_charged_by_the_facts_they_made() -> None:
    """A tenant whose runs make 500 facts each gets one of them for a hundred small ones of another."""
    ready = ReadyQueue()
    for _ in range(1000):
        ready.append(run("heavy"))
        ready.append(run("light"))
    facts = {"heavy": 0, "light": 0}
    for _ in range(400):
        for loaded in ready.take(10):
            cost = 500 if loaded.tenant == "heavy" else 4
            if facts["light"] < 3900:  # while both have a backlog
                facts[loaded.tenant] += cost
            ready.charge(loaded.tenant, cost)
    assert facts["heavy"] <= facts["light"] + 10 * 500


def test_h_a_batch_is_taken_without_looking_at_the_whole_backlog() -> None:
    """100,000 runs wait: a batch touches as many as it takes."""
    ready = ReadyQueue()
    for _ in range(100_000):
        ready.append(run("a"))
    ready.take(10)
    looked = 0

    class Counted(LoadedRun):
        __slots__ = ()

        def __getattribute__(self, name: str) -> Any:
            nonlocal looked
            looked += 1
            return super().__getattribute__(name)

    for _, _, loaded in ready.waiting["a"].runs:
        object.__setattr__(loaded, "__class__", Counted)
    ready.take(512)
    assert looked < 512 * 40
    assert len(ready) == 100_000 - 522


def test_h_a_batch_ends_when_its_facts_are_made(rig: Rig) -> None:
    host = rig.open(Fn(), batch=512)
    net = host.release(chain(task("a")))
    host.turns.batch_facts = 20
    for n in range(100):
        host.start(net, n)
    host.turns.turn()
    with rig.reading() as store:
        first = store.last_run()
    assert 3 <= first <= 20 and len(host.turns.ready) == 100 - first
    while host.turns.ready:
        host.turns.turn()
    with rig.reading() as store:
        assert store.last_run() == 100


def test_m3_slow_effects_of_one_tenant_leave_room_for_another(rig: Rig) -> None:
    """With `workers.per_tenant` unset: 100 effects that hang, and another tenant's goes out all the same."""
    hanging: list[str] = []

    async def work(request: Request) -> str:
        if request.tenant == "loud":
            hanging.append(request.run)
            await asyncio.sleep(3600)
        return "ok"

    async def scene() -> None:
        host = rig.open(Fn(work), width=12)
        net = host.release(chain(task("a")))
        async with rig.driving() as host:
            for _ in range(100):
                host.start(net, tenant="loud")
            await eventually(lambda: len(hanging) == 12)
            await ended(host, *[host.start(net, tenant="quiet") for _ in range(20)])
            assert len(hanging) == 12, "alone it has its width, and no more"

    go(scene())


def test_h_effects_that_never_wait_give_the_loop_away(rig: Rig) -> None:
    """10,000 quick effects in a queue: others have the loop in between, counted in effects and not in time."""
    done = 0
    in_a_row: list[int] = []

    def work(request: Request) -> str:
        nonlocal done
        done += 1
        return "ok"

    async def look() -> None:
        last = 0
        while True:
            await asyncio.sleep(0)
            in_a_row.append(done - last)
            last = done

    async def scene() -> None:
        host = rig.open(Fn(work))
        net = host.release(chain(task("a")))
        for _ in range(1000):
            host.start(net)
        async with rig.driving() as host:
            looking = asyncio.ensure_future(look())
            await eventually(lambda: done == 1000)
            looking.cancel()

    go(scene())
    assert max(in_a_row) <= 2 * 128


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"limits.fan_itms": 5}, "the limits are fan_items"),
        ({"limits.fan_items": 0}, "at least 1"),
        ({"limits.open_runs": "many"}, "at least 1"),
        ({"tenants.a.limits.open_runs": True}, "at least 1"),
        ({"tenants.a.share": 0}, "a share is"),
    ],
)
def test_settings_that_are_no_limit_are_refused(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(BadInput, match=why):
        Limits(settings)


def test_h_limits_have_the_defaults_of_the_charter_and_a_tenant_may_have_its_own() -> None:
    """RELIABILITY (h), first rows of its table."""
    charter = {
        "fan_items": 10_000, "children_per_run": 10_000, "call_depth": 32, "starts_per_minute": 600,
        "open_runs": 200_000, "open_work_items": 200_000, "facts_warning": 100_000, "facts_per_run": 2_000_000,
    }  # fmt: skip
    logs = {"event_logs": 100, "event_log_bytes": 512 * 1024 * 1024, "event_log_events": 2_000_000}  # ADR 0114
    assert {limit.name: limit.default for limit in LIMITS} == charter | {"admitted_runs": 1000} | logs
    assert len({limit.code for limit in LIMITS}) == len(LIMITS) - 1, "both sizes of an event log are one refusal"
    limits = Limits({"limits.fan_items": 5, "tenants.big.limits.fan_items": 7, "tenants.big.share": 2})
    assert limits.of("small")["fan_items"] == 5 and limits.of("big")["fan_items"] == 7
    assert limits.share("big") == 2 and limits.share("small") == 1
    assert limits.caps("big").fan_items == 7 and limits.caps("big").slice == 500
