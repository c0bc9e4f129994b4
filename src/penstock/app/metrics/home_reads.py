"""Home as servers read it: in slices, once for all who ask at a time, and for a second where it costs much to count."""

from __future__ import annotations

import asyncio

from penstock.app.access.candidates import Who
from penstock.app.metrics.overview import Home, HomeFigures, home_of
from penstock.app.runs.queries import Queries

#: figures of more rows than that are good for so long
MANY, FRESH_MS = 5_000, 1_000


class HomeReads:
    """The figures of each tenant. Those of a few rows are read each time, so that whoever has changed something sees
    it at once; those of many are at most a second old."""

    def __init__(self) -> None:
        self.reads = 0
        self._figures: dict[str, HomeFigures] = {}
        self._coming: dict[str, asyncio.Future[HomeFigures]] = {}

    async def home(self, door: Queries, who: Who | None) -> Home:
        return home_of(door, await self._fresh(door), who)

    async def _fresh(self, door: Queries) -> HomeFigures:
        known = self._figures.get(door.tenant)
        if known is not None and 0 <= door.now() - known.environment.now < FRESH_MS:
            return known
        coming = self._coming.get(door.tenant)
        if coming is None:
            coming = self._coming[door.tenant] = asyncio.ensure_future(self._read(door))
            coming.add_done_callback(lambda _: self._coming.pop(door.tenant, None))
        return await asyncio.shield(coming)

    async def _read(self, door: Queries) -> HomeFigures:
        self.reads += 1
        figures = HomeFigures(door)
        slices = figures.read()
        first = next(slices, "over")
        while first is None:
            if figures.day.counted > MANY:  # a small one is read at once, and nothing happens meanwhile
                await asyncio.sleep(0)
            first = next(slices, "over")
        self._figures.pop(door.tenant, None)
        if figures.day.counted > MANY:
            self._figures[door.tenant] = figures
        return figures
