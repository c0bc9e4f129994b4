"""Members of outputs whose shape is known, and values that they can have: what cannot be is a finding."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.lang.decision.shapes import Shape, both, closed, either, one_of
from tests.conformance.decision.make import act, approval, data, document, found, judge, parallel, switch, wait


def told(nodes: list[dict[str, Any]], *ways: str, **top: Any) -> list[tuple[str, str, str]]:
    """(severity, rule, hint) of every finding about members and values."""
    findings = found(document(nodes, ways, **top))
    return [(f.severity, f.rule, f.hint) for f in findings if f.rule in ("unknown_member", "unknown_value")]


def reading(text: str, *before: dict[str, Any], **top: Any) -> list[tuple[str, str, str]]:
    """The findings about an action that reads the text after the nodes."""
    chain = [*before, act("last", message=text)]
    ways = [f"{a['id']}>{b['id']}" for a, b in zip(chain, chain[1:], strict=False)]
    return told(chain, *ways, **top)


MEMBER = ("error", "unknown_member")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("${judgment_result.decison}", "Did you mean «decision»?"),
        ("${judge.decison}", "Did you mean «decision»?"),
        ("${judge.output.confidance}", "Did you mean «confidence»?"),
        ("${fn.upper(judgment_result.reasonning)}", "Did you mean «reasoning»?"),
        ("${judge.statuss}", "Did you mean «status»?"),
        ("${fn.map(input.rows, r => judgment_result.decison)}", "Did you mean «decision»?"),
    ],
)
def test_w_5_2_1_the_verdict_has_these_members(text: str, hint: str) -> None:
    """W-5.2.1: the output of a judgment is decision, confidence, reasoning, matched_rules, recommendations."""
    assert reading(text, judge("judge")) == [(*MEMBER, hint)]


@pytest.mark.parametrize(
    "text",
    [
        "${judgment_result.decision} ${judgment_result.confidence} ${judgment_result.recommendations[0]}",
        "${judgment_result.matched_rules[0]} ${judgment_result.reasoning} ${judgment_result.needs_review}",
        "${judge.output.decision} ${judge.status} ${judge.error.message} ${judge.duration_ms}",
        "${judgment_result[input.name]}",
        "${fn.map(input.rows, judgment_result => judgment_result.anything)}",
        "${fn.filter(input.rows, 'judgment_result.anything')}",
        "${judgment_result.outputs.points} ${judgment_result.rule_pack.version}",
    ],
)
def test_w_5_2_1_what_a_verdict_has_is_read(text: str) -> None:
    """W-5.2.1: no false alarm: members, a computed key, a name of a lambda's own."""
    assert reading(text, judge("judge")) == []


@pytest.mark.parametrize(
    "condition",
    [
        "judgment_result.decision == 'criticl'",
        "'criticl' != judgment_result.decision",
        "${judgment_result.decision} == 'criticl' && input.x > 1",
        "fn.contains(['warning', 'criticl'], judgment_result.decision)",
    ],
)
def test_w_4_3_4_the_decision_is_one_of_four(condition: str) -> None:
    """W-4.3.4: decision is normal, warning, critical or unknown."""
    node = {**act("last"), "condition": condition}
    assert told([judge("judge"), node], "judge>last") == [("error", "unknown_value", "Did you mean «critical»?")]


def test_w_4_3_4_the_review_reads_a_verdict() -> None:
    """W-4.3.4: `human_review_if` has the verdict's fields as bare names."""
    wrong = {**judge("judge"), "audit": {"human_review_if": "confidence < 0.7 || decision == 'criticl'"}}
    assert told([wrong]) == [("error", "unknown_value", "Did you mean «critical»?")]
    right = {**judge("judge"), "audit": {"human_review_if": "confidence < 0.7 || decision == 'critical'"}}
    assert told([right]) == []


def test_w_4_8_1_the_case_that_never_comes() -> None:
    """W-4.8.1: a case is compared with the selector; one that the selector can never equal is an error."""
    cases = [("critical", "a"), ("criticl", "b"), ("${input.w}", "c"), (None, "c"), (True, "c")]
    nodes = [judge("j"), switch("s", "${judgment_result.decision}", cases), act("a"), act("b"), act("c")]
    findings = [f for f in found(document(nodes, ["j>s"])) if f.rule == "unknown_value"]
    assert [f.where.pointer for f in findings] == ["/nodes/1/cases/1/value", "/nodes/1/cases/4/value"]
    assert (findings[0].message, findings[0].hint) == (
        "«${judgment_result.decision}» is never «criticl».",
        "Did you mean «critical»?",
    )


def test_w_4_6_7_the_outcome_of_an_approval() -> None:
    """W-4.6.7: status is approved, rejected, timeout or escalated; a form may ask for more than is known."""
    asked = approval("ask")
    assert reading("${approval_result.status == 'aproved'}", asked) == [
        ("error", "unknown_value", "Did you mean «approved»?")
    ]
    assert reading("${approval_result.commment}", asked) == [("warning", "unknown_member", "Did you mean «comment»?")]
    assert reading("${approval_result.line} ${approval_result.approver}", asked) == []


def test_w_4_8_5_other_types() -> None:
    """W-4.8.5, W-4.7.4: a switch, a wait for a moment and a parallel have known outputs."""
    chosen = switch("s", "input.v", [("x", "last")])
    assert reading("${s.output.matchd}", chosen) == [(*MEMBER, "Did you mean «matched»?")]
    timed = wait("wait_x", {"type": "time", "duration_hours": 1})
    assert reading("${x_result.resumed}", timed) == [(*MEMBER, "Did you mean «resumed_at»?")]
    assert reading("${x_result.anything}", wait("wait_x", {"type": "manual"})) == []
    both = [parallel("p", {"left": ["m"], "right": ["n"]}), act("m"), act("n")]
    last = act("last", message="${parallel_results.lfet.output} ${parallel_results.right.status}")
    assert told([*both, last], "p>last") == [(*MEMBER, "Did you mean «left»?")]


def test_w_4_1_6_what_a_schema_declares() -> None:
    """W-4.1.6: `output.schema` says the shape; an open one is warned of only where something near is declared."""
    row = {"type": "object", "properties": {"defect_rate": {"type": "number"}, "line": {"enum": ["L01", "L02"]}}}
    rows = {**data("d"), "output": {"variable": "rows", "schema": {"type": "array", "items": row}}}
    assert reading("${rows[0].defect_rat}", rows) == [("warning", "unknown_member", "Did you mean «defect_rate»?")]
    assert reading("${rows[0].anything} ${rows[-1].defect_rate}", rows) == []
    assert reading("${rows[0].line == 'L03'}", rows)[0][:2] == ("error", "unknown_value")
    shut = {**rows, "output": {"variable": "rows", "schema": {**row, "additionalProperties": False}}}
    assert reading("${rows.anything}", shut)[0][:2] == MEMBER
    loose = {**rows, "output": {"variable": "rows", "schema": {**row, "anyOf": [{}]}}}
    assert reading("${rows.defect_rat}", loose) == []


def test_w_4_1_5_an_object_that_is_written_out() -> None:
    """W-4.1.5: the output of an expression has the keys that the expression writes."""
    text = '{"rate": input.n, "inner": {"a": 1}}'
    node = {
        "id": "d",
        "type": "DATA",
        "source": {"type": "expression"},
        "output": {"variable": "o", "expression": text},
    }
    assert reading("${o.rat}", node) == [(*MEMBER, "Did you mean «rate»?")]
    assert reading("${o.inner.b}", node)[0][:2] == MEMBER
    assert reading("${o.inner.a} ${o.rate}", node) == []


def test_an_input_schema_says_what_comes_in() -> None:
    """W-9.1.1: a near miss of a declared input is told."""
    top = {"input_schema": {"type": "object", "properties": {"line_id": {"type": "string"}}}}
    assert reading("${input.lineid}", **top) == [("warning", "unknown_member", "Did you mean «line_id»?")]
    assert reading("${input.line_id} ${input.other}", **top) == []


def test_what_may_be_anything_is_not_checked() -> None:
    """C-10, C-76: a transform, a fallback, a variable of that name or another node may bring any shape."""
    shaped = {**judge("judge"), "output": {"transform": {"type": "jq", "expression": "."}}}
    assert reading("${judgment_result.x}", shaped) == []
    on_open = {"action": "fallback", "fallback_node": "other"}
    guarded = {**judge("judge"), "circuit_breaker": {"enabled": True, "on_open": on_open}}
    assert reading("${judgment_result.x}", guarded, act("other")) == []
    named = {**judge("judge"), "output": {"variable": "v"}}
    also = {**data("d"), "output": {"variable": "v"}}
    assert reading("${v.x}", named, also) == []
    assert reading("${v.x}", named, context={"variables": {"v": 1}}) == []


def test_c_39_the_word_of_an_edge() -> None:
    """C-39: an edge from a judgment says a decision; a near miss of one is told as such."""
    way = {"from": "judge", "to": "last", "when": "criticl"}
    findings = found({"id": "wf_test", "version": 1, "nodes": [judge("judge"), act("last")], "edges": [way]})
    assert [(f.rule, f.hint) for f in findings] == [("unresolved_reference", "Did you mean «critical»?")]


def test_an_output_that_several_nodes_may_give() -> None:
    """W-5.2.1: what all of them say of a member holds; where they differ, the member may be anything."""
    inner = closed("name")
    first, second = closed("id", person=inner, rest=inner), closed("id", person=inner, rest=closed("other"))
    shape = either([first, second])
    assert shape is not None and shape.closed and set(shape.fields) == {"id", "person", "rest"}
    assert shape.fields["person"] == inner and shape.fields["rest"] is None
    assert either([first, None]) is None and either([]) is None


def test_an_output_that_is_described_twice() -> None:
    """W-4.1.6: both descriptions hold: their members, their values, and that there are no others."""
    shape = both(closed("id", state=one_of("a")), Shape({"state": one_of("b"), "rows": Shape(items=closed("n"))}))
    assert shape == closed("id", state=one_of("a", "b"), rows=Shape(items=closed("n")))
    assert both(None, shape) == both(shape, None) == shape
