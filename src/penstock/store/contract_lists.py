"""What a store tells people of its runs: bounded lists and counts over rows. No journal is read for them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

if TYPE_CHECKING:
    from penstock.store.contract import RunRow


#: the net, the node, the status and the candidates of work items
GroupKey = tuple[int, int, str, bytes | None]
#: by what a list of runs may be ranked besides their numbers
Rank = Literal["updated_at", "priority"]


class RunFilter(msgspec.Struct, frozen=True, kw_only=True):
    """`below` and `floor` bound the run numbers that are looked at: numbers grow with the time of creation. `text` is
    the beginning of an id, a part of a key, or the name of one of `text_nets`."""

    tenant: str
    below: int
    floor: int = 0
    status: tuple[int, ...] | None = None
    nets: tuple[int, ...] | None = None
    since: int | None = None
    until: int | None = None
    parent: str | None = None
    text: str = ""
    text_nets: tuple[int, ...] = ()

    @property
    def by_index(self) -> bool:
        """An index leads to the runs that are meant: called ones, or open ones."""
        return self.parent is not None or (self.status is not None and all(one < 5 for one in self.status))


class Ranking(msgspec.Struct, frozen=True, kw_only=True):
    """`after` is the place of the run after which the list goes on, its value and its number, which parts equals."""

    by: Rank
    falling: bool = False
    after: tuple[int, int] | None = None


class ItemRow(msgspec.Struct, frozen=True):
    run: int
    run_id: str
    net: int
    firing: int
    node: int
    status: str
    prompt: bytes
    candidates: bytes | None
    opened_at: int


class ItemGroup(msgspec.Struct, frozen=True):
    """So many open work items of one node, for the same people, that were opened in the same hour (0: before)."""

    net: int
    node: int
    status: str
    candidates: bytes | None
    hour: int
    count: int
    oldest: int

    @property
    def key(self) -> GroupKey:
        return (self.net, self.node, self.status, self.candidates)


class WorkRow(msgspec.Struct, frozen=True):
    """A work item of a process."""

    run: int
    run_id: str
    net: int
    firing: int
    node: int
    status: str
    assignee: str | None
    mode: str | None
    version: int
    prompt: bytes
    candidates: bytes | None
    opened_at: int
    moved_at: int


class DoneRow(msgspec.Struct, frozen=True):
    """A work item of a process that somebody has done; `moved_at` is when, unless it was undone since."""

    run: int
    run_id: str
    firing: int
    status: str
    assignee: str | None
    mode: str | None
    prompt: bytes
    moved_at: int


class Gauges(msgspec.Struct, frozen=True):
    """Of all tenants: open runs by status, open work items by node, dead letters, versions of documents by status."""

    runs: list[tuple[str, int, int]]  # tenant, status, count
    items: list[tuple[str, int, int, int]]  # tenant, net, node, count
    letters: list[tuple[str, int]]
    versions: list[tuple[str, str, int]]  # tenant, status, count


class ListStore(Protocol):
    def find_runs(self, wanted: RunFilter, limit: int, *, oldest: bool = False) -> list[RunRow]:
        """Newest first, or oldest first. Costs the runs between `floor` and `below`; where all statuses are open ones,
        the open runs."""
        ...

    def ranked_runs(
        self, wanted: RunFilter, ranking: Ranking, limit: int, window: int
    ) -> tuple[list[RunRow], tuple[int, int] | None]:
        """In the order of a value; where fewer than `limit` fit, they are those among the next `window` of all runs.
        With the place from which the list goes on, None at its end. Where an index leads to the runs that are meant,
        all of these are sorted instead, and there is no window."""
        ...

    def first_run_at(self, at: int) -> int:
        """The number from which on runs were created at this time or later. Some twenty reads by key."""
        ...

    def nets(self) -> list[tuple[int, str, str, str]]:
        """Number, hash, name and language of every net, without bodies."""
        ...

    def open_counts(self, tenant: str, since: int) -> list[tuple[int, int, int, int]]:
        """Runs that have not ended: status, net, hour of creation (0: before `since`), count. Costs the open runs,
        of which only the index is read."""
        ...

    def ended_counts(self, tenant: str, since: int) -> list[tuple[int, int, int]]:
        """Runs that ended after `since`: hour of the end, status, count. Costs those, of which only the index is
        read."""
        ...

    def ended_runs(self, tenant: str, status: int, since: int, limit: int) -> list[RunRow]:
        """Runs that ended so after `since`, the last one first."""
        ...

    def firings_since(self, tenant: str, floor: int, since: int, limit: int) -> list[tuple[int, ...]]:
        """Firings of runs from number `floor` on that settled after `since`, those of the newest runs first: net, node,
        status, attempts, started, ended."""
        ...

    def open_runs(self, tenant: str, limit: int, *, soonest: bool) -> list[int]:
        """Runs that have not ended: whose timer rings soonest, or which were touched longest ago."""
        ...

    def incident_runs(self, tenant: str, code: str, limit: int) -> list[int]:
        """Runs that have not ended and have such an incident. Costs the incidents."""
        ...

    def open_items(
        self, tenant: str, limit: int, *, of: Iterable[GroupKey] | None = None, spoken: bool = False
    ) -> list[ItemRow]:
        """Work items that wait for somebody, oldest first; `of` some groups; `spoken`: of runs about whose items
        something else than a comment was said. Costs the page, and what is older and not meant."""
        ...

    def open_groups(self, tenant: str, since: int) -> list[ItemGroup]:
        """The same counted, by hours after `since`. Costs the open items, of which nobody reads what is asked."""
        ...

    def work_items(
        self, tenant: str, statuses: Iterable[str], *, assignee: str | None = None, after: tuple[int, int] = (0, 0),
        limit: int = 50,
    ) -> list[WorkRow]:  # fmt: skip
        """Of processes, in the order of their runs: those after a run and a firing. Costs the page, by an index."""
        ...

    def work_of(self, run: int, firing: int | None = None) -> list[WorkRow]:
        """Of one run, also those that are closed."""
        ...

    def done_items(
        self, tenant: str, nets: Iterable[int], statuses: Iterable[str], *, since: int | None = None,
        after: tuple[int, int] = (0, 0), limit: int = 500,
    ) -> list[DoneRow]:  # fmt: skip
        """Of the runs of some nets, in the order of their runs: those after a run and a firing, `since`: that moved at
        this time or later. Costs what the tenant has in these statuses; with `since` only its open runs, and those that
        have ended since."""
        ...

    def letter_counts(self, tenant: str, since: int) -> tuple[int, list[tuple[int, int]]]:
        """How many dead letters there are, and by hour those that came after `since`."""
        ...

    def gauges(self) -> Gauges:
        """What a collector of metrics asks for. Costs the open runs, the open items, the letters and the versions."""
        ...

    def tenants(self) -> list[str]:
        """Who has registered something, released something, or has a run that has not ended."""
        ...

    def largest_checkpoints(self, most: int) -> list[tuple[str, int]]:
        """By tenant, in bytes; nothing where there are more than `most`: each of them would have to be read."""
        ...
