"""What becomes of a rollout at a look: it waits, goes on, is complete, is rolled back or fails (W-4.11.1, W-4.11.2)."""

from __future__ import annotations

from typing import Literal

import msgspec

from penstock.executors.parts.rollout.model import Check, Deployment, VersionMetrics
from penstock.executors.parts.rollout.stages import stage_ends_at

#: C-58: a criterion without samples passes, and this says so
NO_SAMPLES = "no_samples"


class Assessment(msgspec.Struct, frozen=True):
    """`verify`: the health of the new version is to be looked at before the next stage."""

    what: Literal["wait", "next", "complete", "roll_back", "fail", "verify"]
    reason: str = ""
    checks: list[Check] = []
    warnings: list[str] = []


def assess(
    deployment: Deployment, metrics: VersionMetrics, now: int, *, healthy: bool | None = None, problems: str = ""
) -> Assessment:
    """`metrics` are those of the new version in this stage. Triggers count at every look, criteria at the end of a
    stage."""
    triggers = _triggers(deployment, metrics)
    exceeded = [check for check in triggers if not check.holds]
    if exceeded:
        return Assessment("roll_back", _said(exceeded), triggers)
    if deployment.status == "paused" or now < stage_ends_at(deployment):
        return Assessment("wait", checks=triggers)
    criteria = _criteria(deployment, metrics)
    checks = [*criteria, *triggers]
    warnings = [NO_SAMPLES] if criteria and not metrics.samples else []
    missed = [check for check in criteria if not check.holds]
    if missed:
        return Assessment("roll_back" if deployment.automatic else "fail", _said(missed), checks)
    if deployment.stages[deployment.stage].check:
        if healthy is None:
            return Assessment("verify", checks=checks, warnings=warnings)
        if not healthy:
            return Assessment("fail", problems or "The health check of the new version has failed.", checks)
    last = deployment.stage == len(deployment.stages) - 1
    return Assessment("complete" if last else "next", checks=checks, warnings=warnings)


def _criteria(deployment: Deployment, metrics: VersionMetrics) -> list[Check]:
    criteria = deployment.request.strategy.criteria
    if criteria is None:
        return []
    return [
        _check("error_rate", "criterion", metrics.error_rate, criteria.error_rate_max),
        _check("latency_p99_ms", "criterion", metrics.latency_p99_ms, criteria.latency_p99_max_ms),
    ]


def _triggers(deployment: Deployment, metrics: VersionMetrics) -> list[Check]:
    triggers = deployment.triggers
    if triggers is None:
        return []
    limits = (
        ("error_rate", metrics.error_rate, triggers.error_rate),
        ("latency_p99_ms", metrics.latency_p99_ms, triggers.latency_p99_ms),
        ("anomaly_score", metrics.anomaly_score, triggers.anomaly_score),
    )
    return [_check(name, "trigger", value, limit) for name, value, limit in limits if limit is not None]


def _check(name: str, kind: Literal["criterion", "trigger"], value: float | None, limit: float) -> Check:
    return Check(name, kind, value, limit, value is None or value <= limit)


def _said(checks: list[Check]) -> str:
    """Such as «error_rate 0.08 is over 0.05»."""
    return "; ".join(f"{check.name} {check.value:g} is over {check.limit:g}" for check in checks) + "."
