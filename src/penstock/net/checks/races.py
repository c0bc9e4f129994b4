"""Checks for two unordered nodes that write the same name: the last to finish wins, which is seldom meant."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import Finding
from penstock.net.analysis import WARNING, NetAnalysis
from penstock.net.model import SPREAD

#: Edges looked at in all; the check is a help, not a proof, and stays cheap on the largest nets.
_BUDGET = 200_000


def races(analysis: NetAnalysis) -> Iterator[Finding]:
    """One finding per name at most; of many writers each is compared with the one declared before it."""
    budget = [_BUDGET]
    for name, writers in _writers(analysis).items():
        for writer, other in zip(writers, writers[1:], strict=False):
            if _unordered(analysis, writer, other, budget):
                first, second = analysis.name(writer), analysis.name(other)
                message = f"{first} and {second} both write «{name}», and nothing says which is last."
                hint = "Give one of them another name, or connect them so that one comes after the other."
                yield analysis.finding("RACE", WARNING, message, hint, analysis.net.nodes[other].id)
                break


def _writers(analysis: NetAnalysis) -> dict[str, list[int]]:
    nodes, number = analysis.net.nodes, analysis.graph.number
    writers: dict[str, list[int]] = {}
    for v, node in enumerate(nodes):
        own: set[str] = set()
        scope = node.scope
        while scope:
            around = nodes[number[scope]]
            body = around.body
            names = ("item", "index") if body is None or body.names is None else body.names
            own |= {*names, *(body.locals if body is not None else ())}
            scope = around.scope
        for name in dict.fromkeys([*(s.name for s in node.sets), *node.out]):
            if name not in own and name != SPREAD:
                writers.setdefault(name, []).append(v)
    return writers


def _unordered(analysis: NetAnalysis, node: int, other: int, budget: list[int]) -> bool:
    pair = _lift(analysis, node, other)
    if pair is None:
        return False
    a, b = pair
    graph = analysis.graph
    if not (analysis.reached(a) and analysis.reached(b)):
        return False
    split = graph.idom.meet(a, b)
    if split in (a, b):
        return False
    if split >= 0:
        first, second = analysis.branch(split, a, -1), analysis.branch(split, b, -1)
        if first is None or second is None or analysis.exclude(first, second):
            return False
    return not _leads(analysis, a, b, budget)


def _lift(analysis: NetAnalysis, node: int, other: int) -> tuple[int, int] | None:
    """The two nodes, or the scopes around them, that lie side by side; None when one is inside the other."""
    chains = []
    for v in (node, other):
        chain = [v]
        while analysis.net.nodes[chain[-1]].scope:
            chain.append(analysis.graph.number[analysis.net.nodes[chain[-1]].scope])
        chains.append(chain[::-1])
    for a, b in zip(*chains, strict=False):
        if a != b:
            return a, b
    return None


def _leads(analysis: NetAnalysis, a: int, b: int, budget: list[int]) -> bool:
    """Does one come after the other within a round? Also true when the budget is spent."""
    graph = analysis.graph
    if graph.component[a] < graph.component[b]:
        a, b = b, a
    pairs = [(a, b), (b, a)] if graph.component[a] == graph.component[b] else [(a, b)]
    for start, goal in pairs:
        seen, todo = {start}, [start]
        while todo:
            for e in graph.outs[todo.pop()]:
                w = graph.dst[e]
                budget[0] -= 1
                if w == goal or budget[0] < 0:
                    return True
                if w not in seen and not graph.is_back(e) and graph.component[w] >= graph.component[goal]:
                    seen.add(w)
                    todo.append(w)
    return False
