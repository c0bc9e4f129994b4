"""One server per store for the tests of a file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.api.sites import STORES
from tests.conformance.process.http.world import World, world


@pytest.fixture(scope="module", params=STORES)
def office(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(request.param, tmp_path_factory.mktemp("office")) as one:
        yield one
