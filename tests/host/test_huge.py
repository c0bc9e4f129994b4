"""Numbers that no clock and no table can hold are cut to what they can; a run that trips is parked alone."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from penstock import Edge, Effect, Net, Node, Penstock
from penstock.net.model import Body, Branch, Breaker, Cache, Declares, Dedupe, Rate, Retry, Trigger

HUGE = 10**18


def net(task: Node, policies: dict[str, Any] | None = None) -> Net:
    return Net(
        name="huge", language="decision", nodes=(Node(id="s", kind="start"), task, Node(id="e", kind="end")),
        edges=(Edge(id="s>a", src="s", dst=task.id), Edge(id="a>e", src=task.id, dst="e")),
        declares=Declares(policies=policies or {}),
    )  # fmt: skip


def effect(**more: Any) -> Node:
    return Node(id="a", kind="task", effect=Effect(executor="x", **more))


ODD = [
    net(effect(cache=Cache(key="'k'", ttl_ms=HUGE * 9))),
    net(effect(dedupe=Dedupe(key="'k'", ttl_ms=HUGE * 9))),
    net(effect(rate=Rate(name="r", limit=HUGE, per_ms=HUGE))),
    net(effect(breaker=Breaker(name="b", cooldown_ms=HUGE * 9, latency_ms=HUGE * 9, window=HUGE))),
    net(Node(id="a", kind="task", effect=Effect(executor="x"), timeout_ms=HUGE * 9)),
    net(Node(id="a", kind="task", effect=Effect(executor="x"), retry=Retry(max=3, multiplier=1e300, cap_ms=HUGE * 9))),
    net(effect(), {"checkpoint": {"retention": {"completed_hours": HUGE, "failed_days": HUGE, "running_days": HUGE},
                                  "storage": {"encryption": False}}}),
]  # fmt: skip


async def kept(path: Path, *nets: Net, fails: bool = False) -> list[str]:
    async with Penstock(path / "runs.db") as p:

        @p.executor("x")
        async def x() -> int:
            if fails:
                raise ValueError("planted")
            return 1

        runs = [await p.start(p.release(one)) for one in nets]
        return [(await p.wait(run, timeout=60)).status for run in runs]


@pytest.mark.parametrize("made", ODD)
def test_a_huge_number_is_cut(tmp_path: Path, made: Net) -> None:
    """W-7.3.1, C-08: a time to live, a window, a cooldown or a retention beyond all calendars stops nobody."""
    assert asyncio.run(kept(tmp_path, made, net(effect()))) == ["completed", "completed"]


def test_a_huge_retention_of_letters_is_cut(tmp_path: Path) -> None:
    """W-7.5.1: a letter that is kept for ever, and alerts that look back for ever."""
    policy = {"dlq": {"retention_days": HUGE, "alerts": {"window_minutes": HUGE, "threshold": 0}}}
    assert asyncio.run(kept(tmp_path, net(effect(), policy), net(effect()), fails=True)) == ["failed", "failed"]


def test_a_wait_beyond_all_calendars_waits(tmp_path: Path) -> None:
    """C-35: a moment after the year 9999 is that year's end."""

    async def go() -> None:
        async with Penstock(tmp_path / "runs.db") as p:
            waits = Node(id="a", kind="wait", triggers=(Trigger(after_ms=HUGE * 9),))
            run = await p.start(p.release(net(waits)))
            await asyncio.sleep(0.3)
            assert p.view(run).status == "waiting"
            assert p.row(run).wake_at == 253_402_300_799_000

    asyncio.run(go())


def test_a_run_whose_policies_cannot_be_read_is_parked_alone(tmp_path: Path) -> None:
    """W-8.1.4, C-84: what it leaves beside its journal trips; the engine and the others go on."""

    async def go() -> None:
        async with Penstock(tmp_path / "runs.db") as p:

            @p.executor("x")
            async def x() -> int:
                raise ValueError("planted")

            broken = net(effect(), {"dlq": {"retention_days": "soon"}})
            bad = await p.start(p.release(broken))
            await asyncio.sleep(0.2)
            good = await p.start(p.release(net(effect())))
            assert (await p.wait(good, timeout=60)).status == "failed"
            assert p.view(bad).status == "running"

    asyncio.run(go())


def test_a_join_that_waits_for_ever(tmp_path: Path) -> None:
    """C-22: so does a join's timeout."""
    body = Body(mode="branches", branches=(Branch(key="b", entry="x"),), timeout_ms=HUGE * 9)
    scope = Node(id="a", kind="scope", body=body)
    inner = Node(id="x", kind="task", scope="a", effect=Effect(executor="x"))
    made = net(scope)
    made = Net(name="huge", language="decision", nodes=(*made.nodes, inner), edges=made.edges)
    assert asyncio.run(kept(tmp_path, made)) == ["completed"]
