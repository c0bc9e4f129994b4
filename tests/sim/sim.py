"""One seed: a seeded scheduler drives the real host over a store, a virtual clock and a world, and faults come between.

Phase one is safety: faults happen, every commit is held to the laws. Phase two is liveness: no faults any more, and
every run must end within a bound. Nothing here reads real time, and nothing waits.
"""

from __future__ import annotations

import contextlib
import random
import shutil
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from penstock.host.children import child_id
from penstock.kernel import command as C
from penstock.kernel.run import Run
from penstock.kernel.state import EFFECT, STATUS
from penstock.net.compiled import Compiled
from penstock.net.model import Net
from tests.sim import nets as workloads
from tests.sim.border import Border
from tests.sim.ending import final
from tests.sim.faults import SUITS, Violation
from tests.sim.nets import Workload
from tests.sim.people import Letter, People, Start
from tests.sim.watch import Shadow
from tests.sim.world import Call, virtual_time

STEPS = 90  # per run, before faults stop
TICKS = 600  # per run, after they have stopped
LAPS = 400  # in a row
CALLED = Workload("called", workloads.child(), sound=True)


class Result(msgspec.Struct):
    """What became of a seed."""

    seed: int
    violation: str | None
    hash: str
    kind: str  # of store
    steps: int
    facts: int
    enabled: tuple[str, ...]
    fired: dict[str, int]
    idle: list[str]
    counters: dict[str, int]
    trace: list[str] = []


class Sim(Border):
    """`keep`: only these of the workloads that the seed draws. For the others see `Border`."""

    def __init__(
        self, seed: int, *, plan: dict[str, float] | None = None, works: list[Workload] | None = None,
        keep: tuple[int, ...] | None = None, kind: str | None = None, tell: bool = False,
        crash_at: tuple[int, str] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(seed, plan, kind, tell=tell, crash_at=crash_at)
        self.people = People(self, self.fork("people"))
        self.works = works if works is not None else self._draw(self.fork("work"))
        if keep is not None:
            self.works = [self.works[i] for i in keep if i < len(self.works)]
        self.by_net: dict[str, Workload] = {}
        self.meddled: set[int] = set()  # runs that an operator may have got stuck
        self.delivered: list[tuple[str, int]] = []
        self.steps = 0

    def _draw(self, rng: random.Random) -> list[Workload]:
        """Any nets, and often one in which a fault of this seed can happen."""
        works = [workloads.draw(rng) for _ in range(rng.choice((1, 1, 2, 3)))]
        suited = sorted({name for fault in self.plan.enabled for name in SUITS.get(fault, ())})
        if suited and rng.random() < 0.7:
            works[0] = workloads.by_hand(rng.choice(suited))
        own = self.fork("people_and_agents")  # beside the others, so that what was found by a seed stays found by it
        if own.random() < 0.15:
            works.append(workloads.process(own))
        if self.fork("files_in_a_line").random() < 0.15:
            works += [workloads.in_line() for _ in range(3)]
        return works

    # -- what the parts ask --------------------------------------------------------------------------------------------

    def workload_of(self, no: int) -> Workload:
        return self.by_net.get(self.watch.runs[no].st.net, CALLED)

    def sound(self, shadow: Shadow) -> bool:
        return shadow.no not in self.meddled and self.workload_of(shadow.no).sound

    def shadow_of(self, key: str) -> Shadow | None:
        row = self.store.run_by_key("default", key)
        return None if row is None else self.watch.runs.get(row.no)

    def runs(self) -> list[Shadow]:
        return [self.watch.runs[no] for no in sorted(self.watch.runs)]

    # -- one seed ------------------------------------------------------------------------------------------------------

    def run(self) -> Result:
        violation = None
        with virtual_time(self.clock):
            try:
                self.boot()
                self.prepare()
                self.safety()
                self.liveness()
                final(self)
            except Violation as found:
                violation = str(found)
            except Exception as error:
                violation = f"kernel: the engine broke: {type(error).__name__}: {error} {where(error)}"
            finally:
                self.close()
        if violation:
            self.note(f"VIOLATION {violation}")
        counted = {f"store_{self.kind}": 1, "dup_effects": self.world.dup_effects, "runs": len(self.watch.runs)}
        return Result(
            self.seed, violation, self.digest.hexdigest(), self.kind, self.steps, self.watch.facts, self.plan.enabled,
            dict(self.plan.fired), self.plan.idle, {**self.counters, **counted}, self.trace,
        )  # fmt: skip

    def close(self) -> None:
        for process in (*self.zombies, self.process):
            if process is not None:
                process.port.inner.close()
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def prepare(self) -> None:
        for i, work in enumerate(self.works):
            for net in (*work.with_nets, work.net):
                self._release(net)
            self.by_net[Compiled(work.net).hash] = work
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
            ways.append((5.0, lambda: self.world.answer(self.rng.choice(calls))))
            ways.append((2.0, lambda: self.begin(self.rng.choice(calls))))
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

    def _letter(self, letters: list[Letter]) -> Letter:
        if len(letters) > 1 and self.plan.hit("signal_out_of_order", 2):
            return letters[-1]
        return letters[0]

    def lap(self) -> bool:
        host = self.process.host
        if self.people.inbox:
            host.inbox.poll()
        busy = host.iterate()
        self.note(f"lap {'' if busy else '-'}")
        return busy

    def begin(self, call: Call) -> None:
        if self.plan.hit("never_returns"):
            call.never = True
        if not self.world.begin(call):
            self.world.answer(call)

    def next_moment(self) -> int | None:
        host = self.process.host
        moments = [m for m in (self.store.next_wake(), host.dispatch.waiting.next_due()) if m is not None]
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
                older = (firing.attempt, firing.probe) > (command[2], command[3])
                kind = "older_attempt" if older else "doubled_outcome"
            if kind == "doubled_outcome" and (no, command[1]) in self.process.host.dispatch.in_flight:
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
            with contextlib.suppress(StopIteration):
                outbox.deliver().send(None)
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
            steered = shadow.reopened or shadow.st.paused or shadow.st.draining  # by an operator
            if shadow.st.parent and not shadow.over and not steered and shadow.st.run not in waited:
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
        due = self.next_moment()
        if due is None or tick % 2 == 0:
            helped = [s for s in self.runs() if not s.over and self.people.help(s)]
            if helped or due is None:
                return bool(helped or self.people.inbox)
        self.clock.at = max(self.clock.at + 1, due)
        self.note(f"time {self.clock.at}")
        return True


def where(error: BaseException) -> str:
    """The line that raised."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"({Path(last.filename).name}:{last.lineno} {last.name})"
