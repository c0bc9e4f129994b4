"""The shape and size of each node, and the text on each edge."""

from __future__ import annotations

from typing import Literal, NamedTuple

from penstock.net.analysis import NetAnalysis
from penstock.net.draw.text_width import clean, cut, width
from penstock.net.model import Edge, Node

Shape = Literal["circle", "ring", "card", "work", "hexagon", "bar", "capsule", "call", "undo", "frame"]

TITLE, SUB, PILL = 13.5, 12.0, 11.5  # font sizes
_LEAST, _MOST = 108.0, 196.0  # width of the text on a card


class NodeShape(NamedTuple):
    """`up` and `down` are measured from the line on which edges arrive and leave."""

    shape: Shape
    width: float
    up: float
    down: float
    title: str
    word: str  # the author's word for this kind of node
    icon: str


def node_shape(analysis: NetAnalysis, v: int) -> NodeShape:
    """A scope's size is that of its contents; it is given by the layout."""
    node = analysis.net.nodes[v]
    name, icon = clean(node.label or node.origin or node.id), _icon(node, analysis.chooses(v))
    word = " · ".join(part for part in (_word(node), join_word(node, len(analysis.graph.ins[v]))) if part)
    shape = _shape(node, analysis.chooses(v))
    if shape in ("circle", "ring"):
        title = cut(name, 120, SUB)
        return NodeShape(
            shape, max(36.0, width(title, SUB) if title else 0), 18, 38 if title else 18, title, word, icon
        )
    if shape == "bar":
        return NodeShape(shape, 10, 24, 24, name, word, icon)
    title = cut(name, _MOST, TITLE, bold=True)
    content = max(_LEAST + (12 if shape == "hexagon" else 0), width(title, TITLE, bold=True))
    if shape == "hexagon":
        return NodeShape(shape, content + 72, 29, 29, title, word, icon)
    return NodeShape(shape, content + 56, 26, 26, title, word, icon)


def _shape(node: Node, chooses: bool) -> Shape:
    match node.kind:
        case "start":
            return "circle"
        case "end":
            return "ring"
        case "route":
            return "hexagon" if chooses else "card" if node.label else "bar"
        case "work":
            return "work"
        case "wait":
            return "capsule"
        case "call":
            return "call"
        case "undo":
            return "undo"
        case "scope":
            return "frame"
    return "undo" if node.off_path else "card"


def join_word(node: Node, ways: int) -> str:
    """What a node waits for, where it is neither everything nor obvious."""
    if node.join.mode != "k" or ways < 2 or node.kind in ("start", "end"):
        return ""
    return "any" if node.join.k == 1 else f"{node.join.k} of {ways}"


def _word(node: Node) -> str:
    return clean(node.type.replace("_", " ").lower()) or ("step" if node.kind == "route" else node.kind)


_ICONS = (
    ("person", "bot"), ("llm", "bot"), ("agent", "bot"), ("judg", "scale"), ("code", "code"), ("script", "code"),
    ("api", "globe"), ("http", "globe"), ("mcp", "globe"), ("db", "database"), ("data", "database"),
    ("sql", "database"), ("file", "file"), ("template", "file"), ("endpoint", "flag"), ("user", "person"),
    ("approv", "person"), ("diagram", "layers"), ("switch", "split"), ("condition", "split"), ("notif", "send"),
    ("action", "send"),
)  # fmt: skip
_KIND_ICONS = {
    "start": "play", "end": "flag", "route": "split", "task": "bolt", "work": "person", "wait": "hourglass",
    "call": "layers", "scope": "fork", "undo": "undo",
}  # fmt: skip


def _icon(node: Node, chooses: bool) -> str:
    word = node.type.lower()
    for part, icon in _ICONS:
        if part in word and node.kind not in ("start", "end"):
            return icon
    if node.kind == "route" and not chooses:
        return "merge"
    return _KIND_ICONS[node.kind]


def edge_text(edge: Edge) -> str:
    """What a person reads on an edge: its label, its port, or the guard that opens it."""
    port = edge.port if edge.port != "done" else ""
    text = cut(edge.label or port or edge.guard or ("else" if edge.default else ""), 132, PILL)
    return " · ".join(part for part in (text, "epoch +1" if edge.raises else "") if part)
