"""Waits, boundary events, timers, signals, polling."""

from __future__ import annotations

import pytest

from tests.model.kernel import Refused
from tests.model.net import Body, Net, Node, Poll, Trigger
from tests.model.sim import Sim, chain, edges
from tests.model.small_nets import S, X


def test_interrupting_boundary_timer_on_subprocess():
    net = Net(
        (
            S,
            Node("p", "scope", body=Body("one", entry="i"), triggers=(Trigger("late", "timer", after=50),)),
            Node("i", "start", scope="p"),
            Node("t", "task", scope="p"),
            *chain("esc"),
            X,
        ),
        edges("s>p i>t p>x p:late>esc esc>x"),
    )
    sim = Sim(net)
    e = sim.effect("t")
    sim.due()
    assert sim.effect("esc") and not sim.effect("t")
    assert sim.do(c="outcome", effect=e, status="done")[0]["f"] == "ignored"
    sim.ok("esc")
    assert sim.status == "COMPLETED"


def test_non_interrupting_boundary():
    net = Net(
        (
            S,
            Node("t", "task", triggers=(Trigger("rem", "timer", after=10, interrupting=False, repeat=10),)),
            *chain("r"),
            X,
        ),
        edges("s>t t>x t:rem>r r>x"),
    )
    sim = Sim(net)
    sim.due()
    sim.due()
    assert sim.fired().count("r") == 2
    sim.ok("t")
    assert not sim.state["timers"]
    sim.ok("r")
    sim.ok("r")
    assert sim.status == "COMPLETED"


def test_event_based_gateway():
    net = Net(
        (
            S,
            Node(
                "w",
                "wait",
                triggers=(
                    Trigger("a", "signal", name="A"),
                    Trigger("b", "signal", name="B", match=lambda v: v["event"]["k"] == 1),
                    Trigger("t", "timer", after=99),
                ),
            ),
            *chain("ta", "tb", "tt"),
            X,
        ),
        edges("s>w w:a>ta w:b>tb w:t>tt ta>x tb>x tt>x"),
    )
    sim = Sim(net)
    assert sim.status == "WAITING"
    sim.do(c="signal", id="1", name="B", payload={"k": 2})
    assert sim.status == "WAITING" and "1" in sim.state["signals"]
    sim.do(c="signal", id="2", name="B", payload={"k": 1})
    assert sim.effect("tb") and not sim.state["timers"] and not sim.state["waits"]
    sim.ok("tb")
    assert sim.status == "COMPLETED"


def test_early_signal_is_kept_and_used():  # C-37, S1, S2
    net = Net(
        (S, *chain("a"), Node("w", "wait", triggers=(Trigger("a", "signal", name="A"),)), X), edges("s>a a>w w:a>x")
    )
    sim = Sim(net)
    sim.do(c="signal", id="1", name="A")
    assert sim.do(c="signal", id="1", name="A")[0]["why"] == "duplicate"
    sim.ok("a")
    assert sim.status == "COMPLETED" and not sim.state["signals"]


@pytest.mark.parametrize(
    ("act", "st", "nxt"),
    [("fail", "FAILED", None), ("skip", "RUNNING", "n"), ("value", "RUNNING", "n"), ("port", "RUNNING", "alt")],
)
def test_wait_timeouts(act, st, nxt):  # W-4.7.5
    net = Net(
        (
            S,
            Node(
                "w",
                "wait",
                triggers=(
                    Trigger("done", "signal", name="A"),
                    Trigger("alt" if act == "port" else "done", "timer", after=5, action=act, value=7),
                ),
            ),
            *chain("n", "alt"),
            X,
        ),
        edges("s>w w>n w:alt>alt n>x alt>x"),
    )
    sim = Sim(net)
    sim.due()
    assert sim.status == st
    if nxt:
        assert sim.effect(nxt)


def test_polling():  # C-38
    net = Net(
        (S, Node("p", "task", poll=Poll(60, lambda v: v["response"] == "ok", lambda v: v["response"] == "bad")), X),
        edges("s>p p>x"),
    )
    sim = Sim(net)
    sim.ok("p", "no")
    assert sim.status == "WAITING" and sim.effect("p") is None
    sim.due()
    sim.ok("p", "no")
    sim.due()
    sim.ok("p", "ok")
    assert sim.status == "COMPLETED" and sim.fired().count("p") == 1
    assert len({f["key"] for f in sim.facts if f["f"] == "effect.asked"}) == 1
    sim = Sim(net)
    sim.ok("p", "bad")
    assert sim.status == "FAILED"


def test_timer_early_refused_and_double_ignored():
    net = Net((S, Node("w", "wait", triggers=(Trigger("done", "timer", after=10),)), X), edges("s>w w>x"))
    sim = Sim(net)
    t = next(iter(sim.state["timers"]))
    with pytest.raises(Refused):
        sim.do(c="due", timer=t)
    sim.due()
    assert sim.status == "COMPLETED"
    assert sim.do(c="due", timer=t)[0]["f"] == "ignored"


def test_timers_in_due_order_inner_first():  # C-72
    net = Net(
        (
            S,
            Node("p", "scope", body=Body("one", entry="i", timeout=100)),
            Node("i", "start", scope="p"),
            Node(
                "w",
                "wait",
                scope="p",
                triggers=(
                    Trigger("done", "signal", name="A"),
                    Trigger("done", "timer", after=100, action="value", value=1),
                ),
            ),
            X,
        ),
        edges("s>p p>x i>w"),
    )
    sim = Sim(net)
    sim.now = 500
    sim.do(c="tick")
    assert sim.status == "COMPLETED" and sim.state["outputs"]["w"]["output"] == 1  # inner won, join timer disarmed
