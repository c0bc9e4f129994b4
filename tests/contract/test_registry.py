"""Every store: events, releases and schedules. What was written twice is there once, and numbers are given once."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest
from msgspec.structs import replace

from penstock.errors import StoreError
from penstock.store.artifacts import ArtifactRow
from penstock.store.events import EventRow
from penstock.store.messages import MessageRow
from penstock.store.releases import ReleaseRow
from penstock.store.schedules import ScheduleRow
from tests.contract.store_suite import Kit, SqliteKit, a_batch, a_net, a_run, a_turn

HOUR = 3_600_000


def an_event(id: str = "e1", **more: Any) -> EventRow:
    row: dict[str, Any] = {"tenant": "t", "id": id, "source": "lab.done", "body": b"\x80", "at": 1000}
    return EventRow(**{**row, **more})


def a_release(version: int = 1, status: str = "pending_approval", **more: Any) -> ReleaseRow:
    row: dict[str, Any] = {
        "tenant": "t", "name": "wf", "version": version, "id": f"id{version}", "status": status, "hash": "h", "net": 1,
        "document": b"{}", "listens": None, "created_by": "kim", "created_at": 1000,
    }  # fmt: skip
    return ReleaseRow(**{**row, **more})


def a_schedule(name: str = "wf", **more: Any) -> ScheduleRow:
    row: dict[str, Any] = {
        "tenant": "t", "name": name, "version": 1, "cron": "0 8 * * *", "zone": "UTC", "inputs": b"\x91\x80",
        "overlap": "allow", "catch_up": "one", "paused": 0, "last_at": None, "next_at": 5000,
    }  # fmt: skip
    return ScheduleRow(**{**row, **more})


# ---- events ----------------------------------------------------------------------------------------------------------


def test_an_event_is_kept_once_by_its_id(kit: Kit) -> None:
    """C-37: deduplicated by id within a tenant; the first one counts."""
    store = kit.open()
    first = store.put_event(an_event(body=b"\x01"))
    assert first is not None
    assert store.put_event(an_event(body=b"\x02", source="other")) is None
    assert store.put_event(an_event(tenant="u")) == first + 1
    found = store.event("t", "e1")
    assert found is not None and (found.no, found.body, found.answer) == (first, b"\x01", None)
    assert store.event("t", "e2") is None
    assert [e.tenant for e in store.events("t")] == ["t"]


def test_events_are_found_by_source_time_and_number(kit: Kit) -> None:
    store = kit.open()
    for i in range(6):
        store.put_event(an_event(f"e{i}", source="a" if i % 2 else "b", at=1000 + i))
    assert [e.id for e in store.events("t", "a")] == ["e1", "e3", "e5"]
    assert [e.id for e in store.events("t", "a", since=1003)] == ["e3", "e5"]
    assert [e.id for e in store.events("t", after=4, limit=1)] == ["e4"]


def test_an_event_is_open_until_it_is_delivered(kit: Kit) -> None:
    store = kit.open()
    numbers = [store.put_event(an_event(f"e{i}")) for i in range(3)]
    assert [e.no for e in store.open_events()] == numbers
    store.events_delivered([(b"\x80", numbers[0]), (b"\x81", numbers[2])])
    assert [e.no for e in store.open_events()] == [numbers[1]]
    assert [e.answer for e in store.events("t")] == [b"\x80", None, b"\x81"]


def test_who_has_taken_an_event_is_committed_with_the_turn(kit: Kit) -> None:
    """P-X.25, H9: the answer and the turn that used the event, or neither."""
    store = kit.open()
    a_net(store)
    store.commit(a_batch(new=[a_run(1)], journal=[a_turn(1, 1)]))
    numbers = [store.put_event(an_event(f"e{i}")) for i in range(3)]
    store.commit(a_batch(journal=[a_turn(1, 2)], event_taken=[(b"x", numbers[0]), (b"y", numbers[1])]))
    assert [e.answer for e in store.events("t")] == [b"x", b"y", None]
    with pytest.raises(StoreError):
        store.commit(a_batch(journal=[a_turn(1, 2)], event_taken=[(b"z", numbers[2])]))
    assert [e.no for e in store.open_events()] == [numbers[2]]


def test_old_events_go_but_not_the_undelivered_and_no_number_comes_twice(kit: Kit) -> None:
    """C-37: kept for a time. The newest stays, so that whoever has counted up to it misses nothing."""
    store = kit.open()
    numbers = [store.put_event(an_event(f"e{i}", at=1000 + i)) for i in range(5)]
    store.events_delivered([(b"\x80", no) for no in numbers if no != numbers[1]])
    assert store.forget_events(1004) == 3
    assert [e.no for e in store.events("t")] == [numbers[1], numbers[4]]
    store.events_delivered([(b"\x80", numbers[1])])
    assert store.forget_events(10**15) == 1
    assert store.put_event(an_event("new")) == numbers[4] + 1


def test_who_waits_for_which_event(kit: Kit) -> None:
    """C-37: by tenant and name; and of whom an event is kept that may be theirs."""
    store = kit.open()
    a_net(store)
    store.commit(
        a_batch(
            new=[a_run(1, tenant="t"), a_run(2, tenant="t"), a_run(3, tenant="u")],
            journal=[a_turn(n, 1) for n in (1, 2, 3)],
            wait=[
                *(("t", "lab.done", 1, 1), ("t", "lab.done", 1, 2), ("t", "lab.done", 2, 1)),
                *(("u", "lab.done", 3, 1), ("t", "other", 2, 2)),
            ],
        )
    )
    assert store.waiting_for("t", "lab.done") == [1, 2] and store.waiting_for("u", "lab.done") == [3]
    assert store.waiting_for("u", "other") == [] and store.waiting_for("v", "lab.done") == []
    assert store.early() == []
    store.put_event(an_event("e0", source="nobody's"))
    assert store.early() == []
    store.put_event(an_event())
    assert store.early() == [(1, "lab.done"), (2, "lab.done")]
    store.commit(a_batch(unwait=[("u", "lab.done", 1, 1), ("t", "lab.done", 2, 1)]))
    assert store.waiting_for("t", "lab.done") == [1], "a wait was ended in another tenant's name"


def test_open_runs_by_the_beginning_of_their_key(kit: Kit) -> None:
    store = kit.open()
    a_net(store)
    runs = [("schedule:wf:1:5:0", 2), ("schedule:wf:1:6:0", 6), ("schedule:wf_b:1:5:0", 2), (None, 2)]
    store.commit(a_batch(new=[a_run(i, key=key, status=s) for i, (key, s) in enumerate(runs, 1)]))
    assert [no for no, _ in store.open_keyed("default", "schedule:wf:")] == [1]
    assert store.open_keyed("else", "schedule:wf:") == []


# ---- what is registered ----------------------------------------------------------------------------------------------


def test_artifacts_and_messages(kit: Kit) -> None:
    store = kit.open()
    row = ArtifactRow("t", "config", "tenant", "", "approved", b"\x80", 1)
    store.put_artifacts([row, replace(row, type="user", id="kim"), replace(row, tenant="u")])
    store.put_artifacts([replace(row, body=b"\x81")])
    assert [(a.type, a.body) for a in store.artifacts("t")] == [("config", b"\x81"), ("user", b"\x80")]
    assert [a.id for a in store.artifacts("t", "user")] == ["kim"]
    assert store.drop_artifact("t", "user", "kim") and not store.drop_artifact("t", "user", "kim")
    for _ in range(2):
        store.put_message(MessageRow("k", "t", "r1", "slack", "outbox:x", b"\xa1a", 1))
    store.put_message(MessageRow("k", "t", "r2", "sms", "outbox:y", b"\xa1b", 2))
    assert [(m.run, m.channel) for m in store.messages("t")] == [("r1", "slack"), ("r2", "sms")]
    assert [m.channel for m in store.messages("t", "r2")] == ["sms"]
    assert store.judgments("t") == []


# ---- releases --------------------------------------------------------------------------------------------------------


def test_a_version_is_kept_once(kit: Kit) -> None:
    """W-9.3.1: UNIQUE(workflow_id, version, tenant_id)."""
    store = kit.open()
    assert store.put_release(a_release())
    assert not store.put_release(a_release(hash="other"))
    assert store.put_release(a_release(tenant="u")) and store.put_release(a_release(2, listens="lab.done"))
    assert [r.version for r in store.releases("t")] == [1, 2]
    found = store.release("t", "wf", 1)
    assert found == a_release() and store.release("t", "wf", 3) is None
    assert store.releases("t", status="active") == []
    assert [r.version for r in store.releases("t", "wf", status="pending_approval", listens="lab.done")] == [2]


def test_at_most_one_version_is_active(kit: Kit) -> None:
    """W-9.3.2: activating takes the place of the former in one commit; nothing of it happens when either was moved
    meanwhile by somebody else."""
    store = kit.open()
    for n in (1, 2, 3):
        store.put_release(a_release(n, "approved"))
    one, two, three = store.releases("t")
    assert store.move_releases([(replace(one, status="active"), "approved")], [a_schedule()])
    assert not store.move_releases([(replace(two, status="active"), "approved")]), "there is one already"
    swap = [(replace(one, status="deprecated", deprecated_at=7), "active"), (replace(two, status="active"), "approved")]
    assert store.move_releases(swap, [a_schedule(version=2)])
    assert not store.move_releases([(replace(one, status="x"), "active"), (replace(three, status="x"), "approved")])
    assert [(r.status, r.deprecated_at) for r in store.releases("t")] == [
        ("deprecated", 7), ("active", None), ("approved", None),
    ]  # fmt: skip
    assert [s.version for s in store.schedules("t")] == [2]
    assert store.move_releases([(replace(two, status="deprecated"), "active")], unscheduled=[("t", "wf")])
    assert store.schedules("t") == []


def test_a_new_version_comes_with_what_it_moves(kit: Kit) -> None:
    """P-X.6, W-9.3.2: the version, what it takes the place of, its schedule and its event are one commit: where a part
    is refused nothing of it is there, and no other version in force is."""
    store = kit.open()
    for n, status in ((1, "active"), (2, "pending_approval")):
        assert store.put_release(a_release(n, status))
    one, two = store.releases("t")
    over = (replace(one, status="deprecated", deprecated_at=7), "active")
    rest = (replace(two, status="draft", feedback="superseded"), "pending_approval")
    told = [(0, 3, "IMPORTED", b"x", 0, 0)]

    def save(*moves: Any, new: list[ReleaseRow], name: str = "wf") -> bool:
        return store.move_releases(moves, [a_schedule(name, version=3)], [("t", name)], new, told)

    three = a_release(3, "active")
    assert not save(rest, new=[three]), "there would be two in force"
    assert not save(over, (two, "draft"), new=[three]), "somebody has moved one"
    assert not save(over, rest, new=[three, replace(two, status="draft")]), "this version is there already"
    assert not save(over, rest, new=[three, three]), "and so is this one"
    assert store.releases("t") == [one, two] and store.schedules("t") == [] and not store.outbox_left()
    assert save(over, rest, new=[three])
    found = [(r.version, r.status, r.deprecated_at, r.feedback) for r in store.releases("t")]
    assert found == [(1, "deprecated", 7, None), (2, "draft", None, "superseded"), (3, "active", None, None)]
    assert store.release("t", "wf", 3) == three and [s.version for s in store.schedules("t")] == [3]
    assert [row[3] for row in store.outbox(10, 10)] == ["IMPORTED"]
    assert not save(new=[three], name="other") and [s.name for s in store.schedules("t")] == ["wf"]


def test_workflow_versions_can_be_read_under_its_own_name(kit: Kit) -> None:
    """W-9.3.1: the columns of the seed's table."""
    if not isinstance(kit, SqliteKit):
        pytest.skip("only a database has views")
    kit.open().put_release(a_release(document='{"id":"가"}'.encode(), change_summary="first"))
    with sqlite3.connect(kit.path) as c:
        c.row_factory = sqlite3.Row
        (row,) = c.execute("SELECT * FROM workflow_versions WHERE status='pending_approval'").fetchall()
    assert dict(row) == {
        "id": "id1", "workflow_id": "wf", "version": 1, "tenant_id": "t", "dsl": '{"id":"가"}', "dsl_hash": "h",
        "status": "pending_approval", "created_by": "kim", "created_at": "1970-01-01T00:00:01.000Z",
        "approved_by": None, "approved_at": None, "deprecated_at": None, "change_summary": "first",
    }  # fmt: skip


# ---- schedules -------------------------------------------------------------------------------------------------------


def test_schedules_that_are_due(kit: Kit) -> None:
    store = kit.open()
    rows = [
        a_schedule("late", next_at=900), a_schedule("later", next_at=1000), a_schedule("soon", next_at=1001),
        a_schedule("paused", next_at=1, paused=1), a_schedule("never", next_at=None),
    ]  # fmt: skip
    assert store.move_releases([], rows)
    assert [s.name for s in store.schedules_due(1000)] == ["late", "later"]
    assert [store.next_schedule(at) for at in (0, 900, 1000, 1001)] == [900, 1000, 1001, None]


def test_a_schedule_moves_on_only_from_where_it_was_seen(kit: Kit) -> None:
    """C-31: two schedulers; the second one changes nothing."""
    store = kit.open()
    store.move_releases([], [a_schedule()])
    (seen,) = store.schedules("t")
    assert store.schedule_fired(seen, 5000, 5000 + HOUR)
    assert not store.schedule_fired(seen, 5000, 9)
    assert not store.schedule_fired(replace(seen, version=2, next_at=5000 + HOUR), 5000, 9)
    (now,) = store.schedules("t")
    assert (now.last_at, now.next_at) == (5000, 5000 + HOUR)
    assert store.schedule_fired(now, None, None), "nothing was fired, and nothing will be"
    assert (store.schedules("t")[0].last_at, store.schedules("t")[0].next_at) == (5000, None)


def test_a_schedule_is_paused_and_goes_on(kit: Kit) -> None:
    store = kit.open()
    store.move_releases([], [a_schedule()])
    assert store.pause_schedule("t", "wf", True, None) and store.schedules_due(9000) == []
    assert store.schedules("t")[0].next_at == 5000
    assert store.pause_schedule("t", "wf", False, 8000)
    assert store.schedules("t") == [a_schedule(next_at=8000)]
    assert not store.pause_schedule("t", "other", True, None)
