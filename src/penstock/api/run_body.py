"""One run as it is sent: its line in a list and what only its page shows, in one object."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from penstock.api import paging
from penstock.app.runs.detail import detail
from penstock.app.runs.queries import Queries
from penstock.errors import ItemNotFound, RunAmbiguous, RunNotFound


def whole_id(door: Queries, run: str) -> str:
    """Of a run that is to be changed: by its id or its key. A beginning that is enough today is another's tomorrow."""
    row = door.row(run)
    if run not in (row.id, row.key):
        raise RunNotFound(run=run)
    return row.id


def run_of_item(door: Queries, run: str, node: str) -> str:
    """The same of a run whose item is to be decided. Raises ItemNotFound."""
    try:
        return whole_id(door, run)
    except (RunNotFound, RunAmbiguous):
        raise ItemNotFound(item=f"{run}/{node}" if node else run) from None


def whole(door: Queries, run: str, permissions: Collection[str] | None = None) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(detail(door, run, permissions))
    line, older = told.pop("run"), told["older"]
    return {**line, **told, "older": paging.written(older) if older is not None else None}
