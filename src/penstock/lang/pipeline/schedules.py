"""Reads a schedule of a pipeline: cron, interval or once, in a time zone, for which files (F-1.5, F-X.11)."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import msgspec
from msgspec import Meta

from penstock.expr.calendar import BadDate, moment_of
from penstock.expr.cron import cron_problem, zone_of
from penstock.lang.document import Document
from penstock.lang.fields import Fields, read_fields, unknown_fields
from penstock.lang.pipeline.conditions import Conditions
from penstock.lang.pipeline.fields import Code, Flag, Name, Positive
from penstock.lang.report import Report

#: what says the time of each type of schedule
_TIMES = {"CRON": "cron_expression", "INTERVAL": "interval_seconds", "ONCE": "next_execution_at"}
_EXAMPLES = {"CRON": '"30 2 * * *"', "INTERVAL": "3600", "ONCE": '"2026-11-15T09:00:00Z"'}


class ScheduleFields(Fields):
    """A schedule (F-1.5)."""

    id: Annotated[int | None, Meta(description="Given by the store.")] = None
    schedule_name: Annotated[Name, Meta(description="What people call it.")] = ""
    pipeline_id: Annotated[int | None, Meta(description="Given by the store.")] = None
    pipeline_code: Annotated[Code, Meta(description="The pipeline that it begins.")] = ""
    tenant_id: Code | None = None
    organization_id: int | None = None
    schedule_type: Literal["CRON", "INTERVAL", "ONCE"] | None = None
    cron_expression: Name | None = None
    interval_seconds: Positive | None = None
    target_filter: Annotated[dict[str, Any] | None, Meta(description="Which files, as in conditions, and `last`.")] = (
        None
    )
    execution_params: dict[str, Any] | None = None
    timezone: Code = "UTC"
    is_active: Flag = True
    last_execution_at: str | None = None
    next_execution_at: Annotated[str | None, Meta(description="ONCE: its time.")] = None
    created_at: str | None = None
    updated_at: str | None = None

    REQUIRED: ClassVar[tuple[str, ...]] = ("schedule_name", "schedule_type")


class Schedule(msgspec.Struct, frozen=True):
    """`files` is the expression that a file must fit; None: every file."""

    fields: ScheduleFields
    files: str | None = None


def read_schedule(document: Document, report: Report) -> Schedule:
    """What was written, as far as it can be understood; the report has what is wrong."""
    if not isinstance(document.data, dict):
        report.error("wrong_type", "A schedule is a map.", hint="Write its fields in { }.")
        return Schedule(ScheduleFields())
    fields, rest = read_fields(ScheduleFields, document.data, "", report)
    unknown_fields(rest, ScheduleFields, "", report)
    _check_times(fields, report)
    files = None
    if fields.target_filter is not None:
        files = Conditions(report, window=True).expression(fields.target_filter, "/target_filter")
    return Schedule(fields, files)


def _check_times(fields: ScheduleFields, report: Report) -> None:
    """F-X.11: exactly one of cron and interval; the time of ONCE is its next execution."""
    kind = fields.schedule_type
    if kind is None:
        return
    own = _TIMES[kind]
    if getattr(fields, own) is None:
        report.error("missing_field", f"«{own}» is missing.", "", hint=f"{kind} needs `{own}: {_EXAMPLES[kind]}`.")
    for other in ("cron_expression", "interval_seconds"):
        if other != own and getattr(fields, other) is not None:
            message = f"«{other}» says nothing in a schedule of the type {kind}."
            report.error("schedule_times", message, f"/{other}", hint=f"Keep `{own}` alone, or change the type.")
    zone = zone_of(fields.timezone)
    if zone is None:
        message = f"There is no time zone «{fields.timezone}»."
        report.error("wrong_type", message, "/timezone", hint="Write a name such as Asia/Seoul.")
    if kind == "CRON" and fields.cron_expression is not None:
        problem = cron_problem(fields.cron_expression)
        if problem is not None:
            message = f"«{fields.cron_expression}» says no time: {problem}."
            hint = "Write five fields: minute, hour, day of the month, month, day of the week."
            report.error("bad_duration", message, "/cron_expression", hint=hint)
    if kind == "ONCE" and fields.next_execution_at is not None and zone is not None:
        try:
            moment_of(fields.next_execution_at, zone)
        except BadDate as error:
            message = f"«{fields.next_execution_at}» says no time: {error}."
            report.error("bad_duration", message, "/next_execution_at", hint=f"Write {_EXAMPLES['ONCE']}.")
