"""What a type of element is: how it is lowered, and what the rest of the net must know of the piece it becomes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from penstock.lang.process.lowering_context import LoweringContext
from penstock.net.model import SPREAD, Edge, Node, Set

#: P-X.8, P-X.9: what an activity, or news, brings is kept in the variables of the instance.
KEPT = (Set(name=SPREAD, expr="output"),)


@dataclass(frozen=True)
class Fragment:
    """A piece of the net. Ways in lead to `entry`, ways out leave from `exit`; `core` does the work, `host` is the node
    whose time an interrupting event ends, and `undone` the one that is booked to be undone."""

    nodes: tuple[Node, ...]
    entry: str
    exit: str
    core: str
    host: str
    edges: tuple[Edge, ...] = ()

    def node(self, id: str) -> Node:
        return next(one for one in self.nodes if one.id == id)

    def changed(self, id: str, **parts: Any) -> Fragment:
        """The same with one node changed."""
        nodes = (msgspec.structs.replace(one, **parts) if one.id == id else one for one in self.nodes)
        return replace(self, nodes=tuple(nodes))


Lower = Callable[[LoweringContext], Fragment]


@dataclass(frozen=True)
class ElementType:
    """`work`: people or agents do it, and it is shown as a work item."""

    name: str
    lower: Lower
    doc: str
    work: bool = False


def plain(node: Node) -> Fragment:
    return Fragment((node,), node.id, node.id, node.id, node.id)


def link(src: str, dst: str, *, port: str = "done", var: str = "") -> Edge:
    """An edge that no author has drawn."""
    name = f"{src}>{dst}" if port == "done" else f"{src}:{port}>{dst}"
    return Edge(id=name, src=src, dst=dst, port=port, var=var)
