"""Finding runs: lists by what rows know, and by what only their states know, a bounded piece at a time."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Iterator
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from penstock.app.access.roles import each_user
from penstock.app.runs.queries import Queries
from penstock.app.runs.summary import RunSummary, states_of, summaries, title_of
from penstock.app.runs.waiting.environment import read_environment
from penstock.errors import BadInput, RunNotFound
from penstock.kernel.state import COMPLETED, STATUS, State
from penstock.net.author import author
from penstock.net.compiled import MOST, Compiled
from penstock.store.run_lists import Rank, Ranking, RunFilter
from penstock.store.run_store import RunRow

#: So many states are folded for one page; a cursor leads on from there.
MOST_FOLDED = 2_000
#: So many runs are looked at by one read, and so many reads are done for one page.
WINDOW, WINDOWS = 20_000, 10
#: So long before one of its nodes failed a run may have begun; older ones are not looked at.
LONGEST_MS = 7 * 86_400_000
_CHUNK = 200
_VARIABLE, _TRACE = re.compile(r"([^\s=:]+)\s*[=:]\s*(.+)"), re.compile(r"[0-9a-fA-F]{8,32}")
#: people are looked for by two letters or more, and so many at once
_SHORTEST_NAME, _MOST_PEOPLE = 2, 20
#: by what a list may be sorted
Sort = Literal["started_at"] | Rank
SORTS: tuple[Sort, ...] = ("started_at", "updated_at", "priority")


class Filters(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """`text` is what a run's page shows of it: the beginning of its id, a part of its key, of its document's name or
    title, of what it failed with, a person who decides in it; where nothing is found by these, a variable as NAME=VALUE
    or the beginning of its trace id. `states` are words of the house or of a language. `node` is where a token rests,
    `code` what it failed with, `failed_node` where; `var` a variable and its value as text. `ended` is from when on it
    ended, `node_failed` from when on a node of it failed, `letter`: it has left a dead letter. `sort` is one of SORTS,
    with a «-» before it for the largest first; without it the newest run comes first."""

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
    failed_node: str | None = None
    ended: int | None = None
    node_failed: int | None = None
    letter: bool = False
    trace: str | None = None
    sort: str = ""

    @property
    def folds(self) -> bool:
        looked_into = (self.node, self.var, self.trace, None if self.code_by_row else self.code)
        return any(part is not None for part in looked_into)

    @property
    def code_by_row(self) -> bool:
        """Rows have the codes of runs that ended; one that is open may have failed, too, and be tried again."""
        states = _statuses(self.states)
        return self.failed_node is not None or (states is not None and all(status > COMPLETED for status in states))


def find_runs(
    door: Queries, filters: Filters, cursor: str | None = None, limit: int = 50
) -> tuple[list[RunSummary], str | None]:
    """Newest first or as `sort` says, and where to go on; a page may be short, or empty, and still have more behind it.

    Rows are read in windows of their numbers, which grow with time: at most WINDOWS of WINDOW for a page; open states
    are read by their index instead. `node`, `code` and `var` fold at most MOST_FOLDED states. Then every run of the
    page that has not ended is folded once more, for its reasons."""
    found = _exhausted(_rows_in_slices(door, filters, cursor, limit))
    return summaries(door, found[0], read_environment(door)), found[1]


async def find_runs_soon(
    door: Queries, filters: Filters, cursor: str | None = None, limit: int = 50
) -> tuple[list[RunSummary], str | None]:
    """The same in slices: after every read, and every _CHUNK states, others have their turn."""
    rows, more = await find_rows(door, filters, cursor, limit)
    return summaries(door, rows, read_environment(door)), more


async def find_rows(
    door: Queries, filters: Filters, cursor: str | None = None, limit: int = 50
) -> tuple[list[RunRow], str | None]:
    """Their rows alone, in slices."""
    from asyncio import sleep  # commands that only look do not need it

    slices = _rows_in_slices(door, filters, cursor, limit)
    while True:
        try:
            next(slices)
        except StopIteration as over:
            page: tuple[list[RunRow], str | None] = over.value
            return page
        await sleep(0)


_Slices = Generator[None, None, tuple[list[RunRow], str | None]]


def _rows_in_slices(door: Queries, filters: Filters, cursor: str | None, limit: int) -> _Slices:
    rows, more = yield from _page(door, filters, cursor, limit)
    inside = _inside(filters) if not rows and more is None else None
    if inside is not None:
        rows, more = yield from _page(door, inside, cursor, limit)
    return rows, more


def _exhausted(slices: _Slices) -> tuple[list[RunRow], str | None]:
    while True:
        try:
            next(slices)
        except StopIteration as over:
            page: tuple[list[RunRow], str | None] = over.value
            return page


def count_runs(door: Queries, filters: Filters) -> int | None:
    """How many there are; None where only looking into each would tell. Costs those that are counted, inside an index
    where the filter is of states and times."""
    if filters.folds or filters.text:
        return None
    search = _Search(door, filters, None)
    return door.store.count_runs(search.wanted()) if search.nets != () else 0


def _page(door: Queries, filters: Filters, cursor: str | None, limit: int) -> _Slices:
    by, falling = _sort(filters.sort)
    if by == "started_at":
        return (_Search if falling else _Oldest)(door, filters, cursor).page(limit)
    return _Ranked(door, filters, Ranking(by=by, falling=falling), cursor).page(limit)


def _inside(filters: Filters) -> Filters | None:
    """What no row has fitted may be a variable, or the trace: only the states know."""
    text = filters.text.strip()
    variable = _VARIABLE.fullmatch(text)
    if variable is not None and filters.var is None:
        return replace(filters, text="", var=(variable[1], variable[2]))
    return replace(filters, text="", trace=text.lower()) if _TRACE.fullmatch(text) else None


class _Search:
    """Newest first: from `below` down to `floor`."""

    def __init__(self, door: Queries, filters: Filters, cursor: str | None) -> None:
        self.door, self.filters = door, filters
        self.status = _statuses(filters.states)
        self.nets, self.text_nets = _nets(door, filters)
        self.text_people = _people(door, filters.text)
        self.folded = self.reads = 0
        self.floor, self.below = 1, door.store.last_run() + 1
        if filters.since is not None:
            self.floor = door.store.first_run_at(filters.since)
        if filters.until is not None:
            self.below = min(self.below, door.store.first_run_at(filters.until))
        if filters.node_failed is not None:
            self.floor = max(self.floor, door.store.first_run_at(filters.node_failed - LONGEST_MS))
        self.parent = self._parent()
        if cursor is not None:
            self._go_on(cursor)

    def _go_on(self, cursor: str) -> None:
        self.below = _number(cursor)

    def _parent(self) -> str | None:
        if self.filters.parent is None:
            return None
        try:
            row = self.door.row(self.filters.parent)
        except RunNotFound:
            self.nets = ()  # nobody's runs
            return None
        self.floor = max(self.floor, row.no)
        return row.id

    def page(self, limit: int) -> _Slices:
        if self.nets == ():
            return [], None
        rows = list[RunRow]()
        for row in self._rows(limit):
            if row is None:
                yield
                continue
            rows.append(row)
            if len(rows) > limit:
                return rows[:limit], self._cursor(rows[limit - 1])
        return rows, self._rest()

    def _cursor(self, row: RunRow) -> str:
        return f"{row.created_at}.{row.no}"

    def _rest(self) -> str | None:
        return f"0.{self.below}" if self.below > self.floor else None

    def _rows(self, limit: int) -> Iterator[RunRow | None]:
        """None where a slice ends."""
        chunk, wanted = self._chunk(limit), self.wanted()
        while self.below > self.floor and self._may_read():
            rows = self._next_rows(wanted, chunk)
            self.reads += 1
            yield from self._meant(rows)
            yield None

    def _next_rows(self, wanted: RunFilter, chunk: int) -> list[RunRow]:
        """`below` is where the next read begins."""
        low = self.floor if wanted.by_index else max(self.floor, self.below - WINDOW)
        rows = self.door.store.find_runs(replace(wanted, below=self.below, floor=low), chunk)
        self.below = rows[-1].no if len(rows) == chunk else low
        return rows

    def _chunk(self, limit: int) -> int:
        return _CHUNK if self.filters.folds else limit + 1

    def _may_read(self) -> bool:
        return self.reads < WINDOWS * (1 + self.filters.folds) and self.folded < MOST_FOLDED

    def wanted(self) -> RunFilter:
        f = self.filters
        return RunFilter(
            tenant=self.door.tenant, below=self.below, floor=self.floor, status=self.status, nets=self.nets,
            since=f.since, until=f.until, parent=self.parent, text=f.text, text_nets=self.text_nets,
            text_people=self.text_people, ended=f.ended, node_failed=f.node_failed, letter=f.letter,
            code=f.code if f.code_by_row else None, cause_node=f.failed_node,
        )  # fmt: skip

    def _meant(self, rows: list[RunRow]) -> Iterator[RunRow]:
        if not self.filters.folds:
            yield from rows
            return
        states = states_of(self.door, [row.no for row in rows])
        self.folded += len(rows)
        for row in rows:
            if row.no in states and _fits(states[row.no], self.door.nets.get(row.net), self.filters):
                yield row


class _Oldest(_Search):
    """Oldest first: from `floor` up to `below`."""

    def _go_on(self, cursor: str) -> None:
        self.floor = max(self.floor, _number(cursor, "started_at") + 1)

    def _cursor(self, row: RunRow) -> str:
        return f"started_at:{row.created_at}.{row.no}"

    def _rest(self) -> str | None:
        return f"started_at:0.{self.floor - 1}" if self.below > self.floor else None

    def _next_rows(self, wanted: RunFilter, chunk: int) -> list[RunRow]:
        """`floor` is where the next read begins."""
        high = self.below if wanted.by_index else min(self.below, self.floor + WINDOW)
        rows = self.door.store.find_runs(replace(wanted, below=high, floor=self.floor), chunk, oldest=True)
        self.floor = rows[-1].no + 1 if len(rows) == chunk else high
        return rows


class _Ranked(_Search):
    """In the order of a value, and of numbers where it is equal. A run that moves meanwhile may be met twice, or not;
    all others are met once."""

    def __init__(self, door: Queries, filters: Filters, ranking: Ranking, cursor: str | None) -> None:
        self.ranking = ranking
        self.sort = f"-{ranking.by}" if ranking.falling else ranking.by
        self.over = False
        super().__init__(door, filters, cursor)

    def _go_on(self, cursor: str) -> None:
        no = _number(cursor, self.sort)
        value = cursor.removeprefix(f"{self.sort}:").partition(".")[0]
        if not value.removeprefix("-").isdecimal() or len(value) > 18:
            raise _foreign_cursor()
        self.ranking = replace(self.ranking, after=(int(value), no))

    def _cursor(self, row: RunRow) -> str:
        return self._at((getattr(row, self.ranking.by), row.no))

    def _at(self, place: tuple[int, int]) -> str:
        return f"{self.sort}:{place[0]}.{place[1]}"

    def _rest(self) -> str | None:
        return None if self.over or self.ranking.after is None else self._at(self.ranking.after)

    def _rows(self, limit: int) -> Iterator[RunRow | None]:
        """None where a slice ends."""
        chunk, wanted = self._chunk(limit), self.wanted()
        while not self.over and self._may_read():
            rows, after = self.door.store.ranked_runs(wanted, self.ranking, chunk, WINDOW)
            self.reads += 1
            self.over = after is None
            self.ranking = replace(self.ranking, after=after)
            yield from self._meant(rows)
            yield None


def _fits(st: State, net: Compiled, f: Filters) -> bool:
    if f.code is not None and (st.failure is None or st.failure.code != f.code):
        return False
    if f.trace is not None and not st.trace.startswith(f.trace):
        return False
    if f.node is not None and f.node not in resting_nodes(st, net):
        return False
    if f.var is None:
        return True
    name, wanted = f.var
    known = {**st.vars, **st.names}
    inside, _, rest = name.partition(".")
    return inside in known and _value_text(known[inside], rest) == wanted


def resting_nodes(st: State, net: Compiled) -> set[str]:
    """The author's nodes in which something works or waits, or before which a token rests."""
    working = {author(net.nodes[firing.node]) for firing in st.firings.values()}
    places = (place for scope in st.scopes.values() for place in scope.tokens)
    return working | {author(net.edges[place & (MOST - 1)].dst) for place in places}


def _value_text(value: Any, rest: str) -> str | None:
    """A value, or a part of it by its path, as text."""
    for step in rest.split(".") if rest else ():
        if not isinstance(value, dict) or step not in value:
            return None
        value = value[step]
    if isinstance(value, bool) or value is None:
        return "null" if value is None else str(value).lower()
    return str(value) if isinstance(value, str | int | float) else None


# ---- what was asked --------------------------------------------------------------------------------------------------


def _sort(text: str) -> tuple[Sort, bool]:
    """By what, and the largest first?"""
    for by in SORTS:
        if text.removeprefix("-") == by:
            return by, text.startswith("-")
    if not text:
        return "started_at", True
    hint = f"Write one of {', '.join(SORTS)}, with a «-» before it for the largest first."
    raise BadInput(what="«sort»", why=f"runs cannot be sorted by «{text}»", hint=hint)


def _number(cursor: str, sort: str = "") -> int:
    """The number orders as the time does, and has no equal. A cursor of another order leads nowhere."""
    sorted_by, colon, place = cursor.rpartition(":")
    no = place.partition(".")[2]
    if sorted_by != sort or bool(colon) != bool(sort) or not no.isdecimal() or len(no) > 18:
        raise _foreign_cursor()
    return int(no)


def _foreign_cursor() -> BadInput:
    hint = "Take `next` of the page before, of the same list."
    return BadInput(what="the cursor", why="it is not one that a list in this order has given", hint=hint)


def _statuses(words: Iterable[str]) -> tuple[int, ...] | None:
    numbers: set[int] = set()
    for word in words:
        if word.upper() not in STATUS:
            raise BadInput(what="the state", why=f"«{word}» is none of {', '.join(STATUS[1:])}")
        numbers.add(STATUS.index(word.upper()))
    if STATUS.index("PENDING") in numbers:
        numbers.add(STATUS.index("CREATED"))
    return tuple(sorted(numbers)) or None


def _nets(door: Queries, f: Filters) -> tuple[tuple[int, ...] | None, tuple[int, ...]]:
    """The nets that are meant, None: all; and those whose name fits the text."""
    if f.name is None and f.language is None and f.version is None and not f.text:
        return None, ()
    known = door.store.nets()
    by_text = tuple(no for no, _, name, _ in known if f.text and _is_called(door, no, name, f.text.lower()))
    if f.name is None and f.language is None and f.version is None:
        return None, by_text
    meant = [
        (no, hash) for no, hash, name, language in known if f.name in (None, name) and f.language in (None, language)
    ]
    if f.version is not None:
        meant = [(no, hash) for no, hash in meant if door.net_of(hash).net.declares.version == f.version]
    return tuple(no for no, _ in meant), by_text


def _is_called(door: Queries, no: int, name: str, text: str) -> bool:
    """By its name, or by the title that people read. Costs one read of the document, once."""
    return text in name.lower() or text in title_of(door, no, door.nets.get(no)).lower()


def _people(door: Queries, text: str) -> tuple[str, ...]:
    """The text itself, and the ids of people whose name has it: both stand in what asks for them."""
    if len(text) < _SHORTEST_NAME:
        return ()
    named = (user["id"] for user in each_user(door) if text.lower() in str(user["name"]).lower())
    return tuple(dict.fromkeys([text, *named]))[:_MOST_PEOPLE]
