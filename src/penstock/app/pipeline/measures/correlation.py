"""Everything with one trace id: file, executions, stages, extractions (F-7.1, F-9.5)."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.app.pipeline.executions import Execution, ExecutionFile, execution
from penstock.app.runs.queries import Queries
from penstock.dialects.pipeline.follow_ups import EXTRACTED
from penstock.errors.pipeline import ExecutionNotFound

#: executions of one trace that are shown
_MOST = 100


class TracedStage(msgspec.Struct, rename="camel"):
    stage_code: str
    status: str | None
    started_at: int | None
    completed_at: int | None
    output_ref: str | None


class TracedExecution(msgspec.Struct, rename="camel"):
    execution_id: str
    pipeline_code: str
    status: str
    parent_execution_id: str | None
    created_at: int
    completed_at: int | None
    stages: list[TracedStage]


class TracedExtraction(msgspec.Struct, rename="camel"):
    """F-5.1: as it was told downstream."""

    execution_id: str
    stage_code: str
    extraction_type: str
    method: str
    confidence: float | None
    trace_id: str


class Correlation(msgspec.Struct, rename="camel"):
    trace_id: str
    files: list[ExecutionFile]
    executions: list[TracedExecution]
    extractions: list[TracedExtraction]


def correlation(door: Queries, trace: str, *, organization: int | None = None) -> Correlation:
    """The oldest execution first; of one organisation, where one is named (F-6.6). Raises ExecutionNotFound where
    nothing of the tenant has this trace id."""
    looks = [execution(door, id) for id, _ in door.store.by_trace(door.tenant, trace)[:_MOST]]
    looks = [look for look in looks if organization in (None, look.organization_id)]
    if not looks:
        raise ExecutionNotFound(execution=trace)
    files = {look.file.id: look.file for look in looks if look.file is not None}
    extractions = [event for look in looks for event in _extractions(door, look)]
    return Correlation(trace, list(files.values()), [_traced(look) for look in looks], extractions)


def _traced(look: Execution) -> TracedExecution:
    stages = [
        TracedStage(stage.stage_code, stage.status, stage.started_at, stage.completed_at, stage.output_ref)
        for stage in look.stages
    ]
    return TracedExecution(
        look.execution_id, look.pipeline_code, look.status, look.parent_execution_id, look.created_at,
        look.completed_at, stages,
    )  # fmt: skip


def _extractions(door: Queries, look: Execution) -> list[TracedExtraction]:
    """The events of its stages, found by their keys."""
    events = door.store.events_of(door.tenant, look.execution_id, EXTRACTED)
    return [
        TracedExtraction(
            look.execution_id, str(about.get("stageCode")), str(about.get("extractionType")),
            str(about.get("method")), about.get("confidence"), str(about.get("traceId")),
        )
        for about in (msgspec.msgpack.decode(body, type=dict[str, Any]) for body in events)
    ]  # fmt: skip
