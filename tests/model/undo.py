"""The ledger and compensation: what is undone, in which order, and how the run ends after it (KERNEL 6)."""

from __future__ import annotations

from typing import Any

from tests.model.net import Node


class Undoing:
    """A part of Turn."""

    # ---- the ledger
    def book(self, fid: str, firing: dict, node: Node, output: Any) -> None:
        """A firing settled done: its entry, which a draft may have made already."""
        draft = self.open_entry(fid)
        if draft is None:
            if node.undo:
                self.add_entry(fid, firing, output)
        elif node.undo:
            self.say("ledger.changed", n=draft["n"], output=output, draft=False)
        else:
            self.say("ledger.changed", n=draft["n"], status="withdrawn")

    def book_draft(self, fid: str, firing: dict, output: Any) -> None:
        """A draft is work done. One of an earlier try goes; work finished before is the key's entry already."""
        before = self.open_entry(fid)
        if before and before["draft"]:
            self.say("ledger.changed", n=before["n"], status="withdrawn")
        if not before or before["draft"]:
            self.add_entry(fid, firing, output, draft=True)

    def add_entry(self, fid: str, about: dict, output: Any, draft: bool = False) -> None:
        where = {name: about[name] for name in ("node", "scope", "path")}
        self.say("ledger.added", n=len(self.state["ledger"]), firing=fid, output=output, draft=draft, **where)

    def open_entry(self, fid: str) -> dict | None:
        return next((e for e in self.state["ledger"] if e["firing"] == fid and e["status"] == "open"), None)

    def skip_draft(self, fid: str) -> None:
        """A draft is lost with its firing: without an undo link there is nothing to run for it."""
        entry = self.open_entry(fid)
        if entry and not self.net.node[entry["node"]].undo:
            self.say("undo.step", n=entry["n"], status="SKIPPED")

    # ---- the plan
    def plan_undo(self, why: str, then: dict, scope: str = "", failure: dict | None = None, only: tuple = ()) -> bool:
        """Decide the steps once, and begin; False when there is nothing to do.

        A draft that still waits for its approval is not undone under its feet.
        """
        ended = [e for e in reversed(self.state["ledger"]) if e["firing"] not in self.state["firings"]]
        steps = [e["n"] for e in ended if self.undoable(e, why, scope, failure, only)]
        if not steps:
            if "firing" in then:
                self.close(then["firing"], "done", None)
            return False
        then = {**then, "failure": failure}
        self.say("undo.planned", id=f"undo{self.state['n']}", steps=steps, why=why, then=then)
        if "run" in then:
            self.move("COMPENSATING", "compensation_triggered", failure=failure, draining="")
        self.undo_next()
        return True

    def undoable(self, entry: dict, why: str, scope: str, failure: dict | None, only: tuple) -> bool:
        node = self.net.node[entry["node"]]
        if entry["status"] not in ("open", "FAILED") or scope not in enclosing(entry["scope"]):
            return False
        if not node.undo or why not in node.undo_on or (only and node.id not in only):
            return False
        return node.undo_if is None or bool(node.undo_if(self.view(failure=failure)))

    def undo_next(self) -> None:
        """Run the next step; its undo nodes are ordinary firings, one after another."""
        undo = self.state["undo"]
        while undo["i"] < len(undo["steps"]):
            entry = self.state["ledger"][undo["steps"][undo["i"]]]
            if undo["j"] == 0 and self.net.undo_policy == "group" and self.before_failed_group(entry):
                self.say("undo.at", i=undo["i"] + 1, j=0)
                continue
            if undo["j"] == 0:
                self.say("undo.step", n=entry["n"], status="RUNNING")
            undo_node = self.net.node[self.net.node[entry["node"]].undo[undo["j"]]]
            self.fire(undo_node, "", 0, [], comp=str(entry["n"]), path=entry["path"])
            return
        self.undo_done()

    def before_failed_group(self, entry: dict) -> bool:
        """Policy group: what lies before a fork stays open when a step in that fork's branches failed."""
        forks = [fork for fork, _ in entry["path"]]
        for n in self.state["undo"]["steps"]:
            other = self.state["ledger"][n]
            if n > entry["n"] and other["status"] == "FAILED":
                # the first of its forks that this entry has not come through in the same branch
                beyond = [fork for fork, branch in other["path"] if [fork, branch] not in entry["path"]]
                if beyond and beyond[0] not in forks:
                    return True
        return False

    def undo_answer(self, firing: dict, status: str, failure: dict | None) -> None:
        undo = self.state["undo"]
        entry = self.state["ledger"][int(firing["comp"])]
        if status in ("done", "skipped"):
            if undo["j"] + 1 < len(self.net.node[entry["node"]].undo):
                self.say("undo.at", i=undo["i"], j=undo["j"] + 1)
            else:
                self.say("undo.step", n=entry["n"], status="EXECUTED")
                self.say("undo.at", i=undo["i"] + 1, j=0)
                item = self.state["items"].get(entry["firing"])
                if item and item["status"] != "COMPENSATED":
                    self.say("work.moved", item=entry["firing"], to="COMPENSATED")
        else:
            self.say("undo.step", n=entry["n"], status="FAILED")
            self.say("incident", code="COMPENSATION_STEP_FAILED", node=entry["node"], detail=failure)
            if self.net.undo_policy == "stop":
                self.undo_done()
                return
            self.say("undo.at", i=undo["i"] + 1, j=0)
        self.undo_next()

    def abandon_undo(self) -> None:
        """The undo node whose plan this is goes: its step in flight goes too and may be planned again."""
        undo = self.state["undo"]
        firings = [name for name, f in self.state["firings"].items() if f["comp"] is not None]
        self.say_swept("", "abandoned", firings=firings)
        for n in undo["steps"]:
            if self.state["ledger"][n]["status"] == "RUNNING":
                self.say("undo.step", n=n, status="open")
        self.say("undo.ended", id=undo["id"], result="ABANDONED")

    def undo_done(self) -> None:
        undo = self.state["undo"]
        failed, then = undo["failed"], undo["then"]
        left = any(self.state["ledger"][n]["status"] == "open" for n in undo["steps"])
        self.say("undo.ended", id=undo["id"], result="PARTIAL" if failed or left else "COMPLETE")
        broken = {"code": "COMPENSATION_FAILED", "category": "permanent", "cause": then["failure"]}
        if "firing" in then:
            if failed:
                self.fail(then["firing"], broken)
            else:
                self.close(then["firing"], "done", None)
            return
        if then["run"] == "CANCELLED_ANYWAY":
            self.move("CANCELLED", "cancel_done", failure=then["failure"], draining="")
        elif failed:
            self.move("FAILED", "compensation_failed", failure=broken, draining="")
        else:
            self.move("COMPENSATED", "compensation_done", failure=then["failure"], draining="")


def enclosing(scope: str) -> list[str]:
    """The scope and all around it, read from its id because an ended scope is forgotten."""
    found = [scope]
    while scope:
        firing = scope.rpartition("/")[0]  # node@scope~epoch#visit
        scope = firing.partition("@")[2].rpartition("~")[0]
        found.append(scope)
    return found
