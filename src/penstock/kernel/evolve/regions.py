"""Scopes: opened, closed, swept."""

from __future__ import annotations

from penstock.kernel import fact as F
from penstock.kernel.evolve.firings import set_phase
from penstock.kernel.evolve.journal_values import as_failure
from penstock.kernel.evolve.origin import sealed
from penstock.kernel.evolve.waiting import close_item
from penstock.kernel.state import (
    BACKOFF,
    CLOSED_DONE,
    CLOSED_FAILED,
    EFFECT,
    OPEN,
    RUN,
    Dropped,
    Fan,
    Firing,
    Scope,
    State,
)
from penstock.net.compiled import EPOCH

DROPPED_CAP = 256


def scope_opened(st: State, f: F.Fact) -> None:
    _, no, parent, firing, name, index, locals_, required = f
    before = st.scopes.get(no)
    sc = Scope(no, parent, firing, name, index, OPEN, required, vars=dict(locals_), at=st.at)
    sc.base = st.scopes[parent].base
    if before is not None:  # no two tokens ever share an identity, no two askings an attempt
        sc.seqs, sc.base = before.seqs, max(sc.base, before.base + 1, before.top)
    st.scopes[no] = sc
    st.next_scope = max(st.next_scope, no + 1)
    owner = st.firings[firing]
    st.scopes[parent].below[no] = 1
    if owner.kids is None:
        owner.kids = []
    if before is None:
        owner.kids.append(no)
    if owner.tally is None:
        owner.tally = [0, 0, 0, 0, 0]
    if before is None or before.firing == firing:
        owner.tally[2] += 1
        owner.tally[3] += required
    fan = owner.fan
    if fan is not None:
        fan.at += 1
        if fan.at == len(fan.items):
            owner.fan = None


def fanned(st: State, f: F.Fact) -> None:
    st.firings[f[1]].fan = Fan(f[2])


def scope_closed(st: State, f: F.Fact) -> None:
    _, no, status, failure = f
    sc = st.scopes[no]
    close_scope(st, sc, status)
    sc.failure = as_failure(failure)


def close_scope(st: State, sc: Scope, status: int) -> None:
    if sc.status == OPEN:
        owner = st.firings.get(sc.firing)
        if owner is not None and owner.tally is not None:
            owner.tally[2] -= 1
            if status == CLOSED_DONE:
                owner.tally[0] += 1
                owner.tally[3] -= sc.required
            elif status == CLOSED_FAILED:
                owner.tally[1] += 1
                owner.tally[4] += sc.required
    sc.status, sc.ended = status, st.at
    if st.parked:
        st.parked = {no: was for no, was in st.parked.items() if was.scope != sc.no}
    if st.redoable:
        st.redoable = {no: redo for no, redo in st.redoable.items() if redo.was.scope != sc.no}
    sc.tokens, sc.live, sc.visits, sc.dead, sc.used, sc.owed, sc.spent = {}, 0, {}, {}, {}, {}, {}


def scope_forgotten(st: State, f: F.Fact) -> None:
    for no in f[1]:
        sc = st.scopes.pop(no)
        around = st.scopes.get(sc.parent)
        if around is not None:
            around.below.pop(no, None)
        owner = st.firings.get(sc.firing)
        if owner is not None and owner.kids is not None and no in owner.kids:
            owner.kids.remove(no)


def swept(st: State, f: F.Fact) -> None:
    _, scope, why, firings, tokens, scopes, status, effects, timers, ids = f
    if not effects and why not in ("abandoned", "superseded"):
        st.scopes[scope].owed = {}
    if st.tracks and why != "superseded":
        for no in firings:
            sealed(st, st.firings[no])
    for no in firings:
        firing = st.firings.pop(no)
        st.scopes[firing.scope].busy -= 1
        if firing.phase <= BACKOFF:
            st.active -= 1
            if firing.phase == EFFECT:
                st.asked -= 1
        for timer in firing.timers or ():
            del st.timers[timer]
        for wait in firing.waits or ():
            del st.waits[wait]
        if no in st.items:
            close_item(st, no)
        if firing.comp >= 0:
            st.ledger[firing.comp].top = max(st.ledger[firing.comp].top, firing.attempt)
        if firing.phase == EFFECT:
            _dropped(st, firing, ids)
    for edge, where, epoch, seqs in tokens:
        sc = st.scopes[where]
        del sc.tokens[edge + (epoch << EPOCH)]
        sc.live -= len(seqs)
        st.live -= len(seqs)
    for no in timers:
        del st.timers[no]
    for no in scopes:
        close_scope(st, st.scopes[no], status)
    for no in effects:
        firing = st.firings[no]
        _dropped(st, firing, ids)
        firing.args = None
        set_phase(st, firing, RUN)


def _dropped(st: State, firing: Firing, ids: dict[int, str]) -> None:
    """Its answer may still come: remember whose it was, the newest ones."""
    st.dropped[firing.no] = Dropped(
        firing.node, firing.scope, firing.path, firing.attempt, firing.probe, ids.get(firing.no, "")
    )
    if len(st.dropped) > DROPPED_CAP:
        del st.dropped[next(iter(st.dropped))]
