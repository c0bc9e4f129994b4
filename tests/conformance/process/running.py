"""Processes that really run: a Penstock on a file, agents and tools that are functions of the test, and people."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from penstock import Penstock, RunView
from penstock.errors import ItemNotFound
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.fact_lines import FactLine, FactReader
from tests.conformance.process.make import as_bytes

PATIENCE_S = 60
#: what differs from run to run
_OWN = ("run", "net", "seed", "trace", "key", "parent", "started", "meta", "next_at", "due", "options")


def awaited(fn: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test that is a coroutine."""

    @functools.wraps(fn)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(fn(*args, **kwargs))

    return run


class Failing(Exception):
    """An agent or a tool of a test that does not succeed."""


class Item(msgspec.Struct):
    """A work item as its facts tell it."""

    no: int
    node: str
    status: str
    mode: str
    prompt: dict[str, Any]
    candidates: Any
    history: list[str]
    moves: list[dict[str, Any]]
    draft: Any = None


class Office:
    """A store, an engine, and everybody who works there. `agents` answer by activity, `tools` by name; what they were
    asked is in `asked` and `undone`."""

    def __init__(self, folder: Path, agents: Mapping[str, Any] | None = None, tools: Mapping[str, Any] | None = None):
        self.p = Penstock(folder / "store.db", output_dir=folder / "out", input_dir=folder / "in")
        self.agents, self.tools = dict(agents or {}), dict(tools or {})
        self.asked: list[dict[str, Any]] = []
        self.undone: list[tuple[str, Any]] = []
        self.stopped: list[str] = []
        self.gates: dict[str, asyncio.Event] = {}
        self.p.executor("agent")(self._agent)
        self.p.executor("tool")(self._tool)

    async def _agent(self, request: Any) -> Any:
        self.asked.append(request.args)
        answer = self.agents.get(request.args["activity_id"], {})
        if answer == "waits":
            try:
                await self.gates.setdefault(request.args["activity_id"], asyncio.Event()).wait()
            except asyncio.CancelledError:
                self.stopped.append(request.args["activity_id"])
                raise
            return {}
        return _answered(answer, request)

    async def _tool(self, request: Any) -> Any:
        args = request.args
        self.undone.append((args["tool"], args.get("params", args["data"])))
        return _answered(self.tools.get(args["tool"], {}), request)

    async def __aenter__(self) -> Office:
        await self.p.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self.p.__aexit__(*error)

    async def start(self, document: dict[str, Any] | Path, input: Any = None, **how: Any) -> Instance:
        """Begin an instance, and wait until only somebody outside can move it on."""
        found = await self.begin(document, input, **how)
        await found.rest()
        return found

    async def begin(
        self, document: dict[str, Any] | Path, input: Any = None, *, initiator: str = "lee",
        modes: Mapping[str, str] | None = None,
    ) -> Instance:  # fmt: skip
        source: Any = document if isinstance(document, Path) else as_bytes(document)
        release = self.p.release(source, name=None if isinstance(document, Path) else "p.json")
        trigger = {"type": "process", "initiator": initiator}
        if modes is None:
            run = await self.p.start(release, input, trigger=trigger)
        else:
            row = self.p.store.net_by_hash(release.hash)
            assert row is not None
            options = {"trigger": trigger, "modes": dict(modes)}
            run = self.p.host.start(row.no, input, tenant=self.p.tenant, options=options)
        return Instance(self, run)


def _answered(answer: Any, request: Any) -> Any:
    if callable(answer):
        answer = answer(request)
    if isinstance(answer, Exception):
        raise answer
    return answer


class Instance:
    """A process instance and its work items."""

    def __init__(self, office: Office, run: str) -> None:
        self.office, self.p, self.id = office, office.p, run

    async def rest(self) -> RunView:
        """Until it has ended, or only somebody outside can move it on."""
        return await self.p.wait(self.id, until_waiting=True, timeout=PATIENCE_S)

    async def until(self, check: Callable[[Instance], bool]) -> None:
        async def wait() -> None:
            while not check(self):
                await asyncio.sleep(0.005)

        await asyncio.wait_for(wait(), PATIENCE_S)

    @property
    def look(self) -> RunView:
        return self.p.view(self.id)

    @property
    def status(self) -> str:
        return self.look.status

    @property
    def lines(self) -> list[FactLine]:
        return self.p.lines(self.id)

    def of(self, fact: str, node: str = "") -> list[FactLine]:
        return [one for one in self.lines if one.fact == fact and node in ("", one.node)]

    # -- work items ----------------------------------------------------------------------------------------------------

    def items(self) -> list[Item]:
        """Every item there was, by the numbers of their firings; each fact is looked at before the next is folded."""
        found: dict[int, Item] = {}
        reader = FactReader(self.p.net_of)
        for turn in self.p.store.journal(self.p.row(self.id).no):
            for fact in F.decode_facts(turn.body):
                for line in reader.one(turn.at, fact):
                    if line.fact == "work.opened":
                        self._opened(found, fact[1], line)
                    elif line.fact == "work.moved":
                        self._moved(found[fact[1]], line.data)
        return list(found.values())

    def _opened(self, found: dict[int, Item], no: int, line: FactLine) -> None:
        data, mode = line.data, line.data.get("mode") or ""
        if no in found:  # it goes to others, or is done again
            found[no].candidates, found[no].mode = data.get("candidates"), mode
        else:
            found[no] = Item(no, line.node, "TODO", mode, data["prompt"], data.get("candidates"), ["TODO"], [])

    def _moved(self, item: Item, data: dict[str, Any]) -> None:
        item.status = data["to"]
        item.mode = data.get("mode") or item.mode
        item.draft = data.get("draft") if data.get("draft") is not None else item.draft
        item.moves.append(data)
        item.history.append(data["to"])

    def item(self, node: str) -> Item:
        found = [one for one in self.items() if one.node == node]
        if not found:
            raise ItemNotFound(item=node)
        return found[-1]

    def open(self) -> list[str]:
        return [one.node for one in self.items() if one.status in ("TODO", "IN_PROGRESS", "SUBMITTED", "REWORK")]

    def states(self) -> dict[str, str]:
        return {one.node: one.status for one in self.items()}

    async def do(self, node: str, verb: str, data: Any = None, *, by: str | None = "kim", comment: Any = None) -> None:
        await self.p.command(self.id, C.work(self.item(node).no, verb, by, data, comment))
        await self.rest()

    async def submit(self, node: str, data: Any = None, *, by: str | None = "kim") -> None:
        await self.do(node, "submit", {} if data is None else data, by=by)

    def trace(self) -> str:
        """Fact by fact; what differs from run to run (times, ids, hashes) is left out."""
        text = ""
        for line in self.lines:
            data = {k: v for k, v in line.data.items() if k not in _OWN}
            text += f"{line.seq:>3} {replace(line, data=data).text()}\n"
        return text
