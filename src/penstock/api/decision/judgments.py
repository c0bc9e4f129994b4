"""Circuit breakers and judgments, as the store has them."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from penstock.api import paging
from penstock.api.audited import AuditedRoute
from penstock.api.decision import operation_shapes as shape
from penstock.api.replies import reply
from penstock.api.server_state import Caller, Door, may
from penstock.api.shapes.operations import BreakerPage
from penstock.api.time_fields import moment

router = APIRouter(tags=["operations"], route_class=AuditedRoute)


@router.get("/circuit-breakers", response_model=BreakerPage, summary="Every breaker")
async def breakers(door: Door, _: Caller = may("ops.read")) -> Response:
    return reply(BreakerPage, {"items": door.breakers()})


@router.post("/circuit-breakers/{workflow}/{node}/reset", response_model=BreakerPage, summary="Close one by hand")
async def reset(workflow: str, node: str, door: Door, _: Caller = may("ops.write")) -> Response:
    door.reset_breaker(f"{workflow}/{node}")
    return reply(BreakerPage, {"items": door.breakers()})


@router.get("/judgments", response_model=shape.JudgmentPage, summary="Verdicts with their inputs, the newest first")
async def judgments(
    door: Door, name: Annotated[str | None, Query(max_length=200)] = None,
    since: Annotated[str | None, Query(max_length=40)] = None, reviews: bool = False, limit: paging.Limit = 50,
    _: Caller = may("run.read"),
) -> Response:  # fmt: skip
    after = moment(since, "since") if since else 0
    page = door.judgments(since=after, reviews=reviews, name=name, limit=limit)
    return reply(shape.JudgmentPage, {"items": page, "next": None})
