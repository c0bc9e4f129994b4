"""Diagrams that really run: a Penstock on a file in a temporary folder, and what a run leaves to be looked at."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from penstock import Event, Penstock, RunView
from penstock.diagram import EnvelopeFactory, NodeHandler, context, register_handler
from penstock.dialects.diagram.words import GONE
from penstock.errors import RunNotFound
from penstock.kernel.fact_lines import FactLine
from penstock.net.compiled import Compiled
from tests.conformance.diagram.make import PERSONS, document

EXAMPLES = Path(__file__).parents[3] / "examples" / "diagram"
PATIENCE_S = 60  # nothing waits so long; a run that hangs must fail here and not stop the suite

_OWN = ("run", "net", "seed", "trace", "key", "parent", "started", "meta", "next_at", "due")


class Ran:
    """What is left of a run: how it looks, its facts, its events, its net."""

    def __init__(self, p: Penstock, run: str) -> None:
        self.id = run
        self.look: RunView = p.view(run)
        self.lines: list[FactLine] = p.lines(run)
        self.events: list[Event] = p.events(run)
        self.net: Compiled = p.net_of(next(x.data["net"] for x in self.lines if x.fact == "run.started"))

    @property
    def status(self) -> str:
        return self.look.status

    def of(self, fact: str, node: str = "") -> list[FactLine]:
        return [x for x in self.lines if x.fact == fact and node in ("", x.node)]

    def order(self) -> list[str]:
        """Nodes in the order in which they fired."""
        return [x.node for x in self.of("fired")]

    def times(self, node: str) -> int:
        return self.order().count(node)

    def took(self, node: str) -> list[list[str]]:
        """The edges each firing of a node took tokens from."""
        return [[edge for edge, _ in x.data["takes"]] for x in self.of("fired", node)]

    def puts(self, edge: str = "") -> list[tuple[str, int, int]]:
        """Tokens that were put: edge, epoch, sequence number."""
        return [(x.edge, x.epoch, x.data["token"]) for x in self.of("put") if edge in ("", x.edge)]

    def bodies(self, edge: str) -> list[Any]:
        return [x.data.get("body") for x in self.of("put") if x.edge == edge]

    def output(self, node: str) -> list[Any]:
        return [x.data.get("output") for x in self.of("settled", node)]

    def told(self, name: str) -> list[Event]:
        return [e for e in self.events if e.name == name]

    def at(self, fact: str, node: str) -> int:
        """The number of the first such fact of a node."""
        return self.of(fact, node)[0].seq

    def trace(self) -> str:
        """Fact by fact; what differs from run to run (times, ids, hashes) is left out."""
        text = ""
        for line in self.lines:
            data = {k: v for k, v in line.data.items() if k not in _OWN}
            text += f"{line.seq:>3} {replace(line, data=data).text()}\n"
        return text

    def warned(self) -> list[str]:
        return [x["code"] for x in self.look.warnings]

    def balance(self) -> int:
        """Tokens published minus tokens gone, by the events."""
        names = Counter(e.name for e in self.events)
        return names["token.published"] - sum(names[name] for name in GONE)

    def most_at_once(self, *nodes: str) -> int:
        """How many of these nodes were at work at once, by the trace."""
        now = most = 0
        for x in self.lines:
            if x.node in nodes and x.fact == "fired":
                now += 1
                most = max(most, now)
            elif x.node in nodes and x.fact == "settled":
                now -= 1
        return most


def door(folder: Path, **options: Any) -> Penstock:
    """A Penstock whose store, input and output lie in a folder."""
    return Penstock(folder / "store" / "penstock.db", output_dir=folder / "out", input_dir=folder / "in", **options)


async def until_settled(p: Penstock, source: bytes | Path, input: Any = None, **start: Any) -> Ran:
    """Release, start, and wait until the run has ended or only somebody outside can move it on."""
    run = await p.start(p.release(source, name="test.json" if isinstance(source, bytes) else None), input, **start)
    await p.wait(run, until_waiting=True, timeout=PATIENCE_S)
    return Ran(p, run)


def go(
    folder: Path, source: bytes | Path, input: Any = None, *, executors: dict[str, Callable[..., Any]] | None = None,
    settings: dict[str, Any] | None = None, **start: Any,
) -> Ran:  # fmt: skip
    """Run one document from its beginning to its end."""

    async def story() -> Ran:
        p = door(folder, settings=settings)
        for name, fn in (executors or {}).items():
            p.executor(name)(fn)
        async with p:
            return await until_settled(p, source, input, **start)

    return asyncio.run(story())


def awaited(fn: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test that is a coroutine."""

    @functools.wraps(fn)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(fn(*args, **kwargs))

    return run


class Gates:
    """Nodes of the type `run_gate` answer when their gate is opened; which of them wait is known."""

    def __init__(self) -> None:
        self.open: dict[str, asyncio.Event] = {}
        self.waiting: list[str] = []

    def gate(self, node: str) -> asyncio.Event:
        return self.open.setdefault(node, asyncio.Event())

    def let(self, *nodes: str) -> None:
        for node in nodes:
            self.gate(node).set()

    async def passes(self, node: str) -> None:
        self.waiting.append(node)
        await self.gate(node).wait()
        self.waiting.remove(node)


@register_handler("run_gate")
class Gate(NodeHandler):
    """Waits for its gate, then gives out its own name."""

    async def execute_with_envelopes(self, request: Any, inputs: Any) -> Any:
        await context.service("gates").passes(context.node_id)
        return EnvelopeFactory.create(context.node_id)


@register_handler("run_saw")
class Saw(NodeHandler):
    """Gives out what it saw: the newest body per name, and the older ones."""

    def execute_with_envelopes(self, request: Any, inputs: Any) -> Any:
        newest = {name: one.body for name, one in inputs.items() if name != "default"}
        return {"newest": newest, "older": {name: [x.body for x in inputs.history[name]] for name in newest}}


def gate(label: str, **fields: Any) -> dict[str, Any]:
    return {"label": label, "type": "run_gate", **fields}


def saw(label: str, **fields: Any) -> dict[str, Any]:
    return {"label": label, "type": "run_saw", **fields}


async def reached(p: Penstock, run: str, check: Callable[[Ran], bool]) -> Ran:
    """Wait until something can be said of a run."""

    async def look() -> Ran:
        while True:
            with contextlib.suppress(RunNotFound):
                if check(ran := Ran(p, run)):
                    return ran
            await asyncio.sleep(0.005)

    return await asyncio.wait_for(look(), PATIENCE_S)


def script(*answers: Any, **more: Any) -> dict[str, Any]:
    return {"service": "script", "answers": list(answers), **more}


def drawn(nodes: list[dict[str, Any]], ways: list[Any], **top: Any) -> bytes:
    """A document whose persons are those of `make` and what `persons` adds."""
    return document(nodes, ways, **{**top, "persons": {**PERSONS, **top.get("persons", {})}})


def loop(most: int = 3, **condition: Any) -> bytes:
    """The graph of D-A.1."""
    condition = condition if "expression" in condition else {"condition_type": "detect_max_iterations", **condition}
    nodes = [
        {"label": "Start", "type": "start"},
        {"label": "PersonJob", "type": "person_job", "person": "Bot", "default_prompt": "go", "max_iteration": most},
        {"label": "Condition", "type": "condition", **condition},
        {"label": "Ask", "type": "person_job", "person": "Bot", "default_prompt": "ask"},
        {"label": "Endpoint", "type": "endpoint"},
    ]
    ways = [
        "Start>PersonJob", "PersonJob>Condition", "Condition[condfalse]>PersonJob", "Condition[condtrue]>Ask",
        "Ask>Endpoint",
    ]  # fmt: skip
    return drawn(nodes, ways)
