"""Dead letters (W-7.5): a decision that ends badly leaves one in the commit of its end, and somebody hears of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from penstock.dialects.contract import LiveRun
from penstock.dialects.decision.words import UNIT
from penstock.dialects.masking import Mask, mask_of
from penstock.dialects.net_nodes import goes_on, inner_names, is_companion, is_synthetic
from penstock.dialects.notice import Notice
from penstock.executors.contract import Tenant
from penstock.kernel import fact as F
from penstock.kernel.failure import OUTAGE, Failure
from penstock.kernel.flow import LAST_MOMENT
from penstock.kernel.run import Run
from penstock.kernel.state import COMPENSATED, COMPLETED, FAILED, INTERRUPTED, SETTLED, STATUS
from penstock.net.author import author, stem
from penstock.net.compiled import CNode, Compiled
from penstock.store.contract import Store
from penstock.store.run_store import Batch

DAY_MS = 86_400_000
LONGEST_HISTORY = 1000
_BADLY = (FAILED, COMPENSATED)
_ENDED = {"done": "SUCCEEDED", "failed": "FAILED", "skipped": "SKIPPED", "interrupted": "CANCELLED"}
_pack = msgspec.msgpack.Encoder().encode


def _word(status: str) -> str:
    """How a firing ended, in the words of the author (W-2.2.6)."""
    return UNIT[_ENDED[status]]


class LetterContents(msgspec.Struct):
    error: bool = True
    input: bool = True
    context_snapshot: bool = True
    execution_history: bool = True


class LetterAlerts(msgspec.Struct):
    threshold: int = 10
    window_minutes: int = 60
    channels: list[str] = []


class ReplayPolicy(msgspec.Struct):
    enabled: bool = True
    auto_replay_on_fix: bool = False
    max_replay_attempts: int = 3


class DeadLetterPolicy(msgspec.Struct):
    """W-7.5.1: a document that says nothing has it, too."""

    enabled: bool = True
    queue_name: str = "workflow_dlq"
    retention_days: int = 30
    include: LetterContents | None = None
    alerts: LetterAlerts | None = None
    replay: ReplayPolicy | None = None


@lru_cache(1024)
def dead_letter_policy(net: Compiled) -> DeadLetterPolicy:
    return msgspec.convert(net.net.declares.policies.get("dlq") or {}, DeadLetterPolicy)


class DeadLetterWriter:
    def __init__(
        self, store: Store, tenant: Callable[[str], Tenant], notify: Callable[[Notice, int, int, Batch], None]
    ) -> None:
        self.store, self.tenant, self.notify = store, tenant, notify

    def write(self, live: LiveRun, run: Run, facts: list[F.Fact], was: int, now: int, batch: Batch) -> None:
        """A decision has taken a turn: what it leaves behind when it ends, and what people must hear of."""
        st = run.st
        self._handled(live, run, facts, batch)
        if st.status < COMPLETED or was >= COMPLETED:
            return
        if st.status not in _BADLY:
            if st.reopened:
                batch.letter_gone.append((live.id,))  # somebody has mended it
            return
        mask = mask_of(self.tenant(live.tenant), run)
        policy = dead_letter_policy(run.net)
        if policy.enabled:
            self._letter(live, run, policy, mask, now, batch)
        self._ended(live, run, mask, batch)

    # -- the letter ----------------------------------------------------------------------------------------------------

    def _letter(self, live: LiveRun, run: Run, policy: DeadLetterPolicy, mask: Mask, now: int, batch: Batch) -> None:
        st, net = run.st, run.net.net
        failure = st.failure or Failure("UNKNOWN", "system")
        wanted = policy.include or LetterContents()
        history = list(self._history(live, run, batch))[-LONGEST_HISTORY:]
        body: dict[str, Any] = {}
        if wanted.error:
            body["error"] = _error(run, failure, history, now)
        if wanted.input:
            body["input"] = st.input
        if wanted.context_snapshot:
            body["context_snapshot"] = snapshot(run, {line["node_id"]: line["status"] for line in history})
        if wanted.execution_history:
            body["execution_history"] = history
        batch.letter.append((
            live.tenant, live.id, net.name, net.declares.version, policy.queue_name, STATUS[st.status], failure.code,
            failure.category, _pack(mask(body)), 0, now, min(now + policy.retention_days * DAY_MS, LAST_MOMENT),
        ))  # fmt: skip
        self._alert(live, run, policy, now, batch)

    def _history(self, live: LiveRun, run: Run, batch: Batch) -> Iterator[dict[str, Any]]:
        """Every execution of an author's node that has ended, in order; the last ones are in this batch."""
        past = ExecutionLog(run.net)
        for turn in self.store.journal(live.no):
            yield from past.turn(F.decode_facts(turn.body), turn.at)
        for no, _, _, at, body in batch.journal:
            if no == live.no:
                yield from past.turn(F.decode_facts(bytes(body)), at)

    # -- who hears of it -----------------------------------------------------------------------------------------------

    def _alert(self, live: LiveRun, run: Run, policy: DeadLetterPolicy, now: int, batch: Batch) -> None:
        """W-7.5.3: more than so many in the window, told once in a window."""
        alerts = policy.alerts or LetterAlerts()
        queue, window = policy.queue_name, min(alerts.window_minutes * 60_000, now)
        fresh = sum(1 for row in batch.letter if row[0] == live.tenant and row[4] == queue)
        count = self.store.letters_since(live.tenant, queue, now - window) + fresh
        key = "alert:" + hashlib.sha256(f"{live.tenant}/{queue}".encode()).hexdigest()
        if count <= alerts.threshold or any(row[0] == key for row in batch.memo):
            return
        if self.store.memo(key, now) is not None:
            return
        batch.memo.append((key, _pack(now), now + window))
        notice = Notice(
            key=f"{live.tenant}/dlq/{queue}/{now}", tenant=live.tenant, run=live.id,
            subject=f"{count} dead letters in «{queue}»",
            text=f"{count} runs have ended badly within {alerts.window_minutes} minutes; more than {alerts.threshold} "
            f"are told of. The last one is {live.id} of {run.net.net.name}.",
            channels=list(alerts.channels) or None, escalates=True,
        )  # fmt: skip
        self.notify(notice, live.no, run.st.n, batch)

    def _ended(self, live: LiveRun, run: Run, mask: Mask, batch: Batch) -> None:
        st = run.st
        failure = st.failure or Failure("UNKNOWN", "system")
        name, ending = run.net.net.name, STATUS[st.status].lower()
        at = f" at «{_author(run.net, failure.node)}»" if failure.node else ""
        notice = Notice(
            # a run that is revived and ends badly again is told of again
            key=f"{live.tenant}/{live.id}/ended/{st.reopened}", tenant=live.tenant, run=live.id,
            subject=mask(f"{name} {ending}: {failure.code}"),
            text=mask(f"Run {live.id} of {name} {ending}{at}: {failure.code} ({failure.category}) {failure.message}"),
            escalates=failure.category in OUTAGE,
        )  # fmt: skip
        self.notify(notice, live.no, st.n, batch)

    def _handled(self, live: LiveRun, run: Run, facts: list[F.Fact], batch: Batch) -> None:
        """W-7.4.2: a fallback, and a business failure that a way of the document takes, are told, too."""
        for f in facts:
            if f[0] != F.SETTLED or f[10] is None or f[3] not in ("fallback", "failed"):
                continue
            failure: Failure = f[10]
            if f[3] == "failed" and failure.category != "business":
                continue
            mask = mask_of(self.tenant(live.tenant), run)
            name, node = run.net.net.name, _author(run.net, run.net.nodes[f[4]].id)
            what = "its fallback takes over" if f[3] == "fallback" else "the document handles it"
            notice = Notice(
                key=f"{live.tenant}/{live.id}/handled/{f[1]}", tenant=live.tenant, run=live.id,
                subject=mask(f"{name}: «{node}» failed: {failure.code}"),
                text=mask(f"Run {live.id} of {name}: «{node}» failed, and {what}: {failure.code} {failure.message}"),
            )  # fmt: skip
            self.notify(notice, live.no, run.st.n, batch)


def _author(net: Compiled, node: str) -> str:
    """The node as its author has called it."""
    known = net.by_id.get(node)
    return author(known) if known is not None else node


def _error(run: Run, failure: Failure, history: list[dict[str, Any]], now: int) -> dict[str, Any]:
    """W-7.1.2."""
    node = _author(run.net, failure.node)
    tries = [line["attempt"] for line in history if line["node_id"] == node]
    return {
        "code": failure.code, "category": failure.category, "message": failure.message, "node_id": node,
        "context": failure.detail, "timestamp": now, "retry_count": max(tries, default=1) - 1,
    }  # fmt: skip


def snapshot(run: Run, ended: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What the run knows: variables, outputs by name, and how the author's nodes have ended, as far as it remembers.
    `ended` tells more about that than the state does."""
    st, net = run.st, run.net
    nodes: dict[str, dict[str, Any]] = {}
    for node in net.nodes:
        if is_synthetic(node) or is_companion(node) or node.id != author(node):
            continue
        record = st.records.get(node.no)
        named = [st.names[name] for name in node.spec.out if name in st.names]
        status = (ended or {}).get(node.id) or (_word(SETTLED[record.status]) if record is not None else None)
        if status is not None:
            output = record.output if record is not None else named[0] if named else None
            nodes[node.id] = {"status": status, "output": output}
    inner = inner_names(net)
    outputs = {name: value for name, value in st.names.items() if name not in inner}
    return {"variables": {**net.net.declares.variables, **st.vars}, "outputs": outputs, "nodes": nodes}


class ExecutionLog:
    """Reads firings as executions of the author's nodes: one line for all the parts of one."""

    def __init__(self, net: Compiled) -> None:
        self.net = net
        self.firings: dict[int, tuple[CNode, Any, bool]] = {}  # those that may still end: node, execution, undoes
        self.begun: dict[Any, tuple[int, int]] = {}  # executions of which a part is done: when they began, attempts

    def turn(self, facts: list[Any], at: int) -> Iterator[dict[str, Any]]:
        for f in facts:
            if f[0] in (F.FIRED, F.FIRED_VIA):
                self._fired(f, undoes=f[0] == F.FIRED and f[9] >= 0)
            elif f[0] == F.PASSED and self._fired(f):
                yield from self._ended(f[1], "done", f[10], 1, at, at)
            elif f[0] == F.SETTLED and f[1] in self.firings:
                yield from self._ended(f[1], SETTLED[f[2]], f[3], f[5], f[6], at, f[10])
            elif f[0] == F.SWEPT:
                for no in f[3]:
                    if no in self.firings:
                        yield from self._ended(no, SETTLED[INTERRUPTED], None, 1, at, at)
            elif f[0] == F.MOVED and f[1] in STATUS[COMPLETED:]:
                yield from self._left(at)

    def _fired(self, f: Any, *, undoes: bool = False) -> bool:
        if f[2] >= len(self.net.nodes):
            return False
        node = self.net.nodes[f[2]]
        if is_synthetic(node) or is_companion(node):
            return False
        self.firings[f[1]] = (node, (stem(node), f[3], f[4], undoes), undoes)
        return True

    def _ended(
        self, no: int, status: str, port: str | None, attempt: int, started: int, at: int, failure: Any = None
    ) -> Iterator[dict[str, Any]]:
        node, key, undoes = self.firings[no]
        if status in ("done", "skipped"):  # the others may be revived
            del self.firings[no]
        began, attempts = self.begun.pop(key, (started, 1))
        attempt = max(attempt, attempts)
        if goes_on(node, status, port or "done", undoes=undoes):
            self.begun[key] = (began, attempt)
            return
        yield self._line(node, status, attempt, began, at, failure)

    def _left(self, at: int) -> Iterator[dict[str, Any]]:
        """Executions of which a part is done, and whose next part the run's end has kept from beginning."""
        for key, (began, attempt) in self.begun.items():
            node = self.net.by_id.get(key[0])
            if node is not None:
                yield self._line(node, SETTLED[INTERRUPTED], attempt, began, at)
        self.begun.clear()

    def _line(self, node: CNode, status: str, attempt: int, began: int, at: int, failure: Any = None) -> dict[str, Any]:
        drawn = self.net.by_id.get(author(node), node)
        return {
            "node_id": author(node), "type": drawn.spec.type, "status": _word(status), "attempt": attempt,
            "started_at": began, "completed_at": at, "error": _short(failure),
        }  # fmt: skip


def _short(failure: Any) -> dict[str, Any] | None:
    return None if failure is None else dict(zip(("code", "category", "message"), failure, strict=False))
