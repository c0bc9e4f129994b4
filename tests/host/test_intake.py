"""Events: stored first, given to everybody they concern once, whenever they come and whenever the process dies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.app.releases.releases import dsl_hash
from penstock.errors import InputInvalid
from penstock.host.clock import ManualClock
from penstock.host.embedded import Host
from penstock.host.event_delivery import Reached
from penstock.host.event_warnings import WARNING
from penstock.kernel.state import STATUS
from penstock.net.model import Net, Node, Trigger
from penstock.store.artifacts import ArtifactRow
from penstock.store.events import EventRow
from penstock.store.releases import ReleaseRow
from penstock.store.sqlite import Sqlite
from tests.host.dying import each_death
from tests.host.rig import Fn, Rig, chain, fan, pause, wait
from tests.host.test_timers import laps

HOUR = 3_600_000
SOURCE = "lab.result.completed"


def waits(id: str, wanted: Any = None, name: str = SOURCE) -> Node:
    match = "fn.matches_filter(event, filter)" if wanted is not None else None
    return Node(id=id, kind="wait", triggers=(Trigger(kind="signal", name=name, filter=wanted, match=match),))


def send(host: Host, id: str = "e1", payload: Any = None, source: str = SOURCE, tenant: str = "default") -> None:
    body = msgspec.msgpack.encode({"n": 1} if payload is None else payload)
    host.store.put_event(EventRow(tenant, id, source, body, host.clock.now()))
    host.intake.poll()
    laps(host)


def listen(host: Host, net: Net, wanted: Any = None, name: str = "wf", version: int = 1) -> None:
    """An active release that an event starts."""
    config = {"source": SOURCE, **({} if wanted is None else {"filter": wanted})}
    document = msgspec.json.encode({"id": name, "version": version, "trigger": {"type": "event", "config": config}})
    hash_ = dsl_hash(msgspec.json.decode(document))
    row = ReleaseRow(
        "default", name, version, f"{name}{version}", "active", hash_, host.release(net), document, SOURCE, None, 1
    )
    host.store.put_release(row)


def reached(store: Any, id: str = "e1") -> Reached:
    row = store.event("default", id)
    assert row is not None and row.answer is not None, "it is not delivered"
    return msgspec.msgpack.decode(row.answer, type=Reached)


def statuses(host: Host) -> list[str]:
    return [STATUS[row.status] for row in host.store.runs()]


@pytest.fixture
def host(rig: Rig) -> Host:
    return rig.open(Fn(), clock=ManualClock())


# ---- runs that wait --------------------------------------------------------------------------------------------------


def test_an_event_resumes_every_run_that_waits_for_it(rig: Rig, host: Host) -> None:
    """W-4.7.2, C-37: by source and tenant; one event resumes many waits, two of one run as well."""
    net = host.release(chain(waits("w")))
    same = [host.start(net), host.start(net), host.start(host.release(fan(waits("a"), waits("b"))))]
    others = [
        host.start(host.release(chain(waits("w", name="else"), name="else"))),
        host.start(net, tenant="somebody"),
    ]
    laps(host)
    send(host, payload={"ok": True})
    assert [rig.status(run) for run in same] == ["COMPLETED"] * 3
    assert [rig.status(run) for run in others] == ["WAITING"] * 2
    assert sorted(reached(host.store).resumed) == sorted(same) and not reached(host.store).started
    assert len(rig.facts(same[2], "signal.used")) == 2
    rig.sound()


def test_waits_of_another_tenant_cost_an_event_nothing(rig: Rig, host: Host) -> None:
    """C-37: of 100,000 waits of the same name that another tenant has, the store does not look at one."""
    host.start(host.release(chain(waits("w"))), tenant="somebody")
    laps(host)

    def steps_of(id: str) -> int:
        host.store.put_event(EventRow("default", id, SOURCE, b"\x80", host.clock.now()))
        steps = 0

        def step() -> None:
            nonlocal steps
            steps += 1

        rig.store.c.set_progress_handler(step, 1)
        host.intake.poll()
        rig.store.c.set_progress_handler(None, 1)
        laps(host)
        return steps

    steps_of("first")
    alone = steps_of("alone")
    (row,) = rig.store.c.execute("SELECT * FROM waiting").fetchall()
    sql = f"INSERT INTO waiting VALUES({', '.join('?' * len(row))})"
    with rig.store.transaction():
        rig.store.c.executemany(sql, ((*row[:-1], 10 + n) for n in range(100_000)))
    assert alone <= steps_of("beside") <= alone + 10


def test_an_event_that_does_not_match_leaves_no_trace(rig: Rig, host: Host) -> None:
    """TC-WF-004, W-3.2.2: a wrong event is ignored, and a million of them would not make the run larger."""
    wanted = {"sample_id": {"$expr": "input.sample"}}
    run = host.start(host.release(chain(waits("w", wanted))), {"sample": "s1"})
    laps(host)
    turns = rig.turns(run)
    send(host, "e1", {"sample_id": "s2"})
    send(host, "e2", {"sample_id": "s1"}, source="other")
    assert rig.status(run) == "WAITING" and rig.turns(run) == turns
    send(host, "e3", {"sample_id": "s1"})
    assert rig.status(run) == "COMPLETED" and reached(host.store, "e3").resumed == [run]


def test_the_same_id_again_changes_nothing(rig: Rig, host: Host) -> None:
    """C-37: deduplicated by id, also when it is delivered again because its mark was lost."""
    listen(host, chain(waits("w", name="else"), name="begun"))
    run = host.start(host.release(chain(waits("w"))))
    laps(host)
    for _ in range(3):
        send(host)
    (started,) = reached(host.store).started
    before = [(r.id, rig.turns(r.id)) for r in host.store.runs()]
    rig.store.c.execute("UPDATE event SET answer=NULL")
    host.intake.taken_to.clear()  # as after a restart
    host.intake.poll()
    laps(host)
    assert [(r.id, rig.turns(r.id)) for r in host.store.runs()] == before
    assert rig.status(run) == "COMPLETED" and reached(host.store).started == [started]


def test_an_early_event_is_found(rig: Rig, host: Host) -> None:
    """TC-WF-004, W-4.7.6, C-37: newer than the run's start, though nobody waited for it then; an older one is not."""
    assert isinstance(host.clock, ManualClock)
    send(host, "old", {"n": 0})
    host.clock.at += 1
    run = host.start(host.release(chain(pause("t", HOUR), waits("w", {"n": {"$gte": 1}}))))
    laps(host)
    host.clock.at += 5
    send(host, "wrong", {"n": -5})
    send(host, "first", {"n": 2})
    send(host, "second", {"n": 3})
    assert reached(host.store, "first") == Reached() and rig.status(run) == "WAITING"
    host.clock.at += HOUR
    laps(host)
    assert rig.status(run) == "COMPLETED"
    assert [f["id"] for f in rig.facts(run, "signal.used")] == ["first"]
    later = host.start(host.release(chain(waits("v"), name="later")))
    host.clock.at += 1
    laps(host)
    assert rig.status(later) == "WAITING", "everything came before it began"


def test_early_events_for_two_waits_at_once(rig: Rig, host: Host) -> None:
    """C-37: each wait finds its own."""
    assert isinstance(host.clock, ManualClock)
    split = fan(waits("a", {"n": 1}), waits("b", {"n": 2}))
    nodes = (*split.nodes, pause("t", HOUR))
    edges = (
        msgspec.structs.replace(split.edges[0], src="t"),
        msgspec.structs.replace(split.edges[1], src="t"),
        *split.edges[2:],
        msgspec.structs.replace(split.edges[0], id="s>t", dst="t"),
    )
    run = host.start(host.release(msgspec.structs.replace(split, nodes=nodes, edges=edges)))
    laps(host)
    send(host, "two", {"n": 2})
    send(host, "one", {"n": 1})
    host.clock.at += HOUR
    laps(host)
    assert rig.status(run) == "COMPLETED"
    assert sorted(f["id"] for f in rig.facts(run, "signal.used")) == ["one", "two"]


def test_a_wait_that_begins_later_takes_the_same_event(rig: Rig, host: Host) -> None:
    """C-37: one event may resume many waits of one run, whichever of them began first; each of them once."""
    run = host.start(host.release(chain(waits("a"), waits("b"), waits("c", {"n": 2}))))
    laps(host)
    send(host)
    assert rig.status(run) == "WAITING"
    assert [f["id"] for f in rig.facts(run, "signal.used")] == ["e1", "e1@2"]
    assert rig.facts(run, "ignored") == rig.facts(run, "signal.kept") == []
    send(host, "e2", {"n": 2})
    assert rig.status(run) == "COMPLETED"


def test_a_run_that_cannot_be_read_does_not_keep_the_event_from_others(rig: Rig, host: Host) -> None:
    """It is parked, as everywhere, and the event is delivered."""
    broken, whole = (host.start(host.release(chain(waits("w")))) for _ in range(2))
    laps(host)
    rig.store.c.execute("UPDATE run SET checkpoint=x'c1' WHERE id=?", (broken,))
    send(host)
    assert rig.status(whole) == "COMPLETED" and reached(host.store).resumed == [whole]
    assert len(host.turns.parked) == 1


def test_a_large_payload_is_kept_once(rig: Rig, host: Host) -> None:
    """Many runs take it, and the journal of each has a reference."""
    net = host.release(chain(waits("w", {"big": {"$regex": "^y"}})))
    runs = [host.start(net) for _ in range(3)]
    laps(host)
    send(host, payload={"big": "y" * 100_000})
    assert [rig.status(run) for run in runs] == ["COMPLETED"] * 3
    (held,) = rig.store.c.execute("SELECT size FROM blob").fetchall()
    (journaled,) = rig.store.c.execute("SELECT sum(length(body)) FROM journal").fetchone()
    assert held[0] > 100_000 > journaled


def test_two_events_at_once_for_one_wait(rig: Rig, host: Host) -> None:
    """Sent before either is delivered: the first resumes it, and the second is not kept in the run."""
    run = host.start(host.release(chain(waits("w"), wait("v", "go"))))
    laps(host)
    for id in ("e1", "e2"):
        host.store.put_event(EventRow("default", id, SOURCE, msgspec.msgpack.encode({}), host.clock.now()))
    host.intake.poll()
    laps(host)
    assert [f["id"] for f in rig.facts(run, "signal.used")] == ["e1"] and not rig.facts(run, "signal.kept")
    assert (reached(host.store, "e1").resumed, reached(host.store, "e2").resumed) == ([run], [])


def test_severities_go_by_rank_and_the_tenant_may_rank_its_own(rig: Rig, host: Host) -> None:
    """W-3.2.3, C-30: an event off the scale does not match, and a warning is kept, once."""
    listen(host, chain(waits("w", name="else"), name="begun"), {"severity": {"$gte": "high"}})
    for n, severity in enumerate(("warning", "High", "critical", "bizarre", "bizarre")):
        send(host, f"e{n}", {"severity": severity})
    assert [len(reached(host.store, f"e{n}").started) for n in range(5)] == [0, 1, 1, 0, 0]
    warnings = host.store.events("default", WARNING)
    assert len(warnings) == 2 and "severity" in reached(host.store, "e3").warnings[0]
    own = msgspec.msgpack.encode({"event_scales": {"severity": {"meh": 1, "high": 2, "bizarre": 3}}})
    host.store.put_artifacts([ArtifactRow("default", "config", "tenant", "", "approved", own, 1)])
    host.tenants.refresh()
    send(host, "e9", {"severity": "bizarre"})
    assert len(reached(host.store, "e9").started) == 1


# ---- runs that begin -------------------------------------------------------------------------------------------------


def test_an_event_starts_what_listens_for_it(rig: Rig, host: Host) -> None:
    """W-3.2.2, W-3.2.6: the payload is the input, the whole event is sys.trigger; without a filter every event counts;
    the workflow that it has started does not get it again as news."""
    listen(host, chain(waits("w"), name="all"), name="every")
    listen(host, chain(waits("w"), name="some"), {"line": {"$in": ["L01", "L02"]}}, name="some")
    listen(host, chain(waits("w"), name="none"), {"line": "L09"}, name="none")
    send(host, payload={"line": "L01"})
    runs = {row.key: row for row in host.store.runs()}
    assert set(runs) == {"event:e1:every:1", "event:e1:some:1"}
    assert sorted(reached(host.store).started) == sorted(row.id for row in runs.values())
    assert statuses(host) == ["WAITING"] * 2
    (begun,) = rig.facts(runs["event:e1:some:1"].id, "run.started")
    assert begun["input"] == {"line": "L01"}
    assert begun["options"]["trigger"] == {
        "type": "event", "id": "e1", "source": SOURCE, "payload": {"line": "L01"}, "at": host.clock.now(),
    }  # fmt: skip


def test_a_run_begins_with_the_event_that_starts_it(rig: Rig, host: Host) -> None:
    """C-37: nobody drove the store for an hour, and what came after the event that starts the run came to it; what
    came before did not."""
    assert isinstance(host.clock, ManualClock)
    listen(host, chain(waits("w", name="reply")))
    rig.close()
    with rig.reading() as store:
        for n, source in enumerate(("reply", SOURCE, "reply")):
            store.put_event(EventRow("default", f"e{n}", source, msgspec.msgpack.encode({"n": n}), 1000 + n))
    host = rig.open(Fn(), clock=ManualClock())
    host.recover()
    laps(host)
    (run,) = host.store.runs()
    assert [f["id"] for f in rig.facts(run.id, "signal.used")] == ["e2"] and rig.status(run.id) == "COMPLETED"


def test_an_input_that_does_not_fit_starts_nothing(rig: Rig, host: Host) -> None:
    """W-3.2.7: no run, and a warning that says why; the event is delivered all the same."""

    def prepare(tenant: str, net: int, given: Any, run: str) -> tuple[Any, dict[str, Any]]:
        raise InputInvalid(why="line_id is missing")

    host.starter.prepare = prepare
    listen(host, chain(waits("w")))
    send(host)
    assert host.store.runs() == [] and "line_id is missing" in reached(host.store).warnings[0]
    assert len(host.store.events("default", WARNING)) == 1


def test_what_is_not_active_listens_no_more(rig: Rig, host: Host) -> None:
    """C-61: only the version in force is started."""
    listen(host, chain(waits("w")))
    (row,) = host.store.releases("default")
    assert host.store.move_releases([(msgspec.structs.replace(row, status="deprecated"), "active")])
    send(host)
    assert host.store.runs() == []


# ---- keeping ---------------------------------------------------------------------------------------------------------


def test_events_are_kept_for_a_day_or_as_long_as_is_said(rig: Rig) -> None:
    """C-37: 24 h, `events.keep_hours`."""
    for hours, settings in ((24, {}), (2, {"events.keep_hours": 2})):
        clock = ManualClock()
        host = rig.open(Fn(), clock=clock, settings=settings)
        send(host, f"old {hours}")
        clock.at += hours * HOUR
        send(host, f"new {hours}")
        assert host.store.event("default", f"old {hours}") is not None
        clock.at += HOUR
        laps(host)
        assert host.store.event("default", f"old {hours}") is None
        assert host.store.event("default", f"new {hours}") is not None
        rig.store.c.execute("DELETE FROM event")


def test_an_event_of_another_process_is_noticed(rig: Rig, host: Host) -> None:
    """C-37: the row alone is enough; the driving process looks for it with its inbox."""
    run = host.start(host.release(chain(waits("w"))))
    laps(host)
    other = Sqlite(rig.path, engine=False)
    other.put_event(EventRow("default", "e1", SOURCE, msgspec.msgpack.encode({}), host.clock.now()))
    other.close()
    assert host.intake.poll()
    laps(host)
    assert rig.status(run) == "COMPLETED" and not host.intake.busy


# ---- kill -9 ---------------------------------------------------------------------------------------------------------


def again(path: Path, clock: ManualClock, only: str = "") -> tuple[Rig, Host]:
    """A process on what the dead one has left; one that drives only a run of it, if that is named."""
    rig = Rig(path)
    host = rig.open(Fn(), clock=clock, alone=bool(only))
    if not only:
        host.recover()
    elif host.row(only) is not None:
        host.resume_run(host.store.run_by_id(only).no)
    laps(host)
    return rig, host


def test_kill_9_between_every_two_steps_of_a_delivery(tmp_path: Path) -> None:
    """C-37: stored and not delivered, delivered to some, delivered and not marked: after the restart everybody has it
    once."""
    deaths = 0

    def scene(store: Sqlite) -> None:
        host = Host(store, {}, clock=ManualClock(), output_dir=tmp_path)
        for n in range(2):
            host.start(host.release(chain(waits("w"))), id=f"r{n}")
            laps(host)
        listen(host, chain(waits("w", name="else"), name="begun"))
        send(host)

    for path in each_death(tmp_path, scene):
        deaths += 1
        rig, host = again(path, ManualClock())
        if host.store.event("default", "e1") is not None:
            born = {row.id for row in host.store.runs()}
            assert {"r0", "r1"} <= born and len(born) == 3
            for n in range(2):
                assert rig.status(f"r{n}") == "COMPLETED" and len(rig.facts(f"r{n}", "signal.used")) == 1
            assert host.store.open_events() == []
            assert host.store.run_by_key("default", "event:e1:wf:1") is not None
        rig.sound()
        rig.close()
    assert deaths > 12


@pytest.mark.parametrize("only", ["", "r0"], ids=["everything", "one run"])
def test_kill_9_between_a_wait_that_opens_and_the_early_event(tmp_path: Path, only: str) -> None:
    """C-37, W-8.3.2: the wait was committed, the search for what had come was not; the restart does it, and a timer
    that became due meanwhile rings."""

    def scene(store: Sqlite) -> None:
        clock = ManualClock()
        host = Host(store, {}, clock=clock, output_dir=tmp_path)
        host.start(host.release(chain(pause("t", HOUR), waits("w", {"n": 1}))), id="r0")
        laps(host)
        clock.at += 1
        send(host)
        clock.at += HOUR
        laps(host)

    for path in each_death(tmp_path, scene):
        clock = ManualClock()
        clock.at += 2 * HOUR
        rig, host = again(path, clock, only)
        host.intake.poll()
        laps(host)
        if host.store.event("default", "e1") is not None:
            assert rig.status("r0") == "COMPLETED"
            assert [f["id"] for f in rig.facts("r0", "signal.used")] == ["e1"]
        rig.sound()
        rig.close()
