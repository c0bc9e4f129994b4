"""What manuals say without «if»: cases, exceptions, ranges, roles in the passive, repetition, time limits."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.lang.process.text_import.definition import extract
from penstock.lang.process.text_import.due_times import due_of

STEPS = "# T\n1. 담당자: 서류를 접수한다\n2. {}\n3. 담당자: 서류를 보관한다\n"
ENGLISH = "# T\n1. Clerk: take the form\n2. {}\n3. Clerk: file the form\n"


def read(step: str) -> dict[str, Any]:
    korean = any("\uac00" <= letter <= "\ud7a3" for letter in step)
    return extract((STEPS if korean else ENGLISH).format(step)).definition


def ways(definition: dict[str, Any]) -> dict[str, str]:
    """What each activity is done under: its condition, or «otherwise»."""
    defaults = {gateway.get("default") for gateway in definition["gateways"]}
    conditions = {flow["target"]: flow.get("condition") or ("otherwise" if flow["id"] in defaults else "")
                  for flow in definition["transitions"]}  # fmt: skip
    return {each["name"]: conditions.get(each["id"], "") for each in definition["activities"][1:-1]}


@pytest.mark.parametrize(
    ("step", "wanted"),
    [
        ("금액이 100만원을 초과하는 건은 팀장이 결재한다.", {"결재한다": "amount > 1000000"}),
        ("요건에 맞지 않는 신청자에게는 반려를 통보한다.", {"반려를 통보한다": "context['요건_맞지'] == false"}),
        ("승인 건에 한하여 카드를 제작한다.", {"카드를 제작한다": "approved == true"}),
        ("등급이 1~3등급이면 자동 승인한다. 4~6등급이면 심사역이 심사하며, 7등급 이하는 거절한다.",
         {"자동 승인한다": "context['등급'] >= 1 && context['등급'] <= 3",
          "심사한다": "context['등급'] >= 4 && context['등급'] <= 6", "거절한다": "context['등급'] <= 7"}),
        ("담당자가 발송한다. 다만, 재고가 없는 경우 담당자가 발주한다.",
         {"발주한다": "in_stock == false", "발송한다": "in_stock == true"}),
        ("담당자가 발송한다. 단, 법인카드는 고객이 직접 수령한다.",
         {"직접 수령한다": "context['법인카드'] == true", "발송한다": "context['법인카드'] == false"}),
        ("담당자가 현장을 확인한다. 다만, 소액인 경우에는 이를 생략한다.",
        {"현장을 확인한다": "context['소액'] == false"}),
        ("Invoices over 5,000 EUR are checked by the controller.", {"the invoice is checked": "invoice_amount > 5000"}),
        ("Parcels above 30 kg go to the freight team for inspection. All others are sent at once.",
         {"the parcel goes for inspection": "parcel > 30", "the others are sent at once": "otherwise"}),
        ("The clerk checks the damage, except when the claim is below 500 euros.",
         {"checks the damage": "claim >= 500"}),
        ("The clerk signs it. However, if the manager is present, the manager signs it himself.",
         {"signs it himself": "manager_present == true", "signs it": "manager_present == false"}),
        ("Compensation above 500 EUR requires approval by the director.",
         {"the compensation requires approval": "compensation > 500"}),
    ],
)  # fmt: skip
def test_p_x_3_cases_without_a_condition_word(step: str, wanted: dict[str, str]) -> None:
    """P-X.3, P-6.1.3: one branch for each case, and what is the rule where an exception does not hold."""
    found = {name.removesuffix("."): condition for name, condition in ways(read(step)).items()}
    assert found == wanted


@pytest.mark.parametrize(
    ("step", "role"),
    [("접수된 서류는 심사 담당자에 의해 검토된다.", "심사 담당자"), ("The form is then checked by the head of finance.",
    "head of finance"),
     ("The form is sent to the director for approval.", "director"), ("The form requires approval by the board.",
     "board"),
     ("승인된 출장에 대하여 총무팀은 항공권을 예약한다.", "총무팀"), ("The form is sent by email.", None),
     ("The form is completed by Friday.", None), ("창고 담당자가 재고를 출고한다.", "창고 담당자"),
     ("The call center agent opens a ticket.", "call center agent")],
)  # fmt: skip
def test_p_x_3_who_does_it_in_other_words(step: str, role: str | None) -> None:
    """P-X.3, P-6.1.3: roles in the passive, and behind what the work is about; a means or a time is nobody."""
    definition = read(step)
    roles = {each["id"]: each["name"] for each in definition["roles"]}
    assert roles.get(definition["activities"][1].get("role", "")) == role
    assert definition["activities"][1]["type"] == "humanTask"


def test_p_x_3_two_roles_in_a_sentence_are_two_activities() -> None:
    """P-X.3: «총무팀은 …하고, 재무팀은 …한다» is one after the other."""
    definition = read("총무팀은 항공권을 예약하고, 재무팀은 출장비를 지급한다.")
    assert [each["name"] for each in definition["activities"][1:-1]] == ["항공권을 예약한다", "출장비를 지급한다"]


@pytest.mark.parametrize(
    ("step", "name"),
    [("The tester runs the test. This is repeated until the test is passed.", "runs the test"),
     ("The tester runs the test until it is passed.", "runs the test"),
     ("담당자가 시험을 실시한다. 실패하면 다시 시험을 실시한다.", "시험을 실시한다"),
     ("담당자가 합격될 때까지 시험을 실시한다.", "시험을 실시한다")],
)  # fmt: skip
def test_p_x_3_what_is_repeated_leads_back(step: str, name: str) -> None:
    """P-X.3: a gateway after it leads back to it, or on."""
    definition = read(step)
    activity = next(each for each in definition["activities"] if name in each["name"])
    after = [flow["target"] for flow in definition["transitions"] if flow["source"] == activity["id"]]
    back = [
        flow for flow in definition["transitions"] if flow["source"] == after[0] and flow["target"] == activity["id"]
    ]
    assert len(definition["activities"]) == 3 and len(back) == 1 and back[0].get("condition")


def test_p_x_3_what_is_refused_is_done_anew_and_looked_at_again() -> None:
    """P-X.3: «반려 시 … 재작성한다» leads back to who refused it."""
    definition = read("대표가 결재한다. 반려 시 담당자가 품의서를 재작성한다.")
    by_name = {each["name"]: each["id"] for each in definition["activities"]}
    flows = {(flow["source"], flow["target"]) for flow in definition["transitions"]}
    assert (by_name["품의서를 재작성한다"], by_name["결재한다"]) in flows


def test_p_x_3_a_condition_inside_a_branch() -> None:
    """P-X.3: «if …, …, and if …, …» asks the second only where the first holds."""
    urgent = "If the case is urgent, the manager opens a room, and if customers complain, the press team answers it."
    definition = read(f"{urgent} Otherwise, the clerk waits.")
    by_name = {each["name"]: each["id"] for each in definition["activities"]}
    gateways = {gateway["id"] for gateway in definition["gateways"]}
    inner = next(flow["target"] for flow in definition["transitions"] if flow["source"] == by_name["opens a room"])
    led = {flow["target"] for flow in definition["transitions"] if flow["source"] == inner}
    assert inner in gateways and by_name["answers it"] in led and by_name["waits"] not in led


@pytest.mark.parametrize(
    ("said", "due"),
    [("within 3 days", "P3D"), ("within two weeks", "P2W"), ("no later than 24 hours after it", "PT24H"),
     ("within 5 business days", "P5D"), ("3영업일 이내에", "P3D"), ("1시간 이내", "PT1H"), ("30분 안에", "PT30M"),
     ("일주일 이내", "P7D"), ("사흘 안에", "P3D"), ("2주 이내에", "P2W"), ("6개월 이내", "P6M"), ("3일 동안", ""),
     ("after 3 days", ""), ("3명 이내", "")],
)  # fmt: skip
def test_p_x_3_time_limits(said: str, due: str) -> None:
    """P-X.3: a duration in ISO 8601, as `due` takes it."""
    assert due_of(said) == due


@pytest.mark.parametrize(
    "text", ["다만, " * 300, "단, 은 " * 500, "except when " * 400, "a~1" * 400, "건에 한하여 " * 300, "until " * 400]
)
def test_p_x_2_strange_texts_end_in_good_time(text: str) -> None:
    """P-X.2: whatever they repeat."""
    assert 0 <= extract(f"# T\n1. {text}\n2. {text[:590]}").confidence <= 1
