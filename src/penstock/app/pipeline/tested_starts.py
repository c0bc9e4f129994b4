"""Executions of tests: begun for a file that is told of, and that need not be there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from penstock.app.penstock import Penstock
from penstock.app.pipeline.definitions import define, definition_of
from penstock.app.pipeline.intake.ingest import asset_of
from penstock.app.pipeline.manual_starts import MANUAL
from penstock.app.pipeline.starts import ExecutionStarts, execution_id
from penstock.app.timestamps import iso
from penstock.errors import BadInput
from penstock.executors.parts.objects import ARTIFACTS
from penstock.lang.pipeline.keys import manual_key
from penstock.lang.pipeline.messages import FileMessage

_KNOWN = ("bucket", "key", "size", "mime", "organization_id", "params")


async def begin(door: Penstock, document: Path, input: Any) -> str:
    """`input` tells of the file: key, size, mime, bucket, organization_id; and has params. Raises BadInput."""
    given: Mapping[str, Any] = input if isinstance(input, Mapping) else {}
    unknown = next((name for name in given if name not in _KNOWN), None)
    if unknown is not None or not isinstance(given.get("key"), str):
        why = f"it has «{unknown}»" if unknown is not None else "it names no key"
        raise BadInput(what="the file", why=why, hint=f"It is told by {', '.join(_KNOWN)}.")
    code = define(door, document).release.name
    definition, id = definition_of(door, code), execution_id(door.now())
    message = FileMessage(
        bucket=str(given.get("bucket") or ARTIFACTS), key=given["key"], size=int(given.get("size") or 0),
        mime=str(given.get("mime") or "application/octet-stream"), tenant_id=door.tenant,
        organization_id=given.get("organization_id"), trace_id=id.replace("-", ""), occurred_at=iso(door.now()),
    )  # fmt: skip
    (asset,) = door.store.put_files([asset_of(message, door.now())])
    await door.nets.prepare(definition.net)
    starts = ExecutionStarts(door, {})
    trigger = {"type": MANUAL, "source": "test"}
    try:
        begun = starts.begin(
            definition, message, asset.id, key=manual_key(id), trigger=trigger, params=given.get("params"), id=id
        )
    finally:
        await starts.heard()
    return begun.id
