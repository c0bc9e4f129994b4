"""What happens now, for consoles: one stream per browser."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import StreamingResponse

from penstock.api.server_state import Caller, Server, may
from penstock.api.stream import EVENTS
from penstock.api.strict_routes import StrictRoute

router = APIRouter(tags=["live"], route_class=StrictRoute)


@router.get(
    "/stream", summary="News of the tenant as they happen (SSE)", responses=EVENTS, response_class=StreamingResponse
)
async def stream(request: Request, server: Server, who: Caller = may("run.read")) -> StreamingResponse:
    last = request.headers.get("last-event-id")
    messages = server.hub.listen(who.tenant, last, server.identity.still_allowed(request, who))
    return StreamingResponse(messages, media_type="text/event-stream")
