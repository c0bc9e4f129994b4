"""Events from outside: kept until they are delivered, and for runs that come to wait for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from penstock.store.sql import Sql


class EventRow(msgspec.Struct, frozen=True):
    tenant: str
    id: str
    source: str
    body: bytes
    at: int
    no: int = 0
    answer: bytes | None = None


class EventStore(Protocol):
    def put_event(self, event: EventRow) -> int | None:
        """The event's number; None when an event with this id is known already."""
        ...

    def put_events(self, events: Sequence[EventRow]) -> list[int | None]:
        """The same for several, in one transaction."""
        ...

    def events(
        self, tenant: str, source: str | None = None, *, since: int = 0, after: int = 0, limit: int = 1000
    ) -> list[EventRow]: ...

    def event(self, tenant: str, id: str) -> EventRow | None: ...

    def has_events(self) -> bool:
        """Is there any, of anybody?"""
        ...

    def open_events(self, after: Mapping[str, int] = {}, each: int = 200) -> list[EventRow]:
        """Events that are not delivered yet: of each tenant so many, oldest first, behind the number in `after`."""
        ...

    def events_delivered(self, rows: Iterable[tuple[bytes, int]]) -> None:
        """In one transaction: answer, no."""
        ...

    def forget_events(self, before: int) -> int:
        """Delivered ones that are older; the newest of all stays, for a number is given once."""
        ...

    def early(self) -> list[tuple[int, str]]:
        """Runs that wait for news of which an event is kept: number, name."""
        ...

    def waiting_for(self, tenant: str, name: str) -> list[int]:
        """Numbers of a tenant's runs that wait for news of this name; others' waits are not looked at."""
        ...


_EVENT = "tenant,id,source,body,at,no,answer"


class SqlEvents(Sql):
    def put_event(self, event: EventRow) -> int | None:
        return self.put_events((event,))[0]

    def put_events(self, events: Sequence[EventRow]) -> list[int | None]:
        numbers: list[int | None] = []
        with self.transaction():
            self._lock_events()
            for event in events:
                put = self._execute(
                    "INSERT INTO event(no,tenant,id,source,body,at)"
                    " VALUES((SELECT coalesce(max(no),0)+1 FROM event),?,?,?,?,?)"
                    " ON CONFLICT (tenant,id) DO NOTHING RETURNING no",
                    (event.tenant, event.id, event.source, event.body, event.at),
                ).fetchall()
                numbers.append(int(put[0][0]) if put else None)
        return numbers

    def events(
        self, tenant: str, source: str | None = None, *, since: int = 0, after: int = 0, limit: int = 1000
    ) -> list[EventRow]:
        """Oldest first: not older than a time, and after a number."""
        sql = f"SELECT {_EVENT} FROM event WHERE tenant=? AND at>=? AND no>?"
        values: list[Any] = [tenant, since, after]
        if source is not None:
            sql, values = sql + " AND source=?", [*values, source]
        return [EventRow(*row) for row in self._read(sql + " ORDER BY no LIMIT ?", (*values, limit))]

    def event(self, tenant: str, id: str) -> EventRow | None:
        return self._row(EventRow, f"SELECT {_EVENT} FROM event WHERE tenant=? AND id=?", (tenant, id))

    def has_events(self) -> bool:
        """Is there any, of anybody?"""
        return self._one("SELECT 1 FROM event LIMIT 1") is not None

    def open_events(self, after: Mapping[str, int] = {}, each: int = 200) -> list[EventRow]:
        first = "SELECT tenant FROM event WHERE answer IS NULL AND tenant>? ORDER BY tenant LIMIT 1"
        own = f"SELECT {_EVENT} FROM event WHERE answer IS NULL AND tenant=? AND no>? ORDER BY no LIMIT ?"
        rows: list[EventRow] = []
        tenant: str | None = self._one(first, ("",))
        while tenant is not None:  # one step into the index per tenant, however much one of them has
            rows += [EventRow(*row) for row in self._read(own, (tenant, after.get(tenant, 0), each))]
            tenant = self._one(first, (tenant,))
        return sorted(rows, key=lambda row: row.no)

    def events_delivered(self, rows: Iterable[tuple[bytes, int]]) -> None:
        with self.transaction():
            self._many("UPDATE event SET answer=? WHERE no=?", rows)

    def forget_events(self, before: int) -> int:
        served = "at<? AND answer IS NOT NULL AND no<(SELECT max(no) FROM event)"
        return self._change(f"DELETE FROM event WHERE {served}", (before,))

    def early(self) -> list[tuple[int, str]]:
        kept = "SELECT 1 FROM event e WHERE e.tenant=w.tenant AND e.source=w.name"
        sql = f"SELECT DISTINCT w.run,w.name FROM waiting w WHERE EXISTS ({kept})"
        return self._read(f"{sql} ORDER BY w.run").fetchall()

    def waiting_for(self, tenant: str, name: str) -> list[int]:
        sql = "SELECT DISTINCT run FROM waiting WHERE tenant=? AND name=? ORDER BY run"
        return [row[0] for row in self._read(sql, (tenant, name))]

    def _lock_events(self) -> None:
        """One after the other: whoever has counted up to a number misses none that is smaller."""
