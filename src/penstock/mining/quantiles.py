"""Median and 95th percentile of many durations in bounded memory: exact first, then with a bounded error.

Up to EXACT values are kept as they are, and what is said of them is exact. Of more, only how many fell into each bucket
of a logarithmic scale is kept (a DDSketch): every quantile is then at most 1 % above or below the true one, and one
collection takes some 1,500 numbers at most, however many values there are.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter

EXACT = 20_000
RELATIVE_ERROR = 0.01
_GAMMA = (1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR)
_SCALE = 1 / math.log(_GAMMA)


class Durations:
    """Milliseconds, none below 0. The median of an even number of values is the mean of the two in the middle, rounded
    down; the 95th percentile is the smallest value that at least 95 % of all do not exceed."""

    __slots__ = ("add", "buckets", "folded", "recent", "total")

    def __init__(self) -> None:
        self.recent = array("q")
        self.add = self.recent.append  # the caller's loop is the hot one
        self.buckets: Counter[int] | None = None
        self.folded = 0
        self.total = 0

    def __len__(self) -> int:
        return self.folded + len(self.recent)

    def fold(self) -> None:
        """Called now and then by whoever adds: above EXACT values they become counts of buckets."""
        if len(self.recent) <= EXACT:
            return
        if self.buckets is None:
            self.buckets = Counter()
        self.buckets.update(_bucket(value) for value in self.recent)
        self.total += sum(self.recent)
        self.folded += len(self.recent)
        del self.recent[:]

    def sum(self) -> int:
        return self.total + sum(self.recent)

    def median(self) -> int | None:
        if not len(self):
            return None
        if self.buckets is None:
            values, middle = sorted(self.recent), len(self.recent) // 2
            return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) // 2
        return self._at_rank((len(self) + 1) // 2)

    def p95(self) -> int | None:
        if not len(self):
            return None
        rank = -(-95 * len(self) // 100)
        return sorted(self.recent)[rank - 1] if self.buckets is None else self._at_rank(rank)

    def _at_rank(self, rank: int) -> int:
        assert self.buckets is not None, "exact values are looked up, not estimated"
        counts = self.buckets + Counter(_bucket(value) for value in self.recent)
        below = 0
        for bucket in sorted(counts):
            below += counts[bucket]
            if below >= rank:
                return _middle(bucket)
        raise AssertionError("a rank is at most the number of values")


def _bucket(value: int) -> int:
    """Bucket n holds the values above gamma^(n-1) up to gamma^n; -1 holds 0."""
    return math.ceil(math.log(value) * _SCALE) if value > 0 else -1


def _middle(bucket: int) -> int:
    return round(2 * _GAMMA**bucket / (_GAMMA + 1)) if bucket >= 0 else 0
