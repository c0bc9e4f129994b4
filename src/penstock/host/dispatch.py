"""Dispatch: let committed effects out and bring their outcomes back as commands.

Long-lived tasks drain one queue per executor: no task, future or timer is made per effect. One sweeper keeps deadlines.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Mapping
from types import CoroutineType, coroutine
from typing import Any

import msgspec

from penstock.errors import ExprError, PenstockError, StoreError
from penstock.executors.contract import Done, Executor, Failed, Input, Outcome, Request, Services, Skipped, failed
from penstock.executors.parts.tracing import CURRENT
from penstock.host.blobs import Blobs
from penstock.host.gate import Gate, Once, Parked, Verdict, Wait
from penstock.host.loaded_run import Ask, LoadedRun
from penstock.host.workers import QUEUE
from penstock.kernel.failure import OUTAGE
from penstock.kernel.state import Firing
from penstock.kernel.token import Taken, content_type_of
from penstock.kernel.view import View, secret_mark
from penstock.net.compiled import CNode, expression, value
from penstock.net.model import Effect
from penstock.store.contract import Batch

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.decode
_canonical = msgspec.msgpack.Encoder(order="deterministic").encode
WIDTH = 256
SWEEP_S = 0.02

Answer = Callable[[Ask, Outcome, int], None]
ONCE = "at_most_once"
#: what the gate has made of an effect: it may go, it waits on in its queue, it needs no place there (any more)
GO, PARKED, ANSWERED = range(3)
HOLDS = (dict, list, tuple)  # what an executor could change
DROPPED = failed("DROPPED", "system", "nobody waits for it")


class EffectPlan:
    """How the effects of a node go out (gate, lane, fixed arguments), worked out once per node."""

    __slots__ = ("args", "call", "effect", "falls_back", "gated", "lane", "node", "told")

    def __init__(self, node: CNode, effect: Effect, limited: bool = False) -> None:
        self.node, self.effect = node, effect
        self.call = node.calls
        #: the gate hears of its end
        rolling = effect.rate is not None and effect.rate.rolling
        self.told = bool(
            effect.breaker or effect.concurrency or effect.cache or effect.dedupe or effect.once or rolling or limited
        )
        self.gated = self.told or bool(effect.rate) or effect.safe == ONCE
        #: literal arguments, packed: every attempt gets a copy of its own
        self.args = _pack(effect.args) if node.args_static and type(effect.args) in HOLDS else None
        self.lane: Lane | None = None
        rows = node.spec.on_error if effect.breaker is not None else ()
        self.falls_back = any(row.match == "CIRCUIT_OPEN" and row.action.startswith("port:") for row in rows)


class Going:
    """An effect in flight: what it is, what the gate must hear when it ends, and who performs it."""

    __slots__ = (
        "ask", "cache", "deadline", "dedupe", "drawn", "dropped", "effect", "key", "node", "plan", "started", "task",
    )  # fmt: skip

    def __init__(self, ask: Ask, plan: EffectPlan) -> None:
        self.ask, self.plan, self.node, self.effect = ask, plan, plan.node, plan.effect
        self.key = ""  # only where the gate or an intent needs it before the call
        self.cache: Any = None
        self.dedupe: tuple[Once, ...] = ()
        self.drawn = self.dropped = False  # drawn: it has its place in the queue of its rate
        self.deadline: float | None = None
        self.started = 0
        self.task: asyncio.Task[None] | None = None


class Lane:
    """One executor and the tasks that drain its queue; they are made as they are needed, and stay.

    An executor that never waits needs one task: it takes one effect after the other. Once it has been seen to wait,
    every effect has a task of its own, up to the width.
    """

    def __init__(self, dispatch: Dispatch, executor: Executor, width: int) -> None:
        self.dispatch, self.executor, self.width = dispatch, executor, width
        self.queue: deque[Going] = deque()
        self.idle: list[asyncio.Future[None]] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.coming = 0  # tasks that were woken and have not looked at the queue yet
        self.waits = False  # the executor has been seen to wait

    def put(self, going: Going) -> None:
        self.queue.append(going)
        if self.waits or not self.coming:
            self._wake()

    def _wake(self) -> None:
        if self.idle:
            self.idle.pop().set_result(None)
        elif len(self.tasks) < self.width:
            task = asyncio.ensure_future(self._work())
            task.add_done_callback(self.dispatch.task_ended)
            self.tasks.append(task)
        else:
            return  # all are at work, and look at the queue when they are done
        self.coming += 1

    def _waits(self) -> None:
        """The first effect that waits must not hold up those behind it."""
        self.waits = True
        for _ in range(len(self.queue) - self.coming):
            self._wake()

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        queue, dispatch = self.queue, self.dispatch
        me = asyncio.current_task()
        assert me is not None
        self.coming -= 1
        while not dispatch.closing:
            while not queue:
                future = loop.create_future()
                self.idle.append(future)
                await future
                self.coming -= 1
            going = queue.popleft()
            if going.ask.live.run is None:
                going.dropped = True  # its turn was lost with the commit; whoever folds the run again asks again
            outcome = DROPPED if going.dropped else await self._perform(going, me)
            going.task = None
            dispatch.ended(going, outcome)

    async def _perform(self, going: Going, me: asyncio.Task[None]) -> Outcome:
        dispatch = self.dispatch
        going.task, going.started = me, time.perf_counter_ns()
        if going.node.spec.timeout_ms is not None:
            dispatch.watch(going, going.node.spec.timeout_ms)
        try:
            request = dispatch.request(going)
            CURRENT.set(request)  # whoever it calls hears which trace it belongs to
            outcome: Any = self.executor.run(request, dispatch.services.of(request.tenant))
            if type(outcome) is not CoroutineType and not self.waits:
                self._waits()  # nobody can tell whether it will
            if self.waits:
                outcome = await outcome
            else:
                try:
                    waits_for = outcome.send(None)
                except StopIteration as ended:
                    outcome = ended.value
                else:
                    self._waits()
                    outcome = await _go_on(outcome, waits_for)
            if type(outcome) is Done or isinstance(outcome, Failed | Skipped):
                return outcome
            return failed("EXECUTOR_ERROR", "permanent", f"it returned {type(outcome).__name__}, which is no outcome")
        except asyncio.CancelledError:
            if not me.cancelling():  # nobody stopped this task: the executor lost something that it waited for
                return failed("EXECUTOR_ERROR", "permanent", "what the executor waited for was cancelled")
            if dispatch.closing or not (going.dropped or going.deadline == 0.0):
                raise
            took = f"took longer than {going.node.spec.timeout_ms} ms"
            return failed("NODE_TIMEOUT", "timeout", f"«{going.node.label}» {took}")
        except Exception as error:
            return failed("EXECUTOR_ERROR", "permanent", f"{type(error).__name__}: {error}")
        finally:
            # what is left over, by us or by an executor's task group, must not be taken for a cancel of the next effect
            while me.cancelling() and not dispatch.closing:
                me.uncancel()


@coroutine
def _go_on(running: Coroutine[Any, Any, Any], waits_for: Any) -> Generator[Any, Any, Any]:
    """As `await`, for a coroutine that has begun."""
    while True:
        step: Callable[[Any], Any] = running.send
        given: Any = None
        try:
            given = yield waits_for
        except BaseException as error:  # a cancel is for the executor
            step, given = running.throw, error
        try:
            waits_for = step(given)
        except StopIteration as ended:
            return ended.value


class Dispatch:
    """`answer` is told every outcome; `calls` starts and stops child runs."""

    def __init__(
        self, executors: Mapping[str, Executor], services: Services, gate: Gate, blobs: Blobs, answer: Answer,
        call: Callable[[Ask], None], now: Callable[[], int], commit: Callable[[Batch], None], *, width: int = WIDTH,
    ) -> None:  # fmt: skip
        self.executors, self.services, self.gate, self.blobs = executors, services, gate, blobs
        self.answer, self.call, self.now, self.commit = answer, call, now, commit
        self.width = width
        self.lanes: dict[str, Lane] = {}
        self.plans: dict[CNode, EffectPlan] = {}
        self.parked = Parked()
        self.draining = False  # nothing new goes out; what was asked is asked again by the next host
        self.unmarked: list[Going] = []  # whose mark could not be committed: they have not left
        self.going: dict[tuple[int, int], Going] = {}
        self.timed: dict[tuple[int, int], Going] = {}
        self.closing = False
        self._broken: BaseException | None = None
        self._sweeper: asyncio.Task[None] | None = None

    # -- out -----------------------------------------------------------------------------------------------------------

    def out(self, asks: list[Ask]) -> None:
        if self.draining:
            return
        ready: list[Going] = []
        try:
            self._sort_out(asks, ready)
        finally:  # where the store could not be read for one of them, too: the gate has let these in
            if ready:
                self._go_all(ready)

    def _sort_out(self, asks: list[Ask], ready: list[Going]) -> None:
        """What needs no gate goes; what it lets in at once is `ready`."""
        plans, go = self.plans, self._go
        for ask in asks:
            run = ask.live.run
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
            going = Going(ask, plan)
            if not plan.gated:
                go(going)
            elif self._through_gate(going) == GO:
                ready.append(going)

    def _plan(self, node: CNode, effect: Effect) -> EffectPlan:
        plan = self.plans.get(node)
        if plan is None:
            plan = self.plans[node] = EffectPlan(node, effect, self.gate.workers.limited)
        return plan

    def _go_all(self, ready: list[Going]) -> None:
        """At-most-once effects are marked in a commit before the call: a crash leaves a doubt and not a repetition."""
        batch = Batch()
        now = self.now()
        for going in ready:
            if going.effect.safe == ONCE:
                ask = going.ask
                batch.intent.append((going.key, ask.live.no, ask.firing.no, ask.attempt, "started", now))
        if batch.intent:
            try:
                self.commit(batch)
            except StoreError as error:
                self.unmarked += ready
                if error.passing:
                    return
                raise
        for going in ready:
            self._go(going)

    def _through_gate(self, going: Going, *, again: str | None = None) -> int:
        """`again`: it has waited before, in the queue of this name."""
        effect, ask = going.effect, going.ask
        run, at = ask.live.run, (ask.live.no, ask.firing.no)
        if run is None:  # its turn was lost with the commit; whoever folds the run again asks again
            going.dropped = True
            if self.going.get(at) is going:
                del self.going[at]
            return ANSWERED
        try:
            if again is None:
                going.key = run.effect_key(ask.firing)
                shared = effect.cache is not None and effect.cache.shared
                going.cache = (effect.cache, self._gate_key(going, effect.cache.key, shared)) if effect.cache else None
                known = (one for one in (effect.once, effect.dedupe) if one is not None)
                going.dedupe = tuple((one, self._gate_key(going, one.key)) for one in known)
                self.going[at] = going
            verdict: Verdict = self.gate.admit(
                self.now(), going.key, tenant=run.st.tenant, concurrency=effect.concurrency,
                rate=None if going.drawn else effect.rate, breaker=effect.breaker, cache=going.cache,
                dedupe=going.dedupe,
            )  # fmt: skip
        except ExprError as error:
            verdict = failed(error.code, "validation", str(error))
        if verdict == "go":
            return GO
        if isinstance(verdict, Wait):
            going.drawn = going.drawn or verdict.drawn
            same = verdict.place and verdict.on == again
            self.parked.add(verdict.on, going, verdict.until, first=same)
            return PARKED if same else ANSWERED
        self.going.pop(at, None)
        self.answer(ask, verdict, 0)
        return ANSWERED

    def _gate_key(self, going: Going, key: Any, shared: bool = False) -> str:
        """The value of an expression, or of a tree: long ones by their hash."""
        run = going.ask.live.run
        assert run is not None
        firing = going.ask.firing
        view = View(run, run.st.scopes[firing.scope], firing.epoch, going.node, firing)
        stem = f"{run.st.tenant}/" if shared else f"{run.st.tenant}/{run.net.net.name}/{going.node.id}/"
        if isinstance(key, str):
            compiled = expression(key)
            assert compiled is not None
            return f"{stem}{compiled(view)}"
        return stem + hashlib.sha256(_canonical(value(key)[1](view))).hexdigest()

    def _go(self, going: Going) -> None:
        lane = going.plan.lane or self._lane(going)
        if lane is not None:
            ask = going.ask
            self.going[ask.live.no, ask.firing.no] = going
            lane.put(going)

    def _lane(self, going: Going) -> Lane | None:
        name = going.effect.executor
        lane = self.lanes.get(name)
        if lane is None:
            try:
                executor = self.executors.get(name)
            except PenstockError as error:
                self._refuse(going, error.code, str(error))
                return None
            if executor is None:
                self._refuse(going, "EXECUTOR_UNKNOWN", f"no executor is called «{name}»")
                return None
            lane = self.lanes[name] = Lane(self, executor, self.width)
        going.plan.lane = lane
        return lane

    def _refuse(self, going: Going, code: str, message: str) -> None:
        going.started = time.perf_counter_ns()
        self.ended(going, failed(code, "permanent", message))

    def watch(self, going: Going, timeout_ms: int) -> None:
        """An attempt has begun; its time runs from now, not from when it was asked."""
        going.deadline = time.monotonic() + timeout_ms / 1000
        self.timed[going.ask.live.no, going.ask.firing.no] = going
        if self._sweeper is None:
            self._sweeper = asyncio.ensure_future(self._sweep())

    def named(self, ask: Ask, node: CNode) -> dict[str, Any]:
        """What a call has taken, by name."""
        assert node.effect is not None
        return self.request(Going(ask, self._plan(node, node.effect))).named()

    def request(self, going: Going) -> Request:
        ask, plan = going.ask, going.plan
        run, firing = ask.live.run, ask.firing
        assert run is not None
        st, node, effect = run.st, plan.node, plan.effect
        if plan.args is not None:
            args = _unpack(plan.args)
        else:
            args = effect.args if node.args_static else _own(firing.args)
        return Request(
            key=run.effect_key(firing), tenant=st.tenant, run=st.run, node=node.id, executor=effect.executor,
            args=args, inputs=self._inputs(st.tenant, run.net.edges, firing), epoch=firing.epoch, visit=firing.visit,
            attempt=ask.attempt, probe=ask.probe, timeout_ms=node.spec.timeout_ms, trace_id=st.trace,
            result=_own(self.blobs.resolve(st.tenant, st.ledger[firing.comp].output)) if firing.comp >= 0 else None,
            names=View(run, st.scopes[firing.scope], firing.epoch, node, firing) if effect.sees_run else {},
            mark=secret_mark(run) if node.secretive or effect.sees_run else "", at=self.now(),
        )  # fmt: skip

    def _inputs(self, tenant: str, edges: tuple[Any, ...], firing: Firing) -> tuple[Input, ...]:
        takes = firing.takes
        if len(takes) == 1:
            taken = takes[0]
            edge, envelope = edges[taken.edge], taken.envelope
            body = envelope.body
            if type(body) in HOLDS:
                body = _own(self.blobs.resolve(tenant, body))
            kind = envelope.content_type or content_type_of(body)
            more = ((envelope.meta,), (taken.seq,), (envelope.at,), (envelope.visit,))
            return (Input(edge.id, edge.src.id, edge.var, (body,), (kind,), *more),)
        found: dict[int, list[Taken]] = {}
        for taken in takes:
            found.setdefault(taken.edge, []).append(taken)
        out = []
        for no, mine in found.items():
            edge = edges[no]
            envelopes = [t.envelope for t in mine]
            bodies = tuple(_own(self.blobs.resolve(tenant, e.body)) for e in envelopes)
            kinds = tuple(e.content_type or content_type_of(b) for e, b in zip(envelopes, bodies, strict=True))
            metas, ats = tuple(e.meta for e in envelopes), tuple(e.at for e in envelopes)
            seqs, visits = tuple(t.seq for t in mine), tuple(e.visit for e in envelopes)
            out.append(Input(edge.id, edge.src.id, edge.var, bodies, kinds, metas, seqs, ats, visits))
        return tuple(out)

    # -- back ----------------------------------------------------------------------------------------------------------

    def ended(self, going: Going, outcome: Outcome) -> None:
        ask = going.ask
        at = (ask.live.no, ask.firing.no)
        if self.going.get(at) is going:
            del self.going[at]
        if going.deadline is not None and self.timed.get(at) is going:
            del self.timed[at]
        took_ns = time.perf_counter_ns() - going.started
        if going.plan.told:
            effect = going.effect
            self.gate.ended(
                self.now(), going.key, None if going.dropped else outcome, took_ns // 1_000_000,
                tenant=ask.live.tenant, concurrency=effect.concurrency, rate=effect.rate, breaker=effect.breaker,
                cache=going.cache, dedupe=going.dedupe,
            )  # fmt: skip
            if self.gate.workers.limited:
                self._release_worker()
            if effect.concurrency is not None:
                self._release(effect.concurrency.name)
            for _, key in going.dedupe:
                self._release_all(f"dedupe:{key}")
            if going.plan.falls_back and isinstance(outcome, Failed):
                outcome = self._by_fallback(going, outcome)
        if not going.dropped:
            self.answer(ask, outcome, took_ns)
        elif type(outcome) is Done and outcome.taken is not None:
            outcome.taken.give_back()

    def _release_worker(self) -> None:
        """C-78: it goes to the tenant that has waited longest for one and has not all of its own at work."""
        for name in self.parked.waiting_in(QUEUE):
            if not self.gate.workers.full(name.removeprefix(QUEUE)) and self._release(name):
                self.parked.served(name)
                return

    def _release(self, name: str) -> bool:
        """A place is free: it goes to the oldest that can use it. False: to nobody."""
        while (going := self.parked.released(name)) is not None:
            if going.dropped:
                continue
            verdict = self._through_gate(going, again=name)
            if verdict == GO:
                self._go_all([going])
            if verdict != ANSWERED:
                return True
        return False

    def _release_all(self, name: str) -> None:
        """Who has waited for what is done now asks again: for its answer, or to do it instead."""
        for going in self.parked.all_of(name):
            if not going.dropped and self._through_gate(going, again=name) == GO:
                self._go_all([going])

    def _by_fallback(self, going: Going, outcome: Failed) -> Failed:
        """W-7.4.1: the last try has failed and its breaker is open by now, so the fallback takes over."""
        firing, retry, failure = going.ask.firing, going.node.spec.retry, outcome.failure
        again = firing.attempt - firing.base <= retry.max and failure.category in retry.on
        breaker = going.effect.breaker
        if again or failure.category not in OUTAGE or breaker is None:
            return outcome
        if not self.gate.is_open(breaker, going.ask.live.tenant):
            return outcome
        return failed("CIRCUIT_OPEN", "external", failure.message, {"code": failure.code, "category": failure.category})

    def wake(self) -> None:
        """Effects whose rate lets them go by now."""
        if self._broken is not None:
            raise self._broken
        if self.unmarked:
            ready, self.unmarked = self.unmarked, []
            for going in ready:
                if going.dropped:
                    self.ended(going, DROPPED)
            self._go_all([going for going in ready if not going.dropped])
        if self.parked.timed:
            due = [going for going in self.parked.due(self.now()) if not going.dropped]
            ready = [going for going in due if self._through_gate(going, again="") == GO]
            if ready:
                self._go_all(ready)

    def has(self, live: LoadedRun, firing: Firing) -> bool:
        """Is this effect in flight already? Then its answer belongs to this fold of the run."""
        going = self.going.get((live.no, firing.no))
        if going is None or going.ask.attempt != firing.attempt or going.ask.probe != firing.probe:
            return False
        going.ask.live, going.ask.firing = live, firing
        return True

    def stop(self, live: LoadedRun, firings: list[int]) -> None:
        """The kernel has dropped these effects: those that wait never go out, those that run are told."""
        for no in firings:
            going = self.going.pop((live.no, no), None)
            if going is not None:
                going.dropped = True
                if going.task is not None:
                    going.task.cancel()

    def task_ended(self, task: asyncio.Task[None]) -> None:
        """A lane never ends by itself; if it broke, an effect has lost its answer and the engine must hear of it."""
        if not self.closing:
            self._broken = RuntimeError("somebody cancelled an effect") if task.cancelled() else task.exception()

    async def _sweep(self) -> None:
        while self.timed:
            await asyncio.sleep(SWEEP_S)
            now = time.monotonic()
            for going in [g for g in self.timed.values() if g.deadline is not None and 0.0 < g.deadline <= now]:
                going.deadline = 0.0
                if going.task is not None:
                    going.task.cancel()
        self._sweeper = None

    async def drain(self, seconds: float) -> int:
        """Let nothing new out, and give what is in flight so long to end; how many have not."""
        self.draining = True
        until = time.monotonic() + seconds
        while (left := self._working()) and time.monotonic() < until:
            await asyncio.sleep(0.02)
        return left

    def _working(self) -> int:
        queued = sum(len(lane.queue) for lane in self.lanes.values())
        return queued + sum(going.task is not None for going in self.going.values())

    async def close(self) -> None:
        self.closing = True
        tasks = [t for lane in self.lanes.values() for t in lane.tasks]
        if self._sweeper is not None:
            tasks.append(self._sweeper)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.gather(*tasks, return_exceptions=True)


def _own(value: Any) -> Any:
    """A copy for the executor: what it does to its inputs must not reach the run, the net or another branch."""
    return _unpack(_pack(value)) if type(value) in HOLDS else value
