"""The grammar: literals, precedence, references, calls, lambdas."""

from __future__ import annotations

import pytest

from penstock.errors import ExprSyntaxError
from penstock.expr import compile_expression

from .reading import exact, value

VIEW = {
    "a": {"b": {"c": 7}, "list": [1, 2, 3], "k-1": "dash", "true": "member"},
    "rows": [{"rate": 0.5, "tags": ["x", "y"]}, {"rate": 1.5, "tags": []}],
    "n": 4,
    "_x9_": {"y2": "underscore"},
    "t": True,
    "f": False,
    "s": "text",
    "nothing": None,
}

LITERALS = [
    ('"double"', "double"),
    ("'single'", "single"),
    ("'has \"double\" inside'", 'has "double" inside'),
    ("\"has 'single' inside\"", "has 'single' inside"),
    (r"'\d+\n'", r"\d+\n"),
    ("''", ""),
    ("'한글 ✓'", "한글 ✓"),
    ("0", 0),
    ("42", 42),
    ("-3", -3),
    ("3.25", 3.25),
    ("1e3", 1000.0),
    ("2.5E-2", 0.025),
    ("true", True),
    ("false", False),
    ("null", None),
    ("[]", []),
    ("[1, 'two', [3.5, null]]", [1, "two", [3.5, None]]),
    ("{}", {}),
    ('{"k": 1, \'other key\': {"deep": [true]}}', {"k": 1, "other key": {"deep": [True]}}),
]


@pytest.mark.parametrize(("source", "expected"), LITERALS)
def test_literals(source: str, expected: object) -> None:
    """W-5.1.3: strings in either quote without escapes, integers, floats, booleans, null, arrays, objects."""
    assert exact(value(source), expected)


PRECEDENCE = [
    ("1 + 2 * 3", 7),
    ("(1 + 2) * 3", 9),
    ("10 - 4 - 3", 3),
    ("100 / 10 / 2", 5.0),
    ("7 - 2 + 1", 6),
    ("2 * 7 % 4", 2),
    ("1 + 1 == 2", True),
    ("1 < 2 == true", True),
    ("true == 1 < 2", True),
    ("1 + 1 < 3 && 2 > 1", True),
    ("true || false && false", True),
    ("(true || false) && false", False),
    ("false && false || true", True),
    ("1 == 1 && 2 == 2", True),
    ("!false && false", False),
    ("!(false && false)", True),
    ("!true == false", True),
    ("-2 + 3", 1),
    ("-2 * -3", 6),
    ("2 - -2", 4),
    ("1 == 2 == false", True),
    ("1 != 2 != false", True),
    ("-n + 1", -3),
]


@pytest.mark.parametrize(("source", "expected"), PRECEDENCE)
def test_precedence_and_association(source: str, expected: object) -> None:
    """W-5.1.2: || below && below == != below < <= > >= below + - below * / % below unary; binary from the left."""
    assert exact(value(source, VIEW), expected)


def test_a_comparison_chain_is_read_from_the_left() -> None:
    """W-5.1.2: (3 > 2) > 1 compares a boolean with a number, which is refused."""
    with pytest.raises(Exception, match="cannot compare a boolean with an integer"):
        value("3 > 2 > 1")


REFERENCES = [
    ("${n}", 4),
    ("${a.b.c}", 7),
    ("${a.list[0]}", 1),
    ("${a['k-1']}", "dash"),
    ('${a["b"].c}', 7),
    ("${rows[1].rate}", 1.5),
    ("${a.true}", "member"),
    ("${_x9_.y2}", "underscore"),
    ("fn.length(${rows})", 2),
    ("fn.if(${t}, ${n}, ${a.b.c})", 4),
    ("${n} + ${a.b.c}", 11),
]


@pytest.mark.parametrize(("source", "expected"), REFERENCES)
def test_references_and_calls(source: str, expected: object) -> None:
    """W-5.1.4: ${path} with .name, [integer], ['string']; fn.name(args)."""
    assert exact(value(source, VIEW), expected)


@pytest.mark.parametrize("source", ["${9x}", "${a.9x}", "${a.né}", "${é}", "${a[]}", "${a[1.5]}", "${a", "fn.if(1"])
def test_what_is_no_reference_and_no_call(source: str) -> None:
    """W-5.1.4: an identifier is ASCII and begins with no digit, an index is an integer or a string."""
    with pytest.raises(ExprSyntaxError):
        compile_expression(source)


MORE_THAN_THE_EBNF = [
    ("a.b.c", 7),  # bare path
    ("a.b.c > 5 && s == 'text'", True),
    ("${n > 3 && t}", True),  # a whole expression inside
    ("${n + ${a.b.c}}", 11),
    ("rows[-1].rate", 1.5),  # negative index
    ("rows[n - 4].rate", 0.5),  # computed index
    ("fn.map(rows, r => r.rate)", [0.5, 1.5]),  # lambda
    ("fn.map(rows, (r) => r.rate)", [0.5, 1.5]),
    ("fn.map(rows, (r, i) => r.rate * i)", [0.0, 1.5]),
    ("fn.reduce(rows, 0, (acc, r) => acc + r.rate)", 2.0),
    ("fn.reduce(rows, 0, (acc, r, i) => acc + i)", 1),
    ("rows.map(r => r.rate)", [0.5, 1.5]),  # method
    ("rows.map(r => r.rate).sum()", 2.0),
    ("rows.filter(r => r.rate > n / 4).length()", 1),
    ("s.upper()", "TEXT"),
    ("'a,b'.split(',')", ["a", "b"]),
    ("[3, 1].sort()[0]", 1),  # postfix after a call
    ("(rows)[0].rate", 0.5),  # postfix after a parenthesis
    ("fn.first(rows).tags[1]", "y"),
    ("!!t", True),  # repeated unary
    ("!!!t", False),
    ("--n", 4),
    ("- -n", 4),
    ("rows.map(r => r.tags.map(t => t + n))", [["x4", "y4"], []]),  # a lambda in a lambda
    ("rows.map(n => n.rate)", [0.5, 1.5]),  # a parameter hides a root
    ("[1].map(n => [n]).first().length() + n", 5),
]


@pytest.mark.parametrize(("source", "expected"), MORE_THAN_THE_EBNF)
def test_what_the_examples_use_beyond_the_ebnf(source: str, expected: object) -> None:
    """W-5.1.5, C-06: bare paths, expressions in ${}, negative index, lambdas, methods, postfix, repeated unary."""
    assert exact(value(source, VIEW), expected)


def test_searches_of_the_host_are_called_on_rag() -> None:
    """W-5.1.5, C-06: rag.<name>(args) calls what the host put there; data cannot be called."""
    seen = []

    def similar(data: object, count: int) -> list[object]:
        seen.append((data, count))
        return [{"solution": "clean it"}]

    expression = compile_expression("rag.similar_judgments(rows, 5)[0].solution")
    assert expression({**VIEW, "rag": {"similar_judgments": similar}}) == "clean it"
    assert seen == [(VIEW["rows"], 5)]
    assert expression.calls == {"similar_judgments"}
    for rag in ({"similar_judgments": [1]}, {}, None, "text"):
        with pytest.raises(Exception, match=r"rag.similar_judgments cannot be called here"):
            expression({**VIEW, "rag": rag})
    with pytest.raises(Exception, match="rag"):
        expression(VIEW)


def test_only_rag_may_be_called() -> None:
    """W-5.1.1, C-06: a callable in the data is not reached by a method call."""
    with pytest.raises(ExprSyntaxError, match=r"Unknown method .run\(\)"):
        compile_expression("input.run(1)")


NO_STATEMENTS = [
    "x = 1",
    "let x = 1",
    "a; b",
    "if a { b }",
    "while true { }",
    "import 'os'",
    "for i in rows { i }",
    "fn f() { 1 }",
    "a += 1",
    "a ? b : c",
    "x => x",
    "fn.if(x => x, 1, 2)",
    "[x => x]",
    "(x => x)",
    "fn.length(x => x)",
    "fn.filter(x => x, rows)",
    "rag.search(x => x)",
]


@pytest.mark.parametrize("source", NO_STATEMENTS)
def test_expressions_only(source: str) -> None:
    """W-5.1.1, C-06: no statements, assignment, loops or imports; a lambda only where a function takes one."""
    with pytest.raises(ExprSyntaxError):
        compile_expression(source)


@pytest.mark.parametrize("path", ["__class__", "__class__.__mro__", "__globals__", "__dict__", "keys", "get", "items"])
@pytest.mark.parametrize("root", ["a", "s", "n", "rows", "nothing", "t"])
def test_no_attribute_of_a_host_object(root: str, path: str) -> None:
    """W-5.1.1: members are members of the data; what Python hangs on a value is not there."""
    assert value(f"{root}.{path}", VIEW) is None
    assert value(f"{root}['{path}']", VIEW) is None


def test_spaces_and_lines_do_not_matter() -> None:
    assert value("  1\n\t+ \r\n 2  ") == 3


def test_a_long_chain_is_not_a_deep_tree() -> None:
    """W-5.1.2: operators of one precedence form one level however many there are."""
    assert value(" + ".join(["1"] * 1000)) == 1000
    assert value(" || ".join(["false"] * 400) + " || true") is True
    assert value(" && ".join(["true"] * 400)) is True
    assert value("a" + ".x" * 1500, VIEW) is None


def test_what_an_expression_tells_about_itself() -> None:
    """C-09: roots without lambda parameters, string locals and item fields; functions used; the source."""
    expression = compile_expression(
        "fn.filter(rows, r => r.rate > limit).map('rate * factor + input.base + item.x').sum() + ${x.y} + rows.length()"
    )
    assert expression.roots == {"rows", "limit", "input", "x"}
    assert expression.functions == {"filter", "map", "sum", "length"}
    assert expression.source.startswith("fn.filter(rows")
    assert compile_expression("[1].map(d => d) == d").roots == {"d"}
    assert compile_expression("fn.get_variable('x')").roots == {"context"}
    assert compile_expression("fn.map(rows, 'rate')").roots == {"rows"}
    assert compile_expression("rag.find(q)").roots == {"rag", "q"}
    assert repr(compile_expression("a + 1")) == "Expression('a + 1')"


def test_compiling_is_remembered() -> None:
    assert compile_expression("a + 12345") is compile_expression("a + 12345")
    assert compile_expression("a", words=True) is not compile_expression("a")
