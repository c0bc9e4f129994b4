"""What the operators mean, for every pair of kinds."""

from __future__ import annotations

import json
import math

import pytest

from penstock.errors import ExprDivisionByZero, ExprError, ExprTypeError
from penstock.expr import compile_expression, equal

from .reading import exact, value

KINDS = {
    "null": None,
    "boolean": True,
    "integer": 3,
    "float": 2.5,
    "string": "x",
    "array": [1],
    "object": {"k": 1},
}
NUMBERS = ("integer", "float")


def outcome(source: str, left: object, right: object) -> object:
    try:
        return value(source, l=left, r=right)
    except ExprTypeError:
        return "refused"


@pytest.mark.parametrize("one", KINDS)
@pytest.mark.parametrize("two", KINDS)
def test_arithmetic_needs_numbers(one: str, two: str) -> None:
    """C-07, W-5.1.8: - * / % take numbers only; null and booleans are errors, not zero."""
    for symbol in "-*/%":
        refused = outcome(f"l {symbol} r", KINDS[one], KINDS[two]) == "refused"
        assert refused is not (one in NUMBERS and two in NUMBERS), symbol


@pytest.mark.parametrize("one", KINDS)
@pytest.mark.parametrize("two", KINDS)
def test_plus(one: str, two: str) -> None:
    """C-07: + adds numbers, concatenates a string with anything, joins arrays; everything else is an error."""
    allowed = (one in NUMBERS and two in NUMBERS) or "string" in (one, two) or (one == two == "array")
    assert (outcome("l + r", KINDS[one], KINDS[two]) != "refused") is allowed


@pytest.mark.parametrize("one", KINDS)
@pytest.mark.parametrize("two", KINDS)
def test_ordering(one: str, two: str) -> None:
    """C-07: number with number, string with string; a null operand gives false; other mixes are errors."""
    for symbol in ("<", "<=", ">", ">="):
        got = outcome(f"l {symbol} r", KINDS[one], KINDS[two])
        if "null" in (one, two):
            assert got is False
        elif (one in NUMBERS and two in NUMBERS) or (one == two == "string"):
            assert isinstance(got, bool)
        else:
            assert got == "refused"


@pytest.mark.parametrize("kind", KINDS)
def test_logic_needs_booleans(kind: str) -> None:
    """C-07: && || ! and fn.if take booleans, null counts as false, anything else is an error."""
    for source in ("x && true", "true && x", "x || false", "false || x", "!x", "fn.if(x, 1, 2)", "x && true && true"):
        got = outcome(source.replace("x", "l"), KINDS[kind], None)
        if kind == "boolean":
            assert got in (True, False, 1)
        elif kind == "null":
            assert got is (source == "!x") or got == 2
        else:
            assert got == "refused"


def test_logic_stops_early() -> None:
    """C-07: the right side is not evaluated when the left side decides."""
    assert value("false && 1 / 0 == 1") is False
    assert value("true || 1 / 0 == 1") is True
    assert value("true && true && false && 1 / 0 == 1") is False
    assert value("false || false || true || 1 / 0 == 1") is True
    with pytest.raises(ExprDivisionByZero):
        value("true && 1 / 0 == 1")
    with pytest.raises(ExprTypeError, match="a condition is a boolean, not a string, in «s»"):
        value("true && s", s="yes")


EQUAL = [
    (1, 1, True),
    (1, 1.0, True),
    (0.1, 0.1, True),
    (1, "1", False),
    (1, True, False),
    (0, False, False),
    (1.0, True, False),
    ("a", "a", True),
    ("a", "A", False),
    (None, None, True),
    (None, False, False),
    (None, 0, False),
    (None, "", False),
    ("", [], False),
    (True, True, True),
    (True, False, False),
    ([1, [2]], [1.0, [2]], True),
    ([1], [True], False),
    ([1, 2], [2, 1], False),
    ([1], [1, 2], False),
    ([], {}, False),
    ({"a": 1, "b": [None]}, {"b": [None], "a": 1}, True),
    ({"a": 1}, {"a": True}, False),
    ({"a": None}, {}, False),
    ({"a": None}, {"b": None}, False),
    ({"a": {"b": "c"}}, {"a": {"b": "c"}}, True),
    (2**70, 2**70, True),
    (2**53 + 1, float(2**53), False),
]


@pytest.mark.parametrize(("one", "two", "same"), EQUAL)
def test_equality(one: object, two: object, same: bool) -> None:
    """C-07: == is strict by type, compares integers and floats by number, arrays and objects deeply."""
    for left, right in ((one, two), (two, one)):
        assert equal(left, right) is same
        assert value("l == r", l=left, r=right) is same
        assert value("l != r", l=left, r=right) is not same


CONSTANTS = [None, True, False, 0, 1, 2.5, "", "x", "1"]


@pytest.mark.parametrize("constant", CONSTANTS)
@pytest.mark.parametrize("other", [*CONSTANTS, [], {}, [1], 0.0, 1.0])
def test_equality_with_a_constant(constant: object, other: object) -> None:
    """C-07: the short way for a written constant gives what the long way gives."""
    text = f"'{constant}'" if isinstance(constant, str) else json.dumps(constant)
    assert value(f"x == {text}", x=other) is equal(other, constant)
    assert value(f"x != {text}", x=other) is not equal(other, constant)
    assert value(f"{text} == x", x=other) is equal(other, constant)


ARITHMETIC = [
    ("7 / 2", 3.5),
    ("6 / 3", 2.0),
    ("7 % 3", 1),
    ("-7 % 3", -1),
    ("7 % -3", 1),
    ("-7 % -3", -1),
    ("7.5 % 2", 1.5),
    ("-7.5 % 2", -1.5),
    ("0.5 + 0.25", 0.75),
    ("1 + 0.5", 1.5),
    ("2 * 3", 6),
    ("2 * 0.5", 1.0),
    ("9223372036854775806 + 1", 2**63 - 1),
    ("2305843009213693952 * 2", 2**62),
    ("'a' + 1", "a1"),
    ("1 + 'a'", "1a"),
    ("'a' + null", "a"),
    ("null + 'a'", "a"),
    ("'a' + true", "atrue"),
    ("'a' + 1.50", "a1.5"),
    ("'a' + [1, 'b', null]", 'a[1,"b",null]'),
    ("'a' + {\"k\": 1}", 'a{"k":1}'),
    ("[1] + [2, 3]", [1, 2, 3]),
    ("1 + 2 + 'a'", "3a"),
    ("'a' + 1 + 2", "a12"),
    ("'b' > 'a'", True),
    ("'a' >= 'a'", True),
    ("'B' < 'a'", True),
    ("1 < 1.5", True),
    ("2 <= 2.0", True),
]


@pytest.mark.parametrize(("source", "expected"), ARITHMETIC)
def test_results(source: str, expected: object) -> None:
    """C-07: true division, remainder with the dividend's sign, numbers, text and arrays under +, order of strings."""
    assert exact(value(source), expected)
    for symbol in "+-*/%<>":  # the same through variables, where nothing is known beforehand
        parts = source.split(f" {symbol} ")
        if len(parts) == 2 and not any(mark in source for mark in "[{&"):
            assert exact(value(f"l {symbol} r", l=value(parts[0]), r=value(parts[1])), expected)


@pytest.mark.parametrize("source", ["1 / 0", "1 % 0", "1.5 / 0", "1 / 0.0", "1.5 % 0.0", "0 / 0", "1 / (2 - 2)"])
def test_division_by_zero(source: str) -> None:
    """C-07: division by zero is an error of its own, category validation."""
    with pytest.raises(ExprDivisionByZero) as caught:
        value(source)
    assert (caught.value.code, caught.value.category) == ("EXPR_DIV_ZERO", "validation")


def test_arithmetic_on_null_names_the_place() -> None:
    """C-07: arithmetic on null is EXPR_TYPE, category validation, and the sentence shows the operation."""
    with pytest.raises(ExprTypeError) as caught:
        value("context.count + 1 > 3", context={})
    assert caught.value.code == "EXPR_TYPE"
    assert caught.value.category == "validation"
    assert caught.value.message == "'+' cannot add null and an integer in «context.count + 1»."


@pytest.mark.parametrize(
    "source", ["1e308 * 10", "-1e308 - 1e308", "big * 1.0", "big / 3", "-inf", "inf + 1", "big % 1.5", "inf % 2"]
)
def test_no_number_that_is_not_finite(source: str) -> None:
    """C-07: infinity and NaN never appear; where they would, the result is EXPR_TYPE."""
    with pytest.raises(ExprTypeError):
        value(source, big=10**400, inf=math.inf)


def test_unary_minus() -> None:
    """C-07: - negates numbers and nothing else."""
    assert value("-x", x=3) == -3
    assert value("-x", x=0.5) == -0.5
    wrong: object
    for wrong in (None, True, "3", [3], {}):
        with pytest.raises(ExprTypeError, match="cannot negate"):
            value("-x", x=wrong)


def test_a_host_object_is_not_data() -> None:
    """W-5.1.1: a value no document can hold is refused by every operator, with a clear sentence."""
    for source in ("x + 1", "x > 1", "'a' + x", "!x", "fn.type_of(x)", "fn.unique([x])", "fn.length(x)"):
        with pytest.raises(ExprError, match="not data"):
            value(source, x=object())
    assert compile_expression("x == 1")({"x": object()}) is False
    assert compile_expression("x == y")({"x": object(), "y": object()}) is False
