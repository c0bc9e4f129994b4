"""Many runs at once: selected in the list, tried dry, and steered only after the count was typed."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.api.serving import Server, until
from tests.browser.conftest import Open
from tests.browser.runs import ADMIN, DEVIATION, IMPORT, begin, failed, finished, read, waiting

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.xdist_group("browser")
VIEWER = "viewer@example.com"


def row(page: Any, run: str) -> Any:
    return page.locator(".runs-table tbody tr").filter(has=page.locator(f"a[href='/runs/{run}']"))


def states(server: Server, runs: list[str]) -> set[str]:
    return {read(server, f"/runs/{run}")["state"] for run in runs}


def test_many_are_cancelled_after_a_dry_run_and_a_typed_count(server: Server, window: Open) -> None:
    """C-66: the dry run tells how many, which, and who refuses and why; nothing happens before the count is typed."""
    held, done = [waiting(server), waiting(server)], finished(server)
    page = window(ADMIN)
    page.goto("/runs")
    bar = page.get_by_role("region", name="고른 실행")
    for run in [*held, done]:
        row(page, run).get_by_role("checkbox").check()
    expect(bar).to_contain_text("이 목록에서 3건 골랐어요")
    expect(bar.get_by_role("button", name="조건에 맞는 모두 고르기")).to_have_count(0)  # without a filter: every run
    bar.get_by_role("button", name="취소", exact=True).click()
    dialog = page.get_by_role("dialog", name="2건을 취소할까요? 1건은 취소할 수 없어요")
    expect(dialog).to_contain_text("지금 완료 상태예요")
    expect(dialog).to_contain_text("ILLEGAL_TRANSITION")
    expect(dialog.get_by_role("button", name="그대로 두기")).to_be_focused()
    doing = dialog.get_by_role("button", name="취소", exact=True)
    expect(doing).to_be_disabled()
    dialog.get_by_label("확인하려면 2를 입력하세요").fill("3")
    expect(doing).to_be_disabled()
    assert states(server, held) == {"WAITING"}
    dialog.get_by_label("확인하려면 2를 입력하세요").fill("2")
    doing.click()
    expect(page.locator(".toast")).to_have_text("2건에 했고, 1건은 하지 못했어요")
    expect(bar).to_have_count(0)
    assert states(server, held) == {"CANCELLED"}
    for run in held:
        expect(row(page, run)).to_contain_text("취소")


def test_all_that_match_are_paused_and_resumed_but_not_what_comes_later(server: Server, window: Open) -> None:
    """The whole list of a filter, by keys; a run that begins after the dry run is not meant."""
    runs = [begin(server, DEVIATION, {"line_id": "L01"}, "WAITING") for _ in range(2)]
    page = window(ADMIN, tongue="en")
    page.goto(f"/runs?name={DEVIATION}&state=WAITING&last=h1")
    expect(row(page, runs[1])).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("x")
    bar = page.get_by_role("region", name="Selected runs")
    expect(bar).to_contain_text("1 selected in this list")
    bar.get_by_role("button", name="Select all that match").click()
    expect(bar).to_contain_text("All that match are selected")
    bar.get_by_role("button", name="Pause").click()
    dialog = page.get_by_role("dialog", name=re.compile(r"^Pause \d+ runs\?"))
    count = re.findall(r"\d+", str(dialog.get_attribute("aria-label")))[0]
    later = begin(server, DEVIATION, {"line_id": "L01"}, "WAITING")
    dialog.get_by_role("textbox").fill(count)
    dialog.get_by_role("button", name="Pause").click()
    expect(page.locator(".toast")).to_contain_text(f"Done for {count}")
    assert [read(server, f"/runs/{run}")["paused"] for run in [*runs, later]] == [True, True, False]
    for run in runs:
        row(page, run).get_by_role("checkbox").check()
    bar.get_by_role("button", name="Resume").click()
    page.get_by_role("dialog").get_by_role("textbox").fill("2")
    page.get_by_role("dialog").get_by_role("button", name="Resume").click()
    until(lambda: [read(server, f"/runs/{run}")["paused"] for run in runs], lambda now: now == [False, False])


def test_nothing_is_offered_when_nobody_takes_it(server: Server, window: Open) -> None:
    """A retry of what has not failed: the dialog says so and has no button to do it; Esc keeps the selection."""
    bad, done = failed(server), finished(server)
    page = window(ADMIN, tongue="en")
    page.goto("/runs")
    row(page, done).get_by_role("checkbox").check()
    bar = page.get_by_role("region", name="Selected runs")
    bar.get_by_role("button", name="Retry").click()
    dialog = page.get_by_role("dialog", name="No run can be retried")
    expect(dialog.get_by_role("button")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(bar).to_be_visible()
    page.goto(f"/runs?name={IMPORT}&state=FAILED")
    expect(bar).to_have_count(0)  # another list, another selection
    expect(row(page, bad)).to_be_visible()


def test_who_may_not_steer_selects_nothing(server: Server, window: Open) -> None:
    waiting(server)
    page = window(VIEWER)
    page.goto("/runs")
    expect(page.locator(".runs-table tbody tr").first).to_be_visible()
    expect(page.get_by_role("checkbox")).to_have_count(0)
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.get_by_role("region", name="고른 실행")).to_have_count(0)


def test_a_batch_says_who_refused_and_can_be_looked_up(server: Server, window: Open) -> None:
    """C-66: what was refused stays on the page with its reason until it is put out of sight; the last batches are kept,
    in either tongue, also after the page was loaded again."""
    held, done = waiting(server), finished(server)
    page = window(ADMIN)
    page.goto("/runs")
    for run in (held, done):
        row(page, run).get_by_role("checkbox").check()
    page.get_by_role("region", name="고른 실행").get_by_role("button", name="취소", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox").fill("1")
    dialog.get_by_role("button", name="취소", exact=True).click()
    strip = page.get_by_role("region", name="묶음 작업")
    expect(strip).to_contain_text("1건 했어요 · 1건은 하지 못했어요 · 2건 가운데 2건 살펴봄")
    strip.get_by_text("하지 못한 1건과 이유").click()
    expect(strip.get_by_role("link", name=done)).to_be_visible()
    expect(strip).to_contain_text("지금 완료 상태예요")
    strip.get_by_role("button", name="가리기").click()
    expect(strip).to_have_count(0)
    page = window(VIEWER, tongue="en")
    page.goto("/runs")
    page.get_by_role("button", name="Batches").click()
    past = page.get_by_role("dialog", name="Batches")
    expect(past.get_by_role("article").first).to_contain_text(f"Cancel1 done · 1 refused · 2 of 2 looked atby {ADMIN}")
    expect(past.get_by_role("button", name="Stop it")).to_have_count(0)


def test_a_batch_under_way_shows_how_far_it_is_and_is_stopped(server: Server, window: Open) -> None:
    """The server's own list, with its newest batch held at half the way until somebody stops it."""
    held = waiting(server)
    page = window(ADMIN)
    begun = page.request.post("/api/v1/batches", data={"verb": "pause", "ids": [held]}, headers={"X-Penstock": "1"})
    assert begun.status == 202, begun.text()
    stops = list[str]()

    def half(route: Any) -> None:
        answer = route.fetch()
        listed = answer.json()
        if not stops:
            listed["items"][0] |= {"state": "running", "looked": 60, "done": 60, "total": 120, "ended_at": None}
        route.fulfill(response=answer, json=listed)

    def stop(route: Any) -> None:
        stops.append(route.request.url)
        route.continue_()

    page.route("**/api/v1/batches?limit=20", half)
    page.route("**/api/v1/batches/*/cancel", stop)
    page.goto("/runs")
    strip = page.get_by_role("region", name="묶음 작업")
    bar = strip.get_by_role("progressbar", name="얼마나 했는지: 일시 정지")
    expect(bar).to_have_attribute("value", "60")
    expect(bar).to_have_attribute("max", "120")
    expect(strip).to_contain_text("하는 중")
    strip.get_by_role("button", name="그만하기").click()
    expect(strip).to_have_count(0)
    assert [begun.json()["id"] in url for url in stops] == [True]
