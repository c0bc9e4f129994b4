"""sql: one statement that reads, against a named connection (DATA with source.type sql)."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from penstock.executors.contract import Failed, Outcome, Request, Services, failed
from penstock.executors.parts.connections import Connection, connection_of, password_of, tenant_of, tenant_secrets
from penstock.executors.parts.exceptions import scrub_failure
from penstock.executors.parts.extras import extra_missing
from penstock.executors.parts.files.path_policy import PathRefused
from penstock.executors.parts.network.http_call import CallRefused, HostUnresolved
from penstock.executors.parts.network.postgres import connection_parameters
from penstock.executors.parts.node_output import finish_output
from penstock.executors.parts.secrets import SecretMissing, Secrets
from penstock.executors.parts.sql.parameters import BadStatement, BoundStatement, bind_parameters
from penstock.executors.parts.sql.rows import MAX_BYTES, MAX_ROWS, Rows, TooManyRows
from penstock.executors.parts.threads import in_thread

TIMEOUT_MS = 30_000
_CHUNK = 100
_LENGTH = 32 * 1024 * 1024


class SqlExecutor:
    """args: connection, query, params. The answer is a list of row objects.

    A connection is {type: sqlite, path} or {type: postgresql, url, secret: the password}, with options max_rows and
    max_bytes. Values are bound, never put into the text; a list expands in `IN (:name)`; null is NULL. The statement
    may only read: it is checked, and the database is opened so that it refuses writes by itself.
    """

    name = "sql"

    async def run(self, request: Request, services: Services) -> Outcome:
        args: Mapping[str, Any] = request.args if isinstance(request.args, Mapping) else {}
        secrets = tenant_secrets(request, services)
        try:
            tenant = tenant_of(request, services)
            connection = connection_of(args, tenant, "default_sql", ("sqlite", "postgresql"))
            ready = bind_parameters(
                args.get("query"), secrets.fill_marked(args.get("params"), request.mark), connection.type
            )
            read = _sqlite if connection.type == "sqlite" else _postgresql
            async with asyncio.timeout((request.timeout_ms or TIMEOUT_MS) / 1000):
                rows = await read(connection, ready, request, services, secrets)
        except BadStatement as error:
            return failed(error.code, "validation", secrets.scrub_message(str(error)))
        except CallRefused as error:
            return failed(error.code, error.category, str(error))
        except PathRefused as error:
            return failed("PATH_REFUSED", "authorization", f"It is not read: {error}.")
        except SecretMissing as error:
            return failed("SECRET_NOT_FOUND", "authorization", str(error))
        except TooManyRows as error:
            return failed("SQL_TOO_LARGE", "permanent", f"The answer is too large: {error}.")
        except TimeoutError:
            return failed("NODE_TIMEOUT", "timeout", "The database did not answer in time.")
        except _SqlFailed as error:
            return scrub_failure(error.outcome, secrets)
        meta: dict[str, Any] = {"rows": len(rows.items), "bytes": rows.bytes, "connection": connection.id}
        if ready.nulls:
            meta["null_params"] = list(ready.nulls)
        return await finish_output(request, secrets.scrub(rows.items), meta, "object")


class _SqlFailed(Exception):
    def __init__(self, outcome: Failed) -> None:
        self.outcome = outcome
        super().__init__(outcome.failure.message)


def _rows(names: list[str], connection: Connection, services: Services) -> Rows:
    most = connection.limit("max_rows", services, "sql", MAX_ROWS)
    return Rows(names, most, connection.limit("max_bytes", services, "sql", MAX_BYTES))


# ---- SQLite ----------------------------------------------------------------------------------------------------------


async def _sqlite(
    connection: Connection, ready: BoundStatement, request: Request, services: Services, secrets: Secrets
) -> Rows:
    reading = _Reading(connection, ready, services)
    try:
        return await in_thread(reading.run)
    finally:
        reading.stop()


class _Reading:
    """One statement in one thread, which stops when nobody waits for it any more."""

    def __init__(self, connection: Connection, ready: BoundStatement, services: Services) -> None:
        self.connection, self.ready, self.services = connection, ready, services
        self._stopped = threading.Event()

    def stop(self) -> None:
        self._stopped.set()

    def run(self) -> Rows:
        path = sqlite_path(self.connection, self.services)
        try:
            base = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, isolation_level=None, timeout=5)
        except sqlite3.Error as error:
            raise _sqlite_failure(error, self.connection) from None
        try:
            self._guard(base)
            cursor = base.execute(self.ready.text, self.ready.values)
            rows = _rows([column[0] for column in cursor.description or ()], self.connection, self.services)
            for row in cursor:
                rows.add(row)
            return rows
        except (sqlite3.Error, sqlite3.Warning, UnicodeError, OverflowError) as error:
            raise _sqlite_failure(error, self.connection) from None
        finally:
            base.close()

    def _guard(self, base: sqlite3.Connection) -> None:
        base.execute("PRAGMA query_only = ON")
        base.execute("PRAGMA trusted_schema = OFF")
        base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LENGTH)
        base.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        base.set_authorizer(_reads_only)
        base.set_progress_handler(self._stopped.is_set, 10_000)


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


def _sqlite_failure(error: Exception, connection: Connection) -> _SqlFailed:
    reason, name = str(error)[:500], getattr(error, "sqlite_errorname", "") or ""
    if name.startswith(("SQLITE_AUTH", "SQLITE_READONLY")) or "not authorized" in reason:
        message = f"The statement does more than read: {reason}."
        return _SqlFailed(failed("SQL_NOT_READONLY", "validation", message))
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return _SqlFailed(failed("CONNECTION_LOST", "transient", f"«{connection.id}» is busy: {reason}."))
    if name.startswith("SQLITE_INTERRUPT"):
        return _SqlFailed(failed("NODE_TIMEOUT", "timeout", "The statement was stopped."))
    if name.startswith(("SQLITE_TOOBIG", "SQLITE_NOMEM", "SQLITE_FULL")):
        return _SqlFailed(failed("SQL_TOO_LARGE", "permanent", f"The answer is too large: {reason}."))
    if name.startswith("SQLITE_CANTOPEN"):
        return _SqlFailed(failed("SQL_ERROR", "permanent", f"The database «{connection.id}» cannot be opened."))
    return _SqlFailed(failed("SQL_ERROR", "permanent", f"«{connection.id}» refuses the statement: {reason}."))


# ---- PostgreSQL ------------------------------------------------------------------------------------------------------


async def _postgresql(
    connection: Connection, ready: BoundStatement, request: Request, services: Services, secrets: Secrets
) -> Rows:
    try:
        import psycopg
    except ImportError:
        raise _SqlFailed(extra_missing("PostgreSQL needs", "postgresql")) from None
    limit = request.timeout_ms or TIMEOUT_MS
    try:
        url, password = str(connection.body.get("url") or ""), password_of(connection, secrets)
        given = await connection_parameters(url, password, services, request.tenant, connection.id, **_overrides(limit))
        base = await psycopg.AsyncConnection.connect(**given)
    except HostUnresolved as error:
        raise _SqlFailed(
            failed("CONNECTION_LOST", "transient", f"«{connection.id}» cannot be reached: {error}.")
        ) from None
    except psycopg.Error as error:
        raise _postgresql_failure(error, connection, opening=True) from None
    try:
        # Before anything else, and again by the session's own default: what is not read only never begins.
        await base.set_read_only(True)
        return await _streamed(base, ready, connection, services)
    except psycopg.Error as error:
        raise _postgresql_failure(error, connection) from None
    finally:
        await base.close()  # rolls back: nothing of the session outlives the statement


def _overrides(limit_ms: int) -> dict[str, Any]:
    return {
        "connect_timeout": max(2, limit_ms // 1000),
        "application_name": "penstock",
        "options": f"-c default_transaction_read_only=on -c statement_timeout={int(limit_ms)}"
        " -c standard_conforming_strings=on -c lock_timeout=5000 -c idle_in_transaction_session_timeout=60000",
    }


async def _streamed(base: Any, ready: BoundStatement, connection: Connection, services: Services) -> Rows:
    """Row by row, so that a large answer is noticed before it is here."""
    async with base.cursor() as cursor:
        rows: Rows | None = None
        try:
            async for row in cursor.stream(ready.text, ready.values, size=_CHUNK):
                if rows is None:
                    rows = _rows([column.name for column in cursor.description], connection, services)
                rows.add(row)
        except TooManyRows:
            await base.cancel_safe(timeout=2)
            raise
    return rows if rows is not None else _rows([], connection, services)


def _postgresql_failure(error: Any, connection: Connection, opening: bool = False) -> _SqlFailed:
    state = str(error.sqlstate or "")
    reason = " ".join(str(error).split())[:500]
    if state.startswith("28") or state == "42501" or (opening and "authentication failed" in reason):
        return _SqlFailed(failed("SQL_DENIED", "authorization", f"«{connection.id}» denies it: {reason}"))
    if state == "25006":
        return _SqlFailed(failed("SQL_NOT_READONLY", "validation", f"The statement does more than read: {reason}"))
    if state == "57014":
        return _SqlFailed(failed("NODE_TIMEOUT", "timeout", "The database stopped the statement: it took too long."))
    if opening or not state or state[:2] in ("08", "57", "40") or state == "55P03":
        return _SqlFailed(failed("CONNECTION_LOST", "transient", f"«{connection.id}» cannot be used now: {reason}"))
    if state.startswith("53"):
        return _SqlFailed(failed("SQL_ERROR", "resource", f"«{connection.id}» has no room: {reason}"))
    category = "validation" if state.startswith("22") else "permanent"
    return _SqlFailed(
        failed("SQL_ERROR", category, f"«{connection.id}» refuses the statement: {reason}", {"state": state})
    )
