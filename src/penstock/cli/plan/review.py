"""penstock plan review: the diff and the criteria of a task that is in doubt, and a person's verdict."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from penstock.app.plan.plans import Plans
from penstock.app.plan.views import Execution, Task, TaskDetail
from penstock.cli.identity import By
from penstock.cli.options import STORE, Json, Store
from penstock.cli.output import DONE, console, print_json, say, short
from penstock.cli.plan.board import how_it_stands
from penstock.cli.plan.look import print_criterion
from penstock.cli.plan.project import Asked, GivenFolder, reading_plans, steer
from penstock.errors import BadInput

_DIFF_LINES = 400  # more than these are read with git
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def review(
    folder: GivenFolder,
    task: Annotated[str | None, typer.Argument(metavar="[TASK]", help="The task; without it, those that wait.")] = None,
    approve: Annotated[bool, typer.Option("--approve", help="It is completed as it is.")] = False,
    reject: Annotated[bool, typer.Option("--reject", help="It is done again, with --comment as instruction.")] = False,
    comment: Annotated[str, typer.Option("--comment", "-m", metavar="TEXT", help="Why.")] = "",
    merge: Annotated[bool, typer.Option("--merge", help="Merge the branch of its worktree into the project.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Leave its branch and its worktree as they are.")] = False,
    discard: Annotated[bool, typer.Option("--discard", help="Remove its worktree and its branch.")] = False,
    by: By = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Look at a task's work: what it has changed, and which criteria it meets. Then approve or reject it.

    On a terminal it asks for the verdict. Without a task it lists what waits for review."""
    wanted = [word for word, on in _given(approve, reject, merge, keep, discard) if on]
    if len(wanted) > 1:
        raise BadInput(what=" and ".join(f"--{word}" for word in wanted), why="only one of them can be done")
    if reject and not comment:
        raise BadInput(what="--comment", why="whoever does it again must know why", hint='Say --comment "…".')
    with reading_plans(store, folder) as asked:
        if task is None:
            return _list(asked.plans.tasks(asked.project), json)
        detail = asked.plans.task(asked.project, task)
        diff = _diff(asked.plans, asked.project, detail)
    if not wanted and not json:
        _show(detail, diff)
        if detail.task.review_required and sys.stdin.isatty() and sys.stdout.isatty():
            wanted, comment = _ask()
    if not wanted:
        if json:
            print_json({**msgspec.to_builtins(detail), "diff": diff})
        return DONE
    return _decide(store, folder, task, wanted[0], comment, by, json)


def _given(*flags: bool) -> list[tuple[str, bool]]:
    return list(zip(("approve", "reject", "merge", "keep", "discard"), flags, strict=True))


def _decide(store: Path, folder: Path, task: str, verdict: str, comment: str, by: str | None, json: bool) -> int:
    async def command(asked: Asked) -> Task | Execution:
        plans, project = asked.plans, asked.project
        if verdict == "approve":
            return await plans.review_approve(project, task, comment=comment, by=asked.by)
        if verdict == "reject":
            return await plans.review_reject(project, task, comment=comment, by=asked.by)
        return await plans.worktree(project, task, verdict, by=asked.by)

    done = steer(store, folder, by, "plan.review", command)
    if json:
        print_json(done)
    elif isinstance(done, Task):
        say((done.id, "bold"), f"  {how_it_stands(done)}")
    else:
        say((done.task, "bold"), f"  branch {done.branch or 'none'}: {done.merge}")
    return DONE


def _list(tasks: list[Task], json: bool) -> int:
    waiting = [task for task in tasks if task.review_required]
    if json:
        print_json(waiting)
        return DONE
    if not waiting:
        say("Nothing waits for review.")
    for task in waiting:
        say((task.id, "bold"), f"  {task.title}", ("  " + how_it_stands(task), "bright_black"))
    return DONE


def _diff(plans: Plans, project: str, detail: TaskDetail) -> str:
    newest = next((execution for execution in detail.executions if execution.has_diff), None)
    return plans.diff(project, newest.session) if newest is not None else ""


def _show(detail: TaskDetail, diff: str) -> None:
    task, newest = detail.task, detail.executions[0] if detail.executions else None
    say((task.id, "bold"), f"  {task.title}", ("  " + how_it_stands(task), "bright_black"))
    for criterion in detail.criteria:
        print_criterion(criterion.text, criterion.matched)
    if newest is not None and newest.last_line:
        say(("  says ", "bright_black"), short(newest.last_line, 400))
    lines = diff.splitlines()
    for line in lines[:_DIFF_LINES]:
        say("  ", (line, _COLOURS.get(line[:1], "")))
    if len(lines) > _DIFF_LINES and newest is not None:
        say((f"  … {len(lines) - _DIFF_LINES} more lines: git diff …{newest.branch}", "bright_black"))
    if not diff:
        say(("  no diff: nothing was changed, or the project is no git repository", "bright_black"))
    if task.review_required:
        say(("  decide with ", "bright_black"), '--approve, or --reject --comment "…"')


def _ask() -> tuple[list[str], str]:
    """At a terminal; Ctrl-D and an empty answer leave it as it is."""
    try:
        answer = console().input("  approve, reject, or Enter to leave it: ").strip().lower()
        if answer in ("a", "approve", "y", "yes"):
            return ["approve"], ""
        if answer in ("r", "reject", "n", "no"):
            comment = console().input("  what should be different? ").strip()
            return (["reject"], comment) if comment else ([], "")
    except EOFError:
        pass
    return [], ""
