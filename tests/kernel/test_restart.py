"""A run that is restarted counts anew: limits, debts and dead branches of the life before it are gone."""

from __future__ import annotations

from typing import Any

from penstock.kernel import command as C
from penstock.kernel.state import decode_state, encode_state
from penstock.net.model import MERGE, Edge, Join, Node
from tests.kernel.harness import Sim
from tests.kernel.nets import S, X, net, task, tasks


def keys(m: Sim, node: str) -> list[str]:
    return [line.data["key"] for line in m.of("effect.asked") if line.node == node]


def test_k15_a_restart_gives_every_node_its_rounds_again() -> None:
    """K15, K14: a node at its limit fires again after `retry --restart`, and its effects are new ones."""
    m = Sim(net([S, task("a", max_iter=1), task("b"), X], "s>a a>b b>x"))
    for life in range(1, 4):
        m.ok("a")
        m.bad("b")
        assert m.status == "FAILED" and m.fired().count("a") == life
        m.crash()
        m.do(C.retry("restart"))
    m.crash()
    m.ok("a")
    m.ok("b")
    assert m.status == "COMPLETED" and m.fired().count("s") == 4
    assert len(set(keys(m, "a"))) == len(keys(m, "a")) == 4
    assert m.st.scopes[0].rounds(m.net.by_id["a"].no) == 1


def test_k15_within_its_new_life_a_node_keeps_to_its_limit() -> None:
    """K15: the limit is as strict as before: a loop stops at it, in the first life and in the second."""
    loop = net([S, task("a", max_iter=2, join=MERGE), task("b"), X], "s>a a>b b>a b>x")
    m = Sim(loop)
    seen = []
    for life in (1, 2):
        for node in "abab":
            m.ok(node)
        seen.append(m.fired().count("a"))
        assert m.asked("a") is None and m.asked("b") is not None  # its last output is handed on, it does not fire
        m.bad("b")
        assert m.status == "FAILED"
        if life == 1:
            m.do(C.retry("restart"))
    assert seen == [2, 4]


def test_the_run_that_goes_round_is_not_stopped_for_what_was_before() -> None:
    """The limit of visits for nodes without one of their own counts from the restart as well."""
    m = Sim(net([S, *tasks("a", "b"), X], "s>a a>b b>x", max_visits=2))
    for _ in range(4):
        m.ok("a")
        m.bad("b")
        m.do(C.retry("restart"))
    m.ok("a")
    m.ok("b")
    assert m.status == "COMPLETED"


def test_k11_a_late_token_of_the_life_before_is_not_waited_for() -> None:
    """K11: two of three had come, the third was owed, and the run failed. In its next life the third counts."""
    join = Node(id="j", join=Join(mode="k", k=2, late="absorb"))
    m = Sim(net([S, *tasks("t1", "t2", "t3"), join, task("b"), X], "s>t1 s>t2 s>t3 t1>j t2>j t3>j j>b b>x"))
    m.ok("t1")
    m.ok("t2")
    m.bad("b")
    assert m.status == "FAILED"
    m.do(C.retry("restart"))
    m.ok("t3")
    m.ok("t1")
    assert m.asked("b") is not None
    m.ok("b")
    m.ok("t2")
    assert m.status == "COMPLETED"


def test_a_checkpoint_of_before_is_read() -> None:
    """V3: a scope that was written without the new column counts from the beginning."""
    m = Sim(net([S, task("a", max_iter=1), X], "s>a a>x"))
    st: Any = decode_state(encode_state(m.st))
    assert st.scopes[0].since == {} and st.scopes[0].rounds(m.net.by_id["a"].no) == 1


def test_e2_a_start_that_goes_to_the_next_round_does_not_forget_the_starts_that_have_not_fired() -> None:
    """E2, K15: the first of two starts goes round at once, the second asks in the first round; after a restart it asks
    under another key."""
    again = Edge(id="s>a", src="s", dst="a", raises=True)
    m = Sim(net([S, Node(id="t", kind="start"), task("a", join=MERGE), task("b"), X], [again, "t>b a>x b>x"]))
    m.bad("b")
    assert m.status == "FAILED"
    m.do(C.retry("restart"))
    assert len(set(keys(m, "b"))) == len(keys(m, "b")) == 2
