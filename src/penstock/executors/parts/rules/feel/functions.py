"""The functions that FEEL texts may call; any other name is refused where it stands."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from penstock.executors.parts.rules.feel import temporal
from penstock.executors.parts.rules.feel.numbers import (
    calculate,
    integral,
    is_number,
    literal,
    number_text,
    rounded,
    total,
    whole,
)
from penstock.executors.parts.rules.feel.refusal import NotSupported
from penstock.executors.parts.rules.feel.temporal import TEMPORAL, Months, read_data
from penstock.executors.parts.rules.feel.values import compare, equal, negative

_NUMBER = re.compile(r"\s*(-?)((?:\d{1,300}(?:\.\d{1,300})?|\.\d{1,300})(?:[eE][+-]?\d{1,3})?)\s*\Z", re.ASCII)
_MOST = 1_000


class Function(NamedTuple):
    call: Callable[..., Any]
    least: int = 1
    most: int = 1
    verdict: bool = False  # its value is true or false

    @property
    def arguments(self) -> str:
        """How many it takes, as the reference says it."""
        if self.most == _MOST:
            return f"{self.least} or more, or a list"
        return str(self.least) if self.least == self.most else f"{self.least} to {self.most}"


def _texts(call: Callable[..., Any]) -> Callable[..., Any]:
    """The call where every argument is a text; null otherwise."""
    return lambda *given: call(*given) if all(isinstance(argument, str) for argument in given) else None


def _numbers(call: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given: call(*given) if all(is_number(argument) for argument in given) else None


def _listed(value: Any) -> list[Any]:
    """FEEL: what is no list is a list of itself."""
    return value if isinstance(value, list) else [value]


def _many(call: Callable[[list[Any]], Any]) -> Callable[..., Any]:
    return lambda *given: call(_listed(given[0]) if len(given) == 1 else list(given))


def _many_numbers(call: Callable[[list[Any]], Any]) -> Callable[..., Any]:
    return _many(lambda values: call(values) if values and all(map(is_number, values)) else None)


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


def _absolute(value: Any) -> Any:
    if isinstance(value, Months):
        return Months(abs(value.months))
    if isinstance(value, timedelta):
        return abs(value)
    return (negative(value) if value < 0 else value) if is_number(value) else None


def _number(value: Any) -> Any:
    if is_number(value):
        return value
    match = _NUMBER.match(value) if isinstance(value, str) else None
    if match is None:
        return None
    return negative(literal(match[2])) if match[1] else literal(match[2])


def _text(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float | Decimal):
        return number_text(value)
    if isinstance(value, TEMPORAL):
        return temporal.text_of(value)
    raise NotSupported("string() of a list, a context or a range is not written")


def _substring(text: Any, start: Any, length: Any = None) -> Any:
    first, count = whole(start), whole(length)
    if not isinstance(text, str) or not first:
        return None
    begin = first - 1 if first > 0 else max(0, len(text) + first)
    return text[begin:] if count is None else text[begin : begin + max(0, count)]


def _contained(values: Any, wanted: Any) -> Any:
    return None if values is None else any(equal(wanted, each) is True for each in _listed(values))


# ---- moments ---------------------------------------------------------------------------------------------------------


def _date(*given: Any) -> Any:
    if len(given) == 3:
        year, month, day = map(integral, given)
        return None if year is None or month is None or day is None else temporal.make_date(year, month, day)
    if len(given) != 1:
        return None
    moment = _read(given[0])
    if isinstance(moment, datetime):
        return moment.date()
    return moment if isinstance(moment, date) else None


def _time(*given: Any) -> Any:
    if len(given) in (3, 4):
        hour, minute = map(integral, given[:2])
        offset = given[3] if len(given) == 4 else None
        if hour is None or minute is None or not is_number(given[2]) or not isinstance(offset, timedelta | None):
            return None
        return temporal.make_time(hour, minute, given[2], offset)
    if len(given) != 1:
        return None
    moment = _read(given[0])
    if isinstance(moment, datetime):
        return moment.timetz()
    if isinstance(moment, date):  # a day begins at midnight of UTC
        return temporal.make_time(0, 0, 0, timedelta())
    return moment if isinstance(moment, time) else None


def _moment(first: Any, clock: Any = Ellipsis) -> Any:
    day = _read(first)
    if not isinstance(day, date):
        return None
    if clock is Ellipsis:
        return day if isinstance(day, datetime) else temporal.midnight(day)
    day = day.date() if isinstance(day, datetime) else day
    return datetime.combine(day, clock) if isinstance(clock, time) else None


def _duration(value: Any) -> Any:
    span = _read(value)
    return span if isinstance(span, timedelta | Months) else None


def _read(value: Any) -> Any:
    return read_data(value) if isinstance(value, str) else value


FUNCTIONS: dict[str, Function] = {
    "not": Function(lambda value: (not value) if isinstance(value, bool) else None, verdict=True),
    "date": Function(_date, 1, 3),
    "time": Function(_time, 1, 4),
    "date and time": Function(_moment, 1, 2),
    "duration": Function(_duration),
    "number": Function(_number),
    "string": Function(_text),
    "abs": Function(_absolute),
    "floor": Function(_numbers(math.floor)),
    "ceiling": Function(_numbers(math.ceil)),
    "round": Function(_numbers(rounded), 1, 2),
    "sum": Function(_many_numbers(total), 1, _MOST),
    "mean": Function(_many_numbers(lambda values: calculate("/", total(values), len(values))), 1, _MOST),
    "count": Function(lambda values: None if values is None else len(_listed(values))),
    "min": Function(_many(lambda values: extreme(values, -1)), 1, _MOST),
    "max": Function(_many(lambda values: extreme(values, 1)), 1, _MOST),
    "contains": Function(_texts(lambda text, part: part in text), 2, 2, True),
    "starts with": Function(_texts(str.startswith), 2, 2, True),
    "ends with": Function(_texts(str.endswith), 2, 2, True),
    "upper case": Function(_texts(str.upper)),
    "lower case": Function(_texts(str.lower)),
    "string length": Function(_texts(len)),
    "substring": Function(_substring, 2, 3),
    "list contains": Function(_contained, 2, 2, True),
}
