"""The result of an analysis before it has a format: rows, and which of their columns are what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec


class Remark(msgspec.Struct, frozen=True):
    """Something about a result that its reader should know: no rows, values that are no numbers."""

    code: str
    message: str
    at: str
    hint: str


class Frame(msgspec.Struct, kw_only=True):
    """Rows with an axis (`x`), columns that tell series apart (`groups`) and columns with numbers (`values`)."""

    x: str
    x_kind: str = "ordinal"  # time, ordinal or number
    groups: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    more: tuple[str, ...] = ()  # further columns of the table, and of a chart's points
    rows: list[dict[str, Any]] = []

    labels: Mapping[str, str] = {}  # of values: what people call them

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys([self.x, *self.groups, *self.values, *self.more]))
