"""One desk per store for the tests of a file, and the processes that the program is forked from."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.api.sites import STORES
from tests.cli.shell import Zygote
from tests.conformance.process.cli.desk import Desk, desk


@pytest.fixture(scope="session")
def zygotes() -> Iterator[list[Zygote]]:
    """Two, for what happens at the same instant."""
    made = [Zygote(), Zygote()]
    yield made
    for one in made:
        one.close()


@pytest.fixture(scope="module", params=STORES)
def office(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, zygotes: list[Zygote]
) -> Iterator[Desk]:
    with desk(request.param, tmp_path_factory.mktemp("desk"), zygotes[0]) as one:
        yield one
