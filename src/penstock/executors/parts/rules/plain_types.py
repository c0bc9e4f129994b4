"""The types of a rule pack's fields, which are plain data, as FEEL types.

A type is the name of a kind, {"list": type}, {"fields": {name: type}}, or {"type": type, "values": unary tests}.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock import feel
from penstock.executors.parts.rules.dmn.item_types import NamedContext, kind_named
from penstock.feel.types import ANY, Constrained, ListType, Type

_DEEPEST = 20


def plain_type(type: Any, depth: int = 0) -> Type:
    """The FEEL type; what says nothing is any. Raises FeelSyntaxError for values that cannot be read."""
    if isinstance(type, str):
        return kind_named(type) or ANY
    if not isinstance(type, Mapping) or depth > _DEEPEST:
        return ANY
    if "list" in type:
        return ListType(plain_type(type["list"], depth + 1))
    if isinstance(fields := type.get("fields"), Mapping):
        return NamedContext(
            {str(name): plain_type(field, depth + 1) for name, field in fields.items()},
            f"context with {', '.join(fields)}",
        )
    base, values = plain_type(type.get("type", "Any"), depth + 1), str(type.get("values", ""))
    return Constrained(base, feel.compile_unary_tests(values).matches, values[:60]) if values else base
