"""The outbox: written with the facts, delivered at least once, in order per run, and in nobody's way."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from penstock.errors import StoreFull
from penstock.executors.contract import failed
from penstock.host.clock import ManualClock
from penstock.host.outbox import RETRY_MS, Outbox
from penstock.kernel import command as C
from penstock.store.run_store import Batch
from penstock.store.sqlite import Sqlite
from tests.host.rig import Fn, Rig, chain, ended, eventually, go, task, wait, work


class Sink:
    """A receiver that may be down."""

    def __init__(self) -> None:
        self.got: list[tuple[str, dict[str, Any], str]] = []
        self.tries = 0
        self.down = False
        self.refuses: set[str] = set()
        self.delay_s = 0.0

    async def __call__(self, topic: str, body: dict[str, Any], key: str) -> None:
        self.tries += 1
        await asyncio.sleep(self.delay_s)
        if self.down or body["run"] in self.refuses:
            raise ConnectionError("down")
        self.got.append((topic, body, key))

    def of(self, run: str) -> list[str]:
        return [topic for topic, body, _ in self.got if body["run"] == run]


def left(rig: Rig) -> int:
    with rig.reading() as store:
        return int(store.c.execute("SELECT count(*) FROM outbox").fetchone()[0])


def test_what_happened_is_told_outside_in_order(rig: Rig) -> None:
    """run.started, run.moved, incident and work.*: each once, with the run's id, a key of its own, and no insides."""
    sink = Sink()

    async def scene() -> str:
        host = rig.open(Fn(lambda request: failed("NO", "business", "no")))
        host.outbox.sinks.append(sink)
        async with rig.driving() as host:
            run: str = host.start(host.release(chain(work("p"), task("a"))), {"secret": 1})
            await eventually(lambda: "work.opened" in sink.of(run))
            row = host.store.run_by_id(run)
            (item,) = host.store.items(run=row.no)
            await host.ask(row.no, C.work(item[1], "submit", "kim", {"big": "answer"}))
            await ended(host, run)
            await eventually(lambda: left(rig) == 0)
            return run

    run = go(scene())
    assert sink.of(run) == ["run.started", "work.opened", "run.moved", "work.moved", "run.moved", "run.moved"]
    bodies = [body for _, body, _ in sink.got]
    assert [body["seq"] for body in bodies] == sorted({body["seq"] for body in bodies})
    assert [key for *_, key in sink.got] == [f"{run}/{body['seq']}" for body in bodies]
    assert bodies[1]["node"] == "p" and bodies[1]["prompt"] == "do it" and bodies[3]["by"] == "kim"
    assert bodies[-1]["to"] == "FAILED" and bodies[-1]["failure"]["code"] == "NO"
    assert "secret" not in str(bodies) and all(body["tenant"] == "default" for body in bodies)


def test_without_a_receiver_nothing_is_written_unless_it_is_asked_for(rig: Rig) -> None:
    for publish, rows in ((False, 0), (True, 2)):
        host = rig.open(publish=publish)
        host.start(host.release(chain(wait("w"))))
        host.iterate()
        assert left(rig) == rows
    sink = Sink()

    async def scene() -> None:
        host = rig.open(Fn())
        host.outbox.sinks.append(sink)
        async with rig.driving() as host:
            await eventually(lambda: left(rig) == 0)

    go(scene())
    assert [topic for topic, *_ in sink.got] == ["run.started", "run.moved"]


def test_h10_a_row_and_its_fact_are_one_commit(rig: Rig) -> None:
    """H10: when the commit fails neither is there; when it holds, both are, whatever happens next."""

    class Breaks(Sqlite):
        broken = True

        def commit(self, batch: Batch) -> None:
            if self.broken and batch.outbox:
                batch.gate.append(("too", "few"))
                self.broken = False
            super().commit(batch)

    store = Breaks(rig.path)
    host = rig.open(store=store, publish=True)
    net = host.release(chain(wait("w")))
    run = host.start(net)
    with pytest.raises(Exception, match="store failed"):
        host.iterate()
    assert left(rig) == 0 and store.last_run() == 0
    host.iterate()
    with rig.reading() as reader:
        rows = reader.c.execute("SELECT run, seq, topic FROM outbox").fetchall()
    numbers = [n for n, f in enumerate(rig.facts(run), 1) if f["fact"] in ("run.started", "run.moved")]
    assert [seq for _, seq, _ in rows] == numbers


def test_at_least_once_and_in_order_while_the_receiver_is_down(rig: Rig) -> None:
    """Nothing is lost and nothing overtakes: not in the round that fails, and not in the rounds after it."""
    clock = ManualClock()
    sink = Sink()
    rig.store = Sqlite(rig.path)
    outbox = Outbox(rig.store, clock)
    outbox.sinks.append(sink)
    rows = [(run, seq, f"t{seq}", _body(run, seq), 0, clock.at) for seq in range(1, 6) for run in (1, 2)]
    batch = Batch()
    batch.outbox = rows
    rig.store.commit(batch)
    sink.refuses = {"r1"}

    async def scene() -> None:
        assert await outbox.deliver() == 5
        assert sink.of("r2") == ["t1", "t2", "t3", "t4", "t5"] and sink.of("r1") == [] and sink.tries == 6
        for tried, pause in enumerate((100, 1000, 5000, 30000), 6):
            assert await outbox.deliver() == 0 and sink.tries == tried
            clock.at += pause - 1
            assert await outbox.deliver() == 0 and sink.tries == tried
            clock.at += 1
            assert await outbox.deliver() == 0 and sink.tries == tried + 1
        sink.refuses = set()
        clock.at += RETRY_MS[-1]
        assert await outbox.deliver() == 5
        assert sink.of("r1") == ["t1", "t2", "t3", "t4", "t5"]

    go(scene())
    assert left(rig) == 0


def _body(run: int, seq: int) -> bytes:
    return msgspec.msgpack.encode({"run": f"r{run}", "seq": seq})


def test_a_crash_between_delivery_and_its_note_repeats_under_the_same_key(rig: Rig) -> None:
    """At least once: the receiver knows the repetition by its key."""
    sink = Sink()
    host = rig.open(publish=True)
    host.start(host.release(chain(wait("w"))))
    host.iterate()

    class Forgets(Sqlite):
        def outbox_moved(self, done: Any, later: Any) -> None:
            raise StoreFull

    async def scene() -> None:
        rig.close()
        store = Forgets(rig.path)
        first = Outbox(store, ManualClock(at=10**13))
        first.sinks.append(sink)
        with pytest.raises(StoreFull):
            await first.deliver()
        store.close()
        host = rig.open(Fn())
        host.outbox.sinks.append(sink)
        async with rig.driving() as host:
            await eventually(lambda: left(rig) == 0)

    go(scene())
    keys = [key for *_, key in sink.got]
    assert len(keys) == 4 and keys[:2] == keys[2:]


def test_a_slow_receiver_holds_up_no_run(rig: Rig) -> None:
    """A receiver that takes half a second for each message: two hundred runs end long before it has heard of them."""
    sink = Sink()
    sink.delay_s = 0.5

    async def scene() -> int:
        host = rig.open(Fn())
        host.outbox.sinks.append(sink)
        async with rig.driving() as host:
            net = host.release(chain(task("a"), task("b")))
            await ended(host, *(host.start(net) for _ in range(200)))
            return len(sink.got)

    assert go(scene()) < 200, "at two a second they are told for minutes"
    assert left(rig) >= 200
    rig.sound()


def test_the_host_delivers_again_by_itself(rig: Rig) -> None:
    sink = Sink()
    sink.down = True

    async def scene() -> None:
        host = rig.open(Fn())
        host.outbox.sinks.append(sink)
        async with rig.driving() as host:
            await ended(host, host.start(host.release(chain(task("a")))))
            await eventually(lambda: sink.tries >= 2)
            sink.down = False
            await eventually(lambda: left(rig) == 0)

    go(scene())
    assert [topic for topic, *_ in sink.got] == ["run.started", "run.moved"]
