"""Scenarios of KERNEL.md: joins, splits, scopes, triggers, failure path, saga, life of a run."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.errors import NoBranch, NodeNotFound, Refused, StatusConflict
from penstock.kernel import command as C
from penstock.kernel.failure import Failure
from penstock.net.model import (
    ALL,
    ANY,
    INCLUSIVE,
    MERGE,
    Body,
    Branch,
    Edge,
    Effect,
    Join,
    Net,
    Node,
    OnError,
    Poll,
    Retry,
    RunRetry,
    Set,
    Trigger,
    Work,
)
from tests.kernel.harness import Sim
from tests.kernel.nets import S, X, edge, net, task, tasks


def test_sequence() -> None:
    m = Sim(net([S, *tasks("a", "b"), X], "s>a a>b b>x"))
    assert m.status == "RUNNING"
    m.ok("a", 1)
    m.ok("b", 2)
    assert m.status == "COMPLETED" and m.fired() == ["s", "a", "b", "x"]


def test_and_split_joins_once() -> None:
    m = Sim(net([S, *tasks("a", "b", "c"), Node(id="j"), X], "s>a s>b s>c a>j b>j c>j j>x"))
    m.ok("a")
    m.ok("c")
    assert "j" not in m.fired()
    m.ok("b")
    assert m.fired().count("j") == 1 and m.status == "COMPLETED"


def test_two_tokens_on_one_edge_are_not_two_edges() -> None:
    """K9."""
    m = Sim(
        net(
            [S, *tasks("a", "b"), Node(id="m", join=MERGE), *tasks("c"), Node(id="j"), X],
            "s>a s>b a>m b>m m>j s>c c>j j>x",
        )
    )
    m.ok("a")
    m.ok("b")
    assert m.fired().count("j") == 0
    m.ok("c")
    assert m.fired().count("j") == 1 and m.status == "FAILED"
    assert m.st.failure is not None and m.st.failure.code == "DEADLOCK"
    assert m.st.failure.detail == [{"node": "j", "held": ["m>j"], "missing": ["c>j"]}]


def test_switch_without_match_ends_the_path_or_fails() -> None:
    nodes = [S, Node(id="g", split="first", no_match="end"), X]
    assert Sim(net(nodes, ["s>g", edge("g>x", guard="false")])).status == "COMPLETED"
    m = Sim(net([S, Node(id="g", split="first"), X], ["s>g", edge("g>x", guard="false")]))
    assert m.status == "FAILED" and m.st.failure is not None and m.st.failure.code == "NO_MATCHING_BRANCH"


def branching(kind: str) -> Net:
    first = task("w") if kind == "task" else Node(id="w", kind="work", work=Work())
    return net([S, first, Node(id="g", split="first"), X], ["s>w w>g", edge("g>x", guard="w.ok == true")])


def test_submit_without_branch_is_refused_and_changes_nothing() -> None:
    """P-X.11."""
    m = Sim(branching("work"))
    with pytest.raises(NoBranch):
        m.do(C.work(m.item("w"), "submit", "u", {}))
    m.do(C.work(m.item("w"), "submit", "u", {"ok": True}))
    assert m.status == "COMPLETED"


def test_an_answer_that_leads_nowhere_waits_for_an_operator() -> None:
    m = Sim(branching("task"))
    m.ok("w", {})
    assert m.status == "WAITING" and m.incidents() == ["NO_MATCHING_BRANCH"]
    m.do(C.resolve(m.firing("w").no, {"ok": True}))
    assert m.status == "COMPLETED"


def test_terminate_sweeps_and_late_answers_are_ignored() -> None:
    m = Sim(net([S, *tasks("a", "b"), Node(id="t", kind="end", ends="terminate"), X], "s>a s>b a>t b>x"))
    late = m.asked("b")
    assert late is not None
    m.ok("a")
    assert m.status == "COMPLETED"
    (line,) = m.do(C.done(late.no, late.attempt))
    assert line.fact == "ignored" and line.data["why"] == "superseded"


# ---- joins -----------------------------------------------------------------------------------------------------------


def test_any_absorbs_the_late_one() -> None:
    """K10."""
    m = Sim(net([S, *tasks("a", "b"), Node(id="j", join=ANY), *tasks("c"), X], "s>a s>b a>j b>j j>c c>x"))
    m.ok("a")
    m.ok("c")
    assert m.status == "RUNNING"
    m.ok("b")
    assert m.fired().count("j") == 1 and m.status == "COMPLETED"
    assert [x.data["why"] for x in m.of("absorbed")] == ["late"]


def test_merge_fires_for_each() -> None:
    m = Sim(net([S, *tasks("a", "b"), Node(id="j", join=MERGE), X], "s>a s>b a>j b>j j>x"))
    m.ok("a")
    m.ok("b")
    assert m.fired().count("j") == 2 and m.status == "COMPLETED"


def test_k_of_n() -> None:
    """K11."""
    m = Sim(
        net(
            [S, *tasks("a", "b", "c"), Node(id="j", join=Join(mode="k", k=2, late="absorb")), X],
            "s>a s>b s>c a>j b>j c>j j>x",
        )
    )
    m.ok("c")
    assert "j" not in m.fired()
    m.ok("a")
    assert m.fired().count("j") == 1
    m.ok("b")
    assert m.fired().count("j") == 1 and m.status == "COMPLETED"


def test_an_owed_edge_that_nothing_can_reach_is_released() -> None:
    nodes = [
        S,
        Node(id="m", join=MERGE),
        Node(id="f", split="every"),
        *tasks("a", "b"),
        Node(id="j", join=ANY),
        Node(id="g", split="first"),
        X,
    ]
    ways = [
        "s>m m>f a>j b>j j>g f>a",
        edge("f>b", guard="visit >= 2"),
        edge("g>x", guard="visit >= 2"),
        edge("g>m", default=True),
    ]
    m = Sim(net(nodes, ways))
    m.ok("a")
    assert m.fired().count("j") == 1
    m.ok("b")
    assert m.fired().count("j") == 2
    m.ok("a")
    assert m.fired().count("j") == 2 and m.status == "COMPLETED"


@pytest.mark.parametrize("pick", [(True, False, False), (True, True, False), (False, True, True), (True, True, True)])
def test_inclusive_waits_for_activated_branches_only(pick: tuple[bool, ...]) -> None:
    """K12."""
    nodes = [S, Node(id="o", split="every"), *tasks("a", "b", "c"), Node(id="j", join=INCLUSIVE), X]
    ways = ["s>o a>j b>j c>j j>x", *(edge(f"o>{n}", guard=f"input[{i}]") for i, n in enumerate("abc"))]
    m = Sim(net(nodes, ways), list(pick))
    live = [n for n, p in zip("abc", pick, strict=True) if p]
    for n in live[:-1]:
        m.ok(n)
        assert "j" not in m.fired()
    m.ok(live[-1])
    assert m.fired().count("j") == 1 and m.status == "COMPLETED"


def test_inclusive_is_asked_again_when_a_token_dies() -> None:
    """camunda#19460."""
    m = Sim(net([S, *tasks("a", "b", "h"), Node(id="j", join=INCLUSIVE), X], "s>a s>b a>j b>j b:failed>h h>x j>x"))
    m.ok("a")
    assert "j" not in m.fired()
    m.bad("b")
    assert "j" in m.fired()
    m.ok("h")
    assert m.status == "COMPLETED"


def test_inclusive_vicious_circle_is_broken_in_order() -> None:
    nodes = [
        S,
        Node(id="j1", join=INCLUSIVE),
        Node(id="j2", join=INCLUSIVE),
        Node(id="g1", split="first"),
        Node(id="g2", split="first"),
        X,
    ]
    ways = [
        "s>j1 s>j2 j1>g1 j2>g2",
        edge("g1>j2", guard="false"),
        edge("g1>x", default=True),
        edge("g2>j1", guard="false"),
        edge("g2>x", default=True),
    ]
    m = Sim(net(nodes, ways))
    assert m.status == "COMPLETED" and any(x.data.get("relaxed") for x in m.of("fired"))


def test_or_inside_or_inside_a_loop() -> None:
    nodes = [
        S,
        Node(id="m", join=MERGE),
        Node(id="o", split="every"),
        *tasks("a"),
        Node(id="o2", split="every"),
        *tasks("b", "c", "d"),
        Node(id="j2", join=INCLUSIVE),
        Node(id="j", join=INCLUSIVE),
        Node(id="g", split="first"),
        X,
    ]
    ways = [
        "s>m m>o b>j2 c>j2 d>j2 a>j j2>j j>g o>a o>o2 o2>b o2>c",
        edge("o2>d", default=True),
        edge("g>m", guard="visit < 2"),
        edge("g>x", default=True),
    ]
    m = Sim(net(nodes, ways))
    for _ in range(2):
        m.ok("b")
        m.ok("c")
        assert m.fired()[-1] == "j2"
        m.ok("a")
    assert m.status == "COMPLETED" and m.fired().count("j") == 2 and m.fired().count("j2") == 2


def test_concurrency_limit() -> None:
    m = Sim(
        net(
            [S, *[task(f"t{i}", group="g") for i in range(5)], X],
            "s>t0 s>t1 s>t2 s>t3 s>t4 t0>x t1>x t2>x t3>x t4>x",
            limits={"g": 2},
        )
    )
    assert len(m.effects()) == 2
    m.ok("t1")
    assert [m.net.nodes[f.node].id for f in m.effects()] == ["t0", "t2"]
    while m.effects():
        assert len(m.effects()) <= 2
        m.ok(m.net.nodes[m.effects()[0].node].id)
    assert m.status == "COMPLETED"


# ---- scopes ----------------------------------------------------------------------------------------------------------


def par(
    required: tuple[Any, ...] = (None, None, None),
    guards: tuple[Any, ...] = (None, None, None),
    undo: bool = False,
    **body: Any,
) -> Net:
    branches = tuple(Branch(key=f"b{i}", entry=f"i{i}", required=required[i], guard=guards[i]) for i in range(3))
    inner = [Node(id=f"i{i}", kind="start", scope="p") for i in range(3)]
    work = [task(f"t{i}", scope="p", undo=("ua",) if undo else ()) for i in range(3)]
    more = [task("ua", off_path=True)] if undo else []
    nodes = [
        S,
        Node(id="p", kind="scope", body=Body(mode="branches", branches=branches, **body)),
        *inner,
        *work,
        *tasks("after"),
        X,
        *more,
    ]
    return net(nodes, "s>p p>after after>x i0>t0 i1>t1 i2>t2")


def test_parallel_all() -> None:
    m = Sim(par())
    m.ok("t2", 2)
    m.ok("t0", 0)
    m.ok("t1", 1)
    assert [r["output"] for r in m.output("p").values()] == [0, 1, 2]
    m.ok("after")
    assert m.status == "COMPLETED"


def test_parallel_all_does_not_fail_fast() -> None:
    """C-22."""
    m = Sim(par())
    m.bad("t0")
    assert m.status == "RUNNING" and m.asked("t1")
    m.ok("t1")
    m.ok("t2")
    assert m.status == "FAILED"


def test_parallel_optional_branch_may_fail() -> None:
    m = Sim(par(required=(False, True, True)))
    m.bad("t0")
    m.ok("t1")
    m.ok("t2")
    assert m.asked("after") and m.output("p")["b0"]["status"] == "failed"


def test_parallel_conditions_and_none_active() -> None:
    m = Sim(par(guards=("false", None, None)))
    m.ok("t1")
    m.ok("t2")
    assert list(m.output("p")) == ["b1", "b2"]
    m = Sim(par(guards=("false", "false", "false")))
    m.ok("after")
    assert m.status == "COMPLETED" and m.output("p") == {}


def test_parallel_any_cancels_losers() -> None:
    m = Sim(par(need=1, collect="first"))
    late = m.asked("t0")
    assert late is not None
    m.ok("t1", "won")
    assert m.output("p") == "won" and len(m.run.stops) == 2
    (line,) = m.do(C.done(late.no, late.attempt, body=9))
    assert line.data["why"] == "superseded"
    m.ok("after")
    assert m.status == "COMPLETED"


def test_parallel_n_of_that_became_impossible_fails_early() -> None:
    m = Sim(par(need=2))
    m.bad("t0")
    assert m.status == "RUNNING"
    m.bad("t1")
    assert m.status == "FAILED" and not m.effects()


def test_parallel_any_with_a_required_branch() -> None:
    m = Sim(par(need=1, required=(None, None, True)))
    m.ok("t0")
    assert m.asked("after") is None
    m.ok("t2")
    assert m.asked("after")


def test_join_timeout_continue_and_fail() -> None:
    m = Sim(par(timeout_ms=100, on_fail="continue"))
    m.ok("t0")
    m.tick()
    assert {k: r["status"] for k, r in m.output("p").items()} == {"b0": "succeeded", "b1": "timeout", "b2": "timeout"}
    m = Sim(par(timeout_ms=100))
    m.ok("t0")
    m.tick()
    assert m.status == "FAILED" and m.st.failure is not None and m.st.failure.code == "JOIN_TIMEOUT"


def test_partial_failure_compensates_in_reverse() -> None:
    m = Sim(par(on_fail="compensate", undo=True))
    m.ok("t0")
    m.bad("t1")
    m.ok("t2")
    assert m.status == "COMPENSATING"
    m.ok("ua")
    m.ok("ua")
    assert m.status == "COMPENSATED"
    assert [x.data["entry"] for x in m.of("undo.step") if x.data["status"] == "EXECUTED"] == [1, 0]


def each(mode: str = "each", **body: Any) -> Net:
    spec = Body(mode=mode, items="input", entry="i", collect="outputs", **body)  # type: ignore[arg-type]
    nodes = [
        S,
        Node(id="p", kind="scope", body=spec),
        Node(id="i", kind="start", scope="p"),
        task("t", scope="p", args={"$expr": "item"}),
        task("u", scope="p"),
        X,
    ]
    return net(nodes, "s>p p>x i>t t>u")


def test_multi_instance_tokens_do_not_mix() -> None:
    m = Sim(each(), [10, 20, 30])
    assert sorted(f.args for f in m.effects()) == [10, 20, 30]
    while m.status == "RUNNING":
        firing = m.effects()[-1]
        m.do(C.done(firing.no, firing.attempt, body=m.st.scopes[firing.scope].key))
    assert m.output("p") == ["0", "1", "2"] and m.fired().count("u") == 3


def test_multi_instance_completion_condition_and_sequence() -> None:
    m = Sim(each(until="done >= 2"), [1, 2, 3])
    while m.status == "RUNNING":
        firing = m.effects()[0]
        m.do(C.done(firing.no, firing.attempt, body=1))
    assert m.status == "COMPLETED" and m.fired().count("x") == 1
    m = Sim(each("each_seq"), [1, 2])
    for n in "tutu":
        assert len(m.effects()) == 1
        m.ok(n, n)
    assert m.status == "COMPLETED"


def test_loop_scope() -> None:
    nodes = [
        S,
        Node(id="l", kind="scope", body=Body(mode="loop", entry="i", again="round < 2", collect="last")),
        Node(id="i", kind="start", scope="l"),
        task("t", scope="l"),
        X,
    ]
    m = Sim(net(nodes, "s>l l>x i>t"))
    for k in range(3):
        m.ok("t", k)
    assert m.status == "COMPLETED" and m.output("l") == 2


def test_boundaries_on_a_scope() -> None:
    one = Body(mode="one", entry="i")
    nodes = [
        S,
        Node(id="p", kind="scope", body=one, triggers=(Trigger(port="late", after_ms=50),)),
        Node(id="i", kind="start", scope="p"),
        task("t", scope="p"),
        task("esc"),
        X,
    ]
    m = Sim(net(nodes, "s>p i>t p>x p:late>esc esc>x"))
    late = m.asked("t")
    assert late is not None
    m.tick()
    assert m.asked("esc") and not m.asked("t")
    assert m.do(C.done(late.no, late.attempt))[0].fact == "ignored"
    m.ok("esc")
    assert m.status == "COMPLETED"
    nodes = [
        S,
        Node(id="p", kind="scope", body=one, on_error=(OnError(match="E1", action="port:err"),)),
        Node(id="i", kind="start", scope="p"),
        *tasks("a", "b", scope="p"),
        Node(id="z", kind="end", scope="p", ends="error:E1"),
        task("h"),
        X,
    ]
    m = Sim(net(nodes, "s>p i>a i>b a>z p>x p:err>h h>x"))
    m.ok("a")
    assert m.asked("b") is None and m.asked("h")
    m.ok("h")
    assert m.status == "COMPLETED"


def test_deadlock_inside_a_scope_is_a_failure_of_the_branch() -> None:
    nodes = [
        S,
        Node(
            id="p", kind="scope", body=Body(mode="one", entry="i"), on_error=(OnError(match="DEADLOCK", action="skip"),)
        ),
        Node(id="i", kind="start", scope="p"),
        Node(id="g", scope="p", split="first"),
        *tasks("a", "b", scope="p"),
        Node(id="j", scope="p"),
        X,
    ]
    m = Sim(net(nodes, ["s>p p>x i>g a>j b>j", edge("g>a", guard="true"), edge("g>b", default=True)]))
    m.ok("a")
    assert m.status == "COMPLETED"


def test_nested_cancel_reaches_children_of_children() -> None:
    nodes = [
        S,
        Node(
            id="p",
            kind="scope",
            body=Body(mode="one", entry="i"),
            triggers=(Trigger(port="stop", kind="signal", name="STOP"),),
        ),
        Node(id="i", kind="start", scope="p"),
        Node(id="q", kind="scope", scope="p", body=Body(mode="each", items="[1, 2]", entry="k")),
        Node(id="k", kind="start", scope="q"),
        Node(id="c", kind="call", scope="q", effect=Effect(executor="call")),
        Node(id="h", kind="work", scope="q", work=Work()),
        X,
    ]
    m = Sim(net(nodes, "s>p p>x p:stop>x i>q k>c k>h"))
    assert len(m.effects()) == 2 and len(m.st.items) == 2
    m.do(C.signal("1", "STOP"))
    assert m.status == "COMPLETED" and len(m.run.stops) == 2
    assert [x.data["to"] for x in m.of("work.moved")] == ["CANCELLED", "CANCELLED"]


# ---- triggers --------------------------------------------------------------------------------------------------------


def test_non_interrupting_boundary_repeats() -> None:
    nodes = [S, task("t", triggers=(Trigger(port="rem", after_ms=10, interrupting=False, repeat_ms=10),)), task("r"), X]
    m = Sim(net(nodes, "s>t t>x t:rem>r r>x"))
    m.tick()
    m.tick()
    assert m.fired().count("r") == 2
    m.ok("t")
    assert not m.st.timers
    m.ok("r")
    m.ok("r")
    assert m.status == "COMPLETED"


def test_first_of_several_triggers() -> None:
    triggers = (
        Trigger(port="a", kind="signal", name="A"),
        Trigger(port="b", kind="signal", name="B", match="event.k == 1"),
        Trigger(port="t", after_ms=99),
    )
    m = Sim(
        net(
            [S, Node(id="w", kind="wait", triggers=triggers), *tasks("ta", "tb", "tt"), X],
            "s>w w:a>ta w:b>tb w:t>tt ta>x tb>x tt>x",
        )
    )
    assert m.status == "WAITING"
    m.do(C.signal("1", "B", {"k": 2}))
    assert m.status == "WAITING" and "1" in m.st.signals
    m.do(C.signal("2", "B", {"k": 1}))
    assert m.asked("tb") and not m.st.timers and not m.st.waits
    m.ok("tb")
    assert m.status == "COMPLETED"


def test_an_early_signal_is_kept_and_used_once() -> None:
    """S1, S2, C-37."""
    m = Sim(
        net(
            [S, task("a"), Node(id="w", kind="wait", triggers=(Trigger(port="a", kind="signal", name="A"),)), X],
            "s>a a>w w:a>x",
        )
    )
    m.do(C.signal("1", "A"))
    assert m.do(C.signal("1", "A"))[0].data["why"] == "duplicate"
    m.ok("a")
    assert m.status == "COMPLETED" and not m.st.signals


@pytest.mark.parametrize(
    ("action", "status", "following"),
    [("fail", "FAILED", None), ("skip", "RUNNING", "n"), ("value", "RUNNING", "n"), ("port", "RUNNING", "alt")],
)
def test_wait_timeouts(action: Any, status: str, following: str | None) -> None:
    late = Trigger(port="alt" if action == "port" else "done", after_ms=5, action=action, value=7)
    m = Sim(
        net(
            [S, Node(id="w", kind="wait", triggers=(Trigger(kind="signal", name="A"), late)), *tasks("n", "alt"), X],
            "s>w w>n w:alt>alt n>x alt>x",
        )
    )
    m.tick()
    assert m.status == status
    if following:
        assert m.asked(following)


def test_polling_is_one_firing_with_one_key() -> None:
    """C-38."""
    poll = Poll(every_ms=60, until="response == 'ok'", fail_if="response == 'bad'")
    m = Sim(net([S, task("p", poll=poll), X], "s>p p>x"))
    m.ok("p", "no")
    assert m.status == "WAITING" and m.asked("p") is None
    m.tick()
    m.ok("p", "no")
    m.tick()
    m.ok("p", "ok")
    assert m.status == "COMPLETED" and m.fired().count("p") == 1
    assert len({x.data["key"] for x in m.of("effect.asked")}) == 1
    m = Sim(net([S, task("p", poll=poll), X], "s>p p>x"))
    m.ok("p", "bad")
    assert m.status == "FAILED"


def test_inner_timer_first_at_one_instant() -> None:
    """C-72."""
    wait = Node(
        id="w",
        kind="wait",
        scope="p",
        triggers=(Trigger(kind="signal", name="A"), Trigger(after_ms=100, action="value", value=1)),
    )
    m = Sim(
        net(
            [
                S,
                Node(id="p", kind="scope", body=Body(mode="one", entry="i", timeout_ms=100)),
                Node(id="i", kind="start", scope="p"),
                wait,
                X,
            ],
            "s>p p>x i>w",
        )
    )
    m.tick(500)
    assert m.status == "COMPLETED" and m.output("w") == 1


def test_escalation_reaches_the_scope_around() -> None:
    listens = Trigger(port="told", kind="escalation", name="LATE", interrupting=False)
    nodes = [
        S,
        Node(id="p", kind="scope", body=Body(mode="one", entry="i"), triggers=(listens,)),
        Node(id="i", kind="start", scope="p"),
        task("a", scope="p"),
        Node(id="z", kind="end", scope="p", ends="escalate:LATE"),
        task("h"),
        X,
    ]
    m = Sim(net(nodes, "s>p i>a a>z p>x p:told>h h>x"))
    m.ok("a")
    assert m.asked("h")
    m.ok("h")
    assert m.status == "COMPLETED"


# ---- failure path ----------------------------------------------------------------------------------------------------


def test_retry_waits_and_keeps_the_key() -> None:
    m = Sim(net([S, task("a", retry=Retry(max=2, base_ms=100, kind="exponential")), X], "s>a a>x"))
    m.bad("a", "T", "transient")
    assert m.status == "RUNNING" and m.run.wake_at() == 100
    m.tick()
    m.bad("a", "T", "timeout")
    assert m.run.wake_at() == 300
    m.tick()
    m.ok("a")
    assert m.status == "COMPLETED"
    asked = m.of("effect.asked")
    assert len(asked) == 3 and len({x.data["key"] for x in asked}) == 1


@pytest.mark.parametrize(
    ("kind", "expected"), [("fixed", [100, 100, 100]), ("linear", [100, 200, 250]), ("exponential", [100, 200, 250])]
)
def test_back_off(kind: Any, expected: list[int]) -> None:
    m = Sim(net([S, task("a", retry=Retry(max=3, base_ms=100, kind=kind, cap_ms=250)), X], "s>a a>x"))
    waits = []
    for _ in range(3):
        m.bad("a", "T", "transient")
        due = m.run.wake_at()
        assert due is not None
        waits.append(due - m.now)
        m.tick()
    assert waits == expected
    m.bad("a", "T", "transient")
    assert m.status == "FAILED"


def test_jitter_comes_from_the_seed() -> None:
    def due(seed: str) -> int | None:
        m = Sim(net([S, task("a", retry=Retry(max=1, base_ms=1000, jitter=True)), X], "s>a a>x"), seed=seed)
        m.bad("a", "T", "transient")
        return m.run.wake_at()

    assert due("one") == due("one") and len({due(str(i)) for i in range(20)}) > 5
    assert all(500 <= (due(str(i)) or 0) <= 1000 for i in range(20))


def test_permanent_failures_are_not_retried() -> None:
    m = Sim(net([S, task("a", retry=Retry(max=2)), X], "s>a a>x"))
    m.bad("a")
    assert m.status == "FAILED"


def test_fallback_and_table() -> None:
    nodes = [
        S,
        task("a", retry=Retry(max=1, base_ms=1), on_error=(OnError(match="*", action="port:fallback"),)),
        task("fb", out=("a_out",)),
        Node(id="out", join=MERGE),
        task("n"),
        X,
    ]
    m = Sim(net(nodes, "s>a a>out a:fallback>fb fb>out out>n n>x"))
    m.bad("a", "T", "transient")
    m.tick()
    m.bad("a", "T", "transient")
    m.ok("fb", 5)
    m.ok("n")
    assert m.status == "COMPLETED" and m.vars()["a_out"] == 5


def test_skip_continue_and_error_envelope() -> None:
    nodes = [
        S,
        task("a"),
        task("b", on_error=(OnError(match="*", action="continue"),)),
        task("c", on_error=(OnError(match="*", action="skip"),)),
        task("d", on_error=(OnError(match="*", action="error_env"),)),
        task("e"),
    ]
    m = Sim(net(nodes, "s>a a>b b>c c>d d>e"))
    m.ok("a", "prev")
    m.bad("b")
    assert m.firing("c").takes[0].envelope.body == "prev"
    m.bad("c")
    m.bad("d")
    assert m.firing("e").takes[0].envelope.body["error"]["code"] == "X"
    assert m.firing("e").takes[0].envelope.content_type == "error"


def saga(policy: Any = "stop", **more: Any) -> Net:
    undo = [task(f"u{x}", off_path=True, args={"$expr": "undone"}) for x in "abc"]
    return net(
        [S, *[task(x, undo=(f"u{x}",)) for x in "abc"], *undo, task("d"), X],
        "s>a a>b b>c c>d d>x",
        undo_policy=policy,
        **more,
    )


def test_saga_reverse_order_with_results() -> None:
    """C4, C5."""
    m = Sim(saga())
    m.ok("a", "ra")
    m.ok("b", "rb")
    m.bad("c")
    assert m.status == "COMPENSATING" and [f.args for f in m.effects()] == ["rb"]
    m.crash()
    m.ok("ub")
    assert [f.args for f in m.effects()] == ["ra"]
    m.ok("ua")
    assert m.status == "COMPENSATED" and m.st.failure is not None and m.st.failure.code == "X"


def test_saga_step_fails_stop_continue_and_resume() -> None:
    """C8, C9."""
    m = Sim(saga())
    m.ok("a")
    m.ok("b")
    m.bad("c")
    m.bad("ub")
    assert m.status == "FAILED" and m.st.failure is not None and m.st.failure.code == "COMPENSATION_FAILED"
    assert [e.status for e in m.st.ledger] == ["open", "FAILED"]
    m.do(C.compensate())
    assert m.status == "COMPENSATING"
    m.ok("ub")
    m.ok("ua")
    assert m.status == "COMPENSATED"
    assert m.do(C.compensate())[0].data["why"] == "nothing_left"
    m = Sim(saga("continue"))
    m.ok("a")
    m.ok("b")
    m.bad("c")
    m.bad("ub")
    m.ok("ua")
    assert m.status == "FAILED" and [e.status for e in m.st.ledger] == ["EXECUTED", "FAILED"]


def group() -> Net:
    undo = [task(f"u{x}", off_path=True) for x in "pab"]
    agents = [
        Node(
            id=x, kind="work", work=Work(agent=True), effect=Effect(executor="x"), undo=(f"u{x}",) if x in "ab" else ()
        )
        for x in "abcd"
    ]
    return net(
        [S, task("p", undo=("up",)), Node(id="f"), *agents, Node(id="j"), X, *undo],
        "s>p p>f f>a f>b f>c f>d a>j b>j c>j d>j j>x",
        undo_policy="group",
    )


def test_saga_of_a_parallel_group() -> None:
    """P-A.13, P-X.20."""
    m = Sim(group())
    m.ok("p")
    m.ok("a")
    m.ok("b")
    m.bad("d")
    assert m.asked("ub") and not m.asked("up")
    m.ok("ub")
    m.ok("ua")
    m.ok("up")
    assert m.status == "COMPENSATED"
    m = Sim(group())
    m.ok("p")
    m.ok("a")
    m.ok("b")
    m.bad("d")
    m.bad("ub")
    m.ok("ua")
    assert m.status == "FAILED" and [e.status for e in m.st.ledger] == ["open", "EXECUTED", "FAILED"]
    m.do(C.compensate())
    m.ok("ub")
    m.ok("up")
    assert m.status == "COMPENSATED"


def test_undo_throw_in_the_middle() -> None:
    m = Sim(
        net(
            [S, task("a", undo=("ua",)), Node(id="u", kind="undo"), task("n"), task("ua", off_path=True)], "s>a a>u u>n"
        )
    )
    m.ok("a")
    assert m.asked("ua")
    m.ok("ua")
    m.ok("n")
    assert m.status == "COMPLETED"


# ---- life of a run ---------------------------------------------------------------------------------------------------


def test_cancel_now_boundary_and_twice() -> None:
    """C1, C2, C3."""
    m = Sim(saga())
    m.ok("a")
    m.do(C.cancel())
    assert m.status == "COMPENSATING"
    with pytest.raises(StatusConflict):
        m.do(C.cancel())
    m.ok("ua")
    assert m.status == "COMPENSATED"
    m = Sim(saga())
    m.ok("a")
    m.do(C.cancel("boundary"))
    assert m.status == "RUNNING" and m.asked("b")
    assert m.do(C.cancel("boundary"))[0].fact == "ignored"
    m.ok("b")
    assert "c" not in m.fired() and m.asked("ub")
    m.bad("ub")
    assert m.status == "CANCELLED"
    m = Sim(net([S, task("a"), X], "s>a a>x"))
    m.do(C.cancel())
    assert m.status == "CANCELLED"
    with pytest.raises(StatusConflict):
        m.do(C.cancel())


def test_pause_and_resume() -> None:
    m = Sim(saga())
    m.do(C.pause())
    m.ok("a")
    assert not m.effects() and m.st.scopes[0].live
    m.crash()
    m.do(C.resume())
    assert m.asked("b")
    with pytest.raises(Refused):
        m.do(C.resume())


def test_retry_by_hand_revives_the_firing() -> None:
    """E7."""
    m = Sim(net([S, *tasks("a", "b", "c"), X], "s>a a>b b>c c>x"))
    m.ok("a", 1)
    m.bad("b")
    assert m.status == "FAILED"
    m.do(C.retry())
    assert m.asked("b") and m.fired().count("a") == 1
    m.ok("b")
    m.ok("c")
    assert m.status == "COMPLETED"
    assert len({x.data["key"] for x in m.of("effect.asked") if x.node == "b"}) == 1


def test_the_runs_own_retry() -> None:
    for how, again in (("here", 1), ("restart", 2)):
        b = task("b", on_final=how)
        m = Sim(net([S, task("a"), b, X], "s>a a>b b>x", run_retry=RunRetry(max=1, delay_ms=60)))
        m.ok("a")
        m.bad("b")
        assert m.status == "PENDING"
        m.tick()
        if how == "restart":
            m.ok("a")
        m.ok("b")
        assert m.status == "COMPLETED" and m.fired().count("a") == again


def test_retry_inside_a_group_runs_only_what_is_left() -> None:
    """F-A.13."""
    branches = (Branch(key="a", entry="ia"), Branch(key="b", entry="ib"))
    nodes = [
        S,
        task("s1"),
        Node(id="g", kind="scope", body=Body(mode="branches", branches=branches)),
        Node(id="ia", kind="start", scope="g"),
        Node(id="ib", kind="start", scope="g"),
        *tasks("a", "b", scope="g"),
        task("s3"),
        X,
    ]
    m = Sim(net(nodes, "s>s1 s1>g g>s3 s3>x ia>a ib>b"))
    m.ok("s1")
    m.bad("b")
    m.ok("a", "A")
    assert m.status == "FAILED"
    m.do(C.retry())
    assert m.asked("b") and not m.asked("a")
    m.ok("b", "B")
    assert {k: r["output"] for k, r in m.output("g").items()} == {"a": "A", "b": "B"}
    m.ok("s3")
    assert m.status == "COMPLETED"


def test_a_plan_that_is_blocked_pauses() -> None:
    """T-X.27."""
    nodes = [S, task("a"), Node(id="g", split="first", no_match="end"), task("b"), Node(id="j"), X]
    m = Sim(net(nodes, ["s>a s>g a>j b>j j>x", edge("g>b", guard="false")], on_stuck="pause"))
    m.ok("a")
    assert m.st.paused and m.incidents() == ["DEADLOCK"] and m.status == "RUNNING"
    m.do(C.cancel())
    assert m.status == "CANCELLED"


def test_supervised_work_and_rework() -> None:
    """P-A.8, P-A.9."""
    m = Sim(
        net(
            [S, Node(id="a", kind="work", work=Work(agent=True, approve=True), effect=Effect(executor="x")), X],
            "s>a a>x",
        )
    )
    item = m.item("a")
    m.ok("a", "d1")
    assert m.st.items[item].status == "SUBMITTED" and m.status == "WAITING"
    with pytest.raises(StatusConflict):
        m.do(C.work(item, "submit"))
    m.do(C.work(item, "reject"))
    assert [x.data["to"] for x in m.of("work.moved")][-3:] == ["REWORK", "TODO", "IN_PROGRESS"]
    assert m.status == "RUNNING"
    m.ok("a", "d2")
    m.do(C.work(item, "approve", "h"))
    assert m.status == "COMPLETED" and m.output("a") == "d2"


def test_a_comment_on_a_decision_is_kept() -> None:
    """P-A.9, P-X.14: who rejected, why and when is in the history; the outcome tells who approved."""
    supervised = Node(id="a", kind="work", work=Work(agent=True, approve=True), effect=Effect(executor="x"))
    m = Sim(net([S, supervised, X], "s>a a>x"))
    item = m.item("a")
    m.ok("a", "d1")
    m.now += 500
    m.do(C.work(item, "reject", "kim", comment="the sum is wrong"))
    rework, todo = (x for x in m.of("work.moved") if x.data["to"] in ("REWORK", "TODO"))
    assert (rework.data["event"], rework.data["by"], rework.data["comment"]) == ("reject", "kim", "the sum is wrong")
    assert rework.at == m.now and "comment" not in todo.data
    m.ok("a", "d2")
    m.now += 500
    m.do(C.work(item, "approve", "lee", comment="now it is right"))
    done = m.of("settled")[-2]
    assert done.node == "a" and done.data["meta"] == {"by": "lee", "comment": "now it is right", "decided_at": m.now}


def test_a_vote_tells_who_decided_and_why() -> None:
    """W-4.6.7: a rejection by vote carries by, comment and the moment in its outcome too."""
    m = Sim(net([S, Node(id="a", kind="work", work=Work(quorum=2)), X, task("r")], "s>a a>x a:rejected>r"))
    m.now += 700
    m.do(C.work(m.item("a"), "vote", "kim", {"vote": "rejected", "comment": "too dear"}))
    settled = next(x for x in m.of("settled") if x.node == "a")
    assert settled.data["meta"] == {"by": "kim", "comment": "too dear", "decided_at": m.now}
    assert m.of("work.moved")[-1].data["comment"] == "too dear"


def test_a_work_command_of_an_older_version_has_no_comment() -> None:
    m = Sim(net([S, Node(id="a", kind="work", work=Work()), X], "s>a a>x"))
    m.do(C.work(m.item("a"), "submit", "kim", 1)[:5])
    assert m.status == "COMPLETED" and m.output("a") == 1


def test_a_deadlock_tells_what_has_expired() -> None:
    """D-X.8, D-12.3: the message names what is held, what is missed, and the token that outlived its time."""
    ways = ["s>a", "s>b", edge("a>n", ttl_ms=1000), "b>n", "n>x"]
    m = Sim(net([S, *tasks("a", "b"), Node(id="n"), X], ways))
    m.ok("a")
    m.tick()
    expired = m.now
    m.now += 2500
    m.ok("b")
    failure = m.st.failure
    assert failure is not None and failure.code == "DEADLOCK"
    assert failure.detail == [{"node": "n", "held": ["b>n"], "missing": ["a>n"], "expired": {"a>n": expired}}]
    assert failure.message == (
        "«n» holds b>n and waits for a>n, which nothing can reach any more; the token on a>n expired 2.5 s earlier"
    )


def test_quorum() -> None:
    """A1, A2."""
    m = Sim(net([S, Node(id="a", kind="work", work=Work(quorum=2)), X, task("r")], "s>a a>x a:rejected>r"))
    item = m.item("a")
    m.do(C.work(item, "vote", "u1", "approved"))
    with pytest.raises(Refused):
        m.do(C.work(item, "vote", "u1", "approved"))
    assert m.status == "WAITING"
    m.do(C.work(item, "vote", "u2", "approved"))
    assert m.status == "COMPLETED"


def test_active_time_leaves_out_waiting() -> None:
    """C-71."""
    m = Sim(net([S, Node(id="w", kind="wait", triggers=(Trigger(after_ms=1000),)), task("a"), X], "s>w w>a a>x"))
    m.tick()
    m.now = 1007
    m.ok("a")
    assert m.st.active_ms == 7


def test_active_timeout_runs_only_while_running() -> None:
    m = Sim(
        net(
            [S, task("a"), Node(id="w", kind="wait", triggers=(Trigger(after_ms=10_000),)), task("b"), X],
            "s>a a>w w>b b>x",
            active_timeout_ms=100,
        )
    )
    m.now = 60
    m.ok("a")
    assert m.status == "WAITING"
    m.tick()
    assert m.now == 10_060 and m.asked("b")
    m.tick()
    assert m.now == 10_100 and m.status == "FAILED"
    assert m.st.failure is not None and m.st.failure.code == "WORKFLOW_TIMEOUT"


def test_double_answers_change_nothing() -> None:
    """K16, E4."""
    m = Sim(saga())
    firing = m.asked("a")
    assert firing is not None
    m.ok("a")
    before = m.vars(), m.status, len(m.st.firings)
    (line,) = m.do(C.done(firing.no, firing.attempt, body="EVIL"))
    assert line.fact == "ignored" and (m.vars(), m.status, len(m.st.firings)) == before


def test_sets_are_evaluated_before_any_is_written() -> None:
    """W-6.3.2."""
    a = task(
        "a", sets=(Set(name="n", expr="fn.coalesce(context.n, 0) + 1"), Set(name="m", expr="fn.coalesce(context.n, 0)"))
    )
    m = Sim(net([S, a, X], "s>a a>x"))
    m.ok("a")
    assert m.vars() == {"n": 1, "m": 0}


def test_an_expression_that_fails_fails_its_firing() -> None:
    m = Sim(net([S, task("a", args={"$expr": "1 / input"}), X], "s>a a>x"), 0)
    assert m.status == "FAILED" and m.st.failure is not None and m.st.failure.code == "EXPR_DIV_ZERO"
    m = Sim(net([S, task("a"), X], ["s>a", edge("a>x", guard="output > 'x'")]))
    m.ok("a", 3)
    assert m.status == "FAILED" and m.st.failure is not None and m.st.failure.code == "EXPR_TYPE"


def test_edges_expire_transform_and_hold_back() -> None:
    """D-12.3, D-12.4, D-12.6, D-12.10."""
    ways = [
        "s>a s>b b>j j>x",
        Edge(id="a>j", src="a", dst="j", ttl_ms=50),
        Edge(id="a:dead>h", src="a", dst="h", port="dead"),
        "h>x",
    ]
    m = Sim(net([S, *tasks("a", "b", "h"), Node(id="j", join=ALL), X], ways))
    m.ok("a", "old")
    m.tick()
    assert [x.data["why"] for x in m.of("absorbed")] == ["expired"] and m.asked("h")
    assert m.firing("h").takes[0].envelope.body == "old"
    m = Sim(net([S, task("a"), task("b"), X], ["s>a b>x", Edge(id="a>b", src="a", dst="b", transform="body * 2")]))
    m.ok("a", 21)
    assert m.firing("b").takes[0].envelope.body == 42
    nodes = [S, task("late"), task("first", priority=1), X]
    assert [x.node for x in Sim(net(nodes, "s>late s>first late>x first>x")).of("effect.asked")] == ["first", "late"]
    ways = ["s>a s>b a>c c>x", Edge(id="b>d", src="b", dst="d", priority=1), "d>x"]
    m = Sim(net([S, *tasks("a", "b"), Node(id="c"), Node(id="d"), X], ways))
    m.do(C.done(m.firing("a").no, 1), C.done(m.firing("b").no, 1))
    loop = [S, Node(id="m", join=MERGE), task("p"), task("c", group="one"), X]
    ways = [
        "s>m m>p c>x",
        Edge(id="p>c", src="p", dst="c", capacity=1),
        Edge(id="p>m", src="p", dst="m", guard="visit < 4"),
    ]
    m = Sim(net(loop, ways, limits={"one": 1}))
    m.ok("p")
    m.ok("p")
    assert m.asked("p") is None, "the edge behind it is full"
    m.ok("c")
    assert m.asked("p") is not None


def test_join_timeout_before_a_node() -> None:
    """D-X.26."""
    nodes = [
        S,
        *tasks("a", "b"),
        task("j", join_timeout_ms=100, on_error=(OnError(match="JOIN_TIMEOUT", action="port:late"),)),
        task("h"),
        X,
    ]
    m = Sim(net(nodes, "s>a s>b a>j b>j j>x j:late>h h>x"))
    m.ok("a", 1)
    m.tick()
    assert m.asked("h")
    m.ok("h")
    m.ok("b")
    m.tick()
    m.ok("h")
    assert m.status == "COMPLETED"


# ---- starts, ends, operators -----------------------------------------------------------------------------------------


def test_every_start_hands_on_its_own_token() -> None:
    """K14, K5: several starts; each token reaches its node, and none carries what another start has made."""
    second = Node(id="t", kind="start", value=7)
    m = Sim(net([S, second, Node(id="r"), *tasks("a", "b"), X], "s>a t>r r>b a>x b>x"), 3)
    assert {f.node: f.takes[0].envelope.body for f in m.effects()} == {
        m.net.by_id["a"].no: 3,
        m.net.by_id["b"].no: 7,
    }
    m.ok("a")
    m.ok("b")
    assert m.status == "COMPLETED" and m.fired().count("x") == 2


@pytest.mark.parametrize("undo", [(), ("u",)])
def test_an_end_may_cancel_the_run_from_any_scope(undo: tuple[str, ...]) -> None:
    """C-40, C-41: cancelled with a reason; with something to undo it ends compensated, and the reason is kept."""
    inner = [Node(id="i", kind="start", scope="g"), task("c", scope="g")]
    stop = Node(id="no", kind="end", scope="g", ends="cancel:REJECTED")
    nodes = [S, task("a", undo=undo), task("b"), Node(id="g", kind="scope", body=Body(entry="i")), *inner, stop, X]
    m = Sim(net([*nodes, task("u", off_path=True)], "s>a a>b a>g i>c c>no b>x g>x"))
    m.ok("a")
    running = m.asked("b")
    assert running is not None
    m.ok("c", "why")
    assert m.run.stops == [running.no] and "x" not in m.fired()
    if undo:
        assert m.status == "COMPENSATING"
        m.ok("u")
    assert m.status == ("COMPENSATED" if undo else "CANCELLED")
    assert m.st.failure is not None and (m.st.failure.code, m.st.failure.detail) == ("REJECTED", "why")


def test_of_two_failures_in_one_turn_the_first_counts() -> None:
    """K3: a broadcast ends two waits, and with each of them the run."""
    stop = (Trigger(kind="signal", name="stop", action="fail", code="STOPPED"),)
    nodes = [S, task("a", undo=("u",)), *(Node(id=n, kind="wait", triggers=stop) for n in "vw"), X]
    m = Sim(net([*nodes, task("u", off_path=True)], "s>a a>v a>w v>x w>x"))
    m.ok("a")
    m.do(C.signal("1", "stop", broadcast=True))
    assert m.status == "COMPENSATING" and [x.data["to"] for x in m.of("run.moved")][-1] == "COMPENSATING"
    m.ok("u")
    assert m.status == "COMPENSATED" and m.fired().count("u") == 1


def test_a_message_that_nobody_waits_for_any_more_is_not_kept() -> None:
    """P-X.25, S1: it has not been seen, so that others may have it, and this run when it waits again."""
    got = Trigger(kind="signal", name="paid", port="got")
    m = Sim(net([S, task("a"), Node(id="w", kind="wait", triggers=(got,)), X], "s>a a>w w:got>x"))
    m.do(C.signal("1", "paid", keep=False))
    assert m.of("ignored")[-1].data["why"] == "unwanted" and not m.st.signals and "1" not in m.st.seen
    m.ok("a")
    assert m.status == "WAITING"
    m.do(C.signal("1", "paid", keep=False))
    assert m.status == "COMPLETED" and "1" in m.st.seen


def test_a_cancelled_firing_leaves_by_cancelled_or_not_at_all() -> None:
    """T-1.2.3, T-X.29: never by the way of success."""
    m = Sim(net([S, *tasks("a", "b"), X], "s>a a>b b>x"))
    m.do(C.cancel_firing(m.firing("a").no))
    assert m.status == "COMPLETED" and m.settled()[-1] == ("a", "interrupted") and "b" not in m.fired()
    m = Sim(net([S, *tasks("a", "b"), X], "s>a a>b a:cancelled>x b>x"))
    m.do(C.cancel_firing("a"))
    assert m.fired()[-1] == "x"


def test_an_operator_names_a_node() -> None:
    """T-X.30: what works there, or what rests before it, in its scope and epoch."""
    inner = [Node(id="i", kind="start", scope="g"), *tasks("a", "b", scope="g"), task("j", scope="g")]
    m = Sim(net([S, Node(id="g", kind="scope", body=Body(entry="i")), *inner, X], "s>g g>x i>a i>b a>j b>j"))
    with pytest.raises(NodeNotFound):
        m.do(C.resolve("j", 1))
    m.do(C.resolve("a", 1))
    m.do(C.resolve("j", "by hand"))
    assert m.of("fired")[-1].data["takes"] == [["a>j", 0]] and m.asked("j") is None
    m.ok("b", 2)
    assert m.status == "FAILED" and m.st.failure is not None and m.st.failure.code == "DEADLOCK"


# ---- waits -----------------------------------------------------------------------------------------------------------


def waiting_for(filter: Any, **more: Any) -> Net:
    trigger = Trigger(kind="signal", name="lab", filter=filter, match="event.id == filter.id")
    return net([S, Node(id="w", kind="wait", triggers=(trigger,), **more), *tasks("h"), X], "s>w w>x w:none>h h>x")


def test_a_filter_is_fixed_when_the_wait_opens() -> None:
    """C-37: it is part of the wait, so what it was made of may change."""
    m = Sim(waiting_for({"id": {"$expr": "sample"}}), options={"vars": {"sample": 7}})
    assert m.of("wait.opened")[0].data["filter"] == {"id": 7}
    m.do(C.set_variable("sample", 8))
    m.crash()
    m.do(C.signal("1", "lab", {"id": 8}))
    assert m.status == "WAITING"
    m.do(C.signal("2", "lab", {"id": 7}))
    assert m.status == "COMPLETED" and m.output("w") == {"id": 7}


def test_a_name_that_a_node_has_given_can_be_set_by_hand() -> None:
    """D-X.29: what is edited is what expressions see, also when it is the name of an output; and after a reload."""
    wait = Node(id="w", kind="wait", triggers=(Trigger(kind="signal", name="go"),))
    nodes = [S, *tasks("a", out=("found",)), wait, Node(id="c", split="first"), *tasks("y", "n"), X]
    m = Sim(net(nodes, ["s>a a>w w>c y>x n>x", edge("c>y", guard="found == 2"), edge("c>n", default=True)]))
    m.ok("a", 1)
    m.do(C.set_variable("found", 2))
    m.crash()
    m.do(C.signal("1", "go"))
    assert m.asked("y") and m.asked("n") is None


@pytest.mark.parametrize("wanted", [{"$expr": "input"}, {"id": {"$expr": "input"}}, {"id": {"$in": [1, None]}}])
def test_a_filter_without_a_value_fails_the_wait(wanted: Any) -> None:
    """C-37."""
    m = Sim(waiting_for(wanted), None)
    assert m.status == "FAILED" and m.st.failure is not None and m.st.failure.code == "FILTER_VALUE_NULL"
    row = (OnError(match="FILTER_VALUE_NULL", action="port:none"),)
    m = Sim(waiting_for(wanted, on_error=row), None)
    assert m.asked("h") and not m.st.waits


def test_a_trigger_that_gives_a_value_leaves_by_its_port() -> None:
    """C-36: timeout.default and timeout.goto."""
    late = Trigger(after_ms=10, action="value", value=5, port="late")
    m = Sim(net([S, Node(id="w", kind="wait", triggers=(late,)), *tasks("a", "b"), X], "s>w w>a w:late>b a>x b>x"))
    m.tick()
    assert m.asked("b") and m.asked("a") is None and m.settled()[-1] == ("w", "done")
    broken = Trigger(after_ms=10, action="value", value={"$expr": "1 / input"})
    m = Sim(net([S, Node(id="w", kind="wait", triggers=(broken,)), X], "s>w w>x"), 0)
    m.tick()
    assert m.status == "FAILED" and m.st.failure is not None and m.st.failure.code == "EXPR_DIV_ZERO"


# ---- tried again -----------------------------------------------------------------------------------------------------


def test_delays_may_be_listed() -> None:
    """T-X.15: 0, 5, 10 seconds; the last one counts for all that follow."""
    m = Sim(net([S, task("a", retry=Retry(max=4, delays_ms=(0, 5000, 10_000), cap_ms=7)), X], "s>a a>x"))
    for due in (0, 5000, 15_000, 25_000):
        m.bad("a", "X", "transient")
        assert m.run.wake_at() == due
        m.tick()
    m.bad("a", "X", "transient")
    assert m.status == "FAILED"


def grouped(*members: str, **more: Any) -> list[Node]:
    """A scope with one branch for each member."""
    branches = tuple(Branch(key=n, entry=f"i{n}") for n in members)
    body = Body(mode="branches", branches=branches, need=more.pop("need", 0))
    return [
        Node(id="g", kind="scope", body=body, **more),
        *(Node(id=f"i{n}", kind="start", scope="g") for n in members),
    ]


def test_a_stage_that_is_asked_again_goes_on_counting() -> None:
    """E2, E4, E7: the same key, another attempt; an answer to the first asking is never taken for the second."""
    again = Retry(max=1, base_ms=10)
    nodes = [S, *grouped("a", "b", need=2), task("a", scope="g"), task("b", scope="g", retry=again), X]
    m = Sim(net(nodes, "s>g g>x ia>a ib>b"))
    first = m.asked("a")
    assert first is not None
    m.bad("b", "X", "transient")
    m.tick()
    m.bad("b", "X", "transient")
    assert m.status == "FAILED" and m.run.stops == [first.no]
    m.do(C.retry("here"))
    m.crash()
    assert [(x.node, x.data["attempt"]) for x in m.of("effect.asked")] == [
        ("a", 1),
        ("b", 1),
        ("b", 2),
        ("a", 2),
        ("b", 3),
    ]
    assert len({x.data["key"] for x in m.of("effect.asked")}) == 2
    assert m.do(C.failed(first.no, 1, Failure("STALE", "permanent")))[0].fact == "ignored"
    now = m.asked("a")
    assert now is not None and now.no != first.no
    assert m.do(C.done(now.no, 1, body="stale"))[0].fact == "ignored"
    m.bad("b", "X", "transient")
    assert m.status == "RUNNING", "its own retries count anew"
    m.tick()
    m.ok("b")
    m.ok("a")
    assert m.status == "COMPLETED"


def test_scopes_inside_a_scope_go_on_counting_too() -> None:
    """E4: the inner scope is a new one with the old names, and what it asked for before is out of its state."""
    inner = Node(id="h", kind="scope", scope="g", body=Body(mode="loop", entry="ih", again="round < 1", collect="last"))
    nodes = [S, *grouped("a"), inner, Node(id="ih", kind="start", scope="h"), task("c", scope="h"), X]
    m = Sim(net(nodes, "s>g g>x ia>h ih>c"))
    for round in (1, 2, 3):
        m.ok("c")
        m.bad("c")
        assert m.status == "FAILED"
        m.do(C.retry("here"))
        assert m.of("effect.asked")[-1].data["attempt"] == round + 1
    asked = [(x.data["key"], x.data["attempt"]) for x in m.of("effect.asked")]
    assert len(asked) == len(set(asked)) == 7 and len({key for key, _ in asked}) == 2


def test_a_step_that_is_undone_again_goes_on_counting() -> None:
    """E4, P-X.21: both parts begin at one, and a second compensation of the step after what the first has used."""
    undo = [task("u", off_path=True, retry=Retry(max=1, base_ms=5)), task("v", off_path=True)]
    m = Sim(net([S, task("a", undo=("u", "v")), task("b"), *undo, X], "s>a a>b b>x"))
    m.ok("a")
    m.bad("b")
    m.bad("u", "X", "transient")
    m.tick()
    m.ok("u")
    m.bad("v")
    assert m.status == "FAILED"
    m.do(C.compensate())
    m.ok("u")
    m.ok("v")
    assert m.status == "COMPENSATED" and m.st.failure is not None and m.st.failure.code == "X"
    asked = [(x.node, x.data["attempt"]) for x in m.of("effect.asked") if x.node in "uv"]
    assert asked == [("u", 1), ("u", 2), ("v", 1), ("u", 3), ("v", 3)]


def test_a_failed_compensation_keeps_what_the_run_had_failed_with() -> None:
    """C-45: also when it is compensated again, and then again fails; conditions see the first failure."""
    undo_if = "failure.code == 'FIRST'"
    m = Sim(net([S, task("a", undo=("u",), undo_if=undo_if), task("b"), task("u", off_path=True), X], "s>a a>b b>x"))
    m.ok("a")
    m.bad("b", "FIRST")
    for _ in range(2):
        m.bad("u", "SECOND")
        assert m.status == "FAILED" and m.st.failure is not None and m.st.failure.code == "COMPENSATION_FAILED"
        assert m.st.failure.detail["cause"]["code"] == "FIRST" and m.st.failure.detail["cause"]["node"] == "b"
        m.do(C.compensate())
    m.ok("u")
    assert m.status == "COMPENSATED" and m.st.failure is not None and m.st.failure.code == "FIRST"


def parking(**more: Any) -> Sim:
    row = (OnError(match="*", action="park:failed"),)
    nodes = [S, *tasks("a", "b", "c", group="g", on_error=row), *tasks("h"), Node(id="j"), X]
    ways = "s>a s>b s>c a>j b>j c>j j>x a:failed>h b:failed>x c:failed>x h>x"
    return Sim(net(nodes, ways, limits={"g": 2}, on_stuck="pause", **more))


def test_a_parked_firing_is_revived_in_a_run_that_goes_on() -> None:
    """T-X.1, T-X.10, E7: the same firing, the next attempt; not beyond the limit of its group, and only once."""
    m = parking()
    failed = m.firing("a").no
    with pytest.raises(NodeNotFound):
        m.do(C.retry("here", failed))
    m.bad("a")
    assert m.asked("h") and m.asked("c") and list(m.st.parked) == [failed]
    with pytest.raises(Refused, match="no room"):
        m.do(C.retry("here", failed))
    m.ok("b")
    m.crash()
    m.do(C.retry("here", failed))
    with pytest.raises(NodeNotFound):
        m.do(C.retry("here", failed))
    ask = m.of("effect.asked")[-1]
    assert (ask.node, ask.data["attempt"], ask.data["key"]) == ("a", 2, "default/r1/a@~0#1")
    m.bad("a")
    m.do(C.retry("here", failed))
    m.ok("a", 1)
    m.ok("c")
    m.ok("h")
    m.ok("h")
    assert m.status == "COMPLETED" and m.fired().count("a") == 1 and not m.st.parked


def test_what_is_parked_is_not_revived_when_the_run_ends() -> None:
    m = parking()
    failed = m.firing("a").no
    m.bad("a")
    m.do(C.cancel("boundary"))
    with pytest.raises(StatusConflict, match="ending"):
        m.do(C.retry("here", failed))
    for node in ("b", "c", "h"):
        m.ok(node)
    assert m.status == "CANCELLED"
    with pytest.raises(StatusConflict, match="CANCELLED"):
        m.do(C.retry("here", failed))


def test_what_is_parked_in_a_scope_goes_with_it() -> None:
    row = (OnError(match="*", action="park:failed"),)
    nodes = [S, *grouped("a", "b"), task("a", scope="g", on_error=row), task("b", scope="g"), *tasks("c", "d"), X]
    m = Sim(net(nodes, "s>g s>d g>c c>x d>x ia>a ib>b"))
    failed = m.firing("a").no
    m.bad("a")
    assert m.st.scopes[1].status == 1, "its branch ends without it"
    with pytest.raises(NodeNotFound):
        m.do(C.retry("here", failed))
    m.ok("b")
    m.ok("c")
    m.ok("d")
    assert m.status == "COMPLETED"


def test_a_parked_scope_goes_on_with_what_it_had_not_done() -> None:
    """F-X.6b, E4: finished children keep their results, the others go on counting."""
    row = (OnError(match="*", action="park:failed"),)
    nodes = [S, *grouped("a", "b", on_error=row), *tasks("a", "b", scope="g"), *tasks("h"), X]
    m = Sim(net(nodes, "s>g g>x g:failed>h h>x ia>a ib>b"))
    parked = m.firing("g").no
    m.ok("a", 1)
    m.bad("b")
    assert m.asked("h") and list(m.st.parked) == [parked]
    m.crash()
    m.do(C.retry("here", parked))
    assert [(x.node, x.data["attempt"]) for x in m.of("effect.asked")] == [("a", 1), ("b", 1), ("h", 1), ("b", 2)]
    m.ok("b", 2)
    assert {k: r["output"] for k, r in m.output("g").items()} == {"a": 1, "b": 2}
    m.ok("h")
    assert m.status == "COMPLETED" and list(m.st.scopes) == [0]


def test_the_failed_members_of_a_group_say_how_it_is_tried_again() -> None:
    """F-X.6b: also a member of a group inside the group; one that wants the whole again decides."""
    for how, again in (("here", ["c"]), ("restart", ["a"])):
        inner = Node(id="h", kind="scope", scope="g", body=Body(entry="ih"), on_final="member")
        deep = [Node(id="ih", kind="start", scope="h"), task("c", scope="h", on_final=how)]
        nodes = [S, task("a"), *grouped("b", on_final="member"), inner, *deep, X]
        m = Sim(net(nodes, "s>a a>g g>x ib>h ih>c", run_retry=RunRetry(max=1, delay_ms=5)))
        m.ok("a")
        m.bad("c")
        assert m.status == "PENDING"
        m.tick()
        assert [m.net.nodes[f.node].id for f in m.effects()] == again


def test_a_branch_record_says_how_long_it_took() -> None:
    """C-23: of a branch that was cut off too."""
    m = Sim(net([S, *grouped("a", "b", need=1), *tasks("a", "b", scope="g"), X], "s>g g>x ia>a ib>b"))
    m.now = 30
    m.ok("a")
    assert {k: (r["status"], r["duration_ms"]) for k, r in m.output("g").items()} == {
        "a": ("succeeded", 30),
        "b": ("skipped", 30),
    }


# ---- names and values ------------------------------------------------------------------------------------------------


def test_a_branch_that_stays_in_its_epoch_goes_on_counting() -> None:
    """E2: one way out of a split raises the epoch, the other stays: the node's second visit there has another key."""
    again = Edge(id="n>n+", src="n", dst="n", raises=True, guard="visit == 1 && epoch == 0")
    here = Edge(id="n>n", src="n", dst="n", guard="visit == 1 && epoch == 0")
    m = Sim(net([S, task("n", join=MERGE, split="every", no_match="end"), X], ["s>n", again, here]))
    m.ok("n")
    assert [x.data["key"] for x in m.of("effect.asked")] == [
        f"default/r1/n@~{epoch}#{visit}" for epoch, visit in ((0, 1), (0, 2), (1, 1))
    ]


def test_a_value_that_cannot_be_made_fails_the_firing() -> None:
    """K1: an answer that no edge can carry is a failure of its node, not of the turn."""
    row = (OnError(match="EXPR_TYPE", action="port:odd"),)
    ways = ["s>a", edge("a>x", transform="body + 1"), "a:odd>b b>x"]
    m = Sim(net([S, task("a", on_error=row), task("b"), X], ways))
    m.ok("a", {"no": "number"})
    assert m.asked("b") and ("a", "failed") in m.settled()
    m = Sim(net([S, Node(id="r"), X], ["s>r", edge("r>x", transform="body + 1")]), {})
    assert m.status == "FAILED" and m.st.failure is not None and m.st.failure.node == "r"
    ways = ["s>a", edge("a>x", transform="body + 1"), edge("a:odd>b", guard="1 / 0 == 1"), "b>x"]
    m = Sim(net([S, task("a", on_error=row), task("b"), X], ways))
    m.ok("a", {"no": "number"})
    assert m.status == "FAILED" and m.st.failure is not None and m.st.failure.code == "EXPR_DIV_ZERO"


def test_a_scope_whose_last_token_expires_ends() -> None:
    """K4: the token waited for room in its group, so nobody worked in the scope and nobody was asked when it went."""
    row = [Node(id="g", kind="scope", body=Body(entry="i")), Node(id="i", kind="start", scope="g")]
    nodes = [S, task("a", group="one"), *row, task("b", scope="g", group="one"), *tasks("c"), X]
    ways = ["s>a s>g g>c a>x c>x", Edge(id="i>b", src="i", dst="b", ttl_ms=50)]
    for crash in (False, True):
        m = Sim(net(nodes, ways, limits={"one": 1}))
        assert m.asked("a") and m.asked("b") is None
        if crash:
            m.crash()
        m.tick()
        assert m.asked("c"), "the scope is done"


def test_a_run_that_failed_has_no_time_left_to_run_out() -> None:
    """C-71: the limit of active time goes with the failure; neither a compensation nor a retry by hand meets it."""
    undo = task("u", off_path=True)
    for done in ((), (undo,)):
        a = task("a", undo=("u",)) if done else task("a")
        m = Sim(net([S, a, task("b"), *done, X], ["s>a a>b b>x"], active_timeout_ms=1000))
        assert m.run.wake_at() == 1000
        m.ok("a")
        m.bad("b")
        assert m.run.wake_at() is None and not m.st.timers
        m.tick(5000)
        if done:
            m.ok("u")
        assert m.status == ("COMPENSATED" if done else "FAILED")
        assert m.st.failure is not None and m.st.failure.code == "X"


@pytest.mark.parametrize("crash", [False, True])
def test_a_scope_takes_no_room_in_the_group_of_those_inside(crash: bool) -> None:
    """K4: what only waits for others is not in the way of others, also after a restart."""
    scope = Node(id="g", kind="scope", group="one", body=Body(entry="i"))
    nodes = [S, scope, Node(id="i", kind="start", scope="g"), *tasks("a", "b", scope="g", group="one"), X]
    m = Sim(net(nodes, ["s>g g>x", "i>a a>b"], limits={"one": 1}))
    for id in ("a", "b"):
        if crash:
            m.crash()
        assert m.asked(id), "there is room for one"
        m.ok(id)
    assert m.status == "COMPLETED"


@pytest.mark.parametrize("approved", [False, True])
def test_a_draft_that_is_made_again_is_undone_once(approved: bool) -> None:
    """E2, P-5.5.4: a key has one entry: that of the last draft, or that of the work that was finished before."""
    draft = Node(
        id="a", kind="work", scope="g", work=Work(agent=True, approve=True), effect=Effect(executor="x"), undo=("u",)
    )
    inner = [Node(id="i", kind="start", scope="g"), draft, task("b", scope="g")]
    nodes = [S, Node(id="g", kind="scope", body=Body(entry="i")), *inner, X, task("u", off_path=True)]
    m = Sim(net(nodes, "s>g g>x i>a i>b", run_retry=RunRetry(max=1, delay_ms=5)))
    m.ok("a", "first")
    if approved:
        m.do(C.work(m.item("a"), "approve", "kim"))
    m.bad("b")
    assert m.status == "PENDING"
    m.tick()
    m.ok("a", "second")
    assert [e.status for e in m.st.ledger] == (["open"] if approved else ["withdrawn", "open"])
    m.bad("b")
    assert m.status == "COMPENSATING"
    m.ok("u")
    assert m.status == "COMPENSATED" and m.fired().count("u") == 1


def test_a_token_that_expires_makes_room_on_its_edge() -> None:
    """KERNEL 3.8: whoever was held back by the full edge fires at once, not only after a reload."""
    nodes = [S, Node(id="m", join=MERGE), task("p"), task("b"), Node(id="n"), Node(id="g", split="first"), X]
    full = edge("p>n", ttl_ms=50, capacity=1)
    m = Sim(
        net(nodes, ["s>m s>b m>p p>g b>n n>x", full, edge("g>m", guard="counters.p < 2"), edge("g>x", default=True)])
    )
    m.ok("p")
    assert not m.asked("p") and m.st.live == 2, "one lies on the full edge, one before «p»"
    m.tick()
    assert m.asked("p")
    m.ok("p")
    m.ok("b")
    assert m.status == "COMPLETED"
