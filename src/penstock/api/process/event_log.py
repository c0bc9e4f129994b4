"""The event log of a process, streamed (P-7.3, P-X.24, P-X.28)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Path, Query
from starlette.responses import StreamingResponse

from penstock.api.process.error_words import InProcessWords, same_tenant
from penstock.api.server_state import Caller, Door, may
from penstock.api.time_fields import moment
from penstock.app.penstock import Penstock
from penstock.app.process.event_log import MEDIA, Format, Wanted, following, wanted, written
from penstock.errors import BadInput

T = TypeVar("T", bound=str)
router = APIRouter(
    prefix="/processes", tags=["processes"], route_class=InProcessWords, dependencies=[Depends(same_tenant)]
)
NEXT = "Penstock-Next"
_LIVES = {"complete": "complete", "full": "full"}
_CONTENT: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The log",
        "headers": {NEXT: {"description": "What `since` takes next time", "schema": {"type": "string"}}},
        "content": {
            MEDIA["json"]: {"schema": {"type": "object"}}, MEDIA["xes"]: {"schema": {"type": "string"}},
            MEDIA["csv"]: {"schema": {"type": "string"}},
        },
    }
}  # fmt: skip


@router.get(
    "/definitions/{id}/event-log", response_class=StreamingResponse, responses=_CONTENT,
    summary="What was done, case by case, for process mining",
)  # fmt: skip
async def event_log(
    id: Annotated[str, Path(max_length=200)], door: Door,
    from_: Annotated[str | None, Query(alias="from", max_length=40, description="Completed at or after")] = None,
    to: Annotated[str | None, Query(max_length=40, description="Completed before")] = None,
    format: Annotated[str, Query(max_length=20, json_schema_extra={"enum": [*MEDIA]})] = "json",
    lifecycle: Annotated[
        str,
        Query(max_length=20, json_schema_extra={"enum": [*_LIVES]}, description="full: also when items were started"),
    ] = "complete",
    all: Annotated[bool, Query(description="Also what was undone since")] = False,
    since: Annotated[str | None, Query(max_length=40, description=f"{NEXT} of the export before")] = None,
    _: Caller = may("run.read"),
) -> StreamingResponse:  # fmt: skip
    kind = _one_of("format", format, MEDIA)
    full = _one_of("lifecycle", lifecycle, _LIVES) == "full"
    asked = await wanted(
        door, id, begin=moment(from_, "from") if from_ else None, end=moment(to, "to") if to else None, since=since,
        full=full, undone=all,
    )  # fmt: skip
    headers = {NEXT: following(asked), "Content-Disposition": f'attachment; filename="event-log.{kind}"'}
    return StreamingResponse(_pieces(door, asked, kind), media_type=MEDIA[kind], headers=headers)


def _one_of(name: str, given: str, known: Mapping[T, str]) -> T:
    """P-X.28: what the log cannot be asked for is 400."""
    value = next((name for name in known if name == given), None)
    if value is None:
        raise BadInput(what=f"«{name}»", why=f"it is {' or '.join(map(str, known))}")
    return value


async def _pieces(door: Penstock, asked: Wanted, format: Format) -> AsyncIterator[bytes]:
    for piece in written(door, asked, format):
        if piece:
            yield piece
        await asyncio.sleep(0)  # others come between
