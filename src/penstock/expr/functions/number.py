"""Number functions: abs, round, floor, ceil, sqrt, pow, random, random_int."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, cast

from penstock.errors import ExprDivisionByZero, ExprLimit, ExprTypeError
from penstock.expr.functions.contract import Function, family, integer_of, number_of
from penstock.expr.limits import MAX_INTEGER, View, bounded_integer, finite, host_value, too_large

_EXACT = Context(prec=700, rounding=ROUND_HALF_UP)  # more digits than a float can have on either side of the point
_MOST_DECIMALS = 300
_RANDOM_SPAN = 1 << 53  # a float in [0, 1) tells no more integers apart


def _abs(value: Any) -> int | float:
    number = abs(_finite("abs", value))
    return bounded_integer(number) if isinstance(number, int) else number


def _round(value: Any, decimals: Any = 0) -> int | float:
    """Half away from zero, on the digits that a person sees: 2.675 to two decimals is 2.68."""
    number, places = number_of("round", value), integer_of("round", decimals)
    if abs(places) > _MOST_DECIMALS:
        raise ExprTypeError(why=f"fn.round takes -{_MOST_DECIMALS} to {_MOST_DECIMALS} decimals")
    if isinstance(number, int):
        if places >= 0:
            return number
        unit: int = 10**-places
        size = (abs(number) + unit // 2) // unit * unit
        return bounded_integer(size if number >= 0 else -size)
    exact = Decimal(repr(finite(number))).quantize(Decimal((0, (1,), -places)), context=_EXACT)
    return finite(float(exact)) if places > 0 else bounded_integer(int(exact))


def _floor(value: Any) -> int:
    return bounded_integer(math.floor(_finite("floor", value)))


def _ceil(value: Any) -> int:
    return bounded_integer(math.ceil(_finite("ceil", value)))


def _finite(function: str, value: Any) -> int | float:
    number = number_of(function, value)
    return number if isinstance(number, int) else finite(number)


def _sqrt(value: Any) -> float:
    number = number_of("sqrt", value)
    if number < 0:
        raise ExprTypeError(why="fn.sqrt of a negative number has no result")
    try:
        return finite(math.sqrt(number))
    except OverflowError:
        raise ExprTypeError(why="fn.sqrt: the number is too large") from None


def _pow(base: Any, exponent: Any) -> int | float:
    base, exponent = number_of("pow", base), number_of("pow", exponent)
    if isinstance(base, int) and isinstance(exponent, int) and exponent >= 0:
        return _pow_integer(base, exponent)
    if base == 0 and exponent < 0:
        raise ExprDivisionByZero
    try:
        return finite(math.pow(base, exponent))
    except (OverflowError, ValueError):
        raise ExprTypeError(why="fn.pow: the result is not a finite number") from None


def _pow_integer(base: int, exponent: int) -> int:
    if abs(base) <= 1:  # any exponent is cheap, and none makes it grow
        return base if exponent % 2 else base * base if exponent else 1
    if (base.bit_length() - 1) * exponent > MAX_INTEGER.bit_length():  # before the work
        raise too_large()
    return bounded_integer(cast(int, base**exponent))


def _random(view: View) -> float:
    return _source(view, "random")()


def _random_int(view: View, low: Any, high: Any) -> int:
    first, last = integer_of("random_int", low), integer_of("random_int", high)
    span = last - first + 1
    if span < 1:
        raise ExprTypeError(why="fn.random_int: min is greater than max")
    if span > _RANDOM_SPAN:
        raise ExprLimit(why="fn.random_int over more than 2^53 integers")
    return bounded_integer(first + int(_source(view, "random_int")() * span))


def _source(view: View, function: str) -> Callable[[], float]:
    try:
        return cast(Callable[[], float], host_value(view, "$random"))
    except KeyError:
        raise ExprTypeError(why=f"fn.{function}: randomness is not available here") from None


NUMBER = family(
    "number",
    Function("abs", "(number) -> number", "The number without its sign.", _abs),
    Function(
        "round",
        "(number, decimals?) -> number",
        "Rounded, half away from zero; without decimals the result is an integer.",
        _round,
    ),
    Function("floor", "(number) -> integer", "The next integer below.", _floor),
    Function("ceil", "(number) -> integer", "The next integer above.", _ceil),
    Function("sqrt", "(number) -> number", "The square root; an error for a negative number.", _sqrt),
    Function("pow", "(base, exponent) -> number", "The base to the power of the exponent.", _pow),
    Function("random", "() -> number", "A number from 0 to below 1, from the run's own seed.", _random, sees_view=True),
    Function(
        "random_int",
        "(min, max) -> integer",
        "An integer from min to max, both included, from the run's own seed.",
        _random_int,
        sees_view=True,
    ),
)
