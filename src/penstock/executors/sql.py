"""sql: one statement that reads, against a named connection (DATA with source.type sql)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from penstock.executors.contract import Outcome, Request, Services, failed
from penstock.executors.parts.connections import connection_of, tenant_of, tenant_secrets
from penstock.executors.parts.exceptions import scrub_failure
from penstock.executors.parts.files.path_policy import PathRefused
from penstock.executors.parts.network.http_call import CallRefused
from penstock.executors.parts.node_output import finish_output
from penstock.executors.parts.secrets import SecretMissing
from penstock.executors.parts.sql.database import TIMEOUT_MS, Database, SqlFailed
from penstock.executors.parts.sql.parameters import BadStatement, bind_parameters
from penstock.executors.parts.sql.postgres_database import PostgresDatabase
from penstock.executors.parts.sql.rows import TooManyRows
from penstock.executors.parts.sql.sqlite_database import SqliteDatabase


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
            database: Database = (
                SqliteDatabase(connection, services)
                if connection.type == "sqlite"
                else PostgresDatabase(connection, request, services, secrets)
            )
            try:
                async with asyncio.timeout((request.timeout_ms or TIMEOUT_MS) / 1000):
                    rows = await database.read(ready)
            finally:
                await database.close()
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
        except SqlFailed as error:
            return scrub_failure(error.outcome, secrets)
        meta: dict[str, Any] = {"rows": len(rows.items), "bytes": rows.bytes, "connection": connection.id}
        if ready.nulls:
            meta["null_params"] = list(ready.nulls)
        return await finish_output(request, secrets.scrub(rows.items), meta, "object")
