"""Maps of what really happened, kept in memory until another case has ended: a look that is repeated costs a row."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import msgspec

from penstock.app.process.definitions import Processes
from penstock.app.process.mining.conformance import check_conformance
from penstock.app.process.mining.histories.history import cases_of_runs, newest_end
from penstock.app.process.mining.histories.logs import EventLogs
from penstock.errors import BadInput, EventLogTooLarge, ProcessNotFound
from penstock.host.limits import Limits
from penstock.mining.activity_map import ActivityMap, activity_map
from penstock.mining.conformance import Conformance
from penstock.mining.event import Case
from penstock.store.event_logs import EventLogRow
from penstock.store.releases import ReleaseRow

if TYPE_CHECKING:
    from penstock.app.runs.runs import Runs

#: maps and comparisons of one store that are remembered
_KEPT = 64


class Source(msgspec.Struct, frozen=True):
    """What is looked at: the instances of a process or a log, in a period (`begin` <= every event < `end`). `row` is
    the process in force; None for a log that nobody has said a process of."""

    row: ReleaseRow | None
    log: EventLogRow | None
    begin: int | None = None
    end: int | None = None

    @property
    def id(self) -> str:
        """P-7.5.5: where the cases are from."""
        if self.log is not None:
            return self.log.id
        assert self.row is not None, "cases are of a process or of a log"
        return f"runs:{self.row.name}"

    @property
    def name(self) -> str:
        if self.row is None:
            return self.log.name if self.log is not None else ""
        return str(definition_of(self.row).get("process_definition_name") or self.row.name)


class Maps:
    """For one door's tenant."""

    def __init__(self, door: Runs) -> None:
        self.door = door
        self.logs = EventLogs(door)

    def source(
        self, id: str, *, log: str | None = None, begin: int | None = None, end: int | None = None
    ) -> Source:  # fmt: skip
        """Of a process by its id, else of a log by its own. A process without an instance that has ended is looked at
        through the newest log of it. Raises ProcessNotFound."""
        if begin is not None and end is not None and begin > end:
            raise BadInput(what="«to»", why="it is before «from»")
        held = Processes(self.door)
        if not held.named(id):
            row = self.logs.find(id) if log is None else None
            if row is None:
                raise ProcessNotFound(what="process", name=id)
            of = held.get(row.process) if row.process is not None and held.named(row.process) else None
            return Source(of, row, begin, end)
        release = held.get(id)
        if log is None and newest_end(self.door, release.name) is None:
            log = next((row.id for row in self.logs.each(release.name)), None)
        return Source(release, None if log is None else self.logs.get(log), begin, end)

    async def map(self, source: Source) -> ActivityMap:
        stamp: Hashable = None if source.row is None else newest_end(self.door, source.row.name)
        if source.log is not None:
            stamp = source.log.sha256
        key = ("map", self.door.tenant, source.id, source.begin, source.end)
        found: ActivityMap = await self._kept(key, stamp, lambda: self._map(source))
        return found

    async def _map(self, source: Source) -> ActivityMap:
        if source.log is not None:
            row = source.log if source.log.body else self.logs.get(source.log.id)
            cases = self.logs.cases(row, source.begin, source.end)
            return await asyncio.to_thread(lambda: activity_map(cases))
        collected = await self._cases_of_runs(source)
        return await asyncio.to_thread(lambda: activity_map(collected))

    async def _cases_of_runs(self, source: Source) -> list[Case]:
        """In slices: the store is read where the engine runs, and others have their turn in between."""
        assert source.row is not None, "runs are of a process"
        cases, count = list[Case](), 0
        most = Limits(self.door.settings).of(self.door.tenant)["event_log_events"]
        for case in cases_of_runs(self.door, source.row.name, source.begin, source.end):
            if case is None:
                await asyncio.sleep(0)
                continue
            cases.append(case)
            count += len(case.events)
            if count > most:
                raise EventLogTooLarge(limit=most, what="events", where=f"case {case.id}")
        return cases

    async def conformance(self, source: Source, definition: dict[str, Any], hash: str) -> Conformance:
        """Of these cases to a definition; `hash` tells it from others."""
        found = await self.map(source)
        variants = variants_of(found)
        key = ("fit", self.door.tenant, source.id, source.begin, source.end, hash)
        fits: Conformance = await self._kept(
            key, (found.cases, found.events, found.end),
            lambda: asyncio.to_thread(check_conformance, definition, variants),
        )  # fmt: skip
        return fits

    async def _kept(self, key: Hashable, stamp: Hashable, make: Callable[[], Any]) -> Any:
        kept = _kept_of(self.door)
        known = kept.get(key)
        if known is not None and known[0] == stamp:
            kept.move_to_end(key)
            return known[1]
        made = await make()
        kept[key] = (stamp, made)
        while len(kept) > _KEPT:
            kept.popitem(last=False)
        return made


def variants_of(found: ActivityMap) -> dict[tuple[str, ...], int]:
    return {variant.activities: variant.cases for variant in found.variants}


def definition_of(row: ReleaseRow) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.json.decode(row.document)
    return document


_Kept = OrderedDict[Hashable, tuple[Hashable, Any]]
_by_store: WeakKeyDictionary[Any, _Kept] = WeakKeyDictionary()


def _kept_of(door: Runs) -> _Kept:
    return _by_store.setdefault(door.store, OrderedDict())
