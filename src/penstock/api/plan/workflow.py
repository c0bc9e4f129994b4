"""The workflow of a project: started, stopped, resumed, reset, and what it waits for (T-7, T-8.3, T-9)."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response, StreamingResponse

from penstock.api.audited import AuditedRoute
from penstock.api.plan import asked as body
from penstock.api.plan import shapes as shape
from penstock.api.plan.live import project_events
from penstock.api.plan.plan_routes import TAG, Planned, ProjectId
from penstock.api.replies import reply
from penstock.api.server_state import Caller, Server, may
from penstock.api.stream import EVENTS

router = APIRouter(prefix="/projects/{id}", tags=[TAG], route_class=AuditedRoute)
_START, _STOP = body.StartAsked.model_validate({}), body.StopAsked()


@router.post(
    "/workflow:start", response_model=shape.WorkflowStateOut, status_code=202, summary="Start the workflow (T-7.1)"
)
async def start_workflow(
    id: ProjectId, plans: Planned, asked: body.StartAsked = _START, who: Caller = may("plan.write")
) -> Response:
    state = await plans.start(id, force=asked.force, max_concurrent=asked.max_concurrent, by=who.user)
    return reply(shape.WorkflowStateOut, state, status=202)


@router.post(
    "/workflow:stop", response_model=shape.WorkflowStateOut, status_code=202,
    summary="Begin no more tasks; with `now` end those at work (T-7.1.10, T-X.32)",
)  # fmt: skip
async def stop_workflow(
    id: ProjectId, plans: Planned, asked: body.StopAsked = _STOP, who: Caller = may("plan.write")
) -> Response:
    return reply(shape.WorkflowStateOut, await plans.stop(id, now=asked.now, by=who.user), status=202)


@router.post(
    "/workflow:resume", response_model=shape.WorkflowStateOut, status_code=202, summary="Go on (T-9.2.5, T-X.25)"
)
async def resume_workflow(id: ProjectId, plans: Planned, who: Caller = may("plan.write")) -> Response:
    return reply(shape.WorkflowStateOut, await plans.resume(id, by=who.user), status=202)


@router.post(
    "/workflow:reset", response_model=shape.WorkflowStateOut, status_code=202,
    summary="End what runs, and begin anew with what is not over (T-X.25)",
)  # fmt: skip
async def reset_workflow(id: ProjectId, plans: Planned, who: Caller = may("plan.admin")) -> Response:
    return reply(shape.WorkflowStateOut, await plans.reset(id, by=who.user), status=202)


@router.get("/workflow/state", response_model=shape.WorkflowStateOut, summary="How it stands (T-9.1, T-X.38)")
async def workflow_state(id: ProjectId, plans: Planned, _: Caller = may("plan.read")) -> Response:
    return reply(shape.WorkflowStateOut, plans.state(id))


@router.get("/workflow/next", response_model=shape.NextTask, summary="The task that would be next (T-5.2.2)")
async def next_task(id: ProjectId, plans: Planned, _: Caller = may("plan.read")) -> Response:
    return reply(shape.NextTask, {"task": plans.next_task(id)})


@router.get("/deadlocks", response_model=shape.DeadlockList, summary="Tasks that wait for each other (T-8.3)")
async def deadlocks(id: ProjectId, plans: Planned, _: Caller = may("plan.read")) -> Response:
    return reply(shape.DeadlockList, {"items": plans.deadlocks(id)})


@router.get(
    "/events", summary="What happens in it, as it happens (SSE; T-R.9)", responses=EVENTS,
    response_class=StreamingResponse,
)  # fmt: skip
async def events(
    id: ProjectId, request: Request, plans: Planned, server: Server, who: Caller = may("plan.read")
) -> StreamingResponse:
    """The same come by GET /stream and GET /events for the whole tenant."""
    known = plans.project(id)
    last, still_allowed = request.headers.get("last-event-id"), server.identity.still_allowed(request, who)
    messages = project_events(server.hub, plans.door, known.id, last, still_allowed)
    return StreamingResponse(messages, media_type="text/event-stream")
