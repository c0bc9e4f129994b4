"""Pages of executions (F-6.1, F-X.22): the newest first, or in the order in which they are picked up (F-4.1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec

from penstock.app.pipeline.executions import Execution, read_execution
from penstock.app.runs.queries import Queries
from penstock.app.runs.waiting.environment import read_environment
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
    from asyncio import sleep  # commands that only look do not need it

    listed = ExecutionPage([], page, size, door.store.count_executions(_rows(door, wanted)))
    for look in executions(door, wanted, page * size, size):
        listed.items.append(look)
        await sleep(0)
    return listed


def executions(door: Queries, wanted: ExecutionFilter, skip: int, limit: int) -> Iterator[Execution]:
    """Each is folded when it is taken."""
    ids = door.store.find_executions(_rows(door, wanted), skip, limit)
    environment = read_environment(door)
    return (read_execution(door, door.row(id), environment)[0] for id in ids)


def _rows(door: Queries, wanted: ExecutionFilter) -> ExecutionWanted:
    return ExecutionWanted(
        tenant=door.tenant, status=wanted.status, organization=wanted.organization, file=wanted.file,
        pipeline=number_of(wanted.pipeline) if wanted.pipeline is not None else None,
        since=moment(wanted.since) if wanted.since is not None else None,
        until=moment(wanted.until) if wanted.until is not None else None,
        text=wanted.text, queue=wanted.order == "queue",
    )  # fmt: skip
