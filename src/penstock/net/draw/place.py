"""Where exactly in its column each node stands: near its neighbours, never too near to another node."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Near = Sequence[Sequence[tuple[int, float]]]  # neighbours with weights

_PASSES = 13  # odd, so that the last one goes forward


def rows_to_heights(rows: list[list[int]], pred: Near, succ: Near, apart: Callable[[int, int], float]) -> dict[int, float]:
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
            for v, at in zip(row, _settle(wishes, gaps), strict=True):
                y[v] = at
    return y


def _wish(v: int, near: Near, y: dict[int, float]) -> tuple[float, float]:
    """Where a node would like to be, and how much: on the line of one dominant neighbour, or between all of them."""
    at = near[v]
    if not at:
        return y[v], 0.25
    total = sum(weight for _, weight in at)
    heaviest = max(at, key=lambda one: one[1])
    if heaviest[1] > total / 2:
        return y[heaviest[0]], total
    return sum(y[w] * weight for w, weight in at) / total, total


def _settle(wishes: list[tuple[float, float]], gaps: list[float]) -> list[float]:
    """Wishes met as well as the gaps allow: what is in conflict becomes one block and moves together."""
    offset, offsets = 0.0, []
    blocks: list[tuple[float, list[tuple[float, float]]]] = []
    for (wish, weight), gap in zip(wishes, gaps, strict=True):
        offset += gap
        offsets.append(offset)
        block = [(wish - offset, weight)]
        value = _middle(block)
        while blocks and blocks[-1][0] > value:
            block = blocks.pop()[1] + block
            value = _middle(block)
        blocks.append((value, block))
    flat = [value for value, block in blocks for _ in block]
    return [value + by for value, by in zip(flat, offsets, strict=True)]


def _middle(block: list[tuple[float, float]]) -> float:
    total = sum(weight for _, weight in block)
    wish, weight = max(block, key=lambda one: one[1])
    return wish if weight > total / 2 else sum(w * k for w, k in block) / total
