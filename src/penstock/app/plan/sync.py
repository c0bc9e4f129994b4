"""What people have changed in the files of a project, brought to its run: planned and shown, then applied (T-X.8).

A new task, a changed dependency, a deleted file move the run to a new release; what it has done stays done. A status
that somebody has written into a file is a request like any other: the table of the task's life decides.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.app.plan.files.project_folder import read_file
from penstock.app.plan.files.task_files import change_task_file, fields_of
from penstock.app.plan.projects import ensure_run, plan_of_net, project_row, read_project, release, run_of
from penstock.app.plan.views import StatusEdit, Sync
from penstock.app.runs.commands.migration import Move
from penstock.app.timestamps import iso
from penstock.errors import DocumentInvalid, PenstockError
from penstock.kernel.state import COMPLETED
from penstock.lang.plan.dependencies import OVER
from penstock.lang.plan.project_files import ProjectDocument, plan_document
from penstock.lifecycle import MACHINES
from penstock.net.compiled import CEdge, Compiled
from penstock.store.projects import ProjectRow
from penstock.store.tasks import TaskRow

if TYPE_CHECKING:
    from penstock.app.penstock import Penstock
    from penstock.store.run_store import RunRow

#: of a task in a document: where it stands and where it was read, which are no change of the plan
_NO_CHANGE = ("status", "lines", "file")
#: the port by which a task that is over has gone on
_PORTS = {"completed": "done", "failed": "failed", "cancelled": "cancelled"}


class _Differences(msgspec.Struct):
    sync: Sync
    document: dict[str, Any]
    moves: bool  # the run goes to another release
    over: bool  # and it is a new run, for the one that there was has ended


async def plan_sync(door: Penstock, row: ProjectRow) -> Sync:
    """What a sync would do now. Raises BadInput, DocumentInvalid."""
    return (await _differences(door, row)).sync


async def sync(door: Penstock, row: ProjectRow) -> Sync:
    """Raises BadInput, DocumentInvalid where the files are wrong; then nothing has changed."""
    found = await _differences(door, row)
    told = found.sync
    if found.moves:
        source = msgspec.json.encode(found.document)
        net = await release(door, row, source)
        told.release = door.hash_of(net)
        if found.over:
            await ensure_run(door, row)
        else:
            await _move_run(door, row, net)
        told.migrated = True
        record_removed(door, project_row(door, row.id))
    for edit in told.statuses:
        if not edit.refused:
            edit.refused = await _request(door, row, edit)
    return told


async def migrate_to(door: Penstock, row: ProjectRow, change: Callable[[dict[str, Any]], None]) -> None:
    """Move the run to its own document, changed. What people have edited meanwhile is left to a sync."""
    run = run_of(door, row)
    assert run is not None
    document = _document_of(door, run)
    change(document)
    await _move_run(door, row, await release(door, row, msgspec.json.encode(document)))


async def add_to_run(door: Penstock, row: ProjectRow, path: str) -> None:
    """A task file that is new, and nothing else. Raises DocumentInvalid."""
    run = run_of(door, row)
    if run is None or run.status >= COMPLETED:
        await ensure_run(door, row)
        return
    found = read_file(Path(row.path), path)
    assert found is not None, "it was just written"
    made = plan_document({path: found[0]}, name=row.id)
    folder = path.rpartition("/")[0]
    if folder != "tasks":
        made = plan_document({f"tasks/{path.rpartition('/')[2]}": found[0]}, name=row.id)
        made.document["tasks"][0]["file"] = path
    if made.broken or not made.document["tasks"]:
        raise DocumentInvalid(made.findings)
    await migrate_to(door, row, lambda document: document["tasks"].append(made.document["tasks"][0]))


# -- what is different -------------------------------------------------------------------------------------------------


async def _differences(door: Penstock, row: ProjectRow) -> _Differences:
    """Files are read beside the loop; if the run goes to another release meanwhile, once more."""
    while True:
        run = run_of(door, row)
        old = None if run is None else _document_of(door, run)
        kept = None if old is None else {str(t["id"]): str(t["status"]) for t in old["tasks"] if "status" in t}
        found = await asyncio.to_thread(read_project, Path(row.path), door.settings, kept)
        row = project_row(door, row.id)
        now = run_of(door, row)
        if (run and (run.id, run.net)) == (now and (now.id, now.net)):
            return _compared(door, row, run, old, found)


def _compared(
    door: Penstock, row: ProjectRow, run: RunRow | None, old: dict[str, Any] | None, found: ProjectDocument
) -> _Differences:
    if run is None or old is None:
        ids = [str(task["id"]) for task in found.document["tasks"]]
        return _Differences(Sync(added=ids), found.document, True, True)
    before = {str(task["id"]): task for task in old["tasks"]}
    new = found.document
    after = {str(task["id"]): task for task in new["tasks"]}
    rows = {task.id: task for task in door.store.tasks(run.id)}
    told = Sync(findings=[msgspec.to_builtins(finding) for finding in found.findings])
    told.added = [id for id in after if id not in before]
    told.changed = [id for id in after if id in before and _essence(after[id]) != _essence(before[id])]
    told.changed += _changed_parts(old, new)
    for id in before.keys() - after.keys():
        standing = rows.get(id)
        if standing is not None and (standing.status == "in_progress" or _is_between(standing)):
            told.obstacles.append(f"the file of «{id}» is gone, and the task is in progress: cancel it first")
            new["tasks"].append(before[id])
        else:
            told.removed.append(id)
    told.statuses = _status_edits(row, found, rows)
    moves = bool(told.added or told.changed or told.removed)
    return _Differences(told, new, moves, run.status >= COMPLETED)


def _is_between(task: TaskRow) -> bool:
    """It has failed before and waits for its next attempt."""
    return task.status == "pending" and task.attempt > 0


def _document_of(door: Penstock, run: RunRow) -> dict[str, Any]:
    source = door.store.net(run.net).source
    assert source is not None, "a plan is released with its document"
    document: dict[str, Any] = json.loads(source)
    return document


def _essence(task: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in task.items() if name not in _NO_CHANGE and value not in (None, [], "")}


def _changed_parts(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Settings, agents and skills that are other than they were."""
    found = [] if _essence(old["plan"]) == _essence(new["plan"]) else ["plan"]
    for part, key in (("agents", "name"), ("skills", "id")):
        before = {str(each[key]): _essence(each) for each in old.get(part) or ()}
        after = {str(each[key]): _essence(each) for each in new.get(part) or ()}
        found += [f"{part}/{name}" for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
    return found


def _status_edits(row: ProjectRow, found: ProjectDocument, rows: Mapping[str, TaskRow]) -> list[StatusEdit]:
    """Statuses that a person has written. A file that does not have our last write yet tells nothing."""
    edits = []
    first = {str(task["id"]): task.get("status", "pending") for task in found.document["tasks"]}
    for id, written in found.statuses.items():
        known = rows.get(id)
        if known is None or written == known.status:
            continue
        updated = fields_of(Path(row.path), found.files[id]).get("updated")
        untouched = known.attempt == 0 and known.status == first.get(id)  # as it was when the run began
        if untouched or str(updated) == iso(known.updated_at):
            edits.append(StatusEdit(task=id, before=known.status, after=written, refused=_refusal(known, written)))
    return edits


def _refusal(task: TaskRow, to: str) -> str:
    if task.status == "in_progress" and to == "pending":  # T-X.2: by the recovery alone
        return "in_progress → pending is left to the recovery"
    if not any(move.src == task.status and move.dst == to for move in MACHINES["task"].rows) or to == "failed":
        return f"{task.status} → {to} is not possible"
    return ""


async def _request(door: Penstock, row: ProjectRow, edit: StatusEdit) -> str:
    """Ask for what a person has written; why it was refused."""
    from penstock.app.plan import task_commands

    asked = {
        "in_progress": lambda: task_commands.execute(door, row.id, edit.task, queue=True, skill=None),
        "completed": lambda: task_commands.complete(door, row.id, edit.task, notes="", by=""),
        "cancelled": lambda: task_commands.cancel(door, row.id, edit.task),
        "pending": lambda: task_commands.retry(door, row.id, edit.task),
    }
    try:
        await asked[edit.after]()
    except PenstockError as error:
        return str(error)
    return ""


# -- moving the run ----------------------------------------------------------------------------------------------------


async def _move_run(door: Penstock, row: ProjectRow, net: int) -> None:
    """The one place where a plan's run goes to another release. Raises MigrationBlocked."""
    run = run_of(door, row)
    assert run is not None
    if net == run.net:
        return
    await door.nets.prepare(net)
    old, new = door.nets.get(run.net), door.nets.get(net)
    statuses = {task.id: task.status for task in door.store.tasks(run.id, OVER)}
    puts, drops = marking(old, new, statuses)
    await door.migrate(run.id, Move(to=door.hash_of(net), puts=puts, drops=drops))


def marking(old: Compiled, new: Compiled, statuses: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Edges of the new net that nothing would put a token on any more, and those of the old one that are gone."""
    puts = [edge.id for edge in new.edges if edge.id not in old.edge_by_id and _is_behind(edge, old, statuses)]
    return puts, [edge.id for edge in old.edges if edge.id not in new.edge_by_id]


def _is_behind(edge: CEdge, old: Compiled, statuses: Mapping[str, str]) -> bool:
    """What the edge leads away from is over in this run, and has gone on by its port."""
    if edge.src.id not in old.by_id:
        return False
    if not edge.src.ins:
        return True
    return _PORTS.get(statuses.get(edge.src.id, "")) == edge.port


def record_removed(door: Penstock, row: ProjectRow) -> Sequence[Mapping[str, Any]]:
    """T-X.29: what was taken out to break a cycle stands in the task's file, and in a report."""
    from penstock.app.plan import reports
    from penstock.app.plan.reporting import report_bodies

    run = run_of(door, row)
    removed: Sequence[Mapping[str, Any]] = plan_of_net(door, run.net).get("removed", ()) if run is not None else ()
    by_task: dict[str, list[str]] = {}
    for each in removed:
        by_task.setdefault(str(each["task"]), []).append(str(each["on"]))
    for id, names in by_task.items():
        task = door.store.task(row.run or "", id)
        if task is not None and task.file:
            change_task_file(Path(row.path), task.file, {"removed_dependencies": sorted(names)})
        message = f"«{id}» does not wait for {', '.join(names)} any more: they waited for each other"
        body = report_bodies.incident("dependency_removed", message, task, None, removed=names)
        reports.submit(door, row.id, "incident", body, id=f"{row.run}/removed/{id}/{'+'.join(sorted(names))}")
    return removed
