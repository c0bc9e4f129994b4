"""Documents that are only looked at: compiled beside the loop, which goes on meanwhile, and with a limit."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from penstock.app.documents import compile_source
from penstock.errors import DocumentInvalid, DocumentTooLarge, DocumentTooLong, Finding
from penstock.lang.read import read_document

#: of a document that is looked at
BYTES, NODES = 2 * 1024 * 1024, 5000


async def looked_at(document: dict[str, Any] | str | bytes) -> tuple[str | None, list[Finding]]:
    """The language of a document, if it could be read as one, and everything there is to say about it. Raises
    DocumentTooLarge, DocumentTooLong."""
    if isinstance(document, dict):
        _counted(document)
    given = document.encode() if isinstance(document, str) else document
    source = given if isinstance(given, bytes) else msgspec.json.encode(given)
    if len(source) > BYTES:
        raise DocumentTooLarge(size=len(source), limit=BYTES)
    return await asyncio.to_thread(_compiled, source)


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
