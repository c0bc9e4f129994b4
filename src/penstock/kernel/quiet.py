"""Quiet: nothing is ready. Empty scopes close, joins relax, deadlocks get a name, the run its status."""

from __future__ import annotations

from typing import Any

from penstock.kernel import fact as F
from penstock.kernel.failure import Failure
from penstock.kernel.firing import fire
from penstock.kernel.flow import JUDGE, join_timer, set_timer
from penstock.kernel.pool import is_stopped, stop_pools
from penstock.kernel.ready import full_edge, ready
from penstock.kernel.retry import scope_failed
from penstock.kernel.run import Candidate, Run
from penstock.kernel.saga import finish_failed
from penstock.kernel.state import CLOSED_DONE, OPEN, RUNNING, STATUS, WAITING, Scope, key
from penstock.net.compiled import DIAGRAM, EPOCH, INCLUSIVE, MOST, UNDO, CNode

#: Expired tokens that a deadlock's message names.
TOLD = 3


def arm_joins(r: Run) -> None:
    """The first token that rests before a node with a join timeout sets its timer."""
    if r.st.draining or r.st.status not in (RUNNING, WAITING):
        return
    for scope_no, node_no, epoch in sorted(r.resting):
        scope = r.st.scopes.get(scope_no)
        node = r.net.nodes[node_no]
        wait = node.spec.join_timeout_ms
        if scope is None or scope.status != OPEN or wait is None or not has_token(r, node, scope, epoch):
            continue
        if not join_timer(r, node, scope, epoch) and not at_max(node, scope, epoch):
            set_timer(r, r.now + wait, "join_wait", 0, [scope_no, node_no, epoch])
    r.resting.clear()


def close_scopes(r: Run) -> bool:
    """Scopes without a firing: empty ones are done; tokens that nothing can move are a deadlock."""
    if not r.idle:
        return False
    st = r.st
    for no in sorted(r.idle, key=lambda n: (-depth_of(r, n), n)):
        scope = st.scopes.get(no)
        if scope is None or scope.status != OPEN or scope.busy:
            r.idle.discard(no)
            continue
        if scope.live:
            if held_inside(r, scope):
                r.idle.discard(no)  # looked at again when one of its nodes was asked in vain
                continue
            if relax(r, scope):
                return True
            arm_joins(r)
            if timed(r, scope):
                continue
            if absorb_optional(r, scope):
                return True
            r.idle.discard(no)
            scope_failed(r, scope, deadlock(r, scope))
            return True
        r.idle.discard(no)
        r.record((F.SCOPE_CLOSED, no, CLOSED_DONE, None))
        r.deferred.append((JUDGE, no))
        return True
    return False


def held_inside(r: Run, scope: Scope) -> bool:
    """Tokens before a full group, behind a full edge, or before an undo node that has to wait can still move."""
    edges = r.net.edges
    undoing = r.st.undo is not None
    for place in scope.tokens:
        node, epoch = edges[place & (MOST - 1)].dst, place >> EPOCH
        if node.group and not r.room(node.group) or undoing and node.kind == UNDO:
            return True
        if node.pool and ready(r, node, scope, epoch) is not None:
            return True
        if node.capped and full_edge(node, scope, epoch) is not None:
            return True
    return False


def absorb_optional(r: Run, scope: Scope) -> bool:
    """An optional branch that came late must not fail the run (D-4.2.3): tokens from skippable conditions that rest
    before a node which has fired without them are absorbed when nothing else can happen."""
    absorbed = False
    for place in list(scope.tokens):
        edge, epoch = r.net.edges[place & (MOST - 1)], place >> EPOCH
        node = edge.dst
        marks = r.marks.get((scope.no, node.no, epoch), edge.bit)
        if node.join == DIAGRAM and not marks & ~node.skip_mask and scope.rounds(key(node.no, epoch)):
            seqs = [t.seq for t in scope.tokens[place]]
            r.record((F.ABSORBED, scope.no, edge.no, epoch, seqs, "late", 0, -1))
            r.unmark(edge, scope, epoch)
            absorbed = True
    return absorbed


def timed(r: Run, scope: Scope) -> bool:
    """Tokens that will expire, or whose join will time out, are not stuck."""
    return any(t.why in ("token", "join_wait") and t.data[0] == scope.no for t in r.st.timers.values())


def relax(r: Run, only: Scope | None = None) -> bool:
    """Nothing is ready and nothing in flight: undecided conditions stop blocking, a true vicious circle of inclusive
    joins is broken at its first node."""
    st = r.st
    if only is None and (st.firings or not any(s.live for s in st.scopes.values())):
        return False
    nodes, edges = r.net.nodes, r.net.edges
    candidates: set[Candidate] = set()
    for scope in (only,) if only is not None else st.scopes.values():
        for place in scope.tokens:
            node = edges[place & (MOST - 1)].dst
            epoch = place >> EPOCH
            if node.join in (INCLUSIVE, DIAGRAM):
                candidates.add((node.priority, r.edge_priority(node, scope, epoch), node.no, scope.no, epoch))
    for _, _, no, scope_no, epoch in sorted(candidates):
        node, scope = nodes[no], st.scopes[scope_no]
        if at_max(node, scope, epoch) or node.capped and full_edge(node, scope, epoch) is not None:
            continue
        if node.group and not r.room(node.group):
            continue
        takes = ready(r, node, scope, epoch, relaxed=True)
        if takes is not None:
            fire(r, node, scope, epoch, takes, relaxed=True)
            return True
    return False


def deadlock(r: Run, scope: Scope) -> Failure:
    """Name every node that holds tokens, what it holds, what it misses, which full edge holds it back, and what has
    expired: that is often why it is missed."""
    held: dict[int, set[int]] = {}
    epochs: dict[int, int] = {}
    for place in scope.tokens:
        edge = r.net.edges[place & (MOST - 1)]
        held.setdefault(edge.dst.no, set()).add(edge.no)
        epochs[edge.dst.no] = place >> EPOCH
    detail = [_stuck(r, r.net.nodes[no], scope, epochs[no], held[no]) for no in sorted(held)]
    first = next((d for d in detail if d["missing"] and "full" not in d), detail[0])
    who = f"«{first['node']}» holds {', '.join(first['held'])}"
    missing = ", ".join(first["missing"]) or "nothing that can come"
    message = f"{who} and waits for {missing}, which nothing can reach any more"
    if "full" in first:
        message = f"{who} and is held back by {', '.join(first['full'])}, which nothing empties any more"
    message += _expired(r, scope)
    return Failure("DEADLOCK", "permanent", message, str(first["node"]), detail)


def _expired(r: Run, scope: Scope) -> str:
    """The last tokens of the scope that outlived their time, in words."""
    text = ""
    for place, at in sorted(scope.expired.items(), key=lambda entry: (-entry[1], entry[0]))[:TOLD]:
        when = f"{(r.now - at) / 1000:g} s earlier" if r.now > at else "just now"
        text += f"; the token on {r.net.edges[place & (MOST - 1)].id} expired {when}"
    return text


def _stuck(r: Run, node: CNode, scope: Scope, epoch: int, held: set[int]) -> dict[str, Any]:
    started = bool(scope.used.get(node.no, 0) & F.USED_START)
    waited = [e for e in node.ins if e.no not in held and not (started and e.role == "start")]
    details: dict[str, Any] = {
        "node": node.id,
        "held": [e.id for e in node.ins if e.no in held],
        "missing": [e.id for e in waited],
    }
    place = full_edge(node, scope, epoch) if node.capped else None
    if place is not None:
        details["full"] = [r.net.edges[place & (MOST - 1)].id]
    expired = {e.id: scope.expired[key(e.no, epoch)] for e in waited if key(e.no, epoch) in scope.expired}
    return {**details, "expired": expired} if expired else details


def conclude(r: Run) -> None:
    """Nothing moves any more: what is the run now?"""
    st = r.st
    if st.active and st.status == RUNNING and not st.paused and r.net.net.active_timeout_ms is None:
        return None  # it works, as before
    if st.paused and st.status == WAITING and st.active:  # what was asked must be asked again after a crash
        r.record((F.MOVED, "RUNNING", "resumed", None))
    if st.status not in (RUNNING, WAITING) or st.paused:
        return _active_timer(r)
    root = st.scopes[0]
    if st.firings or st.timers and timed(r, root) or root.live and r.net.pools and is_stopped(r):
        to = RUNNING if st.active else WAITING
        if to != st.status:
            r.record((F.MOVED, STATUS[to], "wait_started" if to == WAITING else "resumed", None))
        return _active_timer(r)
    if root.live:
        absorb_optional(r, root)
    if root.live:
        stuck = deadlock(r, root)
        if r.net.on_stuck == "stop":
            r.record((F.INCIDENT, "DEADLOCK", stuck.node, stuck.detail))
            stop_pools(r, "deadlock")
            return conclude(r)
        if r.net.on_stuck == "pause":
            r.record((F.INCIDENT, "DEADLOCK", stuck.node, stuck.detail))
            r.record((F.PAUSED, True, "deadlock"))
            return _active_timer(r)
        finish_failed(r, stuck)
        return None
    if root.spent and not st.results and not _ended(r):
        node = r.net.nodes[next(iter(root.spent)) & (MOST - 1)]
        r.record((F.INCIDENT, "max_iteration_without_exit", node.id, None))
    for no in [n for n, t in st.timers.items() if not t.firing]:
        r.record((F.TIMER_GONE, no, "ended"))
    r.record((F.MOVED, "COMPLETED", "all_done", None))
    return None


def _ended(r: Run) -> bool:
    """Did an end node run in the root?"""
    nodes, root = r.net.nodes, r.st.scopes[0]
    return any(nodes[k & (MOST - 1)].spec.kind == "end" for k in root.visits if root.rounds(k))


def _active_timer(r: Run) -> None:
    """Active time runs only while the run is RUNNING."""
    limit = r.net.net.active_timeout_ms
    if limit is None:
        return
    st = r.st
    armed = next((n for n, t in st.timers.items() if t.why == "active"), 0)
    counts = st.active_since >= 0 and not st.draining
    due = st.active_since + limit - st.active_ms
    if armed and (not counts or st.timers[armed].due != due):
        r.record((F.TIMER_GONE, armed, "not active"))
        armed = 0
    if counts and not armed:
        set_timer(r, due, "active", 0)
    elif armed and not counts:
        r.record((F.TIMER_GONE, armed, "not active"))


def at_max(node: CNode, scope: Scope, epoch: int) -> bool:
    return node.max_iter is not None and scope.rounds(key(node.no, epoch)) >= node.max_iter


def has_token(r: Run, node: CNode, scope: Scope, epoch: int) -> bool:
    if node.lone:
        return key(node.ins[0].no, epoch) in scope.tokens
    return bool(r.marks.get((scope.no, node.no, epoch)))


def depth_of(r: Run, no: int) -> int:
    depth = 0
    while no > 0:
        depth, no = depth + 1, r.st.scopes[no].parent
    return depth
