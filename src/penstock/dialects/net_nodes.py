"""Nodes of a net that no author wrote, by what their language says: companions of a node, and synthetic ones."""

from __future__ import annotations

from penstock.dialects import dialect_of
from penstock.net.author import stem
from penstock.net.compiled import CNode, Compiled


def is_companion(node: CNode) -> bool:
    """Does it work beside the author's node, and not as a part of it? Then it is no firing of that node."""
    while node.spec.origin:
        if node.spec.type in dialect_of(node.net.net.language).companion_types:
            return True
        if not node.scope:
            return False
        node = node.net.by_id[node.scope]
    return False


def is_synthetic(node: CNode) -> bool:
    """Is it of the net alone, so that its author has never seen it?"""
    return not node.spec.origin and node.spec.type in dialect_of(node.net.net.language).synthetic_types


def goes_on(node: CNode, status: str, port: str, *, undoes: bool = False) -> bool:
    """When it has ended so: does another part of the author's node follow, or one that stands in for it? The parts of
    what undoes something follow each other without ways."""
    mine = stem(node)
    if node.id == mine or status == "interrupted":
        return False
    if undoes:
        return status != "failed"
    ways = node.ports.get(port, ())
    return port == "fallback" or any(stem(way.dst) == mine and not is_companion(way.dst) for way in ways)


def inner_names(net: Compiled) -> frozenset[str]:
    """Names under which parts of nodes hand something on: no expression of the document can read them."""
    fetching = dialect_of(net.net.language).fetching_types
    nodes = (node for node in net.nodes if node.spec.type in fetching and (node.spec.origin or is_synthetic(node)))
    return frozenset(name for node in nodes for name in node.spec.out)
