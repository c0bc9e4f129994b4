"""Readiness: which node may take which tokens (KERNEL 3)."""

from __future__ import annotations

from tests.model.net import Edge, Node
from tests.model.state import place


class Readiness:
    """Questions about the marking; a part of Turn."""

    def tokens_on(self, edge: str, scope: str, epoch: int) -> list[dict]:
        """Oldest first."""
        here = (edge, scope, epoch)
        found = [t for t in self.state["tokens"].values() if (t["edge"], t["scope"], t["epoch"]) == here]
        return sorted(found, key=lambda t: t["seq"])

    def lying_before(self, node: str, scope: str, epoch: int) -> list[dict]:
        return [t for e in self.net.ins[node] for t in self.tokens_on(e.id, scope, epoch)]

    def visits(self, node: str, scope: str, epoch: int) -> int:
        return self.state["visits"].get(place(node, scope, epoch), 0)

    def rounds(self, node: str, scope: str, epoch: int) -> int:
        """How often it has fired since the run was started or restarted."""
        here = place(node, scope, epoch)
        return self.state["visits"].get(here, 0) - self.state["since"].get(here, 0)

    def candidates(self) -> list[tuple[str, str, int]]:
        """(node, scope, epoch) before which a token lies, in the order in which they are asked."""
        best: dict[tuple[str, str, int], int] = {}  # the smallest priority of its marked in-edges
        for token in self.state["tokens"].values():
            edge = self.net.edge[token["edge"]]
            who = (edge.dst, token["scope"], token["epoch"])
            best[who] = min(best.get(who, edge.priority), edge.priority)
        return sorted(best, key=lambda who: self.rank(who, best[who]))

    def rank(self, who: tuple[str, str, int], edge_priority: int) -> tuple:
        node, scope, epoch = who
        number = self.state["scopes"][scope]["number"]
        return (self.net.node[node].priority, edge_priority, self.net.order[node], number, epoch)

    # ---- what keeps a ready node from firing
    def held(self, node: Node, scope: str, epoch: int) -> bool:
        return self.held_outside(node) or bool(self.full_edges(node.id, scope, epoch))

    def held_outside(self, node: Node) -> bool:
        """By something that may lie in another scope: a full group; an undo node waits for the undo in progress."""
        limit = dict(self.net.limits).get(node.group)
        full = bool(node.group) and limit is not None and self.in_flight(node.group) >= limit
        return full or (node.kind == "undo" and self.state["undo"] is not None)

    def in_flight(self, group: str) -> int:
        counted = ("run", "effect", "backoff", "suspended")
        firings = self.state["firings"].values()
        return sum(1 for f in firings if self.net.node[f["node"]].group == group and f["phase"] in counted)

    def full_edges(self, node: str, scope: str, epoch: int) -> list[str]:
        """Out-edges, of any port, that hold as many tokens as they may where this node would put."""
        bounded = [e for e in self.net.outs[node] if e.capacity is not None]
        return [e.id for e in bounded if len(self.tokens_on(e.id, scope, epoch + e.raises)) >= e.capacity]

    def at_max(self, node: Node, scope: str, epoch: int) -> bool:
        return node.max_iter is not None and self.rounds(node.id, scope, epoch) >= node.max_iter

    # ---- reachability
    def can_reach(self, join: str, edge: str, scope: str, debt: tuple[str, int] | None = None) -> bool:
        """May anything live in the scope still put a token on this in-edge without passing the join?

        With a debt (key, visit): things that passed the join at that visit do not count.
        """
        bits, nodes = self.net.reach[join][edge]

        def counts(thing: dict) -> bool:
            return thing["scope"] == scope and not (debt and thing["passed"].get(debt[0], 0) >= debt[1])

        for token in self.state["tokens"].values():
            if counts(token) and token["edge"] != edge and bits >> self.net.edge_order[token["edge"]] & 1:
                return True
        firings = self.state["firings"].values()
        return any(counts(f) and f["comp"] is None and f["node"] in nodes for f in firings)

    def blockers(self, join: str, marked: set[str], scope: str) -> list[dict]:
        """BPMN 2.0.2 table 13.3: a live thing blocks when it can reach an unmarked in-edge and no marked one."""
        bits = {True: 0, False: 0}
        nodes: dict[bool, set[str]] = {True: set(), False: set()}
        for edge in self.net.ins[join]:
            edge_bits, edge_nodes = self.net.reach[join][edge.id]
            bits[edge.id in marked] |= edge_bits
            nodes[edge.id in marked] |= edge_nodes
        blocking_bits = bits[False] & ~bits[True]
        blocking_nodes = nodes[False] - nodes[True]
        own = {e.id for e in self.net.ins[join]}
        tokens = [t for t in self.state["tokens"].values() if t["scope"] == scope and t["edge"] not in own]
        firings = [f for f in self.state["firings"].values() if f["scope"] == scope and f["comp"] is None]
        return [t for t in tokens if blocking_bits >> self.net.edge_order[t["edge"]] & 1] + [
            f for f in firings if f["node"] in blocking_nodes
        ]

    # ---- the joins
    def ready(self, node: Node, scope: str, epoch: int, relaxed: bool = False) -> list[dict] | None:
        """The tokens this node would take now, or None."""
        ins = self.net.ins[node.id]
        join = node.join
        have = {e.id: self.tokens_on(e.id, scope, epoch) for e in ins}
        if not any(have.values()):
            return None
        if join.mode == "all" and not all(have.values()):
            return None
        if join.mode == "k":
            if sum(1 for e in ins if have[e.id]) < join.k:
                return None
            if join.k == 1 and join.late == "fire" and join.take == "one":  # plain merge: one token, one firing
                return [min((t for tokens in have.values() for t in tokens), key=lambda t: t["n"])]
        if join.mode == "inclusive" and not self.ready_inclusive(node, have, scope, relaxed):
            return None
        if join.mode == "diagram" and not self.ready_diagram(node, have, scope, epoch, relaxed):
            return None
        return [t for e in ins for t in (have[e.id] if join.take == "all" else have[e.id][:1])]

    def ready_inclusive(self, node: Node, have: dict, scope: str, relaxed: bool) -> bool:
        if len(self.net.ins[node.id]) < 2:
            return True
        blockers = self.blockers(node.id, {edge for edge, tokens in have.items() if tokens}, scope)
        if not blockers:
            return True
        return relaxed and all("edge" in b and self.rests_at_inclusive(b) for b in blockers)

    def rests_at_inclusive(self, token: dict) -> bool:
        return self.net.node[self.net.edge[token["edge"]].dst].join.mode == "inclusive"

    def ready_diagram(self, node: Node, have: dict, scope: str, epoch: int, relaxed: bool) -> bool:
        """KERNEL 3.5."""
        ins = self.net.ins[node.id]
        if self.state["start_used"].get(f"{node.id}|{scope}"):
            ins = [e for e in ins if e.role != "start"]
        required = [e for e in ins if e.role in ("plain", "start") and (have[e.id] or not self.optional(e, scope))]
        conditions = [e for e in ins if e.role == "cond"]
        skippable = [e for e in ins if e.role == "skip"]
        if not all(have[e.id] for e in required):
            return False
        for edge in conditions:
            decided = have[edge.id] or self.state["dead"].get(place(edge.id, scope, epoch))
            if not (decided or relaxed or self.net.is_back(edge)):
                return False
        some = required or any(have[e.id] for e in conditions) or any(have[e.id] for e in skippable)
        return bool(some) and any(have[e.id] for e in ins)

    def optional(self, edge: Edge, scope: str) -> bool:
        """An unmarked plain edge of a loop head is not always required."""
        if not self.net.is_head(edge.dst):
            return False
        if self.state["entered"].get(f"{edge.dst}|{scope}"):
            return not self.can_reach(edge.dst, edge.id, scope)
        return self.net.is_back(edge)
