"""Every store: drafts of documents are changed only from the number that was seen, and released with their versions."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from penstock.store.document_drafts import DocumentDraftRow
from penstock.store.releases import ReleaseRow
from penstock.store.tables import DOCUMENT_DRAFT
from tests.contract.store_suite import Kit


def a_draft(id: str = "d1", **more: Any) -> DocumentDraftRow:
    given: dict[str, Any] = {
        "tenant": "t", "id": id, "language": "drawn", "subject": "order", "name": "Order", "file": "order.xml",
        "status": "open", "number": 1, "digest": "abc", "summary": b"\x80", "created_by": "kim", "created_at": 10,
        "updated_by": "kim", "updated_at": 10, "body": b"\x81\xa1a\x01", "source": "<주문/>".encode(),
    }  # fmt: skip
    return DocumentDraftRow(**{**given, **more})


def a_version(name: str, version: int = 1, status: str = "active") -> ReleaseRow:
    return ReleaseRow("t", name, version, f"{name}-{version}", status, "h", 1, b"{}", None, None, 5)


def test_the_row_has_the_columns_of_its_table() -> None:
    assert DocumentDraftRow.__struct_fields__ == DOCUMENT_DRAFT.names


def test_a_document_draft_is_changed_only_from_the_number_that_was_seen(kit: Kit) -> None:
    """P-X.25: two who answer at once do not overwrite each other; who has brought it stays."""
    store = kit.open()
    one = a_draft()
    assert store.put_document_draft(one, None) and not store.put_document_draft(replace(one, name="Else"), None)
    two = replace(one, number=2, status="finished", body=b"\x80", updated_at=20, updated_by="lee")
    assert store.put_document_draft(two, 1) and not store.put_document_draft(replace(two, body=b"x"), 1)
    assert store.document_draft("t", "d1") == two
    assert store.document_draft("u", "d1") is None and store.document_draft("t", "d2") is None
    assert not store.put_document_draft(a_draft("d2"), 1), "there is none that could be changed"
    assert not store.drop_document_draft("t", "d1", 1) and not store.drop_document_draft("u", "d1")
    assert store.drop_document_draft("t", "d1", 2) and store.document_draft("t", "d1") is None
    assert not store.drop_document_draft("t", "d1")


def test_of_one_subject_one_draft_is_not_released(kit: Kit) -> None:
    """P-X.25: the same file again is the same draft; what was released stays beside the next one."""
    store = kit.open()
    assert store.put_document_draft(a_draft(), None) and not store.put_document_draft(a_draft("d2"), None)
    assert store.put_document_draft(a_draft("d3", subject="other"), None)
    assert not store.put_document_draft(a_draft("d3", number=2), 1), "it would be the second of «order»"
    assert store.put_document_draft(a_draft(status="released", number=2, updated_at=30), 1)
    assert store.put_document_draft(a_draft("d2", updated_at=20), None)
    own = store.document_draft_of("t", "drawn", "order")
    assert own is not None and own.id == "d2", "the released one was touched later"
    assert store.document_draft_of("t", "drawn", "none") is None
    assert store.document_draft_of("t", "told", "order") is store.document_draft_of("u", "drawn", "order") is None
    assert [row.id for row in store.document_drafts("t", "drawn")] == ["d1", "d2", "d3"]
    assert {(row.body, row.source) for row in store.document_drafts("t", "drawn")} == {(b"", b"")}
    assert store.document_drafts("u", "drawn") == store.document_drafts("t", "told") == []
    assert store.put_document_draft(a_draft("d2", status="released", number=2, updated_at=40), 1)
    last = store.document_draft_of("t", "drawn", "order")
    assert last is not None and last.id == "d2", "of the released ones the last"


def test_a_draft_is_released_in_the_commit_of_its_versions(kit: Kit) -> None:
    """P-X.5, P-X.8: all versions and the draft, or nothing."""
    store = kit.open()
    store.put_document_draft(a_draft(), None)
    done = a_draft(status="released", number=2)
    assert not store.move_releases((), new=[a_version("a"), a_version("b")], drafts=[(done, 7)])
    assert store.releases("t") == [] and store.document_draft("t", "d1") == a_draft()
    store.put_release(a_version("b"))
    assert not store.move_releases((), new=[a_version("a"), a_version("b")], drafts=[(done, 1)])
    assert [row.name for row in store.releases("t")] == ["b"] and store.document_draft("t", "d1") == a_draft()
    assert store.move_releases((), new=[a_version("a"), a_version("c")], drafts=[(done, 1)])
    assert [row.name for row in store.releases("t")] == ["a", "b", "c"] and store.document_draft("t", "d1") == done


def test_drafts_that_nobody_has_touched_are_forgotten(kit: Kit) -> None:
    """P-X.25: of every tenant, released or not."""
    store = kit.open()
    for row in (a_draft(), a_draft("d2", tenant="u", status="released"), a_draft("d3", subject="x", updated_at=20)):
        assert store.put_document_draft(row, None)
    assert store.every_tenant() == ["t", "u"]
    assert store.forget_document_drafts(20) == 2 and store.forget_document_drafts(20) == 0
    assert [row.id for row in store.document_drafts("t", "drawn")] == ["d3"]
