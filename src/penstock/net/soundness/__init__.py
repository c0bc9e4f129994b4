"""Soundness: whether every run of a net can end. Per scope level: reduce, then explore within a budget.

Guards are free choices, tasks are atomic with one alternative per used port, a scope is done or leaves by another port,
timers and signals may or may not come. Limits, retries and epochs are left out. With a single end exactly one token
must reach it and nothing may stay behind; with several ends only dead ends and endless loops are looked for. Where
`each` token may end by itself (BPMN 2.0.2, 13.5.6: an end event consumes every token that arrives), several may reach
one end by ways of their own; the same way gone twice is still told, for its work would be done twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from penstock.net.graph import NetGraph
from penstock.net.model import Net
from penstock.net.soundness.explain import explain
from penstock.net.soundness.explore import explore
from penstock.net.soundness.level import Level
from penstock.net.soundness.reduce import reduce
from penstock.net.soundness.verdict import Verdict, WitnessStep

BUDGET = 20_000  # markings looked at per level: some 100 µs each
ALL_LEVELS = 3  # budgets that all levels of a net have together
_LEFT: ContextVar[list[int] | None] = ContextVar("markings_left", default=None)


class TooManyMarkings(Exception):
    """More markings would have to be looked at than `limited_markings` allows."""


@contextmanager
def limited_markings(most: int) -> Iterator[None]:
    """Whoever has no time looks at so many in all: what is not decided by then raises TooManyMarkings."""
    token = _LEFT.set([most])
    try:
        yield
    finally:
        _LEFT.reset(token)


def verdict(net: Net, scope: str = "", *, budget: int = BUDGET, reductions: bool = True, each: bool = False) -> Verdict:
    """Is this level of the net sound? The branches of a scope are asked one by one: the first that is not is told."""
    return _verdict(NetGraph(net), scope, _Budget(budget), reductions, each)


def verdicts(net: Net, *, budget: int = BUDGET, each: bool = False) -> dict[str, Verdict]:
    """The verdict of every level: the root is "", the others are named by their scope node."""
    graph = NetGraph(net)
    scopes = [node.id for node in net.nodes if node.kind == "scope" and node.body is not None]
    shared = _Budget(budget)
    return {scope: _verdict(graph, scope, shared, True, each) for scope in ("", *scopes)}


class _Budget:
    """Of a net: what one level may use, and what is left for all."""

    def __init__(self, level: int) -> None:
        self.level, self.left = level, ALL_LEVELS * level

    def explored(self, level: Level) -> Verdict:
        most, limit = max(min(self.level, self.left), 1), _LEFT.get()
        given = most if limit is None else max(min(most, limit[0]), 1)
        outcome = explore(level, given)
        used = given if outcome.why == "budget" else outcome.states  # large markings use it up sooner
        if limit is not None:
            limit[0] -= used
            if outcome.why == "budget" and given < most:
                raise TooManyMarkings
        self.left -= used
        return outcome


def _verdict(graph: NetGraph, scope: str, budget: _Budget, reductions: bool, each: bool) -> Verdict:
    verdicts: list[Verdict] = []
    for starts in _starts(graph, scope):
        level = Level(graph, scope, starts)
        if level.lost:
            lost = tuple(graph.net.nodes[v].id for v in level.lost)
            verdicts.append(Verdict("unsound", "dead nodes", nodes=lost))
            continue
        if each:
            level.end_each()
        if reductions and level.flows():
            reduce(level)
        verdicts.append(budget.explored(level))
    if not verdicts:
        return Verdict("undecided", "nothing starts here")
    return min(verdicts, key=lambda v: ("unsound", "undecided", "sound").index(v.status))


def _starts(graph: NetGraph, scope: str) -> list[list[int]]:
    """Where tokens begin: all starts of the root together; every branch of a scope by itself."""
    nodes = graph.net.nodes
    if not scope:
        begin = [v for v, node in enumerate(nodes) if not node.scope and not node.off_path and not graph.ins[v]]
        return [begin] if begin else []
    at = graph.number.get(scope)
    body = nodes[at].body if at is not None else None
    if body is None:
        return []
    entries = [b.entry for b in body.branches] if body.mode == "branches" else [body.entry]
    return [[graph.number[entry]] for entry in entries if entry in graph.number]


__all__ = ["BUDGET", "TooManyMarkings", "Verdict", "WitnessStep", "explain", "limited_markings", "verdict", "verdicts"]
