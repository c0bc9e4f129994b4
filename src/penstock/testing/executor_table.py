"""The executors of a test: stubs first, then what needs no world; everything else is refused by name."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable
from typing import Any

from penstock.app.simulation.virtual.effect_kinds import kind_of
from penstock.dialects import dialect_of
from penstock.dialects.net_nodes import is_companion
from penstock.executors import ExecutorTable
from penstock.executors.contract import Done, Executor, Failed, Outcome, Request, Returned, Services, failed
from penstock.executors.function import FunctionExecutor
from penstock.host.clock import ManualClock
from penstock.kernel.flow import LAST_MOMENT
from penstock.net.author import author
from penstock.net.compiled import CNode
from penstock.testing.behaviours import Behaviour, Stub
from penstock.testing.messages import RecordingNotify
from penstock.testing.world import stays_inside

NOT_STUBBED = "NOT_STUBBED"
#: executors that fetch, choose or write something for a node, and never do its own work
_BESIDE = ("assign", "context", "process_data")
#: what an effect of a kind would do, as people say it
_WOULD = {
    "ask": "ask a model or an agent", "call": "call a document", "compute": "compute", "deploy": "deploy",
    "read": "read from the world", "run": "run a program", "send": "send something", "write": "write something",
}  # fmt: skip


class RefusedEffect(Exception):
    """Kept, not raised: an effect that nothing stands in for."""

    def __init__(self, node: str, executor: str, kind: str) -> None:
        self.node, self.executor, self.kind = node, executor, kind
        super().__init__(f"«{node}», whose executor «{executor}» would {_WOULD.get(kind, kind)}")


class Stubs:
    """What stands in for what: by node first, then by executor, then by kind of effect."""

    def __init__(self) -> None:
        self.by_node: dict[str, Stub] = {}
        self.by_executor: dict[str, Stub] = {}
        self.by_effect: dict[str, Stub] = {}

    def find(self, node: CNode | None, id: str, executor: str, kind: str) -> Stub | None:
        stub = self.by_node.get(id) or (self._of_author(node) if node is not None else None)
        return stub or self.by_executor.get(executor) or self.by_effect.get(kind)

    def _of_author(self, node: CNode) -> Stub | None:
        """A part of the author's node stands for it, unless it only fetches for it, tells of it or undoes it."""
        stub = self.by_node.get(author(node))
        if stub is None or is_companion(node):
            return None
        if node.spec.off_path:
            return stub.undo
        own = node.net.by_id.get(author(node))
        beside = own is not None and own.effect is not None or node.effect is None or node.effect.executor in _BESIDE
        return None if beside or node.spec.type in dialect_of(node.net.net.language).fetching_types else stub


class StubbedExecutors(ExecutorTable):
    """`node_of` finds the node of a request; `refused` has what nothing stood in for, `doubts` what functions of stubs
    have asserted in vain; `sleeping` counts effects that take virtual time."""

    def __init__(self, own: dict[str, Executor], stubs: Stubs, clock: ManualClock) -> None:
        super().__init__(own)
        self.stubs, self.clock = stubs, clock
        self.notify = RecordingNotify(clock.now)
        self.node_of: Callable[[str, str], CNode | None] = lambda run, node: None
        self.refused: list[RefusedEffect] = []
        self.doubts: list[AssertionError] = []
        self.sleeping = 0
        self.guards: dict[str, Guard] = {}

    def __getitem__(self, name: str) -> Executor:
        """Every name is known: a stub may stand for an executor that only production has."""
        if name.startswith(("agent:", "tool:")) and name not in self.own:
            raise KeyError(name)
        guard = self.guards.get(name)
        if guard is None:
            guard = self.guards[name] = Guard(name, self)
        return guard

    def real(self, name: str) -> Executor | None:
        """What production has under a name; messages are recorded."""
        if name == self.notify.name and name not in self.own:
            return self.notify
        try:
            return super().__getitem__(name)
        except KeyError:
            return None


class Guard:
    """Stands before an executor: a stub answers, or the executor itself where it needs no world."""

    def __init__(self, name: str, table: StubbedExecutors) -> None:
        self.name, self.table = name, table
        self.listeners: list[Any] = []
        self._stopped: dict[tuple[str, int], asyncio.Future[str]] = {}

    async def run(self, request: Request, services: Services) -> Outcome:
        table = self.table
        kind = kind_of(self.name, request.args)
        node = table.node_of(request.run, request.node)
        stub = table.stubs.find(node, request.node, self.name, kind)
        if stub is not None:
            behaviour = stub.next()
            if behaviour.kind != "real":
                return await self._behave(behaviour, request, services)
        executor = table.real(self.name)
        allowed = stub is not None or self.name in table.own or self.name == table.notify.name
        if executor is not None and (allowed or stays_inside(self.name, request, services)):
            return await executor.run(request, services)
        shown = request.node if node is None else author(node)
        table.refused.append(RefusedEffect(shown, self.name, kind))
        return failed(NOT_STUBBED, "permanent", f"Nothing stands in for {table.refused[-1]}.")

    async def _behave(self, behaviour: Behaviour, request: Request, services: Services) -> Outcome:
        takes = LAST_MOMENT if behaviour.kind == "never" else behaviour.takes_ms
        limit = request.timeout_ms
        if takes and (stopped := await self._sleep(request, takes if limit is None else min(takes, limit))):
            return stopped
        if limit is not None and takes > limit:
            return failed("NODE_TIMEOUT", "timeout", f"«{request.node}» took longer than {limit} ms")
        if behaviour.kind == "fails":
            return failed(behaviour.code, behaviour.category, behaviour.message)
        if behaviour.function is not None:
            function = _keeping(behaviour.function, self.table.doubts)
            return await FunctionExecutor(self.name, function, inline=True).run(request, services)
        return Done(behaviour.value)

    async def _sleep(self, request: Request, ms: int) -> Outcome | None:
        """Virtual time passes; an outcome, where the effect is stopped meanwhile."""
        at, clock = (request.key, request.attempt), self.table.clock
        stopped = self._stopped[at] = asyncio.get_running_loop().create_future()
        woken = asyncio.ensure_future(clock.sleep_until(min(clock.at + ms, LAST_MOMENT)))
        self.table.sleeping += 1
        try:
            await asyncio.wait((stopped, woken), return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.table.sleeping -= 1
            woken.cancel()
            self._stopped.pop(at, None)
        if not stopped.done():
            return None
        return Returned(stopped.result()) if stopped.result() == "put_back" else _stopped()

    def stop(self, key: str, attempt: int, why: str) -> None:
        """As of an executor whose effects are ended: what sleeps answers that it was stopped."""
        waiting = self._stopped.get((key, attempt))
        if waiting is not None and not waiting.done():
            waiting.set_result(why)


def _keeping(function: Callable[..., Any], doubts: list[AssertionError]) -> Callable[..., Any]:
    """What it asserts is the test's own, not a failure of the node alone."""

    @functools.wraps(function)
    def asked(*args: Any, **named: Any) -> Any:
        try:
            result = function(*args, **named)
        except AssertionError as doubt:
            doubts.append(doubt)
            raise
        return waited(result) if inspect.isawaitable(result) else result

    async def waited(result: Any) -> Any:
        try:
            return await result
        except AssertionError as doubt:
            doubts.append(doubt)
            raise

    return asked


def _stopped() -> Failed:
    return failed("STOPPED", "cancelled", "it was stopped")
