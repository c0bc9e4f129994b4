"""Projects of a tenant: registered folders, the plan in each, and the one run that works through it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.app.plan.files.project_folder import checked_folder, read_plan_files
from penstock.app.plan.views import Project
from penstock.app.releases.documents import compile_source
from penstock.errors import BadInput, DocumentInvalid, Finding, Refused, RunNotFound
from penstock.errors.plan import ProjectNotFound
from penstock.host.embedded import ReplyWaiter
from penstock.host.start_requests import Start, new_id
from penstock.kernel import command as C
from penstock.kernel.state import COMPLETED
from penstock.lang.plan.dependencies import OVER
from penstock.lang.plan.project_files import ProjectDocument, plan_document
from penstock.store.projects import ProjectRow

if TYPE_CHECKING:
    from penstock.app.penstock import Penstock
    from penstock.app.runs.queries import Queries
    from penstock.store.run_store import RunRow

LANGUAGE = "plan"
#: the pool whose places are the agents
POOL = "agents"
#: names of settings and what holds where neither they nor plan.yaml say anything (T-X.34), in seconds
INTERVALS = {
    "plans.collect_s": 3600, "plans.heartbeat_s": 300, "plans.autosave_s": 300, "plans.term_s": 30,
    "plans.kill_s": 10, "plans.wait_s": 30, "plans.stuck_s": 3600,
}  # fmt: skip
#: of these, those that a plan may say itself
_OF_PLAN = ("heartbeat_s", "term_s", "kill_s", "stuck_s", "wait_s", "autosave_s")


def interval(settings: Mapping[str, Any], name: str) -> float:
    """A setting in seconds. Raises BadInput for one that is none."""
    value = settings.get(name, INTERVALS[name])
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise BadInput(what=f"the setting «{name}»", why="it is a number of seconds above 0")
    return float(value)


# -- rows --------------------------------------------------------------------------------------------------------------


def project_row(door: Queries, name: str) -> ProjectRow:
    """By its id, or by its name where no other has it. Raises ProjectNotFound."""
    row = door.store.project(door.tenant, name)
    if row is None:
        named = [each for each in door.store.projects(door.tenant) if each.name == name]
        if len(named) != 1:
            raise ProjectNotFound(project=name)
        row = named[0]
    return row


def run_of(door: Queries, row: ProjectRow) -> RunRow | None:
    """The run of a project; None where it has none (any more)."""
    if row.run is None:
        return None
    try:
        return door.row(row.run)
    except RunNotFound:
        return None


def plan_of(door: Queries, row: ProjectRow) -> Mapping[str, Any]:
    """What lowering has kept of the plan that the project's run is on: name, settings, tasks, agents, removed."""
    run = run_of(door, row)
    return plan_of_net(door, run.net) if run is not None else {}


def plan_of_net(door: Queries, net: int) -> Mapping[str, Any]:
    known: Mapping[str, Any] = door.nets.get(net).net.declares.policies.get(LANGUAGE, {})
    return known


def project_settings(door: Queries, row: ProjectRow) -> Mapping[str, Any]:
    """The plan's settings; what it does not say itself is what this machine says."""
    return dict(plan_of(door, row).get("settings") or {})


def project_view(door: Queries, row: ProjectRow) -> Project:
    run = run_of(door, row)
    known = plan_of_net(door, run.net) if run is not None else {}
    folder = Path(row.path)
    return Project(
        id=row.id, name=row.name, title=row.title or row.name, path=row.path, enabled=bool(row.enabled),
        trusted=bool(row.trusted), run=row.run, status=row.status, health=row.health, score=row.score,
        max_concurrent=int((known.get("settings") or {}).get("max_concurrent", 3)),
        counts=door.store.task_counts(row.run) if row.run is not None else {},
        review=door.store.review_count(row.run) if row.run is not None else 0,
        why=row.why or "", missing=not folder.is_dir(), git=(folder / ".git").exists(), checked_at=row.checked_at,
        last_seen_at=row.last_seen, created_at=row.created_at,
    )  # fmt: skip


# -- registering -------------------------------------------------------------------------------------------------------


async def register(
    door: Penstock, path: str | Path, *, name: str | None, trusted: bool | None, enabled: bool | None
) -> ProjectRow:
    """Keep a folder as a project and begin its run, idle. A folder that is one already keeps its run and what nothing
    is said of; what changed in its files is left to a sync. Raises BadInput, DocumentInvalid."""
    folder = checked_folder(path)
    known = door.store.project_by_path(door.tenant, str(folder))
    if known is not None:
        return await change(door, known, name=name, trusted=trusted, enabled=enabled)
    found = await asyncio.to_thread(read_project, folder, door.settings)
    plan = found.document["plan"]
    id = _free_id(door, name or str(plan.get("name") or folder.name))
    row = ProjectRow(
        tenant=door.tenant, id=id, name=name or id, path=str(folder),
        title=str(plan.get("title") or plan.get("name") or folder.name), enabled=int(enabled is not False),
        trusted=int(bool(trusted)), created_at=door.now(),
    )  # fmt: skip
    net = await _first_release(door, row, found)  # what is wrong is said before anything is kept
    known = door.store.project_by_path(door.tenant, str(folder))
    if known is None:
        known = msgspec.structs.replace(row, id=_free_id(door, id))
        door.store.put_project(known)
    if known.run is None:  # else somebody was faster
        await _start_run(door, known, net)
    return project_row(door, known.id)


async def change(
    door: Penstock,
    row: ProjectRow,
    *,
    name: str | None = None,
    trusted: bool | None = None,
    enabled: bool | None = None,
) -> ProjectRow:
    """Whether a project is trusted is what its run was started with: another answer is another run, with what is over.
    Raises Refused while agents work."""
    changed = msgspec.structs.replace(
        row, name=name or row.name, enabled=row.enabled if enabled is None else int(enabled),
        trusted=row.trusted if trusted is None else int(trusted),
    )  # fmt: skip
    run = run_of(door, row)
    renewed = run is not None and run.status < COMPLETED and changed.trusted != row.trusted
    if renewed and run is not None and door.store.open_executions(door.tenant, row.id):
        raise Refused(why=f"agents of the project «{row.id}» are at work", hint="Stop its workflow first.")
    if renewed and run is not None and door.store.review_count(run.id):
        raise Refused(why=f"tasks of the project «{row.id}» wait for a review", hint="Approve or reject them first.")
    door.store.put_project(changed)
    if run is None:
        await begin_run(door, changed)
    elif renewed:
        statuses = {task.id: task.status for task in door.store.tasks(run.id)}
        await door.command(run, C.cancel("now"))
        await begin_run(door, changed, statuses)
    return project_row(door, row.id)


def _plain(name: str) -> str:
    """Letters, digits, «-» and «_» of a name."""
    return re.sub(r"[^a-z0-9_-]+", "-", name.lower()).strip("-")[:60] or "project"


def _free_id(door: Queries, name: str) -> str:
    """Numbered where another project has it."""
    plain = _plain(name)
    taken = {row.id for row in door.store.projects(door.tenant)}
    number, id = 2, plain
    while id in taken:
        id, number = f"{plain}-{number}", number + 1
    return id


def read_project(
    folder: Path, settings: Mapping[str, Any], statuses: Mapping[str, str] | None = None
) -> ProjectDocument:
    """The folder as one plan document; `statuses` go before those in the files, and what plan.yaml does not say is as
    the machine's `settings` have it. Raises BadInput, and DocumentInvalid with all that is wrong in its files."""
    found = plan_document(read_plan_files(folder), name=_plain(folder.name), statuses=statuses)
    if found.broken:
        raise DocumentInvalid(list[Finding](found.findings))
    plan = found.document["plan"]
    for name in _OF_PLAN:
        if f"plans.{name}" in settings:
            plan.setdefault(name, interval(settings, f"plans.{name}"))
    return found


async def begin_run(door: Penstock, row: ProjectRow, statuses: Mapping[str, str] | None = None) -> str:
    """Start the project's run with nobody at work yet; its id. `statuses` go before those in the files: what is over in
    them is not done again (T-X.38)."""
    found = await asyncio.to_thread(read_project, Path(row.path), door.settings)
    return await _start_run(door, row, await _first_release(door, row, found, statuses))


async def _first_release(
    door: Penstock, row: ProjectRow, found: ProjectDocument, statuses: Mapping[str, str] | None = None
) -> int:
    """The number of the net that a run begins with: what is over in the files, or in a saved state, is over in it."""
    from penstock.app.plan.files.state_file import statuses_of_saved

    saved = statuses_of_saved(door, row) if statuses is None else statuses
    for task in found.document["tasks"]:
        status = saved.get(task["id"], task.get("status"))
        if status in OVER:
            task["status"] = status
        else:  # T-9.2.3: whoever was at work on it is gone
            task.pop("status", None)
    return await release(door, row, found.bytes())


async def _start_run(door: Penstock, row: ProjectRow, net: int) -> str:
    """One run after the one that the row names, however many ask for it at once: by its key."""
    key = f"project:{row.id}:{row.run or ''}"
    options: dict[str, Any] = {"pools": {POOL: 0}, "trigger": {"type": "MANUAL", "source": f"project:{row.id}"}}
    start = Start(new_id(door.now()), door.hash_of(net), run_input(row), door.tenant, key, options)
    if not door.drives:
        await door.leave(start)
        return start.id
    await door.nets.prepare(net)
    host, waiter = door.host, ReplyWaiter(1)
    door.begin()
    unborn, known = host.turns.starting.get((door.tenant, key)), door.store.run_by_key(door.tenant, key)
    if known is not None:
        return known.id
    if unborn is not None:
        host.send(unborn.no, C.nudge(), waiter, door.tenant)
    else:
        host.start_limits.check(door.tenant)
        host.start(net, start.input, id=start.id, tenant=start.tenant, key=key, options=options, reply=waiter)
    host.wake_up()
    await door.heard(waiter)
    return start.id if unborn is None else unborn.id


def run_input(row: ProjectRow) -> dict[str, Any]:
    return {"project": row.path, "project_id": row.id, "trusted": bool(row.trusted)}


async def release(door: Penstock, row: ProjectRow, source: bytes) -> int:
    """The number of its net; a large plan is compiled beside the loop. Raises DocumentInvalid."""
    settings = door.settings
    compiled, _ = await asyncio.to_thread(compile_source, source, name=row.id, settings=settings)
    return door.keep_net(compiled, source)


async def ensure_run(door: Penstock, row: ProjectRow) -> ProjectRow:
    """A project whose run is gone, or has ended, gets a new one; what is over stays over."""
    run = run_of(door, row)
    if run is not None and run.status < COMPLETED:
        return row
    statuses = None if run is None else {task.id: task.status for task in door.store.tasks(run.id)}
    await begin_run(door, row, statuses)
    return project_row(door, row.id)
