"""Home: one answer for the first look."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from penstock.api.replies import reply
from penstock.api.server_state import Caller, Door, Server, may
from penstock.api.shapes.home import HomeOut
from penstock.api.strict_routes import StrictRoute

router = APIRouter(tags=["home"], route_class=StrictRoute)


@router.get("/home", response_model=HomeOut, summary="What is stuck and why, what waits for me, what flows")
async def get(
    door: Door,
    server: Server,
    scope: Annotated[str, Query(pattern="^(mine|site)$")] = "mine",
    who: Caller = may("run.read"),
) -> Response:
    return reply(HomeOut, await server.home.home(door, who if scope == "mine" else None))
