"""Everything with one trace id (F-7.1, F-9.5)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import Response

from penstock.api.bodies import ResponseBody
from penstock.api.pipeline.pipeline_routes import InPipelineWords
from penstock.api.pipeline.shapes import ExecutionFileOut
from penstock.api.replies import reply
from penstock.api.server_state import Caller, Door, may
from penstock.app.pipeline.measures import correlation as view

router = APIRouter(prefix="/pipelines", tags=["pipelines"], route_class=InPipelineWords)


class TracedStageOut(ResponseBody, of=view.TracedStage):
    pass


class TracedExecutionOut(ResponseBody, of=view.TracedExecution):
    pass


class TracedExtractionOut(ResponseBody, of=view.TracedExtraction):
    pass


class CorrelationOut(ResponseBody, of=view.Correlation):
    files: list[ExecutionFileOut]


@router.get("/traces/{traceId}", response_model=CorrelationOut, summary="Everything with one trace id (F-7.1)")
async def by_trace(
    door: Door, trace_id: Annotated[str, Path(alias="traceId", max_length=64)], who: Caller = may("pipeline.read")
) -> Response:
    return reply(CorrelationOut, view.correlation(door, trace_id, organization=who.organization))
