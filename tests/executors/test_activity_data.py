"""process_data and assign: what an activity reads and writes, and who of a role gets it."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest

from penstock.executors import ExecutorTable
from penstock.executors.activity_data import ActivityDataExecutor
from penstock.executors.assign import AssignExecutor
from penstock.executors.contract import Services
from tests.executors.bench import as_json
from tests.executors.desk import Desk

DATA, ASSIGN = ActivityDataExecutor(), AssignExecutor()


class Shelved(Desk):
    @property
    def services(self) -> Services:
        return msgspec.structs.replace(super().services, executors=ExecutorTable({}))


@pytest.fixture
def desk(tmp_path: Path) -> Shelved:
    made = Shelved(tmp_path)
    base = sqlite3.connect(tmp_path / "erp.db")
    base.executescript("CREATE TABLE orders (id TEXT PRIMARY KEY, amount INT, secret TEXT);")
    base.executemany("INSERT INTO orders VALUES (?, ?, 'x')", [("A", 10), ("B", 20)])
    base.commit()
    base.close()
    made.settings |= {"sql.root": tmp_path, "http.allow": ["127.0.0.1"]}
    made.register("connection", "erp", type="sqlite", path="erp.db", options={"tables": ["orders"]})
    return made


def entry(type: str, source: str, *fields: str, name: str = "rows") -> dict[str, Any]:
    return {"name": name, "type": type, "source": source, "fields": list(fields)}


def read(desk: Shelved, *entries: dict[str, Any], **variables: Any) -> Any:
    return desk.done(DATA, {"op": "read", "data": list(entries), "variables": variables}).body


def test_a_statement_and_a_table(desk: Shelved) -> None:
    """P-X.42, P-2.2.4: sql binds its names from the variables, db reads a table; rows are cut down to `fields`."""
    one = entry("sql", "erp#SELECT * FROM orders WHERE amount > :least", "id")
    assert read(desk, one, least=15) == {"rows": [{"id": "B"}]}
    assert read(desk, entry("db", "erp#orders", "id", "amount")) == {
        "rows": [{"id": "A", "amount": 10}, {"id": "B", "amount": 20}]
    }
    bad = {"op": "read", "data": [entry("db", 'erp#orders"; DROP TABLE orders; --')]}
    assert desk.failed(DATA, bad).code == "INPUT_INVALID"
    assert "«rows»" in desk.failed(DATA, {"op": "read", "data": [entry("db", "nowhere#orders")]}).message


def test_an_api_and_a_file(desk: Shelved, serve: Any, tmp_path: Path) -> None:
    """P-X.42: api is a GET of a path, file a path under the tenant's folder."""
    server = serve(lambda seen: as_json([{"path": seen.path, "more": 1}]))
    desk.register("connection", "crm", type="http", base_url=server.url)
    assert read(desk, entry("api", "crm#/lines/{line}", "path"), line="L 1") == {"rows": [{"path": "/lines/L%201"}]}
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "L1.json").write_text('[{"a": 1, "b": 2}]')
    desk.register("connection", "docs", type="file", root=str(tmp_path / "files"))
    assert read(desk, entry("file", "docs#{line}.json", "a"), line="L1") == {"rows": [{"a": 1}]}


def test_results_are_written_once(desk: Shelved, serve: Any, tmp_path: Path) -> None:
    """P-X.42: result[name] by an insert, a POST and a file, each with its own key; a repetition changes nothing."""
    server = serve(lambda seen: as_json({}))
    desk.register("connection", "crm", type="http", base_url=server.url)
    data = [
        entry("db", "erp#orders", "id", "amount", name="order"),
        entry("api", "crm#/orders", "id", name="order"),
        entry("file", "out.json", name="report"),
        entry("db", "erp#orders", name="absent"),
    ]
    result = {"order": {"id": "C", "amount": 3, "noise": 1}, "report": {"n": 1}}
    for _ in range(2):
        desk.done(DATA, {"op": "write", "data": data, "result": result, "variables": {}})
    base = sqlite3.connect(tmp_path / "erp.db")
    assert base.execute("SELECT id, amount, secret FROM orders WHERE id = 'C'").fetchall() == [("C", 3, None)]
    assert server.seen[0].method == "POST" and server.seen[0].json == {"id": "C"}
    assert len({seen.headers["idempotency-key"] for seen in server.seen}) == 1
    assert json.loads((desk.output_dir / "out.json").read_text()) == {"n": 1}


def test_a_write_that_fails_fails_the_activity(desk: Shelved) -> None:
    """P-X.42: failure of the write is the activity's failure."""
    data = [entry("db", "erp#customers", name="order")]
    args = {"op": "write", "data": data, "result": {"order": {"id": "C"}}, "variables": {}}
    assert desk.failed(DATA, args).message.startswith("«order»:")
    args["data"] = [entry("file", "out.exe", name="order")]
    assert desk.failed(DATA, args).code == "INPUT_INVALID"


def test_one_after_another(desk: Shelved) -> None:
    """P-X.13 round_robin: everybody of the role in turn, across calls; the same effect gets the same person again."""
    for id in ("kim", "lee", "park"):
        desk.register("user", id, roles=["clerk"])
    desk.register("user", "choi", roles=["boss"])
    args = {"rule": "round_robin", "role": "clerk"}
    said = [desk.done(ASSIGN, args, key=f"t/r/{n}").body["user"] for n in range(4)]
    assert said == ["kim", "lee", "park", "kim"]
    assert desk.done(ASSIGN, args, key="t/r/3").body["user"] == "kim"
    assert desk.done(ASSIGN, {"rule": "round_robin", "role": "nobody"}).body["user"] is None
    assert desk.failed(ASSIGN, {"rule": "by_dice"}).code == "INPUT_INVALID"


def test_whoever_has_least_to_do(desk: Shelved, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-X.13 least_loaded: who has the fewest open work items; of equals the first by name."""
    for id in ("kim", "lee"):
        desk.register("user", id, roles=["clerk"])
    assert desk.done(ASSIGN, {"rule": "least_loaded", "role_name": "clerk"}).body["user"] == "kim"
    monkeypatch.setattr(desk.tenant, "loads", lambda: {"kim": 2, "lee": 1})
    assert desk.done(ASSIGN, {"rule": "least_loaded", "role": "clerk"}).body["user"] == "lee"


def test_nobody_who_is_gone_gets_work(desk: Shelved) -> None:
    """P-X.13: what only somebody who may not act any more could do would lie there for ever."""
    desk.register("user", "kim", roles=["clerk"], active=False)
    for rule in ("round_robin", "least_loaded"):
        assert desk.done(ASSIGN, {"rule": rule, "role": "clerk"}).body["user"] is None
    desk.register("user", "lee", roles=["clerk"])
    assert desk.done(ASSIGN, {"rule": "least_loaded", "role": "clerk"}).body["user"] == "lee"
