"""Versions of definitions on their way into force (W-9.4): simulate one, roll it out by parts, watch it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import Response

from penstock.api import paging
from penstock.api.audited import AuditedRoute, RunKey
from penstock.api.replies import reply
from penstock.api.server_state import Caller, Door, may
from penstock.api.shapes import rollouts as shape
from penstock.api.shapes.deployments import DeploymentOut, RolloutAsked
from penstock.app.deployments.definitions import TYPE
from penstock.app.releases.release_report import ReportRequest, report_release

router = APIRouter(prefix="/definitions", tags=["definitions"], route_class=AuditedRoute)
Number = Annotated[int, Path(ge=1, le=paging.LARGEST)]


@router.post(
    "/{name}/versions/{version}/simulate", response_model=shape.ReleaseReportOut,
    summary="What it would do, and what real runs would have done otherwise",
)  # fmt: skip
async def simulate(
    name: str, version: Number, door: Door, asked: shape.SimulateAsked | None = None,
    who: Caller = may("definition.write"),
) -> Response:  # fmt: skip
    return await simulated(door, name, version, asked, who)


async def simulated(
    door: Door, name: str, version: int, asked: shape.SimulateAsked | None, who: Caller
) -> Response:  # fmt: skip
    wanted = asked.request() if asked is not None else ReportRequest()
    report = await report_release(door, name, version, wanted, who.user)
    return reply(shape.ReleaseReportOut, report)


@router.post(
    "/{name}/versions/{version}/deploy", response_model=DeploymentOut, status_code=201,
    summary="Put it in force by parts", dependencies=[may("definition.activate")],
)  # fmt: skip
async def deploy(
    name: str, version: Number, door: Door, run_key: RunKey, asked: RolloutAsked | None = None,
    who: Caller = may("deploy.write"),
) -> Response:  # fmt: skip
    return await deployed(door, name, version, asked, who, run_key)


async def deployed(
    door: Door, name: str, version: int, asked: RolloutAsked | None, who: Caller, key: str | None
) -> Response:  # fmt: skip
    wanted = asked or RolloutAsked.model_validate({})
    request = wanted.request({"type": TYPE, "id": name, "version": version})
    begun = await door.deployments.begin(request, by=who, key=key)
    body = door.deployments.get(begun.id, who.permissions)
    return reply(DeploymentOut, body, status=201, headers={"Location": f"/api/v1/deploy/{begun.id}"})
