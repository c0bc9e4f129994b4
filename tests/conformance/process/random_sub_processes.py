"""Random processes of sub-processes of every kind in each other, and random people who do what they ask for."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from penstock.kernel import command as C
from tests.conformance.process.make import event, gateway, process, service, task
from tests.conformance.process.running import Instance

#: after so many answers people finish what they are asked about
PATIENCE = 25


@dataclass
class RandomProcess:
    rng: random.Random
    elements: list[dict[str, Any]] = field(default_factory=list)
    ways: list[Any] = field(default_factory=list)

    def id(self) -> str:
        return f"n{len(self.elements)}"

    def add(self, element: dict[str, Any], parent: str) -> str:
        self.elements.append({**element, "parent": parent} if parent else element)
        return str(element["id"])

    def work(self, parent: str) -> str:
        """A task or, often undone by something, a service."""
        id = self.id()
        undone = {"compensation": f"undo_{id}"} if self.rng.random() < 0.5 else {}
        multi = {"multi": {"count": 2, "mode": self.rng.choice(("parallel", "sequential"))}}
        more = multi if self.rng.random() < 0.15 else {}
        kind = task(id, **more) if self.rng.random() < 0.6 else service(id, **undone, **more)
        return self.add(kind, parent)

    def step(self, parent: str, depth: int) -> str:
        """One activity, which may hold others."""
        if depth == 0 or self.rng.random() < 0.4:
            return self.work(parent)
        make = self.rng.choice((self.embedded, self.transaction, self.ad_hoc, self.ad_hoc))
        return make(parent, depth - 1)

    def row(self, parent: str, depth: int) -> tuple[str, str]:
        """Steps one after the other: the first and the last."""
        ids = [self.step(parent, depth) for _ in range(self.rng.choice((1, 2)))]
        self.ways += [f"{a}>{b}" for a, b in zip(ids, ids[1:], strict=False)]
        return ids[0], ids[-1]

    def sub(self, parent: str, **fields: Any) -> str:
        more = {"multi": {"count": 2, "collect": "all", **self.rng.choice(({}, {"output": "loopCounter"}))}}
        fields |= more if self.rng.random() < 0.2 else {}
        return self.add(task(self.id(), type="subProcess", **fields), parent)

    def embedded(self, parent: str, depth: int) -> str:
        id = self.sub(parent)
        self.row(id, depth)
        self.listening(id)
        return id

    def transaction(self, parent: str, depth: int) -> str:
        """Which is cancelled by what somebody says at the end, or never."""
        id = self.sub(parent, bpmn="transaction")
        _, last = self.row(id, depth)
        if self.rng.random() < 0.7:
            ask, choice = self.add(task(self.id()), id), f"n{len(self.elements) + 1}"
            end, cancel = f"{choice}e", f"{choice}c"
            self.add(gateway(choice, conditions={f"{choice}>{cancel}": "no == true", "default": f"{choice}>{end}"}), id)
            self.add(event(end, "end"), id)
            self.add(event(cancel, "end", "cancel"), id)
            self.ways += [f"{last}>{ask}", f"{ask}>{choice}", f"{choice}>{end}", f"{choice}>{cancel}"]
            if self.rng.random() < 0.8:
                border = self.add(event(self.id(), "boundary", "cancel", attached_to=id), parent)
                self.ways.append(f"{border}>{self.work(parent)}")
        self.listening(id)
        return id

    def ad_hoc(self, parent: str, depth: int) -> str:
        how: dict[str, Any] = {"ordering": self.rng.choice(("parallel", "sequential"))}
        if self.rng.random() < 0.5:
            how["until"] = "ok == true"
            how |= {"cancel_remaining": False} if how["ordering"] == "parallel" and self.rng.random() < 0.5 else {}
        id = self.sub(parent, ad_hoc=how)
        for _ in range(self.rng.choice((1, 2, 3))):
            self.row(id, depth)
        self.listening(id)
        return id

    def listening(self, level: str) -> None:
        if self.rng.random() < 0.2:
            id = self.add(task(self.id(), type="subProcess", triggered_by_event=True), level)
            how = {"signal": "news", "interrupting": self.rng.random() < 0.5}
            start = self.add(event(f"{id}s", "start", "signal", **how), id)
            self.ways.append(f"{start}>{self.work(id)}")


def random_process(seed: int) -> dict[str, Any]:
    made = RandomProcess(random.Random(f"sub-processes {seed}"))
    made.row("", 3)
    return process(made.elements, made.ways)


async def play(run: Instance, seed: int) -> None:
    """Until it has ended, or nobody is asked for anything any more."""
    rng = random.Random(f"play {seed}")
    for moves in range(40 * PATIENCE):
        todo = [item for item in run.items() if item.status in ("TODO", "IN_PROGRESS")]
        if not todo:
            return
        if rng.random() < 0.05:
            await run.p.command(run.id, C.signal(f"s{moves}", "news", {}))
            await run.rest()
            continue
        item = rng.choice(todo)
        await run.p.command(run.id, C.work(item.no, "submit", "kim", _answer(item.prompt, rng, moves), None))
        await run.rest()


def _answer(prompt: dict[str, Any], rng: random.Random, moves: int) -> dict[str, Any]:
    form = prompt.get("form")
    if not form:
        return {"no": rng.random() < 0.4, "ok": rng.random() < 0.4}
    if moves > PATIENCE or rng.random() < 0.3:
        return {"finished": True}
    choice = form["properties"]["choice"]
    if choice["type"] == "string":
        return {"choice": rng.choice(choice["enum"])}
    return {"choice": [word for word in choice["items"]["enum"] if rng.random() < 0.6], "finished": rng.random() < 0.3}
