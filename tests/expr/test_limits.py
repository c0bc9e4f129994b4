"""Limits: whatever is written, the evaluator answers quickly, with little memory, and with a clear error."""

from __future__ import annotations

import inspect
import sys
import time
import tracemalloc
from typing import Any

import pytest

from penstock.errors import ExprLimit, ExprSyntaxError, ExprTypeError
from penstock.expr import compile_expression, compile_template

from .reading import value

ROWS = [{"a": number, "b": "z"} for number in range(10_000)]
VIEW: dict[str, Any] = {
    "big": "x" * (1 << 20),
    "korean": "가" * (1 << 19),
    "all": list(range(100_000)),
    "many": list(range(100_001)),
    "k": list(range(1_000)),
    "small": list(range(40)),
    "rows": ROWS,
    "rows2": [dict(row) for row in ROWS],
    "digits": 10**4299,
    "context": {},
}


def test_source_length() -> None:
    """C-08: 4,096 characters are read, 4,097 are not."""
    assert value("1" + " " * 4095) == 1
    with pytest.raises(ExprLimit, match="4,097 characters"):
        value("1" + " " * 4096)


@pytest.mark.parametrize(
    ("opening", "closing"),
    [("(", ")"), ("[", "]"), ("fn.abs(", ")"), ("${", "}"), ("-(", ")"), ("1 + (", ")"), ('{"k":', "}")],
)
def test_depth(opening: str, closing: str) -> None:
    """C-08: the tree is at most 64 deep, and no bracket is followed further while reading."""
    fits, breaks = 30, 65
    compile_expression(opening * fits + "1" + closing * fits)
    with pytest.raises(ExprLimit, match="nested more than 64 deep"):
        compile_expression(opening * breaks + "1" + closing * breaks)


@pytest.mark.parametrize("source", ["!" * 65 + "t", "-" * 66 + "x", "x" + ".first()" * 64, "!!(" * 40 + "t" + ")" * 40])
def test_depth_without_brackets(source: str) -> None:
    """C-08: repeated unary operators and method chains count as depth too."""
    with pytest.raises(ExprLimit, match="nested more than 64 deep"):
        compile_expression(source)


def test_exactly_64() -> None:
    """C-08: 64 levels are allowed."""
    assert value("(" * 63 + "1" + ")" * 63) == 1
    assert value("!" * 63 + "t", t=True) is False


@pytest.mark.parametrize(
    "source", ["(" * 10_000, "(" * 4_000, "[" * 4_000, "!!(" * 1_300, "${" * 2_000, '{"":' * 1_000]
)
def test_bracket_bombs(source: str) -> None:
    """C-08: thousands of open brackets are refused cleanly."""
    with pytest.raises((ExprLimit, ExprSyntaxError)):
        compile_expression(source)


def test_steps() -> None:
    """C-08: 100,000 steps are allowed, one more is not; a lambda costs its body's size at every call."""
    assert len(value("all.map(x => x)", VIEW)) == 100_000
    with pytest.raises(ExprLimit, match="100,000 evaluation steps"):
        value("all.map(x => -x)", VIEW)
    with pytest.raises(ExprLimit, match="100,000 evaluation steps"):
        value("all.map(x => x).length() + k.map(x => x).length()", VIEW)
    with pytest.raises(ExprLimit, match="100,000 evaluation steps"):
        value("small.map(a => small.map(b => small.map(c => small.map(d => 1))))", VIEW)


def test_array_size() -> None:
    """C-08: arrays of 100,000 items, not of 100,001."""
    assert value("fn.sum(all)", VIEW) == sum(range(100_000))
    for source in ("fn.sum(many)", "all + [1]", "fn.flatten([all, all])", "fn.split(big, '')", "many.map(x => 1)"):
        with pytest.raises(ExprLimit, match="array"):
            value(source, VIEW)


def test_text_size() -> None:
    """C-08: a text of 1 MiB may be made, not one byte more; counted in UTF-8."""
    assert len(value("big + ''", VIEW)) == 1 << 20
    for source in (
        "big + '.'",
        "'.' + big",
        "fn.concat(big, big)",
        "fn.join([big, big], '')",
        "fn.replace(big, 'x', 'xy')",
        "fn.upper(korean + 'ß')",
        "korean + ''",
        "fn.join(k.map(x => '" + "y" * 1_100 + "'), '')",
        "fn.reduce(small, 'ab', (a, x) => a + a)",
        "'' + [big]",
    ):
        with pytest.raises(ExprLimit, match="text"):
            value(source, VIEW)


def test_integer_size() -> None:
    """C-07, C-08, W-2.2.2: an integer beyond 64 bits is refused by whoever makes it, by every way that makes one."""
    assert value("9223372036854775806 + 1") == 2**63 - 1
    assert value("-9223372036854775807 + 0") == 1 - 2**63
    assert value("most", most=2**64 - 1) == 2**64 - 1  # what came in may go out
    for source in (
        "9223372036854775807 * 4", "9223372036854775807 + 1", "-9223372036854775807 - 2", "fn.pow(2, 64)",
        "fn.pow(2, 63)", "fn.pow(10, 999999)", "fn.sum([9223372036854775807, 1])", "-most", "most + 0",
        "fn.reduce([9223372036854775807, 1], 0, 'sum')", "[1, 2].reduce(9223372036854775807, (a, x) => a + x)",
        "fn.abs(-most + 0.0) + fn.floor(1e30)", "fn.floor(1e19)", "fn.ceil(-1e19)", "fn.round(1e19)",
        "fn.round(9223372036854775807, -1)", "fn.abs(least)", "9223372036854775807 - -1 - 1",
        "fn.reduce([9223372036854775807], 1, 'count') * 9223372036854775807",
        "fn.avg([9223372036854775807, 9223372036854775807])",
    ):  # fmt: skip
        with pytest.raises(ExprLimit, match="64 bits"):
            value(source, most=2**64 - 1, least=-(2**63))
    for source in ("9223372036854775808", "1 + 99999999999999999999", "9" * 4000):
        with pytest.raises(ExprSyntaxError, match="64 bits"):
            value(source)


def test_a_result_can_be_stored() -> None:
    """C-08: parts that are shared in memory are counted as often as they would be written; nesting is bounded."""
    assert value("[rows, rows]", VIEW) == [ROWS, ROWS]
    for source in (
        "fn.reduce(small, [1], (a, x) => [a, a])",
        "k.map(x => big)",
        "[" + ",".join(["big"] * 40) + "]",
        "{" + ",".join(f"'{key}': big" for key in range(40)) + "}",
        "[1]" + ".map(a => [a, a])" * 40,
        "fn.if(true, [" + ",".join(["big"] * 40) + "], 1)",
    ):
        with pytest.raises(ExprLimit, match="a result of more than"):
            value(source, VIEW)
    with pytest.raises(ExprLimit, match="nested more than 200 deep"):
        value("fn.reduce(k, [], (a, x) => [a])", VIEW)
    deep: Any = []
    for _ in range(198):
        deep = [deep]
    assert value("[d]", d=deep) == [deep]
    assert value("[d, [d]] == [d, [d]]", d=deep[0][0]) is True
    for source in ("[[d]]", "[d, [d]]", "[[d], d]"):
        with pytest.raises(ExprLimit, match="nested more than 200 deep"):
            value(source, d=deep)


BOMBS = [
    "fn.pow(9, 4782969)",
    "fn.pow(10, 1000000000)",
    "fn.pow(digits, digits)",
    "fn.reduce(all, 1, (a, x) => a * (x + 1))",
    "fn.reduce(k, 1, (a, x) => a * (x + 1000000))",
    "fn.reduce(small, [1], (a, x) => a + a)",
    "fn.reduce(small, [1], (a, x) => [a, a]) == fn.reduce(small, [1], (a, x) => [a, a])",
    "fn.concat('', fn.reduce(small, [1], (a, x) => [a, a]))",
    "fn.unique([fn.reduce(small, [1], (a, x) => [a, a])])",
    "fn.contains([fn.reduce(small, [1], (a, x) => [a, a])], fn.reduce(small, [1], (a, x) => [a, a]))",
    "k.map(x => big + x)",
    "k.map(x => fn.upper(big))",
    "k.map(x => fn.length(fn.replace(big, 'x', 'y')))",
    "k.map(x => fn.split(big, 'y'))",
    "k.map(x => fn.trim(big))",
    "k.map(x => fn.regex_match(big, 'x*y'))",
    "k.map(x => rows == rows2)",
    "k.map(x => fn.concat(rows))",
    "k.map(x => digits + x)",
    "k.map(x => fn.unique(rows))",
    "k.map(x => fn.sort(rows, 'a'))",
    "k.map(x => fn.contains(all, 100000))",
    "k.map(x => all + [])",
    "k.map(x => fn.flatten([all]))",
    "k.map(x => fn.sum(all))",
    "k.map(x => fn.max(all))",
    "k.map(x => fn.join(all, ','))",
    "k.map(x => fn.map(rows, 'a'))",
    "k.map(x => fn.contains(big, 'y'))",
    "k.map(x => fn.reduce(all, 0, 'count') + fn.reduce(all, 0, 'sum'))",
    "fn.filter(all, x => x > 1)",
    "fn.reduce(all, 0, (a, x) => a + x)",
    "fn.reduce(all, 0, 'acc + item')",
    "&&".join(["rows == rows2"] * 150),
    "+".join(["fn.length('' + rows)"] * 150),
    "+".join(["fn.length(fn.upper(big))"] * 150),
    "fn.regex_match(big, '.*[a-x].{0,500}x.{0,400}y')",
]


@pytest.mark.parametrize("source", BOMBS)
def test_bombs_are_quick_and_small(source: str) -> None:
    """C-08: what is built to take minutes ends in a fraction of a second (0.3 s measured), within 50 MB."""
    expression = compile_expression(source)
    started = time.process_time()
    with pytest.raises(ExprLimit):
        expression(VIEW)
    assert time.process_time() - started < 5  # far from 0.3, for a machine that is busy or traced
    if "small" not in source:  # those build little, and tracing makes them slow
        tracemalloc.start()
        with pytest.raises(ExprLimit):
            expression(VIEW)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 50 << 20


def test_patterns_run_in_linear_time() -> None:
    """C-08: a linear regex engine; a pattern that explodes elsewhere is answered at once, and sizes are bounded."""
    started = time.process_time()
    assert value(r"fn.regex_match(s, '^(a+)+$')", s="a" * 30 + "!") is False
    assert value(r"fn.regex_match(s, '^(a|aa|a?)+$')", s="a" * 100_000 + "!") is False
    assert time.process_time() - started < 0.5
    with pytest.raises(ExprLimit, match="pattern of more than"):
        value("fn.regex_match('a', p)", p="a" * 1_000_000)
    with pytest.raises(ExprTypeError, match="pattern cannot be used"):
        value(r"fn.regex_match('a', '((\pL{100}){50})')")
    with pytest.raises(ExprTypeError, match="not valid Unicode"):
        value("fn.regex_match(s, 'a')", s="\ud800")
    with pytest.raises(ExprTypeError, match="not valid Unicode"):
        value("fn.regex_match('a', p)", p="\ud800")


def test_strings_have_no_escapes() -> None:
    r"""C-08: '\d+' reaches the pattern unchanged."""
    assert value(r"fn.regex_extract('ab12c', '\d+')") == "12"
    assert value(r"'\n'") == "\\n"


def test_data_without_end() -> None:
    """C-08: an array that contains itself is a limit, not a crash, wherever it is walked."""
    ring: list[Any] = [1]
    ring.append(ring)
    other: list[Any] = [1]
    other.append(other)
    for source in ("fn.unique([ring])", "'' + ring", "ring == other", "[ring]", "fn.contains([ring], other)"):
        with pytest.raises(ExprLimit):
            value(source, ring=ring, other=other)
    assert value("fn.flatten(ring).length()", ring=ring) == 3


def test_a_caller_that_is_deep_itself() -> None:
    """C-08: when Python's own stack is nearly full, reading is refused with the same named error."""
    source = "(" * 60 + "1" + ")" * 60

    def deeper(left: int) -> None:
        if left:
            deeper(left - 1)
        else:
            compile_expression(source)

    def deeper_template(left: int) -> None:
        if left:
            deeper_template(left - 1)
        else:
            compile_template(f"${{{source}}}")

    used = len(inspect.stack(0))
    for dive in (deeper, deeper_template):
        with pytest.raises(ExprLimit):
            dive(sys.getrecursionlimit() - used - 60)
    compile_expression(source)


def test_the_meter_belongs_to_one_evaluation() -> None:
    """C-08: the steps of one evaluation do not count for the next."""
    expression = compile_expression("k.map(x => x + 1).length()")
    for _ in range(100):
        assert expression(VIEW) == 1_000
