"""step(run, commands, now) -> facts: one turn of one run.

Each command is decided, then the run goes on to quiet: the first ready candidate fires, again and again; when none is ready,
debts are released, empty scopes closed, joins relaxed; then the run's status is concluded. Deterministic: same inputs, same
bytes out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.errors import NoBranch, StatusConflict
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.decide import DECIDE, reopen, revive
from penstock.kernel.failure import Failure
from penstock.kernel.firing import fire, fire_entry, fire_undo, fire_via, forward, work
from penstock.kernel.flow import (
    BEGIN,
    ESCALATE,
    FIRE_ENTRY,
    JUDGE,
    PLAN_UNDO,
    ROOT_FAILED,
    UNDO_ANSWERED,
    UNDO_NEXT,
    Broken,
    NoMatch,
    ask,
    close,
    join_timer,
    put,
    set_timer,
)
from penstock.kernel.ready import full_edge, has_room_ahead, ready, release_debts
from penstock.kernel.region import judge, verdict
from penstock.kernel.retry import fail, scope_failed
from penstock.kernel.run import UNDOING, Candidate, Run
from penstock.kernel.saga import answered, finish_cancel, finish_failed, next_step, plan
from penstock.kernel.state import (
    CLOSED_DONE,
    COMPLETED,
    DONE,
    OPEN,
    RUNNING,
    STATUS,
    WAITING,
    Scope,
    Timer,
    key,
)
from penstock.kernel.sweep import sweep_children
from penstock.kernel.trigger import arm, pull, use_kept
from penstock.net.compiled import DIAGRAM, EPOCH, INCLUSIVE, MOST, UNDO, CNode

REVIVE = -1


class Stuck(Exception):
    """No way out could be chosen: the caller drops the run's state, folds it again and says the command as blocked."""

    def __init__(self, index: int, node: str) -> None:
        super().__init__(node)
        self.index, self.node = index, node


def step(r: Run, commands: list[C.Command], now: int, blocked: frozenset[int] = frozenset()) -> list[F.Fact]:
    """One turn. It evolves the state it is given; when it raises, the caller drops that state and folds again."""
    st = r.st
    r.now = st.at = now
    r.facts, r.asks, r.stops, r.ended = [], [], [], []
    for index, command in enumerate(commands):
        r.strict = False
        try:
            if index in blocked:
                _blocked(r, command)
            else:
                _one(r, command)
        except NoMatch as no_match:
            if r.strict:
                raise NoBranch(node=no_match.node.id) from None
            raise Stuck(index, no_match.node.id) from None
        st.hand = None
    return r.facts


def advance(r: Run, commands: list[C.Command], now: int, reload: Callable[[], Run]) -> tuple[Run, list[F.Fact]]:
    """`step`, done again from a fresh fold when an answer leads nowhere: then the answer is kept and the firing waits for an
    operator, and nothing else of the turn is lost."""
    blocked: frozenset[int] = frozenset()
    while True:
        try:
            return r, step(r, commands, now, blocked)
        except Stuck as stuck:
            if stuck.index in blocked:
                raise NoBranch(node=stuck.node) from None
            blocked |= {stuck.index}
            r = reload()


def _one(r: Run, c: C.Command) -> None:
    st = r.st
    tag = c[0]
    if st.status >= COMPLETED and tag != C.OUTCOME:
        if tag in (C.TICK, C.SIGNAL):
            r.say((F.IGNORED, C.NAMES[tag], "terminal", None))
            return
        if tag not in (C.RETRY, C.COMPENSATE, C.WORK, C.CANCEL, C.START):
            raise StatusConflict(what="run", status=STATUS[st.status], verb=C.NAMES[tag], allowed="a run that has not ended")
    if tag == C.TICK:
        tick(r)
    else:
        try:
            DECIDE[tag](r, c)
        except Broken as broken:
            _break(r, broken)
        to_quiet(r)


def _blocked(r: Run, c: C.Command) -> None:
    """The second try of a command whose consequences found no branch."""
    if c[0] == C.OUTCOME:
        firing = r.st.firings[c[1]]
        node = r.net.nodes[firing.node]
        r.say((F.ANSWERED, firing.no, firing.attempt, firing.probe, "done", c[5], None))
        r.say((F.PHASE, firing.no, "blocked"))
        r.say((F.INCIDENT, "NO_MATCHING_BRANCH", node.id, None))
        conclude(r)
    elif c[0] == C.START:
        _, run, tenant, seed, trace, parent, given, options = c
        r.say((F.STARTED, run, tenant, r.net.hash, seed, trace, parent, given, options))
        failure = Failure("NO_MATCHING_BRANCH", "business", "no branch can be taken with this input")
        r.say((F.MOVED, "FAILED", "unrecoverable_error", failure))
    else:
        r.say((F.INCIDENT, "NO_MATCHING_BRANCH", "", C.NAMES[c[0]]))
        if not r.st.paused:
            r.say((F.PAUSED, True, "no_matching_branch"))


def _break(r: Run, broken: Broken) -> None:
    """An expression failed: the firing that needed it fails with it."""
    if broken.firing.no in r.st.firings:
        fail(r, broken.firing, broken.failure, again=False)


# ---- the loop --------------------------------------------------------------------------------------------------------


def to_quiet(r: Run) -> None:
    st = r.st
    while True:
        try:
            if r.later:
                code, what = r.later.pop(0)
                LATER[code](r, what)
            elif r.via is not None:
                edge, scope, epoch = r.via
                r.via = None
                fire_via(r, edge, scope, epoch)
            elif st.status not in (RUNNING, WAITING) or st.paused:
                break
            elif st.draining:
                if st.asked:
                    break
                if st.draining == "fail":
                    assert st.failure is not None
                    finish_failed(r, st.failure)
                else:
                    finish_cancel(r, st.draining)
            elif r.heap:
                candidate = r.next()
                if candidate is not None:
                    consider(r, candidate)
            elif not (_close_scopes(r) if not r.unsure else release_debts(r) or _close_scopes(r)) and not _relax(r):
                break
        except Broken as broken:
            _break(r, broken)
    if r.resting:
        _arm_joins(r)
    conclude(r)


def _arm_joins(r: Run) -> None:
    """The first token that rests before a node with a join timeout sets its timer."""
    if r.st.draining or r.st.status not in (RUNNING, WAITING):
        return
    for scope_no, node_no, epoch in sorted(r.resting):
        scope = r.st.scopes.get(scope_no)
        node = r.net.nodes[node_no]
        wait = node.spec.join_timeout_ms
        if scope is None or scope.status != OPEN or wait is None or not _has_token(r, node, scope, epoch):
            continue
        if not join_timer(r, node, scope, epoch) and not _at_max(node, scope, epoch):
            set_timer(r, r.now + wait, "join_wait", 0, [scope_no, node_no, epoch])
    r.resting.clear()


def consider(r: Run, candidate: Candidate) -> bool:
    """Ask one node with a token whether it is ready; if so, fire it."""
    _, _, no, scope_no, epoch = candidate
    node = r.net.nodes[no]
    scope = r.st.scopes.get(scope_no)
    if scope is None or scope.status != OPEN:
        if node.group:
            r.admit(node.group)
        return False
    if _at_max(node, scope, epoch):
        if _has_token(r, node, scope, epoch) and _may_forward(r, node, scope, epoch, candidate):
            forward(r, node, scope, epoch)
            return True
        if node.group:
            r.admit(node.group)
        return False
    if node.kind == UNDO and r.st.undo is not None:
        _hold(r, UNDOING, candidate)  # one plan at a time
        return False
    if node.group and not r.room(node.group):
        if _has_token(r, node, scope, epoch):
            _hold(r, node.group, candidate)
        return False
    takes = ready(r, node, scope, epoch)
    if takes is None or node.capped and not has_room_ahead(r, node, scope, epoch, candidate):
        if node.group:
            r.admit(node.group)
        return False
    fire(r, node, scope, epoch, takes)
    return True


def _at_max(node: CNode, scope: Scope, epoch: int) -> bool:
    return node.max_iter is not None and scope.visits.get(key(node.no, epoch), 0) >= node.max_iter


def _may_forward(r: Run, node: CNode, scope: Scope, epoch: int, candidate: Candidate) -> bool:
    """Not while the last firing of the node still works, and not onto a full edge."""
    for no, firing in r.by_scope.get(scope.no, {}).items():
        if firing.node == node.no and firing.epoch == epoch and firing.comp < 0:
            r.watch.setdefault(no, []).append(candidate)
            return False
    spent = key(node.no, epoch) in scope.spent
    return spent or not node.capped or has_room_ahead(r, node, scope, epoch, candidate)


def _hold(r: Run, group: str, candidate: Candidate) -> None:
    waiting = r.held.setdefault(group, [])
    if candidate not in waiting:
        waiting.append(candidate)
        waiting.sort()


def _has_token(r: Run, node: CNode, scope: Scope, epoch: int) -> bool:
    if node.lone:
        return key(node.ins[0].no, epoch) in scope.tokens
    return bool(r.marks.get((scope.no, node.no, epoch)))


def _close_scopes(r: Run) -> bool:
    """Scopes without a firing: empty ones are done; tokens that nothing can move are a deadlock."""
    if not r.idle:
        return False
    st = r.st
    for no in sorted(r.idle, key=lambda n: (-_depth(r, n), n)):
        scope = st.scopes.get(no)
        if scope is None or scope.status != OPEN or scope.busy:
            r.idle.discard(no)
            continue
        if scope.live:
            if _held_inside(r, scope):
                continue
            if _relax(r, scope):
                return True
            _arm_joins(r)
            if _timed(r, scope):
                continue
            r.idle.discard(no)
            scope_failed(r, scope, deadlock(r, scope))
            return True
        r.idle.discard(no)
        r.say((F.SCOPE_CLOSED, no, CLOSED_DONE, None))
        r.later.append((JUDGE, no))
        return True
    return False


def _depth(r: Run, no: int) -> int:
    depth = 0
    while no > 0:
        depth, no = depth + 1, r.st.scopes[no].parent
    return depth


def _held_inside(r: Run, scope: Scope) -> bool:
    """Tokens before a node whose group is full, behind a full edge, or before an undo node that has to wait can still move."""
    edges = r.net.edges
    undoing = r.st.undo is not None
    for place in scope.tokens:
        node, epoch = edges[place & (MOST - 1)].dst, place >> EPOCH
        if node.group and not r.room(node.group) or undoing and node.kind == UNDO:
            return True
        if node.capped and full_edge(node, scope, epoch) is not None:
            return True
    return False


def _timed(r: Run, scope: Scope) -> bool:
    """Tokens that will expire, or whose join will time out, are not stuck."""
    return any(t.why in ("token", "join_wait") and t.data[0] == scope.no for t in r.st.timers.values())


def _relax(r: Run, only: Scope | None = None) -> bool:
    """Nothing is ready and nothing in flight: undecided conditions stop blocking, a true vicious circle of inclusive joins is
    broken at its first node."""
    st = r.st
    if only is None and (st.firings or not any(s.live for s in st.scopes.values())):
        return False
    nodes, edges = r.net.nodes, r.net.edges
    found: set[Candidate] = set()
    for scope in (only,) if only is not None else st.scopes.values():
        for place in scope.tokens:
            node = edges[place & (MOST - 1)].dst
            epoch = place >> EPOCH
            if node.join in (INCLUSIVE, DIAGRAM):
                found.add((node.priority, r.edge_priority(node, scope, epoch), node.no, scope.no, epoch))
    for _, _, no, scope_no, epoch in sorted(found):
        node, scope = nodes[no], st.scopes[scope_no]
        takes = ready(r, node, scope, epoch, relaxed=True)
        if takes is not None:
            fire(r, node, scope, epoch, takes, relaxed=True)
            return True
    return False


def deadlock(r: Run, scope: Scope) -> Failure:
    """Name every node that holds tokens, what it holds and what it misses."""
    edges = r.net.edges
    held: dict[int, set[int]] = {}
    for place in scope.tokens:
        edge = edges[place & (MOST - 1)]
        held.setdefault(edge.dst.no, set()).add(edge.no)
    detail = []
    for no in sorted(held):
        node = r.net.nodes[no]
        has = [e.id for e in node.ins if e.no in held[no]]
        detail.append({"node": node.id, "held": has, "missing": [e.id for e in node.ins if e.no not in held[no]]})
    first = detail[0]
    message = f"«{first['node']}» waits for {', '.join(first['missing']) or 'nothing that can come'}, which nothing can reach any more"
    return Failure("DEADLOCK", "permanent", message, str(first["node"]), detail)


def conclude(r: Run) -> None:
    """Nothing moves any more: what is the run now?"""
    st = r.st
    if st.status not in (RUNNING, WAITING) or st.paused:
        return _active_timer(r)
    if st.firings or _timed(r, st.scopes[0]):
        to = RUNNING if st.active else WAITING
        if to != st.status:
            r.say((F.MOVED, STATUS[to], "wait_started" if to == WAITING else "resumed", None))
        return _active_timer(r)
    root = st.scopes[0]
    if root.live:
        stuck = deadlock(r, root)
        if r.net.on_stuck == "pause":
            r.say((F.INCIDENT, "DEADLOCK", stuck.node, stuck.detail))
            r.say((F.PAUSED, True, "deadlock"))
            return _active_timer(r)
        finish_failed(r, stuck)
        return to_quiet(r) if r.later else None
    if root.spent and not st.results and not _ended(r):
        node = r.net.nodes[next(iter(root.spent)) & (MOST - 1)]
        r.say((F.INCIDENT, "max_iteration_without_exit", node.id, None))
    for no in [n for n, t in st.timers.items() if not t.firing]:
        r.say((F.TIMER_GONE, no, "ended"))
    r.say((F.MOVED, "COMPLETED", "all_done", None))
    return None


def _ended(r: Run) -> bool:
    """Did an end node run in the root?"""
    nodes = r.net.nodes
    return any(nodes[k & (MOST - 1)].spec.kind == "end" for k in r.st.scopes[0].visits)


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
        r.say((F.TIMER_GONE, armed, "not active"))
        armed = 0
    if counts and not armed:
        set_timer(r, due, "active", 0)
    elif armed and not counts:
        r.say((F.TIMER_GONE, armed, "not active"))


# ---- timers ----------------------------------------------------------------------------------------------------------


def tick(r: Run) -> None:
    """Every due timer in order (due, deeper scope first, oldest first), with a run to quiet between two (C-72)."""
    fired = False
    while r.st.status < COMPLETED:
        due = _next_due(r)
        if due is None:
            break
        fired = True
        try:
            ring(r, due)
        except Broken as broken:
            _break(r, broken)
        to_quiet(r)
    if not fired:
        r.say((F.IGNORED, "tick", "nothing_due", None))


def _next_due(r: Run) -> int | None:
    first = r.wake_at()
    if first is None or first > r.now or r.st.paused:
        return None
    st = r.st
    at_once = [no for when, no in r.due if when == first and no in st.timers and st.timers[no].due == when]
    return min(at_once, key=lambda no: (-_timer_depth(r, st.timers[no]), no))


def _timer_depth(r: Run, timer: Timer) -> int:
    firing = r.st.firings.get(timer.firing)
    if firing is not None:
        return _depth(r, firing.scope)
    return _depth(r, timer.data[0]) if timer.why in ("token", "join_wait") else 0


def ring(r: Run, no: int) -> None:
    timer = r.st.timers[no]
    r.say((F.TIMER_GONE, no, "fired"))
    why, firing = timer.why, r.st.firings.get(timer.firing)
    if why == "token":
        return _expire(r, *timer.data)
    if why == "join_wait":
        return _join_timeout(r, *timer.data)
    if why == "run_retry":
        was = r.st.reopen
        assert was is not None
        return reopen(r, r.st.retries + 1, r.net.nodes[was.node].spec.on_final)
    if why == "active":
        failure = Failure("WORKFLOW_TIMEOUT", "timeout", f"the run was active for {r.net.net.active_timeout_ms} ms")
        return r.later.append((ROOT_FAILED, failure))
    assert firing is not None, "a timer of a firing goes with it"
    if why == "retry":
        ask(r, firing, timer.data)
    elif why == "poll":
        ask(r, firing, firing.attempt, timer.data)
    elif why == "join":
        sweep_children(r, firing, "timeout")
        failure = Failure("JOIN_TIMEOUT", "timeout", "the branches did not end in time")
        verdict(r, firing, r.net.nodes[firing.node], failure)
    else:
        i, count = timer.data
        trigger = r.net.nodes[firing.node].spec.triggers[i]
        if trigger.repeat_ms and (not trigger.times or count < trigger.times):
            set_timer(r, r.now + trigger.repeat_ms, "trigger", firing.no, [i, count + 1])
        pull(r, firing, i, {"at": r.now})
    return None


def _expire(r: Run, scope_no: int, edge_no: int, epoch: int, seq: int) -> None:
    """A token has outlived its time: it is taken, and may leave by the `dead` port of the node it came from."""
    scope = r.st.scopes.get(scope_no)
    place = key(edge_no, epoch)
    r.ttl.pop((scope_no, place, seq), None)
    queue = scope.tokens.get(place) if scope is not None else None
    token = next((t for t in queue or () if t.seq == seq), None)
    if scope is None or token is None:
        return
    edge = r.net.edges[edge_no]
    r.say((F.ABSORBED, scope_no, edge_no, epoch, [seq], "expired", 0, -1))
    if place not in scope.tokens:
        r.unmark(edge, scope, epoch)
        waits = join_timer(r, edge.dst, scope, epoch) if edge.dst.spec.join_timeout_ms is not None else 0
        if waits and not _has_token(r, edge.dst, scope, epoch):
            r.say((F.TIMER_GONE, waits, "nothing rests"))
    envelope = token.envelope
    for way in edge.src.ports.get("dead", ()):
        put(r, way, scope, epoch, envelope=envelope, path=token.path, passed=token.passed)


def _join_timeout(r: Run, scope_no: int, node_no: int, epoch: int) -> None:
    """What lies before the join is taken by a firing that fails at once, so that its table and ports apply."""
    scope = r.st.scopes.get(scope_no)
    node = r.net.nodes[node_no]
    if scope is None or r.st.draining or not _has_token(r, node, scope, epoch):
        return
    takes = [e.no for e in node.ins for _ in scope.tokens.get(key(e.no, epoch), ())]
    no = r.st.next_firing
    visit = scope.visits.get(key(node_no, epoch), 0) + 1
    r.say((F.FIRED, no, node_no, scope_no, epoch, visit, takes, [], 0, -1, None))
    firing = r.st.firings[no]
    r.opened(firing, node.group)
    for edge in node.ins:
        if edge.no in takes:
            r.unmark(edge, scope, epoch)
    message = f"«{node.label}» waited too long for its other inputs"
    fail(r, firing, Failure("JOIN_TIMEOUT", "timeout", message, node.id), again=False)


# ---- what was put off until the fact at hand was said ------------------------------------------------------------------


def _judge(r: Run, scope_no: int) -> None:
    scope = r.st.scopes.get(scope_no)
    if scope is not None:
        judge(r, scope)


def _root_failed(r: Run, what: Any) -> None:
    """A tuple means: at once, whatever the net says about draining."""
    if r.st.status >= COMPLETED:
        return
    if isinstance(what, tuple):
        finish_failed(r, what[0])
    elif r.net.on_fail == "drain" and not r.st.draining:
        r.say((F.DRAINING, "fail", what))
        return
    elif r.st.draining:
        return
    else:
        finish_failed(r, what)


def _undo_next(r: Run, _: Any) -> None:
    if r.st.undo is None:
        return
    step_ = next_step(r)
    if step_ is not None:
        fire_undo(r, *step_)


def _undo_answered(r: Run, what: Any) -> None:
    if answered(r, *what):
        r.later.append((UNDO_NEXT, None))


def _begin(r: Run, no: int) -> None:
    firing = r.st.firings.get(no)
    if firing is None:
        return
    node = r.net.nodes[firing.node]
    if r.st.signals and firing.waits:
        use_kept(r, firing, node)
    if no in r.st.firings:
        work(r, node, firing)


def _fire_entry(r: Run, what: Any) -> None:
    node, scope_no, path = what
    scope = r.st.scopes.get(scope_no)
    if scope is not None and scope.status == OPEN:
        fire_entry(r, node, scope, path)


def _plan_undo(r: Run, no: int) -> None:
    firing = r.st.firings.get(no)
    if firing is None:
        return
    node = r.net.nodes[firing.node]
    if not plan(r, "manual", "firing", firing=no, scope=firing.scope, only=node.spec.only):
        close(r, firing, DONE, None)


def _escalate(r: Run, what: Any) -> None:
    """Tell the nearest scope around that listens for this code."""
    scope_no, code, node_id, body = what
    at = scope_no
    while at > 0:
        firing = r.st.firings.get(r.st.scopes[at].firing)
        if firing is None:
            return
        for i, trigger in enumerate(r.net.nodes[firing.node].spec.triggers):
            if trigger.kind == "escalation" and trigger.name in (code, ""):
                return pull(r, firing, i, {"code": code, "node": node_id, "output": body})
        at = r.st.scopes[at].parent
    r.say((F.INCIDENT, "ESCALATION", node_id, {"code": code}))


def _revive(r: Run, no: int) -> None:
    firing = r.st.firings.get(no)
    if firing is None:
        return
    node = r.net.nodes[firing.node]
    if node.spec.triggers:
        arm(r, firing, node)
        if r.st.signals and firing.waits:
            use_kept(r, firing, node)
        if no not in r.st.firings:
            return
    if node.effect is not None or node.spec.body is not None or node.spec.work is not None:
        revive(r, firing, node)
    else:
        work(r, node, firing)


LATER: dict[int, Callable[[Run, Any], None]] = {
    JUDGE: _judge, ROOT_FAILED: _root_failed, UNDO_NEXT: _undo_next, UNDO_ANSWERED: _undo_answered, BEGIN: _begin,
    FIRE_ENTRY: _fire_entry, PLAN_UNDO: _plan_undo, ESCALATE: _escalate, REVIVE: _revive,
}  # fmt: skip


