"""The verdict of the soundness checker: sound, unsound with a trace that shows it, or undecided."""

from __future__ import annotations

from typing import Literal

import msgspec


class WitnessStep(msgspec.Struct, frozen=True):
    """A node fired and put tokens on these edges."""

    node: str
    edges: tuple[str, ...]


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """`why` of unsound: deadlock, improper end, livelock, unbounded, dead nodes; of undecided: what it ran out of."""

    status: Literal["sound", "unsound", "undecided"]
    why: str
    trace: tuple[WitnessStep, ...] = ()
    held: tuple[str, ...] = ()  # edges that hold a token at the end of the trace
    nodes: tuple[str, ...] = ()  # dead nodes
    states: int = 0  # markings looked at
