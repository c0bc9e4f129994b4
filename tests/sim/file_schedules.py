"""Schedules over files in the store of dicts: the same promises as a file's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import astuple, replace

from penstock.store.file_schedules import FileScheduleRow

if TYPE_CHECKING:
    from tests.sim.store import Disk


class SimFileSchedules:
    disk: Disk

    def _over_files(self) -> list[FileScheduleRow]:
        rows = self.disk.tables["file_schedule"].values()
        return sorted((FileScheduleRow(*row[1:], id=row[0]) for row in rows), key=lambda row: row.id)

    def _keep_schedule(self, row: FileScheduleRow) -> FileScheduleRow:
        self.disk.tables["file_schedule"][row.id] = (row.id, *astuple(row)[:-1])
        return row

    def add_file_schedule(self, row: FileScheduleRow) -> FileScheduleRow:
        return self._keep_schedule(replace(row, id=max(self.disk.tables["file_schedule"], default=0) + 1))

    def file_schedule(self, tenant: str, id: int) -> FileScheduleRow | None:
        return next((row for row in self._over_files() if (row.tenant, row.id) == (tenant, id)), None)

    def file_schedules(self, tenant: str, *, inactive: bool = False) -> list[FileScheduleRow]:
        return [row for row in self._over_files() if row.tenant == tenant and (row.active or inactive)]

    def _waiting_schedules(self) -> list[tuple[int, FileScheduleRow]]:
        rows = [(row.next_at, row) for row in self._over_files() if row.active and row.next_at is not None]
        return sorted(rows, key=lambda each: (each[0], each[1].id))

    def file_schedules_due(self, now: int, limit: int = 100) -> list[FileScheduleRow]:
        return [row for at, row in self._waiting_schedules() if at <= now][:limit]

    def next_file_schedule(self) -> int | None:
        return next((at for at, _ in self._waiting_schedules()), None)

    def file_schedule_fired(self, row: FileScheduleRow, last_at: int | None, next_at: int | None, now: int) -> bool:
        kept = self.file_schedule(row.tenant, row.id)
        if kept is None or not kept.active or kept.next_at != row.next_at:
            return False
        last = kept.last_at if last_at is None else last_at
        self._keep_schedule(replace(kept, last_at=last, next_at=next_at, updated_at=now))
        return True

    def end_file_schedule(self, tenant: str, id: int, now: int) -> bool:
        row = self.file_schedule(tenant, id)
        if row is None or not row.active:
            return False
        self._keep_schedule(replace(row, active=0, updated_at=now))
        return True
