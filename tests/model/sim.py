"""Sim: a run of the model that keeps facts only, and asserts the invariants after every step."""

from __future__ import annotations

from typing import Any

from tests.model.kernel import TERMINAL, canon, empty, replay, step
from tests.model.net import Edge, Net, Node
from tests.model.state import ITEM_ENDED, token_id


class Sim:
    """With `check` each command is decided twice, the state is folded anew from all facts, K4 K5 K6 E2 are asserted."""

    def __init__(self, net: Net, run: str = "r1", input: Any = None, check: bool = True) -> None:
        self.net = net
        self.facts: list[dict] = []
        self.state = empty()
        self.now = 0
        self.check = check
        self.history: list[tuple[dict, int]] = []
        self.do(c="start", run=run, input=input)

    def do(self, **command: Any) -> list[dict]:
        facts = step(self.net, self.state, command, self.now)
        self.history.append((command, self.now))
        if self.check:
            assert canon(facts) == canon(step(self.net, self.state, command, self.now))
        self.state = replay(facts, self.state)
        self.facts += facts
        if self.check:
            assert canon(replay(self.facts)) == canon(self.state)
            invariants(self)
        return facts

    # ---- what the world does
    def ok(self, node: str, output: Any = None) -> list[dict]:
        return self.do(c="outcome", effect=self.effect(node), status="done", output=output)

    def bad(self, node: str, code: str = "X", category: str = "permanent") -> list[dict]:
        failure = {"code": code, "category": category}
        return self.do(c="outcome", effect=self.effect(node), status="failed", failure=failure)

    def due(self) -> list[dict]:
        """Let the next timer fire."""
        timers = self.state["timers"]
        name = min(timers, key=lambda t: (timers[t]["due"], t))
        self.now = max(self.now, timers[name]["due"])
        return self.do(c="due", timer=name)

    def tick(self, now: int) -> list[dict]:
        self.now = now
        return self.do(c="tick")

    # ---- what a test wants to know
    @property
    def status(self) -> str:
        return self.state["status"]

    def effect(self, node: str) -> str | None:
        """The first effect in flight of a node."""
        firings = self.state["firings"]
        return next((n for n, e in self.state["effects"].items() if firings[e["firing"]]["node"] == node), None)

    def item(self, node: str) -> str:
        """The open work item of a node."""
        items = self.state["items"].items()
        return next(name for name, i in items if name.startswith(node + "@") and i["status"] not in ITEM_ENDED)

    def fired(self) -> list[str]:
        return [f["node"] for f in self.said("fired")]

    def settled(self) -> list[tuple[str, str]]:
        return [(f["firing"].split("@")[0], f["status"]) for f in self.said("settled")]

    def said(self, *kinds: str) -> list[dict]:
        return [f for f in self.facts if f["f"] in kinds]

    def incidents(self) -> list[str]:
        return [i["code"] for i in self.state["incidents"]]

    def ledger(self) -> list[str]:
        return [e["status"] for e in self.state["ledger"]]


def invariants(sim: Sim) -> None:
    state = sim.state
    put = [token_id(f) for f in sim.said("put")]
    assert len(put) == len(set(put)), "K6: a token's identity is used once"
    gone = [t for f in sim.said("fired") for t in f["takes"]]
    gone += [t for f in sim.said("absorbed", "swept") for t in f["tokens"]]
    assert len(gone) == len(set(gone)), "K5: a token has one consumer"
    if not sim.said("migrated"):
        assert set(put) - set(gone) == set(state["tokens"]), "K5: tokens are conserved"
    if state["status"] in TERMINAL:
        for part in ("tokens", "effects", "firings", "waits", "timers", "undo"):
            assert not state[part], f"K4: {state['status']} with {part} {state[part]}"
        assert all(i["status"] in ITEM_ENDED for i in state["items"].values()), "an ended run has no open item"
    elif not state["paused"]:
        assert state["firings"] or state["timers"] or state["undo"], "silent deadlock"
    asked = [f["effect"] for f in sim.said("effect.asked")]
    assert len(asked) == len(set(asked)), "E4: an effect's id is asked once, so no answer is taken for another's"
    keys: dict[str, str] = {}
    for ask in sim.said("effect.asked"):
        assert keys.setdefault(ask["firing"], ask["key"]) == ask["key"], "E2: one key per firing"
    for thing in [*state["effects"].values(), *state["waits"].values()]:
        assert thing["firing"] in state["firings"]
    for name, timer in state["timers"].items():
        assert timer["firing"] is None or timer["firing"] in state["firings"]
        assert timer["why"] != "ttl" or timer["data"] in state["tokens"], name


def chain(*ids: str, scope: str = "", kind: str = "task", **more: Any) -> list[Node]:
    return [Node(i, kind, scope=scope, **more) for i in ids]


def edges(text: str) -> tuple[Edge, ...]:
    """'a>b c:port>d' -> edges named by that text."""
    found = []
    for word in text.split():
        left, dst = word.split(">")
        src, _, port = left.partition(":")
        found.append(Edge(word, src, dst, port or "done"))
    return tuple(found)
