"""Deployments at the edge (C-66)."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from pydantic import ConfigDict, Field

from penstock.api.bodies import RequestBody, ResponseBody, StructBody
from penstock.app.deployments.views import (
    ArtifactName,
    DeploymentMove,
    DeploymentNews,
    DeploymentScope,
    DeploymentStatus,
    DeploymentSummary,
    DeploymentView,
    Measured,
    MeasuredAt,
    Reason,
    StageView,
)
from penstock.errors import BadInput
from penstock.executors.parts.rollout.model import (
    Artifact,
    BlueGreen,
    Canary,
    Criteria,
    DeploymentRequest,
    Rollback,
    Rolling,
    Scope,
    Strategy,
    Triggers,
)

_PARTS = {
    ArtifactName: "DeploymentArtifact", DeploymentScope: "DeploymentScopeOut", Measured: "MeasuredOut",
    MeasuredAt: "MeasuredAtOut", StageView: "StageOut", Reason: "DeploymentReason",
    DeploymentNews: "DeploymentEventOut", DeploymentMove: "DeploymentMoveOut",
}  # fmt: skip


class DeploymentSummaryOut(ResponseBody, of=DeploymentSummary, parts=_PARTS):
    """A deployment in a list."""


class DeploymentOut(ResponseBody, of=DeploymentView):
    """A deployment as a whole: its stages, what was measured, its history, and what its status allows."""


class DeploymentStatusOut(ResponseBody, of=DeploymentStatus):
    """What a workflow polls."""

    progress: int = Field(ge=0, le=100)
    current_percent: int = Field(ge=0, le=100)


class DeploymentPage(ResponseBody):
    items: list[DeploymentSummaryOut]
    next: str | None
    total: int | None


class _Asked(StructBody):
    """A part of what is asked for. Unknown members are refused."""

    model_config = ConfigDict(extra="forbid")


class CriteriaAsked(_Asked, of=Criteria, defaults=True):
    pass


class TriggersAsked(_Asked, of=Triggers, defaults=True):
    pass


class CanaryAsked(_Asked, of=Canary, defaults=True):
    pass


class RollingAsked(_Asked, of=Rolling, defaults=True):
    pass


class BlueGreenAsked(_Asked, of=BlueGreen, defaults=True):
    pass


class StrategyAsked(_Asked, of=Strategy, defaults=True, omit=("wait",)):
    pass


class TakeBackAsked(_Asked, of=Rollback, defaults=True):
    trigger: TriggersAsked = TriggersAsked()


class ScopeAsked(_Asked, of=Scope, defaults=True):
    pass


class ArtifactAsked(_Asked, of=Artifact, defaults=True):
    type: Literal["rule_pack", "model", "prompt", "config", "workflow"]


class RolloutAsked(RequestBody):
    """How a version is rolled out: what a DEPLOY node says, too."""

    environment: str = Field("", max_length=200, description="Else the tenant's own.")
    scope: ScopeAsked = ScopeAsked()
    strategy: StrategyAsked = StrategyAsked()
    rollback: TakeBackAsked | None = None
    notification: dict[str, Any] = Field({}, examples=[{"on_rollback": True, "channels": ["email"]}])
    simulation: str = Field("", max_length=200, description="The simulation that speaks for it.")
    reason: str = Field("", max_length=2000)

    def request(self, artifact: dict[str, Any]) -> DeploymentRequest:
        """Raises BadInput for what is out of range."""
        given = self.model_dump(exclude_unset=True, exclude={"artifact", "environment", "scope"})
        target = {"environment": self.environment, "scope": self.scope.model_dump(exclude_unset=True)}
        try:
            return msgspec.convert({**given, "artifact": artifact, "target": target}, DeploymentRequest)
        except msgspec.ValidationError as error:
            why, _, place = str(error).partition(" - at `$")
            where = place.rstrip("`").replace(".", "/").removeprefix("/target") or "/"
            raise BadInput(what="the deployment", why=f"{where}: {why}", where=where) from error


class DeployAsked(RolloutAsked):
    artifact: ArtifactAsked


class MoveAsked(RequestBody):
    reason: str = Field("", max_length=2000)


class RollbackAsked(MoveAsked):
    to_version: str | None = Field(None, max_length=200, description="Else the version before.")
