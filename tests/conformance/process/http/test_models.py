"""Definitions over HTTP on either store: versions, hierarchy, BPMN, mined and extracted models, thresholds."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from tests.api.serving import until
from tests.conformance.process.http.world import World
from tests.conformance.process.make import EXAMPLES, process, service, task

BPMN = """<?xml version="1.0" encoding="UTF-8"?>
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="urn:test">
  <process id="{id}" name="발견된 절차">
    <startEvent id="s"/><userTask id="a" name="접수"/><userTask id="b" name="검토"/><endEvent id="e"/>
    <sequenceFlow id="f1" sourceRef="s" targetRef="a"/><sequenceFlow id="f2" sourceRef="a" targetRef="b"/>
    <sequenceFlow id="f3" sourceRef="b" targetRef="e"/>
  </process>
</definitions>"""
MINED = {"algorithm": "inductive", "fitness": 0.85, "precision": 0.9, "case_count": 42}


def discovered(office: World, id: str, **more: Any) -> httpx2.Response:
    body = {"event_log_id": f"log-{id}", "bpmn_xml": BPMN.format(id=id), "mining_metadata": MINED, **more}
    return office.admin.post("/processes/definitions:import-discovered", json=body)


def test_a_new_version_is_for_new_instances(office: World) -> None:
    """P-A.18, P-X.8, P-2.3.2: version 2 with its diff; the running instance ends on 1, a new one uses 2."""
    first = process([task("A"), task("B")], ["A>B"])
    old = office.begun(first)
    second = {**process([task("A"), task("C")], ["A>C"]), "process_definition_id": old.definition}
    done = office.admin.put(f"/processes/definitions/{old.definition}", json=second)
    assert done.status_code == 200 and done.json()["version"] == 2, done.text
    diff = done.json()["diff"]
    assert list(diff["activities"]["added"]) == ["C"] and list(diff["activities"]["removed"]) == ["B"]
    assert list(diff["transitions"]["added"]) == ["A>C"] and diff["activities"]["changed"] == {}
    again = office.admin.put(f"/processes/definitions/{old.definition}", json=second)
    assert (again.json()["version"], again.json()["new"]) == (2, False), "the same content is the same version"
    new = office.begun(old.definition)
    assert old.submits("A")["next_nodes"] == ["B"] and new.submits("A")["next_nodes"] == ["C"]
    assert (old.look()["proc_def_version"], new.look()["proc_def_version"]) == (1, 2)
    old.submits("B")
    assert old.look()["status"] == "COMPLETED"
    page = office.admin.get(f"/processes/definitions/{old.definition}/versions").json()["items"]
    assert [(one["version"], one["diff"] is None) for one in page] == [(2, False), (1, True)]
    assert page[1]["snapshot"]["activities"][1]["id"] == "B"


def test_a_mined_model_waits_for_an_analyst(office: World) -> None:
    """P-A.17, P-7.4.2, P-7.4.3, P-7.4.4, P-7.4.5, P-7.4.6, P-7.5.1, P-7.5.3: discovered and pending, with its log."""
    done = discovered(office, "mined1")
    assert done.status_code == 201, done.text
    assert (done.json()["type"], done.json()["approval_status"]) == ("discovered", "pending")
    held = office.admin.get("/processes/definitions/mined1").json()
    assert held["description"].split("\n") == [
        "프로세스 마이닝으로 자동 발견된 모델", "알고리즘: inductive", "Fitness: 0.85", "케이스 수: 42",
    ]  # fmt: skip
    assert (held["source_event_log_id"], held["startable"]) == ("log-mined1", False)
    assert (held["origin"]["event_log_id"], held["origin"]["precision"]) == ("log-mined1", 0.9)
    assert office.admin.get("/processes/definitions/mined1/bpmn").text == BPMN.format(id="mined1")
    told = [one["payload"] for one in office.events("DISCOVERED_MODEL_IMPORTED")]
    assert {
        "aggregate_type": "proc_def", "aggregate_id": "mined1", "proc_def_id": "mined1",
        "event_log_id": "log-mined1", "source": "process_mining",
    } in told  # fmt: skip
    for path in ("/processes/definitions/mined1/instances", "/runs"):
        body = {} if path != "/runs" else {"definition": "mined1", "version": 1}
        refused = office.operator.post(path, json=body)
        assert refused.status_code == 409 and refused.json()["code"] == "PROC-409-STATE", refused.text
    for path in ("/processes/definitions/mined1:approve", "/definitions/mined1/versions/1/approve"):
        refused = office.manager.post(path)
        assert refused.status_code == 403, "a manager is no analyst (P-X.23)"
    assert office.admin.post("/processes/definitions/mined1:approve").status_code == 200
    assert office.begun("mined1").states() == {"a": "TODO"}
    assert office.admin.post("/processes/definitions/mined1:approve").status_code == 409


def test_a_mined_model_is_edited_rejected_or_taken_over(office: World) -> None:
    """P-X.23, P-X.43, P-7.2.2: rejected and kept; edited while pending; approved into a base process with a diff."""
    discovered(office, "mined2")
    refused = office.admin.post("/processes/definitions/mined2:reject", json={"comment": "잡음"})
    assert refused.json()["approval_status"] == "rejected"
    held = office.admin.get("/processes/definitions/mined2").json()
    assert held["feedback"].endswith("잡음") and not held["startable"]
    base = office.defined(process([task("a", name="접수")], []))
    made = discovered(office, "mined3", base_proc_def_id=base)
    assert made.status_code == 201, made.text
    whole = office.admin.get("/processes/definitions/mined3").json()
    assert "b" in whole["origin"]["base_diff"]["activities"]["added"]
    edited = {**whole["definition"], "description": "고친 모델"}
    done = office.admin.put("/processes/definitions/mined3", json=edited)
    assert (done.json()["version"], done.json()["approval_status"]) == (2, "pending"), done.text
    assert office.admin.get("/processes/definitions/mined3").json()["origin"]["edited"] is True
    done = office.admin.post("/processes/definitions/mined3:approve", json={"into": base})
    assert (done.json()["id"], done.json()["version"], done.json()["type"]) == (base, 2, "base"), done.text
    assert list(done.json()["diff"]["activities"]["added"]) == ["b"]


def test_the_hierarchy_holds_and_is_not_begun(office: World) -> None:
    """P-2.1.1, P-2.1.2, P-X.4: mega, major, base; containers are not begun, and a parent is there and above."""
    ids = {}
    for path in sorted((EXAMPLES / "hierarchy").glob("*.json")):
        made = office.admin.post("/processes/definitions", json={"document": path.read_text()})
        assert made.status_code in (200, 201), made.text
        ids[made.json()["type"]] = made.json()["id"]
    top = office.admin.get(f"/processes/definitions/{ids['mega']}").json()
    assert top["name"] == "엔터프라이즈 운영 최적화 전체" and {one["type"] for one in top["children"]} == {"major"}
    lines = office.admin.get("/processes/definitions", params={"type": "major"}).json()["items"]
    assert {one["parent_id"] for one in lines} == {ids["mega"]}
    for kind in ("mega", "major"):
        refused = office.operator.post(f"/processes/definitions/{ids[kind]}/instances", json={})
        assert refused.status_code == 409 and refused.json()["code"] == "PROC-409-STATE"
    wrong = {**process([task("A")], []), "process_definition_id": "wrong", "type": "mega", "parent_id": ids["major"]}
    refused = office.admin.post("/processes/definitions", json=wrong)
    assert (refused.status_code, refused.json()["code"]) == (400, "PROC-400-SCHEMA")
    assert refused.json()["findings"][0]["rule"] == "parent_level"
    assert office.admin.get("/processes/definitions/wrong").json()["code"] == "PROC-404"
    orphan = {**process([task("A")], []), "process_definition_id": "orphan", "parent_id": "nobody"}
    assert office.admin.post("/processes/definitions", json=orphan).json()["warnings"][0]["rule"] == "parent_unknown"


def _to_do(office: World, definition: str) -> list[Any]:
    answer = office.manager.get("/processes/workitems", params={"status": "TODO", "limit": 200})
    return [item for item in answer.json()["items"] if item["proc_def_id"] == definition]


def test_a_process_calls_another(office: World) -> None:
    """P-X.4: by id or by name; the item is IN_PROGRESS until the child ends, and its result comes back."""
    child = office.defined({**process([task("C", name="아이")], []), "process_definition_name": "하위 절차"})
    for name in (child, "하위 절차"):
        calls = task("call", type="subProcess", orchestration={"sub_process": name, "input": {"n": 2}})
        case = office.begun(process([calls, task("after")], ["call>after"]))
        case.until(call="IN_PROGRESS")
        (inner,) = until(lambda: _to_do(office, child), bool)  # the child begins in a turn of its own
        look = office.operator.get(f"/processes/instances/{inner['proc_inst_id']}").json()
        assert (look["parent_inst_id"], look["variables"]) == (case.id, {"n": 2})
        done = office.manager.post(f"/processes/workitems/{inner['id']}:submit", json={"result_data": {"n": 3}})
        assert done.status_code == 200, done.text
        case.until(call="DONE", after="TODO")
    unknown = process([task("call", type="subProcess", orchestration={"sub_process": "nobody"})], [])
    refused = office.admin.post("/processes/definitions", json={**unknown, "process_definition_id": "calls_nobody"})
    assert refused.status_code == 400 and refused.json()["findings"][0]["rule"] == "sub_process_unknown"


def test_bpmn_comes_in_and_goes_out(office: World) -> None:
    """P-X.25, P-2.3.1, P-X.28: XML in, run, XML out; JSON out as XML, which comes in again as the same."""
    made = office.admin.post("/processes/definitions:import-bpmn", json={"bpmn_xml": BPMN.format(id="drawn")})
    assert made.status_code == 201, made.text
    case = office.begun("drawn")
    assert case.submits("a")["next_nodes"] == ["b"]
    written = office.defined(process([task("A"), task("B")], ["A>B"]))
    xml = office.admin.get(f"/processes/definitions/{written}/bpmn")
    assert xml.headers["content-type"].startswith("application/xml")
    again = office.admin.post("/processes/definitions:import-bpmn", json={"bpmn_xml": xml.text})
    assert again.json()["id"] == written, again.text
    assert again.json()["diff"] == {
        "activities": {"added": {}, "removed": {}, "changed": {one: {"bpmn": [None, "userTask"]} for one in "AB"}}
    }, "only what XML always says is new"  # fmt: skip
    for bad in ("<a", "<!DOCTYPE x [<!ENTITY y 'z'>]><definitions/>", "<html/>"):
        refused = office.admin.post("/processes/definitions:import-bpmn", json={"bpmn_xml": bad})
        assert (refused.status_code, refused.json()["code"]) == (400, "PROC-400-SCHEMA"), refused.text


def test_what_is_wrong_is_named(office: World) -> None:
    """P-X.1, P-X.35, P-X.7: every finding with its place, nothing stored; another tenant's is refused."""
    ring = {**process([task("A"), task("B")], ["A>B", "B>A"]), "process_definition_id": "ring"}
    refused = office.admin.post("/processes/definitions", json=ring)
    assert (refused.status_code, refused.json()["code"]) == (400, "PROC-400-SCHEMA")
    assert refused.json()["findings"] and office.admin.get("/processes/definitions/ring").status_code == 404
    foreign = {**process([task("A")], []), "process_definition_id": "theirs", "tenant_id": "somebody_else"}
    refused = office.admin.post("/processes/definitions", json=foreign)
    assert (refused.status_code, refused.json()["code"]) == (403, "PROC-403-SCOPE")
    refused = office.admin.get("/processes/definitions", headers={"X-Tenant-Id": "somebody_else"})
    assert (refused.status_code, refused.json()["code"]) == (403, "PROC-403-SCOPE")
    mine = office.admin.get("/me").json()["tenant"]
    assert office.admin.get("/processes/definitions", headers={"X-Tenant-Id": mine}).status_code == 200
    pos = office.admin.post("/processes/definitions", json={"document": "process_definition_id: y\nactivities: 3\n"})
    assert pos.status_code == 400 and {one["where"]["line"] for one in pos.json()["findings"]} >= {2}, pos.text


def test_a_text_becomes_a_process(office: World) -> None:
    """P-X.2, P-X.22, P-6.1.6, P-X.23: shown with diff and confidence; below 0.80 it waits and cannot be begun."""
    text = "# 자료 접수\n1. 담당자: 등록서를 접수한다\n2. 검토자: 내용을 검토한다\n"
    shown = office.admin.post("/processes/definitions:extract", json={"text": text, "id": "ex1", "dry_run": True})
    assert shown.status_code == 200 and shown.json()["version"] is None, shown.text
    assert office.admin.get("/processes/definitions/ex1").status_code == 404
    made = office.admin.post("/processes/definitions:extract", json={"text": text, "id": "ex1"}).json()
    assert (made["approval_status"], made["confidence"] >= 0.8) == ("approved", True)
    assert len(made["diff"]["activities"]["added"]) == 2
    assert office.begun("ex1").look()["status"] == "RUNNING"
    vague = office.admin.post("/processes/definitions:extract", json={"text": "1. 접수\n2. 검토", "id": "ex2"}).json()
    assert (vague["approval_status"], vague["confidence"] < 0.8) == ("pending", True)
    assert office.operator.post("/processes/definitions/ex2/instances", json={}).status_code == 409
    assert office.admin.post("/processes/definitions/ex2:approve").status_code == 200
    assert office.begun("ex2").look()["status"] == "RUNNING"


@pytest.fixture(scope="module")
def many(office: World) -> None:
    here = len(_lines(office))
    for n in range(101 - here):
        office.admin.post(
            "/processes/definitions", json={**process([service("A")], []), "process_definition_id": f"n{n}"}
        )


def _lines(office: World) -> list[Any]:
    found: list[Any] = []
    cursor: dict[str, str] = {}
    while True:
        page = office.admin.get("/processes/definitions", params={"limit": 200, **cursor}).json()
        found += page["items"]
        if page["next"] is None:
            return found
        cursor = {"cursor": page["next"]}


def test_thresholds_are_told(office: World, many: None) -> None:
    """P-A.20, P-8.1, P-8.5, P-8.7, P-X.27: 101 definitions exceed 100; a mined fitness of 0.85 does not fall below."""
    rows = {one["id"]: one for one in office.admin.get("/processes/reevaluation").json()["items"]}
    assert {id: row["threshold"] for id, row in rows.items()} == {
        "P-8.1": 100, "P-8.2": 500, "P-8.3": 0.05, "P-8.4": 0.7, "P-8.5": 0.7, "P-8.6": 100_000, "P-8.7": 0.5,
    }  # fmt: skip
    assert (rows["P-8.1"]["value"] >= 101, rows["P-8.1"]["exceeded"]) == (True, True)
    assert (rows["P-8.5"]["value"], rows["P-8.5"]["exceeded"]) == (0.85, False)
    assert rows["P-8.2"]["exceeded"] is False and rows["P-8.7"]["value"] is not None
