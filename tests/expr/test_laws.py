"""Laws over random sources, trees and data."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import partial
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.errors import ExprError, PenstockError
from penstock.expr import compile_expression, compile_template, equal, text_of

from .reading import value

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
)
data = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["a", "b", "item", "x"]), inner, max_size=3)
    ),
    max_leaves=12,
)
views = st.fixed_dictionaries(dict.fromkeys(("a", "b", "c", "input", "context", "item", "x"), data))

# ---- sources that follow the grammar ---------------------------------------------------------------------------------

_ONE = ("abs", "round", "floor", "ceil", "sqrt", "lower", "upper", "trim", "length", "first", "last", "sort", "unique",
        "flatten", "sum", "avg", "min", "max", "is_null", "is_empty", "type_of", "get_variable", "concat")  # fmt: skip
_TWO = ("pow", "substring", "split", "join", "regex_match", "regex_extract", "nth", "contains", "default", "round")
_LOOPS = (
    "fn.map({}, x => {})",
    "fn.filter({}, x => {})",
    "fn.map({}, 'a')",
    "fn.map({}, '(a == b) == (index > 1)')",
    "fn.filter({}, 'item == a')",
    "fn.reduce({}, {}, (s, x) => s + x)",
    "fn.reduce({}, {}, 'sum')",
    "fn.sort({}, x => {}, 'desc')",
    "({}).map((x, i) => [x, i, {}])",
)


_LEAVES = (
    "a", "b.x", "c", "input.a[0]", "context", "1", "0", "-2", "0.5", "1e300", "'s'", "'a.b'", '""', "true", "null",
    "[]", "item", "x",
)  # fmt: skip
_BINARY = ("+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "&&", "||")
_SHAPES = (
    *(f"({{}} {symbol} {{}})" for symbol in _BINARY),
    "!({})",
    "-({})",
    "[{}, {}]",
    '{"k": {}}',
    "({}).a",
    "({})[fn.coalesce({})]",
    "${{}}",
    "fn.if({}, {}, {})",
    "fn.coalesce({}, {})",
    *(f"fn.{name}({{}})" for name in _ONE),
    *(f"fn.{name}({{}}, {{}})" for name in _TWO),
    *_LOOPS,
)


@st.composite
def sources(draw: st.DrawFn) -> str:
    """An expression of the grammar: shapes whose holes are filled until nothing is left to fill."""
    text, left = "{}", draw(st.integers(0, 12))
    while "{}" in text:
        text = text.replace("{}", draw(st.sampled_from(_SHAPES if left > 0 else _LEAVES)), 1)
        left -= 1
    return text


TEXT = st.lists(
    st.sampled_from([*"abx01. ()[]{}'\"!&|=<>+-*/%,:$?\\\n\t", "${", "fn.", "=>", "fn.map(", "true", "한", "\ud800"]),
    max_size=60,
).map("".join)


@settings(max_examples=1500, deadline=None)
@given(TEXT | st.text(max_size=40) | st.text(st.sampled_from("(){}[]!-${}'\""), max_size=300))
@example("((((((((")
@example("fn.map(a, (")
@example("fn.map(a, (b")
@example("a.")
def test_any_text_is_read_or_refused(source: str) -> None:
    """C-08, W-5.1.1: the parser raises nothing but a named error, whatever it is given."""
    for read in (compile_expression, partial(compile_expression, words=True), compile_template):
        with suppress(PenstockError):
            assert read(source).source == source


@settings(max_examples=500, deadline=None)
@given(sources(), views)
def test_any_expression_on_any_data(source: str, view: dict[str, Any]) -> None:
    """C-07, C-08: an expression of the grammar compiles, and evaluating it raises nothing but the ExprError family."""
    expression = compile_expression(source)
    before = json.dumps(view)
    with suppress(ExprError):
        result = expression(view)
        again = expression(view)
        assert equal(result, again)  # the same source and data give the same value
        json.dumps(result, allow_nan=False)
    assert json.dumps(view) == before  # and the data is not touched


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=30), sources(), st.text(max_size=30), views)
def test_any_template_on_any_data(before: str, source: str, after: str, view: dict[str, Any]) -> None:
    """W-5.1.7: a reference between two texts gives the first text, the value's text and the second text."""
    if "$" in before + after:
        return
    try:
        middle = text_of(compile_expression(source)(view))
    except ExprError:
        return
    if before + after:
        assert compile_template(f"{before}${{{source}}}{after}")(view) == before + middle + after


@settings(max_examples=500, deadline=None)
@given(data)
def test_text_is_json(given_value: Any) -> None:
    """W-5.1.7: the text of an object or array is the JSON that any other reader understands."""
    if isinstance(given_value, dict | list):
        assert text_of(given_value) == json.dumps(given_value, ensure_ascii=False, separators=(",", ":"))


@settings(max_examples=500, deadline=None)
@given(data, data, data)
def test_equality_is_an_equivalence(one: Any, two: Any, three: Any) -> None:
    """C-07: reflexive, symmetric, transitive; and it agrees with fn.unique and fn.contains."""
    assert equal(one, json.loads(json.dumps(one)))
    assert equal(one, two) is equal(two, one)
    if equal(one, two) and equal(two, three):
        assert equal(one, three)
    assert len(value("fn.unique([l, r])", l=one, r=two)) == (1 if equal(one, two) else 2)
    assert value("fn.contains([l], r)", l=one, r=two) is equal(one, two)


# ---- a second reader as oracle ---------------------------------------------------------------------------------------

_POWER = {"||": 1, "&&": 2, "==": 3, "!=": 3, "<": 4, "<=": 4, ">": 4, ">=": 4, "+": 5, "-": 5, "*": 6}
_MEANING: dict[str, Any] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}
numbers = st.recursive(
    st.integers(-9, 9),
    lambda inner: st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner),
    max_leaves=12,
)
conditions = st.recursive(
    st.tuples(numbers, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), numbers),
    lambda inner: st.tuples(inner, st.sampled_from(["&&", "||", "==", "!="]), inner),
    max_leaves=8,
)


def computed(tree: Any) -> Any:
    if not isinstance(tree, tuple):
        return tree
    left, symbol, right = tree
    if symbol == "&&":
        return computed(left) and computed(right)
    if symbol == "||":
        return computed(left) or computed(right)
    return _MEANING[symbol](computed(left), computed(right))


def written(tree: Any, least: int = 0) -> str:
    """The tree with as few brackets as the precedence allows; operators bind from the left."""
    if not isinstance(tree, tuple):
        return f"{tree}"
    left, symbol, right = tree
    power = _POWER[symbol]
    text = f"{written(left, power)} {symbol} {written(right, power + 1)}"
    return f"({text})" if power < least else text


@settings(max_examples=800, deadline=None)
@given(numbers | conditions)
def test_precedence_against_an_oracle(tree: Any) -> None:
    """W-5.1.2: a tree written with the fewest brackets is read back with the same meaning."""
    assert value(written(tree)) == computed(tree)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.integers(-5, 5) | st.none(), max_size=12), st.booleans())
def test_sort_is_stable_and_keeps_nulls_last(keys: list[int | None], down: bool) -> None:
    """W-5.3.3: rows with equal keys keep their order in both directions, nulls come last."""
    rows: list[dict[str, Any]] = [{"k": key, "at": at} for at, key in enumerate(keys)]
    got = value(f"fn.sort(rows, 'k', '{'desc' if down else 'asc'}')", rows=rows)
    expected = sorted((row for row in rows if row["k"] is not None), key=lambda row: row["k"], reverse=down)
    assert got == expected + [row for row in rows if row["k"] is None]


@settings(max_examples=300, deadline=None)
@given(st.integers(-(10**9), 10**9), st.integers(-(10**6), 10**6).filter(bool))
def test_remainder_has_the_sign_of_the_dividend(dividend: int, divisor: int) -> None:
    """C-07: |a % b| < |b|, and a % b is zero or has a's sign."""
    rest = value("a % b", a=dividend, b=divisor)
    assert abs(rest) < abs(divisor)
    assert rest == 0 or (rest > 0) is (dividend > 0)
    assert (dividend - rest) % divisor == 0
