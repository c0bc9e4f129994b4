"""Rows of deployments, and what they say: JSON in the store, structures outside."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from penstock.executors.parts.rollout.model import (
    Check,
    Deployment,
    DeploymentEvent,
    DeploymentRequest,
    Stage,
    VersionMetrics,
)
from penstock.store.deployments import DeploymentEventRow, DeploymentRow

_text = msgspec.json.Encoder().encode


class Looked(msgspec.Struct, frozen=True):
    """What a row keeps of its last look."""

    checks: list[Check] = []
    warnings: list[str] = []


class EventBody(msgspec.Struct, frozen=True):
    text: str = ""
    stage: int = 0
    metrics: list[VersionMetrics] = []
    checks: list[Check] = []
    key: str = ""  # of the effect that has done it


def deployment_id(tenant: str, key: str) -> str:
    return "dep_" + hashlib.sha256(f"{tenant}\0{key}".encode()).hexdigest()[:16]


def _json(value: Any) -> str:
    return _text(value).decode()


def row_of(deployment: Deployment) -> DeploymentRow:
    d = deployment
    return DeploymentRow(
        tenant=d.tenant, id=d.id, type=d.artifact_type, artifact=d.artifact_id, version=d.version,
        previous=d.previous_version, environment=d.environment, lines=None if d.lines is None else _json(d.lines),
        request=_json(d.request), stages=_json(d.stages), status=d.status, percent=d.percent, progress=d.progress,
        stage=d.stage, live_lines=None if d.live_lines is None else _json(d.live_lines), number=d.number, run=d.run,
        node=d.node, rollout=d.rollout, by=d.by, reason=d.reason, to_version=d.to_version, began_at=d.began_at,
        stage_at=d.stage_at, next_at=d.next_at, paused_at=d.paused_at, ended_at=d.ended_at,
        checks=_json(Looked(d.checks, d.warnings)),
    )  # fmt: skip


def deployment_of(row: DeploymentRow) -> Deployment:
    looked = msgspec.json.decode(row.checks, type=Looked)
    return Deployment(
        id=row.id, tenant=row.tenant, artifact_type=row.type, artifact_id=row.artifact, version=row.version,
        previous_version=row.previous, environment=row.environment, lines=_lines(row.lines),
        request=msgspec.json.decode(row.request, type=DeploymentRequest), status=row.status, percent=row.percent,
        progress=row.progress, stage=row.stage, stages=msgspec.json.decode(row.stages, type=list[Stage]),
        live_lines=_lines(row.live_lines), number=row.number, run=row.run, node=row.node, rollout=row.rollout,
        by=row.by, reason=row.reason, to_version=row.to_version, began_at=row.began_at, stage_at=row.stage_at,
        next_at=row.next_at, paused_at=row.paused_at, ended_at=row.ended_at, checks=looked.checks,
        warnings=looked.warnings,
    )  # fmt: skip


def _lines(text: str | None) -> list[str] | None:
    return None if text is None else msgspec.json.decode(text, type=list[str])


def event_row(
    deployment: Deployment, what: str, at: int, text: str, by: str = "", metrics: list[VersionMetrics] | None = None,
    key: str = "",
) -> DeploymentEventRow:  # fmt: skip
    checks = deployment.checks if metrics is not None else []
    body = EventBody(text, deployment.stage, metrics or [], checks, key)
    who = by or (deployment.by if what == "begin" else None)
    return DeploymentEventRow(
        deployment.tenant, deployment.id, deployment.number, at, what, who or None, deployment.percent, _json(body)
    )


def stage_of(row: DeploymentEventRow) -> int:
    return msgspec.json.decode(row.body, type=EventBody).stage


def event_of(row: DeploymentEventRow) -> DeploymentEvent:
    body = msgspec.json.decode(row.body, type=EventBody)
    return DeploymentEvent(
        deployment=row.deployment, number=row.number, at=row.at, what=row.what, who=row.who, percent=row.percent,
        text=body.text, metrics=body.metrics, checks=body.checks,
    )  # fmt: skip
