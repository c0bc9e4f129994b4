"""A run's overlay at some of its facts, kept by a process that only reads: time travel goes on from the nearest.

The store keeps the last checkpoint of a run alone, so that a step writes no more than it must. Whoever first looks back
folds the run once and leaves marks on the way; bounded by their bytes, the runs that were looked at longest ago go.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

import msgspec

from penstock.app.drawing.run_overlay import RunOverlay
from penstock.app.runs.run_view import FiringView
from penstock.kernel.state import decode_state, encode_state
from penstock.net.compiled import Compiled

#: marks of one run, and facts between two of them at least
MARKS, LEAST = 16, 2_000
MOST_BYTES = 128 * 1024**2
_pack = msgspec.msgpack.Encoder().encode


class Mark(msgspec.Struct, array_like=True):
    """What is left of an overlay when everything is gone that its state or its net knows."""

    state: bytes
    paths: dict[int, str]
    firings: list[FiringView]
    ids: list[str]
    numbers: dict[str, int]
    items: list[int]
    handed: list[tuple[tuple[str, str, int], list[int]]]
    restarted: int
    first_at: int
    last_at: int
    last: dict[str, int]
    fired: dict[str, int]
    notes: dict[str, str]
    undone: dict[str, str]
    taken: list[str]
    settled: str


class KeptOverlays:
    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.most_bytes, self.bytes = most_bytes, 0
        self._runs: OrderedDict[int, dict[int, bytes]] = OrderedDict()

    def nearest(
        self, run: int, fact: int, net_of: Callable[[str], Compiled], resolve: Callable[[Any], Any]
    ) -> RunOverlay:
        """The overlay after the last marked fact that is not behind this one; else a new one."""
        marks = self._runs.get(run, {})
        places = sorted(marks)
        before = bisect_right(places, fact)
        overlay = RunOverlay(net_of, resolve)
        if before:
            _restore(overlay, msgspec.msgpack.decode(marks[places[before - 1]], type=Mark))
        return overlay

    def passed(self, run: int, overlay: RunOverlay, of: int) -> None:
        """At the end of a turn: is it time for a mark?"""
        marks, every = self._runs.setdefault(run, {}), max(of // MARKS, LEAST)
        self._runs.move_to_end(run)
        number = overlay.st.n
        if number < every or any(abs(number - place) < every for place in marks):
            return
        marks[number] = body = _pack(_mark(overlay))
        self.bytes += len(body)
        while self.bytes > self.most_bytes and len(self._runs) > 1:
            _, gone = self._runs.popitem(last=False)
            self.bytes -= sum(map(len, gone.values()))

    def forget(self) -> None:
        self._runs.clear()
        self.bytes = 0


def _mark(overlay: RunOverlay) -> Mark:
    fold = overlay.fold
    return Mark(
        state=encode_state(overlay.st), paths=fold.reader.paths, firings=fold.firings, ids=fold.ids,
        numbers=fold.numbers, items=sorted(fold.items),
        handed=[(place, list(numbers)) for place, numbers in fold.handed.items() if numbers],
        restarted=fold.restarted, first_at=fold.first_at, last_at=fold.last_at, last=overlay.last, fired=overlay.fired,
        notes=overlay.notes, undone=overlay.undone, taken=list(overlay.taken), settled=overlay.settled,
    )  # fmt: skip


def _restore(overlay: RunOverlay, mark: Mark) -> None:
    fold, reader = overlay.fold, overlay.fold.reader
    reader.st, reader.paths = decode_state(mark.state), mark.paths
    reader.net = reader.net_of(reader.st.net)
    fold.firings, fold.ids, fold.numbers, fold.items = mark.firings, mark.ids, mark.numbers, set(mark.items)
    fold.by_id = {id: mark.firings[number] for id, number in mark.numbers.items()}
    fold.handed = {place: deque(numbers) for place, numbers in mark.handed}
    fold.restarted, fold.first_at, fold.last_at = mark.restarted, mark.first_at, mark.last_at
    overlay.last, overlay.fired, overlay.notes, overlay.undone = mark.last, mark.fired, mark.notes, mark.undone
    overlay.taken, overlay.settled = dict.fromkeys(mark.taken), mark.settled
    overlay.count_known()
