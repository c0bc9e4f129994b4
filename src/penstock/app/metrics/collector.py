"""The metrics collector (W-10.1): it counts every committed turn and is read on a scrape.

What is on the way of a turn is a few dictionary lookups and an append; everything else happens when it is looked at.
Totals count from the start of the process, as Prometheus expects. Rates and the alarms' durations are of the last 24
hours, by the hour; what the store knows of the hours before the start is read once.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.app.language import LanguageFigures, app_languages
from penstock.app.metrics.histogram import HOUR_MS, HOURS, PEOPLE, Histogram, added
from penstock.app.metrics.tiles import WAITS, part_of, type_of
from penstock.app.runs.search import LONGEST_MS
from penstock.dialects.net_nodes import is_companion, is_synthetic
from penstock.kernel import fact as F
from penstock.kernel.state import COMPENSATED, COMPLETED, FAILED, FAILURE, SKIPPED
from penstock.net.compiled import CNode, Compiled
from penstock.store.contract import Store
from penstock.store.run_lists import Gauges
from penstock.store.run_store import Batch

#: so many firings of the last day are counted when it begins
_FIRINGS = 20_000

if TYPE_CHECKING:
    from penstock.host.embedded import Host
    from penstock.host.loaded_run import LoadedRun
    from penstock.kernel.run import Run

SORT_EVERY = 4096  # turns: what has come is never more than this
FEW = 5_000  # so many checkpoints are read at the start
RATE_MS = 300_000
BADLY = (FAILED, COMPENSATED)
CHECKPOINT_SIZE = 8  # the column
PASSED, WORK_MOVED = F.PASSED, F.WORK_MOVED


class NodeTypeStats:
    """One type of node of one tenant. What waits is not slow (C-62): its durations are not looked at by alarms."""

    __slots__ = ("counts", "hours", "passed", "pending", "seen", "spread", "type", "waits")

    def __init__(self, type: str, waits: bool) -> None:
        self.type, self.waits, self.spread = type, waits, Histogram()
        self.pending = self.spread.pending
        self.counts = [0, 0, 0, 0]  # done, failed, skipped, interrupted
        self.passed = 0  # control nodes: they take no time and cannot fail, so no rate is made of them
        self.seen = [0, 0]
        self.hours: dict[int, list[int]] = {}  # executed, failed

    def executed(self) -> int:
        return sum(self.counts) - self.counts[SKIPPED]

    def sort(self, now: int) -> None:
        self.spread.sort(now)
        total = [self.executed(), self.counts[FAILURE]]
        if total != self.seen:
            self.put(total[0] - self.seen[0], total[1] - self.seen[1], now)
            self.seen = total
        _forget(self.hours, now)

    def put(self, executed: int, failed: int, at: int) -> None:
        counts = self.hours.setdefault(at // HOUR_MS, [0, 0])
        counts[0] += executed
        counts[1] += failed


class TenantStats:
    """The counters of one tenant."""

    def __init__(self) -> None:
        self.ended: Counter[int] = Counter()  # by status
        self.ended_hours: dict[int, Counter[int]] = {}
        self.duration = Histogram()
        self.kinds: dict[str, NodeTypeStats] = {}
        self.plans: dict[Compiled, MeteredNet] = {}
        self.approvals: Counter[str] = Counter()  # approved, rejected, timeout, cancelled
        self.approval_hours: dict[int, Counter[str]] = {}  # asked: closed or timed out; late: timed out
        self.response = Histogram(PEOPLE)
        self.late: set[tuple[str, int]] = set()  # approvals that were escalated and are still open
        self.checkpoints: dict[int, int] = {}  # hour → the largest

    def sort(self, now: int) -> None:
        for kind in self.kinds.values():
            kind.sort(now)
        self.duration.sort(now)
        self.response.sort(now)
        for hours in (self.ended_hours, self.approval_hours, self.checkpoints):
            _forget(hours, now)

    def kind(self, type: str, waits: bool) -> NodeTypeStats:
        stats = self.kinds.get(type)
        if stats is None:
            stats = self.kinds[type] = NodeTypeStats(type, waits)
        return stats

    # -- of the last 24 hours ------------------------------------------------------------------------------------------

    def runs(self) -> tuple[int, int]:
        """C-62: the completed runs, and all that count: completed, failed and compensated, not cancelled."""
        every = sum(self.ended_hours.values(), Counter[int]())
        return every[COMPLETED], every[COMPLETED] + sum(every[status] for status in BADLY)

    def nodes(self) -> tuple[int, int]:
        """How many nodes finally failed, and how many were executed."""
        hours = [counts for kind in self.kinds.values() for counts in kind.hours.values()]
        return sum(counts[1] for counts in hours), sum(counts[0] for counts in hours)

    def timeouts(self) -> tuple[int, int]:
        every = sum(self.approval_hours.values(), Counter[str]())
        return every["late"], every["asked"]

    def checkpoint(self) -> int:
        return max(self.checkpoints.values(), default=0)


class MeteredNet:
    """What a net's nodes are counted as, by number; None: as nothing. `parts` of an author's node are counted only
    where they fail. `asks`: those that ask people to approve."""

    __slots__ = ("asks", "kinds", "parts")

    def __init__(self, net: Compiled, mine: TenantStats) -> None:
        kinds = [None if _hidden(node) else _kind(node, mine) for node in net.nodes]
        self.kinds = [None if part_of(node) else kind for node, kind in zip(net.nodes, kinds, strict=True)]
        self.parts = [kind if part_of(node) else None for node, kind in zip(net.nodes, kinds, strict=True)]
        self.asks = frozenset(node.no for node in net.nodes if node.spec.work is not None and approves(node))


def _hidden(node: CNode) -> bool:
    return is_companion(node) or is_synthetic(node)


def _kind(node: CNode, mine: TenantStats) -> NodeTypeStats:
    return mine.kind(type_of(node), node.spec.kind in WAITS)


def approves(node: CNode) -> bool:
    return not _hidden(node) and type_of(node) == "APPROVAL"


def _forget(hours: dict[int, Any], now: int) -> None:
    first = now // HOUR_MS - HOURS
    for hour in [old for old in hours if old <= first]:
        del hours[hour]


class Snapshot(msgspec.Struct, frozen=True):
    """Totals at a moment, for rates."""

    at: int
    ended: dict[str, Counter[int]]
    errors: dict[str, Counter[str]]


class MetricsCollector:
    """One per process. `attach` before the engine's first turn."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.of: dict[str, TenantStats] = {}
        self.turns = 0
        self.shots: deque[Snapshot] = deque()
        self.host: Host | None = None
        self.began = time.monotonic()
        self.requests: Counter[tuple[str, str, int]] = Counter()  # method, route, status
        self.latencies: dict[str, Histogram] = {}  # by route
        self.figures: list[LanguageFigures] = []  # of languages that have some
        self._plan: tuple[str, Compiled | None, MeteredNet | None] = ("", None, None)

    def attach(self, host: Host) -> None:
        self.host = host
        settings = host.dispatch.services.settings
        made = (language.figures(self.store, partial(_net_of, host), settings) for language in app_languages())
        self.figures = [figures for figures in made if figures is not None]
        self._remember(host.clock.now())
        host.turns.on_facts.append(self._turn)
        host.turns.on_end.append(self._end)
        host.turns.rows.on_language_rows.append(self._saved)

    # -- told ----------------------------------------------------------------------------------------------------------

    def _turn(self, live: LoadedRun, facts: list[F.Fact], n: int, now: int) -> None:
        run = live.run
        self.turns += 1
        if not self.turns % SORT_EVERY:
            self.sort(now)
        if run is None:
            return
        tenant, net, plan = self._plan
        if net is not run.net or tenant != live.tenant or plan is None:
            plan = self._planned(live.tenant, run.net)
        kinds, asked = plan.kinds, False
        for f in facts:
            tag = f[0]
            if tag == PASSED:
                kind = kinds[f[2]]
                if kind is not None:
                    kind.passed += 1
            elif tag == WORK_MOVED:
                asked = True
        for firing, how in run.ended:
            kind = kinds[firing.node] if how != FAILURE else kinds[firing.node] or plan.parts[firing.node]
            if kind is not None:
                kind.counts[how] += 1
                kind.pending.append(now - firing.at)
                asked = asked or kind.waits
        if asked and plan.asks:
            self._asked(live, run, facts, now)

    def _planned(self, tenant: str, net: Compiled) -> MeteredNet:
        mine = self.tenant(tenant)
        plan = mine.plans.get(net)
        if plan is None:
            plan = mine.plans[net] = MeteredNet(net, mine)
        self._plan = (tenant, net, plan)
        return plan

    def tenant(self, name: str) -> TenantStats:
        stats = self.of.get(name)
        if stats is None:
            stats = self.of[name] = TenantStats()
        return stats

    def _asked(self, live: LoadedRun, run: Run, facts: list[F.Fact], now: int) -> None:
        """Count the outcomes of approvals: decided, timed out, or ended with their run."""
        plan, mine = self._planned(live.tenant, run.net), self.tenant(live.tenant)
        for f in facts:
            if f[0] == F.WORK_MOVED and f[3] == "escalate" and f[4] is None:
                firing = run.st.firings.get(f[1])
                if firing is not None and firing.node in plan.asks:
                    self._late(mine, (live.id, f[1]), now)
        outputs = {f[1]: f[7] for f in facts if f[0] == F.SETTLED}
        for firing, how in run.ended:
            if firing.node in plan.asks:
                self._closed(mine, (live.id, firing.no), outputs.get(firing.no), how, now - firing.at, now)

    def _late(self, mine: TenantStats, at: tuple[str, int], now: int) -> None:
        if at not in mine.late:
            mine.late.add(at)
            mine.approvals["timeout"] += 1
            mine.approval_hours.setdefault(now // HOUR_MS, Counter()).update(("late", "asked"))

    def _closed(self, mine: TenantStats, at: tuple[str, int], output: Any, how: int, took: int, now: int) -> None:
        answer = output if isinstance(output, dict) else {}
        if answer.get("timed_out") is True:
            self._late(mine, at, now)
        elif how <= FAILURE:
            mine.response.pending.append(took)
        status = answer.get("status")
        mine.approvals[status if status in ("approved", "rejected") else "cancelled"] += 1
        if at in mine.late:
            mine.late.discard(at)
        else:
            mine.approval_hours.setdefault(now // HOUR_MS, Counter())["asked"] += 1

    def _end(self, live: LoadedRun) -> None:
        run, mine = live.run, self.tenant(live.tenant)
        if run is None:
            return
        st = run.st
        mine.ended[st.status] += 1
        mine.ended_hours.setdefault(st.at // HOUR_MS, Counter())[st.status] += 1
        mine.duration.pending.append(st.active_ms)

    def _saved(self, live: LoadedRun, now: int, batch: Batch) -> None:
        for row in reversed(batch.checkpoint):
            if row[0] != live.id:
                break
            sizes = self.tenant(live.tenant).checkpoints
            sizes[now // HOUR_MS] = max(sizes.get(now // HOUR_MS, 0), row[CHECKPOINT_SIZE])

    def requested(self, method: str, route: str, status: int, ms: float) -> None:
        self.requests[method, route, status] += 1
        spread = self.latencies.get(route)
        if spread is None:
            spread = self.latencies[route] = Histogram()
        spread.pending.append(round(ms))

    # -- asked ---------------------------------------------------------------------------------------------------------

    def sort(self, now: int) -> None:
        for mine in self.of.values():
            mine.sort(now)
        for spread in self.latencies.values():
            spread.sort(now)

    def tick(self, now: int) -> None:
        """Keep the totals every few seconds, for rates."""
        self.sort(now)
        ended = {name: Counter(mine.ended) for name, mine in self.of.items()}
        errors = {
            name: Counter({kind.type: kind.counts[FAILURE] for kind in mine.kinds.values()})
            for name, mine in self.of.items()
        }
        self.shots.append(Snapshot(now, ended, errors))
        while self.shots and self.shots[0].at < now - RATE_MS:
            self.shots.popleft()

    def gauges(self) -> Gauges:
        return self.store.gauges()

    def up_s(self) -> float:
        return time.monotonic() - self.began

    def breakers(self, tenant: str | None) -> int:
        known = self.host.gate.breakers if self.host is not None else {}
        return sum(
            state.status == "open" and (tenant is None or name.startswith(f"{tenant}/"))
            for name, state in known.items()
        )

    # -- before the start ----------------------------------------------------------------------------------------------

    def _remember(self, now: int) -> None:
        """Load how runs and nodes ended in the hours before the start. Active time is not in rows."""
        since = (now // HOUR_MS - HOURS + 1) * HOUR_MS
        floor = self.store.first_run_at(since - LONGEST_MS)
        nets: dict[int, Compiled] = {}
        for tenant in self.store.tenants():
            mine = self.tenant(tenant)
            for hour, status, count in self.store.ended_counts(tenant, since):
                mine.ended_hours.setdefault(hour, Counter())[status] += count
            for net, node, status, _, started, ended in self.store.firings_since(tenant, floor, since, _FIRINGS):
                self._executed(mine, nets, net, node, status, ended - started, ended)
        for tenant, size in self.store.largest_checkpoints(FEW):
            self.tenant(tenant).checkpoints[now // HOUR_MS] = size

    def _executed(
        self, mine: TenantStats, nets: dict[int, Compiled], number: int, node: int, status: int, ms: int, at: int
    ) -> None:  # fmt: skip
        net = nets.get(number)
        if net is None:
            assert self.host is not None
            net = nets[number] = self.host.nets.get(number)
        plan = mine.plans.get(net)
        if plan is None:
            plan = mine.plans[net] = MeteredNet(net, mine)
        if node >= len(plan.kinds) or status == SKIPPED:
            return
        kind = plan.kinds[node] or (plan.parts[node] if status == FAILURE else None)
        if kind is not None:
            kind.put(1, int(status == FAILURE), at)
            kind.spread.put([ms], at)


def _net_of(host: Host, hash: str) -> Compiled:
    numbered_net = host.nets.by_hash(hash)
    assert numbered_net is not None, "the journal names only nets that are kept"
    return numbered_net[1]


def total_of(meter: MetricsCollector, tenant: str | None) -> TenantStats:
    """The counters of one tenant, or the sum of all; for reading only."""
    if tenant is not None:
        return meter.of.get(tenant) or TenantStats()
    every = TenantStats()
    for mine in meter.of.values():
        every.ended.update(mine.ended)
        every.approvals.update(mine.approvals)
        for hour, ended in mine.ended_hours.items():
            every.ended_hours.setdefault(hour, Counter()).update(ended)
        for hour, asked in mine.approval_hours.items():
            every.approval_hours.setdefault(hour, Counter()).update(asked)
        for hour, size in mine.checkpoints.items():
            every.checkpoints[hour] = max(size, every.checkpoints.get(hour, 0))
        _add(every.duration, mine.duration)
        _add(every.response, mine.response)
        for kind in mine.kinds.values():
            other = every.kind(kind.type, kind.waits)
            other.passed += kind.passed
            other.counts = [total + count for total, count in zip(other.counts, kind.counts, strict=True)]
            _add(other.spread, kind.spread)
            for hour, (executed, failed) in kind.hours.items():
                other.put(executed, failed, hour * HOUR_MS)
    return every


def _add(to: Histogram, more: Histogram) -> None:
    to.counts = added((to.counts, more.counts), len(to.counts))
    to.sum_ms += more.sum_ms
    for hour, (counts, total) in more.hours.items():
        was, sum_ = to.hours.get(hour, ([0] * len(counts), [0]))
        to.hours[hour] = (added((was, counts), len(counts)), [sum_[0] + total[0]])
