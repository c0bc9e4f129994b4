"""The first look at pipelines: one answer for the top of their page."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from penstock.api.bodies import ResponseBody
from penstock.api.pipeline.pipeline_routes import InPipelineWords, whole_tenant
from penstock.api.replies import reply
from penstock.api.server_state import Caller, Door, may
from penstock.app.pipeline.intake import intake_state
from penstock.app.pipeline.measures import overview as view
from penstock.app.pipeline.measures import series

router = APIRouter(prefix="/pipelines", tags=["pipelines"], route_class=InPipelineWords)


class FailedWithOut(ResponseBody, of=view.FailedWith):
    pass


class WayInOut(ResponseBody, of=view.WayIn):
    pass


class QueueStateOut(ResponseBody, of=view.QueueState):
    pass


class PipelineNameOut(ResponseBody, of=view.PipelineName):
    pass


class NextScheduleOut(ResponseBody, of=view.NextSchedule):
    pass


class WaysInNowOut(
    ResponseBody,
    of=intake_state.WaysInNow,
    parts={intake_state.SqsState: "SqsStateOut", intake_state.FolderState: "FolderStateOut"},
):
    """As this server sees them."""


class SeriesOfHoursOut(ResponseBody, of=series.SeriesOfHours, parts={series.Series: "SeriesOut"}):
    """The last four hours in pieces of ten minutes."""


class OverviewOut(ResponseBody, of=view.Overview):
    """What ended, since the day began (UTC)."""


@router.get("/overview", response_model=OverviewOut, summary="Queue, work, today's failures, and the ways in (F-7.2)")
async def overview(door: Door, who: Caller = may("pipeline.read")) -> Response:
    whole_tenant(who)
    return reply(OverviewOut, await view.overview(door))
