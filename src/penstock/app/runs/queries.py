"""Queries: everything that can be read from a store without driving it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from penstock.app.runs.long.read_limits import is_long
from penstock.app.runs.long.slices import in_slices
from penstock.app.runs.reading import RunReading
from penstock.app.runs.run_view import RunFold, RunView, run_word
from penstock.dialects.projection import rows_of
from penstock.errors import BadInput, Refused, RunAmbiguous, RunNotFound
from penstock.host.blobs import Blobs
from penstock.host.clock import SystemClock
from penstock.host.nets import Nets
from penstock.kernel import fact as F
from penstock.kernel.fact_lines import FactLine
from penstock.kernel.state import COMPLETED, STATUS, State, encode_state
from penstock.net.compiled import Compiled
from penstock.store.address import DEFAULT_TENANT, open_store
from penstock.store.contract import Store
from penstock.store.run_store import Batch, JournalRow, RunRow

if TYPE_CHECKING:
    import asyncio

if TYPE_CHECKING:  # what looking at a run does not need is imported by those who ask for it: a command is quick
    from penstock.app.drawing.kept_overlays import KeptOverlays
    from penstock.app.runs.timeline.timeline import Timeline
    from penstock.app.runs.timeline.tokens import TokenRecord
    from penstock.app.runs.waiting.breakers import Breaker
    from penstock.dialects.token_events import Event
    from penstock.dialects.transitions import Transition
    from penstock.host.embedded import Host


class RunStatus(NamedTuple):
    """`status` in the words of the run's language, `state` in those of the kernel."""

    run: str
    status: str
    state: str


class OpenStore:
    """An open store, its compiled nets, and the host where this process drives it. Tenants' doors share it."""

    def __init__(self) -> None:
        self.store: Store | None = None
        self.nets: Nets | None = None
        self.host: Host | None = None
        self.watched: dict[int, RunFold] = {}  # runs that somebody watches; folded further when they are looked at
        self.listeners: list[Callable[[str, list[FactLine]], None]] = []
        self.keep_fold: Callable[[int, RunFold], None] | None = None  # where folds are kept for who asks next
        self.kept_overlays: KeptOverlays | None = None  # for looks into the past
        self._folding: asyncio.Lock | None = None
        self.parked: dict[tuple[int, int], tuple[str, int | None]] = {}  # effects that wait, where another has told

    @property
    def folding(self) -> asyncio.Lock:
        """Of what is folded in slices; commands that only look do not need it, nor what it takes to make it."""
        if self._folding is None:
            from asyncio import Lock

            self._folding = Lock()
        return self._folding

    def opened(self) -> Store:
        if self.store is None:
            raise Refused(why="the store is not open; use `async with Penstock(...)`")
        return self.store

    def now(self) -> int:
        return SystemClock().now()

    def settings(self) -> dict[str, Any]:
        return {}

    def catch_up(self, no: int) -> RunFold | None:
        """The fold of a run that somebody watches, up to its last turn; the listeners hear what is new."""
        fold = self.watched.get(no)
        for turn in list(self.opened().journal(no, fold.reader.st.n)) if fold is not None else ():
            if fold is not None and turn.seq_from > fold.reader.st.n:  # else a listener has asked for it meanwhile
                lines = fold.turn(turn.at, F.decode_facts(turn.body))
                for listen in self.listeners:
                    listen(fold.reader.st.run, lines)
        return fold

    def close(self) -> None:
        if self.store is not None:
            self.store.close()
            self.store = None


class Queries:
    """Reads the runs of one tenant from an open store; runs of other tenants are not found (C-78)."""

    def __init__(self, tenant: str, held: OpenStore) -> None:
        check_tenant_name(tenant)
        self.tenant, self._held = tenant, held

    @property
    def store(self) -> Store:
        return self._held.opened()

    @property
    def settings(self) -> Mapping[str, Any]:
        """Those of the machine, by their dotted names."""
        return self._held.settings()

    @property
    def host_here(self) -> Host | None:
        return self._held.host  # None: another process drives the store, or nobody does

    @property
    def kept_overlays(self) -> KeptOverlays | None:
        """Where a process keeps what it has folded for looks into the past; None: it keeps nothing."""
        return self._held.kept_overlays

    @property
    def parked_elsewhere(self) -> dict[tuple[int, int], tuple[str, int | None]]:
        """Effects that wait in the process that drives, by run and firing, as it has told."""
        return self._held.parked

    @property
    def nets(self) -> Nets:
        assert self._held.nets is not None, "an open store has its nets"
        return self._held.nets

    def now(self) -> int:
        """Milliseconds since 1970, by the clock of whoever drives here."""
        return self._held.now()

    def row(self, run: str) -> RunRow:
        """By id, by key, or by a beginning of the id that no other run has."""
        try:
            by_id = self.store.run_by_id(run, tenant=self.tenant)
        except (RunNotFound, RunAmbiguous):
            named = self.store.run_by_key(self.tenant, run)
            if named is None:
                raise
            return named
        return by_id if by_id.id == run else self.store.run_by_key(self.tenant, run) or by_id

    def input_of(self, row: RunRow) -> Any:
        """What a run was started with: its first fact says it."""
        for turn in self.store.journal(row.no):
            return F.fields_of(F.decode_facts(turn.body)[0])["input"]
        return None

    def reading(self, run: str | RunRow, turns: list[JournalRow] | None = None) -> RunReading:
        """A run to be read: by its name (id, key, beginning of the id), or by its row where that is in hand; `turns`
        are those after its checkpoint, where the store has just loaded them."""
        row = self.row(run) if isinstance(run, str) else run
        live = self._held.catch_up(row.no)
        known = live if live is not None and live.reader.net is not None else None
        return RunReading(self.store, self.nets, row, turns, known, self._held.keep_fold)

    async def reading_ahead(self, run: str | RunRow) -> RunReading:
        """The same, where the whole journal is needed: a long one is folded in slices before it is handed over."""
        reading = self.reading(run)
        row = reading.row
        if not is_long(self.store, row):
            return reading
        fold = RunFold(self.net_of, reading.resolve)
        turns = self.store.journal(row.no)
        await in_slices(self._held.folding, turns, lambda turn: fold.turn(turn.at, F.decode_facts(turn.body)))
        now = self.row(row.id)  # it may have gone on meanwhile
        for turn in self.store.journal(row.no, fold.reader.st.n):
            fold.turn(turn.at, F.decode_facts(turn.body))
        return RunReading(self.store, self.nets, now, None, fold)

    async def fold_in_slices(self, turns: Iterable[JournalRow], take: Callable[[JournalRow], object]) -> None:
        """For whoever folds turns in their own way."""
        await in_slices(self._held.folding, turns, take)

    def fold(self, row: RunRow) -> RunFold:
        """Every fact of a run as a line, with its firings, attempts and prompts. Costs its whole journal."""
        return self.reading(row).fold

    def view(self, run: str) -> RunView:
        """A run's status, firings and results in its language's words. One that only calls runs that wait is waiting,
        too, for what they wait for."""
        return self.view_of(self.reading(run))

    def view_of(self, reading: RunReading) -> RunView:
        """The same of a run that is in hand."""
        view = reading.fold.view()
        view.key = reading.row.key
        calls, only = reading.fold.calls()
        if not calls:
            return view
        from penstock.host.children import child_id

        called = [self.view(id) for id in (child_id(key) for key in calls) if self._known(id)]
        view.waiting += [replace(wait, run=wait.run or child.run_id) for child in called for wait in child.waiting]
        if only and len(called) == len(calls) and all(waits_for_outside(child) for child in called):
            view.status, view.internal_status = reading.fold.word("WAITING"), "WAITING"
        return view

    def status(self, run: str) -> RunStatus:
        """A run's status alone. Costs one read; a short run that may wait for runs that it has called is folded."""
        row = self.row(run)
        net = self.nets.get(row.net)
        if row.status < COMPLETED and any(node.calls for node in net.nodes) and not is_long(self.store, row):
            view = self.view_of(self.reading(row))
            return RunStatus(row.id, view.status, view.internal_status)
        state = STATUS[row.status]
        return RunStatus(row.id, run_word(net.net.language, state), state)

    def _known(self, run: str) -> bool:
        try:
            return self.row(run).id == run
        except RunNotFound:
            return False

    def hash_of(self, net: int) -> str:
        """The content hash of a net by its number."""
        known = self.nets.by_number.get(net)
        return self.store.net(net).hash if known is None else known.hash

    def net_of(self, hash_: str) -> Compiled:
        known = self.nets.by_hash(hash_)
        assert known is not None, "a run's net is in its store"
        return known[1]

    def timeline(self, run: str | RunReading) -> Timeline:
        """What happened in a run, from its first fact on; the journal is read once."""
        from penstock.app.runs.timeline.timeline import Timeline

        return Timeline(self.reading(run) if isinstance(run, str) else run, self.net_of)

    def lines(self, run: str) -> list[FactLine]:
        """Every fact of a run, as people read it."""
        return list(self.timeline(run).lines())

    def turns(self, run: str) -> list[list[FactLine]]:
        """The same, turn by turn: what was committed at once."""
        return [turn.lines for turn in self.timeline(run).turns()]

    def end_of_turn(self, run: str, fact: int) -> tuple[int, int, int]:
        """The turn that holds a fact: its number, its first fact and its last."""
        return self.timeline(run).turn_of(fact)

    def events(self, run: str, *, after: int = 0, most: int | None = None) -> list[Event]:
        """What subscribers are told (D-X.22), in order; those after a number, and so many at most."""
        return self.timeline(run).events(after, most)

    def history(self, run: str) -> list[Transition]:
        """Every transition of a run, of its nodes and its approvals (W-2.2.5), oldest first."""
        return self.timeline(run).history()

    def tokens(self, run: str, *, edge: str | None = None, epoch: int | None = None) -> list[TokenRecord]:
        """Every token that was ever put, with its envelope; of one edge or one epoch if asked for."""
        tokens = self.timeline(run).tokens()
        return [token for token in tokens if edge in (None, token.edge) and epoch in (None, token.epoch)]

    def state_at(self, run: str, fact: int | None = None) -> State:
        """The state folded from the first `fact` facts; all of them by default."""
        return self.timeline(run).state_at(fact)

    def state_bytes(self, run: str, fact: int | None = None) -> bytes:
        return encode_state(self.state_at(run, fact))

    def runs(self, *, limit: int = 50, open_only: bool = False) -> list[RunRow]:
        return self.store.runs(status=range(COMPLETED) if open_only else None, limit=limit, tenant=self.tenant)

    def breakers(self) -> list[Breaker]:
        """The circuit breakers of the tenant, as the store has them."""
        from penstock.app.runs.waiting.breakers import breakers

        return breakers(self.store, self.tenant)

    def rebuild(self) -> int:
        """Drop every projection and fold it again from the journal."""
        blobs = Blobs(self.store)

        def project(row: RunRow, journal: Any, batch: Batch) -> None:
            rows_of(row, journal, batch, self.net_of, blobs.of(row.tenant))

        return self.store.rebuild(project)


def check_tenant_name(name: str) -> None:
    """What is kept under TENANT/NAME must be one tenant's and one name. Raises BadInput."""
    if not name or "/" in name or not name.isprintable():
        why = "it is not empty, has no slash, and nothing that cannot be seen"
        raise BadInput(what=f"the name of the tenant «{name}»", why=why, hint="Letters, digits, «-» and «_» will do.")


class StoreReader(Queries):
    """A store opened for reading only: no lock is taken, and no store is made where there is none."""

    def __init__(self, store: Path, tenant: str = DEFAULT_TENANT) -> None:
        super().__init__(tenant, OpenStore())
        self._held.store = open_store(store, engine=False, create=False)
        self._held.nets = Nets(self._held.store)

    def close(self) -> None:
        self._held.close()


def waits_for_outside(view: RunView) -> bool:
    """Can only a person, a signal, an operator or a worker outside move this run on? Time passes by itself."""
    if view.paused:
        return not view.in_flight  # what has been asked is answered first
    workers = sum(waiting.for_ == "worker" for waiting in view.waiting)
    if view.internal_status == "RUNNING" and workers:
        return workers == view.in_flight
    return view.internal_status == "WAITING" and any(w.for_ != "time" for w in view.waiting)
