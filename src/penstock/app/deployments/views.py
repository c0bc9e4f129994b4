"""What is shown of a deployment (C-66): in a list, as a whole, and as the status that others poll."""

from __future__ import annotations

from typing import Any

import msgspec

#: what somebody can do about a deployment: the event of its lifecycle, and the permission
MOVES = {
    "pause": ("pause", "deploy.pause"),
    "resume": ("resume", "deploy.pause"),
    "promote": ("promote", "deploy.promote"),
    "rollback": ("roll_back", "deploy.rollback"),
}


class ArtifactName(msgspec.Struct, frozen=True):
    type: str
    id: str


class DeploymentScope(msgspec.Struct, frozen=True):
    line_ids: list[str] | None  # None: every line of the tenant


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """Why it is paused, has failed or was taken back; `metric`, `value` and `limit` where one was exceeded."""

    code: str  # CRITERION_MISSED, TRIGGER_EXCEEDED, BY_HAND, FAILED
    text: str
    metric: str | None = None
    value: float | None = None
    limit: float | None = None
    by: str | None = None


class DeploymentSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A deployment in a list."""

    deployment_id: str
    artifact: ArtifactName
    version: str
    previous_version: str | None
    environment: str
    scope: DeploymentScope
    strategy: str
    status: str
    percent: int
    progress: int
    stage: int  # the number of the stage that is live, from 1
    next_at: int | None
    started_at: int
    paused_at: int | None
    ended_at: int | None
    run_id: str | None
    rollout_run_id: str | None
    begun_by: str | None
    to_version: str | None  # what it was rolled back to; before that, what it would be
    reason: Reason | None


class Measured(msgspec.Struct, frozen=True):
    """What a window of time shows of one version."""

    version: str
    role: str  # old, new
    samples: int
    errors: int
    error_rate: float | None
    latency_p50_ms: int | None
    latency_p99_ms: int | None
    anomaly_score: float | None


class MeasuredAt(msgspec.Struct, frozen=True):
    """A point of the chart."""

    at: int
    version: str
    samples: int
    error_rate: float | None
    latency_p99_ms: int | None
    anomaly_score: float | None


class StageView(msgspec.Struct, frozen=True, kw_only=True):
    """`counted` of `total` uses in the stage's time were of the new version; `metrics` are what it was left with."""

    number: int
    percent: int
    lines: list[str] | None
    begins_at: int | None
    ends_at: int | None
    status: str  # done, now, next, stopped
    counted: int
    total: int
    metrics: Measured | None


class DeploymentNews(msgspec.Struct, frozen=True, kw_only=True):
    """One line of its history."""

    at: int
    what: str  # begin, advance, pause, resume, promote, complete, roll_back, fail, check
    who: str | None
    percent: int
    text: str
    metrics: list[Measured]


class DeploymentMove(msgspec.Struct, frozen=True):
    """Something that its status allows; `allowed`: whoever asks has the permission."""

    move: str
    permission: str
    allowed: bool


class DeploymentView(DeploymentSummary, frozen=True, kw_only=True):
    """A deployment as a whole."""

    stages: list[StageView]
    criteria: dict[str, float] | None  # by the names of C-58
    triggers: dict[str, float] | None  # those that are looked at
    automatic: bool  # is it taken back by itself?
    notify: dict[str, Any]
    versions: list[Measured]  # in the time of this stage, the old one first
    versions_since_start: list[Measured]
    series: list[MeasuredAt]
    events: list[DeploymentNews]
    moves: list[DeploymentMove]
    warnings: list[str]
    simulation_id: str | None


class DeploymentStatus(msgspec.Struct, frozen=True):
    """C-66: what a workflow polls."""

    deployment_id: str
    status: str
    progress: int
    current_percent: int
    stage: int
