"""One verb for many runs: in slices, with progress, kept in the store, and it can be cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from penstock.app.access.audit import AuditLog
from penstock.app.penstock import Penstock
from penstock.app.runs.commands import batch_slices, bulk
from penstock.app.runs.commands import batches as module
from penstock.app.runs.commands.batch_care import Care, Results
from penstock.app.runs.commands.batches import Batch, Batches
from penstock.app.runs.commands.bulk import BulkCommand, command_many
from penstock.app.runs.search import Filters
from penstock.errors import BatchesTooMany, BatchNotFound, NotAllowed
from penstock.executors.contract import Done, Failed, Outcome, Request, Services
from penstock.kernel import fact as F
from penstock.kernel.failure import Failure
from penstock.net.model import Node
from penstock.store.batches import NOTHING_WATCHED
from tests.app.scenes import net, opened, task
from tests.app.test_home_reads import _started
from tests.conformance.decision.world import go

RUNS = 130
MAY = frozenset({"run.steer"})
PAUSE = BulkCommand(verb="pause", user="kim", permissions=MAY)


@asynccontextmanager
async def _doing(door: Penstock) -> AsyncIterator[Batches]:
    """In the process that drives the store."""
    batches = Batches(door, AuditLog(door.store))
    batches.open()
    try:
        yield batches
    finally:
        await batches.close()


async def _over(door: Penstock, batch: Batch) -> Batch:
    while (now := module.get(door, batch.id)).state == "running":
        await asyncio.sleep(0.01)
    return now


def _paused(door: Penstock, runs: list[str]) -> int:
    return sum(door.view(run).paused for run in runs)


def test_c_66_a_batch_does_them_all_and_tells_how_far_it_is(tmp_path: Path) -> None:
    """C-66: more than one page, each run by itself; what is refused is told, and keeps nobody else from it."""

    async def scene() -> None:
        async with opened(tmp_path) as door, _doing(door) as batches:
            runs = await _started(door, tmp_path, RUNS)
            await door.pause(runs[7])
            begun = module.begin(door, PAUSE, Filters(name="asks"), reason="a bad day")
            assert (begun.state, begun.total, begun.reason) == ("running", RUNS, "a bad day")
            batches.look()
            assert batches.get(door, begun.id).id == begun.id
            batch = await _over(door, begun)
            assert (batch.state, batch.looked, batch.done, batch.refused) == ("done", RUNS, RUNS - 1, 1)
            assert [refusal.run for refusal in batch.refusals] == [runs[7]] and batch.ended_at is not None
            assert _paused(door, runs) == RUNS
            with pytest.raises(BatchNotFound):
                module.get(door.of("other"), batch.id)
            with pytest.raises(NotAllowed):
                module.begin(door, BulkCommand(verb="pause"), Filters(name="asks"))
            entries = AuditLog(door.store).each(door.tenant, target=f"batches/{batch.id}", limit=100)
            assert {entry.actor for entry in entries} == {"kim"} and entries[0].action == "batch.end"
            assert sorted(run for entry in entries[1:] for run in entry.body["runs"]) == sorted(runs)

    go(scene())


def test_a_batch_can_be_cancelled_and_is_told_from_others(tmp_path: Path) -> None:
    """What is done stays done, nothing more is begun, and all of it is counted."""

    async def scene() -> None:
        async with opened(tmp_path) as door, _doing(door) as batches:
            runs = await _started(door, tmp_path, RUNS)
            begun = module.begin(door, PAUSE, Filters(name="asks"))
            batches.look()
            while batches.get(door, begun.id).done < 5:
                await asyncio.sleep(0)
            batch = await batches.cancel(door, begun.id)
            done = _paused(door, runs)
            assert batch.state == "cancelled" and 5 <= batch.done == done < RUNS
            await asyncio.sleep(0.05)
            assert _paused(door, runs) == done and module.get(door, begun.id) == batch
            assert await batches.cancel(door, begun.id) == batch, "it is over already"
            many = [module.begin(door, PAUSE, Filters(name="asks")) for _ in range(module.MOST_RUNNING)]
            with pytest.raises(BatchesTooMany):
                module.begin(door, PAUSE, Filters(name="asks"))
            newest = [batch.id for batch in module.each(door)]
            assert set(newest[: len(many)]) == {batch.id for batch in many} and newest[-1] == begun.id

    go(scene())


def test_one_that_another_process_cancels_begins_no_more_slices(tmp_path: Path) -> None:
    async def scene() -> None:
        async with opened(tmp_path) as door, _doing(door) as batches:
            runs = await _started(door, tmp_path, RUNS)
            begun = module.begin(door, PAUSE, Filters(name="asks"))
            batches.look()
            while batches.get(door, begun.id).done < 5:
                await asyncio.sleep(0)
            with_a_row_alone = module.cancel(door, begun.id)
            assert with_a_row_alone.state == "cancelled"
            while not batches.idle:
                await asyncio.sleep(0.01)
            batch = module.get(door, begun.id)
            assert batch.state == "cancelled" and batch.done == _paused(door, runs) <= 5 + batch_slices.SLICE

    go(scene())


def test_a_batch_outlives_the_process_that_does_it(tmp_path: Path) -> None:
    """A server that ends in good order leaves it under way; the next one does the rest, and nothing twice."""

    async def scene() -> None:
        async with opened(tmp_path) as door:
            runs = await _started(door, tmp_path, RUNS)
            await door.pause(runs[7])
            async with _doing(door) as batches:
                begun = module.begin(door, PAUSE, Filters(name="asks"))
                batches.look()
                while batches.get(door, begun.id).done < 30:
                    await asyncio.sleep(0)
            left = module.get(door, begun.id)
            assert left.state == "running" and 30 <= left.done == _paused(door, runs) - 1 < RUNS
        async with opened(tmp_path) as door, _doing(door):
            batch = await _over(door, begun)
            assert (batch.state, batch.done, batch.refused) == ("done", RUNS - 1, 1)
            assert _paused(door, runs) == RUNS and [refusal.run for refusal in batch.refusals] == [runs[7]]

    go(scene())


class Refuses:
    """Fails for good until it is mended, and counts by run how often it was asked."""

    name = "echo"

    def __init__(self) -> None:
        self.asked: dict[str, int] = {}
        self.mended = False

    async def run(self, request: Request, services: Services) -> Outcome:
        self.asked[request.run] = self.asked.get(request.run, 0) + 1
        if self.mended:
            return Done({})
        return Failed(Failure(code="bad", message="no", category="permanent"))


def test_a_slice_that_was_cut_off_is_not_done_twice(tmp_path: Path) -> None:
    """As after kill -9 in the middle of a slice: it was written down before the first run was commanded, and nothing
    after. A retry that was taken has failed again by now, so its state looks as it did; its journal does not."""

    async def scene() -> None:
        executor = Refuses()
        async with opened(tmp_path, echo=executor) as door:
            release = door.release(net("fails", [Node(id="s", kind="start"), task("work")], "s>work"))
            runs = [await door.start(release) for _ in range(30)]
            for run in runs:
                await door.wait(run, timeout=60)
            assert set(executor.asked.values()) == {1}
            retry = BulkCommand(verb="retry", user="kim", permissions=MAY)
            begun = module.begin(door, retry, Filters(states=["FAILED"]))
            row = door.store.batch(door.tenant, begun.id)
            assert row is not None and row.place is not None
            asked = module._asked.decode(row.asked)
            steps, place = await batch_slices.next_steps(door, asked, row.place)
            assert len(steps) == batch_slices.SLICE
            door.store.move_batch(module.replace(row, slice=batch_slices.pack(steps), place=place))
            for step in steps[:7]:
                assert await bulk.command_run(door, retry, step.run) is None
                await door.wait(step.run, timeout=60)
            async with _doing(door):
                batch = await _over(door, begun)
            assert (batch.state, batch.looked, batch.done, batch.refused) == ("done", 30, 30, 0)
            for run in runs:
                await door.wait(run, timeout=60)
                facts = [fact for turn in door.store.journal(door.row(run).no) for fact in F.decode_facts(turn.body)]
                assert sum(fact[0] == F.REOPENED for fact in facts) == 1
            assert set(executor.asked.values()) == {2}

    go(scene())


def test_a_signal_of_a_batch_is_taken_once(tmp_path: Path) -> None:
    """Its id is the batch's."""

    async def scene() -> None:
        async with opened(tmp_path) as door:
            runs = await _started(door, tmp_path, 3)
            signal = BulkCommand(verb="signal", name="news", user="kim", permissions=MAY)
            begun = module.begin(door, signal, ids=[*runs, "nobody", runs[0]])
            assert begun.total == 4
            for _ in range(2):
                assert await bulk.command_run(door, signal, runs[0], id=f"batch:{begun.id}") is None
            async with _doing(door):
                batch = await _over(door, begun)
            assert (batch.done, batch.refused, batch.refusals[0].run) == (3, 1, "nobody")
            for run in runs:
                facts = [fact for turn in door.store.journal(door.row(run).no) for fact in F.decode_facts(turn.body)]
                assert sum(fact[0] == F.SIGNAL_KEPT for fact in facts) == 1

    go(scene())


def test_what_many_would_do_is_looked_in_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two passes of the loop so many runs are looked at, and no more; also where nothing is done yet, and where
    all of them refuse."""

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
            assert outcome.count == RUNS == sum(looked.values()) and max(looked.values()) <= bulk.SLICE
            looked.clear()
            begun = module.begin(door, BulkCommand(verb="resume", user="kim", permissions=MAY), Filters(name="asks"))
            async with _doing(door):
                batch = await _over(door, begun)
            counting.cancel()
            assert batch.refused == RUNS == sum(looked.values()) and max(looked.values()) <= bulk.SLICE
            assert len(batch.refusals) == 100

    go(scene())


RETRY = BulkCommand(verb="retry", user="kim", permissions=MAY)


async def _failed(door: Penstock, count: int) -> list[str]:
    release = door.release(net("fails", [Node(id="s", kind="start"), task("work")], "s>work"))
    runs = [await door.start(release) for _ in range(count)]
    for run in runs:
        await door.wait(run, timeout=60)
    return runs


def test_f_8_4_one_that_fails_again_and_again_stops_by_itself(tmp_path: Path) -> None:
    """The first ten are looked at before the rest; too many of them have failed again, so the rest is not tried, until
    somebody goes on with it."""

    async def scene() -> None:
        executor = Refuses()
        async with opened(tmp_path, echo=executor) as door, _doing(door) as batches:
            runs = await _failed(door, 30)
            begun = module.begin(door, RETRY, Filters(states=["FAILED"]), care=Care(first=10, most_failed=5))
            batches.look()
            batch = await _over(door, begun)
            assert (batch.state, batch.code) == ("paused", "STOPPED_ITSELF"), batch
            for run in runs:
                await door.wait(run, timeout=60)
            batch = module.get(door, begun.id)
            assert (batch.done, batch.back, batch.through, batch.looked) == (10, 10, 0, 10)
            assert sorted(executor.asked.values()) == [1] * 20 + [2] * 10
            assert batch.message is not None and batch.message.endswith("failed again.")
            entries = AuditLog(door.store).each(door.tenant, target=f"batches/{batch.id}", limit=100)
            assert entries[0].action == "batch.stopped"
            executor.mended = True
            assert batches.resume(door, batch.id).code is None
            batch = await _over(door, begun)
            assert (batch.state, batch.done, batch.back, batch.through) == ("done", 30, 10, 20), batch
            assert sum(executor.asked.values()) == 60 and len(runs) == 30

    go(scene())


def test_f_8_4_what_is_paused_goes_on_where_it_was(tmp_path: Path) -> None:
    """Also in the process that drives the store next; nothing is counted or done twice."""

    async def scene() -> None:
        executor = Refuses()
        async with opened(tmp_path, echo=executor) as door:
            await _failed(door, 25)
            executor.mended = True
            async with _doing(door) as batches:
                begun = module.begin(door, RETRY, Filters(states=["FAILED"]), care=Care(per_second=100, most_failed=5))
                batches.look()
                while batches.get(door, begun.id).done < 3:
                    await asyncio.sleep(0)
                paused = await batches.pause(door, begun.id)
                assert paused.state == "paused" and 3 <= paused.done < 25
                await asyncio.sleep(0.05)
                assert module.get(door, begun.id).done == paused.done and batches.idle
                assert await batches.pause(door, begun.id) == paused
        async with opened(tmp_path, echo=executor) as door:
            async with _doing(door) as batches:
                await asyncio.sleep(0.05)
                assert module.get(door, begun.id).state == "paused", "nobody has gone on with it"
                batches.resume(door, begun.id)
                batch = await _over(door, begun)
                assert (batch.state, batch.looked, batch.done, batch.through) == ("done", 25, 25, 25), batch
            assert set(executor.asked.values()) == {2}
            again = module.begin(door, PAUSE, Filters(name="fails"))
            assert module.pause(door, again.id).state == "paused"
            assert module.cancel(door, again.id).state == "cancelled" == module.resume(door, again.id).state

    go(scene())


def test_f_8_4_results_are_looked_at_while_it_goes(tmp_path: Path) -> None:
    """Not only when it waits for them: with a speed it stops in the middle."""

    async def scene() -> None:
        executor = Refuses()
        async with opened(tmp_path, echo=executor) as door, _doing(door) as batches:
            await _failed(door, 60)
            begun = module.begin(door, RETRY, Filters(states=["FAILED"]), care=Care(per_second=40, most_failed=5))
            batches.look()
            batch = await _over(door, begun)
            assert (batch.state, batch.code) == ("paused", "STOPPED_ITSELF") and batch.done < 60, batch

    go(scene())


def test_f_8_4_its_speed_is_kept() -> None:
    """Each is given its moment; what comes late gives nothing back."""
    results = Results(Care(per_second=10), NOTHING_WATCHED)
    assert [round(results.pause_s(0.0), 3) for _ in range(3)] == [0.0, 0.1, 0.2]
    assert [round(results.pause_s(5.0), 3) for _ in range(2)] == [0.0, 0.1]
