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
LongLimit = Annotated[int, Query(ge=1, le=1000, description="How many at most.")]
Cursor = Annotated[str | None, Query(max_length=500, description="`next` of the page before.")]


#: the header that tells the cursor of the next page where the body has a form that others have laid down
NEXT = "Penstock-Next"


def cursor_of(place: Any) -> str:
    return base64.urlsafe_b64encode(msgspec.msgpack.encode(place)).decode().rstrip("=")


def read_cursor(cursor: str | None, kind: Any) -> Any:
    """The place that `cursor_of` was given, decoded as `kind`. Raises BadInput."""
    if cursor is None:
        return None
    try:
        body = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        place = msgspec.msgpack.decode(body, type=kind)
        parts = place if type(place) is tuple else (place,)
        if any(isinstance(part, int) and not 0 <= part < 2**62 for part in parts):
            raise ValueError("no list is so long")
        return place
    except (binascii.Error, ValueError, msgspec.MsgspecError) as error:
        hint = "Take `next` of the page before, of the same list."
        raise BadInput(what="the cursor", why="it is not one of this list", hint=hint) from error


def page_of(items: list[Any], cursor: str | None, limit: int) -> tuple[list[Any], str | None]:
    """A page of a short list that is in memory, and the cursor of the next one."""
    start = read_cursor(cursor, int) or 0
    end = start + limit
    return items[start:end], cursor_of(end) if end < len(items) else None
