"""The types that a DMN file gives to names (`typeRef`): data is read as what it is said to be.

A type is plain data, as a rule pack keeps it: the name of a kind, {"list": type}, {"fields": {name: type}}, or {"type":
type, "values": unary tests}.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC
from typing import Any

from penstock.executors.parts.rules.feel import temporal
from penstock.executors.parts.rules.feel.closures import Value
from penstock.executors.parts.rules.feel.reader import compile_test
from penstock.executors.parts.rules.feel.temporal import TEMPORAL_TYPES, read_data
from penstock.executors.parts.rules.feel.values import kind_of

#: The kinds by all the names that files have for them.
KINDS = {
    "any": "Any", "number": "number", "integer": "number", "long": "number", "double": "number", "decimal": "number",
    "string": "string", "boolean": "boolean", "date": "date", "time": "time",
    "date and time": "date and time", "datetime": "date and time",
    "days and time duration": "days and time duration", "daytimeduration": "days and time duration",
    "years and months duration": "years and months duration", "yearmonthduration": "years and months duration",
    "duration": "duration", "context": "context", "list": "list",
}  # fmt: skip
Type = str | Mapping[str, Any]
Convert = Callable[[Any], Any]


class Unfit(Exception):
    """A value that is not of its type; the text says what it is."""


def kind_named(name: str) -> str:
    """The kind that a type's name means; empty for a name that means none."""
    return KINDS.get(name.rpartition(":")[2].strip().lower(), "")


def converter(type: Type, *, whole: bool = False) -> Convert:
    """Reads a value as the type; raises Unfit. What is null stays null. `whole`: a context must have all its fields,
    which data need not have."""
    if isinstance(type, str):
        return _of_kind(kind_named(type) or "Any")
    if "list" in type:
        return _of_list(converter(type["list"], whole=whole))
    if "fields" in type:
        return _of_fields({str(name): converter(field, whole=whole) for name, field in type["fields"].items()}, whole)
    base, values = converter(type.get("type", "Any"), whole=whole), str(type.get("values", ""))
    test = compile_test(values, (), base_kind(type))
    return base if test is None else _among(base, test, values)


def base_kind(type: Type) -> str:
    """The kind of a type that is no list and has no fields; else empty."""
    if isinstance(type, str):
        return kind_named(type)
    return base_kind(type["type"]) if "type" in type else ""


def _of_kind(kind: str) -> Convert:
    def convert(value: Any) -> Any:
        if value is None or kind == "Any":
            return value
        if isinstance(value, list) and len(value) == 1 and kind != "list":
            value = value[0]  # FEEL: a list of one is that one
        written = isinstance(value, str)
        if isinstance(value, str) and kind in TEMPORAL_TYPES:
            value = read_data(value) or value
        own = kind_of(value)
        if own == kind or (kind == "duration" and own.endswith("duration")):
            return value
        if kind == "date and time" and own == "date":  # DMN: midnight of UTC; a text of the data says no zone
            return temporal.midnight(value) if written else temporal.midnight(value).replace(tzinfo=UTC)
        raise Unfit(f"{_shown(value)} is a {own}, not a {kind}")

    return convert


def _of_list(item: Convert) -> Convert:
    def convert(value: Any) -> Any:
        if value is None:
            return None
        return [item(each) for each in value] if isinstance(value, list | tuple) else [item(value)]

    return convert


def _of_fields(fields: Mapping[str, Convert], whole: bool) -> Convert:
    def convert(value: Any) -> Any:
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise Unfit(f"{_shown(value)} is a {kind_of(value)}, not a context with {', '.join(fields)}")
        missing = [name for name in fields if name not in value]
        if missing and whole:
            raise Unfit(f"the context has no «{missing[0]}»")
        return {**value, **{name: read(value[name]) for name, read in fields.items() if name in value}}

    return convert


def _among(base: Convert, test: Value, values: str) -> Convert:
    def convert(value: Any) -> Any:
        value = base(value)
        items = value if isinstance(value, list) else [value]
        for item in items:
            if item is not None and test({}, item) is not True:
                raise Unfit(f"{_shown(item)} is not among {values[:60]}")
        return value

    return convert


def _shown(value: Any) -> str:
    return f"{value!r:.60}" if not isinstance(value, temporal.TEMPORAL) else f"«{temporal.text_of(value)}»"
