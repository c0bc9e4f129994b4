"""Requests are let in some at a time, and tenants take turns: a flood of one does not hold up another's."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator

from starlette.types import ASGIApp, Receive, Scope, Send

from penstock.host.fair_queue import FairQueue

#: requests that are let in between two turns of the engine
AT_ONCE = 4
#: seconds after the last answer in which another request is likely: its first rounds of the loop come before it is seen
LIKELY_S = 1.0


class CountedRequests:
    """Around everything: how many requests are under way, so that the engine leaves them some of the loop."""

    def __init__(self, app: ASGIApp, share: Callable[[], RequestShare | None]) -> None:
        self.app, self.share = app, share

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        share = self.share() if scope["type"] == "http" else None
        if share is None:
            await self.app(scope, receive, send)
            return
        share.begin()
        try:
            await self.app(scope, receive, send)
        finally:
            share.end()


class RequestShare:
    """Whoever is let in need not say when it is done: those who wait for a run would keep the others out."""

    def __init__(self, share: Callable[[str], float]) -> None:
        self.waiting: FairQueue[asyncio.Future[None]] = FairQueue(share)
        self.active = 0  # requests that are not answered yet
        self.admitted = 0  # since the loop has looked at others
        self._likely_until = 0.0
        self._ticks = False

    def begin(self) -> None:
        self.active += 1

    def end(self) -> None:
        self.active -= 1
        self._likely_until = time.monotonic() + LIKELY_S

    @contextlib.contextmanager
    def resting(self) -> Iterator[None]:
        """A request under way only waits: the engine need not leave it anything."""
        self.active -= 1
        try:
            yield
        finally:
            self.active += 1

    def is_likely(self) -> bool:
        """Is a request under way, or likely to come soon?"""
        return self.active > 0 or time.monotonic() < self._likely_until

    async def admit(self, tenant: str) -> None:
        """Until it is the tenant's turn; at once where nobody waits."""
        if self.waiting or self.admitted >= AT_ONCE:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.waiting.put(tenant, turn)
            self._tick_soon()
            await turn
            return
        self.admitted += 1
        self._tick_soon()

    def _tick_soon(self) -> None:
        if not self._ticks:
            self._ticks = True
            asyncio.get_running_loop().call_soon(self._tick)

    def _tick(self) -> None:
        self._ticks, self.admitted = False, 0
        while self.waiting and self.admitted < AT_ONCE:
            turn = self.waiting.pop()
            if not turn.done():  # who has hung up does not count
                turn.set_result(None)
                self.admitted += 1
        if self.admitted:
            self._tick_soon()
