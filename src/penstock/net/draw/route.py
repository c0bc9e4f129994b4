"""The ways of edges between placed nodes: right angles, tracks between columns, lanes below for what leads back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

Point = tuple[float, float]

TRACK, LANE, FIRST_LANE = 12.0, 26.0, 36.0
LEFT, RIGHT = 18.0, 30.0  # room before the first track and behind the label


class Hop(NamedTuple):
    """A piece of an edge from one column to the next; `source` groups what leaves together and shares a track."""

    edge: int
    source: int
    start: float
    end: float
    label: float  # width, 0 without


class Channel(NamedTuple):
    """The room between two columns: its width, the track of every bent hop, and where labels begin."""

    width: float
    track: dict[int, float]  # edge -> distance from the left
    labels: float


def channel(hops: list[Hop]) -> Channel:
    """Sources that go the same way are stacked so that they do not cross where that can be had."""
    spans: dict[int, tuple[float, float, float]] = {}
    for hop in hops:
        if abs(hop.start - hop.end) >= 0.5:
            low, high, _ = spans.get(hop.source, (hop.start, hop.start, hop.start))
            spans[hop.source] = (min(low, hop.end), max(high, hop.end), hop.start)
    down = sorted((s for s, (_, high, at) in spans.items() if high > at), key=lambda s: (-spans[s][2], s))
    up = sorted((s for s, (_, high, at) in spans.items() if high <= at), key=lambda s: (spans[s][2], s))
    tracks: list[list[tuple[float, float]]] = []
    of_source: dict[int, int] = {}
    for source in [*down, *up]:
        low, high, _ = spans[source]
        for number, taken in enumerate(tracks):
            if all(high + 4 < a or b + 4 < low for a, b in taken):
                break
        else:
            number = len(tracks)
            tracks.append([])
        tracks[number].append((low, high))
        of_source[source] = number
    labels = LEFT + TRACK * len(tracks)
    widest = max((hop.label for hop in hops), default=0.0)
    width = labels + (widest + 18 if widest else 0) + RIGHT
    place = {hop.edge: LEFT + TRACK * of_source[hop.source] for hop in hops if hop.source in of_source}
    return Channel(max(width, 58.0), place, labels)


class Lanes:
    """Horizontal lanes below the columns: each as high up as what it spans allows."""

    def __init__(self, bottoms: list[float]) -> None:
        self._free = [bottom + FIRST_LANE for bottom in bottoms]

    def take(self, first: int, last: int) -> float:
        y = max(self._free[first : last + 1])
        for column in range(first, last + 1):
            self._free[column] = y + LANE
        return y


def straighten(points: Iterable[Point]) -> list[Point]:
    """Without points that lie on the line between their neighbours."""
    kept: list[Point] = []
    for point in points:
        if kept and abs(kept[-1][0] - point[0]) < 0.05 and abs(kept[-1][1] - point[1]) < 0.05:
            continue
        if len(kept) > 1 and (
            abs(kept[-2][0] - kept[-1][0]) < 0.05 > abs(kept[-1][0] - point[0])
            or abs(kept[-2][1] - kept[-1][1]) < 0.05 > abs(kept[-1][1] - point[1])
        ):
            kept[-1] = point
            continue
        kept.append(point)
    return kept
