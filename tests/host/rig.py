"""A host on a file of its own, executors that remember, and short ways to write nets."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

from penstock.app.maintenance.verify import verify
from penstock.executors.contract import Done, Failed, Outcome, Request, Services, Skipped
from penstock.host.clock import Clock
from penstock.host.embedded import Host
from penstock.kernel import fact as F
from penstock.kernel.state import STATUS
from penstock.net.model import MERGE, Edge, Effect, Net, Node, Retry, Trigger, Work
from penstock.store.sqlite import Sqlite

PATIENCE_S = 60.0
ENGINES: list[asyncio.Task[None]] = []  # those that run now: who waits must hear of one that broke


class Fn:
    """An executor that answers with what a function of the request says, and remembers every request."""

    def __init__(self, answer: Callable[[Request], Any] = lambda request: None, name: str = "x") -> None:
        self.name, self.answer = name, answer
        self.seen: list[Request] = []
        self.ended = 0
        self.cancelled = 0

    async def run(self, request: Request, services: Services) -> Outcome:
        self.seen.append(request)
        try:
            got = self.answer(request)
            if inspect.isawaitable(got):
                got = await got
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.ended += 1
        return got if isinstance(got, Done | Failed | Skipped) else Done(got)

    @property
    def keys(self) -> list[str]:
        return [request.key for request in self.seen]


class Rig:
    """One store on disk; hosts that are opened on it one after another."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store: Any = None
        self.host: Any = None

    def open(self, *executors: Any, clock: Clock | None = None, store: Any = None, **options: Any) -> Host:
        self.close()
        self.store = store or Sqlite(self.path)
        self.host = Host(
            self.store, {e.name: e for e in executors}, clock=clock, output_dir=self.path.parent, **options
        )
        self.host.turns.holds_ns = self.host.intake.holds_ns = 1 << 62  # a slow machine makes no smaller batches here
        return self.host

    def close(self) -> None:
        if self.store is not None:
            self.store.close()
        self.store = self.host = None

    @contextlib.asynccontextmanager
    async def driving(self, *executors: Any, recover: bool = True, **options: Any) -> AsyncIterator[Host]:
        """A host that runs until the block ends; what broke it is raised here."""
        host = self.open(*executors, **options) if executors or self.host is None else self.host
        if recover:
            host.recover()
        task = asyncio.ensure_future(host.run())
        ENGINES.append(task)
        try:
            yield host
        finally:
            ENGINES.remove(task)
            await host.close()
            await asyncio.wait_for(task, PATIENCE_S)
            self.close()

    async def finish(self, *executors: Any, **options: Any) -> None:
        """Drive whatever the store holds until nothing is left to do."""
        async with self.driving(*executors, **options) as host:
            await asyncio.sleep(0.01)
            await quiet(host)

    # -- looking, from a connection of our own -------------------------------------------------------------------------

    @contextlib.contextmanager
    def reading(self) -> Any:
        store = Sqlite(self.path, engine=False)
        try:
            yield store
        finally:
            store.close()

    def status(self, run: str) -> str:
        with self.reading() as store:
            return STATUS[store.run_by_id(run).status]

    def facts(self, run: str, name: str = "") -> list[dict[str, Any]]:
        """Every fact of a run with its fields by name; of one name only, if given."""
        with self.reading() as store:
            rows = list(store.journal(store.run_by_id(run).no))
        facts = [f for row in rows for f in F.decode_facts(row.body)]
        return [{"fact": F.name_of(f), **F.fields_of(f)} for f in facts if name in ("", F.name_of(f))]

    def failure(self, run: str) -> str | None:
        """The code of what a run failed with."""
        found = self.facts(run, "run.moved")[-1]["failure"]
        return found and str(found[0])

    def turns(self, run: str) -> int:
        with self.reading() as store:
            return len(list(store.journal(store.run_by_id(run).no)))

    def sound(self) -> None:
        """Every invariant that the store can show."""
        with self.reading() as store:
            report = verify(store)
        assert report.violations == []


async def eventually(condition: Callable[[], Any], why: str = "") -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        for engine in ENGINES:
            if engine.done():
                engine.result()
        assert time.monotonic() < end, why or "it did not come about"
        await asyncio.sleep(0.002)


async def quiet(host: Host) -> None:
    """Nothing is ready, nothing is on its way, no timer is near."""
    await eventually(
        lambda: not (host.turns.ready or host.dispatch.in_flight or host.timers.due or host.children.parents)
    )


async def ended(host: Host, *runs: str) -> None:
    def over() -> bool:
        return all(host.row(run) is not None and host.row(run).status >= 5 for run in runs)  # type: ignore[union-attr]

    await eventually(over, f"{runs} did not end")


def go(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(work, 120))


# ---- nets ------------------------------------------------------------------------------------------------------------

START = Node(id="s", kind="start")
END = Node(id="e", kind="end", join=MERGE)


def task(id: str, executor: str = "x", *, args: Any = None, safe: Any = "at_least_once", **more: Any) -> Node:
    gate = {k: more.pop(k) for k in ("breaker", "rate", "cache", "dedupe", "once", "concurrency") if k in more}
    return Node(id=id, kind="task", effect=Effect(executor=executor, args=args, safe=safe, **gate), **more)


def wait(id: str, name: str = "go", **more: Any) -> Node:
    return Node(id=id, kind="wait", triggers=(Trigger(kind="signal", name=name),), **more)


def pause(id: str, ms: int, **more: Any) -> Node:
    return Node(id=id, kind="wait", triggers=(Trigger(kind="timer", after_ms=ms),), **more)


def work(id: str, **more: Any) -> Node:
    return Node(id=id, kind="work", work=Work(prompt="do it"), **more)


def call(id: str, net_hash: str, **more: Any) -> Node:
    return Node(id=id, kind="call", effect=Effect(executor="call", args={"net": net_hash}), **more)


def chain(*nodes: Node, name: str = "test", **more: Any) -> Net:
    """start → these, one after another → end."""
    whole = [START, *nodes, END]
    edges = [Edge(id=f"{a.id}>{b.id}", src=a.id, dst=b.id) for a, b in zip(whole, whole[1:], strict=False)]
    return Net(name=name, nodes=tuple(whole), edges=tuple(edges), **more)


def fan(*nodes: Node, **more: Any) -> Net:
    """start → these, all at once → end."""
    edges = [Edge(id=f"s>{n.id}", src="s", dst=n.id) for n in nodes]
    edges += [Edge(id=f"{n.id}>e", src=n.id, dst="e") for n in nodes]
    return Net(name="fan", nodes=(START, *nodes, END), edges=tuple(edges), **more)


QUICK = Retry(max=2, base_ms=1)
