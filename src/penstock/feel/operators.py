"""Closures of operators: arithmetic, comparison, logic of three values. Comparing with a constant has short ways."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from penstock.feel import nodes as N
from penstock.feel.evaluation import Evaluation, Exceeded, Fault, Where
from penstock.feel.values import numbers, temporal_math
from penstock.feel.values.compare import equal, order
from penstock.feel.values.kinds import kind_of
from penstock.feel.values.temporal import DaysTime, YearsMonths
from penstock.feel.values.temporal_math import TEMPORAL

Names = Mapping[str, Any]
Value = Callable[[Names, Evaluation], Any]
_ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_ON_NUMBERS: dict[str, Callable[[Any, Any], Any]] = {
    "+": numbers.add, "-": numbers.subtract, "*": numbers.multiply, "/": numbers.divide, "**": numbers.power,
}  # fmt: skip
_ON_TEMPORAL: dict[str, Callable[[Any, Any], Any]] = {
    "+": temporal_math.add, "-": temporal_math.subtract, "*": temporal_math.scaled, "/": temporal_math.quotient,
}  # fmt: skip
_ROOT = 50  # steps: a power that is not whole takes as long as so many rounds


# ---- arithmetic ------------------------------------------------------------------------------------------------------


def arithmetic_closure(first: Value, rest: list[tuple[str, Value, Where]]) -> Value:
    if len(rest) == 1 and rest[0][0] != "**":
        return _single(first, *rest[0])

    def calculate(names: Names, evaluation: Evaluation) -> Any:
        value = first(names, evaluation)
        for symbol, operand, where in rest:
            value = calculated(symbol, value, operand(names, evaluation), where, evaluation)
        return value

    return calculate


def _single(first: Value, symbol: str, second: Value, where: Where) -> Value:
    on_numbers = _ON_NUMBERS[symbol]

    def calculate(names: Names, evaluation: Evaluation) -> Any:
        left, right = first(names, evaluation), second(names, evaluation)
        kind, other = type(left), type(right)
        if (kind is int or kind is Decimal) and (other is int or other is Decimal):
            try:
                return on_numbers(left, right)
            except Fault as fault:
                evaluation.warn(where, str(fault))
                return None
        return calculated(symbol, left, right, where, evaluation)

    return calculate


def calculated(symbol: str, left: Any, right: Any, where: Where, evaluation: Evaluation) -> Any:
    """The result; null where an operand is null or there is none, which is then a warning."""
    if left is None or right is None:
        return None
    try:
        result = _result(symbol, left, right, evaluation)
    except Fault as fault:
        evaluation.warn(where, str(fault))
        return None
    except Exceeded as exceeded:
        exceeded.where = exceeded.where or where
        raise
    if result is None:
        evaluation.warn(where, f"«{symbol}» has no result for a {kind_of(left)} and a {kind_of(right)}")
    return result


def _result(symbol: str, left: Any, right: Any, evaluation: Evaluation) -> Any:
    if numbers.is_number(left) and numbers.is_number(right):
        if symbol == "**" and numbers.whole(right) is None:
            evaluation.spend(_ROOT)
        return _ON_NUMBERS[symbol](left, right)
    if type(left) is str and type(right) is str and symbol == "+":
        length = len(left) + len(right)
        evaluation.check_text(length)
        evaluation.spend(length >> 8)
        return left + right
    if (type(left) in TEMPORAL or type(right) in TEMPORAL) and symbol in _ON_TEMPORAL:
        return _ON_TEMPORAL[symbol](left, right)
    return None


def negation_closure(operand: Value, where: Where) -> Value:
    def negate(names: Names, evaluation: Evaluation) -> Any:
        value = operand(names, evaluation)
        if numbers.is_number(value):
            return numbers.negative(value)
        if isinstance(value, DaysTime | YearsMonths):
            return type(value)(-value[0])
        if value is not None:
            evaluation.warn(where, f"A {kind_of(value)} has no negative")
        return None

    return negate


# ---- comparison ------------------------------------------------------------------------------------------------------


def comparison_closure(node: N.Comparison, left: Value, right: Value, where: Where) -> Value:
    symbol = node.operator
    constant = node.right.value if isinstance(node.right, N.Literal) else None
    if symbol in ("=", "!="):
        if type(constant) is str:
            return _equals_text(left, constant, symbol == "=", where)
        return _equals(left, right, symbol == "=", where)
    if type(constant) is int or type(constant) is Decimal:
        return _ordered_number(left, constant, symbol, where)
    return _ordered(left, right, symbol, where)


def _equals(left: Value, right: Value, wanted: bool, where: Where) -> Value:
    def equals(names: Names, evaluation: Evaluation) -> bool | None:
        first, second = left(names, evaluation), right(names, evaluation)
        truth = same(first, second, where, evaluation)
        return None if truth is None else truth is wanted

    return equals


def same(first: Any, second: Any, where: Where, evaluation: Evaluation) -> bool | None:
    kind = type(first)
    try:
        if kind is list or kind is dict:
            budget = evaluation.budget()
            truth = equal(first, second, budget)
            evaluation.settle(budget)
        else:
            truth = equal(first, second)
    except Exceeded as exceeded:
        exceeded.where = exceeded.where or where
        raise
    if truth is None:
        evaluation.warn(where, f"A {kind_of(first)} and a {kind_of(second)} cannot be compared")
    return truth


def _equals_text(left: Value, constant: str, wanted: bool, where: Where) -> Value:
    def equals(names: Names, evaluation: Evaluation) -> bool | None:
        value = left(names, evaluation)
        if type(value) is str:
            return (value == constant) is wanted
        truth = same(value, constant, where, evaluation)
        return None if truth is None else truth is wanted

    return equals


def _ordered(left: Value, right: Value, symbol: str, where: Where) -> Value:
    compare = _ORDER[symbol]

    def ordered(names: Names, evaluation: Evaluation) -> bool | None:
        first, second = left(names, evaluation), right(names, evaluation)
        kind = type(first)
        if kind is type(second) and (kind is int or kind is Decimal):
            return compare(first, second)  # type: ignore[no-any-return]
        return ordering(symbol, first, second, where, evaluation)

    return ordered


def _ordered_number(left: Value, constant: Any, symbol: str, where: Where) -> Value:
    compare = _ORDER[symbol]

    def ordered(names: Names, evaluation: Evaluation) -> bool | None:
        value = left(names, evaluation)
        kind = type(value)
        if kind is int or kind is Decimal:
            return compare(value, constant)  # type: ignore[no-any-return]
        return ordering(symbol, value, constant, where, evaluation)

    return ordered


def ordering(symbol: str, first: Any, second: Any, where: Where, evaluation: Evaluation) -> bool | None:
    """`first < second` and its like; null where the two have no order."""
    ordered = order(first, second)
    if ordered is None:
        if first is not None and second is not None:
            evaluation.warn(where, f"A {kind_of(first)} and a {kind_of(second)} have no order")
        return None
    return _ORDER[symbol](ordered, 0)  # type: ignore[no-any-return]


# ---- logic -----------------------------------------------------------------------------------------------------------


def logic_closure(operands: list[Value], decisive: bool, places: list[Where]) -> Value:
    """`and` (false decides) and `or` (true decides); what is no boolean counts as null, with a warning."""
    if len(operands) == 2:
        return _logic_of_two(operands[0], operands[1], decisive, places)
    return _logic(operands, decisive, places)


def _logic_of_two(first: Value, second: Value, decisive: bool, places: list[Where]) -> Value:
    neutral = not decisive

    def decide(names: Names, evaluation: Evaluation) -> Any:
        truth = first(names, evaluation)
        if truth is decisive:
            return decisive
        other = second(names, evaluation)
        if other is decisive:
            return decisive
        if truth is neutral and other is neutral:
            return neutral
        check_truth(truth, places[0], evaluation)
        check_truth(other, places[1], evaluation)
        return None

    return decide


def _logic(operands: list[Value], decisive: bool, places: list[Where]) -> Value:
    neutral = not decisive

    def decide(names: Names, evaluation: Evaluation) -> Any:
        unclear: list[tuple[Any, Where]] = []
        for operand, where in zip(operands, places, strict=True):
            truth = operand(names, evaluation)
            if truth is decisive:
                return decisive
            if truth is not neutral:
                unclear.append((truth, where))
        for truth, where in unclear:
            check_truth(truth, where, evaluation)
        return None if unclear else neutral

    return decide


def check_truth(truth: Any, where: Where, evaluation: Evaluation) -> None:
    """Warns of what is neither a boolean nor null, where a boolean is asked for."""
    if truth is not None and type(truth) is not bool:
        evaluation.warn(where, f"A {kind_of(truth)} is no boolean")
