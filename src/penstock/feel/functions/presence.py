"""Functions of what may be missing: `is defined`, `get or else`.

The standard has neither; Camunda 8 has both, and its processes are full of them. A name that nothing has is null, so
both ask for null.
"""

from __future__ import annotations

from penstock.feel.functions.signature import declare, family

FUNCTIONS = family(
    "presence",
    declare("is defined(value: Any)", lambda value: value is not None),
    declare("get or else(value: Any, default: Any)", lambda value, default: default if value is None else value),
)
