"""at_most_once: marked before the call, in doubt after a crash, and an operator says what became of it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock.app.penstock import Penstock
from penstock.executors.contract import failed
from penstock.host.embedded import Host
from penstock.net.model import Breaker, Concurrency, Retry
from penstock.store.sqlite import Sqlite
from tests.host.rig import Fn, Rig, chain, ended, eventually, go, task

ROOT = Path(__file__).resolve().parents[2]
ONCE: dict[str, Any] = {"safe": "at_most_once"}

WORKER = """
import asyncio, sys
from pathlib import Path
from tests.host.rig import Fn, Rig, chain, task

async def main():
    def call(request):
        print(request.key, request.attempt, flush=True)
        return asyncio.get_running_loop().create_future()

    async with Rig(Path(sys.argv[1])).driving(Fn(call)) as host:
        host.start(host.release(chain(task("robot", safe="at_most_once", result="r"))), id="r1")
        await asyncio.sleep(60)

asyncio.run(main())
"""


def killed_in_the_call(path: Path) -> list[str]:
    """A process of its own starts the effect and is killed while the call is under way."""
    env = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}"}
    child = subprocess.Popen([sys.executable, "-c", WORKER, str(path)], env=env, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    told = child.stdout.readline().split()
    child.send_signal(signal.SIGKILL)
    child.wait()
    return told


def incidents(rig: Rig) -> list[tuple[Any, ...]]:
    with rig.reading() as store:
        return store.c.execute("SELECT code, node FROM incident").fetchall()


def intents(rig: Rig) -> list[tuple[Any, ...]]:
    with rig.reading() as store:
        return [row[3:] for row in store.intents()]


@pytest.mark.parametrize("verdict", ["retry", "respond"])
def test_e6_after_kill_9_in_the_call_the_effect_is_in_doubt_and_not_repeated(rig: Rig, verdict: str) -> None:
    """E6: WAITING with an incident IN_DOUBT. `retry` runs it again as the next attempt, `respond` gives a result."""
    key, attempt = killed_in_the_call(rig.path)
    assert (key, attempt) == ("default/r1/robot@~0#1", "1")
    assert intents(rig) == [(1, "started")]
    x = Fn(lambda request: "moved")

    async def scene() -> None:
        for _ in range(2):  # a second restart changes nothing
            async with rig.driving(x):
                await eventually(lambda: rig.status("r1") == "WAITING")
                await asyncio.sleep(0.05)
            assert not x.seen
        assert incidents(rig) == [("IN_DOUBT", "robot")] and intents(rig) == [(1, "in_doubt")]
        penstock = Penstock(rig.path, tenant="default")
        penstock.add_executor(x)
        async with penstock:
            if verdict == "retry":
                await penstock.retry("r1")
            else:
                await penstock.respond("r1", "robot", "it had moved", by="kim")
            await penstock.wait("r1", timeout=60)

    go(scene())
    assert rig.status("r1") == "COMPLETED"
    assert [(r.attempt, r.key) for r in x.seen] == ([(2, key)] if verdict == "retry" else [])
    (settled,) = (f for f in rig.facts("r1", "settled") if f["node"] == 1)
    assert settled["body"] == ("moved" if verdict == "retry" else "it had moved")
    assert rig.facts("r1", "effect.answered")[0]["status"] == "in_doubt"
    rig.sound()
    host = rig.open(x)
    host.iterate()  # tidies up
    assert intents(rig) == []


def test_the_intent_is_committed_before_the_call_and_goes_with_the_answer(rig: Rig) -> None:
    """E1, E6: the executor finds its own mark; the commit that has its answer takes the mark away."""
    found: list[Any] = []
    x = Fn(lambda request: found.append(intents(rig)))

    async def scene() -> None:
        async with rig.driving(x) as host:
            net = host.release(chain(task("a", **ONCE), task("b"), task("c", **ONCE)))
            await ended(host, *(host.start(net) for _ in range(3)))

    go(scene())
    by_node = {node: [f for r, f in zip(x.seen, found, strict=True) if r.node == node] for node in "abc"}
    assert all((1, "started") in marks for node in "ac" for marks in by_node[node])
    assert intents(rig) == []
    rig.sound()


def test_a_mark_never_goes_before_its_answer_is_committed(rig: Rig) -> None:
    """E6: with a backlog the answer waits for a later batch. The process dies in between: in doubt, not repeated."""

    async def scene() -> None:
        x = Fn(lambda request: "happened")
        host = rig.open(x, batch=1)
        run = host.start(host.release(chain(task("a", **ONCE))), id="r1", priority=9000)
        host.iterate()
        for n in range(5):
            host.start(host.release(chain(task("b"))), n, priority=1)
        await eventually(lambda: x.seen)
        await asyncio.sleep(0.05)  # the answer is here now, behind five others
        assert host.turns.ready
        host.iterate()
        assert rig.status(run) == "RUNNING" and intents(rig) == [(1, "started")]
        rig.close()
        again = Fn()
        async with rig.driving(again) as host:
            await eventually(lambda: rig.status("r1") == "WAITING")
        assert "r1" not in [r.run for r in again.seen]

    go(scene())
    assert incidents(rig) == [("IN_DOUBT", "a")]


@pytest.mark.parametrize("what", ["place", "breaker"])
def test_what_the_gate_holds_back_was_never_started(rig: Rig, what: str) -> None:
    """A mark is made when the call goes out, so a crash while it waits leaves no doubt: it is asked again."""
    gate = {
        "place": {"concurrency": Concurrency(name="c", limit=1)},
        "breaker": {"breaker": Breaker(name="b", failures=1, cooldown_ms=60_000)},
    }[what]
    x = Fn(lambda request: asyncio.sleep(30) if what == "place" else failed("NO", "external", "no"))

    async def scene() -> None:
        async with rig.driving(x) as host:
            net = host.release(chain(task("a", **ONCE, **gate)))
            first = host.start(net, id="r1")
            await eventually(lambda: x.seen)
            if what == "breaker":
                await ended(host, first)
            second = host.start(net, id="r2")
            await eventually(lambda: host.row(second) is not None and not host.turns.ready)
            if what == "breaker":
                await ended(host, second)
        assert len(x.seen) == 1
        assert intents(rig) == ([(1, "started")] if what == "place" else [])
        again = Fn()
        await rig.finish(again)
        assert [r.run for r in again.seen] == (["r2"] if what == "place" else [])

    go(scene())
    statuses = [rig.status("r1"), rig.status("r2")]
    assert statuses == (["WAITING", "COMPLETED"] if what == "place" else ["FAILED", "FAILED"])


def test_a_known_failure_is_retried_like_any_other(rig: Rig) -> None:
    """E6: an answer, even a bad one, leaves no doubt; every attempt is marked under the one key."""
    marks: list[Any] = []

    def flaky(request: Any) -> Any:
        marks.append(intents(rig))
        return failed("NO", "transient", "no") if request.attempt < 3 else "ok"

    x = Fn(flaky)

    async def scene() -> None:
        async with rig.driving(x) as host:
            run = host.start(host.release(chain(task("a", retry=Retry(max=2, base_ms=1), **ONCE))))
            await ended(host, run)

    go(scene())
    assert marks == [[(n, "started")] for n in (1, 2, 3)] and len(set(x.keys)) == 1
    assert intents(rig) == []


def test_a_lost_commit_of_the_answer_is_done_again_and_not_the_effect(rig: Rig) -> None:
    """E6, H5, H13: the same host goes on after a commit failed: it still has the answer, the intent goes with it."""

    class Breaks(Sqlite):
        broken = False

        def commit(self, batch: Any) -> None:
            if self.broken:
                self.broken = False
                raise OSError("lost")
            super().commit(batch)

    async def scene() -> None:
        x = Fn(lambda request: "happened")
        store = Breaks(rig.path)
        host: Host = rig.open(x, store=store)
        host.start(host.release(chain(task("a", **ONCE))), id="r1")
        host.iterate()
        await eventually(lambda: host.turns.ready)
        store.broken = True
        with pytest.raises(OSError, match="lost"):
            host.iterate()
        while host.iterate():
            await asyncio.sleep(0.01)
        assert len(x.seen) == 1
        await host.close()

    go(scene())
    assert rig.status("r1") == "COMPLETED" and incidents(rig) == [] and intents(rig) == []
    rig.sound()
