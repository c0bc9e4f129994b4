"""Files of an execution over HTTP: streamed, and never as something that a browser would run."""

from __future__ import annotations

import re
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Header, Path, Query
from starlette.responses import Response, StreamingResponse

from penstock.api.pipeline.executions import ExecutionId, exact_id
from penstock.api.pipeline.pipeline_routes import InPipelineWords
from penstock.api.server_state import Caller, Door, may
from penstock.app.pipeline.files import OpenFile, input_of, output_of, page_of

router = APIRouter(prefix="/pipelines", tags=["pipelines"], route_class=InPipelineWords)
StageCode = Annotated[str, Path(alias="stageCode", max_length=50)]
Download = Annotated[bool, Query(description="As a file to be kept, whatever it is.")]
FirstPage = Annotated[bool, Query(description="A picture of the first page, where it is a PDF.")]
Range = Annotated[str | None, Header(max_length=100, description="Only a beginning: bytes=0-65535.")]
#: shown by browsers without running anything
_SHOWN = frozenset({
    "image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp", "application/json", "text/plain",
    "text/csv",
})  # fmt: skip
#: texts that would be run, or that browsers do not show: they are shown as what they are made of
_AS_TEXT = re.compile(r"text/[\w.+-]+|application/(xml|x-ndjson|yaml|[\w.+-]+\+(json|xml))|image/svg\+xml")
#: a file that is opened by itself may do nothing at all
_LOCKED = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"
_BEGINNING = re.compile(r"bytes=0-(\d{1,15})")
_BINARY: dict[str, Any] = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
_FILES: dict[int | str, dict[str, Any]] = {
    200: {"description": "The file", "content": _BINARY},
    206: {"description": "Its beginning", "content": _BINARY},
}


@router.get(
    "/executions/{executionId}/file", response_class=StreamingResponse, responses=_FILES,
    summary="The file that came in",
)  # fmt: skip
async def execution_file(
    id: ExecutionId, door: Door, download: Download = False, page: FirstPage = False, range: Range = None,
    who: Caller = may("pipeline.read"),
) -> Response:  # fmt: skip
    if page:
        return _sent(await page_of(await input_of(door, exact_id(door, id, who))), None, download=download)
    return _sent(await input_of(door, exact_id(door, id, who), _most(range)), _most(range), download=download)


@router.get(
    "/executions/{executionId}/stages/{stageCode}/output", response_class=StreamingResponse, responses=_FILES,
    summary="What a stage has made, by its newest attempt",
)  # fmt: skip
async def stage_output(
    id: ExecutionId, stage: StageCode, door: Door, download: Download = False, page: FirstPage = False,
    range: Range = None, who: Caller = may("pipeline.read"),
) -> Response:  # fmt: skip
    if page:
        return _sent(await page_of(await output_of(door, exact_id(door, id, who), stage)), None, download=download)
    return _sent(await output_of(door, exact_id(door, id, who), stage, _most(range)), _most(range), download=download)


def _most(range: str | None) -> int | None:
    """Of other ranges than a beginning the whole is sent, as a server may."""
    asked = _BEGINNING.fullmatch(range.strip()) if range is not None else None
    return int(asked[1]) + 1 if asked is not None else None


def _sent(file: OpenFile, most: int | None, *, download: bool) -> Response:
    mime = file.mime.partition(";")[0].strip().lower()
    shown = not download
    if mime not in _SHOWN and _AS_TEXT.fullmatch(mime):
        mime = "text/plain"
    elif mime not in _SHOWN:
        mime, shown = "application/octet-stream", False
    headers = {
        "Content-Disposition": f"{'inline' if shown else 'attachment'}; filename*=UTF-8''{quote(file.name, safe='')}",
        "Content-Security-Policy": _LOCKED, "Cache-Control": "private, no-cache", "Accept-Ranges": "bytes",
        "Content-Length": str(file.size),
    }  # fmt: skip
    status = 200
    if most is not None and file.size:
        end = min(most, file.size)
        status, headers["Content-Length"] = 206, str(end)
        headers["Content-Range"] = f"bytes 0-{end - 1}/{file.size}"
    charset = "; charset=utf-8" if mime.startswith("text/") else ""
    return StreamingResponse(file.chunks, status, headers=headers, media_type=mime + charset)
