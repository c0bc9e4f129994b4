"""The height of each node in its column: near its neighbours, never too near to another node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

Near = Sequence[Sequence[tuple[int, float]]]  # neighbours with weights

_PASSES = 13  # odd, so that the last one goes forward


def rows_to_heights(
    rows: list[list[int]], pred: Near, succ: Near, apart: Callable[[int, int], float]
) -> dict[int, float]:
    """The height of every node's middle line; `apart` says how far a node must be below the one above it."""
    y: dict[int, float] = {}
    for row in rows:
        at = 0.0
        for above, v in zip([None, *row], row, strict=False):
            at += 0.0 if above is None else apart(above, v)
            y[v] = at
        for v in row:
            y[v] -= at / 2
    for turn in range(_PASSES):
        forward = turn % 2 == 0
        near = pred if forward else succ
        for row in rows if forward else reversed(rows):
            wishes = [_wish(v, near, y) for v in row]
            gaps = [0.0, *(apart(a, b) for a, b in zip(row, row[1:], strict=False))]
            y.update(zip(row, _settle(wishes, gaps), strict=True))
    return y


def _wish(v: int, near: Near, y: dict[int, float]) -> tuple[float, float]:
    """Where a node would like to be, and how much: on the line of one dominant neighbour, or between all of them."""
    at = near[v]
    if not at:
        return y[v], 0.25
    total = sum(weight for _, weight in at)
    heaviest = max(at, key=lambda neighbour: neighbour[1])
    if heaviest[1] > total / 2:
        return y[heaviest[0]], total
    return sum(y[w] * weight for w, weight in at) / total, total


class _Block(NamedTuple):
    """Nodes that stand as close as they may and move together."""

    size: int
    weight: float
    moment: float
    heaviest: tuple[float, float]  # weight, wish

    @property
    def value(self) -> float:
        """On the wish of one that outweighs all others, or between all of them."""
        return self.heaviest[1] if self.heaviest[0] > self.weight / 2 else self.moment / self.weight

    def join(self, other: _Block) -> _Block:
        heaviest = self.heaviest if self.heaviest[0] >= other.heaviest[0] else other.heaviest
        return _Block(self.size + other.size, self.weight + other.weight, self.moment + other.moment, heaviest)


def _settle(wishes: list[tuple[float, float]], gaps: list[float]) -> list[float]:
    """Wishes met as well as the gaps allow: what is in conflict becomes one block."""
    offset, offsets = 0.0, []
    blocks: list[_Block] = []
    for (wish, weight), gap in zip(wishes, gaps, strict=True):
        offset += gap
        offsets.append(offset)
        block = _Block(1, weight, (wish - offset) * weight, (weight, wish - offset))
        while blocks and blocks[-1].value > block.value:
            block = blocks.pop().join(block)
        blocks.append(block)
    flat = [value for block in blocks for value in [block.value] * block.size]
    return [value + by for value, by in zip(flat, offsets, strict=True)]
