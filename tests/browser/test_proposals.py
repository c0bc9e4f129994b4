"""Proposed changes: what is in force beside what was proposed, and another than its author decides."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.serving import Server
from tests.browser.conftest import Open, Watch

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.xdist_group("browser")
ADMIN, IT, VIEWER = "admin@example.com", "it@example.com", "viewer@example.com"


def _config(server: Server, id: str) -> Any:
    answer = server.client(ADMIN).get(f"/configs/{id}")
    return answer.json()["body"] if answer.status_code == 200 else None


def test_c_82_another_than_the_author_puts_it_in_force(server: Server, window: Open) -> None:
    """C-82: the author sees it and cannot decide for it; another sees what changes, line by line, and puts it in force;
    whoever may not decide is told why."""
    admin = server.client(ADMIN)
    for body in ({"length_h": 8, "breaks": 2}, {"length_h": 9, "breaks": 2}):
        assert admin.put("/configs/shift", json=body).status_code == 202
        if body["length_h"] == 8:
            assert server.client(IT).post("/config-proposals/shift/approve").status_code == 204
    page = window(ADMIN)
    page.goto("/")
    page.locator(".side-user").click()
    page.get_by_role("button", name="제안된 변경").click()
    mine = page.get_by_role("article", name="설정 shift")
    expect(mine).to_contain_text("내가 제안했어요. 다른 사람이 정해요.")
    expect(mine.get_by_role("button", name="승인하고 쓰기")).to_be_disabled()
    looker = window(VIEWER, tongue="en")
    looker.goto("/proposals")
    expect(looker.get_by_role("article", name="Settings shift")).to_contain_text("needs the right definition.approve")
    expect(looker.get_by_role("button", name="Put in force")).to_have_count(0)
    page = window(IT)
    page.goto("/proposals")
    card = page.get_by_role("article", name="설정 shift")
    expect(card.locator(".code-gone")).to_contain_text('"length_h": 8')
    expect(card.locator(".code-new")).to_contain_text('"length_h": 9')
    assert _config(server, "shift") == {"length_h": 8, "breaks": 2}
    card.get_by_role("button", name="승인하고 쓰기").click()
    expect(page.locator(".toast")).to_have_text("설정 shift이(가) 이제 쓰여요")
    expect(card).to_have_count(0)
    assert _config(server, "shift") == {"length_h": 9, "breaks": 2}


def test_c_82_what_was_changed_meanwhile_is_not_put_in_force_unseen(server: Server, window: Open, watch: Watch) -> None:
    """C-82: the proposal that was looked at is the one that is approved; one that is refused is gone for good."""
    watch.excuse("412")
    admin = server.client(ADMIN)
    assert admin.put("/configs/night", json={"length_h": 8}).status_code == 202
    page = window(IT, tongue="en")
    page.goto("/proposals")
    card = page.get_by_role("article", name="Settings night")
    expect(card).to_contain_text("New")
    late: list[Any] = []  # the page hears of the change, and has not read it again yet
    page.route("**/api/v1/proposals?*", lambda route: late.append(route))  # noqa: PLW0108 (playwright marks functions)
    assert admin.put("/configs/night", json={"length_h": 24}).status_code == 202
    with page.expect_response("**/approve"):
        card.get_by_role("button", name="Put in force").click()
    page.unroute("**/api/v1/proposals?*")
    for route in late:
        route.continue_()
    expect(page.locator(".toast").last).to_contain_text("changed")
    expect(card.locator(".code-new").filter(has_text='"length_h": 24')).to_be_visible()
    assert _config(server, "night") is None
    card.get_by_role("button", name="Refuse").click()
    expect(page.locator(".toast").last).to_have_text("Settings night is refused")
    expect(card).to_have_count(0)
    assert _config(server, "night") is None
