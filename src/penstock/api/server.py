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
from penstock.api.auth_throttle import AuthThrottle, rate_of
from penstock.api.console_files import serve_console
from penstock.api.document_folder import DocumentFolder
from penstock.api.headers import EdgeMiddleware
from penstock.api.identity import Identity
from penstock.api.long_reads import MOST_DOCUMENTS, TRIAL_S, LongReads
from penstock.api.openapi import complete_openapi, operation_id, serve_reference, tags
from penstock.api.options import Options
from penstock.api.presence import Presence
from penstock.api.request_share import CountedRequests, RequestShare
from penstock.api.route_table import ROUTES
from penstock.api.routes import hooks, me, metrics
from penstock.api.self_calls import SelfCalls
from penstock.api.server_state import ServerState
from penstock.api.stream import EventHub
from penstock.api.telemetry import EFFECTS_S, RequestTelemetry, Telemetry
from penstock.api.webhook_rates import WebhookRates
from penstock.app.access.audit import AuditLog
from penstock.app.access.idempotency import IdempotencyKeys
from penstock.app.access.keys import first_key
from penstock.app.language import Backgrounds, app_languages
from penstock.app.penstock import Penstock
from penstock.app.releases.documents import document_defaults
from penstock.app.runs.commands.batches import Batches
from penstock.app.runs.long.read_limits import loop_facts_of
from penstock.app.runs.long.reader_door import options_of
from penstock.demo import sample_runs as living
from penstock.host.limits import Limits

_ABOUT = """Runs documents durably. Every answer that is not a success is a problem (RFC 9457) with a code, a place and
a hint. Lists have a cursor; what is sent twice with one Idempotency-Key is done once."""


def create(door: Penstock, options: Options | None = None) -> FastAPI:
    """The application; the door is opened when it starts and closed when it ends."""
    server = ServerState(door, options or Options())

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        async with door:
            server.identity, server.hub = Identity(door, server.options, _tokens(door)), EventHub(door)
            for language in app_languages():
                language.tell_news(door, server.hub.publish)
            server.presence = Presence()
            server.audit, server.idempotency = AuditLog(door.store), IdempotencyKeys(door.store)
            server.webhook_rates = WebhookRates()
            document_defaults(door.settings)
            server.long_reads = LongReads(options_of(door), loop_facts=loop_facts_of(door.settings))
            server.large_documents = LongReads(options_of(door), most_waiting=MOST_DOCUMENTS)
            server.trials = LongReads(options_of(door), most_waiting=MOST_DOCUMENTS, answer_s=TRIAL_S)
            server.request_share = RequestShare(Limits(door.settings).share)
            door.host.others_work = server.request_share.is_likely
            rate = None if server.options.dev else rate_of(door.settings)
            server.auth_throttle = AuthThrottle(door, server.audit, rate, door.now)
            server.telemetry = Telemetry(door, server.hub)
            server.batches = Batches(door, server.audit)
            door.answer_own(SelfCalls(app, server.options).send)
            background = [await _demo(server), _folder(server)]
            _first_key(server)
            await _warm(app)
            server.batches.open()
            backgrounds = Backgrounds(door)
            backgrounds.open()
            try:
                yield
            finally:
                server.draining = True
                await backgrounds.close()
                for task in background:
                    task.cancel()
                server.hub.close()
                await server.batches.close()
                await server.long_reads.close()
                await server.large_documents.close()
                await server.trials.close()
                await door.drain(EFFECTS_S)
                await server.telemetry.close()

    app = FastAPI(
        title="Penstock", version=penstock.__version__, description=_ABOUT, lifespan=life,
        openapi_url=None, docs_url=None, redoc_url=None, responses=problems.RESPONSES,
        generate_unique_id_function=operation_id, openapi_tags=tags(),
    )  # fmt: skip
    app.state.server = server
    problems.install(app)
    for prefix, in_schema in (("/api/v1", True), ("/api", False)):
        for router in ROUTES:  # each by itself: the framework puts together again what is in a router inside a router
            app.include_router(router, prefix=prefix, include_in_schema=in_schema)
    serve_reference(app)
    complete_openapi(app)
    metrics.serve_metrics(app)
    hooks.serve_hooks(app)
    if server.options.console:
        serve_console(app, me.somebody)
    _cross_origin(app, server.options)
    app.add_middleware(EdgeMiddleware, options=server.options)
    app.add_middleware(RequestTelemetry, telemetry=lambda: getattr(server, "telemetry", None))
    app.add_middleware(CountedRequests, share=lambda: getattr(server, "request_share", None))
    return app


async def _warm(app: FastAPI) -> None:
    """The framework builds its routes at the first request, which takes seconds: no caller shall wait for that."""
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
    """CORS: off unless origins are named; their pages send keys, never the console's cookie."""
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
    """JWTs are accepted where the settings name an issuer. Raises BadInput for settings that are wrong."""
    settings = jwt.read_settings(door.settings, door.path.parent)
    return jwt.Tokens(settings) if settings is not None else None


def _print(text: str) -> None:
    print(text, flush=True)


def _first_key(server: ServerState) -> None:
    """Makes the administrator's key at the first start; in dev nobody needs one."""
    path = None if server.options.dev else first_key(server.door, server.door.path)
    if path is not None:
        _print(f"The administrator's key is in {path}; only you can read it. Keep it, and take the file away.")


def _folder(server: ServerState) -> asyncio.Task[None]:
    async def watch() -> None:
        if server.options.folder:
            folder = DocumentFolder(server.door, Path(server.options.folder), _print)
            folder.scan()
            await folder.watch()

    return asyncio.ensure_future(watch())


async def _demo(server: ServerState) -> asyncio.Task[None]:
    """In dev the sample documents are in force, and where it was not asked to be quiet, runs come by themselves."""

    async def nothing() -> None:
        return None

    if not server.options.dev:
        return asyncio.ensure_future(nothing())
    living.put_in_force(server.door)
    if not server.options.living:
        return asyncio.ensure_future(nothing())
    await living.begin(server.door)
    return asyncio.ensure_future(living.go_on(server.door))


def openapi(door: Penstock) -> dict[str, Any]:
    """The description of the API, for clients that are generated from it."""
    return create(door).openapi()
