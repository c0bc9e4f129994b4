"""bi: what cannot be asked is told with its place and a hint, and never as anything but a typed failure."""

from __future__ import annotations

import functools
import sqlite3
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

from penstock.executors.bi import BiExecutor
from tests.executors.plant import RANGE, ROWS, Plant
from tests.servers import postgres

TREND = {"type": "trend", "metrics": ["rate"], "time_grain": "day", "time_range": RANGE}


@pytest.fixture
def plant(tmp_path: Path) -> Plant:
    return Plant(tmp_path, "sqlite", ROWS[:30])


ANOMALY = {"type": "anomaly", "metrics": ["rate"]}
BAD: list[tuple[Any, str]] = [
    (None, "/analysis/type"),
    (5, "/analysis"),
    ({"type": "forecast"}, "/analysis/type"),
    ({"type": "trend"}, "/analysis"),
    ({**TREND, "metrics": []}, "/analysis"),
    ({**TREND, "metrics": "rate"}, "/analysis/metrics"),
    ({**TREND, "metrics": ["rate", 5]}, "/analysis/metrics"),
    ({**TREND, "metrics": [f"m{i}" for i in range(51)]}, "/analysis/metrics"),
    ({**TREND, "dimensions": [""]}, "/analysis/dimensions"),
    ({**TREND, "time_grain": "year"}, "/analysis/time_grain"),
    ({**TREND, "time_range": {"start": "2026-01-01"}}, "/analysis/time_range"),
    ({**TREND, "time_range": {"start": "now", "end": "2026-01-01"}}, "/analysis/time_range/start"),
    ({**TREND, "time_range": {"start": "2026-02-01", "end": "2026-01-01"}}, "/analysis/time_range"),
    ({**TREND, "time_range": {"start": "9999-12-31", "end": "9999-12-31"}}, "/analysis/time_range/start"),
    ({**TREND, "aggregation": {"rate": "mean"}}, "/analysis/aggregation/rate"),
    ({**TREND, "filters": {"field": "line_id"}}, "/analysis/filters"),
    ({**TREND, "filters": [{"op": "eq", "value": 1}]}, "/analysis/filters/0/field"),
    ({**TREND, "filters": [{"field": "line_id", "op": "is", "value": 1}]}, "/analysis/filters/0/op"),
    ({**TREND, "filters": [{"field": "line_id", "op": "between", "value": [1]}]}, "/analysis/filters/0/value"),
    ({**TREND, "filters": [{"field": "line_id", "op": "eq", "value": [1]}]}, "/analysis/filters/0/value"),
    ({**TREND, "filters": [{"field": "line_id", "op": "eq", "value": {"a": 1}}]}, "/analysis/filters/0/value"),
    ({**TREND, "filters": [{"field": "line_id", "op": "eq", "value": 2**63}]}, "/analysis/filters/0/value"),
    ({**TREND, "filters": [{"field": "line_id", "op": "eq", "value": "a\0"}]}, "/analysis/filters/0/value"),
    ({**TREND, "filters": [{"field": "line_id", "op": "in", "value": [0] * 10_001}]}, "/analysis/filters/0/value"),
    ({"type": "comparison", "metrics": ["rate"], "compare_periods": [{"label": "x", "start": "2026-01-01"}]},
     "/analysis/compare_periods/0"),
    ({"type": "comparison", "metrics": ["rate"], "compare_groups": {"groups": ["L01"]}},
     "/analysis/compare_groups/dimension"),
    ({"type": "comparison", "metrics": ["rate"], "compare_groups": {"dimension": "line_id", "groups": "L01"}},
     "/analysis/compare_groups/groups"),
    ({"type": "distribution", "bucket_config": {"field": "rate", "count": 0}}, "/analysis/bucket_config/count"),
    ({"type": "distribution", "bucket_config": {"field": "rate", "count": 2.5}}, "/analysis/bucket_config/count"),
    ({"type": "distribution", "bucket_config": {"field": "rate", "edges": [2, 1]}}, "/analysis/bucket_config/edges"),
    ({"type": "distribution", "bucket_config": {"field": "rate", "edges": ["a", "b"]}},
     "/analysis/bucket_config/edges"),
    ({"type": "distribution", "bucket_config": {"field": "rate", "method": "log"}}, "/analysis/bucket_config/method"),
    ({"type": "distribution", "bucket_config": {"count": 3}}, "/analysis/metrics"),
    ({"type": "correlation", "correlation_pairs": [["rate"]]}, "/analysis/correlation_pairs/0"),
    ({"type": "correlation", "correlation_pairs": [["rate", "amount"]], "method": "kendall"}, "/analysis/method"),
    ({**ANOMALY, "anomaly_config": {"algorithm": "zscore"}}, "/analysis/anomaly_config/threshold"),
    ({**ANOMALY, "anomaly_config": {"threshold": 3}}, "/analysis/anomaly_config/algorithm"),
    ({**ANOMALY, "anomaly_config": {"algorithm": "magic", "threshold": 3}}, "/analysis/anomaly_config/algorithm"),
    ({**ANOMALY, "anomaly_config": {"algorithm": "mad", "threshold": -1}}, "/analysis/anomaly_config/threshold"),
    ({**ANOMALY, "anomaly_config": {"algorithm": "mad", "threshold": float("nan")}},
     "/analysis/anomaly_config/threshold"),
    ({**ANOMALY, "anomaly_config": {"algorithm": "ewma", "threshold": 3, "alpha": 2}},
     "/analysis/anomaly_config/alpha"),
]  # fmt: skip


@pytest.mark.parametrize(("analysis", "at"), BAD, ids=lambda part: part if isinstance(part, str) else "")
def test_settings_that_cannot_be(plant: Plant, analysis: Any, at: str) -> None:
    """C-50, W-4.2.2, C-69: what a template has become is checked in the run: code, place and hint."""
    failure = plant.desk.failed(BiExecutor(), {"analysis": analysis})
    assert (failure.code, failure.category) == ("INPUT_INVALID", "validation")
    assert failure.detail["at"] == at and failure.detail["hint"]


@pytest.mark.parametrize(
    ("args", "at"),
    [
        ({"format": "pdf"}, "/output/format"),
        ({"visualization": {"chart_type": "radar"}}, "/visualization/chart_type"),
        ({"visualization": {"series_by": "shift"}}, "/visualization/series_by"),
        ({"visualization": {"title": 5}}, "/visualization/title"),
        ({"visualization": "line"}, "/visualization"),
    ],
)
def test_formats_and_charts_that_cannot_be(plant: Plant, args: dict[str, Any], at: str) -> None:
    """C-50, W-4.2.3."""
    failure = plant.desk.failed(BiExecutor(), {"analysis": TREND, **args})
    assert (failure.code, failure.detail["at"]) == ("INPUT_INVALID", at) and failure.detail["hint"]


# ---- the catalogue ---------------------------------------------------------------------------------------------------


def test_a_metric_that_does_not_exist(plant: Plant) -> None:
    """W-4.2.4: told by its name, with the one that was meant."""
    failure = plant.failure(**{**TREND, "metrics": ["rte"]})
    assert (failure.code, failure.category) == ("METRIC_NOT_FOUND", "validation")
    assert "«rte»" in failure.message and "rate" in failure.detail["hint"]
    assert failure.detail["at"] == "/analysis/metrics/0"
    failure = plant.failure(type="distribution", bucket_config={"field": "rte"})
    assert failure.detail["at"] == "/analysis/bucket_config/field"
    failure = plant.failure(type="correlation", correlation_pairs=[["rate", "amount"], ["rate", "rte"]])
    assert failure.detail["at"] == "/analysis/correlation_pairs/1"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"column": "nothing"}, "COLUMN_NOT_FOUND"),
        ({"column": "rate", "time_column": "nothing"}, "COLUMN_NOT_FOUND"),
        ({"column": "rate", "table": "nothing"}, "TABLE_NOT_FOUND"),
        ({"column": "rate", "connection": "nothing"}, "CONNECTION_NOT_FOUND"),
        ({"column": "rate", "time_column": ""}, "METRIC_INVALID"),
        ({"sql": "rate + nothing"}, "COLUMN_NOT_FOUND"),
        ({"sql": "rate; DROP TABLE facts"}, "METRIC_INVALID"),
        ({"sql": "(SELECT max(rate) FROM facts)"}, "METRIC_INVALID"),
        ({"sql": "(SELECT rate FROM facts)"}, "COLUMN_NOT_FOUND"),
        ({"sql": "load_extension('x')"}, "METRIC_INVALID"),
        ({"sql": "rate /* "}, "METRIC_INVALID"),
        ({"sql": "rate) FROM facts --"}, "METRIC_INVALID"),
        ({"sql": "rate + :x"}, "METRIC_INVALID"),
        ({}, "METRIC_INVALID"),
        ({"column": "rate", "sql": "rate"}, "METRIC_INVALID"),
        ({"column": "rate", "default_agg": "mean"}, "METRIC_INVALID"),
        ({"column": "rate", "timezone": "Mars/Base"}, "METRIC_INVALID"),
    ],
)
def test_a_metric_that_cannot_be_used(plant: Plant, body: dict[str, Any], code: str) -> None:
    """C-50: an entry of the catalogue is checked against the table that it names."""
    plant.metric("odd", **body)
    failure = plant.failure(**{**TREND, "metrics": ["odd"]})
    assert failure.code == code, failure
    with sqlite3.connect(plant.desk.input_dir / "plant.db") as base:
        assert base.execute("SELECT count(*) FROM facts").fetchone() == (30,)


def test_two_tables_have_no_rows_in_common(plant: Plant) -> None:
    """C-50: a coefficient of rows needs one table; with a grain the two are compared by time."""
    with sqlite3.connect(plant.desk.input_dir / "plant.db") as base:
        base.execute("CREATE TABLE others AS SELECT *, amount * 3 AS thrice FROM facts")
    plant.metric("thrice", table="others", column="thrice", default_agg="sum")
    failure = plant.failure(type="correlation", correlation_pairs=[["amount", "thrice"]])
    assert failure.code == "INPUT_INVALID" and "time_grain" in failure.detail["hint"]
    (row,) = plant.rows(
        type="correlation", correlation_pairs=[["amount", "thrice"]], time_grain="day", time_range=RANGE
    )  # fmt: skip
    assert row["coefficient"] == pytest.approx(1)


def test_a_wrong_kind_of_value_for_a_column(tmp_path: Path) -> None:
    """C-50: in databases with types a value is read as its column's, or told to be none."""
    plant = Plant(tmp_path, "parquet", ROWS[:30])
    for field, value in (("amount", "many"), ("at", "soon")):
        filter = {"field": field, "op": "eq", "value": value}
        failure = plant.failure(**{**TREND, "filters": [filter]})
        assert (failure.code, failure.detail["at"]) == ("INPUT_INVALID", "/analysis/filters/0/value")
    plant.metric("words", column="line_id")
    assert plant.failure(**{**TREND, "metrics": ["words"]}).code == "METRIC_INVALID"


def test_too_many_points(plant: Plant) -> None:
    """C-50: more groups than the connection allows are told, with what to ask for instead."""
    plant.desk.register("connection", "plant", **plant.connection, options={"max_rows": 3})
    failure = plant.failure(**TREND)
    assert failure.code == "SQL_TOO_LARGE" and "grain" in failure.detail["hint"]


# ---- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "code"),
    [
        ("nothing.csv", "FILE_NOT_FOUND"), ("*.nothing.csv", "FILE_NOT_FOUND"), ("../plant.csv", "PATH_REFUSED"),
        ("facts.txt", "FILE_FORMAT"), ("link.csv", "PATH_REFUSED"), ("broken.parquet", "FILE_FORMAT"),
    ],
)  # fmt: skip
def test_files_that_cannot_be_read(tmp_path: Path, table: str, code: str) -> None:
    """C-50: files lie below the connection's folder, and no link leads out of it."""
    plant = Plant(tmp_path, "csv", ROWS[:5])
    files = plant.desk.input_dir / "files"
    (files / "link.csv").symlink_to("/etc/passwd")
    (files / "broken.parquet").write_bytes(b"no parquet at all")
    plant.metric("rate", table=table, column="rate")
    assert plant.failure(**TREND).code == code


def test_several_files_are_one_table(tmp_path: Path) -> None:
    """C-50: a pattern in the place of a name."""
    plant = Plant(tmp_path, "csv", ROWS[:20])
    text = (plant.desk.input_dir / "files/facts.csv").read_text("utf-8")
    (plant.desk.input_dir / "files/facts2.csv").write_text(text, encoding="utf-8")
    plant.metric("amount", table="facts*.csv", column="amount", default_agg="count")
    rows = plant.rows(**{**TREND, "metrics": ["amount"]})
    assert sum(row["amount"] for row in rows) == 40


def test_without_duckdb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """C-50: the extra that is missing is named."""
    plant = Plant(tmp_path, "csv", ROWS[:5])
    monkeypatch.setitem(sys.modules, "duckdb", None)
    failure = plant.failure(**TREND)
    assert failure.code == "EXTRA_MISSING" and "penstock[bi]" in failure.message


# ---- times -----------------------------------------------------------------------------------------------------------

AT = datetime(2026, 3, 5, 20, 30, tzinfo=UTC)  # 6 March, 05:30 in Seoul; 5 March, 15:30 in New York
SECONDS = int(AT.timestamp())
#: A column, its value, the day in Seoul and in New York; times without a zone are UTC, or the metric's zone.
TIMES: list[tuple[str, Any, str, tuple[str, str]]] = [
    ("text", "2026-03-05T20:30:00Z", "", ("2026-03-06", "2026-03-05")),
    ("text", "2026-03-05 20:30:00", "", ("2026-03-06", "2026-03-05")),
    ("text", "2026-03-06T05:30:00+09:00", "", ("2026-03-06", "2026-03-05")),
    ("text", "2026-03-05", "", ("2026-03-05", "2026-03-05")),
    ("text", "2026-03-05 20:30:00", "Asia/Seoul", ("2026-03-05", "2026-03-05")),
    ("text", "2026-03-05T20:30:00Z", "Asia/Seoul", ("2026-03-06", "2026-03-05")),
    ("bigint", SECONDS, "", ("2026-03-06", "2026-03-05")),
    ("bigint", SECONDS * 1000, "", ("2026-03-06", "2026-03-05")),
    ("date", "2026-03-05", "", ("2026-03-05", "2026-03-05")),
    ("timestamp", "2026-03-05 20:30:00", "", ("2026-03-06", "2026-03-05")),
    ("timestamp", "2026-03-05 20:30:00", "America/New_York", ("2026-03-06", "2026-03-05")),
    ("timestamptz", "2026-03-05 20:30:00+00:00", "", ("2026-03-06", "2026-03-05")),
]


@functools.cache
def server() -> str:
    """One database for all of them: each takes a while to make."""
    return postgres.database()


@pytest.mark.parametrize("place", ["sqlite", "postgresql", "parquet"])
@pytest.mark.parametrize(("type", "value", "zone", "days"), TIMES)
def test_times_of_every_kind(
    tmp_path: Path, place: str, type: str, value: Any, zone: str, days: tuple[str, str]
) -> None:
    """C-50: texts, days, epochs and timestamps; a day is the plant's own wherever the plant is."""
    plant = Plant(tmp_path, "sqlite", [])
    if place == "sqlite":
        with sqlite3.connect(plant.desk.input_dir / "plant.db") as base:
            base.execute(f"CREATE TABLE times (v INTEGER, moment {type})")
            base.execute("INSERT INTO times VALUES (1, ?), (1, NULL)", (value,))
    elif place == "postgresql":
        url = server()
        with psycopg.connect(url) as base:
            base.execute(f"DROP TABLE IF EXISTS times; CREATE TABLE times (v integer, moment {type})")
            base.execute("INSERT INTO times VALUES (1, %s), (1, NULL)", (value,))
        plant.desk.register("connection", "plant", type="postgresql", url=url)
    else:
        with duckdb.connect() as base:
            base.execute(f"CREATE TABLE times (v INTEGER, moment {type})")
            base.execute("INSERT INTO times VALUES (1, ?), (1, NULL)", [value])
            base.execute(f"COPY times TO '{plant.desk.input_dir / 'times.parquet'}' (FORMAT parquet)")
        plant.desk.register("connection", "plant", type="file", root=str(plant.desk.input_dir))
    table = "times.parquet" if place == "parquet" else "times"
    plant.metric("v", table=table, column="v", default_agg="count", time_column="moment", timezone=zone)
    wide = {"start": "2026-03-01", "end": "2026-03-10"}
    for clock, day in zip(("Asia/Seoul", "America/New_York"), days, strict=True):
        plant.zone(clock)
        assert plant.rows(type="trend", metrics=["v"], time_grain="day", time_range=wide) == [{"time": day, "v": 1}]
        assert (
            plant.rows(type="anomaly", metrics=["v"], anomaly_config={"algorithm": "mad", "threshold": 3})[0]["time"]
            == day
        )


def test_own_shifts(plant: Plant) -> None:
    """C-50: the grain `shift` follows the tenant's configuration."""
    plant.desk.register(
        "config", "tenant", bi={"shifts": [{"name": "B", "start": "19:00"}, {"name": "A", "start": "07:00"}]}
    )
    rows = plant.rows(**{**TREND, "time_grain": "shift"})
    clock = plant.zone("Asia/Seoul")
    expected = set()
    for row in ROWS[:30]:
        at = row.at.astimezone(clock)
        hours = (at.hour - 7) % 24 + at.minute / 60
        day = at.date() if at.hour >= 7 else at.date().fromordinal(at.date().toordinal() - 1)
        expected.add(f"{day.isoformat()} {'A' if hours < 12 else 'B'}")
    assert {row["time"] for row in rows} == expected
    plant.desk.register("config", "tenant", bi={"shifts": [{"name": "A", "start": "7 o'clock"}]})
    assert plant.failure(**{**TREND, "time_grain": "shift"}).code == "CONFIG_INVALID"


def test_statements_are_stopped_with_their_time(plant: Plant) -> None:
    """C-50: what takes too long ends as a timeout, and its thread is not waited for."""
    with sqlite3.connect(plant.desk.input_dir / "plant.db") as base:
        numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
        base.execute(f"CREATE VIEW endless AS {numbers} SELECT i, 1772700000 + i % 9 AS at FROM n")
    plant.metric("endless", table="endless", column="i")
    args = {"analysis": {**TREND, "metrics": ["endless"]}}
    assert plant.desk.failed(BiExecutor(), args, timeout_ms=300).code == "NODE_TIMEOUT"
