"""Rows of a database: one change as statements, the same for SQLite and PostgreSQL, in one transaction.

The statements are put together from names that exist (columns) or are listed (tables), quoted; every value is bound.
What is to be done is a generator that asks for statements and is told their answers, so that both drivers, one of which
waits and one of which works in a thread, do the same.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Mapping
from typing import Any
from urllib.parse import quote as url_quote

import msgspec

from penstock.executors.parts.notification import Unsendable
from penstock.executors.parts.threads import in_thread

DELIVERIES = "penstock_deliveries"
_BUSY_S = 5.0
_KEYS_TOLD = 100
_UNIQUE = (sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)


class Change(msgspec.Struct, frozen=True, kw_only=True):
    table: str
    operation: str
    values: list[dict[str, Any]]
    where: dict[str, Any]
    conflict_action: str
    conflict_columns: list[str]
    key: str
    at: str
    key_column: str
    deliveries: bool


class WriteResult(msgspec.Struct, frozen=True):
    rows: int
    keys: list[dict[str, Any]] = []  # primary keys of inserted rows
    again: bool = False  # an earlier attempt has done it


class StatementResult(msgspec.Struct, frozen=True):
    rows: list[tuple[Any, ...]]
    count: int


class Conflict(Exception):
    """A row with this key is there already."""


Steps = Generator[tuple[str, list[Any]], StatementResult, WriteResult]


class Dialect(msgspec.Struct, frozen=True):
    mark: str
    columns: str  # name and place in the primary key (0: none) of a table's columns
    exists: str
    lock: str = ""  # holds up another attempt with the same key; a SQLite transaction is alone anyway

    def quoted(self, name: str) -> str:
        if "\0" in name:
            raise Unsendable("INPUT_INVALID", "validation", "A name holds a zero byte.")
        text = '"' + name.replace('"', '""') + '"'
        return text.replace("%", "%%") if self.mark == "%s" else text

    def table(self, name: str) -> str:
        """PostgreSQL: schema.table; SQLite has no schemas worth naming."""
        return ".".join(map(self.quoted, name.split(".", 1))) if self.mark == "%s" else self.quoted(name)


SQLITE = Dialect(
    mark="?",
    columns="SELECT name, pk FROM pragma_table_info(?) ORDER BY cid",
    exists="SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?",
)
POSTGRES = Dialect(
    mark="%s",
    columns=(
        "SELECT a.attname, CASE WHEN a.attnum = ANY(i.indkey) THEN 1 ELSE 0 END FROM pg_attribute a"
        " LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary"
        " WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"
    ),
    exists="SELECT 1 WHERE to_regclass(%s) IS NOT NULL",
    lock="SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))",
)


async def write(connection: Mapping[str, Any], change: Change, timeout_s: float) -> WriteResult:
    """The connection has been checked: `path` is its SQLite file, `reached` what to connect to PostgreSQL with."""
    if connection["type"] == "sqlite":
        return await in_thread(_sqlite, connection, change, timeout_s)
    return await _postgres(connection, change)


def limits(timeout_s: float) -> dict[str, Any]:
    """What a session of PostgreSQL is opened with."""
    return {
        "connect_timeout": max(2, int(timeout_s)),
        "application_name": "penstock",
        "options": f"-c statement_timeout={int(timeout_s * 1000)} -c lock_timeout={int(_BUSY_S * 1000)}",
    }


# ---- what is to be done ----------------------------------------------------------------------------------------------


def steps(change: Change, sql: Dialect) -> Steps:
    named = change.table if sql.mark == "?" else sql.table(change.table).replace("%%", "%")
    described = yield sql.columns, [named]
    columns = {str(name): int(pk) for name, pk in described.rows}
    if not columns:
        raise Unsendable("DATABASE_TABLE", "validation", f"There is no table «{change.table[:100]}».")
    used = {*change.where, *change.conflict_columns, *(name for row in change.values for name in row)}
    unknown = sorted(used - set(columns))
    if unknown:
        why = f"The table «{change.table[:100]}» has no column «{unknown[0][:100]}»."
        raise Unsendable("INPUT_INVALID", "validation", why, {"columns": [name[:100] for name in unknown[:10]]})
    if sql.lock:
        yield sql.lock, [change.key]
    given = any(change.key_column in row for row in change.values)
    if change.operation == "insert" and change.key_column in columns and not given:
        return (yield from _keyed(change, sql, columns))
    if not change.deliveries:
        return (yield from _apply(change, sql, columns, change.values))
    return (yield from _recorded(change, sql, columns))


def _keyed(change: Change, sql: Dialect, columns: dict[str, int]) -> Steps:
    """The table itself remembers which firing has written a row."""
    several = len(change.values) > 1
    rows = [{**row, change.key_column: f"{change.key}/{n}" if several else change.key} for n, row in _counted(change)]
    primary = [name for name, pk in columns.items() if pk] or [change.key_column]
    table, column = sql.table(change.table), sql.quoted(change.key_column)
    known = yield (
        " ".join(["SELECT", ", ".join(map(sql.quoted, primary)), "FROM", table, "WHERE", column, "=", sql.mark]),
        [rows[0][change.key_column]],
    )
    if known.rows:
        return WriteResult(len(rows), [dict(zip(primary, known.rows[0], strict=True))], True)
    return (yield from _apply(change, sql, columns, rows))


def _recorded(change: Change, sql: Dialect, columns: dict[str, int]) -> Steps:
    """A row of our own remembers it, in the same transaction."""
    there = yield sql.exists, [DELIVERIES]
    if not there.rows:
        try:
            yield f"CREATE TABLE IF NOT EXISTS {DELIVERIES} (key TEXT PRIMARY KEY, at TEXT NOT NULL, answer TEXT)", []
        except Conflict:  # another has made it this very moment
            raise Unsendable("DATABASE_BUSY", "transient", "The database is busy.") from None
    two = f"{sql.mark}, {sql.mark}"
    mine = yield f"INSERT INTO {DELIVERIES} (key, at) VALUES ({two}) ON CONFLICT DO NOTHING", [change.key, change.at]  # noqa: S608
    if not mine.count:
        known = yield f"SELECT answer FROM {DELIVERIES} WHERE key = {sql.mark}", [change.key]  # noqa: S608
        answer = msgspec.json.decode(known.rows[0][0] or "{}")
        return WriteResult(answer.get("rows", 0), answer.get("keys", []), True)
    written = yield from _apply(change, sql, columns, change.values)
    answer = msgspec.json.encode({"rows": written.rows, "keys": written.keys}, enc_hook=str).decode()
    yield f"UPDATE {DELIVERIES} SET answer = {sql.mark} WHERE key = {sql.mark}", [answer, change.key]  # noqa: S608
    return written


def _apply(change: Change, sql: Dialect, columns: dict[str, int], rows: list[dict[str, Any]]) -> Steps:
    if change.operation in ("insert", "upsert"):
        return (yield from _insert(change, sql, columns, rows))
    table = sql.table(change.table)
    where, bound = _where(change.where, sql)
    if change.operation == "delete":
        gone = yield f"DELETE FROM {table} WHERE {where}", bound  # noqa: S608
        return WriteResult(gone.count)
    row = rows[0]
    sets = ", ".join(f"{sql.quoted(name)} = {sql.mark}" for name in row)
    statement = f"UPDATE {table} SET {sets} WHERE {where}"  # noqa: S608
    values = [*map(_bound, row.values()), *bound]
    if change.conflict_action != "ignore":
        changed = yield statement, values
        return WriteResult(changed.count)
    yield "SAVEPOINT penstock", []
    try:
        changed = yield statement, values
    except Conflict:
        yield "ROLLBACK TO SAVEPOINT penstock", []
        return WriteResult(0)
    return WriteResult(changed.count)


def _insert(change: Change, sql: Dialect, columns: dict[str, int], rows: list[dict[str, Any]]) -> Steps:
    primary = [name for name, pk in columns.items() if pk]
    count, keys = 0, []
    for row in rows:
        parts = [
            "INSERT INTO", sql.table(change.table), "(" + ", ".join(map(sql.quoted, row)) + ")",
            "VALUES", "(" + ", ".join([sql.mark] * len(row)) + ")", _on_conflict(change, sql, primary, row),
        ]  # fmt: skip
        if primary:
            parts += ["RETURNING", ", ".join(map(sql.quoted, primary))]
        done = yield " ".join(parts), [_bound(value) for value in row.values()]
        count += len(done.rows) if primary else done.count
        keys += [dict(zip(primary, key, strict=True)) for key in done.rows]
    return WriteResult(count, keys[:_KEYS_TOLD])


def _on_conflict(change: Change, sql: Dialect, primary: list[str], row: Mapping[str, Any]) -> str:
    if change.conflict_action == "fail":
        return ""
    target = change.conflict_columns or primary
    named = "(" + ", ".join(map(sql.quoted, target)) + ")" if target else ""
    if change.conflict_action == "ignore":
        return " ".join(["ON CONFLICT", named if change.conflict_columns else "", "DO NOTHING"])
    if not target:
        why = f"The table «{change.table[:100]}» has no primary key; «conflict_columns» must say what is unique."
        raise Unsendable("INPUT_INVALID", "validation", why)
    rest = [sql.quoted(name) for name in row if name not in target]
    if not rest:
        return f"ON CONFLICT {named} DO NOTHING"
    return f"ON CONFLICT {named} DO UPDATE SET " + ", ".join(f"{name} = excluded.{name}" for name in rest)


def _where(where: Mapping[str, Any], sql: Dialect) -> tuple[str, list[Any]]:
    tests = [sql.quoted(name) + (" IS NULL" if value is None else f" = {sql.mark}") for name, value in where.items()]
    return " AND ".join(tests), [_bound(value) for value in where.values() if value is not None]


def _bound(value: Any) -> Any:
    """Objects and lists are stored as JSON."""
    return msgspec.json.encode(value).decode() if isinstance(value, Mapping | list | tuple) else value


def _counted(change: Change) -> list[tuple[int, dict[str, Any]]]:
    return list(enumerate(change.values, 1))


# ---- who does it -----------------------------------------------------------------------------------------------------


def _sqlite(connection: Mapping[str, Any], change: Change, timeout_s: float) -> WriteResult:
    try:
        uri = f"file:{url_quote(str(connection['path']))}?mode=rw"
        db = sqlite3.connect(uri, uri=True, timeout=min(_BUSY_S, timeout_s), isolation_level=None)
    except sqlite3.Error:
        raise ConnectionError(f"the database of «{connection['id']}» cannot be opened") from None
    try:
        db.execute("BEGIN IMMEDIATE")
        written = _run_steps(steps(change, SQLITE), db)
        db.execute("COMMIT")
        return written
    except sqlite3.Error as error:
        raise _sqlite_failure(error) from None
    except Conflict:
        raise _conflicts() from None
    except (OverflowError, UnicodeEncodeError):
        raise Unsendable("INPUT_INVALID", "validation", "A value cannot be stored: too large or no text.") from None
    finally:
        db.close()  # what was not committed is undone


class _Progress:
    """The statement that comes next, None after the last one; then `result` is there."""

    next: tuple[str, list[Any]] | None
    result: WriteResult

    def __init__(self, work: Steps) -> None:
        self._work = work
        self._advance(work.__next__)

    def answered(self, answer: StatementResult) -> None:
        self._advance(self._work.send, answer)

    def conflicted(self) -> None:
        self._advance(self._work.throw, Conflict())

    def _advance(self, go: Callable[..., tuple[str, list[Any]]], *given: Any) -> None:
        try:
            self.next = go(*given)
        except StopIteration as ended:
            self.next, self.result = None, ended.value


def _run_steps(work: Steps, db: sqlite3.Connection) -> WriteResult:
    progress = _Progress(work)
    while progress.next is not None:
        try:
            cursor = db.execute(*progress.next)
            answer = StatementResult(cursor.fetchall() if cursor.description else [], cursor.rowcount)
        except sqlite3.IntegrityError as error:
            if error.sqlite_errorcode not in _UNIQUE:
                raise
            progress.conflicted()
        else:
            progress.answered(answer)
    return progress.result


def _sqlite_failure(error: sqlite3.Error) -> Exception:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return Unsendable("DATABASE_BUSY", "transient", "The database is busy.")
    if code == sqlite3.SQLITE_CONSTRAINT:
        return Unsendable("DATABASE_CONSTRAINT", "validation", f"The table refuses the row: {str(error)[:200]}.")
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL):
        return ConnectionError("the database cannot be written")
    return Unsendable("DATABASE_ERROR", "permanent", f"The database refuses the change: {str(error)[:200]}.")


def _conflicts() -> Unsendable:
    why = "A row with this key is there already; «conflict_action» says what to do then."
    return Unsendable("DATABASE_CONFLICT", "permanent", why)


async def _postgres(connection: Mapping[str, Any], change: Change) -> WriteResult:
    import psycopg

    try:
        async with await psycopg.AsyncConnection.connect(**connection["reached"]) as db:
            return await _run_steps_async(steps(change, POSTGRES), db)
    except Conflict:
        raise _conflicts() from None
    except psycopg.Error as error:
        raise _postgres_failure(error, connection) from None
    except (OverflowError, UnicodeEncodeError):
        raise Unsendable("INPUT_INVALID", "validation", "A value cannot be stored: too large or no text.") from None


async def _run_steps_async(work: Steps, db: Any) -> WriteResult:
    import psycopg

    progress = _Progress(work)
    while progress.next is not None:
        try:
            cursor = await db.execute(*progress.next)
            answer = StatementResult(await cursor.fetchall() if cursor.description else [], cursor.rowcount)
        except psycopg.errors.UniqueViolation:
            progress.conflicted()
        else:
            progress.answered(answer)
    return progress.result


def _postgres_failure(error: Any, connection: Mapping[str, Any]) -> Exception:
    """By SQLSTATE. Only the first line of what the server says is told: its detail repeats rows."""
    state, reason = str(error.sqlstate or ""), str(error.diag.message_primary or "")[:200]
    if state.startswith("28"):
        return Unsendable("DATABASE_DENIED", "authorization", f"«{connection['id']}» does not let us in.")
    if state == "42501":
        return Unsendable("DATABASE_DENIED", "authorization", f"The database refuses: {reason}.")
    if state.startswith("23"):
        return Unsendable("DATABASE_CONSTRAINT", "validation", f"The table refuses the row: {reason}.")
    if state.startswith("22") or state in ("42804", "42883"):
        return Unsendable("INPUT_INVALID", "validation", f"A value does not fit its column: {reason}.")
    if state.startswith(("40", "53", "55")) or state in ("57014", "42P07"):  # the last: another made our table just now
        return Unsendable("DATABASE_BUSY", "transient", "The database is busy.")
    if not state and type(error).__name__ == "DataError":
        return Unsendable("INPUT_INVALID", "validation", "A value cannot be stored in the database.")
    if not state or state.startswith(("08", "57")):
        return ConnectionError(f"the database of «{connection['id']}» cannot be reached")
    return Unsendable("DATABASE_ERROR", "permanent", f"The database refuses the change: {reason}.")
