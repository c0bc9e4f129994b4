"""Percentiles, histograms and the interval of a share, for what many virtual runs have shown."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence

import msgspec

#: from this factor between slow and fast values on, bars of equal width would show the slow ones alone
_FAR_APART = 50


class Durations(msgspec.Struct):
    """How long something took, in milliseconds."""

    mean: float
    p5: float
    p50: float
    p80: float
    p90: float
    p95: float
    p99: float
    min: int
    max: int


class Bar(msgspec.Struct):
    from_ms: int
    to_ms: int
    count: int


def percentile(ordered: Sequence[int], share: float) -> float:
    """Between the two nearest values, in proportion (the inclusive method)."""
    if not ordered:
        return 0.0
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def durations_of(values: Sequence[int]) -> Durations | None:
    if not values:
        return None
    ordered = sorted(values)
    p5, p50, p80, p90, p95, p99 = (percentile(ordered, share) for share in (0.05, 0.5, 0.8, 0.9, 0.95, 0.99))
    return Durations(sum(ordered) / len(ordered), p5, p50, p80, p90, p95, p99, ordered[0], ordered[-1])


def histogram_of(values: Sequence[int], bars: int = 24) -> list[Bar]:
    """Bars of equal width; where the values lie far apart each is wider than the one before by the same factor, so that
    seconds and days are both seen. The last one holds everything beyond the 99th percentile, too."""
    if not values:
        return []
    ordered = sorted(values)
    low, high = ordered[0], max(math.ceil(percentile(ordered, 0.99)), ordered[0] + 1)
    bars = max(min(bars, high - low), 1)
    first = max(low, 1)
    if percentile(ordered, 0.95) > _FAR_APART * max(percentile(ordered, 0.05), 1):
        edges = [low, *(round(first * (high / first) ** (i / bars)) for i in range(1, bars + 1))]
    else:
        edges = [low + round((high - low) * i / bars) for i in range(bars + 1)]
    edges = sorted(set(edges))
    counts = [0] * (len(edges) - 1)
    for value in ordered:
        counts[min(bisect_right(edges, value), len(counts)) - 1] += 1
    edges[-1] = max(edges[-1], ordered[-1])
    return [Bar(edges[i], edges[i + 1], count) for i, count in enumerate(counts)]


def wilson(count: int, total: int, z: float = 1.959963984540054) -> tuple[float, float]:
    """The 95 % interval of a share by Wilson's score: it stays within 0 and 1, also for few runs."""
    if not total:
        return 0.0, 1.0
    share, square = count / total, z * z
    middle = (share + square / (2 * total)) / (1 + square / total)
    half = z * math.sqrt(share * (1 - share) / total + square / (4 * total * total)) / (1 + square / total)
    low = 0.0 if count == 0 else max(0.0, middle - half)
    return low, 1.0 if count == total else min(1.0, middle + half)
