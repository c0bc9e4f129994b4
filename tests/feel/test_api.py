"""`penstock.feel` as programs use it: values in and out, types, functions, warnings, strict mode, the clock."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from penstock import feel
from penstock.feel import types
from penstock.feel.values import Date, DateTime, YearsMonths


def test_values_of_python_go_in_and_out() -> None:
    assert feel.evaluate("a + 0.2", {"a": 0.1}) == Decimal("0.3")
    assert feel.to_python(feel.evaluate('d + duration("P1D")', {"d": date(2026, 2, 28)})) == date(2026, 3, 1)
    seoul = datetime(2026, 1, 1, 9, tzinfo=ZoneInfo("Asia/Seoul"))
    assert feel.evaluate("m.timezone", {"m": seoul}) == "Asia/Seoul"
    assert feel.to_python(feel.evaluate("m", {"m": seoul})) == seoul
    assert feel.to_python(feel.evaluate('@"10:30:00"')) == time(10, 30)
    assert feel.to_python(feel.evaluate('@"PT90M"')) == timedelta(minutes=90)
    assert feel.evaluate('@"P1Y"') == YearsMonths(12)
    assert feel.to_python(feel.evaluate('@"20000-01-01"')) == Date(20_000, 1, 1)  # beyond Python's years
    assert feel.evaluate("t[2]", {"t": (1, 2)}) == 2
    with pytest.raises(feel.FeelError):
        feel.evaluate("x", {"x": float("nan")})
    with pytest.raises(feel.FeelError):
        feel.evaluate("x", {"x": object()})


def test_json_has_numbers_and_texts() -> None:
    value = feel.evaluate('{a: 1.50, b: 2, c: @"2026-01-01", d: [@"P1D"], e: [1..5), f: null}')
    assert feel.to_json(value) == {"a": 1.5, "b": 2, "c": "2026-01-01", "d": ["P1D"], "e": "[1..5)", "f": None}


def test_functions_of_python_are_called_by_place_and_by_name() -> None:
    double = feel.Function([feel.Parameter("n", types.NUMBER)], lambda n: n * 2, name="double")
    scope = {"double": double, "plain": lambda a, b: a - b}
    assert feel.evaluate("double(21)", scope) == 42
    assert feel.evaluate("double(n: 21)", scope) == 42
    assert feel.evaluate("plain(5, 3)", scope) == 2
    result = feel.compile('double("x")', scope).evaluate(scope)
    assert result.value is None and "n: A string is no number" in result.warnings[0].message


def test_a_warning_has_its_place_and_strict_mode_fails_there() -> None:
    text = "[1,\n 2 + foo,\n 1 / 0]"
    result = feel.compile(text).evaluate({})
    assert result.value == [1, None, None]
    assert [warning.position for warning in result.warnings] == [10, 18]
    assert result.warnings[1].where.picture() == " 1 / 0]\n   ^"
    with pytest.raises(feel.FeelError) as failed:
        feel.compile(text, strict=True).evaluate({})
    assert failed.value.code == "FEEL_EVALUATION" and failed.value.facts["position"] == 10
    assert feel.compile("null + 1", strict=True).evaluate({}).value is None  # a null that only passes through


def test_strict_mode_looks_into_filters_of_empty_lists() -> None:
    with pytest.raises(feel.FeelError, match="foo"):
        feel.evaluate("[][foo(1)]", strict=True)
    with pytest.raises(feel.FeelError, match="Division"):
        feel.evaluate("[][abs(1 / 0)]", strict=True)
    # what an item would have, an empty list has not
    assert feel.evaluate('orders[contains(name, "x")]', {"orders": []}, strict=True) == []
    assert feel.compile('orders[contains(item, "x")]').evaluate({"orders": []}).warnings == []
    assert feel.evaluate("[][count([1])]", strict=True) is None


@pytest.mark.parametrize(
    ("text", "value", "position"),
    [
        ("true and 1", "null", 10), ("false or 1", "null", 10), ('true and true and "x"', "null", 19),
        ('not("x")', "null", 1), ("all([true, 1])", "null", 1), ("any(false, 1)", "null", 1),
        ('[1, 2]["a"]', "[]", 7), ("if 1 then 2 else 3", "3", 4), ("some x in [1] satisfies x", "null", 1),
        ("every x in [1] satisfies x", "null", 1), ("for x in null return x", "null", 5),
        ("some x in null satisfies x", "null", 6), ("for x in 1..null return x", "null", 5),
    ],
)  # fmt: skip
def test_what_is_of_the_wrong_kind_leaves_a_warning(text: str, value: str, position: int) -> None:
    """DMN 1.5, 10.3.2: the value is what the standard says; strict mode fails there."""
    result = feel.compile(text).evaluate({})
    assert feel.written(result.value) == value and result.warnings[0].position == position
    with pytest.raises(feel.FeelError):
        feel.evaluate(text, strict=True)


@pytest.mark.parametrize(
    "text",
    ["false and 1", "1 or true", "true and null", "not(null)", "[1, 2][null]", "if null then 1 else 2",
     "any([true, 1])", "some x in [null] satisfies x"],
)  # fmt: skip
def test_what_decides_or_passes_through_leaves_none(text: str) -> None:
    assert feel.compile(text, strict=True).evaluate({}).warnings == []


def test_the_hour_that_the_end_of_summer_time_repeats() -> None:
    """In Paris 2020-10-25T02:30 came twice: at +02:00 and, an hour later, at +01:00."""
    names = {"m": datetime(2020, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Paris"))}
    assert feel.evaluate('m = @"2020-10-25T02:30:00@Europe/Paris"', names) is True
    assert feel.evaluate('m + @"PT1H" = m', names) is False
    assert feel.evaluate('m + @"PT1H" - m = @"PT1H"', names) is True
    assert feel.evaluate('m + @"PT1H" = @"2020-10-25T02:30:00+01:00"', names) is True
    assert feel.evaluate('m + @"PT1H" + @"PT1H" = @"2020-10-25T03:30:00@Europe/Paris"', names) is True
    assert feel.evaluate('(m + @"PT1H").time offset = @"PT1H"', names) is True
    assert feel.evaluate('m + @"PT1H" + @"P1M" = @"2020-11-25T02:30:00@Europe/Paris"', names) is True
    later = feel.to_python(feel.evaluate('m + @"PT1H"', names))
    assert later.fold == 1 and later.utcoffset() == timedelta(hours=1)
    assert feel.evaluate("m - n", {**names, "n": later}) == feel.evaluate('@"-PT1H"')


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("append(list: [1], item: 2)", "[1, 2]"), ("concatenate(list: [1])", "[1]"), ("union(list: [1, 1])", "[1]"),
        ("append(item: 2)", "null"), ("coincides((< 5), (< 5))", "true"), ("coincides((< 5), (<= 5))", "false"),
        ("coincides((< 5), (> 5))", "false"), ("includes((< 5), [1..4])", "true"), ("includes([1..4], (< 5))", "false"),
        ("overlaps((< 5), [4..6])", "true"), ("before((> 5), (< 5))", "false"), ("starts((>= 5), (>= 5))", "true"),
    ],
)  # fmt: skip
def test_named_arguments_and_ranges_without_bound(text: str, expected: str) -> None:
    """DMN 1.5, 10.3.4.4 names `list` and `item`; a range without bound goes on for ever (10.3.2.7)."""
    assert feel.written(feel.evaluate(text)) == expected


def test_the_time_is_the_callers() -> None:
    now = datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert feel.evaluate("now()", now=now) == DateTime(Date(2026, 3, 1), 12 * 3_600_000_000_000, 0)
    assert feel.evaluate("today()", now=now) == Date(2026, 3, 1)
    result = feel.compile("now()").evaluate({})
    assert result.value is None and "no time" in result.warnings[0].message


def test_an_evaluation_may_be_shared() -> None:
    """What evaluates many expressions as one: limits and warnings are common."""
    evaluation = feel.Evaluation(limits=feel.Limits(steps=50))
    loop = feel.compile("for x in 1..30 return x")
    assert len(loop.value({}, evaluation)) == 30
    with pytest.raises(Exception, match="50 steps"):
        loop.value({}, evaluation)


@pytest.mark.parametrize(
    ("value", "type", "expected"),
    [
        (1, types.NUMBER, 1), ([1], types.NUMBER, 1), (1, types.ListType(types.NUMBER), [1]),
        (None, types.NUMBER, None),
        (Date(2020, 1, 1), types.MOMENT, DateTime(Date(2020, 1, 1), 0, 0)),
        ({"a": 1, "b": 2}, types.ContextType({"a": types.NUMBER}), {"a": 1, "b": 2}),
    ],
)  # fmt: skip
def test_conversions_that_the_standard_allows(value: object, type: feel.Type, expected: object) -> None:
    """DMN 1.5, 10.3.2.9.4."""
    assert feel.coerced(value, type) == expected


@pytest.mark.parametrize(
    ("value", "type"),
    [
        ("a", types.NUMBER), ([1, 2], types.NUMBER), (["a"], types.ListType(types.NUMBER)),
        ({"a": "x"}, types.ContextType({"a": types.NUMBER})), ({}, types.ContextType({"a": types.NUMBER})),
        (5, types.Constrained(types.NUMBER, lambda n: n > 9, "> 9")),
    ],
)  # fmt: skip
def test_what_does_not_conform_is_a_fault(value: object, type: feel.Type) -> None:
    with pytest.raises(feel.Fault):
        feel.coerced(value, type)


def test_data_is_read_as_its_type() -> None:
    order = types.ContextType({"day": types.DATE, "spans": types.ListType(types.DAYS_TIME)})
    read = order.read({"day": "2020-01-01", "spans": ["P1D", "x"], "other": "2020-01-01"})
    assert read == {"day": Date(2020, 1, 1), "spans": [feel.evaluate('@"P1D"'), "x"], "other": "2020-01-01"}


def test_own_types_are_known_to_instance_of() -> None:
    grades = {"tGrade": types.Constrained(types.NUMBER, lambda n: 1 <= n <= 6, "[1..6]")}
    assert feel.compile("5 instance of tGrade", types=grades).evaluate({}).value is True
    assert feel.compile("7 instance of tGrade", types=grades).evaluate({}).value is False
