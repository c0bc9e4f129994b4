"""The history of a run and the checkpoints that its document asked for, as bodies of replies."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from fastapi import Path
from starlette.responses import Response

from penstock.api import paging
from penstock.api.replies import reply
from penstock.api.server_state import Door
from penstock.api.shapes.runs import TraceOut
from penstock.app.runs.timeline.trace import trace_page
from penstock.errors import CheckpointNotFound
from penstock.store.run_store import RunRow

Number = Annotated[int, Path(ge=1, le=2**31 - 1)]


def trace_reply(door: Door, run: str, cursor: str | None, limit: int) -> Response:
    """W-10.2.1 says what the document has: where the executed nodes go on is told by a header."""
    page, place = trace_page(door, run, paging.read_cursor(cursor, int) or 0, limit)
    more = {paging.NEXT: paging.cursor_of(place)} if place is not None else None
    return reply(TraceOut, page, headers=more)


def history_body(door: Door, row: RunRow, cursor: str | None, limit: int) -> dict[str, Any]:
    page, more = paging.page_of(door.history(row.id), cursor, limit)
    return {"items": [msgspec.to_builtins(transition) for transition in page], "next": more}


def checkpoints_body(door: Door, row: RunRow, cursor: str | None, limit: int) -> dict[str, Any]:
    page, more = paging.page_of(door.store.checkpoints(row.id), cursor, limit)
    return {
        "next": more,
        "items": [
            {"id": checkpoint.id, "instance_id": checkpoint.run, "checkpoint_number": checkpoint.number,
             "node_id": checkpoint.node, "status": checkpoint.status, "size_bytes": checkpoint.size,
             "storage": checkpoint.storage, "created_at": checkpoint.at, "expires_at": checkpoint.until or None}
            for checkpoint in page
        ],
    }  # fmt: skip


async def checkpoint_body(door: Door, row: RunRow, number: int) -> dict[str, Any]:
    exists = any(checkpoint.number == number for checkpoint in door.store.checkpoints(row.id))
    content = await door.checkpoint(row.id, number) if exists else None
    if content is None:
        raise CheckpointNotFound(number=number, run=row.id)
    return {
        "instance_id": content.run, "checkpoint_number": content.number, "node_id": content.node,
        "status": content.status, "context_snapshot": content.context_snapshot, "node_outputs": content.node_outputs,
        "pending_events": content.pending_events, "size_bytes": content.size, "created_at": content.at,
        "damaged": content.damaged,
    }  # fmt: skip
