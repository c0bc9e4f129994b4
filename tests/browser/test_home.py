"""The first ten seconds: a sentence, what is stuck and why, what waits for me."""

from __future__ import annotations

import re
from contextlib import closing

import pytest

from tests.api.serving import Server, until
from tests.browser.conftest import Open, listening
from tests.browser.runs import ADMIN, IMPORT, TITLE, failed, read, waiting

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.xdist_group("browser")


def test_home_says_in_korean_what_is_stuck_and_what_waits(server: Server, window: Open) -> None:
    """One sentence with both numbers, the failed run with its cause, the approval with its time left."""
    stuck = failed(server)
    waiting(server)
    page = window()
    page.goto("/")
    headline = page.get_by_role("heading", level=1)
    expect(headline).to_have_text(re.compile(r"^지금 \d+건이 막혀 있고, \d+건이 내 결정을 기다려요$"))
    counted = read(server, "/home?scope=mine", "manager@example.com")["headline"]
    expect(headline).to_contain_text(f"{counted['stuck']}건이 막혀")
    expect(headline).to_contain_text(f"{counted['waiting']}건이 내 결정")
    row = page.locator(".home-item").filter(has=page.locator(f"a[href='/runs/{stuck}']"))
    expect(row).to_contain_text("주문 파일 읽기")
    expect(row).to_contain_text("FILE_NOT_FOUND")
    asked = read(server, "/home?scope=mine", "manager@example.com")["waiting"]
    held = next(one["id"] for one in asked if one["title"] == TITLE)  # the one that is due first
    item = page.locator(".home-item").filter(has=page.locator(f"a[href='/inbox/{held}']"))
    expect(item).to_contain_text(TITLE)
    expect(item).to_contain_text(re.compile(r"\d+시간( \d+분)? 남음"))
    expect(item).to_contain_text("판정 critical")  # of the decisive numbers the first
    row.get_by_role("button", name="실행 열기").click()
    expect(page).to_have_url(re.compile(f"/runs/{stuck}$"))


def test_home_follows_what_happens_without_a_reload(server: Server, window: Open) -> None:
    """An alarm that is raised while home is open is counted by itself."""
    page = window()
    listening(page, "/")
    count = page.get_by_role("navigation", name="주 메뉴").first.get_by_role("link", name=re.compile("할 일"))
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    before = read(server, "/inbox?mine=true", "manager@example.com")["total"]
    waiting(server)
    expect(count).to_have_text(re.compile(rf"할 일\s*{before + 1}$"))


def test_the_best_move_is_made_from_home(server: Server, window: Open) -> None:
    """CONSOLE 1: what is stuck has its best move beside it, confirmed as on its own page; nothing happens before."""
    run = failed(server)
    page = window(ADMIN, tongue="en")
    page.goto("/")
    row = page.locator(".home-item").filter(has=page.locator(f"a[href='/runs/{run}']"))
    row.get_by_role("button", name="Retry").click()
    dialog = page.get_by_role("dialog", name="Retry?")
    expect(dialog).to_contain_text("Tries the failed node once more.")
    before = read(server, f"/runs/{run}")["facts"]
    dialog.get_by_role("button", name="Never mind").click()
    expect(dialog).to_have_count(0)
    assert read(server, f"/runs/{run}")["facts"] == before
    row.get_by_role("button", name="Retry").click()
    dialog.get_by_role("button", name="Retry").click()
    facts = f"/runs/{run}/facts?limit=200"
    until(lambda: [one["fact"] for one in read(server, facts)["items"]], lambda found: "run.reopened" in found)
    expect(page).to_have_url(re.compile(r"/$"))


FLOOD = 103  # more than home has ever read one by one


@pytest.fixture(scope="module")
def flooded(server: Server) -> Server:
    """So many runs that fail for one cause."""
    with closing(server.client(ADMIN)) as client:
        for _ in range(FLOOD):
            assert client.post("/runs", json={"definition": IMPORT, "input": {}}).status_code == 201
        until(lambda: client.get("/runs?state=RUNNING,PENDING&limit=5").json()["items"], lambda items: items == [], 120)
    return server


def test_home_says_one_true_number_everywhere_and_groups_by_cause(flooded: Server, window: Open) -> None:
    """CONSOLE 4, CONSOLE 13.9: the headline, its card, the sidebar and the list that the cause leads to agree; a
    hundred failures of one cause are one row."""
    found = read(flooded, "/home?scope=mine")
    stuck = found["headline"]["stuck"]
    assert stuck >= FLOOD and found["headline"]["causes"] == len(found["stuck"])
    page = window(ADMIN, tongue="en")
    page.goto("/")
    expect(page.get_by_role("heading", level=1)).to_contain_text(f"{stuck} runs are stuck")
    card = page.locator(".card", has=page.get_by_role("heading", name="Stuck runs"))
    expect(card.locator(".card-head span.dim")).to_have_text(str(stuck))
    runs = page.get_by_role("navigation").first.locator("a[href^='/runs']")  # dead letters have a badge of their own
    expect(runs.locator(".side-stuck")).to_have_text(str(stuck))
    cause = next(one for one in found["stuck"] if one["why"]["code"] == "FILE_NOT_FOUND")
    rows = card.locator(".home-item", has_text="FILE_NOT_FOUND")
    expect(rows).to_have_count(1)
    rows.get_by_role("link", name=f"See all {cause['count']} of this cause").click()
    expect(page.locator(".runs-total")).to_have_text(f"{cause['count']} in all")
    expect(page.locator(".runs-table tbody tr:not(.gap)").first).to_contain_text("FILE_NOT_FOUND")


def test_each_tile_leads_to_as_many_rows_as_it_counts(flooded: Server, window: Open) -> None:
    """CONSOLE 4: each links to the filtered list, and that list has the tile's number."""
    waiting(flooded)
    page = window(ADMIN, tongue="en")
    tiles = {one["id"]: one for one in read(flooded, "/home?scope=mine")["tiles"]}
    counted = {
        "Running": tiles["running"]["value"], "Success": tiles["success_rate"]["detail"]["counted"],
        "Node errors": tiles["node_error_rate"]["detail"]["runs"], "Dead letters": tiles["dead_letters"]["value"],
    }  # fmt: skip
    assert counted["Dead letters"] >= FLOOD
    for name, count in counted.items():
        page.goto("/")
        page.locator(".tile", has_text=name).click()
        expect(page.locator(".runs-total")).to_have_text(f"{count:.0f} in all")
    page.goto("/")
    page.locator(".tile", has_text="Approvals").click()
    expect(page.get_by_role("button", name=f"Team {tiles['approvals']['value']:.0f}")).to_be_visible()
    page.goto("/")
    page.locator(".tile", has_text="Open breakers").click()
    expect(page.get_by_role("heading", name="Open breakers")).to_be_visible()
    card = page.locator(".card", has=page.get_by_role("heading", name="Open breakers"))
    expect(card.locator("tbody tr")).to_have_count(int(tiles["open_breakers"]["value"]))


def test_limits_are_shown_with_what_is_used_and_what_happens_beyond(server: Server, window: Open) -> None:
    """Every limit of the tenant has a row in the reader's words: how much, how much of it is used, and then what."""
    page = window(ADMIN)
    page.goto("/ops")
    rows = page.get_by_role("region", name="테넌트의 한도").locator("tbody tr")
    limits, house = read(server, "/limits")["items"], read(server, "/limits")["house"]
    expect(rows).to_have_count(len(limits) + len(house))
    for limit in house:
        row = rows.filter(has_text=limit["name"])
        expect(row).to_contain_text(f"{limit['limit']:,}모두에게")
        expect(row).to_contain_text(f"요 {limit['code']}" if limit["code"] else "따로 해요")
    for limit in limits:
        row = rows.filter(has_text=f"limits.{limit['name']}")
        expect(row).to_contain_text(f"{limit['limit']:,}")
        expect(row).to_contain_text("실행마다" if limit["used"] is None else f"{limit['used']:,}")
        expect(row).to_contain_text(limit["code"])
        expect(row).to_contain_text(re.compile("요 "))  # what happens, in a sentence


def test_home_is_usable_at_320_px(window: Open) -> None:
    """CONSOLE 9: nothing is wider than the narrowest screen, in both tongues."""
    for tongue in ("ko", "en"):
        page = window(tongue=tongue)
        page.set_viewport_size({"width": 320, "height": 700})
        for path in ("/", "/runs"):
            page.goto(path)
            expect(page.get_by_role("heading", level=1)).to_be_attached()
            expect(page.locator(".skeleton")).to_have_count(0)
            page.wait_for_function("document.documentElement.scrollWidth <= 320")
