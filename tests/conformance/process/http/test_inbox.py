"""Work items of processes in the inbox: whose they are, what may be done with them, and how a draft came about."""

from __future__ import annotations

from typing import Any

from tests.conformance.process.http.world import Case, World
from tests.conformance.process.make import process, service, task

FORM = {"type": "object", "properties": {"rows": {"type": "integer"}}, "required": ["rows"]}


def _mine(case: Case, client: Any) -> dict[str, dict[str, Any]]:
    """What waits for somebody of one instance, by activity."""
    page = client.get("/inbox", params={"kind": "work", "limit": 200}).json()
    return {one["node"]: one for one in page["items"] if one["run"] == case.id}


def _verbs(item: dict[str, Any]) -> list[str]:
    return [one["verb"] for one in item["moves"]]


def test_work_waits_for_whoever_may_do_it(office: World) -> None:
    """P-X.13, P-X.40: a person's item has its form and what its life allows; once begun nobody else's inbox has it."""
    case = office.begun(process([task("A", instruction="세어 주세요", form=FORM)], []))
    item = _mine(case, office.operator)["A"]
    assert (item["kind"], item["language"], item["status"]) == ("work", "process", "TODO")
    assert (item["description"], item["form"]) == ("세어 주세요", FORM)
    assert _verbs(item) == ["start", "submit", "set_mode", "delegate"]
    assert item["work"]["id"] == case.item("A")["id"]
    case.does("A", "start", who=office.operator)
    assert _verbs(_mine(case, office.operator)["A"]) == ["submit", "delegate"]
    assert "A" not in _mine(case, office.manager)
    theirs = office.manager.get(f"/inbox/{case.id}/A").json()
    assert "take_over" in _verbs(theirs) and "submit" not in _verbs(theirs)


def test_a_draft_waits_for_those_who_approve(office: World) -> None:
    """P-X.14, P-4.2.2: approving needs its permission; the draft's transcript is there, before and after."""
    office.echo("writer", result={"category": "핵심"})
    case = office.begun(process([service("A", "SUPERVISED", agent="writer", instruction="나눠 주세요")], []))
    case.until(A="SUBMITTED")
    assert "A" not in _mine(case, office.operator)
    item = _mine(case, office.manager)["A"]
    assert _verbs(item) == ["approve", "reject", "rework", "delegate"]
    seen = office.operator.get(f"/inbox/{case.id}/A").json()
    assert (seen["eligible"], seen["not_eligible_because"], seen["moves"]) == (False, "permission", [])
    whole = office.manager.get(f"/processes/workitems/{item['work']['id']}").json()
    assert [one["role"] for one in whole["transcript"]] == ["user", "assistant"]
    case.does("A", "approve")
    done = office.manager.get(f"/processes/workitems/{item['work']['id']}").json()
    assert (done["status"], done["transcript"]) == ("DONE", whole["transcript"])


def test_only_the_named_approve(office: World) -> None:
    """P-X.14: `orchestration.approvers` narrows who finds the draft in the inbox."""
    office.echo("writer", result={"category": "핵심"})
    narrow = {"approvers": ["role:nobody_has_it"]}
    case = office.begun(process([service("A", "SUPERVISED", agent="writer", orchestration=narrow)], []))
    case.until(A="SUBMITTED")
    assert "A" not in _mine(case, office.manager)
    assert office.manager.get(f"/inbox/{case.id}/A").json()["not_eligible_because"] == "target"


def test_a_document_is_inspected_with_its_drawing(office: World) -> None:
    """P-1.1.1, KERNEL 8: findings, graph, BPMN and the way that cannot end come in one answer, and nothing is kept."""
    before = office.admin.get("/definitions", params={"limit": 200}).json()
    gateways = [
        {"id": "g", "name": "골라요", "type": "exclusiveGateway", "conditions": {"g>B": "x == 1", "g>C": "x == 2"}},
        {"id": "j", "name": "함께", "type": "parallelGateway"},
    ]  # fmt: skip
    document = process([task("A"), task("B"), task("C"), *gateways], ["A>g", "g>B", "g>C", "B>j", "C>j"])
    told = office.operator.post("/definitions/inspect", json={"document": document}).json()
    assert (told["ok"], told["language"]) == (False, "process")
    assert "unsound" in [one["rule"] for one in told["findings"]]
    level = told["soundness"][0]
    assert (level["verdict"], level["why"]) == ("unsound", "deadlock")
    assert [one["node"] for one in level["steps"]][-3:-1] == ["A", "g"] and level["steps"][-1]["node"] in ("B", "C")
    assert set(level["steps"][-1]["tokens"]) <= {"B>j", "C>j"} and level["steps"][-1]["tokens"]
    assert {one["id"] for one in told["graph"]["nodes"]} >= {"A", "B", "C", "g", "j"}
    assert "<bpmn:parallelGateway" in told["bpmn"]
    broken = office.operator.post("/definitions/inspect", json={"document": "<definitions>"}).json()
    assert (broken["ok"], broken["graph"], broken["soundness"]) == (False, None, [])
    assert broken["findings"][0]["where"]["line"] == 1
    after = office.admin.get("/definitions", params={"limit": 200}).json()
    assert [one["name"] for one in after["items"]] == [one["name"] for one in before["items"]]
