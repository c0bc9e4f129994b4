"""Lanes: one task serves an executor that never waits, and one that waits holds up nobody."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from penstock.executors.contract import Done, Lane, Outcome, Request, Services
from penstock.net.model import Net
from tests.host.rig import Fn, Rig, ended, eventually, fan, go, task


def wide(width: int) -> Net:
    return fan(*(task(f"t{i}") for i in range(width)))


async def runs(rig: Rig, net: Net, *executors: Any, width: int = 256) -> Any:
    """The lane of the executor, after a run has ended."""
    async with rig.driving(*executors, width=width) as host:
        await ended(host, host.start(host.release(net)))
        return host.dispatch.queues["x"]


def test_an_executor_that_never_waits_needs_one_task(rig: Rig) -> None:
    lane = go(runs(rig, wide(40), Fn(lambda request: request.node)))
    assert len(lane.tasks) == 1 and not lane.waits and not lane.coming


def test_the_first_that_waits_does_not_hold_up_those_behind_it(rig: Rig) -> None:
    """The others were let out with it, and are begun although nobody knew that it would wait."""
    at_once, most = 0, 0

    async def meet(request: Request) -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await eventually(lambda: most == 40)
        at_once -= 1

    lane = go(runs(rig, wide(40), Fn(meet)))
    assert len(lane.tasks) == 40 and lane.waits and not lane.coming


def test_one_that_waits_now_and_then(rig: Rig) -> None:
    """Every third effect waits for an effect behind it."""
    seen: set[str] = set()

    async def sometimes(request: Request) -> str:
        seen.add(request.node)
        if len(seen) % 3 == 0:
            await eventually(lambda: len(seen) == 30)
        return request.node

    x = Fn(sometimes)
    go(runs(rig, wide(30), x))
    assert len(x.seen) == x.ended == 30


def test_a_lane_is_no_wider_than_it_may_be(rig: Rig) -> None:
    at_once, most = 0, 0

    async def count(request: Request) -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0.001)
        at_once -= 1

    lane = go(runs(rig, wide(30), Fn(count), width=4))
    assert most == 4 and len(lane.tasks) <= 5  # a task more, for another tenant


class Lanes(Fn):
    """Effects that compute, two at once, and effects that wait for others, twenty at once."""

    def lane(self, args: Any) -> Lane:
        return Lane("remote", 20) if args == {"remote": True} else Lane("", 2)


def test_effects_that_wait_take_no_place_of_those_that_compute(rig: Rig) -> None:
    """Each kind has as many at once as it may have, and while all of one kind wait the others go on."""
    at_once, most, done = {"w": 0, "c": 0}, {"w": 0, "c": 0}, 0

    async def answer(request: Request) -> None:
        nonlocal done
        kind = request.node[0]
        at_once[kind] += 1
        most[kind] = max(most[kind], at_once[kind])
        if kind == "w":  # nobody of them ends before all that compute have ended, and as many wait as may
            await eventually(lambda: done == 10 and most["w"] == 20)
        else:
            await asyncio.sleep(0)
            done += 1
        at_once[kind] -= 1

    async def scene() -> None:
        async with rig.driving(Lanes(answer)) as host:
            waiting = [task(f"w{i}", args={"remote": True}) for i in range(30)]
            await ended(host, host.start(host.release(fan(*waiting, *(task(f"c{i}") for i in range(10))))))
            assert sorted(host.dispatch.queues) == ["x.", "x.remote"]

    go(scene())
    assert most == {"w": 20, "c": 2}


class Awaitable:
    """An executor whose `run` is no coroutine function."""

    name = "x"

    def __init__(self) -> None:
        self.at_once = self.most = 0

    def run(self, request: Request, services: Services) -> asyncio.Future[Outcome]:
        return asyncio.ensure_future(self._run())

    async def _run(self) -> Outcome:
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        await asyncio.sleep(0.01)
        self.at_once -= 1
        return Done(1)


def test_what_it_returns_may_be_any_awaitable(rig: Rig) -> None:
    x = Awaitable()
    go(runs(rig, wide(10), x))
    assert x.most == 10


@pytest.mark.parametrize("waits_first", [False, True])
def test_an_exception_of_what_it_waits_for_reaches_the_executor(rig: Rig, waits_first: bool) -> None:
    """And what it makes of it is its answer, in the first effect of a lane as in any other."""

    async def breaks() -> None:
        await asyncio.sleep(0)
        raise LookupError("it is not there")

    async def careful(request: Request) -> Any:
        if waits_first:
            await asyncio.sleep(0)
        try:
            await asyncio.gather(breaks(), asyncio.sleep(0.001))
        except LookupError as error:
            await asyncio.sleep(0)
            return str(error)

    go(runs(rig, wide(3), Fn(careful)))
    with rig.reading() as store:
        run = store.runs()[0].id
    bodies = [f["body"] for f in rig.facts(run, "settled") if f["node"] in (1, 2, 3)]
    assert bodies == ["it is not there"] * 3


def test_an_executor_that_never_waits_needs_one_task_however_many_slices_it_takes(rig: Rig) -> None:
    """A task that has let others have the loop looks at the queue again: what comes meanwhile wakes no second one."""

    async def scene() -> tuple[int, int]:
        async with rig.driving(Fn(lambda request: request.node)) as host:
            over = host.dispatch.slice.is_over
            slices = 0

            def always_over() -> bool:
                nonlocal slices
                slices += 1
                over()
                return True

            host.dispatch.slice.is_over = always_over  # type: ignore[method-assign]
            net = host.release(wide(20))
            await ended(host, *[host.start(net) for _ in range(20)])
            return len(host.dispatch.queues["x"].tasks), slices

    assert go(scene()) == (1, 400)
