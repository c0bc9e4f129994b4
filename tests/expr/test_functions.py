"""The built-in functions: logic, number, string, array, context."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import ExprDivisionByZero, ExprError, ExprLimit, ExprTypeError
from penstock.expr import FUNCTIONS, compile_expression, context_view

from .reading import exact, value

ROWS = [
    {"id": "a", "rate": 0.5, "line": {"no": 2}},
    {"id": "b", "rate": None, "line": {"no": 1}},
    {"id": "c", "rate": 1.5, "line": {"no": 3}},
    {"id": "d", "rate": 0.5, "line": {"no": 1}},
]
VIEW: dict[str, Any] = {
    "rows": ROWS,
    "nums": [3, 1, 2],
    "nothing": None,
    "s": "Hello World",
    "limit": 0.6,
    "input": {"base": 10},
    "context": context_view({"x": 1, "deep": {"er": [7]}, "a.b": "dotted"}),
    "out": {"k": 5},
    "secrets": {"key": "hidden"},
}

LOGIC: list[tuple[str, object]] = [
    ("fn.if(1 < 2, 'yes', 'no')", "yes"),
    ("fn.if(nothing, 'yes', 'no')", "no"),
    ("fn.if(true, 1, 1 / 0)", 1),  # lazy
    ("fn.if(false, 1 / 0, 2)", 2),
    ("fn.coalesce(nothing, rows[9], 'x', 1 / 0)", "x"),  # lazy
    ("fn.coalesce(nothing, null)", None),
    ("fn.coalesce(false, 1)", False),
    ("fn.coalesce(0, 1)", 0),
    ("fn.default(nothing, 5)", 5),
    ("fn.default('', 5)", ""),
    ("fn.default(1, 1 / 0)", 1),
    ("fn.is_null(nothing)", True),
    ("fn.is_null(0)", False),
    ("fn.is_empty(null)", True),
    ("fn.is_empty('')", True),
    ("fn.is_empty([])", True),
    ("fn.is_empty({})", True),
    ("fn.is_empty(' ')", False),
    ("fn.is_empty(0)", False),
    ("fn.is_empty(false)", False),
    ("fn.is_empty([null])", False),
    ("fn.type_of(null)", "null"),
    ("fn.type_of(true)", "boolean"),
    ("fn.type_of(1)", "integer"),
    ("fn.type_of(1.0)", "float"),
    ("fn.type_of('1')", "string"),
    ("fn.type_of([1])", "array"),
    ("fn.type_of({})", "object"),
    ("fn.type_of(context)", "object"),
]


@pytest.mark.parametrize(("source", "expected"), LOGIC)
def test_logic(source: str, expected: object) -> None:
    """W-5.3.5: if, coalesce and default are lazy; is_null, is_empty, type_of."""
    assert exact(value(source, VIEW), expected)


NUMBER: list[tuple[str, object]] = [
    ("fn.abs(-3)", 3),
    ("fn.abs(-2.5)", 2.5),
    ("fn.round(2.5)", 3),
    ("fn.round(-2.5)", -3),
    ("fn.round(0.5)", 1),
    ("fn.round(2.4)", 2),
    ("fn.round(7)", 7),
    ("fn.round(2.675, 2)", 2.68),
    ("fn.round(-2.675, 2)", -2.68),
    ("fn.round(1.005, 2)", 1.01),
    ("fn.round(1234.5678, 1)", 1234.6),
    ("fn.round(7, 2)", 7),
    ("fn.round(1250, -2)", 1300),
    ("fn.round(-1250, -2)", -1300),
    ("fn.round(1249, -2)", 1200),
    ("fn.round(1250.0, -2)", 1300),
    ("fn.round(1e300, 5)", 1e300),
    ("fn.floor(2.7)", 2),
    ("fn.floor(-2.1)", -3),
    ("fn.floor(3)", 3),
    ("fn.ceil(2.1)", 3),
    ("fn.ceil(-2.7)", -2),
    ("fn.sqrt(9)", 3.0),
    ("fn.sqrt(0)", 0.0),
    ("fn.pow(2, 10)", 1024),
    ("fn.pow(2, -1)", 0.5),
    ("fn.pow(2.0, 3)", 8.0),
    ("fn.pow(9, 0.5)", 3.0),
    ("fn.pow(0, 0)", 1),
    ("fn.pow(-2, 3)", -8),
    ("fn.pow(-1, 1000000001)", -1),
    ("fn.pow(1, 99999999999)", 1),
    ("fn.pow(0, 99999999999)", 0),
    ("fn.pow(10, 18)", 10**18),
]


@pytest.mark.parametrize(("source", "expected"), NUMBER)
def test_number(source: str, expected: object) -> None:
    """W-5.3.4: abs, round half away from zero, floor, ceil, sqrt, pow."""
    got = value(source, VIEW)
    assert got == expected
    assert type(got) is type(expected)


def test_randomness_comes_from_the_view() -> None:
    """W-5.3.4: random and random_int use the source that the host injects, both bounds included."""
    draws = iter([0.25, 0.0, 0.999999, 0.5])
    view = {"$random": lambda: next(draws), "rows": [{"$random": "a row's field is not it"}]}
    assert value("fn.random()", view) == 0.25
    assert value("fn.random_int(3, 5)", view) == 3
    assert value("fn.random_int(3, 5)", view) == 5
    assert value("fn.map(rows, 'fn.random_int(-1, 0)')", view) == [0]
    for source in ("fn.random()", "fn.random_int(1, 2)"):
        with pytest.raises(ExprTypeError, match="randomness is not available here"):
            value(source)
    for source in ("fn.random_int(5, 3)", "fn.random_int(0, 1e3)", "fn.random_int(0, 9223372036854775807)"):
        with pytest.raises(ExprError):
            value(source, {"$random": lambda: 0.5})


STRING: list[tuple[str, object]] = [
    ("fn.concat('a', 1, null, true, [1])", "a1true[1]"),
    ("fn.concat('a')", "a"),
    ("fn.substring('abcdef', 2)", "cdef"),
    ("fn.substring('abcdef', 2, 3)", "cde"),
    ("fn.substring('abcdef', 4, 99)", "ef"),
    ("fn.substring('abcdef', 99)", ""),
    ("fn.substring('abcdef', -2, 3)", "abc"),
    ("fn.substring('abcdef', 1, -1)", ""),
    ("fn.substring('abcdef', 0, null)", "abcdef"),
    ("fn.replace('a.b.c', '.', '-')", "a-b-c"),
    ("fn.replace('aaa', 'aa', 'b')", "ba"),
    ("fn.replace('abc', '', 'x')", "abc"),
    ("fn.replace('abc', 'z', 'x')", "abc"),
    (r"fn.replace('a\d', '\d', '')", "a"),
    ("fn.lower('AbC')", "abc"),
    ("fn.upper('straße')", "STRASSE"),
    ("fn.trim('  a b \n')", "a b"),
    ("fn.split('a,b,,c', ',')", ["a", "b", "", "c"]),
    ("fn.split('abc', '')", ["a", "b", "c"]),
    ("fn.split('', ',')", [""]),
    ("fn.split('', '')", []),
    ("fn.join([1, 'a', null, true], '-')", "1-a--true"),
    ("fn.join([], '-')", ""),
    ("fn.regex_match('connection refused by peer', 'timeout|connection refused')", True),
    ("fn.regex_match('fine', 'timeout|connection refused')", False),
    ("fn.regex_match(nothing, 'x')", False),
    (r"fn.regex_match('order 42', '\d+')", True),
    (r"fn.regex_match('order 42', '^\d+$')", False),
    (r"fn.regex_extract('order 42 of 7', '\d+')", "42"),
    (r"fn.regex_extract('order 42 of 7', 'of (\d+)')", "7"),
    (r"fn.regex_extract('order', '\d+')", None),
    ("fn.regex_extract(nothing, 'x')", None),
    ("fn.regex_extract('ab', '(x)?b')", None),
    ("fn.regex_extract('라인 한글 3', '[가-힣]+ 3')", "한글 3"),
    ("s.lower().split(' ').map(w => w.substring(0, 1)).join('')", "hw"),
]


@pytest.mark.parametrize(("source", "expected"), STRING)
def test_string(source: str, expected: object) -> None:
    """W-5.3.2: ten string functions; replace is literal, regex_match searches, regex_extract prefers group 1."""
    assert exact(value(source, VIEW), expected)


ARRAY: list[tuple[str, object]] = [
    ("fn.length(rows)", 4),
    ("fn.length('한글')", 2),
    ("fn.length({'a': 1})", 1),
    ("fn.length(nothing)", 0),
    ("fn.first(nums)", 3),
    ("fn.first([])", None),
    ("fn.first(nothing)", None),
    ("fn.last(nums)", 2),
    ("fn.last([])", None),
    ("fn.nth(nums, 1)", 1),
    ("fn.nth(nums, -1)", 2),
    ("fn.nth(nums, 3)", None),
    ("fn.nth(nums, -4)", None),
    ("fn.filter(nums, n => n > 1)", [3, 2]),
    ("fn.filter(nums, (n, i) => i > 0)", [1, 2]),
    ("fn.filter(nums, 'item > 1 && index < 2')", [3]),
    ("fn.filter(rows, 'rate > 0.6').map('id')", ["c"]),
    ("fn.filter(rows, 'rate > limit').map('id')", ["c"]),  # a field, and a root
    ("fn.filter(rows, r => r.nothing)", []),
    ("fn.filter(rows, 'no_such_field == null').length()", 4),
    ("fn.filter(rows, \"id == 'a' || line.no == 3\").map(r => r.id)", ["a", "c"]),
    ("fn.map(rows, 'id')", ["a", "b", "c", "d"]),
    ("fn.map(rows, 'line.no')", [2, 1, 3, 1]),
    ("fn.map(rows, 'line.no.deeper')", [None, None, None, None]),
    ("fn.map(rows, 'item.id')", ["a", "b", "c", "d"]),
    ("fn.map(rows, 'index')", [0, 1, 2, 3]),
    ("fn.map(rows, 'limit')", [None, None, None, None]),  # a field path never falls through to a root
    ("fn.map(rows, 'input.base + line.no')", [12, 11, 13, 11]),
    ("fn.map(rows, \"id + '!'\")", ["a!", "b!", "c!", "d!"]),
    ("fn.map(nums, n => n * 2)", [6, 2, 4]),
    ("fn.map([1, 'x', null], 'field')", [None, None, None]),
    ("fn.map([[1, 2], [3]], a => a[0])", [1, 3]),
    ("fn.map(nums, n => nums.map(m => n * m).sum())", [18, 6, 12]),
    ("fn.reduce(nums, 10, (acc, n) => acc + n)", 16),
    ("fn.reduce(nums, 0, (acc, n, i) => acc + n * i)", 5),
    ("fn.reduce(nums, 0, 'acc + item * index')", 5),
    ("fn.reduce(rows, 0, 'acc + line.no')", 7),
    ("fn.reduce([], 'start', (acc, n) => 1)", "start"),
    ("fn.reduce(nums, 10, 'sum')", 16),
    ("fn.reduce(nums, 0, 'min')", 0),
    ("fn.reduce(nums, null, 'min')", 1),
    ("fn.reduce(nums, 0, 'max')", 3),
    ("fn.reduce(nums, 0, 'count')", 3),
    ("fn.reduce(nums, null, 'count')", 3),
    ("fn.reduce(nums, '=', 'concat')", "=312"),
    ("fn.sort(nums)", [1, 2, 3]),
    ("fn.sort(nums, null, 'desc')", [3, 2, 1]),
    ("fn.sort(['b', 'a', 'B'])", ["B", "a", "b"]),
    ("fn.sort([2, null, 1.5, null])", [1.5, 2, None, None]),
    ("fn.sort([2, null, 1.5], null, 'desc')", [2, 1.5, None]),
    ("fn.sort(rows, 'rate').map('id')", ["a", "d", "c", "b"]),  # stable, nulls last
    ("fn.sort(rows, 'rate', 'desc').map('id')", ["c", "a", "d", "b"]),
    ("fn.sort(rows, r => r.line.no).map('id')", ["b", "d", "a", "c"]),
    ("fn.sort(rows, 'line.no', 'asc').map('id')", ["b", "d", "a", "c"]),
    ("fn.sort(rows, '0 - line.no').map('id')", ["c", "a", "b", "d"]),
    (
        "fn.unique([1, 1.0, true, '1', null, null, [1], [1.0], {'a': 1}, {'a': true}, 1])",
        [1, True, "1", None, [1], {"a": 1}, {"a": True}],
    ),
    ("fn.flatten([1, [2, [3]], []])", [1, 2, [3]]),
    ("fn.contains(nums, 2)", True),
    ("fn.contains(nums, 2.0)", True),
    ("fn.contains(nums, '2')", False),
    ("fn.contains([[1, {'a': 2}]], [1, {'a': 2}])", True),
    ("fn.contains([null], null)", True),
    ("fn.contains([1], true)", False),
    ("fn.contains('haystack', 'sta')", True),
    ("fn.contains('haystack', 'x')", False),
    ("fn.contains(nothing, 1)", False),
    ("fn.sum(nums)", 6),
    ("fn.sum([1, null, 0.5])", 1.5),
    ("fn.sum([])", 0),
    ("fn.sum([0.1, 0.2, 0.3])", 0.6),
    ("fn.avg(nums)", 2.0),
    ("fn.avg([1, null, 2])", 1.5),
    ("fn.avg([])", None),
    ("fn.avg([null])", None),
    ("fn.min([3, null, 1.5])", 1.5),
    ("fn.min(['b', 'a'])", "a"),
    ("fn.min([])", None),
    ("fn.max(nums)", 3),
    ("fn.max(['b', null, 'a'])", "b"),
    ("fn.max([null])", None),
]


@pytest.mark.parametrize(("source", "expected"), ARRAY)
def test_array(source: str, expected: object) -> None:
    """W-5.3.3: fifteen array functions with lambdas, expression strings, field paths and named reductions."""
    assert exact(value(source, VIEW), expected)


REFUSED = [
    ("fn.if('yes', 1, 2)", ExprTypeError),
    ("fn.abs('3')", ExprTypeError),
    ("fn.abs(true)", ExprTypeError),
    ("fn.abs(null)", ExprTypeError),
    ("fn.round(2.5, 1.5)", ExprTypeError),
    ("fn.round(2.5, 9999)", ExprTypeError),
    ("fn.floor('x')", ExprTypeError),
    ("fn.sqrt(-1)", ExprTypeError),
    ("fn.sqrt(fn.pow(10, 400))", ExprLimit),
    ("fn.pow(0, -1)", ExprDivisionByZero),
    ("fn.pow(-8, 0.5)", ExprTypeError),
    ("fn.pow(10.0, 400)", ExprTypeError),
    ("fn.pow(10, 4301)", ExprLimit),
    ("fn.lower(5)", ExprTypeError),
    ("fn.lower(null)", ExprTypeError),
    ("fn.substring('a', '0')", ExprTypeError),
    ("fn.substring('a', 0, 1.5)", ExprTypeError),
    ("fn.replace('a', 1, 'b')", ExprTypeError),
    ("fn.split([1], ',')", ExprTypeError),
    ("fn.join('abc', ',')", ExprTypeError),
    ("fn.join([1], 2)", ExprTypeError),
    ("fn.regex_match('a', '(')", ExprTypeError),
    ("fn.regex_match('a', '(?=b)')", ExprTypeError),
    ("fn.regex_match('a', null)", ExprTypeError),
    ("fn.regex_match(5, 'a')", ExprTypeError),
    ("fn.length(5)", ExprTypeError),
    ("fn.first('abc')", ExprTypeError),
    ("fn.nth([1], '0')", ExprTypeError),
    ("fn.filter(rows, r => r.id)", ExprTypeError),
    ("fn.filter(rows, 5)", ExprTypeError),
    ("fn.filter({}, x => true)", ExprTypeError),
    ("fn.map(null, x => x)", ExprTypeError),
    ("fn.map(rows, 5)", ExprTypeError),
    ("fn.map(rows, null)", ExprTypeError),
    ("fn.reduce(nums, 0, s)", ExprTypeError),
    ("fn.reduce(rows, 0, 'sum')", ExprTypeError),
    ("fn.sort([1, 'a'])", ExprTypeError),
    ("fn.sort([true, false])", ExprTypeError),
    ("fn.sort([[1]])", ExprTypeError),
    ("fn.sort(nums, null, 'up')", ExprTypeError),
    ("fn.contains(5, 5)", ExprTypeError),
    ("fn.contains('abc', 5)", ExprTypeError),
    ("fn.sum([1, '2'])", ExprTypeError),
    ("fn.sum([true])", ExprTypeError),
    ("fn.sum([1e308, 1e308])", ExprTypeError),
    ("fn.avg('abc')", ExprTypeError),
    ("fn.min([1, 'a'])", ExprTypeError),
    ("fn.max([[1]])", ExprTypeError),
    ("fn.get_variable(5)", ExprTypeError),
]


@pytest.mark.parametrize(("source", "error"), REFUSED)
def test_arguments_of_the_wrong_kind(source: str, error: type[ExprError]) -> None:
    """W-5.3.2, W-5.3.3, W-5.3.4: an argument that cannot be used is an error with a sentence, never a guess."""
    with pytest.raises(error) as caught:
        value(source, VIEW)
    assert type(caught.value) is error
    assert caught.value.message


VARIABLES = [
    ("fn.get_variable('x')", 1),
    ("fn.get_variable('deep.er')", [7]),
    ("fn.get_variable('a.b')", "dotted"),
    ("fn.get_variable('nope')", None),
    ("fn.get_variable('deep.nope.more')", None),
    ("fn.get_variable('out.k')", 5),  # an output variable
    ("fn.get_variable('out')", {"k": 5}),
    ("fn.get_variable('secrets.key')", None),  # no way around a declared reference
    ("fn.get_variable('secrets')", None),
    ("fn.get_variable('$random')", None),
    ("fn.get_variable('')", None),
    ("fn.get_variable(fn.concat('de', 'ep')).er[0]", 7),
    ("[{'context': {'x': 2}}].map('fn.get_variable(\"x\")')", [1]),  # a row's field does not hide the variables
]


@pytest.mark.parametrize(("source", "expected"), VARIABLES)
def test_get_variable(source: str, expected: object) -> None:
    """W-5.3.6, C-09: a variable by name or dotted path; an unknown name is null; reserved roots are out of reach."""
    assert exact(value(source, VIEW), expected)
    assert value("fn.get_variable('x')") is None


EXAMPLES = [
    ("judgment_result.decision == 'critical'", True),
    ("judgment_result.confidence >= 0.85", True),
    ("judgment_result.decision != 'normal' && judgment_result.confidence >= 0.7", True),
    ("fn.length(defect_data) > 0 && fn.avg(fn.map(defect_data, 'defect_rate')) > 0.05", True),
    ("fn.coalesce(judgment_result.recommendations[0], 'no recommendation')", "no recommendation"),
    ("fn.regex_match(input.error_message, 'timeout|connection refused')", True),
    ("fn.avg(defect_data.map(d => d.defect_rate)) * 1.5", 0.12),
    ("fn.coalesce(context.check_count, 0) + 1", 1),
]


@pytest.mark.parametrize(("source", "expected"), EXAMPLES)
def test_the_examples_of_the_document(source: str, expected: object) -> None:
    """W-5.4.1: the example expressions, those without a calendar, evaluate as their comments say."""
    view = {
        "judgment_result": {"decision": "critical", "confidence": 0.9, "recommendations": []},
        "defect_data": [{"defect_rate": 0.1}, {"defect_rate": 0.06}],
        "input": {"error_message": "connection refused"},
        "context": context_view({}),
    }
    assert exact(value(source, view), expected)


def test_the_table() -> None:
    """W-5.3.2, W-5.3.3, W-5.3.4, W-5.3.5: all functions of the four families, with a line for the reference."""
    families: dict[str, set[str]] = {}
    for name, function in FUNCTIONS.items():
        families.setdefault(function.family, set()).add(name)
        assert function.name == name
        assert function.doc.endswith(".")
        assert function.returns in ("boolean", "integer", "number", "string", "array", "any")
    assert families["logic"] == {"if", "coalesce", "default", "is_null", "is_empty", "type_of"}
    assert families["number"] == {"abs", "round", "floor", "ceil", "sqrt", "pow", "random", "random_int"}
    assert families["string"] == {
        "concat",
        "substring",
        "replace",
        "lower",
        "upper",
        "trim",
        "split",
        "join",
        "regex_match",
        "regex_extract",
    }
    assert families["array"] == {
        "length",
        "first",
        "last",
        "nth",
        "filter",
        "map",
        "reduce",
        "sort",
        "unique",
        "flatten",
        "contains",
        "sum",
        "avg",
        "min",
        "max",
    }
    assert "get_variable" in families["context"]


def test_declared_results_are_true() -> None:
    """W-5.3.2, W-5.3.3, W-5.3.4, W-5.3.5: what a signature promises to return is what comes back."""
    kinds: dict[str, Any] = {
        "boolean": bool,
        "integer": int,
        "number": (int, float),
        "string": str,
        "array": list,
        "any": object,
    }
    for source, _ in [*LOGIC, *NUMBER, *STRING, *ARRAY]:
        expression = compile_expression(source)
        if len(expression.functions) == 1 and source.startswith("fn.") and source.endswith(")"):
            (name,) = expression.functions
            assert isinstance(expression(VIEW), kinds[FUNCTIONS[name].returns]), source


def test_a_missing_regex_engine_is_said_when_a_pattern_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """C-08: without a linear engine no pattern runs; everything else still works."""
    from penstock.errors import ExtraMissing
    from penstock.expr.functions import string

    monkeypatch.setattr(string, "re2", None)
    assert value("fn.upper('a')") == "A"
    with pytest.raises(ExtraMissing):
        value("fn.regex_match('a', 'never seen before')")
