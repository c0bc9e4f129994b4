"""Dispatch: let committed effects out and bring their outcomes back as commands.

Long-lived tasks drain one queue per executor: no task, future or timer is made per effect. Deadlines are kept by one sweeper.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from penstock.errors import ExprError
from penstock.executors.contract import Done, Executor, Failed, Input, Outcome, Request, Services, failed
from penstock.host.blobs import Blobs
from penstock.host.gate import Gate, Parked, Wait
from penstock.host.turn import Ask, Live
from penstock.kernel.state import Firing
from penstock.kernel.token import content_type_of
from penstock.kernel.view import View
from penstock.net.compiled import CNode
from penstock.net.model import Effect
from penstock.store.contract import Batch

WIDTH = 256
SWEEP_S = 0.02

Answer = Callable[[Ask, Outcome, int], None]


class Going:
    """An effect on its way: what it is, what the gate must hear when it ends, and who performs it."""

    __slots__ = ("ask", "cache", "deadline", "dedupe", "dropped", "effect", "node", "started", "task")

    def __init__(self, ask: Ask, node: CNode, effect: Effect) -> None:
        self.ask, self.node, self.effect = ask, node, effect
        self.cache: Any = None
        self.dedupe: Any = None
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
            self.tasks.append(asyncio.ensure_future(self._work()))

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        queue, dispatch, executor = self.queue, self.dispatch, self.executor
        me = asyncio.current_task()
        while True:
            while not queue:
                future = loop.create_future()
                self.idle.append(future)
                await future
            going = queue.popleft()
            going.task = me
            going.started = time.perf_counter_ns()
            try:
                outcome: Outcome = await executor.run(dispatch.request(going), dispatch.services)
            except asyncio.CancelledError:
                if dispatch.closing or not (going.dropped or going.deadline == 0.0):
                    raise
                outcome = failed("NODE_TIMEOUT", "timeout", f"«{going.node.label}» took longer than {going.node.spec.timeout_ms} ms")
            except Exception as error:
                outcome = failed("EXECUTOR_ERROR", "permanent", f"{type(error).__name__}: {error}")
            going.task = None
            dispatch.ended(going, outcome)


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
        self._sweeper: asyncio.Task[None] | None = None

    # -- out -----------------------------------------------------------------------------------------------------------

    def out(self, asks: list[Ask]) -> None:
        careful = []
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
            if effect.safe == "at_most_once":
                careful.append(going)
            elif effect.breaker or effect.rate or effect.cache or effect.dedupe or effect.concurrency:
                self._through_gate(going)
            else:
                self._go(going)
        if careful:
            self._carefully(careful)

    def _carefully(self, careful: list[Going]) -> None:
        """An intent is committed before the call, so that a crash leaves a doubt and not a repetition."""
        batch = Batch()
        now = self.now()
        for going in careful:
            batch.intent.append((self.key_of(going), going.ask.live.no, going.ask.firing.no, going.ask.attempt, "started", now))
        self.commit(batch)
        for going in careful:
            self._through_gate(going)

    def key_of(self, going: Going) -> str:
        run = going.ask.live.run
        assert run is not None
        return run.effect_key(going.ask.firing)

    def _through_gate(self, going: Going) -> None:
        effect = going.effect
        try:
            going.cache = (effect.cache, self._gate_key(going, effect.cache.key)) if effect.cache else None
            going.dedupe = (effect.dedupe, self._gate_key(going, effect.dedupe.key)) if effect.dedupe else None
        except ExprError as error:
            self.answer(going.ask, failed(error.code, "validation", str(error)), 0)
            return
        verdict = self.gate.admit(
            self.now(), concurrency=effect.concurrency, rate=effect.rate, breaker=effect.breaker, cache=going.cache, dedupe=going.dedupe
        )
        if verdict == "go":
            self._go(going)
        elif isinstance(verdict, Wait):
            name = effect.concurrency.name if effect.concurrency is not None else ""
            self.parked.add(name, going, verdict.until)
        else:
            self.answer(going.ask, verdict, 0)

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
            executor = self.executors.get(going.effect.executor)
            if executor is None:
                message = f"no executor is called «{going.effect.executor}»"
                self.answer(going.ask, failed("EXECUTOR_UNKNOWN", "permanent", message), 0)
                return
            lane = self.lanes[going.effect.executor] = Lane(self, executor, self.width)
        at = (going.ask.live.no, going.ask.firing.no)
        self.going[at] = going
        timeout = going.node.spec.timeout_ms
        if timeout is not None:
            going.deadline = time.monotonic() + timeout / 1000
            self.timed[at] = going
            if self._sweeper is None:
                self._sweeper = asyncio.ensure_future(self._sweep())
        lane.put(going)

    def request(self, going: Going) -> Request:
        ask = going.ask
        run, firing = ask.live.run, ask.firing
        assert run is not None
        node = going.node
        return Request(
            key=run.effect_key(firing), tenant=run.st.tenant, run=run.st.run, node=node.id, executor=going.effect.executor,
            args=going.effect.args if node.args_static else firing.args, inputs=self._inputs(run.net.edges, firing),
            epoch=firing.epoch, visit=firing.visit, attempt=ask.attempt, probe=ask.probe, timeout_ms=node.spec.timeout_ms,
            trace_id=run.st.trace, result=run.st.ledger[firing.comp].output if firing.comp >= 0 else None,
        )  # fmt: skip

    def _inputs(self, edges: tuple[Any, ...], firing: Firing) -> tuple[Input, ...]:
        takes = firing.takes
        if len(takes) == 1:
            edge, envelope = edges[takes[0].edge], takes[0].envelope
            body = self.blobs.resolve(envelope.body)
            kind = envelope.content_type or content_type_of(body)
            return (Input(edge.id, edge.src.id, edge.var, (body,), (kind,), (envelope.meta,)),)
        found: dict[int, list[Any]] = {}
        for taken in takes:
            found.setdefault(taken.edge, []).append(taken.envelope)
        out = []
        for no, envelopes in found.items():
            edge = edges[no]
            bodies = tuple(self.blobs.resolve(e.body) for e in envelopes)
            kinds = tuple(e.content_type or content_type_of(b) for e, b in zip(envelopes, bodies, strict=True))
            out.append(Input(edge.id, edge.src.id, edge.var, bodies, kinds, tuple(e.meta for e in envelopes)))
        return tuple(out)

    # -- back ----------------------------------------------------------------------------------------------------------

    def ended(self, going: Going, outcome: Outcome) -> None:
        at = (going.ask.live.no, going.ask.firing.no)
        if self.going.get(at) is going:
            del self.going[at]
        if going.deadline is not None:
            self.timed.pop(at, None)
        took_ns = time.perf_counter_ns() - going.started
        effect = going.effect
        if effect.breaker or effect.concurrency or effect.cache or effect.dedupe:
            done = outcome if isinstance(outcome, Done) else None
            self.gate.ended(
                self.now(), not isinstance(outcome, Failed), took_ns // 1_000_000, concurrency=effect.concurrency,
                breaker=effect.breaker, cache=going.cache, dedupe=going.dedupe,
                body=done.body if done else None, content_type=done.content_type if done else None,
            )  # fmt: skip
            if effect.concurrency is not None:
                for parked in self.parked.released(effect.concurrency.name):
                    self._through_gate(parked)
        if not going.dropped:
            self.answer(going.ask, outcome, took_ns)

    def wake(self) -> None:
        """Effects whose rate lets them go by now."""
        for going in self.parked.due(self.now()):
            self._through_gate(going)

    def stop(self, live: Live, firings: list[int]) -> None:
        """The kernel has dropped these effects: tell whoever performs them."""
        for no in firings:
            going = self.going.pop((live.no, no), None)
            if going is not None:
                going.dropped = True
                if going.task is not None:
                    going.task.cancel()

    async def _sweep(self) -> None:
        while self.timed:
            await asyncio.sleep(SWEEP_S)
            now = time.monotonic()
            for going in [g for g in self.timed.values() if g.deadline is not None and 0.0 < g.deadline <= now]:
                going.deadline = 0.0
                if going.task is not None:
                    going.task.cancel()
        self._sweeper = None

    def busy(self) -> bool:
        return bool(self.going or self.parked.timed or any(self.parked.queues.values()))

    async def close(self) -> None:
        self.closing = True
        tasks = [t for lane in self.lanes.values() for t in lane.tasks]
        if self._sweeper is not None:
            tasks.append(self._sweeper)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.gather(*tasks, return_exceptions=True)
