"""Scopes: branches, multi-instance, loops, sub-processes."""

from __future__ import annotations

from tests.model.kernel import effects_of
from tests.model.net import (
    DEFAULT,
    Body,
    Edge,
    Net,
    Node,
    Trigger,
)
from tests.model.sim import Sim, chain, edges
from tests.model.small_nets import S, X


def par(
    need="all",
    on_fail="fail",
    timeout=None,
    req=(None, None, None),
    cond=(None, None, None),
    collect="object",
    undo=False,
    **kw,
):
    u = ("ua",) if undo else ()
    return Net(
        (
            S,
            Node(
                "p",
                "scope",
                body=Body(
                    "branches",
                    branches=tuple((f"b{i}", f"i{i}", cond[i], req[i]) for i in range(3)),
                    need=need,
                    on_fail=on_fail,
                    timeout=timeout,
                    collect=collect,
                ),
            ),
            *[Node(f"i{i}", "start", scope="p") for i in range(3)],
            *[Node(f"t{i}", "task", scope="p", undo=u) for i in range(3)],
            *chain("after"),
            X,
            Node("ua", "task", off_path=True),
        ),
        (*edges("s>p p>after after>x"), *[Edge(f"i{i}>t{i}", f"i{i}", f"t{i}") for i in range(3)]),
        **kw,
    )


def test_parallel_all():
    sim = Sim(par())
    sim.ok("t2", 2)
    sim.ok("t0", 0)
    sim.ok("t1", 1)
    assert [r["output"] for r in sim.state["outputs"]["p"]["output"].values()] == [0, 1, 2]
    sim.ok("after")
    assert sim.status == "COMPLETED"


def test_parallel_all_no_fail_fast():  # C-22
    sim = Sim(par())
    sim.bad("t0")
    assert sim.status == "RUNNING" and sim.effect("t1")
    sim.ok("t1")
    sim.ok("t2")
    assert sim.status == "FAILED"


def test_parallel_optional_branch_may_fail():
    sim = Sim(par(req=(False, True, True)))
    sim.bad("t0")
    sim.ok("t1")
    sim.ok("t2")
    assert sim.effect("after") and sim.state["outputs"]["p"]["output"]["b0"]["status"] == "failed"


def test_parallel_condition_false_not_counted():
    sim = Sim(par(cond=(lambda v: False, None, None)))
    sim.ok("t1")
    sim.ok("t2")
    assert list(sim.state["outputs"]["p"]["output"]) == ["b1", "b2"]


def test_parallel_zero_active():
    def f(v):
        return False

    sim = Sim(par(cond=(f, f, f)))
    sim.ok("after")
    assert sim.status == "COMPLETED" and sim.state["outputs"]["p"]["output"] == {}


def test_parallel_any_cancels_losers_late_outcome_ignored():
    sim = Sim(par(need=1, collect="first"))
    e0, e2 = sim.effect("t0"), sim.effect("t2")
    fs = sim.ok("t1", "won")
    assert sim.state["outputs"]["p"]["output"] == "won"
    assert sorted(x[1] for x in effects_of(fs) if x[0] == "drop") == sorted([e0, e2])
    assert sim.do(c="outcome", effect=e0, status="done", output=9)[0]["why"] == "superseded"
    sim.ok("after")
    assert sim.status == "COMPLETED"


def test_parallel_n_of_impossible_fails_early():
    sim = Sim(par(need=2))
    sim.bad("t0")
    assert sim.status == "RUNNING"
    sim.bad("t1")
    assert sim.status == "FAILED" and not sim.state["effects"]


def test_parallel_any_with_required():
    sim = Sim(par(need=1, req=(None, None, True)))
    sim.ok("t0")
    assert sim.effect("after") is None
    sim.ok("t2")
    assert sim.effect("after")


def test_join_timeout_continue_and_fail():
    sim = Sim(par(timeout=100, on_fail="continue"))
    sim.ok("t0")
    sim.due()
    assert {k: r["status"] for k, r in sim.state["outputs"]["p"]["output"].items()} == {
        "b0": "succeeded",
        "b1": "timeout",
        "b2": "timeout",
    }
    sim = Sim(par(timeout=100))
    sim.ok("t0")
    sim.due()
    assert sim.status == "FAILED" and sim.state["failure"]["code"] == "JOIN_TIMEOUT"


def test_partial_failure_compensate():
    sim = Sim(par(on_fail="compensate", undo=True))
    sim.ok("t0")
    sim.bad("t1")
    sim.ok("t2")
    assert sim.status == "COMPENSATING"
    sim.ok("ua")
    sim.ok("ua")
    assert sim.status == "COMPENSATED"
    assert [f["n"] for f in sim.facts if f["f"] == "undo.step" and f["status"] == "EXECUTED"] == [1, 0]


def mi(mode="each", until=None, **kw):
    return Net(
        (
            S,
            Node(
                "p",
                "scope",
                body=Body(mode, items=lambda v: v["input"], entry="i", until=until, collect="outputs", **kw),
            ),
            Node("i", "start", scope="p"),
            Node("t", "task", scope="p", arg=lambda v: v["item"]),
            Node("u", "task", scope="p"),
            X,
        ),
        edges("s>p p>x i>t t>u"),
    )


def test_multi_instance_parallel_tokens_do_not_mix():
    sim = Sim(mi(), input=[10, 20, 30])
    assert sorted(x["arg"] for x in sim.state["effects"].values()) == [10, 20, 30]
    while sim.status == "RUNNING":
        e = sorted(sim.state["effects"])[-1]
        sim.do(c="outcome", effect=e, status="done", output=e.split("/")[1].split("~")[0])
    assert sim.state["outputs"]["p"]["output"] == ["0", "1", "2"] and sim.fired().count("u") == 3


def test_multi_instance_completion_condition():
    sim = Sim(mi(until=lambda v: v["done"] >= 2), input=[1, 2, 3])
    while sim.status == "RUNNING":
        e = sorted(sim.state["effects"])[0]
        sim.do(c="outcome", effect=e, status="done", output=1)
    assert (
        sim.status == "COMPLETED"
        and not sim.state["effects"]
        and sim.fired().count("x") == 1
        and [n for n, st in sim.settled()].count("u") == 2
    )


def test_multi_instance_sequential():
    sim = Sim(mi("each_seq"), input=[1, 2])
    assert len(sim.state["effects"]) == 1
    for n in "tutu":
        assert len(sim.state["effects"]) == 1
        sim.ok(n, n)
    assert sim.status == "COMPLETED"


def test_loop_scope():
    net = Net(
        (
            S,
            Node("l", "scope", body=Body("loop", entry="i", again=lambda v: v["round"] < 2, collect="last")),
            Node("i", "start", scope="l"),
            Node("t", "task", scope="l"),
            X,
        ),
        edges("s>l l>x i>t"),
    )
    sim = Sim(net)
    for k in range(3):
        sim.ok("t", k)
    assert sim.status == "COMPLETED" and sim.state["outputs"]["l"]["output"] == 2


def test_error_boundary_on_subprocess():
    net = Net(
        (
            S,
            Node("p", "scope", body=Body("one", entry="i"), on_error=(("E1", "port:err"),)),
            Node("i", "start", scope="p"),
            *chain("a", "b", scope="p"),
            Node("z", "end", scope="p", ends="error:E1"),
            *chain("h"),
            X,
        ),
        edges("s>p i>a i>b a>z p>x p:err>h h>x"),
    )
    sim = Sim(net)
    sim.ok("a")
    assert sim.effect("b") is None and sim.effect("h")
    sim.ok("h")
    assert sim.status == "COMPLETED"


def test_child_scope_deadlock_is_branch_failure():
    net = Net(
        (
            S,
            Node("p", "scope", body=Body("one", entry="i"), on_error=(("DEADLOCK", "skip"),)),
            Node("i", "start", scope="p"),
            Node("g", scope="p", split="first"),
            *chain("a", "b", scope="p"),
            Node("j", scope="p"),
            X,
        ),
        (
            *edges("s>p p>x i>g a>j b>j"),
            Edge("g>a", "g", "a", guard=lambda v: True),
            Edge("g>b", "g", "b", guard=DEFAULT),
        ),
    )
    sim = Sim(net)
    sim.ok("a")
    assert sim.status == "COMPLETED"


def test_nested_scope_cancel_reaches_children_of_children():
    net = Net(
        (
            S,
            Node("p", "scope", body=Body("one", entry="i"), triggers=(Trigger("stop", "signal", name="STOP"),)),
            Node("i", "start", scope="p"),
            Node("q", "scope", scope="p", body=Body("each", items=lambda v: [1, 2], entry="k")),
            Node("k", "start", scope="q"),
            Node("c", "call", scope="q"),
            Node("h", "work", scope="q"),
            X,
        ),
        edges("s>p p>x p:stop>x i>q k>c k>h"),
    )
    sim = Sim(net)
    assert len(sim.state["effects"]) == 2 and len(sim.state["items"]) == 2
    fs = sim.do(c="signal", id="1", name="STOP")
    assert (
        sim.status == "COMPLETED"
        and len([x for x in effects_of(fs) if x[0] == "drop"]) == 2
        and {i["status"] for i in sim.state["items"].values()} == {"CANCELLED"}
    )


# ---------------------------------------------------------------- locals
def test_locals_live_in_the_child_and_everything_else_in_the_root():
    net = Net(
        (
            S,
            Node("p", "scope", body=Body("each", items=lambda v: [1, 2], entry="i", locals=("mine",))),
            Node("i", "start", scope="p", sets=(("seen", lambda v: v.get("mine")),)),
            Node("t", "task", scope="p", out=("mine",), sets=(("shared", lambda v: v["output"]),)),
            Node("u", "task", scope="p", arg=lambda v: (v["mine"], v["shared"])),
            X,
        ),
        edges("s>p p>x i>t t>u"),
    )
    sim = Sim(net)
    sim.ok("t", "one")
    sim.ok("t", "two")
    assert [e["arg"] for e in sim.state["effects"].values()] == [["one", "one"], ["two", "two"]]
    assert sim.state["vars"] == {"seen": None, "shared": "two"}
    sim.ok("u")
    sim.ok("u")
    assert sim.status == "COMPLETED" and "mine" not in sim.state["vars"]


def test_a_local_is_null_at_the_start_of_each_round_and_hides_the_outer_one():
    net = Net(
        (
            S,
            Node("r", sets=(("x", lambda v: "outer"),)),
            Node("l", "scope", body=Body("loop", entry="i", again=lambda v: v["round"] < 1, locals=("x",))),
            Node("i", "start", scope="l"),
            Node("t", "task", scope="l", arg=lambda v: v["x"]),
            Node("w", scope="l", sets=(("x", lambda v: "inner"),)),
            X,
        ),
        edges("s>r r>l l>x i>t t>w"),
    )
    sim = Sim(net)
    for _ in range(2):
        assert [e["arg"] for e in sim.state["effects"].values()] == [None]
        sim.ok("t")
    assert sim.status == "COMPLETED" and sim.state["vars"] == {"x": "outer"}


# ---------------------------------------------------------------- order
def test_scopes_are_asked_in_the_order_they_were_opened_not_by_name():
    sim = Sim(mi(), input=list(range(12)))
    assert [f["scope"].split("/")[1] for f in sim.said("fired") if f["node"] == "t"] == [str(i) for i in range(12)]


def test_children_are_opened_before_the_first_one_runs():
    """A child that fails at once is not judged as if it were alone."""
    net = Net(
        (
            S,
            Node(
                "p", "scope", body=Body("branches", branches=(("a", "e", None, None), ("b", "i", None, None)), need=1)
            ),
            Node("e", "end", scope="p", ends="error:BAD"),
            Node("i", "start", scope="p"),
            *chain("t", scope="p"),
            X,
        ),
        edges("s>p p>x i>t"),
    )
    sim = Sim(net)
    sim.ok("t")
    assert sim.status == "COMPLETED"
