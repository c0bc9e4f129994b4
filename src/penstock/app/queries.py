"""Looking: everything that can be read from a store without driving it."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from penstock.app.events import Event, Teller
from penstock.app.look import Look, Watcher, watch
from penstock.app.tokens import Token, tokens_of
from penstock.errors import BadInput, Refused, RunAmbiguous, RunNotFound
from penstock.host.blobs import Blobs
from penstock.host.children import child_id
from penstock.host.nets import Nets
from penstock.kernel import fact as F
from penstock.kernel.reading import Line
from penstock.kernel.replay import fold_to
from penstock.kernel.state import COMPLETED, State, encode_state
from penstock.net.compiled import Compiled
from penstock.store.contract import Batch, RunRow, Store
from penstock.store.projection import rows_of
from penstock.store.sqlite import Sqlite


class Queries:
    """What an open store tells about its runs."""

    def __init__(self, tenant: str) -> None:
        self.tenant = tenant
        self._store: Sqlite | None = None
        self._nets: Nets | None = None
        self._watchers: dict[int, Watcher] = {}

    @property
    def store(self) -> Store:
        if self._store is None:
            raise Refused(why="the store is not open; use `async with Penstock(...)`")
        return self._store

    def row(self, run: str) -> RunRow:
        """By id, by key, or by a beginning of the id that no other run has."""
        try:
            found = self.store.run_by_id(run)
        except (RunNotFound, RunAmbiguous):
            named = self.store.run_by_key(self.tenant, run)
            if named is None:
                raise
            return named
        return found if found.id == run else self.store.run_by_key(self.tenant, run) or found

    def input_of(self, row: RunRow) -> Any:
        """What a run was started with: its first fact says it."""
        for turn in self.store.journal(row.no):
            return F.fields_of(F.decode_facts(turn.body)[0])["input"]
        return None

    def look(self, run: str) -> Look:
        """The run as people see it. One that only calls runs that wait is waiting too, for what they wait for."""
        watcher = self.watcher(self.row(run))
        look = watcher.look()
        calls, only = watcher.calls()
        called = [self.look(id) for id in (child_id(key) for key in calls) if self._known(id)]
        look.waiting += [replace(w, run=w.run or one.run_id) for one in called for w in one.waiting]
        if calls and only and len(called) == len(calls) and all(waits_for_outside(one) for one in called):
            look.status, look.internal_status = watcher.word("WAITING"), "WAITING"
        return look

    def _known(self, run: str) -> bool:
        try:
            return self.row(run).id == run
        except RunNotFound:
            return False

    def watcher(self, row: RunRow) -> Watcher:
        held = self._watchers.get(row.no)
        if held is not None and held.reader.net is not None:
            return held
        found = watch(self.net_of, self.store.journal(row.no), Blobs(self.store).resolve)
        if found.reader.net is None:  # accepted, and its first turn is still to come: PENDING (D-X.8)
            assert self._nets is not None
            found.reader.net, found.reader.st.run = self._nets.get(row.net), row.id
        return found

    def net_of(self, hash_: str) -> Compiled:
        assert self._nets is not None
        found = self._nets.by_hash(hash_)
        assert found is not None, "a run's net is in its store"
        return found[1]

    def lines(self, run: str) -> list[Line]:
        """Every fact of a run, as people read it."""
        row = self.row(run)
        watcher = Watcher(self.net_of)
        return [
            line for turn in self.store.journal(row.no) for line in watcher.turn(turn.at, F.decode_facts(turn.body))
        ]

    def events(self, run: str, *, after: int = 0) -> list[Event]:
        """What subscribers are told (D-X.22), in order."""
        row = self.row(run)
        teller = Teller(self.net_of, row.id)
        return [e for turn in self.store.journal(row.no) for e in teller.turn(turn) if e.seq > after]

    def tokens(self, run: str, *, edge: str | None = None, epoch: int | None = None) -> list[Token]:
        """Every token that was ever put, with its envelope; of one edge or one epoch if asked for."""
        journal = self.store.journal(self.row(run).no)
        found = tokens_of(self.net_of, journal, Blobs(self.store).resolve)
        return [t for t in found if edge in (None, t.edge) and epoch in (None, t.epoch)]

    def state_at(self, run: str, fact: int | None = None) -> State:
        """The state folded from the first `fact` facts; all of them by default."""
        row = self.row(run)
        turns = [(t.at, F.decode_facts(t.body)) for t in self.store.journal(row.no)]
        total = sum(len(facts) for _, facts in turns)
        last = total if fact is None else fact
        if not 1 <= last <= total:
            raise BadInput(what="the fact number", why=f"the run has facts 1 to {total}")
        return fold_to(turns, last)  # type: ignore[arg-type]

    def state_bytes(self, run: str, fact: int | None = None) -> bytes:
        return encode_state(self.state_at(run, fact))

    def runs(self, *, limit: int = 50, open_only: bool = False) -> list[RunRow]:
        return self.store.runs(status=range(COMPLETED) if open_only else None, limit=limit)

    def rebuild(self) -> int:
        """Drop every projection and fold it again from the journal."""

        def project(row: RunRow, journal: Any, batch: Batch) -> None:
            rows_of(row, journal, batch)

        return self.store.rebuild(project)


def waits_for_outside(look: Look) -> bool:
    """Can only a person, a signal or an operator move this run on? A pure wait for time goes on by itself."""
    if look.paused:
        return not look.in_flight  # what has been asked is answered first
    return look.internal_status == "WAITING" and any(w.for_ != "time" for w in look.waiting)
