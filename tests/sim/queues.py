"""File assets and built-in queues in the store of dicts: the same promises as a file's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict, astuple, replace

from penstock.store.file_assets import FileAssetRow
from penstock.store.queues import MOST_REPLAYS, Buried, Failed, QueueMessage, kept_until

if TYPE_CHECKING:
    from tests.sim.store import Disk


class SimQueues:
    disk: Disk

    # -- files --------------------------------------------------------------------------------------------------------

    def _files(self) -> list[FileAssetRow]:
        return [FileAssetRow(**_named("id", row)) for row in self.disk.tables["file_asset"].values()]

    def put_files(self, rows: Sequence[FileAssetRow]) -> list[FileAssetRow]:
        known = {row.object: row for row in self._files()}
        table = self.disk.tables["file_asset"]
        for row in rows:
            if row.object not in known:
                made = known[row.object] = replace(row, id=max(table, default=0) + 1)
                table[made.id] = (made.id, *astuple(made)[:-1])
        return [known[row.object] for row in rows]

    def file_asset(self, tenant: str, id: int) -> FileAssetRow | None:
        return next((row for row in self._files() if (row.tenant, row.id) == (tenant, id)), None)

    def file_assets(
        self, tenant: str, *, since: int = 0, after: tuple[int, int] = (-1, 0), limit: int = 100
    ) -> list[FileAssetRow]:  # fmt: skip
        rows = [row for row in self._files() if row.tenant == tenant and row.created_at >= since]
        return sorted((row for row in rows if (row.created_at, row.id) > after), key=lambda r: (r.created_at, r.id))[
            :limit
        ]

    # -- queues -------------------------------------------------------------------------------------------------------

    def _messages(self) -> list[QueueMessage]:
        return [QueueMessage(*row) for row in self.disk.tables["queue_message"].values()]

    def _keep(self, message: QueueMessage) -> None:
        self.disk.tables["queue_message"][message.no] = astuple(message)

    def _held(self, handle: str, numbers: Sequence[int]) -> list[QueueMessage]:
        return [message for message in self._messages() if message.no in numbers and message.handle == handle]

    def send_messages(self, queue: str, messages: Sequence[tuple[str, bytes, bytes]], at: int) -> int:
        known, new = {message.id for message in self._messages()}, 0
        for id, body, attributes in messages:
            if id not in known:
                known.add(id)
                no, new = max(self.disk.tables["queue_message"], default=0) + 1, new + 1
                self._keep(
                    QueueMessage(no, queue, id, body, attributes, at, at, 0, None, None, None, kept_until(queue, at))
                )
        return new

    def receive_messages(self, queue: str, handle: str, now: int, until: int, limit: int) -> list[QueueMessage]:
        seen = [message for message in self._messages() if message.queue == queue and message.visible_at <= now]
        taken = []
        for message in sorted(seen, key=lambda m: (m.visible_at, m.no))[:limit]:
            taken.append(replace(message, visible_at=until, handle=handle, receives=message.receives + 1))
            self._keep(taken[-1])
        return sorted(taken, key=lambda m: m.no)

    def take_messages(self, handle: str, numbers: Sequence[int]) -> int:
        held = self._held(handle, numbers)
        for message in held:
            del self.disk.tables["queue_message"][message.no]
        return len(held)

    def hold_messages(self, handle: str, numbers: Sequence[int], until: int) -> int:
        held = self._held(handle, numbers)
        for message in held:
            self._keep(replace(message, visible_at=until))
        return len(held)

    def release_messages(self, queue: str, now: int) -> int:
        held = [m for m in self._messages() if m.queue == queue and m.visible_at > now and m.handle is not None]
        for message in held:
            self._keep(replace(message, visible_at=now, handle=None))
        return len(held)

    def messages_failed(self, handle: str, failed: Iterable[Failed]) -> None:
        for each in failed:
            for message in self._held(handle, [each.message.no]):
                more: dict[str, Any] = {"visible_at": each.visible_at, "code": each.code, "why": each.why}
                self._keep(
                    replace(
                        message, queue=each.queue, handle=None, until=kept_until(each.queue, each.visible_at), **more
                    )
                )

    def bury_messages(self, queue: str, dead: Sequence[Buried], at: int) -> int:
        known, until = {message.id for message in self._messages()}, kept_until(queue, at)
        fresh = list({each.id: each for each in dead if each.id not in known}.values())
        for each in fresh:
            no = max(self.disk.tables["queue_message"], default=0) + 1
            more = (at, at, each.receives, None, each.code, each.why, until)
            self._keep(QueueMessage(no, queue, each.id, each.body, each.attributes, *more))
        return len(fresh)

    def send_again(self, queue: str, to: str, ids: Sequence[str], at: int) -> list[str]:
        dead = [message for message in self._messages() if message.queue == queue and message.id in ids]
        sent = [message for message in dead if message.replays < MOST_REPLAYS]
        for message in sent:
            again = message.replays + 1
            self._keep(replace(message, queue=to, visible_at=at, receives=0, handle=None, until=None, replays=again))
        return [message.id for message in sent]

    def queued(self, queue: str, *, code: str | None = None, after: int = 0, limit: int = 100) -> list[QueueMessage]:
        kept = [m for m in self._messages() if m.queue == queue and m.no > after and code in (None, m.code)]
        return sorted(kept, key=lambda m: m.no)[:limit]

    def messages_by_id(self, queue: str, ids: Sequence[str]) -> list[QueueMessage]:
        kept = [m for m in self._messages() if m.queue == queue and m.id in ids]
        return sorted(kept, key=lambda m: m.no)

    def queue_size(self, queue: str) -> int:
        return sum(message.queue == queue for message in self._messages())

    def queues_between(self, first: str, behind: str) -> Iterator[str]:
        yield from sorted({message.queue for message in self._messages() if first < message.queue < behind})

    def queue_head(self, queue: str, now: int, most: int) -> tuple[int, int]:
        seen = [message for message in self._messages() if message.queue == queue and message.visible_at <= now]
        head = sorted(seen, key=lambda m: (m.visible_at, m.no))[:most]
        return len(head), min((message.sent_at for message in head), default=0)

    def next_visible(self, queue: str) -> int | None:
        return min((message.visible_at for message in self._messages() if message.queue == queue), default=None)

    def tidy_queues(self, now: int) -> None:
        for message in self._messages():
            if message.until is not None and message.until < now:
                del self.disk.tables["queue_message"][message.no]


def _named(first: str, row: tuple[Any, ...]) -> dict[str, Any]:
    """A row whose number stands first there, and last in its struct."""
    names = [name for name in asdict(FileAssetRow("", "", "", "", 0, "")) if name != first]
    return dict(zip((first, *names), row, strict=True))
