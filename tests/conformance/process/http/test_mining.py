"""Process mining over HTTP on either store: once around from a log to a migrated instance, and what is refused."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterator
from typing import Any

import pytest

from tests.api.serving import until
from tests.api.sites import STORES
from tests.conformance.process.http.world import Case, World, world
from tests.conformance.process.make import process, task

OWNER = "owner@example.com"
#: how many cases have gone which way, and how long they waited before each activity, in minutes
WAYS = {"Ask,Look,Pay": 60, "Ask,Look,Look,Pay": 12, "Ask,Pay": 8}
WAIT_MIN = {"Ask": 0, "Look": 30, "Pay": 600}
STEPS = process([task("Ask"), task("Look"), task("Pay")], ["Ask>Look", "Look>Pay"])


@pytest.fixture(scope="module", params=STORES)
def office(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(request.param, tmp_path_factory.mktemp("mining")) as one:
        yield one


def log_of(ways: dict[str, int] | None = None) -> bytes:
    """Planted: each activity takes five minutes of work; cases begin an hour apart."""
    lines, number = ["case_id,activity,start_time,end_time,resource,agent_mode"], 0
    for way, count in (ways or WAYS).items():
        for _ in range(count):
            minute = number * 60
            for activity in way.split(","):
                minute += WAIT_MIN.get(activity, 0)
                begin, end = _moment(minute), _moment(minute + 5)
                lines.append(f"c{number},{activity},{begin},{end},{'kim' if activity == 'Pay' else 'lee'},MANUAL")
                minute += 5
            number += 1
    return "\n".join(lines).encode()


def _moment(minute: int) -> str:
    day, rest = divmod(minute, 1440)
    return f"2026-03-{day + 1:02}T{rest // 60:02}:{rest % 60:02}:00Z"


def brought(office: World, data: bytes, *, status: int = 201, **more: Any) -> dict[str, Any]:
    asked = {"name": "claims.csv", "content_base64": base64.b64encode(data).decode(), **more}
    answer = office.admin.post("/processes/mining/logs", json=asked)
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()
    return found


def mapped(office: World, id: str, **asked: Any) -> dict[str, Any]:
    answer = office.operator.get(f"/processes/mining/{id}", params=asked)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_p_7_2_2_once_around_from_a_log_to_a_migrated_instance(office: World) -> None:
    """P-7.1.1, P-7.2.2, P-7.4.3, P-7.5.1, P-7.5.3, P-7.5.5: log, map, discovered model, diff, approved as the next
    version; running instances are migrated in bulk, refused by reason, and taken back."""
    id = office.defined(STEPS)
    running = [office.begun(id) for _ in range(3)]
    for case in running[:2]:
        case.until(Ask="TODO")
        case.submits("Ask")
        case.until(Look="TODO")
    log = brought(office, log_of(), process=id)
    assert (log["cases"], log["events"], log["process"]) == (80, 60 * 3 + 12 * 4 + 8 * 2, id)
    found = mapped(office, id)
    assert (found["source"], found["log_id"], found["cases"]) == ("log", log["id"], 80)
    flows = {(flow["source"], flow["target"]): flow for flow in found["flows"]}
    assert flows["Look", "Pay"]["count"] == 72 and flows["Look", "Look"]["count"] == 12
    assert flows["Look", "Pay"]["median_wait_ms"] == 600 * 60_000
    assert found["bottleneck"]["target"] == "Pay" and found["bottleneck"]["people"] == 1
    assert [(each["activity"], each["repeats"]) for each in found["rework"]] == [("Look", 12)]
    assert [each["cases"] for each in found["variants"]] == [60, 12, 8]
    assert {each["name"]: each["activity_id"] for each in found["activities"]}["Look"] == "Look"
    fits = found["conformance"]
    assert (fits["fitting"], fits["cases"], found["discovered"]) == (60, 80, None)
    assert {(each["kind"], each["activity"]): each["cases"] for each in fits["deviations"]} == {
        ("repeated", "Look"): 12, ("skipped", "Look"): 8,
    }  # fmt: skip

    made = office.admin.post(f"/processes/mining/{id}:discover", json={"log": log["id"]})
    assert made.status_code == 201, made.text
    model = made.json()
    assert model["approval_status"] == "pending" and model["changes"] >= 1
    shown = office.admin.get(f"/processes/definitions/{model['model_id']}").json()
    assert (shown["type"], shown["approval_status"]) == ("discovered", "pending")
    assert shown["source_event_log_id"] == log["id"]
    assert shown["definition"]["description"].startswith("프로세스 마이닝으로 자동 발견된 모델")
    assert shown["origin"]["base_proc_def_id"] == id
    assert office.operator.post(
        f"/processes/definitions/{model['model_id']}/instances", json={"initiator_id": "lee"}
    ).status_code == 409, "nobody has approved it"  # fmt: skip
    assert office.admin.get(f"/processes/definitions/{id}").json()["version"] == 1, "nothing is applied"
    again = office.admin.post(f"/processes/mining/{id}:discover", json={"log": log["id"]})
    assert (again.status_code, again.json()["new"]) == (200, False)
    waits = mapped(office, id)["discovered"]
    assert waits["model_id"] == model["model_id"] and waits["would_fit"] > 60

    diff = office.admin.get(f"/processes/mining/{id}/diff/{model['model_id']}")
    assert diff.status_code == 200, diff.text
    seen = diff.json()
    assert (seen["base_version"], seen["cases"], seen["sound"]) == (1, 80, True)
    assert seen["replay"]["base_fit"] == 60 and seen["replay"]["model_fit"] == waits["would_fit"]
    assert (seen["running"]["total"], seen["running"]["can_move"], seen["running"]["cannot"]) == (3, 3, [])
    assert {each["activity"]: each["count"] for each in seen["running"]["at"]} == {"Look": 2, "Ask": 1}
    assert seen["approvers"]["permission"] == "process.model.approve" and seen["approvers"]["by_author"]
    for bpmn in ("base_bpmn", "model_bpmn", "merged_bpmn"):
        assert 'id="Look"' in seen[bpmn] and "BPMNShape" in seen[bpmn], bpmn
    for change in seen["changes"]:
        assert change["title"] and change["elements"], change
    assert max(change["cases"] for change in seen["changes"]) >= 8

    where = f"/processes/definitions/{model['model_id']}"
    assert office.operator.post(f"{where}:approve", json={"into": id}).status_code == 403
    assert office.manager.post(f"{where}:approve", json={"into": id}).status_code == 403, "who works on items only"
    done = office.server.client(OWNER).post(f"{where}:approve", json={"into": id, "version": model["version"]})
    assert done.status_code == 200, done.text
    assert (done.json()["id"], done.json()["version"]) == (id, 2) and done.json()["diff"]
    newest = office.admin.get(f"/processes/definitions/{id}").json()
    assert (newest["version"], newest["type"], newest["approval_status"]) == (2, "base", "approved")
    fresh = office.begun(id)
    assert fresh.until(Ask="TODO")["proc_def_version"] == 2, "new instances use it"
    _migrated_and_back(office, id, running, fresh)


def _migrated_and_back(office: World, id: str, running: list[Case], fresh: Case) -> None:
    asked = {"verb": "migrate", "name": id, "version": 2, "filter": {"name": id}}
    dry = office.admin.post("/runs:batch", json=asked)
    assert dry.status_code == 200, dry.text
    assert (dry.json()["count"], [each["run"] for each in dry.json()["refused"]]) == (3, [fresh.id])
    assert {each["reason"] for each in dry.json()["refused"]} == {"it is on this version already"}
    assert {case.look()["proc_def_version"] for case in running} == {1}, "a dry run changes nothing"
    assert office.operator.post("/batches", json=asked).status_code == 403, "who may not edit runs"
    batch = _done(office, asked)
    assert (batch["done"], batch["refused"]) == (3, 1)
    assert {case.look()["proc_def_version"] for case in running} == {2}
    back = _done(office, {"verb": "undo_migration", "ids": [case.id for case in running]})
    assert back["done"] == 3 and {case.look()["proc_def_version"] for case in running} == {1}
    assert _done(office, asked)["done"] == 3
    for case in running[:2]:
        case.submits("Look")
        asked = until(case.items, lambda items: items[-1]["activity_type"] == "exclusiveGateway")[-1]
        assert set(asked["form"]["properties"]["choice"]["enum"]) == {"Look", "Pay"}, "the way back that was mined"
        case.submits(asked["activity_id"], {"choice": "Pay"})
        case.until(Pay="TODO")
        case.submits("Pay")
        case.until(status="COMPLETED")


def _done(office: World, asked: dict[str, Any]) -> dict[str, Any]:
    begun = office.admin.post("/batches", json=asked)
    assert begun.status_code == 202, begun.text
    where = f"/batches/{begun.json()['id']}"
    found: dict[str, Any] = until(lambda: office.admin.get(where).json(), lambda batch: batch["state"] == "done")
    return found


def test_p_7_3_2_instances_that_ended_are_the_history(office: World) -> None:
    """P-7.3.2, P-7.3.5, P-7.5.2, P-7.5.4: with starts and modes; what goes on is not counted, and no log hides it."""
    bot = office.agent("looker", {"fine": True})
    document = process(
        [task("Ask"), task("Look", type="serviceTask", agent_mode="AUTONOMOUS", agent=bot), task("Pay")],
        ["Ask>Look", "Look>Pay"],
    )
    id = office.defined(document)
    assert mapped(office, id)["cases"] == 0
    for number in range(3):
        case = office.begun(id)
        case.until(Ask="TODO")
        case.submits("Ask")
        case.until(Look="DONE", Pay="TODO")
        if number < 2:
            case.submits("Pay")
            case.until(status="COMPLETED")
    found = until(lambda: mapped(office, id), lambda found: found["cases"] == 2)
    assert (found["source"], found["log_id"], found["events"]) == ("runs", None, 6)
    by_name = {each["name"]: each for each in found["activities"]}
    assert (by_name["Look"]["agent"], by_name["Look"]["human"], by_name["Ask"]["human"]) == (2, 0, 2)
    assert by_name["Look"]["median_work_ms"] is not None
    assert found["conformance"]["fitting"] == 2 and found["variants"][0]["activities"] == ["Ask", "Look", "Pay"]
    log = brought(office, log_of({"Ask,Pay": 5}), process=id)
    assert mapped(office, id)["source"] == "runs" and mapped(office, id, log=log["id"])["cases"] == 5
    assert mapped(office, id, **{"from": "2999-01-01T00:00:00Z"})["cases"] == 0
    lines = {each["id"]: each for each in office.operator.get("/processes/mining").json()["items"]}
    assert (lines[id]["source"], lines[id]["cases"], lines[id]["fitness"]) == ("runs", 2, 1.0)
    stranger = office.admin.post(
        "/tenants", json={"id": f"t{id}", "name": "Another", "admin": f"boss@{id}"}
    ).json()["token"]  # fmt: skip
    other = office.server.client(key=stranger)
    assert other.get(f"/processes/mining/{id}").status_code == 404
    assert other.get("/processes/mining").json()["items"] == [] == other.get("/processes/mining/logs").json()["items"]
    assert other.get(f"/processes/mining/{log['id']}").status_code == 404
    assert other.delete(f"/processes/mining/logs/{log['id']}").status_code == 404


def test_p_7_4_1_a_log_without_a_process_is_mapped_and_mined(office: World) -> None:
    """P-7.4.1, P-7.5.3, P-7.5.5: the model has an id of its own, and waits; rejected, it is kept and cannot begin."""
    data = log_of({"Ask,Look": 7, "Look,Ask": 7})
    log = brought(office, gzip.compress(data))
    found = mapped(office, log["id"])
    assert (found["id"], found["version"], found["conformance"], found["cases"]) == (log["id"], None, None, 14)
    made = office.admin.post(f"/processes/mining/{log['id']}:discover").json()
    assert (made["fitness"], made["approval_status"]) == (1.0, "pending")
    shown = office.admin.get(f"/processes/definitions/{made['model_id']}").json()
    assert (shown["type"], shown["source_event_log_id"]) == ("discovered", log["id"])
    where = f"/processes/definitions/{made['model_id']}"
    rejected = office.server.client(OWNER).post(f"{where}:reject", json={"comment": "too loose"})
    assert rejected.status_code == 200 and rejected.json()["approval_status"] == "rejected"
    assert office.admin.delete(f"/processes/mining/logs/{log['id']}").status_code == 204
    assert office.operator.get(f"/processes/mining/{log['id']}").status_code == 404
    assert office.admin.get(f"/processes/definitions/{made['model_id']}").status_code == 200


BAD = {
    "no base64": ({"name": "x.csv", "content_base64": "§"}, "PROC-400-SCHEMA"),
    "empty": (b"   ", "PS-422-EVENT_LOG_EMPTY"),
    "json": (b'{"a": 1}', "PS-415-EVENT_LOG"),
    "no case": (b"activity,time\nA,2026-01-01T00:00:00Z\n", "PS-422-EVENT_LOG_COLUMNS"),
    "cut off": (gzip.compress(log_of())[:200], "PS-422-EVENT_LOG_TRUNCATED"),
    "bad time": (b"case,activity,time\n1,A,yesterday\n", "PS-422-EVENT_LOG"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_of_a_bad_log_nothing_is_kept(office: World, name: str) -> None:
    """P-7.2.1: a typed refusal that says where, and nothing is stored."""
    before = office.admin.get("/processes/mining/logs").json()["items"]
    given, code = BAD[name]
    if isinstance(given, bytes):
        given = {"name": "x.csv", "content_base64": base64.b64encode(given).decode()}
    answer = office.admin.post("/processes/mining/logs", json=given)
    assert 400 <= answer.status_code < 500 and answer.json()["code"] == code, answer.text
    assert office.admin.get("/processes/mining/logs").json()["items"] == before


def test_the_same_file_again_is_the_same_log_and_rights_are_asked_for(office: World) -> None:
    """P-X.28: an operator looks, and neither brings, throws away, nor proposes."""
    id, other = office.defined(STEPS), office.defined(STEPS)
    data = log_of({"Ask,Look,Pay": 3})
    first = brought(office, data, process=id)
    again = brought(office, data, process=other, status=200)
    assert again["id"] == first["id"] and again["process"] == other
    listed = [each["id"] for each in office.operator.get("/processes/mining/logs").json()["items"]]
    assert listed.count(first["id"]) == 1
    asked = {"name": "x", "content_base64": base64.b64encode(data).decode()}
    assert office.operator.post("/processes/mining/logs", json=asked).status_code == 403
    assert office.operator.delete(f"/processes/mining/logs/{first['id']}").status_code == 403
    assert office.operator.post(f"/processes/mining/{other}:discover").status_code == 403
    assert office.admin.post("/processes/mining/nothing:discover").json()["code"] == "PROC-404"
    assert office.admin.get(f"/processes/mining/{other}/diff/{id}").json()["code"] == "PROC-409-STATE"
    assert office.admin.post(f"/processes/mining/{id}:discover").json()["code"] == "PS-400-INPUT", "no history"
    assert brought(office, data, process="nothing", status=404)["code"] == "PROC-404"
    wrong = {**asked, "columns": {"colour": "x"}}
    assert office.admin.post("/processes/mining/logs", json=wrong).status_code in (400, 422)


def test_a_model_of_a_process_that_has_changed_since_is_not_taken_over(office: World) -> None:
    """P-X.23, P-7.5.1: what somebody changed in between would be lost. Mined again it is taken over, once."""
    id = office.defined(STEPS)
    log = brought(office, log_of({"Ask,Look,Pay": 61, "Ask,Look,Look,Pay": 9}), process=id)
    asked = {"log": log["id"]}
    model = office.admin.post(f"/processes/mining/{id}:discover", json=asked).json()
    changed = {**STEPS, "process_definition_id": id, "description": "somebody has changed it"}
    changed["roles"] = [*(STEPS.get("roles") or ()), {"id": "auditor", "name": "Auditor"}]
    edited = office.admin.put(f"/processes/definitions/{id}", json=changed)
    assert edited.status_code == 200 and edited.json()["version"] == 2, edited.text
    where = f"/processes/definitions/{model['model_id']}:approve"
    owner = office.server.client(OWNER)
    refused = owner.post(where, json={"into": id, "version": model["version"]})
    assert (refused.status_code, refused.json()["code"]) == (409, "PROC-409-BASE"), refused.text
    assert "version 1" in refused.json()["detail"] and "version 2" in refused.json()["detail"]
    assert office.admin.get(f"/processes/definitions/{id}").json()["version"] == 2, "nothing is approved"
    assert office.admin.get(f"/processes/definitions/{model['model_id']}").json()["approval_status"] == "pending"

    again = office.admin.post(f"/processes/mining/{id}:discover", json=asked)
    assert (again.status_code, again.json()["version"]) == (201, model["version"] + 1)
    done = owner.post(where, json={"into": id, "version": again.json()["version"]})
    assert (done.status_code, done.json()["version"]) == (200, 3), done.text
    newest = office.admin.get(f"/processes/definitions/{id}").json()["definition"]
    assert {"id": "auditor", "name": "Auditor"}.items() <= newest["roles"][-1].items()
    twice = owner.post(where, json={"into": id})
    assert (twice.status_code, twice.json()["code"]) == (409, "PROC-409-STATE")


def test_what_was_rejected_stays_rejected_until_the_history_says_something_else(office: World) -> None:
    """P-X.43, P-7.5.1: the same history again is the same model; another one waits for somebody again."""
    id = office.defined(STEPS)
    log = brought(office, log_of({"Ask,Look,Pay": 62, "Ask,Look,Look,Pay": 9}), process=id)
    model = office.admin.post(f"/processes/mining/{id}:discover", json={"log": log["id"]}).json()
    where = f"/processes/definitions/{model['model_id']}"
    owner = office.server.client(OWNER)
    assert owner.post(f"{where}:reject", json={"comment": "not this way"}).status_code == 200
    again = office.admin.post(f"/processes/mining/{id}:discover", json={"log": log["id"]})
    assert (again.status_code, again.json()["new"], again.json()["approval_status"]) == (200, False, "rejected")
    assert mapped(office, id, log=log["id"])["discovered"] is None
    refused = owner.post(f"{where}:approve", json={"into": id})
    assert (refused.status_code, refused.json()["code"]) == (409, "PROC-409-STATE")
    other = brought(office, log_of({"Ask,Look,Pay": 62, "Ask,Pay": 9}), process=id)
    later = office.admin.post(f"/processes/mining/{id}:discover", json={"log": other["id"]}).json()
    assert (later["version"], later["approval_status"]) == (model["version"] + 1, "pending")
    assert mapped(office, id, log=other["id"])["discovered"]["model_id"] == later["model_id"]
