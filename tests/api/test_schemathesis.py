"""The whole API against its own description: made-up requests, no server error, and every answer in its schema."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.api.serving import Server, until
from tests.conformance.process.drawings import decided

#: how many requests of each kind are made up for an operation, and from which number on
EXAMPLES = int(os.environ.get("PENSTOCK_EXAMPLES", "2"))
SEED = int(os.environ.get("PENSTOCK_SEED", "1"))
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
#: they do not end
STREAMS = {"/api/v1/stream", "/api/v1/runs/{run}/events", "/api/v1/diagram-runs/{id}/events"}
ADMIN = "admin@example.com"


@pytest.fixture(scope="module")
def known(either: Server) -> dict[str, Any]:
    """Ids of things that are there, so that not every answer is a 404."""
    admin = either.client(ADMIN)
    token = admin.post("/keys", json={"name": "all", "user": "fuzz", "roles": ["admin"]}).json()["token"]
    spare = admin.post("/keys", json={"name": "spare", "user": "nobody"}).json()["id"]
    run = admin.post("/runs", json={"definition": "wf_defect_alert_v2", "input": {"line_id": "L01"}}).json()["id"]
    admin.put("/drafts/mine", json={"body": 1})
    until(lambda: admin.get(f"/runs/{run}").json()["state"], lambda state: state == "WAITING")
    asked: dict[str, Any] = {"process_definition_id": "known", "process_definition_name": "Known"}
    asked["activities"] = [{"id": "a", "name": "A", "type": "humanTask"}]
    assert admin.post("/processes/definitions", json=asked).status_code == 201
    instance = admin.post("/processes/definitions/known/instances", json={}).json()["proc_inst_id"]
    item = admin.get(f"/processes/instances/{instance}").json()["workitems"][0]["id"]
    draft = admin.post("/processes/drafts", json={"text": decided("drawn")}).json()["id"]
    ids = {
        "run": run, "node": "request_approval", "node_id": "request_approval", "name": "wf_defect_alert_v2",
        "version": 2, "workflow_id": "wf_defect_alert_v2", "workflow": "wf_defect_alert_v2", "key": "mine",
    }  # fmt: skip
    by_path = {
        "workflows": "wf_defect_alert_v2", "instances": run, "approvals": f"{run}:request_approval", "keys": spare,
        "users": "viewer@example.com", "rule-packs": "defect_rules_v3", "connections": "postgres_main",
        "processes/definitions": "known", "processes/instances": instance, "processes/workitems": item,
        "processes/drafts": draft, "processes/mining": "known",
    }  # fmt: skip
    return {"token": token, "ids": ids, "by_path": by_path}


def test_every_answer_is_in_its_schema(
    either: Server, known: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """C-66, D-X.29: requests that fit the description and requests that do not: 0 server errors, and every status, type
    and body is one that the description names."""
    spec = httpx2.get(f"{either.url}/api/v1/openapi.json", timeout=60).json()
    schema, answers, wrong = schemathesis.openapi.from_dict(spec), Counter[str](), list[str]()
    operations = [one.ok() for one in schema.get_all_operations()]
    for operation in operations:
        if operation.path in STREAMS:
            continue
        for mode in GenerationMode:
            _tried(either, operation, mode, known, answers, wrong)
    with capsys.disabled():
        print(f"\nschemathesis on {either.kind} from seed {SEED}: {len(operations)} operations, {dict(answers)}")
        print("\n".join(wrong))
    assert not wrong
    assert answers["2xx"] > 100 and answers["4xx"] > 100 and not answers["5xx"]


def _tried(
    either: Server, operation: Any, mode: GenerationMode, known: dict[str, Any], answers: Counter[str], wrong: list[str]
) -> None:
    @seed(SEED)
    @settings(
        max_examples=EXAMPLES, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=operation.as_strategy(generation_mode=mode), real=st.booleans())
    def one(case: Case, real: bool) -> None:
        if real and case.path_parameters:
            parts = operation.path.removeprefix("/api/v1/").split("/")
            first = "/".join(parts[:2]) if parts[0] == "processes" else parts[0]
            ids = {**known["ids"], "id": known["by_path"].get(first, "something")}
            case.path_parameters.update({name: ids.get(name, value) for name, value in case.path_parameters.items()})
        if isinstance(case.body, dict) and type(case.body.get("wait_ms")) is int:
            case.body["wait_ms"] = min(case.body["wait_ms"], 1)  # nobody waits a minute for a job that does not come
        answer = case.call(base_url=either.url, headers={"Authorization": f"Bearer {known['token']}"}, timeout=120)
        answers[f"{answer.status_code // 100}xx"] += 1
        try:
            case.validate_response(answer, checks=CHECKS)
        except BaseException as error:
            wrong.append(f"{operation.label} {case.as_curl_command()[:900]}\n{str(error)[:900]}")

    try:
        one()
    except Exception as error:  # a request that cannot be made up, such as a wrong body where there is none
        if type(error).__name__ not in ("Unsatisfiable", "SkipTest", "Skipped"):
            wrong.append(f"{operation.label}: {type(error).__name__} {error} {getattr(error, 'exceptions', '')}"[:2000])
