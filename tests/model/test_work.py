"""Work items: drafts, approval, votes."""

from __future__ import annotations

import pytest

from tests.model.kernel import Refused
from tests.model.net import Net, Node
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
    sim.do(c="work", item=i, verb="vote", by="u1", vote="approved")
    assert sim.status == "WAITING"
    sim.do(c="work", item=i, verb="vote", by="u2", vote="approved")
    assert sim.status == "COMPLETED"
    with pytest.raises(Refused):
        sim.do(c="work", item=i, verb="vote", by="u3", vote="rejected")
