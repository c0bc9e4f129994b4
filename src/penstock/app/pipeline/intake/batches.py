"""BATCH (F-X.15): files are collected until there are enough of them, or until the first has waited long enough.

One that is switched off begins nothing any more (F-X.2): what it has collected lies with the dead messages then, where
people see it and send it again.

What is collected lies in a built-in queue of its tenant and pipeline, in the store before the message is acked. Then an
execution of each file begins (F-1.3.4), under the key that its upload would have: whoever dies in between begins the
rest when it is back, and nothing twice.
"""

from __future__ import annotations

import logging
import secrets
from typing import Any

import msgspec

from penstock.app.penstock import Penstock
from penstock.app.pipeline.definitions import Definition, in_force
from penstock.app.pipeline.intake.dead_queue import DEAD_QUEUE, cause_of
from penstock.app.pipeline.starts import NO_ROOM, UPLOAD, ExecutionStarts
from penstock.errors import PenstockError, PipelineOff
from penstock.lang.pipeline.keys import upload_key
from penstock.lang.pipeline.messages import FileMessage, body_of
from penstock.store.file_assets import FileAssetRow
from penstock.store.queues import Buried, QueueMessage

#: where a definition says nothing: so many files, or so many seconds after the first
SIZE, WINDOW_S = 100, 60
_PREFIX, _BEHIND = "batch#", "batch$"
_VISIBILITY_MS = 300_000
#: files that are buried at once
_BURIED = 500
#: when the rest of a batch is tried again that has no room
_AGAIN_MS = 1000
log = logging.getLogger("penstock")


class Collected(msgspec.Struct, frozen=True):
    """A file that waits for others."""

    file_id: int
    message: FileMessage


def queue_of(tenant: str, code: str) -> str:
    return f"{_PREFIX}{tenant}#{code}#"


def collects(definition: Definition) -> bool:
    return definition.about.get("pipeline_type") == "BATCH"


def row_of(definition: Definition, message: FileMessage, asset: FileAssetRow) -> tuple[str, bytes, bytes]:
    """A message of the batch's queue: known by the key of the execution that it will be."""
    key = f"{message.tenant_id}#{upload_key(message, definition.code)}"
    return key, msgspec.json.encode(Collected(asset.id, message)), msgspec.msgpack.encode({})


class Batches:
    """Of a door that drives its store, for all tenants."""

    def __init__(self, door: Penstock, *, visibility_ms: int = _VISIBILITY_MS) -> None:
        self.door, self.visibility_ms = door, visibility_ms
        self.handle = secrets.token_hex(16)

    @property
    def idle(self) -> bool:
        return next(self.door.store.queues_between(_PREFIX, _BEHIND), None) is None

    def queues(self) -> list[str]:
        return list(self.door.store.queues_between(_PREFIX, _BEHIND))

    async def step(self) -> int:
        """One look at all that is collected, at each batch as far as it goes; how many files have begun, or died."""
        done, now = 0, self.door.now()
        known: dict[str, dict[str, Definition]] = {}
        for queue in self.queues():
            tenant, _, code = queue.removeprefix(_PREFIX).removesuffix("#").rpartition("#")
            if tenant not in known:
                known[tenant] = {each.code: each for each in in_force(self.door, tenant)}
            definition = known[tenant].get(code)
            if definition is None:
                done += self._bury(queue, code, now)
                continue
            count, oldest = self.door.store.queue_head(queue, now, _size(definition))
            if count and _is_due(definition, count, oldest, now):
                done += await self._begin(queue, tenant, definition, now)
        return done

    def _bury(self, queue: str, code: str, now: int) -> int:
        """Under ids of their own: what is sent again may be collected again while its message is still there."""
        store = self.door.store
        left = store.receive_messages(queue, self.handle, now, now + self.visibility_ms, _BURIED)
        if not left:
            return 0
        cause = cause_of(PipelineOff(pipeline=code))
        bodies = [body_of(msgspec.json.decode(row.body, type=Collected).message) for row in left]
        dead = [
            Buried(f"off#{row.id}", body, row.attributes, row.receives, *cause)
            for row, body in zip(left, bodies, strict=True)
        ]
        store.bury_messages(DEAD_QUEUE, dead, now)
        store.take_messages(self.handle, [row.no for row in left])
        log.warning("%s was switched off: %s files that it had collected are dead messages now", code, len(left))
        return len(left)

    async def _begin(self, queue: str, tenant: str, definition: Definition, now: int) -> int:
        store, size = self.door.store, _size(definition)
        batch = store.receive_messages(queue, self.handle, now, now + self.visibility_ms, size)
        if not batch:
            return 0
        files = [(row, msgspec.json.decode(row.body, type=Collected)) for row in batch]
        keys = [upload_key(file.message, definition.code) for _, file in files]
        await self.door.nets.prepare(definition.net)
        known = {(tenant, key): id for key, id in store.ids_by_key(tenant, keys).items()}
        starts, done, begun = ExecutionStarts(self.door, known), list[QueueMessage](), 0
        trigger: dict[str, Any] = {"type": UPLOAD, "source": "batch", "batch": f"{definition.code}#{batch[0].no}"}
        try:
            for (row, file), key in zip(files, keys, strict=True):
                begun += starts.begin(definition, file.message, file.file_id, key=key, trigger=trigger).new
                done.append(row)
        except PenstockError as error:
            if error.http != NO_ROOM:
                raise
        finally:
            await starts.heard()
        store.hold_messages(self.handle, [row.no for row in batch[len(done) :]], now + _AGAIN_MS)
        store.take_messages(self.handle, [row.no for row in done])
        return begun


def _is_due(definition: Definition, count: int, oldest: int, now: int) -> bool:
    """One that collects no more begins with what is left."""
    wanted = definition.about.get("configuration") or {}
    window_ms = int(wanted.get("batch_window_seconds") or WINDOW_S) * 1000
    return not collects(definition) or count >= _size(definition) or oldest + window_ms <= now


def _size(definition: Definition) -> int:
    return int((definition.about.get("configuration") or {}).get("batch_size") or SIZE)
