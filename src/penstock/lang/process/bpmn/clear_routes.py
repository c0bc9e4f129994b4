"""Ways for the flows of an automatic layout that cross no element: bent late or early, else above or below the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

Box = list[float]
Point = list[float]
_BEND, _ABOVE, _APART = 30, 30, 16


class ClearRoutes:
    """Flows above and below the others keep apart: each of them is remembered."""

    def __init__(self) -> None:
        self.taken: list[tuple[float, float, float]] = []

    def of(self, plain: list[Point], a: Box, b: Box, others: Sequence[Box]) -> list[Point]:
        """`plain` where nothing stands in its way; where something stands in every way, `plain` too."""
        if not _crosses(plain, others):
            return plain
        for route in [*_bent(a, b), *self._around(a, b, others), *self._between(a, b, others)]:
            if not _crosses(route, others):
                self.taken += [(x, to, y) for (x, y), (to, then) in pairwise(route[1:-1]) if y == then]
                return route
        return plain

    def _around(self, a: Box, b: Box, others: Sequence[Box]) -> Iterator[list[Point]]:
        left, right = _span(a, b)
        between = [a, b, *(box for box in others if box[0] < right and box[0] + box[2] > left)]
        ends = (a[0] + a[2] / 2, b[0] + b[2] / 2)
        high = self._free(min(box[1] for box in between) - _ABOVE, left, right, -_APART)
        yield [[ends[0], a[1]], [ends[0], high], [ends[1], high], [ends[1], b[1]]]
        low = self._free(max(box[1] + box[3] for box in between) + _ABOVE, left, right, _APART)
        yield [[ends[0], a[1] + a[3]], [ends[0], low], [ends[1], low], [ends[1], b[1] + b[3]]]

    def _between(self, a: Box, b: Box, others: Sequence[Box]) -> Iterator[list[Point]]:
        """Forward, past what stands between them and not past what stands beside them."""
        start, end, ay, by = a[0] + a[2], b[0], a[1] + a[3] / 2, b[1] + b[3] / 2
        passed = [box for box in others if box[0] < end and box[0] + box[2] > start]
        if not passed:
            return
        for y, step in ((min(box[1] for box in passed) - _ABOVE, -_APART),
                        (max(box[1] + box[3] for box in passed) + _ABOVE, _APART)):  # fmt: skip
            level = self._free(y, start, end, step)
            first, last = start + _BEND, end - _BEND
            yield [[start, ay], [first, ay], [first, level], [last, level], [last, by], [end, by]]

    def _free(self, y: float, left: float, right: float, by: float) -> float:
        while any(at == y and start < right and left < end for start, end, at in self.taken):
            y += by
        return y


def _bent(a: Box, b: Box) -> Iterator[list[Point]]:
    """Forward, with its bend close to one of its ends."""
    ay, by, start, end = a[1] + a[3] / 2, b[1] + b[3] / 2, a[0] + a[2], b[0]
    if ay != by and end > start + _BEND:
        for x in (end - _BEND, start + _BEND):
            yield [[start, ay], [x, ay], [x, by], [end, by]]


def _span(a: Box, b: Box) -> tuple[float, float]:
    middles = a[0] + a[2] / 2, b[0] + b[2] / 2
    return min(middles), max(middles)


def _crosses(route: list[Point], others: Sequence[Box]) -> bool:
    for (x1, y1), (x2, y2) in pairwise(route):
        left, right, top, bottom = min(x1, x2), max(x1, x2), min(y1, y2), max(y1, y2)
        if any(left < x + w and right > x and top < y + h and bottom > y for x, y, w, h in others):
            return True
    return False
