"""The tables of an analysis: each connection opened once, each table's columns asked for once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.executors.contract import Request, Services, Tenant
from penstock.executors.parts.bi.catalogue import Metric
from penstock.executors.parts.bi.dialects import DIALECTS, quoted, quoted_table
from penstock.executors.parts.bi.file_database import FileDatabase
from penstock.executors.parts.bi.queries import Source
from penstock.executors.parts.bi.settings import BadAnalysis
from penstock.executors.parts.bi.time_grains import read_shifts
from penstock.executors.parts.connections import connection_of
from penstock.executors.parts.plant_zone import plant_zone
from penstock.executors.parts.secrets import Secrets
from penstock.executors.parts.sql.database import Database
from penstock.executors.parts.sql.parameters import BoundStatement
from penstock.executors.parts.sql.postgres_database import PostgresDatabase
from penstock.executors.parts.sql.sqlite_database import SqliteDatabase


class Sources:
    """What one attempt reads from; whoever makes it closes it."""

    def __init__(self, request: Request, services: Services, tenant: Tenant, secrets: Secrets) -> None:
        self.request, self.services, self.tenant, self.secrets = request, services, tenant, secrets
        self.zone = plant_zone(tenant)
        self.databases: dict[tuple[str, str], Database] = {}
        self.sources: dict[tuple[str, str, str, str], Source] = {}

    async def of(self, metric: Metric, at: str) -> Source:
        """The source of a metric. Raises BadAnalysis, SqlFailed or CallRefused."""
        known = self.sources.get(metric.source)
        if known is not None:
            return known
        kinds = ("sqlite", "postgresql", "file")
        connection = connection_of({"connection": metric.connection}, self.tenant, "default_sql", kinds)
        database = self._database(metric, connection)
        columns = await database.columns(metric.table)
        if not columns:
            message = (
                f"«{metric.connection}» has no table «{metric.table[:80]}», which the metric «{metric.name}» names."
            )
            raise BadAnalysis(message, at, "Correct the metric's «table» in the catalogue.", "TABLE_NOT_FOUND")
        files = isinstance(database, FileDatabase)
        dialect = DIALECTS["duckdb" if files else connection.type]
        source = Source(
            dialect=dialect, columns=columns, zone=self.zone, name=metric.table,
            table=quoted(FileDatabase.VIEW) if files else quoted_table(metric.table, dialect),
            shifts=read_shifts(_config(self.tenant).get("shifts")),
            time_column=metric.time_column, timezone=metric.timezone,
        )  # fmt: skip
        self.sources[metric.source] = source
        return source

    def _database(self, metric: Metric, connection: Any) -> Database:
        key = metric.connection, metric.table if connection.type == "file" else ""
        if key not in self.databases:
            make: dict[str, Any] = {
                "sqlite": lambda: SqliteDatabase(connection, self.services),
                "file": lambda: FileDatabase(connection, self.services),
                "postgresql": lambda: PostgresDatabase(connection, self.request, self.services, self.secrets),
            }
            self.databases[key] = make[connection.type]()
        return self.databases[key]

    async def read(self, metric: Metric, statement: BoundStatement) -> list[dict[str, Any]]:
        database = self.databases.get((metric.connection, metric.table)) or self.databases[metric.connection, ""]
        return (await database.read(statement)).items

    async def close(self) -> None:
        for database in self.databases.values():
            await database.close()


def _config(tenant: Tenant) -> Mapping[str, Any]:
    part = (tenant.find("config", "tenant") or {}).get("bi")
    return part if isinstance(part, Mapping) else {}
