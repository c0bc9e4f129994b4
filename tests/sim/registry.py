"""What tenants have registered and released, in the store of dicts: the same promises as the file on disk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import astuple

from penstock.store.artifacts import ArtifactRow
from penstock.store.document_drafts import DocumentDraftChange
from penstock.store.events import EventRow
from penstock.store.judgments import JudgmentRow
from penstock.store.messages import MessageRow
from penstock.store.releases import ReleaseRow
from penstock.store.schedules import ScheduleRow
from tests.sim.document_drafts import SimDocumentDrafts

if TYPE_CHECKING:
    from tests.sim.store import Disk

Row = tuple[Any, ...]


class SimRegistry(SimDocumentDrafts):
    disk: Disk

    def _rows(self, table: str) -> list[Row]:
        rows = self.disk.tables[table]
        return [rows[key] for key in sorted(rows)]

    def _take(self, table: str) -> int:
        self.disk.last[table] = self.disk.last.get(table, 0) + 1
        return self.disk.last[table]

    # -- artifacts, messages, judgments -------------------------------------------------------------------------------

    def put_artifacts(self, rows: Iterable[ArtifactRow]) -> None:
        self._take("registry")
        for one in rows:
            self.disk.tables["artifact"][one.tenant, one.type, one.id, one.version] = astuple(one)

    def artifacts(self, tenant: str, type: str | None = None) -> list[ArtifactRow]:
        found = [ArtifactRow(*row) for row in self._rows("artifact")]
        return [one for one in found if one.tenant == tenant and type in (None, one.type)]

    def profile(self) -> str | None:
        found = self.disk.tables.setdefault("mark", {}).get("profile")
        return None if found is None else str(found[1])

    def born_with(self, profile: str) -> str:
        return str(self.disk.tables.setdefault("mark", {}).setdefault("profile", ("profile", profile))[1])

    def registry_number(self) -> int:
        return self.disk.last.get("registry", 0)

    def drop_artifact(self, tenant: str, type: str, id: str, version: str = "") -> bool:
        self._take("registry")
        return self.disk.tables["artifact"].pop((tenant, type, id, version), None) is not None

    def put_message(self, message: MessageRow) -> None:
        rows, key = self.disk.tables["message"], (message.key, message.channel, message.target)
        if not any((row[1], row[4], row[5]) == key for row in rows.values()):
            no = self._take("message")
            rows[no] = (no, *astuple(message)[:-1])

    def messages(self, tenant: str, run: str | None = None, limit: int = 100) -> list[MessageRow]:
        found = [MessageRow(*row[1:], row[0]) for row in self._rows("message")]
        return [one for one in found if one.tenant == tenant and run in (None, one.run)][-limit:]

    def judgments(self, tenant: str, *, since: int = 0, reviews: bool = False, limit: int = 100) -> list[JudgmentRow]:
        found = [JudgmentRow(*row) for row in self._rows("judgment")]
        kept = [j for j in found if j.tenant == tenant and j.at >= since and (not reviews or j.needs_review)]
        return sorted(kept, key=lambda j: -j.at)[:limit]

    # -- events -------------------------------------------------------------------------------------------------------

    def _events(self) -> list[EventRow]:
        return [EventRow(*row[1:6], row[0], row[6]) for row in self._rows("event")]

    def put_event(self, event: EventRow) -> int | None:
        if self.event(event.tenant, event.id) is not None:
            return None
        no = self._take("event")
        self.disk.tables["event"][no] = (no, event.tenant, event.id, event.source, event.body, event.at, None)
        return no

    def put_events(self, events: Sequence[EventRow]) -> list[int | None]:
        return [self.put_event(event) for event in events]

    def has_events(self) -> bool:
        return bool(self.disk.tables["event"])

    def event(self, tenant: str, id: str) -> EventRow | None:
        return next((one for one in self._events() if (one.tenant, one.id) == (tenant, id)), None)

    def events(
        self, tenant: str, source: str | None = None, *, since: int = 0, after: int = 0, limit: int = 1000
    ) -> list[EventRow]:
        found = [one for one in self._events() if one.tenant == tenant and one.at >= since and one.no > after]
        return [one for one in found if source in (None, one.source)][:limit]

    def open_events(self, after: Mapping[str, int] = {}, each: int = 200) -> list[EventRow]:
        rows = [row for row in self._events() if row.answer is None and row.no > after.get(row.tenant, 0)]
        return [row for i, row in enumerate(rows) if sum(r.tenant == row.tenant for r in rows[:i]) < each]

    def events_delivered(self, rows: Iterable[tuple[bytes, int]]) -> None:
        there = self.disk.tables["event"]
        for answer, no in rows:
            there[no] = (*there[no][:6], answer)

    def forget_events(self, before: int) -> int:
        there = self.disk.tables["event"]
        gone = [one.no for one in self._events()[:-1] if one.at < before and one.answer is not None]
        for no in gone:
            del there[no]
        return len(gone)

    def early(self) -> list[tuple[int, str]]:
        rows = {(run, name, tenant) for tenant, name, run, _ in self.disk.tables["waiting"].values()}
        return [(run, name) for run, name, tenant in sorted(rows) if self.events(tenant, name)]

    def waiting_for(self, tenant: str, name: str) -> list[int]:
        return sorted({row[2] for row in self.disk.tables["waiting"].values() if row[:2] == (tenant, name)})

    def open_keyed(self, tenant: str, prefix: str) -> list[tuple[int, str]]:
        rows = self._rows("run")
        return [(r[0], r[1]) for r in rows if r[2] == tenant and (r[4] or "").startswith(prefix) and r[5] < 5]

    def ids_by_key(self, tenant: str, keys: Sequence[str]) -> dict[str, str]:
        return {r[4]: r[1] for r in self._rows("run") if r[2] == tenant and r[4] in keys}

    def run_statuses(self, numbers: Sequence[int]) -> dict[int, int]:
        return {r[0]: r[5] for r in self._rows("run") if r[0] in numbers}

    # -- releases and schedules ---------------------------------------------------------------------------------------

    def put_release(self, row: ReleaseRow, outbox: Iterable[tuple[Any, ...]] = ()) -> bool:
        return self.move_releases((), new=[row], outbox=outbox)

    def releases(
        self, tenant: str, name: str | None = None, *, status: str | None = None, listens: str | None = None,
        kind: str | None = None,
    ) -> list[ReleaseRow]:  # fmt: skip
        found = [ReleaseRow(*row) for row in self._rows("release")]
        return [
            one
            for one in found
            if one.tenant == tenant
            and name in (None, one.name)
            and status in (None, one.status)
            and listens in (None, one.listens)
            and (kind in (None, one.kind) or kind == "*" and one.kind is not None)
        ]

    def release(self, tenant: str, name: str, version: int) -> ReleaseRow | None:
        row = self.disk.tables["release"].get((tenant, name, version))
        return None if row is None else ReleaseRow(*row)

    def move_releases(
        self, moves: Iterable[tuple[ReleaseRow, str]], schedules: Iterable[ScheduleRow] = (),
        unscheduled: Iterable[tuple[str, str]] = (), new: Iterable[ReleaseRow] = (),
        outbox: Iterable[tuple[Any, ...]] = (), drafts: Iterable[DocumentDraftChange] = (),
    ) -> bool:  # fmt: skip
        rows = dict(self.disk.tables["release"])
        for row, was in moves:
            there = self.release(row.tenant, row.name, row.version)
            if there is None or there.status != was:
                return False
            rows[row.tenant, row.name, row.version] = astuple(row)
        for row in new:
            if (row.tenant, row.name, row.version) in rows:
                return False
            rows[row.tenant, row.name, row.version] = astuple(row)
        active = [(row[0], row[1]) for row in rows.values() if row[4] == "active"]
        if len(active) != len(set(active)):
            return False
        if not all(self.put_document_draft(row, number) for row, number in drafts):
            return False
        self.disk.tables["release"] = rows
        for key in unscheduled:
            self.disk.tables["schedule"].pop(key, None)
        for one in schedules:
            self.disk.tables["schedule"][one.tenant, one.name] = astuple(one)
        for said in outbox:
            self._insert("outbox", (self._number("outbox"), *said), "fail")
        self.disk.undo.clear()
        return True

    def _schedules(self) -> list[ScheduleRow]:
        return [ScheduleRow(*row) for row in self._rows("schedule")]

    def schedules(self, tenant: str) -> list[ScheduleRow]:
        return [one for one in self._schedules() if one.tenant == tenant]

    def _live(self) -> list[tuple[int, ScheduleRow]]:
        return [(one.next_at, one) for one in self._schedules() if not one.paused and one.next_at is not None]

    def schedules_due(self, now: int, limit: int = 512) -> list[ScheduleRow]:
        due = [(at, one) for at, one in self._live() if at <= now]
        return [one for _, one in sorted(due, key=lambda pair: pair[0])[:limit]]

    def next_schedule(self, after: int = 0) -> int | None:
        return min((at for at, _ in self._live() if at > after), default=None)

    def schedule_fired(self, row: ScheduleRow, last_at: int | None, next_at: int | None) -> bool:
        there = self.disk.tables["schedule"].get((row.tenant, row.name))
        if there is None or (there[2], there[10]) != (row.version, row.next_at):
            return False
        kept = there[9] if last_at is None else last_at
        self.disk.tables["schedule"][row.tenant, row.name] = (*there[:9], kept, next_at)
        return True

    def pause_schedule(self, tenant: str, name: str, paused: bool, next_at: int | None) -> bool:
        there = self.disk.tables["schedule"].get((tenant, name))
        if there is None:
            return False
        at = there[10] if next_at is None else next_at
        self.disk.tables["schedule"][tenant, name] = (*there[:8], int(paused), there[9], at)
        return True
