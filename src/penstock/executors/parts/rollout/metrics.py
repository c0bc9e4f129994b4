"""Metrics of versions out of their uses: error rate, latencies, and how far the decisions of two versions differ."""

from __future__ import annotations

import math
from collections.abc import Mapping

#: fewer decisions on either side say nothing of how they are spread
ENOUGH = 20


def place_of(percentile: int, samples: int) -> int:
    """The place of a percentile, from 0, among so many values in their order (nearest rank)."""
    return max(0, -(-percentile * samples // 100) - 1)


def anomaly_score(new: Mapping[str, int], old: Mapping[str, int]) -> float | None:
    """The Jensen-Shannon distance of two sets of decisions: 0, they are spread alike; 1, they have nothing in common.
    None: there are too few."""
    sizes = sum(new.values()), sum(old.values())
    if min(sizes) < ENOUGH:
        return None
    divergence = 0.0
    for decision in new.keys() | old.keys():
        p, q = new.get(decision, 0) / sizes[0], old.get(decision, 0) / sizes[1]
        divergence += (_part(p, (p + q) / 2) + _part(q, (p + q) / 2)) / 2
    return math.sqrt(min(max(divergence, 0.0), 1.0))


def _part(share: float, mean: float) -> float:
    return share * math.log2(share / mean) if share else 0.0
