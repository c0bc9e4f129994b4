"""Schedules as people manage them: list, pause, resume and fire by hand. The host fires those that are due."""

from __future__ import annotations

from itertools import islice

import msgspec

from penstock.app.access.candidates import Who
from penstock.app.access.starters import check_may_start
from penstock.app.releases.start_release import begin
from penstock.app.runs.runs import Runs
from penstock.errors import BadInput, ReleaseNotFound, ScheduleNotFound
from penstock.host.clock import Clock
from penstock.host.schedules import key_of, keys_of, next_time, times_between, trigger_of
from penstock.store.schedules import ScheduleRow

#: So many times are filled in at once.
MOST = 1000


class FiredSchedule(msgspec.Struct, frozen=True):
    """A time of a schedule, and the runs that it has: one for each of its inputs."""

    at: int
    runs: list[str]


class TenantSchedules:
    """The schedules of one tenant."""

    def __init__(self, door: Runs, clock: Clock | None = None) -> None:
        self.door, self.clock = door, clock or door

    def each(self) -> list[ScheduleRow]:
        return self.door.store.schedules(self.door.tenant)

    def get(self, name: str) -> ScheduleRow:
        schedule = next((row for row in self.each() if row.name == name), None)
        if schedule is None:
            raise ScheduleNotFound(name=name)
        return schedule

    def pause(self, name: str) -> ScheduleRow:
        """Stop a schedule from firing until it is resumed; runs that have begun go on."""
        self.door.store.pause_schedule(self.door.tenant, self.get(name).name, True, None)
        return self.get(name)

    def resume(self, name: str) -> ScheduleRow:
        """Let a schedule fire again from now on; times that passed while it was paused are not made up for."""
        row = self.get(name)
        if row.paused:
            following = next_time(row, self.clock.now())
            if following is None:  # its last time went by
                self.door.store.schedule_fired(row, None, None)
            self.door.store.pause_schedule(row.tenant, row.name, False, following)
        return self.get(name)

    async def fire(self, name: str, *, key: str | None = None, by: Who | None = None) -> FiredSchedule:
        """Fire a schedule once, now, even while it is paused. The same key again is the same fire. Raises StarterDenied
        where somebody does it who may not start it by hand."""
        row = self.get(name)
        self._check_may_start(row, by)
        return await self._start(row, self.clock.now(), key)

    async def backfill(self, name: str, first: int, last: int, *, by: Who | None = None) -> list[FiredSchedule]:
        """Fire every time between two moments, both included, oldest first. A time that has been fired is not fired
        again: its runs are returned."""
        row = self.get(name)
        self._check_may_start(row, by)
        if last < first:
            raise BadInput(what="the times", why="the second one is before the first")
        times = list(islice(times_between(row, first, last), MOST + 1))
        if len(times) > MOST:
            raise BadInput(what="the times", why=f"there are more than {MOST} between them")
        return [await self._start(row, at) for at in times]

    def _check_may_start(self, row: ScheduleRow, by: Who | None) -> None:
        release = self.door.store.release(row.tenant, row.name, row.version)
        if release is not None:
            check_may_start(self.door, self.door.net_of(self.door.hash_of(release.net)).net, by)

    async def _start(self, row: ScheduleRow, at: int, once: str | None = None) -> FiredSchedule:
        release = self.door.store.release(row.tenant, row.name, row.version)
        if release is None:
            raise ReleaseNotFound(name=row.name, version=row.version)
        runs = []
        for index, given in enumerate(msgspec.msgpack.decode(row.inputs)):
            key = key_of(row.name, row.version, at, index) if once is None else f"{keys_of(row.name)}{once}:{index}"
            known = self.door.store.run_by_key(row.tenant, key)
            trigger = trigger_of(row, at, index)
            runs.append(known.id if known else await begin(self.door, release, given, key=key, trigger=trigger))
        return FiredSchedule(at, runs)
