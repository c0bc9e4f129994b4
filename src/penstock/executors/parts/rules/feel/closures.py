"""The closures that FEEL texts become: `value(names, it)`, where `it` is the value that a cell tests."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from penstock.executors.parts.rules.feel import values
from penstock.executors.parts.rules.feel.numbers import integral
from penstock.executors.parts.rules.feel.values import Range, equal

View = Mapping[str, Any]
Value = Callable[[View, Any], Any]
_NEAR = 10**15  # so far integers and floats compare as the decimals that they stand for
_ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


class Part(NamedTuple):
    """A compiled part: `verdict` says that its value already is the answer of a test and not what is compared with;
    `fixed`, that it is the same whatever the names stand for."""

    value: Value
    verdict: bool = False
    fixed: bool = False


def fixed(value: Any) -> Part:
    return Part(lambda view, it: value, fixed=True)


def name(name: str) -> Value:
    def read(view: View, it: Any) -> Any:
        try:
            return view[name]
        except KeyError:
            return None

    return read


def member(part: Part, key: str) -> Value:
    target = part.value
    return _nothing if written(part) else lambda view, it: values.member(target(view, it), key)


def index(target: Value, index: Value) -> Value:
    """FEEL counts from 1, and from the end with negative numbers."""

    def read(view: View, it: Any) -> Any:
        value, number = target(view, it), integral(index(view, it))
        if value is None or not number:
            return None
        if not isinstance(value, list | tuple):
            value = [value]  # FEEL: what is no list is a list of itself
        place = number - 1 if number > 0 else number
        return value[place] if -len(value) <= place < len(value) else None

    return read


def calculation(symbol: str, left: Part, right: Part) -> Value:
    calculate = values.arithmetic_typed if written(left) or written(right) else values.arithmetic
    first, second = left.value, right.value
    return lambda view, it: calculate(symbol, first(view, it), second(view, it))


def negation(part: Part) -> Value:
    value = part.value
    return _nothing if written(part) else lambda view, it: values.negative(value(view, it))


def _nothing(view: View, it: Any) -> None:
    return None


def written(part: Part) -> bool:
    """Whether it is a text that stands in the expression itself, and so no moment."""
    return part.fixed and isinstance(part.value({}, None), str)


def comparison(symbol: str, left: Part, right: Part) -> Value:
    typed = written(left) or written(right)
    first, second = left.value, right.value
    if symbol in ("=", "!="):
        same, wanted = values.equal_typed if typed else equal, symbol == "="

        def equals(view: View, it: Any) -> bool | None:
            truth = same(first(view, it), second(view, it))
            return None if truth is None else truth is wanted

        return equals
    order, compare = _ORDER[symbol], values.compare_typed if typed else values.compare

    def ordered(view: View, it: Any) -> bool | None:
        ordering = compare(first(view, it), second(view, it))
        return None if ordering is None else order(ordering, 0)

    return ordered


def bound(symbol: str, right: Part) -> Value:
    """`< 5` in a cell: most are numbers, and beside a number their order is asked at once."""
    general = comparison(symbol, Part(lambda view, it: it), right)
    limit = right.value({}, None) if right.fixed else None
    if symbol not in _ORDER or not _near(limit):
        return general
    order = _ORDER[symbol]

    def bound(view: View, it: Any) -> Any:
        kind = type(it)
        return order(it, limit) if kind is float or kind is int else general(view, it)

    return bound


def _near(limit: Any) -> bool:
    return (type(limit) is int or type(limit) is float) and -_NEAR < limit < _NEAR


def matches_fixed(wanted: Any) -> Value:
    """The cell's value is known: a text and a range of numbers, which most are, have short ways of their own."""
    if isinstance(wanted, str):
        return lambda view, it: type(it) is str and it == wanted
    if isinstance(wanted, Range) and _near(wanted.low) and _near(wanted.high):
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
        if isinstance(wanted, list) and equal(it, wanted) is not True:
            return any(
                each.holds(it) is True if isinstance(each, Range) else equal(it, each) is True for each in wanted
            )
        return equal(it, wanted) is True

    return test


def between(value: Part, low: Part, high: Part) -> Value:
    return three_valued([comparison(">=", value, low), comparison("<=", value, high)], False)


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
