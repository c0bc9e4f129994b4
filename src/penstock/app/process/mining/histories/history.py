"""The history of a process: its instances that have ended, as cases with the starts and modes of their activities.

Work items say which were done; their journals, when each was begun and done, every time that it was, and in which mode.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.app.process.definitions import Processes
from penstock.app.process.event_log import SLICE, Wanted, done_rows
from penstock.kernel import fact as F
from penstock.kernel.state import COMPLETED
from penstock.mining.event import Case, Event
from penstock.store.run_lists import Ranking, RunFilter
from penstock.store.work_items import DoneRow

if TYPE_CHECKING:
    from penstock.app.runs.runs import Runs

_ENDED = (COMPLETED, COMPLETED + 1, COMPLETED + 2, COMPLETED + 3)
_LOOKED_AT = 20_000
_FIRST, _LAST = 0, 2**62
_unpack = msgspec.msgpack.decode


class _Done(msgspec.Struct):
    """One work item as its journal tells it, as far as it was read."""

    mode: str = ""
    started: int | None = None
    times: list[tuple[int | None, int, str]] = []  # started, done, mode


def cases_of_runs(door: Runs, id: str, begin: int | None, end: int | None) -> Iterator[Case | None]:
    """One per instance that has come to its end and lies in the period, the oldest first (P-7.3.3, P-7.5.2). None: much
    was read without one, and others may have their turn."""
    period = (begin or 0, _LAST if end is None else end)
    rows: list[DoneRow] = []
    for row in done_rows(door, Wanted(id=id, end=_LAST)):
        if row is None:
            yield None
            continue
        if rows and rows[0].run != row.run:
            yield from _case(door, period, rows)
            rows = []
        rows.append(row)
    if rows:
        yield from _case(door, period, rows)


def _case(door: Runs, period: tuple[int, int], rows: list[DoneRow]) -> Iterator[Case | None]:
    if door.store.run_statuses([rows[0].run]).get(rows[0].run) != COMPLETED:
        return
    items: dict[int, _Done] = {}
    yield from _read(door, rows[0].run, items)
    events: list[Event] = []
    for row in rows:
        prompt = _unpack(row.prompt)
        name = str(prompt.get("title") or prompt.get("activity_id") or "")
        times = items[row.firing].times if row.firing in items else []
        for started, done, mode in times or [(None, row.moved_at, "")]:
            events.append(Event(name, done, started, row.assignee or "system", mode or row.mode or "MANUAL"))
    events.sort(key=lambda event: event.at)
    if period[0] <= events[0].at and events[-1].at < period[1]:
        yield Case(rows[0].run_id, tuple(events))


def _read(door: Runs, run: int, items: dict[int, _Done]) -> Iterator[None]:
    read = 0
    for turn in door.store.journal(run):
        read += turn.seq_to - turn.seq_from + 1
        if read > SLICE:
            read = 0
            yield None
        for f in F.decode_facts(turn.body):
            if f[0] == F.WORK_OPENED:
                items.setdefault(f[1], _Done()).mode = f[6] if len(f) > 6 else ""
            elif f[0] == F.WORK_MOVED:
                _move(items.setdefault(f[1], _Done()), turn.at, f)


def _move(item: _Done, at: int, f: Sequence[Any]) -> None:
    to, verb, mode = f[2], f[3], f[8] if len(f) > 8 else None
    item.mode = mode or item.mode
    if verb == "start":
        item.started = at
    elif to == "DONE":
        item.times.append((item.started, at, item.mode))
        item.started = None
    elif to == "TODO":
        item.started = None


def newest_end(door: Runs, id: str) -> tuple[int, int] | None:
    """What changes whenever another instance has ended, and costs one row: when the last one has, and its number."""
    nets = tuple(row.net for row in Processes(door).versions(id))
    wanted = RunFilter(tenant=door.tenant, below=_LAST, floor=_FIRST, status=_ENDED, nets=nets)
    rows, _ = door.store.ranked_runs(wanted, Ranking(by="updated_at", falling=True), 1, _LOOKED_AT)
    return (rows[0].updated_at, rows[0].no) if rows else None
