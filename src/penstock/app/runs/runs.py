"""The runs of one tenant: release, start, command, wait, view. What every other room of the app builds on."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from penstock.app.access.candidates import Who
from penstock.app.access.starters import check_may_start
from penstock.app.engine import Engine
from penstock.app.registry.registry import Registry
from penstock.app.releases.documents import Release, compile_source
from penstock.app.runs.commands.run_commands import PATIENCE_S, RunCommands
from penstock.app.runs.follow import RunFollower
from penstock.app.runs.queries import Queries
from penstock.app.runs.run_view import RunFold, RunView
from penstock.app.runs.start import RunStarter, StartRequest
from penstock.app.runs.start_input import checked_tenant
from penstock.app.runs.timeline.events import EventPage
from penstock.dialects import dialect_of
from penstock.dialects.contract import DocumentCheckpoint
from penstock.dialects.token_events import Event
from penstock.errors import BreakerNotFound, RunNotFound, StoreError
from penstock.executors import ExecutorTable
from penstock.executors.contract import Executor
from penstock.executors.function import FunctionExecutor
from penstock.executors.graph import GraphExecutor
from penstock.host.children import CALLED
from penstock.host.clock import Clock
from penstock.host.embedded import Host, ReplyWaiter
from penstock.host.nets import Nets
from penstock.host.start_requests import Start
from penstock.host.tenants import Shared
from penstock.kernel import command as C
from penstock.kernel.fact_lines import FactLine
from penstock.kernel.state import COMPLETED
from penstock.lang.contract import Compiled as Document
from penstock.net.codec import content_hash
from penstock.net.model import Net
from penstock.store.address import DEFAULT_STORE, DEFAULT_TENANT, place
from penstock.store.run_store import Batch, RunRow

if TYPE_CHECKING:  # what runs do not need is imported when it is asked for: a command is quick
    from penstock.app.runs.commands.migration import Migration, Move
    from penstock.app.runs.long.kept_folds import KeptFolds
    from penstock.executors.parts.definitions import DefinitionSwitch
    from penstock.executors.parts.network.self_calls import SelfCallHandler
    from penstock.host.tenants import StoredTenant

#: What a door makes for its tenant when it is first needed.
_PARTS = ("registry", "_commands", "_starter", "_follower")
Fn = TypeVar("Fn", bound=Callable[..., Any])


class Runs(Queries):
    """Release, start, command and follow the runs of one tenant. `Penstock` says what the options mean."""

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
        shared: Shared = "none",
        speed: float | None = None,
        clock: Clock | None = None,
        executor_table: Callable[[dict[str, Executor]], Mapping[str, Executor]] = ExecutorTable,
        seed: int | None = None,
    ) -> None:
        path = place(store)
        self._engine = Engine(
            path,
            drive=drive,
            recover=recover,
            alone=alone,
            profile=profile,
            create=create,
            settings=settings or {},
            output_dir=Path(output_dir) if output_dir is not None else path.parent / "output",
            input_dir=Path(input_dir) if input_dir is not None else Path(),
            grow_mb=grow_mb,
            shared=shared,
            speed=speed,
            clock=clock,
            executor_table=executor_table,
            seed=seed,
        )
        super().__init__(tenant, self._engine)

    @cached_property
    def registry(self) -> Registry:
        return Registry(self._engine, self)

    @cached_property
    def _commands(self) -> RunCommands:
        return RunCommands(self._engine, self)

    @cached_property
    def _starter(self) -> RunStarter:
        return RunStarter(self._engine, self, self._commands)

    @cached_property
    def _follower(self) -> RunFollower:
        return RunFollower(self._engine, self)

    def of(self, tenant: str) -> Self:
        """A door to the same store and engine for another tenant. It is open as long as this one is."""
        other = copy.copy(self)
        other.tenant = tenant
        for part in _PARTS:
            other.__dict__.pop(part, None)
        return other

    @property
    def given_settings(self) -> Mapping[str, Any]:
        """Those that it was opened with, without what it has added to them."""
        return self._engine.given_settings

    @property
    def shared(self) -> Shared:
        return self._engine.shared

    def keep_folds(self) -> KeptFolds:
        """From now on what is folded is kept for who asks next: for a process that only reads."""
        from penstock.app.runs.long.kept_folds import KeptFolds

        kept = KeptFolds(self._engine.watched)
        self._engine.keep_fold, self._engine.kept_overlays = kept.keep, kept.overlays
        return kept

    def tell_parked(self, parked: dict[tuple[int, int], tuple[str, int | None]]) -> None:
        """What waits at the gate of the process that drives, for one that only reads."""
        self._engine.parked = parked

    # -- opening and closing -------------------------------------------------------------------------------------------

    def open(self) -> Self:
        """Open the store. Needed only without `async with`; `run` must then be awaited by the caller."""
        self._engine.open()
        return self

    async def __aenter__(self) -> Self:
        self.open()
        self.begin()
        return self

    def begin(self) -> None:
        """Start the engine, once; inside a running loop."""
        self._engine.begin()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def heard(self, waiter: ReplyWaiter) -> None:
        """Until every command that the waiter was given with is committed or refused."""
        await self._engine.heard(waiter)

    async def drain(self, seconds: float) -> int:
        """Let nothing new out, and give effects on their way so long to end; how many have not. For a stop in peace."""
        return await self._engine.drain(seconds)

    def answer_own(self, answer: SelfCallHandler) -> None:
        """Say how this program answers when a run calls it over HTTP (C-28): whoever serves it does."""
        self._engine.answer_own(answer)

    def switch_definitions(self, switch: DefinitionSwitch) -> None:
        """Say how a rollout puts the version of a definition in force: whoever keeps the releases does (W-9.4.1)."""
        self._engine.put_in_force(switch)

    async def aclose(self) -> None:
        await self._engine.aclose()

    def close(self) -> None:
        self._engine.close()

    def raise_if_stopped(self) -> None:
        """Raises what has stopped the engine, if something has."""
        self._engine.raise_if_stopped()

    @property
    def path(self) -> Path:
        return self._engine.path

    @property
    def output_dir(self) -> Path:
        """Where executors put what they make for the tenant."""
        return self._engine.output_dir(self.tenant)

    @property
    def profile(self) -> str:
        """What the store was born with, else what it is opened with: dev (with the sample tenant) or production."""
        return self._engine.profile()

    def store_now(self) -> int:
        """By the clock of the store, which may be ahead of this machine's: see SpeedClock."""
        return self.now() if self.drives else max(self.now(), self.store.newest_time())

    @property
    def drives(self) -> bool:
        """Is this the process that drives the store's runs?"""
        return self._engine.host is not None

    @property
    def host(self) -> Host:
        return self._engine.driver()

    # -- what else a tenant has ----------------------------------------------------------------------------------------

    def register(self, type: str, id: str, body: Mapping[str, Any]) -> None:
        """Register a connection, a rule pack, a template …, or replace it. Raises DocumentInvalid or BadInput."""
        self.registry.put(type, id, body)

    def unregister(self, type: str, id: str) -> int:
        """Take a thing out of the registry; how many versions of it there were."""
        return self.registry.remove(type, id)

    @property
    def stored_tenant(self) -> StoredTenant:
        """The tenant as executors see it, here or where nobody drives."""
        return self._engine.tenants().of(self.tenant)

    def load_sample(self) -> None:
        """A store of the dev profile has the sample tenant (C-81), from the first time that one is needed."""
        self.registry.load_sample()

    def reset_breaker(self, name: str) -> None:
        """Close a breaker of the tenant by hand; it is written at once."""
        gate, batch = self.host.gate, Batch()
        if not gate.reset(self.tenant, name):
            raise BreakerNotFound(name=name)
        gate.write(batch, self._engine.now())
        try:
            self.store.commit(batch)
        except StoreError:
            gate.on_rollback(batch)
            raise

    async def checkpoint(self, run: str, number: int | None = None) -> DocumentCheckpoint | None:
        """The newest checkpoint of a run that can be read, or the newest one up to a number."""
        row = self.row(run)
        return await self._engine.runtime(self.store.net(row.net).language).checkpoint(row.tenant, row.id, number)

    # -- executors -----------------------------------------------------------------------------------------------------

    def executor(self, name: str | None = None, *, inline: bool = False) -> Callable[[Fn], Fn]:
        """A decorated function becomes an executor that nets may name."""

        def register(fn: Fn) -> Fn:
            called: str = name or str(getattr(fn, "__name__", "function"))
            self._engine.executors[called] = FunctionExecutor(called, fn, inline)
            return fn

        return register

    def agent(self, id: str, graph: Any = None, *, read: Callable[[Any], Any] | None = None) -> Callable[[Fn], Fn]:
        """A decorated function is the agent of that id: it gets instruction, input_data, tools … as far as it names
        them, and returns its result. Given a compiled LangGraph graph, that is the agent, and `read` its result."""
        if graph is not None:
            self.add_executor(GraphExecutor(f"agent:{id}", graph, read))
        return self.executor(f"agent:{id}") if graph is None else lambda fn: fn

    def tool(self, name: str) -> Callable[[Fn], Fn]:
        """A decorated function is the tool of that name, for agents and for what undoes an activity."""
        return self.executor(f"tool:{name}")

    def add_executor(self, executor: Executor) -> None:
        self._engine.executors[executor.name] = executor

    # -- releasing and starting ----------------------------------------------------------------------------------------

    def release(self, document: str | Path | bytes | Net, *, name: str | None = None) -> Release:
        """Compile a document (a path, its bytes, or a net) and keep it. Raises DocumentInvalid with all findings."""
        if isinstance(document, Net):
            self._keep(document, None)
            return Release(document.name, document.language, content_hash(document))
        return self.keep(*self.compile(document, name=name))

    def keep(self, compiled: Document, source: bytes | None = None) -> Release:
        """Release a document that is compiled already."""
        if dialect_of(compiled.language).loads_sample:
            self.load_sample()
        self._engine.runtime(compiled.language).check(self._nets().made(compiled.net), self.tenant)
        self.keep_net(compiled, source)
        return Release(compiled.net.name, compiled.language, content_hash(compiled.net), list(compiled.findings))

    def keep_net(self, compiled: Document, source: bytes | None = None) -> int:
        """Its net and the nets that it calls; the number of its own. Raises TenantConflict where it is another's."""
        checked_tenant(compiled.net, self.store, self.tenant)
        for child in compiled.children.values():
            self._keep(child, None)
        return self._keep(compiled.net, source)

    def _keep(self, net: Net, source: bytes | None) -> int:
        return self._nets().release(net, source, self._engine.now())

    def _nets(self) -> Nets:
        self._engine.opened()
        assert self._engine.nets is not None
        return self._engine.nets

    def compile(self, document: str | Path | bytes, *, name: str | None = None) -> tuple[Document, bytes]:
        return compile_source(document, name=name, settings=self.settings)

    async def start(
        self, release: Release | str, input: Any = None, *, key: str | None = None, max_concurrent: int | None = None,
        priority: int = 1000, trigger: Mapping[str, Any] | None = None, parent: str = "",
        modes: Mapping[str, str] | None = None, environment: str = "", id: str = "",
        used: Sequence[Mapping[str, str]] = (),
    ) -> str:  # fmt: skip
        """Start a run; its id, when the run is in the store. The same key again is the same run. What has started it is
        `sys.trigger` to it, and the run that did `sys.parent_instance_id`. `modes` says by activity how it is done
        instead of what the process says. `environment`: whose deployed versions it uses, else the tenant's own."""
        asked = StartRequest(
            release=release, max_concurrent=max_concurrent, priority=priority, trigger=trigger, parent=parent,
            modes=modes, environment=environment, id=id, used=used,
        )  # fmt: skip
        return (await self._starter.many(asked, [input], None if key is None else [key]))[0]

    async def start_many(
        self, release: Release | str, inputs: Iterable[Any], *, keys: Iterable[str] | None = None,
        max_concurrent: int | None = None, priority: int = 1000, trigger: Mapping[str, Any] | None = None,
        parent: str = ""
    ) -> list[str]:  # fmt: skip
        """Start a run for each input; their ids, when all of them are in the store. They share commits, so this is
        much faster than one after the other. If one input or key is refused, nothing was started."""
        asked = StartRequest(
            release=release, max_concurrent=max_concurrent, priority=priority, trigger=trigger, parent=parent
        )  # fmt: skip
        return await self._starter.many(asked, inputs, keys)

    async def hand_in(
        self, release: Release | str, input: Any = None, *, key: str | None = None, max_concurrent: int | None = None,
        trigger: Mapping[str, Any] | None = None, parent: str = "", modes: Mapping[str, str] | None = None,
        environment: str = "", id: str = "", used: Sequence[Mapping[str, str]] = (),
    ) -> str:  # fmt: skip
        """Leave a run to be started by the process that drives the store, and wait until it has; its id."""
        asked = StartRequest(
            release=release, max_concurrent=max_concurrent, trigger=trigger, parent=parent, modes=modes,
            environment=environment, id=id, used=used,
        )  # fmt: skip
        return await self._starter.hand_in(asked, input, key)

    def ask_for(
        self, release: Release | str, input: Any = None, *, key: str | None = None,
        trigger: Mapping[str, Any] | None = None, parent: str = ""
    ) -> str:  # fmt: skip
        """The same without waiting: its id, before the run is in the store. What is wrong with it is said at once."""
        return self._starter.soon(StartRequest(release=release, trigger=trigger, parent=parent), input, key)

    async def leave(self, start: Start) -> None:
        """Leave a run with an id of its own to the process that drives the store, and wait until it is there; where its
        key is known already, nothing is started."""
        await self._starter.leave(start)

    def go_on(self, run: str) -> str:
        """Drive a run of the store here, after a crash too, with those that call it; the id of the one at the top."""
        row = self.row(self.top(run))
        if row.status < COMPLETED:
            self.host.resume_run(row.no)
        return row.id

    def top(self, run: str) -> str:
        """The id of the run that has called this one, or has called the one that has, and so on; or its own."""
        row = self.row(run)
        while row.parent and row.id.startswith(CALLED):
            row = self.row(row.parent)
        return row.id

    def fork(self, run: str, fact: int, *, key: str | None = None, by: Who | None = None) -> str:
        """A new run that goes on from a fact of another one. What was in flight is asked anew, under the new run's
        keys. `key` is one that no run has. Raises StarterDenied where somebody forks what they may not start.

        The facts of one turn belong together, so the fork stands at the end of the turn that holds the fact."""
        row = self.row(run)
        check_may_start(self, self.net_of(self.hash_of(row.net)).net, by)
        _, _, last = self.end_of_turn(row.id, fact)
        turns = [turn for turn in self.store.journal(row.no) if turn.seq_to <= last]
        return self.host.fork(row, turns, key=key)

    # -- commands ------------------------------------------------------------------------------------------------------

    async def signal(self, run: str, name: str, payload: Any = None, *, id: str = "") -> None:
        """News for a run. One that nobody waits for yet is kept until a node does."""
        await self._commands.signal(run, name, payload, id)

    async def respond(self, run: str, node: str, value: Any, *, by: Who | None = None) -> None:
        """Answer a waiting user_response, or give a firing that waits for an operator its result. Raises ApproverDenied
        where it is for others."""
        await self._commands.respond(run, node, value, by)

    async def cancel(self, run: str, *, mode: str = "now") -> None:
        """End a run. `now` takes what it has called with it, also when nobody drives it at the moment."""
        await self._commands.cancel(run, mode)

    async def pause(self, run: str) -> None:
        await self.command(run, C.pause())

    async def resume(self, run: str) -> None:
        await self.command(run, C.resume())

    async def retry(self, run: str, *, how: str = "here") -> None:
        await self._commands.retry(run, how)

    async def compensate(self, run: str, *, only: Iterable[str] = ()) -> None:
        """Undo by hand what a run has done, the last first, or only what these nodes have done (W-4.10)."""
        await self._commands.compensate(run, tuple(only))

    async def resolve(self, run: str, node: str, output: Any) -> None:
        """Give a node that works, waits or is stuck its result by hand."""
        await self._commands.resolve(run, node, output)

    async def edit(self, run: str, values: Mapping[str, Any]) -> None:
        """Change variables of a run that goes on."""
        await self._commands.edit(run, values)

    def plan_migration(self, run: str, move: Move) -> Migration:
        """What moving a run to another version would do, and what stands against it; nothing is changed."""
        from penstock.app.runs.commands.migration import planned

        return planned(self, self.reading(run), move)

    async def migrate(self, run: str, move: Move) -> Migration:
        """Move a run to another version of its document. Raises MigrationBlocked with all obstacles."""
        return await self._commands.migrate(run, move)

    async def undo_migration(self, run: str) -> Migration:
        """Take the newest move to another version back, as long as everything that is under way was there, too."""
        return await self._commands.undo_migration(run)

    async def wake_up(self, run: str) -> None:
        """Let whoever drives the store go on with a run, which may have been left by a crash."""
        await self._commands.wake_up(run)

    async def command(self, run: str | RunRow, command: C.Command) -> None:
        """Send any command of the kernel and wait until it is committed. Raises when it is refused."""
        await self._commands.command(run, command)

    async def answered(self, number: int, patience_s: float = PATIENCE_S) -> bool:
        """Has whoever drives the store done what was left in its inbox? Raises when it was refused. False when it
        takes too long, and at once when nobody drives the store any more."""
        return await self._commands.answered(number, patience_s)

    # -- waiting and looking -------------------------------------------------------------------------------------------

    async def wait(self, run: str, *, timeout: float | None = None, until_waiting: bool = False) -> RunView:
        """Until the run has ended; with `until_waiting` also when only a person or a signal can move it on."""
        return await self._follower.wait(run, timeout, until_waiting)

    def subscribe(
        self, run: str, *, after: int = 0, pages: Callable[[int], Awaitable[EventPage]] | None = None
    ) -> AsyncIterator[Event]:
        """Events as they happen, from the first one with a number above `after` on, until the run has ended. `pages`
        hands them over where somebody else folds the run."""
        return self._follower.subscribe(run, after, pages)

    def row(self, run: str) -> RunRow:
        """By id, by a beginning of it that is enough, or by key; also a run whose first turn is still to come."""
        try:
            return super().row(run)
        except RunNotFound:
            unborn = self._engine.unborn(run, self.tenant)
            if unborn is None:
                raise
            return unborn

    def watch_live(self, run: str) -> RunFold:
        """The fold of a run, kept up to date as the run goes on in this process."""
        return self._follower.watch_live(run)

    def listen(self, tell: Callable[[str, list[FactLine]], None]) -> None:
        """Be told what happens in the runs that `watch_live` was asked for, turn by turn."""
        self._follower.listen(tell)

    def catch_up(self, run: str) -> None:
        """Tell those who listen what another process has done with a run that `watch_live` was asked for."""
        self._follower.catch_up(run)
