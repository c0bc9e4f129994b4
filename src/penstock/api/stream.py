"""Live events: one stream per tenant for consoles, and the events of one run. Both go on where a reader stopped."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec

from penstock.api.time_fields import iso
from penstock.app.penstock import Penstock
from penstock.app.runs.timeline.events import EventPage
from penstock.host.loaded_run import LoadedRun
from penstock.kernel.state import STATUS

PING_S = 10.0
_DIGITS = 15  # of a number in Last-Event-ID
_KEPT = 4096  # how many events a reader can catch up with; who was away longer reads anew
_encode = msgspec.json.encode
#: for routes' documentation
EVENTS: dict[int | str, dict[str, Any]] = {
    200: {"description": "Server-sent events", "content": {"text/event-stream": {"schema": {"type": "string"}}}}
}


#: whether whoever listens may still do so
StillAllowed = Callable[[], Awaitable[bool]]
#: the events of a long run after a number
Pages = Callable[[int], Awaitable[EventPage]]


class AccessCheck:
    """Checks from time to time whether the listener may go on: a stream outlives the request that opened it."""

    def __init__(self, still_allowed: StillAllowed) -> None:
        self._still_allowed, self._checked_at = still_allowed, time.monotonic()

    async def ended(self) -> bool:
        now = time.monotonic()
        if now - self._checked_at < PING_S:
            return False
        self._checked_at = now
        return not await self._still_allowed()


class LiveEvent(msgspec.Struct, frozen=True):
    number: int
    tenant: str
    event: str
    data: dict[str, Any]


class EventHub:
    """Sends what happens in this process to its listeners. It holds nothing that the store does not know."""

    def __init__(self, door: Penstock) -> None:
        self.door, self.boot = door, secrets.token_hex(4)
        self.number = 0
        self.kept: deque[LiveEvent] = deque(maxlen=_KEPT)
        self.changed = asyncio.Event()
        self.listening = 0
        self.closing = False
        self.stopped = asyncio.Event()
        door.host.turns.on_facts.append(self._on_facts)

    def _on_facts(self, loaded: LoadedRun, facts: list[Any], n: int, now: int) -> None:
        state = loaded.run.st if loaded.run is not None else None
        status = STATUS[state.status] if state is not None else "RUNNING"
        self.publish(loaded.tenant, "run", {"run": loaded.id, "state": status, "facts": n, "at": now})

    def publish(self, tenant: str, event: str, data: dict[str, Any]) -> None:
        self.number += 1
        self.kept.append(LiveEvent(self.number, tenant, event, data))
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()

    def close(self) -> None:
        self.closing = True
        self.stopped.set()
        self.changed.set()

    async def listen(self, tenant: str, last: str | None, still_allowed: StillAllowed) -> AsyncIterator[bytes]:
        access = AccessCheck(still_allowed)
        at = self._from(last)
        if at is None:
            yield b"event: reset\nid: %s-%d\ndata: {}\n\n" % (self.boot.encode(), self.number)
            at = self.number
        else:
            yield b"retry: 1000\nevent: hello\nid: %s-%d\ndata: {}\n\n" % (self.boot.encode(), at)
        self.listening += 1
        try:
            while not self.closing:
                changed = self.changed
                if await access.ended():
                    return
                if self.kept and self.kept[0].number > at + 1:
                    yield b"event: reset\nid: %s-%d\ndata: {}\n\n" % (self.boot.encode(), self.number)
                    at = self.number
                for event in self._since(at):
                    at = event.number
                    if event.tenant == tenant:
                        yield sse_message(event.event, f"{self.boot}-{event.number}", event.data)
                try:
                    await asyncio.wait_for(changed.wait(), PING_S)
                except TimeoutError:
                    yield b"event: ping\ndata: {}\n\n"
        finally:
            self.listening -= 1

    def _from(self, last: str | None) -> int | None:
        """The number to go on from; None when it cannot be known what the reader has missed."""
        if last is None:
            return self.number
        boot, _, number = last.partition("-")
        if boot != self.boot or not number.isdecimal() or len(number) > _DIGITS or int(number) > self.number:
            return None
        oldest = self.kept[0].number if self.kept else self.number + 1
        return int(number) if int(number) >= oldest - 1 else None

    def _since(self, at: int) -> list[LiveEvent]:
        """From the newest back, so that a reader who is up to date costs nothing."""
        newer = []
        for event in reversed(self.kept):
            if event.number <= at:
                break
            newer.append(event)
        return newer[::-1]


def sse_message(event: str, id: str, data: Any) -> bytes:
    """One server-sent event, its time written as in every response."""
    body = msgspec.to_builtins(data)
    if "at" in body:
        body = {**body, "at": iso(body["at"])}
    return b"event: %s\nid: %s\ndata: %s\n\n" % (event.encode(), id.encode(), _encode(body))


async def run_events(
    hub: EventHub, door: Penstock, run: str, after: int, still_allowed: StillAllowed, pages: Pages | None = None
) -> AsyncIterator[bytes]:
    """The events of one run from the first that the reader has not seen; exact, for the journal has them all. When the
    server stops it ends, and whoever reads comes back with the last number."""
    events = door.subscribe(run, after=after, pages=pages).__aiter__()
    coming: asyncio.Future[Any] | None = None
    stopped, access = asyncio.ensure_future(hub.stopped.wait()), AccessCheck(still_allowed)
    try:
        while True:
            if coming is None:
                coming = asyncio.ensure_future(anext(events, None))
            done, _ = await asyncio.wait({coming, stopped}, timeout=PING_S, return_when=asyncio.FIRST_COMPLETED)
            if stopped in done or await access.ended():
                return
            if not done:
                yield b"event: ping\ndata: {}\n\n"
                continue
            event, coming = coming.result(), None
            if event is None:
                yield b"event: end\ndata: {}\n\n"
                return
            yield sse_message(event.name, str(event.seq), event)
    finally:
        stopped.cancel()
        if coming is not None:
            coming.cancel()
