"""Storm: a run that crashes before every turn, gets answers late, twice and in any order, and is watched by a board."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field
from typing import Any

import msgspec
from hypothesis import HealthCheck, Phase, settings

from penstock.errors import PenstockError
from penstock.kernel import command as C
from penstock.kernel.fact_lines import FactLine
from penstock.kernel.failure import Failure
from penstock.kernel.state import COMPENSATING, COMPLETED, EFFECT, FAILED, Firing, State, encode_state
from penstock.net.model import ALL, ANY, DIAGRAM, INCLUSIVE, MERGE, Edge, Effect, Join, Net, Node
from tests.kernel.board import Board
from tests.kernel.harness import Sim

EXAMPLES = int(os.environ.get("PENSTOCK_EXAMPLES", "25"))


def laws(part: float = 1.0) -> Any:
    """Settings of a law: no shrinking, since a net's seed does not shrink to anything simpler."""
    return settings(
        max_examples=max(2, int(EXAMPLES * part)),
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
        derandomize=bool(os.environ.get("CI")),
    )


def essence(st: State) -> bytes:
    """The state without what a command that changes nothing may change: how many facts, and when."""
    return encode_state(msgspec.structs.replace(st, n=0, at=0))


class Storm(Sim):
    """`crash` reloads before every turn; `check` holds the harness's laws after it; the board always looks."""

    def __init__(self, net: Net, input: Any = None, *, crash: bool = True, check: bool = True, **more: Any) -> None:
        self.crashes = crash
        self.board: Board | None = None
        super().__init__(net, input, check=check, **more)

    def do(self, *commands: C.Command) -> list[FactLine]:
        if self.board is None:
            self.board = Board(self.net)
        elif self.crashes:
            self.crash()
        before = len(self.facts)
        lines = super().do(*commands)
        self.board.turn(self.facts[before:], self.now, self.st, any(c[0] == C.TICK for c in commands))
        return lines


def pick(sim: Sim, rng: random.Random) -> Firing:
    return sim.effects()[rng.randrange(len(sim.effects()))]


def answer(firing: Firing, body: Any = None) -> C.Command:
    return C.done(firing.no, firing.attempt, firing.probe, body)


def told(sim: Sim, firing: Firing) -> str:
    """An answer that says only which node and visit it was, so that order cannot show in it."""
    return f"{sim.net.nodes[firing.node].id}.{firing.visit % 2}"


def drive(net: Net, given: Any, rng: random.Random, *, noise: bool = False, most: int = 3000, **more: Any) -> Storm:
    """To the end, answered in random order; with noise old answers come again in between."""
    sim = Storm(net, given, **more)
    sent: list[C.Command] = []
    while sim.effects():
        assert len(sent) < most, "no end"
        if noise and sent and rng.random() < 0.3:
            changes_nothing(sim, rng.choice(sent))
        firing = pick(sim, rng)
        sent.append(answer(firing, told(sim, firing)))
        sim.do(sent[-1])
    return sim


def changes_nothing(sim: Storm, command: C.Command) -> FactLine:
    """K16: fed again, it is ignored with a reason."""
    before = essence(sim.st)
    line, *more = sim.do(command)
    assert line.fact == "ignored" and line.data["why"], "K16: the second one is ignored, with a reason"
    assert not more and essence(sim.st) == before, "K16: the second one changes nothing"
    return line


@dataclass
class World:
    """What the world, people and operators do next, from the state alone. `calm` only answers and lets time pass."""

    rng: random.Random
    calm: bool = False
    operators: bool = True
    sent: list[C.Command] = field(default_factory=list)
    signals: int = 0
    retried: int = 0

    def play(self, sim: Storm, stormy: int = 250, most: int = 1500) -> None:
        """A stormy phase, then a calm one in which the run must end."""
        for turn in range(most):
            self.calm = turn >= stormy
            command = self.next(sim)
            if command is None:
                return
            before = essence(sim.st)
            try:
                sim.do(command)
            except PenstockError:
                assert essence(sim.st) == before, "a refusal changes nothing"
        raise AssertionError(f"no end: {sim.status} {sim.st.firings}")

    def next(self, sim: Sim) -> C.Command | None:
        st, draw = sim.st, self.rng.random()
        if st.status >= COMPLETED:
            return self._again(st)
        if st.paused and (self.calm or draw < 0.3 or not (st.asked or st.timers)):
            return C.cancel() if "DEADLOCK" in sim.incidents() and st.status != COMPENSATING else C.resume()
        if not self.calm and draw < 0.25:
            command = self._disturb(sim, draw)
            if command is not None:
                return command
        if st.items and (draw < 0.4 or not (st.asked or st.timers)):
            return self._work(sim, self.rng.choice(sorted(st.items)))
        stuck = [f for f in st.firings.values() if f.blocked]
        if stuck and (draw < 0.5 or not st.asked):
            return C.retry() if draw < 0.3 else C.resolve(stuck[0].no, 1)
        if st.timers and (draw < 0.6 or not st.asked):
            return self._tick(sim)
        if not st.asked:
            self.signals += 1
            return C.signal(f"s{self.signals}", "SIG", 1)
        return self._answer(sim)

    def _work(self, sim: Sim, no: int) -> C.Command:
        spec = sim.net.nodes[sim.st.firings[no].node].spec.work
        assert spec is not None
        if (spec.quorum or spec.all_of) and self.rng.random() < 0.8:
            vote = "approved" if self.calm else self.rng.choice(["approved", "approved", "rejected"])
            return C.work(no, "vote", self.rng.choice("pqu"), vote)
        verbs = ["submit", "approve"] if self.calm else ["start", "submit", "approve", "reject", "take_over"]
        return C.work(no, self.rng.choice(verbs), "u", 1)

    def _again(self, st: State) -> C.Command | None:
        if st.status == FAILED and st.reopen is not None and self.retried < 2 and self.rng.random() < 0.7:
            self.retried += 1
            return C.retry(self.rng.choice(["here", "here", "restart"]))
        return None

    def _disturb(self, sim: Storm, draw: float) -> C.Command | None:
        st = sim.st
        if draw < 0.02:
            return self.rng.choice([C.pause(), C.resume()])
        if draw < 0.03 and st.status != COMPENSATING:
            return C.cancel(self.rng.choice(["now", "boundary"]))
        if draw < 0.08:
            return C.signal(str(self.rng.randrange(50)), "SIG", 1, broadcast=self.rng.random() < 0.2)
        if draw < 0.14 and self.sent:
            return self.rng.choice(self.sent)
        if draw < 0.18 and self.operators and st.firings:
            return self._operate(sim)
        return None

    def _operate(self, sim: Sim) -> C.Command:
        firing = self.rng.choice(list(sim.st.firings.values()))
        doubt = C.doubt(firing.no, firing.attempt, firing.probe)
        ways = [C.resolve(firing.no, 1), C.cancel_firing(firing.no), C.set_variable("o", 1), C.nudge(), doubt]
        return self.rng.choice(ways)

    def _tick(self, sim: Sim) -> C.Command:
        due = sim.run.wake_at()
        step = self.rng.choice([1, 5, 25])
        sim.now = max(sim.now + step, due) if self.calm and due is not None else sim.now + step
        return C.tick()

    def _answer(self, sim: Sim) -> C.Command:
        firing = pick(sim, self.rng)
        assert firing.phase == EFFECT
        draw = 1.0 if self.calm else self.rng.random()
        if draw < 0.15:
            failure = Failure(self.rng.choice("XY"), self.rng.choice(["permanent", "transient"]))
            command = C.failed(firing.no, firing.attempt, failure, firing.probe)
        elif draw < 0.20:
            command = C.skipped(firing.no, firing.attempt, probe=firing.probe)
        else:
            body = 1 if self.calm else self.rng.choice(["again", 1, 2])
            command = answer(firing, body)
        self.sent.append(command)
        return command


JOINS = (ALL, MERGE, ANY, Join(mode="k", k=2, late="absorb"), Join(mode="k", k=2), INCLUSIVE, DIAGRAM)


def tangled(seed: int, joins: tuple[Join, ...] = JOINS, *, most: int = 12, spiced: bool = False) -> Net:
    """Any graph of at most `most` nodes with these joins: cycles, forks without joins, several tokens on one edge."""
    rng = random.Random(seed)
    size = rng.randrange(4, most)
    nodes = [Node(id="s", kind="start")]
    for i in range(1, size):
        kind = rng.choice(["task", "task", "route"])
        more: dict[str, Any] = {"effect": Effect(executor="x"), "out": (f"o{i}",)} if kind == "task" else {}
        if spiced and rng.random() < 0.2:
            more["max_iter"] = rng.choice([1, 2])
        if spiced and rng.random() < 0.1:
            more["group"] = "g"
        split = rng.choice(["all", "all", "first", "every"])
        nodes.append(Node(id=f"n{i}", kind=kind, join=rng.choice(joins), split=split, no_match="end", **more))
    ends = {0}
    edges = []
    for k in range(rng.randrange(size, 2 * size + 3)):
        src = k if 0 < k < size and rng.random() < 0.5 else rng.choice(sorted(ends))
        dst = k + 1 if k + 1 < size else rng.randrange(1, size)
        guard = rng.choice([None, None, f"input[{rng.randrange(8)}]", "visit % 2 == 1", "visit < 3"])
        raises = spiced and nodes[src].split == "first" and rng.random() < 0.25
        role = "start" if not src else rng.choice(["plain", "plain", "cond", "skip"])
        edges.append(Edge(id=f"e{k}", src=nodes[src].id, dst=nodes[dst].id, guard=guard, role=role, raises=raises))
        ends.add(dst)
    return Net(name="tangled", nodes=tuple(nodes), edges=tuple(edges), max_visits=6, limits={"g": 1})
