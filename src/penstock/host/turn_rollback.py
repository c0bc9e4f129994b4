"""A commit that failed: nothing of it has happened. Its runs are folded again, its commands wait or are refused."""

from __future__ import annotations

from collections.abc import Callable

from penstock.errors import PenstockError, StoreError
from penstock.host.clock import Clock
from penstock.host.loaded_run import InternalReply, LoadedRun, Reply
from penstock.host.loaded_runs import LoadedRuns
from penstock.host.nets import Nets
from penstock.host.ready_queue import ReadyQueue
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.run import Run
from penstock.kernel.state import COMPLETED
from penstock.store.run_store import Batch, RunStore

#: a run of the batch: its status before, the facts, the replies, the commands it took, and why they were refused
Stepped = tuple[LoadedRun, int, list[F.Fact], dict[int, Reply], list[C.Command], PenstockError | None]


class TurnRollback(LoadedRuns):
    """The runs in memory and their queue, as a failed commit leaves them."""

    def __init__(self, store: RunStore, nets: Nets, clock: Clock) -> None:
        super().__init__(store, nets)
        self.clock = clock
        self.ready = ReadyQueue()
        self.starting: dict[tuple[str, str], LoadedRun] = {}  # tenant, key → runs that wait for their first turn
        self.on_end: list[Callable[[LoadedRun], None]] = []
        self.on_facts: list[Callable[[LoadedRun, list[F.Fact], int, int], None]] = []
        self.on_waits: list[Callable[[LoadedRun, list[F.Fact]], None]] = []  # told of runs that have open waits
        self.on_rollback: list[Callable[[Batch], None]] = []  # take back what was added before the commit
        self.rolled_back: dict[int, LoadedRun] = {}  # runs of a commit that failed, to be folded again
        #: what these had done: the status before, the facts, the number of the last one
        self.unreported: dict[int, tuple[int, list[F.Fact], int]] = {}

    def roll_back(self, taken: list[LoadedRun], stepped: list[Stepped], batch: Batch, error: BaseException) -> None:
        """H13: nothing of the batch has happened. Those who wait for it are told; the engine's own commands (answers,
        timers, calls) have no other keeper and stay."""
        why = error if isinstance(error, PenstockError) else StoreError(why=str(error))
        refusals: list[tuple[Reply, PenstockError]] = []
        for loaded, was, facts, replies, commands, refused in stepped:
            if loaded.no in self.parked:
                refusals += [(reply, refused or why) for reply in replies.values()]
                continue
            kept, tell = _kept(commands, replies, refusals, why)
            loaded.replies = tell | {i + len(kept): reply for i, reply in loaded.replies.items()}
            loaded.commands = kept + loaded.commands
            if refused is None and loaded.run is not None:
                self.unreported[loaded.no] = (was, facts, loaded.run.st.n)
            self.unload(loaded)
            self.rolled_back[loaded.no] = loaded
        queued = set(map(id, self.ready))
        again = [loaded for loaded in taken if loaded.commands and id(loaded) not in queued]
        self.ready.put_back(again)
        for undo in self.on_rollback:
            undo(batch)
        for reply, because in refusals:
            reply(because)

    def refuse_waiting(self, why: PenstockError) -> None:
        """No turn can be taken for a while: who waits for one is told, and the engine's own commands stay."""
        refusals: list[tuple[Reply, PenstockError]] = []
        for loaded in self.ready:
            if loaded.replies:
                loaded.commands, loaded.replies = _kept(loaded.commands, loaded.replies, refusals, why)
                if not loaded.commands and not loaded.in_store:
                    self._forget(loaded)
                    if loaded.key is not None:
                        self.starting.pop((loaded.tenant, loaded.key), None)
        self.ready.keep(lambda loaded: bool(loaded.commands))
        for reply, because in refusals:
            reply(because)

    def fold_again(self) -> list[LoadedRun]:
        """After a commit that failed: its runs, folded again from what the store has. Raises as long as it cannot be
        read, and loses nothing by it."""
        for loaded in self.rolled_back.values():
            self.runs[loaded.no] = loaded
        self.load([no for no in self.rolled_back if no not in self.parked])
        folded = []
        for loaded in self.rolled_back.values():
            if loaded.run is None and not loaded.in_store and loaded.commands and loaded.commands[0][0] == C.START:
                loaded.run = self.prepared(Run.fresh(self.nets.get(loaded.net_no)), loaded.tenant)
                loaded.wait_names, loaded.wake_at = {}, None
                loaded.checkpoint_seq = loaded.checkpoint_size = loaded.unsaved_bytes = 0
                if loaded.key is not None:
                    self.starting[loaded.tenant, loaded.key] = loaded
            elif loaded.run is not None:
                folded.append(loaded)
            elif not loaded.commands:
                self._forget(loaded)
        self.rolled_back = {}
        for loaded in folded:
            self._report_late(loaded)
        self.unreported = {}
        return folded

    def _report_late(self, loaded: LoadedRun) -> None:
        """H5: the answer to the commit was lost and nothing else: its turn is there, and nobody was told."""
        was, facts, last = self.unreported.get(loaded.no, (COMPLETED, [], 0))
        run = loaded.run
        if run is not None and facts and run.st.n >= last:
            for listen in self.on_facts:
                listen(loaded, facts, last, self.clock.now())
            for look in self.on_waits if loaded.wait_names else ():
                look(loaded, facts)
            if run.st.status >= COMPLETED and was < COMPLETED:
                for ended in self.on_end:
                    ended(loaded)
        self.unreported.pop(loaded.no, None)


def _kept(
    commands: list[C.Command], replies: dict[int, Reply], refusals: list[tuple[Reply, PenstockError]],
    why: PenstockError,
) -> tuple[list[C.Command], dict[int, Reply]]:  # fmt: skip
    """The commands that nobody would send again, and who hears of them; the others are to be told why."""
    kept: list[C.Command] = []
    tell: dict[int, Reply] = {}
    for i, command in enumerate(commands):
        reply = replies.get(i)
        if reply is None or isinstance(reply, InternalReply):
            if reply is not None:
                tell[len(kept)] = reply
            kept.append(command)
        else:
            refusals.append((reply, why))
    return kept, tell
