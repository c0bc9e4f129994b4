"""What plans cost: thousands of task files checked, and the work per finished task as a plan grows.

    python -m bench.plan                     every workload
    python -m bench.plan check --tasks 5000  one of them: check, kernel, engine
    python -m bench.plan engine --tasks 300 --store postgresql://…

Each prints one line of JSON. Figures are never asserted; what is counted (tasks, attempts) is. `check` and `kernel` are
processor time, so that what else the machine does counts little; `engine` is time by the clock.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.app.penstock import Penstock
from penstock.app.plan.plans import Plans
from penstock.executors.contract import Done, Outcome, Request, Services
from penstock.kernel import command as C
from penstock.kernel.run import Run
from penstock.kernel.state import COMPLETED
from penstock.kernel.step import step
from penstock.lang.compile import compile_document
from penstock.lang.plan.project_files import plan_document
from penstock.net.compiled import Compiled
from penstock.net.model import Net

DONE = {"confidence": 100, "completed_by_recovery": False, "progress": 100, "matched": [], "criteria": []}
SIZES = (100, 1000, 5000)


def task_files(count: int, *, agents: int = 4) -> dict[str, bytes]:
    """Each task depends on two that stand before it, somewhere; texts of the usual length."""
    chance = random.Random(count)
    files = {"plan.yaml": b"plan:\n  name: bench\n  health:\n    critical_files: []\n"}
    for n in range(agents):
        files[f"agents/agent{n}.md"] = (
            f"---\nname: agent{n}\npreset: shell\ncommand: sh agent.sh\n---\nWork.\n".encode()
        )
    for n in range(count):
        others = "".join(f"  - t{other}\n" for other in sorted(chance.sample(range(n), min(n, 2))))
        files[f"tasks/t{n}.md"] = (
            f"---\nid: t{n}\ntitle: Task number {n}\npriority: {n % 7}\n"
            + (f"depends_on:\n{others}" if others else "")
            + f"success_criteria:\n  - It works\n  - file_exists: out/{n}.txt\ncreated: 2026-11-18T00:00:00Z\n---\n"
            + f"# Task {n}\n\n{'Some words about what is to be done. ' * 6}\n"
        ).encode()
    return files


def check(count: int) -> dict[str, Any]:
    """Bytes of files to a net: front matter, all checks, lowering."""
    files = task_files(count)
    spent = []
    for _ in range(5):
        gc.collect()
        began = time.process_time()
        read = plan_document(files)
        net = compile_document(read.bytes(), name="plan.json", language="plan").net
        spent.append(time.process_time() - began)
        assert len(net.nodes) == count + 1 and not read.findings
    return {
        "tasks": count,
        "check_s": round(min(spent), 3),
        "median_s": round(sorted(spent)[2], 3),
        "aim": {"check_s": 1},
    }


def kernel(count: int) -> dict[str, Any]:
    """One turn per finished task, from its answer to the next one's beginning; the first and the last tenth apart."""
    run = Run.fresh(Compiled(_net(count)))
    waiting: list[int] = []

    def turn(command: C.Command) -> None:
        step(run, [command], 0)
        waiting.extend(run.asks)

    began = time.process_time()
    turn(C.start("r", {"project": "p", "project_id": "p", "trusted": False}))
    started = time.process_time() - began
    spent = []
    while waiting:
        firing = run.st.firings[waiting.pop(0)]
        began = time.process_time()
        turn(C.done(firing.no, firing.attempt, 0, DONE))
        spent.append(time.process_time() - began)
    assert len(spent) == count and run.st.status == COMPLETED
    tenth = max(1, count // 10)
    return {
        "tasks": count, "start_ms": round(started * 1000, 1), "us_per_task": _us(spent),
        "first_tenth_us": _us(spent[:tenth]), "last_tenth_us": _us(spent[-tenth:]),
    }  # fmt: skip


class AtOnce:
    """Stands where the agents' executor stands, and is done at once: what is left is the engine's own work."""

    name = "cli_agent"

    def __init__(self) -> None:
        self.asked = 0

    async def run(self, request: Request, services: Services) -> Outcome:
        self.asked += 1
        return Done(DONE)

    def stop(self, key: str, attempt: int, why: str) -> None:
        pass


async def _engine(count: int, store: str, folder: Path) -> dict[str, Any]:
    project = folder / "bench"
    for path, data in task_files(count).items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_bytes(data)
    executor = AtOnce()
    async with Penstock(store or folder / "s.db") as door:
        door.add_executor(executor)
        plans = Plans(door)
        id = (await plans.register(str(project), by="bench")).id
        await plans.start(id, by="bench")
        began, before = time.perf_counter(), executor.asked
        while executor.asked < count or plans.state(id).status != "completed":
            await asyncio.sleep(0.02)
        spent = time.perf_counter() - began
        assert executor.asked == count, "none twice"
    return {"tasks": count, "ms_per_task": round(spent / (count - before) * 1000, 2), "aim": {"ms_per_task": 5}}


def _net(count: int) -> Net:
    return compile_document(plan_document(task_files(count)).bytes(), name="plan.json", language="plan").net


def _us(spent: list[float]) -> int:
    return round(sum(spent) / len(spent) * 1_000_000)


def engine(count: int, store: str) -> dict[str, Any]:
    """Rows, files of nobody, events: everything but the agents."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_engine(count, store, Path(folder)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", choices=["check", "kernel", "engine", []], default=[])
    parser.add_argument("--tasks", type=int, help="the size of the plan")
    parser.add_argument("--store", default="", help="a database instead of a new SQLite file")
    given = parser.parse_args()
    sizes: dict[str, tuple[int, ...]] = {"check": (5000,), "kernel": SIZES, "engine": (300,)}
    workloads: dict[str, Callable[[int], dict[str, Any]]] = {
        "check": check, "kernel": kernel, "engine": lambda count: engine(count, given.store),
    }  # fmt: skip
    for name in given.workloads or workloads:
        for size in (given.tasks,) if given.tasks else sizes[name]:
            print(json.dumps({"workload": name, **workloads[name](size)}), flush=True)


if __name__ == "__main__":
    main()
