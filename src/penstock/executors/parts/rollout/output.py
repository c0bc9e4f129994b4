"""deploy_result: what a deployment is for the document that has asked for it (W-4.11.4, C-57)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from penstock.executors.parts.rollout.model import Deployment


def output_of(deployment: Deployment) -> dict[str, Any]:
    """What is under way counts as succeeded: it was accepted, and its first stage is live."""
    at = datetime.fromtimestamp((deployment.ended_at or deployment.began_at) / 1000, UTC)
    under_way = deployment.status in ("in_progress", "paused")
    return {
        "status": "succeeded" if under_way else deployment.status,
        "deployed_version": deployment.version,
        "deployed_at": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "affected_scope": {"tenant_ids": [deployment.tenant], "line_ids": deployment.lines},
        "deployment_id": deployment.id,
        "artifact_id": deployment.artifact_id,
        "artifact_type": deployment.artifact_type,
        "environment": deployment.environment,
        "previous_version": deployment.previous_version,
        "progress": deployment.progress,
        "rollout_status": deployment.status,
        "percent": deployment.percent,
        "to_version": deployment.to_version,
        "reason": deployment.reason,
        "warnings": deployment.warnings,
    }
