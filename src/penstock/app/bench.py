"""Workloads that measure the engine on this machine. Figures are printed beside what the disk does, never asserted.

A step is an effect: an executor calls a Python function that returns 300 random bytes, and its outcome is committed
before the next step is let out. Nodes that the kernel settles inside a turn are not steps.
"""

from __future__ import annotations

import asyncio
import os
import resource
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.errors import BadInput
from penstock.executors.function import FunctionExecutor
from penstock.host.embedded import Host
from penstock.host.turn import Live
from penstock.kernel import command as C
from penstock.net.model import MERGE, Edge, Effect, Join, Net, Node, Set, Trigger
from penstock.store.sqlite import Sqlite

PAYLOAD = 300


def work() -> bytes:
    return os.urandom(PAYLOAD)


def chain_net(length: int = 10) -> Net:
    ids = ["start", *(f"n{i}" for i in range(length)), "end"]
    nodes = [Node(id=i, kind="task", effect=Effect(executor="work")) for i in ids[1:-1]]
    return Net(
        name="chain",
        nodes=(Node(id="start", kind="start"), *nodes, Node(id="end", kind="end")),
        edges=tuple(Edge(id=f"{a}>{b}", src=a, dst=b) for a, b in zip(ids, ids[1:], strict=False)),
    )


def rich_net(length: int = 10) -> Net:
    """Per step: a task, an assignment, an exclusive choice, one of two branches, a merge."""
    nodes = [Node(id="start", kind="start")]
    edges: list[Edge] = []
    before = "start"
    for i in range(length):
        nodes += [
            Node(
                id=f"t{i}",
                kind="task",
                effect=Effect(executor="work"),
                sets=(Set(name="total", expr="fn.coalesce(context.total, 0) + 1"),),
            ),
            Node(id=f"s{i}", sets=(Set(name="x", expr="context.total * 2"),)),
            Node(id=f"c{i}", split="first"),
            Node(id=f"a{i}"),
            Node(id=f"b{i}"),
            Node(id=f"m{i}", join=MERGE),
        ]
        ways = [(before, f"t{i}"), (f"t{i}", f"s{i}"), (f"s{i}", f"c{i}"), (f"a{i}", f"m{i}"), (f"b{i}", f"m{i}")]
        edges += [Edge(id=f"{a}>{b}", src=a, dst=b) for a, b in ways]
        edges += [
            Edge(id=f"c{i}>a{i}", src=f"c{i}", dst=f"a{i}", guard="context.x % 4 == 0"),
            Edge(id=f"c{i}>b{i}", src=f"c{i}", dst=f"b{i}", default=True),
        ]
        before = f"m{i}"
    edges.append(Edge(id=f"{before}>end", src=before, dst="end"))
    return Net(name="rich", nodes=(*nodes, Node(id="end", kind="end")), edges=tuple(edges))


def fan_net(width: int) -> Net:
    middle = [f"f{i}" for i in range(width)]
    nodes = [Node(id=i, kind="task", effect=Effect(executor="work")) for i in middle]
    ways = [("start", i) for i in middle] + [(i, "join") for i in middle] + [("join", "end")]
    return Net(
        name="fan",
        nodes=(Node(id="start", kind="start"), *nodes, Node(id="join"), Node(id="end", kind="end")),
        edges=tuple(Edge(id=f"{a}>{b}", src=a, dst=b) for a, b in ways),
    )


def loop_net(rounds: int) -> Net:
    again = Edge(id="gate>work", src="gate", dst="work", guard=f"visit < {rounds}", role="cond")
    return Net(
        name="loop",
        nodes=(
            Node(id="start", kind="start"),
            Node(id="work", kind="task", join=Join(mode="k", take="all"), effect=Effect(executor="work")),
            Node(id="gate", split="first"),
            Node(id="end", kind="end"),
        ),
        edges=(
            Edge(id="start>work", src="start", dst="work"),
            Edge(id="work>gate", src="work", dst="gate"),
            again,
            Edge(id="gate>end", src="gate", dst="end", default=True),
        ),
        max_visits=rounds + 1,
    )


def waiting_net() -> Net:
    day = Trigger(port="late", after_ms=86_400_000)
    return Net(
        name="waiting",
        nodes=(
            Node(id="start", kind="start"),
            Node(id="wait", kind="wait", triggers=(Trigger(kind="signal", name="go"), day)),
            Node(id="work", kind="task", effect=Effect(executor="work")),
            Node(id="end", kind="end"),
        ),
        edges=tuple(
            Edge(id=f"{a}>{b}", src=a, dst=b) for a, b in (("start", "wait"), ("wait", "work"), ("work", "end"))
        ),
    )


class Bench:
    """One host on one store, driven until a number of runs has ended."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store = Sqlite(path, grow_mb=24)
        self.host = Host(self.store, {"work": FunctionExecutor("work", work, inline=True)}, serve=False)
        self.ended = 0
        self.on_end: Callable[[Live], None] | None = None
        self.host.turns.on_end.append(self._ended)

    def _ended(self, live: Live) -> None:
        self.ended += 1
        if self.on_end is not None:
            self.on_end(live)

    async def until(self, condition: Callable[[], bool]) -> None:
        await self.host.run(until=condition)

    async def close(self) -> None:
        await self.host.close()
        self.store.close()

    def spent(self, steps: int, wall_ns: int) -> dict[str, float]:
        """Microseconds per step: kernel and rows, commit, and the rest (executors, dispatch, loop)."""
        turns = self.host.turns
        rest = wall_ns - turns.step_ns - turns.commit_ns
        per = 1000 * max(steps, 1)
        return {
            "step_us": round(turns.step_ns / per, 2),
            "commit_us": round(turns.commit_ns / per, 2),
            "dispatch_us": round(rest / per, 2),
            "total_us": round(wall_ns / per, 2),
            "batches": turns.batches,
        }


def fdatasync_ms(folder: Path, times: int = 50) -> float:
    """What the disk takes for one page, overwritten and synced: the median."""
    path = folder / f".fdatasync-{os.getpid()}"
    took = []
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        os.write(handle, bytes(1 << 20))
        os.fsync(handle)
        for _ in range(times):
            os.pwrite(handle, os.urandom(4096), 0)
            began = time.perf_counter_ns()
            os.fdatasync(handle)
            took.append(time.perf_counter_ns() - began)
    finally:
        os.close(handle)
        path.unlink()
    return round(sorted(took)[len(took) // 2] / 1e6, 3)


def percentile(values: list[float], p: float) -> float:
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, int(len(ordered) * p))], 3)


async def chain(
    bench: Bench, *, concurrent: int = 100, runs: int = 2000, length: int = 10, rich: bool = False
) -> dict[str, Any]:
    net = bench.host.release(rich_net(length) if rich else chain_net(length))
    left = runs - min(concurrent, runs)

    def again(_: Live) -> None:
        nonlocal left
        if left:
            left -= 1
            bench.host.start(net)

    bench.on_end = again
    before = _size(bench)
    began = time.perf_counter_ns()
    for _ in range(min(concurrent, runs)):
        bench.host.start(net)
    await bench.until(lambda: bench.ended >= runs)
    wall = time.perf_counter_ns() - began
    steps = runs * length
    return {
        "steps_per_s": round(steps / wall * 1e9),
        "concurrent": concurrent,
        "runs": runs,
        "bytes_per_step": round((_size(bench) - before) / steps),
        "spent": bench.spent(steps, wall),
    }


async def latency(bench: Bench, *, runs: int = 200, length: int = 10) -> dict[str, Any]:
    """One run alone, and beside it a bare loop of one commit per step on the same disk, interleaved."""
    net = bench.host.release(chain_net(length))
    steps: list[float] = []
    bare: list[float] = []
    loop = _Bare(bench.path.parent / "bare.db")
    for _ in range(runs):
        target = bench.ended + 1
        began = time.perf_counter_ns()
        bench.host.start(net)
        await bench.until(lambda target=target: bench.ended >= target)  # type: ignore[misc]
        steps.append((time.perf_counter_ns() - began) / 1e6 / length)
        began = time.perf_counter_ns()
        for _ in range(length):
            loop.step()
        bare.append((time.perf_counter_ns() - began) / 1e6 / length)
    loop.close()
    return {
        "p50_ms": percentile(steps, 0.5),
        "p99_ms": percentile(steps, 0.99),
        "steps_per_s": round(1000 / (sum(steps) / len(steps))),
        "limit": {
            "bare_p50_ms": percentile(bare, 0.5),
            "bare_p99_ms": percentile(bare, 0.99),
            "ratio_p50": round(percentile(steps, 0.5) / percentile(bare, 0.5), 2),
        },
    }


class _Bare:
    """What nobody can beat with one sync per step: a row of the same size, committed, and nothing else."""

    def __init__(self, path: Path) -> None:
        path.unlink(missing_ok=True)
        self.c = sqlite3.connect(path, isolation_level=None)
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "wal_autocheckpoint=4000"):
            self.c.execute(f"PRAGMA {pragma}")
        self.c.execute("CREATE TABLE step(no INTEGER PRIMARY KEY, body BLOB)")

    def step(self) -> None:
        self.c.execute("BEGIN IMMEDIATE")
        self.c.execute("INSERT INTO step(body) VALUES(?)", (bytearray(work()),))
        self.c.execute("COMMIT")

    def close(self) -> None:
        self.c.close()


async def fan(bench: Bench, *, width: int = 1000) -> dict[str, Any]:
    """The cost of a branch must not grow with the number of branches."""
    found: dict[str, Any] = {}
    for size in sorted({max(width // 10, 1), width}):
        net = bench.host.release(fan_net(size))
        target = bench.ended + 1
        began = time.perf_counter_ns()
        bench.host.start(net)
        await bench.until(lambda target=target: bench.ended >= target)  # type: ignore[misc]
        found[f"us_per_branch_{size}"] = round((time.perf_counter_ns() - began) / 1000 / size, 1)
    return {"steps_per_s": round(1e6 / found[f"us_per_branch_{width}"]), "limit": found}


async def loop(bench: Bench, *, rounds: int = 10_000) -> dict[str, Any]:
    """The last hundred rounds must cost what the first hundred did."""
    net = bench.host.release(loop_net(rounds))
    moments: list[int] = []
    bench.host.turns.on_facts.append(lambda live, facts, n, now: moments.append(time.perf_counter_ns()))
    bench.host.start(net)
    await bench.until(lambda: bench.ended >= 1)
    took = [b - a for a, b in zip(moments, moments[1:], strict=False)]
    edge = min(100, len(took) // 2)
    first, last = sorted(took[:edge])[edge // 2] / 1000, sorted(took[-edge:])[edge // 2] / 1000
    return {
        "steps_per_s": round(len(took) / (moments[-1] - moments[0]) * 1e9),
        "limit": {"first_100_us": round(first, 1), "last_100_us": round(last, 1), "ratio": round(last / first, 2)},
    }


async def waiting(bench: Bench, *, runs: int = 100_000) -> dict[str, Any]:
    """Runs that wait for a signal cost two rows and no memory."""
    net = bench.host.release(waiting_net())
    turns = bench.host.turns
    first = turns.next_no
    rss = _rss()
    began = time.perf_counter_ns()
    started = 0
    while started < runs:
        for _ in range(min(512, runs - started)):
            bench.host.start(net)
            started += 1
        while turns.ready:
            bench.host.lap()
    start_ns = time.perf_counter_ns() - began
    held = max(_rss() - rss, 0)
    numbers = list(range(first, first + runs))
    sent = 0
    began = time.perf_counter_ns()

    def more() -> None:
        nonlocal sent
        while sent < runs and len(turns.ready) < 512:
            bench.host.send(numbers[sent], C.signal("", "go", None))
            sent += 1

    bench.on_end = lambda live: more() if len(turns.ready) < 256 else None
    more()
    await bench.until(lambda: more() or bench.ended >= runs)  # type: ignore[func-returns-value]
    resume_ns = time.perf_counter_ns() - began
    return {
        "rss_per_run": round(held / runs, 1),
        "starts_per_s": round(runs / start_ns * 1e9),
        "resumes_per_s": round(runs / resume_ns * 1e9),
        "steps_per_s": round(runs / resume_ns * 1e9),
        "in_memory": len(turns.runs),
    }


def _rss() -> int:
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


def _size(bench: Bench) -> int:
    (pages,) = bench.store.c.execute("PRAGMA page_count").fetchone()
    (free,) = bench.store.c.execute("PRAGMA freelist_count").fetchone()
    return int(pages - free) * 4096


WORKLOADS: dict[str, Callable[..., Any]] = {
    "chain": chain,
    "latency": latency,
    "fan": fan,
    "loop": loop,
    "waiting": waiting,
}


def run(workload: str, *, store: str | Path | None = None, **options: Any) -> dict[str, Any]:
    """One workload on a store of its own; `store` keeps it."""
    if workload not in WORKLOADS:
        raise BadInput(what="the workload", why=f"known are {', '.join(WORKLOADS)}")
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        path = Path(store) if store is not None else Path(folder) / "bench.db"
        path.parent.mkdir(parents=True, exist_ok=True)

        async def measure() -> dict[str, Any]:
            bench = Bench(path)
            try:
                found: dict[str, Any] = await WORKLOADS[workload](bench, **options)
                return found
            finally:
                await bench.close()

        before = fdatasync_ms(path.parent)
        found = asyncio.run(measure())
        after = fdatasync_ms(path.parent)
    return {"workload": workload, **found, "fdatasync_ms": [before, after]}
