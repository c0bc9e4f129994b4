"""What goes on beside the engine for plans: news, task files, the state file, figures of sessions, the clock."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

from penstock.app.penstock import Penstock
from penstock.app.plan.background.catch_up import catch_up
from penstock.app.plan.background.news import PlanNews
from penstock.app.plan.background.plan_clock import PlanClock
from penstock.app.plan.background.state_saver import StateSaver
from penstock.app.plan.projects import LANGUAGE
from penstock.errors import StoreError

#: seconds between two writes of what sessions say, and before what has broken down begins again
_FIGURES_S, _AFTER_S = 0.2, 5.0
#: whoever starts agents
EXECUTOR = "cli_agent"
log = logging.getLogger("penstock")


class PlanWork:
    """Of a door that drives its store, for all tenants."""

    def __init__(self, door: Penstock) -> None:
        self.door = door
        self.saver = StateSaver(door)
        self.news = PlanNews(door, self.saver)
        self.clock = PlanClock(door)
        self.tasks: list[asyncio.Task[None]] = []

    @property
    def idle(self) -> bool:
        return self.news.idle

    def open(self) -> None:
        host = self.door.host
        runtime = host.turns.rows.runtimes[LANGUAGE]
        runtime.listeners.append(self.news.changed)  # type: ignore[union-attr]
        host.turns.on_facts.append(self.news.turned)
        host.dispatch.executors[EXECUTOR].listeners.append(self.news.heard)  # type: ignore[attr-defined]
        self.news.workflows.open()
        works = (self._begin, self.news.run, self.saver.run, self._save_figures, self.clock.run)
        self.tasks = [asyncio.ensure_future(_kept_up(work)) for work in works]

    async def _begin(self) -> None:
        """T-9.2: what was not written when the process before this one died."""
        await catch_up(self.door, self.saver)
        await asyncio.Event().wait()

    async def _save_figures(self) -> None:
        while True:
            await asyncio.sleep(_FIGURES_S)
            if self.news.feed.unsaved:
                self.news.feed.save()

    async def close(self) -> None:
        """What has happened is written and told before it ends."""
        host = self.door.host
        with contextlib.suppress(ValueError, KeyError):
            host.turns.rows.runtimes[LANGUAGE].listeners.remove(self.news.changed)  # type: ignore[union-attr]
            host.turns.on_facts.remove(self.news.turned)
            host.dispatch.executors[EXECUTOR].listeners.remove(self.news.heard)  # type: ignore[attr-defined]
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        with contextlib.suppress(StoreError):
            await self.news.work_off()
            self.news.feed.save()
            self.saver.save_now()


async def _kept_up(work: Callable[[], Awaitable[None]]) -> None:
    """Nobody waits for it, so nobody would hear that it has ended: it is logged, and begins again."""
    while True:
        try:
            await work()
        except Exception as error:
            log.error("%s has broken down and begins again in %s s", work.__qualname__, _AFTER_S, exc_info=error)
        await asyncio.sleep(_AFTER_S)
