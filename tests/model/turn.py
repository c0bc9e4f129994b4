"""Turn: one command being decided. It owns a copy of the state, and every fact it says moves that copy on."""

from __future__ import annotations

import copy
import json
from typing import Any

from tests.model.fail import Failing
from tests.model.fire import Firing, node_view
from tests.model.loop import Loop
from tests.model.net import Net
from tests.model.ready import Readiness
from tests.model.redo import Redoing
from tests.model.scopes import Scopes
from tests.model.state import canon, evolve
from tests.model.trigger import Triggers
from tests.model.undo import Undoing


class Turn(Readiness, Firing, Triggers, Failing, Scopes, Undoing, Redoing, Loop):
    def __init__(self, net: Net, state: dict, now: int, old: Net | None = None) -> None:
        self.net = net
        self.old = old  # migrate only: the net so far
        self.state = copy.deepcopy(state)
        self.now = now
        self.facts: list[dict] = []
        self.strict = False  # a person waits for the answer: no branch refuses the command

    def say(self, f: str, **fields: Any) -> None:
        fact = json.loads(canon({"f": f, **fields}))  # a fact is JSON
        self.facts.append(fact)
        evolve(self.state, fact)

    def view(self, scope: str = "", **extra: Any) -> dict:
        """What an expression may read: variables through the chain of scopes, results, counters of this scope."""
        state = self.state
        view = {"input": state["input"], "now": self.now, **state["vars"]}
        chain, outer = [], scope
        while outer:
            chain.append(outer)
            outer = state["scopes"][outer]["parent"]
        for inner in reversed(chain):
            view.update(state["scopes"][inner]["vars"])
        view["nodes"] = {name: node_view(o["output"], o["status"]) for name, o in state["outputs"].items()}
        view["count"] = lambda node, epoch=0: self.rounds(node, scope, epoch)
        view.update(extra)
        return view
