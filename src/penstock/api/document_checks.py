"""Checks of a document without releasing it: compiled in a thread, with limits on its size."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from penstock.app.access.missing_candidates import Held, unheld
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

#: limits of a document that is checked
BYTES, NODES = 2 * 1024 * 1024, 5000


async def check_document(
    document: dict[str, Any] | str | bytes, held: Held = None
) -> tuple[str | None, list[Finding]]:  # fmt: skip
    """The language of a document, if it could be read, and its findings; `held`: whom work can be given to. Raises
    DocumentTooLarge, DocumentTooLong."""
    return await asyncio.to_thread(_check, _source(document), held)


async def inspect_document(document: dict[str, Any] | str | bytes, held: Held = None) -> Inspection:
    """The findings, the drawing, and whether every run of it can end. Raises as `check_document`."""
    return await asyncio.to_thread(_inspect, _source(document), held)


def _source(document: dict[str, Any] | str | bytes) -> bytes:
    if isinstance(document, dict):
        _limit_nodes(document)
    text = document.encode() if isinstance(document, str) else document
    source = text if isinstance(text, bytes) else msgspec.json.encode(text)
    if len(source) > BYTES:
        raise DocumentTooLarge(size=len(source), limit=BYTES)
    return source


def _inspect(source: bytes, held: Held) -> Inspection:
    """Somebody types: what cannot be read yet is a finding like others."""
    try:
        _limit_nodes(read_document(source, name="document").data)
        return inspect(source, held)
    except DocumentInvalid as wrong:
        return Inspection(language=None, findings=list(wrong.findings))
    except (DocumentUnreadable, LanguageUnknown) as wrong:
        at = wrong.facts.get("where")
        place = at if isinstance(at, Place) else Place("", 1, 1)
        return Inspection(language=None, findings=[Finding(wrong.code, "error", wrong.message, place, wrong.hint)])


def _check(source: bytes, held: Held) -> tuple[str | None, list[Finding]]:
    """Runs in a thread: it touches neither the store nor the engine."""
    try:
        _limit_nodes(read_document(source, name="document").data)
        compiled, _ = compile_source(source)
    except DocumentInvalid as wrong:
        return None, list(wrong.findings)
    return compiled.language, [*compiled.findings, *unheld(compiled.net, held)]


def _limit_nodes(data: Any) -> None:
    nodes = data.get("nodes") if isinstance(data, dict) else None
    if isinstance(nodes, list | dict) and len(nodes) > NODES:
        raise DocumentTooLong(count=len(nodes), limit=NODES)
