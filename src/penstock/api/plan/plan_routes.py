"""What every route of projects shares: names in its path, and the plans of the caller's tenant."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import Depends, Path
from starlette.responses import Response

from penstock.api.plan import shapes as shape
from penstock.api.replies import reply
from penstock.api.server_state import Door
from penstock.app.plan.plans import Plans
from penstock.app.plan.views import Task

ProjectId = Annotated[str, Path(alias="id", max_length=200)]
TaskId = Annotated[str, Path(alias="tid", max_length=200)]
SessionId = Annotated[str, Path(alias="sid", max_length=200)]
TAG = "projects"
#: a task that is none of these is still on its way to what was asked
_OVER = ("completed", "cancelled", "failed")
#: tasks that are written on the loop: some 10 ms
_AT_ONCE = 200


async def _plans(door: Door) -> Plans:
    return Plans(door)


Planned = Annotated[Plans, Depends(_plans)]


async def every(tasks: list[Task]) -> Response:
    """All tasks of a plan; a long list is written in a thread, which gives way to other requests."""
    content = {"items": tasks}
    if len(tasks) <= _AT_ONCE:
        return reply(shape.TaskList, content)
    return await asyncio.to_thread(reply, shape.TaskList, content)


def moved(task: Task, *, over: bool = False) -> Response:
    """202 while what was asked for is under way; `over`: the task had to end by it."""
    there = task.status in _OVER if over else True
    return reply(shape.TaskOut, task, status=200 if there else 202)
