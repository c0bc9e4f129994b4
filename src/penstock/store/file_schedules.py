"""Schedules over files: what begins by the clock for every file that fits, and when next."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec
from msgspec.structs import astuple

from penstock.store.sql import Sql, marks


class FileScheduleRow(msgspec.Struct, frozen=True):
    """`code` is the document that it begins. `filter` and `params` are JSON. `id` is given by the store."""

    tenant: str
    organization_id: int | None
    name: str
    code: str
    type: str
    cron: str | None
    interval_s: int | None
    filter: str | None
    params: str | None
    zone: str
    active: int
    last_at: int | None
    next_at: int | None
    created_at: int
    updated_at: int
    id: int = 0


class FileScheduleStore(Protocol):
    def add_file_schedule(self, row: FileScheduleRow) -> FileScheduleRow:
        """As it is in the store, with its number."""
        ...

    def file_schedule(self, tenant: str, id: int) -> FileScheduleRow | None: ...

    def file_schedules(self, tenant: str, *, inactive: bool = False) -> list[FileScheduleRow]:
        """In the order of their numbers; `inactive`: also those that were taken away."""
        ...

    def file_schedules_due(self, now: int, limit: int = 100) -> list[FileScheduleRow]:
        """Of all tenants, active, the longest due first."""
        ...

    def next_file_schedule(self) -> int | None:
        """When the next one is due."""
        ...

    def file_schedule_fired(self, row: FileScheduleRow, last_at: int | None, next_at: int | None, now: int) -> bool:
        """False, and nothing changes, when its next time is not what the row says any more."""
        ...

    def end_file_schedule(self, tenant: str, id: int, now: int) -> bool:
        """It is active no more. False when there is none that is."""
        ...


_COLUMNS = ",".join(name for name in FileScheduleRow.__struct_fields__ if name != "id")
_ROW = f"{_COLUMNS},id"


class SqlFileSchedules(Sql):
    def add_file_schedule(self, row: FileScheduleRow) -> FileScheduleRow:
        sql = f"INSERT INTO file_schedule({_COLUMNS}) VALUES({marks(_COLUMNS.split(','))}) RETURNING {_ROW}"
        with self.transaction():
            return FileScheduleRow(*self._execute(sql, astuple(row)[:-1]).fetchall()[0])

    def file_schedule(self, tenant: str, id: int) -> FileScheduleRow | None:
        sql = f"SELECT {_ROW} FROM file_schedule WHERE tenant=? AND id=?"
        return self._row(FileScheduleRow, sql, (tenant, id))

    def file_schedules(self, tenant: str, *, inactive: bool = False) -> list[FileScheduleRow]:
        some = "" if inactive else " AND active=1"
        return self._all(f"SELECT {_ROW} FROM file_schedule WHERE tenant=?{some} ORDER BY id", (tenant,))

    def file_schedules_due(self, now: int, limit: int = 100) -> list[FileScheduleRow]:
        where = "active=1 AND next_at IS NOT NULL AND next_at<=?"
        return self._all(f"SELECT {_ROW} FROM file_schedule WHERE {where} ORDER BY next_at,id LIMIT ?", (now, limit))

    def next_file_schedule(self) -> int | None:
        sql = "SELECT next_at FROM file_schedule WHERE active=1 AND next_at IS NOT NULL ORDER BY next_at LIMIT 1"
        at: int | None = self._one(sql)
        return at

    def file_schedule_fired(self, row: FileScheduleRow, last_at: int | None, next_at: int | None, now: int) -> bool:
        where = f"id=? AND active=1 AND next_at {self.SAME} ?"
        sql = f"UPDATE file_schedule SET last_at=coalesce(?,last_at),next_at=?,updated_at=? WHERE {where}"
        return self._put(sql, (last_at, next_at, now, row.id, row.next_at))

    def end_file_schedule(self, tenant: str, id: int, now: int) -> bool:
        sql = "UPDATE file_schedule SET active=0,updated_at=? WHERE tenant=? AND id=? AND active=1"
        return self._put(sql, (now, tenant, id))

    def _all(self, sql: str, values: tuple[Any, ...]) -> list[FileScheduleRow]:
        return [FileScheduleRow(*row) for row in self._read(sql, values)]
