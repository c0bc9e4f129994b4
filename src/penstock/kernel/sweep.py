"""Sweep: ends a scope at once; one fact lists everything that it takes away."""

from __future__ import annotations

from penstock.kernel import fact as F
from penstock.kernel.run import Run
from penstock.kernel.state import CLOSED_CANCELLED, CLOSED_TIMEOUT, EFFECT, OPEN, Firing, Item, Scope
from penstock.net.compiled import EPOCH, MOST

#: children that are swept with a fact each
MANY = 100


def disarm(r: Run, firing: Firing) -> None:
    if firing.timers is not None:
        for timer in list(firing.timers):
            r.record((F.TIMER_GONE, timer, "disarmed"))
    if firing.waits is not None:
        for wait in list(firing.waits):
            r.record((F.WAIT_GONE, wait, "closed"))


def stop_effect(r: Run, firing: Firing, why: str) -> None:
    """Drop the effect in flight of a firing that goes on: its late answer will be ignored."""
    r.record(
        (F.SWEPT, firing.scope, why, [], [], [], CLOSED_CANCELLED, [firing.no], [], {firing.no: r.firing_id(firing)})
    )
    r.stops.append(firing.no)


def scopes_under(r: Run, *scopes: Scope) -> list[Scope]:
    """These scopes and every open scope below them, outermost first."""
    out = list(scopes)
    for under in out:
        for firing in r.by_scope.get(under.no, {}).values():
            for kid in firing.kids or ():
                child = r.st.scopes[kid]
                if child.status == OPEN:
                    out.append(child)
    return out


def sweep(r: Run, scope: Scope, why: str, *others: Scope, keep: bool = False) -> None:
    """Take everything in a scope and below, and in others beside it. `keep` leaves the scope itself open."""
    st, nodes = r.st, r.net.nodes
    under = scopes_under(r, scope, *others)
    undo = st.undo
    if undo is not None and undo.then == "firing" and st.firings[undo.firing].scope in {s.no for s in under}:
        abandon_undo(r)
    firings = [f for s in under for f in r.by_scope.get(s.no, {}).values()]
    tokens: list[tuple[int, int, int, list[int]]] = []
    timers: list[int] = []
    inside = {s.no for s in under}
    for inner in under:
        for place, queue in inner.tokens.items():
            tokens.append((place & (MOST - 1), inner.no, place >> EPOCH, [t.seq for t in queue]))
    for no, timer in st.timers.items():
        if timer.why in ("token", "join_wait") and timer.data[0] in inside:
            timers.append(no)
    closing = [s.no for s in reversed(under) if not (keep and s is scope)]
    if not (firings or tokens or closing or timers or any(s.owed for s in under)):
        return
    for firing in firings:
        item = st.items.get(firing.no)
        if item is not None and item.status not in ("DONE", "CANCELLED", "COMPENSATED"):
            lose_item(r, firing.no, item, why)
    r.stops += [f.no for f in firings if f.phase == EFFECT]
    ids = {f.no: r.firing_id(f) for f in firings if f.phase == EFFECT and nodes[f.node].undo}
    status = CLOSED_TIMEOUT if why == "timeout" else CLOSED_CANCELLED
    r.record((F.SWEPT, scope.no, why, [f.no for f in firings], tokens, closing, status, [], timers, ids))
    for firing in firings:
        node = nodes[firing.node]
        r.closed(firing, node.group if firing.phase <= 3 else "")
    for edge, no, epoch, _ in tokens:
        r.unmark(r.net.edges[edge], st.scopes[no], epoch)
    for at in [k for k in r.ttl if k[0] in inside]:
        del r.ttl[at]
    for no in closing:
        r.idle.discard(no)


def lose_item(r: Run, firing_no: int, item: Item, why: str, by: str | None = None) -> None:
    """A work item goes with its firing, and it is told why (P-X.16): `execution_failed` is its own failure, every other
    word is that of the sweep. What was submitted is work done: compensated, never cancelled."""
    if item.status != "SUBMITTED":
        r.record((F.WORK_MOVED, firing_no, "CANCELLED", "cancel", by, None, None, None, None, why))
        return
    r.record((F.WORK_MOVED, firing_no, "COMPENSATED", "compensate", by, None, None, None, None, why))
    entry = open_entry(r, firing_no)
    if entry >= 0 and not r.net.nodes[r.st.ledger[entry].node].undo:
        r.record((F.UNDO_STEP, entry, "SKIPPED"))


def open_entry(r: Run, firing_no: int) -> int:
    """The open ledger entry of a firing, or -1."""
    for n in range(len(r.st.ledger) - 1, -1, -1):
        if r.st.ledger[n].firing == firing_no and r.st.ledger[n].status == "open":
            return n
    return -1


def abandon_undo(r: Run) -> None:
    """The undo node whose plan this is goes: its step in flight goes too and may be planned again."""
    undo = r.st.undo
    assert undo is not None
    mine = [f for f in r.st.firings.values() if f.comp >= 0]
    if mine:
        r.stops += [f.no for f in mine if f.phase == EFFECT]
        r.record((F.SWEPT, 0, "abandoned", [f.no for f in mine], [], [], CLOSED_CANCELLED, [], [], {}))
        for firing in mine:
            r.closed(firing, r.net.nodes[firing.node].group if firing.phase <= 3 else "")
    for n in undo.steps:
        if r.st.ledger[n].status == "RUNNING":
            r.record((F.UNDO_STEP, n, "open"))
    r.record((F.UNDO_ENDED, "ABANDONED"))
    r.undone()


def sweep_children(r: Run, firing: Firing, why: str) -> None:
    """A fact each; where they are many, one for all of them, since each looks at every timer of the run."""
    children = [child for child in (r.st.scopes[kid] for kid in firing.kids or ()) if child.status == OPEN]
    if len(children) > MANY:
        sweep(r, children[0], why, *children[1:])
        return
    for child in children:
        if child.status == OPEN:
            sweep(r, child, why)
