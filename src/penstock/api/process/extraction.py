"""Manuals read as processes, and how a version was read (P-6.1, P-X.28)."""

from __future__ import annotations

import base64
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends, Path
from starlette.responses import Response

from penstock.api import paging
from penstock.api.problems import finding_body
from penstock.api.process import extraction_shapes as shape
from penstock.api.process.error_words import InProcessWords, same_tenant
from penstock.api.replies import reply
from penstock.api.server_state import Caller, Door, may
from penstock.app.process.definitions import Processes, approval_of
from penstock.app.process.extraction import Manual, Reading, manual_of, manual_of_document
from penstock.app.process.models import extracted, reading_of
from penstock.app.process.version_writer import origin_of
from penstock.errors import ProcessNotFound, ProcessUnreadable

router = APIRouter(
    prefix="/processes", tags=["processes"], route_class=InProcessWords, dependencies=[Depends(same_tenant)]
)
Id = Annotated[str, Path(max_length=200)]


@router.post(
    "/definitions:extract", response_model=shape.ExtractedOut, status_code=201,
    summary="Make a process out of a manual (P-6.1)",
    responses={200: {"model": shape.ExtractedOut, "description": "Only shown, or known already"}},
)  # fmt: skip
async def extract(asked: shape.ExtractAsked, door: Door, who: Caller = may("definition.write")) -> Response:
    done = await extracted(door, await _manual(asked), id=asked.id, by=who.user, store=not asked.dry_run)
    body = {**msgspec.to_builtins(done), "findings": [finding_body(finding) for finding in done.findings]}
    return reply(shape.ExtractedOut, {**body, **_reading_body(done.reading)}, status=201 if done.new else 200)


async def _manual(asked: shape.ExtractAsked) -> Manual:
    if sum(given is not None for given in (asked.text, asked.pdf, asked.document)) != 1:
        raise ProcessUnreadable(why="Send one of «text», «document» and «pdf».")
    if asked.text is not None:
        return manual_of(asked.text)
    if asked.document is not None:
        source = _bytes("document/content_base64", asked.document.content_base64)
        return await manual_of_document(source, asked.document.name, asked.document.media_type)
    return await manual_of_document(_bytes("pdf", asked.pdf or ""), media_type="application/pdf")


def _bytes(name: str, text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise ProcessUnreadable(why=f"«{name}» is no base64.") from None


def _reading_body(reading: Reading) -> dict[str, Any]:
    body: dict[str, Any] = msgspec.to_builtins(reading)
    return body


@router.get(
    "/definitions/{id}/extraction", response_model=shape.ExtractionOut,
    summary="How a version was read: the manual, and the sentences behind every element",
)  # fmt: skip
async def extraction(id: Id, door: Door, version: paging.Nth = None, _: Caller = may("definition.read")) -> Response:
    """Without `version` the newest one; one that was not read out of a manual has none."""
    held = Processes(door)
    row = held.versions(id)[-1] if version is None else held.get(id, version)
    reading = reading_of(row)
    if reading is None:
        raise ProcessNotFound(what="extraction of the process", name=f"{id} {row.version}")
    origin = origin_of(row)
    body = {
        "id": row.name, "version": row.version, "approval_status": approval_of(row),
        "confidence": origin.get("confidence", 0.0), "parts": origin.get("parts", {}), "source": origin.get("by", ""),
        "note": origin.get("note", ""), "edited": bool(origin.get("edited")),
        "definition": msgspec.json.decode(row.document), **_reading_body(reading),
    }  # fmt: skip
    return reply(shape.ExtractionOut, body, headers={"ETag": f'"{row.version}"'})
