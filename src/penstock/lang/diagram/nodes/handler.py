"""A node type from outside (D-X.15, D-X.30): its fields are passed to the executor unchanged."""

from __future__ import annotations

from penstock.lang.diagram.lowering_context import LoweringContext
from penstock.lang.diagram.nodes.contract import Fragment, NodeType, WorkFields, single_node, task_node


def handler_type(name: str, executor: str = "handler", doc: str = "") -> NodeType:
    """A node type whose work a handler does: `executor` is asked with the type's name and the author's fields."""

    def lower(f: WorkFields, context: LoweringContext) -> Fragment:
        return single_node(
            task_node(f, context, executor, {"type": name, "props": context.checked_literal(dict(context.rest))})
        )

    return NodeType(name, WorkFields, lower, doc or f"Runs the handler «{name}».", open=True)
