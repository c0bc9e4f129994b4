"""Events that are read as a stream: none is lost, none is read by two, and a crash makes them come again (C-24)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.app.penstock import Penstock
from penstock.errors import StoreFull
from penstock.host.stream_cursor import Arrivals, Source, StreamBatch
from penstock.store.events import EventRow
from penstock.store.run_store import Batch
from penstock.store.sqlite import Sqlite
from tests.conformance.decision.make import document


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Sqlite]:
    made = Sqlite(tmp_path / "s.db")
    yield made
    made.close()


def arrive(store: Sqlite, first: int, last: int, source: str = "s") -> None:
    for n in range(first, last + 1):
        store.put_event(EventRow("t", f"{source}{n}", source, b"%c" % n, 0))


def reading(store: Sqlite) -> Source:
    return Source(store, "t", "s", 0)


def took(source: Source, most: int = 2) -> StreamBatch:
    taken = source.take(most)
    assert taken is not None
    return taken


def committed(store: Sqlite, *all: StreamBatch) -> None:
    arrivals, batch = Arrivals(), Batch()
    arrivals.answered = [(None, one) for one in all]  # type: ignore[misc]
    arrivals.write(batch, lambda _: True)
    store.commit(batch)
    arrivals.write(Batch(), lambda _: True)


def test_each_is_read_by_one(store: Sqlite) -> None:
    """C-24: what somebody has is not given to the next one; what is given back comes again, and first."""
    arrive(store, 1, 5)
    source = reading(store)
    a, b = took(source), took(source)
    assert (a.messages, b.messages) == ([1, 2], [3, 4])
    a.give_back()
    committed(store, b)
    again = took(source, 3)
    assert again.messages == [1, 2, 5] and source.take(1) is None
    assert took(reading(store), 9).messages == [1, 2, 3, 4, 5]  # a crash: nothing before 3 has arrived
    committed(store, again)
    assert reading(store).take(9) is None and source.take(9) is None
    arrive(store, 6, 6)
    assert took(source).messages == [6]


def test_two_answers_in_one_commit(store: Sqlite) -> None:
    """C-24: how far it is read takes both into account, in whichever order they come."""
    arrive(store, 1, 6)
    source = reading(store)
    a, b, c = took(source), took(source), took(source)
    committed(store, c, a)
    assert took(reading(store), 9).messages == [3, 4, 5, 6]
    committed(store, b)
    assert reading(store).take(9) is None


def test_what_the_store_has_forgotten_does_not_hold_up_the_rest(store: Sqlite) -> None:
    """C-24: given back, and purged meanwhile."""
    arrive(store, 1, 2)
    source = reading(store)
    took(source).give_back()
    store.events_delivered([(b"", 1), (b"", 2)])
    arrive(store, 3, 3)
    store.events_delivered([(b"", 3)])
    store.forget_events(10)
    committed(store, took(source))
    assert source.back == set() and source.low == 3


def test_a_commit_that_fails_has_read_nothing(store: Sqlite) -> None:
    """C-24: the row goes with the answer when that comes again, and with nothing else."""
    arrive(store, 1, 2)
    source, arrivals, batch = reading(store), Arrivals(), Batch()
    arrivals.answered = [(None, took(source))]  # type: ignore[list-item]
    arrivals.write(batch, lambda _: True)
    batch.memo.append(("other", b"", 9))
    arrivals.on_rollback(batch)
    assert [row[0] for row in batch.memo] == ["other"] and source.take(1) is None
    arrivals.write(batch := Batch(), lambda _: False)
    assert batch.memo == [] and len(arrivals.answered) == 1
    arrivals.write(batch, lambda _: None)  # refused: they are for the next one
    assert batch.memo == [] and took(source).messages == [1, 2]


# ---- runs ------------------------------------------------------------------------------------------------------------


def stream(**output: Any) -> bytes:
    source = {"type": "stream", "query": "alarm", "params": {"max_messages": 2, "max_wait_ms": 0}}
    node = {"id": "read", "type": "DATA", "source": source, "output": {"variable": "found", **output}}
    return json.dumps(document([node])).encode()


async def read(door: Penstock, body: bytes) -> Any:
    run = await door.start(door.release(body, name="a.json"))
    look = await door.wait(run)
    return look.variables.get("found") if look.status == "completed" else (look.failure or {})["code"]


def opened(folder: Path) -> Penstock:
    return Penstock(folder / "s.db", settings={"retry.base_ms": 1})


def test_the_next_process_reads_on(tmp_path: Path) -> None:
    """C-24: successive processes read each event once."""

    async def scene() -> None:
        found = []
        for n in range(3):
            async with opened(tmp_path) as door:
                if n == 0:
                    for i in range(5):
                        await door.send_event("alarm", {"i": i})
                found += await read(door, stream())
        assert [one["i"] for one in found] == [0, 1, 2, 3, 4]

    asyncio.run(scene())


def test_what_a_schema_refuses_is_there_for_the_next(tmp_path: Path) -> None:
    """C-24: an answer that does not stand has read nothing, in this process or another."""
    never = stream(schema={"type": "string"})

    async def scene() -> None:
        async with opened(tmp_path) as door:
            await door.send_event("alarm", {"i": 0})
            assert await read(door, never) == "OUTPUT_SCHEMA"
            assert await read(door, never) == "OUTPUT_SCHEMA"
        async with opened(tmp_path) as door:
            assert await read(door, stream()) == [{"i": 0}] and await read(door, stream()) == []

    asyncio.run(scene())


def test_a_store_that_is_full_for_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C-24: the commit with the answer fails, and comes again; nothing is lost by it, and nothing read twice."""

    async def scene() -> None:
        async with opened(tmp_path) as door:
            for i in range(4):
                await door.send_event("alarm", {"i": i})
            commit, fails = door.store.commit, [True]

            def full(batch: Batch) -> None:
                if any(row[0].startswith("taken:") for row in batch.memo) and fails:
                    fails.pop()
                    raise StoreFull(path="s.db", why="full")
                commit(batch)

            monkeypatch.setattr(door.store, "commit", full)
            assert await read(door, stream()) == [{"i": 0}, {"i": 1}] and not fails
            assert await read(door, stream()) == [{"i": 2}, {"i": 3}]
        async with opened(tmp_path) as door:
            assert await read(door, stream()) == []

    asyncio.run(scene())
