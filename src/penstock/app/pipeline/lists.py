"""Pages of executions (F-6.1, F-X.22): the newest first, or in the order in which they are picked up (F-4.1)."""

from __future__ import annotations

from asyncio import sleep
from typing import Literal

import msgspec

from penstock.app.pipeline.executions import Execution, read_execution
from penstock.app.runs.queries import Queries
from penstock.dialects.pipeline.stage_rows import moment
from penstock.lang.pipeline.keys import number_of
from penstock.store.execution_lists import ExecutionWanted

#: the newest first; or by priority, then the oldest first
Order = Literal["newest", "queue"]


class ExecutionFilter(msgspec.Struct, kw_only=True, frozen=True):
    """`text` is a part of the file's key or of the code it failed with, the beginning of its id, or its trace id.
    `organization`: only of that one; `file`: only of that file asset."""

    status: tuple[str, ...] = ()
    pipeline: str | None = None
    organization: int | None = None
    file: int | None = None
    since: int | None = None
    until: int | None = None
    text: str = ""
    order: Order = "newest"


class ExecutionPage(msgspec.Struct):
    items: list[Execution]
    page: int
    size: int
    total: int


async def execution_page(door: Queries, wanted: ExecutionFilter, page: int, size: int) -> ExecutionPage:
    """Costs the rows that fit, and a fold of each on the page. `page` counts from 0."""
    rows = ExecutionWanted(
        tenant=door.tenant, status=wanted.status, organization=wanted.organization, file=wanted.file,
        pipeline=number_of(wanted.pipeline) if wanted.pipeline is not None else None,
        since=moment(wanted.since) if wanted.since is not None else None,
        until=moment(wanted.until) if wanted.until is not None else None,
        text=wanted.text, queue=wanted.order == "queue",
    )  # fmt: skip
    listed = ExecutionPage([], page, size, door.store.count_executions(rows))
    for id in door.store.find_executions(rows, page * size, size):
        listed.items.append(read_execution(door, door.row(id))[0])
        await sleep(0)
    return listed
