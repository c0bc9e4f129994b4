"""The fixture `base`: one test per kind of store that runs can be kept in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conformance.decision import stores


@pytest.fixture(params=stores.NAMES)
def base(request: pytest.FixtureRequest) -> Iterator[stores.Base]:
    yield from stores.base(request.param)
