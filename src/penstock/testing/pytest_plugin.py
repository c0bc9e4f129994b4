"""The pytest plugin: the fixtures `penstock_test` and `async_penstock_test`, and --penstock-update for snapshots."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # imported when a test asks for it: other test suites have the plugin, too
    from penstock.testing.blocking import BlockingVirtualPenstock
    from penstock.testing.virtual_penstock import VirtualPenstock

_UPDATE = "--penstock-update"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("penstock").addoption(_UPDATE, action="store_true", help="write the snapshots of timelines anew")


@pytest.fixture
def penstock_test(request: pytest.FixtureRequest) -> Iterator[BlockingVirtualPenstock]:
    """An engine in virtual time on a store of its own; documents lie beside the test."""
    from penstock.testing.blocking import BlockingVirtualPenstock

    with BlockingVirtualPenstock(folder=request.path.parent) as penstock:
        name = re.sub(r"[^\w.-]+", "_", request.node.name)
        penstock.snapshot_file = request.path.parent / "__snapshots__" / request.path.stem / f"{name}.txt"
        penstock.update_snapshots = bool(request.config.getoption(_UPDATE))
        yield penstock


@pytest.fixture
def async_penstock_test(request: pytest.FixtureRequest) -> VirtualPenstock:
    """The same for a coroutine: `async with async_penstock_test as penstock: …`, under whichever plugin runs it."""
    from penstock.testing.virtual_penstock import VirtualPenstock

    return VirtualPenstock(folder=request.path.parent)
