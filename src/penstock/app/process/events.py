"""Events of processes for those who ask: read from the journals, as the outbox has told them (P-E, P-X.38)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.app.process.version_writer import imported
from penstock.app.process.work_items import run_of
from penstock.app.runs.long.read_limits import LOOP_FACTS
from penstock.dialects.process.events import events
from penstock.dialects.process.instance import Instance
from penstock.host.blobs import Blobs
from penstock.kernel import fact as F
from penstock.store.run_lists import RunFilter
from penstock.store.run_store import RunRow

if TYPE_CHECKING:
    from penstock.app.runs.queries import Queries

_PAGE = 50  # runs that are read at once
Position = tuple[int, int]


class PublishedEvent(msgspec.Struct, frozen=True):
    event: str
    proc_inst_id: str | None
    seq: int
    at: int
    payload: dict[str, Any]


def each_event(
    door: Queries, *, run: str | None = None, topic: str | None = None, after: Position | None = None, limit: int = 50
) -> tuple[list[PublishedEvent], Position | None]:
    """In order per instance, the oldest instance first; events of definitions before all of them. With the place from
    which they go on, None at the end."""
    start = after or (0, 0)
    page: list[tuple[Position, PublishedEvent]] = []
    for place, event in _all(door, run_of(door, run) if run is not None else None, start):
        if event is None:  # so many were looked through
            return [event for _, event in page], place
        if topic is None or event.event == topic:
            if len(page) == limit:
                return [event for _, event in page], page[-1][0]
            page.append((place, event))
    return [event for _, event in page], None


def _all(door: Queries, only: RunRow | None, start: Position) -> Iterator[tuple[Position, PublishedEvent | None]]:
    if only is None and start[0] == 0:
        for n, event in enumerate(_imports(door), 1):
            if n > start[1]:
                yield (0, n), event
    folded = 0
    for row in [only] if only is not None else _runs(door, start[0]):
        facts = door.store.facts_of(row.no)
        if folded and folded + facts > LOOP_FACTS:
            yield (row.no - 1, 2**31), None
            return
        folded += facts
        made = Instance(door.net_of, Blobs(door.store).of(row.tenant))
        for turn in door.store.journal(row.no):
            for seq, name, payload in events(made, turn.at, turn.seq_from, F.decode_facts(turn.body)):
                if (row.no, seq) > start:
                    yield (row.no, seq), PublishedEvent(name, row.id, seq, turn.at, payload)


def first_run(door: Queries, after: Position | None) -> str | None:
    """The id of the run that a page begins with."""
    row = next(_runs(door, after[0] if after is not None else 0), None)
    return row.id if row is not None else None


def _imports(door: Queries) -> Iterator[PublishedEvent]:
    for row in door.store.releases(door.tenant, kind="*"):
        if row.origin is not None:
            name, payload = imported(row)
            if payload["event_log_id"] is not None and not msgspec.json.decode(row.origin).get("edited"):
                yield PublishedEvent(name, None, row.version, row.created_at, payload)


def process_nets(door: Queries) -> tuple[int, ...]:
    return tuple(no for no, _, _, language in door.store.nets() if language == "process")


def _runs(door: Queries, first: int) -> Iterator[RunRow]:
    nets, floor = process_nets(door), first
    while nets:
        wanted = RunFilter(tenant=door.tenant, below=2**62, floor=floor, nets=nets)
        page = door.store.find_runs(wanted, _PAGE, oldest=True)
        yield from page
        if len(page) < _PAGE:
            return
        floor = page[-1].no + 1
