"""Moments as event logs write them: ISO 8601, European and Korean dates, seconds and milliseconds since 1970.

A time without a zone beside times with one is refused: nothing says how far they are apart, and a map whose waits are
wrong by the offset of a zone looks like any other. Where no time has a zone, all are read as UTC, or as the zone that
whoever gives the log names.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from penstock.errors import BadInput

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_WITHOUT_ZONE = datetime(1970, 1, 1)  # noqa: DTZ001 - what has no zone is compared with what has none
_DAY_MS, _SECOND_MS = 86_400_000, 1000
_CLOCK = (
    r"(?:(?:\s*[T,]\s*|\s+)(?P<half>오전|오후|AM|PM)?\s*(?P<hour>\d{1,2})\s*[:시]\s*(?:(?P<minute>\d{1,2})\s*분?"
    r"(?:\s*:?\s*(?P<second>\d{1,2})(?:[.,](?P<part>\d{1,9}))?\s*초?)?)?\s*(?P<late_half>AM|PM|오전|오후)?)?"
    r"\s*(?P<zone>Z|UTC|GMT|KST|[+-]\d{2}:?\d{2})?\s*"
)
_YEAR_FIRST = re.compile(
    r"\s*(?P<year>\d{4})\s*[-./년]\s*(?P<month>\d{1,2})\s*[-./월]\s*(?P<day>\d{1,2})\s*[.일]?" + _CLOCK, re.I | re.ASCII
)
_YEAR_LAST = re.compile(
    r"\s*(?P<first>\d{1,2})(?P<mark>[-./])\s?(?P<second_number>\d{1,2})(?P=mark)\s?(?P<year>\d{4})" + _CLOCK,
    re.I | re.ASCII,
)
_FRACTION_OF_EPOCH = re.compile(r"(\d{9,10})\.(\d{1,9})", re.ASCII)
_ZONES = {"Z": 0, "UTC": 0, "GMT": 0, "KST": 540}
#: seconds, milliseconds, microseconds and nanoseconds since 1970, by the number of their digits
_EPOCH_DIGITS = {9: (1000, 1), 10: (1000, 1), 12: (1, 1), 13: (1, 1), 16: (1, 1000), 19: (1, 1_000_000)}


class ZonesMixed(Exception):
    """Said to the reader, who knows the place."""


def zone_named(name: str | None) -> tzinfo | None:
    """The zone that is meant where none is written."""
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise BadInput(what="«zone»", why=f"there is no time zone «{name}»", hint="Give one like Asia/Seoul.") from None


class LogTimes:
    """Reads the times of one log."""

    def __init__(self, zone: tzinfo | None = None, month_first: bool = False) -> None:
        self.zone, self.month_first = zone, month_first
        self.zoned = self.without_zone = False

    def read(self, text: str) -> int:
        """Milliseconds since 1970, what is finer is cut off. ValueError, or ZonesMixed."""
        if text.isdigit():
            return self._digits(text)
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            return self._other(text)
        return self._milliseconds(moment)

    def _milliseconds(self, moment: datetime) -> int:
        if moment.tzinfo is None:
            if self.zone is None:
                self.without_zone = True
                if self.zoned:
                    raise ZonesMixed
                since = moment - _EPOCH_WITHOUT_ZONE
                return since.days * _DAY_MS + since.seconds * _SECOND_MS + since.microseconds // 1000
            moment = moment.replace(tzinfo=self.zone)
        else:
            self._has_zone()
        since = moment - _EPOCH
        return since.days * _DAY_MS + since.seconds * _SECOND_MS + since.microseconds // 1000

    def _has_zone(self) -> None:
        self.zoned = True
        if self.without_zone:
            raise ZonesMixed

    def _digits(self, text: str) -> int:
        if not text.isascii():
            raise ValueError(text)
        if len(text) in (8, 14):
            return self._milliseconds(datetime.strptime(text.ljust(14, "0"), "%Y%m%d%H%M%S"))  # noqa: DTZ007
        factor, divisor = _EPOCH_DIGITS.get(len(text), (0, 0))
        if not factor:
            raise ValueError(text)
        self._has_zone()
        return int(text) * factor // divisor

    def _other(self, text: str) -> int:
        epoch = _FRACTION_OF_EPOCH.fullmatch(text)
        if epoch:
            self._has_zone()
            return int(epoch[1]) * 1000 + int(epoch[2].ljust(3, "0")[:3])
        match = _YEAR_FIRST.fullmatch(text)
        if match:
            return self._milliseconds(_moment(match, int(match["month"]), int(match["day"])))
        match = _YEAR_LAST.fullmatch(text)
        if match is None:
            raise ValueError(text)
        first, second = int(match["first"]), int(match["second_number"])
        month_first = self.month_first and match["mark"] == "/"
        return self._milliseconds(_moment(match, *((first, second) if month_first else (second, first))))


def written(at: int) -> str:
    """As XES and CSV have it, in UTC."""
    return (_EPOCH + timedelta(milliseconds=at)).isoformat(timespec="milliseconds")


def slash_order(text: str) -> bool | None:
    """Does a date with slashes say that its month is first? None: it does not say, or it is none."""
    match = _YEAR_LAST.fullmatch(text)
    if match is None or match["mark"] != "/":
        return None
    first, second = int(match["first"]), int(match["second_number"])
    return None if first <= 12 and second <= 12 else first <= 12


def is_slashed(text: str) -> bool:
    match = _YEAR_LAST.fullmatch(text)
    return match is not None and match["mark"] == "/"


def _moment(match: re.Match[str], month: int, day: int) -> datetime:
    hour = int(match["hour"] or 0)
    half = (match["half"] or match["late_half"] or "").upper()
    if half:
        if not 1 <= hour <= 12:
            raise ValueError(match[0])
        hour = hour % 12 + (12 if half in ("PM", "오후") else 0)
    microseconds = int((match["part"] or "0").ljust(6, "0")[:6])
    return datetime(
        int(match["year"]), month, day, hour, int(match["minute"] or 0), int(match["second"] or 0), microseconds,
        tzinfo=_offset(match["zone"]),
    )  # fmt: skip


def _offset(zone: str | None) -> tzinfo | None:
    if zone is None:
        return None
    named = _ZONES.get(zone.upper())
    if named is None:
        minutes = int(zone[1:3]) * 60 + int(zone[-2:])
        named = -minutes if zone[0] == "-" else minutes
    return timezone(timedelta(minutes=named))
