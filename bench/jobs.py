"""What a job costs the server: CPU per activate and complete over HTTP, and an index with many waiting.

    python -m bench.jobs [--jobs 2000] [--waiting 100000] [--at-once 1]

Prints one line of JSON: `cpu_ms` of the server's own process per job (one request to activate, one to complete),
and the median time of each request, with all the other jobs waiting. What runs without jobs cost is in `bench.run`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx2

from bench.http import Served
from penstock.app.penstock import Penstock

DOCUMENT = {
    "process_definition_id": "bench", "process_definition_name": "Bench",
    "activities": [{"id": "job", "name": "Job", "type": "serviceTask", "job": "bench"}],
}  # fmt: skip


async def fill(store: Path, count: int) -> None:
    """Runs that wait for a worker."""
    async with Penstock(store, profile="dev") as door:
        door.load_sample()
        release = door.release(json.dumps(DOCUMENT).encode(), name="bench.json")
        for first in range(0, count, 5000):
            numbers = range(first, min(first + 5000, count))
            await door.start_many(release, [{"n": n, "text": "x" * 200} for n in numbers])


def cpu_ms(pid: int) -> float:
    """Of the process, by user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


async def work(client: httpx2.AsyncClient, count: int, at_once: int) -> dict[str, list[float]]:
    """Take so many and complete each."""
    times: dict[str, list[float]] = {"activate": [], "complete": []}
    done = 0
    while done < count:
        began = time.perf_counter()
        asked = {"type": "bench", "worker": "bench", "max_jobs": min(at_once, count - done)}
        jobs = (await client.post("/jobs/activate", json=asked)).json()["jobs"]
        times["activate"].append((time.perf_counter() - began) * 1000)
        for job in jobs:
            began = time.perf_counter()
            body = {"lock_token": job["lock_token"], "variables": {"ok": True}}
            answer = await client.post(f"/jobs/{job['id']}:complete", json=body)
            assert answer.status_code == 200, answer.text
            times["complete"].append((time.perf_counter() - began) * 1000)
        done += len(jobs)
    return times


async def measure(given: argparse.Namespace) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "penstock.db"
        await fill(store, max(given.jobs + 200, given.waiting))
        served = Served(str(store))
        try:
            client = await served.client()
            await work(client, 100, given.at_once)  # until everything is warm and what the start has left is done
            pid = served.process.pid
            rests = cpu_ms(pid)
            await asyncio.sleep(2)
            idle = (cpu_ms(pid) - rests) / 2000
            began, before = time.perf_counter(), cpu_ms(pid)
            times = await work(client, given.jobs, given.at_once)
            took = (time.perf_counter() - began) * 1000
            used = cpu_ms(pid) - before
            await client.aclose()
        finally:
            served.process.terminate()
            served.process.wait()
    return {
        "jobs": given.jobs, "waiting": given.waiting, "at_once": given.at_once,
        "cpu_ms": round(used / given.jobs, 3), "cpu_ms_without_idle": round((used - idle * took) / given.jobs, 3),
        **{f"{name}_p50_ms": round(statistics.median(each), 3) for name, each in times.items()},
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2000)
    parser.add_argument("--waiting", type=int, default=0)
    parser.add_argument("--at-once", type=int, default=1)
    print(json.dumps(asyncio.run(measure(parser.parse_args()))))


if __name__ == "__main__":
    main()
