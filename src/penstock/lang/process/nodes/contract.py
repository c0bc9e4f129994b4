"""What an element type of a process is, and the fragment of the net that an element becomes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from penstock.lang.process.fields import ActivityFields
from penstock.lang.process.lowering_context import LoweringContext
from penstock.lang.process.schema import Element
from penstock.net.model import MERGE, SPREAD, Edge, Node, Set

#: P-X.8, P-X.9: the output of an activity or a message is kept in the variables of the instance.
KEEP_OUTPUT = (Set(name=SPREAD, expr="output"),)


@dataclass(frozen=True)
class Fragment:
    """The part of the net that one element becomes. Edges lead to `entry` and leave from `exit`; `core` does the work,
    and `host` is the node that a boundary event interrupts."""

    nodes: tuple[Node, ...]
    entry: str
    exit: str
    core: str
    host: str
    edges: tuple[Edge, ...] = ()

    def node(self, id: str) -> Node:
        return next(node for node in self.nodes if node.id == id)

    def changed(self, id: str, **parts: Any) -> Fragment:
        """The same fragment with one node changed."""
        nodes = (msgspec.structs.replace(node, **parts) if node.id == id else node for node in self.nodes)
        return replace(self, nodes=tuple(nodes))


Lower = Callable[[LoweringContext], Fragment]


@dataclass(frozen=True)
class ElementType:
    """`work`: people or agents do it, and it is shown as a work item."""

    name: str
    lower: Lower
    doc: str
    work: bool = False


def single_node(node: Node) -> Fragment:
    return Fragment((node,), node.id, node.id, node.id, node.id)


def link(src: str, dst: str, *, port: str = "done", var: str = "") -> Edge:
    """An edge that is not a transition of the document."""
    name = f"{src}>{dst}" if port == "done" else f"{src}:{port}>{dst}"
    return Edge(id=name, src=src, dst=dst, port=port, var=var)


def one_after_another(*fragments: Fragment) -> Fragment:
    """The fragments as one; the last does the work."""
    last = fragments[-1]
    links = (link(a.exit, b.entry) for a, b in zip(fragments[:-1], fragments[1:], strict=True))
    return Fragment(
        tuple(node for one in fragments for node in one.nodes), fragments[0].entry, last.exit, last.core, last.host,
        (*(edge for one in fragments for edge in one.edges), *links),
    )  # fmt: skip


def activity_fields(context: LoweringContext) -> ActivityFields:
    fields = context.element.activity
    assert fields is not None, "an activity is lowered as one"
    return fields


def core_id(element: Element) -> str:
    """The id of the node that does the work: in a multi-instance activity it lies inside the scope."""
    f = element.activity
    return f"{element.id}.each" if f is not None and f.multi is not None else element.id


def node_base(context: LoweringContext, id: str) -> dict[str, Any]:
    """The fields that every net node of an activity has."""
    f = activity_fields(context)
    base = {"id": id, "type": f.bpmn or f.type or "", "label": f.name, "join": MERGE}
    base["scope"] = context.id if f.multi is not None and id != context.id else context.scope
    return base if id == context.id else {**base, "origin": context.id}
