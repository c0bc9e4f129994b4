"""Every store: event logs are kept whole, listed without their bodies, and are their tenant's."""

from __future__ import annotations

from typing import Any

from penstock.store.event_log_tables import EVENT_LOG
from penstock.store.event_logs import EventLogRow
from tests.contract.store_suite import Kit


def a_log(id: str = "a", **more: Any) -> EventLogRow:
    given: dict[str, Any] = {
        "tenant": "t", "id": id, "name": "claims.xes", "process": None, "sha256": id * 4, "size": 9, "cases": 2,
        "events": 5, "begin_at": 1, "end_at": 8, "reading": None, "added_by": "kim", "added_at": 10,
        "body": b"\x1f\x8b\x00",
    }  # fmt: skip
    return EventLogRow(**{**given, **more})


def test_the_row_has_the_columns_of_its_table() -> None:
    assert EventLogRow.__struct_fields__ == EVENT_LOG.names


def test_a_log_is_kept_whole_and_listed_without_its_body(kit: Kit) -> None:
    """P-7.5.2, P-7.5.5: newest first, of this tenant alone; the same id again takes the place of the first."""
    store = kit.open()
    assert store.put_event_log(a_log(), 9) and store.put_event_log(a_log("b", process="claims", added_at=20), 9)
    assert store.put_event_log(a_log(tenant="u", body=b"other"), 9)
    assert store.event_log("t", "a") == a_log() and store.event_log("u", "b") is None
    assert store.event_logs("t") == [a_log("b", process="claims", added_at=20, body=b""), a_log(body=b"")]
    assert [row.id for row in store.event_logs("t", process="claims")] == ["b"]
    assert store.put_event_log(a_log(process="claims", begin_at=None, end_at=None, reading="{}", added_by=None), 9)
    assert [row.id for row in store.event_logs("t", process="claims")] == ["b", "a"]
    assert store.count_event_logs("t") == 2 and store.every_tenant() == ["t", "u"]
    assert store.drop_event_log("t", "a") and not store.drop_event_log("t", "a")
    assert store.event_log("t", "a") is None and store.event_log("u", "a") is not None


def test_no_more_logs_than_allowed_are_kept(kit: Kit) -> None:
    """One that is there already may be brought again."""
    store = kit.open()
    assert store.put_event_log(a_log(), 1) and not store.put_event_log(a_log("b"), 1)
    assert store.put_event_log(a_log(name="again"), 1) and store.put_event_log(a_log("b", tenant="u"), 1)
    assert [row.name for row in store.event_logs("t")] == ["again"]
