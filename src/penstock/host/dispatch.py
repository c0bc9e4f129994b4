"""Dispatch: let committed effects out and bring their outcomes back as commands.

Long-lived tasks drain one queue per executor: no task, future or timer is made per effect. One sweeper keeps deadlines.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from penstock.errors import ExprError, PenstockError
from penstock.executors.contract import Done, Executor, Failed, Input, Outcome, Request, Services, Skipped, failed
from penstock.host.blobs import Blobs
from penstock.host.gate import Gate, Parked, Verdict, Wait
from penstock.host.turn import Ask, Live
from penstock.kernel.state import Firing
from penstock.kernel.token import Taken, content_type_of
from penstock.kernel.view import View
from penstock.net.compiled import CNode
from penstock.net.model import Effect
from penstock.store.contract import Batch

_pack = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.decode
WIDTH = 256
SWEEP_S = 0.02

Answer = Callable[[Ask, Outcome, int], None]
ONCE = "at_most_once"
#: what the gate has made of an effect: it may go, it waits for a place, it needs none (any more)
GO, PARKED, ANSWERED = range(3)
DROPPED = failed("DROPPED", "system", "nobody waits for it")


class Going:
    """An effect on its way: what it is, what the gate must hear when it ends, and who performs it."""

    __slots__ = ("ask", "cache", "deadline", "dedupe", "drawn", "dropped", "effect", "key", "node", "started", "task")

    def __init__(self, ask: Ask, node: CNode, effect: Effect) -> None:
        self.ask, self.node, self.effect = ask, node, effect
        self.key = ""  # only where the gate or an intent needs it before the call
        self.cache: Any = None
        self.dedupe: Any = None
        self.drawn = False  # it has its place in the queue of its rate
        self.deadline: float | None = None
        self.started = 0
        self.task: asyncio.Task[None] | None = None
        self.dropped = False


class Lane:
    """One executor and the tasks that drain its queue; they are made as they are needed, and stay."""

    def __init__(self, dispatch: Dispatch, executor: Executor, width: int) -> None:
        self.dispatch, self.executor, self.width = dispatch, executor, width
        self.queue: deque[Going] = deque()
        self.idle: list[asyncio.Future[None]] = []
        self.tasks: list[asyncio.Task[None]] = []

    def put(self, going: Going) -> None:
        self.queue.append(going)
        if self.idle:
            self.idle.pop().set_result(None)
        elif len(self.tasks) < self.width:
            task = asyncio.ensure_future(self._work())
            task.add_done_callback(self.dispatch.task_ended)
            self.tasks.append(task)

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        queue, dispatch = self.queue, self.dispatch
        me = asyncio.current_task()
        assert me is not None
        while not dispatch.closing:
            while not queue:
                future = loop.create_future()
                self.idle.append(future)
                await future
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
            outcome: Any = await self.executor.run(dispatch.request(going), dispatch.services)
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
        self.parked = Parked()
        self.going: dict[tuple[int, int], Going] = {}
        self.timed: dict[tuple[int, int], Going] = {}
        self.closing = False
        self._broken: BaseException | None = None
        self._sweeper: asyncio.Task[None] | None = None

    # -- out -----------------------------------------------------------------------------------------------------------

    def out(self, asks: list[Ask]) -> None:
        ready = []
        for ask in asks:
            run = ask.live.run
            if run is None:
                continue
            node = run.net.nodes[ask.firing.node]
            effect = node.effect
            if effect is None:
                continue
            if node.spec.kind == "call":
                self.call(ask)
                continue
            going = Going(ask, node, effect)
            gated = effect.breaker or effect.rate or effect.cache or effect.dedupe or effect.concurrency
            if not gated and effect.safe != ONCE:
                self._go(going)
            elif self._through_gate(going) == GO:
                ready.append(going)
        if ready:
            self._go_all(ready)

    def _go_all(self, ready: list[Going]) -> None:
        """At-most-once effects are marked in a commit before the call: a crash leaves a doubt and not a repetition."""
        batch = Batch()
        now = self.now()
        for going in ready:
            if going.effect.safe == ONCE:
                ask = going.ask
                batch.intent.append((going.key, ask.live.no, ask.firing.no, ask.attempt, "started", now))
        if batch.intent:
            self.commit(batch)
        for going in ready:
            self._go(going)

    def _through_gate(self, going: Going, *, again: bool = False) -> int:
        effect, ask = going.effect, going.ask
        run = ask.live.run
        if run is None:
            return ANSWERED
        at = (ask.live.no, ask.firing.no)
        try:
            if not again:
                going.key = run.effect_key(ask.firing)
                going.cache = (effect.cache, self._gate_key(going, effect.cache.key)) if effect.cache else None
                going.dedupe = (effect.dedupe, self._gate_key(going, effect.dedupe.key)) if effect.dedupe else None
                self.going[at] = going
            verdict: Verdict = self.gate.admit(
                self.now(), going.key, concurrency=effect.concurrency, rate=None if going.drawn else effect.rate,
                breaker=effect.breaker, cache=going.cache, dedupe=going.dedupe,
            )  # fmt: skip
        except ExprError as error:
            verdict = failed(error.code, "validation", str(error))
        if verdict == "go":
            return GO
        if isinstance(verdict, Wait):
            going.drawn = going.drawn or verdict.until is not None
            name = effect.concurrency.name if effect.concurrency is not None else ""
            self.parked.add(name, going, verdict.until, first=again)
            return PARKED if verdict.until is None else ANSWERED
        self.going.pop(at, None)
        self.answer(ask, verdict, 0)
        return ANSWERED

    def _gate_key(self, going: Going, text: str) -> str:
        from penstock.net.compiled import expression

        run = going.ask.live.run
        assert run is not None
        firing = going.ask.firing
        compiled = expression(text)
        assert compiled is not None
        view = View(run, run.st.scopes[firing.scope], firing.epoch, going.node, firing)
        return f"{run.st.tenant}/{run.net.net.name}/{going.node.id}/{compiled(view)}"

    def _go(self, going: Going) -> None:
        lane = self.lanes.get(going.effect.executor)
        if lane is None:
            try:
                executor = self.executors.get(going.effect.executor)
            except PenstockError as error:
                return self._refuse(going, error.code, str(error))
            if executor is None:
                return self._refuse(going, "EXECUTOR_UNKNOWN", f"no executor is called «{going.effect.executor}»")
            lane = self.lanes[going.effect.executor] = Lane(self, executor, self.width)
        self.going[going.ask.live.no, going.ask.firing.no] = going
        lane.put(going)
        return None

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
        return self.request(Going(ask, node, node.effect)).named()

    def request(self, going: Going) -> Request:
        ask = going.ask
        run, firing = ask.live.run, ask.firing
        assert run is not None
        node = going.node
        return Request(
            key=run.effect_key(firing), tenant=run.st.tenant, run=run.st.run, node=node.id,
            executor=going.effect.executor, args=_own(going.effect.args if node.args_static else firing.args),
            inputs=self._inputs(run.net.edges, firing), epoch=firing.epoch, visit=firing.visit, attempt=ask.attempt,
            probe=ask.probe, timeout_ms=node.spec.timeout_ms, trace_id=run.st.trace,
            result=_own(self.blobs.resolve(run.st.ledger[firing.comp].output)) if firing.comp >= 0 else None,
        )  # fmt: skip

    def _inputs(self, edges: tuple[Any, ...], firing: Firing) -> tuple[Input, ...]:
        takes = firing.takes
        if len(takes) == 1:
            edge, envelope = edges[takes[0].edge], takes[0].envelope
            body = _own(self.blobs.resolve(envelope.body))
            kind = envelope.content_type or content_type_of(body)
            more = ((envelope.meta,), (takes[0].seq,), (envelope.at,), (envelope.visit,))
            return (Input(edge.id, edge.src.id, edge.var, (body,), (kind,), *more),)
        found: dict[int, list[Taken]] = {}
        for taken in takes:
            found.setdefault(taken.edge, []).append(taken)
        out = []
        for no, mine in found.items():
            edge = edges[no]
            envelopes = [t.envelope for t in mine]
            bodies = tuple(_own(self.blobs.resolve(e.body)) for e in envelopes)
            kinds = tuple(e.content_type or content_type_of(b) for e, b in zip(envelopes, bodies, strict=True))
            metas, ats = tuple(e.meta for e in envelopes), tuple(e.at for e in envelopes)
            seqs, visits = tuple(t.seq for t in mine), tuple(e.visit for e in envelopes)
            out.append(Input(edge.id, edge.src.id, edge.var, bodies, kinds, metas, seqs, ats, visits))
        return tuple(out)

    # -- back ----------------------------------------------------------------------------------------------------------

    def ended(self, going: Going, outcome: Outcome) -> None:
        at = (going.ask.live.no, going.ask.firing.no)
        if self.going.get(at) is going:
            del self.going[at]
        if going.deadline is not None and self.timed.get(at) is going:
            del self.timed[at]
        took_ns = time.perf_counter_ns() - going.started
        effect = going.effect
        if effect.breaker or effect.concurrency or effect.cache or effect.dedupe:
            done = outcome if isinstance(outcome, Done) else None
            self.gate.ended(
                self.now(), going.key, None if going.dropped else not isinstance(outcome, Failed), took_ns // 1_000_000,
                concurrency=effect.concurrency, breaker=effect.breaker, cache=going.cache, dedupe=going.dedupe,
                body=done.body if done else None, content_type=done.content_type if done else None,
            )  # fmt: skip
            if effect.concurrency is not None:
                self._release(effect.concurrency.name)
        if not going.dropped:
            self.answer(going.ask, outcome, took_ns)

    def _release(self, name: str) -> None:
        """A place is free: it goes to the oldest that can use it."""
        while (going := self.parked.released(name)) is not None:
            if going.dropped:
                continue
            verdict = self._through_gate(going, again=True)
            if verdict == GO:
                self._go_all([going])
            if verdict != ANSWERED:
                return

    def wake(self) -> None:
        """Effects whose rate lets them go by now."""
        if self._broken is not None:
            raise self._broken
        if self.parked.timed:
            due = [going for going in self.parked.due(self.now()) if not going.dropped]
            ready = [going for going in due if self._through_gate(going, again=True) == GO]
            if ready:
                self._go_all(ready)

    def has(self, live: Live, firing: Firing) -> bool:
        """Is this effect on its way already? Then its answer belongs to this fold of the run."""
        going = self.going.get((live.no, firing.no))
        if going is None or going.ask.attempt != firing.attempt or going.ask.probe != firing.probe:
            return False
        going.ask.live, going.ask.firing = live, firing
        return True

    def stop(self, live: Live, firings: list[int]) -> None:
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
    return _unpack(_pack(value)) if type(value) in (dict, list, tuple) else value
