"""What a state machine of the house is: a table of rows; what the table does not name is refused.

Rule 1: no transition lives outside a table, or everything made from it (CHECK constraints, drawings, buttons) lies.
Rule 2: a (status, event) pair has one answer. Where it depends on more than the status, the event has two names.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from penstock.errors import StatusConflict


class T(NamedTuple):
    """One allowed move, and the sentence it comes from."""

    src: str
    event: str
    dst: str
    source: str


def each(sources: tuple[str, ...], event: str, dst: str, source: str) -> tuple[T, ...]:
    """The same move out of several statuses."""
    return tuple(T(src, event, dst, source) for src in sources)


@dataclass(frozen=True)
class Machine:
    """`terminal` statuses are absorbing but for the rows that name them as source."""

    name: str
    initial: str
    rows: tuple[T, ...]
    terminal: tuple[str, ...]
    statuses: tuple[str, ...] = field(init=False, compare=False)
    events: tuple[str, ...] = field(init=False, compare=False)
    _table: dict[tuple[str, str], str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        table = {(row.src, row.event): row.dst for row in self.rows}
        assert len(table) == len(self.rows), f"{self.name}: a (status, event) pair stands in two rows"
        statuses = dict.fromkeys([self.initial, *(status for row in self.rows for status in (row.src, row.dst))])
        assert set(self.terminal) <= set(statuses), f"{self.name}: a terminal status stands in no row"
        object.__setattr__(self, "_table", table)
        object.__setattr__(self, "statuses", tuple(statuses))
        object.__setattr__(self, "events", tuple(dict.fromkeys(row.event for row in self.rows)))

    def allows(self, status: str, event: str) -> bool:
        return (status, event) in self._table

    def next(self, status: str, event: str) -> str:
        """The status after the event; refuses with StatusConflict what the table does not name."""
        after = self._table.get((status, event))
        if after is None:
            what = self.name.replace("_", " ")
            raise StatusConflict(what=what, status=status, verb=event, allowed=self.sources(event))
        return after

    def sources(self, event: str) -> list[str]:
        """Where the event is allowed."""
        return [row.src for row in self.rows if row.event == event]

    def moves(self, status: str) -> list[str]:
        """What may be asked in this status: the buttons a person sees."""
        return [row.event for row in self.rows if row.src == status]

    def mermaid(self) -> str:
        """The table as a Mermaid state diagram; rows between the same two statuses share one arrow."""
        arrows: dict[tuple[str, str], list[str]] = {}
        for row in self.rows:
            arrows.setdefault((row.src, row.dst), []).append(row.event)
        lines = ["stateDiagram-v2", f"    [*] --> {self.initial}"]
        lines += [f"    {src} --> {dst}: {', '.join(events)}" for (src, dst), events in arrows.items()]
        lines += [f"    {status} --> [*]" for status in self.terminal]
        return "\n".join(lines) + "\n"
