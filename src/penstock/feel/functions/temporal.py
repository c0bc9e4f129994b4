"""Functions of calendar days, and those of the time of the evaluation: `now()` and `today()`."""

from __future__ import annotations

from typing import Any

from penstock.feel.evaluation import Evaluation, Fault
from penstock.feel.functions.signature import declare, family
from penstock.feel.values import temporal as T
from penstock.feel.values.temporal import Date, DateTime

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


def _day(value: Any) -> Date:
    return value.date if isinstance(value, DateTime) else value


def _now(evaluation: Evaluation) -> DateTime:
    if evaluation.now is None:
        raise Fault("now: the caller gave no time")
    return evaluation.now


def _today(evaluation: Evaluation) -> Date:
    return _now(evaluation).date


FUNCTIONS = family(
    "calendar",
    declare("day of year(date: date|date and time)", lambda value: T.day_of_year(_day(value))),
    declare("day of week(date: date|date and time)", lambda value: _DAYS[T.weekday(_day(value)) - 1]),
    declare("month of year(date: date|date and time)", lambda value: _MONTHS[_day(value).month - 1]),
    declare("week of year(date: date|date and time)", lambda value: T.week_of_year(_day(value))),
    declare("now()", _now, evaluates=True),
    declare("today()", _today, evaluates=True),
)
