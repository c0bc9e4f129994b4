"""SWITCH on the kernel: which ways are taken."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.decision.make import Play, act, document, edge, found, net_of, node, rules, seeds, switch, value

TARGETS = [act("a"), act("b"), act("c")]


def chosen(m: Play) -> list[str]:
    return sorted(m.asks())


@pytest.mark.parametrize(
    ("given", "ways"),
    [("x", ["a"]), ("y", ["b"]), ("z", ["c"]), (None, ["c"]), (True, ["c"]), ("X", ["c"])],
)
def test_the_first_case_that_equals(given: Any, ways: list[str]) -> None:
    """W-4.8.1, C-11: mode value; comparison is strict, else the default."""
    m = Play([switch("s", "${input.v}", [("x", "a"), ("y", "b")], default={"goto": "c"}), *TARGETS], input={"v": given})
    assert chosen(m) == ways
    m.all_ok()
    assert m.status == "COMPLETED"


@pytest.mark.parametrize(("given", "ways"), [(True, ["a"]), (False, ["b"]), ("true", ["b"]), (1, ["b"])])
def test_a_case_of_true_matches_only_true(given: Any, ways: list[str]) -> None:
    """W-11.1.8, C-11: `cases[0].value` is the boolean; the node's condition is the selector."""
    s = {"id": "s", "type": "SWITCH", "condition": "${input.v}", "cases": [{"value": True, "goto": "a"}]}
    assert chosen(Play([s, *TARGETS[:2]], "s>b", input={"v": given})) == ways


@pytest.mark.parametrize(
    ("value_", "literal"),
    [(1, 1.0), (1.5, 1.5), (0.00001, 0.00001), ("it's", "it's"), ('a"b', 'a"b'), ("a'b\"c", "a'b\"c"), (None, None),
     ([1, "a"], [1, "a"]), ({"k": 1}, {"k": 1}), ("${input.w}", "w")],
)  # fmt: skip
def test_a_case_may_have_any_value(value_: Any, literal: Any) -> None:
    """W-4.8.1: `value` is anything; a text with ${…} is computed (W-4.0.6)."""
    s = switch("s", "input.v", [(value_, "a")], default={"goto": "b"})
    assert chosen(Play([s, *TARGETS[:2]], input={"v": literal, "w": "w"})) == ["a"]


ADVANCED = [
    {"confidence": 0.95, "decision": "critical"},
    {"confidence": 0.6, "decision": "critical"},
    {"confidence": 0.8, "decision": "warning"},
    {"confidence": 0.8, "decision": "normal"},
]


WAYS = ["auto_action", "human_review", "*", "standard_flow"]


@pytest.mark.parametrize(("given", "way"), [*zip(ADVANCED, WAYS, strict=True)])
@pytest.mark.parametrize("night", [True, False])
def test_the_advanced_sample(given: Any, way: str, night: bool) -> None:
    """W-4.8.3, W-4.14.1: §4.8 `switch_complex` as it stands; the order of cases decides."""
    (_, complex_) = seeds("4.8")
    targets = [act(id) for id in ("auto_action", "human_review", "escalate_to_manager", "standard_flow")]
    calendar = {"timezone": "UTC", "night_shift": {"start": "00:00" if night else "12:00", "end": "12:01"}}
    context = {"variables": {"judgment_result": given}}
    m = Play([complex_, *targets], context=context, start={"options": {"calendar": calendar, "at": 0}}, input={})
    m_now = "escalate_to_manager" if night else "standard_flow"
    assert chosen(m) == [m_now if way == "*" else way]


def test_later_conditions_are_not_asked() -> None:
    """W-4.8.1: the first case that holds; a later one may make no sense then."""
    cases = [{"condition": "input.v == null", "goto": "a"}, {"condition": "input.v * 2 > 3", "goto": "b"}]
    s = {"id": "s", "type": "SWITCH", "cases": cases}
    assert chosen(Play([s, *TARGETS[:2]], input={})) == ["a"]
    assert chosen(Play([s, *TARGETS[:2]], input={"v": 2})) == ["b"]
    assert Play([s, *TARGETS[:2]], input={"v": "text"}).failure()[:2] == ("EXPR_TYPE", "validation")


MULTI = [
    {"condition": "input.v > 1", "goto": "a", "label": "one"},
    {"condition": "input.v > 2", "goto": "b", "label": "two", "priority": 5},
    {"condition": "input.v > 3", "goto": "c", "label": "three", "priority": 1},
]


@pytest.mark.parametrize(
    ("multi", "v", "ways"),
    [
        (None, 9, ["a"]),
        ({"enabled": False, "mode": "all"}, 9, ["a"]),
        ({"enabled": True, "mode": "first"}, 9, ["a"]),
        ({"enabled": True}, 9, ["a"]),
        ({"enabled": True, "mode": "all"}, 9, ["a", "b", "c"]),
        ({"enabled": True, "mode": "all"}, 3, ["a", "b"]),
        ({"enabled": True, "mode": "all"}, 0, ["d"]),
        ({"enabled": True, "mode": "priority"}, 9, ["c"]),
        ({"enabled": True, "mode": "priority"}, 3, ["b"]),
        ({"enabled": True, "mode": "priority"}, 2, ["a"]),
        ({"enabled": True, "mode": "priority"}, 0, ["d"]),
    ],
)
def test_several_matches(multi: Any, v: int, ways: list[str]) -> None:
    """W-4.8.2, C-13: first, all, priority (smaller first, absent is 1000, ties by order)."""
    s = {"id": "s", "type": "SWITCH", "cases": MULTI, "default": {"goto": "d"}}
    m = Play([{**s, **({"multi_match": multi} if multi is not None else {})}, *TARGETS, act("d")], input={"v": v})
    assert chosen(m) == ways


def test_priority_may_stand_on_the_edge() -> None:
    """C-13: a case without priority has that of the edge to the same target."""
    cases = [{"value": 1, "goto": "a"}, {"value": 1, "goto": "b"}]
    s = switch("s", "input.v", cases, multi_match={"enabled": True, "mode": "priority"})
    assert chosen(Play([s, *TARGETS[:2]], ("s>b", {"priority": 3}), ("s>a", {"priority": 7}), input={"v": 1})) == ["b"]


def test_goto_end_ends_the_path() -> None:
    """W-4.8.4, C-12: and what ran beside it goes on."""
    m = Play([act("x"), switch("s", "input.v", [(1, "end")]), act("y")], "x>s x>y", input={"v": 1})
    m.ok("x")
    assert m.asks() == ["y"] and m.incidents() == []
    m.all_ok()
    assert m.status == "COMPLETED" and m.states() == {"x": "done", "s": "done", "y": "done", "end": "done"}


def test_a_node_may_be_called_end() -> None:
    """C-12: then it is no reserved word."""
    m = Play([switch("s", "input.v", [(1, "end")]), act("end")], input={"v": 1})
    assert m.asks() == ["end"]


def test_no_match_goes_where_no_label_leads() -> None:
    """C-14: an unlabelled edge first, all of them; without one the path ends and that is told."""
    s = switch("s", "input.v", [(1, "a")])
    for when in ({}, {"when": "default"}):
        m = Play([s, *TARGETS], ("s>b", when), ("s>c", when), input={"v": 2})
        assert chosen(m) == ["b", "c"] and m.incidents() == []
        assert chosen(Play([s, *TARGETS], ("s>b", when), ("s>c", when), input={"v": 1})) == ["a"]


def test_no_match_and_nowhere_to_go() -> None:
    """W-4.8.4, C-14, W-11.1.4, W-11.2.5: the path ends normally, with a warning in the trace."""
    m = Play([switch("s", "input.v", [(1, "a")]), act("a")], input={"v": 2})
    assert m.status == "COMPLETED" and m.incidents() == ["SWITCH_NO_MATCH"]
    assert [line.node for line in m.of("incident")] == ["s"] and m.output("s") == {
        "value": 2,
        "matched": [],
        "goto": [],
    }


def test_an_edge_and_a_goto_are_one_way() -> None:
    """C-39, W-11.1.5: same target, one token; labels on edges change nothing."""
    net = net_of([switch("s", "input.v", [("x", "a")]), act("a")], ("s>a", {"when": "x"}))
    assert [e.id for e in net.edges if e.dst == "a"] == ["s>a"] and edge(net, "s>a").label == "x"
    net = net_of(
        [switch("s", "input.v", [("x", "a"), ("y", "a"), ("z", "b")]), act("a"), act("b")], ("s>a", {"when": "x"})
    )
    assert [e.id for e in net.edges if e.src == "s" and e.dst in ("a", "b")] == ["s>a", "s>b"]
    m = Play([switch("s", "input.v", [("x", "a"), ("y", "a")]), act("a")], ("s>a", {"when": "x"}), input={"v": "y"})
    assert m.all_ok() == ["a"]


def test_what_a_switch_gives_out() -> None:
    """W-4.8.5: value, matched labels or values, and where it went."""
    cases = [{"value": "x", "label": "first", "goto": "a"}, {"value": "x", "goto": "b"}, {"value": "y", "goto": "c"}]
    s = switch("s", "input.v", cases, multi_match={"enabled": True, "mode": "all"})
    m = Play([s, *TARGETS, act("d", template={"id": "t", "params": {"p": "${s.goto}"}})], "a>d", input={"v": "x"})
    assert m.output("s") == {"value": "x", "matched": ["first", "x"], "goto": ["a", "b"]}
    m.ok("a"), m.ok("b")
    assert m.args("d")["template"]["params"] == {"p": ["a", "b"]}


def test_a_guard_beside_case_conditions() -> None:
    """C-11: with case conditions `condition` is a guard; skipped, it goes where no label leads."""
    s = {"id": "s", "type": "SWITCH", "condition": "input.on", "cases": [{"condition": "true", "goto": "a"}]}
    assert chosen(Play([s, *TARGETS[:2]], "s>b", input={"on": True})) == ["a"]
    m = Play([s, *TARGETS[:2]], "s>b", input={"on": False})
    assert chosen(m) == ["b"] and m.states()["s"] == "skipped" and m.incidents() == []
    m = Play([s, act("a")], input={"on": False})
    assert m.status == "COMPLETED" and m.incidents() == []


def test_a_switch_that_cannot_compute_may_be_skipped() -> None:
    """C-43: skip_on_error on any node."""
    s = switch("s", "input.v * 2", [(4, "a")], skip_on_error=True)
    m = Play([s, *TARGETS[:2]], "s>b", input={"v": "text"})
    assert chosen(m) == ["b"] and m.states()["s"] == "skipped"


@pytest.mark.parametrize(
    ("ways", "told"),
    [
        ([("s>b", {"when": "x"})], True), ([("s>a", {"when": "y"})], True), ([("s>a", {"when": "nothing"})], True),
        ([("s>a", {"when": "x"})], False), ([("s>a", {"when": "first"})], False), (["s>a"], False), (["s>c"], False),
        ([("s>c", {"when": "default"})], False), ([("s>a", {"when": "default"})], True),
    ],
)  # fmt: skip
def test_an_edge_that_contradicts(ways: list[Any], told: bool) -> None:
    """C-39: the goto wins, and the edge is told of."""
    cases = [{"value": "x", "label": "first", "goto": "a"}, {"value": "y", "goto": "b"}]
    nodes = [switch("s", "input.v", cases), *TARGETS, act("start")]
    findings = rules(nodes, "start>s start>c", *ways)
    assert [f for f in findings if f[1] != "switch_edge_mismatch"] == []
    assert bool(findings) is told and all(f[0] == "warning" and f[2] == "/edges/2" for f in findings)
    assert chosen(Play(nodes, "start>s start>c", *ways, input={"v": "x"})) == ["start"]
    m = Play(nodes, "start>s start>c", *ways, input={"v": "x"})
    m.ok("start")
    assert "a" in chosen(m) and "b" not in chosen(m)


def test_a_mismatch_with_the_default() -> None:
    """C-39."""
    s = switch("s", "input.v", [("x", "a")], default={"goto": "b"})
    assert rules([s, *TARGETS[:2]], ("s>b", {"when": "default"})) == []
    assert [f[1] for f in rules([s, *TARGETS[:2]], ("s>a", {"when": "default"}))] == ["switch_edge_mismatch"]


def test_many_cases() -> None:
    """W-4.8.1: sixty cases are no trouble; too many are told of before a run."""
    cases = [{"value": f"case_{i}", "goto": f"n{i % 3}"} for i in range(60)]
    m = Play([switch("s", "input.v", cases), act("n0"), act("n1"), act("n2")], input={"v": "case_59"})
    assert m.asks() == ["n2"]
    many = [{"value": f"case_{i}", "goto": "a"} for i in range(200)]
    assert [f.rule for f in found(document([switch("s", "input.v", many), act("a")]))] == ["too_many_cases"]


def test_what_is_compared_is_missing() -> None:
    """C-11: neither selector nor conditions."""
    s = {"id": "s", "type": "SWITCH", "cases": [{"value": 1, "goto": "a"}]}
    assert rules([s, act("a")]) == [("error", "missing_field", "/nodes/0")]
    s = {"id": "s", "type": "SWITCH", "mode": "condition", "cases": [{"value": 1, "goto": "a"}]}
    assert rules([s, act("a")]) == [("error", "missing_field", "/nodes/0/cases/0")]


def test_a_merge_behind_a_switch_runs_once() -> None:
    """C-21, W-11.1.6: it waits for the one live path and runs once."""
    m = Play([switch("s", "input.v", [(1, "a"), (2, "b")]), *TARGETS], "a>c b>c", input={"v": 2})
    assert m.all_ok() == ["b", "c"] and m.status == "COMPLETED"


def test_all_ways_meet_again() -> None:
    """C-21: of several live ways all are waited for."""
    s = switch("s", "input.v", [(1, "a"), (1, "b")], multi_match={"enabled": True, "mode": "all"})
    m = Play([s, *TARGETS], "a>c b>c", input={"v": 1})
    m.ok("a")
    assert m.asks() == ["b"]
    assert m.all_ok() == ["b", "c"]


def test_a_computed_selector() -> None:
    """W-6.3.1: values of DATA expressions are read by name."""
    m = Play([value("d", "input.v + 1", output={"variable": "n", "expression": "input.v + 1"}),
              switch("s", "n", [(3, "a")]), act("a")], "d>s", input={"v": 2})  # fmt: skip
    assert m.asks() == ["a"] and node(m.net.net, "s").kind == "route"
