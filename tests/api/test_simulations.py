"""Simulations over HTTP: listed, whole, their judgments and reports; past judgments are brought in and labelled."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.places import ADMIN, MANAGER, VIEWER, in_force
from tests.api.serving import Server, until

PACK = "quality_rules_v2"
NODE = {
    "id": "simulate_impact", "type": "SIMULATE", "mode": {"type": "replay"},
    "artifact": {"type": "rule_pack", "id": PACK, "version": "2.1.0"},
}  # fmt: skip
PAST = {
    "rule_pack_id": PACK, "at": "2024-01-02T03:04:05Z", "data": [{"line_id": "L01", "defect_rate": 0.045}],
    "decision": "warning", "label": "critical", "id": "mine-1",
}  # fmt: skip


@pytest.fixture(scope="module")
def simulated(either: Server) -> dict[str, Any]:
    """A run that has simulated the sample's change, as the list shows it."""
    admin = either.client(ADMIN)
    name = in_force(admin, either.client(MANAGER), {"id": "wf_sim", "version": 1, "nodes": [NODE], "edges": []})
    run = admin.post("/runs", json={"definition": name, "input": {}}).json()["id"]
    until(lambda: admin.get(f"/runs/{run}").json()["state"], lambda state: state == "COMPLETED")
    (listed,) = admin.get("/simulations", params={"run": run}).json()["items"]
    return dict(listed)


def test_c_59_list_and_detail(either: Server, simulated: dict[str, Any]) -> None:
    """C-59, W-4.13.1: the list tells what was compared and what is recommended; the detail has the whole result."""
    viewer = either.client(VIEWER)
    assert simulated["artifact"] == {"type": "rule_pack", "id": PACK}
    assert (simulated["candidate_version"], simulated["baseline_version"]) == ("2.1.0", "2.0.0")
    assert (simulated["mode"], simulated["document"], simulated["node"]) == ("replay", "wf_sim", "simulate_impact")
    assert simulated["created_at"].endswith("Z") and simulated["since"] < simulated["until"]
    assert simulated["total_samples"] > 250 and simulated["reports"] == ["html", "pdf", "json"]
    whole = viewer.get(f"/simulations/{simulated['simulation_id']}").json()
    assert {name: whole[name] for name in simulated} == simulated
    result = whole["result"]
    assert result["summary"]["total_samples"] == simulated["total_samples"] and "samples" not in result
    assert result["recommendation"] == simulated["recommendation"]
    assert viewer.get("/simulations", params={"artifact": PACK}).json()["items"][0] == simulated
    assert viewer.get("/simulations", params={"artifact": "none"}).json() == {"items": [], "next": None}
    assert viewer.get(f"{either.url}/api/simulations").json()["items"] == viewer.get("/simulations").json()["items"]


def test_the_judgments_of_a_cell(either: Server, simulated: dict[str, Any]) -> None:
    """C-59: each cell of the matrix opens its judgments; so do those that changed and those newly missed."""
    viewer, at = either.client(VIEWER), f"/simulations/{simulated['simulation_id']}"
    moves = viewer.get(at).json()["result"]["transitions"]
    for row, before in enumerate(moves["decisions"]):
        for column, after in enumerate(moves["decisions"]):
            page = viewer.get(f"{at}/judgments", params={"before": before, "after": after, "limit": 1000}).json()
            assert len(page["items"]) == moves["counts"][row][column]
            assert all((item["before"], item["after"]) == (before, after) for item in page["items"])
    changed = viewer.get(f"{at}/judgments", params={"changed": True}).json()["items"]
    assert changed and all(item["before"] != item["after"] for item in changed)
    assert changed[0]["at"] > changed[-1]["at"] and changed[0]["line_id"] in ("L01", "L02")
    assert viewer.get(f"{at}/judgments", params={"misses": True}).json()["items"] == []


def test_reports(either: Server, simulated: dict[str, Any]) -> None:
    """W-4.13.1: three formats, two languages, as pages that run nothing."""
    viewer, at = either.client(VIEWER), f"/simulations/{simulated['simulation_id']}/report"
    page = viewer.get(f"{at}.html")
    assert page.headers["content-type"] == "text/html; charset=utf-8" and '<html lang="ko">' in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"] and "<script" not in page.text
    english = viewer.get(f"{at}.html", params={"lang": "en"}).text
    assert '<html lang="en">' in english and "Simulation report" in english
    pdf = viewer.get(f"{at}.pdf")
    assert pdf.headers["content-type"] == "application/pdf" and pdf.content.startswith(b"%PDF-")
    body = viewer.get(f"{at}.json").json()
    assert body["simulation_id"] == simulated["simulation_id"] and len(body["samples"]) == simulated["total_samples"]
    assert viewer.get(f"{at}.docx").status_code in (404, 422)


def test_what_is_not_there(either: Server) -> None:
    """A simulation that is gone: a typed error, no 5xx."""
    viewer = either.client(VIEWER)
    for path in ("/simulations/none", "/simulations/none/judgments", "/simulations/none/report.pdf"):
        answer = viewer.get(path)
        assert answer.status_code == 404 and answer.json()["code"] == "PS-404-SIMULATION"


def test_past_judgments_are_brought_in_and_labelled(either: Server) -> None:
    """C-59: history from elsewhere; a label is a person's word, and the last one counts. Bad entries bring nothing."""
    admin, lead = either.client(ADMIN), either.client(MANAGER)
    assert admin.post("/judgments/import", json={"judgments": [PAST]}).json() == {"count": 1, "labelled": 1}
    kept = lead.post("/judgments/label", json={"judgment": "mine-1", "decision": "normal", "note": "seen"}).json()
    assert (kept["decision"], kept["by"], kept["note"]) == ("normal", MANAGER, "seen")
    none = lead.post("/judgments/label", json={"judgment": "r0/1", "decision": "normal"})
    assert none.status_code == 404 and none.json()["code"] == "PS-404-JUDGMENT"
    for wrong in ({**PAST, "decision": "bad"}, {**PAST, "at": "soon"}, {**PAST, "confidence": 2}, {"data": 1}):
        assert admin.post("/judgments/import", json={"judgments": [wrong]}).status_code in (400, 422)
    assert either.client(VIEWER).post("/judgments/import", json={"judgments": [PAST]}).status_code == 403
    label = {"judgment": "mine-1", "decision": "normal"}
    assert either.client(VIEWER).post("/judgments/label", json=label).status_code == 403


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": "r0/1"}, {"policy": {"type": "HYBRID", "routing": 5}}, {"policy": {"type": "SOMEDAY"}},
        {"policy": {"routing": {"conflict_resolution": "magic"}}}, {"llm": {"decision": "banana", "confidence": 0.5}},
        {"llm": {"decision": "normal", "confidence": "x"}}, {"llm": {"decision": "normal", "confidence": 2}},
    ],
)  # fmt: skip
def test_imports_that_would_break_a_replay(either: Server, wrong: dict[str, Any]) -> None:
    """A policy, an answer or an id that nobody could replay or tell from a run's is refused with its place."""
    refused = either.client(ADMIN).post("/judgments/import", json={"judgments": [PAST, {**PAST, **wrong}]})
    assert refused.status_code == 400 and "judgment 2" in refused.json()["detail"], refused.text


def test_labels_need_who_may_decide(either: Server) -> None:
    """An import with labels says what is right: that takes inbox.decide, and its time is now, not then."""
    admin = either.client(ADMIN)
    key = admin.post("/keys", json={"name": "mes", "scopes": ["registry.write"]}).json()["token"]
    machine = either.client(key=key)
    labelled = machine.post("/judgments/import", json={"judgments": [PAST]})
    assert labelled.status_code == 403 and "inbox.decide" in labelled.text
    plain = {name: value for name, value in PAST.items() if name != "label"}
    assert machine.post("/judgments/import", json={"judgments": [plain]}).json() == {"count": 1, "labelled": 0}


def test_how_much_goes_over_http(either: Server) -> None:
    """The shape promises no more than a request may hold, and says what to do with more."""
    shape = either.client(ADMIN).get("/openapi.json").json()["components"]["schemas"]["JudgmentImport"]
    assert "penstock judgments import" in shape["description"] and "1 MiB" in shape["description"]
