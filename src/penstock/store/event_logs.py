"""Event logs that were brought from elsewhere: kept whole, listed without their bodies."""

from __future__ import annotations

from typing import Protocol

import msgspec
from msgspec.structs import astuple

from penstock.store.sql import Sql, marks


class EventLogRow(msgspec.Struct, frozen=True, kw_only=True):
    """`body` is the file, gzip; empty in lists."""

    tenant: str
    id: str
    name: str
    process: str | None
    sha256: str
    size: int
    cases: int
    events: int
    begin_at: int | None
    end_at: int | None
    reading: str | None
    added_by: str | None
    added_at: int
    body: bytes = b""


class EventLogStore(Protocol):
    def put_event_log(self, row: EventLogRow, most: int) -> bool:
        """False, and nothing changes, when the tenant has so many already. One that is there is replaced."""
        ...

    def event_log(self, tenant: str, id: str) -> EventLogRow | None: ...

    def event_logs(self, tenant: str, *, process: str | None = None) -> list[EventLogRow]:
        """Newest first, without their bodies."""
        ...

    def count_event_logs(self, tenant: str) -> int: ...

    def drop_event_log(self, tenant: str, id: str) -> bool: ...


_COLUMNS = ",".join(EventLogRow.__struct_fields__)
_LISTED = _COLUMNS.removesuffix(",body")
_CHANGED = ",".join(f"{name}=excluded.{name}" for name in EventLogRow.__struct_fields__[2:])
_PUT = (
    f"INSERT INTO event_log({_COLUMNS}) VALUES({marks(EventLogRow.__struct_fields__)})"
    f" ON CONFLICT (tenant,id) DO UPDATE SET {_CHANGED}"
)
_COUNT = "SELECT count(*) FROM event_log WHERE tenant=? AND id<>?"


class SqlEventLogs(Sql):
    def put_event_log(self, row: EventLogRow, most: int) -> bool:
        with self.transaction():
            if self._execute(_COUNT, (row.tenant, row.id)).fetchone()[0] >= most:
                return False
            self._execute(_PUT, astuple(row))
        return True

    def event_log(self, tenant: str, id: str) -> EventLogRow | None:
        row = self._read(f"SELECT {_COLUMNS} FROM event_log WHERE tenant=? AND id=?", (tenant, id)).fetchone()
        return None if row is None else _row(row)

    def event_logs(self, tenant: str, *, process: str | None = None) -> list[EventLogRow]:
        asked = {"tenant=?": tenant, "process=?": process}
        some = {text: value for text, value in asked.items() if value is not None}
        sql = f"SELECT {_LISTED} FROM event_log WHERE {' AND '.join(some)} ORDER BY added_at DESC,id"
        return [_row(row) for row in self._rows(sql, tuple(some.values()))]

    def count_event_logs(self, tenant: str) -> int:
        return int(self._one("SELECT count(*) FROM event_log WHERE tenant=?", (tenant,)) or 0)

    def drop_event_log(self, tenant: str, id: str) -> bool:
        return self._put("DELETE FROM event_log WHERE tenant=? AND id=?", (tenant, id))


def _row(values: tuple[object, ...]) -> EventLogRow:
    return EventLogRow(**dict(zip(EventLogRow.__struct_fields__, values, strict=False)))  # type: ignore[arg-type]
