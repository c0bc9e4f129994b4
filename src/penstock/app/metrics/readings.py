"""The metrics of W-10.1.1 as they are now, for one tenant or for all."""

from __future__ import annotations

import msgspec

from penstock.app.language import LanguageFigures, Numbers
from penstock.app.metrics.collector import MetricsCollector, TenantStats, approves, total_of
from penstock.app.metrics.histogram import Histogram, beyond, quantile
from penstock.kernel.state import STATUS, WAITING
from penstock.store.run_lists import Gauges

OPEN = ("pending", "running", "waiting", "compensating")
ENDED = ("completed", "failed", "cancelled", "compensated")
VERSIONS = ("draft", "pending_approval", "approved", "active", "deprecated")
APPROVALS = ("approved", "rejected", "timeout", "cancelled")
P = 99


class Slowest(msgspec.Struct, frozen=True):
    """A quantile in milliseconds, and whether it is beyond the threshold: that is known exactly, the other is not."""

    ms: float | None
    beyond: bool
    type: str = ""


class Readings:
    """The current metrics of a tenant, or of all. Gauges are read from the store once."""

    def __init__(self, meter: MetricsCollector, tenant: str | None, now: int, gauges: Gauges | None = None) -> None:
        meter.sort(now)
        self.meter, self.tenant, self.now = meter, tenant, now
        self.of: TenantStats = total_of(meter, tenant)
        self._gauges = gauges or meter.gauges()

    def _mine(self, name: str) -> bool:
        return self.tenant is None or name == self.tenant

    # -- gauges --------------------------------------------------------------------------------------------------------

    def instances(self) -> dict[str, int]:
        counts = dict.fromkeys(OPEN, 0)
        for tenant, status, count in self._gauges.runs:
            if self._mine(tenant):
                word = STATUS[status].lower()
                counts[word if word in counts else "pending"] += count
        return counts

    def versions(self) -> dict[str, int]:
        counts = dict.fromkeys(VERSIONS, 0)
        for tenant, status, count in self._gauges.versions:
            if self._mine(tenant):
                counts[status] = counts.get(status, 0) + count
        return counts

    def waiting(self) -> int:
        return self.instances()[STATUS[WAITING].lower()]

    def pending_approvals(self) -> int:
        host, total = self.meter.host, 0
        for tenant, net, node, count in self._gauges.items:
            nodes = host.nets.get(net).nodes if host is not None and self._mine(tenant) else ()
            total += count if node < len(nodes) and approves(nodes[node]) else 0
        return total

    def letters(self) -> int:
        return sum(count for tenant, count in self._gauges.letters if self._mine(tenant))

    def breakers(self) -> int:
        return self.meter.breakers(self.tenant)

    def checkpoint(self) -> int:
        return self.of.checkpoint()

    def of_languages(self) -> list[tuple[LanguageFigures, Numbers]]:
        mine: dict[str, list[tuple[str, int]]] = {tenant: [] for tenant in self._tenants()}
        for tenant, status, count in self._gauges.versions:
            if tenant in mine:
                mine[tenant].append((status, count))
        versions = {tenant: sorted(seen) for tenant, seen in mine.items()}
        return [(figures, figures.read(versions, self.now)) for figures in self.meter.figures]

    def _tenants(self) -> set[str]:
        of = self._gauges
        return (
            {self.tenant} if self.tenant is not None else {*self.meter.of, *(row[0] for row in of.runs + of.versions)}
        )

    # -- rates and durations of 24 hours -------------------------------------------------------------------------------

    def success_rate(self) -> float | None:
        return _part(*self.of.runs())

    def node_error_rate(self) -> float | None:
        return _part(*self.of.nodes())

    def timeout_rate(self) -> float | None:
        return _part(*self.of.timeouts())

    def duration(self, limit_ms: int) -> Slowest:
        return _slow(self.of.duration, limit_ms)

    def node_duration(self, limit_ms: int) -> Slowest:
        """The slowest node type; one that is beyond the limit comes before those that are not."""
        kinds = [kind for kind in self.of.kinds.values() if not kind.waits]
        slowest = [_slow(kind.spread, limit_ms, kind.type) for kind in kinds]
        return max(slowest, key=lambda candidate: (candidate.beyond, candidate.ms or 0), default=Slowest(None, False))

    def per_second(self) -> tuple[dict[str, float], dict[str, float]]:
        """Rates over the last five minutes: executions by status, errors by node type."""
        ended = {word: float(self.of.ended[STATUS.index(word.upper())]) for word in ENDED}
        errors = {kind.type: float(kind.counts[1]) for kind in self.of.kinds.values()}
        shots = self.meter.shots
        at = shots[0].at if shots else self.now
        for name in (self.meter.of if self.tenant is None else (self.tenant,)) if shots else ():
            for status, count in shots[0].ended.get(name, {}).items():
                ended[STATUS[status].lower()] -= count
            for type, count in shots[0].errors.get(name, {}).items():
                errors[type] = errors.get(type, 0.0) - count
        over = max((self.now - at) / 1000, 1.0) if shots else max(self.meter.up_s(), 1.0)
        return (
            {word: count / over for word, count in ended.items()},
            {type: count / over for type, count in errors.items()},
        )


def _part(some: int, all_: int) -> float | None:
    return some / all_ if all_ else None


def _slow(spread: Histogram, limit_ms: int, type: str = "") -> Slowest:
    counts = spread.recent()
    return Slowest(quantile(spread.bounds, counts, P / 100), beyond(spread.bounds, counts, P, limit_ms), type)
