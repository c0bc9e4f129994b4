"""Moves of a run: what they would do is told before, what must be said is asked, and the log tells what came of it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.api.serving import Server, until
from tests.browser.conftest import Open
from tests.browser.documents import limited
from tests.browser.runs import ADMIN, DEVIATION, OPERATOR, begin, failed, read, waiting
from tests.browser.walking import look_at_dialog

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.xdist_group("browser")
SENT = ("action_slack_emergency", "action_sms_manager", "action_create_ticket")


def test_a_fork_lists_what_is_done_again_and_what_stays(server: Server, window: Open) -> None:
    """From a moment before the alarms were sent they are listed as done again, what was read before as done;
    from now nothing is; Esc closes and gives the focus back; the fork is made once."""
    run = waiting(server)
    facts = read(server, f"/runs/{run}/facts?limit=200")["items"]
    judged = next(one["seq"] for one in facts if one["fact"] == "settled" and one["node"] == "judge_quality")
    page = window(ADMIN)
    page.goto(f"/runs/{run}?at={judged - 1}")
    button = page.get_by_role("button", name="여기서 갈래 만들기")
    button.click()
    dialog = page.get_by_role("dialog")
    again, done = dialog.locator("li[data-fate=again]"), dialog.locator("li[data-fate=done]")
    expect(again).to_have_count(4)
    for node in ("judge_quality", *SENT):
        expect(again.filter(has_text=node)).to_contain_text("다시 해요")
    expect(done).to_have_count(1)
    expect(done).to_contain_text("data_defect")
    expect(dialog).to_contain_text("4가지 일을 다시 해요")
    expect(dialog.get_by_role("button", name="그만두기")).to_be_focused()
    look_at_dialog(page)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(button).to_be_focused()
    page.goto(f"/runs/{run}")
    page.get_by_role("button", name="다른 동작").click()
    dialog.get_by_role("button", name="갈래 만들기").click()
    expect(dialog).to_contain_text("다시 하는 일이 없어요")
    expect(dialog.locator("li[data-fate=done]")).to_have_count(5)
    dialog.get_by_role("button", name="갈래 만들기").click()
    page.locator(".toast").get_by_role("button", name="갈래 열기").click()
    expect(page).not_to_have_url(re.compile(run))
    expect(page.get_by_role("heading", level=1).locator(".badge")).to_have_text("대기 중")


def test_a_signal_is_sent_to_what_waits_for_it(server: Server, window: Open) -> None:
    """The awaited event is chosen already; what is not JSON is said and not sent; what was typed is there
    again after Esc."""
    run = begin(server, DEVIATION, {"line_id": "L01"}, "WAITING")
    page = window(OPERATOR)
    page.goto(f"/runs/{run}")
    button = page.locator(".run-moves").get_by_role("button", name="신호 보내기")
    button.click()
    dialog = page.get_by_role("dialog")
    choice, payload = dialog.get_by_role("combobox"), dialog.get_by_label("내용", exact=False)
    expect(choice).to_be_focused()
    expect(choice).to_have_value("lab.result.completed")
    look_at_dialog(page)
    payload.fill("{not json")
    dialog.get_by_role("button", name="보내기").click()
    expect(dialog.get_by_role("alert")).to_have_text("JSON으로 읽지 못해요")
    page.keyboard.press("Escape")
    expect(button).to_be_focused()
    button.click()
    expect(payload).to_have_value("{not json")
    sample = sample_of(read(server, f"/runs/{run}"))
    payload.fill(f'{{"sample_id": "{sample}", "verdict": "ok"}}' if sample else '{"verdict": "ok"}')
    dialog.get_by_role("button", name="보내기").click()
    expect(dialog).to_have_count(0)
    facts = f"/runs/{run}/facts?limit=300"
    until(
        lambda: [one["fact"] for one in read(server, facts)["items"]],
        lambda found: any(one.startswith("signal.") for one in found),
    )


def sample_of(run: dict[str, Any]) -> str | None:
    found = (run["variables"].get("sample_request") or {}).get("id")
    return None if found is None else str(found)


def test_a_variable_is_changed_with_a_reason(server: Server, window: Open) -> None:
    """Before and after stand side by side; the same value, no reason or no JSON is not sent."""
    run = limited(server)
    page = window(ADMIN)
    page.goto(f"/runs/{run}")
    page.get_by_role("button", name="다른 동작").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="변수 고치기").click()
    dialog.get_by_role("combobox").select_option("limit")
    expect(dialog.locator(".before-after pre").first).to_have_text("3")
    value, sure = dialog.get_by_label("새 값", exact=False), dialog.get_by_role("button", name="바꾸기")
    dialog.get_by_label("이유").fill("표를 손으로 만들었어요")
    sure.click()
    expect(dialog.get_by_role("alert")).to_have_text("값이 그대로예요. 다른 값을 적어 주세요.")
    value.fill('{"most": 4127}')
    expect(dialog.locator(".before-after pre").last).to_contain_text("4127")
    look_at_dialog(page)
    sure.click()
    expect(dialog).to_have_count(0)
    changed = until(lambda: read(server, f"/runs/{run}"), lambda one: "4127" in str(one["variables"]))
    assert changed["variables"]["limit"] == {"most": 4127}
    until(lambda: read(server, "/audit?limit=50")["items"], lambda found: "표를 손으로 만들었어요" in str(found))


def test_the_log_tells_errors_with_their_codes(server: Server, window: Open) -> None:
    """Levels with a word, the failure's code and message; warnings and errors alone; arrows go from tab to
    tab."""
    run = failed(server)
    page = window(OPERATOR)
    page.goto(f"/runs/{run}?tab=logs&node=")
    lines = page.locator(".logs li")
    expect(lines.first).to_contain_text("실행을 시작함")
    bad = lines.filter(has_text="FILE_NOT_FOUND")
    expect(bad.first).to_contain_text("오류")
    page.get_by_role("button", name="경고와 오류만").click()
    expect(lines.filter(has_text="실행을 시작함")).to_have_count(0)
    expect(bad.first).to_be_visible()
    page.get_by_role("tab", name="기록").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("tab", name=re.compile("^사실"))).to_have_attribute("aria-selected", "true")
    retry = page.locator(".why").get_by_role("button", name="다시 시도")
    retry.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator("li[data-fate=again]")).to_contain_text("주문 파일 읽기")
    look_at_dialog(page)
    page.keyboard.press("Escape")
    expect(retry).to_be_focused()
