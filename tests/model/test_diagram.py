"""The diagram's ALL: START, conditions, skippable edges, loop heads, epochs."""

from __future__ import annotations

import pytest

from tests.model.net import DEFAULT, DIA, XOR, Edge, Join, Net, Node
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
    """n takes a plain and a condition edge in one loop body: "reachable from n" instead of "n dominates" depends on order."""

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
