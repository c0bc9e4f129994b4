"""Manuals over HTTP: documents in, with the sentences behind every element, as they are shown again later."""

from __future__ import annotations

import base64
from typing import Any

from tests.conformance.process.http.world import World

MANUAL = """# 구매 결재 절차

1. 신청자: 구매 요청서를 작성한다.
2. 금액이 100만원을 넘으면 팀장이 결재한다. 그렇지 않으면 담당자가 3영업일 이내에 처리한다.

## 결재 기준
| 금액 | 회원 등급 | 결재자 |
|---|---|---|
| 100만원 미만 | 무관 | 담당자 |
| 100만원 이상 500만원 미만 | 일반 | 팀장 |
| 그 외 | - | 대표 |
"""


def sent(office: World, source: bytes, name: str, **more: Any) -> dict[str, Any]:
    document = {"content_base64": base64.b64encode(source).decode(), "name": name}
    answer = office.admin.post("/processes/definitions:extract", json={"document": document, **more})
    assert answer.status_code in (200, 201), answer.text
    body: dict[str, Any] = answer.json()
    return body


def test_p_6_1_7_the_answer_has_the_definition_the_drawing_and_the_tables(office: World) -> None:
    """P-6.1.7, P-6.1.3, P-X.41: ProcessDefinition, BPMN XML and DMN XML; each element with its sentences; and the same
    later, with the version that was stored."""
    made = sent(office, MANUAL.encode(), "manual.md", id="manual1")
    assert made["version"] == 1 and made["definition"]["process_definition_name"] == "구매 결재 절차"
    assert "definitions" in made["bpmn"] and "BPMNShape" in made["bpmn"] and "decisionTable" in made["dmn"]
    by_id = {sentence["id"]: sentence for sentence in made["sentences"]}
    for sentence in made["sentences"]:
        assert made["text"][sentence["start"] : sentence["end"]] == sentence["text"]
    activities = [each for each in made["elements"] if each["collection"] == "activities"]
    assert len(activities) == 3 and all(each["sentences"] for each in made["elements"])
    assert "결재한다" in by_id[activities[1]["sentences"][0]]["text"]
    assert [chunk["number"] for chunk in made["chunks"]] == [1] and made["dropped"] == []
    later = office.admin.get("/processes/definitions/manual1/extraction", params={"version": 1}).json()
    for name in ("definition", "bpmn", "dmn", "text", "sentences", "chunks", "elements", "dropped", "confidence"):
        assert later[name] == made[name], name
    assert not later["edited"] and later["approval_status"] == made["approval_status"]


def test_a_version_that_nobody_extracted_has_no_extraction(office: World) -> None:
    """P-X.28: 404 for what was drawn, and for what is not there."""
    office.admin.post(
        "/processes/definitions",
        json={"process_definition_id": "drawn1", "process_definition_name": "x",
              "activities": [{"id": "a", "name": "a", "type": "humanTask"}], "transitions": []},
    )  # fmt: skip
    assert office.admin.get("/processes/definitions/drawn1/extraction").status_code == 404
    assert office.admin.get("/processes/definitions/nowhere/extraction").status_code == 404


def test_p_x_43_an_extracted_version_that_was_edited_says_so(office: World) -> None:
    """P-X.43: what waits for an approval and is edited is marked, and keeps its manual and its decision tables."""
    text = "# 접수\n접수\n검토\n\n| 금액 | 결재자 |\n|---|---|\n| 100만원 미만 | 팀장 |\n| 그 외 | 대표 |\n"
    made = sent(office, text.encode(), "a.txt", id="manual2")
    assert made["approval_status"] == "pending" and made["dmn"]
    changed = {**made["definition"], "description": "mended"}
    assert office.admin.put("/processes/definitions/manual2", json=changed).status_code == 200
    later = office.admin.get("/processes/definitions/manual2/extraction").json()
    assert (later["version"], later["edited"], later["approval_status"]) == (2, True, "pending")
    assert later["definition"]["description"] == "mended" and later["dmn"] == made["dmn"]
    assert office.admin.get("/processes/definitions/manual2").json()["origin"].get("extraction") is None


def test_documents_that_cannot_be_read_are_refused(office: World) -> None:
    """P-6.1.1: another kind of file, no base64, two at once: a problem, and nothing is stored."""
    one = base64.b64encode(b"1. a").decode()
    for document in (
        {"content_base64": one, "name": "a.exe"}, {"content_base64": one, "name": "a.docx"},
        {"content_base64": one, "media_type": "image/png"}, {"content_base64": "???"},
        {"content_base64": base64.b64encode(b"\xff\xfe\xff").decode(), "name": "a.txt"},
    ):  # fmt: skip
        refused = office.admin.post("/processes/definitions:extract", json={"document": document, "id": "never"})
        assert refused.status_code == 400 and refused.json()["code"], refused.text
    both = {"document": {"content_base64": one}, "text": "1. a", "id": "never"}
    assert office.admin.post("/processes/definitions:extract", json=both).status_code == 400
    assert office.admin.get("/processes/definitions/never").status_code == 404


def test_a_file_that_is_larger_than_a_body_says_what_to_do(office: World) -> None:
    """P-6.1.1, P-X.28: 6 MB are 8 MB in base64; the answer names the setting, in the reader's tongue."""
    document = {"content_base64": base64.b64encode(b"x" * 6_000_000).decode(), "name": "a.txt"}
    for tongue, said in (("en", "command line"), ("ko", "명령")):
        refused = office.admin.post(
            "/processes/definitions:extract", json={"document": document}, headers={"Accept-Language": tongue}
        )
        problem = refused.json()
        assert (refused.status_code, problem["code"]) == (413, "PS-413-BODY")
        assert "sizes.body_bytes" in problem["hint"] and said in problem["hint"]
