"""Charts in the data of a run: drawn where the node is looked at, in both themes, with their rows as a table."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.serving import Server
from tests.browser.conftest import Open, Watch
from tests.browser.documents import analysed
from tests.browser.runs import ADMIN, read
from tests.browser.walking import walk

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.xdist_group("browser")


def _lines(page: Any) -> Any:
    return page.locator(".vega-box svg .mark-line path")


def test_w_4_2_3_an_analysis_is_drawn_without_eval(server: Server, window: Open, watch: Watch) -> None:
    """W-4.2.3: one line per series under the server's policy, which forbids `eval`; the same rows as a table."""
    run = analysed(server)
    chart = read(server, f"/runs/{run}")["outputs"]["trend_result"]["vega_lite"]
    page = window(ADMIN)
    page.goto(f"/runs/{run}?node=bi_trend")
    box = page.get_by_role("img", name="30일 불량률 추이")
    expect(box.locator("svg")).to_be_visible()
    rows = chart["data"]["values"]
    series = chart["encoding"]["color"]["field"]
    expect(_lines(page)).to_have_count(len({row[series] for row in rows}))
    page.locator(".vega summary").click()
    expect(page.locator(".vega-rows tbody tr")).to_have_count(min(200, len(rows)))
    page.locator(".top .btn-icon").last.click()
    expect(_lines(page).first).to_be_visible()  # drawn anew in the other theme's colours
    walk(page, [f"/runs/{run}?node=bi_trend"], watch.taken, cold=True)


def test_a_chart_that_cannot_be_drawn_leaves_its_table(server: Server, window: Open) -> None:
    """Also one that would load something from elsewhere: nothing is loaded."""
    run = analysed(server)
    page = window(ADMIN, tongue="en")

    def broken(route: Any) -> None:
        body = route.fetch().json()
        spec = {
            "$schema": "https://vega.github.io/schema/vega-lite/v5.json", "title": "Broken", "mark": "no such mark",
            "data": {"values": [{"a": 1}]},
        }  # fmt: skip
        for fact in body["items"]:
            fact["data"] |= {"output": spec} if fact["fact"] == "settled" else {}
        route.fulfill(json=body)

    page.route(f"**/api/v1/runs/{run}/facts*", broken)
    page.goto(f"/runs/{run}?node=bi_trend")
    expect(page.locator(".vega")).to_contain_text("The chart could not be drawn")
    page.locator(".vega summary").click()
    expect(page.locator(".vega-rows tbody tr")).to_have_count(1)
