"""Every store: projections hold nothing that the journal does not hold."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from penstock.dialects.projection import rows_of
from penstock.executors.contract import Request, failed
from penstock.host.clock import ManualClock
from penstock.host.embedded import Host
from penstock.kernel import command as C
from penstock.net.model import Body, Branch, Declares, Edge, Effect, Net, Node, Pool, Trigger, Work
from penstock.store.tables import PROJECTIONS
from tests.contract.store_suite import Capability, Kit, needs
from tests.host.rig import END, QUICK, START, Fn, chain, fan, task, wait, work


def dump(kit: Kit) -> dict[str, list[tuple[Any, ...]]]:
    return {table.name: kit.rows(table.name) for table in PROJECTIONS}


def timed_work() -> Net:
    """An item that nobody takes fails the run; a retry opens it anew."""
    late = Trigger(kind="timer", after_ms=1000, action="fail")
    spec = Work(prompt="hurry", candidates=["kim"])
    return chain(Node(id="p", kind="work", work=spec, triggers=(late,)), name="timed")


def branches() -> Net:
    """Two branches in a scope, one of which fails: what the other waits for is swept."""
    body = Body(mode="branches", branches=(Branch(key="x", entry="w"), Branch(key="y", entry="b")))
    nodes = (
        START, Node(id="both", kind="scope", body=body), wait("w", scope="both"), task("b", scope="both"), END,
    )  # fmt: skip
    edges = (Edge(id="s>both", src="s", dst="both"), Edge(id="both>e", src="both", dst="e"))
    return Net(name="branches", nodes=nodes, edges=edges)


def activities() -> Net:
    """A process: one activity for somebody in particular, then one for anybody (P-X.13)."""
    asks = [{"kind": "work", "activity_id": name, "agent": "bot"} for name in ("p", "q")]
    kim = {"type": "any_of", "targets": ["user:kim"]}
    one = Node(id="p", kind="work", work=Work(prompt=asks[0], candidates=kim, modes=True))
    return replace(chain(one, Node(id="q", kind="work", work=Work(prompt=asks[1])), name="process"), language="process")


def stages() -> Net:
    """A pipeline of two stages, of which the second waits for news (F-1.3.9, F-1.4.6)."""
    known = Declares(policies={"pipeline": {"stages": [{"code": "a"}, {"code": "w"}]}})
    return replace(chain(task("a", retry=QUICK), wait("w"), name="stages"), language="pipeline", declares=known)


def tasks() -> Net:
    """A plan of two tasks and one agent, of which the second is doubtful and waits for a review (T-X.14)."""
    known = Declares(policies={"plan": {"tasks": {"a": {"title": "A"}, "b": {"title": "B", "depends_on": ["a"]}}}})
    review = Work(agent=True, approve_if="draft.node == 'b'")
    nodes = [
        Node(id=id, kind="work", pool="agents", effect=Effect(executor="x"), work=review, retry=QUICK) for id in "ab"
    ]
    pools = {"agents": Pool(places=("claude",), most=1)}
    return replace(chain(*nodes, name="tasks"), language="plan", declares=known, pools=pools)


def no_way_out() -> Net:
    """An answer that no branch takes: an incident."""
    nodes = (START, task("a", split="first", retry=QUICK), END)
    edges = (Edge(id="s>a", src="s", dst="a"), Edge(id="a>e", src="a", dst="e", guard="1 == 2"))
    return Net(name="no way out", nodes=nodes, edges=edges)


async def life(host: Host, clock: ManualClock) -> None:
    """Runs that open, use, lose and reopen everything that is projected."""

    async def laps(times: int = 40) -> None:
        for _ in range(times):
            host.iterate()
            await asyncio.sleep(0.0005)

    plain = chain(task("a", retry=QUICK), wait("w"), task("b"), name="plain")
    people = chain(work("p"), work("q"), name="people")
    nets = [plain, fan(wait("v"), wait("w"), work("p")), timed_work(), branches(), people, no_way_out(), activities()]
    nets.append(chain(task("once"), name="once"))  # fails; one of its three runs is taken up again
    nets += [stages(), tasks()]
    for net in nets:
        number = host.release(net)
        for n in range(3):
            host.start(number, n)
    await laps()
    for no in range(1, host.store.last_run() + 1):
        if no % 3 == 0:
            host.send(no, C.cancel(), lambda error: None)
        host.send(no, C.signal("", "go", no), lambda error: None)
    await laps()
    clock.at += 2000
    await laps()
    for no in range(1, host.store.last_run() + 1):
        if no not in (22, 23):
            host.send(no, C.retry(), lambda error: None)
    await laps()
    for item in host.store.items():
        if item[0] % 4 == 0:
            continue  # one that was opened anew stays as it is
        host.send(item[0], C.work(item[1], "start", "kim"), lambda error: None)
        if item[0] % 2:
            host.send(item[0], C.work(item[1], "submit", "kim", {"n": 1}), lambda error: None)
    await laps()


@needs(Capability.REBUILD)
@pytest.mark.parametrize("batch", [512, 1])
def test_rebuilt_projections_are_the_live_ones(kit: Kit, batch: int) -> None:
    """D-X.28: firings, waits, work items and incidents: dropped, folded again, equal row by row. Twice."""

    async def scene() -> dict[str, list[tuple[Any, ...]]]:
        clock = ManualClock()

        def answer(request: Request) -> Any:
            request.used.append({"type": "model", "id": "m", "version": "2", "environment": "production"})
            return failed("NO", "transient", "no") if request.attempt < 2 else {"node": request.node, "pid": 7}

        x = Fn(answer)
        host = Host(kit.open(), {"x": x}, clock=clock, batch=batch)
        await life(host, clock)
        before = dump(kit)
        for _ in range(2):
            assert (
                host.store.rebuild(lambda row, journal, rows: rows_of(row, journal, rows, host.nets.of) and None) == 30
            )
            assert dump(kit) == before
        await host.close()
        return before

    before = asyncio.run(scene())
    assert {name: bool(rows) for name, rows in before.items()} == {
        "firing": True, "waiting": True, "item": True, "work": True, "incident": True, "cause": True,
        "judgment": False, "execution": True, "stage_log": True, "usage": True,
        "task": True, "task_agent": True, "task_execution": True, "artifact_use": True,
    }  # fmt: skip
    statuses = {row[3] for row in before["item"]}
    assert {"TODO", "IN_PROGRESS", "DONE", "CANCELLED"} <= statuses
    assert {row[6] for row in before["task"]} == {"pending", "completed"}
    assert {(row[5], row[11]) for row in before["artifact_use"]} == {("2", 0), ("2", 1)}, "version, failed"
    assert {row[7] for row in before["task_execution"]} == {"completed", "failed"}
    assert [(row[0], row[5:]) for row in before["cause"]] == [(no, ("once", "NO", "no")) for no in (22, 23)]


@needs(Capability.REBUILD)
def test_a_rebuild_that_fails_leaves_the_old_projections(kit: Kit) -> None:
    async def scene() -> None:
        host = Host(kit.open(), {"x": Fn()}, clock=ManualClock())
        await life(host, ManualClock())
        before = dump(kit)

        def broken(row: Any, journal: Any, rows: Any) -> None:
            if row.no == 5:
                raise RuntimeError("in the middle")

        with pytest.raises(RuntimeError, match="middle"):
            host.store.rebuild(broken)
        assert dump(kit) == before
        await host.close()

    asyncio.run(scene())
