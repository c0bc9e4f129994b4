"""Expressions that would never end, or need more memory than there is: a typed error with its place."""

from __future__ import annotations

import pytest

from penstock import feel
from penstock.expr.functions.feel import FEEL

DOUBLED = "{" + ", ".join(["a0: [1, 1]"] + [f"a{n}: [a{n - 1}, a{n - 1}]" for n in range(1, 60)]) + "}"


@pytest.mark.parametrize(
    "text",
    [
        "for x in 1..1000000000000 return x",
        "for x in [1..1000000000000] return x",
        "for a in 1..10000, b in 1..10000, c in 1..10000 return 1",
        "some x in 1..1000000000000 satisfies x < 0",
        "every x in 1..1000000000000 satisfies true",
        "{f: function(n) f(n + 1), r: f(0)}.r",
        "{f: function(n) if n = 0 then 1 else f(n - 1) + f(n - 1), r: f(100)}.r",
        '{f: function(s, n) if n = 0 then s else f(s + s, n - 1), r: f("ab", 60)}.r',
        "{f: function(s, n) if n = 0 then s else f(concatenate(s, s), n - 1), r: f([1], 60)}.r",
        f"count(flatten({DOUBLED}.a59))",
        f"string({DOUBLED}.a59)",
        '{f: function(s, n) if n = 0 then s else f(string join([s, s]), n - 1), r: f("ab", 60)}.r',
        'matches("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", "(a+)+\\\\1$")',
        "{f: function(a, b) f(b, a), r: sort([1, 2, 3], f)}.r",
        "distinct values(for x in 1..5000 return [x])",
        "{l: for i in 1..100000 return i, r: for x in 1..100000 return sum(l)}.r",
        "{l: for i in 1..100000 return i, r: for x in 1..100000 return l = l[item > 0]}.r",
        "{l: for i in 1..100000 return i, r: for x in 1..100000 return -1 in l}.r",
        "{l: for i in 1..100000 return i, r: for x in 1..100000 return l instance of list<number>}.r",
        f"{{l: {DOUBLED}.a59, m: {DOUBLED}.a59, r: for x in 1..100000 return l = m}}.r",
        f"{{l: {DOUBLED}.a59, m: {DOUBLED}.a59, r: index of(for x in 1..100000 return l, m)}}.r",
        'for x in 1..1000000 return matches("aaaaaaaaaaaa!", "(a+)+\\\\1$")',
        "count(for x in 1..1000 return [][count(for y in 1..70000 return y)]) > 0",
        "{f: function(n) [][f(n + 1)], r: f(0)}.r",
        f"count(for x in 1..1000 return {' + '.join(['x ** 0.3'] * 200)})",
        f"count(for x in 1..1000 return {' + '.join(['x'] * 8_000)})",
        f"count((for x in 1..1000 return x)[{' + '.join(['item'] * 8_000)} > 0])",
        f"every x in 1..1000 satisfies {' + '.join(['x'] * 8_000)} > 0",
        f"{{f: function(x) {' + '.join(['x'] * 8_000)}, r: for i in 1..1000 return f(i)}}.r",
        f"count(for x in 1..1000, y in [{' + '.join(['x'] * 8_000)}] return 1)",
        "for x in 1..100000 return log(x)",
        "for x in 1..100000 return exp(1 / x)",
    ],
)
def test_bombs_end(text: str) -> None:
    with pytest.raises(feel.FeelLimit) as refused:
        feel.evaluate(text)
    assert refused.value.code == "FEEL_LIMIT" and refused.value.facts["position"] >= 1 and refused.value.hint


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10 ** 10000", None),
        ("9 ** 999999999", None),
        ("1.0000001 ** 999999999999 > 1", None),
        ('matches("' + "a" * 500 + '!", "(a*)*b")', False),
        ('replace("' + "a" * 500 + '", "(a|aa)+$", "x")', "x"),
        ('duration("P' + "9" * 70 + 'D")', None),
        ("date(10 ** 30, 1, 1)", None),
        ('substring("abc", 10 ** 30)', ""),
        ("round up(1.5, 10 ** 20)", None),
        ("[1, 2, 3][10 ** 33]", None),
    ],
)
def test_what_is_too_large_is_null(text: str, value: object) -> None:
    assert feel.evaluate(text) == value


@pytest.mark.parametrize(
    "text",
    ["(" * 5_000 + "1" + ")" * 5_000, "[" * 5_000, "-" * 5_000 + "1", "{a: " * 3_000, "not(" * 3_000, "if " * 3_000,
     "1 in (" * 3_000, "x" * 200_000, "function() " * 3_000, "a" + "[1]" * 30_000, "list<" * 1_000],
)  # fmt: skip
def test_what_is_nested_too_deeply_is_refused(text: str) -> None:
    with pytest.raises((feel.FeelSyntaxError, feel.FeelLimit)):
        feel.evaluate(text)


def test_long_and_flat_is_no_bomb() -> None:
    assert feel.evaluate(" + ".join(["1"] * 5_000)) == 5_000
    assert feel.evaluate(" and ".join(["true"] * 5_000)) is True
    assert feel.evaluate("if false then 0 else " * 1_000 + "7") == 7
    assert feel.evaluate(f"count([{', '.join(['1'] * 5_000)}])") == 5_000


def test_limits_are_the_callers() -> None:
    text = "for x in 1..100 return x"
    assert len(feel.evaluate(text)) == 100
    with pytest.raises(feel.FeelLimit, match="10 steps"):
        feel.evaluate(text, limits=feel.Limits(steps=10))
    with pytest.raises(feel.FeelLimit, match="5 items"):
        feel.evaluate("concatenate([1, 2, 3], [4, 5, 6])", limits=feel.Limits(items=5))
    with pytest.raises(feel.FeelLimit, match="3 characters"):
        feel.evaluate('"ab" + "cd"', limits=feel.Limits(text=3))


DEEP = "(for i in 1..{} return [partial[-1]])[-1]"


def test_a_deep_value_does_not_leave() -> None:
    value = feel.evaluate(DEEP.format(2_000))
    for leave in (feel.written, feel.to_json, feel.to_python):
        with pytest.raises(feel.FeelLimit, match="100 deep"):
            leave(value)
        assert leave(feel.evaluate(DEEP.format(100)))
    with pytest.raises(feel.FeelLimit, match=r"100 deep.*character 1 of «string"):
        feel.evaluate(f"string({DEEP.format(2_000)})")
    with pytest.raises(feel.FeelLimit, match="100 deep"):
        feel.evaluate("1 + count(x)", {"x": value})
    with pytest.raises(feel.FeelLimit, match="1,048,576 characters"):
        feel.written(["a" * 600_000, "b" * 600_000])


def test_a_deep_value_fails_where_expressions_call_feel() -> None:
    with pytest.raises(feel.FeelLimit, match=r"100 deep.*of «.for i in"):
        FEEL[0].call(DEEP.format(1_000))
