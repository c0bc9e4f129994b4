"""Random commands for a run: what the world, people and operators may do next, chosen from the state alone."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from tests.model.kernel import TERMINAL

Command = dict[str, Any]


@dataclass
class World:
    """Remembers what was answered and dropped, so that answers may also come late or twice."""

    rng: random.Random
    now: int = 0
    answered: list[str] = field(default_factory=list)
    retried: int = 0
    waiting: list[Command] = field(default_factory=list)
    trouble: float = 0.0  # how often an effect fails
    eager: bool = False  # people change their minds all the time

    def __post_init__(self) -> None:
        self.trouble = 0.03 if self.eager else self.rng.choice([0.1, 0.2, 0.4])
        self.process = random.Random(str(self.rng.getstate()[1][:4]))  # what only processes know
        self.reworked = 0

    def ended(self, state: dict) -> bool:
        """The run is over, and nobody wants to retry it."""
        if state["status"] not in TERMINAL:
            return False
        return not (state["status"] == "FAILED" and state["reopen"] and self.retried < 2 and self.rng.random() < 0.7)

    def next(self, state: dict) -> Command:
        """A command, to be sent at `self.now`. It may be refused."""
        if self.waiting:
            return self.waiting.pop(0)
        if state["status"] == "FAILED":
            self.retried += 1
            return {"c": "retry"}
        if state["paused"] and not state["effects"] and not state["timers"]:
            return self.unpause(state)
        if state["parked"] and self.rng.random() < 0.3:
            return {"c": "retry", "firing": self.rng.choice(sorted(state["parked"]))}
        if command := self.switch(state) or self.rework(state):
            return command
        draw = self.rng.random()
        if draw < 0.02:
            return {"c": self.rng.choice(["pause", "resume"])}
        if draw < 0.03 and state["status"] != "COMPENSATING":
            return {"c": "cancel", "mode": self.rng.choice(["now", "boundary"])}
        if draw < 0.10:
            id = self.rng.randrange(50)
            return {"c": "signal", "id": str(id), "name": "SIG", "payload": 1, "keep": id % 5 > 0}
        if draw < 0.15 and (self.answered or state["dropped"]):
            return self.late(state)
        if draw < 0.16 and state["firings"]:
            return self.by_hand(self.rng.choice(sorted(state["firings"])))
        if draw < 0.30 and state["items"]:
            verb = self.rng.choice(["start", "submit", "approve", "reject", "vote", "vote"])
            return self.work(self.rng.choice(sorted(state["items"])), verb)
        if draw < 0.55 or not state["effects"]:
            return self.tick(state)
        return self.answer(state)

    def switch(self, state: dict) -> Command | None:
        """Items that have a mode go from people to agents and back."""
        items = sorted(name for name, i in state["items"].items() if i["mode"] and i["firing"] in state["firings"])
        if not items or self.process.random() > 0.15:
            return None
        verb = self.process.choice(["set_mode", "set_mode", "take_over", "reassign", "rework"])
        mode = self.process.choice(["MANUAL", "SUPERVISED", "AUTONOMOUS"])
        return {"c": "work", "item": self.process.choice(items), "verb": verb, "by": "m", "mode": mode}

    def rework(self, state: dict) -> Command | None:
        """Finished work is done again, a few times."""
        done = sorted(name for name, i in state["items"].items() if i["status"] == "DONE") if state["redo"] else []
        if not done or self.reworked > (25 if self.eager else 8) or self.process.random() > 0.2:
            return None
        self.reworked += 1
        item = self.process.choice(sorted(state["redo"])) if self.process.random() < 0.8 else self.process.choice(done)
        return {"c": "work", "item": item, "verb": "rework", "by": "m"}

    def unpause(self, state: dict) -> Command:
        """Nothing can happen while it is paused; a run that is stuck is cancelled, or it would be stuck for ever."""
        if any(i["code"] == "DEADLOCK" for i in state["incidents"]):
            self.waiting.append({"c": "cancel"})
        return {"c": "resume"}

    def late(self, state: dict) -> Command:
        effect = self.rng.choice(sorted({*self.answered, *state["dropped"]}))
        return {"c": "outcome", "effect": effect, "status": "done", "output": "LATE"}

    def by_hand(self, firing: str) -> Command:
        if self.rng.random() < 0.5:
            return {"c": "cancel_firing", "firing": firing}
        return {"c": "resolve", "firing": firing, "output": 1}

    def work(self, item: str, verb: str) -> Command:
        if verb == "vote":
            vote = self.rng.choice(["approved", "approved", "approved", "rejected"])
            return {"c": "work", "item": item, "verb": verb, "by": self.rng.choice("pqr"), "vote": vote}
        return {"c": "work", "item": item, "verb": verb, "by": "u", "output": 1}

    def tick(self, state: dict) -> Command:
        self.now += self.rng.choice([1, 5, 25])
        if not state["effects"]:
            self.waiting += [
                self.work(i, self.rng.choice(["submit", "approve", "vote"])) for i in sorted(state["items"])
            ]
        if state["paused"]:
            self.waiting.append({"c": "resume"})
        return {"c": "tick"}

    def answer(self, state: dict) -> Command:
        effect = self.rng.choice(sorted(state["effects"]))
        self.answered.append(effect)
        draw = self.rng.random()
        if draw < self.trouble:
            failure = {"code": self.rng.choice("XY"), "category": self.rng.choice(["permanent", "transient"])}
            return {"c": "outcome", "effect": effect, "status": "failed", "failure": failure}
        if draw < self.trouble + 0.05:
            return {"c": "outcome", "effect": effect, "status": "skipped"}
        return {"c": "outcome", "effect": effect, "status": "done", "output": self.rng.choice(["again", 1, 2])}
