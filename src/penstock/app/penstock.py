"""Penstock: the one door. Release, start, signal, respond, wait, look; command line and servers come through here."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import msgspec

from penstock.app.answers import answer_to, as_said, not_waiting
from penstock.app.documents import compile_source
from penstock.app.events import Event, Teller
from penstock.app.home import DEFAULT_STORE, DEFAULT_TENANT, driver_of
from penstock.app.look import Look, Watcher, watch
from penstock.app.queries import Queries, waits_for_outside
from penstock.app.registry import SAMPLE, artifact, checked, install_sample
from penstock.app.serving import NO_RUN, Serving, Start, new_id
from penstock.app.shelf import Shelf
from penstock.app.starting import carried, checked_input
from penstock.app.triggers import EventReceipt, news, prepare_with, receipt_of
from penstock.errors import (
    BadInput,
    BreakerNotFound,
    KeyConflict,
    NotTaken,
    NotWaiting,
    Refused,
    RunNotFound,
    StatusConflict,
    StoreBusy,
    StoreError,
)
from penstock.executors.contract import Executor
from penstock.executors.function import FunctionExecutor
from penstock.host.blobs import Blobs
from penstock.host.checkpoints import Checkpoint, Checkpoints
from penstock.host.children import CALLED, child_id
from penstock.host.clock import SystemClock
from penstock.host.embedded import Host, Told
from penstock.host.live import Live
from penstock.host.nets import Nets
from penstock.host.secrets import SecretPlaces
from penstock.host.tenants import Tenants
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.reading import Line
from penstock.kernel.state import COMPLETED, RUNNING, STATUS
from penstock.lang.contract import Compiled as Document
from penstock.net.compiled import Compiled
from penstock.net.model import Net
from penstock.store.contract import Batch, RunRow
from penstock.store.sqlite import Sqlite

Fn = TypeVar("Fn", bound=Callable[..., Any])
#: How long a command waits in the inbox until whoever drives the store has taken it.
PATIENCE_S = 10.0


class Release(msgspec.Struct, frozen=True):
    """A document that can be run."""

    name: str
    language: str
    hash: str
    findings: list[Any] = []


class Penstock(Queries):
    """One store and, while it is open, the engine that drives its runs.

    `drive=False` opens the store for looking and for leaving commands to the process that drives it. `alone` drives
    only the runs that are started, asked for with `go_on` or sent a command here; the others in the store stay as
    they are.
    """

    def __init__(
        self,
        store: str | Path = DEFAULT_STORE,
        *,
        drive: bool = True,
        output_dir: str | Path | None = None,
        input_dir: str | Path | None = None,
        settings: Mapping[str, Any] | None = None,
        tenant: str = DEFAULT_TENANT,
        profile: str | None = None,
        recover: bool = True,
        alone: bool = False,
        grow_mb: int = 0,
        create: bool = True,
    ) -> None:
        super().__init__(tenant)
        self.path = Path(store)
        if profile not in (None, "dev", "production"):
            raise BadInput(what="the profile", why=f"«{profile}» is neither dev nor production")
        self._profile = profile
        self._drive, self._recover, self._alone = drive, recover and not alone, alone
        self._executors: dict[str, Executor] = {}
        self._settings = dict(settings or {})
        self._output_dir = Path(output_dir) if output_dir is not None else self.path.parent / "output"
        self._input_dir = Path(input_dir) if input_dir is not None else Path()
        self._grow_mb, self._create = grow_mb, create
        self._host: Host | None = None
        self._task: asyncio.Task[None] | None = None
        self._waiters: dict[str, list[asyncio.Future[None]]] = {}
        self._asking: set[Told] = set()
        self._listeners: list[Callable[[str, list[Line]], None]] = []

    # -- opening and closing -------------------------------------------------------------------------------------------

    def open(self) -> Penstock:
        """Open the store. Needed only without `async with`; `run` must then be awaited by the caller."""
        self._store = Sqlite(self.path, engine=self._drive, grow_mb=self._grow_mb, create=self._create)
        if self._drive:
            self._host = Serving(
                self._store,
                Shelf(self._executors),
                output_dir=self._output_dir,
                input_dir=self._input_dir,
                settings=self._all_settings(),
                alone=self._alone,
                patient=not self._alone,
            )
            self._nets = self._host.nets
            self._host.starter.prepare = prepare_with(self._store, self._nets)
            self._host.turns.on_facts.append(self._on_facts)
            self._host.turns.on_end.append(lambda live: self._wake(live.id))
        else:
            self._nets = Nets(self._store)
        if self._profile is not None:
            self._agree(self._store.born_with(self._profile))
        return self

    def _agree(self, born: str) -> None:
        if self._profile != born:
            self.close()
            hint = "Leave the profile out, or use another store."
            raise BadInput(what="the profile", why=f"this store was made for {born}", hint=hint)

    @property
    def profile(self) -> str:
        """What the store was born with, else what it is opened with: dev (with the sample tenant) or production."""
        return self.store.profile() or self._profile or "dev"

    def _all_settings(self) -> dict[str, Any]:
        """A dev profile makes a key of its own for checkpoints, beside the store (C-47)."""
        known: dict[str, Any] = {"sql.root": self.path.parent, **self._settings}
        if self.profile == "dev":
            known.setdefault("checkpoint.key_file", self.path.with_name(f"{self.path.name}.checkpoint-key"))
        return known

    def _checkpoints(self) -> Checkpoints:
        if self._host is not None:
            return self._host.checkpoints
        known, clock = self._all_settings(), SystemClock()
        places = SecretPlaces(known.get("secrets"), folder=known.get("secrets.folder"))
        return Checkpoints(self.store, clock, Tenants(self.store, places, clock.now), known)

    async def __aenter__(self) -> Penstock:
        self.open()
        self.begin()
        return self

    def begin(self) -> None:
        """Start the engine, once; inside a running loop."""
        if self._host is not None and self._task is None:
            self._task = asyncio.ensure_future(self._engine(self._host))
            self._task.add_done_callback(self._engine_ended)

    async def _engine(self, host: Host) -> None:
        """Begins when the caller first waits for something: executors that are registered before then are there for
        the runs that a crash has left."""
        if self._recover:
            host.recover()
        await host.run()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
        for told in self._asking:
            told.never(error or Refused(why="the engine is closed"))

    def raise_if_stopped(self) -> None:
        """Raises what has stopped the engine, if something has."""
        if self._task is not None and self._task.done():
            self._task.result()

    @property
    def drives(self) -> bool:
        """Is this the process that drives the store's runs?"""
        return self._host is not None

    @property
    def host(self) -> Host:
        if self._host is None:
            raise StoreBusy
        return self._host

    # -- breakers, checkpoints -----------------------------------------------------------------------------------------

    def reset_breaker(self, name: str) -> None:
        """Close a breaker of the tenant by hand; it is written at once."""
        gate, batch = self.host.gate, Batch()
        if not gate.reset(self.tenant, name):
            raise BreakerNotFound(name=name)
        gate.write(batch, SystemClock().now())
        try:
            self.store.commit(batch)
        except StoreError:
            gate.give_back(batch)
            raise

    async def checkpoint(self, run: str, number: int | None = None) -> Checkpoint | None:
        """The newest checkpoint of a run that can be read, or the newest one up to a number."""
        row = self.row(run)
        return await self._checkpoints().read(row.tenant, row.id, number)

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
        if compiled.language == "decision":
            self.furnish()
            self._checkpoints().check(Compiled(compiled.net), self.tenant)
        self.keep_net(compiled, source)
        return Release(compiled.net.name, compiled.language, Compiled(compiled.net).hash, list(compiled.findings))

    def keep_net(self, compiled: Document, source: bytes | None = None) -> int:
        """Its net and the nets that it calls; the number of its own."""
        for child in compiled.children.values():
            self._release(child, None)
        return self._release(compiled.net, source)

    def register(self, type: str, id: str, body: Mapping[str, Any]) -> None:
        """Register a connection, a rule pack, a template …, or replace it. Raises DocumentInvalid or BadInput."""
        checked(type, id, body)
        self.store.put_artifacts([artifact(self.tenant, type, id, body, SystemClock().now())])
        if self._host is not None:
            self._host.tenants.refresh()

    def unregister(self, type: str, id: str) -> int:
        """Take a thing out of the registry; how many versions of it there were."""
        mine = [row for row in self.store.artifacts(self.tenant, type) if row.id == id]
        gone = sum(self.store.drop_artifact(self.tenant, type, id, row.version) for row in mine)
        if self._host is not None:
            self._host.tenants.refresh()
        return gone

    def furnish(self) -> None:
        """A store of the dev profile has the sample tenant (C-81), from the first time that one is needed."""
        if self.store.born_with(self.profile) == "dev" and self.tenant == SAMPLE:
            install_sample(self.store, self.path.parent, SystemClock().now())
            if self._host is not None:
                self._host.tenants.refresh()

    def compile(self, document: str | Path | bytes, *, name: str | None = None) -> tuple[Document, bytes]:
        return compile_source(document, name=name)

    def _release(self, net: Net, source: bytes | None) -> int:
        assert self._nets is not None
        return self._nets.release(net, source, SystemClock().now())

    async def start(
        self, release: Release | str, input: Any = None, *, key: str | None = None, max_concurrent: int | None = None,
        priority: int = 1000, trigger: Mapping[str, Any] | None = None, parent: str = ""
    ) -> str:  # fmt: skip
        """Start a run; its id, when the run is in the store. The same key again is the same run. What has started it is
        `sys.trigger` to it, and the run that did `sys.parent_instance_id`."""
        keys = None if key is None else [key]
        many = await self.start_many(
            release, [input], keys=keys, max_concurrent=max_concurrent, priority=priority, trigger=trigger,
            parent=parent
        )  # fmt: skip
        return many[0]

    async def start_many(
        self, release: Release | str, inputs: Iterable[Any], *, keys: Iterable[str] | None = None,
        max_concurrent: int | None = None, priority: int = 1000, trigger: Mapping[str, Any] | None = None,
        parent: str = ""
    ) -> list[str]:  # fmt: skip
        """Start a run for each input; their ids, when all of them are in the store. They share commits, so this is
        much faster than one after the other. If one input or key is refused, nothing was started."""
        given = list(inputs)
        named: list[str | None] = [None] * len(given) if keys is None else list(keys)
        if len(named) != len(given):
            raise BadInput(what="the keys", why=f"there are {len(named)} for {len(given)} runs")
        if keys is not None and len(set(named)) != len(named):
            raise BadInput(what="the keys", why="one of them is there twice")
        host, net, options = self.host, 0, dict[str, Any]()
        for i, key in enumerate(named):
            net, options, given[i] = self._checked(release, given[i], key, max_concurrent, trigger)
            self._same_key(key, net, given[i])
        self.begin()
        told, ids = Told(len(given)), []
        for input, key in zip(given, named, strict=True):
            known = self._same_key(key, net, input)
            if known is None:
                ids.append(
                    host.start(
                        net, input, key=key, tenant=self.tenant, options=options, priority=priority, reply=told,
                        parent=parent,
                    )
                )  # fmt: skip
                continue
            ids.append(known)
            unborn = host.turns.starting.get((self.tenant, key or ""))
            if unborn is None:
                told(None)
            else:
                host.send(unborn.no, C.nudge(), told)  # it is in the store when this is done
        await self._heard(told)
        return ids

    async def hand_in(
        self, release: Release | str, input: Any = None, *, key: str | None = None, max_concurrent: int | None = None,
        trigger: Mapping[str, Any] | None = None, parent: str = ""
    ) -> str:  # fmt: skip
        """Leave a run to be started by the process that drives the store, and wait until it has; its id."""
        net, options, input = self._checked(release, input, key, max_concurrent, trigger)
        known = self._same_key(key, net, input)
        if known is not None:
            await self.wake_up(known)
            return known
        id = new_id(SystemClock().now())
        assert self._nets is not None
        asked = Start(id, self._nets.get(net).hash, input, self.tenant, key, options, parent=parent)
        await self._leave(NO_RUN, msgspec.msgpack.encode(asked), id)
        return (self._same_key(key, net, input) or id) if key is not None else id

    def _checked(
        self, release: Release | str, input: Any, key: str | None, max_concurrent: int | None,
        trigger: Mapping[str, Any] | None = None,
    ) -> tuple[int, dict[str, Any], Any]:  # fmt: skip
        """The number of the net, the run's options and its input; whatever is wrong with them is said here."""
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
        if found[1].net.language == "decision":
            self._checkpoints().check(found[1], self.tenant)
        options |= carried(found[1], self.store, self.tenant)
        if trigger is not None:
            options["trigger"] = dict(trigger)
            if "replay_of" in trigger:
                options["replay_of"] = trigger["replay_of"]
        try:
            msgspec.msgpack.encode(input)
        except (TypeError, OverflowError, ValueError, RecursionError) as error:
            raise BadInput(what="the input", why=str(error)) from error
        if key == "":
            raise BadInput(what="the key", why="it is empty")
        return found[0], options, checked_input(found[1], input)

    def _same_key(self, key: str | None, net: int, input: Any) -> str | None:
        """The run that has the key already; it must be of this net and this input."""
        known = self._by_key(key) if key is not None else None
        if known is None:
            return None
        id, its_net, given = known
        if its_net != net or input is not None and input != given:
            raise KeyConflict(key=key, run=id)
        return id

    def _by_key(self, key: str) -> tuple[str, int, Any] | None:
        """The run with this key, its net and its input; it may have been started so lately that no row has it yet."""
        live = self._host.turns.starting.get((self.tenant, key)) if self._host is not None else None
        if live is not None:
            return live.id, live.net_no, live.commands[0][6]
        row = self.store.run_by_key(self.tenant, key)
        return None if row is None else (row.id, row.net, self.input_of(row))

    def go_on(self, run: str) -> str:
        """Drive a run of the store here, after a crash too, with those that call it; the id of the one at the top."""
        row = self.row(self.top(run))
        if row.status < COMPLETED:
            self.host.go_on(row.no)
        return row.id

    def top(self, run: str) -> str:
        """The id of the run that has called this one, or has called the one that has, and so on; or its own."""
        row = self.row(run)
        while row.parent and row.id.startswith(CALLED):
            row = self.row(row.parent)
        return row.id

    async def wake_up(self, run: str) -> None:
        """Let whoever drives the store go on with a run, which may have been left by a crash."""
        with contextlib.suppress(Refused):  # it has ended
            if self.row(run).status < COMPLETED:
                await self.command(run, C.nudge())

    # -- commands ------------------------------------------------------------------------------------------------------

    async def signal(self, run: str, name: str, payload: Any = None, *, id: str = "") -> None:
        """News for a run. One that nobody waits for yet is kept until a node does."""
        row = self.row(run)
        if row.status >= COMPLETED:
            why = f"Run {row.id} has ended ({STATUS[row.status]}), so no signal can reach it"
            raise NotWaiting(why=why, hint="`penstock show RUN` shows how it ended.")
        await self.command(run, C.signal(id, name, payload))

    async def send_event(self, source: str, payload: Any = None, *, id: str | None = None) -> EventReceipt:
        """News for whoever it concerns: it is stored, resumes the runs that wait for it, and starts those that it is
        the trigger of. The same id again changes nothing. Without a driver here it waits a while for the one that
        there is; the receipt says whether it was delivered."""
        now = self._host.clock.now() if self._host is not None else SystemClock().now()
        event = news(self.tenant, source, payload, id, now)
        new = self.store.put_event(event) is not None
        if self._host is not None:
            self.begin()
            told, intake = Told(1), self._host.intake
            intake.poll()
            intake.tell(receipt_of(self.store, event, new).number, told)
            self._host.poke()
            await self._heard(told)
        else:
            for _ in range(int(PATIENCE_S / 0.05)):
                if receipt_of(self.store, event, new).delivered or driver_of(self.path) is None:
                    break
                await asyncio.sleep(0.05)
        return receipt_of(self.store, event, new)

    async def respond(self, run: str, node: str, value: Any, *, by: str | None = None) -> None:
        """Answer a waiting user_response, or give a firing that waits for an operator its result."""
        row = self.row(run)
        watcher = self.watcher(row)
        command, net = answer_to(watcher, node, value, by), watcher.reader.net
        assert net is not None
        if command is None:
            raise not_waiting(self.look(row.id), net, node)
        try:
            await self.command(run, command)
        except StatusConflict as refused:  # somebody else was faster: said in the words of whoever answers
            raise not_waiting(self.look(row.id), net, node) from refused

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
            told = Told(1)
            self._host.send(row.no, command, told)
            await self._heard(told)
            return
        await self._leave(row.no, msgspec.msgpack.encode(command), row.id)

    async def _leave(self, run: int, command: bytes, id: str) -> None:
        """Through the inbox of whoever drives the store, until it is committed there."""
        number = self.store.put_inbox(run, command, SystemClock().now())
        if not await self.answered(number):
            pid = driver_of(self.path)
            raise NotTaken(pid=pid or "", seconds=f"{PATIENCE_S:g}", inbox=number, run=id)

    async def _heard(self, told: Told) -> None:
        """Until the engine has said what became of it; if it stops before, its error."""
        if self._task is not None and self._task.done():
            self.raise_if_stopped()
            raise Refused(why="the engine is closed")
        self._asking.add(told)
        try:
            await told.all()
        finally:
            self._asking.discard(told)

    async def answered(self, number: int, patience_s: float = PATIENCE_S) -> bool:
        """Has whoever drives the store done what was left in its inbox? Raises when it was refused. False when it
        takes too long, and at once when nobody drives the store any more."""
        for waited in range(int(patience_s / 0.05)):
            answer = self.store.inbox_answer(number)
            if answer is not None:
                said = msgspec.msgpack.decode(answer)
                if "code" in said:
                    raise as_said(said)
                return True
            if self._host is None and waited % 4 == 1 and driver_of(self.path) is None:
                return self.store.inbox_answer(number) is not None
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
                if look is not None and (
                    look.internal_status in STATUS[COMPLETED:] or until_waiting and waits_for_outside(look)
                ):
                    self._waiters[row_id].remove(future)
                    return look
                self.raise_if_stopped()
                await future

        return await asyncio.wait_for(settled(), timeout)

    def _goes_on(self, no: int) -> bool:
        """Is the run plainly neither at its end nor at rest? Asked on every turn, so nothing is folded for it."""
        live = self._host.turns.runs.get(no) if self._host is not None else None
        if live is None or live.run is None:
            return False
        st = live.run.st
        rests = st.status != RUNNING or st.paused and not st.asked
        return not rests and not any(n.spec.kind == "call" for n in live.run.net.nodes)

    def row(self, run: str) -> RunRow:
        """By id, by a beginning of it that is enough, or by key; also a run whose first turn is still to come."""
        try:
            return super().row(run)
        except RunNotFound:
            for live in self._host.turns.runs.values() if self._host is not None else ():
                if live.id == run and not live.row:
                    return RunRow(
                        live.no, live.id, live.tenant, live.net_no, live.key, 0, live.priority, 0, 0, None, None, 0,
                        None
                    )  # fmt: skip
            raise

    def _full_id(self, run: str) -> str:
        return self.row(run).id

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

    def catch_up(self, run: str) -> None:
        """Tell those who listen what another process has done with a run that `watch_live` was asked for."""
        row = self.row(run)
        watcher = self.watch_live(row.id)
        for turn in list(self.store.journal(row.no, watcher.reader.st.n)):
            lines = watcher.turn(turn.at, F.decode_facts(turn.body))
            for listen in self._listeners:
                listen(row.id, lines)

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
        for ask in self.host.children.parents.get(live.id, ()):
            self._wake_all(ask.live)

    def _wake(self, run_id: str) -> None:
        for future in self._waiters.pop(run_id, ()):
            if not future.done():
                future.set_result(None)

    async def subscribe(self, run: str) -> AsyncIterator[Event]:
        """Events as they happen, from the first one on, until the run has ended."""
        row = self.row(run)
        teller, told = Teller(self.net_of, row.id), 0
        while True:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiters.setdefault(row.id, []).append(future)
            for turn in list(self.store.journal(row.no, told)):
                told = turn.seq_to
                for event in teller.turn(turn):
                    yield event
            if self.row(row.id).status >= COMPLETED:
                return
            await future

    def fork(self, run: str, fact: int) -> str:
        """A new run that goes on from a fact of another one. What was in flight is asked anew, under the new run's
        keys.

        The facts of one turn belong together, so the fork stands at the end of the turn that holds the fact."""
        row = self.row(run)
        _, _, last = self.end_of_turn(row.id, fact)
        turns = [turn for turn in self.store.journal(row.no) if turn.seq_to <= last]
        return self.host.fork(row, turns, fact)


__all__ = ["DEFAULT_STORE", "Penstock", "Release"]
