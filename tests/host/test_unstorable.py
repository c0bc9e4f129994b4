"""A value that the journal cannot hold fails the node that made it, and never the one whose answer led there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from penstock import Edge, Effect, Net, Node, Penstock
from penstock.expr import operators
from penstock.net.model import Trigger, Work


@pytest.fixture
def hole(monkeypatch: pytest.MonkeyPatch) -> None:
    """The expression language lets an integer through that nobody can store."""
    monkeypatch.setattr(operators, "bounded_integer", lambda number: number)


def net(first: Node, **second: Any) -> Net:
    return Net(
        name="big",
        nodes=(Node(id="s", kind="start"), first, Node(**{"id": "sum", "value": {"$expr": "input.n * 4"}, **second}),
               Node(id="e", kind="end")),
        edges=(Edge(id="s>a", src="s", dst="a"), Edge(id="a>sum", src="a", dst="sum"),
               Edge(id="sum>e", src="sum", dst="e")),
    )  # fmt: skip


def failed(path: Path, made: Net, then: Callable[[Penstock, str], Awaitable[None]]) -> tuple[str, str, list[str]]:
    """Code and node of the run's failure, and the nodes that succeeded."""

    async def go() -> tuple[str, str, list[str]]:
        async with Penstock(path / "runs.db") as p:

            @p.executor("x")
            async def x() -> int:
                return 1

            run = await p.start(p.release(made), {"n": 2**63 - 1})
            await then(p, run)
            ended = await p.wait(run, timeout=60)
            assert ended.status == "FAILED" and ended.failure is not None
            done = [node for node, status in ended.nodes.items() if status.upper() in ("DONE", "SUCCEEDED")]
            return ended.failure["code"], ended.failure["node"], done

    return asyncio.run(go())


async def nothing(p: Penstock, run: str) -> None:
    pass


async def signal(p: Penstock, run: str) -> None:
    await asyncio.sleep(0.1)
    await p.signal(run, "go", {})


TASK = Node(id="a", kind="task", effect=Effect(executor="x"))
WAIT = Node(id="a", kind="wait", triggers=(Trigger(kind="signal", name="go"),))
TIMER = Node(id="a", kind="wait", triggers=(Trigger(after_ms=20),))


@pytest.mark.parametrize(("first", "then"), [(TASK, nothing), (WAIT, signal), (TIMER, nothing)])
def test_the_maker_fails_and_not_who_was_answered(
    tmp_path: Path, hole: None, first: Node, then: Callable[[Penstock, str], Awaitable[None]]
) -> None:
    """C-07, C-08, W-2.2.2: after an effect, after news and after a time; what came before has succeeded."""
    code, node, done = failed(tmp_path, net(first), then)
    assert (code, node) == ("EXPR_LIMIT", "sum")
    assert "a" in done


def test_what_is_asked_or_shown_counts_too(tmp_path: Path, hole: None) -> None:
    """C-08: a value in the question to an executor, and one that a person would be shown."""
    asks: dict[str, Any] = {"kind": "task", "effect": Effect(executor="x", args={"n": {"$expr": "input.n * 4"}})}
    shows: dict[str, Any] = {"kind": "work", "work": Work(prompt={"n": {"$expr": "input.n * 4"}})}
    for i, second in enumerate((asks, shows)):
        (tmp_path / str(i)).mkdir()
        code, node, done = failed(tmp_path / str(i), net(TASK, value=None, **second), nothing)
        assert (code, node, "a" in done) == ("EXPR_LIMIT", "sum", True)
