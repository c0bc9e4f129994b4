"""The web console: files that were built at install, served with names that may be cached for ever."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, HTMLResponse, Response

BUILT = Path(__file__).with_name("console")
_FOR_EVER = {"Cache-Control": "public, max-age=31536000, immutable"}
_ABSENT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Penstock</title>
<body style="font:16px/1.5 system-ui;max-width:40rem;margin:4rem auto;padding:0 1rem">
<h1>The console was not built</h1><p>The server runs; its API is at <a href="/api/docs">/api/docs</a>.</p>
<p>To build the console: <code>python -m tools.console</code> in the checkout (it needs Node and the npm registry).</p>
<p lang="ko">콘솔이 아직 만들어지지 않았어요.
체크아웃에서 <code>python -m tools.console</code>을 실행하면 만들어져요.</p>
</body></html>
"""


def _file(path: str) -> Path | None:
    """The built file at a path; a path that no file system takes has none."""
    try:
        found = (BUILT / path).resolve()
        return found if path and found.is_file() and found.is_relative_to(BUILT.resolve()) else None
    except (OSError, ValueError):
        return None


def serve_console(app: FastAPI, first: Callable[[Request, Response], None]) -> None:
    """Every path that is neither the API nor a file is a view of the console: views are URLs. `first` is asked for each
    page that is a view."""

    @app.get("/{path:path}", include_in_schema=False)
    async def page(path: str, request: Request) -> Response:
        if path == "api" or path.startswith("api/"):
            raise HTTPException(404)
        index = BUILT / "index.html"
        if not index.is_file():
            return HTMLResponse(_ABSENT, headers={"Cache-Control": "no-store"})
        found = _file(path)
        if found is not None:
            return FileResponse(found, headers=_FOR_EVER if path.startswith("assets/") else None)
        if path.startswith("assets/"):
            raise HTTPException(404)
        view = FileResponse(index, headers={"Cache-Control": "no-cache"})
        first(request, view)
        return view
