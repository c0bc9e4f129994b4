"""The net as its author drew it: one node per node of the document, and each net edge mapped to an edge of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container
from functools import lru_cache

import msgspec

from penstock.dialects.net_nodes import is_companion, is_synthetic
from penstock.net.analysis import NetAnalysis
from penstock.net.author import author
from penstock.net.compiled import CEdge, CNode, Compiled
from penstock.net.draw.node_shapes import node_shape


class GraphNode(msgspec.Struct, kw_only=True):
    """`kind` is one of the nine of the net; `shape` is how it is drawn; `type` is the author's word."""

    id: str
    label: str
    kind: str
    shape: str
    type: str
    parent: str | None = None
    icon: str = ""


class GraphEdge(msgspec.Struct, kw_only=True, rename={"from_": "from"}):
    """`back` closes a loop; `skip` may stay empty. A way of the port `undo` leads to what undoes the node."""

    id: str
    from_: str
    to: str
    port: str
    label: str | None = None
    back: bool = False
    skip: bool = False


class NetDrawing:
    """`ways` has for every edge of the net, by number, the author's edge that a token on it lies on, or None; then
    `inside` has the author's node that it lies in, or None when it is for something beside that node."""

    def __init__(self, net: Compiled) -> None:
        self.net = net
        self.first: dict[str, CNode] = {}  # author's node → the node of the net that speaks for it
        for node in net.nodes:
            if not _hidden(node):
                self.first.setdefault(author(node), net.by_id.get(author(node), node))
        self.ways: list[str | None] = [None] * len(net.edges)
        self.inside: list[str | None] = [None] * len(net.edges)
        self.edges: list[GraphEdge] = []
        self._wire()
        self.outs: dict[str, list[str]] = {}  # author's node → its edges, but for those that undo
        for edge in self.edges:
            if edge.port != "undo":
                self.outs.setdefault(edge.from_, []).append(edge.id)
        self.nodes = self._nodes()

    # -- edges ---------------------------------------------------------------------------------------------------------

    def _wire(self) -> None:
        """Map net edges to drawn ones: an edge between two drawn nodes is itself, those of their parts fold into it."""
        known: dict[tuple[str, str, str], str] = {}
        edges: dict[str, tuple[int, GraphEdge]] = {}
        for edge in sorted(self.net.edges, key=_is_part):
            src, dst, own = author(edge.src), author(edge.dst), not _is_part(edge)
            if is_companion(edge.dst) or src not in self.first or dst not in self.first:
                continue
            if src == dst and edge.src is not edge.dst:
                self.inside[edge.no] = src
                continue
            at = (src, dst, edge.port)
            id = edge.id if own else known.get(at) or _named(src, dst, edge.port, edges)
            known.setdefault(at, id)
            self.ways[edge.no] = id
            if id not in edges:
                edges[id] = (edge.no, _edge(edge, id, src, dst))
        self.edges = [edge for _, edge in sorted(edges.values(), key=lambda numbered: numbered[0])]
        self._undoing()

    def _undoing(self) -> None:
        for node in self.net.nodes:
            for to in dict.fromkeys(author(undo) for undo in node.undo):
                if author(node) in self.first and to in self.first:
                    id = undo_edge(author(node), to)
                    self.edges.append(GraphEdge(id=id, from_=author(node), to=to, port="undo"))

    # -- nodes ---------------------------------------------------------------------------------------------------------

    def _nodes(self) -> list[GraphNode]:
        facts = NetAnalysis(self.net.net)
        parents = {id: self._parent(node) for id, node in self.first.items()}
        framed = set(parents.values())
        plain = [edge for edge in self.edges if edge.port != "undo"]
        ins, outs = Counter(edge.to for edge in plain), Counter(edge.from_ for edge in plain)
        nodes = []
        for id, node in self.first.items():
            if is_synthetic(node) and id not in ins:
                continue  # an end that nobody leads to
            shape = _shape(node, facts.chooses(node.no), id in framed, (ins[id], outs[id]))
            nodes.append(
                GraphNode(
                    id=id, label=node.label, kind=node.spec.kind, shape=shape, type=node.spec.type, parent=parents[id],
                    icon=node_shape(facts, node.no).icon,
                )
            )  # fmt: skip
        return nodes

    def _parent(self, node: CNode) -> str | None:
        """The nearest scope around it that its author drew as another node."""
        scope = node.scope
        while scope:
            around = self.net.by_id[scope]
            if author(around) != author(node) and author(around) in self.first:
                return author(around)
            scope = around.scope
        return None


def _hidden(node: CNode) -> bool:
    """Whether a node exists only in the net, as one that fetches first or checks last; an end is the author's own."""
    speaks = node.net.by_id.get(author(node), node)
    return is_synthetic(speaks) and speaks.spec.type != "END"


def _shape(node: CNode, chooses: bool, frame: bool, ways: tuple[int, int]) -> str:
    kind = node.spec.kind
    if kind == "route":
        return "choose" if chooses else "fork" if ways[1] > 1 else "join" if ways[0] > 1 else "task"
    if kind == "scope":
        mode = node.spec.body.mode if node.spec.body is not None else "one"
        return "loop" if mode in ("loop", "each", "each_seq") else "region" if frame else "task"
    return "undo" if node.spec.off_path and kind == "task" else kind


def _edge(edge: CEdge, id: str, src: str, dst: str) -> GraphEdge:
    label = edge.spec.label or (edge.port if edge.port != "done" else "") or None
    back = edge.raises or edge.back and edge.dst.cyclic
    return GraphEdge(id=id, from_=src, to=dst, port=edge.port, label=label, back=back, skip=edge.role == "skip")


def _is_part(edge: CEdge) -> bool:
    return author(edge.src) != edge.src.id or author(edge.dst) != edge.dst.id


def _named(src: str, dst: str, port: str, taken: Container[str]) -> str:
    id = f"{src}>{dst}" if port == "done" else f"{src}:{port}>{dst}"
    while id in taken:
        id += "'"
    return id


def undo_edge(node: str, undo: str) -> str:
    return f"{node}!{undo}"


@lru_cache(256)
def drawing_of(net: Compiled) -> NetDrawing:
    """The drawing of a net, computed once for each net."""
    return NetDrawing(net)
