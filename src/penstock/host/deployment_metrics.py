"""Metrics of deployments, out of the uses that the facts of runs have left (C-58)."""

from __future__ import annotations

from collections.abc import Callable

from penstock.executors.parts.rollout.metrics import anomaly_score, place_of
from penstock.executors.parts.rollout.model import Deployment, VersionMetrics
from penstock.host.deployment_rows import stage_of
from penstock.store.deployments import DeploymentStore, UsedArtifact

#: version → decision → uses, failures
_Counts = dict[str, dict[str, tuple[int, int]]]


class DeploymentMetrics:
    def __init__(self, store: DeploymentStore, now: Callable[[], int]) -> None:
        self.store, self.now = store, now

    def of(self, deployment: Deployment, since: int | None = None, until: int | None = None) -> list[VersionMetrics]:
        """Of each version that was used in the window, the new one last; by default in the present stage."""
        uses = _uses(
            deployment,
            self._stage_at(deployment) if since is None else since,
            self._end(deployment) if until is None else until,
        )
        counts: _Counts = {}
        for _, version, decision, number, failed in self.store.use_counts(uses):
            counts.setdefault(version, {})[decision] = (number, failed)
        return self._versions(deployment, uses, counts)

    def _stage_at(self, deployment: Deployment) -> int:
        """When the stage began, whether or not it was paused since."""
        for event in self.store.deployment_events(deployment.tenant, deployment.id):
            if event.what in ("begin", "advance", "promote") and stage_of(event) == deployment.stage:
                return min(event.at, deployment.stage_at)
        return deployment.stage_at

    def series(self, deployment: Deployment, buckets: int) -> list[tuple[int, VersionMetrics]]:
        """The whole rollout in equal parts of time."""
        begin, end = deployment.began_at, self._end(deployment)
        width = max(1, -(-(end - begin) // buckets))
        by_time: dict[int, _Counts] = {}
        for bucket, version, decision, number, failed in self.store.use_counts(_uses(deployment, begin, end), width):
            by_time.setdefault(bucket, {}).setdefault(version, {})[decision] = (number, failed)
        series = []
        for bucket, counts in sorted(by_time.items()):
            at = begin + bucket * width
            uses = _uses(deployment, at, min(at + width, end))
            series += [(at, metrics) for metrics in self._versions(deployment, uses, counts)]
        return series

    def runs(self, deployment: Deployment, since: int, until: int) -> tuple[int, int]:
        """How many runs got the new version, of how many."""
        return self.store.use_runs(_uses(deployment, since, until), deployment.version)

    def error_rate(
        self, tenant: str, type: str, id: str, environment: str, lines: list[str] | None, version: str, until: int
    ) -> float | None:
        """Of a version, as long as it is known; None: nobody has used it."""
        counts = self.store.use_counts(UsedArtifact(tenant, type, id, environment, 0, until, lines))
        used = [(number, failed) for _, known, _, number, failed in counts if known == version]
        total = sum(number for number, _ in used)
        return sum(failed for _, failed in used) / total if total else None

    def _end(self, deployment: Deployment) -> int:
        return (deployment.ended_at or self.now()) + 1

    def _versions(self, deployment: Deployment, uses: UsedArtifact, counts: _Counts) -> list[VersionMetrics]:
        new, old = deployment.version, deployment.previous_version
        others = sorted(version for version in counts if version != new)
        versions = list(dict.fromkeys([*([old] if old is not None and old != new else []), *others, new]))
        compared = old if old in counts else max(others, key=lambda name: _size(counts[name]), default="")
        score = anomaly_score(_decided(counts.get(new, {})), _decided(counts.get(compared or "", {})))
        return [
            self._metrics(version, uses, counts.get(version, {}), score if version == new else None)
            for version in versions
        ]

    def _metrics(
        self, version: str, uses: UsedArtifact, counts: dict[str, tuple[int, int]], score: float | None
    ) -> VersionMetrics:
        samples = _size(counts)
        if not samples:
            return VersionMetrics(version)
        errors = sum(failed for _, failed in counts.values())
        return VersionMetrics(
            version, samples, errors, errors / samples, self.store.use_time(uses, version, place_of(50, samples)),
            self.store.use_time(uses, version, place_of(99, samples)), score, _decided(counts),
        )  # fmt: skip


def _uses(deployment: Deployment, since: int, until: int) -> UsedArtifact:
    return UsedArtifact(
        deployment.tenant, deployment.artifact_type, deployment.artifact_id, deployment.environment, since, until,
        deployment.lines,
    )  # fmt: skip


def _size(counts: dict[str, tuple[int, int]]) -> int:
    return sum(number for number, _ in counts.values())


def _decided(counts: dict[str, tuple[int, int]]) -> dict[str, int]:
    """Decisions of those that did not fail."""
    return {decision: number - failed for decision, (number, failed) in counts.items() if number > failed}
