"""Rows as objects that JSON can hold, and never more of them than allowed."""

from __future__ import annotations

import base64
import datetime
import decimal
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

MAX_ROWS = 10_000
MAX_BYTES = 10 * 1024 * 1024


class TooManyRows(ValueError):
    """More rows or bytes than the limit; the text says which."""


class Rows:
    """Collects rows, counting them and their bytes as JSON."""

    def __init__(self, names: Iterable[str], most: int = MAX_ROWS, most_bytes: int = MAX_BYTES) -> None:
        self.names = distinct(names)
        self.most, self.most_bytes = most, most_bytes
        self.items: list[Any] = []
        self.bytes = 0

    def add(self, row: Sequence[Any]) -> None:
        self.put({name: plain_cell(cell) for name, cell in zip(self.names, row, strict=True)})

    def put(self, row: Any) -> None:
        if len(self.items) >= self.most:
            raise TooManyRows(f"there are more than {self.most} rows; ask for fewer, such as with LIMIT")
        self.bytes += len(msgspec.json.encode(row))
        if self.bytes > self.most_bytes:
            raise TooManyRows(f"the rows have more than {self.most_bytes} bytes; ask for fewer columns or rows")
        self.items.append(row)


def distinct(names: Iterable[str]) -> list[str]:
    """Column names of which none hides another: the second `id` is `id_2`."""
    columns: dict[str, None] = {}
    for name in names:
        own, count = name, 1
        while own in columns:
            count += 1
            own = f"{name}_{count}"
        columns[own] = None
    return list(columns)


def plain_cell(value: Any) -> Any:
    """Dates are ISO texts, decimals numbers, bytes base64; what is not a number is null."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**64 else float(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, decimal.Decimal):
        return _number(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(bytes(value)).decode()
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return msgspec.to_builtins(value)
    if isinstance(value, Mapping):
        return {str(key): plain_cell(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_cell(item) for item in value]
    return str(value)


def _number(value: decimal.Decimal) -> int | float | None:
    if not value.is_finite():
        return None
    whole = value == value.to_integral_value() and -(2**63) <= value < 2**63
    if whole:
        return int(value)
    near = float(value)
    return near if math.isfinite(near) else None
