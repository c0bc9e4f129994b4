"""Schedules: what starts by the clock."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from penstock.api import paging
from penstock.api.audited import AuditedRoute, RunKey
from penstock.api.replies import reply
from penstock.api.server_state import Caller, Door, may
from penstock.api.shapes import operations as shape
from penstock.api.time_fields import moment
from penstock.host.schedules import next_time
from penstock.store.schedules import ScheduleRow

router = APIRouter(prefix="/schedules", tags=["schedules"], route_class=AuditedRoute)
_UPCOMING = 5


def _schedule_body(row: ScheduleRow) -> dict[str, Any]:
    upcoming, at = list[int](), row.next_at
    while at is not None and len(upcoming) < _UPCOMING:
        upcoming.append(at)
        at = next_time(row, at)
    return {
        "name": row.name, "version": row.version, "cron": row.cron, "zone": row.zone, "overlap": row.overlap,
        "catch_up": row.catch_up, "paused": bool(row.paused), "last_at": row.last_at, "next_at": row.next_at,
        "upcoming": upcoming,
    }  # fmt: skip


@router.get("", response_model=shape.SchedulePage, summary="Every schedule, with its next five times")
async def each(
    door: Door, limit: paging.Limit = 50, cursor: paging.Cursor = None, _: Caller = may("ops.read")
) -> Response:
    page, after = paging.page_of(door.schedules.each(), cursor, limit)
    return reply(shape.SchedulePage, {"items": [_schedule_body(row) for row in page], "next": after})


@router.get("/{name}", response_model=shape.ScheduleOut, summary="One of them")
async def get(name: str, door: Door, _: Caller = may("ops.read")) -> Response:
    return reply(shape.ScheduleOut, _schedule_body(door.schedules.get(name)))


@router.post("/{name}/pause", response_model=shape.ScheduleOut, summary="Start nothing by it for now")
async def pause(name: str, door: Door, _: Caller = may("ops.write")) -> Response:
    return reply(shape.ScheduleOut, _schedule_body(door.schedules.pause(name)))


@router.post("/{name}/resume", response_model=shape.ScheduleOut, summary="Let it go on")
async def resume(name: str, door: Door, _: Caller = may("ops.write")) -> Response:
    return reply(shape.ScheduleOut, _schedule_body(door.schedules.resume(name)))


@router.post("/{name}/fire", response_model=shape.FiredOut, status_code=201, summary="Start it now")
async def fire(name: str, door: Door, run_key: RunKey, who: Caller = may("ops.write")) -> Response:
    return reply(shape.FiredOut, await door.schedules.fire(name, key=run_key, by=who), status=201)


@router.post("/{name}/backfill", response_model=shape.FiredPage, status_code=201, summary="Start what was missed")
async def backfill(name: str, asked: shape.BackfillAsked, door: Door, who: Caller = may("ops.write")) -> Response:
    first, last = moment(asked.since, "since"), moment(asked.until, "until")
    return reply(shape.FiredPage, {"items": await door.schedules.backfill(name, first, last, by=who)}, status=201)
