"""Lists: a page, and a cursor for the next one. A cursor is opaque, and only good for the list that gave it."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Any

import msgspec
from fastapi import Query

from penstock.errors import BadInput

#: a number of something: what every store takes
LARGEST = 2_000_000_000
Nth = Annotated[int | None, Query(ge=1, le=LARGEST)]
Limit = Annotated[int, Query(ge=1, le=200, description="How many at most.")]
Cursor = Annotated[str | None, Query(max_length=500, description="`next` of the page before.")]


def written(place: Any) -> str:
    return base64.urlsafe_b64encode(msgspec.msgpack.encode(place)).decode().rstrip("=")


def read(cursor: str | None, kind: Any) -> Any:
    """What `written` was given, as the type that it must be."""
    if cursor is None:
        return None
    try:
        body = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        found = msgspec.msgpack.decode(body, type=kind)
        if any(isinstance(one, int) and not 0 <= one < 2**62 for one in (found if type(found) is tuple else (found,))):
            raise ValueError("no list is so long")
        return found
    except (binascii.Error, ValueError, msgspec.MsgspecError) as error:
        hint = "Take `next` of the page before, of the same list."
        raise BadInput(what="the cursor", why="it is not one of this list", hint=hint) from error


def sliced(items: list[Any], cursor: str | None, limit: int) -> tuple[list[Any], str | None]:
    """For short lists that are in hand: a page by position."""
    start = read(cursor, int) or 0
    page = items[start : start + limit]
    return page, written(start + limit) if start + limit < len(items) else None
