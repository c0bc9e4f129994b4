"""The first look at pipelines: one answer for the top of their page."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from penstock.api.bodies import ResponseBody
from penstock.api.pipeline.pipeline_routes import InPipelineWords
from penstock.api.replies import reply
from penstock.api.server_state import Caller, Door, may
from penstock.app.pipeline.measures import overview as view

router = APIRouter(prefix="/pipelines", tags=["pipelines"], route_class=InPipelineWords)


class FailedWithOut(ResponseBody, of=view.FailedWith):
    pass


class WayInOut(ResponseBody, of=view.WayIn):
    pass


class QueueStateOut(ResponseBody, of=view.QueueState):
    pass


class PipelineNameOut(ResponseBody, of=view.PipelineName):
    pass


class OverviewOut(ResponseBody, of=view.Overview):
    """What ended, since the day began (UTC)."""


@router.get("/overview", response_model=OverviewOut, summary="Queue, work, today's failures, and the ways in (F-7.2)")
async def overview(door: Door, _: Caller = may("pipeline.read")) -> Response:
    return reply(OverviewOut, await view.overview(door))
