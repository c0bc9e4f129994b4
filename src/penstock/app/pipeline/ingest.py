"""Ingest: a message becomes a file asset and an execution of every definition that matches, each once (F-3.3, F-S.1).

When `take` returns, everything that the messages ask for is in the store: only then may they be acked. The same message
again changes nothing, so whoever crashes before the ack sends it again.
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Mapping, Sequence

import msgspec

from penstock.app.penstock import Penstock
from penstock.app.pipeline.definitions import Definition, in_force
from penstock.errors import PenstockError
from penstock.host.embedded import ReplyWaiter
from penstock.kernel import command as C
from penstock.lang.pipeline.keys import upload_key
from penstock.lang.pipeline.matching import mismatch, run_input
from penstock.lang.pipeline.messages import FileMessage
from penstock.store.file_assets import FileAssetRow

#: the trigger of executions that a file begins (F-1.3.8)
UPLOAD = "UPLOAD"


class Receipt(msgspec.Struct):
    """What became of one message: executions that it has begun, and those that were there already. `too_large`: how
    many definitions would match a smaller file (F-X.9). `refused`: why it could not be taken now."""

    file_id: int
    started: list[str] = []
    known: list[str] = []
    too_large: int = 0
    refused: PenstockError | None = None


class IngestCounts(msgspec.Struct):
    """Since the process began."""

    messages: int = 0
    started: int = 0
    duplicate: int = 0
    unmatched: int = 0
    too_large: int = 0


class Ingest:
    """Of a store that this process drives."""

    def __init__(self, door: Penstock) -> None:
        self.door, self.counts = door, IngestCounts()

    async def take(self, messages: Sequence[FileMessage]) -> list[Receipt]:
        """Of each message, in their order. A tenant that has as many open runs as it may refuses its own messages,
        and nobody else's."""
        host, now = self.door.host, self.door.now()
        self.door.begin()
        assets = self.door.store.put_files([asset_of(message, now) for message in messages])
        definitions: dict[str, list[Definition]] = {}
        for tenant in dict.fromkeys(message.tenant_id for message in messages):
            known = definitions[tenant] = in_force(self.door, tenant)
            for definition in known:
                await self.door.nets.prepare(definition.net)
        receipts = [Receipt(asset.id) for asset in assets]
        begun, waiter = self._begun(messages, definitions), _Committed()
        for message, asset, receipt in zip(messages, assets, receipts, strict=True):
            try:
                self._begin(message, asset, definitions[message.tenant_id], receipt, waiter, begun)
            except PenstockError as error:
                receipt.refused = error
        waiter.close()
        host.wake_up()
        await self.door.heard(waiter)
        self._count(receipts)
        return receipts

    def _begun(
        self, messages: Sequence[FileMessage], definitions: Mapping[str, list[Definition]]
    ) -> dict[tuple[str, str], str]:
        """The executions that were there before, by tenant and key: one read per tenant."""
        keys: dict[str, list[str]] = {}
        for message in messages:
            known = definitions[message.tenant_id]
            keys.setdefault(message.tenant_id, []).extend(upload_key(message, each.code) for each in known)
        ids_by_key = self.door.store.ids_by_key
        return {
            (tenant, key): id for tenant, some in keys.items() for key, id in ids_by_key(tenant, some).items()
        }  # fmt: skip

    def _begin(
        self, message: FileMessage, asset: FileAssetRow, definitions: list[Definition], receipt: Receipt,
        waiter: _Committed, begun: Mapping[tuple[str, str], str],
    ) -> None:  # fmt: skip
        host, tenant = self.door.host, message.tenant_id
        for definition in definitions:
            why_not = mismatch(definition.about, message)
            if why_not:
                receipt.too_large += why_not == "max_file_size"
                continue
            given = run_input(message, file_id=asset.id, params=definition.about.get("default_params"))
            key = upload_key(message, definition.code)
            unborn = host.turns.starting.get((tenant, key))
            if unborn is not None:
                receipt.known.append(unborn.id)
                host.send(unborn.no, C.nudge(), waiter.next())  # in the store when this is answered
                continue
            if (tenant, key) in begun:
                receipt.known.append(begun[tenant, key])
                continue
            host.start_limits.check(tenant)
            trigger = {"type": UPLOAD, "source": f"bucket:{asset.bucket}", "event": message.event_name}
            options = {"trigger": trigger, "organization_id": message.organization_id, "file_id": asset.id}
            id = host.start(
                definition.net, given, id=execution_id(self.door.now()), key=key, tenant=tenant, options=options,
                priority=definition.priority, trace=message.trace_id, reply=waiter.next(),
            )  # fmt: skip
            receipt.started.append(id)

    def _count(self, receipts: list[Receipt]) -> None:
        for receipt in receipts:
            self.counts.messages += 1
            self.counts.started += len(receipt.started)
            self.counts.duplicate += len(receipt.known)
            self.counts.too_large += receipt.too_large
            self.counts.unmatched += not (receipt.started or receipt.known or receipt.refused)


class _Committed(ReplyWaiter):
    """Counts while it is handed out: it has been heard when it is closed and all have answered."""

    def __init__(self) -> None:
        super().__init__(1)

    def next(self) -> _Committed:
        self.left += 1
        return self

    def close(self) -> None:
        self(None)


def execution_id(now: int) -> str:
    """F-1.3.2, F-X.29: a UUID, of the kind that grows with time."""
    number = (now & (1 << 48) - 1) << 80 | 7 << 76 | secrets.randbits(12) << 64 | 2 << 62 | secrets.randbits(62)
    return str(uuid.UUID(int=number))


def asset_of(message: FileMessage, now: int) -> FileAssetRow:
    """F-X.5, F-X.18: what tells an upload from others of the same key is what its idempotency key has."""
    by_content = f"{message.etag}+{message.size}" if message.etag else ""
    version = message.version_id or by_content or message.sequencer or message.occurred_at
    return FileAssetRow(
        message.tenant_id, message.bucket, message.key, version, message.size, message.mime, message.etag,
        message.version_id, message.organization_id, message.uploader, message.trace_id, now,
    )  # fmt: skip
