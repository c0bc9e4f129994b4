"""The diagram's ALL: START, conditions, skippable edges, loop heads, epochs."""

from __future__ import annotations

import pytest

from tests.model.net import (
    DEFAULT,
    DIA,
    XOR,
    Body,
    Edge,
    Join,
    Net,
    Node,
)
from tests.model.sim import Sim, chain, edges
from tests.model.small_nets import S, X


def dia(skippable=False, maxit=3, cond=None, ctl=False):
    role = "skip" if skippable else "cond"
    cond = cond or (lambda v: v["count"]("pj", v["epoch"]) >= maxit)
    return Net(
        (
            S,
            Node("pj", "task", join=DIA, max_iter=maxit),
            Node("co", join=Join("k", 1, take="all"), split="first"),
            Node("ask", "task", join=DIA),
            Node("e", "end", join=DIA),
        ),
        (
            Edge("s>pj", "s", "pj", role="start"),
            Edge("pj>co", "pj", "co"),
            Edge("co>ask", "co", "ask", guard=cond, role=role),
            Edge("co>pj", "co", "pj", guard=DEFAULT, role=role),
            *edges("ask>e"),
        ),
        on_fail="drain",
    )


@pytest.mark.parametrize("skip", [False, True])
def test_diagram_reference_trace(skip):  # D-10.1, D-10.2, D-A.1, D-A.2
    sim = Sim(dia(skip))
    for i in range(3):
        sim.ok("pj", i)
    sim.ok("ask")
    assert sim.status == "COMPLETED" and sim.fired() == ["s", "pj", "co", "pj", "co", "pj", "co", "ask", "e"]
    assert {f["epoch"] for f in sim.facts if f["f"] == "put"} == {0}
    assert [f["seq"] for f in sim.facts if f["f"] == "put" and f["edge"] == "co>pj"] == [0, 1]


def test_diagram_exit_early():  # D-A.3
    sim = Sim(dia(cond=lambda v: v["count"]("co") == 2))
    sim.ok("pj")
    sim.ok("pj")
    sim.ok("ask")
    assert sim.status == "COMPLETED" and sim.fired().count("pj") == 2


def test_diagram_maxiter_leftover_completes_with_warning():  # D-X.5, D-X.8
    sim = Sim(dia(cond=lambda v: False))
    for _ in range(3):
        sim.ok("pj")
    assert (
        sim.status == "COMPLETED"
        and sim.state["incidents"][0]["code"] == "max_iteration_without_exit"
        and sim.fired().count("pj") == 3
    )


def test_diagram_skippable_other_way():  # D-A.5
    net = Net(
        (
            S,
            Node("a", "task", join=DIA),
            Node("co", join=XOR, split="first"),
            Node("n", "task", join=DIA),
            Node("z", "end", join=DIA),
        ),
        (
            Edge("s>a", "s", "a", role="start"),
            Edge("s>co", "s", "co", role="start"),
            Edge("a>n", "a", "n"),
            Edge("co>n", "co", "n", guard=lambda v: False, role="skip"),
            Edge("co>z", "co", "z", guard=DEFAULT, role="skip"),
        ),
    )
    sim = Sim(net)
    sim.ok("a")
    sim.ok("n")
    assert sim.status == "COMPLETED"


def test_diagram_diamond_deadlock_named():  # D-A.10
    net = Net(
        (
            S,
            Node("co", join=XOR, split="first"),
            Node("a", "task", join=DIA),
            Node("b", "task", join=DIA),
            Node("n", "task", join=DIA),
        ),
        (
            Edge("s>co", "s", "co", role="start"),
            Edge("co>a", "co", "a", guard=lambda v: True, role="cond"),
            Edge("co>b", "co", "b", guard=DEFAULT, role="cond"),
            *edges("a>n b>n"),
        ),
    )
    sim = Sim(net)
    sim.ok("a")
    assert sim.status == "FAILED" and sim.state["failure"]["detail"] == [
        {"node": "n", "held": ["a>n"], "missing": ["b>n"]}
    ]


def test_diagram_condition_undecided_blocks_then_not_required():
    net = Net(
        (
            S,
            Node("a", "task", join=DIA),
            Node("b", "task", join=DIA),
            Node("co", join=XOR, split="first"),
            Node("n", "task", join=DIA),
            Node("z", "end", join=DIA),
        ),
        (
            Edge("s>a", "s", "a", role="start"),
            Edge("s>b", "s", "b", role="start"),
            Edge("b>co", "b", "co"),
            Edge("a>n", "a", "n"),
            Edge("co>n", "co", "n", guard=lambda v: False, role="cond"),
            Edge("co>z", "co", "z", guard=DEFAULT, role="cond"),
        ),
    )
    sim = Sim(net)
    sim.ok("a")
    assert sim.effect("n") is None
    sim.ok("b")
    sim.ok("n")
    assert sim.status == "COMPLETED"


def test_diagram_race_inside_loop_needs_dominators():
    """n takes a plain and a condition edge in a loop body; by "reachable from n" the order of arrival would matter."""

    def net():
        return Net(
            (
                S,
                Node("h", join=DIA, max_iter=9),
                Node("a", "task", join=DIA),
                Node("b", "task", join=DIA),
                Node("co", join=XOR, split="first"),
                Node("n", "task", join=DIA),
                Node("g", join=XOR, split="first"),
                Node("z", "end", join=XOR),
            ),
            (
                Edge("s>h", "s", "h", role="start"),
                *edges("h>a h>b b>co a>n n>g"),
                Edge("co>n", "co", "n", guard=lambda v: True, role="cond"),
                Edge("co>z", "co", "z", guard=DEFAULT, role="cond"),
                Edge("g>h", "g", "h", guard=lambda v: v["count"]("g") < 2, role="cond"),
                Edge("g>z", "g", "z", guard=DEFAULT, role="cond"),
            ),
        )

    res = []
    for order in ("ab", "ba"):
        sim = Sim(net())
        for _ in range(2):
            for x in order:
                sim.ok(x)
            sim.ok("n")
        res.append((sim.status, sim.fired().count("n")))
    assert res == [("COMPLETED", 2)] * 2


def test_diagram_epoch_loop_controller():  # D-A.13
    def c1(v):
        return v["count"]("pj", v["epoch"]) >= 2

    def c2(v):
        return v["epoch"] >= 2

    net = Net(
        (
            S,
            Node("pj", "task", join=DIA, max_iter=2),
            Node("c1", join=XOR, split="first"),
            Node("c2", join=XOR, split="first"),
            Node("e", "end", join=DIA),
        ),
        (
            Edge("s>pj", "s", "pj", role="start"),
            Edge("pj>c1", "pj", "c1"),
            Edge("c1>c2", "c1", "c2", guard=c1, role="cond"),
            Edge("c1>pj", "c1", "pj", guard=DEFAULT, role="cond"),
            Edge("c2>e", "c2", "e", guard=c2, role="cond"),
            Edge("c2>pj", "c2", "pj", guard=DEFAULT, role="cond", raises=True),
        ),
    )
    sim = Sim(net)
    for _ in range(6):
        sim.ok("pj")
    assert sim.status == "COMPLETED"
    assert [f["epoch"] for f in sim.facts if f["f"] == "fired" and f["node"] == "pj"] == [0, 0, 1, 1, 2, 2]


def test_diagram_drain_on_failure():  # D-X.10
    net = Net((S, *chain("a", "b", "c"), Node("e", "end")), edges("s>a s>b b>c c>e a>e"), on_fail="drain")
    sim = Sim(net)
    sim.bad("a")
    assert sim.status == "RUNNING"
    sim.ok("b")
    assert sim.status == "FAILED" and "c" not in sim.fired()


def test_diagram_on_error_continue():
    net = Net((S, Node("a", "task", on_error=(("*", "error_env"),)), *chain("b")), edges("s>a a>b"))
    sim = Sim(net)
    sim.bad("a")
    assert (
        next(x["env"] for f in sim.facts if f["f"] == "fired" and f["node"] == "b" for x in f["taken"])["error"]["code"]
        == "X"
    )


def test_diagram_deleting_outputs_changes_nothing():  # D-A.19: statuses are for people
    sim = Sim(dia())
    sim.ok("pj")
    sim.check = False
    for o in sim.state["outputs"].values():
        o["status"] = None
    sim.ok("pj")
    sim.ok("pj")
    sim.ok("ask")
    assert sim.status == "COMPLETED"


def test_epoch_poisons_a_join_after_a_controller_loop():  # D-X.1 taken literally
    """The exit keeps epoch 1, the sibling has epoch 0."""
    net = Net(
        (S, Node("pj", "task", join=XOR), Node("c", join=XOR, split="first"), *chain("b"), Node("j"), X),
        (
            *edges("s>pj s>b pj>c b>j j>x"),
            Edge("c>j", "c", "j", guard=lambda v: v["epoch"] >= 1),
            Edge("c>pj", "c", "pj", guard=DEFAULT, raises=True),
        ),
    )
    sim = Sim(net)
    sim.ok("b")
    sim.ok("pj")
    sim.ok("pj")
    assert sim.status == "FAILED" and sim.state["failure"]["code"] == "DEADLOCK"


# ---------------------------------------------------------------- max_iter: the last output is forwarded once
def leaving(when) -> Net:
    """pj may run twice; the condition leaves the loop by `when`."""
    return Net(
        (
            S,
            Node("pj", "task", join=DIA, max_iter=2),
            Node("co", join=Join("k", 1, take="all"), split="first"),
            Node("e", "end", join=DIA),
        ),
        (
            Edge("s>pj", "s", "pj", role="start"),
            Edge("pj>co", "pj", "co"),
            Edge("co>e", "co", "e", guard=when, role="cond"),
            Edge("co>pj", "co", "pj", guard=DEFAULT, role="cond"),
        ),
    )


def test_at_max_iter_the_last_output_is_forwarded_once_and_the_condition_can_leave():  # D-X.5
    sim = Sim(leaving(lambda v: v["visit"] == 3))
    sim.ok("pj", "one")
    sim.ok("pj", "two")
    assert sim.status == "COMPLETED" and sim.fired() == ["s", "pj", "co", "pj", "co", "co", "e"]
    puts = [f for f in sim.said("put") if f["edge"] == "pj>co"]
    assert [(f["env"], f["meta"]) for f in puts] == [("one", {}), ("two", {}), ("two", {"maxiter": True})]
    assert [f["why"] for f in sim.said("absorbed")] == ["max_iteration"]
    assert sim.state["visits"]["pj||0"] == 2 and not sim.incidents()


def test_further_tokens_at_max_iter_are_absorbed_and_the_run_completes_with_a_warning():  # D-X.5, D-X.8
    sim = Sim(leaving(lambda v: False))
    sim.ok("pj")
    sim.ok("pj")
    assert sim.status == "COMPLETED" and sim.incidents() == ["max_iteration_without_exit"]
    assert [f["why"] for f in sim.said("absorbed")] == ["max_iteration"] * 2
    assert sim.fired().count("co") == 3


def test_no_warning_when_an_end_was_reached():  # D-X.8
    net = leaving(lambda v: False)
    net = Net((*net.nodes, *chain("side"), X), (*net.edges, *edges("s>side side>x")))
    sim = Sim(net)
    sim.ok("pj")
    sim.ok("pj")
    sim.ok("side")
    assert sim.status == "COMPLETED" and not sim.incidents()


def test_forwarding_needs_no_join_but_waits_for_the_firing_that_works():
    net = Net(
        (S, *chain("a", "b"), Node("n", "task", join=XOR, max_iter=1, out=("n",)), Node("m", join=XOR), X),
        edges("s>a s>b a>n b>n n>m m>x"),
    )
    sim = Sim(net)
    sim.ok("a")
    sim.ok("b")
    assert sim.fired().count("n") == 1 and len(sim.state["tokens"]) == 1  # n still works: its output is not known
    sim.ok("n", "out")
    assert sim.fired().count("n") == 1 and sim.fired().count("m") == 2 and sim.status == "COMPLETED"
    assert [f["env"] for f in sim.said("put") if f["edge"] == "n>m"] == ["out", "out"]


def test_max_iter_counts_anew_in_each_epoch_and_scope():
    net = Net(
        (
            S,
            Node("p", "scope", body=Body("each", items=lambda v: [1, 2], entry="i")),
            Node("i", "start", scope="p"),
            Node("t", "task", scope="p", join=XOR, max_iter=1),
            Node("g", scope="p", split="first", join=XOR),
            Node("z", "end", scope="p", join=XOR),
            X,
        ),
        (
            *edges("s>p p>x i>t t>g"),
            Edge("g>t", "g", "t", guard=lambda v: v["visit"] < 3),
            Edge("g>z", "g", "z", guard=DEFAULT),
        ),
    )
    sim = Sim(net)
    sim.ok("t")
    sim.ok("t")
    assert sim.status == "COMPLETED" and sim.fired().count("t") == 2 and len(sim.state["forwarded"]) == 2


# ---------------------------------------------------------------- loop heads
def test_a_loop_that_comes_back_through_a_plain_node_runs():
    """A head's back edge is not required before it has fired; afterwards only while something can reach it."""
    net = Net(
        (S, *chain("a"), Node("n", "task", join=DIA), Node("c", join=XOR, split="first"), *chain("back"), X),
        (
            Edge("s>a", "s", "a", role="start"),
            *edges("a>n n>c back>n"),
            Edge("c>back", "c", "back", guard=lambda v: v["visit"] < 3, role="cond"),
            Edge("c>x", "c", "x", guard=DEFAULT, role="cond"),
        ),
    )
    sim = Sim(net)
    sim.ok("a")
    assert sim.state["entered"] == {"n|": True}
    for _ in range(2):
        sim.ok("n")
        sim.ok("back")
    sim.ok("n")
    assert sim.status == "COMPLETED" and sim.fired().count("n") == 3


def test_epochs_without_end_run_into_the_iteration_limit():
    net = Net((S, Node("c", join=XOR)), (Edge("s>c", "s", "c"), Edge("c>c", "c", "c", raises=True)), max_visits=20)
    sim = Sim(net)
    assert sim.status == "FAILED" and sim.state["failure"]["code"] == "ITERATION_LIMIT"
