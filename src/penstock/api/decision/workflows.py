"""Workflows and their versions, in the words of the decision language (C-66, W-9.3)."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Path
from starlette.responses import Response

from penstock.api import paging
from penstock.api.audited import AuditedRoute, RunKey
from penstock.api.decision import shapes as shape
from penstock.api.document_checks import check_document
from penstock.api.forwarding import forwarded_when_large
from penstock.api.problems import finding_body
from penstock.api.replies import reply
from penstock.api.routes.rollouts import deployed, simulated
from penstock.api.server_state import Caller, Door, may
from penstock.api.shapes.deployments import DeploymentOut, RolloutAsked
from penstock.api.shapes.rollouts import ReleaseReportOut, SimulateAsked
from penstock.app.access.missing_candidates import held_by_users
from penstock.app.releases.releases import canonical, document_of
from penstock.app.releases.triggers import trigger_findings
from penstock.app.releases.version_row import version_row
from penstock.errors import Finding, ReleaseNotFound
from penstock.store.releases import ReleaseRow

router = APIRouter(prefix="/workflows", tags=["workflows"], route_class=AuditedRoute)
Id = Annotated[str, Path(max_length=200)]
Number = Annotated[int, Path(ge=1, le=2_000_000_000)]


def _workflow_version(door: Door, id: str, version: int | None = None) -> ReleaseRow:
    """A diagram is no workflow, although both have versions."""
    row = door.releases.get(id, version)
    if not _is_workflow(door, row):
        raise ReleaseNotFound(name=id, version=version)
    return row


def _is_workflow(door: Door, row: ReleaseRow) -> bool:
    return door.store.net(row.net).language == "decision"


def _findings(findings: list[Finding], *, errors: bool) -> list[dict[str, Any]]:
    return [finding_body(finding) for finding in findings if (finding.severity == "error") is errors]


@router.get("", response_model=shape.WorkflowPage, summary="Every workflow, with the version in force")
async def each(
    door: Door, limit: paging.Limit = 50, cursor: paging.Cursor = None, _: Caller = may("definition.read")
) -> Response:
    versions = [[row for row in rows if _is_workflow(door, row)] for rows in door.releases.by_name().values()]
    workflows = [rows for rows in versions if rows]
    page, after = paging.page_of(workflows, cursor, limit)
    return reply(shape.WorkflowPage, {"items": [_workflow(rows) for rows in page], "next": after})


def _workflow(rows: list[ReleaseRow]) -> dict[str, Any]:
    active = next((row for row in rows if row.status == "active"), None)
    row = active or rows[-1]
    return {
        "workflow_id": row.name, "name": str(msgspec.json.decode(row.document).get("name") or row.name),
        "active_version": active.version if active is not None else None, "newest_version": rows[-1].version,
        "status": row.status,
    }  # fmt: skip


@router.post(
    "", response_model=shape.WorkflowSubmitted, status_code=201, summary="Submit a version for approval",
    responses={200: {"model": shape.WorkflowSubmitted, "description": "The same version has been submitted before"}},
)  # fmt: skip
@forwarded_when_large
async def submit(asked: shape.WorkflowAsked, door: Door, who: Caller = may("definition.write")) -> Response:
    done = door.releases.submit(asked.dsl, by=who, change_summary=asked.change_summary)
    row = done.release
    body = {**version_row(row), "warnings": _findings(done.findings, errors=False)}
    where = f"/api/v1/workflows/{row.name}/versions/{row.version}"
    return reply(shape.WorkflowSubmitted, body, status=201 if done.new else 200, headers={"Location": where})


@router.post("/validate", response_model=shape.ValidateOut, summary="What is wrong with a workflow")
@forwarded_when_large
async def validate(asked: shape.ValidateAsked, door: Door, _: Caller = may("definition.read")) -> Response:
    language, findings = await check_document(canonical(asked.dsl), held_by_users(door))
    if language is not None:
        findings += trigger_findings("decision", asked.dsl)
    errors, warnings = _findings(findings, errors=True), _findings(findings, errors=False)
    return reply(shape.ValidateOut, {"valid": not errors, "errors": errors, "warnings": warnings})


@router.get("/{id}/versions", response_model=shape.WorkflowVersionPage, summary="Its versions, the newest first")
async def versions(
    id: Id, door: Door, limit: paging.Limit = 50, cursor: paging.Cursor = None, _: Caller = may("definition.read")
) -> Response:
    _workflow_version(door, id)
    page, after = paging.page_of(door.releases.each(id)[::-1], cursor, limit)
    return reply(shape.WorkflowVersionPage, {"items": [version_row(row) for row in page], "next": after})


@router.get("/{id}/versions/{version}", response_model=shape.WorkflowVersionWhole, summary="One of them, with its DSL")
async def version(id: Id, version: Number, door: Door, _: Caller = may("definition.read")) -> Response:
    row = _workflow_version(door, id, version)
    return reply(shape.WorkflowVersionWhole, {**version_row(row), "dsl": document_of(row)})


@router.post("/{id}/versions/{version}/approve", response_model=shape.WorkflowVersion, summary="Approve it")
async def approve(id: Id, version: Number, door: Door, who: Caller = may("definition.approve")) -> Response:
    _workflow_version(door, id, version)
    return reply(shape.WorkflowVersion, version_row(door.releases.approve(id, version, by=who)))


@router.post("/{id}/versions/{version}/reject", response_model=shape.WorkflowVersion, summary="Send it back")
async def reject(
    id: Id, version: Number, asked: shape.FeedbackAsked, door: Door, who: Caller = may("definition.approve")
) -> Response:
    _workflow_version(door, id, version)
    return reply(
        shape.WorkflowVersion, version_row(door.releases.reject(id, version, by=who.user, feedback=asked.feedback))
    )


@router.post("/{id}/versions/{version}/activate", response_model=shape.WorkflowActivated, summary="Put it in force")
async def activate(id: Id, version: Number, door: Door, who: Caller = may("definition.activate")) -> Response:
    _workflow_version(door, id, version)
    await door.nets.prepare(door.releases.get(id, version).net)
    done = door.releases.activate(id, version, by=who)
    return reply(shape.WorkflowActivated, {**version_row(done), "replayed": done.replayed})


@router.post("/{id}/versions/{version}/simulate", response_model=ReleaseReportOut, summary="Simulate it (W-9.4.1)")
async def simulate(
    id: Id, version: Number, door: Door, asked: SimulateAsked | None = None, who: Caller = may("definition.write")
) -> Response:
    _workflow_version(door, id, version)
    return await simulated(door, id, version, asked, who)


@router.post(
    "/{id}/versions/{version}/deploy", response_model=DeploymentOut, status_code=201,
    summary="Put it in force by parts (W-9.4.1)", dependencies=[may("definition.activate")],
)  # fmt: skip
async def deploy(
    id: Id, version: Number, door: Door, run_key: RunKey, asked: RolloutAsked | None = None,
    who: Caller = may("deploy.write"),
) -> Response:  # fmt: skip
    _workflow_version(door, id, version)
    return await deployed(door, id, version, asked, who, run_key)


@router.post("/{id}/versions/{version}/deprecate", response_model=shape.WorkflowVersion, summary="Take it out of force")
async def deprecate(id: Id, version: Number, door: Door, _: Caller = may("definition.activate")) -> Response:
    _workflow_version(door, id, version)
    return reply(shape.WorkflowVersion, version_row(door.releases.deprecate(id, version)))
