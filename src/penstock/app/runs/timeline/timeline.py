"""The timeline of a run: its journal, read once; lines, history, events, tokens and past states are derived from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

from penstock.app.runs.reading import RunReading
from penstock.app.runs.run_view import RunFold
from penstock.app.runs.timeline.events import EventReader
from penstock.app.runs.timeline.tokens import TokenRecord, tokens_of
from penstock.dialects import dialect_of
from penstock.dialects.token_events import Event
from penstock.dialects.transitions import Transition
from penstock.errors import BadInput
from penstock.kernel import fact as F
from penstock.kernel.fact_lines import FactLine
from penstock.kernel.replay import fold_to
from penstock.kernel.state import State
from penstock.kernel.token import Envelope
from penstock.net.compiled import Compiled
from penstock.store.run_store import JournalRow

NetOf = Callable[[str], Compiled]


class Turn(NamedTuple):
    """Facts that were committed at once: their time, their lines, what their tokens carry, the net that they are of."""

    at: int
    facts: list[Any]
    lines: list[FactLine]
    envelopes: list[Envelope]
    net: Compiled


class Timeline:
    def __init__(self, reading: RunReading, net_of: NetOf) -> None:
        self.reading, self.net_of = reading, net_of

    @cached_property
    def rows(self) -> list[JournalRow]:
        return list(self.reading.journal())

    def facts(self, after: int = 0) -> Iterator[tuple[int, list[Any]]]:
        """By turn, with its time; decoded as they are taken, since all of a long run would fill the memory. `after` is
        the last fact of a turn."""
        return ((row.at, F.decode_facts(row.body)) for row in self.rows if row.seq_from > after)

    @property
    def count(self) -> int:
        return self.rows[-1].seq_to if self.rows else 0

    def turns(self) -> Iterator[Turn]:
        """Every turn as people read it, one after the other. The fold that has read them all is the reading's from then
        on."""
        fold = RunFold(self.net_of, self.reading.resolve)
        for at, facts in self.facts():
            lines = fold.turn(at, facts)
            assert fold.reader.net is not None, "a run's first fact names its net"
            yield Turn(at, facts, lines, fold.reader.carried, fold.reader.net)
        if fold.reader.net is not None:
            self.reading.keep(fold)

    def lines(self) -> Iterator[FactLine]:
        return (line for turn in self.turns() for line in turn.lines)

    def checked(self, fact: int | None) -> int:
        """The number of a fact, the last one by default. Raises BadInput where the run has no such fact."""
        last = self.count if fact is None else fact
        if not 1 <= last <= self.count:
            raise BadInput(what="the fact number", why=f"the run has facts 1 to {self.count}")
        return last

    def turn_of(self, fact: int) -> tuple[int, int, int]:
        """The turn that holds a fact: its number, its first fact and its last."""
        for number, row in enumerate(self.rows, 1):
            if row.seq_from <= fact <= row.seq_to:
                return number, row.seq_from, row.seq_to
        raise BadInput(what="the fact number", why=f"the run has facts 1 to {self.rows[-1].seq_to if self.rows else 0}")

    def fold_to(self, fact: int | None = None) -> RunFold:
        """The run as it was after a fact, the last one by default."""
        fold, left = RunFold(self.net_of, self.reading.resolve), self.checked(fact)
        for at, facts in self.facts():
            fold.turn(at, facts[:left])
            left -= len(facts)
            if left <= 0:
                break
        return fold

    def state_at(self, fact: int | None = None) -> State:
        return fold_to(self.facts(), self.checked(fact))

    def events(self, after: int = 0, most: int | None = None) -> list[Event]:
        """What subscribers are told (D-X.22), in order; so many at most."""
        reader = EventReader(self.net_of, self.reading.row.id)
        events = (event for at, facts in self.facts() for event in reader.turn(at, facts) if event.seq > after)
        return list(islice(events, most))

    def history(self) -> list[Transition]:
        """Every transition of the run, of its nodes and its approvals (W-2.2.5), oldest first."""
        history = dialect_of(self._first_net().net.language).history(self.net_of, self.reading.row.created_at)
        for at, facts in self.facts():
            history.turn(at, facts)
        return history.transitions

    def tokens(self) -> list[TokenRecord]:
        """Every token that was ever put, with its envelope."""
        puts = ((turn.lines, turn.envelopes, turn.net) for turn in self.turns())
        return tokens_of(puts, self.reading.state.trace if self.rows else "", self.reading.resolve)

    def _first_net(self) -> Compiled:
        """A run begins with its net."""
        first = next(self.facts(), None)
        return self.net_of(first[1][0][3]) if first is not None else self.reading.net
