"""start (seed section 5): executes once, when the run starts, and gives out the run's input, or else its own data."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from msgspec import Meta

from penstock.lang.diagram.lowering_context import LoweringContext, quoted
from penstock.lang.diagram.nodes.contract import Fragment, NodeFields, NodeType
from penstock.net.model import Node, Set


class StartFields(NodeFields):
    data: Annotated[Any, Meta(description="What the run begins with when it is given no input.")] = None
    trigger_mode: Annotated[str, Meta(description="Read and ignored: a run is started from outside.")] = ""
    hook_event: Any = None
    hook_filters: Any = None
    output_data_structure: Annotated[Any, Meta(description="Read and ignored.")] = None

    ALIASES: ClassVar[dict[str, str]] = {"custom_data": "data"}
    IDLE: ClassVar[tuple[str, ...]] = ("hook_event", "hook_filters")


def lower(f: StartFields, context: LoweringContext) -> Fragment:
    if context.inputs:
        hint = "Lead the connection to the node after it."
        message = f"A start executes once; «{context.label}» has a connection that leads to it."
        context.error("start_has_input", message, hint=hint)
    data = f.data if f.data not in (None, {}) else None
    value = None
    if data is not None:
        value = {"$expr": f"fn.if(fn.is_empty(input), context.start_data[{quoted(context.label)}], input)"}
    parts: dict[str, Any] = {} if f.priority is None else {"priority": f.priority}
    if context.taken:
        own = f"context.start_data[{quoted(context.label)}]"
        parts["sets"] = tuple(
            Set(name=name, expr=f"fn.if(fn.type_of(output) == 'object', output, {own})[{quoted(name)}]")
            for name in sorted(context.taken)
        )
    node = Node(id=context.label, kind="start", type=context.type, value=value, **parts)
    return Fragment((node,), node.id, node.id, variables={} if data is None else {context.label: data})


START = NodeType("start", StartFields, lower, "Begins the run; executes once.")
