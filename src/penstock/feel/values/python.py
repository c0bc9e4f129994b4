"""Values of Python and JSON that become values of FEEL, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from penstock.errors import FeelError
from penstock.feel.evaluation import Exceeded, Fault, Where
from penstock.feel.values import temporal as T
from penstock.feel.values.functions import Function
from penstock.feel.values.numbers import bounded, from_decimal, from_float, json_number
from penstock.feel.values.ranges import Range
from penstock.feel.values.temporal import SECOND, Date, DateTime, DaysTime, Time, YearsMonths
from penstock.feel.values.text import DEEPEST, written

#: kinds that are FEEL's as they are
SCALARS = frozenset({type(None), bool, int, str, Date, Time, DateTime, DaysTime, YearsMonths, Function})
_KEPT = SCALARS - {int}  # a whole number may have too many digits
_MOST = 1_000_000


def from_python(value: Any) -> Any:
    """The FEEL value of a value of Python; FeelError for what FEEL has no kind for, FeelLimit for what is too deep."""
    try:
        return _read(value, 0)
    except Exceeded as exceeded:
        raise exceeded.error() from None
    except Fault as fault:
        raise FeelError(why=str(fault), position=1, source=f"{value!r:.60}", picture="") from None


def _read(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind is int:
        return bounded(value)
    if kind in SCALARS:
        return value
    if kind is Decimal:
        return from_decimal(value)
    if kind is float:
        return from_float(value)
    if depth > DEEPEST:
        raise Exceeded(f"data nested more than {DEEPEST} deep")
    if kind is dict:
        return {
            key if type(key) is str else str(key): _read(item, depth + 1) if type(item) not in _KEPT else item
            for key, item in value.items()
        }
    if kind is list:
        return [_read(item, depth + 1) if type(item) not in _KEPT else item for item in value]
    if kind is Range:
        return Range(_read(value.low, depth), _read(value.high, depth), value.low_closed, value.high_closed)
    return _read_other(value, depth)


def _read_other(value: Any, depth: int) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _read(item, depth + 1) for key, item in value.items()}
    if isinstance(value, datetime):
        zone = _zone(value)
        return DateTime(_date(value), _nanos(value), zone, value.fold if isinstance(zone, str) else 0)
    if isinstance(value, date):
        return _date(value)
    if isinstance(value, time):
        return Time(_nanos(value), _zone(value))
    if isinstance(value, timedelta):
        return DaysTime((value.days * 86_400 + value.seconds) * SECOND + value.microseconds * 1_000)
    for plain in (bool, str, int, float):
        if isinstance(value, plain):
            return _read(plain(value), depth)
    if callable(value):
        return Function((), value, name=getattr(value, "__name__", ""), variadic=True)
    if isinstance(value, Iterable) and not isinstance(value, bytes | bytearray):
        return [_read(item, depth + 1) for item in value]
    raise Fault(f"FEEL has no values of the kind {type(value).__name__}")


def _date(value: date) -> Date:
    return Date(value.year, value.month, value.day)


def _nanos(value: datetime | time) -> int:
    return (value.hour * 3600 + value.minute * 60 + value.second) * SECOND + value.microsecond * 1_000


def _zone(value: datetime | time) -> T.Zone:
    zone = value.tzinfo
    if zone is None:
        return None
    if isinstance(zone, ZoneInfo) and zone.key:
        return zone.key if zone.key != "UTC" else 0
    offset = value.utcoffset()
    return None if offset is None else round(offset.total_seconds())


# ---- leaving FEEL ----------------------------------------------------------------------------------------------------


def to_python(value: Any, source: str = "") -> Any:
    """Python's own classes: Decimal, date, time, datetime, timedelta, list, dict. What these cannot hold (years outside
    1 to 9999, durations of months, ranges, functions) stays the FEEL value. Raises FeelLimit as `to_json`."""
    return _converted(value, _python_scalar, source)


def to_json(value: Any, source: str = "") -> Any:
    """Plain data: numbers as int or float, dates and durations as ISO texts, ranges and functions as FEEL text.
    Raises FeelLimit, about the source, for what has too many parts or is too deep."""
    return _converted(value, _json_scalar, source)


def _converted(value: Any, scalar: Any, source: str) -> Any:
    try:
        return _convert(value, scalar, [_MOST], 0)
    except Exceeded as exceeded:
        exceeded.where = Where(source, 0)
        raise exceeded.error() from None


def _convert(value: Any, scalar: Any, budget: list[int], depth: int) -> Any:
    kind = type(value)
    if kind is not list and kind is not dict:
        return scalar(value)
    budget[0] -= len(value) + 1
    if budget[0] < 0:
        raise Exceeded(f"a value of more than {_MOST:,} parts")
    if depth > DEEPEST:
        raise Exceeded(f"a value nested more than {DEEPEST} deep")
    if kind is list:
        return [_convert(item, scalar, budget, depth + 1) for item in value]
    return {key: _convert(item, scalar, budget, depth + 1) for key, item in value.items()}


def _json_scalar(value: Any) -> Any:
    kind = type(value)
    if kind is int or kind is Decimal:
        return json_number(value)
    if kind in (Date, Time, DateTime, DaysTime, YearsMonths):
        return T.text_of(value)
    if kind is Range or isinstance(value, Function):
        return written(value)
    return value


def _python_scalar(value: Any) -> Any:
    kind = type(value)
    if kind is int:
        return Decimal(value)
    if kind is Decimal:
        return value
    try:
        if kind is Date:
            return date(*value)
        if kind is Time:
            return _python_time(value.nanos, value.zone)
        if kind is DateTime:
            return datetime.combine(date(*value.date), _python_time(value.nanos, value.zone).replace(fold=value.fold))
        if kind is DaysTime:
            return timedelta(microseconds=value.nanos // 1_000)
    except (ValueError, OverflowError):
        return value
    return value


def _python_time(nanos: int, zone: T.Zone) -> time:
    seconds, fraction = divmod(nanos, SECOND)
    if isinstance(zone, str):
        info: Any = ZoneInfo(zone)
    else:
        info = None if zone is None else timezone(timedelta(seconds=zone))
    return time(seconds // 3600, seconds // 60 % 60, seconds % 60, fraction // 1_000, info)
