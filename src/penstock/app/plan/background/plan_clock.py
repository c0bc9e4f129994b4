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
        due = time.monotonic() + interval(self.door.settings, "plans.collect_s")
        while True:
            await asyncio.sleep(_LOOK_S)
            try:
                await self.schedules.step()
                if time.monotonic() >= due:
                    due = time.monotonic() + interval(self.door.settings, "plans.collect_s")
                    await self._collect()
            except StoreError as error:
                if not error.passing:
                    raise

    async def _collect(self) -> None:
        for tenant in dict.fromkeys(row.tenant for row in self.door.store.every_project()):
            try:
                await reports.collect(self.door.of(tenant))
            except PenstockError as error:
                log.warning("no reports of «%s» were collected: %s %s", tenant, error.code, error)
