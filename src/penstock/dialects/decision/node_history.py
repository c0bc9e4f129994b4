"""The executions of an author's nodes (W-2.3): what the net has as several nodes is one execution of one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from penstock.dialects.net_nodes import goes_on, is_companion, is_synthetic
from penstock.dialects.transitions import TrackedMachine, TransitionLog, reason_of
from penstock.kernel.fact_lines import FactLine, FactReader, firing_of
from penstock.kernel.state import COMPLETED, STATUS
from penstock.lifecycle import MACHINES
from penstock.net.author import author, stem
from penstock.net.compiled import CNode

#: Reasons for which something else than the node has skipped it (W-2.3.3).
_GATES = ("rate_limited", "duplicate")
_LONGEST = 500  # letters of what came of an action


class Execution(TrackedMachine):
    """`live` are its firings that have not ended; `skip` is why a part of it was skipped before its end was reached."""

    __slots__ = ("booked", "fired", "key", "live", "results", "skip")

    def __init__(self, log: TransitionLog, node: str, id: str, key: Any) -> None:
        super().__init__(log, MACHINES["decision_node"], "node", node, id)
        self.key = key
        self.live: set[str] = set()
        self.fired: set[str] = set()  # nodes of the net
        self.skip: tuple[str, str | None] | None = None
        self.booked = False  # its work is done and could be undone
        self.results: list[str] = []  # what came of each action of a compensation

    def pick(self, at: int) -> None:
        self.move(at, "executor_pick")
        self.move(at, "retry_attempt")


class NodeHistory:
    """`complete` is told of every node that has succeeded."""

    def __init__(self, log: TransitionLog, reader: FactReader, complete: Callable[[int, str], None]) -> None:
        self.log, self.reader, self.complete = log, reader, complete
        self.open: dict[Any, list[Execution]] = {}
        self.by_firing: dict[str, Execution] = {}
        self.ledger: list[Execution | None] = []
        self.new: list[Execution] = []  # those of this turn that nobody has picked yet
        self.cause: str | None = None  # why something is undone now

    def tell(self, line: FactLine, *, expired: bool) -> None:
        """`expired`: a wait's time is over."""
        data = line.data
        if line.fact == "fired":
            self._fired(line)
        elif line.fact == "settled":
            self._settled(line, expired)
        elif line.fact == "effect.asked":
            node = self._net_node(line.node)
            if node is not None and node.spec.type != "CONTEXT":
                self._picked(self._firing_asked(data["key"]), line.at)
        elif line.fact in ("phase", "work.opened") and data.get("phase") != "run":
            self._picked(data["firing"], line.at)
        elif line.fact == "scope.opened":
            self._picked(line.scope.rpartition("/")[0], line.at)
        elif line.fact == "attempt.failed" and (execution := self.by_firing.get(data["firing"])) is not None:
            execution.pick(line.at)
            execution.move(line.at, "retry_triggered", reason=reason_of(data["failure"]))
        elif line.fact == "swept":
            for id in data.get("firings", ()):
                self._swept(id, line.at, data["why"])
        elif line.fact == "revived" and (was := self.by_firing.get(data["firing"])) is not None:
            self._begin(was.node or "", data["firing"], was.key, line)
        elif line.fact == "ledger.added":
            self.ledger.append(self.by_firing.get(data["id"]))
            if (booked := self.ledger[-1]) is not None:
                booked.booked = True
        elif line.fact == "undo.planned":
            self.cause = reason_of(data["failure"]) or data["why"]
        elif line.fact == "undo.step":
            self._undone(line)
        elif line.fact == "run.moved" and STATUS.index(data["to"]) >= COMPLETED:
            for left in [execution for some in self.open.values() for execution in some]:
                self._cancelled(left, line.at, data["event"])

    def end_of_turn(self, at: int) -> None:
        """What has begun in this turn and not ended works."""
        for execution in self.new:
            if execution.status == "QUEUED" and any(self._works(id) for id in execution.live):
                execution.pick(at)
        self.new = []

    # -- firings -------------------------------------------------------------------------------------------------------

    def _fired(self, line: FactLine) -> None:
        node, id = self._net_node(line.node), firing_of(line)
        if node is None or is_companion(node) or is_synthetic(node):
            return
        key = (stem(node), line.scope, line.epoch, line.data.get("undoes"))
        for execution in self.open.get(key, ()):
            if not execution.live and node.id not in execution.fired:
                break
        else:
            execution = self._begin(author(node), id, key, line)
        execution.fired.add(node.id)
        execution.live.add(id)
        self.by_firing[id] = execution

    def _begin(self, node: str, id: str, key: Any, line: FactLine) -> Execution:
        execution = self.by_firing[id] = Execution(self.log, node, id, key)
        audited = "undoes" in line.data and self._audits(node, "log_reason")
        execution.begin(line.at, "node_scheduled", self.cause if audited else None)
        execution.live.add(id)
        execution.fired.add(line.node)
        self.open.setdefault(key, []).append(execution)
        self.new.append(execution)
        return execution

    def _settled(self, line: FactLine, expired: bool) -> None:
        id = firing_of(line)
        execution, node = self.by_firing.get(id), self._net_node(line.node)
        if execution is None or node is None:
            return
        execution.live.discard(id)
        status, port = line.data["status"], line.data.get("port", "done")
        if "undoes" in line.data and status == "done" and self._audits(execution.node or "", "log_result"):
            execution.results.append(_shown(line.data.get("output")))
        if status == "skipped" and execution.skip is None:
            execution.skip = _why_skipped(line, expired)
        if goes_on(node, status, port, undoes="undoes" in line.data):
            return
        self._close(execution)
        if status == "done":
            execution.pick(line.at)
            if execution.move(line.at, "execution_ok", reason="; ".join(execution.results) or _how(line)):
                self.complete(line.at, execution.node or "")
        elif status == "failed":
            self._failed(execution, node, line)
        elif status == "skipped" and execution.skip is not None:
            self._skipped(execution, line.at, *execution.skip)
        else:
            execution.pick(line.at)
            execution.move(line.at, "cancelled", reason=line.data["status"])

    def _failed(self, execution: Execution, node: CNode, line: FactLine) -> None:
        execution.pick(line.at)
        failure, retry = line.data.get("failure") or {}, node.spec.retry
        reason = reason_of(failure)
        if retry.max and line.data["attempt"] > retry.max and failure.get("category") in retry.on:
            execution.move(line.at, "retry_triggered", reason=reason)
            execution.move(line.at, "max_retry_exceeded", reason=reason)
        else:
            execution.move(line.at, "execution_error", reason=reason)

    def _skipped(self, execution: Execution, at: int, event: str, reason: str | None) -> None:
        if event == "condition_false" and execution.move(at, event, reason=reason):
            return
        execution.pick(at)
        if event == "skip_on_error":
            execution.move(at, "execution_error", reason=reason)
        if not execution.move(at, event, reason=reason):
            execution.move(at, "cancelled", reason=reason or event)

    def _swept(self, id: str, at: int, why: str) -> None:
        execution = self.by_firing.get(id)
        if execution is not None:
            execution.live.discard(id)
            if not execution.live:
                self._cancelled(execution, at, why)

    def _cancelled(self, execution: Execution, at: int, why: str) -> None:
        """What was done of it before stays done, and may be undone."""
        self._close(execution)
        execution.pick(at)
        execution.move(at, "execution_ok" if execution.booked else "cancelled", reason=why)

    def _undone(self, line: FactLine) -> None:
        execution, status = self.ledger[line.data["entry"]], line.data["status"]
        if execution is None:
            return
        if status == "RUNNING":
            execution.move(line.at, "workflow_compensation")
            execution.move(line.at, "has_compensation")
        elif status == "EXECUTED":
            execution.move(line.at, "compensation_done")
        elif status == "FAILED":
            execution.move(line.at, "compensation_failed")

    # -- which ---------------------------------------------------------------------------------------------------------

    def _picked(self, id: str, at: int) -> None:
        execution = self.by_firing.get(id)
        if execution is not None:
            execution.pick(at)

    def _close(self, execution: Execution) -> None:
        mine = self.open.get(execution.key, [])
        if execution in mine:
            mine.remove(execution)
        if not mine:
            self.open.pop(execution.key, None)

    def _firing_asked(self, key: str) -> str:
        st = self.reader.st
        return key[len(f"{st.tenant}/{st.run}/") :]

    def _works(self, id: str) -> bool:
        """What is only fetched for a node does not begin it: its condition is still to be asked."""
        node = self._net_node(id.partition("@")[0])
        return node is None or node.spec.type != "CONTEXT"

    def _audits(self, node: str, what: str) -> bool:
        """W-4.10.4: does a compensation want it written down?"""
        assert self.reader.net is not None
        about = self.reader.net.net.declares.policies.get("nodes", {}).get(node, {})
        return bool((about.get("audit") or {}).get(what))

    def _net_node(self, id: str) -> CNode | None:
        assert self.reader.net is not None
        return self.reader.net.by_id.get(id)


def _why_skipped(line: FactLine, expired: bool) -> tuple[str, str | None]:
    reason = (line.data.get("meta") or {}).get("skip_reason")
    if line.data.get("failure"):
        return "skip_on_error", reason_of(line.data["failure"])
    if reason == "fallback":
        return "skip_on_error", reason
    if reason in _GATES or reason == "condition_false":
        return reason, None
    return ("wait_timeout_skip", None) if expired else ("cancelled", reason)


def _shown(output: Any) -> str:
    try:
        return msgspec.json.encode(output).decode()[:_LONGEST]
    except (TypeError, ValueError, UnicodeError):
        return str(output)[:_LONGEST]


def _how(line: FactLine) -> str | None:
    meta = line.data.get("meta") or {}
    return "fallback" if meta.get("fallback") else "resolved by hand" if meta.get("resolved") else None
