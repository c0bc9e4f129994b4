"""The timeline's words: none on another, none outside of its row."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.serving import Server, until
from tests.browser.conftest import Open
from tests.browser.runs import MANAGER, failed, waiting

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.xdist_group("browser")
BOXES = "all => all.map(one => { const b = one.getBoundingClientRect(); return [b.left, b.right, b.top, b.bottom] })"
ROWS = """all => all.map(row => [row, ...row.querySelectorAll('.tl-bar > *')].map(one => {
  const b = one.getBoundingClientRect(); return [b.left, b.right, b.top, b.bottom] }))"""


def apart(boxes: list[Any]) -> bool:
    ordered = sorted(boxes)
    return all(one[1] <= after[0] + 0.5 for one, after in zip(ordered, ordered[1:], strict=False))


def inside(boxes: list[Any]) -> bool:
    row, *words = boxes
    return apart(words) and all(row[2] <= one[2] and one[3] <= row[3] for one in words)


@pytest.mark.parametrize("begun", [waiting, failed], ids=["waiting", "failed"])
@pytest.mark.parametrize("width", [1440, 1000])
def test_words_of_the_timeline_lie_beside_each_other(server: Server, window: Open, begun: Any, width: int) -> None:
    """Times at the slider's head and labels of attempts, folded and true to scale."""
    page = window(MANAGER)
    page.set_viewport_size({"width": width, "height": 900})
    page.goto(f"/runs/{begun(server)}")
    expect(page.locator(".tl-row").first).to_be_visible()
    for scale in (0, 1):
        page.locator(".tl-head .segment button").nth(scale).click()
        # where they lie is worked out once the width is known
        until(lambda: page.locator(".tl-times > *").evaluate_all(BOXES), lambda times: times and apart(times), 15)
        until(lambda: page.locator(".tl-row").evaluate_all(ROWS), lambda rows: all(map(inside, rows)), 15)
