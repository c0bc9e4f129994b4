"""JUEL in process files: it means what Expression Language 2.2 says; what cannot be read is refused."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import Penstock
from penstock.app.process.definitions import Processes
from penstock.app.process.work_items import WorkItems
from penstock.errors import ExprSyntaxError
from penstock.expr import compile_expression
from penstock.lang.compile import check_document
from penstock.lang.process.bpmn.dialects import expression, value_text
from penstock.lang.process.durations import seconds_of
from penstock.lang.process.juel_text import as_expression
from tests.conformance.process.test_feel_in_files import BPMN, asked, way

FULL: dict[str, Any] = {
    "a": 5, "b": 2, "zero": 0, "half": 0.5, "s": "abc", "blank": " ", "yes": True, "no": False, "list": [1, 2],
    "none": [], "map": {"x": 1, "key with blanks": 2}, "digits": "5", "word": "true",
}  # fmt: skip
NULLS: dict[str, Any] = dict.fromkeys(FULL)
#: text → its value over FULL, and over variables that are null or missing (EL 2.2: 1.7 to 1.15)
VALUES: dict[str, tuple[Any, Any]] = {
    # 1.8.1: order; null is neither less nor greater, and at most and at least itself
    "a gt 4": (True, False), "a > 5": (False, False), "a ge 5": (True, False), "a lt 6": (True, False),
    "a <= 4": (False, False), "a le b": (False, True), "b >= a": (False, True), "s lt 'abd'": (True, False),
    "4 < a": (True, False), "a lt b": (False, False),
    # 1.8.2: equality; null is the same as null only; what is compared with a text is one
    "a == 5": (True, False), "a eq 5.0": (True, False), "a != 5": (False, True), "a ne null": (True, False),
    "a == null": (False, True), "s == 'abc'": (True, False), "s != 'abc'": (False, True), "yes == true": (True, False),
    "a == '5'": (True, False), "digits == '5'": (True, False), "yes == 'true'": (True, False),
    "s eq ''": (False, False),
    "a == b": (False, True),
    # 1.7: arithmetic; null is 0, a text that writes a number is one, / is never whole
    "a + 1": (6, 1), "a + b": (7, 0), "a - 7": (-2, -7), "a * b": (10, 0), "a / 2": (2.5, 0), "a div 2": (2.5, 0),
    "a mod 3": (2, 0), "a % 2": (1, 0), "-a": (-5, 0), "a + b * 2": (9, 0), "(a + b) * 2": (14, 0), "'1' + a": (6, 1),
    "a - b - 1": (2, -1), "a + 1 - b": (4, 1), "1.5 + .5": (2.0, 2.0), "1e2": (100.0, 100.0), "-7 mod 3": (-1, -1),
    # 1.9, 1.10: logic; null is false
    "yes and no": (False, False), "yes && a > 1": (True, False), "no or yes": (True, False), "no || no": (False, False),
    "!yes": (False, True), "not yes": (False, True), "not (a gt 9)": (True, True),
    "yes and not no or no": (True, False),
    # 1.10: empty
    "empty s": (False, True), "empty none": (True, True), "not empty list": (True, False), "empty map": (False, True),
    "empty blank": (False, True), "!empty s and a == 5": (True, False), "empty a": (False, True),
    # 1.11: choice
    "a > 4 ? 'big' : 'small'": ("big", "small"), "empty s ? 1 : a == 5 ? 2 : 3": (2, 1), "yes ? a : b": (5, None),
    # 1.6: members; of null they are null
    "map.x": (1, None), "map['x']": (1, None), "map['key with blanks']": (2, None), "list[0]": (1, None),
    "list[1] eq 2": (True, False), "map.missing": (None, None), "map.x.y.z": (None, None), "list[a - 4]": (2, None),
    # 1.15: what binds more tightly
    "a + 1 == 6 and b == 2": (True, False), "1 lt 2 eq true": (True, True), "a == 5 || b == 9 && no": (True, False),
    # methods of String, List and Map
    "list.size()": (2, 0), "list.size() > 1": (True, False), "none.isEmpty()": (True, True), "s.length()": (3, 0),
    "list.contains(2)": (True, False), "s.contains('b')": (True, False), "s.equals('abc')": (True, False),
    "'abc'.equals(s)": (True, False), "s.startsWith('ab')": (True, False), "s.startsWith('bc')": (False, False),
    "s.endsWith('bc')": (True, False), "s.endsWith('xabc')": (False, False), "s.toUpperCase()": ("ABC", ""),
    "'ABC'.toLowerCase() == s": (True, False), "s.equalsIgnoreCase('aBc')": (True, False), "blank.trim()": ("", ""),
    "s.substring(1)": ("bc", ""), "s.substring(0, 2)": ("ab", ""), "s.concat('d')": ("abcd", "d"),
    "map.get('x')": (1, None), "map.containsKey('x')": (True, False), "map.getOrDefault('y', 7)": (7, 7),
    "a.toString()": ("5", ""), "s.replace('b', 'x')": ("axc", ""), "list.get(0)": (1, None),
    # texts, with the escapes of the standard
    "'it\\'s'": ("it's", "it's"), '"a \\"b\\" \\\\ c"': ('a "b" \\ c', 'a "b" \\ c'), "'} }'": ("} }", "} }"),
    "null": (None, None), "true": (True, True), "'both \" and \\''": ("both \" and '", "both \" and '"),
}  # fmt: skip


def value(text: str, variables: dict[str, Any]) -> Any:
    return compile_expression(text, words=True).run(variables)


@pytest.mark.parametrize("text", VALUES)
@pytest.mark.parametrize("wrapped", ["${%s}", "#{ %s }"])
def test_an_expression_has_the_value_of_the_standard(text: str, wrapped: str) -> None:
    """P-X.9: EL 2.2 over several sets of variables; null and missing are the same."""
    ours = as_expression(wrapped % text)
    assert (value(ours, FULL), value(ours, NULLS)) == VALUES[text], ours


EXECUTION = {
    "execution.getVariable('s') == 'abc'": True, "execution.getVariable('input') == 1": True,
    "execution.hasVariable('s')": True, "execution.hasVariable('gone')": False,
    "execution.getVariable(name) > 4": True, "execution.processBusinessKey": "K-1",
    "execution.getProcessBusinessKey().startsWith('K')": True, "loopCounter < 3": True, "input == 1": True,
}  # fmt: skip


@pytest.mark.parametrize("text", EXECUTION)
def test_what_an_execution_knows(text: str) -> None:
    """P-X.9: its variables under any name, also those that expressions of ours reserve; the business key is one."""
    variables = {**FULL, "name": "a", "businessKey": "K-1", "loopCounter": 1, "gone": None}
    names = {**variables, "input": 1}
    view = {**variables, "context": {**names, "variables": names}}
    assert value(as_expression(f"${{{text}}}"), view) == EXECUTION[text]


REFUSED = {
    "S(order).prop('total').value() > 5": "S(…)", "now()": "now(…)", "dateTime().plusDays(1)": "dateTime(…)",
    "task.assignee == 'kim'": "«task»", "staff.pick(execution)": "staff.pick(…)", "s.matches('a.c')": ".matches(…)",
    "execution.currentActivityName": "execution.currentActivityName", "execution.setVariable('a', 1)": "setVariable",
    "date.before(other)": "before", "'a' + 1": "no number", "true * 2": "no number", "a ? b": "}", "a gt": "}",
    "a = 5": "=", "x -> x": "-", "a ~ b": "~", "'open": "closing quote", "": "}", "(a": "}", "1e999": "too large",
    "s.length(1)": "arguments", "ns:call(a)": ":", "a b": "b", "a eq eq b": "eq", "99999999999999999999": "too large",
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_read_is_named(text: str) -> None:
    """P-X.35: an error with its place and what it is about, never another value."""
    with pytest.raises(ExprSyntaxError) as refused:
        as_expression(f"${{{text}}}")
    assert REFUSED[text] in str(refused.value) and refused.value.facts["position"] >= 1


@pytest.mark.parametrize(
    "text",
    ["(" * 3_000, "-" * 3_000 + "1", "a" + ".b" * 1_500, "a" * 5_000, "not " * 900 + "a", "a ? " * 900,
     "s" + ".concat(s)" * 400, "s" + ".endsWith(s)" * 45, "a[" * 900],
)  # fmt: skip
def test_what_is_nested_or_grows_too_much_is_refused(text: str) -> None:
    with pytest.raises(ExprSyntaxError):
        as_expression(f"${{{text}}}")


PARTS = ["a", "b.c", "1", ".5", "true", "null", "'t'", " eq ", " and ", " empty ", "not ", ".size()", ".get(", ".x",
         *"()[]{}$#!?:,+-*/%<>=&|\\ "]  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=14))
def test_any_text_is_read_or_refused(parts: list[str]) -> None:
    """P-X.35: and what is read is an expression of ours."""
    text = "".join(parts)
    try:
        ours = as_expression(f"${{{text}}}")
    except ExprSyntaxError:
        return
    assert compile_expression(ours, words=True).source == ours


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("plain", "plain"), ("PT5M", "PT5M"), ("${wait}", "${wait}"), ("=wait", "${wait}"), ("#{a.b}", "${a.b}"),
        ("order-${id}", "${fn.concat('order-', id)}"), ("${a}/#{b}!", "${fn.concat(a, '/', b, '!')}"),
        ("\\${kept}", "${'${kept}'}"), ("a } b", "a } b"), ("${fn.upper(name)}", "${fn.upper(name)}"),
        ("${context['x']}", "${context['x']}"),
    ],
)  # fmt: skip
def test_texts_in_which_there_are_expressions(text: str, read: str) -> None:
    """EL 2.2, 1.2.3: a composite is a text; what only our own expressions have stays as it is."""
    assert value_text(text) == read


@pytest.mark.parametrize(
    ("condition", "taken"),
    [
        ("${i gt 0 and not empty word}", "yes"), ("#{word.startsWith('X') ? false : true}", "yes"),
        ("${missing == null}", "yes"), ("${missing gt 1}", "other"), ("${execution.getVariable('i') eq 1}", "yes"),
        ("${execution.hasVariable('missing')}", "other"), ("${input.total == 1}", "yes"),
        ("${missing + 1 == 1}", "yes"), ("${orders.size() == 2 && list.contains(20)}", "yes"),
    ],
)  # fmt: skip
def test_a_run_takes_the_way_that_juel_says(tmp_path: Path, condition: str, taken: str) -> None:
    """P-X.9: at a gateway, with variables that are there, null and missing."""
    assert way(tmp_path, condition) == taken


# ---- several dialects ------------------------------------------------------------------------------------------------


def three(first: str, second: str, third: str, *, more: str = "") -> bytes:
    """One gateway with three conditions of their own, and a default."""
    flows = "".join(
        f'<sequenceFlow id="y{n}" sourceRef="g" targetRef="t{n}">{condition}</sequenceFlow>'
        f'<userTask id="t{n}"/><sequenceFlow id="o{n}" sourceRef="t{n}" targetRef="e"/>'
        for n, condition in enumerate((first, second, third, ""))
    )
    return (
        f'<definitions xmlns="{BPMN}" targetNamespace="x" {more}><process id="p" isExecutable="true">'
        f'<startEvent id="s"/><exclusiveGateway id="g" default="y3"/><endEvent id="e"/>'
        f'<sequenceFlow id="f" sourceRef="s" targetRef="g"/>{flows}</process></definitions>'
    ).encode()


def said(text: str, language: str = "") -> str:
    given = f' language="{language}"' if language else ""
    return f"<conditionExpression{given}>{escape(text)}</conditionExpression>"


def goes(folder: Path, source: bytes, data: dict[str, Any]) -> str:
    async def scene() -> str:
        async with Penstock(folder / "s.db") as door:
            await Processes(door).define(source, by="kim")
            run = await WorkItems(door).initiate("p", by="kim", input=data)
            await door.wait(run, until_waiting=True)
            return str(next(iter(door.inbox.each())).node)

    return asyncio.run(scene())


def test_three_dialects_in_one_file(tmp_path: Path) -> None:
    """P-X.9: what stands around an expression says what it is: list[1] is the second of JUEL and the first of FEEL."""
    source = three(said("${list[1] == 10}"), said("=list[1] = 10"), said("list[1] == 20"))
    for n, (data, task) in enumerate([([10, 5], "t1"), ([5, 10], "t0"), ([5, 20], "t2"), ([1, 2], "t3")]):
        (folder := tmp_path / str(n)).mkdir()
        assert goes(folder, source, {"list": data}) == task


FEEL = "https://www.omg.org/spec/DMN/20191111/FEEL/"
XPATH = "http://www.w3.org/1999/XPath"


@pytest.mark.parametrize("more", [f'expressionLanguage="{FEEL}"', ""])
def test_the_language_of_an_expression_or_of_its_file(tmp_path: Path, more: str) -> None:
    """BPMN 2.0.2, 8.4.6 and 10.3.1: `language` of an expression goes before `expressionLanguage` of the file."""
    own = "" if more else FEEL
    source = three(said("list[1] = 10", own), said("${list[1] == 10}"), said("count(list) > 5", own), more=more)
    assert goes(tmp_path, source, {"list": [10, 5]}) == "t0"


def test_a_default_that_a_modeler_writes_by_habit_changes_nothing(tmp_path: Path) -> None:
    """Files of Activiti and jBPM name XPath and mean JUEL; others name it and have words in no language."""
    source = three(said("${i == 2}"), said("i == 1"), said("=i = 3"), more=f'expressionLanguage="{XPATH}"')
    assert goes(tmp_path, source, {"i": 1}) == "t1"


@pytest.mark.parametrize(
    ("condition", "more", "language"),
    [
        (said("amount > 1000", "groovy"), "", "groovy"), (said("x === 1", "text/javascript"), "", "javascript"),
        (said("getDataObject('order')/total > 5"), "", "xpath"),
        (said("a/b = 1"), f'expressionLanguage="{XPATH}"', "xpath"),
        (said("return x == 1;", "http://www.java.com/java"), "", "java"),
        ('<conditionExpression language="groovy" c:resource="check.groovy"/>',
         'xmlns:c="http://camunda.org/schema/1.0/bpmn"', "groovy"),
    ],
)  # fmt: skip
def test_a_language_that_is_not_run_is_named(condition: str, more: str, language: str) -> None:
    """P-X.25: an error at the flow, which never becomes the way without a condition."""
    source = three(condition, said("=i = 1"), said("${i == 2}"), more=more)
    (finding,) = [one for one in check_document(source, name="x.bpmn")[1] if one.severity == "error"]
    assert (finding.rule, finding.where.pointer) == ("expression_language", "/transitions/1/condition")
    assert language in finding.message and finding.hint and finding.where.line


@pytest.mark.parametrize(
    ("text", "taken"), [("i = 1", "t0"), ('word = "KR" and i = 1', "t0"), ("i = 2", "t3"), ("i == 1", "t0")]
)
def test_what_nothing_marks_may_be_feel(tmp_path: Path, text: str, taken: str) -> None:
    """DMN 1.5, 10.3.1.2: one = compares; what is no expression of ours and no text of people is FEEL."""
    data = {"i": 1, "word": "KR"}
    assert goes(tmp_path, three(said(text), said("=false"), said("=false")), data) == taken


def test_juel_that_cannot_be_read_is_a_finding_with_its_place() -> None:
    """P-X.35: in our words, with what is not known."""
    found = check_document(asked("${staff.boss(execution) == 'kim'}"), name="x.bpmn")[1]
    (finding,) = [one for one in found if one.severity == "error"]
    assert finding.rule == "expression_syntax" and "JUEL" in finding.message and "staff.boss(…)" in finding.message
    assert "beans" in finding.hint and expression("${staff.boss(execution)}") == "#{staff.boss(execution)}"


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("PT1M30S", 90), ("P1DT1S", 86_401), ("1.5", 1.5)])
def test_a_duration_may_be_computed(text: str, seconds: float) -> None:
    """P-X.25: `${wait}` gives seconds, or an ISO 8601 duration as the timers of other engines want it."""
    wait: Any = text if text.startswith("P") else float(text)
    assert value(seconds_of("wait"), {"wait": wait}) == seconds
