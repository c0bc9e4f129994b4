"""The forecast of a run over HTTP: the rest of an open one, and nothing is changed by asking."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.serving import Server, serving, until

ADMIN = "admin@example.com"


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with serving(tmp_path_factory.mktemp("site"), "dev", "--quiet") as server:
        yield server


def test_the_rest_of_a_run(dev: Server) -> None:
    admin = dev.client(ADMIN)
    run = admin.post("/runs", json={"definition": "wf_defect_alert_v2", "input": {"line_id": "L01"}}).json()["id"]
    until(lambda: admin.get(f"/runs/{run}").json()["state"], lambda state: state == "WAITING")
    facts = len(admin.get(f"/runs/{run}/facts?limit=500").json()["items"])
    asked = admin.get(f"/runs/{run}/forecast", params={"runs": 200, "due_ms": 7_200_000, "seed": 1})
    assert asked.status_code == 200, asked.text
    body = asked.json()
    assert body["run"] == run and body["status"] == "WAITING" and body["name"] == "wf_defect_alert_v2"
    forecast = body["forecast"]
    assert forecast["runs"] == 200 and 0.5 < forecast["due"]["odds"] < 1
    assert [load["role"] for load in forecast["roles"]] == ["quality_manager"]
    assert not any(node["visits"] for node in forecast["nodes"] if node["id"] == "data_defect")
    assert admin.get(f"/runs/{run}/forecast", params={"runs": 200, "due_ms": 7_200_000, "seed": 1}).json()["forecast"][
        "outcomes"
    ]
    assert len(admin.get(f"/runs/{run}/facts?limit=500").json()["items"]) == facts


@pytest.mark.parametrize(
    ("query", "status"), [("runs=0", 422), ("runs=5001", 422), ("due_ms=0", 422), ("seed=-1", 422)]
)
def test_what_cannot_be_asked(dev: Server, query: str, status: int) -> None:
    assert dev.client(ADMIN).get(f"/runs/nothing/forecast?{query}").status_code == status


def test_a_run_that_is_gone(dev: Server) -> None:
    """A simulation of a run that is gone: a typed answer."""
    gone = dev.client(ADMIN).get("/runs/r0123456789abcdef/forecast")
    assert gone.status_code == 404 and gone.json()["code"] == "PS-404-RUN"
