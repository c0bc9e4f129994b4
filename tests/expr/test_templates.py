"""Texts with ${…}: types kept or turned into text, and where a reference ends."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.errors import ExprLimit, ExprSyntaxError, ExprTypeError
from penstock.expr import compile_expression, compile_template, text_of

from .reading import exact, template

VIEW: dict[str, Any] = {
    "input": {
        "line_id": "L01",
        "n": 3,
        "rate": 0.5,
        "ok": True,
        "none": None,
        "list": [1, "a", None],
        "obj": {"k": [1]},
    },
    "judgment_result": {"decision": "critical"},
}

TYPED = [
    ("${input.n}", 3),
    ("${input.rate}", 0.5),
    ("${input.ok}", True),
    ("${input.none}", None),
    ("${input.list}", [1, "a", None]),
    ("${input.obj}", {"k": [1]}),
    ("${input.n > 2 && input.ok}", True),
    ("${ input.n }", 3),
    ('${{"a": {"b": input.n}}}', {"a": {"b": 3}}),
    ("${'}'}", "}"),
    ("${'a}b{c'}", "a}b{c"),
    ('${"it\'s }"}', "it's }"),
]


@pytest.mark.parametrize(("source", "expected"), TYPED)
def test_a_single_reference_keeps_its_type(source: str, expected: object) -> None:
    """W-5.1.7: a string that is exactly one ${…} yields the typed value; brackets are counted, quotes honoured."""
    assert exact(template(source, VIEW), expected)


TEXTS = [
    ("line_${input.line_id}_${judgment_result.decision}", "line_L01_critical"),
    (" ${input.n}", " 3"),
    ("${input.n} ", "3 "),
    ("${input.n}${input.n}", "33"),
    ("[${input.none}]", "[]"),
    ("[${input.missing.deeper}]", "[]"),
    ("is ${input.ok}", "is true"),
    ("is ${!input.ok}", "is false"),
    ("${input.rate}%", "0.5%"),
    ("v${2.0}", "v2.0"),
    ("v${1}", "v1"),
    ("list: ${input.list}", 'list: [1,"a",null]'),
    ("obj: ${input.obj}", 'obj: {"k":[1]}'),
    ("재고 ${input.line_id} 롤백", "재고 L01 롤백"),
    ("a ${'}'} b ${\"{\"} c", "a } b { c"),
    ('x${{"a": {"b": input.n}}.a.b}', "x3"),
    ("$${input.n}", "$3"),
    ("{${input.n}}", "{3}"),
    ("it's ${input.n} o'clock", "it's 3 o'clock"),
    ("/api/lab/${input.list[1]}?n=${input.n + 1}", "/api/lab/a?n=4"),
]


@pytest.mark.parametrize(("source", "expected"), TEXTS)
def test_other_texts_are_joined(source: str, expected: str) -> None:
    """W-5.1.7: otherwise every ${…} becomes text (null empty, true/false, JSON) and the pieces are joined."""
    assert template(source, VIEW) == expected


@pytest.mark.parametrize("source", ["", "plain", "{a}", "$a", "$ {a}", "{{7*7}}", "a == 'b'", "}", "'", "x" * 100_000])
def test_a_text_without_references_is_itself(source: str) -> None:
    """W-5.1.7: no ${, no expression."""
    expression = compile_template(source)
    assert expression({}) == source
    assert expression.roots == frozenset()


def test_the_same_words_as_expression_and_as_template() -> None:
    """W-5.1.6: an expression field is an expression with or without ${}; any other string is a template."""
    bare, wrapped = "input.n == 3", "${input.n == 3}"
    assert compile_expression(bare)(VIEW) is True
    assert compile_expression(wrapped)(VIEW) is True
    assert compile_template(bare)(VIEW) == bare
    assert compile_template(wrapped)(VIEW) is True


BROKEN = [
    ("${", 1),
    ("a ${b", 3),
    ("a ${}", 3),
    ("${ }", 1),
    ("a ${b} ${c", 8),
    ("a ${'b}", 5),
    ("x\ny ${1 +}", 10),
    ("${a b}", 5),
    ("${{}", 1),
    ("ab ${fn.lenght(x)}", 6),
]


@pytest.mark.parametrize(("source", "position"), BROKEN)
def test_a_broken_template_is_named_at_its_place(source: str, position: int) -> None:
    """W-5.1.7: an error in a reference is told with its place in the whole text."""
    with pytest.raises(ExprSyntaxError) as caught:
        compile_template(source)
    assert caught.value.facts["position"] == position


def test_limits_of_a_template() -> None:
    """C-08: each ${…} has the limit of an expression; the result stays below 1 MiB."""
    long = "x" * 600_000
    assert len(template("${a}" + long, a="y")) == 600_001
    with pytest.raises(ExprLimit):
        template("${a}${a}", a=long)
    with pytest.raises(ExprLimit):
        compile_template("x" * 1_100_000)
    with pytest.raises(ExprLimit):
        compile_template("a ${" + "b + " * 1100 + "b}")
    with pytest.raises(ExprLimit):
        compile_template("${a}" * 200_000)


VALUES: list[Any] = [
    (None, ""),
    (True, "true"),
    (False, "false"),
    (0, "0"),
    (-12, "-12"),
    (10**30, "1" + "0" * 30),
    (0.85, "0.85"),
    (5.0, "5.0"),
    (1e21, "1e+21"),
    ("", ""),
    ('a"b\n한', 'a"b\n한'),
    ([], "[]"),
    ({}, "{}"),
    ([None, True, 1.5, 'a"\n한'], '[null,true,1.5,"a\\"\\n한"]'),
    ({"b": 1, "a": {"c": []}}, '{"b":1,"a":{"c":[]}}'),
    ((1, 2), "[1,2]"),
]


@pytest.mark.parametrize(("given", "expected"), VALUES)
def test_text_of(given: object, expected: str) -> None:
    """W-5.1.7: null is empty, numbers plain, objects and arrays JSON in their own order."""
    assert text_of(given) == expected
    if isinstance(given, dict | list):
        assert text_of(given) == json.dumps(given, ensure_ascii=False, separators=(",", ":"))


def test_text_of_what_has_no_end() -> None:
    """C-08: data that contains itself, or is nested without sense, is a limit and not a crash."""
    ring: list[Any] = []
    ring.append(ring)
    with pytest.raises(ExprLimit):
        text_of(ring)
    deep: Any = 1
    for _ in range(50_000):
        deep = [deep]
    with pytest.raises(ExprLimit):
        text_of(deep)
    with pytest.raises(ExprLimit):
        text_of([["x" * 1000] * 1000] * 1000)
    with pytest.raises(ExprLimit):
        text_of(10**5000)
    with pytest.raises(ExprTypeError):
        text_of([float("nan")])
    with pytest.raises(ExprTypeError):
        text_of({"f": print})


def test_the_place_of_an_index_has_both_brackets() -> None:
    """C-28: what is cut out of a template by its place is the whole expression."""
    text = "/lines/${input['line id']}/${rows[0]}"
    tree = compile_template(text).tree
    parts = [text[one.start : one.end] for one in tree.children]
    assert "input['line id']" in parts and "rows[0]" in parts
