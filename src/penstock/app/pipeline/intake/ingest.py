"""Ingest: a message becomes a file asset and an execution of every definition that matches, each once (F-3.3, F-S.1).

When `take` returns, everything that the messages ask for is in the store: only then may they be acked. The same message
again changes nothing, so whoever crashes before the ack sends it again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from penstock.app.penstock import Penstock
from penstock.app.pipeline.definitions import Definition, in_force
from penstock.app.pipeline.intake.batches import collects, queue_of, row_of
from penstock.app.pipeline.starts import UPLOAD, ExecutionStarts
from penstock.dialects.pipeline.stage_rows import moment
from penstock.errors import PenstockError
from penstock.lang.pipeline.keys import upload_key
from penstock.lang.pipeline.matching import mismatch
from penstock.lang.pipeline.messages import FileMessage
from penstock.store.executions import IngestRow
from penstock.store.file_assets import FileAssetRow


class Receipt(msgspec.Struct):
    """What became of one message: executions that it has begun, and those that were there already. `too_large`: how
    many definitions would match a smaller file (F-X.9). `collected`: in how many batches it waits (F-X.15). `refused`:
    why it could not be taken now."""

    file_id: int
    started: list[str] = []
    known: list[str] = []
    too_large: int = 0
    collected: int = 0
    refused: PenstockError | None = None


class IngestCounts(msgspec.Struct):
    """Since the process began."""

    messages: int = 0
    started: int = 0
    duplicate: int = 0
    unmatched: int = 0
    too_large: int = 0
    collected: int = 0


class Ingest:
    """Of a store that this process drives."""

    def __init__(self, door: Penstock) -> None:
        self.door, self.counts = door, IngestCounts()

    async def take(self, messages: Sequence[FileMessage], *, counted: bool = True) -> list[Receipt]:
        """Of each message, in their order. A tenant that has as many open runs as it may refuses its own messages,
        and nobody else's. `counted=False`: whoever acks the messages counts them with that (`day_rows`)."""
        now = self.door.now()
        self.door.begin()
        assets = self.door.store.put_files([asset_of(message, now) for message in messages])
        definitions: dict[str, list[Definition]] = {}
        for tenant in dict.fromkeys(message.tenant_id for message in messages):
            known = definitions[tenant] = in_force(self.door, tenant)
            for definition in known:
                await self.door.nets.prepare(definition.net)
        receipts = [Receipt(asset.id) for asset in assets]
        starts = ExecutionStarts(self.door, self._begun(messages, definitions))
        collected: dict[str, list[tuple[str, bytes, bytes]]] = {}
        for message, asset, receipt in zip(messages, assets, receipts, strict=True):
            try:
                self._begin(message, asset, definitions[message.tenant_id], receipt, starts, collected)
            except PenstockError as error:
                receipt.refused = error
        await starts.heard()
        self._count(receipts)
        if counted:
            self.door.store.count_messages(day_rows(messages, receipts, now))
        self._collect(collected)
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
        starts: ExecutionStarts, collected: dict[str, list[tuple[str, bytes, bytes]]],
    ) -> None:  # fmt: skip
        for definition in definitions:
            why_not = mismatch(definition.about, message)
            if why_not:
                receipt.too_large += why_not == "max_file_size"
                continue
            key = upload_key(message, definition.code)
            if collects(definition) and (message.tenant_id, key) not in starts.known:
                queue = queue_of(message.tenant_id, definition.code)
                collected.setdefault(queue, []).append(row_of(definition, message, asset))
                receipt.collected += 1
                continue
            trigger = {"type": UPLOAD, "source": f"bucket:{asset.bucket}", "event": message.event_name}
            begun = starts.begin(definition, message, asset.id, key=key, trigger=trigger)
            (receipt.started if begun.new else receipt.known).append(begun.id)

    def _count(self, receipts: list[Receipt]) -> None:
        for receipt in receipts:
            _add(self.counts, receipt)

    def _collect(self, collected: Mapping[str, list[tuple[str, bytes, bytes]]]) -> None:
        """F-X.15: what waits for others is in the store, too, before its message is acked."""
        for queue, rows in collected.items():
            new = self.door.store.send_messages(queue, rows, self.door.now())
            self.counts.collected += new
            self.counts.duplicate += len(rows) - new


def day_rows(messages: Sequence[FileMessage], receipts: Sequence[Receipt], now: int) -> list[IngestRow]:
    """F-7.2: for the store, where every reader finds it; what was refused is counted when it is taken."""
    days: dict[str, IngestCounts] = {}
    for message, receipt in zip(messages, receipts, strict=True):
        if receipt.refused is None:
            _add(days.setdefault(message.tenant_id, IngestCounts()), receipt)
    day = moment(now)[:10]
    return [
        IngestRow(tenant, day, of.messages, of.duplicate, of.unmatched, of.too_large) for tenant, of in days.items()
    ]


def _add(counts: IngestCounts, receipt: Receipt) -> None:
    counts.messages += 1
    counts.started += len(receipt.started)
    counts.duplicate += len(receipt.known)
    counts.too_large += receipt.too_large
    counts.unmatched += not (receipt.started or receipt.known or receipt.collected or receipt.refused)


def asset_of(message: FileMessage, now: int) -> FileAssetRow:
    """F-X.5, F-X.18: what tells an upload from others of the same key is what its idempotency key has."""
    by_content = f"{message.etag}+{message.size}" if message.etag else ""
    version = message.version_id or by_content or message.sequencer or message.occurred_at
    return FileAssetRow(
        message.tenant_id, message.bucket, message.key, version, message.size, message.mime, message.etag,
        message.version_id, message.organization_id, message.uploader, message.trace_id, now,
    )  # fmt: skip
