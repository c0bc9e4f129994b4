"""Outliers of a series of points: how far each lies from the others, and whether that is too far (C-50)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import msgspec

from penstock.executors.parts.bi.settings import AnomalyRule

#: Fewer points than this say nothing about what is usual.
LEAST_POINTS = 3
#: The share of a normal distribution's standard deviation that its median absolute deviation is.
_MAD_SHARE = 0.6744897501960817
#: The same for the mean absolute deviation: the square root of pi / 2.
_MEAN_SHARE = math.sqrt(math.pi / 2)


class Score(msgspec.Struct, frozen=True):
    """`score` is in the algorithm's own unit, which the threshold is in, too; None where there is none."""

    score: float | None
    anomaly: bool
    expected: float | None = None


def scores(values: Sequence[float | None], rule: AnomalyRule) -> list[Score]:
    """One score per value, in the order of time; a value that is missing has none."""
    known = [value for value in values if value is not None]
    if len(known) < LEAST_POINTS:
        return [Score(None, False) for _ in values]
    if rule.algorithm == "ewma":
        return _ewma(values, rule)
    return [
        Score(None, False) if value is None else score
        for value, score in zip(values, _each(values, known, rule), strict=True)
    ]


def _each(values: Sequence[float | None], known: list[float], rule: AnomalyRule) -> list[Score]:
    if rule.algorithm == "iqr":
        low, high = _quantile(known, 0.25), _quantile(known, 0.75)
        width = high - low if high > low else 2 * _MAD_SHARE * _median_spread(known)
        return [_beyond(value, low, high, width, rule.threshold) for value in values]
    if rule.algorithm == "mad":
        centre, spread = statistics.median(known), _median_spread(known)
    else:
        centre, spread = math.fsum(known) / len(known), statistics.stdev(known)
    return [_away(value, centre, spread, rule.threshold) for value in values]


def _away(value: float | None, centre: float, spread: float, threshold: float) -> Score:
    if value is None:
        return Score(None, False)
    score = (value - centre) / spread if spread > 0 else 0.0
    return Score(score, abs(score) > threshold, centre)


def _beyond(value: float | None, low: float, high: float, width: float, threshold: float) -> Score:
    """How many interquartile ranges a value lies below the first or above the third quartile. Where half of the values
    are equal there is no such range, and the one of a normal distribution with their spread takes its place."""
    if value is None:
        return Score(None, False)
    score = max(low - value, value - high, 0.0) / width if width > 0 else 0.0
    return Score(score, score > threshold, (low + high) / 2)


def _median_spread(known: list[float]) -> float:
    """The median absolute deviation as a standard deviation; where more than half of the values are equal it is 0,
    and the mean absolute deviation takes its place (Iglewicz and Hoaglin)."""
    centre = statistics.median(known)
    distances = [abs(value - centre) for value in known]
    middle = statistics.median(distances)
    return middle / _MAD_SHARE if middle > 0 else math.fsum(distances) / len(distances) * _MEAN_SHARE


def _ewma(values: Sequence[float | None], rule: AnomalyRule) -> list[Score]:
    """Each value against the weighted mean and variance of those before it; the first ones have no score. After values
    that never varied any other one is an outlier, and no score says by how much."""
    result: list[Score] = []
    mean: float | None = None
    variance, count = 0.0, 0
    for value in values:
        if value is None:
            result.append(Score(None, False, mean))
            continue
        if mean is None:
            mean, count = value, 1
            result.append(Score(None, False))
            continue
        step = value - mean
        deviation = math.sqrt(variance)
        if count < LEAST_POINTS - 1 or deviation == 0:
            result.append(Score(None, count >= LEAST_POINTS - 1 and step != 0, mean))
        else:
            result.append(Score(step / deviation, abs(step / deviation) > rule.threshold, mean))
        mean += rule.alpha * step
        variance = (1 - rule.alpha) * (variance + rule.alpha * step * step)
        count += 1
    return result


def _quantile(known: list[float], share: float) -> float:
    ordered = sorted(known)
    at = share * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])
