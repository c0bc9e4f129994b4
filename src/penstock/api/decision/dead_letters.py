"""Dead letters: runs that ended badly. Look, replay one, try a sample, replay many."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from penstock.api import paging
from penstock.api.audited import AuditedRoute, RunKey
from penstock.api.decision import operation_shapes as shape
from penstock.api.replies import reply
from penstock.api.run_body import exact_run_id
from penstock.api.server_state import Caller, Door, may
from penstock.app.decision.dead_letters import discard, letter, letters
from penstock.errors import PenstockError

router = APIRouter(prefix="/dlq", tags=["dead letters"], route_class=AuditedRoute)
Name = Annotated[str | None, Query(max_length=200)]


@router.get("", response_model=shape.LetterPage, summary="Those that lie there, the newest first")
async def each(
    door: Door, name: Name = None, limit: paging.Limit = 50, cursor: paging.Cursor = None, _: Caller = may("ops.read")
) -> Response:
    start = paging.read_cursor(cursor, int) or 0
    page = letters(door, name=name, limit=start + limit + 1)[start:]
    following = paging.cursor_of(start + limit) if len(page) > limit else None
    return reply(shape.LetterPage, {"items": page[:limit], "next": following})


@router.get("/{run}", response_model=shape.LetterOut, summary="One of them, whole")
async def get(run: str, door: Door, _: Caller = may("ops.read")) -> Response:
    return reply(shape.LetterOut, letter(door, run))


@router.delete("/{run}", status_code=204, summary="Take it away; the run stays as it is")
async def drop(run: str, door: Door, _: Caller = may("ops.write")) -> Response:
    discard(door, exact_run_id(door, run))
    return Response(status_code=204)


@router.post("/{run}/replay", response_model=shape.Replayed, status_code=201, summary="Start it again with its input")
async def replay(run: str, door: Door, run_key: RunKey, _: Caller = may("ops.write")) -> Response:
    made = await door.replay_letter(exact_run_id(door, run), key=run_key)
    return reply(shape.Replayed, {"run": made, "of": run}, status=201, headers={"Location": f"/api/v1/runs/{made}"})


@router.post("/replay", response_model=shape.BulkReplayOut, summary="Replay many; a dry run says what would happen")
async def replay_many(
    asked: shape.BulkReplayAsked, door: Door, run_key: RunKey, _: Caller = may("ops.write")
) -> Response:
    replayed: dict[str, str] = {}
    refused: dict[str, str] = {}
    for run in dict.fromkeys(asked.runs):
        try:
            if asked.dry_run:
                dead_letter = letter(door, run)
                if dead_letter.replays >= dead_letter.max_replays:
                    refused[run] = f"it was replayed {dead_letter.replays} times"
                else:
                    replayed[run] = ""
            else:
                id = exact_run_id(door, run)
                replayed[run] = await door.replay_letter(id, key=f"{run_key}:{id}" if run_key is not None else None)
        except PenstockError as error:
            refused[run] = error.message
    body = {"count": len(replayed), "replayed": replayed, "refused": refused, "dry_run": asked.dry_run}
    return reply(shape.BulkReplayOut, body)
