"""A net compiled for the kernel: names become numbers, expressions become closures, adjacency is worked out once.

Numbers follow declaration order, which is part of the contract: facts hold numbers, and the order in which ready nodes
fire is the order in which they were declared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.expr import Expression, compile_expression, compile_template
from penstock.net import codec
from penstock.net.graph import NOWHERE, dominates, dominators, sccs
from penstock.net.model import KINDS, Edge, Join, Net, Node

START, END, ROUTE, TASK, WORK, WAIT, CALL, SCOPE, UNDO = range(9)
ALL, K, INCLUSIVE, DIAGRAM = range(4)
SPLIT_ALL, SPLIT_FIRST, SPLIT_EVERY = range(3)
_JOIN = {"all": ALL, "k": K, "inclusive": INCLUSIVE, "diagram": DIAGRAM}
_SPLIT = {"all": SPLIT_ALL, "first": SPLIT_FIRST, "every": SPLIT_EVERY}

#: Epochs are packed above node and edge numbers in the keys of a scope's tables.
EPOCH = 20
MOST = 1 << EPOCH
#: Beyond this epoch a loop controller fails the run: a key would no longer fit into 64 bits.
LAST_EPOCH = (1 << 42) - 1

#: Flags of `settled` that follow from the net: a record is kept; what came before can no longer be done again.
KEEP_RECORD, SEALS = 1, 8

Resolve = Callable[[Mapping[str, Any]], Any]


class CEdge:
    """An edge with its number, its guards compiled, and its place among the ways into its target."""

    __slots__ = (
        "back", "bit", "capacity", "default", "dst", "guard", "id", "no", "port", "pos", "priority", "raises", "role",
        "spec",
        "src", "transform", "ttl", "var",
    )  # fmt: skip

    def __init__(self, no: int, spec: Edge, src: CNode, dst: CNode) -> None:
        self.no, self.spec, self.id, self.src, self.dst = no, spec, spec.id, src, dst
        self.port, self.default, self.raises, self.role = spec.port, spec.default, spec.raises, spec.role
        self.guard = expression(spec.guard)
        self.transform = expression(spec.transform)
        self.ttl, self.capacity, self.priority, self.var = spec.ttl_ms, spec.capacity, spec.priority, spec.var
        self.pos, self.bit, self.back = 0, 1, False


class CNode:
    """A node with its number, its ways in and out, and its expressions compiled."""

    __slots__ = (
        "_reach", "absorb", "again", "approve_if", "args", "args_static", "back_mask", "branches", "calls",
        "candidates",
        "capped", "cond_mask", "conditions",
        "conditional", "cyclic", "depth",
        "effect", "entry", "fail_if", "flags", "full", "fused", "group", "head", "id", "ins", "items", "job", "join",
        "k", "keep", "kind", "label",
        "lone", "match", "max_iter", "merge", "named_ins", "net", "no", "only_if", "order", "outs", "pass_on",
        "pool",
        "plain_mask", "plain_out",
        "port", "ports", "priority", "prompt", "ranked", "result", "scope", "secretive", "sets", "skip_mask",
        "spec", "split", "start_mask", "take_all",
        "transforms", "trigger_at", "trigger_filter", "trigger_name", "trigger_value", "undo", "undo_if", "until",
        "value", "value_static", "watching",
    )  # fmt: skip

    def __init__(self, no: int, spec: Node, net: Compiled) -> None:
        self.no, self.spec, self.net, self.id, self.kind = no, spec, net, spec.id, KINDS.index(spec.kind)
        self.label = spec.label or spec.id
        self.scope = spec.scope
        self.priority, self.group, self.max_iter, self.result = spec.priority, spec.group, spec.max_iter, spec.result
        self.pool = spec.pool
        join: Join = spec.join
        self.join, self.k, self.take_all = _JOIN[join.mode], join.k, join.take == "all"
        self.absorb = join.mode == "k" and join.late == "absorb"
        self.merge = join.mode == "k" and join.k == 1 and join.late == "fire" and join.take == "one"
        if self.kind == END and join.mode != "diagram" and join.take == "one":
            self.join, self.k, self.absorb, self.merge = K, 1, False, True
        self.split = _SPLIT[spec.split]
        self.sets = tuple((s.name, _must(s.expr).run if s.expr else value(s.value)[1]) for s in spec.sets)
        self.only_if = expression(spec.only_if)
        self.port = expression(spec.port)
        self.value_static, self.value = value(spec.value)
        effect = spec.effect
        self.effect = effect
        #: A run of its own does it; its end is the outcome.
        self.calls = self.kind == CALL or effect is not None and effect.executor == "call"
        #: A worker outside does it.
        self.job = effect is not None and effect.executor == "job"
        self.args_static, self.args = value(effect.args) if effect is not None else (True, _const(None))
        #: Its arguments hold references to secrets, in the run's own mark.
        args = effect.args if effect is not None else None
        self.secretive = any("secrets" in x.roots for x in expressions_of(args))
        work = spec.work
        _, self.prompt = value(work.prompt if work is not None else None)
        _, self.candidates = value(work.candidates if work is not None else None)
        self.approve_if = expression(work.approve_if if work is not None else None)
        self.until = expression(spec.poll.until if spec.poll else spec.body.until if spec.body else None)
        self.fail_if = expression(spec.poll.fail_if if spec.poll else None)
        self.match = tuple(expression(t.match) for t in spec.triggers)
        self.conditions = tuple(i for i, t in enumerate(spec.triggers) if t.kind == "condition")
        self.trigger_at = tuple(expression(t.at) for t in spec.triggers)
        self.trigger_name = tuple(compile_template(t.name) if "${" in t.name else None for t in spec.triggers)
        self.trigger_value = tuple(value(t.value)[1] for t in spec.triggers)
        self.trigger_filter = tuple(value(t.filter)[1] for t in spec.triggers)
        body = spec.body
        self.items = expression(body.items if body else None)
        self.again = expression(body.again if body else None)
        self.entry: CNode | None = None
        self.branches: tuple[tuple[str, CNode, Expression | None, bool | None], ...] = ()
        self.undo: tuple[CNode, ...] = ()
        self.undo_if = expression(spec.undo_if)
        self.depth = 0  # how many scopes lie around it
        self.ins: tuple[CEdge, ...] = ()
        self.outs: tuple[CEdge, ...] = ()
        self.ports: dict[str, tuple[CEdge, ...]] = {}
        self.keep = True
        self.flags = 0  # of the fact that settles one of its firings
        self._reach: tuple[list[int], list[int]] | None = None

    def at_limit(self, rounds: int) -> bool:
        """Has it fired as often as it may? A limit of one outside a loop is no limit anybody has reached (D-X.5)."""
        return self.max_iter is not None and rounds >= self.max_iter and (self.cyclic or self.max_iter > 1)

    def wire(self, ins: tuple[CEdge, ...], outs: tuple[CEdge, ...]) -> None:
        self.ins, self.outs = ins, outs
        for pos, edge in enumerate(ins):
            edge.pos, edge.bit = pos, 1 << pos
        for edge in outs:
            self.ports[edge.port] = (*self.ports.get(edge.port, ()), edge)
        self.full = (1 << len(ins)) - 1
        self.start_mask, self.plain_mask = _mask(ins, "start"), _mask(ins, "plain", "start")
        self.cond_mask, self.skip_mask = _mask(ins, "cond"), _mask(ins, "skip")
        #: One way in, nothing to compare: a token there is enough.
        self.lone = len(ins) == 1 and not self.absorb and (self.join != K or self.k == 1)
        #: A control node that can fire and settle in one fact.
        self.pass_on = (
            self.kind in (START, ROUTE, END)
            and not self.spec.triggers
            and (self.kind != END or not self.spec.ends)
            and self.only_if is None
        )
        done = self.ports.get("done", ())
        self.plain_out = (
            done[0]
            if len(done) == 1
            and done[0].guard is None
            and done[0].transform is None
            and not done[0].default
            and self.port is None
            and not self.sets
            and not self.spec.out
            and self.result is None
            else None
        )
        self.capped = any(e.capacity is not None for e in outs)
        self.conditional = any(e.role == "cond" for e in outs)
        self.transforms = any(e.transform is not None for e in outs)
        self.ranked = any(e.priority != 1000 for e in ins)
        self.named_ins = tuple(e for e in ins if e.var)

    def finish(self, component: list[int], idom: list[int]) -> None:
        """What needs the whole graph: back edges, loop heads, cycles."""
        for edge in self.ins:
            # an edge that nothing leads to can never be required
            edge.back = idom[edge.src.no] == NOWHERE or dominates(idom, self.no, edge.src.no)
        self.back_mask = sum(e.bit for e in self.ins if e.back)
        self.head = self.join == DIAGRAM and self.back_mask != 0
        self.cyclic = any(component[e.src.no] == component[self.no] for e in self.ins)
        #: The join must be asked again when something else in its scope moves.
        self.watching = self.join == INCLUSIVE and len(self.ins) > 1 or self.head
        #: A token for this node may be born and eaten in one fact.
        self.fused = (
            self.lone
            and self.kind != UNDO
            and not self.pool
            and not self.head
            and not self.capped
            and self.spec.join_timeout_ms is None
            and self.ins[0].ttl is None
            and self.ins[0].transform is None
            and self.ins[0].capacity is None
            and not self.ins[0].raises
        )

    def reach(self) -> tuple[list[int], list[int]]:
        """For every edge and every node: a bitset of this node's in-edges that something there can still reach without
        passing this node. Worked out on first use, by propagating bitsets backwards to a fixed point."""
        if self._reach is None:
            net = self.net
            at = [0] * len(net.nodes)
            todo = []
            for edge in self.ins:
                if edge.src is not self and not at[edge.src.no] & edge.bit:
                    at[edge.src.no] |= edge.bit
                    todo.append(edge.src)
            while todo:
                node = todo.pop()
                bits = at[node.no]
                for edge in node.ins:
                    before = edge.src
                    if before is not self and at[before.no] | bits != at[before.no]:
                        at[before.no] |= bits
                        todo.append(before)
            along = [0 if e.dst is self else at[e.dst.no] for e in net.edges]
            self._reach = (along, at)
        return self._reach

    def __repr__(self) -> str:
        return f"<node {self.id}>"


class Compiled:
    """The net as the kernel sees it."""

    __slots__ = (
        "aliases", "by_id", "cores", "edge_by_id", "edges", "has_jobs", "hash", "known", "limits", "net", "nodes",
        "on_fail", "on_stuck",
        "pools", "starts",
        "undo_policy", "grouped", "queued",
    )  # fmt: skip

    def __init__(self, net: Net) -> None:
        self.net, self.hash = net, codec.content_hash(net)
        self.nodes = tuple(CNode(i, n, self) for i, n in enumerate(net.nodes))
        self.by_id = {n.id: n for n in self.nodes}
        self.has_jobs = any(n.job for n in self.nodes)
        self.edges = tuple(CEdge(i, e, self.by_id[e.src], self.by_id[e.dst]) for i, e in enumerate(net.edges))
        self.edge_by_id = {e.id: e for e in self.edges}
        self.limits = dict(net.limits)
        self.pools = net.pools
        self.on_fail, self.on_stuck, self.undo_policy = net.on_fail, net.on_stuck, net.undo_policy
        self.grouped, self.queued = net.undo_policy == "group", net.queued
        #: the inner node of one that was lowered to two: it speaks for it as long as the other has not fired
        self.cores = {n.spec.origin: n for n in self.nodes if n.spec.origin and n.id == f"{n.spec.origin}.do"}
        self.aliases = {alias: self.by_id[node] for alias, node in net.declares.aliases.items() if node in self.by_id}
        self.known = (
            {name for n in net.nodes for name in n.out}
            | set(net.declares.variables)
            | {s.name for n in net.nodes for s in n.sets}
        )
        self._wire()
        self.starts = tuple(n for n in self.nodes if not n.scope and not n.ins and not n.spec.off_path)
        self._keep()

    def _wire(self) -> None:
        ins: list[list[CEdge]] = [[] for _ in self.nodes]
        outs: list[list[CEdge]] = [[] for _ in self.nodes]
        for edge in self.edges:
            ins[edge.dst.no].append(edge)
            outs[edge.src.no].append(edge)
        for node in self.nodes:
            node.wire(tuple(ins[node.no]), tuple(outs[node.no]))
            body = node.spec.body
            if body is not None:
                node.entry = self.by_id.get(body.entry)
                node.branches = tuple(
                    (b.key, self.by_id[b.entry], expression(b.guard), b.required) for b in body.branches
                )
            node.undo = tuple(self.by_id[u] for u in node.spec.undo)
        succ = [[e.dst.no for e in n.outs] for n in self.nodes]
        pred = [[e.src.no for e in n.ins] for n in self.nodes]
        roots = [n.no for n in self.nodes if not n.ins]
        idom = dominators(len(self.nodes), succ, pred, roots)
        component = sccs(len(self.nodes), succ)
        for node in self.nodes:
            depth, scope = 0, node.scope
            while scope:
                depth, scope = depth + 1, self.by_id[scope].scope
            node.depth = depth
            node.finish(component, idom)

    def _keep(self) -> None:
        """Keep a node's last record in the state only if something may ask for it."""
        roots: set[str] = set()
        dynamic = False
        for read in self._expressions():
            roots |= read.roots
            dynamic = dynamic or "get_variable" in read.functions or bool({"nodes", "branches"} & read.roots)
        asked = {self.aliases[r].id for r in roots if r in self.aliases}
        for node in self.nodes:
            named = node.id in roots or node.id in asked
            named = named or node.spec.origin in roots and self.cores.get(node.spec.origin) is node
            node.keep = dynamic or named or node.max_iter is not None or node.port is not None
            node.flags = KEEP_RECORD if node.keep else 0
            if node.kind == CALL and self.net.tracks_origin:
                node.flags |= SEALS

    def _expressions(self) -> list[Expression]:
        expressions: list[Expression] = []
        for edge in self.edges:
            expressions += [x for x in (edge.guard, edge.transform) if x is not None]
        for node in self.nodes:
            single = (
                node.port, node.until, node.fail_if, node.items, node.again, node.undo_if, node.approve_if,
                node.only_if,
            )  # fmt: skip
            expressions += [x for x in (*single, *node.match, *node.trigger_at, *node.trigger_name) if x is not None]
            expressions += [x for s in node.spec.sets for x in ([_must(s.expr)] if s.expr else expressions_of(s.value))]
            expressions += [g for _, _, g, _ in node.branches if g is not None]
            spec = node.spec
            trees = [spec.value, *(tree for t in spec.triggers for tree in (t.value, t.filter))]
            trees += [spec.effect.args] if spec.effect else []
            trees += [spec.work.prompt, spec.work.candidates] if spec.work else []
            for tree in trees:
                expressions += expressions_of(tree)
            if spec.effect is not None:
                for gated in (spec.effect.cache, spec.effect.dedupe, spec.effect.once):
                    if gated is not None:
                        expressions += [_must(gated.key)] if isinstance(gated.key, str) else expressions_of(gated.key)
        return expressions


def _mask(ins: tuple[CEdge, ...], *roles: str) -> int:
    return sum(e.bit for e in ins if e.role in roles)


def expression(text: str | None) -> Expression | None:
    return None if text is None else compile_expression(text, words=True)


def _must(text: str) -> Expression:
    return compile_expression(text, words=True)


def _const(constant: Any) -> Resolve:
    return lambda view: constant


#: the members of an expression in a value tree: its text, and the only members of its value that are wanted
EXPRESSION = frozenset({"$expr", "$only"})


def _some_of(whole: Resolve, names: tuple[str, ...]) -> Resolve:
    def some(view: Any) -> Any:
        members = whole(view)
        return {name: members[name] for name in names if name in members} if isinstance(members, dict) else members

    return some


def _is_literal(tree: Any) -> bool:
    if type(tree) is dict:
        named = "$expr" in tree or "$template" in tree  # perhaps: whoever asks looks closer
        return not named and all(_is_literal(part) for part in tree.values())
    return type(tree) not in (list, tuple) or all(_is_literal(part) for part in tree)


_NOTHING = (True, _const(None))


def value(tree: Any) -> tuple[bool, Resolve]:
    """Whether a value tree is literal, and a function that yields its value for a view."""
    if tree is None:
        return _NOTHING
    if _is_literal(tree):
        return True, _const(tree)
    if type(tree) is dict:
        if "$expr" in tree and tree.keys() <= EXPRESSION:
            whole = _must(tree["$expr"])
            return False, _some_of(whole, tuple(tree["$only"])) if "$only" in tree else whole
        if len(tree) == 1:
            if "$template" in tree:
                return False, compile_template(tree["$template"])
        parts = {k: value(v) for k, v in tree.items()}
        if all(static for static, _ in parts.values()):
            return True, _const(tree)
        return False, lambda view: {k: f(view) for k, (_, f) in parts.items()}
    if type(tree) in (list, tuple):
        items = [value(v) for v in tree]
        if all(static for static, _ in items):
            return True, _const(tree)
        return False, lambda view: [f(view) for _, f in items]
    return True, _const(tree)


def expressions_of(tree: Any) -> list[Expression]:
    """Every expression inside a value tree."""
    if type(tree) is dict:
        if "$expr" in tree and tree.keys() <= EXPRESSION:
            return [_must(tree["$expr"])]
        if len(tree) == 1 and "$template" in tree:
            return [compile_template(tree["$template"])]
        return [x for v in tree.values() for x in expressions_of(v)]
    if type(tree) in (list, tuple):
        return [x for v in tree for x in expressions_of(v)]
    return []
