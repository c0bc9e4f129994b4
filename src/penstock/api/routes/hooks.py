"""Webhooks: workflows that are started from outside, at the path that their trigger names (W-3.2.4, W-3.2.6)."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Header, Path, Query, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from penstock.api.decision.shapes import Triggered
from penstock.api.replies import shown
from penstock.api.run_body import whole_id
from penstock.api.server_state import TheSite, caller_of, site_of
from penstock.api.strict_routes import Checked, read_json
from penstock.api.webhook_auth import Called, Find, at_path, by_name, entered, presented
from penstock.app.releases.start_release import begin
from penstock.errors import BadInput, PenstockError, RouteMissing

router = APIRouter(tags=["workflows"], route_class=Checked)
Parent = Annotated[str | None, Query(max_length=200, description="The instance that asks for it (C-18).")]
Key = Annotated[str | None, Header(alias="Idempotency-Key", max_length=200, description="The same again starts none.")]
_BODY = {"requestBody": {"content": {"application/json": {"schema": {}, "example": {"line_id": "L01"}}}}}


@router.post(
    "/workflows/{workflow_id}/trigger", response_model=Triggered, status_code=202, openapi_extra=_BODY,
    summary="Start a workflow from outside",
)  # fmt: skip
async def trigger(
    workflow_id: Annotated[str, Path(max_length=200)], request: Request, site: TheSite,
    parent_instance_id: Parent = None, idempotency_key: Key = None,
) -> Response:  # fmt: skip
    """By an API key with `run.start`, by the tenant's secret `webhook_WORKFLOW` as a token, or signed with it."""
    path = f"/api/v1/workflows/{workflow_id}/trigger"
    return await _started(request, by_name(site, request.method, path, workflow_id), parent_instance_id)


async def _started(request: Request, find: Find, parent: str | None) -> Response:
    site = site_of(request)
    try:
        called = await entered(site, request, find)
    except PenstockError as error:
        raise await site.strangers.met(request, error) from error
    if called.hook is not None:
        site.windows.take(called.tenant, called.hook, site.door.now())
    door, name = site.door.of(called.tenant), called.row.name
    given = await read_json(request)
    if isinstance(given, dict) and "parent_instance_id" in given:
        parent = parent or str(given.pop("parent_instance_id") or "")
    key = _key(request, called)
    known = door.store.run_by_key(called.tenant, key) is not None if key is not None else False
    source = request.url.path
    site.audit.record(called.tenant, called.who, f"{request.method} {source}"[:200], f"workflows/{name}", given)
    run = await begin(
        door, called.row, given, key=key, parent=whole_id(door, parent) if parent else "",
        trigger={"type": "webhook" if called.hook is not None else "manual", "source": _source(called, source)},
    )  # fmt: skip
    told: dict[str, Any] = {"instance_id": run, "new": not known}
    return shown(Triggered, told, status=202, headers={"Location": f"/api/v1/instances/{run}"})


def _source(called: Called, path: str) -> str:
    return path if called.who.startswith("webhook:") else f"user:{called.who}"


def _key(request: Request, called: Called) -> str | None:
    said = request.headers.get("idempotency-key")
    if said is not None and not (0 < len(said) <= 200 and said.isascii() and said.isprintable()):
        raise BadInput(what="the Idempotency-Key", why="it has 1 to 200 printable ASCII characters")
    if called.again:  # one secret may be that of several webhooks: what was signed for one is not done by another
        return f"webhook::{called.again}"
    return f"webhook:{called.row.name}:{said}" if said else None


def serve_hooks(app: FastAPI) -> None:
    """Webhooks at paths of their own: whatever no other route takes."""

    @app.api_route("/{path:path}", methods=["POST", "PUT"], include_in_schema=False)
    async def hook(path: str, request: Request) -> Response:
        site, at = site_of(request), f"/{path}"
        if at.startswith("/api/") and not at.startswith("/api/v1/"):
            at = f"/api/v1/{at.removeprefix('/api/')}"
        _free(request, at)
        if not presented(request):  # no webhook is meant; whoever is signed in has made a slip of the pen
            await caller_of(request)
            raise RouteMissing
        parent = request.query_params.get("parent_instance_id")
        return await _started(request, at_path(site, request.method, at), parent)


def _free(request: Request, path: str) -> None:
    """What the API has itself is no webhook: it is asked with another method."""
    routes = [one for one in request.app.router.routes if getattr(one, "path", "") != "/{path:path}"]
    allowed = [
        method
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE")
        if any(one.matches({**request.scope, "path": path, "method": method})[0] == Match.FULL for one in routes)
    ]
    if allowed:
        raise HTTPException(405, "It is asked with another method.", headers={"Allow": ", ".join(allowed)})
