"""The words a diagram may use for the operators and constants."""

from __future__ import annotations

import pytest

from penstock.errors import ExprSyntaxError
from penstock.expr import compile_expression

from .reading import exact

VIEW = {
    "a": True,
    "b": False,
    "n": 3,
    "x": None,
    "branches": {"ok": True, "and": "member"},
    "rows": [{"n": 1}, {"n": 5}],
}

CONDITIONS = [
    ("a and not b", True),
    ("a and b or a", True),
    ("b or b", False),
    ("not a", False),
    ("not not a", True),
    ("not n == 4", True),  # looser than a comparison, as in Python
    ("not b and b", False),  # tighter than `and`
    ("not (a and b)", True),
    ("x == None", True),
    ("a == True and b == False", True),
    ("a && not b || b", True),
    ("!b and true", True),
    ("branches.and", "member"),
    ("branches.ok and n >= 3", True),
    ("rows.filter(r => r.n > 2 and not (r.n == 6)).length()", 1),
    ("fn.filter(rows, 'n > 2 and not (n == 6)').length()", 1),
    ("[True, False, None]", [True, False, None]),
    ("'a and b'", "a and b"),
]


@pytest.mark.parametrize(("source", "expected"), CONDITIONS)
def test_words(source: str, expected: object) -> None:
    """D-X.16: a diagram's condition may write and, or, not, True, False, None."""
    assert exact(compile_expression(source, words=True)(VIEW), expected)


def test_words_are_only_for_those_who_ask() -> None:
    """D-X.16: elsewhere the words are plain names, and the mistake is explained."""
    with pytest.raises(ExprSyntaxError, match="write && for «and»"):
        compile_expression("a and b")
    with pytest.raises(ExprSyntaxError, match="write ! for «not»"):
        compile_expression("!a || not b")
    assert compile_expression("None").roots == {"None"}
    assert compile_expression("None", words=True).roots == frozenset()
    assert compile_expression("not nothing or andy", words=True).roots == {"nothing", "andy"}
