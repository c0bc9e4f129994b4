"""Process mining: maps of what really happened, logs from elsewhere, and models that wait for a person (P-7)."""

from __future__ import annotations

import base64
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends, Path, Query
from starlette.responses import Response

from penstock.api import paging
from penstock.api.problems import finding_body
from penstock.api.process import mining_shapes as shape
from penstock.api.process.error_words import InProcessWords, same_tenant
from penstock.api.replies import reply
from penstock.api.server_state import Caller, Door, may
from penstock.api.time_fields import moment
from penstock.app.penstock import Penstock
from penstock.app.process.definitions import approval_of
from penstock.app.process.mining.discovery import Discovery, Proposal
from penstock.app.process.mining.histories.logs import EventLogs, Reading
from penstock.app.process.mining.histories.maps import Maps, Source
from penstock.app.process.mining.views.model_evidence import evidence_of
from penstock.app.process.mining.views.overview import Overview, map_body, share
from penstock.errors import ProcessUnreadable
from penstock.store.event_logs import EventLogRow

router = APIRouter(
    prefix="/processes", tags=["processes"], route_class=InProcessWords, dependencies=[Depends(same_tenant)]
)
Id = Annotated[str, Path(max_length=200, description="A process, or a log that is of none.")]
LogId = Annotated[str, Path(max_length=64)]
Log = Annotated[str | None, Query(max_length=64, description="A log instead of the instances.")]
First = Annotated[str | None, Query(alias="from", max_length=40, description="Cases that began at this time or later")]
Last = Annotated[str | None, Query(max_length=40, description="Cases that ended before this time")]
_AGAIN: dict[int | str, dict[str, Any]] = {
    200: {"model": shape.EventLogOut, "description": "The same file is there already"}
}
_SAME: dict[int | str, dict[str, Any]] = {
    200: {"model": shape.ModelProposed, "description": "The newest model is the same"}
}


def _source(door: Penstock, id: str, log: str | None, first: str | None, last: str | None) -> Source:
    begin, end = moment(first, "from") if first else None, moment(last, "to") if last else None
    return Maps(door).source(id, log=log, begin=begin, end=end)


def _log_body(row: EventLogRow) -> dict[str, Any]:
    unsaid = ("tenant", "reading", "body")
    return {name: getattr(row, name) for name in EventLogRow.__struct_fields__ if name not in unsaid}


@router.get("/mining", response_model=shape.MinedPage, summary="Processes and logs that have a history to look at")
async def mined(
    door: Door, limit: paging.Limit = 50, cursor: paging.Cursor = None, _: Caller = may("definition.read")
) -> Response:
    overview = Overview(door)
    page, after = paging.page_of(overview.sources(), cursor, limit)
    lines = [line async for line in overview.lines(page)]
    return reply(shape.MinedPage, {"items": lines, "next": after})


@router.post(
    "/mining/logs", response_model=shape.EventLogOut, status_code=201, responses=_AGAIN,
    summary="Bring an event log of cases that ran elsewhere",
)  # fmt: skip
async def bring_event_log(asked: shape.LogAsked, door: Door, who: Caller = may("definition.write")) -> Response:
    """Nothing is kept of a log that cannot be read. A large one is compressed, or brought by `penstock mine import`."""
    try:
        data = base64.b64decode(asked.content_base64, validate=True)
    except ValueError:
        raise ProcessUnreadable(why="«content_base64» is no base64.") from None
    reading = Reading({str(what): column for what, column in asked.columns.items()}, asked.zone)
    done = await EventLogs(door).add(data, asked.name, process=asked.process, reading=reading, by=who.user)
    body = {**_log_body(done.log), "warnings": [finding_body(finding) for finding in done.findings]}
    where = {"Location": f"/api/v1/processes/mining/{done.log.id}"}
    return reply(shape.EventLogOut, body, status=201 if done.new else 200, headers=where)


@router.get("/mining/logs", response_model=shape.EventLogPage, summary="The event logs that were brought, newest first")
async def event_logs(
    door: Door, limit: paging.Limit = 50, cursor: paging.Cursor = None, _: Caller = may("definition.read")
) -> Response:
    page, after = paging.page_of(EventLogs(door).each(), cursor, limit)
    return reply(shape.EventLogPage, {"items": [_log_body(row) for row in page], "next": after})


@router.delete("/mining/logs/{log}", status_code=204, summary="Throw an event log away; models mined from it stay")
async def drop_event_log(log: LogId, door: Door, _: Caller = may("definition.write")) -> Response:
    EventLogs(door).drop(log)
    return Response(status_code=204)


@router.get("/mining/{id}", response_model=shape.MinedMapOut, summary="What really happened: a map with times")
async def mined_map(
    id: Id, door: Door, from_: First = None, to: Last = None, log: Log = None, _: Caller = may("definition.read")
) -> Response:
    """Of the instances that have ended; where none has, of the newest log of the process."""
    found = await Overview(door).map(_source(door, id, log, from_, to))
    return reply(shape.MinedMapOut, map_body(found))


@router.post(
    "/mining/{id}:discover", response_model=shape.ModelProposed, status_code=201, responses=_SAME,
    summary="Propose a model that the history shows; it waits for an approval (P-7.5.1)",
)  # fmt: skip
async def discover(
    id: Id, door: Door, asked: shape.DiscoverAsked | None = None, who: Caller = may("definition.write")
) -> Response:
    if asked is None:
        source, noise = _source(door, id, None, None, None), 0.0
    else:
        source, noise = _source(door, id, asked.log, asked.from_, asked.to), asked.noise
    done = await Discovery(door).propose(source, by=who.user, noise=noise)
    row = done.saved.release
    where = {"Location": f"/api/v1/processes/definitions/{row.name}"}
    return reply(shape.ModelProposed, proposed_body(done), status=201 if done.saved.new else 200, headers=where)


def proposed_body(done: Proposal) -> dict[str, Any]:
    row = done.saved.release
    return {
        "model_id": row.name, "version": row.version, "new": done.saved.new, "approval_status": approval_of(row),
        "fitness": share(done.conformance), "precision": done.conformance.precision,
        "changes": len(done.diff.changes) if done.diff is not None else 0,
    }  # fmt: skip


@router.get(
    "/mining/{id}/diff/{model}", response_model=shape.ModelDiffOut,
    summary="What a discovered model would change, with its evidence",
)  # fmt: skip
async def mined_diff(
    id: Id, model: Annotated[str, Path(max_length=200)], door: Door, who: Caller = may("definition.read")
) -> Response:
    found = await evidence_of(door, id, model, user=who.user, permissions=who.permissions)
    return reply(shape.ModelDiffOut, msgspec.to_builtins(found))
