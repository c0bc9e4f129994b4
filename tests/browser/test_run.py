"""One run: its past, its failure, its moves, and its net with keys alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.api.serving import Server, until
from tests.browser.conftest import Open
from tests.browser.runs import ADMIN, OPERATOR, failed, finished, read, waiting

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.xdist_group("browser")


def badge(page: Any) -> Any:
    return page.get_by_role("heading", level=1).locator(".badge")


def test_the_slider_goes_through_the_past_of_a_finished_run(server: Server, window: Open) -> None:
    """Tokens and variables are those of the fact; moves rest; keys step, play and come back."""
    run = finished(server)
    facts = read(server, f"/runs/{run}")["facts"]
    page = window(ADMIN)
    page.goto(f"/runs/{run}?tab=data")
    slider = page.get_by_role("slider", name="시간 여행")
    expect(slider).to_have_attribute("aria-valuenow", str(facts))
    names = page.locator(".vars dt")
    expect(names.first).to_be_visible()
    late, tokens = names.count(), page.locator(".net-token, .net-drop")
    expect(tokens).to_have_count(0)
    slider.focus()
    page.keyboard.press("Home")
    expect(page).to_have_url(re.compile(r"[?&]at=1(&|$)"))
    expect(page.locator(".top .live")).to_have_text("과거")
    expect(page.locator(".why")).to_contain_text(re.compile(rf"사실 {facts}개 가운데 1번째"))
    expect(page.locator(".run-moves button:enabled")).to_have_count(0)
    page.keyboard.press("ArrowRight")
    expect(slider).to_have_attribute("aria-valuenow", "2")
    expect(slider).to_have_attribute("aria-valuetext", re.compile(rf"^{facts}개 가운데 2번째 사실, "))
    expect(tokens).not_to_have_count(0)
    until(names.count, lambda now: now < late)
    slider.blur()
    page.keyboard.press("[")
    expect(slider).to_have_attribute("aria-valuenow", "1")
    page.keyboard.press("]")
    page.keyboard.press("]")
    expect(slider).to_have_attribute("aria-valuenow", "3")
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="멈춤", exact=True)).to_be_visible()
    expect(slider).to_have_attribute("aria-valuenow", re.compile(r"^([4-9]|\d\d)$"))
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="재생", exact=True)).to_be_visible()
    stopped = slider.get_attribute("aria-valuenow")
    page.reload()
    expect(slider).to_have_attribute("aria-valuenow", stopped)
    page.get_by_role("button", name=re.compile("^지금으로")).click()
    expect(page).not_to_have_url(re.compile("at="))
    expect(names).to_have_count(late)
    expect(page.locator(".top .live")).to_have_text("실시간")


def test_a_failed_run_opens_on_its_cause(server: Server, window: Open) -> None:
    """The failed node is chosen, its code and hint are read without a click."""
    page = window(OPERATOR)
    page.goto(f"/runs/{failed(server)}")
    expect(badge(page)).to_have_text("실패")
    panel = page.get_by_role("complementary")
    expect(panel.get_by_role("heading", level=2)).to_have_text("주문 파일 읽기")
    expect(panel.locator(".failure-code")).to_have_text("FILE_NOT_FOUND")
    expect(panel.locator(".failure-hint")).not_to_be_empty()
    expect(page.locator(".why")).to_contain_text("FILE_NOT_FOUND")
    expect(page.locator("[data-node='read_orders']")).to_have_accessible_name(re.compile("실패"))


def test_retry_completes_when_the_cause_is_gone(server: Server, window: Open) -> None:
    """With the file in its place, one press and a confirmation."""
    run = failed(server)
    page = window(OPERATOR)
    page.goto(f"/runs/{run}")
    before = read(server, f"/runs/{run}")["facts"]
    missing = Path(server.store).parent / "files" / "orders.csv"
    missing.parent.mkdir(exist_ok=True)
    missing.write_text("id,product,quantity\n1,valve,4\n", encoding="utf-8")
    try:
        page.locator(".why").get_by_role("button", name="다시 시도").click()
        page.get_by_role("dialog").get_by_role("button", name="다시 시도").click()
        ended = until(lambda: read(server, f"/runs/{run}"), lambda one: one["ended_at"] and one["facts"] > before)
        assert ended["state"] == "COMPLETED", ended["failure"]
        expect(badge(page)).to_have_text("완료")
    finally:
        missing.unlink()


def test_pausing_resuming_and_cancelling(server: Server, window: Open) -> None:
    """What is reversible happens at once, what is final is asked before."""
    run = waiting(server)
    page = window(OPERATOR)
    page.goto(f"/runs/{run}")
    moves = page.locator(".run-moves")
    moves.get_by_role("button", name="일시 정지").click()
    expect(badge(page)).to_have_text("멈춤")
    expect(page.locator(".why")).to_contain_text("멈춰 두었어요")
    moves.get_by_role("button", name="다시 진행").click()
    expect(badge(page)).to_have_text("대기 중")
    moves.get_by_role("button", name="취소", exact=True).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("취소는 되돌릴 수 없어요")
    dialog.get_by_role("button", name="그대로 두기").click()
    expect(dialog).to_have_count(0)
    assert read(server, f"/runs/{run}")["state"] == "WAITING"
    moves.get_by_role("button", name="취소", exact=True).click()
    dialog.get_by_role("button", name="실행 취소").click()
    expect(badge(page)).to_have_text("취소됨")
    until(lambda: read(server, f"/runs/{run}"), lambda one: one["state"] == "CANCELLED")


def test_the_net_as_a_list_and_by_keys(server: Server, window: Open) -> None:
    """Arrows follow edges, Enter chooses; the list has the same nodes, said with their states."""
    run = waiting(server)
    page = window(ADMIN)
    page.goto(f"/runs/{run}")
    first = page.locator("[data-node='data_defect']")
    expect(first).to_have_accessible_name(re.compile("완료"))
    expect(page.locator("[data-node='request_approval']")).to_have_accessible_name(re.compile("대기"))
    drawn = page.locator("[data-node]")
    count, names = drawn.count(), drawn.evaluate_all("all => all.map(one => one.dataset.node)")
    assert {"data_defect", "judge_quality", "request_approval"} < set(names)
    first.focus()
    page.keyboard.press("ArrowRight")
    second = page.locator("[data-node='judge_quality']")
    expect(second).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("node=judge_quality"))
    expect(page.get_by_role("complementary").get_by_role("heading", level=2)).to_have_text("judge_quality")
    page.keyboard.press("ArrowLeft")
    expect(first).to_be_focused()
    page.get_by_role("button", name="목록으로").click()
    steps = page.locator(".net-step")
    expect(steps).to_have_count(count)
    expect(steps.filter(has_text="data_defect")).to_contain_text("완료")
    expect(steps.filter(has_text="request_approval")).to_contain_text("대기")
    page.reload()
    expect(steps).to_have_count(count)
    page.get_by_role("button", name="그림으로").click()
    expect(drawn).to_have_count(count)
