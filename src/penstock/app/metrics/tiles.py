"""The numbers of a day: tiles with the seeds' thresholds (W-10.1.1), runs per hour, slowest node types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, cast

import msgspec

from penstock.app.runs.queries import Queries
from penstock.app.runs.search import LONGEST_MS
from penstock.dialects.net_nodes import is_companion, is_synthetic
from penstock.expr.calendar import moment_at, text_of_moment
from penstock.kernel.state import (
    COMPENSATED,
    COMPENSATING,
    COMPLETED,
    FAILED,
    FAILURE,
    PENDING,
    RUNNING,
    SKIPPED,
    STATUS,
    WAITING,
)
from penstock.net.author import author
from penstock.net.compiled import CNode
from penstock.store.work_items import ItemGroup

HOUR_MS = 3_600_000
#: So many firings, of the newest runs, are what rates and times are made of.
SAMPLE = 5_000
#: So many open work items are counted by one question.
WINDOW = 5_000
SLOWEST = 10
#: What waits is not slow: C-62.
WAITS = frozenset({"work", "wait", "scope", "call"})
_BADLY = (FAILED, COMPENSATED)


class Tile(msgspec.Struct, kw_only=True):
    """`value` is None where there is nothing to count yet. `series` is by hour, the oldest first. Alarms compare
    strictly: exactly at the threshold there is none (W-10.1.2). `query` are the filters of the list that shows what it
    counts, one by one."""

    id: str
    value: float | None
    unit: str
    threshold: float | None
    alarm: bool
    detail: dict[str, Any] = {}
    series: list[float | None] = []
    query: dict[str, str] = {}


class Hour(msgspec.Struct, kw_only=True):
    """Runs that were completed or failed in an hour, and those that began in it and wait now."""

    at: int
    done: int = 0
    held: int = 0
    failed: int = 0


class SlowNode(msgspec.Struct, kw_only=True):
    node_type: str
    p95_ms: int
    count: int


class DayFigures:
    """Read once: the open runs, the runs that ended, a sample of firings, letters and work items."""

    def __init__(self, door: Queries, now: int) -> None:
        self.door, self.now = door, now
        self.first = now // HOUR_MS - 23
        self.since = self.first * HOUR_MS
        self.open: list[tuple[int, int, int, int]] = []
        self.ended: list[tuple[int, int, int]] = []
        self.items: list[ItemGroup] = []
        self.firings: list[tuple[int, ...]] = []
        self._nodes: dict[tuple[int, int], CNode | None] = {}

    def read(self) -> Iterator[None]:
        """Question by question: whoever reads in slices lets others have their turn in between."""
        store, tenant, since = self.door.store, self.door.tenant, self.since
        self.floor = store.first_run_at(since - LONGEST_MS)
        self.open = store.open_counts(tenant, since)
        yield
        self.ended = store.ended_counts(tenant, since)
        yield
        for window in store.item_windows(WINDOW):
            self.items += store.open_groups(tenant, since, window)
            yield
        self.letters, self.letters_by_hour = store.letter_counts(tenant, since)
        yield
        self.firings = store.firings_since(tenant, self.floor, since, SAMPLE)
        yield

    @property
    def counted(self) -> int:
        """How many rows the figures are made of: what reading them again would cost."""
        items = sum(group.count for group in self.items)
        return self.count_open() + self.count_ended() + items + len(self.firings)

    # -- runs ----------------------------------------------------------------------------------------------------------

    def count_open(self, *statuses: int) -> int:
        return sum(n for status, _, _, n in self.open if not statuses or status in statuses)

    def count_ended(self, *statuses: int) -> int:
        return sum(n for _, status, n in self.ended if not statuses or status in statuses)

    def hours(self) -> list[Hour]:
        hours = {hour: Hour(at=hour * HOUR_MS) for hour in range(self.first, self.first + 24)}
        for hour, status, count in self.ended:
            if hour in hours:
                hours[hour].done += count if status == COMPLETED else 0
                hours[hour].failed += count if status in _BADLY else 0
        for status, _, hour, count in self.open:
            if hour in hours and status == WAITING:
                hours[hour].held += count
        return list(hours.values())

    # -- nodes ---------------------------------------------------------------------------------------------------------

    def slowest(self) -> list[SlowNode]:
        """The slowest node types, by their 95th percentile."""
        times: dict[str, list[int]] = {}
        for net, node, _, _, started, ended in self.firings:
            compiled = self._node(net, node)
            if compiled is not None and compiled.spec.kind not in WAITS:
                times.setdefault(type_of(compiled), []).append(ended - started)
        slow = [SlowNode(node_type=type, p95_ms=p95(ms), count=len(ms)) for type, ms in times.items()]
        return sorted(slow, key=lambda slow_node: -slow_node.p95_ms)[:SLOWEST]

    def _node(self, net: int, node: int) -> CNode | None:
        known = self._nodes.get((net, node), self)
        if known is self:
            nodes = self.door.nets.get(net).nodes
            compiled = nodes[node] if node < len(nodes) else None  # it came here from another net
            mine = compiled is not None and not is_companion(compiled) and not is_synthetic(compiled)
            known = self._nodes[net, node] = compiled if mine else None
        return cast("CNode | None", known)

    # -- tiles ---------------------------------------------------------------------------------------------------------

    def tiles(self, breakers: list[str]) -> list[Tile]:
        return [self._running(), self._success(), self._approvals(), self._errors(), self._dead(), _broken(breakers)]

    def _since(self) -> str:
        return text_of_moment(moment_at(self.since))

    def _by_hour(self, counted: Counter[int]) -> list[float | None]:
        return [float(counted[hour]) for hour in range(self.first, self.first + 24)]

    def _running(self) -> Tile:
        """The open runs that do not wait. The threshold is that of the waiting ones (workflow_waiting_count)."""
        waiting = self.count_open(WAITING)
        ended = Counter[int]()
        for hour, _, count in self.ended:
            ended[hour] += count
        return Tile(
            id="running", value=float(self.count_open() - waiting), unit="runs", threshold=100, alarm=waiting > 100,
            detail={"waiting": waiting, "ended_24h": self.count_ended()}, series=self._by_hour(ended),
            query={"state": ",".join(STATUS[status] for status in (PENDING, RUNNING, COMPENSATING))},
        )  # fmt: skip

    def _success(self) -> Tile:
        """C-62: the share of completed runs among completed, failed and compensated; cancelled ones do not count."""
        good, all_ = Counter[int](), Counter[int]()
        for hour, status, count in self.ended:
            if status == COMPLETED or status in _BADLY:
                all_[hour] += count
                good[hour] += count if status == COMPLETED else 0
        value = _percent(good.total(), all_.total())
        return Tile(
            id="success_rate", value=value, unit="%", threshold=95, alarm=value is not None and value < 95,
            detail={"completed": good.total(), "counted": all_.total()},
            series=[_percent(good[hour], all_[hour]) for hour in range(self.first, self.first + 24)],
            query={"state": ",".join(STATUS[status] for status in (COMPLETED, *_BADLY)), "ended": self._since()},
        )  # fmt: skip

    def _approvals(self) -> Tile:
        asked = [
            item for item in self.items if (node := self._node(item.net, item.node)) and type_of(node) == "APPROVAL"
        ]
        opened = Counter[int]()
        for item in asked:
            opened[item.hour] += item.count
        count, oldest = opened.total(), min((item.oldest for item in asked), default=None)
        return Tile(
            id="approvals", value=float(count), unit="items", threshold=50, alarm=count > 50,
            detail={"work_items": sum(item.count for item in self.items), "oldest_at": oldest},
            series=self._by_hour(opened), query={"tab": "team", "kind": "approval"},
        )  # fmt: skip

    def _errors(self) -> Tile:
        """C-62: the share of executed nodes that finally failed. `runs`: where one did, if all were read."""
        bad, all_ = Counter[int](), Counter[int]()
        for net, node, status, _, _, ended in self.firings:
            compiled = self._node(net, node) if status != SKIPPED else None
            if compiled is not None and (status == FAILURE or not part_of(compiled)):
                all_[ended // HOUR_MS] += 1
                bad[ended // HOUR_MS] += status == FAILURE
        value, sampled = _percent(bad.total(), all_.total()), len(self.firings) == SAMPLE
        runs = None if sampled else self.door.store.count_failed_in(self.door.tenant, self.floor, self.since)
        return Tile(
            id="node_error_rate", value=value, unit="%", threshold=5, alarm=value is not None and value > 5,
            detail={"failed": bad.total(), "executed": all_.total(), "sampled": sampled, "runs": runs},
            series=[_percent(bad[hour], all_[hour]) for hour in range(self.first, self.first + 24)],
            query={"node_failed": self._since()},
        )  # fmt: skip

    def _dead(self) -> Tile:
        return Tile(
            id="dead_letters", value=float(self.letters), unit="letters", threshold=10, alarm=self.letters > 10,
            series=self._by_hour(Counter(dict(self.letters_by_hour))), query={"letter": "true"},
        )  # fmt: skip


def _broken(breakers: list[str]) -> Tile:
    """The open circuit breakers. Their past number is not kept, so there is no series."""
    return Tile(
        id="open_breakers", value=float(len(breakers)), unit="breakers", threshold=0, alarm=len(breakers) > 0,
        detail={"names": sorted(breakers)[:10]},
    )  # fmt: skip


def part_of(node: CNode) -> bool:
    """Whether a node is a part of one that the author drew: it is counted with that node, not beside it."""
    return author(node) != node.id


def type_of(node: CNode) -> str:
    spoken = node.net.by_id.get(author(node), node).spec
    return spoken.type or spoken.kind


def _percent(part: int, whole: int) -> float | None:
    return round(100 * part / whole, 2) if whole else None


def p95(times: list[int]) -> int:
    """The 95th percentile: the smallest time that at least 95 of 100 do not exceed."""
    ordered = sorted(times)
    return ordered[max(-(-95 * len(ordered) // 100) - 1, 0)]
