"""VirtualPenstock: the door to an engine in virtual time, on a store of its own that is thrown away."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from penstock.app.durations import BEYOND, duration_words, read_duration, read_moment
from penstock.app.language import app_language
from penstock.app.penstock import Penstock, Release
from penstock.app.releases.documents import compile_source
from penstock.app.releases.triggers import EventReceipt, webhooks
from penstock.errors import BadInput, NotStubbed, PenstockError, ReleaseNotFound
from penstock.executors.contract import Executor
from penstock.host.clock import ManualClock
from penstock.host.loaded_run import LoadedRun
from penstock.kernel import fact as F
from penstock.kernel.flow import LAST_MOMENT
from penstock.lang.report import did_you_mean
from penstock.net.compiled import CNode
from penstock.store.address import DEFAULT_TENANT
from penstock.testing.behaviours import EFFECTS, Stub, as_behaviour
from penstock.testing.documents import CompiledFile, compiled_file, node_ids
from penstock.testing.executor_table import StubbedExecutors, Stubs
from penstock.testing.messages import SentMessage
from penstock.testing.people import Person
from penstock.testing.stores import STORE, fresh_store
from penstock.testing.tested_run import TestedRun
from penstock.testing.virtual_time import VirtualTime

#: a Monday, so that tests of working days begin with one
START = "2026-01-05T09:00:00Z"
PATIENCE_S = 30.0
_SEED = 1
Document = str | Path | bytes


class VirtualPenstock:
    """`async with VirtualPenstock() as penstock: …`. `now` is when it begins, `folder` where documents are looked for,
    `tenant` whose test it is (the sample tenant unless another is named), `real` are executors that may reach the
    world, `patience_s` is how long it may take, in real time, to come to rest, and a span to pass."""

    def __init__(
        self, *, now: str | int = START, folder: str | Path = ".", tenant: str = DEFAULT_TENANT,
        settings: Mapping[str, Any] | None = None, real: Iterable[str] = (), patience_s: float = PATIENCE_S,
    ) -> None:  # fmt: skip
        self.began_at = now if isinstance(now, int) else read_moment(now)
        self.clock = ManualClock(self.began_at)
        self.folder, self.tenant = Path(folder), tenant
        self.stubs = Stubs()
        self.runs: list[TestedRun] = []
        self.facts = 0  # that were committed
        self._settings, self._patience_s = dict(settings or {}), patience_s
        self._known: dict[str, TestedRun] = {}
        self._events = 0
        self._reported = 0  # effects that were refused, and said so
        self._nodes: dict[str, set[str]] = {}  # of documents that were released or started, by their hash
        self._to_check: set[str] = set()  # nodes that were stubbed since a document was last started
        for name in real:
            from penstock.testing.behaviours import real as let_through

            self.stub(executor=name, behaviours=(let_through(),))

    # -- opening and closing -------------------------------------------------------------------------------------------

    def open(self) -> Self:
        self._store = fresh_store(self.began_at, sample=self.tenant == DEFAULT_TENANT)
        self.door = Penstock(
            Path(self._store.name) / STORE, settings=self._settings, tenant=self.tenant, clock=self.clock,
            input_dir=self.folder, executor_table=self._table, seed=_SEED,
        )  # fmt: skip
        self.door.open()
        self.door.host.turns.on_facts.append(self._on_facts)
        self.time = VirtualTime(self.door, self.clock, self.table, self._patience_s)
        return self

    def _table(self, own: dict[str, Executor]) -> StubbedExecutors:
        self.table = StubbedExecutors(own, self.stubs, self.clock)
        self.table.node_of = self._node_of
        return self.table

    async def __aenter__(self) -> Self:
        self.open()
        self.door.begin()
        await self.time.rest()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self.door.aclose()
        self._store.cleanup()

    def _node_of(self, run: str, node: str) -> CNode | None:
        for loaded in self.door.host.turns.runs.values():
            if loaded.id == run and loaded.run is not None:
                return loaded.run.net.by_id.get(node)
        return None

    def _on_facts(self, loaded: LoadedRun, facts: list[F.Fact], _n: int, _now: int) -> None:
        self.facts += len(facts)
        if loaded.id not in self._known:
            run = self._known[loaded.id] = TestedRun(self, loaded.id)
            self.runs.append(run)

    # -- before it begins ----------------------------------------------------------------------------------------------

    def stub(
        self, node: str | None = None, *answers: Any, executor: str | None = None, effect: str | None = None,
        undo: Any = None, behaviours: Iterable[Any] = (),
    ) -> None:  # fmt: skip
        """Let something stand in for a node, an executor, or a kind of effect (read, send, write, ask, run, deploy):
        `answers` one after the other, of which the last stays. Each is a value, a function, or `answer`, `fails`,
        `never`, `call`, `real`. `undo` stands in for the node's way back."""
        named = [each for each in (node, executor, effect) if each is not None]
        if len(named) != 1:
            raise BadInput(what="the stub", why="it stands for one of a node, an executor and an effect")
        if effect is not None and effect not in EFFECTS:
            raise BadInput(what=f"the effect «{effect}»", why=f"it is one of {', '.join(EFFECTS)}")
        if node is not None:
            self._to_check.add(node)
        each = tuple(as_behaviour(given) for given in (*answers, *behaviours)) or (as_behaviour(None),)
        stub = Stub(each, (as_behaviour(undo),) if undo is not None else ())
        place = (
            self.stubs.by_node if node is not None
            else self.stubs.by_executor if executor is not None else self.stubs.by_effect
        )  # fmt: skip
        place[named[0]] = stub

    def executor(self, name: str | None = None) -> Callable[[Any], Any]:
        """A decorated function is the executor of that name."""
        return self.door.executor(name, inline=True)

    def register(self, type: str, id: str, body: Mapping[str, Any]) -> None:
        """Register a connection, a rule pack, a user … of the tenant."""
        self.door.register(type, id, body)

    def release(self, document: Document, *, in_force: bool = False) -> Release:
        """Compile a document and keep it; `in_force`: events, webhooks and schedules start it from now on. Raises
        DocumentInvalid with all findings."""
        if isinstance(document, bytes):
            compiled = CompiledFile(*compile_source(document, settings=self.door.settings))
        else:
            compiled = compiled_file(self._path(document), self.door.settings)
        release = self.door.keep(compiled.document, compiled.source)
        self._nodes[release.hash] = node_ids(compiled.document)
        if in_force:
            self._put_in_force(document)
        return release

    def _path(self, document: str | Path) -> Path:
        path = Path(document)
        return path if path.is_absolute() else self.folder / path

    def _put_in_force(self, document: Document) -> None:
        source = document if isinstance(document, bytes) else self._path(document)
        releases = self.door.releases
        row = releases.submit(source, by="author@example.com").release
        if row.status == "pending_approval":
            row = releases.approve(row.name, row.version, by="manager@example.com")
        if row.status == "approved":
            releases.activate(row.name, row.version)

    # -- what happens --------------------------------------------------------------------------------------------------

    async def start(self, document: Document | Release, input: Any = None, **options: Any) -> TestedRun:
        """Start a run and let it go on until it rests at this moment. Raises NotStubbed, ScenarioBusy."""
        by = options.pop("by", None)
        if by is not None:
            options["trigger"] = {"type": "manual", "source": f"user:{by}", "initiator": by}
        id = None
        if not isinstance(document, Release | bytes):
            path = self._path(document)
            compiled = compiled_file(path, self.door.settings).document
            self._nodes[str(path)] = node_ids(compiled)
            self._check_stubs()
            id = await app_language(compiled.language).start_test(self.door, path, input, Path(self._store.name))
        if id is None:
            release = document if isinstance(document, Release) else self.release(document)
            if release.hash in self._nodes:  # one that the engine itself has released may have any nodes
                self._check_stubs()
            options.setdefault("id", self.door.host.new_id())
            id = await self.door.start(release, input, **options)
        await self.rest()
        return self.run(id)

    def _check_stubs(self) -> None:
        """Raises BadInput for a stub of a node that no document has."""
        known = set[str]().union(*self._nodes.values())
        unknown = sorted(self._to_check - known)
        self._to_check.clear()
        if unknown:
            otherwise = "Release another document that has it first, or stub it after this start."
            hint = did_you_mean(unknown[0], known, otherwise)
            raise BadInput(what="the stub", why=f"the document has no node «{unknown[0]}»", hint=hint)

    def run(self, id: str) -> TestedRun:
        run = self._known.get(id)
        if run is None:
            run = self._known[id] = TestedRun(self, id)
            self.runs.append(run)
        return run

    async def send_event(self, source: str, payload: Any = None, *, id: str | None = None) -> EventReceipt:
        """News for whoever waits for it, and for documents in force that it starts."""
        self._events += 1
        receipt = await self.door.send_event(source, payload, id=id or f"evt_test_{self._events}")
        await self.rest()
        return receipt

    async def signal(self, run: TestedRun, name: str, payload: Any = None) -> None:
        await self.door.signal(run.id, name, payload)
        await self.rest()

    async def webhook(self, path: str, payload: Any = None, *, method: str = "POST") -> TestedRun:
        """A request from outside to a document in force whose trigger is a webhook; no key is asked for."""
        from penstock.app.releases.start_release import start

        hooks = webhooks(self.door.store, self.door.tenant)
        hook = next((each for each in hooks if each.path == path and each.method == method), None)
        if hook is None:
            raise ReleaseNotFound(name=path, version=None)
        trigger = {"type": "webhook", "source": path}
        id = await start(self.door, hook.name, payload, trigger=trigger)
        await self.rest()
        return self.run(id)

    def person(self, user: str) -> Person:
        """Somebody who acts; what they may not do is refused."""
        return Person(self, user)

    async def cancel(self, run: TestedRun, *, mode: str = "now") -> None:
        await self.door.cancel(run.id, mode=mode)
        await self.rest()

    # -- time ----------------------------------------------------------------------------------------------------------

    @property
    def now(self) -> int:
        return self.clock.at

    async def rest(self) -> None:
        """Until nothing is to be done at this moment. Raises NotStubbed, ScenarioBusy, and what a stub asserts."""
        await self.time.rest()
        self._say_refused()

    async def advance(self, span: str | int) -> None:
        """Let so much time pass ("2h"), through every timer, reminder, retry and timeout in it, each at its moment."""
        if isinstance(span, bool) or not isinstance(span, str | int):
            why = f"it is a {type(span).__name__}"
            raise BadInput(what="the span", why=why, hint='Write it as "2h", or as whole milliseconds.')
        await self.advance_to(self.now + (read_duration(span) if isinstance(span, str) else span))

    async def advance_to(self, moment: str | int) -> None:
        """Let time pass until a moment: ISO 8601, or milliseconds. Raises BadInput where it has passed."""
        at = moment if isinstance(moment, int) else read_moment(moment)
        if at < self.now:
            why = f"it would go back by {duration_words(self.now - at)}, and time goes on"
            raise BadInput(what="the time", why=why)
        if at > LAST_MOMENT:
            raise BadInput(what="the time", why=BEYOND)
        await self.time.pass_until(at)
        self._say_refused()

    async def advance_until(self, condition: Callable[[], bool], *, within: str = "400d") -> bool:
        """Let time pass from moment to moment until a condition holds; False where it never does within the span."""
        reached = await self.time.pass_until(min(self.now + read_duration(within), LAST_MOMENT), condition)
        self._say_refused()
        return reached

    async def finish(self, run: TestedRun, *, within: str = "400d") -> TestedRun:
        """Let time pass until a run has ended; where it never does by itself, it is left as it waits."""
        await self.advance_until(lambda: run.ended, within=within)
        return run

    # -- looking -------------------------------------------------------------------------------------------------------

    @property
    def messages(self) -> list[SentMessage]:
        """What was sent to people and systems, oldest first."""
        return self.table.notify.messages

    def expect(self, run: TestedRun, **then: Any) -> None:
        """Hold a run against what is expected of it, in the words of a scenario's `then`. Raises AssertionError with
        everything that differs, and the timeline."""
        from penstock.testing.expectations import differences, report

        mismatches = differences(self, run, then)
        if mismatches:
            raise AssertionError(report(mismatches, run))

    def _say_refused(self) -> None:
        if self.table.doubts:
            doubt = self.table.doubts[0]
            self.table.doubts.clear()
            raise doubt
        if len(self.table.refused) > self._reported:
            refused, self._reported = self.table.refused[self._reported], len(self.table.refused)
            hint = (
                f"Stub it: stub(\"{refused.node}\", VALUE) in Python, `nodes: {{{refused.node}: {{answer: …}}}}` in a "
                "scenario; `real` lets the real one do it."
            )  # fmt: skip
            error: PenstockError = NotStubbed(what=refused, hint=hint, node=refused.node)
            raise error
