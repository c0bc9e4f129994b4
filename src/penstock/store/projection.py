"""From facts to rows: what people query. The engine never asks them; `rebuild` makes them again from the journal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, runtime_checkable

import msgspec

from penstock.kernel import fact as F
from penstock.kernel.evolve import EVOLVE
from penstock.kernel.state import COMPLETED, Firing, State, new_state
from penstock.net.compiled import Compiled
from penstock.store.run_store import Batch, JournalRow, RunRow
from penstock.store.use_projection import project_run_uses, project_uses

_pack = msgspec.msgpack.Encoder().encode
#: as much of a message as people search by
LONGEST_CAUSE = 300
WATCHED = frozenset({F.WORK_OPENED, F.WORK_MOVED, F.WAIT_OPENED, F.WAIT_GONE, F.INCIDENT, F.SWEPT})


class Projector(Protocol):
    """What the language of a run derives from its facts, beside what every run has."""

    def settled(self, fact: Any, firing: Firing, at: int, batch: Batch) -> None:
        """A firing settles; it is still as it was before."""
        ...

    def turn(self, facts: Iterable[Any], first: int, at: int, batch: Batch) -> None:
        """All facts of a turn; `first` is the number of the first of them."""
        ...


@runtime_checkable
class Following(Protocol):
    """A projector that goes on where a run goes over to another net; of any other a new one is made."""

    def follow(self, net: Compiled) -> None:
        """Before it hears the turn in which that happens."""
        ...


def firing_row(run: int, firing: Firing, status: int, at: int) -> tuple[int, ...]:
    return (run, firing.no, firing.node, firing.epoch, firing.visit, firing.attempt, status, firing.at, at)


def project(
    batch: Batch, tenant: str, run: int, facts: Iterable[F.Fact], first: int, at: int, names: dict[int, str]
) -> None:  # fmt: skip
    """Rows of the watched facts of a turn. `names` remembers the signal names of open waits."""
    for seq, f in enumerate(facts, first):
        tag = f[0]
        if tag not in WATCHED:
            continue
        if tag == F.WORK_OPENED:
            _open_item(batch, run, f, at)
        elif tag == F.WORK_MOVED:
            batch.item_moved.append((f[2], f[4], at, run, f[1]))
        elif tag == F.WAIT_OPENED:
            names[f[1]] = f[4]
            batch.wait.append((tenant, f[4], run, f[1]))
        elif tag == F.WAIT_GONE:
            _unwait(batch, tenant, run, f[1], names)
        elif tag == F.INCIDENT:
            batch.incident.append((run, seq, f[1], str(f[2]), at))


def _open_item(batch: Batch, run: int, f: Any, at: int) -> None:
    """A firing that is revived opens its item anew: moves of the former one in the same batch must not reach it."""
    if batch.item_moved:
        batch.item_moved = [move for move in batch.item_moved if move[3] != run or move[4] != f[1]]
    candidates = None if f[4] is None else _pack(f[4])
    batch.item_new.append((run, f[1], f[2], "TODO", _pack(f[3]), candidates, None, at, at))


def _unwait(batch: Batch, tenant: str, run: int, wait: int, names: dict[int, str]) -> None:
    name = names.pop(wait, None)
    if name is not None:
        batch.unwait.append((tenant, name, run, wait))


def sweep_waits(batch: Batch, tenant: str, run: int, open_waits: Iterable[int], names: dict[int, str]) -> None:
    """Waits that a sweep has taken: named before, not open any more."""
    still = set(open_waits)
    for wait in [w for w in names if w not in still]:
        _unwait(batch, tenant, run, wait, names)


def project_cause(batch: Batch, row: tuple[int, str, int], st: State, at: int) -> None:
    """After a turn in which a run (its number, tenant and net) has ended badly, or goes on again after such an end."""
    run, tenant, net = row
    if st.status < COMPLETED:
        batch.cause = [cause for cause in batch.cause if cause[0] != run]
        batch.cause_gone.append((run,))
    elif st.status != COMPLETED and st.failure is not None:
        failure = st.failure
        said = failure.message[:LONGEST_CAUSE]
        batch.cause.append((run, tenant, st.status, at, net, failure.node or "", failure.code, said))


# ---- all of it -------------------------------------------------------------------------------------------------------


def rows_of(
    row: RunRow, journal: Iterator[JournalRow], batch: Batch,
    projector_of: Callable[[str], Projector | None] | None = None,
) -> State:  # fmt: skip
    """Every projected row of a run, folded from its journal. `projector_of` gives what the language of a net derives
    beside them; it is asked again when the run goes over to another net."""
    st = new_state()
    names: dict[int, str] = {}
    decode = F.decode_facts
    projector: Projector | None = None
    net = ""
    for turn in journal:
        st.at, was = turn.at, st.status
        facts: list[Any] = decode(turn.body)
        for f in facts:
            if f[0] == F.SETTLED:
                firing = st.firings[f[1]]
                batch.firing.append(firing_row(row.no, firing, f[2], turn.at))
                if projector is not None:
                    projector.settled(f, firing, turn.at, batch)
            EVOLVE[f[0]](st, f)
            st.n += 1
            if st.net != net and projector_of is not None:
                projector, net = projector_of(st.net), st.net
        st.hand = None
        project(batch, row.tenant, row.no, facts, turn.seq_from, turn.at, names)
        if projector is not None:
            projector.turn(facts, turn.seq_from, turn.at, batch)
        project_uses(batch, row.tenant, row.id, facts, turn.at)
        if st.status != was and st.status >= COMPLETED:
            project_run_uses(batch, st, row.created_at, turn.at)
        if any(f[0] == F.SWEPT for f in facts):
            sweep_waits(batch, row.tenant, row.no, st.waits, names)
        if st.status != was and (st.status > COMPLETED or was > COMPLETED):
            project_cause(batch, (row.no, row.tenant, row.net), st, turn.at)
    return st
