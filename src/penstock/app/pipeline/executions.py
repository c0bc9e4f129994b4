"""Executions as people who process files see them: status, stages, stage logs (F-6.1 to F-6.3), from a run's facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.app.pipeline.definitions import LANGUAGE
from penstock.app.pipeline.measures.usage import cost
from penstock.app.runs.queries import Queries
from penstock.app.runs.reading import RunReading
from penstock.app.runs.waiting.environment import Environment, read_environment
from penstock.app.runs.waiting.wait_context import WaitReason
from penstock.app.runs.waiting.why import why_listed
from penstock.dialects.pipeline.execution_fold import Attempt, ExecutionFold
from penstock.dialects.pipeline.follow_ups import EXTRACTED
from penstock.dialects.pipeline.stage_rows import StageRow
from penstock.errors import RunAmbiguous, RunNotFound
from penstock.errors.pipeline import ExecutionNotFound, PipelineScope
from penstock.kernel.failure import Failure
from penstock.kernel.state import COMPLETED
from penstock.store.run_store import RunRow


class StageError(msgspec.Struct, rename="camel"):
    code: str
    message: str
    category: str = ""


class ExecutionAttempt(msgspec.Struct, rename="camel"):
    """One of `execution_context.attempts`. `trigger` is what began it: the execution's own, RETRY or RESUME."""

    attempt: int
    trigger: str
    status: str
    retry_count: int
    started_at: int
    completed_at: int | None = None
    error: StageError | None = None
    error_stage: str | None = None


class StageExtraction(msgspec.Struct, rename="camel"):
    """F-5.1: what a stage has extracted, how, and how sure it is. `published`: its event is in the store; stage logs do
    not look, and say no."""

    extraction_type: str
    method: str | None
    confidence: float | None
    published: bool = False


class StageLog(msgspec.Struct, rename="camel"):
    """One stage of one attempt (F-1.4). `status` is none while it is still to come, `cost` where there is no rate."""

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
    extraction: StageExtraction | None = None
    cost: float | None = None


class ExecutionFile(msgspec.Struct, rename="camel"):
    id: int
    bucket: str
    key: str
    size: int
    mime: str


class Execution(msgspec.Struct, rename="camel"):
    """F-6.2. `stages` has every active stage of the definition, in order, as its newest attempt has left it. `why`: for
    what it waits, the gravest first; the limits that have no place for it are among them."""

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
    why: list[WaitReason] = []


def execution(door: Queries, run: str) -> Execution:
    """Costs one fold of its journal. Raises ExecutionNotFound, PipelineScope."""
    look = read_execution(door, execution_row(door, run), read_environment(door))[0]
    if any(stage.extraction is not None for stage in look.stages):
        _mark_published(door, look)
    return look


def _mark_published(door: Queries, look: Execution) -> None:
    events = door.store.events_of(door.tenant, look.execution_id, EXTRACTED)
    told = [msgspec.msgpack.decode(body, type=dict[str, Any]) for body in events]
    published = {(about.get("stageCode"), about.get("extractionType")) for about in told}
    for stage in look.stages:
        if stage.extraction is not None:
            stage.extraction.published = (stage.stage_code, stage.extraction.extraction_type) in published


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


def read_execution(
    door: Queries, row: RunRow, environment: Environment | None = None
) -> tuple[Execution, list[StageLog]]:
    """Without an environment it is not told for what the execution waits."""
    reading = door.reading(row)
    fold, logs = _folded(door, reading)
    stages = _newest(fold, logs)
    st, known, failure = reading.state, fold.known, fold.failure_now
    given = reading.resolve(st.input) if st.input is not None else {}
    trigger = st.options.get("trigger") if isinstance(st.options, Mapping) else None
    trigger_type = str((trigger or {}).get("type", "MANUAL"))
    running = [stage for stage in stages if stage.status in ("STARTED", "RUNNING")]
    waits_again = fold.status == "PENDING" and failure is not None
    return (
        Execution(
            row.id, reading.net.net.name, str(known.get("pipeline_name", "")), int(known.get("version", 1)), row.tenant,
            (given or {}).get("organizationId"), fold.status, trigger_type, row.priority, _file(given),
            st.trace or row.id, row.key, row.parent, row.created_at, fold.began, fold.ended,
            fold.ended - fold.began if fold.ended is not None and fold.began is not None else None,
            fold.retry_count, len(stages), sum(stage.status == "COMPLETED" for stage in stages),
            running[0].stage_code if running else None,
            _error(failure) if fold.status in ("FAILED", "TIMEOUT", "PENDING") else None, _blamed(fold),
            _warnings(fold), stages, bool(st.draining), int(known.get("max_retries", 0)),
            row.wake_at if waits_again else None, [_attempt(each, trigger_type) for each in fold.attempts],
            why_listed(reading, environment) if environment is not None and row.status < COMPLETED else [],
        ),
        logs,
    )  # fmt: skip


def _file(given: Any) -> ExecutionFile | None:
    file = given.get("file") if isinstance(given, dict) else None
    if not isinstance(file, dict):
        return None
    return ExecutionFile(
        int(file.get("id", 0)), str(file.get("bucket", "")), str(file.get("key", "")), int(file.get("size", 0)),
        str(file.get("mime", "")),
    )  # fmt: skip


def _folded(door: Queries, reading: RunReading) -> tuple[ExecutionFold, list[StageLog]]:
    """The whole journal, and a log for each stage of each attempt, the oldest first."""
    fold, heard = ExecutionFold(reading.net, reading.resolve), 0
    rows: dict[int, StageRow] = {}
    answers: dict[int, Any] = {}
    for turn in door.timeline(reading).turns():
        if turn.net is not fold.net:
            fold.follow(turn.net)
        fold.hear(turn.facts, heard + 1, turn.at)
        heard += len(turn.facts)
        rows.update(fold.fresh)
        answers.update(fold.answers)
    known = _stages(fold)
    named = [(seq, row, known.get(row.stage.code)) for seq, row in rows.items()]
    logs = [_log(reading.row.id, row, stage, answers.get(seq)) for seq, row, stage in named if stage is not None]
    settings = door.settings
    for log in logs:
        log.cost = cost(log.usage, settings) if log.usage else None
    return fold, logs


def _stages(fold: ExecutionFold) -> dict[str, Mapping[str, Any]]:
    """As the definition describes them, in its order."""
    return {str(stage["code"]): stage for stage in fold.known.get("stages", ())}


def _newest(fold: ExecutionFold, logs: list[StageLog]) -> list[StageLog]:
    last = {log.stage_code: log for log in logs}
    return [last.get(code) or _blank_log(stage, fold.attempt) for code, stage in _stages(fold).items()]


def _blank_log(stage: Mapping[str, Any], attempt: int) -> StageLog:
    return StageLog(
        str(stage["code"]), str(stage.get("name", "")), int(stage.get("seq", 0)), str(stage.get("processor", "")),
        attempt=attempt, group=int(stage.get("group", 0)),
    )  # fmt: skip


def _log(run: str, row: StageRow, stage: Mapping[str, Any], answer: Any) -> StageLog:
    log = _blank_log(stage, row.attempt)
    log.stage_execution_id, log.status, log.retry_count = f"{run}:{row.seq}", row.status, row.retries
    log.started_at, log.completed_at = row.began, row.ended
    log.duration_ms = None if row.ended is None else row.ended - row.began
    log.input_ref, log.error = row.input_ref, _error(row.error)
    if isinstance(answer, dict):
        log.output, log.output_ref = answer.get("output"), answer.get("output_ref")
        log.mime, log.size, log.usage = answer.get("mime"), answer.get("size"), answer.get("usage") or {}
        log.extraction = _extraction(answer.get("extraction"))
    return log


def _extraction(given: Any) -> StageExtraction | None:
    if not isinstance(given, Mapping):
        return None
    method, confidence = given.get("method"), given.get("confidence")
    sure = float(confidence) if isinstance(confidence, int | float) and type(confidence) is not bool else None
    return StageExtraction(str(given.get("extractionType")), str(method) if method is not None else None, sure)


def _error(failure: Failure | None) -> StageError | None:
    return StageError(failure.code, failure.message, failure.category) if failure is not None else None


def _attempt(attempt: Attempt, first: str) -> ExecutionAttempt:
    failure = attempt.failure
    return ExecutionAttempt(
        attempt.number, attempt.trigger or first, attempt.status, attempt.retries, attempt.began, attempt.ended,
        _error(failure), failure.node or None if failure is not None else None,
    )  # fmt: skip


def _blamed(fold: ExecutionFold) -> str | None:
    """The code of the stage that the attempt has failed at."""
    if fold.failure_now is None:
        return None
    return next((stage.code for stage in fold.stages.values() if stage.id == fold.blamed), None)


def _warnings(fold: ExecutionFold) -> list[dict[str, Any]]:
    return [
        {"stage": row.stage.code, "status": row.status, "code": row.error.code, "message": row.error.message}
        for row in fold.warned()
        if row.error is not None
    ]
