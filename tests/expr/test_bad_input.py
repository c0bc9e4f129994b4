"""Broken sources: every one is refused with a place and a sentence that helps."""

from __future__ import annotations

import pytest

from penstock.errors import ExprLimit, ExprSyntaxError, ExprTypeError, ExprUnknownRoot, PenstockError
from penstock.expr import compile_expression

from .reading import value

BROKEN: list[tuple[str, int, str]] = [
    # (source, character, words of the sentence)
    ("", 1, "empty"),
    ("   ", 4, "empty"),
    ("\n\n", 3, "empty"),
    ("()", 2, "Expected a value"),
    ("(", 2, "Expected a value, but the expression ends"),
    (")", 1, "Expected a value"),
    ("(a", 3, "Expected ')' for the «(» at character 1"),
    ("a)", 2, "Expected an operator or the end, but found «)»"),
    ("((a)", 5, "Expected ')'"),
    ("a b", 3, "Expected an operator"),
    ("1 2", 3, "Expected an operator"),
    ("'a' 'b'", 5, "Expected an operator"),
    ("a +", 4, "Expected a value, but the expression ends"),
    ("+ a", 1, "Expected a value, but found «+»"),
    ("a + + b", 5, "Expected a value"),
    ("a * / b", 5, "Expected a value"),
    ("* a", 1, "Expected a value"),
    ("a ==", 5, "Expected a value"),
    ("== a", 1, "Expected a value"),
    ("a === b", 5, "write == to compare"),
    ("a = b", 3, "nothing can be assigned"),
    ("a =! b", 3, "write =="),
    ("a <> b", 4, "Expected a value"),
    ("a =< b", 3, "write =="),
    ("a & b", 3, "write &&"),
    ("a | b", 3, "write ||"),
    ("a &&", 5, "Expected a value"),
    ("&& a", 1, "Expected a value"),
    ("a || || b", 6, "Expected a value"),
    ("a and b", 3, "write &&"),
    ("a or b", 3, "write ||"),
    ("not a", 5, "write !"),
    ("a in b", 3, "fn.contains"),
    ("a is null", 3, "== null"),
    ("!", 2, "Expected a value"),
    ("-", 2, "Expected a value"),
    ("a!", 2, "Expected an operator"),
    ("a ? b : c", 3, "fn.if"),
    ("a ?? b", 3, "has no meaning"),
    ("a; b", 2, "one expression only"),
    ("a ^ b", 3, "fn.pow"),
    ("a ** b", 4, "Expected a value"),
    ("a // b", 4, "Expected a value"),
    ("a # b", 3, "no comments"),
    ("a @ b", 3, "has no meaning"),
    ("~a", 1, "has no meaning"),
    ("`a`", 1, "a string stands in"),
    ("“a”", 1, "straight quotes"),
    ("‘a’", 1, "straight quotes"),
    ("a\\b", 2, "no escapes"),
    ("$a", 1, "${…}"),
    ("a$", 2, "${…}"),
    ("$", 1, "${…}"),
    ("'abc", 1, "no closing quote"),
    ('"abc', 1, "no closing quote"),
    ("'abc\"", 1, "no closing quote"),
    ("'it's'", 6, "no closing quote"),
    ("'a' + 'b", 7, "no closing quote"),
    ("1abc", 1, "number cannot be read"),
    ("0x10", 1, "number cannot be read"),
    ("1_000", 1, "number cannot be read"),
    ("1e", 1, "number cannot be read"),
    ("1e+", 1, "number cannot be read"),
    ("1.", 2, "Expected an operator"),
    (".5", 1, "Expected a value"),
    ("1.2.3", 4, "Expected an operator"),
    ("1.x", 2, "Expected an operator"),
    ("1[0]", 2, "Expected an operator"),
    ("true.x", 5, "Expected an operator"),
    ("null[0]", 5, "Expected an operator"),
    ("1e400", 1, "too large"),
    ("-1e400", 2, "too large"),
    ("[", 2, "Expected a value"),
    ("[1", 3, "Expected ']' for the «[»"),
    ("[1,", 4, "Expected a value"),
    ("[1,]", 4, "Expected a value"),
    ("[,1]", 2, "Expected a value"),
    ("[1 2]", 4, "Expected ']'"),
    ("[1)", 3, "Expected ']'"),
    ("]", 1, "Expected a value"),
    ("{", 2, "a key in quotes"),
    ("{a: 1}", 2, "a key in quotes"),
    ("{1: 1}", 2, "a key in quotes"),
    ("{'a' 1}", 6, "Expected ':'"),
    ("{'a': }", 7, "Expected a value"),
    ("{'a': 1", 8, "Expected '}'"),
    ("{'a': 1,}", 9, "a key in quotes"),
    ("{'a': 1, 'a': 2}", 10, "stands twice"),
    ("{'a', 1}", 5, "Expected ':'"),
    ("}", 1, "Expected a value"),
    ("a.", 3, "a name after the dot"),
    ("a..b", 3, "a name after the dot"),
    (".a", 1, "Expected a value"),
    ("a.1", 3, "write an index as [0]"),
    ("a.'b'", 3, "a name after the dot"),
    ("a.[0]", 3, "a name after the dot"),
    ("a.(b)", 3, "a name after the dot"),
    ("a[", 3, "Expected a value"),
    ("a[]", 3, "Expected a value"),
    ("a[0", 4, "Expected ']'"),
    ("a[0.5]", 2, "integer or a string"),
    ("a[true]", 2, "integer or a string"),
    ("a[null]", 2, "integer or a string"),
    ("a[1:2]", 4, "Expected ']'"),
    ("a[1, 2]", 4, "Expected ']'"),
    ("${", 3, "Expected a value"),
    ("${}", 1, "nothing between"),
    ("${a", 4, "Expected '}' for the «${»"),
    ("${a}}", 5, "Expected an operator"),
    ("${a b}", 5, "Expected '}'"),
    ("a.${}", 3, "nothing between"),
    ("a.${b", 6, "Expected '}'"),
    ("a.b${c}", 4, "Expected an operator"),
    ("fn", 3, "a function's name"),
    ("fn.", 4, "a function's name"),
    ("fn()", 3, "a function's name"),
    ("fn.1()", 4, "a function's name"),
    ("fn.length", 10, "'(' after fn.length"),
    ("fn.length[0]", 10, "'(' after fn.length"),
    ("fn['length'](a)", 3, "a function's name"),
    ("fn.lenght(a)", 1, "did you mean fn.length?"),
    ("fn.Length(a)", 1, "did you mean fn.length?"),
    ("fn.regexmatch(a, b)", 1, "did you mean fn.regex_match?"),
    (f"fn.{'z' * 50}()", 1, "Unknown function fn.zzz"),
    ("fn.zzzzzz()", 1, "Unknown function fn.zzzzzz"),
    ("fn.__class__()", 1, "Unknown function"),
    ("fn.eval('1')", 1, "Unknown function"),
    ("length(a)", 1, "did you mean fn.length?"),
    ("eval('1')", 1, "is not a function"),
    ("__import__('os')", 1, "is not a function"),
    ("a(1)", 1, "functions are called as fn.name"),
    ("(a)(1)", 4, "Expected an operator"),
    ("a[0](1)", 5, "Expected an operator"),
    ("fn.length()", 1, "takes 1 argument, not 0"),
    ("fn.length(a, b)", 1, "takes 1 argument, not 2"),
    ("fn.if(a, b)", 1, "takes 3 arguments, not 2"),
    ("fn.substring(a)", 1, "takes 2 or 3 arguments, not 1"),
    ("fn.sort(a, b, c, d)", 1, "takes 1 to 3 arguments, not 4"),
    ("fn.concat()", 1, "takes at least 1 argument, not 0"),
    ("fn.random(1)", 1, "takes no arguments, not 1"),
    ("a.map()", 3, "takes 2 arguments, not 1"),
    ("a.length(1)", 3, "takes 1 argument, not 2"),
    ("fn.length(", 11, "Expected a value"),
    ("fn.length(a", 12, "Expected ')' for the «(» at character 10"),
    ("fn.length(a,)", 13, "Expected a value"),
    ("fn.length(,a)", 11, "Expected a value"),
    ("fn.concat(a b)", 13, "Expected ')'"),
    ("a.lenght()", 3, "did you mean .length()?"),
    ("a.abs()", 3, "write fn.abs"),
    ("a.get_variable()", 3, "write fn.get_variable"),
    ("a.run()", 3, "Unknown method .run()"),
    ("a.__class__()", 3, "Unknown method"),
    ("a.b.format('x')", 5, "Unknown method"),
    ("x => x", 3, "a lambda can only be an argument"),
    ("fn.map(a, => 1)", 11, "Expected a value"),
    ("fn.map(a, x =>)", 15, "Expected a value"),
    ("fn.map(a, x = > 1)", 13, "write =="),
    ("fn.map(a, x -> 1)", 14, "Expected a value"),
    ("fn.map(a, () => 1)", 11, "1 or 2 parameters, not 0"),
    ("fn.map(a, (x, y, z) => 1)", 11, "1 or 2 parameters, not 3"),
    ("fn.reduce(a, 0, x => 1)", 17, "2 or 3 parameters, not 1"),
    ("fn.map(a, (x, x) => 1)", 11, "the same name"),
    ("fn.map(a, input => 1)", 11, "cannot be called «input»"),
    ("fn.map(a, true => 1)", 11, "cannot be called «true»"),
    ("fn.map(a, fn => 1)", 11, "cannot be called «fn»"),
    ("fn.map(a, 5 => 1)", 11, "cannot be called «5»"),
    ("fn.map(a, (x,) => 1)", 14, "cannot be called «)»"),
    ("fn.map(a, (x y) => 1)", 14, "Expected ')'"),
    ("fn.map(x => x, a)", 8, "A lambda cannot stand here"),
    ("fn.filter(a, 'b ==')", 19, "Expected a value"),
    ("fn.filter(a, '')", 15, "empty"),
    ("fn.map(a, 'b c')", 14, "Expected an operator"),
    ("fn.map(a, 'x => x')", 14, "a lambda can only be"),
    ("fn.filter(a, 'fn.lenght(b)')", 15, "did you mean fn.length?"),
    ("재고 > 1", 1, "cannot stand in a name"),
    ("a.재고", 3, "cannot stand in a name"),
    ("a\u00a0b", 2, "U+00A0"),
    ("a\u200bb", 2, "U+200B"),
    ("a\x00b", 2, "U+0000"),
    ("\ufeffa", 1, "U+FEFF"),
    ("\ud800", 1, "U+D800"),
    ("a٣", 2, "number cannot be read"),
    ("x\n+\n* y", 5, "Expected a value"),
]


@pytest.mark.parametrize(("source", "position", "words"), BROKEN)
def test_a_broken_source(source: str, position: int, words: str) -> None:
    """W-5.3.7, W-5.1.3: what cannot be read is refused at compile time, with its place and a helpful sentence."""
    with pytest.raises(ExprSyntaxError) as caught:
        compile_expression(source)
    error = caught.value
    assert words in error.message
    assert error.facts["position"] == position
    assert error.code == "EXPR_SYNTAX"
    line, caret = error.pointer().split("\n")
    assert caret.strip() == "^"
    assert len(line) <= 100


def test_there_are_enough_of_them() -> None:
    assert len(BROKEN) >= 150


def test_an_unknown_function_or_a_wrong_count_is_found_at_load() -> None:
    """W-5.3.7: also where the call would never be evaluated, and inside a lambda or an expression string."""
    for source in (
        "true || fn.nope()",
        "fn.if(true, 1, fn.abs())",
        "a.map(x => fn.nope(x))",
        "fn.map(a, 'fn.abs(1, 2)')",
    ):
        with pytest.raises(ExprSyntaxError):
            compile_expression(source)


def test_the_picture_points_at_the_place() -> None:
    with pytest.raises(ExprSyntaxError) as caught:
        compile_expression("a == 1 &&\n  fn.lenght(b) > 2")
    assert caught.value.pointer() == "  fn.lenght(b) > 2\n  ^"
    assert (caught.value.facts["line"], caught.value.facts["column"]) == (2, 3)
    with pytest.raises(ExprSyntaxError) as caught:
        compile_expression("'한글' + )")
    assert caught.value.pointer().split("\n")[1] == " " * 9 + "^"  # a Korean letter is two wide
    with pytest.raises(ExprSyntaxError) as caught:
        compile_expression("1 + " * 500 + ")")
    line, caret = caught.value.pointer().split("\n")
    assert line[len(caret) - 1] == ")"


def test_control_characters_are_not_echoed() -> None:
    """W-5.1.3: an error message is safe to print."""
    with pytest.raises(ExprSyntaxError) as caught:
        compile_expression("'\x1b[31m' + )")
    assert "\x1b" not in caught.value.message
    with pytest.raises(ExprTypeError) as failed:
        value("'\x1b[31m' - 1")
    assert failed.value.message


RUN_TIME: list[tuple[str, type[PenstockError]]] = [
    ("nope", ExprUnknownRoot),
    ("nope.a.b", ExprUnknownRoot),
    ("__class__", ExprUnknownRoot),
    ("__builtins__.eval", ExprUnknownRoot),
    ("self.x", ExprUnknownRoot),
    ("fn.filter([1], 'nope > 1')", ExprUnknownRoot),
    ("s.__class__ + 1", ExprTypeError),
    ("s * 3", ExprTypeError),
    ("s % 3", ExprTypeError),
    ("'%s' % s", ExprTypeError),
    ("list * 2", ExprTypeError),
    ("list[s > 'a']", ExprTypeError),
    ("list[1.5 + 1]", ExprTypeError),
    ("obj[list]", ExprTypeError),
    ("obj + obj", ExprTypeError),
    ("obj > obj", ExprTypeError),
    ("true > false", ExprTypeError),
    ("list && true", ExprTypeError),
    ("n || true", ExprTypeError),
    ("!s", ExprTypeError),
    ("-s", ExprTypeError),
    ("1 + true", ExprTypeError),
    ("null * 1", ExprTypeError),
    ("n < s", ExprTypeError),
    ("list.map(x => x + nothing)", ExprTypeError),
    ("fn.sum(s)", ExprTypeError),
    ("rag.search(1)", ExprUnknownRoot),
    ("fn.pow(9, 99999999)", ExprLimit),
]


@pytest.mark.parametrize(("source", "error"), RUN_TIME)
def test_an_error_at_run_time(source: str, error: type[PenstockError]) -> None:
    """C-07, C-09, W-5.1.1: what cannot be computed is one of the named errors, never a Python exception."""
    with pytest.raises(error):
        value(source, s="text", list=[1, 2], obj={"k": 1}, n=3, nothing=None)


@pytest.mark.parametrize(
    "text", ["{0.__class__}", "%(x)s", "{{7*7}}", "{input}", "%s%s%n", "${", "`id`", "$(id)", "\x1b[31m"]
)
def test_format_tricks_are_plain_text(text: str) -> None:
    """W-5.1.1: strings are never formatted or read again."""
    assert value("fn.concat(t, '')", t=text) == text
    assert value("fn.replace('a', 'a', t)", t=text) == text
    assert value("[t].map(x => x)[0]", t=text) == text
