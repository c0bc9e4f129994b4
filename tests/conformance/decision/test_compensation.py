"""COMPENSATION on the kernel: order, triggers, conditions, failures."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.kernel import command as C
from tests.conformance.decision.make import (
    Play,
    act,
    data,
    document,
    found,
    node,
    parallel,
    rules,
    switch,
    undo,
    value,
    wait,
)

CHAIN = ["a>b", "b>c"]


def failed(*undos: dict[str, Any], **top: Any) -> Play:
    m = Play([act("a"), act("b"), act("c"), *undos], *CHAIN, **top)
    m.ok("a", {"n": 1}), m.ok("b", {"n": 2}), m.bad("c", "BROKEN")
    return m


def test_in_reverse_order_of_completion() -> None:
    """W-4.10.1: A and B succeeded, C failed: B, then A, then COMPENSATED; C itself is not."""
    m = failed(undo("ua", "a"), undo("ub", "b"), undo("uc", "c"))
    assert m.status == "COMPENSATING" and m.all_ok() == ["ub", "ua"]
    assert m.status == "COMPENSATED" and m.failure() == ("BROKEN", "permanent", "c")
    assert m.moves() == ["COMPENSATING", "COMPENSATED"]


def test_actions_in_order_with_what_the_node_gave() -> None:
    """W-4.10.2: actions run in the order of the list; both forms of reference, encoded in the path (C-28)."""
    actions = [
        {
            "type": "api",
            "endpoint": "/x/${a.n}/${a.output.s}",
            "method": "delete",
            "body": {"n": "${a.output.n}", "r": "why"},
        },
        {"type": "notification", "channel": "slack", "message": "undone ${a.n}"},
    ]
    m = Play([act("a"), act("b"), undo("u", "a", actions=actions)], "a>b")
    m.ok("a", {"n": 7, "s": "../y"}), m.bad("b")
    assert m.asks() == ["u.1"]
    assert m.args("u.1") == {
        "connection": "default_api",
        "method": "DELETE",
        "path": "/x/7/..%2Fy",
        "body": {"n": 7, "r": "why"},
    }
    m.ok("u.1")
    assert m.args("u") == {"channel": "slack", "config": {}, "message": "undone 7"}
    m.ok("u")
    assert m.status == "COMPENSATED"


def test_retries_then_failed() -> None:
    """W-4.10.3, C-45: five retries of 2000 ms are the default; then COMPENSATION_FAILED and the run FAILED."""
    m = failed(undo("ub", "b"), undo("ua", "a"))
    for n in range(5):
        m.bad("ub", "HTTP_5XX", "external")
        m.tick()
        assert m.now == 2000 * (n + 1)
    m.bad("ub", "HTTP_5XX", "external")
    assert (
        m.status == "FAILED" and m.failure()[0] == "COMPENSATION_FAILED" and "COMPENSATION_STEP_FAILED" in m.incidents()
    )
    assert m.moves() == ["COMPENSATING", "FAILED"] and m.asks() == []
    assert m.net.net.declares.policies["nodes"]["ub"]["on_failure"] == "alert_and_manual"


def test_retries_of_one_s_own() -> None:
    """W-4.10.3."""
    m = failed(undo("ub", "b", retry={"max": 1, "backoff_ms": 500, "on_failure": "alert_and_manual"}))
    m.bad("ub", "HTTP_5XX", "external")
    m.tick()
    assert m.now == 500
    m.bad("ub", "HTTP_5XX", "external")
    assert m.status == "FAILED"


def test_continue_on_error() -> None:
    """C-45: a second failure stops, unless the policy says otherwise."""
    undos = [undo("ua", "a", retry={"max": 0}), undo("ub", "b", retry={"max": 0})]
    m = failed(*undos)
    m.bad("ub")
    assert m.status == "FAILED" and m.asks() == []
    m = failed(*undos, policies={"compensation": {"continue_on_error": True}})
    m.bad("ub")
    assert m.asks() == ["ua"]
    m.ok("ua")
    assert m.status == "FAILED" and m.failure()[0] == "COMPENSATION_FAILED"


def test_compensation_may_be_off() -> None:
    """C-16: enabled false."""
    m = failed(undo("ua", "a"), policies={"compensation": {"enabled": False}})
    assert m.status == "FAILED" and m.failure()[0] == "BROKEN"


@pytest.mark.parametrize(
    ("on", "failure", "cancel", "manual"),
    [
        (None, True, True, True), (["node_failure"], True, False, False), (["workflow_cancel"], False, True, False),
        (["manual"], False, False, True), (["node_failure", "manual"], True, False, True), ([], False, False, False),
    ],
)  # fmt: skip
def test_triggers(on: Any, failure: bool, cancel: bool, manual: bool) -> None:
    """W-4.10.5, C-45, C-41: all three are the default."""
    u = undo("u", "a", **({"trigger": {"on": on}} if on is not None else {}))
    for what, does in (("failure", failure), ("cancel", cancel), ("manual", manual)):
        m = Play([act("a"), act("b"), u], "a>b")
        m.ok("a")
        if what == "failure":
            m.bad("b")
        elif what == "cancel":
            m.do(C.cancel())
        else:
            m.do(C.compensate())
        assert (m.asks() == ["u"]) is does, what


def test_cancelling_may_undo_nothing() -> None:
    """C-16: on_cancel false."""
    m = Play([act("a"), act("b"), undo("u", "a")], "a>b", policies={"compensation": {"on_cancel": False}})
    m.ok("a")
    m.do(C.cancel())
    assert m.status == "CANCELLED"


def test_a_condition_that_does_not_hold() -> None:
    """W-5.1.6: trigger.conditions is an expression; nothing applies, so FAILED."""
    for text, end in (("a.n > 5", "FAILED"), ("a.n == 1", "COMPENSATING"), ("a.status == 'succeeded'", "COMPENSATING")):
        assert failed(undo("u", "a", trigger={"conditions": text})).status == end


def test_a_failed_node_is_undone_only_where_its_condition_says_so() -> None:
    """C-45, W-2.3.2: FAILED to COMPENSATING."""
    m = failed(undo("u", "c", trigger={"conditions": "c.status == 'failed' && c.error.code == 'BROKEN'"}))
    assert m.asks() == ["u"]
    m.ok("u")
    assert m.status == "COMPENSATED"
    assert failed(undo("u", "c", trigger={"conditions": "c.status == 'succeeded'"})).status == "FAILED"
    assert failed(undo("u", "c")).status == "FAILED"


def test_several_for_one_node() -> None:
    """C-45: in the order of the document, each with conditions and triggers of its own."""
    undos = [
        undo("u1", "a", trigger={"conditions": "a.n == 1"}), undo("u2", "a", trigger={"conditions": "a.n == 2"}),
        undo("u3", "a"), undo("u4", "a", trigger={"on": ["manual"]}),
    ]  # fmt: skip
    m = failed(*undos)
    assert m.all_ok() == ["u1", "u3"] and m.status == "COMPENSATED"
    m = Play([act("a"), act("b"), *undos], "a>b")
    m.ok("a", {"n": 2})
    m.do(C.compensate())
    assert m.all_ok() == ["u2", "u3", "u4"]
    none = [undo("u1", "a", trigger={"conditions": "a.n == 5"}), undo("u2", "a", trigger={"conditions": "a.n == 6"})]
    assert failed(*none).status == "FAILED"


def test_handled_failures_trigger_nothing() -> None:
    """C-45: skip, a failed edge."""
    m = Play([act("a"), act("b", skip_on_error=True), undo("u", "a")], "a>b")
    m.ok("a"), m.bad("b")
    assert m.status == "COMPLETED"
    m = Play([act("a"), act("b"), act("h"), undo("u", "a")], "a>b", ("b>h", {"when": "failed"}))
    m.ok("a"), m.bad("b"), m.ok("h")
    assert m.status == "COMPLETED"


def test_members_of_branches() -> None:
    """W-4.10.1, C-22: whatever finished first is undone last."""
    nodes = [parallel("p", {"x": ["a"], "y": ["b"]}), act("a"), act("b"), act("c"), undo("ua", "a"), undo("ub", "b")]
    m = Play(nodes, "p>c")
    m.ok("b"), m.ok("a"), m.bad("c")
    assert m.all_ok() == ["ua", "ub"]


def test_an_output_with_a_frame_is_undone_too() -> None:
    """W-4.10.2: of a node whose output is computed."""
    d = data("d", output={"variable": "n", "expression": "output.id"})
    m = Play([d, act("b"), undo("u", "d", actions=[{"type": "api", "endpoint": "/x/${d.output}"}])], "d>b")
    m.ok("d.do", {"id": 9}), m.bad("b")
    assert m.args("u")["path"] == "/x/9"


def test_a_compensation_is_on_no_path() -> None:
    """W-4.10.6: it needs no edges; one that is drawn changes nothing and is told of."""
    nodes = [act("a"), act("b"), undo("u", "a")]
    assert rules(nodes, "a>b") == []
    told = rules(nodes, "a>b", ("b>u", {"when": "failed"}))
    assert told == [("warning", "compensation_edge", "/edges/1")]
    way = switch("s", "1", [(1, "u")])
    told = rules([act("a"), way, undo("u", "a")], "a>s")
    assert ("error", "goto_targets_exist", "/nodes/1/cases/0/goto") in told
    late = wait("w", {"type": "manual"}, timeout={"on_timeout": "alternative_path", "goto": "u"})
    told = rules([act("a"), late, undo("u", "a")], "a>w")
    assert ("error", "goto_targets_exist", "/nodes/1/timeout") in told
    told = rules([act("a"), parallel("p", {"x": ["u"]}), undo("u", "a")], "a>p")
    assert ("error", "branch_members_exist", "/nodes/1/branches") in told
    m = Play(nodes, "a>b", ("b>u", {"when": "failed"}))
    m.ok("a"), m.bad("b")
    assert m.asks() == ["u"] and m.status == "COMPENSATING"


@pytest.mark.parametrize(
    ("nodes", "rule", "at"),
    [
        ([act("a"), undo("u", "gone")], "compensation_target_exists", "/nodes/1/for_node"),
        ([act("a"), undo("u", "u")], "compensation_target_exists", "/nodes/1/for_node"),
        ([act("a"), undo("u", "a"), undo("v", "u")], "compensation_target_exists", "/nodes/2/for_node"),
        ([act("a"), undo("u", "a", actions=[])], "missing_field", "/nodes/1/actions"),
        ([act("a"), undo("u", "a", actions=[{"type": "api"}])], "missing_field", "/nodes/1/actions/0"),
        ([act("a"), undo("u", "a", actions=[{"type": "notification", "channel": "slack"}])], "missing_field",
         "/nodes/1/actions/0"),
        ([act("a"), undo("u", "a", actions=[{"type": "api", "endpoint": "/${aas.line.L01.x}"}])], "outside_not_here",
         "/nodes/1/actions"),
    ],
)  # fmt: skip
def test_what_a_compensation_may_not(nodes: Any, rule: str, at: str) -> None:
    """W-9.2.2, C-69, C-64."""
    assert ("error", rule, at) in [(f.severity, f.rule, f.where.pointer) for f in found(document(nodes))]


def test_audit_is_data_for_the_host() -> None:
    """W-4.10.4, C-45: on by default; what is written is carried."""
    net = Play([act("a"), undo("u", "a", audit={"log_reason": False})]).net.net
    assert net.declares.policies["nodes"]["u"]["audit"] == {"log_reason": False, "log_result": True}
    net = Play([act("a"), undo("u", "a")]).net.net
    assert net.declares.policies["nodes"]["u"]["audit"] == {"log_reason": True, "log_result": True}


def test_defaults() -> None:
    """C-44, C-45: 30 s for an action."""
    net = Play([value("a", "1"), undo("u", "a")]).net.net
    assert node(net, "u").timeout_ms == 30_000 and node(net, "u").off_path and node(net, "a").undo_failed is False
