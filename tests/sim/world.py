"""The world outside: effects on their way, and a receiver that honours the key.

A `SimQueue` stands where the dispatcher keeps the tasks of an executor; all before and after it is the real host.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.executors.contract import Done, Failed, Outcome, Request, Skipped
from penstock.host import dispatch as dispatching
from penstock.host.clock import ManualClock
from penstock.host.executor_queue import DROPPED, ONCE, InFlight, request_of
from penstock.kernel import command as C
from penstock.kernel.failure import Failure
from penstock.kernel.state import EFFECT
from tests.sim.faults import Violation

if TYPE_CHECKING:
    from tests.sim.border import Border, Process

CATEGORIES = (
    "transient", "transient", "timeout", "external", "resource", "permanent", "permanent", "validation", "business",
    "authorization", "system",
)  # fmt: skip


@dataclass(eq=False)
class Call:
    """One effect that has left the engine. `request` is there once the receiver could have got it."""

    flight: InFlight
    process: Process
    request: Request | None = None
    never: bool = False

    @property
    def where(self) -> tuple[int, int, int, int]:
        ask = self.flight.ask
        return ask.loaded.no, ask.firing.no, ask.attempt, ask.probe


class SimQueue:
    def __init__(self, sim: Border, process: Process) -> None:
        self.sim, self.process = sim, process

    def put(self, flight: InFlight) -> None:
        self.sim.world.goes_out(Call(flight, self.process))


class SimQueues(dict[str, Any]):
    """Whatever the executor is called, its effects end up in the same pool."""

    def __init__(self, queue: SimQueue) -> None:
        super().__init__()
        self.queue = queue

    def get(self, name: str, default: Any = None) -> Any:
        return self.queue


class World:
    def __init__(self, sim: Border, rng: random.Random) -> None:
        self.sim, self.rng = sim, rng
        self.pool: list[Call] = []
        self.results: dict[str, Outcome] = {}  # key → the first success
        self.keys: dict[tuple[int, int], str] = {}  # run, firing → its key
        self.once: set[tuple[str, int]] = set()  # at-most-once effects that the receiver has got
        self.heard: list[tuple[int, C.Command]] = []  # every answer there ever was, for those that come late
        self.asks: dict[str, int] = {}
        self.downs: dict[tuple[str, str], str] = {}
        self.dup_effects = 0

    # -- out ----------------------------------------------------------------------------------------------------------

    def goes_out(self, call: Call) -> None:
        """E1, E6, E10: nothing leaves that is not committed. A process that was replaced may repeat itself."""
        ask, run_no = call.flight.ask, call.flight.ask.loaded.no
        shadow = self.sim.watch.runs.get(run_no)
        firing = shadow.firing(ask.firing.no) if shadow is not None else None
        name = f"run {run_no}: effect {ask.firing.no}.{ask.attempt}.{ask.probe}"
        if call.process is not self.sim.process:
            self.pool.append(call)
            return
        asked = (firing.attempt, firing.probe) if firing is not None and firing.phase == EFFECT else None
        if asked != (ask.attempt, ask.probe):
            raise Violation("E1", f"{name} goes out and is not committed")
        if call.flight.plan.effect.safe == ONCE:
            marks = {(run, no): attempt for _, run, no, attempt, _ in self.sim.store.intents()}
            if marks.get((run_no, ask.firing.no)) != ask.attempt:
                raise Violation("E6", f"{name} goes out and is not marked")
        self._places(call)
        self.pool.append(call)
        self.sim.note(f"    out  {name} «{call.flight.plan.node.id}»")
        self.sim.host_call("out")

    def _places(self, call: Call) -> None:
        """At most `limit` effects of a name at once."""
        place = call.flight.plan.effect.concurrency
        if place is not None:
            taken = [
                c for c in self.pool
                if c.process is call.process and c.flight.plan.effect.concurrency == place and not c.flight.dropped
            ]  # fmt: skip
            if len(taken) >= place.limit:
                raise Violation("E8", f"{len(taken) + 1} effects hold «{place.name}», which has {place.limit} places")

    def begin(self, call: Call) -> bool:
        """As the dispatcher's queue does: an effect whose run was dropped meanwhile never starts."""
        if call.request is not None:
            return True
        flight = call.flight
        if flight.ask.loaded.run is None:
            flight.dropped = True
        if flight.dropped:
            return False
        flight.started = self.sim.clock.now() * 1_000_000
        try:
            dispatch = call.process.host.dispatch
            call.request = request = request_of(flight, dispatch.blobs, dispatch.now)
        except KeyError:  # its scope is gone: the queue would answer that the executor broke, and nobody would listen
            flight.dropped = True
            return False
        where = call.where[:2]
        known = self.keys.setdefault(where, request.key)
        if known != request.key:
            raise Violation("E2", f"firing {where} has the keys {known} and {request.key}")
        return True

    # -- the receiver -------------------------------------------------------------------------------------------------

    def perform(self, call: Call) -> Outcome:
        """The same key is the same effect: it happens once and is answered alike."""
        request = call.request
        assert request is not None
        if call.flight.plan.effect.safe == ONCE:
            mark = (request.key, request.attempt)
            if mark in self.once:
                raise Violation("E6", f"{request.key} may happen once and happened again in attempt {request.attempt}")
            self.once.add(mark)
        outcome = self.results.get(request.key)
        if outcome is not None:
            self.dup_effects += 1
        else:
            outcome = self._outcome(call, request)
        if type(outcome) is Done and call.flight.plan.node.spec.poll is None:
            self.results[request.key] = outcome
        return self._tagged(call, outcome)

    def _outcome(self, call: Call, request: Request) -> Outcome:
        work = self.sim.workload_of(call.where[0])
        plan, rng = self.sim.plan, self.rng
        if request.node in work.fails:
            return Failed(Failure("X", "permanent", "it always does"))
        if work.tame:
            return Done(request.node)
        down = self._down(request)
        if down and plan.has("fail"):
            plan.fired["fail"] += 1
            return Failed(Failure("DOWN", down, "it is down"))
        if plan.hit("fail", 2):
            return Failed(Failure(rng.choice("XY"), rng.choice(CATEGORIES), "it broke"))
        if plan.hit("skip"):
            return Skipped()
        if call.flight.plan.node.spec.poll is not None:
            probes = self.asks[request.key] = self.asks.get(request.key, 0) + 1
            return Done("again" if probes < 3 and rng.random() < 0.5 else "ready")
        return Done(rng.choice((1, 2, "again", {"n": 3})))

    def _down(self, request: Request) -> str:
        """With faults on, some receivers are down for good: every attempt fails alike, until faults stop."""
        where = (request.run, request.node)
        if where not in self.downs:
            ways = ("transient", "transient", "permanent")
            self.downs[where] = self.rng.choice(ways) if self.rng.random() < 0.1 else ""
        return self.downs[where]

    def _tagged(self, call: Call, outcome: Outcome) -> Outcome:
        """Every answer says which ask it answers, so that the watch can tell when it is taken for another's."""
        _, *ask = call.where
        if type(outcome) is Done:
            return Done(outcome.body, {"ask": ask}, outcome.content_type)
        if type(outcome) is Failed:
            f = outcome.failure
            return Failed(Failure(f.code, f.category, f.message, f.node, ["ask", *ask]))
        return Skipped("ask:" + ".".join(map(str, ask)))

    # -- back ---------------------------------------------------------------------------------------------------------

    def answer(self, call: Call) -> None:
        """Perform it, if it may still be, and tell the engine."""
        flight, process = call.flight, call.process
        self.pool.remove(call)
        started = self.begin(call)
        if not started:
            self.sim.note(f"    drop {call.where}")
            process.host.dispatch.ended(flight, DROPPED)
            return
        self.sim.host_call("perform")
        outcome = self.perform(call)
        self._remember(call, outcome)
        self.sim.host_called()
        self.sim.note(f"    back {call.where} {_brief(outcome)}{' to nobody' if flight.dropped else ''}")
        process.host.dispatch.ended(flight, outcome)

    def _remember(self, call: Call, outcome: Outcome) -> None:
        no, firing, attempt, probe = call.where
        if type(outcome) is Done:
            command = C.done(firing, attempt, probe, outcome.body, outcome.content_type, outcome.meta)
        elif type(outcome) is Failed:
            command = C.failed(firing, attempt, outcome.failure, probe)
        else:
            command = C.skipped(firing, attempt, outcome.reason, probe)  # type: ignore[union-attr]
        self.heard.append((no, command))

    def process_gone(self, process: Process, *, performs: bool) -> int:
        """Its effects: those the receiver has got may have happened, the others never left."""
        mine = [c for c in self.pool if c.process is process]
        self.pool = [c for c in self.pool if c.process is not process]
        happened = 0
        for call in mine:
            if performs and call.request is not None and not call.flight.dropped:
                self._remember(call, self.perform(call))
                happened += 1
        return happened


def _brief(outcome: Outcome) -> str:
    if type(outcome) is Failed:
        return f"failed {outcome.failure.code} {outcome.failure.category}"
    return f"done {outcome.body!r}" if type(outcome) is Done else "skipped"


class _VirtualTime:
    """What the dispatcher reads of `time`, from the simulation's clock."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock

    def perf_counter_ns(self) -> int:
        return self.clock.now() * 1_000_000

    def monotonic(self) -> float:
        return self.clock.now() / 1000


@contextlib.contextmanager
def virtual_time(clock: ManualClock) -> Iterator[None]:
    right = vars(dispatching)["time"]
    vars(dispatching)["time"] = _VirtualTime(clock)
    try:
        yield
    finally:
        vars(dispatching)["time"] = right
