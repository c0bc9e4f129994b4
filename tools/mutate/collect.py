"""A plugin of pytest: which lines each test runs, in its own process, and how long it takes.

    pytest -p tools.mutate.collect --lines-into FILE …

What a test runs in another process (a server, the command line) is not seen.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import coverage
import pytest

from tools.mutate.tree import ROOMS

COLLECTED = pytest.StashKey["Collector"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--lines-into", metavar="FILE", help="write there which lines each test runs")


def pytest_configure(config: pytest.Config) -> None:
    into = config.getoption("--lines-into")
    if into:
        config.stash[COLLECTED] = Collector(Path(into), config.rootpath)


def pytest_unconfigure(config: pytest.Config) -> None:
    if COLLECTED in config.stash:
        config.stash[COLLECTED].write()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    collector = item.config.stash.get(COLLECTED, None)
    if collector is None:
        return (yield)
    collector.begin(item.nodeid)
    try:
        return (yield)
    finally:
        collector.end()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Iterator[None]:
    report: Any = yield
    if COLLECTED in item.config.stash and (report.when == "call" or not report.passed):
        item.config.stash[COLLECTED].outcome(item.nodeid, report.outcome)
    return report


class Collector:
    """coverage.py keeps the lines by the name of the test; this adds the times and writes both."""

    def __init__(self, into: Path, root: Path) -> None:
        self.into, self.root = into, root
        self.seconds: dict[str, float] = {}
        self.outcomes: dict[str, str] = {}
        self.current, self.began = "", 0.0
        folders = [str(root / "src" / "penstock" / room) for room in ROOMS]
        self.cover = coverage.Coverage(data_file=None, source=folders, config_file=False, messages=False)
        self.cover.start()

    def begin(self, test: str) -> None:
        self.current, self.began = test, time.perf_counter()
        self.cover.switch_context(test)

    def end(self) -> None:
        self.seconds[self.current] = round(time.perf_counter() - self.began, 4)
        self.cover.switch_context("")

    def outcome(self, test: str, outcome: str) -> None:
        if self.outcomes.get(test) in (None, "passed"):
            self.outcomes[test] = outcome

    def write(self) -> None:
        self.cover.stop()
        data = self.cover.get_data()
        tests = sorted(self.seconds)
        number = {test: i for i, test in enumerate(tests)}
        lines: dict[str, dict[str, list[int]]] = {}
        for file in sorted(data.measured_files()):
            known = data.contexts_by_lineno(file)
            where = Path(file).relative_to(self.root).as_posix()
            lines[where] = {
                str(line): sorted(number[test] for test in by if test in number) for line, by in sorted(known.items())
            }
        about = [[test, self.seconds[test], self.outcomes.get(test, "none")] for test in tests]
        self.into.parent.mkdir(parents=True, exist_ok=True)
        self.into.write_text(json.dumps({"tests": about, "lines": lines}), encoding="utf-8")
