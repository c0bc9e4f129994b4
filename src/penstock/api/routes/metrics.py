"""Numbers for those who watch: metrics for Prometheus, alarms, and the dashboard's panels."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, FastAPI, Query, Request
from starlette.responses import Response

from penstock.api.bodies import ResponseBody
from penstock.api.replies import reply
from penstock.api.server_state import Caller, Server, ServerState, caller_of, may
from penstock.api.strict_routes import StrictRoute
from penstock.api.time_fields import Moment
from penstock.app.metrics.dashboard import PanelValue, values
from penstock.app.metrics.exposition import MEDIA
from penstock.app.metrics.readings import Readings
from penstock.app.metrics.series import detailed, exposed
from penstock.errors import NotAllowed, RouteMissing

router = APIRouter(tags=["operations"], route_class=StrictRoute)
NEEDS = "ops.read"


class AlarmOut(ResponseBody):
    id: str
    metric: str
    state: Literal["open", "cleared"]
    value: float
    threshold: float
    comparison: str
    unit: str
    detail: str
    raised_at: Moment
    cleared_at: Moment | None


class AlarmPage(ResponseBody):
    items: list[AlarmOut]
    next: str | None


class PanelOut(ResponseBody, of=PanelValue):
    pass


class DashboardOut(ResponseBody):
    name: str
    at: Moment
    panels: list[PanelOut]


async def whose(request: Request) -> str | None:
    """Whose numbers: those of the caller's tenant. A scraper has a token of its own and gets everybody's, with the
    engine's; in dev everybody is one."""
    server: ServerState = request.app.state.server
    given = (request.headers.get("authorization") or "").partition(" ")[2].strip()
    if given and server.telemetry.is_scraper(given):
        return None
    if server.options.dev and not given:
        return None
    caller = await caller_of(request)
    if NEEDS not in caller.permissions:
        raise NotAllowed(user=caller.user, permission=NEEDS)
    return caller.tenant


whose.permission = NEEDS  # type: ignore[attr-defined]
Whose = Annotated[str | None, Depends(whose)]
_TEXT: dict[int | str, dict[str, Any]] = {
    200: {"content": {MEDIA.partition(";")[0]: {"schema": {"type": "string"}}}, "description": "Series"}
}


@router.get("/metrics", response_class=Response, responses=_TEXT, summary="Metrics in the text form of Prometheus")
async def metrics(tenant: Whose, server: Server) -> Response:
    text = exposed(server.telemetry.meter, tenant, server.door.now(), listening=server.hub.listening)
    return Response(text, media_type=MEDIA)


@router.get(
    "/metrics/detail", response_class=Response, responses=_TEXT, name="metrics_detail",
    summary="One series per instance; not in production",
)  # fmt: skip
async def detail(tenant: Whose, server: Server) -> Response:
    if server.door.profile == "production":
        raise RouteMissing
    return Response(detailed(server.door if tenant is None else server.door.of(tenant)), media_type=MEDIA)


@router.get("/alarms", response_model=AlarmPage, summary="Alarms: those that are open, then those that are over")
async def alarms(
    server: Server, state: Annotated[str, Query(pattern="^(open|all)$")] = "all", who: Caller = may(NEEDS)
) -> Response:
    stand = server.telemetry.alarms.of(who.tenant)
    items = sorted(stand.open.values(), key=lambda alarm: -alarm.raised_at) + (stand.recent if state == "all" else [])
    bodies = [
        {
            "id": alarm.id, "metric": alarm.metric, "state": "open" if alarm.cleared_at is None else "cleared",
            "value": alarm.value, "threshold": alarm.threshold, "comparison": alarm.comparison, "unit": alarm.unit,
            "detail": alarm.detail, "raised_at": alarm.raised_at, "cleared_at": alarm.cleared_at,
        }
        for alarm in items
    ]  # fmt: skip
    return reply(AlarmPage, {"items": bodies, "next": None})


@router.get("/dashboard", response_model=DashboardOut, summary="The dashboard's panels with their values (W-10.3)")
async def dashboard(server: Server, who: Caller = may(NEEDS)) -> Response:
    now = server.door.now()
    read = Readings(server.telemetry.meter, who.tenant, now)
    return reply(DashboardOut, {"name": "workflow_dashboard", "at": now, "panels": values(read)})


def serve_metrics(app: FastAPI) -> None:
    """Where scrapers look first."""
    for path, endpoint in (("/metrics", metrics), ("/metrics/detail", detail)):
        app.router.routes.append(
            StrictRoute(path, endpoint, methods=["GET"], include_in_schema=False, response_class=Response)
        )
