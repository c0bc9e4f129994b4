"""Event logs that were brought: read as a whole before anything is kept, then kept as they are."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import io
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from penstock.app.access.candidates import Who, id_of
from penstock.app.process.definitions import Processes
from penstock.errors import EventLogsTooMany, EventLogTooLarge, Finding, ProcessNotFound
from penstock.host.limits import Limits, TenantLimits
from penstock.mining.activity_map import ActivityMap, activity_map
from penstock.mining.event import Case
from penstock.mining.event_logs import EventLog, read_log
from penstock.mining.log_options import LogOptions
from penstock.store.event_logs import EventLogRow

if TYPE_CHECKING:
    from penstock.app.runs.runs import Runs

_ID = 16  # digits of the hash
_NAME = 200
_GZIP = b"\x1f\x8b"


class Reading(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a file is read, where its content does not say it: names of columns, and the zone of times without one."""

    columns: dict[str, str] = {}
    zone: str | None = None


class Imported(msgspec.Struct, frozen=True):
    """`new`: false where the same file is there already, read in the same way."""

    log: EventLogRow
    new: bool
    findings: tuple[Finding, ...] = ()


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

    async def add(
        self, data: bytes, name: str, *, process: str | None = None, reading: Reading | None = None,
        by: Who | None = None,
    ) -> Imported:  # fmt: skip
        """Nothing is kept of a log that cannot be read. `process`: whose cases they are. The same file again is the
        same log, under its new name and process."""
        if process is not None:
            process = Processes(self.door).get(process).name
        how = None if reading in (None, Reading()) else msgspec.json.encode(reading).decode()
        sha = hashlib.sha256(data).hexdigest()
        id = hashlib.sha256(f"{sha} {how or ''}".encode()).hexdigest()[:_ID]
        known, findings = self.door.store.event_log(self.door.tenant, id), tuple[Finding, ...]()
        by_name = None if by is None else id_of(by)
        if known is None:
            found, findings, body = await asyncio.to_thread(self._read, data, name, how)
            row = EventLogRow(
                tenant=self.door.tenant, id=id, name=_shown(name), process=process, sha256=sha, size=len(data),
                cases=found.cases, events=found.events, begin_at=found.begin, end_at=found.end, reading=how,
                added_by=by_name, added_at=self.door.now(), body=body,
            )  # fmt: skip
        else:
            row = msgspec.structs.replace(known, name=_shown(name), process=process, added_by=by_name)
        if not self.door.store.put_event_log(row, self.limits["event_logs"]):
            raise EventLogsTooMany(limit=self.limits["event_logs"])
        return Imported(msgspec.structs.replace(row, body=b""), known is None, findings)

    def drop(self, id: str) -> None:
        self.door.store.drop_event_log(self.door.tenant, self.get(id).id)

    def _read(self, data: bytes, name: str, how: str | None) -> tuple[ActivityMap, tuple[Finding, ...], bytes]:
        log = self._opened(data, name, how)
        found = activity_map(log)
        return found, log.findings(), data if data[:2] == _GZIP else gzip.compress(data, 6, mtime=0)

    def _opened(self, data: bytes, name: str, how: str | None) -> EventLog:
        if len(data) > self.limits["event_log_bytes"]:
            raise EventLogTooLarge(limit=self.limits["event_log_bytes"], what="bytes", where=f"byte {len(data)}")
        reading = Reading() if how is None else msgspec.json.decode(how, type=Reading)
        return read_log(io.BytesIO(data), name, options_of(self.limits, reading))

    def cases(self, row: EventLogRow, begin: int | None = None, end: int | None = None) -> Iterator[Case]:
        return in_period(self._opened(row.body, row.name, row.reading), begin, end)


def in_period(cases: Iterable[Case], begin: int | None, end: int | None) -> Iterator[Case]:
    """`begin` <= every event < `end`."""
    for case in cases:
        first, last = (case.events[0].at, case.events[-1].at) if case.events else (0, 0)
        if case.events and (begin is None or first >= begin) and (end is None or last < end):
            yield case


def options_of(limits: TenantLimits, reading: Reading) -> LogOptions:
    return LogOptions(
        columns=reading.columns, zone=reading.zone, max_bytes=limits["event_log_bytes"],
        max_events=limits["event_log_events"],
    )  # fmt: skip


def _shown(name: str) -> str:
    """A name for people: no folder, and of one line."""
    plain = "".join(char for char in name.replace("\\", "/").rpartition("/")[2] if char.isprintable())
    return plain.strip()[:_NAME] or "event log"
