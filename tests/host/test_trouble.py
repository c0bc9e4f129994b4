"""A store that takes nothing for a while: nothing is lost, the engine says so, waits, and goes on by itself."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.app.maintenance.verify import verify
from penstock.app.penstock import Penstock
from penstock.errors import StoreAway, StoreBusy, StoreError, StoreFull
from penstock.executors.contract import Done, Request
from penstock.host import engine_loop
from penstock.host.clock import ManualClock
from penstock.kernel import command as C
from penstock.kernel.state import CANCELLED
from penstock.net.compiled import Compiled
from penstock.net.model import Concurrency, Rate
from penstock.store.run_store import Batch
from penstock.store.sqlite import Sqlite
from tests.host.rig import Fn, Rig, call, chain, eventually, fan, go, pause, task, wait

Give = Callable[[], None]


def little_room(store: Sqlite) -> Give:
    """SQLite itself finds that there is no page left."""
    (pages,) = store.c.execute("PRAGMA page_count").fetchone()
    store.c.execute(f"PRAGMA max_page_count={pages + 40}")
    return lambda: store.c.execute("PRAGMA max_page_count=1000000") and None


def short_files(store: Sqlite) -> Give:
    """The kernel refuses to make the file longer: an I/O error in the middle of a commit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    wal = Path(f"{store.path}-wal").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (wal, hard))
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def locked(store: Sqlite) -> Give:
    """Somebody else has the database open and writes for ever."""
    store.c.execute("PRAGMA busy_timeout=20")
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    def give() -> None:
        other.execute("ROLLBACK")
        other.close()

    return give


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_loop, "LONGEST_PAUSE_S", 0.2)


@contextlib.contextmanager
def given_back(give: Give) -> Iterator[None]:
    try:
        yield
    finally:
        give()


@pytest.mark.parametrize(
    ("provoke", "code"),
    [(little_room, StoreFull.code), (short_files, StoreAway.code), (locked, StoreBusy.code)],
    ids=["no page left", "no longer file", "locked by another"],
)
def test_h13_the_engine_waits_for_room_and_goes_on(
    tmp_path: Path, provoke: Callable[[Sqlite], Give], code: str, caplog: pytest.LogCaptureFixture
) -> None:
    """H13: the turn is rolled back, runs can be looked at, who waits waits on, and with room all of them end by
    themselves, with every effect done once."""
    caplog.set_level(logging.WARNING, "penstock")
    seen: list[str] = []

    async def scene() -> None:
        penstock = Penstock(tmp_path / "store.db")

        @penstock.executor("x")
        async def x(request: Request) -> Any:
            seen.append(request.key)
            await asyncio.sleep(0.01)
            return Done(request.node + "y" * 20_000)

        async with penstock:
            host, told = penstock.host, list[str | None]()
            host.on_trouble.append(lambda error: told.append(None if error is None else error.code))
            release = penstock.release(chain(*(task(n) for n in "abcd")))
            runs = await penstock.start_many(release, range(40))
            with given_back(provoke(penstock.store)):
                waiting = [asyncio.ensure_future(penstock.wait(run, timeout=60)) for run in runs]
                await eventually(lambda: host.trouble)
                assert host.trouble is not None and host.trouble.code == code and host.trouble.passing
                with pytest.raises(StoreError):  # what is small may fit into pages that are there
                    await penstock.start(release, "y" * 60_000, key="no room")
                assert {penstock.view(run).internal_status for run in runs} <= {"RUNNING", "COMPLETED"}
                await asyncio.sleep(0.3)
                assert host.trouble is not None and not any(one.done() and one.exception() for one in waiting)
            looks = await asyncio.gather(*waiting)
            assert [look.internal_status for look in looks] == ["COMPLETED"] * 40
            assert host.trouble is None and told[:2] == [code, None] and told[-1] is None
            await penstock.wait(await penstock.start(release, key="no room"), timeout=60)
            assert verify(penstock.store).violations == []

    go(scene())
    assert len(seen) == len(set(seen)) == 41 * 4
    assert code in caplog.text and "takes turns again" in caplog.text


def test_h13_closed_while_there_is_no_room(tmp_path: Path) -> None:
    """What was acknowledged is there when the store is opened again; what was not in the store is done again."""

    async def scene() -> None:
        async def driven(penstock: Penstock) -> None:
            penstock.executor("x")(lambda request: Done("y" * 50_000))

        penstock = Penstock(tmp_path / "store.db")
        await driven(penstock)
        async with penstock:
            runs = await penstock.start_many(penstock.release(chain(task("a"), task("b"), task("c"))), range(20))
            little_room(penstock.store)
            await eventually(lambda: penstock.host.trouble)
            waiting = asyncio.ensure_future(penstock.wait(runs[-1], timeout=60))
        with pytest.raises(StoreFull):
            await waiting
        again = Penstock(tmp_path / "store.db")
        await driven(again)
        async with again:
            for run in runs:
                assert (await again.wait(run, timeout=60)).internal_status == "COMPLETED"
            assert verify(again.store).violations == []

    go(scene())


def test_h13_an_impatient_engine_stops(tmp_path: Path) -> None:
    """For a command of the shell: it says why and ends, and the same command goes on."""

    async def scene() -> None:
        penstock = Penstock(tmp_path / "store.db", alone=True)
        penstock.executor("x")(lambda request: Done("y" * 50_000))
        async with penstock:
            runs = await penstock.start_many(penstock.release(chain(task("a"), task("b"), task("c"))), range(20))
            little_room(penstock.store)
            with pytest.raises(StoreFull):
                await penstock.wait(runs[-1], timeout=60)

    go(scene())


class Fails(Sqlite):
    """Fails at the commits that a rule names, before they are done."""

    rule: Callable[[Batch], bool] = staticmethod(lambda batch: False)
    failed = 0

    def commit(self, batch: Batch) -> None:
        if self.rule(batch):
            self.failed += 1
            raise StoreFull
        super().commit(batch)


def test_e6_an_intent_that_cannot_be_marked_is_marked_later(rig: Rig) -> None:
    """E6, H13: the effect does not go out unmarked, and is not forgotten; its place in the gate is not lost."""
    x = Fn(lambda request: "done")

    async def scene() -> None:
        store = Fails(rig.path)
        store.rule = lambda batch: bool(batch.intent) and store.failed < 3
        host = rig.open(x, store=store)
        run = host.start(host.release(chain(task("a", safe="at_most_once"), task("b", safe="at_most_once"))))
        async with rig.driving() as host:
            await eventually(lambda: store.failed == 3)
            assert not x.seen
            await eventually(lambda: host.row(run).status >= 5)

    go(scene())
    assert [r.node for r in x.seen] == ["a", "b"]
    rig.sound()


def test_a_large_answer_in_the_backlog_keeps_its_blob(rig: Rig) -> None:
    """The blob goes with the first batch after its answer, which may be another run's; when that fails, with the
    next."""
    x = Fn(lambda request: "z" * 100_000 if request.node == "a" else None)

    async def scene() -> None:
        store = Fails(rig.path)
        store.rule = lambda batch: bool(batch.blobs) and store.failed < 1
        host = rig.open(x, store=store, batch=1)
        net = host.release(chain(task("a"), task("b")))
        runs = [host.start(net) for _ in range(3)]
        async with rig.driving() as host:
            await eventually(lambda: all(host.row(r) and host.row(r).status >= 5 for r in runs))

    go(scene())
    bodies = [request.inputs[0].bodies[0] for request in x.seen if request.node == "b"]
    assert bodies == ["z" * 100_000] * 3
    rig.sound()


def test_k23_a_cancel_for_a_child_is_not_lost_with_its_commit(rig: Rig) -> None:
    """K23: the caller is cancelled, and the commit that cancels its child fails: it is tried again."""
    child = chain(wait("w"), name="child")

    async def scene() -> None:
        store = Fails(rig.path)
        host = rig.open(Fn(), store=store)
        host.release(child)
        host.start(host.release(chain(call("c", Compiled(child).hash))), id="r1")
        async with rig.driving() as host:
            await eventually(lambda: len(host.store.runs()) == 2)
            store.rule = lambda batch: any(row[0] == 2 for row in batch.journal) and store.failed < 2
            await host.ask(1, C.cancel("now"))
            await eventually(lambda: all(row.status >= 5 for row in host.store.runs()))
            assert store.failed == 2

    go(scene())
    with rig.reading() as store:
        assert {row.status for row in store.runs()} == {CANCELLED}
    rig.sound()


def test_h9_a_refusal_is_answered_with_the_batch_it_was_decided_in(rig: Rig) -> None:
    """H9: a command of the inbox is refused beside a turn whose commit fails; it is answered once, later."""
    number = 0

    async def scene() -> None:
        nonlocal number
        store = Fails(rig.path)
        host = rig.open(Fn(lambda request: None), store=store)
        host.start(host.release(chain(wait("w"))))
        host.iterate()
        number = store.put_inbox(1, msgspec.msgpack.encode(C.resume()), 1)
        store.rule = lambda batch: store.failed < 1
        host.start(host.release(chain(task("a"))))
        host.inbox.poll()
        with pytest.raises(StoreFull):
            host.iterate()
        assert store.inbox_answer(number) is None and host.inbox.taken == set()
        async with rig.driving(recover=False):
            await eventually(lambda: store.inbox_answer(number))

    go(scene())
    with rig.reading() as reader:
        assert b"PS-409" in (reader.inbox_answer(number) or b"")
    rig.sound()


def test_a_run_that_cannot_be_folded_stops_nobody_else(rig: Rig) -> None:
    """One damaged row: its run is parked and said to be, the others go on."""
    host = rig.open(Fn())
    net = host.release(chain(wait("w")))
    bad, good = host.start(net), host.start(net)
    host.iterate()
    rig.store.c.execute("UPDATE run SET checkpoint=x'00' WHERE id=?", (bad,))

    async def scene() -> None:
        async with rig.driving(Fn()) as host:
            for run in (bad, good):
                row = host.row(run)
                assert row is not None
                host.send(row.no, C.signal("", "go"))
            await eventually(lambda: host.row(good).status >= 5)
            assert list(host.turns.parked) == [host.row(bad).no]
            with pytest.raises(Exception, match="tripped over a bug"):
                await host.ask(host.row(bad).no, C.cancel())

    go(scene())


# ---- what can not be read, and a clock that goes back -------------------------------------------------------------


def test_a_store_that_cannot_be_read_after_a_turn_loses_no_effect(rig: Rig) -> None:
    """H13: the turn is committed, and what it asked for could not go out: it goes out later, and once."""
    child = chain(task("a"), name="child")
    x = Fn(lambda request: request.node)

    class Unread(Sqlite):
        left = 3

        def run_by_id(self, prefix: str) -> Any:
            if self.left and prefix.startswith("c"):
                self.left -= 1
                raise StoreAway(why="it cannot be read")
            return super().run_by_id(prefix)

    async def scene() -> None:
        store = Unread(rig.path)
        host = rig.open(x, store=store)
        host.release(child)
        host.start(host.release(fan(task("t"), call("c", Compiled(child).hash), task("u"))), id="r1")
        async with rig.driving() as host:
            await eventually(lambda: (row := host.row("r1")) is not None and row.status >= 5)
            assert store.left == 0

    go(scene())
    assert sorted(r.node for r in x.seen) == ["a", "t", "u"]
    rig.sound()


class Away(Sqlite):
    """Takes and gives nothing of one run while it is away."""

    away = False
    missed = 0

    def commit(self, batch: Batch) -> None:
        if self.away and any(row[0] == 2 for row in batch.journal):
            self.missed += 1
            raise StoreAway(why="it is away")
        super().commit(batch)

    def load(self, numbers: Any) -> Any:
        if self.away:
            raise StoreAway(why="it is away")
        return super().load(numbers)


def test_an_effect_whose_place_is_free_while_its_run_is_lost_is_asked_again(rig: Rig) -> None:
    """H13: it waits for a place; its run's commit fails, the place is free, and only then can the run be folded."""
    place, told = Concurrency(name="one", limit=1), asyncio.Event()
    first = asyncio.Event()
    x = Fn(lambda request: {"held": first.wait, "other": told.wait}.get(request.node, lambda: None)() or request.node)

    async def scene() -> None:
        store = Away(rig.path)
        host = rig.open(x, store=store)
        host.start(host.release(chain(task("held", concurrency=place))), id="r1")
        host.start(host.release(fan(task("parked", concurrency=place), task("other"))), id="r2")
        async with rig.driving() as host:
            await eventually(lambda: {"held", "other"} <= {r.node for r in x.seen})
            store.away = True
            told.set()
            await eventually(lambda: store.missed > 0)
            first.set()
            await eventually(lambda: x.ended == 2)
            await asyncio.sleep(0.05)  # the place is given on
            store.away = False
            await eventually(lambda: all((row := host.row(run)) and row.status >= 5 for run in ("r1", "r2")))

    go(scene())
    assert sorted(r.node for r in x.seen) == ["held", "other", "parked"]
    rig.sound()


def test_what_the_gate_let_in_goes_out_though_another_could_not_be_read(rig: Rig) -> None:
    """H13: of one turn, an effect with a place and a call whose run the store cannot look for."""
    child = chain(task("a"), name="child")
    x = Fn(lambda request: request.node)

    class Unread(Sqlite):
        left = 3

        def run_by_id(self, prefix: str, **more: Any) -> Any:
            if self.left and prefix.startswith("c"):
                self.left -= 1
                raise StoreAway(why="it cannot be read")
            return super().run_by_id(prefix, **more)

    async def scene() -> None:
        store = Unread(rig.path)
        host = rig.open(x, store=store)
        host.release(child)
        two = Concurrency(name="two", limit=2)
        host.start(host.release(fan(task("t", concurrency=two), call("c", Compiled(child).hash))), id="r1")
        async with rig.driving() as host:
            await eventually(lambda: (row := host.row("r1")) is not None and row.status >= 5)

    go(scene())
    assert sorted(r.node for r in x.seen) == ["a", "t"]
    rig.sound()


def test_h5_a_child_whose_end_was_committed_without_an_answer_is_heard_of(rig: Rig) -> None:
    """H5, H13: the commit is there, its answer is lost, and the store cannot be asked: the caller hears of it later."""
    child = chain(task("a"), name="child")
    x = Fn(lambda request: request.node)
    told: list[str] = []

    class Mute(Sqlite):
        away = 0

        def commit(self, batch: Batch) -> None:
            super().commit(batch)
            if self.away == 0 and any(row[3] == 2 for row in batch.ended):
                self.away = 3
                raise StoreAway(why="its answer is lost")

        def journal(self, run: int, after: int = 0) -> Any:
            self._missing()
            return super().journal(run, after)

        def load(self, numbers: Any) -> Any:
            self._missing()
            return super().load(numbers)

        def _missing(self) -> None:
            if self.away > 1:
                self.away -= 1
                raise StoreAway(why="it cannot be read")

    async def scene() -> None:
        store = Mute(rig.path)
        host = rig.open(x, store=store)
        host.turns.on_end.append(lambda live: told.append(live.id))
        host.release(child)
        host.start(host.release(chain(call("c", Compiled(child).hash))), id="r1")
        async with rig.driving() as host:
            await eventually(lambda: (row := host.row("r1")) is not None and row.status >= 5)
            assert store.away == 1

    go(scene())
    assert [r.node for r in x.seen] == ["a"] and len(told) == len(set(told)) == 2
    rig.sound()


def test_h11_a_timer_is_not_late_because_the_clock_went_back(rig: Rig) -> None:
    """H11: an hour back; a timer that is set then is found when it is due, and not an hour later."""
    clock = ManualClock()
    host = rig.open(Fn(), clock=clock)
    host.iterate()
    clock.at -= 3_600_000
    run = host.start(host.release(chain(pause("t", 90_000))))
    while host.iterate():
        pass
    assert rig.status(run) == "WAITING"
    for _ in range(8):
        clock.at += 15_000
        while host.iterate():
            pass
    assert rig.status(run) == "COMPLETED"


def test_h11_a_rate_and_a_breaker_do_not_stop_because_the_clock_went_back(rig: Rig) -> None:
    """H11: what waits for a span of time waits for that span."""
    clock, x = ManualClock(), Fn()

    async def scene() -> None:
        host = rig.open(x, clock=clock)
        rate = Rate(name="r", limit=1, per_ms=1_000)
        net = host.release(chain(task("a", rate=rate)))
        for _ in range(3):
            host.start(net)
        host.iterate()
        clock.at -= 3_600_000
        for _ in range(6):
            host.iterate()
            await asyncio.sleep(0.001)
            clock.at += 1_000
        assert len(x.seen) == 3
        await host.close()

    go(scene())


def test_h14_a_command_that_this_version_does_not_know_reaches_no_run(rig: Rig) -> None:
    """H14: garbage and commands of the future are refused; the engine and the run go on."""
    left = [b"\xc1", b"", msgspec.msgpack.encode(7), msgspec.msgpack.encode([99, 1]), msgspec.msgpack.encode(["x"])]

    async def scene() -> None:
        async with rig.driving(Fn()) as host:
            run = host.start(host.release(chain(wait("w"))))
            await eventually(lambda: host.row(run))
            numbers = [host.store.put_inbox(1, body, 1) for body in left]
            numbers.append(host.store.put_inbox(1, msgspec.msgpack.encode(C.signal("", "go")), 1))
            await eventually(lambda: all(host.store.inbox_answer(n) for n in numbers))
            answers = [msgspec.msgpack.decode(host.store.inbox_answer(n) or b"") for n in numbers]
            assert [a.get("code") for a in answers] == ["PS-409-REFUSED"] * 5 + [None]
            await eventually(lambda: host.row(run).status >= 5)  # type: ignore[union-attr]
            assert not host.turns.parked

    go(scene())
