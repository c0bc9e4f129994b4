"""Rework of a finished work item (P-X.15): what came of it is taken back, and the same firing begins again."""

from __future__ import annotations

from penstock.errors import Refused, StatusConflict
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.flow import after_removal, scope_tree
from penstock.kernel.run import Run
from penstock.kernel.state import CLOSED_CANCELLED, IN_SCOPE, RUNNING, STATUS, WAITING, Firing, Item, Redo, Scope
from penstock.kernel.sweep import lose_item, open_entry, scopes_under, sweep_children
from penstock.kernel.token import SOLE
from penstock.kernel.trigger import arm, pull_opened, use_kept
from penstock.kernel.work_item import check_version, for_agent, record_moved, record_opened, start_agent
from penstock.net.compiled import EPOCH, MOST, CNode

_WHY = "superseded"


def rework_done(r: Run, c: C.Command) -> None:
    """The item is DONE. Refused unless everything that came of it is still untouched, and came of it alone."""
    _, no, _, by, _, *rest = c
    redo = _redoable(r, no)
    check_version(r, no, redo.item, rest)
    was = redo.was
    node, scope = r.net.nodes[was.node], r.st.scopes[was.scope]
    made = [f for f in r.by_scope.get(scope.no, {}).values() if -no in (f.passed or ())]
    for firing in made:
        _check_untouched(r, firing, no)
    lying = _lying(r, scope, no)
    r.strict = True
    _take_back(r, scope, made, lying, by)
    entry = open_entry(r, no)
    if entry >= 0:
        r.record((F.LEDGER_MOVED, entry, "withdrawn", None, 0, None))
    r.record((F.REVIVED, no, was.attempt))
    _begin_again(r, node, r.st.firings[no], redo.item, by, rest[0] if rest else None)


def _redoable(r: Run, no: int) -> Redo:
    st = r.st
    runs = st.status in (RUNNING, WAITING)
    if not runs or st.draining or st.undo is not None:
        status = STATUS[st.status] if not runs else "ending" if st.draining else "undoing"
        raise StatusConflict(what="run", status=status, verb="rework", allowed="RUNNING, WAITING")
    redo = st.redoable.get(no)
    if redo is None:
        raise Refused(why="what comes after it has gone on", hint="Order rework of what is open now.")
    group = r.net.nodes[redo.was.node].group
    if group and not r.room(group):
        raise Refused(why=f"«{group}» has no room for one more")
    return redo


def _check_untouched(r: Run, firing: Firing, no: int) -> None:
    """Nobody has begun with it, and nothing else was needed for it: that would be lost with it."""
    label = r.net.nodes[firing.node].label
    if (firing.passed or {})[-no] != SOLE:
        raise Refused(why=f"«{label}» comes from other work, too", hint="Order rework of what is open now.")
    inside = [f for f in _below(r, firing) if f.phase != IN_SCOPE and not _untouched(r, f)]
    if inside:
        label = r.net.nodes[inside[0].node].label
        raise Refused(why=f"«{label}» has been begun", hint="Only what nobody has begun can be taken back.")


def _below(r: Run, firing: Firing) -> list[Firing]:
    """The firing, and those in the scopes that it holds."""
    kids = [r.st.scopes[kid] for kid in firing.kids or ()]
    return [firing, *(f for kid in kids for s in scopes_under(r, kid) for f in r.by_scope.get(s.no, {}).values())]


def _untouched(r: Run, firing: Firing) -> bool:
    item = r.st.items.get(firing.no)
    return item is not None and item.status == "TODO"


def _lying(r: Run, scope: Scope, no: int) -> list[tuple[int, list[int]]]:
    """Places and numbers of the tokens that came of it and rest before a join."""
    places = []
    for place, queue in scope.tokens.items():
        mine = [t for t in queue if -no in (t.passed or ())]
        if any((t.passed or {})[-no] != SOLE for t in mine):
            label = r.net.edges[place & (MOST - 1)].dst.label
            raise Refused(why=f"what rests before «{label}» comes from other work, too")
        if mine:
            places.append((place, [t.seq for t in mine]))
    return places


def _take_back(r: Run, scope: Scope, made: list[Firing], lying: list[tuple[int, list[int]]], by: str | None) -> None:
    for firing in made:
        if firing.kids:
            sweep_children(r, firing, _WHY)
        item = r.st.items.get(firing.no)
        if item is not None:
            lose_item(r, firing.no, item, _WHY, by)
    if made:
        kids = [kid for firing in made for kid in firing.kids or ()]
        r.record((F.SWEPT, scope.no, _WHY, [f.no for f in made], [], [], CLOSED_CANCELLED, [], [], {}))
        for firing in made:
            r.closed(firing, r.net.nodes[firing.node].group if firing.phase <= 3 else "")
        if kids:
            r.record((F.SCOPE_FORGOTTEN, scope_tree(r, kids)))
    for place, seqs in lying:
        edge, epoch = r.net.edges[place & (MOST - 1)], place >> EPOCH
        r.record((F.ABSORBED, scope.no, edge.no, epoch, seqs, _WHY, 0, -1))
        after_removal(r, edge, scope, epoch)


def _begin_again(r: Run, node: CNode, firing: Firing, item: Item, by: str | None, comment: str | None) -> None:
    """P-X.15: REWORK and TODO are both in the history; draft and comment stay with the item, and so does its mode."""
    no = firing.no
    r.opened(firing, node.group)
    record_moved(r, no, "REWORK", "rework", by, comment)
    record_opened(r, node, firing, node.candidates, 0, item.mode)
    r.record((F.PHASE, no, "suspended"))
    r.record((F.WORK_MOVED, no, "TODO", "redo", None, None, None))
    if node.spec.triggers:
        arm(r, firing, node)
        if r.st.signals and firing.waits:
            use_kept(r, firing, node)
    if no in r.st.firings and for_agent(node, item.mode):
        start_agent(r, firing, firing.attempt + 1)
    if no in r.st.firings and node.spec.triggers:
        pull_opened(r, firing, node)
