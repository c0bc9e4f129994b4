"""Scopes: children of a scope firing are opened, end, and are judged (KERNEL 5)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.model.net import Body, Node


class Scopes:
    """A part of Turn."""

    def by_number(self, scopes: Iterable[str]) -> list[str]:
        """In the order in which they were opened."""
        return sorted(scopes, key=lambda s: self.state["scopes"][s]["number"])

    def depth(self, scope: str) -> int:
        depth = 0
        while scope:
            scope = self.state["scopes"][scope]["parent"]
            depth += 1
        return depth

    def children(self, fid: str) -> list[str]:
        return self.by_number(s for s, about in self.state["scopes"].items() if about["firing"] == fid)

    def open_children(self, fid: str) -> list[str]:
        return [s for s in self.children(fid) if self.state["scopes"][s]["status"] == "open"]

    # ---- opening
    def begin_scope(self, node: Node, fid: str) -> None:
        self.enter_scope(node, fid)
        body = node.body
        members = self.members(body, self.view(self.state["firings"][fid]["scope"]))
        if body.mode == "each_seq":
            members = members[:1]
        opened = [
            (self.open_child(fid, node, key, index, item, required), index, entry)
            for index, (key, entry, item, required) in enumerate(members)
        ]
        for scope, index, entry in opened:
            self.enter_child(fid, scope, index, entry, fork=len(opened) > 1)
        if not opened:
            self.settle(fid, "done", [] if body.collect == "array" else {})

    def enter_scope(self, node: Node, fid: str) -> None:
        if node.body.timeout is not None:
            self.set_timer(f"{fid}/join", node.body.timeout, "join", firing=fid)
        self.say("phase", firing=fid, phase="scope")

    def members(self, body: Body, view: dict) -> list[tuple]:
        """(key, entry, item, required) of each child."""
        if body.mode == "branches":
            return [
                (key, entry, None, must) for key, entry, guard, must in body.branches if guard is None or guard(view)
            ]
        if body.mode in ("each", "each_seq"):
            return [(str(i), body.entry, item, None) for i, item in enumerate(body.items(view))]
        return [("0", body.entry, None, None)]

    def open_child(
        self, fid: str, node: Node, key: str, index: int, item: Any, required: bool | None, base: int = 0
    ) -> str:
        """All children are opened before the first one runs, so that none is judged alone."""
        scope = f"{fid}/{key}"
        parent = self.state["firings"][fid]["scope"]
        self.say(
            "scope.opened",
            scope=scope,
            parent=parent,
            firing=fid,
            key=key,
            index=index,
            vars={**dict.fromkeys(node.body.locals), "item": item, "index": index},
            required=node.body.need == "all" if required is None else required,
            base=max(base, self.state["scopes"][parent]["base"]),
            at=self.now,
        )
        return scope

    def enter_child(self, fid: str, scope: str, index: int, entry: str, fork: bool = False) -> None:
        """Fire the entry, unless a sibling has ended the scope already."""
        if fid in self.state["firings"] and self.state["scopes"][scope]["status"] == "open":
            path = [*self.state["firings"][fid]["path"], *([[fid, index]] if fork else [])]
            self.fire(self.net.node[entry], scope, 0, [], path=path)

    def reopen_children(self, node: Node, fid: str) -> None:
        """After a retry by hand only the children that are not done run again, and go on counting their attempts."""
        self.enter_scope(node, fid)
        entries = {key: entry for key, entry, _, _ in node.body.branches}
        members = sorted((self.state["scopes"][s] for s in self.children(fid)), key=lambda m: m["index"])
        again = [
            (self.open_child(fid, node, m["key"], m["index"], m["vars"]["item"], m["required"], attempts_of(m)), m)
            for m in members
            if m["status"] != "done"
        ]
        for scope, member in again:
            entry = entries.get(member["key"], node.body.entry)
            self.enter_child(
                fid, scope, member["index"], entry, fork=len(members) > 1 and node.body.mode in ("branches", "each")
            )

    # ---- judging
    def child_ended(self, scope: str) -> None:
        ended = self.state["scopes"][scope]
        fid = ended["firing"]
        if fid not in self.state["firings"]:
            return
        firing = self.state["firings"][fid]
        node = self.net.node[firing["node"]]
        members = [self.state["scopes"][s] for s in self.children(fid)]
        by_status = {status: [m for m in members if m["status"] == status] for status in ("done", "failed", "open")}
        counts = {status: len(found) for status, found in by_status.items()}
        view = self.view(firing["scope"], **counts, total=len(members), last=ended["last"], round=ended["index"])
        if node.body.mode == "one":
            self.judge_one(fid, ended)
        elif node.body.mode in ("loop", "each_seq"):
            self.judge_rounds(fid, node, ended, view, by_status["failed"])
        elif node.body.until is not None and node.body.until(view):
            self.close(fid, "done", self.collect(fid, node))
        elif node.body.need == "all":
            self.judge_all(fid, node, by_status)
        else:
            self.judge_some(fid, node, members, by_status)

    def judge_one(self, fid: str, ended: dict) -> None:
        if ended["status"] == "done":
            self.close(fid, "done", ended["last"])
        else:
            self.fail(fid, ended["failure"])

    def judge_rounds(self, fid: str, node: Node, ended: dict, view: dict, failed: list[dict]) -> None:
        """loop, each_seq: one child at a time."""
        body, index = node.body, ended["index"] + 1
        if failed:
            self.scope_verdict(fid, node, failed[0]["failure"])
            return
        if body.mode == "each_seq":
            items = body.items(self.view(self.state["firings"][fid]["scope"]))
            more = index < len(items) and not (body.until is not None and body.until(view))
            item = items[index] if more else None
        else:
            more, item = body.again(view), None
        if more:
            scope = self.open_child(fid, node, str(index), index, item, None)
            self.enter_child(fid, scope, index, body.entry)
        else:
            self.close(fid, "done", self.collect(fid, node))

    def judge_all(self, fid: str, node: Node, by_status: dict) -> None:
        """No fail-fast: wait for every child."""
        if by_status["open"]:
            return
        required = [m for m in by_status["failed"] if m["required"]]
        if required:
            self.scope_verdict(fid, node, required[0]["failure"])
        else:
            self.close(fid, "done", self.collect(fid, node))

    def judge_some(self, fid: str, node: Node, members: list[dict], by_status: dict) -> None:
        """k children done, and every explicitly required one."""
        need, required = node.body.need, [m for m in members if m["required"]]
        possible = len(by_status["done"]) + len(by_status["open"])
        if possible < need or any(m["status"] == "failed" for m in required):
            self.scope_verdict(fid, node, by_status["failed"][0]["failure"])
        elif len(by_status["done"]) >= need and all(m["status"] == "done" for m in required):
            self.close(fid, "done", self.collect(fid, node))

    def scope_verdict(self, fid: str, node: Node, failure: dict) -> None:
        """The children failed or ran out of time: on_fail says what that means."""
        if node.body.on_fail == "continue":
            self.close(fid, "done", self.collect(fid, node), failure)
        elif node.body.on_fail == "compensate":
            self.close(fid, "failed", None, failure, "-")
            self.finish_failed(failure)
        else:
            for scope in self.open_children(fid):
                self.sweep(scope, "timeout" if failure["code"] == "JOIN_TIMEOUT" else "sibling_failed")
            self.fail(fid, failure)

    def collect(self, fid: str, node: Node) -> Any:
        words = {"done": "succeeded", "open": "skipped", "cancelled": "skipped"}
        members = sorted((self.state["scopes"][s] for s in self.children(fid)), key=lambda m: m["index"])
        records = [
            {
                "branch_id": m["key"],
                "status": words.get(m["status"], m["status"]),
                "output": m["last"] if m["status"] == "done" else None,
                "error": m["failure"],
                "duration_ms": (self.now if m["status"] == "open" else m["ended"]) - m["at"],
            }
            for m in members
        ]
        outputs = [r["output"] for r in records]
        if node.body.collect == "array":
            return records
        if node.body.collect == "outputs":
            return outputs
        if node.body.collect == "last":
            return members[-1]["last"] if members else None
        if node.body.collect == "first":
            done = sorted((m["ended"], m["index"], i) for i, m in enumerate(members) if m["status"] == "done")
            return outputs[done[0][2]] if done else None
        return {r["branch_id"]: r for r in records}


def attempts_of(scope: dict) -> int:
    """How many attempts a scope and all below it may have used: at least one more than it began with."""
    return max(scope["base"] + 1, scope["top"])
