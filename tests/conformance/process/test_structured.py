"""Structured processes of any shape are sound, and every instance of them ends, whoever works in whatever order."""

from __future__ import annotations

import random
from typing import Any

import pytest

from penstock.kernel import command as C
from tests.conformance.process.make import compiled, event, gateway, process, service, task
from tests.kernel.harness import Sim


class Drawing:
    """A random process of blocks: sequences, choices, forks, inclusive forks, loops, sub-processes, many at once."""

    def __init__(self, seed: int) -> None:
        self.chance, self.n = random.Random(seed), 0
        self.elements: list[dict[str, Any]] = []
        self.ways: list[Any] = []

    def name(self, stem: str) -> str:
        self.n += 1
        return f"{stem}{self.n}"

    def way(self, source: str, target: str, **fields: Any) -> None:
        self.ways.append((f"{source}>{target}", fields))

    def leaf(self, parent: str) -> tuple[str, str]:
        id = self.name("t")
        kind = self.chance.choice([task(id), service(id), service(id, "SUPERVISED"), service(id, compensation="undo")])
        if self.chance.random() < 0.15:
            kind["multi"] = {"mode": self.chance.choice(["parallel", "sequential"]), "count": 2, "item": "one"}
        self.elements.append({**kind, "parent": parent})
        return id, id

    def block(self, depth: int, parent: str = "") -> tuple[str, str]:
        kind = (
            self.chance.choice(["leaf", "row", "exclusive", "parallel", "inclusive", "loop", "sub"])
            if depth
            else "leaf"
        )
        if kind == "leaf":
            return self.leaf(parent)
        if kind == "row":
            parts = [self.block(depth - 1, parent) for _ in range(2)]
            self.way(parts[0][1], parts[1][0])
            return parts[0][0], parts[1][1]
        if kind == "sub":
            id = self.name("s")
            self.elements.append(task(id, type="subProcess", parent=parent))
            begin = self.name("b")
            self.elements.append(event(begin, "start", parent=id))
            self.way(begin, self.block(depth - 1, id)[0])
            return id, id
        if kind == "loop":
            return self.loop(depth, parent)
        split, join = self.name("g"), self.name("g")
        parts = [self.block(depth - 1, parent) for _ in range(self.chance.randint(2, 3))]
        conditions = {f"{split}>{entry}": f"c{split} != {i}" for i, (entry, _) in enumerate(parts[1:])}
        choosing = {} if kind == "parallel" else {"conditions": {**conditions, "default": f"{split}>{parts[0][0]}"}}
        self.elements += [gateway(split, kind, parent=parent, **choosing), gateway(join, kind, parent=parent)]
        for entry, exit in parts:
            self.way(split, entry)
            self.way(exit, join)
        return split, join

    def loop(self, depth: int, parent: str) -> tuple[str, str]:
        head, tail = self.name("g"), self.name("g")
        entry, exit = self.block(depth - 1, parent)
        after, _ = self.leaf(parent)
        again = {"conditions": {f"{tail}>{head}": f"counters['{tail}'] < 2", "default": f"{tail}>{after}"}}
        self.elements += [gateway(head, parent=parent), gateway(tail, parent=parent, **again)]
        for source, target in ((head, entry), (exit, tail), (tail, head), (tail, after)):
            self.way(source, target)
        return head, after

    def document(self) -> dict[str, Any]:
        first, last = self.block(3)
        self.elements += [event("S", "start"), event("E", "end")]
        self.way("S", first)
        self.way(last, "E")
        return process(self.elements, self.ways)


def work(sim: Sim, chance: random.Random, fails: float = 0.0) -> None:
    """Somebody does something that is open; an agent may fail."""
    asked = sim.effects()
    items = [no for no, item in sim.st.items.items() if item.status in ("TODO", "SUBMITTED", "IN_PROGRESS")]
    people = [no for no in items if sim.st.firings[no] not in asked]
    firing = chance.choice([*(f.no for f in asked), *people])
    node = sim.net.nodes[sim.st.firings[firing].node].id
    if firing in people:
        verb = "approve" if sim.st.items[firing].status == "SUBMITTED" else "submit"
        sim.do(C.work(firing, verb, "kim", None if verb == "approve" else {"n": chance.randint(0, 9)}))
    elif chance.random() < fails and not sim.st.firings[firing].comp >= 0:
        sim.bad(node, "AGENT_ERROR")
    else:
        found = sim.st.firings[firing]
        sim.do(C.done(found.no, found.attempt, found.probe, {"n": chance.randint(0, 9)}))
    if chance.random() < 0.1:
        sim.crash()


@pytest.mark.parametrize("seed", range(60))
def test_every_instance_ends(seed: int) -> None:
    """P-X.11, P-X.12, P-X.10, P-3.4.1, P-A.19: in any order, with crashes between; complete when nothing is open."""
    chance = random.Random(seed)
    sim = Sim(compiled(Drawing(seed).document()).net, {"n": 1})
    for _ in range(400):
        if sim.status == "COMPLETED":
            break
        work(sim, chance)
    assert sim.status == "COMPLETED" and not sim.st.items


@pytest.mark.parametrize("seed", range(60))
def test_every_failure_is_undone(seed: int) -> None:
    """P-5.2.2, P-X.37, P-X.21: whatever fails wherever: what was done is undone, in reverse, each once."""
    chance = random.Random(seed)
    sim = Sim(compiled(Drawing(seed).document()).net, {"n": 1})
    for _ in range(400):
        if sim.status in ("COMPLETED", "COMPENSATED", "FAILED"):
            break
        work(sim, chance, fails=0.15)
    assert sim.status in ("COMPLETED", "COMPENSATED", "FAILED")
    steps = [line.data["entry"] for line in sim.lines if line.fact == "undo.step" and line.data["status"] == "EXECUTED"]
    assert steps == sorted(steps, reverse=True) and len(steps) == len(set(steps))
    if sim.status != "COMPLETED":
        assert all(one.status in ("EXECUTED", "withdrawn") or not sim.net.nodes[one.node].undo for one in sim.st.ledger)
