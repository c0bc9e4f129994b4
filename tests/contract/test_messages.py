"""Every store: messages to people that are still to be delivered, and when the first of them may be."""

from __future__ import annotations

from tests.contract.store_suite import Kit, a_batch


def test_when_the_first_notice_may_be_delivered(kit: Kit) -> None:
    store = kit.open()
    assert store.first_notice_at() is None
    rows = [(1, 1, "notice", b"late", 0, 900), (1, 2, "notice", b"soon", 0, 300), (1, 3, "run.moved", b"x", 0, 1)]
    store.commit(a_batch(outbox=rows))
    assert store.first_notice_at() == 300
    ((no, body, tries),) = store.notices(300, 10)
    assert (body, tries) == (b"soon", 0) and store.notices(299, 10) == []
    store.outbox_moved([], [(no, 5_000)])
    assert store.first_notice_at() == 900
    store.outbox_moved([no, *(row[0] for row in store.notices(900, 10))], [])
    assert store.first_notice_at() is None
