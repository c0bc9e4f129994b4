"""Replay: a run as it was after any of its facts, and the proof that its checkpoint is what its facts lead to."""

from __future__ import annotations

import hashlib

import msgspec

from penstock.app.runs.queries import Queries
from penstock.app.runs.run_view import RunFold, RunView
from penstock.errors import BadInput
from penstock.host.blobs import Blobs
from penstock.kernel import fact as F
from penstock.kernel.replay import fold, fold_to
from penstock.kernel.state import decode_state, encode_state
from penstock.net.draw.marks import Marks
from penstock.net.model import Net


class Replay(msgspec.Struct):
    """`equal` is None where the run has no checkpoint yet: it is written when a run waits, and every so often else."""

    fact: int
    facts: int
    look: RunView
    marks: Marks
    net: Net
    digest: str
    checkpoint: int | None
    equal: bool | None


def replay(penstock: Queries, run: str, to: int | None = None) -> Replay:
    """Fold the first `to` facts, all of them by default."""
    row = penstock.row(run)
    turns = [(t.at, F.decode_facts(t.body)) for t in penstock.store.journal(row.no)]
    total = sum(len(facts) for _, facts in turns)
    last = total if to is None else to
    if not 1 <= last <= total:
        raise BadInput(what="the fact number", why=f"the run has facts 1 to {total}")
    watcher, left = RunFold(penstock.net_of, Blobs(penstock.store).of(row.tenant)), last
    for at, facts in turns:
        if left > 0:
            watcher.turn(at, facts[:left])
        left -= len(facts)
    net = watcher.reader.net
    assert net is not None, "a run's first fact names its net"
    state = encode_state(watcher.reader.st)
    checkpoint = row.checkpoint_seq if row.checkpoint is not None else None
    equal = None
    if row.checkpoint is not None:
        st = decode_state(row.checkpoint)
        folded = fold_to(turns, row.checkpoint_seq)  # type: ignore[arg-type]
        equal = encode_state(folded) == row.checkpoint
        seen = 0
        for at, facts in turns:
            if seen >= row.checkpoint_seq:
                fold(st, facts, at)  # type: ignore[arg-type]
            seen += len(facts)
        equal = equal and encode_state(st) == encode_state(fold_to(turns, total))  # type: ignore[arg-type]
    digest = hashlib.sha256(state).hexdigest()
    look = watcher.view()
    look.key = row.key
    return Replay(last, total, look, watcher.marks(), net.net, digest, checkpoint, equal)
