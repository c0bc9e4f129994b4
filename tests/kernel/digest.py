"""Prints a digest of the facts of many runs: the same under every hash seed and in every Python."""

from __future__ import annotations

import hashlib
import random

from penstock.errors import PenstockError
from penstock.kernel import command as C
from penstock.kernel.failure import Failure
from tests.kernel.harness import Sim
from tests.model import random_nets as R
from tests.model.bridge import to_product


def play(sim: Sim, rng: random.Random, most: int = 120) -> None:
    """Answers, failures, ticks, signals and work, from the state alone."""
    for turn in range(most):
        sim.now += 7
        try:
            if sim.effects() and rng.random() < 0.7:
                firing = sim.effects()[rng.randrange(len(sim.effects()))]
                if rng.random() < 0.15:
                    sim.do(C.failed(firing.no, firing.attempt, Failure("X", "transient"), firing.probe))
                else:
                    sim.do(C.done(firing.no, firing.attempt, firing.probe, {"b": turn, "a": [turn, "ü", 1.5]}))
            elif sim.st.items and rng.random() < 0.5:
                sim.do(C.work(sorted(sim.st.items)[0], "submit", "u", turn))
            elif rng.random() < 0.5:
                sim.do(C.tick())
            else:
                sim.do(C.signal(str(turn), "SIG", {"z": 1, "y": 2}))
        except PenstockError as error:
            sim.turns.append((sim.now, error.code.encode()))
            return


def digest(seeds: range = range(25)) -> str:
    found = hashlib.sha256()
    for seed in seeds:
        for make in (R.spice, R.arbitrary, lambda s: R.structured(s, race=True)):
            sim = Sim(to_product(make(seed)), R.bits(seed * 37 % 256), check=False)
            play(sim, random.Random(seed))
            for at, body in sim.turns:
                found.update(b"%d:" % at + body)
    return found.hexdigest()


if __name__ == "__main__":
    print(digest())
