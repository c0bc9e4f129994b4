"""Built-in queues: what is received is invisible for a while, and seen again unless whoever has it takes it away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import msgspec
from msgspec.structs import astuple

from penstock.store.executions import COUNT_MESSAGES, IngestRow
from penstock.store.sql import Sql, marks

#: how long a dead message is kept (F-X.27)
DEAD_KEPT_MS = 30 * 86_400_000
#: how often one is sent again, as W-7.5 says for runs (F-X.27)
MOST_REPLAYS = 3
#: queues of dead messages end so
DEAD = "-dlq"


class QueueMessage(msgspec.Struct, frozen=True):
    """`handle` is of whoever received it last; `code` and `why` say why it could not be taken."""

    no: int
    queue: str
    id: str
    body: bytes
    attributes: bytes
    sent_at: int
    visible_at: int
    receives: int
    handle: str | None
    code: str | None
    why: str | None
    until: int | None = None
    replays: int = 0


class Failed(msgspec.Struct, frozen=True):
    """A message that could not be taken: when it is seen again, in which queue, and why it was not taken."""

    message: QueueMessage
    queue: str
    visible_at: int
    code: str
    why: str


class Buried(msgspec.Struct, frozen=True):
    """A message that has died in a queue which is not in the store, and why."""

    id: str
    body: bytes
    attributes: bytes
    receives: int
    code: str
    why: str


class QueueStore(Protocol):
    def send_messages(self, queue: str, messages: Sequence[tuple[str, bytes, bytes]], at: int) -> int:
        """Id, body, attributes of each, in one transaction; how many are new: an id that is known changes nothing."""
        ...

    def receive_messages(self, queue: str, handle: str, now: int, until: int, limit: int) -> list[QueueMessage]:
        """Those that are visible, the oldest first; until then nobody else gets them."""
        ...

    def take_messages(self, handle: str, numbers: Sequence[int], counted: Sequence[IngestRow] = ()) -> int:
        """They are done: gone, where this handle received them last; how many. What they came to is counted in the
        same transaction."""
        ...

    def hold_messages(self, handle: str, numbers: Sequence[int], until: int) -> int:
        """Whoever works on them needs longer."""
        ...

    def release_messages(self, queue: str, now: int) -> int:
        """Whoever had received them is dead: they are seen at once, and their receives stay counted; how many. Those
        that wait after a failure wait on."""
        ...

    def messages_failed(self, handle: str, failed: Iterable[Failed]) -> None: ...

    def bury_messages(self, queue: str, dead: Sequence[Buried], at: int) -> int:
        """Messages that have died in another queue than ours; how many are new: an id that is known changes nothing."""
        ...

    def send_again(self, queue: str, to: str, ids: Sequence[str], at: int) -> list[str]:
        """Messages of a queue, as they were sent, into another one; the ids of those that were there and were not sent
        again too often (F-X.27). What was wrong with them is kept."""
        ...

    def queued(self, queue: str, *, code: str | None = None, after: int = 0, limit: int = 100) -> list[QueueMessage]:
        """In the order of their arrival, visible or not, behind a number. Of a queue of dead ones it costs what is
        read, however many there are."""
        ...

    def messages_by_id(self, queue: str, ids: Sequence[str]) -> list[QueueMessage]:
        """Those of them that are in the queue, in the order of their arrival."""
        ...

    def queue_size(self, queue: str) -> int: ...

    def queues_between(self, first: str, behind: str) -> Iterator[str]:
        """The names of queues with messages, that lie between. Costs one look-up each, however many messages."""
        ...

    def queue_head(self, queue: str, now: int, most: int) -> tuple[int, int]:
        """How many messages are visible, counted up to so many, and when the oldest of these was sent."""
        ...

    def next_visible(self, queue: str) -> int | None:
        """When the next message is seen, which may be long ago; None: there is none. Costs one look-up."""
        ...


_MESSAGE = "no,queue,id,body,attributes,sent_at,visible_at,receives,handle,code,why,until,replays"
_AT_ONCE = 500
FORGET_DEAD_MESSAGES = "DELETE FROM queue_message WHERE until<?"


def kept_until(queue: str, at: int) -> int | None:
    """Until when a message is kept that comes into a queue: those that live are kept until somebody takes them."""
    return at + DEAD_KEPT_MS if queue.endswith(DEAD) else None


class SqlQueues(Sql):
    def send_messages(self, queue: str, messages: Sequence[tuple[str, bytes, bytes]], at: int) -> int:
        new = 0
        with self.transaction():
            for first in range(0, len(messages), _AT_ONCE):
                some = messages[first : first + _AT_ONCE]
                rows = ",".join(["(?,?,?,?,?,?,0,?,0)"] * len(some))
                sql = (
                    "INSERT INTO queue_message(queue,id,body,attributes,sent_at,visible_at,receives,until,replays)"
                    f" VALUES {rows} ON CONFLICT DO NOTHING"
                )
                until = kept_until(queue, at)
                values = tuple(v for id, body, more in some for v in (queue, id, body, more, at, at, until))
                new += self._execute(sql, values).rowcount
        return new

    def receive_messages(self, queue: str, handle: str, now: int, until: int, limit: int) -> list[QueueMessage]:
        visible = (
            "SELECT no FROM queue_message WHERE queue=? AND visible_at<=?"
            f" ORDER BY visible_at,no LIMIT ?{self.SKIP_LOCKED}"
        )
        sql = (
            f"UPDATE queue_message SET visible_at=?,handle=?,receives=receives+1 WHERE no IN ({visible})"
            f" RETURNING {_MESSAGE}"
        )
        with self.transaction():
            rows = self._execute(sql, (until, handle, queue, now, limit)).fetchall()
        return sorted((QueueMessage(*row) for row in rows), key=lambda message: message.no)

    def take_messages(self, handle: str, numbers: Sequence[int], counted: Sequence[IngestRow] = ()) -> int:
        gone = 0
        with self.transaction():
            for row in counted:
                self._execute(COUNT_MESSAGES, astuple(row))
            for first in range(0, len(numbers), _AT_ONCE):
                some = numbers[first : first + _AT_ONCE]
                sql = f"DELETE FROM queue_message WHERE no IN ({marks(some)}) AND handle=?"
                gone += self._execute(sql, (*some, handle)).rowcount
        return gone

    def hold_messages(self, handle: str, numbers: Sequence[int], until: int) -> int:
        sql = f"UPDATE queue_message SET visible_at=? WHERE no IN ({marks(numbers)}) AND handle=?"
        return self._change(sql, (until, *numbers, handle)) if numbers else 0

    def release_messages(self, queue: str, now: int) -> int:
        sql = "UPDATE queue_message SET visible_at=?,handle=NULL WHERE queue=? AND visible_at>? AND handle IS NOT NULL"
        return self._change(sql, (now, queue, now))

    def messages_failed(self, handle: str, failed: Iterable[Failed]) -> None:
        sql = "UPDATE queue_message SET queue=?,visible_at=?,code=?,why=?,until=?,handle=NULL WHERE no=? AND handle=?"
        with self.transaction():
            for each in failed:
                until = kept_until(each.queue, each.visible_at)
                values = (each.queue, each.visible_at, each.code, each.why, until, each.message.no, handle)
                self._execute(sql, values)

    def bury_messages(self, queue: str, dead: Sequence[Buried], at: int) -> int:
        sql = (
            "INSERT INTO queue_message(queue,id,body,attributes,sent_at,visible_at,receives,code,why,until,replays)"
            " VALUES(?,?,?,?,?,?,?,?,?,?,0) ON CONFLICT DO NOTHING"
        )
        new, until = 0, kept_until(queue, at)
        with self.transaction():
            for each in dead:
                values = (queue, each.id, each.body, each.attributes, at, at, each.receives, each.code, each.why, until)
                new += self._execute(sql, values).rowcount
        return new

    def send_again(self, queue: str, to: str, ids: Sequence[str], at: int) -> list[str]:
        sent: list[str] = []
        with self.transaction():
            for first in range(0, len(ids), _AT_ONCE):
                some = ids[first : first + _AT_ONCE]
                sql = (
                    "UPDATE queue_message SET queue=?,visible_at=?,receives=0,handle=NULL,until=NULL,replays=replays+1"
                    f" WHERE queue=? AND replays<{MOST_REPLAYS} AND id IN ({marks(some)}) RETURNING id"
                )
                sent += [row[0] for row in self._execute(sql, (to, at, queue, *some)).fetchall()]
        return sent

    def queued(self, queue: str, *, code: str | None = None, after: int = 0, limit: int = 100) -> list[QueueMessage]:
        cause, values = ("", ()) if code is None else (" AND code=?", (code,))
        dead = " AND until IS NOT NULL" if queue.endswith(DEAD) else ""
        sql = f"SELECT {_MESSAGE} FROM queue_message WHERE queue=?{dead}{cause} AND no>? ORDER BY no LIMIT ?"
        return [QueueMessage(*row) for row in self._read(sql, (queue, *values, after, limit))]

    def messages_by_id(self, queue: str, ids: Sequence[str]) -> list[QueueMessage]:
        messages: list[QueueMessage] = []
        for first in range(0, len(ids), _AT_ONCE):
            some = ids[first : first + _AT_ONCE]
            sql = f"SELECT {_MESSAGE} FROM queue_message WHERE queue=? AND id IN ({marks(some)})"
            messages += [QueueMessage(*row) for row in self._read(sql, (queue, *some))]
        return sorted(messages, key=lambda message: message.no)

    def queue_size(self, queue: str) -> int:
        return int(self._one("SELECT count(*) FROM queue_message WHERE queue=?", (queue,)))

    def queues_between(self, first: str, behind: str) -> Iterator[str]:
        sql = "SELECT queue FROM queue_message WHERE queue>? AND queue<? ORDER BY queue LIMIT 1"
        last = first
        while (queue := self._one(sql, (last, behind))) is not None:
            yield queue
            last = queue

    def queue_head(self, queue: str, now: int, most: int) -> tuple[int, int]:
        head = "SELECT sent_at FROM queue_message WHERE queue=? AND visible_at<=? ORDER BY visible_at,no LIMIT ?"
        rows = self._read(f"SELECT count(*),coalesce(min(sent_at),0) FROM ({head}) AS head", (queue, now, most))
        ((count, oldest),) = rows
        return count, oldest

    def next_visible(self, queue: str) -> int | None:
        sql = "SELECT visible_at FROM queue_message WHERE queue=? ORDER BY visible_at LIMIT 1"
        at: int | None = self._one(sql, (queue,))
        return at
