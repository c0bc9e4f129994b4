"""Learned autonomy over HTTP on either store: a server proposes by itself, people accept and dismiss."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.serving import until
from tests.api.sites import STORES
from tests.conformance.process.http.world import World, world
from tests.conformance.process.make import process, service, task

RULES = {"raise_at": 0.7, "draft_at": 0.6, "draft_floor": 0.3, "min_cases": 10, "alarm_every": 100}
MEMBERS = {
    "id", "process", "version", "activity", "name", "agent", "mode", "proposed", "direction", "status", "decided",
    "unchanged", "corrected", "rejected", "undone", "bound", "once", "target", "cost", "cases", "cases_since", "since",
    "ended_at", "ended_by", "dismissed_why", "withdrawn_why", "made_version",
}  # fmt: skip


@pytest.fixture(scope="module", params=STORES)
def office(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("autonomy")
    with world(request.param, folder, "\n[autonomy]\nevaluate_s = 0.2\n") as one:
        config = one.admin.get("/configs/tenant").json()
        put = one.admin.put("/configs/tenant", json={**config.get("body", {}), "autonomy": RULES})
        assert put.status_code == 202, put.text
        approved = one.manager.post("/config-proposals/tenant/approve")
        assert approved.status_code == 204, approved.text
        yield one


def supervised(office: World) -> str:
    bot = office.agent("judge", {"sum": 1})
    return office.defined(process([service("A", "SUPERVISED", agent=bot, name="심사"), task("B")], ["A>B"]))


def decided(office: World, id: str, count: int) -> None:
    for _ in range(count):
        case = office.begun(id)
        case.until(A="SUBMITTED")
        case.does("A", "approve")


def proposals(office: World, id: str, **more: Any) -> list[dict[str, Any]]:
    answer = office.operator.get("/processes/autonomy", params={"process": id, **more})
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["items"]
    return found


def test_a_server_proposes_by_itself_and_a_person_accepts(office: World) -> None:
    """P-4.2.2, P-X.28, P-X.40: with the cases behind it; who may not write definitions cannot accept."""
    id = supervised(office)
    decided(office, id, 14)
    (raised,) = until(lambda: proposals(office, id), lambda found: len(found) == 1)
    assert set(raised) == MEMBERS
    assert (raised["mode"], raised["proposed"], raised["direction"]) == ("SUPERVISED", "AUTONOMOUS", "raise")
    assert (raised["status"], raised["decided"], raised["unchanged"]) == ("open", 14, 14)
    assert raised["bound"] >= raised["target"] == 0.7 and raised["once"] > raised["bound"]
    no_mistakes = {"mistakes": 0, "reworked": 0, "rework_ms": None, "compensations": 0, "amount": None}
    assert raised["cost"] == no_mistakes and len(raised["cases"]) == 14
    item = office.operator.get(f"/processes/workitems/{raised['cases'][0]['item']}").json()
    assert item["proc_inst_id"] == raised["cases"][0]["run"]
    where = f"/processes/autonomy/{raised['id']}"
    assert office.operator.get(where).json() == raised
    assert office.operator.post(f"{where}:accept").status_code == 403
    assert office.operator.post(f"{where}:dismiss", json={"reason": "no"}).status_code == 403
    assert office.admin.get(f"/processes/definitions/{id}").json()["version"] == 1, "nobody has accepted it"
    done = office.admin.post(f"{where}:accept")
    assert done.status_code == 200, done.text
    assert (done.json()["status"], done.json()["made_version"]) == ("accepted", 2)
    assert done.json()["saved"]["approval_status"] == "approved"
    assert office.admin.post(f"{where}:accept").status_code == 409
    case = office.begun(id)
    assert case.until(A="DONE")["proc_def_version"] == 2, "new runs use it"
    audit = office.admin.get("/audit", params={"target": f"autonomy:{raised['id']}"}).json()["items"]
    assert [(row["actor"], row["action"]) for row in audit] == [
        ("admin@example.com", "autonomy.accept"), ("autonomy", "autonomy.propose"),
    ]  # fmt: skip


def test_a_proposal_is_dismissed_with_a_reason(office: World) -> None:
    """P-X.28, P-X.40: a typed refusal without one, of one that is not there, and of one that is over."""
    id = supervised(office)
    decided(office, id, 14)
    (raised,) = until(lambda: proposals(office, id, status="open"), lambda found: len(found) == 1)
    where = f"/processes/autonomy/{raised['id']}"
    assert office.admin.post(f"{where}:dismiss", json={}).status_code in (400, 422)
    assert office.admin.post(f"{where}:dismiss", json={"reason": " "}).json()["code"] == "PROC-400-SCHEMA"
    done = office.admin.post(f"{where}:dismiss", json={"reason": "감사 대상"}).json()
    assert (done["status"], done["dismissed_why"], done["withdrawn_why"]) == ("dismissed", "감사 대상", None)
    assert done["ended_by"] == "admin@example.com" and proposals(office, id, status="open") == []
    again = office.admin.post(f"{where}:dismiss", json={"reason": "no"})
    assert (again.status_code, again.json()["code"]) == (409, "PROC-409-STATE")
    none = office.admin.post("/processes/autonomy/none:accept")
    assert (none.status_code, none.json()["code"]) == (404, "PROC-404")
