"""The response body of one run: its summary and its detail in one object; and the exact id of a run to be changed."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from penstock.api import paging
from penstock.app.runs.detail import detail
from penstock.app.runs.queries import Queries
from penstock.errors import ItemNotFound, RunAmbiguous, RunNotFound


def exact_run_id(door: Queries, run: str) -> str:
    """The id of a run to be changed, by its id or its key: a prefix that is unique today is ambiguous tomorrow."""
    row = door.row(run)
    if run not in (row.id, row.key):
        raise RunNotFound(run=run)
    return row.id


def run_of_item(door: Queries, run: str, node: str) -> str:
    """The id of a run whose item is to be decided. Raises ItemNotFound."""
    try:
        return exact_run_id(door, run)
    except (RunNotFound, RunAmbiguous):
        raise ItemNotFound(item=f"{run}/{node}" if node else run) from None


def run_body(door: Queries, run: str, permissions: Collection[str] | None = None) -> dict[str, Any]:
    body: dict[str, Any] = msgspec.to_builtins(detail(door, run, permissions))
    summary, older = body.pop("run"), body["older"]
    return {**summary, **body, "older": paging.cursor_of(older) if older is not None else None}
