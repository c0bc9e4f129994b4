"""Metrics of executions and their alarms (F-7.2, F-9.9, F-X.23)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from penstock.api.bodies import ResponseBody
from penstock.api.pipeline.message_shapes import DayUsageOut
from penstock.api.pipeline.pipeline_routes import InPipelineWords, same_tenant, whole_tenant
from penstock.api.replies import reply
from penstock.api.server_state import Caller, Door, may
from penstock.app.pipeline.measures import metrics as view
from penstock.store.executions import FailingStage

router = APIRouter(prefix="/pipelines", tags=["pipelines"], route_class=InPipelineWords)


class PipelineMetricsOut(
    ResponseBody,
    of=view.PipelineMetrics,
    parts={
        FailingStage: "FailingStageOut", view.Pending: "PendingOut", view.DeadLetters: "DeadLettersOut",
        view.IngestTotals: "IngestTotalsOut", view.PipelineAlarm: "PipelineAlarmOut",
    },
):  # fmt: skip
    """F-A.20. Rates are of the last hour, and null where nothing has ended."""

    usage: list[DayUsageOut]


@router.get("/metrics", response_model=PipelineMetricsOut, summary="Success, dwell, failing stages, alarms (F-7.2)")
async def pipeline_metrics(
    door: Door, top: Annotated[int, Query(ge=1, le=100, description="So many failing stages.")] = view.TOP,
    days: Annotated[int, Query(ge=1, le=366, description="Usage of the last so many days.")] = 30,
    tenant_id: Annotated[str | None, Query(alias="tenantId", max_length=50)] = None,
    who: Caller = may("pipeline.read"),
) -> Response:  # fmt: skip
    whole_tenant(who)
    same_tenant(who, tenant_id)
    return reply(PipelineMetricsOut, view.metrics(door, top=top, days=days))
