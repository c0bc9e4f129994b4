"""The failure path, and sweeping: how a firing, a scope and a run fail (KERNEL 6)."""

from __future__ import annotations

import hashlib

from tests.model.net import Node, Retry
from tests.model.state import ITEM_ENDED, TERMINAL

SWEPT = ("firings", "tokens", "effects", "timers", "waits", "items", "scopes", "owed")


class Failing:
    """A part of Turn."""

    def fail(self, fid: str, failure: dict, output: dict | None = None) -> None:
        """Retry, else the first matching row of on_error, else port `failed`, else the scope fails."""
        firing = self.state["firings"][fid]
        node = self.net.node[firing["node"]]
        if self.may_retry(firing, node, failure):
            self.retry_later(fid, firing, failure, node.retry)
            return
        if firing["comp"] is not None:
            self.settle(fid, "failed", None, failure)
            return
        action = next((a for m, a in node.on_error if m in ("*", failure["code"], failure["category"])), "fail")
        if action == "skip":
            self.close(fid, "skipped", None, failure)
        elif action == "continue":
            self.close(fid, "failed", self.taken_value(fid), failure)
        elif action == "error_env":
            self.close(fid, "failed", {"error": failure}, failure)
        elif action.startswith("port:"):
            self.close(fid, "failed", None, failure, action.removeprefix("port:"))
        elif action.startswith("park:"):
            kept = self.kept_of(fid, firing)
            self.close(fid, "failed", None, failure, action.removeprefix("park:"), reopen=kept, park=True)
        elif any(e.port == "failed" for e in self.net.outs[node.id]):
            self.close(fid, "failed", output, failure, "failed")
        else:
            self.fail_scope_of(fid, firing, {**failure, "node": failure.get("node", node.id)}, output)

    def fail_scope_of(self, fid: str, firing: dict, failure: dict, output: dict | None = None) -> None:
        reopen = self.kept_of(fid, firing) if firing["scope"] == "" else None
        self.close(fid, "failed", output, failure, "-", reopen=reopen)
        self.scope_failed(firing["scope"], failure)

    def kept_of(self, fid: str, firing: dict) -> dict:
        """What is needed to revive a firing."""
        kept = ("node", "scope", "epoch", "visit", "attempt", "takes", "path", "passed")
        return {"firing": fid, **{name: firing[name] for name in kept}}

    def fail_at_once(self, fid: str, failure: dict, output: dict | None = None) -> None:
        """As fail, but never retried."""
        self.say("phase", firing=fid, phase="timedout")
        self.fail(fid, failure, output)

    def may_retry(self, firing: dict, node: Node, failure: dict) -> bool:
        if firing["phase"] not in ("run", "effect") or node.kind not in ("task", "call", "work"):
            return False
        return firing["attempt"] - firing["base"] <= node.retry.max and failure["category"] in node.retry.on

    def retry_later(self, fid: str, firing: dict, failure: dict, retry: Retry) -> None:
        attempt = firing["attempt"]
        number = attempt - firing["base"]  # counts anew after a retry by hand
        factor = {"fixed": 1, "linear": number, "exponential": retry.multiplier ** (number - 1)}[retry.kind]
        delay = min(int(retry.base * factor), retry.cap)
        if retry.delays:
            delay = retry.delays[min(number, len(retry.delays)) - 1]
        if retry.jitter:
            digest = hashlib.sha256(f"{self.state['seed']}/{fid}/{attempt}".encode()).hexdigest()
            delay = delay * (500 + int(digest[:8], 16) % 501) // 1000
        self.say("attempt.failed", firing=fid, attempt=attempt, failure=failure, next_at=self.now + delay)
        self.set_timer(f"{fid}/r{attempt}", delay, "retry", firing=fid, data=attempt + 1)

    def scope_failed(self, scope: str, failure: dict) -> None:
        if self.state["status"] in TERMINAL:
            return
        if scope == "":
            self.run_failed(failure)
            return
        self.sweep(scope, "failed", keep_scope=True)
        self.say("scope.closed", scope=scope, status="failed", failure=failure, at=self.now)
        self.child_ended(scope)

    def run_failed(self, failure: dict) -> None:
        if self.state["draining"]:
            return  # the end is decided already, it only waits for what is in flight
        if self.net.on_fail == "drain":
            self.move(self.state["status"], "failing", failure=failure, draining="fail")
        else:
            self.finish_failed(failure)

    def finish_failed(self, failure: dict) -> None:
        self.sweep("", "failed", keep_scope=True)
        retries, delay = self.net.retry_run
        if self.state["reopen"] and self.state["run_retries"] < retries:
            self.move("PENDING", "run_retry", failure=failure, draining="")
            self.set_timer(f"run/r{self.state['run_retries'] + 1}", delay, "run_retry")
        elif not self.plan_undo("failure", {"run": "FAILED"}, failure=failure):
            self.move("FAILED", "unrecoverable_error", failure=failure, draining="")

    def finish_cancel(self, mode: str, failure: dict | None = None) -> None:
        """`failure` says why, when it was not a person who cancelled."""
        if failure and (self.state["draining"] or self.state["status"] not in ("RUNNING", "WAITING")):
            return
        self.sweep("", "cancelled", keep_scope=True)
        then = "CANCELLED_ANYWAY" if mode == "boundary" else "CANCELLED"
        why = failure or {"code": "CANCELLED", "category": "business"}
        if not self.plan_undo("cancel", {"run": then}, failure=why):
            more = {"failure": failure} if failure else {}
            self.move("CANCELLED", "cancel_requested", draining="", **more)

    # ---- sweeping
    def sweep(self, scope: str, why: str, keep_scope: bool = False) -> None:
        """Everything in a scope and below it goes, in one fact."""
        state = self.state
        below = self.under(scope)
        firings = [name for name, f in state["firings"].items() if f["scope"] in below]
        if state["undo"] and state["undo"]["then"].get("firing") in firings:
            self.abandon_undo()
            firings = [name for name in firings if name in state["firings"]]
        self.say_swept(
            scope,
            why,
            firings=firings,
            tokens=[name for name, t in state["tokens"].items() if t["scope"] in below],
            timers=[name for name, t in state["timers"].items() if t["scope"] in below],
            scopes=[s for s in below if state["scopes"][s]["status"] == "open" and not (keep_scope and s == scope)],
            owed=[key for key in state["owed"] if key.split("|")[1] in below],
        )

    def say_swept(self, scope: str, why: str, firings: list[str], **more: list[str]) -> None:
        """The fact, with all that hangs on these firings."""

        def theirs(part: str) -> list[str]:
            return [name for name, thing in self.state[part].items() if thing["firing"] in firings]

        items = {i: self.state["items"][i]["status"] for i in theirs("items")}
        gone = {
            **{part: [] for part in SWEPT},
            **more,
            "firings": firings,
            "effects": theirs("effects"),
            "timers": [*theirs("timers"), *more.get("timers", [])],
            "waits": theirs("waits"),
            "items": [i for i, status in items.items() if status not in ITEM_ENDED],
        }
        if any(gone.values()):
            status = "timeout" if why == "timeout" else "cancelled"
            self.say("swept", scope=scope, why=why, scope_status=status, at=self.now, **gone)
        for item, status in items.items():
            if status == "SUBMITTED":
                self.skip_draft(item)

    def drop_effects(self, fid: str, why: str) -> None:
        """A firing's effects in flight are no longer wanted."""
        effects = [name for name, e in self.state["effects"].items() if e["firing"] == fid]
        if effects:
            gone = {**{part: [] for part in SWEPT}, "effects": effects}
            scope = self.state["firings"][fid]["scope"]
            self.say("swept", scope=scope, why=why, scope_status="", at=self.now, **gone)

    def under(self, scope: str) -> list[str]:
        """The scope and all scopes in it."""
        found = [scope]
        for outer in found:  # grows while it is walked
            found += [s for s in self.by_number(self.state["scopes"]) if self.state["scopes"][s]["parent"] == outer]
        return found
