"""Every store: schedules over files are kept, due in their order, fired once, and taken away without being deleted."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from penstock.store.file_schedules import FileScheduleRow
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
