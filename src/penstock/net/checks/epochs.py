"""Checks that tokens which must meet can carry the same epoch; edges of different classes never meet.

A loop whose controller raises the epoch leaves it raised behind the exit. So every edge gets a class: where the epoch
of its tokens was decided. Before the first such loop it is the root; inside and behind a loop it is that loop; behind a
merge of different classes it is that merge, since whatever came through there goes on together.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import Finding
from penstock.net.analysis import ERROR, NetAnalysis, always_merges

Class = tuple[str, int]
_BEGIN: Class = ("root", 0)


def epochs(analysis: NetAnalysis) -> Iterator[Finding]:
    graph = analysis.graph
    if not any(e.raises for e in graph.edges):
        return
    for v, node in enumerate(analysis.net.nodes):
        if node.join.mode == "inclusive" and len(graph.ins[v]) > 1:
            message = f"{analysis.name(v)} joins inclusively in a net whose loop controller raises the epoch."
            hint = "Use another join here, or let the loop stay in its epoch (no loop_controller)."
            yield analysis.finding("INCLUSIVE_WITH_EPOCHS", ERROR, message, hint, node.id)
    of_edge = _classes(analysis)
    for v, node in enumerate(analysis.net.nodes):
        if _merges(analysis, v):
            continue
        came = {of_edge[e]: e for e in graph.ins[v] if not graph.is_back(e) and analysis.reached(graph.src[e])}
        if len(came) > 1:
            first, other, *_ = (analysis.name(graph.src[e]) for e in came.values())
            name = analysis.name(v)
            message = f"{name} waits for {first} and {other}, whose tokens are in different epochs and never meet."
            hint = "Join before the loop, lead both ways through it, or let this node take ANY."
            yield analysis.finding("EPOCH_MISMATCH", ERROR, message, hint, node.id)


def _classes(analysis: NetAnalysis) -> list[Class]:
    """The class of every edge, component by component from the sources down."""
    graph = analysis.graph
    members: dict[int, list[int]] = {}
    for v, c in enumerate(graph.component):
        members.setdefault(c, []).append(v)
    of_edge = [_BEGIN] * len(graph.edges)
    for c in sorted(members, reverse=True):  # edges never lead to a larger number
        inside = {e for v in members[c] for e in graph.outs[v] if graph.component[graph.dst[e]] == c}
        entering = {of_edge[e] for v in members[c] for e in graph.ins[v] if e not in inside}
        if any(graph.edges[e].raises for e in inside):
            here: Class = ("loop", c)
        elif len(entering) > 1:
            here = ("merge", c)
        else:
            here = next(iter(entering), _BEGIN)
        for v in members[c]:
            for e in graph.outs[v]:
                of_edge[e] = ("raised", c) if graph.edges[e].raises else here
    return of_edge


def _merges(analysis: NetAnalysis, v: int) -> bool:
    """One token is enough, so none has to meet another."""
    node = analysis.net.nodes[v]
    return always_merges(node) or (node.join.mode == "k" and node.join.k == 1) or node.join.mode == "inclusive"
