"""What effects tell everybody is in the store before their answers, once, and many of them in one commit."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.executors.contract import Done, News, Request
from penstock.host import intake
from penstock.host.intake import SHORT_AT_ONCE
from penstock.store.events import EventRow
from penstock.store.sqlite import Sqlite
from tests.host.dying import Dying, Killed
from tests.host.rig import Fn, Rig, chain, ended, fan, go, task


def telling() -> Fn:
    return Fn(lambda request: Done(request.node, told=News(f"publish:{request.key}", "paid", {"node": request.node})))


def told(store: Any) -> list[str]:
    return sorted(msgspec.msgpack.decode(row.body)["node"] for row in store.events("default", "paid"))


def test_p_x_25_what_many_tell_is_kept_in_few_commits(rig: Rig) -> None:
    """P-X.25: an event per commit cost a flood of signals, and everybody beside it, a commit each."""
    calls: list[int] = []

    async def scene() -> list[str]:
        async with rig.driving(telling()) as host:
            put = host.store.put_events

            def counted(events: Any) -> Any:
                calls.append(len(events))
                return put(events)

            host.store.put_events = counted  # type: ignore[method-assign]
            host.dispatch.slice.is_over = lambda: False  # type: ignore[method-assign]
            await ended(host, host.start(host.release(fan(*(task(f"t{i}") for i in range(60))))))
            return told(host.store)

    assert go(scene()) == sorted(f"t{i}" for i in range(60))
    assert sum(calls) == 60 and len(calls) <= 6


def test_p_x_25_no_death_loses_or_doubles_what_was_told(tmp_path: Path) -> None:
    """P-X.25: killed before and after every write, the run ends and its news is there once. Never is an answer in the
    store whose news is not."""
    net = chain(task("a"), task("b"))
    for at in range(200):
        rig, died = Rig(tmp_path / f"{at}.db"), False
        store = Dying(rig.path)

        async def scene(rig: Rig = rig, store: Dying = store, at: int = at) -> None:
            host = rig.open(telling(), store=store)
            number = host.release(net)
            store.doomed(at, ("commit", "put_events"))
            host.start(number)
            await asyncio.wait_for(host.run(until=lambda: told(store) == ["a", "b"]), 60)

        try:
            go(scene())
        except Killed:
            died = True
        store.close()
        with rig.reading() as left:
            rows = left.runs()
            settled = [f["fact"] for row in rows for f in rig.facts(row.id) if f["fact"] == "effect.answered"]
            assert len(settled) <= len(told(left))
        rig.store = None
        go(rig.finish(telling()))
        with rig.reading() as left:
            assert told(left) == (["a", "b"] if left.runs() else [])
        if not died:
            assert at > 6, "nothing was written"
            return


def test_the_answer_comes_after_its_news_also_when_the_engine_closes(rig: Rig) -> None:
    """What was answered is committed at the end, and what it has told before it."""

    async def scene() -> None:
        gate = asyncio.Event()

        async def later(request: Request) -> Done:
            await gate.wait()
            return Done(None, told=News(f"publish:{request.key}", "paid", {"node": request.node}))

        async with rig.driving(Fn(later)) as host:
            host.start(host.release(chain(task("a"))))
            while not host.dispatch.in_flight:
                await asyncio.sleep(0.001)
            (flight,) = host.dispatch.in_flight.values()
            host.closing = True
            host.dispatch.ended(flight, Done(None, told=News("publish:k", "paid", {"node": "a"})))

    go(scene())
    with rig.reading() as store:
        assert told(store) == ["a"]


def test_m3_while_somebody_waits_for_an_answer_fewer_events_are_taken_up(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests come between shorter slices; without them events are taken up two hundred at a time."""
    monkeypatch.setattr(intake, "SHORT_NS", 1 << 62)  # however slow the machine is
    for busy, most in ((False, 200), (True, SHORT_AT_ONCE)):
        host = rig.open(store=Sqlite(rig.path.with_name(f"{busy}.db")))
        host.others_work = lambda busy=busy: busy
        for i in range(300):
            host.store.put_event(EventRow("loud", f"e{i}", "noise", msgspec.msgpack.encode({}), 1))
        host.intake.told = True
        host.iterate()
        assert host.turns.short_slices == busy
        assert host.intake.taken_to["loud"] == most


def test_m3_a_store_that_is_slower_than_a_slice_is_read_on(rig: Rig) -> None:
    """One event at least is taken up each time, however long it took to read them."""
    host = rig.open(store=Sqlite(rig.path))
    host.intake.holds_ns = 0
    for i in range(5):
        host.store.put_event(EventRow("loud", f"e{i}", "noise", msgspec.msgpack.encode({}), 1))
    for taken in range(1, 6):
        host.intake.poll()
        assert host.intake.taken_to["loud"] == taken and host.intake.told == (taken < 5)
