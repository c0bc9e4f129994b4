"""One seed: a seeded scheduler drives the real host over a store, a virtual clock and a world, and faults come in between.

Phase one is safety: faults happen, every commit is held to the laws. Phase two is liveness: no faults any more, and every
run must end within a bound. Nothing here reads real time, and nothing waits.
"""

from __future__ import annotations

import hashlib
import random
import shutil
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from penstock.app.verify import verify
from penstock.errors import Fenced, PenstockError, StoreError, StoreFull
from penstock.host.clock import ManualClock
from penstock.host.embedded import Host, child_id
from penstock.kernel import command as C
from penstock.kernel.reading import Reader
from penstock.kernel.run import Run
from penstock.kernel.state import CANCELLED, EFFECT, STATUS, State
from penstock.net.compiled import Compiled
from penstock.net.model import Net
from penstock.store.contract import Batch, Store
from penstock.store.sqlite import Sqlite
from tests.sim import nets as workloads
from tests.sim.faults import SUITS, Crash, Plan, Violation
from tests.sim.nets import Workload
from tests.sim.people import People, Start
from tests.sim.store import Disk, SimStore
from tests.sim.watch import Shadow, Watch
from tests.sim.world import Call, Lane, Lanes, World, virtual_time

STEPS = 90  # per run, before faults stop
TICKS = 600  # per run, after they have stopped
LAPS = 400  # in a row
SHM = Path("/dev/shm")
CALLED = Workload("called", workloads.child(), sound=True)


class Result(msgspec.Struct):
    """What became of a seed."""

    seed: int
    violation: str | None
    hash: str
    kind: str  # of store
    steps: int
    facts: int
    runs: int
    enabled: tuple[str, ...]
    fired: dict[str, int]
    idle: list[str]
    counters: dict[str, int]
    trace: list[str] = []


class Port:
    """The store as one process sees it: every commit passes the simulation."""

    def __init__(self, inner: Any, sim: Sim, gen: int) -> None:
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

    def __init__(self, sim: Sim, gen: int, *, batch: int, checkpoint_every: int) -> None:
        self.gen = gen
        self.port = Port(sim.open_store(), sim, gen)
        self.host = Host(
            self.port, {}, clock=sim.clock, seed=sim.seed * 1000 + gen, batch=batch, publish=sim.publish
        )  # fmt: skip
        self.host.turns.checkpoint_every = checkpoint_every
        self.host.dispatch.lanes = Lanes(Lane(sim, self))  # type: ignore[assignment]


class Sim:
    """`crash_at`: number of a host call, and whether the process dies before or after it; see `nth.py`. `keep`: only these of
    the workloads that the seed draws. `wild`: also what is known to go wrong; see «Known» in the README beside this file."""

    def __init__(
        self, seed: int, *, plan: dict[str, float] | None = None, works: list[Workload] | None = None, kind: str | None = None,
        tell: bool = False, crash_at: tuple[int, str] | None = None, wild: bool = False,
        keep: tuple[int, ...] | None = None,
    ) -> None:  # fmt: skip
        self.seed, self.tell, self.crash_at, self.wild = seed, tell, crash_at, wild
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
        self.folder = Path(tempfile.mkdtemp(dir=SHM if SHM.is_dir() else None)) if self.kind == "sqlite" else None
        self.nets: dict[str, Compiled] = {}
        self.watch = Watch(self.nets, self.memory_of, self.sound)
        self.world = World(self, self.fork("world"))
        self.people = People(self, self.fork("people"))
        self.counters: Counter[str] = Counter()
        self.zombies: list[Process] = []
        self.readers: dict[int, Reader] = {}
        self.delivered: list[tuple[str, int]] = []
        self.failed_batch = False
        self.steps = 0
        self.process: Process = None  # type: ignore[assignment]
        self.works = works if works is not None else self._draw(self.fork("work"))
        if keep is not None:
            self.works = [self.works[i] for i in keep if i < len(self.works)]
        self.meddled: set[int] = set()  # runs that an operator may have got stuck

    def fork(self, label: str) -> random.Random:
        """A stream of its own, so that a draw more here changes nothing there."""
        return random.Random(f"{self.seed}/{label}")

    def _draw(self, rng: random.Random) -> list[Workload]:
        """Any nets, and often one in which a fault of this seed can happen."""
        works = [workloads.draw(rng) for _ in range(rng.choice((1, 1, 2, 3)))]
        suited = sorted({name for fault in self.plan.enabled for name in SUITS.get(fault, ())})
        if suited and rng.random() < 0.7:
            works[0] = workloads.by_hand(rng.choice(suited))
        return works

    # -- what the parts ask --------------------------------------------------------------------------------------------

    @property
    def store(self) -> Any:
        return self.process.port.inner

    def open_store(self) -> Store:
        return SimStore(self.disk) if self.folder is None else Sqlite(self.folder / "sim.db")

    def memory_of(self, no: int) -> State | None:
        live = self.process.host.turns.runs.get(no)
        return live.run.st if live is not None and live.run is not None else None

    def workload_of(self, no: int) -> Workload:
        hash_ = self.watch.runs[no].st.net
        return next((w for w in self.works if self.nets_of[id(w)] == hash_), CALLED)

    def sound(self, shadow: Shadow) -> bool:
        return shadow.no not in self.meddled and self.workload_of(shadow.no).sound

    def shadow_of(self, key: str) -> Shadow | None:
        row = self.store.run_by_key("default", key)
        return None if row is None else self.watch.runs.get(row.no)

    def runs(self) -> list[Shadow]:
        return [self.watch.runs[no] for no in sorted(self.watch.runs)]

    def heard_by(self, gen: int) -> bool:
        """Does anybody hear what this process says? Not when it is dead, or only thinks it is the engine."""
        return self.process.gen == gen and not self.dying

    def note(self, text: str) -> None:
        self.digest.update(text.encode())
        if self.tell:
            self.trace.append(f"{self.clock.at - 1_700_000_000_000:>9} {text}")

    # -- commits -------------------------------------------------------------------------------------------------------

    dying = False

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
        self.failed_batch = bool(batch.journal)
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
            raise StoreError(why="the answer is lost")

    def _before_commit(self, plan: Plan) -> None:
        if plan.hit("crash_before_commit", 0.5):
            self.die("crash before commit")
        if plan.hit("answer_lost_not_committed", 0.5):
            self.note("! a commit is lost")
            raise StoreError(why="the connection is lost")
        if plan.hit("disk_full", 0.5):
            self.note("! no room")
            raise StoreFull

    def _tell_turns(self, batch: Batch) -> None:
        if not self.tell:
            return
        from penstock.kernel import fact as F

        for no, first, last, at, body in batch.journal:
            reader = self.readers.setdefault(no, Reader(lambda hash_: self.nets[hash_]))
            self.note(f"  turn of run {no}, facts {first}..{last}")
            self.trace += [f"{'':>14}{line.seq:>4} {line.text()}" for line in reader.turn(at, F.decode_facts(bytes(body)))]

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
            if call.going.effect.safe != "at_most_once" or call.request is not None:
                self.world.answer(call)
        try:
            if old.host.lap():
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
            return act()
        except Crash:
            self.restart()
        except Fenced as error:
            if self.process.gen == gen:
                raise Violation("H1", "the process that has the store is fenced") from error
        except StoreError:
            self._commit_failed()
        except PenstockError as error:
            raise Violation("kernel", f"the engine stopped: {type(error).__name__}: {error}") from error
        except Exception as error:
            raise Violation("kernel", f"the engine broke: {type(error).__name__}: {error} {where(error)}") from error
        return None

    def _commit_failed(self) -> None:
        """The runs of the batch are dropped and folded again, by this process or by the next."""
        if not self.wild or not self.failed_batch or self.rng.random() < 0.5:
            self.restart()
            return
        self.note("the same process goes on")
        self.counters["went_on"] += 1
        for one in self.people.starts:
            one.sent_to = 0
        for letter in self.people.letters:
            letter.sent_to = 0
        self.guarded(self.process.host.recover)

    # -- one seed ------------------------------------------------------------------------------------------------------

    def run(self) -> Result:
        violation = None
        with virtual_time(self.clock):
            try:
                self.boot()
                self.prepare()
                self.safety()
                self.liveness()
                self.final()
            except Violation as found:
                violation = str(found)
                self.note(f"VIOLATION {found}")
            finally:
                self.close()
        seconds = {f"store_{self.kind}": 1, "dup_effects": self.world.dup_effects, "runs": len(self.watch.runs)}
        return Result(
            self.seed, violation, self.digest.hexdigest(), self.kind, self.steps, self.watch.facts, len(self.watch.runs),
            self.plan.enabled, dict(self.plan.fired), self.plan.idle, {**self.counters, **seconds}, self.trace,
        )  # fmt: skip

    def close(self) -> None:
        for process in (*self.zombies, self.process):
            if process is not None:
                process.port.inner.close()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def prepare(self) -> None:
        self.nets_of: dict[int, str] = {}
        for i, work in enumerate(self.works):
            for net in (*work.with_nets, work.net):
                self._release(net)
            self.nets_of[id(work)] = Compiled(work.net).hash
            one = Start(work, f"key{i}", self._release(work.net))
            self.people.starts.append(one)
            self.people.expect(one)

    def _release(self, net: Net) -> int:
        compiled = Compiled(net)
        self.nets.setdefault(compiled.hash, compiled)
        return self.process.host.release(net)

    # -- phase one -----------------------------------------------------------------------------------------------------

    def safety(self) -> None:
        for _ in range(STEPS * len(self.works)):
            self.steps += 1
            self.step()
            if not self.people.waiting_starts() and self.done() and not self.world.pool and self.rng.random() < 0.1:
                break

    def done(self) -> bool:
        return all(s.known for s in self.people.starts) and all(s.over for s in self.runs()) and not self.people.inbox

    def step(self) -> None:
        """Draw what happens next among what can happen."""
        people, world = self.people, self.world
        ways: list[tuple[float, Callable[[], Any]]] = [(4.0, self.lap)]
        if self.plan.meddles:
            ways.append((2.0, self.operate))
        if people.waiting_starts():
            ways.append((3.0, lambda: people.start(self.rng.choice(people.waiting_starts()))))
        calls = [c for c in world.pool if c.process is self.process and not c.never]
        if calls:
            ways += [(5.0, lambda: self.answer(self.rng.choice(calls))), (2.0, lambda: self.begin(self.rng.choice(calls)))]
        if self.next_moment() is not None or self.plan.has("clock_back") or self.plan.has("clock_jump"):
            ways.append((2.0 if calls else 5.0, self.time_passes))
        letters = people.open_letters()
        if letters:
            ways.append((1.5, lambda: people.post(self._letter(letters))))
        if any(s.st.items for s in self.runs()):
            ways.append((2.0, people.do_work))
        if self.zombies:
            ways.append((1.0, self.zombie))
        if self.publish:
            ways.append((0.5, self.deliver))
        weights = [w for w, _ in ways]
        self.guarded(self.rng.choices(ways, weights)[0][1])
        people.read_answers()
        if self.plan.hit("crash", 0.3):
            self.note("! crash")
            self.restart()
        elif self.plan.has("zombie") and len(self.zombies) < 2 and self.plan.rng.random() < 0.05:
            self.replaced()

    def _letter(self, letters: list[Any]) -> Any:
        if len(letters) > 1 and self.plan.hit("signal_out_of_order"):
            return letters[-1]
        return letters[0]

    def lap(self) -> bool:
        host = self.process.host
        if self.people.inbox:
            host._poll_inbox()
        busy = host.lap()
        self.note(f"lap {'' if busy else '-'}")
        return busy

    def begin(self, call: Call) -> None:
        if self.plan.hit("never_returns"):
            call.never = True
        if not self.world.begin(call):
            self.world.answer(call)

    def answer(self, call: Call) -> None:
        self.world.answer(call)

    def next_moment(self) -> int | None:
        host = self.process.host
        moments = [m for m in (self.store.next_wake(), host.dispatch.parked.next_due()) if m is not None]
        return min(moments, default=None)

    def time_passes(self) -> None:
        due, now, rng = self.next_moment(), self.clock.at, self.rng
        if self.plan.hit("clock_jump", 0.5):
            self.clock.at += rng.choice((3_600_000, 86_400_000, 2**31 * 1000 - now if now < 2**31 * 1000 else 1000))
        elif self.plan.hit("clock_back", 0.5):
            self.clock.at -= rng.choice((1, 50, 3_600_000))
        elif due is None or due <= now:
            self.clock.at += rng.choice((1, 10))
        else:
            self.clock.at = rng.choice((due, due, due - 1, due + 1, now + (due - now) // 2, due + rng.randrange(200)))
        self.note(f"time {self.clock.at - now:+}")

    def operate(self) -> None:
        """Operators, and answers that nobody waits for."""
        self.people.operate()
        plan = self.plan
        if plan.has("extra_tick"):
            for shadow in self.runs():
                if plan.hit("extra_tick"):
                    self.process.host.send(shadow.no, C.tick())
        for no, command in self._old_news():
            self.note(f"send {no} late {command[1:5]!r}")
            self.process.host.send(no, command)

    def _old_news(self) -> list[tuple[int, C.Command]]:
        plan = self.plan
        if not any(map(plan.has, ("doubled_outcome", "late_outcome", "older_attempt"))):
            return []
        found = []
        for no, command in self.world.heard[-12:]:
            shadow = self.watch.runs[no]
            firing = shadow.firing(command[1])
            if firing is None:
                kind = "late_outcome" if command[1] in shadow.st.dropped or shadow.over else "doubled_outcome"
            else:
                kind = "older_attempt" if (firing.attempt, firing.probe) > (command[2], command[3]) else "doubled_outcome"
            if kind == "doubled_outcome" and (no, command[1]) in self.process.host.dispatch.going:
                continue  # its own answer is still to come, and nobody else in this process could give it
            if plan.has(kind) and plan.hit(kind):
                found.append((no, command))
        return found

    def deliver(self) -> None:
        """The outbox's own round, without its task."""
        outbox = self.process.host.outbox

        async def sink(topic: str, told: dict[str, Any], key: str) -> None:
            if self.plan.hit("lost_reply"):
                raise ConnectionError(key)
            self.delivered.append((told["run"], told["seq"]))

        outbox.sinks.append(sink)
        try:
            outbox.deliver().send(None)
        except StopIteration:
            pass
        finally:
            outbox.sinks.remove(sink)

    # -- phase two -----------------------------------------------------------------------------------------------------

    def liveness(self) -> None:
        """No faults, and people who help: everything ends, or it is stuck."""
        self.note("healed")
        self.plan.healed = True
        for old in self.zombies:
            self.world.process_gone(old, performs=False)
            old.port.inner.close()
        self.zombies = []
        for call in self.world.pool:
            call.never = False
        self.guarded(self._laps)
        self._orphans()
        for tick in range(TICKS * len(self.works)):
            self.steps += 1
            moved = self.guarded(self._catch_up)
            self.people.read_answers()
            if moved:
                continue
            if self.done():
                return
            if not self._forward(tick):
                break
        stuck = [f"{s.no} ({self.workload_of(s.no).name}) {STATUS[s.st.status]}" for s in self.runs() if not s.over]
        raise Violation("stuck", f"runs {stuck}, starts {[s.key for s in self.people.starts if not s.known]}")

    def _laps(self) -> bool:
        """Until there is nothing to do at once."""
        for n in range(LAPS):
            if not self.lap():
                return n > 0
        raise Violation("stuck", f"{LAPS} laps in a row, and still something to do")

    def _orphans(self) -> None:
        """K23: cancel reaches whoever was called; a child that goes on has a caller that waits for it."""
        waited = {
            child_id(f"{s.st.tenant}/{s.st.run}/{Run.load(s.net, s.st).firing_id(f)}")
            for s in self.runs()
            for f in s.st.firings.values()
            if f.phase == EFFECT and s.net is not None and s.net.nodes[f.node].spec.kind == "call"
        }
        for shadow in self.runs():
            if shadow.st.parent and not shadow.over and not shadow.reopened and shadow.st.run not in waited:
                raise Violation("K23", f"run {shadow.no} goes on, and nobody waits for it")

    def _catch_up(self) -> bool:
        people, moved = self.people, False
        for one in people.waiting_starts():
            people.start(one)
            moved = True
        moved = self._laps() or moved
        for call in list(self.world.pool):
            if call in self.world.pool:
                self.world.answer(call)
                moved = True
        return moved

    def _forward(self, tick: int) -> bool:
        """Somebody helps, or time goes on; in turns, so that neither hides the other."""
        helped = tick % 2 == 0 and any([self.people.help(s) for s in self.runs() if not s.over])
        if helped:
            return True
        due = self.next_moment()
        if due is None:
            return any([self.people.help(s) for s in self.runs() if not s.over]) or bool(self.people.inbox)
        overdue = due <= self.clock.at  # the clock went back, and the host looks for far timers at a fixed time
        self.clock.at = max(self.clock.at + 1, self.process.host.far_at if overdue else due)
        self.note(f"time {self.clock.at}")
        return True

    # -- at the end ----------------------------------------------------------------------------------------------------

    def final(self) -> None:
        wrong = [v for v in verify(self.store).violations if not self.known(v)]
        if wrong:
            raise Violation(wrong[0].check, f"verify: {wrong[0].detail} ({len(wrong)} in all)")
        if self.people.inbox:
            raise Violation("H9", f"commands {sorted(self.people.inbox)} of the inbox were never answered")
        self._outbox()
        for shadow in self.runs():
            self._as_the_model(shadow)

    def known(self, found: Any) -> bool:
        """What `verify` says although nothing is lost; see «Known» in the README beside this file."""
        run = next((s for s in self.runs() if s.st.run == found.run), None)
        if run is None or self.wild:
            return False
        idle = run.no in self.watch.idle_checkpoints and "the checkpoint at fact" in found.detail
        return idle or found.check == "K14" and run.reopened

    def _outbox(self) -> None:
        """H10: what was to be told is told at least once, in order."""
        for _ in range(100 if self.publish else 0):
            if not self.store.outbox_left():
                break
            self.clock.at += 86_400_000
            self.guarded(self.deliver)
        ids = {s.st.run: s.no for s in self.runs()}
        told = [(ids[run], seq) for run, seq in self.delivered]
        if set(told) != set(self.watch.published):
            raise Violation("H10", f"{sorted(set(self.watch.published) ^ set(told))} were not told, or not said")
        if self.plan.fired["clock_back"] and not self.wild:
            return  # known: a row that was written before the clock went back waits, and later ones overtake it
        first: dict[tuple[int, int], int] = {}
        for i, one in enumerate(told):
            first.setdefault(one, i)
        order = sorted(first, key=lambda one: first[one])
        for run in ids.values():
            mine = [seq for no, seq in order if no == run]
            if mine != sorted(mine):
                raise Violation("H10", f"run {run} was told in the order {mine}")

    def _as_the_model(self, shadow: Shadow) -> None:
        """K20: whatever happened on the way, a tame net ends as the model says."""
        work = self.workload_of(shadow.no)
        st = shadow.st
        if not work.tame or st.status == CANCELLED or self.plan.fired["resolve"] or self.plan.fired["cancel_firing"]:
            return
        status, variables = work.expected()
        mine = {k: v for k, v in {**st.vars, **st.names}.items() if k != "by_hand"}
        if STATUS[st.status] != status or mine != variables:
            raise Violation("K20", f"run {shadow.no}: {STATUS[st.status]} {mine}, the model says {status} {variables}")


def run_seed(seed: int, **options: Any) -> Result:
    return Sim(seed, **options).run()


def where(error: BaseException) -> str:
    """The line that raised."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"({Path(last.filename).name}:{last.lineno} {last.name})"
