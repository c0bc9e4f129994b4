"""Which version of a thing is in force in a scope, which one was before it, and which one was stable (W-4.12.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from penstock.errors import DeploymentError, NoPreviousVersion, NoStableVersion
from penstock.executors.parts.rollout.model import Artifact, Deployment
from penstock.host.artifact_versions import version_key
from penstock.host.deployment_history import DeploymentHistory
from penstock.host.deployment_layers import Layer, layer_of
from penstock.host.deployment_reads import DeploymentReads

_HOUR_MS = 3_600_000
_MOST = 1000  # deployments of one thing that are looked through


class DeploymentVersions(DeploymentReads):
    def layers(self, type: str, id: str, environment: str = "") -> tuple[Layer, ...]:
        return self.tenant.artifact_versions.layers().get((type, id, environment or self.tenant.environment), ())

    def current(self, type: str, id: str, *, environment: str = "", line: str = "") -> str | None:
        """The version in force, whatever is being rolled out by parts."""
        deployed = self.tenant.deployed(type, id, environment=environment, line=line)
        return None if deployed is None else deployed.version

    def live(self, type: str, id: str, *, environment: str = "", lines: list[str] | None = None) -> Deployment | None:
        """The topmost deployment in a scope that has a share of it."""
        for layer in self.layers(type, id, environment):
            if layer.percent and overlap(layer.scope, lines):
                return self.find(layer.deployment) if layer.deployment else None
        return None

    def is_top(self, deployment: Deployment) -> bool:
        """No later deployment has taken its whole scope."""
        return self._covered_by(deployment) is None

    def _covered_by(self, deployment: Deployment) -> str | None:
        """The later deployment with which everybody in its scope has got another layer."""
        d, left = deployment, None if deployment.lines is None else set(deployment.lines)
        for row in self.store.deployment_layers(self.tenant.id):
            if row.id == d.id:
                return None
            if (row.type, row.artifact, row.environment) != (d.artifact_type, d.artifact_id, d.environment):
                continue
            layer = layer_of(row)
            if layer.percent < 100 or not self.tenant.artifact_versions.works(row.type, row.artifact, layer.version):
                continue
            left = set() if layer.lines is None else left if left is None else left - layer.lines
            if left is not None and not left:
                return row.id
        return None

    def lines_of(self, lines: list[str] | None) -> list[str]:
        """Those of a scope; of all, every line that is known and, as "", one that is not."""
        return list(lines) if lines else ["", *self.tenant.artifact_versions.lines()]

    def previous(self, type: str, id: str, *, environment: str = "", lines: list[str] | None = None) -> str:
        """W-4.12.1: the version in force before the present one, in the first line of the scope."""
        return self._previous(type, id, environment or self.tenant.environment, first_line(lines))

    def previous_by_line(
        self, type: str, id: str, *, environment: str = "", lines: list[str] | None = None
    ) -> dict[str, str]:
        """W-4.12.1: for each line of the scope that has one. Raises NoPreviousVersion where none has."""
        environment = environment or self.tenant.environment
        return self._by_line(lines, lambda line: self._previous(type, id, environment, line))

    def _previous(self, type: str, id: str, environment: str, line: str) -> str:
        """One that was deployed before it, or that applied before anything was deployed and is no newer one. What was
        taken back is not what anybody wants back."""
        versions, under_way = self.tenant.artifact_versions, self._under_way(type, id, environment, line)
        if under_way is not None:
            return under_way
        present = self.current(type, id, environment=environment, line=line)
        history = self._history(type, id, environment)
        avoided = {present, *history.taken_back(line)}
        for known in reversed(history.in_force(line)):
            if known.version in avoided or known.implied and _is_newer(known.version, present):
                continue
            if versions.works(type, id, known.version):
                return known.version
        raise NoPreviousVersion(type=type, id=id, version=present)

    def _under_way(self, type: str, id: str, environment: str, line: str) -> str | None:
        """Where a rollout is under way in the line: what everybody else has got."""
        top = next(
            (layer for layer in self.layers(type, id, environment) if layer.percent and _is_in(layer, line)), None
        )
        if top is None or top.settled or not top.deployment:
            return None
        layers = self.tenant.artifact_versions.every_layer(type, id, environment, without=top.deployment)
        shown = self.tenant.artifact_versions.applies(type, id, layers, line)
        return None if shown is None or shown.is_last_resort or shown.version == top.version else shown.version

    def last_stable(
        self, type: str, id: str, *, environment: str = "", lines: list[str] | None = None,
        min_uptime_hours: float = 24, max_error_rate: float = 0.01, at: int,
    ) -> str:  # fmt: skip
        """W-4.12.1: the newest earlier version that was in force long enough with few enough errors, in the first line
        of the scope."""
        criteria = _Criteria(min_uptime_hours, max_error_rate, lines, at)
        return self._last_stable(type, id, environment or self.tenant.environment, first_line(lines), criteria)

    def last_stable_by_line(
        self, type: str, id: str, *, environment: str = "", lines: list[str] | None = None,
        min_uptime_hours: float = 24, max_error_rate: float = 0.01, at: int,
    ) -> dict[str, str]:  # fmt: skip
        """For each line of the scope that has one. Raises NoStableVersion where none has."""
        environment = environment or self.tenant.environment
        criteria = _Criteria(min_uptime_hours, max_error_rate, lines, at)
        return self._by_line(lines, lambda line: self._last_stable(type, id, environment, line, criteria))

    def _last_stable(self, type: str, id: str, environment: str, line: str, criteria: _Criteria) -> str:
        history = self._history(type, id, environment)
        avoided = history.taken_back(line)
        if self._under_way(type, id, environment, line) is None:
            avoided.add(self.current(type, id, environment=environment, line=line) or "")
        uptimes: dict[str, int] = {}
        for known in history.in_force(line):
            length = (criteria.at if known.until is None else known.until) - known.since
            uptimes[known.version] = uptimes.pop(known.version, 0) + length  # the one that was in force last comes last
        for version in reversed(uptimes):
            if version in avoided or uptimes[version] < criteria.min_uptime_hours * _HOUR_MS:
                continue
            rate = self._metrics.error_rate(
                self.tenant.id, type, id, environment, criteria.lines, version, criteria.at
            )  # fmt: skip
            works = self.tenant.artifact_versions.works(type, id, version)
            if works and (rate is None or rate <= criteria.max_error_rate):
                return version
        hours, rate_text = f"{criteria.min_uptime_hours:g}", f"{criteria.max_error_rate:g}"
        raise NoStableVersion(type=type, id=id, hours=hours, rate=rate_text)

    def _by_line(self, lines: list[str] | None, version_of: Callable[[str], str]) -> dict[str, str]:
        versions, first = {}, None
        for line in self.lines_of(lines):
            try:
                versions[line] = version_of(line)
            except DeploymentError as none:
                first = first or none
        if first is not None and not versions:
            raise first
        return versions

    def _history(self, type: str, id: str, environment: str) -> DeploymentHistory:
        rows = self.store.deployments(self.tenant.id, type=type, artifact=id, environment=environment, limit=_MOST)
        return DeploymentHistory(
            [(row, self.store.deployment_events(self.tenant.id, row.id)) for row in reversed(rows)],
            lambda version: self.tenant.artifact_versions.registered_at(type, id, version),
        )

    def _before(self, type: str, id: str, version: str, environment: str, lines: list[str] | None) -> str | None:
        """What applies in the scope before a deployment; of the same version, what would if that were taken back."""
        versions = self.tenant.artifact_versions
        layers = versions.every_layer(type, id, environment)
        taken = Layer("", version, 0, None, None, None, rolling_since=0, taken=version)
        for stack in (layers, (taken, *layers)):
            applied = versions.applies(type, id, stack, first_line(lines))
            if applied is not None and applied.version != version:
                return None if applied.is_last_resort else applied.version
        return None

    def _shown_without(self, deployment: Deployment) -> dict[str, str]:
        """What would apply in each line of its scope if it were taken back; a line in which nothing but the same or a
        newer version is left is not in it."""
        d, versions = deployment, self.tenant.artifact_versions
        layers = versions.every_layer(d.artifact_type, d.artifact_id, d.environment, without=d.id)
        shown = {}
        for line in self.lines_of(d.lines):
            applied = versions.applies(d.artifact_type, d.artifact_id, layers, line)
            if applied is not None and not applied.is_last_resort and applied.version != d.version:
                shown[line] = applied.version
        return shown

    def _left_without(self, deployment: Deployment) -> str | None:
        """What applies in its scope where nothing that was in force before is left."""
        d, versions = deployment, self.tenant.artifact_versions
        layers = versions.every_layer(d.artifact_type, d.artifact_id, d.environment, without=d.id)
        applied = versions.applies(d.artifact_type, d.artifact_id, layers, first_line(d.lines))
        return None if applied is None else applied.version

    def _in_force_before(self, deployment: Deployment) -> set[str]:
        """Versions that were in force in its scope before it was begun; no newer one that nobody has deployed."""
        d = deployment
        history = self._history(d.artifact_type, d.artifact_id, d.environment)
        known = {
            past.version
            for line in self.lines_of(d.lines)
            for past in history.in_force(line, before=d.id)
            if not (past.implied and _is_newer(past.version, d.version))
        }
        return {*known, d.previous_version or ""} - {d.version, ""}

    def _version(self, artifact: Artifact, since: int | None = None) -> str:
        """The version that is meant; it must have been approved (C-53). `since`: when its rollout begins."""
        return self.tenant.artifact_versions.checked(artifact.type, artifact.id, artifact.version, since=since)


class _Criteria(NamedTuple):
    min_uptime_hours: float
    max_error_rate: float
    lines: list[str] | None
    at: int


def _is_in(layer: Layer, line: str) -> bool:
    return layer.scope is None or line in layer.scope


def _is_newer(version: str, present: str | None) -> bool:
    return present is not None and version_key(version) > version_key(present)


def first_line(lines: Sequence[str] | None) -> str:
    """The line that stands for a scope."""
    return lines[0] if lines else ""


def overlap(scope: frozenset[str] | None, lines: Sequence[str] | None) -> bool:
    return scope is None or lines is None or not scope.isdisjoint(lines)
