"""A SQLite file that is read from: opened so that it refuses writes by itself, each call in a thread."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote, unquote

from penstock.executors.contract import Services, failed
from penstock.executors.parts.connections import Connection
from penstock.executors.parts.network.http_call import CallRefused
from penstock.executors.parts.sql.database import SqlFailed, refuses, rows_of
from penstock.executors.parts.sql.parameters import BoundStatement
from penstock.executors.parts.sql.rows import Rows
from penstock.executors.parts.threads import in_thread

T = TypeVar("T")
_LENGTH = 32 * 1024 * 1024


class SqliteDatabase:
    """A session that stops what it does when it is closed."""

    def __init__(self, connection: Connection, services: Services) -> None:
        self.connection, self.services = connection, services
        self._base: sqlite3.Connection | None = None
        self._stopped, self._lock = threading.Event(), threading.Lock()

    async def read(self, ready: BoundStatement) -> Rows:
        return await in_thread(self._guarded, lambda base: self._read(base, ready))

    async def columns(self, table: str) -> Mapping[str, str]:
        return await in_thread(self._guarded, lambda base: _columns(base, table))

    async def close(self) -> None:
        """Never waits: a statement that is under way is interrupted, and its thread closes the file."""
        self._stopped.set()
        if self._lock.acquire(blocking=False):
            try:
                self._close()
            finally:
                self._lock.release()

    def _guarded(self, call: Callable[[sqlite3.Connection], T]) -> T:
        with self._lock:
            try:
                if self._base is None:
                    self._base = self._open()
                return call(self._base)
            except (sqlite3.Error, sqlite3.Warning, UnicodeError, OverflowError) as error:
                raise sqlite_failure(error, self.connection) from None
            finally:
                if self._stopped.is_set():
                    self._close()

    def _close(self) -> None:
        if self._base is not None:
            self._base.close()
            self._base = None

    def _open(self) -> sqlite3.Connection:
        path = sqlite_path(self.connection, self.services)
        uri = f"file:{quote(str(path))}?mode=ro"
        base = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=5, check_same_thread=False)
        try:
            base.execute("PRAGMA query_only = ON")
            base.execute("PRAGMA trusted_schema = OFF")
            base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LENGTH)
            base.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
            base.set_authorizer(_reads_only)
            base.set_progress_handler(self._stopped.is_set, 10_000)
        except BaseException:
            base.close()
            raise
        return base

    def _read(self, base: sqlite3.Connection, ready: BoundStatement) -> Rows:
        cursor = base.execute(ready.text, ready.values)
        rows = rows_of([column[0] for column in cursor.description or ()], self.connection, self.services)
        for row in cursor:
            rows.add(row)
        return rows


def _columns(base: sqlite3.Connection, table: str) -> dict[str, str]:
    base.set_authorizer(None)  # no statement of an author may ask this, so it is allowed for this one only
    try:
        return dict(base.execute("SELECT name, type FROM pragma_table_xinfo(?)", (table,)).fetchall())
    finally:
        base.set_authorizer(_reads_only)


def _reads_only(action: int, first: str | None, second: str | None, base: str | None, inner: str | None) -> int:
    if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE):
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION and second not in ("load_extension", "fts3_tokenizer"):
        return sqlite3.SQLITE_OK
    # How a virtual table (json_each, a full text index) declares itself when it is read; no statement may do it.
    if action == sqlite3.SQLITE_UPDATE and first in ("sqlite_master", "sqlite_schema"):
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_PRAGMA and first == "data_version":
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def sqlite_path(connection: Connection, services: Services) -> Path:
    """The file of a connection; one that is not absolute lies in `sql.root`, else in the input folder."""
    text = str(connection.body.get("path") or connection.body.get("url") or "")
    if text.startswith("sqlite:"):
        text = unquote(text.removeprefix("sqlite:").removeprefix("///"))
    if not text or "\0" in text:
        raise CallRefused("CONNECTION_NOT_FOUND", "validation", f"The connection «{connection.id}» names no file.")
    base = Path(services.settings.get("sql.root") or services.input_dir)
    return services.path_policy.database(text, base, connection.id)


def sqlite_failure(error: Exception, connection: Connection) -> SqlFailed:
    reason, name = str(error)[:500], getattr(error, "sqlite_errorname", "") or ""
    if name.startswith(("SQLITE_AUTH", "SQLITE_READONLY")) or "not authorized" in reason:
        message = f"The statement does more than read: {reason}."
        return SqlFailed(failed("SQL_NOT_READONLY", "validation", message))
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return SqlFailed(failed("CONNECTION_LOST", "transient", f"«{connection.id}» is busy: {reason}."))
    if name.startswith("SQLITE_INTERRUPT"):
        return SqlFailed(failed("NODE_TIMEOUT", "timeout", "The statement was stopped."))
    if name.startswith(("SQLITE_TOOBIG", "SQLITE_NOMEM", "SQLITE_FULL")):
        return SqlFailed(failed("SQL_TOO_LARGE", "permanent", f"The answer is too large: {reason}."))
    if name.startswith("SQLITE_CANTOPEN"):
        return SqlFailed(failed("SQL_ERROR", "permanent", f"The database «{connection.id}» cannot be opened."))
    return SqlFailed(failed("SQL_ERROR", "permanent", refuses(connection, reason)))
