"""What the world hears of a process: the events of P-E and P-X.38, made of its facts, in order per instance."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from penstock.dialects.contract import OutboxEvent
from penstock.dialects.process.instance import Instance, WorkItem
from penstock.kernel import fact as F
from penstock.kernel.state import COMPLETED, STATUS
from penstock.net.author import author
from penstock.net.compiled import Compiled
from penstock.store.contract import Store
from penstock.store.run_store import Batch

#: so many instances are kept folded while somebody listens
KEPT = 1000


def events(inst: Instance, at: int, first: int, facts: Iterable[Any]) -> Iterator[OutboxEvent]:
    """Folds a turn, and tells what it has to tell."""
    for seq, f in enumerate(facts, first):
        item = inst.items.get(f[1]) if f[0] in (F.WORK_OPENED, F.WORK_MOVED) else None
        was, undo = item.status if item is not None else None, inst.st.undo
        inst.turn(at, seq, (f,), last=False)
        if f[0] == F.STARTED:
            yield OutboxEvent(seq, "PROCESS_STARTED", _about(inst))
        elif f[0] == F.WORK_OPENED and item is None:
            yield OutboxEvent(seq, "WORKITEM_CREATED", _of_item(inst, inst.items[f[1]]))
        elif f[0] == F.WORK_MOVED and item is not None:
            moved = {**_of_item(inst, item), "from": was, "to": f[2], "event": f[3], "by": f[4]}
            yield OutboxEvent(seq, "WORKITEM_STATUS_CHANGED", moved)
            if f[3] == "block":
                yield OutboxEvent(seq, "PROCESS_BLOCKED", {**_of_item(inst, item), "error": item.error})
        elif f[0] == F.INCIDENT and f[1] == "COMPENSATION_STEP_FAILED":
            yield OutboxEvent(seq, "COMPENSATION_STEP_FAILED", _failed(inst, f))
        elif f[0] == F.UNDO_ENDED and undo is not None and undo.then != "firing" and f[1] != "ABANDONED":
            yield OutboxEvent(seq, "SAGA_COMPENSATION_COMPLETED", _undone(inst, undo.failure))
        elif f[0] == F.MOVED and f[1] in STATUS[COMPLETED:]:
            yield _ended(inst, seq, f[1])
    inst.st.hand = None


def _about(inst: Instance) -> dict[str, Any]:
    assert inst.net is not None
    return {"proc_inst_id": inst.st.run, "proc_def_id": inst.net.net.name}


def _of_item(inst: Instance, item: WorkItem) -> dict[str, Any]:
    return {
        **_about(inst), "workitem_id": item.id, "activity_id": item.activity_id, "activity_name": item.activity_name,
        "agent_mode": item.agent_mode, "status": item.status, "assignee": item.assignee,
    }  # fmt: skip


def _failed(inst: Instance, f: Any) -> dict[str, Any]:
    assert inst.net is not None
    node = inst.net.by_id.get(str(f[2]))
    activity = author(node) if node is not None else str(f[2])
    step = next((step for step in reversed(inst.undone.values()) if step.activity_id == activity and step.error), None)
    failed = {"activity_id": activity, "error": step.error if step is not None else None}
    more = {"activity_name": step.activity_name, "action": step.compensation_action} if step is not None else {}
    return {**_about(inst), **failed, **more}


def _undone(inst: Instance, failure: Any) -> dict[str, Any]:
    """P-E.2."""
    reason = None if failure is None else failure.message or failure.code
    return {
        "proc_inst_id": inst.st.run, "failed_activity": inst.failed_activity, "failure_reason": reason,
        "compensation_results": inst.compensation_results(),
    }  # fmt: skip


def _ended(inst: Instance, seq: int, status: str) -> OutboxEvent:
    if status == "COMPLETED":
        return OutboxEvent(seq, "PROCESS_COMPLETED", _about(inst))
    failure = inst.failure
    reason = None if failure is None else failure.message or failure.code
    payload = {
        **_about(inst), "compensation_status": inst.compensation_status,
        "failed_activity": inst.failed_activity if failure is not None else None, "failure_reason": reason,
    }  # fmt: skip
    return OutboxEvent(seq, "PROCESS_TERMINATED", payload)


class ProcessEvents:
    """Instances as they were told last, so that a turn costs its own facts. One whose turn was not committed is folded
    again from what was."""

    def __init__(
        self, store: Store, net_of: Callable[[str], Compiled], whole: Callable[[str], Callable[[Any], Any]]
    ) -> None:
        self.store, self.net_of, self.whole = store, net_of, whole
        self.known: OrderedDict[int, Instance] = OrderedDict()

    def turn(self, no: int, tenant: str, at: int, first: int, facts: list[Any], batch: Batch) -> list[OutboxEvent]:
        instance = self.known.get(no)
        if instance is None or instance.st.n != first - 1:
            instance = self.known[no] = self._folded(no, tenant, first, batch)
        self.known.move_to_end(no)
        published = list(events(instance, at, first, _plain(facts)))
        if instance.st.status >= COMPLETED:
            del self.known[no]
        elif len(self.known) > KEPT:
            self.known.popitem(last=False)
        return published

    def _folded(self, no: int, tenant: str, first: int, batch: Batch) -> Instance:
        made = Instance(self.net_of, self.whole(tenant))
        for turn in self.store.journal(no) if first > 1 else ():
            if turn.seq_to < first:
                made.turn(turn.at, turn.seq_from, F.decode_facts(turn.body))
        for run, seq_from, seq_to, at, body in batch.journal:
            if run == no and made.st.n < seq_from and seq_to < first:
                made.turn(at, seq_from, F.decode_facts(bytes(body)))
        return made


def _plain(facts: list[Any]) -> list[Any]:
    """As the journal has them: what is folded here must not be shared with the run."""
    return F.decode_facts(F.encode_facts(facts))
