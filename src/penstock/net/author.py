"""Which node of the document a node of the net belongs to: a language may make several of one that was written."""

from __future__ import annotations

from penstock.net.compiled import CNode, Compiled

#: What a language puts beside an author's node: who is told of it, where its way ends.
_BESIDE = frozenset({"NOTIFY", "END", "OUTPUT"})
#: Types that nobody can write in a workflow: what is fetched before a run, where ways end, what is checked last.
_NOBODYS = _BESIDE | {"CONTEXT"}
_STANDS_IN = ".fallback"


def author(node: CNode) -> str:
    """The node as the author drew it: a net may have several for it."""
    return node.spec.origin or node.id


def beside(node: CNode) -> bool:
    """Does it work beside the author's node, and not as a part of it? Then it is no firing of that node."""
    while node.spec.origin:
        if node.spec.type in _BESIDE:
            return True
        if not node.scope:
            return False
        node = node.net.by_id[node.scope]
    return False


def nobodys(node: CNode) -> bool:
    """Is it of the net alone? What a diagram has its author has drawn, whatever its type is called."""
    return node.net.net.language == "decision" and not node.spec.origin and node.spec.type in _NOBODYS


def stem(node: CNode) -> str:
    """The author's node, or the copy of it that stands in for another, of which this is a part."""
    before, found, _ = node.id.partition(_STANDS_IN)
    return before + _STANDS_IN if found else author(node)


def goes_on(node: CNode, status: str, port: str, *, undoes: bool = False) -> bool:
    """When it has ended so: does another part of the author's node follow, or one that stands in for it? The parts of
    what undoes something follow each other without ways."""
    mine = stem(node)
    if node.id == mine or status == "interrupted":
        return False
    if undoes:
        return status != "failed"
    ways = node.ports.get(port, ())
    return port == "fallback" or any(stem(way.dst) == mine and not beside(way.dst) for way in ways)


def within(node: CNode) -> bool:
    """Is it inside of what its author drew as one node: does it work for one item of it?"""
    if author(node) == node.id or not node.scope:
        return False
    around = node.net.by_id[node.scope]
    return author(around) == author(node)


def inner_names(net: Compiled) -> frozenset[str]:
    """Names under which parts of nodes hand something on: no expression of the document can read them."""
    fetching = (node for node in net.nodes if node.spec.type == "CONTEXT" and (node.spec.origin or nobodys(node)))
    return frozenset(name for node in fetching for name in node.spec.out)
