"""The runs in memory: folded from the store when they are needed, forgotten when they wait or have ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from penstock.errors import RunParked, StoreError
from penstock.host.loaded_run import LoadedRun
from penstock.host.nets import Nets
from penstock.kernel import fact as F
from penstock.kernel.replay import fold
from penstock.kernel.run import NO_CAPS, Caps, Run
from penstock.kernel.state import COMPLETED, EFFECT, PENDING, WAITING, decode_state, new_state
from penstock.net.compiled import Compiled
from penstock.store.run_store import JournalRow, RunRow, RunStore

#: runs with open jobs that are kept in memory
WITH_JOBS = 1000


def _uncapped(tenant: str) -> Caps:
    return NO_CAPS


class LoadedRuns:
    def __init__(self, store: RunStore, nets: Nets) -> None:
        self.store, self.nets = store, nets
        self.runs: dict[int, LoadedRun] = {}
        self._with_jobs: dict[int, LoadedRun] = {}  # runs that wait for jobs; whichever moved last is last
        self.unborn: Counter[str] = Counter()  # by tenant: runs that are started and not in the store yet
        self.folded = 0  # facts, ever: what loading has cost
        self.parked: dict[int, str] = {}  # runs that tripped over a bug of the engine, and why
        #: for a tenant: the value of a body that is stored by reference
        self.resolve_blob: Callable[[str], Callable[[Any], Any]] | None = None
        self.caps: Callable[[str], Caps] = _uncapped  # what a run of a tenant may do
        self.refused_nodes: dict[int, str] = {}  # while a turn is done again: nodes that made what cannot be stored

    def load(self, numbers: list[int]) -> list[LoadedRun]:
        """Those of them that the store has and that can be folded."""
        return self.load_some(numbers, None)[0]

    def load_some(self, numbers: list[int], most_nodes: int | None) -> tuple[list[LoadedRun], list[int]]:
        """The same until nets of more nodes than that had to be wired; and the numbers that are left for later."""
        out: list[LoadedRun] = []
        later: list[int] = []
        wired = self.nets.wired
        for row, journal in self.store.load(numbers):
            if most_nodes is not None and self.nets.wired - wired > most_nodes:
                later.append(row.no)
                continue
            loaded = self.runs.get(row.no)
            if loaded is None:
                self.runs[row.no] = loaded = LoadedRun(row.no)
            if loaded.run is not None or self._fill_or_park(loaded, row, journal):
                out.append(loaded)
        return out, later

    def _fill_or_park(self, loaded: LoadedRun, row: RunRow, journal: list[JournalRow]) -> bool:
        """Could it be folded? A store that is away for a while is no reason to park it."""
        try:
            self._fill(loaded, row, journal)
        except Exception as bug:
            if isinstance(bug, StoreError) and bug.passing:
                raise
            loaded.id = row.id
            self.park(loaded, bug)
            return False
        return True

    def _fill(self, loaded: LoadedRun, row: RunRow, journal: list[JournalRow]) -> None:
        net = self.nets.get(row.net)
        st = decode_state(row.checkpoint) if row.checkpoint else new_state()
        for turn in journal:
            fold(st, F.decode_facts(turn.body), turn.at)  # type: ignore[arg-type]
        self.folded += st.n - row.checkpoint_seq
        if st.net and st.net != net.hash:
            moved_to = self.nets.by_hash(st.net)
            if moved_to is None:
                raise StoreError(why=f"run {row.id} moved to a net that is not in the store")
            loaded.net_no, net = moved_to
        else:
            loaded.net_no = row.net
        loaded.run = self.prepared(Run.load(net, st), row.tenant)
        loaded.in_store, loaded.started_at = True, row.created_at
        loaded.id, loaded.tenant, loaded.key, loaded.parent, loaded.priority = (
            row.id,
            row.tenant,
            row.key,
            row.parent,
            row.priority,
        )
        loaded.checkpoint_seq, loaded.checkpoint_size = row.checkpoint_seq, len(row.checkpoint or b"")
        loaded.unsaved_bytes = sum(len(turn.body) for turn in journal)
        loaded.wake_at = row.wake_at
        loaded.wait_names = {no: wait.name for no, wait in st.waits.items()}

    def read_committed(self, no: int) -> LoadedRun | None:
        """The run as it is committed, to look at: it is neither kept in memory nor goes on by it."""
        held = self.runs.get(no)
        if held is not None and held.run is not None:
            return held
        for row, journal in self.store.load([no]) if no not in self.parked else ():
            seen = LoadedRun(no)
            return seen if self._fill_or_park(seen, row, journal) else None
        return None

    def is_loaded(self, no: int) -> bool:
        """Is the run folded and in memory?"""
        loaded = self.runs.get(no)
        return loaded is not None and loaded.run is not None

    def prepared(self, run: Run, tenant: str) -> Run:
        if self.resolve_blob is not None:
            run.resolve_blob = self.resolve_blob(tenant)
        run.net_of = self._released
        run.refuse = self.refused_nodes
        run.caps = self.caps(tenant)
        return run

    def _released(self, hash: str) -> Compiled | None:
        known = self.nets.by_hash(hash)
        return None if known is None else known[1]

    def _forget(self, loaded: LoadedRun) -> None:
        """Nothing of it is left to do here."""
        if self.runs.pop(loaded.no, None) is not None and not loaded.in_store:
            self.unborn[loaded.tenant] -= 1

    def unload(self, loaded: LoadedRun) -> None:
        """Forget what is in memory; the store has the truth."""
        loaded.run = None

    def park(self, loaded: LoadedRun, bug: Exception) -> RunParked:
        """A run that trips an assert is left as it was committed, and the others go on. It is tried again when the
        store is opened anew: then by an engine that knows better, it is hoped."""
        self.parked[loaded.no] = f"{type(bug).__name__}: {bug}"
        loaded.run = None
        if not loaded.commands:
            self.runs.pop(loaded.no, None)
        return RunParked(run=loaded.id or loaded.no, why=self.parked[loaded.no])

    def unload_idle(self, loaded: LoadedRun) -> None:
        """A run that has ended, or only waits, is forgotten: the store has it, and whoever holds it loads it again."""
        run = loaded.run
        if run is None or loaded.commands:
            return
        if run.st.asked:
            if run.net.has_jobs:
                self._rest_with_jobs(loaded)
        elif run.st.status in (WAITING, PENDING) or run.st.status >= COMPLETED:
            self.runs.pop(loaded.no, None)
            self.unload(loaded)

    def _rest_with_jobs(self, loaded: LoadedRun) -> None:
        """Runs that only wait for workers outside: those that moved last are kept, whose next answer may be near."""
        self._with_jobs.pop(loaded.no, None)
        self._with_jobs[loaded.no] = loaded
        if len(self._with_jobs) <= WITH_JOBS:
            return
        oldest = self._with_jobs.pop(next(iter(self._with_jobs)))
        run = oldest.run
        if run is None or oldest.commands or self.runs.get(oldest.no) is not oldest:
            return
        if all(firing.phase != EFFECT or run.net.nodes[firing.node].job for firing in run.st.firings.values()):
            self.runs.pop(oldest.no, None)
            self.unload(oldest)
