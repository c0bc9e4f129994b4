"""What there is to know of a tenant's deployments: how each stands, its history and its metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from penstock.errors import DeploymentNotFound
from penstock.executors.parts.rollout.model import Deployment, DeploymentEvent, VersionMetrics
from penstock.executors.parts.rollout.output import output_of
from penstock.host.deploying_tenant import DeployingTenant
from penstock.host.deployment_metrics import DeploymentMetrics
from penstock.host.deployment_rows import EventBody, deployment_id, deployment_of, event_of


class DeploymentReads:
    def __init__(self, tenant: DeployingTenant) -> None:
        self.tenant, self.store = tenant, tenant.store
        self._metrics = DeploymentMetrics(tenant.store, tenant.now)

    def find(self, id: str) -> Deployment | None:
        row = self.store.deployment(self.tenant.id, id)
        return None if row is None else deployment_of(row)

    def get(self, id: str) -> Deployment:
        deployment = self.find(id)
        if deployment is None:
            raise DeploymentNotFound(id=id)
        return deployment

    def by_key(self, key: str) -> Deployment | None:
        """The one that was begun, or switched to, with this key."""
        return self.find(deployment_id(self.tenant.id, key))

    def taken_back_by(self, key: str, *, type: str, artifact: str) -> Deployment | None:
        """The deployment of a thing that the effect with this key has taken back."""
        for row in self.store.deployments(self.tenant.id, status=["rolled_back"], type=type, artifact=artifact):
            for event in self.store.deployment_events(self.tenant.id, row.id):
                if event.what == "roll_back" and msgspec.json.decode(event.body, type=EventBody).key == key:
                    return deployment_of(row)
        return None

    def every(
        self, *, status: Sequence[str] = (), type: str = "", artifact: str = "", environment: str = "",
        limit: int = 50, before: str | None = None,
    ) -> list[Deployment]:  # fmt: skip
        """Newest first, those that were begun before the deployment `before`."""
        rank = None
        if before is not None:
            row = self.store.deployment(self.tenant.id, before)
            if row is None:
                raise DeploymentNotFound(id=before)
            rank = row.rank
        rows = self.store.deployments(
            self.tenant.id, status=status, type=type, artifact=artifact, environment=environment, before=rank,
            limit=limit,
        )  # fmt: skip
        return [deployment_of(row) for row in rows]

    def history(self, id: str) -> list[DeploymentEvent]:
        """Oldest first."""
        return [event_of(row) for row in self.store.deployment_events(self.tenant.id, id)]

    def metrics(self, id: str, *, since: int | None = None, until: int | None = None) -> list[VersionMetrics]:
        """Of each version that was used in a window of time, the new one last; by default in the present stage."""
        return self._metrics.of(self.get(id), since, until)

    def series(self, id: str, buckets: int = 60) -> list[tuple[int, VersionMetrics]]:
        """The whole rollout in so many parts of time: the beginning of each, and what each version has shown there."""
        return self._metrics.series(self.get(id), buckets)

    def counted(self, id: str) -> list[tuple[int, int]]:
        """Of each stage that has begun: how many runs got the new version, of how many."""
        deployment = self.get(id)
        begins = [begin for begin, _ in self.stage_times(id)]
        ends = [*begins[1:], deployment.ended_at or self.tenant.now() + 1]
        return [self._metrics.runs(deployment, begin, end) for begin, end in zip(begins, ends, strict=True)]

    def stage_times(self, id: str) -> list[tuple[int, int]]:
        """Of each stage that has begun: when, and its number."""
        times: dict[int, int] = {}
        for row in self.store.deployment_events(self.tenant.id, id):
            if row.what in ("begin", "advance", "promote"):
                body = msgspec.json.decode(row.body, type=EventBody)
                times.setdefault(body.stage, row.at)
        return [(at, stage) for stage, at in sorted(times.items())]

    def output(self, deployment: Deployment) -> dict[str, Any]:
        """deploy_result (W-4.11.4)."""
        return output_of(deployment)
