"""Deciding: yes, no, not allowed, somebody else was first, and on a phone."""

from __future__ import annotations

import contextlib
import re
from typing import Any

import pytest

from tests.api.serving import Server, until
from tests.browser.conftest import Open, Watch, listening
from tests.browser.runs import MANAGER, OPERATOR, TITLE, decisions, read, send, waiting

playwright = pytest.importorskip("playwright.sync_api")
expect = playwright.expect
pytestmark = pytest.mark.xdist_group("browser")


def test_the_manager_approves_and_an_open_run_page_completes_by_itself(server: Server, window: Open) -> None:
    """W-4.6.2, W-11.1.9: approved in the inbox without a reload; the run's page in a second tab shows it."""
    run = waiting(server)
    page = window(MANAGER)
    second = page.context.new_page()
    listening(second, f"/runs/{run}")
    badge = second.get_by_role("heading", level=1).locator(".badge")
    expect(badge).to_have_text("대기 중")
    page.goto("/inbox")
    page.locator(f"a.inbox-item[href='/inbox/{run}/request_approval']").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(TITLE)
    expect(page.locator(".decisive")).to_contain_text("critical")
    page.get_by_label("의견", exact=False).first.fill("라인을 세우고 점검해요")
    page.locator("button.yes").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("승인할까요?")
    expect(dialog.get_by_role("button", name="아직 아니에요")).to_be_focused()
    dialog.get_by_role("button", name="승인", exact=True).click()
    expect(page.locator(".toast")).to_have_text("승인했어요")
    expect(badge).to_have_text("완료")
    expect(page.locator(f"a[href='/inbox/{run}/request_approval']")).to_have_count(0)
    result = read(server, f"/runs/{run}")["variables"]["approval_result"]
    assert (result["approver"], result["comment"]) == (MANAGER, "라인을 세우고 점검해요")


def test_an_operator_reads_and_is_told_why_not_more(server: Server, window: Open) -> None:
    """W-4.6.4: seen through the operator's eyes the item is read-only and names the role that is asked."""
    run = waiting(server)
    page = window(MANAGER)
    page.goto(f"/inbox/{run}/request_approval")
    expect(page.locator("button.yes")).to_be_enabled()
    page.locator(".side-user").click()
    page.get_by_role("dialog").get_by_role("button", name=re.compile("운영자")).first.click()
    expect(page.locator(".side-user")).to_contain_text("운영자")
    expect(page.get_by_role("heading", level=1)).to_have_text(TITLE)
    expect(page.locator(".item-locked")).to_contain_text("역할이 있어야 결정할 수 있어요")
    expect(page.locator(".item-locked")).to_contain_text("품질 관리자")
    expect(page.locator("button.yes, button.no, .item-comment")).to_have_count(0)
    page.keyboard.press("a")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert send(server, f"/inbox/{run}/request_approval/approve", {}, OPERATOR) == 403


def test_rejecting_asks_for_a_comment(server: Server, window: Open) -> None:
    """W-4.6.1, W-4.6.2: without a reason nothing is sent; with one the run is cancelled and keeps it."""
    run = waiting(server)
    page = window(MANAGER)
    page.goto(f"/inbox/{run}/request_approval")
    expect(page.locator("button.no")).to_be_enabled()
    page.keyboard.press("r")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("반려할까요?")
    comment = dialog.get_by_role("textbox")
    expect(comment).to_be_focused()
    dialog.get_by_role("button", name="반려", exact=True).click()
    expect(dialog.get_by_role("alert")).to_have_text("반려하는 이유를 적어 주세요")
    assert decisions(server, run) == []
    comment.fill("다시 재어 주세요")
    dialog.get_by_role("button", name="반려", exact=True).click()
    expect(page.locator(".toast")).to_have_text("반려했어요")
    ended = until(lambda: read(server, f"/runs/{run}"), lambda one: one["ended_at"])
    assert ended["state"] == "CANCELLED"
    assert "다시 재어 주세요" in str(ended["variables"]) + str(ended["failure"]) + str(decisions(server, run))


def test_somebody_else_was_first_and_my_text_is_kept(server: Server, window: Open, watch: Watch) -> None:
    """W-4.6.5: while my dialog is open the item is approved elsewhere; I am told by whom, and lose nothing."""
    run = waiting(server)
    also = {"to": "user:approver@example.com"}
    assert send(server, f"/inbox/{run}/request_approval/delegate", also, MANAGER) == 200
    watch.excuse(r"answer: (404|409|410|412) .*/inbox/", r"status of (404|409|410|412)")
    page = window(MANAGER)
    page.goto(f"/inbox/{run}/request_approval")
    page.locator(".item-comment textarea").fill("내가 적은 글")
    page.locator("button.yes").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    assert send(server, f"/inbox/{run}/request_approval/approve", {}, "approver@example.com") == 200
    button = dialog.get_by_role("button", name="승인", exact=True)
    with contextlib.suppress(playwright.TimeoutError):  # unless the page was told of it before
        button.click(timeout=2000)
    said = page.get_by_role("alert").filter(has_text=re.compile(r"\S+ 님이 \S*\d+:\d\d에 승인했어요"))
    expect(said.first).to_be_visible()
    expect(page.locator(".item-comment textarea")).to_have_value("내가 적은 글")
    expect(page.locator("button.yes:enabled")).to_have_count(0)


def test_a_phone_has_the_buttons_at_the_thumb_and_a_sheet_for_no(server: Server, window: Open) -> None:
    """W-4.6.2: one column, 50 px buttons in reach; rejecting opens a sheet that asks for the comment."""
    run = waiting(server)
    page = window(MANAGER, phone=True)
    page.goto("/inbox")
    page.locator(f"a.inbox-item[href='/inbox/{run}/request_approval']").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(TITLE)
    for button in (page.locator("button.yes"), page.locator("button.no")):
        until(button.bounding_box, lambda box: box and box["height"] >= 50 and 844 * 0.8 < _bottom(box) <= 844)
    page.wait_for_function("document.documentElement.scrollWidth <= 390")
    page.locator("button.no").tap()
    sheet = page.locator("dialog.dialog-sheet")
    expect(sheet).to_be_visible()
    until(sheet.bounding_box, lambda box: box and box["width"] >= 380 and _bottom(box) >= 840)
    sheet.get_by_role("textbox").fill("사진을 더 보내 주세요")
    sheet.get_by_role("button", name="반려", exact=True).tap()
    expect(page.locator(".toast")).to_have_text("반려했어요")
    until(lambda: read(server, f"/runs/{run}"), lambda one: one["ended_at"])


def _bottom(box: dict[str, Any]) -> float:
    return float(box["y"] + box["height"])
