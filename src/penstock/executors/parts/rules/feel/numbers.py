"""The numbers of FEEL: decimals of 34 digits (IEEE 754 decimal128), so that 0.1 + 0.2 is 0.3.

Data brings integers and floats, which stay what they are until they are calculated with; a float stands for the decimal
that JSON has written. Results are decimals, and become plain numbers where they leave FEEL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import ROUND_HALF_EVEN, Context, Decimal, DivisionByZero, InvalidOperation, Overflow
from typing import Any

from penstock.executors.parts.rules.feel.refusal import NotSupported

_CONTEXT = Context(
    prec=34, rounding=ROUND_HALF_EVEN, Emin=-6143, Emax=6144, traps=[DivisionByZero, InvalidOperation, Overflow]
)
_EXACT = 10**33  # integers up to here are calculated as integers
_MOST = Decimal("1e300")  # beyond it a JSON number is no number any more
_LITERAL_DIGITS = 15  # so many digits survive in a float

Number = int | float | Decimal


def is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def decimal_of(value: Number) -> Decimal:
    """The decimal that is meant: of a float the shortest text that JSON writes for it."""
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def literal(text: str) -> Number:
    """A number as it is written: an integer or a float where these hold it, which compare fastest."""
    if text.isdecimal() and len(text) <= _LITERAL_DIGITS:
        return int(text)
    value = Decimal(text)
    if len(value.as_tuple().digits) <= _LITERAL_DIGITS and abs(value.adjusted()) < 300:
        return float(value)
    return value


def compare_numbers(left: Number, right: Number) -> int | None:
    if left != left or right != right:
        return None
    if type(left) is not type(right):
        left, right = decimal_of(left), decimal_of(right)
    return int(left > right) - int(left < right)


def calculate(symbol: str, left: Number, right: Number) -> Number | None:
    """The result, or null where FEEL has none (a division by zero, a root of a negative number)."""
    if type(left) is int and type(right) is int and symbol in _INTEGER:
        result = _INTEGER[symbol](left, right)
        if -_EXACT < result < _EXACT:
            return result
    if left != left or right != right:
        return None
    try:
        value = _DECIMAL[symbol](decimal_of(left), decimal_of(right))
    except Overflow:
        raise NotSupported(f"The result of «{symbol}» is larger than any number here") from None
    except (DivisionByZero, InvalidOperation):
        return None
    return held(value)


def held(value: Decimal) -> Decimal:
    if abs(value) >= _MOST:
        raise NotSupported("A number of more than 300 digits is not calculated with")
    return value


def total(values: Iterable[Number]) -> Number:
    result: Number = 0
    for value in values:
        calculated = calculate("+", result, value)
        assert calculated is not None, "a sum of numbers is a number"
        result = calculated
    return result


def rounded(value: Number, places: Number = 0) -> Number | None:
    """Half to even, as `decimal` in the standard."""
    scale = whole(places)
    if scale is None or abs(scale) > 300:
        return None
    try:
        return decimal_of(value).quantize(Decimal(1).scaleb(-scale), context=_CONTEXT)
    except InvalidOperation:
        return None


def whole(value: Any) -> int | None:
    """The number without its fraction; null for what is no number."""
    return int(value) if is_number(value) and value == value and abs(value) < _MOST else None


def integral(value: Any) -> int | None:
    """The number if it has no fraction."""
    number = whole(value)
    return number if number is not None and number == value else None


def plain_number(value: Decimal) -> int | float:
    held(value)
    return int(value) if value == value.to_integral_value() else float(value)


def number_text(value: Number) -> str:
    text = format(decimal_of(value), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


_INTEGER: dict[str, Callable[[int, int], int]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
}
_DECIMAL: dict[str, Callable[[Decimal, Decimal], Decimal]] = {
    "+": _CONTEXT.add,
    "-": _CONTEXT.subtract,
    "*": _CONTEXT.multiply,
    "/": _CONTEXT.divide,
    "**": lambda base, power: Decimal(1) if not power else _CONTEXT.power(base, power),
}
