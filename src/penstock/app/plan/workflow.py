"""The workflow of a project: started, stopped, resumed, reset; how it stands; and tasks that wait for each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from penstock.app.penstock import Penstock
from penstock.app.plan import reports
from penstock.app.plan.projects import POOL, ensure_run, plan_of, project_row, project_settings, run_of
from penstock.app.plan.sync import record_removed, sync
from penstock.app.plan.task_commands import live_state
from penstock.app.plan.views import CycleEdge, Deadlock, StateAgent, StateExecution, StateTask, WorkflowState
from penstock.app.runs.queries import Queries
from penstock.errors import BadInput, Refused
from penstock.errors.plan import ProjectHealth
from penstock.kernel import command as C
from penstock.kernel.state import COMPLETED, EFFECT
from penstock.lang.plan.dependencies import Dependency, cycles, dependencies_of
from penstock.store.projects import ProjectRow
from penstock.store.run_store import RunRow
from penstock.store.tasks import TaskAgentRow, TaskExecutionRow, TaskRow

#: why nobody begins anything: never started, stopped by a person, set back, stopped by the engine
IDLE, STOPPED, RESET, FATAL = "idle", "stopped", "reset", "fatal"
#: executions that a state names at most: those that have not ended, and the newest others
_EXECUTIONS = 50


async def start(door: Penstock, project: str, *, force: bool, max_concurrent: int | None) -> WorkflowState:
    """T-7.1.1 to T-7.1.4. Raises ProjectHealth (T-X.31), BadInput."""
    row = project_row(door, project)
    if not row.enabled:
        raise BadInput(what=f"the project «{row.id}»", why="it is disabled", hint="Enable it first.")
    warning = _check_health(door, row, force)
    before = run_of(door, row)
    row = await ensure_run(door, row)
    if before is not None and before.status < COMPLETED and Path(row.path).is_dir():
        await sync(door, row)  # T-7.1.2: all tasks, also those that came since it began
        row = project_row(door, row.id)
    record_removed(door, row)
    await _open_pool(door, row, max_concurrent)
    state = state_of(door, project_row(door, row.id))
    state.warning = warning
    return state


def _check_health(door: Penstock, row: ProjectRow, force: bool) -> str:
    """What people are warned of. A project that is ill is started by force alone; what is known of it may be old, so it
    is looked at again."""
    health = reports.check(door, row.id)
    why = "; ".join(issue.text for issue in health.issues)
    if health.status == "error" and not force:
        raise ProjectHealth(project=row.id, health=health.status, why=why)
    return why if health.status in ("warning", "error") else ""


async def _open_pool(door: Penstock, row: ProjectRow, most: int | None) -> None:
    if most is not None and not 1 <= most <= 1000:
        raise BadInput(what="maxConcurrent", why="it is a number from 1 to 1000")
    run = run_of(door, row)
    assert run is not None
    if run.status >= COMPLETED:  # a new run of a plan that has nothing left to do ends at once
        return
    limit = most if most is not None else int(project_settings(door, row).get("max_concurrent", 3))
    await door.command(run, C.limit(POOL, limit))


async def stop(door: Penstock, project: str, *, now: bool) -> WorkflowState:
    """T-7.1.10, T-X.32: nothing new begins, what runs may end; `now`: it goes back to pending. After a fatal error the
    workflow is idle."""
    row = project_row(door, project)
    run = run_of(door, row)
    if run is not None and run.status < COMPLETED:
        why = live_state(door, run).stopped.get(POOL)
        if why is None or why != STOPPED and not now:
            await door.command(run, C.limit(POOL, 0, IDLE if why in (FATAL, IDLE, RESET) else STOPPED))
        if now:
            await _put_back(door, run)
    return state_of(door, project_row(door, row.id))


async def resume(door: Penstock, project: str) -> WorkflowState:
    """T-X.25: yes, go on from the last state; also after a stop, a fatal error, a deadlock that somebody has solved."""
    row = await ensure_run(door, project_row(door, project))
    await _open_pool(door, row, None)
    return state_of(door, project_row(door, row.id))


async def reset(door: Penstock, project: str) -> WorkflowState:
    """T-X.25: live processes are ended, what is in progress is pending again; what is over stays."""
    row = project_row(door, project)
    run = run_of(door, row)
    if run is not None and run.status < COMPLETED:
        await door.command(run, C.limit(POOL, 0, RESET))
        await _put_back(door, run)
        state = live_state(door, run)
        for no in [no for no, item in state.items.items() if item.status == "SUBMITTED"]:
            await _unless_gone(door, run, C.work(no, "reject", None, None, "the workflow was reset"))
    return state_of(door, project_row(door, row.id))


async def _put_back(door: Penstock, run: RunRow) -> None:
    """What is under way is ended and pending again."""
    state, net = live_state(door, run), door.nets.get(run.net)
    working = [net.nodes[firing.node].id for firing in state.firings.values() if firing.phase == EFFECT]
    for id in working:
        await _unless_gone(door, run, C.stop(id, "put_back"))


async def _unless_gone(door: Penstock, run: RunRow, command: C.Command) -> None:
    """What ended while it was asked needs no answer."""
    try:
        await door.command(run, command)
    except Refused:
        return


# -- how it stands -----------------------------------------------------------------------------------------------------


def state_of(door: Queries, row: ProjectRow) -> WorkflowState:
    """T-9.1.6 to T-9.1.11."""
    run = run_of(door, row)
    tasks = door.store.tasks(run.id) if run is not None else []
    agents = door.store.task_agents(run.id) if run is not None else []
    running = [task.id for task in tasks if task.status == "in_progress" and not task.review_required]
    counts: dict[str, int] = {}
    for task in tasks:
        counts[task.status] = counts.get(task.status, 0) + 1
    why = row.why or ""
    return WorkflowState(
        project=row.id, project_path=row.path, status=row.status,
        started_at=run.created_at if run is not None else None, last_saved_at=door.now(),
        tasks={task.id: state_task(task) for task in tasks}, agents={each.name: state_agent(each) for each in agents},
        executions={each.session: state_execution(each) for each in _executions(door, row)}, run=row.run, why=why,
        prompt=row.status == "paused" and why == "restarted", stopping=row.status == "paused" and bool(running),
        max_concurrent=_most(door, row, run), running=running, counts=counts,
        moves=moves_of(row, bool(running)),
    )  # fmt: skip


def _most(door: Queries, row: ProjectRow, run: RunRow | None) -> int:
    """T-7.2.1: as the workflow was started where it goes on here, else as the plan says."""
    host = door.host_here
    loaded = host.turns.runs.get(run.no) if host is not None and run is not None else None
    given = loaded.run.st.pool_limits.get(POOL) if loaded is not None and loaded.run is not None else None
    return given or int(project_settings(door, row).get("max_concurrent", 3))


def moves_of(row: ProjectRow, running: bool) -> list[str]:
    """What may be asked of a workflow as it stands."""
    if row.status == "running":
        return ["stop", "stop-now", "reset"]
    if row.status == "paused":
        return ["resume", *(["stop"] if row.why == FATAL else []), *(["stop-now"] if running else []), "reset"]
    return ["start"]


def _executions(door: Queries, row: ProjectRow) -> Sequence[TaskExecutionRow]:
    newest = door.store.task_executions(door.tenant, row.id, limit=_EXECUTIONS)
    named = {each.session for each in newest}
    return [*newest, *(each for each in door.store.open_executions(door.tenant, row.id) if each.session not in named)]


def state_task(task: TaskRow) -> StateTask:
    progress = task.progress if task.status != "pending" or task.progress else None
    return StateTask(
        status=task.status, assigned_agent=task.agent or task.assigned_agent, started_at=task.started_at,
        progress=progress,
    )  # fmt: skip


def state_agent(agent: TaskAgentRow) -> StateAgent:
    return StateAgent(status=agent.status, current_task=agent.current_task, last_used_at=agent.last_used)


def state_execution(each: TaskExecutionRow) -> StateExecution:
    return StateExecution(
        task_id=each.task, status=each.status, started_at=each.started_at or each.asked_at, pid=each.pid,
        pid_started_at=each.pid_started_at,
    )  # fmt: skip


# -- tasks that wait for each other ------------------------------------------------------------------------------------


def deadlocks(door: Queries, row: ProjectRow) -> list[Deadlock]:
    """T-8.3: cycles among tasks that are not over, and those that were broken by removing an edge."""
    plan = plan_of(door, row)
    if row.run is None:
        return []
    removed = [(str(each["task"]), str(each["on"])) for each in plan.get("removed", ())]
    waiting = {task.id for task in door.store.tasks(row.run, ("pending", "in_progress"))}
    written = {id: dependencies_of(about.get("depends_on")) for id, about in plan.get("tasks", {}).items()}
    left = {
        id: [each for each in links if each.id in waiting and (id, each.id) not in removed]
        for id, links in written.items()
        if id in waiting
    }
    found = [_deadlock(cycle.tasks, left, cycle.optional, cycle.suggestions) for cycle in cycles(left)]
    for task, on in removed:
        around = next(
            (cycle.tasks for cycle in cycles(written) if task in cycle.tasks and on in cycle.tasks), [task, on]
        )
        broken = _deadlock(
            around, written, True, [f"«{task}» does not wait for «{on}» any more; nothing is to be done."]
        )
        broken.removed = [task, on]
        found.append(broken)
    return found


def _deadlock(path: list[str], links: dict[str, list[Dependency]], optional: bool, suggestions: list[str]) -> Deadlock:
    inside = {*path}
    edges = [
        CycleEdge(task=id, dependency=each.id, optional=each.optional)
        for id in path
        for each in links.get(id, ())
        if each.id in inside
    ]
    return Deadlock(cycle=list(path), edges=edges, optional=optional, suggestions=list(suggestions))
