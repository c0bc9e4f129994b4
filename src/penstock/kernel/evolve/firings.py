"""Firings: fired, asked, answered, settled, and what a settled firing leaves behind."""

from __future__ import annotations

from penstock.kernel import fact as F
from penstock.kernel.evolve.journal_values import as_failure
from penstock.kernel.evolve.origin import finished, sealed
from penstock.kernel.evolve.tokens import take
from penstock.kernel.evolve.waiting import close_item
from penstock.kernel.state import (
    BACKOFF,
    CLOSED_DONE,
    DONE,
    EFFECT,
    FAILURE,
    IN_QUEUE,
    PHASE,
    RUN,
    SKIPPED,
    Firing,
    Record,
    Reopen,
    State,
)
from penstock.kernel.token import EMPTY, Envelope, Taken, Token, common, merged
from penstock.net.compiled import EPOCH

_PHASE_NO = {name: i for i, name in enumerate(PHASE)}


def fired(st: State, f: F.Fact) -> None:
    _, no, node, scope, epoch, visit, edges, owed, flags, comp, path = f
    sc = st.scopes[scope]
    at_key = node + (epoch << EPOCH)
    if edges:
        takes, paths, passed = take(sc, edges, epoch)
        st.live -= len(edges)
        came = common(paths) if path is None else path
        been = merged(passed)
    else:
        takes, came, been = [], path, None
    if flags & F.ABSORBING:
        been = {**(been or {}), at_key: visit}
    if owed:
        sc.owed.setdefault(at_key, {})[visit] = dict.fromkeys(owed, 1)
    if comp < 0:
        base = sc.base
        sc.visits[at_key] = visit
        if flags & (F.USED_START | F.ENTERED):
            sc.used[node] = sc.used.get(node, 0) | flags & (F.USED_START | F.ENTERED)
    else:
        base = st.ledger[comp].base
    st.firings[no] = Firing(no, node, scope, epoch, visit, st.at, takes, came, been, base + 1, base, comp=comp)
    sc.busy += 1
    st.active += 1
    st.next_firing = no + 1


def fired_via(st: State, f: F.Fact) -> None:
    _, no, node, scope, epoch, visit, edge, seq, flags = f
    sc = st.scopes[scope]
    hand = st.hand
    assert hand is not None, "fired via an edge takes what is in hand"
    high = epoch << EPOCH
    sc.seqs[edge + high] = seq + 1
    sc.visits[node + high] = visit
    if flags:
        sc.used[node] = sc.used.get(node, 0) | flags
    base = sc.base
    st.firings[no] = Firing(
        no, node, scope, epoch, visit, st.at, [Taken(edge, seq, hand.envelope)], hand.path, hand.passed, base + 1, base
    )
    sc.busy += 1
    st.active += 1
    st.next_firing = no + 1


def passed(st: State, f: F.Fact) -> None:
    _, no, node, scope, epoch, visit, edges, via, seq, body, port, flags = f
    sc = st.scopes[scope]
    at_key = node + (epoch << EPOCH)
    hand = st.hand
    if via >= 0:
        assert hand is not None, "passed via an edge takes what is in hand"
        sc.seqs[via + (epoch << EPOCH)] = seq + 1
        envelope, came, been = hand.envelope, hand.path, hand.passed
    elif edges:
        takes, paths, was = take(sc, edges, epoch)
        st.live -= len(edges)
        envelope, came, been = takes[-1].envelope, common(paths), merged(was)
    else:
        envelope, came, been = EMPTY, None, None
    if flags & F.OWN_BODY:
        envelope = Envelope(body, node, no, visit, st.at)
    elif flags & F.FROM_INPUT:
        envelope = Envelope(st.input, node, no, visit, st.at)
    if flags & F.ABSORBING:
        been = {**(been or {}), at_key: visit}
    sc.visits[at_key] = visit
    if flags & (F.USED_START | F.ENTERED):
        sc.used[node] = sc.used.get(node, 0) | flags & (F.USED_START | F.ENTERED)
    sc.last = envelope.body
    st.hand = Token(0, envelope, came, been)
    if flags & F.KEEP:
        st.records[node] = Record(
            DONE, envelope.body, port or "done", visit, epoch, 1, st.at, st.at, None, envelope.content_type
        )
    st.next_firing = no + 1


def set_phase(st: State, firing: Firing, phase: int) -> None:
    was = firing.phase
    if was == EFFECT and phase != EFFECT:
        st.asked -= 1
    elif phase == EFFECT and was != EFFECT:
        st.asked += 1
    if was <= BACKOFF < phase:
        st.active -= 1
    elif phase <= BACKOFF < was:
        st.active += 1
    firing.phase = phase


def asked(st: State, f: F.Fact) -> None:
    _, no, attempt, probe, args = f[:5]
    firing = st.firings[no]
    firing.attempt, firing.probe, firing.args, firing.blocked = attempt, probe, args, False
    if len(f) > 5:
        firing.place, firing.stopping = f[5], ""
    if attempt > 1:
        _reached(st, firing.scope, attempt)
    if firing.phase == RUN:
        st.asked += 1
        firing.phase = EFFECT
    else:
        set_phase(st, firing, EFFECT)


def _reached(st: State, scope: int, attempt: int) -> None:
    """Should one of these scopes be opened again, its firings go on counting after this attempt."""
    while scope and st.scopes[scope].top < attempt:
        st.scopes[scope].top = attempt
        scope = st.scopes[scope].parent


def answered(st: State, f: F.Fact) -> None:
    _, no, _attempt, probe, status, _output, _failure = f
    firing = st.firings[no]
    firing.args = None
    firing.errors = firing.errors + 1 if status == "failed" and probe >= 0 else 0
    set_phase(st, firing, RUN)


def queued(st: State, f: F.Fact) -> None:
    """It waits for a place, with the attempt that comes next and those before it that count no longer."""
    firing = st.firings[f[1]]
    firing.attempt, firing.base, firing.place, firing.stopping = f[2], f[3], "", ""
    firing.blocked = False
    set_phase(st, firing, IN_QUEUE)


def stopping(st: State, f: F.Fact) -> None:
    st.firings[f[1]].stopping = f[2]


def attempt_failed(st: State, f: F.Fact) -> None:
    set_phase(st, st.firings[f[1]], BACKOFF)


def settled(st: State, f: F.Fact) -> None:
    _, no, status, port, node, attempt, started_at, body, content_type, meta, failure, flags = f
    firing = st.firings.pop(no)
    if st.wanted:
        st.wanted.pop(node, None)
    sc = st.scopes[firing.scope]
    sc.busy -= 1
    if firing.phase <= BACKOFF:
        st.active -= 1
        if firing.phase == EFFECT:
            st.asked -= 1
    st.hand = Token(0, Envelope(body, node, no, firing.visit, st.at, content_type, meta), firing.path, firing.passed)
    if no in st.items:
        item = close_item(st, no)
        if st.tracks:
            st.hand.passed = finished(st, firing, item, attempt, body)
    if firing.comp >= 0:
        st.ledger[firing.comp].top = max(st.ledger[firing.comp].top, attempt)
    elif status <= SKIPPED and status != FAILURE:
        sc.last = body
    if flags:
        if flags & F.KEEP_RECORD:
            st.records[node] = Record(
                status, body, port or "done", firing.visit, firing.epoch, attempt, started_at, st.at,
                None if failure is None else as_failure(failure), content_type,
            )  # fmt: skip
        if flags & (F.REOPENABLE | F.PARKED):
            was = Reopen(
                no, node, firing.scope, firing.epoch, firing.visit, attempt, firing.takes, firing.path, firing.passed,
                firing.kids, firing.fan,
            )  # fmt: skip
            if flags & F.REOPENABLE:
                st.reopen = was
            else:
                st.parked[no] = was
        if flags & F.SEALS:
            st.hand.passed = sealed(st, firing)


def named(st: State, f: F.Fact) -> None:
    assert st.hand is not None
    for name in f[1]:
        st.names[name] = st.hand.envelope.body


def sets(st: State, f: F.Fact) -> None:
    st.vars.update(f[1])
    if len(f) > 2:
        st.names.update(f[1])


def result(st: State, f: F.Fact) -> None:
    assert st.hand is not None
    st.results[f[1]] = st.hand.envelope.body


def locals_(st: State, f: F.Fact) -> None:
    st.scopes[f[1]].vars.update(f[2])


def phase(st: State, f: F.Fact) -> None:
    firing = st.firings[f[1]]
    to = f[2]
    if to == "blocked":
        firing.blocked = True
        set_phase(st, firing, 3)
    else:
        firing.blocked = False
        set_phase(st, firing, _PHASE_NO[to])
    if len(f) > 3:  # a wait is armed anew: nobody is asked, so nothing else says which attempt it is
        firing.attempt = f[3]


def revived(st: State, f: F.Fact) -> None:
    parked = st.parked.pop(f[1], None)
    redo = st.redoable.pop(f[1], None)
    if redo is not None:
        parked = redo.was
        st.items[f[1]] = redo.item
        st.closed_items.pop(f[1], None)
    was = parked or st.reopen
    assert was is not None, "a firing is revived from what its failure kept"
    st.firings[was.firing] = Firing(
        was.firing, was.node, was.scope, was.epoch, was.visit, st.at, was.takes, was.path, was.passed,
        was.attempt, f[2], kids=was.kids, fan=was.fan,
    )  # fmt: skip
    firing = st.firings[was.firing]
    if firing.kids:
        firing.tally = [0, 0, 0, 0, 0]
        for no in firing.kids:
            sc = st.scopes[no]
            if sc.status == CLOSED_DONE:
                firing.tally[0] += 1
    st.scopes[was.scope].busy += 1
    st.active += 1
    if parked is None:
        st.reopen = None
    else:
        st.reopened += 1
