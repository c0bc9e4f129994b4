"""The engine loop: turn, let effects out, take answers, ring timers. A simulation drives the same code."""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from penstock.dialects.contract import HostServices
from penstock.dialects.projection import rows_of
from penstock.errors import PenstockError, StoreError
from penstock.executors.contract import Done, Executor, Failed, Outcome, Services
from penstock.host.blobs import Blobs
from penstock.host.children import CALLED, Children
from penstock.host.clock import Clock, SystemClock
from penstock.host.dispatch import Dispatch
from penstock.host.gate import Gate
from penstock.host.intake import KEEP_HOURS, Intake
from penstock.host.loaded_run import Ask, InternalReply, LoadedRun
from penstock.host.nets import Nets
from penstock.host.notices import Notices
from penstock.host.outbox import Outbox
from penstock.host.retention import Keeping
from penstock.host.runtimes import Runtimes
from penstock.host.schedules import Schedules
from penstock.host.secrets import places_of
from penstock.host.starter import Starter
from penstock.host.stream_cursor import Arrivals, StreamBatch
from penstock.host.tenants import Ground, Lending, Tenants
from penstock.host.turn import Turns
from penstock.host.workers import Workers
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.replay import fold
from penstock.kernel.state import BACKOFF, EFFECT, encode_state, new_state
from penstock.net.model import Net
from penstock.store.contract import Batch, JournalRow, RunRow, Store

HORIZON_MS = 60_000
FAR_POLL_MS = 15_000
TIDY_MS = 3_600_000
ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # of ids


def _let_be(no: int) -> None:
    """A host that drives everything has a run that can go on in hand already."""


class EngineLoop:
    """`serve=True` also takes commands that other processes leave in the store's inbox; `alone=True` leaves runs be
    that nobody has started here, asked to go on or sent a command; `patient=False` stops at the first commit that
    fails, where it would wait until the store takes turns again."""

    def __init__(
        self,
        store: Store,
        executors: Mapping[str, Executor],
        *,
        clock: Clock | None = None,
        output_dir: Path = Path("penstock-output"),
        input_dir: Path = Path(),
        settings: Mapping[str, Any] | None = None,
        serve: bool = True,
        seed: int | None = None,
        width: int = 256,
        batch: int = 512,
        alone: bool = False,
        publish: bool = False,
        patient: bool = True,
        ground: Ground = Ground(),  # noqa: B008 (it is frozen)
    ) -> None:
        self.store = store
        self.clock: Clock = clock or SystemClock()
        self.nets = Nets(store)
        self.turns = Turns(store, self.nets, self.clock, batch=batch)
        known = settings or {}
        self.gate = Gate(store, Workers(known))
        self.blobs = Blobs(store)
        places = places_of(known, ground.lends(known))
        self.tenants = Tenants(store, places, self.clock.now)
        lent = Services(
            output_dir=output_dir, input_dir=input_dir, settings=known, tenant=self.tenants, executors=executors
        )
        services = Lending(ground, lent).base
        self.dispatch = Dispatch(
            executors,
            services,
            self.gate,
            self.blobs,
            self.answer,
            self._call,
            self.clock.now,
            self._mark,
            width=width,
        )
        self.children = Children(
            store, self.nets, self.turns, self.blobs, self.answer, self.go_on, self.dispatch.named, self.clock.now
        )
        self.outbox = Outbox(store, self.clock, publish=publish)
        self.starter = Starter(store, self.turns, self.new_id, self.go_on)
        self.intake = Intake(
            store, self.turns, self.starter, self.tenants, self.clock.now, self.go_on if alone else _let_be,
            self.blobs.shelve, float(known.get("events.keep_hours") or KEEP_HOURS),
        )  # fmt: skip
        self.keeping = Keeping(store, known)
        self.schedules = Schedules(store, self.starter, self.intake.warn, on=not alone)
        self.turns.rows.publish = self.outbox.write
        self.notices = Notices(store, self.clock, executors, services)
        handed = HostServices(
            store, self.clock.now, self.tenants, self.notices.write, self.nets.of, self.blobs.of, known, places.own
        )
        self.runtimes = self.turns.rows.runtimes = self.outbox.runtimes = Runtimes(handed)
        self.turns.extra, self.turns.give_back = self._extra, self._give_back
        self.turns.whole = self.blobs.of
        self.serve, self.alone, self.patient = serve, alone, patient
        self.near: list[tuple[int, int]] = []
        self.noted: dict[int, int] = {}  # run → the one time in `near` that counts
        self.far_at = self.tidy_at = self._seen_at = 0
        self.wakeup: asyncio.Future[None] | None = None
        self.closing = False
        self._random = random.Random(seed)  # noqa: S311 (ids, not secrets)
        self.trouble: StoreError | None = None  # why nothing can be committed now
        self.on_trouble: list[Callable[[StoreError | None], None]] = []  # told when it begins, and None when it is over
        self._answered: list[tuple[Ask, str]] = []  # at-most-once effects whose intent goes with their answer
        self._settling: list[tuple[Ask, str]] = []  # those of them whose intent goes with this batch
        self._arrivals = Arrivals()
        self._doubts: list[tuple[str, str]] = []
        self._unmarked_why = StoreError(why="")
        self._taken: set[int] = set()  # commands of the inbox that wait for their turn

    # -- doors ---------------------------------------------------------------------------------------------------------

    def release(self, net: Net, source: bytes | None = None) -> int:
        return self.nets.release(net, source, self.clock.now())

    def new_id(self) -> str:
        """Sorts by time; random enough that two laptops can put their runs together."""
        number = self.clock.now() << 30 | self._random.getrandbits(30)
        out = []
        for _ in range(15):
            out.append(ALPHABET[number & 31])
            number >>= 5
        return "r" + "".join(reversed(out))

    def start(self, net_no: int, given: Any = None, *, id: str | None = None, **options: Any) -> str:
        run_id = id or self.new_id()
        self.turns.start(run_id, net_no, given, **options)
        self.poke()
        return run_id

    def send(self, no: int, command: C.Command, reply: Callable[[PenstockError | None], None] | None = None) -> None:
        self.turns.send(no, command, reply)
        self.poke()

    def poke(self) -> None:
        if self.wakeup is not None and not self.wakeup.done():
            self.wakeup.set_result(None)

    # -- outcomes ------------------------------------------------------------------------------------------------------

    def answer(self, ask: Ask, outcome: Outcome, took_ns: int) -> None:
        live, firing = ask.live, ask.firing
        if type(outcome) is Done:
            meta = (
                {"ms": took_ns // 1_000_000, **outcome.meta}
                if outcome.meta
                else None
                if took_ns < 1_000_000
                else {"ms": took_ns // 1_000_000}
            )
            command = (
                C.OUTCOME,
                firing.no,
                ask.attempt,
                ask.probe,
                C.OK,
                self.blobs.shelve(live.tenant, outcome.body),
                outcome.content_type,
                meta,
            )
            if isinstance(outcome.taken, StreamBatch):
                self._arrivals.answered.append((ask, outcome.taken))
        elif type(outcome) is Failed:
            command = C.failed(firing.no, ask.attempt, outcome.failure, ask.probe)
        else:
            command = C.skipped(firing.no, ask.attempt, outcome.reason, ask.probe)  # type: ignore[union-attr]
        run = live.run
        if run is not None:
            effect = run.net.nodes[firing.node].effect
            if effect is not None and effect.safe == "at_most_once":
                self._answered.append((ask, run.effect_key(firing)))
        self.turns.command(self.turns.runs.setdefault(live.no, live), command)
        self.poke()

    def _extra(self, batch: Batch) -> None:
        if self.gate.dirty or self.gate.memos:
            self.gate.write(batch, self.clock.now())
        self.blobs.write(batch)
        self._settling = []
        if self._answered:
            self._settle(batch)
        if self._arrivals.answered or self._arrivals.going:
            self._arrivals.write(batch, self._stands)
        if self._doubts:
            batch.intent_moved += self._doubts
            self._doubts = []

    def _settle(self, batch: Batch) -> None:
        """The intent goes in the commit that has the answer, and not earlier."""
        still = []
        for ask, key in self._answered:
            run, firing = ask.live.run, None
            if run is not None:
                firing = run.st.firings.get(ask.firing.no)
            elif self.turns.runs.get(ask.live.no) is ask.live:  # its turn was lost with the commit; it comes again
                still.append((ask, key))
                continue
            if firing is not None and firing.phase == EFFECT and firing.attempt == ask.attempt:
                still.append((ask, key))
            elif run is not None:
                batch.intent_gone.append((key,))
                self._settling.append((ask, key))
        self._answered = still

    def _stands(self, ask: Ask) -> bool | None:
        """Is the answer to an effect in the run's state? None: it never will be, or counts as a failure."""
        run = ask.live.run
        if run is None:
            return False if self.turns.runs.get(ask.live.no) is ask.live else None
        firing = run.st.firings.get(ask.firing.no)
        if firing is not None and firing.phase == EFFECT and firing.attempt == ask.attempt:
            return False
        return None if firing is not None and firing.phase == BACKOFF else True

    def _give_back(self, batch: Batch) -> None:
        """A commit has failed: what was to go with it goes with the next."""
        self._arrivals.unwritten(batch)
        self.gate.give_back(batch)
        self.blobs.give_back(batch)
        self.runtimes.rolled_back(batch)
        self._answered += self._settling
        self._doubts += batch.intent_moved
        self._settling = []

    def _mark(self, batch: Batch) -> None:
        """The dispatcher marks at-most-once effects; when it cannot, it comes back to them in the next lap."""
        try:
            self.store.commit(batch)
        except StoreError as error:
            self._unmarked_why = error
            self.poke()
            raise

    def _call(self, ask: Ask) -> None:
        self.children.call(ask)

    def row(self, run_id: str) -> RunRow | None:
        return self.children.row(run_id)

    # -- forks ---------------------------------------------------------------------------------------------------------

    def fork(self, row: RunRow, turns: list[JournalRow], fact: int, *, key: str | None = None) -> str:
        """A new run with the same past: its journal is copied up to there, in one commit, and then goes its own way."""
        now = self.clock.now()
        new_id, no = self.new_id(), self.turns.next_no
        self.turns.next_no += 1
        st = new_state()
        for turn in turns:
            fold(st, F.decode_facts(turn.body), turn.at)  # type: ignore[arg-type]
        last = st.n
        forked = (F.FORKED, new_id, row.id, last, new_id)
        copied = [*turns, JournalRow(last + 1, last + 1, now, F.encode_facts([forked]))]
        fold(st, [forked], now)
        batch = Batch()
        net_no = row.net if self.nets.get(row.net).hash == st.net else (self.nets.by_hash(st.net) or (row.net,))[0]
        wake = None if st.paused else min((t.due for t in st.timers.values()), default=None)
        batch.new.append((
            no, new_id, row.tenant, net_no, key, st.status, row.priority, now, now, wake, row.id, st.n,
            bytearray(encode_state(st)),
        ))  # fmt: skip
        batch.journal += [(no, t.seq_from, t.seq_to, t.at, bytearray(t.body)) for t in copied]
        mine = msgspec.structs.replace(row, no=no, id=new_id)
        rows_of(mine, iter(copied), batch, self.nets.of, self.blobs.of(row.tenant))
        self.store.commit(batch)
        for live in self.turns.load([no]):
            self._resume(live, {})
        self.poke()
        return new_id

    # -- the loop ------------------------------------------------------------------------------------------------------

    def lap(self) -> bool:
        """One turn and what it lets out; False when there was nothing to do."""
        if self.turns.lost:
            self._fold_lost()
        self._ring()
        self.runtimes.kick()
        took = self.intake.lap()
        if not self.turns.ready:
            return took
        turns = self.turns
        try:
            asks = turns.turn()
        except StoreError:
            with contextlib.suppress(StoreError):  # then it is done before the next turn
                self._fold_lost()
            raise
        try:
            if turns.stopped:
                for live, firings in turns.stopped:
                    self.dispatch.stop(live, firings)
                    self.children.stop(live, firings)
                turns.stopped.clear()
            if turns.wakes:
                for wake in turns.wakes:
                    self._note(*wake)
                turns.wakes.clear()
            if asks:
                self.dispatch.out(asks)
        except StoreError:  # it could not be read: what has not left is asked when the runs are folded again
            turns.lost.update({ask.live.no: ask.live for ask in asks})
            raise
        if self.outbox.wrote:
            self.outbox.kick()
        if self.notices.wrote:
            self.notices.kick()
        return True

    def _fold_lost(self) -> None:
        """After a commit that failed: the runs of its batch are folded again. What they had asked before is still on
        its way, and is asked again only where it is not."""
        lost = dict(self.turns.lost)
        try:
            started = self._started()
            for live in self.turns.fold_lost():
                self._resume(live, started)
        except StoreError:
            self.turns.lost = lost
            raise

    def _note(self, wake: int | None, no: int) -> None:
        """Remember a near timer; far ones are found again in the store, unless it holds other runs' as well."""
        if wake is None:
            self.noted.pop(no, None)
        elif self.noted.get(no) != wake and (self.alone or wake - self.clock.now() < HORIZON_MS):
            self.noted[no] = wake
            heapq.heappush(self.near, (wake, no))

    def _ring(self) -> None:
        now = self.clock.now()
        if now < self._seen_at:
            self._went_back(self._seen_at - now)
        self._seen_at = now
        if now >= self.far_at:
            for no, wake in () if self.alone else self.store.due(now + HORIZON_MS, 10_000):
                self._note(wake, no)
            self.far_at = now + FAR_POLL_MS
            if now >= self.tidy_at:
                self.store.tidy(now)
                self.runtimes.tidy()
                self.intake.tidy(now)
                self.keeping.tidy(now)
                self.tidy_at = now + TIDY_MS
        while self.near and self.near[0][0] <= now:
            wake, no = heapq.heappop(self.near)
            if self.noted.get(no) == wake:
                del self.noted[no]
                self.turns.send(no, C.tick())
        self.dispatch.wake()
        if self.children.deadlines:
            self.children.overdue()
        self.schedules.lap(now)

    def _went_back(self, by: int) -> None:
        """The clock went back. What is due at a time of the world is due then; what waits for a span of time does not
        wait longer for it."""
        self.far_at = self.tidy_at = 0
        self.gate.went_back(by)
        self.dispatch.parked.timed = [(until - by, n, what) for until, n, what in self.dispatch.parked.timed]
        self.children.deadlines = [(due - by, a, b, c) for due, a, b, c in self.children.deadlines]

    def recover(self) -> int:
        """After a crash: every run that can go on and is not in memory is folded from the store, and its open effects
        are asked again with the same key."""
        numbers = self.store.unfinished()
        started = self._started()
        for i in range(0, len(numbers), 500):
            # what a run calls goes on with it, and may be in memory by now
            for live in self.turns.load([no for no in numbers[i : i + 500] if not self.turns.holds(no)]):
                self._resume(live, started)
        for no, called in self.store.open_below(CALLED):
            if called not in self.children.parents:  # its caller was stopped, and the crash came before it heard of it
                self.turns.send(no, C.cancel("now"), InternalReply(lambda error: None))
        self.intake.recover()
        self.intake.poll()
        return len(numbers)

    def go_on(self, no: int) -> None:
        """The same for one run and what it calls; nothing when it is in memory already."""
        if not self.turns.holds(no):
            started = self._started()
            for live in self.turns.load([no]):
                self._resume(live, started)
            self.poke()

    def _started(self) -> dict[tuple[int, int], tuple[int, str]]:
        return {(run, firing): (attempt, key) for key, run, firing, attempt, _ in self.store.intents()}

    def _resume(self, live: LoadedRun, started: dict[tuple[int, int], tuple[int, str]]) -> None:
        """Ask open effects again; one that may have happened and may not happen twice is in doubt."""
        run = live.run
        assert run is not None
        if live.wake is not None:
            self._note(live.wake, live.no)
        self.intake.look_for(live)
        again: list[Ask] = []
        for firing in run.st.firings.values():
            if firing.phase != EFFECT or self.dispatch.has(live, firing) or self.children.has(live, firing):
                continue
            if live.answered(firing):
                continue
            doubt = started.get((live.no, firing.no))
            if doubt is not None and doubt[0] == firing.attempt:
                self._doubts.append(("in_doubt", doubt[1]))
                self.turns.command(live, C.doubt(firing.no, firing.attempt, firing.probe))
            else:
                again.append(Ask(live, firing))
        self.dispatch.out(again)
        self.turns.rest(live)
