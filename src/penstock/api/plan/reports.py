"""Reports of projects: those that there are, and a new one of each active project (T-6, T-R)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from penstock.api import paging
from penstock.api.audited import AuditedRoute
from penstock.api.plan import shapes as shape
from penstock.api.plan.plan_routes import TAG, Planned
from penstock.api.replies import reply
from penstock.api.server_state import Caller, may

router = APIRouter(tags=[TAG], route_class=AuditedRoute)
Type = Annotated[
    str | None,
    Query(max_length=20, pattern="^(completion|progress|failure|periodic|incident|zombie|error|summary)$"),
]  # fmt: skip


@router.get("/reports", response_model=shape.ReportList, summary="Reports, the newest first (T-R)")
async def list_reports(
    plans: Planned, type: Type = None, project: Annotated[str | None, Query(max_length=200)] = None,
    limit: paging.LongLimit = 100, _: Caller = may("plan.read"),
) -> Response:  # fmt: skip
    return reply(shape.ReportList, {"items": plans.reports(type, project, limit)})


@router.post("/reports:collect", response_model=shape.CollectedOut, summary="Collect one of each project now (T-6.1)")
async def collect_reports(plans: Planned, _: Caller = may("plan.write")) -> Response:
    """A project that cannot be reported on is skipped, and said."""
    return reply(shape.CollectedOut, await plans.collect())
