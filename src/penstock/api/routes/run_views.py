"""More ways to look at a run: its log, and what a move would do."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from penstock.api import paging
from penstock.api.replies import reply
from penstock.api.server_state import Caller, Door, may
from penstock.api.shapes import run_views as shape
from penstock.api.strict_routes import StrictRoute
from penstock.app.runs.commands.preview import preview_of
from penstock.app.runs.timeline.log import run_log
from penstock.app.simulation.run_forecast import MOST_RUNS, RUNS, forecast_run

router = APIRouter(prefix="/runs", tags=["runs"], route_class=StrictRoute)


@router.get("/{run}/logs", response_model=shape.LogPage, summary="Its log, oldest first; secrets are masked")
async def logs(
    run: str, door: Door, after: Annotated[int, Query(ge=0, le=paging.LARGEST)] = 0,
    level: Annotated[str, Query(pattern="^(debug|info|warning|error)$")] = "debug",
    node: Annotated[str | None, Query(max_length=200)] = None, limit: Annotated[int, Query(ge=1, le=500)] = 200,
    _: Caller = may("run.read"),
) -> Response:  # fmt: skip
    """`level` is the lowest that is told."""
    asked = shape.LEVELS.index(level)
    lines = [
        line for line in run_log(door, run)
        if line.seq > after and shape.LEVELS.index(line.level) >= asked and node in (None, line.node)
    ]  # fmt: skip
    last = lines[min(limit, len(lines)) - 1].seq if lines else 0
    page = [line for line in lines if line.seq <= last]  # lines of one fact stay together
    return reply(shape.LogPage, {"items": page, "next": last if len(page) < len(lines) else None})


@router.get("/{run}/preview", response_model=shape.PreviewOut, summary="What a move would do; nothing is changed")
async def preview(
    run: str, door: Door, verb: Annotated[str, Query(pattern="^(fork|restart|retry|cancel|compensate)$")],
    fact: paging.Nth = None, _: Caller = may("run.read"),
) -> Response:  # fmt: skip
    return reply(shape.PreviewOut, preview_of(door, run, verb, fact))


@router.get("/{run}/forecast", response_model=shape.ForecastOut, summary="How long the rest of it will take")
async def forecast(
    run: str, door: Door, runs: Annotated[int, Query(ge=1, le=MOST_RUNS)] = RUNS,
    seed: Annotated[int, Query(ge=0, le=paging.LARGEST)] = 0,
    due_ms: Annotated[int | None, Query(ge=1, le=paging.LARGEST, description="Its odds are told.")] = None,
    _: Caller = may("run.read"),
) -> Response:  # fmt: skip
    """Virtual runs from where it stands, with durations and decisions of earlier runs of its definition; of a run that
    has ended, from its start. Nothing is changed."""
    made = await asyncio.to_thread(forecast_run, door.path, door.tenant, run, runs=runs, seed=seed, due_ms=due_ms)
    return reply(shape.ForecastOut, made)
