"""A tenant's calendar: its time zone, its days off, its hours and its windows, compiled once from a plain object.

Pure: every question brings its own moment with it. `datetime` is imported here and nowhere else in the pure part, for
its arithmetic; nothing here asks it for the time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Any

import msgspec

from penstock.errors import ExprTypeError, ExtraMissing
from penstock.expr.values import named

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MEMBERS = ("timezone", "weekend", "holidays", "business_hours", "maintenance_windows", "night_shift")
ZONE = "Asia/Seoul"

Moment = datetime

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY = 86_400
_LONG_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MOST_MINUTES = 366 * 1_440  # of a window that begins by cron
_KEPT = 64  # compiled calendars
_SHOWN = 40
_TIME = re.compile(r"([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?")
_DATE = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})"
    r"(?:[Tt ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,9}))?)?(Z|z|[+-][0-9]{2}(?::?[0-9]{2}){0,2})?)?"
)


class BadDate(ValueError):
    """A text that is no date; its message finishes the sentence «… is not a date:»."""


# ---- moments ---------------------------------------------------------------------------------------------------------


def moment_of(text: str, zone: tzinfo) -> Moment:
    """ISO 8601; a text without an offset is a time of the zone, with one it keeps it. BadDate when it is neither."""
    match = _DATE.fullmatch(text)
    if match is None:
        raise BadDate("it is not written like 2026-11-15, 2026-11-15T09:00:00 or 2026-11-15T09:00:00+09:00")
    *numbers, fraction, offset = match.groups()
    return built([int(number or 0) for number in numbers], (fraction or "0").ljust(6, "0")[:6], offset, zone)


def moment_at(millis: int) -> Moment:
    """So many milliseconds after the beginning of 1970, UTC. BadDate beyond the years 1 to 9999."""
    try:
        return _EPOCH + timedelta(milliseconds=millis)
    except OverflowError:
        raise BadDate("it is not within the years 1 to 9999") from None


def built(numbers: list[int], micros: str, offset: str | None, zone: tzinfo) -> Moment:
    """The moment of year, month, day, hour, minute and second. BadDate when there is no such day or time."""
    year, month, day, hour, minute, second = numbers
    try:
        at = offset_of(offset) if offset else zone
        made = datetime(year, month, day, hour, minute, second, int(micros), tzinfo=at)
        made.astimezone(UTC)  # near the first and the last year there are moments without a place in UTC
    except OverflowError:
        raise BadDate("it is not within the years 1 to 9999") from None
    except ValueError as error:
        raise BadDate(f"{error}") from None
    return made


def offset_of(text: str) -> timezone:
    if text in ("Z", "z"):
        return UTC
    digits = text[1:].replace(":", "").ljust(6, "0")
    hours, minutes, seconds = int(digits[:2]), int(digits[2:4]), int(digits[4:])
    if minutes > 59 or seconds > 59:
        raise ValueError("the offset has at most 59 minutes")
    size = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    return timezone(size if text[0] == "+" else -size)


def text_of_moment(moment: Moment) -> str:
    """ISO 8601 with milliseconds; `Z` for UTC."""
    text = moment.isoformat(timespec="milliseconds")
    return text.removesuffix("+00:00") + "Z" if text.endswith("+00:00") else text


def shifted(moment: Moment, micros: int) -> Moment:
    """So much later, as time passes (a day has 24 hours). OverflowError beyond the years 1 to 9999."""
    moved = moment.astimezone(UTC) + timedelta(microseconds=micros)
    return moved.astimezone(moment.tzinfo)


def micros_between(later: Moment, earlier: Moment) -> int:
    """one − two."""
    return (later.astimezone(UTC) - earlier.astimezone(UTC)) // timedelta(microseconds=1)


# ---- the calendar ----------------------------------------------------------------------------------------------------


class Hours(msgspec.Struct, frozen=True):
    """From start up to, not including, end, in seconds of the day, on some days. What crosses midnight belongs to the
    day on which it begins."""

    days: frozenset[int]
    start: int
    end: int

    def begun(self, local: Moment) -> date | None:
        """The day on which the span began that holds this moment; None when none does."""
        second = local.hour * 3600 + local.minute * 60 + local.second
        today = local.date()
        if self.start < self.end:
            return today if self.start <= second < self.end and today.weekday() in self.days else None
        if second >= self.start:
            return today if today.weekday() in self.days else None
        if second < self.end and today.toordinal() > 1:
            before = today - timedelta(days=1)
            return before if before.weekday() in self.days else None
        return None


class TimeWindow(msgspec.Struct, frozen=True):
    start: Moment
    end: Moment


class RepeatingWindow:
    """Windows that begin when a cron expression says, each so many minutes long."""

    __slots__ = ("_known", "cron", "length", "zone")

    def __init__(self, cron: str, minutes: int, zone: tzinfo) -> None:
        self.cron, self.length, self.zone = cron, timedelta(minutes=minutes), zone
        #: Between these two nothing begins, and at the second something does: saves the search while time goes on.
        self._known: tuple[Moment, Moment | None] | None = None

    def holds(self, moment: Moment) -> bool:
        """Whether a window began within its length before the moment."""
        try:
            after = moment - self.length
        except OverflowError:
            return False
        known = self._known
        if known is None or not (known[0] <= after and (known[1] is None or after < known[1])):
            known = self._known = (after, next(self._starts(after), None))
        return known[1] is not None and known[1] <= moment

    def _starts(self, after: Moment) -> Iterator[Moment]:
        """The beginnings after a moment, in UTC."""
        try:
            for local in _cron(self.cron, after.astimezone(self.zone)):
                start = local.astimezone(UTC)
                if start > after:  # where clocks are set back, a local time comes twice
                    yield start
        except (OverflowError, ValueError):  # beyond the last year nothing begins
            return


class Calendar(msgspec.Struct, frozen=True):
    """Compiled; every question takes a moment of any offset."""

    zone: tzinfo
    weekend: frozenset[int]
    holidays: frozenset[date]
    business: Hours
    night: Hours
    daily: tuple[Hours, ...]
    spans: tuple[TimeWindow, ...]
    repeats: tuple[RepeatingWindow, ...]

    def is_weekend(self, moment: Moment) -> bool:
        return moment.astimezone(self.zone).weekday() in self.weekend

    def is_holiday(self, moment: Moment) -> bool:
        return moment.astimezone(self.zone).date() in self.holidays

    def is_business_hours(self, moment: Moment) -> bool:
        begun = self.business.begun(moment.astimezone(self.zone))
        return begun is not None and begun not in self.holidays

    def is_night_shift(self, moment: Moment) -> bool:
        return self.night.begun(moment.astimezone(self.zone)) is not None

    def is_maintenance_window(self, moment: Moment) -> bool:
        local, at = moment.astimezone(self.zone), moment.astimezone(UTC)
        return (
            any(span.start <= at < span.end for span in self.spans)
            or any(hours.begun(local) is not None for hours in self.daily)
            or any(repeat.holds(at) for repeat in self.repeats)
        )


# ---- reading it ------------------------------------------------------------------------------------------------------

_by_id: dict[int, tuple[Any, Calendar]] = {}
_by_text: dict[bytes, Calendar] = {}


def calendar_of(value: Any) -> Calendar:
    """The calendar that an object describes, compiled when it is first seen; null is the calendar of the defaults."""
    known = _by_id.get(id(value))
    if known is not None and known[0] is value:
        return known[1]
    try:
        key = msgspec.json.encode(value, order="deterministic")
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        raise _wrong("", "is not plain data") from None
    calendar = _by_text.get(key)
    if calendar is None:
        calendar = compile_calendar(value)
        if len(_by_text) >= _KEPT:
            _by_text.clear()
        _by_text[key] = calendar
    if len(_by_id) >= _KEPT:
        _by_id.clear()
    _by_id[id(value)] = (value, calendar)  # held, so that nothing else can get its id
    return calendar


def compile_calendar(value: Any) -> Calendar:
    """The calendar, or an ExprTypeError that says which member of it cannot be used."""
    given = {} if value is None else value
    if not isinstance(given, Mapping):
        raise _wrong("", f"must be an object, not {named(value)}")
    for name in given:
        if name not in MEMBERS:
            raise _wrong("", f"has no «{_shown(name)}»; it has {', '.join(MEMBERS)}")
    zone = _zone(given.get("timezone"))
    weekend = _days(given.get("weekend"), "weekend", frozenset({5, 6}))
    working = frozenset(range(7)) - weekend
    daily, spans, repeats = _windows(given.get("maintenance_windows"), zone)
    return Calendar(
        zone=zone,
        weekend=weekend,
        holidays=_holidays(given.get("holidays")),
        business=_hours(given.get("business_hours"), "business_hours", working, ("09:00", "18:00")),
        night=_hours(given.get("night_shift"), "night_shift", frozenset(range(7)), ("22:00", "06:00")),
        daily=daily,
        spans=spans,
        repeats=repeats,
    )


def _zone(value: Any) -> tzinfo:
    from zoneinfo import ZoneInfo  # reads its table of zones, so only when a calendar is used

    name = ZONE if value is None else value
    if not isinstance(name, str):
        raise _wrong("timezone", f"must be a name such as {ZONE}, not {named(value)}")
    try:
        return UTC if name in ("UTC", "Z") else ZoneInfo(name)
    except (LookupError, ValueError, OSError):  # unknown, no name at all, or a folder of zones
        raise _wrong("timezone", f"«{_shown(name)}» is not a known time zone") from None


def _days(value: Any, member: str, otherwise: frozenset[int]) -> frozenset[int]:
    """`["sat", "sun"]`, `"mon-fri"`, or both ways together."""
    if value is None:
        return otherwise
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list | tuple):
        raise _wrong(member, f"must be a list of days such as mon, not {named(value)}")
    days: set[int] = set()
    for word in words:
        parts = word.replace("–", "-").split("-") if isinstance(word, str) else []
        numbers = [_day(part, member, word) for part in parts]
        if len(numbers) not in (1, 2):
            raise _wrong(member, f"«{_shown(word)}» is not a day such as mon, nor mon-fri")
        first, last = numbers[0], numbers[-1]
        days.update((first + step) % 7 for step in range((last - first) % 7 + 1))
    return frozenset(days)


def _day(word: str, member: str, shown: Any) -> int:
    name = word.strip().lower()
    for names in (DAYS, _LONG_DAYS):
        if name in names:
            return names.index(name)
    raise _wrong(member, f"«{_shown(shown)}» is not a day such as {', '.join(DAYS)}")


def _holidays(value: Any) -> frozenset[date]:
    if value is None:
        return frozenset()
    if isinstance(value, str) or (isinstance(value, Mapping) and "country" in value):
        raise _wrong("holidays", "names a country; its dates are written out when the calendar is registered")
    if not isinstance(value, list | tuple):
        raise _wrong("holidays", f"must be a list of dates, not {named(value)}")
    dates = set()
    for text in value:
        try:
            if not isinstance(text, str) or len(text) != 10:
                raise BadDate
            dates.add(moment_of(text, UTC).date())
        except BadDate:
            raise _wrong("holidays", f"«{_shown(text)}» is not a date such as 2026-01-01") from None
    return frozenset(dates)


def _hours(value: Any, member: str, days: frozenset[int], otherwise: tuple[str, str]) -> Hours:
    given = {} if value is None else value
    if not isinstance(given, Mapping):
        raise _wrong(member, f"must be an object with start and end, not {named(value)}")
    for name in given:
        if name not in ("days", "start", "end"):
            raise _wrong(member, f"has no «{_shown(name)}»; it has days, start, end")
    start = _second(given.get("start", otherwise[0]), f"{member}.start")
    end = _second(given.get("end", otherwise[1]), f"{member}.end")
    if start == end:
        raise _wrong(member, "begins and ends at the same time; a whole day is 00:00 to 24:00")
    if start == _DAY:
        raise _wrong(f"{member}.start", "«24:00» is an end; a day begins at 00:00")
    return Hours(_days(given.get("days"), f"{member}.days", days), start, end)


def _second(value: Any, member: str) -> int:
    match = _TIME.fullmatch(value) if isinstance(value, str) else None
    if match is not None:
        hour, minute, second = (int(part or 0) for part in match.groups())
        at = hour * 3600 + minute * 60 + second
        if minute < 60 and second < 60 and at <= _DAY:
            return at
    raise _wrong(member, f'«{_shown(value)}» is not a time such as "09:00", in quotes')


def _windows(value: Any, zone: tzinfo) -> tuple[tuple[Hours, ...], tuple[TimeWindow, ...], tuple[RepeatingWindow, ...]]:
    windows = () if value is None else value
    if not isinstance(windows, list | tuple):
        raise _wrong("maintenance_windows", f"must be a list, not {named(value)}")
    daily: list[Hours] = []
    spans: list[TimeWindow] = []
    repeats: list[RepeatingWindow] = []
    for position, window in enumerate(windows):
        member = f"maintenance_windows[{position}]"
        if not isinstance(window, Mapping):
            raise _wrong(member, f"must be an object, not {named(window)}")
        if "cron" in window:
            repeats.append(_repeat(window, member, zone))
        elif "start" not in window or "end" not in window:
            raise _wrong(member, "needs start and end, or cron and duration_minutes")
        elif isinstance(window["start"], str) and _TIME.fullmatch(window["start"]):
            daily.append(_hours(window, member, frozenset(range(7)), ("", "")))
        else:
            spans.append(_span(window, member, zone))
    return tuple(daily), tuple(spans), tuple(repeats)


def _span(window: Mapping[str, Any], member: str, zone: tzinfo) -> TimeWindow:
    ends: list[Moment] = []
    for name in ("start", "end"):
        try:
            if not isinstance(window[name], str):
                raise BadDate
            ends.append(moment_of(window[name], zone).astimezone(UTC))
        except BadDate:
            shown = _shown(window[name])
            raise _wrong(f"{member}.{name}", f"«{shown}» is neither a date nor a time such as 09:00") from None
    if ends[0] >= ends[1]:
        raise _wrong(member, "ends before it begins")
    return TimeWindow(ends[0], ends[1])


def _repeat(window: Mapping[str, Any], member: str, zone: tzinfo) -> RepeatingWindow:
    cron, minutes = window["cron"], window.get("duration_minutes")
    if isinstance(minutes, bool) or not isinstance(minutes, int) or not 0 < minutes <= _MOST_MINUTES:
        raise _wrong(f"{member}.duration_minutes", f"must be a number of minutes from 1 to {_MOST_MINUTES:,}")
    if not isinstance(cron, str) or len(cron.split()) != 5:
        raise _wrong(f"{member}.cron", f"«{_shown(cron)}» has not the five fields minute, hour, day, month, weekday")
    try:
        _cron(cron, _EPOCH)
    except ValueError as error:
        raise _wrong(f"{member}.cron", f"«{_shown(cron)}» cannot be read: {error}") from None
    return RepeatingWindow(cron, minutes, zone)


def _cron(text: str, after: Moment) -> Iterator[Moment]:
    try:
        from cronsim import CronSim, CronSimError
    except ImportError:
        raise ExtraMissing(extra="decision") from None
    try:
        return CronSim(text, after)
    except (CronSimError, AssertionError, TypeError) as error:
        raise ValueError(f"{error}" or "a field of it is wrong") from None


def _wrong(member: str, why: str) -> ExprTypeError:
    return ExprTypeError(why=f"the calendar's {member}: {why}" if member else f"the calendar {why}")


def _shown(value: Any) -> str:
    text = f"{value}"
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
