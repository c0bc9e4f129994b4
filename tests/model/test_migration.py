"""Moving a run to another net."""

from __future__ import annotations

import pytest

from tests.model.kernel import Refused, canon, replay, step
from tests.model.net import Net
from tests.model.sim import Sim, chain, edges
from tests.model.small_nets import S, X


def test_migration_moves_tokens_and_refuses():
    old = Net((S, *chain("a", "b"), X), edges("s>a a>b b>x"))
    new = Net((S, *chain("a", "b", "b2"), X), edges("s>a a>b b>b2 b2>x"))
    sim = Sim(old)
    sim.ok("a")
    fs = step(new, sim.state, {"c": "migrate"}, 0, old=old)
    sim.facts += fs
    sim.state = replay(fs, sim.state)
    sim.net = new
    sim.ok("b")
    assert sim.effect("b2")
    sim.ok("b2")
    assert sim.status == "COMPLETED"
    sim = Sim(old)
    gone = Net((S, *chain("b"), X), edges("s>b b>x"))
    with pytest.raises(Refused) as e:
        step(gone, sim.state, {"c": "migrate"}, 0, old=old)
    assert "node gone" in str(e.value)
    fs = step(gone, sim.state, {"c": "migrate", "nodes": {"a": "b"}}, 0, old=old)
    assert fs[0]["nodes"] == {"a": "b"}


def test_migration_undo_is_the_inverse():
    old = Net((S, *chain("a", "b"), X), edges("s>a a>b b>x"))
    new = Net((S, *chain("q", "b"), X), edges("s>q q>b b>x"))
    sim = Sim(old)
    before = canon({**sim.state, "n": 0})
    fs = step(new, sim.state, {"c": "migrate", "nodes": {"a": "q"}}, 0, old=old)
    s = replay(fs, sim.state)
    fs = step(old, s, {"c": "migrate", "nodes": {"q": "a"}}, 0, old=new)
    s = replay(fs, s)
    assert canon({**s, "n": 0}) == before
