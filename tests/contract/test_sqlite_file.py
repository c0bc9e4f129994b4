"""The SQLite file: its schema, its indexes, its versions, and the files that it refuses."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import StoreError, StoreFull, StoreGone, StoreNewer, StoreNotOurs
from penstock.store import schema
from penstock.store.audit_chain import AuditRow
from penstock.store.execution_lists import ExecutionWanted
from penstock.store.run_lists import Ranking, RunFilter
from penstock.store.run_store import PendingRun
from penstock.store.sqlite import Sqlite
from penstock.store.table_shape import Table
from penstock.store.tables import TABLES
from tests.contract.store_suite import a_batch, a_net, a_run, a_turn, python, started

TYPE = {"int": "INTEGER", "text": "TEXT", "blob": "BLOB"}
FIRST = Path(__file__).with_name("schema_1.sql")
#: what a store of each version had; none of them changes again
OLDER = {1: FIRST, **{n: Path(__file__).with_name(f"schema_{n}.sql") for n in (2, 3, 4, 5, 6, 7)}}

#: waits lie by tenant since version 5
WHOSE = "'u', "


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Sqlite]:
    one = Sqlite(tmp_path / "store.db")
    yield one
    one.close()


# ---- schema ----------------------------------------------------------------------------------------------------------


def shape(c: sqlite3.Connection) -> dict[str, Any]:
    """Tables, columns and indexes as the database itself tells them."""
    found: dict[str, Any] = {}
    tables = "SELECT name FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite_%'"
    for (name,) in c.execute(tables).fetchall():
        columns = [tuple(r[1:]) for r in c.execute(f'PRAGMA table_info("{name}")')]
        indexes = {}
        for _, index, unique, origin, partial in c.execute(f'PRAGMA index_list("{name}")').fetchall():
            (sql,) = c.execute("SELECT sql FROM sqlite_master WHERE name=?", (index,)).fetchone() or (None,)
            if origin == "c":
                on = [r[2] for r in c.execute(f'PRAGMA index_info("{index}")')]
                indexes[index] = (on, bool(unique), bool(partial), (sql or "").partition(" WHERE ")[2])
        (strict, without_rowid) = c.execute("SELECT strict, wr FROM pragma_table_list WHERE name=?", (name,)).fetchone()
        found[name] = {"columns": columns, "indexes": indexes, "strict": strict, "clustered": without_rowid}
    return found


@pytest.mark.parametrize("table", TABLES, ids=lambda t: t.name)
def test_the_file_has_the_columns_and_indexes_that_are_declared(store: Sqlite, table: Table) -> None:
    found = shape(store.c)[table.name]
    assert [(name, kind) for name, kind, *_ in found["columns"]] == [(c.name, TYPE[c.type]) for c in table.columns]
    assert {name for name, *_, key in found["columns"] if key} == {c.name for c in table.columns if c.key}
    loose = {name for name, _, not_null, _, key in found["columns"] if not not_null and not key}
    assert loose == {c.name for c in table.columns if c.null and not c.key}
    expected = {i.name: (list(i.columns), i.unique, bool(i.where), i.where) for i in table.indexes}
    assert found["indexes"] == expected
    assert found["strict"] == 1 and bool(found["clustered"]) == table.clustered


def test_nothing_is_in_the_file_that_is_not_declared(store: Sqlite) -> None:
    assert set(shape(store.c)) == {t.name for t in TABLES}


@pytest.mark.parametrize("table", TABLES, ids=lambda t: t.name)
def test_every_table_and_column_says_what_it_is_for(table: Table) -> None:
    assert table.comment and table.comment[0].isupper() and table.comment.endswith(".")
    assert all(c.comment for c in table.columns)
    assert any(c.key for c in table.columns)


def test_the_file_is_safe_by_its_settings(store: Sqlite) -> None:
    """RELIABILITY g.1."""
    asked = {
        "journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "trusted_schema": 0, "busy_timeout": 5000,
        "application_id": schema.APPLICATION_ID, "wal_autocheckpoint": 4000,
    }  # fmt: skip
    assert {name: store.c.execute(f"PRAGMA {name}").fetchone()[0] for name in asked} == asked
    assert stat.S_IMODE(store.path.stat().st_mode) == 0o600


# ---- indexes: no scan where the engine asks --------------------------------------------------------------------------


def plan_of(store: Sqlite, ask: Callable[[], Any]) -> list[str]:
    """What SQLite says about how it answers the statements that `ask` executes."""
    asked: list[str] = []
    store.c.set_trace_callback(asked.append)
    try:
        ask()
    finally:
        store.c.set_trace_callback(None)
    return [
        row[3]
        for statement in asked
        if statement.lstrip().startswith(("SELECT", "WITH"))
        for row in store.c.execute(f"EXPLAIN QUERY PLAN {statement}").fetchall()
    ]


#: what a statement has found before it goes on
FOUND = {"near", "at", "of", "kind", "CONSTANT", "TODO", "IN_PROGRESS", "SUBMITTED", "REWORK"}
EVERY = RunFilter(tenant="default", below=100)
OPEN = RunFilter(tenant="default", below=100, status=(2, 3))
LATER = Ranking(by="updated_at", falling=True, after=(5000, 7))
#: F-6.1: every filter of the list of executions, and the index that answers
LISTED: dict[str, tuple[ExecutionWanted, str]] = {
    "tenant": (ExecutionWanted(tenant="t"), "execution_tenant"),
    "status": (ExecutionWanted(tenant="t", status=("FAILED",)), "execution_idx_status_time"),
    "time": (ExecutionWanted(tenant="t", since="2026", until="2027"), "execution_idx_scope_time"),
    "status and time": (ExecutionWanted(tenant="t", status=("FAILED",), since="2026"), "execution_idx_status_time"),
    "organisation": (ExecutionWanted(tenant="t", organization=5, since="2026"), "execution_idx_scope_time"),
    "file": (ExecutionWanted(tenant="t", file=7), "execution_idx_file_recent"),
    "their turn": (ExecutionWanted(tenant="t", status=("PENDING",), queue=True), "execution_idx_pipeline_pick"),
}  # fmt: skip
ASKED: dict[str, tuple[Callable[[Sqlite], Any], str]] = {
    "pick-up": (lambda s: s.unfinished(), "run_pick"),
    "admission (F-9.2, F-A.5)": (lambda s: s.pending_runs(None, 64), "run_pending"),
    "admission, further on": (lambda s: s.pending_runs(PendingRun(7, "t", 1, 100, 1000), 64), "run_pending"),
    "due": (lambda s: s.due(5000, 10), "run_wake"),
    "next wake": (lambda s: s.next_wake(), "run_wake"),
    "key": (lambda s: s.run_by_key("default", "k"), "run_key"),
    "id": (lambda s: s.run_by_id("r000000000000001"), "run_id"),
    "below": (lambda s: s.open_below("c"), "run_id"),
    "journal": (lambda s: list(s.journal(1, 5)), "journal_run"),
    "load": (lambda s: s.load([1, 2, 3]), "journal_run"),
    "net": (lambda s: s.net_by_hash("h"), "net_hash"),
    "inbox": (lambda s: s.inbox(), "inbox_open"),
    "memo": (lambda s: s.memo("k", 5), "PRIMARY KEY"),
    "blob": (lambda s: s.blob("h"), "PRIMARY KEY"),
    "open items": (lambda s: s.items(), "item_open"),
    "open events": (lambda s: s.open_events(), "event_open"),
    "event by id": (lambda s: s.event("t", "e"), "event_id"),
    "events since": (lambda s: s.events("t", "a", since=5), "event_source"),
    "waiting for": (lambda s: s.waiting_for("t", "a"), "PRIMARY KEY"),
    "ids by key": (lambda s: s.ids_by_key("default", ["k", "l"]), "run_key"),
    "open by key": (lambda s: s.open_keyed("default", "schedule:"), "run_key"),
    "listens": (lambda s: s.releases("t", status="active", listens="a"), "release_listens"),
    "due schedules": (lambda s: s.schedules_due(5), "schedule_next"),
    "next schedule": (lambda s: s.next_schedule(5), "schedule_next"),
    "work items": (lambda s: s.work_items("t", ("TODO",), after=(3, 4)), "work_status"),
    "work items of somebody": (lambda s: s.work_items("t", ("TODO",), assignee="kim"), "work_assignee"),
    "work that was done": (lambda s: s.done_items("t", (1, 2), ("DONE",), after=(3, 4)), "work_status"),
    "work that was done since": (lambda s: s.done_items("t", (1,), ("DONE",), since=5), "run_ended"),
    "work items of a run": (lambda s: s.work_of(1), "PRIMARY KEY"),
    "processes": (lambda s: s.releases("t", kind="base"), "release_kind"),
    "items of a run": (lambda s: s.items(open_only=False, run=1), "PRIMARY KEY"),
    "an API key": (lambda s: s.key("k"), "PRIMARY KEY"),
    "API keys": (lambda s: s.keys("t"), "api_key_tenant"),
    "audit": (lambda s: s.audit("t", before=9), "PRIMARY KEY"),
    "audit of a thing": (lambda s: s.audit("t", target="key:1"), "audit_target"),
    "audit's chain": (lambda s: s.audit_chain("t", 5), "PRIMARY KEY"),
    "draft": (lambda s: s.draft("t", "kim", "k"), "PRIMARY KEY"),
    "batches": (lambda s: s.batches("t", before=(5, "b")), "batch_started"),
    "open batches": (lambda s: s.open_batches(), "batch_open"),
    "a file by its number": (lambda s: s.file_asset("t", 5), "PRIMARY KEY"),
    "files": (lambda s: s.file_assets("t", since=5, after=(6, 7)), "file_asset_created"),
    "due schedules over files": (lambda s: s.file_schedules_due(5), "file_schedule_idx_active_next"),
    "next schedule over files": (lambda s: s.next_file_schedule(), "file_schedule_idx_active_next"),
    "schedules over files": (lambda s: s.file_schedules("t"), "file_schedule_idx_scope"),
    "completed for a file": (lambda s: s.completed_for("t", 5), "execution_idx_file_recent"),
    **{
        f"executions by {name} (F-6.1, F-9.8)": (
            lambda s, wanted=wanted: (s.count_executions(wanted), s.find_executions(wanted, 20, 20)),
            index,
        )
        for name, (wanted, index) in LISTED.items()
    },
    "projects": (lambda s: s.projects("t"), "PRIMARY KEY"),
    "a project by its folder": (lambda s: s.project_by_path("t", "/x"), "project_path"),
    "a project by its run": (lambda s: s.project_of_run("r"), "project_run"),
    "tasks of a run": (lambda s: s.tasks("r"), "PRIMARY KEY"),
    "tasks by status (T-6.1.3)": (lambda s: s.tasks("r", ("in_progress",)), "task_status"),
    "tasks counted": (lambda s: s.task_counts("r"), "task_status"),
    "tasks to review": (lambda s: s.review_count("r"), "task_status"),
    "last updates (T-6.1.5)": (lambda s: s.recent_tasks("r"), "task_updated"),
    "agents": (lambda s: s.task_agents("r"), "PRIMARY KEY"),
    "last executions (T-6.1.5)": (lambda s: s.task_executions("t", "p", limit=5), "task_execution_project"),
    "executions of a task": (lambda s: s.task_executions("t", "p", task="a"), "task_execution_task"),
    "executions that ended last": (lambda s: s.finished_executions("t", "p"), "task_execution_ended"),
    "executions that run": (lambda s: s.open_executions("t", "p"), "task_execution_open"),
    "an execution": (lambda s: s.task_execution("t", "s"), "task_execution_session"),
    "reports": (lambda s: s.reports("t"), "report_time"),
    "reports of a type": (lambda s: s.reports("t", type="zombie"), "report_type"),
    "reports of a project": (lambda s: s.reports("t", project="p"), "report_project"),
    "reports of both": (lambda s: s.reports("t", type="zombie", project="p", before=9), "report_both"),
    "reports put away": (lambda s: s.reports("t", type="zombie", archived=True), "reports_archive_type"),
    "too many that wait": (lambda s: s.pending_beyond(5), "run_pending"),
    "follow-ups": (lambda s: s.follow_ups(5, 10), "outbox_topic"),
    "batches of files": (lambda s: list(s.queues_between("batch#", "batch$")), "COVERING INDEX queue_message_visible"),
    "head of a batch": (
        lambda s: s.queue_head("batch#a#X#", 5, 100),
        "visible (queue=? AND visible_at<?",
    ),
    "next message": (lambda s: s.next_visible("q"), "queue_message_visible"),
    "dead messages (F-8.4)": (lambda s: s.queued("q-dlq", after=5), "queue_message_dead (queue=? AND no>?)"),
    "dead messages by id": (lambda s: s.messages_by_id("q-dlq", ["a", "b"]), "queue_message_id"),
    "remarks": (lambda s: s.remarks("t", ["r/1", "r/2"]), "PRIMARY KEY"),
    "newest": (lambda s: s.find_runs(EVERY, 50), "PRIMARY KEY"),
    "oldest": (lambda s: s.find_runs(EVERY, 50, oldest=True), "PRIMARY KEY"),
    "by time": (lambda s: s.ranked_runs(EVERY, Ranking(by="updated_at"), 50, 100), "run_updated"),
    "later by time": (lambda s: s.ranked_runs(EVERY, LATER, 500, 100), "run_updated (updated_at<?)"),
    "by priority": (lambda s: s.ranked_runs(EVERY, Ranking(by="priority", after=(5, 5)), 50, 100), "run_priority"),
    "open by time": (lambda s: s.ranked_runs(OPEN, LATER, 50, 100), "run_live"),
    "longest untouched": (lambda s: s.open_runs("default", 9, soonest=False), "run_quiet"),
    "soonest": (lambda s: s.open_runs("default", 9, soonest=True), "run_wake"),
    "open runs counted": (lambda s: s.open_counts("default", 5000), "COVERING INDEX run_open"),
    "ended runs counted": (lambda s: s.ended_counts("default", 5000), "COVERING INDEX run_ended"),
    "failed of a day": (lambda s: s.ended_runs("default", 6, 5000, 9), "run_ended"),
    "inbox of a tenant": (lambda s: s.open_items("default", 9), "item_open"),
    "inbox of some": (lambda s: s.open_items("default", 9, of=[(1, 1, "TODO", None)]), "item_open"),
    "inbox with remarks": (lambda s: s.open_items("default", 9, spoken=True), "m USING PRIMARY KEY (tenant=? AND item"),
    "inbox counted": (lambda s: s.open_groups("default", 5000), "item_open"),
    "open newest": (lambda s: s.find_runs(OPEN, 50), "run_live"),
}


@pytest.mark.parametrize("asked", ASKED)
def test_what_the_engine_asks_is_answered_by_an_index(store: Sqlite, asked: str) -> None:
    """D-11.3: no scan of runs, journal, inbox or items, however many there are."""
    ask, index = ASKED[asked]
    a_net(store)
    store.commit(a_batch(new=[a_run(n) for n in range(1, 200)], journal=[a_turn(n, 1) for n in range(1, 200)]))
    plan = plan_of(store, lambda: ask(store))
    assert plan, "nothing was asked"
    # what a co-routine yields is bounded by its own LIMIT
    found = {*FOUND, *(line.split()[1] for line in plan if line.startswith("CO-ROUTINE"))}
    scans = [line for line in plan if line.startswith("SCAN") and "INDEX" not in line and line.split()[1] not in found]
    assert scans == [], plan
    assert any(index in line for line in plan), plan


@pytest.mark.parametrize("wanted", [ExecutionWanted(tenant="t"), ExecutionWanted(tenant="t", pipeline=5)])
def test_f_9_2_pages_of_executions_are_read_in_their_order(store: Sqlite, wanted: ExecutionWanted) -> None:
    """F-6.1, F-9.2: a page of the newest costs what is on it, not a sort of all that the tenant has."""
    plan = plan_of(store, lambda: store.find_executions(wanted, 20, 20))
    assert plan == ["SEARCH e USING INDEX execution_tenant (tenant_id=?)"], "no TEMP B-TREE"


# ---- versions --------------------------------------------------------------------------------------------------------


def test_migrations_lead_from_the_first_schema_to_this_one(golden: Callable[[Path, str], None]) -> None:
    """A change of `tables.py` without a version and its migration fails here. While there is only version 1, the first
    schema is written with --golden=write; afterwards it never changes again."""
    if schema.VERSION == 1:
        golden(FIRST, ";\n".join(schema.create_all()) + ";\n")
    assert sorted(schema.MIGRATIONS) == list(range(2, schema.VERSION + 1))
    with sqlite3.connect(":memory:") as migrated, sqlite3.connect(":memory:") as made:
        migrated.executescript(FIRST.read_text(encoding="utf-8"))
        for version in sorted(schema.MIGRATIONS):
            for statement in schema.MIGRATIONS[version]:
                migrated.execute(statement)
        for statement in schema.create_all():
            made.execute(statement)
        assert shape(migrated) == shape(made)


@pytest.mark.parametrize("version", OLDER)
def test_a_store_of_an_older_version_is_migrated_in_place(tmp_path: Path, version: int) -> None:
    """V3: from every version that there was; what is in it stays, and it can do what a new one can."""
    path = tmp_path / "store.db"
    _database(path, OLDER[version].read_text(encoding="utf-8"))
    with contextlib.closing(sqlite3.connect(path)) as c:
        c.execute("INSERT INTO mark VALUES('schema_version', ?), ('fence', 7)", (version,))
        c.execute("INSERT INTO net VALUES(1, 'h', 'n', 'net', x'00', NULL, 1)")
        c.execute("INSERT INTO run VALUES(9, 'r9', 'u', 1, NULL, 3, 5, 1, 1, NULL, NULL, 0, NULL)")
        c.execute(f"INSERT INTO waiting VALUES({WHOSE if version > 4 else ''}'news', 9, 1)")
        c.execute(f"PRAGMA application_id={schema.APPLICATION_ID}")
        c.commit()
    store, new = Sqlite(path), Sqlite(tmp_path / "new.db")
    assert shape(store.c) == shape(new.c)
    assert store.c.execute("SELECT value FROM mark WHERE name='schema_version'").fetchone() == (schema.VERSION,)
    assert store.fence == 8 and store.net(1).name == "n"
    assert store.waiting_for("u", "news") == [9] and store.waiting_for("t", "news") == []
    entry = AuditRow("t", 0, 1, "kim", "key.create", "key:1", b"{}")
    assert [row.no for row in store.append_audit([entry])] == [1]
    store.commit(started(1))
    store.close()
    new.close()


def test_an_older_store_is_brought_up_to_date_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """V3: a migration that fails half-way leaves the old store; one that works keeps what is in it."""
    path, now, then = tmp_path / "store.db", schema.VERSION, schema.VERSION + 1
    old = Sqlite(path)
    a_net(old)
    old.commit(started(1))
    old.close()
    monkeypatch.setattr("penstock.store.sqlite.VERSION", then)
    add = 'ALTER TABLE "run" ADD COLUMN "colour" TEXT'
    monkeypatch.setitem(schema.MIGRATIONS, then, (add, "this is no statement"))
    with pytest.raises(StoreError):
        Sqlite(path)
    monkeypatch.setattr("penstock.store.sqlite.VERSION", now)
    same = Sqlite(path)
    assert "colour" not in [c[0] for c in shape(same.c)["run"]["columns"]] and same.last_run() == 1
    same.close()
    monkeypatch.setattr("penstock.store.sqlite.VERSION", then)
    monkeypatch.setitem(schema.MIGRATIONS, then, (add,))
    new = Sqlite(path)
    assert new.c.execute("SELECT no, colour FROM run").fetchall() == [(1, None)]
    assert new.c.execute("SELECT value FROM mark WHERE name='schema_version'").fetchone() == (then,)
    new.close()


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.parametrize("engine", [True, False])
def test_a_newer_store_is_refused_and_left_alone(tmp_path: Path, engine: bool) -> None:
    """H14, V3: an old program does not touch what it does not know."""
    path = tmp_path / "store.db"
    new = Sqlite(path)
    new.c.execute("UPDATE mark SET value=99 WHERE name='schema_version'")
    new.close()
    before = path.read_bytes()
    with pytest.raises(StoreNewer, match="99"):
        Sqlite(path, engine=engine)
    assert path.read_bytes() == before


FOREIGN: dict[str, Callable[[Path], Any]] = {
    "a text": lambda path: path.write_text("dear diary, " * 500),
    "an image": lambda path: path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(5000)),
    "somebody's database": lambda path: _database(path, "CREATE TABLE theirs(x)"),
    "another application's": lambda path: _database(path, "CREATE TABLE theirs(x); PRAGMA application_id=77"),
}


def _database(path: Path, script: str) -> None:
    c = sqlite3.connect(path)
    c.executescript(script)
    c.close()


@pytest.mark.parametrize("engine", [True, False])
@pytest.mark.parametrize("kind", FOREIGN)
def test_a_foreign_file_is_refused_and_left_alone(tmp_path: Path, kind: str, engine: bool) -> None:
    """Not a byte of it changes, and nothing is left beside it: no lock, no journal, no other mode."""
    FOREIGN[kind](tmp_path / "theirs")
    before = bytes_of(tmp_path)
    with pytest.raises(StoreNotOurs, match="theirs"):
        Sqlite(tmp_path / "theirs", engine=engine)
    assert bytes_of(tmp_path) == before


def test_an_empty_file_becomes_a_store_and_a_folder_does_not(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    Sqlite(tmp_path / "empty").close()
    with pytest.raises(StoreError):
        Sqlite(tmp_path)
    with pytest.raises(StoreError, match="no store"):
        Sqlite(tmp_path / "absent", create=False)
    assert not (tmp_path / "absent").exists()


def test_a_store_that_was_never_finished_is_made_again(tmp_path: Path) -> None:
    """The process died between the first byte and the tables."""
    with sqlite3.connect(tmp_path / "store.db") as c:
        c.execute("PRAGMA journal_mode=WAL")
    c.close()
    one = Sqlite(tmp_path / "store.db")
    assert one.last_run() == 0
    one.close()


# ---- is it still there -----------------------------------------------------------------------------------------------


def _another(path: Path) -> None:
    other = path.with_name("other.db")
    Sqlite(other).close()
    other.replace(path)


def _overwritten(path: Path, with_what: bytes) -> None:
    with path.open("r+b") as file:
        file.write(with_what)


GONE: dict[str, Callable[[Path], Any]] = {
    "deleted": lambda path: path.unlink(),
    "renamed": lambda path: path.rename(path.with_name("elsewhere.db")),
    "its folder renamed": lambda path: path.parent.rename(path.parent.with_name("elsewhere")),
    "replaced": _another,
    "its log deleted": lambda path: path.with_name(f"{path.name}-wal").unlink(),
    "its log replaced": lambda path: Path(shutil.copy(path, path.with_name("x"))).replace(
        path.with_name(f"{path.name}-wal")
    ),
    "overwritten": lambda path: _overwritten(path, b"dear diary, " * 500),
    "emptied": lambda path: os.truncate(path, 0),
}


@pytest.mark.parametrize("how", GONE)
def test_nothing_is_committed_into_a_file_that_is_not_there(tmp_path: Path, how: str) -> None:
    """H13: SQLite itself would not notice, and what was acknowledged would be lost with the process."""
    (tmp_path / "s").mkdir()
    store = Sqlite(tmp_path / "s" / "store.db")
    a_net(store)
    store.commit(started(1))
    store.still_there()
    GONE[how](store.path)
    for write in (
        lambda: store.commit(started(2)), lambda: store.put_inbox(1, b"", 1), lambda: store.end_session("s", 1),
        store.still_there,
    ):  # fmt: skip
        with pytest.raises(StoreGone) as refused:
            write()
        assert refused.value.passing and refused.value.hint
    store.close()


def test_a_file_that_comes_back_is_gone_on_with(tmp_path: Path) -> None:
    """The same file at its path again: nothing that was refused is in it."""
    store = Sqlite(tmp_path / "store.db")
    a_net(store)
    store.commit(started(1))
    files = sorted(tmp_path.iterdir())
    (tmp_path / "away").mkdir()
    for file in files:
        file.rename(tmp_path / "away" / file.name)
    with pytest.raises(StoreGone):
        store.commit(started(2))
    for file in files:
        (tmp_path / "away" / file.name).rename(file)
    store.commit(started(3))
    store.close()
    again = Sqlite(tmp_path / "store.db")
    assert [row.no for row, _ in again.load([1, 2, 3])] == [1, 3]
    again.close()


def test_what_is_written_while_the_file_goes_is_not_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look before a commit and its end."""
    store = Sqlite(tmp_path / "store.db")
    a_net(store)
    right = store._written

    def gone() -> None:
        store.path.unlink()
        right()

    monkeypatch.setattr(store, "_written", gone)
    with pytest.raises(StoreGone):
        store.commit(started(1))
    assert store.commits == 0
    store.close()


# ---- disks -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    if mount is None or os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    asked = [mount, "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)]
    if subprocess.run(asked, stderr=subprocess.DEVNULL).returncode:
        pytest.skip("this machine does not let us mount a file system")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def resize(disk: Path, size: str) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", str(disk)], check=True)


def test_r8_a_full_disk(small_disk: Path) -> None:
    """R8, H13: real ENOSPC, twenty times, each time at another place; then space, and it goes on."""
    full = 0
    for size in range(20):
        resize(small_disk, f"{1000 + 37 * size}k")
        path = small_disk / f"store{size}.db"
        store = Sqlite(path)
        a_net(store)
        while True:
            before = store.last_run()
            batch = started(before + 1, turns=5)
            batch.blobs = [(f"b{before}", 20_000, bytearray(os.urandom(5_000 + 777 * size)))]
            try:
                store.commit(batch)
            except StoreFull:
                full += 1
                break
        assert store.last_run() == before
        resize(small_disk, "16m")
        store.commit(batch)
        assert store.c.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        store.close()
        again = Sqlite(path)
        assert [len(tail) for _, tail in again.load(range(1, before + 9))] == [5] * (before + 1)
        again.close()
        for file in small_disk.iterdir():
            file.unlink()
    assert full == 20


def test_a_store_cannot_be_made_on_a_full_disk_and_can_later(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(4096)):
            pass
    with pytest.raises(StoreFull):
        Sqlite(small_disk / "store.db")
    ballast.unlink()
    store = Sqlite(small_disk / "store.db")
    a_net(store)
    store.commit(started(1))
    store.close()


@pytest.fixture
def nobodys() -> Iterator[Path]:
    """A folder that a process without rights may enter and read, and not write to."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_a_folder_without_rights_is_said_in_words(nobodys: Path) -> None:
    """H13: read-only; neither a driver nor a reader gets a traceback, and nothing changes."""
    store = Sqlite(nobodys / "store.db")
    a_net(store)
    store.commit(started(1))
    store.close()
    for file in nobodys.iterdir():
        file.chmod(0o444)
    nobodys.chmod(0o555)
    before = bytes_of(nobodys)
    code = """
import os, sys
from penstock.errors import StoreError
from penstock.store.sqlite import Sqlite
if os.geteuid() == 0:  # who may do everything cannot show what happens to those who may not
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
for name, engine in (("store.db", True), ("new.db", True), ("new.db", False)):
    try:
        Sqlite(sys.argv[1] + "/" + name, engine=engine)
    except StoreError as error:
        print(error.code)
"""
    out, _ = python(code, str(nobodys)).communicate(timeout=30)
    assert out.split() == ["PS-503-STORE-AWAY"] * 3
    assert bytes_of(nobodys) == before
