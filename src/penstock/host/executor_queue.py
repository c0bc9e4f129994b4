"""The queue of an executor: effects in flight, the tasks that perform them, and the request each is given.

Long-lived tasks drain one queue per executor: no task, future or timer is made per effect. Tenants share it fairly.
One alone has `width` tasks and no more: a third as many are left for who comes next, and everybody's part shrinks with
what is free (dynamic thresholds), since an effect that has begun cannot be made to give way.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Generator, Mapping
from types import CoroutineType, coroutine
from typing import Any, Protocol

import msgspec

from penstock.executors.contract import (
    Done,
    Executor,
    Failed,
    Input,
    Outcome,
    Request,
    Returned,
    Services,
    Skipped,
    failed,
)
from penstock.executors.parts.network.trace_context import CURRENT
from penstock.host.blobs import Blobs
from penstock.host.fair_queue import FairQueue
from penstock.host.gate import DedupeKey
from penstock.host.loaded_run import Ask
from penstock.kernel.failure import Failure
from penstock.kernel.state import Firing
from penstock.kernel.token import Taken, content_type_of
from penstock.kernel.view import View, secret_mark
from penstock.net.compiled import CNode
from penstock.net.model import Effect
from penstock.store.use_projection import USED

ONCE = "at_most_once"
DROPPED = failed("DROPPED", "system", "nobody waits for it")
#: effects after which a task lets others have the loop
IN_A_ROW = 128
#: nanoseconds that all of them may have between two turns, the same while somebody waits for an answer on the loop, and
#: seconds after which they go on without a turn
SLICE_NS, SHORT_SLICE_NS = 3_000_000, 1_000_000
SLICE_S = 0.01
_MUTABLE = (dict, list, tuple)  # what an executor could change
_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.decode


class EffectPlan:
    """How the effects of a node go out (gate, queue, fixed arguments), worked out once per node."""

    __slots__ = ("args", "call", "effect", "falls_back", "gated", "node", "queue", "reports_end")

    def __init__(self, node: CNode, effect: Effect, limited: bool = False, *, outside: bool = False) -> None:
        self.node, self.effect = node, effect
        self.call = node.calls or outside  # no executor performs it: another run does, or a worker outside
        rolling = effect.rate is not None and effect.rate.rolling
        #: the gate is told when one has ended
        self.reports_end = bool(
            effect.breaker or effect.concurrency or effect.cache or effect.dedupe or effect.once or rolling or limited
        )
        self.gated = self.reports_end or bool(effect.rate) or effect.safe == ONCE
        #: literal arguments, packed: every attempt gets a copy of its own
        self.args = _pack(effect.args) if node.args_static and type(effect.args) in _MUTABLE else None
        self.queue: ExecutorQueue | None = None
        rows = node.spec.on_error if effect.breaker is not None else ()
        self.falls_back = any(row.match == "CIRCUIT_OPEN" and row.action.startswith("port:") for row in rows)


class InFlight(msgspec.Struct, eq=False):
    """An effect in flight: what it is, what the gate must be told when it ends, and who performs it."""

    ask: Ask
    plan: EffectPlan
    key: str = ""  # only where the gate or an intent needs it before the call
    cache: Any = None
    dedupe: tuple[DedupeKey, ...] = ()
    drawn: bool = False  # it has its place in the queue of its rate
    dropped: bool = False
    deadline: float | None = None
    started: int = 0
    task: asyncio.Task[None] | None = None
    asked: str = ""  # the key that its executor was given
    used: list[dict[str, Any]] | None = None  # what its executor says it has used


class Slice:
    """What executors may do on the loop, all of them together, between two turns."""

    def __init__(self) -> None:
        self.until = 0  # 0: nothing was done in it yet
        self.short = False
        self.waits: asyncio.Future[None] | None = None
        self.timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        self.until = 0
        if self.waits is not None:
            self.waits.set_result(None)
            self.waits = None
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def is_over(self) -> bool:
        now = time.perf_counter_ns()
        if not self.until:
            self.until = now + (SHORT_SLICE_NS if self.short else SLICE_NS)
        return now >= self.until

    async def next(self) -> None:
        if self.waits is None:
            loop = asyncio.get_running_loop()
            self.waits = loop.create_future()
            self.timer = loop.call_later(SLICE_S, self.begin)
        await asyncio.shield(self.waits)


class QueueOwner(Protocol):
    """What a queue needs of the dispatcher."""

    services: Services
    blobs: Blobs
    now: Callable[[], int]
    slice: Slice
    closing: bool
    share: Callable[[str], float]

    def watch(self, flight: InFlight, timeout_ms: int) -> None: ...

    def ended(self, flight: InFlight, outcome: Outcome) -> None: ...

    def task_ended(self, task: asyncio.Task[None]) -> None: ...


class ExecutorQueue:
    """One executor and the tasks that drain its queue; they are made as they are needed, and stay.

    An executor that never waits needs one task: it takes one effect after the other. Once it has been seen to wait,
    every effect has a task of its own, up to the width.
    """

    def __init__(self, owner: QueueOwner, executor: Executor, width: int) -> None:
        self.owner, self.executor, self.width = owner, executor, width
        self.most = width + width // 3  # tasks
        self.queue: FairQueue[InFlight] = FairQueue(owner.share)
        self.at_work: dict[str, int] = {}  # effects that are being performed, by tenant
        self.busy = 0
        self.idle: list[asyncio.Future[None]] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.coming = 0  # tasks that were woken and have not looked at the queue yet
        self.waits = False  # the executor has been seen to wait

    def put(self, flight: InFlight) -> None:
        self.queue.put(flight.ask.loaded.tenant, flight)
        if self.waits or len(self.idle) == len(self.tasks) and not self.coming:
            self._wake()

    def _wake(self) -> None:
        if self.idle:
            self.idle.pop().set_result(None)
        elif len(self.tasks) < self.most:
            task = asyncio.ensure_future(self._work())
            task.add_done_callback(self.owner.task_ended)
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
        queue, owner = self.queue, self.owner
        me = asyncio.current_task()
        assert me is not None
        self.coming -= 1
        in_a_row = 0
        while not owner.closing:
            while (flight := queue.pop_of(self._may) if queue else None) is None:
                future = loop.create_future()
                self.idle.append(future)
                await future
                self.coming -= 1
                in_a_row = 0
            if flight.ask.loaded.run is None:
                flight.dropped = True  # its turn was lost with the commit; whoever folds the run again asks again
            tenant = flight.ask.loaded.tenant
            self.busy += 1
            self.at_work[tenant] = self.at_work.get(tenant, 0) + 1
            try:
                outcome = DROPPED if flight.dropped else await self._perform(flight, me)
            finally:
                self._leave(tenant)
            flight.task = None
            if flight.used:
                outcome = with_uses(outcome, flight.used, (time.perf_counter_ns() - flight.started) // 1_000_000)
            owner.ended(flight, outcome)
            in_a_row += 1
            if owner.slice.is_over():
                await owner.slice.next()
                in_a_row = 0
            elif in_a_row >= IN_A_ROW:  # others have to do with the loop, too
                await asyncio.sleep(0)
                in_a_row = 0

    def _may(self, tenant: str) -> bool:
        """Is there a task for another effect of the tenant, with some left for others?"""
        return self.at_work.get(tenant, 0) < 3 * (self.most - self.busy)

    def _leave(self, tenant: str) -> None:
        self.busy -= 1
        left = self.at_work[tenant] - 1
        if left:
            self.at_work[tenant] = left
        else:
            del self.at_work[tenant]
        if self.waits and len(self.queue) > 1 and self.idle:  # what is free has grown for more than one
            self._wake()

    async def _perform(self, flight: InFlight, me: asyncio.Task[None]) -> Outcome:
        owner = self.owner
        flight.task, flight.started = me, time.perf_counter_ns()
        if flight.plan.node.spec.timeout_ms is not None:
            owner.watch(flight, flight.plan.node.spec.timeout_ms)
        try:
            request = request_of(flight, owner.blobs, owner.now)
            flight.asked, flight.used = request.key, request.used
            CURRENT.set(request)  # whoever it calls hears which trace it belongs to
            outcome: Any = self.executor.run(request, owner.services.of(request.tenant))
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
            if type(outcome) is Done or isinstance(outcome, Failed | Skipped | Returned):
                return outcome
            return failed("EXECUTOR_ERROR", "permanent", f"it returned {type(outcome).__name__}, which is no outcome")
        except asyncio.CancelledError:
            if not me.cancelling():  # nobody stopped this task: the executor lost something that it waited for
                return failed("EXECUTOR_ERROR", "permanent", "what the executor waited for was cancelled")
            if owner.closing or not (flight.dropped or flight.deadline == 0.0):
                raise
            took = f"took longer than {flight.plan.node.spec.timeout_ms} ms"
            return failed("NODE_TIMEOUT", "timeout", f"«{flight.plan.node.label}» {took}")
        except Exception as error:
            return failed("EXECUTOR_ERROR", "permanent", f"{type(error).__name__}: {error}")
        finally:
            # what is left over, by us or by an executor's task group, must not be taken for a cancel of the next effect
            while me.cancelling() and not owner.closing:
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


def request_of(flight: InFlight, blobs: Blobs, now: Callable[[], int]) -> Request:
    """What the executor is given: arguments, inputs and names, copied, so that it can change nothing of the run."""
    ask, plan = flight.ask, flight.plan
    run, firing = ask.loaded.run, ask.firing
    assert run is not None
    st, node, effect = run.st, plan.node, plan.effect
    environment, line = _place_of(st.options, st.input)
    if plan.args is not None:
        args = _unpack(plan.args)
    else:
        args = effect.args if node.args_static else _copy(firing.args)
    inputs = _inputs(blobs, st.tenant, run.net.edges, firing)
    return Request(
        key=run.effect_key(firing), tenant=st.tenant, run=st.run, node=node.id, executor=effect.executor,
        args=args, inputs=inputs, epoch=firing.epoch, visit=firing.visit,
        attempt=ask.attempt, probe=ask.probe, timeout_ms=node.spec.timeout_ms, trace_id=st.trace, place=firing.place,
        result=_copy(blobs.resolve(st.tenant, st.ledger[firing.comp].output)) if firing.comp >= 0 else None,
        names=View(run, st.scopes[firing.scope], firing.epoch, node, firing) if effect.sees_run else {},
        mark=secret_mark(run) if node.secretive or effect.sees_run else "", at=now(), again=ask.again,
        environment=environment, line=line,
    )  # fmt: skip


def _place_of(options: Mapping[str, Any], input: Any) -> tuple[str, str]:
    """The environment that a run is at work in, when whoever started it has said so, and the line that it is for."""
    environment = options.get("environment")
    line = input.get("line_id") if type(input) is dict else None
    return environment if isinstance(environment, str) else "", line if isinstance(line, str) else ""


def with_uses(outcome: Outcome, used: list[dict[str, Any]], ms: int) -> Outcome:
    """The outcome, however it came about, with the versions that were used and how long it took."""
    uses = [{**use, "ms": ms} for use in used]
    if type(outcome) is Done:
        return msgspec.structs.replace(outcome, meta={**(outcome.meta or {}), USED: uses})
    if type(outcome) is Failed and (outcome.failure.detail is None or isinstance(outcome.failure.detail, dict)):
        old = outcome.failure
        detail = {**(old.detail or {}), USED: uses}
        return Failed(Failure(old.code, old.category, old.message, old.node, detail))
    return outcome


def _inputs(blobs: Blobs, tenant: str, edges: tuple[Any, ...], firing: Firing) -> tuple[Input, ...]:
    takes = firing.takes
    if len(takes) == 1:
        taken = takes[0]
        edge, envelope = edges[taken.edge], taken.envelope
        body = envelope.body
        if type(body) in _MUTABLE:
            body = _copy(blobs.resolve(tenant, body))
        kind = envelope.content_type or content_type_of(body)
        more = ((envelope.meta,), (taken.seq,), (envelope.at,), (envelope.visit,))
        return (Input(edge.id, edge.src.id, edge.var, (body,), (kind,), *more),)
    by_edge: dict[int, list[Taken]] = {}
    for taken in takes:
        by_edge.setdefault(taken.edge, []).append(taken)
    out = []
    for no, mine in by_edge.items():
        edge = edges[no]
        envelopes = [t.envelope for t in mine]
        bodies = tuple(_copy(blobs.resolve(tenant, e.body)) for e in envelopes)
        kinds = tuple(e.content_type or content_type_of(b) for e, b in zip(envelopes, bodies, strict=True))
        metas, ats = tuple(e.meta for e in envelopes), tuple(e.at for e in envelopes)
        seqs, visits = tuple(t.seq for t in mine), tuple(e.visit for e in envelopes)
        out.append(Input(edge.id, edge.src.id, edge.var, bodies, kinds, metas, seqs, ats, visits))
    return tuple(out)


def _copy(value: Any) -> Any:
    """A copy for the executor: what it does to its inputs must not reach the run, the net or another branch."""
    return _unpack(_pack(value)) if type(value) in _MUTABLE else value
