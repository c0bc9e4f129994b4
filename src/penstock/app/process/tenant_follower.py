"""Looks at every tenant now and then, beside the engine and never in its way."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from penstock.errors import BadInput, PenstockError

if TYPE_CHECKING:
    from penstock.app.penstock import Penstock

log = logging.getLogger("penstock")


class TenantFollower:
    """Of a door that drives its store. What one look has missed the next one finds. `subject` is what the log calls it;
    `every_s` 0 is never."""

    subject = ""

    def __init__(self, door: Penstock, every_s: float) -> None:
        self.door, self.every_s = door, every_s
        self.idle = True
        self._task: asyncio.Task[None] | None = None

    async def follow(self, tenant: str) -> None:
        raise NotImplementedError

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
                await self._look(tenant)

    async def _look(self, tenant: str) -> None:
        self.idle = False
        try:
            await self.follow(tenant)
        except PenstockError as error:
            log.warning("%s of «%s» was not looked at: %s %s", self.subject, tenant, error.code, error)
        except Exception as error:  # nobody waits for it, so nobody else would hear of it
            log.error("%s of «%s» was not looked at", self.subject, tenant, exc_info=error)
        finally:
            self.idle = True


def seconds_of(settings: Mapping[str, Any], setting: str, usual: float) -> float:
    """Raises BadInput for a setting that is no number of seconds."""
    value = settings.get(setting, usual)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1e9:
        raise BadInput(what=f"the setting «{setting}»", why="it is a number of seconds; 0 is never")
    return float(value)
