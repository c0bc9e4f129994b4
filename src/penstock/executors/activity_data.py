"""process_data: the data that an activity reads before it and writes after it (P-2.2.4, P-X.42)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

import msgspec

from penstock.executors.contract import Done, Failed, Outcome, Request, Services, failed

TYPES = ("sql", "db", "api", "file")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*\Z")
_BOUND = re.compile(r"(?<![:\w]):([A-Za-z_]\w*)")
_IN_PATH = re.compile(r"\{([A-Za-z_]\w*)\}")
#: so many rows of a table are read at most
ROWS = 1000


class ActivityDataExecutor:
    """args: op (read or write), data [{name, type, source, fields}], variables; write: result.

    A source is `CONNECTION#rest`: sql a statement that reads, with :name from the variables; db a table; api a path,
    with {name} from the variables; file a path under the tenant's folder. Rows are cut down to `fields`. What is read
    is {name: rows}. What is written is `result[name]`, each under a key of its own, so that a repetition is harmless;
    the result itself goes on.
    """

    name = "process_data"

    async def run(self, request: Request, services: Services) -> Outcome:
        args: Mapping[str, Any] = request.args if isinstance(request.args, Mapping) else {}
        given = args.get("data")
        entries = [entry for entry in given if isinstance(entry, Mapping)] if isinstance(given, list | tuple) else []
        variables = args.get("variables") if isinstance(args.get("variables"), Mapping) else {}
        result = args.get("result")
        values: dict[str, Any] = {}
        for n, entry in enumerate(entries):
            name = str(entry.get("name") or "")
            if args.get("op") == "write":
                if not isinstance(result, Mapping) or name not in result:
                    continue
                asked = _write_request(entry, _selected_fields(result[name], entry), variables or {})
            else:
                asked = _read_request(entry, variables or {})
            if isinstance(asked, Failed):
                return asked
            executor, inner = asked
            inner_request = msgspec.structs.replace(
                request, args=inner, inputs=(), executor=executor, key=f"{request.key}/{n}", result=None
            )
            outcome = await services.executors[executor].run(inner_request, services)
            if isinstance(outcome, Failed):
                return _named_failure(name, outcome)
            body = outcome.body if isinstance(outcome, Done) else None
            values[name] = _selected_fields(body, entry) if args.get("op") != "write" else body
        return Done(result if args.get("op") == "write" else values)


def _read_request(entry: Mapping[str, Any], variables: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | Failed:
    kind, connection, rest = _source(entry)
    own = {"connection": connection} if connection else {}
    if kind == "sql":
        names = set(_BOUND.findall(rest))
        return "sql", {**own, "query": rest, "params": {name: variables.get(name) for name in names}}
    if kind == "db":
        columns = [str(column) for column in entry.get("fields") or ()]
        if wrong := next((column for column in (*rest.split("."), *columns) if not _NAME.match(column)), None):
            return failed("INPUT_INVALID", "validation", f"«{wrong[:60]}» is no name of a table or a column.")
        table = ".".join(f'"{part}"' for part in rest.split("."))
        listed = ", ".join(f'"{column}"' for column in columns) or "*"
        query = f"SELECT {listed} FROM {table} LIMIT {ROWS}"  # noqa: S608 (every name has been checked)
        return "sql", {**own, "query": query, "params": {}}
    if kind == "api":
        return "api", {**own, "method": "GET", "path": _filled(rest, variables)}
    if kind == "file":
        params = {name: variables.get(name) for name in _IN_PATH.findall(rest)}
        return "dataset", {**own, "path": rest, "params": params}
    return failed("INPUT_INVALID", "validation", f"«{str(kind)[:20]}» is none of {', '.join(TYPES)}.")


def _write_request(
    entry: Mapping[str, Any], value: Any, variables: Mapping[str, Any]
) -> tuple[str, dict[str, Any]] | Failed:
    kind, connection, rest = _source(entry)
    if kind in ("db", "sql"):
        rows = value if isinstance(value, list) else [value]
        config = {"table": rest, "operation": "insert", "values": rows}
        if connection:
            config["connection"] = connection
        return "notify", {"channel": "database", "config": config}
    if kind == "api":
        own = {"connection": connection} if connection else {}
        return "api", {**own, "method": "POST", "path": _filled(rest, variables), "body": value}
    if kind == "file":
        ending = PurePosixPath(rest).suffix.lower()
        if ending not in (".json", ".csv"):
            return failed("INPUT_INVALID", "validation", f"«{rest[:80]}» is written as .json or .csv only.")
        rows = value if isinstance(value, list) or ending == ".json" else [value]
        return "file", {"operation": "write", "file": rest, "format": ending[1:], "content": rows}
    return failed("INPUT_INVALID", "validation", f"«{str(kind)[:20]}» is none of {', '.join(TYPES)}.")


def _source(entry: Mapping[str, Any]) -> tuple[Any, str, str]:
    """CONNECTION#rest; a file without a connection is a path, anything else without `#` the tenant's own connection."""
    source = str(entry.get("source") or "")
    connection, mark, rest = source.partition("#")
    if mark:
        return entry.get("type"), connection.strip(), rest.strip()
    return entry.get("type"), "", source.strip()


def _filled(path: str, variables: Mapping[str, Any]) -> str:
    return _IN_PATH.sub(lambda match: quote(str(variables.get(match[1], "")), safe=""), path)


def _selected_fields(value: Any, entry: Mapping[str, Any]) -> Any:
    """P-X.42: only the fields that are asked for; what is no row stays as it is."""
    fields = [str(item) for item in entry.get("fields") or ()]
    if not fields:
        return value
    if isinstance(value, list):
        return [_selected_fields(item, entry) if isinstance(item, Mapping) else item for item in value]
    return {name: value.get(name) for name in fields} if isinstance(value, Mapping) else value


def _named_failure(name: str, outcome: Failed) -> Failed:
    old = outcome.failure
    return failed(old.code, old.category, f"«{name}»: {old.message}", old.detail)
