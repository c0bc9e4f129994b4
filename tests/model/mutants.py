"""Planted faults: the laws must find them.

`python -m tests.model.mutants` runs each over many nets and prints how many it gets wrong.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.model.kernel import Turn
from tests.model.random_nets import bits, structured
from tests.model.sim import Sim

LONG = 250  # answers; a right run of these nets is over before


def half_rule(self: Turn, join: str, marked: set[str], scope: str) -> list[dict]:
    """Inclusive joins without the second half of the BPMN rule: whatever reaches an unmarked in-edge blocks."""
    unmarked = [e for e in self.net.ins[join] if e.id not in marked]
    own = {e.id for e in self.net.ins[join]}
    reach = [self.net.reach[join][e.id] for e in unmarked]
    tokens = [t for t in self.state["tokens"].values() if t["scope"] == scope and t["edge"] not in own]
    firings = [f for f in self.state["firings"].values() if f["scope"] == scope and f["comp"] is None]
    return [t for t in tokens if any(bits >> self.net.edge_order[t["edge"]] & 1 for bits, _ in reach)] + [
        f for f in firings if any(f["node"] in nodes for _, nodes in reach)
    ]


def no_blockers(self: Turn, join: str, marked: set[str], scope: str) -> list[dict]:
    """Inclusive joins that never wait."""
    return []


MUTANTS: dict[str, tuple[str, Callable]] = {
    "half rule": ("blockers", half_rule),
    "no blockers": ("blockers", no_blockers),
}


@contextmanager
def planted(name: str) -> Iterator[None]:
    attribute, fault = MUTANTS[name]
    right = getattr(Turn, attribute)
    setattr(Turn, attribute, fault)
    try:
        yield
    finally:
        setattr(Turn, attribute, right)


def goes_wrong(seed: int) -> bool:
    """Does a structured net not complete, complete by relaxing a join, or reach its end twice?"""
    sim = Sim(structured(seed, depth=4), input=bits(seed * 37), check=False)
    rng = random.Random(seed)
    for _ in range(LONG):
        if not sim.state["effects"]:
            break
        sim.do(c="outcome", effect=rng.choice(sorted(sim.state["effects"])), status="done", output=1)
    relaxed = any(f["relaxed"] for f in sim.said("fired"))
    ends = [n.id for n in sim.net.nodes if n.kind == "end"]
    return sim.status != "COMPLETED" or relaxed or sim.fired().count(ends[0]) != 1


def with_inclusive_joins(seeds: range) -> list[int]:
    return [s for s in seeds if any(n.join.mode == "inclusive" for n in structured(s, depth=4).nodes)]


def main(count: int) -> None:
    seeds = with_inclusive_joins(range(count))
    print(f"right: {sum(map(goes_wrong, seeds))} wrong of {len(seeds)}")
    for name in MUTANTS:
        with planted(name):
            print(f"{name}: {sum(map(goes_wrong, seeds))} wrong of {len(seeds)}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
