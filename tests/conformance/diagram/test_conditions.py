"""Conditions (seed section 4, D-X.16): what is asked, which way is taken, and what that means for what follows."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.expr import compile_expression
from penstock.net.model import Net
from tests.conformance.diagram.make import END, START, cond, edge, found, job, net_of, node, only, rules, text

BOTH = ["Start>C", "C[condtrue]>Yes", "C[condfalse]>No"]
NODES = [START, text("Yes"), text("No")]


def port(net: Net, view: dict[str, Any], label: str = "C") -> str:
    expression = node(net, label).port
    assert expression is not None
    return str(compile_expression(expression, words=True)(view))


def custom(expression: str, way: Any = "Start>C", **fields: Any) -> Net:
    return net_of([*NODES, cond("C", expression=expression, **fields)], [way, *BOTH[1:]])


def test_a_condition_is_a_route_with_two_ports() -> None:
    """D-4.1.1, D-4.1.2, D-12.2: its port is an expression, and the edges of a handle hang on that port, unguarded."""
    net = net_of([*NODES, text("Also"), cond("C", expression="input.yes")], [*BOTH, "C[condtrue]>Also"])
    assert (node(net, "C").kind, node(net, "C").split) == ("route", "all")
    assert [(e.port, e.dst, e.guard) for e in net.edges if e.src == "C"] == [
        ("condtrue", "Yes", None), ("condfalse", "No", None), ("condtrue", "Also", None),
    ]  # fmt: skip
    assert port(net, {"input": {"yes": True}}) == "condtrue"
    assert port(net, {"input": {"yes": False}}) == "condfalse"


@pytest.mark.parametrize("value", [None, 0, 1, "true", "", [], {}])
def test_only_true_is_true(value: Any) -> None:
    """D-4.1.1: a condition always decides; null and whatever is no boolean count as false."""
    assert port(custom("input.yes"), {"input": {"yes": value}}) == "condfalse"


def test_custom_expressions_see_inputs_counters_branches_and_the_epoch() -> None:
    """D-X.16: labelled inputs, `default`, `epoch`, `counters.<label>`, `branches.<label>`; and, or, not."""
    net = custom("score > 80 and not (epoch >= 2) or counters.Yes >= 3", ("Start>C", {"label": "score"}))
    assert port(net, {"score": 81, "epoch": 0, "counters": {}}) == "condtrue"
    assert port(net, {"score": 81, "epoch": 2, "counters": {}}) == "condfalse"
    assert port(net, {"score": 1, "epoch": 2, "counters": {"Yes": 3}}) == "condtrue"
    assert port(custom("branches['C'] == 'condtrue'"), {"branches": {"C": "condtrue"}}) == "condtrue"
    assert port(custom("start.a == default.a"), {"start": {"a": 1}, "default": {"a": 1}}) == "condtrue"


def test_flipped_swaps_the_handles() -> None:
    """D-X.16: `flipped: true` swaps them; a list of two is how the node is drawn."""
    assert port(custom("input.yes", flipped=True), {"input": {"yes": True}}) == "condfalse"
    assert port(custom("input.yes", flipped=[True, True]), {"input": {"yes": True}}) == "condtrue"


def test_unknown_names_in_an_expression_are_told() -> None:
    """D-X.16: an expression that uses what nothing brings is an error at release, with the nearest name."""
    nodes = [*NODES, cond("C", expression="scor > 80")]
    finding = only(found(nodes, [("Start>C", {"label": "score"}), *BOTH[1:]]), "unresolved_reference")
    assert (finding.severity, finding.where.pointer, finding.node) == ("error", "/nodes/3/expression", "C")
    assert finding.hint == "Did you mean «score»?"


@pytest.mark.parametrize("expression", ["score >", "a) || (b", "fn.nothing(1)", "__import__('os')", "lambda: 1"])
def test_expressions_that_are_none(expression: str) -> None:
    """D-X.16: what is no expression of the shared language is told where it stands."""
    findings = found([*NODES, cond("C", expression=expression)], BOTH)
    assert {f.rule for f in findings} <= {"expression_syntax", "unresolved_reference"}
    assert any(f.where.pointer == "/nodes/3/expression" for f in findings)


def test_conditions_that_ask_nothing() -> None:
    """D-X.16: every kind of condition says what it needs."""
    for fields in (
        {"condition_type": "custom"}, {"condition_type": "nodes_executed"}, {"condition_type": "llm_decision"},
        {"expression": ""},
    ):  # fmt: skip
        assert ("error", "missing_field", "C") in rules([*NODES, cond("C", **fields)], BOTH)
    assert ("error", "wrong_type", "C") in rules([*NODES, cond("C", condition_type="magic")], BOTH)
    idle = rules([*NODES, cond("C", expression="input.yes", person="Bot")], BOTH)
    assert idle == [("warning", "idle_field", "C")]


LOOP = ["Start>J", "J>C", "C[condfalse]>J", "C[condtrue]>End"]


def test_detect_max_iterations_in_a_loop() -> None:
    """D-6.1.4, D-6.2.2, D-X.6, D-X.16: the person_jobs with a limit on the same cycle count, and no others."""
    nodes = [
        START, job("Before", max_iteration=9), job("J", max_iteration=3), job("Free"), job("K", max_iteration=2),
        cond("C", condition_type="detect_max_iterations"), END,
    ]  # fmt: skip
    net = net_of(nodes, ["Start>Before", "Before>J", "J>Free", "Free>K", "K>C", "C[condfalse]>J", "C[condtrue]>End"])
    assert node(net, "C").port == "fn.if(counters['J'] >= 3 && counters['K'] >= 2, 'condtrue', 'condfalse')"
    assert port(net, {"counters": {"J": 3, "K": 1}}) == "condfalse"
    assert port(net, {"counters": {"J": 3, "K": 2}}) == "condtrue"


def test_detect_max_iterations_outside_a_loop() -> None:
    """D-X.6: outside a cycle every person_job that leads to it counts."""
    nodes = [
        START, job("J", max_iteration=3), cond("In", condition_type="detect_max_iterations"),
        cond("C", condition_type="detect_max_iterations"), job("Beside", max_iteration=5), END,
    ]  # fmt: skip
    ways = ["Start>J", "J>In", "In[condfalse]>J", "In[condtrue]>C", "C[condtrue]>End", "Start>Beside"]
    assert "counters['J'] >= 3, " in str(node(net_of(nodes, ways), "C").port)


def test_detect_max_iterations_of_nothing_is_an_error() -> None:
    """D-X.6: no person_job with max_iteration leads to it."""
    nodes = [START, job("J"), text("T", max_iteration=3), cond("C", condition_type="detect_max_iterations"), END]
    assert ("error", "no_max_iteration", "C") in rules(nodes, ["Start>T", "T>J", *LOOP[1:]])


def test_detect_max_iterations_reads_counters_of_odd_labels() -> None:
    """D-X.6: a label with a quote in it is still one name."""
    nodes = [START, job("J's", max_iteration=3), cond("C", condition_type="detect_max_iterations"), END]
    net = net_of(nodes, [way.replace("J", "J's") for way in LOOP])
    assert port(net, {"counters": {"J's": 3}}) == "condtrue"


@pytest.mark.parametrize("kind", ["nodes_executed", "check_nodes_executed"])
def test_nodes_executed(kind: str) -> None:
    """D-X.16: labels or numbers of nodes; true when each has executed."""
    net = net_of([*NODES, cond("C", condition_type=kind, node_indices=["Yes", 0])], BOTH)
    done = {"status": "succeeded"}
    assert port(net, {"nodes": {"Yes": done, "Start": done}}) == "condtrue"
    assert port(net, {"nodes": {"Start": done}}) == "condfalse"
    wrong = found([*NODES, cond("C", condition_type=kind, node_indices=["Yse", 99])], BOTH)
    assert [f.rule for f in wrong] == ["unknown_node", "unknown_node"]


def test_llm_decision() -> None:
    """D-X.16: a person is asked first; the condition reads yes or no and hands on what was judged."""
    nodes = [*NODES, cond("C", condition_type="llm_decision", person="Bot", judge_by="Good? {{start}}", timeout=5)]
    net = net_of(nodes, BOTH)
    asks = node(net, "C.ask")
    assert asks.effect is not None
    assert (asks.kind, asks.origin, asks.effect.executor, asks.timeout_ms) == ("task", "C", "llm", 5000)
    assert asks.effect.args["prompt"] == "Good? {{start}}"
    assert edge(net, "Start>C").dst == "C.ask"
    assert edge(net, "C.ask>C").src == "C.ask"
    assert node(net, "C").value == {"$expr": "context['C.judged']"}
    for answer in (True, "yes", " Yes, it is.", "TRUE", '"approved"', "y"):
        assert port(net, {"default": answer}) == "condtrue"
    for answer in (False, "no", "No, yes would be wrong", None, "", "yesterday", {"a": 1}):
        assert port(net, {"default": answer}) == "condfalse"


def test_skippable_edges_are_no_required_inputs() -> None:
    """D-4.2.1, D-4.2.2: edges of a skippable condition are marked, those of an ordinary one too, otherwise."""
    for skippable, role in ((True, "skip"), (False, "cond")):
        net = net_of([*NODES, cond("C", expression="input.yes", skippable=skippable)], BOTH)
        assert {e.role for e in net.edges if e.src == "C"} == {role}


def test_a_loop_controller_raises_the_epoch_on_its_way_back() -> None:
    """D-X.1, D-2.2.2: only edges that close a cycle, and only of a loop controller."""
    nodes = [
        START, job("J", max_iteration=2), cond("C", condition_type="detect_max_iterations"),
        cond("Outer", expression="epoch >= 2", loop_controller=True), END,
    ]  # fmt: skip
    net = net_of(
        nodes, ["Start>J", "J>C", "C[condfalse]>J", "C[condtrue]>Outer", "Outer[condfalse]>J", "Outer[condtrue]>End"]
    )
    assert [e.id for e in net.edges if e.raises] == ["Outer:condfalse>J"]


def test_a_condition_takes_any_input() -> None:
    """D-3.2, D-X.12: conditions join with ANY; an expression over several inputs is worth a warning then."""
    net = custom("input.yes")
    join = node(net, "C").join
    assert (join.mode, join.k, join.take, join.late) == ("k", 1, "all", "fire")
    nodes = [START, text("A"), text("B"), cond("C", expression="a == b"), text("Yes")]
    ways = ["Start>A", "Start>B", "A>C", "B>C", "C[condtrue]>Yes"]
    assert rules(nodes, ways) == [("warning", "condition_takes_any", "C")]
    assert net_of(nodes, ways).declares.variables == {"a": None, "b": None}, "an input that did not come is null"
    nodes[3] = cond("C", expression="a == b", join_policy="all")
    assert rules(nodes, ways) == []
    assert node(net_of(nodes, ways), "C").join.mode == "diagram"


def test_reserved_names() -> None:
    """D-X.16: a label cannot take away what an expression already calls by that name."""
    nodes = [*NODES, cond("C", expression="epoch > 1")]
    assert ("error", "reserved_name", "C") in rules(nodes, [("Start>C", {"label": "epoch"}), *BOTH[1:]])


def test_a_handle_without_connection_ends_the_path() -> None:
    """D-4.1.4: one handle may lead nowhere; a condition after which nothing follows at all is worth a warning."""
    assert rules([*NODES[:2], cond("C")], BOTH[:2]) == []
    assert rules([START, cond("C")], BOTH[:1]) == [("warning", "condition_without_branches", "C")]
