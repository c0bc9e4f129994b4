"""Home is read in slices, once for all who ask at a time, and for a second where there is much to count."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from penstock.app.metrics import home_reads, stuck, tiles
from penstock.app.metrics.home_reads import HomeReads
from penstock.app.metrics.overview import home
from penstock.app.penstock import Penstock
from tests.app.scenes import opened
from tests.conformance.decision.world import go

ASKS: dict[str, Any] = {
    "version": "light", "name": "asks",
    "nodes": [
        {"label": "Start", "type": "start"}, {"label": "Ask", "type": "user_response", "prompt": "?"},
        {"label": "End", "type": "endpoint"},
    ],
    "connections": [{"from": "Start", "to": "Ask"}, {"from": "Ask", "to": "End"}],
}  # fmt: skip
RUNS = 60


async def _started(door: Penstock, folder: Path, count: int) -> list[str]:
    path = folder / "asks.json"
    path.write_text(json.dumps(ASKS))
    release = door.release(path)
    runs = [await door.start(release) for _ in range(count)]
    for run in runs:
        await door.wait(run, timeout=60, until_waiting=True)
    return runs


def test_home_is_read_in_slices_and_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C-61: between two passes of the loop so many states are read, and so many work items counted, and no more; who
    asks meanwhile, or in the same second, shares the answer. What it says is what one read at once says."""
    monkeypatch.setattr(home_reads, "MANY", 10)
    monkeypatch.setattr(stuck, "STATES", 7)
    monkeypatch.setattr(tiles, "WINDOW", 9)

    async def scene() -> None:
        async with opened(tmp_path) as door:
            await _started(door, tmp_path, RUNS)
            passes, loaded, counted = [0], dict[int, int](), dict[int, int]()
            store = door.store
            load, groups = store.load, store.open_groups

            def loads(numbers: Any) -> Any:
                asked = list(numbers)
                loaded[passes[0]] = loaded.get(passes[0], 0) + len(asked)
                return load(asked)

            def grouped(*asked: Any) -> Any:
                answer = groups(*asked)
                counted[passes[0]] = counted.get(passes[0], 0) + sum(group.count for group in answer)
                return answer

            async def count() -> None:
                while True:
                    passes[0] += 1
                    await asyncio.sleep(0)

            counting = asyncio.ensure_future(count())
            reads = HomeReads()
            with monkeypatch.context() as patch:
                patch.setattr(store, "load", loads)
                patch.setattr(store, "open_groups", grouped)
                answers = await asyncio.gather(*(reads.home(door, None) for _ in range(5)))
            counting.cancel()
            assert reads.reads == 1
            assert sum(counted.values()) == RUNS and max(counted.values()) <= 9 + 1
            in_slices = sorted(loaded.items())[:-1]  # the last are the items that each of the five is shown
            assert max(number for _, number in in_slices) <= 7 and len(in_slices) >= RUNS // 7
            assert answers[0].headline == home(door).headline and answers[0].headline.waiting == RUNS
            await reads.home(door, None)
            assert reads.reads == 1, "in the same second"
            await reads.home(door.of("other"), None)
            assert reads.reads == 2, "another tenant has figures of its own"

    go(scene())


def test_a_small_home_is_always_new(tmp_path: Path) -> None:
    """Whoever has changed something sees it at once."""

    async def scene() -> None:
        async with opened(tmp_path) as door:
            reads = HomeReads()
            assert (await reads.home(door, None)).headline.waiting == 0
            (run,) = await _started(door, tmp_path, 1)
            assert (await reads.home(door, None)).headline.waiting == 1
            await door.respond(run, "Ask", "yes")
            assert (await reads.home(door, None)).headline.waiting == 0 and reads.reads == 3

    go(scene())
