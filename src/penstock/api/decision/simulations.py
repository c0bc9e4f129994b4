"""Simulations and their reports; past judgments from elsewhere, and labels of judgments."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from penstock.api import paging
from penstock.api.audited import AuditedRoute
from penstock.api.decision import simulation_shapes as shape
from penstock.api.replies import reply
from penstock.api.server_state import Caller, Door, may
from penstock.app.decision import past_judgments, simulations
from penstock.errors import NotAllowed
from penstock.executors.parts.reports import FORMATS

router = APIRouter(tags=["simulations"], route_class=AuditedRoute)
Named = Annotated[str | None, Query(max_length=200)]
#: a report is a page of its own: it runs no scripts and loads nothing
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:"


@router.get("/simulations", response_model=shape.SimulationPage, summary="Simulations, the newest first")
async def each(
    door: Door, artifact: Named = None, type: Named = None, run: Named = None, limit: paging.Limit = 50,
    _: Caller = may("run.read"),
) -> Response:  # fmt: skip
    page = simulations.simulations(door, artifact=artifact, type=type, run=run, limit=limit)
    return reply(shape.SimulationPage, {"items": page, "next": None})


@router.get("/simulations/{id}", response_model=shape.SimulationOut, summary="One of them with its result")
async def get(id: str, door: Door, _: Caller = may("run.read")) -> Response:
    return reply(shape.SimulationOut, simulations.simulation(door, id))


@router.get(
    "/simulations/{id}/judgments", response_model=shape.SimulatedJudgmentPage,
    summary="Its samples: a cell of the matrix, the changed ones, the new misses",
)  # fmt: skip
async def judgments(
    id: str, door: Door, before: Named = None, after: Named = None, misses: bool = False, changed: bool = False,
    limit: paging.LongLimit = 200, _: Caller = may("run.read"),
) -> Response:  # fmt: skip
    page = simulations.simulated_judgments(
        door, id, before=before, after=after, misses=misses, changed=changed, limit=limit
    )
    return reply(shape.SimulatedJudgmentPage, {"items": page})


@router.get("/simulations/{id}/report.{format}", summary="Its report", response_class=Response)
async def report(
    id: str, format: Literal["html", "pdf", "json"], door: Door, lang: Literal["ko", "en"] | None = None,
    _: Caller = may("run.read"),
) -> Response:  # fmt: skip
    body = await run_in_threadpool(simulations.report_maker(door, id, format, lang))
    headers = {"Content-Disposition": f'inline; filename="{id}.{format}"', "Content-Security-Policy": _POLICY}
    return Response(body, media_type=FORMATS[format], headers=headers)


@router.post(
    "/judgments/import", response_model=shape.ImportedOut, status_code=201,
    summary="Judgments that were made elsewhere, as a history for simulations",
)  # fmt: skip
async def bring(asked: shape.JudgmentImport, door: Door, caller: Caller = may("registry.write")) -> Response:
    entries = past_judgments.checked_entries([entry.model_dump() for entry in asked.judgments])
    for permission in past_judgments.permissions_for(entries):
        if permission not in caller.permissions:
            raise NotAllowed(user=caller.user, permission=permission)
    imported = past_judgments.import_judgments(door, entries, caller.user, door.now())
    return reply(shape.ImportedOut, imported, status=201)


@router.post("/judgments/label", response_model=shape.LabelOut, summary="Say what a judgment should have been")
async def label(asked: shape.LabelAsked, door: Door, caller: Caller = may("inbox.decide")) -> Response:
    kept = past_judgments.label_judgment(door, asked.judgment, asked.decision, caller.user, door.now(), asked.note)
    return reply(shape.LabelOut, kept)
