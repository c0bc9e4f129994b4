"""Worker limits: how many effects are on their way at once, in all and for each tenant."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from penstock.app.penstock import Penstock
from penstock.errors import BadInput, RunAmbiguous, RunNotFound
from penstock.executors.contract import Request
from penstock.host.worker_limits import Workers
from penstock.net.model import Concurrency, Effect, Net, Node
from tests.host.rig import Fn, Rig, ended, eventually, fan, go, task


class Crew:
    """Counts who is at work, in all and of each tenant; everybody works a little while."""

    def __init__(self) -> None:
        self.now: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.order: list[str] = []

    async def work(self, request: Request) -> str:
        self.order.append(request.tenant)
        for name in ("", request.tenant):
            self.now[name] += 1
            self.most[name] = max(self.most[name], self.now[name])
        await asyncio.sleep(0.003)
        for name in ("", request.tenant):
            self.now[name] -= 1
        return request.node


def wide(width: int) -> Net:
    return fan(*(task(f"t{i}") for i in range(width)))


def worked(rig: Rig, settings: Mapping[str, Any], *tenants: str, net: Net | None = None) -> Crew:
    """The crew, after a run of each tenant has ended."""
    crew = Crew()

    async def scene() -> None:
        async with rig.driving(Fn(crew.work), settings=settings) as host:
            number = host.release(net or wide(12))
            runs = [host.start(number, tenant=tenant) for tenant in tenants]
            for run in runs:
                await ended(host, run)
            assert not host.dispatch.waiting.queues and not host.gate.workers.all

    go(scene())
    return crew


def test_c_78_a_tenant_has_no_more_workers_than_it_may(rig: Rig) -> None:
    """C-78: the limit is each tenant's own, and another one is not held up by it."""
    crew = worked(rig, {"workers.per_tenant": 3, "workers.tenants.mill": 5}, "kiln", "mill", "press")
    assert dict(crew.most) == {"": 11, "kiln": 3, "mill": 5, "press": 3}


def test_c_78_all_tenants_together_have_no_more_workers_than_there_are(rig: Rig) -> None:
    """C-78: the global limit holds over all tenants, also where each has one of its own."""
    crew = worked(rig, {"workers.total": 4, "workers.per_tenant": 3}, "kiln", "mill")
    assert crew.most[""] == 4 and crew.most["kiln"] <= 3 and crew.most["mill"] <= 3
    assert len(crew.order) == 24


def test_c_78_a_free_worker_goes_to_the_tenants_in_turn(rig: Rig) -> None:
    """C-78: who has much to do does not keep others waiting for all of it."""
    crew = worked(rig, {"workers.total": 1}, "kiln", "mill")
    assert Counter(crew.order[:12])["mill"] >= 5


def test_without_a_limit_nothing_is_counted(rig: Rig) -> None:
    crew = worked(rig, {}, "kiln", "mill")
    assert crew.most[""] == 24


def test_with_a_limit_of_the_node_too(rig: Rig) -> None:
    """Whoever waits for both goes out once both have room, and nobody is forgotten."""
    pair = Concurrency(name="pair", limit=2)
    effects = [
        Node(id=f"t{i}", kind="task", effect=Effect(executor="x", concurrency=pair if i % 2 else None))
        for i in range(12)
    ]
    crew = worked(rig, {"workers.total": 3, "workers.per_tenant": 2}, "kiln", "mill", "press", net=fan(*effects))
    assert len(crew.order) == 36 and crew.most[""] == 3


def test_what_is_cancelled_while_it_waits_for_a_worker_holds_up_nobody(rig: Rig) -> None:
    free = asyncio.Event()

    async def work(request: Request) -> str:
        await free.wait()
        return request.node

    async def scene() -> None:
        x = Fn(work)
        async with rig.driving(x, settings={"workers.total": 1}) as host:
            number = host.release(wide(2))
            first, gone, last = (host.start(number, tenant=f"t{i}") for i in range(3))
            await eventually(lambda: sum(map(len, host.dispatch.waiting.queues.values())) == 5)
            from penstock.kernel import command as C

            await host.ask(host.row(gone).no, C.cancel())
            free.set()
            await ended(host, first)
            await ended(host, last)
            assert {request.run for request in x.seen} == {first, last}
            assert host.gate.workers.all == 0

    go(scene())


@pytest.mark.parametrize("value", [0, -1, "many", True, 1.5])
def test_a_limit_that_is_none_is_refused(value: Any) -> None:
    with pytest.raises(BadInput, match=r"workers\.total"):
        Workers({"workers.total": value})


def parallel(width: int) -> bytes:
    branches = [{"id": f"b{i}", "nodes": [f"act_{i}"]} for i in range(width)]
    nodes = [
        {"id": f"act_{i}", "type": "ACTION", "channel": {"type": "webhook", "config": {"url": "outbox:x"}}}
        for i in range(width)
    ]
    fork = {"id": "all", "type": "PARALLEL", "branches": branches, "join": {"strategy": "all"}}
    return json.dumps({"id": "wf_wide", "version": 1, "nodes": [fork, *nodes], "edges": []}).encode()


def test_c_78_parallel_obeys_the_limit(tmp_path: Path) -> None:
    """C-78: branches of a PARALLEL are begun as workers are free."""
    crew = Crew()

    async def scene() -> None:
        door = Penstock(tmp_path / "store.db", settings={"workers.per_tenant": 2})
        door.add_executor(Fn(crew.work, "notify"))
        async with door:
            run = await door.start(door.release(parallel(6), name="wide.json"))
            assert (await door.wait(run, timeout=60)).status == "completed"

    go(scene())
    assert len(crew.order) == 6 and crew.most[""] == 2


def test_c_78_the_runs_of_another_tenant_are_not_there(tmp_path: Path) -> None:
    """C-78: every query is for one tenant, through any door of the same store."""

    async def scene() -> None:
        async with Penstock(tmp_path / "store.db", tenant="kiln") as kiln:
            kiln.add_executor(Fn())
            release, mill = kiln.release(wide(1)), kiln.of("mill")
            mine = await kiln.start(release, key="same")
            theirs = await mill.start(release, key="same")
            await kiln.wait(mine, timeout=60)
            await mill.wait(theirs, timeout=60)
            assert mine != theirs and mill.row("same").id == theirs
            assert [row.id for row in kiln.runs()] == [mine] and [row.id for row in mill.runs()] == [theirs]
            for ask in (mill.view, mill.lines, mill.history, mill.events, mill.state_at, mill.top):
                with pytest.raises(RunNotFound):
                    ask(mine)
            with pytest.raises(RunNotFound):
                await mill.cancel(mine)
            with pytest.raises((RunNotFound, RunAmbiguous)):
                mill.row(mine[:-1])
            kiln.register("user", "kim", {"roles": []})
            assert [row.id for row in kiln.registry.each("user")] == ["kim"] and mill.registry.each("user") == []

    go(scene())
