"""Rows of executions, of their stage logs, and what they have used (F-1.3, F-1.4, F-X.35), from the facts of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from penstock.dialects.contract import ProjectedRun
from penstock.dialects.pipeline.about import about
from penstock.dialects.pipeline.stage_rows import (
    PEAK,
    SUMMED,
    StageOf,
    StageRow,
    add_usage,
    error_text,
    failure_of,
    json_text,
    moment,
    usage_of,
)
from penstock.dialects.pipeline.words import TRIGGERS, execution_status, stage_status
from penstock.kernel import fact as F
from penstock.kernel.failure import Failure
from penstock.kernel.state import DONE, Firing
from penstock.lang.pipeline.keys import number_of
from penstock.net.compiled import Compiled
from penstock.store.run_store import Batch

_UNITS = ("SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED")
_ENDED = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT")
_BADLY = ("FAILED", "TIMEOUT")
#: attempts that a row tells of: the first ones and the newest
_MOST_ATTEMPTS = 20


@lru_cache(1024)
def stages_of(net: Compiled) -> tuple[Mapping[int, StageOf], Mapping[int, StageOf]]:
    """By the number of their node: the stages, and those that a condition passes over."""
    code = net.net.name
    known = [str(stage["code"]) for stage in about(net.net).get("stages", ())]
    by_code = {each: StageOf(each, number_of(code, each), place) for place, each in enumerate(known)}
    stages = {node.no: by_code[node.id] for node in net.nodes if node.id in by_code}
    gates = {
        node.no: by_code[node.id[:-3]] for node in net.nodes if node.id.endswith(".if") and node.id[:-3] in by_code
    }
    return stages, gates


class ExecutionRows:
    """Of one run, turn by turn. What it has heard so far is all that it knows: whoever loads a run again lets it hear
    the journal first."""

    def __init__(self, of: ProjectedRun) -> None:
        self.of, self.known = of, about(of.net.net)
        self.stages, self.gates = stages_of(of.net)
        self.firings: dict[int, StageOf] = {}
        self.open: dict[int, StageRow] = {}
        self.newest: dict[str, StageRow] = {}
        self.attempts: list[dict[str, Any]] = []
        self.attempt, self.status = 1, "PENDING"
        self.organization: int | None = None
        self.trace = of.id
        self.began: int | None = None
        self.ended: int | None = None
        self.failure: Failure | None = None
        self.blamed: int | None = None
        self.retry_count = self.stage_retries = 0
        self.worker: str | None = None
        self.usage: dict[str, int] = {}
        self.cancelled_at: int | None = None
        self.next_at: int | None = None
        self.made = self.changed = False
        self.fresh: dict[int, StageRow] = {}  # logs of this turn, by the number of their fact
        self.used: dict[str, int] = {}  # of this turn

    @property
    def begun(self) -> bool:
        """It has done something that a run which only waits for its first turn has not."""
        return self.began is not None or self.cancelled_at is not None

    def settled(self, fact: Any, firing: Firing, at: int, batch: Batch) -> None:
        """The fact that settles it tells everything."""

    def turn(self, facts: Iterable[Any], first: int, at: int, batch: Batch) -> None:
        was, self.changed, self.fresh, self.used = self.status, False, {}, {}
        started = False
        for seq, f in enumerate(facts, first):
            hear = _HEARD.get(f[0])
            if hear is not None:
                hear(self, f, seq, at)
            elif f[0] == F.STARTED:
                self._started(f, at, batch)
                started = True
        if self.changed:
            batch.execution_moved.append(self._moved_row(at))
        where = (self.of.no, self.of.id, self.of.tenant, self.organization, self.trace)
        batch.stage_log += [row.columns(*where) for row in self.fresh.values()]
        self._add_usage(was, started, batch)

    # -- rows ----------------------------------------------------------------------------------------------------------

    def _started(self, f: Any, at: int, batch: Batch) -> None:
        of = self.of
        _, _run, _tenant, _net, _seed, trace, _parent, given, options, *_ = f
        given = of.resolve(given) if given is not None else {}
        given = given if isinstance(given, dict) else {}
        options = options if isinstance(options, dict) else {}
        organization = given.get("organizationId", options.get("organization_id"))
        self.organization = organization if type(organization) is int else None
        self.trace = str(trace or of.id)[:64]
        trigger = options.get("trigger")
        kind = str(trigger.get("type", "")) if isinstance(trigger, dict) else ""
        file = given.get("file")
        file_id = file.get("id") if isinstance(file, dict) else None
        created = moment(of.created_at or at)
        batch.execution_new.append((
            of.no, of.id, number_of(of.net.net.name), file_id if type(file_id) is int else None, of.tenant,
            self.organization, of.parent, kind if kind in TRIGGERS else "MANUAL", self.status, of.priority, None,
            len(self.stages), 0, json_text(given.get("params"), f"runs/{of.id}/input"), None, self._context(), None,
            None, None, 0, 0, None, None, None, of.key, self.trace, None, None, None, created, created, None, None,
        ))  # fmt: skip

    def _moved_row(self, at: int) -> tuple[Any, ...]:
        failure = self.failure
        running = [row.stage for row in self.open.values()]
        done = [row for row in self.newest.values() if row.status == "COMPLETED"]
        current = min(running, key=lambda stage: stage.place, default=None)
        took = None if self.ended is None or self.began is None else self.ended - self.began
        queued = None if self.began is None else {"queue_ms": self.began - (self.of.created_at or self.began)}
        return (
            self.status, None if current is None else current.id, len(done), self._results(), self._context(),
            None if failure is None else error_text(failure.message),
            None if failure is None else failure.code[:50], self.blamed, self.retry_count, self.stage_retries,
            self.worker, json_text(self.usage), json_text(queued),
            None if self.began is None else moment(self.began), None if self.ended is None else moment(self.ended),
            took, moment(at), None if self.cancelled_at is None else moment(self.cancelled_at),
            None if self.next_at is None else moment(self.next_at), self.of.no,
        )  # fmt: skip

    def _results(self) -> str | None:
        if self.status not in _ENDED:
            return None
        rows = sorted(self.newest.values(), key=lambda row: row.stage.place)
        made = {row.stage.code: {"output_ref": row.output_ref, **row.context} for row in rows if row.output_ref}
        warned = [
            {"stage": row.stage.code, "status": row.status, "code": row.error.code}
            for row in rows
            if row.error is not None and row.status != "COMPLETED" and row.stage.id != self.blamed
        ]
        results = {"stages": made, **({"warnings": warned} if warned else {})}
        return json_text(results, f"tenants/{self.of.tenant}/executions/{self.of.id}/")

    def _context(self) -> str | None:
        """F-X.4, F-X.7: the definition it began with is kept in the store under the hash of its net."""
        version = {"version": self.known.get("version", 1), "$ref": f"net:{self.of.net.hash}"}
        context = {"definition_snapshot": version, **({"attempts": self.attempts} if self.attempts else {})}
        return json_text(context, f"runs/{self.of.id}")

    def _add_usage(self, was: str, started: bool, batch: Batch) -> None:
        """What this turn adds to the day on which the execution was asked for."""
        completed = (self.status == "COMPLETED") - (was == "COMPLETED")
        failed = (self.status in _BADLY) - (was in _BADLY)
        if started or completed or failed or self.used:
            used = self.used
            wall, cpu, into, out, tokens = (used.get(name, 0) for name in SUMMED)
            day = moment(self.of.created_at)[:10]
            batch.usage.append((
                self.of.tenant, day, int(started), completed, failed, wall, cpu, used.get(PEAK, 0), into, out, tokens,
            ))  # fmt: skip

    # -- facts ---------------------------------------------------------------------------------------------------------

    def _fired(self, f: Any, seq: int, at: int) -> None:
        stage = self.stages.get(f[2])
        if stage is not None:
            self.firings[f[1]] = stage
            self._open(f[1], stage, seq, at)

    def _revived(self, f: Any, seq: int, at: int) -> None:
        stage = self.firings.get(f[1])
        if stage is not None and f[1] not in self.open:
            self._open(f[1], stage, seq, at)

    def _open(self, firing: int, stage: StageOf, seq: int, at: int) -> None:
        row = StageRow(stage, seq, self.attempt, at)
        self.open[firing] = self.newest[stage.code] = row
        self._touch(row)

    def _passed(self, f: Any, seq: int, at: int) -> None:
        stage = self.gates.get(f[2])
        if stage is not None and f[10] == "skip":
            row = StageRow(stage, seq, self.attempt, at, "SKIPPED", at)
            self.newest[stage.code] = row
            self._touch(row)

    def _asked(self, f: Any, seq: int, at: int) -> None:
        row = self.open.get(f[1])
        if row is not None and row.status == "STARTED":
            row.status = "RUNNING"
            self._touch(row)

    def _attempt_failed(self, f: Any, seq: int, at: int) -> None:
        row = self.open.get(f[1])
        if row is not None:
            row.error = failure_of(f[3])
            row.retries += 1
            self.stage_retries += 1
            self._use(row, usage_of(row.error))
            self._touch(row)

    def _settled(self, f: Any, seq: int, at: int) -> None:
        _, firing, status, _port, _node, _attempt, _started, body, _type, _meta, failure, *_ = f
        row = self.open.pop(firing, None)
        if row is None:
            if f[4] in self.gates and f[3] == "skip":
                self._passed((F.PASSED, firing, f[4], 0, 0, 0, 0, 0, 0, None, "skip"), seq, at)
            return
        row.error = error = failure_of(failure)
        unit = "FAILED" if error is not None and status == DONE else _UNITS[status]
        row.status = stage_status(unit, None if error is None else error.category)
        row.ended = at
        if row.status == "COMPLETED":
            answer = self.of.resolve(body) if body is not None else None
            row.answered(answer)
            usage = answer.get("usage") if isinstance(answer, dict) else None
            self.worker = _worker(answer) or self.worker
            self._count(usage)
        else:
            self.worker = _worker(error.detail if error is not None else None) or self.worker
            self._use(row, usage_of(error))
        self._touch(row)

    def _swept(self, f: Any, seq: int, at: int) -> None:
        for firing in f[3]:
            row = self.open.pop(firing, None)
            if row is not None:
                row.status, row.ended = stage_status("CANCELLED", None), at
                self._touch(row)

    def _moved(self, f: Any, seq: int, at: int) -> None:
        to, event, failure = f[1], f[2], failure_of(f[3])
        if failure is not None:
            self.failure, self.blamed = failure, self._stage_blamed(failure)
        category = None if self.failure is None else self.failure.category
        self.status = execution_status(to, category, int(self.known.get("max_retries", 0)))
        self.next_at = None
        if to == "RUNNING" and self.began is None:
            self.began = at
        if event == "run_retry" or self.status in _BADLY:
            self._end_attempt(at)
        if event == "run_retry":
            self.retry_count += 1
        elif event in ("operator_retry", "retry_queued"):  # F-S.5, F-X.7: nothing is wrong any more, from 0
            self.failure, self.blamed, self.retry_count = None, None, 0
        if self.status == "COMPLETED":
            self.failure = self.blamed = None
        self.ended = at if self.status in _ENDED else None
        self.changed = True

    def _reopened(self, f: Any, seq: int, at: int) -> None:
        self.attempt += 1

    def _draining(self, f: Any, seq: int, at: int) -> None:
        if f[1] == "boundary":
            self.cancelled_at, self.changed = at, True

    def _timer(self, f: Any, seq: int, at: int) -> None:
        if f[3] == "run_retry":
            self.next_at, self.changed = f[2], True

    # -- helpers -------------------------------------------------------------------------------------------------------

    def _touch(self, row: StageRow) -> None:
        self.fresh[row.seq] = row
        self.changed = True

    def _use(self, row: StageRow, usage: Any) -> None:
        row.use(usage)
        self._count(usage)

    def _count(self, usage: Any) -> None:
        add_usage(self.used, add_usage(self.usage, usage))

    def _stage_blamed(self, failure: Failure) -> int | None:
        for stage in self.stages.values():
            if stage.code == failure.node:
                return stage.id
        failed = [row for row in self.newest.values() if row.status in _BADLY]
        return max(failed, key=lambda row: row.seq).stage.id if failed else None

    def _end_attempt(self, at: int) -> None:
        if any(each["attempt"] == self.attempt for each in self.attempts):
            return
        failure = self.failure
        self.attempts.append({
            "attempt": self.attempt, "ended_at": moment(at), "error_code": failure.code if failure else None,
            "error_stage_id": self.blamed,
        })  # fmt: skip
        del self.attempts[1:-_MOST_ATTEMPTS]


def _worker(answer: Any) -> str | None:
    worker = answer.get("worker_id") if isinstance(answer, dict) else None
    return worker[:100] if isinstance(worker, str) else None


_HEARD: dict[int, Callable[[ExecutionRows, Any, int, int], None]] = {
    F.FIRED: ExecutionRows._fired, F.FIRED_VIA: ExecutionRows._fired, F.PASSED: ExecutionRows._passed,
    F.REVIVED: ExecutionRows._revived, F.ASKED: ExecutionRows._asked, F.ATTEMPT_FAILED: ExecutionRows._attempt_failed,
    F.SETTLED: ExecutionRows._settled, F.SWEPT: ExecutionRows._swept, F.MOVED: ExecutionRows._moved,
    F.REOPENED: ExecutionRows._reopened, F.DRAINING: ExecutionRows._draining, F.TIMER_SET: ExecutionRows._timer,
}  # fmt: skip
