"""Parts of nets that the decision language brought: only_if, values in assignments, defaults, waits armed anew."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.state import encode_state
from penstock.net.checks import check
from penstock.net.model import (
    MERGE,
    Body,
    Declares,
    Dedupe,
    Edge,
    Effect,
    Node,
    OnError,
    Poll,
    Retry,
    Set,
    Trigger,
    Work,
)
from tests.kernel.harness import Sim
from tests.kernel.nets import S, X, net, task, tasks


def run(nodes: Any, ways: Any, input: Any = None, **more: Any) -> Sim:
    return Sim(net(nodes, ways, **more), input)


# ---- only_if ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("given", "runs"), [(True, True), (False, False), (None, False), ("yes", False), (1, False)])
def test_a_node_runs_only_if(given: Any, runs: bool) -> None:
    """W-4.0.2: what is not true skips it, with a reason; its output is null and the flow goes on."""
    m = run([S, task("a", only_if="input.on"), *tasks("b")], "s>a a>b", {"on": given})
    assert (m.asked("a") is not None) is runs
    if not runs:
        assert m.settled()[-1] == ("a", "skipped") and m.asked("b") is not None
        assert m.of("settled")[-1].data["meta"] == {"skip_reason": "condition_false"}


@pytest.mark.parametrize("kind", ["task", "wait", "work", "scope", "route", "end"])
def test_every_kind_may_be_guarded(kind: Any) -> None:
    """W-4.0.2: nothing is asked, armed, opened or set."""
    every: dict[str, dict[str, Any]] = {
        "task": {"effect": Effect(executor="x")},
        "wait": {"triggers": (Trigger(after_ms=5, action="value"),)},
        "work": {"work": Work()},
        "route": {"sets": (Set(name="v", expr="1"),)},
    }
    parts = every.get(kind, {})
    if kind == "scope":
        parts = {"body": Body(entry="i")}
    inner = [task("i", scope="n")] if kind == "scope" else []
    more = [] if kind == "end" else [task("b")]
    m = run(
        [S, Node(id="n", kind=kind, only_if="false", **parts), *inner, *more], "s>n" if kind == "end" else "s>n n>b"
    )
    assert ("n", "skipped") in m.settled() and not m.st.timers and not m.st.items and m.st.vars == {}


def test_a_guard_that_breaks_fails_the_node() -> None:
    """C-07: by its own table."""
    m = run([S, task("a", only_if="input.n > 'x'")], "s>a", {"n": 1})
    assert m.status == "FAILED" and m.st.failure is not None and m.st.failure.code == "EXPR_TYPE"
    m = run(
        [S, task("a", only_if="input.n > 'x'", on_error=(OnError(match="validation", action="skip"),)), task("b")],
        "s>a a>b",
        {"n": 1},
    )
    assert m.asked("b") is not None


def test_a_skipped_compensation_counts_as_done() -> None:
    """C-45: of several compensations one may not want to."""
    undo = [
        task("u", off_path=True, only_if="undoing == 'cancel'"),
        task("v", off_path=True, only_if="undoing == 'failure'"),
    ]
    m = run([S, task("a", undo=("u", "v")), *tasks("b"), *undo], "s>a a>b")
    m.ok("a"), m.bad("b")
    assert m.asked("v") is not None and ("u", "skipped") in m.settled()
    m.ok("v")
    assert m.status == "COMPENSATED"


# ---- Set.value -------------------------------------------------------------------------------------------------------


def test_an_assignment_of_a_tree() -> None:
    """W-6.3.2: literal parts stay, others are computed, all before any is written; checked at release."""
    sets = (
        Set(name="a", value={"n": {"$expr": "output.n"}, "l": ["x", {"$template": "${b}!"}]}),
        Set(name="b", value="new"),
        Set(name="c", expr="b"),
    )
    made = net([S, task("t", sets=sets), X], "s>t t>x", declares=Declares(variables={"b": "old"}))
    m = Sim(made)
    m.ok("t", {"n": 1})
    assert m.st.vars == {"a": {"n": 1, "l": ["x", "old!"]}, "b": "new", "c": "old"}
    broken = net([S, task("t", sets=(Set(name="a", value={"x": {"$expr": "1 +"}}),), only_if="2 +"), X], "s>t t>x")
    assert len([f for f in check(broken) if f.severity == "error"]) == 2


# ---- what is yielded instead of a failure ----------------------------------------------------------------------------


def test_a_value_instead_of_a_failure() -> None:
    """W-4.4.3: after the retries; marked in the envelope; the output's names are set."""
    a = task(
        "a",
        value={"n": {"$expr": "input.n"}},
        on_error=(OnError(match="*", action="value"),),
        out=("v",),
        retry=Retry(max=1),
    )
    m = run([S, a, X], "s>a a>x", {"n": 5})
    m.bad("a", "C", "external")
    m.tick()
    m.bad("a", "C", "external")
    assert m.status == "COMPLETED" and m.vars() == {"v": {"n": 5}} and ("a", "done") in m.settled()
    assert [x.data["meta"] for x in m.of("settled") if x.node == "a"] == [{"fallback": True}]


def test_a_value_that_cannot_be_computed() -> None:
    """C-07."""
    m = run([S, task("a", value={"$expr": "1 + null"}, on_error=(OnError(match="X", action="value"),)), X], "s>a a>x")
    m.bad("a")
    assert m.status == "FAILED" and m.st.failure is not None and m.st.failure.code == "EXPR_TYPE"


# ---- waits armed anew ------------------------------------------------------------------------------------------------


def test_a_wait_is_armed_anew() -> None:
    """C-75: as often as it has retries, with their delays; a crash anywhere changes nothing."""
    triggers = (Trigger(kind="signal", name="go"), Trigger(after_ms=100, action="fail", again=True))
    wait = Node(id="w", kind="wait", triggers=triggers, retry=Retry(max=2, base_ms=10, kind="linear"))
    m = run([S, wait, X], "s>w w>x")
    for due, status in ((100, "RUNNING"), (110, "WAITING"), (210, "RUNNING"), (230, "WAITING"), (330, "FAILED")):
        m.tick(due)
        assert m.status == status
        m.crash()
    assert m.st.failure is not None and m.st.failure.code == "WAIT_TIMEOUT"
    assert [x.data["attempt"] for x in m.of("phase") if "attempt" in x.data] == [2, 3]


def test_news_while_it_backs_off() -> None:
    """C-75, C-37: is kept, and found when it waits again."""
    triggers = (Trigger(kind="signal", name="go"), Trigger(after_ms=100, action="fail", again=True))
    m = run([S, Node(id="w", kind="wait", triggers=triggers, retry=Retry(max=1, base_ms=10)), X], "s>w w>x")
    m.tick(100)
    m.do(C.signal("", "go", {"n": 1}))
    assert m.status == "RUNNING" and not m.st.waits
    m.tick(110)
    assert m.status == "COMPLETED" and m.output("w") == {"n": 1}


def test_without_again_a_trigger_is_final() -> None:
    """KERNEL 2: a boundary that fails a task is not retried."""
    a = task("a", triggers=(Trigger(after_ms=100, action="fail"),), retry=Retry(max=5))
    m = run([S, a, X], "s>a a>x")
    m.tick(100)
    assert m.status == "FAILED"


def test_a_poll_is_armed_anew() -> None:
    """C-75: the probe in flight is dropped, the next attempt has the full time again."""
    poll = Poll(every_ms=30, until="response == 1")
    a = task(
        "a", poll=poll, triggers=(Trigger(after_ms=100, action="fail", again=True),), retry=Retry(max=1, base_ms=10)
    )
    m = run([S, a, X], "s>a a>x")
    m.tick(100)
    assert m.asked("a") is None
    m.tick(110)
    firing = m.asked("a")
    assert firing is not None and firing.attempt == 2 and len(firing.timers or ()) == 1
    m.ok("a", 0)
    m.tick(140)
    m.ok("a", 1)
    assert m.status == "COMPLETED"


# ---- failures in the ledger ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "end"), [("a.status == 'failed'", "COMPENSATING"), ("a.status == 'succeeded'", "FAILED")]
)
def test_a_failure_may_be_undone(condition: str, end: str) -> None:
    """C-45: only where the condition says so."""
    a = task("a", undo=("u",), undo_failed=True, undo_if=condition)
    m = run([S, a, X, task("u", off_path=True)], "s>a a>x")
    m.bad("a")
    assert m.status == end


# ---- ends that warn --------------------------------------------------------------------------------------------------


def test_an_end_that_warns() -> None:
    """C-14: the path ends, the run goes on, and the trace has a word about it."""
    m = run([S, Node(id="e", kind="end", ends="warn:SWITCH_NO_MATCH", origin="switch"), *tasks("a")], "s>e s>a")
    assert [(line.node, line.data["code"]) for line in m.of("incident")] == [("switch", "SWITCH_NO_MATCH")]
    m.ok("a")
    assert m.status == "COMPLETED"


# ---- what was fetched ------------------------------------------------------------------------------------------------


def test_what_was_fetched_is_seen_by_all_parts_of_a_node() -> None:
    """C-64: for the node (and those lowered from it) and for the whole run; others do not see a node's own."""
    nodes = [
        S,
        task("n.context", origin="n", out=("n.context",)),
        task("n", args={"v": {"$expr": "aas.line.L1.v"}}),
        task("n.more", origin="n", args={"v": {"$expr": "aas.line.L1.v"}}),
        task("z", args={"v": {"$expr": "aas.line.L1"}}),
    ]
    m = run(nodes, "s>n.context n.context>n n>n.more n.more>z")
    m.ok("n.context", {"aas": {"line": {"L1": {"v": 7}}}})
    assert m.firing("n").args == {"v": 7}
    m.ok("n")
    assert m.firing("n.more").args == {"v": 7}
    m.ok("n.more")
    assert m.firing("z").args == {"v": None}
    m = run([S, task("context.prefetch", out=("context.prefetch",)), *nodes[1:]],
            "s>context.prefetch context.prefetch>n.context n.context>n n>n.more n.more>z")  # fmt: skip
    (
        m.ok("context.prefetch", {"aas": {"line": {"L1": {"v": 1}, "L2": {}}}}),
        m.ok("n.context", {"aas": {"line": {"L1": {"v": 7}}}}),
    )
    assert m.firing("n").args == {"v": 7}


def test_an_inner_node_speaks_for_the_author_s() -> None:
    """W-6.2.4: as long as the outer one has not fired."""
    outer = Node(id="n", join=MERGE)
    h = task("h", args={"s": {"$expr": "n.status"}, "c": {"$expr": "n.error.code"}})
    m = run(
        [S, task("n.do", origin="n"), outer, h, X],
        ["s>n.do n.do>n n>x", Edge(id="f", src="n.do", dst="h", port="failed")],
    )
    m.bad("n.do", "BROKEN")
    assert m.firing("h").args == {"s": "failed", "c": "BROKEN"}


def test_the_attempt_that_is_asked() -> None:
    """W-6.4.1: sys.retry_count is 0 on the first attempt and 1 on the second."""
    m = run([S, task("a", args={"n": {"$expr": "sys.retry_count"}}, retry=Retry(max=1)), X], "s>a a>x")
    assert m.firing("a").args == {"n": 0}
    m.bad("a", "C", "external")
    m.tick()
    assert m.firing("a").args == {"n": 1}


# ---- approvals -------------------------------------------------------------------------------------------------------


def test_the_last_level_may_have_a_way_of_its_own() -> None:
    """C-34: with an edge the timeout is a decision, without it a failure."""
    trigger = Trigger(after_ms=10, action="reopen", times=1, port="timeout", code="APPROVAL_TIMEOUT")
    ask = Node(id="a", kind="work", work=Work(quorum=1), triggers=(trigger,))
    m = run([S, ask, *tasks("t"), X], "s>a a>x a:timeout>t")
    m.tick(10), m.tick(20)
    assert m.asked("t") is not None and m.output("a")["status"] == "timeout" and m.output("a")["escalation_level"] == 1
    m = run([S, ask, X], "s>a a>x")
    m.tick(10), m.tick(20)
    assert m.status == "FAILED"


def test_more_votes_than_targets() -> None:
    """C-32: all_of with a larger number: every target, and so many people."""
    ask = Node(id="a", kind="work", work=Work(all_of=True, quorum=3, candidates=["x", "y"]))
    m = run([S, ask, X], "s>a a>x")
    for who, target in (("k", "x"), ("l", "y")):
        m.do(C.work(m.item("a"), "vote", who, {"vote": "approved", "target": target}))
        assert m.status == "WAITING"
    m.do(C.work(m.item("a"), "vote", "m", {"vote": "approved", "target": "x"}))
    assert m.status == "COMPLETED"


def test_a_second_key_is_data() -> None:
    """W-4.5.2, C-49: an effect may have two; both are read at release."""
    effect = Effect(executor="x", dedupe=Dedupe(key="input.a"), once=Dedupe(key={"k": {"$expr": "1 +"}}))
    made = net([S, Node(id="a", kind="task", effect=effect), X], "s>a a>x")
    assert [f.rule for f in check(made) if f.severity == "error"] != []


def test_old_journals_fold_the_same() -> None:
    """K1: a phase fact without an attempt is read as ever."""
    m = run([S, Node(id="w", kind="wait", triggers=(Trigger(kind="signal", name="go"),)), X], "s>w w>x")
    assert all(len(f) == 3 for f in m.facts if f[0] == F.PHASE) and encode_state(m.folded()) == encode_state(m.st)
