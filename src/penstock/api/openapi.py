"""The OpenAPI document: operation ids, tags, security, examples, and the page that shows it."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response

from penstock.api.sessions import COOKIE

PAGE = Path(__file__).with_name("reference")
_FILES = {"page.js": "text/javascript", "page.css": "text/css"}
TAGS = {
    "people": "Who calls, and the console's session.",
    "home": "What is stuck and why, what waits for me, what flows.",
    "runs": "Runs of every language: start, find, look at any moment of them, steer them.",
    "inbox": "What waits for people, and what they do with it.",
    "definitions": "Documents of every language and their versions: check, submit, approve, put in force, draw.",
    "workflows": "The decision language's own words: workflows, their versions, their webhooks (C-66).",
    "instances": "The decision language's own words: runs of workflows (C-66).",
    "approvals": "The decision language's own words: approvals and reviews of verdicts (C-66).",
    "deployments": "What is rolled out, stage by stage: look, begin, pause, promote, take back (C-66).",
    "diagrams": "The diagram language's own words: diagrams and their runs (D-X.29).",
    "pipelines": "The pipeline language's own words: executions, definitions, schedules, dead messages (F-X.23).",
    "projects": "The plan language's own words: projects, tasks, agents, executions, health, reports (T-X.39).",
    "processes": "The process language's own words: definitions, drafts, instances, work items (P-X.28).",
    "events": "News for whoever it concerns.",
    "schedules": "What starts by the clock.",
    "simulations": "What a change would have meant: results, reports, past judgments and labels (C-59).",
    "rules": "The test bench: what a rule pack or a FEEL expression would say. Nothing is stored.",
    "jobs": "What workers outside do, in any language: take, hold, answer.",
    "dead letters": "Runs that ended badly: look, replay one, replay many.",
    "operations": "Circuit breakers, verdicts, messages that were kept.",
    "stand-ins": "Systems outside that the seed's workflows call, for trying them out (dev).",
    "registry": "What a tenant has registered; secrets by their names only.",
    "keys": "API keys: made, listed, revoked.",
    "tenants": "Who shares this server.",
    "audit": "Who changed what, in a chain that can be verified.",
    "drafts": "What somebody has begun to write.",
    "words": "Words for statuses and node types, per language of documents, in English and Korean.",
    "live": "What happens now.",
    "health": "Is it there, does it take more.",
}


def operation_id(route: APIRoute) -> str:
    """The resource and what is done with it: runs_get, audit_verify. Words of the resource are not repeated."""
    first = re.split(r"[/:{]", route.path_format.removeprefix("/api/v1").strip("/"))[0].replace("-", "_")
    resource = set(first.split("_"))
    words = [word for word in route.name.split("_") if word not in resource and f"{word}s" not in resource]
    return "_".join((first, *words))


def tags() -> list[dict[str, Any]]:
    return [{"name": name, "description": about} for name, about in TAGS.items()]


def complete_openapi(app: FastAPI) -> None:
    """Adds what the framework does not know: security, Idempotency-Key, and an example of every body."""
    plain = app.openapi

    def completed() -> dict[str, Any]:
        if app.openapi_schema is None:
            spec = plain()
            spec["components"]["securitySchemes"] = _SECURITY_SCHEMES
            spec["security"] = [{"key": []}, {"session": []}]
            for path, item in spec["paths"].items():
                for method, operation in item.items():
                    _complete_operation(spec["components"]["schemas"], f"{method} {path}", operation)
        assert app.openapi_schema is not None
        return app.openapi_schema

    app.openapi = completed  # type: ignore[method-assign]


_SECURITY_SCHEMES = {
    "key": {"type": "http", "scheme": "bearer", "description": "An API key (ps_…), or a JWT where it is set up."},
    "session": {"type": "apiKey", "in": "cookie", "name": COOKIE, "description": "The console's own."},
}  # fmt: skip
_PUBLIC = ("/session", "/dev/users", "/dev/session", "/health", "/ready")
_KEY = {
    "name": "Idempotency-Key", "in": "header", "required": False,
    "description": "The same key and request again is done once, and gets the same answer.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[ -~]+$"},
}  # fmt: skip


def _complete_operation(schemas: dict[str, Any], name: str, operation: dict[str, Any]) -> None:
    if name.endswith(_PUBLIC):
        operation["security"] = []
    elif name.startswith("post ") and not any(p["name"] == "Idempotency-Key" for p in operation.get("parameters", ())):
        operation.setdefault("parameters", []).append(_KEY)
    media = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if media is not None and "example" not in media:
        media["example"] = example(media["schema"], schemas)


def example(schema: dict[str, Any], schemas: dict[str, Any]) -> Any:
    """A valid value: the example that a field names, else a short value of its type."""
    if "$ref" in schema:
        return example(schemas[schema["$ref"].rpartition("/")[2]], schemas)
    if schema.get("examples"):
        return schema["examples"][0]
    if schema.get("anyOf"):
        return example(schema["anyOf"][0], schemas)
    if "properties" in schema:
        needed = schema.get("required", [])
        parts = schema["properties"].items()
        return {name: example(part, schemas) for name, part in parts if name in needed or part.get("examples")}
    if str(schema.get("pattern", "")).startswith("^("):
        return re.split(r"[()|]", schema["pattern"])[1]
    return {"string": "text", "integer": 1, "number": 1, "boolean": True, "array": []}.get(schema.get("type", ""), {})


def serve_reference(app: FastAPI) -> None:
    """Serves the document, made once in a thread, for it takes a second; and the page with its script, which are served
    from here so that they work offline."""
    written: list[bytes] = []
    lock = asyncio.Lock()

    @app.get("/api/openapi.json", include_in_schema=False)
    @app.get("/api/v1/openapi.json", include_in_schema=False)
    async def description() -> Response:
        async with lock:
            if not written:
                written.append(await asyncio.to_thread(lambda: msgspec.json.encode(app.openapi())))
        return Response(written[0], media_type="application/json", headers={"Cache-Control": "no-cache"})

    @app.get("/api/docs", include_in_schema=False)
    async def page() -> Response:
        return FileResponse(PAGE / "index.html", media_type="text/html", headers={"Cache-Control": "no-cache"})

    @app.get("/api/docs/{name}", include_in_schema=False)
    async def part(name: str) -> Response:
        if name not in _FILES:
            raise HTTPException(404)
        return FileResponse(PAGE / name, media_type=_FILES[name], headers={"Cache-Control": "no-cache"})
