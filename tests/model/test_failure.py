"""The failure path and compensation."""

from __future__ import annotations

import pytest

from tests.model.kernel import Refused, effects_of
from tests.model.net import (
    DEFAULT,
    XOR,
    Body,
    Edge,
    Net,
    Node,
    Retry,
    Trigger,
)
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


# ---------------------------------------------------------------- back-off
@pytest.mark.parametrize(
    ("kind", "multiplier", "delays"),
    [
        ("fixed", 2.0, [100, 100, 100]),
        ("linear", 2.0, [100, 200, 300]),
        ("exponential", 2.0, [100, 200, 400]),
        ("exponential", 1.5, [100, 150, 225]),
        ("exponential", 3.0, [100, 300, 500]),
    ],
)
def test_delays(kind, multiplier, delays):
    retry = Retry(3, 100, kind, cap=500, multiplier=multiplier)
    sim = Sim(Net((S, Node("a", "task", retry=retry), X), edges("s>a a>x")))
    assert failed_delays(sim, 3) == delays
    sim.bad("a", "T", "transient")
    assert sim.status == "FAILED"


def failed_delays(sim: Sim, count: int) -> list[int]:
    """Fail `a` so often; the delays until it is asked again."""
    delays = []
    for _ in range(count):
        before = sim.now
        sim.bad("a", "T", "transient")
        sim.due()
        delays.append(sim.now - before)
    return delays


def test_retries_count_anew_after_a_retry_by_hand():
    sim = Sim(Net((S, Node("a", "task", retry=Retry(2, 100, "exponential")), X), edges("s>a a>x")))
    assert failed_delays(sim, 2) == [100, 200]
    sim.bad("a", "T", "transient")
    assert sim.status == "FAILED"
    sim.do(c="retry")
    assert sim.effect("a") == "a@~0#1/a4"
    assert failed_delays(sim, 2) == [100, 200]
    sim.ok("a")
    assert sim.status == "COMPLETED" and len({f["key"] for f in sim.said("effect.asked")}) == 1


# ---------------------------------------------------------------- late success
def race(late_success: str) -> Net:
    """The first of t0, t1 wins; both can be undone."""
    body = Body("branches", branches=(("b0", "i0", None, None), ("b1", "i1", None, None)), need=1)
    tasks = [Node(f"t{i}", "task", scope="p", undo=(f"u{i}",), late_success=late_success) for i in (0, 1)]
    entries = [Node(f"i{i}", "start", scope="p") for i in (0, 1)]
    undo = [Node(f"u{i}", "task", off_path=True) for i in (0, 1)]
    return Net(
        (S, Node("p", "scope", body=body), *entries, *tasks, *chain("n"), X, *undo), edges("s>p p>n n>x i0>t0 i1>t1")
    )


@pytest.mark.parametrize(("late_success", "undone"), [("ignore", ["u0"]), ("undo", ["u1", "u0"])])
def test_late_success_of_a_loser(late_success, undone):
    sim = Sim(race(late_success))
    loser = sim.effect("t1")
    sim.ok("t0")
    facts = sim.do(c="outcome", effect=loser, status="done", output="late")
    assert facts[0]["why"] == "superseded" and sim.incidents() == ["LATE_SUCCESS"]
    sim.do(c="outcome", effect=loser, status="done", output="late")  # told once
    assert sim.incidents() == ["LATE_SUCCESS"]
    sim.bad("n")
    while sim.state["effects"]:
        sim.ok(sim.fired()[-1])
    assert sim.status == "COMPENSATED" and [n for n in sim.fired() if n.startswith("u")] == undone


def test_late_failure_or_late_success_without_undo_link_is_only_ignored():
    sim = Sim(race("undo"))
    loser = sim.effect("t1")
    sim.ok("t0")
    sim.do(c="outcome", effect=loser, status="failed", failure={"code": "X", "category": "permanent"})
    assert not sim.incidents() and sim.ledger() == ["open"]


def test_late_success_after_the_end_can_still_be_compensated():
    sim = Sim(race("undo"))
    loser = sim.effect("t1")
    sim.do(c="cancel")
    assert sim.status == "CANCELLED"
    sim.do(c="outcome", effect=loser, status="done")
    assert sim.status == "CANCELLED" and sim.ledger() == ["open"]
    sim.do(c="compensate")
    sim.ok("u1")
    assert sim.status == "COMPENSATED"


# ---------------------------------------------------------------- undo events
def undo_event(scope="", **fields) -> Net:
    return Net(
        (
            S,
            Node("a", "task", undo=("ua",)),
            Node("u", "undo", **fields),
            *chain("b"),
            X,
            Node("ua", "task", off_path=True),
        ),
        edges("s>a a>u u>x s>b b>x"),
    )


def test_undo_event_that_is_swept_leaves_its_step_to_the_run():
    sim = Sim(undo_event())
    sim.ok("a")
    assert sim.effect("ua")
    sim.bad("b")
    assert sim.status == "COMPENSATING" and sim.ledger() == ["RUNNING"] and len(sim.state["effects"]) == 1
    sim.ok("ua")
    assert sim.status == "COMPENSATED"


def test_undo_event_that_is_interrupted_abandons_its_plan():
    net = undo_event(triggers=(Trigger("late", "timer", after=10),))
    sim = Sim(net)
    sim.ok("a")
    sim.due()
    assert not sim.effect("ua") and sim.ledger() == ["open"] and sim.state["undo"] is None
    sim.ok("b")
    assert sim.status == "COMPLETED"


def test_one_undo_at_a_time():
    net = Net(
        (
            S,
            *[Node(n, "task", undo=(f"u{n}",)) for n in "ab"],
            Node("v", "undo", only=("a",)),
            Node("w", "undo"),
            X,
            *tuple(Node(f"u{n}", "task", off_path=True) for n in "ab"),
        ),
        edges("s>a a>b b>v b>w v>x w>x"),
    )
    sim = Sim(net)
    sim.ok("a")
    sim.ok("b")
    assert sim.effect("ua") and not sim.effect("ub") and "w" not in sim.fired()
    sim.ok("ua")
    assert sim.effect("ub")
    sim.ok("ub")
    assert sim.status == "COMPLETED" and sim.ledger() == ["EXECUTED", "EXECUTED"]


def test_undo_event_in_a_scope_reaches_what_ended_in_it_but_not_what_lies_outside():
    net = Net(
        (
            S,
            Node("a", "task", undo=("u",)),
            Node("p", "scope", body=Body("one", entry="i")),
            Node("i", "start", scope="p"),
            Node("q", "scope", scope="p", body=Body("each", items=lambda v: [1, 2], entry="k")),
            Node("k", "start", scope="q"),
            Node("t", "task", scope="q", undo=("u",)),
            Node("v", "undo", scope="p"),
            X,
            Node("u", "task", off_path=True, arg=lambda v: v["undone"]),
        ),
        edges("s>a a>p p>x i>q k>t q>v"),
    )
    sim = Sim(net)
    sim.ok("a", "outside")
    sim.ok("t", 1)
    sim.ok("t", 2)
    undone = []
    while sim.state["effects"]:
        undone.append(next(iter(sim.state["effects"].values()))["arg"])
        sim.ok("u")
    assert undone == [2, 1] and sim.status == "COMPLETED"


# ---------------------------------------------------------------- asked again under the same key
def two_of_two() -> Net:
    body = Body("branches", branches=(("a", "ia", None, None), ("b", "ib", None, None)), need=2)
    entries = (Node("ia", "start", scope="g"), Node("ib", "start", scope="g"))
    return Net((S, Node("g", "scope", body=body), *entries, *chain("a", "b", scope="g"), X), edges("s>g g>x ia>a ib>b"))


def test_reopened_child_goes_on_counting():
    """An answer to the asking that was swept is never taken for the new one."""
    sim = Sim(two_of_two())
    first = sim.effect("a")
    sim.bad("b")
    sim.do(c="retry")
    assert first not in sim.state["effects"] and sim.effect("a").endswith("/a2") and sim.effect("b").endswith("/a2")
    assert len({f["key"] for f in sim.said("effect.asked")}) == 2
    facts = sim.do(c="outcome", effect=first, status="failed", failure={"code": "STALE", "category": "permanent"})
    assert [f["f"] for f in facts] == ["ignored"] and sim.status == "RUNNING"


def test_undoing_again_goes_on_counting():
    undo = chain("u", "v", off_path=True)
    net = Net((S, *chain("a", undo=("u", "v")), *chain("b"), *undo, X), edges("s>a a>b b>x"))
    sim = Sim(net)
    sim.ok("a")
    sim.bad("b")
    sim.ok("u")
    sim.bad("v", "Y")
    assert sim.status == "FAILED" and sim.state["failure"]["cause"]["code"] == "X"  # C-45
    sim.do(c="compensate")
    assert sim.effect("u") == "u@~0#1!0/a2"
    sim.ok("u")
    sim.ok("v")
    assert sim.status == "COMPENSATED" and sim.state["failure"]["code"] == "X"


# ---------------------------------------------------------------- parked
def test_parked_firing_is_revived_while_the_run_goes_on():  # T-X.1
    net = Net((S, *chain("a", on_error=(("*", "park:failed"),)), *chain("h"), X), edges("s>a a>x a:failed>h h>x"))
    sim = Sim(net)
    sim.bad("a")
    assert sim.effect("h") and list(sim.state["parked"]) == ["a@~0#1"]
    sim.do(c="retry", firing="a@~0#1")
    assert sim.effect("a") == "a@~0#1/a2"
    with pytest.raises(Refused):
        sim.do(c="retry", firing="a@~0#1")
    sim.ok("a")
    sim.ok("h")
    assert sim.status == "COMPLETED"


def test_members_say_how_their_group_is_tried_again():  # F-X.6b
    for how, again in (("here", "b"), ("restart", "p")):
        group = Node("g", "scope", body=Body("one", entry="i"), on_final="member")
        inner = (Node("i", "start", scope="g"), *chain("b", scope="g", on_final=how))
        sim = Sim(Net((S, *chain("p"), group, *inner, X), edges("s>p p>g g>x i>b"), retry_run=(1, 5)))
        sim.ok("p")
        sim.bad("b")
        assert sim.status == "PENDING"
        sim.due()
        assert sim.effect(again) and len(sim.state["effects"]) == 1


def test_listed_delays():  # T-X.15
    sim = Sim(Net((S, *chain("a", retry=Retry(2, delays=(0, 7))), X), edges("s>a a>x")))
    for due in (0, 7):
        sim.bad("a", category="transient")
        assert [t["due"] for t in sim.state["timers"].values()] == [due]
        sim.due()


# ---------------------------------------------------------------- an end that cancels
def test_end_cancels_the_run_from_a_scope():  # C-40, C-41
    group = Node("g", "scope", body=Body("one", entry="i"))
    inner = (Node("i", "start", scope="g"), *chain("c", scope="g"), Node("no", "end", scope="g", ends="cancel:NO"))
    for undo, status in (((), "CANCELLED"), (("u",), "COMPENSATED")):
        nodes = (S, *chain("a", undo=undo), *chain("b"), group, *inner, X, *chain("u", off_path=True))
        sim = Sim(Net(nodes, edges("s>a a>b a>g g>x b>x i>c c>no")))
        sim.ok("a")
        sim.ok("c")
        if undo:
            sim.ok("u")
        assert sim.status == status and sim.state["failure"]["code"] == "NO"
