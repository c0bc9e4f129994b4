"""Detached calls: the caller goes on as soon as the called run is in the store, and never takes it along."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.executors.contract import failed
from penstock.host.children import child_id
from penstock.host.embedded import Host
from penstock.kernel import command as C
from penstock.kernel.state import STATUS
from penstock.net.compiled import Compiled
from penstock.net.model import Effect, Net, Node
from tests.host.rig import Fn, Rig, chain, ended, eventually, go, pause, quiet, task, wait

#: calls a run that waits for a signal, and goes on at once
CHILD = chain(wait("w", "go"), name="child")


def detached(child: Net, input: Any = None) -> Node:
    args = {"net": Compiled(child).hash, "input": input, "detached": True}
    return Node(id="d", kind="call", effect=Effect(executor="call", args=args), result="r")


def released(host: Host, *after: Node, child: Net = CHILD) -> int:
    host.release(child)
    return host.release(chain(detached(child, {"n": 7}), *after, name="parent"))


def children(rig: Rig) -> list[tuple[str, str | None, str]]:
    with rig.reading() as store:
        return [(r.id, r.parent, STATUS[r.status]) for r in store.runs(limit=1000) if r.id[0] == "d"]


def test_c57_the_caller_does_not_wait_and_knows_what_it_has_started(rig: Rig) -> None:
    """C-57: not blocking: the answer is the run's id and what it was called with; the child goes on."""

    async def scene() -> str:
        async with rig.driving(Fn()) as host:
            run: str = host.start(released(host))
            await ended(host, run)
            await quiet(host)
            assert host.children.called == {}
            return run

    run = go(scene())
    child = child_id(f"default/{run}/d@~0#1", detached=True)
    assert rig.status(run) == "COMPLETED" and children(rig) == [(child, run, "WAITING")]
    (settled,) = (fact for fact in rig.facts(run, "settled") if fact["node"] == 1)
    assert settled["body"] == {"run_id": child, "input": {"n": 7}}
    rig.sound()


def test_c57_a_cancelled_caller_leaves_it_alone(rig: Rig) -> None:
    """C-57: a rollout goes on when the run that has begun it is cancelled."""

    async def scene() -> None:
        async with rig.driving(Fn()) as host:
            run = host.start(released(host, wait("x", "never")))
            await eventually(lambda: children(rig))
            await quiet(host)
            await host.ask(host.store.run_by_id(run).no, C.cancel())
            await quiet(host)

    go(scene())
    assert [status for *_, status in children(rig)] == ["WAITING"]
    rig.sound()


@pytest.mark.parametrize("when", ["before the child", "after the child", "after the answer"])
def test_c57_a_crash_in_between_starts_it_once_and_cancels_nothing(rig: Rig, when: str) -> None:
    async def scene() -> None:
        host = rig.open(Fn())
        host.start(released(host), id="r1")
        asks = host.turns.turn()
        if when != "before the child":
            host.dispatch.out(asks)
            host.turns.turn()
        if when == "after the answer":
            while host.iterate():
                pass
        rig.close()
        await rig.finish(Fn())

    go(scene())
    assert rig.status("r1") == "COMPLETED"
    assert [(parent, status) for _, parent, status in children(rig)] == [("r1", "WAITING")]
    rig.sound()


def test_c57_a_host_that_drives_one_run_drives_what_it_has_let_go(rig: Rig) -> None:
    """A host that drives one run alone goes on with its detached children: their timers are its own."""
    child = chain(pause("w", 50), name="child")

    async def scene() -> None:
        host = rig.open(Fn())
        host.start(released(host, wait("x", "never"), child=child), id="r1")
        while host.iterate():
            pass
        rig.close()
        async with rig.driving(Fn(), recover=False, alone=True) as alone:
            alone.resume_run(alone.store.run_by_id("r1").no)
            await eventually(lambda: [status for *_, status in children(rig)] == ["COMPLETED"])

    go(scene())
    assert rig.status("r1") == "WAITING"


def test_a_detached_child_that_fails_fails_nobody(rig: Rig) -> None:
    async def scene() -> str:
        async with rig.driving(Fn(lambda request: failed("NO", "business", "not today"))) as host:
            run: str = host.start(released(host, child=chain(task("a"), name="child")))
            await ended(host, run)
            await eventually(lambda: [status for *_, status in children(rig)] == ["FAILED"])
            return run

    assert rig.status(go(scene())) == "COMPLETED"
