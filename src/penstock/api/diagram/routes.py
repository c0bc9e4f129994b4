"""Diagrams and their runs, in the words of the diagram language (D-X.29)."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response, StreamingResponse

from penstock.api import paging
from penstock.api.audited import AuditedRoute, RunKey, run_started_by
from penstock.api.diagram import shapes as shape
from penstock.api.document_checks import check_document
from penstock.api.forwarding import Long, forwarded_when_large
from penstock.api.problems import finding_body, problem
from penstock.api.replies import reply
from penstock.api.run_body import exact_run_id
from penstock.api.server_state import Caller, Door, Who, may, server_of
from penstock.api.stream import EVENTS, run_events
from penstock.app.diagram import releases as diagrams
from penstock.app.inbox.respond import answer
from penstock.errors import DocumentInvalid, DocumentUnreadable, LanguageUnknown, RunNotFound

router = APIRouter(tags=["diagrams"], route_class=AuditedRoute)
Id = Annotated[str, Path(max_length=200)]


def _source(document: dict[str, Any] | str) -> dict[str, Any] | bytes:
    return document.encode() if isinstance(document, str) else document


@router.post("/diagrams", response_model=shape.DiagramOut, status_code=201, summary="Check a diagram and keep it")
@forwarded_when_large
async def keep_diagram(
    asked: shape.DiagramAsked, door: Door, request: Request, who: Caller = may("definition.write")
) -> Response:
    try:
        done = diagrams.submit(door, _source(asked.document), by=who)
    except (DocumentInvalid, DocumentUnreadable, LanguageUnknown) as wrong:
        findings = wrong.findings if isinstance(wrong, DocumentInvalid) else None
        return problem(request, 400, wrong.code, wrong.message, hint=wrong.hint, where=wrong.where, findings=findings)
    row = done.release
    body = {
        "id": row.name, "version": row.version, "name": str(msgspec.json.decode(row.document).get("name") or row.name),
        "hash": row.hash, "status": row.status, "new": done.new,
        "warnings": [finding_body(finding) for finding in done.findings],
    }  # fmt: skip
    where = f"/api/v1/definitions/{row.name}/versions/{row.version}"
    return reply(shape.DiagramOut, body, status=201, headers={"Location": where})


@router.post("/diagrams:validate", response_model=shape.DiagramChecked, summary="What is wrong with a diagram")
@forwarded_when_large
async def validate_diagram(asked: shape.DiagramAsked, _: Caller = may("definition.read")) -> Response:
    findings = (await check_document(asked.document))[1]
    problems = [finding_body(finding) for finding in findings]
    valid = not any(finding.severity == "error" for finding in findings)
    return reply(shape.DiagramChecked, {"valid": valid, "problems": problems})


@router.post("/diagrams/{id}/runs", response_model=shape.DiagramStarted, status_code=201, summary="Run a diagram")
async def run_diagram(
    id: Id, door: Door, run_key: RunKey, asked: shape.DiagramRunAsked | None = None, who: Caller = may("run.start")
) -> Response:
    given = asked or shape.DiagramRunAsked(inputs=None, max_concurrent=None, key=None)
    run = run_started_by(door, run_key) if given.key is None else None
    run = run or await diagrams.start(
        door, id, given.inputs, max_concurrent=given.max_concurrent, key=run_key if given.key is None else given.key,
        trigger={"type": "manual", "source": f"user:{who.user}"},
    )  # fmt: skip
    return reply(shape.DiagramStarted, {"run_id": run}, status=201, headers={"Location": f"/api/v1/diagram-runs/{run}"})


def _run(door: Door, id: str) -> str:
    """A run of another language is no run of a diagram."""
    row = door.row(id)
    if door.store.net(row.net).language != "diagram":
        raise RunNotFound(run=id)
    return row.id


def _run_reply(door: Door, id: str, *, status: int = 200) -> Response:
    look = door.view(id)
    body = {
        "run_id": look.run_id, "name": look.name, "status": look.status, "nodes": look.nodes,
        "counters": look.counters, "branches": look.branches, "outputs": look.outputs, "output": look.output,
        "warnings": look.warnings, "error": look.failure, "created_at": look.created_at, "updated_at": look.updated_at,
        "waiting": [
            {"node": w.node, "waits_for": w.for_, "prompt": w.prompt, "name": w.name, "due_at": w.due_at}
            for w in look.waiting
        ],
    }  # fmt: skip
    return reply(shape.DiagramRunOut, body, status=status)


@router.get("/diagram-runs/{id}", response_model=shape.DiagramRunOut, summary="How a run stands")
async def get_diagram_run(id: Id, door: Door, _: Caller = may("run.read")) -> Response:
    return _run_reply(door, _run(door, id))


@router.get("/diagram-runs/{id}/trace", response_model=shape.DiagramTrace, summary="What happened, step by step")
async def diagram_trace(
    id: Id, door: Door, limit: paging.LongLimit = 1000, cursor: paging.Cursor = None, _: Caller = may("run.read")
) -> Response:
    run = _run(door, id)
    steps = door.events(run, after=paging.read_cursor(cursor, int) or 0, most=limit + 1)
    more = paging.cursor_of(steps[limit - 1].seq) if len(steps) > limit else None
    body = {"run_id": run, "status": door.status(run).status, "steps": steps[:limit], "next": more}
    return reply(shape.DiagramTrace, body)


@router.get("/diagram-runs/{id}/tokens", response_model=shape.TokenPage, summary="Every token with its envelope")
async def tokens(
    id: Id, door: Door, edge: Annotated[str | None, Query(max_length=400)] = None,
    epoch: Annotated[int | None, Query(ge=0, le=paging.LARGEST)] = None, limit: paging.LongLimit = 1000,
    cursor: paging.Cursor = None, _: Caller = may("run.read"),
) -> Response:  # fmt: skip
    page, more = paging.page_of(door.tokens(_run(door, id), edge=edge, epoch=epoch), cursor, limit)
    return reply(shape.TokenPage, {"items": page, "next": more})


@router.get(
    "/diagram-runs/{id}/events", summary="Its events as they happen (SSE)", responses=EVENTS,
    response_class=StreamingResponse, dependencies=[may("run.read")],
)  # fmt: skip
async def diagram_events(id: Id, door: Door, request: Request, who: Who, long: Long) -> StreamingResponse:
    last = request.headers.get("last-event-id") or "0"
    after = int(last) if last.isdecimal() and len(last) < 16 else 0
    server = server_of(request)
    run, allowed = _run(door, id), server.identity.still_allowed(request, who)
    events = run_events(server.hub, door, run, after, allowed, long.pages(run))
    return StreamingResponse(events, media_type="text/event-stream")


@router.post(
    "/diagram-runs/{id}:cancel", response_model=shape.DiagramRunOut, status_code=202, summary="End it",
)  # fmt: skip
async def cancel_diagram_run(id: Id, door: Door, long: Long, _: Caller = may("run.steer")) -> Response:
    run = _run(door, exact_run_id(door, id))
    await door.cancel(run)
    return await long.changed(run, "diagram-runs", status=202) or _run_reply(door, run, status=202)


@router.post(
    "/diagram-runs/{id}/nodes/{label}:respond", response_model=shape.DiagramRunOut, summary="Answer a waiting node"
)
async def respond(
    id: Id, label: Annotated[str, Path(max_length=200)], asked: shape.RespondAsked, door: Door,
    long: Long, who: Caller = may("inbox.decide"),
) -> Response:  # fmt: skip
    run = _run(door, exact_run_id(door, id))
    await answer(door, run, label, asked.value, by=who, permissions=who.permissions)
    return await long.changed(run, "diagram-runs") or _run_reply(door, run)
