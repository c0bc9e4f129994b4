"""Dispatch: let committed effects out, through the gate, and bring their outcomes back. One sweeper keeps deadlines."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from penstock.errors import ExprError, PenstockError, StoreError
from penstock.executors.contract import Done, Executor, Failed, InLanes, Outcome, Services, Stoppable, failed
from penstock.host.blobs import Blobs
from penstock.host.executor_queue import DROPPED, ONCE, EffectPlan, ExecutorQueue, InFlight, Slice, request_of
from penstock.host.gate import Gate, Verdict, Wait, WaitingEffects, place_queue
from penstock.host.jobs import JOB
from penstock.host.loaded_run import Ask, LoadedRun
from penstock.host.worker_limits import QUEUE
from penstock.kernel.failure import OUTAGE
from penstock.kernel.state import Firing
from penstock.kernel.view import View
from penstock.net.compiled import CNode, expression, value
from penstock.net.model import Effect
from penstock.store.run_store import Batch, RunStore

_canonical = msgspec.msgpack.Encoder(order="deterministic").encode
WIDTH = 256
SWEEP_S = 0.02

Answer = Callable[[Ask, Outcome, int], None]
#: what the gate has made of an effect: it may go, it waits on in its queue, it needs no place there (any more)
GO, WAITS, ANSWERED = range(3)


class Dispatch:
    """`answer` takes every outcome; `call` takes what no executor performs: calls of runs, and jobs, unless an executor
    of this very name performs those, as in tests; `wake_up` has the engine look again."""

    def __init__(
        self, store: RunStore, executors: Mapping[str, Executor], services: Services, gate: Gate, blobs: Blobs,
        answer: Answer, call: Callable[[Ask], None], wake_up: Callable[[], None], now: Callable[[], int], *,
        width: int = WIDTH, share: Callable[[str], float] = lambda tenant: 1.0,
    ) -> None:  # fmt: skip
        self.store, self.executors, self.services, self.gate, self.blobs = store, executors, services, gate, blobs
        self.answer, self.call, self.wake_up, self.now = answer, call, wake_up, now
        self.width, self.share = width, share
        self.performs_jobs = executors.get(JOB) is not None
        self.queues: dict[str, ExecutorQueue] = {}
        self.plans: dict[CNode, EffectPlan] = {}
        self.waiting = WaitingEffects()
        self.draining = False  # nothing new goes out; what was asked is asked again by the next host
        self.unmarked: list[InFlight] = []  # whose mark could not be committed: they have not left
        self.unmarked_why = StoreError(why="")
        self.in_flight: dict[tuple[int, int], InFlight] = {}
        self.timed: dict[tuple[int, int], InFlight] = {}
        self.closing = False
        self.broken: BaseException | None = None
        self._sweeper: asyncio.Task[None] | None = None
        self.slice = Slice()

    # -- out -----------------------------------------------------------------------------------------------------------

    def out(self, asks: list[Ask]) -> None:
        if self.draining:
            return
        ready: list[InFlight] = []
        try:
            self._sort_out(asks, ready)
        finally:  # where the store could not be read for one of them, too: the gate has let these in
            if ready:
                self._go_all(ready)

    def _sort_out(self, asks: list[Ask], ready: list[InFlight]) -> None:
        """What needs no gate goes; what it lets in at once is `ready`."""
        plans, go = self.plans, self._go
        for ask in asks:
            run = ask.loaded.run
            if run is None:
                continue
            node = run.net.nodes[ask.firing.node]
            plan = plans.get(node)
            if plan is None:
                if node.effect is None:
                    continue
                plan = self._plan(node, node.effect)
            if plan.call:
                self.call(ask)
                continue
            flight = InFlight(ask, plan)
            if not plan.gated:
                go(flight)
            elif self._through_gate(flight) == GO:
                ready.append(flight)

    def _plan(self, node: CNode, effect: Effect) -> EffectPlan:
        plan = self.plans.get(node)
        if plan is None:
            plan = self.plans[node] = EffectPlan(
                node, effect, self.gate.workers.limited, outside=node.job and not self.performs_jobs
            )
        return plan

    def _go_all(self, ready: list[InFlight]) -> None:
        """At-most-once effects are marked in a commit before the call: a crash leaves a doubt and not a repetition."""
        batch = Batch()
        now = self.now()
        for flight in ready:
            if flight.plan.effect.safe == ONCE:
                ask = flight.ask
                batch.intent.append((flight.key, ask.loaded.no, ask.firing.no, ask.attempt, "started", now))
        if batch.intent:
            try:
                self.store.commit(batch)
            except StoreError as error:
                self.unmarked += ready
                self.unmarked_why = error
                self.wake_up()
                if error.passing:
                    return
                raise
        for flight in ready:
            self._go(flight)

    def _through_gate(self, flight: InFlight, *, again: str | None = None) -> int:
        """`again`: it has waited before, in the queue of this name."""
        effect, ask = flight.plan.effect, flight.ask
        run, at = ask.loaded.run, (ask.loaded.no, ask.firing.no)
        if run is None:  # its turn was lost with the commit; whoever folds the run again asks again
            flight.dropped = True
            if self.in_flight.get(at) is flight:
                del self.in_flight[at]
            return ANSWERED
        try:
            if again is None:
                flight.key = run.effect_key(ask.firing)
                shared = effect.cache is not None and effect.cache.shared
                flight.cache = (
                    (effect.cache, self._gate_key(flight, effect.cache.key, shared)) if effect.cache else None
                )
                asked = (spec for spec in (effect.once, effect.dedupe) if spec is not None)
                flight.dedupe = tuple((spec, self._gate_key(flight, spec.key)) for spec in asked)
                self.in_flight[at] = flight
            verdict: Verdict = self.gate.admit(
                self.now(), flight.key, tenant=run.st.tenant, concurrency=effect.concurrency,
                rate=None if flight.drawn else effect.rate, breaker=effect.breaker, cache=flight.cache,
                dedupe=flight.dedupe,
            )  # fmt: skip
        except ExprError as error:
            verdict = failed(error.code, "validation", str(error))
        if verdict == "go":
            return GO
        if isinstance(verdict, Wait):
            flight.drawn = flight.drawn or verdict.drawn
            same = verdict.place and verdict.on == again
            self.waiting.add(verdict.on, flight, verdict.until, first=same)
            return WAITS if same else ANSWERED
        self.in_flight.pop(at, None)
        self.answer(ask, verdict, 0)
        return ANSWERED

    def _gate_key(self, flight: InFlight, key: Any, shared: bool = False) -> str:
        """The value of an expression, or of a tree: long ones by their hash."""
        run = flight.ask.loaded.run
        assert run is not None
        firing = flight.ask.firing
        view = View(run, run.st.scopes[firing.scope], firing.epoch, flight.plan.node, firing)
        stem = f"{run.st.tenant}/" if shared else f"{run.st.tenant}/{run.net.net.name}/{flight.plan.node.id}/"
        if isinstance(key, str):
            compiled = expression(key)
            assert compiled is not None
            return f"{stem}{compiled(view)}"
        return stem + hashlib.sha256(_canonical(value(key)[1](view))).hexdigest()

    def _go(self, flight: InFlight) -> None:
        queue = flight.plan.queue or self._queue(flight)
        if queue is not None:
            ask = flight.ask
            self.in_flight[ask.loaded.no, ask.firing.no] = flight
            queue.put(flight)

    def _queue(self, flight: InFlight) -> ExecutorQueue | None:
        name = flight.plan.effect.executor
        queue = self.queues.get(name)
        if queue is None:
            try:
                executor = self.executors.get(name)
            except PenstockError as error:
                self._refuse(flight, error.code, str(error))
                return None
            if executor is None:
                self._refuse(flight, "EXECUTOR_UNKNOWN", f"no executor is called «{name}»")
                return None
            if isinstance(executor, InLanes):
                lane = executor.lane(flight.plan.effect.args)
                name, width = f"{name}.{lane.name}", lane.width
            else:
                width = getattr(executor, "width", self.width)
            queue = self.queues.get(name)
            if queue is None:
                queue = self.queues[name] = ExecutorQueue(self, executor, min(self.width, width))
        flight.plan.queue = queue
        return queue

    def _refuse(self, flight: InFlight, code: str, message: str) -> None:
        flight.started = time.perf_counter_ns()
        self.ended(flight, failed(code, "permanent", message))

    def watch(self, flight: InFlight, timeout_ms: int) -> None:
        """An attempt has begun; its time runs from now, not from when it was asked."""
        flight.deadline = time.monotonic() + timeout_ms / 1000
        self.timed[flight.ask.loaded.no, flight.ask.firing.no] = flight
        if self._sweeper is None:
            self._sweeper = asyncio.ensure_future(self._sweep())

    def named(self, ask: Ask, node: CNode) -> dict[str, Any]:
        """What a call has taken, by name."""
        assert node.effect is not None
        return request_of(InFlight(ask, self._plan(node, node.effect)), self.blobs, self.now).named()

    # -- back ----------------------------------------------------------------------------------------------------------

    def ended(self, flight: InFlight, outcome: Outcome) -> None:
        ask = flight.ask
        at = (ask.loaded.no, ask.firing.no)
        if self.in_flight.get(at) is flight:
            del self.in_flight[at]
        if flight.deadline is not None and self.timed.get(at) is flight:
            del self.timed[at]
        took_ns = time.perf_counter_ns() - flight.started
        if flight.plan.reports_end:
            effect = flight.plan.effect
            self.gate.ended(
                self.now(), flight.key, None if flight.dropped else outcome, took_ns // 1_000_000,
                tenant=ask.loaded.tenant, concurrency=effect.concurrency, rate=effect.rate, breaker=effect.breaker,
                cache=flight.cache, dedupe=flight.dedupe,
            )  # fmt: skip
            if self.gate.workers.limited:
                self._release_worker()
            if effect.concurrency is not None:
                self._release(place_queue(ask.loaded.tenant, effect.concurrency))
            for _, key in flight.dedupe:
                self._release_all(f"dedupe:{key}")
            if flight.plan.falls_back and isinstance(outcome, Failed):
                outcome = self._by_fallback(flight, outcome)
        if not flight.dropped:
            self.answer(ask, outcome, took_ns)
        elif type(outcome) is Done and outcome.taken is not None:
            outcome.taken.give_back()

    def _release_worker(self) -> None:
        """C-78: it goes to the tenant that has waited longest for one and has not all of its own at work."""
        for name in self.waiting.waiting_in(QUEUE):
            if not self.gate.workers.full(name.removeprefix(QUEUE)) and self._release(name):
                self.waiting.served(name)
                return

    def _release(self, name: str) -> bool:
        """A place is free: it goes to the oldest that can use it. False: to nobody."""
        while (flight := self.waiting.released(name)) is not None:
            if flight.dropped:
                continue
            verdict = self._through_gate(flight, again=name)
            if verdict == GO:
                self._go_all([flight])
            if verdict != ANSWERED:
                return True
        return False

    def _release_all(self, name: str) -> None:
        """Who has waited for what is done now asks again: for its answer, or to do it instead."""
        for flight in self.waiting.all_of(name):
            if not flight.dropped and self._through_gate(flight, again=name) == GO:
                self._go_all([flight])

    def _by_fallback(self, flight: InFlight, outcome: Failed) -> Failed:
        """W-7.4.1: the last try has failed and its breaker is open by now, so the fallback takes over."""
        firing, retry, failure = flight.ask.firing, flight.plan.node.spec.retry, outcome.failure
        again = firing.attempt - firing.base <= retry.max and failure.category in retry.on
        breaker = flight.plan.effect.breaker
        if again or failure.category not in OUTAGE or breaker is None:
            return outcome
        if not self.gate.is_open(breaker, flight.ask.loaded.tenant):
            return outcome
        return failed("CIRCUIT_OPEN", "external", failure.message, {"code": failure.code, "category": failure.category})

    def release_held_back(self) -> None:
        """Effects whose rate lets them go by now, and those that could not be marked before."""
        if self.broken is not None:
            raise self.broken
        if self.unmarked:
            ready, self.unmarked = self.unmarked, []
            for flight in ready:
                if flight.dropped:
                    self.ended(flight, DROPPED)
            self._go_all([flight for flight in ready if not flight.dropped])
        if self.waiting.timed:
            due = [flight for flight in self.waiting.due(self.now()) if not flight.dropped]
            ready = [flight for flight in due if self._through_gate(flight, again="") == GO]
            if ready:
                self._go_all(ready)

    def has(self, loaded: LoadedRun, firing: Firing) -> bool:
        """Is this effect in flight already? Then its answer belongs to this fold of the run."""
        flight = self.in_flight.get((loaded.no, firing.no))
        if flight is None or flight.ask.attempt != firing.attempt or flight.ask.probe != firing.probe:
            return False
        flight.ask.loaded, flight.ask.firing = loaded, firing
        return True

    def stop(self, loaded: LoadedRun, firings: list[int]) -> None:
        """The kernel has dropped these effects: those that wait never go out, those that run are told."""
        for no in firings:
            flight = self.in_flight.pop((loaded.no, no), None)
            if flight is not None:
                flight.dropped = True
                self._end(flight, flight.asked, "dropped")
                if flight.task is not None:
                    flight.task.cancel()

    def tell_to_end(self, loaded: LoadedRun, firings: list[int]) -> None:
        """The kernel waits for these until they have ended. Who cannot end what it does is treated as out of time."""
        for no in firings:
            flight = self.in_flight.get((loaded.no, no))
            if flight is None or loaded.run is None:
                continue
            flight.ask.loaded, flight.ask.firing = loaded, loaded.run.st.firings[no]
            key = flight.asked or loaded.run.effect_key(flight.ask.firing)
            if not self._end(flight, key, flight.ask.firing.stopping) and flight.task is not None:
                flight.deadline = 0.0
                flight.task.cancel()

    def _end(self, flight: InFlight, key: str, why: str) -> bool:
        """By the key that its executor was given; what was dropped before that has none, and never begins."""
        executor = self.executors.get(flight.plan.effect.executor) if key else None
        if not isinstance(executor, Stoppable):
            return False
        executor.stop(key, flight.ask.attempt, why)
        return True

    def task_ended(self, task: asyncio.Task[None]) -> None:
        """A queue never ends by itself; if it broke, an effect has lost its answer and the engine must hear of it."""
        if not self.closing:
            self.broken = RuntimeError("somebody cancelled an effect") if task.cancelled() else task.exception()

    async def _sweep(self) -> None:
        while self.timed:
            await asyncio.sleep(SWEEP_S)
            now = time.monotonic()
            for flight in [g for g in self.timed.values() if g.deadline is not None and 0.0 < g.deadline <= now]:
                flight.deadline = 0.0
                if flight.task is not None:
                    flight.task.cancel()
        self._sweeper = None

    async def drain(self, seconds: float) -> int:
        """Let nothing new out, and give what is in flight so long to end; how many have not."""
        self.draining = True
        until = time.monotonic() + seconds
        while (left := self.working()) and time.monotonic() < until:
            await asyncio.sleep(0.02)
        return left

    def working(self) -> int:
        """How many effects are on their way; those that wait at the gate are not."""
        queued = sum(len(queue.queue) for queue in self.queues.values())
        return queued + sum(flight.task is not None for flight in self.in_flight.values())

    async def close(self) -> None:
        self.closing = True
        tasks = [t for queue in self.queues.values() for t in queue.tasks]
        if self._sweeper is not None:
            tasks.append(self._sweeper)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.gather(*tasks, return_exceptions=True)
