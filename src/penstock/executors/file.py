"""file: reads and writes files under the configured folders (a diagram's db, and an endpoint that saves, D-X.19)."""

from __future__ import annotations

import contextlib
import csv
import errno
import io
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

import msgspec
import yaml

from penstock.executors.contract import Done, Outcome, Request, Services, failed
from penstock.executors.parts.files import sandboxed_files
from penstock.executors.parts.json_paths import BadPath, selected_keys, selected_lines, with_keys
from penstock.executors.parts.json_values import NotJson, as_text, json_value
from penstock.executors.parts.templates import TemplateError, render, render_tree
from penstock.executors.parts.threads import in_thread
from penstock.executors.parts.variables import given_names

OPERATIONS = ("read", "write", "append", "update", "save")
FORMATS = ("text", "txt", "md", "json", "yaml", "csv", "binary")
_BY_SUFFIX = {".txt": "text", ".md": "text", ".json": "json", ".yaml": "yaml", ".yml": "yaml", ".csv": "csv"}
_TEXT = ("text", "txt", "md")


class BadFormat(ValueError):
    """The bytes are not what the format says; the text says why."""


class FileExecutor:
    """args: operation, file (a path, or to read several: a list), format (else by the ending), glob, content, keys
    (paths into the data), lines (of a text), render (fill names into the content).

    A path may name inputs: `results/{{name}}.txt`. Files are read from the input folder, then from the output folder,
    and written to the output folder only. Several files are read as an object by path. What is written is `content`,
    else the first input. `save` yields the value itself; `write` and `append` yield the path and the number of bytes.
    With `keys` a read yields a part of the data, and an update sets those parts and leaves the others as they are.
    """

    name = "file"

    async def run(self, request: Request, services: Services) -> Outcome:
        args: Mapping[str, Any] = request.args if isinstance(request.args, Mapping) else {}
        given, operation = args.get("file"), str(args.get("operation") or "read")
        paths: list[Any] = list(given) if isinstance(given, list | tuple) else [given]
        if not paths or not all(isinstance(path, str) for path in paths):
            return failed("INPUT_INVALID", "validation", "«file» must be a path or a list of paths")
        if operation not in OPERATIONS or (operation != "read" and isinstance(given, list | tuple)):
            message = f"The operation must be one of {', '.join(OPERATIONS)}, and only read takes a list of files."
            return failed("INPUT_INVALID", "validation", message)
        shown = "".join(c if c.isprintable() else "?" for c in ", ".join(paths)[:200])
        try:
            paths = [render(path, given_names(request)) for path in paths]
            work = {"read": _read, "update": _update}.get(operation, _write)
            return await in_thread(work, paths, operation, args, request, services)
        except sandboxed_files.PathRefused as error:
            return failed("PATH_REFUSED", "authorization", f"The path «{shown}» is refused: {error}.")
        except sandboxed_files.TooLarge as error:
            return failed("FILE_TOO_LARGE", "resource", f"«{shown}»: {error}.")
        except (BadFormat, BadPath, NotJson, TemplateError) as error:
            return failed("FILE_FORMAT", "validation", f"«{shown}»: {error}.")
        except FileNotFoundError:
            return failed("FILE_NOT_FOUND", "permanent", f"There is no file «{shown}».")
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            category = "resource" if full else "authorization" if isinstance(error, PermissionError) else "system"
            return failed("FILE_IO", category, f"«{shown}» cannot be used: {error.strerror}.")


def _read(paths: list[str], operation: str, args: Mapping[str, Any], request: Request, services: Services) -> Outcome:
    several = isinstance(args.get("file"), list | tuple) or bool(args.get("glob"))
    if args.get("glob"):
        roots = (services.input_dir, services.output_dir)
        paths = sorted(
            {
                match
                for path in paths
                for root in roots
                for match in sandboxed_files.match(root, path, services.path_policy)
            }
        )
        if not paths:
            raise FileNotFoundError
    left = int(services.settings.get("file.max_bytes") or sandboxed_files.MAX_BYTES)
    values: dict[str, Any] = {}
    total = 0
    for path in paths:
        try:
            data = sandboxed_files.read(services.input_dir, path, left - total, services.path_policy)
        except FileNotFoundError:
            data = sandboxed_files.read(services.output_dir, path, left - total, services.path_policy)
        total += len(data)
        value = _value(data, _format(path, args, ""))
        value = selected_lines(value, args["lines"]) if args.get("lines") else value
        values[path] = selected_keys(value, _keys(args, request)) if args.get("keys") else value
    if several:
        return Done(json_value(values), {"bytes": total}, "object")
    value = values[paths[0]]
    kind = "raw_text" if isinstance(value, str) else "binary" if isinstance(value, bytes) else "object"
    return Done(value, {"path": paths[0], "bytes": total}, kind)


def _value(data: bytes, wanted: str) -> Any:
    if wanted == "binary":
        return data
    try:
        return parse(data.decode("utf-8-sig"), wanted or "text")
    except UnicodeDecodeError:
        if wanted:
            raise BadFormat("it is not UTF-8 text") from None
        return data


def _write(paths: list[str], operation: str, args: Mapping[str, Any], request: Request, services: Services) -> Outcome:
    path = paths[0]
    content = _content(args, request)
    wanted = _format(path, args, "text")
    data = content if isinstance(content, bytes) else serialise(content, wanted).encode()
    limit = int(services.settings.get("file.max_bytes") or sandboxed_files.MAX_BYTES)
    if len(data) > limit:
        raise sandboxed_files.TooLarge(f"{len(data)} bytes are more than {limit}")
    if operation == "append":
        line = data if data.endswith(b"\n") else data + b"\n"
        sandboxed_files.append(services.output_dir, path, line, request.key, limit, services.path_policy)
    else:
        sandboxed_files.write(services.output_dir, path, data, request.key, services.path_policy)
    about = {"path": path, "bytes": len(data)}
    return Done(content, about) if operation == "save" else Done(dict(about), about, "object")


def _content(args: Mapping[str, Any], request: Request) -> Any:
    if "content" not in args:
        return json_value(request.named().get("default"))
    content = args["content"]
    return json_value(render_tree(content, given_names(request)) if args.get("render") else content)


def _update(paths: list[str], operation: str, args: Mapping[str, Any], request: Request, services: Services) -> Outcome:
    """Reads what is there, sets the parts, and writes it as a whole. What was written goes before what was given."""
    path, limit = paths[0], int(services.settings.get("file.max_bytes") or sandboxed_files.MAX_BYTES)
    wanted = _format(path, args, "json")
    value: Any = {}
    for folder in (services.output_dir, services.input_dir):
        with contextlib.suppress(FileNotFoundError):
            data = sandboxed_files.read(folder, path, limit, services.path_policy)
            value = _value(data, wanted) if data.strip() else {}
            break
    changed = with_keys(value, _keys(args, request), _content(args, request))
    return _write([path], "write", {**args, "content": changed, "format": wanted, "render": False}, request, services)


def _keys(args: Mapping[str, Any], request: Request) -> str | list[str]:
    """The paths into the data, with names filled in."""
    keys = args.get("keys")
    if isinstance(keys, str):
        return render(keys, given_names(request))
    return [render(str(key), given_names(request)) for key in keys or ()]


def _format(path: str, args: Mapping[str, Any], otherwise: str) -> str:
    given = args.get("format")
    if given is None:
        return _BY_SUFFIX.get(PurePosixPath(path).suffix.lower(), otherwise)
    if given not in FORMATS:
        raise BadFormat(f"the format «{str(given)[:20]}» is not known; known are {', '.join(FORMATS)}")
    return str(given)


def parse(text: str, wanted: str) -> Any:
    """The value that a text holds in a format."""
    if wanted in _TEXT:
        return text
    try:
        if wanted == "json":
            return json_value(msgspec.json.decode(text))
        if wanted == "yaml":
            return json_value(yaml.load(text, _Loader))  # noqa: S506 - a SafeLoader that also refuses aliases
        return json_value(list(csv.DictReader(io.StringIO(text, newline=""), restkey="_more", strict=True)))
    except RecursionError:
        raise BadFormat("it is nested too deeply") from None
    except (msgspec.DecodeError, yaml.YAMLError, csv.Error, ValueError) as error:
        raise BadFormat(f"it is not {wanted}: {' '.join(str(error).split())[:200]}") from None


def serialise(value: Any, wanted: str) -> str:
    """The text that holds a value in a format."""
    if wanted in _TEXT or (wanted == "binary" and isinstance(value, str)):
        return as_text(value)
    if wanted == "json":
        return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"
    if wanted == "yaml":
        return str(yaml.safe_dump(value, allow_unicode=True, sort_keys=False))
    if wanted == "csv":
        return _csv(value)
    raise BadFormat(f"{wanted} is read but not written")


def _csv(value: Any) -> str:
    """A table: a list of maps with their keys as head, or a list of lists; a text is one already."""
    if isinstance(value, str):
        return value
    rows = value if isinstance(value, list) else [value]
    out = io.StringIO()
    if rows and all(isinstance(row, Mapping) for row in rows):
        head = list(dict.fromkeys(str(key) for row in rows for key in row))
        table = csv.DictWriter(out, head, lineterminator="\n")
        table.writeheader()
        table.writerows({str(key): as_text(cell) for key, cell in row.items()} for row in rows)
    elif all(isinstance(row, list) for row in rows):
        csv.writer(out, lineterminator="\n").writerows([as_text(cell) for cell in row] for row in rows)
    else:
        raise BadFormat("a table is a list of maps or of lists")
    return out.getvalue()


class _Loader(yaml.SafeLoader):
    """Without aliases: nine lines of them unfold to more than any machine holds."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.events.AliasEvent):
            raise yaml.YAMLError("aliases (*name) are not read")
        return super().compose_node(parent, index)
