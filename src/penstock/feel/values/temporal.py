"""Dates, times, both together and the two kinds of durations, as plain data.

They are no classes of Python: a year may have nine digits and a sign, a second nine digits behind the point, and a zone
is a name. Years count as in ISO 8601: 0 is a year, and the calendar is Gregorian throughout.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from penstock.feel.evaluation import Fault

Zone = int | str | None  # seconds east of UTC, the name of a zone, or local time
SECOND = 1_000_000_000
DAY = 86_400 * SECOND
MOST_YEAR = 999_999_999
MOST_OFFSET = 14 * 3600
_MOST_NANOS = (2 * MOST_YEAR + 2) * 366 * DAY
_LONGEST = 80
_DATE = r"(?P<year>-?(?:[0-9]{4}|[1-9][0-9]{4,8}))-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
_TIME = (
    r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]+))?"
    r"(?P<zone>Z|[+-][0-9]{2}:[0-9]{2}(?::[0-9]{2})?|@[A-Za-z0-9_/+-]+)?"
)
_DATE_TEXT = re.compile(_DATE + r"\Z")
_TIME_TEXT = re.compile("T?" + _TIME + r"\Z")
_MOMENT_TEXT = re.compile(f"{_DATE}T{_TIME}\\Z")
_DAYS_TEXT = re.compile(
    r"(?P<sign>-)?P(?:(?P<days>[0-9]{1,16})D)?(?:T(?=[0-9])(?:(?P<hours>[0-9]{1,18})H)?(?:(?P<minutes>[0-9]{1,18})M)?"
    r"(?:(?P<seconds>[0-9]{1,18})(?:\.(?P<fraction>[0-9]*))?S)?)?\Z"
)
_MONTHS_TEXT = re.compile(r"(?P<sign>-)?P(?=[0-9])(?:(?P<years>[0-9]{1,12})Y)?(?:(?P<months>[0-9]{1,12})M)?\Z")
_MONTH_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class Date(NamedTuple):
    year: int
    month: int
    day: int


class Time(NamedTuple):
    """Nanoseconds since midnight, and the zone."""

    nanos: int
    zone: Zone = None


class DateTime(NamedTuple):
    """The local date, the local nanoseconds since midnight, and the zone they are of. `fold` is 1 in the hour that the
    end of summer time repeats, for the second time; the text does not say it."""

    date: Date
    nanos: int
    zone: Zone = None
    fold: int = 0


class DaysTime(NamedTuple):
    """A duration of days and time, in nanoseconds."""

    nanos: int


class YearsMonths(NamedTuple):
    """A duration of years and months, in months."""

    months: int


# ---- the calendar ----------------------------------------------------------------------------------------------------


def leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def month_days(year: int, month: int) -> int:
    return 28 if month == 2 and not leap(year) else _MONTH_DAYS[month - 1]


def day_number(date: Date) -> int:
    """Days since 1970-01-01."""
    year = date.year - (date.month <= 2)
    era, of_era = divmod(year, 400)
    day_of_year = (153 * (date.month + (-3 if date.month > 2 else 9)) + 2) // 5 + date.day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + day_of_year - 719_468


def date_of(number: int) -> Date:
    """The date so many days after 1970-01-01."""
    era, of_era = divmod(number + 719_468, 146_097)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    day_of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * month + 2) // 5 + 1
    month += 3 if month < 10 else -9
    return make_date(year + era * 400 + (month <= 2), month, day)


def make_date(year: int, month: int, day: int) -> Date:
    if not -MOST_YEAR <= year <= MOST_YEAR:
        raise Fault(f"The year lies outside {-MOST_YEAR} to {MOST_YEAR}")
    if not 1 <= month <= 12 or not 1 <= day <= month_days(year, month):
        raise Fault(f"There is no day {day} of month {month} in the year {year}")
    return Date(year, month, day)


def make_time(hour: int, minute: int, nanos: int, zone: Zone = None) -> Time:
    """`nanos` are those of the second."""
    if not (0 <= hour <= 23 and 0 <= minute <= 59 and 0 <= nanos < 60 * SECOND):
        raise Fault(f"There is no time {hour}:{minute}:{nanos // SECOND}")
    return Time((hour * 3600 + minute * 60) * SECOND + nanos, zone)


def days_time(nanos: int) -> DaysTime:
    if abs(nanos) > _MOST_NANOS:
        raise Fault("The duration is too long")
    return DaysTime(nanos)


def years_months(months: int) -> YearsMonths:
    if abs(months) > 24 * (MOST_YEAR + 1):
        raise Fault("The duration is too long")
    return YearsMonths(months)


def weekday(date: Date) -> int:
    """1 is Monday, 7 is Sunday."""
    return (day_number(date) + 3) % 7 + 1


def day_of_year(date: Date) -> int:
    return day_number(date) - day_number(Date(date.year, 1, 1)) + 1


def week_of_year(date: Date) -> int:
    """ISO 8601: week 1 has the year's first Thursday."""
    thursday = date_of(day_number(date) + 4 - weekday(date))
    return (day_of_year(thursday) - 1) // 7 + 1


# ---- zones -----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _zone_info(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def known_zone(name: str) -> str:
    if _zone_info(name) is None:
        raise Fault(f"«{name}» is no known time zone")
    return name


def offset_of(moment: DateTime) -> int | None:
    """Seconds east of UTC; None for a local time."""
    zone = moment.zone
    if not isinstance(zone, str):
        return zone
    info = _zone_info(zone)
    if info is None:
        return None
    date = moment.date
    year = date.year if 2 <= date.year <= 9998 else 2000 + date.year % 400
    seconds = moment.nanos // SECOND
    clock = seconds // 3600, seconds // 60 % 60, seconds % 60
    offset = datetime(year, date.month, date.day, *clock, tzinfo=info, fold=moment.fold).utcoffset()
    return None if offset is None else round(offset.total_seconds())


def time_offset(time: Time) -> int | None:
    """The offset of a time alone: for a zone by name, that of the first of January 1970."""
    return offset_of(DateTime(Date(1970, 1, 1), time.nanos, time.zone))


def local_nanos(moment: DateTime) -> int:
    return day_number(moment.date) * DAY + moment.nanos


def instant(moment: DateTime) -> int:
    """Nanoseconds since 1970 in UTC, of a moment with a zone."""
    return local_nanos(moment) - (offset_of(moment) or 0) * SECOND


def at_instant(nanos: int, zone: Zone) -> DateTime:
    """The moment in a zone."""
    if not isinstance(zone, str):
        return _from_local(nanos + (zone or 0) * SECOND, zone)
    info = _zone_info(zone)
    date = date_of(nanos // DAY)
    year = date.year if 2 <= date.year <= 9998 else 2000 + date.year % 400
    naive = datetime(year, date.month, date.day) + timedelta(seconds=nanos % DAY // SECOND)  # noqa: DTZ001
    local = info.fromutc(naive.replace(tzinfo=info)) if info else naive
    offset = local.utcoffset()
    return _from_local(nanos + (round(offset.total_seconds()) if offset else 0) * SECOND, zone, local.fold)


def _from_local(nanos: int, zone: Zone, fold: int = 0) -> DateTime:
    days, rest = divmod(nanos, DAY)
    return DateTime(date_of(days), rest, zone, fold)


# ---- reading ---------------------------------------------------------------------------------------------------------


def read_date(text: str) -> Date | None:
    match = _DATE_TEXT.match(text) if len(text) <= _LONGEST else None
    return _date(match) if match else None


def read_time(text: str) -> Time | None:
    match = _TIME_TEXT.match(text) if len(text) <= _LONGEST else None
    return _time(match)[0] if match else None


def read_moment(text: str) -> DateTime | None:
    match = _MOMENT_TEXT.match(text) if len(text) <= _LONGEST else None
    if match is None:
        return None
    date, (time, late) = _date(match), _time(match)
    return DateTime(date_of(day_number(date) + 1) if late else date, time.nanos, time.zone)


def read_duration(text: str) -> DaysTime | YearsMonths | None:
    if len(text) > _LONGEST:
        return None
    if match := _MONTHS_TEXT.match(text):
        months = int(match["years"] or 0) * 12 + int(match["months"] or 0)
        return years_months(-months if match["sign"] else months)
    match = _DAYS_TEXT.match(text)
    if match is None or not any(match[part] for part in ("days", "hours", "minutes", "seconds")):
        return None
    days, hours, minutes, seconds = (int(match[part] or 0) for part in ("days", "hours", "minutes", "seconds"))
    nanos = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * SECOND + _fraction(match["fraction"])
    return days_time(-nanos if match["sign"] else nanos)


def read_temporal(text: str) -> Date | Time | DateTime | DaysTime | YearsMonths | None:
    """Whatever of them the text is, as in `@"…"`; None for any other text."""
    return read_moment(text) or read_date(text) or read_time(text) or read_duration(text)


def _date(match: re.Match[str]) -> Date:
    return make_date(int(match["year"]), int(match["month"]), int(match["day"]))


def _time(match: re.Match[str]) -> tuple[Time, bool]:
    """The time, and whether it is the midnight at the day's end."""
    hour, minute, second = int(match["hour"]), int(match["minute"]), int(match["second"])
    nanos = _fraction(match["fraction"])
    late = (hour, minute, second, nanos) == (24, 0, 0, 0)
    return make_time(0 if late else hour, minute, second * SECOND + nanos, _zone(match["zone"])), late


def _fraction(digits: str | None) -> int:
    return int(digits[:9].ljust(9, "0")) if digits else 0


def _zone(text: str | None) -> Zone:
    if text is None:
        return None
    if text == "Z":
        return 0
    if text.startswith("@"):
        return known_zone(text[1:])
    parts = [int(part) for part in text[1:].split(":")]
    offset = parts[0] * 3600 + parts[1] * 60 + (parts[2] if len(parts) > 2 else 0)
    if max(parts[1:]) > 59 or offset > MOST_OFFSET:
        raise Fault(f"«{text}» is no offset of a time zone")
    return -offset if text[0] == "-" else offset


# ---- writing ---------------------------------------------------------------------------------------------------------


def text_of(value: Any) -> str:
    """The text that is read as the same value again."""
    return str(_TEXTS[type(value)](value))


def _date_text(date: Date) -> str:
    year = f"{abs(date.year):04}"
    return f"{'-' if date.year < 0 else ''}{year}-{date.month:02}-{date.day:02}"


def _time_text(time: Time) -> str:
    seconds, fraction = divmod(time.nanos, SECOND)
    text = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{_fraction_text(fraction)}"
    return text + _zone_text(time.zone)


def _fraction_text(nanos: int) -> str:
    return f".{nanos:09}".rstrip("0") if nanos else ""


def _zone_text(zone: Zone) -> str:
    if zone is None:
        return ""
    if isinstance(zone, str):
        return f"@{zone}"
    if zone == 0:
        return "Z"
    seconds = abs(zone)
    text = f"{'-' if zone < 0 else '+'}{seconds // 3600:02}:{seconds // 60 % 60:02}"
    return text + (f":{seconds % 60:02}" if seconds % 60 else "")


def _moment_text(moment: DateTime) -> str:
    return f"{_date_text(moment.date)}T{_time_text(Time(moment.nanos, moment.zone))}"


def _days_text(span: DaysTime) -> str:
    seconds, fraction = divmod(abs(span.nanos), SECOND)
    days, seconds = divmod(seconds, 86_400)
    hours, minutes, seconds = seconds // 3600, seconds // 60 % 60, seconds % 60
    clock = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    clock += f"{seconds}{_fraction_text(fraction)}S" if seconds or fraction else ""
    if not days and not clock:
        return "PT0S"
    return f"{'-' if span.nanos < 0 else ''}P{f'{days}D' if days else ''}{f'T{clock}' if clock else ''}"


def _months_text(span: YearsMonths) -> str:
    years, months = divmod(abs(span.months), 12)
    shown = (f"{years}Y" if years else "") + (f"{months}M" if months or not years else "")
    return f"{'-' if span.months < 0 else ''}P{shown}"


_TEXTS: dict[type, Any] = {
    Date: _date_text, Time: _time_text, DateTime: _moment_text, DaysTime: _days_text, YearsMonths: _months_text,
}  # fmt: skip
