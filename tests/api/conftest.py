"""Servers that several tests share: each costs a second to start."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.served import on_both
from tests.api.serving import Server, serving
from tests.api.sites import STORES, Site, database, site


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """`penstock dev` with the sample tenant, and nothing that runs by itself."""
    folder: Path = tmp_path_factory.mktemp("dev")
    with serving(folder, "dev", "--quiet") as server:
        yield server


@pytest.fixture(scope="module", params=STORES)
def either(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The same on either store."""
    folder: Path = tmp_path_factory.mktemp("either")
    with (
        database() if request.param == "postgresql" else contextlib.nullcontext(None) as store,
        serving(folder, "dev", "--quiet", store=store) as server,
    ):
        yield server


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Site]]:
    """`penstock dev` on every store at the same time, for what must leave the same journals on all of them."""
    with on_both(tmp_path_factory.mktemp("sites"), site) as found:
        yield found
