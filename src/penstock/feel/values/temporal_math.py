"""Arithmetic and properties of dates, times and durations; Fault where the standard has no result."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from penstock.feel.evaluation import Fault
from penstock.feel.values import temporal as T
from penstock.feel.values.numbers import Number, divide, is_number, multiply, rounded_decimal
from penstock.feel.values.temporal import DAY, SECOND, Date, DateTime, DaysTime, Time, YearsMonths

TEMPORAL = frozenset({Date, Time, DateTime, DaysTime, YearsMonths})
_NO_ZONE = "One of the two has a time zone and the other has none"


def midnight(date: Date, zone: T.Zone = None) -> DateTime:
    return DateTime(date, 0, zone)


def shifted(moment: DateTime, nanos: int) -> DateTime:
    if moment.zone is None:
        return T.at_instant(T.local_nanos(moment) + nanos, None)
    return T.at_instant(T.instant(moment) + nanos, moment.zone)


def by_months(date: Date, months: int) -> Date:
    """The same day of another month, or that month's last."""
    years, month = divmod(date.year * 12 + date.month - 1 + months, 12)
    return T.make_date(years, month + 1, min(date.day, T.month_days(years, month + 1)))


def months_between(start: Date, end: Date) -> int:
    """Whole months from one date to another, negative where the end is first."""
    months = (end.year - start.year) * 12 + end.month - start.month
    if months > 0 and end.day < start.day:
        return months - 1
    if months < 0 and end.day > start.day:
        return months + 1
    return months


# ---- adding and subtracting ------------------------------------------------------------------------------------------


def add(left: Any, right: Any) -> Any:
    if type(left) in (DaysTime, YearsMonths) and type(right) not in (DaysTime, YearsMonths):
        left, right = right, left
    return _moved(left, right, 1)


def subtract(left: Any, right: Any) -> Any:
    if type(right) is DaysTime or type(right) is YearsMonths:
        return _moved(left, right, -1)
    if type(left) is Time and type(right) is Time:
        return T.days_time(_time_distance(left, right))
    if type(left) in (Date, DateTime) and type(right) in (Date, DateTime):
        return T.days_time(_distance(left, right))
    return None


def _moved(value: Any, span: Any, sign: int) -> Any:
    kind = type(value)
    if type(span) is YearsMonths:
        months = sign * span.months
        if kind is YearsMonths:
            return T.years_months(value.months + months)
        if kind is Date:
            return by_months(value, months)
        if kind is DateTime:
            return value._replace(date=by_months(value.date, months), fold=0)
    if type(span) is DaysTime:
        nanos = sign * span.nanos
        if kind is DaysTime:
            return T.days_time(value.nanos + nanos)
        if kind is DateTime:
            return shifted(value, nanos)
        if kind is Date:  # from its midnight: an hour before is the day before
            return shifted(midnight(value), nanos).date
        if kind is Time:
            return Time((value.nanos + nanos) % DAY, value.zone)
    return None


def _time_distance(left: Time, right: Time) -> int:
    first, second = T.time_offset(left), T.time_offset(right)
    if (first is None) != (second is None):
        raise Fault(_NO_ZONE)
    return left.nanos - right.nanos - ((first or 0) - (second or 0)) * SECOND


def _distance(left: Any, right: Any) -> int:
    if type(left) is not type(right):  # a date beside a moment is its midnight in UTC
        left = midnight(left, 0) if type(left) is Date else left
        right = midnight(right, 0) if type(right) is Date else right
    if type(left) is Date:
        return (T.day_number(left) - T.day_number(right)) * DAY
    if (left.zone is None) != (right.zone is None):
        raise Fault(_NO_ZONE)
    if left.zone is None:
        return T.local_nanos(left) - T.local_nanos(right)
    return T.instant(left) - T.instant(right)


# ---- multiplying and dividing ----------------------------------------------------------------------------------------


def scaled(left: Any, right: Any) -> Any:
    """A duration times a number."""
    span, factor = (right, left) if is_number(left) else (left, right)
    if not is_number(factor):
        return None
    return _of_units(type(span), multiply(rounded_decimal(span[0]), factor)) if _is_span(span) else None


def quotient(left: Any, right: Any) -> Any:
    if not _is_span(left):
        return None
    if type(left) is type(right):
        return divide(left[0], right[0])
    return _of_units(type(left), divide(rounded_decimal(left[0]), right)) if is_number(right) else None


def _is_span(value: Any) -> bool:
    return type(value) is DaysTime or type(value) is YearsMonths


def _of_units(kind: Any, units: Number) -> Any:
    count = int(units)
    return T.days_time(count) if kind is DaysTime else T.years_months(count)


# ---- comparing -------------------------------------------------------------------------------------------------------


def order_temporal(left: Any, right: Any) -> int | None:
    """-1, 0 or 1 of two of one kind; None where only one has a zone."""
    kind = type(left)
    if kind is DateTime:
        if (left.zone is None) != (right.zone is None):
            return None
        read = T.local_nanos if left.zone is None else T.instant
        left, right = read(left), read(right)
    elif kind is Time:
        first, second = T.time_offset(left), T.time_offset(right)
        if (first is None) != (second is None):
            return None
        left, right = left.nanos - (first or 0) * SECOND, right.nanos - (second or 0) * SECOND
    return int(left > right) - int(left < right)


# ---- properties ------------------------------------------------------------------------------------------------------


def property_of(value: Any, name: str) -> Any:
    """`.year` and its like; Fault where the kind has no such property."""
    read = _PROPERTIES[type(value)].get(name)
    if read is None:
        raise Fault(f"There is no property «{name}» of a {_NAMES[type(value)]}")
    return read(value)


def _second(nanos: int) -> Number:
    seconds, fraction = divmod(nanos, SECOND)
    return seconds % 60 if not fraction else Decimal(nanos % (60 * SECOND)).scaleb(-9)


def _offset(seconds: int | None) -> DaysTime | None:
    return None if seconds is None else DaysTime(seconds * SECOND)


def _zone_name(zone: T.Zone) -> str | None:
    return zone if isinstance(zone, str) else None


def _signed(value: int, part: Callable[[int], Any]) -> Any:
    return -part(-value) if value < 0 else part(value)


_DATE: dict[str, Callable[[Date], Any]] = {
    "year": lambda value: value.year,
    "month": lambda value: value.month,
    "day": lambda value: value.day,
    "weekday": T.weekday,
}
_CLOCK: dict[str, Callable[[Any], Any]] = {
    "hour": lambda value: value.nanos // (3600 * SECOND),
    "minute": lambda value: value.nanos // (60 * SECOND) % 60,
    "second": lambda value: _second(value.nanos),
    "timezone": lambda value: _zone_name(value.zone),
}


def _of_date(read: Callable[[Date], Any]) -> Callable[[DateTime], Any]:
    return lambda value: read(value.date)


_PROPERTIES: dict[type, dict[str, Callable[[Any], Any]]] = {
    Date: _DATE,
    Time: {**_CLOCK, "time offset": lambda value: _offset(T.time_offset(value))},
    DateTime: {
        **{name: _of_date(read) for name, read in _DATE.items()},
        **_CLOCK,
        "time offset": lambda value: _offset(T.offset_of(value)),
    },
    DaysTime: {
        "days": lambda value: _signed(value.nanos, lambda nanos: nanos // DAY),
        "hours": lambda value: _signed(value.nanos, lambda nanos: nanos // (3600 * SECOND) % 24),
        "minutes": lambda value: _signed(value.nanos, lambda nanos: nanos // (60 * SECOND) % 60),
        "seconds": lambda value: _signed(value.nanos, _second),
    },
    YearsMonths: {
        "years": lambda value: _signed(value.months, lambda months: months // 12),
        "months": lambda value: _signed(value.months, lambda months: months % 12),
    },
}
_NAMES = {
    Date: "date", Time: "time", DateTime: "date and time", DaysTime: "days and time duration",
    YearsMonths: "years and months duration",
}  # fmt: skip
PROPERTY_NAMES = frozenset(name for names in _PROPERTIES.values() for name in names)
