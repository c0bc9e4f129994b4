"""Numbers of FEEL: decimals of 34 digits that round half to even (IEEE 754 decimal128), so 0.1 + 0.2 is 0.3.

A whole number of at most 34 digits may be an int: it calculates faster, equals and hashes like the Decimal. Everything
else is a Decimal; a float becomes the decimal that it is written as.
"""

from __future__ import annotations

import math
from decimal import ROUND_HALF_EVEN, Context, Decimal, DivisionByZero, InvalidOperation, Overflow
from typing import Any

from penstock.feel.evaluation import Fault

Number = int | Decimal

CONTEXT = Context(
    prec=34, rounding=ROUND_HALF_EVEN, Emin=-6143, Emax=6144, traps=[DivisionByZero, InvalidOperation, Overflow]
)
_EDGE = 10**34
_POWER_BITS = 110
TOO_LARGE = "The result is too large for a number"


def is_number(value: Any) -> bool:
    kind = type(value)
    return kind is int or kind is Decimal


def bounded(value: int) -> Number:
    return value if -_EDGE < value < _EDGE else rounded_decimal(value)


def rounded_decimal(value: Any) -> Decimal:
    try:
        return CONTEXT.create_decimal(value)
    except (InvalidOperation, Overflow):
        raise Fault(TOO_LARGE) from None


def literal(text: str) -> Number:
    """A number that is written: `12`, `.5`, `1.5e3`."""
    if text.isdigit() and len(text) < 34:
        return int(text)
    return rounded_decimal(text)


def from_float(value: float) -> Number:
    """What JSON would write; Fault for what is no number."""
    if not math.isfinite(value):
        raise Fault("Infinity and NaN are no numbers of FEEL")
    return int(value) if value.is_integer() and abs(value) < 1e15 else rounded_decimal(repr(value))


def from_decimal(value: Decimal) -> Decimal:
    if not value.is_finite():
        raise Fault("Infinity and NaN are no numbers of FEEL")
    return rounded_decimal(value)


def add(left: Number, right: Number) -> Number:
    if type(left) is int and type(right) is int:
        return bounded(left + right)
    try:
        return CONTEXT.add(left, right)
    except Overflow:
        raise Fault(TOO_LARGE) from None


def subtract(left: Number, right: Number) -> Number:
    if type(left) is int and type(right) is int:
        return bounded(left - right)
    try:
        return CONTEXT.subtract(left, right)
    except Overflow:
        raise Fault(TOO_LARGE) from None


def multiply(left: Number, right: Number) -> Number:
    if type(left) is int and type(right) is int:
        return bounded(left * right)
    try:
        return CONTEXT.multiply(left, right)
    except Overflow:
        raise Fault(TOO_LARGE) from None


def divide(left: Number, right: Number) -> Number:
    if right == 0:
        raise Fault("Division by zero")
    if type(left) is int and type(right) is int:
        quotient, rest = divmod(left, right)
        if rest == 0:
            return bounded(quotient)
    try:
        return CONTEXT.divide(left, right)
    except Overflow:
        raise Fault(TOO_LARGE) from None


def power(base: Number, exponent: Number) -> Number:
    if type(base) is int and type(exponent) is int and exponent >= 0 and base.bit_length() * exponent <= _POWER_BITS:
        return base**exponent if exponent < _POWER_BITS or abs(base) > 1 else (base if exponent % 2 else abs(base))
    if base == 0 and exponent < 0:
        raise Fault("Zero has no negative power")
    try:
        return CONTEXT.power(Decimal(base), Decimal(exponent))
    except Overflow:
        raise Fault(TOO_LARGE) from None
    except (InvalidOperation, DivisionByZero):
        raise Fault("A negative number has no power that is not whole") from None


def negative(value: Number) -> Number:
    return -value if type(value) is int else CONTEXT.minus(value)


def whole(value: Any) -> int | None:
    """The integer that a number is; None where it is none, or larger than anything is counted."""
    if type(value) is int:
        return value
    if type(value) is Decimal and value == value.to_integral_value() and abs(value) < _EDGE:
        return int(value)
    return None


def truncated(value: Number) -> int:
    """A number as an index: what follows the point is left off."""
    if type(value) is int:
        return value
    exact = Decimal(value)
    return int(exact) if abs(exact) < _EDGE else (_EDGE if exact > 0 else -_EDGE)


def number_text(value: Number) -> str:
    """All digits, no exponent, no zeros at the end."""
    if type(value) is int:
        value = bounded(value)
        if type(value) is int:
            return str(value)
    text = format(value, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def json_number(value: Number) -> int | float:
    """The number as JSON readers take it: an int where it is whole, else a float."""
    if type(value) is int:
        return value
    exact = Decimal(value)
    return int(exact) if exact == exact.to_integral_value() and abs(exact) < _EDGE else float(exact)
