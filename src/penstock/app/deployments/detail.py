"""How a deployment is shown: its stages with their times, what was measured, why it stands where it stands."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.app.deployments.views import (
    MOVES,
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
from penstock.executors.parts.rollout.model import Criteria, Deployment, DeploymentEvent, Triggers, VersionMetrics
from penstock.lifecycle.deployment import DEPLOYMENT

if TYPE_CHECKING:
    from penstock.host.deployments import TenantDeployments

_MINUTE = 60_000
#: events with which a stage is over
_LEAVES = ("advance", "promote", "complete", "roll_back", "fail")
#: statuses that somebody asks the reason of
_WITH_REASON = ("paused", "failed", "rolled_back")
_FLAGS = ("on_start", "on_complete", "on_rollback")


def status_of(deployment: Deployment) -> DeploymentStatus:
    """C-66."""
    return DeploymentStatus(
        deployment.id, deployment.status, deployment.progress, deployment.percent, deployment.stage + 1
    )


def summary_of(deployments: TenantDeployments, deployment: Deployment) -> DeploymentSummary:
    events = deployments.history(deployment.id) if deployment.status in _WITH_REASON else []
    return DeploymentSummary(**_summary(deployment, events))


def _summary(deployment: Deployment, events: Sequence[DeploymentEvent]) -> dict[str, Any]:
    return {
        "deployment_id": deployment.id,
        "artifact": ArtifactName(deployment.artifact_type, deployment.artifact_id),
        "version": deployment.version, "previous_version": deployment.previous_version,
        "environment": deployment.environment, "scope": DeploymentScope(deployment.lines),
        "strategy": deployment.request.strategy.type, "status": deployment.status, "percent": deployment.percent,
        "progress": deployment.progress, "stage": deployment.stage + 1,
        "next_at": None if deployment.ended or deployment.status == "paused" else _due(deployment),
        "started_at": deployment.began_at, "paused_at": deployment.paused_at, "ended_at": deployment.ended_at,
        "run_id": deployment.run, "rollout_run_id": deployment.rollout, "begun_by": deployment.by,
        "to_version": deployment.to_version or _back_to(deployment), "reason": _reason(deployment, events),
    }  # fmt: skip


def detail_of(
    deployments: TenantDeployments, deployment: Deployment, *, now: int, simulation: str | None,
    permissions: Collection[str],
) -> DeploymentView:  # fmt: skip
    """`permissions`: those of whoever looks."""
    events = deployments.history(deployment.id)
    until = deployment.ended_at or now
    return DeploymentView(
        **_summary(deployment, events),
        stages=_stages(deployment, events, deployments.stage_times(deployment.id), deployments.counted(deployment.id)),
        criteria=_limits(deployment.request.strategy.criteria),
        triggers=_limits(deployment.triggers),
        automatic=deployment.automatic,
        notify=_notify(deployment),
        versions=_measured(deployment, deployments.metrics(deployment.id)),
        versions_since_start=_measured(
            deployment, deployments.metrics(deployment.id, since=deployment.began_at, until=until)
        ),
        series=[
            MeasuredAt(at, seen.version, seen.samples, seen.error_rate, seen.latency_p99_ms, seen.anomaly_score)
            for at, seen in deployments.series(deployment.id)
        ],
        events=[_news(deployment, event) for event in reversed(events)],
        moves=[
            DeploymentMove(move, permission, permission in permissions)
            for move, (event, permission) in MOVES.items()
            if DEPLOYMENT.allows(deployment.status, event)
        ],
        warnings=list(deployment.warnings),
        simulation_id=simulation,
    )


def _limits(block: Criteria | Triggers | None) -> dict[str, float] | None:
    if block is None:
        return None
    limits: dict[str, float | None] = msgspec.structs.asdict(block)
    return {name: limit for name, limit in limits.items() if limit is not None}


def _back_to(deployment: Deployment) -> str | None:
    """What a roll back would lead to."""
    rollback = deployment.request.rollback
    if rollback is not None and rollback.to_version == "specific" and rollback.specific_version is not None:
        return str(rollback.specific_version)
    return deployment.previous_version


def _due(deployment: Deployment) -> int:
    """When the stage that is live is over, if nothing stands against it."""
    return deployment.stage_at + round(deployment.stages[deployment.stage].minutes * _MINUTE)


def _stages(
    deployment: Deployment, events: Sequence[DeploymentEvent], times: Sequence[tuple[int, int]],
    counted: Sequence[tuple[int, int]],
) -> list[StageView]:  # fmt: skip
    """Stages that are over have the times of their events; those to come, the times at which they are due."""
    begins = {stage: at for at, stage in times}
    uses_of = dict(zip((stage for _, stage in times), counted, strict=False))
    left_with = {begins[stage]: _leaving(events, begins[stage]) for stage in begins}
    shown = list[StageView]()
    expected = None if deployment.ended or deployment.status == "paused" else _due(deployment)
    for number, stage in enumerate(deployment.stages):
        begins_at = begins.get(number)
        left = None if begins_at is None else left_with[begins_at]
        ends_at = left.at if left is not None else None
        if number == deployment.stage and not deployment.ended:
            ends_at = expected
        elif number > deployment.stage and expected is not None:
            begins_at, expected = expected, expected + round(stage.minutes * _MINUTE)
            ends_at = expected
        metrics = _measured(deployment, left.metrics)[-1:] if left is not None else []
        uses, total = uses_of.get(number, (0, 0))
        shown.append(
            StageView(
                number=number + 1, percent=stage.percent, lines=None if stage.lines is None else list(stage.lines),
                begins_at=begins_at, ends_at=ends_at, status=_stage_status(deployment, number), counted=uses,
                total=total, metrics=metrics[0] if metrics else None,
            )
        )  # fmt: skip
    return shown


def _leaving(events: Sequence[DeploymentEvent], begun_at: int) -> DeploymentEvent | None:
    """The event with which the stage that began then is over."""
    return next((event for event in events if event.at > begun_at and event.what in _LEAVES), None)


def _stage_status(deployment: Deployment, number: int) -> str:
    if number < deployment.stage or deployment.status == "succeeded":
        return "done"
    if deployment.ended:
        return "stopped"
    return "now" if number == deployment.stage else "next"


def _measured(deployment: Deployment, metrics: Sequence[VersionMetrics]) -> list[Measured]:
    """The old version first."""
    return [
        Measured(
            seen.version, "new" if seen.version == deployment.version else "old", seen.samples, seen.errors,
            seen.error_rate, seen.latency_p50_ms, seen.latency_p99_ms, seen.anomaly_score,
        )
        for seen in sorted(metrics, key=lambda seen: seen.version == deployment.version)
    ]  # fmt: skip


def _news(deployment: Deployment, event: DeploymentEvent) -> DeploymentNews:
    return DeploymentNews(
        at=event.at, what=event.what, who=event.who or None, percent=event.percent, text=event.text,
        metrics=_measured(deployment, event.metrics),
    )  # fmt: skip


def _notify(deployment: Deployment) -> dict[str, Any]:
    asked = deployment.request.notification
    channels = asked.get("channels")
    flags: dict[str, Any] = {flag: asked.get(flag) is True for flag in _FLAGS}
    return flags | {"channels": [str(name) for name in channels] if isinstance(channels, list) else []}


def _reason(deployment: Deployment, events: Sequence[DeploymentEvent]) -> Reason | None:
    """By the last event: a limit that was exceeded, a person, or what went wrong."""
    if deployment.status not in _WITH_REASON:
        return None
    last = events[-1] if events else None
    text = deployment.reason or (last.text if last is not None else "")
    if last is not None and last.who:
        return Reason(code="BY_HAND", text=text, by=last.who)
    checks = last.checks if last is not None else deployment.checks
    missed = next((check for check in checks if not check.holds), None)
    if missed is None:
        return Reason(code="FAILED" if deployment.status == "failed" else "ASKED", text=text)
    code = "TRIGGER_EXCEEDED" if missed.kind == "trigger" else "CRITERION_MISSED"
    return Reason(code=code, text=text, metric=missed.name, value=missed.value, limit=missed.limit)
