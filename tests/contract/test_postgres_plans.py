"""How the server answers what the engine asks, in a store of some thousand rows: by an index, never by a scan."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.kernel.state import COMPLETED, PENDING, WAITING
from penstock.store.execution_lists import ExecutionWanted
from penstock.store.execution_tables import EXECUTION
from penstock.store.releases import ReleaseRow
from penstock.store.run_lists import Ranking, RunFilter
from penstock.store.run_store import PendingRun
from penstock.store.task_tables import TASK_TABLES
from tests.contract.store_suite import PostgresKit, a_batch, a_net, a_run, a_turn

RUNS = 4000


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresKit]:
    pytest.importorskip("psycopg", reason="the extra «postgresql» is not installed")
    one = PostgresKit(tmp_path_factory.mktemp("plans"))
    store = one.open()
    a_net(store)
    for first in range(1, RUNS, 500):
        fill(store, range(first, first + 500))
    one.ask(
        "INSERT INTO schedule SELECT 't', 'wf' || n, 1, '* * * * *', 'UTC', '', 'allow', 'one', sign(n % 50), NULL, n"
        " FROM generate_series(1, 2000) n"
    )
    answered = "CASE WHEN n % 100 = 0 THEN NULL ELSE 'a'::bytea END"
    one.ask(f"INSERT INTO inbox SELECT n, n, 'c', n, {answered} FROM generate_series(1, 9000) n")
    one.ask(
        f"INSERT INTO event SELECT n, 't', 'e' || n, 'source' || n % 20, 'x', n, {answered}"
        " FROM generate_series(1, 9000) n"
    )
    one.ask(
        "INSERT INTO remark SELECT 'default', 'r' || lpad(n::text, 15, '0') || '/n', 1, 'kim', n, 'claim', 'x'"
        " FROM generate_series(1, 9000) n"
    )
    one.ask(executions_sql())
    one.ask(
        "INSERT INTO file_schedule(tenant, name, code, type, zone, active, next_at, created_at, updated_at) SELECT"
        " 't' || n % 50, 'x', 'A', 'CRON', 'UTC', 1 - sign(n % 50), n, n, n FROM generate_series(1, 9000) n"
    )
    for statement in projects_sql():
        one.ask(statement)
    one.ask("ANALYZE")
    yield one
    one.close()


def executions_sql() -> str:
    """Those of fifty tenants, each with ten organisations: most are completed."""
    own = {
        "tenant_id": "'t' || n % 50", "organization_id": "n % 10", "created_at": "(2000 + n % 100)::text",
        "status": "CASE n % 100 WHEN 0 THEN 'PENDING' WHEN 1 THEN 'FAILED' ELSE 'COMPLETED' END",
    }  # fmt: skip
    plain = {"int": "n", "text": "'x' || n"}
    columns = [own.get(c.name, f"'{c.words[0]}'" if c.words else plain[c.type]) for c in EXECUTION.columns]
    return f"INSERT INTO execution SELECT {', '.join(columns)} FROM generate_series(1, 9000) n"


def projects_sql() -> Iterator[str]:
    """Fifty tenants with their projects, runs, tasks and reports; few tasks are under way, few executions open."""
    plain = {"int": "n", "text": "'x' || n"}
    own: dict[str, dict[str, str]] = {
        "project": {"tenant": "'t' || n % 50", "id": "'p' || n", "run": "'run' || n", "path": "'/x' || n"},
        "task": {
            "run": "'r' || n % 500", "id": "'k' || n", "removed": "0", "review_required": "0",
            "status": "CASE n % 100 WHEN 0 THEN 'in_progress' WHEN 1 THEN 'failed' ELSE 'completed' END",
        },
        "task_agent": {"run": "'r' || n % 500", "name": "'a' || n", "removed": "0"},
        "task_execution": {
            "run": "'r' || n % 50", "session": "'s' || n", "tenant": "'t' || n % 50", "project": "'p' || n % 4",
            "task": "'k' || n % 9", "completed_at": "CASE n % 100 WHEN 0 THEN NULL ELSE n END",
        },
        "task_session": {"session": "'s' || n"},
        "report": {"id": "'i' || n", "tenant": "'t' || 5 + n % 5", "project": "'p' || n % 4", "type": "'y' || n % 8"},
        "reports_archive": {"id": "'i' || n", "tenant": "'t' || 5 + n % 5", "type": "'y' || n % 8"},
    }  # fmt: skip
    for table in TASK_TABLES:
        mine = own[table.name]
        columns = [mine.get(c.name, f"'{c.words[0]}'" if c.words else plain[c.type]) for c in table.columns]
        yield f'INSERT INTO "{table.name}" SELECT {", ".join(columns)} FROM generate_series(1, 9000) n'


def fill(store: Any, numbers: range) -> None:
    """Most runs have ended, most items are done, most commands and events are answered: a store that has lived."""
    open_ = [no for no in numbers if no % 100 == 0]
    batch = a_batch(
        new=[
            a_run(
                no, status=WAITING if no in open_ else COMPLETED, key=f"key-{no}", wake_at=no if no in open_ else None
            )
            for no in numbers
        ],
        journal=[a_turn(no, seq) for no in numbers for seq in (1, 2, 3)],
        firing=[(no, n, 1, 0, 1, 1, 0, 1, 2) for no in numbers for n in (1, 2)],
        wait=[
            *(("default", f"news-{no}", no, 1) for no in open_),
            *(("other", "news-100", no, n) for no in numbers for n in (1, 2)),
        ],
        item_new=[(no, 2, 1, "TODO" if no in open_ else "DONE", b"p", None, None, no, no) for no in numbers],
        memo=[(f"cache:{no}", b"x", no) for no in numbers],
        blobs=[(f"hash{no}", 3, b"abc") for no in numbers],
        judgment=[(f"r{no:015d}", 1, "t", "wf", "n", "normal", int(no in open_), b"x", no) for no in numbers],
        letter=[("t", f"r{no:015d}", "wf", 1, f"q{no % 40}", "FAILED", "C", "c", b"x", 0, no, no) for no in numbers],
    )
    store.commit(batch)
    for no in numbers:
        if no % 5 == 0:
            status = "active" if no % 50 == 0 else "deprecated"
            store.put_release(ReleaseRow("t", f"wf{no}", 1, f"id{no}", status, "h", 1, b"{}", f"source{no}", "kim", no))


class Seen(list[tuple[str, tuple[Any, ...]]]):
    """The statements that a store has executed."""


def statements(store: Any, ask: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> Seen:
    seen, whole = Seen(), store._execute

    def execute(sql: str, values: tuple[Any, ...] = ()) -> Any:
        seen.append((sql.replace("?", "%s"), values))
        return whole(sql, values)

    with monkeypatch.context() as patch:
        patch.setattr(store, "_execute", execute)
        ask(store)
    return seen


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for below in plan.get("Plans", []):
        yield from nodes(below)


EVERY = RunFilter(tenant="default", below=RUNS)
OPEN = RunFilter(tenant="default", below=RUNS, status=(2, 3))
LATER = Ranking(by="updated_at", falling=True, after=(5000, 7))
#: F-6.1: every filter of the list of executions, and the index that answers
LISTED: dict[str, tuple[ExecutionWanted, str]] = {
    "tenant": (ExecutionWanted(tenant="t1"), "execution_tenant"),
    "status": (ExecutionWanted(tenant="t1", status=("FAILED",)), ""),
    "time": (ExecutionWanted(tenant="t1", since="2090", until="2095"), "execution_idx_scope_time"),
    "status and time": (ExecutionWanted(tenant="t1", status=("FAILED",), since="2001"), ""),
    "organisation": (ExecutionWanted(tenant="t1", organization=1, since="2090"), "execution_idx_scope_time"),
    "file": (ExecutionWanted(tenant="t1", file=7), "execution_idx_file_recent"),
    "their turn": (ExecutionWanted(tenant="t1", status=("PENDING",), queue=True), ""),
}  # fmt: skip
ASKED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "pick-up": (lambda s: s.unfinished(), "run_pick"),
    "admission (F-9.2, F-A.5)": (lambda s: s.pending_runs(None, 64), "run_pending"),
    "admission, further on": (lambda s: s.pending_runs(PendingRun(7, "t", 1, 100, 1000), 64), "run_pending"),
    "due": (lambda s: s.due(500, 10), "run_wake"),
    "next wake": (lambda s: s.next_wake(), "run_wake"),
    "key": (lambda s: s.run_by_key("default", "key-7"), "run_key"),
    "id": (lambda s: s.run_by_id("r000000000000001"), "run_id"),
    "below": (lambda s: s.open_below("r00000000000100"), "run_id"),
    "newest runs": (lambda s: s.runs(limit=50), "run_pkey"),
    "newest runs of a tenant": (lambda s: s.runs(limit=50, tenant="default"), "run_pkey"),
    "last run": (lambda s: s.last_run(), "run_pkey"),
    "journal": (lambda s: list(s.journal(7, 1)), "journal_pkey"),
    "one run": (lambda s: s.load([7]), "journal_pkey"),
    "some runs": (lambda s: s.load(range(1, 50)), "journal_pkey"),
    "net": (lambda s: s.net_by_hash("h"), ""),
    "inbox": (lambda s: s.inbox(), "inbox_open"),
    "memo": (lambda s: s.memo("cache:7", 5), "memo_pkey"),
    "blob": (lambda s: s.blob("hash7"), "blob_pkey"),
    "open items": (lambda s: s.items(), "item_open"),
    "inbox of a tenant": (lambda s: s.open_items("default", 9), "item_open"),
    "inbox of some": (lambda s: s.open_items("default", 9, of=[(1, 1, "TODO", b"x")]), "item_open"),
    "inbox with remarks": (lambda s: s.open_items("default", 9, spoken=True), "remark_pkey"),
    "inbox counted": (lambda s: s.open_groups("default", 500), "item_open"),
    "items of a run": (lambda s: s.items(open_only=False, run=7), "item_pkey"),
    "open events": (lambda s: s.open_events(), "event_open"),
    "event by id": (lambda s: s.event("t", "e7"), "event_id"),
    "events of a source": (lambda s: s.events("t", "source5", since=5, limit=10**6), "event_source"),
    "waiting for": (lambda s: s.waiting_for("default", "news-100"), "waiting_pkey"),
    "open by key": (lambda s: s.open_keyed("default", "key-399"), "run_key"),
    "active releases": (lambda s: s.releases("t", "wf50", status="active"), "release_active"),
    "listens": (lambda s: s.releases("t", status="active", listens="source7"), "release_listens"),
    "a release": (lambda s: s.release("t", "wf50", 1), "release_pkey"),
    "due schedules": (lambda s: s.schedules_due(5), "schedule_next"),
    "next schedule": (lambda s: s.next_schedule(5), "schedule_next"),
    "letters of a queue": (lambda s: s.letters_since("t", "q7", 3900), "letter_at"),
    "due schedules over files (F-1.5.14)": (lambda s: s.file_schedules_due(5), "file_schedule_idx_active_next"),
    "next schedule over files": (lambda s: s.next_file_schedule(), "file_schedule_idx_active_next"),
    **{
        f"executions by {name} (F-6.1, F-9.8)": (
            lambda s, wanted=wanted: (s.count_executions(wanted), s.find_executions(wanted, 20, 20)),
            index,
        )
        for name, (wanted, index) in LISTED.items()
    },
    "projects": (lambda s: s.projects("t7"), ""),
    "a project by its folder": (lambda s: s.project_by_path("t7", "/x7"), ""),
    "a project by its run": (lambda s: s.project_of_run("run7"), "project_run"),
    "tasks of a run": (lambda s: s.tasks("r7"), ""),
    "tasks by status (T-6.1.3)": (lambda s: s.tasks("r7", ("in_progress",)), ""),
    "tasks counted": (lambda s: s.task_counts("r7"), ""),
    "tasks to review": (lambda s: s.review_count("r7"), ""),
    "last updates (T-6.1.5)": (lambda s: s.recent_tasks("r7"), "task_updated"),
    "agents": (lambda s: s.task_agents("r7"), ""),
    "last executions (T-6.1.5)": (lambda s: s.task_executions("t7", "p1", limit=5), "task_execution_project"),
    "executions of a task": (lambda s: s.task_executions("t7", "p1", task="k5"), "task_execution_task"),
    "executions that ended last": (lambda s: s.finished_executions("t7", "p1"), "task_execution_ended"),
    "executions that run": (lambda s: s.open_executions("t7", "p1"), "task_execution_open"),
    "an execution": (lambda s: s.task_execution("t7", "s7"), "task_execution_session"),
    "reports": (lambda s: s.reports("t7"), "report_time"),
    "reports of a type": (lambda s: s.reports("t7", type="zombie"), "report_type"),
    "reports of a project": (lambda s: s.reports("t7", project="p1"), "report_project"),
    "reports of both": (lambda s: s.reports("t7", type="zombie", project="p1", before=9000), "report_both"),
    "reports put away": (lambda s: s.reports("t7", type="zombie", archived=True), "reports_archive_type"),
    "executions of the last hours (F-7.2)": (lambda s: s.execution_pieces("t1", "y"), "execution_ended"),
    "newest judgments": (lambda s: s.judgments("t", limit=20), "judgment_at"),
    "sorted by time": (lambda s: s.ranked_runs(EVERY, Ranking(by="updated_at"), 50, 2000), "run_updated"),
    "later by time": (lambda s: s.ranked_runs(EVERY, LATER, 50, 1000), "run_updated"),
    "sorted by priority": (
        lambda s: s.ranked_runs(EVERY, Ranking(by="priority", after=(5, 5)), 50, 1000),
        "run_priority",
    ),
    "open by time": (lambda s: s.ranked_runs(OPEN, LATER, 50, 1000), "run_live"),
    "open newest": (lambda s: s.find_runs(OPEN, 50), "run_live"),
    "longest untouched": (lambda s: s.open_runs("default", 9, soonest=False), "run_quiet"),
    "open runs counted": (lambda s: s.open_counts("default", 500), "run_open"),
    "ended runs counted": (lambda s: s.ended_counts("default", 500), "run_ended"),
    "failed of a day": (lambda s: s.ended_runs("default", 6, 500, 9), "run_ended"),
    "oldest runs": (lambda s: s.find_runs(EVERY, 50, oldest=True), "run_pkey"),
    "judgments to review": (lambda s: s.judgments("t", reviews=True, limit=20), "judgment_review"),
}
#: what is counted is never read
COUNTED = {"open runs counted", "ended runs counted"}
#: tables that stay so small that the server is right to read them whole
SMALL = {"net"}


@pytest.mark.parametrize("asked", ASKED)
def test_what_is_asked_is_answered_by_an_index(kit: PostgresKit, asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """D-11.3, C-84: as the server plans it by itself, with no setting of ours: one run, lists, inbox, items, events."""
    from penstock.store.address import Server, place
    from penstock.store.postgres.connection import connect

    ask, index = ASKED[asked]
    seen = statements(kit.opened[0], ask, monkeypatch)
    assert seen, "nothing was asked"
    server = place(kit.url)
    assert isinstance(server, Server)
    with connect(server) as c:
        assert c.execute("SHOW enable_seqscan").fetchone() == ("on",)
        plans = [plan_of(c, sql, values) for sql, values in seen]
    found = [node for plan in plans for node in nodes(plan)]
    scans = [n["Relation Name"] for n in found if n["Node Type"] == "Seq Scan" and n["Relation Name"] not in SMALL]
    assert scans == [], json.dumps(plans, indent=1)
    assert not index or index in {n.get("Index Name") for n in found}, json.dumps(plans, indent=1)
    kinds = {n["Node Type"] for n in found if n.get("Relation Name") == "run"}
    assert asked not in COUNTED or kinds == {"Index Only Scan"}, json.dumps(plans, indent=1)


@pytest.mark.parametrize("wanted", [ExecutionWanted(tenant="t1"), ExecutionWanted(tenant="t1", status=("COMPLETED",))])
def test_f_9_2_pages_of_executions_are_read_in_their_order(
    kit: PostgresKit, wanted: ExecutionWanted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F-6.1, F-9.2: a page of the newest costs what is on it, not a sort of all that the tenant has."""
    from penstock.store.address import Server, place
    from penstock.store.postgres.connection import connect

    ((sql, values),) = statements(kit.opened[0], lambda s: s.find_executions(wanted, 20, 20), monkeypatch)
    server = place(kit.url)
    assert isinstance(server, Server)
    with connect(server) as c:
        plan = plan_of(c, sql, values)
    kinds = [(node["Node Type"], node.get("Index Name")) for node in nodes(plan)]
    assert kinds == [("Limit", None), ("Index Scan", "execution_tenant")], json.dumps(plan, indent=1)


def plan_of(c: Any, sql: str, values: tuple[Any, ...]) -> dict[str, Any]:
    ((plan,),) = c.execute(f"EXPLAIN (FORMAT JSON) {sql}", values).fetchall()
    found: dict[str, Any] = plan[0]["Plan"]
    return found


@pytest.mark.parametrize(
    "field",
    [
        "moved",
        "ended",
        "item_moved",
        "unwait",
        "inbox_answered",
        "event_taken",
        "intent_gone",
        "project_began",
        "project_moved",
    ],
)
def test_what_a_batch_changes_is_found_by_its_key(kit: PostgresKit, field: str) -> None:
    """A batch is planned while the tables are empty and kept for the life of the connection: it must be right for a
    million rows. The engine's session is told so; see `BY_KEY` in store/postgres/connection.py."""
    from penstock.store.postgres.batch import WRITES

    (write,) = [w for w in WRITES if w.field == field]
    store = kit.opened[0]
    sql = write.sql
    for n in range(len(write.types), 0, -1):
        sql = sql.replace(f"${n}::", "NULL::")
    plan = plan_of(store.c, sql, ())
    assert [n for n in nodes(plan) if n["Node Type"] in ("Seq Scan", "Hash Join", "Merge Join")] == []


def test_f_a_5_the_next_is_found_before_the_server_has_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F-9.2, F-A.5: many come at once, before anything was analysed; and later the server believes that none waits. No
    more rows are read than are given, and those of the same moment."""
    moment = 50
    pytest.importorskip("psycopg", reason="the extra «postgresql» is not installed")
    kit = PostgresKit(tmp_path)
    store = kit.open()
    a_net(store)
    kit.ask("ALTER TABLE run SET (autovacuum_enabled = off)")
    values = f"g, 'r' || g, 't', 1, 'k' || g, %s, 100, 1000 + g / {moment}, 1000, 0 FROM generate_series(%s, %s) g"
    into = "INSERT INTO run(no, id, tenant, net, key, status, priority, created_at, updated_at, checkpoint_seq) SELECT "
    kit.ask(into + values % (PENDING, 1, 5000))
    asks: list[Callable[[Any], Any]] = [
        lambda s: s.pending_runs(None, 64),
        lambda s: s.pending_runs(PendingRun(620, "t", 1, 100, 1012), 64),
        lambda s: s.pending_beyond(64),
    ]
    seen = [each for ask in asks for each in statements(store, ask, monkeypatch)]
    assert [store.pending_runs(None, 64)[n].no for n in (0, 63)] == [1, 64]

    def rows_read() -> list[int]:
        read = []
        for sql, given in seen:
            ((plan,),) = store.c.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", given).fetchall()
            read.append(max(node["Actual Rows"] for node in nodes(plan[0]["Plan"])))
        return read

    assert max(rows_read()) <= 64 + 2 * moment
    kit.ask(f"UPDATE run SET status = {COMPLETED}")
    kit.ask("ANALYZE run")
    kit.ask(into + values % (PENDING, 5001, 10000))
    assert max(rows_read()) <= 64 + 2 * moment
    kit.close()
