"""One verb for many runs, with a dry run first (class C of the console)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import Response

from penstock.api import paging
from penstock.api.audited import AuditedRoute
from penstock.api.replies import reply
from penstock.api.routes.runs import variable
from penstock.api.run_body import exact_run_id
from penstock.api.server_state import Caller, Door, Server, may
from penstock.api.shapes import admin as shape
from penstock.api.time_fields import moment
from penstock.app.runs.commands import batches
from penstock.app.runs.commands.batch_care import CARELESS, Care
from penstock.app.runs.commands.bulk import BulkCommand, command_many, matching_runs
from penstock.app.runs.commands.migration import approved_release
from penstock.app.runs.search import Filters
from penstock.errors import BadInput, RunAmbiguous, RunNotFound

router = APIRouter(tags=["runs"], route_class=AuditedRoute)
Id = Annotated[str, Path(max_length=64)]


@router.post("/runs:batch", response_model=shape.BatchOut, summary="One verb for many; a dry run by default")
async def steer(asked: shape.BatchAsked, door: Door, who: Caller = may("run.steer")) -> Response:
    filters, command = _one_of(asked), _command(door, asked, who)
    runs, more = [_run_id(door, run) for run in asked.ids or ()], False
    if filters is not None:
        runs, more = await matching_runs(door, filters)
    return reply(shape.BatchOut, await command_many(door, command, runs, more=more, dry_run=asked.dry_run))


@router.post("/batches", response_model=shape.BatchState, status_code=202, summary="One verb for all that fit a filter")
async def begin(asked: shape.BatchBegun, door: Door, server: Server, who: Caller = may("run.steer")) -> Response:
    """However many they are: it goes on by itself, after a restart too, and tells how far it is."""
    filters = _one_of(asked)
    ids = None if asked.ids is None else [_run_id(door, run) for run in asked.ids]
    care = CARELESS if asked.care is None else Care(**asked.care.model_dump())
    batch = batches.begin(door, _command(door, asked, who), filters, ids, asked.reason, care)
    server.batches.look()
    where = {"Location": f"/api/v1/batches/{batch.id}"}
    return reply(shape.BatchState, batch, status=202, headers=where)


@router.get("/batches", response_model=shape.BatchPage, summary="Batches, the newest first")
async def each(
    door: Door, limit: paging.Limit = 50, cursor: paging.Cursor = None, _: Caller = may("run.read")
) -> Response:
    rows = batches.each(door, paging.read_cursor(cursor, tuple[int, str]), limit + 1)
    page = rows[:limit]
    more = paging.cursor_of((page[-1].started_at, page[-1].id)) if len(rows) > limit else None
    return reply(shape.BatchPage, {"items": page, "next": more})


@router.get("/batches/{batch}", response_model=shape.BatchState, summary="How far one is")
async def get(batch: Id, door: Door, server: Server, _: Caller = may("run.read")) -> Response:
    return reply(shape.BatchState, server.batches.get(door, batch))


@router.post("/batches/{batch}/cancel", response_model=shape.BatchState, summary="Begin nothing more of it")
async def cancel(batch: Id, door: Door, server: Server, _: Caller = may("run.steer")) -> Response:
    return reply(shape.BatchState, await server.batches.cancel(door, batch))


@router.post("/batches/{batch}/pause", response_model=shape.BatchState, summary="Begin nothing more of it for now")
async def pause(batch: Id, door: Door, server: Server, _: Caller = may("run.steer")) -> Response:
    return reply(shape.BatchState, await server.batches.pause(door, batch))


@router.post("/batches/{batch}/resume", response_model=shape.BatchState, summary="Go on with it where it was")
async def resume(batch: Id, door: Door, server: Server, _: Caller = may("run.steer")) -> Response:
    return reply(shape.BatchState, server.batches.resume(door, batch))


def _one_of(asked: shape.BatchAsked | shape.BatchBegun) -> Filters | None:
    """None where runs are named. Raises BadInput where both are, or neither."""
    if (asked.ids is None) == (asked.filter is None):
        raise BadInput(what="the request", why="it has either «ids» or a «filter»")
    return None if asked.filter is None else _filters(asked.filter)


def _command(door: Door, asked: shape.BatchAsked | shape.BatchBegun, who: Caller) -> BulkCommand:
    to = ""
    if asked.verb == "migrate" and asked.version is not None:
        to = door.hash_of(approved_release(door, asked.name, asked.version).net)
    return BulkCommand(
        verb=asked.verb, mode=asked.mode, how=asked.how, name=asked.name, payload=asked.payload, to=to, user=who.user,
        permissions=who.permissions,
    )  # fmt: skip


def _run_id(door: Door, run: str) -> str:
    """One that nobody knows is told with the others; a beginning of an id is refused."""
    try:
        door.row(run)
    except (RunNotFound, RunAmbiguous):
        return run
    return exact_run_id(door, run)


def _filters(asked: shape.BatchFilter) -> Filters:
    if not any(asked.model_dump().values()):
        raise BadInput(what="the filter", why="it is empty, so it would mean every run", hint="Say which runs.")
    return Filters(
        text=asked.q, states=asked.state, name=asked.name, version=asked.version, language=asked.language,
        node=asked.node, code=asked.code, var=variable(asked.var), parent=asked.parent,
        since=moment(asked.since, "since") if asked.since else None,
        until=moment(asked.until, "until") if asked.until else None, failed_node=asked.failed_node,
        ended=moment(asked.ended, "ended") if asked.ended else None, letter=asked.letter,
        node_failed=moment(asked.node_failed, "node_failed") if asked.node_failed else None,
    )  # fmt: skip
