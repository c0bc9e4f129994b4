"""Date functions: the run's own time, arithmetic with dates, their texts, and what the tenant's calendar says of them.

A date is ISO 8601 text; without an offset it is a time of the tenant's zone. Milliseconds since 1970, in which the
house tells its own times, are read too. What is given out is ISO 8601 with milliseconds and an offset.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from penstock.errors import ExprTypeError
from penstock.expr.calendar import (
    BadDate,
    Calendar,
    Moment,
    built,
    calendar_of,
    micros_between,
    moment_at,
    moment_of,
    shifted,
    text_of_moment,
)
from penstock.expr.functions.contract import Function, family, number_of, refused, text_from
from penstock.expr.limits import View, finite, host_value

_UNITS = {"day": 86_400_000_000, "hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}
_MOST_MICROS = 10**18  # more than there is between the years 1 and 9999
_LONGEST_PATTERN = 200
_SHOWN = 40


def _now(view: View) -> str:
    return text_of_moment(_present(view, "now"))


def _date_add(view: View, date: Any, amount: Any, unit: Any) -> str:
    moment = _moment(view, "date_add", date)
    number, size = number_of("date_add", amount), _unit("date_add", unit)
    micros = number * size if isinstance(number, int) else round(finite(finite(number) * size))
    try:
        if abs(micros) > _MOST_MICROS:
            raise OverflowError
        return text_of_moment(shifted(moment, micros))
    except (OverflowError, ValueError):
        raise ExprTypeError(why="fn.date_add: the result is not within the years 1 to 9999") from None


def _date_diff(view: View, later: Any, earlier: Any, unit: Any) -> int | float:
    size = _unit("date_diff", unit)
    micros = micros_between(_moment(view, "date_diff", later), _moment(view, "date_diff", earlier))
    return micros / size if micros % size else micros // size


def _date_format(view: View, date: Any, pattern: Any) -> str:
    calendar = _calendar(view)
    moment = _local("date_format", _moment(view, "date_format", date), calendar)
    return "".join(
        _written(text, moment) if is_token else text
        for is_token, text in _pattern("date_format", text_from("date_format", pattern))
    )


def _date_parse(view: View, text: Any, pattern: Any) -> str:
    source, wanted = text_from("date_parse", text), text_from("date_parse", pattern)
    match = _reader(wanted).fullmatch(source)
    if match is None:
        raise ExprTypeError(why=f"fn.date_parse: «{_shown(source)}» is not written like «{_shown(wanted)}»")
    parts = match.groupdict()
    year = int(parts["YYYY"]) if "YYYY" in parts else 2000 + int(parts["YY"])
    rest = [
        int(next((parts[name] for name in names if name in parts), least))
        for names, least in ((("MM", "M"), 1), (("DD", "D"), 1), (("HH", "H"), 0), (("mm", "m"), 0), (("ss", "s"), 0))
    ]
    try:
        micros = parts.get("SSS", "0").ljust(6, "0")
        return text_of_moment(built([year, *rest], micros, parts.get("offset"), _calendar(view).zone))
    except BadDate as why:
        raise ExprTypeError(why=f"fn.date_parse: «{_shown(source)}» is not a date: {why}") from None


def _is_weekend(view: View, *date: Any) -> bool:
    return _calendar(view).is_weekend(_asked(view, "is_weekend", date))


def _is_holiday(view: View, *date: Any) -> bool:
    return _calendar(view).is_holiday(_asked(view, "is_holiday", date))


def _is_business_hours(view: View) -> bool:
    return _calendar(view).is_business_hours(_asked(view, "is_business_hours"))


def _is_maintenance_window(view: View) -> bool:
    return _calendar(view).is_maintenance_window(_asked(view, "is_maintenance_window"))


def _is_night_shift(view: View) -> bool:
    return _calendar(view).is_night_shift(_asked(view, "is_night_shift"))


# ---- what they ask for -----------------------------------------------------------------------------------------------


def _present(view: View, function: str) -> Moment:
    """The run's time. `now` serves views that a test or a tool has made by hand; in a run a document may use that
    name for something of its own, so there it is `$now`."""
    for name in ("$now", "now"):
        try:
            now = host_value(view, name)
        except KeyError:
            continue
        if isinstance(now, int) and not isinstance(now, bool):
            return _read(view, function, now)
    raise ExprTypeError(why=f"fn.{function}: the time is not known here")


def _calendar(view: View) -> Calendar:
    try:
        value = host_value(view, "$calendar")
    except KeyError:
        value = None
    return calendar_of(value)


def _asked(view: View, function: str, date: tuple[Any, ...] = ()) -> Moment:
    """The date if one is given, else now, in the tenant's zone."""
    moment = _moment(view, function, date[0]) if date else _present(view, function)
    return _local(function, moment, _calendar(view))


def _moment(view: View, function: str, value: Any) -> Moment:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise refused(function, "a date (ISO 8601 text)", value)
    return _read(view, function, value)


def _read(view: View, function: str, value: str | int) -> Moment:
    try:
        return moment_of(value, _calendar(view).zone) if isinstance(value, str) else moment_at(value)
    except BadDate as why:
        raise ExprTypeError(why=f"fn.{function}: «{_shown(value)}» is not a date: {why}") from None


def _local(function: str, moment: Moment, calendar: Calendar) -> Moment:
    try:
        return moment.astimezone(calendar.zone)
    except (OverflowError, ValueError):
        raise ExprTypeError(why=f"fn.{function}: the date is not within the years 1 to 9999") from None


def _unit(function: str, unit: Any) -> int:
    size = _UNITS.get(unit) if isinstance(unit, str) else None
    if size is None:
        shown = f"«{_shown(unit)}»" if isinstance(unit, str) else "this"
        raise ExprTypeError(why=f"fn.{function}: {shown} is not a unit; use {', '.join(_UNITS)}")
    return size


def _shown(value: Any) -> str:
    text = f"{value}" if isinstance(value, str) else "this number"
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


# ---- patterns --------------------------------------------------------------------------------------------------------

_TOKENS = ("YYYY", "YY", "MM", "M", "DD", "D", "HH", "H", "mm", "m", "ss", "s", "SSS")
_PARTS: dict[str, Callable[[Moment], int]] = {
    "Y": lambda at: at.year,
    "M": lambda at: at.month,
    "D": lambda at: at.day,
    "H": lambda at: at.hour,
    "m": lambda at: at.minute,
    "s": lambda at: at.second,
    "S": lambda at: at.microsecond // 1000,
}
_PIECE = re.compile(r"\[([^\]]*)\]|(([A-Za-z])\3*)|([^A-Za-z\[]+|\[)")
_OFFSET = r"(?P<offset>Z|[+-][0-9]{2}(?::?[0-9]{2})?)?"


def _written(letters: str, at: Moment) -> str:
    """A part of the date with at least as many digits as its token has letters."""
    part = _PARTS[letters[0]](at)
    return f"{part % 100 if letters == 'YY' else part:0{len(letters)}}"


@lru_cache(256)
def _pattern(function: str, pattern: str) -> tuple[tuple[bool, str], ...]:
    """The pattern as tokens and plain text. A letter that is no token is refused, not copied: «yyyy» and «hh» are what
    other tools write; the T of ISO 8601 stands for itself, other letters stand in [ ]."""
    if len(pattern) > _LONGEST_PATTERN:
        raise ExprTypeError(why=f"fn.{function}: the pattern has more than {_LONGEST_PATTERN} characters")
    pieces: list[tuple[bool, str]] = []
    for piece in _PIECE.finditer(pattern):
        quoted, run, _, text = piece.groups()
        if run is None:
            pieces.append((False, text if quoted is None else quoted))
        elif run in _TOKENS:
            pieces.append((True, run))
        elif run == "T":
            pieces.append((False, run))
        else:
            known = " ".join(_TOKENS)
            why = f"«{_shown(run)}» in the pattern is none of {known}; letters meant as text stand in [ ]"
            raise ExprTypeError(why=f"fn.{function}: {why}")
    return tuple(pieces)


@lru_cache(256)
def _reader(pattern: str) -> re.Pattern[str]:
    """The pattern as a regular expression; where it has an hour, the text may end with an offset."""
    pieces = _pattern("date_parse", pattern)
    fields = [token[0] for is_token, token in pieces if is_token]
    if len(set(fields)) != len(fields):
        raise ExprTypeError(why="fn.date_parse: the pattern names one field twice")
    if "Y" not in fields:
        raise ExprTypeError(why="fn.date_parse: the pattern has no year (YYYY or YY)")
    digits = {4: "{4}", 3: "{3}", 2: "{2}", 1: "{1,2}"}
    text = "".join(
        f"(?P<{piece}>[0-9]{digits[len(piece)]})" if is_token else re.escape(piece) for is_token, piece in pieces
    )
    return re.compile(text + (_OFFSET if "H" in fields else ""))


_CALENDAR = ("$calendar",)
_BOTH = ("$now", "$calendar")

DATE = family(
    "date",
    Function(
        "now",
        "() -> string",
        "The time of the run, UTC, such as 2026-11-15T12:00:00.000Z.",
        _now,
        sees_view=True,
        reads=_BOTH[:1],
    ),
    Function(
        "date_add",
        "(date, amount, unit) -> string",
        "The date so many units later (earlier when negative), with the offset it had; the unit is 'day', 'hour', "
        "'minute' or 'second', and a day has 24 hours.",
        _date_add,
        sees_view=True,
        reads=_CALENDAR,
    ),
    Function(
        "date_diff",
        "(date, other, unit) -> number",
        "How many units the date is after the other; negative when before, with fractions.",
        _date_diff,
        sees_view=True,
        reads=_CALENDAR,
    ),
    Function(
        "date_format",
        "(date, pattern) -> string",
        "The date in the tenant's time zone, written with YYYY YY MM M DD D HH H mm m ss s SSS; letters that are meant "
        "as text stand in [ ].",
        _date_format,
        sees_view=True,
        reads=_CALENDAR,
    ),
    Function(
        "date_parse",
        "(string, pattern) -> string",
        "The date that the string writes in that pattern; without an offset after the time it is in the tenant's zone.",
        _date_parse,
        sees_view=True,
        reads=_CALENDAR,
    ),
    Function(
        "is_weekend",
        "(date?) -> boolean",
        "Whether the date, or now, is on a weekend of the tenant's calendar.",
        _is_weekend,
        sees_view=True,
        reads=_BOTH,
    ),
    Function(
        "is_holiday",
        "(date?) -> boolean",
        "Whether the date, or now, is a holiday of the tenant's calendar.",
        _is_holiday,
        sees_view=True,
        reads=_BOTH,
    ),
    Function(
        "is_business_hours",
        "() -> boolean",
        "Whether now is within the calendar's business hours and they did not begin on a holiday.",
        _is_business_hours,
        sees_view=True,
        reads=_BOTH,
    ),
    Function(
        "is_maintenance_window",
        "() -> boolean",
        "Whether now is within a maintenance window of the calendar.",
        _is_maintenance_window,
        sees_view=True,
        reads=_BOTH,
    ),
    Function(
        "is_night_shift",
        "() -> boolean",
        "Whether now is within the calendar's night shift.",
        _is_night_shift,
        sees_view=True,
        reads=_BOTH,
    ),
)
