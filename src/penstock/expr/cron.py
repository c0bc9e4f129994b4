"""Schedules as data: what is wrong with one, and the times at which it fires (W-3.2.1). It never asks a clock."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

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
    found = zone_of(zone)
    if found is None:
        raise ValueError(f"there is no time zone {zone}")
    start = (_EPOCH + timedelta(milliseconds=after_ms)).astimezone(found)
    for moment in CronSim(_WORDS.get(cron, cron), start):
        yield (moment.astimezone(UTC) - _EPOCH) // timedelta(milliseconds=1)
