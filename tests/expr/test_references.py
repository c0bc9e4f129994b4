"""Variable references: what resolves, what is null, what is unknown."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import ExprTypeError, ExprUnknownRoot
from penstock.expr import NodeView, check_roots, compile_expression, compile_template, context_view

from .reading import exact, template, value

VIEW: dict[str, Any] = {
    "input": {"line_id": "L01", "params": {"threshold": 0.8}, "n": 1, "none": None, "flag": True, "dotted": "line.L01"},
    "data_node": NodeView({"output": [1, 2], "status": "succeeded"}),
    "judgment_result": {"decision": "critical", "confidence": 0.93, "recommendations": []},
    "defect_data": [{"defect_rate": 0.1}, {"defect_rate": 0.2}],
    "context": context_view({"custom_value": 5}),
    "secrets": {"api_key": "k-1"},
    "aas": {"line": {"L01": {"capacity": 90}, "1": {"capacity": 1}}, "equipment": {"EQ001": {"status": "up"}}},
    "rag": {"similar_cases": [{"solution": "clean"}]},
}

THE_TWELVE = [
    ("${input.line_id}", "L01"),
    ("${input.params.threshold}", 0.8),
    ("${data_node.output}", [1, 2]),
    ("${judgment_result.decision}", "critical"),
    ("${judgment_result.confidence}", 0.93),
    ("${defect_data[0].defect_rate}", 0.1),
    ("${defect_data[-1]}", {"defect_rate": 0.2}),
    ("${context.variables.custom_value}", 5),
    ("${secrets.api_key}", "k-1"),
    ("${aas.line.L01.capacity}", 90),
    ("${aas.equipment.EQ001.status}", "up"),
    ("${rag.similar_cases[0].solution}", "clean"),
]


@pytest.mark.parametrize(("source", "expected"), THE_TWELVE)
def test_all_of_these_resolve(source: str, expected: object) -> None:
    """W-5.2.1: the twelve references of the document, as template, as expression, and without ${}."""
    assert exact(template(source, VIEW), expected)
    assert exact(value(source, VIEW), expected)
    assert exact(value(source[2:-1], VIEW), expected)


def test_the_first_and_the_last_index() -> None:
    """W-5.2.1: an index counts from 0, a negative one from the end."""
    assert [value(f"x[{index}]", x=["a", "b"]) for index in (-3, -2, -1, 0, 1, 2)] == [None, "a", "b", "a", "b", None]


MISSING = [
    "input.nothing",
    "input.nothing.deeper.still",
    "input.nothing[0]",
    "input.none.member",
    "input.line_id.member",
    "input.line_id[0]",
    "input.n.member",
    "input.flag[3]",
    "defect_data[2]",
    "defect_data[-3]",
    "defect_data[99].defect_rate",
    "defect_data.defect_rate",
    "defect_data['0']",
    "judgment_result.recommendations[0]",
    "judgment_result['no such']",
    "input[input.none]",
    "defect_data[9223372036854775807]",
]


@pytest.mark.parametrize("source", MISSING)
def test_what_is_missing_is_null(source: str) -> None:
    """W-5.2.2, C-09: a missing member, an index out of range and a member of null are null."""
    assert value(source, VIEW) is None
    assert value(f"fn.coalesce({source}, 'fallback')", VIEW) == "fallback"
    assert value(f"{source} > 5", VIEW) is False


def test_an_unknown_root_is_an_error() -> None:
    """W-5.2.2, C-09: a name nobody knows is refused at load (check_roots) and at run time, category validation."""
    expression = compile_expression("judgement_result.decision == 'x' || input.a")
    assert check_roots(expression, {"judgment_result"}) == ["judgement_result"]
    assert check_roots(expression, {"judgement_result"}) == []
    assert check_roots(expression, {"judgement_result"}, reserved=()) == ["input"]
    with pytest.raises(ExprUnknownRoot) as caught:
        expression(VIEW)
    assert caught.value.facts["name"] == "judgement_result"
    assert (caught.value.code, caught.value.category) == ("unresolved_reference", "validation")
    for source in ("nope", "nope.a", "nope.a.b", "nope[0]", "nope.a[0].c", "[1].map(x => nope)"):
        with pytest.raises(ExprUnknownRoot):
            value(source, VIEW)


def test_roots_are_read_by_item_access_only() -> None:
    """C-09: a view that resolves its names when asked is asked by view[name] and nothing else."""

    class Lazy(dict[str, Any]):
        def __missing__(self, name: str) -> Any:
            if name == "late":
                return {"x": 2}
            raise KeyError(name)

        def get(self, *_: Any) -> Any:
            raise AssertionError("read by get")

        def __contains__(self, _: object) -> bool:
            raise AssertionError("read by in")

    view = Lazy()
    for source, expected in (
        ("late.x", 2),
        ("late", {"x": 2}),
        ("[1].map(i => late.x + i)", [3]),
        ("late.x == 2", True),
    ):
        assert exact(value_of(source, view), expected)
    with pytest.raises(ExprUnknownRoot):
        value_of("early", view)


def value_of(source: str, view: Any) -> Any:
    return compile_expression(source)(view)


NESTED = [
    ("${aas.line.${input.line_id}}", {"capacity": 90}),
    ("${aas.line.${input.line_id}.capacity}", 90),
    ("aas.line.${input.line_id}.capacity", 90),
    ("aas.line[input.line_id].capacity", 90),
    ("${aas.line.${input.n}.capacity}", 1),  # an integer names the member of that text
    ("${defect_data.${input.n}.defect_rate}", 0.2),
    ("${aas.line.${input.none}}", None),  # null makes the whole reference null
    ("${aas.line.${input.none}.capacity}", None),
    ("${aas.line.${input.missing}.capacity}", None),
    ("${aas.${input.dotted}}", None),  # one literal segment, never read again as a path
    ("${aas.${fn.concat('li', 'ne')}.L01.capacity}", 90),
]


@pytest.mark.parametrize(("source", "expected"), NESTED)
def test_a_nested_reference_is_one_segment(source: str, expected: object) -> None:
    """C-70: ${aas.line.${input.line_id}} equals aas.line[input.line_id]; the inner value is one literal segment."""
    assert exact(value(source, VIEW), expected)
    if source.startswith("$"):
        assert exact(template(source, VIEW), expected)


@pytest.mark.parametrize("inner", ["input.flag", "input.params", "defect_data", "1.5", "input.params.threshold"])
def test_a_nested_reference_is_a_string_or_an_integer(inner: str) -> None:
    """C-70: any other kind of segment is an error."""
    with pytest.raises(ExprTypeError, match="an index is an integer or a string"):
        value(f"${{aas.line.${{{inner}}}}}", VIEW)


def test_data_is_never_read_as_an_expression() -> None:
    """C-70, W-5.1.7: what a value holds is text, also when it looks like an expression, a template or a path."""
    data = "${secrets.api_key}"
    assert template("${x}", VIEW, x=data) == data
    assert template("say ${x}!", VIEW, x=data) == f"say {data}!"
    assert template("${'${'}secrets.api_key}", VIEW) == "${secrets.api_key}"
    assert value("fn.map([input], x)", VIEW, x="secrets.api_key") == [None]
    assert value("fn.map([input], x)", VIEW, x="params.threshold") == [0.8]
    for source in ("fn.filter([1], x)", "fn.reduce([1], 0, x)"):
        with pytest.raises(ExprTypeError):
            value(source, VIEW, x="secrets.api_key == 'k-1'")
    assert compile_template("a ${x}").roots == {"x"}
