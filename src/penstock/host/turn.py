"""The turn: take what is pending, step each run, commit everything in one transaction, only then let effects out.

It knows no executor, no event loop and no wall clock, so the simulation drives the same code. All commands of a run
that wait here at once are one turn and one journal row. What happens when a commit fails is in `turn_rollback.py`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgspec

from penstock.dialects import dialect_of
from penstock.errors import (
    Fenced,
    PenstockError,
    Refused,
    RunNotFound,
    RunParked,
    StoreError,
)
from penstock.host.clock import Clock
from penstock.host.loaded_run import TAKEN, Ask, EventReply, InboxReply, LoadedRun, Reply
from penstock.host.nets import Nets
from penstock.host.rows import CHECKPOINT_EVERY, Rows
from penstock.host.turn_rollback import Stepped, TurnRollback
from penstock.host.unstorable import UNSTORABLE, Unstorable, unstorable
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.failure import Failure
from penstock.kernel.run import Run
from penstock.kernel.state import COMPLETED, PENDING, RUNNING
from penstock.kernel.step import STOPS, advance
from penstock.store.run_store import Batch, RunStore

BATCH = 512
#: facts that a batch may make or fold before the others wait for the next one
BATCH_FACTS = 2000
#: nanoseconds after which a batch is left at that: facts are not equally dear in every language
HOLDS_NS = 8_000_000
#: the same while somebody waits for an answer on the loop: who has the least to do is served soonest
SHORT_NS = 2_000_000
#: runs that are read from the store at once
LOADED_AT_ONCE = 128


def _nobody_counts(tenant: str) -> None:
    """Whoever takes turns without limits."""


def _nobody_admits(loaded: LoadedRun, was: int, status: int) -> None:
    """Whoever takes turns without admitting runs."""


def _nobody_sleeps() -> None:
    """Whoever takes turns without a loop needs no waking."""


class Turns(TurnRollback):
    def __init__(
        self, store: RunStore, nets: Nets, clock: Clock, *, batch: int = BATCH, checkpoint_every: int = CHECKPOINT_EVERY
    ) -> None:
        super().__init__(store, nets, clock)
        self.batch_size = batch
        self.rows = Rows(nets, self.prepared, checkpoint_every=checkpoint_every)
        self.next_no = store.last_run() + 1
        self.before_commit: list[Callable[[Batch], None]] = []  # add what is committed beside the facts
        self.on_queued: Callable[[LoadedRun, int, int], None] = _nobody_admits  # told of moves of runs of queued nets
        self.on_start: Callable[[str], None] = _nobody_counts  # told the tenant of every run that is started
        self.wake_up: Callable[[], None] = _nobody_sleeps  # called when a run has got something to do
        self.wakes: list[tuple[int | None, int, str]] = []  # when the runs of this batch wake next, if they have timers
        self.stopped: list[tuple[LoadedRun, list[int]]] = []  # effects that this batch has dropped
        self.told: list[tuple[LoadedRun, list[int]]] = []  # effects whose executor is to end them
        self.batch_facts, self.holds_ns = BATCH_FACTS, HOLDS_NS
        self.short_slices = False
        self._facts = 0  # made by this batch
        # permanent counters: nanoseconds and numbers
        self.step_ns = self.commit_ns = self.out_ns = self.turns = self.batches = self.asks = 0

    # -- commands ------------------------------------------------------------------------------------------------------

    def start(
        self, id: str, net_no: int, given: Any, *, tenant: str = "default", key: str | None = None,
        priority: int = 1000, parent: str = "", options: dict[str, Any] | None = None, reply: Reply | None = None,
        trace: str = "",
    ) -> LoadedRun:  # fmt: skip
        loaded = LoadedRun(self.next_no)
        self.next_no += 1
        loaded.id, loaded.tenant, loaded.key, loaded.parent = id, tenant, key, parent or None
        loaded.net_no, loaded.priority = net_no, priority
        loaded.run = self.prepared(Run.fresh(self.nets.get(net_no)), tenant)
        self.runs[loaded.no] = loaded
        self.unborn[tenant] += 1
        self.on_start(tenant)
        if key is not None:
            self.starting[tenant, key] = loaded
        self.command(loaded, C.start(id, given, tenant=tenant, trace=trace, parent=parent, options=options), reply)
        return loaded

    def send(self, no: int, command: C.Command, reply: Reply | None = None, tenant: str = "") -> None:
        """A command for a run that may lie only in the store; whose it is says who waits for whom."""
        loaded = self.runs.get(no)
        if loaded is None:
            self.runs[no] = loaded = LoadedRun(no)
            loaded.in_store, loaded.tenant = True, tenant
        self.command(loaded, command, reply)

    def command(self, loaded: LoadedRun, command: C.Command, reply: Reply | None = None) -> None:
        if loaded.commands and command[0] in STOPS and loaded.run is not None and loaded.run.more:
            self._command_first(loaded, command, reply)
            return
        if reply is not None:
            loaded.replies[len(loaded.commands)] = reply
        loaded.commands.append(command)
        if len(loaded.commands) == 1:
            self.ready.append(loaded)
            self.wake_up()

    def go_on(self, loaded: LoadedRun) -> None:
        """A run was folded anew: the turn before may have been a slice, of which something is left over."""
        run = loaded.run
        if run is None or run.st.status != RUNNING or loaded.commands:
            return
        if run.heap or run.fans or run.idle or not run.st.asked:
            self.command(loaded, C.go_on())

    def _command_first(self, loaded: LoadedRun, command: C.Command, reply: Reply | None) -> None:
        """A run that has not come to rest is stopped before it hears anything else."""
        loaded.commands.insert(0, command)
        loaded.replies = {i + 1: other for i, other in loaded.replies.items()}
        if reply is not None:
            loaded.replies[0] = reply

    # -- the turn ------------------------------------------------------------------------------------------------------

    def turn(self, now: int | None = None) -> list[Ask]:
        """One batch. What it returns may go out: it is committed."""
        taken = self.ready.take(self.batch_size)
        if not taken:
            return []
        t0 = time.perf_counter_ns()
        now = self.clock.now() if now is None else now
        batch = Batch()
        asks: list[Ask] = []
        stepped: list[Stepped] = []
        try:
            taken = self._step_all(taken, now, batch, asks, stepped)
            for add in self.before_commit:
                add(batch)
            t1 = time.perf_counter_ns()
            if (
                batch.journal or batch.gate or batch.memo or batch.inbox_answered or batch.intent_gone
                or batch.intent_moved or batch.blobs
            ):  # fmt: skip
                self._commit(batch, stepped)
        except BaseException as error:
            self.roll_back(taken, stepped, batch, error)
            raise
        t2 = time.perf_counter_ns()
        self._after(stepped, now)
        self.step_ns += t1 - t0
        self.commit_ns += t2 - t1
        self.turns += len(stepped)
        self.batches += 1
        self.asks += len(asks)
        return asks

    def _step_all(
        self, taken: list[LoadedRun], now: int, batch: Batch, asks: list[Ask], stepped: list[Stepped]
    ) -> list[LoadedRun]:
        """Step the runs until the batch is full; who had no turn is put back. Returns those who had one."""
        self._facts = 0
        holds_ns = min(self.holds_ns, SHORT_NS) if self.short_slices else self.holds_ns
        folded, until = self.folded, time.perf_counter_ns() + holds_ns
        for first in range(0, len(taken), LOADED_AT_ONCE):
            some = taken[first : first + LOADED_AT_ONCE] if len(taken) > LOADED_AT_ONCE else taken
            cold = [loaded.no for loaded in some if loaded.run is None and loaded.no not in self.parked]
            if cold:
                self.load(cold)
            for i, loaded in enumerate(some, first):
                full = self._facts + self.folded - folded >= self.batch_facts
                if i and (full or time.perf_counter_ns() >= until):
                    self.ready.put_back(taken[i:])
                    return taken[:i]
                self._step(loaded, now, batch, asks, stepped)
        return taken

    def _commit(self, batch: Batch, stepped: list[Stepped]) -> None:
        try:
            self.store.commit(batch)
        except Fenced:
            raise
        except StoreError:
            if not self._is_there(batch):
                raise
        for loaded, _, _, _, _, refused in stepped:
            if refused is None and not loaded.in_store:
                loaded.in_store = True
                self.unborn[loaded.tenant] -= 1

    def _is_there(self, batch: Batch) -> bool:
        """H5: was it only the answer to a commit that was lost? The first turn of the batch tells."""
        if not batch.journal:
            return False
        run, first, last, at, body = batch.journal[0]
        row = next(iter(self.store.journal(run, first - 1)), None)
        return row is not None and (row.seq_from, row.seq_to, row.at, row.body) == (first, last, at, bytes(body))

    def _step(self, loaded: LoadedRun, now: int, batch: Batch, asks: list[Ask], stepped: list[Stepped]) -> None:
        commands, loaded.commands = loaded.commands, []
        if loaded.key is not None:
            self.starting.pop((loaded.tenant, loaded.key), None)
        replies = loaded.replies
        if replies:
            loaded.replies = {}
        run = loaded.run
        if run is None:
            why = self.parked.get(loaded.no)
            error = RunNotFound(run=loaded.no) if why is None else RunParked(run=loaded.id or loaded.no, why=why)
            self._refuse(loaded, replies, commands, error, batch, stepped)
            return
        was, before = run.st.status, run.st.n
        try:
            run, facts = advance(run, commands, now, lambda: self._fold_committed(loaded))
            try:
                body = F.encode_facts(facts)
            except UNSTORABLE as error:
                raise unstorable(run, facts, error) from error
        except (PenstockError, Unstorable) as error:
            try:
                if isinstance(error, StoreError) and error.passing:
                    raise
                reason = dialect_of(run.net.net.language).error(error) if isinstance(error, PenstockError) else error
                self._one_by_one(loaded, commands, replies, now, batch, asks, stepped, reason)
            except BaseException:
                loaded.commands, loaded.replies = commands, replies
                raise
            return
        except Exception as bug:
            self._refuse(loaded, replies, commands, self.park(loaded, bug), batch, stepped)
            return
        loaded.run = run
        self._facts += len(facts)
        self.ready.charge(loaded.tenant, len(facts))
        if run.more or run.decided < len(commands):
            commands, replies = self._leave_over(loaded, run, commands, replies)
        runtime = self.rows.runtimes[run.net.net.language]
        mark = batch.mark() if runtime is not None and runtime.parks_alone else None
        try:
            self.rows.write(loaded, run, facts, body, was, before, now, batch)
        except Exception as bug:
            if mark is None or isinstance(bug, StoreError):
                raise
            batch.back_to(mark)
            self._refuse(loaded, replies, commands, self.park(loaded, bug), batch, stepped)
            return
        if loaded.run is not run:  # it goes on in another net
            loaded.commands.insert(0, C.nudge())
            if not (run.more or run.decided < len(commands)):
                self.ready.append(loaded)
        for no in run.asks:
            firing = run.st.firings.get(no)
            if firing is not None and firing.phase == 1:
                asks.append(Ask(loaded, firing, firing.attempt, firing.probe))
        for reply in replies.values():
            if type(reply) is InboxReply:
                batch.inbox_answered.append((TAKEN, reply.no))
            elif type(reply) is EventReply:
                reply.used = reply.id in run.st.seen  # by this turn, or by one whose commit had no answer (H5)
                batch.event_taken += [reply.row] if reply.used else []
        stepped.append((loaded, was, facts, replies, commands, None))

    def _leave_over(
        self, loaded: LoadedRun, run: Run, commands: list[C.Command], replies: dict[int, Reply]
    ) -> tuple[list[C.Command], dict[int, Reply]]:
        """The run's slice is full: what is left waits for its next turn, after others had theirs. Returns what was
        decided in this one, and who hears of it."""
        count = run.decided
        loaded.commands = commands[count:] or [C.go_on()]
        loaded.replies = {i - count: reply for i, reply in replies.items() if i >= count}
        self.ready.append(loaded)
        return commands[:count], {i: reply for i, reply in replies.items() if i < count}

    def _refuse(
        self, loaded: LoadedRun, replies: dict[int, Reply], commands: list[C.Command], error: PenstockError,
        batch: Batch, stepped: list[Stepped],
    ) -> None:  # fmt: skip
        """Who sent it hears of it when the batch is committed: what refuses it may lie in the same batch."""
        batch.inbox_answered += [reply.answer(error) for reply in replies.values() if type(reply) is InboxReply]
        stepped.append((loaded, 0, [], replies, commands, error))

    def _fold_committed(self, loaded: LoadedRun) -> Run:
        """A fresh fold of what is committed, for a turn that has to be done again."""
        if not loaded.in_store:
            assert loaded.run is not None
            return self.prepared(Run.fresh(loaded.run.net), loaded.tenant)
        loaded.run = None
        self.load([loaded.no])
        if loaded.run is None:
            raise RunParked(run=loaded.id, why=self.parked.get(loaded.no, "its row is gone"))
        return loaded.run

    def _one_by_one(
        self, loaded: LoadedRun, commands: list[C.Command], replies: dict[int, Reply], now: int, batch: Batch,
        asks: list[Ask], stepped: list[Stepped], error: Exception,
    ) -> None:  # fmt: skip
        """One command of the turn was refused or cannot be stored: find it, answer it, and do the others again."""
        try:
            loaded.run = self._fold_committed(loaded)
        except RunParked as parked:
            self._refuse(loaded, replies, commands, parked, batch, stepped)
            return
        if len(commands) == 1:
            command = commands[0]
            if isinstance(error, Unstorable) and self._made_by(error, command):
                self._without(loaded, commands, replies, now, batch, asks, stepped, error)
                return
            if command[0] == C.OUTCOME and not isinstance(error, PenstockError):
                message = f"the answer cannot be stored: {error}"
                failure = Failure("OUTPUT_INVALID", "validation", message)
                loaded.commands = [C.failed(command[1], command[2], failure, command[3])]
                loaded.replies = replies
                self._step(loaded, now, batch, asks, stepped)
                return
            refusal = error if isinstance(error, PenstockError) else Refused(why=f"it cannot be stored: {error}")
            if not replies and not isinstance(refusal, Refused):  # nobody would hear that it was lost
                refusal = self.park(loaded, error)
            self._refuse(loaded, replies, commands, refusal, batch, stepped)
            self.go_on(loaded)
            return
        # each command takes a turn of its own; the first goes now, the others keep their order
        rest_commands = commands[1:]
        rest_replies = {i - 1: reply for i, reply in replies.items() if i}
        loaded.commands, loaded.replies = commands[:1], {0: replies[0]} if 0 in replies else {}
        self._step(loaded, now, batch, asks, stepped)
        is_queued = bool(loaded.commands)
        loaded.commands = rest_commands + loaded.commands
        loaded.replies = rest_replies
        self.runs.setdefault(loaded.no, loaded)
        if not is_queued:
            self.ready.append(loaded)

    def _made_by(self, error: Unstorable, command: C.Command) -> bool:
        """Did a node make of the command what cannot be stored? Then it is not the fault of whoever sent it."""
        if error.node is None or error.node in self.refused_nodes:
            return False
        try:
            msgspec.msgpack.encode(command)
        except UNSTORABLE:
            return False
        return True

    def _without(
        self, loaded: LoadedRun, commands: list[C.Command], replies: dict[int, Reply], now: int, batch: Batch,
        asks: list[Ask], stepped: list[Stepped], error: Unstorable,
    ) -> None:  # fmt: skip
        """The turn again, and the node that made a value which cannot be stored fails in it."""
        before = self.refused_nodes
        assert error.node is not None
        self.refused_nodes = {**before, error.node: f"a value that cannot be stored: {error}"}
        try:
            loaded.run = self._fold_committed(loaded)
            loaded.commands, loaded.replies = commands, replies
            self._step(loaded, now, batch, asks, stepped)
        finally:
            self.refused_nodes = before
            if loaded.run is not None:
                loaded.run.refuse = before

    def _after(self, stepped: list[Stepped], now: int) -> None:
        """Committed: answer those who wait for it, tell who listens, forget what ended or waits."""
        for loaded, was, facts, replies, _, refused in stepped:
            for reply in replies.values():
                reply(refused)
            run = loaded.run
            if refused is not None:
                if loaded.in_store:
                    self.unload_idle(loaded)
                if (run is None or not loaded.in_store) and not loaded.commands:
                    self._forget(loaded)
                continue
            if run is None:
                continue
            if loaded.wake_at is not None or run.st.next_timer > 1:
                self.wakes.append((loaded.wake_at, loaded.no, loaded.tenant))
            if run.stops:
                self.stopped.append((loaded, run.stops))
            if run.tells:
                self.told.append((loaded, run.tells))
            for listen in self.on_facts:
                listen(loaded, facts, run.st.n, now)
            if loaded.wait_names:
                for look in self.on_waits:
                    look(loaded, facts)
            status = run.st.status
            if run.net.queued and (status != was or status == PENDING):  # its delay may be over
                self.on_queued(loaded, was, status)
            if status >= COMPLETED and was < COMPLETED:
                for ended in self.on_end:
                    ended(loaded)
            if not run.st.asked or run.net.has_jobs:
                self.unload_idle(loaded)
