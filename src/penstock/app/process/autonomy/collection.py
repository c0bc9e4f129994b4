"""Reads the runs that have changed since the last time, and keeps what became of their agents' drafts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import msgspec

from penstock.app.process.autonomy.draft_reader import DraftReader
from penstock.app.runs.long.read_limits import LOOP_FACTS
from penstock.host.blobs import Blobs
from penstock.kernel import fact as F
from penstock.kernel.state import COMPLETED
from penstock.store.run_store import RunRow

if TYPE_CHECKING:
    from penstock.app.runs.queries import Queries

_PAGE = 100
#: a commit may come a little later than its time says: so much is read again, which changes nothing
_AGAIN_MS = 10_000


async def collect(door: Queries, turn: AsyncIterator[None]) -> int:
    """How many runs were read. `turn` lets others have theirs. Stopped in between, the next time begins where this one
    has, and reads the same again."""
    nets = agent_nets(door)
    mark = door.store.autonomy_mark(door.tenant)
    since, after, count = max(0, mark - _AGAIN_MS), (-1, 0), 0
    while nets:
        page = door.store.touched_runs(door.tenant, nets, since, after, _PAGE)
        for row in page:
            await _read(door, row, turn)
            count += 1
        if page:
            after = (page[-1].updated_at, page[-1].no)
            door.store.put_autonomy_mark(door.tenant, after[0])
        if len(page) < _PAGE:
            break
    return count


def agent_nets(door: Queries) -> list[int]:
    """Nets of the tenant's processes in which somebody may hand work to an agent."""
    rows = door.store.releases(door.tenant, kind="*")
    return sorted({row.net for row in rows if b'"agent' in row.document and _has_agent(row.document)})


def _has_agent(document: bytes) -> bool:
    activities = msgspec.json.decode(document).get("activities") or ()
    return any(each.get("agent") or each.get("agent_mode", "MANUAL") != "MANUAL" for each in activities)


async def _read(door: Queries, row: RunRow, turn: AsyncIterator[None]) -> None:
    reader, read = DraftReader(door.net_of, Blobs(door.store).of(row.tenant)), 0
    for page in door.store.journal(row.no):
        facts = F.decode_facts(page.body)
        read += len(facts)
        reader.turn(page.at, facts)
        if read > LOOP_FACTS:
            read = 0
            await anext(turn)
    cases = reader.cases(row, ended=row.status >= COMPLETED)
    door.store.put_autonomy_cases(row.tenant, row.no, cases)
    await anext(turn)


async def every_turn() -> AsyncIterator[None]:
    """Others have their turn between two of its values."""
    import asyncio

    while True:
        await asyncio.sleep(0)
        yield
