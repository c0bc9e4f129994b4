"""Soundness of one scope level (KERNEL 8): reductions, then exploration with persistent singletons.

Guards are free choices; joins are all, merge or inclusive.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from tests.model.net import Net

Marking = tuple[int, ...]
JOINS = {"all": "and", "k": "xor", "inclusive": "or", "diagram": "and"}
SPLITS = {"all": "and", "first": "xor", "every": "or"}
TOO_MANY = 6  # tokens on one edge: taken for unbounded


class Verdict(NamedTuple):
    verdict: str  # sound | unsound | undecided
    reason: str
    trace: list
    states: int


class Graph:
    """A tiny mutable graph of one scope: what the reductions work on."""

    def __init__(self, net: Net, scope: str) -> None:
        nodes = [n for n in net.nodes if n.scope == scope and not n.off_path]
        self.join = {n.id: "xor" if n.kind == "end" else JOINS[n.join.mode] for n in nodes}
        self.split = {n.id: SPLITS[n.split] for n in nodes}
        self.name = {n.id: n.origin or n.id for n in nodes}
        for node in nodes:
            if len({e.port for e in net.outs[node.id]}) > 1:
                self.split[node.id] = "xor"  # ports exclude each other
        self.edges = {e.id: (e.src, e.dst) for e in net.edges if e.src in self.join}
        self.starts = [n.id for n in nodes if not net.ins[n.id]]
        self.ends = [n.id for n in nodes if not net.outs[n.id]]

    def ins(self, node: str) -> list[str]:
        return [e for e, (_, dst) in self.edges.items() if dst == node]

    def outs(self, node: str) -> list[str]:
        return [e for e, (src, _) in self.edges.items() if src == node]

    def add(self, node: str, name: str, join: str, split: str) -> None:
        self.join[node], self.split[node], self.name[node] = join, split, name

    def drop(self, node: str) -> None:
        del self.join[node], self.split[node]

    def normalize(self) -> None:
        """A virtual end behind a joining end; a node that joins and splits becomes two, so that reductions apply."""
        end = self.ends[0]
        if len(self.ins(end)) > 1 and self.join[end] != "xor":
            self.add("$end", "end", "xor", "and")
            self.edges["$end"] = (end, "$end")
            self.ends = ["$end"]
        for node in list(self.join):
            if len(self.ins(node)) > 1 and len(self.outs(node)) > 1:
                half = node + "'"
                self.add(half, self.name[node], "and", self.split[node])
                self.split[node] = "and"
                for edge in self.outs(node):
                    self.edges[edge] = (half, self.edges[edge][1])
                self.edges[f"{node}~{half}"] = (node, half)


# ---------------------------------------------------------------- reductions: each returns whether it applied
def reduce(graph: Graph) -> None:
    rules = (sequence, self_loop, parallel_edges, fuse_joins, fuse_splits)
    while any(rule(graph, node) for node in list(graph.join) if node in graph.join for rule in rules):
        pass


def sequence(graph: Graph, node: str) -> bool:
    ins, outs = graph.ins(node), graph.outs(node)
    if len(ins) != 1 or len(outs) != 1 or graph.edges[ins[0]][0] == node:
        return False
    graph.edges[ins[0]] = (graph.edges[ins[0]][0], graph.edges[outs[0]][1])
    del graph.edges[outs[0]]
    graph.drop(node)
    return True


def self_loop(graph: Graph, node: str) -> bool:
    ins, outs = graph.ins(node), graph.outs(node)
    loops = [e for e in outs if graph.edges[e][1] == node]
    if not loops or not graph.join[node] == graph.split[node] == "xor":
        return False
    if len(outs) == len(loops) or len(ins) == len(loops):
        return False
    del graph.edges[loops[0]]
    return True


def parallel_edges(graph: Graph, node: str) -> bool:
    """Between a split and a join of the same type; an OR block only as a whole."""
    outs = graph.outs(node)
    for target in dict.fromkeys(graph.edges[e][1] for e in outs):
        between = [e for e in outs if graph.edges[e][1] == target]
        whole = len(between) == len(outs) == len(graph.ins(target))
        if target == node or len(between) < 2 or graph.split[node] != graph.join[target]:
            continue
        if graph.split[node] == "or" and not whole:
            continue
        for edge in between[1:]:
            del graph.edges[edge]
        return True
    return False


def fuse_joins(graph: Graph, node: str) -> bool:
    ins, outs = graph.ins(node), graph.outs(node)
    if len(outs) != 1 or len(ins) < 2 or graph.join[node] == "or":
        return False
    target = graph.edges[outs[0]][1]
    if target == node or graph.join[target] != graph.join[node]:
        return False
    if len(graph.ins(target)) < 2 or not graph.outs(target):
        return False
    for edge in ins:
        graph.edges[edge] = (graph.edges[edge][0], target)
    del graph.edges[outs[0]]
    graph.drop(node)
    return True


def fuse_splits(graph: Graph, node: str) -> bool:
    ins, outs = graph.ins(node), graph.outs(node)
    if len(ins) != 1 or len(outs) < 2 or graph.split[node] == "or":
        return False
    source = graph.edges[ins[0]][0]
    if source == node or graph.split[source] != graph.split[node] or len(graph.outs(source)) < 2:
        return False
    for edge in outs:
        graph.edges[edge] = (source, graph.edges[edge][1])
    del graph.edges[ins[0]]
    graph.drop(node)
    return True


# ---------------------------------------------------------------- exploration
class Explorer:
    """Walks the markings of a graph; edges are numbered."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.edges = sorted(graph.edges)
        self.nodes = sorted(graph.join)
        number = {e: i for i, e in enumerate(self.edges)}
        self.ins = {v: [number[e] for e in sorted(graph.ins(v))] for v in self.nodes}
        self.outs = {v: self.outsets(v, [number[e] for e in sorted(graph.outs(v))]) for v in self.nodes}
        self.start, self.end = graph.starts[0], graph.ends[0]
        inclusive = [v for v in self.nodes if graph.join[v] == "or" and len(self.ins[v]) > 1]
        self.reach = {v: {e: self.edges_before(v, e) for e in self.ins[v]} for v in inclusive}
        self.parent: dict[Marking, tuple | None] = {}
        self.after: dict[Marking, list[Marking]] = {}
        self.fired = {self.start}

    def outsets(self, node: str, outs: list[int]) -> list[tuple[int, ...]]:
        """The sets of edges that may get a token."""
        split = self.graph.split[node]
        if split == "and" or len(outs) <= 1:
            return [tuple(outs)]
        if split == "xor":
            return [(e,) for e in outs]
        return [some for k in range(1, len(outs) + 1) for some in combinations(outs, k)]

    def edges_before(self, join: str, edge: int) -> set[int]:
        """From which the edge can be reached without passing the join."""
        found, seen, todo = set(), set(), [self.graph.edges[self.edges[edge]][0]]
        while todo:
            node = todo.pop()
            if node in seen or node == join:
                continue
            seen.add(node)
            for before in self.ins[node]:
                found.add(before)
                todo.append(self.graph.edges[self.edges[before]][0])
        return found

    def actions(self, marking: Marking) -> Iterator[tuple[str, tuple[int, ...], bool]]:
        """(node, edges taken, is it local: independent of tokens elsewhere)."""
        for node in self.nodes:
            ins = self.ins[node]
            if node in (self.start, self.end):
                continue
            if self.graph.join[node] == "xor" or len(ins) == 1:
                for edge in ins:
                    if marking[edge]:
                        yield node, (edge,), True
            elif self.graph.join[node] == "and":
                if all(marking[e] for e in ins):
                    yield node, tuple(ins), True
            elif marked := self.ready_inclusive(node, marking):
                yield node, marked, False

    def ready_inclusive(self, node: str, marking: Marking) -> tuple[int, ...] | None:
        ins, reach = self.ins[node], self.reach[node]
        marked = tuple(e for e in ins if marking[e])
        if not marked:
            return None
        blocking: set[int] = set().union(*(reach[e] for e in ins if not marking[e]))
        blocking -= set().union(*(reach[e] for e in marked)) | set(ins)
        return None if any(marking[e] for e in blocking) else marked

    def is_final(self, marking: Marking) -> bool:
        return sum(marking) == 1 and sum(marking[e] for e in self.ins[self.end]) == 1

    def trace(self, marking: Marking) -> list:
        steps = []
        while self.parent.get(marking):
            marking, step = self.parent[marking]
            steps.append(step)
        return steps[::-1]

    def expand(self, marking: Marking, actions: list) -> list[tuple[Marking, tuple]]:
        found = []
        for node, takes, _ in actions:
            self.fired.add(node)
            for puts in self.outs[node]:
                new = list(marking)
                for edge in takes:
                    new[edge] -= 1
                for edge in puts:
                    new[edge] += 1
                found.append((tuple(new), (self.graph.name.get(node, node), [self.edges[e] for e in puts])))
        return found

    def successors(self, marking: Marking, por: bool) -> list[tuple[Marking, tuple]]:
        """An edge has one consumer, so a ready local node may be fired alone (persistent singleton)."""
        actions = list(self.actions(marking))
        local = [a for a in actions if a[2]]
        chosen = [local[0]] if por and local else actions
        found = self.expand(marking, chosen)
        if len(chosen) < len(actions) and any(m in self.after or m == marking for m, _ in found):
            found = self.expand(marking, actions)  # cycle proviso
        return found

    def explore(self, budget: int, por: bool) -> Verdict:
        zero = (0,) * len(self.edges)
        stack = [tuple(int(e in puts) for e, _ in enumerate(zero)) for puts in self.outs[self.start]]
        self.parent = dict.fromkeys(stack)
        while stack:
            marking = stack.pop()
            if marking in self.after:
                continue
            if len(self.after) > budget:
                return self.say("undecided", "budget")
            found = self.successors(marking, por)
            self.after[marking] = [m for m, _ in found]
            if not found and not self.is_final(marking):
                reason = "improper end" if sum(marking[e] for e in self.ins[self.end]) else "deadlock"
                left = [self.edges[i] for i, k in enumerate(marking) if k]
                return self.say("unsound", reason, [*self.trace(marking), ("left", left)])
            for new, step in found:
                if new not in self.parent:
                    self.parent[new] = (marking, step)
                    if problem := self.unbounded(marking, new):
                        return problem
                if new not in self.after:
                    stack.append(new)
        return self.judge()

    def unbounded(self, marking: Marking, new: Marking) -> Verdict | None:
        """Covering an ancestor proves it only without inclusive joins: they are not monotone."""
        if max(new) > TOO_MANY:
            return self.say("undecided" if self.reach else "unsound", "unbounded?", self.trace(new))
        ancestor = None if self.reach else marking
        while ancestor is not None:
            if new != ancestor and all(n >= a for n, a in zip(new, ancestor, strict=True)):
                return self.say("unsound", "unbounded", self.trace(new))
            before = self.parent[ancestor]
            ancestor = before[0] if before else None
        return None

    def judge(self) -> Verdict:
        """Option to complete: the backward closure from the end must hold every marking."""
        before: dict[Marking, list[Marking]] = {}
        for marking, found in self.after.items():
            for new in found:
                before.setdefault(new, []).append(marking)
        completes: set[Marking] = set()
        todo = [m for m in self.after if self.is_final(m)]
        while todo:
            marking = todo.pop()
            if marking not in completes:
                completes.add(marking)
                todo += before.get(marking, [])
        for marking in self.after:
            if marking not in completes:
                return self.say("unsound", "livelock", self.trace(marking))
        dead = [self.graph.name.get(v, v) for v in self.nodes if v not in self.fired and v != self.end]
        if dead:
            return self.say("unsound", "dead nodes " + ",".join(dead))
        return self.say("sound", "explored")

    def say(self, verdict: str, reason: str, trace: list | None = None) -> Verdict:
        return Verdict(verdict, reason, trace or [], len(self.after))


def check(net: Net, scope: str = "", budget: int = 20000, reductions: bool = True, por: bool = True) -> Verdict:
    graph = Graph(net, scope)
    if len(graph.starts) != 1 or len(graph.ends) != 1:
        return Verdict("undecided", "several starts or ends: add a virtual one", [], 0)
    graph.normalize()
    if reductions:
        reduce(graph)
    if len(graph.join) <= 2 and len(graph.edges) == 1:
        return Verdict("sound", "reduced to one edge", [], 0)
    return Explorer(graph).explore(budget, por)
