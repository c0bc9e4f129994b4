"""db (D-X.15): reads or writes a file below the host's directories."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.lang.diagram.lowering_context import LoweringContext
from penstock.lang.diagram.nodes.contract import Fragment, NodeType, WorkFields, single_node, task_node


class DbFields(WorkFields):
    operation: Annotated[
        Literal["read", "write", "append", "update"],
        Meta(description="What is done with the file; update sets `keys` in its data and leaves the rest."),
    ] = "read"
    file: Annotated[
        str | list[str],
        Meta(description="The path, or to read several a list; {{name}} or {name} stands for an input."),
    ] = ""
    format: Annotated[
        Literal["text", "txt", "md", "json", "yaml", "csv", "binary"] | None,
        Meta(description="How the content is read or written; else as the path ends."),
    ] = None
    keys: Annotated[
        str | list[str] | None,
        Meta(description="read, update: a part of the data by its path, such as user.name; of several a map by path."),
    ] = None
    lines: Annotated[str | list[str] | None, Meta(description="read: these lines of a text, such as 1:120 or 7.")] = (
        None
    )
    data: Annotated[Any, Meta(description="write, append, update: this, instead of what comes in.")] = None
    serialize_json: Annotated[bool, Meta(description="The same as `format: json`.")] = False
    glob: Annotated[bool, Meta(description="read: paths may hold * and ?.")] = False
    sub_type: Annotated[Literal["file"], Meta(description="Only files are known.")] = "file"
    collection: Any = None
    query: Any = None

    ALIASES: ClassVar[dict[str, str]] = {"source_details": "file"}
    REQUIRED: ClassVar[tuple[str, ...]] = ("file",)
    IDLE: ClassVar[tuple[str, ...]] = ("collection", "query")


#: `{name}` as the original writes it, but no part of `{{name}}`
_SINGLE = re.compile(r"(?<!\{)\{([^\W\d]\w*(?:\.\w+)*)\}(?!\})")
_LINES = re.compile(r"\d+(?::\d*)?\Z|:\d+\Z")


def lower(f: DbFields, context: LoweringContext) -> Fragment:
    paths = [_SINGLE.sub(r"{{\1}}", path) for path in ([f.file] if isinstance(f.file, str) else f.file)]
    for path in paths:
        if path:
            context.check_inside(path, "file")
    _check_parts(f, context)
    if f.operation != "read" and (isinstance(f.file, list) or f.glob):
        hint = "Write one path, without `glob`."
        context.error("wrong_type", f"To {f.operation}, «file» must be one path.", "file", hint=hint)
    args: dict[str, Any] = {"operation": f.operation, "file": paths[0] if isinstance(f.file, str) else paths}
    if f.serialize_json or f.format is not None:
        args["format"] = "json" if f.serialize_json else f.format
    if f.glob:
        args["glob"] = True
    if f.keys:
        args["keys"] = f.keys
    if f.lines:
        args["lines"] = f.lines
    if f.data not in (None, {}) and f.operation != "read":
        args["content"] = context.checked_literal(f.data)
        args["render"] = True
    args |= context.variables(paths, f.keys, args.get("content"))
    return single_node(task_node(f, context, "file", args))


def _check_parts(f: DbFields, context: LoweringContext) -> None:
    if f.operation == "update" and not f.keys:
        hint = "Write `keys: user.name`, or `operation: write` to write all of it."
        context.error("missing_field", "`operation: update` needs «keys».", hint=hint)
    if f.keys and f.operation in ("write", "append"):
        hint = "Write `operation: update` to change these parts only."
        context.error("idle_keys", f"To {f.operation} a file takes all of its data, not «keys».", "keys", hint=hint)
    for key in [f.keys] if isinstance(f.keys, str) else f.keys or []:
        if not all(part.strip() for part in key.split(".")):
            hint = "Write the names one after another, with dots: `keys: user.name`."
            context.error("bad_key", f"«{key}» is no path into data.", "keys", hint=hint)
    wrong = [text for text in ([f.lines] if isinstance(f.lines, str) else f.lines or []) if not _LINES.match(text)]
    if wrong or (f.lines and f.operation != "read"):
        hint = "Write `lines: 1:120`, and only to read."
        context.error("bad_lines", f"«{f.lines}» are no lines to {f.operation}.", "lines", hint=hint)


DB = NodeType("db", DbFields, lower, "Reads, writes or appends to a file.")
