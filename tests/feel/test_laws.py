"""Laws over random data: values that go in and out, text that is read again, arithmetic beside fractions."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock import feel

numbers = st.integers(-(10**20), 10**20) | st.decimals(-(10**12), 10**12, places=6)
scalars = st.none() | st.booleans() | numbers | st.text(max_size=12)
dates = st.dates()
moments = st.datetimes() | st.datetimes(timezones=st.just(UTC))
spans = st.timedeltas(timedelta(days=-10_000), timedelta(days=10_000))
data = st.recursive(
    scalars | dates | moments | spans,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(min_size=1, max_size=5), inner, max_size=3),
    max_leaves=12,
)


def python_equal(left: Any, right: Any) -> bool:
    if isinstance(left, list):
        return len(left) == len(right) and all(map(python_equal, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(python_equal(left[key], right[key]) for key in left)
    return bool(left == right)


@given(data)
def test_values_of_python_come_back(value: Any) -> None:
    assert python_equal(value, feel.to_python(feel.evaluate("v", {"v": value})))


@given(data)
def test_what_is_written_is_read_again(value: Any) -> None:
    given_value = feel.from_python(value)
    written = feel.written(given_value)
    assert feel.written(feel.evaluate(written)) == written
    assert feel.evaluate(f"is(v, {written})", {"v": value}) is True


@given(numbers, numbers)
def test_sums_and_products_are_exact_up_to_34_digits(left: Any, right: Any) -> None:
    context = Context(prec=34, rounding=ROUND_HALF_EVEN)
    names = {"a": left, "b": right}
    assert feel.evaluate("a + b", names) == context.add(Decimal(left), Decimal(right))
    assert feel.evaluate("a * b", names) == context.multiply(Decimal(left), Decimal(right))
    if right != 0:
        quotient = feel.evaluate("a / b", names)
        exact = Fraction(left) / Fraction(right)
        assert abs(Fraction(quotient) - exact) <= abs(exact) * Fraction(1, 10**33)


@given(numbers, numbers)
def test_modulo_has_the_sign_of_the_divisor(left: Any, right: Any) -> None:
    rest = feel.evaluate("modulo(a, b)", {"a": left, "b": right})
    assert rest is None if right == 0 else rest == 0 or (rest > 0) == (right > 0) and abs(rest) <= abs(right)


@given(dates, st.integers(-20_000, 20_000))
def test_days_are_those_of_the_calendar(day: date, days: int) -> None:
    try:
        expected = day + timedelta(days=days)
    except OverflowError:
        return
    names = {"d": day, "n": days}
    moved = feel.evaluate('d + duration("P1D") * n', names)
    assert feel.to_python(moved) == expected
    assert feel.evaluate("m - d", {"m": moved, "d": day}) == feel.from_python(timedelta(days=days))
    assert feel.evaluate("d.weekday", names) == day.isoweekday()
    assert feel.evaluate("week of year(d)", names) == day.isocalendar().week
    assert feel.evaluate("day of year(d)", names) == day.timetuple().tm_yday


@given(moments, moments)
def test_moments_are_ordered_as_instants(left: datetime, right: datetime) -> None:
    verdict = feel.evaluate("a < b", {"a": left, "b": right})
    assert verdict is (None if (left.tzinfo is None) != (right.tzinfo is None) else left < right)


@given(st.lists(numbers, min_size=1, max_size=20))
def test_lists_of_numbers(values: list[Any]) -> None:
    names = {"l": values}
    assert feel.evaluate("sort(l, function(x, y) x < y)", names) == sorted(values)
    assert feel.evaluate("min(l)", names) == min(values) and feel.evaluate("max(l)", names) == max(values)
    assert feel.evaluate("count(distinct values(l))", names) == len(set(values))
    assert feel.evaluate("reverse(reverse(l)) = l", names) is True
    assert feel.evaluate("for i in 1..count(l) return l[i]", names) == values


@given(st.text(max_size=30), st.text(max_size=30))
def test_texts_and_unreadable_sources(source: str, text: str) -> None:
    """Whatever is written: a value, or an error of FEEL."""
    with suppress(feel.FeelSyntaxError, feel.FeelLimit):
        feel.compile(source).evaluate({"a": text})
    assert feel.evaluate("string length(a + b)", {"a": source, "b": text}) == len(source) + len(text)
    assert feel.evaluate("contains(a + b, b)", {"a": source, "b": text}) is True
