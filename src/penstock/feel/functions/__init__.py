"""The functions of FEEL, one table: a file per family."""

from __future__ import annotations

from penstock.feel.functions import (
    boolean,
    contexts,
    conversion,
    lists,
    numeric,
    presence,
    ranges,
    sorting,
    strings,
    temporal,
)
from penstock.feel.functions.signature import BuiltIn, merged

TABLE: dict[str, BuiltIn] = merged(
    conversion.FUNCTIONS,
    boolean.FUNCTIONS,
    strings.FUNCTIONS,
    lists.FUNCTIONS,
    numeric.FUNCTIONS,
    temporal.FUNCTIONS,
    ranges.FUNCTIONS,
    sorting.FUNCTIONS,
    contexts.FUNCTIONS,
    presence.FUNCTIONS,
)

__all__ = ["TABLE", "BuiltIn"]
