"""Executions at the edge (F-6.1 to F-6.5): times are ISO 8601, ids are UUIDs (F-X.29, F-X.30)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from penstock.api.bodies import RequestBody, ResponseBody
from penstock.api.locale import WordedFailure
from penstock.api.shapes.runs import WhyOut
from penstock.app.pipeline import executions as view


class StageErrorOut(ResponseBody, WordedFailure, of=view.StageError):
    pass


class ExecutionFileOut(ResponseBody, of=view.ExecutionFile):
    pass


class StageExtractionOut(ResponseBody, of=view.StageExtraction):
    pass


class StageLogOut(ResponseBody, of=view.StageLog):
    """`status` is null while the stage is still to come. What is large lies under `outputRef`."""


class ExecutionAttemptOut(ResponseBody, of=view.ExecutionAttempt):
    """F-X.7: how it began and how it ended; `trigger` is RETRY by itself, RESUME by hand."""


class ExecutionOut(ResponseBody, of=view.Execution):
    """F-6.2. `stages` has every active stage, as its newest attempt has left it."""

    why: list[WhyOut]


class StageBrief(
    ResponseBody,
    of=view.StageLog,
    omit=("output", "usage", "input_ref", "output_ref", "stage_execution_id", "extraction", "cost"),
):
    pass


class ExecutionBrief(ResponseBody, of=view.Execution, omit=("warnings", "attempts")):
    stages: list[StageBrief]
    why: list[WhyOut]


class ExecutionPageOut(ResponseBody):
    items: list[ExecutionBrief]
    page: int
    size: int
    total: int


class StageLogPage(ResponseBody):
    """F-6.3: a row for each stage of each attempt, the oldest first."""

    items: list[StageLogOut]


class RetryAsked(RequestBody):
    """F-X.7: without a mode the definition's `configuration.manual_retry_mode` counts, else `resume`."""

    mode: Literal["resume", "rerun"] | None = Field(None, examples=["resume"])


class Accepted(ResponseBody):
    accepted: bool = True


class RetryAccepted(Accepted):
    new_execution_id: str | None = Field(None, alias="newExecutionId", description="Of a rerun.")
