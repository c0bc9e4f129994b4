"""Rows of executions, of their stage logs, and of what they have used (F-1.3, F-1.4, F-X.35), from a run's facts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.dialects.contract import ProjectedRun
from penstock.dialects.pipeline.execution_fold import BADLY, ENDED, ExecutionFold
from penstock.dialects.pipeline.stage_rows import PEAK, SUMMED, LargeTexts, error_text, json_text, moment
from penstock.dialects.pipeline.words import TRIGGERS
from penstock.kernel import fact as F
from penstock.kernel.state import Firing
from penstock.lang.pipeline.keys import number_of
from penstock.store.run_store import Batch

#: attempts that a row tells of: the first ones and the newest
_MOST_ATTEMPTS = 20


class ExecutionRows:
    """Of one run, turn by turn; whoever loads a run again lets them hear the journal first."""

    def __init__(self, of: ProjectedRun) -> None:
        self.of, self.fold = of, ExecutionFold(of.net, of.resolve)
        self.organization: int | None = None
        self.trace = of.id
        self.large = LargeTexts(of.tenant, of.id)

    @property
    def begun(self) -> bool:
        """It has done something that a run which only waits for its first turn has not."""
        return self.fold.began is not None or self.fold.cancelled_at is not None

    def settled(self, fact: Any, firing: Firing, at: int, batch: Batch) -> None:
        """The fact that settles it tells everything."""

    def turn(self, facts: Iterable[Any], first: int, at: int, batch: Batch) -> None:
        facts = list(facts)
        fold, was, self.large.of_turn = self.fold, self.fold.status, {}
        started = next((f for f in facts if f[0] == F.STARTED), None)
        if started is not None:
            self._started(started, at, batch)
        fold.hear(facts, first, at)
        if fold.changed:
            batch.execution_moved.append(self._moved_row(at))
        where = (self.of.no, self.of.id, self.of.tenant, self.organization, self.trace, self.large)
        batch.stage_log += [row.columns(*where) for row in fold.fresh.values()]
        self._add_usage(was, started is not None, batch)

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
            self.organization, of.parent, kind if kind in TRIGGERS else "MANUAL", self.fold.status, of.priority, None,
            len(self.fold.stages), 0, self._text(given.get("params"), "input"), None, self._context(), None,
            None, None, 0, 0, None, None, None, of.key, self.trace, None, None, None, created, created, None, None,
        ))  # fmt: skip

    def _moved_row(self, at: int) -> tuple[Any, ...]:
        fold = self.fold
        failure = fold.failure
        running = [row.stage for row in fold.open.values()]
        done = [row for row in fold.newest.values() if row.status == "COMPLETED"]
        current = min(running, key=lambda stage: stage.place, default=None)
        took = None if fold.ended is None or fold.began is None else fold.ended - fold.began
        queued = None if fold.began is None else {"queue_ms": fold.began - (self.of.created_at or fold.began)}
        return (
            fold.status, None if current is None else current.id, len(done), self._results(), self._context(),
            None if failure is None else error_text(failure.message),
            None if failure is None else failure.code[:50], fold.blamed, fold.retry_count, fold.stage_retries,
            fold.worker, json_text(fold.usage), json_text(queued),
            None if fold.began is None else moment(fold.began), None if fold.ended is None else moment(fold.ended),
            took, moment(at), None if fold.cancelled_at is None else moment(fold.cancelled_at),
            None if fold.next_at is None else moment(fold.next_at), self.of.no,
        )  # fmt: skip

    def _results(self) -> str | None:
        fold = self.fold
        if fold.status not in ENDED:
            return None
        rows = sorted(fold.newest.values(), key=lambda row: row.stage.place)
        made = {row.stage.code: {"output_ref": row.output_ref, **row.context} for row in rows if row.output_ref}
        warned = [
            {"stage": row.stage.code, "status": row.status, "code": row.error.code}
            for row in fold.warned()
            if row.error is not None
        ]
        results = {"stages": made, **({"warnings": warned} if warned else {})}
        return self._text(results, "output")

    def _context(self) -> str | None:
        """F-X.4, F-X.7: the definition it began with is kept in the store under the hash of its net."""
        version = {"version": self.fold.known.get("version", 1), "$ref": f"net:{self.of.net.hash}"}
        attempts = self._failed_attempts()
        return self._text({"definition_snapshot": version, **({"attempts": attempts} if attempts else {})}, "trace")

    def _failed_attempts(self) -> list[dict[str, Any]]:
        failed = [
            {
                "attempt": each.number, "ended_at": moment(each.ended),
                "error_code": None if each.failure is None else each.failure.code, "error_stage_id": each.blamed,
            }
            for each in self.fold.attempts
            if each.ended is not None and each.status in BADLY
        ]  # fmt: skip
        del failed[1:-_MOST_ATTEMPTS]
        return failed

    def _text(self, value: Any, name: str) -> str | None:
        """F-X.16: of the whole, beside what its stages have made."""
        return self.large.row_text(value, f"execution/{self.fold.attempt}/{name}")

    def _add_usage(self, was: str, started: bool, batch: Batch) -> None:
        """What this turn adds to the day on which the execution was asked for."""
        completed = (self.fold.status == "COMPLETED") - (was == "COMPLETED")
        failed = (self.fold.status in BADLY) - (was in BADLY)
        if started or completed or failed or self.fold.used:
            used = self.fold.used
            wall, cpu, into, out, tokens = (used.get(name, 0) for name in SUMMED)
            day = moment(self.of.created_at)[:10]
            batch.usage.append((
                self.of.tenant, day, int(started), completed, failed, wall, cpu, used.get(PEAK, 0), into, out, tokens,
            ))  # fmt: skip
