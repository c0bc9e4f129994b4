"""Closures of the operators, with the most frequent operand types tested first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.expr.functions.contract import Closure
from penstock.expr.limits import MAX_INTEGER, View
from penstock.expr.operators import COMPARE, OPERATORS, Operator, negate, truth


def equals_constant(symbol: str, left: Closure, constant: Any) -> Closure:
    """`x == 'text'`, `x == 5`, `x == null`: the constant's kind says what can be equal to it at all."""
    wanted = symbol == "=="
    if constant is None or isinstance(constant, bool):
        return lambda view: (left(view) is constant) is wanted
    if isinstance(constant, str):
        return (lambda view: left(view) == constant) if wanted else (lambda view: left(view) != constant)

    def same_number(view: View) -> bool:
        value = left(view)
        return (value == constant and value is not True and value is not False) is wanted

    return same_number


def order_constant(symbol: str, left: Closure, constant: float, where: str) -> Closure:
    compare, otherwise = COMPARE[symbol], OPERATORS[symbol]

    def order(view: View) -> Any:
        value = left(view)
        kind = type(value)
        if kind is float or kind is int:
            return compare(value, constant)
        return otherwise(view, value, constant, where)

    return order


def _order(symbol: str, left: Closure, right: Closure, where: str) -> Closure:
    compare, otherwise = COMPARE[symbol], OPERATORS[symbol]

    def order(view: View) -> Any:
        a, b = left(view), right(view)
        kind, other = type(a), type(b)
        if (kind is float or kind is int) and (other is float or other is int):
            return compare(a, b)
        return otherwise(view, a, b, where)

    return order


def _equals(symbol: str, left: Closure, right: Closure, where: str) -> Closure:
    wanted, otherwise = symbol == "==", OPERATORS[symbol]

    def same(view: View) -> Any:
        a, b = left(view), right(view)
        if type(a) is str and type(b) is str:
            return (a == b) is wanted
        return otherwise(view, a, b, where)

    return same


def _plus(symbol: str, left: Closure, right: Closure, where: str) -> Closure:
    otherwise = OPERATORS[symbol]

    def plus(view: View) -> Any:
        a, b = left(view), right(view)
        if type(a) is int and type(b) is int:
            total = a + b
            if -MAX_INTEGER <= total <= MAX_INTEGER:
                return total
        return otherwise(view, a, b, where)

    return plus


def _binary(symbol: str, left: Closure, right: Closure, where: str) -> Closure:
    apply = OPERATORS[symbol]
    return lambda view: apply(view, left(view), right(view), where)


_BINARY: dict[str, Callable[[str, Closure, Closure, str], Closure]] = {
    "==": _equals,
    "!=": _equals,
    "+": _plus,
    **dict.fromkeys(COMPARE, _order),
}


def binary(symbol: str, left: Closure, right: Closure, where: str) -> Closure:
    """The closure of one operator between two operands."""
    return _BINARY.get(symbol, _binary)(symbol, left, right, where)


def fold_chain(operands: list[Closure], operators: list[Operator], where: str) -> Closure:
    first = operands[0]
    rest = list(zip(operators, operands[1:], strict=True))

    def fold(view: View) -> Any:
        value = first(view)
        for apply, operand in rest:
            value = apply(view, value, operand(view), where)
        return value

    return fold


def condition(operand: Closure, where: str) -> Closure:
    return lambda view: truth(operand(view), where)


def all_of(operands: list[Closure]) -> Closure:
    if len(operands) == 2:
        left, right = operands
        return lambda view: left(view) and right(view)

    def every_one(view: View) -> bool:
        for operand in operands:  # noqa: SIM110  a generator would cost a call per operand
            if not operand(view):
                return False
        return True

    return every_one


def any_of(operands: list[Closure]) -> Closure:
    if len(operands) == 2:
        left, right = operands
        return lambda view: left(view) or right(view)

    def some(view: View) -> bool:
        for operand in operands:  # noqa: SIM110  a generator would cost a call per operand
            if operand(view):
                return True
        return False

    return some


def negation(operand: Closure, where: str) -> Closure:
    return lambda view: not truth(operand(view), where)


def minus(operand: Closure, where: str) -> Closure:
    return lambda view: negate(operand(view), where)
