"""One scope level as a small graph of pure joins and splits, which is what reductions and exploration work on.

A node of the net becomes a join, and a tree of splits: its ports exclude each other, each port splits in its own way, a
port that nobody drew a way from leads to the sink, where tokens end, and what may come beside or not leads to the void.
"""

from __future__ import annotations

from typing import NamedTuple

from penstock.net.analysis import EXPIRED, always_merges
from penstock.net.graph import Adjacency, NetGraph, reachable
from penstock.net.model import Node

SINK = 0  # the node where tokens end
VOID = 1  # the node for tokens that were never put
OUTSIDE = -1  # the source of the first edge; the origin of what was not in the net


class Mixed(NamedTuple):
    """A join that is none of and, xor, or: what it needs, what it only waits for, how many at least."""

    must: frozenset[int]
    wait: frozenset[int]
    least: int = 1


class Nowhere(NamedTuple):
    at: int


class Split(NamedTuple):
    """One way of a node's tokens to leave, as a tree."""

    kind: str  # and | xor | or
    ways: tuple[SplitTarget, ...]


SplitTarget = int | Split | Nowhere  # an int is an edge of the net
END, NOTHING = Nowhere(SINK), Nowhere(VOID)


class Level:
    """Edges and nodes by number; `first` and `last` are the net's edges at the two ends of an edge here."""

    def __init__(self, graph: NetGraph, scope: str, starts: list[int]) -> None:
        self.graph = graph
        self.join, self.split, self.origin = ["xor", "xor"], ["and", "and"], [OUTSIDE, OUTSIDE]
        self.mixed: dict[int, Mixed] = {}
        self.ends_all: set[int] = set()  # firing one of these ends the whole level
        self.each = False  # every way to the sink is an end of its own
        self.ins: list[dict[int, None]] = [{}, {}]
        self.outs: list[dict[int, None]] = [{}, {}]
        self.src: list[int] = []
        self.dst: list[int] = []
        self.first: list[int] = []
        self.last: list[int] = []
        nodes = graph.net.nodes
        here = [v for v, node in enumerate(nodes) if node.scope == scope and not node.off_path]
        self._never = {e for v in here for e in _defaults_beside_free_ways(graph, v) if _is_never(e, graph)}
        within = reachable(len(nodes), self._successors(), starts)
        branches = len(starts) == 1 and bool(scope)
        members = [v for v in here if within[v]]
        #: Nodes that can never run; in a scope they may belong to another branch.
        self.lost = [] if branches else [v for v in here if not within[v]]
        self._enter: dict[int, int] = {}  # net node -> the node here that its in-edges lead to
        self._leave: dict[int, int] = {}  # net node -> the node here that its tokens leave from
        self._open: dict[int, int] = {}  # net edge -> the node here that it leaves from
        self._wire(starts, members)

    def _wire(self, starts: list[int], members: list[int]) -> None:
        graph = self.graph
        begin = self.node("xor", "and", OUTSIDE)
        self.edge(OUTSIDE, begin)
        for v in members:
            self._enter[v] = self._leave[v] = self.node("and", "and", v)
            if v in starts and graph.ins[v]:  # an entry begins without tokens, and again when something leads back
                self._leave[v] = self.node("xor", "and", v)
                self.edge(self._enter[v], self._leave[v])
        for v in starts:
            self.edge(begin, self._leave[v])
        for v in members:
            node = graph.net.nodes[v]
            if node.kind == "end" and (node.ends == "terminate" or node.ends.startswith(("error:", "cancel:"))):
                self.ends_all.add(self._leave[v])
            self._part(self._leave[v], _splits(node, graph, v), v)
        inside = set(members)
        for v in members:
            ways = (e for e in graph.ins[v] if graph.src[e] in inside and e not in self._never)
            self._joins(v, {e: self._edge_in(e, v) for e in ways})
        #: One end, reached in one way: then exactly one token must come there.
        self.strict = len(self.ins[SINK]) == 1 and not self.ends_all

    def _successors(self) -> Adjacency:
        """Of every node of the net, by ways that can be taken."""
        graph = self.graph
        if not self._never:
            return graph.succ
        return [[graph.dst[e] for e in outs if e not in self._never] for outs in graph.outs]

    def end_each(self) -> None:
        """Lets the one end take each of several tokens, as an end event does: each of its ways in, and of the merges
        just before it, is an end of its own. A way that is gone twice stays what it was: work that is done twice."""
        if not self.strict:
            return
        (last,) = self.ins[SINK]
        todo = [self.src[last]] if self._origin_kind(self.src[last]) == "end" else []
        while todo:
            at = todo.pop()
            for e in list(self.ins[at]):
                self._retarget(e, SINK)
                if (before := self.src[e]) != OUTSIDE and self._only_merges(before):
                    todo.append(before)
            for e in list(self.outs[at]):
                del self.outs[at][e], self.ins[SINK][e]
        self.each = len(self.ins[SINK]) > 1

    def _origin_kind(self, at: int) -> str:
        origin = self.origin[at] if at != OUTSIDE else OUTSIDE
        return "" if origin == OUTSIDE else self.graph.net.nodes[origin].kind

    def _only_merges(self, at: int) -> bool:
        return self._origin_kind(at) == "route" and self.join[at] == "xor" and len(self.outs[at]) == 1

    def _part(self, at: int, split: Split, v: int) -> None:
        """Lays a tree of splits out, beginning at a node that has no way out yet."""
        if len(self.ins[at]) > 1 or self.outs[at]:
            below = self.node("xor", split.kind, v)
            self.edge(at, below)
            at = below
        self.split[at] = split.kind
        for way in split.ways:
            if isinstance(way, Nowhere):
                self.edge(at, way.at)
            elif isinstance(way, Split):
                below = self.node("xor", way.kind, v)
                self.edge(at, below)
                self._part(below, way, v)
            else:
                self._open[way] = at

    def _edge_in(self, e: int, v: int) -> int:
        return self.edge(self._open[e], self._enter[v], e)

    def _joins(self, v: int, ins: dict[int, int]) -> None:
        """Gives the node its join; one that also splits, or whose back edges merge with its entries, becomes two."""
        graph, node, at = self.graph, self.graph.net.nodes[v], self._enter[v]
        if always_merges(node) or (len(ins) < 2 and node.join.k < 2):
            self.join[at] = "xor"
            return
        back = {} if node.join.mode != "diagram" else {e: i for e, i in ins.items() if graph.is_back(e)}
        if len(self.outs[at]) > 1 or (at in self.ends_all):
            at = self._before(at, v)
        if back:
            self.join[at] = "xor"
            if len(back) == len(ins):
                return
            entries = self.node("and", "and", v)
            for e, i in ins.items():
                if e not in back:
                    self._retarget(i, entries)
            self.edge(entries, at)
            at, ins = entries, {e: i for e, i in ins.items() if e not in back}
        self._set_join(at, node, ins)

    def _set_join(self, at: int, node: Node, ins: dict[int, int]) -> None:
        """`k` with late tokens absorbed fires once a round, as if it had waited for them: or, with at least k."""
        mode, ways = node.join.mode, frozenset(ins.values())
        if mode == "k" and (node.join.k > 1 or node.join.late == "absorb"):
            self._mix(at, Mixed(frozenset(), ways, node.join.k))
        elif mode == "diagram":
            role = {i: self.graph.edges[e].role for e, i in ins.items()}
            must = frozenset(i for i in ways if role[i] in ("plain", "start"))
            self._mix(at, Mixed(must, frozenset(i for i in ways if role[i] == "cond")))
        else:
            self.join[at] = {"all": "and", "k": "xor", "inclusive": "or"}[mode]

    def _mix(self, at: int, join: Mixed) -> None:
        if len(self.ins[at]) < 2:
            self.join[at] = "xor" if join.least <= 1 else "mixed"
        elif join.must == frozenset(self.ins[at]):
            self.join[at] = "and"
        elif join.least <= 1 and join.wait == frozenset(self.ins[at]):
            self.join[at] = "or"
        else:
            self.join[at] = "mixed"
        if self.join[at] == "mixed":
            self.mixed[at] = join

    def _before(self, at: int, v: int) -> int:
        """A new node that takes over the ways into `at`."""
        new = self.node("and", "and", v)
        for e in list(self.ins[at]):
            self._retarget(e, new)
        self.join[at] = "xor"
        self.edge(new, at)
        return new

    def _retarget(self, e: int, dst: int) -> None:
        del self.ins[self.dst[e]][e]
        self.dst[e] = dst
        self.ins[dst][e] = None

    def node(self, join: str, split: str, origin: int) -> int:
        self.join.append(join)
        self.split.append(split)
        self.origin.append(origin)
        self.ins.append({})
        self.outs.append({})
        return len(self.join) - 1

    def edge(self, src: int, dst: int, origin: int = OUTSIDE) -> int:
        e = len(self.src)
        self.src.append(src)
        self.dst.append(dst)
        self.first.append(origin)
        self.last.append(origin)
        if src != OUTSIDE:
            self.outs[src][e] = None
        self.ins[dst][e] = None
        return e

    def flows(self) -> bool:
        """Does every node lie on a way to the sink? Only then do the reductions keep what they must keep."""
        pred = [[self.src[e] for e in ins if self.src[e] != OUTSIDE] for ins in self.ins]
        gone = [v for v in range(len(pred)) if not self.ins[v] and not self.outs[v]]
        return all(reachable(len(pred), pred, [SINK, VOID, *sorted(self.ends_all), *gone]))


def _splits(node: Node, graph: NetGraph, v: int) -> Split:
    """How a node's tokens leave: one of its ports, and beside it what non-interrupting triggers may put."""
    ports: dict[str, list[int]] = {}
    for e in graph.outs[v]:
        ports.setdefault(graph.edges[e].port, []).append(e)
    if not ports or node.kind == "end":
        return Split("xor", (END,))
    if mortal := {e for e in graph.outs[v] if graph.edges[e].ttl_ms is not None}:
        dead = ports.pop(EXPIRED, [])
        return _expiring(_ports(node, graph, ports), mortal, Split("and", tuple(dead)) if dead else END)
    return _ports(node, graph, ports)


def _expiring(split: Split, mortal: set[int], dead: SplitTarget) -> Split:
    """A token with a time to live may be taken, or leave by the port for the expired."""

    def way(target: SplitTarget) -> SplitTarget:
        if isinstance(target, Split):
            return _expiring(target, mortal, dead)
        return Split("xor", (target, dead)) if target in mortal else target

    return Split(split.kind, tuple(way(target) for target in split.ways))


def _ports(node: Node, graph: NetGraph, ports: dict[str, list[int]]) -> Split:
    beside = {t.port for t in node.triggers if not t.interrupting} & set(ports)
    main = [_port(node, graph, ways) for port, ways in ports.items() if port not in beside]
    silent = any(t.interrupting and t.action in ("port", "value") and t.port not in ports for t in node.triggers)
    if not main or silent or (node.port is not None and len(main) == 1):
        main.append(Split("xor", (END,)))
    choice = main[0] if len(main) == 1 else Split("xor", tuple(main))
    if not beside:
        return choice
    extra = [Split("xor", (_port(node, graph, ports[port]), NOTHING)) for port in sorted(beside)]
    return Split("and", (choice, *extra))


def _defaults_beside_free_ways(graph: NetGraph, v: int) -> list[int]:
    """A default is taken when no other way is; beside a way without a guard that is never."""
    if graph.net.nodes[v].split == "all":
        return []
    edges = graph.edges
    free = {edges[e].port for e in graph.outs[v] if edges[e].guard is None and not edges[e].default}
    return [e for e in graph.outs[v] if edges[e].default and edges[e].guard is None and edges[e].port in free]


def _is_never(e: int, graph: NetGraph) -> bool:
    """Is a way that is not taken as good as not there? Whoever waits for all of its ways waits for this one, too."""
    return graph.net.nodes[graph.dst[e]].join.mode != "all"


def _port(node: Node, graph: NetGraph, ways: list[int]) -> Split:
    guarded = [e for e in ways if graph.edges[e].guard is not None]
    default = [e for e in ways if graph.edges[e].default and graph.edges[e].guard is None]
    free = [e for e in ways if e not in guarded and e not in default]
    if node.split == "first":
        ends = not free and not default and node.no_match == "end"
        return Split("xor", (*ways, END) if ends else tuple(ways))
    always = [*free, *default] if node.split == "all" else free
    if always:
        held = [e for e in default if node.split != "all" and not _is_never(e, graph)]
        maybe = [Split("xor", (e, NOTHING)) for e in (*guarded, *held)]
        return Split("and", (*always, *maybe))
    if node.split == "all":
        return Split("or", (*guarded, END))
    others: tuple[SplitTarget, ...] = (END,) if not default and node.no_match == "end" else tuple(default[:1])
    return Split("xor", (Split("or", tuple(guarded)), *others) if guarded else others)
