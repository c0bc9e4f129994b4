"""Ending a region at once: everything in it and below is taken by one fact that lists it all."""

from __future__ import annotations

from penstock.kernel import fact as F
from penstock.kernel.run import Run
from penstock.kernel.state import CLOSED_CANCELLED, CLOSED_TIMEOUT, EFFECT, OPEN, Firing, Scope
from penstock.net.compiled import EPOCH, MOST


def disarm(r: Run, firing: Firing) -> None:
    for timer in list(firing.timers or ()):
        r.say((F.TIMER_GONE, timer, "disarmed"))
    for wait in list(firing.waits or ()):
        r.say((F.WAIT_GONE, wait, "closed"))


def stop_effect(r: Run, firing: Firing, why: str) -> None:
    """Drop the effect in flight of a firing that goes on: its late answer will be ignored."""
    r.say((F.SWEPT, firing.scope, why, [], [], [], CLOSED_CANCELLED, [firing.no], []))
    r.stops.append(firing.no)


def scopes_under(r: Run, scope: Scope) -> list[Scope]:
    """The scope and every open scope below it, outermost first."""
    out = [scope]
    for one in out:
        for firing in r.by_scope.get(one.no, {}).values():
            for kid in firing.kids or ():
                child = r.st.scopes[kid]
                if child.status == OPEN:
                    out.append(child)
    return out


def sweep(r: Run, scope: Scope, why: str, *, keep: bool = False) -> None:
    """Take everything in a scope and below. `keep` leaves the scope itself open."""
    st, nodes = r.st, r.net.nodes
    under = scopes_under(r, scope)
    firings = [f for s in under for f in r.by_scope.get(s.no, {}).values()]
    tokens: list[tuple[int, int, int, list[int]]] = []
    timers: list[int] = []
    inside = {s.no for s in under}
    for one in under:
        for place, queue in one.tokens.items():
            tokens.append((place & (MOST - 1), one.no, place >> EPOCH, [t.seq for t in queue]))
    for no, timer in st.timers.items():
        if timer.why in ("token", "join_wait") and timer.data[0] in inside:
            timers.append(no)
    closing = [s.no for s in reversed(under) if not (keep and s is scope)]
    if not (firings or tokens or closing or timers or any(s.owed for s in under)):
        return
    for firing in firings:
        item = st.items.get(firing.no)
        if item is not None and item.status not in ("DONE", "CANCELLED", "COMPENSATED"):
            to, event = ("COMPENSATED", "compensate") if item.status == "SUBMITTED" else ("CANCELLED", "cancel")
            r.say((F.WORK_MOVED, firing.no, to, event, None, None, None))
    r.stops += [f.no for f in firings if f.phase == EFFECT]
    status = CLOSED_TIMEOUT if why == "timeout" else CLOSED_CANCELLED
    r.say((F.SWEPT, scope.no, why, [f.no for f in firings], tokens, closing, status, [], timers))
    for firing in firings:
        node = nodes[firing.node]
        r.closed(firing, node.group if firing.phase <= 3 else "")
    for edge, no, epoch, _ in tokens:
        r.unmark(r.net.edges[edge], st.scopes[no], epoch)
    for at in [k for k in r.ttl if k[0] in inside]:
        del r.ttl[at]
    for no in closing:
        r.idle.discard(no)


def sweep_children(r: Run, firing: Firing, why: str) -> None:
    for kid in list(firing.kids or ()):
        child = r.st.scopes[kid]
        if child.status == OPEN:
            sweep(r, child, why)
