"""Unary tests: DMN 1.5, 7.3.3 and 10.3.2.8."""

from __future__ import annotations

from decimal import Decimal

import pytest

from penstock import feel


@pytest.mark.parametrize(
    ("text", "value", "context", "expected"),
    [
        ("-", 5, {}, True), ("", None, {}, True), ("5", 5, {}, True), ("5", 6, {}, False), ("5", 5.0, {}, True),
        ("< 5", 4, {}, True), ("<= 5", 5, {}, True), ("> 5", Decimal("5.1"), {}, True), (">= 5", "a", {}, False),
        ("= 5", 5, {}, True), ("!= 5", 5, {}, False), ("1, 2, 3", 2, {}, True), ("1, > 10", 11, {}, True),
        ("[1..5]", 5, {}, True), ("[1..5)", 5, {}, False), ("(1..5)", 1, {}, False), ("]1..5]", 1, {}, False),
        ('"a", "b"', "b", {}, True), ('not("a", "b")', "c", {}, True), ('not("a", "b")', "a", {}, False),
        ("not(< 5)", 7, {}, True), ("null", None, {}, True), ("null", 1, {}, False), ("not(null)", 1, {}, True),
        ("true", True, {}, True), ("false", True, {}, False), ("limit", 5, {"limit": 5}, True),
        ("< limit * 2", 9, {"limit": 5}, True), ("allowed", 2, {"allowed": [1, 2]}, True), ("[1, 2]", 2, {}, True),
        ("? > 3 and ? < 10", 5, {}, True), ("? > limit", 5, {"limit": 9}, False), ("? * 2 = 10", 5, {}, True),
        ("starts with(?, \"a\")", "abc", {}, True), ("some x in ? satisfies x > 1", [1, 2], {}, True),
        ("count(?) > 1", [1, 2], {}, True), ('@"2020-01-01"', "2020-01-01", {}, False),
        ("limit > 3", 99, {"limit": 5}, True),
        ("[1..3], [7..9]", 8, {}, True), ("< 5, null", None, {}, True), ("not(true)", False, {}, True),
        ("[a..b]", 2, {"a": 1, "b": 3}, True), ("contains(?, \"x\"), \"y\"", "y", {}, True),
        ("?.age > 3", {"age": 4}, {}, True),
    ],
)  # fmt: skip
def test_matches(text: str, value: object, context: dict[str, object], expected: bool) -> None:
    assert feel.compile_unary_tests(text, context).matches(value, context) is expected


def test_a_test_that_cannot_be_answered_is_null_with_a_warning() -> None:
    result = feel.compile_unary_tests("< 5").evaluate("a")
    assert result.value is None and "have no order" in result.warnings[0].message
    with pytest.raises(feel.FeelError):
        feel.compile_unary_tests("< 5").matches("a", strict=True)


@pytest.mark.parametrize("text", ["<", "1,", "not(", "[1..", "1 2"])
def test_tests_that_cannot_be_read(text: str) -> None:
    with pytest.raises(feel.FeelSyntaxError):
        feel.compile_unary_tests(text)
