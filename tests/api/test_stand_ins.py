"""The laboratory and the store of parts that the seed names, and runs that call their own server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.api.places import ADMIN, MANAGER, OPERATOR, VIEWER, in_force
from tests.api.serving import Server, serving, until

ROOT = Path(__file__).resolve().parents[2]


def _polling() -> dict[str, Any]:
    """11.2 as it is, but for its wait: it asks the laboratory instead of being told (W-4.7.3)."""
    document: dict[str, Any] = json.loads((ROOT / "examples/decision/ccp_deviation.json").read_text())
    document["id"] = "wf_ccp_polling"
    document.pop("trigger", None)
    (wait,) = [one for one in document["nodes"] if one["id"] == "wait_lab"]
    wait["condition"] = {
        "type": "polling",
        "polling": {
            "endpoint": "/api/lab/results/${sample_request.id}", "interval_sec": 0.2,
            "success_condition": "${response.status == 'completed'}",
        },
    }  # fmt: skip
    return document


def test_11_2_polls_the_laboratory_of_its_own_server(either: Server) -> None:
    """C-66, C-28, C-81: `default_api` is the own app; the sample is in progress until its result comes, and the run
    goes on with it. Nobody had to register anything."""
    admin, manager, operator = (either.client(who) for who in (ADMIN, MANAGER, OPERATOR))
    assert admin.get("/connections/default_api").json()["body"]["base_url"] == "own:"
    name = in_force(admin, manager, _polling())
    run = operator.post("/runs", json={"definition": name, "input": {"line_id": "L01"}}).json()["id"]
    sample = f"sample-{run}"
    found = until(lambda: operator.get(f"/lab/results/{sample}"), lambda one: one.status_code == 200).json()
    assert found["status"] in ("in_progress", "completed") and found["sample_id"] == sample
    told = {"sample_id": sample, "result": {"ph": 6.9}}
    assert operator.post("/events", json={"source": "lab.result.completed", "payload": told}).status_code == 202
    result = operator.get(f"/lab/results/{sample}").json()
    assert (result["status"], result["result"]) == ("completed", {"ph": 6.9})
    ended = until(lambda: operator.get(f"/runs/{run}").json(), lambda one: one["state"] == "COMPLETED")
    assert ended["failure"] is None
    assert any(one["actor"] == "own app" for one in admin.get("/audit").json()["items"]) is False, "it only looked"


def test_a_run_gives_its_parts_free_at_its_own_server(either: Server) -> None:
    """C-66, C-28: POST /api/inventory/release by a webhook to a path: noted once, whoever repeats it."""
    admin, manager, operator = (either.client(who) for who in (ADMIN, MANAGER, OPERATOR))
    document = {
        "id": "wf_give_back", "version": 1, "name": "give back", "edges": [],
        "nodes": [{
            "id": "give", "type": "ACTION", "channel": {"type": "webhook", "config": {
                "url": "/api/inventory/release", "body": {"reservation_id": "R-7", "reason": "workflow_compensation"},
            }},
        }],
    }  # fmt: skip
    name = in_force(admin, manager, document)
    run = operator.post("/runs", json={"definition": name, "input": {}}).json()["id"]
    until(lambda: operator.get(f"/runs/{run}").json()["state"], lambda state: state == "COMPLETED")
    asked = {"reservation_id": "R-7", "reason": "another"}
    again = operator.post("/inventory/release", json=asked)
    assert again.status_code == 200 and again.json()["status"] == "released"
    assert again.json()["reason"] == "workflow_compensation", "what was said first"
    assert operator.post("/inventory/release", json={}).status_code in (400, 422)
    assert either.client(VIEWER).post("/inventory/release", json=asked).status_code == 403
    (one,) = [one for one in admin.get("/audit").json()["items"] if one["actor"] == "own app"]
    assert one["action"] == "POST /inventory/release"


def test_what_nobody_asked_for_is_not_there(either: Server) -> None:
    """C-66: a sample without a request is 404 with a hint, as is another tenant's."""
    answer = either.client(OPERATOR).get("/lab/results/sample-nothing")
    assert answer.status_code == 404 and "lab_sample_request" in answer.json()["hint"]


def test_in_production_the_real_ones_are_called(tmp_path: Path) -> None:
    """C-66, C-81: no stand-in answers there; the hint names what to register."""
    with serving(tmp_path, "serve", "--profile", "production") as server:
        key = next((tmp_path / "s").glob("*.admin-key")).read_text().strip()
        admin = server.client(key=key)
        for answer in (
            admin.get("/lab/results/sample-1"),
            admin.post("/inventory/release", json={"reservation_id": "R"}),
        ):
            assert answer.status_code == 404 and answer.json()["code"] == "PS-404-STAND-IN"
            assert "default_api" in answer.json()["hint"]
        assert admin.get("/connections/default_api").status_code == 404
