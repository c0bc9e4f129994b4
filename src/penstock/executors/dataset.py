"""dataset: the rows of a file under a named connection's folder (DATA with source.type file)."""

from __future__ import annotations

import asyncio
import csv
import io
import re
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from penstock.executors.contract import Outcome, Request, Services, failed
from penstock.executors.parts.connections import Connection, connection_of, tenant_of
from penstock.executors.parts.extras import extra_message
from penstock.executors.parts.files import sandboxed_files
from penstock.executors.parts.json_values import NotJson, json_value
from penstock.executors.parts.network.http_call import CallRefused
from penstock.executors.parts.node_output import finish_output
from penstock.executors.parts.sql.rows import MAX_BYTES, Rows, TooManyRows
from penstock.executors.parts.threads import in_thread

MAX_ROWS = 100_000
TIMEOUT_MS = 30_000
_FORMATS = {".csv": "csv", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_INTEGER = re.compile(r"[+-]?(?:0|[1-9]\d{0,17})\Z", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d{1,3})?\Z", re.ASCII)


class BadFile(ValueError):
    """The bytes are not what the name says; the text says why."""


class DatasetExecutor:
    """args: connection, path, params (each for its `{name}` in the path).

    The answer is a list of row objects; of a .json file, its value.

    A connection is {type: file, root} with options max_bytes, max_rows, and for csv: delimiter, encoding, and infer
    (numbers, true, false and empty cells become values; without it every cell is a text, for `007` is no number).
    """

    name = "dataset"

    async def run(self, request: Request, services: Services) -> Outcome:
        args: Mapping[str, Any] = request.args if isinstance(request.args, Mapping) else {}
        path = args.get("path")
        shown = "".join(c if c.isprintable() else "?" for c in str(path)[:200])
        try:
            if not isinstance(path, str):
                raise CallRefused("INPUT_INVALID", "validation", "The path of a file must be a text.")
            path = _filled(path, args.get("params"))
            connection = connection_of(args, tenant_of(request, services), "default_file", ("file",))
            async with asyncio.timeout((request.timeout_ms or TIMEOUT_MS) / 1000):
                value, meta = await _Reading(connection, path, services).value()
        except CallRefused as error:
            return failed(error.code, error.category, str(error))
        except sandboxed_files.PathRefused as error:
            return failed("PATH_REFUSED", "authorization", f"The path «{shown}» is refused: {error}.")
        except (sandboxed_files.TooLarge, TooManyRows) as error:
            return failed("FILE_TOO_LARGE", "resource", f"«{shown}»: {error}.")
        except (BadFile, NotJson) as error:
            return failed("FILE_FORMAT", "validation", f"«{shown}»: {error}.")
        except TimeoutError:
            return failed("NODE_TIMEOUT", "timeout", f"«{shown}» was not read in time.")
        except FileNotFoundError:
            return failed("FILE_NOT_FOUND", "permanent", f"There is no file «{shown}».")
        except OSError as error:
            category = "authorization" if isinstance(error, PermissionError) else "system"
            return failed("FILE_IO", category, f"«{shown}» cannot be read: {error.strerror}.")
        return await finish_output(request, value, meta, "object")


def _filled(path: str, params: Any) -> str:
    """A value is a part of one name in the path, and never a way to another folder."""
    given: Mapping[str, Any] = params if isinstance(params, Mapping) else {}

    def part(match: re.Match[str]) -> str:
        if match[1] not in given:
            return match[0]
        value = given[match[1]]
        text = str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
        if not text or text in (".", "..") or not text.isprintable() or any(c in text for c in "/\\"):
            message = f"The parameter «{match[1]}» must be a text or a number that can stand in the name of a file."
            raise CallRefused("INPUT_INVALID", "validation", message)
        return text

    return _PLACEHOLDER.sub(part, path)


class _Reading:
    """One file in one thread."""

    def __init__(self, connection: Connection, path: str, services: Services) -> None:
        self.connection, self.path = connection, path
        given = str(connection.body.get("root") or connection.body.get("path") or "")
        if not given or "\0" in given:
            raise CallRefused(
                "CONNECTION_NOT_FOUND", "validation", f"The connection «{connection.id}» names no folder."
            )
        self.root = services.path_policy.folder(given, services.input_dir, connection.id)
        self.path_policy = services.path_policy.opened(self.root)
        self.most = connection.limit("max_rows", services, "file", MAX_ROWS)
        self.most_bytes = connection.limit("max_bytes", services, "file", MAX_BYTES)
        self.format = _FORMATS.get(PurePosixPath(path).suffix.lower(), "")
        if not self.format:
            endings = ", ".join(sorted(_FORMATS))
            raise CallRefused(
                "FILE_FORMAT", "validation", f"The ending of a file says its format; known are {endings}."
            )
        self.base: Any = None
        self.stopped, self.lock = threading.Event(), threading.Lock()

    async def value(self) -> tuple[Any, dict[str, Any]]:
        try:
            return await in_thread(self._read)
        finally:
            with self.lock:
                self.stopped.set()
                if self.base is not None:
                    self.base.interrupt()

    def _read(self) -> tuple[Any, dict[str, Any]]:
        data = sandboxed_files.read(self.root, self.path, self.most_bytes, self.path_policy)
        meta: dict[str, Any] = {"path": self.path, "format": self.format, "bytes": len(data)}
        if self.format == "parquet":
            rows = self._parquet(data)
        elif self.format == "json":
            return _json(data, "it"), meta
        else:
            rows = self._csv(data) if self.format == "csv" else self._jsonl(data)
        return rows.items, meta | {"rows": len(rows.items)}

    def _rows(self, names: list[str]) -> Rows:
        return Rows(names, self.most, self.most_bytes * 4)  # as JSON every row repeats its names

    def _jsonl(self, data: bytes) -> Rows:
        rows = self._rows([])
        for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
            if self.stopped.is_set():
                break
            if line.strip():
                rows.put(_json(line, f"line {number}"))
        return rows

    def _csv(self, data: bytes) -> Rows:
        options = self.connection.options
        try:
            text = data.decode(str(options.get("encoding") or "utf-8-sig"))
            delimiter = str(options.get("delimiter") or ",")
            reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
            names = next(reader, [])
            rows = self._rows(names)
            cell = _inferred if options.get("infer") is True else str
            for cells in reader:
                if self.stopped.is_set():
                    break
                if not cells:
                    continue
                if len(cells) != len(names):
                    raise BadFile(f"line {reader.line_num} has {len(cells)} cells, but there are {len(names)} columns")
                rows.add([cell(raw) for raw in cells])
        except (UnicodeDecodeError, LookupError):
            raise BadFile("it is not text in the encoding of its connection (UTF-8 unless it says another)") from None
        except (csv.Error, TypeError) as error:
            raise BadFile(f"it is not csv: {' '.join(str(error).split())[:200]}") from None
        return rows

    def _parquet(self, data: bytes) -> Rows:
        try:
            import duckdb
        except ImportError:
            raise CallRefused("EXTRA_MISSING", "permanent", extra_message("A parquet file needs", "parquet")) from None
        with tempfile.TemporaryDirectory(prefix="penstock-") as folder:
            copy = Path(folder) / "data.parquet"
            copy.write_bytes(data)  # duckdb opens by name, and a name can become a link
            self.base = duckdb.connect()
            try:
                _lock(self.base, copy)
                if self.stopped.is_set():
                    return self._rows([])
                result = self.base.execute("SELECT * FROM read_parquet($1)", [str(copy)])
                rows = self._rows([column[0] for column in result.description])
                while batch := result.fetchmany(1000):
                    for row in batch:
                        rows.add(row)
                return rows
            except duckdb.InterruptException:
                raise TimeoutError from None
            except duckdb.OutOfMemoryException:
                raise TooManyRows("it unfolds to more memory than allowed") from None
            except duckdb.Error as error:
                why = str(error).splitlines()[0].replace(str(copy), self.path)[:200]
                raise BadFile(f"it is not parquet: {why}") from None
            finally:
                with self.lock:
                    base, self.base = self.base, None
                base.close()


def _lock(base: Any, copy: Path) -> None:
    """From here on the database reaches this one file and nothing else."""
    base.execute("SET memory_limit = '512MB'")
    base.execute("SET threads = 1")
    base.execute("SET max_temp_directory_size = '0KB'")
    base.execute("SET allowed_paths = [$1]", [str(copy)])
    base.execute("SET enable_external_access = false")
    base.execute("SET lock_configuration = true")


def _json(data: bytes, what: str) -> Any:
    try:
        return json_value(msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf")))
    except RecursionError:
        raise BadFile(f"{what} is nested too deeply") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadFile(f"{what} is not JSON: {' '.join(str(error).split())[:200]}") from None


def _inferred(cell: str) -> Any:
    if not cell:
        return None
    if cell in ("true", "false"):
        return cell == "true"
    if _INTEGER.match(cell):
        return int(cell)
    return float(cell) if _NUMBER.match(cell) else cell
