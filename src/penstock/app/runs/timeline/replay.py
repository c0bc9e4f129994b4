"""Replay: a run as it was after any of its facts, and the proof that its checkpoint is what its facts lead to."""

from __future__ import annotations

import hashlib

import msgspec

from penstock.app.runs.queries import Queries
from penstock.app.runs.run_view import RunView
from penstock.kernel.replay import fold
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


def replay(door: Queries, run: str, to: int | None = None) -> Replay:
    """Fold the first `to` facts, all of them by default."""
    timeline = door.timeline(run)
    row, turns, total, last = timeline.reading.row, timeline.facts(), timeline.count, timeline.checked(to)
    folded = timeline.fold_to(last)
    net = folded.reader.net
    assert net is not None, "a run's first fact names its net"
    state = encode_state(folded.reader.st)
    checkpoint = row.checkpoint_seq if row.checkpoint is not None else None
    equal = None
    if row.checkpoint is not None:
        st = decode_state(row.checkpoint)
        equal = encode_state(timeline.state_at(row.checkpoint_seq)) == row.checkpoint
        passed = 0
        for at, facts in turns:
            if passed >= row.checkpoint_seq:
                fold(st, facts, at)
            passed += len(facts)
        equal = equal and encode_state(st) == encode_state(timeline.state_at(total))
    digest = hashlib.sha256(state).hexdigest()
    view = folded.view()
    view.key = row.key
    return Replay(last, total, view, folded.marks(), net.net, digest, checkpoint, equal)
