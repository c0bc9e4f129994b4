"""Everything at once: random nets, random commands, reloads; invariants and replay after every step."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from tests.model.kernel import Refused, canon, replay
from tests.model.random_nets import bits, spice
from tests.model.random_runs import World
from tests.model.settings import TRY
from tests.model.sim import Sim


@TRY
@given(st.integers(0, 10**9), st.integers(0, 255))
def test_every_run_ends(seed, input):
    sim = fuzzed(seed, input)
    assert sim.status in ("COMPLETED", "FAILED", "CANCELLED", "COMPENSATED")


def fuzzed(seed: int, input: int) -> Sim:
    rng = random.Random(seed ^ 77)
    sim = Sim(spice(seed), input=bits(input))
    world = World(rng)
    steps = 0
    while not world.ended(sim.state):
        steps += 1
        assert steps < 1500, ("no end", sim.status, sim.state["firings"])
        if rng.random() < 0.2:
            sim.state = replay(sim.facts)
        command = world.next(sim.state)
        sim.now = world.now
        stale = command["c"] == "outcome" and command["effect"] in sim.state["answered"]
        before = canon({**sim.state, "n": 0})
        try:
            facts = sim.do(**command)
        except Refused:
            facts = []
        if stale or not facts:  # an answer that came twice, or a refusal
            assert canon({**sim.state, "n": 0}) == before
    return sim
