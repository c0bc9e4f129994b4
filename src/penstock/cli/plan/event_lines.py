"""Events of a project as lines of JSON, for programs that read them while its workflow runs (T-10, T-X.35).

A thread of its own writes them: whoever reads slowly holds up no agent, and loses the oldest when too many wait.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
from queue import Empty, Full, Queue
from types import TracebackType
from typing import Self

import msgspec

from penstock.app.plan.events import BEHIND, PlanEvents
from penstock.app.plan.views import PlanEvent


class EventLines:
    """Heard from its beginning, written as soon as it is known whose are wanted; at its end all of them are."""

    def __init__(self, hub: PlanEvents, tenant: str) -> None:
        self.hub, self.tenant = hub, tenant
        self.heard: Queue[PlanEvent | None] = Queue(BEHIND)
        self.thread: threading.Thread | None = None

    async def __aenter__(self) -> Self:
        self.hub.listeners.append(self._hear)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.hub.listeners.remove(self._hear)
        if self.thread is not None:
            self._put(None)
            await asyncio.to_thread(self.thread.join)

    def write(self, project: str) -> None:
        """Those of this project, with what was heard of it before."""
        self.thread = threading.Thread(target=self._write, args=(project,), name="plan events", daemon=True)
        self.thread.start()

    def _hear(self, tenant: str, told: PlanEvent) -> None:
        if tenant == self.tenant:
            self._put(told)

    def _put(self, told: PlanEvent | None) -> None:
        while True:
            try:
                return self.heard.put_nowait(told)
            except Full:
                with contextlib.suppress(Empty):
                    self.heard.get_nowait()

    def _write(self, project: str) -> None:
        try:
            while (told := self.heard.get()) is not None:
                if told.project == project:
                    sys.stdout.buffer.write(msgspec.json.encode(told) + b"\n")
                    sys.stdout.buffer.flush()
        except BrokenPipeError:  # whoever read has gone, and the workflow goes on
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
