"""What a store is: one transaction per batch of turns, reads that never see half of one. A suite holds all to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import msgspec


class Batch:
    """Everything that one commit writes. Rows are tuples in the order of `tables.py`."""

    __slots__ = (
        "blobs", "ended", "firing", "gate", "inbox_answered", "incident", "intent", "intent_gone", "intent_moved",
        "item_moved", "item_new", "journal", "memo", "moved", "new", "outbox", "unwait", "wait",
    )  # fmt: skip

    def __init__(self) -> None:
        self.new: list[tuple[Any, ...]] = []  # run rows
        self.journal: list[tuple[Any, ...]] = []  # run, seq_from, seq_to, at, body
        self.moved: list[tuple[Any, ...]] = []  # status, updated_at, wake_at, checkpoint_seq, checkpoint, net, no
        self.ended: list[tuple[Any, ...]] = []  # status, updated_at, net, no: ended runs keep the checkpoint they had
        self.firing: list[tuple[Any, ...]] = []
        self.wait: list[tuple[Any, ...]] = []
        self.unwait: list[tuple[Any, ...]] = []
        self.item_new: list[tuple[Any, ...]] = []
        self.item_moved: list[tuple[Any, ...]] = []  # status, by, moved_at, run, firing
        self.incident: list[tuple[Any, ...]] = []
        self.outbox: list[tuple[Any, ...]] = []  # run, seq, topic, body, tries, due_at
        self.intent: list[tuple[Any, ...]] = []
        self.intent_moved: list[tuple[Any, ...]] = []  # state, key
        self.intent_gone: list[tuple[Any, ...]] = []  # key
        self.inbox_answered: list[tuple[Any, ...]] = []  # answer, no
        self.gate: list[tuple[Any, ...]] = []
        self.memo: list[tuple[Any, ...]] = []
        self.blobs: list[tuple[Any, ...]] = []


class RunRow(msgspec.Struct, frozen=True):
    no: int
    id: str
    tenant: str
    net: int
    key: str | None
    status: int
    priority: int
    created_at: int
    updated_at: int
    wake_at: int | None
    parent: str | None
    checkpoint_seq: int
    checkpoint: bytes | None


class NetRow(msgspec.Struct, frozen=True):
    no: int
    hash: str
    name: str
    language: str
    body: bytes
    source: bytes | None
    released_at: int


class JournalRow(msgspec.Struct, frozen=True):
    seq_from: int
    seq_to: int
    at: int
    body: bytes


class Store(Protocol):
    """`commit` is atomic and durable: when it returns, the batch survives kill -9 of everything; when it raises,
    nothing of it was written. It raises Fenced when another host has the store, StoreFull when there is no room."""

    def commit(self, batch: Batch) -> None: ...

    def load(self, numbers: Iterable[int]) -> list[tuple[RunRow, list[JournalRow]]]:
        """Run rows with the journal after their checkpoint, for many runs at once."""
        ...

    def run_by_id(self, prefix: str) -> RunRow:
        """By id or a unique beginning of it; RunNotFound, RunAmbiguous."""
        ...

    def run_by_key(self, tenant: str, key: str) -> RunRow | None: ...

    def runs(self, *, status: Iterable[int] | None = None, limit: int = 50) -> list[RunRow]: ...

    def unfinished(self) -> list[int]:
        """Runs that can go on by themselves."""
        ...

    def open_below(self, prefix: str) -> list[tuple[int, str]]:
        """Runs that have not ended and whose id begins so: number, id."""
        ...

    def due(self, before: int, limit: int) -> list[tuple[int, int]]:
        """Runs whose next timer is due before then: number, due time."""
        ...

    def next_wake(self) -> int | None: ...

    def last_run(self) -> int: ...

    def journal(self, run: int, after: int = 0) -> Iterator[JournalRow]: ...

    def add_net(self, row: NetRow) -> int:
        """The number of the net with this hash, released now or before."""
        ...

    def net(self, no: int) -> NetRow: ...

    def net_by_hash(self, hash: str) -> NetRow | None: ...

    def put_inbox(self, run: int, command: bytes, at: int) -> int: ...

    def inbox(self, limit: int = 512) -> list[tuple[int, int, bytes]]: ...

    def inbox_answer(self, no: int) -> bytes | None: ...

    def blob(self, hash: str) -> bytes | None: ...

    def memo(self, key: str, now: int) -> tuple[bytes | None] | None: ...

    def gates(self) -> list[tuple[str, bytes]]: ...

    def intents(self) -> list[tuple[str, int, int, int, str]]: ...

    def outbox(self, now: int, limit: int) -> list[tuple[int, int, int, str, bytes, int]]:
        """What may be delivered now, oldest first: no, run, seq, topic, body, tries. Nothing of a run whose oldest row
        waits for a later try."""
        ...

    def outbox_left(self) -> bool:
        """Is there anything, due or not?"""
        ...

    def outbox_moved(self, done: Iterable[int], later: Iterable[tuple[int, int]]) -> None:
        """In one transaction: rows that were delivered, and rows to be tried again at a time."""
        ...

    def tidy(self, now: int) -> None:
        """Forget what has served: memos out of time, answers that nobody fetched, intents of ended runs."""
        ...

    def items(self, *, open_only: bool = True, run: int | None = None) -> list[tuple[Any, ...]]: ...

    def rebuild(self, project: Any) -> int:
        """Drop every projection and fold it again; the number of runs folded."""
        ...

    def close(self) -> None: ...
