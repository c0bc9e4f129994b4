"""The fixture `kit`: one test per store of the shelf, and the report of what each can do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.store_suite import STORES, Kit, report


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "needs(*capabilities): skipped for a store that does not declare them")


@pytest.fixture(params=list(STORES))
def kit(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kit]:
    one = STORES[request.param](tmp_path)
    for mark in request.node.iter_markers("needs"):
        missing = [c.name for c in mark.args if c not in one.capabilities]
        if missing:
            pytest.skip(f"{one.name} does not declare {', '.join(missing)}")
    yield one
    one.close()
    one.clean()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.section("stores", sep="-")
    for line in report():
        terminalreporter.write_line(line)
