"""Relations of points and ranges (Allen's intervals), and `range("[1..5]")`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from penstock.feel.evaluation import Fault
from penstock.feel.functions.signature import Declared, declare, family
from penstock.feel.tokens import token_at, unquoted
from penstock.feel.values.compare import inside, order
from penstock.feel.values.kinds import kind_of
from penstock.feel.values.numbers import literal, negative
from penstock.feel.values.ranges import Range
from penstock.feel.values.temporal import read_temporal

_TEXT = re.compile(r"\s*(?P<open>[\[(\]])(?P<low>.*?)\.\.(?P<high>.*?)(?P<close>[\])\[])\s*\Z", re.DOTALL)
_NUMBER = re.compile(r"(-?)([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\Z")
_TEMPORAL = re.compile(r'(?:@|(?:date|time|date and time|duration)\s*\(\s*)("(?:[^"\\]|\\.)*")\s*\)?\Z')


class _Endless:
    """Where a range without bound ends: before or behind everything."""


_LEAST, _MOST = _Endless(), _Endless()


def _low(range: Range) -> Any:
    return _LEAST if range.low is None and range.high is not None else range.low


def _high(range: Range) -> Any:
    return _MOST if range.high is None and range.low is not None else range.high


def _ordered(left: Any, right: Any) -> int:
    if isinstance(left, _Endless) or isinstance(right, _Endless):
        if left is None or right is None:
            raise Fault("An end of the range is null")
        return 0 if left is right else -1 if left is _LEAST or right is _MOST else 1
    ordering = order(left, right)
    if ordering is None:
        raise Fault(f"A {kind_of(left)} and a {kind_of(right)} have no order")
    return ordering


def _ends(value: Any) -> Range:
    return value if type(value) is Range else Range(value, value)


def _before(first: Any, second: Any) -> bool:
    first, second = _ends(first), _ends(second)
    ordering = _ordered(_high(first), _low(second))
    return ordering < 0 or (ordering == 0 and not (first.high_closed and second.low_closed))


def _after(first: Any, second: Any) -> bool:
    return _before(second, first)


def _meets(first: Range, second: Range) -> bool:
    return first.high_closed and second.low_closed and _ordered(_high(first), _low(second)) == 0


def _starts_no_later(first: Range, second: Range) -> bool:
    ordering = _ordered(_low(first), _low(second))
    return ordering < 0 or (ordering == 0 and (first.low_closed or not second.low_closed))


def _ends_no_later(first: Range, second: Range) -> bool:
    ordering = _ordered(_high(first), _high(second))
    return ordering < 0 or (ordering == 0 and (second.high_closed or not first.high_closed))


def _overlaps(first: Range, second: Range) -> bool:
    return not _before(first, second) and not _before(second, first)


def _overlaps_before(first: Range, second: Range) -> bool:
    """It begins first, ends inside, and does not end last."""
    begins = _ordered(_low(first), _low(second))
    starts_first = begins < 0 or (begins == 0 and first.low_closed and not second.low_closed)
    ends = _ordered(_high(first), _high(second))
    ends_first = ends < 0 or (ends == 0 and (not first.high_closed or second.high_closed))
    touches = _ordered(_high(first), _low(second))
    meets = touches > 0 or (touches == 0 and first.high_closed and second.low_closed)
    return starts_first and ends_first and meets


def _overlaps_after(first: Range, second: Range) -> bool:
    """It begins inside, and ends last."""
    begins = _ordered(_low(second), _low(first))
    starts_last = begins < 0 or (begins == 0 and second.low_closed and not first.low_closed)
    ends = _ordered(_high(second), _high(first))
    ends_last = ends < 0 or (ends == 0 and (first.high_closed or not second.high_closed))
    touches = _ordered(_high(second), _low(first))
    meets = touches > 0 or (touches == 0 and first.low_closed and second.high_closed)
    return starts_last and ends_last and meets


def _finishes_point(point: Any, range: Range) -> bool:
    return range.high_closed and _ordered(_high(range), point) == 0


def _finishes(first: Range, second: Range) -> bool:
    same_end = first.high_closed == second.high_closed and _ordered(_high(first), _high(second)) == 0
    return same_end and _starts_no_later(second, first)


def _starts_point(point: Any, range: Range) -> bool:
    return range.low_closed and _ordered(_low(range), point) == 0


def _starts(first: Range, second: Range) -> bool:
    same_start = first.low_closed == second.low_closed and _ordered(_low(first), _low(second)) == 0
    return same_start and _ends_no_later(first, second)


def _includes(first: Range, second: Any) -> bool:
    if type(second) is not Range:
        held = inside(second, first)
        if held is None:
            raise Fault(f"A {kind_of(second)} cannot be compared with the ends of the range")
        return held
    return _starts_no_later(first, second) and _ends_no_later(second, first)


def _coincides(first: Any, second: Any) -> bool:
    one, other = _ends(first), _ends(second)
    same = _ordered(_low(one), _low(other)) == 0 and _ordered(_high(one), _high(other)) == 0
    return same and one.low_closed == other.low_closed and one.high_closed == other.high_closed


def _swapped(relation: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda first, second: relation(second, first)


_POINT = "number|string|date|time|date and time|days and time duration|years and months duration"


def _any_pair(name: str, relation: Callable[[Any, Any], bool]) -> tuple[Declared, ...]:
    """Of points and ranges in all four ways."""
    return (
        declare(f"{name}(point1: {_POINT}, point2: {_POINT})", relation),
        declare(f"{name}(point: {_POINT}, range: range)", relation),
        declare(f"{name}(range: range, point: {_POINT})", relation),
        declare(f"{name}(range1: range, range2: range)", relation),
    )


def _ranges(name: str, relation: Callable[[Any, Any], bool]) -> Declared:
    return declare(f"{name}(range1: range, range2: range)", relation)


# ---- range(text) -----------------------------------------------------------------------------------------------------


def _range(text: str) -> Range:
    match = _TEXT.match(text)
    if match is None:
        raise Fault("range: the text is no range")
    low, high = _endpoint(match["low"].strip()), _endpoint(match["high"].strip())
    if low is None and high is None:
        raise Fault("range: both ends are missing")
    if low is not None and high is not None and _ordered(low, high) > 0:
        raise Fault("range: it ends before it begins")
    low_closed, high_closed = match["open"] == "[", match["close"] == "]"
    if (low is None and low_closed) or (high is None and high_closed):
        raise Fault("range: an end without bound is open")
    return Range(low, high, low_closed, high_closed)


def _endpoint(text: str) -> Any:
    """Only literals are ends here: numbers, texts, dates, times, durations."""
    if text in ("", "null"):
        return None
    if number := _NUMBER.match(text):
        return negative(literal(number[2])) if number[1] else literal(number[2])
    if text.startswith('"') and token_at(text, 0).end == len(text):
        return unquoted(text, token_at(text, 0))
    match = _TEMPORAL.match(text)
    value = read_temporal(match[1][1:-1]) if match else None
    if value is None:
        raise Fault(f"range: «{text[:60]}» is no end of a range")
    return value


FUNCTIONS = family(
    "range",
    declare("range(from: string)", _range),
    *_any_pair("before", _before),
    *_any_pair("after", _after),
    _ranges("meets", _meets),
    _ranges("met by", _swapped(_meets)),
    _ranges("overlaps", _overlaps),
    _ranges("overlaps before", _overlaps_before),
    _ranges("overlaps after", _overlaps_after),
    declare(f"finishes(point: {_POINT}, range: range)", _finishes_point),
    _ranges("finishes", _finishes),
    declare(f"finished by(range: range, point: {_POINT})", _swapped(_finishes_point)),
    _ranges("finished by", _swapped(_finishes)),
    declare(f"includes(range: range, point: {_POINT})", _includes),
    _ranges("includes", _includes),
    declare(f"during(point: {_POINT}, range: range)", _swapped(_includes)),
    _ranges("during", _swapped(_includes)),
    declare(f"starts(point: {_POINT}, range: range)", _starts_point),
    _ranges("starts", _starts),
    declare(f"started by(range: range, point: {_POINT})", _swapped(_starts_point)),
    _ranges("started by", _swapped(_starts)),
    declare(f"coincides(point1: {_POINT}, point2: {_POINT})", _coincides),
    _ranges("coincides", _coincides),
)
