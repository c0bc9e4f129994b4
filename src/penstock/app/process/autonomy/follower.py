"""Evaluates the autonomy of every tenant's agents now and then, beside the engine and never in its way."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from penstock.app.process.autonomy.collection import agent_nets
from penstock.app.process.autonomy.proposals import Autonomy
from penstock.errors import BadInput, PenstockError

if TYPE_CHECKING:
    from penstock.app.penstock import Penstock

#: the setting, and seconds between two evaluations where it says nothing; 0: never
SETTING, EVERY_S = "autonomy.evaluate_s", 600.0
log = logging.getLogger("penstock")


class AutonomyFollower:
    """Of a door that drives its store, for all tenants. What one evaluation has missed the next one finds."""

    def __init__(self, door: Penstock) -> None:
        self.door, self.every_s = door, interval(door.settings)
        self.idle = True
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
                await self._evaluate(tenant)

    async def _evaluate(self, tenant: str) -> None:
        door, self.idle = self.door.of(tenant), False
        try:
            if agent_nets(door):
                await Autonomy(door).evaluate()
        except PenstockError as error:
            log.warning("the autonomy of agents of «%s» was not evaluated: %s %s", tenant, error.code, error)
        except Exception as error:  # nobody waits for it, so nobody else would hear of it
            log.error("the autonomy of agents of «%s» was not evaluated", tenant, exc_info=error)
        finally:
            self.idle = True


def interval(settings: Mapping[str, Any]) -> float:
    """Raises BadInput for a setting that is no number of seconds."""
    value = settings.get(SETTING, EVERY_S)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1e9:
        raise BadInput(what=f"the setting «{SETTING}»", why="it is a number of seconds; 0 is never")
    return float(value)
