"""Events that runs read from the inbox as a stream (C-24): each is read until an answer with it is committed.

What an effect has read is nobody else's until it ends. Up to where a source was read is written in the commit that has
the answer; a process that dies before has read nothing, and the next one reads the same events again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection
from typing import Any, Protocol

import msgspec

from penstock.host.loaded_run import Ask
from penstock.store.events import EventRow, EventStore
from penstock.store.run_store import Batch, RunStore

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.decode
_FOR_EVER = 1 << 62
PREFIX = "taken:"


class StreamStore(EventStore, RunStore, Protocol):
    """What reading events as a stream needs of a store."""


class Source:
    """How far a source of events has been read: everything up to `low`, and what is known of the numbers after it."""

    def __init__(self, store: StreamStore, tenant: str, name: str, now: int) -> None:
        self.store, self.tenant, self.name = store, tenant, name
        self.key = PREFIX + hashlib.sha256(f"{tenant}/{name}".encode()).hexdigest()
        kept = store.memo(self.key, now)
        self.low: int = 0 if kept is None or kept[0] is None else _unpack(kept[0])
        self.arrived: set[int] = set()
        self.held: set[int] = set()  # on their way
        self.back: set[int] = set()  # given back: they come again

    def take(self, most: int) -> StreamBatch | None:
        """The oldest that nobody has; None where there is none."""
        known = self.held | self.arrived
        rows: list[EventRow] = self.store.events(self.tenant, self.name, after=self.low, limit=most + len(known))
        free = [row for row in rows if row.no not in known][:most]
        last = free[-1].no if free else rows[-1].no if rows else _FOR_EVER
        self.back -= {no for no in self.back if no <= last}  # taken now, or forgotten by the store
        if not free:
            return None
        taken = StreamBatch(self, [row.no for row in free], [_unpack(row.body) for row in free])
        self.held.update(taken.numbers)
        return taken

    def low_with(self, numbers: Collection[int]) -> int:
        """How far it is read when these have arrived too."""
        first = min((self.held - set(numbers)) | self.back, default=_FOR_EVER)
        return max((no for no in (*self.arrived, *numbers) if no < first), default=self.low)

    def has_arrived(self, numbers: Collection[int]) -> None:
        self.low = max(self.low, self.low_with(numbers))
        self.held -= set(numbers)
        self.arrived = {no for no in self.arrived | set(numbers) if no > self.low}


class StreamBatch:
    """Events that one effect has read."""

    def __init__(self, source: Source, numbers: list[int], messages: list[Any]) -> None:
        self.source, self.numbers, self.messages = source, numbers, messages

    def give_back(self) -> None:
        self.source.held -= set(self.numbers)
        self.source.back.update(self.numbers)


class Arrivals:
    """Which events arrive with which commit."""

    def __init__(self) -> None:
        self.answered: list[tuple[Ask, StreamBatch]] = []
        self.going: list[tuple[Ask, StreamBatch]] = []  # with the last batch

    def write(self, batch: Batch, stands: Callable[[Ask], bool | None]) -> None:
        """`stands`: has the answer been taken with this batch? None: it was refused, and is not an answer."""
        for _, taken in self.going:  # that batch is committed
            taken.source.has_arrived(taken.numbers)
        self.going, still = [], []
        for ask, taken in self.answered:
            settled = stands(ask)
            if settled:
                self.going.append((ask, taken))
            elif settled is None:
                taken.give_back()
            else:
                still.append((ask, taken))
        self.answered = still
        for source in dict.fromkeys(taken.source for _, taken in self.going):
            numbers = [no for _, taken in self.going if taken.source is source for no in taken.numbers]
            batch.memo.append((source.key, _pack(source.low_with(numbers)), _FOR_EVER))

    def on_rollback(self, batch: Batch) -> None:
        """The commit has failed: nobody else may write these, and they go with the answer when it comes again."""
        batch.memo = [row for row in batch.memo if not row[0].startswith(PREFIX)]
        self.answered += self.going
        self.going = []
