"""Commands that look at a plan: how it stands, its board, its cycles, its health."""

from __future__ import annotations

import asyncio
from typing import Annotated

import msgspec
import typer

from penstock.app.plan.health import Health
from penstock.app.plan.plans import Plans
from penstock.app.plan.views import Deadlock, Execution, TaskDetail
from penstock.cli.drive import until_done
from penstock.cli.options import STORE, Json, Store
from penstock.cli.output import DONE, FAILED, TONES, console, moment, print_json, print_list, print_one, say, short
from penstock.cli.plan.board import Board, how_it_stands, print_board, read_board
from penstock.cli.plan.live_board import LiveBoard
from penstock.cli.plan.project import HERE, Folder, reading_plans

_LOOK_S = 0.25  # seconds between two looks


def status(
    folder: Folder = HERE,
    task: Annotated[str | None, typer.Argument(metavar="[TASK]", help="Only this task, with its attempts.")] = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Say how a project's workflow stands, or one of its tasks with its attempts."""
    with reading_plans(store, folder) as asked:
        if task is not None:
            return print_one(asked.plans.task(asked.project, task), json, msgspec.to_builtins, _print_task)
        board = read_board(asked.plans, asked.project)
    if json:
        print_json({**msgspec.to_builtins(board.state), "tasks": msgspec.to_builtins(board.tasks)})
        return DONE
    print_board(board)
    return DONE


def board(
    folder: Folder = HERE,
    once: Annotated[bool, typer.Option("--once", help="Print it once, and end.")] = False,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Show the board of a project that another process drives, until its workflow ends or Ctrl-C."""
    with reading_plans(store, folder) as asked:
        board = read_board(asked.plans, asked.project)
        if json:
            print_json(board_json(board))
            return DONE
        if once or not console().is_terminal:
            print_board(board)
            return DONE
        until_done(_follow(asked.plans, asked.project))
    return DONE


async def _follow(plans: Plans, project: str) -> None:
    async with LiveBoard() as live:
        while True:
            board = read_board(plans, project)
            live.show(board)
            if board.state.status not in ("running", "paused") and not board.working:
                return
            await asyncio.sleep(_LOOK_S)


def board_json(board: Board) -> dict[str, object]:
    return {name: msgspec.to_builtins(value) for name, value in zip(board._fields, board, strict=True)}


def deadlocks(folder: Folder = HERE, json: Json = False, store: Store = STORE) -> int:
    """List tasks that wait for each other, and what can be done about it."""
    with reading_plans(store, folder) as asked:
        found = asked.plans.deadlocks(asked.project)
    return print_list(found, json, msgspec.to_builtins, _print_deadlock, empty="No task waits for itself.")


def _print_deadlock(deadlock: Deadlock) -> None:
    way = " → ".join([*deadlock.cycle, deadlock.cycle[0]])
    if deadlock.removed:
        say((way, "bold"), f"  broken: {deadlock.removed[0]} no longer waits for {deadlock.removed[1]}")
        return
    say((way, "bold"), ("  they wait for each other", TONES["failed"]))
    for suggestion in deadlock.suggestions:
        say(f"  {suggestion}")


def health(folder: Folder = HERE, json: Json = False, store: Store = STORE) -> int:
    """Check a project's health: tasks that are stuck, silent agents, failures, missing files. Exit code 3 on error."""

    async def check() -> Health:
        with reading_plans(store, folder) as asked:
            return await asked.plans.check(asked.project)

    found = until_done(check())
    print_one(found, json, msgspec.to_builtins, _print_health)
    return FAILED if found.status == "error" else DONE


_TONES = {"healthy": TONES["done"], "warning": TONES["held"], "error": TONES["failed"]}


def _print_health(health: Health) -> None:
    say((health.status, _TONES.get(health.status, "")), f"  score {health.score}")
    for issue in health.issues:
        say(f"  {issue.text}")


def _print_task(detail: TaskDetail) -> None:
    task = detail.task
    say(("task ", "bright_black"), (task.id, "bold"), f"  {task.title}", ("  " + how_it_stands(task), "bright_black"))
    for dependency in task.depends_on:
        optional = ", optional" if dependency.optional else ""
        removed = ", removed to break a cycle" if dependency.removed else ""
        say(("  after ", "bright_black"), f"{dependency.id} {dependency.status}{optional}{removed}")
    for criterion in detail.criteria:
        print_criterion(criterion.text, criterion.matched)
    for execution in detail.executions:
        _print_execution(execution)
    if task.review_notes:
        say(("  notes ", "bright_black"), short(task.review_notes, 400))


def print_criterion(text: str, matched: bool | None) -> None:
    mark = (
        ("[ ]", "bright_black") if matched is None else ("[x]", TONES["done"]) if matched else ("[ ]", TONES["failed"])
    )
    say("  ", mark, f" {text}")


def _print_execution(execution: Execution) -> None:
    tone = TONES["done"] if execution.status == "completed" else TONES["failed"] if execution.error else ""
    when = moment(execution.started_at) if execution.started_at is not None else "not begun"
    took = f", {execution.duration_ms / 1000:.1f} s" if execution.duration_ms is not None else ""
    error = f"  {short(execution.error, 120)}" if execution.error else ""
    cost = f", {execution.tokens_in + execution.tokens_out} tokens" if execution.tokens_out else ""
    cost += f", ${execution.cost_usd:.4f}" if execution.cost_usd else ""
    say(
        f"  attempt {execution.attempt} ", (execution.status, tone), f"  {execution.agent}, {when}{took}{cost}", error,
        (f"  {execution.session}", "bright_black"),
    )  # fmt: skip
