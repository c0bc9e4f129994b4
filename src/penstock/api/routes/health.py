"""Is it there, does it work, does it take more."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

import penstock
from penstock.api.bodies import ResponseBody
from penstock.api.problems import problem
from penstock.api.replies import reply
from penstock.api.server_state import Server
from penstock.api.strict_routes import StrictRoute
from penstock.errors import StoreError

router = APIRouter(tags=["health"], route_class=StrictRoute)


class Health(ResponseBody):
    status: str
    version: str
    store: str
    drives: bool


@router.get("/health", response_model=Health, summary="Is it there")
async def health(server: Server) -> Response:
    return reply(Health, _body(server, server.door.host.trouble or _gone(server)))


@router.get("/ready", response_model=Health, summary="Does it take more")
async def ready(request: Request, server: Server) -> Response:
    trouble = server.door.host.trouble or _store_trouble(server)
    if server.draining:
        return problem(request, 503, "PS-503-DRAINING", "The server is about to stop.", headers={"Retry-After": "5"})
    if trouble is not None:
        return problem(request, 503, trouble.code, str(trouble), hint=trouble.hint, headers={"Retry-After": "2"})
    server.door.raise_if_stopped()
    return reply(Health, _body(server, None))


def _body(server: Server, trouble: StoreError | None) -> dict[str, Any]:
    return {
        "status": "ok" if trouble is None else "degraded", "version": penstock.__version__,
        "store": "ok" if trouble is None else trouble.code, "drives": server.door.drives,
    }  # fmt: skip


def _gone(server: Server) -> StoreError | None:
    """Asked of the file system alone: this answers at once, whatever the store does."""
    try:
        server.door.store.still_there()
    except StoreError as error:
        return error
    return None


def _store_trouble(server: Server) -> StoreError | None:
    """A store that nobody has used for a while may be gone without anybody having noticed."""
    try:
        server.door.store.still_there()
        server.door.store.notices_left()
    except StoreError as error:
        return error
    return None
