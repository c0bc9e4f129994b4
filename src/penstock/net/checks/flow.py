"""Checks that tokens can go on: joins that never fill, loops without exit, joins that cannot tell rounds apart."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import Finding
from penstock.net.analysis import ERROR, WARNING, NetAnalysis, always_merges
from penstock.net.graph import cyclic, sccs

#: Taking a join out of a large loop and looking again costs a walk over that loop; this many steps are spent in all.
_BUDGET = 200_000


def joins(analysis: NetAnalysis) -> Iterator[Finding]:
    for v, node in enumerate(analysis.net.nodes):
        ways = len(analysis.graph.ins[v])
        if not ways or always_merges(node):
            continue
        if node.join.mode == "k" and not 1 <= node.join.k <= ways:
            message = f"{analysis.name(v)} waits for {node.join.k} of its ways in, and has {ways}."
            hint = f"Ask for a number between 1 and {ways}."
            yield analysis.finding("join_never_satisfied", ERROR, message, hint, node.id)
        elif node.join.mode in ("all", "diagram") or (node.join.mode == "k" and node.join.k == ways > 1):
            yield from _exclusive(analysis, v)


def _exclusive(analysis: NetAnalysis, v: int) -> Iterator[Finding]:
    """A join that needs two ways which one split never takes together. Neighbours in the dominator tree are enough."""
    graph, node = analysis.graph, analysis.net.nodes[v]
    ins = [e for e in graph.ins[v] if not graph.is_back(e) and analysis.reached(graph.src[e])]
    if node.join.mode == "diagram" and all(graph.edges[e].role in ("cond", "skip") for e in ins):
        return  # what was decided against is not waited for
    ins.sort(key=lambda e: graph.idom.enter[graph.src[e]])
    for edge, other in zip(ins, ins[1:], strict=False):
        split = graph.idom.meet(graph.src[edge], graph.src[other])
        if split < 0:
            continue
        first, second = analysis.branch(split, graph.src[edge], edge), analysis.branch(split, graph.src[other], other)
        if first is not None and second is not None and analysis.exclude(first, second):
            both = f"{analysis.name(graph.src[edge])} and {analysis.name(graph.src[other])}"
            message = f"{analysis.name(v)} waits for {both}, but {analysis.name(split)} takes only one of the two ways."
            hint = "merge of exclusive branches with ALL, use ANY"
            yield analysis.finding("join_never_satisfied", WARNING, message, hint, node.id)
            return


def loops(analysis: NetAnalysis) -> Iterator[Finding]:
    """Every cycle needs a node that chooses or counts; what is left when those are taken away must have no cycle."""
    graph, nodes = analysis.graph, analysis.net.nodes
    stops = [analysis.chooses(v) or nodes[v].max_iter is not None for v in range(len(nodes))]
    succ = [[] if stops[v] else [w for w in graph.succ[v] if not stops[w]] for v in range(len(nodes))]
    component = sccs(len(nodes), succ)
    reported: set[int] = set()
    for v, on in enumerate(cyclic(succ, component)):
        if not on or component[v] in reported:
            continue
        reported.add(component[v])
        path = _cycle(v, succ, component)
        shown = path if len(path) <= 8 else [*path[:4], *path[-3:]]
        names = [analysis.name(w) for w in (*shown, v)]
        if shown is not path:
            names.insert(4, "…")
        message = f"This loop has no way out: {' → '.join(names)}."
        hint = "Put a condition into the loop, or give one of its nodes a max_iteration."
        yield analysis.finding("UNBOUNDED_LOOP", ERROR, message, hint, nodes[v].id)


def _cycle(start: int, succ: list[list[int]], component: list[int]) -> list[int]:
    """A shortest way from `start` back to itself."""
    came: dict[int, int] = {}
    todo = [start]
    for v in todo:
        for w in succ[v]:
            if w == start:
                path = [v]
                while path[-1] != start:
                    path.append(came[path[-1]])
                return path[::-1]
            if component[w] == component[start] and w not in came:
                came[w] = v
                todo.append(w)
    raise AssertionError("a node of a cyclic component leads back to itself")


def discriminators(analysis: NetAnalysis) -> Iterator[Finding]:
    """An absorbing join that a loop beside it feeds again and again cannot tell a late token from a new one."""
    graph, budget = analysis.graph, _BUDGET
    members: dict[int, list[int]] = {}
    for v, c in enumerate(graph.component):
        members.setdefault(c, []).append(v)
    for v, node in enumerate(analysis.net.nodes):
        if node.join.mode != "k" or node.join.late != "absorb" or len(graph.ins[v]) < 2:
            continue
        for e in graph.ins[v]:
            loop = members[graph.component[graph.src[e]]]
            budget -= len(loop)
            if budget < 0:
                return
            if graph.src[e] != v and graph.cyclic[graph.src[e]] and _fed_by_loop(analysis, v, e, loop):
                name = analysis.name(v)
                message = f"{name} drops what comes late, but a loop that does not pass it feeds it again and again."
                hint = "Put the loop into a scope of its own, or let the loop pass through this node."
                yield analysis.finding("DISCRIMINATOR_IN_LOOP", WARNING, message, hint, node.id)
                break


def _fed_by_loop(analysis: NetAnalysis, join: int, edge: int, loop: list[int]) -> bool:
    """Is there a round from the edge's source to itself that neither passes the join nor excludes the edge?"""
    graph = analysis.graph
    source = graph.src[edge]
    members = [v for v in loop if v != join]
    place = {v: i for i, v in enumerate(members)}
    inner = [[place[w] for w in graph.succ[v] if w in place] for v in members]
    component = sccs(len(members), inner)
    at = place[source]
    if not cyclic(inner, component)[at]:
        return False
    round_again = [e for e in graph.outs[source] if component[place.get(graph.dst[e], at)] == component[at]]
    return not all(analysis.exclude(edge, e) for e in round_again if graph.dst[e] in place)
