"""Drawings as responses: drawn in a thread, with the media type of their form, and locked against scripts."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import Query
from starlette.responses import Response

from penstock.app.drawing.render import Form, Subject, render
from penstock.net.draw.theme import ThemeName

AsForm = Annotated[Form, Query(alias="format", description="An SVG picture, Mermaid text, or plain text.")]
AsTheme = Annotated[ThemeName, Query(description="The colours of the SVG.")]
_TYPES: dict[Form, str] = {
    "svg": "image/svg+xml", "mermaid": "text/vnd.mermaid; charset=utf-8", "text": "text/plain; charset=utf-8",
}  # fmt: skip
#: A picture that is opened by itself is a document of this server: it may style itself, and nothing else. Its texts are
#: escaped where it is drawn; this is the second lock.
_LOCKED = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"
#: for routes' documentation
DRAWINGS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The picture",
        "content": {kind.partition(";")[0]: {"schema": {"type": "string"}} for kind in _TYPES.values()},
    }
}


async def drawing_reply(subject: Subject, form: Form, theme: ThemeName) -> Response:
    body = await asyncio.to_thread(render, subject, form, theme)
    return Response(body, headers={"Content-Security-Policy": _LOCKED}, media_type=_TYPES[form])
