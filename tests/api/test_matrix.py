"""Every endpoint against everybody who has no business there: the list is made from the routes."""

from __future__ import annotations

import base64
import json
import re
from typing import Any
from urllib.parse import urlencode

import httpx2
import msgspec
import pytest

from penstock.app.penstock import Penstock
from penstock.app.process.autonomy.assessment import Assessment
from penstock.store.autonomy import AutonomyProposalRow
from tests.api.plans import DONE, ProjectFolder
from tests.api.serving import Server, until
from tests.app.pipelines import EXAMPLE, a_pipeline, a_stage
from tests.conformance.process.drawings import decided

ADMIN, OPERATOR, VIEWER = "admin@example.com", "operator@example.com", "viewer@example.com"
#: open to everybody: they tell nothing of a tenant, or make a session out of what the caller knows
PUBLIC = {
    "GET /health", "GET /ready", "POST /session", "DELETE /session", "GET /dev/users", "POST /dev/session",
    "GET /metrics", "GET /metrics/detail",  # to a scraper in dev; elsewhere it has a token
}  # fmt: skip
#: the caller's own, whoever it is
OWN = {"GET /me", "GET /words", "GET /drafts", "GET /drafts/{key}", "PUT /drafts/{key}", "DELETE /drafts/{key}"}
#: whoever may look at the inbox may say something about it
COMMENTS = {"POST /inbox/{run}/{node}/comment", "POST /inbox/{run}/{node}/looking"}
#: they look only, although their question has a body
LOOKS = {
    "POST /definitions/check", "POST /definitions/inspect", "POST /workflows/validate", "POST /diagrams:validate",
    "POST /rule-packs/{id}/test", "POST /feel",
}  # fmt: skip
#: F-X.31: the first tenant's pipelines are the product's, and everybody begins them with files of their own
PRODUCT = {"GET /pipelines/definitions/{code}", "POST /pipelines/definitions/{code}/executions"}
#: streams do not end
STREAMS = {"GET /stream", "GET /runs/{run}/events", "GET /diagram-runs/{id}/events", "GET /projects/{id}/events"}


@pytest.fixture(scope="module")
def world(either: Server) -> dict[str, Any]:
    """A tenant with something of everything, and keys of another tenant and of a viewer."""
    admin = either.client(ADMIN)
    made = admin.post("/tenants", json={"id": "other", "name": "Another", "admin": "boss@other"})
    assert made.status_code == 201, made.text
    viewer = admin.post("/keys", json={"name": "viewer", "user": VIEWER})
    run = admin.post("/runs", json={"definition": "wf_defect_alert_v2", "input": {"line_id": "L01"}}).json()["id"]
    kept = admin.post("/diagrams", json={"document": _ask()})
    assert kept.status_code == 201, kept.text
    diagram = admin.post("/diagrams/ask/runs", json={}).json()["run_id"]
    until(lambda: admin.get(f"/runs/{run}").json()["state"], lambda state: state == "WAITING")
    until(lambda: admin.get(f"/runs/{diagram}").json()["state"], lambda state: state == "WAITING")
    made_up = {"process_definition_name": "Ours", "activities": [{"id": "a", "name": "김품질", "type": "humanTask"}]}
    held = admin.post("/processes/definitions", json={"process_definition_id": "ours", **made_up})
    assert held.status_code == 201, held.text
    instance = admin.post("/processes/definitions/ours/instances", json={}).json()["proc_inst_id"]
    (item,) = admin.get("/processes/workitems", params={"limit": 200}).json()["items"][-1:]
    assert item["proc_inst_id"] == instance
    drawing = admin.post("/processes/drafts", json={"name": "canary-5f1d.bpmn", "text": decided("drawn_by_us")})
    assert drawing.status_code == 201, drawing.text
    pipeline = a_pipeline("FILES_OF_OURS", stages=[a_stage("only", 1)])
    assert admin.post("/definitions", json={"document": json.dumps(pipeline)}).status_code == 201
    message = {**EXAMPLE, "tenantId": "tenant_001"}
    (taken,) = admin.post("/pipelines/ingest", json=message).json()["files"]
    (execution,) = taken["executionIds"]
    until(lambda: admin.get(f"/pipelines/executions/{execution}").json()["status"], lambda status: status == "FAILED")
    yearly = {"schedule_name": "yearly", "pipeline_code": "FILES_OF_OURS", "schedule_type": "CRON"}
    schedule = admin.post("/pipelines/schedules", json={**yearly, "cron_expression": "0 0 1 1 *"})
    assert schedule.status_code == 201, schedule.text
    project = _project(either, admin)
    assert admin.put("/secrets/canary", json={"value": "canary-5f1d"}).status_code == 204
    assert admin.put("/drafts/mine", json={"body": "mine"}).status_code == 200
    key = admin.post("/keys", json={"name": "to be revoked", "user": OPERATOR}).json()["id"]
    canary = {"artifact": {"type": "rule_pack", "id": "quality_rules_v2"}, "strategy": {"type": "canary"}}
    rollout = admin.post("/deploy", json=canary)
    assert rollout.status_code == 201, rollout.text
    jobs = [{"id": "work", "name": "Work", "type": "serviceTask", "job": "jobs-of-ours"}]
    theirs = {"process_definition_id": "jobs_of_ours", "process_definition_name": "Jobs", "activities": jobs}
    assert admin.post("/processes/definitions", json=theirs).status_code == 201
    assert admin.post("/processes/definitions/jobs_of_ours/instances", json={}).status_code == 201
    (job,) = admin.get("/jobs", params={"type": "jobs-of-ours"}).json()["items"]
    deployment = str(rollout.json()["deployment_id"])
    until(lambda: admin.get(f"/deploy/{deployment}").json()["rollout_run_id"], lambda run: run is not None)
    return {
        "spec": httpx2.get(f"{either.url}/api/v1/openapi.json", timeout=60).json(), "run": run, "diagram": diagram,
        "key": key, "deployment": deployment, "job": job["id"],
        "other": made.json()["token"], "viewer": viewer.json()["token"],
        "execution": execution, "schedule": str(schedule.json()["id"]), "trace": EXAMPLE["traceId"],
        "processes": {
            "definitions": "ours", "instances": instance, "workitems": item["id"], "drafts": drawing.json()["id"],
            "autonomy": _proposal(either), "mining": "ours", **_mined(admin),
        },
        "project": project,
    }  # fmt: skip


def _mined(admin: httpx2.Client) -> dict[str, str]:
    """A log of one of ours, and the model that it shows."""
    rows = "case_id,activity,time\nc1,canary-5f1d,2026-01-01T00:00:00Z\nc1,김품질,2026-01-02T00:00:00Z\n"
    asked = {"name": "canary-5f1d", "content_base64": base64.b64encode(rows.encode()).decode()}
    log = admin.post("/processes/mining/logs", json=asked)
    assert log.status_code == 201, log.text
    model = admin.post(f"/processes/mining/{log.json()['id']}:discover")
    assert model.status_code == 201, model.text
    return {"log": log.json()["id"], "model": model.json()["model_id"]}


def _proposal(either: Server) -> str:
    """For the mode of an agent, as an evaluation would have made it."""
    door = Penstock(either.store, drive=False, tenant="tenant_001").open()
    try:
        row = AutonomyProposalRow(
            "tenant_001", "a-proposal-of-ours", "ours", 1, "a", "김품질", "canary-5f1d", "MANUAL", "SUPERVISED", "open",
            1, msgspec.msgpack.encode(Assessment(0.8)), 1,
        )  # fmt: skip
        assert door.store.put_autonomy_proposal(row, None)
    finally:
        door.close()
    return row.id


def _project(either: Server, admin: httpx2.Client) -> dict[str, str]:
    """One with a task that was done, and what its agent has left."""
    files = ProjectFolder(either.folder / "a-project-of-ours")
    files.task("a", steps=DONE)
    files.task("b")
    id = admin.post("/projects", json={"path": str(files.folder)}).json()["id"]
    assert admin.post(f"/projects/{id}/tasks/a:execute", json={}).status_code == 202
    until(lambda: admin.get(f"/projects/{id}/tasks/a").json()["task"]["status"], lambda status: status == "completed")
    (execution,) = admin.get(f"/projects/{id}/executions").json()["items"]
    return {"id": id, "tid": "b", "sid": execution["session"]}


def _ask() -> dict[str, Any]:
    return {
        "version": "light", "name": "ask",
        "nodes": [
            {"label": "Start", "type": "start"}, {"label": "Ask", "type": "user_response", "prompt": "?"},
            {"label": "End", "type": "endpoint"},
        ],
        "connections": [{"from": "Start", "to": "Ask"}, {"from": "Ask", "to": "End"}],
    }  # fmt: skip


def _calls(world: dict[str, Any]) -> list[tuple[str, str, Any]]:
    """Name, path of something that is there, and a body that would be taken."""
    found = []
    for path, item in sorted(world["spec"]["paths"].items()):
        for method, asked in sorted(item.items()):
            name = f"{method.upper()} {path.removeprefix('/api/v1')}"
            filled = _path(path.removeprefix("/api/v1"), world) + _query(asked, world)
            found.append((name, filled, _body(asked, world)))
    assert len(found) > 150
    return found


def _path(path: str, world: dict[str, Any]) -> str:
    diagram = path.startswith("/diagram-runs")
    run = world["diagram"] if diagram else world["run"]
    ids = {
        "run": run, "instance_id": run, "node": "request_approval", "node_id": "request_approval", "version": "2",
        "name": "canary" if path.startswith("/secrets") else "wf_defect_alert_v2", "workflow_id": "wf_defect_alert_v2",
        "workflow": "wf_defect_alert_v2", "key": "mine", "label": "Ask", "number": "1", "batch": "something",
        "sample_id": f"sample-{run}", "executionId": world["execution"], "stageCode": "only", "code": "FILES_OF_OURS",
        "scheduleId": world["schedule"], "traceId": world["trace"], "format": "html",
    }  # fmt: skip
    first = path.split("/")[1]
    things = {
        "workflows": "wf_defect_alert_v2", "instances": run, "approvals": f"{run}:request_approval", "diagrams": "ask",
        "diagram-runs": run, "users": ADMIN, "rule-packs": "defect_rules_v3", "templates": "defect_alert_v2",
        "connections": "postgres_main", "calendars": "default", "channels": "slack", "keys": world["key"],
        "deploy": world["deployment"], "jobs": world["job"],
    }  # fmt: skip
    ids |= {name: world["project"][name] for name in ("tid", "sid")}
    ids["id"] = things.get(first, "something")
    if first == "projects":
        ids["id"] = world["project"]["id"]
    if first == "processes":
        ids["id"] = world["processes"].get(path.split("/")[2], "something")
        ids |= {name: world["processes"][name] for name in ("log", "model")}
    return re.sub(r"\{(\w+)\}", lambda match: ids[match[1]], path)


def _query(asked: dict[str, Any], world: dict[str, Any]) -> str:
    """What the question must have."""
    schemas = world["spec"]["components"]["schemas"]
    needed = [one for one in asked.get("parameters", ()) if one["in"] == "query" and one.get("required")]
    given = {one["name"]: one.get("example") or _example(one["schema"], schemas) for one in needed}
    return f"?{urlencode(given)}" if given else ""


def _body(asked: dict[str, Any], world: dict[str, Any]) -> Any:
    media = asked.get("requestBody", {}).get("content", {}).get("application/json")
    if media is None:
        return None
    return _example(media.get("schema", {}), world["spec"]["components"]["schemas"])


def _example(schema: dict[str, Any], known: dict[str, Any]) -> Any:
    if "$ref" in schema:
        return _example(known[schema["$ref"].rsplit("/", 1)[-1]], known)
    if schema.get("examples"):
        return schema["examples"][0]
    if schema.get("enum"):
        return schema["enum"][0]
    if "anyOf" in schema:
        return _example(schema["anyOf"][0], known)
    if schema.get("pattern", "").startswith("^("):
        return re.split(r"[()|]", schema["pattern"])[1]
    if schema.get("type") == "object" or "properties" in schema:
        needed = schema.get("required", [])
        return {name: _example(part, known) for name, part in schema.get("properties", {}).items() if name in needed}
    return {"string": "x", "integer": 1, "boolean": True, "array": ["x"]}.get(schema.get("type", ""), {})


def _ask_for(client: httpx2.Client, name: str, path: str, body: Any) -> httpx2.Response:
    return client.request(name.partition(" ")[0], path, json=body if body is not None else None)


def _seen(either: Server, world: dict[str, Any]) -> dict[str, Any]:
    """Everything of the tenant that somebody could have changed."""
    admin = either.client(ADMIN)
    lists = (
        "/runs", "/inbox?mine=false", "/definitions", "/events", "/schedules", "/dlq", "/circuit-breakers", "/users",
        "/roles", "/templates", "/connections", "/rule-packs", "/calendars", "/channels", "/secrets", "/keys",
        "/configs", "/config-proposals", "/aas-shells", "/robots", "/bi-metrics",
        "/drafts", "/tenants", "/processes/definitions", "/processes/workitems", "/processes/events",
        "/processes/autonomy", f"/processes/autonomy/{world['processes']['autonomy']}",
        "/processes/drafts", f"/processes/drafts/{world['processes']['drafts']}", "/processes/mining",
        "/processes/mining/logs", f"/processes/mining/{world['processes']['log']}",
        "/pipelines/executions", "/pipelines/dlq", "/pipelines/schedules", "/deploy", "/jobs",
        f"/pipelines/executions/{world['execution']}", "/projects", f"/projects/{world['project']['id']}/tasks",
        f"/projects/{world['project']['id']}/executions", "/reports",
        f"/runs/{world['run']}/facts", f"/runs/{world['diagram']}/facts",
    )  # fmt: skip
    found = {one: admin.get(one).json() for one in lists}
    for one in found["/keys"]["items"]:
        one.pop("last_used_at")
    for one in (*found["/runs"]["items"],):
        one.pop("active_ms")
    return found


def test_nobody_gets_in_without_a_key(
    either: Server, world: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """C-66, C-78: every endpoint that is not public answers 401 to nobody, and nothing changes."""
    nobody, before, count = either.client(), _seen(either, world), 0
    for name, path, body in _calls(world):
        if name in PUBLIC:
            continue
        answer = _ask_for(nobody, name, path, body)
        assert answer.status_code == 401, f"{name} {answer.status_code} {answer.text}"
        assert answer.json()["code"].startswith("PS-401"), name
        count += 1
    assert _seen(either, world) == before
    _print(capsys, f"matrix on {either.kind}: {count} endpoints without a key: 401")


def test_another_tenant_finds_nothing(
    either: Server, world: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """C-66, C-78: an administrator of another tenant meets 403 or 404 at every thing of this one, lists are empty of
    it, and nothing of it changes."""
    other, before, count = either.client(key=world["other"]), _seen(either, world), 0
    ours: tuple[str, ...] = (world["run"], world["diagram"], world["execution"], world["processes"]["instances"])
    ours += (world["job"], "canary-5f1d", "김품질", world["project"]["sid"], "a-project-of-ours")
    for name, path, body in _calls(world):
        if name in PUBLIC | STREAMS:
            continue
        answer = _ask_for(other, name, path, body)
        if name != "GET /audit":  # which tells what this caller has asked for
            assert not any(one in answer.text for one in ours if one not in path), f"{name} {answer.text}"
        assert answer.status_code < 500, f"{name} {answer.text}"
        if "{" in name and name not in OWN | PRODUCT and not name.startswith("PUT /"):
            assert answer.status_code in (403, 404), f"{name} {answer.status_code} {answer.text}"
        count += 1
    assert _without_keys_and_tenants(_seen(either, world)) == _without_keys_and_tenants(before)
    refused = other.post("/tenants", json={"id": "third", "admin": "x@y"})
    assert refused.status_code == 403 and [one["id"] for one in other.get("/tenants").json()["items"]] == ["other"]
    streams = (f"/runs/{world['run']}/events", f"/diagram-runs/{world['diagram']}/events")
    for path in (*streams, f"/projects/{world['project']['id']}/events"):
        assert other.get(path).status_code == 404
    _print(capsys, f"matrix on {either.kind}: {count} endpoints with another tenant's key: nothing is seen or changed")


def _without_keys_and_tenants(seen: dict[str, Any]) -> dict[str, Any]:
    """The other tenant has made things of its own; what this one sees of them are counts."""
    return {name: value for name, value in seen.items() if name != "/tenants"}


def test_a_viewer_changes_nothing(either: Server, world: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    """C-66: whoever may only look is refused with 403 at everything that changes, before anything else is said."""
    viewer, before, count = either.client(key=world["viewer"]), _seen(either, world), 0
    for name, path, body in _calls(world):
        if name in PUBLIC | OWN | LOOKS | COMMENTS or name.startswith("GET "):
            continue
        answer = _ask_for(viewer, name, path, body)
        assert answer.status_code == 403, f"{name} {answer.status_code} {answer.text}"
        assert answer.json()["code"] == "PS-403-PERMISSION", answer.text
        count += 1
    assert _seen(either, world) == before
    for path in ("/keys", "/audit", "/audit/verify", "/tenants"):
        assert viewer.get(path).status_code == 403, path
    _print(capsys, f"matrix on {either.kind}: {count} changes with a viewer's key: 403")


def _print(capsys: pytest.CaptureFixture[str], text: str) -> None:
    with capsys.disabled():
        print(f"\n{text}")
