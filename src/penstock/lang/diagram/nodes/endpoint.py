"""endpoint (D-X.19): keeps its input as the run's output under its label, and optionally in a file."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.lang.diagram.lowering_context import LoweringContext
from penstock.lang.diagram.nodes.contract import Fragment, NodeType, WorkFields, net_node, single_node, task_node


class EndpointFields(WorkFields):
    save_to_file: Annotated[bool | None, Meta(description="Also write the result to file_path.")] = None
    file_path: Annotated[str, Meta(description="Where, below the output directory.")] = ""
    file_format: Annotated[Literal["txt", "json", "yaml", "md"], Meta(description="How it is written.")] = "txt"
    output_variable: Annotated[str, Meta(description="Read and ignored: the output is kept under the label.")] = ""

    ALIASES: ClassVar[dict[str, str]] = {"file_name": "file_path"}


def lower(f: EndpointFields, context: LoweringContext) -> Fragment:
    if context.outputs:
        hint = "To save in the middle of a path use a db node with `operation: write`."
        context.error(
            "endpoint_has_output", f"A path ends at «{context.label}», but a connection leaves it.", hint=hint
        )
    if f.file_path:
        context.check_inside(f.file_path, "file_path")
    if not f.save_to_file:
        if f.file_path and f.save_to_file is None:
            message = f"«{context.label}» names a file but is not told to write it."
            context.warning("file_not_saved", message, "file_path", hint="Add `save_to_file: true`.")
        return single_node(net_node(f, context, kind="end", result=context.label))
    if not f.file_path:
        context.error("missing_field", "`save_to_file: true` needs «file_path».", hint="Write `file_path: result.txt`.")
    args: dict[str, Any] = {"operation": "save", "file": f.file_path, "format": f.file_format}
    return single_node(task_node(f, context, "file", args, result=context.label))


ENDPOINT = NodeType("endpoint", EndpointFields, lower, "Ends a path and keeps its result.")
