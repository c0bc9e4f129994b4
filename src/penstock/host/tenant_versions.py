"""Versions of what a tenant has: which are approved, and which one applies to a use, by the layers of deployments."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from penstock.errors import ArtifactMissing, VersionMissing
from penstock.executors.parts.rollout.model import Deployed
from penstock.host.artifact_versions import usable, version_key
from penstock.host.deploying_tenant import DeployingTenant
from penstock.host.deployment_layers import (
    STABLE,
    Applied,
    Layer,
    LayerKey,
    applying,
    bucket_of,
    layer_of,
    layers_of,
)
from penstock.store.deployments import LayerRow

#: versions of a definition are releases
WORKFLOW = "workflow"
_RELEASED = ("approved", "active", "deprecated")


class TenantVersions:
    """Layers are read again when what is registered, or any deployment, has changed. No use of a thing asks the store
    but for that."""

    def __init__(self, tenant: DeployingTenant) -> None:
        self.tenant = tenant
        self._layers: dict[LayerKey, tuple[Layer, ...]] | None = None
        self._newest: dict[tuple[str, str], tuple[str, Any] | None] = {}  # type, id → version, body
        self._bodies: dict[tuple[str, str, str], Any] = {}  # type, id, version
        self._usable: dict[tuple[str, str], frozenset[str]] = {}  # type, id → versions that are approved

    def refresh(self) -> None:
        self._layers = None
        self._newest.clear()
        self._bodies.clear()
        self._usable.clear()

    def layers(self) -> dict[LayerKey, tuple[Layer, ...]]:
        self.tenant.look()
        if self._layers is None:
            self._layers = layers_of(self.tenant.store.deployment_layers(self.tenant.id), self._hides)
        return self._layers

    def _hides(self, key: LayerKey, layer: Layer) -> bool:
        """Releases come and go without the registry, so none of them is sure to hide what lies beneath."""
        type, id, _ = key
        return type != WORKFLOW and self._works(type, id, layer.version, layer.rolling_since)

    def every_layer(self, type: str, id: str, environment: str, *, without: str = "") -> tuple[Layer, ...]:
        """Also those that nobody sees. `without`: as if this deployment had been taken back."""
        rows = (
            row for row in self.tenant.store.deployment_layers(self.tenant.id) if _key(row) == (type, id, environment)
        )
        return tuple(
            layer_of(replace(row, percent=0, status="rolled_back", pinned=0) if row.id == without else row)
            for row in rows
        )

    def applies(self, type: str, id: str, layers: tuple[Layer, ...], line: str, bucket: int = STABLE) -> Applied | None:
        """Which version applies by these layers. One that is gone gives way to what lies beneath."""
        applied, held = applying(
            layers, line, bucket, lambda version, since: self._works(type, id, version, since)
        )  # fmt: skip
        if isinstance(applied, Layer):
            return Applied(applied.version, applied.deployment)
        return Applied(applied) if applied is not None else self._left(type, id, held)

    def _left(self, type: str, id: str, held: frozenset[str]) -> Applied | None:
        """The newest version (C-53), but for one that was taken back or is for others, as long as there is another."""
        newest = self.newest(type, id)
        if newest is None or not held:
            return None if newest is None else Applied(newest)
        others = [version for version in self._known(type, id) if version not in held]
        lower = [version for version in others if all(version_key(version) < version_key(other) for other in held)]
        if lower:
            return Applied(max(lower, key=version_key))
        return Applied(max(others, key=version_key, default=newest), is_last_resort=True)

    def works(self, type: str, id: str, version: str) -> bool:
        """Can it be used still, if only because it was in force before?"""
        return self._works(type, id, version, None)

    def _works(self, type: str, id: str, version: str, since: int | None) -> bool:
        """What is rolled out since a moment must be approved; what has been in force may be deprecated. A definition
        that was put out of force may be rolled out again, but not one that is put out of force meanwhile."""
        if self._body(type, id, version) is None:
            return False
        if since is None or version in self._approved(type, id):
            return True
        deprecated_at = self._release(id, version).deprecated_at if type == WORKFLOW else None
        return deprecated_at is not None and bool(deprecated_at <= since)

    def _approved(self, type: str, id: str) -> frozenset[str]:
        if type == WORKFLOW:
            return frozenset(self._known(type, id))
        try:
            return self._usable[type, id]
        except KeyError:
            usable_ones = self._usable[type, id] = frozenset(self._known(type, id))
            return usable_ones

    def deployed(
        self, type: str, id: str, environment: str, line: str, run: str, version: str | None
    ) -> Deployed | None:
        layers = self.layers().get((type, id, environment))
        if version is not None:
            body = self._body(type, id, version)
            return None if body is None else Deployed(type, id, version, body, environment, line, "", bool(layers))
        applied = self.applies(type, id, layers, line, bucket_of(run)) if layers else None
        if applied is not None:
            body = self._body(type, id, applied.version)
            return Deployed(type, id, applied.version, body, environment, line, applied.deployment, True)
        newest = self._in_force(type, id)
        if newest is None:
            return None
        return Deployed(type, id, *newest, environment, line, "", bool(layers))

    def _in_force(self, type: str, id: str) -> tuple[str, Any] | None:
        """The newest version, and its body; releases change without the registry, and are asked for each time."""
        if type != WORKFLOW and (type, id) in self._newest:
            return self._newest[type, id]
        version = self.newest(type, id)
        found = self._newest[type, id] = None if version is None else (version, self._body(type, id, version))
        return found

    def newest(self, type: str, id: str, below: str | None = None) -> str | None:
        """The newest version that may be used; of a definition the one in force. `below`: lower than that one."""
        known = self._known(type, id)
        if below is not None:
            known = [version for version in known if version_key(version) < version_key(below)]
        elif type == WORKFLOW:
            active = self.tenant.store.releases(self.tenant.id, id, status="active")
            return str(active[-1].version) if active else None
        return max(known, key=version_key, default=None)

    def checked(self, type: str, id: str, version: str | int | None, *, since: int | None = None) -> str:
        """The version that is meant, None the newest; raises where it is not there or not approved. `since`: when its
        rollout began; None: it may also be one that was in force before, and is deprecated."""
        self.tenant.look()
        if version is None:
            newest = max(self._known(type, id), key=version_key, default=None)
            if newest is None:
                raise ArtifactMissing(type=type, id=id)
            return newest
        if not self._works(type, id, str(version), since):
            if not self._known(type, id):
                raise ArtifactMissing(type=type, id=id)
            raise VersionMissing(type=type, id=id, version=version)
        return str(version)

    def registered_at(self, type: str, id: str, version: str) -> int:
        """When it could be used first; 0 of one that is not there any more."""
        if type == WORKFLOW:
            release = self._release(id, version)
            return 0 if release is None else release.approved_at or release.created_at
        rows = self.tenant.store.artifacts(self.tenant.id, type)
        return next((row.at for row in rows if row.id == id and row.version == version), 0)

    def lines(self) -> list[str]:
        """Those that the AAS registry has."""
        return sorted(id.removeprefix("line.") for id in self.tenant.each("aas") if id.startswith("line."))

    def _known(self, type: str, id: str) -> list[str]:
        if type == WORKFLOW:
            releases = self.tenant.store.releases(self.tenant.id, id)
            return [str(row.version) for row in releases if row.status in ("approved", "active")]
        return [version for version, status, _ in self.tenant.versions(type, id) if usable(type, status)]

    def _body(self, type: str, id: str, version: str) -> Any:
        """None where there is no such version that may be used."""
        if type == WORKFLOW:
            release = self._release(id, version)
            return release.document if release is not None and release.status in _RELEASED else None
        try:
            return self._bodies[type, id, version]
        except KeyError:
            usable_ones = (
                body for known, status, body in self.tenant.versions(type, id)
                if known == version and usable(type, status, asked_for=True)
            )  # fmt: skip
            body = self._bodies[type, id, version] = next(usable_ones, None)
            return body

    def _release(self, id: str, version: str) -> Any:
        return self.tenant.store.release(self.tenant.id, id, int(version)) if version.isdecimal() else None


def _key(row: LayerRow) -> LayerKey:
    return row.type, row.artifact, row.environment
