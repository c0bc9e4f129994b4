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

from penstock.app.maintenance.verify import verify
from penstock.app.registry.registry import artifact, install_sample
from penstock.host.engine_loop import EngineLoop
from penstock.host.outcomes import Outcomes
from penstock.store.address import open_store
from penstock.store.contract import Store
from tests.conformance.decision.world import ADMIN, CCP, DEFECT, HOUR, TENANT, Door, Wire, World
from tests.contract.store_suite import STORES
from tests.executors.bench import Seen, as_json
from tests.house.files import ROOT

DIAGRAMS = ("loop", "loop_skippable", "diamond", "branches", "epochs", "early_exit", "quorum", "optional_check")
ALARM = ("slack", "sms", "jira")
SENSOR, LAB = "sensor.ccp.threshold_exceeded", "lab.result.completed"
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

    whole = Outcomes.answer
    monkeypatch.setattr(Outcomes, "answer", lambda self, ask, outcome, took_ns: whole(self, ask, outcome, 0))
    still = SimpleNamespace(**{**vars(time), "perf_counter": lambda: 0.0})
    monkeypatch.setattr("penstock.executors.judgment.time", still)
    monkeypatch.setattr(EngineLoop, "new_id", lambda self: f"r{next(numbers):015d}")
    monkeypatch.setattr("penstock.app.runs.start.new_id", lambda now: f"r{next(numbers):015d}")
    return again


def one_after_the_other(wire: Wire, *order: str, bad: str = "", held: str = "") -> None:
    """Calls that leave at once are answered in a fixed order, each in a turn of its own: which of them the world
    answers first is no matter of the store's. `bad` is down, `held` answers when it is let to."""

    def answer(seen: Seen) -> Any:
        place = seen.path.strip("/")
        before = order[: order.index(place)]
        end = time.monotonic() + 60
        while not set(before) <= {place for place, _ in wire.said} and time.monotonic() < end:
            time.sleep(0.005)
        time.sleep(0.1 if before else 0)
        if place == held:
            wire.going.wait(60)
        return as_json({"error": "down"}, 503) if place == bad else as_json({"ok": place, "id": f"S-{place}"})

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
        async with Door(world, store) as door:
            assert isinstance(door, Door)
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
        if door.view(run).status == "waiting":
            wire.said.clear()
            other = await door.run(DEFECT)
            await door.decide(run)
            await door.to(world.clock.at + 48 * HOUR)
            assert door.view(other).status != "waiting"

    left = compared(tmp_path, wire, same_ids, scene, lambda: one_after_the_other(wire, *ALARM))
    assert left["firing"] and left["judgment"]


@pytest.mark.parametrize("ends", ["rejected", "escalated", "cancelled", "one channel is down"])
def test_h15_other_ends_of_the_defect_alert(
    tmp_path: Path, wire: Wire, same_ids: Callable[[], None], ends: str
) -> None:
    """H15, W-11.1.9, W-11.1.11: the manager's no, the admin's yes after two hours, an operator's end, and a ticket
    system that is away for three attempts."""

    async def scene(door: Door, world: World) -> None:
        run = await door.run(DEFECT)
        if ends == "rejected":
            await door.decide(run, "rejected", comment="오탐")
        elif ends == "escalated":
            await door.later(2 * HOUR)
            await door.decide(run, by=ADMIN)
        elif ends == "cancelled":
            await door.cancel(run)
        else:
            await door.later(10_000)
            await door.until(lambda: not door.store.notices_left())
        await door.quiet()
        status = {"escalated": "completed", "one channel is down": "failed"}.get(ends, "cancelled")
        assert door.view(run).status == status

    bad = "jira" if ends == "one channel is down" else ""
    left = compared(tmp_path, wire, same_ids, scene, lambda: one_after_the_other(wire, *ALARM, bad=bad))
    assert bool(left["letter"]) is bool(bad)


@pytest.mark.parametrize("ends", ["normal", "late", "early", "nothing comes", "the lab is down"])
def test_h15_the_ccp_deviation_leaves_the_same_on_both_stores(
    tmp_path: Path, wire: Wire, same_ids: Callable[[], None], ends: str
) -> None:
    """H15, W-11.2.1, W-11.2.8, W-11.2.11: 11.2, unmodified: begun by an event, no deviation, the lab's result after
    the wait and before it, none for two hours, and a lab that does not answer."""

    async def scene(door: Door, world: World) -> None:
        world.plant("normal" if ends == "normal" else "critical")
        door.put_in_force(CCP)
        alarm = await door.send_event(SENSOR, {"line_id": "L01", "severity": "high"}, id="alarm-1")
        (run,) = alarm.started
        if ends == "early":
            await door.until(lambda: wire.to("lab"))
            await door.send_event(LAB, {"sample_id": "S-lab"}, id="lab-1")
            wire.going.set()
        await door.until(lambda: door.view(run).status in ("waiting", "completed", "failed"))
        await door.quiet()
        if ends == "late":
            await door.send_event(LAB, {"sample_id": "S-other"}, id="lab-0")
            assert (await door.send_event(LAB, {"sample_id": "S-lab"}, id="lab-1")).resumed == [run]
        elif ends == "nothing comes":
            await door.later(2 * HOUR)
        failed = ends in ("nothing comes", "the lab is down")
        await door.until(lambda: door.view(run).status == ("failed" if failed else "completed"))
        await door.until(lambda: not door.store.notices_left())
        await door.quiet()

    def told() -> None:
        bad, held = ("lab" if ends == one else "" for one in ("the lab is down", "early"))
        one_after_the_other(wire, "slack", "lab", bad=bad, held=held)

    compared(tmp_path, wire, same_ids, scene, told)


@pytest.mark.parametrize("diagram", DIAGRAMS)
def test_h15_a_diagram_leaves_the_same_on_both_stores(
    tmp_path: Path, wire: Wire, same_ids: Callable[[], None], diagram: str
) -> None:
    """H15, D-12.8: loops, joins, epochs and branches of the examples."""

    async def scene(door: Door, world: World) -> None:
        run = await door.start(door.release(ROOT / "examples" / "diagram" / f"{diagram}.yaml"), {"n": 1})
        await door.quiet()
        await door.to(world.clock.at + HOUR)
        assert door.view(run).status

    compared(tmp_path, wire, same_ids, scene)


def test_a_file_is_what_a_path_names(tmp_path: Path) -> None:
    """The same door opens both; what is no address of a server is a file."""
    store = open_store(tmp_path / "postgresql.db")
    store.close()
    assert (tmp_path / "postgresql.db").exists()
