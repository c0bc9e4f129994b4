"""Deployments and the uses of what was deployed in the store of dicts: the same promises as a file's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import astuple, replace

from penstock.store.deployment_tables import ARTIFACT_USE, DEPLOYMENT
from penstock.store.deployments import DeploymentEventRow, DeploymentRow, LayerRow, UsedArtifact

if TYPE_CHECKING:
    from tests.sim.store import Disk


class SimDeployments:
    disk: Disk

    def _deployments(self, tenant: str) -> list[DeploymentRow]:
        """The topmost first."""
        rows = (dict(zip(DEPLOYMENT.names, row, strict=True)) for row in self.disk.tables["deployment"].values())
        known = [DeploymentRow(**row) for row in rows if row["tenant"] == tenant]
        return sorted(known, key=lambda row: -row.rank)

    def _keep_event(self, event: DeploymentEventRow) -> None:
        self.disk.last["registry"] = self.disk.last.get("registry", 0) + 1
        key = (event.tenant, event.deployment, event.number)
        self.disk.tables["deployment_event"].setdefault(key, astuple(event))

    def put_deployment(self, row: DeploymentRow, events: Sequence[DeploymentEventRow]) -> DeploymentRow:
        known = self.deployment(row.tenant, row.id)
        if known is not None:
            return known
        row = replace(row, rank=1 + max((other.rank for other in self._deployments(row.tenant)), default=0))
        self.disk.tables["deployment"][row.tenant, row.id] = astuple(row)
        for event in events:
            self._keep_event(event)
        return row

    def move_deployment(self, row: DeploymentRow, was: int, event: DeploymentEventRow | None = None) -> bool:
        known = self.deployment(row.tenant, row.id)
        if known is None or known.number != was:
            return False
        self.disk.tables["deployment"][row.tenant, row.id] = astuple(replace(row, rank=known.rank))
        if event is not None:
            self._keep_event(event)
        return True

    def deployment(self, tenant: str, id: str) -> DeploymentRow | None:
        return next((row for row in self._deployments(tenant) if row.id == id), None)

    def deployments(
        self, tenant: str, *, status: Sequence[str] = (), type: str = "", artifact: str = "", environment: str = "",
        before: int | None = None, limit: int = 50,
    ) -> list[DeploymentRow]:  # fmt: skip
        fitting = [
            row for row in self._deployments(tenant)
            if (not status or row.status in status) and type in ("", row.type) and artifact in ("", row.artifact)
            and environment in ("", row.environment) and (before is None or row.rank < before)
        ]  # fmt: skip
        return fitting[:limit]

    def deployment_layers(self, tenant: str) -> list[LayerRow]:
        names = LayerRow.__struct_fields__
        return [LayerRow(*(getattr(row, name) for name in names)) for row in self._deployments(tenant)]

    def deployment_events(self, tenant: str, id: str) -> list[DeploymentEventRow]:
        rows = sorted(self.disk.tables["deployment_event"].items())
        return [DeploymentEventRow(*row) for key, row in rows if key[:2] == (tenant, id)]

    def _uses(self, uses: UsedArtifact) -> list[dict[str, Any]]:
        rows = [dict(zip(ARTIFACT_USE.names, row, strict=True)) for row in self.disk.tables["artifact_use"].values()]
        wanted = (uses.tenant, uses.type, uses.artifact, uses.environment)
        return [
            row for row in rows
            if (row["tenant"], row["type"], row["artifact"], row["environment"]) == wanted
            and uses.since <= row["at"] < uses.until and (uses.lines is None or row["line"] in uses.lines)
        ]  # fmt: skip

    def use_counts(self, uses: UsedArtifact, bucket_ms: int = 0) -> list[tuple[int, str, str, int, int]]:
        counts: dict[tuple[int, str, str], list[int]] = {}
        for row in self._uses(uses):
            bucket = (row["at"] - uses.since) // bucket_ms if bucket_ms else 0
            counted = counts.setdefault((bucket, row["version"], row["decision"]), [0, 0])
            counted[0] += 1
            counted[1] += row["failed"]
        return [(*key, *counted) for key, counted in sorted(counts.items())]  # type: ignore[misc]

    def use_runs(self, uses: UsedArtifact, version: str) -> tuple[int, int]:
        rows = self._uses(uses)
        return len({row["run"] for row in rows if row["version"] == version}), len({row["run"] for row in rows})

    def use_time(self, uses: UsedArtifact, version: str, place: int) -> int | None:
        times = sorted(row["ms"] for row in self._uses(uses) if row["version"] == version)
        return times[place] if place < len(times) else None

    def forget_uses(self, before: int) -> int:
        names = ("tenant", "type", "artifact", "environment")
        known = [dict(zip(DEPLOYMENT.names, row, strict=True)) for row in self.disk.tables["deployment"].values()]
        live = {tuple(row[n] for n in names) for row in known if row["status"] in ("in_progress", "paused")}
        table = self.disk.tables["artifact_use"]
        rows = {key: dict(zip(ARTIFACT_USE.names, row, strict=True)) for key, row in table.items()}
        old = [key for key, row in rows.items() if row["at"] < before and tuple(row[n] for n in names) not in live]
        for key in old:
            del table[key]
        return len(old)
