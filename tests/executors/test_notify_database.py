"""notify into a database: the same on SQLite and on a real PostgreSQL."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from penstock.executors.channels.row_changes import DELIVERIES
from tests.executors.notifying import PostDesk
from tests.servers import postgres

TABLES = """
CREATE TABLE action_log (id INTEGER PRIMARY KEY, line TEXT, rate REAL, tags TEXT, note TEXT UNIQUE);
CREATE TABLE events (id INTEGER PRIMARY KEY, line TEXT NOT NULL, idempotency_key TEXT UNIQUE);
CREATE TABLE secrets_of_others (id INTEGER PRIMARY KEY, word TEXT);
CREATE TABLE "odd ""%s name" (id INTEGER PRIMARY KEY, "col ""%" TEXT);
INSERT INTO action_log (id, line, rate) VALUES (1, 'L01', 0.5);
INSERT INTO secrets_of_others (id, word) VALUES (1, 'x');
"""
ALLOWED = ["action_log", "events", 'odd "%s name', "absent"]


class Database:
    def __init__(self, kind, place):
        self.kind, self.place = kind, place
        self.connection = {"type": kind, "path" if kind == "sqlite" else "url": place}
        for statement in TABLES.split(";\n"):
            if statement.strip():
                self.rows(statement)

    def rows(self, statement):
        if self.kind == "sqlite":
            with sqlite3.connect(self.place) as db:
                return db.execute(statement).fetchall()
        with psycopg.connect(self.place) as db:
            cursor = db.execute(statement)
            return cursor.fetchall() if cursor.description else []


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path):
    if request.param == "postgresql":
        return Database("postgresql", postgres.database())
    place = str(tmp_path / "factory.db")
    sqlite3.connect(place).close()
    return Database("sqlite", place)


@pytest.fixture
def desk(tmp_path, database):
    desk = PostDesk(tmp_path)
    desk.put("connection", "default_sql", {**database.connection, "options": {"tables": ALLOWED}})
    return desk


def _write(table="action_log", operation="insert", **config):
    return {"channel": "database", "config": {"table": table, "operation": operation, **config}}


def test_insert(desk, database):
    """W-4.5.4, W-4.5.7: values bound, lists and objects as JSON; the new row's key is told."""
    line = "L02'); DROP TABLE action_log; --"
    out = desk.sent(_write(values={"id": 7, "line": line, "rate": 0.07, "tags": ["a", {"b": None}]}))
    assert database.rows("SELECT line, rate, tags FROM action_log WHERE id = 7") == [(line, 0.07, '["a",{"b":null}]')]
    assert (out["rows"], out["keys"]) == (1, [{"id": 7}])
    assert (out["_delivery"]["channel"], out["_delivery"]["status"]) == ("database", "sent")


def test_values_from_a_template(desk, database):
    """C-55, W-4.5.5: a template whose body is an object, or its parameters."""
    config = {"table": "action_log", "operation": "insert"}
    body = {"id": "${input.n}", "line": "${line}", "note": "정상 ${line}"}
    desk.put("template", "log_normal_check", {"channel": "database", "body": body, "channel_config": config})
    desk.put("template", "bare", {"channel_config": config})
    desk.names = {"input": {"n": 5}}
    desk.sent({"channel": "database", "template": {"id": "log_normal_check", "params": {"line": "L01"}}})
    desk.sent({"channel": "database", "template": {"id": "bare", "params": {"id": 6, "line": "L02"}}}, key="t/r/n/0/2")
    assert database.rows("SELECT id, line, note FROM action_log WHERE id > 4 ORDER BY id") == [
        (5, "L01", "정상 L01"),
        (6, "L02", None),
    ]


def test_many_rows_at_once_or_none(desk, database):
    values = [{"id": 10, "line": "a"}, {"id": 11, "line": "b"}, {"id": 1, "line": "is there"}]
    failure = desk.refused(_write(values=values))
    assert failure.code == "DATABASE_CONFLICT"
    assert database.rows("SELECT count(*) FROM action_log") == [(1,)]
    assert desk.sent(_write(values=values[:2]))["rows"] == 2


@pytest.mark.parametrize(
    ("action", "row", "rows"),
    [("ignore", ("L01", 0.5), 0), ("update", ("new", 0.9), 1)],
)
def test_conflict_action(desk, database, action, row, rows):
    """W-4.5.7, W-4.5.9: ignore and update; fail is the default."""
    values = {"id": 1, "line": "new", "rate": 0.9}
    failure = desk.refused(_write(values=values))
    assert (failure.code, failure.category) == ("DATABASE_CONFLICT", "permanent")
    assert desk.sent(_write(values=values, conflict_action=action))["rows"] == rows
    assert database.rows("SELECT line, rate FROM action_log WHERE id = 1") == [row]


def test_conflict_fail_is_what_it_says(desk, database):
    """W-4.5.7: also for upsert, when the author says so."""
    values = {"id": 1, "line": "new"}
    assert desk.refused(_write(operation="upsert", values=values, conflict_action="fail")).code == "DATABASE_CONFLICT"


def test_upsert(desk, database):
    """W-4.5.7: by the primary key, or by the columns that are named."""
    desk.sent(_write(operation="upsert", values=[{"id": 1, "line": "new"}, {"id": 2, "line": "two", "note": "n"}]))
    assert database.rows("SELECT id, line, rate FROM action_log ORDER BY id") == [(1, "new", 0.5), (2, "two", None)]
    by_note = {"id": 3, "line": "by note", "note": "n"}
    desk.sent(_write(operation="upsert", values=by_note, conflict_columns=["note"]), key="t/r/n/0/2")
    assert database.rows("SELECT line FROM action_log WHERE note = 'n'") == [("by note",)]


def test_update(desk, database):
    """W-4.5.7: only what `where` names; null is null."""
    desk.sent(_write(operation="update", values={"note": "seen"}, where={"line": "L01", "note": None}))
    assert database.rows("SELECT note FROM action_log") == [("seen",)]
    out = desk.sent(_write(operation="update", values={"note": "x"}, where={"id": 99}), key="t/r/n/0/2")
    assert out["rows"] == 0


def test_update_in_conflict(desk, database):
    """W-4.5.7: conflict_action for an update that would make two rows equal."""
    desk.sent(_write(values=[{"id": 2, "note": "a"}, {"id": 3, "note": "b"}]))
    args = {"operation": "update", "values": {"note": "a"}, "where": {"id": 3}}
    assert desk.refused(_write(**args), key="t/r/n/0/2").code == "DATABASE_CONFLICT"
    assert desk.sent(_write(**args, conflict_action="ignore"), key="t/r/n/0/3")["rows"] == 0
    assert desk.refused(_write(**args, conflict_action="update"), key="t/r/n/0/4").code == "INPUT_INVALID"


def test_delete_is_off_by_default(desk, database):
    """W-4.5.7: only the connection can allow it, and never without `where`."""
    args = _write(operation="delete", where={"id": 1})
    failure = desk.refused(args)
    assert (failure.code, failure.category) == ("DATABASE_DENIED", "authorization")
    assert database.rows("SELECT count(*) FROM action_log") == [(1,)]
    options = {"tables": ALLOWED, "allow_delete": True}
    desk.put("connection", "default_sql", {**database.connection, "options": options})
    assert desk.refused(_write(operation="delete")).code == "CHANNEL_CONFIG_MISSING"
    assert desk.sent(args)["rows"] == 1
    assert database.rows("SELECT count(*) FROM action_log") == [(0,)]


def test_a_repeated_attempt_writes_once(desk, database):
    """W-4.5.8: by a row of our own in the same transaction; the answer is the first attempt's."""
    args = _write(values={"line": "once"} if database.kind == "sqlite" else {"id": 50, "line": "once"})
    first = desk.sent(args)
    again = desk.sent(args, attempt=2)
    assert (again["rows"], again["keys"]) == (first["rows"], first["keys"])
    assert (first["_delivery"]["status"], again["_delivery"]["status"]) == ("sent", "duplicate")
    assert database.rows("SELECT count(*) FROM action_log WHERE line = 'once'") == [(1,)]
    assert database.rows(f"SELECT key FROM {DELIVERIES}") == [("t/r/n/0/1",)]


@pytest.mark.parametrize("table", ["action_log", "events"])
def test_attempts_at_the_same_moment_write_once(desk, database, table):
    """W-4.5.8: a worker that was thought dead and the one that took over."""
    args = _write(table, operation="insert", values={"line": "once"})
    if database.kind == "postgresql":
        database.rows("CREATE SEQUENCE ids START 100")
        database.rows(f"ALTER TABLE {table} ALTER id SET DEFAULT nextval('ids')")
    with ThreadPoolExecutor(6) as pool:
        outs = list(pool.map(lambda n: desk.sent(args, attempt=n), range(1, 7)))
    assert sorted(out["_delivery"]["status"] for out in outs) == ["duplicate"] * 5 + ["sent"]
    assert len({str(out["keys"]) for out in outs}) == 1
    assert database.rows(f"SELECT count(*) FROM {table} WHERE line = 'once'") == [(1,)]


def test_a_failed_attempt_leaves_no_trace(desk, database):
    """W-4.5.8: what remembers a write is written with it or not at all."""
    values = {"id": 1, "line": "in the way"}
    desk.refused(_write(values=values))
    assert database.rows("SELECT count(*) FROM action_log") == [(1,)]
    database.rows("DELETE FROM action_log")
    assert desk.sent(_write(values=values), attempt=2)["_delivery"]["status"] == "sent"


def test_a_late_repetition_does_not_undo_what_came_after(desk, database):
    """W-4.5.8: an upsert that is asked again after a newer one."""
    desk.sent(_write(operation="upsert", values={"id": 1, "line": "old"}))
    desk.sent(_write(operation="upsert", values={"id": 1, "line": "newer"}), key="t/r/n/0/2")
    desk.sent(_write(operation="upsert", values={"id": 1, "line": "old"}), attempt=2)
    assert database.rows("SELECT line FROM action_log") == [("newer",)]


def test_a_table_that_has_a_column_for_the_key(desk, database):
    """W-4.5.8: then nothing of our own is made in somebody's database."""
    args = _write("events", values=[{"id": 1, "line": "a"}, {"id": 2, "line": "b"}])
    desk.sent(args)
    assert desk.sent(args, attempt=2)["_delivery"]["status"] == "duplicate"
    one = _write("events", values={"id": 3, "line": "c"})
    desk.sent(one, key="t/r/n/0/2")
    assert database.rows("SELECT id, idempotency_key FROM events ORDER BY id") == [
        (1, "t/r/n/0/1/1"),
        (2, "t/r/n/0/1/2"),
        (3, "t/r/n/0/2"),
    ]
    with pytest.raises((sqlite3.Error, psycopg.Error)):
        database.rows(f"SELECT * FROM {DELIVERIES}")


def test_a_connection_can_do_without_the_record(desk, database):
    options = {"tables": ALLOWED, "deliveries": False}
    desk.put("connection", "default_sql", {**database.connection, "options": options})
    desk.sent(_write(operation="update", values={"line": "x"}, where={"id": 1}))
    with pytest.raises((sqlite3.Error, psycopg.Error)):
        database.rows(f"SELECT * FROM {DELIVERIES}")


def test_names_are_quoted(desk, database):
    """W-4.5.9: a strange name is a name, not a statement."""
    desk.sent(_write('odd "%s name', values={"id": 1, 'col "%': "v"}))
    assert database.rows('SELECT "col ""%" FROM "odd ""%s name"') == [("v",)]


@pytest.mark.parametrize(
    ("config", "code"),
    [
        ({"table": "secrets_of_others"}, "DATABASE_DENIED"),
        ({"table": "action_log; DROP TABLE action_log"}, "DATABASE_DENIED"),
        ({"table": 'action_log" --'}, "DATABASE_DENIED"),
        ({"table": "absent"}, "DATABASE_TABLE"),
        ({"values": {"line) SELECT 1; --": 1}}, "INPUT_INVALID"),
        ({"values": {"nobody": 1}}, "INPUT_INVALID"),
        ({"values": {"rowid": 1, "oid": 1}}, "INPUT_INVALID"),
        ({"values": {}}, "CHANNEL_CONFIG_MISSING"),
        ({"values": [1]}, "INPUT_INVALID"),
        ({"values": [{"line": "x"}] * 1001}, "INPUT_INVALID"),
        ({"operation": "drop"}, "INPUT_INVALID"),
        ({"operation": "update"}, "CHANNEL_CONFIG_MISSING"),
        ({"operation": "update", "where": {"1=1 OR id": 1}}, "INPUT_INVALID"),
        ({"operation": "upsert", "conflict_columns": ["id) DO NOTHING; --"]}, "INPUT_INVALID"),
        ({"conflict_action": "replace"}, "INPUT_INVALID"),
        ({"connection": "nobody"}, "CONNECTION_NOT_FOUND"),
        ({"connection": "closed"}, "DATABASE_DENIED"),
        ({"values": {"id": 10**30, "line": "x"}}, "INPUT_INVALID"),
        ({"values": {"id": 2, "line": "\ud800"}}, "INPUT_INVALID"),
    ],
)
def test_what_is_not_written(desk, database, config, code):
    """W-4.5.7, W-4.5.9: no table that is not listed, no column that is not there, no SQL from data."""
    desk.put("connection", "closed", database.connection)
    failure = desk.refused(_write(**{"values": {"id": 2, "line": "x"}, **config}))
    assert failure.code == code
    assert failure.category == ("authorization" if code == "DATABASE_DENIED" else "validation")
    assert database.rows("SELECT id, line FROM action_log") == [(1, "L01")]
    assert database.rows("SELECT id, word FROM secrets_of_others") == [(1, "x")]


def test_constraints_and_types(desk, database):
    """A row that the table refuses is the author's mistake, told without a traceback."""
    failure = desk.refused(_write("events", values={"id": 1, "line": None}))
    assert (failure.code, failure.category) == ("DATABASE_CONSTRAINT", "validation")
    if database.kind == "postgresql":
        failure = desk.refused(_write(values={"id": "no number"}))
        assert (failure.code, failure.category) == ("INPUT_INVALID", "validation")


def test_a_relative_path_lies_in_the_input_folder(tmp_path):
    """As for the nodes that read: one connection serves both."""
    desk = PostDesk(tmp_path)
    database = Database("sqlite", str(desk.input_dir / "facts.db"))
    for place in ({"path": "facts.db"}, {"url": "sqlite:///facts.db"}):
        desk.put("connection", "default_sql", {"type": "sqlite", **place, "options": {"tables": ALLOWED}})
        desk.sent(_write(operation="upsert", values={"id": 1, "line": str(place)}), key=str(place))
        assert database.rows("SELECT line FROM action_log") == [(str(place),)]


def test_a_database_that_is_busy(tmp_path):
    """W-4.5.8: worth another attempt."""
    place = str(tmp_path / "busy.db")
    sqlite3.connect(place).close()
    database = Database("sqlite", place)
    desk = PostDesk(tmp_path)
    desk.put("connection", "default_sql", {**database.connection, "options": {"tables": ALLOWED}})
    other = sqlite3.connect(place, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    failure = desk.refused(_write(values={"id": 2}), timeout_ms=200)
    assert failure.category in ("transient", "timeout")
    other.execute("ROLLBACK")
    other.close()


def test_a_database_that_is_not_there(tmp_path):
    """W-4.5.8: a connection error; nothing is made by looking."""
    desk = PostDesk(tmp_path)
    options = {"tables": ALLOWED}
    desk.put("connection", "default_sql", {"type": "sqlite", "path": str(tmp_path / "no.db"), "options": options})
    failure = desk.refused(_write(values={"id": 2}))
    assert (failure.code, failure.category) == ("CONNECTION_LOST", "transient")
    assert not (tmp_path / "no.db").exists()
    desk.tenant.secrets["pw"] = "pass-word-9"
    url = "postgresql://bob@127.0.0.1:9/none"
    desk.put("connection", "default_sql", {"type": "postgresql", "url": url, "secret": "pw", "options": options})
    failure = desk.refused(_write(values={"id": 2}))
    assert (failure.code, failure.category) == ("CONNECTION_LOST", "transient")
    assert "pass-word-9" not in repr(failure)
