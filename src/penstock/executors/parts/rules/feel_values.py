"""The values of FEEL: how they compare, calculate and become plain data, and the functions that cells may call."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple

MAX_TEXT = 1 << 20
_DURATION = re.compile(
    r"(-)?P(?:(\d{1,6})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,9}(?:\.\d{1,6})?)S)?)?\Z", re.ASCII
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d\Z", re.ASCII)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d", re.ASCII)
_TIME = re.compile(r"\d\d:\d\d", re.ASCII)
Temporal = date | datetime | time | timedelta
_TEMPORAL = (date, time, timedelta)


def temporal(text: Any) -> Temporal | None:
    """The date, date and time, time or day-time duration that a text is; None for any other text."""
    if not isinstance(text, str) or len(text) > 40:
        return None
    try:
        if _DATE.match(text):
            return date.fromisoformat(text)
        if _MOMENT.match(text):
            return datetime.fromisoformat(text)
        if _TIME.match(text):
            return time.fromisoformat(text)
        match = _DURATION.match(text)
        if match and any(match.groups()[1:]):
            days, hours, minutes, seconds = (float(part or 0) for part in match.groups()[1:])
            span = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
            return -span if match[1] else span
    except (ValueError, OverflowError):
        pass
    return None


def plain(value: Any) -> Any:
    """The value as JSON holds it: dates and durations are ISO texts."""
    if isinstance(value, timedelta):
        return _duration_text(value)
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _duration_text(span: timedelta) -> str:
    sign, span = ("-", -span) if span < timedelta() else ("", span)
    minutes, seconds = divmod(span.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f".{span.microseconds:06}".rstrip("0") if span.microseconds else ""
    clock = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "")
    clock += f"{seconds}{fraction}S" if seconds or fraction else ""
    days = f"{span.days}D" if span.days or not clock else ""
    return f"{sign}P{days}{f'T{clock}' if clock else ''}"


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def compare(left: Any, right: Any) -> int | None:
    """-1, 0 or 1; None where the two have no order. A text beside a date is read as one."""
    kind, other = type(left), type(right)
    if (kind is int or kind is float) and (other is int or other is float):
        return int(left > right) - int(left < right) if left == left and right == right else None
    if kind is str and other is str:
        return int(left > right) - int(left < right)
    if isinstance(left, _TEMPORAL) or isinstance(right, _TEMPORAL):
        return _compare_moments(left, right)
    if is_number(left) and is_number(right):
        return int((left > right) - (left < right))
    return None


def _compare_moments(left: Any, right: Any) -> int | None:
    first = left if isinstance(left, _TEMPORAL) else temporal(left)
    second = right if isinstance(right, _TEMPORAL) else temporal(right)
    if first is None or second is None:
        return None
    if isinstance(first, datetime) != isinstance(second, datetime):  # a day beside a moment is its midnight
        first, second = _midnight(first), _midnight(second)
    first, second = _zoned(first), _zoned(second)
    try:
        return int((first > second) - (first < second))  # type: ignore[operator]
    except TypeError:
        return None


def _midnight(value: Temporal) -> Temporal:
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)  # noqa: DTZ001  _zoned gives it the zone
    return value


def _zoned(value: Temporal) -> Temporal:
    """A moment without a zone is one of UTC, so that every two can be compared."""
    if isinstance(value, datetime | time) and value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    return value


def equal(left: Any, right: Any) -> bool:
    if left is None or right is None or isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(equal(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(item, right[key]) for key, item in left.items())
    return compare(left, right) == 0


def member(value: Any, key: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(key)
    if isinstance(value, list):  # FEEL: the member of every one
        return [member(item, key) for item in value]
    return None


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
}  # fmt: skip


def arithmetic(symbol: str, left: Any, right: Any) -> Any:
    """The result, or null where there is none: FEEL knows no errors of calculation."""
    try:
        if is_number(left) and is_number(right):
            result = float(left) ** float(right) if symbol == "**" else _OPERATORS[symbol](left, right)
            if isinstance(result, complex) or not -1e300 < result < 1e300:
                return None
            return int(result) if symbol == "**" and result.is_integer() and abs(result) < 1e15 else result
        if symbol == "+" and isinstance(left, str) and isinstance(right, str):
            return left + right if len(left) + len(right) <= MAX_TEXT else None
        if symbol in "+-" and isinstance(left, _TEMPORAL) and isinstance(right, _TEMPORAL):
            return _OPERATORS[symbol](left, right)
        if symbol == "-" and left == 0 and isinstance(right, timedelta):
            return -right
    except (ArithmeticError, TypeError, ValueError):
        pass
    return None


# ---- functions -------------------------------------------------------------------------------------------------------


class Function(NamedTuple):
    call: Callable[..., Any]
    least: int = 1
    most: int = 1
    verdict: bool = False  # its value is true or false


def _of(kind: type | tuple[type, ...], call: Callable[..., Any]) -> Callable[..., Any]:
    """The call where every argument is of the kind; null otherwise, and where there is no result."""

    def checked(*given: Any) -> Any:
        if not all(isinstance(argument, kind) and not isinstance(argument, bool) for argument in given):
            return None
        try:
            return call(*given)
        except (ArithmeticError, ValueError):
            return None

    return checked


def _many(call: Callable[[list[Any]], Any]) -> Callable[..., Any]:
    def over(*given: Any) -> Any:
        values = given[0] if len(given) == 1 and isinstance(given[0], list) else list(given)
        return call(values)

    return over


def _numbers(call: Callable[[list[Any]], Any]) -> Callable[..., Any]:
    return _many(lambda values: call(values) if values and all(is_number(value) for value in values) else None)


def extreme(values: list[Any], wanted: int) -> Any:
    """The least (-1) or greatest (1) of values that have an order; null where they have none."""
    if not values:
        return None
    best = values[0]
    for value in values[1:]:
        ordering = compare(value, best)
        if ordering is None:
            return None
        if ordering == wanted:
            best = value
    return best


def _number(value: Any) -> Any:
    if is_number(value):
        return value
    if not isinstance(value, str) or len(value) > 60 or not re.match(r"\s*-?\d+(\.\d+)?\s*\Z", value, re.ASCII):
        return None
    return float(value) if "." in value else int(value)


def _date(value: Any) -> Any:
    moment = temporal(value) if isinstance(value, str) else value
    if isinstance(moment, datetime):
        return moment.date()
    return moment if isinstance(moment, date) else None


def _moment(value: Any) -> Any:
    moment = temporal(value) if isinstance(value, str) else value
    return _midnight(moment) if isinstance(moment, date) else None


def _only(kind: type) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        moment = temporal(value) if isinstance(value, str) else value
        return moment if isinstance(moment, kind) else None

    return read


def _substring(text: Any, start: Any, length: Any = None) -> Any:
    if not isinstance(text, str) or not isinstance(start, int) or start == 0:
        return None
    begin = start - 1 if start > 0 else max(0, len(text) + start)
    return text[begin:] if not isinstance(length, int) else text[begin : begin + max(0, length)]


def _text(value: Any) -> Any:
    value = plain(value)
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None or isinstance(value, list | dict) else str(value)


_MOST = 1_000
FUNCTIONS: dict[str, Function] = {
    "not": Function(lambda value: (not value) if isinstance(value, bool) else None, verdict=True),
    "date": Function(_date),
    "time": Function(_only(time)),
    "date and time": Function(_moment),
    "duration": Function(_only(timedelta)),
    "number": Function(_number),
    "string": Function(_text),
    "abs": Function(_of((int, float), abs)),
    "floor": Function(_of((int, float), math.floor)),
    "ceiling": Function(_of((int, float), math.ceil)),
    "round": Function(_of((int, float), round), 1, 2),
    "sum": Function(_numbers(sum), 1, _MOST),
    "mean": Function(_numbers(lambda values: sum(values) / len(values)), 1, _MOST),
    "count": Function(lambda values: len(values) if isinstance(values, list) else None),
    "min": Function(_many(lambda values: extreme(values, -1)), 1, _MOST),
    "max": Function(_many(lambda values: extreme(values, 1)), 1, _MOST),
    "contains": Function(_of(str, lambda text, part: part in text), 2, 2, True),
    "starts with": Function(_of(str, lambda text, part: text.startswith(part)), 2, 2, True),
    "ends with": Function(_of(str, lambda text, part: text.endswith(part)), 2, 2, True),
    "upper case": Function(_of(str, str.upper)),
    "lower case": Function(_of(str, str.lower)),
    "string length": Function(_of(str, len)),
    "substring": Function(_substring, 2, 3),
    "list contains": Function(
        lambda values, wanted: any(equal(wanted, each) for each in values) if isinstance(values, list) else None,
        2,
        2,
        True,
    ),
}
