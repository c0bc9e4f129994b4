"""Repeating intervals of ISO 8601 as schedules: R3/2026-11-15T09:00:00Z/PT10M, R/PT1H, P1M. It never asks a clock."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo

import msgspec

from penstock.expr.calendar import BadDate, moment_of

#: nothing starts more often
SHORTEST_MS = 1000
_SPAN = re.compile(
    r"P(?:(?P<years>\d{1,4})Y)?(?:(?P<months>\d{1,6})M)?(?:(?P<weeks>\d{1,6})W)?(?:(?P<days>\d{1,7})D)?"
    r"(?:T(?=\d)(?:(?P<hours>\d{1,9})H)?(?:(?P<minutes>\d{1,9})M)?(?:(?P<seconds>\d{1,10}(?:\.\d{1,9})?)S)?)?\Z"
)
_REPEAT = re.compile(r"R(?P<times>-1|\d{0,9})/(?:(?P<first>\d[^/]*)/)?(?P<each>P[^/]+)\Z")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)
_DAY_MS = 86_400_000
_SLACK_MS = 2 * _DAY_MS  # days are shorter and longer where clocks are put forward and back


class IsoDuration(msgspec.Struct, frozen=True):
    """Months and days are those of a calendar: a day later is the same time of day, in whatever zone."""

    months: int
    days: int
    ms: int

    @property
    def most_ms(self) -> int:
        return (self.months * 31 + self.days) * _DAY_MS + self.ms

    def after(self, first: int, times: int, zone: tzinfo) -> int:
        """The moment so many spans after another. OverflowError from the year 9999 on."""
        local = (_EPOCH + first * _MS).astimezone(zone)
        if self.months or self.days:
            at, months = local.replace(tzinfo=None, fold=0), local.month - 1 + self.months * times
            year, month = local.year + months // 12, months % 12 + 1
            if year >= 9999:
                raise OverflowError
            last = datetime(year + month // 12, month % 12 + 1, 1) - timedelta(days=1)  # noqa: DTZ001 (a day, no time)
            day = min(local.day, last.day)
            at = at.replace(year=year, month=month, day=day) + timedelta(days=self.days * times)
            local = at.replace(tzinfo=zone)
        return (local.astimezone(UTC) - _EPOCH) // _MS + self.ms * times


class IsoRepeat(msgspec.Struct, frozen=True):
    """`times` is 0 when there is no end; without a `first` it begins one span after it was put in force."""

    times: int
    first: str | None
    each: IsoDuration


def iso_duration(text: str) -> IsoDuration | None:
    """None when it is no duration, or none that takes time."""
    match = _SPAN.match(text)
    if match is None:
        return None
    held = {name: float(value or 0) for name, value in match.groupdict().items()}
    ms = round((held["hours"] * 3600 + held["minutes"] * 60 + held["seconds"]) * 1000)
    months, days = held["years"] * 12 + held["months"], held["weeks"] * 7 + held["days"]
    span = IsoDuration(int(months), int(days), ms)
    return span if span.most_ms >= 1 else None


def iso_repeat(text: str) -> IsoRepeat | None:
    match = _REPEAT.match(text)
    each = iso_duration(match["each"]) if match is not None else None
    if match is None or each is None or each.most_ms < SHORTEST_MS or match["times"].strip("0") == "" != match["times"]:
        return None
    return IsoRepeat(max(0, int(match["times"] or 0)), match["first"], each)


def once(at: int) -> str:
    """How a moment is written as a schedule."""
    return (_EPOCH + at * _MS).strftime("%Y-%m-%dT%H:%M:%S.") + f"{at % 1000:03d}Z"


def anchored(repeat: IsoRepeat, first: int, each: str) -> str:
    return f"R{repeat.times or ''}/{once(first)}/{each}"


def recognise(text: str) -> bool:
    """Is it a moment or a repeating interval, and not cron?"""
    return text[:1] == "R" or text[4:5] == "-" and text[:4].isdecimal()


def moment_ms(text: str, zone: tzinfo) -> int:
    """Raises BadDate; a text without an offset is a time of the zone."""
    return (moment_of(text, zone).astimezone(UTC) - _EPOCH) // _MS


def times(text: str, zone: tzinfo, after: int) -> Iterator[int]:
    """The moments after one, in milliseconds since 1970."""
    repeat = iso_repeat(text)
    if repeat is None or repeat.first is None:
        at = _known(text, zone)
        yield from [at] if at is not None and at > after else []
        return
    first = _known(repeat.first, zone)
    if first is None:
        return
    n = max(0, _past(repeat.each, after - first))
    while not repeat.times or n < repeat.times:
        try:
            at = repeat.each.after(first, n, zone)
        except (OverflowError, ValueError):
            return
        if at > after:
            yield at
        n += 1


def _past(each: IsoDuration, gone: int) -> int:
    """How many spans have gone by, or a few less."""
    if not (each.months or each.days):
        return gone // each.ms
    return (gone - _SLACK_MS) // each.most_ms


def _known(text: str, zone: tzinfo) -> int | None:
    try:
        return moment_ms(text, zone)
    except BadDate:
        return None
