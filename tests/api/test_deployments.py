"""Deployments over HTTP: who may do what, what is answered, and that a run gets the same without a server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from penstock.api.options import Options
from penstock.api.self_calls import SelfCalls
from penstock.app.own_api import answerer
from penstock.executors.parts.network.http_call import HttpCall, HttpReply
from tests.api.in_process import Site, on_site
from tests.api.places import ADMIN, MANAGER, OPERATOR, VIEWER, in_force
from tests.api.serving import Server, until
from tests.app.test_deployments import BACK, CANARY, NEW, PACK, request
from tests.app.workflows import workflow

IT = "it@example.com"
ASKED = {"artifact": {"type": "rule_pack", "id": PACK, "version": NEW}, "strategy": CANARY, "rollback": BACK}


@pytest.fixture
def begun(either: Server) -> str:
    answer = either.client(IT).post("/deploy", json=ASKED)
    assert answer.status_code == 201, answer.text
    assert answer.headers["location"] == f"/api/v1/deploy/{answer.json()['deployment_id']}"
    return str(answer.json()["deployment_id"])


def test_c_66_status_and_detail(either: Server, begun: str) -> None:
    """C-66: the status has exactly the members of the catalogue, under both prefixes; the detail names the moves."""
    viewer = either.client(VIEWER)
    told = viewer.get(f"/deploy/{begun}/status").json()
    assert told == {
        "deployment_id": begun, "status": "in_progress", "progress": 10, "current_percent": 10, "stage": 1,
    }  # fmt: skip
    assert viewer.get(f"{either.url}/api/deploy/{begun}/status").json() == told
    detail = viewer.get(f"/deploy/{begun}").json()
    assert detail["started_at"].endswith("Z") and detail["stages"][1]["begins_at"] == detail["next_at"]
    assert [(move["move"], move["permission"], move["allowed"]) for move in detail["moves"]] == [
        ("pause", "deploy.pause", False), ("promote", "deploy.promote", False),
        ("rollback", "deploy.rollback", False),
    ]  # fmt: skip
    assert all(move["allowed"] for move in either.client(IT).get(f"/deploy/{begun}").json()["moves"])
    listed = viewer.get("/deploy", params={"status": "in_progress", "total": True, "limit": 1}).json()
    assert listed["items"][0]["deployment_id"] == begun and listed["total"] >= 1
    # the run that moves it on has said so
    until(lambda: viewer.get(f"/deploy/{begun}").json()["rollout_run_id"], lambda run: run is not None)


@pytest.mark.parametrize(
    ("user", "may"),
    [
        (VIEWER, []), (OPERATOR, ["pause", "resume"]), (MANAGER, ["pause", "resume", "rollback"]),
        (IT, ["pause", "resume", "promote", "rollback"]), (ADMIN, ["pause", "resume", "promote", "rollback"]),
    ],
)  # fmt: skip
def test_who_may_move_it(either: Server, begun: str, user: str, may: list[str]) -> None:
    """W-4.11.1: each move needs its permission; a refusal names it, and changes nothing."""
    client = either.client(user)
    for move in ("pause", "resume", "promote", "rollback"):
        before = client.get(f"/deploy/{begun}").json()["status"]
        answer = client.post(f"/deploy/{begun}/{move}", json={"reason": "because"})
        if move in may:
            assert answer.status_code == 200, answer.text
            assert answer.json()["events"][0]["who"] == user
        else:
            permission = "deploy.pause" if move == "resume" else f"deploy.{move}"
            assert answer.status_code == 403 and permission in answer.json()["detail"]
            assert client.get(f"/deploy/{begun}").json()["status"] == before
    if user in (VIEWER, OPERATOR, MANAGER):
        assert client.post("/deploy", json=ASKED).status_code == 403


def test_moves_are_audited_and_refused_where_the_status_forbids(either: Server, begun: str) -> None:
    client = either.client(IT)
    assert client.post(f"/deploy/{begun}/resume").status_code == 409
    assert client.post(f"/deploy/{begun}/rollback").json()["status"] == "rolled_back"
    assert client.post(f"/deploy/{begun}/rollback").status_code == 200, "W-11.3.11: once more is no conflict"
    refused = client.post(f"/deploy/{begun}/promote")
    assert refused.status_code == 409 and refused.json()["hint"]
    entries = [entry for entry in either.client(ADMIN).get("/audit").json()["items"] if begun in entry["target"]]
    assert {entry["action"] for entry in entries} >= {"POST /deploy/{id}/rollback", "POST /deploy/{id}/promote"}
    assert {entry["actor"] for entry in entries} == {IT}
    # the run that moved it ends with it
    run = client.get(f"/deploy/{begun}").json()["rollout_run_id"]
    if run is not None:
        until(lambda: client.get(f"/runs/{run}").json()["state"], lambda state: state == "COMPLETED")


def test_w_4_12_1_a_rollback_leads_to_what_was_there_before(either: Server, begun: str) -> None:
    """W-4.12.1: whoever may take a deployment back may not deploy another version that way."""
    refused = either.client(MANAGER).post(f"/deploy/{begun}/rollback", json={"to_version": NEW})
    assert refused.status_code == 409 and refused.json()["code"] == "ROLLBACK_TARGET", refused.text
    assert either.client(IT).get(f"/deploy/{begun}").json()["status"] == "in_progress"


def test_the_same_key_begins_one_deployment(either: Server) -> None:
    client = either.client(IT)
    first, again = (client.post("/deploy", json=ASKED, headers={"Idempotency-Key": "roll-1"}) for _ in range(2))
    assert first.json()["deployment_id"] == again.json()["deployment_id"]
    assert again.headers["Idempotency-Replayed"] == "true"


@pytest.mark.parametrize(
    ("change", "status", "where"),
    [
        ({"strategy": {"type": "canary", "canary": {"initial_percent": 120}}}, 400, "initial_percent"),
        ({"strategy": {"type": "canary", "canary": {"intial_percent": 20}}}, 422, "intial_percent"),
        ({"strategy": {"type": "sudden"}}, 422, "/strategy/type"),
        ({"artifact": {"type": "spoon", "id": PACK}}, 422, "/artifact/type"),
        ({"artifact": {"type": "rule_pack"}}, 422, "/artifact/id"),
        ({"artifact": {"type": "rule_pack", "id": PACK, "version": "9.9.9"}}, 404, "9.9.9"),
        ({"artifact": {"type": "rule_pack", "id": "none"}}, 404, "none"),
        ({"artifact": {"type": "workflow", "id": "wf_none", "version": 1}}, 404, "wf_none"),
        ({"scope": {"line_ids": ["L99"]}}, 422, "L99"),
        ({"rollback": {"trigger": {"error_rate": 7}}}, 400, "error_rate"),
        ({"more": 1}, 422, "/more"),
        ({"environment": "prodction"}, 422, "prodction"),
        ({"notification": {"channels": 5}}, 422, "notification.channels"),
    ],
)
def test_bad_input_is_a_problem_with_its_place(
    either: Server, change: dict[str, Any], status: int, where: str
) -> None:  # fmt: skip
    client = either.client(IT)
    before = len(client.get("/deploy", params={"limit": 200}).json()["items"])
    answer = client.post("/deploy", json={**ASKED, **change})
    assert answer.status_code == status, answer.text
    assert where in answer.text and answer.json()["code"]
    assert len(client.get("/deploy", params={"limit": 200}).json()["items"]) == before
    for path in ("/deploy/dep_none", "/deploy/dep_none/status"):
        assert client.get(path).status_code == 404
    assert client.get("/deploy", params={"cursor": "nonsense"}).status_code == 400
    assert client.get("/deploy", params={"status": "paused,nope"}).status_code == 422
    assert client.get("/deploy", params={"status": "paused,failed"}).status_code == 200


def test_served_or_not_a_run_gets_the_same_answers(tmp_path: Path) -> None:
    """C-66, C-28: the own API answers byte for byte the same where nobody serves it."""

    async def body(site: Site) -> None:
        door = site.door
        begun = door.deployments.kept.begin(request(), key="k", at=door.now(), run="run-1", node="deploy")
        by_hand = await door.deployments.begin(request(), by="it@example.com")
        served, unserved = SelfCalls(site.app, Options(dev=True)).send, answerer(door)

        async def both(method: str, path: str) -> tuple[HttpReply, HttpReply]:
            call = HttpCall(method=method, url=f"own:{path}", headers=(("content-type", "application/json"),))
            first = await served(door.tenant, call)
            return first, await unserved(door.tenant, call)

        for prefix in ("/api", "/api/v1"):
            for path in (f"/rule-packs/{PACK}", f"/deploy/{begun.id}/status"):
                ours, theirs = await both("GET", prefix + path)
                assert ours.status == theirs.status == 200
                assert json.loads(ours.body) == json.loads(theirs.body)
            for path in ("/rule-packs/none", "/deploy/none/status"):
                ours, theirs = await both("GET", prefix + path)
                assert ours.status == theirs.status == 404
                assert json.loads(ours.body)["code"] == json.loads(theirs.body)["code"]
            ours, theirs = await both("POST", f"{prefix}/deploy/{by_hand.id}/rollback")
            assert ours.status == theirs.status == 403
            ours, theirs = await both("POST", f"{prefix}/deploy/{begun.id}/rollback")
            assert ours.status == theirs.status == 200
            assert json.loads(ours.body) == json.loads(theirs.body)

    on_site(body, tmp_path, rounds=0)


# ---- definitions (W-9.4) ---------------------------------------------------------------------------------------------


def test_w_9_4_1_from_the_document_to_its_rollout(either: Server) -> None:
    """W-9.4.1, C-61: errors are returned; else it is simulated, the approver has the report, rejects with feedback,
    approves; it is rolled out by parts, watched, and in force at the end. The author is told in the seed's words."""
    admin, manager = either.client(ADMIN), either.client(MANAGER)
    name = in_force(admin, manager, workflow("wf_rolled"))
    wrong = admin.post(
        "/workflows", json={"dsl": workflow("wf_rolled", version=2, edges=[{"from": "first", "to": "x"}])}
    )
    assert wrong.status_code == 422 and wrong.json()["findings"]
    second = workflow("wf_rolled", version=2, name="second")
    submitted = admin.post("/workflows", json={"dsl": second}).json()
    assert (submitted["status"], submitted["message"]) == ("pending_approval", "Approval requested")
    at = f"/workflows/{name}/versions/2"
    report = admin.post(f"{at}/simulate", json={"runs": 20}).json()
    assert report["version"] == 2 and report["baseline"] == 1
    assert set(report["simulation"]["dry_run"]["reached"]) >= {"first", "second"}
    assert report["replay"]["against"] == 1
    kept = manager.get(f"/simulations/{report['simulation_id']}")
    assert kept.status_code == 200 and kept.json()["artifact"] == {"type": "workflow", "id": name}, kept.text
    assert "<html" in manager.get(f"/simulations/{report['simulation_id']}/report.html").text
    assert report["simulation_id"] in manager.get("/simulations").text
    assert manager.get(f"/simulations/{report['simulation_id']}/report.json").json()["replay"]["against"] == 1
    assert manager.get(f"/simulations/{report['simulation_id']}/report.pdf").status_code == 400
    back = manager.post(f"{at}/reject", json={"feedback": "too short"}).json()
    assert back["message"] == "Approval rejected with feedback" and "too short" in back["feedback"]
    assert admin.get(at).json()["message"] == "Approval rejected with feedback"
    assert admin.post(f"{at}/deploy").status_code == 409, "nobody has approved it"
    assert admin.post("/workflows", json={"dsl": second}).json()["status"] == "pending_approval"
    assert manager.post(f"{at}/approve").json()["message"] == "Approved"
    assert manager.post(f"{at}/deploy").status_code == 403, "who approves does not activate"
    rollout = admin.post(f"{at}/deploy", json={"strategy": CANARY})
    assert rollout.status_code == 201, rollout.text
    id = rollout.json()["deployment_id"]
    assert rollout.json()["artifact"] == {"type": "workflow", "id": name}
    assert (rollout.json()["version"], rollout.json()["previous_version"]) == ("2", "1")
    assert admin.get(at).json()["status"] == "approved", "10 % is not in force"
    for _ in range(4):
        if admin.get(f"/deploy/{id}/status").json()["status"] == "in_progress":
            admin.post(f"/deploy/{id}/promote")
    assert admin.get(f"/deploy/{id}/status").json()["status"] == "succeeded"
    ended = until(lambda: admin.get(at).json(), lambda version: version["status"] == "active")
    assert ended["message"] == "Workflow activated"
    assert admin.get(f"/workflows/{name}/versions/1").json()["status"] == "deprecated"


def test_w_9_4_1_a_share_of_the_runs_gets_the_new_version(either: Server) -> None:
    """W-9.4.1, C-58: at 50 % about half of the runs are of each version, whoever starts them; taken back, none is."""
    admin, manager = either.client(ADMIN), either.client(MANAGER)
    name = in_force(admin, manager, workflow("wf_shared"))
    admin.post("/workflows", json={"dsl": workflow("wf_shared", version=2, name="second")})
    at = f"/definitions/{name}/versions/2"
    assert manager.post(f"{at}/approve").status_code == 200
    half = {"type": "canary", "canary": {"initial_percent": 50, "increment_percent": 50, "interval_minutes": 60}}
    id = admin.post(f"{at}/deploy", json={"strategy": half}).json()["deployment_id"]

    def versions(count: int) -> list[int]:
        runs = [admin.post("/runs", json={"definition": name, "input": {}}).json()["id"] for _ in range(count)]
        return [admin.get(f"/runs/{run}").json()["version"] for run in runs]

    got = versions(60)
    assert set(got) == {1, 2} and 15 <= got.count(2) <= 45
    assert admin.post("/runs", json={"definition": name, "version": 1, "input": {}}).status_code == 201
    first, again = (admin.post("/runs", json={"definition": name, "key": "k-1"}).json()["id"] for _ in range(2))
    assert first == again, "the same key is the same run, whichever version it has got"
    assert admin.post(f"/deploy/{id}/rollback").json()["status"] == "rolled_back"
    assert set(versions(10)) == {1}
    assert admin.get(at).json()["status"] == "approved"


def test_w_9_4_1_what_is_activated_by_hand_is_in_force(either: Server) -> None:
    """A version that somebody puts in force is not hidden by one that was rolled out before; nor is what a roll back
    after the end puts back."""
    admin, manager = either.client(ADMIN), either.client(MANAGER)
    name = in_force(admin, manager, workflow("wf_by_hand"))
    for version in (2, 3):
        admin.post("/workflows", json={"dsl": workflow("wf_by_hand", version=version, name=f"v{version}")})
        assert manager.post(f"/definitions/{name}/versions/{version}/approve").status_code == 200

    def started() -> int:
        run = admin.post("/runs", json={"definition": name, "input": {}}).json()["id"]
        return int(admin.get(f"/runs/{run}").json()["version"])

    def status(version: int) -> str:
        return str(admin.get(f"/definitions/{name}/versions/{version}").json()["status"])

    id = admin.post(f"/definitions/{name}/versions/2/deploy").json()["deployment_id"]
    until(lambda: status(2), lambda found: found == "active")
    assert started() == 2
    assert admin.post(f"/definitions/{name}/versions/3/activate").status_code == 200
    assert started() == 3
    assert admin.post(f"/definitions/{name}/versions/2/activate").status_code == 200
    assert started() == 2
    again = admin.post(f"/definitions/{name}/versions/3/deploy")
    assert again.status_code == 201, again.text
    last = again.json()["deployment_id"]
    until(lambda: status(3), lambda found: found == "active")
    assert admin.post(f"/deploy/{last}/rollback").json()["to_version"] == "2"
    assert (status(2), started()) == ("active", 2) and id != last


def test_simulate_answers_problems(either: Server) -> None:
    admin = either.client(ADMIN)
    assert admin.post("/workflows/wf_none/versions/1/simulate").status_code == 404
    assert admin.post("/definitions/wf_defect_alert_v2/versions/99/simulate").status_code == 404
    for body in ({"runs": -1}, {"runs": 10**9}, {"due_ms": 0}, {"seed": -3}, {"speed": 1}):
        assert admin.post("/definitions/wf_defect_alert_v2/versions/2/simulate", json=body).status_code == 422
    assert either.client(VIEWER).post("/definitions/wf_defect_alert_v2/versions/2/simulate").status_code == 403


def test_environment_of_a_run(either: Server) -> None:
    """C-82: a start may name the environment whose deployments it uses; a wrong name is said."""
    admin: httpx2.Client = either.client(ADMIN)
    body = {"definition": "wf_defect_alert_v2", "input": {"line_id": "L01"}}
    assert admin.post("/runs", json={**body, "environment": "staging"}).status_code == 201
    refused = admin.post("/runs", json={**body, "environment": "no such/one"})
    assert refused.status_code == 400 and "environment" in refused.json()["detail"]
    instance = {"workflow_id": "wf_defect_alert_v2", "input": {"line_id": "L01"}, "environment": "staging"}
    assert admin.post("/instances", json=instance).status_code == 201
