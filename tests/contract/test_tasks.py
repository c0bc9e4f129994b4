"""Every store: projects, tasks, agents, executions and reports are kept, and found as they are asked for."""

from __future__ import annotations

from typing import Any

from msgspec.structs import astuple, replace

from penstock.store.projects import ProjectRow
from penstock.store.reports import ReportRow
from penstock.store.task_tables import TASK, TASK_AGENT, TASK_EXECUTION
from penstock.store.tasks import SESSIONS_KEPT_MS, SessionRow, TaskAgentRow, TaskExecutionRow, TaskRow
from tests.contract.store_suite import Kit, a_batch


def a_project(id: str, **more: Any) -> ProjectRow:
    given: dict[str, Any] = {"name": id, "path": f"/srv/{id}", "title": id.upper(), "created_at": 5}
    return ProjectRow(**{"tenant": "t", "id": id, **given, **more})


def a_task(id: str, status: str = "pending", **more: Any) -> TaskRow:
    given: dict[str, Any] = {
        "run": "r1", "id": id, "tenant": "t", "project": "p", "title": id.upper(), "file": f"tasks/{id}.md",
        "status": status, "priority": None, "assigned_agent": None, "agent": None, "depends_on": "[]", "criteria": 2,
        "retry_count": 0, "attempt": 0, "review_required": 0, "last_error": None, "progress": 0, "confidence": None,
        "matched": "[]", "completed_by_recovery": 0, "session": None, "trigger": "auto", "created": None,
        "started_at": None, "updated_at": 10, "completed_at": None, "next_attempt_at": None, "review_notes": None,
        "reason": None,
    }  # fmt: skip
    return TaskRow(**{**given, **more})


def an_execution(session: str, task: str = "a", asked_at: int = 10, **more: Any) -> TaskExecutionRow:
    given: dict[str, Any] = dict.fromkeys(TaskExecutionRow.__struct_fields__) | {
        "run": "r1", "session": session, "tenant": "t", "project": "p", "task": task, "agent": "default", "attempt": 1,
        "status": "pending", "asked_at": asked_at, "matched": "[]", "trigger": "auto", "resume": 0, "kill_failed": 0,
    }  # fmt: skip
    return TaskExecutionRow(**{**given, **more})


def rows_of(*rows: TaskRow | TaskAgentRow, removed: int = 0) -> list[tuple[Any, ...]]:
    return [(*astuple(row), removed) for row in rows]


def executions_of(*rows: TaskExecutionRow) -> list[tuple[Any, ...]]:
    return [astuple(row)[: len(TASK_EXECUTION.names)] for row in rows]


def test_the_rows_have_the_columns_of_their_tables() -> None:
    assert (*TaskRow.__struct_fields__, "removed") == TASK.names
    assert (*TaskAgentRow.__struct_fields__, "removed") == TASK_AGENT.names
    assert TaskExecutionRow.__struct_fields__[: len(TASK_EXECUTION.names)] == TASK_EXECUTION.names


def test_t_6_1_2_projects_are_registered_once_and_each_writer_changes_its_own_columns(kit: Kit) -> None:
    """T-6.1.2, T-6.1.8, T-4.1.1: what a registration says does not touch what runs and checks have said."""
    store = kit.open()
    site, other = a_project("site"), a_project("site", tenant="u", path="/srv/site")
    for row in (site, other, a_project("app")):
        store.put_project(row)
    assert store.project("t", "site") == site and store.project("t", "none") is None
    assert [row.id for row in store.projects("t")] == ["app", "site"]
    assert [(row.tenant, row.id) for row in store.every_project()] == [("t", "app"), ("t", "site"), ("u", "site")]
    assert store.project_by_path("u", "/srv/site") == other and store.project_by_path("u", "/srv/app") is None
    assert (site.health, site.status) == ("unknown", "idle")
    began = [("r1", "idle", None, "t", "site"), ("r2", "running", None, "t", "app")]
    moved = [("running", None, "t", "site", "r1"), ("paused", "fatal", "t", "app", "r2")]
    late = ("completed", None, "t", "site", "r0")  # of an older run, which the project has left behind
    store.commit(a_batch(project_began=began, project_moved=[*moved, late]))
    assert store.project_checked("t", "site", "warning", 90, '{"stuck":["a"]}', 70)
    assert store.project_seen("t", "site", 80) and not store.project_seen("t", "none", 80)
    store.put_project(replace(site, title="The site", enabled=0, trusted=1, created_at=99))
    now = store.project("t", "site")
    assert now == replace(
        site, title="The site", enabled=0, trusted=1, run="r1", status="running", health="warning", score=90,
        health_detail='{"stuck":["a"]}', checked_at=70, last_seen=80,
    )  # fmt: skip
    assert store.project_of_run("r1") == now and store.project_of_run("r9") is None
    assert [row.why for row in store.projects("t")] == ["fatal", None]
    assert store.move_project("t", "site", None, "idle") and store.project_of_run("r1") is None
    assert not store.move_project("u", "none", None, "idle")


def test_t_6_1_5_tasks_are_listed_by_status_and_by_their_last_update(kit: Kit) -> None:
    """T-6.1.3, T-6.1.5, T-9.1.1: a row that comes again replaces the one before; what the document lost is not
    shown."""
    store = kit.open()
    tasks = [a_task(f"t{n:02d}", updated_at=n) for n in range(12)]
    gone, other = a_task("gone", updated_at=99), a_task("x", run="r2")
    store.commit(a_batch(task=[*rows_of(*tasks, other), *rows_of(gone, removed=1)]))
    moved = [replace(tasks[3], status="in_progress", updated_at=50, agent="kim", review_required=1)]
    moved.append(replace(tasks[5], status="completed", updated_at=40, completed_at=40))
    store.commit(a_batch(task=[*rows_of(replace(moved[0], agent="early")), *rows_of(*moved)]))
    assert store.tasks("r1") == sorted([*moved, *(t for t in tasks if t.id not in ("t03", "t05"))], key=lambda t: t.id)
    assert store.tasks("r1", ["completed", "in_progress"]) == moved and store.tasks("r9") == []
    assert store.task("r1", "t03") == moved[0] and store.task("r1", "gone") is None
    assert store.task_counts("r1") == {"pending": 10, "in_progress": 1, "completed": 1}
    assert (store.review_count("r1"), store.review_count("r2")) == (1, 0)
    assert [row.id for row in store.recent_tasks("r1")] == [
        "t03", "t05", "t11", "t10", "t09", "t08", "t07", "t06", "t04", "t02",
    ]  # fmt: skip


def test_t_6_1_4_agents_are_listed_by_name(kit: Kit) -> None:
    store = kit.open()
    idle = TaskAgentRow("r1", "default", "t", "p", "idle", None, None, 0, 0, None)
    busy = TaskAgentRow("r1", "claude", "t", "p", "busy", "a", 7, 3, 1, "exit 1")
    store.commit(a_batch(task_agent=[*rows_of(idle, busy), *rows_of(replace(idle, name="old"), removed=1)]))
    assert store.task_agents("r1") == [busy, idle] and store.task_agents("r2") == []


def test_t_3_2_1_an_execution_runs_when_its_process_is_known_and_ends_by_its_facts(kit: Kit) -> None:
    """T-3.1.1, T-3.2.1, T-9.1.3, T-X.22: pid and start of the process come from the session; the end wins."""
    store = kit.open()
    asked = an_execution("s1")
    store.commit(a_batch(task=rows_of(a_task("a", "in_progress", session="s1")), task_execution=executions_of(asked)))
    assert store.task_execution("t", "s1") == asked and store.task_execution("u", "s1") is None
    session = SessionRow(session="s1", tenant="t", project="p", pid=77, pid_started_at=1234, started_at=11, progress=30)
    store.put_sessions([session])
    store.put_sessions([replace(session, last_heartbeat_at=20, progress=50, cost_micros=1_500_000, last_line="edit")])
    running = store.task_execution("t", "s1")
    assert running == replace(
        asked, status="running", pid=77, pid_started_at=1234, started_at=11, progress=50, cost_micros=1_500_000,
        last_heartbeat_at=20, last_line="edit",
    )  # fmt: skip
    assert running.cost_usd == 1.5 and asked.cost_usd is None
    task = store.task("r1", "a")
    assert task is not None and task.progress == 50
    assert [row.session for row in store.open_executions("t", "p")] == ["s1"]
    ended = replace(asked, status="completed", pid=77, started_at=11, completed_at=40, duration_ms=29, progress=100)
    done = a_task("a", "completed", session="s1", progress=100)
    store.commit(a_batch(task=rows_of(done), task_execution=executions_of(ended)))
    now = store.task_execution("t", "s1")
    assert now is not None and (now.status, now.progress, now.pid_started_at) == ("completed", 100, 1234)
    assert store.task("r1", "a") == done and store.open_executions("t", "p") == []
    store.tidy(20 + SESSIONS_KEPT_MS - 1)
    assert store.session("s1") is not None
    store.tidy(20 + SESSIONS_KEPT_MS)
    assert store.session("s1") is None and store.task_execution("t", "s1") is not None


def test_t_x_20_what_waits_for_review_shows_what_was_found_and_what_is_pending_again_how_far_it_was(kit: Kit) -> None:
    """T-X.14, T-X.20: the progress of an attempt that was lost is kept for display."""
    store = kit.open()
    rows = [a_task("a", "in_progress", session="s1", review_required=1, progress=70), a_task("b", session="s2")]
    store.commit(a_batch(task=rows_of(*rows)))
    store.put_sessions([SessionRow(session=s, tenant="t", project="p", progress=30) for s in ("s1", "s2")])
    assert [row.progress for row in store.tasks("r1")] == [70, 30]


def test_t_x_5_the_last_executions_are_those_of_the_project_by_their_end(kit: Kit) -> None:
    """T-6.1.5, T-X.5: the newest first, of all its runs; others' are not among them."""
    store = kit.open()
    mine = [
        an_execution(f"s{n}", "ab"[n % 2], n, run=f"r{n % 3}", status="failed", completed_at=100 - n) for n in range(8)
    ]
    others = [an_execution("x1", tenant="u"), an_execution("x2", project="q"), an_execution("open", asked_at=50)]
    store.commit(a_batch(task_execution=executions_of(*mine, *others)))
    assert [row.session for row in store.task_executions("t", "p", limit=3)] == ["open", "s7", "s6"]
    assert [row.session for row in store.task_executions("t", "p", task="b")] == ["s7", "s5", "s3", "s1"]
    assert [row.session for row in store.finished_executions("t", "p")] == ["s0", "s1", "s2", "s3", "s4"]
    assert [row.session for row in store.open_executions("t", "p")] == ["open"]


def test_t_6_1_8_reports_are_kept_once_listed_and_archived(kit: Kit) -> None:
    """T-6.1.8, T-R.1, T-R.4, T-X.33, T-X.39"""
    store = kit.open()
    kinds = ("periodic", "completion")
    rows = [ReportRow(f"i{n}", "t", "pq"[n // 2 % 2], kinds[n % 2], n * 10, f'{{"n":{n}}}') for n in range(6)]
    rows.append(ReportRow("sum", "t", None, "summary", 55, "{}"))
    assert all(store.add_report(row) for row in [*rows, replace(rows[0], id="u0", tenant="u")])
    assert not store.add_report(replace(rows[0], body='{"other":1}')) and store.report("t", "i0") == rows[0]
    assert [row.id for row in store.reports("t")] == ["sum", "i5", "i4", "i3", "i2", "i1", "i0"]
    assert [row.id for row in store.reports("t", type="periodic")] == ["i4", "i2", "i0"]
    assert [row.id for row in store.reports("t", project="p", limit=2)] == ["i5", "i4"]
    assert store.reports("t", project="q", type="periodic", before=50) == [rows[2]]
    assert store.archive_reports(20) == 3 and store.archive_reports(20) == 0
    assert [row.id for row in store.reports("t", archived=True)] == ["i1", "i0"]
    assert store.report("t", "i0") == rows[0] and store.report("u", "i0") is None
    assert [row.id for row in store.reports("t", type="periodic")] == ["i4", "i2"]
