"""Finding things: the list of runs with its address and keys, Ctrl K, and choices that are kept."""

from __future__ import annotations

import re
from contextlib import closing

import pytest

from tests.api.serving import Server, until
from tests.browser.conftest import Open, listening
from tests.browser.runs import ADMIN, DEVIATION, failed, finished, waiting

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.xdist_group("browser")
PAGE = 50


@pytest.fixture(scope="module")
def many(server: Server) -> None:
    """More finished runs than one page shows."""
    with closing(server.client(ADMIN)) as client:
        for _ in range(PAGE + 2):
            made = client.post("/runs", json={"definition": DEVIATION, "input": {"line_id": "L02"}})
            assert made.status_code == 201, made.text
        until(lambda: client.get("/runs?state=RUNNING,PENDING&limit=5").json()["items"], lambda items: items == [], 60)


@pytest.mark.usefixtures("many")
def test_the_filter_is_in_the_address_and_pages_follow_a_cursor(server: Server, window: Open) -> None:
    """Filtered, reloaded, opened by keys and come back to: the same list."""
    waiting(server)
    page = window(ADMIN)
    page.goto("/runs")
    rows, shown = page.locator(".runs-table tbody tr:not(.gap)"), page.locator(".runs-foot .dim").first
    expect(shown).to_have_text(f"{PAGE}건 표시")
    page.get_by_role("button", name="완료", exact=True).click()
    expect(page).to_have_url(re.compile(r"/runs\?state=COMPLETED$"))
    expect(rows.locator(".badge").filter(has_not_text="완료")).to_have_count(0)
    page.reload()
    chip = page.get_by_role("button", name="완료", exact=True)
    expect(chip).to_have_attribute("aria-pressed", "true")
    expect(shown).to_have_text(f"{PAGE}건 표시")
    hrefs = rows.locator("a").evaluate_all("all => all.map(one => one.getAttribute('href'))")
    page.get_by_role("button", name="더 보기", exact=True).last.click()
    expect(page.get_by_text("여기까지예요")).to_be_visible()
    expect(shown).not_to_have_text(f"{PAGE}건 표시")
    for key in "jjk":
        page.keyboard.press(key)
    expect(rows.nth(0)).to_have_attribute("aria-current", "true")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"{hrefs[1]}$"))
    page.go_back()
    expect(page).to_have_url(re.compile(r"/runs\?state=COMPLETED$"))
    expect(chip).to_have_attribute("aria-pressed", "true")
    expect(rows.first).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_role("textbox", name="이름, 키, 번호로 찾기")).to_be_focused()


@pytest.mark.usefixtures("many")
def test_only_the_rows_that_can_be_seen_are_drawn(window: Open) -> None:
    """Scrolling fetches the next page and the last row is reached by keys; the table says how many rows it has."""
    page = window(ADMIN)
    page.goto("/runs?state=COMPLETED")
    rows = page.locator(".runs-table tbody tr:not(.gap)")
    expect(rows.first).to_be_visible()
    expect(page.locator(".runs-table table")).to_have_attribute("aria-rowcount", "-1")
    assert rows.count() < PAGE
    for _ in range(PAGE):
        page.keyboard.press("j")
    here = page.locator(".runs-table tr[aria-current=true]")
    expect(here).to_have_attribute("aria-rowindex", str(PAGE + 1))  # the head is the first row
    expect(page.get_by_text("여기까지예요")).to_be_visible()  # the next page has come: there is somewhere to go
    page.keyboard.press("j")
    expect(here).to_have_attribute("aria-rowindex", str(PAGE + 2))
    expect(here).to_be_in_viewport()
    total = int(str(page.locator(".runs-table table").get_attribute("aria-rowcount")))
    assert total > PAGE + 1 and rows.count() < total - 1
    box = page.locator(".runs-table").evaluate("one => [one.scrollHeight, one.querySelector('thead').clientHeight]")
    assert box[0] == (total - 1) * 36 + box[1]  # as high as if all were there


def test_a_row_is_never_moved_by_what_is_new(server: Server, window: Open) -> None:
    """A run that begins while the list is open waits behind a pill."""
    finished(server)
    page = window(ADMIN)
    listening(page, "/runs")
    top = page.locator(".runs-table tbody tr:not(.gap)").first.locator("a")
    before = top.get_attribute("href")
    run = waiting(server)
    pill = page.locator("button.fresh")
    expect(pill).to_have_text(re.compile(r"새 실행 \d+건"))
    assert top.get_attribute("href") == before
    pill.click()
    expect(top).to_have_attribute("href", f"/runs/{run}")


def test_ctrl_k_finds_a_run(server: Server, window: Open) -> None:
    """By its number, from anywhere, with keys alone."""
    run = finished(server)
    page = window(ADMIN)
    page.goto("/inbox")
    expect(page.locator(".top .live")).to_have_text("실시간")  # the page listens, to keys too
    page.keyboard.press("Control+k")
    box = page.get_by_role("combobox")
    expect(box).to_be_focused()
    box.fill(run)
    expect(page.get_by_role("option").first).to_contain_text(run[:9])
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"/runs/{run}$"))
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_run_is_found_by_what_its_page_shows(server: Server, window: Open) -> None:
    """Title, code, cause, who decides and a variable, typed where people search."""
    broken, held = failed(server), waiting(server)
    page = window(ADMIN)
    for text, run in (
        ("FILE_NOT_FOUND", broken), ("orders.csv", broken), ("주문 파일 가져오기", broken),
        ("quality_manager", held), ("judgment_result.decision=critical", held),
    ):  # fmt: skip
        page.goto("/runs")
        page.get_by_role("textbox", name="이름, 키, 번호로 찾기").fill(text)
        expect(page.locator(f".runs-table a[href='/runs/{run}']")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    page.locator(".palette-in input").fill("orders.csv")
    expect(page.locator(".palette-list li").first).to_contain_text("주문 파일 가져오기")


def test_tongue_and_theme_are_kept(window: Open) -> None:
    """Both survive a reload and a second tab; the page says which tongue it speaks."""
    page = window(ADMIN)
    page.goto("/runs")
    root = page.locator("html")
    expect(root).to_have_attribute("lang", "ko")
    page.get_by_role("button", name="어둡게 보기").click()
    page.get_by_role("button", name="English로 보기").click()
    for _ in range(2):
        expect(root).to_have_attribute("lang", "en")
        expect(root).to_have_attribute("data-theme", "dark")
        expect(page.get_by_role("link", name="Inbox").first).to_be_visible()
        page.reload()
    second = page.context.new_page()
    second.goto("/")
    expect(second.locator("html")).to_have_attribute("lang", "en")
    expect(second.locator("html")).to_have_attribute("data-theme", "dark")
    second.get_by_role("button", name="한국어로 보기").click()
    expect(second.locator("html")).to_have_attribute("lang", "ko")
