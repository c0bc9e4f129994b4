"""H15: what a run writes does not depend on the store. The same runs on SQLite and on PostgreSQL, byte for byte."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.app.registry import artifact, install_sample
from penstock.app.verify import verify
from penstock.host.laps import Laps
from penstock.store.contract import Store
from penstock.store.place import open_store
from tests.conformance.decision.world import DEFECT, HOUR, TENANT, Door, Wire, World
from tests.contract.store_suite import STORES
from tests.executors.bench import Seen, as_json
from tests.house.files import ROOT

DIAGRAMS = ("loop", "loop_skippable", "diamond", "branches", "epochs", "early_exit", "quorum", "optional_check")
#: run number, first and last fact, time, the facts as they lie there; then the rows beside them
Left = dict[str, list[tuple[Any, ...]]]
BESIDE = ("run", "firing", "waiting", "item", "incident", "judgment", "letter", "outbox", "checkpoint")


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    one = Wire()
    yield one
    one.close()


@pytest.fixture(autouse=True)
def same_ids(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Runs are called the same on both stores: their ids, and with them their seeds, come from a counter. How long the
    world took to answer is not told."""
    numbers = itertools.count(1)

    def again() -> None:
        nonlocal numbers
        numbers = itertools.count(1)

    whole = Laps.answer
    monkeypatch.setattr(Laps, "answer", lambda self, ask, outcome, took_ns: whole(self, ask, outcome, 0))
    still = SimpleNamespace(**{**vars(time), "perf_counter": lambda: 0.0})
    monkeypatch.setattr("penstock.executors.judgment.time", still)
    monkeypatch.setattr(Laps, "new_id", lambda self: f"r{next(numbers):015d}")
    monkeypatch.setattr("penstock.app.starts.new_id", lambda now: f"r{next(numbers):015d}")
    return again


def one_after_the_other(wire: Wire) -> None:
    """Calls that leave at once are answered in a fixed order, each in a turn of its own: which of them the world
    answers first is no matter of the store's."""
    order = ("slack", "sms", "jira")

    def answer(seen: Seen) -> Any:
        before = order[: order.index(seen.path.strip("/"))]
        end = time.monotonic() + 10
        while not set(before) <= {place for place, _ in wire.said} and time.monotonic() < end:
            time.sleep(0.005)
        time.sleep(0.1 if before else 0)
        return as_json({"ok": seen.path.strip("/")})

    for place in order:
        wire.answers[place] = answer


def on(name: str, folder: Path, wire: Wire, scene: Callable[[Door, World], Any]) -> Left:
    """What a scene leaves in a store of this kind."""
    folder.mkdir()
    kit = STORES[name](folder)
    world = World(folder, wire).plant()
    store: Store = kit.open()
    install_sample(store, world.folder, world.clock.at)
    store.put_artifacts([artifact(TENANT, t, id, body, world.clock.at) for (t, id), body in world.things.items()])

    async def go() -> None:
        async with Door(world, store) as door:  # type: ignore[arg-type]
            await scene(door, world)

    try:
        asyncio.run(asyncio.wait_for(go(), 60))
        reader = kit.open(engine=False)
        assert verify(reader).violations == []
        journal = [
            (row.no, j.seq_from, j.seq_to, j.at, j.body)
            for row in reversed(reader.runs(limit=1000))
            for j in reader.journal(row.no)
        ]
        return {"journal": journal, **{table: kit.rows(table) for table in BESIDE}}
    finally:
        kit.close()


def compared(
    tmp_path: Path,
    wire: Wire,
    again: Callable[[], None],
    scene: Callable[[Door, World], Any],
    told: Callable[[], None] = lambda: None,
) -> Left:
    found: dict[str, Left] = {}
    for name in ("sqlite", "postgresql"):
        wire.forget()
        again()
        told()
        found[name] = on(name, tmp_path / name, wire, scene)
    mine, theirs = found["sqlite"], found["postgresql"]
    assert mine["journal"], "nothing was written"
    assert mine["journal"] == theirs["journal"]
    for table in BESIDE:
        assert mine[table] == theirs[table], table
    return mine


@pytest.mark.parametrize("decision", ["critical", "warning", "normal", "unknown"])
def test_h15_the_defect_alert_leaves_the_same_on_both_stores(
    tmp_path: Path, wire: Wire, same_ids: Callable[[], None], decision: str
) -> None:
    """H15, W-11.1.1: 11.1, unmodified, to its ends: rows, judgment, alerts in parallel, approval, time-out."""

    async def scene(door: Door, world: World) -> None:
        world.plant(decision)
        run = await door.run(DEFECT)
        if door.look(run).status == "waiting":
            wire.said.clear()
            other = await door.run(DEFECT)
            await door.decide(run)
            await door.to(world.clock.at + 48 * HOUR)
            assert door.look(other).status != "waiting"

    left = compared(tmp_path, wire, same_ids, scene, lambda: one_after_the_other(wire))
    assert left["firing"] and left["judgment"]


@pytest.mark.parametrize("diagram", DIAGRAMS)
def test_h15_a_diagram_leaves_the_same_on_both_stores(
    tmp_path: Path, wire: Wire, same_ids: Callable[[], None], diagram: str
) -> None:
    """H15, D-12.8: loops, joins, epochs and branches of the examples."""

    async def scene(door: Door, world: World) -> None:
        run = await door.start(door.release(ROOT / "examples" / "diagram" / f"{diagram}.yaml"), {"n": 1})
        await door.quiet()
        await door.to(world.clock.at + HOUR)
        assert door.look(run).status

    compared(tmp_path, wire, same_ids, scene)


def test_a_file_is_what_a_path_names(tmp_path: Path) -> None:
    """The same door opens both; what is no address of a server is a file."""
    store = open_store(tmp_path / "postgresql.db")
    store.close()
    assert (tmp_path / "postgresql.db").exists()
