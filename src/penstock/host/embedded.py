"""The embedded host: one process, one store, one loop. Turn, let out, answer, again."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable

import msgspec

from penstock.errors import PenstockError, Refused, StoreError
from penstock.host.engine_loop import EngineLoop
from penstock.host.loaded_run import InboxReply
from penstock.kernel import command as C
from penstock.store.contract import Batch

POLL_S = 0.1
PAUSE_S = 0.05  # before a store that failed is tried again; twice as long each time
LONGEST_PAUSE_S = 5.0
_unpack = msgspec.msgpack.decode
log = logging.getLogger("penstock")
NO_COMMAND = Refused(why="it is no command that this version knows")


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
        """There is nobody any more who could say."""
        if not self._done.done():
            self._done.set_exception(why)

    async def all(self) -> None:
        """Until each of them is committed or refused; raises the first refusal."""
        await self._done
        if self.error is not None:
            raise self.error


class Host(EngineLoop):
    """`serve=True` also takes commands that other processes leave in the store's inbox. The rest is `EngineLoop`."""

    async def ask(self, no: int, command: C.Command) -> None:
        """Send a command and wait until it is committed; raises when it is refused."""
        told = ReplyWaiter(1)
        self.send(no, command, told)
        await told.all()

    async def run(self, until: Callable[[], bool] | None = None) -> None:
        """Drive until closed, or until the condition holds (asked when nothing is to be done at once)."""
        loop = asyncio.get_running_loop()
        last_poll = 0.0
        self.outbox.kick()
        if self.store.notices_left():
            self.notices.kick()
        self.runtimes.kick(always=True)
        while not self.closing:
            try:
                busy = self._lap_well()
                if self.serve and loop.time() - last_poll >= POLL_S:
                    last_poll = loop.time()
                    busy = self._poll_inbox() or busy
                    busy = self.intake.poll() or busy
                    self.schedules.look(self.clock.now())
            except StoreError as error:
                if not error.passing or not self.patient:
                    raise
                await self._wait_for_store(error)
                continue
            if busy:
                await asyncio.sleep(0)
                continue
            if until is not None and until():
                return
            self.wakeup = loop.create_future()
            handle = loop.call_later(self._sleep_s(), self.poke)
            await self.wakeup
            self.wakeup = None
            handle.cancel()
        if self.turns.lost:
            self._fold_lost()
        while self.turns.ready:  # what was started or answered is kept; what it asks for is let out by the next host
            self.turns.turn()

    async def _wait_for_store(self, error: StoreError) -> None:
        """H13: the store takes nothing now. Nothing is lost by it but time: commands that wait, effects on their way
        and answers are kept, and every few seconds it is tried again."""
        self._tell_trouble(error)
        pause = PAUSE_S
        loop = asyncio.get_running_loop()
        while not self.closing:
            until = loop.time() + pause
            while loop.time() < until and not self.closing:
                await asyncio.sleep(min(pause, 0.05))
            if self.closing:
                return
            pause = min(pause * 2, LONGEST_PAUSE_S)
            try:
                self._probe()
                self._lap_well()
            except StoreError as again:
                if not again.passing:
                    raise
                self._tell_trouble(again)
                self.turns.refuse_waiting(again)
            else:
                self._tell_trouble(None)
                return

    def _lap_well(self) -> bool:
        busy = self.lap()
        if self.dispatch.unmarked:
            raise self._unmarked_why
        return busy

    def _probe(self) -> None:
        """A small commit: is there room again?"""
        batch = Batch()
        batch.memo.append(("probe", b"", self.clock.now()))
        self.store.commit(batch)

    def _tell_trouble(self, error: StoreError | None) -> None:
        was, self.trouble = self.trouble, error
        if (was and was.code) == (error and error.code):
            return
        if error is None:
            log.warning("the store takes turns again")
        else:
            log.warning("%s %s The engine waits and tries again.", error.code, error)
        for tell in self.on_trouble:
            tell(error)

    def _sleep_s(self) -> float:
        now = self.clock.now()
        moments = [self.far_at]
        if self.near:
            moments.append(self.near[0][0])
        beside = (self.dispatch.parked.next_due(), self.children.next_due(), self.schedules.at)
        moments += [due for due in beside if due is not None]
        wait = max(0, min(moments) - now) / 1000
        return min(wait, POLL_S) if self.serve else wait

    def _poll_inbox(self) -> bool:
        rows = [row for row in self.store.inbox() if row[0] not in self._taken]
        for no, run, body in rows:
            command = _command(body)
            if command is None:
                batch = Batch()
                batch.inbox_answered.append(InboxReply(no, self._taken.discard).answer(NO_COMMAND))
                self.store.commit(batch)
                continue
            if self.alone:
                self.go_on(run)
            self._taken.add(no)
            self.turns.send(run, command, InboxReply(no, self._taken.discard))
        return bool(rows)

    async def close(self) -> None:
        self.closing = True
        self.poke()
        await self.dispatch.close()
        await self.outbox.close()
        await self.notices.close()
        await self.runtimes.close()
        if self.gate.dirty or self.gate.memos:
            batch = Batch()
            self.gate.write(batch, self.clock.now())
            with contextlib.suppress(StoreError):  # the store is not ours any more; what it holds is the truth
                self.store.commit(batch)


def _command(body: bytes) -> C.Command | None:
    """A command that somebody left; None when it is none that this version knows: it must not reach a run."""
    try:
        said = _unpack(body)
    except msgspec.MsgspecError:
        return None
    known = type(said) is list and said and type(said[0]) is int and 0 <= said[0] < len(C.NAMES)
    return tuple(said) if known else None
