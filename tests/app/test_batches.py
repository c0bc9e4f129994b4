"""One verb for all runs that fit: in slices, with progress, and it can be cancelled."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from penstock.app.runs.commands import batches as module
from penstock.app.runs.commands import bulk
from penstock.app.runs.commands.batches import Batch, Batches
from penstock.app.runs.commands.bulk import BulkCommand, command_many
from penstock.app.runs.search import Filters
from penstock.errors import BatchesTooMany, BatchNotFound, NotAllowed
from tests.app.scenes import opened
from tests.app.test_home_reads import _started
from tests.conformance.decision.world import go

RUNS = 130
MAY = frozenset({"run.steer"})


async def _over(batch: Batch) -> Batch:
    while batch.state == "running":
        await asyncio.sleep(0.01)
    return batch


def test_a_batch_does_them_all_and_tells_how_far_it_is(tmp_path: Path) -> None:
    """C-66: more than one page, each run by itself; what is refused is told, and keeps nobody else from it."""

    async def scene() -> None:
        async with opened(tmp_path) as door:
            runs = await _started(door, tmp_path, RUNS)
            await door.pause(runs[7])
            batches = Batches(door.now)
            batch = batches.begin(door, BulkCommand(verb="pause", user="kim", permissions=MAY), Filters(name="asks"))
            assert batch.state == "running" and batches.get(door.tenant, batch.id) is batch
            await _over(batch)
            assert (batch.state, batch.looked_at, batch.done, batch.refused) == ("done", RUNS, RUNS - 1, 1)
            assert [refusal.run for refusal in batch.refusals] == [runs[7]] and batch.ended_at is not None
            assert all(door.view(run).paused for run in runs)
            with pytest.raises(BatchNotFound):
                batches.get("other", batch.id)
            with pytest.raises(NotAllowed):
                batches.begin(door, BulkCommand(verb="pause"), Filters(name="asks"))

    go(scene())


def test_a_batch_can_be_cancelled_and_is_told_from_others(tmp_path: Path) -> None:
    """What is done stays done, and nothing more is begun."""

    async def scene() -> None:
        async with opened(tmp_path) as door:
            runs = await _started(door, tmp_path, RUNS)
            batches = Batches(door.now)
            command = BulkCommand(verb="pause", user="kim", permissions=MAY)
            batch = batches.begin(door, command, Filters(name="asks"))
            while batch.done < 5:
                await asyncio.sleep(0)
            await batches.cancel(door.tenant, batch.id)
            done = sum(door.view(run).paused for run in runs)
            assert batch.state == "cancelled" and batch.done <= done <= batch.done + 1 < RUNS
            await asyncio.sleep(0.05)
            assert sum(door.view(run).paused for run in runs) == done
            many = [batches.begin(door, command, Filters(name="asks")) for _ in range(module.MOST_RUNNING)]
            with pytest.raises(BatchesTooMany):
                batches.begin(door, command, Filters(name="asks"))
            assert batches.each(door.tenant)[0] is many[-1]
            await batches.close()
            assert {one.state for one in many} == {"cancelled"}

    go(scene())


def test_what_many_would_do_is_looked_at_in_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two passes of the loop so many runs are looked at, and no more; also where nothing is done yet."""

    async def scene() -> None:
        async with opened(tmp_path) as door:
            runs = await _started(door, tmp_path, RUNS)
            passes, looked = [0], dict[int, int]()
            plain = bulk.moves

            def moves(*given: Any, **more: Any) -> Any:
                looked[passes[0]] = looked.get(passes[0], 0) + 1
                return plain(*given, **more)

            async def count() -> None:
                while True:
                    passes[0] += 1
                    await asyncio.sleep(0)

            monkeypatch.setattr(bulk, "moves", moves)
            counting = asyncio.ensure_future(count())
            outcome = await command_many(door, BulkCommand(verb="cancel", permissions=MAY), runs)
            counting.cancel()
            assert outcome.count == RUNS == sum(looked.values()) and max(looked.values()) <= bulk.SLICE

    go(scene())
