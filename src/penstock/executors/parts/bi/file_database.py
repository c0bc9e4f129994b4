"""Files as a database: CSV, JSON and Parquet below a connection's folder, read by DuckDB and nothing else with it."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any, TypeVar

from penstock.executors.contract import Services, failed
from penstock.executors.parts.connections import Connection
from penstock.executors.parts.extras import extra_missing
from penstock.executors.parts.files import sandboxed_files
from penstock.executors.parts.network.http_call import CallRefused
from penstock.executors.parts.sql.database import SqlFailed, refuses, rows_of
from penstock.executors.parts.sql.parameters import BoundStatement
from penstock.executors.parts.sql.rows import Rows
from penstock.executors.parts.threads import in_thread

T = TypeVar("T")
_READERS = {
    ".csv": "read_csv({}, header = true, nullstr = ['', 'NaN', 'nan', 'null'])", ".json": "read_json({})",
    ".jsonl": "read_json({}, format = 'newline_delimited')", ".ndjson": "read_json({}, format = 'newline_delimited')",
    ".parquet": "read_parquet({})",
}  # fmt: skip
_PATTERN = re.compile(r"[*?]")


class FileDatabase:
    """One table: a file, or several that fit a pattern. They are opened here, one name at a time and through no link,
    and DuckDB is given the open files: it can reach nothing else. Its columns are asked for first."""

    VIEW = "rows_of_files"

    def __init__(self, connection: Connection, services: Services) -> None:
        self.connection, self.services = connection, services
        given = str(connection.body.get("root") or connection.body.get("path") or "")
        if not given or "\0" in given:
            message = f"The connection «{connection.id}» names no folder."
            raise CallRefused("CONNECTION_NOT_FOUND", "validation", message)
        self.root = services.path_policy.folder(given, services.input_dir, connection.id)
        self.policy = services.path_policy.opened(self.root)
        self.handles: list[int] = []
        self._base: Any = None
        self._stopped, self._lock = False, threading.Lock()

    async def read(self, ready: BoundStatement) -> Rows:
        return await in_thread(self._guarded, lambda base: self._read(base, ready))

    async def columns(self, table: str) -> Mapping[str, str]:
        return await in_thread(self._guarded, lambda base: self._columns(base, table))

    async def close(self) -> None:
        """Never waits: a statement that is under way is interrupted, and its thread closes the files."""
        self._stopped = True
        if self._lock.acquire(blocking=False):
            try:
                self._close()
            finally:
                self._lock.release()
        elif self._base is not None:
            with contextlib.suppress(Exception):
                self._base.interrupt()

    def _guarded(self, call: Callable[[Any], T]) -> T:
        try:
            import duckdb
        except ImportError:
            raise SqlFailed(extra_missing("Files as a database need", "bi")) from None
        with self._lock:
            try:
                if self._base is None:
                    self._base = duckdb.connect()
                return call(self._base)
            except duckdb.InterruptException:
                raise TimeoutError from None
            except duckdb.OutOfMemoryException:
                message = "The files need more memory than allowed."
                raise SqlFailed(failed("SQL_TOO_LARGE", "permanent", message)) from None
            except duckdb.Error as error:
                reason = re.sub(r"/dev/fd/\d+", "the file", str(error).partition("\n")[0])[:300].rstrip(".")
                code = "FILE_FORMAT" if isinstance(error, duckdb.InvalidInputException | duckdb.IOException) else ""
                raise SqlFailed(failed(code or "SQL_ERROR", "validation", refuses(self.connection, reason))) from None
            finally:
                if self._stopped:
                    self._close()

    def _close(self) -> None:
        if self._base is not None:
            self._base.close()
            self._base = None
        while self.handles:
            os.close(self.handles.pop())

    def _columns(self, base: Any, table: str) -> dict[str, str]:
        reader = _READERS.get(PurePosixPath(table).suffix.lower())
        if reader is None:
            message = f"The ending of «{table[:80]}» says no format; known are {', '.join(sorted(_READERS))}."
            raise CallRefused("FILE_FORMAT", "validation", message)
        paths = sandboxed_files.match(self.root, table, self.policy) if _PATTERN.search(table) else [table]
        if not paths:
            raise CallRefused("FILE_NOT_FOUND", "permanent", f"No file fits «{table[:200]}».")
        opened = [sandboxed_files.open_to_read(self.root, path, self.policy) for path in paths]
        self.handles += opened
        names = [f"'/dev/fd/{handle}'" for handle in opened]  # numbers of our own, so nothing needs to be escaped
        _lock(base, [name.strip("'") for name in names])
        listed = reader.format(f"[{', '.join(names)}]")
        base.execute(f"CREATE TEMP VIEW {self.VIEW} AS FROM {listed}")
        return {row[0]: str(row[1]) for row in base.execute(f"DESCRIBE {self.VIEW}").fetchall()}

    def _read(self, base: Any, ready: BoundStatement) -> Rows:
        result = base.execute(ready.text, list(ready.values))
        rows = rows_of([column[0] for column in result.description], self.connection, self.services)
        while batch := result.fetchmany(1000):
            for row in batch:
                rows.add(row)
        return rows


def _lock(base: Any, paths: list[str]) -> None:
    """The database reaches these files and nothing else."""
    base.execute("SET TimeZone = 'UTC'")  # else a time without a zone would be of the machine's
    base.execute("SET memory_limit = '1GB'")
    base.execute("SET threads = 2")
    base.execute("SET max_temp_directory_size = '0KB'")
    base.execute("SET allowed_paths = $1", [paths])
    base.execute("SET enable_external_access = false")
    base.execute("SET lock_configuration = true")
