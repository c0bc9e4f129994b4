"""A new user: `penstock dev`, then HTTP only."""

from __future__ import annotations

from pathlib import Path

from tests.api.serving import serving, until

MANAGER, OPERATOR = "manager@example.com", "operator@example.com"


def test_the_alarm_is_approved_by_the_manager_and_not_by_the_operator(tmp_path: Path) -> None:
    """C-66, W-4.6.1, W-4.6.2: started over HTTP, waits, is refused to the operator, approved by the manager, ends."""
    with serving(tmp_path, "dev", "--quiet") as server:
        operator, manager = server.client(OPERATOR), server.client(MANAGER)
        made = operator.post("/runs", json={"definition": "wf_defect_alert_v2", "input": {"line_id": "L01"}})
        assert made.status_code == 201, made.text
        run = made.json()["id"]
        assert made.headers["location"] == f"/api/v1/runs/{run}"
        stands = until(lambda: operator.get(f"/runs/{run}").json(), lambda one: one["state"] == "WAITING")
        assert stands["status"] == "waiting" and stands["tone"] == "held"
        first = stands["why"][0]
        assert (first["rank"], first["kind"], first["node"]) == (8, "work", "request_approval")
        assert first["who"] == ["role:quality_manager"] and first["then"]["kind"] == "escalate"
        refused = operator.post(f"/inbox/{run}/request_approval/approve", json={})
        assert refused.status_code == 403
        assert refused.headers["content-type"] == "application/problem+json"
        assert refused.json()["code"] in ("APPROVER_DENIED", "PS-403-PERMISSION") and refused.json()["hint"]
        assert operator.get(f"/runs/{run}").json()["state"] == "WAITING"
        waiting = manager.get("/inbox").json()
        (item,) = [one for one in waiting["items"] if one["run"] == run]
        assert item["eligible"] and item["title"] == "긴급 불량 알람 검토 요청" and item["due_at"]
        done = manager.post(f"/inbox/{run}/request_approval/approve", json={"comment": "확인"})
        assert done.status_code == 200, done.text
        ended = until(lambda: manager.get(f"/runs/{run}").json(), lambda one: one["ended_at"] is not None)
        assert ended["state"] == "COMPLETED" and ended["variables"]["approval_result"]["approver"] == MANAGER
        again = manager.post(f"/inbox/{run}/request_approval/approve", json={})
        assert again.status_code in (404, 409), again.text
