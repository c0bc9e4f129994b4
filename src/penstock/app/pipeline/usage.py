"""Usage: what the stages of executions have used, summed per tenant and day (F-8.3, F-X.35)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from penstock.app.pipeline.definitions import LANGUAGE
from penstock.app.pipeline.executions import StageLog, read_execution
from penstock.app.runs.queries import Queries
from penstock.store.run_lists import RunFilter

#: what is summed; of `peak_rss` the largest counts
_SUMMED = ("wall_ms", "cpu_ms", "bytes_in", "bytes_out", "llm_tokens")
#: settings that say what one of them costs: `pipelines.rates.cpu_ms = 0.000001`
_RATE = "pipelines.rates."
_PAGE = 200


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
    """By the days on which executions were created, the oldest first. Costs a fold of each of them."""
    days: dict[str, DayUsage] = {}
    below = door.store.last_run() + 1
    while True:
        wanted = RunFilter(tenant=door.tenant, below=below, since=since, until=until)
        rows = door.store.find_runs(wanted, _PAGE)
        for row in rows:
            below = row.no
            if door.nets.get(row.net).net.language != LANGUAGE:
                continue
            look, logs = read_execution(door, row)
            day = datetime.fromtimestamp(row.created_at / 1000, UTC).date().isoformat()
            total = days.setdefault(day, DayUsage(row.tenant, day))
            total.executions += 1
            total.completed += look.status == "COMPLETED"
            total.failed += look.status in ("FAILED", "TIMEOUT")
            for log in logs:
                _add(total, log)
        if len(rows) < _PAGE:
            break
    for total in days.values():
        total.cost = _cost(total, door.settings)
    return [days[day] for day in sorted(days)]


def _add(total: DayUsage, log: StageLog) -> None:
    for name in _SUMMED:
        setattr(total, name, getattr(total, name) + int(log.usage.get(name) or 0))
    total.peak_rss = max(total.peak_rss, int(log.usage.get("peak_rss") or 0))


def _cost(total: DayUsage, settings: Mapping[str, Any]) -> float | None:
    rates = {name: settings.get(_RATE + name) for name in _SUMMED}
    known = {name: float(rate) for name, rate in rates.items() if isinstance(rate, int | float)}
    return sum(rate * getattr(total, name) for name, rate in known.items()) if known else None
