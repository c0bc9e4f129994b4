"""Deployments: how each stands, what has happened to it, and the uses that tell how well it does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec
from msgspec.structs import astuple, replace

from penstock.store.artifacts import CHANGED
from penstock.store.deployment_tables import ARTIFACT_USE, DEPLOYMENT, DEPLOYMENT_EVENT
from penstock.store.sql import Sql, is_in, marks


class DeploymentRow(msgspec.Struct, frozen=True, kw_only=True):
    """In the order of the table's columns. `lines`, `request`, `stages`, `live_lines` and `checks` are JSON."""

    tenant: str
    id: str
    rank: int = 0  # given by the store
    type: str
    artifact: str
    version: str
    previous: str | None = None
    environment: str
    lines: str | None = None
    request: str
    stages: str
    status: str
    percent: int
    progress: int
    stage: int = 0
    live_lines: str | None = None
    number: int = 1
    run: str | None = None
    node: str | None = None
    rollout: str | None = None
    by: str | None = None
    reason: str | None = None
    to_version: str | None = None
    pinned: int = 0
    began_at: int
    stage_at: int
    next_at: int | None = None
    paused_at: int | None = None
    ended_at: int | None = None
    checks: str = "{}"


class DeploymentEventRow(msgspec.Struct, frozen=True):
    """`body` is JSON."""

    tenant: str
    deployment: str
    number: int
    at: int
    what: str
    who: str | None
    percent: int
    body: str


class LayerRow(msgspec.Struct, frozen=True):
    """What a deployment does to the version that applies; its lines are JSON."""

    id: str
    type: str
    artifact: str
    environment: str
    version: str
    previous: str | None
    percent: int
    lines: str | None
    live_lines: str | None
    to_version: str | None
    pinned: int
    status: str
    began_at: int


class UsedArtifact(msgspec.Struct, frozen=True):
    """Which uses are asked for: of a thing, in an environment, in a window of time, in some lines (None: in all)."""

    tenant: str
    type: str
    artifact: str
    environment: str
    since: int
    until: int
    lines: Sequence[str] | None = None


class DeploymentStore(Protocol):
    def put_deployment(self, row: DeploymentRow, events: Sequence[DeploymentEventRow]) -> DeploymentRow:
        """A new one, above all others of its tenant; the one that is there where its id is known. One commit, after
        which the registry's number is another."""
        ...

    def move_deployment(self, row: DeploymentRow, was: int, event: DeploymentEventRow | None = None) -> bool:
        """The row as it is now, where its number is still `was`; False: somebody has moved it meanwhile."""
        ...

    def deployment(self, tenant: str, id: str) -> DeploymentRow | None: ...

    def live_deployments(self) -> list[DeploymentRow]:
        """Those of all tenants that have not ended, the oldest first."""
        ...

    def deployments(
        self, tenant: str, *, status: Sequence[str] = (), type: str = "", artifact: str = "", environment: str = "",
        before: int | None = None, limit: int = 50,
    ) -> list[DeploymentRow]:  # fmt: skip
        """Newest first, below the rank `before`."""
        ...

    def deployment_layers(self, tenant: str) -> list[LayerRow]:
        """Of every deployment, the topmost first."""
        ...

    def deployment_events(self, tenant: str, id: str) -> list[DeploymentEventRow]:
        """Oldest first."""
        ...

    def use_counts(self, uses: UsedArtifact, bucket_ms: int = 0) -> list[tuple[int, str, str, int, int]]:
        """Bucket of time, version, decision, uses, failures. Without buckets all are in one."""
        ...

    def use_runs(self, uses: UsedArtifact, version: str) -> tuple[int, int]:
        """How many runs have used this version, and how many any."""
        ...

    def use_time(self, uses: UsedArtifact, version: str, place: int) -> int | None:
        """How long a use took: the one at this place, from 0, when they are ordered by that."""
        ...

    def forget_uses(self, before: int) -> int:
        """Older ones, but those of things that are being rolled out where they were used. How many."""
        ...


_COLUMNS = ",".join(f'"{name}"' for name in DEPLOYMENT.names)
_EVENT = ",".join(f'"{name}"' for name in DEPLOYMENT_EVENT.names)
_LAYER = ",".join(f'"{name}"' for name in LayerRow.__struct_fields__)
_SELECT = f"SELECT {_COLUMNS} FROM deployment WHERE tenant=?"
_NEW = f"INSERT INTO deployment({_COLUMNS}) VALUES({marks(DEPLOYMENT.names)}) ON CONFLICT DO NOTHING"
_KEY = ("tenant", "id", "rank")
_MOVED = tuple(name for name in DEPLOYMENT.names if name not in _KEY)
_MOVE = "UPDATE deployment SET " + ",".join(f'"{name}"=?' for name in _MOVED) + " WHERE tenant=? AND id=? AND number=?"
_PUT_EVENT = f"INSERT INTO deployment_event({_EVENT}) VALUES({marks(DEPLOYMENT_EVENT.names)}) ON CONFLICT DO NOTHING"
_USES = 'FROM artifact_use WHERE tenant=? AND "type"=? AND artifact=? AND environment=? AND at>=? AND at<?'
_USE_NAMES = ",".join(f'"{name}"' for name in ARTIFACT_USE.names)
#: rows of a batch, in the order of the table
PUT_USE = (
    f"INSERT INTO artifact_use({_USE_NAMES}) VALUES({marks(ARTIFACT_USE.names)})"
    " ON CONFLICT (run,firing,type,artifact) DO UPDATE SET "
    + ",".join(f'"{column.name}"=excluded."{column.name}"' for column in ARTIFACT_USE.columns if not column.key)
)


def _row(values: Sequence[Any]) -> DeploymentRow:
    return DeploymentRow(**dict(zip(DEPLOYMENT.names, values, strict=True)))


class DeploymentInserts(Sql):
    """New deployments inside the transaction of somebody else."""

    def _insert_deployment(self, row: DeploymentRow, events: Sequence[DeploymentEventRow]) -> None:
        """Above all others of its tenant; nothing where its id is known."""
        self._execute(CHANGED)  # first: two at once wait here, and do not take the same rank
        highest = self._execute("SELECT max(rank) FROM deployment WHERE tenant=?", (row.tenant,)).fetchone()[0]
        if self._execute(_NEW, astuple(replace(row, rank=(highest or 0) + 1))).rowcount > 0:
            self._many(_PUT_EVENT, [astuple(event) for event in events])


class SqlDeployments(DeploymentInserts):
    def put_deployment(self, row: DeploymentRow, events: Sequence[DeploymentEventRow]) -> DeploymentRow:
        with self.transaction():
            self._insert_deployment(row, events)
        kept = self.deployment(row.tenant, row.id)
        assert kept is not None, "it was just put"
        return kept

    def move_deployment(self, row: DeploymentRow, was: int, event: DeploymentEventRow | None = None) -> bool:
        values = [getattr(row, name) for name in _MOVED]
        with self.transaction():
            if self._execute(_MOVE, (*values, row.tenant, row.id, was)).rowcount < 1:
                return False
            if event is not None:
                self._execute(_PUT_EVENT, astuple(event))
                self._execute(CHANGED)
        return True

    def deployment(self, tenant: str, id: str) -> DeploymentRow | None:
        row = self._read(f"{_SELECT} AND id=?", (tenant, id)).fetchone()
        return None if row is None else _row(row)

    def deployments(
        self, tenant: str, *, status: Sequence[str] = (), type: str = "", artifact: str = "", environment: str = "",
        before: int | None = None, limit: int = 50,
    ) -> list[DeploymentRow]:  # fmt: skip
        sql, values = _SELECT, [tenant]
        for column, wanted in (('"type"', type), ("artifact", artifact), ("environment", environment)):
            if wanted:
                sql, values = f"{sql} AND {column}=?", [*values, wanted]
        if status:
            sql, values = f"{sql} AND {is_in('status', status)}", [*values, *status]
        more: list[Any] = []
        if before is not None:
            sql, more = f"{sql} AND rank<?", [before]
        rows = self._read(f"{sql} ORDER BY rank DESC LIMIT ?", (*values, *more, limit))
        return [_row(row) for row in rows]

    def live_deployments(self) -> list[DeploymentRow]:
        sql = f"SELECT {_COLUMNS} FROM deployment WHERE status IN ('in_progress','paused') ORDER BY tenant,rank"
        return [_row(row) for row in self._read(sql, ())]

    def deployment_layers(self, tenant: str) -> list[LayerRow]:
        rows = self._read(f"SELECT {_LAYER} FROM deployment WHERE tenant=? ORDER BY rank DESC", (tenant,))
        return [LayerRow(*row) for row in rows]

    def deployment_events(self, tenant: str, id: str) -> list[DeploymentEventRow]:
        sql = f"SELECT {_EVENT} FROM deployment_event WHERE tenant=? AND deployment=? ORDER BY number"
        return [DeploymentEventRow(*row) for row in self._read(sql, (tenant, id))]

    def use_counts(self, uses: UsedArtifact, bucket_ms: int = 0) -> list[tuple[int, str, str, int, int]]:
        where, values = _where(uses)
        # whole numbers by both databases; the value is ours
        bucket = f"(at-{int(uses.since)})/{int(bucket_ms)}" if bucket_ms else "0"
        sql = f"SELECT {bucket} AS bucket,version,decision,count(*),sum(failed) {where} GROUP BY 1,2,3 ORDER BY 1,2,3"
        return [(int(b), v, d, int(n), int(f)) for b, v, d, n, f in self._read(sql, values)]

    def use_runs(self, uses: UsedArtifact, version: str) -> tuple[int, int]:
        where, values = _where(uses)
        sql = f"SELECT count(DISTINCT CASE WHEN version=? THEN run END),count(DISTINCT run) {where}"
        counted, total = self._read(sql, (version, *values)).fetchone()
        return int(counted), int(total)

    def use_time(self, uses: UsedArtifact, version: str, place: int) -> int | None:
        where, values = _where(uses)
        found = self._one(f"SELECT ms {where} AND version=? ORDER BY ms LIMIT 1 OFFSET ?", (*values, version, place))
        return None if found is None else int(found)

    def forget_uses(self, before: int) -> int:
        names = ("tenant", "type", "artifact", "environment")
        same = " AND ".join(f'd."{name}"=artifact_use."{name}"' for name in names)
        live = f"SELECT 1 FROM deployment d WHERE {same} AND d.status IN ('in_progress','paused')"
        return self._change(f"DELETE FROM artifact_use WHERE at<? AND NOT EXISTS ({live})", (before,))


def _where(uses: UsedArtifact) -> tuple[str, tuple[Any, ...]]:
    values: tuple[Any, ...] = (
        uses.tenant, uses.type, uses.artifact, uses.environment, uses.since, uses.until,
    )  # fmt: skip
    if uses.lines is None:
        return _USES, values
    return f"{_USES} AND {is_in('line', uses.lines)}", (*values, *uses.lines)


def moved(row: DeploymentRow, **changes: Any) -> DeploymentRow:
    """The row with changes, under its next number."""
    return replace(row, number=row.number + 1, **changes)
