"""The border of the process: every call across it is counted, may fail or be its last, and is watched.

Processes are booted, die, are replaced and wake again here; what they do in between is drawn in `sim.py`.
"""

from __future__ import annotations

import hashlib
import random
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.errors import Fenced, StoreAway, StoreError, StoreFull
from penstock.host.clock import ManualClock
from penstock.host.embedded import Host
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.fact_lines import FactReader
from penstock.kernel.run import Run
from penstock.net.compiled import Compiled
from penstock.store.contract import Store
from penstock.store.run_store import Batch
from penstock.store.sqlite import Sqlite
from tests.sim.faults import Crash, Plan, Violation
from tests.sim.nets import Workload
from tests.sim.store import Disk, SimStore
from tests.sim.watch import Shadow, Watch
from tests.sim.world import SimQueue, SimQueues, World

SHM = Path("/dev/shm")


class Port:
    """The store as one process sees it: every commit passes the simulation."""

    def __init__(self, inner: Any, sim: Border, gen: int) -> None:
        self.inner, self.sim, self.gen = inner, sim, gen

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def commit(self, batch: Batch) -> None:
        self.sim.commit(self, batch)

    def tidy(self, now: int) -> None:
        self.sim.host_call("tidy")
        self.inner.tidy(now)
        self.sim.host_called()

    def outbox_moved(self, done: Any, later: Any) -> None:
        self.sim.host_call("outbox")
        self.inner.outbox_moved(done, later)
        self.sim.host_called()


class Process:
    """One life of the engine."""

    def __init__(self, sim: Border, gen: int, *, batch: int, checkpoint_every: int) -> None:
        self.gen = gen
        self.port = Port(sim.open_store(), sim, gen)
        seed = sim.seed * 1000 + gen
        self.host = Host(self.port, {}, clock=sim.clock, seed=seed, batch=batch, publish=sim.publish)
        if sim.slices:
            self.host.limits.slice = 3 + seed % 40  # turns end in the middle, and crashes come between two slices
        self.host.turns.holds_ns = self.host.intake.holds_ns = 1 << 62  # a seed tells all: nothing hangs on the clock
        self.host.turns.rows.checkpoint_every = checkpoint_every
        self.host.dispatch.queues = SimQueues(SimQueue(sim, self))


class Border:
    """`crash_at`: number of a host call, and whether the process dies before or after it; see `nth.py`."""

    slices = True  # small ones, another size in every life of the engine

    def __init__(
        self, seed: int, plan: dict[str, float] | None, kind: str | None, *, tell: bool,
        crash_at: tuple[int, str] | None,
    ) -> None:  # fmt: skip
        self.seed, self.tell, self.crash_at = seed, tell, crash_at
        self.calls = 0
        self.trace: list[str] = []
        self.digest = hashlib.sha256()
        self.plan = Plan(self.fork("faults"), plan)
        self.rng = self.fork("scheduler")
        self.clock = ManualClock()
        shape = self.fork("shape")
        self.kind = kind or ("sqlite" if seed % 10 == 3 else "dict")
        self.publish = shape.random() < 0.3
        self.batch, self.checkpoint_every = shape.choice((1, 2, 512, 512)), shape.choice((1, 2, 5, 50))
        self.disk = Disk()
        self.folder: Path | None = None  # of the store on a file
        self.nets: dict[str, Compiled] = {}
        self.watch = Watch(self.nets, self.memory_of, self.sound, cancels=self.cancels, index=seed % 5 == 0)
        self.world = World(self, self.fork("world"))
        self.counters: Counter[str] = Counter()
        self.readers: dict[int, FactReader] = {}
        self.dying = False
        self.process: Process = None  # type: ignore[assignment]
        self.zombies: list[Process] = []

    def fork(self, label: str) -> random.Random:
        """A stream of its own, so that a draw more here changes nothing there."""
        return random.Random(f"{self.seed}/{label}")

    def sound(self, shadow: Shadow) -> bool:
        raise NotImplementedError

    def workload_of(self, no: int) -> Workload:
        raise NotImplementedError

    @property
    def store(self) -> Any:
        return self.process.port.inner

    def open_store(self) -> Store:
        if self.kind == "dict":
            return SimStore(self.disk)
        if self.folder is None:
            self.folder = Path(tempfile.mkdtemp(dir=SHM if SHM.is_dir() else None))
        return Sqlite(self.folder / "sim.db")

    def memory_of(self, no: int) -> Run | None:
        live = self.process.host.turns.runs.get(no)
        return live.run if live is not None else None

    def cancels(self, no: int) -> bool:
        live = self.process.host.turns.runs.get(no)
        return live is not None and any(command[0] == C.CANCEL for command in live.commands)

    def heard_by(self, gen: int) -> bool:
        """Does anybody hear what this process says? Not when it is dead, or only thinks it is the engine."""
        return self.process.gen == gen and not self.dying

    def note(self, text: str) -> None:
        self.digest.update(text.encode())
        if self.tell:
            self.trace.append(f"{self.clock.at - 1_700_000_000_000:>9} {text}")

    # -- commits -------------------------------------------------------------------------------------------------------

    def die(self, why: str) -> None:
        self.dying = True
        self.note(f"! {why}")
        raise Crash(why)

    def host_call(self, name: str) -> None:
        """A call across the border of the process has begun."""
        if self.dying:
            return
        self.calls += 1
        if self.crash_at == (self.calls, "before"):
            self.counters["nth_crash"] += 1
            self.die(f"crash before call {self.calls} ({name})")

    def host_called(self) -> None:
        if not self.dying and self.crash_at == (self.calls, "after"):
            self.counters["nth_crash"] += 1
            self.die(f"crash after call {self.calls}")

    def commit(self, port: Port, batch: Batch) -> None:
        plan = self.plan
        current = port.gen == self.process.gen
        self.host_call("commit")
        if current:
            self._before_commit(plan)
        try:
            port.inner.commit(batch)
        except Fenced:
            if not current:
                self.counters["zombie_rejected"] += 1
            raise
        if not current:
            raise Violation("H2", f"process {port.gen} commits, and {self.process.gen} has the store")
        self._tell_turns(batch)
        for no, first, last, at, body in batch.journal:
            self.digest.update(f"{no} {first} {last} {at}".encode() + bytes(body))
        self.watch.committed(batch, publish=self.publish)
        self.counters["commits"] += 1
        self.host_called()
        if plan.hit("crash_after_commit", 0.5):
            self.die("crash after commit")
        if plan.hit("answer_lost_committed", 0.5):
            self.note("! the answer to a commit is lost")
            raise StoreAway(why="the answer is lost")

    def _before_commit(self, plan: Plan) -> None:
        if plan.hit("crash_before_commit", 0.5):
            self.die("crash before commit")
        if plan.hit("answer_lost_not_committed", 0.5):
            self.note("! a commit is lost")
            raise StoreAway(why="the connection is lost")
        if plan.hit("disk_full", 0.5):
            self.note("! no room")
            raise StoreFull

    def _tell_turns(self, batch: Batch) -> None:
        for no, first, last, at, body in batch.journal if self.tell else ():
            reader = self.readers.setdefault(no, FactReader(lambda hash_: self.nets[hash_]))
            lines = reader.turn(at, F.decode_facts(bytes(body)))
            self.trace.append(f"{'':>12}turn of run {no}, facts {first}..{last}")
            self.trace += [f"{'':>14}{line.seq:>4} {line.text()}" for line in lines]

    # -- processes -----------------------------------------------------------------------------------------------------

    def boot(self) -> None:
        """A new process takes the store and goes on, however often it dies while it does."""
        for _ in range(50):
            gen = self.process.gen + 1 if self.process is not None else 1
            self.dying = False
            self.note(f"process {gen}")
            self.process = Process(self, gen, batch=self.batch, checkpoint_every=self.checkpoint_every)
            try:
                self.process.host.recover()
                return
            except (Crash, StoreError) as error:
                if isinstance(error, Fenced):
                    raise Violation("H1", "the newest process is fenced") from error
                self.bury(self.process)
        raise Violation("H6", "fifty processes in a row died while they recovered")

    def bury(self, process: Process) -> None:
        self.counters["processes_died"] += 1
        self.dying = True
        self.world.process_gone(process, performs=self.plan.hit("crash_after_call", 4))
        process.port.inner.close()

    def restart(self) -> None:
        self.bury(self.process)
        self.boot()

    def replaced(self) -> None:
        """The process hangs; another takes over; later the old one wakes and believes that nothing has happened."""
        old = self.process
        self.note(f"process {old.gen} hangs")
        if self.folder is not None:
            old.port.inner._unlock()
        self.zombies.append(old)
        self.boot()

    def zombie(self) -> None:
        """It goes on where it was: its commit must fail, and then it ends."""
        old = self.rng.choice(self.zombies)
        self.note(f"process {old.gen} wakes")
        mine = [c for c in self.world.pool if c.process is old]
        for call in mine[:2]:
            if call.flight.plan.effect.safe != "at_most_once" or call.request is not None:
                self.world.answer(call)
        try:
            if old.host.iterate():
                return
        except Fenced:
            self.plan.fired["zombie"] += 1
        self.zombies.remove(old)
        self.world.process_gone(old, performs=False)
        old.port.inner.close()

    def guarded(self, act: Callable[[], Any]) -> Any:
        """Do something in the engine; if the process dies of it, another takes over."""
        gen = self.process.gen
        try:
            done = act()
            self._nothing_parked()
            return done
        except Crash:
            self.restart()
        except Fenced as error:
            if self.process.gen == gen:
                raise Violation("H1", "the process that has the store is fenced") from error
        except StoreError:
            self._commit_failed()
        return None

    def _nothing_parked(self) -> None:
        """The host leaves a run alone that trips over a bug of the engine; here that is what we look for."""
        for process in (self.process, *self.zombies):
            for no, why in process.host.turns.parked.items():
                raise Violation("kernel", f"run {no}: {why}")

    def _commit_failed(self) -> None:
        """The runs of the batch are dropped and folded again, by this process or by the next."""
        if self.rng.random() < 0.5:
            self.restart()
            return
        self.note("the same process goes on")
        self.counters["went_on"] += 1
