"""FEEL in process files: conditions and values mean what DMN 1.5 says; what cannot be read is refused."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest

from penstock import Penstock
from penstock.app.process.definitions import Processes
from penstock.app.process.work_items import WorkItems
from penstock.errors import ProcessInvalid
from penstock.expr import compile_expression
from penstock.lang.compile import check_document
from penstock.lang.process.bpmn.dialects import expression
from penstock.lang.process.drawing import read_drawing, write_drawing
from penstock.lang.process.todos import answered

BPMN = "http://www.omg.org/spec/BPMN/20100524/MODEL"
DATA = {
    "list": [10, 20], "grid": [[1, 2], [3, 4]], "i": 1, "a": 0.1, "b": 0.2, "good": True, "bad": False, "word": "KR",
    "order": {"total": 7, "1": "one"}, "input": {"total": 1}, "nothing": None,
    "orders": [{"total": 1}, {"total": 2}],
}  # fmt: skip


def asked(condition: str) -> bytes:
    """A gateway that takes the way «yes» where the condition holds."""
    return (
        f'<definitions xmlns="{BPMN}" targetNamespace="x"><process id="p" isExecutable="true"><startEvent id="s"/>'
        '<exclusiveGateway id="g" default="no"/><userTask id="yes"/><userTask id="other"/><endEvent id="e"/>'
        '<sequenceFlow id="f" sourceRef="s" targetRef="g"/><sequenceFlow id="y" sourceRef="g" targetRef="yes">'
        f"<conditionExpression>{escape(condition)}</conditionExpression></sequenceFlow>"
        '<sequenceFlow id="no" sourceRef="g" targetRef="other"/><sequenceFlow id="a" sourceRef="yes" targetRef="e"/>'
        '<sequenceFlow id="b" sourceRef="other" targetRef="e"/></process></definitions>'
    ).encode()


def way(folder: Path, condition: str, data: dict[str, Any] = DATA) -> str:
    async def scene() -> Any:
        async with Penstock(folder / "s.db") as door:
            await Processes(door).define(asked(condition), by="kim")
            run = await WorkItems(door).initiate("p", by="kim", input=data)
            await door.wait(run, until_waiting=True)
            return next(iter(door.inbox.each())).node

    return str(asyncio.run(scene()))


@pytest.mark.parametrize(
    ("condition", "taken"),
    [
        ("=list[1] = 10", "yes"), ("=list[2] = 10", "other"), ("=list[-1] = 20", "yes"), ("=grid[1][2] = 2", "yes"),
        ('="list[1]" = "list[1]"', "yes"), ("${list[1] == 20}", "yes"),
    ],
)  # fmt: skip
def test_feel_counts_from_one(tmp_path: Path, condition: str, taken: str) -> None:
    """DMN 1.4, 10.3.2.5: list[1] is the first, list[-1] the last. JUEL's `${…}` counts from 0."""
    assert way(tmp_path, condition) == taken


@pytest.mark.parametrize(
    ("condition", "taken"),
    [
        ("=list[0] = 10", "other"), ("=list[item > 15] = [20]", "yes"), ("=list[i] = 10", "yes"),
        ("=count(list[item > 5]) = 2", "yes"),
    ],
)  # fmt: skip
def test_a_filter_and_a_computed_index_are_those_of_feel(tmp_path: Path, condition: str, taken: str) -> None:
    """DMN 1.5, 10.3.2.5: an index counts from 1, there is no member 0, and a filter gives a list."""
    assert way(tmp_path, condition) == taken


@pytest.mark.parametrize(
    ("condition", "taken"),
    [
        ("=a + b = 0.3", "yes"), ("=a * 3 <= 0.3", "yes"), ("=0.3 = b + a", "yes"), ("=a + b - 0.3 > 0", "other"),
        ("=i / 3 = a", "other"), ('="K" + word = "KKR"', "yes"), ("=-i = a", "other"), ("=1 / 4 = 0.25", "yes"),
        ("=0.1234567890123456 = a", "other"), ("=2 ** 10 = 1024", "yes"), ("=i / 0 = null", "yes"),
    ],
)  # fmt: skip
def test_numbers_are_decimals(tmp_path: Path, condition: str, taken: str) -> None:
    """DMN 1.5, 10.3.2.3.1: FEEL's numbers are decimal, so 0.1 + 0.2 = 0.3 holds."""
    assert way(tmp_path, condition) == taken


@pytest.mark.parametrize(
    ("condition", "taken"),
    [
        ("=i in [1..5]", "yes"), ("=i in (> 5, < 1)", "other"), ("=i between 1 and 5", "yes"),
        ('=@"2024-01-01" < @"2024-01-02"', "yes"), ('=contains(word, "K")', "yes"),
        ("=some x in list satisfies x > 15", "yes"), ("=every x in list satisfies x > 15", "other"),
        ('=word = "a\\nb"', "other"), ('=string join(["a", "b"], ",") = "a,b"', "yes"),
        ("=missing instance of number", "other"), ("=i instance of number", "yes"), ("=i = 1 = true", "yes"),
        ("=count(list) > 1", "yes"), ("=orders.total = [1, 2]", "yes"),
        ('={x: 1, y: x + 1}.y = 2', "yes"), ("=sum(for x in list return x * 2) = 60", "yes"),
        ('="it\'s" + "" = "it\'s"', "yes"), ("=now() > date and time(\"2020-01-01T00:00:00Z\")", "yes"),
        ('=matches(word, "^K.$")', "yes"),
    ],
)  # fmt: skip
def test_all_of_feel_is_evaluated(tmp_path: Path, condition: str, taken: str) -> None:
    """DMN 1.5, 10.3: ranges, loops, quantifiers, functions, types and dates in conditions of a process."""
    assert way(tmp_path, condition) == taken


@pytest.mark.parametrize(
    ("condition", "taken"),
    [
        ("=is defined(i)", "yes"), ("=is defined(missing)", "other"), ("=is defined(nothing)", "other"),
        ("=is defined(order.total)", "yes"), ("=not(is defined(order.missing))", "yes"),
        ("=is defined(value: word) and i = 1", "yes"), ("=get or else(missing, 5) = 5", "yes"),
        ("=get or else(i, 5) = 1", "yes"), ("=get or else(value: nothing, default: good)", "yes"),
    ],
)  # fmt: skip
def test_what_may_be_missing_is_asked_for_as_in_camunda(tmp_path: Path, condition: str, taken: str) -> None:
    """P-X.9: FEEL of Camunda 8 has two functions for it that DMN 1.5 has not."""
    assert way(tmp_path, condition) == taken


@pytest.mark.parametrize(
    ("condition", "name"),
    [
        ("=last(list) = 20", "last"), ("=i = 1 or isdefined(word)", "isdefined"), ("=if f(i) then good else bad", "f"),
        ("=count(list[above(item)]) > 0", "above"), ("=[for x in list return twice(x)] = []", "twice"),
    ],
)
def test_a_function_that_is_not_known_is_refused(tmp_path: Path, condition: str, name: str) -> None:
    """P-X.9, P-X.35: its call would be null and its condition never met, without a word."""
    with pytest.raises(ProcessInvalid) as refused:
        way(tmp_path, condition)
    (finding,) = refused.value.findings
    assert finding.rule == "expression_syntax" and f"There is no function «{name}»" in finding.message
    assert way(tmp_path, "={f: function(x) x + 1, y: f(1)}.y = 2") == "yes"


@pytest.mark.parametrize(
    "name",
    ["count", "date", "duration", "time", "mode", "range", "min", "max", "sum", "string", "number", "context", "now",
     "today", "contains", "median", "not", "round up"],
)  # fmt: skip
def test_a_variable_may_have_the_name_of_a_function(tmp_path: Path, name: str) -> None:
    """DMN 1.5, 10.3.2.13: a name that is not called is what the scope has under it."""
    assert way(tmp_path, f"={name} > 5", {name: 10}) == "yes"
    assert compile_expression(expression(f"={name}"), words=True).run({name: 10, "context": {name: 10}}) == 10


def test_a_function_is_called_beside_a_variable_of_its_name(tmp_path: Path) -> None:
    for place, (count, taken) in enumerate([(3, "yes"), (2, "other")]):
        folder = tmp_path / str(place)
        folder.mkdir()
        assert way(folder, "=count(list) < count", {"list": [1, 2], "count": count}) == taken
    assert way(tmp_path, "=count = null", {"list": []}) == "yes"


@pytest.mark.parametrize(
    ("condition", "data", "taken"),
    [
        ("=other.total > 5", {"other": {"total": 7}}, "yes"), ("${other.total > 5}", {"other": {"total": 7}}, "yes"),
        ("${other.total > 5}", {"other": {"total": 5}}, "other"), ("=other", {"other": True}, "yes"),
        ("${s gt 5}", {"s": 7}, "yes"), ("=count(other) = 2", {"other": [1, 2]}, "yes"),
        ("${s == 'done'}", {"s": "done"}, "yes"), ("=e", {}, "other"),
    ],
)  # fmt: skip
def test_a_name_is_a_variables_although_an_element_has_it(
    tmp_path: Path, condition: str, data: dict[str, Any], taken: str
) -> None:  # fmt: skip
    """P-X.9: no modeler's expression means an element: its condition was never met, or ended the instance."""
    assert way(tmp_path, condition, data) == taken
    findings = check_document(asked(condition), name="p.bpmn")[1]
    assert "name_of_element" not in [finding.rule for finding in findings]


def test_a_name_of_an_element_in_an_answer_and_in_json() -> None:
    """P-X.9: the same where FEEL is written as an answer, and in a document; in our own words the element is meant."""
    for written, found in [("=other.total > 5", []), ("other > 5", ["name_of_element"])]:
        drawing = answered(read_drawing(asked("=i >"), "p.bpmn"), "gateway_conditions:p:g",
                           {"conditions": {"y": written}, "default": "no"})  # fmt: skip
        assert [one.rule for one in check_document(write_drawing(drawing).encode(), name="p.bpmn")[1]] == found
        (flow,) = (flow for flow in drawing.definitions[0]["transitions"] if flow["id"] == "y")
        assert ("context['other']" in flow["condition"]) == (not found)
        data = {**drawing.definitions[0], "transitions": [{**flow, "condition": written}, *(
            one for one in drawing.definitions[0]["transitions"] if one["id"] != "y")]}  # fmt: skip
        assert [one.rule for one in check_document(json.dumps(data).encode(), name="p.json")[1]] == found


def test_the_item_of_an_instance_and_a_result_go_before_an_element_of_their_name() -> None:
    """P-X.9: what only an instance or a result has is no variable of the process."""
    source = (
        f'<definitions xmlns="{BPMN}" xmlns:c="http://camunda.org/schema/1.0/bpmn" '
        'xmlns:z="http://camunda.org/schema/zeebe/1.0" targetNamespace="x"><process id="p" isExecutable="true">'
        '<userTask id="one" c:assignee="${one}"><extensionElements><z:ioMapping><z:input source="=kept" target="k"/>'
        '<z:output source="=kept" target="sum"/></z:ioMapping></extensionElements>'
        '<multiInstanceLoopCharacteristics c:collection="${kept}" c:elementVariable="one"/></userTask>'
        '<userTask id="kept"/><sequenceFlow id="f" sourceRef="one" targetRef="kept"/></process></definitions>'
    )
    one = read_drawing(source, "p.bpmn").definitions[0]["activities"][0]
    assert one["candidates"] == ["user:${one}"] and one["multi"]["items"] == "context['kept']"
    assert (one["params"], one["outputs"]) == ({"k": "${context['kept']}"}, {"sum": "${kept}"})


@pytest.mark.parametrize("condition", ["=i >", "=(i", '="open', "=for x in list", "=i # 2"])
def test_what_cannot_be_read_is_refused_with_its_place(tmp_path: Path, condition: str) -> None:
    with pytest.raises(ProcessInvalid) as refused:
        way(tmp_path, condition)
    (finding,) = refused.value.findings
    assert finding.rule == "expression_syntax" and "FEEL" in finding.message and finding.where.line and finding.hint


@pytest.mark.parametrize(
    ("condition", "taken"),
    [
        ("=not(nothing)", "other"), ("=not(bad)", "yes"), ("=not(good)", "other"), ("=not(not(nothing))", "other"),
        ("=not(nothing and good)", "other"), ("=not(nothing and bad)", "yes"), ("=not(nothing or good)", "other"),
        ("=not(nothing > 5)", "other"), ("=not(i > 5)", "yes"), ("=not(nothing = null)", "other"),
        ("=not(i = null)", "yes"), ("=nothing = null", "yes"), ("=i != null", "yes"), ("=nothing or good", "yes"),
        ("=nothing and good", "other"), ("=(nothing > 5) = null", "yes"), ("=(i > 5) = false", "yes"),
        ('=word != "US"', "yes"), ("=word != 5", "other"), ("=not(word = 5)", "other"), ("=i != 5", "yes"),
        ("=nothing != 5", "yes"), ("=not(i = 5)", "yes"), ("=i != a", "yes"), ("=i != word", "other"),
        ("=i != nothing", "yes"), ("=good != true", "other"), ("=bad != true", "yes"), ("=nothing != true", "yes"),
        ("=true != word", "other"), ("=word != word", "other"),
        ("=(good or bad) and bad", "other"), ("=good or bad and bad", "yes"),
    ],
)  # fmt: skip
def test_feel_has_three_truths(tmp_path: Path, condition: str, taken: str) -> None:
    """DMN 1.4, table 50 (and, or), `not` of what is no boolean is null, and so is a comparison of two kinds and an
    order with null; a condition that is null is not met."""
    assert way(tmp_path, condition) == taken


@pytest.mark.parametrize(
    ("condition", "taken"),
    [
        ("=order.total[1] = 7", "yes"), ("=order.total[-1] = 7", "yes"), ("=order.total[2] = null", "yes"),
        ("=nothing[1] = null", "yes"), ("=order[2] = null", "yes"), ("=list[5] = null", "yes"),
        ("=order[1].total = 7", "yes"), ("=input.total = 1", "yes"), ("=if nothing then good else bad", "other"),
        ("=if i = 1 then list[2] = 20 else bad", "yes"), ("=list = [10, 20]", "yes"), ("=a = .1", "yes"),
        ("=i > -5", "yes"), ('={"total": 7, "1": "one"} = order', "yes"), ("='x' = \"x\"", "yes"),
    ],
)  # fmt: skip
def test_feel_values_are_those_of_the_standard(tmp_path: Path, condition: str, taken: str) -> None:
    """DMN 1.4, 10.3.2.5: a single value in brackets is a list of one. Names are those of variables, whatever they are
    here."""
    assert way(tmp_path, condition) == taken


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("=not(nothing)", None), ("=nothing > 5", None), ("=nothing and good", None), ("=nothing and bad", False),
        ("=i = 5", False), ("=word = 5", None), ('={"total": order.total, n: [i]}', {"total": 7, "n": [1]}),
        ("=order.total[1]", 7), ("=nothing = null", True),
    ],
)  # fmt: skip
def test_a_condition_that_is_asked_for_its_value_may_be_null(text: str, value: Any) -> None:
    assert compile_expression(expression(text), words=True).run(DATA) == value


@pytest.mark.parametrize("text", ["=not(nothing)", "=nothing > 5", "=nothing", "=i + 1", "=word"])
def test_a_condition_is_true_or_false(text: str) -> None:
    """P-X.9: what is null or no boolean is not met, for whatever asks for the value of the condition."""
    assert compile_expression(expression(text, condition=True), words=True).run(DATA) is False


@pytest.mark.parametrize(
    "condition", ["=numberOfCompletedInstances / numberOfInstances >= 0.6", "=nrOfInstances - loopCounter > 1 + 1"]
)
def test_whole_numbers_of_instances_are_counted_with(condition: str) -> None:
    compile_expression(expression(condition, condition=True), words=True)


def test_what_is_nested_too_deeply_is_refused() -> None:
    assert expression("=" + "-" * 4_000 + "1").startswith("=-")
    assert expression("=" + "(" * 4_000).startswith("=(")
