"""Holds the ended runs of every tenant's processes against their versions now and then, beside the engine."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from penstock.app.process.autonomy.collection import every_turn
from penstock.app.process.mining.live.conformance import LiveConformance
from penstock.errors import BadInput, PenstockError

if TYPE_CHECKING:
    from penstock.app.penstock import Penstock

#: the setting, and seconds between two looks where it says nothing; 0: never
SETTING, EVERY_S = "conformance.follow_s", 60.0
log = logging.getLogger("penstock")


class ConformanceFollower:
    """Of a door that drives its store, for all tenants. What one look has missed the next one finds."""

    def __init__(self, door: Penstock) -> None:
        self.door, self.every_s = door, follow_s(door.settings)
        self.idle, self.live = True, LiveConformance()
        self._task: asyncio.Task[None] | None = None

    def open(self) -> None:
        if self.every_s:
            self._task = asyncio.ensure_future(self._run())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(self.every_s)
            for tenant in self.door.store.every_tenant():
                await self._follow(tenant)

    async def _follow(self, tenant: str) -> None:
        self.idle = False
        try:
            await self.live.collect(self.door.of(tenant), every_turn())
        except PenstockError as error:
            log.warning("how processes of «%s» fit was not looked at: %s %s", tenant, error.code, error)
        except Exception as error:  # nobody waits for it, so nobody else would hear of it
            log.error("how processes of «%s» fit was not looked at", tenant, exc_info=error)
        finally:
            self.idle = True


def follow_s(settings: Mapping[str, Any]) -> float:
    """Raises BadInput for a setting that is no number of seconds."""
    value = settings.get(SETTING, EVERY_S)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1e9:
        raise BadInput(what=f"the setting «{SETTING}»", why="it is a number of seconds; 0 is never")
    return float(value)
