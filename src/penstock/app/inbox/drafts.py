"""Drafts: what somebody has begun to write, kept until it is sent. Two windows do not overwrite each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from penstock.errors import BadInput, ChangedMeanwhile
from penstock.host.clock import Clock, SystemClock
from penstock.store.drafts import DraftRow

if TYPE_CHECKING:
    from penstock.app.runs.queries import Queries

_LONGEST = 65_536


class Draft(msgspec.Struct, frozen=True):
    """`number` grows with every change; it is the ETag."""

    key: str
    number: int
    body: Any
    at: int


class Drafts:
    """Those of one user of the door's tenant."""

    def __init__(self, door: Queries, user: str, clock: Clock | None = None) -> None:
        self.door, self.user, self.clock = door, user, clock or SystemClock()

    def get(self, key: str) -> Draft | None:
        row = self.door.store.draft(self.door.tenant, self.user, key)
        return None if row is None else _draft(row)

    def each(self) -> list[Draft]:
        return [_draft(row) for row in self.door.store.drafts(self.door.tenant, self.user)]

    def put(self, key: str, body: Any, *, seen: int | None = None) -> Draft:
        """`seen` is the number of the draft that it takes the place of; None: there was none. Raises
        ChangedMeanwhile."""
        packed = msgspec.msgpack.encode(body)
        if not 0 < len(key) <= 200 or len(packed) > _LONGEST:
            raise BadInput(
                what="the draft", why=f"its key has 1 to 200 characters, and it has at most {_LONGEST} bytes"
            )
        row = DraftRow(self.door.tenant, self.user, key, (seen or 0) + 1, packed, self.clock.now())
        if not self.door.store.put_draft(row, seen):
            there = self.get(key)
            raise ChangedMeanwhile(what=f"the draft «{key}»", now="gone" if there is None else f"«{there.number}»")
        return _draft(row)

    def drop(self, key: str) -> bool:
        return self.door.store.drop_draft(self.door.tenant, self.user, key)


def _draft(row: DraftRow) -> Draft:
    return Draft(row.key, row.number, msgspec.msgpack.decode(row.body), row.at)
