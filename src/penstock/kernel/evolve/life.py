"""The life of the run itself."""

from __future__ import annotations

from typing import Any

from penstock.kernel import fact as F
from penstock.kernel.evolve.journal_values import as_failure
from penstock.kernel.state import CREATED, RUNNING, STATUS, WAITING, Scope, State
from penstock.kernel.token import Taken
from penstock.net.compiled import EPOCH, MOST

INCIDENT_CAP = 100
_STATUS_NO = {name: i for i, name in enumerate(STATUS)}


def started(st: State, f: F.Fact) -> None:
    _, st.run, st.tenant, st.net, st.seed, st.trace, st.parent, st.input, options = f[:9]
    st.tracks = len(f) > 9 and f[9]
    st.options = dict(options)
    st.vars = dict(st.options.get("vars") or {})
    for pool, most in (st.options.get("pools") or {}).items():
        _limit(st, pool, most, "idle")
    if len(f) > 10 and f[10]:  # it is queued: what moves it comes next
        st.status, st.active_since = CREATED, -1
    else:
        st.status, st.active_since = RUNNING, st.at
    st.scopes[0] = Scope(0, at=st.at)


def reopened(st: State, f: F.Fact) -> None:
    how, retries = f[1], f[2]
    if len(f) > 3 and f[3]:  # the active time counts anew with every attempt
        st.active_ms = 0
    st.retries, st.failure, st.draining = retries, None, ""
    st.reopened += 1
    if how == "restart":
        st.reopen, st.parked = None, {}
        root = st.scopes[0]
        root.dead, root.used, root.owed, root.spent, root.expired, root.since = {}, {}, {}, {}, {}, dict(root.visits)
        root.most, root.most_seqs = {**root.most, **root.left}, {**root.most_seqs, **root.left_seqs}
        st.scopes = {0: root}


def limited(st: State, f: F.Fact) -> None:
    _limit(st, f[1], f[2], f[3])


def _limit(st: State, pool: str, most: int, why: str) -> None:
    st.pool_limits[pool] = most
    if most:
        st.stopped.pop(pool, None)
    else:
        st.stopped[pool] = why


def wanted(st: State, f: F.Fact) -> None:
    if f[2]:
        st.wanted[f[1]] = 1
    else:
        st.wanted.pop(f[1], None)


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
    if st.redoable and st.status not in (RUNNING, WAITING):
        st.redoable = {}
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
    _, net, _was, nodes, edges, names = f
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
        sc.dead, sc.expired = moved_key(sc.dead, edge_of), moved_key(sc.expired, edge_of)
        sc.used = {node_of.get(n, n): v for n, v in sc.used.items() if node_of.get(n, n) >= 0}
        sc.since = moved_key(sc.since, node_of)
        for name, numbers in (("left", node_of), ("most", node_of), ("left_seqs", edge_of), ("most_seqs", edge_of)):
            setattr(sc, name, moved_key(getattr(sc, name), numbers))
        sc.owed = {}
    for no, name in names.items():
        st.firings[no].name = name
    for timer in st.timers.values():
        if timer.why in ("token", "join_wait"):
            numbers = edge_of if timer.why == "token" else node_of
            timer.data = [timer.data[0], numbers.get(timer.data[1], timer.data[1]), *timer.data[2:]]
    for firing in st.firings.values():
        firing.node = node_of.get(firing.node, firing.node)
        firing.takes = [Taken(edge_of.get(t.edge, t.edge), t.seq, t.envelope) for t in firing.takes]
        firing.passed = None
    for queues in (sc.tokens.values() for sc in st.scopes.values()):
        for queue in queues:
            for token in queue:
                token.passed = None
    for entry in st.ledger:
        entry.node = node_of.get(entry.node, entry.node)
    for lost in st.dropped.values():
        lost.node = node_of.get(lost.node, lost.node)
    st.wanted = {node_of.get(n, n): 1 for n in st.wanted if node_of.get(n, n) >= 0}
    st.redoable = {}  # nothing knows any more what it was made of
    st.records = {node_of.get(n, n): r for n, r in st.records.items() if node_of.get(n, n) >= 0}
    st.parked = {no: was for no, was in st.parked.items() if node_of.get(was.node, was.node) >= 0}
    for was in (st.reopen, *st.parked.values()):
        if was is not None:
            was.node = node_of.get(was.node, was.node)
            was.takes = [Taken(edge_of.get(t.edge, t.edge), t.seq, t.envelope) for t in was.takes]


def forked(st: State, f: F.Fact) -> None:
    _, st.run, st.parent, _at, st.trace = f
    st.hand = None
