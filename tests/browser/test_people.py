"""People and work: delegating, answering, judging, forms, drafts, presence, and two who decide at the same time."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.api.serving import Server, until
from tests.browser.conftest import Open, Watch, listening
from tests.browser.documents import asked, decided_by_two, reviewed
from tests.browser.runs import ADMIN, MANAGER, TITLE, read, send, waiting
from tests.browser.walking import look_at_dialog

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.xdist_group("browser")
APPROVER = "approver@example.com"


def test_an_item_is_delegated_to_somebody_by_name(server: Server, window: Open) -> None:
    """W-4.6.4: the other one finds it in their inbox and may decide; it is listed under what I have delegated."""
    run = waiting(server)
    page = window(MANAGER)
    page.goto(f"/inbox/{run}/request_approval")
    button = page.get_by_role("button", name="맡기기")
    button.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("searchbox")).to_be_focused()
    look_at_dialog(page)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(button).to_be_focused()
    button.click()
    dialog.get_by_role("button", name="맡기기").click()
    expect(dialog.get_by_role("alert")).to_have_text("맡길 사람을 골라 주세요")
    dialog.get_by_role("searchbox").fill("정승인")
    dialog.get_by_text("정승인").click()
    dialog.get_by_label("덧붙이는 말").fill("현장에 있어서 부탁해요")
    dialog.get_by_role("button", name="맡기기").click()
    expect(page.locator(".toast")).to_have_text("맡겼어요")
    expect(page.locator(".talk")).to_contain_text("현장에 있어서 부탁해요")
    page.get_by_role("button", name=re.compile("^맡긴 일")).click()
    expect(page.locator(f"a.inbox-item[href^='/inbox/{run}/request_approval']")).to_be_visible()
    theirs = window(APPROVER)
    theirs.goto("/inbox")
    theirs.locator(f"a.inbox-item[href='/inbox/{run}/request_approval']").click()
    expect(theirs.locator("button.yes")).to_be_enabled()


def test_a_question_of_a_diagram_is_answered(server: Server, window: Open) -> None:
    """The prompt is read, an empty answer is not sent, what was written becomes the node's result."""
    run = asked(server)
    until(lambda: read(server, f"/runs/{run}"), lambda one: one["state"] == "WAITING")
    page = window(ADMIN)
    page.goto(f"/runs/{run}")
    page.locator(".why").get_by_role("button", name="답하기 열기").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("이름이 무엇인가요?")
    answer = page.locator(".item-comment textarea")
    page.locator("button.yes").click()
    expect(page.get_by_role("alert")).to_have_text("꼭 필요해요")
    expect(answer).to_be_focused()
    answer.fill("김하늘")
    page.locator("button.yes").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name="아직 아니에요")).to_be_focused()
    look_at_dialog(page)
    dialog.get_by_role("button", name="보내기").click()
    expect(page.locator(".toast")).to_have_text("보냈어요")
    ended = until(lambda: read(server, f"/runs/{run}"), lambda one: one["ended_at"])
    assert ended["state"] == "COMPLETED" and "김하늘" in str(ended["output"]) + str(ended["outputs"])


def test_a_review_gets_its_verdict(server: Server, window: Open) -> None:
    """C-52: four words to choose from; the chosen one and the reviewer are the judgment."""
    run = reviewed(server)
    page = window(MANAGER)
    page.goto(f"/inbox/{run}/judge")
    page.locator(".item-comment textarea").fill("눈으로 확인했어요")
    page.locator(".item-foot").get_by_role("button", name="주의").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("판정할까요?")
    dialog.get_by_role("button", name="주의").click()
    expect(page.locator(".toast")).to_have_text("판정했어요")
    verdict = until(lambda: read(server, f"/runs/{run}"), lambda one: one["ended_at"])["variables"]["verdict"]
    assert (verdict["decision"], verdict["decided_by"]) == ("warning", "human")
    assert verdict["reasoning"] == "눈으로 확인했어요"


def field(page: Any, path: str) -> Any:
    return page.locator(f"[data-field='{path}']")


def test_a_form_has_every_kind_of_field_and_says_what_is_wrong(server: Server, window: Open) -> None:
    """W-4.6.7, W-4.0.3: choices, numbers with units, dates in the tenant's zone, rows and groups; what is missing gets
    the focus; what was filled in is in the run's variable."""
    run = decided_by_two(server)
    assert send(server, f"/inbox/{run}/agree/approve", {"value": _least()}, APPROVER) == 200
    page = window(MANAGER)
    page.goto(f"/inbox/{run}/agree")
    yes = page.locator("button.yes")
    yes.click()
    expect(field(page, "action").locator("input").first).to_be_focused()
    for name in ("action", "minutes", "mold.id"):
        expect(field(page, name).locator(".bad").first).to_have_text("꼭 필요해요")
    field(page, "action").get_by_text("stop", exact=True).click()
    field(page, "reason_code").get_by_role("combobox").select_option("heat")
    field(page, "minutes").get_by_role("textbox").fill("90")
    page.keyboard.press("Tab")
    expect(field(page, "minutes").locator(".bad")).to_have_text("60 이하여야 해요")
    expect(field(page, "minutes")).to_contain_text("분")
    field(page, "minutes").get_by_role("textbox").fill("15")
    field(page, "stopped").locator("label").first.click()
    field(page, "again_on").locator("input").fill("2026-11-20")
    field(page, "again_at").locator("input").fill("2026-11-20T09:30")
    expect(field(page, "again_at")).to_contain_text("KST")
    field(page, "checks").get_by_role("button", name="줄 더하기").click()
    field(page, "checks").get_by_role("textbox").fill("온도")
    field(page, "mold.id").get_by_role("textbox").fill("M-07")
    field(page, "parts").get_by_role("button", name="줄 더하기").click()
    field(page, "parts.0.name").get_by_role("textbox").fill("노즐")
    yes.click()
    page.get_by_role("dialog").get_by_role("button", name="승인", exact=True).click()
    expect(page.locator(".toast")).to_have_text("승인했어요")
    agreed = until(lambda: read(server, f"/runs/{run}"), lambda one: one["ended_at"])["variables"]["agreed"]
    assert (agreed["status"], agreed["approver"]) == ("approved", MANAGER)
    wanted = {
        "action": "stop", "reason_code": "heat", "minutes": 15, "stopped": True, "again_on": "2026-11-20",
        "again_at": "2026-11-20T00:30:00.000Z", "checks": ["온도"], "mold": {"id": "M-07"}, "parts": [{"name": "노즐"}],
    }  # fmt: skip
    assert {name: agreed.get(name) for name in wanted} == wanted


def _least() -> dict[str, Any]:
    return {"action": "check", "minutes": 10, "mold": {"id": "M-01"}}


def test_a_draft_survives_a_reload_and_is_on_every_device(server: Server, window: Open) -> None:
    """W-4.6.2: text and form come back after a reload, in another browser of the same person, and for nobody else;
    when it is sent, the draft is gone."""
    run = decided_by_two(server)
    page = window(MANAGER)
    page.goto(f"/inbox/{run}/agree")
    page.locator(".item-comment textarea").fill("절반쯤 적은 글")
    field(page, "action").get_by_text("watch", exact=True).click()
    expect(page.locator(".saved")).to_have_text("임시 저장")
    until(lambda: [one for one in read(server, "/drafts", MANAGER)["items"] if run in one["key"]], _has_both)
    page.reload()
    expect(page.locator(".item-comment textarea")).to_have_value("절반쯤 적은 글")
    other = window(MANAGER)  # nothing of the first is in this browser
    other.goto(f"/inbox/{run}/agree")
    expect(other.locator(".item-comment textarea")).to_have_value("절반쯤 적은 글")
    expect(field(other, "action").get_by_role("radio").nth(2)).to_be_checked()
    stranger = window(APPROVER)
    stranger.goto(f"/inbox/{run}/agree")
    expect(stranger.locator(".item-comment textarea")).to_have_value("")
    field(other, "minutes").get_by_role("textbox").fill("10")
    field(other, "mold.id").get_by_role("textbox").fill("M-02")
    other.locator("button.yes").click()
    other.get_by_role("dialog").get_by_role("button", name="승인", exact=True).click()
    expect(other.locator(".toast")).to_have_text("승인했어요")
    until(lambda: read(server, "/drafts", MANAGER)["items"], lambda all_: not any(run in one["key"] for one in all_))


def _has_both(drafts: Any) -> bool:
    """The text and what was chosen after it: the page may have kept them one by one."""
    return "절반쯤" in str(drafts) and "watch" in str(drafts)


def test_two_windows_of_one_person_do_not_overwrite_each_other(server: Server, window: Open, watch: Watch) -> None:
    """W-4.6.2: the second to save is asked which text to use, and neither is lost before."""
    watch.excuse(r"answer: 412 .*/drafts/", "status of 412")
    run = waiting(server)
    page, other = window(MANAGER), window(MANAGER)
    for one in (page, other):
        with one.expect_response(re.compile("/drafts[?]")):  # one that comes later would bring the first text along
            one.goto(f"/inbox/{run}/request_approval")
        expect(one.locator("button.yes")).to_be_enabled()
    page.locator(".item-comment textarea").fill("첫 창의 글")
    expect(page.locator(".saved")).to_have_text("임시 저장")
    other.locator(".item-comment textarea").fill("둘째 창의 글")
    notice = other.get_by_role("alert").filter(has_text="다른 창에서도 이 글을 적었어요")
    expect(notice).to_contain_text("첫 창의 글")
    expect(other.locator(".item-comment textarea")).to_have_value("둘째 창의 글")
    notice.get_by_role("button", name="이 창의 글").click()
    expect(notice).to_have_count(0)
    expect(other.locator(".saved")).to_have_text("임시 저장")
    page.reload()
    expect(page.locator(".item-comment textarea")).to_have_value("둘째 창의 글")


def test_what_changed_under_an_open_dialog_is_told_and_my_text_kept(server: Server, window: Open, watch: Watch) -> None:
    """W-4.6.4, W-4.6.5: somebody else votes while I am asked; I decide on what is now, not on what was."""
    watch.excuse(r"answer: 412 .*/approve", "status of 412")
    run = decided_by_two(server)
    page = window(MANAGER)
    page.goto(f"/inbox/{run}/agree")
    field(page, "action").get_by_text("check", exact=True).click()
    field(page, "minutes").get_by_role("textbox").fill("20")
    field(page, "mold.id").get_by_role("textbox").fill("M-03")
    page.locator(".item-comment textarea").fill("내 의견은 이래요")
    page.locator("button.yes").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    assert send(server, f"/inbox/{run}/agree/approve", {"value": _least()}, APPROVER) == 200
    dialog.get_by_role("button", name="승인", exact=True).click()
    notice = page.get_by_role("alert").filter(has_text="보는 사이에 이 일이 바뀌었어요")
    expect(notice).to_contain_text(re.compile(r"정승인 님이 \d+:\d\d에 승인했어요"))
    expect(page.locator(".item-comment textarea")).to_have_value("내 의견은 이래요")
    expect(page.locator("button.yes")).to_be_disabled()
    notice.get_by_role("button", name="바뀐 내용을 봤어요").click()
    page.locator("button.yes").click()
    dialog.get_by_role("button", name="승인", exact=True).click()
    expect(page.locator(".toast")).to_have_text("승인했어요")
    ended = until(lambda: read(server, f"/runs/{run}"), lambda one: one["ended_at"])
    assert ended["variables"]["agreed"]["comment"] == "내 의견은 이래요"


def test_somebody_else_who_looks_is_seen_and_seen_leaving(server: Server, window: Open) -> None:
    """W-4.6.4: two at one item know of each other without a reload; it is written into no audit."""
    run = waiting(server)
    page, other = window(MANAGER), window("operator@example.com")
    listening(page, f"/inbox/{run}/request_approval")
    expect(page.get_by_role("heading", level=1)).to_have_text(TITLE)
    expect(page.locator(".looking")).to_have_count(0)
    other.goto(f"/inbox/{run}/request_approval")
    expect(page.locator(".looking")).to_contain_text("운영자 님이 보는 중")
    expect(other.locator(".looking")).to_contain_text("김품질 님이 보는 중")
    other.goto("/runs")
    expect(page.locator(".looking")).to_have_count(0)
    entries = read(server, "/audit?limit=200")["items"]
    assert not any("looking" in str(one["action"]) for one in entries)


def test_an_item_is_taken_let_go_and_escalated(server: Server, window: Open) -> None:
    """W-4.6.1: while I have it others only read; escalated it goes to whom I choose where the document names nobody."""
    run = waiting(server)
    also = {"to": f"user:{APPROVER}"}
    assert send(server, f"/inbox/{run}/request_approval/delegate", also, MANAGER) == 200
    page = window(MANAGER)
    page.goto(f"/inbox/{run}/request_approval")
    menu = page.get_by_role("button", name="다른 동작")
    menu.click()
    look_at_dialog(page)
    page.get_by_role("dialog").get_by_role("button", name="내가 맡기").click()
    expect(page.locator(".toast")).to_have_text("내가 맡았어요")
    theirs = window(APPROVER)
    theirs.goto(f"/inbox/{run}/request_approval")
    expect(theirs.locator(".item-locked")).to_contain_text("김품질 님이 맡아서 보고 있어요")
    menu.click()
    page.get_by_role("dialog").get_by_role("button", name="내려놓기").click()
    expect(page.locator(".toast")).to_have_text("내려놓았어요")
    menu.click()
    page.get_by_role("dialog").get_by_role("button", name="상위로 넘기기").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("상위 담당자에게 넘길까요?")
    expect(dialog.get_by_role("searchbox")).to_be_focused()  # its document names nobody
    look_at_dialog(page)
    dialog.get_by_role("searchbox").fill("qa")
    dialog.get_by_text("이검사").click()
    dialog.get_by_role("button", name="상위로 넘기기").click()
    expect(page.locator(".toast")).to_have_text("상위로 넘겼어요")
    item = read(server, f"/inbox/{run}/request_approval")
    assert {"by": MANAGER, "to": "user:qa@example.com"} in item["delegations"]
