"""Schedules (F-1.5, F-X.11): what begins by the clock, an execution for each file that fits.

A fire has the key of its schedule, its time and the file: whoever dies while it fires begins the rest when it is back,
and nothing twice. The schedule moves on to its next time when every execution is in the store.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from penstock.app.penstock import Penstock
from penstock.app.pipeline.definitions import Definition, in_force
from penstock.app.pipeline.starts import NO_ROOM, ExecutionStarts
from penstock.app.releases.releases import canonical
from penstock.app.runs.queries import Queries
from penstock.app.runs.runs import Runs
from penstock.app.timestamps import iso
from penstock.errors import BadInput, DocumentInvalid, ExprError, PenstockError, ScheduleNotFound, StoreError
from penstock.expr.calendar import moment_of
from penstock.expr.cron import fire_times, zone_of
from penstock.expr.iso_repeats import iso_duration
from penstock.host.schedules import last_time_of
from penstock.lang.document import Document
from penstock.lang.pipeline.conditions import compiled_condition
from penstock.lang.pipeline.keys import schedule_key
from penstock.lang.pipeline.matching import run_input, unfit
from penstock.lang.pipeline.messages import FileMessage
from penstock.lang.pipeline.schedules import Schedule, ScheduleFields, read_schedule
from penstock.lang.read import read_document
from penstock.lang.report import Report
from penstock.store.file_assets import FileAssetRow
from penstock.store.file_schedules import FileScheduleRow

#: the trigger of executions that a schedule begins (F-1.3.8)
SCHEDULED = "SCHEDULED"
#: F-X.11: a missed time that is as old as this is skipped
MISSED_MS = 3_600_000
#: files that are looked at, and begun, in one go
_AT_ONCE = 500
#: when a schedule whose tenant has no room is tried again
_AGAIN_MS = 1000
log = logging.getLogger("penstock")


# ---- what people do with them ----------------------------------------------------------------------------------------


def add_schedule(door: Runs, document: bytes | Mapping[str, Any]) -> FileScheduleRow:
    """Check a schedule and keep it for the door's tenant. Raises DocumentInvalid, BadInput."""
    source = canonical(document, ordered=True) if isinstance(document, Mapping) else document
    read = read_document(source, name="schedule")
    schedule, now = _checked(door, read), door.now()
    fields = schedule.fields
    if all(definition.code != fields.pipeline_code for definition in in_force(door, door.tenant)):
        what, why = f"the pipeline «{fields.pipeline_code}»", "there is none that is in force"
        raise BadInput(what=what, why=why, hint="Define it first: `penstock pipeline define FILE`.")
    row = FileScheduleRow(
        door.tenant, fields.organization_id, fields.schedule_name, fields.pipeline_code, fields.schedule_type or "",
        fields.cron_expression, fields.interval_seconds, _json(fields.target_filter), _json(fields.execution_params),
        fields.timezone, int(fields.is_active), None, _first(fields, now), now, now,
    )  # fmt: skip
    return door.store.add_file_schedule(row)


def schedules(door: Queries, *, inactive: bool = False) -> list[FileScheduleRow]:
    return door.store.file_schedules(door.tenant, inactive=inactive)


def end_schedule(door: Runs, id: int) -> None:
    """F-X.2: it is kept, and active no more; executions that have begun go on. Raises ScheduleNotFound."""
    if not door.store.end_file_schedule(door.tenant, id, door.now()):
        raise ScheduleNotFound(name=str(id))


def brief(row: FileScheduleRow) -> dict[str, Any]:
    """F-1.5: a schedule under the seed's names, its times in UTC."""
    return {
        "id": row.id, "schedule_name": row.name, "pipeline_code": row.code, "tenant_id": row.tenant,
        "organization_id": row.organization_id, "schedule_type": row.type, "cron_expression": row.cron,
        "interval_seconds": row.interval_s,
        "target_filter": msgspec.json.decode(row.filter) if row.filter is not None else None,
        "execution_params": msgspec.json.decode(row.params) if row.params is not None else None,
        "timezone": row.zone, "is_active": bool(row.active),
        "last_execution_at": iso(row.last_at) if row.last_at is not None else None,
        "next_execution_at": iso(row.next_at) if row.next_at is not None else None,
        "created_at": iso(row.created_at), "updated_at": iso(row.updated_at),
    }  # fmt: skip


def _checked(door: Queries, document: Document) -> Schedule:
    report = Report(document)
    schedule = read_schedule(document, report)
    fields = schedule.fields
    if fields.tenant_id not in (None, door.tenant):
        message = f"The schedule is the tenant's «{door.tenant}», and it names another one."
        report.error("schedule_tenant", message, "/tenant_id", hint="Leave it out.")
    if not fields.pipeline_code:
        hint = "Name the pipeline that it begins."
        report.error("missing_field", "«pipeline_code» is missing.", "", hint=hint)
    wrong = any(finding.severity == "error" for finding in report.findings)
    if not wrong and fields.schedule_type == "ONCE" and (_first(fields, 0) or 0) <= door.now() - MISSED_MS:
        message = "Its time was over an hour ago: it would never begin."
        report.error("schedule_times", message, "/next_execution_at", hint="Write a time that is still to come.")
        wrong = True
    if wrong:
        raise DocumentInvalid(report.findings)
    return schedule


def _json(value: Any) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()


def _first(fields: ScheduleFields, now: int) -> int | None:
    if fields.schedule_type == "ONCE":
        zone = zone_of(fields.timezone)
        assert zone is not None and fields.next_execution_at is not None, "it was checked"
        return round(moment_of(fields.next_execution_at, zone).timestamp() * 1000)
    if fields.schedule_type == "INTERVAL":
        return now + (fields.interval_seconds or 1) * 1000
    return next(fire_times(fields.cron_expression or "", fields.timezone, now), None)


def due_times(row: FileScheduleRow, now: int) -> tuple[int | None, int | None]:
    """The time to fire now, if any, and when it is due next. Of those that were missed it is the last one, where that
    is younger than an hour."""
    first = row.next_at
    assert first is not None
    last, following = first, None
    if row.interval_s is not None:
        last = first + (now - first) // (row.interval_s * 1000) * row.interval_s * 1000
        following = last + row.interval_s * 1000
    elif row.cron is not None:
        last = last_time_of(row.cron, row.zone, first + 1, now) or first
        following = next(fire_times(row.cron, row.zone, now), None)
    return (last if now - last < MISSED_MS else None), following


# ---- the clock -------------------------------------------------------------------------------------------------------


class ScheduleClock:
    """Of a door that drives its store: fires what is due, for all tenants."""

    def __init__(self, door: Penstock) -> None:
        self.door = door
        self.unfinished: dict[int, tuple[int, int]] = {}  # time that had no room, when it is tried again

    async def step(self) -> int:
        """One look at the clock; how many schedules have fired."""
        fired, now = 0, self.door.now()
        for row in self.door.store.file_schedules_due(now):
            begun_at, again_at = self.unfinished.get(row.id, (None, 0))
            if again_at > now:
                continue
            at, following = due_times(row, now if begun_at is None else begun_at)
            if at is not None and not await self._fired(row, at):
                self.unfinished[row.id] = (at, now + _AGAIN_MS)
                continue
            self.unfinished.pop(row.id, None)
            self.door.store.file_schedule_fired(row, at, following, self.door.now())
            fired += at is not None
        return fired

    async def _fired(self, row: FileScheduleRow, at: int) -> bool:
        """False when the tenant has no room for all of it now."""
        try:
            await self._fire(row, at)
        except StoreError:
            raise
        except PenstockError as error:
            if error.http == NO_ROOM:
                return False
            log.warning("the schedule %s of «%s» was not fired: %s %s", row.id, row.tenant, error.code, error)
        return True

    async def _fire(self, row: FileScheduleRow, at: int) -> None:
        definition = next((each for each in in_force(self.door, row.tenant) if each.code == row.code), None)
        if definition is None:
            return
        await self.door.nets.prepare(definition.net)
        trigger = {"type": SCHEDULED, "source": f"schedule:{row.id}", "schedule": row.name, "at": iso(at)}
        params = msgspec.json.decode(row.params) if row.params is not None else None
        for files in self._files(row, definition, at):
            keys = {file.id: schedule_key(row.id, iso(at), file.id) for file in files}
            known = self.door.store.ids_by_key(row.tenant, list(keys.values()))
            starts = ExecutionStarts(self.door, {(row.tenant, key): id for key, id in known.items()})
            try:
                for file in files:
                    message = message_of_file(file)
                    starts.begin(definition, message, file.id, key=keys[file.id], trigger=trigger, params=params)
            finally:
                await starts.heard()

    def _files(self, row: FileScheduleRow, definition: Definition, at: int) -> Iterator[list[FileAssetRow]]:
        """Those that fit, page by page. They are as old as they are at the time that fires."""
        target = msgspec.json.decode(row.filter) if row.filter is not None else None
        fits, since, after = _condition(target), at - _window_ms(target, at), (-1, 0)
        while page := self.door.store.file_assets(row.tenant, since=since, after=after, limit=_AT_ONCE):
            after = (page[-1].created_at, page[-1].id)
            yield [
                file
                for file in page
                if file.created_at <= at
                and row.organization_id in (None, file.organization_id)
                and not unfit(definition.about, message_of_file(file))
                and _holds(fits, file, at)
            ]


def _condition(target: Any) -> Callable[[Mapping[str, Any]], bool] | None:
    """The filter of a schedule; it was checked when it was kept."""
    if target is None:
        return None
    document = read_document(msgspec.json.encode({"target_filter": target}), name="schedule")
    text = read_schedule(document, Report(document)).files
    return compiled_condition(text) if text is not None else lambda _: False


def _window_ms(target: Any, at: int) -> int:
    """How old a file can be that fits: so much of the past is read."""
    last = target.get("last") if isinstance(target, dict) else None
    span = iso_duration(last) if isinstance(last, str) else None
    return span.most_ms if span is not None else at


def _holds(fits: Callable[[Mapping[str, Any]], bool] | None, file: FileAssetRow, at: int) -> bool:
    if fits is None:
        return True
    try:
        return fits({**run_input(message_of_file(file), file_id=file.id), "age_ms": at - file.created_at})
    except ExprError:  # an author's expression over a file that it did not think of
        return False


def message_of_file(file: FileAssetRow) -> FileMessage:
    """What was announced when the file came."""
    return FileMessage(
        file.bucket, file.object_key, file.size, file.mime, file.tenant, file.organization_id, file.trace,
        iso(file.created_at), file.etag, file.version_id, uploader=file.uploader,
    )  # fmt: skip
