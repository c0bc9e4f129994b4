"""Joins that can no longer fill: which branch is missed, by the tokens that rest and by what a deadlock has told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.app.runs.waiting.wait_context import Followup, WaitContext, WaitReason
from penstock.kernel.fact import ENTERED, USED_START
from penstock.kernel.state import OPEN, Scope
from penstock.net.author import author
from penstock.net.compiled import ALL, DIAGRAM, EPOCH, MOST, CNode, K


def dead_joins(context: WaitContext) -> Iterator[WaitReason]:
    """While something else still works: a token rests before a join, and nothing live in its scope can reach what the
    join misses. Costs the tokens at rest times the live things of their scope."""
    st, edges = context.st, context.net.edges
    for scope in st.scopes.values():
        if scope.status != OPEN or not scope.tokens:
            continue
        held: dict[tuple[int, int], tuple[int, int]] = {}  # node and epoch → marks, oldest token
        for place, queue in scope.tokens.items():
            edge, epoch = edges[place & (MOST - 1)], place >> EPOCH
            if not edge.dst.lone and queue:
                marks, born = held.get((edge.dst.no, epoch), (0, queue[0].envelope.at))
                held[edge.dst.no, epoch] = (marks | edge.bit, min(born, queue[0].envelope.at))
        for (no, epoch), (marks, born) in held.items():
            node = context.net.nodes[no]
            missing = _unreachable(context, node, scope, marks)
            if missing:
                yield _dead(context, node, scope, epoch, missing, born)


def _dead(context: WaitContext, node: CNode, scope: Scope, epoch: int, missing: int, since: int) -> WaitReason:
    rings = [
        t.due for t in context.st.timers.values() if t.why == "join_wait" and list(t.data) == [scope.no, node.no, epoch]
    ]
    due = min(rings, default=None)
    return WaitReason(
        rank=4, kind="dead_join", node=author(node), label=context.label(node), what=_branches(node, missing),
        since=since or None, until=due, then=None if due is None else Followup("fail"), move="resolve",
    )  # fmt: skip


def _unreachable(context: WaitContext, node: CNode, scope: Scope, marks: int) -> int:
    """The in-edges that the join needs and nothing can reach, when it cannot fill without them."""
    needs = _needs(node, scope, marks)
    if not needs:
        return 0
    along, at = node.reach()
    coming = 0
    for place in scope.tokens:
        coming |= along[place & (MOST - 1)]
    for firing in context.st.firings.values():
        if firing.scope == scope.no and firing.comp < 0:
            coming |= node.full if firing.node == node.no and node.cyclic else at[firing.node]
    gone = needs & ~coming
    if node.join == K and (marks | needs & coming).bit_count() >= node.k:
        return 0
    return gone


def _needs(node: CNode, scope: Scope, marks: int) -> int:
    """What a join waits for, whatever comes. An inclusive one waits for nobody who cannot come."""
    if node.join in (ALL, K):
        return node.full & ~marks
    if node.join != DIAGRAM:
        return 0
    used = scope.used.get(node.no, 0)
    missing = node.plain_mask & ~marks
    if used & USED_START:
        missing &= ~node.start_mask
    if node.head:
        missing = 0 if used & ENTERED else missing & ~node.back_mask
    return missing


def _branches(node: CNode, missing: int) -> str:
    """The nodes from which nothing comes any more, as their author knows them."""
    return ", ".join(dict.fromkeys(author(edge.src) for edge in node.ins if edge.bit & missing))


def reported_joins(context: WaitContext, detail: Any, since: int | None) -> Iterator[WaitReason]:
    """Of a deadlock that the kernel has named: nodes with what they hold and what they miss."""
    for join in detail if isinstance(detail, list | tuple) else ():
        node = context.net.by_id.get(join.get("node", "")) if isinstance(join, dict) else None
        if node is None or not (join.get("missing") or join.get("full")):
            continue
        ways = [context.net.edge_by_id[id] for id in join.get("missing", ()) if id in context.net.edge_by_id]
        branches = ", ".join(dict.fromkeys(author(way.src) for way in ways)) or None
        full = join.get("full")
        yield WaitReason(
            rank=4, kind="dead_join", node=author(node), label=context.label(node), since=since, code="DEADLOCK",
            what=", ".join(full) if full and not branches else branches,
        )  # fmt: skip
