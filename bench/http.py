"""What the server costs: durable starts, reads with many runs in the store, lists, inbox, and news for many consoles.

    python -m bench.http [--runs 100000] [--items 10000] [--listeners 500] [--store postgresql://…]

Prints one line of JSON. Clients run in processes of their own, so the server has what is left of the machine; the ratio
to a bare route (`GET /health`) in the same run is what can be compared.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx2

from penstock.app.penstock import Penstock

NOTE = {
    "id": "wf_bench_note", "version": 1, "trigger": {"type": "manual"},
    "nodes": [{"id": "wait", "type": "WAIT", "condition": {"type": "manual", "manual": {}}}], "edges": [],
}  # fmt: skip

ASK = {
    "id": "wf_bench_ask", "version": 1, "trigger": {"type": "manual"},
    "nodes": [{
        "id": "ask", "type": "APPROVAL",
        "request": {"title": "Go on?", "approvers": {"type": "any_of", "targets": ["role:approver", "role:admin"]}},
    }],
    "edges": [],
}  # fmt: skip
#: every way to filter and to sort a list of runs; what folds states and what reads rows stand beside each other
FILTERS = {
    "plain": "", "state": "state=WAITING", "ended": "state=FAILED", "definition": "name=wf_bench_note",
    "text": "q=bench", "no such text": "q=nowhere", "node": "node=wait", "since": "since=2020-01-01T00:00:00Z",
    "until": "until=2100-01-01T00:00:00Z", "oldest": "sort=started_at", "by time": "sort=-updated_at",
    "by priority": "sort=priority",
}  # fmt: skip


async def fill(store: str, count: int, items: int = 0) -> list[str]:
    """Runs that wait, and some of them for a person, made through the door: what a store of some weeks looks like."""
    async with Penstock(store, profile="dev") as door:
        door.load_sample()
        ids: list[str] = []
        for document, many in ((NOTE, count - items), (ASK, items)):
            made = door.releases.submit(document, by="bench").release
            door.releases.approve(made.name, made.version, by="other")
            door.releases.activate(made.name, made.version)
            hash = door.store.net(made.net).hash
            for first in range(0, many, 5000):
                ids += await door.start_many(hash, [{} for _ in range(min(5000, many - first))])
        return ids


class Served:
    def __init__(self, store: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "penstock", "dev", "--quiet", "--port", "0", "--store", store],
            stdout=subprocess.PIPE, text=True, env=dict(os.environ),
        )  # fmt: skip
        assert self.process.stdout is not None
        found = re.search(r"http://[^:]+:(\d+)", self.process.stdout.readline())
        assert found is not None
        self.url = f"http://localhost:{found.group(1)}/api/v1"

    async def client(self) -> httpx2.AsyncClient:
        made = httpx2.AsyncClient(base_url=self.url, timeout=60, headers={"X-Penstock": "1"})
        for _ in range(400):
            try:
                if (await made.get("/ready")).status_code == 200:
                    break
            except httpx2.HTTPError:
                pass
            await asyncio.sleep(0.1)
        await made.post("/dev/session", json={"user": "admin@example.com"})
        return made


async def timed(ask: Any, count: int, at_once: int) -> dict[str, float]:
    took: list[float] = []
    left = iter(range(count))

    async def one() -> None:
        for i in left:
            begun = time.perf_counter()
            answer = await ask(i)
            took.append(time.perf_counter() - begun)
            assert answer.status_code < 400, answer.text

    begun = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(at_once)))
    whole = time.perf_counter() - begun
    took.sort()
    return {
        "per_s": round(count / whole), "p50_ms": round(took[len(took) // 2] * 1000, 2),
        "p99_ms": round(took[int(len(took) * 0.99)] * 1000, 2),
    }  # fmt: skip


async def fan_out(served: Served, client: httpx2.AsyncClient, listeners: int) -> dict[str, Any]:
    """How long until every console has heard of a run."""
    cookie = {"cookie": "; ".join(f"{name}={value}" for name, value in client.cookies.items())}
    heard: list[float] = []
    ready = asyncio.Semaphore(0)

    async def listen() -> None:
        async with (
            httpx2.AsyncClient(timeout=None, headers=cookie) as mine,
            mine.stream("GET", f"{served.url}/stream") as news,
        ):
            async for line in news.aiter_lines():
                if line == "event: hello":
                    ready.release()
                elif line == "event: run":
                    heard.append(time.perf_counter())
                    return

    tasks = [asyncio.ensure_future(listen()) for _ in range(listeners)]
    for _ in range(listeners):
        await asyncio.wait_for(ready.acquire(), 60)
    begun = time.perf_counter()
    await client.post("/runs", json={"definition": NOTE["id"]})
    await asyncio.gather(*tasks)
    heard.sort()
    last, middle = heard[-1] - begun, heard[len(heard) // 2] - begun
    return {"listeners": listeners, "p50_ms": round(middle * 1000, 1), "last_ms": round(last * 1000, 1)}


async def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--runs", type=int, default=100_000)
    asked.add_argument("--items", type=int, default=10_000)
    asked.add_argument("--listeners", type=int, default=500)
    asked.add_argument("--starts", type=int, default=3000)
    asked.add_argument("--store", default="")
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = given.store or str(Path(folder) / "penstock.db")
        ids = await fill(store, given.runs, min(given.items, given.runs))
        served = Served(store)
        try:
            client = await served.client()
            bare = await timed(lambda _: client.get("/health"), 1000, 1)
            told: dict[str, Any] = {
                "runs": given.runs,
                "items": given.items,
                "bare": bare,
                "read_one": await timed(lambda i: client.get(f"/runs/{ids[i * 7919 % len(ids)]}"), 1000, 1),
                "list": {
                    name: (await timed(lambda _: client.get(f"/runs?limit=50&{asked}"), 40, 1))["p50_ms"]  # noqa: B023
                    for name, asked in FILTERS.items()
                },
                "inbox": await timed(lambda _: client.get("/inbox?mine=false"), 30, 1),
                "inbox_mine": await timed(lambda _: client.get("/inbox"), 30, 1),
                "home": await timed(lambda _: client.get("/home"), 30, 1),
                "starts": await timed(
                    lambda _: client.post("/runs", json={"definition": NOTE["id"]}), given.starts, 32
                ),
                "fan_out": await fan_out(served, client, given.listeners),
            }
            told["read_ratio"] = round(told["read_one"]["p50_ms"] / bare["p50_ms"], 1)
            print(json.dumps(told))
        finally:
            served.process.terminate()
            served.process.wait()


if __name__ == "__main__":
    asyncio.run(main())
