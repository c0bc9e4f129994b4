"""Which past judgments are replayed (C-59): random, stratified by the baseline's decision, or the newest ones."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Literal, TypeVar

T = TypeVar("T")
Sampling = Literal["random", "stratified", "sequential"]


def sequential(history: Sequence[T], size: int) -> list[T]:
    """The newest, in the order of time; `history` has the newest first."""
    return list(reversed(history[:size]))


def sampled(history: Sequence[T], size: int, seed: int) -> list[T]:
    """So many at random, in the order of time; the same seed draws the same."""
    if len(history) <= size:
        return sequential(history, size)
    drawn = sorted(random.Random(seed).sample(range(len(history)), size), reverse=True)  # noqa: S311 (no secret)
    return [history[index] for index in drawn]


def stratified(history: Sequence[T], size: int, seed: int, stratum_of: Callable[[T], str]) -> list[T]:
    """As many of every stratum as its share of the whole, and at least one; in the order of time."""
    if len(history) <= size:
        return sequential(history, size)
    strata: dict[str, list[int]] = {}
    for index, judgment in enumerate(history):
        strata.setdefault(stratum_of(judgment), []).append(index)
    quota = shares({name: len(places) for name, places in strata.items()}, size)
    chooser = random.Random(seed)  # noqa: S311 (no secret)
    drawn = [index for name in sorted(strata) for index in chooser.sample(strata[name], quota[name])]
    return [history[index] for index in sorted(drawn, reverse=True)]


def shares(counts: dict[str, int], size: int) -> dict[str, int]:
    """A total split in proportion to counts: whole numbers by the largest remainder, none of them zero."""
    total = sum(counts.values())
    exact = {name: size * count / total for name, count in counts.items()}
    quota = {name: max(1, int(part)) for name, part in exact.items()}
    by_rest = sorted(counts, key=lambda name: (int(exact[name]) - exact[name], name))
    for name in by_rest:
        if sum(quota.values()) >= size:
            break
        quota[name] += quota[name] < counts[name]
    while sum(quota.values()) > max(size, len(counts)):
        quota[max(quota, key=lambda name: (quota[name], name))] -= 1
    return quota
