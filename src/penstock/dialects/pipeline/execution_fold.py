"""An execution as its facts tell it: status, attempts, blame, warnings, and the logs of its stages (F-1.3, F-1.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from penstock.dialects.pipeline.definition_snapshot import definition_snapshot
from penstock.dialects.pipeline.stage_rows import StageOf, StageRow, add_usage, failure_of, usage_of
from penstock.dialects.pipeline.words import execution_status, stage_status
from penstock.kernel import fact as F
from penstock.kernel.failure import Failure
from penstock.kernel.state import DONE
from penstock.lang.pipeline.keys import number_of
from penstock.net.compiled import Compiled

ENDED = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT")
BADLY = ("FAILED", "TIMEOUT")
#: how an attempt began, when it is not the first: by itself, or by hand
RETRY, RESUME = "RETRY", "RESUME"
_UNITS = ("SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED")
_BEGINS = frozenset({"start", "retry_allowed", "operator_retry"})
_ENDS = frozenset({"PENDING", "COMPLETED", "FAILED", "CANCELLED", "COMPENSATED"})


class Attempt(msgspec.Struct):
    """One attempt of an execution (F-X.7). `trigger` is empty for the first: it has the execution's own. `blamed` is
    the number of the stage that it failed at."""

    number: int
    trigger: str
    retries: int
    began: int
    status: str = "RUNNING"
    ended: int | None = None
    failure: Failure | None = None
    blamed: int | None = None


@lru_cache(1024)
def stages_of(net: Compiled) -> tuple[Mapping[int, StageOf], Mapping[int, StageOf]]:
    """By the number of their node: the stages, and those that a condition passes over."""
    code = net.net.name
    known = [str(stage["code"]) for stage in definition_snapshot(net.net).get("stages", ())]
    by_code = {each: StageOf(each, number_of(code, each), place) for place, each in enumerate(known)}
    stages = {node.no: by_code[node.id] for node in net.nodes if node.id in by_code}
    gates = {
        node.no: by_code[node.id[:-3]] for node in net.nodes if node.id.endswith(".if") and node.id[:-3] in by_code
    }
    return stages, gates


class ExecutionFold:
    """Of one run, turn by turn. What it has heard so far is all that it knows: whoever loads a run again lets it hear
    the journal first. `fresh`, `answers` and `used` are those of the last turn."""

    def __init__(self, net: Compiled, resolve: Callable[[Any], Any]) -> None:
        self.resolve = resolve
        self.follow(net)
        self.firings: dict[int, StageOf] = {}
        self.open: dict[int, StageRow] = {}
        self.newest: dict[str, StageRow] = {}
        self.attempts: list[Attempt] = []
        self.attempt, self.status, self.trigger = 1, "PENDING", ""
        self.began: int | None = None
        self.ended: int | None = None
        self.failure: Failure | None = None
        self.blamed: int | None = None
        self.failed_in = 0  # the attempt that has failed
        self.retry_count = self.stage_retries = 0
        self.worker: str | None = None
        self.usage: dict[str, int] = {}
        self.cancelled_at: int | None = None
        self.next_at: int | None = None
        self.changed = False
        self.fresh: dict[int, StageRow] = {}  # logs that it has touched, by the number of their fact
        self.answers: dict[int, Any] = {}  # what the processors of these have answered
        self.used: dict[str, int] = {}

    def follow(self, net: Compiled) -> None:
        """The net that the facts to come are told by."""
        self.net, self.known = net, definition_snapshot(net.net)
        self.stages, self.gates = stages_of(net)

    def hear(self, facts: Iterable[Any], first: int, at: int) -> None:
        """The facts of a turn; `first` is the number of the first."""
        self.changed, self.fresh, self.answers, self.used = False, {}, {}, {}
        for seq, f in enumerate(facts, first):
            hear = _HEARD.get(f[0])
            if hear is not None:
                hear(self, f, seq, at)

    @property
    def failure_now(self) -> Failure | None:
        """That of the attempt before is none any more once it is tried again."""
        return self.failure if self.failed_in == self.attempt else None

    def warned(self) -> list[StageRow]:
        """F-X.6b: stages that failed or were skipped because of a failure while the execution went on, in order."""
        rows = sorted(self.newest.values(), key=lambda row: row.stage.place)
        return [
            row
            for row in rows
            if row.error is not None and row.status in ("SKIPPED", *BADLY) and row.stage.id != self.blamed
        ]

    # -- stages --------------------------------------------------------------------------------------------------------

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
        if f[10] == "skip":
            self._skipped(f[2], seq, at)

    def _skipped(self, node: int, seq: int, at: int) -> None:
        stage = self.gates.get(node)
        if stage is not None:
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
        _, firing, status, port, node, _attempt, _started, body, _type, _meta, failure, *_ = f
        row = self.open.pop(firing, None)
        if row is None:
            if port == "skip":
                self._skipped(node, seq, at)
            return
        row.error = error = failure_of(failure)
        unit = "FAILED" if error is not None and status == DONE else _UNITS[status]
        row.status = stage_status(unit, None if error is None else error.category)
        row.ended = at
        if row.status == "COMPLETED":
            answer = self.answers[row.seq] = self.resolve(body) if body is not None else None
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

    # -- the execution -------------------------------------------------------------------------------------------------

    def _moved(self, f: Any, seq: int, at: int) -> None:
        to, event, failure = f[1], f[2], failure_of(f[3])
        if failure is not None:
            self.failure, self.blamed, self.failed_in = failure, self._stage_blamed(failure), self.attempt
        category = None if self.failure is None else self.failure.category
        self.status = execution_status(to, category, int(self.known.get("max_retries", 0)))
        self.next_at = None
        if to == "RUNNING" and self.began is None:
            self.began = at
        if event == "run_retry":
            self.retry_count += 1
        elif event in ("operator_retry", "retry_queued"):  # F-S.5, F-X.7: nothing is wrong any more, from 0
            self.failure, self.blamed, self.retry_count = None, None, 0
        if to == "RUNNING" and event in _BEGINS:
            self.attempts.append(Attempt(self.attempt, self.trigger, self.retry_count, at))
        elif to in _ENDS:
            self._end_attempt(to, at)
        if self.status == "COMPLETED":
            self.failure = self.blamed = None
        self.ended = at if self.status in ENDED else None
        self.changed = True

    def _end_attempt(self, to: str, at: int) -> None:
        last, failure = self.attempts[-1] if self.attempts else None, self.failure
        if last is None or last.ended is not None:
            return
        last.ended = at
        if to in ("PENDING", "FAILED"):
            last.status = "TIMEOUT" if failure is not None and failure.category == "timeout" else "FAILED"
            last.failure, last.blamed = failure, self.blamed
        else:
            last.status = "COMPLETED" if to == "COMPLETED" else "CANCELLED"

    def _reopened(self, f: Any, seq: int, at: int) -> None:
        self.attempt += 1
        self.trigger = RETRY if f[2] else RESUME

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
        """The stage that the execution has failed at; of a group, the last of it that failed."""
        for stage in self.stages.values():
            if stage.code == failure.node:
                return stage.id
        failed = [row for row in self.newest.values() if row.status in BADLY]
        return max(failed, key=lambda row: row.seq).stage.id if failed else None


def _worker(answer: Any) -> str | None:
    worker = answer.get("worker_id") if isinstance(answer, dict) else None
    return worker[:100] if isinstance(worker, str) else None


_HEARD: dict[int, Callable[[ExecutionFold, Any, int, int], None]] = {
    F.FIRED: ExecutionFold._fired, F.FIRED_VIA: ExecutionFold._fired, F.PASSED: ExecutionFold._passed,
    F.REVIVED: ExecutionFold._revived, F.ASKED: ExecutionFold._asked, F.ATTEMPT_FAILED: ExecutionFold._attempt_failed,
    F.SETTLED: ExecutionFold._settled, F.SWEPT: ExecutionFold._swept, F.MOVED: ExecutionFold._moved,
    F.REOPENED: ExecutionFold._reopened, F.DRAINING: ExecutionFold._draining, F.TIMER_SET: ExecutionFold._timer,
}  # fmt: skip
