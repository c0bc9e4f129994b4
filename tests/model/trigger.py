"""Triggers and timers: waits, boundary events, reminders, escalations, join timeouts, the active time of a run."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tests.model.net import Node, Trigger


def moment(millis: int) -> str:
    return datetime.fromtimestamp(millis / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Triggers:
    """Arming and disarming; a part of Turn."""

    def set_timer(
        self, name: str, after: int, why: str, firing: str | None = None, scope: str | None = None, data: Any = None
    ) -> None:
        due = self.now + after
        self.say("timer.set", timer=name, due=due, why=why, firing=firing, scope=scope, data=data)

    def arm(self, fid: str, node: Node) -> None:
        scope = self.state["firings"][fid]["scope"]
        for i, trigger in enumerate(node.triggers):
            if trigger.kind == "timer":
                after = trigger.at(self.view(scope)) - self.now if trigger.at else trigger.after
                self.set_timer(f"{fid}/t{i}", after, "trigger", firing=fid, data={"trigger": i, "fired": 0})
            elif trigger.kind == "signal":
                wanted = trigger.filter(self.view(scope)) if trigger.filter else None
                if trigger.filter and wanted is None:  # no event may match by accident
                    self.fail_at_once(fid, {"code": "FILTER_VALUE_NULL", "category": "validation"})
                    return
                self.say("wait.opened", wait=f"{fid}/w{i}", firing=fid, name=trigger.name, trigger=i, filter=wanted)
        for signal in list(self.state["signals"]):  # in order of arrival; each is used at most once
            self.use_kept(fid, node, signal)

    def use_kept(self, fid: str, node: Node, signal: str) -> None:
        """Give a kept signal to the first trigger of this firing that it matches."""
        kept = self.state["signals"][signal]
        for i, trigger in enumerate(node.triggers):
            if fid in self.state["firings"] and self.matches(fid, i, trigger, kept["name"], kept["payload"]):
                self.say("signal.used", id=signal, wait=f"{fid}/w{i}")
                self.trigger(fid, i, kept["payload"])
                return

    def matches(self, fid: str, i: int, trigger: Trigger, name: str, payload: Any) -> bool:
        if trigger.kind != "signal" or trigger.name != name:
            return False
        scope = self.state["firings"][fid]["scope"]
        wanted = self.state["waits"][f"{fid}/w{i}"]["filter"]
        return trigger.match is None or bool(trigger.match(self.view(scope, event=payload, filter=wanted)))

    def disarm(self, fid: str) -> None:
        for timer in [name for name, t in self.state["timers"].items() if t["firing"] == fid]:
            self.say("timer.gone", timer=timer, why="disarmed")
        for wait in [name for name, w in self.state["waits"].items() if w["firing"] == fid]:
            self.say("wait.gone", wait=wait, why="closed")

    def timer_fired(self, timer: dict) -> None:
        """A trigger's timer is due: set the next one of a repeating trigger, then do what it says."""
        fid, i, count = timer["firing"], timer["data"]["trigger"], timer["data"]["fired"] + 1
        trigger = self.net.node[self.state["firings"][fid]["node"]].triggers[i]
        if trigger.repeat and not trigger.interrupting and (not trigger.times or count < trigger.times):
            data = {"trigger": i, "fired": count}
            self.set_timer(f"{fid}/t{i}.{count}", trigger.repeat, "trigger", firing=fid, data=data)
        self.trigger(fid, i, {"at": self.now})

    def trigger(self, fid: str, i: int, payload: Any) -> None:
        firing = self.state["firings"][fid]
        node = self.net.node[firing["node"]]
        trigger = node.triggers[i]
        value = trigger.value if trigger.action == "value" else payload
        if not trigger.interrupting:
            path = [*firing["path"], [fid, -1 - i]]
            lives = self.state["lives"]
            of = {"tokens": lives[self.state["life"][fid]]["takes"]} if self.state["tracks"] else {}
            for edge in self.net.outs[node.id]:
                if edge.port == trigger.port:
                    self.put(edge, firing["scope"], firing["epoch"], value, path, firing["passed"], of)
            return
        for scope in self.open_children(fid):
            self.sweep(scope, "interrupted")
        self.drop_effects(fid, "interrupted")
        if trigger.action == "reopen" and self.state["items"][fid]["level"] < trigger.times:
            self.reopen_item(fid, node)
        elif trigger.action == "reopen" and trigger.port != "done" and self.has_way(node, trigger.port):
            self.close(fid, "done", self.undecided(fid), None, trigger.port)
        elif trigger.action in ("fail", "reopen"):
            voted = trigger.action == "reopen" and (node.quorum or node.all_of)  # C-34: a vote ends with an output
            output = self.undecided(fid) if voted else None
            self.fail_at_once(fid, {"code": trigger.code, "category": "timeout"}, output)
        elif trigger.action == "skip":
            self.close(fid, "skipped", None)
        elif trigger.action == "value":
            self.close(fid, "done", value, None, trigger.port)
        else:
            self.close(fid, "done" if node.kind == "wait" else "interrupted", value, None, trigger.port)

    def reopen_item(self, fid: str, node: Node) -> None:
        """Nobody decided in time: others get the item and the full time. A draft waits for them; an agent is out."""
        item = self.state["items"][fid]
        self.disarm(fid)
        mode = item["mode"] if item["status"] == "SUBMITTED" or not item["mode"] else "MANUAL"
        self.say("work.opened", item=fid, firing=fid, level=item["level"] + 1, mode=mode)
        self.say("work.moved", item=fid, to="SUBMITTED" if item["status"] == "SUBMITTED" else "TODO")
        self.say("phase", firing=fid, phase="suspended")
        self.arm(fid, node)

    def has_way(self, node: Node, port: str) -> bool:
        return any(edge.port == port for edge in self.net.outs[node.id])

    def undecided(self, fid: str) -> dict[str, Any]:
        """Nobody has decided at any level, and an edge takes it from here."""
        item = self.state["items"][fid]
        votes = [
            {"user": who, "target": None, "decision": v["vote"], "comment": v["comment"], "at": moment(v["at"])}
            for who, v in item["votes"].items()
        ]
        return {
            "status": "timeout", "approver": None, "comment": None, "approved_at": None, "approvals": votes,
            "timed_out": True, "escalation_level": item["level"], "request_id": f"{self.state['run']}/{fid}",
        }  # fmt: skip

    def escalate(self, scope: str, node: str, code: str, value: Any) -> None:
        """Tell the nearest enclosing scope firing that listens for this code; a trigger without a name hears all."""
        while scope:
            fid = self.state["scopes"][scope]["firing"]
            firing = self.state["firings"][fid]
            for i, trigger in enumerate(self.net.node[firing["node"]].triggers):
                if trigger.kind == "escalation" and trigger.name in ("", code):
                    self.trigger(fid, i, {"code": code, "node": node, "output": value})
                    return
            scope = firing["scope"]
        self.say("incident", code="ESCALATION", node=node, detail={"code": code})

    # ---- join timeout
    def join_timer(self, node: str, scope: str, epoch: int) -> str:
        return f"{node}@{scope}~{epoch}/join"

    def arm_joins(self) -> None:
        """After each quiet: the first token that rests before a node with a join timeout sets its timer."""
        resting = set()
        for node, scope, epoch in self.candidates():
            timer = self.join_timer(node, scope, epoch)
            resting.add(timer)
            timeout = self.net.node[node].join_timeout
            waits = timeout is not None and not self.at_max(self.net.node[node], scope, epoch)
            if waits and timer not in self.state["timers"]:
                self.set_timer(timer, timeout, "join_timeout", scope=scope, data=[node, scope, epoch])
        for name, timer in list(self.state["timers"].items()):
            if timer["why"] == "join_timeout" and name not in resting:
                self.say("timer.gone", timer=name, why="nothing rests")

    def join_timed_out(self, node_id: str, scope: str, epoch: int) -> None:
        """A firing takes what lies there and fails at once: not retried, but on_error and ports apply."""
        if self.state["draining"]:
            return
        fid = self.take(self.net.node[node_id], scope, epoch, self.lying_before(node_id, scope, epoch))
        self.fail_at_once(fid, {"code": "JOIN_TIMEOUT", "category": "timeout"})

    # ---- active time
    def time_the_run(self) -> None:
        """The timer of the active time stands only while the run is RUNNING and not paused."""
        timer = self.state["timers"].get("run/active")
        since = self.state["active_since"]
        counts = self.net.active_ms is not None and since is not None and not self.state["draining"]
        left = self.net.active_ms - self.state["active"] if counts else 0
        if timer and (not counts or timer["due"] != since + left):
            self.say("timer.gone", timer="run/active", why="stopped")
            timer = None
        if counts and not timer:
            self.set_timer("run/active", since + left - self.now, "active")
