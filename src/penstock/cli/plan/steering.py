"""Commands that change how a plan goes on: stop, reset, execute, cancel, retry, force-complete."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from penstock.app.plan.views import Task, WorkflowState
from penstock.cli.identity import By
from penstock.cli.options import STORE, Json, Store
from penstock.cli.output import DONE, FAILED, WAITS, print_json, print_one, say
from penstock.cli.plan.board import how_it_stands
from penstock.cli.plan.project import HERE, Asked, Folder, GivenFolder, TaskId, steer
from penstock.cli.run import idle
from penstock.store.address import driver_of

_LOOK_S = 0.05  # seconds between two looks
_QUIET_S = 0.3  # how long nothing must happen before a store counts as idle


def stop(
    folder: Folder = HERE,
    now: Annotated[bool, typer.Option("--now", help="End the running tasks, too: they are pending again.")] = False,
    by: By = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Stop a workflow: running tasks may end, and none begins. It goes on with `penstock plan resume`."""

    async def command(asked: Asked) -> WorkflowState:
        state = await asked.plans.stop(asked.project, now=now, by=asked.by)
        return await _until_ended(asked, store) if now else state

    return print_one(steer(store, folder, by, "plan.write", command), json, msgspec.to_builtins, _print_state)


def reset(folder: Folder = HERE, by: By = None, json: Json = False, store: Store = STORE) -> int:
    """Set a workflow back: running tasks are ended and pending again; what is completed, failed or cancelled stays."""

    async def command(asked: Asked) -> WorkflowState:
        await asked.plans.reset(asked.project, by=asked.by)
        return await _until_ended(asked, store)

    return print_one(steer(store, folder, by, "plan.admin", command), json, msgspec.to_builtins, _print_state)


async def _until_ended(asked: Asked, store: Path) -> WorkflowState:
    """Until the processes of running tasks are gone, as long as somebody ends them."""
    while (state := asked.plans.state(asked.project)).running and _goes_on(asked, store):
        await asyncio.sleep(_LOOK_S)
    return state


def _goes_on(asked: Asked, store: Path) -> bool:
    """Somebody drives the store: this process, or another one."""
    door = asked.plans.door
    if door.drives:
        door.raise_if_stopped()
    return door.drives or driver_of(store) is not None


def _print_state(state: WorkflowState) -> None:
    why = f" ({state.why})" if state.why and state.status == "paused" else ""
    running = f"; {len(state.running)} may still end" if state.running else ""
    say(("workflow ", "bright_black"), (state.status, "bold"), f"{why}{running}")


def execute(
    folder: GivenFolder,
    task: TaskId,
    queue: Annotated[bool, typer.Option("--queue", help="If its agent is busy, begin when it is free.")] = False,
    skill: Annotated[
        str | None, typer.Option("--skill", metavar="ID", help="The skill, instead of the task's.")
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="While another process drives the plan: wait until the task is over.")
    ] = False,
    by: By = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Execute one task now, whether the workflow runs or not.

    Where nobody drives the store, this process does it until the task is over. Exit code 3: it failed; 4: it waits for
    a review."""

    async def command(asked: Asked) -> Task:
        begun = await asked.plans.execute(asked.project, task, queue=queue, skill=skill, by=asked.by)
        return await _until_over(asked, store, task) if wait or asked.plans.door.drives else begun

    return _tell(steer(store, folder, by, "plan.write", command), json)


async def _until_over(asked: Asked, store: Path, task: str) -> Task:
    """It has ended, or waits for a review. Where this process drives: nothing else is under way either, such as what
    others have asked of it meanwhile."""
    door, busy_at = asked.plans.door, time.monotonic()
    while True:
        stands = asked.plans.task(asked.project, task).task
        over = stands.status not in ("pending", "in_progress") or stands.review_required
        if not door.drives and (over or not _goes_on(asked, store)):
            return stands
        if door.drives:
            door.raise_if_stopped()
            busy_at = busy_at if idle(door.host) else time.monotonic()
            if time.monotonic() - busy_at > _QUIET_S:
                return stands
        await asyncio.sleep(_LOOK_S)


def cancel(folder: GivenFolder, task: TaskId, by: By = None, json: Json = False, store: Store = STORE) -> int:
    """Cancel a task that is pending or in progress. Its process is ended first."""

    async def command(asked: Asked) -> Task:
        asked_for = await asked.plans.cancel(asked.project, task, by=asked.by)
        while asked_for.status == "in_progress" and _goes_on(asked, store):
            await asyncio.sleep(_LOOK_S)
            asked_for = asked.plans.task(asked.project, task).task
        return asked_for

    return _tell(steer(store, folder, by, "plan.write", command), json, over=False)


def retry(folder: GivenFolder, task: TaskId, by: By = None, json: Json = False, store: Store = STORE) -> int:
    """Let a failed task be pending again, with its retries counted anew."""

    async def command(asked: Asked) -> Task:
        return await asked.plans.retry(asked.project, task, by=asked.by)

    return _tell(steer(store, folder, by, "plan.write", command), json, over=False)


def force_complete(
    folder: GivenFolder,
    task: TaskId,
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; it is kept in its history.")],
    by: By = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Complete a pending task by hand, for example to end a deadlock. Only for administrators."""

    async def command(asked: Asked) -> Task:
        return await asked.plans.force_complete(asked.project, task, reason=reason, by=asked.by)

    return _tell(steer(store, folder, by, "plan.admin", command), json, over=False)


def _tell(task: Task, json: bool, *, over: bool = True) -> int:
    if json:
        print_json(task)
    else:
        say((task.id, "bold"), f"  {how_it_stands(task)}")
    if not over:
        return DONE
    return FAILED if task.status == "failed" else WAITS if task.review_required else DONE
