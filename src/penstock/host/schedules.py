"""Schedules: fire what is due by the clock (C-31). Every fire has a key, so two schedulers cannot start it twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Protocol

import msgspec

from penstock.errors import InputInvalid, PenstockError
from penstock.expr.cron import fire_times
from penstock.host.starter import Starter
from penstock.store.releases import ReleaseStore
from penstock.store.run_lists import RunListStore
from penstock.store.schedules import ScheduleRow, ScheduleStore

#: How late a fire may be that is not a missed one yet.
GRACE_MS = 60_000
AT_ONCE = 100  # missed times that are caught up with in one round
_AGAIN_MS = 1000  # a fire that is queued looks again so often
_MINUTE = 60_000
_SPANS = tuple(_MINUTE * n for n in (60, 60 * 24, 60 * 24 * 32, 60 * 24 * 370, 60 * 24 * 3000))
_unpack = msgspec.msgpack.decode
Warn = Callable[[str, str, str, dict[str, Any]], list[str]]


def key_of(name: str, version: int, at: int, index: int) -> str:
    """C-31: a fire is unique by workflow, version, time and input."""
    return f"{keys_of(name)}{version}:{at}:{index}"


def keys_of(name: str) -> str:
    """How the keys of all runs of a schedule begin."""
    return f"schedule:{name}:"


def trigger_of(row: ScheduleRow, at: int, index: int) -> dict[str, Any]:
    """What a run that a schedule has started sees as sys.trigger."""
    return {"type": "schedule", "cron": row.cron, "timezone": row.zone, "at": at, "index": index}


def next_time(row: ScheduleRow, after: int) -> int | None:
    return next(fire_times(row.cron, row.zone, after), None)


def times_between(row: ScheduleRow, first: int, last: int) -> Iterator[int]:
    """Every time from one to another, both included."""
    for at in fire_times(row.cron, row.zone, first - 1):
        if at > last:
            return
        yield at


def last_time(row: ScheduleRow, first: int, last: int) -> int | None:
    return last_time_of(row.cron, row.zone, first, last)


def last_time_of(cron: str, zone: str, first: int, last: int) -> int | None:
    """The last one between them; it is looked for from the end, so that a long absence costs nothing."""
    for span in _SPANS:
        latest = None
        for at in fire_times(cron, zone, max(first, last - span) - 1):
            if at > last:
                break
            latest = at
        if latest is not None or last - span <= first:
            return latest
    return None


class SchedulerStore(ReleaseStore, RunListStore, ScheduleStore, Protocol):
    """What firing schedules needs of a store."""


class _Fire:
    """A schedule that fires: runs that must still be heard of, and how it stands afterwards."""

    def __init__(self, row: ScheduleRow, last_at: int | None, next_at: int | None) -> None:
        self.row, self.last_at, self.next_at = row, last_at, next_at
        self.left = 1


class Schedules:
    """`on=False` fires nothing: a host that drives only what it is asked for."""

    def __init__(self, store: SchedulerStore, starter: Starter, warn: Warn, *, on: bool = True) -> None:
        self.store, self.starter, self.warn, self.on = store, starter, warn, on
        self.at: int | None = 0 if on else None  # when the next one is due, as far as is known; 0: look
        self.going: dict[tuple[str, str], _Fire] = {}
        self.done: list[_Fire] = []

    def look(self, now: int) -> None:
        """Somebody may have registered, paused or resumed one."""
        if self.on and (self.at is None or self.at > now):
            self.at = self.store.next_schedule()

    def fire_due(self, now: int) -> None:
        if self.done:
            self._close()
        if self.at is None or now < self.at:
            return
        queued = False
        for row in self.store.schedules_due(now):
            if (row.tenant, row.name) not in self.going:
                queued = not self._fire(row, now) or queued
        if self.done:  # what has started nothing
            self._close()
            return
        later = [now + _AGAIN_MS] if queued else []
        following = self.store.next_schedule(now)
        self.at = min([*later, *([] if following is None else [following])], default=None)

    def _close(self) -> None:
        done, self.done = self.done, []
        while done:
            fire = done[-1]
            try:
                self.store.schedule_fired(fire.row, fire.last_at, fire.next_at)
            except PenstockError:
                self.done += done
                raise
            done.pop()
            del self.going[fire.row.tenant, fire.row.name]
        self.at = 0

    def _fire(self, row: ScheduleRow, now: int) -> bool:
        """False when it must wait for a run that goes on, or for room."""
        if self.starter.start_limits.full(row.tenant):
            return False
        times, following = _due(row, now)
        if times and row.overlap != "allow":
            open_runs = self.store.open_keyed(row.tenant, keys_of(row.name))
            if open_runs and row.overlap == "queue":
                return False
            times = times[:0] if open_runs else times
        fire = self.going[row.tenant, row.name] = _Fire(row, times[-1] if times else None, following)
        for at in times:
            for index, given in enumerate(_unpack(row.inputs)):
                self._begin(fire, at, index, given)
        self._heard(fire)
        return True

    def _begin(self, fire: _Fire, at: int, index: int, given: Any) -> None:
        row = fire.row
        release = self.store.release(row.tenant, row.name, row.version)
        if release is None:
            return
        key = key_of(row.name, row.version, at, index)
        fire.left += 1
        try:
            trigger = trigger_of(row, at, index)
            self.starter.begin(row.tenant, release.net, given, key, trigger, lambda run, error: self._heard(fire))
        except InputInvalid as wrong:
            self._heard(fire)
            text = f"{row.name} v{row.version} was not started by its schedule: {wrong}"
            self.warn(row.tenant, f"{key}:refused", text, {"schedule": row.name, "index": index})

    def _heard(self, fire: _Fire) -> None:
        fire.left -= 1
        if not fire.left:
            self.done.append(fire)


def _due(row: ScheduleRow, now: int) -> tuple[list[int], int | None]:
    """The times to fire now, and when it is due next. Missed ones are one, all, or none; where runs must not overlap
    there is one at a time."""
    first = row.next_at
    assert first is not None
    if row.catch_up == "all":
        most = AT_ONCE if row.overlap == "allow" else 1
        times = [first, *islice(times_between(row, first + 1, now), most - 1)]
        return times, next_time(row, times[-1])
    last = last_time(row, first + 1, now) or first
    missed = row.catch_up == "none" and now - last > GRACE_MS
    return ([] if missed else [last]), next_time(row, now)
