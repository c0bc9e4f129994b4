"""What a store tells people of its runs: bounded lists and counts over rows. No journal is read for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:
    from penstock.store.contract import RunRow


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


class Gauges(msgspec.Struct, frozen=True):
    """Of all tenants: open runs by status, open work items by node, dead letters, versions of documents by status."""

    runs: list[tuple[str, int, int]]  # tenant, status, count
    items: list[tuple[str, int, int, int]]  # tenant, net, node, count
    letters: list[tuple[str, int]]
    versions: list[tuple[str, str, int]]  # tenant, status, count


class ListStore(Protocol):
    def find_runs(self, wanted: RunFilter, limit: int) -> list[RunRow]:
        """Newest first. Costs the runs between `floor` and `below`; where all statuses are open ones, the open runs."""
        ...

    def first_run_at(self, at: int) -> int:
        """The number from which on runs were created at this time or later. Some twenty reads by key."""
        ...

    def nets(self) -> list[tuple[int, str, str, str]]:
        """Number, hash, name and language of every net, without bodies."""
        ...

    def open_counts(self, tenant: str, since: int) -> list[tuple[int, int, int, int]]:
        """Runs that have not ended: status, net, hour of creation (0: before `since`), count. Costs the open runs."""
        ...

    def ended_counts(self, tenant: str, floor: int, since: int) -> list[tuple[int, int, int, int]]:
        """Runs from number `floor` on that ended after `since`: hour of the end, status, net, count."""
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

    def open_items(self, tenant: str, limit: int) -> list[ItemRow]:
        """Work items that wait for somebody, oldest first."""
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
