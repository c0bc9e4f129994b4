"""Deployments: what is rolled out, how it goes, and what people do about it (C-66, W-4.11)."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from penstock.api import paging
from penstock.api.audited import AuditedRoute, RunKey
from penstock.api.replies import reply
from penstock.api.server_state import Caller, Door, may
from penstock.api.shapes import deployments as shape
from penstock.app.deployments.definitions import TYPE
from penstock.app.own_api import CALLER
from penstock.errors import NotAllowed
from penstock.executors.parts.rollout.model import Deployment
from penstock.lifecycle.deployment import DEPLOYMENT

router = APIRouter(prefix="/deploy", tags=["deployments"], route_class=AuditedRoute)
Id = Annotated[str, Path(max_length=200)]
Text = Annotated[str, Query(max_length=200)]
_STATUS = "|".join(DEPLOYMENT.statuses)
Statuses = Annotated[
    str,
    Query(
        max_length=200, pattern=f"^(({_STATUS})(,|$))*$",
        description=f"Some of {', '.join(DEPLOYMENT.statuses)}, with commas.",
    ),
]  # fmt: skip
#: a list is counted no further
_MOST = 10_000


@router.get("", response_model=shape.DeploymentPage, summary="Deployments, newest first")
async def each(
    door: Door, status: Statuses = "", type: Text = "", artifact: Text = "", environment: Text = "",
    limit: paging.Limit = 50, cursor: paging.Cursor = None, total: bool = False, _: Caller = may("deploy.read"),
) -> Response:  # fmt: skip
    statuses = [part for part in status.split(",") if part]
    listed = partial(
        door.deployments.each, status=statuses, type=type, artifact=artifact, environment=environment
    )  # fmt: skip
    found = listed(limit=limit + 1, before=paging.read_cursor(cursor, str))
    page = found[:limit]
    after = paging.cursor_of(page[-1].deployment_id) if len(found) > limit else None
    count = len(listed(limit=_MOST)) if total else None
    return reply(shape.DeploymentPage, {"items": page, "next": after, "total": count})


@router.post("", response_model=shape.DeploymentOut, status_code=201, summary="Roll out a version")
async def begin(
    asked: shape.DeployAsked, door: Door, run_key: RunKey, who: Caller = may("deploy.write")
) -> Response:  # fmt: skip
    if asked.artifact.type == TYPE:
        _admit_activation(who)
    request = asked.request(asked.artifact.model_dump(exclude_unset=True))
    begun = await door.deployments.begin(request, by=who, key=run_key)
    return _deployment(door, begun, who, status=201)


def _admit_activation(who: Caller) -> None:
    if "definition.activate" not in who.permissions:
        raise NotAllowed(user=who.user, permission="definition.activate")


def _deployment(door: Door, deployment: Deployment, who: Caller, status: int = 200) -> Response:
    headers = {"Location": f"/api/v1/deploy/{deployment.id}"} if status == 201 else {}
    body = door.deployments.get(deployment.id, who.permissions)
    return reply(shape.DeploymentOut, body, status=status, headers=headers)


@router.get("/{id}", response_model=shape.DeploymentOut, summary="One of them, with stages, metrics and history")
async def get(id: Id, door: Door, who: Caller = may("deploy.read")) -> Response:
    return reply(shape.DeploymentOut, door.deployments.get(id, who.permissions))


@router.get("/{id}/status", response_model=shape.DeploymentStatusOut, summary="How far it is")
async def status(id: Id, door: Door, _: Caller = may("deploy.read")) -> Response:
    return reply(shape.DeploymentStatusOut, door.deployments.status(id))


@router.post("/{id}/pause", response_model=shape.DeploymentOut, summary="Let no stage follow for now")
async def pause(
    id: Id, door: Door, asked: shape.MoveAsked | None = None, who: Caller = may("deploy.pause")
) -> Response:
    return _deployment(door, await door.deployments.pause(id, by=who, reason=asked.reason if asked else ""), who)


@router.post("/{id}/resume", response_model=shape.DeploymentOut, summary="Let it go on")
async def resume(
    id: Id, door: Door, asked: shape.MoveAsked | None = None, who: Caller = may("deploy.pause")
) -> Response:
    return _deployment(door, await door.deployments.resume(id, by=who, reason=asked.reason if asked else ""), who)


@router.post("/{id}/promote", response_model=shape.DeploymentOut, summary="The next stage now")
async def promote(
    id: Id, door: Door, asked: shape.MoveAsked | None = None, who: Caller = may("deploy.promote")
) -> Response:
    return _deployment(door, await door.deployments.promote(id, by=who, reason=asked.reason if asked else ""), who)


@router.post("/{id}/rollback", response_model=shape.DeploymentOut, summary="Take it back")
async def roll_back(
    id: Id, door: Door, asked: shape.RollbackAsked | None = None, who: Caller = may("deploy.rollback")
) -> Response:
    wanted = asked or shape.RollbackAsked.model_validate({})
    if who.user == CALLER:
        return _deployment(door, await door.deployments.take_back_own(id, by=CALLER, reason=wanted.reason), who)
    if wanted.to_version is not None and door.deployments.get(id).artifact.type == TYPE:
        _admit_activation(who)
    back = await door.deployments.roll_back(id, by=who, reason=wanted.reason, to_version=wanted.to_version)
    return _deployment(door, back, who)
