"""Runs that call runs: the answer, the failure, the cancel, and crashes in between."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from penstock.executors.contract import failed
from penstock.host.children import child_id
from penstock.host.embedded import Host
from penstock.kernel import command as C
from penstock.kernel.state import STATUS
from penstock.net.compiled import Compiled
from penstock.net.model import Edge, Net, Retry, Trigger
from tests.host.rig import END, START, Fn, Rig, call, chain, ended, eventually, go, quiet, task, wait


def released(host: Host, child: Net, **more: Any) -> int:
    host.release(child)
    return host.release(chain(call("c", Compiled(child).hash, result="r", **more), name="parent"))


def children(rig: Rig) -> list[tuple[str, str | None, str]]:
    with rig.reading() as store:
        return [(r.id, r.parent, STATUS[r.status]) for r in store.runs(limit=1000) if r.id[0] == "c"]


def test_k23_the_parent_gets_its_childs_output(rig: Rig) -> None:
    """K23: one child per call, with an id derived from the call's key; its output is the call's outcome."""
    x = Fn(lambda request: {"got": request.inputs[0].body})

    async def scene() -> str:
        async with rig.driving(x) as host:
            run: str = host.start(released(host, chain(task("a", result="a"))), 5)
            await ended(host, run)
            await quiet(host)
            assert len(host.turns.runs) == 0 and host.children.parents == {}
            return run

    run = go(scene())
    assert rig.status(run) == "COMPLETED"
    (settled,) = (f for f in rig.facts(run, "settled") if f["node"] == 1)
    assert settled["body"] == {"a": {"got": {"default": 5}}}
    assert children(rig) == [(child_id(f"default/{run}/c@~0#1"), run, "COMPLETED")]
    rig.sound()


def test_a_large_output_of_a_child_comes_whole(rig: Rig) -> None:
    """D-X.20: what the child stored by reference is a value again in the parent's next executor."""
    big = {"text": "x" * 100_000}
    seen: list[Any] = []

    def answer(request: Any) -> Any:
        if request.node == "a":
            return big
        seen.append(request.inputs[0].body)

    async def scene() -> None:
        async with rig.driving(Fn(answer)) as host:
            child = chain(task("a", result="out"))
            host.release(child)
            net = host.release(chain(call("c", Compiled(child).hash), task("b"), name="parent"))
            await ended(host, host.start(net))

    go(scene())
    assert seen == [{"out": big}]


def test_a_child_that_fails_fails_its_call(rig: Rig) -> None:
    async def scene() -> str:
        async with rig.driving(Fn(lambda request: failed("NO", "business", "not today"))) as host:
            run: str = host.start(released(host, chain(task("a")), retry=Retry(max=3, base_ms=1)))
            await ended(host, run)
            return run

    run = go(scene())
    failure = rig.facts(run, "run.moved")[-1]["failure"]
    assert failure[:2] == ["CHILD_FAILED", "permanent"] and "not today" in failure[2]
    assert failure[4] == {"run": children(rig)[0][0]}


def test_a_net_that_nobody_released_fails_the_call(rig: Rig) -> None:
    async def scene() -> str:
        async with rig.driving(Fn()) as host:
            run: str = host.start(host.release(chain(call("c", "0" * 64))))
            await ended(host, run)
            return run

    assert rig.failure(go(scene())) == "NET_UNKNOWN"


def test_k23_cancel_reaches_every_child(rig: Rig) -> None:
    """K23: grandchildren too, whether they run or wait; nobody is left."""
    x = Fn(lambda request: asyncio.sleep(30))

    async def scene() -> str:
        async with rig.driving(x) as host:
            inner = [chain(task("a"), name="runs"), chain(wait("w"), name="waits")]
            for net in inner:
                host.release(net)
            calls = [call(f"c{i}", Compiled(net).hash) for i, net in enumerate(inner)]
            edges = [Edge(id=f"s>{n.id}", src="s", dst=n.id) for n in calls]
            edges += [Edge(id=f"{n.id}>e", src=n.id, dst="e") for n in calls]
            middle = Net(name="middle", nodes=(START, *calls, END), edges=tuple(edges))
            run: str = host.start(released(host, middle))
            await eventually(lambda: len(children(rig)) == 3 and x.seen)
            await host.ask(host.store.run_by_id(run).no, C.cancel())
            await eventually(lambda: x.cancelled == 1 and {s for *_, s in children(rig)} == {"CANCELLED"})
            await quiet(host)
            return run

    run = go(scene())
    assert rig.status(run) == "CANCELLED"
    rig.sound()


@pytest.mark.parametrize("when", ["before the child", "while it runs", "after its end"])
def test_k23_a_crash_in_between_makes_no_second_child(rig: Rig, when: str) -> None:
    """K23, D-X.23: asked again, the call finds the same child, whatever of it was committed."""
    x = Fn(lambda request: "answer")

    async def scene() -> None:
        host = rig.open(x)
        host.start(released(host, chain(task("a"))), id="r1")
        asks = host.turns.turn()
        if when != "before the child":
            host.dispatch.out(asks)
            host.iterate()
        if when == "after its end":
            await eventually(lambda: host.turns.ready)
            host.turns.turn()
            assert rig.status(children(rig)[0][0]) == "COMPLETED"
        await host.dispatch.close()
        rig.close()
        assert rig.status("r1") == "RUNNING"
        await rig.finish(x)

    go(scene())
    assert rig.status("r1") == "COMPLETED"
    assert [(parent, status) for _, parent, status in children(rig)] == [("r1", "COMPLETED")]
    assert len(set(x.keys)) == 1
    rig.sound()


def test_k23_a_child_that_failed_before_a_crash_is_not_tried_again(rig: Rig) -> None:
    """K23, E7: the same call asks again after a crash, and hears how its child ended; only a retried call retries."""
    x = Fn(lambda request: failed("NO", "business", "not today"))

    async def scene() -> None:
        host = rig.open(x)
        host.start(released(host, chain(task("a"))), id="r1")
        host.dispatch.out(host.turns.turn())
        host.iterate()
        await eventually(lambda: host.turns.ready)
        host.turns.turn()
        assert [status for *_, status in children(rig)] == ["FAILED"]
        await host.dispatch.close()
        rig.close()
        assert rig.status("r1") == "RUNNING"
        await rig.finish(x)

    go(scene())
    assert rig.status("r1") == "FAILED" and rig.failure("r1") == "CHILD_FAILED"
    assert len(x.keys) == 1 and [status for *_, status in children(rig)] == ["FAILED"]
    rig.sound()


@pytest.mark.parametrize("how", ["parent cancelled", "call interrupted"])
def test_k23_a_crash_after_the_parents_cancel_leaves_no_orphan(rig: Rig, how: str) -> None:
    """K23: the parent's turn is committed, the child's is not; the next process cancels the child."""
    late = Trigger(port="late", kind="signal", name="enough")

    async def scene() -> None:
        host = rig.open(Fn())
        child = chain(wait("w"), name="child")
        host.release(child)
        nodes = (START, call("c", Compiled(child).hash, triggers=(late,)), wait("x", "end"), END)
        ways = (("s", "c", "done"), ("c", "e", "done"), ("c", "x", "late"), ("x", "e", "done"))
        edges = tuple(Edge(id=f"{a}>{b}", src=a, dst=b, port=port) for a, b, port in ways)
        host.start(host.release(Net(name="parent", nodes=nodes, edges=edges)), id="r1")
        while host.iterate():
            pass
        no = rig.store.run_by_id("r1").no
        host.send(no, C.cancel() if how == "parent cancelled" else C.signal("", "enough"))
        host.turns.turn()  # committed; the host dies before it tells the child
        rig.close()
        assert [s for *_, s in children(rig)] == ["WAITING"]
        await rig.finish(Fn())

    go(scene())
    assert rig.status("r1") == ("CANCELLED" if how == "parent cancelled" else "WAITING")
    assert [s for *_, s in children(rig)] == ["CANCELLED"]
    rig.sound()


def test_a_child_that_waits_is_not_an_orphan(rig: Rig) -> None:
    """After a restart the caller is found again, and the child's end reaches it."""

    async def scene() -> str:
        host = rig.open(Fn())
        run = host.start(released(host, chain(wait("w"))))
        while host.iterate():
            pass
        rig.close()
        for _ in range(2):
            async with rig.driving(Fn()) as host:
                await asyncio.sleep(0.02)
        async with rig.driving(Fn()) as host:
            (child,) = children(rig)
            assert child[2] == "WAITING"
            await host.ask(host.store.run_by_id(child[0]).no, C.signal("", "go", "news"))
            await ended(host, run)
        return run

    run = go(scene())
    (settled,) = (f for f in rig.facts(run, "settled") if f["node"] == 1)
    assert rig.status(run) == "COMPLETED" and settled["body"] == "news"
    rig.sound()


def test_many_children(rig: Rig) -> None:
    x = Fn(lambda request: request.inputs[0].body["default"])

    async def scene() -> list[str]:
        async with rig.driving(x) as host:
            net = released(host, chain(task("a", result="n")))
            runs = [host.start(net, n) for n in range(200)]
            await ended(host, *runs)
            assert len(host.turns.runs) == 0
            return runs

    runs = go(scene())
    bodies = [f["body"] for run in runs for f in rig.facts(run, "settled") if f["node"] == 1]
    assert bodies == [{"n": n} for n in range(200)] and len(children(rig)) == 200


def test_a_retried_caller_retries_the_child_that_failed(rig: Rig) -> None:
    """K23, E7: the same key is the same child; what failed in it is done again, and nothing else."""
    broken = [True]

    def answer(request: Any) -> Any:
        if request.node == "b" and broken[0]:
            return failed("NOT_YET", "permanent", "not yet")
        return request.node

    x = Fn(answer)

    async def scene() -> str:
        async with rig.driving(x) as host:
            run: str = host.start(released(host, chain(task("a"), task("b", result="b"))))
            await ended(host, run)
            assert rig.status(run) == "FAILED"
            broken[0] = False
            row = host.row(run)
            assert row is not None
            await host.ask(row.no, C.retry())
            await ended(host, run)
            await quiet(host)
            return run

    run = go(scene())
    assert rig.status(run) == "COMPLETED" and len(children(rig)) == 1
    assert [key.rpartition("/")[2] for key in x.keys].count("a@~0#1") == 1
    rig.sound()


def test_a_call_that_takes_too_long_is_stopped(rig: Rig) -> None:
    """K23: `timeout_ms` holds for calls too: the child is cancelled, the call fails."""

    async def scene() -> str:
        async with rig.driving(Fn()) as host:
            run: str = host.start(released(host, chain(wait("w")), timeout_ms=50))
            await ended(host, run)
            await quiet(host)
            return run

    run = go(scene())
    assert rig.status(run) == "FAILED" and rig.failure(run) == "NODE_TIMEOUT"
    assert [one[2] for one in children(rig)] == ["CANCELLED"]
    rig.sound()


def test_h1_a_child_that_is_told_of_keeps_the_command_that_waits_for_it(rig: Rig) -> None:
    """Read for its caller, it stays the run that has the next turn: two of it would have one turn both."""

    async def scene() -> None:
        async with rig.driving(Fn()) as host:
            run: str = host.start(released(host, chain(task("a", result="a"))), 5)
            await ended(host, run)
            await quiet(host)
        host = rig.open(Fn())
        child = host.store.run_by_id(child_id(f"default/{run}/c@~0#1"))
        host.turns.send(child.no, C.tick())
        host.children._tell(child.id, child.no)
        host.turns.send(child.no, C.tick())
        while host.turns.ready:
            host.turns.turn()
        assert len(host.turns.runs) == 0

    go(scene())
    rig.sound()
