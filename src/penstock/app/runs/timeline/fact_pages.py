"""What happened in a run, page by page: read from the checkpoint on where that is near, and only until it is full."""

from __future__ import annotations

import msgspec

from penstock.app.runs.queries import Queries
from penstock.kernel import fact as F
from penstock.kernel.fact_lines import FactLine, FactReader
from penstock.kernel.state import decode_state
from penstock.store.run_store import RunRow


def fact_page(door: Queries, run: str, after: int, limit: int) -> tuple[list[FactLine], int | None, int]:
    """Those after a fact, the number to go on after, and how many facts there are. Lines of one fact stay together, so
    a page may be a little longer. Costs the facts of the page and those before it since the checkpoint, or since the
    beginning where the checkpoint is later."""
    row = door.row(run)
    ((row, tail),) = door.store.load([row.no])
    of = tail[-1].seq_to if tail else row.checkpoint_seq
    reader = reader_at_checkpoint(door, row) if row.checkpoint_seq <= after else None
    reader = reader or FactReader(door.net_of)
    lines: list[FactLine] = []
    for turn in door.store.journal(row.no, reader.st.n):
        lines += [line for line in reader.turn(turn.at, F.decode_facts(turn.body)) if line.seq > after]
        if len(lines) > limit and lines[-1].seq > lines[limit - 1].seq:
            break
    if len(lines) <= limit:
        return lines, None, of
    last = lines[limit - 1].seq
    page = [line for line in lines if line.seq <= last]
    return page, last if len(page) < len(lines) or last < of else None, of


class FactTime(msgspec.Struct, kw_only=True):
    fact: int
    at: int


def fact_times(door: Queries, run: str, most: int) -> tuple[list[FactTime], int]:
    """When facts happened, from the first to the last, as evenly as `most` of them allow; and how many there are. A
    slider over a run of any length is drawn from it. Costs a look-up per fact that is told."""
    row = door.row(run)
    of = _count(door, row)
    steps = min(most, of)
    facts = sorted({1 + step * (of - 1) // max(steps - 1, 1) for step in range(steps)})
    times = door.store.fact_times(row.no, facts)
    return [FactTime(fact=fact, at=at) for fact, at in zip(facts, times, strict=True)], of


def _count(door: Queries, row: RunRow) -> int:
    ((row, tail),) = door.store.load([row.no])
    return tail[-1].seq_to if tail else row.checkpoint_seq


def reader_at_checkpoint(door: Queries, row: RunRow) -> FactReader | None:
    """A reader that has got there; None where a name is needed that only the journal before it has."""
    if row.checkpoint is None:
        return None
    reader = FactReader(door.net_of)
    reader.st = st = decode_state(row.checkpoint)
    if not st.net:
        return None
    reader.net = door.net_of(st.net)
    for no, scope in sorted(st.scopes.items()):
        firing = st.firings.get(scope.firing)
        if no and (firing is None or firing.scope not in reader.paths):
            return None
        if no and firing is not None:
            reader.paths[no] = f"{reader.firing_id(firing)}/{scope.key}"
    return reader
