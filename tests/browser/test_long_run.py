"""A run of more facts than one answer has: timeline, latest facts and slider agree, to its last fact."""

from __future__ import annotations

import re
from contextlib import closing
from typing import Any

import pytest

from tests.api.serving import Server, until
from tests.browser.conftest import Open
from tests.browser.runs import ADMIN, read

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.xdist_group("browser")
ROUNDS = 450

LONG: dict[str, Any] = {
    "version": "light", "name": "longloop", "persons": {"Writer": {"service": "mock"}},
    "nodes": [
        {"label": "Start", "type": "start"},
        {"label": "Write", "type": "person_job", "person": "Writer", "first_only_prompt": "Write.",
         "default_prompt": "Again: {{default}}", "max_iteration": ROUNDS},
        {"label": "Enough", "type": "condition", "condition_type": "detect_max_iterations"},
        {"label": "End", "type": "endpoint"},
    ],
    "connections": [
        {"from": "Start", "to": "Write"}, {"from": "Write", "to": "Enough"},
        {"from": "Enough[condfalse]", "to": "Write"}, {"from": "Enough[condtrue]", "to": "End"},
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def run(server: Server) -> str:
    """A loop of many rounds, to its end."""
    with closing(server.client(ADMIN)) as admin:
        assert admin.post("/diagrams", json={"document": LONG}).status_code in (200, 201)
        id = str(admin.post("/diagrams/longloop/runs", json={}).json()["run_id"])
        until(lambda: admin.get(f"/runs?q={id}").json()["items"][0]["state"], lambda state: state == "COMPLETED", 120)
    return id


def test_the_latest_facts_are_the_last_ones(server: Server, run: str, window: Open) -> None:
    """CONSOLE 10: facts come in windows of 500, the last of which is the last one."""
    of = read(server, f"/runs/{run}")["facts"]
    assert of > 2000
    last = read(server, f"/runs/{run}/facts?after={of - 20}&limit=40")["items"]
    assert last[-1]["seq"] == of
    page = window(ADMIN, tongue="en")
    page.goto(f"/runs/{run}?node=")
    latest = page.locator(".panel .facts li button")
    expect(latest.first).to_have_text(re.compile("Run status|Run: |run", re.I))  # how it ended
    expect(latest.first).to_have_attribute("title", re.compile(r"^run\.moved"))
    page.get_by_role("tab", name=re.compile("Facts")).click()
    expect(page.get_by_role("tab", name=re.compile("Facts"))).to_have_text(f"Facts {of}")
    lines = page.locator(".panel .facts time")
    expect(lines.last).to_have_text(str(of))
    page.get_by_role("button", name="Earlier").click()
    expect(lines.first).to_have_text(str(of - 999))
    ends = int(lines.last.inner_text())  # a fact may have several lines, and a page has 500
    assert of - 999 < ends <= of - 500
    page.get_by_role("button", name="Later").click()
    expect(lines.first).to_have_text(str(ends + 1))


def test_the_slider_reaches_every_fact(server: Server, run: str, window: Open) -> None:
    """Its end is now; by keys and by pointer every part of the run is reached, and all that is shown is of there."""
    of = read(server, f"/runs/{run}")["facts"]
    page = window(ADMIN, tongue="en")
    page.goto(f"/runs/{run}?node=")
    slider = page.get_by_role("slider")
    expect(slider).to_have_attribute("aria-valuenow", str(of))
    expect(slider).to_have_attribute("aria-valuemax", str(of))
    page.keyboard.press("[")
    expect(page).to_have_url(re.compile(f"at={of - 1}(&|$)"))
    around = page.locator(".panel .facts [aria-current=true]")
    expect(around).to_be_visible()
    box = slider.bounding_box()
    seen = []
    for share in (0.2, 0.5, 0.8):
        page.mouse.click(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
        expect(around.first).to_be_visible()
        seen.append(int(str(slider.get_attribute("aria-valuenow"))))
        moment = read(server, f"/runs/{run}/facts?after={seen[-1] - 1}&limit=1")["items"][0]["at"]
        expect(page.locator(".why.tone-undone")).to_contain_text(f"{seen[-1]}")
        knob = page.locator(".tl-knob").evaluate("one => parseFloat(one.style.left)")
        assert abs(knob - 100 * share) < 25, (moment, knob)  # facts do not lie evenly in time
    assert seen == sorted(set(seen)) and seen[0] > 1 and seen[-1] < of
    slider.focus()
    page.keyboard.press("Home")
    expect(page).to_have_url(re.compile("at=1(&|$)"))
    page.keyboard.press("End")
    expect(slider).to_have_attribute("aria-valuenow", str(of))


def test_when_facts_happened_is_told_from_the_first_to_the_last(server: Server, run: str) -> None:
    """As many as a slider can tell apart, however long the run is; each with the time that the fact has."""
    of = read(server, f"/runs/{run}")["facts"]
    found = read(server, f"/runs/{run}/moments?limit=50")
    assert found["of"] == of and len(found["items"]) == 50
    numbers = [one["fact"] for one in found["items"]]
    assert numbers[0] == 1 and numbers[-1] == of and numbers == sorted(set(numbers))
    for one in (found["items"][0], found["items"][25], found["items"][-1]):
        fact = read(server, f"/runs/{run}/facts?after={one['fact'] - 1}&limit=1")["items"][0]
        assert fact["at"] == one["at"]
