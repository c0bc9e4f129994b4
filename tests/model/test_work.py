"""Work items: drafts, approval, votes."""

from __future__ import annotations

import pytest

from tests.model.kernel import Refused
from tests.model.net import (
    Net,
    Node,
    Trigger,
)
from tests.model.sim import Sim, chain, edges
from tests.model.small_nets import S, X


def test_work_supervised_and_rework():  # P-A.8, P-A.9
    net = Net((S, Node("a", "work", agent=True, approve=True), X), edges("s>a a>x"))
    sim = Sim(net)
    i = sim.item("a")
    sim.ok("a", "d1")
    assert sim.state["items"][i]["status"] == "SUBMITTED" and sim.status == "WAITING"
    with pytest.raises(Refused):
        sim.do(c="work", item=i, verb="submit")
    sim.do(c="work", item=i, verb="reject")
    assert sim.status == "RUNNING"
    sim.ok("a", "d2")
    sim.do(c="work", item=i, verb="approve", by="h")
    assert sim.status == "COMPLETED" and sim.state["outputs"]["a"]["output"] == "d2"


def test_approval_quorum_and_reject():  # A1 A2
    net = Net((S, Node("a", "work", quorum=2), X, *chain("r")), edges("s>a a>x a:rejected>r"))
    sim = Sim(net)
    i = sim.item("a")
    sim.do(c="work", item=i, verb="vote", by="u1", vote="approved")
    with pytest.raises(Refused):
        sim.do(c="work", item=i, verb="vote", by="u1", vote="approved")
    assert sim.status == "WAITING"
    sim.do(c="work", item=i, verb="vote", by="u2", vote="approved")
    assert sim.status == "COMPLETED"
    with pytest.raises(Refused):
        sim.do(c="work", item=i, verb="vote", by="u3", vote="rejected")


# ---------------------------------------------------------------- a draft that was handed in is work done
def drafting(undo=("u",), **fields) -> Net:
    """`a` makes a draft while `b` works."""
    nodes = (
        S,
        Node("a", "work", agent=True, approve=True, undo=undo, **fields),
        *chain("b"),
        Node("j"),
        X,
        Node("u", "task", off_path=True, arg=lambda v: v["undone"]),
    )
    return Net(nodes, edges("s>a s>b a>j b>j j>x"))


def test_swept_draft_is_compensated_not_cancelled():  # P-4.1.11, P-5.5.4
    sim = Sim(drafting())
    sim.ok("a", "draft")
    assert sim.ledger() == ["open"]
    sim.bad("b")
    assert sim.status == "COMPENSATING" and sim.state["items"]["a@~0#1"]["status"] == "COMPENSATED"
    assert next(iter(sim.state["effects"].values()))["arg"] == "draft"
    sim.ok("u")
    assert sim.status == "COMPENSATED" and sim.ledger() == ["EXECUTED"]


def test_swept_draft_without_undo_link_is_skipped():  # KERNEL 11.6
    sim = Sim(drafting(undo=()))
    sim.ok("a", "draft")
    sim.bad("b")
    assert sim.status == "FAILED" and sim.ledger() == ["SKIPPED"]
    assert sim.state["items"]["a@~0#1"]["status"] == "COMPENSATED"


def test_items_in_work_are_cancelled():
    sim = Sim(drafting())
    sim.bad("b")
    assert sim.state["items"]["a@~0#1"]["status"] == "CANCELLED" and sim.ledger() == []


def test_approved_draft_has_one_entry_with_the_approved_output():
    sim = Sim(drafting())
    sim.ok("a", "draft")
    sim.do(c="work", item=sim.item("a"), verb="approve", output="better")
    assert [(e["status"], e["output"]) for e in sim.state["ledger"]] == [("open", "better")]
    sim.bad("b")
    assert next(iter(sim.state["effects"].values()))["arg"] == "better"
    sim.ok("u")
    assert sim.status == "COMPENSATED" and sim.state["items"]["a@~0#1"]["status"] == "COMPENSATED"


def test_approved_draft_without_undo_link_leaves_nothing_to_undo():
    sim = Sim(drafting(undo=()))
    sim.ok("a", "draft")
    sim.do(c="work", item=sim.item("a"), verb="approve")
    sim.bad("b")
    assert sim.status == "FAILED" and sim.ledger() == ["withdrawn"]
    assert sim.state["items"]["a@~0#1"]["status"] == "DONE"


def test_rejected_draft_is_withdrawn_and_the_next_one_booked():
    sim = Sim(drafting())
    sim.ok("a", "first")
    sim.do(c="work", item=sim.item("a"), verb="reject")
    assert sim.ledger() == ["withdrawn"]
    sim.ok("a", "second")
    assert sim.ledger() == ["withdrawn", "open"]
    sim.do(c="cancel")
    assert [e["arg"] for e in sim.state["effects"].values()] == ["second"]


def test_draft_interrupted_by_its_boundary_is_compensated_with_the_run():
    net = drafting(triggers=(Trigger("late", "timer", after=10),))
    net = Net((*net.nodes, *chain("esc")), (*net.edges, *edges("a:late>esc esc>x")))
    sim = Sim(net)
    sim.ok("a", "draft")
    sim.due()
    assert sim.state["items"]["a@~0#1"]["status"] == "COMPENSATED" and sim.ledger() == ["open"]
    sim.bad("b")
    sim.ok("u")
    assert sim.status == "COMPENSATED"


def test_undo_event_leaves_a_waiting_draft_alone():
    net = drafting()
    net = Net((*net.nodes, *chain("c"), Node("t", "undo")), (*net.edges, *edges("s>c c>t t>x")))
    sim = Sim(net)
    sim.ok("a", "draft")
    sim.ok("c")
    assert ("t", "done") in sim.settled() and sim.ledger() == ["open"] and not sim.effect("u")
    assert sim.state["items"]["a@~0#1"]["status"] == "SUBMITTED"


# ---------------------------------------------------------------- nobody decides
def test_item_goes_to_others_with_the_full_time():  # W-4.6.1, C-34
    late = Trigger("done", "timer", after=100, action="reopen", times=1, code="APPROVAL_TIMEOUT")
    net = Net((S, Node("a", "work", quorum=2, triggers=(late,)), X), edges("s>a a>x"))
    sim = Sim(net)
    i = sim.item("a")
    sim.do(c="work", item=i, verb="vote", by="u1", vote="approved")
    sim.due()
    item = sim.state["items"][i]
    assert (item["level"], item["status"], item["votes"]) == (1, "TODO", {}) and sim.status == "WAITING"
    assert [t["due"] for t in sim.state["timers"].values()] == [200]
    sim.due()
    assert sim.status == "FAILED" and sim.state["failure"]["code"] == "APPROVAL_TIMEOUT"


def test_draft_waits_for_others():  # C-34, P-4.1.11
    late = Trigger("done", "timer", after=100, action="reopen", times=1)
    net = Net((S, Node("a", "work", agent=True, approve=True, triggers=(late,)), X), edges("s>a a>x"))
    sim = Sim(net)
    sim.ok("a", "draft")
    sim.due()
    item = sim.state["items"][sim.item("a")]
    assert (item["level"], item["status"], item["draft"]) == (1, "SUBMITTED", "draft")
    sim.do(c="work", item=sim.item("a"), verb="approve")
    assert sim.status == "COMPLETED" and sim.state["outputs"]["a"]["output"] == "draft"


def test_only_a_doubtful_draft_needs_approval():  # T-X.14
    net = Net((S, Node("a", "work", agent=True, approve_if=lambda v: v["draft"] < 80), X), edges("s>a a>x"))
    sim = Sim(net)
    sim.ok("a", 79)
    assert sim.state["items"][sim.item("a")]["status"] == "SUBMITTED"
    sim.do(c="work", item=sim.item("a"), verb="reject")
    sim.ok("a", 80)
    assert sim.status == "COMPLETED"


def test_all_of_needs_every_candidate_and_submits_are_no_votes():  # C-32
    net = Net((S, Node("a", "work", all_of=True, candidates=("p", "q")), X), edges("s>a a>x"))
    sim = Sim(net)
    i = sim.item("a")
    with pytest.raises(Refused):
        sim.do(c="work", item=i, verb="submit")
    sim.do(c="work", item=i, verb="vote", by="p", vote="approved")
    assert sim.status == "WAITING"
    sim.do(c="work", item=i, verb="vote", by="q", vote="approved")
    assert sim.status == "COMPLETED"
    assert [a["user"] for a in sim.state["outputs"]["a"]["output"]["approvals"]] == ["p", "q"]


def test_modes_and_every_switch():  # P-X.40
    sim = Sim(Net((S, Node("a", "work", modes=True), X), edges("s>a a>x")))
    i = sim.item("a")
    assert sim.state["items"][i]["mode"] == "MANUAL" and not sim.state["effects"]
    sim.do(c="work", item=i, verb="set_mode", mode="SUPERVISED")
    with pytest.raises(Refused):
        sim.do(c="work", item=i, verb="set_mode", mode="MANUAL")
    sim.ok("a", "d1")
    assert sim.state["items"][i]["status"] == "SUBMITTED"
    sim.do(c="work", item=i, verb="rework")
    sim.do(c="work", item=i, verb="take_over", by="kim")
    assert sim.state["items"][i]["mode"] == "MANUAL" and not sim.state["effects"]
    sim.do(c="work", item=i, verb="reassign", by="lee")
    sim.do(c="work", item=i, verb="set_mode", mode="AUTONOMOUS")
    assert list(sim.state["effects"]) == ["a@~0#1/a3"]
    sim.ok("a")
    assert sim.status == "COMPLETED"


def test_finished_work_is_done_again_while_nothing_was_made_of_it():  # P-X.15
    def work(name):
        return Node(name, "work")

    nodes = (S, work("a"), work("b"), Node("j"), work("c"), X)
    sim = Sim(Net(nodes, edges("s>a s>b a>j b>j j>c c>x"), tracks=True))
    a, b = sim.item("a"), sim.item("b")
    sim.do(c="work", item=a, verb="submit")
    sim.do(c="work", item=a, verb="rework")
    assert not sim.state["tokens"] and sim.state["items"][a]["status"] == "TODO"
    sim.do(c="work", item=a, verb="submit")
    sim.do(c="work", item=b, verb="submit")
    for item in (a, b):
        with pytest.raises(Refused, match="GONE_ON"):  # c needs both
            sim.do(c="work", item=item, verb="rework")
    sim = Sim(Net((S, work("a"), work("b"), X), edges("s>a a>b b>x"), tracks=True))
    a = sim.item("a")
    sim.do(c="work", item=a, verb="submit")
    b = sim.item("b")
    sim.do(c="work", item=a, verb="rework")
    assert (sim.state["items"][a]["status"], sim.state["items"][b]["status"]) == ("TODO", "CANCELLED")
    sim.do(c="work", item=a, verb="submit")
    sim.do(c="work", item=sim.item("b"), verb="start")
    with pytest.raises(Refused, match="GONE_ON"):
        sim.do(c="work", item=a, verb="rework")
