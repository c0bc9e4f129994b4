"""How sure a share is that was counted: bounds for one look, and bounds that hold however often somebody looks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

_HALVINGS = 48  # of an interval between 0 and 1: what is left is some 1e-15
_TERMS = 1000  # of the continued fraction, which needs some dozens
_TINY = 1e-300


class Bounds(NamedTuple):
    lower: float
    upper: float


@lru_cache(maxsize=8192)  # the same counts are asked about again with every evaluation
def exact_bounds(successes: int, trials: int, level: float = 0.95) -> Bounds:
    """Clopper and Pearson, each side by itself at this level: for whoever looks once, at a number of trials that was
    chosen before. Whoever looks again and again until the bound is high enough is wrong more often than 1 - level."""
    _check(successes, trials, level)
    failures, alpha = trials - successes, 1 - level
    lower = 0.0 if not successes else _risen(lambda p: beta_share(p, successes, failures + 1), alpha)
    upper = 1.0 if not failures else _risen(lambda p: beta_share(p, successes + 1, failures), level)
    return Bounds(lower, upper)


@lru_cache(maxsize=8192)
def sequence_bounds(successes: int, trials: int, level: float = 0.95, expected: float = 0.5) -> Bounds:
    """Bounds that hold at all numbers of trials at once: with a probability of at least `level` the true share never
    lies outside of them, although somebody looks after every trial and stops when they like.

    Robbins' mixture: the likelihood of what was seen, mixed over Beta(expected / (1 - expected), 1), divided by its
    likelihood at the true share, is a martingale that begins at 1; Ville's inequality says how seldom it ever reaches
    1 / (1 - level). Shares at which it has reached it are outside. `expected` is chosen before anything is seen: it
    makes the bounds narrow near there, and they hold whatever it is. One share for all trials is assumed."""
    _check(successes, trials, level)
    if not 0 < expected < 1:
        raise ValueError("the expected share lies between 0 and 1")
    failures, a, b = trials - successes, expected / (1 - expected), 1.0
    mixed = _log_beta(a + successes, b + failures) - _log_beta(a, b) + math.log(1 - level)

    def outside(p: float) -> float:
        """Above 0 where the share would be outside."""
        return mixed - _times_log(successes, p) - _times_log(failures, 1 - p)

    best = successes / trials if trials else expected
    lower = 0.0 if not successes else _crossed(lambda p: -outside(p), 0.0, best)
    upper = 1.0 if not failures else _crossed(outside, best, 1.0)
    return Bounds(lower, upper)


def worsenings(held: Iterable[bool], target: float, *, seldom: float = 1000.0) -> list[int]:
    """After how many trials, taken in order, it became clear that the share has fallen below the target; each time the
    count begins anew. While the share keeps to the target this is said wrongly at most once in `seldom` trials on
    average.

    A sum of logarithms of likelihood ratios that begins anew at 0 (Page): four times the failures that the target
    allows, against just as many. Each ratio expects at most 1 while the target is kept, so the average time to a false
    alarm is at least the threshold."""
    if not 0 < target < 1 or seldom <= 1:
        raise ValueError("the target lies between 0 and 1, and seldom is more than 1")
    allowed = 1 - target
    worse = min(4 * allowed, (1 + allowed) / 2)
    failure, success, threshold = math.log(worse / allowed), math.log((1 - worse) / target), math.log(seldom)
    total, heard = 0.0, list[int]()
    for number, kept in enumerate(held, 1):
        total = max(0.0, total + (success if kept else failure))
        if total >= threshold:
            total = 0.0
            heard.append(number)
    return heard


def beta_share(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function: how much of Beta(a, b) lies below x."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):  # there the fraction of the other side is the quicker one
        return 1 - beta_share(1 - x, b, a)
    front = math.exp(a * math.log(x) + b * math.log1p(-x) - _log_beta(a, b)) / a
    return front / _fraction(x, a, b)


def _fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of the incomplete beta function, from its top (Lentz)."""
    value = up = 1.0
    down = 0.0
    for n in range(1, _TERMS):
        m = n // 2
        if n % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        down, up = 1 / _not_zero(1 + term * down), _not_zero(1 + term / up)
        value *= down * up
        if abs(down * up - 1) < 1e-15:
            break
    return value


def _check(successes: int, trials: int, level: float) -> None:
    if not 0 <= successes <= trials or not 0 < level < 1:
        raise ValueError("there are as many successes as trials at most, and the level lies between 0 and 1")


def _not_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _times_log(count: int, p: float) -> float:
    if not count:
        return 0.0
    return count * math.log(p) if p > 0 else -math.inf


def _risen(rising: Callable[[float], float], to: float) -> float:
    return _crossed(lambda p: rising(p) - to, 0.0, 1.0)


def _crossed(rising: Callable[[float], float], low: float, high: float) -> float:
    """Where a function that rises in between passes 0."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) > 0 else (middle, high)
    return (low + high) / 2
