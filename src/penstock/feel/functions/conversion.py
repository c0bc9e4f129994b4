"""Functions that make values of other kinds: numbers, texts, dates, times, durations, ranges."""

from __future__ import annotations

import re
from typing import Any

from penstock.feel.evaluation import Fault
from penstock.feel.functions.signature import declare, family
from penstock.feel.values import temporal as T
from penstock.feel.values.numbers import Number, literal, multiply, negative, truncated, whole
from penstock.feel.values.temporal import Date, DateTime, DaysTime, Time, YearsMonths
from penstock.feel.values.temporal_math import months_between
from penstock.feel.values.text import string_of

_NUMBER = re.compile(r"(-?)((?:[0-9]{1,6500}(?:\.[0-9]{1,6500})?|\.[0-9]{1,6500})(?:[eE][+-]?[0-9]{1,5})?)\Z")
_SEPARATORS = (" ", ",", ".", None)


def _number(text: str, grouping: str | None = None, point: str | None = None) -> Number:
    """`number("1.000,5", ".", ",")`: the separator of groups, and the one of decimals."""
    if grouping not in _SEPARATORS or point not in (".", ",", None):
        raise Fault("number: a separator is a blank, a comma, a point, or null")
    if grouping is not None and grouping == point:
        raise Fault("number: both separators are the same")
    if grouping is not None:
        text = text.replace(grouping, "")
    if point is not None:
        if point == "," and "." in text:
            raise Fault("number: the text is no number")
        text = text.replace(point, ".")
    match = _NUMBER.match(text.strip())
    if match is None:
        raise Fault("number: the text is no number")
    return negative(literal(match[2])) if match[1] else literal(match[2])


# ---- dates and times -------------------------------------------------------------------------------------------------


def _needed(value: Any, what: str, text: str) -> Any:
    if value is None:
        raise Fault(f"«{text[:60]}» is no {what}")
    return value


def _date(value: Any) -> Date:
    if isinstance(value, str):
        return _needed(T.read_date(value), "date", value)  # type: ignore[no-any-return]
    return value.date if isinstance(value, DateTime) else value


def _date_of(year: Number, month: Number, day: Number) -> Date:
    parts = [whole(part) for part in (year, month, day)]
    if None in parts:
        raise Fault("date: year, month and day are whole numbers")
    return T.make_date(*parts)  # type: ignore[arg-type]


def _time(value: Any) -> Time:
    if isinstance(value, str):
        return _needed(T.read_time(value), "time", value)  # type: ignore[no-any-return]
    if isinstance(value, DateTime):
        return Time(value.nanos, value.zone)
    return Time(0, 0) if isinstance(value, Date) else value  # a date begins at midnight of UTC


def _time_of(hour: Number, minute: Number, second: Number, offset: DaysTime | None = None) -> Time:
    hours, minutes = whole(hour), whole(minute)
    if hours is None or minutes is None:
        raise Fault("time: hour and minute are whole numbers")
    zone = None if offset is None else offset.nanos // T.SECOND
    if zone is not None and abs(zone) > T.MOST_OFFSET:
        raise Fault("time: the offset is too large")
    return T.make_time(hours, minutes, truncated(multiply(second, T.SECOND)), zone)


def _moment(value: Any) -> DateTime:
    if isinstance(value, str):
        date = T.read_date(value)
        return DateTime(date, 0) if date else _needed(T.read_moment(value), "date and time", value)
    return DateTime(value, 0) if isinstance(value, Date) else value


def _moment_of(date: Any, time: Time) -> DateTime:
    day = date.date if isinstance(date, DateTime) else date
    return DateTime(day, time.nanos, time.zone)


def _in_zone(moment: DateTime, zone: str) -> DateTime:
    return DateTime(moment.date, moment.nanos, T.known_zone(zone))


def _moment_of_parts(
    year: Number, month: Number, day: Number, hour: Number, minute: Number, second: Number, zone: Any = None
) -> DateTime:
    offset = zone if not isinstance(zone, str) else None
    time = _time_of(hour, minute, second, offset)
    named = T.known_zone(zone) if isinstance(zone, str) else time.zone
    return DateTime(_date_of(year, month, day), time.nanos, named)


def _duration(value: Any) -> Any:
    if isinstance(value, DaysTime | YearsMonths):
        return value
    return _needed(T.read_duration(value), "duration", value)


def _months(start: Any, end: Any) -> YearsMonths:
    first = start.date if isinstance(start, DateTime) else start
    last = end.date if isinstance(end, DateTime) else end
    return YearsMonths(months_between(first, last))


def _temporal(text: str) -> Any:
    """`@"…"`"""
    return _needed(T.read_temporal(text), "date, time or duration", text)


FUNCTIONS = family(
    "conversion",
    declare("date(from: string|date|date and time)", _date),
    declare("date(year: number, month: number, day: number)", _date_of),
    declare("time(from: string|time|date and time|date)", _time),
    declare("time(hour: number, minute: number, second: number, offset?: days and time duration?)", _time_of),
    declare("date and time(from: string|date|date and time)", _moment),
    declare("date and time(date: date|date and time, time: time)", _moment_of),
    declare("date and time(date: date|date and time, timezone: string)", _in_zone),
    declare(
        "date and time(year: number, month: number, day: number, hour: number, minute: number, second: number, "
        "offset?: days and time duration|string?)",
        _moment_of_parts,
    ),
    declare("duration(from: string|days and time duration|years and months duration)", _duration),
    declare("years and months duration(from: date|date and time, to: date|date and time)", _months),
    declare("number(from: number)", lambda value: value),
    declare("number(from: string, grouping separator?: string?, decimal separator?: string?)", _number),
    declare("string(from: Any)", string_of),
    declare("@(from: string)", _temporal),
)
