"""People and work items over HTTP on either store: who may, who has it, which version, and switching modes."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2

from tests.api.places import MANAGER, OPERATOR
from tests.conformance.process.http.world import Case, World
from tests.conformance.process.make import gateway, process, service, task


def test_whoever_begins_has_it(office: World) -> None:
    """P-X.13, P-4.1.2: claiming sets the assignee; another person does not submit it, but may take it over."""
    case = office.begun(process([task("A")], []))
    assert case.item("A")["assignee"] is None
    told = case.does("A", "start", who=office.operator)
    assert (told["status"], told["assignee"]) == ("IN_PROGRESS", OPERATOR)
    refused = case.submits("A", status=409)
    assert refused["code"] == "PROC-409-STATE" and OPERATOR in refused["detail"]
    told = case.does("A", "take-over")
    assert (told["assignee"], told["status"]) == (MANAGER, "IN_PROGRESS")
    assert case.submits("A")["instance_status"] == "COMPLETED"
    assert case.item("A")["assignee"] == MANAGER


def test_lists_by_status_and_assignee(office: World) -> None:
    """P-X.28, P-X.5: filters and pages; what is of other languages is not there."""
    cases = [office.begun(process([task("A")], [])) for _ in range(3)]
    for case in cases:
        case.does("A", "start", who=office.operator)
    seen: list[str] = []
    asked: dict[str, Any] = {"status": "IN_PROGRESS,SUBMITTED", "assignee": OPERATOR, "limit": 2}
    while True:
        page = office.operator.get("/processes/workitems", params=asked).json()
        assert len(page["items"]) <= 2
        assert {(one["status"], one["assignee"]) for one in page["items"]} == {("IN_PROGRESS", OPERATOR)}
        seen += [one["proc_inst_id"] for one in page["items"]]
        if page["next"] is None:
            break
        asked["cursor"] = page["next"]
    assert {case.id for case in cases} <= set(seen) and len(seen) == len(set(seen))
    wrong = office.operator.get("/processes/workitems", params={"status": "OPEN"})
    assert wrong.status_code == 400
    none = office.operator.get("/processes/workitems", params={"assignee": "nobody"}).json()
    assert none == {"items": [], "next": None}


def test_what_has_changed_is_looked_at_again(office: World) -> None:
    """P-X.1, P-2.3.5: a version that is not the newest is 409 PROC-409-VERSION, in the body and as If-Match."""
    case = office.begun(process([task("A")], []))
    item = case.item("A")
    answer = office.manager.get(f"/processes/workitems/{item['id']}")
    assert answer.headers["etag"] == f'"{item["version"]}"'
    case.does("A", "start")
    for how in ({"body": {"version": item["version"]}}, {"headers": {"If-Match": answer.headers["etag"]}}):
        told = case.does("A", "submit", how.get("body"), headers=how.get("headers"), status=409)
        assert told["code"] == "PROC-409-VERSION"
    now = case.item("A")["version"]
    assert now > item["version"]
    case.does("A", "submit", {"version": now})


def test_one_of_many_clients_with_one_version(office: World) -> None:
    """P-2.3.5, P-3.4.6: many take over what all of them have seen: one has it, and the others are told that it has
    changed; also who passes it on says what they have seen."""
    case = office.begun(process([task("A")], []))
    case.does("A", "start", who=office.operator)
    item = case.item("A")
    clients = [office.server.client(MANAGER) for _ in range(8)]
    start = threading.Barrier(len(clients))

    def take(client: httpx2.Client) -> tuple[int, str]:
        start.wait(30)
        at = f"/processes/workitems/{item['id']}:take-over"
        answer = client.post(at, json={}, headers={"If-Match": f'"{item["version"]}"'})
        return answer.status_code, str(answer.json().get("code"))

    with ThreadPoolExecutor(len(clients)) as pool:
        told = Counter(pool.map(take, clients))
    assert told == {(200, "None"): 1, (409, "PROC-409-VERSION"): len(clients) - 1}
    body = {"to": f"user:{OPERATOR}"}
    late = case.does("A", "delegate", body, headers={"If-Match": f'"{item["version"]}"'}, status=409)
    assert late["code"] == "PROC-409-VERSION" and case.item("A")["assignee"] == MANAGER


def test_who_lets_an_agent_alone(office: World) -> None:
    """P-X.40, P-X.14: where an approval is wanted, only who could give it does without; at the start, too."""
    agent = office.echo("lonely", result={"n": 1})
    made = office.defined(process([service("W", "SUPERVISED", agent=agent)], []))
    alone = {"mode_overrides": {"W": "AUTONOMOUS"}}
    refused = office.operator.post(f"/processes/definitions/{made}/instances", json=alone)
    assert (refused.status_code, refused.json()["code"]) == (403, "PROC-403-SCOPE"), refused.text
    case = office.begun(made, mode_overrides={"W": "MANUAL"})
    refused = case.does("W", "set-mode", {"mode": "AUTONOMOUS"}, who=office.operator, status=403)
    assert refused["code"] == "PROC-403-SCOPE" and case.states() == {"W": "TODO"}
    case.does("W", "set-mode", {"mode": "AUTONOMOUS"})
    case.until(W="DONE")


def test_it_is_for_those_it_is_for(office: World) -> None:
    """P-X.13: the initiator's rule, a named user; others are refused, and a delegate may instead of them."""
    roles = [{"id": "r", "name": "R", "assignment_rule": f"user:{OPERATOR}"}]
    case = office.begun(process([task("A", role="r")], [], roles=roles))
    assert case.item("A")["assignee"] == OPERATOR
    refused = case.submits("A", status=403)
    assert refused["code"] == "PROC-403-SCOPE"
    told = case.does("A", "delegate", {"to": f"user:{MANAGER}", "comment": "대신 부탁해요"}, who=office.operator)
    assert (told["assignee"], told["status"]) == (MANAGER, "TODO")
    assert [one["text"] for one in told["comments"]] == ["대신 부탁해요"]
    assert case.submits("A")["status"] == "DONE"
    own = [{"id": "r", "name": "R", "assignment_rule": "initiator"}]
    made = process([task("A", role="r")], [], roles=own)
    begun = office.begun(made, initiator_id=OPERATOR)
    assert begun.item("A")["assignee"] == OPERATOR


def test_comments_stay_with_the_item(office: World) -> None:
    """P-X.28: what was said is readable, by whom and when; nobody speaks in another's name."""
    case = office.begun(process([task("A")], []))
    told = case.does("A", "comment", {"text": "서류가 더 필요해요"}, who=office.operator)
    assert [(one["by"], one["text"]) for one in told["comments"]] == [(OPERATOR, "서류가 더 필요해요")]
    body = {"result_data": {}, "submitter_id": "somebody@else"}
    assert case.does("A", "submit", body, status=403)["code"] == "PROC-403-SCOPE"


def _drafted(office: World, **orchestration: Any) -> Case:
    agent = office.echo("scribe", result={"text": "draft"})
    step = service("W", "SUPERVISED", agent=agent, orchestration=orchestration)
    case = office.begun(process([step, task("N")], ["W>N"]))
    case.until(W="SUBMITTED")
    return case


def test_who_approves(office: World) -> None:
    """P-X.14: the permission process.approve, not in another's name, and only those whom the activity names."""
    case = _drafted(office)
    refused = case.does("W", "approve", who=office.operator, status=403)
    assert refused["code"] == "PS-403-PERMISSION" and "process.approve" in refused["detail"]
    refused = case.does("W", "approve", {"approver_id": "scribe"}, status=403)
    assert refused["code"] == "PROC-403-SCOPE"
    assert case.does("W", "approve", {"comment": "좋아요"})["next_nodes"] == ["N"]
    narrow = _drafted(office, approvers=[f"user:{OPERATOR}"])
    refused = narrow.does("W", "approve", status=403)
    assert refused["code"] == "PROC-403-SCOPE" and narrow.states() == {"W": "SUBMITTED"}


def test_finished_work_is_done_again(office: World) -> None:
    """P-X.15, P-4.1.6: while what came of it is untouched; what was opened since is cancelled with the exact reason."""
    case = office.begun(process([task("A"), task("B"), task("C")], ["A>B", "B>C"]))
    case.submits("A", {"n": 1})
    told = case.does("A", "rework", {"comment": "다시"})
    assert told["status"] == "TODO" and case.history("A")[-2:] == ["REWORK", "TODO"]
    (gone,) = case.items("B")
    assert (gone["status"], gone["cancel_reason"]) == ("CANCELLED", "superseded by rework")
    case.submits("A", {"n": 2})
    case.does("B", "start")
    refused = case.does("A", "rework", status=409)
    assert refused["code"] == "PROC-409-STATE"
    assert case.look()["variables"]["n"] == 2


def test_modes_are_switched(office: World) -> None:
    """P-X.40: at the start, while it is TODO, and from a running agent, who is stopped; all of it is in the history."""
    agent = office.agent("slowly", "waits")
    made = office.defined(process([service("W", "SUPERVISED", agent=agent)], []))
    case = office.begun(made, mode_overrides={"W": "MANUAL"})
    assert (case.item("W")["status"], case.item("W")["agent_mode"]) == ("TODO", "MANUAL")
    told = case.does("W", "set-mode", {"mode": "AUTONOMOUS"})
    assert (told["status"], told["agent_mode"], told["assignee"]) == ("IN_PROGRESS", "AUTONOMOUS", "slowly")
    assert told["agent_task_id"]
    told = case.does("W", "take-over")
    assert (told["status"], told["agent_mode"], told["assignee"]) == ("IN_PROGRESS", "MANUAL", MANAGER)
    office.going.set()
    case.submits("W", {"by": "hand"})
    item = case.item("W")
    assert (item["result"], item["agent_mode"], case.look()["status"]) == ({"by": "hand"}, "MANUAL", "COMPLETED")
    events = [one["event"] for one in case.look()["history"] if one["workitem_id"]]
    assert events == ["create", "set_mode", "start", "take_over", "submit"]
    body = {"mode_overrides": {"nowhere": "MANUAL"}}
    refused = office.operator.post(f"/processes/definitions/{made}/instances", json=body)
    assert (refused.status_code, refused.json()["code"]) == (400, "PROC-400-SCHEMA"), refused.text


def test_an_agent_without_a_way_on_waits_for_a_person(office: World) -> None:
    """P-X.11, P-X.38: IN_PROGRESS with NO_MATCHING_BRANCH, PROCESS_BLOCKED is told, and a person corrects it."""
    agent = office.agent("unsure", {"grade": "?"})
    gate = gateway("g", conditions={"a": "grade == 'A'", "b": "grade == 'B'"})
    ways = ["W>g", ("g>A", {"id": "a"}), ("g>B", {"id": "b"})]
    case = office.begun(process([service("W", agent=agent), gate, task("A"), task("B")], ways))
    look = case.until(W="IN_PROGRESS")
    while not case.item("W")["error"]:
        look = case.look()
    assert (look["status"], case.item("W")["error"]) == ("RUNNING", "NO_MATCHING_BRANCH")
    (told,) = [one["payload"] for one in case.events() if one["event"] == "PROCESS_BLOCKED"]
    assert (told["activity_id"], told["error"]) == ("W", "NO_MATCHING_BRANCH")
    assert case.submits("W", {"grade": "B"})["next_nodes"] == ["B"]


def test_an_instance_is_ended(office: World) -> None:
    """P-X.28, P-X.30: :terminate ends it, once; its items are cancelled."""
    case = office.begun(process([task("A"), task("B")], ["A>B"]))
    done = office.operator.post(f"/processes/instances/{case.id}:terminate")
    assert done.status_code == 202 and done.json()["status"] == "TERMINATED", done.text
    assert case.states() == {"A": "CANCELLED"}
    again = office.operator.post(f"/processes/instances/{case.id}:terminate")
    assert (again.status_code, again.json()["detail"]) == (409, "Cannot terminate instance in TERMINATED status")
    refused = office.operator.post(f"/processes/instances/{case.id}:compensate")
    assert (refused.status_code, refused.json()["code"]) == (409, "PROC-409-STATE")
    for path in ("/processes/instances/rnothing", "/processes/workitems/rnothing~1"):
        assert office.operator.get(path).json()["code"] == "PROC-404"


def test_the_same_request_begins_once(office: World) -> None:
    """P-X.28: an Idempotency-Key; the same again is the same instance."""
    made = office.defined(process([task("A")], []))
    asked: dict[str, Any] = {"json": {"input_data": {"n": 1}}, "headers": {"Idempotency-Key": f"once-{made}"}}
    ids = {office.operator.post(f"/processes/definitions/{made}/instances", **asked).text for _ in range(3)}
    assert len(ids) == 1
