"""The statistics of simulations against a second implementation, against scipy, and against printed p-values."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from statistics import fmean, variance

import pytest

from penstock.executors.parts.simulation import sampling, significance
from penstock.executors.parts.simulation.metrics import NAMES, Opinion, confusion, measure
from penstock.executors.parts.simulation.order import Comparison
from penstock.lang.decision.nodes.simulate import MODIFICATIONS

stats = pytest.importorskip("scipy.stats")
CLOSE = {"rel": 1e-9, "abs": 1e-9}


def test_known_p_values() -> None:
    """TC-WF-011: three tests against known values.

    chi_square: 2x2 with 10, 20 / 20, 10: χ² = 60·(10·10-20·20)²/(30·30·30·30) = 6.667 with 1 degree; p = 0.009823.
    t_test: 1…5 against 2…6: t = 1 with 8 degrees; p = 0.3466, as any table of t has it.
    ks_test: two samples that do not overlap, 5 and 5: D = 1, p = 2/C(10,5) = 0.0079365."""
    chi = significance.chi_square([10, 20], [20, 10])
    assert chi.statistic == pytest.approx(20 / 3) and chi.p_value == pytest.approx(0.009823274507519235, **CLOSE)
    assert chi.effect == pytest.approx(1 / 3) and chi.degrees_of_freedom == 1
    welch = significance.t_test([1, 2, 3, 4, 5], [2, 3, 4, 5, 6])
    assert welch is not None and welch.statistic == pytest.approx(1.0) and welch.degrees_of_freedom == pytest.approx(8)
    assert welch.p_value == pytest.approx(0.34659350708733416, **CLOSE)
    assert welch.effect == pytest.approx(1 / math.sqrt(2.5))
    ks = significance.ks_test([1, 2, 3, 4, 5], [6, 7, 8, 9, 10])
    assert ks is not None and ks.statistic == 1 and ks.p_value == pytest.approx(2 / math.comb(10, 5))


def test_two_hundred_samples() -> None:
    """C-59: on 200 generated samples statistics, p-values and effects equal scipy's and the formulas to 1e-9."""
    chooser = random.Random(59)
    for _ in range(200):
        n, m = chooser.randrange(2, 120), chooser.randrange(2, 120)
        before = [chooser.gauss(0.7, 0.1) for _ in range(n)]
        after = [chooser.gauss(0.7 + chooser.random() / 5, 0.15) for _ in range(m)]
        _check_welch(before, after)
        ours = significance.ks_test(before, after)
        theirs = stats.ks_2samp(before, after)
        assert ours is not None and ours.p_value == pytest.approx(theirs.pvalue, **CLOSE)
        assert ours.statistic == pytest.approx(_largest_gap(before, after), **CLOSE)
        counts = [[chooser.randrange(1, 200) for _ in range(4)] for _ in range(2)]
        _check_chi(counts)


def _check_welch(before: Sequence[float], after: Sequence[float]) -> None:
    ours = significance.t_test(before, after)
    assert ours is not None
    a, b = variance(before) / len(before), variance(after) / len(after)
    t = (fmean(after) - fmean(before)) / math.sqrt(a + b)
    df = (a + b) ** 2 / (a**2 / (len(before) - 1) + b**2 / (len(after) - 1))
    assert ours.statistic == pytest.approx(t, **CLOSE) and ours.degrees_of_freedom == pytest.approx(df, **CLOSE)
    assert ours.p_value == pytest.approx(2 * stats.t.sf(abs(t), df), **CLOSE)
    free = len(before) + len(after) - 2
    pooled = ((len(before) - 1) * variance(before) + (len(after) - 1) * variance(after)) / free
    assert ours.effect == pytest.approx((fmean(after) - fmean(before)) / math.sqrt(pooled), **CLOSE)


def _largest_gap(before: Sequence[float], after: Sequence[float]) -> float:
    points = sorted({*before, *after})
    return max(abs(sum(v <= x for v in before) / len(before) - sum(v <= x for v in after) / len(after)) for x in points)


def _check_chi(counts: list[list[int]]) -> None:
    ours = significance.chi_square(*counts)
    total = sum(map(sum, counts))
    columns = [sum(column) for column in zip(*counts, strict=True)]
    expected = [[sum(row) * column / total for column in columns] for row in counts]
    statistic = sum(
        (seen - wanted) ** 2 / wanted
        for row, line in zip(counts, expected, strict=True)
        for seen, wanted in zip(row, line, strict=True)
    )
    assert ours.statistic == pytest.approx(statistic, **CLOSE)
    assert ours.p_value == pytest.approx(stats.chi2.sf(statistic, 3), **CLOSE)
    assert ours.effect == pytest.approx(math.sqrt(statistic / total), **CLOSE)


def test_significance_and_effect_size() -> None:
    """W-4.13.3: significant means p < 1 - confidence level; the effect size is there when it is asked for."""
    test = significance.chi_square([10, 20], [20, 10])  # p = 0.0098
    assert test.body("decisions", 0.95, effect_size=True)["significant"] is True
    body = test.body("decisions", 0.995, effect_size=False)
    assert body["significant"] is False and body["effect_size"] is None


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("cramers_v", 0.05, "negligible"), ("cramers_v", 0.1, "small"), ("cramers_v", 0.3, "medium"),
        ("cramers_v", 0.5, "large"), ("cohens_d", -0.9, "large"), ("cohens_d", 0.1, "negligible"),
        ("cohens_d", 0.5, "medium"), ("ks_d", 0.2, "small"),
    ],
)  # fmt: skip
def test_magnitudes(name: str, value: float, word: str) -> None:
    assert significance.magnitude(name, value) == word


def test_nothing_to_compare() -> None:
    """Constants, one decision, too few values: no division by zero, no NaN in any result."""
    same = significance.chi_square([5, 0], [7, 0])
    assert (same.statistic, same.p_value, same.effect) == (0, 1, 0)
    assert significance.chi_square([0, 0], [0, 0]).p_value == 1
    constant = significance.t_test([1, 1, 1], [1, 1, 1])
    assert constant is not None and constant.p_value == 1 and constant.statistic == 0
    apart = significance.t_test([1, 1, 1], [2, 2, 2])
    assert apart is not None and apart.p_value == 0 and apart.statistic is None
    assert significance.t_test([1], [1, 2]) is None and significance.ks_test([], [1]) is None


def test_metrics_without_denominators() -> None:
    """W-4.13.1: a rate of nothing is null, not an error."""
    normal = [Opinion("normal", 1.0)] * 3
    values = measure(normal, ["normal"] * 3)
    assert values["accuracy"] == 1 and values["precision"] is None and values["recall"] is None
    assert values["f1_score"] is None and values["false_negative_rate"] is None and values["false_positive_rate"] == 0
    assert measure([], [])["processing_time"] is None
    assert tuple(values) == NAMES and tuple(Comparison().metrics) == NAMES
    assert confusion(["warning", "unknown"], ["critical", "normal"]) == (1, 1, 0, 0)  # positive is all but normal


def test_shares_of_strata() -> None:
    """C-59: proportional by the largest remainder, none left out."""
    assert sampling.shares({"a": 96, "b": 4}, 10) == {"a": 9, "b": 1}
    assert sampling.shares({"a": 50, "b": 30, "c": 20}, 10) == {"a": 5, "b": 3, "c": 2}
    assert sampling.shares({"a": 997, "b": 1, "c": 1, "d": 1}, 4) == {"a": 1, "b": 1, "c": 1, "d": 1}
    chooser = random.Random(4)
    for _ in range(200):
        counts = {name: chooser.randrange(1, 500) for name in "abcd"[: chooser.randrange(1, 5)]}
        size = chooser.randrange(4, max(5, sum(counts.values())))
        quota = sampling.shares(counts, size)
        assert sum(quota.values()) == min(size, sum(counts.values()))
        assert all(1 <= quota[name] <= counts[name] for name in counts)


def test_the_modifications_of_the_document_are_those_that_are_made() -> None:
    from penstock.executors.parts.simulation.changes import CHANGES

    assert tuple(CHANGES) == MODIFICATIONS
