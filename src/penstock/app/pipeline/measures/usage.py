"""Usage: what the stages of executions have used, summed per tenant and day (F-8.3, F-X.35).

The sums are kept with every turn: reading them costs a row per day, however many executions there were.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.app.runs.queries import Queries
from penstock.dialects.pipeline.stage_rows import SUMMED, moment

#: settings that say what one of them costs: `pipelines.rates.cpu_ms = 0.000001`
_RATE = "pipelines.rates."


class DayUsage(msgspec.Struct, rename="camel"):
    """`cost` is none where no rate is set."""

    tenant_id: str
    day: str
    executions: int = 0
    completed: int = 0
    failed: int = 0
    wall_ms: int = 0
    cpu_ms: int = 0
    peak_rss: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    llm_tokens: int = 0
    cost: float | None = None


def usage(door: Queries, *, since: int = 0, until: int | None = None) -> list[DayUsage]:
    """By the days on which executions were created (UTC), the oldest first: each day that has a part of that time."""
    last = "9" if until is None else _day(max(0, until - 1)) + "~"
    days = [DayUsage(*msgspec.structs.astuple(row)) for row in door.store.usage_days(door.tenant, _day(since), last)]
    settings = door.settings
    for day in days:
        day.cost = cost(msgspec.structs.asdict(day), settings)
    return days


def cost(used: Mapping[str, Any], settings: Mapping[str, Any]) -> float | None:
    """What was used, by the rates of the settings; None where there are none."""
    rates = {name: settings.get(_RATE + name) for name in SUMMED}
    known = {
        name: float(rate) for name, rate in rates.items() if isinstance(rate, int | float) and type(rate) is not bool
    }
    return sum(rate * int(used.get(name) or 0) for name, rate in known.items()) if known else None


def _day(at: int) -> str:
    return moment(at)[:10]
