"""Finding runs: lists by what rows know, and by what only their states know, a bounded piece at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from penstock.app.around import around
from penstock.app.queries import Queries
from penstock.app.summary import RunSummary, net_of, states_of, summaries
from penstock.errors import BadInput, RunNotFound
from penstock.kernel.state import STATUS, State
from penstock.net.author import author
from penstock.net.compiled import MOST, Compiled
from penstock.store.contract import RunRow
from penstock.store.contract_lists import RunFilter

#: So many states are folded for one page; a cursor leads on from there.
MOST_FOLDED = 2_000
#: So many runs are looked at by one read, and so many reads are done for one page.
WINDOW, WINDOWS = 20_000, 10
_CHUNK = 200


class Filters(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """`text` is the beginning of an id, a part of a key, or of a name. `states` are words of the house or of a
    language. `node` is where a token rests, `code` what it failed with, `var` a variable and its value as text."""

    text: str = ""
    states: list[str] = []
    name: str | None = None
    version: int | None = None
    language: str | None = None
    node: str | None = None
    code: str | None = None
    var: tuple[str, str] | None = None
    since: int | None = None
    until: int | None = None
    parent: str | None = None

    @property
    def folds(self) -> bool:
        return self.node is not None or self.code is not None or self.var is not None


def find_runs(
    door: Queries, filters: Filters, cursor: str | None = None, limit: int = 50
) -> tuple[list[RunSummary], str | None]:
    """Newest first, and where to go on; a page may be short, or empty, and still have more behind it.

    Rows are read in windows of their numbers, which grow with time: at most WINDOWS of WINDOW for a page; open states
    are read by their index instead. `node`, `code` and `var` fold at most MOST_FOLDED states. Then every run of the
    page that has not ended is folded once more, for its reasons."""
    rows, more = _Search(door, filters, cursor).page(limit)
    return summaries(door, rows, around(door)), more


class _Search:
    def __init__(self, door: Queries, filters: Filters, cursor: str | None) -> None:
        self.door, self.filters = door, filters
        self.below = _number(cursor) if cursor is not None else door.store.last_run() + 1
        if cursor is None and filters.until is not None:
            self.below = min(self.below, door.store.first_run_at(filters.until))
        self.status = _statuses(filters.states)
        self.nets, self.text_nets = _nets(door, filters)
        self.folded = self.reads = 0

    def page(self, limit: int) -> tuple[list[RunRow], str | None]:
        if self.nets == ():
            return [], None
        floor, found = self._floor(), list[RunRow]()
        for row in self._rows(floor, limit):
            found.append(row)
            if len(found) > limit:
                return found[:limit], _cursor(found[limit - 1])
        return found, f"0.{self.below}" if self.below > floor else None

    def _floor(self) -> int:
        """No run below this number can be meant."""
        floor = 1
        if self.filters.since is not None:
            floor = self.door.store.first_run_at(self.filters.since)
        if self.filters.parent is not None:
            try:
                floor = max(floor, self.door.row(self.filters.parent).no)
            except RunNotFound:
                return self.below
        return floor

    def _rows(self, floor: int, limit: int) -> Iterator[RunRow]:
        """`below` is where the next read begins."""
        chunk = _CHUNK if self.filters.folds else limit + 1
        by_index = self.filters.parent is not None or (self.status is not None and all(one < 5 for one in self.status))
        while self.below > floor and self.reads < WINDOWS * (1 + self.filters.folds) and self.folded < MOST_FOLDED:
            low = floor if by_index else max(floor, self.below - WINDOW)
            rows = self.door.store.find_runs(self._wanted(low), chunk)
            self.reads += 1
            self.below = rows[-1].no if len(rows) == chunk else low
            yield from self._meant(rows) if self.filters.folds else rows

    def _wanted(self, low: int) -> RunFilter:
        f = self.filters
        return RunFilter(
            tenant=self.door.tenant, below=self.below, floor=low, status=self.status, nets=self.nets, since=f.since,
            until=f.until, parent=None if f.parent is None else self.door.row(f.parent).id, text=f.text,
            text_nets=self.text_nets,
        )  # fmt: skip

    def _meant(self, rows: list[RunRow]) -> Iterator[RunRow]:
        states = states_of(self.door, [row.no for row in rows])
        self.folded += len(rows)
        for row in rows:
            if row.no in states and _fits(states[row.no], net_of(self.door, row), self.filters):
                yield row


def _fits(st: State, net: Compiled, f: Filters) -> bool:
    if f.code is not None and (st.failure is None or st.failure.code != f.code):
        return False
    if f.node is not None and f.node not in resting_nodes(st, net):
        return False
    if f.var is None:
        return True
    name, wanted = f.var
    known = {**st.vars, **st.names}
    inside, _, rest = name.partition(".")
    return inside in known and _said(known[inside], rest) == wanted


def resting_nodes(st: State, net: Compiled) -> set[str]:
    """The author's nodes in which something works or waits, or before which a token rests."""
    found = {author(net.nodes[firing.node]) for firing in st.firings.values()}
    places = (place for scope in st.scopes.values() for place in scope.tokens)
    return found | {author(net.edges[place & (MOST - 1)].dst) for place in places}


def _said(value: Any, rest: str) -> str | None:
    """A value, or a part of it by its path, as text."""
    for step in rest.split(".") if rest else ():
        if not isinstance(value, dict) or step not in value:
            return None
        value = value[step]
    if isinstance(value, bool) or value is None:
        return "null" if value is None else str(value).lower()
    return str(value) if isinstance(value, str | int | float) else None


# ---- what was asked --------------------------------------------------------------------------------------------------


def _cursor(row: RunRow) -> str:
    return f"{row.created_at}.{row.no}"


def _number(cursor: str) -> int:
    """The number orders as the time does, and has no equal."""
    _, _, no = cursor.partition(".")
    if not no.isdecimal() or len(no) > 18:
        raise BadInput(what="the cursor", why="it is not one that a list has given")
    return int(no)


def _statuses(words: Iterable[str]) -> tuple[int, ...] | None:
    found: set[int] = set()
    for word in words:
        if word.upper() not in STATUS:
            raise BadInput(what="the state", why=f"«{word}» is none of {', '.join(STATUS[1:])}")
        found.add(STATUS.index(word.upper()))
    if STATUS.index("PENDING") in found:
        found.add(STATUS.index("CREATED"))
    return tuple(sorted(found)) or None


def _nets(door: Queries, f: Filters) -> tuple[tuple[int, ...] | None, tuple[int, ...]]:
    """The nets that are meant, None: all; and those whose name fits the text."""
    if f.name is None and f.language is None and f.version is None and not f.text:
        return None, ()
    known = door.store.nets()
    by_text = tuple(no for no, _, name, _ in known if f.text and f.text.lower() in name.lower())
    if f.name is None and f.language is None and f.version is None:
        return None, by_text
    meant = [
        (no, hash) for no, hash, name, language in known if f.name in (None, name) and f.language in (None, language)
    ]
    if f.version is not None:
        meant = [(no, hash) for no, hash in meant if door.net_of(hash).net.declares.version == f.version]
    return tuple(no for no, _ in meant), by_text
