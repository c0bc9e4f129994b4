"""Short ways to evaluate in tests, and a comparison that tells 1 from 1.0 and from true."""

from __future__ import annotations

import json
from typing import Any

from penstock.expr import compile_expression, compile_template


def value(source: str, view: dict[str, Any] | None = None, **roots: Any) -> Any:
    return compile_expression(source)({**(view or {}), **roots})


def template(source: str, view: dict[str, Any] | None = None, **roots: Any) -> Any:
    return compile_template(source)({**(view or {}), **roots})


def exact(one: Any, two: Any) -> bool:
    """Equal as JSON texts: the same kinds, the same order of members."""
    return json.dumps(one) == json.dumps(two)
