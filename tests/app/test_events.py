"""Events through the door: the receipt, the seed's workflow, a second process, and kill -9 of the one that drives."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from penstock.app.maintenance.verify import verify
from penstock.app.penstock import Penstock
from penstock.app.releases.releases import Releases
from penstock.app.releases.schedules import TenantSchedules
from penstock.app.releases.start_release import start
from penstock.errors import BadInput, ScheduleNotFound
from penstock.host.clock import ManualClock
from penstock.kernel.state import COMPLETED
from tests.app.workflows import opened, scheduled, workflow

ROOT = Path(__file__).resolve().parents[2]
CCP = ROOT / "examples/decision/ccp_deviation.json"
ALARM = "sensor.ccp.threshold_exceeded"
LAB = "lab.result.completed"


def put_in_force(door: Penstock, document: Any) -> None:
    versions = Releases(door)
    row = versions.submit(document).release
    versions.approve(row.name, row.version)
    versions.activate(row.name, row.version)


def waiting(source: str, wanted: Any = None) -> dict[str, Any]:
    event = {"source": source, **({} if wanted is None else {"filter": wanted})}
    return workflow(
        nodes=[{"id": "w", "type": "WAIT", "condition": {"type": "event", "event": event}}],
        edges=[],
    )


def test_the_seeds_workflow_from_its_event_to_its_end(tmp_path: Path) -> None:
    """W-3.2.2, W-3.2.3, W-4.7.2, C-81: the alarm starts it, the lab's result for its own sample resumes it, and an
    alarm below `warning` or a result for another sample does neither."""

    async def scene() -> None:
        async with Penstock(tmp_path / "store.db") as door:
            put_in_force(door, CCP)
            low = await door.send_event(ALARM, {"line_id": "L01", "severity": "info"})
            assert (low.delivered, low.started, low.resumed) == (True, [], [])
            alarm = await door.send_event(ALARM, {"line_id": "L01", "severity": "critical"}, id="a1")
            (run,) = alarm.started
            look = await door.wait(run, until_waiting=True, timeout=60)
            assert [w.node for w in look.waiting] == ["wait_lab"] and look.key == "event:a1:wf_ccp_deviation_v2:2"
            other = await door.send_event(LAB, {"sample_id": "somebody's"})
            assert other.resumed == []
            result = await door.send_event(LAB, {"sample_id": f"sample-{run}", "value": 7}, id="lab")
            assert result.new and result.resumed == [run]
            again = await door.send_event(LAB, {"sample_id": f"sample-{run}", "value": 8}, id="lab")
            assert (again.new, again.number, again.resumed) == (False, result.number, [run])
            done = await door.wait(run, timeout=60)
            assert done.status == "completed" and done.output["lab_result"]["value"] == 7
            assert (await door.send_event(ALARM, {}, id="a1")).started == [run] and len(door.runs()) == 1
            assert verify(door.store).violations == []

    asyncio.run(scene())


def test_the_payload_is_the_output_and_null_in_a_filter_fails(tmp_path: Path) -> None:
    """W-4.7.2, W-4.7.6, C-37: output = payload; FILTER_VALUE_NULL instead of a wait for anything."""

    async def scene() -> None:
        async with Penstock(tmp_path / "store.db") as door:
            run = await door.start(door.release(json.dumps(waiting(LAB)).encode()))
            await door.wait(run, until_waiting=True, timeout=60)
            await door.send_event(LAB, {"a": [1, {"b": None}]})
            assert (await door.wait(run, timeout=60)).output == {"a": [1, {"b": None}]}
            null = waiting(LAB, {"sample_id": "${input.sample}"})
            run = await door.start(door.release(json.dumps(null).encode()), {})
            look = await door.wait(run, timeout=60)
            assert look.failure is not None and look.failure["code"] == "FILTER_VALUE_NULL"

    asyncio.run(scene())


def test_the_input_of_a_run_that_an_event_starts_is_checked(tmp_path: Path) -> None:
    """W-3.2.7: defaults are filled in; what does not fit starts nothing, and the receipt says why."""
    schema = {
        "type": "object", "required": ["line"],
        "properties": {"line": {"type": "string"}, "shift": {"type": "integer", "default": 1}},
    }  # fmt: skip
    trigger = {"type": "event", "config": {"source": ALARM}}

    async def scene() -> None:
        async with Penstock(tmp_path / "store.db") as door:
            put_in_force(door, workflow(trigger=trigger, input_schema=schema))
            bad = await door.send_event(ALARM, {"line": 7})
            assert bad.started == [] and "line" in bad.warnings[0] and door.runs() == []
            (run,) = (await door.send_event(ALARM, {"line": "L01"})).started
            assert door.input_of(door.row(run)) == {"line": "L01", "shift": 1}

    asyncio.run(scene())


def test_what_is_no_event_is_refused(tmp_path: Path) -> None:
    async def scene() -> None:
        async with Penstock(tmp_path / "store.db") as door:
            for source, payload, id in (("", 1, None), (" ", 1, None), ("s" * 201, 1, None), ("s", 1, ""),
                                        ("s", object(), None), ("s", 2**70, "i")):  # fmt: skip
                with pytest.raises(BadInput):
                    await door.send_event(source, payload, id=id)
            assert door.store.events(door.tenant) == []

    asyncio.run(scene())


def test_without_a_driver_the_event_is_kept(tmp_path: Path) -> None:
    """C-37: stored, not delivered; whoever drives the store next delivers it, and starts each run once."""
    with opened(tmp_path) as door:
        put_in_force(door, {**workflow(), "trigger": {"type": "event", "config": {"source": LAB}}})
        receipt = asyncio.run(door.send_event(LAB, {}, id="e"))
        assert (receipt.new, receipt.delivered) == (True, False)

    async def drive() -> None:
        async with Penstock(tmp_path / "store.db") as door:
            again = await door.send_event(LAB, {}, id="e")
            assert not again.new and again.delivered and len(again.started) == 1

    asyncio.run(drive())
    asyncio.run(drive())


def test_an_early_event_of_a_workflow(tmp_path: Path) -> None:
    """TC-WF-004, C-37: it came while the workflow was at its first wait, for the second one."""
    document = workflow()
    document["nodes"][1] = {"id": "second", "type": "WAIT", "condition": {
        "type": "event", "event": {"source": LAB, "filter": {"n": {"$gte": 3}}}}}  # fmt: skip

    async def scene() -> None:
        path = tmp_path / "store.db"
        async with Penstock(path) as door:
            run = await door.start(door.release(json.dumps(document).encode()))
            await door.wait(run, until_waiting=True, timeout=60)
            for n in range(5):
                assert (await door.send_event(LAB, {"n": n})).resumed == []
        async with Penstock(path) as door:  # W-8.3.1: and after a restart
            await door.signal(run, "manual:first")
            assert (await door.wait(run, timeout=60)).output == {"n": 3}

    asyncio.run(scene())


# ---- schedules by hand -----------------------------------------------------------------------------------------------


def test_schedules_by_hand(tmp_path: Path) -> None:
    """C-31: pause, resume from now on, fire, and fill in; a time that has its runs gets no others."""
    clock = ManualClock(1_736_150_400_000)  # 2025-01-06 08:00 UTC
    day = 86_400_000

    async def scene() -> None:
        async with Penstock(tmp_path / "store.db", recover=False) as door:
            versions = Releases(door, clock)
            versions.submit(scheduled({"timezone": "UTC", "inputs": [{"n": 1}, {"n": 2}]}))
            versions.approve("wf_small", 1)
            door.store.pause_schedule(door.tenant, "wf_small", True, None)
            versions.activate("wf_small", 1)
            table = TenantSchedules(door, clock)
            table.pause("wf_small")
            one = await table.fire("wf_small")
            assert one.at == clock.now() and len(one.runs) == 2
            assert {door.input_of(door.row(run))["n"] for run in one.runs} == {1, 2}
            filled = await table.backfill("wf_small", clock.now(), clock.now() + 2 * day)
            assert [f.at - clock.now() for f in filled] == [0, day, 2 * day]
            assert filled[0].runs == one.runs and len(door.runs()) == 6
            assert await table.backfill("wf_small", clock.now(), clock.now() + 2 * day) == filled
            clock.at += 10 * day + 1
            row = table.resume("wf_small")
            assert (row.paused, row.next_at) == (0, clock.at - 1 + day)
            with pytest.raises(BadInput, match="1000"):
                await table.backfill("wf_small", 0, clock.now())
            with pytest.raises(BadInput, match="before"):
                await table.backfill("wf_small", 5, 4)
            with pytest.raises(ScheduleNotFound):
                table.pause("nothing")

    asyncio.run(scene())


def test_a_schedule_that_another_process_registers_is_fired(tmp_path: Path) -> None:
    """C-31: the driver looks for it with its inbox, and wakes for it in time."""

    async def scene() -> None:
        async with Penstock(tmp_path / "store.db") as door:
            put_in_force(door, scheduled({"input": {"n": 1}}))
            with opened(tmp_path) as other:
                await asyncio.sleep(0.3)  # the engine has found that nothing is due for hours
                due = time.time_ns() // 1_000_000 + 300
                assert other.store.pause_schedule(door.tenant, "wf_small", False, due)
            end = time.monotonic() + 60
            while not door.runs():
                assert time.monotonic() < end, "it was not fired"
                await asyncio.sleep(0.01)
            assert time.time_ns() // 1_000_000 >= due

    asyncio.run(scene())


# ---- another process, and kill -9 ------------------------------------------------------------------------------------


def worker(path: Path) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1"}
    asked = [sys.executable, "-m", "penstock", "work", "--store", str(path)]
    return subprocess.Popen(asked, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_kill_9_of_the_driver_while_events_come_in(tmp_path: Path) -> None:
    """C-37, W-8.3.1: events are sent from here, twice each, to a driver that dies again and again; at last each has
    started one run, and resumed its own, once."""
    path, count, rand = tmp_path / "store.db", 25, random.Random(7)
    trigger = {"type": "event", "config": {"source": ALARM}}
    with opened(tmp_path) as door:
        listens = waiting(LAB, {"n": "${input.n}"})
        put_in_force(door, {**listens, "trigger": trigger})
        process = worker(path)
        try:
            for n in range(count):
                for source in (ALARM, LAB):
                    for _ in range(2):
                        event = door.send_event(source, {"n": n}, id=f"{source}{n}")
                        with contextlib.suppress(TimeoutError):
                            asyncio.run(asyncio.wait_for(event, rand.uniform(0.01, 0.15)))
                if rand.random() < 0.3:
                    process.send_signal(signal.SIGKILL)
                    process.wait()
                    process = worker(path)
                    if rand.random() < 0.7:  # else it is killed while it opens the store
                        assert process.stdout is not None and "working" in process.stdout.readline()
            end = time.monotonic() + 60
            while time.monotonic() < end:
                rows = door.runs(limit=1000)
                if len(rows) == count and all(row.status >= COMPLETED for row in rows):
                    break
                time.sleep(0.05)
        finally:
            process.kill()
            process.wait()
        rows = door.runs(limit=1000)
        assert sorted(str(row.key) for row in rows) == sorted(f"event:{ALARM}{n}:wf_small:1" for n in range(count))
        assert {door.view(row.id).status for row in rows} == {"completed"}
        assert all(sum(line.fact == "signal.used" for line in door.lines(row.id)) == 1 for row in rows)
        assert verify(door.store).violations == []


def test_starting_by_name_while_another_process_drives(tmp_path: Path) -> None:
    """W-3.2.5, C-18: a manual start needs nothing but the id; what it was told goes with it through the inbox."""
    with opened(tmp_path) as door:
        put_in_force(door, workflow())
        process = worker(tmp_path / "store.db")
        try:
            assert process.stdout is not None and "working" in process.stdout.readline()
            run = asyncio.run(start(door, "wf_small", {"a": 1}, parent="r77", trigger={"type": "manual"}))
            st = door.fold(door.row(run)).reader.st
            assert (st.parent, st.input, st.options["trigger"]) == ("r77", {"a": 1}, {"type": "manual"})
        finally:
            process.kill()
            process.wait()
