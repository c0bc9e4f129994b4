"""Pages of executions (F-6.1, F-X.22): the newest first, or in the order in which they are picked up (F-4.1)."""

from __future__ import annotations

from asyncio import sleep
from collections.abc import Iterator
from typing import Literal

import msgspec

from penstock.app.pipeline.definitions import LANGUAGE
from penstock.app.pipeline.executions import Execution, read_execution
from penstock.app.runs.queries import Queries
from penstock.dialects.pipeline import about
from penstock.dialects.pipeline.words import RUN, execution_status
from penstock.kernel.state import STATUS
from penstock.store.run_lists import Ranking, RunFilter
from penstock.store.run_store import RunRow

#: the newest first; or by priority, then the oldest first
Order = Literal["newest", "queue"]
#: rows that are looked into before others have their turn
_SLICE = 100
#: ended badly: which of the two words it is, only its failure tells
_BADLY = frozenset({"FAILED", "TIMEOUT"})


class ExecutionFilter(msgspec.Struct, kw_only=True, frozen=True):
    """`text` is a part of the file's name, of the code it failed with, or the beginning of the execution's id.
    `organization`: only of that one; `file`: only of that file asset."""

    status: tuple[str, ...] = ()
    pipeline: str | None = None
    organization: int | None = None
    file: int | None = None
    since: int | None = None
    until: int | None = None
    text: str = ""
    parent: str | None = None
    order: Order = "newest"

    @property
    def looks_inside(self) -> bool:
        """Whether rows alone do not tell."""
        one_of_two = len(_BADLY & set(self.status)) == 1
        return one_of_two or self.organization is not None or self.file is not None


class ExecutionPage(msgspec.Struct):
    items: list[Execution]
    page: int
    size: int
    total: int


async def execution_page(door: Queries, wanted: ExecutionFilter, page: int, size: int) -> ExecutionPage:
    """Costs the rows that fit and a fold of each on the page; where rows alone do not tell, a fold of each that may
    fit. `page` counts from 0."""
    listed = ExecutionPage([], page, size, 0)
    rows = _rows(door, wanted)
    if rows is None:
        return listed
    first = page * size
    if not wanted.looks_inside:
        listed.total = door.store.count_runs(rows)
        chosen = _ordered(door, rows, wanted.order, first + size)[first:] if first < listed.total else []
    else:
        chosen = []
        for number, row in enumerate(_ordered(door, rows, wanted.order, door.store.count_runs(rows))):
            if number % _SLICE == _SLICE - 1:
                await sleep(0)
            if _fits(door, row, wanted):
                if first <= listed.total < first + size:
                    chosen.append(row)
                listed.total += 1
    for row in chosen:
        listed.items.append(read_execution(door, row)[0])
        await sleep(0)
    return listed


def _rows(door: Queries, wanted: ExecutionFilter) -> RunFilter | None:
    """None: nothing can fit."""
    nets = tuple(_nets(door, wanted.pipeline))
    statuses = None
    if wanted.status:
        asked = {"FAILED" if status == "TIMEOUT" else status for status in wanted.status}
        statuses = tuple(number for number, name in enumerate(STATUS) if RUN.get(name) in asked)
    if not nets or statuses == ():
        return None
    return RunFilter(
        tenant=door.tenant, below=door.store.last_run() + 1, status=statuses, nets=nets, since=wanted.since,
        until=wanted.until, text=wanted.text, parent=wanted.parent,
    )  # fmt: skip


def _nets(door: Queries, code: str | None) -> Iterator[int]:
    for number, _, name, language in door.store.nets():
        if language == LANGUAGE and code in (None, name):
            yield number


def _ordered(door: Queries, rows: RunFilter, order: Order, most: int) -> list[RunRow]:
    if order == "newest":
        return door.store.find_runs(rows, most)
    ranked = door.store.ranked_runs(rows, Ranking(by="priority"), most, rows.below)
    return ranked[0]


def _fits(door: Queries, row: RunRow, wanted: ExecutionFilter) -> bool:
    if wanted.organization is None and wanted.file is None and STATUS[row.status] != "FAILED":
        return True
    state = door.reading(row).state
    options = state.options
    if wanted.organization is not None and options.get("organization_id") != wanted.organization:
        return False
    if wanted.file is not None and options.get("file_id") != wanted.file:
        return False
    if not wanted.status:
        return True
    most = int(about(door.nets.get(row.net).net).get("max_retries", 0))
    category = state.failure.category if state.failure is not None else None
    return execution_status(STATUS[row.status], category, most) in wanted.status
