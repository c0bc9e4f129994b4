"""The loop: fire what is ready until quiet, then say what the quiet means (KERNEL 2 and 7)."""

from __future__ import annotations

from typing import Any

from tests.model.net import Node
from tests.model.state import TERMINAL, token_id


class Loop:
    """A part of Turn."""

    def run_to_quiet(self) -> None:
        rounds = 0
        while self.state["status"] in ("RUNNING", "WAITING") and not self.state["paused"]:
            rounds += 1
            assert rounds < 20000, "the loop does not end"
            if self.state["draining"]:
                self.end_drain()
                break
            if not (self.fire_next() or self.rearm() or self.close_scopes() or self.relax_root()):
                break
        self.rest()

    def rest(self) -> None:
        """Nothing moves any more: say what that means and set the timers that belong to it."""
        self.conclude()
        if self.state["status"] in ("RUNNING", "WAITING") and not self.state["draining"]:
            self.arm_joins()
        self.time_the_run()

    def end_drain(self) -> None:
        """Only what is really out in the world is waited for: an open scope or a person would hold it for ever."""
        if self.state["effects"]:
            return
        if self.state["draining"] == "fail":
            self.finish_failed(self.state["failure"])
        else:
            self.finish_cancel(self.state["draining"])

    def fire_next(self) -> bool:
        """The first candidate that can do something does it."""
        for name, scope, epoch in self.candidates():
            node = self.net.node[name]
            if self.at_max(node, scope, epoch):
                if self.may_forward(name, scope, epoch):
                    self.forward(node, scope, epoch)
                    return True
            elif not self.held(node, scope, epoch) and (takes := self.ready(node, scope, epoch)):
                self.fire(node, scope, epoch, takes)
                return True
        return False

    def may_forward(self, node: str, scope: str, epoch: int) -> bool:
        """Not while its last firing still works, and not onto a full edge."""
        if any((f["node"], f["scope"], f["epoch"]) == (node, scope, epoch) for f in self.state["firings"].values()):
            return False
        done_before = self.state["forwarded"].get(f"{node}|{scope}|{epoch}")
        return bool(done_before) or not self.full_edges(node, scope, epoch)

    def rearm(self) -> bool:
        """Release debts that nothing can pay any more."""
        for key in sorted(self.state["owed"]):
            node, scope, _ = key.split("|")
            for visit, edges in self.state["owed"][key].items():
                free = [e for e in edges if not self.can_reach(node, e, scope, (key, int(visit)))]
                if free:
                    self.say("rearmed", key=key, visit=visit, edges=free)
                    return True
        return False

    def close_scopes(self) -> bool:
        """End one child scope in which nothing works any more, the innermost first."""
        opened = self.by_number(s for s, about in self.state["scopes"].items() if s and about["status"] == "open")
        for scope in sorted(opened, key=lambda s: -self.depth(s)):
            if any(f["scope"] == scope for f in self.state["firings"].values()):
                continue
            tokens = [t for t in self.state["tokens"].values() if t["scope"] == scope]
            if not tokens:
                self.say("scope.closed", scope=scope, status="done", failure=None, at=self.now)
                self.child_ended(scope)
                return True
            if any(self.held_outside(self.target(t)) for t in tokens):
                continue
            if self.relax(scope):
                return True
            if self.waits_for_timer(scope):
                continue
            if self.absorb_optional(scope):
                return True
            self.scope_failed(scope, self.deadlock(tokens))
            return True
        return False

    def target(self, token: dict) -> Node:
        return self.net.node[self.net.edge[token["edge"]].dst]

    def waits_for_timer(self, scope: str) -> bool:
        """A ttl or a join timeout will still move something here."""
        self.arm_joins()
        kinds = ("ttl", "join_timeout")
        return any(t["scope"] == scope and t["why"] in kinds for t in self.state["timers"].values())

    def relax_root(self) -> bool:
        return not self.state["firings"] and self.relax()

    def relax(self, only: str | None = None) -> bool:
        """KERNEL 3.7: a diagram node ignores undecided conditions, a vicious circle of inclusive joins is broken."""
        for name, scope, epoch in self.candidates():
            node = self.net.node[name]
            if only not in (None, scope) or node.join.mode not in ("inclusive", "diagram"):
                continue
            if self.held(node, scope, epoch) or self.at_max(node, scope, epoch):
                continue
            if takes := self.ready(node, scope, epoch, relaxed=True):
                self.fire(node, scope, epoch, takes, relaxed=True)
                return True
        return False

    def deadlock(self, tokens: list[dict]) -> dict:
        """The failure that names who waits for what."""
        detail = []
        for node in self.net.nodes:
            held = {t["edge"] for t in tokens if self.target(t) is node}
            if held:
                ins = [e.id for e in self.net.ins[node.id]]
                entry = {"node": node.id, "held": [e for e in ins if e in held]}
                entry["missing"] = [e for e in ins if e not in held]
                places = {(t["scope"], t["epoch"]) for t in tokens if self.target(t) is node}
                full = {e for scope, epoch in places for e in self.full_edges(node.id, scope, epoch)}
                if full:
                    entry["full"] = sorted(full, key=self.net.edge_order.get)
                detail.append(entry)
        return {"code": "DEADLOCK", "category": "permanent", "detail": detail}

    def conclude(self) -> None:
        """What does the quiet mean? RUNNING, WAITING, stuck, or the end."""
        status = self.state["status"]
        working = any(f["phase"] in ("run", "effect", "backoff") for f in self.state["firings"].values())
        if self.state["paused"] and status == "WAITING" and working:
            self.move("RUNNING", "resumed")
        if status not in ("RUNNING", "WAITING") or self.state["paused"]:
            return
        tokens = list(self.state["tokens"].values())
        if self.state["firings"] or (tokens and self.waits_for_timer("")):
            to = "RUNNING" if working else "WAITING"
            if to != status:
                self.move(to, "wait_started" if to == "WAITING" else "resumed")
        elif tokens and self.absorb_optional(""):
            self.conclude()
        elif tokens:
            self.stuck(self.deadlock(tokens))
        else:
            self.warn_max_iteration()
            self.move("COMPLETED", "all_done")

    def absorb_optional(self, scope: str) -> bool:
        """Tokens of skippable conditions before a node that has fired without them fail nothing (D-4.2.3)."""
        late = []
        for token in self.state["tokens"].values():
            node = self.target(token)
            here = self.lying_before(node.id, token["scope"], token["epoch"])
            optional = all(self.net.edge[t["edge"]].role == "skip" for t in here)
            fired = self.rounds(node.id, token["scope"], token["epoch"])
            if token["scope"] == scope and node.join.mode == "diagram" and optional and fired:
                late.append(token_id(token))
        if late:
            self.say("absorbed", tokens=late, why="late", node="", edge="")
            self.tokens_gone(late)
        return bool(late)

    def stuck(self, failure: dict) -> None:
        if self.net.on_stuck == "pause":
            detail = failure["detail"]
            self.say("incident", code="DEADLOCK", node=detail[0]["node"], detail=detail)
            self.say("paused", on=True, at=self.now, why="deadlock")
        else:
            self.finish_failed(failure)

    def warn_max_iteration(self) -> None:
        """The run hit a max_iter and no end was reached."""
        if any(self.net.node[name].kind == "end" for name in self.state["outputs"]):
            return
        hit = {key.split("|")[0] for key in self.state["forwarded"]}
        first = next((n.id for n in self.net.nodes if n.id in hit), None)
        if first:
            self.say("incident", code="max_iteration_without_exit", node=first, detail=None)

    def move(self, to: str, event: str, **more: Any) -> None:
        """The run's status changes (or its drain begins)."""
        assert self.state["status"] not in TERMINAL or to in ("RUNNING", "COMPENSATING")
        self.say("run.moved", to=to, at=self.now, event=event, **more)
