"""Tasks of a project: looked at, added, executed, reviewed (T-1, T-5, T-X.39)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from penstock.api.audited import AuditedRoute
from penstock.api.plan import asked as body
from penstock.api.plan import shapes as shape
from penstock.api.plan.plan_routes import TAG, Planned, ProjectId, TaskId, every, moved
from penstock.api.replies import reply
from penstock.api.server_state import Caller, may
from penstock.errors import NotAllowed

router = APIRouter(prefix="/projects/{id}/tasks", tags=[TAG], route_class=AuditedRoute)
Status = Annotated[
    str | None, Query(max_length=20, pattern="^(pending|in_progress|completed|cancelled|failed)$")
]  # fmt: skip
_EXECUTE, _APPROVE = body.ExecuteAsked(), body.ApproveAsked()
_COMPLETE = body.CompleteAsked()


@router.get("", response_model=shape.TaskList, summary="Its tasks")
async def tasks(id: ProjectId, plans: Planned, status: Status = None, _: Caller = may("plan.read")) -> Response:
    return await every(plans.tasks(id, status))


@router.post("", response_model=shape.TaskOut, status_code=201, summary="Add a task, and its file")
async def add_task(id: ProjectId, asked: body.TaskAsked, plans: Planned, who: Caller = may("plan.write")) -> Response:
    task = await plans.add_task(id, dict(asked.model_extra or {}), by=who.user)
    return reply(shape.TaskOut, task, status=201, headers={"Location": f"/api/v1/projects/{id}/tasks/{task.id}"})


@router.get("/{tid}", response_model=shape.TaskDetailOut, summary="One of them, with its criteria and attempts")
async def task(id: ProjectId, tid: TaskId, plans: Planned, _: Caller = may("plan.read")) -> Response:
    return reply(shape.TaskDetailOut, plans.task(id, tid))


@router.patch("/{tid}", response_model=shape.TaskOut, summary="Give it other dependencies (T-8.3.5)")
async def change_task(
    id: ProjectId, tid: TaskId, asked: body.TaskChange, plans: Planned, who: Caller = may("plan.write")
) -> Response:
    return reply(shape.TaskOut, await plans.change_task(id, tid, depends_on=asked.depends_on, by=who.user))


@router.get("/{tid}/can-execute", response_model=shape.CanExecuteOut, summary="Could it be executed now? (T-5.2.3)")
async def can_execute(id: ProjectId, tid: TaskId, plans: Planned, _: Caller = may("plan.read")) -> Response:
    return reply(shape.CanExecuteOut, plans.can_execute(id, tid))


@router.post("/{tid}:start", response_model=shape.TaskOut, status_code=202, summary="Execute it: `startTask` (T-1.2.1)")
async def start_task(
    id: ProjectId, tid: TaskId, plans: Planned, asked: body.ExecuteAsked = _EXECUTE, who: Caller = may("plan.write")
) -> Response:
    return await _executed(id, tid, asked, plans, who)


@router.post("/{tid}:execute", response_model=shape.TaskOut, status_code=202, summary="Execute it now (T-5)")
async def execute_task(
    id: ProjectId, tid: TaskId, plans: Planned, asked: body.ExecuteAsked = _EXECUTE, who: Caller = may("plan.write")
) -> Response:
    """Refused with what blocks it, or with AGENT-409-BUSY; with `queue` it begins when its agent is free."""
    return await _executed(id, tid, asked, plans, who)


async def _executed(id: str, tid: str, asked: body.ExecuteAsked, plans: Planned, who: Caller) -> Response:
    task = await plans.execute(id, tid, queue=asked.queue, skill=asked.skill, by=who.user)
    return reply(shape.TaskOut, task, status=202)


@router.post("/{tid}:complete", response_model=shape.TaskOut, summary="Say that it is done: `completeTask` (T-1.2.2)")
async def complete_task(
    id: ProjectId, tid: TaskId, plans: Planned, asked: body.CompleteAsked = _COMPLETE, who: Caller = may("plan.write")
) -> Response:
    """One that waits for a review is approved by it, which needs `plan.review`."""
    if plans.task(id, tid).task.review_required and "plan.review" not in who.permissions:
        raise NotAllowed(user=who.user, permission="plan.review")
    return moved(await plans.complete(id, tid, notes=asked.notes, by=who), over=True)


@router.post("/{tid}:cancel", response_model=shape.TaskOut, summary="Cancel it; its process is ended first (T-X.3)")
async def cancel_task(id: ProjectId, tid: TaskId, plans: Planned, who: Caller = may("plan.write")) -> Response:
    """202 while its process is being ended."""
    return moved(await plans.cancel(id, tid, by=who.user), over=True)


@router.post("/{tid}:retry", response_model=shape.TaskOut, summary="A failed task is pending again (T-X.1)")
async def retry_task(id: ProjectId, tid: TaskId, plans: Planned, who: Caller = may("plan.write")) -> Response:
    return moved(await plans.retry(id, tid, by=who.user))


@router.post("/{tid}:review-approve", response_model=shape.TaskOut, summary="It is done well enough (T-X.14)")
async def approve_review(
    id: ProjectId, tid: TaskId, plans: Planned, asked: body.ApproveAsked = _APPROVE, who: Caller = may("plan.review")
) -> Response:
    return moved(await plans.review_approve(id, tid, comment=asked.comment or "", by=who), over=True)


@router.post("/{tid}:review-reject", response_model=shape.TaskOut, summary="It is to be done again (T-X.14)")
async def reject_review(
    id: ProjectId, tid: TaskId, asked: body.RejectAsked, plans: Planned, who: Caller = may("plan.review")
) -> Response:
    return moved(await plans.review_reject(id, tid, comment=asked.comment, by=who))


@router.post("/{tid}:force-complete", response_model=shape.TaskOut, summary="Say that it is done, unexecuted (T-X.30)")
async def force_complete(
    id: ProjectId, tid: TaskId, asked: body.ForceAsked, plans: Planned, who: Caller = may("plan.admin")
) -> Response:
    return moved(await plans.force_complete(id, tid, reason=asked.reason, by=who.user), over=True)


@router.post(
    "/{tid}/worktree", response_model=shape.TaskExecutionOut, summary="Merge, keep or discard what an agent has changed"
)
async def settle_worktree(
    id: ProjectId, tid: TaskId, asked: body.WorktreeAsked, plans: Planned, who: Caller = may("plan.review")
) -> Response:
    return reply(shape.TaskExecutionOut, await plans.worktree(id, tid, asked.action, by=who))
