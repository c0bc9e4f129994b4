"""Waits, boundary events, timers, signals, polling."""

from __future__ import annotations

import pytest

from tests.model.kernel import Refused
from tests.model.net import (
    XOR,
    Body,
    Net,
    Node,
    Poll,
    Retry,
    Trigger,
)
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


def test_what_is_for_whoever_waits_now_is_not_kept():  # P-X.25
    net = Net(
        (S, *chain("a"), Node("w", "wait", triggers=(Trigger("a", "signal", name="A"),)), X), edges("s>a a>w w:a>x")
    )
    sim = Sim(net)
    assert sim.do(c="signal", id="1", name="A", keep=False)[0]["why"] == "unwanted"
    sim.ok("a")
    assert sim.status == "WAITING" and not sim.state["signals"] and "1" not in sim.state["seen"]
    sim.do(c="signal", id="1", name="A", keep=False)
    assert sim.status == "COMPLETED"


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


# ---------------------------------------------------------------- kept signals
def test_kept_signals_are_used_in_order_of_arrival():
    triggers = (Trigger("a", "signal", name="A"), Trigger("b", "signal", name="B"))
    net = Net(
        (S, *chain("t"), Node("w", "wait", triggers=triggers), *chain("ta", "tb")), edges("s>t t>w w:a>ta w:b>tb")
    )
    sim = Sim(net)
    sim.do(c="signal", id="1", name="B")
    sim.do(c="signal", id="2", name="A")
    sim.ok("t")
    assert sim.effect("tb") and not sim.effect("ta")  # B came first, although A is declared first
    assert list(sim.state["signals"]) == ["2"]


def test_each_wait_takes_the_oldest_kept_signal():
    wait = (Trigger("done", "signal", name="A"),)
    net = Net(
        (
            S,
            *chain("t"),
            Node("w1", "wait", triggers=wait, out=("w1",)),
            Node("w2", "wait", triggers=wait, out=("w2",)),
        ),
        edges("s>t t>w2 t>w1"),
    )
    sim = Sim(net)
    for number in (1, 2):
        sim.do(c="signal", id=str(number), name="A", payload=number)
    sim.ok("t")
    assert sim.state["vars"] == {"w1": 1, "w2": 2} and sim.status == "COMPLETED"


def test_signal_goes_to_the_wait_that_was_opened_first():
    net = Net(
        (S, *chain("t"), *[Node(f"w{i}", "wait", triggers=(Trigger("done", "signal", name="A"),)) for i in (1, 2)]),
        edges("s>t t>w1 s>w2"),
    )
    sim = Sim(net)
    sim.ok("t")
    sim.do(c="signal", id="1", name="A")
    assert sim.settled()[-1][0] == "w2"


# ---------------------------------------------------------------- repeating timers, absolute timers
def test_repeating_trigger_fires_as_often_as_it_says():
    remind = Trigger("rem", "timer", after=10, interrupting=False, repeat=20, times=3)
    net = Net((S, Node("t", "task", triggers=(remind,)), Node("r", "end", join=XOR), X), edges("s>t t>x t:rem>r"))
    sim = Sim(net)
    moments = []
    while sim.state["timers"]:
        sim.due()
        moments.append(sim.now)
    assert moments == [10, 30, 50] and sim.fired().count("r") == 3
    sim.ok("t")
    assert sim.status == "COMPLETED"


def test_timer_at_a_moment():
    at = Trigger("done", "timer", at=lambda v: v["input"])
    sim = Sim(Net((S, Node("w", "wait", triggers=(at,)), X), edges("s>w w>x")), input=77)
    assert [t["due"] for t in sim.state["timers"].values()] == [77]


# ---------------------------------------------------------------- polling
def test_failed_probes_are_waited_out_until_there_are_too_many_in_a_row():  # C-38
    net = Net((S, Node("p", "task", poll=Poll(60, lambda v: v["response"] == "ok", max_errors=2)), X), edges("s>p p>x"))
    sim = Sim(net)
    for answer in ("bad", "bad", "no", "bad", "bad"):  # an answer in between counts them anew
        assert sim.status == "RUNNING"
        if answer == "bad":
            sim.bad("p", "HTTP", "external")
        else:
            sim.ok("p", answer)
        assert sim.status == "WAITING" and [t["why"] for t in sim.state["timers"].values()] == ["poll"]
        sim.due()
    sim.bad("p", "HTTP", "external")
    assert sim.status == "FAILED" and sim.state["failure"]["code"] == "POLL_UNREACHABLE"


def test_one_probe_too_many_is_retried_by_the_policy_of_the_node():
    poll = Poll(60, lambda v: v["response"] == "ok", max_errors=1)
    net = Net((S, Node("p", "task", poll=poll, retry=Retry(1, 5)), X), edges("s>p p>x"))
    sim = Sim(net)
    sim.bad("p", "HTTP", "external")
    sim.due()
    sim.bad("p", "HTTP", "external")
    assert [t["why"] for t in sim.state["timers"].values()] == ["retry"]
    sim.due()
    sim.bad("p", "HTTP", "external")  # errors count anew in the new attempt
    assert [t["why"] for t in sim.state["timers"].values()] == ["poll"]
    sim.due()
    sim.ok("p", "ok")
    assert sim.status == "COMPLETED" and len({f["key"] for f in sim.said("effect.asked")}) == 1


# ---------------------------------------------------------------- join timeout
def joining(**fields) -> Net:
    """j waits for a and b."""
    return Net(
        (S, *chain("a", "b"), Node("j", "task", join_timeout=50, **fields), *chain("h"), X),
        edges("s>a s>b a>j b>j j>x j:late>h h>x"),
    )


def test_join_timeout_takes_what_lies_there_and_fails():  # D-X.26
    sim = Sim(joining(on_error=(("JOIN_TIMEOUT", "port:late"),), retry=Retry(3)))
    sim.now = 5
    sim.ok("a")
    assert {n: t["due"] for n, t in sim.state["timers"].items()} == {"j@~0/join": 55}
    sim.tick(55)
    assert sim.said("fired")[-2]["takes"] == ["a>j||0|0"] and sim.effect("h")
    sim.ok("h")
    sim.ok("b")  # rests alone now, so the timer is set again
    assert sim.status == "WAITING" and list(sim.state["timers"]) == ["j@~0/join"]
    sim.tick(200)
    sim.ok("h")
    assert sim.status == "COMPLETED"


def test_join_timeout_fails_the_run_when_nobody_handles_it():
    sim = Sim(joining())
    sim.ok("a")
    sim.due()
    assert sim.status == "FAILED" and sim.state["failure"]["code"] == "JOIN_TIMEOUT"


def test_join_timeout_is_gone_when_the_node_fires():
    sim = Sim(joining())
    sim.ok("a")
    sim.ok("b")
    assert not sim.state["timers"] and sim.effect("j")


# ---------------------------------------------------------------- escalation
def escalating(*triggers, inner=()) -> Net:
    """p holds q, q ends with the escalation E1."""
    return Net(
        (
            S,
            Node("p", "scope", body=Body("one", entry="i"), triggers=triggers),
            Node("i", "start", scope="p"),
            Node("q", "scope", scope="p", body=Body("one", entry="k"), triggers=inner),
            Node("k", "start", scope="q"),
            *chain("t", "u", scope="q"),
            Node("e", "end", scope="q", ends="escalate:E1"),
            *chain("boss"),
            X,
        ),
        edges("s>p p>x i>q k>t k>u t>e p:esc>boss boss>x"),
    )


def test_escalation_reaches_the_nearest_scope_that_listens_for_it():
    other = Trigger("esc", "escalation", name="E2")
    sim = Sim(escalating(Trigger("esc", "escalation", name="E1", interrupting=False), inner=(other,)))
    sim.ok("t", "help")
    assert sim.effect("boss") and sim.effect("u")  # not interrupted
    told = next(f for f in sim.said("fired") if f["node"] == "boss")["taken"][0]["env"]
    assert told == {"code": "E1", "node": "e", "output": "help"}
    sim.ok("u")
    sim.ok("boss")
    assert sim.status == "COMPLETED" and not sim.incidents()


def test_interrupting_escalation_sweeps_the_scope():
    sim = Sim(escalating(Trigger("esc", "escalation")))  # without a name it hears every code
    sim.ok("t")
    assert sim.effect("boss") and not sim.effect("u")
    sim.ok("boss")
    assert sim.status == "COMPLETED"


def test_escalation_nobody_hears_is_an_incident():
    sim = Sim(escalating())
    sim.ok("t")
    assert sim.incidents() == ["ESCALATION"] and sim.effect("u")
    sim.ok("u")
    assert sim.status == "COMPLETED"


def test_filter_is_fixed_when_the_wait_opens():  # C-37
    wanted = Trigger("done", "signal", name="M", filter=lambda v: v["k"], match=lambda v: v["event"] == v["filter"])
    net = Net(
        (S, *chain("a", sets=(("k", lambda v: v["output"]),)), Node("w", "wait", triggers=(wanted,)), X),
        edges("s>a a>w w>x"),
    )
    sim = Sim(net)
    sim.ok("a", 7)
    assert next(iter(sim.state["waits"].values()))["filter"] == 7
    sim.do(c="signal", id="1", name="M", payload=8)
    assert sim.status == "WAITING"
    sim.do(c="signal", id="2", name="M", payload=7)
    assert sim.status == "COMPLETED"
    sim = Sim(net)
    sim.ok("a", None)
    assert sim.status == "FAILED" and sim.state["failure"]["code"] == "FILTER_VALUE_NULL"


def test_value_of_a_trigger_leaves_by_its_port():  # C-36
    late = Trigger("late", "timer", after=10, action="value", value=5)
    net = Net((S, Node("w", "wait", triggers=(late,)), *chain("a", "b"), X), edges("s>w w>a w:late>b a>x b>x"))
    sim = Sim(net)
    sim.due()
    assert sim.effect("b") and not sim.effect("a")
