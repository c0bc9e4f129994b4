"""A server in the process of the test, so that its work can be counted, with a long run where one is wanted."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2

from penstock.api.long_reads import LongReads
from penstock.api.options import Options
from penstock.api.server import create
from penstock.app.penstock import Penstock
from tests.api.places import looping

ROUNDS = 200


class Site:
    def __init__(self, app: Any, door: Penstock, client: httpx2.AsyncClient, run: str) -> None:
        self.app, self.door, self.client, self.run = app, door, client, run

    @property
    def reads(self) -> LongReads:
        reads: LongReads = self.app.state.server.long_reads
        return reads

    @property
    def documents(self) -> LongReads:
        documents: LongReads = self.app.state.server.large_documents
        return documents

    async def get(self, path: str, **more: Any) -> httpx2.Response:
        return await self.client.get(f"/api/v1{path}", **more)


@contextlib.asynccontextmanager
async def site(folder: Path, rounds: int) -> AsyncIterator[Site]:
    door = Penstock(folder / "s" / "penstock.db", profile="dev", shared="others", settings={"reads.loop_facts": 100})
    app = create(door, Options(dev=True))
    async with app.router.lifespan_context(app):
        transport = httpx2.ASGITransport(app)
        async with httpx2.AsyncClient(
            transport=transport, base_url="http://localhost", headers={"X-Penstock": "1"}, timeout=120
        ) as client:
            session = await client.post("/api/v1/dev/session", json={"user": "admin@example.com"})
            assert session.status_code == 204, session.text
            yield Site(app, door, client, await _long_run(door, client, rounds) if rounds else "")


async def _long_run(door: Penstock, client: httpx2.AsyncClient, rounds: int) -> str:
    made = await client.post("/api/v1/diagrams", json={"document": looping(rounds)})
    assert made.status_code == 201, made.text
    run = str((await client.post("/api/v1/diagrams/long/runs", json={})).json()["run_id"])
    await door.wait(run, until_waiting=True)
    assert door.store.facts_of(door.row(run).no) > 1000
    return run


def on_site(body: Callable[[Site], Awaitable[None]], folder: Path, *, rounds: int = ROUNDS) -> None:
    """`rounds`: of its long run; 0: it has none."""

    async def main() -> None:
        async with site(folder, rounds) as place:
            await body(place)

    asyncio.run(main())
