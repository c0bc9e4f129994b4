"""The engine loop: timers, events, one turn, its effects go out; again. The simulation drives it, too."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable
from typing import Any

from penstock.errors import PenstockError, StoreError
from penstock.host.clock import SpeedClock
from penstock.host.fork import fork_batch
from penstock.host.loaded_run import LoadedRun
from penstock.host.wiring import EngineParts
from penstock.kernel import command as C
from penstock.net.model import Net
from penstock.store.run_store import Batch, JournalRow, RunRow

MAINTENANCE_MS = 3_600_000
POLL_S = 0.1
PAUSE_S = 0.05  # before a store that failed is tried again; twice as long each time
LONGEST_PAUSE_S = 5.0
#: between two turns: rounds of the loop that others may have, and nanoseconds
OTHERS_ROUNDS = 16
OTHERS_NS = 5_000_000
log = logging.getLogger("penstock")


def _has_news(loaded: LoadedRun) -> bool:
    return any(command[0] != C.GO_ON for command in loaded.commands)


class EngineLoop(EngineParts):
    """The parts of an engine, driven. `trouble` is why nothing can be committed now; whoever is in `on_trouble` is told
    when it begins, and None when it is over."""

    closing = False
    others_work: Callable[[], bool] = staticmethod(lambda: False)  # is somebody else at work on the same loop?
    trouble: StoreError | None = None
    _maintenance_at = 0
    on_look: tuple[Callable[[int], None], ...] = ()  # whoever looks now and then whether something was left lying
    _wakeup: asyncio.Future[None] | None = None

    # -- doors ---------------------------------------------------------------------------------------------------------

    def release(self, net: Net, source: bytes | None = None) -> int:
        return self.nets.release(net, source, self.clock.now())

    def start(self, net_no: int, given: Any = None, *, id: str | None = None, **options: Any) -> str:
        run_id = id or self.new_id()
        self.turns.start(run_id, net_no, given, **options)
        return run_id

    def send(
        self, no: int, command: C.Command, reply: Callable[[PenstockError | None], None] | None = None,
        tenant: str = "",
    ) -> None:  # fmt: skip
        self.turns.send(no, command, reply, tenant)

    def row(self, run_id: str) -> RunRow | None:
        return self.children.row(run_id)

    def recover(self) -> int:
        return self.recovery.recover()

    def fork(self, row: RunRow, journal: list[JournalRow], *, key: str | None = None) -> str:
        """A new run that goes on from the end of this journal."""
        id, no = self.new_id(), self.turns.next_no
        self.turns.next_no += 1
        now = self.clock.now()
        self.store.commit(fork_batch(row, journal, self.nets, self.blobs, no=no, id=id, now=now, key=key))
        for loaded in self.turns.load([no]):
            self.recovery.resume(loaded, {})
        self.wake_up()
        return id

    def wake_up(self) -> None:
        if self._wakeup is not None and not self._wakeup.done():
            self._wakeup.set_result(None)

    # -- one iteration -------------------------------------------------------------------------------------------------

    def iterate(self) -> bool:
        """One turn and the effects that it lets out; False when there was nothing to do."""
        turns = self.turns
        if turns.rolled_back:
            self.recovery.fold_again()
        recovery = self.recovery
        if recovery.under_way:
            recovery.go_on()
        now = self._look_at_the_clock()
        if self.runtimes.wrote:
            self.runtimes.kick()
        if self.outcomes.news:
            self.outcomes.keep_news()
        intake = self.intake
        if (short := self.others_work()) != turns.short_slices:
            intake.short_slices = turns.short_slices = self.dispatch.slice.short = short
            self.limits.shorten(short)
        self.dispatch.slice.begin()
        if intake.told:
            intake.poll()
        if self.admission.looks and not recovery.under_way:
            self.admission.admit()
        busy = intake.deliver() if intake.early or intake.todo or intake.done or intake.starts.held else False
        if not turns.ready:
            return busy or recovery.under_way
        try:
            asks = turns.turn(now)
        except StoreError:
            with contextlib.suppress(StoreError):  # then it is done before the next turn
                self.recovery.fold_again()
            raise
        try:
            if turns.stopped:
                for loaded, firings in turns.stopped:
                    self.dispatch.stop(loaded, firings)
                    self.children.stop(loaded, firings)
                turns.stopped.clear()
            if turns.told:
                for loaded, firings in turns.told:
                    self.dispatch.tell_to_end(loaded, firings)
                turns.told.clear()
            if turns.wakes:
                for wake_at, no, tenant in turns.wakes:
                    self.timers.set(wake_at, no, tenant)
                turns.wakes.clear()
            if asks:
                self.dispatch.out(asks)
        except StoreError:  # it could not be read: what has not left is asked when the runs are folded again
            turns.rolled_back.update({ask.loaded.no: ask.loaded for ask in asks})
            raise
        if self.outbox.wrote:
            self.outbox.kick()
        if self.notices.wrote:
            self.notices.kick()
        return True

    def _look_at_the_clock(self) -> int:
        """The time, and what is due by then: timers, effects whose rate lets them go, deadlines of calls, schedules."""
        now, timers = self.clock.now(), self.timers
        if now < timers.last_now:
            timers.clock_went_back(timers.last_now - now)
            self._maintenance_at = 0
        timers.last_now = now
        if now >= timers.poll_at:
            timers.poll(now)
            for look in self.on_look:
                look(now)
            if now >= self._maintenance_at:
                self._maintain(now)
        if timers.near and timers.near[0][0] <= now:
            timers.fire(now)
        dispatch = self.dispatch
        if dispatch.unmarked or dispatch.waiting.timed or dispatch.broken is not None:
            dispatch.release_held_back()
        if self.children.deadlines:
            self.children.overdue()
        if self.children.paced:
            self.children.start_paced()
        schedules = self.schedules
        if schedules.done or schedules.at is not None and now >= schedules.at:
            schedules.fire_due(now)
        return now

    def _maintain(self, now: int) -> None:
        """Forget what has served its time."""
        self.store.tidy(now)
        self.runtimes.tidy()
        self.intake.forget_old(now)
        self.retention.forget_old(now)
        self._maintenance_at = now + MAINTENANCE_MS

    # -- until it is closed --------------------------------------------------------------------------------------------

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
                busy = self._iterate_marked()
                if self.serve and loop.time() - last_poll >= POLL_S:
                    last_poll = loop.time()
                    busy = self.inbox.poll() or busy
                    busy = self.intake.poll() or busy
                    self.schedules.look(self.clock.now())
            except StoreError as error:
                if not error.passing or not self.patient:
                    raise
                await self._wait_for_store(error)
                continue
            if busy:
                await self._let_others()
                continue
            if until is not None and until():
                return
            self._wakeup = loop.create_future()
            handle = loop.call_later(self._sleep_s(), self.wake_up)
            await self._wakeup
            self._wakeup = None
            handle.cancel()
        if self.turns.rolled_back:
            self.recovery.fold_again()
        # what was started or answered is kept; what it asks for, or goes on with, is for the next host
        self.turns.ready.keep(_has_news)
        while self.turns.ready:
            self.turns.turn()
            self.turns.ready.keep(_has_news)

    async def _let_others(self) -> None:
        """Others have the loop; while they have something to do with it, for a little longer than one round."""
        await asyncio.sleep(0)
        until = time.perf_counter_ns() + OTHERS_NS
        for _ in range(OTHERS_ROUNDS):
            if not self.others_work() or time.perf_counter_ns() >= until:
                return
            await asyncio.sleep(0)

    def _iterate_marked(self) -> bool:
        """An iteration; raises when at-most-once effects could not be marked, and so have not left."""
        busy = self.iterate()
        if self.dispatch.unmarked:
            raise self.dispatch.unmarked_why
        return busy

    async def _wait_for_store(self, error: StoreError) -> None:
        """H13: the store takes nothing now. Nothing is lost by it but time: commands that wait, effects in flight and
        answers are kept, and every few seconds it is tried again."""
        self._report_trouble(error)
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
                self._iterate_marked()
            except StoreError as again:
                if not again.passing:
                    raise
                self._report_trouble(again)
                self.turns.refuse_waiting(again)
            else:
                self._report_trouble(None)
                return

    def _probe(self) -> None:
        """A small commit: is there room again?"""
        batch = Batch()
        batch.memo.append(("probe", b"", self.clock.now()))
        self.store.commit(batch)

    def _report_trouble(self, error: StoreError | None) -> None:
        before, self.trouble = self.trouble, error
        if (before and before.code) == (error and error.code):
            return
        if error is None:
            log.warning("the store takes turns again")
        else:
            log.warning("%s %s The engine waits and tries again.", error.code, error)
        for listen in self.on_trouble:
            listen(error)

    def _sleep_s(self) -> float:
        now = self.clock.now()
        others = (
            self.dispatch.waiting.next_due(), self.children.next_due(), self.schedules.at, self.intake.starts.next_due()
        )  # fmt: skip
        wait = max(0, min([self.timers.next_due(), *(due for due in others if due is not None)]) - now) / 1000
        if isinstance(self.clock, SpeedClock):
            wait /= self.clock.rate
        return min(wait, POLL_S) if self.serve else wait
