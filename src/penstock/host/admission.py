"""Admission: runs of queued nets begin when there is room for them, by priority and then by age.

What is under way is counted by committed turns alone: a run takes a place when it leaves PENDING and gives it back when
it ends or is PENDING again. The store is asked for the first that wait, by the index `run_pick`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from penstock.errors import BadInput, PenstockError
from penstock.host.limits import Limits
from penstock.host.loaded_run import InternalReply, LoadedRun
from penstock.host.nets import Nets
from penstock.host.turn import Turns
from penstock.kernel import command as C
from penstock.kernel.state import COMPENSATING, RUNNING, WAITING
from penstock.store.run_store import PendingRun, RunStore

#: the setting: how many runs of queued nets are under way at once
SLOTS = "admission.slots"
#: in a net's limits: how many of its own
PER_NET = "executions"
#: runs that are read at once, and read at most before others have their turn
PAGE, MOST = 64, 1024
_UNDER_WAY = frozenset({RUNNING, WAITING, COMPENSATING})


def slots_of(settings: Mapping[str, Any]) -> int:
    """As many as there are processors, twice, unless a setting says otherwise."""
    slots = settings.get(SLOTS)
    if slots is None:
        return 2 * max(2, os.cpu_count() or 2)
    if isinstance(slots, bool) or not isinstance(slots, int) or slots < 1:
        raise BadInput(what=f"the setting «{SLOTS}»", why="it is a whole number of at least 1")
    return slots


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
        self._counted = False
        turns.on_queued = self._on_queued

    @property
    def under_way(self) -> int:
        return self.of_tenant.total() + len(self.asked)

    def admit(self) -> None:
        """As many as there is room for."""
        self.looks = False
        self._count()
        after: PendingRun | None = None
        for _ in range(MOST // PAGE):
            if self.under_way >= self.slots:
                return
            page = self.store.pending_runs(after, PAGE)
            for run in page:
                if self.under_way >= self.slots:
                    return
                if run.no not in self.asked and self._has_room(run):
                    self._admit(run)
            if len(page) < PAGE:
                return
            after = page[-1]

    def _has_room(self, run: PendingRun) -> bool:
        net = self.nets.get(run.net)
        if not net.queued:
            return False
        waiting = self.asked.values()
        mine = self.of_tenant[run.tenant] + sum(other.tenant == run.tenant for other in waiting)
        if mine >= self.limits.of(run.tenant)["admitted_runs"]:
            return False
        most = net.limits.get(PER_NET)
        if most is None:
            return True
        name = net.net.name
        return self.of_net[name] + sum(self.nets.get(other.net).net.name == name for other in waiting) < most

    def _admit(self, run: PendingRun) -> None:
        self.asked[run.no] = run

        def done(error: PenstockError | None) -> None:
            self.asked.pop(run.no, None)
            self.looks = True
            self.wake_up()

        self.turns.send(run.no, C.admit(), InternalReply(done), run.tenant)

    def _on_queued(self, loaded: LoadedRun, was: int, status: int) -> None:
        """A run of a queued net has moved, and that is committed."""
        if (was in _UNDER_WAY) != (status in _UNDER_WAY):
            self._add(loaded.tenant, loaded.net_no, 1 if status in _UNDER_WAY else -1)
        self.looks = True
        self.wake_up()

    def _add(self, tenant: str, net: int, by: int) -> None:
        if not self._counted:
            return
        self.of_tenant[tenant] += by
        self.of_net[self.nets.get(net).net.name] += by

    def _count(self) -> None:
        """What was under way before this host."""
        if self._counted:
            return
        self._counted = True
        for net, tenant, count in self.store.open_by_net(tuple(_UNDER_WAY)):
            if self.nets.get(net).queued:
                self._add(tenant, net, count)
