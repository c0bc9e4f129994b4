"""Events of a run for subscribers (D-X.22), derived from its journal, in the words of its language."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from penstock.app.runs.queries import Queries
from penstock.dialects import dialect_of
from penstock.dialects.contract import RunEvents
from penstock.dialects.token_events import Event
from penstock.kernel import fact as F
from penstock.net.compiled import Compiled


class EventReader:
    """Reads a run's journal turn by turn, so that a long run is not read again from its beginning."""

    def __init__(self, net_of: Callable[[str], Compiled], run_id: str) -> None:
        self.net_of, self.run_id = net_of, run_id
        self.events: RunEvents | None = None

    def turn(self, at: int, facts: list[Any]) -> Iterator[Event]:
        if self.events is None:
            language = self.net_of(facts[0][3]).net.language  # a run begins with its net
            self.events = dialect_of(language).events(self.net_of, self.run_id)
        yield from self.events.turn(at, facts)


class EventPage(msgspec.Struct):
    """`more`: others follow that are known already."""

    items: list[Event]
    more: bool


class EventPages:
    """The events of long runs in pages. A reader is kept for each of the runs that were asked for last, with its newest
    events, so that whoever follows a run pays for what is new."""

    def __init__(self, *, size: int = 500, runs: int = 8) -> None:
        self.size, self.runs = size, runs
        self._tails: OrderedDict[tuple[str, int], _Tail] = OrderedDict()

    def page(self, door: Queries, run: str, after: int) -> EventPage:
        """Those with a number above `after`."""
        row = door.row(run)
        tail = self._tails.pop((door.tenant, row.no), None)
        if tail is None or not tail.reaches(after):
            tail = _Tail(EventReader(door.net_of, row.id))
        items = [event for event in tail.newest if event.seq > after]
        for turn in door.store.journal(row.no, tail.facts):
            if len(items) > self.size:
                break
            items += [event for event in tail.take(turn.at, turn.seq_to, turn.body) if event.seq > after]
        self._tails[door.tenant, row.no] = tail
        if len(self._tails) > self.runs:
            self._tails.popitem(last=False)
        return EventPage(items[: self.size], len(items) > self.size)

    def forget(self) -> None:
        self._tails.clear()


class _Tail:
    def __init__(self, reader: EventReader) -> None:
        self.reader, self.facts = reader, 0
        self.newest: deque[Event] = deque(maxlen=4096)

    def reaches(self, after: int) -> bool:
        """Whether nothing after that number has been let go."""
        return not self.newest or self.newest[0].seq <= after + 1

    def take(self, at: int, last: int, body: bytes) -> list[Event]:
        events = list(self.reader.turn(at, F.decode_facts(body)))
        self.facts = last
        self.newest += events
        return events
