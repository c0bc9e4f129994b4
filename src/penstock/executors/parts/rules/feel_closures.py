"""The closures that FEEL texts become: `value(names, it)`, where `it` is the value that a cell tests."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from penstock.executors.parts.rules.feel_values import arithmetic, compare, equal, is_number
from penstock.executors.parts.rules.feel_values import member as member_of

View = Mapping[str, Any]
Value = Callable[[View, Any], Any]
_ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


class Part(NamedTuple):
    """A compiled part: `verdict` says that its value already is the answer of a test and not what is compared with;
    `fixed`, that it is the same whatever the names stand for."""

    value: Value
    verdict: bool = False
    fixed: bool = False


class Range(NamedTuple):
    low: Any
    high: Any
    closed: tuple[bool, bool]

    def holds(self, value: Any) -> bool | None:
        low, high = compare(value, self.low), compare(value, self.high)
        if low is None or high is None:
            return None
        return (low > 0 or (low == 0 and self.closed[0])) and (high < 0 or (high == 0 and self.closed[1]))


def fixed(value: Any) -> Part:
    return Part(lambda view, it: value, fixed=True)


def name(name: str) -> Value:
    def read(view: View, it: Any) -> Any:
        try:
            return view[name]
        except KeyError:
            return None

    return read


def member(target: Value, key: str) -> Value:
    return lambda view, it: member_of(target(view, it), key)


def index(target: Value, index: Value) -> Value:
    """FEEL counts from 1, and from the end with negative numbers."""

    def read(view: View, it: Any) -> Any:
        value, number = target(view, it), index(view, it)
        if not isinstance(value, list | tuple) or not isinstance(number, int) or number == 0:
            return None
        place = number - 1 if number > 0 else number
        return value[place] if -len(value) <= place < len(value) else None

    return read


def calculation(symbol: str, left: Value, right: Value) -> Value:
    return lambda view, it: arithmetic(symbol, left(view, it), right(view, it))


def comparison(symbol: str, left: Value, right: Value) -> Value:
    if symbol in ("=", "!="):
        wanted = symbol == "="
        return lambda view, it: equal(left(view, it), right(view, it)) is wanted
    order = _ORDER[symbol]

    def ordered(view: View, it: Any) -> bool | None:
        ordering = compare(left(view, it), right(view, it))
        return None if ordering is None else order(ordering, 0)

    return ordered


def bound(symbol: str, right: Part) -> Value:
    """`< 5` in a cell: most are numbers, and beside a number their order is asked at once."""
    general = comparison(symbol, lambda view, it: it, right.value)
    limit = right.value({}, None) if right.fixed else None
    if symbol not in _ORDER or not is_number(limit):
        return general
    order = _ORDER[symbol]

    def bound(view: View, it: Any) -> Any:
        kind = type(it)
        return order(it, limit) if kind is float or kind is int else general(view, it)

    return bound


def matches_fixed(wanted: Any) -> Value:
    """The cell's value is known: a text and a range of numbers, which most are, have short ways of their own."""
    if isinstance(wanted, str):
        return lambda view, it: it == wanted if type(it) is str else equal(it, wanted)
    if isinstance(wanted, Range) and is_number(wanted.low) and is_number(wanted.high):
        low, high = wanted.low, wanted.high
        above = operator.ge if wanted.closed[0] else operator.gt
        below = operator.le if wanted.closed[1] else operator.lt

        def within(view: View, it: Any) -> Any:
            kind = type(it)
            return above(it, low) and below(it, high) if kind is float or kind is int else wanted.holds(it)

        return within
    return matches(lambda view, it: wanted)


def matches(value: Value) -> Value:
    """A value in a cell: equal to it, in it when it is a list, within it when it is a range."""

    def test(view: View, it: Any) -> Any:
        wanted = value(view, it)
        if isinstance(wanted, Range):
            return wanted.holds(it)
        if isinstance(wanted, list):
            return equal(it, wanted) or any(
                wanted_value.holds(it) is True if isinstance(wanted_value, Range) else equal(it, wanted_value)
                for wanted_value in wanted
            )
        return equal(it, wanted)

    return test


def three_valued(every: list[Value], decisive: bool) -> Value:
    def decide(view: View, it: Any) -> Any:
        answer: bool | None = not decisive
        for operand in every:
            truth = operand(view, it)
            if truth is decisive:
                return decisive
            if truth is not (not decisive):
                answer = None
        return answer

    return decide


def one_of(every: list[Value]) -> Value:
    return three_valued(every, True)


def denied(test: Value) -> Value:
    def deny(view: View, it: Any) -> Any:
        truth = test(view, it)
        return None if truth is None else not truth

    return deny
