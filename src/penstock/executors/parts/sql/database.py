"""A database that is read from: statements in, rows out, one session for as many statements as needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from penstock.executors.contract import Failed, Services
from penstock.executors.parts.connections import Connection
from penstock.executors.parts.sql.parameters import BoundStatement
from penstock.executors.parts.sql.rows import MAX_BYTES, MAX_ROWS, Rows

TIMEOUT_MS = 30_000


class SqlFailed(Exception):
    """The database refuses or cannot be reached; `outcome` is what the node answers."""

    def __init__(self, outcome: Failed) -> None:
        self.outcome = outcome
        super().__init__(outcome.failure.message)


class Database(Protocol):
    """An open session that can only read. Whoever opens it closes it, also when nobody waits any more."""

    async def read(self, ready: BoundStatement) -> Rows: ...

    async def columns(self, table: str) -> Mapping[str, str]:
        """The declared type of each column, by its real name; empty when there is no such table."""
        ...

    async def close(self) -> None: ...


def rows_of(names: list[str], connection: Connection, services: Services) -> Rows:
    most = connection.limit("max_rows", services, "sql", MAX_ROWS)
    return Rows(names, most, connection.limit("max_bytes", services, "sql", MAX_BYTES))


def refuses(connection: Connection, reason: Any) -> str:
    return f"«{connection.id}» refuses the statement: {reason}."
