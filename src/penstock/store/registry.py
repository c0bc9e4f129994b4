"""What tenants have registered and released, kept messages and events,. Each write is its own commit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec.structs import astuple

from penstock.errors import Fenced
from penstock.store.contract import ArtifactRow, EventRow, JudgmentRow, MessageRow, ReleaseRow, ScheduleRow
from penstock.store.sql import Sql, marks

_JUDGMENT = "run,firing,tenant,name,node,decision,needs_review,body,at"
_EVENT = "tenant,id,source,body,at,no,answer"
_RELEASE = (
    "tenant,name,version,id,status,hash,net,document,listens,created_by,created_at,approved_by,approved_at,"
    "deprecated_at,change_summary,feedback,kind,bpmn,dmn,diff,origin"
)
_RELEASED = f"INSERT INTO release({_RELEASE}) VALUES({marks(_RELEASE.split(','))}) ON CONFLICT DO NOTHING"
_SCHEDULE = "tenant,name,version,cron,zone,inputs,overlap,catch_up,paused,last_at,next_at"
_SCHEDULED = (
    f"INSERT INTO schedule({_SCHEDULE}) VALUES({marks(_SCHEDULE.split(','))}) ON CONFLICT (tenant,name) DO UPDATE SET "
    + ",".join(f"{name}=excluded.{name}" for name in _SCHEDULE.split(",")[2:])
)

_CHANGED = "INSERT INTO mark VALUES('registry', 1) ON CONFLICT(name) DO UPDATE SET value = mark.value + 1"

PROFILES = ("dev", "production")


class Registry(Sql):
    # -- artifacts -----------------------------------------------------------------------------------------------------

    def put_artifacts(self, rows: Iterable[ArtifactRow]) -> None:
        with self.transaction():
            self._many(
                "INSERT INTO artifact VALUES(?,?,?,?,?,?,?) ON CONFLICT (tenant,type,id,version)"
                " DO UPDATE SET status=excluded.status,body=excluded.body,at=excluded.at",
                [(a.tenant, a.type, a.id, a.version, a.status, a.body, a.at) for a in rows],
            )
            self._execute(_CHANGED)

    def artifacts(self, tenant: str, type: str | None = None) -> list[ArtifactRow]:
        sql = "SELECT tenant,type,id,version,status,body,at FROM artifact WHERE tenant=?"
        if type is None:
            return [ArtifactRow(*row) for row in self._read(sql + " ORDER BY type,id,version", (tenant,))]
        return [ArtifactRow(*row) for row in self._read(sql + " AND type=? ORDER BY id,version", (tenant, type))]

    def drop_artifact(self, tenant: str, type: str, id: str, version: str = "") -> bool:
        with self.transaction():
            where = "tenant=? AND type=? AND id=? AND version=?"
            self._execute(_CHANGED)
            return self._execute(f"DELETE FROM artifact WHERE {where}", (tenant, type, id, version)).rowcount > 0

    def registry_number(self) -> int:
        """Rises with every change of what is registered."""
        return int(self._one("SELECT value FROM mark WHERE name='registry'") or 0)

    def profile(self) -> str | None:
        """What the store was born with: dev or production; None while nobody has said."""
        found: int | None = self._one("SELECT value FROM mark WHERE name='profile'")
        return None if found is None else PROFILES[found]

    def born_with(self, profile: str) -> str:
        """Say it once; the first word stays."""
        with self.transaction():
            self._execute("INSERT INTO mark VALUES('profile', ?) ON CONFLICT DO NOTHING", (PROFILES.index(profile),))
        return self.profile() or profile

    # -- messages ------------------------------------------------------------------------------------------------------

    def put_message(self, message: MessageRow) -> None:
        with self.transaction():
            self._execute(
                "INSERT INTO message(key,tenant,run,channel,target,body,at) VALUES(?,?,?,?,?,?,?)"
                " ON CONFLICT DO NOTHING",
                (message.key, message.tenant, message.run, message.channel, message.target, message.body, message.at),
            )

    def messages(self, tenant: str, run: str | None = None, limit: int = 100) -> list[MessageRow]:
        sql = "SELECT key,tenant,run,channel,target,body,at,no FROM message WHERE tenant=?"
        values: list[Any] = [tenant]
        if run is not None:
            sql, values = sql + " AND run=?", [*values, run]
        rows = self._read(sql + " ORDER BY no DESC LIMIT ?", (*values, limit)).fetchall()
        return [MessageRow(*row) for row in reversed(rows)]

    # -- judgments -----------------------------------------------------------------------------------------------------

    def judgments(self, tenant: str, *, since: int = 0, reviews: bool = False, limit: int = 100) -> list[JudgmentRow]:
        """Newest first."""
        sql = f"SELECT {_JUDGMENT} FROM judgment WHERE tenant=? AND at>=?"
        sql += " AND needs_review=1" if reviews else ""
        return [JudgmentRow(*row) for row in self._read(sql + " ORDER BY at DESC LIMIT ?", (tenant, since, limit))]

    def judgment(self, run: str, firing: int) -> JudgmentRow | None:
        sql = f"SELECT {_JUDGMENT} FROM judgment WHERE run=? AND firing=?"
        row = self._read(sql, (run, firing)).fetchone()
        return None if row is None else JudgmentRow(*row)

    # -- events --------------------------------------------------------------------------------------------------------

    def put_event(self, event: EventRow) -> int | None:
        """The event's number; None when an event with this id is known already."""
        with self.transaction():
            self._lock_events()
            put = self._execute(
                "INSERT INTO event(no,tenant,id,source,body,at)"
                " VALUES((SELECT coalesce(max(no),0)+1 FROM event),?,?,?,?,?)"
                " ON CONFLICT (tenant,id) DO NOTHING RETURNING no",
                (event.tenant, event.id, event.source, event.body, event.at),
            ).fetchall()
        return int(put[0][0]) if put else None

    def _lock_events(self) -> None:
        """One after the other: whoever has counted up to a number misses none that is smaller."""

    def events(
        self, tenant: str, source: str | None = None, *, since: int = 0, after: int = 0, limit: int = 1000
    ) -> list[EventRow]:
        """Oldest first: not older than a time, and after a number."""
        sql = f"SELECT {_EVENT} FROM event WHERE tenant=? AND at>=? AND no>?"
        values: list[Any] = [tenant, since, after]
        if source is not None:
            sql, values = sql + " AND source=?", [*values, source]
        return [EventRow(*row) for row in self._read(sql + " ORDER BY no LIMIT ?", (*values, limit))]

    def has_events(self) -> bool:
        """Is there any, of anybody?"""
        return self._one("SELECT 1 FROM event LIMIT 1") is not None

    def event(self, tenant: str, id: str) -> EventRow | None:
        row = self._read(f"SELECT {_EVENT} FROM event WHERE tenant=? AND id=?", (tenant, id)).fetchone()
        return None if row is None else EventRow(*row)

    def open_events(self, limit: int = 512) -> list[EventRow]:
        sql = f"SELECT {_EVENT} FROM event WHERE answer IS NULL ORDER BY no LIMIT ?"
        return [EventRow(*row) for row in self._read(sql, (limit,))]

    def events_delivered(self, rows: Iterable[tuple[bytes, int]]) -> None:
        with self.transaction():
            self._many("UPDATE event SET answer=? WHERE no=?", rows)

    def forget_events(self, before: int) -> int:
        served = "at<? AND answer IS NOT NULL AND no<(SELECT max(no) FROM event)"
        return self._change(f"DELETE FROM event WHERE {served}", (before,))

    def early(self) -> list[tuple[int, str]]:
        kept = "SELECT 1 FROM event e WHERE e.tenant=r.tenant AND e.source=w.name"
        sql = f"SELECT DISTINCT w.run,w.name FROM waiting w JOIN run r ON r.no=w.run WHERE EXISTS ({kept})"
        return self._read(f"{sql} ORDER BY w.run").fetchall()

    def waiting_for(self, name: str) -> list[tuple[int, str]]:
        """Runs that wait for news of this name: number, tenant."""
        sql = "SELECT DISTINCT w.run, r.tenant FROM waiting w JOIN run r ON r.no=w.run WHERE w.name=? ORDER BY w.run"
        return [(run, tenant) for run, tenant in self._read(sql, (name,))]

    def open_keyed(self, tenant: str, prefix: str) -> list[tuple[int, str]]:
        sql = "SELECT no,id FROM run WHERE tenant=? AND key>=? AND key<? AND status<5 ORDER BY no"
        return self._read(sql, (tenant, prefix, prefix + "\x7f")).fetchall()

    # -- releases ------------------------------------------------------------------------------------------------------

    def put_release(self, row: ReleaseRow, told: Iterable[tuple[Any, ...]] = ()) -> bool:
        return self.move_releases((), new=[row], told=told)

    def releases(
        self, tenant: str, name: str | None = None, *, status: str | None = None, listens: str | None = None,
        kind: str | None = None,
    ) -> list[ReleaseRow]:  # fmt: skip
        # asked for every event; without being told, SQLite would look through all versions of the tenant
        by = self._by("release_listens") if listens is not None and status == "active" else ""
        by = self._by("release_kind") if kind not in (None, "*") and name is None and not by else by
        sql, values = f"SELECT {_RELEASE} FROM release{by} WHERE tenant=?", [tenant]
        for column, value in (("name", name), ("listens", listens)):
            if value is not None:
                sql, values = f"{sql} AND {column}=?", [*values, value]
        if kind is not None:
            sql += " AND kind IS NOT NULL" if kind == "*" else " AND kind=?"
            values += [] if kind == "*" else [kind]
        if status == "active":
            sql += " AND status='active'"  # as text, or the partial indexes cannot be used
        elif status is not None:
            sql, values = f"{sql} AND status=?", [*values, status]
        return [ReleaseRow(*row) for row in self._read(f"{sql} ORDER BY name,version", values)]

    def release(self, tenant: str, name: str, version: int) -> ReleaseRow | None:
        sql = f"SELECT {_RELEASE} FROM release WHERE tenant=? AND name=? AND version=?"
        row = self._read(sql, (tenant, name, version)).fetchone()
        return None if row is None else ReleaseRow(*row)

    def move_releases(
        self, moves: Iterable[tuple[ReleaseRow, str]], schedules: Iterable[ScheduleRow] = (),
        unscheduled: Iterable[tuple[str, str]] = (), new: Iterable[ReleaseRow] = (),
        told: Iterable[tuple[Any, ...]] = (),
    ) -> bool:  # fmt: skip
        move = (
            "UPDATE release SET status=?,approved_by=?,approved_at=?,deprecated_at=?,feedback=?"
            " WHERE tenant=? AND name=? AND version=? AND status=?"
        )
        try:
            with self.transaction():
                for row, was in moves:
                    to = (row.status, row.approved_by, row.approved_at, row.deprecated_at, row.feedback)
                    if not self._execute(move, (*to, row.tenant, row.name, row.version, was)).rowcount:
                        raise _Moved
                self._many("DELETE FROM schedule WHERE tenant=? AND name=?", unscheduled)
                self._many(_SCHEDULED, [astuple(one) for one in schedules])
                if not all(self._execute(_RELEASED, astuple(row)).rowcount for row in new):
                    raise _Moved
                self._many("INSERT INTO outbox(run,seq,topic,body,tries,due_at) VALUES(?,?,?,?,?,?)", told)
        except (_Moved, Fenced):  # Fenced: somebody else has made another version the active one
            return False
        return True

    # -- schedules -----------------------------------------------------------------------------------------------------

    def schedules(self, tenant: str) -> list[ScheduleRow]:
        sql = f"SELECT {_SCHEDULE} FROM schedule WHERE tenant=? ORDER BY name"
        return [ScheduleRow(*row) for row in self._read(sql, (tenant,))]

    def schedules_due(self, now: int, limit: int = 512) -> list[ScheduleRow]:
        where = "paused = 0 AND next_at IS NOT NULL AND next_at<=?"
        sql = f"SELECT {_SCHEDULE} FROM schedule WHERE {where} ORDER BY next_at LIMIT ?"
        return [ScheduleRow(*row) for row in self._read(sql, (now, limit))]

    def next_schedule(self, after: int = 0) -> int | None:
        sql = "SELECT min(next_at) FROM schedule WHERE paused = 0 AND next_at IS NOT NULL AND next_at>?"
        found: int | None = self._one(sql, (after,))
        return found

    def schedule_fired(self, row: ScheduleRow, last_at: int | None, next_at: int | None) -> bool:
        where = f"tenant=? AND name=? AND version=? AND next_at {self.SAME} ?"
        sql = f"UPDATE schedule SET last_at=coalesce(?,last_at),next_at=? WHERE {where}"
        return self._change(sql, (last_at, next_at, row.tenant, row.name, row.version, row.next_at)) > 0

    def pause_schedule(self, tenant: str, name: str, paused: bool, next_at: int | None) -> bool:
        sql = "UPDATE schedule SET paused=?,next_at=coalesce(?,next_at) WHERE tenant=? AND name=?"
        return self._change(sql, (int(paused), next_at, tenant, name)) > 0


class _Moved(Exception):
    """A version had another status than whoever moves it thought, or was there already."""
