"""Workloads that measure the engine on this machine. Figures are printed beside what the disk does, never asserted.

A step is an effect: an executor calls a Python function that returns 300 random bytes, and its outcome is committed
before the next step is let out. Nodes that the kernel settles inside a turn are not steps.

Every workload says, as far as it applies: `steps_per_s`; `p50_ms` and `p99_ms`, the time of a step; `bytes_per_step`
on the disk; `rss_per_run`; and in `limit` what bounds it.
"""

from __future__ import annotations

import asyncio
import cProfile
import os
import pstats
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.bench.disk import Bare, fdatasync_ms
from penstock.bench.nets import chain_net, fan_net, loop_net, rich_net, waiting_net
from penstock.errors import BadInput, StoreError
from penstock.executors.function import FunctionExecutor
from penstock.host.embedded import Host
from penstock.host.loaded_run import LoadedRun
from penstock.kernel import command as C
from penstock.store.address import DEFAULT_TENANT, Server, open_store, place

PAYLOAD = 300
GROW_MB = 24
#: functions that a profile names
NAMED = 25


def work() -> bytes:
    return os.urandom(PAYLOAD)


class Bench:
    """One host on one store, driven until a number of runs has ended."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store = open_store(path, grow_mb=GROW_MB)
        self.host = Host(self.store, {"work": FunctionExecutor("work", work, inline=True)}, serve=False)
        self.ended = 0
        self.on_end: Callable[[LoadedRun], None] | None = None
        self.host.turns.on_end.append(self._ended)

    def _ended(self, live: LoadedRun) -> None:
        self.ended += 1
        if self.on_end is not None:
            self.on_end(live)

    async def until(self, condition: Callable[[], bool]) -> None:
        await self.host.run(until=condition)

    async def close(self) -> None:
        await self.host.close()
        self.store.close()

    def size(self) -> int:
        return self.store.size()


class Watch:
    """What a stretch of a workload took: wall and processor time, commits, bytes."""

    def __init__(self, bench: Bench) -> None:
        self.bench, turns = bench, bench.host.turns
        self.bytes, self.commits = bench.size(), bench.store.commits
        self.step_ns, self.commit_ns = turns.step_ns, turns.commit_ns
        self.cpu_ns, self.began = time.process_time_ns(), time.perf_counter_ns()
        self.wall_ns = 0

    def stop(self) -> Watch:
        turns, bench = self.bench.host.turns, self.bench
        self.wall_ns, self.cpu_ns = time.perf_counter_ns() - self.began, time.process_time_ns() - self.cpu_ns
        self.step_ns, self.commit_ns = turns.step_ns - self.step_ns, turns.commit_ns - self.commit_ns
        self.bytes, self.commits = bench.size() - self.bytes, bench.store.commits - self.commits
        return self

    def per_s(self, steps: int) -> int:
        return round(steps / self.wall_ns * 1e9)

    def limit(self, steps: int) -> dict[str, Any]:
        """Microseconds per step: in the kernel and its rows, in the commit, and in the rest (executors, dispatch,
        loop); beside them the processor time of the whole process, and how many steps shared a commit."""
        per = 1000 * max(steps, 1)
        return {
            "spent": {
                "step_us": round(self.step_ns / per, 2),
                "commit_us": round(self.commit_ns / per, 2),
                "dispatch_us": round((self.wall_ns - self.step_ns - self.commit_ns) / per, 2),
                "total_us": round(self.wall_ns / per, 2),
                "cpu_us": round(self.cpu_ns / per, 2),
            },
            "commits": self.commits,
            "steps_per_commit": round(steps / max(self.commits, 1), 1),
        }


def percentile(values: list[float], p: float) -> float:
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, int(len(ordered) * p))], 3)


class Moments:
    """When each run began, and what a step of it took."""

    def __init__(self, steps: int = 1) -> None:
        self.steps, self.began, self.took = steps, {}, []  # type: int, dict[int, int], list[float]

    def begins(self, no: int) -> None:
        self.began[no] = time.perf_counter_ns()

    def ends(self, no: int) -> None:
        self.took.append((time.perf_counter_ns() - self.began.pop(no)) / 1e6 / self.steps)

    def found(self) -> dict[str, float]:
        return {"p50_ms": percentile(self.took, 0.5), "p99_ms": percentile(self.took, 0.99)}


async def chain(
    bench: Bench, *, concurrent: int = 100, runs: int = 2000, length: int = 10, rich: bool = False
) -> dict[str, Any]:
    net = bench.host.release(rich_net(length) if rich else chain_net(length))
    left = runs
    moments = Moments(length)

    def start() -> None:
        nonlocal left
        if left:
            left -= 1
            moments.begins(bench.host.turns.next_no)
            bench.host.start(net, tenant=DEFAULT_TENANT)

    def again(live: LoadedRun) -> None:
        moments.ends(live.no)
        start()

    bench.on_end = again
    watch = Watch(bench)
    for _ in range(concurrent):
        start()
    await bench.until(lambda: bench.ended >= runs)
    watch.stop()
    steps = runs * length
    return {
        "steps_per_s": watch.per_s(steps),
        **moments.found(),
        "bytes_per_step": round(watch.bytes / steps),
        "concurrent": concurrent,
        "runs": runs,
        "limit": watch.limit(steps),
    }


async def latency(bench: Bench, *, runs: int = 200, length: int = 10) -> dict[str, Any]:
    """One run alone, and beside it a bare loop of one commit per step on the same disk, interleaved."""
    net = bench.host.release(chain_net(length))
    moments, bare = Moments(length), Moments(length)
    folder = Path(tempfile.gettempdir()) if isinstance(bench.path, Server) else bench.path.parent
    loop = Bare(folder / f".bare-{os.getpid()}.db", PAYLOAD, GROW_MB)
    bench.on_end = lambda live: moments.ends(live.no)
    watch = Watch(bench)
    spent_beside = 0
    try:
        for n in range(runs):
            target = bench.ended + 1
            moments.begins(bench.host.turns.next_no)
            bench.host.start(net, tenant=DEFAULT_TENANT)
            await bench.until(lambda target=target: bench.ended >= target)  # type: ignore[misc]
            began = time.perf_counter_ns(), time.process_time_ns()
            bare.begins(n)
            for _ in range(length):
                loop.step()
            bare.ends(n)
            spent_beside += time.perf_counter_ns() - began[0]
            watch.cpu_ns += time.process_time_ns() - began[1]
    finally:
        loop.close()
    watch.stop().wall_ns -= spent_beside
    steps = runs * length
    mine, beside = moments.found(), bare.found()
    return {
        "steps_per_s": watch.per_s(steps),
        **mine,
        "bytes_per_step": round(watch.bytes / steps),
        "runs": runs,
        "limit": {
            "bare_p50_ms": beside["p50_ms"],
            "bare_p99_ms": beside["p99_ms"],
            "ratio_p50": round(mine["p50_ms"] / beside["p50_ms"], 2),
            **watch.limit(steps),
        },
    }


async def fan(bench: Bench, *, width: int = 1000) -> dict[str, Any]:
    """The cost of a branch must not grow with the number of branches."""
    us_per_branch: dict[str, Any] = {}
    for size in sorted({max(width // 10, 1), width}):
        net = bench.host.release(fan_net(size))
        target = bench.ended + 1
        watch = Watch(bench)
        bench.host.start(net, tenant=DEFAULT_TENANT)
        await bench.until(lambda target=target: bench.ended >= target)  # type: ignore[misc]
        watch.stop()
        us_per_branch[f"us_per_branch_{size}"] = round(watch.wall_ns / 1000 / size, 1)
    return {
        "steps_per_s": watch.per_s(width),
        "bytes_per_step": round(watch.bytes / width),
        "limit": {**us_per_branch, **watch.limit(width)},
    }


async def loop(bench: Bench, *, rounds: int = 10_000) -> dict[str, Any]:
    """The last hundred rounds must cost what the first hundred did."""
    net = bench.host.release(loop_net(rounds))
    moments: list[int] = []
    bench.host.turns.on_facts.append(lambda live, facts, n, now: moments.append(time.perf_counter_ns()))
    watch = Watch(bench)
    bench.host.start(net, tenant=DEFAULT_TENANT)
    await bench.until(lambda: bench.ended >= 1)
    watch.stop()
    took = [b - a for a, b in zip(moments, moments[1:], strict=False)]
    edge = min(100, len(took) // 2)
    first, last = sorted(took[:edge])[edge // 2] / 1000, sorted(took[-edge:])[edge // 2] / 1000
    rounds_ms = [ns / 1e6 for ns in took]
    return {
        "steps_per_s": watch.per_s(rounds),
        "p50_ms": percentile(rounds_ms, 0.5),
        "p99_ms": percentile(rounds_ms, 0.99),
        "bytes_per_step": round(watch.bytes / rounds),
        "limit": {
            "first_100_us": round(first, 1),
            "last_100_us": round(last, 1),
            "ratio": round(last / first, 2),
            **watch.limit(rounds),
        },
    }


async def waiting(bench: Bench, *, runs: int = 100_000) -> dict[str, Any]:
    """Runs that wait for a signal cost two rows and no memory."""
    net = bench.host.release(waiting_net())
    turns = bench.host.turns
    first = turns.next_no
    rss = _rss()
    starting = Watch(bench)
    started = 0
    while started < runs:
        for _ in range(min(512, runs - started)):
            bench.host.start(net, tenant=DEFAULT_TENANT)
            started += 1
        while turns.ready:
            bench.host.iterate()
    starting.stop()
    held = max(_rss() - rss, 0)
    sent = 0
    moments = Moments()

    def more() -> None:
        nonlocal sent
        while sent < runs and len(turns.ready) < 512:
            moments.begins(first + sent)
            bench.host.send(first + sent, C.signal("", "go", None))
            sent += 1

    def ended(live: LoadedRun) -> None:
        moments.ends(live.no)
        if len(turns.ready) < 256:
            more()

    bench.on_end = ended
    resuming = Watch(bench)
    more()
    await bench.until(lambda: more() or bench.ended >= runs)  # type: ignore[func-returns-value]
    resuming.stop()
    return {
        "steps_per_s": resuming.per_s(runs),
        **moments.found(),
        "bytes_per_step": round((starting.bytes + resuming.bytes) / runs),
        "rss_per_run": round(held / runs, 1),
        "starts_per_s": starting.per_s(runs),
        "resumes_per_s": resuming.per_s(runs),
        "in_memory": len(turns.runs),
        "runs": runs,
        "limit": {"starting": starting.limit(runs), **resuming.limit(runs)},
    }


def _rss() -> int:
    """Bytes in memory now; where the system does not say, the most there ever was."""
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


WORKLOADS: dict[str, Callable[..., Any]] = {
    "chain": chain,
    "latency": latency,
    "fan": fan,
    "loop": loop,
    "waiting": waiting,
}


def run(workload: str, *, store: str | Path | None = None, profile: bool = False, **options: Any) -> dict[str, Any]:
    """One workload on a store of its own; `store` keeps it. A profile is of a second pass: it slows what it sees."""
    if workload not in WORKLOADS:
        raise BadInput(what="the workload", why=f"known are {', '.join(WORKLOADS)}")
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        path = place(store) if store is not None else Path(folder) / "bench.db"
        beside = Path(folder) if isinstance(path, Server) else path.parent
        try:
            beside.mkdir(parents=True, exist_ok=True)
            before = fdatasync_ms(beside)
        except OSError as error:
            raise StoreError(why=f"{path}: {error.strerror or error}") from error
        figures = asyncio.run(_measured(workload, path, options))
        syncs = [before, fdatasync_ms(beside)]
        again = path if isinstance(path, Server) else Path(folder) / "profiled.db"
        profiled = _profiled(workload, again, options) if profile else None
    _bound(figures["limit"], sum(syncs) / 2)
    figures = {"workload": workload, **figures, "fdatasync_ms": syncs}
    return figures if profiled is None else {**figures, "profile": profiled}


async def _measured(
    workload: str, path: Path, options: dict[str, Any], profile: cProfile.Profile | None = None
) -> dict[str, Any]:
    bench = Bench(path)
    try:
        if profile is not None:
            profile.enable()
        figures: dict[str, Any] = await WORKLOADS[workload](bench, **options)
        return figures
    finally:
        if profile is not None:
            profile.disable()
        await bench.close()


def _bound(limit: dict[str, Any], sync_ms: float) -> None:
    """Note what bounds a workload: the disk, if the sync of its commit is more than half of a step's time."""
    limit["fdatasync_ms"] = round(sync_ms, 3)
    sync_us = sync_ms * 1000 / max(limit["steps_per_commit"], 0.1)
    limit["spent"]["sync_us"] = round(sync_us, 2)
    limit["bound"] = "disk" if sync_us > limit["spent"]["total_us"] / 2 else "processor"


def _profiled(workload: str, path: Path, options: dict[str, Any]) -> list[dict[str, Any]]:
    """The engine's functions, and built-in ones, that take most of the processor's time: `total_ms` with what they
    call, `own_ms` without. Neither the loop around them nor the workload itself is listed."""
    profile = cProfile.Profile(time.process_time)
    asyncio.run(_measured(workload, path, options, profile))
    rows: dict[tuple[str, int, str], Any] = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    home, here = str(Path(__file__).parents[1]), __file__
    functions = [
        (total, own, calls, f"{Path(file).relative_to(home)}:{line} {name}" if line else name)
        for (file, line, name), (_, calls, own, total, _) in rows.items()
        if file.startswith(home) and file != here or not line and own > total / 2
    ]
    return [
        {"function": name, "calls": calls, "total_ms": round(total * 1000, 1), "own_ms": round(own * 1000, 1)}
        for total, own, calls, name in sorted(functions, reverse=True)[:NAMED]
    ]
