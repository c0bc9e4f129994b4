"""Values as the expression language writes them."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any


def text_literal(value: Any) -> str:
    """A value as an expression writes it; texts have no escapes, so one with both quotes is put together."""
    if isinstance(value, str):
        if "'" not in value:
            return f"'{value}'"
        if '"' not in value:
            return f'"{value}"'
        parts = value.split("'")
        return "fn.concat(" + ', "\'", '.join(f"'{one}'" for one in parts) + ")"
    if isinstance(value, float):
        return format(Decimal(repr(value)), "f") if value - value == 0 else "null"
    if value is None or isinstance(value, bool | int):
        return json.dumps(value)
    if isinstance(value, list):
        return list_literal(value)
    if isinstance(value, dict) and all('"' not in str(k) for k in value):
        return "{" + ", ".join(f'"{k}": {text_literal(v)}' for k, v in value.items()) + "}"
    return "null"


def list_literal(values: list[Any]) -> str:
    return "[" + ", ".join(text_literal(one) for one in values) + "]"
