"""Outcomes: the answer of an executor becomes a command, and the intent of an at-most-once effect goes with it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from penstock.errors import StoreError
from penstock.executors.contract import Done, Failed, News, Outcome, Returned
from penstock.host.blobs import Blobs
from penstock.host.clock import Clock
from penstock.host.event_delivery import hears
from penstock.host.gate import Gate
from penstock.host.loaded_run import Ask, LoadedRun
from penstock.host.stream_cursor import Arrivals, StreamBatch
from penstock.host.turn import Turns
from penstock.kernel import command as C
from penstock.kernel.state import BACKOFF, EFFECT
from penstock.store.events import EventRow, EventStore
from penstock.store.run_store import Batch

_pack = msgspec.msgpack.Encoder().encode


def _nobody_listens() -> None:
    """A host that leaves other runs be delivers nothing to them."""


class Outcomes:
    """Takes answers; writes what belongs to them, and to the gate, into the batch of the turn that has them."""

    def __init__(self, store: EventStore, turns: Turns, blobs: Blobs, gate: Gate, clock: Clock) -> None:
        self.store, self.turns, self.blobs, self.gate, self.clock = store, turns, blobs, gate, clock
        self.arrivals = Arrivals()
        self.on_told: Callable[[], None] = _nobody_listens  # called when an effect has told everybody something
        self.news: list[EventRow] = []  # told by effects, and not kept yet
        self.in_doubt: list[tuple[str, str]] = []  # state, key of intents that a crash has left open
        self._answered: list[tuple[Ask, str]] = []  # at-most-once effects whose intent goes with their answer
        self._settling: list[tuple[Ask, str]] = []  # those of them whose intent goes with this batch

    def answer(self, ask: Ask, outcome: Outcome, took_ns: int) -> None:
        loaded, firing = ask.loaded, ask.firing
        if type(outcome) is Done:
            ms = took_ns // 1_000_000
            meta = {"ms": ms, **outcome.meta} if outcome.meta else {"ms": ms} if ms else None
            body = self.blobs.shelve(loaded.tenant, outcome.body)
            command = (C.OUTCOME, firing.no, ask.attempt, ask.probe, C.OK, body, outcome.content_type, meta)
            if isinstance(outcome.taken, StreamBatch):
                self.arrivals.answered.append((ask, outcome.taken))
            if outcome.told is not None:
                self._tell(loaded, outcome.told)
        elif type(outcome) is Failed:
            command = C.failed(firing.no, ask.attempt, outcome.failure, ask.probe)
        elif type(outcome) is Returned:
            command = C.returned(firing.no, ask.attempt, outcome.reason, ask.probe)
        else:
            command = C.skipped(firing.no, ask.attempt, outcome.reason, ask.probe)  # type: ignore[union-attr]
        run = loaded.run
        if run is not None:
            effect = run.net.nodes[firing.node].effect
            if effect is not None and effect.safe == "at_most_once":
                self._answered.append((ask, run.effect_key(firing)))
        self.turns.command(self.turns.runs.setdefault(loaded.no, loaded), command)

    def _tell(self, loaded: LoadedRun, news: News) -> None:
        """BPMN 2.0.2, 10.5.1: a signal reaches every catch event that is active when it is thrown. Those of the run
        itself have it before the answer to the throw; others have it on their way before what the run does next."""
        if loaded.run is None or hears(loaded.run, news):  # one whose turn was rolled back is asked when it is there
            payload = self.blobs.shelve(loaded.tenant, news.payload)
            given = C.signal(news.id, news.name, payload, broadcast=True, keep=False)
            self.turns.command(self.turns.runs.setdefault(loaded.no, loaded), given)
        self.news.append(EventRow(loaded.tenant, news.id, news.name, _pack(news.payload), self.clock.now()))
        self.on_told()

    def keep_news(self) -> None:
        """What effects have told since the last time is in the store before the turns that have their answers: after a
        crash in between they are asked, and tell it, again under the same id."""
        news, self.news = self.news, []
        try:
            self.store.put_events(news)
        except StoreError:
            self.news = news + self.news
            raise

    # -- the commit ----------------------------------------------------------------------------------------------------

    def before_commit(self, batch: Batch) -> None:
        """Add what is committed beside the facts: the gate's state, blobs, intents, the cursors of streams."""
        if self.news:
            self.keep_news()
        if self.gate.dirty or self.gate.memos:
            self.gate.write(batch, self.clock.now())
        if self.blobs.pending:
            self.blobs.write(batch)
        self._settling = []
        if self._answered:
            self._settle(batch)
        if self.arrivals.answered or self.arrivals.going:
            self.arrivals.write(batch, self._is_settled)
        if self.in_doubt:
            batch.intent_moved += self.in_doubt
            self.in_doubt = []

    def on_rollback(self, batch: Batch) -> None:
        """The commit has failed: what was to go with it goes with the next."""
        self.arrivals.on_rollback(batch)
        self.gate.on_rollback(batch)
        self.blobs.on_rollback(batch)
        self._answered += self._settling
        self.in_doubt += batch.intent_moved
        self._settling = []

    def _settle(self, batch: Batch) -> None:
        """The intent is deleted in the commit that has the answer, and not earlier."""
        waiting = []
        for ask, key in self._answered:
            run, firing = ask.loaded.run, None
            if run is not None:
                firing = run.st.firings.get(ask.firing.no)
            elif self.turns.runs.get(ask.loaded.no) is ask.loaded:  # its turn was rolled back; it comes again
                waiting.append((ask, key))
                continue
            if firing is not None and firing.phase == EFFECT and firing.attempt == ask.attempt:
                waiting.append((ask, key))
            elif run is not None:
                batch.intent_gone.append((key,))
                self._settling.append((ask, key))
        self._answered = waiting

    def _is_settled(self, ask: Ask) -> bool | None:
        """Is the answer to an effect in the run's state? None: it never will be, or counts as a failure."""
        run = ask.loaded.run
        if run is None:
            return False if self.turns.runs.get(ask.loaded.no) is ask.loaded else None
        firing = run.st.firings.get(ask.firing.no)
        if firing is not None and firing.phase == EFFECT and firing.attempt == ask.attempt:
            return False
        return None if firing is not None and firing.phase == BACKOFF else True
