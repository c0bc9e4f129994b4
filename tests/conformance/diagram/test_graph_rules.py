"""Joins, loops, limits and connections of a diagram, and what is said about graphs that cannot work."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import DocumentInvalid
from penstock.lang.compile import check_document
from penstock.lang.report import LONGEST
from penstock.net.compiled import Compiled
from tests.conformance.diagram.make import (
    END,
    START,
    compiled,
    cond,
    document,
    edge,
    found,
    job,
    net_of,
    node,
    only,
    plain,
    rules,
    text,
)  # fmt: skip
from tests.counted import grows_evenly

FAN = [START, text("A"), text("B"), text("D"), text("N")]
FAN_WAYS = ["Start>A", "Start>B", "Start>D", "A>N", "B>N", "D>N"]


def test_all_is_the_default_join() -> None:
    """D-3.1, D-X.12: every node but a condition joins with the diagram's ALL and takes all that lies there."""
    nodes, ways = plain(text("T"))
    for label in ("T", "End"):
        assert (node(net_of(nodes, ways), label).join.mode, node(net_of(nodes, ways), label).join.take) == (
            "diagram",
            "all",
        )


def test_any_join() -> None:
    """D-3.2, D-X.12: one token is enough, and a late one fires again."""
    join = node(net_of([*FAN[:4], text("N", join_policy="any")], FAN_WAYS), "N").join
    assert (join.mode, join.k, join.take, join.late) == ("k", 1, "all", "fire")


def test_k_of_n_join() -> None:
    """D-3.3, D-X.12: `join_k` inputs are enough, and late ones are absorbed."""
    join = node(net_of([*FAN[:4], text("N", join_policy="k_of_n", join_k=2)], FAN_WAYS), "N").join
    assert (join.mode, join.k, join.take, join.late) == ("k", 2, "all", "absorb")


@pytest.mark.parametrize("k", [0, -1, 4, 1.5, "two", None])
def test_k_must_fit(k: Any) -> None:
    """D-X.12, D-A.8: 1 ≤ k ≤ number of in-edges; START edges count."""
    nodes = [*FAN[:4], text("N", join_policy="k_of_n", join_k=k)]
    errors = [f for f in found(nodes, FAN_WAYS) if f.severity == "error"]
    assert {f.node for f in errors} == {"N"}
    if k == 4:
        assert [(f.rule, f.where.pointer, f.hint) for f in errors] == [
            ("join_k_range", "/nodes/4/join_k", "It can be 1 to 3.")
        ]
    started = [START, text("N", join_policy="k_of_n", join_k=2), {**START, "label": "Also"}]
    assert rules(started, ["Start>N", "Also>N"]) == []


def test_join_k_alone_is_worth_a_warning() -> None:
    """D-X.12: `join_k` says something only together with k_of_n."""
    assert rules([*FAN[:4], text("N", join_k=2)], FAN_WAYS) == [("warning", "join_k_unused", "N")]


def test_join_timeout() -> None:
    """D-X.26: off by default."""
    net = net_of([*FAN[:4], text("N", join_timeout_ms=500)], FAN_WAYS)
    assert (node(net, "N").join_timeout_ms, node(net, "A").join_timeout_ms) == (500, None)


def test_limits_of_a_run() -> None:
    """D-7.2.2, D-7.2.3, D-X.5: 20 nodes at work at once, 1000 executions of one node unless it is said otherwise."""
    nodes, ways = plain(text("T"), {"label": "Ask", "type": "user_response", "prompt": "?"})
    net = net_of(nodes, ways)
    assert (net.limits, net.max_visits) == ({"diagram": 20}, 1000)
    assert {n.id: n.group for n in net.nodes} == {"Start": "", "T": "diagram", "Ask": "", "End": ""}
    assert net_of(nodes, ways, max_node_executions=7).max_visits == 7


def test_failure_drains_and_deadlock_fails() -> None:
    """D-X.8, D-X.10: running nodes finish after a failure; tokens that cannot move fail the run."""
    net = net_of(*plain(text("T")))
    assert (net.on_fail, net.on_stuck) == ("drain", "fail")


def test_connection_options() -> None:
    """D-X.23, D-12.3, D-12.4, D-12.6, D-12.10: ttl, priority, transform and capacity of a connection."""
    more = {"ttl_s": 1.5, "priority": 5, "transform": "body.x + 1", "capacity": 2}
    one = edge(net_of([START, text("T", priority=3)], [("Start>T", more)]), "Start>T")
    assert (one.ttl_ms, one.priority, one.transform, one.capacity) == (1500, 5, "body.x + 1", 2)
    assert node(net_of([START, text("T", priority=3)], ["Start>T"]), "T").priority == 3
    wrong = {"ttl_s": 0, "priority": "high", "transform": "bod.x", "capacity": 0}
    findings = found([START, text("T")], [("Start>T", wrong)])
    assert sorted(f.where.pointer.rsplit("/")[-1] for f in findings) == ["capacity", "priority", "transform", "ttl_s"]


def test_expired_tokens_may_go_to_a_dead_port() -> None:
    """D-X.23: `A[dead]` is where A's expired tokens go; nothing waits for them."""
    nodes = [START, text("A"), text("B"), END]
    net = net_of(nodes, ["Start>A", ("A>B", {"ttl_s": 1}), "B>End", "A[dead]>End"])
    dead = edge(net, "A:dead>End")
    assert (dead.port, dead.role) == ("dead", "skip")


def test_several_connections_between_two_nodes() -> None:
    """D-X.14: each is an edge of its own; equal ones are worth a warning."""
    ways = ["Start>T", ("Start>T", {"label": "more"})]
    assert [e.id for e in net_of([START, text("T")], ways).edges] == ["Start>T", "Start>T#2"]
    assert rules([START, text("T")], ["Start>T", "Start>T"]) == [("warning", "duplicate_connection", "T")]


def test_conversations() -> None:
    """D-2.3.3: who wants the whole conversation gets it; where text is wanted, what was said last travels."""
    nodes, ways = plain(job("A"), job("B"))
    nets = net_of(
        nodes, [ways[0], (ways[1], {"content_type": "conversation_state"}), (ways[2], {"content_type": "raw_text"})]
    )
    first, second = node(nets, "A").effect, node(nets, "B").effect
    assert first is not None and second is not None
    assert first.args["conversation"] is True
    assert "conversation" not in second.args
    transform = edge(nets, "B>End").transform
    assert transform is not None
    from penstock.expr import compile_expression

    as_text = compile_expression(transform)
    assert as_text({"body": {"messages": [{"role": "assistant", "content": "hi"}]}}) == "hi"
    assert as_text({"body": {"a": [1]}}) == '{"a":[1]}'
    assert as_text({"body": "plain"}) == "plain"


def test_a_diagram_needs_a_start() -> None:
    """D-X.11: without one it is invalid; with several each is one."""
    assert [f.rule for f in found([text("A"), text("B")], ["A>B"]) if f.severity == "error"] == ["no_start"]
    assert "no_start" in [f.rule for f in found([], [])]
    two = net_of([START, {**START, "label": "Also"}, text("T")], ["Start>T", "Also>T"])
    assert [n.kind for n in two.nodes] == ["start", "start", "task"]


@pytest.mark.parametrize("merge", [text("M"), {"label": "M", "type": "endpoint"}], ids=["node", "endpoint"])
def test_a_merge_of_exclusive_branches(merge: dict[str, Any]) -> None:
    """D-X.9, D-A.10: with ALL a warning at the merge, with ANY nothing to say."""
    nodes = [START, cond("C"), text("A"), text("B"), merge]
    ways = ["Start>C", "C[condtrue]>A", "C[condfalse]>B", "A>M", "B>M"]
    (finding,) = found(nodes, ways)
    assert (finding.severity, finding.node, finding.where.pointer) == ("warning", "M", "/nodes/4")
    assert finding.hint == "merge of exclusive branches with ALL, use ANY"
    assert found([*nodes[:4], {**merge, "join_policy": "any"}], ways) == []


def test_loops_need_a_way_out() -> None:
    """D-X.24, D-A.11: a cycle has a condition or a node with max_iteration."""
    ways = ["Start>A", "A>B", "B>A"]
    finding = only(found([START, text("A"), text("B")], ways), "UNBOUNDED_LOOP")
    assert finding.severity == "error"
    assert finding.where.line
    assert found([START, text("A"), text("B", max_iteration=3)], ways) == []
    through = ["Start>A", "A>C", "C[condfalse]>A", "C[condtrue]>B"]
    assert found([START, text("A"), cond("C"), text("B")], through) == []


def test_epochs_must_meet() -> None:
    """D-X.1: a join behind a controlled loop with something that was never in it is an error."""
    nodes = [
        START, job("J", max_iteration=2), cond("C", expression="epoch >= 1", loop_controller=True), text("Side"), END,
    ]  # fmt: skip
    ways = ["Start>J", "J>C", "C[condfalse]>J", "C[condtrue]>End", "Start>Side", "Side>End"]
    finding = only(found(nodes, ways), "EPOCH_MISMATCH")
    assert (finding.severity, finding.node) == ("error", "End")
    assert finding.where.pointer == "/nodes/4"


def test_nodes_that_nothing_leads_to() -> None:
    """D-X.2, D-X.8: a warning; the node stays in the net, to be shown SKIPPED, and never fires without a token."""
    nodes, ways = plain(text("T"))
    assert rules([*nodes, text("Alone")], ways) == [("warning", "unreachable_node", "Alone")]
    net = net_of([*nodes, text("Alone")], ways)
    assert [n.id for n in Compiled(net).starts] == ["Start"]
    asked = [*nodes, cond("C", condition_type="llm_decision", person="Bot", judge_by="?")]
    assert sorted(rules(asked, ways)) == [
        ("warning", "condition_without_branches", "C"), ("warning", "unreachable_node", "C"),
    ]  # fmt: skip


def test_findings_come_in_the_order_of_the_document() -> None:
    """D-X.29: the list of problems follows the lines, and a document with errors has no net."""
    bad = document([text("B", priority="x"), START, text("A", priorty=1)], ["Start>A", "A>Nowhere"])
    data = json.dumps(json.loads(bad), indent=1).encode()
    _, findings = check_document(data, name="d.json")
    lines = [f.where.line for f in findings]
    assert lines == sorted(lines)
    assert all(lines)
    assert all(f.hint for f in findings if f.rule in ("unknown_field", "dangling_edge"))
    with pytest.raises(DocumentInvalid) as caught:
        compiled([text("B", priority="x"), START], ["Start>B"])
    assert caught.value.findings[0].rule == "wrong_type"


def test_a_document_made_to_hurt_gets_a_short_answer() -> None:
    """D-X.29: the list of problems ends somewhere, and so does every sentence in it."""
    nodes = [
        START,
        *(text(f"N{i}") | {"oops": 1, "ouch": 1} for i in range(1000)),
        text("L", join_policy="x" * 100_000),
    ]
    findings = found(nodes, [f"M{i}>K{i}" for i in range(1000)])
    assert len(findings) == 1001
    assert findings[-1].rule == "too_many_findings"
    long = found([START, text("L", join_policy="x" * 100_000)], ["Start>L"])[0].message
    assert "x" * 500 in long
    assert LONGEST == 600 and len(long) == LONGEST + len(" …") and long.endswith(" …")


def test_the_same_diagram_is_the_same_net() -> None:
    """D-X.14: drawing and places change nothing in the hash; order of nodes does, since it is a rank."""
    from penstock.net.codec import content_hash

    nodes, ways = plain(text("T"))
    moved = [{**one, "position": {"x": 5, "y": 6}} for one in nodes]
    assert content_hash(net_of(moved, ways)) == content_hash(net_of(nodes, ways))
    assert content_hash(net_of(nodes[::-1], ways)) != content_hash(net_of(nodes, ways))


def test_large_diagrams_compile_with_work_that_grows_evenly() -> None:
    """D-11.3: checking and lowering are near-linear."""

    def large(count: int) -> Callable[[], Any]:
        nodes = [START, *(text(f"N{i}") if i % 5 else cond(f"N{i}") for i in range(count)), END]
        ways = ["Start>N0"] + [f"N{i}{'' if i % 5 else '[condtrue]'}>N{i + 1}" for i in range(count - 1)]
        return lambda: net_of(nodes, [*ways, f"N{count - 1}>End"])

    assert grows_evenly(large, 60)
    large(2000)()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-2, 2) | st.text("ab[]_{}'\"\\ \n<>", max_size=8)
    | st.sampled_from(["Start", "End", "J", "C", "C[condtrue]", "C_condfalse", "condition", "start", "custom", "light",
                       "detect_max_iterations", "Bot", "k_of_n", "any", "{{a}}", "$expr", "counters.J > 1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["label", "type", "props", "from", "to", "$expr", "expression", "person", "data", "nodes"]),
        inner, max_size=4),
    max_leaves=6,
)  # fmt: skip
BASE: dict[str, Any] = json.loads(document(
    [START, job("J", max_iteration=2, retry={"max": 1}), cond("C", condition_type="detect_max_iterations"),
     {"label": "U", "type": "user_response", "prompt": "{{j}}", "timeout": 1},
     {"label": "D", "type": "sub_diagram", "diagram": {"version": "light", "nodes": [START, END], "connections": []}},
     END],
    ["Start>J", "J>C", "C[condfalse]>J", ("C[condtrue]>U", {"label": "x"}), "U>D", "D>End"],
))  # fmt: skip


def _spots(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(spot for key, one in inner for spot in _spots(one, (*path, key)))]


@given(st.lists(st.tuples(st.sampled_from(_spots(BASE)[1:]), VALUES), min_size=1, max_size=3), st.booleans())
def test_no_document_breaks_the_compiler(changes: list[tuple[tuple[Any, ...], Any]], native: bool) -> None:
    """D-X.29: whatever stands where in a diagram, the answer is a list of problems, never an exception."""
    data = json.loads(json.dumps(BASE))
    for (*way, last), value in changes:
        part = data
        for key in way:
            if not (isinstance(part, dict) and key in part) and not (
                isinstance(part, list) and isinstance(key, int) and key < len(part)
            ):
                break
            part = part[key]
        else:
            if isinstance(part, dict) or (isinstance(part, list) and isinstance(last, int) and last < len(part)):
                part[last] = value
    if native:
        data["arrows"] = data.pop("connections", [])
    _, findings = check_document(json.dumps(data).encode(), name="d.json", language="diagram")
    if not any(f.severity == "error" for f in findings):
        Compiled(compiled_of(data))


def compiled_of(data: Any) -> Any:
    from penstock.lang.compile import compile_document

    return compile_document(json.dumps(data).encode(), name="d.json", language="diagram").net
