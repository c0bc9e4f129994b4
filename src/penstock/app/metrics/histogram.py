"""The distribution of durations: a histogram since the start, and one for each of the last 24 hours."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

HOUR_MS = 3_600_000
HOURS = 24
#: upper bounds in milliseconds; the alarms' thresholds (10 s, 60 s) are among them, so that they are compared exactly
WORK = (5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 120_000, 300_000, 900_000, 3_600_000)
#: for people, who take longer
PEOPLE = (
    60_000, 300_000, 900_000, 1_800_000, 3_600_000, 7_200_000, 14_400_000, 28_800_000, 86_400_000, 172_800_000,
    604_800_000,
)  # fmt: skip


class Histogram:
    """A histogram that collects cheaply: a duration is appended to a list, and sorted into buckets before a read."""

    __slots__ = ("bounds", "counts", "hours", "pending", "sum_ms")

    def __init__(self, bounds: Sequence[int] = WORK) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum_ms = 0
        self.pending: list[int] = []
        self.hours: dict[int, tuple[list[int], list[int]]] = {}  # counts; sum

    def sort(self, now: int) -> None:
        """Sort the pending durations into the buckets of this hour."""
        if self.pending:
            came = self.pending.copy()
            self.pending.clear()
            self.put(came, now)
            self.sum_ms += sum(came)
            for ms in came:
                self.counts[bisect_left(self.bounds, ms)] += 1
        first = now // HOUR_MS - HOURS
        for hour in [old for old in self.hours if old <= first]:
            del self.hours[hour]

    def put(self, came: Sequence[int], at: int) -> None:
        """Add durations to the hours only: they are from before this process."""
        counts, total = self.hours.setdefault(at // HOUR_MS, ([0] * (len(self.bounds) + 1), [0]))
        for ms in came:
            counts[bisect_left(self.bounds, ms)] += 1
            total[0] += ms

    @property
    def count(self) -> int:
        return sum(self.counts)

    # -- of the last 24 hours ------------------------------------------------------------------------------------------

    def recent(self) -> list[int]:
        totals = [0] * (len(self.bounds) + 1)
        for counts, _ in self.hours.values():
            for i, count in enumerate(counts):
                totals[i] += count
        return totals

    def mean_ms(self) -> float | None:
        count = sum(self.recent())
        return sum(total[0] for _, total in self.hours.values()) / count if count else None


def quantile(bounds: Sequence[int], counts: Sequence[int], part: float) -> float | None:
    """A quantile as Prometheus estimates it: linear within a bucket, and the last bound where it lies beyond."""
    total = sum(counts)
    if not total:
        return None
    rank, below = part * total, 0
    for i, count in enumerate(counts):
        if count and below + count >= rank:
            if i == len(bounds):
                return float(bounds[-1])
            low = bounds[i - 1] if i else 0
            return low + (bounds[i] - low) * (rank - below) / count
        below += count
    return float(bounds[-1])


def beyond(bounds: Sequence[int], counts: Sequence[int], percent: int, limit: int) -> bool:
    """Is the quantile greater than one of the bounds? Exactly: so many of a hundred are not within it."""
    within = sum(counts[: bounds.index(limit) + 1])
    return within * 100 < percent * sum(counts)


def added(all_: Sequence[Sequence[int]], size: int) -> list[int]:
    totals = [0] * size
    for counts in all_:
        for i, count in enumerate(counts):
            totals[i] += count
    return totals
