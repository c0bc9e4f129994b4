"""The files of the web console: built at install, compressed already, with names that may be cached for ever."""

from __future__ import annotations

import mimetypes
from collections.abc import Callable
from pathlib import Path

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, HTMLResponse, Response

BUILT = Path(__file__).with_name("console")
_IMMUTABLE = "public, max-age=31536000, immutable"
#: content codings, the smallest first, and the ending of the compressed file
_CODINGS = {"br": ".br", "gzip": ".gz"}
_NOT_BUILT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Penstock</title>
<body style="font:16px/1.5 system-ui;max-width:40rem;margin:4rem auto;padding:0 1rem">
<h1>The console was not built</h1><p>The server runs; its API is at <a href="/api/docs">/api/docs</a>.</p>
<p>To build the console: <code>python -m tools.console</code> in the checkout (it needs Node and the npm registry).</p>
<p lang="ko">콘솔이 아직 만들어지지 않았어요.
체크아웃에서 <code>python -m tools.console</code>을 실행하면 만들어져요.</p>
</body></html>
"""


def _built_file(path: str) -> Path | None:
    """The built file at a path; None for a path that no file system takes."""
    try:
        file = (BUILT / path).resolve()
        return file if path and file.is_file() and file.is_relative_to(BUILT.resolve()) else None
    except (OSError, ValueError):
        return None


def _accepted(header: str) -> set[str]:
    """The codings that a browser accepts: all that it names without a weight of zero."""
    codings = set()
    for part in header.split(","):
        name, _, weight = part.partition(";")
        if weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000"):
            codings.add(name.strip().lower())
    return codings


def _file_response(file: Path, request: Request, caching: str) -> Response:
    """Compressed if the browser accepts it and the build has left a compressed file."""
    headers = {"Cache-Control": caching}
    built = {coding: path for coding, end in _CODINGS.items() if (path := Path(f"{file}{end}")).is_file()}
    if not built:
        return FileResponse(file, headers=headers)
    headers["Vary"] = "Accept-Encoding"
    accepted = _accepted(request.headers.get("accept-encoding", ""))
    coding = next((coding for coding in built if coding in accepted), None)
    if coding is None:
        return FileResponse(file, headers=headers)
    kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    return FileResponse(built[coding], headers={**headers, "Content-Encoding": coding}, media_type=kind)


def serve_console(app: FastAPI, on_view: Callable[[Request, Response], None]) -> None:
    """Every path that is neither the API nor a file is a view of the console: views are URLs. `on_view` is called for
    each response that is a view."""

    @app.get("/{path:path}", include_in_schema=False)
    async def page(path: str, request: Request) -> Response:
        if path == "api" or path.startswith("api/"):
            raise HTTPException(404)
        index = BUILT / "index.html"
        if not index.is_file():
            return HTMLResponse(_NOT_BUILT, headers={"Cache-Control": "no-store"})
        file = _built_file(path)
        if file is not None:
            return _file_response(file, request, _IMMUTABLE if path.startswith("assets/") else "no-cache")
        if path.startswith("assets/"):
            raise HTTPException(404)
        view = _file_response(index, request, "no-cache")
        on_view(request, view)
        return view
