"""The ways in of this process, as they are now: SQS, watched folders, and how fast messages are taken."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import msgspec

from penstock.app.pipeline.intake.rates import SqsState

if TYPE_CHECKING:
    from penstock.app.pipeline.background import Consuming
    from penstock.app.runs.queries import Queries
    from penstock.host.embedded import Host

#: names of files that are told at most
_NAMED = 3
#: who takes messages beside which host
_CONSUMING: WeakKeyDictionary[Host, Consuming] = WeakKeyDictionary()


class FolderState(msgspec.Struct, rename="camel"):
    """A watched folder. `taken`: files of it that began something today (UTC), since the server began. `writing` names
    some of the files that are not whole yet, of `unfinished`."""

    bucket: str
    taken: int
    last_at: int | None
    unfinished: int
    writing: list[str]


class WaysInNow(msgspec.Struct, rename="camel"):
    """Folders are those of one tenant."""

    consumers: int = 0
    per_second: float = 0.0
    sqs: SqsState | None = None
    folders: list[FolderState] = []


def consuming(host: Host, by: Consuming | None) -> None:
    """Beside that host messages are taken by this, or no longer."""
    if by is None:
        _CONSUMING.pop(host, None)
    else:
        _CONSUMING[host] = by


def ways_in_now(door: Queries) -> WaysInNow:
    host = door.host_here
    by = _CONSUMING.get(host) if host is not None else None
    if by is None:
        return WaysInNow()
    sqs, today = by.sqs, door.now() // 86_400_000
    folders = [
        FolderState(
            folder.bucket, folder.taken.get(today, 0), folder.last_at, len(keys := folder.watch.unfinished),
            [key.rpartition("/")[2] for key in keys[:_NAMED]],
        )
        for folder in by.folders
        if folder.door.tenant == door.tenant
    ]  # fmt: skip
    return WaysInNow(
        len(by.consumers), round(sum(consumer.rate.per_second for consumer in by.consumers), 2),
        sqs.state() if sqs is not None else None, folders,
    )  # fmt: skip
