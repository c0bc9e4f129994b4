"""The kind of a value, in the words of the standard."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from penstock.feel.values.functions import Function
from penstock.feel.values.ranges import Range
from penstock.feel.values.temporal import Date, DateTime, DaysTime, Time, YearsMonths

KINDS: dict[type, str] = {
    type(None): "Null",
    bool: "boolean",
    int: "number",
    Decimal: "number",
    str: "string",
    list: "list",
    dict: "context",
    Range: "range",
    Function: "function",
    Date: "date",
    Time: "time",
    DateTime: "date and time",
    DaysTime: "days and time duration",
    YearsMonths: "years and months duration",
}


def kind_of(value: Any) -> str:
    kind = KINDS.get(type(value))
    if kind is None:
        kind = "function" if isinstance(value, Function) else type(value).__name__
    return kind
