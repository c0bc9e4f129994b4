"""A discovered model against its base: one drawing, the evidence, the decision, and the loop once around."""

from __future__ import annotations

import re
from contextlib import closing
from typing import Any

import pytest

from tests.api.serving import Server, until
from tests.browser import mining_answers as answers
from tests.browser.conftest import Open, Watch
from tests.browser.runs import ADMIN, read
from tests.browser.test_mining import answered, fulfilled
from tests.browser.walking import look_at_dialog

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.xdist_group("browser")
DIFF = f"/mining/{answers.ID}/diff/{answers.MODEL}"


def _element(page: Any, id: str) -> Any:
    return page.locator(f".djs-element[data-element-id='{id}']")


def test_both_models_are_one_drawing_and_a_row_lights_all_of_its_change(window: Open) -> None:
    """P-7.5.1, CONSOLE 14.8: added +, removed struck through, changed amber; one row covers several
    elements, and either model is seen without a shape that moves."""
    page = answered(window(ADMIN, tongue="en", theme="dark"))
    page.goto(DIFF)
    expect(_element(page, "both")).to_have_class(re.compile("mine-added"))
    expect(_element(page, "visit")).to_have_class(re.compile("mine-removed"))
    expect(_element(page, "paid")).to_have_class(re.compile("mine-changed"))
    assert (
        _element(page, "visit").locator("text").evaluate("one => getComputedStyle(one).textDecorationLine")
        == "line-through"
    )
    for same in ("inspect", "f5"):
        expect(_element(page, same)).not_to_have_class(re.compile("mine-(added|removed|changed)"))
    row = page.locator("[data-change='2']")
    expect(row).to_contain_text("Site visit")
    row.click()
    for id in ("visit", "f16", "f17"):
        expect(_element(page, id)).to_have_class(re.compile("mine-removed-chosen"))
    expect(page).to_have_url(re.compile("change=3"))
    page.keyboard.press("k")
    expect(_element(page, "paid")).to_have_class(re.compile("mine-changed-chosen"))
    page.get_by_role("button", name="Removed: Site visit").click()
    expect(row).to_have_attribute("aria-pressed", "true")
    place = _element(page, "pay").bounding_box()
    page.get_by_role("button", name="v3", exact=True).click()
    for id, seen in (("both", False), ("back", False), ("visit", True), ("pay", True)):
        expect(_element(page, id)).to_be_visible() if seen else expect(_element(page, id)).to_be_hidden()
    page.get_by_role("button", name="v4", exact=True).click()
    for id, seen in (("both", True), ("visit", False), ("f14", False)):
        expect(_element(page, id)).to_be_visible() if seen else expect(_element(page, id)).to_be_hidden()
    assert _element(page, "pay").bounding_box() == place


def test_the_history_is_counted_and_played_on_the_drawing(window: Open) -> None:
    """CONSOLE 14.8: counts go through gateways to the next activity; what a model does not allow is seen in red."""
    page = answered(window(ADMIN))
    page.goto(f"{DIFF}?over=counts")
    planted = sum(cases for steps, cases, _, _ in answers.VARIANTS if answers.INSPECT in steps)
    expect(page.locator(".mine-passed", has_text=f"{planted}").first).to_be_visible()
    expect(page.locator(".bpmn-told", has_text="1,260")).to_have_count(3)  # received, classified and told by all
    expect(page.locator(".mine-passed").get_by_text("32", exact=True)).to_be_visible()  # the way back
    page.get_by_role("button", name="v3", exact=True).click()
    expect(page.locator(".mine-passed").get_by_text("32", exact=True)).to_have_count(0)  # v3 has none
    page.get_by_role("button", name="다시 돌려 보기").click()
    expect(page.locator(".mine-drop")).to_have_count(1)
    expect(page.locator(".mine-playing")).to_contain_text("변형 1")


def test_the_decision_is_told_in_its_order(window: Open) -> None:
    """CONSOLE 14.9: what fits and why the rest does not, hours, who must approve, what runs, then yes or no."""
    page = answered(window(ADMIN, tongue="en"))
    page.goto(DIFF)
    panel = page.locator(".mine-decision")
    expect(panel.locator("h2")).to_have_count(3)
    heads = panel.locator("h2, .mine-saved, .mine-decide .btn-primary").all_inner_texts()
    assert [head.split("\n")[0] for head in heads] == [
        "Real history, replayed", "18 h saved a week", "Who must approve", "Running on v3", "Approve as version 4",
    ]  # fmt: skip
    expect(panel).to_contain_text("1,204 of 1,260 runs fit")
    expect(panel).to_contain_text("56 still do not fit: 현품 확인 was skipped. That is a rule, so it was not learned.")
    expect(panel.locator(".mine-sums")).to_contain_text("3 h 18 min")
    expect(panel).to_contain_text("process.model.approve: you have it")
    expect(panel).to_contain_text("31 can move")
    expect(panel).to_contain_text("they rest in Pay")
    panel.get_by_role("button", name="Dry run").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Move 31 runs to v4?")
    look_at_dialog(page)
    dialog.get_by_role("button", name="Close").click()
    panel.get_by_role("button", name="Approve as version 4").click()
    expect(dialog.get_by_role("textbox")).to_have_count(1)  # no count: no run is moved
    dialog.get_by_role("button", name="Not yet").click()
    panel.get_by_label("Move 31 runs after approval").check()
    panel.get_by_role("button", name="Approve as version 4").click()
    yes = dialog.get_by_role("button", name="Approve as version 4")
    expect(yes).to_be_disabled()
    dialog.get_by_label("Type 31 to confirm").fill("30")
    expect(yes).to_be_disabled()
    dialog.get_by_label("Type 31 to confirm").fill("31")
    expect(yes).to_be_enabled()
    look_at_dialog(page)


@pytest.mark.parametrize(
    ("approvers", "why"),
    [
        ({"mine": False}, "You need the permission process.model.approve"),
        ({"needs_two": True, "by_author": True}, "Whoever discovered it may not approve it."),
    ],
)
def test_whoever_may_not_approve_is_told_why(approvers: dict[str, bool], why: str, window: Open) -> None:
    """P-7.5.1: the right is named, and a second person is asked for."""
    given = answers.diff(approvers={**answers.diff()["approvers"], **approvers})
    page = answered(window(ADMIN, tongue="en"), diff=given)
    page.goto(DIFF)
    expect(page.get_by_role("button", name="Approve as version 4")).to_be_disabled()
    expect(page.locator(".mine-decide")).to_contain_text(why)


def test_a_model_is_rejected_with_a_reason(window: Open) -> None:
    """P-X.43: without a reason it is not; with one it is kept as rejected, and nothing has changed."""
    page = answered(window(ADMIN))
    sent: list[Any] = []
    page.route(
        re.compile(rf"/definitions/{answers.MODEL}:reject"),
        lambda route: (sent.append(route.request.post_data_json), fulfilled({})(route)),
    )
    page.goto(DIFF)
    page.get_by_role("button", name="반려").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="반려").click()
    expect(dialog.get_by_role("alert")).to_have_text("왜 반려하는지 적어 주세요")
    assert sent == []
    page.route(
        re.compile(rf"/processes/mining/{answers.ID}/diff/"), fulfilled(answers.diff(approval_status="rejected"))
    )
    dialog.get_by_role("textbox").fill("현품 확인은 꼭 해야 해요")
    dialog.get_by_role("button", name="반려").click()
    expect(page.locator(".toast")).to_have_text("반려했어요")
    assert sent == [{"comment": "현품 확인은 꼭 해야 해요"}]
    expect(page.get_by_role("heading", level=1)).to_contain_text("반려됨")
    expect(page.get_by_role("button", name="버전 4로 승인")).to_have_count(0)


# ---- once around, with a real server --------------------------------------------------------------------------------

OFFICE = "office_claims"
NAMES = {"ask": "접수", "look": "검토", "pay": "지급"}
#: how many cases went which way; one that is not in the process: back to the review
WAYS = {("ask", "look", "pay"): 60, ("ask", "look", "look", "pay"): 12}


def _defined(server: Server) -> None:
    document = {
        "process_definition_id": OFFICE, "process_definition_name": "클레임 창구",
        "activities": [{"id": id, "name": name, "type": "humanTask"} for id, name in NAMES.items()],
        "transitions": [
            {"id": "t1", "source": "ask", "target": "look"}, {"id": "t2", "source": "look", "target": "pay"},
        ],
    }  # fmt: skip
    with closing(server.client(ADMIN)) as admin:
        made = admin.post("/processes/definitions", json=document)
        assert made.status_code == 201, made.text


def _begun(server: Server) -> str:
    """An instance that waits for its review."""
    with closing(server.client(ADMIN)) as admin:
        made = admin.post(f"/processes/definitions/{OFFICE}/instances", json={"input_data": {}})
        assert made.status_code == 201, made.text
        run = str(made.json()["proc_inst_id"])
        first = until(lambda: read(server, f"/processes/instances/{run}")["workitems"], bool)[0]
        assert admin.post(f"/processes/workitems/{first['id']}:submit", json={"result_data": {}}).status_code == 200
    until(lambda: read(server, f"/processes/instances/{run}")["workitems"], lambda items: len(items) == 2)
    return run


def _log() -> bytes:
    lines, number = ["case_id,activity,start_time,end_time,resource,agent_mode"], 0
    for way, count in WAYS.items():
        for _ in range(count):
            minute = number * 30
            for step in way:
                lines.append(f"c{number},{NAMES[step]},{_moment(minute)},{_moment(minute + 5)},kim,MANUAL")
                minute += 125
            number += 1
    return "\n".join(lines).encode()


def _moment(minute: int) -> str:
    day, rest = divmod(minute, 1440)
    return f"2026-03-{day + 1:02}T{rest // 60:02}:{rest % 60:02}:00Z"


def _version(server: Server, run: str) -> int:
    return int(read(server, f"/processes/instances/{run}")["proc_def_version"])


def test_p_7_2_2_the_loop_once_around(server: Server, window: Open, watch: Watch) -> None:
    """P-7.1.1, P-7.2.2, P-7.5.1: log → map → discovered model → diff → approve → new version → migrated runs, which can
    be taken back; all of it in the browser."""
    _defined(server)
    runs = [_begun(server) for _ in range(2)]
    page = window(ADMIN)
    page.goto(f"/mining/{OFFICE}")
    expect(page.get_by_role("heading", level=1)).to_contain_text("이 기간에 끝난 실행이 없어요")
    page.locator("input[data-log]").set_input_files({"name": "claims.csv", "mimeType": "text/csv", "buffer": _log()})
    expect(page.get_by_role("heading", level=1)).to_contain_text("클레임 창구")
    expect(page.locator(".mine-about")).to_contain_text("끝난 실행 72 · 사건 228")  # 60 × 3 + 12 × 4
    again = page.locator(f'[data-flow=\'["{NAMES["look"]}","{NAMES["look"]}"]\']')
    expect(again).to_be_visible()
    fits = page.get_by_role("region", name="모델과 얼마나 맞나요")
    expect(fits).to_contain_text("72건 가운데 60건이 맞아요")
    expect(fits.get_by_role("button", name="검토로 되돌아감")).to_contain_text("12건")
    page.get_by_role("button", name="모델 찾기").click()
    expect(page.locator(".mine-banner")).to_contain_text("v1과")
    expect(page.locator(".mine-banner")).to_contain_text("어긋난 12건 가운데 12건이 맞아요")
    page.get_by_role("link", name="차이 보기").click()
    expect(page.locator(".mine-decision")).to_contain_text("모두 맞아요")
    expect(page.locator(".djs-element.mine-added").first).to_be_visible()
    expect(page.locator(".mine-changes li").first).to_contain_text("12건")
    assert [_version(server, run) for run in runs] == [1, 1], "nothing is applied by itself"
    page.get_by_label("승인한 뒤 2건을 옮기기").check()
    page.get_by_role("button", name="버전 2로 승인").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("2를 입력하세요").fill("2")
    dialog.get_by_role("button", name="버전 2로 승인").click()
    progress = page.locator(".mine-progress")
    expect(progress).to_contain_text("2건을 옮겼어요")
    assert [_version(server, run) for run in runs] == [2, 2]
    expect(page.get_by_role("heading", level=1)).to_contain_text("승인됨")
    newest = read(server, f"/processes/definitions/{OFFICE}")
    assert (newest["version"], newest["approval_status"]) == (2, "approved")
    assert _version(server, _begun(server)) == 2, "new runs use it"
    progress.get_by_role("button", name="되돌리기").click()
    expect(progress).to_contain_text("2건을 되돌렸어요")
    assert [_version(server, run) for run in runs] == [1, 1]
    page.goto(f"/mining/{OFFICE}")
    expect(page.locator(".mine-banner")).to_have_count(0)
