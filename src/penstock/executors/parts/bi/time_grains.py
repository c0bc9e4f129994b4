"""Time buckets in SQL that every database understands: whole numbers, shifted by the offsets of a time zone.

Times are milliseconds since 1970. A zone with summer time becomes a CASE over its changes, worked out here, because no
two databases agree on how a zone is asked for. A bucket's key is the local time at which it begins; of a month it is
the number of the month since year 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

import msgspec

from penstock.executors.parts.bi.settings import BadAnalysis, Period

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LENGTH = {"minute": MINUTE, "hour": HOUR, "day": DAY}
#: Years whose changes of the clock are looked for where no time range says which.
_FIRST_YEAR, _LAST_YEAR = 2000, 2050


class Shift(msgspec.Struct, frozen=True):
    """A part of the working day; it lasts until the next one begins."""

    name: str
    start: int  # milliseconds after midnight


DEFAULT_SHIFTS = (Shift("day", 6 * HOUR), Shift("evening", 14 * HOUR), Shift("night", 22 * HOUR))


def read_shifts(given: Any) -> tuple[Shift, ...]:
    """The tenant's shifts, `[{name, start: "06:00"}]`, in the order of the day; three of eight hours by default."""
    if not given:
        return DEFAULT_SHIFTS
    hint = 'Write "bi": {"shifts": [{"name": "day", "start": "06:00"}, …]} into the tenant\'s configuration.'
    shifts = []
    for item in given if isinstance(given, list | tuple) else (None,):
        name, start = (item.get("name"), item.get("start")) if isinstance(item, Mapping) else (None, None)
        hours, colon, minutes = str(start).partition(":")
        digits = hours.isascii() and minutes.isascii() and hours.isdigit() and minutes.isdigit()
        if not isinstance(name, str) or not colon or not digits or int(hours) > 23 or int(minutes) > 59:
            message = "The tenant's shifts cannot be read: each needs a name and a start."
            raise BadAnalysis(message, "/analysis/time_grain", hint, "CONFIG_INVALID")
        shifts.append(Shift(name, int(hours) * HOUR + int(minutes) * MINUTE))
    return tuple(sorted(shifts, key=lambda shift: shift.start))


class Offsets:
    """The offsets of a zone from UTC within a time range, in milliseconds."""

    def __init__(self, zone: tzinfo, range: Period) -> None:
        self.zone = zone
        first = range.start if range.start is not None else _millis(datetime(_FIRST_YEAR, 1, 1, tzinfo=UTC))
        last = range.end if range.end is not None else _millis(datetime(_LAST_YEAR, 1, 1, tzinfo=UTC))
        self.changes = _changes(zone, first - 2 * DAY, last + 2 * DAY)  # (from, offset) in the order of time

    def added(self, utc: str) -> str:
        """Local time as an expression over a column that holds UTC."""
        return f"{utc} + {self._case(utc, [at for at, _ in self.changes])}"

    def taken(self, local: str) -> str:
        """UTC as an expression over a column that holds local time; an hour that comes twice is the later one."""
        return f"{local} - {self._case(local, [at + offset for at, offset in self.changes])}"

    def _case(self, column: str, starts: list[int]) -> str:
        offsets = [offset for _, offset in self.changes]
        if len(offsets) == 1:
            return f"({offsets[0]})"
        whens = "".join(
            f" WHEN {column} < {start} THEN {offset}" for start, offset in zip(starts[1:], offsets, strict=False)
        )
        return f"(CASE{whens} ELSE {offsets[-1]} END)"


def _changes(zone: tzinfo, first: int, last: int) -> list[tuple[int, int]]:
    """When the offset of a zone changes, by days and then by halving."""
    changes = [(first, _offset(zone, first))]
    at = first
    while at < last:
        ahead = min(at + 7 * DAY, last)
        if _offset(zone, ahead) != _offset(zone, at):
            low, high = at, ahead
            while high - low > 1000:
                middle = (low + high) // 2
                low, high = (middle, high) if _offset(zone, middle) == _offset(zone, at) else (low, middle)
            changes.append((round(high / 1000) * 1000, _offset(zone, ahead)))
        at = ahead
    return changes


def _offset(zone: tzinfo, at: int) -> int:
    offset = (_EPOCH + timedelta(milliseconds=at)).astimezone(zone).utcoffset() or timedelta()
    return offset // timedelta(milliseconds=1)


def _millis(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def bucket_sql(grain: str, local: str, shifts: tuple[Shift, ...], month: Callable[[str], str]) -> str:
    """The key of the bucket that a local time falls into."""
    if grain == "month":
        return month(local)
    if grain == "week":  # 1970 began on a Thursday, and a week begins on Monday
        return f"{local} - {_modulo(f'({local} + {3 * DAY})', 7 * DAY)}"
    if grain == "shift":
        return _shift_sql(local, shifts)
    return f"{local} - {_modulo(local, _LENGTH[grain])}"


def _shift_sql(local: str, shifts: tuple[Shift, ...]) -> str:
    """A working day begins with its first shift; what is before belongs to the last shift of the day before."""
    first = shifts[0].start
    within = _modulo(f"({local} - {first})", DAY)
    starts = [shift.start - first for shift in shifts]
    whens = "".join(f" WHEN {within} < {after} THEN {start}" for start, after in zip(starts, starts[1:], strict=False))
    case = f"CASE{whens} ELSE {starts[-1]} END" if whens else "0"
    return f"{local} - {within} + ({case})"


def _modulo(value: str, length: int) -> str:
    """Never negative, also before 1970."""
    return f"(({value} % {length} + {length}) % {length})"


def label_of(key: int, grain: str, shifts: tuple[Shift, ...]) -> str:
    """A bucket as people read it: 2026-11, 2026-11-15, 2026-11-15T09:30, 2026-11-15 night."""
    if grain == "month":
        return f"{key // 12:04d}-{key % 12 + 1:02d}"
    begins = (_EPOCH + timedelta(milliseconds=key)).strftime("%Y-%m-%dT%H:%M")
    if grain == "shift":
        name = next((shift.name for shift in shifts if shift.start == key % DAY), begins[11:])
        return f"{begins[:10]} {name}"
    return begins[:10] if grain in ("day", "week") else begins
