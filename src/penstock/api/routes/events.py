"""Events: news for whoever it concerns."""

from __future__ import annotations

from typing import Annotated

import msgspec
from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from penstock.api import paging
from penstock.api.audited import AuditedRoute, RunKey
from penstock.api.replies import reply
from penstock.api.server_state import Caller, Door, Server, may
from penstock.api.shapes import operations as shape

_STREAM = "text/event-stream"
router = APIRouter(prefix="/events", tags=["events"], route_class=AuditedRoute)


@router.post("", response_model=shape.EventOut, status_code=202, summary="Send one; it resumes and starts runs")
async def send(asked: shape.EventAsked, door: Door, run_key: RunKey, who: Caller = may("events.send")) -> Response:
    id = run_key if asked.id is None else asked.id
    return reply(shape.EventOut, await door.send_event(asked.source, asked.payload, id=id, by=who), status=202)


@router.get("", response_model=shape.EventPage, summary="Those that came, the oldest first")
async def each(
    request: Request, door: Door, server: Server, source: Annotated[str | None, Query(max_length=200)] = None,
    limit: paging.Limit = 50, cursor: paging.Cursor = None, who: Caller = may("ops.read"),
) -> Response:  # fmt: skip
    """Whoever accepts nothing but `text/event-stream` gets what GET /stream tells, as it happens."""
    if request.headers.get("accept", "").strip().startswith(_STREAM) and "run.read" in who.permissions:
        last, still_allowed = request.headers.get("last-event-id"), server.identity.still_allowed(request, who)
        return StreamingResponse(server.hub.listen(who.tenant, last, still_allowed), media_type=_STREAM)
    after = paging.read_cursor(cursor, int) or 0
    rows = door.store.events(door.tenant, source, after=after, limit=limit + 1)
    items = [
        {"number": row.no, "id": row.id, "source": row.source, "at": row.at, "delivered": row.answer is not None,
         "payload": msgspec.msgpack.decode(row.body)}
        for row in rows[:limit]
    ]  # fmt: skip
    following = paging.cursor_of(rows[limit - 1].no) if len(rows) > limit else None
    return reply(shape.EventPage, {"items": items, "next": following})
