"""A process that drives runs of slow and flaky steps until all have ended, or until it is killed: see test_kill.py.

    python -m tests.host.kill_worker STORE LEDGER RUNS

The ledger stands for the world outside: one line per effect that reached it, appended by a single write, so that what
was written before a kill is there.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import sys
import time
from typing import Any

from penstock.app.penstock import Penstock
from penstock.executors.contract import Request
from penstock.net.compiled import Compiled
from penstock.net.model import Concurrency, Edge, Net, Node, Retry
from tests.host.rig import END, START, call, chain, pause, task

AT_ONCE = 4
FEW = Concurrency(name="slow", limit=AT_ONCE)
AGAIN = Retry(max=3, base_ms=5, jitter=True)
CHAIN = [f"t{i}" for i in range(6)]
FAN = ["p0", "p1", "p2"]


def step(id: str, executor: str = "step") -> Node:
    return task(id, executor, retry=AGAIN, concurrency=FEW)


CHILD = chain(step("k0"), step("k1", "block"), name="child")
#: every step of a run, by the net it belongs to
STEPS = {"parent": [*CHAIN, *FAN, "u"], "child": ["k0", "k1"]}


def net() -> Net:
    """A chain, a fan with its join, a child run, a pause, and a last step."""
    row = [START, *(step(t, "block" if t in ("t2", "t5") else "step") for t in CHAIN)]
    join = Node(id="j", kind="route")
    rest = [join, call("c", Compiled(CHILD).hash), pause("w", 5), step("u"), END]
    edges = [(a.id, b.id) for part in (row, rest) for a, b in zip(part, part[1:], strict=False)]
    edges += [("t5", p) for p in FAN] + [(p, "j") for p in FAN]
    return Net(
        name="parent",
        nodes=(*row, *(step(p) for p in FAN), *rest),
        edges=tuple(Edge(id=f"{a}>{b}", src=a, dst=b) for a, b in edges),
    )


def slow(request: Request) -> float:
    """5 to 20 ms, the same for the same effect."""
    return 0.005 + int(hashlib.sha256(request.key.encode()).hexdigest()[:4], 16) % 16 / 1000


def answer(request: Request) -> Any:
    if request.attempt == 1 and hashlib.sha256(request.key.encode()).digest()[0] % 5 == 0:
        raise ConnectionError("flaky")
    body = request.inputs[0].body
    return body + 1 if isinstance(body, int) else request.node


async def main(store: str, ledger: str, runs: int) -> None:
    world = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def tell(request: Request) -> None:
        line = f"{os.getpid()}\t{request.run}\t{request.node}\t{request.attempt}\t{request.key}\n"
        os.write(world, line.encode())

    penstock = Penstock(store)

    @penstock.executor("step")
    async def _step(request: Request) -> Any:
        tell(request)
        await asyncio.sleep(slow(request))
        return answer(request)

    @penstock.executor("block")
    def _block(request: Request) -> Any:
        tell(request)
        time.sleep(slow(request))
        return answer(request)

    async with penstock:
        print("open", flush=True)
        penstock.release(CHILD)
        release = penstock.release(net())
        started = await penstock.start_many(release, range(runs), keys=[f"run-{n}" for n in range(runs)])
        await asyncio.gather(*(penstock.wait(run) for run in started))
    print("done", flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
