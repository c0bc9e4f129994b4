"""The worker in the package (P-X.28): a real server, handlers of every kind, and ends of both sides."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.jobs import BusinessError, Job, JobClient, JobError, JobLost, JobWorker, ServerRefused
from tests.api.places import ADMIN
from tests.api.serving import Server, serving, until
from tests.app.jobs import CHARGE, a_process, at


@pytest.fixture(scope="module")
def server(dev: Server) -> Server:
    events = (at("broke", "charge", "error", code="NO_MONEY"), {"id": "e1", "position": "end"})
    document = json.loads(a_process(CHARGE, events=events, flows=(("broke", "e1"),)))
    made = dev.client(ADMIN).post("/processes/definitions", json=document)
    assert made.status_code == 201, made.text
    return dev


@pytest.fixture
def key(server: Server) -> str:
    asked = {"name": "worker", "user": "svc", "roles": ["worker"], "scopes": ["job.work"]}
    made = server.client(ADMIN).post("/keys", json=asked).json()
    return str(made["token"])


def begin(server: Server, **variables: Any) -> str:
    made = server.client(ADMIN).post("/processes/definitions/order/instances", json={"input_data": variables})
    return str(made.json()["proc_inst_id"])


def ended(server: Server, run: str) -> dict[str, Any]:
    found: dict[str, Any] = until(
        lambda: server.client(ADMIN).get(f"/runs/{run}").json(), lambda shown: shown["state"] in ("COMPLETED", "FAILED")
    )
    return found


async def worked(worker: JobWorker, done: Callable[[], bool]) -> None:
    """Until the condition holds; then it is stopped in peace."""
    working = asyncio.ensure_future(worker.work())
    while not done() and not working.done():
        await asyncio.sleep(0.01)
    worker.stop()
    await working


def test_what_handlers_return_and_raise(server: Server, key: str) -> None:
    """P-X.28: async and plain ones; a result, a business error, a failure with its retries, a bug, a wrong result."""
    worker, seen = JobWorker(server.url, key=key, at_once=4, wait_s=5), Counter[str]()

    @worker.handles("charge-card")
    async def charge(job: Job) -> Any:
        kind = job.variables["kind"]
        seen[kind] += 1
        if kind == "poor":
            raise BusinessError("NO_MONEY", "the card is empty", {"balance": 1})
        if kind == "flaky" and seen[kind] == 1:
            raise JobError("no network", backoff_s=0.001, details={"port": 443})
        if kind == "never":
            raise JobError("closed for good", retries=0)
        if kind == "bug" and seen[kind] == 1:
            raise KeyError("amount")
        return [] if kind == "wrong" else {"receipt": job.attempt}

    runs = {kind: begin(server, kind=kind) for kind in ("fine", "poor", "flaky", "never", "bug", "wrong")}
    asyncio.run(worked(worker, lambda: seen.total() == 8))
    shown = {kind: ended(server, run) for kind, run in runs.items()}
    assert shown["fine"]["variables"]["receipt"] == 1 and shown["poor"]["variables"]["balance"] == 1
    assert shown["flaky"]["variables"]["receipt"] == 2 and shown["bug"]["variables"]["receipt"] == 2
    assert [shown[kind]["why"][0]["message"] for kind in ("never", "wrong")] == [
        "closed for good", "its handler returned list, and not a dict or None",
    ]  # fmt: skip


def test_what_cannot_be_sent_fails_the_job(server: Server, key: str) -> None:
    """P-X.28: a result that is no JSON, or that the server does not take, is a failure that an operator sees, and no
    job that is done again and again."""
    worker, seen = JobWorker(server.url, key=key, at_once=7, wait_s=5), Counter[str]()
    results: dict[str, Any] = {
        "object": {"at": object()}, "nan": {"x": float("nan")}, "huge": {"n": 2**70}, "large": {"t": "x" * 2_000_000},
        "half": {"t": "\ud800"},
    }  # fmt: skip

    @worker.handles("charge-card")
    async def charge(job: Job) -> Any:
        kind = job.variables["kind"]
        seen[kind] += 1
        if kind == "poor":
            raise BusinessError("NO_MONEY", "the card is empty", {"at": object()})
        if kind == "details":
            raise JobError("closed for good \udcff", retries=0, details={"at": object()})
        return results[kind]

    runs = {kind: begin(server, kind=kind) for kind in (*results, "poor", "details")}
    asyncio.run(worked(worker, lambda: seen.total() == 7))
    told = {kind: ended(server, run)["why"][0]["message"] for kind, run in runs.items()}
    no_json = ("object", "nan", "half", "poor")
    assert all(told[kind].startswith("what its handler gives is no JSON: ") for kind in no_json)
    assert all(told[kind].startswith("its answer was not taken: PS-4") for kind in ("huge", "large"))
    assert told["details"] == "closed for good ?"


def test_a_long_job_is_held_and_a_plain_function_works_in_a_thread(server: Server, key: str) -> None:
    """P-X.28: as long as its handler works nobody else gets it."""
    worker, done = JobWorker(server.url, key=key, lock_s=0.3, wait_s=5), threading.Event()
    locked: list[str] = []

    @worker.handles("charge-card")
    def charge(job: Job) -> dict[str, Any]:
        admin = server.client(ADMIN)
        first = admin.get(f"/jobs/{job.id}").json()["due_at"]
        until(lambda: admin.get(f"/jobs/{job.id}").json(), lambda shown: shown["due_at"] > first)
        locked.append(threading.current_thread().name)
        done.set()
        return {"receipt": job.attempt}

    run = begin(server)
    asyncio.run(worked(worker, done.is_set))
    assert ended(server, run)["variables"]["receipt"] == 1 and locked != ["MainThread"]


def test_plain_functions_work_at_the_same_time(server: Server, key: str) -> None:
    """P-X.28: as many as the worker was told, whatever the number of processors."""
    count = 2 + min(32, (os.cpu_count() or 1) + 4)  # more than asyncio's own threads
    worker, together = JobWorker(server.url, key=key, at_once=count, wait_s=5), threading.Barrier(count)
    left = list(range(count))

    @worker.handles("charge-card")
    def charge(job: Job) -> None:
        together.wait(60)
        left.pop()

    runs = [begin(server) for _ in range(count)]
    asyncio.run(worked(worker, lambda: not left or together.broken))
    assert not together.broken and {ended(server, run)["state"] for run in runs} == {"COMPLETED"}


def test_a_job_that_somebody_else_has_is_dropped(server: Server, key: str) -> None:
    """P-X.28: the handler is cancelled, and nothing is answered."""
    worker = JobWorker(server.url, key=key, lock_s=0.3, wait_s=5)
    cancelled = asyncio.Event()

    @worker.handles("charge-card")
    async def charge(job: Job) -> None:
        server.client(ADMIN).post(f"/runs/{job.run}/cancel", json={})
        try:
            await asyncio.sleep(600)
        finally:
            cancelled.set()

    run = begin(server)
    asyncio.run(worked(worker, cancelled.is_set))
    assert server.client(ADMIN).get(f"/runs/{run}").json()["state"] == "CANCELLED"


def test_what_is_not_done_when_it_stops_is_given_back(server: Server, key: str) -> None:
    """P-X.28: after its time of grace; somebody else can take it at once."""
    worker, begun = JobWorker(server.url, key=key, wait_s=5, grace_s=0.01), asyncio.Event()

    @worker.handles("charge-card")
    async def charge(job: Job) -> None:
        begun.set()
        await asyncio.sleep(600)

    run = begin(server)
    asyncio.run(worked(worker, begun.is_set))
    (job,) = [job for job in server.client(ADMIN).get("/jobs").json()["items"] if job["run"] == run]
    assert (job["state"], job["attempt"], job["retries"]) == ("WAITING", 1, 3)
    server.client(ADMIN).post(f"/runs/{run}/cancel", json={})


def test_the_typed_requests(server: Server, key: str) -> None:
    """P-X.28: what a client of one's own is made of, and how it says that a job is lost."""

    async def scene() -> None:
        client = JobClient(server.url, key=key)
        try:
            begin(server, amount=3, other=4)
            (job,) = await client.activate(["charge-card"], worker="w", wait_s=5, variables=["amount"])
            assert job.variables == {"amount": 3}
            await client.extend(job, 5)
            await client.unlock(job)
            (again,) = await client.activate(["charge-card"], worker="w", wait_s=5)
            with pytest.raises(JobLost, match="PS-409-JOB-LOCK"):
                await client.complete(job)
            await client.complete(again, {"paid": True})
            await client.complete(again, {"paid": True})
            with pytest.raises(ServerRefused, match="PS-400-INPUT"):
                await client.activate(["x" * 300], worker="w")
        finally:
            await client.aclose()

    asyncio.run(scene())


def test_who_may_not_work_is_told(server: Server) -> None:
    """P-X.28: a key that is none ends the worker, and no handler is a mistake of its author."""
    worker = JobWorker(server.url, key="nothing")
    with pytest.raises(ValueError, match="handles"):
        asyncio.run(worker.work())
    worker.handles("charge-card")(lambda job: None)
    with pytest.raises(ServerRefused, match="PS-401"):
        asyncio.run(worker.work())


def test_a_server_that_is_away_is_tried_again(tmp_path: Path) -> None:
    """P-X.28: also while the answer is on its way; it is the same answer."""
    with serving(tmp_path, "dev", "--quiet") as server:
        made = server.client(ADMIN).post("/processes/definitions", json=json.loads(a_process(CHARGE)))
        assert made.status_code == 201, made.text
        asked = {"name": "worker", "user": "svc", "roles": ["worker"], "scopes": ["job.work"]}
        key = server.client(ADMIN).post("/keys", json=asked).json()["token"]
        worker, runs = JobWorker(server.url, key=key, wait_s=5), [begin(server), begin(server)]
        done = Counter[str]()

        @worker.handles("charge-card")
        def charge(job: Job) -> dict[str, Any]:
            done[job.run] += 1
            if len(done) == 1:
                server.kill()
                server.start()
            return {"receipt": job.attempt}

        asyncio.run(worked(worker, lambda: len(done) == 2))
        assert [ended(server, run)["variables"]["receipt"] for run in runs] == [1, 1]


def test_a_worker_of_its_own_process_ends_well_and_a_killed_one_loses_nothing(
    server: Server, key: str, tmp_path: Path
) -> None:
    """P-X.28: SIGTERM lets what is under way end; after kill -9 the job comes again when its lock is over."""
    program = tmp_path / "worker.py"
    program.write_text(PROGRAM)
    killed = _started(program, server, key, "0.2", tmp_path / "first")
    run = begin(server)
    until((tmp_path / "first").exists, lambda there: there)
    killed.kill()
    killed.wait()
    (tmp_path / "go").touch()
    second = _started(program, server, key, "20", tmp_path / "second")
    assert ended(server, run)["variables"]["attempt"] >= 2
    second.send_signal(signal.SIGTERM)
    assert second.wait(60) == 0


PROGRAM = """
import sys, time
from pathlib import Path
from penstock.jobs import Job, JobWorker

url, key, lock_s, begun = sys.argv[1:]
worker = JobWorker(url, key=key, lock_s=float(lock_s), wait_s=5)

@worker.handles("charge-card")
def charge(job: Job) -> dict:
    Path(begun).touch()
    while not Path(begun).with_name("go").exists():
        time.sleep(0.01)
    return {"attempt": job.attempt}

worker.run()
"""


def _started(program: Path, server: Server, key: str, *more: Any) -> subprocess.Popen[bytes]:
    words = [sys.executable, str(program), server.url, key, *map(str, more)]
    return subprocess.Popen(words, env=server.env)


def test_the_client_needs_no_server_parts() -> None:
    """P-X.28: a worker has the base install, and imports neither engine nor web framework."""
    code = (
        "import sys, penstock.jobs\n"
        "print([name for name in sys.modules if name.startswith(('fastapi', 'penstock.host', 'penstock.app'))])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


EXAMPLE = Path(__file__).resolve().parents[2] / "examples/process/order_jobs"


def test_the_example_runs_and_the_page_shows_it(tmp_path: Path) -> None:
    """P-X.28: a process in the style of Zeebe, and a worker in plain Python; what is shown is what lies there."""
    page = (EXAMPLE.parents[2] / "docs/howto/process-jobs.md").read_text(encoding="utf-8")
    files = {name: (EXAMPLE / name).read_text(encoding="utf-8") for name in ("order.json", "worker.py")}
    assert all(text in page for text in files.values())
    with serving(tmp_path, "dev", "--quiet") as server:
        admin = server.client(ADMIN)
        assert admin.post("/processes/definitions", json=json.loads(files["order.json"])).status_code == 201
        asked = {"name": "worker", "user": "svc", "roles": ["worker"], "scopes": ["job.work"]}
        key = admin.post("/keys", json=asked).json()["token"]
        worker = subprocess.Popen([sys.executable, str(EXAMPLE / "worker.py"), server.url, key], env=server.env)
        try:
            runs = [begin(server, order_id="A1", amount=amount, speed="fast") for amount in (30, 5000)]
            shipped, told = (ended(server, run)["variables"] for run in runs)
        finally:
            worker.terminate()
            assert worker.wait(60) == 0
    assert (shipped["receipt"], shipped["parcel"], told["missing"]) == ("EUR-A1", "parcel-A1", 4000)
