"""Penstock: the one door. Release, start, signal, respond, wait, look; the command line and the servers come through here."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from penstock.app.events import Event, events_of
from penstock.app.look import Look, Watcher, watch
from penstock.app.tokens import Token, tokens_of
from penstock.errors import (
    BadInput,
    DocumentTooLarge,
    Finding,
    KeyConflict,
    NodeNotFound,
    PenstockError,
    Refused,
    RunNotFound,
    StatusConflict,
    StoreBusy,
)
from penstock.executors import BUILTIN
from penstock.executors.contract import Executor
from penstock.executors.function import FunctionExecutor
from penstock.executors.handler import load_handlers
from penstock.host.blobs import Blobs
from penstock.host.clock import SystemClock
from penstock.host.embedded import CALLED, Host, child_id
from penstock.host.nets import Nets
from penstock.host.turn import Live
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.reading import Line
from penstock.kernel.replay import fold_to
from penstock.kernel.state import COMPLETED, RUNNING, STATUS, State, encode_state
from penstock.lang.compile import check_document, compile_document
from penstock.lang.contract import Compiled as Document
from penstock.lang.diagram.nodes import handler_type
from penstock.lang.read import LIMIT
from penstock.net.compiled import Compiled
from penstock.net.model import Net
from penstock.store.contract import Batch, RunRow, Store
from penstock.store.projection import rows_of
from penstock.store.sqlite import Sqlite

Fn = TypeVar("Fn", bound=Callable[..., Any])
DEFAULT_STORE = ".penstock/penstock.db"


class Release(msgspec.Struct, frozen=True):
    """A document that can be run."""

    name: str
    language: str
    hash: str
    findings: list[Any] = []


class Penstock:
    """One store and, while it is open, the engine that drives its runs.

    `drive=False` opens the store for looking and for leaving commands to the process that drives it. `alone` drives only the
    runs that are started, asked for with `go_on` or sent a command here; the others in the store stay as they are.
    """

    def __init__(
        self,
        store: str | Path = DEFAULT_STORE,
        *,
        drive: bool = True,
        output_dir: str | Path | None = None,
        input_dir: str | Path | None = None,
        settings: Mapping[str, Any] | None = None,
        tenant: str = "default",
        recover: bool = True,
        alone: bool = False,
        grow_mb: int = 0,
        create: bool = True,
    ) -> None:
        self.path = Path(store)
        self.tenant = tenant
        self._drive, self._recover, self._alone = drive, recover and not alone, alone
        self._executors: dict[str, Executor] = {}
        self._settings = dict(settings or {})
        self._output_dir = Path(output_dir) if output_dir is not None else self.path.parent / "output"
        self._input_dir = Path(input_dir) if input_dir is not None else Path()
        self._grow_mb, self._create = grow_mb, create
        self._store: Sqlite | None = None
        self._host: Host | None = None
        self._nets: Nets | None = None
        self._task: asyncio.Task[None] | None = None
        self._waiters: dict[str, list[asyncio.Future[None]]] = {}
        self._listeners: list[Callable[[str, list[Line]], None]] = []
        self._watchers: dict[int, Watcher] = {}

    # -- opening and closing -------------------------------------------------------------------------------------------

    def open(self) -> Penstock:
        """Open the store. Needed only without `async with`; `run` must then be awaited by the caller."""
        self._store = Sqlite(self.path, engine=self._drive, grow_mb=self._grow_mb, create=self._create)
        if self._drive:
            self._host = Host(
                self._store, _Shelf(self._executors), output_dir=self._output_dir, input_dir=self._input_dir, settings=self._settings,
                alone=self._alone,
            )  # fmt: skip
            self._nets = self._host.nets
            self._host.turns.on_facts.append(self._on_facts)
            self._host.turns.on_end.append(lambda live: self._wake(live.id))
        else:
            self._nets = Nets(self._store)
        return self

    async def __aenter__(self) -> Penstock:
        self.open()
        if self._host is not None:
            if self._recover:
                self._host.recover()
            self._task = asyncio.ensure_future(self._host.run())
            self._task.add_done_callback(self._engine_ended)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        if self._host is not None:
            await self._host.close()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
        self.close()

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None

    def _engine_ended(self, task: asyncio.Task[None]) -> None:
        """The engine has stopped by an error: everybody who waits hears of it."""
        error = None if task.cancelled() else task.exception()
        if error is not None:
            for waiters in self._waiters.values():
                for one in waiters:
                    if not one.done():
                        one.set_exception(error)

    def raise_if_stopped(self) -> None:
        """Raises what has stopped the engine, if something has."""
        if self._task is not None and self._task.done():
            self._task.result()

    @property
    def store(self) -> Store:
        if self._store is None:
            raise Refused(why="the store is not open; use `async with Penstock(...)`")
        return self._store

    @property
    def host(self) -> Host:
        if self._host is None:
            raise StoreBusy
        return self._host

    # -- executors -----------------------------------------------------------------------------------------------------

    def executor(self, name: str | None = None, *, inline: bool = False) -> Callable[[Fn], Fn]:
        """A decorated function becomes an executor that nets may name."""

        def register(fn: Fn) -> Fn:
            called: str = name or str(getattr(fn, "__name__", "function"))
            self._executors[called] = FunctionExecutor(called, fn, inline)
            return fn

        return register

    def add_executor(self, executor: Executor) -> None:
        self._executors[executor.name] = executor

    # -- releasing and starting ----------------------------------------------------------------------------------------

    def release(self, document: str | Path | bytes | Net, *, name: str | None = None) -> Release:
        """Compile a document (a path, its bytes, or a net) and keep it. Raises DocumentInvalid with all findings."""
        if isinstance(document, Net):
            self._release(document, None)
            return Release(document.name, document.language, Compiled(document).hash)
        return self.keep(*self.compile(document, name=name))

    def keep(self, compiled: Document, source: bytes | None = None) -> Release:
        """Release a document that is compiled already."""
        for child in compiled.children.values():
            self._release(child, None)
        self._release(compiled.net, source)
        return Release(compiled.net.name, compiled.language, Compiled(compiled.net).hash, list(compiled.findings))

    def compile(self, document: str | Path | bytes, *, name: str | None = None) -> tuple[Document, bytes]:
        return compile_source(document, name=name)

    def _release(self, net: Net, source: bytes | None) -> int:
        assert self._nets is not None
        return self._nets.release(net, source, SystemClock().now())

    def start(
        self, release: Release | str, input: Any = None, *, key: str | None = None, max_concurrent: int | None = None, priority: int = 1000
    ) -> str:  # fmt: skip
        """Start a run; its id. The same key again is the same run."""
        assert self._nets is not None
        hash_ = release.hash if isinstance(release, Release) else release
        found = self._nets.by_hash(hash_)
        if found is None:
            raise BadInput(what="the release", why=f"no net has the hash {hash_}")
        options: dict[str, Any] = {}
        if max_concurrent is not None:
            if max_concurrent < 1:
                raise BadInput(what="max_concurrent", why="at least one node must be able to run")
            options["limits"] = dict.fromkeys(found[1].limits or ("diagram",), max_concurrent)
        try:
            msgspec.msgpack.encode(input)
        except (TypeError, OverflowError, ValueError, RecursionError) as error:
            raise BadInput(what="the input", why=str(error)) from error
        if key is not None:
            known = self._by_key(key)
            if known is not None:
                id, net, given = known
                if net != found[0] or input is not None and input != given:
                    raise KeyConflict(key=key, run=id)
                return id
        return self.host.start(found[0], input, key=key, tenant=self.tenant, options=options, priority=priority)

    def _by_key(self, key: str) -> tuple[str, int, Any] | None:
        """The run with this key, its net and its input; it may have been started so lately that no row has it yet."""
        live = self._host.turns.starting.get((self.tenant, key)) if self._host is not None else None
        if live is not None:
            return live.id, live.net_no, live.commands[0][6]
        row = self.store.run_by_key(self.tenant, key)
        return None if row is None else (row.id, row.net, self.input_of(row))

    def input_of(self, row: RunRow) -> Any:
        """What a run was started with: its first fact says it."""
        for turn in self.store.journal(row.no):
            return F.fields_of(F.decode_facts(turn.body)[0])["input"]
        return None

    def go_on(self, run: str) -> str:
        """Drive a run of the store here, after a crash too, from the one at the top of those that call it; the top one's id."""
        row = self.row(run)
        while row.parent and row.id.startswith(CALLED):
            row = self.row(row.parent)
        if row.status < COMPLETED:
            self.host.go_on(row.no)
        return row.id

    # -- commands ------------------------------------------------------------------------------------------------------

    async def signal(self, run: str, name: str, payload: Any = None, *, id: str = "") -> None:
        await self.command(run, C.signal(id, name, payload))

    async def respond(self, run: str, node: str, value: Any, *, by: str | None = None) -> None:
        """Answer a waiting user_response, or give a firing that waits for an operator its result."""
        row = self.row(run)
        watcher = self.watcher(row)
        st, net = watcher.reader.st, watcher.reader.net
        assert net is not None
        found = net.by_id.get(node)
        if found is None:
            raise NodeNotFound(node=node, what="")
        for no, firing in st.firings.items():
            if firing.node == found.no and no in st.items:
                return await self.command(run, C.work(no, "submit", by, value))
            if firing.node == found.no and firing.blocked:
                return await self.command(run, C.resolve(no, value))
        seen = any(one.node == node for one in watcher.firings)
        raise StatusConflict(what=f"node «{node}»", status="answered" if seen else "not waiting", verb="respond", allowed="a node that waits for an answer")

    async def cancel(self, run: str, *, mode: str = "now") -> None:
        """End a run. `now` takes what it has called with it, also when nobody drives it at the moment."""
        calls, _ = self.watcher(self.row(run)).calls()
        await self.command(run, C.cancel(mode))
        for id in (child_id(key) for key in calls if mode == "now"):
            if self._known(id) and self.row(id).status < COMPLETED:
                with contextlib.suppress(Refused):
                    await self.cancel(id)

    async def pause(self, run: str) -> None:
        await self.command(run, C.pause())

    async def resume(self, run: str) -> None:
        await self.command(run, C.resume())

    async def retry(self, run: str, *, how: str = "here") -> None:
        await self.command(run, C.retry(how))

    async def command(self, run: str, command: C.Command) -> None:
        """Send any command of the kernel and wait until it is committed. Raises when it is refused."""
        row = self.row(run)
        if self._host is not None:
            await self._or_engine_error(self._host.ask(row.no, command))
            return
        body = msgspec.msgpack.encode(command)
        number = self.store.put_inbox(row.no, body, SystemClock().now())
        if not await self.answered(number):
            raise StoreBusy(inbox=number)

    async def _or_engine_error(self, work: Coroutine[Any, Any, None]) -> None:
        """Await something of the engine; if the engine stops before, its error."""
        asked = asyncio.ensure_future(work)
        await asyncio.wait({asked, self._task} if self._task is not None else {asked}, return_when=asyncio.FIRST_COMPLETED)
        if not asked.done() and self._task is not None:
            asked.cancel()
            self._task.result()
            raise Refused(why="the engine is closed")
        asked.result()

    async def answered(self, number: int, patience_s: float = 10) -> bool:
        """Has whoever drives the store done what was left in its inbox? Raises when it was refused."""
        for _ in range(int(patience_s / 0.05)):
            answer = self.store.inbox_answer(number)
            if answer is not None:
                said = msgspec.msgpack.decode(answer)
                if "code" in said:
                    raise Refused(why=said["message"])
                return True
            await asyncio.sleep(0.05)
        return False

    # -- waiting and looking -------------------------------------------------------------------------------------------

    async def wait(self, run: str, *, timeout: float | None = None, until_waiting: bool = False) -> Look:
        """Until the run has ended; with `until_waiting` also when only a person or a signal can move it on."""
        row = self.row(run)
        row_id = row.id

        async def settled() -> Look:
            while True:
                future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                self._waiters.setdefault(row_id, []).append(future)
                try:
                    look = None if self._goes_on(row.no) else self.look(row_id)
                except RunNotFound:
                    look = None
                if look is not None and (look.internal_status in STATUS[COMPLETED:] or until_waiting and waits_for_outside(look)):
                    self._waiters[row_id].remove(future)
                    return look
                self.raise_if_stopped()
                await future

        return await asyncio.wait_for(settled(), timeout)

    def _goes_on(self, no: int) -> bool:
        """Is it plain that the run is neither at its end nor at rest? Asked on every turn, so nothing is folded for it."""
        live = self._host.turns.runs.get(no) if self._host is not None else None
        if live is None or live.run is None:
            return False
        st = live.run.st
        return st.status == RUNNING and not st.paused and not any(n.spec.kind == "call" for n in live.run.net.nodes)

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

    def row(self, run: str) -> RunRow:
        """By id, by a beginning of it that no other run has, or by key."""
        try:
            return self.store.run_by_id(run)
        except RunNotFound:
            named = self.store.run_by_key(self.tenant, run)
            if named is not None:
                return named
            if self._host is not None:
                for live in self._host.turns.runs.values():
                    if live.id == run and not live.row:
                        return RunRow(live.no, live.id, live.tenant, live.net_no, live.key, 0, live.priority, 0, 0, None, None, 0, None)
            raise

    def _full_id(self, run: str) -> str:
        return self.row(run).id

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

    def watch_live(self, run: str) -> Watcher:
        """A watcher that is kept up to date as the run goes on in this process."""
        row = self.row(run)
        held = self._watchers.get(row.no)
        if held is None:
            held = self._watchers[row.no] = watch(self.net_of, self.store.journal(row.no), Blobs(self.store).resolve)
        return held

    def listen(self, tell: Callable[[str, list[Line]], None]) -> None:
        """Be told what happens in the runs that `watch_live` was asked for, turn by turn."""
        self._listeners.append(tell)

    def _on_facts(self, live: Live, facts: list[F.Fact], _n: int, now: int) -> None:
        watcher = self._watchers.get(live.no)
        if watcher is not None:
            lines = watcher.turn(now, facts)
            for listen in self._listeners:
                listen(live.id, lines)
        self._wake_all(live)

    def _wake_all(self, live: Live) -> None:
        """Those who wait for a run also wait for what it calls."""
        self._wake(live.id)
        for ask in self.host.parents.get(live.id, ()):
            self._wake_all(ask.live)

    def _wake(self, run_id: str) -> None:
        for future in self._waiters.pop(run_id, ()):
            if not future.done():
                future.set_result(None)

    def lines(self, run: str) -> list[Line]:
        """Every fact of a run, as people read it."""
        row = self.row(run)
        watcher = Watcher(self.net_of)
        return [line for turn in self.store.journal(row.no) for line in watcher.turn(turn.at, F.decode_facts(turn.body))]

    def events(self, run: str, *, after: int = 0) -> list[Event]:
        """What subscribers are told (D-X.22), in order."""
        row = self.row(run)
        return [e for e in events_of(self.net_of, row.id, self.store.journal(row.no)) if e.seq > after]

    def tokens(self, run: str, *, edge: str | None = None, epoch: int | None = None) -> list[Token]:
        """Every token that was ever put, with its envelope; of one edge or one epoch if asked for."""
        journal = self.store.journal(self.row(run).no)
        found = tokens_of(self.net_of, journal, Blobs(self.store).resolve)
        return [t for t in found if edge in (None, t.edge) and epoch in (None, t.epoch)]

    async def subscribe(self, run: str) -> AsyncIterator[Event]:
        """Events as they happen, from the first one on, until the run has ended."""
        row_id, told = self._full_id(run), 0
        while True:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.setdefault(row_id, []).append(future)
            for event in self.events(row_id, after=told):
                told = event.seq
                yield event
            if self.row(row_id).status >= COMPLETED:
                return
            await future

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

    def fork(self, run: str, fact: int) -> str:
        """A new run that goes on from a fact of another one. What was in flight is asked anew, under the new run's keys.

        The facts of one turn belong together, so the fork stands at the end of the turn that holds the fact."""
        row = self.row(run)
        turns, last = [], 0
        for turn in self.store.journal(row.no):
            turns.append(turn)
            last = turn.seq_to
            if last >= fact:
                break
        if last < fact or fact < 1:
            raise BadInput(what="the fact number", why=f"the run has facts 1 to {last}")
        return self.host.fork(row, turns, fact)

    def rebuild(self) -> int:
        """Drop every projection and fold it again from the journal."""

        def project(row: RunRow, journal: Any, batch: Batch) -> None:
            rows_of(row, journal, batch)

        return self.store.rebuild(project)


def waits_for_outside(look: Look) -> bool:
    """Can only a person, a signal or an operator move this run on? A pure wait for time goes on by itself."""
    if look.paused:
        return True
    return look.internal_status == "WAITING" and any(w.for_ != "time" for w in look.waiting)


def node_types() -> dict[str, Any]:
    """Node types of diagrams that handlers and installed packages bring (D-X.15, D-X.30)."""
    return {name: handler_type(name) for name in load_handlers()}


def compile_source(document: str | Path | bytes, *, name: str | None = None) -> tuple[Document, bytes]:
    """Read a file, or take bytes, and compile them; files that the document names are looked for beside it."""
    if isinstance(document, bytes):
        return compile_document(document, name=name or "document", extra=node_types()), document
    path = Path(document)
    source = read_source(path)
    return compile_document(source, name=name or path.stem, resolve=_beside(path), extra=node_types()), source


def check_source(document: str | Path) -> tuple[str | None, list[Finding]]:
    """The language of a file, if it has one, and everything there is to say about it."""
    path = Path(document)
    return check_document(read_source(path), name=path.stem, resolve=_beside(path), extra=node_types())


def read_source(path: Path) -> bytes:
    """A document's bytes. One that is too large is not read."""
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            source = file.read(LIMIT + 1) if size <= LIMIT else b""
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else None
        raise BadInput(what=f"«{path}»", why=(why or str(error)).lower(), where=path) from error
    if max(size, len(source)) > LIMIT:
        raise DocumentTooLarge(size=max(size, len(source)), limit=LIMIT, where=path)
    return source


def _beside(path: Path) -> Callable[[str], bytes]:
    """Gives files of the document's folder and below; a name that leads out of it, by a link too, is refused."""

    def resolve(other: str) -> bytes:
        folder = path.parent.resolve()
        try:
            found = (folder / other).resolve()
        except (OSError, ValueError) as error:
            raise BadInput(what=f"«{other}»", why=str(error)) from error
        if not found.is_relative_to(folder):
            raise BadInput(what=f"«{other}»", why="it lies outside the folder of the document that names it")
        return read_source(found)

    return resolve


class _Shelf(Mapping[str, Executor]):
    """The caller's executors first, then those that come with the house, made when they are first asked for."""

    def __init__(self, own: dict[str, Executor]) -> None:
        self.own = own
        self.made: dict[str, Executor] = {}

    def __getitem__(self, name: str) -> Executor:
        if name in self.own:
            return self.own[name]
        if name not in self.made:
            self.made[name] = BUILTIN[name]()
        return self.made[name]

    def __iter__(self) -> Any:
        return iter({**BUILTIN, **self.own})

    def __len__(self) -> int:
        return len({**BUILTIN, **self.own})


__all__ = ["DEFAULT_STORE", "Penstock", "PenstockError", "Release"]
