"""Functions of numbers."""

from __future__ import annotations

from decimal import (
    ROUND_CEILING,
    ROUND_DOWN,
    ROUND_FLOOR,
    ROUND_HALF_DOWN,
    ROUND_HALF_EVEN,
    ROUND_HALF_UP,
    ROUND_UP,
    Decimal,
    InvalidOperation,
    Overflow,
)
from typing import Any

from penstock.feel.evaluation import Evaluation, Fault
from penstock.feel.functions.signature import Declared, declare, family
from penstock.feel.values.numbers import (
    CONTEXT,
    TOO_LARGE,
    Number,
    divide,
    multiply,
    negative,
    subtract,
    truncated,
    whole,
)
from penstock.feel.values.temporal import DaysTime, YearsMonths

_MOST_SCALE = 6176
_LEAST_SCALE = -6111
_SERIES = 25  # steps: exp and log take as long as so many rounds


def _rounded(value: Number, scale: Number, mode: str) -> Number:
    digits = truncated(scale)
    if not _LEAST_SCALE <= digits <= _MOST_SCALE:
        raise Fault(f"The scale lies outside {_LEAST_SCALE} to {_MOST_SCALE}")
    if type(value) is int and digits >= 0:
        return value
    exact = Decimal(value)
    if int(exact.as_tuple().exponent) >= -digits:  # it has no more digits than are wanted
        return value
    try:
        result = exact.quantize(Decimal(1).scaleb(-digits), rounding=mode, context=_WIDE)
        return CONTEXT.plus(result)
    except (InvalidOperation, Overflow):
        raise Fault(TOO_LARGE) from None


_WIDE = CONTEXT.copy()
_WIDE.prec = 6200


def _rounding(name: str, mode: str, *, needs_scale: bool) -> Declared:
    scale = "scale: number" if needs_scale else "scale?: number"
    return declare(f"{name}(n: number, {scale})", lambda value, scale=0: _rounded(value, scale or 0, mode))


def _abs(value: Any) -> Any:
    if isinstance(value, DaysTime | YearsMonths):
        return type(value)(abs(value[0]))
    return negative(value) if value < 0 else value


def _modulo(dividend: Number, divisor: Number) -> Number:
    """dividend - divisor * floor(dividend / divisor): it has the sign of the divisor."""
    if divisor == 0:
        raise Fault("modulo: the divisor is zero")
    if type(dividend) is int and type(divisor) is int:
        return dividend % divisor
    quotient = _rounded(divide(dividend, divisor), 0, ROUND_FLOOR)
    return subtract(dividend, multiply(divisor, quotient))


def _sqrt(value: Number) -> Number:
    if value < 0:
        raise Fault("sqrt: the number is negative")
    return CONTEXT.sqrt(Decimal(value))


def _log(evaluation: Evaluation, value: Number) -> Number:
    evaluation.spend(_SERIES)
    if value <= 0:
        raise Fault("log: the number is not positive")
    return CONTEXT.ln(Decimal(value))


def _exp(evaluation: Evaluation, value: Number) -> Number:
    evaluation.spend(_SERIES)
    try:
        return CONTEXT.exp(Decimal(value))
    except Overflow:
        raise Fault(TOO_LARGE) from None


def _even(value: Number) -> bool:
    exact = whole(value)
    return exact is not None and exact % 2 == 0


def _odd(value: Number) -> bool:
    exact = whole(value)
    return exact is not None and exact % 2 == 1


FUNCTIONS = family(
    "numeric",
    _rounding("decimal", ROUND_HALF_EVEN, needs_scale=True),
    _rounding("floor", ROUND_FLOOR, needs_scale=False),
    _rounding("ceiling", ROUND_CEILING, needs_scale=False),
    _rounding("round up", ROUND_UP, needs_scale=True),
    _rounding("round down", ROUND_DOWN, needs_scale=True),
    _rounding("round half up", ROUND_HALF_UP, needs_scale=True),
    _rounding("round half down", ROUND_HALF_DOWN, needs_scale=True),
    declare("abs(n: number|days and time duration|years and months duration)", _abs),
    declare("modulo(dividend: number, divisor: number)", _modulo),
    declare("sqrt(number: number)", _sqrt),
    declare("log(number: number)", _log, evaluates=True),
    declare("exp(number: number)", _exp, evaluates=True),
    declare("odd(number: number)", _odd),
    declare("even(number: number)", _even),
)
