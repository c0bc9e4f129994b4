"""The project that a command is about, and the door through which it is asked."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Annotated, NamedTuple, TypeVar

import typer

from penstock.app.access.candidates import id_of
from penstock.app.plan import APP
from penstock.app.plan.plans import Plans
from penstock.app.plan.projects import POOL
from penstock.app.plan.views import Project
from penstock.cli.drive import attached, driving_or_attached, until_done
from penstock.cli.identity import identify
from penstock.errors import BadInput, ProjectNotFound
from penstock.kernel import command as C
from penstock.kernel.state import COMPLETED

T = TypeVar("T")
HERE = Path()

Folder = Annotated[
    Path, typer.Argument(metavar="[DIR]", help="The project's folder, or the id of one that is registered.")
]
#: of commands that are also about a task, which stands behind it
GivenFolder = Annotated[Path, typer.Argument(metavar="DIR", help="The project's folder, or its id.")]
TaskId = Annotated[str, typer.Argument(metavar="TASK", help="The task's id.")]


class Asked(NamedTuple):
    """Whose plans, which project, and who asks."""

    plans: Plans
    project: str
    by: str


def folder_of(named: Path) -> Path:
    """The folder of a project that may not be registered yet. Raises BadInput."""
    if not named.is_dir():
        hint = f"Make one with `penstock plan init {named}`." if not named.exists() else ""
        raise BadInput(what=f"«{named}»", why="it is no folder", hint=hint)
    return named.resolve()


def find_project(plans: Plans, named: Path) -> Project:
    """By its folder, or by its id. Raises ProjectNotFound."""
    registered = plans.projects()
    path = str(named.resolve())
    for project in registered:
        if project.path == path or named.name and str(named) in (project.id, project.name):
            return project
    raise ProjectNotFound(project=str(named), hint=f"`penstock plan run {named}` registers the folder and runs it.")


def asked_by(plans: Plans, by: str | None, permission: str) -> str:
    """The name of whoever asks; empty where nobody has said. Raises NotAllowed and its like."""
    who = identify(plans.door, by, permission)
    return id_of(who) if who is not None else ""


@contextlib.contextmanager
def reading_plans(store: Path, named: Path) -> Iterator[Asked]:
    """A project as it stands, also while another process drives it."""
    with attached(store) as door:
        plans = Plans(door)
        yield Asked(plans, find_project(plans, named).id, "")


@contextlib.asynccontextmanager
async def steering_plans(store: Path, named: Path, by: str | None, permission: str) -> AsyncIterator[Asked]:
    """A project, to command it: in this process, or through the inbox of the one that drives the store."""
    async with contextlib.AsyncExitStack() as stack:
        door = await driving_or_attached(stack, store)
        plans = Plans(door)
        project = find_project(plans, named)
        asked = Asked(plans, project.id, asked_by(plans, by, permission))
        if door.drives:
            background = APP.background(door)  # task files and the state file are written by it
            background.open()
            stack.push_async_callback(background.close)
            await _take_over(plans, project)
        yield asked


async def _take_over(plans: Plans, project: Project) -> None:
    """Agents of a process that is gone are watched again. Whether its workflow goes on, somebody says (T-X.25)."""
    if project.run is None or plans.door.row(project.run).status >= COMPLETED:
        return
    plans.door.go_on(project.run)
    if project.status == "running":
        await plans.door.command(project.run, C.limit(POOL, 0, "restarted"))


def steer(store: Path, named: Path, by: str | None, permission: str, command: Callable[[Asked], Awaitable[T]]) -> T:
    """Does it, and waits until it is committed."""

    async def work() -> T:
        async with steering_plans(store, named, by, permission) as asked:
            return await command(asked)

    return until_done(work())
