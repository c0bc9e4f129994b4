"""The values of FEEL: how they compare and calculate, what members they have, and how they become plain data.

A text of somebody's data is read as a moment where it stands beside one: JSON has no dates. A text that is written in
the expression itself stays a text, as the standard has it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any

from penstock.executors.parts.rules.feel import temporal
from penstock.executors.parts.rules.feel.numbers import calculate, compare_numbers, is_number, plain_number
from penstock.executors.parts.rules.feel.refusal import NotSupported
from penstock.executors.parts.rules.feel.temporal import TEMPORAL, Months, read_data

MAX_TEXT = 1 << 20


@dataclass(frozen=True, slots=True)
class Range:
    low: Any
    high: Any
    closed: tuple[bool, bool]
    typed: bool = False  # its ends are texts that are written, and so no moments

    def holds(self, value: Any) -> bool | None:
        order = compare_typed if self.typed else compare
        low, high = order(value, self.low), order(value, self.high)
        if low is None or high is None:
            return None
        return (low > 0 or (low == 0 and self.closed[0])) and (high < 0 or (high == 0 and self.closed[1]))


def kind_of(value: Any) -> str:
    """The kind of a value, in the words of the standard."""
    if isinstance(value, TEMPORAL):
        return temporal.kind_of(value)
    for kind, name in _KINDS:
        if isinstance(value, kind):
            return name
    return "null" if value is None else type(value).__name__


_KINDS: tuple[tuple[Any, str], ...] = (
    (bool, "boolean"),
    (int | float | Decimal, "number"),
    (str, "string"),
    (list | tuple, "list"),
    (Mapping, "context"),
    (Range, "range"),
)


# ---- comparing -------------------------------------------------------------------------------------------------------


def compare(left: Any, right: Any) -> int | None:
    """-1, 0 or 1; null where the two have no order. A text of the data beside a moment is read as one."""
    kind, other = type(left), type(right)
    if kind is other and (kind is int or kind is str):
        return int(left > right) - int(left < right)
    if is_number(left) and is_number(right):
        return compare_numbers(left, right)
    if isinstance(left, str) and isinstance(right, TEMPORAL):
        text = read_data(left)
        return None if text is None else temporal.compare_temporal(*temporal.beside(text, right))
    if isinstance(left, TEMPORAL) and isinstance(right, str):
        ordering = compare(right, left)
        return None if ordering is None else -ordering
    return compare_typed(left, right)


def compare_typed(left: Any, right: Any) -> int | None:
    """The same where a text is a text."""
    if is_number(left) and is_number(right):
        return compare_numbers(left, right)
    if isinstance(left, str) and isinstance(right, str):
        return int(left > right) - int(left < right)
    if isinstance(left, TEMPORAL) and isinstance(right, TEMPORAL):
        return temporal.compare_temporal(left, right)
    return None


def equal(left: Any, right: Any) -> bool | None:
    """Null of two kinds that cannot be compared; what is null equals only null."""
    if left is None or right is None:
        return left is right
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right if isinstance(left, bool) and isinstance(right, bool) else None
    if isinstance(left, str) and isinstance(right, TEMPORAL) or isinstance(left, TEMPORAL) and isinstance(right, str):
        ordering = compare(left, right)
        return None if ordering is None else ordering == 0
    return equal_typed(left, right)


def equal_typed(left: Any, right: Any) -> bool | None:
    if left is None or right is None:
        return left is right
    if kind_of(left) != kind_of(right):
        return None
    if isinstance(left, TEMPORAL):
        return temporal.equal_temporal(left, right)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(equal(a, b) is True for a, b in zip(left, right, strict=True))
    if isinstance(left, Mapping):
        return left.keys() == right.keys() and all(equal(item, right[key]) is True for key, item in left.items())
    if isinstance(left, bool | Range):
        return bool(left == right)
    return compare_typed(left, right) == 0


# ---- members and arithmetic ------------------------------------------------------------------------------------------


def member(value: Any, key: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(key)
    if isinstance(value, list):  # FEEL: the member of every one
        return [member(item, key) for item in value]
    if isinstance(value, str):
        value = read_data(value)
    if isinstance(value, TEMPORAL):
        return temporal.property_of(value, key)
    if isinstance(value, Range):
        return {
            "start": value.low, "end": value.high, "start included": value.closed[0], "end included": value.closed[1]
        }.get(key)  # fmt: skip
    return None


def arithmetic(symbol: str, left: Any, right: Any) -> Any:
    """The result, or null where there is none: FEEL knows no errors of calculation."""
    if is_number(left) and is_number(right):
        return calculate(symbol, left, right)
    if isinstance(left, str) and isinstance(right, str) and symbol == "+":
        return left + right if len(left) + len(right) <= MAX_TEXT else _too_long()
    if isinstance(left, TEMPORAL) or isinstance(right, TEMPORAL):
        return temporal.arithmetic(symbol, _moment(left), _moment(right))
    if symbol in ("*", "/", "-") and (isinstance(left, str) or isinstance(right, str)):
        first, second = _moment(left), _moment(right)  # "PT2H" * 2, as data has a duration
        if isinstance(first, TEMPORAL) or isinstance(second, TEMPORAL):
            return temporal.arithmetic(symbol, first, second)
    return None


def arithmetic_typed(symbol: str, left: Any, right: Any) -> Any:
    """The same where a text is a text."""
    if isinstance(left, str) != isinstance(right, str) or (isinstance(left, str) and symbol != "+"):
        return None
    return arithmetic(symbol, left, right)


def negative(value: Any) -> Any:
    value = _moment(value)
    if isinstance(value, timedelta | Months):
        return temporal.negated(value)
    return calculate("-", 0, value) if is_number(value) else None


def _moment(value: Any) -> Any:
    moment = read_data(value) if isinstance(value, str) else None
    return value if moment is None else moment


def _too_long() -> Any:
    raise NotSupported(f"A text of more than {MAX_TEXT:,} characters is not made")


# ---- leaving FEEL ----------------------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """The value as JSON holds it: numbers are numbers, dates and durations are ISO texts."""
    if isinstance(value, Decimal):
        return plain_number(value)
    if isinstance(value, TEMPORAL):
        return temporal.text_of(value)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, Range):
        raise NotSupported("A range is no value that JSON can hold")
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
