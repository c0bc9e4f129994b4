"""Executions as people who process files see them: status, stages, stage logs (F-6.1 to F-6.3), from a run's facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from penstock.app.pipeline.attempts import AttemptStory, ExecutionAttempt, StageError, stage_error
from penstock.app.pipeline.definitions import LANGUAGE
from penstock.app.runs.queries import Queries
from penstock.dialects.pipeline import about
from penstock.dialects.pipeline.words import execution_status, stage_status
from penstock.errors import RunAmbiguous, RunNotFound
from penstock.errors.pipeline import ExecutionNotFound, PipelineScope
from penstock.kernel.fact_lines import FactLine
from penstock.kernel.state import COMPLETED, STATUS
from penstock.store.run_lists import RunFilter
from penstock.store.run_store import RunRow

_OUTCOMES = {"done": "SUCCEEDED", "failed": "FAILED", "skipped": "SKIPPED", "interrupted": "CANCELLED"}
#: rows that one page of a list looks at
_LOOKED = 500


class StageLog(msgspec.Struct, rename="camel"):
    """One stage of one attempt (F-1.4). `status` is none while it is still to come."""

    stage_code: str
    stage_name: str
    sequence_order: int
    processor_type: str
    stage_execution_id: str = ""
    attempt: int = 1
    status: str | None = None
    retry_count: int = 0
    started_at: int | None = None
    completed_at: int | None = None
    duration_ms: int | None = None
    input_ref: str | None = None
    output_ref: str | None = None
    mime: str | None = None
    size: int | None = None
    output: Any = None
    usage: dict[str, Any] = {}
    error: StageError | None = None
    group: int = 0  # stages of one group run side by side


class ExecutionFile(msgspec.Struct, rename="camel"):
    id: int
    bucket: str
    key: str
    size: int
    mime: str


class Execution(msgspec.Struct, rename="camel"):
    """F-6.2. `stages` has every active stage of the definition, in order, as its newest attempt has left it."""

    execution_id: str
    pipeline_code: str
    pipeline_name: str
    version: int
    tenant_id: str
    organization_id: int | None
    status: str
    trigger_type: str
    priority: int
    file: ExecutionFile | None
    trace_id: str
    idempotency_key: str | None
    parent_execution_id: str | None
    created_at: int
    started_at: int | None
    completed_at: int | None
    duration_ms: int | None
    retry_count: int
    total_stages: int
    completed_stages: int
    current_stage: str | None
    error: StageError | None
    error_stage: str | None
    warnings: list[dict[str, Any]]
    stages: list[StageLog]
    cancel_requested: bool = False
    max_retries: int = 0
    next_attempt_at: int | None = None
    attempts: list[ExecutionAttempt] = []


class ExecutionLine(msgspec.Struct, rename="camel"):
    """One of a list (F-6.1): what its row tells."""

    execution_id: str
    pipeline_code: str
    status: str
    priority: int
    tenant_id: str
    idempotency_key: str | None
    created_at: int
    updated_at: int


def execution(door: Queries, run: str) -> Execution:
    """Costs one fold of its journal. Raises ExecutionNotFound, PipelineScope."""
    return read_execution(door, execution_row(door, run))[0]


def logs(door: Queries, run: str) -> list[StageLog]:
    """F-6.3: a row for each stage of each attempt, the oldest first; what is large is named by reference."""
    return read_execution(door, execution_row(door, run))[1]


def execution_row(door: Queries, run: str) -> RunRow:
    """F-X.22: one of another tenant is refused, one that there is not is not found."""
    try:
        row = door.row(run)
    except RunNotFound:
        if _is_elsewhere(door, run):
            raise PipelineScope(why="The execution is another tenant's") from None
        raise ExecutionNotFound(execution=run) from None
    if door.nets.get(row.net).net.language != LANGUAGE:
        raise ExecutionNotFound(execution=run)
    return row


def _is_elsewhere(door: Queries, run: str) -> bool:
    """By its whole id alone: a beginning tells nothing about others."""
    try:
        row = door.store.run_by_id(run)
    except (RunNotFound, RunAmbiguous):
        return False
    return row.id == run and door.nets.get(row.net).net.language == LANGUAGE


def read_execution(door: Queries, row: RunRow) -> tuple[Execution, list[StageLog]]:
    reading = door.reading(row)
    known, st = about(reading.net.net), reading.state
    story = StageStory(known.get("stages", ()), row.id)
    story.tell(door.timeline(reading).lines())
    stages, given = story.newest(), reading.resolve(st.input) if st.input is not None else {}
    failure = story.failure or {}
    status = execution_status(STATUS[row.status], failure.get("category"), int(known.get("max_retries", 0)))
    ended = row.status >= COMPLETED
    trigger = st.options.get("trigger") if isinstance(st.options, Mapping) else None
    blamed = story.blamed() if failure and status != "COMPLETED" else None
    running = [stage for stage in stages if stage.status in ("STARTED", "RUNNING")]
    completed = story.moved_at if ended else None
    if story.attempts.told:
        story.attempts.told[0].trigger = str((trigger or {}).get("type", "MANUAL"))
    waits_again = status == "PENDING" and bool(failure)
    retries = st.retries + waits_again  # F-X.6: counted when it is put back
    return (
        Execution(
            row.id, reading.net.net.name, str(known.get("pipeline_name", "")), int(known.get("version", 1)), row.tenant,
            (given or {}).get("organizationId"), status, str((trigger or {}).get("type", "MANUAL")), row.priority,
            _file(given), st.trace or row.id, row.key, row.parent, row.created_at, story.started_at, completed,
            completed - story.started_at if completed is not None and story.started_at is not None else None,
            retries, len(stages), sum(stage.status == "COMPLETED" for stage in stages),
            running[0].stage_code if running else None,
            stage_error(failure) if status in ("FAILED", "TIMEOUT", "PENDING") and failure else None,
            blamed, [each for each in story.warnings() if each["stage"] != blamed], stages, bool(st.draining),
            int(known.get("max_retries", 0)), row.wake_at if waits_again else None, story.attempts.told,
        ),
        story.logs,
    )  # fmt: skip


def _file(given: Any) -> ExecutionFile | None:
    file = given.get("file") if isinstance(given, dict) else None
    if not isinstance(file, dict):
        return None
    return ExecutionFile(
        int(file.get("id", 0)), str(file.get("bucket", "")), str(file.get("key", "")), int(file.get("size", 0)),
        str(file.get("mime", "")),
    )  # fmt: skip


class StageStory:
    """What the facts of a run tell about its stages."""

    def __init__(self, stages: Iterable[Mapping[str, Any]], run: str = "") -> None:
        self.known = {str(stage["code"]): stage for stage in stages}
        self.run = run
        self.logs: list[StageLog] = []
        self.open: dict[str, StageLog] = {}
        self.attempts = AttemptStory()
        self.started_at: int | None = None
        self.moved_at = 0
        self.failure: dict[str, Any] | None = None

    def tell(self, lines: Iterable[FactLine]) -> None:
        for line in lines:
            hear = _HEARD.get(line.fact)
            if hear is not None:
                hear(self, line)

    def newest(self) -> list[StageLog]:
        """Every stage in its order."""
        last = {log.stage_code: log for log in self.logs}
        return [last.get(code) or self._log(code) for code in self.known]

    def warnings(self) -> list[dict[str, Any]]:
        """F-X.6b: stages that failed or were skipped because of a failure, and the execution went on."""
        return [
            {"stage": log.stage_code, "status": log.status, "code": log.error.code, "message": log.error.message}
            for log in self.newest()
            if log.error is not None and log.status in ("SKIPPED", "FAILED", "TIMEOUT")
        ]

    def blamed(self) -> str | None:
        """The stage that the execution has failed at; of a group, the last of it that failed."""
        node = str((self.failure or {}).get("node") or "")
        if node in self.known:
            return node
        failed = [log.stage_code for log in self.logs if log.status in ("FAILED", "TIMEOUT")]
        return failed[-1] if failed else None

    def _log(self, code: str) -> StageLog:
        stage = self.known[code]
        return StageLog(
            code, str(stage.get("name", "")), int(stage.get("seq", 0)), str(stage.get("processor", "")),
            attempt=self.attempts.number, group=int(stage.get("group", 0)),
        )  # fmt: skip

    # -- facts ---------------------------------------------------------------------------------------------------------

    def _fired(self, line: FactLine) -> None:
        if line.node in self.known:
            log = self._log(line.node)
            log.stage_execution_id, log.status, log.started_at = f"{self.run}:{line.seq}", "STARTED", line.at
            self.logs.append(log)
            self.open[line.node] = log

    def _asked(self, line: FactLine) -> None:
        log = self.open.get(line.node)
        if log is not None:
            log.status, log.retry_count = "RUNNING", max(0, int(line.data.get("attempt", 1)) - 1)

    def _attempt_failed(self, line: FactLine) -> None:
        log, failure = self.open.get(line.node), line.data.get("failure")
        if log is not None and failure:
            log.error = stage_error(failure)

    def _settled(self, line: FactLine) -> None:
        if line.node.endswith(".if") and line.data.get("port") == "skip" and line.node[:-3] in self.known:
            log = self._log(line.node[:-3])
            log.stage_execution_id, log.status, log.started_at = f"{self.run}:{line.seq}", "SKIPPED", line.at
            log.completed_at, log.duration_ms = line.at, 0
            self.logs.append(log)
            return
        if line.node not in self.open:
            return
        log = self.open.pop(line.node)
        failure, status = line.data.get("failure"), str(line.data["status"])
        unit = "FAILED" if failure and status == "done" else _OUTCOMES.get(status, status)
        log.status = stage_status(unit, (failure or {}).get("category"))
        log.retry_count = max(log.retry_count, int(line.data.get("attempt", 1)) - 1)
        log.error = stage_error(failure) if failure else None
        self._end(log, line.at)
        body = line.data.get("output")
        if isinstance(body, dict) and log.status == "COMPLETED":
            log.output, log.output_ref = body.get("output"), body.get("output_ref")
            log.mime, log.size, log.usage = body.get("mime"), body.get("size"), body.get("usage") or {}

    def _swept(self, line: FactLine) -> None:
        gone = {str(firing).partition("@")[0] for firing in line.data.get("firings", ())}
        for code in gone & set(self.open):
            log = self.open.pop(code)
            log.status = stage_status("CANCELLED", None)
            self._end(log, line.at)

    def _end(self, log: StageLog, at: int) -> None:
        log.completed_at = at
        log.duration_ms = at - (log.started_at or at)

    def _moved(self, line: FactLine) -> None:
        self.moved_at = line.at
        self.attempts.moved(line)
        if line.data["to"] == "RUNNING" and self.started_at is None:
            self.started_at = line.at
        self.failure = line.data.get("failure") or self.failure

    def _reopened(self, line: FactLine) -> None:
        self.attempts.reopened(line)
        self.failure = None

    def _started(self, line: FactLine) -> None:
        self.moved_at = line.at


_HEARD = {
    "fired": StageStory._fired, "revived": StageStory._fired, "effect.asked": StageStory._asked,
    "attempt.failed": StageStory._attempt_failed,
    "settled": StageStory._settled, "swept": StageStory._swept, "run.moved": StageStory._moved,
    "run.reopened": StageStory._reopened, "run.started": StageStory._started,
}  # fmt: skip


def executions(
    door: Queries, *, status: str | None = None, code: str | None = None, since: int = 0, until: int | None = None,
    limit: int = 20, before: int | None = None,
) -> list[ExecutionLine]:  # fmt: skip
    """F-6.1: the newest first, from the rows alone. `before` is the number of the last one of the page before."""
    listed: list[ExecutionLine] = []
    below = before if before is not None else door.store.last_run() + 1
    while len(listed) < limit:
        rows = door.store.find_runs(RunFilter(tenant=door.tenant, below=below), _LOOKED)
        for row in rows:
            below = row.no
            line = _line(door, row)
            if line is None or status not in (None, line.status) or code not in (None, line.pipeline_code):
                continue
            if row.created_at < since or until is not None and row.created_at >= until:
                continue
            listed.append(line)
            if len(listed) == limit:
                return listed
        if len(rows) < _LOOKED:
            break
    return listed


def _line(door: Queries, row: RunRow) -> ExecutionLine | None:
    net = door.nets.get(row.net)
    if net.net.language != LANGUAGE:
        return None
    category = None
    if STATUS[row.status] == "FAILED" and int(about(net.net).get("max_retries", 0)) == 0:
        failure = door.reading(row).state.failure
        category = failure.category if failure is not None else None
    status = execution_status(STATUS[row.status], category, int(about(net.net).get("max_retries", 0)))
    return ExecutionLine(
        row.id, net.net.name, status, row.priority, row.tenant, row.key, row.created_at, row.updated_at
    )
