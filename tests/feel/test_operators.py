"""Operators, literals, paths, filters, loops and functions of FEEL as DMN 1.5, chapter 10.3 has them."""

from __future__ import annotations

import pytest

from penstock import feel

CONTEXT = {"x": 3, "y": None, "name": "kim", "list": [1, 2, 3], "order": {"total": 7, "lines": [{"n": 1}, {"n": 2}]}}


def value(text: str) -> str:
    return feel.written(feel.compile(text, CONTEXT, members=feel.nested_names(CONTEXT)).evaluate(CONTEXT).value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3", "7"), ("(1 + 2) * 3", "9"), ("10 - 4 - 3", "3"), ("2 ** 3 ** 2", "64"), ("-2 ** 2", "4"),
        ("8 / 4 / 2", "1"), ("0.1 + 0.2", "0.3"), ("0.1 * 3", "0.3"),
        ("1 / 3 * 3", "0.9999999999999999999999999999999999"),
        ("1 / 0", "null"), ("2 / 3", "0.6666666666666666666666666666666667"), ("1e3", "1000"), (".5 + .5", "1"),
        ("10 ** -2", "0.01"), ("2 ** 0.5", "1.414213562373095048801688724209698"), ("0 ** -1", "null"),
        ("9999999999999999999999999999999999 + 1", "10000000000000000000000000000000000"),
        ("12345678901234567890123456789012345678", "12345678901234567890123456789012350000"),
        ("null + 1", "null"), ('"a" + "b"', '"ab"'), ('"a" - "b"', "null"), ("[1] + 1", "null"), ("true + 1", "null"),
        ("- (3)", "-3"), ("-null", "null"), ('-"a"', "null"), ("5 - -5", "10"), ("3-2", "1"),
    ],
)  # fmt: skip
def test_arithmetic(text: str, expected: str) -> None:
    """10.3.2.3.1: decimals of 34 digits, half to even; what has no result is null."""
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('date("2020-01-31") + duration("P1M")', '@"2020-02-29"'), ('@"2020-03-31" - @"P1M"', '@"2020-02-29"'),
        ('@"2020-01-02" - @"2020-01-01"', '@"P1D"'), ('@"2020-01-01" - @"PT1H"', '@"2019-12-31"'),
        ('@"2020-01-01T00:00:00Z" - @"2019-12-31T23:00:00-01:00"', '@"PT0S"'),
        ('@"2020-01-01T00:00:00" - @"2020-01-01T00:00:00Z"', "null"), ('@"23:30:00" + @"PT1H"', '@"00:30:00"'),
        ('@"10:00:00Z" - @"09:00:00Z"', '@"PT1H"'), ('@"P1Y" + @"P1M"', '@"P1Y1M"'), ('@"P1D" * 1.5', '@"P1DT12H"'),
        ('2 * @"P1M"', '@"P2M"'), ('@"P1D" / 2', '@"PT12H"'), ('@"P1D" / @"PT6H"', "4"), ('@"P1Y" / @"P1D"', "null"),
        ('@"P1D" + @"P1Y"', "null"), ('@"2020-01-01" + 1', "null"), ('-@"P1D"', '@"-P1D"'), ('@"P1D" / 0', "null"),
        ('@"2020-03-29T01:30:00@Europe/Paris" + @"PT1H"', '@"2020-03-29T03:30:00@Europe/Paris"'),
        ('@"2020-03-29T01:30:00@Europe/Paris" + @"P1D"', '@"2020-03-30T02:30:00@Europe/Paris"'),
        ('@"999999999-12-31" + @"P1D"', "null"), ('@"0000-02-29" + @"P1Y"', '@"0001-02-28"'),
    ],
)  # fmt: skip
def test_arithmetic_of_dates_and_durations(text: str, expected: str) -> None:
    """10.3.2.3.5 to 10.3.2.3.9, table 57: a shorter month ends on its last day."""
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 = 1.0", "true"), ('1 = "1"', "null"), ("null = null", "true"), ("1 = null", "false"),
        ("1 != null", "true"),
        ("[1, 2] = [1, 2]", "true"), ("[1] = [2]", "false"), ("{a: 1, b: 2} = {b: 2, a: 1}", "true"),
        ("[1..2] = [1..2]", "true"), ("[1..2] = [1..2)", "false"), ("true = false", "false"), ("1 < 2", "true"),
        ('"a" < "b"', "true"), ("1 < null", "null"), ('1 < "a"', "null"), ("true < false", "null"),
        ("[1] < [2]", "null"),
        ('@"2020-01-01" < @"2020-01-02"', "true"), ('@"10:00:00Z" = @"11:00:00+01:00"', "true"),
        ('@"2020-01-01T10:00:00Z" = @"2020-01-01T11:00:00+01:00"', "true"), ('@"P1Y" = @"P12M"', "true"),
        ('@"P1Y" < @"P365D"', "null"), ("2 between 1 and 3", "true"), ("4 between 1 and 3", "false"),
        ("null between 1 and 3", "null"), ('"b" between "a" and "c"', "true"), ("1 between null and 3", "null"),
        ("2 in [1..3]", "true"), ("3 in [1..3)", "false"), ("1 in (1..3]", "false"), ("1 in ]1..3]", "false"),
        ("3 in [1..3[", "false"), ("2 in [1, 2, 3]", "true"), ("2 in (1, 2)", "true"), ("5 in (> 3)", "true"),
        ("5 in (< 3, > 4)", "true"), ("5 in < 3", "false"), ("[1, 2] in [[1, 2], [3]]", "true"), ("2 in 2", "true"),
        ("5 in ([1..3], [4..6])", "true"), ("null in (null)", "true"), ('"a" in "a"', "true"), ("1 in []", "false"),
        ("(1 + 2) in ((1 + 2) * 1)", "true"),
    ],
)  # fmt: skip
def test_comparisons(text: str, expected: str) -> None:
    """Tables 52 to 55: two kinds are neither equal nor different, and an order with null is null."""
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("true and true", "true"), ("true and false", "false"), ("false and null", "false"),
        ("true and null", "null"),
        ("null and null", "null"), ("true or null", "true"), ("false or null", "null"), ("false or false", "false"),
        ('true and "a"', "null"), ('"a" or true', "true"), ("true and 1 and false", "false"),
        ("true or false and false", "true"), ("(true or false) and false", "false"),
        ("false or false or true", "true"),
    ],
)  # fmt: skip
def test_logic_has_three_values(text: str, expected: str) -> None:
    """Table 50."""
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("order.total", "7"), ("order.lines.n", "[1, 2]"), ("order.missing", "null"), ("y.anything", "null"),
        ("list[1]", "1"), ("list[-1]", "3"), ("list[0]", "null"), ("list[4]", "null"), ("list[x]", "3"),
        ("list[x - 1]", "2"), ("list[item > 1]", "[2, 3]"), ("order.lines[n > 1]", "[{n: 2}]"),
        ("[1, 2, null][item = null]", "[null]"),
        ("order.lines[item.n = 1].n", "[1]"), ("5[1]", "5"), ("5[2]", "null"), ("5[item > 3]", "[5]"),
        ("[][1]", "null"),
        ("[][item > 1]", "[]"), ("list[item > x]", "[]"), ("[{x: 5}, {x: 1}][x > 3]", "[{x: 5}]"),
        ("[[1, 2], [3]][1][2]", "2"), ("[1..5].start", "1"), ("(1..5].start included", "false"),
        ("(> 3).end", "null"),
        ('@"2020-01-02".weekday', "4"), ('@"2020-01-02T03:04:05+01:00".time offset', '@"PT1H"'),
        ('@"2020-07-02T03:04:05@Europe/Paris".time offset', '@"PT2H"'),
        ('@"2020-07-02T03:04:05@Europe/Paris".timezone', '"Europe/Paris"'),
        ('@"P1Y3M".months', "3"), ('@"-P1DT2H".hours', "-2"), ('@"2020-01-02".hour', "null"),
        ('@"03:04:05.5".second', "5.5"),
    ],
)  # fmt: skip
def test_paths_and_filters(text: str, expected: str) -> None:
    """10.3.2.5, table 58: lists count from 1, a single value is a list of one, a filter keeps what is true."""
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("for i in [1, 2] return i * 2", "[2, 4]"), ("for i in 1..3 return i", "[1, 2, 3]"),
        ("for i in 3..1 return i", "[3, 2, 1]"), ("for i in [1..3] return i", "[1, 2, 3]"),
        ("for i in (1..3) return i", "[2]"),
        ("for i in [1, 2], j in [10, 20] return i + j", "[11, 21, 12, 22]"),
        ("for i in 1..2, j in 1..i return j", "[1, 1, 2]"),
        ("for i in 0..4 return if i = 0 then 1 else i * partial[-1]", "[1, 1, 2, 6, 24]"),
        ("for i in [1, 2], partial in [5] return partial", "[5, 5]"),
        ("for partial in [5, 6] return partial + 1", "[6, 7]"),
        ("for i in [] return i", "[]"),
        ('for d in @"2020-01-30"..@"2020-02-01" return d.day', "[30, 31, 1]"), ("for i in null return i", "null"),
        ("for i in 5 return i", "[5]"), ('for i in 1.."a" return i', "null"),
        ("for a b in [1] return a b + 1", "[2]"),
        ("some i in [1, 2] satisfies i > 1", "true"), ("some i in [] satisfies i > 1", "false"),
        ("every i in [1, 2] satisfies i > 1", "false"), ("every i in [] satisfies i > 1", "true"),
        ("every i in [1, null] satisfies i > 0", "null"), ("some i in [1, 2], j in [2, 3] satisfies i > j", "false"),
        ("if x > 2 then 1 else 2", "1"), ("if null then 1 else 2", "2"), ('if "a" then 1 else 2', "2"),
        ("if false then 1 else if true then 2 else 3", "2"),
        ("(for f in for i in 1..2 return function() i return f())", "[1, 2]"),
    ],
)  # fmt: skip
def test_loops_and_branches(text: str, expected: str) -> None:
    """10.3.2.12 to 10.3.2.14; `partial` has the results so far."""
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(function(a, b) a + b)(1, 2)", "3"), ("{f: function(a) a * x, r: f(2)}.r", "6"),
        ("{f: function(n) if n < 2 then 1 else n * f(n - 1), r: f(10)}.r", "3628800"),
        ("{f: function(a, b) a - b, r: f(b: 1, a: 5)}.r", "4"), ("{f: function(a: number) a, r: f(\"x\")}.r", "null"),
        ("{f: function(a: list<number>) count(a), r: f(5)}.r", "1"), ("{f: function(a: number) a, r: f([5])}.r", "5"),
        ("{f: function(a) a, r: f(1, 2)}.r", "null"), ("{f: function(a) a, r: f(b: 1)}.r", "null"), ("x(1)", "null"),
        ("{a: 1, b: a + 1, c: a + b}", "{a: 1, b: 2, c: 3}"), ('{"a b": 1, c: a b + 1}.c', "2"),
        ("{a: {b: 1}}.a.b", "1"),
        ("(function(f) f(3))(function(n) n * 2)", "6"), ("{min: function(a) 5, r: min([1, 2])}.r", "5"),
    ],
)  # fmt: skip
def test_functions_and_contexts(text: str, expected: str) -> None:
    """10.3.2.13, 10.3.2.15: an entry sees those before it; parameters convert or give null."""
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 instance of number", "true"), ("1 instance of string", "false"), ("null instance of Any", "false"),
        ("null instance of Null", "true"), ("[1, 2] instance of list<number>", "true"),
        ('[1, "a"] instance of list<number>', "false"),
        ("{a: 1} instance of context<a: number>", "true"), ("{a: 1} instance of context<b: number>", "false"),
        ('@"P1D" instance of days and time duration', "true"),
        ('@"P1Y" instance of years and months duration', "true"),
        ('@"2020-01-01T00:00:00" instance of date and time', "true"),
        ('@"2020-01-01" instance of date and time', "false"),
        ("[1..2] instance of range<number>", "true"), ("[1..2] instance of range<string>", "false"),
        ("(function(a: number) a) instance of function<number> -> Any", "true"), ("1 instance of unknown", "false"),
        ("1 + 1 instance of number", "null"),
    ],
)  # fmt: skip
def test_types(text: str, expected: str) -> None:
    """10.3.2.9: nothing but null is of the type Null, and null of no other."""
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("// nothing\n1", "1"), ("1 /* one */ + /* two */ 2", "3"), ('"a\\"b"', '"a\\"b"'),
        ('"\\u0041\\U01F40E"', '"A🐎"'),
        ('"\\uD83D\\uDC0E"', '"🐎"'), ('"a\\tb"', '"a\\tb"'), ("'it'", '"it"'), ("{🐎: 1}.🐎", "1"),
        ('@"nothing"', "null"),
        ("한글", "null"), ("true", "true"), ("null", "null"), ("[]", "[]"), ("{}", "{}"),
        ("[1, [2, [3]]]", "[1, [2, [3]]]"),
    ],
)  # fmt: skip
def test_literals_and_comments(text: str, expected: str) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "1 +", "(1", "[1, 2", "{a: 1", "{a 1}", "for x in [1]", "if true then 1", "some x in [1]", "1 2", '"open',
     "/* open", "a.", "function(", "1..2", "#", "{a: 1, a: 2}", "x instance number",
     "f(a: 1, 2)", '"\\uD83D"', "1 = = 2"],
)  # fmt: skip
def test_what_cannot_be_read_says_where(text: str) -> None:
    with pytest.raises(feel.FeelSyntaxError) as refused:
        feel.compile(text)
    assert (
        refused.value.code == "FEEL_SYNTAX" and "at character" in str(refused.value) and "^" in refused.value.pointer()
    )
