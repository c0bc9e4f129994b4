"""The failure path and compensation."""

from __future__ import annotations

from tests.model.kernel import effects_of
from tests.model.net import DEFAULT, XOR, Edge, Net, Node, Retry
from tests.model.sim import Sim, chain, edges
from tests.model.small_nets import S, X, saga


def test_retry_then_ok_and_times():
    net = Net((S, Node("a", "task", retry=Retry(2, 100, "exponential")), X), edges("s>a a>x"))
    sim = Sim(net)
    sim.bad("a", "T", "transient")
    assert sim.status == "RUNNING" and next(iter(sim.state["timers"].values()))["due"] == 100
    sim.due()
    sim.bad("a", "T", "timeout")
    assert next(iter(sim.state["timers"].values()))["due"] == 300
    sim.due()
    sim.ok("a")
    assert sim.status == "COMPLETED"
    assert (
        len({f["key"] for f in sim.facts if f["f"] == "effect.asked"}) == 1
        and len({f["effect"] for f in sim.facts if f["f"] == "effect.asked"}) == 3
    )


def test_no_retry_for_permanent():
    sim = Sim(Net((S, Node("a", "task", retry=Retry(2)), X), edges("s>a a>x")))
    sim.bad("a")
    assert sim.status == "FAILED"


def test_retry_exhausted_to_fallback_merge():  # C-76 lowering
    net = Net(
        (
            S,
            Node("a", "task", retry=Retry(1, 1), on_error=(("*", "port:fallback"),)),
            Node("fb", "task", out=("a_out",)),
            Node("a.out", join=XOR),
            *chain("n"),
            X,
        ),
        edges("s>a a>a.out a:fallback>fb fb>a.out a.out>n n>x"),
    )
    sim = Sim(net)
    sim.bad("a", "T", "transient")
    sim.due()
    sim.bad("a", "T", "transient")
    sim.ok("fb", 5)
    sim.ok("n")
    assert sim.status == "COMPLETED" and sim.state["vars"]["a_out"] == 5


def test_circuit_open_actions():
    for act, want in (("skip", "RUNNING"), ("fail", "FAILED")):
        net = Net(
            (S, Node("a", "task", retry=Retry(3), on_error=(("CIRCUIT_OPEN", act),)), *chain("n")), edges("s>a a>n")
        )
        sim = Sim(net)
        sim.bad("a", "CIRCUIT_OPEN", "refused")
        assert sim.status == want


def test_skip_and_continue():
    net = Net(
        (
            S,
            Node("a", "task"),
            Node("b", "task", on_error=(("*", "continue"),)),
            Node("c", "task", on_error=(("*", "skip"),)),
            *chain("d"),
        ),
        edges("s>a a>b b>c c>d"),
    )
    sim = Sim(net)
    sim.ok("a", "prev")
    sim.bad("b")
    assert [f["taken"][0]["env"] for f in sim.facts if f["f"] == "fired" and f["node"] == "c"] == ["prev"]
    sim.bad("c")
    sim.ok("d")
    assert sim.status == "COMPLETED"


def test_saga_reverse_order_with_results():  # W-4.10.1, P-A.11
    sim = Sim(saga())
    sim.ok("a", "ra")
    sim.ok("b", "rb")
    sim.bad("c")
    assert sim.status == "COMPENSATING" and [x["arg"] for x in sim.state["effects"].values()] == ["rb"]
    sim.ok("ub")
    assert [x["arg"] for x in sim.state["effects"].values()] == ["ra"]
    sim.ok("ua")
    assert sim.status == "COMPENSATED" and sim.state["failure"]["code"] == "X"


def test_saga_step_fails_stop_vs_continue():
    sim = Sim(saga())
    sim.ok("a")
    sim.ok("b")
    sim.bad("c")
    sim.bad("ub")
    assert (
        sim.status == "FAILED"
        and sim.state["failure"]["code"] == "COMPENSATION_FAILED"
        and [e["status"] for e in sim.state["ledger"]] == ["open", "FAILED"]
    )
    sim = Sim(saga("continue"))
    sim.ok("a")
    sim.ok("b")
    sim.bad("c")
    sim.bad("ub")
    sim.ok("ua")
    assert sim.status == "FAILED" and [e["status"] for e in sim.state["ledger"]] == ["EXECUTED", "FAILED"]


def test_saga_resume_runs_only_what_is_left():  # P-X.20, C7, C9
    sim = Sim(saga())
    sim.ok("a")
    sim.ok("b")
    sim.bad("c")
    sim.bad("ub")
    sim.do(c="compensate")
    assert sim.status == "COMPENSATING"
    sim.ok("ub")
    sim.ok("ua")
    assert sim.status == "COMPENSATED"
    assert sim.do(c="compensate")[0]["why"] == "nothing_left"


def pgroup(policy="group"):  # P-5.5.9, P-A.13
    U = [Node(f"u{x}", "task", off_path=True) for x in "pab"]
    return Net(
        (
            S,
            Node("p", "task", undo=("up",)),
            Node("f"),
            *[Node(x, "work", agent=True, undo=(f"u{x}",)) for x in "ab"],
            Node("c", "work", agent=True),
            Node("d", "work", agent=True),
            Node("j"),
            X,
            *U,
        ),
        edges("s>p p>f f>a f>b f>c f>d a>j b>j c>j d>j j>x"),
        undo_policy=policy,
    )


def test_saga_parallel_phases():
    sim = Sim(pgroup())
    sim.ok("p")
    sim.ok("a")
    sim.ok("b")
    ec = sim.effect("c")
    fs = sim.bad("d")
    assert ("drop", ec) in effects_of(fs) and sim.state["items"]["c@~0#1"]["status"] == "CANCELLED"
    assert sim.effect("ub") and not sim.effect("up")
    sim.ok("ub")
    sim.ok("ua")
    assert sim.effect("up")
    sim.ok("up")
    assert sim.status == "COMPENSATED"
    assert sim.state["items"]["a@~0#1"]["status"] == "COMPENSATED"
    assert sim.state["ledger"][1]["path"] == [["f@~0#1", 0]]


def test_saga_parallel_group_failure_keeps_prefork_pending():  # P-X.20
    sim = Sim(pgroup())
    sim.ok("p")
    sim.ok("a")
    sim.ok("b")
    sim.bad("d")
    sim.bad("ub")
    sim.ok("ua")
    assert sim.status == "FAILED" and [e["status"] for e in sim.state["ledger"]] == ["open", "EXECUTED", "FAILED"]
    sim.do(c="compensate")
    sim.ok("ub")
    sim.ok("up")
    assert sim.status == "COMPENSATED"


def test_saga_loop_every_visit():  # P-X.21
    net = Net(
        (
            S,
            Node("m", join=XOR),
            Node("a", "task", undo=("ua",)),
            Node("g", split="first"),
            Node("d", "task"),
            Node("ua", "task", off_path=True, arg=lambda v: v["undone"]),
        ),
        (
            *edges("s>m m>a a>g"),
            Edge("g>m", "g", "m", guard=lambda v: v["count"]("g") < 2),
            Edge("g>d", "g", "d", guard=DEFAULT),
        ),
    )
    sim = Sim(net)
    sim.ok("a", 1)
    sim.ok("a", 2)
    sim.bad("d")
    seen = []
    while sim.state["effects"]:
        seen.append(next(iter(sim.state["effects"].values()))["arg"])
        sim.ok("ua")
    assert seen == [2, 1] and sim.status == "COMPENSATED"


def test_undo_throw_event_in_scope():
    net = Net(
        (S, Node("a", "task", undo=("ua",)), Node("u", "undo"), *chain("n"), Node("ua", "task", off_path=True)),
        edges("s>a a>u u>n"),
    )
    sim = Sim(net)
    sim.ok("a")
    assert sim.effect("ua")
    sim.ok("ua")
    sim.ok("n")
    assert sim.status == "COMPLETED"


def test_undo_retry():
    net = Net(
        (S, Node("a", "task", undo=("ua",)), Node("b", "task"), Node("ua", "task", off_path=True, retry=Retry(1, 5))),
        edges("s>a a>b"),
    )
    sim = Sim(net)
    sim.ok("a")
    sim.bad("b")
    sim.bad("ua", "T", "transient")
    sim.due()
    sim.ok("ua")
    assert sim.status == "COMPENSATED"


def test_plan_blocked_pauses():  # T-X.27, T-X.29
    net = Net(
        (
            S,
            Node("a", "work", agent=True, on_error=(("*", "port:ended"),)),
            *[Node(x, "work", agent=True) for x in "bc"],
            X,
        ),
        edges("s>a a>b a:ended>c b>x c>x"),
        on_stuck="pause",
    )
    sim = Sim(net)
    sim.bad("a")
    assert sim.effect("c") and not sim.effect("b")
