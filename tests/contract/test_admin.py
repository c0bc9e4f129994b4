"""Every store: keys, the chain of the audit, answered requests, drafts and remarks."""

from __future__ import annotations

import threading
from typing import Any

from msgspec.structs import replace

from penstock.app.access.audit import AuditLog
from penstock.kernel.state import COMPLETED, WAITING
from penstock.store.access import REQUESTS_KEPT_MS, KeyRow, RequestRow
from penstock.store.audit_chain import FIRST, AuditRow, anchor_of, hash_of, pruned
from penstock.store.drafts import DraftRow, RemarkRow
from tests.contract.store_suite import Capability, Kit, a_batch, a_net, a_run, needs

MINUTE = 60_000


def a_key(id: str = "k1", **more: Any) -> KeyRow:
    row: dict[str, Any] = {
        "id": id, "tenant": "t", "name": "line 1", "user": "kim", "hash": "h", "roles": b"\x90", "scopes": None,
        "rate": None, "created_at": 1000, "created_by": "lee",
    }  # fmt: skip
    return KeyRow(**{**row, **more})


def an_entry(**more: Any) -> AuditRow:
    row: dict[str, Any] = {
        "tenant": "t", "no": 0, "at": 1000, "actor": "kim", "action": "key.create", "target": "key:k1", "body": b"{}",
    }  # fmt: skip
    return AuditRow(**{**row, **more})


def a_request(**more: Any) -> RequestRow:
    row: dict[str, Any] = {"tenant": "t", "key": "r", "fingerprint": "f", "holder": "me", "at": 1000}
    return RequestRow(**{**row, **more})


# ---- keys ------------------------------------------------------------------------------------------------------------


def test_a_key_is_kept_once_and_found_by_its_id(kit: Kit) -> None:
    store = kit.open()
    assert not store.has_keys() and store.key("k1") is None
    full = a_key(scopes=b"\x91\xa8run.read", rate=60, expires_at=9000)
    assert store.add_key(full) and not store.add_key(a_key(tenant="u"))
    assert store.add_key(a_key("k0", created_at=2000)) and store.add_key(a_key("k2", tenant="u"))
    assert store.has_keys() and store.key("k1") == full
    assert [one.id for one in store.keys("t")] == ["k1", "k0"]


def test_a_key_is_revoked_once_and_by_its_own_tenant(kit: Kit) -> None:
    store = kit.open()
    store.add_key(a_key())
    assert not store.revoke_key("u", "k1", 5) and not store.revoke_key("t", "k9", 5)
    assert store.revoke_key("t", "k1", 5) and not store.revoke_key("t", "k1", 6)
    assert store.key("k1") == a_key(revoked_at=5)


def test_a_session_that_was_ended_is_remembered_until_it_would_have_ended(kit: Kit) -> None:
    store = kit.open()
    store.end_session("a", 1_000)
    store.end_session("a", 9_000)  # ended twice: nothing changes
    store.end_session("b", 2_000)
    assert store.ended_sessions(500) == {"a": 1_000, "b": 2_000} and store.ended_sessions(1_000) == {"b": 2_000}
    store.tidy(1_000)
    assert store.ended_sessions(0) == {"b": 2_000}


def test_the_use_of_a_key_is_noted_once_in_a_while(kit: Kit) -> None:
    store = kit.open()
    store.add_key(a_key())
    for at in (MINUTE, MINUTE + 1, 2 * MINUTE):
        store.key_used("k1", at, at - MINUTE + 1)
    found = store.key("k1")
    assert found is not None and found.last_used_at == 2 * MINUTE
    store.key_used("k1", 2 * MINUTE + 9, MINUTE + 9)
    assert store.key("k1") == found


# ---- audit -----------------------------------------------------------------------------------------------------------


def test_z23_the_audit_is_a_chain_per_tenant(kit: Kit) -> None:
    """Z23: each row has the hash of the one before; another tenant's rows are another chain."""
    store = kit.open()
    (one,) = store.append_audit([an_entry()])
    two, other = store.append_audit([an_entry(tenant="u"), an_entry(at=2000, body=b'{"a":1}')])
    assert (one.no, one.prev, two.no, two.prev) == (1, FIRST, 2, one.hash)
    assert (other.no, other.prev) == (1, FIRST) and other.hash != one.hash
    assert two.hash == hash_of(one.hash, two, store.audit_keys.current(dict)) != one.hash
    assert store.audit_chain("t") == [one, two] and store.audit_chain("t", after=1) == [two]
    assert (store.audit_last("t"), store.audit_last("x"), store.append_audit([])) == (2, 0, [])
    assert store.audit_tenants() == ["t", "u"]


def test_the_audit_is_looked_through_from_its_end(kit: Kit) -> None:
    store = kit.open()
    for i in range(1, 7):
        store.append_audit([an_entry(actor="kim" if i % 2 else "lee", action=f"a{i % 3}", target=f"x:{i % 3}")])
    assert [row.no for row in store.audit("t", limit=2)] == [6, 5]
    assert [row.no for row in store.audit("t", before=5, limit=2)] == [4, 3]
    assert [row.no for row in store.audit("t", actor="kim")] == [5, 3, 1]
    assert [row.no for row in store.audit("t", actor="kim", action="a1", target="x:1")] == [1]
    assert store.audit("u") == []


@needs(Capability.READERS)
def test_z23_appends_from_many_at_once_are_one_chain(kit: Kit) -> None:
    """Z23: concurrent appends come one after the other, without a hole and without a fork."""
    stores = [kit.open(), *(kit.open(engine=False) for _ in range(3))]
    wrong: list[BaseException] = []

    def append(store: Any) -> None:
        try:
            for i in range(25):
                store.append_audit([an_entry(at=i), an_entry(tenant="u"), an_entry(at=i, actor="lee")])
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=append, args=(store,)) for store in stores]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert wrong == []
    key = stores[0].audit_keys.current(dict)
    for tenant, count in (("t", 200), ("u", 100)):
        rows, prev = stores[0].audit_chain(tenant), FIRST
        assert [row.no for row in rows] == list(range(1, count + 1))
        for row in rows:
            assert row.prev == prev and row.hash == hash_of(prev, row, key)
            prev = row.hash


# ---- requests --------------------------------------------------------------------------------------------------------


def test_a_request_is_put_once_and_answered_by_its_holder(kit: Kit) -> None:
    store = kit.open()
    assert store.put_request(a_request()) is None
    assert store.put_request(a_request(tenant="u")) is None
    assert store.put_request(a_request(fingerprint="other", holder="you")) == a_request()
    assert not store.answer_request(a_request(holder="you", status=200))
    done = a_request(status=201, headers=b"\x80", body=b"{}")
    assert store.answer_request(done) and not store.answer_request(replace(done, status=500))
    assert store.put_request(a_request()) == done


def test_a_request_is_taken_only_from_where_it_was_seen(kit: Kit) -> None:
    store = kit.open()
    store.put_request(a_request())
    mine, yours = a_request(holder="two", at=2000, fingerprint="g"), a_request(holder="three", at=2001)
    assert store.take_request(mine, a_request())
    assert not store.take_request(yours, a_request()), "somebody was faster"
    assert store.put_request(yours) == mine
    done = replace(mine, status=200, headers=b"\x80", body=b"x")
    assert store.answer_request(done) and not store.answer_request(a_request(status=200))
    assert not store.take_request(yours, mine) and store.take_request(yours, done)
    found = store.put_request(mine)
    assert found == a_request(holder="three", at=2001)


def test_a_request_that_came_to_nothing_may_come_again(kit: Kit) -> None:
    store = kit.open()
    store.put_request(a_request())
    assert not store.drop_request("t", "r", "you") and store.drop_request("t", "r", "me")
    assert store.put_request(a_request(holder="you")) is None
    store.answer_request(a_request(holder="you", status=200))
    assert not store.drop_request("t", "r", "you"), "what was answered stays"


def test_requests_are_forgotten_after_a_day(kit: Kit) -> None:
    store = kit.open()
    store.put_request(a_request(at=1000))
    store.put_request(a_request(key="s", at=1001))
    store.tidy(1000 + REQUESTS_KEPT_MS)
    assert [row[1] for row in kit.rows("request")] == ["s"]


# ---- drafts ----------------------------------------------------------------------------------------------------------


def test_a_draft_is_changed_only_from_the_number_that_was_seen(kit: Kit) -> None:
    store = kit.open()
    one = DraftRow("t", "kim", "item:r/1", 1, b"\xa1a", 1000)
    assert store.put_draft(one, None) and not store.put_draft(replace(one, body=b"\xa1b"), None)
    two = replace(one, number=2, body=b"\xa1b", at=2000)
    assert store.put_draft(two, 1) and not store.put_draft(replace(two, body=b"\xa1c"), 1)
    assert store.draft("t", "kim", "item:r/1") == two and store.draft("t", "lee", "item:r/1") is None
    store.put_draft(replace(one, key="a"), None)
    store.put_draft(replace(one, user="lee"), None)
    assert [row.key for row in store.drafts("t", "kim")] == ["a", "item:r/1"] and store.drafts("u", "kim") == []
    assert store.drop_draft("t", "kim", "a") and not store.drop_draft("t", "kim", "a")
    assert not store.put_draft(replace(one, key="a", number=2), 1), "it is gone"


# ---- remarks ---------------------------------------------------------------------------------------------------------


def test_remarks_are_numbered_and_a_number_is_taken_once(kit: Kit) -> None:
    store = kit.open()
    one = RemarkRow("t", "r1/4", 1, "kim", 1000, "claim", b"\x80")
    assert store.add_remark(one) and not store.add_remark(replace(one, by="lee"))
    two = replace(one, no=2, kind="comment", body=b"\x81")
    others = [replace(one, item="r0/1"), replace(one, tenant="u", item="r1/4")]
    assert all(store.add_remark(row) for row in (two, *others))
    assert store.remarks("t", ["r1/4", "r0/1", "none"]) == [others[0], one, two]
    assert store.remarks("t", []) == []
    assert len(store.remarks("t", [f"r{i}/4" for i in range(1200)])) == 2


# ---- what is forgotten -----------------------------------------------------------------------------------------------


def test_z23_old_rows_of_the_audit_are_pruned_and_the_chain_is_verified_still(kit: Kit) -> None:
    """Z23: the chain begins later, its last row has the hash of what was taken, and appends go on from there; whoever
    takes a row besides, or forges the anchor, is found out."""
    store = kit.open()
    audit = AuditLog(store)
    store.append_audit([*(an_entry(at=at) for at in (10, 20, 30, 25, 40)), an_entry(tenant="u", at=10)])
    assert store.prune_audit("t", 10, 90) is None and store.prune_audit("nobody", 99, 90) is None
    whole = store.audit_chain("t")
    said = store.prune_audit("t", 30, 90)
    assert said is not None and (said.no, said.at, said.action) == (6, 90, "audit.prune")
    assert anchor_of(said) == (2, whole[1].hash), "30 is young enough, and 25 comes after it"
    assert store.audit_chain("t") == [*whole[2:], said] and len(store.audit_chain("u")) == 1
    assert audit.verify("t") == [] == audit.verify("u")
    (more,) = store.append_audit([an_entry(at=91)])
    assert (more.no, more.prev) == (7, said.hash) and audit.verify("t") == []
    again = store.prune_audit("t", 1000, 95)
    assert again is not None and store.audit_chain("t") == [again] and audit.verify("t") == []
    (last,) = store.append_audit([an_entry(at=96)])
    assert (last.no, last.prev) == (9, again.hash) and audit.verify("t") == []
    assert store.audit_last("t") == 9


def test_z23_what_is_missing_and_was_not_pruned_is_a_break(kit: Kit) -> None:
    """Z23: an anchor that does not fit the first row is not believed."""
    store = kit.open()
    store.append_audit([an_entry(at=at) for at in (10, 20, 30, 40)])
    forged = pruned("t", 50, (1, 3, "0" * 64))
    store.prune_audit("t", 15, 50)
    store.append_audit([forged])
    found = AuditLog(store).verify("t")
    assert found and found[0].no == 1, "the newest anchor speaks of other rows"


def test_drafts_and_remarks_are_forgotten_when_they_are_old(kit: Kit) -> None:
    """Z23: drafts that nobody has touched; remarks, but not about a run that has not ended."""
    store = kit.open()
    a_net(store)
    store.commit(a_batch(new=[a_run(1, status=WAITING, id="open"), a_run(2, status=COMPLETED, id="over")]))
    for key, at in (("old", 10), ("new", 20)):
        assert store.put_draft(DraftRow("t", "kim", key, 1, b"x", at), None)
    for item, at in (("open/a", 10), ("over/a", 10), ("over/b", 20), ("gone/a", 10)):
        assert store.add_remark(RemarkRow("t", item, 1, "kim", at, "comment", b"x"))
    assert store.forget_drafts(20) == 1 and [one.key for one in store.drafts("t", "kim")] == ["new"]
    assert store.forget_remarks(20) == 2
    left = store.remarks("t", ["open/a", "over/a", "over/b", "gone/a"])
    assert [one.item for one in left] == ["open/a", "over/b"]
    assert store.forget_drafts(20) == 0 == store.forget_remarks(20)
