"""db (D-X.15): reads or writes a file below the host's directories."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.lang.diagram.lowering_context import LoweringContext
from penstock.lang.diagram.nodes.contract import Fragment, NodeType, WorkFields, single_node, task_node


class DbFields(WorkFields):
    operation: Annotated[Literal["read", "write", "append"], Meta(description="What is done with the file.")] = "read"
    file: Annotated[
        str | list[str], Meta(description="The path, or to read several a list; {{name}} stands for an input.")
    ] = ""
    format: Annotated[
        Literal["text", "txt", "md", "json", "yaml", "csv", "binary"] | None,
        Meta(description="How the content is read or written; else as the path ends."),
    ] = None
    serialize_json: Annotated[bool, Meta(description="The same as `format: json`.")] = False
    glob: Annotated[bool, Meta(description="read: paths may hold * and ?.")] = False
    sub_type: Annotated[Literal["file"], Meta(description="Only files are known.")] = "file"

    ALIASES: ClassVar[dict[str, str]] = {"source_details": "file"}
    REQUIRED: ClassVar[tuple[str, ...]] = ("file",)


def lower(f: DbFields, context: LoweringContext) -> Fragment:
    for path in [f.file] if isinstance(f.file, str) else f.file:
        if path:
            context.check_inside(path, "file")
    if f.operation != "read" and (isinstance(f.file, list) or f.glob):
        hint = "Write one path, without `glob`."
        context.error("wrong_type", f"To {f.operation}, «file» must be one path.", "file", hint=hint)
    args: dict[str, Any] = {"operation": f.operation, "file": f.file}
    if f.serialize_json or f.format is not None:
        args["format"] = "json" if f.serialize_json else f.format
    if f.glob:
        args["glob"] = True
    return single_node(task_node(f, context, "file", args))


DB = NodeType("db", DbFields, lower, "Reads, writes or appends to a file.")
