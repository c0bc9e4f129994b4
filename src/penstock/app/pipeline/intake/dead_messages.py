"""Messages that could not be taken: by cause, a sample, and sent again as they were (F-8.4, F-S.6, F-X.27).

A message belongs to the tenant that it names. One that names none, or cannot be read, is for the first tenant, whose
people run the product.
"""

from __future__ import annotations

from asyncio import sleep
from collections.abc import AsyncIterator, Collection
from typing import Any

import msgspec

from penstock.app.pipeline.definitions import in_force
from penstock.app.pipeline.intake.dead_queue import DEAD_QUEUE, QUEUE
from penstock.app.runs.queries import Queries
from penstock.errors import DeadMessageNotFound, MessageInvalid
from penstock.lang.pipeline.keys import upload_key
from penstock.lang.pipeline.matching import mismatch
from penstock.lang.pipeline.messages import messages_of
from penstock.store.address import DEFAULT_TENANT
from penstock.store.queues import QueueMessage

#: messages of one read, of a sample, causes that are told, and characters of a body that are shown
_READ, SAMPLE, _MOST_CAUSES, _SHOWN = 100, 5, 200, 4096
#: what sending again cannot cure: the message itself is wrong
_INCURABLE = frozenset({"PP-400-JSON", "PP-403-SCOPE"})


class DeadMessage(msgspec.Struct, rename="camel"):
    """`body` is as it was sent, cut off where it is long."""

    id: str
    code: str
    why: str
    receives: int
    sent_at: int
    dead_at: int
    tenant_id: str | None
    body: str


class DeadCause(msgspec.Struct, rename="camel"):
    """`curable`: sending again may help."""

    code: str
    why: str
    count: int
    first_at: int
    last_at: int
    curable: bool
    sample: list[DeadMessage] = []


class DeadPage(msgspec.Struct, rename="camel"):
    queue: str
    items: list[DeadMessage]
    page: int
    size: int
    total: int
    causes: list[DeadCause]


class Redriven(msgspec.Struct, rename="camel"):
    """F-S.6. `duplicate`: what they ask for was begun before; `failed`: they are not there, or were sent
    again as often as they may be (F-X.27)."""

    sent: int
    duplicate: int = 0
    failed: int = 0


async def dead_page(
    door: Queries, *, code: str | None = None, why: str | None = None, page: int = 0, size: int = 20
) -> DeadPage:
    """The oldest first, with the causes of all of them. Costs a look at each."""
    listed = DeadPage(DEAD_QUEUE, [], page, size, 0, [])
    causes: dict[tuple[str, str], DeadCause] = {}
    async for messages in _mine(door):
        for message in messages:
            cause = (message.code or "", message.why or "")
            _count(causes, cause, door, message)
            if code not in (None, cause[0]) or why not in (None, cause[1]):
                continue
            if page * size <= listed.total < (page + 1) * size:
                listed.items.append(_shown(message))
            listed.total += 1
    listed.causes = sorted(causes.values(), key=lambda cause: (-cause.count, cause.code, cause.why))
    return listed


def _count(
    causes: dict[tuple[str, str], DeadCause], cause: tuple[str, str], door: Queries, message: QueueMessage
) -> None:
    known = causes.get(cause)
    if known is None:
        if len(causes) >= _MOST_CAUSES:
            cause = (cause[0], "…")
        known = causes.setdefault(
            cause, DeadCause(*cause, 0, message.visible_at, message.visible_at, cause[0] not in _INCURABLE)
        )
    known.count += 1
    known.first_at = min(known.first_at, message.visible_at)
    known.last_at = max(known.last_at, message.visible_at)
    if len(known.sample) < SAMPLE:
        known.sample.append(_shown(message))


async def redrive(
    door: Queries, *, ids: Collection[str] | None = None, code: str | None = None, why: str | None = None,
    most: int | None = None,
) -> Redriven:  # fmt: skip
    """Some by their ids, or all that have a cause; as they were sent, so that nothing begins twice. In slices beside
    everything else: whoever dies in between has sent some of them, and sends the rest when it is asked again. Raises
    DeadMessageNotFound where one alone is asked for that is not there."""
    named = None if ids is None else [*dict.fromkeys(ids)]
    redriven, chosen = Redriven(0), 0
    async for messages in _mine(door, named):
        some = [
            message for message in messages if code in (None, message.code or "") and why in (None, message.why or "")
        ][: None if most is None else most - chosen]
        chosen += len(some)
        begun = _begun(door, some)
        sent = door.store.send_again(DEAD_QUEUE, QUEUE, [message.id for message in some], door.now()) if some else []
        redriven.sent += len(sent)
        redriven.duplicate += len(begun & set(sent))
        if most is not None and chosen >= most:
            break
    if named is not None and len(named) == 1 and not chosen:
        raise DeadMessageNotFound(message=named[0])
    redriven.failed = (chosen if named is None else len(named)) - redriven.sent
    return redriven


def _begun(door: Queries, messages: list[QueueMessage]) -> set[str]:
    """The ids of messages that begin nothing any more: every execution that they ask for is there."""
    keys: dict[str, list[str]] = {}
    definitions = in_force(door, door.tenant)
    for message in messages:
        try:
            files = messages_of(message.body, msgspec.msgpack.decode(message.attributes, type=dict[str, str]))
        except MessageInvalid:
            continue
        mine = [file for file in files if file.tenant_id == door.tenant]
        keys[message.id] = [
            upload_key(file, each.code) for file in mine for each in definitions if not mismatch(each.about, file)
        ]
    known = door.store.ids_by_key(door.tenant, [key for some in keys.values() for key in some])
    return {id for id, some in keys.items() if some and all(key in known for key in some)}


async def _mine(door: Queries, ids: list[str] | None = None) -> AsyncIterator[list[QueueMessage]]:
    """Slice by slice, and others have the loop after each, also where none of it is the tenant's own."""
    async for rows in _slices(door, ids):
        mine = [row for row in rows if (tenant_of(row) or DEFAULT_TENANT) == door.tenant]
        if mine:
            yield mine
        await sleep(0)


async def _slices(door: Queries, ids: list[str] | None) -> AsyncIterator[list[QueueMessage]]:
    if ids is not None:
        for first in range(0, len(ids), _READ):
            yield door.store.messages_by_id(DEAD_QUEUE, ids[first : first + _READ])
        return
    after = 0
    while rows := door.store.queued(DEAD_QUEUE, after=after, limit=_READ):
        yield rows
        after = rows[-1].no


def tenant_of(message: QueueMessage) -> str | None:
    """The tenant that a message names; None where it names none that can be told."""
    attributes = msgspec.msgpack.decode(message.attributes, type=dict[str, str])
    try:
        tenants = {file.tenant_id for file in messages_of(message.body, attributes)}
    except MessageInvalid:
        named = attributes.get("tenantId") or _named(message.body)
        tenants = {named} if isinstance(named, str) and named else set()
    return tenants.pop() if len(tenants) == 1 else None


def _named(body: bytes) -> Any:
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return value.get("tenantId") if isinstance(value, dict) else None


def _shown(message: QueueMessage) -> DeadMessage:
    body = message.body[:_SHOWN].decode("utf-8", "replace")
    return DeadMessage(
        message.id, message.code or "", message.why or "", message.receives, message.sent_at, message.visible_at,
        tenant_of(message), body,
    )  # fmt: skip
