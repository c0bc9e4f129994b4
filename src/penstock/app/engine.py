"""The engine behind the doors: one store and, where it drives, the host, its loop, and everybody who waits for it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.app.deployments.rollouts import start_missing
from penstock.app.kept_buckets import kept_bucket_settings
from penstock.app.own_modules import import_modules
from penstock.app.releases.rolled_out import choose_version
from penstock.app.releases.triggers import prepare_with
from penstock.app.runs.queries import OpenStore
from penstock.dialects import dialect_of
from penstock.dialects.contract import HostServices, Runtime
from penstock.dialects.notice import Notice
from penstock.errors import BadInput, Refused, StoreBusy, StoreError
from penstock.executors import ExecutorTable
from penstock.executors.contract import Executor
from penstock.host.blobs import Blobs
from penstock.host.clock import Clock, SpeedClock, SystemClock
from penstock.host.embedded import Host, ReplyWaiter
from penstock.host.loaded_run import LoadedRun
from penstock.host.nets import Nets
from penstock.host.secrets import places_of
from penstock.host.start_requests import ServingHost
from penstock.host.tenants import Installation, Shared, Tenants, folder_name
from penstock.kernel import fact as F
from penstock.kernel.state import RUNNING
from penstock.store.address import DEFAULT_TENANT, open_store
from penstock.store.run_store import Batch, RunRow

if TYPE_CHECKING:
    from penstock.executors.parts.definitions import DefinitionSwitch
    from penstock.executors.parts.network.self_calls import SelfCallHandler
    from penstock.store.contract import Store


class Engine(OpenStore):
    """Opened once, and shared by the doors of every tenant. What the options mean is said where `Penstock` is."""

    def __init__(
        self, path: Path, *, drive: bool, recover: bool, alone: bool, profile: str | None, create: bool,
        settings: Mapping[str, Any], output_dir: Path, input_dir: Path, grow_mb: int = 0,
        shared: Shared = "none", speed: float | None = None, clock: Clock | None = None,
        executor_table: Callable[[dict[str, Executor]], Mapping[str, Executor]] = ExecutorTable,
        seed: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if profile not in (None, "dev", "production"):
            raise BadInput(what="the profile", why=f"«{profile}» is neither dev nor production")
        self.path, self._profile = path, profile
        self.drive, self.recover, self.alone = drive, recover and not alone, alone
        self._settings, self._output_dir, self._input_dir = dict(settings), output_dir, input_dir
        self._kept: dict[str, Any] = {}  # settings that lie in the store
        self._grow_mb, self._create, self._speed = grow_mb, create, speed
        self._given_clock, self._executor_table, self._seed = clock, executor_table, seed
        self._installation = Installation(store=path, shared=shared, home=DEFAULT_TENANT)
        self.executors: dict[str, Executor] = {}
        self.task: asyncio.Task[None] | None = None
        self._moved: dict[int, None] = {}  # watched runs that the listeners have not heard of
        self._waiters: dict[str, list[asyncio.Future[None]]] = {}
        self._asking: set[ReplyWaiter] = set()
        self._tenants: Tenants | None = None

    # -- opening and closing -------------------------------------------------------------------------------------------

    def open(self) -> None:
        if self.drive:
            import_modules(self._settings)
        store = self.store = open_store(self.path, engine=self.drive, grow_mb=self._grow_mb, create=self._create)
        store.audit_keys.use(self._settings.get("audit.key_file"))
        if self.drive:
            self._kept = kept_bucket_settings(store)
            host = self.host = ServingHost(
                store,
                self._executor_table(self.executors),
                clock=self._clock(store),
                output_dir=self._output_dir,
                input_dir=self._input_dir,
                settings=self.settings(),
                seed=self._seed,
                alone=self.alone,
                patient=not self.alone,
                installation=self._installation,
            )
            self.nets = host.nets
            host.starter.prepare = prepare_with(store, host.nets, host.tenants)
            host.starter.choose = partial(choose_version, store, host.tenants)
            if not self.alone:
                host.on_look = (partial(start_missing, host),)
            host.turns.on_facts.append(self._on_facts)
            host.turns.on_end.append(lambda loaded: self._wake(loaded.id))
        else:
            self.nets = Nets(store)
        if self._profile is not None:
            self._agree(store.born_with(self._profile))

    def _agree(self, born: str) -> None:
        if self._profile != born:
            self.close()
            hint = "Leave the profile out, or use another store."
            raise BadInput(what="the profile", why=f"this store was made for {born}", hint=hint)

    def _clock(self, store: Store) -> Clock | None:
        """The one that was given, or a faster one for demos. Raises BadInput for a store of production."""
        if self._speed is None:
            return self._given_clock
        if (store.profile() or self._profile) == "production":
            self.close()
            hint = "Leave the speed out, or use a store with the dev profile."
            raise BadInput(what="the speed", why="this store was made for production, whose clock is real", hint=hint)
        return SpeedClock(self._speed, store.newest_time())

    @property
    def given_settings(self) -> Mapping[str, Any]:
        return self._settings

    @property
    def shared(self) -> Shared:
        return self._installation.shared

    def profile(self) -> str:
        return self.opened().profile() or self._profile or "dev"

    def settings(self) -> dict[str, Any]:
        """What the tenants' secrets are sealed with lies beside the store. A dev profile makes a key of its own for
        checkpoints, too (C-47)."""
        key_file = self.path.with_name(f"{self.path.name}.secret-key")
        own: dict[str, Any] = {"sql.root": self.path.parent, "secrets.key_file": key_file}
        known = {**own, **self._kept, **self._settings}
        if self._installation.shared == "all":
            known.setdefault("mcp.commands", [])  # no tenant says what runs on the operator's machine
        if self.profile() == "dev":
            known.setdefault("checkpoint.key_file", self.path.with_name(f"{self.path.name}.checkpoint-key"))
        return known

    def runtime(self, language: str) -> Runtime:
        """What the dialect of a language does beside an engine; where nobody drives here it can be asked all the
        same."""
        if self.host is not None:
            return self.host.runtimes[language] or Runtime()
        known, clock, store = self.settings(), SystemClock(), self.opened()
        places = places_of(known, self._installation.secret_grants(known))
        assert self.nets is not None
        services = HostServices(
            store, clock.now, self.tenants(), _tell_nobody, self.nets.of, Blobs(store).of, known,
            places.own,
        )  # fmt: skip
        return dialect_of(language).runtime(services) or Runtime()

    def tenants(self) -> Tenants:
        """What belongs to each tenant, also where nobody drives."""
        if self.host is not None:
            return self.host.tenants
        if self._tenants is None:
            known = self.settings()
            places = places_of(known, self._installation.secret_grants(known))
            self._tenants = Tenants(self.opened(), places, SystemClock().now, known)
        return self._tenants

    def output_dir(self, tenant: str) -> Path:
        """Where executors put what they make for a tenant."""
        if self.host is not None:
            return self.host.dispatch.services.of(tenant).output_dir.absolute()
        shared, home = self._installation.shared, tenant == self._installation.home
        if shared == "none" or shared == "others" and home:
            return self._output_dir.absolute()
        return self.path.parent.resolve() / "tenants" / folder_name(tenant) / "output"

    def now(self) -> int:
        return self.host.clock.now() if self.host is not None else SystemClock().now()

    def answer_own(self, answer: SelfCallHandler) -> None:
        if self.host is not None:
            self.host.dispatch.services.self_calls.answer = answer

    def put_in_force(self, switch: DefinitionSwitch) -> None:
        if self.host is not None:
            self.host.dispatch.services.definitions.switch = switch

    def begin(self) -> None:
        """Start driving, once; inside a running loop."""
        if self.host is not None and self.task is None:
            self.task = asyncio.ensure_future(self._drive(self.host))
            self.task.add_done_callback(self._ended)

    async def _drive(self, host: Host) -> None:
        """Begins when the caller first waits for something: executors that are registered before then are there for
        the runs that a crash has left."""
        if self.recover:
            host.recover()
        await host.run()

    async def drain(self, seconds: float) -> int:
        """Before a stop: nothing new is let out, and what is on its way has so long; how many effects have not ended.
        They are asked again by the next host."""
        return await self.host.dispatch.drain(seconds) if self.host is not None else 0

    async def aclose(self) -> None:
        if self.host is not None:
            await self.host.close()
        if self.task is not None:
            await asyncio.gather(self.task, return_exceptions=True)
        self.close()

    def _ended(self, task: asyncio.Task[None]) -> None:
        """The engine has stopped by an error: everybody who waits hears of it."""
        error = None if task.cancelled() else task.exception()
        if error is not None:
            for waiters in self._waiters.values():
                for waiter in waiters:
                    if not waiter.done():
                        waiter.set_exception(error)
        for reply_waiter in self._asking:
            reply_waiter.never(error or Refused(why="the engine is closed"))

    def raise_if_stopped(self) -> None:
        if self.task is not None and self.task.done():
            self.task.result()

    def driver(self) -> Host:
        if self.host is None:
            raise StoreBusy
        return self.host

    # -- who waits for it ----------------------------------------------------------------------------------------------

    async def heard(self, waiter: ReplyWaiter) -> None:
        """Until the engine has said what became of it; if it stops before, its error."""
        if self.task is not None and self.task.done():
            self.raise_if_stopped()
            raise Refused(why="the engine is closed")
        self._asking.add(waiter)
        try:
            await waiter.all()
        finally:
            self._asking.discard(waiter)

    def next_turn(self, run_id: str) -> asyncio.Future[None]:
        """Done when something has happened in a run; asked for before looking, so that nothing is missed."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.setdefault(run_id, []).append(future)
        return future

    def not_any_more(self, run_id: str, future: asyncio.Future[None]) -> None:
        if future in (held := self._waiters.get(run_id, [])):
            held.remove(future)

    def goes_on(self, no: int) -> bool:
        """Is the run plainly neither at its end nor at rest? Asked on every turn, so nothing is folded for it."""
        loaded = self.host.turns.runs.get(no) if self.host is not None else None
        if loaded is None or loaded.run is None:
            return False
        st = loaded.run.st
        rests = st.status != RUNNING or st.paused and not st.asked
        return not rests and not loaded.run.net.has_jobs and not any(n.calls for n in loaded.run.net.nodes)

    def unborn(self, run: str, tenant: str) -> RunRow | None:
        """A run whose first turn is still to come."""
        for loaded in self.host.turns.runs.values() if self.host is not None else ():
            if loaded.id == run and not loaded.in_store and loaded.tenant == tenant:
                return RunRow(
                    loaded.no, loaded.id, loaded.tenant, loaded.net_no, loaded.key, 0, loaded.priority, 0, 0,
                    None, None, 0, None,
                )  # fmt: skip
        return None

    def _on_facts(self, loaded: LoadedRun, facts: list[F.Fact], _n: int, now: int) -> None:
        if self.listeners and loaded.no in self.watched:
            self._moved[loaded.no] = None
            if len(self._moved) == 1:  # told when the effects of this turn have been handed over
                loop = asyncio.get_running_loop()
                loop.call_soon(loop.call_soon, self._tell_listeners)
        self._wake_all(loaded)

    def _tell_listeners(self) -> None:
        moved, self._moved = self._moved, {}
        with contextlib.suppress(StoreError):  # then they hear of it with the next turn
            for no in moved if self.store is not None else ():
                self.catch_up(no)

    def _wake_all(self, loaded: LoadedRun) -> None:
        """Those who wait for a run also wait for what it calls."""
        self._wake(loaded.id)
        for ask in self.driver().children.parents.get(loaded.id, ()):
            self._wake_all(ask.loaded)

    def _wake(self, run_id: str) -> None:
        for future in self._waiters.pop(run_id, ()):
            if not future.done():
                future.set_result(None)


def _tell_nobody(notice: Notice, run: int, seq: int, batch: Batch) -> None:
    """Nothing happens to runs where nobody drives."""
