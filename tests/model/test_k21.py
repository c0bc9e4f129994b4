"""K21: what the checker calls sound, the kernel runs to COMPLETED with exactly one end, whatever the choices."""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st

from tests.model.net import ALL, DEFAULT, INC, XOR, Edge, Join, Net, Node
from tests.model.settings import TRY
from tests.model.sim import Sim
from tests.model.soundness import check

JOIN_OF = {"and": ALL, "xor": XOR, "or": INC}
SPLIT_OF = {"and": "all", "xor": "first", "or": "every"}


class Draft:
    """A block-structured net that may then be broken."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.nodes: dict[str, Node] = {}
        self.edges: list[tuple[str, str]] = []
        first, last = self.block(self.rng.choice([2, 2, 3]))
        start, end = self.node(kind="start"), self.node(kind="end", join=XOR)
        self.edges += [(start, first), (last, end)]
        for _ in range(self.rng.choice([0, 1, 1, 2])):
            self.mutate()

    def node(self, kind: str = "route", join: Join = ALL, split: str = "all") -> str:
        name = f"v{len(self.nodes) + 1}"
        self.nodes[name] = Node(name, kind, join=join, split=split)
        return name

    def block(self, depth: int) -> tuple[str, str]:
        kind = self.rng.choice(["task", "seq", "and", "xor", "or", "loop"]) if depth else "task"
        if kind == "task":
            name = self.node("task")
            return name, name
        if kind == "seq":
            first, middle = self.block(depth - 1)
            second, last = self.block(depth - 1)
            self.edges.append((middle, second))
            return first, last
        if kind == "loop":
            merge = self.node(join=XOR)
            first, last = self.block(depth - 1)
            decide, leave = self.node(split="first"), self.node()
            self.edges += [(merge, first), (last, decide), (decide, merge), (decide, leave)]
            return merge, leave
        split, join = self.node(split=SPLIT_OF[kind]), self.node(join=JOIN_OF[kind])
        for _ in range(self.rng.choice([2, 3])):
            first, last = self.block(depth - 1)
            self.edges += [(split, first), (last, join)]
        return split, join

    def mutate(self) -> None:
        routes = [n for n in self.nodes.values() if n.kind == "route"]
        draw = self.rng.random()
        if not routes:
            return
        node = self.rng.choice(routes)
        if draw < 0.35:
            self.nodes[node.id] = replace(node, join=self.rng.choice([ALL, XOR, INC, INC]))
        elif draw < 0.7:
            self.nodes[node.id] = replace(node, split=self.rng.choice(["all", "first", "every"]))
        else:
            self.edges.append((self.rng.choice(routes).id, node.id))

    def net(self, choice: int) -> Net:
        """Guards draw from the choice; the last edge of a node is its default."""
        last = {src: k for k, (src, _) in enumerate(self.edges)}
        made = []
        for k, (src, dst) in enumerate(self.edges):
            guard = None
            if self.nodes[src].split != "all":
                guard = DEFAULT if last[src] == k else Drawn(choice, k)
            made.append(Edge(f"{src}>{dst}.{k}", src, dst, guard=guard))
        return Net(tuple(self.nodes.values()), tuple(made), max_visits=200)


@dataclass(frozen=True)
class Drawn:
    choice: int
    edge: int

    def __call__(self, view: dict) -> bool:
        return zlib.crc32(f"{self.choice}/{self.edge}/{view['visit']}".encode()) % 100 < 45


def completes(net: Net, rng: random.Random) -> bool:
    """Does the run complete, with one end, and without relaxing a join?"""
    sim = Sim(net, check=False)
    steps = 0
    while sim.state["effects"] and steps < 400:
        steps += 1
        sim.do(c="outcome", effect=rng.choice(sorted(sim.state["effects"])), status="done", output=steps)
    end = next(n.id for n in net.nodes if n.kind == "end")
    relaxed = any(f["relaxed"] for f in sim.said("fired"))
    return sim.status == "COMPLETED" and sim.fired().count(end) == 1 and not relaxed


@TRY
@given(st.integers(0, 10**9))
def test_sound_means_completes(seed):
    draft = Draft(seed)
    verdict = check(draft.net(0), budget=800)
    without_reductions = check(draft.net(0), budget=800, reductions=False)
    both = {verdict.verdict, without_reductions.verdict}
    assert "undecided" in both or len(both) == 1, (verdict, without_reductions)
    if verdict.verdict == "sound":
        for choice in range(4):
            assert completes(draft.net(choice), random.Random(choice)), (seed, choice)


def test_unsound_nets_break_at_run_time():
    """The verdict is not only a warning: some choice breaks most of them."""
    drafts = [Draft(seed) for seed in range(60)]
    unsound = [d for d in drafts if check(d.net(0), budget=800).verdict == "unsound"]
    broken = [d for d in unsound if not all(completes(d.net(c), random.Random(c)) for c in range(4))]
    assert len(unsound) >= 5
    assert len(broken) >= len(unsound) // 2
