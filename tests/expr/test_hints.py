"""Words and marks of other languages: the message says what to write instead, and where."""

from __future__ import annotations

import pytest

from penstock.errors import ExprSyntaxError
from penstock.expr import compile_expression, foreign_constant

HINTS = [
    ("a AND b", 3, "write && for «and»"),
    ("a OR b", 3, "write || for «or»"),
    ("NOT a", 5, "write ! for «not»"),
    ("NOT (a)", 1, "write ! for «not»"),
    ("a And b", 3, "write && for «and»"),
    ("fn.map(xs, x -> x + 1)", 15, "write => for «->»"),
    ("2 ** 3", 4, "write fn.pow(base, exponent)"),
    ("a === b", 5, "write == to compare, not ==="),
    ("a !== b", 5, "write !=, not !=="),
    ("a ? b : c", 3, "write fn.if(condition, then, else)"),
    ("a ?: b", 3, "write fn.coalesce(value, otherwise)"),
    ("a ?? b", 3, "write fn.coalesce(value, otherwise)"),
    ("a => b", 3, "write >= for «at least»"),
    ("a &&& b", 5, "write && for «&&&»"),
    ("a ||| b", 5, "write || for «|||»"),
    ("a <> b", 4, "write != for «<>»"),
    ("a = b", 3, "write == to compare"),
    ("a =< b", 3, "write <= for «at most»"),
    ("a := b", 4, "nothing can be assigned"),
    ("a // b", 4, "write fn.floor(a / b)"),
    ("a mod b", 3, "write %"),
    ("a eq b", 3, "write =="),
    ("${a AND b}", 5, "write && for «and»"),
]


@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize(("source", "position", "hint"), HINTS)
def test_what_another_language_writes_is_explained(source: str, position: int, hint: str, words: bool) -> None:
    """W-5.1.2: the grammar has these operators and no others; a mistake is told with its place."""
    with pytest.raises(ExprSyntaxError) as caught:
        compile_expression(source, words=words)
    assert hint in str(caught.value)
    assert caught.value.facts["position"] == position


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("None", "Write null for «None»."),
        ("nil", "Write null for «nil»."),
        ("NULL", "Write null for «NULL»."),
        ("undefined", "Write null for «undefined»."),
        ("True", "Write true for «True»."),
        ("FALSE", "Write false for «FALSE»."),
        ("null", ""),
        ("nothing", ""),
    ],
)
def test_a_constant_of_another_language_is_explained(name: str, hint: str) -> None:
    """W-5.1.3: null, true and false are the constants; each other spelling is a name."""
    assert foreign_constant(name) == hint
