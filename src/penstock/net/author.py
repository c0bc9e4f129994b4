"""Which node of the document a node of the net belongs to: a language may make several of one that was written."""

from __future__ import annotations

from penstock.net.compiled import CNode

_STANDS_IN = ".fallback"


def author(node: CNode) -> str:
    """The node as the author drew it: a net may have several for it."""
    return node.spec.origin or node.id


def stem(node: CNode) -> str:
    """The author's node, or the copy of it that stands in for another, of which this is a part."""
    before, stands_in, _ = node.id.partition(_STANDS_IN)
    return before + _STANDS_IN if stands_in else author(node)


def within(node: CNode) -> bool:
    """Is it inside of what its author drew as one node: does it work for one item of it?"""
    if author(node) == node.id or not node.scope:
        return False
    around = node.net.by_id[node.scope]
    return author(around) == author(node)
