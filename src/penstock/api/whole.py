"""One run as it is sent: its line in a list and what only its page shows, in one object."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from penstock.app.detail import detail
from penstock.app.queries import Queries


def whole(door: Queries, run: str, permissions: Collection[str] | None = None) -> dict[str, Any]:
    told: dict[str, Any] = msgspec.to_builtins(detail(door, run, permissions))
    line = told.pop("run")
    return {**line, **told}
