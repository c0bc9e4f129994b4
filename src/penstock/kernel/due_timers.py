"""Due timers: which one fires first, and what each kind of timer does."""

from __future__ import annotations

from penstock.kernel import fact as F
from penstock.kernel.failure import Failure
from penstock.kernel.flow import ROOT_FAILED, after_removal, ask, put, set_timer
from penstock.kernel.quiet import depth_of, has_token
from penstock.kernel.region import verdict
from penstock.kernel.reopen import try_again
from penstock.kernel.retry import fail, fail_scope
from penstock.kernel.run import Run
from penstock.kernel.state import Timer, key
from penstock.kernel.sweep import sweep_children
from penstock.kernel.trigger import pull, rearm
from penstock.kernel.work_item import with_person


def next_due(r: Run) -> int | None:
    first = r.wake_at()
    if first is None or first > r.now or r.st.paused:
        return None
    st = r.st
    at_once = [no for when, no in r.due if when == first and no in st.timers and st.timers[no].due == when]
    return min(at_once, key=lambda no: (-_timer_depth(r, st.timers[no]), no))


def _timer_depth(r: Run, timer: Timer) -> int:
    firing = r.st.firings.get(timer.firing)
    if firing is not None:
        return depth_of(r, firing.scope)
    return depth_of(r, timer.data[0]) if timer.why in ("token", "join_wait") else 0


def fire_timer(r: Run, no: int) -> None:
    timer = r.st.timers[no]
    r.record((F.TIMER_GONE, no, "fired"))
    why, firing = timer.why, r.st.firings.get(timer.firing)
    if why == "token":
        return _expire(r, *timer.data)
    if why == "join_wait":
        return _join_timeout(r, *timer.data)
    if why == "run_retry":
        if not r.net.queued:
            try_again(r)
        return None
    if why == "active":
        failure = Failure("WORKFLOW_TIMEOUT", "timeout", f"the run was active for {r.net.net.active_timeout_ms} ms")
        return _out_of_time(r, failure)
    assert firing is not None, "a timer of a firing goes with it"
    if why == "retry":
        node = r.net.nodes[firing.node]
        if any(t.again for t in node.spec.triggers) and not firing.timers:
            rearm(r, firing, node, timer.data)
        if node.effect is not None and timer.firing in r.st.firings:
            if with_person(r, firing):
                r.record((F.PHASE, firing.no, "suspended", timer.data))
            else:
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


def _out_of_time(r: Run, failure: Failure) -> None:
    """The active time is over. In a queued net it is that of one attempt (F-X.6): what was under way is blamed, so that
    the next attempt, or whoever resumes it, knows where it was."""
    blamed = next((f for f in r.st.firings.values() if f.scope == 0 and f.comp < 0), None) if r.net.queued else None
    if blamed is None:
        r.deferred.append((ROOT_FAILED, failure))
        return
    sweep_children(r, blamed, "timeout")
    node = r.net.nodes[blamed.node].id
    fail_scope(r, blamed, Failure(failure.code, failure.category, failure.message, node))


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
    r.record((F.ABSORBED, scope_no, edge_no, epoch, [seq], "expired", 0, -1))
    after_removal(r, edge, scope, epoch)
    if scope_no:
        r.rests(scope_no)
    envelope = token.envelope
    for way in edge.src.ports.get("dead", ()):
        put(r, way, scope, epoch, envelope=envelope, path=token.path, passed=token.passed)


def _join_timeout(r: Run, scope_no: int, node_no: int, epoch: int) -> None:
    """What lies before the join is taken by a firing that fails at once, so that its table and ports apply."""
    scope = r.st.scopes.get(scope_no)
    node = r.net.nodes[node_no]
    if scope is None or r.st.draining or not has_token(r, node, scope, epoch):
        return
    takes = [e.no for e in node.ins for _ in scope.tokens.get(key(e.no, epoch), ())]
    no = r.st.next_firing
    visit = (scope.visits.get(key(node_no, epoch), 0) or scope.most.get(node_no, 0)) + 1
    r.record((F.FIRED, no, node_no, scope_no, epoch, visit, takes, [], 0, -1, None))
    firing = r.st.firings[no]
    r.opened(firing, node.group)
    for edge in node.ins:
        if edge.no in takes:
            r.unmark(edge, scope, epoch)
    message = f"«{node.label}» waited too long for its other inputs"
    fail(r, firing, Failure("JOIN_TIMEOUT", "timeout", message, node.id), again=False)
