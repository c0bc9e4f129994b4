"""Writes values as literals of the expression language."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any


def expression_literal(value: Any) -> str:
    """The literal of a value. Text literals have no escapes, so a text with both quotes is concatenated."""
    if isinstance(value, str):
        if "'" not in value:
            return f"'{value}'"
        if '"' not in value:
            return f'"{value}"'
        parts = value.split("'")
        return "fn.concat(" + ', "\'", '.join(f"'{part}'" for part in parts) + ")"
    if isinstance(value, float):
        return format(Decimal(repr(value)), "f") if value - value == 0 else "null"
    if value is None or isinstance(value, bool | int):
        return json.dumps(value)
    if isinstance(value, list):
        return list_literal(value)
    if isinstance(value, dict) and all('"' not in str(k) for k in value):
        return "{" + ", ".join(f'"{k}": {expression_literal(v)}' for k, v in value.items()) + "}"
    return "null"


def list_literal(values: list[Any]) -> str:
    return "[" + ", ".join(expression_literal(value) for value in values) + "]"
