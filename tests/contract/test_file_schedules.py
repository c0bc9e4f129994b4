"""Every store: schedules over files are due in order and fired once; what follows a commit lies in the outbox."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from penstock.store.file_schedules import FileScheduleRow
from penstock.store.run_store import Batch
from tests.contract.store_suite import Kit


def a_schedule(name: str, next_at: int | None = 100, **more: Any) -> FileScheduleRow:
    given: dict[str, Any] = {
        "tenant": "t", "organization_id": 7, "code": "IMG", "type": "INTERVAL", "cron": None, "interval_s": 60,
        "filter": '{"last":"PT1H"}', "params": "{}", "zone": "UTC", "active": 1, "last_at": None, "created_at": 5,
        "updated_at": 5,
    }  # fmt: skip
    return FileScheduleRow(name=name, next_at=next_at, **{**given, **more})


def test_f_1_5_12_that_schedules_are_due_in_their_order_and_fired_once(kit: Kit) -> None:
    """F-1.5.4, F-1.5.14"""
    store = kit.open()
    late, soon = store.add_file_schedule(a_schedule("late", 200)), store.add_file_schedule(a_schedule("soon"))
    never, other = a_schedule("never", None), a_schedule("other", 50, tenant="u", organization_id=None)
    never, other = store.add_file_schedule(never), store.add_file_schedule(other)
    assert replace(soon, id=0) == a_schedule("soon") and soon.id != late.id
    assert store.file_schedule("t", soon.id) == soon and store.file_schedule("u", soon.id) is None
    assert store.file_schedules("t") == [late, soon, never]
    assert store.next_file_schedule() == 50
    assert store.file_schedules_due(100) == [other, soon] and store.file_schedules_due(99, 1) == [other]
    assert store.file_schedule_fired(soon, 100, 160, 101)
    assert not store.file_schedule_fired(soon, 100, 160, 101), "another process was first"
    again = store.file_schedule("t", soon.id)
    assert again is not None and (again.last_at, again.next_at, again.updated_at) == (100, 160, 101)
    assert store.file_schedule_fired(again, None, 220, 170)
    kept = store.file_schedule("t", soon.id)
    assert kept is not None and (kept.last_at, kept.next_at) == (100, 220), "skipped: the last one stays"


def test_f_x_2_one_that_is_taken_away_is_kept_and_never_due(kit: Kit) -> None:
    store = kit.open()
    row = store.add_file_schedule(a_schedule("x"))
    assert not store.end_file_schedule("u", row.id, 9)
    assert store.end_file_schedule("t", row.id, 9) and not store.end_file_schedule("t", row.id, 10)
    assert (store.file_schedules("t"), store.file_schedules_due(500), store.next_file_schedule()) == ([], [], None)
    assert store.file_schedules("t", inactive=True) == [replace(row, active=0, updated_at=9)]
    assert not store.file_schedule_fired(row, 1, 2, 3)


def test_f_x_13_follow_ups_lie_in_the_outbox_and_no_sink_sees_them(kit: Kit) -> None:
    store = kit.open()
    batch = Batch()
    batch.outbox += [(1, 2, "follow-up", b"a", 0, 0), (1, 3, "run.moved", b"b", 0, 0), (2, 1, "follow-up", b"c", 0, 50)]
    store.commit(batch)
    assert [row[3:5] for row in store.outbox(10, 10)] == [("run.moved", b"b")]
    ((first, body, tries),) = store.follow_ups(10, 10)
    assert (body, tries, store.follow_ups_left()) == (b"a", 0, True)
    store.outbox_moved([], [(first, 60)])
    assert [row[1:] for row in store.follow_ups(60, 10)] == [(b"c", 0), (b"a", 1)], "the longest due first"
    assert [row[4] for row in store.outbox(20, 10)] == [b"b"], "one that waits holds up nobody's events"
    store.outbox_moved([row[0] for row in store.follow_ups(60, 10)], [])
    assert not store.follow_ups_left() and store.outbox_left()
