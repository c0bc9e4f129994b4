"""The description of the API: names of operations, what the groups are about, and the page that shows it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response

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
    "diagrams": "The diagram language's own words: diagrams and their runs (D-X.29).",
    "events": "News for whoever it concerns.",
    "schedules": "What starts by the clock.",
    "dead letters": "Runs that ended badly: look, replay one, replay many.",
    "operations": "Circuit breakers, verdicts, messages that were kept.",
    "registry": "What a tenant has registered; secrets by their names only.",
    "keys": "API keys: made, listed, revoked.",
    "tenants": "Who shares this server.",
    "audit": "Who changed what, in a chain that can be verified.",
    "drafts": "What somebody has begun to write.",
    "words": "Words for statuses and node types, per language and tongue.",
    "live": "What happens now.",
    "health": "Is it there, does it take more.",
}


def operation_id(route: APIRoute) -> str:
    """The resource and what is done with it: runs_get, audit_verify. What the resource says already is left out."""
    first = re.split(r"[/:{]", route.path_format.removeprefix("/api/v1").strip("/"))[0].replace("-", "_")
    said = set(first.split("_"))
    words = [word for word in route.name.split("_") if word not in said and f"{word}s" not in said]
    return "_".join((first, *words))


def tags() -> list[dict[str, Any]]:
    return [{"name": name, "description": about} for name, about in TAGS.items()]


def serve_page(app: FastAPI) -> None:
    """Our own page and script: one that comes from another host would be neither there offline nor ours."""

    @app.get("/api/docs", include_in_schema=False)
    async def page() -> Response:
        return FileResponse(PAGE / "index.html", media_type="text/html", headers={"Cache-Control": "no-cache"})

    @app.get("/api/docs/{name}", include_in_schema=False)
    async def part(name: str) -> Response:
        if name not in _FILES:
            raise HTTPException(404)
        return FileResponse(PAGE / name, media_type=_FILES[name], headers={"Cache-Control": "no-cache"})
