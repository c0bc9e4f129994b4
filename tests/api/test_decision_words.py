"""The decision language's own words over HTTP (C-66): workflows, instances, approvals, judgment reviews."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.serving import Server, until

ADMIN, MANAGER, OPERATOR, QA = "admin@example.com", "manager@example.com", "operator@example.com", "qa@example.com"
AUTHOR, VIEWER = "author@example.com", "viewer@example.com"


def waiting(id: str, version: int = 1) -> dict[str, Any]:
    """A workflow that waits for a hand, and then has an answer."""
    return {
        "id": id, "name": f"Wait {id}", "version": version,
        "nodes": [{"id": "wait_go", "type": "WAIT", "condition": {"type": "manual"}, "output": {"variable": "said"}}],
        "edges": [],
    }  # fmt: skip


def test_a_workflow_goes_from_submission_to_force(dev: Server) -> None:
    """C-66, W-9.3.1, W-9.3.2: submit, approve, activate and deprecate by the seed's names, each by whoever may."""
    author, manager, admin = dev.client(AUTHOR), dev.client(MANAGER), dev.client(ADMIN)
    made = author.post("/workflows", json={"dsl": waiting("wf_force")})
    assert made.status_code == 201, made.text
    row = made.json()
    assert (row["workflow_id"], row["version"], row["status"]) == ("wf_force", 1, "pending_approval")
    assert len(row["dsl_hash"]) == 64 and row["tenant_id"] == "tenant_001" and row["created_by"] == AUTHOR
    assert made.headers["location"] == "/api/v1/workflows/wf_force/versions/1"
    assert author.post("/workflows", json={"dsl": waiting("wf_force")}).status_code == 200
    assert author.post("/workflows/wf_force/versions/1/approve").status_code == 403
    assert manager.post("/workflows/wf_force/versions/1/approve").json()["status"] == "approved"
    assert admin.post("/workflows/wf_force/versions/1/activate").json()["status"] == "active"
    whole = author.get("/workflows/wf_force/versions/1").json()
    assert whole["dsl"]["nodes"][0]["id"] == "wait_go" and whole["approved_by"] == MANAGER
    assert [one["version"] for one in author.get("/workflows/wf_force/versions").json()["items"]] == [1]
    listed = {one["workflow_id"]: one for one in author.get("/workflows").json()["items"]}
    assert listed["wf_force"]["active_version"] == 1
    assert author.post("/workflows", json={"dsl": waiting("wf_force", 2)}).status_code == 201
    back = manager.post("/workflows/wf_force/versions/2/reject", json={"feedback": "too short"}).json()
    assert back["status"] == "draft" and "too short" in back["feedback"]
    assert admin.post("/workflows/wf_force/versions/1/deprecate").json()["status"] == "deprecated"
    again = admin.post("/workflows/wf_force/versions/2/activate")
    assert again.status_code == 409 and again.json()["state"] == "draft"


def test_what_is_wrong_is_told_with_its_place(dev: Server) -> None:
    """C-66, W-9.4.1: validate answers 200 with every error, submit answers 422 with the same and keeps nothing."""
    author, bad = dev.client(AUTHOR), waiting("wf_wrong")
    bad["nodes"][0]["type"] = "NOPE"
    checked = author.post("/workflows/validate", json={"dsl": bad}).json()
    assert not checked["valid"] and checked["errors"][0]["where"]["pointer"].startswith("/nodes/0")
    refused = author.post("/workflows", json={"dsl": bad})
    assert refused.status_code == 422 and refused.json()["findings"]
    assert author.get("/workflows/wf_wrong/versions").status_code == 404
    assert author.post("/workflows/validate", json={"dsl": waiting("wf_right")}).json()["valid"]


@pytest.fixture(scope="module")
def hand(dev: Server) -> str:
    """A workflow in force that waits for a hand."""
    return in_force(dev, waiting("wf_hand"))


def in_force(dev: Server, document: dict[str, Any]) -> str:
    admin, manager = dev.client(ADMIN), dev.client(MANAGER)
    made = admin.post("/workflows", json={"dsl": document})
    assert made.status_code == 201, made.text
    where = f"/workflows/{document['id']}/versions/{document['version']}"
    assert manager.post(f"{where}/approve").status_code == 200
    done = admin.post(f"{where}/activate")
    assert done.status_code == 200, done.text
    return str(document["id"])


def _started(dev: Server, workflow: str, **more: Any) -> str:
    made = dev.client(OPERATOR).post("/instances", json={"workflow_id": workflow, **more})
    assert made.status_code == 201, made.text
    return str(made.json()["instance_id"])


def _stands(dev: Server, instance: str, status: str) -> dict[str, Any]:
    operator = dev.client(OPERATOR)
    found: dict[str, Any] = until(
        lambda: operator.get(f"/instances/{instance}").json(), lambda one: one["status"] == status
    )
    return found


def test_a_node_that_waits_for_a_hand_gets_its_signal(dev: Server, hand: str) -> None:
    """C-66, W-4.7.4, W-2.2.6: signal by node; the body is its output, statuses are in lower case; 409 when it does not
    wait any more, 404 for a node that is not there."""
    instance, operator = _started(dev, hand, input={"a": 1}), dev.client(OPERATOR)
    stands = _stands(dev, instance, "waiting")
    assert (stands["workflow_id"], stands["version"], stands["input"]) == (hand, 1, {"a": 1})
    assert stands["trigger"] == {"type": "manual", "source": f"user:{OPERATOR}"}
    assert operator.post(f"/instances/{instance}/nodes/nope/signal").status_code == 404
    gone_on = operator.post(f"/instances/{instance}/nodes/wait_go/signal", json={"payload": {"go": True}})
    assert gone_on.status_code == 200, gone_on.text
    ended = _stands(dev, instance, "completed")
    assert ended["context"]["said"] == {"go": True} and ended["completed_at"]
    assert [(one["node_id"], one["status"]) for one in ended["nodes"]] == [("wait_go", "succeeded")]
    late = operator.post(f"/instances/{instance}/nodes/wait_go/signal")
    assert late.status_code == 409, late.text


def test_an_instance_is_cancelled_paused_and_looked_into(dev: Server, hand: str) -> None:
    """C-66, W-2.2.3, W-2.2.5, W-10.2.1: cancel, history, trace and checkpoints by the seed's names."""
    instance, operator = _started(dev, hand), dev.client(OPERATOR)
    _stands(dev, instance, "waiting")
    assert operator.post(f"/instances/{instance}/retry").status_code == 409
    assert operator.post(f"/runs/{instance}/pause").status_code == 200
    assert operator.post(f"/instances/{instance}/resume").status_code == 200
    assert operator.post(f"/instances/{instance}/cancel", json={"reason": "enough"}).status_code == 200
    _stands(dev, instance, "cancelled")
    moved = operator.get(f"/instances/{instance}/history").json()["items"]
    assert moved[0]["event"] == "create_instance" and moved[0]["from"] is None
    assert [one["to"] for one in moved if one["of"] == "instance"][-1] == "cancelled"
    assert operator.get(f"/runs/{instance}/history").json()["items"] == moved
    told = operator.get(f"/instances/{instance}/trace").json()["workflow_execution"]
    assert (told["instance_id"], told["status"]) == (instance, "cancelled")
    for path in ("instances", "runs"):
        assert operator.get(f"/{path}/{instance}/checkpoints").status_code == 200
    again = operator.post(f"/instances/{instance}/cancel")
    assert again.status_code == 409 and again.json()["code"] == "ILLEGAL_TRANSITION"
    assert dev.client(VIEWER).post(f"/instances/{instance}/cancel").status_code == 403


def test_instances_are_found_by_workflow_and_status(dev: Server, hand: str) -> None:
    """C-66: lists of instances with filters and a cursor; a diagram's run is none of them."""
    operator = dev.client(OPERATOR)
    mine = [_started(dev, hand) for _ in range(3)]
    for one in mine:
        _stands(dev, one, "waiting")
    first = operator.get(f"/instances?workflow_id={hand}&status=waiting&limit=2").json()
    rest = operator.get(f"/instances?workflow_id={hand}&status=waiting&limit=2&cursor={first['next']}").json()
    assert [one["instance_id"] for one in (*first["items"], *rest["items"])][:3] == mine[::-1]
    assert operator.get("/instances?workflow_id=nothing").json() == {"items": [], "next": None}
    assert operator.get("/instances?status=nonsense").status_code == 400
    assert operator.get("/instances/nothing").status_code == 404


def test_a_child_knows_who_asked_for_it(dev: Server, hand: str) -> None:
    """C-18: an instance that is started by another one names it as its parent."""
    parent = _started(dev, hand)
    child = _started(dev, hand, parent_instance_id=parent)
    assert _stands(dev, child, "waiting")["parent_instance_id"] == parent
    refused = dev.client(OPERATOR).post("/instances", json={"workflow_id": hand, "parent_instance_id": "nobody"})
    assert refused.status_code == 404


def test_an_approval_is_escalated_and_decided_once(dev: Server) -> None:
    """C-66, W-4.6.1, W-4.6.4, W-4.6.5: who may not decide is refused, who may passes it on, and the second decision
    is a conflict that says who was first."""
    instance = _started(dev, "wf_defect_alert_v2", input={"line_id": "L01"})
    _stands(dev, instance, "waiting")
    manager, operator, qa = dev.client(MANAGER), dev.client(OPERATOR), dev.client(QA)
    (one,) = [one for one in manager.get("/approvals").json()["items"] if one["instance_id"] == instance]
    assert (one["status"], one["approvers"], one["node_id"]) == (
        "pending",
        ["role:quality_manager"],
        "request_approval",
    )
    assert one["deadline"] and one["decisions"] == []
    assert operator.post(f"/approvals/{one['id']}/approve").status_code == 403
    refused = qa.post(f"/approvals/{one['id']}/approve")
    assert refused.status_code == 403 and refused.json()["code"] == "APPROVER_DENIED"
    assert qa.post(f"/approvals/{one['id']}/escalate", json={"to": "role:qa_lead"}).status_code == 403
    around = qa.post(f"/inbox/{instance}/request_approval/respond", json={"value": "approved"})
    assert around.status_code == 409, around.text
    unknown = manager.post(f"/approvals/{one['id']}/escalate", json={"to": "role:nobody"})
    assert unknown.status_code == 422, unknown.text
    passed = manager.post(f"/approvals/{one['id']}/escalate", json={"to": "role:qa_lead", "comment": "please"})
    assert passed.status_code == 200, passed.text
    assert qa.get("/approvals?mine=true").json()["items"][0]["id"] == one["id"]
    done = qa.post(f"/approvals/{one['id']}/approve", json={"comment": "checked"})
    assert done.status_code == 200, done.text
    ended = _stands(dev, instance, "completed")
    assert ended["context"]["approval_result"]["approver"] == QA
    events = [one["event"] for one in manager.get(f"/instances/{instance}/history").json()["items"]]
    assert "escalate_action" in events and "approve_action" in events
    late = manager.post(f"/approvals/{one['id']}/reject")
    assert late.status_code == 409 and QA in late.json()["detail"]
    decided = late.json()["decided"]
    assert (decided["by"], decided["decision"]) == (QA, "approved") and "T" in decided["at"]


def test_a_verdict_that_nobody_is_sure_of_is_reviewed(dev: Server) -> None:
    """C-52, C-66: a judgment that escalates waits for a reviewer, who posts the decision."""
    document = {
        "id": "wf_review", "name": "Review", "version": 1,
        "nodes": [
            {"id": "judge", "type": "JUDGMENT", "policy": {"type": "ESCALATE", "rule_pack": "defect_rules_v3"},
             "input": {"data": [{"defect_rate": 0.01}]}, "output": {"variable": "verdict"}},
        ],
        "edges": [],
    }  # fmt: skip
    manager, qa = dev.client(MANAGER), dev.client(QA)
    instance = _started(dev, in_force(dev, document))
    _stands(dev, instance, "waiting")
    (one,) = manager.get("/judgment-reviews").json()["items"]
    assert (one["instance_id"], one["node_id"]) == (instance, "judge")
    verdict = {"instance_id": instance, "node_id": "judge", "decision": "warning", "comment": "seen"}
    assert qa.post("/judgment-reviews", json=verdict).status_code == 403
    assert manager.post("/judgment-reviews", json={**verdict, "decision": "perhaps"}).status_code == 422
    for who in (qa, manager):  # nobody gets round the reviewer, nor round the form of a verdict
        around = who.post(f"/inbox/{instance}/judge/respond", json={"value": {"decision": "normal"}})
        assert around.status_code == 409, around.text
    assert manager.post(f"/approvals/{one['id']}/approve").status_code == 404, "a review is no approval"
    assert manager.post("/judgment-reviews", json={**verdict, "confidence": 0.5}).status_code == 200
    ended = _stands(dev, instance, "completed")["context"]["verdict"]
    assert (ended["decision"], ended["decided_by"], ended["reasoning"]) == ("warning", "human", "seen")
    assert ended["confidence"] == 0.5
    late = manager.post("/judgment-reviews", json=verdict)
    assert late.status_code == 409 and late.json()["decided"]["decision"] == "warning", late.text
    assert manager.post("/judgment-reviews", json={**verdict, "instance_id": "x"}).status_code == 404
