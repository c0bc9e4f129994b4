"""Graceful shutdown: `/ready` turns away new requests, those under way end, then the engine stops."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import signal
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from types import FrameType
from typing import TYPE_CHECKING, Any

import uvicorn
from fastapi import FastAPI

from penstock.api.connections import AT_ONCE, BACKLOG, Connections, OnlyOnce
from penstock.app.access.connection_limits import ConnectionLimits, raise_handles, total_of

if TYPE_CHECKING:
    from penstock.api.server_state import ServerState

#: seconds that requests under way have to end
REQUESTS_S = 10
#: seconds it still answers after `/ready` says 503; a load balancer asks every few seconds
DRAIN_NOTICE_S = 1.0


class HttpServer(uvicorn.Server):
    """On SIGTERM `/ready` says 503 for a while and streams end; then the sockets are closed. A second signal stops at
    once, and so does Ctrl-C."""

    def __init__(
        self, app: FastAPI, server: ServerState, drain_notice_s: float = DRAIN_NOTICE_S,
        limits: ConnectionLimits = ConnectionLimits(),  # noqa: B008 (it is frozen)
    ) -> None:  # fmt: skip
        available = raise_handles()
        self.connections = Connections(limits, total_of(limits, available), available)
        logging.getLogger("uvicorn.error").addFilter(OnlyOnce())
        # the framework would log the traceback of a start that fails and exit, so the application's life is led here
        super().__init__(
            uvicorn.Config(
                app, log_config=None, access_log=False, timeout_graceful_shutdown=REQUESTS_S, server_header=False,
                lifespan="off", http=self.connections.protocol(), ws="none",  # type: ignore[arg-type]
                backlog=AT_ONCE, h11_max_incomplete_event_size=limits.header_bytes,
                proxy_headers=bool(limits.proxies), forwarded_allow_ips=list(limits.proxies),
            )
        )  # fmt: skip
        self.server, self.drain_notice_s = server, drain_notice_s
        #: asked at Ctrl-C: does the server go on for now?
        self.interrupted: Callable[[], bool] = lambda: False
        self._life: AbstractAsyncContextManager[Any] = app.router.lifespan_context(app)
        self._loop: asyncio.AbstractEventLoop | None = None

    async def serve(self, sockets: Any = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().serve(sockets)

    async def startup(self, sockets: Any = None) -> None:
        """Raises what keeps the application from starting."""
        await self._life.__aenter__()
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(BACKLOG)  # how many wait is another thing than how many are taken at once
        asyncio.get_running_loop().set_exception_handler(self._unexpected)
        gc.collect()
        gc.freeze()  # what is there by now stays: to look through it again each time would hold the loop

    def _unexpected(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """No handle is left for a new connection: it waits, and the log has one line of it."""
        error = context.get("exception")
        if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE) and "socket" in context:
            self.connections.floods.note("total", "the system")
        else:
            loop.default_exception_handler(context)

    async def shutdown(self, sockets: Any = None) -> None:
        await super().shutdown(sockets)
        if not self.force_exit:
            await self._life.__aexit__(None, None, None)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if sig == signal.SIGINT and self.interrupted():
            return
        first, self.server.draining = not self.server.draining, True
        if self._loop is None or not first or sig != signal.SIGTERM:
            self._end_streams()
            super().handle_exit(sig, frame)
            return
        self._loop.call_soon_threadsafe(self._end_streams)
        self._loop.call_soon_threadsafe(self._loop.call_later, self.drain_notice_s, self._stop)

    def _end_streams(self) -> None:
        if hasattr(self.server, "hub"):
            self.server.hub.close()
            self.server.door.jobs.close()

    def _stop(self) -> None:
        self.should_exit = True  # not by the signal: it ends well
