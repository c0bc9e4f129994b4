"""Agents and executions of a project: what they have said and changed, and that they are alive (T-2, T-3, T-X.7)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from penstock.api import paging
from penstock.api.audited import AuditedRoute
from penstock.api.plan import shapes as shape
from penstock.api.plan.plan_routes import TAG, Planned, ProjectId, SessionId
from penstock.api.replies import reply
from penstock.api.server_state import Caller, may

router = APIRouter(prefix="/projects/{id}", tags=[TAG], route_class=AuditedRoute)


@router.get("/agents", response_model=shape.TaskAgentList, summary="Its agents, and what they work on (T-2)")
async def agents(id: ProjectId, plans: Planned, _: Caller = may("plan.read")) -> Response:
    return reply(shape.TaskAgentList, {"items": plans.agents(id)})


@router.get("/executions", response_model=shape.TaskExecutionList, summary="Its executions, the newest first (T-3)")
async def executions(
    id: ProjectId, plans: Planned, task: Annotated[str | None, Query(max_length=200)] = None,
    limit: paging.Limit = 50, _: Caller = may("plan.read"),
) -> Response:  # fmt: skip
    return reply(shape.TaskExecutionList, {"items": plans.executions(id, task=task, limit=limit)})


@router.get("/executions/{sid}", response_model=shape.TaskExecutionOut, summary="One of them")
async def execution(id: ProjectId, sid: SessionId, plans: Planned, _: Caller = may("plan.read")) -> Response:
    return reply(shape.TaskExecutionOut, plans.execution(id, sid))


@router.get("/executions/{sid}/log", response_model=shape.SessionLogOut, summary="What its agent has said")
async def execution_log(
    id: ProjectId, sid: SessionId, plans: Planned,
    after: Annotated[int, Query(ge=0, le=2**53, description="`next` of the part before.")] = 0,
    limit: Annotated[int, Query(ge=1, le=10_000, description="How many lines at most.")] = 2000,
    _: Caller = may("plan.read"),
) -> Response:  # fmt: skip
    return reply(shape.SessionLogOut, plans.log(id, sid, after=after, limit=limit))


@router.get("/executions/{sid}/diff", response_model=shape.SessionDiff, summary="What it has changed")
async def execution_diff(id: ProjectId, sid: SessionId, plans: Planned, _: Caller = may("plan.read")) -> Response:
    return reply(shape.SessionDiff, {"session": sid, "diff": plans.diff(id, sid)})


@router.post("/executions/{sid}:heartbeat", response_model=shape.TaskExecutionOut, summary="Its agent is alive (T-X.7)")
async def heartbeat(id: ProjectId, sid: SessionId, plans: Planned, who: Caller = may("plan.write")) -> Response:
    """For an agent that works for long without writing anything."""
    return reply(shape.TaskExecutionOut, await plans.heartbeat(id, sid, by=who.user))
