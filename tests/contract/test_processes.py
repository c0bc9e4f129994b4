"""What stores keep of processes: work items by status and assignee, versions with their BPMN, and the seed's views."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.store.releases import ReleaseRow
from penstock.store.work_items import AGENT
from tests.contract.store_suite import STORES, Kit, SqliteKit, a_batch, a_net, a_run


@pytest.fixture(params=["sqlite", "postgresql"])
def kit(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kit]:
    if request.param == "postgresql":
        pytest.importorskip("psycopg", reason="the extra «postgresql» is not installed")
    one = STORES[request.param](tmp_path)
    yield one
    one.close()


def work(
    run: int, firing: int, status: str = "TODO", who: str | None = None, tenant: str = "default"
) -> dict[str, Any]:
    return {
        "item_new": [(run, firing, 1, status, b"p", None, None, run * 10, run * 10)],
        "work_new": [(run, firing, tenant, status, "bot", who, "MANUAL", 3)],
    }  # fmt: skip


def filled(kit: Kit) -> Any:
    store = kit.open()
    a_net(store)
    store.commit(a_batch(new=[a_run(1), a_run(2), a_run(3, tenant="other"), a_run(4)]))
    for one in (
        work(1, 2), work(1, 3, "DONE", "kim"), work(2, 2, "TODO", "kim"), work(3, 2, "TODO", "kim", "other"),
        work(4, 7, "SUBMITTED", "bot"),
    ):  # fmt: skip
        store.commit(a_batch(**one))
    return store


def found(rows: list[Any]) -> list[tuple[int, int]]:
    return [(row.run, row.firing) for row in rows]


def test_work_items_by_status_and_assignee(kit: Kit) -> None:
    """P-X.5, P-X.28: of one tenant, in the order of their runs, page by page; none of other languages."""
    store = filled(kit)
    store.commit(a_batch(item_new=[(4, 9, 1, "TODO", b"an approval", None, None, 1, 1)]))
    every = ("TODO", "IN_PROGRESS", "SUBMITTED", "DONE")
    assert found(store.work_items("default", every)) == [(1, 2), (1, 3), (2, 2), (4, 7)]
    assert found(store.work_items("default", ("TODO",))) == [(1, 2), (2, 2)]
    assert found(store.work_items("default", every, assignee="kim")) == [(1, 3), (2, 2)]
    assert found(store.work_items("other", ("TODO",), assignee="kim")) == [(3, 2)]
    assert found(store.work_items("default", every, limit=2)) == [(1, 2), (1, 3)]
    assert found(store.work_items("default", every, after=(1, 3), limit=2)) == [(2, 2), (4, 7)]
    assert store.work_items("default", ("REWORK",)) == []
    assert found(store.work_of(1)) == [(1, 2), (1, 3)]
    (row,) = store.work_items("default", ("SUBMITTED",))
    assert (row.run_id, row.assignee, row.mode, row.version) == ("r000000000000004", "bot", "MANUAL", 3)
    assert (row.prompt, row.opened_at) == (b"p", 40)


def test_what_was_done_of_some_nets(kit: Kit) -> None:
    """P-7.3.2, P-7.5.2, P-X.24: of one tenant and some nets, in the order of their runs, page by page; since a moment,
    also in runs that have ended since."""
    store = kit.open()
    a_net(store)
    rows = [a_run(n) for n in (1, 2, 3)]
    rows += [a_run(4, tenant="other"), a_run(5, status=5, updated_at=50), a_run(6, status=5, updated_at=60)]
    store.commit(a_batch(new=rows))
    for run, firing, status, tenant in (
        (1, 2, "DONE", "default"), (1, 3, "COMPENSATED", "default"), (2, 2, "TODO", "default"),
        (3, 2, "DONE", "default"), (4, 2, "DONE", "other"), (5, 2, "DONE", "default"), (6, 2, "DONE", "default"),
    ):  # fmt: skip
        store.commit(a_batch(**work(run, firing, status, "kim", tenant)))
    both = ("DONE", "COMPENSATED")
    assert found(store.done_items("default", (1,), ("DONE",))) == [(1, 2), (3, 2), (5, 2), (6, 2)]
    assert found(store.done_items("default", (1, 9), both)) == [(1, 2), (1, 3), (3, 2), (5, 2), (6, 2)]
    assert found(store.done_items("default", (1,), both, after=(1, 2), limit=2)) == [(1, 3), (3, 2)]
    assert found(store.done_items("default", (1,), both, since=30)) == [(3, 2), (5, 2), (6, 2)]
    assert found(store.done_items("default", (1,), both, since=30, after=(5, 2))) == [(6, 2)]
    assert found(store.done_items("default", (1,), both, since=60)) == [(6, 2)]
    assert found(store.done_items("other", (1,), both)) == [(4, 2)]
    assert store.done_items("default", (9,), both) == [] and store.done_items("default", (), both) == []
    row = store.done_items("default", (1,), ("COMPENSATED",))[0]
    assert (row.run_id, row.status, row.assignee, row.mode) == ("r000000000000001", "COMPENSATED", "kim", "MANUAL")
    assert (row.prompt, row.moved_at) == (b"p", 10)


def test_who_has_a_work_item(kit: Kit) -> None:
    """P-X.13, P-X.40: a move says who has it, or the agent, or nobody, or nothing; also several in one commit."""
    store = filled(kit)

    def move(*moves: tuple[Any, ...]) -> tuple[Any, ...]:
        store.commit(a_batch(work_moved=[(*one, 1, 2) for one in moves]))
        row = store.work_of(1)[0]
        return row.status, row.assignee, row.mode, row.version

    assert move(("IN_PROGRESS", "lee", None, 4)) == ("IN_PROGRESS", "lee", "MANUAL", 4)
    assert move(("IN_PROGRESS", None, "SUPERVISED", 5)) == ("IN_PROGRESS", "lee", "SUPERVISED", 5)
    assert move(("IN_PROGRESS", AGENT, None, 6)) == ("IN_PROGRESS", "bot", "SUPERVISED", 6)
    assert move(("TODO", "", None, 7)) == ("TODO", None, "SUPERVISED", 7)
    told = move(("IN_PROGRESS", "kim", "MANUAL", 8), ("DONE", None, None, 9))
    assert told == ("DONE", "kim", "MANUAL", 9)
    store.commit(a_batch(work_moved=[("DONE", "kim", None, 9, 99, 1)]))  # of a run that is of no process


def a_process(version: int = 1, name: str = "p", kind: str | None = "base", **more: Any) -> ReleaseRow:
    said = {"process_definition_id": name, "process_definition_name": "절차", **more.pop("said", {})}
    row: dict[str, Any] = {"status": "active", "created_by": "kim", "bpmn": "<절차/>".encode(), **more}
    return ReleaseRow(
        "t", name, version, f"00000000-0000-0000-0000-00000000000{version}", row.pop("status"), "h", 1,
        json.dumps(said, ensure_ascii=False).encode(), None, row.pop("created_by"), 1000 * version, kind=kind, **row,
    )  # fmt: skip


def test_versions_of_processes(kit: Kit) -> None:
    """P-2.3.1, P-2.3.2: kept with their BPMN, diff and origin; found by type; an event is written with its version."""
    store = kit.open()
    a_net(store)
    diff, origin = b'{"activities":{}}', b'{"event_log_id":"log-1","fitness":0.8,"precision":0.9}'
    assert store.put_release(a_process(status="deprecated"))
    assert store.put_release(a_process(2, diff=diff, dmn=b"<dmn/>"))
    told = [(0, 1, "DISCOVERED_MODEL_IMPORTED", b"x", 0, 0)]
    mined = a_process(1, "mined", "discovered", origin=origin, status="pending_approval")
    assert store.put_release(mined, told)
    assert not store.put_release(mined, told), "and nothing is told again"
    assert store.put_release(a_process(1, "workflow", None))
    assert [row[3] for row in store.outbox(10, 10)] == ["DISCOVERED_MODEL_IMPORTED"]
    assert [(row.name, row.version) for row in store.releases("t", kind="*")] == [("mined", 1), ("p", 1), ("p", 2)]
    assert [row.name for row in store.releases("t", kind="discovered")] == ["mined"]
    assert store.releases("t", "workflow", kind="*") == []
    assert store.release("t", "p", 2) == a_process(2, diff=diff, dmn=b"<dmn/>")


def test_the_seeds_tables_can_be_read(kit: Kit) -> None:
    """P-7.5.5, P-2.3.1, P-2.3.2, P-2.3.3, P-X.6, P-X.26: proc_def as it is in force, every version, links to logs."""
    store = kit.open()
    a_net(store)
    store.put_release(a_process(status="deprecated"))
    store.put_release(a_process(2, diff=b'{"a":1}', said={"parent_id": "up"}, dmn=b"<dmn/>"))
    store.put_release(a_process(3, status="pending_approval"))
    origin = b'{"event_log_id":"log-1","fitness":0.8,"precision":0.9}'
    said = {"source_event_log_id": "log-1"}
    store.put_release(a_process(4, "mined", "discovered", origin=origin, said=said))
    store.put_release(a_process(5, "workflow", None))
    whole = {name: _view(kit, name) for name in ("proc_def", "proc_def_version", "proc_def_mining_link")}
    shown = {row["id"]: row for row in whole["proc_def"]}
    first, mined = (f"00000000-0000-0000-0000-00000000000{n}" for n in (1, 4))
    assert set(shown) == {first, mined}
    assert [*shown[first]] == [
        "id", "name", "bpmn", "definition", "type", "tenant_id", "created_at", "updated_at", "parent_id",
        "source_event_log_id", "dmn",
    ]  # fmt: skip
    row = shown[first]
    assert (row["name"], row["bpmn"], row["type"], row["tenant_id"]) == ("절차", "<절차/>", "base", "t")
    assert (row["parent_id"], row["dmn"], shown[mined]["source_event_log_id"]) == ("up", "<dmn/>", "log-1")
    assert "1970-01-01" in str(row["created_at"]) and str(row["created_at"]) < str(row["updated_at"])
    versions = [(row["proc_def_id"], row["version"], _read(row["diff"])) for row in whole["proc_def_version"]]
    assert sorted(versions, key=lambda one: one[1]) == [
        (first, 1, None), (first, 2, {"a": 1}), (first, 3, None), (mined, 4, None),
    ]  # fmt: skip
    assert [*whole["proc_def_version"][0]] == ["id", "proc_def_id", "version", "snapshot", "diff", "created_at"]
    (link,) = whole["proc_def_mining_link"]
    assert link == {"proc_def_id": mined, "event_log_id": "log-1", "fitness": 0.8, "precision": 0.9}


def _read(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


def _view(kit: Any, name: str) -> list[dict[str, Any]]:
    if isinstance(kit, SqliteKit):
        with sqlite3.connect(kit.path) as c:
            c.row_factory = sqlite3.Row
            return [dict(row) for row in c.execute(f"SELECT * FROM {name}")]
    import psycopg
    from psycopg.rows import dict_row

    with psycopg.connect(str(kit.url), row_factory=dict_row) as c:
        rows = c.execute(f"SELECT * FROM {name}").fetchall()
    return [{key: str(value) if key.endswith("id") and value else value for key, value in row.items()} for row in rows]
