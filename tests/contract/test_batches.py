"""Every store: batches of runs are kept, moved only while they run, and forgotten when they are old."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from penstock.store.batches import KEPT_MS, BatchRow
from tests.contract.store_suite import Kit


def a_row(id: str, **more: Any) -> BatchRow:
    given = {
        "tenant": "t", "id": id, "verb": "retry", "by": "kim", "state": "running", "asked": b"\x80", "place": None,
        "slice": b"\x90", "total": None, "looked": 0, "done": 0, "refused": 0, "refusals": b"\x90", "started_at": 10,
    }  # fmt: skip
    return BatchRow(**{**given, **more})


def test_a_batch_is_moved_only_while_it_runs(kit: Kit) -> None:
    """C-66: how far it is outlives the process; who cancels it keeps it from going on, and what was done counts."""
    store = kit.open()
    row = a_row("a", total=40)
    assert store.add_batch(row, 2) and store.batch("t", "a") == row and store.batch("u", "a") is None
    moved = replace(row, place="0.7", slice=b"\x91\x01", looked=20, done=19, refused=1, refusals=b"\x91\x02")
    assert store.move_batch(moved) and store.batch("t", "a") == moved
    assert store.move_batch(replace(moved, state="cancelled", ended_at=30))
    assert not store.move_batch(replace(moved, looked=40)) and not store.move_batch(a_row("nobody"))
    store.count_batch(replace(moved, looked=25, done=24))
    kept = store.batch("t", "a")
    assert kept == replace(moved, state="cancelled", ended_at=30, looked=25, done=24)


def test_batches_are_listed_and_so_many_run_at_a_time(kit: Kit) -> None:
    store = kit.open()
    for number in range(5):
        assert store.add_batch(a_row(f"b{number}", started_at=number // 2, tenant="u" if number == 4 else "t"), 4)
    assert not store.add_batch(a_row("c"), 4) and store.batch("t", "c") is None
    assert store.add_batch(a_row("c", tenant="u"), 4)
    assert [row.id for row in store.batches("t")] == ["b3", "b2", "b1", "b0"]
    assert [row.id for row in store.batches("t", before=(1, "b2"), limit=1)] == ["b1"]
    store.move_batch(a_row("b0", state="done", ended_at=1))
    assert [row.id for row in store.open_batches()] == ["b1", "b2", "b3", "b4", "c"]
    store.tidy(1 + KEPT_MS)
    assert store.batch("t", "b0") is not None
    store.tidy(2 + KEPT_MS)
    assert store.batch("t", "b0") is None and store.batch("t", "b1") is not None


def test_f_8_4_one_that_is_paused_keeps_its_place_and_goes_on(kit: Kit) -> None:
    """What was done until whoever does it has noticed counts, and where it goes on is written with it."""
    store = kit.open()
    row = a_row("a", place="0", slice=b"\x91\x01", total=40)
    assert store.add_batch(row, 2)
    assert store.turn_batch("t", "a", "paused", None, ("running",)) and store.open_batches() == []
    assert not store.turn_batch("t", "a", "paused", None, ("running",))
    moved = replace(
        row, place="0.7", slice=b"\x90", looked=20, done=20, through=18, back=1, watched=b"\x92\x91\x07\x90"
    )
    assert not store.move_batch(moved)
    store.count_batch(moved)
    assert store.batch("t", "a") == replace(moved, state="paused")
    assert store.turn_batch("t", "a", "running", None, ("paused",)) and store.open_batches() == [moved]
    stopped = replace(moved, state="paused", code="STOPPED_ITSELF", message="6 of 100")
    assert store.move_batch(stopped) and store.batch("t", "a") == stopped
    assert store.turn_batch("t", "a", "cancelled", 30, ("running", "paused"))
    assert store.batch("t", "a") == replace(moved, state="cancelled", ended_at=30)
    assert not store.turn_batch("u", "a", "running", None, ("cancelled",))
    assert store.run_statuses([]) == {} == store.run_statuses([1, 2])
