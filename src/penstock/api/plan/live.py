"""Events of one project as they happen, for whoever listens to it alone (T-R.9, T-X.35)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from penstock.api.stream import PING_S, AccessCheck, EventHub, StillAllowed, sse_message
from penstock.app.penstock import Penstock
from penstock.app.plan.events import plan_events


async def project_events(
    hub: EventHub, door: Penstock, project: str, after: str | None, still_allowed: StillAllowed
) -> AsyncIterator[bytes]:
    """From now on, or from the last number that the listener has heard. It ends when the server stops, or when the
    listener may not listen any more."""
    events, access, stopped = plan_events(door), AccessCheck(still_allowed), asyncio.ensure_future(hub.stopped.wait())
    with events.listening(door.tenant, project, _number(after)) as subscriber:
        yield b"retry: 1000\nevent: hello\nid: %d\ndata: {}\n\n" % events.number
        coming = asyncio.ensure_future(subscriber.next())
        try:
            while True:
                done, _ = await asyncio.wait({coming, stopped}, timeout=PING_S, return_when=asyncio.FIRST_COMPLETED)
                if stopped in done or await access.ended():
                    return
                if not done:
                    yield b"event: ping\ndata: {}\n\n"
                    continue
                told = coming.result()
                yield sse_message(told.event, str(told.number), told)
                coming = asyncio.ensure_future(subscriber.next())
        finally:
            coming.cancel()
            stopped.cancel()


def _number(last: str | None) -> int | None:
    return int(last) if last is not None and last.isdecimal() and len(last) < 16 else None
