"""Checks a model's answer against a JSON Schema (the part of the standard that answers need), in a model's words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_TYPES: dict[str, Any] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "integer": int,
    "number": (int, float),
}  # fmt: skip


def answer_mismatch(value: Any, schema: Any, at: str = "answer") -> str | None:
    """The first thing that is wrong, as a sentence; None if nothing is."""
    if not isinstance(schema, Mapping):
        return None
    wanted = schema.get("type")
    types = [wanted] if isinstance(wanted, str) else wanted if isinstance(wanted, list) else []
    if types and not any(_is(value, kind) for kind in types):
        return f"{at} must be {' or '.join(map(str, types))}"
    if isinstance(schema.get("enum"), list) and value not in schema["enum"]:
        return f"{at} must be one of {schema['enum']}"
    if isinstance(value, dict):
        return _object(value, schema, at)
    if isinstance(value, list):
        least = schema.get("minItems")
        if isinstance(least, int) and len(value) < least:
            return f"{at} must have at least {least} {'entry' if least == 1 else 'entries'}"
        for index, item in enumerate(value):
            if wrong := answer_mismatch(item, schema.get("items"), f"{at}[{index}]"):
                return wrong
    if isinstance(value, int | float) and not isinstance(value, bool):
        if "minimum" in schema and value < schema["minimum"]:
            return f"{at} must be at least {schema['minimum']}"
        if "maximum" in schema and value > schema["maximum"]:
            return f"{at} must be at most {schema['maximum']}"
    return None


def _object(value: dict[str, Any], schema: Mapping[str, Any], at: str) -> str | None:
    properties = schema.get("properties") or {}
    for name in schema.get("required") or ():
        if name not in value:
            return f"{at}.{name} is missing"
    for name, item in value.items():
        if name not in properties and schema.get("additionalProperties") is False:
            return f"{at}.{name} was not asked for"
        if wrong := answer_mismatch(item, properties.get(name), f"{at}.{name}"):
            return wrong
    return None


def _is(value: Any, kind: Any) -> bool:
    known = _TYPES.get(str(kind))
    if known is None:
        return True
    if isinstance(value, bool):
        return known is bool
    return isinstance(value, known) or (kind == "integer" and isinstance(value, float) and value.is_integer())
