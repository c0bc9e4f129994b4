"""Variants of a process: the sequences of activities that its cases took, and how many took each."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from penstock.mining.event import Case
from penstock.mining.quantiles import Durations

EXAMPLES = 5  # cases that are named of each variant


class Variant(msgspec.Struct, frozen=True):
    activities: tuple[str, ...]
    cases: int
    share: float  # of all cases, 0 to 1
    median_ms: int
    case_ids: tuple[str, ...]  # the first few that took it


class VariantCount:
    """What is counted of one variant while a log goes by."""

    __slots__ = ("case_ids", "cases", "elapsed")

    def __init__(self) -> None:
        self.cases = 0
        self.elapsed = Durations()
        self.case_ids: list[str] = []


def variant_counts(cases: Iterable[Case]) -> Mapping[tuple[str, ...], int]:
    """How many cases took each sequence, where times do not matter."""
    return Counter(tuple(event.activity for event in case.events) for case in cases if case.events)


def listed(counts: Mapping[bytes, VariantCount], names: list[str], cases: int) -> tuple[Variant, ...]:
    """The most frequent first; of the same frequency, by their activities. Keys are numbers of names, two bytes each:
    where every case is its own variant, that is a fifth of what tuples would take."""
    variants = [
        Variant(
            activities=sequence_of(key, names), cases=count.cases, share=count.cases / cases,
            median_ms=count.elapsed.median() or 0, case_ids=tuple(count.case_ids),
        )
        for key, count in counts.items()
    ]  # fmt: skip
    variants.sort(key=lambda variant: (-variant.cases, variant.activities))
    return tuple(variants)


def sequence_of(key: bytes, names: list[str]) -> tuple[str, ...]:
    return tuple(names[number] for number in array("H", key))
