"""The model's net: frozen data, and what is compiled from it (adjacency, reach tables, dominators)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Expr = Callable[[dict], Any]  # stands for a compiled expression: pure, reads only the view


class Fn:
    """An expression given twice: `fn` for the model, `text` in the expression language for the product."""

    def __init__(self, text: str, fn: Expr) -> None:
        self.text = text
        self.fn = fn

    def __call__(self, view: dict) -> Any:
        return self.fn(view)

    def __repr__(self) -> str:
        return f"Fn({self.text!r})"


DEFAULT = Fn("true", lambda view: True)  # the guard of an edge that is taken only when no sibling matched


@dataclass(frozen=True)
class Edge:
    id: str
    src: str
    dst: str
    port: str = "done"
    guard: Expr | None = None  # None = always
    raises: bool = False  # the token is put into epoch + 1 (loop controller)
    role: str = "plain"  # plain | start | cond | skip: read by diagram joins only
    transform: Expr | None = None  # over `body`
    ttl: int | None = None
    capacity: int | None = None
    priority: int = 1000


@dataclass(frozen=True)
class Join:
    mode: str = "all"  # all | k | inclusive | diagram
    k: int = 1
    take: str = "one"  # one | all tokens of each edge
    late: str = "fire"  # fire | absorb (mode k only)


ALL = Join()
XOR = Join("k", 1)
ANY = Join("k", 1, late="absorb")
INC = Join("inclusive")
DIA = Join("diagram", take="all")


def at_least(k: int, late: str = "absorb") -> Join:
    return Join("k", k, late=late)


@dataclass(frozen=True)
class Retry:
    max: int = 0  # retries, not attempts
    base: int = 1000
    kind: str = "fixed"  # fixed | linear | exponential
    cap: int = 30000
    jitter: bool = False
    on: tuple = ("transient", "timeout", "external", "resource")
    multiplier: float = 2.0
    delays: tuple = ()  # one per retry instead of the formula; the last one counts for all that follow


@dataclass(frozen=True)
class Poll:
    every: int
    until: Expr
    fail_if: Expr | None = None
    max_errors: int = 0  # failed probes in a row that are waited out


@dataclass(frozen=True)
class Trigger:
    """All that a wait node has; on other kinds a boundary event."""

    port: str
    kind: str  # timer | signal | escalation
    after: int = 0
    at: Expr | None = None
    name: str = ""
    filter: Expr | None = None  # its value is fixed when the wait opens; null fails the firing
    match: Expr | None = None  # over `event` and `filter`
    interrupting: bool = True
    repeat: int = 0
    times: int = 0  # how often a repeating trigger fires, 0 = while the firing is open; reopen: levels before it fails
    action: str = "port"  # port | fail | skip | value | reopen
    value: Any = None
    code: str = "WAIT_TIMEOUT"


@dataclass(frozen=True)
class Body:
    """What a node of kind scope holds."""

    mode: str = "one"  # one | branches | each | each_seq | loop
    branches: tuple = ()  # (key, entry node, guard or None, required or None)
    items: Expr | None = None
    entry: str = ""
    again: Expr | None = None  # loop: after a round, go again?
    until: Expr | None = None  # completion condition of each
    need: Any = "all"  # all | int k
    timeout: int | None = None
    on_fail: str = "fail"  # fail | continue | compensate
    collect: str = "object"  # object | array | outputs | first | last
    locals: tuple = ()


@dataclass(frozen=True)
class Node:
    id: str
    kind: str = "route"  # start end route task work wait call scope undo
    join: Join = ALL
    split: str = "all"  # all | first | every
    no_match: str = "incident"  # incident | end: split first/every, nothing true, no default
    scope: str = ""  # the scope node around it; "" = root
    effect: str = ""
    arg: Expr | None = None
    retry: Retry = Retry()
    on_error: tuple = ()  # ((code | category | *, skip | continue | error_env | port:X | park:X | fail), ...)
    poll: Poll | None = None
    triggers: tuple = ()
    sets: tuple = ()  # ((variable, expression), ...)
    out: tuple = ()  # names that alias the output
    body: Body = Body()
    undo: tuple = ()
    undo_on: tuple = ("failure", "cancel", "manual")
    undo_if: Expr | None = None
    late_success: str = "ignore"  # ignore | undo
    max_iter: int | None = None
    join_timeout: int | None = None
    group: str = ""
    priority: int = 1000
    ends: str = ""  # end: "" | terminate | error:CODE | cancel:CODE | escalate:CODE
    agent: bool = False
    approve: bool = False
    approve_if: Expr | None = None  # over `draft`: given, an approval is needed only when it holds
    quorum: int = 0
    all_of: bool = False  # every candidate must approve
    candidates: tuple = ()
    modes: bool = False  # work: it may be switched between people and the agent
    off_path: bool = False
    on_final: str = "here"  # run retry: here (the same firing) | restart (the start nodes again) | member (they say it)
    only: tuple = ()  # undo: these nodes only
    origin: str = ""


@dataclass(frozen=True)
class Net:
    nodes: tuple
    edges: tuple
    limits: tuple = ()  # ((group, n), ...)
    on_stuck: str = "fail"  # fail | pause
    on_fail: str = "sweep"  # sweep | drain
    undo_policy: str = "stop"  # stop | continue | group
    retry_run: tuple = (0, 0)  # (max, delay)
    max_visits: int = 1000
    active_ms: int | None = None
    tracks: bool = False  # finished work can be done again as long as nothing was made of it

    def __post_init__(self) -> None:
        compiled = {
            "node": {n.id: n for n in self.nodes},
            "edge": {e.id: e for e in self.edges},
            "order": {n.id: i for i, n in enumerate(self.nodes)},
            "edge_order": {e.id: i for i, e in enumerate(self.edges)},
            "ins": {n.id: tuple(e for e in self.edges if e.dst == n.id) for n in self.nodes},
            "outs": {n.id: tuple(e for e in self.edges if e.src == n.id) for n in self.nodes},
        }
        for name, value in compiled.items():
            object.__setattr__(self, name, value)
        for edge in self.edges:
            assert self.node[edge.src].scope == self.node[edge.dst].scope, f"edge {edge.id} crosses a scope"
        joins = [n.id for n in self.nodes if n.join.mode != "all" and self.ins[n.id]]
        object.__setattr__(self, "reach", {j: self._reach(j) for j in joins})
        object.__setattr__(self, "dominators", self._dominators())
        object.__setattr__(self, "hash", self._hash())

    def _hash(self) -> str:
        nodes = [[n.id, n.kind, str(n.join), n.split, n.scope] for n in self.nodes]
        edges = [[e.id, e.src, e.dst, e.port] for e in self.edges]
        return hashlib.sha256(json.dumps(nodes + edges).encode()).hexdigest()[:12]

    def _reach(self, join: str) -> dict:
        """For each in-edge: the bitset of edges, and the nodes, from which it can be reached without passing `join`."""
        table = {}
        for edge in self.ins[join]:
            bits, nodes, todo = 0, set(), [edge.src]
            while todo:
                node = todo.pop()
                if node in nodes or node == join:
                    continue
                nodes.add(node)
                for before in self.ins[node]:
                    bits |= 1 << self.edge_order[before.id]
                    todo.append(before.src)
            table[edge.id] = (bits, frozenset(nodes))
        return table

    def _dominators(self) -> dict:
        starts = {n.id for n in self.nodes if not self.ins[n.id]}
        dominators = {n: ({n} if n in starts else set(self.node)) for n in self.node}
        changed = True
        while changed:
            changed = False
            for node in self.node:
                if node in starts:
                    continue
                new = {node} | set.intersection(*(dominators[e.src] for e in self.ins[node]))
                if new != dominators[node]:
                    dominators[node] = new
                    changed = True
        return dominators

    def is_back(self, edge: Edge) -> bool:
        """The target dominates the source."""
        return edge.dst in self.dominators[edge.src]

    def is_head(self, node: str) -> bool:
        """A loop head: a back edge leads to it."""
        return any(self.is_back(e) for e in self.ins[node])

    def starts(self) -> list[Node]:
        """The nodes a run begins with: in the root, without in-edges, not an undo node."""
        return [n for n in self.nodes if n.scope == "" and not self.ins[n.id] and not n.off_path]
