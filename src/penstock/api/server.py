"""The server: one FastAPI application in front of one door."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.types import Message

import penstock
from penstock.api import jwt, problems
from penstock.api.auth_throttle import Strangers, rate_of
from penstock.api.console_files import serve_console
from penstock.api.document_folder import Folder
from penstock.api.headers import Edge
from penstock.api.identity import Identity
from penstock.api.language import language_routers
from penstock.api.openapi import describe, operation_id, serve_page, tags
from penstock.api.presence import Presence
from penstock.api.routes import (
    admin,
    batch,
    configs,
    definitions,
    events,
    health,
    home,
    hooks,
    inbox,
    live,
    me,
    metrics,
    registry,
    run_views,
    runs,
    schedules,
    stand_ins,
    status_labels,
)
from penstock.api.self_calls import OwnApp
from penstock.api.server_state import Options, ServerState
from penstock.api.stream import Hub
from penstock.api.telemetry import EFFECTS_S, Watched, Watching
from penstock.api.webhook_auth import Windows
from penstock.app.access.audit import AuditLog
from penstock.app.access.idempotency import IdempotencyKeys
from penstock.app.access.keys import first_key
from penstock.app.penstock import Penstock
from penstock.demo import sample_runs as living

_LANGUAGES = language_routers()
ROUTES = (
    me.router, home.router, runs.router, run_views.router, batch.router, inbox.router, definitions.router, hooks.router,
    *_LANGUAGES.documents, events.router, schedules.router, *_LANGUAGES.operations,
    stand_ins.router, configs.router, configs.proposed, *registry.routers,
    admin.router, status_labels.router, live.router, health.router, metrics.router,
)  # fmt: skip
_ABOUT = """Runs documents durably. Every answer that is not a success is a problem (RFC 9457) with a code, a place and
a hint. Lists have a cursor; what is sent twice with one Idempotency-Key is done once."""


def create(door: Penstock, options: Options | None = None) -> FastAPI:
    """The application; the door is opened when it starts and closed when it ends."""
    site = ServerState(door, options or Options())

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        async with door:
            site.identity, site.hub = Identity(door, site.options, _tokens(door)), Hub(door)
            site.presence = Presence()
            site.audit, site.once, site.windows = AuditLog(door.store), IdempotencyKeys(door.store), Windows()
            rate = None if site.options.dev else rate_of(door.settings)
            site.strangers = Strangers(door, site.audit, rate, door.now)
            site.watching = Watching(site)
            door.answer_own(OwnApp(app, site.options).answer)
            beside = [await _demo(site), _folder(site)]
            _first_key(site)
            await _warm(app)
            try:
                yield
            finally:
                site.draining = True
                for one in beside:
                    one.cancel()
                site.hub.close()
                await door.drain(EFFECTS_S)
                await site.watching.close()

    app = FastAPI(
        title="Penstock", version=penstock.__version__, description=_ABOUT, lifespan=life,
        openapi_url=None, docs_url=None, redoc_url=None, responses=problems.RESPONSES,
        generate_unique_id_function=operation_id, openapi_tags=tags(),
    )  # fmt: skip
    app.state.site = site
    problems.install(app)
    for prefix, told in (("/api/v1", True), ("/api", False)):
        for router in ROUTES:  # each by itself: the framework puts together again what is in a router inside a router
            app.include_router(router, prefix=prefix, include_in_schema=told)
    serve_page(app)
    describe(app)
    metrics.serve_metrics(app)
    hooks.serve_hooks(app)
    if site.options.console:
        serve_console(app, me.somebody)
    _cross_origin(app, site.options)
    app.add_middleware(Edge, options=site.options)
    app.add_middleware(Watched, site=site)
    return app


async def _warm(app: FastAPI) -> None:
    """The framework puts its routes together at the first request, which takes seconds: nobody shall wait for that."""
    scope = {
        "type": "http", "http_version": "1.1", "method": "GET", "scheme": "http", "path": "/api/v1/health",
        "raw_path": b"/api/v1/health", "root_path": "", "query_string": b"", "headers": [(b"host", b"localhost")],
        "app": app,
    }  # fmt: skip

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(_: Message) -> None:
        return None

    await app(scope, receive, send)


def _cross_origin(app: FastAPI, options: Options) -> None:
    """Off, unless pages of other sites are named; they send keys, never the console's cookie."""
    if options.origins:
        app.add_middleware(
            CORSMiddleware, allow_origins=list(options.origins), allow_credentials=False, max_age=600,
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "If-Match", "If-None-Match",
                           "Last-Event-ID", "traceparent"],
            expose_headers=["ETag", "Location", "Retry-After", "X-Trace-Id", "Idempotency-Replayed",
                            "Penstock-Next"],
        )  # fmt: skip


def _tokens(door: Penstock) -> jwt.Tokens | None:
    """JWTs are taken where the settings say of whom. Raises BadInput where they cannot be meant."""
    found = jwt.read_settings(door.settings, door.path.parent)
    return jwt.Tokens(found) if found is not None else None


def _say(text: str) -> None:
    print(text, flush=True)


def _first_key(site: ServerState) -> None:
    """In dev nobody needs one."""
    made = None if site.options.dev else first_key(site.door, site.door.path)
    if made is not None:
        _say(f"The administrator's key is in {made}; only you can read it. Keep it, and take the file away.")


def _folder(site: ServerState) -> asyncio.Task[None]:
    async def watched() -> None:
        if site.options.folder:
            folder = Folder(site.door, Path(site.options.folder), _say)
            folder.look()
            await folder.watch()

    return asyncio.ensure_future(watched())


async def _demo(site: ServerState) -> asyncio.Task[None]:
    """In dev the sample documents are in force, and where it was not asked to be quiet, runs come by themselves."""

    async def nothing() -> None:
        return None

    if not site.options.dev:
        return asyncio.ensure_future(nothing())
    living.put_in_force(site.door)
    if not site.options.living:
        return asyncio.ensure_future(nothing())
    await living.begin(site.door)
    return asyncio.ensure_future(living.go_on(site.door))


def openapi(door: Penstock) -> dict[str, Any]:
    """The description of the API, for clients that are generated from it."""
    return create(door).openapi()
