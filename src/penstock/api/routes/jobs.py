"""Jobs for workers outside (P-X.28): in any language, over HTTP.

A worker asks for jobs by type, holds each for a while, and answers it once: done, failed, or with a business error.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from penstock.api import paging
from penstock.api.audited import AuditedRoute
from penstock.api.replies import reply
from penstock.api.server_state import Caller, Door, Server, may
from penstock.api.shapes import jobs as shape
from penstock.app.jobs.jobs import Asked

router = APIRouter(prefix="/jobs", tags=["jobs"], route_class=AuditedRoute)
Type = Annotated[str | None, Query(max_length=200)]


@router.get("", response_model=shape.JobPage, summary="Jobs, the oldest first", dependencies=[may("ops.read")])
async def each(
    door: Door, type: Type = None, state: Type = None, run: Type = None, limit: paging.Limit = 50,
    cursor: paging.Cursor = None,
) -> Response:  # fmt: skip
    after = paging.read_cursor(cursor, tuple[int, str]) or (0, "")
    items = door.jobs.find(type=type, state=state, run=run, after=after, limit=limit + 1)
    page = items[:limit]
    last = paging.cursor_of((page[-1].created_at, page[-1].id)) if len(items) > limit else None
    return reply(shape.JobPage, {"items": page, "next": last})


@router.get(
    "/types", response_model=shape.JobTypesOut, summary="Types of jobs, and who serves them",
    dependencies=[may("ops.read")],
)  # fmt: skip
async def types(door: Door) -> Response:
    return reply(shape.JobTypesOut, {"items": door.jobs.types()})


@router.get("/{id}", response_model=shape.JobOut, summary="One job", dependencies=[may("ops.read")])
async def get(id: str, door: Door) -> Response:
    return reply(shape.JobOut, door.jobs.get(id))


@router.post("/activate", response_model=shape.JobsOut, summary="Take jobs, or wait for them")
async def activate_jobs(
    asked: shape.JobsAsked, request: Request, door: Door, server: Server, _: Caller = may("job.work")
) -> Response:
    """Where there is no job, the answer comes with the first one within `wait_ms`, or empty. A job that is not answered
    while it is locked is given to the next who asks, under another token."""
    given = Asked(
        types=[*([asked.type] if asked.type is not None else []), *asked.types], worker=asked.worker,
        max_jobs=asked.max_jobs, lock_ms=asked.lock_ms, wait_ms=asked.wait_ms, variables=asked.variables,
    )  # fmt: skip
    jobs = await door.jobs.activate(given, resting=server.request_share.resting, gone=request.is_disconnected)
    return reply(shape.JobsOut, {"jobs": jobs})


@router.post("/{id}:extend", response_model=shape.Extended, summary="Hold a job for longer")
async def extend_job(id: str, asked: shape.ExtendAsked, door: Door, _: Caller = may("job.work")) -> Response:
    until = door.jobs.extend(id, asked.lock_token, asked.lock_ms)
    return reply(shape.Extended, {"id": id, "locked_until": until})


@router.post("/{id}:complete", response_model=shape.JobOut, summary="A job is done")
async def complete(id: str, asked: shape.CompleteAsked, door: Door, _: Caller = may("job.work")) -> Response:
    return reply(shape.JobOut, await door.jobs.complete(id, asked.lock_token, asked.variables))


@router.post("/{id}:fail", response_model=shape.JobOut, summary="A job did not work")
async def fail(id: str, asked: shape.FailAsked, door: Door, _: Caller = may("job.work")) -> Response:
    """Without retries left its run is stuck; who has the run tried again has the job made anew."""
    done = await door.jobs.fail(
        id, asked.lock_token, asked.message, retries=asked.retries, backoff_ms=asked.backoff_ms, details=asked.details
    )
    return reply(shape.JobOut, done)


@router.post("/{id}:error", response_model=shape.JobOut, summary="A job ends with a business error")
async def error(id: str, asked: shape.ErrorAsked, door: Door, _: Caller = may("job.work")) -> Response:
    done = await door.jobs.error(id, asked.lock_token, asked.code, asked.message, asked.variables)
    return reply(shape.JobOut, done)


@router.post("/{id}:unlock", response_model=shape.JobOut, summary="Give a job back")
async def unlock(id: str, asked: shape.WithToken, door: Door, _: Caller = may("job.work")) -> Response:
    return reply(shape.JobOut, await door.jobs.unlock(id, asked.lock_token))
