"""Commands about projects as a whole: the registry, what their files say anew, and their reports."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from penstock.app.plan.plans import Plans
from penstock.app.plan.reports import Collected, Report
from penstock.app.plan.views import Project, Sync
from penstock.cli.drive import attached, driving_or_attached, until_done
from penstock.cli.identity import By
from penstock.cli.options import STORE, Json, Limit, Store
from penstock.cli.output import TONES, moment, print_list, print_one, say, short, status_text
from penstock.cli.plan.project import HERE, Asked, Folder, asked_by, find_project, folder_of, reading_plans, steer
from penstock.errors import BadInput


def projects(
    add: Annotated[Path | None, typer.Option("--add", metavar="DIR", help="Register this folder.")] = None,
    enable: Annotated[Path | None, typer.Option("--enable", metavar="DIR", help="Let it be reported on.")] = None,
    disable: Annotated[Path | None, typer.Option("--disable", metavar="DIR", help="Leave it out of reports.")] = None,
    trust: Annotated[
        Path | None, typer.Option("--trust", metavar="DIR", help="Let its criteria start commands.")
    ] = None,
    distrust: Annotated[Path | None, typer.Option("--distrust", metavar="DIR", help="No longer.")] = None,
    by: By = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """List the registered projects, register one, or change what one may."""
    changes = {"add": add, "enable": enable, "disable": disable, "trust": trust, "distrust": distrust}
    given = {word: folder for word, folder in changes.items() if folder is not None}
    if len(given) > 1:
        raise BadInput(what=" and ".join(f"--{word}" for word in given), why="only one of them can be done")
    for word, folder in given.items():
        return print_one(until_done(_change(store, word, folder, by)), json, msgspec.to_builtins, _print_project)
    with attached(store) as door:
        listed = Plans(door).projects()
    empty = "No project is registered: `penstock plan run DIR` registers one and runs it."
    return print_list(listed, json, msgspec.to_builtins, _print_project, empty=empty)


async def _change(store: Path, word: str, folder: Path, by: str | None) -> Project:
    async with contextlib.AsyncExitStack() as stack:
        plans = Plans(await driving_or_attached(stack, store, create=word == "add"))
        who = asked_by(plans, by, "plan.admin")
        if word == "add":
            return await plans.register(folder_of(folder), by=who)
        project = find_project(plans, folder).id
        if word in ("enable", "disable"):
            return await plans.change(project, enabled=word == "enable")
        return await plans.change(project, trusted=word == "trust")


def _print_project(project: Project) -> None:
    counts = ", ".join(f"{count} {status}" for status, count in project.counts.items() if count)
    marks = [word for word, on in (("trusted", project.trusted), ("disabled", not project.enabled)) if on]
    say(
        (project.id, "bold"), "  ", status_text(project.status), f"  {project.health}",
        f" {project.score}" if project.score is not None else "", f"  {counts}" if counts else "",
        f"  {', '.join(marks)}" if marks else "",
    )  # fmt: skip
    missing = ("  the folder is not there", TONES["failed"]) if project.missing else ""
    say((f"  {project.path}", "bright_black"), missing)


def sync(
    folder: Folder = HERE,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")] = False,
    by: By = None,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """Take over what was edited in the task files: new tasks, changed dependencies, deleted files, statuses.

    The run goes on; what is under way is not disturbed."""

    async def planned() -> Sync:
        with reading_plans(store, folder) as asked:
            return await asked.plans.plan_sync(asked.project)

    async def command(asked: Asked) -> Sync:
        return await asked.plans.sync(asked.project, by=asked.by)

    found = until_done(planned()) if dry_run else steer(store, folder, by, "plan.write", command)
    return print_one(found, json, msgspec.to_builtins, print_sync)


def print_sync(found: Sync) -> None:
    for word, tasks in (("new", found.added), ("changed", found.changed), ("removed", found.removed)):
        for task in tasks:
            say((f"  {word} ", "bright_black"), task)
    for edit in found.statuses:
        refused = (f"  refused: {edit.refused}", TONES["failed"]) if edit.refused else ""
        say(("  status ", "bright_black"), f"{edit.task}: {edit.before} → {edit.after}", refused)
    for obstacle in found.obstacles:
        say(("  left out ", TONES["held"]), obstacle)
    if not (found.added or found.changed or found.removed or found.statuses or found.obstacles):
        say("The files say what the run knows.")
    elif not found.migrated:
        say(("take it over with ", "bright_black"), "penstock plan sync")


def report(
    folder: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", help="Only of this project; else of all of them.")
    ] = None,
    type: Annotated[
        str | None, typer.Option("--type", metavar="TYPE", help="Only these, as completion, incident, zombie, summary.")
    ] = None,
    collect: Annotated[bool, typer.Option("--collect", help="Report on every project now, as every hour.")] = False,
    limit: Limit = 20,
    json: Json = False,
    store: Store = STORE,
) -> int:
    """List reports, the newest first, or collect new ones of every project."""
    with attached(store) as door:
        plans = Plans(door)
        if collect:
            return print_one(until_done(plans.collect()), json, msgspec.to_builtins, _print_collected)
        project = find_project(plans, folder).id if folder is not None else None
        found = plans.reports(type, project, limit)
    return print_list(found, json, msgspec.to_builtins, _print_report, empty="There are no reports.")


def _print_report(report: Report) -> None:
    say((report.type, "bold"), f"  {report.project or 'all projects'}  {moment(report.generated_at)}")
    say((f"  {short(report.body, 160)}", "bright_black"))


def _print_collected(collected: Collected) -> None:
    for report in collected.reports:
        _print_report(report)
    for skipped in collected.skipped:
        say((f"{skipped.project} ", "bold"), ("skipped", TONES["held"]), f": {skipped.why}")
    for alert in collected.alerts:
        say(("alert ", TONES["failed"]), f"{alert.project}: {alert.text}")
