"""Medians and 95th percentiles: exact while they are few, within one percent however many they are."""

from __future__ import annotations

import math
import random
import statistics

import pytest

from penstock.mining.event import Case, Event
from penstock.mining.map_counts import MapCounts
from penstock.mining.quantiles import EXACT, Durations


def durations(values: list[int], fold_every: int = 1000) -> Durations:
    found = Durations()
    for number, value in enumerate(values, 1):
        found.add(value)
        if number % fold_every == 0:
            found.fold()
    return found


def nearest_rank(values: list[int], share: float) -> int:
    return sorted(values)[math.ceil(share * len(values)) - 1]


@pytest.mark.parametrize("length", [1, 2, 3, 19, 20, 21, 1000, EXACT])
def test_few_values_are_exact(length: int) -> None:
    rng = random.Random(length)
    values = [rng.randint(0, 10**9) for _ in range(length)]
    found = durations(values)
    assert (found.median(), found.p95()) == (int(statistics.median(values)), nearest_rank(values, 0.95))
    assert (len(found), found.sum()) == (length, sum(values))


def test_none_has_no_median() -> None:
    assert (Durations().median(), Durations().p95(), Durations().sum(), len(Durations())) == (None, None, 0, 0)


@pytest.mark.parametrize("shape", ["even", "skewed", "zeros", "two heaps"])
def test_many_values_are_within_a_percent_in_little_memory(shape: str) -> None:
    rng = random.Random(4)
    draw = {
        "even": lambda: rng.randint(0, 10**7),
        "skewed": lambda: int(rng.lognormvariate(12, 3)),
        "zeros": lambda: 0 if rng.random() < 0.96 else rng.randint(1, 50),
        "two heaps": lambda: rng.choice([rng.randint(900, 1100), rng.randint(10**10, 10**11)]),
    }[shape]
    values = [draw() for _ in range(100_001)]
    found = durations(values)
    for said, share in ((found.median(), 0.5), (found.p95(), 0.95)):
        true = nearest_rank(values, share)
        assert said is not None and abs(said - true) <= 0.01 * true + 0.5
    assert (len(found), found.sum()) == (100_001, sum(values)), "counts and sums are always exact"
    assert found.buckets is not None and len(found.buckets) < 2_500
    assert len(found.recent) <= EXACT + 1000


def test_a_map_keeps_no_more_than_that_of_each_flow() -> None:
    """Of 45,000 cases of one variant, nothing is kept case by case."""
    counts, rng = MapCounts(), random.Random(8)
    waits = [rng.randint(1, 10**6) for _ in range(45_000)]
    for number, wait in enumerate(waits):
        counts.add(Case("", (Event("A", number, number - 5, "kim"), Event("B", number + wait, None, "lee"))))
    counts.count_sequences()
    (variant,), (handover,) = counts.variants.values(), counts.handovers.values()
    kept = (counts.elapsed, counts.waits[0, 1], counts.activities[0].work, variant.elapsed, handover)
    assert [len(each) for each in kept] == [45_000] * 5
    assert all(each.buckets is not None and len(each.recent) <= 1.5 * EXACT for each in kept)
    assert counts.flows[0, 1].wait.median() == pytest.approx(statistics.median(waits), rel=0.011)
