"""Every store: what was written is found again, by number, id, key, time and name."""

from __future__ import annotations

import pytest

from penstock.errors import RunAmbiguous, RunNotFound, StoreError
from penstock.kernel.state import COMPLETED, FAILED, PENDING, RUNNING, WAITING
from penstock.store.run_store import NetRow, PendingRun, checksum
from tests.contract.store_suite import Capability, Kit, a_batch, a_net, a_run, a_turn, needs, started


def test_load_gives_the_checkpoint_and_the_turns_after_it(kit: Kit) -> None:
    """D-X.28: the checkpoint stands for the turns before it; many runs are loaded at once."""
    store = kit.open()
    a_net(store)
    store.commit(started(1, turns=5))
    store.commit(started(2, turns=2))
    store.commit(a_batch(moved=[(WAITING, 2000, 9000, 3, bytearray(b"folded"), 1, 1)]))
    store.commit(a_batch(journal=[a_turn(1, 6, 8)]))
    found = {row.no: (row, [(j.seq_from, j.seq_to) for j in tail]) for row, tail in store.load([2, 1, 99])}
    row, tail = found[1]
    assert (row.status, row.updated_at, row.wake_at, row.checkpoint_seq, row.checkpoint) == (
        WAITING, 2000, 9000, 3, b"folded",
    )  # fmt: skip
    assert tail == [(4, 4), (5, 5), (6, 8)]
    assert found[2][0].checkpoint is None and found[2][1] == [(1, 1), (2, 2)]
    assert sorted(found) == [1, 2]
    assert store.load([]) == []


def test_many_runs_are_loaded_at_once(kit: Kit) -> None:
    store = kit.open()
    a_net(store)
    numbers = range(1, 1202)
    store.commit(a_batch(new=[a_run(no) for no in numbers], journal=[a_turn(no, 1) for no in numbers]))
    found = store.load(numbers)
    assert [row.no for row, _ in found] == list(numbers)
    assert all(len(tail) == 1 for _, tail in found)


def test_a_run_that_has_ended_keeps_its_checkpoint_and_wakes_nobody(kit: Kit) -> None:
    store = kit.open()
    a_net(store)
    store.commit(started(1, wake_at=5000, checkpoint_seq=1, checkpoint=b"kept"))
    store.commit(a_batch(journal=[a_turn(1, 2)], ended=[(COMPLETED, 3000, 1, 1)]))
    ((row, tail),) = store.load([1])
    assert (row.status, row.wake_at, row.checkpoint, [j.seq_from for j in tail]) == (COMPLETED, None, b"kept", [2])
    assert store.unfinished() == []


def test_a_row_of_the_journal_has_a_checksum_that_any_changed_bit_changes(kit: Kit) -> None:
    """H1: what was written is known again, column by column."""
    store = kit.open()
    a_net(store)
    store.commit(started(1))
    (row,) = store.journal(1)
    assert row.checksum == checksum(1, row.seq_from, row.seq_to, row.at, row.body)
    columns = (1, row.seq_from, row.seq_to, row.at)
    changed = [
        (*columns[:n], columns[n] ^ 1 << bit, *columns[n + 1 :], row.body) for n in range(4) for bit in range(16)
    ]
    flips = [bytes([*row.body[:n], row.body[n] ^ 0x10, *row.body[n + 1 :]]) for n in range(len(row.body))]
    sums = [checksum(*one) for one in [*changed, *((*columns, body) for body in flips)]]
    assert row.checksum not in sums and len(flips) > 1


def test_the_journal_is_read_in_order_and_from_anywhere(kit: Kit) -> None:
    """K2: dense numbers, oldest first."""
    store = kit.open()
    a_net(store)
    store.commit(a_batch(new=[a_run(1)], journal=[a_turn(1, 1, 4, b"first")]))
    store.commit(a_batch(journal=[a_turn(1, 5, 5, b"second")]))
    store.commit(a_batch(journal=[a_turn(1, 6, 9, b"third")]))
    whole = [(j.seq_from, j.seq_to, j.at, j.body) for j in store.journal(1)]
    assert whole == [(1, 4, 1001, b"first"), (5, 5, 1005, b"second"), (6, 9, 1006, b"third")]
    assert [j.seq_from for j in store.journal(1, after=4)] == [5, 6]
    assert list(store.journal(2)) == []


def test_a_unique_beginning_of_an_id_is_enough(kit: Kit) -> None:
    store = kit.open()
    a_net(store)
    for no, id in enumerate(("rabc0", "rabc00", "rabd1", "c1234"), 1):
        store.commit(started(no, id=id))
    assert store.run_by_id("rabd").no == 3
    assert store.run_by_id("RABD").no == 3
    assert store.run_by_id("rabc0").no == 1  # an exact id is never ambiguous
    assert store.run_by_id("c").no == 4
    for prefix in ("r", "rab", "rabc"):
        with pytest.raises(RunAmbiguous):
            store.run_by_id(prefix)
    for unknown in ("x", "", "rabd12", "%", "' OR 1=1 --", "r_", "rabd\x00", "ß" * 40):
        with pytest.raises(RunNotFound):
            store.run_by_id(unknown)


def test_a_key_belongs_to_a_tenant_and_to_one_run(kit: Kit) -> None:
    store = kit.open()
    a_net(store)
    store.commit(started(1, key="order-1"))
    store.commit(started(2, key="order-1", tenant="other"))
    store.commit(started(3))
    store.commit(started(4))
    found = store.run_by_key("default", "order-1")
    assert found is not None and found.no == 1
    found = store.run_by_key("other", "order-1")
    assert found is not None and found.no == 2
    assert store.run_by_key("default", "order-2") is None
    with pytest.raises(StoreError):
        store.commit(started(5, key="order-1"))
    assert store.last_run() == 4


def test_who_can_go_on_who_is_due_and_who_wakes_next(kit: Kit) -> None:
    store = kit.open()
    a_net(store)
    assert store.next_wake() is None and store.last_run() == 0
    ways = [(WAITING, 5000), (WAITING, None), (PENDING, 3000), (COMPLETED, None), (FAILED, None), (RUNNING, 4000)]
    for no, (status, wake) in enumerate([(RUNNING, None), *ways], 1):
        store.commit(started(no, status=status, wake_at=wake))
    assert store.unfinished() == [1, 7]
    assert store.due(4000, 10) == [(4, 3000, "default"), (7, 4000, "default")]
    assert store.due(9999, 2) == [(4, 3000, "default"), (7, 4000, "default")]
    assert store.due(9999, 2, after=(3000, 4)) == [(7, 4000, "default"), (2, 5000, "default")]
    assert store.due(9999, 2, after=(4000, 7)) == [(2, 5000, "default")]
    assert store.count_open_runs("default", 100) == 5 and store.count_open_runs("default", 3) == 3
    assert store.count_open_runs("other", 100) == 0 == store.count_open_items("default", 100)
    assert store.next_wake() == 3000
    assert store.last_run() == 7
    assert [r.no for r in store.runs(limit=3)] == [7, 6, 5]
    assert [r.no for r in store.runs(status=[WAITING, PENDING])] == [4, 3, 2]


def test_f_4_1_who_waits_to_be_admitted_is_read_by_priority_and_then_by_age(kit: Kit) -> None:
    """F-4.1, F-S.2: those whose delay is not over, and those that are under way or have ended, are not among them."""
    store = kit.open()
    a_net(store)
    ways = [
        (PENDING, 200, 10, None), (PENDING, 100, 30, None), (PENDING, 100, 20, None), (PENDING, 50, 40, 9000),
        (RUNNING, 10, 5, None), (COMPLETED, 10, 5, None), (PENDING, 100, 20, None),
    ]  # fmt: skip
    for no, (status, priority, created_at, wake_at) in enumerate(ways, 1):
        store.commit(started(no, status=status, priority=priority, created_at=created_at, wake_at=wake_at))
    rows = store.pending_runs(None, 10)
    assert [row.no for row in rows] == [3, 7, 2, 1]
    assert [row.no for row in store.pending_runs(rows[0], 2)] == [7, 2]
    assert rows[0] == PendingRun(3, "default", 1, 100, 20)
    assert store.open_by_net((RUNNING, WAITING)) == [(1, "default", 1)]


def test_open_runs_are_found_by_the_beginning_of_their_id(kit: Kit) -> None:
    store = kit.open()
    a_net(store)
    for no, (id, status) in enumerate((("c1", RUNNING), ("c2", COMPLETED), ("c3", WAITING), ("r1", RUNNING)), 1):
        store.commit(started(no, id=id, status=status))
    assert sorted(store.open_below("c")) == [(1, "c1"), (3, "c3")]


def test_a_net_is_kept_once_by_its_hash(kit: Kit) -> None:
    """V1: a run is pinned to a content hash; releasing the same net again is the same number."""
    store = kit.open()
    first, second = a_net(store, "one"), a_net(store, "two")
    assert a_net(store, "one") == first != second
    row = store.net(first)
    assert row == NetRow(first, "hash of one", "one", "net", b"body of one", b"source", 1000)
    assert store.net_by_hash("hash of two") == store.net(second)
    assert store.net_by_hash("nothing") is None
    with pytest.raises(StoreError):
        store.net(99)
    kit.close()
    assert kit.open().net(first) == row


@needs(Capability.INBOX)
def test_the_inbox_keeps_commands_in_order_until_they_are_answered(kit: Kit) -> None:
    """H9: the answer is committed with the turn that took the command."""
    store, other = kit.open(), kit.open(engine=False)
    a_net(store)
    store.commit(started(1))
    numbers = [other.put_inbox(1, command, 5000) for command in (b"one", b"two", b"three")]
    assert store.inbox() == [(n, 1, c) for n, c in zip(numbers, (b"one", b"two", b"three"), strict=True)]
    assert store.inbox(limit=1) == [(numbers[0], 1, b"one")]
    store.commit(a_batch(journal=[a_turn(1, 2)], inbox_answered=[(b"yes", numbers[0])]))
    assert [row[0] for row in store.inbox()] == numbers[1:]
    assert other.inbox_answer(numbers[0]) == b"yes"
    assert other.inbox_answer(numbers[1]) is None
    assert other.inbox_answer(99) is None
    lost = a_batch(journal=[a_turn(1, 2)], inbox_answered=[(b"yes", numbers[1])])
    with pytest.raises(StoreError):
        store.commit(lost)
    assert [row[0] for row in store.inbox()] == numbers[1:]


def test_memos_last_as_long_as_they_should(kit: Kit) -> None:
    store = kit.open()
    store.commit(a_batch(memo=[("cache:a", b"A", 5000), ("dedupe:b", None, 5000)]))
    assert store.memo("cache:a", 4999) == (b"A",)
    assert store.memo("dedupe:b", 4999) == (None,)
    assert store.memo("cache:a", 5000) is None
    assert store.memo("cache:other", 0) is None
    store.commit(a_batch(memo=[("cache:a", b"B", 9000)]))
    assert store.memo("cache:a", 8999) == (b"B",)


def test_gates_and_intents_are_remembered(kit: Kit) -> None:
    store = kit.open()
    a_net(store)
    store.commit(started(1))
    store.commit(a_batch(gate=[("breaker:b", b"one", 1), ("rate:r", b"r", 1)]))
    store.commit(a_batch(gate=[("breaker:b", b"two", 2)]))
    assert sorted(store.gates()) == [("breaker:b", b"two"), ("rate:r", b"r")]
    store.commit(a_batch(intent=[("k1", 1, 7, 1, "started", 5), ("k2", 1, 8, 1, "started", 5)]))
    store.commit(a_batch(intent_moved=[("in_doubt", "k1")], intent_gone=[("k2",)]))
    assert store.intents() == [("k1", 1, 7, 1, "in_doubt")]
    store.commit(a_batch(intent=[("k1", 1, 7, 2, "started", 6)]))
    assert store.intents() == [("k1", 1, 7, 2, "started")]


def test_tidying_forgets_what_has_served_and_nothing_else(kit: Kit) -> None:
    store = kit.open()
    a_net(store)
    hour = 3_600_000
    store.commit(started(1))
    store.commit(started(2, status=COMPLETED))
    old, waiting, fresh = (store.put_inbox(1, b"c", at) for at in (1000, 1000, 2 * hour))
    store.commit(
        a_batch(
            memo=[("old", b"x", 2 * hour), ("kept", b"x", 2 * hour + 1)],
            intent=[("k1", 1, 1, 1, "started", 5), ("k2", 2, 1, 1, "in_doubt", 5)],
            inbox_answered=[(b"a", old), (b"a", fresh)],
        )
    )
    store.tidy(2 * hour)
    assert store.memo("old", 0) is None and store.memo("kept", 0) == (b"x",)
    assert [k for k, *_ in store.intents()] == ["k1"]
    assert store.inbox_answer(old) is None and store.inbox_answer(fresh) == b"a"
    assert [row[0] for row in store.inbox()] == [waiting]


def test_the_outbox_keeps_the_order_of_a_run_even_when_a_row_must_wait(kit: Kit) -> None:
    """In order per run: a row that failed holds back what the same run said later, and nobody else."""
    store = kit.open()
    a_net(store)
    store.commit(started(1))
    store.commit(started(2))
    rows = [(run, seq, "run.moved", f"{run}/{seq}".encode(), 0, 1000) for seq in (1, 2, 3) for run in (1, 2)]
    store.commit(a_batch(outbox=rows))
    told = store.outbox(1000, 10)
    assert [row[1:3] for row in told] == [(1, 1), (2, 1), (1, 2), (2, 2), (1, 3), (2, 3)]
    assert told[0][3:] == ("run.moved", b"1/1", 0)
    assert store.outbox(999, 10) == []
    numbers = {row[1:3]: row[0] for row in told}
    store.outbox_moved([numbers[2, 1]], [(numbers[1, 1], 5000)])
    assert [row[1:3] for row in store.outbox(4999, 10)] == [(2, 2), (2, 3)]
    assert [row[1:3] for row in store.outbox(5000, 10)] == [(1, 1), (1, 2), (2, 2), (1, 3), (2, 3)]
    assert store.outbox(5000, 1)[0][5] == 1
    store.outbox_moved(numbers.values(), [])
    assert store.outbox(9000, 10) == [] and not store.outbox_left()


def test_open_items_oldest_first(kit: Kit) -> None:
    store = kit.open()
    a_net(store)
    store.commit(started(1))
    store.commit(started(2))
    items = [(2, 5, 1, "TODO", b"p", None, None, 1000, 1000), (1, 4, 1, "TODO", b"q", b"c", None, 900, 900)]
    store.commit(a_batch(item_new=items))
    assert store.items() == [items[1], items[0]]
    assert store.items(run=2) == [items[0]]
    store.commit(a_batch(item_moved=[("IN_PROGRESS", "kim", 1100, 1, 4)]))
    store.commit(a_batch(item_moved=[("DONE", None, 1200, 1, 4)]))
    assert store.items() == [items[0]]
    assert store.items(open_only=False, run=1) == [(1, 4, 1, "DONE", b"q", b"c", "kim", 900, 1200)]


def test_a_blob_is_kept_once_by_its_hash(kit: Kit) -> None:
    """D-X.20: what is stored by reference comes back byte for byte."""
    store = kit.open()
    body = bytes(range(256)) * 1000
    store.commit(a_batch(blobs=[("h", len(body), bytearray(body))]))
    store.commit(a_batch(blobs=[("h", 1, b"!")]))
    assert store.blob("h") == body
    assert store.blob("nothing") is None
