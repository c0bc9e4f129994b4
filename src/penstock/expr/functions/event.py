"""Event functions: matches_filter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.expr.filters import SCALES, matches
from penstock.expr.functions.contract import Function, family
from penstock.expr.limits import View, host_value
from penstock.expr.values import member


def _matches_filter(view: View, event: Any, wanted: Any) -> bool:
    return matches(event, wanted, _scales(view))


def _scales(view: View) -> Mapping[str, Mapping[str, float]]:
    """C-30: the usual ranks, and those that the tenant has set under `event_scales`."""
    try:
        own = member(host_value(view, "$tenant_config"), "event_scales")
    except KeyError:
        return SCALES
    if not isinstance(own, Mapping):
        return SCALES
    return {**SCALES, **{name: scale for name, scale in own.items() if isinstance(scale, Mapping)}}


EVENT = family(
    "event",
    Function(
        "matches_filter",
        "(event, filter) -> boolean",
        "Whether an event has what a filter wants: values, or operators such as $gte and $in.",
        _matches_filter,
        sees_view=True,
        reads=("$tenant_config",),
    ),
)
