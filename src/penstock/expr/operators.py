"""What the operators mean for every pair of values; `compile.py` has the short ways for the common pairs.

Every operator is `(view, left, right, where) -> value`; `where` is its own source text, for the sentence of an error.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from penstock.errors import ExprDivisionByZero, ExprTypeError
from penstock.expr.limits import View, bounded_integer, bounded_text, check_array_size, check_text_size, finite, spend
from penstock.expr.values import equal_in, named, text_in

Operator = Callable[[View, Any, Any, str], Any]


def truth(value: Any, where: str) -> bool:
    """The value as a condition: a boolean, or null, which counts as false."""
    if value is True:
        return True
    if value is False or value is None:
        return False
    raise ExprTypeError(why=f"a condition is a boolean, not {named(value)}, in «{where}»")


def negate(value: Any, where: str) -> Any:
    if not _is_number(value):
        raise ExprTypeError(why=f"'-' cannot negate {named(value)} in «{where}»")
    return -finite(value) if isinstance(value, float) else bounded_integer(-value)


_NUMBERS = frozenset({int, float})


def _is_number(value: Any) -> bool:
    return type(value) in _NUMBERS or (isinstance(value, (int, float)) and not isinstance(value, bool))


def _add(view: View, left: Any, right: Any, where: str) -> Any:
    if _is_number(left) and _is_number(right):
        return _number(operator.add, left, right)
    if isinstance(left, str) or isinstance(right, str):
        first, second = text_in(view, left), text_in(view, right)
        check_text_size(len(first) + len(second))
        return bounded_text(view, first + second)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        size = len(left) + len(right)
        check_array_size(size)
        spend(view, size)
        return [*left, *right]
    raise ExprTypeError(why=f"'+' cannot add {named(left)} and {named(right)} in «{where}»")


def _arithmetic(symbol: str, verb: str, apply: Callable[[Any, Any], Any]) -> Operator:
    def calculate(view: View, left: Any, right: Any, where: str) -> Any:
        if not (_is_number(left) and _is_number(right)):
            raise ExprTypeError(why=f"'{symbol}' cannot {verb} {named(left)} and {named(right)} in «{where}»")
        return _number(apply, left, right)

    return calculate


def _number(apply: Callable[[Any, Any], Any], left: Any, right: Any) -> int | float:
    try:
        result = apply(left, right)
    except ZeroDivisionError:
        raise ExprDivisionByZero from None
    except OverflowError:
        raise ExprTypeError(why="the result is not a finite number") from None
    return bounded_integer(result) if isinstance(result, int) else finite(result)


def _remainder(left: Any, right: Any) -> Any:
    """The remainder with the sign of the dividend."""
    if right == 0:
        raise ZeroDivisionError
    if isinstance(left, int) and isinstance(right, int):
        rest = abs(left) % abs(right)
        return rest if left >= 0 else -rest
    if math.isinf(left):
        raise OverflowError
    return math.fmod(left, right)


def _ordering(symbol: str, compare: Callable[[Any, Any], bool]) -> Operator:
    def order(view: View, left: Any, right: Any, where: str) -> bool:
        if left is None or right is None:
            return False
        if _is_number(left) and _is_number(right):
            return compare(left, right)
        if isinstance(left, str) and isinstance(right, str):
            return compare(left, right)
        raise ExprTypeError(why=f"'{symbol}' cannot compare {named(left)} with {named(right)} in «{where}»")

    return order


def _same(view: View, left: Any, right: Any, where: str) -> bool:
    return equal_in(view, left, right)


def _different(view: View, left: Any, right: Any, where: str) -> bool:
    return not equal_in(view, left, right)


COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

OPERATORS: dict[str, Operator] = {
    "==": _same,
    "!=": _different,
    "+": _add,
    "-": _arithmetic("-", "subtract", operator.sub),
    "*": _arithmetic("*", "multiply", operator.mul),
    "/": _arithmetic("/", "divide", operator.truediv),
    "%": _arithmetic("%", "divide", _remainder),
    **{symbol: _ordering(symbol, compare) for symbol, compare in COMPARE.items()},
}
