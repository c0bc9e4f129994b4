"""Deciding over HTTP: one of two that a node asks, with the roles of a key, and not once somebody is let go."""

from __future__ import annotations

from typing import Any

from tests.api.places import ADMIN, MANAGER, OPERATOR
from tests.api.serving import Server, until
from tests.api.test_decision_words import QA, in_force
from tests.app.test_inbox import TWICE


def twice(dev: Server, name: str) -> tuple[str, list[dict[str, Any]]]:
    """A run whose one node asks twice, and what it asks."""
    admin, operator, qa = dev.client(ADMIN), dev.client(OPERATOR), dev.client(QA)
    kept = admin.post("/diagrams", json={"document": {**TWICE, "name": name}})
    assert kept.status_code == 201, kept.text
    run = operator.post(f"/diagrams/{kept.json()['id']}/runs", json={}).json()["run_id"]
    listed = until(
        lambda: [one for one in qa.get("/inbox", params={"limit": 200}).json()["items"] if one["run"] == run],
        lambda found: len(found) == 2,
    )
    return run, listed


def approving(id: str, *targets: str) -> dict[str, Any]:
    request = {"title": "?", "approvers": {"type": "any_of", "targets": list(targets)}}
    return {"id": id, "version": 1, "nodes": [{"id": "ask", "type": "APPROVAL", "request": request}], "edges": []}


def asked(dev: Server, workflow: str) -> str:
    made = dev.client(OPERATOR).post("/runs", json={"definition": workflow, "input": {}})
    assert made.status_code == 201, made.text
    run = str(made.json()["id"])
    until(lambda: dev.client(QA).get(f"/inbox/{run}/ask").status_code, lambda status: status == 200)
    return run


def keyed(dev: Server, user: str, *roles: str) -> Any:
    made = dev.client(ADMIN).post("/keys", json={"name": user, "user": user, "roles": list(roles)})
    assert made.status_code == 201, made.text
    return dev.client(key=made.json()["token"])


def test_one_of_two_that_a_node_asks(dev: Server) -> None:
    """D-3.2: every route takes NODE~FIRING; NODE alone says which there are; the ETag is of one of them."""
    run, (one, two) = twice(dev, "twice-inbox")
    qa = dev.client(QA)
    for answer in (qa.get(f"/inbox/{run}/Ask"), qa.post(f"/inbox/{run}/Ask/respond", json={"value": "x"})):
        assert answer.status_code == 409 and one["id"] in answer.text and two["id"] in answer.text
    looks = [qa.get(f"/inbox/{found['id']}") for found in (one, two)]
    assert [look.status_code for look in looks] == [200, 200]
    assert looks[0].headers["etag"] != looks[1].headers["etag"]
    assert qa.post(f"/inbox/{one['id']}/claim").json()["claimed_by"] == QA
    assert qa.get(f"/inbox/{two['id']}").json()["claimed_by"] is None
    done = qa.post(f"/inbox/{one['id']}/respond", json={"value": "first"})
    assert done.status_code == 200, done.text
    assert qa.get(f"/inbox/{run}/Ask").json()["id"] == f"{run}/Ask"
    assert qa.post(f"/inbox/{two['id']}/respond", json={"value": "second"}).json()["state"] == "COMPLETED"


def test_one_of_two_in_the_words_of_a_diagram(dev: Server) -> None:
    """D-X.29, D-3.2."""
    run, (one, two) = twice(dev, "twice-diagram")
    qa = dev.client(QA)
    at = f"/diagram-runs/{run}/nodes"
    assert qa.post(f"{at}/Ask:respond", json={"value": "x"}).status_code == 409
    for found in (two, one):
        done = qa.post(f"{at}/{found['id'].partition('/')[2]}:respond", json={"value": "x"})
        assert done.status_code == 200, done.text
    assert done.json()["status"] == "COMPLETED"


def test_an_approval_by_its_firing(dev: Server) -> None:
    """C-66: INSTANCE:NODE~FIRING is taken also where one waits."""
    run = asked(dev, in_force(dev, approving("wf_by_firing", "role:qa_lead")))
    qa = dev.client(QA)
    wrong = qa.post(f"/approvals/{run}:ask~999/approve")
    assert wrong.status_code == 404, wrong.text
    codes = [qa.post(f"/approvals/{run}:ask~{n}/approve").status_code for n in range(20)]
    assert codes.count(200) == 1 and set(codes) <= {200, 404, 409}


def test_the_role_of_a_key_counts(dev: Server) -> None:
    """C-32, Z19: what `/me` says is what decides."""
    run = asked(dev, in_force(dev, approving("wf_key_role", "role:quality_manager")))
    robot, other = keyed(dev, "robot-qm", "quality_manager"), keyed(dev, "robot-qa", "qa_lead")
    assert robot.get("/me").json()["roles"] == ["quality_manager"]
    assert run in [one["run"] for one in robot.get("/inbox", params={"limit": 200}).json()["items"]]
    assert run not in [one["run"] for one in other.get("/inbox", params={"limit": 200}).json()["items"]]
    assert robot.get(f"/inbox/{run}/ask").json()["eligible"]
    assert other.post(f"/inbox/{run}/ask/approve", json={}).status_code == 403
    done = robot.post(f"/inbox/{run}/ask/approve", json={})
    assert done.status_code == 200 and done.json()["state"] == "COMPLETED", done.text


def test_who_is_let_go_is_kept_out(dev: Server) -> None:
    """Z19: also with a key that has roles of its own, until the user is active again."""
    admin = dev.client(ADMIN)
    body = {"roles": ["qa_lead"]}
    assert admin.put("/users/leaver@example.com", json=body).status_code == 200
    leaver = keyed(dev, "leaver@example.com", "quality_manager")
    run = asked(dev, in_force(dev, approving("wf_leaver", "role:quality_manager")))
    assert leaver.get(f"/inbox/{run}/ask").json()["eligible"]
    assert admin.put("/users/leaver@example.com", json={**body, "active": False}).status_code == 200
    refused = leaver.post(f"/inbox/{run}/ask/approve", json={})
    assert refused.status_code == 401 and "not active" in refused.json()["detail"], refused.text
    assert leaver.get("/me").status_code == 401
    assert admin.put("/users/leaver@example.com", json=body).status_code == 200
    assert leaver.post(f"/inbox/{run}/ask/approve", json={}).status_code == 200
    assert dev.client(MANAGER).get("/me").status_code == 200
