"""Servers that several tests share: each costs a second to start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.serving import Server, serving


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """`penstock dev` with the sample tenant, and nothing that runs by itself."""
    folder: Path = tmp_path_factory.mktemp("dev")
    with serving(folder, "dev", "--quiet") as server:
        yield server
