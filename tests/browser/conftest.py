"""What the stories share: one Chromium, one server, and windows that notice what a person would complain about."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.api.serving import ROOT, Server, serving
from tests.servers.chromium import executable

try:
    from playwright.sync_api import expect, sync_playwright
except ImportError:
    sync_playwright = None  # type: ignore[assignment,unused-ignore]
else:
    expect.set_options(timeout=30_000)  # a shared machine is slow at random moments

CONSOLE = ROOT / "src/penstock/api/console"
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--disable-extensions", "--mute-audio",
]  # fmt: skip
DESK, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
ZONE = "Asia/Seoul"

Open = Callable[..., Any]


class Watch:
    """What went wrong in a window without the test asking: errors of scripts, of the console, of answers."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.excused: list[str] = []

    def look(self, page: Any) -> None:
        page.on("pageerror", lambda error: self.faults.append(f"script: {error}"))
        page.on("console", lambda said: self._fault(said.type == "error", f"console: {said.text}"))
        page.on("response", lambda one: self._fault(one.status >= 400, f"answer: {one.status} {one.url}"))

    def _fault(self, is_one: bool, text: str) -> None:
        if is_one:
            self.faults.append(text)

    def excuse(self, *patterns: str) -> None:
        """Faults of a story that is about them."""
        self.excused += patterns

    def left(self) -> list[str]:
        return [one for one in self.faults if not any(re.search(each, one) for each in self.excused)]

    def taken(self) -> list[str]:
        """What is left, told once."""
        found = self.left()
        self.faults.clear()
        return found


@pytest.fixture(scope="package")
def chromium() -> Iterator[Any]:
    """One browser for all stories; skips, and says why, where there is none or nothing to look at. It keeps an event
    loop running in this process, so it is closed before other tests come."""
    if sync_playwright is None:
        pytest.skip("playwright is not installed")
    if not (CONSOLE / "index.html").is_file():
        pytest.skip("the console was not built: python -m tools.console")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=executable(play), headless=True, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def server(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that starts nothing by itself; every story brings its own runs."""
    with serving(tmp_path_factory.mktemp("site"), "dev", "--quiet") as one:
        yield one


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def window(request: pytest.FixtureRequest, chromium: Any, watch: Watch, tmp_path: Path) -> Iterator[Open]:
    """Opens windows of people: `window("manager@example.com")`. A second page of the same person shares the session."""
    made: list[Any] = []

    def open_(
        user: str = "manager@example.com", *, of: Server | None = None, tongue: str = "ko", theme: str = "light",
        phone: bool = False,
    ) -> Any:  # fmt: skip
        where = of or request.getfixturevalue("server")
        context = chromium.new_context(
            base_url=where.url, locale="ko-KR" if tongue == "ko" else "en-GB", timezone_id=ZONE, color_scheme=theme,
            viewport=PHONE if phone else DESK, has_touch=phone, is_mobile=phone, reduced_motion="reduce",
        )  # fmt: skip
        context.set_default_timeout(30_000)
        made.append(context)
        enter(context, user)
        page = context.new_page()
        watch.look(page)
        return page

    yield open_
    for context in made:
        _keep_pictures(request, context, tmp_path)
    left = watch.left()  # before the routes go: an open page may read on, and the server knows nothing of a made answer
    for context in made:
        for page in context.pages:  # what a story has held up and let go would break the next one
            page.unroute_all(behavior="ignoreErrors")
        context.close()
    assert left == []


def listening(page: Any, path: str) -> None:
    """Goes there, and waits until it hears what happens: what begins before that is not told."""
    with page.expect_response(lambda one: one.url.endswith("/stream")):
        page.goto(path)


def enter(context: Any, user: str) -> None:
    answer = context.request.post("/api/v1/dev/session", data={"user": user}, headers={"X-Penstock": "1"})
    assert answer.status == 204, answer.text()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    outcome: Any = yield
    if outcome.get_result().when == "call":
        item.stash[_FAILED] = outcome.get_result().failed


_FAILED = pytest.StashKey[bool]()


def _keep_pictures(request: pytest.FixtureRequest, context: Any, folder: Path) -> None:
    """Of every page of a story that failed, beside its temporary files."""
    if not request.node.stash.get(_FAILED, False):
        return
    for number, page in enumerate(context.pages):
        file = folder / f"page-{number}.png"
        page.screenshot(path=file)
        print(f"{page.url} looked like {file}")
