"""The server dies while somebody decides: told clearly, nothing typed is lost, and the decision is made once."""

from __future__ import annotations

import pytest

from tests.api.serving import Server, until
from tests.browser.conftest import Open, Watch
from tests.browser.runs import MANAGER, TITLE, decisions, read, waiting

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.xdist_group("browser")


def test_a_killed_server_takes_nothing_from_an_open_dialog(server: Server, window: Open, watch: Watch) -> None:
    """W-4.6.5, W-11.1.9: kill -9 under an open approval dialog; after a restart it goes on, sent once."""
    watch.excuse("net::ERR_")
    run = waiting(server)
    page = window(MANAGER)
    page.goto(f"/inbox/{run}/request_approval")
    text = page.locator(".item-comment textarea")
    text.fill("세 번 다시 쟀어요")
    page.locator("button.yes").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    server.kill()
    try:
        dialog.get_by_role("button", name="승인", exact=True).click()
        lost = page.get_by_role("alert").filter(has_text="연결이 끊겼어요. 적은 내용은 남아 있어요")
        expect(lost).to_be_visible()
        expect(text).to_have_value("세 번 다시 쟀어요")
        expect(page.locator("button.yes")).to_be_disabled()
        expect(page.locator("button.no")).to_be_disabled()
    finally:
        server.start()  # on the same port and store
    again = lost.get_by_role("button", name="다시 보내기")
    expect(again).to_be_enabled()
    again.click()
    expect(page.locator(".toast")).to_have_text("다시 연결했고 한 번만 보냈어요")
    ended = until(lambda: read(server, f"/runs/{run}"), lambda one: one["ended_at"])
    assert ended["state"] == "COMPLETED"
    assert ended["variables"]["approval_result"]["comment"] == "세 번 다시 쟀어요"
    assert [one["data"]["event"] for one in decisions(server, run)].count("decide") == 1
    expect(page.locator(".top .live")).to_have_text("실시간")
    expect(page.locator(f"a[href='/inbox/{run}/request_approval']")).to_have_count(0)


def test_a_dead_server_counts_as_offline_until_it_answers(server: Server, window: Open, watch: Watch) -> None:
    """W-4.6.5: within seconds a banner says so and nothing can be decided, with the reason; back without a reload."""
    watch.excuse("net::ERR_")
    run = waiting(server)
    page = window(MANAGER)
    page.goto(f"/inbox/{run}/request_approval")
    yes, banner = page.locator("button.yes"), page.locator(".offline")
    expect(yes).to_be_enabled()
    expect(page.locator(".top .live")).to_have_text("실시간")
    expect(banner).to_have_count(0)
    page.evaluate("window.here = true")
    server.kill()
    try:
        expect(banner).to_contain_text("오프라인이에요")
        expect(page.locator(".top .live")).to_have_text("오프라인")
        expect(yes).to_be_disabled()
        expect(page.locator("button.no")).to_be_disabled()
        expect(page.locator(".item-foot")).to_contain_text("오프라인이라 지금은 결정할 수 없어요")
        expect(page.get_by_role("heading", level=1)).to_have_text(TITLE)
    finally:
        server.start()
    expect(banner).to_have_count(0)
    expect(yes).to_be_enabled()
    expect(page.locator(".top .live")).to_have_text("실시간")
    assert page.evaluate("window.here") is True
