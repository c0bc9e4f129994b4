"""A step by which a proposal has changed its base: what it is, whose cases speak for it, and what it has touched."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from penstock.lang.process.diff import difference

DRAWN = ("activities", "gateways", "events", "transitions")
Shape = Literal["path_back", "optional", "beside", "step_added", "step_removed", "other"]
_SHAPES: Mapping[str, Shape] = {
    "repeated": "path_back", "skipped": "optional", "order": "beside", "unknown": "step_added",
}  # fmt: skip


class LearnedStep(msgspec.Struct, frozen=True):
    """`variants`: the cases that did it, none for what nobody did. `touched`: the ids of elements that it has added,
    taken out, or changed."""

    shape: Shape
    activities: tuple[str, ...]
    variants: tuple[tuple[str, ...], ...]
    touched: frozenset[str]


def learned(
    kind: str, activity: str, before: str, after: str, variants: Sequence[tuple[str, ...]], touched: frozenset[str]
) -> LearnedStep:
    """What allows a deviation of a kind."""
    shape = _SHAPES[kind]
    names = {"path_back": (activity, before), "beside": (activity, after)}.get(shape, (activity,))
    return LearnedStep(shape, names, tuple(variants), touched)


def touched(before: Mapping[str, Any], after: Mapping[str, Any]) -> frozenset[str]:
    found = difference(before, after)
    return frozenset(
        id for name in DRAWN for part in ("added", "removed", "changed") for id in found.get(name, {}).get(part, ())
    )


def shared_out(steps: Sequence[LearnedStep], differ: Sequence[str]) -> Iterator[tuple[LearnedStep, tuple[str, ...]]]:
    """Every element that differs in the end, with the last step that has touched it. A step all of whose elements later
    ones have touched again shows those."""
    last = {id: number for number, step in enumerate(steps) for id in step.touched}
    for number, step in enumerate(steps):
        own = tuple(id for id in differ if last.get(id) == number)
        yield step, own or tuple(id for id in differ if id in step.touched)
