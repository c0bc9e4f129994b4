"""Schedules: at their time in their zone, once, after an absence too, and never over one another unless they may."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.app.releases.releases import dsl_hash
from penstock.errors import InputInvalid
from penstock.host.clock import ManualClock
from penstock.host.embedded import Host
from penstock.host.event_warnings import WARNING
from penstock.host.schedules import GRACE_MS, last_time, next_time
from penstock.kernel import command as C
from penstock.store.releases import ReleaseRow
from penstock.store.schedules import ScheduleRow
from penstock.store.sqlite import Sqlite
from tests.host.dying import each_death
from tests.host.rig import Fn, Net, Rig, chain, wait
from tests.host.test_timers import laps

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000


def ms(*when: int) -> int:
    return round(datetime(*when, tzinfo=UTC).timestamp() * 1000)  # type: ignore[arg-type,misc]


START_AT = ms(2025, 1, 6, 7, 59)


def a_schedule(cron: str = "0 8 * * *", zone: str = "UTC", inputs: Any = None, **more: Any) -> ScheduleRow:
    row: dict[str, Any] = {
        "tenant": "default", "name": "wf", "version": 1, "cron": cron, "zone": zone,
        "inputs": msgspec.msgpack.encode([{}] if inputs is None else inputs), "overlap": "allow", "catch_up": "one",
        "paused": 0, "last_at": None, "next_at": None,
    }  # fmt: skip
    return ScheduleRow(**{**row, **more})


def schedule(host: Host, row: ScheduleRow | None = None, net: Net | None = None, **more: Any) -> None:
    row = row or a_schedule(**more)
    if row.next_at is None:
        row = msgspec.structs.replace(row, next_at=next_time(row, host.clock.now()))
    number = host.release(net or chain(wait("w")))
    host.store.put_release(
        ReleaseRow("default", row.name, row.version, "id", "active", dsl_hash({}), number, b"{}", None, None, 1)
    )
    assert host.store.move_releases([], [row])


def at(host: Host, when: int) -> None:
    """The host's time goes on, minute by minute where it matters."""
    assert isinstance(host.clock, ManualClock)
    host.clock.at = when
    host.schedules.look(when)
    laps(host)


def fired(host: Host) -> list[str]:
    """Times of the runs that it has started, oldest first."""
    keys = [str(row.key) for row in reversed(host.store.runs(limit=1000))]
    times = [int(key.split(":")[3]) for key in keys]
    return [datetime.fromtimestamp(t / 1000, UTC).strftime("%m-%d %H:%M") for t in times]


@pytest.fixture
def host(rig: Rig) -> Host:
    return rig.open(Fn(), clock=ManualClock(START_AT))


def test_a_schedule_fires_at_its_time_and_once(rig: Rig, host: Host) -> None:
    """W-3.2.1: not a millisecond before, on the host's own clock, and not again in the same minute."""
    schedule(host, cron="0 8,14,20 * * *", zone="UTC")
    at(host, ms(2025, 1, 6, 8) - 1)
    assert fired(host) == []
    for when in (0, 1, 500, 59_999):
        at(host, ms(2025, 1, 6, 8) + when)
    assert fired(host) == ["01-06 08:00"]
    for hour in range(9, 24):
        at(host, ms(2025, 1, 6, hour, 30))
    assert fired(host) == ["01-06 08:00", "01-06 14:00", "01-06 20:00"]
    (row,) = host.store.schedules("default")
    assert (row.last_at, row.next_at) == (ms(2025, 1, 6, 20), ms(2025, 1, 7, 8))


def test_times_are_those_of_the_zone(rig: Rig, host: Host) -> None:
    """W-3.2.1: 8 o'clock in Seoul is 23 o'clock the day before in UTC."""
    schedule(host, zone="Asia/Seoul")
    at(host, ms(2025, 1, 6, 23))
    assert fired(host) == ["01-06 23:00"]


def test_the_hour_that_is_left_out_and_the_one_that_comes_twice(rig: Rig, host: Host) -> None:
    """W-3.2.1: half past two in Berlin. On the day without it, it fires once, as soon as it is over; on the day that
    has it twice, it fires the first time only. What runs every hour runs every hour."""
    schedule(host, cron="30 2 * * *", zone="Europe/Berlin", next_at=ms(2025, 3, 29, 1, 30))
    for start in (ms(2025, 3, 29), ms(2025, 10, 25)):
        for quarter in range(4 * 24 * 3):
            at(host, start + quarter * 15 * MINUTE)
    found = fired(host)
    assert found[:3] == ["03-29 01:30", "03-30 01:00", "03-31 00:30"]
    assert found[-3:] == ["10-25 00:30", "10-26 00:30", "10-27 01:30"]
    hourly = a_schedule("30 * * * *", "Europe/Berlin")
    times, when = [], ms(2025, 10, 25, 23)
    for _ in range(4):
        when = next_time(hourly, when) or 0
        times.append(when - ms(2025, 10, 25, 23, 30))
    assert times == [0, HOUR, 2 * HOUR, 3 * HOUR]


def test_one_run_for_each_input(rig: Rig, host: Host) -> None:
    """C-31: the key says which; the run sees its schedule as sys.trigger."""
    schedule(host, inputs=[{"line": "L01"}, {"line": "L02"}])
    at(host, ms(2025, 1, 6, 8))
    keys = [str(row.key) for row in host.store.runs()]
    assert sorted(keys) == [f"schedule:wf:1:{ms(2025, 1, 6, 8)}:{i}" for i in (0, 1)]
    begun = {f["input"]["line"]: f["options"]["trigger"] for run in host.store.runs() for f in
             rig.facts(run.id, "run.started")}  # fmt: skip
    assert begun["L02"] == {
        "type": "schedule", "cron": "0 8 * * *", "timezone": "UTC", "at": ms(2025, 1, 6, 8), "index": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("catch_up", "expected"),
    [
        ("one", ["01-09 08:00"]),
        ("all", ["01-06 08:00", "01-07 08:00", "01-08 08:00", "01-09 08:00"]),
        ("none", []),
    ],
)
def test_missed_times(rig: Rig, host: Host, catch_up: str, expected: list[str]) -> None:
    """W-3.2.8, C-31: after days away they are one run, the last of them; or all; or none."""
    schedule(host, catch_up=catch_up)
    rig.close()
    host = rig.open(Fn(), clock=ManualClock(ms(2025, 1, 9, 12)))
    host.recover()
    laps(host)
    assert fired(host) == expected
    at(host, ms(2025, 1, 10, 8))
    assert fired(host) == [*expected, "01-10 08:00"], "what is on time is not a missed one"


def test_a_time_that_is_only_a_little_late_is_not_missed(rig: Rig, host: Host) -> None:
    schedule(host, catch_up="none")
    at(host, ms(2025, 1, 6, 8) + GRACE_MS)
    at(host, ms(2025, 1, 7, 8) + GRACE_MS + 1)
    assert fired(host) == ["01-06 08:00"]


def test_years_of_absence_cost_nothing(rig: Rig, host: Host) -> None:
    """Every minute of ten years, as one."""
    schedule(host, cron="* * * * *")
    at(host, ms(2035, 1, 1, 0, 0) + 1)
    assert fired(host) == ["01-01 00:00"]
    rare = a_schedule("0 0 29 2 *")
    assert last_time(rare, ms(2020, 1, 1), ms(2027, 12, 31)) == ms(2024, 2, 29)
    assert last_time(rare, ms(2025, 1, 1), ms(2025, 12, 31)) is None


def finish(host: Host, key: str) -> None:
    row = host.store.run_by_key("default", key)
    assert row is not None
    host.send(row.no, C.signal("", "go"))
    laps(host)


def test_a_fire_is_skipped_while_the_one_before_goes_on(rig: Rig, host: Host) -> None:
    """C-31: overlap `skip`; the two runs of one fire do not count as two."""
    schedule(host, cron="0 * * * *", overlap="skip", inputs=[{}, {}])
    for hour in (8, 9, 10):
        at(host, ms(2025, 1, 6, hour))
    assert fired(host) == ["01-06 08:00"] * 2
    for i in (0, 1):
        finish(host, f"schedule:wf:1:{ms(2025, 1, 6, 8)}:{i}")
    at(host, ms(2025, 1, 6, 11))
    assert fired(host)[2:] == ["01-06 11:00"] * 2


def test_a_fire_is_queued_while_the_one_before_goes_on(rig: Rig, host: Host) -> None:
    """C-31: overlap `queue`; it fires when there is room, and what has gathered meanwhile is one, or all in turn."""
    for catch_up, expected in (("one", ["01-06 10:00"]), ("all", ["01-06 09:00", "01-06 10:00"])):
        name = f"wf_{catch_up}"
        begin = ms(2025, 1, 6, 8)
        schedule(host, a_schedule("0 * * * *", overlap="queue", catch_up=catch_up, name=name, next_at=begin))
        for hour in (8, 9, 10):
            at(host, ms(2025, 1, 6, hour, 5))
        now, found = ms(2025, 1, 6, 10, 5), list[str]()
        key = f"schedule:{name}:1:{begin}:0"
        while key:
            finish(host, key)
            now += 1000
            at(host, now)
            key = next((str(r.key) for r in host.store.runs() if r.status < 5 and name in str(r.key)), "")
            if key:
                when = int(key.split(":")[3]) / 1000
                found.append(datetime.fromtimestamp(when, UTC).strftime("%m-%d %H:%M"))
        assert found == expected
        host.store.pause_schedule("default", name, True, None)


def test_a_queued_fire_does_not_keep_the_host_busy(rig: Rig, host: Host) -> None:
    schedule(host, cron="0 * * * *", overlap="queue")
    at(host, ms(2025, 1, 6, 8))
    at(host, ms(2025, 1, 6, 9))
    assert host.schedules.at == ms(2025, 1, 6, 9) + 1000 and not host.iterate()


def test_what_is_paused_does_not_fire(rig: Rig, host: Host) -> None:
    schedule(host, paused=1)
    at(host, ms(2025, 1, 6, 12))
    assert fired(host) == []


def test_an_input_that_does_not_fit_is_told_and_the_others_start(rig: Rig, host: Host) -> None:
    """W-3.2.7: no run of it, a warning; the schedule goes on."""

    def prepare(tenant: str, net: int, given: Any, run: str) -> tuple[Any, dict[str, Any]]:
        if "line" not in given:
            raise InputInvalid(why="line is missing")
        return given, {}

    host.starter.prepare = prepare
    schedule(host, inputs=[{}, {"line": "L01"}])
    at(host, ms(2025, 1, 6, 8))
    at(host, ms(2025, 1, 7, 8))
    assert fired(host) == ["01-06 08:00", "01-07 08:00"]
    assert len(host.store.events("default", WARNING)) == 2


def test_two_schedulers_cannot_start_it_twice(rig: Rig, host: Host) -> None:
    """C-31: the second one has seen the same row and knows nothing of the first: the keys are taken, and the row has
    moved on."""
    schedule(host, inputs=[{}, {}])
    (seen,) = host.store.schedules("default")
    at(host, ms(2025, 1, 6, 8))
    assert host.schedules._fire(seen, ms(2025, 1, 6, 8))
    laps(host)
    assert fired(host) == ["01-06 08:00"] * 2
    assert host.store.schedules("default")[0].next_at == ms(2025, 1, 7, 8)


def test_a_host_that_drives_one_run_fires_nothing(rig: Rig) -> None:
    """`penstock run` leaves the rest of the store as it is."""
    host = rig.open(Fn(), clock=ManualClock(START_AT), alone=True)
    schedule(host)
    at(host, ms(2025, 1, 6, 12))
    assert host.store.runs() == [] and host.schedules.at is None


def test_kill_9_between_every_two_steps_of_a_fire(tmp_path: Path) -> None:
    """C-31, W-8.3.2: whenever it dies, each input of each time has one run."""
    deaths = 0

    def scene(store: Sqlite) -> None:
        host = Host(store, {}, clock=ManualClock(START_AT), output_dir=tmp_path)
        schedule(host, inputs=[{}, {}, {}])
        at(host, ms(2025, 1, 6, 8))

    for path in each_death(tmp_path, scene):
        deaths += 1
        rig = Rig(path)
        host = rig.open(Fn(), clock=ManualClock(ms(2025, 1, 6, 8, 1)))
        host.recover()
        laps(host)
        if host.store.schedules("default"):
            assert fired(host) == ["01-06 08:00"] * 3
            assert host.store.schedules("default")[0].next_at == ms(2025, 1, 7, 8)
        rig.sound()
        rig.close()
    assert deaths > 8
