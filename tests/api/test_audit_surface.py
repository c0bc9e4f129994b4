"""Everything that C-66 and D-X.29 name is there, under both prefixes; and what a definition's versions do (C-61)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.places import ADMIN, OPERATOR
from tests.api.serving import Server, until

#: as the catalogue lists them; {} is whatever stands there
C_66 = """
POST /workflows/{}/trigger | POST /workflows | POST /workflows/validate | GET /workflows
GET /workflows/{}/versions | GET /workflows/{}/versions/{} | POST /workflows/{}/versions/{}/approve
POST /workflows/{}/versions/{}/reject | POST /workflows/{}/versions/{}/activate
POST /workflows/{}/versions/{}/deprecate | POST /workflows/{}/versions/{}/simulate
POST /instances | GET /instances | GET /instances/{} | GET /instances/{}/trace | GET /instances/{}/checkpoints
GET /instances/{}/history | POST /instances/{}/cancel | POST /instances/{}/resume | POST /instances/{}/retry
POST /instances/{}/compensate | POST /instances/{}/nodes/{}/signal
GET /approvals | POST /approvals/{}/approve | POST /approvals/{}/reject | POST /approvals/{}/escalate
GET /judgment-reviews | POST /judgment-reviews | POST /events | GET /dlq | POST /dlq/{}/replay
GET /rule-packs | GET /rule-packs/{} | PUT /rule-packs/{} | DELETE /rule-packs/{}
GET /templates | GET /templates/{} | PUT /templates/{} | DELETE /templates/{}
GET /connections | GET /connections/{} | PUT /connections/{} | DELETE /connections/{}
GET /calendars | GET /calendars/{} | PUT /calendars/{} | DELETE /calendars/{}
GET /secrets | PUT /secrets/{} | DELETE /secrets/{}
GET /circuit-breakers | POST /circuit-breakers/{}/{}/reset
GET /metrics | GET /alarms | GET /dashboard | GET /health | GET /lab/results/{} | POST /inventory/release
GET /deploy/{}/status | POST /deploy/{}/rollback
"""
D_X_29 = """
POST /diagrams | POST /diagrams:validate | POST /diagrams/{}/runs | GET /diagram-runs/{} | GET /diagram-runs/{}/trace
GET /diagram-runs/{}/tokens | GET /diagram-runs/{}/events | POST /diagram-runs/{}:cancel
POST /diagram-runs/{}/nodes/{}:respond
"""


def listed(text: str) -> list[tuple[str, str]]:
    found = [one.split() for line in text.split("\n") for one in line.split("|") if one.strip()]
    return [(method, path) for method, path in found]


@pytest.fixture(scope="module")
def described(dev: Server) -> dict[str, Any]:
    found: dict[str, Any] = dev.client().get("/openapi.json").json()["paths"]
    return found


@pytest.mark.parametrize("prefix", ["/api/v1", "/api"])
@pytest.mark.parametrize("routes", [C_66, D_X_29], ids=["C-66", "D-X.29"])
def test_every_route_that_was_promised_is_there(
    dev: Server, described: dict[str, Any], routes: str, prefix: str
) -> None:
    """C-66, D-X.29: described, and known under both prefixes: who says nothing is asked who they are."""
    shapes = {_shape(path): set(methods) for path, methods in described.items()}
    nobody = dev.client()
    for method, path in listed(routes):
        assert method.lower() in shapes.get(f"/api/v1{path}", ()), (method, path)
        answer = nobody.request(method, f"{dev.url}{prefix}{path.replace('{}', 'x')}", json={})
        public = path in ("/health", "/metrics")  # in dev everybody may scrape
        assert answer.status_code == (200 if public else 401), (method, path, answer.text)


def test_a_slip_of_the_pen_is_told_as_one(dev: Server) -> None:
    """C-66, W-3.2.4: where there might be a webhook, whoever has a key or a session hears that there is none; a
    stranger does not."""
    admin = dev.client(ADMIN)
    made = admin.post("/keys", json={"name": "slip", "user": ADMIN})
    for who in (admin, dev.client(key=made.json()["token"])):
        for method in ("GET", "POST", "PUT"):
            answer = who.request(method, "/runs/x/cancle", json=None if method == "GET" else {})
            assert (answer.status_code, answer.json()["code"]) == (404, "PS-404-ROUTE"), (method, answer.text)
            assert answer.json()["hint"]
    assert dev.client().post("/runs/x/cancle", json={}).status_code == 401


def test_pages_of_facts_have_no_gap(dev: Server) -> None:
    """C-66: a fact may be told in several lines; they stay on one page, so that the next one begins after a fact."""
    operator = dev.client(OPERATOR)
    run = operator.post("/runs", json={"definition": "wf_defect_alert_v2", "input": {"line_id": "L02"}}).json()["id"]
    until(lambda: operator.get(f"/runs/{run}").json()["state"], lambda state: state == "COMPLETED")
    whole = operator.get(f"/runs/{run}/facts?limit=500").json()["items"]
    assert len({one["seq"] for one in whole}) < len(whole), "two lines of one fact are what this is about"
    for limit in range(1, 9):
        found: list[Any] = []
        after = 0
        while after is not None:
            page = operator.get(f"/runs/{run}/facts?after={after}&limit={limit}").json()
            found += page["items"]
            after = page["next"]
        assert found == whole, limit


def _shape(path: str) -> str:
    """{workflow_id} and {id} are the same place."""
    return "/".join("{}" + part[part.index("}") + 1 :] if part.startswith("{") else part for part in path.split("/"))


def test_versions_are_numbered_as_they_come(dev: Server) -> None:
    """C-61, W-9.3.2: a greater number is kept, an absent one filled in, the same again is the same, another document
    under a number that is there is 409; nothing of it is in force."""
    admin = dev.client(ADMIN)
    node = {"id": "w", "type": "WAIT", "condition": {"type": "manual"}}

    def submit(version: int | None, name: str) -> Any:
        document = {"id": "wf_numbered", "name": name, "nodes": [node], "edges": []}
        whole = document if version is None else {**document, "version": version}
        return admin.post("/workflows", json={"dsl": whole})

    first = submit(3, "three")
    assert first.status_code == 201 and first.json()["version"] == 3, first.text
    filled = submit(None, "four")
    assert filled.status_code == 201 and filled.json()["version"] == 4, filled.text
    again = submit(3, "three")
    assert again.status_code == 200 and again.json()["version"] == 3, again.text
    other = submit(3, "another three")
    assert other.status_code == 409, other.text
    numbers = [one["version"] for one in admin.get("/workflows/wf_numbered/versions").json()["items"]]
    assert sorted(numbers) == [3, 4]
    refused = admin.post("/instances", json={"workflow_id": "wf_numbered"})
    assert refused.status_code in (404, 409, 422), refused.text
