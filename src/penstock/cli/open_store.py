"""Opening a store for reading only."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import StoreMissing

if TYPE_CHECKING:
    from penstock.app.runs.queries import StoreReader


@contextlib.contextmanager
def reading(store: Path) -> Iterator[StoreReader]:
    """Takes no lock, and makes no store where there is none."""
    require_store(store)
    from penstock.app.runs.queries import StoreReader
    from penstock.cli.options import SelectedTenant
    from penstock.cli.settings import read_settings

    door = StoreReader(store, SelectedTenant.tenant)
    door.store.audit_keys.use(read_settings(store).get("audit.key_file"))
    try:
        yield door
    finally:
        door.close()


def require_store(store: Path) -> None:
    if not store.exists():
        raise StoreMissing(path=store)
