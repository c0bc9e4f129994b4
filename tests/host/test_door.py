"""The door: Penstock with and without an event loop, keys, and errors of the engine that reach whoever waits."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from penstock.app.blocking import Blocking
from penstock.app.maintenance.verify import verify
from penstock.app.penstock import Penstock
from penstock.errors import BadInput, Fenced, KeyConflict, Refused, RunNotFound, StoreBusy
from penstock.executors.contract import failed
from tests.contract.store_suite import SqliteKit
from tests.host.rig import QUICK, chain, go, pause, task, wait, work


def test_a_program_without_an_event_loop(tmp_path: Path) -> None:
    """The same words without await; the engine and async functions live on a thread of their own."""
    with Blocking(tmp_path / "store.db") as penstock:
        seen: list[str] = []

        @penstock.executor("double")
        def double(default: int) -> int:
            seen.append(threading.current_thread().name)
            return default * 2

        @penstock.executor("later")
        async def later(default: int) -> int:
            await asyncio.sleep(0.001)
            seen.append(threading.current_thread().name)
            return default + 1

        release = penstock.release(chain(task("a", "double"), work("p", result="said"), task("b", "later", result="n")))
        run = penstock.start(release, 21, key="order-1")
        look = penstock.wait(run, until_waiting=True, timeout=60)
        assert (look.internal_status, [w.node for w in look.waiting]) == ("WAITING", ["p"])
        penstock.respond(run, "p", 41, by="kim")
        assert penstock.wait(run, timeout=60).output == {"said": 41, "n": 42}
        assert seen == ["penstock-call", "penstock"]
        assert penstock.start(release, 21, key="order-1") == run

        waits = penstock.start(penstock.release(chain(wait("w"), name="waits")))
        penstock.wait(waits, until_waiting=True, timeout=60)
        penstock.pause(waits)
        assert penstock.view(waits).paused
        penstock.resume(waits)
        with pytest.raises(Refused):
            penstock.resume(waits)
        penstock.signal(waits, "go")
        assert penstock.wait(waits, timeout=60).internal_status == "COMPLETED"
        with pytest.raises(RunNotFound):
            penstock.view("rnothing")
    with Blocking(tmp_path / "store.db") as again:
        assert again.view(run).output == {"said": 41, "n": 42}


def test_blocking_in_many_threads_and_an_error_while_opening(tmp_path: Path) -> None:
    """Threads may share one; a second one on the same store is refused and leaves no thread behind."""
    path = tmp_path / "store.db"
    with Blocking(path) as penstock:

        @penstock.executor("x")
        def x(default: int) -> int:
            return default

        release = penstock.release(chain(task("a", result="n")))
        got: dict[int, Any] = {}

        def use(n: int) -> None:
            got[n] = penstock.wait(penstock.start(release, n), timeout=60).output

        threads = [threading.Thread(target=use, args=(n,)) for n in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert got == {n: {"n": n} for n in range(10)}
        before = threading.active_count()
        with pytest.raises(StoreBusy), Blocking(path):
            pass
        assert threading.active_count() == before


def test_the_same_key_is_the_same_run(tmp_path: Path) -> None:
    """At once, before the first commit, and after a restart; another net or input under the key is a conflict."""

    async def scene() -> None:
        run = ""
        for _ in range(2):
            async with Penstock(tmp_path / "store.db") as penstock:
                one = penstock.release(chain(wait("w"), name="one"))
                two = penstock.release(chain(wait("v"), name="two"))
                run = run or await penstock.start(one, {"n": 1}, key="k")
                assert [await penstock.start(one, {"n": 1}, key="k") for _ in range(5)] == [run] * 5
                for release, given in ((two, {"n": 1}), (one, {"n": 2})):
                    with pytest.raises(KeyConflict):
                        await penstock.start(release, given, key="k")
                other = await penstock.start(one, {"n": 2}, key="other")
                assert other != run
                await penstock.wait(run, until_waiting=True, timeout=60)
                await penstock.wait(other, until_waiting=True, timeout=60)
                assert len(penstock.runs()) == 2

    go(scene())


def test_an_input_that_no_store_can_hold_is_refused_at_the_door(tmp_path: Path) -> None:
    async def scene() -> None:
        async with Penstock(tmp_path / "store.db") as penstock:
            release = penstock.release(chain(wait("w")))
            for given in ({"o": object()}, 2**70, "\ud800", [{1: {2: {3}}}, lambda: None]):
                with pytest.raises(BadInput, match="input"):
                    await penstock.start(release, given)
            assert penstock.runs() == []

    go(scene())


def test_what_was_started_or_answered_is_kept_by_a_close(tmp_path: Path) -> None:
    """Closed at once after start: the runs are there, and go on when the store is opened again."""

    async def scene() -> None:
        calls: list[str] = []

        def made() -> Penstock:
            penstock = Penstock(tmp_path / "store.db")
            penstock.executor("x")(lambda request: calls.append(request.key))
            return penstock

        async with made() as penstock:
            release = penstock.release(chain(task("a"), task("b")))
            runs = await penstock.start_many(release, range(600))
        async with made() as penstock:
            assert len(penstock.runs(limit=1000)) == 600
            for run in runs:
                await penstock.wait(run, timeout=60)
        assert len(set(calls)) == 1200  # what was on its way is asked again, with the same key

    go(scene())


def test_who_waits_hears_of_an_engine_that_has_stopped(tmp_path: Path) -> None:
    """H2: another host has taken the store: the engine stops, and neither a waiter nor a command waits for ever."""

    async def scene() -> None:
        penstock = Penstock(tmp_path / "store.db")
        await penstock.__aenter__()
        run = await penstock.start(penstock.release(chain(wait("w"))))
        await penstock.wait(run, until_waiting=True, timeout=60)
        waiter = asyncio.ensure_future(penstock.wait(run, timeout=60))
        await asyncio.sleep(0)
        SqliteKit(tmp_path).steal()
        with pytest.raises(Fenced):
            await asyncio.wait_for(penstock.signal(run, "go"), 60)
        with pytest.raises(Fenced):
            await waiter
        await penstock.aclose()
        async with Penstock(tmp_path / "store.db") as again:
            await again.signal(run, "go")
            assert (await again.wait(run, timeout=60)).internal_status == "COMPLETED"

    go(scene())


def test_a_run_goes_on_where_it_was(tmp_path: Path) -> None:
    """D-X.23, D-12.8: closed in the middle, opened again: what was done is not done again."""
    done: list[str] = []
    started = asyncio.Event()

    async def part(request: Any) -> Any:
        if request.node == "b" and not started.is_set():
            started.set()
            await asyncio.sleep(30)
        done.append(request.node)
        return failed("NO", "transient", "no") if request.attempt == 1 and request.node == "c" else request.node

    async def scene() -> None:
        net = chain(*(task(n, "part", retry=QUICK, result=n) for n in "abc"), pause("t", 20))
        run = ""
        for first in (True, False):
            penstock = Penstock(tmp_path / "store.db")
            penstock.executor("part")(part)
            async with penstock:
                run = run or await penstock.start(penstock.release(net))
                if first:
                    await asyncio.wait_for(started.wait(), 60)
                    continue
                assert (await penstock.wait(run, timeout=60)).output == {"a": "a", "b": "b", "c": "c"}

    go(scene())
    assert done == ["a", "b", "c", "c"]


def test_k15_after_a_restart_counters_begin_anew(tmp_path: Path) -> None:
    """K15: what people are told counts from the restart, like the limits do."""
    broken = True

    async def scene() -> None:
        penstock = Penstock(tmp_path / "store.db")

        @penstock.executor("x")
        def x(request: Any) -> Any:
            return failed("NO", "permanent", "no") if broken and request.node == "b" else request.node

        async with penstock:
            nonlocal broken
            net = chain(task("a", max_iter=2), task("b"))
            run = await penstock.start(penstock.release(net))
            assert (await penstock.wait(run, timeout=60)).internal_status == "FAILED"
            await penstock.retry(run, how="restart")
            await penstock.wait(run, timeout=60)
            broken = False
            await penstock.retry(run, how="restart")
            look = await penstock.wait(run, timeout=60)
            assert look.internal_status == "COMPLETED" and look.counters == {"s": 1, "a": 1, "b": 1, "e": 1}
            assert [e.name for e in penstock.events(run)].count("node.maxiter_reached") == 0
            assert verify(penstock.store).violations == []

    go(scene())
