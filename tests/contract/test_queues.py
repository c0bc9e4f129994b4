"""Every store: files are known by one number, and queues lose nothing and hand nothing out twice at a time."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from msgspec.structs import replace

from penstock.store.file_assets import FileAssetRow
from penstock.store.queues import DEAD_KEPT_MS, Buried, Failed
from tests.contract.store_suite import Kit, a_batch, a_run, a_turn

INGEST, DLQ = "ff-pipeline-ingest", "ff-pipeline-ingest-dlq"


def a_file(key: str, **more: Any) -> FileAssetRow:
    return FileAssetRow("t", "inbox", key, "v1", 10, "image/png", trace="ab", created_at=5, **more)


def test_f_x_5_an_upload_is_one_file_asset_however_often_it_is_announced(kit: Kit) -> None:
    store = kit.open()
    first, second = store.put_files([a_file("a.png"), a_file("b.png", organization_id=7, uploader=9)])
    assert first.id != second.id and replace(first, id=0) == a_file("a.png")
    again = store.put_files([a_file("b.png"), a_file("a.png"), replace(a_file("a.png"), trace="other")])
    assert again == [second, first, first]
    renewed, foreign = store.put_files([replace(a_file("a.png"), version="v2"), replace(a_file("a.png"), tenant="u")])
    assert len({first.id, second.id, renewed.id, foreign.id}) == 4
    assert store.file_asset("t", first.id) == first and store.file_asset("t", foreign.id) is None
    assert [row.id for row in store.file_assets("t", limit=2)] == sorted([first.id, second.id])
    assert [row.id for row in store.file_assets("t", after=(5, second.id))] == [renewed.id]


def test_f_x_5_what_is_known_of_an_upload_stays_as_it_was_first_announced(kit: Kit) -> None:
    """F-X.5: a notification that comes again, later and otherwise, changes nothing of what executions have named."""
    store = kit.open()
    (known,) = store.put_files([a_file("a.png", etag="e", version_id="v1", organization_id=7, uploader=9)])
    later = FileAssetRow("t", "inbox", "a.png", "v1", 99, "text/html", "other", "v9", 8, 10, "cd", 77)
    assert store.put_files([later]) == [known], "one that is known"
    assert store.put_files([a_file("b.png"), later])[1] == known, "beside a new one"
    assert store.file_asset("t", known.id) == known
    assert [row.object_key for row in store.file_assets("t", since=6)] == [], "its time is that of its first"


def test_f_x_20_that_a_message_is_invisible_while_somebody_works_on_it(kit: Kit) -> None:
    store = kit.open()
    assert store.send_messages(INGEST, [("1", b"{}", b"\x80"), ("2", b"[]", b"\x80")], 10) == 2
    assert store.send_messages(INGEST, [("2", b"other", b"\x80")], 10) == 0
    (first,) = store.receive_messages(INGEST, "me", 10, 310, 1)
    (second,) = store.receive_messages(INGEST, "you", 11, 311, 10)
    assert (first.id, first.body, first.receives, second.id) == ("1", b"{}", 1, "2")
    assert store.receive_messages(INGEST, "me", 309, 600, 10) == []
    assert store.next_visible(INGEST) == 310 and store.next_visible(DLQ) is None
    assert store.hold_messages("me", [first.no, second.no], 500) == 1
    (again,) = store.receive_messages(INGEST, "her", 311, 900, 10)
    assert (again.id, again.receives) == ("2", 2)
    assert store.take_messages("you", [second.no]) == 0, "its time was over: somebody else has it"
    assert store.take_messages("her", [second.no]) == 1 and store.queue_size(INGEST) == 1


def test_f_3_4_that_who_has_died_lets_go_of_what_it_had_received_and_of_nothing_else(kit: Kit) -> None:
    """F-3.5: its receives stay counted, so that what kills its consumer each time dies after five."""
    store = kit.open()
    store.send_messages(INGEST, [(str(n), b"x", b"\x80") for n in range(4)], 10)
    store.send_messages("other", [("o", b"x", b"\x80")], 10)
    taken, failed, mine = store.receive_messages(INGEST, "dead", 10, 310, 3)
    store.receive_messages("other", "alive", 10, 310, 1)
    store.messages_failed("dead", [Failed(failed, INGEST, 60, "PP-500-IO", "no bucket")])
    assert store.release_messages(INGEST, 20) == 2 and store.release_messages(INGEST, 20) == 0
    assert store.next_visible("other") == 310
    assert store.take_messages("dead", [taken.no]) == 0, "should it live after all, they are not its own any more"
    seen = store.receive_messages(INGEST, "next", 20, 320, 10)
    assert [(message.id, message.receives) for message in seen] == [("0", 2), ("2", 2), ("3", 1)]
    assert store.take_messages("next", [mine.no]) == 1
    (later,) = store.receive_messages(INGEST, "next", 60, 360, 10)
    assert (later.id, later.receives) == ("1", 2), "its back-off was left alone"


def test_f_3_5_what_fails_is_seen_again_later_or_lies_in_the_dead_letter_queue_with_its_cause(kit: Kit) -> None:
    store = kit.open()
    store.send_messages(INGEST, [(str(n), b"x", b"\x80") for n in range(3)], 10)
    messages = store.receive_messages(INGEST, "me", 10, 310, 10)
    store.messages_failed(
        "me",
        [
            Failed(messages[0], INGEST, 20, "PP-500-IO", "no bucket"),
            Failed(messages[1], DLQ, 10, "PP-400-JSON", "no key"),
        ],
    )
    assert [m.id for m in store.receive_messages(INGEST, "me", 19, 99, 10)] == []
    assert [(m.id, m.receives, m.code) for m in store.receive_messages(INGEST, "me", 20, 99, 10)] == [
        ("0", 2, "PP-500-IO")
    ]
    (dead,) = store.queued(DLQ, code="PP-400-JSON")
    assert (dead.id, dead.body, dead.code, dead.why) == ("1", b"x", "PP-400-JSON", "no key")
    assert store.queued(DLQ, code="PP-500-IO") == [] and store.queued(DLQ, after=dead.no) == []
    assert store.messages_by_id(DLQ, ["7", "1", "0"]) == [dead] and store.messages_by_id(DLQ, []) == []
    assert store.send_again(DLQ, INGEST, ["1", "7"], 30) == ["1"] and store.send_again(DLQ, INGEST, ["1"], 30) == []
    assert [(m.id, m.receives) for m in store.receive_messages(INGEST, "me", 30, 99, 10)] == [("1", 1)]


def test_f_x_27_dead_messages_are_kept_for_thirty_days(kit: Kit) -> None:
    store = kit.open()
    store.send_messages(DLQ, [("1", b"x", b"\x80")], 10)
    store.send_messages(INGEST, [("2", b"x", b"\x80")], 10)
    store.tidy(10 + DEAD_KEPT_MS)
    assert store.queue_size(DLQ) == 1
    store.tidy(11 + DEAD_KEPT_MS)
    assert store.queue_size(DLQ) == 0 and store.queue_size(INGEST) == 1


def test_f_x_20_several_consumers_never_get_the_same_message(kit: Kit) -> None:
    store = kit.open()
    store.send_messages(INGEST, [(str(n), b"x", b"\x80") for n in range(200)], 10)
    others = [kit.open(engine=False) for _ in range(3)]
    if not others[0].__class__.__module__.startswith("penstock"):
        pytest.skip("the store of dicts has one process")
    got: list[list[str]] = [[] for _ in others]

    def consume(mine: Any, into: list[str]) -> None:
        while some := mine.receive_messages(INGEST, f"c{id(into)}", 10, 1000, 7):
            into += [message.id for message in some]

    threads = [threading.Thread(target=consume, args=pair) for pair in zip(others, got, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(int(id) for each in got for id in each) == list(range(200))


def test_f_x_18_runs_are_known_by_many_keys_at_once(kit: Kit) -> None:
    store = kit.open()
    rows = [a_run(n, key=f"k{n}") for n in (1, 2, 3)]
    store.commit(a_batch(new=rows, journal=[a_turn(n, 1) for n in (1, 2, 3)]))
    ids = store.ids_by_key(rows[0][2], ["k1", "k3", "k9"])
    assert ids == {"k1": rows[0][1], "k3": rows[2][1]} and store.ids_by_key("nobody", ["k1"]) == {}
    assert store.ids_by_key(rows[0][2], []) == {}


def test_f_x_15_queues_are_counted_by_the_beginning_of_their_names(kit: Kit) -> None:
    store = kit.open()
    for number, queue in enumerate(("batch#a#X#", "batch#a#X#", "batch#b#Y#", INGEST)):
        store.send_messages(queue, [(str(number), b"x", b"\x80")], 10 + number)
    assert list(store.queues_between("batch#", "batch$")) == ["batch#a#X#", "batch#b#Y#"]
    assert store.queue_head("batch#a#X#", 20, 10) == (2, 10) and store.queue_head("batch#a#X#", 20, 1) == (1, 10)
    (first, second) = store.receive_messages("batch#a#X#", "me", 20, 500, 10)
    assert next(iter(store.queues_between("batch#", "batch$"))) == "batch#a#X#", "also while somebody works on them"
    assert store.queue_head("batch#a#X#", 20, 10) == (0, 0)
    store.hold_messages("me", [second.no], 30)
    assert store.queue_head("batch#a#X#", 30, 10) == (1, 11), "when it was sent, however often it was held back"
    store.take_messages("me", [first.no, second.no])
    assert list(store.queues_between("batch#", "batch$")) == ["batch#b#Y#"]


def test_f_x_27_dead_messages_of_other_queues_are_buried_once_and_sent_again_three_times(kit: Kit) -> None:
    store = kit.open()
    dead = Buried("sqs:1", b"x", b"\x80", 5, "PP-400-JSON", "no bucket")
    assert store.bury_messages(DLQ, [dead, dead], 10) == 1
    (row,) = store.queued(DLQ)
    assert (row.receives, row.code, row.why, row.until, row.replays) == (
        5, "PP-400-JSON", "no bucket", 10 + DEAD_KEPT_MS, 0,
    )  # fmt: skip
    for replay in (1, 2, 3):
        assert store.send_again(DLQ, INGEST, ["sqs:1"], 20) == ["sqs:1"]
        (again,) = store.receive_messages(INGEST, "me", 20, 99, 10)
        assert (again.receives, again.code, again.replays) == (1, "PP-400-JSON", replay)
        store.messages_failed("me", [Failed(again, DLQ, 20, "PP-400-JSON", "still")])
    assert store.send_again(DLQ, INGEST, ["sqs:1"], 30) == [] and store.queue_size(DLQ) == 1
