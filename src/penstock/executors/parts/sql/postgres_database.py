"""A PostgreSQL server that is read from: one read-only transaction, with limits of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.executors.contract import Request, Services, failed
from penstock.executors.parts.connections import Connection, password_of
from penstock.executors.parts.extras import extra_missing
from penstock.executors.parts.network.http_call import HostUnresolved
from penstock.executors.parts.network.postgres import connection_parameters
from penstock.executors.parts.secrets import Secrets
from penstock.executors.parts.sql.database import TIMEOUT_MS, SqlFailed, rows_of
from penstock.executors.parts.sql.parameters import BoundStatement
from penstock.executors.parts.sql.rows import Rows, TooManyRows

_CHUNK = 100
#: Of tables and of views, also of those that are kept, which the standard's own catalogue does not list.
_COLUMNS = """SELECT a.attname AS column_name,
format_type(CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END, NULL) AS data_type
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped
AND has_column_privilege(a.attrelid, a.attnum, 'SELECT') ORDER BY a.attnum"""


class PostgresDatabase:
    """Connected when it is first asked; nothing of the session outlives it."""

    def __init__(self, connection: Connection, request: Request, services: Services, secrets: Secrets) -> None:
        self.connection, self.request, self.services, self.secrets = connection, request, services, secrets
        self._base: Any = None

    async def read(self, ready: BoundStatement) -> Rows:
        import psycopg

        base = await self._open()
        try:
            return await _streamed(base, ready, self.connection, self.services)
        except psycopg.Error as error:
            raise _postgresql_failure(error, self.connection) from None

    async def columns(self, table: str) -> Mapping[str, str]:
        parts = [part.replace('"', '""') for part in table.rsplit(".", 1)]
        rows = await self.read(BoundStatement(_COLUMNS, (".".join(f'"{part}"' for part in parts),)))
        return {row["column_name"]: row["data_type"] for row in rows.items}

    async def close(self) -> None:
        if self._base is not None:
            await self._base.close()  # rolls back

    async def _open(self) -> Any:
        if self._base is not None:
            return self._base
        try:
            import psycopg
        except ImportError:
            raise SqlFailed(extra_missing("PostgreSQL needs", "postgresql")) from None
        limit, connection = self.request.timeout_ms or TIMEOUT_MS, self.connection
        try:
            url, password = str(connection.body.get("url") or ""), password_of(connection, self.secrets)
            given = await connection_parameters(
                url, password, self.services, self.request.tenant, connection.id, **_overrides(limit)
            )
            self._base = await psycopg.AsyncConnection.connect(**given)
            # Before anything else, and again by the session's own default: what is not read only never begins.
            await self._base.set_read_only(True)
        except HostUnresolved as error:
            message = f"«{connection.id}» cannot be reached: {error}."
            raise SqlFailed(failed("CONNECTION_LOST", "transient", message)) from None
        except psycopg.Error as error:
            raise _postgresql_failure(error, connection, opening=True) from None
        return self._base


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
                    rows = rows_of([column.name for column in cursor.description], connection, services)
                rows.add(row)
        except TooManyRows:
            await base.cancel_safe(timeout=2)
            raise
    return rows if rows is not None else rows_of([], connection, services)


def _postgresql_failure(error: Any, connection: Connection, opening: bool = False) -> SqlFailed:
    state = str(error.sqlstate or "")
    reason = " ".join(str(error).split())[:500]
    if state.startswith("28") or state == "42501" or (opening and "authentication failed" in reason):
        return SqlFailed(failed("SQL_DENIED", "authorization", f"«{connection.id}» denies it: {reason}"))
    if state == "25006":
        return SqlFailed(failed("SQL_NOT_READONLY", "validation", f"The statement does more than read: {reason}"))
    if state == "57014":
        return SqlFailed(failed("NODE_TIMEOUT", "timeout", "The database stopped the statement: it took too long."))
    if opening or not state or state[:2] in ("08", "57", "40") or state == "55P03":
        return SqlFailed(failed("CONNECTION_LOST", "transient", f"«{connection.id}» cannot be used now: {reason}"))
    if state.startswith("53"):
        return SqlFailed(failed("SQL_ERROR", "resource", f"«{connection.id}» has no room: {reason}"))
    category = "validation" if state.startswith("22") else "permanent"
    return SqlFailed(
        failed("SQL_ERROR", category, f"«{connection.id}» refuses the statement: {reason}", {"state": state})
    )
