"""The embedded host: one process, one store, one engine loop."""

from __future__ import annotations

import asyncio
import contextlib

from penstock.errors import PenstockError, StoreError
from penstock.host.engine_loop import EngineLoop
from penstock.kernel import command as C
from penstock.store.run_store import Batch


class ReplyWaiter:
    """The reply of several commands: wait until each of them is committed or refused."""

    def __init__(self, count: int) -> None:
        self.left = count
        self.error: PenstockError | None = None
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if not count:
            self._done.set_result(None)

    def __call__(self, error: PenstockError | None) -> None:
        self.left -= 1
        self.error = self.error or error
        if not self.left and not self._done.done():
            self._done.set_result(None)

    def never(self, why: BaseException) -> None:
        """The engine has stopped: no reply will come."""
        if not self._done.done():
            self._done.set_exception(why)

    async def all(self) -> None:
        """Until each of them is committed or refused; raises the first refusal."""
        await self._done
        if self.error is not None:
            raise self.error


class Host(EngineLoop):
    async def ask(self, no: int, command: C.Command) -> None:
        """Send a command and wait until it is committed; raises when it is refused."""
        waiter = ReplyWaiter(1)
        self.send(no, command, waiter)
        await waiter.all()

    async def close(self) -> None:
        self.closing = True
        self.jobs.close()
        self.wake_up()
        await self.dispatch.close()
        await self.outbox.close()
        await self.notices.close()
        await self.runtimes.close()
        if self.gate.dirty or self.gate.memos:
            batch = Batch()
            self.gate.write(batch, self.clock.now())
            with contextlib.suppress(StoreError):  # the store is not ours any more; what it holds is the truth
                self.store.commit(batch)
