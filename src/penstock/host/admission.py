"""Admission: runs of queued nets begin when there is room for them, by priority and then by age.

What is under way is counted by committed turns alone: a run takes a place when it leaves PENDING and gives it back when
it ends or is PENDING again. The store is asked for the first that wait, by the index `run_pending`. Those of a tenant
or a net that has all its places are passed over once, not every time: `passed` knows how far, so a long queue of one
tenant costs the others nothing.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from penstock.errors import PenstockError, StoreError
from penstock.host.limits import Limits, checked_count
from penstock.host.loaded_run import InternalReply, LoadedRun
from penstock.host.nets import Nets
from penstock.host.taken_places import PER_NET, PER_TENANT, SLOTS, TakenPlaces
from penstock.host.turn import Turns
from penstock.kernel import command as C
from penstock.kernel.state import COMPENSATING, PENDING, RUNNING, WAITING
from penstock.store.run_store import PendingRun, RunStore

#: runs that are read at once, and read at most before others have their turn
PAGE, MOST = 64, 1024
#: sets of full tenants and nets that are remembered
MOST_PASSED = 256
_UNDER_WAY = frozenset({RUNNING, WAITING, COMPENSATING})
Full = frozenset[str | int]
#: behind everybody
END = PendingRun(1 << 62, "", 0, 1 << 62, 1 << 62)


def slots_of(settings: Mapping[str, Any]) -> int:
    """As many as there are processors, twice, unless a setting says otherwise."""
    slots = settings.get(SLOTS)
    return 2 * max(2, os.cpu_count() or 2) if slots is None else checked_count(SLOTS, slots)


class Admission:
    """`looks`: something may have come or ended since the last time."""

    def __init__(
        self, store: RunStore, turns: Turns, nets: Nets, limits: Limits, slots: int, wake_up: Callable[[], None]
    ) -> None:
        self.store, self.turns, self.nets, self.limits, self.slots = store, turns, nets, limits, slots
        self.wake_up = wake_up
        self.looks = True
        self.of_tenant: Counter[str] = Counter()
        self.of_net: Counter[str] = Counter()
        self.asked: dict[int, PendingRun] = {}  # admitted, by a turn that is not committed yet
        self.refused: set[int] = set()  # paused, for example: nobody asks again before they have moved
        self.known_nets: dict[int, bool] = {}  # by number: do its runs queue?
        self.most_of_net: dict[int, tuple[str, int]] = {}  # by number: its name, and how many under that name
        self.passed: dict[Full, PendingRun] = {}  # up to there nobody can be admitted while these are full
        self._counted = False
        turns.on_queued = self._on_queued

    @property
    def under_way(self) -> int:
        return self.of_tenant.total() + len(self.asked)

    def places(self, tenant: str) -> TakenPlaces:
        """For who asks why a run waits."""
        self._count()
        tenants, nets = self._taken()
        most = self.limits.of(tenant)[PER_TENANT]
        return TakenPlaces(self.under_way, self.slots, tenants[tenant], most, nets)

    def admit(self) -> None:
        """As many as there is room for."""
        self.looks = False
        self._count()
        full = self._full()
        at = self.passed.get(full)
        for _ in range(MOST // PAGE):
            if self.under_way >= self.slots or at is END:
                return
            page = self.store.pending_runs(at, PAGE)
            for run in page:
                if self.under_way >= self.slots:
                    break
                at = run
                if run.net not in self.known_nets:
                    self._learn(run.net)
                    full = self._full()
                if self._may_begin(run, full):
                    self._admit(run)
                    full = self._full()
            else:
                at = at if len(page) == PAGE else END
            at = self._pass(full, at)
        self.looks = True
        self.wake_up()

    def _may_begin(self, run: PendingRun, full: Full) -> bool:
        known = run.no in self.asked or run.no in self.refused
        return not known and self.known_nets[run.net] and full.isdisjoint((run.tenant, run.net))

    def _pass(self, full: Full, at: PendingRun | None) -> PendingRun | None:
        """Nobody up to there can be admitted while these are full; it may be known of some further on."""
        known = self.passed.get(full)
        if at is None or known is not None and _place_in_line(known) > _place_in_line(at):
            return known
        if len(self.passed) >= MOST_PASSED:
            self.passed.clear()
        self.passed[full] = at
        return at

    def _learn(self, number: int) -> None:
        net = self.nets.head(number)
        self.known_nets[number] = net.queued
        most = net.limits.get(PER_NET)
        if most is not None:
            self.most_of_net[number] = (net.name, most)

    def _full(self) -> Full:
        """Tenants by name and nets by number that have all their places."""
        tenants, nets = self._taken()
        full: list[str | int] = [no for no, (name, most) in self.most_of_net.items() if nets[name] >= most]
        full += [name for name, count in tenants.items() if count >= self.limits.of(name)[PER_TENANT]]
        return frozenset(full)

    def _taken(self) -> tuple[Counter[str], Counter[str]]:
        """Places by tenant and by name of the net, with those that a turn is about to take."""
        tenants, nets = Counter(self.of_tenant), Counter(self.of_net)
        for run in self.asked.values():
            tenants[run.tenant] += 1
            nets[self.nets.head(run.net).name] += 1
        return tenants, nets

    def _admit(self, run: PendingRun) -> None:
        self.asked[run.no] = run

        def done(error: PenstockError | None) -> None:
            self.asked.pop(run.no, None)
            if error is not None:
                self.refused.add(run.no)
            self.looks = True
            self.wake_up()

        self.turns.send(run.no, C.admit(), InternalReply(done), run.tenant)

    def _on_queued(self, loaded: LoadedRun, was: int, status: int) -> None:
        """A run of a queued net has moved, and that is committed."""
        if (was in _UNDER_WAY) != (status in _UNDER_WAY):
            self._add(loaded.tenant, loaded.net_no, 1 if status in _UNDER_WAY else -1)
        self.refused.discard(loaded.no)
        if status == PENDING:
            self._queue(PendingRun(loaded.no, loaded.tenant, loaded.net_no, loaded.priority, loaded.started_at))
        self.looks = True
        self.wake_up()

    def _queue(self, run: PendingRun) -> None:
        """It may stand before those that were passed over."""
        for full, passed in self.passed.items():
            if full.isdisjoint((run.tenant, run.net)) and _place_in_line(run) <= _place_in_line(passed):
                self.passed[full] = PendingRun(run.no - 1, run.tenant, run.net, run.priority, run.created_at)

    def _add(self, tenant: str, net: int, by: int) -> None:
        if not self._counted:
            return
        self.of_tenant[tenant] += by
        self.of_net[self.nets.head(net).name] += by

    def _count(self) -> None:
        """What was under way before this host."""
        if self._counted:
            return
        self._counted = True
        for net, tenant, count in self.store.open_by_net(tuple(_UNDER_WAY)):
            with contextlib.suppress(StoreError):  # a run without its net is parked when it is loaded
                if self.nets.head(net).queued:
                    self._add(tenant, net, count)


def _place_in_line(run: PendingRun) -> tuple[int, int, int]:
    return run.priority, run.created_at, run.no
