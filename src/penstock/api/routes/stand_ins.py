"""Systems outside that the seed names (C-66): stand-ins in the dev profile, and elsewhere a hint at the real ones."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import Response

from penstock.api.audited import AuditedRoute
from penstock.api.replies import reply
from penstock.api.server_state import Caller, Door, may
from penstock.api.shapes import stand_ins as shape
from penstock.demo.stand_ins import lab_result, release_parts

router = APIRouter(tags=["stand-ins"], route_class=AuditedRoute)


@router.get("/lab/results/{sample_id}", response_model=shape.SampleOut, summary="What became of a sample (dev)")
async def sample(
    sample_id: Annotated[str, Path(max_length=200)], door: Door, _: Caller = may("registry.read")
) -> Response:
    return reply(shape.SampleOut, lab_result(door, sample_id, door.now()))


@router.post("/inventory/release", response_model=shape.ReleasedOut, summary="Give reserved parts free again (dev)")
async def release(asked: shape.ReleaseAsked, door: Door, _: Caller = may("events.send")) -> Response:
    return reply(shape.ReleasedOut, release_parts(door, asked.reservation_id, asked.reason, door.now()))
