"""One run as it is sent: its line in a list and what only its page shows, in one object."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from penstock.app.detail import detail
from penstock.app.queries import Queries
from penstock.errors import RunNotFound


def whole_id(door: Queries, run: str) -> str:
    """Of a run that is to be changed: by its id or its key. A beginning that is enough today is another's tomorrow."""
    row = door.row(run)
    if run not in (row.id, row.key):
        raise RunNotFound(run=run)
    return row.id


def whole(door: Queries, run: str, permissions: Collection[str] | None = None) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(detail(door, run, permissions))
    line = told.pop("run")
    return {**line, **told}
