"""The PostgreSQL store: its schema, views and versions, what it refuses, and a server that goes away and returns."""

from __future__ import annotations

import signal
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import (
    BadInput,
    ExtraMissing,
    Fenced,
    StoreAway,
    StoreBusy,
    StoreDenied,
    StoreError,
    StoreMissing,
    StoreNewer,
    StoreNotOurs,
)
from penstock.store import schema
from penstock.store.address import Server, open_store, place
from penstock.store.document_checkpoints import CheckpointRow
from penstock.store.postgres import schema as postgres_schema
from penstock.store.releases import ReleaseRow
from penstock.store.table_shape import Table
from penstock.store.tables import SERVER_TABLES, TABLES
from tests.contract.store_suite import PostgresKit, a_batch, a_net, a_run, a_turn, started

FIRST = Path(__file__).with_name("schema_2_postgresql.sql")
TYPE = {"int": "bigint", "text": "text", "blob": "bytea"}


@pytest.fixture
def kit(tmp_path: Path) -> Iterator[PostgresKit]:
    pytest.importorskip("psycopg", reason="the extra «postgresql» is not installed")
    one = PostgresKit(tmp_path)
    yield one
    one.close()


# ---- schema ----------------------------------------------------------------------------------------------------------


def shape(kit: PostgresKit) -> dict[str, Any]:
    """Columns, indexes and comments as the server itself tells them."""
    columns = kit.ask(
        "SELECT table_name, column_name, data_type, is_nullable, is_identity, collation_name,"
        " col_description(to_regclass(quote_ident(table_name)), ordinal_position::int)"
        " FROM information_schema.columns WHERE table_schema='public' ORDER BY 1, ordinal_position"
    )
    indexes = kit.ask("SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname='public' ORDER BY 2")
    views = kit.ask("SELECT viewname, definition FROM pg_views WHERE schemaname='public' ORDER BY 1")
    return {"columns": columns, "indexes": indexes, "views": views}


def test_the_server_has_the_columns_and_keys_that_are_declared(kit: PostgresKit) -> None:
    """H1: the journal is a heap whose key is (run, seq_from); every column has its comment."""
    kit.open()
    found = shape(kit)
    views = set(postgres_schema.VIEWS)
    by_table: dict[str, list[Any]] = {}
    for table, *column in found["columns"]:
        by_table.setdefault(table, []).append(column)
    assert set(by_table) - views == {t.name for t in (*TABLES, *SERVER_TABLES)}
    for table in (*TABLES, *SERVER_TABLES):
        _as_declared(table, by_table[table.name])
    defs = {name: text for _, name, text in found["indexes"]}
    assert defs["journal_pkey"].endswith("(run, seq_from)")
    missing = [i.name for t in TABLES for i in t.indexes if i.name not in defs and i.name != "journal_run"]
    assert missing == []


def _as_declared(table: Table, found: list[Any]) -> None:
    columns = postgres_schema.columns_of(table)
    assert [(name, kind) for name, kind, *_ in found] == [(c.name, TYPE[c.type]) for c in columns]
    assert [null == "YES" for _, _, null, *_ in found] == [c.null for c in columns]
    assert [collation for *_, collation, _ in found] == ["C" if c.type == "text" else None for c in columns]
    assert [comment for *_, comment in found] == [c.comment for c in columns]


def test_the_session_is_safe_by_its_settings(kit: PostgresKit) -> None:
    """RELIABILITY g.2: durable commits, and nobody waits for ever."""
    store = kit.open()
    asked = {
        "synchronous_commit": "on", "statement_timeout": "30s", "lock_timeout": "3s",
        "idle_in_transaction_session_timeout": "10s", "client_connection_check_interval": "1s",
        "transaction_isolation": "read committed",
    }  # fmt: skip
    assert {name: store._one(f"SHOW {name}") for name in asked} == asked


# ---- the seeds' views ------------------------------------------------------------------------------------------------


def test_workflow_versions_has_the_columns_and_types_of_the_seed(kit: PostgresKit) -> None:
    """W-9.3.1: JSONB, TIMESTAMPTZ, UUID and INTEGER as the seed says; a character that JSONB cannot hold is shown."""
    row = ReleaseRow(
        "t", "wf", 1, str(uuid.UUID(int=7)), "pending_approval", "h", 1, '{"id":"가\\u0000"}'.encode(), None, "kim",
        1500, change_summary="first",
    )  # fmt: skip
    kit.open().put_release(row)
    sql = "SELECT * FROM workflow_versions WHERE dsl ->> 'id' LIKE '가%'"
    assert kit.ask(sql) == [
        (
            uuid.UUID(int=7), "wf", 1, "t", {"id": "가␀"}, "h", "pending_approval", "kim",
            datetime(1970, 1, 1, 0, 0, 1, 500_000, UTC), None, None, None, "first",
        )
    ]  # fmt: skip
    types = {name: kind for table, name, kind, *_ in shape(kit)["columns"] if table == "workflow_versions"}
    assert types == {
        "id": "uuid", "workflow_id": "text", "version": "integer", "tenant_id": "text", "dsl": "jsonb",
        "dsl_hash": "text", "status": "text", "created_by": "text", "created_at": "timestamp with time zone",
        "approved_by": "text", "approved_at": "timestamp with time zone",
        "deprecated_at": "timestamp with time zone", "change_summary": "text",
    }  # fmt: skip


def test_workflow_checkpoints_has_the_columns_and_types_of_the_seed(kit: PostgresKit) -> None:
    """W-8.2.1, C-84: a document's checkpoints; the engine's own for a run that has none."""
    store = kit.open()
    a_net(store)
    store.commit(a_batch(new=[a_run(1), a_run(2, checkpoint_seq=3, checkpoint=b"12345")]))
    run = f"r{1:015d}"
    row = CheckpointRow(
        run, 1, str(uuid.UUID(int=1)), "n", "running", b'{"a": 1}', b"{}", None, 9, "database", 0, 2000, 9000
    )
    store.commit(a_batch(checkpoint=[tuple(getattr(row, name) for name in row.__struct_fields__)]))
    sql = "SELECT instance_id, checkpoint_number, node_id, status, context_snapshot, node_outputs, pending_events"
    assert kit.ask(f"{sql} FROM workflow_checkpoints ORDER BY instance_id") == [
        (run, 1, "n", "running", {"a": 1}, {}, None),
        (f"r{2:015d}", 0, "", "running", {"facts": 3, "bytes": 5}, None, None),
    ]
    types = [kind for table, _, kind, *_ in shape(kit)["columns"] if table == "workflow_checkpoints"]
    moment = "timestamp with time zone"
    assert types == ["uuid", "text", "integer", "text", "text", "jsonb", "jsonb", "jsonb", moment]


def test_a_text_with_the_character_0_does_not_stop_the_engine(kit: PostgresKit) -> None:
    """A server's text cannot hold it. It is kept as the picture of it, for everybody alike."""
    store = kit.open()
    a_net(store)
    store.commit(started(1, key="a\0b"))
    found = store.run_by_key("default", "a\0b")
    assert found is not None and found.key == "a␀b"
    with pytest.raises(StoreError):
        store.commit(started(2, key="a\ud800b"))
    store.commit(started(2))


def test_a_firing_that_was_revived_settles_a_second_time(kit: PostgresKit) -> None:
    """The later row counts. The batch is still one: with a turn that somebody has taken nothing of it is written."""
    store = kit.open()
    a_net(store)
    store.commit(a_batch(new=[a_run(1)], journal=[a_turn(1, 1)], firing=[(1, 1, 1, 0, 1, 1, 1, 5, 6)]))
    store.commit(a_batch(journal=[a_turn(1, 2)], firing=[(1, 2, 1, 0, 1, 1, 0, 7, 8), (1, 1, 1, 0, 1, 2, 0, 7, 8)]))
    settled = [(1, 1, 1, 0, 1, 2, 0, 7, 8), (1, 2, 1, 0, 1, 1, 0, 7, 8)]
    assert kit.rows("firing") == settled
    with pytest.raises(Fenced):
        store.commit(a_batch(journal=[a_turn(1, 2)], firing=[(1, 1, 1, 0, 1, 3, 0, 9, 9)]))
    assert kit.rows("firing") == settled and len(kit.rows("journal")) == 2


# ---- versions --------------------------------------------------------------------------------------------------------


def test_migrations_lead_from_the_first_schema_to_this_one(
    kit: PostgresKit, tmp_path: Path, golden: Callable[[Path, str], None]
) -> None:
    """V3: a change of `tables.py` without a version and its migration on a server fails here, too."""
    if schema.VERSION == postgres_schema.FIRST:
        golden(FIRST, "".join(f"{line};\n" for line in postgres_schema.create_all() if not line.startswith("COMMENT")))
    assert sorted(postgres_schema.MIGRATIONS) == list(range(postgres_schema.FIRST + 1, schema.VERSION + 1))
    kit.open()
    (tmp_path / "migrated").mkdir()
    old = PostgresKit(tmp_path / "migrated")
    old.ask(FIRST.read_text(encoding="utf-8"))
    for version in sorted(postgres_schema.MIGRATIONS):
        for statement in postgres_schema.MIGRATIONS[version]:
            old.ask(statement)
    assert without_comments(shape(old)) == without_comments(shape(kit))


def without_comments(found: dict[str, Any]) -> dict[str, Any]:
    """They are for people, and need no new version."""
    return {**found, "columns": [column[:-1] for column in found["columns"]]}


def test_an_older_store_is_brought_up_to_date_at_once(kit: PostgresKit, monkeypatch: pytest.MonkeyPatch) -> None:
    """V3: a migration that fails half-way leaves the old store; one that works keeps what is in it."""
    now, then = schema.VERSION, schema.VERSION + 1
    store = kit.open()
    a_net(store)
    store.commit(started(1))
    kit.close()
    monkeypatch.setattr("penstock.store.postgres.store.VERSION", then)
    add = 'ALTER TABLE "run" ADD COLUMN "colour" text'
    monkeypatch.setitem(postgres_schema.MIGRATIONS, then, (add, "this is no statement"))
    with pytest.raises(StoreError):
        kit.open()
    assert kit.ask("SELECT value FROM mark WHERE name='schema_version'") == [(now,)]
    assert not [row for row in shape(kit)["columns"] if row[1] == "colour"]
    monkeypatch.setitem(postgres_schema.MIGRATIONS, then, (add,))
    assert kit.open().last_run() == 1
    assert kit.ask("SELECT no, colour FROM run") == [(1, None)]
    assert kit.ask("SELECT value FROM mark WHERE name='schema_version'") == [(then,)]


@pytest.mark.parametrize("engine", [True, False])
def test_a_newer_store_is_refused_and_left_alone(kit: PostgresKit, engine: bool) -> None:
    """H14, V3: an old program does not touch what it does not know."""
    kit.open()
    kit.close()
    kit.ask("UPDATE mark SET value=99 WHERE name='schema_version'")
    before = kit.rows("mark"), kit.rows("worker")
    with pytest.raises(StoreNewer, match="99"):
        kit.open(engine=engine)
    assert (kit.rows("mark"), kit.rows("worker")) == before


@pytest.mark.parametrize(
    "theirs", ["CREATE TABLE theirs(x int)", "CREATE TABLE mark(x int)", "CREATE VIEW v AS SELECT 1"]
)
def test_somebody_elses_schema_is_refused_and_left_alone(kit: PostgresKit, theirs: str) -> None:
    kit.ask(theirs)
    before = shape(kit)
    with pytest.raises(StoreNotOurs) as refused:
        kit.open()
    assert "of its own" in refused.value.facts["hint"]
    assert shape(kit) == before


def test_a_schema_of_its_own_in_somebody_elses_database(kit: PostgresKit) -> None:
    """And two of them beside each other, each with its own engine."""
    kit.ask("CREATE TABLE theirs(x int); CREATE SCHEMA ours; CREATE SCHEMA yours")
    stores = [open_store(f"{kit.url}?options=-csearch_path%3D{name}") for name in ("ours", "yours")]
    for store in stores:
        a_net(store)
        store.commit(started(1))
    with pytest.raises(StoreBusy):
        open_store(f"{kit.url}?options=-csearch_path%3Dours")
    for store in stores:
        store.close()
    assert kit.ask("SELECT no FROM ours.run") == kit.ask("SELECT no FROM yours.run") == [(1,)]


def test_none_is_made_for_who_only_looks(kit: PostgresKit) -> None:
    assert not place(kit.url).exists()
    with pytest.raises(StoreMissing):
        open_store(kit.url, engine=False, create=False)
    assert shape(kit)["columns"] == []
    kit.open()
    assert place(kit.url).exists()
    open_store(kit.url, engine=False, create=False).close()


def test_several_who_open_it_first_make_it_once(kit: PostgresKit) -> None:
    kit.url  # noqa: B018  (the database is made before the race)
    wrong: list[BaseException] = []

    def go() -> None:
        try:
            open_store(kit.url, engine=False).close()
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=go) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# ---- addresses -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "shown", "more"),
    [
        ("postgresql://kim:geheim@db.example:5433/p", "postgresql://kim@db.example:5433/p", {"password": "geheim"}),
        ("postgres://kim:ge%40h@db/p?sslmode=require", "postgresql://kim@db/p", {"sslmode": "require"}),
        (Path("postgresql://kim:geheim@db/p"), "postgresql://kim@db/p", {"password": "geheim", "host": "db"}),
        (Path("postgresql:///p"), "postgresql:///p", {"dbname": "p"}),
        ("postgresql://kim:a@b@db/p", "postgresql://kim@db/p", {"password": "a@b", "host": "db"}),
        ("postgresql://[::1]:5433/p", "postgresql://[::1]:5433/p", {"host": "::1"}),
    ],
)
def test_an_address_never_shows_its_password(given: str | Path, shown: str, more: dict[str, str]) -> None:
    server = place(given)
    assert isinstance(server, Server)
    assert {str(server), f"{server}"} == {shown} and "geheim" not in repr(server)
    assert more.items() <= server.conninfo.items()
    assert server.parent == Path(".penstock") and place(server) is server


@pytest.mark.parametrize("bad", ["postgresql://u:geheim/x@h/p", "postgresql://h:geheim/p", "postgresql://u@h/p?geheim"])
def test_an_address_that_is_none_is_refused_without_quoting_it(bad: str) -> None:
    with pytest.raises(BadInput) as refused:
        place(bad)
    assert "geheim" not in str(refused.value) + str(refused.value.facts)


def test_an_unknown_option_is_refused(kit: PostgresKit) -> None:
    with pytest.raises(BadInput, match="colour"):
        open_store(f"{kit.url}?colour=red")


def test_a_server_that_does_not_answer() -> None:
    """H13: in words, with a hint, and it may pass."""
    pytest.importorskip("psycopg")
    with pytest.raises(StoreAway, match=r"postgresql://kim@127\.0\.0\.1:1/p") as away:
        open_store("postgresql://kim:geheim@127.0.0.1:1/p")
    assert away.value.passing and "running" in away.value.facts["hint"] and "geheim" not in str(away.value)


def test_without_the_extra_its_name_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(ExtraMissing, match=r"penstock\[postgresql\]"):
        open_store("postgresql://kim@127.0.0.1:1/p")


def test_wrong_passwords_users_databases_and_rights(tmp_path: Path) -> None:
    """Each in the server's words, without the password; none of them passes by itself."""
    pytest.importorskip("psycopg")
    from tests.servers.postgres import own

    server = own("-c", "fsync=off")
    (server.home / "hba").write_text("host all postgres all trust\nhost all all all scram-sha-256\n")
    server.stop()
    server.options += ("-c", f"hba_file={server.home / 'hba'}")
    server.start()
    tmp_path.joinpath("store.url").write_text(server.database("p"))
    admin = PostgresKit(tmp_path)
    admin.ask("CREATE ROLE kim LOGIN PASSWORD 'right'")
    at = f"127.0.0.1:{server.port}"
    for address in (f"kim:geheim@{at}/p", f"kim@{at}/p", f"nobody:geheim@{at}/p", f"postgres@{at}/none"):
        with pytest.raises(StoreDenied) as denied:
            open_store(f"postgresql://{address}")
        assert "geheim" not in str(denied.value) and not denied.value.passing and denied.value.hint
    with pytest.raises(StoreDenied, match="permission denied"):
        open_store(f"postgresql://kim:right@{at}/p")  # she may log in, and make nothing
    admin.ask("GRANT CREATE ON SCHEMA public TO kim")
    open_store(f"postgresql://kim:right@{at}/p").close()
    server.stop()


def test_a_database_of_another_encoding_is_refused(kit: PostgresKit) -> None:
    name = f"latin_{time.time_ns()}"
    kit.ask(f"CREATE DATABASE {name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(StoreError, match="LATIN1"):
        open_store(kit.url.rpartition("/")[0] + f"/{name}")


# ---- connections that are lost ---------------------------------------------------------------------------------------


def end_sessions(kit: PostgresKit) -> None:
    kit.ask("SELECT pg_terminate_backend(pid, 2000) FROM pg_stat_activity WHERE application_name='penstock'")


def test_r6_a_session_that_was_ended_is_made_anew(kit: PostgresKit) -> None:
    """R6, H5: reads, writes and commits go on; nothing is there twice, and the store is still the engine's."""
    store, reader = kit.open(), kit.open(engine=False)
    a_net(store)
    for n in range(1, 21):
        end_sessions(kit)
        store.commit(started(n))
        end_sessions(kit)
        assert reader.last_run() == n
        end_sessions(kit)
        assert store.last_run() == n
        end_sessions(kit)
        reader.put_inbox(n, b"c", 1)
    assert [len(tail) for _, tail in store.load(range(1, 21))] == [1] * 20
    assert len(store.inbox()) == 20
    with pytest.raises(StoreBusy):
        kit.make(engine=True)


def test_h2_whoever_lost_the_store_while_it_was_away_is_fenced(kit: PostgresKit) -> None:
    """H2, H3: the connection is lost, another host takes the store, and the first one comes back."""
    old = kit.open()
    a_net(old)
    old.commit(started(1))
    old.c.close()
    new = kit.open()
    assert new.fence == old.fence + 1
    before = kit.rows("run")
    for _ in range(2):
        with pytest.raises(Fenced):
            old.commit(started(2))
        with pytest.raises(Fenced):
            old.last_run()
    assert kit.rows("run") == before
    new.commit(started(2))


def test_r4_an_answer_that_is_lost_is_told_from_a_batch_that_is_lost(kit: PostgresKit) -> None:
    """R4, H5: found committed where only the answer was lost; done again, once, where the question was."""
    from tests.servers.postgres_proxy import Proxy

    proxy = Proxy(kit.url)
    store: Any = open_store(proxy.url)
    a_net(store)
    store.commit(started(1))
    for n in range(2, 42):
        proxy.cut = "answer" if n % 2 else "question"
        store.commit(started(n))
        assert not proxy.cut
    assert proxy.cuts == {"question": 20, "answer": 20}
    assert store.answers_lost == 20, "found committed"
    assert [(row.no, len(tail)) for row, tail in store.load(range(50))] == [(n, 1) for n in range(1, 42)]
    store.close()
    proxy.close()


def test_h13_a_server_that_is_away_is_said_and_waited_for(tmp_path: Path) -> None:
    """H8, H13, R3: `stop -m immediate`, again and again while batches are committed: StoreAway, nothing that was
    acknowledged is lost, and the same store goes on when the server is there again."""
    pytest.importorskip("psycopg")
    from tests.servers.postgres import own

    server = own()
    tmp_path.joinpath("store.url").write_text(server.database("p"))
    kit = PostgresKit(tmp_path)
    store = kit.open()
    a_net(store)
    acknowledged, away = 0, 0
    for round_ in range(3):
        killer = threading.Timer(0.15 + 0.1 * round_, server.stop, [signal.SIGQUIT])
        killer.start()
        n = store.last_run()
        try:
            while True:
                n += 1
                store.commit(started(n, turns=3))
                acknowledged = n
        except StoreAway:
            away += 1
        killer.join()
        with pytest.raises(StoreAway):
            store.commit(started(n))
        with pytest.raises(StoreAway):
            list(store.journal(1))
        with pytest.raises(StoreAway):
            store.put_inbox(1, b"c", 1)
        server.start()
        there = store.last_run()
        assert acknowledged <= there <= acknowledged + 1
        assert [len(tail) for _, tail in store.load(range(1, there + 1))] == [3] * there
        store.commit(started(there + 1, turns=3))
        acknowledged = there + 1
    assert away == 3 and acknowledged > 10
    kit.close()
    server.stop()
