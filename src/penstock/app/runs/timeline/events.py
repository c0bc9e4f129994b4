"""Events of a run for subscribers (D-X.22), derived from its journal, in the words of its language."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.dialects import dialect_of
from penstock.dialects.contract import RunEvents
from penstock.dialects.token_events import Event
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
