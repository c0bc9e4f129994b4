"""sql: values are bound, statements only read, and answers are rows that JSON can hold."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
import time

import pytest

from penstock.executors.sql import SqlExecutor
from penstock.lang.sqltext import check_statement, parameters
from tests.executors.desk import Desk

SQL = SqlExecutor()
SAMPLE = "SELECT * FROM fact_daily_defect WHERE line_id = :line_id AND date >= :start_date"
DEFECTS = [("L01", "2024-01-01", 3, 0.02), ("L01", "2024-01-05", 7, 0.07), ("L02", "2024-01-05", 1, None)]


@pytest.fixture
def desk(tmp_path):
    made = Desk(tmp_path)
    base = sqlite3.connect(made.input_dir / "facts.db")
    base.execute("CREATE TABLE fact_daily_defect (line_id TEXT, date TEXT, defect_count INTEGER, defect_rate REAL)")
    base.executemany("INSERT INTO fact_daily_defect VALUES (?, ?, ?, ?)", DEFECTS)
    base.commit()
    base.close()
    made.register("connection", "postgres_main", type="sqlite", path="facts.db")
    made.register("connection", "default_sql", type="sqlite", path="facts.db")
    return made


def ask(desk, query, params=None, connection="postgres_main", **more):
    return desk.done(SQL, {"connection": connection, "query": query, "params": params, **more})


def refused(desk, query, params=None, **more):
    return desk.failed(SQL, {"connection": "postgres_main", "query": query, "params": params, **more})


def count(desk):
    with contextlib.closing(sqlite3.connect(desk.input_dir / "facts.db")) as base:
        return base.execute("SELECT count(*) FROM fact_daily_defect").fetchone()[0]


# ---- what it answers -------------------------------------------------------------------------------------------------


def test_the_sample_query(desk):
    """W-4.1.1: named parameters, and an array of row objects."""
    done = ask(desk, SAMPLE, {"line_id": "L01", "start_date": "2024-01-02"})
    assert done.body == [{"line_id": "L01", "date": "2024-01-05", "defect_count": 7, "defect_rate": 0.07}]
    assert done.meta["rows"] == 1


def test_without_a_connection_the_default_is_asked(desk):
    """C-24: an absent connection is default_sql; one that nobody has registered is told by its name."""
    assert len(desk.done(SQL, {"query": "SELECT * FROM fact_daily_defect"}).body) == 3
    failure = desk.failed(SQL, {"connection": "nowhere", "query": "SELECT 1"})
    assert (failure.code, failure.category) == ("CONNECTION_NOT_FOUND", "validation")
    assert "nowhere" in failure.message
    desk.tenant.things["connection"].clear()
    assert "default_sql" in desk.failed(SQL, {"query": "SELECT 1"}).message


@pytest.mark.parametrize("body", [{}, {"path": ""}, {"url": "sqlite:///"}, {"path": "a\0b"}, {"path": None}])
def test_a_connection_that_names_no_file(desk, body):
    """C-24, C-80: told as a connection that is not there, before any file is looked for."""
    desk.register("connection", "postgres_main", type="sqlite", **body)
    failure = refused(desk, "SELECT 1")
    assert (failure.code, failure.category) == ("CONNECTION_NOT_FOUND", "validation")
    assert "postgres_main" in failure.message and "no file" in failure.message


def test_another_tenants_connection_is_not_found(desk):
    assert desk.failed(SQL, {"query": "SELECT 1"}, tenant="other").code == "CONNECTION_NOT_FOUND"


def test_values_never_become_text(desk):
    """W-4.1.2: a value that looks like SQL is a value."""
    evil = "L01' OR '1'='1"
    assert ask(desk, "SELECT * FROM fact_daily_defect WHERE line_id = :x", {"x": evil}).body == []
    assert ask(desk, "SELECT :x AS x", {"x": "'; DROP TABLE fact_daily_defect; --"}).body[0]["x"].startswith("';")
    assert count(desk) == 3


def test_names_are_read_outside_texts_comments_and_casts(desk):
    """C-25: `:name` counts neither in a literal nor in a comment nor after a colon."""
    query = """SELECT ':no' AS a, "line_id" AS ":b", `date` AS c -- :not, it's a comment
               FROM fact_daily_defect /* nor :here ' */ WHERE [line_id] = :line_id LIMIT 1"""
    assert ask(desk, query, {"line_id": "L02"}).body == [{"a": ":no", ":b": "L02", "c": "2024-01-05"}]
    assert parameters("SELECT a::text, b :: int, ARRAY['x:y'][1], :c, E'\\':d' FROM t WHERE e = :e AND f = :c") == [
        "c",
        "e",
    ]


def test_a_missing_parameter_is_told(desk):
    """C-25: a name without a value is a validation failure, before the database is asked."""
    failure = refused(desk, SAMPLE, {"line_id": "L01"})
    assert (failure.code, failure.category) == ("SQL_PARAMETER_MISSING", "validation")
    assert ":start_date" in failure.message


def test_null_is_bound_as_null(desk):
    """C-31: a null parameter is NULL, and the trace says which."""
    done = ask(desk, "SELECT :x IS NULL AS gone", {"x": None})
    assert done.body == [{"gone": 1}]
    assert done.meta["null_params"] == ["x"]


@pytest.mark.parametrize(
    ("ids", "negated", "found"),
    [(["L01", "L02"], "", 3), (["L02"], "", 1), ([], "", 0), ([], "NOT", 3), (["L01"], "NOT", 1)],
)
def test_a_list_expands(desk, ids, negated, found):
    """C-25: list values expand for IN; nothing is in an empty list."""
    query = f"SELECT * FROM fact_daily_defect WHERE line_id {negated} IN (:ids)"
    assert len(ask(desk, query, {"ids": ids}).body) == found


def test_rows_are_plain(desk):
    done = ask(desk, "SELECT 1 AS id, 2 AS id, x'00ff' AS raw, 9e999 AS much, 'ü' AS text")
    assert done.body == [{"id": 1, "id_2": 2, "raw": "AP8=", "much": None, "text": "ü"}]


def test_the_result_is_held_against_the_schema(desk):
    """W-4.1.6: a mismatch is the node's failure, category validation."""
    schema = {"type": "array", "items": {"properties": {"defect_rate": {"type": "number"}}}}
    failure = refused(desk, "SELECT defect_rate FROM fact_daily_defect", output={"schema": schema})
    assert (failure.code, failure.category) == ("OUTPUT_SCHEMA", "validation")
    assert failure.detail["pointer"] == "/2/defect_rate"


# ---- what it refuses -------------------------------------------------------------------------------------------------

WRITES = [
    "DELETE FROM fact_daily_defect",
    "UPDATE fact_daily_defect SET line_id = 'x'",
    "INSERT INTO fact_daily_defect VALUES (1, 2, 3, 4)",
    "REPLACE INTO fact_daily_defect VALUES (1, 2, 3, 4)",
    "DROP TABLE fact_daily_defect",
    "SELECT 1; DELETE FROM fact_daily_defect",
    "SELECT 1; SELECT 2",
    "/* SELECT */ DELETE FROM fact_daily_defect",
    "-- SELECT\nDELETE FROM fact_daily_defect",
    "SELECT 1 /* /* */; DELETE FROM fact_daily_defect --*/",
    "WITH x AS (SELECT 1) DELETE FROM fact_daily_defect",
    "WITH x AS (SELECT 1) INSERT INTO fact_daily_defect SELECT 1, 2, 3, 4",
    "WITH x AS (DELETE FROM fact_daily_defect RETURNING *) SELECT * FROM x",
    "PRAGMA query_only = OFF",
    "ATTACH DATABASE 'other.db' AS other",
    "VACUUM INTO 'copy.db'",
    "COPY fact_daily_defect TO '/tmp/x'",
    "EXPLAIN DELETE FROM fact_daily_defect",
    "SELECT * INTO copied FROM fact_daily_defect",
    "SELECT load_extension('x')",
    "BEGIN",
]


@pytest.mark.parametrize("query", WRITES)
def test_a_statement_only_reads(desk, query):
    """W-4.1.2: a single SELECT or WITH; whatever writes is refused, also behind comments and in a CTE."""
    failure = refused(desk, query)
    assert (failure.code, failure.category) == ("SQL_NOT_READONLY", "validation")
    assert count(desk) == 3
    assert [problem.code for problem in check_statement(query, "sqlite")]


@pytest.mark.parametrize(
    "query",
    [
        "WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x",
        "SELECT * FROM t FOR UPDATE",
        "SELECT * FROM t FOR NO KEY UPDATE",
        "SELECT * FROM t FOR SHARE",
        "SELECT 1INTO t",
        "SELECT $$'$$; DELETE FROM t --'",
        "SELECT E'\\''; DELETE FROM t --'",
        "-- a line that ends in \r DELETE FROM t",
        "SELECT pg_notify('a', 'b')",
        "SELECT \"pg_read_file\"('/etc/passwd')",
        "SELECT pg_catalog.set_config('transaction_read_only', 'off', false)",
    ],
)
def test_what_postgresql_would_read_differently(query):
    """C-25: texts and comments are taken as the dialect at hand takes them."""
    assert {problem.code for problem in check_statement(query, "postgresql")} == {"SQL_NOT_READONLY"}


@pytest.mark.parametrize(
    "query", ["SELECT 'no end", "SELECT /* no end", 'SELECT "no end', "SELECT \0", "", "  -- only words", "SELECT ?1"]
)
def test_text_that_cannot_be_read(desk, query):
    failure = refused(desk, query)
    assert (failure.code, failure.category) == ("SQL_SYNTAX", "validation")


def test_a_template_in_the_text_is_refused(desk):
    """C-25: `${…}` does not stand in SQL, not even in a literal."""
    assert refused(desk, "SELECT '${input.x}'").code == "sql_interpolation"
    assert check_statement("SELECT ${input.x}")[0].code == "sql_interpolation"


@pytest.mark.parametrize(
    "query",
    [
        SAMPLE,
        "SELECT replace(a, 'into', 'x') FROM t;",
        "WITH a AS (SELECT 1) SELECT * FROM a",
        "(SELECT 1) UNION ALL (SELECT 2)",
        'SELECT "update", t.delete FROM t',
    ],
)
def test_what_reads_is_left_alone(query):
    assert check_statement(query) == []


def test_the_database_itself_refuses_writes(desk):
    """W-4.1.2: also what no reader of text can see, such as a virtual table of pragmas."""
    assert refused(desk, "SELECT * FROM pragma_table_info('fact_daily_defect')").code == "SQL_NOT_READONLY"
    assert ask(desk, "SELECT value FROM json_each(:list)", {"list": {"a": 5}}).body == [{"value": 5}]


def test_a_wrong_statement_is_told_in_the_databases_words(desk):
    failure = refused(desk, "SELECT nothing FROM fact_daily_defect")
    assert (failure.code, failure.category) == ("SQL_ERROR", "permanent")
    assert "nothing" in failure.message
    desk.register("connection", "postgres_main", type="sqlite", path="gone.db")
    assert refused(desk, "SELECT 1").code == "SQL_ERROR"
    assert not (desk.input_dir / "gone.db").exists()


@pytest.mark.parametrize("args", [None, [], {"query": 5}, {"query": "SELECT 1", "params": [1]}, {}])
def test_arguments_of_the_wrong_kind(desk, args):
    assert desk.failed(SQL, args).category == "validation"


# ---- limits ----------------------------------------------------------------------------------------------------------

COUNT = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 50000) SELECT i, :word AS w FROM n"


@pytest.mark.parametrize("options", [{}, {"max_rows": 10}, {"max_rows": 10**9, "max_bytes": 1000}])
def test_an_answer_has_a_limit(desk, options):
    desk.register("connection", "postgres_main", type="sqlite", path="facts.db", options=options)
    failure = refused(desk, COUNT, {"word": "x"})
    assert (failure.code, failure.category) == ("SQL_TOO_LARGE", "permanent")


def test_one_huge_cell_has_a_limit_too(desk):
    assert refused(desk, "SELECT zeroblob(900000000) AS x").code == "SQL_TOO_LARGE"


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"


def test_a_statement_that_does_not_end_is_a_timeout_and_stops(desk):
    """W-4.1.8: a timeout is category timeout, and the thread does not go on."""
    before = threading.active_count()
    failure = desk.failed(SQL, {"query": ENDLESS}, timeout_ms=300)
    assert (failure.code, failure.category) == ("NODE_TIMEOUT", "timeout")
    assert settled(before)


def test_a_cancelled_statement_stops(desk):
    before = threading.active_count()

    async def cancelled():
        task = asyncio.create_task(SQL.run(desk.request({"query": ENDLESS}), desk.services))
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert settled(before)


def settled(before: int) -> bool:
    ends = time.monotonic() + 60
    while threading.active_count() > before and time.monotonic() < ends:
        time.sleep(0.02)
    return threading.active_count() <= before


# ---- PostgreSQL ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def url():
    pytest.importorskip("psycopg")
    import psycopg

    from tests.servers.postgres import database

    made = database()
    with psycopg.connect(made) as base:
        base.execute("CREATE TABLE fact_daily_defect (line_id text, date date, defect_count int, defect_rate numeric)")
        base.execute(
            "INSERT INTO fact_daily_defect VALUES "
            "('L01', '2024-01-01', 3, 0.02), ('L01', '2024-01-05', 7, 0.07), ('L02', '2024-01-05', 1, NULL)"
        )
        base.execute("CREATE FUNCTION sneaky() RETURNS int LANGUAGE sql AS 'DELETE FROM fact_daily_defect RETURNING 1'")
    return made


@pytest.fixture
def pg(tmp_path, url):
    made = Desk(tmp_path)
    made.register("connection", "postgres_main", type="postgresql", url=url)
    return made


def test_the_sample_query_on_postgresql(pg):
    """W-4.1.1: the same answer from both databases; dates are ISO texts and decimals numbers."""
    done = ask(pg, SAMPLE, {"line_id": "L01", "start_date": "2024-01-02T00:00:00+09:00"})
    assert done.body == [{"line_id": "L01", "date": "2024-01-05", "defect_count": 7, "defect_rate": 0.07}]
    assert ask(pg, "SELECT * FROM fact_daily_defect WHERE line_id = :x", {"x": "' OR true --"}).body == []


@pytest.mark.parametrize(
    ("ids", "negated", "found"), [(["L01", "L02"], "", 3), ([], "", 0), ([], "NOT", 3), (["L01"], "NOT", 1)]
)
def test_a_list_expands_on_postgresql(pg, ids, negated, found):
    """C-25."""
    assert (
        len(ask(pg, f"SELECT * FROM fact_daily_defect WHERE line_id {negated} IN (:ids)", {"ids": ids}).body) == found
    )


def test_casts_percents_and_types_on_postgresql(pg):
    """C-25: `::` is a cast, `%` is itself."""
    query = """SELECT '5'::int + :n AS n, line_id LIKE 'L%' AS likes, $$:not 'x'$$ AS text, E'\\':no' AS e,
        now() > :t AS late, ARRAY[1,2] AS list, '{"a": 1.5}'::jsonb AS json, '\\x00ff'::bytea AS raw,
        interval '1 day' AS span, :none::text IS NULL AS gone, gen_random_uuid()::text <> '' AS id,
        '10.0.0.1'::inet AS host
        FROM fact_daily_defect LIMIT 1"""
    row = ask(pg, query, {"n": 2, "t": "2024-01-01T00:00:00Z", "none": None}).body[0]
    assert row["n"] == 7 and row["likes"] is True and row["text"] == ":not 'x'" and row["e"] == "':no"
    assert row["late"] and row["gone"] and row["id"]
    assert (row["list"], row["json"], row["raw"]) == ([1, 2], {"a": 1.5}, "AP8=")
    assert (row["span"], row["host"]) == ("P1D", "10.0.0.1")


def test_postgresql_itself_refuses_writes(pg):
    """W-4.1.2: a function that writes is found by the database, which was opened read only."""
    failure = refused(pg, "SELECT sneaky()")
    assert (failure.code, failure.category) == ("SQL_NOT_READONLY", "validation")
    assert len(ask(pg, "SELECT * FROM fact_daily_defect").body) == 3


@pytest.mark.parametrize("query", WRITES)
def test_a_statement_only_reads_on_postgresql(pg, query):
    """W-4.1.2."""
    failure = refused(pg, query.replace("--*/", "*/*/--"))
    assert (failure.code, failure.category) in [("SQL_NOT_READONLY", "validation"), ("SQL_ERROR", "permanent")]
    assert len(ask(pg, "SELECT * FROM fact_daily_defect").body) == 3


def test_answers_of_postgresql_have_limits(pg):
    failure = refused(pg, "SELECT * FROM generate_series(1, 50000000)")
    assert failure.code == "SQL_TOO_LARGE"


def test_a_slow_statement_on_postgresql_is_a_timeout_and_is_stopped(pg, url):
    """W-4.1.8."""
    import psycopg

    slow = "SELECT count(*) FROM generate_series(1, 1000000000) AS marked_slow"
    failure = pg.failed(SQL, {"connection": "postgres_main", "query": slow}, timeout_ms=500)
    assert (failure.code, failure.category) == ("NODE_TIMEOUT", "timeout")
    with psycopg.connect(url, autocommit=True) as base:
        busy = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%marked_slow'"
        ends = time.monotonic() + 60
        while base.execute(busy).fetchone()[0] and time.monotonic() < ends:
            time.sleep(0.05)
        assert base.execute(busy).fetchone()[0] == 0


def test_errors_of_postgresql(pg, url):
    """C-80: who cannot be reached may be there later; a wrong statement stays wrong."""
    assert refused(pg, "SELECT nothing FROM fact_daily_defect").code == "SQL_ERROR"
    wrong = refused(pg, "SELECT * FROM fact_daily_defect WHERE date > :d", {"d": "soon"})
    assert (wrong.code, wrong.category) == ("SQL_ERROR", "validation")
    pg.register("connection", "postgres_main", type="postgresql", url="postgresql://u@127.0.0.1:1/x", secret="pw")
    assert refused(pg, "SELECT 1").code == "SECRET_NOT_FOUND"
    pg.tenant.secrets["pw"] = "the-password"
    gone = refused(pg, "SELECT 1")
    assert (gone.code, gone.category) == ("CONNECTION_LOST", "transient")
    assert "the-password" not in str(gone)
