"""The same without an event loop: the engine goes on while something is asked of it, and rests in between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from penstock.app.penstock import Release
from penstock.app.releases.triggers import EventReceipt
from penstock.errors import BadInput
from penstock.host.clock import ManualClock
from penstock.testing.messages import SentMessage
from penstock.testing.people import Person
from penstock.testing.snapshots import compare_snapshot
from penstock.testing.tested_run import TestedRun
from penstock.testing.virtual_penstock import Document, VirtualPenstock

T = TypeVar("T")


class BlockingVirtualPenstock:
    """`with BlockingVirtualPenstock() as penstock: …`; the same words as VirtualPenstock, without await. No thread is
    made: between two calls nothing happens."""

    def __init__(self, **options: Any) -> None:
        _outside_a_loop()
        self.inner = VirtualPenstock(**options)
        self.snapshot_file: Path | None = None  # where a snapshot without a name is kept
        self.update_snapshots = False
        self._loop = asyncio.new_event_loop()

    def __enter__(self) -> BlockingVirtualPenstock:
        self._do(self.inner.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        try:
            self._do(self.inner.aclose())
        finally:
            self._loop.close()

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            _outside_a_loop()
        except BadInput:
            work.close()
            raise
        return self._loop.run_until_complete(work)

    @property
    def clock(self) -> ManualClock:
        return self.inner.clock

    @property
    def now(self) -> int:
        return self.inner.now

    @property
    def runs(self) -> list[TestedRun]:
        return self.inner.runs

    @property
    def messages(self) -> list[SentMessage]:
        return self.inner.messages

    def stub(self, node: str | None = None, *answers: Any, **options: Any) -> None:
        self.inner.stub(node, *answers, **options)

    def executor(self, name: str | None = None) -> Callable[[Any], Any]:
        return self.inner.executor(name)

    def register(self, type: str, id: str, body: Mapping[str, Any]) -> None:
        self.inner.register(type, id, body)

    def release(self, document: Document, *, in_force: bool = False) -> Release:
        async def on_loop() -> Release:
            return self.inner.release(document, in_force=in_force)

        return self._do(on_loop())

    def start(self, document: Document | Release, input: Any = None, **options: Any) -> TestedRun:
        return self._do(self.inner.start(document, input, **options))

    def send_event(self, source: str, payload: Any = None, *, id: str | None = None) -> EventReceipt:
        return self._do(self.inner.send_event(source, payload, id=id))

    def signal(self, run: TestedRun, name: str, payload: Any = None) -> None:
        self._do(self.inner.signal(run, name, payload))

    def webhook(self, path: str, payload: Any = None, *, method: str = "POST") -> TestedRun:
        return self._do(self.inner.webhook(path, payload, method=method))

    def person(self, user: str) -> BlockingPerson:
        return BlockingPerson(self, self.inner.person(user))

    def cancel(self, run: TestedRun, *, mode: str = "now") -> None:
        self._do(self.inner.cancel(run, mode=mode))

    def rest(self) -> None:
        self._do(self.inner.rest())

    def advance(self, span: str | int) -> None:
        self._do(self.inner.advance(span))

    def advance_to(self, moment: str | int) -> None:
        self._do(self.inner.advance_to(moment))

    def advance_until(self, condition: Callable[[], bool], *, within: str = "400d") -> bool:
        return self._do(self.inner.advance_until(condition, within=within))

    def finish(self, run: TestedRun, *, within: str = "400d") -> TestedRun:
        return self._do(self.inner.finish(run, within=within))

    def expect(self, run: TestedRun, **then: Any) -> None:
        self.inner.expect(run, **then)

    def match_snapshot(self, run: TestedRun, file: str | Path | None = None) -> None:
        """Hold the timeline of a run against the one that is kept. Raises SnapshotChanged."""
        place = Path(file) if file is not None else self.snapshot_file
        assert place is not None, "outside of pytest a snapshot has a file"
        compare_snapshot(place, run.timeline(), update=self.update_snapshots)


def _outside_a_loop() -> None:
    """Raises BadInput inside a running event loop, which it would hold up."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    hint = "In a coroutine: `async with async_penstock_test as penstock:`, or VirtualPenstock."
    raise BadInput(what="the call", why="an event loop runs here already", hint=hint)


class BlockingPerson:
    """A person who acts, without await."""

    def __init__(self, penstock: BlockingVirtualPenstock, person: Person) -> None:
        self._do, self._person = penstock._do, person

    def approve(self, node: str, **options: Any) -> None:
        self._do(self._person.approve(node, **options))

    def reject(self, node: str, **options: Any) -> None:
        self._do(self._person.reject(node, **options))

    def judge(self, node: str, decision: str, **options: Any) -> None:
        self._do(self._person.judge(node, decision, **options))

    def answer(self, node: str, value: Any = None, **options: Any) -> None:
        self._do(self._person.answer(node, value, **options))

    def claim(self, node: str, **options: Any) -> None:
        self._do(self._person.claim(node, **options))
