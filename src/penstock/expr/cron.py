"""Schedules as data: what is wrong with one, and the times at which it fires (W-3.2.1). It never asks a clock.

A schedule is five fields of cron, six with seconds first, a word such as @daily, a moment, or a repeating interval of
ISO 8601 with its beginning."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from penstock.expr import iso_repeats as repeats

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WORDS = {
    "@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *",
}  # fmt: skip
#: What a schedule does when its last run still goes on, and when times were missed.
OVERLAPS = ("allow", "skip", "queue")
CATCH_UPS = ("one", "all", "none")
_ZONE = re.compile(r"[A-Za-z0-9_+\-]+(/[A-Za-z0-9_+\-]+)*\Z")


def cron_problem(text: str) -> str | None:
    """Why a text is no schedule; None when it is one."""
    try:
        CronSim(_WORDS.get(text, text), _EPOCH)
    except (CronSimError, AssertionError, TypeError) as wrong:
        return str(wrong) or "it cannot be read"
    return None


def plain_cron(text: str) -> str:
    """Cron as modelers write it: `?` says nothing about a day, as `*` does."""
    fields = text.split()
    if len(fields) in (5, 6):
        fields = ["*" if field == "?" and at in (len(fields) - 3, len(fields) - 1) else field
                  for at, field in enumerate(fields)]  # fmt: skip
    return " ".join(fields)


def seconds_problem(text: str) -> str | None:
    """What six fields may not say, for those who write them do not agree on it; None when there is nothing."""
    fields = text.split()
    if len(fields) == 7:
        return "it has seven fields, and there is no year here"
    if len(fields) == 6 and "*" not in (fields[3], fields[5]):
        return "it names a day of the month and a day of the week; say MON#1 for the first Monday"
    return None


def zone_of(name: str) -> ZoneInfo | None:
    """A zone of the IANA table; None when there is none of that name."""
    if not _ZONE.match(name):
        return None
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        return None


def fire_times(cron: str, zone: str, after_ms: int) -> Iterator[int]:
    """The times after one, in milliseconds since 1970. An hour that a zone leaves out fires once after it; an hour that
    comes twice fires once."""
    zone_info = zone_of(zone)
    if zone_info is None:
        raise ValueError(f"there is no time zone {zone}")
    if repeats.recognise(cron):
        yield from repeats.times(cron, zone_info, after_ms)
        return
    start = (_EPOCH + timedelta(milliseconds=after_ms)).astimezone(zone_info)
    for moment in CronSim(_WORDS.get(cron, cron), start):
        yield (moment.astimezone(UTC) - _EPOCH) // timedelta(milliseconds=1)
