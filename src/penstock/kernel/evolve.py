"""evolve(state, fact): a fact becomes state. It may not refuse, and it takes no net, no clock and no expression, so a replay
needs no language and no kernel version.

Rule 1: nothing here changes an object that belongs to the fact; facts are encoded after they were folded.
Rule 2: every table key that a fact removes was put there by an earlier fact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.kernel import fact as F
from penstock.kernel.failure import Failure
from penstock.kernel.state import (
    BACKOFF,
    CLOSED_DONE,
    CLOSED_FAILED,
    DONE,
    EFFECT,
    OPEN,
    PHASE,
    RUN,
    RUNNING,
    SKIPPED,
    STATUS,
    Dropped,
    Entry,
    Firing,
    Item,
    Record,
    Reopen,
    Scope,
    State,
    Timer,
    Undo,
    Wait,
)
from penstock.kernel.token import EMPTY, Envelope, Taken, Token, common, merged
from penstock.net.compiled import EPOCH, MOST

SEEN_CAP = 1024
INCIDENT_CAP = 100
DROPPED_CAP = 256
_STATUS_NO = {name: i for i, name in enumerate(STATUS)}
_PHASE_NO = {name: i for i, name in enumerate(PHASE)}


def as_failure(raw: Any) -> Failure | None:
    return raw if raw is None or type(raw) is Failure else Failure(*raw)


def as_envelope(raw: Any) -> Envelope:
    return raw if type(raw) is Envelope else Envelope(*raw)


def started(st: State, f: F.Fact) -> None:
    _, st.run, st.tenant, st.net, st.seed, st.trace, st.parent, st.input, options = f
    st.options = dict(options)
    st.vars = dict(st.options.get("vars") or {})
    st.status, st.active_since = RUNNING, st.at
    st.scopes[0] = Scope(0)


def put(st: State, f: F.Fact) -> None:
    _, edge, scope, epoch, seq, envelope, path, passed = f
    sc = st.scopes[scope]
    place = edge + (epoch << EPOCH)
    if envelope is None:
        hand = st.hand
        assert hand is not None, "a put without envelope refers to what is in hand"
        token = Token(seq, hand.envelope, hand.path if path is None else path, hand.passed if passed is None else passed, st.n)
    else:
        token = Token(seq, as_envelope(envelope), path, passed, st.n)
    queue = sc.tokens.get(place)
    if queue is None:
        sc.tokens[place] = [token]
    else:
        queue.append(token)
    sc.seqs[place] = seq + 1
    sc.live += 1


def _take(sc: Scope, edges: list[int], epoch: int) -> tuple[list[Taken], list[Any], list[Any]]:
    takes, paths, passed = [], [], []
    high = epoch << EPOCH
    for edge in edges:
        queue = sc.tokens[edge + high]
        token = queue[0]
        if len(queue) == 1:
            del sc.tokens[edge + high]
        else:
            del queue[0]
        takes.append(Taken(edge, token.seq, token.envelope))
        paths.append(token.path)
        passed.append(token.passed)
    sc.live -= len(edges)
    return takes, paths, passed


def fired(st: State, f: F.Fact) -> None:
    _, no, node, scope, epoch, visit, edges, owed, flags, comp, path = f
    sc = st.scopes[scope]
    at_key = node + (epoch << EPOCH)
    if edges:
        takes, paths, passed = _take(sc, edges, epoch)
        came = common(paths) if path is None else path
        been = merged(passed)
    else:
        takes, came, been = [], path, None
    if flags & F.ABSORBING:
        been = {**(been or {}), at_key: visit}
    if owed:
        sc.owed.setdefault(at_key, {})[visit] = list(owed)
    if comp < 0:
        sc.visits[at_key] = visit
        if flags & (F.USED_START | F.ENTERED):
            sc.used[node] = sc.used.get(node, 0) | flags & (F.USED_START | F.ENTERED)
    st.firings[no] = Firing(no, node, scope, epoch, visit, st.at, takes, came, been, comp=comp)
    sc.busy += 1
    st.active += 1
    st.next_firing = no + 1


def fired_via(st: State, f: F.Fact) -> None:
    _, no, node, scope, epoch, visit, edge, seq, flags = f
    sc = st.scopes[scope]
    hand = st.hand
    assert hand is not None, "fired via an edge takes what is in hand"
    sc.seqs[edge + (epoch << EPOCH)] = seq + 1
    sc.visits[node + (epoch << EPOCH)] = visit
    if flags:
        sc.used[node] = sc.used.get(node, 0) | flags
    st.firings[no] = Firing(
        no, node, scope, epoch, visit, st.at, [Taken(edge, seq, hand.envelope)], hand.path, hand.passed
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
        takes, paths, was = _take(sc, edges, epoch)
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


def _phase(st: State, firing: Firing, phase: int) -> None:
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
    _, no, attempt, probe, args = f
    firing = st.firings[no]
    firing.attempt, firing.probe, firing.args, firing.blocked = attempt, probe, args, False
    _phase(st, firing, EFFECT)


def answered(st: State, f: F.Fact) -> None:
    _, no, _attempt, probe, status, _output, _failure = f
    firing = st.firings[no]
    firing.args = None
    firing.errors = firing.errors + 1 if status == "failed" and probe >= 0 else 0
    _phase(st, firing, RUN)


def attempt_failed(st: State, f: F.Fact) -> None:
    _phase(st, st.firings[f[1]], BACKOFF)


def settled(st: State, f: F.Fact) -> None:
    _, no, status, port, node, attempt, started_at, body, content_type, meta, failure, flags = f
    firing = st.firings.pop(no)
    sc = st.scopes[firing.scope]
    sc.busy -= 1
    if firing.phase <= BACKOFF:
        st.active -= 1
        if firing.phase == EFFECT:
            st.asked -= 1
    if no in st.items:
        del st.items[no]
    st.hand = Token(
        0, Envelope(body, node, no, firing.visit, st.at, content_type, meta), firing.path, firing.passed
    )
    if status <= SKIPPED and status != 1 and firing.comp < 0:
        sc.last = body
    if flags:
        if flags & F.KEEP_RECORD:
            st.records[node] = Record(
                status, body, port or "done", firing.visit, firing.epoch, attempt, started_at, st.at,
                as_failure(failure), content_type,
            )  # fmt: skip
        if flags & F.REOPENABLE:
            st.reopen = Reopen(
                no, node, firing.scope, firing.epoch, firing.visit, attempt, firing.takes, firing.path, firing.passed,
                firing.kids,
            )  # fmt: skip


def named(st: State, f: F.Fact) -> None:
    assert st.hand is not None
    for name in f[1]:
        st.names[name] = st.hand.envelope.body


def sets(st: State, f: F.Fact) -> None:
    st.vars.update(f[1])


def result(st: State, f: F.Fact) -> None:
    assert st.hand is not None
    st.results[f[1]] = st.hand.envelope.body


def dead(st: State, f: F.Fact) -> None:
    sc = st.scopes[f[1]]
    for place in f[2]:
        if place < 0:
            sc.dead.pop(-place - 1, None)
        else:
            sc.dead[place] = 1


def absorbed(st: State, f: F.Fact) -> None:
    _, scope, edge, epoch, seqs, _why, owed_key, owed_visit = f
    sc = st.scopes[scope]
    place = edge + (epoch << EPOCH)
    left = [t for t in sc.tokens[place] if t.seq not in seqs]
    if left:
        sc.tokens[place] = left
    else:
        del sc.tokens[place]
    sc.live -= len(seqs)
    if owed_visit >= 0:
        _pay(sc, owed_key, owed_visit, [edge])


def rearmed(st: State, f: F.Fact) -> None:
    _pay(st.scopes[f[1]], f[2], f[3], f[4])


def _pay(sc: Scope, at_key: int, visit: int, edges: list[int]) -> None:
    debts = sc.owed[at_key]
    left = [e for e in debts[visit] if e not in edges]
    if left:
        debts[visit] = left
    else:
        del debts[visit]
        if not debts:
            del sc.owed[at_key]


def forwarded(st: State, f: F.Fact) -> None:
    _, scope, at_key, node, path, passed_ = f
    st.scopes[scope].spent[at_key] = 1
    record = st.records.get(node)  # none if its last firing was swept
    output, visit, content_type = (record.output, record.visit, record.content_type) if record is not None else (None, 0, None)
    envelope = Envelope(output, node, 0, visit, st.at, content_type, {"maxiter": True})
    st.hand = Token(0, envelope, path, passed_)


def timer_set(st: State, f: F.Fact) -> None:
    _, no, due, why, firing, data = f
    st.timers[no] = Timer(due, why, firing, data)
    st.next_timer = no + 1
    owner = st.firings.get(firing)
    if owner is not None:
        if owner.timers is None:
            owner.timers = [no]
        else:
            owner.timers.append(no)


def timer_gone(st: State, f: F.Fact) -> None:
    timer = st.timers.pop(f[1])
    owner = st.firings.get(timer.firing)
    if owner is not None and owner.timers is not None:
        owner.timers.remove(f[1])
        if not owner.timers:
            owner.timers = None


def wait_opened(st: State, f: F.Fact) -> None:
    _, no, firing, trigger, name = f
    st.waits[no] = Wait(firing, trigger, name)
    st.next_wait = no + 1
    owner = st.firings[firing]
    if owner.waits is None:
        owner.waits = [no]
    else:
        owner.waits.append(no)


def wait_gone(st: State, f: F.Fact) -> None:
    wait = st.waits.pop(f[1])
    owner = st.firings.get(wait.firing)
    if owner is not None and owner.waits is not None:
        owner.waits.remove(f[1])
        if not owner.waits:
            owner.waits = None


def signal_kept(st: State, f: F.Fact) -> None:
    st.signals[f[1]] = [f[2], f[3]]


def signal_used(st: State, f: F.Fact) -> None:
    st.signals.pop(f[1], None)


def seen(st: State, f: F.Fact) -> None:
    st.seen.append(f[1])
    if len(st.seen) > SEEN_CAP:
        del st.seen[0]


def work_opened(st: State, f: F.Fact) -> None:
    st.items[f[1]] = Item()


def work_moved(st: State, f: F.Fact) -> None:
    _, no, to, _event, by, draft, votes = f
    item = st.items.get(no)
    if item is None:
        return
    item.status = to
    if by is not None:
        item.by = by
    if draft is not None:
        item.draft = draft
    if votes is not None:
        item.votes = dict(votes)


def phase(st: State, f: F.Fact) -> None:
    firing = st.firings[f[1]]
    to = f[2]
    if to == "blocked":
        firing.blocked = True
        _phase(st, firing, 3)
    else:
        _phase(st, firing, _PHASE_NO[to])


def scope_opened(st: State, f: F.Fact) -> None:
    _, no, parent, firing, name, index, locals_, required = f
    before = st.scopes.get(no)
    st.scopes[no] = Scope(no, parent, firing, name, index, OPEN, required, vars=dict(locals_))
    if before is not None:
        st.scopes[no].seqs = before.seqs
    st.next_scope = max(st.next_scope, no + 1)
    owner = st.firings[firing]
    if owner.kids is None:
        owner.kids = []
    if no not in owner.kids:
        owner.kids.append(no)
    if owner.tally is None:
        owner.tally = [0, 0, 0, 0, 0]
    if before is None or before.firing == firing:
        owner.tally[2] += 1
        owner.tally[3] += required


def scope_closed(st: State, f: F.Fact) -> None:
    _, no, status, failure = f
    sc = st.scopes[no]
    _close(st, sc, status)
    sc.failure = as_failure(failure)


def _close(st: State, sc: Scope, status: int) -> None:
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
    sc.status = status
    # token numbers go on if the scope is opened again, so that no two tokens ever share an identity
    sc.tokens, sc.live, sc.visits, sc.dead, sc.used, sc.owed, sc.spent = {}, 0, {}, {}, {}, {}, {}


def scope_forgotten(st: State, f: F.Fact) -> None:
    for no in f[1]:
        sc = st.scopes.pop(no)
        owner = st.firings.get(sc.firing)
        if owner is not None and owner.kids is not None and no in owner.kids:
            owner.kids.remove(no)


def swept(st: State, f: F.Fact) -> None:
    _, scope, _why, firings, tokens, scopes, status, effects, timers, ids = f
    if not effects and _why != "abandoned":
        st.scopes[scope].owed = {}
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
        st.items.pop(no, None)
        if firing.phase == EFFECT:
            _dropped(st, firing, ids)
    for edge, where, epoch, seqs in tokens:
        sc = st.scopes[where]
        del sc.tokens[edge + (epoch << EPOCH)]
        sc.live -= len(seqs)
    for no in timers:
        del st.timers[no]
    for no in scopes:
        _close(st, st.scopes[no], status)
    for no in effects:
        firing = st.firings[no]
        _dropped(st, firing, ids)
        firing.args = None
        _phase(st, firing, RUN)


def _dropped(st: State, firing: Firing, ids: dict[int, str]) -> None:
    """Its answer may still come: remember whose it was, the newest ones."""
    st.dropped[firing.no] = Dropped(firing.node, firing.scope, firing.path, firing.attempt, firing.probe, ids.get(firing.no, ""))
    if len(st.dropped) > DROPPED_CAP:
        del st.dropped[next(iter(st.dropped))]


def ledger_added(st: State, f: F.Fact) -> None:
    _, firing, node, scope, path, output, lineage, id_ = f
    st.ledger.append(Entry(firing, node, scope, path, output, "open", list(lineage), id_))
    item = st.items.get(firing)
    if item is not None:
        item.entry = len(st.ledger) - 1


def ledger_moved(st: State, f: F.Fact) -> None:
    _, no, status, output = f
    entry = st.ledger[no]
    entry.status = status
    if output is not None:
        entry.output = output


def undo_planned(st: State, f: F.Fact) -> None:
    _, steps, why, then, firing, failure = f
    st.undo = Undo(list(steps), why, then, firing, failure=as_failure(failure))


def undo_step(st: State, f: F.Fact) -> None:
    st.ledger[f[1]].status = f[2]
    if f[2] == "FAILED":
        assert st.undo is not None
        st.undo.failed = True


def undo_at(st: State, f: F.Fact) -> None:
    assert st.undo is not None
    st.undo.at, st.undo.part = f[1], f[2]


def undo_ended(st: State, f: F.Fact) -> None:
    st.undo = None


def revived(st: State, f: F.Fact) -> None:
    was = st.reopen
    assert was is not None, "a firing is revived from what its failure kept"
    st.firings[was.firing] = Firing(
        was.firing, was.node, was.scope, was.epoch, was.visit, st.at, was.takes, was.path, was.passed,
        was.attempt, f[2], kids=was.kids,
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
    st.reopen = None


def reopened(st: State, f: F.Fact) -> None:
    _, how, retries = f
    st.retries, st.failure, st.draining = retries, None, ""
    st.reopened += 1
    if how == "restart":
        st.reopen = None
        st.scopes = {0: st.scopes[0]}


def paused(st: State, f: F.Fact) -> None:
    st.paused = f[1]
    _clock(st, st.status)


def _clock(st: State, status: int) -> None:
    """Active time runs only while the run is RUNNING and not paused."""
    if st.active_since >= 0:
        st.active_ms += st.at - st.active_since
    st.active_since = st.at if status == RUNNING and not st.paused else -1


def moved(st: State, f: F.Fact) -> None:
    _, to, _event, failure = f
    st.status = _STATUS_NO[to]
    if failure is not None:
        st.failure = as_failure(failure)
    if st.status > 4 or to in ("PENDING", "COMPENSATING"):
        st.draining = ""
    _clock(st, st.status)


def draining(st: State, f: F.Fact) -> None:
    st.draining = f[1]
    if f[2] is not None:
        st.failure = as_failure(f[2])


def incident(st: State, f: F.Fact) -> None:
    st.incidents.append([f[1], f[2], f[3]])
    if len(st.incidents) > INCIDENT_CAP:
        del st.incidents[0]


def ignored(st: State, f: F.Fact) -> None:
    if len(f) > 4 and f[4]:
        st.dropped.pop(f[3], None)


def migrated(st: State, f: F.Fact) -> None:
    _, net, _was, nodes, edges = f
    node_of, edge_of = dict(nodes), dict(edges)
    st.net = net

    def moved_key(table: dict[int, Any], numbers: dict[int, int]) -> dict[int, Any]:
        out = {}
        for at_key, kept in table.items():
            number = numbers.get(at_key % MOST, at_key % MOST)
            if number >= 0:
                out[number + (at_key >> EPOCH << EPOCH)] = kept
        return out

    for sc in st.scopes.values():
        sc.tokens, sc.seqs = moved_key(sc.tokens, edge_of), moved_key(sc.seqs, edge_of)
        sc.visits, sc.spent = moved_key(sc.visits, node_of), moved_key(sc.spent, node_of)
        sc.dead = moved_key(sc.dead, edge_of)
        sc.used = {node_of.get(n, n): v for n, v in sc.used.items() if node_of.get(n, n) >= 0}
        sc.owed = {}
    for firing in st.firings.values():
        firing.node = node_of.get(firing.node, firing.node)
        firing.takes = [Taken(edge_of.get(t.edge, t.edge), t.seq, t.envelope) for t in firing.takes]
        firing.passed = None
    for queues in (sc.tokens.values() for sc in st.scopes.values()):
        for queue in queues:
            for token in queue:
                token.passed = None
    for entry in (*st.ledger, *st.dropped.values()):
        entry.node = node_of.get(entry.node, entry.node)
    st.records = {node_of.get(n, n): r for n, r in st.records.items() if node_of.get(n, n) >= 0}
    if st.reopen is not None:
        st.reopen.node = node_of.get(st.reopen.node, st.reopen.node)


def forked(st: State, f: F.Fact) -> None:
    _, st.run, st.parent, _at, st.trace = f
    st.hand = None


def forgot(st: State, f: F.Fact) -> None:
    _, scope, below = f
    sc = st.scopes[scope]
    limit = below << EPOCH
    for table in (sc.visits, sc.seqs, sc.dead, sc.spent):
        for at_key in [k for k in table if k < limit]:
            del table[at_key]


def locals_(st: State, f: F.Fact) -> None:
    st.scopes[f[1]].vars.update(f[2])


Evolve = Callable[[State, F.Fact], None]
EVOLVE: tuple[Evolve, ...] = (
    started, put, fired, fired_via, passed, asked, answered, attempt_failed, settled, named, sets, result, dead, absorbed,
    rearmed, forwarded, timer_set, timer_gone, wait_opened, wait_gone, signal_kept, signal_used, signal_used, seen, work_opened,
    work_moved, phase, scope_opened, scope_closed, scope_forgotten, swept, ledger_added, ledger_moved, undo_planned, undo_step,
    undo_at, undo_ended, revived, reopened, paused, moved, draining, incident, ignored, migrated, forked, forgot, locals_,
)  # fmt: skip


def evolve(st: State, f: F.Fact) -> None:
    EVOLVE[f[0]](st, f)
    st.n += 1
