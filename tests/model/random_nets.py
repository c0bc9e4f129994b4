"""Random nets whose expressions are given twice, so that the model and the product can run the same net.

The input of every net is a list of eight booleans: see `bits`.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from tests.model.net import (
    ALL,
    ANY,
    DEFAULT,
    DIA,
    INC,
    XOR,
    Body,
    Edge,
    Fn,
    Net,
    Node,
    Poll,
    Retry,
    Trigger,
    at_least,
)


def bits(number: int) -> list[bool]:
    return [bool(number >> k & 1) for k in range(8)]


# ---------------------------------------------------------------- expressions, in both forms
def input_bit(k: int) -> Fn:
    return Fn(f"input[{k}]", lambda view: view["input"][k])


def not_every(n: int) -> Fn:
    """False at each n-th visit of the node, so that a loop ends."""
    return Fn(f"visit % {n} != 0", lambda view: view["visit"] % n != 0)


def count_of(node: str) -> Fn:
    """How often a node has fired in this scope and epoch."""
    return Fn(f"counters['{node}']", lambda view: view["count"](node, view["epoch"]))


TWO_ITEMS = Fn("[1, 2]", lambda view: [1, 2])
VISIT = Fn("visit", lambda view: view["visit"])
VISIT_PLUS_ONE = Fn("visit + 1", lambda view: view["visit"] + 1)
LOCAL = Fn("loc", lambda view: view.get("loc"))
ONE_MORE_ROUND = Fn("round < 1", lambda view: view["round"] < 1)
ONE_DONE = Fn("done >= 1", lambda view: view["done"] >= 1)
IS_ONE = Fn("draft == 1", lambda view: view["draft"] == 1)
ONE = Fn("1", lambda view: 1)
NOTHING = Fn("null", lambda view: None)
WANTED = Fn("event == filter", lambda view: view["event"] == view["filter"])
ANSWERED = Fn("response != 'again'", lambda view: view["response"] != "again")
UNDONE = Fn("undone", lambda view: view["undone"])
IS_NULL = Fn("body == null", lambda view: view["body"] is None)


# ---------------------------------------------------------------- acyclic nets of inclusive joins
def dag(seed: int, size: int) -> Net:
    rng = random.Random(seed)
    nodes, edges = [Node("n0", "start")], []
    for i in range(1, size):
        for source in sorted(rng.sample(range(i), k=min(i, rng.choice([1, 1, 1, 2, 2, 3])))):
            port = rng.choice(["done", "done", "done", "failed"]) if source else "done"
            bit = rng.randrange(8)
            guard = None if rng.random() < 0.5 else input_bit(bit)
            edges.append(Edge(f"e{source}-{i}-{port}", f"n{source}", f"n{i}", port, guard=guard))
        split = rng.choice(["all", "first", "every"])
        nodes.append(
            Node(
                f"n{i}",
                "task",
                join=INC,
                split=split,
                no_match="end",
                on_error=(("*", "port:failed"),),
                out=(f"x_n{i}",),
            )
        )
    return Net(tuple(nodes), tuple(edges))


# ---------------------------------------------------------------- block-structured nets
BLOCKS = ("task", "seq", "and", "xor", "or", "loop", "scope", "each", "each_seq", "rounds")
RACES = ("any", "until")
SPLIT_OF = {"and": "all", "xor": "first", "or": "every"}
JOIN_OF = {"and": ALL, "xor": XOR, "or": INC}
MODE_OF = {
    "scope": "branches",
    "any": "branches",
    "each": "each",
    "until": "each",
    "each_seq": "each_seq",
    "rounds": "loop",
}


class Builder:
    """Nodes and edges of a net under construction. A block has one entry and one exit."""

    def __init__(self, rng: random.Random, race: bool = False) -> None:
        self.rng = rng
        self.blocks = [*BLOCKS, *(RACES if race else ())]
        self.nodes: list[Any] = []
        self.edges: list[Edge] = []

    def node(self, **fields: Any) -> str:
        name = f"v{len(self.nodes) + 1}"
        self.nodes.append(Node(name, **fields))
        return name

    def edge(self, src: str, dst: str, guard: Any = None) -> None:
        self.edges.append(Edge(f"{src}>{dst}.{len(self.edges) + 1}", src, dst, guard=guard))

    def block(self, depth: int, scope: str) -> tuple[str, str]:
        kind = self.rng.choice(self.blocks) if depth else "task"
        if kind == "task":
            return self.task(scope)
        if kind == "seq":
            return self.seq(depth, scope)
        if kind == "loop":
            return self.loop(depth, scope)
        if kind in SPLIT_OF:
            return self.fork(kind, depth, scope)
        return self.scope(kind, depth, scope)

    def task(self, scope: str) -> tuple[str, str]:
        name = f"v{len(self.nodes) + 1}"
        sets = ((f"y_{name}", VISIT_PLUS_ONE),) if self.rng.random() < 0.3 else ()
        self.node(kind="task", scope=scope, out=(f"x_{name}",), sets=sets)
        return name, name

    def seq(self, depth: int, scope: str) -> tuple[str, str]:
        first, middle = self.block(depth - 1, scope)
        second, last = self.block(depth - 1, scope)
        self.edge(middle, second)
        return first, last

    def fork(self, kind: str, depth: int, scope: str) -> tuple[str, str]:
        branches = self.rng.choice([2, 3])
        split = self.node(scope=scope, split=SPLIT_OF[kind])
        join = self.node(scope=scope, join=JOIN_OF[kind])
        for i in range(branches):
            first, last = self.block(depth - 1, scope)
            guard = None
            if kind != "and":
                guard = DEFAULT if i == branches - 1 else input_bit(self.rng.randrange(8))
            self.edge(split, first, guard)
            self.edge(last, join)
        return split, join

    def loop(self, depth: int, scope: str) -> tuple[str, str]:
        merge = self.node(scope=scope, join=XOR)
        first, last = self.block(depth - 1, scope)
        decide = self.node(scope=scope, split="first")
        leave = self.node(scope=scope)
        self.edge(merge, first)
        self.edge(last, decide)
        self.edge(decide, merge, not_every(self.rng.choice([2, 3])))
        self.edge(decide, leave, DEFAULT)
        return merge, leave

    def scope(self, kind: str, depth: int, scope: str) -> tuple[str, str]:
        name = self.node(kind="scope", scope=scope)
        index = len(self.nodes) - 1
        members = []
        for i in range(2 if MODE_OF[kind] == "branches" else 1):
            entry = self.node(kind="start", scope=name)
            first, _ = self.block(depth - 1, name)
            self.edge(entry, first)
            members.append((f"b{i}", entry, None, None))
        body = Body(
            MODE_OF[kind],
            branches=tuple(members) if MODE_OF[kind] == "branches" else (),
            entry="" if MODE_OF[kind] == "branches" else members[0][1],
            items=TWO_ITEMS if MODE_OF[kind] in ("each", "each_seq") else None,
            again=ONE_MORE_ROUND if kind == "rounds" else None,
            until=ONE_DONE if kind == "until" else None,
            need=1 if kind == "any" else "all",
        )
        self.nodes[index] = replace(self.nodes[index], body=body)
        return name, name


def structured(seed: int, depth: int = 3, race: bool = False) -> Net:
    """Blocks in blocks; they always complete. Without races the order of answers does not matter."""
    builder = Builder(random.Random(seed), race)
    start = builder.node(kind="start")
    first, last = builder.block(depth, "")
    end = builder.node(kind="end", join=XOR)
    builder.edge(start, first)
    builder.edge(last, end)
    return Net(tuple(builder.nodes), tuple(builder.edges), max_visits=10000)


# ---------------------------------------------------------------- the same, with everything on top
class Spicer:
    """Gives the nodes and edges of a structured net retries, timers, work, undo, and what else there is: to some nets a
    pinch, to others a handful."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed ^ 5)
        self.heat = self.rng.choice([1, 1, 2])
        self.process = random.Random(seed ^ 11)  # its own, so that what was found by a seed stays found by it
        self.extra_nodes: list[Node] = []
        self.extra_edges: list[Edge] = []

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def spiced(self, probability: float) -> bool:
        return self.chance(probability * self.heat)

    def side_exit(self, node: Node, port: str, ends: str = "", pause: int = 0) -> None:
        """A way to an end of its own; with a pause somebody may still do something about what went this way."""
        name = f"{node.id}_{port}"
        self.extra_nodes.append(Node(name, "end", scope=node.scope, join=XOR, ends=ends))
        first = name
        if pause:
            first = f"{name}_wait"
            after = Trigger("done", "timer", after=pause)
            self.extra_nodes.append(Node(first, "wait", scope=node.scope, join=XOR, triggers=(after,)))
            self.extra_edges.append(Edge(f"{first}e", first, name))
        self.extra_edges.append(Edge(f"{name}e", node.id, first, port))

    def node(self, node: Node) -> Node:
        if node.kind == "task":
            node = self.bounded(self.task(node))
        elif node.kind == "scope":
            node = self.scope(node)
        elif node.kind == "route":
            node = replace(node, join_timeout=self.rng.choice([15, 35]) if self.chance(0.08) else None)
        return replace(node, priority=self.rng.choice([1, 2000])) if self.chance(0.1) else node

    def task(self, node: Node) -> Node:
        kind = self.rng.random()
        if kind < 0.10 * (1 + self.heat):
            return self.work(node)
        if kind < 0.33:
            return replace(node, kind="wait", triggers=self.wait_triggers())
        if kind < 0.43:
            return replace(node, poll=Poll(20, ANSWERED, max_errors=self.rng.choice([0, 1, 2])), **self.effect())
        if kind < 0.50:
            return replace(node, kind="undo", sets=())
        aside = [("X", "port:alt"), *[("X", "park:alt")] * self.heat]
        row = self.rng.choice([None, ("*", "skip"), ("*", "continue"), ("*", "error_env"), *aside])
        node = replace(node, on_error=(row,) if row else (), **self.effect())
        if row in aside:
            ends = ["", "", "terminate", "error:BAD", "cancel:NO", "escalate:E1", "escalate:E1"]
            self.side_exit(node, "alt", self.rng.choice(ends), pause=40 if row[1] == "park:alt" else 0)
        return node

    def work(self, node: Node) -> Node:
        agent = self.chance(0.6)
        who = {"approve": self.chance(0.6), "approve_if": IS_ONE if self.chance(0.3) else None} if agent else {}
        if not agent and self.chance(0.6):
            who = {"quorum": self.rng.choice([1, 2]), "all_of": self.chance(0.3), "candidates": ("p", "q")}
            if self.chance(0.5):
                self.side_exit(node, "rejected", self.rng.choice(["", "cancel:NO"]))
        votes = "quorum" in who
        modes = not votes and self.process.random() < 0.4
        return replace(node, kind="work", agent=agent, modes=modes, **who, **self.effect())

    def effect(self) -> dict:
        retry = Retry(
            self.rng.choice([0, 1, 2]),
            10,
            self.rng.choice(["fixed", "linear", "exponential"]),
            jitter=self.chance(0.5),
            multiplier=self.rng.choice([1.5, 2.0, 3.0]),
            delays=self.rng.choice([(), (), (7, 3)]),
        )
        undo = self.rng.choice([("UNDO",), ("UNDO", "UNDO2")]) if self.chance(0.4) else ()
        return {
            "retry": retry,
            "undo": undo,
            "undo_on": self.rng.choice([("failure", "cancel", "manual"), ("failure",), ("cancel", "manual")]),
            "late_success": self.rng.choice(["ignore", "undo"]),
            "on_final": self.rng.choice(["here", "here", "restart"]),
        }

    def wait_triggers(self) -> tuple[Trigger, ...]:
        action = self.rng.choice(["port", "skip", "value", "fail"])
        after = self.rng.choice([5, 50])
        wanted = {"filter": self.rng.choice([*[ONE] * 4, NOTHING]), "match": WANTED} if self.chance(0.3) else {}
        return (Trigger("done", "signal", name="SIG", **wanted), Trigger("done", "timer", after=after, action=action))

    def bounded(self, node: Node) -> Node:
        """Boundary events, groups, iteration limits, variables of a local."""
        if self.spiced(0.2) and node.kind in ("task", "work"):
            stops = self.chance(0.6)
            repeat, times = (0, 0) if stops else self.rng.choice([(0, 0), (10, 2)])
            late = Trigger("late", "timer", after=30, interrupting=stops, repeat=repeat, times=times)
            if stops and node.kind == "work" and self.chance(0.5):
                late = replace(late, action="reopen", times=self.rng.choice([0, 1, 2]))
            elif stops and self.chance(0.2):
                late = replace(late, action="value", value="late")
            node = replace(node, triggers=(late,))
            self.side_exit(node, "late")
        if self.chance(0.2):
            node = replace(node, group="g")
        if self.chance(0.1):
            node = replace(node, max_iter=1)
        if node.scope and self.chance(0.4):
            node = replace(node, sets=(("loc", VISIT), (f"z_{node.id}", LOCAL)))
        elif self.chance(0.2):
            node = replace(node, sets=((f"c_{node.id}", count_of(node.id)),))
        return node

    def scope(self, node: Node) -> Node:
        several = node.body.mode in ("branches", "each")
        body = replace(
            node.body,
            timeout=self.rng.choice([None, None, None, 60]),
            on_fail=self.rng.choice(["fail", "continue", "compensate"]),
            need=self.rng.choice(["all", 1]) if several else "all",
            collect=self.rng.choice(["object", "array", "outputs", "first", "last"]),
            locals=("loc",) if self.chance(0.5) else (),
        )
        node = replace(node, body=body, on_final=self.rng.choice(["here", "restart", "member"]))
        if self.spiced(0.15):
            node = replace(node, on_error=(("X", "park:lost"),))
            self.side_exit(node, "lost", pause=40)
        if self.chance(0.4):
            heard = Trigger("esc", "escalation", name="E1", interrupting=self.chance(0.5))
            node = replace(node, triggers=(heard,))
            self.side_exit(node, "esc")
        return node

    def edge(self, edge: Edge) -> Edge:
        kind = self.rng.random()
        if kind < 0.1:
            return replace(edge, priority=self.rng.choice([1, 2000]))
        if kind < 0.13:
            return replace(edge, ttl=12)
        if kind < 0.16:
            return replace(edge, capacity=self.rng.choice([1, 2]))
        if kind < 0.22:
            return replace(edge, transform=IS_NULL)
        return edge


def spice(seed: int) -> Net:
    """A structured net with everything at once. It may fail or deadlock, but every run of it ends."""
    plain = structured(seed, race=True)
    spicer = Spicer(seed)
    rng = spicer.rng
    nodes = [spicer.node(n) for n in plain.nodes]
    edges = [spicer.edge(e) for e in plain.edges]
    undo = [Node("UNDO", "task", off_path=True, arg=UNDONE, retry=Retry(1, 5)), Node("UNDO2", "task", off_path=True)]
    return Net(
        (*nodes, *spicer.extra_nodes, *undo),
        (*edges, *spicer.extra_edges),
        limits=(("g", rng.choice([1, 2])),),
        on_fail=rng.choice(["sweep", "drain"]),
        undo_policy=rng.choice(["stop", "continue", "group"]),
        on_stuck=rng.choice(["fail", "pause"]),
        retry_run=rng.choice([(0, 0), (1, 40)]),
        active_ms=rng.choice([None, None, None, 100]),
        max_visits=50,
        tracks=spicer.process.random() < 0.4,
    )


# ---------------------------------------------------------------- people and agents
def process(seed: int) -> Net:
    """A structured net of work items, most of them of people: what is done may be done again."""
    plain = structured(seed, race=True)
    rng = random.Random(seed ^ 23)
    spicer = Spicer(seed ^ 29)

    def activity(node: Node) -> Node:
        draw = rng.random()
        if node.kind != "task" or draw < 0.2:
            return replace(node, kind="call") if node.kind == "task" and draw < 0.03 else node
        undo = ("UNDO",) if rng.random() < 0.3 else ()
        agent = rng.random() < 0.35
        node = replace(node, kind="work", modes=rng.random() < 0.8, agent=agent, approve=rng.random() < 0.5, undo=undo)
        draw = rng.random()
        if draw < 0.15:
            stops = rng.random() < 0.5
            spicer.side_exit(node, "late", pause=rng.choice([0, 20]))
            return replace(node, triggers=(Trigger("late", "timer", after=rng.choice([15, 60]), interrupting=stops),))
        if draw < 0.25:
            spicer.side_exit(node, "told")
            return replace(node, triggers=(Trigger("told", "signal", name="SIG", interrupting=rng.random() < 0.5),))
        return node

    nodes = [activity(n) for n in plain.nodes]
    edges = [replace(e, ttl=30) if rng.random() < 0.03 else e for e in plain.edges]
    undo = Node("UNDO", "task", off_path=True, arg=UNDONE)
    return Net(
        (*nodes, *spicer.extra_nodes, undo),
        (*edges, *spicer.extra_edges),
        undo_policy="group",
        on_stuck="pause",
        max_visits=50,
        tracks=True,
    )


# ---------------------------------------------------------------- any graph, any joins
def arbitrary(seed: int) -> Net:
    """May deadlock or run into the iteration limit, but never hangs unnamed."""
    rng = random.Random(seed)
    size = rng.randrange(3, 9)
    joins = [ALL, XOR, ANY, at_least(2), INC, DIA]
    nodes, edges = [Node("n0", "start")], []
    for i in range(1, size):
        kind = rng.choice(["task", "route"])
        join = rng.choice(joins)
        split = rng.choice(["all", "first", "every"])
        max_iter = rng.choice([None, 2])
        nodes.append(Node(f"n{i}", kind, join=join, split=split, no_match="end", max_iter=max_iter, out=(f"x_n{i}",)))
    for k in range(rng.randrange(size, 2 * size + 2)):
        src, dst, bit = rng.randrange(size), rng.randrange(1, size), rng.randrange(8)
        guard = None if rng.random() < 0.5 else input_bit(bit)
        role = rng.choice(["plain", "plain", "cond", "skip"]) if src else "start"
        raises = src > 0 and rng.random() < 0.05
        edges.append(Edge(f"e{k}", f"n{src}", f"n{dst}", guard=guard, role=role, raises=raises))
    return Net(tuple(nodes), tuple(edges), max_visits=4)
