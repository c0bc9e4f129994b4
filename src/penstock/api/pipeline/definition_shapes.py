"""Definitions and schedules at the edge, under the names of their columns (F-1.1, F-1.2, F-1.5)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from penstock.api.bodies import RequestBody, ResponseBody
from penstock.api.pipeline.shapes import ExecutionOut
from penstock.api.problems import FoundOut
from penstock.api.time_fields import Moment

_EXAMPLE: dict[str, Any] = {
    "pipeline_code": "IMG_BASIC", "pipeline_name": "Pictures", "file_type": "IMAGE",
    "stages": [
        {"stage_code": "sum", "stage_name": "Checksum", "sequence_order": 1, "processor_type": "Checksum"},
        {"stage_code": "small", "stage_name": "Thumbnail", "sequence_order": 2, "processor_type": "ImageThumbnail",
         "processor_config": {"width": 200, "height": 200}},
    ],
}  # fmt: skip
_SCHEDULE: dict[str, Any] = {
    "schedule_name": "every night", "pipeline_code": "IMG_BASIC", "schedule_type": "CRON",
    "cron_expression": "30 2 * * *", "timezone": "Asia/Seoul", "target_filter": {"last": "P1D"},
}  # fmt: skip


class PipelineAsked(BaseModel):
    """A definition with its stages (F-1.1, F-1.2): every column by its name. What is wrong with it is told with the
    place where it stands."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [_EXAMPLE]})


class PipelineSaved(ResponseBody):
    """`new`: false where it was so already. It is in force at once, or waits for an approval: `status`."""

    pipeline_code: str
    version: int
    status: str = Field(examples=["active", "pending_approval"])
    new: bool
    warnings: list[FoundOut] = []


class PipelineLine(ResponseBody):
    pipeline_code: str
    pipeline_name: str
    description: str
    file_type: str
    pipeline_type: str
    priority: int
    version: int
    status: str
    is_active: bool
    stages: int
    created_at: Moment
    created_by: str | None


class PipelinePage(ResponseBody):
    items: list[PipelineLine]
    page: int
    size: int
    total: int


class PipelineOut(PipelineLine):
    """`definition` is the document, with its stages."""

    definition: dict[str, Any]


class ExecutionAsked(RequestBody):
    """`fileId` of a file that has come before, or `bucket` and `key` of one that lies there (F-3.7: what else is known
    of it). `params` lie over `default_params` (F-X.33)."""

    model_config = ConfigDict(
        extra="forbid", populate_by_name=True, json_schema_extra={"examples": [{"bucket": "bkt", "key": "a.png"}]}
    )

    file_id: int | None = Field(None, alias="fileId", ge=0, lt=2**63)
    bucket: Annotated[str, Field(min_length=1, max_length=255)] | None = None
    key: Annotated[str, Field(min_length=1, max_length=1024)] | None = None
    size: int | None = Field(None, ge=0, lt=2**63)
    mime: Annotated[str, Field(max_length=200)] | None = None
    etag: Annotated[str, Field(max_length=200)] | None = None
    version_id: Annotated[str, Field(max_length=1024)] | None = Field(None, alias="versionId")
    organization_id: int | None = Field(None, alias="organizationId", ge=0, lt=2**63)
    trace_id: Annotated[str, Field(max_length=64)] | None = Field(None, alias="traceId")
    params: dict[str, Any] = {}


class ExecutionAccepted(ResponseBody):
    """`execution`: how it ended, of a pipeline that is SYNC and was done in time (F-X.15)."""

    accepted: bool = True
    execution_id: str = Field(alias="executionId")
    execution: ExecutionOut | None = None


class ScheduleAsked(BaseModel):
    """F-1.5, F-X.11: every column by its name; the pipeline by its code."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [_SCHEDULE]})


class FileScheduleOut(ResponseBody):
    id: int
    schedule_name: str
    pipeline_code: str
    tenant_id: str
    organization_id: int | None
    schedule_type: str
    cron_expression: str | None
    interval_seconds: int | None
    target_filter: Any
    execution_params: Any
    timezone: str
    is_active: bool
    last_execution_at: str | None
    next_execution_at: str | None
    created_at: str
    updated_at: str


class FileSchedulePage(ResponseBody):
    items: list[FileScheduleOut]
    page: int
    size: int
    total: int
