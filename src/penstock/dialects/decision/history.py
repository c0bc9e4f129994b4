"""The history of an instance (W-2.2.5): every transition of it, its nodes and its approvals, read from the journal.

A turn of the kernel may end one wait and begin the next, or end the run, without a fact for what lies between. People
who write workflows see those steps, so they are told here, in the words of their tables (W-2.2, W-2.3, W-4.6).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from penstock.dialects.decision.node_history import NodeHistory
from penstock.dialects.net_nodes import is_companion
from penstock.dialects.transitions import TrackedMachine, Transition, TransitionLog, reason_of
from penstock.kernel.fact_lines import FactLine, FactReader, firing_of
from penstock.kernel.state import STATUS
from penstock.lifecycle import MACHINES
from penstock.net.author import author
from penstock.net.compiled import WAIT, CNode, Compiled

#: How a wait ended → W-2.2.2, W-2.2.3.
_RESUMED = {
    "elapsed": "timer_elapsed", "event": "event_received", "manual": "manual_signal", "polled": "poll_succeeded",
    "decided": "approval_received", "judged": "human_judgment_received",
}  # fmt: skip
_OPERATOR = "operator"


class Cause(NamedTuple):
    """What moved a run that waited. `kind` is a key of _RESUMED, `expired`, or `probe`: a poll that asks again."""

    kind: str
    node: CNode | None = None
    reason: str | None = None
    by: str | None = None


class InstanceHistory:
    """Folds a journal turn by turn. While a poll asks again its instance goes on waiting: it is told when it ends."""

    def __init__(self, net_of: Callable[[str], Compiled], created_at: int) -> None:
        self.reader, self.log = FactReader(net_of), TransitionLog()
        self.instance = TrackedMachine(self.log, MACHINES["decision_run"], "instance")
        self.nodes = NodeHistory(self.log, self.reader, self._node_complete)
        self.approvals: dict[str, TrackedMachine] = {}  # by firing
        self.suspended: dict[str, tuple[str, str]] = {}  # firing → node and what it waits for, the newest last
        self.timers: dict[int, tuple[str, str, Any]] = {}  # why, node, data
        self.waits: dict[int, tuple[str, str]] = {}  # node, name
        self.cause: Cause | None = None
        self.inside_cancel = False  # what is undone at a boundary is a part of the cancelling
        self.instance.begin(created_at, "create_instance")
        self.instance.move(created_at, "schedule")

    @property
    def transitions(self) -> list[Transition]:
        return self.log.transitions

    def turn(self, at: int, facts: Iterable[Any]) -> None:
        lines = self.reader.turn(at, facts)
        if not lines or self.reader.net is None:
            return
        self.cause = None
        for i, line in enumerate(lines):
            self._remember(line)
            if line.fact in ("fired", "settled", "attempt.failed") and not self._beside(line):
                self._wake(lines, i)
            self._approval(line)
            self.nodes.tell(line, expired=self.cause is not None and self.cause.kind == "expired")
            if line.fact == "run.started":
                self.instance.move(at, "start_execution")
            elif line.fact == "run.moved":
                self._moved(lines, i)
        self.nodes.end_of_turn(at)
        if STATUS[self.reader.st.status] == "WAITING" and self.instance.status == "RUNNING":
            self._rest(at)

    def _beside(self, line: FactLine) -> bool:
        """To tell people of a wait is no work of the instance, which waits on (W-11.1.9)."""
        node = self._node(line.node)
        return node is not None and is_companion(node)

    # -- what happened -------------------------------------------------------------------------------------------------

    def _remember(self, line: FactLine) -> None:
        """What is waited for, and what has come of it."""
        data = line.data
        if line.fact == "timer.set":
            self.timers[data["timer"]] = (data["why"], line.node, data["data"])
        elif line.fact == "timer.gone":
            was = self.timers.pop(data["timer"])
            if data["why"] == "fired":
                self.cause = self._rung(*was)
        elif line.fact == "wait.opened":
            self.waits[data["wait"]] = (line.node, data["name"])
        elif line.fact == "signal.used":
            node, name = self.waits[data["wait"]]
            self.cause = Cause("manual" if name.startswith("manual:") else "event", self._node(node), name)
        elif line.fact == "work.moved" and data["by"] is not None and data["to"] == "DONE":
            reviewed = (net_node := self._node(line.node)) is not None and net_node.spec.type == "REVIEW"
            self.cause = Cause("judged" if reviewed else "decided", net_node, data.get("comment"), data["by"])
        elif line.fact == "effect.answered" and (net_node := self._node(line.node)) is not None and net_node.spec.poll:
            failed = data["status"] == "failed"
            self.cause = Cause("elapsed" if failed else "polled", net_node, reason_of(data.get("failure")))
        elif line.fact == "phase" and data["phase"] in ("suspended", "blocked"):
            self.suspended.pop(data["firing"], None)
            named = [name for node, name in self.waits.values() if node == line.node]
            self.suspended[data["firing"]] = (line.node, named[-1] if named else "")
        elif line.fact == "undo.planned":
            self.inside_cancel = data["then"] == "CANCELLED"
        if line.fact in ("settled", "swept", "attempt.failed"):
            for gone in _gone(line):
                self.suspended.pop(gone, None)

    def _rung(self, why: str, node_id: str, data: Any) -> Cause:
        node = self._node(node_id)
        if why == "poll":
            return Cause("probe", node)
        if why == "join":
            return Cause("expired", node, "JOIN_TIMEOUT")
        if why == "trigger" and node is not None:
            trigger = node.spec.triggers[data[0]]
            if trigger.interrupting and not (node.kind == WAIT and data[0] == 0):
                return Cause("expired", node, trigger.code or "its time was over")
        return Cause("elapsed", node)

    # -- the instance --------------------------------------------------------------------------------------------------

    def _wake(self, lines: list[FactLine], i: int) -> None:
        """Something goes on: an instance that waited does no longer."""
        if self.instance.status != "WAITING":
            return
        cause, line = self.cause or Cause("manual", self._node(lines[i].node), _OPERATOR), lines[i]
        moved = next((later.data for later in lines[i:] if later.fact == "run.moved"), None)
        if cause.kind == "probe" or moved is not None and _rejected(moved):
            return
        if cause.kind == "polled" and line.data.get("status") != "done":  # it was answered, and the answer is a failure
            cause = Cause("elapsed", cause.node, reason_of(line.data.get("failure")))
        node, reason = None if cause.node is None else author(cause.node), cause.reason
        if cause.kind != "expired":
            if line.fact == "settled" and line.data.get("port") == "rejected" and cause.kind == "decided":
                reason = f"rejected: {reason}" if reason else "rejected"
            self.instance.move(line.at, _RESUMED[cause.kind], node, reason, cause.by)
            return
        self.instance.move(line.at, "wait_expired", node, reason)
        if moved is None or not _ends_it(moved, cause.node):
            self.instance.move(line.at, "retry_allowed", node)

    def _rest(self, at: int) -> None:
        node_id, name = next(reversed(self.suspended.values()), ("", ""))
        node = self._node(node_id)
        asks = node is not None and node.spec.type == "APPROVAL"
        reason = name or ("paused" if self.reader.st.paused else None)
        self.instance.move(at, "approval_required" if asks else "wait_started", self._author(node_id), reason)

    def _moved(self, lines: list[FactLine], i: int) -> None:
        line, instance = lines[i], self.instance
        at, to, failure = line.at, line.data["to"], line.data.get("failure")
        node, reason = self._author((failure or {}).get("node")), reason_of(failure)
        if to in ("RUNNING", "COMPLETED", "FAILED"):
            self._wake(lines, i)
        if to in ("FAILED", "COMPENSATING") and (failure or {}).get("code") == "WORKFLOW_TIMEOUT":
            instance.move(at, "workflow_timeout", None, reason)
        if to == "WAITING":
            if instance.status == "RUNNING":
                self._rest(at)
        elif to == "RUNNING":
            instance.move(at, "operator_retry", None, _OPERATOR)
        elif to == "COMPENSATING" and not self.inside_cancel:
            if instance.status == "FAILED":  # by hand, which is the only way on from there
                instance.move(at, "operator_retry", None, _OPERATOR)
            instance.move(at, "compensation_triggered", node, reason)
        elif to == "FAILED":
            named = {"COMPENSATING": "compensation_failed", "TIMEOUT": "no_recovery"}
            instance.move(at, named.get(instance.status, "unrecoverable_error"), node, reason)
        elif to == "CANCELLED":
            waited = instance.status == "WAITING" and _rejected(line.data)
            instance.move(at, "approval_rejected" if waited else "cancel_requested", node, reason)
        elif to in ("COMPLETED", "COMPENSATED"):
            instance.move(at, "all_nodes_done" if to == "COMPLETED" else "compensation_done", node, reason)

    def _node_complete(self, at: int, node: str) -> None:
        self.instance.move(at, "node_complete", node)

    # -- approvals -----------------------------------------------------------------------------------------------------

    def _approval(self, line: FactLine) -> None:
        node = self._node(line.node)
        if node is None or node.spec.work is None or node.spec.type != "APPROVAL":
            return
        if line.fact == "work.opened":
            self._asked(line, node)
        elif line.fact == "work.moved" and line.data["event"] == "reassign":
            life = self.approvals[line.data["firing"]]
            life.move(line.at, "escalate_action", by=line.data["by"], reason=line.data.get("comment"))
            life.move(line.at, "reassign_approvers", by=line.data["by"])
        elif line.fact == "settled":
            for id in _gone(line):
                if id in self.approvals:
                    self._decided(line, self.approvals.pop(id))

    def _asked(self, line: FactLine, node: CNode) -> None:
        id, level = line.data["firing"], line.data.get("level")
        if not level or id not in self.approvals:
            self.approvals[id] = TrackedMachine(self.log, MACHINES["approval"], "approval", author(node), id)
            self.approvals[id].begin(line.at, "request_approval")
            self.approvals[id].move(line.at, "notify_approvers")
            return
        for event in ("timeout_reached", "on_timeout=escalate", "reassign_approvers"):
            self.approvals[id].move(line.at, event, reason=f"level {level}")

    def _decided(self, line: FactLine, life: TrackedMachine) -> None:
        cause, port = self.cause or Cause("manual", reason=_OPERATOR), line.data.get("port", "done")
        if cause.kind == "expired":
            life.move(line.at, "timeout_reached", reason=cause.reason)
            if line.data["status"] == "done" and port != "timeout":
                life.move(line.at, "on_timeout=reject" if port == "rejected" else "on_timeout=auto_approve")
        elif line.data["status"] == "done":
            event = "reject_action" if port == "rejected" else "approve_action"
            life.move(line.at, event, reason=cause.reason, by=cause.by)

    # -- names ---------------------------------------------------------------------------------------------------------

    def _node(self, id: str) -> CNode | None:
        assert self.reader.net is not None
        return self.reader.net.by_id.get(id)

    def _author(self, id: str | None) -> str | None:
        node = self._node(id) if id else None
        return author(node) if node is not None else id or None


def _gone(line: FactLine) -> list[str]:
    """The firings that a line ends, or whose wait it ends."""
    if line.fact == "settled":
        return [firing_of(line)]
    firings = line.data.get("firings", []) if line.fact == "swept" else [line.data["firing"]]
    return [*firings]


def _rejected(moved: dict[str, Any]) -> bool:
    """Does the run end because an approval was rejected?"""
    return moved["to"] in ("CANCELLED", "COMPENSATING") and (moved.get("failure") or {}).get("code") == "REJECTED"


def _ends_it(moved: dict[str, Any], node: CNode | None) -> bool:
    """Is it this wait that the run fails by?"""
    failure = moved.get("failure") or {}
    mine = failure.get("node", "") in ("", node.id if node is not None else "")
    return moved["to"] in ("FAILED", "COMPENSATING") and failure.get("category") == "timeout" and mine
