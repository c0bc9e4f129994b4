"""Batches over HTTP: on either store they outlive kill -9, keep to rights and tenants, and can be cancelled."""

from __future__ import annotations

import time
from typing import Any

import httpx2

from tests.api.serving import Server, until

ADMIN, OPERATOR, VIEWER = "admin@example.com", "operator@example.com", "viewer@example.com"
RUNS, KILLS = 60, 4


def _fails(name: str) -> dict[str, Any]:
    """Reads a file that is not there, at once and for good."""
    return {
        "version": "light", "name": name,
        "nodes": [
            {"label": "Start", "type": "start"},
            {"label": "Load", "type": "db", "operation": "read", "file": "not-there.txt"},
            {"label": "End", "type": "endpoint"},
        ],
        "connections": [{"from": "Start", "to": "Load"}, {"from": "Load", "to": "End"}],
    }  # fmt: skip


def _started(client: httpx2.Client, name: str, count: int) -> list[str]:
    kept = client.post("/diagrams", json={"document": _fails(name)})
    assert kept.status_code == 201, kept.text
    runs = [client.post(f"/diagrams/{name}/runs", json={}).json()["run_id"] for _ in range(count)]
    for run in runs:
        until(lambda: client.get(f"/runs/{run}").json()["state"], lambda state: state == "FAILED")  # noqa: B023
    return runs


def _reopened(client: httpx2.Client, run: str) -> int:
    facts = client.get(f"/runs/{run}/facts", params={"limit": 200}).json()["items"]
    return sum(fact["fact"] == "run.reopened" for fact in facts)


def test_c_66_a_batch_goes_on_after_kill_9(either: Server) -> None:
    """C-66: a retry that has failed again looks as if it had never been: each run is tried again once, none twice and
    none not at all, wherever the server was killed."""
    client = either.client(ADMIN)
    runs = _started(client, "broken", RUNS)
    begun = client.post("/batches", json={"verb": "retry", "filter": {"name": "broken"}, "reason": "the file is back"})
    assert begun.status_code == 202 and begun.json()["total"] == RUNS, begun.text
    where = begun.headers["location"].removeprefix("/api/v1")
    for kill in range(KILLS):
        far = (kill + 1) * RUNS // (KILLS + 2)
        until(lambda: client.get(where).json(), lambda batch: batch["looked"] >= far)  # noqa: B023
        time.sleep(kill * 0.003)  # anywhere in a slice
        either.kill()
        either.start()
        client = either.client(ADMIN)
    batch = until(lambda: client.get(where).json(), lambda batch: batch["state"] != "running")
    assert (batch["state"], batch["looked"], batch["done"], batch["refused"]) == ("done", RUNS, RUNS, 0), batch
    assert batch["by"] == ADMIN and batch["reason"] == "the file is back"
    for run in runs:
        until(lambda: client.get(f"/runs/{run}").json()["state"], lambda state: state == "FAILED")  # noqa: B023
    assert {_reopened(client, run) for run in runs} == {1}


def test_a_batch_is_its_tenants_and_needs_the_right(either: Server) -> None:
    """P-7.5.2, C-66: named runs too; a viewer looks and changes nothing; another tenant does not see it."""
    admin, viewer = either.client(ADMIN), either.client(VIEWER)
    runs = _started(admin, "named", 3)
    asked = {"verb": "retry", "ids": [*runs, "nobody"]}
    assert viewer.post("/batches", json=asked).status_code == 403
    begun = either.client(OPERATOR).post("/batches", json=asked)
    assert begun.status_code == 202 and begun.json()["total"] == 4
    where = f"/batches/{begun.json()['id']}"
    batch = until(lambda: viewer.get(where).json(), lambda batch: batch["state"] == "done")
    assert (batch["done"], [refusal["run"] for refusal in batch["refusals"]]) == (3, ["nobody"])
    assert viewer.post(f"{where}/cancel").status_code == 403
    assert either.client(OPERATOR).post(f"{where}/cancel").json()["state"] == "done", "it is over"
    other = admin.post("/tenants", json={"id": "batches", "name": "Another", "admin": "boss@batches"}).json()["token"]
    stranger = either.client(key=other)
    assert stranger.get(where).status_code == 404 == stranger.post(f"{where}/cancel").status_code
    assert stranger.get("/batches").json()["items"] == []
    foreign = stranger.post("/batches", json=asked).json()
    seen = until(lambda: stranger.get(f"/batches/{foreign['id']}").json(), lambda batch: batch["state"] == "done")
    assert (seen["done"], seen["refused"]) == (0, 4)
    for wrong in ({"verb": "retry"}, {"verb": "retry", "ids": []}, {**asked, "filter": {"name": "named"}}):
        assert admin.post("/batches", json=wrong).status_code in (400, 422), wrong
    entries = admin.get("/audit", params={"target": where.strip("/")}).json()["items"]
    assert {entry["action"] for entry in entries} >= {"batch.slice", "batch.end"}
    assert {entry["actor"] for entry in entries if entry["action"].startswith("batch.")} == {OPERATOR}


def test_batches_are_listed_in_pages(either: Server) -> None:
    admin = either.client(ADMIN)
    made = [admin.post("/batches", json={"verb": "pause", "ids": ["nobody"]}).json()["id"] for _ in range(3)]
    for batch in made:
        until(lambda: admin.get(f"/batches/{batch}").json()["state"], lambda state: state == "done")  # noqa: B023
    listed, cursor = list[str](), None
    while True:
        page = admin.get("/batches", params={"limit": 2} | ({"cursor": cursor} if cursor else {})).json()
        listed += [batch["id"] for batch in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert listed[:3] == made[::-1] or set(listed[:3]) == set(made), "those of one millisecond are in no order"
    assert len(listed) == len(set(listed))
    assert admin.get("/batches", params={"cursor": "nonsense"}).status_code == 400


def test_f_8_4_batches_are_paused_resumed_and_stops_by_itself(either: Server) -> None:
    """It goes at the speed that was asked for, so there is time to pause it; what it does fails again, so after the
    first ones it stops by itself; a viewer does neither."""
    admin, viewer = either.client(ADMIN), either.client(VIEWER)
    _started(admin, "careful", 8)
    care = {"per_second": 1, "first": 3, "most_failed": 0}
    begun = admin.post("/batches", json={"verb": "retry", "filter": {"name": "careful"}, "care": care})
    assert begun.status_code == 202 and begun.json()["care"] == care, begun.text
    where = f"/batches/{begun.json()['id']}"
    assert viewer.post(f"{where}/pause").status_code == 403 == viewer.post(f"{where}/resume").status_code
    paused = admin.post(f"{where}/pause").json()
    assert (paused["state"], paused["code"]) == ("paused", None) and paused["looked"] < 8
    assert admin.post(f"{where}/resume").json()["state"] == "running"
    stopped = until(lambda: admin.get(where).json(), lambda batch: batch["code"] == "STOPPED_ITSELF")
    assert stopped["state"] == "paused" and stopped["looked"] <= 4 and stopped["through"] == 0
    assert admin.post(f"{where}/cancel").json()["state"] == "cancelled"
    assert admin.post(f"{where}/resume").json()["state"] == "cancelled", "it is over"
    for wrong in ({"per_second": 0}, {"most_failed": 100}, {"first": 0}, {"slowly": True}):
        asked = {"verb": "retry", "filter": {"name": "careful"}, "care": wrong}
        assert admin.post("/batches", json=asked).status_code in (400, 422), wrong
    actions = {entry["action"] for entry in admin.get("/audit", params={"target": where.strip("/")}).json()["items"]}
    assert "batch.stopped" in actions
