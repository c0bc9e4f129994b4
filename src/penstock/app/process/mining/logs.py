"""Event logs that were brought: read as a whole before anything is kept, then kept as they are."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from penstock.app.access.candidates import Who, id_of
from penstock.app.process.definitions import Processes
from penstock.errors import EventLogsTooMany, EventLogTooLarge, ProcessNotFound
from penstock.host.limits import Limits
from penstock.mining.activity_map import ActivityMap, activity_map
from penstock.mining.event import Case
from penstock.mining.read_log import read_log
from penstock.store.event_logs import EventLogRow

if TYPE_CHECKING:
    from penstock.app.runs.runs import Runs

_ID = 16  # digits of the hash
_NAME = 200
_GZIP = b"\x1f\x8b"


class Imported(msgspec.Struct, frozen=True):
    """`new`: false where the same file is there already."""

    log: EventLogRow
    new: bool


class EventLogs:
    """Those of one door's tenant (P-7.5.2)."""

    def __init__(self, door: Runs) -> None:
        self.door = door
        self.limits = Limits(door.settings).of(door.tenant)

    def each(self, process: str | None = None) -> list[EventLogRow]:
        """Newest first, without their bodies."""
        return self.door.store.event_logs(self.door.tenant, process=process)

    def get(self, id: str) -> EventLogRow:
        row = self.find(id)
        if row is None:
            raise ProcessNotFound(what="event log", name=id)
        return row

    def find(self, id: str) -> EventLogRow | None:
        """By its id, or by the beginning of one and only one."""
        row = self.door.store.event_log(self.door.tenant, id)
        begins = [log.id for log in self.each() if log.id.startswith(id)] if row is None and len(id) >= 4 else []
        return self.door.store.event_log(self.door.tenant, begins[0]) if len(begins) == 1 else row

    async def add(self, data: bytes, name: str, *, process: str | None = None, by: Who | None = None) -> Imported:
        """Nothing is kept of a log that cannot be read. `process`: whose cases they are. The same file again is the
        same log, under its new name and process."""
        if process is not None:
            process = Processes(self.door).get(process).name
        if len(data) > self.limits["event_log_bytes"]:
            raise EventLogTooLarge(limit=self.limits["event_log_bytes"], what="bytes", where=name)
        sha = hashlib.sha256(data).hexdigest()
        known = self.door.store.event_log(self.door.tenant, sha[:_ID])
        if known is None:
            found, body = await asyncio.to_thread(self._read, data, name)
        row = EventLogRow(
            tenant=self.door.tenant, id=sha[:_ID], name=_shown(name), process=process, sha256=sha, size=len(data),
            cases=found.cases if known is None else known.cases, events=found.events if known is None else known.events,
            begin_at=found.begin if known is None else known.begin_at, end_at=found.end if known is None else known.end_at,
            added_by=None if by is None else id_of(by), added_at=self.door.now(),
            body=body if known is None else known.body,
        )  # fmt: skip
        if not self.door.store.put_event_log(row, self.limits["event_logs"]):
            raise EventLogsTooMany(limit=self.limits["event_logs"])
        return Imported(msgspec.structs.replace(row, body=b""), known is None)

    def drop(self, id: str) -> None:
        self.door.store.drop_event_log(self.door.tenant, self.get(id).id)

    def _read(self, data: bytes, name: str) -> tuple[ActivityMap, bytes]:
        found = activity_map(bounded(read_log(io.BytesIO(data), name), self.limits["event_log_events"]))
        return found, data if data[:2] == _GZIP else gzip.compress(data, 6, mtime=0)

    def cases(self, row: EventLogRow, begin: int | None = None, end: int | None = None) -> Iterator[Case]:
        """`begin` <= every event < `end`."""
        for case in bounded(read_log(io.BytesIO(row.body), row.name), self.limits["event_log_events"]):
            if (begin is None or case.events[0].at >= begin) and (end is None or case.events[-1].at < end):
                yield case


def cases_of_file(path: Path, most: int) -> Iterator[Case]:
    return bounded(read_log(path, path.name), most)


def bounded(cases: Iterator[Case], most: int) -> Iterator[Case]:
    """Raises EventLogTooLarge beyond so many events. A case without an event is none."""
    count = 0
    for case in cases:
        count += len(case.events)
        if count > most:
            raise EventLogTooLarge(limit=most, what="events", where=f"case {case.id}")
        if case.events:
            yield case


def _shown(name: str) -> str:
    """A name for people: no folder, and of one line."""
    plain = "".join(char for char in name.replace("\\", "/").rpartition("/")[2] if char.isprintable())
    return plain.strip()[:_NAME] or "event log"
