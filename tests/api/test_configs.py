"""Settings by four eyes, and the registries of AAS shells and robots, over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.places import ADMIN, OPERATOR, VIEWER
from tests.api.serving import Server

IT = "it@example.com"


def _in_force(client: Any) -> Any:
    return client.get("/configs/tenant").json()["body"]


def test_a_config_is_proposed_by_one_and_approved_by_another(either: Server) -> None:
    """C-82: what was proposed is not in force before somebody else approves it; who proposed it may not."""
    admin, it = either.client(ADMIN), either.client(IT)
    before = admin.get("/configs/tenant")
    wanted = {**before.json()["body"], "locale": "en"}
    made = admin.put("/configs/tenant", json=wanted, headers={"If-Match": before.headers["etag"]})
    assert made.status_code == 202 and made.json()["status"] == "pending_approval" and made.json()["by"] == ADMIN
    assert _in_force(admin) == before.json()["body"]
    assert [one["id"] for one in admin.get("/config-proposals").json()["items"]] == ["tenant"]
    (listed,) = it.get("/proposals").json()["items"]
    assert (listed["type"], listed["id"], listed["by"], listed["path"]) == (
        "config", "tenant", ADMIN, "/config-proposals/tenant",
    )  # fmt: skip
    assert (listed["now"], listed["body"]) == (before.json()["body"], wanted)
    assert listed["etag"] == it.get("/config-proposals/tenant").headers["etag"]
    mine = admin.post("/config-proposals/tenant/approve")
    assert mine.status_code == 403 and _in_force(admin) == before.json()["body"], mine.text
    seen = it.get("/config-proposals/tenant")
    assert seen.json()["body"] == wanted
    stolen = it.post("/config-proposals/tenant/approve", headers={"If-Match": '"another"'})
    assert stolen.status_code == 412, stolen.text
    done = it.post("/config-proposals/tenant/approve", headers={"If-Match": seen.headers["etag"]})
    assert done.status_code == 204 and _in_force(admin) == wanted
    assert it.get("/config-proposals/tenant").status_code == 404 and it.get("/config-proposals").json()["items"] == []
    said = [(one["actor"], one["action"]) for one in admin.get("/audit").json()["items"]]
    assert (ADMIN, "PUT /configs/{id}") in said and (IT, "POST /config-proposals/{id}/approve") in said


def test_a_config_is_rejected_taken_away_and_never_changed_behind_a_back(either: Server) -> None:
    """C-82: also to take it away needs two; a proposal for what has changed meanwhile is not put in force."""
    admin, it = either.client(ADMIN), either.client(IT)
    assert admin.put("/configs/shift", json={"length_h": 8}).status_code == 202
    assert it.post("/config-proposals/shift/reject").status_code == 204
    assert admin.get("/configs/shift").status_code == 404
    assert admin.put("/configs/shift", json={"length_h": 8}).status_code == 202
    assert it.post("/config-proposals/shift/approve").status_code == 204
    assert admin.delete("/configs/shift").status_code == 202 and admin.get("/configs/shift").status_code == 200
    assert it.post("/config-proposals/shift/approve").status_code == 204
    assert admin.get("/configs/shift").status_code == 404 and admin.delete("/configs/shift").status_code == 404
    for refused in (either.client(OPERATOR), either.client(VIEWER)):
        assert refused.put("/configs/shift", json={}).status_code == 403
        assert refused.post("/config-proposals/shift/approve").status_code == 403
    assert it.post("/config-proposals/nothing/approve").status_code == 404
    other = admin.post("/tenants", json={"id": "configs_other", "admin": "boss@other"}).json()["token"]
    assert admin.put("/configs/shift", json={"length_h": 9}).status_code == 202
    theirs = either.client(key=other)
    assert theirs.get("/config-proposals/shift").status_code == 404
    assert theirs.post("/config-proposals/shift/approve").status_code == 404
    assert it.post("/config-proposals/shift/reject").status_code == 204


@pytest.mark.parametrize(
    ("path", "body", "wrong"),
    [
        ("aas-shells", {"id": "L09", "name": "9라인", "status": "running"}, {}),
        ("robots", {"commands": ["stop"], "queues": ["robot_commands"]}, {"commands": "stop"}),
        ("bi-metrics", {"table": "fact", "column": "rate", "time_column": "date"}, {"table": "fact"}),
        ("channels", {"target": "outbox:robot", "queue_name": "robot_commands"}, {"url": "${secrets."}),
    ],
)
def test_shells_robots_and_their_channel_are_kept(either: Server, path: str, body: Any, wrong: Any) -> None:
    """C-56, C-81: put, read with an ETag, replaced by whoever has seen it, taken away; of one tenant only."""
    admin, where = either.client(ADMIN), f"/{path}/line.L09"
    made = admin.put(where, json=body)
    assert made.status_code == 200 and made.json()["body"] == body, made.text
    etag = admin.get(where).headers["etag"]
    assert "line.L09" in [one["id"] for one in admin.get(f"/{path}?limit=200").json()["items"]]
    assert admin.put(where, json=wrong).status_code == 422
    assert admin.put(where, json=body, headers={"If-Match": '"old"'}).status_code == 412
    assert admin.put(where, json={**body, "note": "new"}, headers={"If-Match": etag}).status_code == 200
    assert either.client(VIEWER).put(where, json=body).status_code == 403
    other = admin.post("/tenants", json={"id": f"other_{path}", "admin": "boss@other"}).json()["token"]
    theirs = either.client(key=other)
    assert theirs.get(where).status_code == 404 and theirs.delete(where).status_code == 404
    assert theirs.get(f"/{path}").json()["items"] == []
    assert admin.delete(where).status_code == 204 and admin.get(where).status_code == 404
