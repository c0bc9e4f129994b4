"""Projects, agents and doors for tests of plans: real folders, real subprocesses, a scenario for each task."""

from __future__ import annotations

import asyncio
import functools
import json
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ParamSpec

from penstock.app.penstock import Penstock
from penstock.app.plan.background import PlanWork
from penstock.app.plan.plans import Plans
from penstock.app.plan.views import Task
from penstock.lang.plan.front_matter import new_file, read_front_matter

P = ParamSpec("P")
AGENT = Path(__file__).with_name("task_agent.py")
#: what a scripted agent says when it has done everything that it was asked for
DONE: list[dict[str, Any]] = [{"init": True}, {"result": "done"}]
FAILS: list[dict[str, Any]] = [{"init": True}, {"exit": 1}]


def played(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """A test that is played in a loop of its own."""

    @functools.wraps(test)
    def play(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(test(*args, **kwargs))

    return play


def claims(*criteria: str) -> list[dict[str, Any]]:
    """A run that declares these criteria met."""
    return [{"init": True}, {"event": {"type": "result", "result": "done", "matched_criteria": list(criteria)}}]


def a_project(
    folder: Path, tasks: Mapping[str, Mapping[str, Any]], *, scenarios: Mapping[str, Any] | None = None,
    agents: tuple[str, ...] = ("a1", "a2", "a3"), **plan: Any,
) -> Path:  # fmt: skip
    """A folder with task files, agents that do what `scenarios` say, and quick intervals."""
    (folder / "tasks").mkdir(parents=True, exist_ok=True)
    (folder / "agents").mkdir(exist_ok=True)
    told = folder.parent / f"{folder.name}.scenarios.json"
    told.write_text(json.dumps(scenarios or {}))
    command = [sys.executable, str(AGENT), str(told)]
    settings = {
        "name": folder.name, "retry_delays_s": [0], "term_s": 1, "kill_s": 2, "critical_files": [], "command": command,
        **plan,
    }  # fmt: skip
    (folder / "plan.yaml").write_text(json.dumps({"plan": settings}))
    for name in agents:
        (folder / "agents" / f"{name}.md").write_bytes(new_file({"name": name}, f"You are {name}."))
    for id, fields in tasks.items():
        write_task(folder, id, **fields)
    return folder


def write_task(folder: Path, id: str, *, body: str = "Do it.", **fields: Any) -> Path:
    path = folder / "tasks" / f"{id}.md"
    path.write_bytes(new_file({"id": id, "title": f"Task {id}", **fields}, body))
    return path


def scenario(folder: Path, **changed: Any) -> None:
    """What agents do from now on."""
    told = folder.parent / f"{folder.name}.scenarios.json"
    told.write_text(json.dumps({**json.loads(told.read_text()), **changed}))


def fields_of(folder: Path, id: str) -> dict[str, Any]:
    return read_front_matter((folder / "tasks" / f"{id}.md").read_bytes()).fields


@asynccontextmanager
async def driven(store: Path, *, work: bool = True, **options: Any) -> AsyncIterator[Plans]:
    """A door that drives, with what goes on beside it."""
    async with Penstock(store, **options) as door:
        beside = PlanWork(door) if work else None
        if beside is not None:
            beside.open()
        try:
            yield Plans(door)
        finally:
            if beside is not None:
                await beside.close()


async def until(condition: Callable[[], Any], most: float = 120) -> None:
    async with asyncio.timeout(most):
        while not condition():
            await asyncio.sleep(0.02)


def one(plans: Plans, project: str, id: str) -> Task:
    return plans.task(project, id).task


def statuses(plans: Plans, project: str) -> dict[str, str]:
    return {task.id: task.status for task in plans.tasks(project)}


async def ended(plans: Plans, project: str, id: str) -> Task:
    """Until a task is over, or waits for a review."""
    await until(
        lambda: (
            one(plans, project, id).status in ("completed", "failed", "cancelled")
            or one(plans, project, id).review_required
        )
    )
    return one(plans, project, id)


async def settled(plans: Plans, project: str, status: str = "completed") -> None:
    """Until the workflow stands like this."""
    await until(lambda: plans.project(project).status == status)
