"""Schedules: which releases start by the clock, and when next."""

from __future__ import annotations

from typing import Protocol

import msgspec

from penstock.store.sql import Sql, marks


class ScheduleRow(msgspec.Struct, frozen=True):
    tenant: str
    name: str
    version: int
    cron: str
    zone: str
    inputs: bytes
    overlap: str
    catch_up: str
    paused: int
    last_at: int | None
    next_at: int | None


class ScheduleStore(Protocol):
    def schedules(self, tenant: str) -> list[ScheduleRow]: ...

    def schedules_due(self, now: int, limit: int = 512) -> list[ScheduleRow]:
        """Of all tenants, not paused, the longest due first."""
        ...

    def next_schedule(self, after: int = 0) -> int | None:
        """The first time after this one at which a schedule is due."""
        ...

    def schedule_fired(self, row: ScheduleRow, last_at: int | None, next_at: int | None) -> bool:
        """False, and nothing changes, when its version or next time is not what the row says any more."""
        ...

    def pause_schedule(self, tenant: str, name: str, paused: bool, next_at: int | None) -> bool:
        """False when there is none. While it is paused its next time stays as it was."""
        ...


_SCHEDULE = "tenant,name,version,cron,zone,inputs,overlap,catch_up,paused,last_at,next_at"
PUT_SCHEDULE = (
    f"INSERT INTO schedule({_SCHEDULE}) VALUES({marks(_SCHEDULE.split(','))}) ON CONFLICT (tenant,name) DO UPDATE SET "
    + ",".join(f"{name}=excluded.{name}" for name in _SCHEDULE.split(",")[2:])
)


class SqlSchedules(Sql):
    def schedules(self, tenant: str) -> list[ScheduleRow]:
        sql = f"SELECT {_SCHEDULE} FROM schedule WHERE tenant=? ORDER BY name"
        return [ScheduleRow(*row) for row in self._read(sql, (tenant,))]

    def schedules_due(self, now: int, limit: int = 512) -> list[ScheduleRow]:
        where = "paused = 0 AND next_at IS NOT NULL AND next_at<=?"
        sql = f"SELECT {_SCHEDULE} FROM schedule WHERE {where} ORDER BY next_at LIMIT ?"
        return [ScheduleRow(*row) for row in self._read(sql, (now, limit))]

    def next_schedule(self, after: int = 0) -> int | None:
        sql = "SELECT min(next_at) FROM schedule WHERE paused = 0 AND next_at IS NOT NULL AND next_at>?"
        at: int | None = self._one(sql, (after,))
        return at

    def schedule_fired(self, row: ScheduleRow, last_at: int | None, next_at: int | None) -> bool:
        where = f"tenant=? AND name=? AND version=? AND next_at {self.SAME} ?"
        sql = f"UPDATE schedule SET last_at=coalesce(?,last_at),next_at=? WHERE {where}"
        return self._change(sql, (last_at, next_at, row.tenant, row.name, row.version, row.next_at)) > 0

    def pause_schedule(self, tenant: str, name: str, paused: bool, next_at: int | None) -> bool:
        sql = "UPDATE schedule SET paused=?,next_at=coalesce(?,next_at) WHERE tenant=? AND name=?"
        return self._change(sql, (int(paused), next_at, tenant, name)) > 0
