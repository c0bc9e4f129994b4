"""Plans the migration of a running run to another net: what moves where, and which obstacles there are."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from penstock.kernel.state import EFFECT, OPEN, Firing, Scope, State
from penstock.net.compiled import EPOCH, MOST, CNode, Compiled


class Plan(msgspec.Struct):
    """Numbers that change, old to new; -1 for what has no image and is not in use."""

    nodes: list[list[int]]
    edges: list[list[int]]
    obstacles: list[str]


def plan(
    old: Compiled,
    new: Compiled,
    st: State,
    nodes: dict[str, str],
    edges: dict[str, str],
    puts: Sequence[str] = (),
    drops: Sequence[str] = (),
) -> Plan:
    """By id, then by the author's table; tokens are put on edges of the new net and dropped from edges of the old."""
    obstacles = [f"there is no edge «{id}» to put a token on" for id in puts if id not in new.edge_by_id]
    node_of = {n.no: _number(new.by_id.get(nodes.get(n.id, n.id))) for n in old.nodes}
    edge_of = {e.no: _number(new.edge_by_id.get(edges.get(e.id, e.id))) for e in old.edges}
    images: dict[tuple[int, int, int], str] = {}
    for scope in st.scopes.values():
        obstacles += _branch_obstacles(old, new, st, scope, node_of)
        for place in scope.tokens:
            edge = old.edges[place & (MOST - 1)]
            image = edge_of[edge.no]
            if edge.id in drops:
                continue
            if image < 0:
                obstacles.append(f"a token rests on edge «{edge.id}», which is gone")
            elif nodes.get(edge.dst.scope, edge.dst.scope) != new.edges[image].dst.scope:
                obstacles.append(f"a token rests on edge «{edge.id}», which lies in another scope now")
            elif images.setdefault((scope.no, place >> EPOCH, image), edge.id) != edge.id:
                obstacles.append(f"tokens of two edges would lie on «{new.edges[image].id}»")
    working: dict[tuple[int, int, int], str] = {}
    for firing in st.firings.values():
        was = old.nodes[firing.node]
        image = node_of[was.no]
        if image < 0:
            obstacles.append(f"«{was.id}» is at work and is gone")
        else:
            obstacles += _firing_obstacles(was, new.nodes[image], nodes, firing.phase == EFFECT)
            obstacles += _place_obstacles(new, new.nodes[image], firing)
            if working.setdefault((firing.scope, firing.epoch, image), was.id) != was.id:
                obstacles.append(f"two nodes at work would both be «{new.nodes[image].id}»")
    failed = [*st.parked.values(), *([] if st.reopen is None else [st.reopen])]
    holders = [(f.node, f.takes) for f in st.firings.values()] + [(was.node, was.takes) for was in failed]
    for node, takes in holders:
        for taken in takes:
            if edge_of[taken.edge] < 0:
                edge_of[taken.edge] = _any_edge(new, node_of[node])
    for entry in st.ledger:
        image = node_of[entry.node]
        undone = bool(old.nodes[entry.node].undo)  # what waits for a review is booked all the same
        if entry.status == "open" and (image < 0 or undone and not new.nodes[image].undo):
            obstacles.append(f"«{old.nodes[entry.node].id}» could no longer be undone")
    if st.undo is not None:
        obstacles.append("the run is compensating")
    return Plan(
        [[a, b] for a, b in node_of.items() if a != b], [[a, b] for a, b in edge_of.items() if a != b], obstacles
    )


def _branch_obstacles(old: Compiled, new: Compiled, st: State, scope: Scope, node_of: dict[int, int]) -> list[str]:
    """An open branch must still be there, or nobody could ever retry it."""
    firing = st.firings.get(scope.firing)
    if not scope.no or scope.status != OPEN or firing is None or node_of[firing.node] < 0:
        return []
    was, to = old.nodes[firing.node], new.nodes[node_of[firing.node]]
    keys = {key for key, *_ in to.branches}
    if was.branches and scope.key not in keys:
        return [f"branch «{scope.key}» of «{was.id}» is open and is gone"]
    return []


def _firing_obstacles(was: CNode, to: CNode, nodes: dict[str, str], in_flight: bool) -> list[str]:
    out = []
    if was.kind != to.kind:
        out.append(f"«{was.id}» is at work and is of another kind now")
    if nodes.get(was.scope, was.scope) != to.scope:
        out.append(f"«{was.id}» is at work and lies in another scope now")
    kinds = [t.kind for t in was.spec.triggers]
    if [t.kind for t in to.spec.triggers][: len(kinds)] != kinds:
        out.append(f"a trigger of «{was.id}» is armed and is gone")
    if in_flight and was.effect is not None and (to.effect is None or to.effect.executor != was.effect.executor):
        out.append(f"an effect of «{was.id}» is in flight and has another executor now")
    if was.spec.body is not None and to.spec.body is not None and was.spec.body.mode != to.spec.body.mode:
        out.append(f"scope «{was.id}» is open and has another mode now")
    return out


def _place_obstacles(new: Compiled, to: CNode, firing: Firing) -> list[str]:
    if not firing.place or firing.phase != EFFECT:
        return []
    pool = new.pools.get(to.pool)
    return [] if pool is not None and firing.place in pool.places else [f"«{firing.place}» is at work and is gone"]


def _any_edge(new: Compiled, node: int) -> int:
    """What a firing took is kept for its inputs; if its edge is gone, any way into the node names it."""
    ins = new.nodes[node].ins
    return ins[0].no if ins else 0


def _number(thing: object) -> int:
    return getattr(thing, "no", -1)


def inverse(pairs: list[list[int]]) -> list[list[int]]:
    return [[b, a] for a, b in pairs if b >= 0]
