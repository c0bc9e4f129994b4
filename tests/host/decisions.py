"""Decision workflows on a real host: a store on disk, the sample tenant, every executor of the house, a server."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec

from penstock.app.penstock import Penstock
from penstock.app.registry.registry import artifact, install_sample
from penstock.executors import ExecutorTable
from penstock.host.clock import Clock
from penstock.host.embedded import Host
from penstock.kernel import fact as F
from penstock.kernel.state import STATUS
from penstock.lang.compile import compile_document
from penstock.net.compiled import Compiled
from penstock.store.address import DEFAULT_TENANT
from penstock.store.sqlite import Sqlite
from tests.host.rig import ENGINES, eventually

TENANT = DEFAULT_TENANT


def api(id: str, path: str = "/x", **fields: Any) -> dict[str, Any]:
    """A node that calls the server."""
    return {"id": id, "type": "DATA", "source": {"type": "api", "connection": "server", "query": path}, **fields}


def value(id: str, text: str, **fields: Any) -> dict[str, Any]:
    return {"id": id, "type": "DATA", "source": {"type": "expression"}, "output": {"expression": text}, **fields}


def say(id: str, text: str = "hello", **fields: Any) -> dict[str, Any]:
    return {"id": id, "type": "ACTION", "channel": {"type": "slack"}, "message": text, **fields}


def workflow(*nodes: dict[str, Any], edges: str = "", **top: Any) -> dict[str, Any]:
    """`edges` is "a>b b>c"; without it the nodes follow one another."""
    ids = [node["id"] for node in nodes]
    ways = [one.split(">") for one in edges.split()] if edges else list(zip(ids, ids[1:], strict=False))
    told = [{"from": src, "to": dst} for src, dst in ways]
    return {"id": "wf_test", "version": 1, "nodes": list(nodes), "edges": told, **top}


class House:
    """One store; hosts that are opened on it one after another."""

    def __init__(self, folder: Path, clock: Clock | None = None, **settings: Any) -> None:
        self.path, self.clock = folder / "store.db", clock
        self.settings: dict[str, Any] = {"sql.root": folder, "http.allow": ["127.0.0.1"], **settings}
        self.things: list[tuple[str, str, dict[str, Any]]] = []
        self.own: dict[str, Any] = {}

    def register(self, what: str, name: str, **body: Any) -> None:
        self.things.append((what, name, body))

    @contextlib.asynccontextmanager
    async def driving(self, *, run: bool = True) -> AsyncIterator[Host]:
        store = Sqlite(self.path)
        install_sample(store, self.path.parent, 0)
        store.put_artifacts([artifact(TENANT, type, id, body, 0) for type, id, body in self.things])
        host = Host(
            store, ExecutorTable(self.own), clock=self.clock, output_dir=self.path.parent, settings=self.settings
        )
        host.recover()
        task = asyncio.ensure_future(host.run())
        ENGINES.append(task)
        try:
            yield host
        finally:
            ENGINES.remove(task)
            await host.close()
            await asyncio.wait_for(task, 60)
            store.close()

    # -- running -------------------------------------------------------------------------------------------------------

    def start(self, host: Host, document: dict[str, Any], given: Any = None, **options: Any) -> str:
        net = compile_document(json.dumps(document).encode(), name="test.json").net
        host.runtimes["decision"].check(Compiled(net), TENANT)
        return host.start(host.release(net), given, tenant=TENANT, **options)

    async def run(self, host: Host, document: dict[str, Any], given: Any = None, **options: Any) -> str:
        """Until it has ended or waits; its id."""
        run = self.start(host, document, given, **options)
        await eventually(lambda: (row := host.row(run)) is not None and row.status in (3, 5, 6, 7, 8))
        return run

    async def runs(self, document: dict[str, Any], *inputs: Any) -> list[str]:
        """One after the other, in a process of their own."""
        async with self.driving() as host:
            return [await self.run(host, document, given) for given in inputs]

    async def delivered(self, host: Host) -> None:
        await eventually(lambda: not host.store.notices_left(), "a notice was not delivered")

    # -- looking, from a connection of our own -------------------------------------------------------------------------

    @contextlib.contextmanager
    def reading(self) -> Any:
        door = Penstock(self.path, drive=False, create=False).open()
        try:
            yield door
        finally:
            door.close()

    def status(self, run: str) -> str:
        with self.reading() as door:
            return STATUS[door.row(run).status]

    def facts(self, run: str, name: str = "") -> list[dict[str, Any]]:
        with self.reading() as door:
            turns = list(door.store.journal(door.row(run).no))
        facts = [f for turn in turns for f in F.decode_facts(turn.body)]
        return [{"fact": F.name_of(f), **F.fields_of(f)} for f in facts if name in ("", F.name_of(f))]

    def failure(self, run: str) -> list[Any] | None:
        found: list[Any] | None = self.facts(run, "run.moved")[-1]["failure"]
        return found

    def settled(self, run: str, node: str) -> dict[str, Any]:
        """How a node ended, last."""
        with self.reading() as door:
            net = door.net_of(self.facts(run, "run.started")[0]["net"])
        number = net.by_id[node].no
        return [f for f in self.facts(run, "settled") if f["node"] == number][-1]

    def messages(self, run: str | None = None) -> list[tuple[str, str, Any]]:
        """What the local outbox has: channel, key, message."""
        with self.reading() as door:
            rows = door.store.messages(TENANT, run, 1000)
        return [(row.channel, row.key, msgspec.msgpack.decode(row.body)) for row in rows]

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with self.reading() as door:
            return list(door.store._read(sql).fetchall())
