"""bi where numbers would be wrong without a word: missing bases, texts as times, constant series, zones, odd names."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest

from penstock.executors.parts.bi.anomalies import scores
from penstock.executors.parts.bi.settings import AnomalyRule
from tests.executors.plant import Plant

MARCH = {"start": "2026-03-01", "end": "2026-03-31"}
TIMES = [
    ("L1", "2026-03-01T00:00:00Z", 1.0), ("L1", "2026-03-10T00:00:00Z", 2.0), ("L2", "2026-03-10T00:00:00Z", 7.0),
    ("L3", "2026-03-10T00:00:00+0900", 9.0), ("L4", "2026-03-11 00:00:00+09", 11.0),
]  # fmt: skip


def measured(folder: Path, rows: list[tuple[Any, ...]] = TIMES) -> Plant:
    """A SQLite plant with a table `g` of these rows: line, time as a text, value."""
    plant = Plant(folder, "sqlite")
    with sqlite3.connect(plant.desk.input_dir / "plant.db") as base:
        base.execute("CREATE TABLE g (line_id TEXT, at, v REAL)")
        base.executemany("INSERT INTO g VALUES (?, ?, ?)", rows)
    plant.metric("v", table="g", column="v")
    return plant


# ---- comparisons -----------------------------------------------------------------------------------------------------

PERIODS = [{"label": "A", "start": "2026-03-01", "end": "2026-03-05"}, {"label": "B", **MARCH}]


def test_a_group_without_the_first_period_has_no_change(tmp_path: Path) -> None:
    """C-50: L2 begins in the second period: there is nothing to compare it with, and the finding says so."""
    body = measured(tmp_path).ask(type="comparison", metrics=["v"], dimensions=["line_id"], compare_periods=PERIODS)
    changes = {(row["period"], row["line_id"]): row["v_change"] for row in body["rows"]}
    assert changes["A", "L1"] == 0 and changes["B", "L1"] == 0.5
    assert changes["B", "L2"] is None and changes["B", "L3"] is None
    (finding,) = body["findings"]
    assert (finding["code"], finding["at"]) == ("NO_BASE", "/analysis/compare_periods/0") and "«A»" in finding[
        "message"
    ]


def test_a_first_group_without_rows_is_still_what_is_compared_with(tmp_path: Path) -> None:
    """C-50: L9 was asked for first and has no rows: nothing else takes its place."""
    groups = {"dimension": "line_id", "groups": ["L9", "L1", "L2"]}
    body = measured(tmp_path).ask(type="comparison", metrics=["v"], compare_groups=groups)
    assert [(row["line_id"], row["v_change"], row["v_change_percent"]) for row in body["rows"]] == [
        ("L1", None, None), ("L2", None, None),
    ]  # fmt: skip
    assert [each["code"] for each in body["findings"]] == ["NO_BASE"]


# ---- times -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("op", "value", "lines"),
    [
        ("lt", "2026-03-01T09:00:00+09:00", []),
        ("lte", "2026-03-01T09:00:00+09:00", ["L1"]),
        ("eq", "2026-03-09T15:00:00Z", ["L3"]),
        ("between", ["2026-03-09T14:00:00Z", "2026-03-09T16:00:00Z"], ["L3"]),
        ("gt", "2026-03-10", ["L1", "L2", "L4"]),  # midnight of the plant, in Seoul
        ("gt", "not a time", []),
    ],
)
def test_filters_of_times_compare_moments(tmp_path: Path, op: str, value: Any, lines: list[str]) -> None:
    """C-50: 09:00+09:00 is 00:00Z, also in a database that holds times as texts."""
    filters = [{"field": "at", "op": op, "value": value}]
    rows = measured(tmp_path).rows(
        type="comparison", metrics=["v"], compare_groups={"dimension": "line_id"}, filters=filters
    )
    assert [row["line_id"] for row in rows] == lines


def test_offsets_without_a_colon_are_offsets(tmp_path: Path) -> None:
    """C-50: +0900 and +09 are read like +09:00."""
    body = measured(tmp_path).ask(type="trend", metrics=["v"], time_grain="hour", time_range=MARCH)
    assert {row["time"]: row["v"] for row in body["rows"]} == {
        "2026-03-01T09:00": 1.0, "2026-03-10T00:00": 9.0, "2026-03-10T09:00": 4.5, "2026-03-11T00:00": 11.0,
    }  # fmt: skip
    assert "findings" not in body


def test_times_that_nobody_can_read_are_counted(tmp_path: Path) -> None:
    """C-50, bad input: rows whose time is none are left out, and the finding counts them."""
    far = 999_999_999_999_999
    rows = [*TIMES, ("L1", "yesterday", 5.0), ("L1", "10/03/2026", 5.0), ("L1", far, 5.0), ("L1", None, 5.0)]
    plant = measured(tmp_path, rows)
    body = plant.ask(type="trend", metrics=["v"], time_grain="month", time_range=MARCH, aggregation={"v": "count"})
    assert [(row["time"], row["v"]) for row in body["rows"]] == [("2026-03", 5)]
    (finding,) = body["findings"]
    assert (finding["code"], finding["at"]) == ("NOT_TIMES", "/analysis/metrics/v")
    assert finding["message"].startswith("3 rows") and finding["hint"]
    config = {"algorithm": "zscore", "threshold": 3}
    open_ended = plant.ask(type="anomaly", metrics=["v"], time_grain="day", anomaly_config=config)
    assert [row["time"] for row in open_ended["rows"]] == ["2026-03-01", "2026-03-10", "2026-03-11"]
    assert "NOT_TIMES" in [each["code"] for each in open_ended["findings"]]


@pytest.mark.parametrize(
    ("start", "end", "at"),
    [
        ("2026-01-01", "9999-12-30", "end"), ("2026-01-01", "9999-12-31", "end"), ("0002-01-01", "2026-01-01", "start"),
        (0, 25_340_230_079_900_000, "end"), (-(10**18), 0, "start"),
    ],
)  # fmt: skip
def test_moments_are_within_1900_and_2200(tmp_path: Path, start: Any, end: Any, at: str) -> None:
    """C-50, bad input: a year that no plant has is a finding with its place, and not a traceback."""
    failure = Plant(tmp_path, "sqlite").failure(
        type="trend", metrics=["rate"], time_grain="day", time_range={"start": start, "end": end}
    )
    assert (failure.code, failure.detail["at"]) == ("INPUT_INVALID", f"/analysis/time_range/{at}")
    assert "1900" in failure.message and failure.detail["hint"]


def test_filters_of_moments_are_bounded_too(tmp_path: Path) -> None:
    filters = [{"field": "at", "op": "lt", "value": "9999-12-30"}]
    failure = Plant(tmp_path, "postgresql").failure(
        type="comparison", metrics=["rate"], compare_groups={"dimension": "line_id"}, filters=filters
    )
    assert (failure.code, failure.detail["at"]) == ("INPUT_INVALID", "/analysis/filters/0/value")


_ELSEWHERE = """
import sys, tempfile
from pathlib import Path
from tests.executors.plant import Plant
plant = Plant(Path(sys.argv[1]), "csv", [])
text = "line_id,at,v\\nL1,2026-03-10 00:00:00,1\\nL1,2026-03-10T00:00:00+09:00,2\\nL1,yesterday,4\\n"
(plant.desk.input_dir / "files" / "g.csv").write_text(text)
plant.metric("v", table="g.csv", column="v")
march = {"start": "2026-03-01", "end": "2026-03-31"}
rows = plant.rows(type="trend", metrics=["v"], time_grain="hour", time_range=march)
print({row["time"]: row["v"] for row in rows})
"""


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_files_do_not_read_times_by_the_clock_of_the_machine(tmp_path: Path, zone: str) -> None:
    """C-50: a time without a zone is UTC unless the metric says otherwise, wherever the engine runs."""
    done = subprocess.run(
        [sys.executable, "-c", _ELSEWHERE, str(tmp_path)], env={**os.environ, "TZ": zone, "PYTHONPATH": "."},
        cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.stdout.strip() == "{'2026-03-10T00:00': 2.0, '2026-03-10T09:00': 1.0}", done.stderr


# ---- outliers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["iqr", "mad", "ewma"])
def test_a_jump_after_a_constant_series_is_an_outlier(algorithm: str) -> None:
    """C-50: nothing has ever varied, and then it does."""
    made = scores([0.0] * 12 + [50.0], AnomalyRule(algorithm, 3))
    assert [score.anomaly for score in made] == [False] * 12 + [True]
    assert not any(score.anomaly for score in scores([7.0] * 13, AnomalyRule(algorithm, 3)))


def test_a_threshold_holds_where_most_values_are_equal() -> None:
    """C-50: without a width the mean distance takes its place, as with the median: 50 / (50 / 13) over that of IQR."""
    values = [0.0] * 12 + [50.0]
    scale = 2 * 0.6744897501960817 * (3.141592653589793 / 2) ** 0.5
    assert scores(values, AnomalyRule("iqr", 3))[-1].score == pytest.approx(13 / scale)
    assert not scores(values, AnomalyRule("iqr", 1000))[-1].anomaly
    assert [score.score for score in scores([7.0] * 5, AnomalyRule("iqr", 3))] == [0.0] * 5


# ---- PostgreSQL ------------------------------------------------------------------------------------------------------


def test_names_with_a_percent_sign_and_materialized_views(tmp_path: Path) -> None:
    """C-50: a column, a dimension and a table may be called so; a view that is kept is a table, a domain its type."""
    plant = Plant(tmp_path, "postgresql")
    with psycopg.connect(plant.connection["url"]) as base:
        base.execute("CREATE DOMAIN share AS float8")
        base.execute('CREATE TABLE "y%s" ("at%" timestamptz, "yield_%" share, "line %s" text)')
        base.execute("""INSERT INTO "y%s" VALUES ('2026-03-10', 97, 'L1')""")
        base.execute("CREATE MATERIALIZED VIEW kept AS SELECT * FROM facts")
    plant.metric("yield", table="y%s", column="yield_%", time_column="at%")
    plant.metric("twice", table="y%s", sql='"yield_%" * 2', time_column="at%")
    plant.metric("kept", table="kept", column="rate")
    filters = [{"field": "line %s", "op": "eq", "value": "L1"}, {"field": "at%", "op": "gt", "value": "2026-03-01"}]
    rows = plant.rows(
        type="trend", metrics=["yield", "twice"], time_grain="month", time_range=MARCH, dimensions=["line %s"],
        filters=filters,
    )  # fmt: skip
    assert rows == [{"time": "2026-03", "line %s": "L1", "yield": 97.0, "twice": 194.0}]
    kept, real = (
        plant.rows(type="comparison", metrics=[name], compare_groups={"dimension": "line_id"})
        for name in ("kept", "rate")
    )
    assert [row["kept"] for row in kept] == [row["rate"] for row in real]
    plant.metric("none", table="nowhere", column="rate")
    failure = plant.failure(type="comparison", metrics=["none"], compare_groups={"dimension": "line_id"})
    assert failure.code == "TABLE_NOT_FOUND"
