"""Lists and counts for people, of every store that a console looks into."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.kernel.state import COMPENSATED, COMPLETED, FAILED, RUNNING, WAITING
from penstock.store.drafts import RemarkRow
from penstock.store.run_lists import Ranking, RunFilter
from tests.contract.store_suite import STORES, Kit, a_batch, a_net, a_run

HOUR = 3_600_000


@pytest.fixture(params=["sqlite", "postgresql"])
def kit(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kit]:
    """The simulation's store has no console."""
    if request.param == "postgresql":
        pytest.importorskip("psycopg", reason="the extra «postgresql» is not installed")
    one = STORES[request.param](tmp_path)
    yield one
    one.close()


def numbers(store: Any, limit: int = 50, **wanted: Any) -> list[int]:
    filter = RunFilter(**{"tenant": "default", "below": store.last_run() + 1, **wanted})
    return [row.no for row in store.find_runs(filter, limit)]


def filled(kit: Kit) -> Any:
    store = kit.open()
    a_net(store, "first")
    a_net(store, "second")
    store.commit(a_batch(new=[
        a_run(1, created_at=1000, status=COMPLETED, updated_at=9 * HOUR),
        a_run(2, created_at=2000, status=WAITING, net=2, key="Order_1", wake_at=500),
        a_run(3, created_at=3000, status=FAILED, updated_at=9 * HOUR + 1, id="abc"),
        a_run(4, created_at=4000, tenant="other"),
        a_run(5, created_at=5000, status=RUNNING, parent="abc", key="order%1", wake_at=400, updated_at=5),
        a_run(6, created_at=6000, status=COMPENSATED, updated_at=11 * HOUR, net=2),
    ]))  # fmt: skip
    return store


def test_runs_are_found_newest_first_and_page_by_page(kit: Kit) -> None:
    """C-66, C-78: of one tenant; by status, net, time, parent; below a number."""
    store = filled(kit)
    assert numbers(store) == [6, 5, 3, 2, 1]
    assert numbers(store, limit=2) == [6, 5] and numbers(store, below=5, limit=2) == [3, 2]
    assert numbers(store, floor=3) == [6, 5, 3]
    assert numbers(store, status=(RUNNING, WAITING)) == [5, 2] and numbers(store, status=(FAILED,)) == [3]
    assert numbers(store, nets=(2,)) == [6, 2] and numbers(store, nets=()) == []
    assert numbers(store, since=3000, until=6000) == [5, 3]
    assert numbers(store, parent="abc") == [5] and numbers(store, tenant="other") == [4]


def test_a_text_is_an_id_a_key_or_a_name_and_never_a_pattern(kit: Kit) -> None:
    """C-66: what a person types is looked for as it is written."""
    store = filled(kit)
    assert numbers(store, text="AB") == [3] and numbers(store, text="order") == [5, 2]
    assert numbers(store, text="order_1") == [2] and numbers(store, text="order%1") == [5]
    assert numbers(store, text="%") == [5] and numbers(store, text="~") == [] and numbers(store, text="'") == []
    assert numbers(store, text="nothing", text_nets=(2,)) == [6, 2]


def test_the_first_run_of_a_time(kit: Kit) -> None:
    store = filled(kit)
    assert [store.first_run_at(at) for at in (0, 1000, 1001, 6000, 6001)] == [1, 1, 2, 6, 7]


def test_counts_by_status_net_and_hour(kit: Kit) -> None:
    """W-10.1.1: what the dashboard counts, of one tenant."""
    store = filled(kit)
    assert sorted(map(tuple, store.open_counts("default", 3000))) == [(RUNNING, 1, 0, 1), (WAITING, 2, 0, 1)]
    assert sorted(map(tuple, store.open_counts("default", 0))) == [(RUNNING, 1, 0, 1), (WAITING, 2, 0, 1)]
    assert sorted(map(tuple, store.ended_counts("default", 0))) == [
        (9, COMPLETED, 1), (9, FAILED, 1), (11, COMPENSATED, 1),
    ]  # fmt: skip
    assert [tuple(one) for one in store.ended_counts("default", 10 * HOUR)] == [(11, COMPENSATED, 1)]
    (failed,) = store.ended_runs("default", FAILED, 9 * HOUR, 5)
    assert failed.status == FAILED and store.ended_runs("default", FAILED, 10 * HOUR, 5) == []
    assert [one[1:] for one in map(tuple, store.nets())] == [
        ("hash of first", "first", "net"), ("hash of second", "second", "net"),
    ]  # fmt: skip


def test_who_may_need_a_look(kit: Kit) -> None:
    """The soonest timer, the longest silence, an incident; only of runs that have not ended."""
    store = filled(kit)
    store.commit(a_batch(incident=[(2, 1, "DEADLOCK", "j", 7), (3, 1, "DEADLOCK", "j", 7), (5, 1, "OTHER", "j", 7)]))
    assert store.open_runs("default", 9, soonest=True) == [5, 2] and store.open_runs("default", 1, soonest=True) == [5]
    assert store.open_runs("default", 9, soonest=False) == [5, 2]
    assert store.incident_runs("default", "DEADLOCK", 9) == [2] and store.incident_runs("other", "DEADLOCK", 9) == []


def test_firings_items_and_letters(kit: Kit) -> None:
    """W-10.1.1: firings since a time, those of the newest runs first; open work items, the oldest first."""
    store = filled(kit)
    store.commit(a_batch(
        firing=[(1, 1, 4, 0, 1, 1, 0, 10, 20), (2, 1, 5, 0, 1, 2, 1, 30, 90), (4, 1, 5, 0, 1, 1, 0, 1, 99)],
        item_new=[(2, 1, 5, "TODO", b"p", None, None, 70, 70), (5, 1, 3, "TODO", b"q", b"c", None, 60, 60),
                  (1, 1, 3, "DONE", b"q", None, None, 60, 60), (4, 1, 3, "TODO", b"q", None, None, 60, 60)],
        letter=[("default", "abc", "n", 1, "q", "FAILED", "X", "c", b"", 0, 9 * HOUR, 99 * HOUR),
                ("default", "old", "n", 1, "q", "FAILED", "X", "c", b"", 0, 10, 99 * HOUR)],
    ))  # fmt: skip
    assert [tuple(one) for one in store.firings_since("default", 1, 0, 9)] == [
        (2, 5, 1, 2, 30, 90),
        (1, 4, 0, 1, 10, 20),
    ]
    assert [tuple(one) for one in store.firings_since("default", 1, 21, 9)] == [(2, 5, 1, 2, 30, 90)]
    assert len(store.firings_since("default", 1, 0, 1)) == 1 and store.firings_since("default", 3, 0, 9) == []
    items = store.open_items("default", 9)
    assert [(one.run, one.net, one.opened_at, one.prompt, one.candidates) for one in items] == [
        (5, 1, 60, b"q", b"c"), (2, 2, 70, b"p", None),
    ]  # fmt: skip
    total, hours = store.letter_counts("default", HOUR)
    assert total == 2 and [tuple(one) for one in hours] == [(9, 1)]


def test_why_runs_ended_badly_is_counted_and_found(kit: Kit) -> None:
    """CONSOLE 13.9: by net, node and code, but for what was replayed; runs are found, and counted, by their cause, by
    people who have to do with them, by a dead letter, and by when they ended or one of their nodes failed."""
    store = filled(kit)
    letter = ("default", "abc", "n", 1, "q", "FAILED", "X", "c", b"", 0, 9 * HOUR, 99 * HOUR)
    store.commit(a_batch(
        cause=[(3, "default", FAILED, 9 * HOUR + 1, 1, "get", "NO_FILE", "There is none."),
               (4, "other", FAILED, 9 * HOUR, 1, "get", "NO_FILE", ""),
               (6, "default", COMPENSATED, 11 * HOUR, 2, "", "LATE", "")],
        item_new=[(2, 1, 5, "TODO", b"p", b"\x91\xa8role:qm1", None, 70, 70),
                  (1, 1, 3, "DONE", b"q", None, "kim@x.org", 60, 60)],
        firing=[(5, 1, 4, 0, 1, 1, 1, 10, 20)], letter=[letter],
    ))  # fmt: skip
    (cause,) = store.causes("default", FAILED, 9 * HOUR)
    assert (cause.net, cause.node, cause.code, cause.count, cause.last_run) == (1, "get", "NO_FILE", 1, 3)
    assert store.causes("default", FAILED, 10 * HOUR) == [] and store.count_causes("default", FAILED, 0) == 1
    assert numbers(store, code="NO_FILE") == [3] and numbers(store, cause_node="get", code="LATE") == []
    assert numbers(store, text="no_fi") == [3] and numbers(store, text="there is") == [3]
    assert numbers(store, text="role:qm1", text_people=("role:qm1",)) == [2] and numbers(store, text="kim@") == [1]
    assert numbers(store, text="kim", text_people=("kim@x.org",)) == [1]
    assert numbers(store, letter=True) == [3] and numbers(store, ended=9 * HOUR + 1) == [6, 3]
    assert numbers(store, node_failed=20) == [5] and numbers(store, node_failed=21) == []
    assert store.count_failed_in("default", 1, 20) == 1 and store.count_failed_in("default", 6, 20) == 0
    wanted = RunFilter(tenant="default", below=99, ended=9 * HOUR, status=(COMPLETED, FAILED))
    assert store.count_runs(wanted) == 2
    ranked = store.ranked_runs(RunFilter(tenant="default", below=99, text="no_fi"), Ranking(by="updated_at"), 9, 9)
    assert [row.no for row in ranked[0]] == [3]
    store.letter_replayed("abc", 1)
    assert store.causes("default", FAILED, 0) == [] and store.count_causes("default", FAILED, 0) == 1
    store.commit(a_batch(cause_gone=[(3,)]))
    assert store.count_causes("default", FAILED, 0) == 0


def test_open_items_by_groups(kit: Kit) -> None:
    """W-4.6.4, W-10.3.1: counted by node, status, people and hour; read by such groups, oldest first, each once; and
    those of runs about which somebody has said more than a comment. Against the rows one by one."""
    store, chance, now = kit.open(), random.Random(4), 1_000 * HOUR
    for name in ("first", "second"):
        a_net(store, name)
    runs = [a_run(no, net=no % 2 + 1, tenant="default" if no % 5 else "other", status=3) for no in range(1, 61)]
    items = [
        (no, firing, chance.randint(1, 2), chance.choice(["TODO", "IN_PROGRESS", "SUBMITTED", "REWORK", "DONE"]), b"p",
         chance.choice([None, b"a", b"b"]), None, now - chance.randint(0, 40) * HOUR // 4, now)
        for no in range(1, 61) for firing in (1, 2)
    ]  # fmt: skip
    store.commit(a_batch(new=runs, item_new=items))
    net = {row.no: row.net for row in store.runs(limit=99)}
    mine = sorted((i for i in items if i[0] % 5 and i[3] != "DONE"), key=lambda i: (i[7], i[0], i[1]))
    assert [(row.run, row.firing) for row in store.open_items("default", 99)] == [i[:2] for i in mine]
    assert [(row.run, row.firing) for row in store.open_items("default", 7)] == [i[:2] for i in mine[:7]]
    since, counted = now - 5 * HOUR, Counter[Any]()
    for i in mine:
        counted[(net[i[0]], *i[2:4], i[5], i[7] // HOUR if i[7] >= since else 0)] += 1
    groups = store.open_groups("default", since)
    assert {(*one.key, one.hour): one.count for one in groups} == counted
    assert min(one.oldest for one in groups) == mine[0][7]
    wanted = [(1, 1, "TODO", None), (2, 2, "SUBMITTED", b"a"), (1, 2, "TODO", b"nobody")]
    some = [i[:2] for i in mine if (net[i[0]], *i[2:4], i[5]) in wanted]
    assert some and [(row.run, row.firing) for row in store.open_items("default", 99, of=wanted)] == some
    assert store.open_items("default", 99, of=()) == []
    ids = {row.no: row.id for row in store.runs(limit=99)}
    first, second, third = sorted({i[0] for i in mine})[:3]
    for no, kind in ((first, "claim"), (second, "comment"), (third, "delegate")):
        store.add_remark(RemarkRow("default", f"{ids[no]}/n", 1, "kim", 1, kind, b""))
    store.add_remark(RemarkRow("other", f"{ids[second]}/n", 1, "kim", 1, "claim", b""))
    assert {row.run for row in store.open_items("default", 99, spoken=True)} == {first, third}


def test_hours_are_counted_apart(kit: Kit) -> None:
    """W-10.1.1: every net, status and hour by itself, against a count of the rows one by one."""
    store, chance, now = kit.open(), random.Random(3), 1_000 * HOUR
    for name in ("first", "second", "third"):
        a_net(store, name)
    made = [
        a_run(
            no, net=chance.randint(1, 3), status=chance.randint(0, 8), tenant=chance.choice(["default", "other"]),
            created_at=now - chance.randint(0, 60 * HOUR), updated_at=now - chance.randint(0, 40 * HOUR),
        )
        for no in range(1, 1_500)
    ]  # fmt: skip
    store.commit(a_batch(new=made))
    rows, since = [row for row in store.runs(limit=2_000) if row.tenant == "default"], now - 30 * HOUR - 7
    hours = [(row, 0 if row.created_at < since else row.created_at // HOUR) for row in rows if row.status < 5]
    open_ = Counter((row.status, row.net, hour) for row, hour in hours)
    assert {tuple(one[:3]): one[3] for one in store.open_counts("default", since)} == open_
    ended = Counter((row.updated_at // HOUR, row.status) for row in rows if row.status >= 5 and row.updated_at >= since)
    assert {tuple(one[:2]): one[2] for one in store.ended_counts("default", since)} == ended


def test_a_page_of_many_runs_is_quick(kit: Kit) -> None:
    """W-10.3.1: among 30,000 runs a page, the open ones and the counts of a day take a blink."""
    store = kit.open()
    a_net(store)
    runs = [a_run(no, created_at=no, status=WAITING if no % 1000 == 0 else COMPLETED) for no in range(1, 30_001)]
    store.commit(a_batch(new=runs))
    assert numbers(store, limit=50)[:2] == [30_000, 29_999]
    assert len(numbers(store, status=(WAITING,))) == 30
    assert store.first_run_at(20_000) == 20_000
    assert sum(one[3] for one in store.open_counts("default", 0)) == 30
    assert sum(one[2] for one in store.ended_counts("default", 0)) == 30_000 - 30


# ---- in another order ------------------------------------------------------------------------------------------------


def ranked(store: Any, limit: int = 50, window: int = 100, **wanted: Any) -> list[int]:
    """Page by page, to the end."""
    by, falling = wanted.pop("by"), wanted.pop("falling", False)
    filter = RunFilter(**{"tenant": "default", "below": store.last_run() + 1, **wanted})
    pages, after = list[int](), None
    while True:
        rows, after = store.ranked_runs(filter, Ranking(by=by, falling=falling, after=after), limit, window)
        pages += [row.no for row in rows]
        if after is None:
            return pages


def test_runs_are_ranked_by_a_value_and_by_their_number_where_it_is_equal(kit: Kit) -> None:
    """C-66: every run once, whatever the size of a page; of one tenant, and only those that are wanted."""
    store = kit.open()
    a_net(store, "first")
    store.commit(a_batch(new=[
        a_run(1, updated_at=30, priority=5), a_run(2, updated_at=10, priority=5, status=COMPLETED),
        a_run(3, updated_at=30, priority=1, status=WAITING), a_run(4, tenant="other", updated_at=20),
        a_run(5, updated_at=20, priority=9, status=COMPLETED), a_run(6, updated_at=30, priority=5, status=FAILED),
    ]))  # fmt: skip
    orders = {("updated_at", False): [2, 5, 1, 3, 6], ("updated_at", True): [6, 3, 1, 5, 2],
              ("priority", False): [3, 1, 2, 6, 5], ("priority", True): [5, 6, 2, 1, 3]}  # fmt: skip
    for (by, falling), order in orders.items():
        for limit, window in ((50, 100), (1, 1), (2, 3), (3, 2)):
            assert ranked(store, limit, window, by=by, falling=falling) == order, (by, falling, limit, window)
    ended = [one for one in orders["priority", True] if one in (2, 5, 6)]
    for limit, window in ((50, 100), (2, 2), (1, 1)):
        assert ranked(store, limit, window, by="priority", falling=True, status=(COMPLETED, FAILED)) == ended
        assert ranked(store, limit, window, by="updated_at", status=(RUNNING, WAITING)) == [1, 3]
    assert ranked(store, by="updated_at", tenant="other") == [4]
    assert [row.no for row in store.find_runs(RunFilter(tenant="default", below=6, floor=2), 2, oldest=True)] == [2, 3]
