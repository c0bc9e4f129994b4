"""The timeline of a run: its journal, read once; lines, history, events, tokens and past states are derived from it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
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

    @cached_property
    def facts(self) -> list[tuple[int, list[Any]]]:
        """By turn, with its time; nothing is folded for it."""
        return [(row.at, F.decode_facts(row.body)) for row in self.rows]

    @cached_property
    def count(self) -> int:
        return sum(len(facts) for _, facts in self.facts)

    @cached_property
    def turns(self) -> list[Turn]:
        """Every turn as people read it. The fold that has read them is the reading's from then on."""
        fold, turns = RunFold(self.net_of, self.reading.resolve), []
        for at, facts in self.facts:
            lines = fold.turn(at, facts)
            assert fold.reader.net is not None, "a run's first fact names its net"
            turns.append(Turn(at, facts, lines, fold.reader.carried, fold.reader.net))
        if turns:
            self.reading.keep(fold)
        return turns

    @property
    def lines(self) -> list[FactLine]:
        return [line for turn in self.turns for line in turn.lines]

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
        for at, facts in self.facts:
            if left > 0:
                fold.turn(at, facts[:left])
            left -= len(facts)
        return fold

    def state_at(self, fact: int | None = None) -> State:
        return fold_to(self.facts, self.checked(fact))

    def events(self, after: int = 0) -> list[Event]:
        """What subscribers are told (D-X.22), in order."""
        reader = EventReader(self.net_of, self.reading.row.id)
        return [event for at, facts in self.facts for event in reader.turn(at, facts) if event.seq > after]

    def history(self) -> list[Transition]:
        """Every transition of the run, of its nodes and its approvals (W-2.2.5), oldest first."""
        first = self.net_of(self.facts[0][1][0][3]) if self.facts else self.reading.net  # a run begins with its net
        history = dialect_of(first.net.language).history(self.net_of, self.reading.row.created_at)
        for at, facts in self.facts:
            history.turn(at, facts)
        return history.transitions

    def tokens(self) -> list[TokenRecord]:
        """Every token that was ever put, with its envelope."""
        puts = ((turn.lines, turn.envelopes, turn.net) for turn in self.turns)
        return tokens_of(puts, self.reading.state.trace if self.turns else "", self.reading.resolve)
