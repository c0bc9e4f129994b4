"""Temporal values: dates, times, both together, and the two kinds of durations. Reading, writing, arithmetic.

They are Python's own, but for durations of years and months. What Python's cannot hold (years outside 1 to 9999, more
than six digits of a second, zones by name) is refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

from penstock.executors.parts.rules.feel.numbers import (
    Number,
    calculate,
    compare_numbers,
    decimal_of,
    is_number,
    plain_number,
)
from penstock.executors.parts.rules.feel.refusal import NotSupported

_DATE = r"(?P<sign>-?)(?P<year>\d{4}|[1-9]\d{4,8})-(?P<month>\d\d)-(?P<day>\d\d)"
_TIME = (
    r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?:\.(?P<fraction>\d+))?"
    r"(?P<zone>Z|[+-]\d\d:\d\d(?::\d\d)?|@[\w/+-]+)?"
)
_DATE_TEXT = re.compile(_DATE + r"\Z", re.ASCII)
_TIME_TEXT = re.compile(_TIME + r"\Z", re.ASCII)
_MOMENT_TEXT = re.compile(f"{_DATE}T{_TIME}\\Z", re.ASCII)
_DAYS_TEXT = re.compile(
    r"(?P<sign>-)?P(?:(?P<days>\d{1,9})D)?(?:T(?=\d)(?:(?P<hours>\d{1,9})H)?(?:(?P<minutes>\d{1,9})M)?"
    r"(?:(?P<seconds>\d{1,12})(?:\.(?P<fraction>\d*))?S)?)?\Z",
    re.ASCII,
)
_MONTHS_TEXT = re.compile(r"(?P<sign>-)?P(?=\d)(?:(?P<years>\d{1,9})Y)?(?:(?P<months>\d{1,9})M)?\Z", re.ASCII)
_LOOSE_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d", re.ASCII)
_LOOSE_TIME = re.compile(r"\d\d:\d\d", re.ASCII)
_LONGEST = 60
_MOST_OFFSET = timedelta(hours=14)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Months:
    """A duration of years and months."""

    months: int


Temporal = date | datetime | time | timedelta | Months
TEMPORAL = (date, time, timedelta, Months)
TEMPORAL_TYPES = frozenset(
    {"date", "time", "date and time", "days and time duration", "years and months duration", "duration"}
)


# ---- reading ---------------------------------------------------------------------------------------------------------


def read(text: str) -> Temporal | None:
    """What a text is by the letter of the standard; null for any other text."""
    if len(text) > _LONGEST:
        return None
    try:
        if match := _MOMENT_TEXT.match(text):
            day, clock, late = _date(match), *_time(match)
            return None if clock is None else datetime.combine(day, clock) + (timedelta(1) if late else timedelta())
        if match := _DATE_TEXT.match(text):
            return _date(match)
        if match := _TIME_TEXT.match(text):
            return _time(match)[0]
        if match := _DAYS_TEXT.match(text):
            return _days(match)
        if match := _MONTHS_TEXT.match(text):
            months = int(match["years"] or 0) * 12 + int(match["months"] or 0)
            return Months(-months if match["sign"] else months)
    except (ValueError, OverflowError):
        pass
    return None


def read_data(text: str) -> Temporal | None:
    """What a text in somebody's data is: also without seconds, and with a blank for the T."""
    moment = read(text)
    if moment is not None or len(text) > _LONGEST:
        return moment
    try:
        if _LOOSE_MOMENT.match(text):
            return datetime.fromisoformat(text)
        if _LOOSE_TIME.match(text):
            return time.fromisoformat(text)
    except ValueError:
        pass
    return None


def _date(match: re.Match[str]) -> date:
    if match["sign"] or len(match["year"]) > 4 or match["year"] == "0000":
        date(2000, int(match["month"]), min(int(match["day"]), 29))
        raise NotSupported(f"«{match[0]}» lies outside the years 1 to 9999")
    return date(int(match["year"]), int(match["month"]), int(match["day"]))


def _time(match: re.Match[str]) -> tuple[time | None, bool]:
    """The time, and whether it is the midnight at the day's end."""
    hour, minute, second = int(match["hour"]), int(match["minute"]), int(match["second"])
    late = (hour, minute, second) == (24, 0, 0) and not (match["fraction"] or "").strip("0")
    clock = time(0 if late else hour, minute, second, _microseconds(match["fraction"], match[0]))
    zone = match["zone"]
    if zone is None:
        return clock, late
    if zone.startswith("@"):
        raise NotSupported(f"«{zone[1:]}»: time zones by name are not read; write an offset such as +09:00")
    offset = _offset(zone)
    return (None if offset is None else clock.replace(tzinfo=_zone(offset))), late


def _offset(text: str) -> timedelta | None:
    if text == "Z":
        return timedelta()
    parts = [int(part) for part in text[1:].split(":")]
    offset = timedelta(hours=parts[0], minutes=parts[1], seconds=parts[2] if len(parts) > 2 else 0)
    if max(parts[1:]) > 59 or offset > _MOST_OFFSET:
        return None
    return -offset if text[0] == "-" else offset


def _zone(offset: timedelta) -> timezone:
    return timezone(offset) if offset else UTC


def _microseconds(fraction: str | None, text: str) -> int:
    digits = (fraction or "").rstrip("0")
    if len(digits) > 6:
        raise NotSupported(f"«{text}» has more than six digits of a second")
    return int(digits.ljust(6, "0"))


def _days(match: re.Match[str]) -> timedelta | None:
    if not any(match[name] for name in ("days", "hours", "minutes", "seconds")):
        return None
    days, hours, minutes, seconds = (int(match[name] or 0) for name in ("days", "hours", "minutes", "seconds"))
    fraction = _microseconds(match["fraction"], match[0])
    span = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds, microseconds=fraction)
    return -span if match["sign"] else span


# ---- making, for the functions ---------------------------------------------------------------------------------------


def make_date(year: int, month: int, day: int) -> date | None:
    if not 1 <= year <= 9999:
        raise NotSupported(f"The year {year} lies outside the years 1 to 9999")
    try:
        return date(year, month, day)
    except ValueError:
        return None


def make_time(hour: int, minute: int, second: Number, offset: timedelta | None) -> time | None:
    exact = decimal_of(second)
    micro = (exact - int(exact)) * 1_000_000
    if micro != int(micro):
        raise NotSupported("A time has at most six digits of a second")
    if offset is not None and abs(offset) > _MOST_OFFSET:
        return None
    try:
        return time(hour, minute, int(exact), int(micro), None if offset is None else _zone(offset))
    except ValueError:
        return None


def midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day)  # noqa: DTZ001  a date has no zone


# ---- writing ---------------------------------------------------------------------------------------------------------


def text_of(moment: Temporal) -> str:
    """The shortest text that is read as the same again."""
    if isinstance(moment, Months):
        return _months_text(moment.months)
    if isinstance(moment, timedelta):
        return _span_text(moment)
    text = moment.isoformat()
    if isinstance(moment, datetime | time):
        if moment.microsecond:
            text = re.sub(r"(\.\d+?)0+(?=\D|\Z)", r"\1", text, count=1)
        if moment.tzinfo is UTC or text.endswith("+00:00"):
            text = text.removesuffix("+00:00") + "Z"
    return text


def _months_text(months: int) -> str:
    years, rest = divmod(abs(months), 12)
    shown = (f"{years}Y" if years else "") + (f"{rest}M" if rest or not years else "")
    return f"{'-' if months < 0 else ''}P{shown}"


def _span_text(span: timedelta) -> str:
    sign, span = ("-", -span) if span < timedelta() else ("", span)
    minutes, seconds = divmod(span.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f".{span.microseconds:06}".rstrip("0") if span.microseconds else ""
    clock = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    clock += f"{seconds}{fraction}S" if seconds or fraction else ""
    days = f"{span.days}D" if span.days or not clock else ""
    return f"{sign}P{days}{f'T{clock}' if clock else ''}"


# ---- comparing -------------------------------------------------------------------------------------------------------


def compare_temporal(left: Temporal, right: Temporal) -> int | None:
    """-1, 0 or 1 of two of one kind; null of two kinds, and where only one has a zone."""
    if isinstance(left, Months) and isinstance(right, Months):
        return compare_numbers(left.months, right.months)
    if kind_of(left) != kind_of(right) or _has_zone(left) != _has_zone(right):
        return None
    first, second = _aligned(left), _aligned(right)
    return int(first > second) - int(first < second)


def equal_temporal(left: Temporal, right: Temporal) -> bool | None:
    if kind_of(left) != kind_of(right):
        return None
    return compare_temporal(left, right) == 0


def beside(text: Temporal, moment: Temporal) -> tuple[Temporal, Temporal]:
    """A text of the data and the moment it stands beside, made comparable: a day is its midnight, and what has no zone
    is of UTC."""
    if isinstance(text, datetime) != isinstance(moment, datetime):
        text, moment = _as_moment(text), _as_moment(moment)
    if _has_zone(text) != _has_zone(moment):
        text, moment = _in_utc(text), _in_utc(moment)
    return text, moment


def _as_moment(value: Temporal) -> Temporal:
    return midnight(value) if isinstance(value, date) and not isinstance(value, datetime) else value


def _in_utc(value: Temporal) -> Temporal:
    return value.replace(tzinfo=UTC) if isinstance(value, datetime | time) and value.tzinfo is None else value


def _has_zone(value: Temporal) -> bool:
    return isinstance(value, datetime | time) and value.tzinfo is not None


def _aligned(value: Temporal) -> Any:
    """Times with a zone are compared as moments of one day: Python would take two of them apart by their offsets."""
    return datetime.combine(date(2000, 1, 2), value) if isinstance(value, time) else value


def kind_of(value: Temporal) -> str:
    for kind, name in _KINDS:
        if isinstance(value, kind):
            return name
    raise AssertionError(f"{value!r} is no moment")


_KINDS: tuple[tuple[type, str], ...] = (
    (datetime, "date and time"),
    (date, "date"),
    (time, "time"),
    (timedelta, "days and time duration"),
    (Months, "years and months duration"),
)


# ---- arithmetic ------------------------------------------------------------------------------------------------------


def arithmetic(symbol: str, left: Any, right: Any) -> Any:
    """What comes of two values, one of which is a moment or a duration; null where the standard has no result."""
    try:
        if symbol == "*" and is_number(left):
            left, right = right, left
        if symbol in ("*", "/") and isinstance(left, timedelta | Months):
            return _scaled(symbol, left, right)
        if symbol == "+":
            return _moved(right, left, 1) if isinstance(left, timedelta | Months) else _moved(left, right, 1)
        if symbol == "-":
            return _moved(left, right, -1) if isinstance(right, timedelta | Months) else _distance(left, right)
    except OverflowError:
        raise NotSupported("The result lies outside the years 1 to 9999") from None
    return None


def _moved(value: Any, span: Any, sign: int) -> Any:
    if isinstance(span, Months):
        if isinstance(value, Months):
            return Months(value.months + sign * span.months)
        return _by_months(value, sign * span.months) if isinstance(value, date) else None
    if not isinstance(span, timedelta):
        return None
    if isinstance(value, datetime | timedelta):
        return value + sign * span
    if isinstance(value, date):  # from its midnight: an hour before is the day before
        return (midnight(value) + sign * span).date()
    if isinstance(value, time):
        return (datetime.combine(date(2000, 1, 2), value) + timedelta(seconds=(sign * span).seconds)
                + timedelta(microseconds=(sign * span).microseconds)).timetz()  # fmt: skip
    return None


def _by_months(value: date, months: int) -> date:
    years, month = divmod(value.year * 12 + value.month - 1 + months, 12)
    if not 1 <= years <= 9999:
        raise OverflowError
    last = (
        (date(years + (month == 11), (month + 1) % 12 + 1, 1) - timedelta(1)).day
        if (years, month) != (9999, 11)
        else 31
    )
    return value.replace(year=years, month=month + 1, day=min(value.day, last))


def _distance(left: Any, right: Any) -> Any:
    if isinstance(left, time) and isinstance(right, time):
        return _aligned(left) - _aligned(right) if _has_zone(left) == _has_zone(right) else None
    if not isinstance(left, date) or not isinstance(right, date):
        return None
    first, second = (_as_moment(left), _as_moment(right)) if type(left) is not type(right) else (left, right)
    if type(left) is not type(
        right
    ):  # a date beside a moment is midnight of UTC, so a moment without zone has no distance
        first = first.replace(tzinfo=UTC) if type(left) is date else first  # type: ignore[call-arg, union-attr]
        second = second.replace(tzinfo=UTC) if type(right) is date else second  # type: ignore[call-arg, union-attr]
    return first - second if _has_zone(first) == _has_zone(second) else None  # type: ignore[operator]


def _scaled(symbol: str, span: timedelta | Months, by: Any) -> Any:
    units = Decimal(span.months) if isinstance(span, Months) else Decimal(span // _MICROSECOND)
    if isinstance(by, timedelta | Months):
        if symbol != "/" or type(by) is not type(span):
            return None
        return calculate("/", units, by.months if isinstance(by, Months) else by // _MICROSECOND)
    if not is_number(by):
        return None
    result = calculate(symbol, units, by)
    if result is None:
        return None
    if isinstance(span, Months):
        return Months(int(result))
    if result != int(result):
        raise NotSupported("A duration has at most six digits of a second")
    return timedelta(microseconds=int(result))


def negated(span: timedelta | Months) -> timedelta | Months:
    return Months(-span.months) if isinstance(span, Months) else -span


# ---- properties ------------------------------------------------------------------------------------------------------


def property_of(value: Temporal, name: str) -> Any:
    """`.year` and its like; null where the kind has no such property."""
    kind = _PROPERTIES.get(kind_of(value), {})
    return kind[name](value) if name in kind else None


def _clock(span: timedelta, index: int) -> int | float:
    sign = -1 if span < timedelta() else 1
    seconds = abs(span).seconds
    parts = (seconds // 3600, seconds // 60 % 60)
    if index < 2:
        return sign * parts[index]
    return plain_number(sign * (Decimal(seconds % 60) + Decimal(abs(span).microseconds) / 1_000_000))


def _years(span: Months) -> int:
    return (abs(span.months) // 12) * (-1 if span.months < 0 else 1)


_DATES: dict[str, Callable[[Any], Any]] = {
    "year": lambda value: value.year,
    "month": lambda value: value.month,
    "day": lambda value: value.day,
    "weekday": lambda value: value.isoweekday(),
}
_TIMES: dict[str, Callable[[Any], Any]] = {
    "hour": lambda value: value.hour,
    "minute": lambda value: value.minute,
    "second": lambda value: value.second,
    "time offset": lambda value: value.utcoffset(),
    "timezone": lambda value: None,  # zones by name are not read
}
_PROPERTIES: dict[str, dict[str, Callable[[Any], Any]]] = {
    "date": _DATES,
    "time": _TIMES,
    "date and time": _DATES | _TIMES,
    "days and time duration": {
        "days": lambda value: abs(value).days * (-1 if value < timedelta() else 1),
        "hours": lambda value: _clock(value, 0),
        "minutes": lambda value: _clock(value, 1),
        "seconds": lambda value: _clock(value, 2),
    },
    "years and months duration": {
        "years": _years,
        "months": lambda value: value.months - _years(value) * 12,
    },
}
