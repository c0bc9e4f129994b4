"""Recovery: runs are folded from the store again, after a crash or a failed commit, and their open effects asked again.

An effect is asked again with the same key. One that may have happened and may not happen twice is in doubt.

After a crash the server is ready at once: runs are folded a few at a time, between turns. A run that gets a command
before its turn has come is folded for that, and its open effects are asked when it is reached.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol

from penstock.dialects import dialect_of
from penstock.errors import StoreError
from penstock.host.children import CALLED, DETACHED, Children
from penstock.host.dispatch import Dispatch
from penstock.host.intake import Intake
from penstock.host.loaded_run import Ask, InternalReply, LoadedRun
from penstock.host.outcomes import Outcomes
from penstock.host.timers import Timers
from penstock.host.turn import Turns
from penstock.kernel import command as C
from penstock.kernel.pool import limit_of
from penstock.kernel.state import COMPLETED, EFFECT
from penstock.store.run_lists import RunListStore
from penstock.store.run_store import RunStore

#: run, firing → attempt and key of an at-most-once effect that was marked before its call
Intents = dict[tuple[int, int], tuple[int, str]]
#: runs that are read in one iteration, as long as it has not wired nets of more nodes
AT_ONCE, MOST_NODES = 32, 300
#: runs that one run has called and that are looked at for detached ones, when it goes on alone
MOST_DETACHED = 1000


class RecoveryStore(RunListStore, RunStore, Protocol):
    """What recovery needs of a store."""


class Recovery:
    def __init__(
        self, store: RecoveryStore, turns: Turns, timers: Timers, outcomes: Outcomes, dispatch: Dispatch,
        children: Children, intake: Intake,
    ) -> None:  # fmt: skip
        self.store, self.turns, self.timers, self.outcomes = store, turns, timers, outcomes
        self.dispatch, self.children, self.intake = dispatch, children, intake
        self.left: deque[int] = deque()  # runs that are not resumed yet
        self.under_way = False
        self.total = 0
        self._before: Intents = {}  # what was marked before the crash

    def recover(self) -> int:
        """After a crash: every run that can go on will be resumed, a few in each iteration; how many can."""
        self.left.extend(self.store.unfinished())
        self._before = self._intents()
        self.under_way, self.total = True, len(self.left)
        self.intake.recover()
        self.intake.poll()
        return self.total

    def go_on(self) -> None:
        """Some of the runs that are not resumed yet."""
        left = self.left
        some = [left[i] for i in range(min(AT_ONCE, len(left)))]
        loaded_now, later = self.turns.load_some(some, MOST_NODES)
        for loaded in loaded_now:
            self._rest(loaded)
            self.resume(loaded, self._before)
        for _ in some:  # only now: a store that cannot be read is asked for them again
            left.popleft()
        left.extendleft(reversed(later))
        if not left:
            self._finish()

    def _rest(self, loaded: LoadedRun) -> None:
        """Runs of some languages begin nothing by themselves after a restart: somebody is asked first."""
        run = loaded.run
        assert run is not None
        if run.net.pools and run.st.status < COMPLETED and dialect_of(run.net.net.language).rests_after_restart:
            for pool in run.net.pools:
                if limit_of(run, pool):
                    self.turns.command(loaded, C.limit(pool, 0, "restarted"))

    def _finish(self) -> None:
        for no, child in self.store.open_below(CALLED):
            if child not in self.children.parents:  # its caller was stopped, and the crash came before it heard of it
                self.turns.send(no, C.cancel("now"), InternalReply(lambda error: None))
        self.under_way, self._before = False, {}

    def resume_run(self, no: int) -> None:
        """The same for one run, what it calls and what it has let go; nothing when it is in memory already."""
        if not self.turns.is_loaded(no):
            intents = self._before if self.under_way else self._intents()
            for loaded in self.turns.load([no]):
                self.resume(loaded, intents)
                for child, id in self.store.open_called(loaded.id, MOST_DETACHED):
                    if id.startswith(DETACHED):
                        self.resume_run(child)
            self.turns.wake_up()

    def fold_again(self) -> None:
        """After a commit that failed: the runs of its batch are folded again. What they had asked before is in flight
        still, and is asked again only where it is not."""
        rolled_back = dict(self.turns.rolled_back)
        try:
            intents = self._intents()
            for loaded in self.turns.fold_again():
                self.resume(loaded, intents)
        except StoreError:
            self.turns.rolled_back = rolled_back
            raise

    def resume(self, loaded: LoadedRun, intents: Intents) -> None:
        """Set a run's timer, look for events that it waits for, and ask its open effects again."""
        run = loaded.run
        assert run is not None
        if loaded.wake_at is not None:
            self.timers.set(loaded.wake_at, loaded.no, loaded.tenant)
        self.intake.look_for(loaded)
        asks: list[Ask] = []
        for firing in run.st.firings.values():
            if firing.phase != EFFECT or self.dispatch.has(loaded, firing) or self.children.has(loaded, firing):
                continue
            if loaded.has_answer(firing):
                continue
            intent = intents.get((loaded.no, firing.no))
            if intent is not None and intent[0] == firing.attempt:
                self.outcomes.in_doubt.append(("in_doubt", intent[1]))
                self.turns.command(loaded, C.doubt(firing.no, firing.attempt, firing.probe))
            else:
                asks.append(Ask(loaded, firing, firing.attempt, firing.probe, again=True))
        self.dispatch.out(asks)
        stopping = [ask.firing.no for ask in asks if ask.firing.stopping]
        if stopping:
            self.dispatch.tell_to_end(loaded, stopping)
        self.turns.go_on(loaded)
        self.turns.unload_idle(loaded)

    def _intents(self) -> Intents:
        return {(run, firing): (attempt, key) for key, run, firing, attempt, _ in self.store.intents()}
