"""Types: what `instance of` asks, and how values become what a parameter or an item definition wants.

A value conforms to a type, or is converted as the standard allows (a list of one and its member, a date where a date
and time is wanted), or becomes null with a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.feel.evaluation import Fault
from penstock.feel.values.functions import Function
from penstock.feel.values.kinds import kind_of
from penstock.feel.values.ranges import Range
from penstock.feel.values.temporal import Date, DateTime, read_date, read_duration, read_moment, read_time


class Type:
    """What a value may be."""

    def conforms(self, value: Any) -> bool:
        """Whether a value that is not null is of the type."""
        raise NotImplementedError

    def read(self, value: Any) -> Any:
        """Data of JSON as the type: a text becomes the date that it stands for. What does not fit stays."""
        return value

    def accepts(self, other: Type) -> bool:
        """Whether every value of the other type is of this one."""
        return self == other or isinstance(other, Constrained) and self.accepts(other.base)


@dataclass(frozen=True, slots=True)
class AnyType(Type):
    def conforms(self, value: Any) -> bool:
        return True

    def accepts(self, other: Type) -> bool:
        return True

    def __str__(self) -> str:
        return "Any"


@dataclass(frozen=True, slots=True)
class Simple(Type):
    """A kind of the standard: number, string, boolean, …; `Null` has only null."""

    name: str

    def conforms(self, value: Any) -> bool:
        kind = kind_of(value)
        return kind == self.name or (self.name == "duration" and kind.endswith("duration"))

    def read(self, value: Any) -> Any:
        reader = _READERS.get(self.name)
        if reader is None or type(value) is not str:
            return value
        try:
            read = reader(value)
        except Fault:
            return value
        return value if read is None else read

    def __str__(self) -> str:
        return self.name


def _moment(text: str) -> Any:
    date = read_date(text)
    return DateTime(date, 0) if date is not None else read_moment(text)


_READERS: dict[str, Callable[[str], Any]] = {
    "date": read_date,
    "time": read_time,
    "date and time": _moment,
    "days and time duration": read_duration,
    "years and months duration": read_duration,
    "duration": read_duration,
}


@dataclass(frozen=True, slots=True)
class ListType(Type):
    item: Type

    def conforms(self, value: Any) -> bool:
        return type(value) is list and all(item is None or self.item.conforms(item) for item in value)

    def read(self, value: Any) -> Any:
        return [self.item.read(item) for item in value] if type(value) is list else self.item.read(value)

    def accepts(self, other: Type) -> bool:
        return isinstance(other, ListType) and self.item.accepts(other.item)

    def __str__(self) -> str:
        return f"list<{self.item}>"


@dataclass(frozen=True, slots=True)
class RangeType(Type):
    item: Type

    def conforms(self, value: Any) -> bool:
        return type(value) is Range and all(end is None or self.item.conforms(end) for end in (value.low, value.high))

    def accepts(self, other: Type) -> bool:
        return isinstance(other, RangeType) and self.item.accepts(other.item)

    def __str__(self) -> str:
        return f"range<{self.item}>"


@dataclass(frozen=True, slots=True)
class ContextType(Type):
    """A context that has at least these entries; each may be null."""

    fields: Mapping[str, Type] = field(default_factory=dict)

    def conforms(self, value: Any) -> bool:
        return type(value) is dict and all(
            name in value and (value[name] is None or type.conforms(value[name])) for name, type in self.fields.items()
        )

    def read(self, value: Any) -> Any:
        if type(value) is not dict:
            return value
        return {name: self.fields[name].read(item) if name in self.fields else item for name, item in value.items()}

    def accepts(self, other: Type) -> bool:
        return isinstance(other, ContextType) and all(
            name in other.fields and wanted.accepts(other.fields[name]) for name, wanted in self.fields.items()
        )

    def __str__(self) -> str:
        return f"context<{', '.join(f'{name}: {type}' for name, type in self.fields.items())}>"


@dataclass(frozen=True, slots=True)
class FunctionType(Type):
    """Functions that may be called with these types and then give that one."""

    parameters: tuple[Type, ...] = ()
    result: Type = field(default_factory=AnyType)

    def conforms(self, value: Any) -> bool:
        if not isinstance(value, Function):
            return False
        if len(value.parameters) != len(self.parameters) and not value.variadic:
            return False
        given = [parameter.type or ANY for parameter in value.parameters]
        return all(own.accepts(wanted) for own, wanted in zip(given, self.parameters, strict=False)) and (
            value.result is None or self.result.accepts(value.result)
        )

    def accepts(self, other: Type) -> bool:
        return (
            isinstance(other, FunctionType)
            and len(other.parameters) == len(self.parameters)
            and all(theirs.accepts(own) for own, theirs in zip(self.parameters, other.parameters, strict=True))
            and self.result.accepts(other.result)
        )

    def __str__(self) -> str:
        return f"function<{', '.join(map(str, self.parameters))}> -> {self.result}"


@dataclass(frozen=True, slots=True)
class AnyFunction(Type):
    def conforms(self, value: Any) -> bool:
        return isinstance(value, Function)

    def accepts(self, other: Type) -> bool:
        return isinstance(other, FunctionType | AnyFunction)

    def __str__(self) -> str:
        return "function"


@dataclass(frozen=True, slots=True)
class Constrained(Type):
    """A type whose values must pass a test: the allowed values of an item definition."""

    base: Type
    test: Callable[[Any], bool] = field(compare=False)
    text: str = ""

    def conforms(self, value: Any) -> bool:
        return self.base.conforms(value) and self.test(value)

    def read(self, value: Any) -> Any:
        return self.base.read(value)

    def accepts(self, other: Type) -> bool:
        return self == other

    def __str__(self) -> str:
        return f"{self.base} ({self.text})" if self.text else str(self.base)


@dataclass(frozen=True, slots=True)
class Unknown(Type):
    """A name that no type has: nothing conforms to it."""

    name: str

    def conforms(self, value: Any) -> bool:
        return False

    def __str__(self) -> str:
        return self.name


ANY = AnyType()
NULL = Simple("Null")
NUMBER = Simple("number")
STRING = Simple("string")
BOOLEAN = Simple("boolean")
DATE = Simple("date")
TIME = Simple("time")
MOMENT = Simple("date and time")
DAYS_TIME = Simple("days and time duration")
YEARS_MONTHS = Simple("years and months duration")
#: the types of the standard by their names
BUILT_IN: Mapping[str, Type] = {
    "Any": ANY,
    "Null": NULL,
    "number": NUMBER,
    "string": STRING,
    "boolean": BOOLEAN,
    "date": DATE,
    "time": TIME,
    "date and time": MOMENT,
    "dateTime": MOMENT,
    "days and time duration": DAYS_TIME,
    "dayTimeDuration": DAYS_TIME,
    "years and months duration": YEARS_MONTHS,
    "yearMonthDuration": YEARS_MONTHS,
    "duration": Simple("duration"),
    "list": ListType(ANY),
    "range": RangeType(ANY),
    "context": ContextType(),
    "function": AnyFunction(),
}


def is_instance(value: Any, type: Type) -> bool:
    """`value instance of type`: null is only of the type Null."""
    return type == NULL if value is None else type.conforms(value)


def coerced(value: Any, type: Type) -> Any:
    """The value as the type wants it; Fault where it does not conform. Null stays null."""
    if value is None or type.conforms(value):
        return value
    if isinstance(type, ListType) or (isinstance(type, Constrained) and isinstance(type.base, ListType)):
        wrapped = [value]
        if kind_of(value) != "list" and type.conforms(wrapped):
            return wrapped
    elif kind_of(value) == "list" and len(value) == 1 and (value[0] is None or type.conforms(value[0])):
        return value[0]
    if isinstance(value, Date) and type == MOMENT:
        return DateTime(value, 0, 0)
    raise Fault(f"A {kind_of(value)} is no {type}")
