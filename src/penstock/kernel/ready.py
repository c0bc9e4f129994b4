"""Readiness: may this node fire, and which tokens would it take? (KERNEL.md 3)

Two tokens on one edge never count as two edges: marks are bits, one per in-edge. A join that waits for something
elsewhere in its scope names one thing that holds it back and is asked again when that thing has moved.
"""

from __future__ import annotations

from typing import Any

from penstock.kernel import fact as F
from penstock.kernel.run import Candidate, Run
from penstock.kernel.state import Scope, key
from penstock.net.compiled import ALL, DIAGRAM, EPOCH, INCLUSIVE, MOST, CNode, K


def ready(r: Run, node: CNode, scope: Scope, epoch: int, relaxed: bool = False) -> list[int] | None:
    """Edges to take from, one entry per token, or None."""
    if node.lone:
        queue = scope.tokens.get(key(node.ins[0].no, epoch))
        if queue is None:
            return None
        return [node.ins[0].no] * len(queue) if node.take_all else [node.ins[0].no]
    marks = r.marks.get((scope.no, node.no, epoch), 0)
    if not marks:
        return None
    join = node.join
    if join == ALL:
        if marks != node.full:
            return None
    elif join == K:
        if marks.bit_count() < node.k:
            return None
        if node.merge:
            return [_oldest(node, scope, epoch, marks)]
    elif join == INCLUSIVE:
        if not _inclusive(r, node, scope, epoch, marks, relaxed):
            return None
    elif join == DIAGRAM and not _diagram(r, node, scope, epoch, marks, relaxed):
        return None
    return _taken(node, scope, epoch, marks)


def _taken(node: CNode, scope: Scope, epoch: int, marks: int) -> list[int]:
    """As `tokens_at`, by the marks: a wide join is not walked for the few edges that hold something."""
    if marks == node.full:
        return tokens_at(node, scope, epoch)
    takes = []
    while marks:
        low = marks & -marks
        edge = node.ins[low.bit_length() - 1].no
        takes += [edge] * len(scope.tokens[key(edge, epoch)]) if node.take_all else [edge]
        marks ^= low
    return takes


def tokens_at(node: CNode, scope: Scope, epoch: int) -> list[int]:
    """What lies before a node: all of it, or the oldest of each marked edge."""
    takes = []
    for edge in node.ins:
        queue = scope.tokens.get(key(edge.no, epoch))
        if queue is not None:
            takes += [edge.no] * len(queue) if node.take_all else [edge.no]
    return takes


def _oldest(node: CNode, scope: Scope, epoch: int, marks: int) -> int:
    best, born = -1, -1
    while marks:
        low = marks & -marks
        edge = node.ins[low.bit_length() - 1].no
        first = scope.tokens[key(edge, epoch)][0].born
        if best < 0 or first < born:
            best, born = edge, first
        marks ^= low
    return best


def _inclusive(r: Run, node: CNode, scope: Scope, epoch: int, marks: int, relaxed: bool) -> bool:
    """Ready when no live thing can reach an unmarked in-edge and no marked one (BPMN 2.0.2 with its second half)."""
    along, at = node.reach()
    edges = r.net.edges
    here = (scope.no, node.no, epoch)
    if not relaxed and _still_blocks(r, scope, r.blockers.get(here), along, at, marks):
        return _wait_for(r, node, scope, epoch, r.blockers[here])  # it may have moved, and something come in its place
    for no, firing in r.by_scope.get(scope.no, {}).items():
        reached = at[firing.node]
        if reached and not reached & marks and firing.comp < 0:
            r.blockers[here] = no
            return _wait_for(r, node, scope, epoch, no)
    for place in scope.tokens:
        edge = edges[place & (MOST - 1)]
        if edge.dst is not node:
            reached = along[edge.no]
            if reached and not reached & marks and not (relaxed and edge.dst.join == INCLUSIVE):
                r.blockers[here] = (scope.no, edge.no)
                return _wait_for(r, node, scope, epoch, (scope.no, edge.no))
    r.blockers.pop(here, None)
    return True


def _still_blocks(r: Run, scope: Scope, blocker: Any, along: list[int], at: list[int], marks: int) -> bool:
    """What held the join back when it was asked last is still there and can still not reach a marked edge."""
    if blocker is None:
        return False
    if type(blocker) is int:
        firing = r.st.firings.get(blocker)
        return firing is not None and firing.scope == scope.no and not at[firing.node] & marks
    return blocker[1] in scope.tokens and not along[blocker[1]] & marks


def _diagram(r: Run, node: CNode, scope: Scope, epoch: int, marks: int, relaxed: bool) -> bool:
    """D-X.2 as KERNEL.md 3.5 sharpens it."""
    used = scope.used.get(node.no, 0)
    allowed = node.full & ~node.start_mask if used & F.USED_START else node.full
    missing = node.plain_mask & allowed & ~marks
    if missing and node.head:
        if not used & F.ENTERED:
            missing &= ~node.back_mask
        else:
            blocker = _reacher(r, node, scope, missing)
            if blocker is not None:
                return _wait_for(r, node, scope, epoch, blocker)
            missing = 0
    if missing:
        return False
    undecided = node.cond_mask & ~marks & ~node.back_mask
    if undecided and not relaxed:
        for edge in node.ins:
            if edge.bit & undecided and key(edge.no, epoch) not in scope.dead:
                return False
    return bool(marks & allowed)


def _reacher(r: Run, node: CNode, scope: Scope, missing: int) -> Any:
    """Something live in the scope that can still reach one of these in-edges without passing the node."""
    along, at = node.reach()
    edges = r.net.edges
    for place in scope.tokens:
        edge = edges[place & (MOST - 1)]
        if along[edge.no] & missing:
            return (scope.no, edge.no)
    for no, firing in r.by_scope.get(scope.no, {}).items():
        if at[firing.node] & missing and firing.comp < 0:
            return no
    return None


def _wait_for(r: Run, node: CNode, scope: Scope, epoch: int, blocker: Any) -> bool:
    candidate: Candidate = (node.priority, r.edge_priority(node, scope, epoch), node.no, scope.no, epoch)
    waiting = r.watch.setdefault(blocker, [])
    if candidate not in waiting:
        waiting.append(candidate)
    return False


def debts(r: Run, node: CNode, scope: Scope, epoch: int, takes: list[int], visit: int) -> list[int]:
    """The in-edges whose late tokens a firing k-join will absorb: those that something live can still reach."""
    had = set(takes)
    want = 0
    for edge in node.ins:
        if edge.no not in had:
            want |= edge.bit
    return _holders(r, node, scope, key(node.no, epoch), visit, want)


def _holders(r: Run, node: CNode, scope: Scope, at_key: int, visit: int, want: int) -> list[int]:
    """Which of these in-edges can still get a token that has not passed the join since that visit? Each one found is
    watched: it is looked at again when the thing that can reach it has moved."""
    along, at = node.reach()
    edges = r.net.edges
    holders = []
    live: list[tuple[Any, int]] = [
        ((scope.no, edges[p & (MOST - 1)].no), along[p & (MOST - 1)])
        for p, queue in scope.tokens.items()
        if along[p & (MOST - 1)] & want and any((t.passed or {}).get(at_key, 0) < visit for t in queue)
    ]
    for no, firing in r.by_scope.get(scope.no, {}).items():
        if at[firing.node] & want and firing.comp < 0 and (firing.passed or {}).get(at_key, 0) < visit:
            live.append((no, at[firing.node]))
    for blocker, reached in live:
        hit = reached & want
        want &= ~reached
        while hit:
            low = hit & -hit
            edge = node.ins[low.bit_length() - 1].no
            holders.append(edge)
            r.owing.setdefault(blocker, []).append((scope.no, at_key, visit, edge))
            hit ^= low
        if not want:
            break
    return sorted(holders)


def release_debts(r: Run) -> bool:
    """An owed edge that nothing can reach any more is released, or the next round would lose its first token."""
    doubts = sorted(set(r.unsure))
    r.unsure.clear()
    grouped: dict[tuple[int, int, int], list[int]] = {}
    for scope_no, at_key, visit, edge in doubts:
        grouped.setdefault((scope_no, at_key, visit), []).append(edge)
    released = False
    for (scope_no, at_key, visit), asked in grouped.items():
        scope = r.st.scopes.get(scope_no)
        owed = scope.owed.get(at_key, {}).get(visit) if scope is not None else None
        if scope is None or owed is None:
            continue
        node = r.net.nodes[at_key & (MOST - 1)]
        still = [e for e in asked if e in owed]
        if not still:
            continue
        want = sum(e.bit for e in node.ins if e.no in still)
        held = set(_holders(r, node, scope, at_key, visit, want))
        free = [e for e in still if e not in held]
        if free:
            r.record((F.REARMED, scope_no, at_key, visit, free))
            r.ask(node, scope, at_key >> EPOCH)
            released = True
    return released


def has_room_ahead(r: Run, node: CNode, scope: Scope, epoch: int, candidate: Candidate) -> bool:
    """Back-pressure: a source whose edge is full is not ready."""
    place = full_edge(node, scope, epoch)
    if place is None:
        return True
    r.full.setdefault((scope.no, place), []).append(candidate)
    return False


def full_edge(node: CNode, scope: Scope, epoch: int) -> int | None:
    """The place behind a node that holds as many tokens as it may."""
    for edge in node.outs:
        if edge.capacity is not None:
            place = key(edge.no, epoch + 1 if edge.raises else epoch)
            if len(scope.tokens.get(place, ())) >= edge.capacity:
                return place
    return None
