"""Schedules over files: what begins by the clock (F-1.5, F-X.11, F-X.23)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from penstock.api.pipeline import definition_shapes as shape
from penstock.api.pipeline.executions import Page, Size
from penstock.api.pipeline.pipeline_routes import InPipelineWords, same_organization, same_tenant
from penstock.api.replies import reply
from penstock.api.server_state import Caller, Door, may
from penstock.app.pipeline.schedules import add_schedule, brief, end_schedule, schedules
from penstock.errors import ScheduleNotFound
from penstock.store.file_schedules import FileScheduleRow

router = APIRouter(prefix="/pipelines/schedules", tags=["pipelines"], route_class=InPipelineWords)
Number = Annotated[int, Path(alias="scheduleId", ge=0, lt=2**63)]


@router.get("", response_model=shape.FileSchedulePage, summary="Schedules over files")
async def file_schedules(
    door: Door, inactive: Annotated[bool, Query(description="Those that have ended, too.")] = False,
    page: Page = 0, size: Size = 20, who: Caller = may("pipeline.read"),
) -> Response:  # fmt: skip
    rows = _visible(door, who, inactive=inactive)
    items = [brief(row) for row in rows[page * size : (page + 1) * size]]
    return reply(shape.FileSchedulePage, {"items": items, "page": page, "size": size, "total": len(rows)})


@router.post("", response_model=shape.FileScheduleOut, status_code=201, summary="Begin a pipeline by the clock")
async def add_file_schedule(asked: shape.ScheduleAsked, door: Door, who: Caller = may("pipeline.admin")) -> Response:
    document = dict(asked.model_extra or {})
    tenant = document.get("tenant_id")
    same_tenant(who, tenant if isinstance(tenant, str) else None)
    if who.organization is not None:
        document.setdefault("organization_id", who.organization)
        same_organization(who, document["organization_id"])
    row = add_schedule(door, document)
    where = {"Location": f"/api/v1/pipelines/schedules/{row.id}"}
    return reply(shape.FileScheduleOut, brief(row), status=201, headers=where)


@router.get("/{scheduleId}", response_model=shape.FileScheduleOut, summary="One of them")
async def file_schedule(id: Number, door: Door, who: Caller = may("pipeline.read")) -> Response:
    return reply(shape.FileScheduleOut, brief(_one(door, who, id)))


@router.delete("/{scheduleId}", status_code=204, summary="End it: it begins nothing more (F-X.2)")
async def end_file_schedule(id: Number, door: Door, who: Caller = may("pipeline.admin")) -> Response:
    _one(door, who, id)
    end_schedule(door, id)
    return Response(status_code=204)


def _visible(door: Door, who: Caller, *, inactive: bool) -> list[FileScheduleRow]:
    rows = schedules(door, inactive=inactive)
    return [row for row in rows if who.organization in (None, row.organization_id)]


def _one(door: Door, who: Caller, id: int) -> FileScheduleRow:
    row = next((row for row in _visible(door, who, inactive=True) if row.id == id), None)
    if row is None:
        raise ScheduleNotFound(name=str(id))
    return row
