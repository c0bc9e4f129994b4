"""A process instance as its facts tell it: work items, their history, and what was undone (P-X.5, P-5.5).

There is no second copy of it: whoever asks folds the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from penstock.dialects.process import words
from penstock.dialects.process.work_rows import AUTONOMOUS, assignee_of, only_candidate
from penstock.kernel import fact as F
from penstock.kernel.evolve import EVOLVE
from penstock.kernel.fact_lines import group_of
from penstock.kernel.failure import Failure
from penstock.kernel.saga import first_failure
from penstock.kernel.state import COMPENSATED, COMPLETED, FAILED, STATUS, Firing, State, new_state
from penstock.net.author import author
from penstock.net.compiled import CNode, Compiled
from penstock.store.work_items import AGENT

#: why the kernel has taken an item away → what the process language calls it
_REASONS = {
    "execution_failed": words.CANCELLED_FAILED, "failed": words.CANCELLED_BRANCH, "compensated": words.CANCELLED_BRANCH,
    "superseded": words.CANCELLED_REWORK, "cancelled": "instance terminated", "terminated": "process ended",
    "interrupted": "interrupted by an event", "closed": "its sub-process has ended",
}  # fmt: skip
_OPEN = ("TODO", "IN_PROGRESS", "SUBMITTED", "REWORK")


class WorkItem(msgspec.Struct, kw_only=True):
    """P-X.5. `version` is the number of the fact that changed it last: it only grows."""

    id: str
    proc_inst_id: str
    proc_def_id: str
    activity_id: str
    activity_name: str
    activity_type: str
    agent_mode: str
    firing: int
    status: str = "TODO"
    assignee: str | None = None
    agent: str | None = None
    agent_task_id: str | None = None
    draft: Any = None
    result: Any = None
    error: str | None = None
    cancel_reason: str | None = None
    visit: int = 1
    parallel_group_id: str | None = None
    branch_index: int | None = None
    version: int = 0
    created_at: int = 0
    started_at: int | None = None
    submitted_at: int | None = None
    completed_at: int | None = None
    cancelled_at: int | None = None
    compensated_at: int | None = None
    instruction: str = ""
    role: str | None = None
    priority: str | None = None
    due_at: int | None = None
    form: Any = None
    data: Any = None
    candidates: Any = None
    approvers: list[str] = []
    transcript: list[Any] = []

    @property
    def open(self) -> bool:
        return self.status in _OPEN


class Passage(msgspec.Struct, kw_only=True, frozen=True):
    """One line of the history: an item, or the instance itself, from one status to another."""

    seq: int
    at: int
    workitem_id: str | None
    activity_id: str | None
    event: str
    from_: str | None = msgspec.field(name="from")
    to: str
    by: str | None = None
    comment: str | None = None
    agent_mode: str | None = None


class CompensationStep(msgspec.Struct, kw_only=True):
    """P-5.3.1, P-5.5.6: one thing to undo, to cancel, or to leave."""

    seq: int
    activity_id: str
    activity_name: str
    workitem_id: str | None
    compensation_action: str
    compensation_data: Any
    status: str = "PENDING"
    parallel_group_id: str | None = None
    branch_index: int | None = None
    error: str | None = None
    at: int | None = None

    def result(self) -> dict[str, Any]:
        """P-5.3.5, P-5.5.3, P-5.5.4: in a parallel group with what was done, otherwise without."""
        result = {"step": self.activity_name, "status": self.status}
        if self.status == "CANCELLED":
            return {**result, "action": words.CANCELLED_ACTION}
        if self.parallel_group_id is not None and self.status in ("EXECUTED", "FAILED"):
            result["status"] = "COMPENSATED" if self.status == "EXECUTED" else "FAILED"
            result["action"] = self.compensation_action
        return {**result, "error": self.error} if self.error is not None else result


def _same(body: Any) -> Any:
    return body


class Instance:
    """Folds turn by turn. `whole` gives the value of a body that is stored by reference."""

    def __init__(self, net_of: Callable[[str], Compiled], whole: Callable[[Any], Any] = _same) -> None:
        self.net_of, self.whole = net_of, whole
        self.st: State = new_state()
        self.net: Compiled | None = None
        self.items: dict[int, WorkItem] = {}
        self.history: list[Passage] = []
        self.undone: dict[int, CompensationStep] = {}  # by ledger entry, in the order in which they are undone
        self.started_at = 0
        self.ended_at: int | None = None
        self._failures: dict[int, Failure] = {}
        self._failed_step = -1

    def turn(self, at: int, first: int, facts: Iterable[Any], *, last: bool = True) -> None:
        """`last`: the turn ends with these facts."""
        st = self.st
        for seq, f in enumerate(facts, first):
            st.at = at
            tell = _TELL.get(f[0])
            if tell is not None:
                tell(self, at, seq, f)
            EVOLVE[f[0]](st, f)
            st.n += 1
        if last:
            st.hand = None

    # -- what people ask -----------------------------------------------------------------------------------------------

    @property
    def status(self) -> str:
        return words.RUN[STATUS[self.st.status]]

    @property
    def compensation_status(self) -> str:
        return words.compensation_status(STATUS[self.st.status], [entry.status for entry in self.st.ledger])

    @property
    def failure(self) -> Failure | None:
        """What went wrong first, also when undoing it has failed since."""
        return first_failure(self.st.failure) if self.st.status in (FAILED, COMPENSATED) or self.st.undo else None

    @property
    def failed_activity(self) -> str | None:
        lost = [item for item in self.items.values() if item.cancel_reason == words.CANCELLED_FAILED]
        if lost:
            return lost[-1].activity_id
        node = self.failure.node if self.failure is not None else ""
        assert self.net is not None
        return author(self.net.by_id[node]) if node in self.net.by_id else node or None

    def steps(self) -> list[CompensationStep]:
        """P-5.5: what was cancelled, what was undone in that order, and what has nothing that undoes it."""
        if not self.undone:
            return []
        cancelled = [
            _step(item, "CANCELLED", item.cancelled_at)
            for item in self.items.values()
            if item.cancel_reason == words.CANCELLED_BRANCH
        ]
        undone = {step.workitem_id for step in self.undone.values()}
        left = [
            _step(item, "SKIPPED", None)
            for item in self.items.values()
            if item.status in ("DONE", "COMPENSATED") and item.id not in undone
        ]
        steps = [*cancelled, *self.undone.values(), *reversed(left)]
        return [msgspec.structs.replace(step, seq=n) for n, step in enumerate(steps, 1)]

    def compensation_results(self) -> list[dict[str, Any]]:
        """`compensation_results` (P-E.2)."""
        return [step.result() for step in self.steps()]

    # -- facts ---------------------------------------------------------------------------------------------------------

    def _started(self, at: int, seq: int, f: Any) -> None:
        self.net, self.started_at = self.net_of(f[3]), at
        self._pass(seq, at, None, "start", None, "RUNNING", by=_initiator(f[8]))

    def _migrated(self, at: int, seq: int, f: Any) -> None:
        self.net = self.net_of(f[1])

    def _moved_run(self, at: int, seq: int, f: Any) -> None:
        was, to = self.status, words.RUN[f[1]]
        self.ended_at = at if f[1] in STATUS[COMPLETED:] else None
        if was != to:
            self._pass(seq, at, None, str(f[2]), was, to)

    def _opened(self, at: int, seq: int, f: Any) -> None:
        assert self.net is not None
        firing = self.st.firings[f[1]]
        node = self.net.nodes[firing.node]
        prompt: dict[str, Any] = f[3] if isinstance(f[3], dict) else {}
        item = self.items.get(firing.no)
        mode = (f[6] if len(f) > 6 else "") or AUTONOMOUS
        new = item is None
        if item is None:
            item = self.items[firing.no] = self._item(firing, node, prompt, at)
        item.agent_mode, item.candidates, item.assignee, item.version = mode, f[4], only_candidate(f[4]), seq
        item.data, item.form, item.due_at = self.whole(prompt.get("data")), prompt.get("form"), prompt.get("due")
        if new:
            self._pass(seq, at, item, "create", None, "TODO")

    def _item(self, firing: Firing, node: CNode, prompt: dict[str, Any], at: int) -> WorkItem:
        net, run = node.net, self.st.run
        group, branch = group_of(firing.path, net) or (None, None)
        activity = str(prompt.get("activity_id") or author(node))
        return WorkItem(
            id=f"{run}~{firing.no}", proc_inst_id=run, proc_def_id=net.net.name, activity_id=activity,
            activity_name=str(prompt.get("title") or node.label), activity_type=str(prompt.get("activity_type") or ""),
            agent_mode="", firing=firing.no, agent=prompt.get("agent"), visit=firing.visit, parallel_group_id=group,
            branch_index=branch, created_at=at, instruction=str(prompt.get("instruction") or ""),
            role=prompt.get("role") or None, priority=prompt.get("priority"), approvers=prompt.get("approvers") or [],
        )  # fmt: skip

    def _moved(self, at: int, seq: int, f: Any) -> None:
        item = self.items.get(f[1])
        if item is None:
            return
        _, _, to, event, by, draft, _, comment, mode, why, _, meta = (*f, None, None, None, None, None)[:12]
        was, item.status, item.version, item.agent_mode = item.status, to, seq, mode or item.agent_mode
        who = assignee_of(f)
        if who is not None:
            item.assignee = item.agent or "agent" if who == AGENT else who or None
        if draft is not None:
            item.draft = self.whole(draft)
        item.error = str(why) if event == "block" else None if to in _OPEN else item.error
        if event == "start":
            item.started_at = at
            item.agent_task_id = self._task(f[1]) if by == "agent" else None
        elif event in ("take_over", "reassign"):
            item.agent_task_id = None
        if to == "SUBMITTED":
            item.submitted_at, item.transcript = at, _transcript(meta or why)  # older journals have it as `why`
        elif to == "DONE":
            item.completed_at, item.started_at = at, item.started_at or at
        elif to == "CANCELLED":
            item.cancelled_at, item.cancel_reason = at, _REASONS.get(why, str(why))
            failure = self._failures.get(f[1])
            item.error = None
            if why == "execution_failed" and failure is not None:  # with how far the agent has come
                item.error, item.transcript = _text(failure), _transcript(failure.detail) or item.transcript
        elif to == "COMPENSATED":
            item.compensated_at = at
        elif to == "TODO":
            item.started_at = item.submitted_at = item.completed_at = None
        self._pass(seq, at, item, event, was, to, by=by, comment=comment)

    def _task(self, no: int) -> str:
        """The key under which the agent is asked."""
        assert self.net is not None
        firing = self.st.firings[no]
        return f"{self.st.run}/{self.net.nodes[firing.node].id}#{firing.visit}"

    def _settled(self, at: int, seq: int, f: Any) -> None:
        item = self.items.get(f[1])
        if item is not None and item.status == "DONE":
            item.result = self.whole(f[7])
            item.transcript = _transcript(f[9] if len(f) > 9 else None) or item.transcript

    def _answered(self, at: int, seq: int, f: Any) -> None:
        if f[6] is not None:
            self._failures[f[1]] = _failure(f[6])

    def _attempt_failed(self, at: int, seq: int, f: Any) -> None:
        self._failures[f[1]] = _failure(f[3])

    def _planned(self, at: int, seq: int, f: Any) -> None:
        assert self.net is not None
        for no in f[1]:
            entry = self.st.ledger[no]
            node, item = self.net.nodes[entry.node], self.items.get(entry.firing)
            if no in self.undone:
                self.undone[no].status, self.undone[no].error = "PENDING", None
                continue
            group, branch = group_of(entry.path, self.net) or (None, None)
            self.undone[no] = CompensationStep(
                seq=0, activity_id=author(node), activity_name=item.activity_name if item else node.label,
                workitem_id=item.id if item else None, compensation_action=action_of(node),
                compensation_data=self.whole(entry.output), parallel_group_id=group, branch_index=branch,
            )  # fmt: skip

    def _stepped(self, at: int, seq: int, f: Any) -> None:
        step = self.undone.get(f[1])
        if step is not None:
            step.status, step.at = words.step_status(f[2]), at
            self._failed_step = f[1] if f[2] == "FAILED" else -1

    def _incident(self, at: int, seq: int, f: Any) -> None:
        step = self.undone.get(self._failed_step)
        if f[1] == "COMPENSATION_STEP_FAILED" and step is not None:
            step.error = str((f[3] or {}).get("message") or (f[3] or {}).get("code") or "failed")

    def _pass(
        self, seq: int, at: int, item: WorkItem | None, event: str, was: str | None, to: str, *,
        by: str | None = None, comment: str | None = None,
    ) -> None:  # fmt: skip
        self.history.append(
            Passage(
                seq=seq, at=at, workitem_id=item.id if item else None, activity_id=item.activity_id if item else None,
                event=event, from_=was, to=to, by=by, comment=comment, agent_mode=item.agent_mode if item else None,
            )
        )  # fmt: skip


def _transcript(meta: Any) -> list[Any]:
    """What an agent has kept of how it came to its result."""
    transcript = meta.get("transcript") if isinstance(meta, dict) else None
    return transcript if isinstance(transcript, list) else []


_TELL: dict[int, Callable[[Instance, int, int, Any], None]] = {
    F.STARTED: Instance._started, F.MIGRATED: Instance._migrated, F.MOVED: Instance._moved_run,
    F.WORK_OPENED: Instance._opened, F.WORK_MOVED: Instance._moved, F.SETTLED: Instance._settled,
    F.ANSWERED: Instance._answered, F.ATTEMPT_FAILED: Instance._attempt_failed, F.UNDO_PLANNED: Instance._planned,
    F.UNDO_STEP: Instance._stepped, F.INCIDENT: Instance._incident,
}  # fmt: skip


def _step(item: WorkItem, status: str, at: int | None) -> CompensationStep:
    return CompensationStep(
        seq=0, activity_id=item.activity_id, activity_name=item.activity_name, workitem_id=item.id,
        compensation_action="", compensation_data=item.result, status=status, at=at,
        parallel_group_id=item.parallel_group_id, branch_index=item.branch_index,
    )  # fmt: skip


def action_of(node: CNode) -> str:
    """The tool that undoes it, else the handler's name."""
    if not node.undo:
        return ""
    handler = node.undo[0]
    args = handler.effect.args if handler.effect is not None else None
    tool = args.get("tool") if isinstance(args, dict) else None
    return str(tool or handler.label)


def _failure(raw: Any) -> Failure:
    return raw if isinstance(raw, Failure) else Failure(*raw)


def _text(failure: Failure) -> str:
    return f"{failure.code}: {failure.message}" if failure.message else failure.code


def _initiator(options: Any) -> str | None:
    trigger = options.get("trigger") if isinstance(options, dict) else None
    user = trigger.get("initiator") if isinstance(trigger, dict) else None
    return str(user) if user else None


def initiator(st: State) -> str | None:
    """P-3.2.1: who has begun it."""
    return _initiator(st.options)
