"""LoadedRun news: one stream per tenant for consoles, and the events of one run. Both go on where a reader stopped."""

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
from penstock.host.loaded_run import LoadedRun
from penstock.kernel.state import STATUS

PING_S = 10.0
_DIGITS = 15  # of a number in Last-Event-ID
_KEPT = 4096  # how many of a tenant's news can be caught up with; who was away longer reads anew
_encode = msgspec.json.encode
#: for routes' documentation
EVENTS: dict[int | str, dict[str, Any]] = {
    200: {"description": "Server-sent events", "content": {"text/event-stream": {"schema": {"type": "string"}}}}
}


#: may whoever listens still do so?
Still = Callable[[], Awaitable[bool]]


class Watch:
    """Asks so from time to time: a stream outlives the request that opened it."""

    def __init__(self, still: Still) -> None:
        self._still, self._asked = still, time.monotonic()

    async def over(self) -> bool:
        now = time.monotonic()
        if now - self._asked < PING_S:
            return False
        self._asked = now
        return not await self._still()


class News(msgspec.Struct, frozen=True):
    number: int
    tenant: str
    event: str
    data: dict[str, Any]


class Hub:
    """What happens in this process, told to whoever listens. It holds nothing that the store does not know."""

    def __init__(self, door: Penstock) -> None:
        self.door, self.boot = door, secrets.token_hex(4)
        self.number = 0
        self.kept: deque[News] = deque(maxlen=_KEPT)
        self.changed = asyncio.Event()
        self.listening = 0
        self.closing = False
        self.stopped = asyncio.Event()
        door.host.turns.on_facts.append(self._turn)

    def _turn(self, live: LoadedRun, facts: list[Any], n: int, now: int) -> None:
        state = live.run.st if live.run is not None else None
        status = STATUS[state.status] if state is not None else "RUNNING"
        self.tell(live.tenant, "run", {"run": live.id, "state": status, "facts": n, "at": now})

    def tell(self, tenant: str, event: str, data: dict[str, Any]) -> None:
        self.number += 1
        self.kept.append(News(self.number, tenant, event, data))
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()

    def close(self) -> None:
        self.closing = True
        self.stopped.set()
        self.changed.set()

    async def listen(self, tenant: str, last: str | None, still: Still) -> AsyncIterator[bytes]:
        watch = Watch(still)
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
                if await watch.over():
                    return
                if self.kept and self.kept[0].number > at + 1:
                    yield b"event: reset\nid: %s-%d\ndata: {}\n\n" % (self.boot.encode(), self.number)
                    at = self.number
                for one in self._since(at):
                    at = one.number
                    if one.tenant == tenant:
                        yield written(one.event, f"{self.boot}-{one.number}", one.data)
                try:
                    await asyncio.wait_for(changed.wait(), PING_S)
                except TimeoutError:
                    yield b"event: ping\ndata: {}\n\n"
        finally:
            self.listening -= 1

    def _from(self, last: str | None) -> int | None:
        """Where to go on; None when it cannot be known what the reader has missed."""
        if last is None:
            return self.number
        boot, _, number = last.partition("-")
        if boot != self.boot or not number.isdecimal() or len(number) > _DIGITS or int(number) > self.number:
            return None
        oldest = self.kept[0].number if self.kept else self.number + 1
        return int(number) if int(number) >= oldest - 1 else None

    def _since(self, at: int) -> list[News]:
        """From the newest back, so that a reader who is up to date costs nothing."""
        found = []
        for one in reversed(self.kept):
            if one.number <= at:
                break
            found.append(one)
        return found[::-1]


def written(event: str, id: str, data: Any) -> bytes:
    """With its moment as every answer has it."""
    told = msgspec.to_builtins(data)
    if "at" in told:
        told = {**told, "at": iso(told["at"])}
    return b"event: %s\nid: %s\ndata: %s\n\n" % (event.encode(), id.encode(), _encode(told))


async def run_events(hub: Hub, door: Penstock, run: str, after: int, still: Still) -> AsyncIterator[bytes]:
    """The events of one run from the first that the reader has not seen; exact, for the journal has them all. When the
    server stops it ends, and whoever reads comes back with the last number."""
    events = door.subscribe(run, after=after).__aiter__()
    coming: asyncio.Future[Any] | None = None
    stopped, watch = asyncio.ensure_future(hub.stopped.wait()), Watch(still)
    try:
        while True:
            if coming is None:
                coming = asyncio.ensure_future(anext(events, None))
            done, _ = await asyncio.wait({coming, stopped}, timeout=PING_S, return_when=asyncio.FIRST_COMPLETED)
            if stopped in done or await watch.over():
                return
            if not done:
                yield b"event: ping\ndata: {}\n\n"
                continue
            event, coming = coming.result(), None
            if event is None:
                yield b"event: end\ndata: {}\n\n"
                return
            yield written(event.name, str(event.seq), event)
    finally:
        stopped.cancel()
        if coming is not None:
            coming.cancel()
