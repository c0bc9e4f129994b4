"""A deployment as it is asked for and as it stands (W-4.11, C-57, C-58)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

StrategyType = Literal["immediate", "canary", "blue_green", "rolling"]
Percent = Annotated[int, Meta(ge=0, le=100)]
Minutes = Annotated[float, Meta(ge=0, le=525_600)]
Share = Annotated[float, Meta(ge=0, le=1)]
#: what can be deployed (C-82); `workflow` is a definition, whose versions are releases
TYPES = ("rule_pack", "model", "prompt", "config", "workflow")


class Criteria(msgspec.Struct, frozen=True):
    """What must hold for the next stage. Where the block is there, what it leaves out has the defaults of C-58."""

    error_rate_max: Share = 0.01
    latency_p99_max_ms: Annotated[float, Meta(ge=0)] = 500.0


class Triggers(msgspec.Struct, frozen=True, omit_defaults=True):
    """What takes a deployment back at once when it is exceeded; what is left out is not looked at."""

    error_rate: Share | None = None
    latency_p99_ms: Annotated[float, Meta(ge=0)] | None = None
    anomaly_score: Share | None = None


#: W-4.11.2: where a deployment is taken back by itself and nobody says by what
USUAL_TRIGGERS = Triggers(error_rate=0.05, latency_p99_ms=1000, anomaly_score=0.8)


class Canary(msgspec.Struct, frozen=True):
    initial_percent: Percent = 10
    increment_percent: Annotated[int, Meta(ge=1, le=100)] = 20
    interval_minutes: Minutes = 30.0
    success_criteria: Criteria | None = None


class Rolling(msgspec.Struct, frozen=True):
    """So many lines at once, then the next ones after the interval."""

    batch_size: Annotated[int, Meta(ge=1)] = 1
    interval_minutes: Minutes = 30.0
    success_criteria: Criteria | None = None


class BlueGreen(msgspec.Struct, frozen=True):
    """How long the new slot stands beside the old one before the switch; its health is checked before that."""

    warm_up_minutes: Minutes = 0.0
    success_criteria: Criteria | None = None


class Strategy(msgspec.Struct, frozen=True):
    """`observe_minutes`: how long the last stage is watched before the deployment has succeeded."""

    type: StrategyType = "immediate"
    canary: Canary | None = None
    rolling: Rolling | None = None
    blue_green: BlueGreen | None = None
    observe_minutes: Minutes = 0.0
    wait: bool | None = None

    @property
    def criteria(self) -> Criteria | None:
        block = {"canary": self.canary, "rolling": self.rolling, "blue_green": self.blue_green}.get(self.type)
        return block.success_criteria if block is not None else None


class Rollback(msgspec.Struct, frozen=True):
    auto_rollback: bool = True
    trigger: Triggers | None = None
    to_version: Literal["previous", "specific"] = "previous"
    specific_version: str | int | None = None


class Artifact(msgspec.Struct, frozen=True):
    """`version` None: the newest that is approved."""

    type: Literal["rule_pack", "model", "prompt", "config", "workflow"]
    id: str
    version: str | int | None = None


class Scope(msgspec.Struct, frozen=True):
    """None: everywhere in the tenant."""

    tenant_ids: list[str] | None = None
    line_ids: list[str] | None = None


class Target(msgspec.Struct, frozen=True):
    """`environment` "": the tenant's own."""

    environment: str = ""
    scope: Scope = Scope()


class DeploymentRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A deployment that is asked for, by a node or by hand."""

    artifact: Artifact
    target: Target = Target()
    strategy: Strategy = Strategy()
    rollback: Rollback | None = None
    notification: dict[str, Any] = {}
    simulation: str = ""
    reason: str = ""
    replaces: str = ""  # the deployment that this one takes back
    others: dict[str, list[str]] = {}  # versions that come with it, and the lines that get them instead


class Stage(msgspec.Struct, frozen=True):
    """`percent` of the instances of `lines` (None: all of the scope) get the new version, for `minutes` at least.
    `check`: the health of the new version is looked at before the next stage."""

    percent: int
    minutes: float = 0.0
    lines: tuple[str, ...] | None = None
    check: bool = False


class Check(msgspec.Struct, frozen=True):
    """One criterion or trigger that was looked at; `value` None: there was nothing to measure (C-58: it passes)."""

    name: str  # error_rate, latency_p99_ms, anomaly_score
    kind: Literal["criterion", "trigger"]
    value: float | None
    limit: float
    holds: bool


class VersionMetrics(msgspec.Struct, frozen=True):
    """What the uses of one version in a window of time show. `anomaly_score` is of the new version alone."""

    version: str
    samples: int = 0
    errors: int = 0
    error_rate: float | None = None
    latency_p50_ms: int | None = None
    latency_p99_ms: int | None = None
    anomaly_score: float | None = None
    decisions: dict[str, int] = {}


class Deployment(msgspec.Struct, frozen=True, kw_only=True):
    """A deployment as it stands. Times are milliseconds since 1970."""

    id: str
    tenant: str
    artifact_type: str
    artifact_id: str
    version: str
    previous_version: str | None
    environment: str
    lines: list[str] | None  # None: all
    request: DeploymentRequest
    status: str  # lifecycle: deployment
    percent: int
    progress: int
    stage: int  # number of the stage that is live, from 0
    stages: list[Stage]
    live_lines: list[str] | None  # of a rolling deployment: lines that have it; None: all of `lines`
    number: int  # grows with every move
    run: str | None  # that has begun it
    node: str | None
    rollout: str | None  # the run that moves it
    by: str | None
    reason: str | None
    to_version: str | None  # what it was rolled back to
    began_at: int
    stage_at: int  # when the stage began; moved on by the time that it was paused
    next_at: int | None  # when somebody should look again; None: only when told to
    paused_at: int | None
    ended_at: int | None
    checks: list[Check] = []  # of the last look
    warnings: list[str] = []
    needs_check: bool = False  # the health of the new version is to be verified before it goes on

    @property
    def ended(self) -> bool:
        return self.status in ("succeeded", "failed", "rolled_back")

    @property
    def automatic(self) -> bool:
        """Is it taken back by itself? Where nothing is said of rollbacks, missed criteria do so (TC-WF-009)."""
        return self.request.rollback is None or self.request.rollback.auto_rollback

    @property
    def triggers(self) -> Triggers | None:
        """What is exceeded takes it back, where that happens by itself."""
        rollback = self.request.rollback
        if rollback is None or not rollback.auto_rollback:
            return None
        return USUAL_TRIGGERS if rollback.trigger is None else rollback.trigger


class DeploymentEvent(msgspec.Struct, frozen=True, kw_only=True):
    """What has happened to a deployment."""

    deployment: str
    number: int
    at: int
    what: str  # begin, advance, pause, resume, promote, complete, roll_back, fail, check
    who: str | None
    percent: int
    text: str
    metrics: list[VersionMetrics] = []
    checks: list[Check] = []


class Deployed(msgspec.Struct, frozen=True):
    """The version of an artifact that applies to one use of it. `layered`: a deployment has been made of it in this
    environment, so its uses are counted."""

    type: str
    id: str
    version: str
    body: Any
    environment: str
    line: str = ""
    deployment: str = ""  # "": no deployment led to this version
    layered: bool = False

    def use(self) -> dict[str, str]:
        """What an executor says in `meta["used"]`, and in a failure's detail."""
        return {
            "type": self.type, "id": self.id, "version": self.version, "environment": self.environment,
            "line": self.line, "deployment": self.deployment,
        }  # fmt: skip
