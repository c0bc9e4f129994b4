"""The list as one keeps it: saved views, orders, times and filters in the address, and the list as a file."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest

from tests.api.serving import Server, until
from tests.browser.conftest import Open
from tests.browser.runs import ADMIN, ALARM, IMPORT, MANAGER, failed, finished, read, waiting

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.xdist_group("browser")


def test_a_saved_view_follows_its_person(server: Server, window: Open) -> None:
    """Saved in one browser, opened in another one of the same person, unknown to others, thrown away."""
    failed(server)
    page = window(ADMIN)
    page.goto(f"/runs?state=FAILED&name={IMPORT}&sort=started_at")
    page.get_by_role("button", name="저장한 보기").click()
    page.get_by_label("이름", exact=True).fill("아침에 볼 것")
    page.get_by_role("button", name="지금 보기 저장").click()
    expect(page.locator(".toast")).to_have_text("아침에 볼 것을 저장했어요")
    expect(page.get_by_role("button", name="아침에 볼 것", exact=True)).to_be_visible()  # this is it
    other, stranger = window(ADMIN), window(MANAGER)
    for one in (other, stranger):
        one.goto("/runs")
        one.get_by_role("button", name="저장한 보기").click()
    expect(stranger.get_by_role("dialog")).to_contain_text("저장한 보기가 없어요")
    other.get_by_role("link", name="아침에 볼 것").click()
    expect(other).to_have_url(re.compile(rf"/runs\?state=FAILED&name={IMPORT}&sort=started_at$"))
    expect(other.get_by_role("button", name="실패", exact=True)).to_have_attribute("aria-pressed", "true")
    other.get_by_role("button", name="아침에 볼 것", exact=True).click()
    other.get_by_role("button", name="아침에 볼 것 지우기").click()
    expect(other.get_by_role("dialog")).to_contain_text("저장한 보기가 없어요")
    until(lambda: read(server, "/drafts")["items"], lambda found: "아침에 볼 것" not in str(found))


def test_the_order_is_in_the_address(server: Server, window: Open) -> None:
    """By the column and by the bar; the oldest first begins with the first run that there was."""
    runs = [finished(server) for _ in range(2)]
    page = window(ADMIN)
    page.goto(f"/runs?name={ALARM}")
    head = page.get_by_role("columnheader", name="시작")
    first = page.locator(".runs-table tbody tr:not(.gap) a").first
    expect(head).to_have_attribute("aria-sort", "descending")
    expect(first).to_have_attribute("href", f"/runs/{runs[1]}")
    head.get_by_role("button").click()
    expect(page).to_have_url(re.compile(r"sort=started_at$"))
    expect(head).to_have_attribute("aria-sort", "ascending")
    oldest = read(server, f"/runs?name={ALARM}&sort=started_at&limit=1")["items"][0]["id"]
    expect(first).to_have_attribute("href", f"/runs/{oldest}")
    page.get_by_label("차례").select_option(label="최근에 바뀜")
    expect(page).to_have_url(re.compile(r"sort=-updated_at$"))
    expect(head).to_have_attribute("aria-sort", "none")
    page.reload()
    expect(page.get_by_label("차례")).to_have_value("-updated_at")


def at_rest(one: Any) -> Any:
    """Where it is, twice the same: what comes above it moves it."""
    seen: list[Any] = [None]

    def look() -> bool:
        seen.append(one.bounding_box())
        return seen[-1] is not None and seen[-1] == seen[-2]

    until(look, bool)
    return seen[-1]


def test_filters_are_understood_as_people_write_them(server: Server, window: Open) -> None:
    """name=value finds by a variable, the strip of hours and the fields of the bar say the same time."""
    run, critical = finished(server), waiting(server)
    page = window(ADMIN)
    page.goto("/runs")
    page.get_by_role("button", name="조건 더하기").click()
    page.get_by_label("변수 = 값").fill("judgment_result.decision = critical")
    page.get_by_label("변수 = 값").press("Enter")
    expect(page).to_have_url(re.compile(r"var=judgment_result"))
    expect(page.locator(f".runs-table a[href='/runs/{run}']")).to_have_count(0)
    expect(page.locator(f".runs-table a[href='/runs/{critical}']")).to_be_visible()
    page.get_by_label("변수 = 값").fill("judgment_result.decision=nothing")
    page.get_by_label("변수 = 값").press("Enter")
    expect(page.get_by_text("조건에 맞는 실행이 없어요")).to_be_visible()
    page.get_by_role("button", name="거르기 지우기").last.click()
    expect(page.locator(f".runs-table a[href='/runs/{run}']")).to_be_visible()
    box = at_rest(page.locator(".brush-bars"))
    page.mouse.move(box["x"] + box["width"] - 4, box["y"] + 10)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + 10)
    page.mouse.up()
    expect(page).to_have_url(re.compile(r"since=\d{4}-.*&until=\d{4}-"))
    expect(page.locator(f".runs-table a[href='/runs/{run}']")).to_be_visible()
    expect(page.get_by_label("이때부터 (KST)")).to_have_value(re.compile(r"^\d{4}-\d\d-\d\dT\d\d:00$"))
    page.mouse.click(box["x"] + 4, box["y"] + 10)  # the first hour of the day: nothing was there
    expect(page.get_by_text("조건에 맞는 실행이 없어요")).to_be_visible()
    page.get_by_role("button", name="기간 지우기").click()
    expect(page).not_to_have_url(re.compile("since="))


def test_the_list_is_given_as_a_file(server: Server, window: Open, tmp_path: Path) -> None:
    """All that match, with the sentence of the screen; UTF-8 that a spreadsheet knows by its mark."""
    run, bad = waiting(server), failed(server)
    page = window(ADMIN)
    page.goto("/runs")
    expect(page.locator(".runs-table tbody tr").first).to_be_visible()
    with page.expect_download() as got:
        page.get_by_role("button", name="CSV 받기").click()
    file = tmp_path / got.value.suggested_filename
    got.value.save_as(file)
    assert re.fullmatch(r"penstock-runs-[\dT-]+\.csv", file.name)
    text = file.read_bytes()
    assert text.startswith(b"\xef\xbb\xbf")
    found = {one["id"]: one for one in csv.DictReader(io.StringIO(text.decode("utf-8-sig")))}
    assert "품질 관리자의 승인을" in found[run]["why"] and found[run]["state"] == "WAITING"
    assert "FILE_NOT_FOUND" in found[bad]["why"] and not re.search(r"[\x01\x02]", found[bad]["why"])
    total, cursor = 0, ""
    while cursor is not None:
        page_ = read(server, f"/runs?limit=200{cursor and f'&cursor={cursor}'}")
        total, cursor = total + len(page_["items"]), page_["next"]
    assert len(found) == total
