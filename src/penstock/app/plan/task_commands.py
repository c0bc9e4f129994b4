"""What people do with tasks. The table of the task's life decides first; a request that it refuses changes nothing."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from penstock.app.access.candidates import Who, id_of, may_act
from penstock.app.access.roles import known_of
from penstock.app.penstock import Penstock
from penstock.app.plan.files import sessions
from penstock.app.plan.files.project_folder import plan_file, read_file, replace_file
from penstock.app.plan.files.task_files import add_task_file, change_task_file
from penstock.app.plan.projects import POOL, begin_run, project_row, project_settings, run_of
from penstock.app.plan.sync import add_to_run, migrate_to, sync
from penstock.app.plan.task_views import TaskList, one_task, task_row
from penstock.app.plan.views import Task, TaskFields
from penstock.app.runs.queries import Queries
from penstock.app.timestamps import iso
from penstock.errors import (
    ApproverDenied,
    BadInput,
    DocumentInvalid,
    NodeNotFound,
    PenstockError,
    Refused,
    StatusConflict,
)
from penstock.errors.plan import AgentBusy, TaskBlocked, TaskSchema, TaskTransition
from penstock.kernel import command as C
from penstock.kernel.state import COMPLETED, State
from penstock.lang.plan.definition import ID
from penstock.lang.plan.project_files import folders_of
from penstock.lifecycle import MACHINES
from penstock.store.projects import ProjectRow
from penstock.store.run_store import RunRow
from penstock.store.tasks import TaskExecutionRow, TaskRow

log = logging.getLogger("penstock")
#: whose name stands where an administrator has done a task (T-X.30)
ADMIN = "admin"
#: tenant, project and task of what somebody decides about at this moment
_decided: set[tuple[str, str, str]] = set()


class _Held:
    """A task that something is asked of: its project, its row, its run."""

    def __init__(self, door: Penstock, project: str, task: str) -> None:
        self.door, self.project = door, project_row(door, project)
        self.task: TaskRow = task_row(door, self.project, task)
        run = run_of(door, self.project)
        assert run is not None, "a task's row belongs to a run"
        self.run: RunRow = run

    def may(self, to: str) -> None:
        """T-X.2: what the table does not name is refused. Raises TaskTransition."""
        if not any(row.src == self.task.status and row.dst == to for row in MACHINES["task"].rows):
            self.refuse(to)

    def refuse(self, to: str) -> NoReturn:
        raise TaskTransition(**{"what": f"the task «{self.task.id}»", "from": self.task.status, "to": to})

    async def send(self, command: C.Command, to: str) -> Task:
        """One that was faster has moved it meanwhile: then it is this move that the table refuses."""
        try:
            await self.door.command(self.run, command)
        except (StatusConflict, NodeNotFound):
            self.task = task_row(self.door, self.project, self.task.id)
            self.refuse(to)
        return one_task(self.door, project_row(self.door, self.project.id), self.task.id)

    def state(self) -> State:
        return live_state(self.door, self.run)

    def node(self) -> int:
        return self.door.nets.get(self.run.net).by_id[self.task.id].no


def live_state(door: Queries, run: RunRow) -> State:
    """The state of a run: in memory where it is driven here, else folded."""
    host = door.host_here
    loaded = host.turns.runs.get(run.no) if host is not None else None
    if loaded is not None and loaded.run is not None:
        return loaded.run.st
    return door.reading(run).state


def item_of(state: State, node: int) -> int | None:
    """The firing of a task whose work item waits for a review."""
    return next(
        (no for no, item in state.items.items() if item.status == "SUBMITTED" and state.firings[no].node == node), None
    )


async def execute(door: Penstock, project: str, task: str, *, queue: bool, skill: str | None) -> Task:
    """T-5.1.1 to T-5.1.5. Raises TaskTransition, TaskBlocked, AgentBusy."""
    held = _Held(door, project, task)
    held.may("in_progress")
    if held.run.status >= COMPLETED:
        held.refuse("in_progress")
    can = TaskList(door, held.project, [held.task]).can_execute(held.task)
    if not can.can_execute:
        log.info("Blocked: %s %s", can.reason, can.blocking_tasks)
        raise TaskBlocked(task=task, reason=can.reason, blockingTasks=can.blocking_tasks)
    if skill is not None:
        await _with_skill(held, skill)
    if not queue:
        _refuse_busy(held)
    try:
        return await held.send(C.execute(task, queue), "in_progress")
    except Refused as refused:
        now = task_row(door, held.project, task)
        if now.status != "pending":
            held.task = now
            held.refuse("in_progress")
        raise AgentBusy(agent=held.task.assigned_agent or "every agent", task="another task") from refused


def _refuse_busy(held: _Held) -> None:
    """T-X.10: the agent that a task is for works on another one, or all of them do."""
    agents = held.door.store.task_agents(held.run.id)
    wanted = held.task.assigned_agent
    if wanted:
        agents = [agent for agent in agents if agent.name == wanted]
    if agents and all(agent.status == "busy" for agent in agents):
        raise AgentBusy(agent=agents[0].name, task=agents[0].current_task or "")


async def _with_skill(held: _Held, skill: str) -> None:
    """T-X.11: the call's own skill goes before the task's; the task file is not changed."""
    root = Path(held.project.path)
    folder = folders_of(plan_file(root)).skills
    if skill and not (ID.match(skill) and (root / folder / f"{skill}.md").is_file()):
        raise BadInput(what=f"the skill «{skill}»", why=f"there is no file {folder}/{skill}.md")

    def changed(document: dict[str, Any]) -> None:
        next(task for task in document["tasks"] if task["id"] == held.task.id)["skill"] = skill

    await migrate_to(held.door, held.project, changed)
    held.run = held.door.row(held.run.id)


async def complete(door: Penstock, project: str, task: str, *, notes: str, by: Who) -> Task:
    held = _Held(door, project, task)
    held.may("completed")
    if held.task.review_required:
        return await approve(door, project, task, comment=notes, by=by)
    output = {"by": id_of(by) or "somebody", "notes": notes or "completed by hand"}
    return await held.send(C.resolve(task, output), "completed")


async def force_complete(door: Penstock, project: str, task: str, *, reason: str, by: str) -> Task:
    """T-X.30: pending → in_progress → completed at once, with the agent `admin`."""
    if not reason.strip():
        raise BadInput(what="the reason", why="it is empty", hint="Say why the task counts as completed.")
    held = _Held(door, project, task)
    if held.task.status not in ("pending", "in_progress"):
        held.refuse("completed")
    output = {"forced": True, "agent": ADMIN, "by": by or ADMIN, "reason": reason}
    return await held.send(C.resolve(task, output), "completed")


async def cancel(door: Penstock, project: str, task: str) -> Task:
    """T-1.2.3, T-1.2.4, T-X.3: a process that works is ended first, and then the task is cancelled."""
    held = _Held(door, project, task)
    held.may("cancelled")
    if (door.tenant, held.project.id, task) in _decided:
        raise Refused(why=f"somebody decides about «{task}» at this moment", hint="Look at it again.")
    return await held.send(C.stop(task, "cancel"), "cancelled")


async def retry(door: Penstock, project: str, task: str) -> Task:
    """T-X.1: failed → pending, by hand only; its retries are counted anew."""
    held = _Held(door, project, task)
    if held.task.status != "failed":
        held.refuse("pending")
    state, node = held.state(), held.node()
    firing = next((no for no, was in state.parked.items() if was.node == node), None)
    if held.run.status < COMPLETED and firing is not None:
        return await held.send(C.retry("here", firing), "pending")
    statuses = {row.id: row.status for row in door.store.tasks(held.run.id)}
    if held.run.status < COMPLETED:  # it had failed before this run began: only another run can do it
        if "in_progress" in statuses.values():
            hint = "Stop the workflow, and wait until nothing is at work and nothing waits for a review."
            raise Refused(why=f"«{task}» had failed before, and other tasks are in progress", hint=hint)
        await door.command(held.run, C.cancel("now"))
    await begin_run(door, held.project, {**statuses, task: "pending"})
    now = project_row(door, held.project.id)
    if task_row(door, now, task).status == "failed":
        raise Refused(why=f"somebody has begun anew without «{task}» at the same moment", hint="Ask once more.")
    run = run_of(door, now)
    if run is not None and POOL not in state.stopped:  # the workflow was going on: it does
        await door.command(run, C.limit(POOL, int(project_settings(door, now).get("max_concurrent", 3))))
    return one_task(door, now, task)


@contextlib.contextmanager
def _deciding(door: Penstock, project: ProjectRow, task: str, by: Who) -> Iterator[None]:
    """One at a time, and one of the plan's reviewers, where it names some: a merge takes a while, and what is rejected
    meanwhile would be merged all the same. Raises ApproverDenied, Refused."""
    named = [str(each) for each in project_settings(door, project).get("reviewers") or ()]
    targets = [each if ":" in each else f"user:{each}" for each in named]
    if named and not may_act({"targets": targets}, id_of(by), known_of(door, by)):
        raise ApproverDenied(user=id_of(by) or "Nobody", item=task, hint=f"The plan names {', '.join(named)}.")
    key = (door.tenant, project.id, task)
    if key in _decided:
        raise Refused(why=f"somebody decides about «{task}» at this moment", hint="Look at it again.")
    _decided.add(key)
    try:
        yield
    finally:
        _decided.discard(key)


async def reject(door: Penstock, project: str, task: str, *, comment: str, by: Who) -> Task:
    with _deciding(door, project_row(door, project), task, by):
        return await _review(door, project, task, "reject", comment=comment, by=id_of(by))


async def _review(door: Penstock, project: str, task: str, verb: str, *, comment: str, by: str) -> Task:
    """T-X.14: approve → completed, reject → pending with the comment as a further instruction."""
    to = "completed" if verb == "approve" else "pending"
    held = _Held(door, project, task)
    if held.task.status != "in_progress" or not held.task.review_required:
        held.refuse(to)
    if verb == "reject" and not comment.strip():
        raise BadInput(what="the comment", why="it is empty", hint="Say what is to be done otherwise.")
    firing = item_of(held.state(), held.node())
    if firing is None:
        held.refuse(to)
    return await held.send(C.work(firing, verb, by or None, None, comment or None), to)


async def approve(door: Penstock, project: str, task: str, *, comment: str, by: Who) -> Task:
    """A conflict refuses the approval, and changes nothing: the reviewer solves it, keeps the branch, or sends the task
    back."""
    with _deciding(door, project_row(door, project), task, by):
        return await _approve(door, project, task, comment=comment, by=id_of(by))


async def _approve(door: Penstock, project: str, task: str, *, comment: str, by: str) -> Task:
    held = _Held(door, project, task)
    if held.task.review_required and project_settings(door, held.project).get("merge", "auto") != "keep":
        execution = _last_execution(door, held.project, task)
        done = execution is None or sessions.worktree_end(door, execution) in ("merged", "discarded", "kept")
        if execution is not None and execution.worktree and not done:
            end = await sessions.end_worktree(door, execution, "merge", held.task.title)
            if end.merge == "conflict":
                hint = "Solve it on its branch, keep or discard the worktree, or reject the task."
                raise Refused(why=f"the work of «{task}» cannot be merged: {end.note}", hint=hint)
    return await _review(door, project, task, "approve", comment=comment, by=by)


async def end_task_worktree(door: Penstock, row: ProjectRow, task: str, action: str, by: Who) -> TaskExecutionRow:
    """Raises TaskNotFound, ApproverDenied, Refused."""
    with _deciding(door, row, task, by):
        return await _end_task_worktree(door, row, task, action)


async def _end_task_worktree(door: Penstock, row: ProjectRow, task: str, action: str) -> TaskExecutionRow:
    found = task_row(door, row, task)
    execution = _last_execution(door, row, task)
    if execution is None or execution.completed_at is None:
        raise Refused(why=f"the task «{task}» has no attempt that has ended")
    end = await sessions.end_worktree(door, execution, action, found.title)
    if end.merge == "conflict":
        raise Refused(why=f"the work of «{task}» cannot be merged: {end.note}")
    return execution


def _last_execution(door: Penstock, row: ProjectRow, task: str) -> TaskExecutionRow | None:
    newest = door.store.task_executions(door.tenant, row.id, task=task, limit=1)
    return newest[0] if newest else None


# -- tasks by hand -----------------------------------------------------------------------------------------------------


async def add_task(door: Penstock, project: str, fields: TaskFields) -> Task:
    """Writes its file and moves the run along. Raises TaskSchema; then there is no file."""
    row = project_row(door, project)
    folder = folders_of(plan_file(Path(row.path))).tasks
    path, root = f"{folder}/{fields.id}.md", Path(row.path)
    if not ID.match(fields.id) or len(fields.id) > 100:
        raise TaskSchema(task=fields.id, why="its id is no name of a file: letters, digits, _ . and - only")
    given: dict[str, Any] = {
        "id": fields.id, "title": fields.title, "status": "pending", "priority": fields.priority,
        "assigned_agent": fields.assigned_agent, "depends_on": fields.depends_on or None,
        "references": fields.references or None, "success_criteria": fields.success_criteria or None,
        "skill": fields.skill, "timeout_s": fields.timeout_s, "schedule": fields.schedule,
        "created": iso(door.now()),
    }  # fmt: skip
    if not add_task_file(root, path, given, fields.description):
        raise TaskSchema(task=fields.id, why=f"there is a file {path} already")
    try:
        await add_to_run(door, row, path)
    except (BadInput, DocumentInvalid, Refused) as error:
        (root / path).unlink()
        raise TaskSchema(task=fields.id, why=_reasons(error)) from error
    if fields.schedule is not None:  # a template: it has no row, what it makes has
        return Task(id=fields.id, title=fields.title, file=path, schedule=fields.schedule)
    return one_task(door, project_row(door, row.id), fields.id)


async def change_task(door: Penstock, project: str, task: str, changes: Mapping[str, Any]) -> Task:
    """T-8.3.5: what a person changes in a task file; the run moves along. Raises TaskSchema, and it is as it was."""
    row = project_row(door, project)
    held = task_row(door, row, task)
    root, path = Path(row.path), held.file or f"tasks/{task}.md"
    before = read_file(root, path)
    if before is None or not change_task_file(root, path, changes):
        raise TaskSchema(task=task, why=f"the file {path} cannot be changed")
    try:
        await sync(door, row)
    except (BadInput, DocumentInvalid, Refused) as error:
        now = read_file(root, path)
        replace_file(root, path, before[0], now[1] if now is not None else None)
        raise TaskSchema(task=task, why=_reasons(error)) from error
    return one_task(door, project_row(door, row.id), task)


def _reasons(error: PenstockError) -> str:
    if isinstance(error, DocumentInvalid):
        wrong = [finding.message for finding in error.findings if finding.severity == "error"]
        return "; ".join(wrong).rstrip(".") or str(error)
    return str(error).rstrip(".")
