"""A bug of the engine stops the run that trips over it, and no other."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from penstock import Edge, Effect, Net, Node, Penstock
from penstock.errors import RunParked
from penstock.kernel import command as C
from penstock.kernel import decide


def net() -> Net:
    return Net(
        name="one",
        nodes=(
            Node(id="s", kind="start"),
            Node(id="a", kind="task", effect=Effect(executor="x")),
            Node(id="e", kind="end"),
        ),
        edges=(Edge(id="s>a", src="s", dst="a"), Edge(id="a>e", src="a", dst="e")),
    )


def test_a_run_that_trips_an_assert_is_parked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """STYLE: a run that trips an assert is parked, not half-applied; the engine and the other runs go on."""
    real = decide.DECIDE[C.PAUSE]

    def broken(r: object, c: C.Command) -> None:
        raise AssertionError("planted")

    async def go() -> None:
        async with Penstock(tmp_path / "runs.db") as p:
            gate = asyncio.Event()

            @p.executor("x")
            async def x() -> int:
                await gate.wait()
                return 1

            release = p.release(net())
            bad, good = await p.start(release), await p.start(release)
            await asyncio.sleep(0.05)
            monkeypatch.setitem(decide.DECIDE, C.PAUSE, broken)
            with pytest.raises(RunParked, match="planted"):
                await p.pause(bad)
            with pytest.raises(RunParked):
                await p.cancel(bad)
            monkeypatch.setitem(decide.DECIDE, C.PAUSE, real)
            gate.set()
            assert (await p.wait(good, timeout=60)).status == "COMPLETED"
            assert p.view(bad).status == "RUNNING"
        async with Penstock(tmp_path / "runs.db") as p:

            @p.executor("x")
            async def again() -> int:
                return 1

            assert (await p.wait(bad, timeout=60)).status == "COMPLETED"

    asyncio.run(go())
