"""How carefully a batch goes: its speed, the first few and their results, and when it stops by itself."""

from __future__ import annotations

import msgspec

from penstock.kernel.state import COMPENSATING, FAILED, WAITING
from penstock.store.contract import Store

#: the results that are looked at for stopping: the last so many; as many may be without one at a time
WINDOW = 100
#: seconds between two looks at the results
WATCHING = 0.25
#: why one is paused that nobody has paused
STOPPED = "STOPPED_ITSELF"


class Care(msgspec.Struct, frozen=True, kw_only=True):
    """So many runs a second at most; the results of the `first` ones are waited for before the rest; it is paused when
    more than `most_failed` of the last 100 results are failures again."""

    per_second: int | None = None
    first: int | None = None
    most_failed: int | None = None


CARELESS = Care()


class _Watched(msgspec.Struct, array_like=True):
    """The numbers of runs whose end is not known; of the last ones that ended, whether they failed again."""

    under_way: list[int] = []
    recent: list[bool] = []


_read = msgspec.msgpack.Decoder(_Watched).decode
_pack = msgspec.msgpack.Encoder().encode


class Results:
    """How the runs ended that it was done to. A run that waits for somebody or something has come through."""

    def __init__(self, care: Care, watched: bytes) -> None:
        self.care, self._watched = care, _read(watched)
        self._watches = care.first is not None or care.most_failed is not None
        self._next = self._looked = 0.0

    @property
    def under_way(self) -> int:
        return len(self._watched.under_way)

    def packed(self) -> bytes:
        return _pack(self._watched)

    def sent(self, run: int) -> None:
        if self._watches:
            self._watched.under_way.append(run)

    def full(self, done: int) -> bool:
        """Results come first: of the first ones all, later of as many as are looked at."""
        if self.care.first is not None and done == self.care.first:
            return self.under_way > 0
        return self.under_way >= WINDOW

    def due(self, now: float) -> bool:
        """Is it time for the next look at them?"""
        if not self.under_way or now < self._looked + WATCHING:
            return False
        self._looked = now
        return True

    def pause_s(self, now: float) -> float:
        """Seconds until the next one, at its speed; asked for once for each."""
        if self.care.per_second is None:
            return 0.0
        wait = max(0.0, self._next - now)
        self._next = max(self._next, now) + 1 / self.care.per_second
        return wait

    def read(self, store: Store) -> tuple[int, int]:
        """How many came through since the last look, and how many failed again."""
        watched = self._watched
        statuses = store.run_statuses(watched.under_way) if watched.under_way else {}
        open_still = {run for run, status in statuses.items() if status < WAITING or status == COMPENSATING}
        failed = [statuses.get(run) == FAILED for run in watched.under_way if run not in open_still]
        watched.under_way = [run for run in watched.under_way if run in open_still]
        watched.recent = [*watched.recent, *failed][-WINDOW:]
        return failed.count(False), failed.count(True)

    def stops(self) -> str | None:
        """Why it goes no further by itself; None where it does."""
        failed = sum(self._watched.recent)
        if self.care.most_failed is None or failed <= self.care.most_failed:
            return None
        return f"{failed} of the last {len(self._watched.recent)} failed again."

    def forget(self) -> None:
        """Whoever goes on with it has looked at these."""
        self._watched.recent = []
