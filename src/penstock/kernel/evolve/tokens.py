"""Tokens: put, taken, absorbed, forwarded."""

from __future__ import annotations

from typing import Any

from penstock.kernel import fact as F
from penstock.kernel.state import Scope, State
from penstock.kernel.token import Envelope, Passed, Taken, Token
from penstock.net.compiled import EPOCH, MOST


def as_envelope(raw: Any) -> Envelope:
    return raw if type(raw) is Envelope else Envelope(*raw)


def put(st: State, f: F.Fact) -> None:
    _, edge, scope, epoch, seq, envelope, path, passed = f
    sc = st.scopes[scope]
    place = edge + (epoch << EPOCH)
    if envelope is None:
        hand = st.hand
        assert hand is not None, "a put without envelope refers to what is in hand"
        token = Token(
            seq, hand.envelope, hand.path if path is None else path, hand.passed if passed is None else passed, st.n
        )
    else:
        token = Token(seq, as_envelope(envelope), path, passed, st.n)
    queue = sc.tokens.get(place)
    if queue is None:
        sc.tokens[place] = [token]
    else:
        queue.append(token)
    sc.seqs[place] = seq + 1
    sc.live += 1
    st.live += 1


def take(sc: Scope, edges: list[int], epoch: int) -> tuple[list[Taken], list[Any], list[Any]]:
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


def rearmed(st: State, f: F.Fact) -> None:
    _pay(st.scopes[f[1]], f[2], f[3], f[4])


def _pay(sc: Scope, at_key: int, visit: int, edges: list[int]) -> None:
    debts = sc.owed[at_key]
    for edge in edges:
        debts[visit].pop(edge, None)
    if not debts[visit]:
        del debts[visit]
        if not debts:
            del sc.owed[at_key]


def absorbed(st: State, f: F.Fact) -> None:
    _, scope, edge, epoch, seqs, why, owed_key, owed_visit = f
    sc = st.scopes[scope]
    place = edge + (epoch << EPOCH)
    left = [t for t in sc.tokens[place] if t.seq not in seqs]
    if left:
        sc.tokens[place] = left
    else:
        del sc.tokens[place]
    sc.live -= len(seqs)
    st.live -= len(seqs)
    if why == "expired":
        sc.expired[place] = st.at
    if owed_visit >= 0:
        _pay(sc, owed_key, owed_visit, [edge])


def dead(st: State, f: F.Fact) -> None:
    sc = st.scopes[f[1]]
    for place in f[2]:
        if place < 0:
            sc.dead.pop(-place - 1, None)
        else:
            sc.dead[place] = 1


def forwarded(st: State, f: F.Fact) -> None:
    _, scope, at_key, node, path, passed_ = f
    st.scopes[scope].spent[at_key] = 1
    record = st.records.get(node)  # none if its last firing was swept
    output, visit, content_type = (
        (record.output, record.visit, record.content_type) if record is not None else (None, 0, None)
    )
    envelope = Envelope(output, node, 0, visit, st.at, content_type, {"maxiter": True})
    st.hand = Token(0, envelope, path, passed_)


def forgot(st: State, f: F.Fact) -> None:
    _, scope, below = f
    sc = st.scopes[scope]
    limit = below << EPOCH
    for forgotten, kept in ((sc.visits, sc.left), (sc.seqs, sc.left_seqs)):
        for at_key, number in forgotten.items():
            if at_key < limit and number > kept.get(at_key & (MOST - 1), 0):
                kept[at_key & (MOST - 1)] = number
    for table in (sc.visits, sc.since, sc.seqs, sc.dead, sc.spent, sc.expired):
        for at_key in [k for k in table if k < limit]:
            del table[at_key]
    for queue in sc.tokens.values():
        for token in queue:
            token.passed = _since(token.passed, limit)
    for firing in st.firings.values():
        if firing.scope == scope:
            firing.passed = _since(firing.passed, limit)


def _since(passed: Passed | None, limit: int) -> Passed | None:
    """Joins of left epochs can no longer be passed; finished work (a negative key) belongs to none."""
    return {k: v for k, v in passed.items() if k >= limit or k < 0} or None if passed else None
