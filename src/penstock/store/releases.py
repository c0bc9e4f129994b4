"""Releases: the versions of documents, and which of them is in force."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import msgspec
from msgspec.structs import astuple

from penstock.errors import Fenced
from penstock.store.deployments import DeploymentEventRow, DeploymentInserts, DeploymentRow
from penstock.store.document_drafts import DocumentDraftChange, DocumentDraftChanges
from penstock.store.schedules import PUT_SCHEDULE, ScheduleRow
from penstock.store.sql import marks

#: a deployment, and what has happened to it
NewDeployment = tuple[DeploymentRow, list[DeploymentEventRow]]


#: What a release listens to that listens to more than one name; its net says to which. No event has this for a name.
SEVERAL_NAMES = "\n"


class ReleaseRow(msgspec.Struct, frozen=True):
    tenant: str
    name: str
    version: int
    id: str
    status: str
    hash: str
    net: int
    document: bytes
    listens: str | None
    created_by: str | None
    created_at: int
    approved_by: str | None = None
    approved_at: int | None = None
    deprecated_at: int | None = None
    change_summary: str | None = None
    feedback: str | None = None
    kind: str | None = None
    bpmn: bytes | None = None
    dmn: bytes | None = None
    diff: bytes | None = None
    origin: bytes | None = None


class ReleaseStore(Protocol):
    def put_release(self, row: ReleaseRow, outbox: Iterable[tuple[Any, ...]] = ()) -> bool:
        """False, and nothing changes, when there is this version already. `outbox` are rows of the outbox, written with
        it."""
        ...

    def releases(
        self, tenant: str, name: str | None = None, *, status: str | None = None, listens: str | None = None,
        kind: str | None = None,
    ) -> list[ReleaseRow]:  # fmt: skip
        """By name, then by version, the oldest first. `kind` is that of a process; «*» is any. Among those that listen
        to a name are all that listen to several: whoever asks looks into their nets."""
        ...

    def release(self, tenant: str, name: str, version: int) -> ReleaseRow | None: ...

    def move_releases(
        self, moves: Iterable[tuple[ReleaseRow, str]], schedules: Iterable[ScheduleRow] = (),
        unscheduled: Iterable[tuple[str, str]] = (), new: Iterable[ReleaseRow] = (),
        outbox: Iterable[tuple[Any, ...]] = (), layers: Iterable[NewDeployment] = (),
        drafts: Iterable[DocumentDraftChange] = (),
    ) -> bool:  # fmt: skip
        """In one transaction: versions that become this row from that status, schedules as they are now, tenant and
        name of those that are gone, then versions that are new, rows of the outbox, deployments, and drafts that the
        versions come from. False, and nothing changes, when one had another status or number, was there already, or
        would be the second of its name in force."""
        ...


_RELEASE = (
    "tenant,name,version,id,status,hash,net,document,listens,created_by,created_at,approved_by,approved_at,"
    "deprecated_at,change_summary,feedback,kind,bpmn,dmn,diff,origin"
)
_RELEASED = f"INSERT INTO release({_RELEASE}) VALUES({marks(_RELEASE.split(','))}) ON CONFLICT DO NOTHING"


class SqlReleases(DeploymentInserts, DocumentDraftChanges):
    def put_release(self, row: ReleaseRow, outbox: Iterable[tuple[Any, ...]] = ()) -> bool:
        return self.move_releases((), new=[row], outbox=outbox)

    def releases(
        self, tenant: str, name: str | None = None, *, status: str | None = None, listens: str | None = None,
        kind: str | None = None,
    ) -> list[ReleaseRow]:  # fmt: skip
        # asked for every event; without being told, SQLite would look through all versions of the tenant
        by = self._by("release_listens") if listens is not None and status == "active" else ""
        by = self._by("release_kind") if kind not in (None, "*") and name is None and not by else by
        sql, values = f"SELECT {_RELEASE} FROM release{by} WHERE tenant=?", [tenant]
        if name is not None:
            sql, values = f"{sql} AND name=?", [*values, name]
        if listens is not None:
            sql, values = f"{sql} AND listens IN (?,?)", [*values, listens, SEVERAL_NAMES]
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
        return self._row(ReleaseRow, sql, (tenant, name, version))

    def move_releases(
        self, moves: Iterable[tuple[ReleaseRow, str]], schedules: Iterable[ScheduleRow] = (),
        unscheduled: Iterable[tuple[str, str]] = (), new: Iterable[ReleaseRow] = (),
        outbox: Iterable[tuple[Any, ...]] = (), layers: Iterable[NewDeployment] = (),
        drafts: Iterable[DocumentDraftChange] = (),
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
                self._many(PUT_SCHEDULE, [astuple(row) for row in schedules])
                if not all(self._execute(_RELEASED, astuple(row)).rowcount for row in new):
                    raise _Moved
                self._many("INSERT INTO outbox(run,seq,topic,body,tries,due_at) VALUES(?,?,?,?,?,?)", outbox)
                for layer, events in layers:
                    self._insert_deployment(layer, events)
                if not all(self._change_document_draft(row, number) for row, number in drafts):
                    raise _Moved
        except (_Moved, Fenced):  # Fenced: somebody else has made another version the active one
            return False
        return True


class _Moved(Exception):
    """A version had another status than whoever moves it thought, or was there already."""
