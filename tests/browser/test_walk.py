"""A walk over every address of the console, in both tongues and both themes."""

from __future__ import annotations

import gzip
import re
from typing import Any

import pytest

from tests.api.serving import ROOT, Server
from tests.browser.conftest import CONSOLE, PHONE, Open, Watch
from tests.browser.drafts import brought, invoice, purchase
from tests.browser.manuals import FAULTS, kept_manual
from tests.browser.processes import STORY, drafted, mined, received, undone
from tests.browser.runs import ALARM, DEVIATION, MANAGER, begin, failed, finished, waiting
from tests.browser.walking import AXE, EYE, walk

pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.xdist_group("browser")

PARTS = 4  # a walk over all of it takes minutes where others are at work
APP = ROOT / "console/src/shell/App.tsx"
#: where languages say which rooms they bring
LANGUAGES = ROOT / "console/src"

_ROOM = re.compile(r'path: "([\w-]+)", text:')


@pytest.fixture(scope="module")
def routes(server: Server) -> list[str]:
    """Every view, with runs behind it that have something to show."""
    held, done, bad = waiting(server), finished(server), failed(server)
    event = begin(server, DEVIATION, {"line_id": "L01"}, "WAITING")
    todo, draft, gone = received(server), drafted(server), undone(server)
    files = purchase("walk", lanes=True), invoice("bill_walk")
    drawn, bill = (brought(server, text)["definitions"][0]["id"] for text in files)
    manual = kept_manual(server, FAULTS.format("walk"), "faults_walk")
    return [
        "/", "/?scope=site", "/ops", "/ops/dead-letters", "/ops/deployments", "/pipelines", "/pipelines/usage",
        "/ops/rules", "/ops/rules?tab=feel", "/ops/rules/quality_rules_v2",
        "/plans", "/mining", f"/mining/{STORY}", "/mining/claim_handling?mode=count",
        "/inbox", "/inbox?tab=team&kind=approval", f"/inbox/{held}/request_approval",
        "/runs", "/runs?letter=true&node_failed=2026-01-01T00:00:00Z&failed_node=a",
        "/runs?state=FAILED&code=FILE_NOT_FOUND", "/runs?q=there-is-no-such-run", f"/runs/{held}",
        f"/runs/{held}?view=list&tab=facts", f"/runs/{event}", f"/runs/{bad}", f"/runs/{done}?at=9&tab=data",
        f"/runs/{done}?mode=time&node=", f"/runs/{done}?mode=counts&tab=facts&scale=true", "/nowhere", "/proposals",
        "/runs?last=h24&sort=-priority&var=judgment_result.decision%3Dcritical", "/runs/%E0%A4%A", "/inbox/%/x",
        "/definitions", "/definitions?q=there-is-no-such-one", "/definitions?new=", "/definitions?new=&tab=plain",
        f"/definitions?new={STORY}&tab=diff", f"/definitions/{STORY}", f"/definitions/{STORY}/versions/1?tab=history",
        f"/definitions/{STORY}?tab=diff&view=net", f"/definitions/{ALARM}?node=request_approval", f"/runs/{draft}",
        f"/runs/{draft}?view=net&tab=work", f"/runs/{draft}?view=list", f"/runs/{gone}", f"/runs/{gone}?mode=time",
        f"/runs/{gone}?at=20", f"/inbox/{todo}/receive", f"/inbox/{draft}/classify",
        f"/definitions/{STORY}?node=classify", f"/definitions/{STORY}?tab=source&view=list&node=has_issue_gw",
        f"/definitions/{drawn}/v/1", f"/definitions/{drawn}/v/1?todo=4&show=open",
        f"/definitions/{drawn}/v/1?view=list&node=ship", f"/definitions/{drawn}/v/1?look=after",
        f"/definitions/{bill}/v/1?node=pay", f"/definitions/{bill}/v/1?view=net", f"/definitions/{STORY}/v/1",
        "/manuals", "/manuals/new", manual, f"{manual}?node=activities.a1", f"{manual}?view=list&sentence=s6",
        f"{manual}?view=tables", f"/definitions/{mined(server, 'walked')}", f"/runs/{gone}?node=register&tab=work",
    ]  # fmt: skip


def test_the_walk_leaves_no_room_out(routes: list[str]) -> None:
    """Every room that the router knows is walked."""
    rooms = set(re.findall(r'room === "([\w-]+)"', APP.read_text(encoding="utf-8")))
    assert rooms, "the router has moved: say here where it is"
    own = {path for file in LANGUAGES.glob("*/index.ts") for path in _ROOM.findall(file.read_text(encoding="utf-8"))}
    assert own, "languages say otherwise which rooms they bring: say here how"
    rooms |= own
    assert rooms - {re.split(r"[/?]", route)[1] for route in routes} == set()


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize(("tongue", "theme"), [("ko", "light"), ("en", "dark")])
def test_every_view_speaks_and_can_be_used_by_all(
    tongue: str, theme: str, part: int, routes: list[str], window: Open, watch: Watch
) -> None:
    """No missing word, no empty panel, no console error, no answer >= 400, nothing serious from axe; each view
    is looked at in both themes, and every other one first in the other."""
    page = window(MANAGER, tongue=tongue, theme=theme)

    def look() -> list[str]:
        spoken = page.locator("html").get_attribute("lang")
        return [*watch.taken(), *([] if spoken == tongue else [f"it speaks {spoken}"])]

    walk(page, routes[part::PARTS], look, cold=tongue == "ko")


@pytest.mark.parametrize("part", range(PARTS))
def test_a_phone_shows_every_view_in_one_column(part: int, routes: list[str], window: Open, watch: Watch) -> None:
    """The same walk at 390 px; nothing is wider than the screen."""
    page = window(MANAGER, phone=True)

    def look() -> list[str]:
        wide = page.evaluate("document.documentElement.scrollWidth")
        return [*watch.taken(), *([f"{wide} px wide"] if wide > PHONE["width"] else [])]

    walk(page, routes[part::PARTS], look, cold=False, other_theme=False)


def test_the_first_view_is_measured(window: Open, capsys: pytest.CaptureFixture[str]) -> None:
    """Printed, not asserted: a shared machine is slow at random moments. The aims are 1.5 s and 180 KB."""
    page = window(MANAGER)
    page.goto("/", wait_until="commit")
    page.locator("h1").wait_for()
    took = page.evaluate("performance.now()")
    index = (CONSOLE / "index.html").read_text(encoding="utf-8")
    first = re.findall(r"(?:src|href)=\"/(assets/[^\"]+\.js)\"", index)
    later = [file for file in CONSOLE.glob("assets/*.js") if f"assets/{file.name}" not in first]
    with capsys.disabled():
        print(f"\n  first view (cold): {took:.0f} ms; first JavaScript: {sum(map(_packed, first)) / 1024:.0f} KB gz")
        for file in sorted(later, key=lambda one: -one.stat().st_size):
            print(f"  later: {file.name.rsplit('-', 1)[0]}: {_packed(f'assets/{file.name}') / 1024:.0f} KB gz")


def _packed(name: Any) -> int:
    return len(gzip.compress((CONSOLE / name).read_bytes(), 9))


def test_the_eye_is_not_blind(window: Open) -> None:
    """What the walk looks for is found when it is there."""
    page = window(MANAGER)
    page.add_init_script(path=EYE)
    page.goto("/nowhere")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    page.wait_for_function("() => eye.settled()")
    bad = "<p>undefined</p><b>nav.home</b><section></section><button></button><p style='color:#ddd'>pale</p>"
    page.evaluate("(bad) => document.querySelector('main').insertAdjacentHTML('beforeend', bad)", bad)
    assert page.evaluate("eye.words()") == ["undefined", "nav.home"]
    assert page.evaluate("eye.empty()") == ["section."]
    assert [one.split(":")[0] for one in page.evaluate("eye.axe()")] == ["button-name", "color-contrast"]
