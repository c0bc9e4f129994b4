"""The web console: files that were built at install, packed already, served with names that may be cached for ever."""

from __future__ import annotations

import mimetypes
from collections.abc import Callable
from pathlib import Path

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, HTMLResponse, Response

BUILT = Path(__file__).with_name("console")
_FOR_EVER = "public, max-age=31536000, immutable"
#: how a file may be packed, the smallest first, and what its name then ends with
_PACKED = {"br": ".br", "gzip": ".gz"}
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


def _wanted(accepted: str) -> set[str]:
    """The codings that a browser takes: all that it names without a weight of nothing."""
    found = set()
    for one in accepted.split(","):
        name, _, weight = one.partition(";")
        if weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000"):
            found.add(name.strip().lower())
    return found


def _sent(file: Path, request: Request, caching: str) -> Response:
    """As the browser can take it: the build leaves packed files beside those for which it is worth it."""
    headers = {"Cache-Control": caching}
    there = {coding: packed for coding, end in _PACKED.items() if (packed := Path(f"{file}{end}")).is_file()}
    if not there:
        return FileResponse(file, headers=headers)
    headers["Vary"] = "Accept-Encoding"
    wanted = _wanted(request.headers.get("accept-encoding", ""))
    coding = next((one for one in there if one in wanted), None)
    if coding is None:
        return FileResponse(file, headers=headers)
    kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    return FileResponse(there[coding], headers={**headers, "Content-Encoding": coding}, media_type=kind)


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
            return _sent(found, request, _FOR_EVER if path.startswith("assets/") else "no-cache")
        if path.startswith("assets/"):
            raise HTTPException(404)
        view = _sent(index, request, "no-cache")
        first(request, view)
        return view
