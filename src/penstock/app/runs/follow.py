"""Following runs: waiting for them, hearing what happens in them turn by turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from penstock.app.engine import Engine
from penstock.app.runs.queries import Queries, waits_for_outside
from penstock.app.runs.run_view import RunFold, RunView, fold_journal
from penstock.app.runs.timeline.events import EventPage, EventReader
from penstock.dialects.token_events import Event
from penstock.errors import RunNotFound
from penstock.host.blobs import Blobs
from penstock.kernel import fact as F
from penstock.kernel.fact_lines import FactLine
from penstock.kernel.state import COMPLETED, STATUS
from penstock.store.run_store import RunRow

#: so many facts are told before others have their turn
SLICE = 500


class RunFollower:
    """Of the runs of one door; what they do is told by the engine."""

    def __init__(self, engine: Engine, door: Queries) -> None:
        self.engine, self.door = engine, door

    async def wait(self, run: str, timeout: float | None, until_waiting: bool) -> RunView:
        row = self.door.row(run)

        async def settled() -> RunView:
            while True:
                future = self.engine.next_turn(row.id)
                try:
                    view = None if self.engine.goes_on(row.no) else self.door.view(row.id)
                except RunNotFound:
                    view = None
                if view is not None and (
                    view.internal_status in STATUS[COMPLETED:] or until_waiting and waits_for_outside(view)
                ):
                    self.engine.not_any_more(row.id, future)
                    return view
                self.engine.raise_if_stopped()
                await future

        return await asyncio.wait_for(settled(), timeout)

    async def subscribe(
        self, run: str, after: int = 0, pages: Callable[[int], Awaitable[EventPage]] | None = None
    ) -> AsyncIterator[Event]:
        """Those with a number above `after`; numbers count events, so all before are folded, but not handed over. Of a
        long run somebody else folds them, and hands over `pages`."""
        row = self.door.row(run)
        if pages is not None:
            async for event in self._paged(row, after, pages):
                yield event
            return
        reader, told = EventReader(self.door.net_of, row.id), 0
        while True:
            future = self.engine.next_turn(row.id)
            ended = self.door.row(row.id).status >= COMPLETED  # asked first: what it ended with is in the journal then
            since = told
            for turn in self.door.store.journal(row.no, told):
                if turn.seq_from - since > SLICE:  # others have their turn, too
                    await asyncio.sleep(0)
                    since = turn.seq_from
                told = turn.seq_to
                for event in reader.turn(turn.at, F.decode_facts(turn.body)):
                    if event.seq > after:
                        yield event
            if ended:
                return
            await future

    async def _paged(
        self, row: RunRow, after: int, pages: Callable[[int], Awaitable[EventPage]]
    ) -> AsyncIterator[Event]:
        while True:
            future = self.engine.next_turn(row.id)
            ended = self.door.row(row.id).status >= COMPLETED
            more = True
            while more:
                page = await pages(after)
                more = page.more
                for event in page.items:
                    after = event.seq
                    yield event
            if ended:
                return
            await future

    def watch_live(self, run: str) -> RunFold:
        row, store = self.door.row(run), self.door.store
        fold = self.engine.catch_up(row.no)
        if fold is None:
            fold = fold_journal(self.door.net_of, store.journal(row.no), Blobs(store).of(row.tenant))
            self.engine.watched[row.no] = fold
        return fold

    def listen(self, tell: Callable[[str, list[FactLine]], None]) -> None:
        self.engine.listeners.append(tell)

    def catch_up(self, run: str) -> None:
        self.watch_live(run)
