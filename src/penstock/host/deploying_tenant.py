"""What deployments need of a tenant: its things and their versions, its store and its clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from penstock.executors.parts.rollout.model import Deployed
from penstock.host.deployment_layers import STABLE, Applied, Layer, LayerKey
from penstock.store.artifacts import ArtifactStore
from penstock.store.deployments import DeploymentStore
from penstock.store.releases import ReleaseStore


class DeployingStore(ArtifactStore, DeploymentStore, ReleaseStore, Protocol):
    """Where things, releases and deployments are."""


class ArtifactVersions(Protocol):
    """Versions of a tenant's things, and which one applies."""

    def layers(self) -> dict[LayerKey, tuple[Layer, ...]]: ...

    def every_layer(self, type: str, id: str, environment: str, *, without: str = "") -> tuple[Layer, ...]: ...

    def applies(
        self, type: str, id: str, layers: tuple[Layer, ...], line: str, bucket: int = STABLE
    ) -> Applied | None: ...

    def works(self, type: str, id: str, version: str) -> bool: ...

    def newest(self, type: str, id: str, below: str | None = None) -> str | None: ...

    def checked(self, type: str, id: str, version: str | int | None, *, since: int | None = None) -> str: ...

    def registered_at(self, type: str, id: str, version: str) -> int: ...

    def lines(self) -> list[str]: ...


class DeployingTenant(Protocol):
    id: str
    environment: str

    @property
    def store(self) -> DeployingStore: ...

    @property
    def now(self) -> Callable[[], int]: ...

    @property
    def artifact_versions(self) -> ArtifactVersions: ...

    def find(self, type: str, id: str, version: str | None = None) -> Mapping[str, Any] | None: ...

    def each(self, type: str) -> Mapping[str, Mapping[str, Any]]: ...

    def versions(self, type: str, id: str) -> list[tuple[str, str, Mapping[str, Any]]]: ...

    def deployed(
        self, type: str, id: str, *, environment: str = "", line: str = "", run: str = "", version: str | None = None
    ) -> Deployed | None: ...

    def look(self) -> None:
        """Has somebody registered or deployed something?"""
        ...

    def refresh(self) -> None: ...
