"""What checks and drawings ask about a net: its graph, the names that authors know, which edges exclude each other."""

from __future__ import annotations

from penstock.errors import Finding, Place
from penstock.net.graph import NOWHERE, NetGraph
from penstock.net.model import Net, Node

#: The port by which a token leaves that outlived its time on another edge of the node.
EXPIRED = "dead"
ERROR, WARNING = "error", "warning"


def always_merges(node: Node) -> bool:
    """An end takes every token by itself, unless it joins as a node of a diagram does."""
    return node.kind == "end" and node.join.mode != "diagram" and node.join.take == "one"


class NetAnalysis:
    def __init__(self, net: Net) -> None:
        self.net, self.graph = net, NetGraph(net)

    def finding(self, rule: str, severity: str, message: str, hint: str, node: str = "", edge: str = "") -> Finding:
        """`edge` wins as the place when the document has one for it."""
        places = self.net.source_map
        where = places.get(edge) or places.get(node) or Place()
        return Finding(rule, severity, message, where, hint, node)

    def name(self, v: int) -> str:
        """A node as its author knows it."""
        node = self.net.nodes[v]
        return f"«{node.label or node.origin or node.id}»"

    def named(self, id: str) -> str:
        v = self.graph.number.get(id)
        return f"«{id}»" if v is None else self.name(v)

    def chooses(self, v: int) -> bool:
        """May the node leave some of its ways untaken?"""
        node, outs = self.net.nodes[v], [self.graph.edges[e] for e in self.graph.outs[v]]
        return (
            node.port is not None
            or any(e.port not in ("done", EXPIRED) or e.guard is not None for e in outs)
            or (node.split != "all" and len(outs) > 1)
        )

    def exclude(self, edge: int, other: int) -> bool:
        """Do two edges from one node exclude each other in one firing?"""
        graph = self.graph
        if edge == other or graph.src[edge] != graph.src[other]:
            return False
        node = self.net.nodes[graph.src[edge]]
        ways = (graph.edges[edge], graph.edges[other])
        ports = {way.port for way in ways}
        if EXPIRED in ports and len(ports) == 2:
            return any(way.ttl_ms is not None for way in ways)
        if len(ports) == 1:
            return node.split == "first"
        return not any(t.port in ports and not t.interrupting for t in node.triggers)

    def branch(self, split: int, v: int, edge: int) -> int | None:
        """By which edge of `split` does one come to v, and then along `edge`? None when several lead there."""
        if v == split:
            return edge
        child = self.graph.idom.toward(split, v)
        ins = self.graph.ins[child]
        forward = [e for e in ins if not self.graph.is_back(e) and self.reached(self.graph.src[e])]
        return forward[0] if len(forward) == 1 else None

    def reached(self, v: int) -> bool:
        return self.graph.idom[v] != NOWHERE
