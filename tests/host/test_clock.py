"""The clock that is set back: what waits for a span of time does not wait longer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from penstock.host.clock import SystemClock
from tests.api.serving import until
from tests.host.rig import Fn, Rig, chain, pause

HOUR, MINUTE, SECOND = 3_600_000, 60_000, 1_000
ROOT = Path(__file__).resolve().parents[2]


class Machine:
    """A clock on the wall that people set, and one that only goes on."""

    def __init__(self) -> None:
        self.wall, self.monotonic = 1_700_000_000_000, 5_000

    def wait(self, ms: int) -> None:
        self.wall, self.monotonic = self.wall + ms, self.monotonic + ms

    def clock(self, not_before: int = 0) -> SystemClock:
        return SystemClock(not_before, lambda: self.wall * 1_000_000, lambda: self.monotonic * 1_000_000)


def test_h11_time_never_goes_back_and_catches_up() -> None:
    """H11: an hour back; from then on nearly a second is a second, and after some days both say the same."""
    machine = Machine()
    clock = machine.clock()
    before = clock.now()
    machine.wall -= HOUR
    assert clock.now() == before
    for _ in range(90):
        machine.wait(SECOND)
        last, now = before, clock.now()
        assert last < now
    assert 88 * SECOND < clock.now() - before <= 90 * SECOND
    for _ in range(65):
        machine.wait(HOUR)
        clock.now()
    assert clock.now() == machine.wall


def test_h11_set_forward_it_follows_at_once() -> None:
    machine = Machine()
    clock = machine.clock()
    machine.wall += HOUR
    assert clock.now() == machine.wall
    machine.monotonic -= 4_000  # no such machine; a program that plays with clocks may do it
    machine.wall -= 5
    assert clock.now() == machine.wall + 5


@pytest.mark.parametrize(("ahead", "goes_on"), [(0, 0), (HOUR, HOUR), (24 * HOUR - 1, 24 * HOUR - 1), (25 * HOUR, 0)])
def test_h11_a_process_goes_on_from_what_its_store_has_seen(ahead: int, goes_on: int) -> None:
    """Up to a day: what lies further ahead was no clock that was set back."""
    machine = Machine()
    assert machine.clock(machine.wall + ahead).now() == machine.wall + goes_on


def test_h11_a_timer_rings_in_its_time_although_the_clock_was_set_back(rig: Rig) -> None:
    """H11, K17: while it waits; and again when the process is started anew with the clock an hour back."""
    machine = Machine()
    host = rig.open(Fn(), clock=machine.clock())
    run = host.start(host.release(chain(pause("t", 90 * SECOND))))
    late = host.start(host.release(chain(pause("t", 600 * SECOND))))

    def passes(seconds: int) -> None:
        for _ in range(seconds):
            machine.wait(SECOND)
            while rig.host.iterate():
                pass

    while host.iterate():
        pass
    machine.wall -= HOUR
    passes(80)
    assert rig.status(run) == "WAITING"
    passes(20)
    assert rig.status(run) == "COMPLETED" and rig.status(late) == "WAITING"
    seen = rig.store.newest_time()
    rig.open(Fn(), clock=machine.clock(seen)).recover()
    passes(700)
    assert rig.status(late) == "COMPLETED"
    rig.sound()


def test_h11_a_host_asks_its_store_what_time_it_was(rig: Rig) -> None:
    """Whoever opens a store without a clock of his own gets one that is not behind it."""
    machine = Machine()
    machine.wall = SystemClock().now() + HOUR
    host = rig.open(Fn(), clock=machine.clock())
    host.start(host.release(chain(pause("t", SECOND))))
    while host.iterate():
        pass
    again = rig.open(Fn())
    assert again.clock.now() >= machine.wall


# ---- with the machine's own clock ------------------------------------------------------------------------------------


LIBRARY = next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))), None)


def waiting(seconds: int) -> dict[str, Any]:
    """A document that waits for a span of time."""
    node = {"id": "wait_a", "type": "WAIT", "condition": {"type": "time", "duration_seconds": seconds}}
    trigger = {"type": "manual", "config": {}}
    return {"id": f"wait_{seconds}", "name": "w", "version": 1, "trigger": trigger, "nodes": [node], "edges": []}


@contextmanager
def serving(folder: Path, offset: str) -> Iterator[tuple[httpx2.Client, Path]]:
    """`penstock dev` in a process whose clock is set by a file."""
    told, documents = folder / "offset", folder / "documents"
    told.write_text(offset)
    documents.mkdir(exist_ok=True)
    for seconds in (3, 20):
        (documents / f"wait_{seconds}.json").write_text(json.dumps(waiting(seconds)))
    env = {
        **os.environ, "LD_PRELOAD": str(LIBRARY), "FAKETIME_TIMESTAMP_FILE": str(told), "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1", "PYTHONPATH": str(ROOT / "src"),
    }  # fmt: skip
    words = ["dev", str(documents), "--quiet", "--port", "0", "--store", str(folder / "penstock.db")]
    process = subprocess.Popen(
        [sys.executable, "-m", "penstock", *words], env=env, cwd=folder, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().split()[3]
        with httpx2.Client(base_url=f"{address}/api/v1", headers={"X-Penstock": "1"}, timeout=60) as client:
            until(lambda: ready(client), lambda it: it)
            assert client.post("/dev/session", json={"user": "operator@example.com"}).status_code == 204
            yield client, told
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


def ready(client: httpx2.Client) -> bool:
    try:
        return client.get("/ready").status_code == 200
    except httpx2.HTTPError:
        return False


@pytest.mark.skipif(LIBRARY is None, reason="faketime is not installed (apt-get install faketime)")
def test_h11_the_machines_clock_is_set_back_by_an_hour(tmp_path: Path) -> None:
    """H11: under a running server, and before it is started again: either timer would ring an hour late."""
    with serving(tmp_path, "+0") as (client, told):
        runs = []
        for seconds in (3, 20):
            started = client.post("/runs", json={"definition": f"wait_{seconds}", "input": {}})
            assert started.status_code == 201, started.text
            runs.append(started.json()["id"])
        told.write_text("-3600")
        until(lambda: client.get(f"/runs/{runs[0]}").json()["status"], lambda status: status == "completed")
    with serving(tmp_path, "-3600") as (client, _):
        until(lambda: client.get(f"/runs/{runs[1]}").json()["status"], lambda status: status == "completed")
