"""What the tests of the read models share: the seed's own workflows in their world, and diagrams on a small store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from penstock.app.penstock import Penstock
from penstock.executors.contract import Done, Outcome, Request, Services
from penstock.net.model import Edge, Effect, Net, Node
from tests.conformance.decision.world import CCP, Door

ROOT = Path(__file__).resolve().parents[2]
LOOP = ROOT / "examples/diagram/loop.yaml"
ASK = ROOT / "examples/diagram/ask.yaml"
SENSOR, LAB = "sensor.ccp.threshold_exceeded", "lab.result.completed"


async def ccp(door: Door, **more: Any) -> str:
    """The run of 11.2 that an alarm has started, until it waits for the lab."""
    door.put_in_force(CCP)
    (run,) = (await door.send_event(SENSOR, {"line_id": "L01", "severity": "high", **more})).started
    await door.quiet()
    return run


@asynccontextmanager
async def opened(folder: Path, *, starts_per_minute: int = 600, **executors: Any) -> AsyncIterator[Penstock]:
    door = Penstock(folder / "store.db", settings={"limits.starts_per_minute": starts_per_minute})
    for executor in executors.values():
        door.add_executor(executor)
    async with door:
        yield door


class Echo:
    """Answers at once."""

    name = "echo"

    async def run(self, request: Request, services: Services) -> Outcome:
        return Done(request.args)


def task(id: str, **more: Any) -> Node:
    return Node(id=id, kind="task", effect=Effect(executor="echo", args={"id": id}), **more)


def net(name: str, nodes: list[Node], *ways: str, **more: Any) -> Net:
    """Ways are "a>b", or "a:port>b"."""
    edges = []
    for way in ways:
        src, _, dst = way.partition(">")
        src, _, port = src.partition(":")
        edges.append(Edge(id=way, src=src, dst=dst, port=port or "done"))
    return Net(name=name, nodes=tuple(nodes), edges=tuple(edges), **more)
