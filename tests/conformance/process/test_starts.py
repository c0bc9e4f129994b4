"""Processes that begin by themselves: by the clock, by a message, by a signal; once, and in the version in force."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock import Penstock
from penstock.app.maintenance.verify import verify
from penstock.app.process.definitions import Processes
from penstock.app.registry.registry import artifact
from penstock.app.releases.releases import Releases
from penstock.app.releases.schedules import TenantSchedules
from penstock.errors import ProcessState, TenantConflict
from penstock.host.clock import ManualClock
from penstock.host.embedded import Host
from penstock.host.schedules import next_time
from penstock.kernel import command as C
from penstock.kernel import fact as F
from penstock.kernel.state import STATUS
from penstock.lang.process.bpmn.writer import write_bpmn
from penstock.lang.read import read_document
from penstock.store.address import DEFAULT_TENANT
from penstock.store.events import EventRow
from penstock.store.sqlite import Sqlite
from tests.api.sites import STORES, database
from tests.conformance.process.http.world import world
from tests.conformance.process.make import as_bytes, event, findings, process, rules, service, task
from tests.conformance.process.running import PATIENCE_S, Office, awaited
from tests.host.dying import each_death
from tests.host.test_timers import laps

Doc = dict[str, Any]
MINUTE = 60_000


def begun(trigger: str, id: str = "p", *more: Doc, ways: tuple[str, ...] = (), **fields: Any) -> Doc:
    """A process that its start event begins, with one task."""
    start = event("S", "start", trigger, **fields)
    return process([start, task("A"), *more], ["S>A", *ways], process_definition_id=id)


def ms(*when: int) -> int:
    return round(datetime(*when, tzinfo=UTC).timestamp() * 1000)  # type: ignore[arg-type,misc]


@pytest.fixture(params=STORES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with database() if request.param == "postgresql" else contextlib.nullcontext(str(tmp_path / "s.db")) as store:
        yield store


class Desk:
    """A door, and what a test asks of it."""

    def __init__(self, door: Penstock) -> None:
        self.door, self.held = door, Processes(door)

    async def define(self, document: Doc) -> int:
        return (await self.held.define(document, by="kim")).release.version

    async def tell(self, name: str, payload: Any = None, id: str | None = None) -> tuple[list[str], list[str]]:
        """Runs that it has started, and runs that it has resumed."""
        receipt = await self.door.send_event(name, {} if payload is None else payload, id=id)
        assert receipt.delivered
        for run in (*receipt.started, *receipt.resumed):
            await self.door.wait(run, until_waiting=True, timeout=PATIENCE_S)
        return receipt.started, receipt.resumed

    async def begin(self, id: str, **input: Any) -> str:
        row = self.held.startable(id)
        run = await self.door.start(self.door.hash_of(row.net), input)
        await self.door.wait(run, until_waiting=True, timeout=PATIENCE_S)
        return run

    async def submit(self, run: str, node: str) -> None:
        (no,) = [fact[1] for turn in self.door.store.journal(self.door.row(run).no)
                 for fact in F.decode_facts(turn.body) if F.name_of(fact) == "work.opened"]  # fmt: skip
        await self.door.command(run, C.work(no, "submit", "kim", {}, None))
        await self.door.wait(run, until_waiting=True, timeout=PATIENCE_S)

    def version(self, run: str) -> int:
        return self.door.net_of(self.door.hash_of(self.door.row(run).net)).net.declares.version

    def open(self, run: str) -> list[str]:
        return sorted({one.node for one in self.door.view(run).waiting} - {".main"})


@contextlib.asynccontextmanager
async def desk(place: str, folder: Path) -> AsyncIterator[Desk]:
    async with Penstock(place, output_dir=folder / "out", input_dir=folder / "in") as door:
        yield Desk(door)
        assert verify(door.store).violations == []


# ---- messages --------------------------------------------------------------------------------------------------------


@awaited
async def test_a_message_begins_an_instance(place: str, tmp_path: Path) -> None:
    """P-X.25, P-3.2.2, P-X.8: with what it brings as input; the same event again begins nothing, another one does."""
    async with desk(place, tmp_path) as one:
        await one.define(begun("message", message="order"))
        (first,), _ = await one.tell("order", {"order": 7}, id="e1")
        assert one.door.view(first).variables == {"order": 7} and one.open(first) == ["A"]
        assert await one.tell("order", {"order": 8}, id="e1") == ([first], [])
        (second,), _ = await one.tell("order", {"order": 9}, id="e2")
        assert first != second and len(one.door.runs()) == 2
        assert await one.tell("orders", {"order": 7}) == ([], []), "another name"


@awaited
async def test_whoever_waits_for_a_message_has_it_first(place: str, tmp_path: Path) -> None:
    """P-X.25: a message has one receiver: an instance whose correlation it fits, else the process that it begins."""
    more = event("M", "catch", "message", message="order", correlation={"order": "${order}"})
    async with desk(place, tmp_path) as one:
        await one.define(begun("message", "p", task("B"), more, ways=("S>M", "M>B"), message="order"))
        (first,), _ = await one.tell("order", {"order": 1})
        assert one.open(first) == ["A", "M"], "the message that has begun it is no news to it"
        (second,), resumed = await one.tell("order", {"order": 2})
        assert resumed == [] and second != first
        assert await one.tell("order", {"order": 1}) == ([], [first])
        assert one.open(first) == ["A", "B"] and one.open(second) == ["A", "M"]
        (third,), _ = await one.tell("order", {"order": 1})
        assert one.open(third) == ["A", "M"], "nobody waits for it any more"


@awaited
async def test_a_message_goes_to_one_of_those_that_wait(place: str, tmp_path: Path) -> None:
    """P-X.25: the one that began first; the next message to the next. One that comes early is kept for one."""
    catch = event("M", "catch", "message", message="go")
    waits = process([task("A"), catch, task("B")], ["A>M", "M>B"], process_definition_id="w")
    at_once = process([catch, task("B")], ["M>B"], process_definition_id="q")
    async with desk(place, tmp_path) as one:
        await one.define(at_once)
        await one.define(waits)
        first, second, third = [await one.begin("q") for _ in range(3)]
        assert await one.tell("go") == ([], [first])
        assert await one.tell("go") == ([], [second])
        late = [await one.begin("w") for _ in range(2)]
        assert await one.tell("go") == ([], [third])
        assert await one.tell("go", id="kept") == ([], []), "nobody waits yet"
        for run in late:
            await one.submit(run, "A")
        assert [one.open(run) for run in late] == [["B"], ["M"]]


@awaited
async def test_a_message_is_taken_once(place: str, tmp_path: Path) -> None:
    """P-X.25: an instance that waits for the same name again waits for the next message."""
    two = [event(id, "catch", "message", message="go") for id in ("M", "N")]
    async with desk(place, tmp_path) as one:
        await one.define(process([*two, task("B")], ["M>B", "B>N"]))
        run = await one.begin("p")
        assert await one.tell("go") == ([], [run])
        await one.submit(run, "B")
        assert one.open(run) == ["N"]
        assert await one.tell("go") == ([], [run]) and one.door.view(run).status == "COMPLETED"


@awaited
async def test_two_processes_do_not_share_a_message(place: str, tmp_path: Path) -> None:
    """P-X.25: the second is refused and not stored, unless what is in the message tells them apart."""
    async with desk(place, tmp_path) as one:
        await one.define(begun("message", "p", message="order"))
        with pytest.raises(ProcessState, match="«order» begins «p» already"):
            await one.define(begun("message", "q", message="order"))
        assert [row.name for row in one.held.each()] == ["p"]
        await one.define(begun("message", "p", message="order", correlation={"region": "EU"}))
        await one.define(begun("message", "q", message="order", correlation={"region": "KR"}))
        (run,), _ = await one.tell("order", {"region": "KR", "n": 1})
        assert one.door.net_of(one.door.hash_of(one.door.row(run).net)).net.name == "q"
        assert await one.tell("order", {"region": "US"}) == ([], [])


@awaited
async def test_boundary_and_event_sub_process_of_the_same_name(place: str, tmp_path: Path) -> None:
    """P-X.25, P-3.2.2: they take what is for their own instance, and the start takes the rest."""
    mine = {"message": "order", "correlation": {"order": "${order}"}}
    handler = task("H", type="subProcess", triggered_by_event=True)
    inner = [event("HS", "start", "message", parent="H", interrupting=False, **mine), task("X", parent="H")]
    border = event("C", "boundary", "message", attached_to="A", **mine)
    async with desk(place, tmp_path) as one:
        await one.define(begun("message", "p", handler, *inner, ways=("HS>X",), message="order"))
        (first,), _ = await one.tell("order", {"order": 1})
        (second,), _ = await one.tell("order", {"order": 2})
        assert await one.tell("order", {"order": 1}) == ([], [first])
        assert (one.open(first), one.open(second)) == (["A", "X"], ["A"])
        await one.define(begun("message", "p", border, task("B"), ways=("C>B",), message="order"))
        (third,), _ = await one.tell("order", {"order": 3})
        assert await one.tell("order", {"order": 3}) == ([], [third])
        assert one.open(third) == ["B"]


# ---- signals ---------------------------------------------------------------------------------------------------------


@awaited
async def test_a_signal_begins_and_resumes_everything(place: str, tmp_path: Path) -> None:
    """P-X.25: every process that it begins, and every instance that waits for it; each once."""
    waits = process([event("W", "catch", "signal", signal="alarm"), task("B")], ["W>B"], process_definition_id="w")
    async with desk(place, tmp_path) as one:
        for id in ("p", "q"):
            await one.define(begun("signal", id, signal="alarm"))
        await one.define(waits)
        rests = [await one.begin("w") for _ in range(2)]
        started, resumed = await one.tell("alarm", {"level": 3}, id="a1")
        assert len(started) == 2 and sorted(resumed) == sorted(rests)
        assert all(one.door.view(run).variables == {"level": 3} for run in (*started, *rests))
        assert [sorted(part) for part in await one.tell("alarm", id="a1")] == [sorted(started), sorted(rests)]
        assert len(one.door.runs()) == 4


@awaited
async def test_a_process_tells_another(place: str, tmp_path: Path) -> None:
    """P-X.25: an end event that sends a message begins the process whose start event waits for it."""
    says = process([service("A"), event("E", "end", "message", message="order", payload={"n": "${n}"})], ["A>E"],
                   process_definition_id="says")  # fmt: skip
    async with desk(place, tmp_path) as one:
        one.door.executor("agent")(lambda request: {"n": 5})
        await one.define(begun("message", message="order"))
        await one.define(says)
        await one.door.wait(await one.begin("says"), timeout=PATIENCE_S)
        for _ in range(1000):
            born = [row for row in one.door.runs() if row.key]
            if born:
                break
            await asyncio.sleep(0.01)
        (run,) = born
        await one.door.wait(run.id, until_waiting=True, timeout=PATIENCE_S)
        assert one.door.view(run.id).variables == {"n": 5}


# ---- versions --------------------------------------------------------------------------------------------------------


@awaited
async def test_the_trigger_goes_with_the_version_in_force(place: str, tmp_path: Path) -> None:
    """P-X.8, P-X.25: a new version listens to what it says, an old one to nothing; what runs stays on its own."""
    async with desk(place, tmp_path) as one:
        await one.define(begun("message", message="order"))
        (first,), _ = await one.tell("order")
        await one.define(begun("message", message="purchase"))
        assert await one.tell("order") == ([], [])
        (second,), _ = await one.tell("purchase")
        assert (one.version(first), one.version(second)) == (1, 2) and one.open(first) == ["A"]
        await one.define(begun("timer", timer={"cycle": "0 9 * * *"}))
        assert await one.tell("purchase") == ([], [])
        assert [(row.name, row.version) for row in one.door.schedules.each()] == [("p", 3)]
        one.door.releases.activate("p", 1)
        assert one.door.schedules.each() == []
        (third,), _ = await one.tell("order")
        assert one.version(third) == 1
        one.door.releases.deprecate("p", 1)
        assert await one.tell("order") == ([], [])


@awaited
async def test_a_model_that_nobody_has_approved_begins_nothing(place: str, tmp_path: Path) -> None:
    """P-X.23, P-X.25: neither by the clock nor by a message, until somebody has."""
    found = {"type": "discovered", "source_event_log_id": "log"}
    async with desk(place, tmp_path) as one:
        await one.define({**begun("message", "m", message="order"), **found})
        await one.define({**begun("timer", "t", timer={"cycle": "R/PT1H"}), **found})
        assert await one.tell("order") == ([], []) and one.door.schedules.each() == []
        for id in ("m", "t"):
            await one.held.approve(id, by="lee")
        (run,), _ = await one.tell("order")
        assert one.open(run) == ["A"] and [row.name for row in one.door.schedules.each()] == ["t"]


# ---- the clock -------------------------------------------------------------------------------------------------------

NOW = ms(2026, 11, 15, 9, 30)  # a Sunday; half past six in the evening in Seoul
CLOCKS: dict[str, tuple[Doc, str, tuple[int, ...] | None]] = {
    "a cycle": ({"cycle": "R3/PT10M"}, "R3/2026-11-15T09:40:00.000Z/PT10M", (2026, 11, 15, 9, 40)),
    "without end": ({"cycle": " R/PT1H "}, "R/2026-11-15T10:30:00.000Z/PT1H", (2026, 11, 15, 10, 30)),
    "without end, in other words": ({"cycle": "R-1/PT1H"}, "R/2026-11-15T10:30:00.000Z/PT1H", (2026, 11, 15, 10, 30)),
    "a cycle with a beginning": ({"cycle": "R/2026-11-01T09:00:00/P1W"}, "R/2026-11-01T00:00:00.000Z/P1W",
                                 (2026, 11, 22)),
    "a duration": ({"duration": "PT1H"}, "2026-11-15T10:30:00.000Z", (2026, 11, 15, 10, 30)),
    "seconds": ({"duration": 90}, "2026-11-15T09:31:30.000Z", (2026, 11, 15, 9, 31, 30)),
    "a date of the tenant": ({"date": "2026-12-24T18:00:00"}, "2026-12-24T09:00:00.000Z", (2026, 12, 24, 9)),
    "a date with an offset": ({"date": "2026-12-24T18:00:00+01:00"}, "2026-12-24T17:00:00.000Z",
                              (2026, 12, 24, 17)),
    "a date that is over": ({"date": "2026-11-15T18:29:59"}, "2026-11-15T09:29:59.000Z", None),
    "five fields": ({"cycle": "0 9 * * MON-FRI"}, "0 9 * * MON-FRI", (2026, 11, 16)),
    "six fields": ({"cycle": "0 0 9-17 * * MON-FRI"}, "0 0 9-17 * * MON-FRI", (2026, 11, 16)),
    "seconds first": ({"cycle": "*/30 * * * * *"}, "*/30 * * * * *", (2026, 11, 15, 9, 30, 30)),
    "a day that is not said": ({"cycle": "0 30 8 ? * MON#1"}, "0 30 8 * * MON#1", (2026, 12, 6, 23, 30)),
    "a word": ({"cycle": "@daily"}, "@daily", (2026, 11, 15, 15)),
    "a zone of its own": ({"cycle": "0 9 * * *", "timezone": "Europe/Berlin"}, "0 9 * * *", (2026, 11, 16, 8)),
}  # fmt: skip


@pytest.mark.parametrize("what", CLOCKS)
def test_when_a_timer_comes(what: str, tmp_path: Path) -> None:
    """P-X.25, C-31: in the tenant's zone, from the moment at which the version is put in force."""
    timer, text, first = CLOCKS[what]
    document = begun("timer", timer=timer)
    assert [one.rule for one in findings(document)] == []
    (row,) = _scheduled(tmp_path / "s.db", document, zone="Asia/Seoul")
    assert (row.cron, row.next_at) == (text, ms(*first) if first else None)
    assert row.zone == timer.get("timezone", "Asia/Seoul")


def _scheduled(path: Path | Any, document: Doc, zone: str = "UTC", now: int = NOW) -> list[Any]:
    """Put in force at a moment; what is registered by it."""
    with contextlib.closing(Penstock(path, drive=False).open()) as door:
        door.register("config", "tenant", {"timezone": zone})
        clock, versions = ManualClock(now), Releases(door)
        row = Processes(door).hand_in(document, json.dumps(document).encode(), by="kim", about=None).release
        versions.approve(row.name, row.version, by="lee")
        Releases(door, clock).activate(row.name, row.version)
        return TenantSchedules(door, clock).each()


def test_a_cycle_keeps_the_time_of_day(tmp_path: Path) -> None:
    """P-X.25: days and months are those of the calendar, hours are hours: in Berlin clocks go back on October 25."""
    day = {"cycle": "R/2026-10-24T09:00:00/P1D", "timezone": "Europe/Berlin"}
    (row,) = _scheduled(tmp_path / "a.db", begun("timer", timer=day), now=ms(2026, 10, 24, 6))
    times = [ms(2026, 10, 24, 7), ms(2026, 10, 25, 8), ms(2026, 10, 26, 8)]
    assert [row.next_at, next_time(row, times[0]), next_time(row, times[1])] == times
    month = {"cycle": "R4/2026-01-31T09:00:00Z/P1M"}
    (row,) = _scheduled(tmp_path / "b.db", begun("timer", timer=month), now=ms(2026, 1, 1))
    at, found = row.next_at, []
    while at is not None:
        found.append(datetime.fromtimestamp(at / 1000, UTC).strftime("%m-%d"))
        at = next_time(row, at)
    assert found == ["01-31", "02-28", "03-31", "04-30"]


WRONG = [
    "", "R0/PT1H", "R/PT0.5S", "R/PT0S", "R/P", "R/PT", "R/1H", "R3", "PT1H", "R/tomorrow/PT1H", "R/2026-13-01/PT1H",
    "R3/PT10M/2026-11-15", "R1234567890/PT1H", "9 * * *", "0 0 25 * * *", "60 * * * *", "0 0 30 2 *", "@every 5m",
    "0 0 9 1 * MON", "0 0 9 * * ? 2026", "0 0 9 15W * ?", "0 0 9 ? ? ?", "hourly", "${cycle}", "* * * * * * * *",
]  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
def test_what_is_no_time_is_refused(text: str) -> None:
    """P-X.25: at release, with the place, before anything is registered."""
    found = [one for one in findings(begun("timer", timer={"cycle": text})) if one.severity == "error"]
    assert [(one.rule, one.where.pointer) for one in found] == [("bad_duration", "/events/0/timer/cycle")], found
    assert found[0].hint


def test_two_timers_are_refused() -> None:
    """P-X.25, P-X.35: a process has one schedule."""
    starts = [event(id, "start", "timer", timer={"cycle": "R/PT1H"}) for id in "ST"]
    assert rules(process([*starts, task("A")], ["S>A", "T>A"])) == ["several_timers"]


class Hours:
    """A host on a store whose time a test turns on."""

    def __init__(self, path: Path, folder: Path, now: int = NOW) -> None:
        self.store, self.clock = Sqlite(path), ManualClock(now)
        self.host = Host(self.store, {}, clock=self.clock, output_dir=folder)
        self.host.recover()
        laps(self.host)

    def at(self, when: int) -> list[str]:
        self.clock.at = when
        self.host.schedules.look(when)
        laps(self.host)
        times = sorted(int(str(row.key).split(":")[3]) for row in self.store.runs(limit=1000))
        return [datetime.fromtimestamp(at / 1000, UTC).strftime("%H:%M") for at in times]


def test_a_cycle_ends(tmp_path: Path) -> None:
    """P-X.25, P-3.2.2: three times and no more, each an instance with the input that the event says."""
    _scheduled(tmp_path / "s.db", begun("timer", timer={"cycle": "R3/PT10M"}, payload={"by": "clock"}))
    hours = Hours(tmp_path / "s.db", tmp_path)
    assert hours.at(NOW + 10 * MINUTE - 1) == []
    for n in range(1, 9):
        found = hours.at(NOW + n * 10 * MINUTE)
    assert found == ["09:40", "09:50", "10:00"]
    (row,) = hours.store.schedules(DEFAULT_TENANT)
    assert row.next_at is None and row.last_at == NOW + 30 * MINUTE
    hours.store.close()
    with contextlib.closing(Penstock(tmp_path / "s.db", drive=False).open()) as door:
        looks = [door.view(run.id) for run in door.runs()]
        assert [one.variables for one in looks] == [{"by": "clock"}] * 3
        assert [[w.node for w in one.waiting] for one in looks] == [["A"]] * 3


@pytest.mark.parametrize(
    ("policy", "found"),
    [
        ({}, ["11:30"]),
        ({"catch_up": "all"}, ["10:30", "11:30"]),
        ({"catch_up": "none"}, []),
        ({"catch_up": "all", "overlap": "skip"}, ["10:30"]),
    ],
)
def test_times_that_nobody_was_there_for(policy: Doc, found: list[str], tmp_path: Path) -> None:
    """P-X.25, C-31: one instance, all, or none; with `skip` none while the last one goes on."""
    _scheduled(tmp_path / "s.db", begun("timer", timer={"cycle": "R/PT1H", **policy}))
    hours = Hours(tmp_path / "s.db", tmp_path, now=NOW + 150 * MINUTE)
    assert hours.at(NOW + 151 * MINUTE) == found
    hours.store.close()


def test_a_moment_that_went_by_while_it_was_paused(tmp_path: Path) -> None:
    """P-X.25, C-31: was not wanted: it does not come when somebody resumes the schedule."""
    _scheduled(tmp_path / "s.db", begun("timer", timer={"duration": "PT1H"}))
    with contextlib.closing(Penstock(tmp_path / "s.db", drive=False).open()) as door:
        TenantSchedules(door, ManualClock(NOW)).pause("p")
        assert TenantSchedules(door, ManualClock(NOW + 61 * MINUTE)).resume("p").next_at is None
    hours = Hours(tmp_path / "s.db", tmp_path, now=NOW + 62 * MINUTE)
    assert hours.at(NOW + 63 * MINUTE) == []
    hours.store.close()


@awaited
async def test_the_clock_really_begins_instances(place: str, tmp_path: Path) -> None:
    """P-X.25, P-3.2.2: twice by the clock of the house, and once by hand."""
    async with desk(place, tmp_path) as one:
        await one.define(begun("timer", timer={"cycle": "R2/PT1S"}))
        for _ in range(int(PATIENCE_S / 0.02)):
            if len(one.door.runs()) == 2 and one.door.schedules.get("p").next_at is None:
                break
            await asyncio.sleep(0.02)
        assert len(one.door.runs()) == 2 and one.door.schedules.get("p").next_at is None
        fired = await one.door.schedules.fire("p")
        assert len(fired.runs) == 1 and one.door.view(fired.runs[0]).waiting[0].node == "A"


# ---- kill -9 ---------------------------------------------------------------------------------------------------------

INNER = event("M", "catch", "message", message="order", correlation={"order": "${order}"})
DYING: dict[str, Doc] = {
    "message": begun("message", "p", INNER, task("B"), ways=("S>M", "M>B"), message="order"),
    "signal": begun("signal", signal="order"),
}


def _tell(host: Host, id: str, payload: Any) -> None:
    host.store.put_event(EventRow(DEFAULT_TENANT, id, "order", msgspec.msgpack.encode(payload), host.clock.now()))
    host.intake.poll()
    laps(host)


@pytest.mark.parametrize("trigger", DYING)
def test_killed_between_the_event_and_the_start(trigger: str, tmp_path: Path) -> None:
    """P-X.25, P-A.19: at every write, also of the message that an instance takes: begun once, taken once."""
    template = tmp_path / "template.db"
    _scheduled(template, DYING[trigger])
    seed = template.read_bytes()
    folder = tmp_path / "deaths"
    folder.mkdir()

    def scene(store: Sqlite) -> None:
        host = Host(store, {}, clock=ManualClock(NOW), output_dir=tmp_path)
        _tell(host, "e1", {"order": 1})
        host.clock.at += 5  # type: ignore[attr-defined]
        _tell(host, "e2", {"order": 1})

    deaths = 0
    for path in _deaths(folder, seed, scene):
        store = Sqlite(path)
        host = Host(store, {}, clock=ManualClock(NOW + MINUTE), output_dir=tmp_path)
        host.recover()
        laps(host)
        told = [one.id for one in store.events(DEFAULT_TENANT)]
        keys = sorted(str(row.key) for row in store.runs())
        begun_by = told[:1] if trigger == "message" else told
        assert keys == [f"{trigger}:{id}:p" for id in begun_by], (path, keys)
        assert store.open_events() == []
        used = [row.id for row in store.runs() if _used(store, row.no)]
        assert len(used) == (1 if trigger == "message" and len(told) == 2 else 0), path
        assert verify(store).violations == []
        store.close()
        deaths += 1
    assert deaths > 8


def _deaths(folder: Path, seed: bytes, scene: Any) -> Iterator[Path]:
    """As `each_death`, from a store in which something is in force already."""
    for at in range(1000):
        (folder / f"dies_at_{at}.db").write_bytes(seed)
        if at > 60:
            break
    yield from each_death(folder, scene)


def _used(store: Any, no: int) -> int:
    return sum(F.name_of(f) == "signal.used" for row in store.journal(no) for f in F.decode_facts(row.body))


def test_a_new_version_between_the_start_and_the_restart(tmp_path: Path) -> None:
    """P-X.8, P-X.25: an event that was told again after a crash begins no second instance on the newer version."""
    path = tmp_path / "s.db"
    _scheduled(path, DYING["message"])
    store = Sqlite(path)
    host = Host(store, {}, clock=ManualClock(NOW), output_dir=tmp_path)
    _tell(host, "e1", {"order": 1})
    store.c.execute("UPDATE event SET answer=NULL")
    store.close()
    _scheduled(path, {**DYING["message"], "description": "newer"})
    hours = Hours(path, tmp_path)
    assert [STATUS[row.status] for row in hours.store.runs()] == ["WAITING"]
    hours.store.close()


# ---- files, and over HTTP --------------------------------------------------------------------------------------------

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<bpmn:definitions xmlns:bpmn="http://www.omg.org/spec/BPMN/20100524/MODEL" id="d" targetNamespace="t">'  # noqa: E501
BODY = """<bpmn:process id="p" name="P" isExecutable="true"><bpmn:startEvent id="S"><bpmn:outgoing>f</bpmn:outgoing>
%s</bpmn:startEvent><bpmn:userTask id="A" name="A"/><bpmn:sequenceFlow id="f" sourceRef="S" targetRef="A"/>
</bpmn:process></bpmn:definitions>"""
TIMER = '<bpmn:timerEventDefinition id="t"><bpmn:timeCycle>0 0 9-17 * * MON-FRI</bpmn:timeCycle></bpmn:timerEventDefinition>'  # noqa: E501
MESSAGE = '<bpmn:messageEventDefinition id="m" messageRef="Message_1"/>'


def test_a_file_of_a_modeler_begins_by_itself(tmp_path: Path) -> None:
    """P-X.25: a cron cycle and a message by its name, as Camunda Modeler writes them."""
    with contextlib.closing(Penstock(tmp_path / "s.db", drive=False).open()) as door:
        held = Processes(door)
        row = asyncio.run(held.define(HEAD + BODY % TIMER, by="kim")).release
        assert [one.cron for one in door.schedules.each()] == ["0 0 9-17 * * MON-FRI"] and row.listens is None
        news = '<bpmn:message id="Message_1" name="order placed"/>'
        row = asyncio.run(held.define(HEAD + news + BODY % MESSAGE, by="kim")).release
        assert row.listens == "order placed" and door.schedules.each() == []


def test_what_bpmn_has_no_word_for_goes_along() -> None:
    """P-X.25: the policies of a timer are in the file that goes out, and in what is read from it."""
    document = begun("timer", timer={"cycle": "R/PT1H", "overlap": "skip", "timezone": "Asia/Seoul"}, payload={"n": 1})
    again = read_document(write_bpmn(document).encode(), name="p.bpmn").data
    (start,) = again["events"]
    assert (start["timer"], start["payload"]) == (document["events"][0]["timer"], {"n": 1})


@pytest.mark.parametrize("store", STORES)
def test_over_http(store: str, tmp_path: Path) -> None:
    """P-X.25, P-3.2.2, P-X.38: the schedule is listed with its next times, and an event begins an instance that tells
    PROCESS_STARTED."""
    with world(store, tmp_path) as office:
        clock = office.defined(begun("timer", timer={"cycle": "R/PT6H"}))
        listed = office.operator.get(f"/schedules/{clock}").json()
        assert listed["cron"].startswith("R/20") and len(listed["upcoming"]) == 5
        id = office.defined(begun("message", message="order"))
        sent = office.operator.post("/events", json={"source": "order", "payload": {"n": 1}, "id": "e1"})
        assert sent.status_code in (200, 201, 202), sent.text
        (run,) = sent.json()["started"]
        look = office.operator.get(f"/processes/instances/{run}").json()
        assert look["proc_def_id"] == id and [one["activity_id"] for one in look["workitems"]] == ["A"]
        assert [one["event"] for one in office.events("PROCESS_STARTED", proc_inst_id=run)] == ["PROCESS_STARTED"]


@awaited
async def test_a_process_is_started_for_its_tenant_alone(tmp_path: Path) -> None:
    """P-X.7, P-X.35: whoever knows its release, a process that names its tenant is started for no other."""
    async with Office(tmp_path) as office:
        release = office.p.release(as_bytes(process([task("A")], [], tenant_id=office.p.tenant)), name="p.json")
        with pytest.raises(TenantConflict, match="«other»"):
            await office.p.of("other").start(release, {})
        assert office.p.of("other").runs() == []


RULE = {"id": "hot", "when": "data.t > 10", "decision": "critical"}


@awaited
async def test_a_rule_task_leaves_no_judgment_of_a_workflow(tmp_path: Path) -> None:
    """P-X.25, C-52: what the rules said is the item's result; made again from the journal, the rows are the same."""
    pack = {"id": "r", "version": "1", "status": "approved", "rules": [RULE]}
    async with Office(tmp_path) as office:
        office.p.store.put_artifacts([artifact(office.p.tenant, "rule_pack", "r", pack, 0)])
        run = await office.start(process([service("A", bpmn="businessRuleTask", rule_pack="r")], []), {"t": 30})
        view = office.p.view(run.id)
        assert (view.status, view.variables["decision"]) == ("COMPLETED", "critical")
        assert office.p.judgments() == []
    with contextlib.closing(Penstock(tmp_path / "store.db").open()) as door:
        door.rebuild()
        assert door.judgments() == []
