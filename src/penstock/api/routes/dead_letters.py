"""What lies in the dead letters of all languages, by cause. Runs are tried again by the routes of runs."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from penstock.api.bodies import ResponseBody
from penstock.api.locale import WordedFailure
from penstock.api.replies import reply
from penstock.api.server_state import Door, may
from penstock.api.strict_routes import StrictRoute
from penstock.app.metrics.failed_causes import FailedCause, FailedCauses, failed_causes

router = APIRouter(tags=["dead letters"], route_class=StrictRoute)


class FailedCauseOut(ResponseBody, WordedFailure, of=FailedCause):
    """`curable`: trying again may help. `pieces`: how many came in each piece of the axis that all causes share."""


class FailedCausesOut(ResponseBody, of=FailedCauses):
    """`total` counts the runs of all causes. They are found, and tried again, by name, failed_node and code."""


@router.get(
    "/dead-letters",
    response_model=FailedCausesOut,
    summary="Runs that failed, by cause",
    dependencies=[may("ops.read")],
)
async def causes(door: Door) -> Response:
    return reply(FailedCausesOut, failed_causes(door))
