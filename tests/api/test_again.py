"""A request that is sent again after the server died in the middle of it: what it had started is not started twice."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest

from penstock.app.access.idempotency import IdempotencyKeys, StoredResponse, Ticket
from penstock.errors import IdempotencyConflict
from penstock.store.sqlite import Sqlite
from tests.api.places import ADMIN, MANAGER, OPERATOR, calling, in_force
from tests.api.serving import ROOT, Server, serving, until
from tests.api.test_decision_words import waiting

DIAGRAM = (ROOT / "examples" / "diagram" / "diamond.yaml").read_text()


def forgotten(server: Server) -> None:
    """As kill -9 leaves it between the commit of what was done and that of its answer."""
    server.kill()
    with closing(sqlite3.connect(server.store)) as c:
        c.execute("UPDATE request SET status=NULL, headers=NULL, body=NULL")
        c.commit()
    server.start()


def _runs(client: httpx2.Client) -> set[str]:
    return {one["id"] for one in client.get("/runs?limit=200").json()["items"]}


def test_after_a_crash_the_same_request_finds_the_same_run(tmp_path: Path) -> None:
    """C-66, C-74: runs, instances, diagrams, forks, replays and schedules, whose answer was lost with the server."""
    with serving(tmp_path, "dev", "--quiet") as server:
        admin, manager, operator = server.client(ADMIN), server.client(MANAGER), server.client(OPERATOR)
        name = in_force(admin, manager, waiting("wf_again"))
        timed = {**waiting("wf_timed"), "trigger": {"type": "schedule", "config": {"cron": "0 5 1 1 *"}}}
        in_force(admin, manager, timed)
        broken = operator.post("/runs", json={"definition": in_force(admin, manager, calling("http://127.0.0.1:9"))})
        dead = broken.json()["id"]
        until(lambda: admin.get(f"/dlq/{dead}").status_code, lambda status: status == 200)
        kept = admin.post("/diagrams", json={"document": DIAGRAM})
        assert kept.status_code == 201, kept.text
        first = operator.post("/runs", json={"definition": name}).json()["id"]
        until(lambda: operator.get(f"/runs/{first}").json()["state"], lambda state: state == "WAITING")
        asked: dict[str, tuple[str, Any]] = {
            "run": ("/runs", {"definition": name}), "instance": ("/instances", {"workflow_id": name}),
            "diagram": (f"/diagrams/{kept.json()['id']}/runs", {"inputs": None}),
            "fork": (f"/runs/{first}/fork", {"fact": 1}), "fire": ("/schedules/wf_timed/fire", {}),
            "replay": (f"/dlq/{dead}/replay", {}),
        }  # fmt: skip

        def sent() -> dict[str, Any]:
            client = server.client(OPERATOR)
            answers = {
                id: client.post(path, json=body, headers={"Idempotency-Key": id}) for id, (path, body) in asked.items()
            }
            assert {one.status_code for one in answers.values()} == {201}, [one.text for one in answers.values()]
            told = {id: one.json() for id, one in answers.items()}
            return {id: one.get("id") or one.get("instance_id") or one.get("run_id") or one.get("runs") or one["run"]
                    for id, one in told.items()}  # fmt: skip

        before, there = sent(), _runs(server.client(ADMIN))
        assert len(there) >= 8
        shown = server.client(ADMIN).get(f"/runs/{before['run']}").json()
        assert shown["key"] is None, "nobody gave it one"
        forgotten(server)
        assert sent() == before and _runs(server.client(ADMIN)) == there
        newer = in_force(server.client(ADMIN), server.client(MANAGER), {**waiting("wf_again"), "version": 2})
        forgotten(server)
        assert server.client(ADMIN).get(f"/dlq/{dead}").json()["replays"] == 1
        assert sent() == before and newer == name, "also when another version is in force by now"


def test_a_key_of_their_own_stays_theirs(dev: Server) -> None:
    """C-74: whoever names the run has it under that name, and the same request under both prefixes is one."""
    admin, manager = dev.client(ADMIN), dev.client(MANAGER)
    name = in_force(admin, manager, waiting("wf_own_key"))
    made = admin.post("/runs", json={"definition": name, "key": "mine-1"}, headers={"Idempotency-Key": "i-1"})
    assert made.status_code == 201 and admin.get("/runs/mine-1").json()["id"] == made.json()["id"]
    again = httpx2.post(
        f"{dev.url}/api/runs", json={"definition": name, "key": "mine-1"}, cookies=dict(admin.cookies),
        headers={"Idempotency-Key": "i-1", "X-Penstock": "1"}, timeout=60,
    )  # fmt: skip
    assert again.status_code == 201 and again.headers["idempotency-replayed"] == "true"


def test_who_may_not_is_not_shown_what_they_got_when_they_might(dev: Server) -> None:
    """C-66: a stored answer is for those who still have the permission."""
    admin = dev.client(ADMIN)
    name = in_force(admin, dev.client(MANAGER), waiting("wf_once_might"))
    assert admin.put("/users/u-might", json={"roles": ["operator"]}).status_code == 200
    mine = dev.client(key=admin.post("/keys", json={"name": "k", "user": "u-might"}).json()["token"])
    asked: dict[str, Any] = {"json": {"definition": name}, "headers": {"Idempotency-Key": "might"}}
    assert mine.post("/runs", **asked).status_code == 201
    assert admin.put("/users/u-might", json={"roles": ["viewer"]}).status_code == 200
    assert mine.post("/runs", **asked).status_code == 403


def test_what_may_have_been_done_stays_bound_to_its_request(tmp_path: Path) -> None:
    """C-74: after trouble of the server's the same request goes on at once, and another one may not take its key."""
    store = Sqlite(tmp_path / "s.db")
    once = IdempotencyKeys(store)
    ticket = once.begin("t", "k", "print")
    assert isinstance(ticket, Ticket)
    ticket.left()
    with pytest.raises(IdempotencyConflict):
        once.begin("t", "k", "another")
    again = once.begin("t", "k", "print")
    assert isinstance(again, Ticket) and again.run_key == ticket.run_key
    again.done(StoredResponse(201, {}, b"x"))
    assert once.begin("t", "k", "print") == StoredResponse(201, {}, b"x")
    store.close()
