"""The clock of plans: reports are collected every hour (T-6.1.1), and scheduled tasks are made at their times."""

from __future__ import annotations

import asyncio
import logging
import time

from penstock.app.penstock import Penstock
from penstock.app.plan import reports
from penstock.app.plan.background.schedules import ScheduledTasks
from penstock.app.plan.projects import interval
from penstock.errors import PenstockError, StoreError

#: seconds between two looks
_LOOK_S = 0.5
log = logging.getLogger("penstock")


class PlanClock:
    def __init__(self, door: Penstock) -> None:
        self.door = door
        self.schedules = ScheduledTasks(door)

    async def run(self) -> None:
        collect_at, look_at = self._after("plans.collect_s"), self._after("plans.wait_s")
        while True:
            await asyncio.sleep(_LOOK_S)
            try:
                await self.schedules.step()
                if time.monotonic() >= look_at:
                    look_at = self._after("plans.wait_s")
                    await self._look_again()
                if time.monotonic() >= collect_at:
                    collect_at = self._after("plans.collect_s")
                    await self._collect()
            except StoreError as error:
                if not error.passing:
                    raise

    def _after(self, name: str) -> float:
        return time.monotonic() + interval(self.door.settings, name)

    async def _look_again(self) -> None:
        """T-7.1.6: a workflow that goes on and has nobody at work is looked at again, whatever it waits for."""
        for row in self.door.store.every_project():
            if row.status == "running" and row.run and not self.door.store.open_executions(row.tenant, row.id):
                await self.door.of(row.tenant).wake_up(row.run)

    async def _collect(self) -> None:
        for tenant in dict.fromkeys(row.tenant for row in self.door.store.every_project()):
            try:
                await reports.collect(self.door.of(tenant))
            except PenstockError as error:
                log.warning("no reports of «%s» were collected: %s %s", tenant, error.code, error)
