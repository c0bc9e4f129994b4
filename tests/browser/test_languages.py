"""A language that the console does not know: its definitions, runs and items are shown by the general screens."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.api.serving import Server
from tests.browser.conftest import Open
from tests.browser.runs import ALARM, MANAGER, waiting

expect = pytest.importorskip("playwright.sync_api").expect
pytestmark = pytest.mark.xdist_group("browser")

KNOWN, TOY = "decision", "toy"


def _renamed(value: Any) -> Any:
    """The same answer of a server whose decisions are in another language."""
    if isinstance(value, list):
        return [_renamed(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        (TOY if key == KNOWN and isinstance(inner, dict) and "types" in inner else key): (
            TOY if key == "language" and inner == KNOWN else _renamed(inner)
        )
        for key, inner in value.items()
    }


def _answer(route: Any) -> None:
    if route.request.url.endswith("/stream"):
        route.continue_()
        return
    answer = route.fetch()
    if "json" in answer.headers.get("content-type", ""):
        route.fulfill(response=answer, body=json.dumps(_renamed(answer.json())))
    else:
        route.fulfill(response=answer)


def test_an_unknown_language_has_the_general_screens(server: Server, window: Open) -> None:
    run = waiting(server)
    page = window(MANAGER)
    page.route("**/api/v1/**", _answer)

    page.goto("/definitions")
    group = page.get_by_role("region", name=TOY)
    expect(group.locator(f"a[href='/definitions/{ALARM}']")).to_be_visible()

    page.goto(f"/definitions/{ALARM}?node=request_approval")
    expect(page.locator(".code-lines")).to_be_visible()
    expect(page.locator(".net-node [data-node='request_approval']")).to_be_visible()
    expect(page.locator(".inspector h3").first).to_be_visible()
    expect(page.locator(".findings .badge").first).to_be_visible()

    page.goto(f"/runs/{run}")
    expect(page.locator(".net-node [data-node='request_approval']")).to_be_visible()
    expect(page.get_by_role("tab")).not_to_have_count(0)
    expect(page.locator(".why")).to_be_visible()
    expect(page.locator(".tl-row").first).to_be_visible()

    page.goto(f"/inbox/{run}/request_approval")
    expect(page.locator("button.yes")).to_be_enabled()
    expect(page.locator("button.no")).to_be_enabled()

    page.goto("/?scope=site")
    expect(page.locator(f".bywork a[href='/runs?language={TOY}']")).to_have_text(TOY)
    page.goto(f"/runs?language={TOY}")
    expect(page.get_by_role("combobox", name="업무")).to_have_value(TOY)
    page.unroute_all(behavior="wait")
