"""What a store is: one transaction per batch of turns, reads that never see half of one. A suite holds all to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import msgspec

from penstock.store.contract_admin import AdminStore
from penstock.store.contract_lists import ListStore

#: in the place of an assignee: the agent that the item names
AGENT = "*"


class Batch(msgspec.Struct, eq=False):
    """Everything that one commit writes. Rows are tuples in the order of `tables.py`."""

    new: list[tuple[Any, ...]] = []  # run rows
    journal: list[tuple[Any, ...]] = []  # run, seq_from, seq_to, at, body
    moved: list[tuple[Any, ...]] = []  # status, updated_at, wake_at, checkpoint_seq, checkpoint, net, no
    ended: list[tuple[Any, ...]] = []  # status, updated_at, net, no: ended runs keep the checkpoint they had
    firing: list[tuple[Any, ...]] = []
    wait: list[tuple[Any, ...]] = []
    unwait: list[tuple[Any, ...]] = []
    item_new: list[tuple[Any, ...]] = []
    item_moved: list[tuple[Any, ...]] = []  # status, by, moved_at, run, firing
    work_new: list[tuple[Any, ...]] = []
    work_moved: list[tuple[Any, ...]] = []  # status, assignee, mode, version, run, firing
    incident: list[tuple[Any, ...]] = []
    outbox: list[tuple[Any, ...]] = []  # run, seq, topic, body, tries, due_at
    intent: list[tuple[Any, ...]] = []
    intent_moved: list[tuple[Any, ...]] = []  # state, key
    intent_gone: list[tuple[Any, ...]] = []  # key
    inbox_answered: list[tuple[Any, ...]] = []  # answer, no
    event_taken: list[tuple[Any, ...]] = []  # answer, no
    gate: list[tuple[Any, ...]] = []
    memo: list[tuple[Any, ...]] = []
    blobs: list[tuple[Any, ...]] = []
    judgment: list[tuple[Any, ...]] = []
    letter: list[tuple[Any, ...]] = []  # all but its number
    letter_gone: list[tuple[Any, ...]] = []  # run
    checkpoint: list[tuple[Any, ...]] = []
    checkpoint_until: list[tuple[Any, ...]] = []  # until, run

    def mark(self) -> list[int]:
        """How much it holds, to go back to."""
        return [len(getattr(self, name)) for name in self.__struct_fields__]

    def back_to(self, mark: list[int]) -> None:
        for name, size in zip(self.__struct_fields__, mark, strict=True):
            del getattr(self, name)[size:]


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


class ArtifactRow(msgspec.Struct, frozen=True):
    tenant: str
    type: str
    id: str
    version: str
    status: str
    body: bytes
    at: int


class MessageRow(msgspec.Struct, frozen=True):
    key: str
    tenant: str
    run: str
    channel: str
    target: str
    body: bytes
    at: int
    no: int = 0


class JudgmentRow(msgspec.Struct, frozen=True):
    run: str
    firing: int
    tenant: str
    name: str
    node: str
    decision: str
    needs_review: int
    body: bytes
    at: int


class LetterRow(msgspec.Struct, frozen=True):
    tenant: str
    run: str
    name: str
    version: int
    queue: str
    status: str
    code: str
    category: str
    body: bytes
    replays: int
    at: int
    until: int
    no: int = 0


class CheckpointRow(msgspec.Struct, frozen=True):
    run: str
    number: int
    id: str
    node: str
    status: str
    context: bytes
    outputs: bytes | None
    pending: bytes | None
    size: int
    storage: str
    moved: int
    at: int
    until: int


class EventRow(msgspec.Struct, frozen=True):
    tenant: str
    id: str
    source: str
    body: bytes
    at: int
    no: int = 0
    answer: bytes | None = None


class ReleaseRow(msgspec.Struct, frozen=True):
    tenant: str
    name: str
    version: int
    id: str
    status: str
    hash: str
    net: int
    document: bytes
    listens: str | None
    created_by: str | None
    created_at: int
    approved_by: str | None = None
    approved_at: int | None = None
    deprecated_at: int | None = None
    change_summary: str | None = None
    feedback: str | None = None
    kind: str | None = None
    bpmn: bytes | None = None
    dmn: bytes | None = None
    diff: bytes | None = None
    origin: bytes | None = None


class ScheduleRow(msgspec.Struct, frozen=True):
    tenant: str
    name: str
    version: int
    cron: str
    zone: str
    inputs: bytes
    overlap: str
    catch_up: str
    paused: int
    last_at: int | None
    next_at: int | None


class Store(AdminStore, ListStore, Protocol):
    """`commit` is atomic and durable: when it returns, the batch survives kill -9 of everything; when it raises,
    nothing of it was written. It raises Fenced when another host has the store, StoreFull when there is no room."""

    #: how many there were since it was opened
    commits: int

    def commit(self, batch: Batch) -> None: ...

    def load(self, numbers: Iterable[int]) -> list[tuple[RunRow, list[JournalRow]]]:
        """Run rows with the journal after their checkpoint, for many runs at once."""
        ...

    def run_by_id(self, prefix: str, *, tenant: str | None = None) -> RunRow:
        """By id or a unique beginning of it; RunNotFound, RunAmbiguous."""
        ...

    def run_by_key(self, tenant: str, key: str) -> RunRow | None: ...

    def runs(self, *, status: Iterable[int] | None = None, limit: int = 50, tenant: str | None = None) -> list[RunRow]:
        """Newest first; of all tenants, or of one."""
        ...

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
        """Forget what has served: memos, letters and checkpoints out of time, answers that nobody fetched, intents of
        ended runs."""
        ...

    def items(self, *, open_only: bool = True, run: int | None = None) -> list[tuple[Any, ...]]: ...

    def put_artifacts(self, rows: Iterable[ArtifactRow]) -> None: ...

    def artifacts(self, tenant: str, type: str | None = None) -> list[ArtifactRow]: ...

    def drop_artifact(self, tenant: str, type: str, id: str, version: str = "") -> bool: ...

    def registry_number(self) -> int:
        """Rises with every change of what is registered."""
        ...

    def profile(self) -> str | None:
        """What the store was born with: dev or production; None while nobody has said."""
        ...

    def born_with(self, profile: str) -> str:
        """Say it once; the first word stays."""
        ...

    def put_message(self, message: MessageRow) -> None:
        """Keep a message; one with the same key, channel and target is kept once."""
        ...

    def messages(self, tenant: str, run: str | None = None, limit: int = 100) -> list[MessageRow]: ...

    def judgments(self, tenant: str, *, since: int = 0, reviews: bool = False, limit: int = 100) -> list[JudgmentRow]:
        """Newest first."""
        ...

    def judgment(self, run: str, firing: int) -> JudgmentRow | None: ...

    def notices(self, now: int, limit: int) -> list[tuple[int, bytes, int]]:
        """Messages to people that may be delivered now: no, body, tries. Each is for itself."""
        ...

    def notices_left(self) -> bool: ...

    def letters(self, tenant: str, *, name: str | None = None, since: int = 0, limit: int = 100) -> list[LetterRow]:
        """Newest first."""
        ...

    def letter(self, tenant: str, run: str) -> LetterRow | None: ...

    def letters_since(self, tenant: str, queue: str, since: int) -> int:
        """How many letters of a queue have come after a time."""
        ...

    def letter_replayed(self, run: str, replays: int) -> None: ...

    def last_checkpoint(self, run: str) -> tuple[int, int] | None:
        """The number and the time of the newest checkpoint that a document has asked for."""
        ...

    def checkpoints(self, run: str) -> list[CheckpointRow]:
        """Newest first."""
        ...

    def checkpoints_to_move(self, limit: int) -> list[CheckpointRow]: ...

    def checkpoint_moved(self, row: CheckpointRow) -> None:
        """Its contents have been put where they belong; the row has references now."""
        ...

    def checkpoints_over(self, now: int, limit: int) -> list[CheckpointRow]:
        """Those that may be purged and whose contents lie elsewhere; the others are purged by `tidy`."""
        ...

    def drop_checkpoint(self, run: str, number: int) -> None: ...

    def checkpoint_sizes(self) -> tuple[int, int, int]:
        """How many there are, their bytes, and the bytes of the largest."""
        ...

    def put_event(self, event: EventRow) -> int | None:
        """The event's number; None when an event with this id is known already."""
        ...

    def events(
        self, tenant: str, source: str | None = None, *, since: int = 0, after: int = 0, limit: int = 1000
    ) -> list[EventRow]: ...

    def event(self, tenant: str, id: str) -> EventRow | None: ...

    def has_events(self) -> bool:
        """Is there any, of anybody?"""
        ...

    def open_events(self, limit: int = 512) -> list[EventRow]:
        """Events of all tenants that are not delivered yet, oldest first."""
        ...

    def events_delivered(self, rows: Iterable[tuple[bytes, int]]) -> None:
        """In one transaction: answer, no."""
        ...

    def forget_events(self, before: int) -> int:
        """Delivered ones that are older; the newest of all stays, for a number is given once."""
        ...

    def early(self) -> list[tuple[int, str]]:
        """Runs that wait for news of which an event is kept: number, name."""
        ...

    def waiting_for(self, name: str) -> list[tuple[int, str]]:
        """Runs that wait for news of this name: number, tenant."""
        ...

    def open_keyed(self, tenant: str, prefix: str) -> list[tuple[int, str]]:
        """Runs that have not ended and whose key begins so: number, id."""
        ...

    def put_release(self, row: ReleaseRow, told: Iterable[tuple[Any, ...]] = ()) -> bool:
        """False, and nothing changes, when there is this version already. `told` are rows of the outbox, written with
        it."""
        ...

    def releases(
        self, tenant: str, name: str | None = None, *, status: str | None = None, listens: str | None = None,
        kind: str | None = None,
    ) -> list[ReleaseRow]:  # fmt: skip
        """By name, then by version, the oldest first. `kind` is that of a process; «*» is any."""
        ...

    def release(self, tenant: str, name: str, version: int) -> ReleaseRow | None: ...

    def move_releases(
        self, moves: Iterable[tuple[ReleaseRow, str]], schedules: Iterable[ScheduleRow] = (),
        unscheduled: Iterable[tuple[str, str]] = (), new: Iterable[ReleaseRow] = (),
        told: Iterable[tuple[Any, ...]] = (),
    ) -> bool:  # fmt: skip
        """In one transaction: versions that become this row from that status, schedules as they are now, tenant and
        name of those that are gone, then versions that are new, and rows of the outbox. False, and nothing changes,
        when one had another status, was there already, or would be the second of its name in force."""
        ...

    def schedules(self, tenant: str) -> list[ScheduleRow]: ...

    def schedules_due(self, now: int, limit: int = 512) -> list[ScheduleRow]:
        """Of all tenants, not paused, the longest due first."""
        ...

    def next_schedule(self, after: int = 0) -> int | None:
        """The first time after this one at which a schedule is due."""
        ...

    def schedule_fired(self, row: ScheduleRow, last_at: int | None, next_at: int | None) -> bool:
        """False, and nothing changes, when its version or next time is not what the row says any more."""
        ...

    def pause_schedule(self, tenant: str, name: str, paused: bool, next_at: int | None) -> bool:
        """False when there is none. While it is paused its next time stays as it was."""
        ...

    def rebuild(self, project: Any) -> int:
        """Drop every projection and fold it again; the number of runs folded."""
        ...

    def size(self) -> int:
        """Bytes that it takes."""
        ...

    def close(self) -> None: ...
