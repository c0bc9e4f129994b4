"""Life of a run: cancel, pause, retry, fork, active time."""

from __future__ import annotations

import pytest

from tests.model.kernel import Refused, canon, replay, step
from tests.model.net import (
    Edge,
    Net,
    Node,
    Trigger,
)
from tests.model.sim import Sim, chain, edges
from tests.model.small_nets import S, X, saga


def test_cancel_now_and_late():
    sim = Sim(saga())
    sim.ok("a")
    e = sim.effect("b")
    sim.do(c="cancel")
    assert sim.status == "COMPENSATING"
    sim.ok("ua")
    assert sim.status == "COMPENSATED"
    with pytest.raises(Refused):
        sim.do(c="cancel")
    sim.do(c="outcome", effect=e, status="done")
    assert sim.status == "COMPENSATED"


def test_cancel_without_ledger():
    sim = Sim(Net((S, *chain("a"), X), edges("s>a a>x")))
    sim.do(c="cancel")
    assert sim.status == "CANCELLED"


def test_cancel_at_stage_boundary():  # F-A.10
    sim = Sim(saga())
    sim.ok("a")
    sim.do(c="cancel", mode="boundary")
    assert sim.status == "RUNNING" and sim.effect("b")
    assert sim.do(c="cancel", mode="boundary")[0]["f"] == "ignored"
    sim.ok("b")
    assert "c" not in sim.fired() and sim.effect("ub")
    sim.bad("ub")
    assert sim.status == "CANCELLED"


def test_pause_resume():
    sim = Sim(saga())
    sim.do(c="pause")
    sim.ok("a")
    assert not sim.state["effects"] and sim.state["tokens"]
    sim.do(c="resume")
    assert sim.effect("b")


def test_retry_from_failure():  # F-A.13
    net = Net((S, *chain("a", "b", "c"), X), edges("s>a a>b b>c c>x"))
    sim = Sim(net)
    sim.ok("a", 1)
    sim.bad("b")
    assert sim.status == "FAILED"
    sim.do(c="retry")
    assert sim.effect("b") and sim.fired().count("a") == 1
    sim.ok("b")
    sim.ok("c")
    assert sim.status == "COMPLETED"
    assert (
        len({f["key"] for f in sim.facts if f["f"] == "effect.asked" and "b@" in f["key"]}) == 1
    )  # E7: the key survives the retry by hand


def test_run_retry_automatic():  # F-A.7
    net = Net((S, *chain("a", "b"), X), edges("s>a a>b b>x"), retry_run=(2, 60))
    sim = Sim(net)
    sim.ok("a")
    for _ in range(2):
        sim.bad("b")
        assert sim.status == "PENDING"
        sim.due()
        assert sim.status == "RUNNING"
    sim.bad("b")
    assert sim.status == "FAILED" and sim.state["run_retries"] == 2


def test_fork_at_fact():
    sim = Sim(saga())
    sim.ok("a", 1)
    k = len(sim.facts)
    sim.ok("b", 2)
    s = replay(sim.facts[:k])
    s["run"] = "r2"
    f = step(sim.net, s, {"c": "outcome", "effect": next(iter(s["effects"])), "status": "done", "output": 3}, 0)
    s = replay(f, s)
    assert next(iter(s["effects"].values()))["key"].startswith("r2/c@")


def test_double_outcome_is_noop():
    sim = Sim(saga())
    e = sim.effect("a")
    sim.ok("a")
    b = canon({**sim.state, "n": 0})
    f = sim.do(c="outcome", effect=e, status="failed", failure={"code": "Y", "category": "permanent"})
    assert f[0]["f"] == "ignored" and canon({**sim.state, "n": 0}) == b


def test_active_time_excludes_waiting():  # C-71
    net = Net(
        (S, Node("w", "wait", triggers=(Trigger("done", "timer", after=1000),)), *chain("a"), X), edges("s>w w>a a>x")
    )
    sim = Sim(net)
    sim.now = 1000
    sim.due()
    sim.now = 1007
    sim.ok("a")
    assert sim.state["active"] == 7


def test_signal_after_end_and_work_on_cancelled_refused():
    net = Net((S, Node("a", "work"), X), edges("s>a a>x"))
    sim = Sim(net)
    i = sim.item("a")
    sim.do(c="cancel")
    assert sim.status == "CANCELLED"
    with pytest.raises(Refused):
        sim.do(c="work", item=i, verb="submit")
    assert sim.do(c="signal", id="9", name="Z")[0]["f"] == "ignored"


# ---------------------------------------------------------------- active timeout
def timed(**fields) -> Net:
    wait = Node("w", "wait", triggers=(Trigger("done", "timer", after=1000),))
    return Net((S, *chain("a"), wait, *chain("b"), X), edges("s>a a>w w>b b>x"), active_ms=100, **fields)


def test_active_timeout_counts_only_running_time():  # C-71
    sim = Sim(timed())
    assert sim.state["timers"]["run/active"]["due"] == 100
    sim.now = 60
    sim.ok("a")
    assert sim.status == "WAITING" and "run/active" not in sim.state["timers"]
    sim.tick(1060)
    assert sim.status == "RUNNING" and sim.state["timers"]["run/active"]["due"] == 1100
    sim.tick(1100)
    assert sim.status == "FAILED" and sim.state["failure"]["code"] == "WORKFLOW_TIMEOUT"
    assert sim.state["active"] == 100


def test_active_timeout_stands_still_while_paused():
    sim = Sim(timed())
    sim.now = 30
    sim.do(c="pause")
    assert not sim.state["timers"] and sim.state["active"] == 30
    sim.now = 500
    sim.do(c="resume")
    assert sim.state["timers"]["run/active"]["due"] == 570


def test_active_timeout_is_gone_with_the_run():
    sim = Sim(Net((S, *chain("a"), X), edges("s>a a>x"), active_ms=100))
    sim.now = 99
    sim.ok("a")
    assert sim.status == "COMPLETED"


def test_active_time_is_not_limited_while_a_failed_run_drains():
    net = Net((S, *chain("a", "b"), X), edges("s>a s>b a>x b>x"), active_ms=100, on_fail="drain")
    sim = Sim(net)
    sim.bad("a")
    assert sim.status == "RUNNING" and not sim.state["timers"]
    sim.ok("b")
    assert sim.status == "FAILED" and sim.state["failure"]["code"] == "X"


def test_active_timeout_compensates():
    sim = Sim(saga(active_ms=100))
    sim.ok("a")
    sim.tick(100)
    assert sim.status == "COMPENSATING"
    sim.ok("ua")
    assert sim.status == "COMPENSATED" and sim.state["failure"]["code"] == "WORKFLOW_TIMEOUT"


# ---------------------------------------------------------------- no branch
def test_timer_that_leads_to_no_branch_is_told_once():
    net = Net(
        (S, Node("w", "wait", triggers=(Trigger("done", "timer", after=10),)), Node("g", split="first"), X),
        (*edges("s>w w>g"), Edge("g>x", "g", "x", guard=lambda v: v["nodes"]["w"].get("ok"))),
    )
    sim = Sim(net)
    sim.tick(10)
    sim.tick(20)
    assert sim.status == "WAITING" and sim.incidents() == ["NO_MATCHING_BRANCH"]
    sim.do(c="resolve", firing="w@~0#1", output={"ok": True})
    assert sim.status == "COMPLETED"


def test_compensate_without_anything_to_undo_leaves_a_running_run_alone():
    net = Net(
        (S, Node("a", "task", undo=("u",), undo_on=("cancel",)), *chain("b"), Node("u", "task", off_path=True)),
        edges("s>a a>b"),
    )
    sim = Sim(net)
    sim.ok("a")
    assert sim.do(c="compensate")[0]["why"] == "nothing_left"
    assert sim.effect("b")
