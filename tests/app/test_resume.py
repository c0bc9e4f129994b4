"""Resuming: what a process leaves behind goes on in the next one, and nothing that was finished is done again."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from penstock.app.penstock import Penstock
from penstock.errors import StoreBusy
from penstock.executors.contract import Done, Outcome, Request, Services
from tests.app.workflows import workflow


class Api:
    """Stands for the network; the second call hangs as long as it is told to."""

    name = "api"

    def __init__(self, *, hangs: bool) -> None:
        self.hangs = hangs
        self.seen: list[tuple[str, str]] = []

    async def run(self, request: Request, services: Services) -> Outcome:
        self.seen.append((request.node, request.key))
        if self.hangs and request.node.startswith("second"):
            await asyncio.sleep(60)
        return Done({"node": request.node})


def document() -> bytes:
    source = {"type": "api", "endpoint": "/x"}
    nodes = [{"id": name, "type": "DATA", "source": source} for name in ("first", "second")]
    return json.dumps(workflow(nodes=nodes)).encode()


def test_a_run_goes_on_where_it_was(tmp_path: Path) -> None:
    """W-8.3.1, W-8.3.2: a finished node is not run again, one that was running is, under the same key; while one
    process drives the store, another cannot resume its runs."""

    async def scene() -> None:
        path = tmp_path / "store.db"
        before, after = Api(hangs=True), Api(hangs=False)
        door = Penstock(path)
        door.add_executor(before)
        async with door:
            run = await door.start(door.release(document()))
            while len(before.seen) < 2:
                await asyncio.sleep(0.01)
            with pytest.raises(StoreBusy):
                Penstock(path).open()
        again = Penstock(path)
        again.add_executor(after)
        async with again:
            look = await again.wait(run, timeout=60)
            facts: list[Any] = [line.fact for line in again.lines(run)]
        assert look.status == "completed" and facts.count("run.started") == 1
        assert [name for name, _ in before.seen] == ["first", "second"] and after.seen == before.seen[1:]

    asyncio.run(scene())
