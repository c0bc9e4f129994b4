"""Live conformance: how ended instances fit the versions that they ran by, and which do not (P-7.2.2)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from starlette.responses import Response

from penstock.api import paging
from penstock.api.process import conformance_shapes as shape
from penstock.api.process.error_words import InProcessWords, same_tenant
from penstock.api.replies import reply
from penstock.api.server_state import Caller, Door, may
from penstock.app.process.mining.live.conformance import deviating_runs, fits_body

router = APIRouter(
    prefix="/processes", tags=["processes"], route_class=InProcessWords, dependencies=[Depends(same_tenant)]
)
Id = Annotated[str, Path(max_length=200)]
Name = Annotated[str, Query(max_length=1000)]


@router.get(
    "/definitions/{id}/conformance", response_model=shape.FitsOut, summary="How ended instances fit their own versions"
)
async def fits(id: Id, door: Door, _: Caller = may("definition.read")) -> Response:
    return reply(shape.FitsOut, fits_body(door, id))


@router.get(
    "/definitions/{id}/conformance/runs", response_model=shape.DeviatingRunPage,
    summary="Instances of a version with one first deviation",
)  # fmt: skip
async def deviating(
    id: Id, door: Door, version: Annotated[int, Query(ge=1, le=2_000_000_000)], kind: shape.DeviationKind,
    activity: Name, before: Name = "", after: Name = "", limit: paging.Limit = 50, cursor: paging.Cursor = None,
    _: Caller = may("run.read"),
) -> Response:  # fmt: skip
    behind = paging.read_cursor(cursor, int) or 0
    deviation = (kind, activity, before, after)
    rows = deviating_runs(door, id, version, deviation, behind, limit + 1)
    items = [{"id": row.run_id, "ended_at": row.at} for row in rows[:limit]]
    following = paging.cursor_of(rows[limit - 1].run) if len(rows) > limit else None
    return reply(shape.DeviatingRunPage, {"items": items, "next": following})
