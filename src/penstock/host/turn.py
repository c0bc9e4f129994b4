"""The turn: take what is pending, step each run, commit everything in one transaction, only then let effects out.

This is the only file passed on every lap. It knows no executor, no event loop and no wall clock, so the simulation
drives the same code. All commands of a run that lie here at once are one turn and one journal row. If a commit fails,
nothing of it has happened: the batch's runs are dropped from memory, to be folded again from the store, and the
commands that nobody would send again wait for another turn.
"""

from __future__ import annotations

import time
from collections import deque
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
from penstock.host.loaded_run import TAKEN, Ask, EventReply, InboxReply, InternalReply, LoadedRun, Reply
from penstock.host.nets import Nets
from penstock.host.rows import CHECKPOINT_EVERY, Rows
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.failure import Failure
from penstock.kernel.replay import fold
from penstock.kernel.run import Run
from penstock.kernel.state import COMPLETED, PENDING, WAITING, decode_state, new_state
from penstock.kernel.step import advance
from penstock.store.contract import Batch, JournalRow, RunRow, Store

BATCH = 512

#: a run of the batch: its status before, the facts, who is told, the commands it took, and why they were refused
Stepped = tuple[LoadedRun, int, list[F.Fact], dict[int, Reply], list[C.Command], PenstockError | None]


class Unstorable(Exception):
    """The facts of a turn hold a value that the journal cannot; `node` is the one that made it, where that is known."""

    node: int | None = None


_UNSTORABLE = (TypeError, OverflowError, ValueError, RecursionError, msgspec.MsgspecError)


def _kept(
    commands: list[C.Command], replies: dict[int, Reply], told: list[tuple[Reply, PenstockError]], why: PenstockError
) -> tuple[list[C.Command], dict[int, Reply]]:
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
            told.append((reply, why))
    return kept, tell


def _encoded(run: Run, facts: list[F.Fact]) -> bytes:
    try:
        return F.encode_facts(facts)
    except _UNSTORABLE as error:
        found = Unstorable(str(error))
        found.node = _maker(run, facts)
        raise found from error


def _maker(run: Run, facts: list[F.Fact]) -> int | None:
    """The node of the first fact that cannot be stored; facts without one belong to the node before them."""
    nodes = {no: firing.node for no, firing in run.st.firings.items()}
    last: int | None = None
    for fact in facts:
        told = F.fields_of(fact)
        if isinstance(told.get("node"), int):
            last = told["node"]
            nodes[told.get("firing", -1)] = told["node"]
        elif "firing" in told:
            last = nodes.get(told["firing"], last)
        elif "edge" in told:
            last = run.net.edges[told["edge"]].src.no
        try:
            F.encode_facts([fact])
        except _UNSTORABLE:
            return last
    return last


class Turns:
    def __init__(
        self, store: Store, nets: Nets, clock: Clock, *, batch: int = BATCH, checkpoint_every: int = CHECKPOINT_EVERY
    ) -> None:
        self.store, self.nets, self.clock = store, nets, clock
        self.batch_size = batch
        self.rows = Rows(nets, self._made, checkpoint_every=checkpoint_every)
        self.runs: dict[int, LoadedRun] = {}
        self.ready: deque[LoadedRun] = deque()
        self.starting: dict[tuple[str, str], LoadedRun] = {}  # tenant, key → runs that wait for their first turn
        self.next_no = store.last_run() + 1
        self.on_end: list[Callable[[LoadedRun], None]] = []
        self.on_facts: list[Callable[[LoadedRun, list[F.Fact], int, int], None]] = []
        self.extra: Callable[[Batch], None] | None = None  # the gate's and the dispatcher's rows of this batch
        self.give_back: Callable[[Batch], None] | None = None  # the same, when its commit has failed
        #: for a tenant: the value of a body that is stored by reference
        self.whole: Callable[[str], Callable[[Any], Any]] | None = None
        self.wakes: list[tuple[int | None, int]] = []  # when the runs of this batch wake next, if they have timers
        self.stopped: list[tuple[LoadedRun, list[int]]] = []  # effects that this batch has dropped
        self.parked: dict[int, str] = {}  # runs that tripped over a bug of the engine, and why
        self.lost: dict[int, LoadedRun] = {}  # dropped with a commit that failed, and to be folded again
        #: what these had done: the status before, the facts, the number of the last one
        self.untold: dict[int, tuple[int, list[F.Fact], int]] = {}
        self.refuse: dict[int, str] = {}  # while a turn is done again: nodes that made what cannot be stored
        self.turns_by_tenant: dict[str, int] = {}
        # permanent counters: nanoseconds and numbers
        self.step_ns = self.commit_ns = self.out_ns = self.turns = self.batches = self.asks = 0

    # -- doors ---------------------------------------------------------------------------------------------------------

    def start(
        self, id: str, net_no: int, given: Any, *, tenant: str = "default", key: str | None = None, priority: int =
        1000,
        parent: str = "", options: dict[str, Any] | None = None, reply: Reply | None = None, trace: str = "",
    ) -> LoadedRun:  # fmt: skip
        live = LoadedRun(self.next_no)
        self.next_no += 1
        live.id, live.tenant, live.key, live.parent = id, tenant, key, parent or None
        live.net_no, live.priority = net_no, priority
        live.run = self._made(Run.fresh(self.nets.get(net_no)), tenant)
        self.runs[live.no] = live
        if key is not None:
            self.starting[tenant, key] = live
        self.command(live, C.start(id, given, tenant=tenant, trace=trace, parent=parent, options=options), reply)
        return live

    def send(self, no: int, command: C.Command, reply: Reply | None = None) -> None:
        """A command for a run that may lie only in the store."""
        live = self.runs.get(no)
        if live is None:
            self.runs[no] = live = LoadedRun(no)
            live.row = True
        self.command(live, command, reply)

    def command(self, live: LoadedRun, command: C.Command, reply: Reply | None = None) -> None:
        if not live.commands:
            self.ready.append(live)
        if reply is not None:
            live.replies[len(live.commands)] = reply
        live.commands.append(command)

    # -- loading -------------------------------------------------------------------------------------------------------

    def load(self, numbers: list[int]) -> list[LoadedRun]:
        """Those of them that the store has and that can be folded."""
        out = []
        for row, journal in self.store.load(numbers):
            live = self.runs.get(row.no)
            if live is None:
                self.runs[row.no] = live = LoadedRun(row.no)
            if live.run is None:
                try:
                    self._fill(live, row, journal)
                except Exception as bug:
                    if isinstance(bug, StoreError) and bug.passing:
                        raise
                    live.id = row.id
                    self._park(live, bug)
                    continue
            out.append(live)
        return out

    def _fill(self, live: LoadedRun, row: RunRow, journal: list[JournalRow]) -> None:
        net = self.nets.get(row.net)
        st = decode_state(row.checkpoint) if row.checkpoint else new_state()
        for turn in journal:
            fold(st, F.decode_facts(turn.body), turn.at)  # type: ignore[arg-type]
        if st.net and st.net != net.hash:
            found = self.nets.by_hash(st.net)
            if found is None:
                raise StoreError(why=f"run {row.id} moved to a net that is not in the store")
            live.net_no, net = found
        else:
            live.net_no = row.net
        live.run = self._made(Run.load(net, st), row.tenant)
        live.row, live.since = True, row.created_at
        live.id, live.tenant, live.key, live.parent, live.priority = (
            row.id,
            row.tenant,
            row.key,
            row.parent,
            row.priority,
        )
        live.checkpoint_seq, live.checkpoint_size = row.checkpoint_seq, len(row.checkpoint or b"")
        live.unsaved = sum(len(turn.body) for turn in journal)
        live.wake = row.wake_at
        live.names = {no: wait.name for no, wait in st.waits.items()}

    def peek(self, no: int) -> LoadedRun | None:
        """The run as it is committed, to look at: it is neither kept in memory nor goes on by it."""
        held = self.runs.get(no)
        if held is not None and held.run is not None:
            return held
        for row, journal in self.store.load([no]) if no not in self.parked else ():
            seen = LoadedRun(no)
            try:
                self._fill(seen, row, journal)
            except Exception as bug:
                if isinstance(bug, StoreError) and bug.passing:
                    raise
                seen.id = row.id
                self._park(seen, bug)
                return None
            return seen
        return None

    def holds(self, no: int) -> bool:
        """Is the run folded and in memory?"""
        live = self.runs.get(no)
        return live is not None and live.run is not None

    def _made(self, run: Run, tenant: str) -> Run:
        if self.whole is not None:
            run.whole = self.whole(tenant)
        run.refuse = self.refuse
        return run

    def drop(self, live: LoadedRun) -> None:
        """Forget what is in memory; the store has the truth."""
        live.run = None

    # -- the turn ------------------------------------------------------------------------------------------------------

    def take(self) -> list[LoadedRun]:
        ready, most = self.ready, self.batch_size
        if len(ready) <= most:
            batch = list(ready)
            ready.clear()
            self.turns_by_tenant.clear()  # who had much before this backlog is not made to wait for it now
            return batch
        # there is a backlog: priority first, then the tenant that has had the least
        had = self.turns_by_tenant
        rows = sorted(ready, key=lambda live: (live.priority, had.get(live.tenant, 0)))
        ready.clear()
        ready.extend(rows[most:])
        for live in rows[:most]:
            had[live.tenant] = had.get(live.tenant, 0) + 1
        return rows[:most]

    def turn(self) -> list[Ask]:
        """One batch. What it returns may go out: it is committed."""
        taken = self.take()
        if not taken:
            return []
        t0 = time.perf_counter_ns()
        now = self.clock.now()
        batch = Batch()
        asks: list[Ask] = []
        stepped: list[Stepped] = []
        try:
            cold = [live.no for live in taken if live.run is None and live.no not in self.parked]
            if cold:
                self.load(cold)
            for live in taken:
                self._step(live, now, batch, asks, stepped)
            if self.extra is not None:
                self.extra(batch)
            t1 = time.perf_counter_ns()
            if (
                batch.journal or batch.gate or batch.memo or batch.inbox_answered or batch.intent_gone
                or batch.intent_moved or batch.blobs
            ):  # fmt: skip
                self._commit(batch, stepped)
        except BaseException as error:
            self._roll_back(taken, stepped, batch, error)
            raise
        t2 = time.perf_counter_ns()
        self._after(stepped, now)
        self.step_ns += t1 - t0
        self.commit_ns += t2 - t1
        self.turns += len(stepped)
        self.batches += 1
        self.asks += len(asks)
        return asks

    def _commit(self, batch: Batch, stepped: list[Stepped]) -> None:
        try:
            self.store.commit(batch)
        except Fenced:
            raise
        except StoreError:
            if not self._is_there(batch):
                raise
        for live, _, _, _, _, refused in stepped:
            if refused is None:
                live.row = True

    def _is_there(self, batch: Batch) -> bool:
        """H5: was it only the answer to a commit that was lost? The first turn of the batch tells."""
        if not batch.journal:
            return False
        run, first, last, at, body = batch.journal[0]
        row = next(iter(self.store.journal(run, first - 1)), None)
        return row is not None and (row.seq_from, row.seq_to, row.at, row.body) == (first, last, at, bytes(body))

    def _roll_back(self, taken: list[LoadedRun], stepped: list[Stepped], batch: Batch, error: BaseException) -> None:
        """H13: nothing of the batch has happened. Those who wait for it are told; the engine's own commands (answers,
        timers, calls) have no other keeper and stay."""
        why = error if isinstance(error, PenstockError) else StoreError(why=str(error))
        told: list[tuple[Reply, PenstockError]] = []
        for live, was, facts, replies, commands, refused in stepped:
            if live.no in self.parked:
                told += [(reply, refused or why) for reply in replies.values()]
                continue
            kept, tell = _kept(commands, replies, told, why)
            live.replies = tell | {i + len(kept): reply for i, reply in live.replies.items()}
            live.commands = kept + live.commands
            if refused is None and live.run is not None:
                self.untold[live.no] = (was, facts, live.run.st.n)
            self.drop(live)
            self.lost[live.no] = live
        queued = set(map(id, self.ready))
        again = [live for live in taken if live.commands and id(live) not in queued]
        self.ready.extendleft(reversed(again))
        if self.give_back is not None:
            self.give_back(batch)
        for reply, because in told:
            reply(because)

    def refuse_waiting(self, why: PenstockError) -> None:
        """No turn can be taken for a while: who waits for one is told, and the engine's own commands stay."""
        told: list[tuple[Reply, PenstockError]] = []
        for live in self.ready:
            if live.replies:
                live.commands, live.replies = _kept(live.commands, live.replies, told, why)
                if not live.commands and not live.row:
                    self.runs.pop(live.no, None)
                    if live.key is not None:
                        self.starting.pop((live.tenant, live.key), None)
        self.ready = deque(live for live in self.ready if live.commands)
        for reply, because in told:
            reply(because)

    def fold_lost(self) -> list[LoadedRun]:
        """After a commit that failed: its runs, folded again from what the store has. Raises as long as it cannot be
        read, and loses nothing by it."""
        for live in self.lost.values():
            self.runs[live.no] = live
        self.load([no for no in self.lost if no not in self.parked])
        found = []
        for live in self.lost.values():
            if live.run is None and not live.row and live.commands and live.commands[0][0] == C.START:
                live.run = self._made(Run.fresh(self.nets.get(live.net_no)), live.tenant)
                live.names, live.wake = {}, None
                live.checkpoint_seq = live.checkpoint_size = live.unsaved = 0
                if live.key is not None:
                    self.starting[live.tenant, live.key] = live
            elif live.run is not None:
                found.append(live)
            elif not live.commands:
                self.runs.pop(live.no, None)
        self.lost = {}
        for live in found:
            self._tell_late(live)
        self.untold = {}
        return found

    def _tell_late(self, live: LoadedRun) -> None:
        """H5: the answer to the commit was lost and nothing else: its turn is there, and nobody was told."""
        was, facts, last = self.untold.get(live.no, (COMPLETED, [], 0))
        run = live.run
        if run is not None and facts and run.st.n >= last:
            for listen in self.on_facts:
                listen(live, facts, last, self.clock.now())
            if run.st.status >= COMPLETED and was < COMPLETED:
                for ended in self.on_end:
                    ended(live)
        self.untold.pop(live.no, None)

    def _step(self, live: LoadedRun, now: int, batch: Batch, asks: list[Ask], stepped: list[Stepped]) -> None:
        commands, live.commands = live.commands, []
        if live.key is not None:
            self.starting.pop((live.tenant, live.key), None)
        replies = live.replies
        if replies:
            live.replies = {}
        run = live.run
        if run is None:
            why = self.parked.get(live.no)
            error = RunNotFound(run=live.no) if why is None else RunParked(run=live.id or live.no, why=why)
            self._refuse(live, replies, commands, error, batch, stepped)
            return
        was, before = run.st.status, run.st.n
        try:
            run, facts = advance(run, commands, now, lambda: self._again(live))
            body = _encoded(run, facts)
        except (PenstockError, Unstorable) as error:
            try:
                if isinstance(error, StoreError) and error.passing:
                    raise
                told = dialect_of(run.net.net.language).error(error) if isinstance(error, PenstockError) else error
                self._one_by_one(live, commands, replies, now, batch, asks, stepped, told)
            except BaseException:
                live.commands, live.replies = commands, replies
                raise
            return
        except Exception as bug:
            self._refuse(live, replies, commands, self._park(live, bug), batch, stepped)
            return
        live.run = run
        runtime = self.rows.runtimes[run.net.net.language]
        mark = batch.mark() if runtime is not None and runtime.parks_alone else None
        try:
            self.rows.write(live, run, facts, body, was, before, now, batch)
        except Exception as bug:
            if mark is None or isinstance(bug, StoreError):
                raise
            batch.back_to(mark)
            self._refuse(live, replies, commands, self._park(live, bug), batch, stepped)
            return
        for no in run.asks:
            firing = run.st.firings.get(no)
            if firing is not None and firing.phase == 1:
                asks.append(Ask(live, firing))
        for reply in replies.values():
            if type(reply) is InboxReply:
                batch.inbox_answered.append((TAKEN, reply.no))
            elif type(reply) is EventReply:
                reply.used = reply.id in run.st.seen  # by this turn, or by one whose commit had no answer (H5)
                batch.event_taken += [reply.row] if reply.used else []
        stepped.append((live, was, facts, replies, commands, None))

    def _refuse(
        self, live: LoadedRun, replies: dict[int, Reply], commands: list[C.Command], error: PenstockError, batch: Batch,
        stepped: list[Stepped],
    ) -> None:  # fmt: skip
        """Who sent it hears of it when the batch is committed: what refuses it may lie in the same batch."""
        batch.inbox_answered += [reply.answer(error) for reply in replies.values() if type(reply) is InboxReply]
        stepped.append((live, 0, [], replies, commands, error))

    def _park(self, live: LoadedRun, bug: Exception) -> RunParked:
        """A run that trips an assert is left as it was committed, and the others go on. It is tried again when the
        store is opened anew: then by an engine that knows better, it is hoped."""
        self.parked[live.no] = f"{type(bug).__name__}: {bug}"
        live.run = None
        if not live.commands:
            self.runs.pop(live.no, None)
        return RunParked(run=live.id or live.no, why=self.parked[live.no])

    def _again(self, live: LoadedRun) -> Run:
        """A fresh fold of what is committed, for a turn that has to be done again."""
        if not live.row:
            assert live.run is not None
            return self._made(Run.fresh(live.run.net), live.tenant)
        live.run = None
        self.load([live.no])
        if live.run is None:
            raise RunParked(run=live.id, why=self.parked.get(live.no, "its row is gone"))
        return live.run

    def _one_by_one(
        self, live: LoadedRun, commands: list[C.Command], replies: dict[int, Reply], now: int, batch: Batch,
        asks: list[Ask], stepped: list[Stepped], error: Exception,
    ) -> None:  # fmt: skip
        """One command of the turn was refused or cannot be stored: find it, answer it, and do the others again."""
        try:
            live.run = self._again(live)
        except RunParked as parked:
            self._refuse(live, replies, commands, parked, batch, stepped)
            return
        if len(commands) == 1:
            command = commands[0]
            if isinstance(error, Unstorable) and self._made_by(error, command):
                self._without(live, commands, replies, now, batch, asks, stepped, error)
                return
            if command[0] == C.OUTCOME and not isinstance(error, PenstockError):
                message = f"the answer cannot be stored: {error}"
                failure = Failure("OUTPUT_INVALID", "validation", message)
                live.commands = [C.failed(command[1], command[2], failure, command[3])]
                live.replies = replies
                self._step(live, now, batch, asks, stepped)
                return
            refusal = error if isinstance(error, PenstockError) else Refused(why=f"it cannot be stored: {error}")
            if not replies and not isinstance(refusal, Refused):  # nobody would hear that it was lost
                refusal = self._park(live, error)
            self._refuse(live, replies, commands, refusal, batch, stepped)
            return
        # each command takes a turn of its own; the first goes now, the others keep their order
        rest_commands = commands[1:]
        rest_replies = {i - 1: reply for i, reply in replies.items() if i}
        live.commands, live.replies = commands[:1], {0: replies[0]} if 0 in replies else {}
        self._step(live, now, batch, asks, stepped)
        live.commands = rest_commands + live.commands
        live.replies = rest_replies
        self.runs.setdefault(live.no, live)
        self.ready.append(live)

    def _made_by(self, error: Unstorable, command: C.Command) -> bool:
        """Did a node make of the command what cannot be stored? Then it is not the fault of whoever sent it."""
        if error.node is None or error.node in self.refuse:
            return False
        try:
            msgspec.msgpack.encode(command)
        except _UNSTORABLE:
            return False
        return True

    def _without(
        self, live: LoadedRun, commands: list[C.Command], replies: dict[int, Reply], now: int, batch: Batch,
        asks: list[Ask], stepped: list[Stepped], error: Unstorable,
    ) -> None:  # fmt: skip
        """The turn again, and the node that made a value which cannot be stored fails in it."""
        before = self.refuse
        assert error.node is not None
        self.refuse = {**before, error.node: f"a value that cannot be stored: {error}"}
        try:
            live.run = self._again(live)
            live.commands, live.replies = commands, replies
            self._step(live, now, batch, asks, stepped)
        finally:
            self.refuse = before
            if live.run is not None:
                live.run.refuse = before

    def _after(self, stepped: list[Stepped], now: int) -> None:
        """Committed: answer those who wait for it, tell who listens, forget what ended or waits."""
        for live, was, facts, replies, _, refused in stepped:
            for reply in replies.values():
                reply(refused)
            run = live.run
            if refused is not None:
                if live.row:
                    self.rest(live)
                if (run is None or not live.row) and not live.commands:
                    self.runs.pop(live.no, None)
                continue
            if run is None:
                continue
            if live.wake is not None or run.st.next_timer > 1:
                self.wakes.append((live.wake, live.no))
            if run.stops:
                self.stopped.append((live, run.stops))
            for listen in self.on_facts:
                listen(live, facts, run.st.n, now)
            status = run.st.status
            if status >= COMPLETED and was < COMPLETED:
                for ended in self.on_end:
                    ended(live)
            self.rest(live)

    def rest(self, live: LoadedRun) -> None:
        """A run that has ended, or only waits, is forgotten: the store has it, and whoever holds it loads it again."""
        run = live.run
        if run is None or live.commands or run.st.asked:
            return
        if run.st.status in (WAITING, PENDING) or run.st.status >= COMPLETED:
            self.runs.pop(live.no, None)
            self.drop(live)
