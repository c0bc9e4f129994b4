"""Whether a difference is real, and whether it is large: three tests by scipy, each with its effect size (C-59)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module
from statistics import fmean, variance
from typing import Any

import msgspec

from penstock.executors.parts.extras import extra_message

TESTS = ("chi_square", "t_test", "ks_test")
#: where small, medium and large effects begin, by the name of the effect size (Cohen's conventions)
_LIMITS = {"cramers_v": (0.1, 0.3, 0.5), "cohens_d": (0.2, 0.5, 0.8), "ks_d": (0.1, 0.3, 0.5)}


class MissingStatistics(Exception):
    """scipy is not installed."""

    def __init__(self) -> None:
        super().__init__(extra_message("A test of significance needs", "statistics"))


class TestOfDifference(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a test. `statistic` and `effect` are None where they are infinite: two different constants."""

    __test__ = False

    name: str
    statistic: float | None
    p_value: float
    effect_name: str
    effect: float | None
    degrees_of_freedom: float | None = None

    def body(self, on: str, confidence_level: float, *, effect_size: bool) -> dict[str, Any]:
        """W-4.13.3: significant means a p-value below 1 - confidence level."""
        size = {"name": self.effect_name, "value": self.effect, "magnitude": magnitude(self.effect_name, self.effect)}
        return {
            "name": self.name, "on": on, "statistic": self.statistic, "p_value": self.p_value,
            "degrees_of_freedom": self.degrees_of_freedom, "confidence_level": confidence_level,
            "significant": self.p_value < 1 - confidence_level, "effect_size": size if effect_size else None,
        }  # fmt: skip


def magnitude(name: str, value: float | None) -> str:
    words = ("negligible", "small", "medium", "large")
    if value is None:
        return "large"
    return words[sum(abs(value) >= limit for limit in _LIMITS[name])]


def chi_square(baseline: Sequence[int], simulated: Sequence[int]) -> TestOfDifference:
    """Pearson's test (without Yates' correction) on counts of decisions, with Cramér's V. Decisions that neither side
    has made are left out; where one decision is left nothing can differ."""
    stats = _stats()
    columns = [pair for pair in zip(baseline, simulated, strict=True) if any(pair)]
    if len(columns) < 2 or not sum(baseline) or not sum(simulated):
        return TestOfDifference(
            name="chi_square", statistic=0.0, p_value=1.0, effect_name="cramers_v", effect=0.0, degrees_of_freedom=0
        )
    table = [list(row) for row in zip(*columns, strict=True)]
    outcome = stats.chi2_contingency(table, correction=False)
    total = sum(map(sum, table))
    return TestOfDifference(
        name="chi_square", statistic=float(outcome.statistic), p_value=float(outcome.pvalue), effect_name="cramers_v",
        effect=math.sqrt(float(outcome.statistic) / total), degrees_of_freedom=float(outcome.dof),
    )  # fmt: skip


def t_test(baseline: Sequence[float], simulated: Sequence[float]) -> TestOfDifference | None:
    """Welch's test of means, with Cohen's d of the pooled deviation; positive where the simulated mean is larger. None
    with fewer than two values on a side."""
    stats = _stats()
    if len(baseline) < 2 or len(simulated) < 2:
        return None
    means, spread = (fmean(baseline), fmean(simulated)), (variance(baseline), variance(simulated))
    if not any(spread):
        same = means[0] == means[1]
        return TestOfDifference(
            name="t_test", statistic=0.0 if same else None, p_value=1.0 if same else 0.0, effect_name="cohens_d",
            effect=0.0 if same else None,
        )  # fmt: skip
    outcome = stats.ttest_ind(simulated, baseline, equal_var=False)
    free = len(baseline) + len(simulated) - 2
    pooled = math.sqrt(((len(baseline) - 1) * spread[0] + (len(simulated) - 1) * spread[1]) / free)
    return TestOfDifference(
        name="t_test", statistic=float(outcome.statistic), p_value=float(outcome.pvalue), effect_name="cohens_d",
        effect=(means[1] - means[0]) / pooled, degrees_of_freedom=float(outcome.df),
    )  # fmt: skip


def ks_test(baseline: Sequence[float], simulated: Sequence[float]) -> TestOfDifference | None:
    """The two-sample Kolmogorov-Smirnov test; its D is also the effect. None without values on a side."""
    stats = _stats()
    if not baseline or not simulated:
        return None
    outcome = stats.ks_2samp(baseline, simulated)
    distance = float(outcome.statistic)
    return TestOfDifference(
        name="ks_test", statistic=distance, p_value=float(outcome.pvalue), effect_name="ks_d", effect=distance
    )


def _stats() -> Any:
    try:
        return import_module("scipy.stats")  # heavy, and only for whoever simulates
    except ImportError:
        raise MissingStatistics from None
