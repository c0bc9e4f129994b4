"""Jobs over HTTP (P-X.28): what a worker in any language does, and what it is told when it is late or wrong."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from penstock.app.penstock import Penstock
from tests.api.places import ADMIN, OPERATOR, VIEWER
from tests.api.serving import Server, serving, until
from tests.app.jobs import CHARGE, a_process, at, take

Body = dict[str, Any]


@pytest.fixture(scope="module")
def defined(either: Server) -> Server:
    """A server with a process of jobs, whose border catches a business error."""
    events = (at("broke", "charge", "error", code="NO_MONEY"), {"id": "e1", "position": "end"})
    document = json.loads(a_process(CHARGE, events=events, flows=(("broke", "e1"),)))
    made = either.client(ADMIN).post("/processes/definitions", json=document)
    assert made.status_code == 201, made.text
    return either


@pytest.fixture
def worker(defined: Server) -> Iterator[httpx2.Client]:
    """A program with a key that may do jobs and nothing else."""
    admin = defined.client(ADMIN)
    asked = {"name": "a worker", "user": "svc-worker", "roles": ["worker"], "scopes": ["job.work"]}
    key = admin.post("/keys", json=asked)
    assert key.status_code == 201, key.text
    with defined.client(key=key.json()["token"]) as client:
        yield client


def begin(server: Server, **variables: Any) -> str:
    made = server.client(ADMIN).post("/processes/definitions/order/instances", json={"input_data": variables})
    assert made.status_code == 201, made.text
    return str(made.json()["proc_inst_id"])


def activate(client: httpx2.Client, **more: Any) -> list[Body]:
    answer = client.post("/jobs/activate", json={"type": "charge-card", "worker": "w", "wait_ms": 20_000, **more})
    assert answer.status_code == 200, answer.text
    jobs: list[Body] = answer.json()["jobs"]
    return jobs


def status(server: Server, run: str) -> str:
    return str(server.client(ADMIN).get(f"/runs/{run}").json()["state"])


def test_a_worker_takes_holds_and_completes_a_job(defined: Server, worker: httpx2.Client) -> None:
    """P-X.28: every member that a worker needs, and an answer that is the same when it is sent again."""
    run = begin(defined, amount=3)
    (job,) = activate(worker, variables=["amount"], lock_ms=60_000)
    assert (job["run"], job["type"], job["node"], job["name"]) == (run, "charge-card", "charge", "Charge the card")
    assert (job["variables"], job["retries"], job["attempt"], job["definition"]) == ({"amount": 3}, 3, 1, "order")
    assert job["locked_until"].endswith("Z") and job["created_at"].endswith("Z") and job["version"] == 1
    held = worker.post(f"/jobs/{job['id']}:extend", json={"lock_token": job["lock_token"], "lock_ms": 120_000})
    assert held.json()["locked_until"] > job["locked_until"]
    done = {"lock_token": job["lock_token"], "variables": {"paid": True}}
    first = worker.post(f"/jobs/{job['id']}:complete", json=done)
    assert first.status_code == 200 and first.json()["state"] == "DONE"
    assert status(defined, run) == "COMPLETED", "who is answered finds that the run has gone on"
    assert worker.post(f"/jobs/{job['id']}:complete", json=done).json() == first.json()
    other = worker.post(f"/jobs/{job['id']}:complete", json={**done, "variables": {"paid": False}})
    assert (other.status_code, other.json()["code"]) == (409, "PS-409-JOB-OVER")
    audit = defined.client(ADMIN).get("/audit", params={"limit": 20}).json()["items"]
    assert any(entry["action"] == "POST /jobs/{id}:complete" for entry in audit)


def test_a_failure_a_business_error_and_giving_back(defined: Server, worker: httpx2.Client) -> None:
    """P-X.28: each is one request, and leads where the definition says."""
    run = begin(defined)
    (job,) = activate(worker)
    back = worker.post(f"/jobs/{job['id']}:unlock", json={"lock_token": job["lock_token"]})
    assert back.json()["state"] == "WAITING"
    (job,) = activate(worker)
    body = {"lock_token": job["lock_token"], "message": "no network", "backoff_ms": 1, "details": {"port": 443}}
    failed = worker.post(f"/jobs/{job['id']}:fail", json=body).json()
    assert (failed["state"], failed["retries"], failed["message"]) == ("DELAYED", 2, "no network")
    (job,) = activate(worker)
    body = {"lock_token": job["lock_token"], "code": "NO_MONEY", "message": "poor", "variables": {"balance": 1}}
    assert worker.post(f"/jobs/{job['id']}:error", json=body).json()["state"] == "ERROR"
    shown = defined.client(ADMIN).get(f"/runs/{run}").json()
    assert shown["state"] == "COMPLETED" and shown["variables"]["balance"] == 1


def test_without_retries_a_person_sees_why_and_has_it_tried_again(defined: Server, worker: httpx2.Client) -> None:
    """P-X.28: the run is stuck with the worker's own words until an operator acts."""
    run = begin(defined)
    (job,) = activate(worker)
    body = {"lock_token": job["lock_token"], "message": "card service down", "retries": 0}
    assert worker.post(f"/jobs/{job['id']}:fail", json=body).json()["state"] == "FAILED"
    operator = defined.client(OPERATOR)
    (why, *_) = operator.get(f"/runs/{run}").json()["why"]
    assert (why["code"], why["message"], why["node"]) == ("JOB_FAILED", "card service down", "charge")
    listed = operator.get("/jobs", params={"state": "FAILED"}).json()["items"]
    assert [(each["run"], each["why"]) for each in listed] == [(run, "operator")]
    assert operator.post(f"/runs/{run}/retry", json={}).status_code == 200
    (job,) = activate(worker)
    assert job["run"] == run and job["retries"] == 3
    worker.post(f"/jobs/{job['id']}:complete", json={"lock_token": job["lock_token"]})
    assert status(defined, run) == "COMPLETED"


def test_who_waits_is_woken(defined: Server, worker: httpx2.Client) -> None:
    """P-X.28: a request that waits is answered by the job, and one for another type goes on waiting."""
    with ThreadPoolExecutor(2) as pool:
        asked = pool.submit(activate, worker, wait_ms=60_000)
        other = pool.submit(activate, worker, type="ship", wait_ms=1)
        until(lambda: defined.client(ADMIN).get("/jobs/types").json()["items"], _waits)
        run = begin(defined)
        (job,) = asked.result()
        assert job["run"] == run and other.result() == []
    worker.post(f"/jobs/{job['id']}:complete", json={"lock_token": job["lock_token"]})


def _waits(types: list[Body]) -> bool:
    return any(kind["type"] == "charge-card" and kind["waits"] for kind in types)


def test_what_is_told_of_types_and_pages(defined: Server, worker: httpx2.Client) -> None:
    """P-X.28: how many wait and are locked, since when, and which workers have asked."""
    runs = [begin(defined) for _ in range(3)]
    (job,) = activate(worker)
    viewer = defined.client(VIEWER)
    kind = next(each for each in viewer.get("/jobs/types").json()["items"] if each["type"] == "charge-card")
    assert (kind["waiting"], kind["locked"]) == (2, 1) and kind["oldest_at"] and kind["last_asked_at"]
    assert [seen["worker"] for seen in kind["workers"]] == ["w"]
    page = viewer.get("/metrics").text
    assert 'penstock_jobs{type="charge-card",state="waiting"} 2' in page
    assert 'penstock_job_oldest_seconds{type="charge-card"}' in page
    found: list[Body] = []
    cursor = None
    while True:
        page = viewer.get("/jobs", params={"limit": 2, "type": "charge-card", **({"cursor": cursor} if cursor else {})})
        found += page.json()["items"]
        if (cursor := page.json()["next"]) is None:
            break
    assert [each["run"] for each in found][-3:] == runs and "variables" not in found[-1]
    assert viewer.get(f"/jobs/{job['id']}").json()["worker"] == "w"
    assert [each["run"] for each in viewer.get("/jobs", params={"run": runs[1]}).json()["items"]] == [runs[1]]
    assert viewer.get("/jobs", params={"run": "r000000000000000"}).status_code == 404
    for waiting in [job, *activate(worker, max_jobs=5)]:
        worker.post(f"/jobs/{waiting['id']}:complete", json={"lock_token": waiting["lock_token"]})


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("/jobs/nothing:complete", {"lock_token": "x"}, "PS-404-JOB"),
        ("/jobs/nothing:extend", {"lock_token": "x", "lock_ms": 5}, "PS-404-JOB"),
        ("/jobs/nothing:fail", {"lock_token": "x", "message": "m"}, "PS-404-JOB"),
        ("/jobs/nothing:error", {"lock_token": "x", "code": "c"}, "PS-404-JOB"),
        ("/jobs/nothing:unlock", {"lock_token": "x"}, "PS-404-JOB"),
        ("/jobs/JOB:complete", {"lock_token": "1.wrong"}, "PS-409-JOB-LOCK"),
        ("/jobs/JOB:extend", {"lock_token": "1.wrong", "lock_ms": 5}, "PS-409-JOB-LOCK"),
        ("/jobs/JOB:complete", {}, "PS-422-REQUEST"),
        ("/jobs/JOB:complete", {"lock_token": "x", "variables": [1]}, "PS-422-REQUEST"),
        ("/jobs/JOB:complete", {"lock_token": "x", "result": 1}, "PS-422-REQUEST"),
        ("/jobs/JOB:fail", {"lock_token": "x", "retries": -1}, "PS-422-REQUEST"),
        ("/jobs/JOB:fail", {"lock_token": "x", "retries": 10**9}, "PS-422-REQUEST"),
        ("/jobs/JOB:error", {"lock_token": "x", "code": ""}, "PS-422-REQUEST"),
        ("/jobs/activate", {"type": "charge-card"}, "PS-422-REQUEST"),
        ("/jobs/activate", {"worker": "w"}, "PS-400-INPUT"),
        ("/jobs/activate", {"type": "charge-card", "worker": "w", "wait_ms": 60_001}, "PS-422-REQUEST"),
        ("/jobs/activate", {"type": "charge-card", "worker": "w", "max_jobs": 0}, "PS-422-REQUEST"),
        ("/jobs/activate", {"types": ["x"] * 51, "worker": "w"}, "PS-422-REQUEST"),
    ],
)
def test_bad_input_is_told_and_changes_nothing(
    defined: Server, worker: httpx2.Client, path: str, body: Body, code: str
) -> None:
    """P-X.28: each with its code, and the job is where it was."""
    begin(defined)
    (job,) = activate(worker)
    answer = worker.post(path.replace("JOB", job["id"]), json=body)
    assert answer.json()["code"] == code, answer.text
    done = worker.post(f"/jobs/{job['id']}:complete", json={"lock_token": job["lock_token"]})
    assert done.status_code == 200, done.text


def test_bodies_that_are_none_and_too_large(defined: Server, worker: httpx2.Client) -> None:
    """P-X.28: no JSON, and more than a request may have."""
    begin(defined)
    (job,) = activate(worker)
    path = f"/jobs/{job['id']}:complete"
    bad = worker.post(path, content=b"{", headers={"Content-Type": "application/json"})
    assert (bad.status_code, bad.json()["code"]) == (400, "PS-400-JSON")
    huge = worker.post(path, json={"lock_token": job["lock_token"], "variables": {"x": "y" * 40_000_000}})
    assert huge.status_code == 413
    large = worker.post(path, json={"lock_token": job["lock_token"], "variables": {"x": "y" * 500_000}})
    assert large.status_code == 200, large.text


def test_whose_jobs_they_are_and_who_may(defined: Server, worker: httpx2.Client) -> None:
    """P-X.28: a viewer takes none, a worker sees no lists, and an operator's key does both."""
    taken = {"type": "charge-card", "worker": "w"}
    assert defined.client(VIEWER).post("/jobs/activate", json=taken).status_code == 403
    assert defined.client().post("/jobs/activate", json=taken).status_code == 401
    assert worker.get("/jobs").status_code == 403 and worker.get("/runs").status_code == 403
    assert defined.client(OPERATOR).post("/jobs/activate", json=taken).status_code == 200


# ---- processes that end ----------------------------------------------------------------------------------------------


def test_a_killed_engine_and_a_killed_worker_lose_nothing(tmp_path: Path) -> None:
    """P-X.28: kill -9 after a job was made, after it was taken, and after its answer was; each job is done once."""
    with serving(tmp_path, "dev", "--quiet") as server:
        admin = server.client(ADMIN)
        assert admin.post("/processes/definitions", json=json.loads(a_process(CHARGE))).status_code == 201
        run = begin(server, amount=3)
        server.kill()
        server.start()
        (lost,) = activate(server.client(OPERATOR), lock_ms=1, worker="dies")
        server.kill()
        server.start()
        (job,) = activate(server.client(OPERATOR), worker="lives")
        assert (job["id"], job["attempt"], job["key"]) == (lost["id"], 2, lost["key"])
        late = server.client(OPERATOR).post(f"/jobs/{job['id']}:complete", json={"lock_token": lost["lock_token"]})
        assert (late.status_code, late.json()["code"]) == (409, "PS-409-JOB-LOCK")
        server.kill()
        asyncio.run(_answer(server.store, job))  # nobody drives: the answer is in the store, and no run has it
        server.start()
        until(lambda: status(server, run), lambda state: state == "COMPLETED")
        body = {"lock_token": job["lock_token"], "variables": {"paid": True}}
        again = server.client(OPERATOR).post(f"/jobs/{job['id']}:complete", json=body)
        assert again.status_code == 200 and again.json()["state"] == "DONE"
        shown = server.client(ADMIN).get(f"/runs/{run}").json()
        assert shown["variables"] == {"amount": 3, "paid": True}


def test_a_server_that_stops_lets_those_go_who_wait(tmp_path: Path) -> None:
    """P-X.28: they are told that there are no jobs, and nobody holds up the end."""
    with serving(tmp_path, "dev", "--quiet") as server, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(activate, server.client(OPERATOR), wait_ms=60_000)
        until(lambda: server.client(ADMIN).get("/jobs/types").json()["items"], _waits)
        assert server.stop() == 0 and waiting.result() == []


def test_who_has_hung_up_gets_no_job(tmp_path: Path) -> None:
    """P-X.28: the job is left to the next, and not to a lock that nobody holds."""
    with serving(tmp_path, "dev", "--quiet") as server:
        admin = server.client(ADMIN)
        assert admin.post("/processes/definitions", json=json.loads(a_process(CHARGE))).status_code == 201
        asked = {"type": "charge-card", "worker": "gone", "wait_ms": 60_000}
        with pytest.raises(httpx2.ReadTimeout):
            server.client(OPERATOR).post("/jobs/activate", json=asked, timeout=1)
        begin(server)
        (job,) = activate(server.client(OPERATOR))
        assert job["attempt"] == 1


async def _answer(store: str, job: Body) -> None:
    door = Penstock(Path(store), drive=False).open()
    try:
        await door.jobs.complete(job["id"], job["lock_token"], {"paid": True})
        assert await take(door, wait_ms=0) == []
    finally:
        door.close()
