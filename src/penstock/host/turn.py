"""The turn: take what is pending, step each run, commit everything in one transaction, only then let effects out.

This is the only file passed on every lap. It knows no executor, no event loop and no wall clock, so the simulation
drives the same code. All commands of a run that lie here at once are one turn and one journal row. If a commit fails,
the batch's runs are dropped from memory and folded again: nothing of it has happened.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

from penstock.errors import PenstockError, Refused, RunNotFound, RunParked, StoreError
from penstock.host.clock import Clock
from penstock.host.nets import Nets
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.failure import Failure
from penstock.kernel.replay import fold
from penstock.kernel.run import Run
from penstock.kernel.state import (
    COMPLETED,
    PENDING,
    STATUS,
    WAITING,
    Firing,
    State,
    decode_state,
    encode_state,
    new_state,
)
from penstock.kernel.step import advance
from penstock.store.contract import Batch, JournalRow, RunRow, Store
from penstock.store.projection import WATCHED, firing_row, project, sweep_waits

CHECKPOINT_EVERY = 50
BATCH = 512
TAKEN = msgspec.msgpack.encode({"ok": True})  # the answer to a command of the inbox

#: told the outcome of a command: None when it was committed, else why it was refused
Reply = Callable[[PenstockError | None], None]


class Receipt:
    """Tells a command out of the store's inbox: the answer is committed with the turn that took the command (H9)."""

    __slots__ = ("no", "refused")

    def __init__(self, no: int, refused: Callable[[int, PenstockError | None], None]) -> None:
        self.no, self.refused = no, refused

    def __call__(self, error: PenstockError | None) -> None:
        self.refused(self.no, error)


class Unstorable(Exception):
    """The facts of a turn hold a value that the journal cannot."""


def _encoded(facts: list[F.Fact]) -> bytes:
    try:
        return F.encode_facts(facts)
    except (TypeError, OverflowError, ValueError, msgspec.MsgspecError) as error:
        raise Unstorable(str(error)) from error


class Ask:
    """An effect that may go out now: everything an executor needs can be read from the firing and its net."""

    __slots__ = ("attempt", "firing", "live", "probe")

    def __init__(self, live: Live, firing: Firing) -> None:
        self.live, self.firing, self.attempt, self.probe = live, firing, firing.attempt, firing.probe


class Live:
    """A run in memory, and the commands that wait for its next turn."""

    __slots__ = (
        "checkpoint_seq",
        "checkpoint_size",
        "commands",
        "id",
        "key",
        "names",
        "net_no",
        "no",
        "parent",
        "priority",
        "replies",
        "row",
        "run",
        "tenant",
        "unsaved",
        "wake",
    )

    def __init__(self, no: int) -> None:
        self.no = no
        self.run: Run | None = None  # None until it is loaded with its batch
        self.commands: list[C.Command] = []
        self.replies: dict[int, Reply] = {}
        self.row = False  # is there a row in the store?
        self.id, self.tenant, self.key, self.parent = "", "", None, None  # type: tuple[str, str, str | None, str | None]
        self.net_no, self.priority, self.checkpoint_seq = 0, 1000, 0
        self.checkpoint_size = self.unsaved = 0
        self.wake: int | None = None
        self.names: dict[int, str] = {}  # open waits


class Turns:
    def __init__(
        self, store: Store, nets: Nets, clock: Clock, *, batch: int = BATCH, checkpoint_every: int = CHECKPOINT_EVERY
    ) -> None:
        self.store, self.nets, self.clock = store, nets, clock
        self.batch_size, self.checkpoint_every = batch, checkpoint_every
        self.runs: dict[int, Live] = {}
        self.ready: deque[Live] = deque()
        self.starting: dict[tuple[str, str], Live] = {}  # tenant, key → runs that wait for their first turn
        self.next_no = store.last_run() + 1
        self.on_end: list[Callable[[Live], None]] = []
        self.on_facts: list[Callable[[Live, list[F.Fact], int, int], None]] = []
        self.extra: Callable[[Batch], None] | None = None  # the gate's and the dispatcher's rows of this batch
        self.whole: Callable[[Any], Any] | None = None  # the value of a body that is stored by reference
        self.publish: Callable[[Live, list[F.Fact], int, int, Batch], None] | None = None  # rows for the outbox
        self.wakes: list[tuple[int | None, int]] = []  # when the runs of this batch wake next, if they have timers
        self.stopped: list[tuple[Live, list[int]]] = []  # effects that this batch has dropped
        self.parked: dict[int, str] = {}  # runs that tripped over a bug of the engine, and why
        self.turns_by_tenant: dict[str, int] = {}
        # permanent counters: nanoseconds and numbers
        self.step_ns = self.commit_ns = self.out_ns = self.turns = self.batches = self.asks = 0

    # -- doors ---------------------------------------------------------------------------------------------------------

    def start(
        self, id: str, net_no: int, given: Any, *, tenant: str = "default", key: str | None = None, priority: int =
        1000,
        parent: str = "", options: dict[str, Any] | None = None, reply: Reply | None = None,
    ) -> Live:  # fmt: skip
        live = Live(self.next_no)
        self.next_no += 1
        live.id, live.tenant, live.key, live.parent = id, tenant, key, parent or None
        live.net_no, live.priority = net_no, priority
        live.run = self._made(Run.fresh(self.nets.get(net_no)))
        self.runs[live.no] = live
        if key is not None:
            self.starting[tenant, key] = live
        self.command(live, C.start(id, given, tenant=tenant, parent=parent, options=options), reply)
        return live

    def send(self, no: int, command: C.Command, reply: Reply | None = None) -> None:
        """A command for a run that may lie only in the store."""
        live = self.runs.get(no)
        if live is None:
            self.runs[no] = live = Live(no)
            live.row = True
        self.command(live, command, reply)

    def command(self, live: Live, command: C.Command, reply: Reply | None = None) -> None:
        if live.no in self.parked:
            self.runs.pop(live.no, None)
            if reply is not None:
                reply(RunParked(run=live.id or live.no, why=self.parked[live.no]))
            return
        if not live.commands:
            self.ready.append(live)
        if reply is not None:
            live.replies[len(live.commands)] = reply
        live.commands.append(command)

    # -- loading -------------------------------------------------------------------------------------------------------

    def load(self, numbers: list[int]) -> list[Live]:
        out = []
        for row, journal in self.store.load(numbers):
            live = self.runs.get(row.no)
            if live is None:
                self.runs[row.no] = live = Live(row.no)
            if live.run is None:
                self._fill(live, row, journal)
            out.append(live)
        return out

    def _fill(self, live: Live, row: RunRow, journal: list[JournalRow]) -> None:
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
        live.run = self._made(Run.load(net, st))
        live.row = True
        live.id, live.tenant, live.key, live.parent, live.priority = (
            row.id,
            row.tenant,
            row.key,
            row.parent,
            row.priority,
        )
        live.checkpoint_seq = row.checkpoint_seq
        live.wake = row.wake_at
        live.names = {no: wait.name for no, wait in st.waits.items()}

    def holds(self, no: int) -> bool:
        """Is the run folded and in memory?"""
        live = self.runs.get(no)
        return live is not None and live.run is not None

    def _made(self, run: Run) -> Run:
        if self.whole is not None:
            run.whole = self.whole
        return run

    def forget(self) -> None:
        """Drop every run that the store has; commands that wait for their turn keep waiting."""
        for live in list(self.runs.values()):
            if live.row:
                self.drop(live)
                if not live.commands:
                    del self.runs[live.no]

    def drop(self, live: Live) -> None:
        """Forget what is in memory; the store has the truth."""
        live.run = None

    # -- the turn ------------------------------------------------------------------------------------------------------

    def take(self) -> list[Live]:
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
        stepped: list[tuple[Live, int, list[F.Fact], dict[int, Reply]]] = []
        cold = [live.no for live in taken if live.run is None]
        if cold:
            self.load(cold)
        for live in taken:
            self._step(live, now, batch, asks, stepped)
        if self.extra is not None:
            self.extra(batch)
        t1 = time.perf_counter_ns()
        if batch.journal or batch.gate or batch.memo or batch.inbox_answered or batch.intent_gone or batch.intent_moved:
            self._commit(batch, stepped)
        t2 = time.perf_counter_ns()
        self._after(stepped, now)
        self.step_ns += t1 - t0
        self.commit_ns += t2 - t1
        self.turns += len(stepped)
        self.batches += 1
        self.asks += len(asks)
        return asks

    def _commit(self, batch: Batch, stepped: list[tuple[Live, int, list[F.Fact], dict[int, Reply]]]) -> None:
        try:
            self.store.commit(batch)
        except BaseException as error:
            why = error if isinstance(error, PenstockError) else StoreError(why=str(error))
            for live, _, _, replies in stepped:
                self.drop(live)
                if not live.row or not live.commands:
                    self.runs.pop(live.no, None)
                for reply in replies.values():
                    reply(why)
            raise
        for live, _, _, _ in stepped:
            live.row = True

    def _step(
        self,
        live: Live,
        now: int,
        batch: Batch,
        asks: list[Ask],
        stepped: list[tuple[Live, int, list[F.Fact], dict[int, Reply]]],
    ) -> None:
        commands, live.commands = live.commands, []
        if live.key is not None:
            self.starting.pop((live.tenant, live.key), None)
        replies = live.replies
        if replies:
            live.replies = {}
        run = live.run
        if run is None:
            for reply in replies.values():
                reply(RunNotFound(run=live.no))
            self.runs.pop(live.no, None)
            return
        was, before = run.st.status, run.st.n
        try:
            run, facts = advance(run, commands, now, lambda: self._again(live))
            body = _encoded(facts)
        except (PenstockError, Unstorable) as error:
            self._one_by_one(live, commands, replies, now, batch, asks, stepped, error)
            return
        except Exception as bug:
            self._park(live, bug, replies)
            return
        live.run = run
        self._rows(live, run, facts, body, was, before, now, batch)
        for no in run.asks:
            firing = run.st.firings.get(no)
            if firing is not None and firing.phase == 1:
                asks.append(Ask(live, firing))
        if replies:
            batch.inbox_answered += [(TAKEN, reply.no) for reply in replies.values() if type(reply) is Receipt]
        stepped.append((live, was, facts, replies))

    def _park(self, live: Live, bug: Exception, replies: dict[int, Reply]) -> None:
        """A run that trips an assert is left as it was committed, and the others go on. It is tried again when the
        store is opened anew: then by an engine that knows better, it is hoped."""
        self.parked[live.no] = f"{type(bug).__name__}: {bug}"
        live.run = None
        self.runs.pop(live.no, None)
        for reply in replies.values():
            reply(RunParked(run=live.id or live.no, why=self.parked[live.no]))

    def _again(self, live: Live) -> Run:
        """A fresh fold of what is committed, for a turn that has to be done again."""
        if not live.row:
            assert live.run is not None
            return self._made(Run.fresh(live.run.net))
        live.run = None
        self.load([live.no])
        assert live.run is not None
        return live.run

    def _one_by_one(
        self, live: Live, commands: list[C.Command], replies: dict[int, Reply], now: int, batch: Batch, asks: list[Ask],
        stepped: list[tuple[Live, int, list[F.Fact], dict[int, Reply]]], error: Exception,
    ) -> None:  # fmt: skip
        """One command of the turn was refused or cannot be stored: find it, answer it, and do the others again."""
        if len(commands) == 1:
            live.run = self._again(live)
            command = commands[0]
            if command[0] == C.OUTCOME and not isinstance(error, PenstockError):
                message = f"the answer cannot be stored: {error}"
                failure = Failure("OUTPUT_INVALID", "validation", message)
                live.commands = [C.failed(command[1], command[2], failure, command[3])]
                live.replies = replies
                self._step(live, now, batch, asks, stepped)
                return
            refusal = error if isinstance(error, PenstockError) else Refused(why=f"it cannot be stored: {error}")
            if live.row:
                self.rest(live)
            else:
                self.runs.pop(live.no, None)
            for reply in replies.values():
                reply(refusal)
            if not replies and not isinstance(refusal, Refused) and command[0] != C.OUTCOME:
                raise error
            return
        # each command takes a turn of its own; the first goes now, the others keep their order
        live.run = self._again(live)
        live.commands = commands[1:]
        live.replies = {i - 1: reply for i, reply in replies.items() if i}
        rest_commands, rest_replies = live.commands, live.replies
        live.commands, live.replies = commands[:1], {0: replies[0]} if 0 in replies else {}
        self._step(live, now, batch, asks, stepped)
        if rest_commands:
            live.commands = rest_commands + live.commands
            live.replies = rest_replies
            self.runs.setdefault(live.no, live)
            self.ready.append(live)

    def _rows(
        self, live: Live, run: Run, facts: list[F.Fact], body: bytes, was: int, before: int, now: int, batch: Batch
    ) -> None:
        if not facts:  # nothing happened, so there is nothing to save
            return
        st = run.st
        no, seq, status = live.no, st.n, st.status
        batch.journal.append((no, before + 1, seq, now, bytearray(body)))
        if self.publish is not None:
            self.publish(live, facts, before + 1, now, batch)
        for firing, ending in run.ended:
            batch.firing.append(firing_row(no, firing, ending, now))
        if run.net.hash != st.net and st.net:
            self._migrated(live, run)
        for f in facts:
            if f[0] in WATCHED:
                project(batch, no, facts, before + 1, now, live.names)
                if live.names:
                    sweep_waits(batch, no, st.waits, live.names)
                break
        wake = run.wake_at() if run.due and not st.paused else None
        live.unsaved += len(body)
        if not live.row:
            kept = status in (WAITING, PENDING)
            checkpoint = self._checkpoint(live, st) if kept else None
            live.wake = wake
            batch.new.append((
                no, live.id, live.tenant, live.net_no, live.key, status, live.priority, now, now, wake, live.parent,
                live.checkpoint_seq, checkpoint,
            ))  # fmt: skip
        elif status != was or wake != live.wake or self._is_due(live, seq):
            live.wake = wake
            if status >= COMPLETED:
                batch.ended.append((status, now, live.net_no, no))
            else:
                checkpoint = self._checkpoint(live, st)
                batch.moved.append((status, now, wake, seq, checkpoint, live.net_no, no))

    def _is_due(self, live: Live, seq: int) -> bool:
        """A checkpoint is due after enough turns, and never costs more than the journal it saves from folding."""
        return seq - live.checkpoint_seq >= self.checkpoint_every * 4 and live.unsaved >= live.checkpoint_size

    def _checkpoint(self, live: Live, st: State) -> bytearray:
        body = bytearray(encode_state(st))
        live.checkpoint_seq, live.checkpoint_size, live.unsaved = st.n, len(body), 0
        return body

    def _migrated(self, live: Live, run: Run) -> None:
        found = self.nets.by_hash(run.st.net)
        assert found is not None, "a run moves only to a released net"
        live.net_no, net = found
        moved = self._made(Run.load(net, run.st))
        moved.facts, moved.asks, moved.stops, moved.ended = run.facts, run.asks, run.stops, run.ended
        live.run = moved

    def _after(self, stepped: list[tuple[Live, int, list[F.Fact], dict[int, Reply]]], now: int) -> None:
        """Committed: answer those who wait for it, tell who listens, forget what ended or waits."""
        for live, was, facts, replies in stepped:
            for reply in replies.values():
                reply(None)
            run = live.run
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

    def rest(self, live: Live) -> None:
        """A run that has ended, or only waits, is forgotten: the store has it, and whoever holds it loads it again."""
        run = live.run
        if run is None or live.commands or run.st.asked:
            return
        if run.st.status in (WAITING, PENDING) or run.st.status >= COMPLETED:
            self.runs.pop(live.no, None)
            self.drop(live)

    def state_of(self, live: Live) -> str:
        return STATUS[live.run.st.status] if live.run is not None else "?"
