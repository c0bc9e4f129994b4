"""The runs of a batch, a slice at a time: which come next, and what was done to them before a crash."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from penstock.app.runs.commands.batch_care import CARELESS, Care
from penstock.app.runs.commands.bulk import MIGRATIONS, BulkCommand
from penstock.app.runs.queries import Queries
from penstock.app.runs.search import Filters, count_runs, find_rows
from penstock.errors import RunAmbiguous, RunNotFound
from penstock.kernel import fact as F
from penstock.store.run_store import RunRow

#: so many are written down, and then done, before the next ones are looked for
SLICE = 20


class Asked(msgspec.Struct, kw_only=True):
    """What is done, and to which runs: these, or all that fit."""

    command: BulkCommand
    filters: Filters | None = None
    ids: list[str] | None = None
    reason: str | None = None
    care: Care = CARELESS


class Step(msgspec.Struct, array_like=True, frozen=True):
    """A run as it was before: its number of facts, and the firings that a retry would ask again."""

    run: str
    no: int = 0
    facts: int = 0
    blocked: list[int] = []


_steps = msgspec.msgpack.Decoder(list[Step])
read_steps = _steps.decode
pack = msgspec.msgpack.Encoder().encode


def first_place(door: Queries, asked: Asked) -> str:
    """Runs that begin later do not belong to it."""
    return "0" if asked.ids is not None else f"0.{door.store.last_run() + 1}"


def total(door: Queries, asked: Asked) -> int | None:
    return len(asked.ids) if asked.ids is not None else count_runs(door, asked.filters or Filters())


async def next_steps(door: Queries, asked: Asked, place: str) -> tuple[list[Step], str | None]:
    """And where it goes on from there; there may be none in a slice and still more behind it."""
    if asked.ids is not None:
        end = int(place) + SLICE
        steps = [_by_id(door, asked.command, run) for run in asked.ids[int(place) : end]]
        return steps, str(end) if end < len(asked.ids) else None
    rows, more = await find_rows(door, asked.filters or Filters(), place, SLICE)
    return [_step(door, asked.command, row) for row in rows], more


def _by_id(door: Queries, command: BulkCommand, run: str) -> Step:
    try:
        return _step(door, command, door.row(run))
    except (RunNotFound, RunAmbiguous):  # told when its turn comes
        return Step(run)


def _step(door: Queries, command: BulkCommand, row: RunRow) -> Step:
    if command.verb != "retry":
        return Step(row.id, row.no, door.store.facts_of(row.no))
    st = door.reading(row).state
    return Step(row.id, row.no, st.n, [no for no, firing in st.firings.items() if firing.blocked])


def done_before(door: Queries, command: BulkCommand, step: Step) -> bool:
    """Has the run taken the command since the step was written down? A signal has an id, and is taken once anyway."""
    if not step.no or command.verb == "signal":
        return False
    facts = (fact for turn in door.store.journal(step.no, step.facts) for fact in F.decode_facts(turn.body))
    return _shows(command.verb, facts, set(step.blocked))


def _shows(verb: str, facts: Iterable[list[object]], blocked: set[int]) -> bool:
    for fact in facts:
        tag = fact[0]
        if verb in ("pause", "resume"):
            shown = tag == F.PAUSED and fact[1] is (verb == "pause")
        elif verb == "retry":
            shown = tag == F.REOPENED or tag == F.ASKED and fact[1] in blocked
        elif verb in MIGRATIONS:
            shown = tag == F.MIGRATED
        elif verb == "cancel":
            shown = tag in (F.DRAINING, F.UNDO_PLANNED) or tag == F.MOVED and fact[1] == "CANCELLED"
        else:
            shown = tag == F.UNDO_PLANNED
        if shown:
            return True
    return False
