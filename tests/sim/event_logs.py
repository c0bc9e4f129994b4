"""Event logs in the store of dicts: the same promises as a file's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import astuple, replace

from penstock.store.event_logs import EventLogRow

if TYPE_CHECKING:
    from tests.sim.store import Disk


class SimEventLogs:
    disk: Disk

    def put_event_log(self, row: EventLogRow, most: int) -> bool:
        if sum(other.id != row.id for other in self.event_logs(row.tenant)) >= most:
            return False
        self.disk.tables["event_log"][row.tenant, row.id] = astuple(row)
        return True

    def event_log(self, tenant: str, id: str) -> EventLogRow | None:
        values = self.disk.tables["event_log"].get((tenant, id))
        return None if values is None else _row(values)

    def event_logs(self, tenant: str, *, process: str | None = None) -> list[EventLogRow]:
        rows = [_row(values) for values in self.disk.tables["event_log"].values()]
        wanted = [row for row in rows if row.tenant == tenant and process in (None, row.process)]
        return sorted((replace(row, body=b"") for row in wanted), key=lambda row: (-row.added_at, row.id))

    def count_event_logs(self, tenant: str) -> int:
        return len(self.event_logs(tenant))

    def drop_event_log(self, tenant: str, id: str) -> bool:
        return self.disk.tables["event_log"].pop((tenant, id), None) is not None


def _row(values: tuple[object, ...]) -> EventLogRow:
    return EventLogRow(**dict(zip(EventLogRow.__struct_fields__, values, strict=True)))  # type: ignore[arg-type]
