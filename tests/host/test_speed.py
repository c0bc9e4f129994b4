"""The faster clock of demos: hours of waiting pass while somebody watches, and nothing that works times out by it."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from penstock import Penstock
from penstock.errors import BadInput
from penstock.host.clock import SpeedClock
from penstock.store.run_store import RunRow
from tests.cli.shell import SLOW_LOOP

HOUR, DAY = 3_600_000, 86_400_000
START = 1_700_000_000_000


class Machine:
    def __init__(self) -> None:
        self.ms = 5_000

    def clock(self, speed: float, not_before: int = 0) -> SpeedClock:
        return SpeedClock(speed, not_before, lambda: START * 1_000_000, lambda: self.ms * 1_000_000)


def waiting(hours: int) -> dict[str, Any]:
    wait = {"id": "wait_a", "type": "WAIT", "condition": {"type": "time", "duration_hours": hours}}
    trigger = {"type": "manual", "config": {}}
    return {"id": "wait_w", "name": "w", "version": 1, "trigger": trigger, "nodes": [wait], "edges": []}


def test_a_second_is_an_hour() -> None:
    machine = Machine()
    clock = machine.clock(3600)
    assert clock.now() == START
    for _ in range(10):
        machine.ms += 100
        clock.now()
    assert clock.now() == START + HOUR
    machine.ms += 50
    assert clock.now() == START + HOUR + HOUR // 20
    machine.ms += 60_000
    assert clock.now() == START + HOUR + HOUR // 20 + HOUR // 10, "a machine that was busy leaps over no hours"


def test_while_an_effect_works_time_is_real() -> None:
    """What passes counts at the rate that was when it began."""
    machine = Machine()
    clock, works = machine.clock(3600), [True]
    clock.busy = lambda: works[0]
    clock.now()
    machine.ms += 1000
    works[0] = False
    assert clock.now() == START + 1000
    machine.ms += 100
    assert clock.now() == START + 1000 + HOUR // 10


def test_it_goes_on_from_the_newest_time_of_the_store() -> None:
    """However far ahead: a store that was driven fast has timers in what is the future for the machine."""
    ahead = START + 30 * DAY
    assert Machine().clock(3600, ahead).now() == ahead
    assert Machine().clock(1, ahead).now() == ahead
    assert Machine().clock(3600, START - DAY).now() == START


def test_a_day_passes_while_one_watches(tmp_path: Path) -> None:
    """W-11.3.6: 24 hours at 36,000 times the speed are 2.4 seconds; stopped half-way it goes on with what is left."""
    store, began = tmp_path / "s.db", time.monotonic()
    (tmp_path / "wait.json").write_text(json.dumps(waiting(24)))

    async def watch() -> RunRow:
        async with Penstock(store, speed=36_000) as door:
            run = await door.start(door.release(tmp_path / "wait.json"))
            with pytest.raises(TimeoutError):
                await door.wait(run, timeout=1)
            first = door.now()
        async with Penstock(store, speed=36_000) as door:
            assert door.now() < first + DAY  # it goes on from what the store has seen
            assert (await door.wait(run, timeout=20)).status == "completed"
            return door.row(run)

    row = asyncio.run(watch())
    assert DAY <= row.updated_at - row.created_at < DAY + 12 * HOUR
    assert 2 < time.monotonic() - began < 20


def test_an_effect_that_takes_a_second_has_not_taken_hours(tmp_path: Path) -> None:
    """Three answers of 0.4 s each: at 36,000 times the speed that would be twelve hours."""

    async def watch() -> RunRow:
        async with Penstock(tmp_path / "s.db", speed=36_000) as door:
            (tmp_path / "slow.yaml").write_text(SLOW_LOOP)
            run = await door.start(door.release(tmp_path / "slow.yaml"))
            assert (await door.wait(run, timeout=20)).status == "COMPLETED"
            return door.row(run)

    row = asyncio.run(watch())
    assert 1200 <= row.updated_at - row.created_at < 6 * HOUR


def test_a_store_of_production_has_no_faster_clock(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="made for production"):
        Penstock(tmp_path / "s.db", profile="production", speed=10).open()
    Penstock(tmp_path / "t.db", profile="production").open().close()
    with pytest.raises(BadInput, match="made for production"):
        Penstock(tmp_path / "t.db", speed=10).open()
