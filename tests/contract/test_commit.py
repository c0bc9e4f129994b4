"""Every store: a batch is committed whole or not at all, by its holder only, and for good."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from penstock.errors import Fenced, StoreBusy, StoreError, StoreFull
from penstock.store.run_store import Batch
from tests.contract.store_suite import Capability, Kit, a_batch, a_net, a_run, a_turn, needs, python, started

TABLES_OF_A_BATCH = (
    "run", "journal", "firing", "waiting", "item", "incident", "outbox", "intent", "inbox", "gate", "memo", "blob",
)  # fmt: skip


def everything(no: int, seq: int = 1) -> Batch:
    """A batch that writes to every table it can."""
    return a_batch(
        new=[a_run(no)],
        journal=[a_turn(no, seq)],
        firing=[(no, 1, 1, 0, 1, 1, 0, 1000, 1001)],
        wait=[("default", "go", no, 1)],
        item_new=[(no, 2, 1, "TODO", b"\xa1p", None, None, 1000, 1000)],
        incident=[(no, 1, "CODE", "node", 1000)],
        outbox=[(no, 1, "run.moved", b"\x80", 0, 1000)],
        intent=[(f"default/r{no}/a", no, 1, 1, "started", 1000)],
        gate=[(f"rate:{no}", b"\x90", 1000)],
        memo=[(f"cache:{no}", b"\x90", 5000)],
        blobs=[(f"hash{no}", 3, b"abc")],
    )


def dump(kit: Kit) -> dict[str, list[tuple[Any, ...]]]:
    return {name: kit.rows(name) for name in TABLES_OF_A_BATCH}


def test_a_batch_is_committed_whole(kit: Kit) -> None:
    """D-12.8: what a turn wrote is there, for every other connection, when commit has returned."""
    store = kit.open()
    a_net(store)
    store.commit(everything(1))
    empty = [name for name, rows in dump(kit).items() if not rows and name != "inbox"]
    assert empty == []


def test_h1_a_turn_that_was_taken_already_leaves_nothing_of_its_batch(kit: Kit) -> None:
    """H1: unique (run, seq_from). The batch holds a good run beside the bad one; neither is written."""
    store = kit.open()
    a_net(store)
    store.commit(started(1, turns=3))
    before = dump(kit)
    bad = everything(2)
    bad.journal.append(a_turn(1, 3))
    with pytest.raises(Fenced):
        store.commit(bad)
    assert dump(kit) == before
    store.commit(everything(2))
    assert [row.no for row, _ in store.load([1, 2])] == [1, 2]


def test_whatever_a_batch_breaks_nothing_is_half_written(kit: Kit) -> None:
    store = kit.open()
    a_net(store)
    store.commit(started(1))
    before = dump(kit)
    for break_it in (
        lambda b: b.journal.append((2, 2, 2, 1000, None)),
        lambda b: b.new.append(a_run(3, id="r000000000000001")),
        lambda b: b.gate.append(("too", "few")),
        lambda b: b.blobs.append(("object", 1, object())),
    ):
        batch = everything(2)
        break_it(batch)
        with pytest.raises(StoreError):
            store.commit(batch)
        assert dump(kit) == before
    store.commit(everything(2))


@needs(Capability.FENCED)
def test_h2_h3_an_old_holder_changes_no_row(kit: Kit) -> None:
    """H2, H3: the fence only grows, and the commit of whoever has an old one writes nothing."""
    old = kit.open()
    a_net(old)
    old.commit(started(1))
    kit.steal()
    before = dump(kit)
    for _ in range(2):
        with pytest.raises(Fenced):
            old.commit(everything(2))
    assert dump(kit) == before
    first = old.fence
    kit.close()
    assert kit.open().fence == first + 2


@needs(Capability.DURABLE)
def test_what_was_acknowledged_survives_kill_9(kit: Kit) -> None:
    """D-12.8, D-X.23, H8: the writer is killed in the middle of its next commit, again and again."""
    code = """
store = kit.open()
a_net(store)
n = store.last_run()
while True:
    n += 1
    store.commit(started(n, turns=20))
    print(n, flush=True)
"""
    last = 0
    for _ in range(3):
        child = kit.child(code)
        assert child.stdout is not None
        for line in child.stdout:
            last = int(line)
            if last % 25 == 0:
                break
        child.send_signal(signal.SIGKILL)
        rest = child.stdout.read().split()
        child.wait()
        last = max([last, *map(int, rest)])
        store = kit.open()
        there = store.last_run()
        assert last <= there <= last + 1
        turns = [[j.seq_from for j in tail] for _, tail in store.load(range(1, there + 1))]
        assert turns == [list(range(1, 21))] * there
        last = there
        kit.close()


@needs(Capability.ONE_ENGINE, Capability.READERS)
def test_r12_a_second_process_may_read_but_not_drive(kit: Kit) -> None:
    """R12: a second engine is refused at once and in words; reading and leaving commands go on meanwhile."""
    store = kit.open()
    a_net(store)
    store.commit(started(1))
    code = """
from penstock.errors import StoreBusy
try:
    kit.open()
except StoreBusy as error:
    print("busy", error.code)
reader = kit.open(engine=False)
print(reader.run_by_id("r000000000000001").no, reader.put_inbox(1, b"c", 5))
"""
    child = kit.child(code)
    out, _ = child.communicate(timeout=30)
    assert out.split() == ["busy", "PS-409-STORE-BUSY", "1", "1"]
    assert [row[1:] for row in store.inbox()] == [(1, b"c")]
    store.commit(started(2))


@needs(Capability.ONE_ENGINE)
def test_the_store_is_free_again_when_its_engine_has_ended(kit: Kit) -> None:
    kit.open()
    with pytest.raises(StoreBusy):
        kit.make(engine=True)
    kit.close()
    child = kit.child("import time\nkit.open()\nprint('open', flush=True)\ntime.sleep(60)")
    assert child.stdout is not None
    assert child.stdout.readline() == "open\n"
    with pytest.raises(StoreBusy):
        kit.open()
    child.kill()
    child.wait()
    kit.open()


@needs(Capability.READERS)
def test_a_reader_never_sees_half_a_batch(kit: Kit) -> None:
    """Two runs move in the same batch: whoever looks sees both moved or neither."""
    store = kit.open()
    a_net(store)
    code = """
store = kit.open(engine=False)
print("ready", flush=True)
seen = set()
while True:
    found = store.load([1, 2])
    if len(found) == 1:
        print("half a start", flush=True)
    if len(found) == 2:
        a, b = (len(tail) + row.checkpoint_seq for row, tail in found)
        if a != b:
            print("half", a, b, flush=True)
        if a >= 400:
            break
print("done", flush=True)
"""
    child = kit.child(code)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    store.commit(a_batch(new=[a_run(1), a_run(2)], journal=[a_turn(1, 1), a_turn(2, 1)]))
    for seq in range(2, 401):
        batch = a_batch(journal=[a_turn(1, seq), a_turn(2, seq)])
        if seq % 50 == 0:
            batch.moved = [(2, 1000, None, seq, b"state", 1, no) for no in (1, 2)]
        store.commit(batch)
    out, _ = child.communicate(timeout=30)
    assert out.splitlines() == ["done"]


@needs(Capability.FULL)
def test_h13_without_room_nothing_is_written_and_later_it_goes_on(kit: Kit) -> None:
    """H13: StoreFull, nothing of the batch, and the same batch is taken when there is room again."""
    store = kit.open()
    a_net(store)
    store.commit(started(1))
    more_room = kit.fill(store)
    before = dump(kit)
    big = everything(2)
    big.blobs = [("big", 1_000_000, bytearray(1_000_000))]
    for _ in range(3):
        with pytest.raises(StoreFull):
            store.commit(big)
        assert dump(kit) == before
    more_room()
    store.commit(big)
    assert store.blob("big") == bytes(1_000_000)
    kit.close()
    assert kit.open().last_run() == 2


def test_python_is_at_hand() -> None:
    """The tests above lean on it: a child process sees this clone and nothing else."""
    out, _ = python("import penstock, tests.contract; print(penstock.__name__)").communicate(timeout=30)
    assert out == "penstock\n"
