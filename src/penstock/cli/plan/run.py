"""penstock plan run and resume: a project's workflow, driven in this process with its board in the terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.drive import until_done
from penstock.cli.identity import By
from penstock.cli.options import STORE, Json, Profile, Store
from penstock.cli.output import INTERRUPTED, console, print_interrupted, store_option
from penstock.cli.plan.driving import Wanted, WorkflowDriver
from penstock.cli.plan.project import HERE, Folder, folder_of
from penstock.cli.plan.served import serve_plan
from penstock.cli.serve import PORT, Port
from penstock.errors import BadInput

MaxConcurrent = Annotated[
    int | None, typer.Option("--max-concurrent", metavar="N", min=1, help="How many tasks at once, as plan.yaml says.")
]
Force = Annotated[bool, typer.Option("--force", help="Start it although its health is «error».")]
Trust = Annotated[bool, typer.Option("--trust", help="Let the project's criteria start commands.")]
Console = Annotated[
    bool, typer.Option("--console", help="Serve the console and the API beside it, on this machine only.")
]
Events = Annotated[
    bool, typer.Option("--events", help="Print its events as they happen, one line of JSON each, and no board.")
]
Once = Annotated[
    bool, typer.Option("--once", "--until-idle", help="End when nothing runs, though something waits for a person.")
]


def run(
    folder: Folder = HERE,
    max_concurrent: MaxConcurrent = None,
    force: Force = False,
    trust: Trust = False,
    resume: Annotated[
        bool | None, typer.Option("--resume/--no-resume", help="Go on with a workflow that was left, or set it back.")
    ] = None,
    once: Once = False,
    console: Console = False,
    port: Port = PORT,
    events: Events = False,
    by: By = None,
    profile: Profile = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Let agents do the tasks of a project, and show the board until everything is done.

    The first Ctrl-C lets running tasks end and starts none, the second ends them. After a kill -9, `penstock plan
    resume` goes on: agents that live are watched again, tasks of dead ones are pending again. Exit codes: 0 everything
    is completed, 3 a task has failed, 4 something waits for a person."""
    for word, given in (("--json", json), ("--console", console)):
        if events and given:
            raise BadInput(what=f"--events and {word}", why="only one of them can be done")
    wanted = Wanted(folder_of(folder), str(folder), max_concurrent, force, trust, resume, once, by, events=events)
    return _drive(wanted, store, profile, json, port if console else None)


def resume(
    folder: Folder = HERE,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    force: Force = False,
    once: Once = False,
    console: Console = False,
    port: Port = PORT,
    by: By = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Go on with a workflow that was stopped, or whose process was killed.

    On a terminal it asks before: «no» sets the workflow back, and running tasks are pending again."""
    answer = None if not yes and _on_terminal() else True
    wanted = Wanted(folder_of(folder), str(folder), None, force, False, answer, once, by, only_resume=True)
    return _drive(wanted, store, None, json, port if console else None)


def _drive(wanted: Wanted, store: Path, profile: str | None, json: bool, port: int | None) -> int:
    asks = _on_terminal() and not json and not wanted.events
    driver = WorkflowDriver(wanted, store, profile, json=json, ask=_ask if asks else None)
    if port is not None:
        return serve_plan(driver, port)
    try:
        return until_done(driver.work())
    except KeyboardInterrupt:
        hint = f"go on with: penstock plan resume {wanted.shown}{store_option(store)}"
        print_interrupted("Interrupted. Agents that still work go on.", hint, json=json)
        return INTERRUPTED


def _on_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _ask(question: str) -> bool | None:
    """Yes or no; None where nothing is answered."""
    try:
        answer = console().input(f"{question} [y/n] ").strip().lower()
    except EOFError:
        return None
    return True if answer in ("y", "yes", "예", "네") else False if answer in ("n", "no", "아니요", "아니오") else None
