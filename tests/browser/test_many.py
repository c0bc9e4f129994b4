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
