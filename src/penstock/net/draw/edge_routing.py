"""Routes edges between placed nodes: right angles, tracks between columns, lanes below for edges that lead back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

Point = tuple[float, float]

TRACK, LANE, FIRST_LANE = 12.0, 26.0, 36.0
_TRACKS = 64  # lines beside each other; beyond that they are laid over each other
LEFT, RIGHT = 15.0, 28.0  # room before the first track and behind the label


class Hop(NamedTuple):
    """A piece of an edge from one column to the next."""

    edge: int
    source: int
    target: int
    start: float
    end: float
    label: float  # width, 0 without


class Channel(NamedTuple):
    """The room between two columns: its width, the track of every bent hop, and where labels begin."""

    width: float
    track: dict[int, float]  # edge -> distance from the left
    labels: float


def channel(hops: list[Hop]) -> Channel:
    """What leaves or arrives together shares a track; the others are stacked so as to cross as little as possible."""
    trunks = _trunks([hop for hop in hops if abs(hop.start - hop.end) >= 0.5])
    down = sorted((t for t in trunks if t.down), key=lambda t: -t.at)
    up = sorted((t for t in trunks if not t.down), key=lambda t: t.at)
    tracks: list[list[tuple[float, float]]] = []
    place: dict[int, float] = {}
    for i, trunk in enumerate([*down, *up]):
        fits = (k for k, taken in enumerate(tracks) if all(trunk.high + 4 < a or b + 4 < trunk.low for a, b in taken))
        number = next(fits, len(tracks)) if i < _TRACKS else i % _TRACKS
        if number == len(tracks):
            tracks.append([])
        tracks[number].append((trunk.low, trunk.high))
        for edge in trunk.edges:
            place[edge] = LEFT + TRACK * number
    labels = LEFT + TRACK * len(tracks)
    widest = max((hop.label for hop in hops), default=0.0)
    width = labels + (widest + 12 if widest else 0) + RIGHT
    return Channel(max(width, 48.0), place, labels)


class _Trunk(NamedTuple):
    edges: list[int]
    low: float
    high: float
    at: float  # where it begins

    @property
    def down(self) -> bool:
        return self.high > self.at


def _trunks(hops: list[Hop]) -> list[_Trunk]:
    """Pieces that share their vertical line: those of one source, or single ones that end in one target."""
    leaving: dict[int, int] = {}
    for hop in hops:
        leaving[hop.source] = leaving.get(hop.source, 0) + 1
    trunks: dict[tuple[str, int], _Trunk] = {}
    for hop in hops:
        together = ("from", hop.source) if leaving[hop.source] > 1 else ("to", hop.target)
        known = trunks.get(together) or _Trunk([], hop.start, hop.start, hop.start)
        low, high = min(known.low, hop.start, hop.end), max(known.high, hop.start, hop.end)
        known.edges.append(hop.edge)
        trunks[together] = known._replace(low=low, high=high)
    return list(trunks.values())


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
