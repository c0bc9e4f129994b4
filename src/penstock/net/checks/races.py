"""Two nodes that write one name with nothing that orders them: the last to finish wins, which is seldom meant."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import Finding
from penstock.net.facts import WARNING, Facts
from penstock.net.model import SPREAD

#: Edges looked at in all; the check is a help, not a proof, and stays cheap on the largest nets.
_BUDGET = 200_000


def races(facts: Facts) -> Iterator[Finding]:
    """One finding per name at most; of many writers each is compared with the one declared before it."""
    budget = [_BUDGET]
    for name, writers in _writers(facts).items():
        for one, other in zip(writers, writers[1:], strict=False):
            if _unordered(facts, one, other, budget):
                message = (
                    f"{facts.name(one)} and {facts.name(other)} both write «{name}», and nothing says which is last."
                )
                hint = "Give one of them another name, or connect them so that one comes after the other."
                yield facts.finding("RACE", WARNING, message, hint, facts.net.nodes[other].id)
                break


def _writers(facts: Facts) -> dict[str, list[int]]:
    nodes, number = facts.net.nodes, facts.graph.number
    found: dict[str, list[int]] = {}
    for v, node in enumerate(nodes):
        own: set[str] = set()
        scope = node.scope
        while scope:
            around = nodes[number[scope]]
            own |= {"item", "index", *(around.body.locals if around.body else ())}
            scope = around.scope
        for name in dict.fromkeys([*(s.name for s in node.sets), *node.out]):
            if name not in own and name != SPREAD:
                found.setdefault(name, []).append(v)
    return found


def _unordered(facts: Facts, one: int, other: int, budget: list[int]) -> bool:
    pair = _lift(facts, one, other)
    if pair is None:
        return False
    a, b = pair
    graph = facts.graph
    if not (facts.reached(a) and facts.reached(b)):
        return False
    split = graph.idom.meet(a, b)
    if split in (a, b):
        return False
    if split >= 0:
        first, second = facts.branch(split, a, -1), facts.branch(split, b, -1)
        if first is None or second is None or facts.exclude(first, second):
            return False
    return not _leads(facts, a, b, budget)


def _lift(facts: Facts, one: int, other: int) -> tuple[int, int] | None:
    """The two nodes, or the scopes around them, that lie side by side; None when one is inside the other."""
    chains = []
    for v in (one, other):
        chain = [v]
        while facts.net.nodes[chain[-1]].scope:
            chain.append(facts.graph.number[facts.net.nodes[chain[-1]].scope])
        chains.append(chain[::-1])
    for a, b in zip(*chains, strict=False):
        if a != b:
            return a, b
    return None


def _leads(facts: Facts, a: int, b: int, budget: list[int]) -> bool:
    """Does one come after the other within a round? Also true when the budget is spent."""
    graph = facts.graph
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
