"""The page of the API's description in a real browser."""

from __future__ import annotations

import pytest

from tests.api.serving import Server
from tests.servers.chromium import executable

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")


def test_the_page_is_drawn_under_its_own_policy(dev: Server) -> None:
    """C-66: every route is listed and can be searched and opened; no other host is asked, nothing is complained of."""
    with playwright.sync_playwright() as start:
        browser = start.chromium.launch(executable_path=executable(start), args=["--no-sandbox", "--disable-gpu"])
        page, faults, hosts = browser.new_page(), list[str](), set[str]()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda said: said.type == "error" and faults.append(said.text))
        page.on("request", lambda one: hosts.add(one.url.split("/")[2]))
        page.goto(f"{dev.url}/api/docs")
        page.wait_for_selector("details", timeout=60_000)
        assert page.locator("details").count() > 150
        page.fill("#find", "runs:batch")
        one = page.locator("details:visible")
        assert one.count() == 1
        one.locator("summary").click()
        page.wait_for_selector("details[open] pre")
        assert '"verb": "cancel"' in one.inner_text()
        browser.close()
    assert faults == [] and hosts == {f"localhost:{dev.port}"}
