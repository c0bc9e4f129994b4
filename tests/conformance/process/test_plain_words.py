"""A text in plain words becomes a definition: Korean and English, steps, roles, conditions, loops, side by side."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.lang.compile import check_document, compile_document
from penstock.lang.process.bpmn.reading import read_bpmn
from penstock.lang.process.bpmn.writing import write_bpmn
from penstock.lang.process.plain import ENOUGH, Extracted, extract

MANUAL = """# 공급망 데이터 검증 절차
1. 데이터 등록서 접수 (담당: 접수 담당자): 이해관계자가 제출한 데이터 등록서를 접수하고 형식 검증
2. 데이터 수치 검증 [AI, 검토 필요]: 제출된 수치 데이터와 시스템 기록을 대조 검증
3. 데이터 분류 [AI 자동]: 데이터를 일반/핵심/우선/보조로 분류
4. 이슈 유무. 이슈가 있는 경우(has_issue == true) 담당자가 이슈를 처리한다. 그렇지 않으면 종료한다.
"""
ORDER = """Purchase approval

1. Clerk: Receive the request
2. The system checks the budget automatically
3. If the amount is greater than 1,000, the manager must approve the request. Otherwise, the clerk must place the order.
4. In parallel:
   - Notify the requester
   - File the order
5. If the order is not approved, go back to step 1.
"""


def released(found: Extracted) -> None:
    text = json.dumps(found.definition, ensure_ascii=False).encode()
    assert compile_document(text, name="text.json").language == "process"


def named(found: Extracted) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in found.definition["activities"]}


def test_the_manual_of_the_seed() -> None:
    """P-1.1.1, P-X.2, P-X.3, P-6.2.1: activities with type, mode and instruction, and a gateway with conditions."""
    found = extract(MANUAL)
    activities = named(found)
    assert found.definition["process_definition_name"] == "공급망 데이터 검증 절차"
    assert activities["데이터 등록서 접수"]["type"] == "humanTask"
    assert activities["데이터 등록서 접수"]["instruction"].startswith("이해관계자가 제출한")
    assert activities["데이터 수치 검증"]["agent_mode"] == "SUPERVISED"
    assert (activities["데이터 분류"]["type"], activities["데이터 분류"]["agent_mode"]) == ("serviceTask", "AUTONOMOUS")
    assert found.definition["gateways"][0]["name"] == "이슈 유무"
    conditions = [one["condition"] for one in found.definition["transitions"] if "condition" in one]
    assert conditions == ["has_issue == true", "has_issue == false"]
    assert found.definition["roles"][0]["name"] == "접수 담당자"
    released(found)


@pytest.mark.parametrize("text", [MANUAL, ORDER])
def test_what_was_found_becomes_bpmn(text: str) -> None:
    """P-1.2.7: activities, gateways and flows of a text as a BPMN file, drawn, which is read as the same process."""
    definition = extract(text).definition
    written = write_bpmn(definition)
    assert "BPMNShape" in written and "BPMNEdge" in written
    again, _ = read_bpmn(written)
    for name in ("activities", "gateways", "transitions"):
        known = {one["id"]: one for one in again[name]}
        for one in definition[name]:
            assert {key: known[one["id"]].get(key) for key in one} == one
    assert not [one for one in check_document(written.encode(), name="text.bpmn")[1] if one.severity == "error"]


def test_an_english_text_with_a_loop_and_branches_side_by_side() -> None:
    """P-X.3: numbered steps, role prefixes, if and otherwise, a way back, and what runs at the same time."""
    found = extract(ORDER)
    activities = named(found)
    assert found.definition["process_definition_name"] == "Purchase approval"
    assert activities["Receive the request"]["role"] == "clerk"
    flows = found.definition["transitions"]
    assert [one["condition"] for one in flows if one.get("condition")][:2] == ["amount > 1000", "!(amount > 1000)"]
    assert sum(one["type"] == "parallelGateway" for one in found.definition["gateways"]) == 2
    back = next(one for one in flows if one.get("condition") == "approved == false")
    assert back["target"] == activities["Receive the request"]["id"]
    released(found)


def test_otherwise_may_be_a_step_of_its_own() -> None:
    """P-X.3: it belongs to the condition of the step before."""
    steps = ["Clerk: Receive it", "If the amount is over 100, the boss must sign it.", "Otherwise, order it."]
    found = extract("Buy\n" + "".join(f"{n}. {one}\n" for n, one in enumerate(steps, 1)))
    conditions = [one["condition"] for one in found.definition["transitions"] if "condition" in one]
    assert conditions == ["amount > 100", "!(amount > 100)"] and len(found.definition["gateways"]) == 1
    released(found)


def test_how_sure_it_is() -> None:
    """P-X.22: the mean of four shares; 0.80 itself is enough."""
    sure, vague = extract(MANUAL), extract("어쩌고 저쩌고 무언가\n그리고 또 무언가\n만약 그러면 3단계로 간다")
    assert sure.confidence == round(sum(sure.parts.values()) / 4, 4) >= ENOUGH == 0.80 and sure.certain
    assert set(sure.parts) == {"activities", "transitions", "gateways", "schema"}
    assert vague.confidence < ENOUGH and not vague.certain
    assert sure.evidence["a2"].startswith("데이터 수치 검증")


def test_the_same_text_gives_the_same_definition() -> None:
    """P-X.3: built in and deterministic, so that it works offline."""
    assert extract(MANUAL).definition == extract(MANUAL).definition


@pytest.mark.parametrize("text", ["", " \n ", "1.", "그렇지 않으면 종료한다.", "- a\n- b\n- c"])
def test_a_text_without_steps(text: str) -> None:
    """P-X.2: never an error; what cannot be run is for a person to complete."""
    found = extract(text)
    assert isinstance(found.definition["activities"], list) and 0 <= found.confidence <= 1


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=400))
def test_any_text_at_all(text: str) -> None:
    """P-X.2: what comes out is read by the language without a traceback."""
    definition = extract(text).definition
    check_document(json.dumps(definition).encode(), name="text.json")
