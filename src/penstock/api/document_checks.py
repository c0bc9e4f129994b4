"""Documents that are only looked at: compiled beside the loop, which goes on meanwhile, and with a limit."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from penstock.app.releases.documents import compile_source
from penstock.app.releases.inspection import Inspection, inspect
from penstock.errors import (
    DocumentInvalid,
    DocumentTooLarge,
    DocumentTooLong,
    DocumentUnreadable,
    Finding,
    LanguageUnknown,
    Place,
)
from penstock.lang.read import read_document

#: of a document that is looked at
BYTES, NODES = 2 * 1024 * 1024, 5000


async def looked_at(document: dict[str, Any] | str | bytes) -> tuple[str | None, list[Finding]]:
    """The language of a document, if it could be read as one, and everything there is to say about it. Raises
    DocumentTooLarge, DocumentTooLong."""
    return await asyncio.to_thread(_compiled, _source(document))


async def inspected_at(document: dict[str, Any] | str | bytes) -> Inspection:
    """With its drawing, and whether every run of it can end. Raises as `looked_at`."""
    return await asyncio.to_thread(_inspected, _source(document))


def _source(document: dict[str, Any] | str | bytes) -> bytes:
    if isinstance(document, dict):
        _counted(document)
    given = document.encode() if isinstance(document, str) else document
    source = given if isinstance(given, bytes) else msgspec.json.encode(given)
    if len(source) > BYTES:
        raise DocumentTooLarge(size=len(source), limit=BYTES)
    return source


def _inspected(source: bytes) -> Inspection:
    """Somebody types: what cannot be read yet is a finding like others."""
    try:
        _counted(read_document(source, name="document").data)
        return inspect(source)
    except DocumentInvalid as wrong:
        return Inspection(language=None, findings=list(wrong.findings))
    except (DocumentUnreadable, LanguageUnknown) as wrong:
        at = wrong.facts.get("where")
        place = at if isinstance(at, Place) else Place("", 1, 1)
        return Inspection(language=None, findings=[Finding(wrong.code, "error", wrong.message, place, wrong.hint)])


def _compiled(source: bytes) -> tuple[str | None, list[Finding]]:
    """In a thread of its own: it touches neither the store nor the engine."""
    try:
        _counted(read_document(source, name="document").data)
        found, _ = compile_source(source)
    except DocumentInvalid as wrong:
        return None, list(wrong.findings)
    return found.language, list(found.findings)


def _counted(data: Any) -> None:
    nodes = data.get("nodes") if isinstance(data, dict) else None
    if isinstance(nodes, list | dict) and len(nodes) > NODES:
        raise DocumentTooLong(count=len(nodes), limit=NODES)
