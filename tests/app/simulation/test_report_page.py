"""Reports as pages: one file each, in two languages, and nothing of a document becomes markup."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

from penstock.app.releases.documents import compile_source
from penstock.app.simulation.pages.report_words import duration_text, words_of
from penstock.app.simulation.replay import ReplayReport, RunDifference
from penstock.app.simulation.report import SimulationReport, simulate
from penstock.app.simulation.subject import of_net
from penstock.net.compiled import Compiled
from tests.conformance.decision.make import act, approval, document

BAD = "<script>alert('x')</script>"


def report() -> SimulationReport:
    body = document([approval("ask", BAD), act("tell", message=BAD, name=BAD)], ("ask>tell",), name=BAD)
    net = Compiled(compile_source(json.dumps(body).encode(), name="test")[0].net)
    return simulate(of_net(net, None), runs=60, due_ms=3_600_000)


class _Tags(HTMLParser):
    """What a browser would make of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.fetched: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.fetched += [value or "" for name, value in attrs if name in ("src", "href", "action", "data")]
        if tag not in ("meta", "rect", "line"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag != "rect":
            assert self.open.pop() == tag


@pytest.mark.parametrize("locale", ["en", "ko"])
def test_nothing_of_a_document_becomes_markup(locale: str) -> None:
    page = report().as_html(locale)
    tags = _Tags()
    tags.feed(page)
    assert tags.open == [] and "script" not in tags.seen and tags.fetched == []
    assert {"svg", "table", "title"} <= tags.seen and "&lt;script&gt;" in page
    assert not re.search(r"\{\w+\}", page.partition("</style>")[2])  # every word has its values


def test_both_languages_have_the_same_words() -> None:
    english, korean = words_of("en-GB"), words_of("ko-KR")
    assert english.keys() == korean.keys()
    for name, text in english.items():
        assert set(re.findall(r"\{(\w+)\}", text)) == set(re.findall(r"\{(\w+)\}", korean[name])), name


def test_the_page_says_what_the_numbers_say() -> None:
    made = report()
    assert made.monte_carlo is not None and made.monte_carlo.due is not None
    page = made.as_html("en")
    assert f"{made.monte_carlo.due.odds:.1%} of all runs are completed within 1 h" in page
    assert "Nothing was sent, written, deployed or started" in page and "Refused: to send 1" in page


def test_a_replay_as_a_page() -> None:
    changed = RunDifference(
        run="r1", path_removed=["warn"], path_added=[BAD], status={"was": "COMPLETED", "now": "FAILED"},
        result_changed=["warn"], was_ms=1, now_ms=2,
    )  # fmt: skip
    made = ReplayReport(name="wf", version=2, against=1, runs=3, same=2, different=1, differences=[changed])
    page = made.as_html("en")
    assert "2 of 3 real runs would have gone the same way" in page and "COMPLETED → FAILED" in page
    assert "<script" not in page
    assert "3건 중 2건" in made.as_html("ko")


@pytest.mark.parametrize(("ms", "text"), [(90_000, "1.5 분"), (172_800_000, "2 일"), (12, "12 ms")])
def test_durations_in_korean(ms: int, text: str) -> None:
    assert duration_text(ms, "ko") == text
