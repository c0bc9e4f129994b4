"""The execution trace of a run (W-10.2): one document for whoever collects traces. Summaries hold no secret."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from penstock.app.runs.queries import Queries
from penstock.app.runs.run_view import FiringView
from penstock.app.runs.summary import moment
from penstock.app.runs.timeline.timeline import Timeline
from penstock.dialects.net_nodes import is_companion
from penstock.errors import SecretSealed
from penstock.executors.parts.network.trace_context import hexed, trace_id
from penstock.executors.parts.secrets import Secrets
from penstock.host.secrets import places_of
from penstock.host.tenants import StoredTenant
from penstock.kernel.fact_lines import FactLine, firing_of
from penstock.kernel.state import COMPLETED, State
from penstock.store.run_store import RunRow

_LONGEST = 200  # characters of a value in a summary
_MOST = 50  # values of a summary, errors of a run
_MOST_ACTIONS = 1000
_MARKED = re.compile(r"§[0-9a-f]{16}§([^§]+)§[0-9a-f]{16}§")
_PRIVATE = re.compile(r"pass(word|wd)|secret|token|api_?key|authori[sz]ation|credential", re.IGNORECASE)
#: W-10.2.2: what is taken by a person is a notification.
_NOTIFIES = frozenset({"slack", "email", "sms"})


class TraceNode(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One execution of an author's node. Without `duration_ms` it goes on."""

    node_id: str
    type: str
    status: str
    duration_ms: int | None = None
    retry_count: int
    model: str | None = None
    tokens_used: int | None = None


class TraceError(msgspec.Struct, kw_only=True):
    node_id: str | None
    code: str
    category: str
    message: str
    at: str


class OutputSummary(msgspec.Struct, kw_only=True):
    decision: str | None
    actions_taken: list[str]


class TraceTrigger(msgspec.Struct, kw_only=True):
    type: str
    source: str | None


class TracedExecution(msgspec.Struct, kw_only=True):
    workflow_id: str
    instance_id: str
    version: int | None
    tenant_id: str
    started_at: str
    completed_at: str | None
    duration_ms: int | None
    status: str
    trigger: TraceTrigger
    input_summary: dict[str, Any]
    output_summary: OutputSummary
    nodes_executed: list[TraceNode]
    errors: list[TraceError]
    checkpoints: int


class Trace(msgspec.Struct, kw_only=True):
    """W3C-style ids: 32 and 16 hex digits, the same whenever they are asked for."""

    trace_id: str
    span_id: str
    workflow_execution: TracedExecution


def trace(door: Queries, run: str) -> Trace:
    """Of any run, also while it goes on. Costs one fold of its journal."""
    return trace_page(door, run, 0, None)[0]


def trace_page(door: Queries, run: str, first: int, most: int | None) -> tuple[Trace, int | None]:
    """The same with so many of its executed nodes at most, from a place on; and the place of the next, None at the
    end."""
    timeline = door.timeline(run)
    trace_fold, reading = _TraceFold(door, timeline), timeline.reading
    row, st, net = reading.row, reading.state, reading.net
    ended, nodes = row.status >= COMPLETED, trace_fold.fold.shown()
    page = nodes[first:] if most is None else nodes[first : first + most]
    execution = TracedExecution(
        workflow_id=net.net.name, instance_id=row.id, version=net.net.declares.version or None, tenant_id=row.tenant,
        started_at=moment(row.created_at) or "", completed_at=moment(row.updated_at) if ended else None,
        duration_ms=row.updated_at - row.created_at if ended else None, status=trace_fold.fold.view().status,
        trigger=_trigger(st, row), input_summary=_summary(st.input, trace_fold.mask),
        output_summary=OutputSummary(decision=trace_fold.decision, actions_taken=trace_fold.actions[:_MOST_ACTIONS]),
        nodes_executed=trace_fold.nodes(page), errors=trace_fold.errors[:_MOST], checkpoints=_checkpoints(door, row),
    )  # fmt: skip
    made = Trace(
        trace_id=trace_id(st.trace or row.id), span_id=hexed(f"{row.tenant}/{row.id}", 16), workflow_execution=execution
    )
    return made, first + len(page) if first + len(page) < len(nodes) else None


class _TraceFold:
    """What the lines of a run tell beside its state."""

    def __init__(self, door: Queries, timeline: Timeline) -> None:
        self.mask = mask_of(door)
        self.metas: dict[str, dict[str, Any]] = {}  # by firing
        self.decision: str | None = None
        self.actions: list[str] = []
        self.errors: list[TraceError] = []
        self.resolve, self.net = timeline.reading.resolve, timeline.reading.net
        for turn in timeline.turns():
            self.net = turn.net
            for line in turn.lines:
                if line.fact == "settled":
                    self._settled(line)
        self.fold = timeline.reading.fold
        failure = self.fold.view().failure
        if failure is not None and failure["code"] not in [error.code for error in self.errors]:
            self._failed(failure, self.fold.attempt_history.moved_at)

    def _settled(self, line: FactLine) -> None:
        node, data = self.net.by_id[line.node], line.data
        if is_companion(node):
            return
        meta = data.get("meta") or {}
        if meta:
            self.metas[firing_of(line)] = meta
        if "failure" in data:
            self._failed(data["failure"], line.at)
        if data["status"] != "done":
            return
        executor = node.effect.executor if node.effect is not None else ""
        if executor == "judgment" or node.spec.type == "REVIEW":
            output = self.resolve(data.get("output"))
            verdict = output.get("decision") if isinstance(output, dict) else None
            self.decision = str(verdict) if isinstance(verdict, str) else self.decision
        elif executor == "notify" and isinstance(channel := meta.get("channel"), str):
            self.actions.append(f"{channel}_notification" if channel in _NOTIFIES else channel)

    def _failed(self, failure: dict[str, Any], at: int) -> None:
        node = self.net.by_id.get(str(failure.get("node") or ""))
        message = str(self.mask(failure.get("message", "")))[:_LONGEST]
        error = TraceError(
            node_id=(node.spec.origin or node.id) if node is not None else failure.get("node"),
            code=failure["code"], category=failure.get("category", ""), message=message, at=moment(at) or "",
        )  # fmt: skip
        if error not in self.errors[-1:]:  # what a branch has failed with its region fails with, too
            self.errors.append(error)

    def nodes(self, shown: list[tuple[int, FiringView]]) -> list[TraceNode]:
        """In the order in which they began."""
        return [self._node(firing, self.metas.get(self.fold.ids[n], {})) for n, firing in shown]

    def _node(self, firing: FiringView, meta: dict[str, Any]) -> TraceNode:
        used = meta.get("tokens_used")
        if used is None and isinstance(usage := meta.get("token_usage"), dict):
            used = usage.get("total") or usage.get("total_tokens")
        model = meta.get("model")
        return TraceNode(
            node_id=firing.node, type=firing.type, status=firing.status, retry_count=max(firing.attempt - 1, 0),
            duration_ms=firing.ended_at - firing.started_at if firing.ended_at is not None else None,
            model=model if isinstance(model, str) else None, tokens_used=used if isinstance(used, int) else None,
        )  # fmt: skip


def _trigger(st: State, row: RunRow) -> TraceTrigger:
    """Started by hand where nothing else is said; a called run names its caller."""
    option = st.options.get("trigger")
    if not isinstance(option, dict):
        return TraceTrigger(type="call" if row.parent else "manual", source=row.parent or None)
    source = next((option[name] for name in ("source", "cron", "replay_of", "id") if option.get(name)), None)
    return TraceTrigger(type=str(option.get("type", "manual")), source=None if source is None else str(source))


def _summary(value: Any, mask: Callable[[Any], Any]) -> dict[str, Any]:
    """W-10.2.2: scalars only, cut and masked."""
    summary: dict[str, Any] = {}
    for name, part in value.items() if isinstance(value, dict) else ():
        if len(summary) == _MOST:
            break
        if _PRIVATE.search(str(name)):
            summary[str(name)] = "***"
        elif isinstance(part, str):
            text = str(mask(part))
            summary[str(name)] = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
        elif part is None or isinstance(part, bool | int | float):
            summary[str(name)] = part
    return summary


def mask_of(door: Queries) -> Callable[[Any], Any]:
    """Known values of the tenant's secrets become ***, and marks of secrets the references that they are."""
    kept = StoredTenant(door.tenant, door.store, places_of(door.settings), door.now)
    values = {name: value for name in kept.each("secret") if (value := _value(kept, name))}
    secrets = Secrets(values)

    def mask(value: Any) -> Any:
        text = _MARKED.sub(r"${secrets.\1}", value) if isinstance(value, str) else value
        return secrets.scrub(text) if values else text

    return mask


def _value(kept: StoredTenant, name: str) -> str | None:
    """One that cannot be opened here cannot have been used here."""
    try:
        return kept.secret(name)
    except SecretSealed:
        return None


def _checkpoints(door: Queries, row: RunRow) -> int:
    """How many the document has asked for so far; they are numbered from 1."""
    last = door.store.last_checkpoint(row.id)
    return last[0] if last is not None else 0
