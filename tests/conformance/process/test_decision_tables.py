"""Decision tables of manuals as DMN, evaluated by our own DMN reader against what the manual says."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.executors.parts.rules.dmn import import_dmn, read_model
from penstock.feel.values.python import to_json
from penstock.lang.process.text_import.definition import extract
from penstock.lang.process.text_import.dmn_xml import write_dmn
from penstock.lang.process.text_import.manual_text import manual_of_text
from penstock.lang.process.text_import.rule_tables import DecisionTable, tables_of, without_tables
from penstock.lang.process.text_import.unary_tests import cell_test


def tables(text: str) -> list[DecisionTable]:
    return tables_of(manual_of_text(text))


def decided(text: str, decision: str, values: dict[str, Any]) -> Any:
    return to_json(read_model(write_dmn(tables(text), "x").encode()).evaluate(decision, values).value)


APPROVER = """# 구매 결재
1. 신청자: 요청서를 작성한다

## 결재 기준
| 금액 | 긴급 여부 | 결재자 |
|---|---|---|
| 100만원 미만 | - | 담당자 |
| 100만원 이상 500만원 미만 | 아니오 | 팀장 |
| 100만원 이상 500만원 미만 | 예 | 담당자 |
| 그 외 | - | 대표 |
"""


@pytest.mark.parametrize(
    ("amount", "urgent", "approver"),
    [(0, False, "담당자"), (999_999, True, "담당자"), (1_000_000, False, "팀장"), (1_000_000, True, "담당자"),
     (4_999_999, False, "팀장"), (5_000_000, False, "대표"), (5_000_000, True, "대표")],
)  # fmt: skip
def test_p_6_1_5_a_table_decides_as_the_manual_says(amount: int, urgent: bool, approver: str) -> None:
    """P-6.1.5: bounds with Korean units, yes and no, any, and all other cases, at their exact limits."""
    assert decided(APPROVER, "결재 기준", {"amount": amount, "긴급_여부": urgent}) == approver


def test_p_6_1_5_the_tables_are_a_rule_pack() -> None:
    """P-6.1.5, P-1.2.8: the file is taken by the rule packs without a finding, and its table is no step."""
    body, findings = import_dmn(write_dmn(tables(APPROVER), "x").encode())
    assert body["dmn"]["model"] and [finding.rule for finding in findings] == []
    found = tables(APPROVER)
    assert [(table.name, table.hit_policy, table.lines) for table in found] == [
        ("결재 기준", "FIRST", list(range(5, 11)))
    ]
    names = [each["name"] for each in extract(without_tables(APPROVER, found)).definition["activities"]]
    assert names == ["요청서를 작성한다"]


ENGLISH = """# Shipping

## Fee by weight

| Weight | Destination | Fee | Carrier |
|---|---|---|---|
| up to 5 kg | inland | 4.50 | post |
| over 5 kg | inland | 9 | courier |
| any | abroad or overseas | 25 | courier |
"""


@pytest.mark.parametrize(
    ("weight", "destination", "answer"),
    [(5, "inland", {"fee": 4.5, "carrier": "post"}), (5.1, "inland", {"fee": 9, "carrier": "courier"}),
     (1, "overseas", {"fee": 25, "carrier": "courier"}), (30, "abroad", {"fee": 25, "carrier": "courier"}),
     (1, "moon", None)],
)  # fmt: skip
def test_p_6_1_5_a_table_with_two_results(weight: float, destination: str, answer: Any) -> None:
    """P-6.1.5: several results, either of two values, decimals; nothing where no row is for it."""
    text = ENGLISH.replace("Fee | Carrier", "Fee | Result carrier")
    value = decided(text, "Fee by weight", {"weight": weight, "destination": destination})
    assert value == (answer and {"fee": answer["fee"], "result_carrier": answer["carrier"]})


LIST = """# 할인 기준
금액별 할인율
- 금액이 10만원 미만: 0%
- 10만원 이상 50만원 미만: 5%
- 50만원 이상: 10%
"""


@pytest.mark.parametrize(("amount", "discount"), [(99_999, 0), (100_000, 5), (499_999, 5), (500_000, 10)])
def test_p_6_1_5_a_list_of_cases(amount: int, discount: int) -> None:
    """P-6.1.5: cases with a value each, and no work in them, are a table."""
    assert decided(LIST, "금액별 할인율", {"amount": amount}) == discount


SENTENCES = """# Discounts
1. Clerk: Take the order.
2. Clerk: Work out the discount.

If the order total is at least 1,000 and the customer is a member, the discount is 15%.
If the order total is at least 1,000, the discount is 10%.
Otherwise, the discount is 0%.
"""


@pytest.mark.parametrize(
    ("total", "member", "discount"), [(1000, True, 15), (1000, False, 10), (999.99, True, 0), (10, False, 0)]
)
def test_p_6_1_5_rules_in_sentences(total: float, member: bool, discount: int) -> None:
    """P-6.1.5: the first rule that holds counts, as one reads it."""
    values = {"order_total": total, "customer_member": member}
    assert decided(SENTENCES, "discount", values) == discount


KOREAN_SENTENCES = """# 등급
신용 점수가 800점 이상이면 등급은 A이다. 신용 점수가 600점 이상이면 등급은 B이다. 그렇지 않으면 등급은 C이다.
"""


@pytest.mark.parametrize(("score", "grade"), [(800, "A"), (799, "B"), (600, "B"), (599, "C")])
def test_p_6_1_5_rules_in_korean_sentences(score: int, grade: str) -> None:
    """P-6.1.5: the same in Korean."""
    assert decided(KOREAN_SENTENCES, "등급", {"신용_점수": score}) == grade


@pytest.mark.parametrize(
    ("cell", "feel"),
    [("100만원 이상", ">= 1000000"), ("1억 미만", "< 100000000"), ("3일 초과 7일 이하", "(3..7]"), ("over 1,000",
    "> 1000"),
     ("10 or more", ">= 10"), ("5-10", "[5..10]"), ("1~3년", "[1..3]"), ("between 2 and 4", "[2..4]"), ("≤ 5", "<= 5"),
     ("7", "7"), ("예", "true"), ("No", "false"), ("무관", "-"), ("기타", "-"), ("서울", '"서울"'),
     ("A/B", '"A", "B"'), ('a"b', '"a\\"b"'), ("100~500만원", "[1000000..5000000]"), ("less than 2.5 kg", "< 2.5")],
)  # fmt: skip
def test_p_6_1_5_what_a_cell_means(cell: str, feel: str) -> None:
    """P-6.1.5: as FEEL writes it."""
    assert cell_test(cell).feel == feel


@pytest.mark.parametrize(
    "text",
    ["| 역할 | 하는 일 |\n|---|---|\n| 팀장 | 결재한다 |\n| 담당자 | 접수한다 |\n",
     "| No | Step | Responsible |\n|---|---|---|\n| 1 | Take it | Clerk |\n| 2 | Check it | Boss |\n",
     "| 이름 | 전화 |\n|---|---|\n| 김 | 02-1 |\n| 이 | 02-2 |\n",
     "- over 100: the boss signs it\n- up to 100: the clerk signs it\n",
     "| a | b |\n", "||\n||\n"],
)  # fmt: skip
def test_p_6_1_5_what_is_no_decision_is_no_table(text: str) -> None:
    """P-6.1.5: tables of roles and steps, lists of things, cases of work."""
    assert tables(text) == []


def test_p_6_1_5_a_hostile_table_is_text() -> None:
    """P-6.1.5: markup, quotes and FEEL in a cell are a text of the DMN file, and nothing else."""
    rows = ['| 5 이상 | "]]>]]&lt;&amp;</text><x/> |', '| 그 외 | date("x") + now() |', ""]
    text = "\n".join(('## T <&">', "| 금액 | 결과 |", "|---|---|", *rows))
    assert decided(text, 'T <&">', {"amount": 1}) == 'date("x") + now()'
    assert decided(text, 'T <&">', {"amount": 5}) == '"]]>]]&lt;&amp;</text><x/>'
