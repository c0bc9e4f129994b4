"""A text in plain words becomes a definition: Korean and English, steps, roles, conditions, loops, side by side."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.expr import compile_expression
from penstock.lang.compile import check_document, compile_document
from penstock.lang.process.bpmn.reader import read_bpmn
from penstock.lang.process.bpmn.writer import write_bpmn
from penstock.lang.process.text_import.definition import ENOUGH, Extracted, extract
from penstock.lang.process.text_import.guards import guard_of
from penstock.lang.process.text_import.roles import role_of

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


def ways(found: Extracted, gateway: str) -> dict[str, str]:
    """Where a gateway leads, by name, and when."""
    known = {one["id"]: one for name in ("activities", "gateways") for one in found.definition[name]}
    default = known[gateway].get("default")
    return {
        known.get(one["target"], {}).get("name") or one["target"]:
            "otherwise" if one["id"] == default else one.get("condition", "")
        for one in found.definition["transitions"] if one["source"] == gateway
    }  # fmt: skip


def told(found: Extracted) -> list[tuple[str, int]]:
    return [(one.rule, one.where.line) for one in found.findings]


def who(found: Extracted) -> list[tuple[str, str]]:
    """Every activity with the name of its role, or the mode of its agent."""
    roles = {one["id"]: one["name"] for one in found.definition["roles"]}
    return [(one["name"], roles.get(one.get("role", ""), one.get("agent_mode", ""))) for one in
            found.definition["activities"]]  # fmt: skip


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
    assert ways(found, "g1") == {"approve the request": "amount > 1000", "place the order": "otherwise"}
    assert sum(one["type"] == "parallelGateway" for one in found.definition["gateways"]) == 2
    back = next(one for one in flows if one.get("condition") == "approved == false")
    assert back["target"] == activities["Receive the request"]["id"]
    released(found)


def test_otherwise_may_be_a_step_of_its_own() -> None:
    """P-X.3: it belongs to the condition of the step before."""
    steps = ["Clerk: Receive it", "If the amount is over 100, the boss must sign it.", "Otherwise, order it."]
    found = extract("Buy\n" + "".join(f"{n}. {one}\n" for n, one in enumerate(steps, 1)))
    assert ways(found, "g1") == {"sign it": "amount > 100", "order it": "otherwise"}
    assert len(found.definition["gateways"]) == 1
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


# ---- manuals as they are written -------------------------------------------------------------------------------------


def test_a_counter_is_a_role_and_an_amount_is_a_number() -> None:
    """P-X.3, P-X.22: who stands before a colon is a role; «넘으면 … 아니면 …» is a gateway whose ways join again."""
    found = extract("""# 민원 접수
1. 창구: 서류를 받는다
2. 품질 관리자: 승인한다
3. 금액이 100만원을 넘으면 팀장이 결재하고, 아니면 담당자가 바로 처리한다.
4. 담당자는 결과를 고객에게 통보한다.
""")
    assert who(found) == [("서류를 받는다", "창구"), ("승인한다", "품질 관리자"), ("결재한다", "팀장"),
                          ("바로 처리한다", "담당자"), ("결과를 고객에게 통보한다", "담당자")]  # fmt: skip
    assert [one["name"] for one in found.definition["roles"]] == ["창구", "품질 관리자", "팀장", "담당자"]
    assert ways(found, "g1") == {"결재한다": "amount > 1000000", "바로 처리한다": "otherwise"}
    assert ways(found, "g2_join") == {"결과를 고객에게 통보한다": ""}, "both ways meet before what follows"
    assert (found.confidence, told(found)) == (1.0, [])
    released(found)


def test_a_table_of_roles_and_bounds_in_any_order() -> None:
    """P-X.3: the narrower bound is asked first, as 억 and 만 are read; «다시 2단계로» leads back."""
    found = extract("""# 구매 요청 처리 절차

| 역할 | 하는 일 |
|---|---|
| 요청자 | 구매를 요청한다 |
| 구매 담당자 | 견적을 받는다 |
| 감사 | 기록을 본다 |

## 절차
1. 요청자가 구매 요청서를 작성한다.
2. 구매 담당자가 견적을 받는다.
3. 금액이 500만원 이상이면 팀장이 결재한다. 금액이 1억 5천만원 이상이면 대표가 심의한다.
   그 외에는 구매 담당자가 확정한다.
4. 반려되면 다시 2단계로 돌아간다.
5. 구매 담당자가 발주한다.
""")
    assert [one["name"] for one in found.definition["roles"]] == ["요청자", "구매 담당자", "감사", "대표", "팀장"]
    assert list(ways(found, "g1").items()) == [
        ("심의한다", "amount >= 150000000"), ("결재한다", "amount >= 5000000"), ("확정한다", "otherwise"),
    ]  # fmt: skip
    assert ways(found, "g2") == {"견적을 받는다": "rejected == true", "발주한다": "otherwise"}
    assert told(found) == [("condition_to_check", 14)] and found.confidence == 1.0
    released(found)


def test_prose_with_a_trigger_and_two_things_compared() -> None:
    """P-X.3: what sets it going and what is finished are no conditions; names of the text stay in its language."""
    found = extract(
        """휴가 신청 업무

휴가 신청이 접수되면 인사팀이 잔여 일수를 확인한다. 한편 총무팀은 근태 기록을 준비한다. \
잔여 일수가 신청 일수보다 적은 경우 인사팀이 신청을 반려한다. \
그렇지 않으면 팀장이 승인한다. 승인이 완료되면 인사팀이 결과를 등록한다.
""".replace("\\\n", "")
    )
    assert who(found) == [("잔여 일수를 확인한다", "인사팀"), ("근태 기록을 준비한다", "총무팀"),
                          ("신청을 반려한다", "인사팀"), ("승인한다", "팀장"),
                          ("결과를 등록한다", "인사팀")]  # fmt: skip
    assert ways(found, "g1") == {"잔여 일수를 확인한다": "", "근태 기록을 준비한다": ""}, "side by side"
    assert ways(found, "g3") == {
        "신청을 반려한다": "context['잔여_일수'] < context['신청_일수']",
        "승인한다": "otherwise",
    }
    assert sum(one["type"] == "parallelGateway" for one in found.definition["gateways"]) == 2
    assert (found.confidence, told(found)) == (1.0, [])
    released(found)


def test_who_is_told_before_a_condition_and_what_is_gathered() -> None:
    """P-X.3: «담당자는 서류가 맞으면» is done by the clerk; «In parallel, A and B» is all of it."""
    found = extract("# 등록\n1. 창구: 받는다\n2. 담당자는 서류가 맞으면 등록한다. 그렇지 않으면 창구가 돌려준다.")
    assert who(found)[1:] == [("등록한다", "담당자"), ("돌려준다", "창구")]
    assert ways(found, "g1") == {"등록한다": "context['서류_맞'] == true", "돌려준다": "context['서류_맞'] == false"}
    found = extract("# Book\n1. Clerk: order it\n2. In parallel, finance must book it and the clerk must file it.")
    assert ways(found, "g1") == {"book it": "", "file it": ""} and dict(who(found))["book it"] == "finance"
    released(found)


def test_answers_of_a_question_and_work_before_a_condition() -> None:
    """P-X.3: yes and no answer a step; «통보하고, …면» does something first; «정상이 아니면» is no else."""
    found = extract("""Complaints
1. Clerk: record the complaint
2. Is the complaint urgent?
   - Yes: the caretaker visits the flat within 24 hours
   - No: the caretaker calls the tenant
""")
    assert ways(found, "g1") == {
        "visits the flat within 24 hours": "complaint_urgent == true", "calls the tenant": "complaint_urgent == false",
    }  # fmt: skip
    assert found.definition["gateways"][0]["name"] == "Is the complaint urgent"
    released(found)
    found = extract("# 선발\n① 국제처: 면접을 본다\n② 담당자가 학생에게 통보하고, 학생이 포기하면 ①번부터 다시 한다\n"
                    "③ 검진 결과가 정상이 아니면 국제처가 다시 검진한다.")  # fmt: skip
    assert who(found)[1] == ("학생에게 통보한다", "담당자")
    assert ways(found, "g1")["면접을 본다"] == "context['학생_포기'] == true"
    assert ways(found, "g2")["다시 검진한다"].endswith("== false")
    released(found)


def test_steps_that_are_headings() -> None:
    """P-X.3: a heading with a number is a step, what stands below says who does it; ways lead on to steps and end."""
    found = extract("""# 반품 처리
## 1단계: 접수
고객 센터가 반품 요청을 받는다.
## 2단계: 검수
물류팀이 제품 상태를 확인한다. 불량률이 5%를 초과하는 경우 3단계로 간다. 그렇지 않으면 4단계로 간다.
## 3단계: 환불
회계팀이 환불한다.
절차를 종료한다.
## 4단계: 교환
물류팀이 새 제품을 보낸다.
""")
    assert who(found) == [("접수", "고객 센터"), ("검수", "물류팀"), ("환불", "회계팀"), ("교환", "물류팀")]
    assert ways(found, "g1") == {"환불": "defect_rate > 5", "교환": "otherwise"}
    flows = [(one["source"], one["target"]) for one in found.definition["transitions"]]
    assert ("a3", "end1") in flows and ("a3", "a4") not in flows
    assert named(found)["환불"]["instruction"] == "회계팀이 환불한다."
    released(found)


def test_an_english_manual_with_conditions_inside_its_steps() -> None:
    """P-X.3: what is done before a condition, unless, a way back after something was done, the role of the step."""
    found = extract(
        """# Expense claims
1. Employee: submit the claim with receipts
2. Clerk: receive the form. If a receipt is missing, return the claim to the employee and go back to step 1.
3. Accounting: check the claim; if the total exceeds $5,000, the finance director signs it, otherwise the team lead \
approves it.
4. Unless the claim is approved, the process ends.
5. Accounting: pay the claim
""".replace("\\\n", "")
    )
    assert who(found) == [
        ("submit the claim with receipts", "Employee"), ("receive the form", "Clerk"),
        ("return the claim to the employee", "Clerk"), ("check the claim", "Accounting"),
        ("signs it", "finance director"), ("approves it", "team lead"), ("pay the claim", "Accounting"),
    ]  # fmt: skip
    assert ways(found, "g1") == {
        "return the claim to the employee": "receipt_missing == true", "check the claim": "otherwise",
    }  # fmt: skip
    assert ways(found, "g2") == {"signs it": "total > 5000", "approves it": "otherwise"}
    assert ways(found, "g3") == {"end1": "approved == false", "pay the claim": "otherwise"}
    assert {("a3", "a1"), ("start", "a1")} < {(one["source"], one["target"]) for one in found.definition["transitions"]}
    assert told(found) == [("condition_to_check", 3), ("condition_to_check", 5)]
    assert "receipt_missing" in found.findings[0].message and found.findings[0].node == "g1"
    released(found)


def test_english_prose_with_three_ways_and_two_things_at_once() -> None:
    """P-X.3: one sentence may name all ways; the steeper bound is asked first."""
    found = extract(
        "# Incident handling\nThe service desk logs the incident. If the severity is at least 3, the on-call engineer "
        "investigates it; if the severity is at least 5, the incident manager takes over; otherwise the service desk "
        "resolves it. When the fix is complete, the engineer closes the ticket and at the same time the service desk "
        "informs the customer.\n"
    )
    assert list(ways(found, "g1").items()) == [
        ("takes over", "severity >= 5"), ("investigates it", "severity >= 3"), ("resolves it", "otherwise"),
    ]  # fmt: skip
    assert ways(found, "g2") == {"closes the ticket": "", "informs the customer": ""}
    assert dict(who(found))["informs the customer"] == "service desk" and found.confidence == 1.0
    released(found)


def test_a_table_of_steps() -> None:
    """P-X.3: a row is a step, with its role; a condition in it is read like any other."""
    found = extract("""Goods receipt

| No | Step | Responsible |
|---|---|---|
| 1 | Receive goods | Warehouse |
| 2 | Inspect goods | Quality manager |
| 3 | If more than 5 items are damaged, reject the delivery. Otherwise, store it. | Warehouse |
""")
    assert found.definition["process_definition_name"] == "Goods receipt"
    assert who(found) == [("Receive goods", "Warehouse"), ("Inspect goods", "Quality manager"),
                          ("reject the delivery", "Warehouse"), ("store it", "Warehouse")]  # fmt: skip
    assert ways(found, "g1") == {"reject the delivery": "items_damaged > 5", "store it": "otherwise"}
    released(found)


def test_a_list_of_cases_and_two_nouns_at_once() -> None:
    """P-X.3: cases below a step compare what its head names; «…하고 종료한다» does something first."""
    found = extract("""# 대출 심사
1. 상담사가 신청서를 접수한다
2. 신용 등급에 따라 심사한다
   - 3등급 이하: 본점 심사역이 심사한다
   - 그 외: 지점장이 검토한다
3. 심사 결과 확인과 약정서 준비를 동시에 진행한다
4. 승인되지 않으면 지점장이 고객에게 안내하고 종료한다.
5. 약정을 체결한다 (담당: 지점 창구)
""")
    assert ways(found, "g1") == {"심사한다": "context['신용_등급'] <= 3", "검토한다": "otherwise"}
    assert ways(found, "g2") == {"심사 결과 확인": "", "약정서 준비": ""}
    assert ways(found, "g5") == {"고객에게 안내한다": "approved == false", "약정을 체결한다": "otherwise"}
    assert dict(who(found))["약정을 체결한다"] == "지점 창구" and told(found) == [("condition_to_check", 7)]
    released(found)


def test_steps_by_letters_with_titles() -> None:
    """P-X.3: 가, 나, 다 count; a title before a condition names the gateway; «초과 시» is what «이하» leaves."""
    found = extract("""보험금 청구 처리 기준

가. 접수: 고객이 청구서를 제출하면 접수 담당자가 서류를 확인한다.
나. 심사: 청구액이 3백만원 이하일 경우 자동 심사하고 초과 시 심사팀에서 현장 조사를 실시한다.
다. 처방이 있으면 약국이 약을 준비하고, 없으면 창구가 바로 수납한다.
""")
    assert [one["name"] for one in found.definition["gateways"]][:1] == ["심사"]
    assert named(found)["접수"]["instruction"] == "접수 담당자가 서류를 확인한다"
    assert ways(found, "g1") == {"자동 심사한다": "context['청구액'] <= 3000000", "현장 조사를 실시한다": "otherwise"}
    assert ways(found, "g2") == {
        "약을 준비한다": "context['처방'] == true",
        "바로 수납한다": "context['처방'] == false",
    }
    released(found)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("# 배송\n1. 창구: 주문을 받는다\n2. 물류팀: 지역 규모에 따라 차량을 배정한다\n3. 물류팀: 보낸다", 3),
        ("# Ship\n1. Clerk: take the order\n2. Clerk: pick a carrier depending on the weight\n3. Clerk: ship it", 3),
        ("# Ship\n1. Clerk: take the order\n2. Clerk: ship it\n\n## Exceptions\nIf it is lost, somebody pays.", 6),
        ("# Ship\n1. Otherwise, the clerk must ship it.\n2. Clerk: file the order", 2),
    ],
)
def test_a_condition_that_is_not_understood_is_told_and_counted(text: str, line: int) -> None:
    """P-X.22: it counts as a gateway without conditioned branches, and its line is told; a person has to look."""
    found = extract(text)
    assert told(found) == [("condition_not_read", line)] and f"Line {line}:" in found.findings[0].message
    assert found.parts["gateways"] == 0.0 and found.confidence == 0.75 and not found.certain
    released(found)


def test_the_share_of_gateways() -> None:
    """P-X.22: one of two conditions was understood, and the other three parts are whole."""
    found = extract("# 배송\n1. 창구: 받는다\n2. 무게가 30kg 이상이면 기사가 싣는다. 아니면 창구가 든다.\n"
                    "3. 창구: 등급에 따라 보낸다")  # fmt: skip
    assert found.parts == {"activities": 1.0, "transitions": 1.0, "gateways": 0.5, "schema": 1.0}
    assert found.confidence == 0.875 and told(found) == [("condition_not_read", 4)]
    assert ways(found, "g1") == {"싣는다": "context['무게'] >= 30", "든다": "otherwise"}


def test_ways_that_lead_nowhere_are_told() -> None:
    """P-X.22: a step that the text does not have, and a step that nothing leads to, are transitions without ends."""
    found = extract(
        "# Buy\n1. Clerk: order it\n2. If it is late, go to step 9.\n3. The process ends.\n4. Clerk: pay it"
    )
    assert {("step_unknown", 3), ("step_not_reached", 5)} <= set(told(found))
    assert found.parts["transitions"] < 1.0


@pytest.mark.parametrize(
    ("said", "expression"),
    [
        ("금액이 100만원을 넘으면", "amount > 1000000"), ("금액이 1억 5천만원 이상인 경우", "amount >= 150000000"),
        ("무게가 2.5톤 미만이면", "context['무게'] < 2.5"), ("수량이 3인 경우", "quantity == 3"),
        ("수량이 3일 경우", "quantity == 3"),
        ("연체 일수가 30일을 넘지 않으면", "context['연체_일수'] <= 30"),
        ("재고가 10개보다 적으면", "stock < 10"), ("the total exceeds 2 million", "total > 2000000"),
        ("the price is no more than $1,500.50", "price <= 1500.5"),
        ("the weight is greater than the limit", "weight > limit"), ("일이 잘못되면", "context['일_잘못'] == true"),
        ("at least 3 reviewers agree", "reviewers_agree >= 3"), ("the order is not paid", "order_paid == false"),
        ("금액이 100만원 이상이고 수량이 5개 미만이면", "amount >= 1000000 && quantity < 5"),
        ("거리가 200km를 초과하거나 인원이 4명 이상인 경우", "context['거리'] > 200 || context['인원'] >= 4"),
        ("the total is over 500 or the weight is at least 20", "total > 500 || weight >= 20"),
        ("이슈가 없으면", "has_issue == false"), ("now is over 5", "context['now'] > 5"),
    ],
)  # fmt: skip
def test_what_a_condition_says(said: str, expression: str) -> None:
    """P-X.3, P-X.9: numbers with their units, both sides named, the opposite; every one can be compiled."""
    assert guard_of(said).expression == expression
    compile_expression(expression)


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("창구: 서류를 받는다", "창구"), ("품질 관리자: 승인한다", "품질 관리자"), ("Clerk: receive the form", "Clerk"),
        ("Head of human resources: sign it", "Head of human resources"), ("Accounting: pay it", "Accounting"),
        ("서류 접수: 고객이 낸 서류를 받는다", None), ("Budget check: compare it with the budget", None),
        ("주의: 늦지 않는다", None), ("Note: be quick", None), ("Send it to the following people: all", None),
        ("제출한 신청자가 서명한다", "신청자"), ("심사 결과가 좋다", None), ("The order passes the gate", None),
    ],
)  # fmt: skip
def test_who_stands_before_a_colon(text: str, role: str | None) -> None:
    """P-X.3: somebody, unless it is a piece of work, a heading or a remark."""
    assert role_of(text)[1] == role


def test_a_long_text_is_read_in_good_time() -> None:
    """P-X.2: sentences without an end, and thousands of steps, are read like others."""
    for text in ("가면 " * 20_000, "if " * 30_000, "a" * 100_000, "1. 금액이 5 이상이면 팀장이 본다.\n" * 3000):
        assert 0 <= extract(text).confidence <= 1


def test_a_role_behind_its_step_in_any_letters() -> None:
    """P-X.3: «(BY: clerk)» and «(Role clerk)» as «(by clerk)»; what is explained may go on in the next line."""
    for words in ("Check stock (BY: Clerk): count\nit", "Check stock (Role Clerk): count\nit"):
        assert role_of(words) == ("Check stock: count\nit", "Clerk")
