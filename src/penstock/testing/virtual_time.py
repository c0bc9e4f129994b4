"""An engine in virtual time: let it come to rest, say what is next, move the clock from moment to moment."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any, NoReturn

from penstock.app.durations import duration_words
from penstock.app.penstock import Penstock
from penstock.errors import ScenarioBusy
from penstock.host.clock import ManualClock
from penstock.host.loaded_run import LoadedRun
from penstock.kernel import fact as F
from penstock.kernel.flow import LAST_MOMENT
from penstock.net.author import author
from penstock.testing.executor_table import StubbedExecutors

#: turns at one moment, and moments of one stretch of time, after which it counts as endless
MOST_TURNS, MOST_MOMENTS = 5_000, 20_000
#: rounds of the loop before it waits for threads and processes, and how long it then waits
_ROUNDS, _WAIT_S = 100, 0.001
_CALM = 3  # rounds in which nothing is to be done


class VirtualTime:
    """Drives the engine behind a door. `patience_s` is how long of real time it may take to come to rest, and a span
    to pass."""

    def __init__(self, door: Penstock, clock: ManualClock, executors: StubbedExecutors, patience_s: float) -> None:
        self.door, self.host = door, door.host
        self.clock, self.executors, self.patience_s = clock, executors, patience_s
        self.turns = 0  # at this moment
        self.fired = Counter[str]()  # author's nodes, since time was last asked to pass
        self.started = Counter[str]()  # runs by the name of their document, since then
        self.host.turns.on_facts.append(self._count)

    def _count(self, loaded: LoadedRun, facts: list[F.Fact], _n: int, _now: int) -> None:
        self.turns += 1
        net = loaded.run.net if loaded.run is not None else None
        for fact in facts:
            if net is not None and fact[0] == F.STARTED:
                self.started[net.net.name] += 1
            if net is not None and fact[0] in (F.PASSED, F.FIRED, F.FIRED_VIA):
                self.fired[author(net.nodes[fact[2]])] += 1

    # -- rest ----------------------------------------------------------------------------------------------------------

    async def rest(self) -> None:
        """Until nothing is to be done at this moment. Raises ScenarioBusy."""
        until, calm, rounds = time.monotonic() + self.patience_s, 0, 0
        while calm < _CALM:
            await asyncio.sleep(0 if rounds < _ROUNDS else _WAIT_S)
            rounds += 1
            self.door.raise_if_stopped()
            calm = 0 if self._is_busy() else calm + 1
            if self.turns > MOST_TURNS:
                why = f"{self.turns:,} turns at one moment; {self._most_fired()}"
                raise ScenarioBusy(why=why)
            if calm == 0 and time.monotonic() > until:
                raise ScenarioBusy(why=f"after {self.patience_s:g} s of real time, {', '.join(self.reasons())}")

    def _is_busy(self) -> bool:
        host = self.host
        awake = host._wakeup is None or host._wakeup.done()  # the loop has not looked at everything yet
        return awake and not host.closing or any(True for _ in self._reasons())

    def reasons(self) -> list[str]:
        """What keeps it busy, in words."""
        return list(dict.fromkeys(self._reasons())) or ["the engine itself is at work"]

    def _reasons(self) -> Iterator[str]:
        host, now = self.host, self.clock.at
        if host.turns.ready or host.turns.rolled_back or host.recovery.under_way:
            yield f"runs go on; {self._most_fired()}"
        working = host.dispatch.working()
        if working > self.executors.sleeping:
            for flight in host.dispatch.in_flight.values():
                effect = flight.plan.effect
                if flight.task is not None:
                    yield f"«{author(flight.plan.node)}» works (executor «{effect.executor}»)"
            yield "effects are on their way"
        if host.intake.busy:
            yield "an event is being delivered"
        if (notice := host.store.first_notice_at()) is not None and notice <= now:
            yield "a message is being sent"
        if (first := self._first_moment()) is not None and first <= now:
            yield "a timer is due"

    def _most_fired(self) -> str:
        most = self.fired.most_common(3)
        words = [f"«{node}» {count:,}×" for node, count in most]
        words += [f"«{name}» has started {count:,} runs" for name, count in self.started.most_common(1) if count > 1]
        return "most often: " + ", ".join(words) if words else "nothing fires"

    # -- moments -------------------------------------------------------------------------------------------------------

    def _first_moment(self) -> int | None:
        host = self.host
        stored = host.store.due(LAST_MOMENT, 1)
        moments: list[int | None] = [
            min(host.timers.due.values(), default=None), stored[0][1] if stored else None,
            host.dispatch.waiting.next_due(), host.children.next_due(), host.schedules.at,
            host.intake.starts.next_due(), self.clock.next_wake(),
        ]  # fmt: skip
        return min((at for at in moments if at is not None), default=None)

    def next_moment(self) -> int | None:
        """When something happens by itself next; None: never."""
        self.host.schedules.look(self.clock.at)
        moments = (self._first_moment(), self.host.store.first_notice_at())
        return min((at for at in moments if at is not None and at < LAST_MOMENT), default=None)

    async def pass_until(self, until: int, done: Any = None) -> bool:
        """Let time pass through every moment at which something happens, in order; True where `done` says so, which
        is asked at each of them. No moment begins once patience has ended. Raises ScenarioBusy."""
        self.fired.clear()
        self.started.clear()
        deadline = time.monotonic() + self.patience_s
        await self.rest()
        for moments in range(MOST_MOMENTS):
            if done is not None and done():
                return True
            due = self.next_moment()
            if due is None or due > until:
                if until > self.clock.at and done is None:
                    await self._move(until)
                return False
            if time.monotonic() > deadline:
                self._give_up(f"after {self.patience_s:g} s of real time, {moments:,} moments", until)
            await self._move(due)
        self._give_up(f"{MOST_MOMENTS:,} moments", until)

    def _give_up(self, moments: str, until: int) -> NoReturn:
        left = duration_words(max(until - self.clock.at, 0))
        raise ScenarioBusy(why=f"{moments} have passed, {left} are still to come; {self._most_fired()}")

    async def _move(self, at: int) -> None:
        self.turns = 0
        self.clock.move_to(max(at, self.clock.at))
        self.host.notices.kick()
        self.host.wake_up()
        await self.rest()
