"""Webhooks: workflows that are started from outside, at the path that their trigger names (W-3.2.4, W-3.2.6)."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, FastAPI, Header, Path, Query, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from penstock.api.replies import reply
from penstock.api.run_body import exact_run_id
from penstock.api.server_state import Server, caller_of, server_of
from penstock.api.shapes.operations import Triggered
from penstock.api.strict_routes import StrictRoute, read_json
from penstock.api.webhook_auth import FindWebhook, WebhookCall, at_path, authenticate, by_name, has_credentials
from penstock.app.releases.start_release import begin
from penstock.errors import BadInput, PenstockError, RouteMissing

router = APIRouter(tags=["workflows"], route_class=StrictRoute)
Parent = Annotated[str | None, Query(max_length=200, description="The instance that asks for it (C-18).")]
Key = Annotated[str | None, Header(alias="Idempotency-Key", max_length=200, description="The same again starts none.")]
_BODY = {"requestBody": {"content": {"application/json": {"schema": {}, "example": {"line_id": "L01"}}}}}


@router.post(
    "/workflows/{workflow_id}/trigger", response_model=Triggered, status_code=202, openapi_extra=_BODY,
    summary="Start a workflow from outside",
)  # fmt: skip
async def trigger(
    workflow_id: Annotated[str, Path(max_length=200)], request: Request, server: Server,
    parent_instance_id: Parent = None, idempotency_key: Key = None,
) -> Response:  # fmt: skip
    """By an API key with `run.start`, by the tenant's secret `webhook_WORKFLOW` as a token, or signed with it."""
    path = f"/api/v1/workflows/{workflow_id}/trigger"
    return await _start(request, by_name(server, request.method, path, workflow_id), parent_instance_id)


async def _start(request: Request, find: FindWebhook, parent: str | None) -> Response:
    server = server_of(request)
    try:
        call = await authenticate(server, request, find)
    except PenstockError as error:
        raise await server.auth_throttle.refused(request, error) from error
    if call.hook is not None:
        server.webhook_rates.take(call.tenant, call.hook, server.door.now())
    door, name = server.door.of(call.tenant), call.row.name
    given = await read_json(request)
    if isinstance(given, dict) and "parent_instance_id" in given:
        parent = parent or str(given.pop("parent_instance_id") or "")
    key = _key(request, call)
    known = door.store.run_by_key(call.tenant, key) is not None if key is not None else False
    source = request.url.path
    server.audit.record(call.tenant, call.who, f"{request.method} {source}"[:200], f"workflows/{name}", given)
    run = await begin(
        door, call.row, given, key=key, parent=exact_run_id(door, parent) if parent else "",
        trigger={"type": "webhook" if call.hook is not None else "manual", "source": _source(call, source)},
    )  # fmt: skip
    body: dict[str, Any] = {"instance_id": run, "new": not known}
    return reply(Triggered, body, status=202, headers={"Location": f"/api/v1/instances/{run}"})


def _source(call: WebhookCall, path: str) -> str:
    return path if call.who.startswith("webhook:") else f"user:{call.who}"


def _key(request: Request, call: WebhookCall) -> str | None:
    key = request.headers.get("idempotency-key")
    if key is not None and not (0 < len(key) <= 200 and key.isascii() and key.isprintable()):
        raise BadInput(what="the Idempotency-Key", why="it has 1 to 200 printable ASCII characters")
    if call.dedupe_id:  # several webhooks may share a secret: what was signed for one is not done by another
        return f"webhook::{call.dedupe_id}"
    return f"webhook:{call.row.name}:{key}" if key else None


def serve_hooks(app: FastAPI) -> None:
    """Webhooks at paths of their own: every path that no other route takes."""

    @app.api_route("/{path:path}", methods=["POST", "PUT"], include_in_schema=False)
    async def hook(path: str, request: Request) -> Response:
        server, at = server_of(request), f"/{path}"
        if at.startswith("/api/") and not at.startswith("/api/v1/"):
            at = f"/api/v1/{at.removeprefix('/api/')}"
        _refuse_api_paths(request, at)
        if not has_credentials(request):  # no webhook is meant: a typing error of somebody who is signed in
            await caller_of(request)
            raise RouteMissing
        parent = request.query_params.get("parent_instance_id")
        return await _start(request, at_path(server, request.method, at), parent)


def _refuse_api_paths(request: Request, path: str) -> None:
    """A path of the API is no webhook; it was called with another method. Raises HTTPException."""
    routes = [route for route in request.app.router.routes if getattr(route, "path", "") != "/{path:path}"]
    allowed = [
        method
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE")
        if any(route.matches({**request.scope, "path": path, "method": method})[0] == Match.FULL for route in routes)
    ]
    if allowed:
        raise HTTPException(405, "It is asked with another method.", headers={"Allow": ", ".join(allowed)})
