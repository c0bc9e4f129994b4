"""How much a tenant may have at once, and how much of it is used."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from penstock.api.bodies import ResponseBody
from penstock.api.replies import reply
from penstock.api.server_state import Door, may
from penstock.api.strict_routes import StrictRoute
from penstock.app.maintenance.tenant_limits import LimitUse, house_limits, limit_uses

router = APIRouter(tags=["operations"], route_class=StrictRoute)


class LimitOut(ResponseBody, of=LimitUse):
    pass


class LimitsOut(ResponseBody):
    """`house` are those that hold for all tenants alike, under the names of their settings."""

    items: list[LimitOut]
    house: list[LimitOut]


@router.get("/limits", response_model=LimitsOut, summary="Limits of the tenant", dependencies=[may("ops.read")])
async def limits(door: Door) -> Response:
    """What happens beyond each: refused (429, 413), fails, waits, pauses, warns, aside. `used` is null where a limit
    holds for each run."""
    uses = limit_uses(door.store, door.settings, door.tenant)
    return reply(LimitsOut, {"items": uses, "house": house_limits(door.settings)})
