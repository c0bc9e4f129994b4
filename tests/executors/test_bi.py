"""bi: five analyses, equal to numpy's and scipy's numbers, on SQLite, PostgreSQL and files through DuckDB."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.executors.plant import PLACES, RANGE, ROWS, Measurement, Plant

SEOUL = "Asia/Seoul"
FUNCTIONS: dict[str, Callable[[list[float]], float]] = {
    "avg": lambda v: float(np.mean(v)), "sum": math.fsum, "min": min, "max": max, "count": len,
    "median": statistics.median, "stddev": statistics.stdev,
    "p50": lambda v: float(np.percentile(v, 50)), "p90": lambda v: float(np.percentile(v, 90)),
    "p95": lambda v: float(np.percentile(v, 95)), "p99": lambda v: float(np.percentile(v, 99)),
}  # fmt: skip


@pytest.fixture(scope="module", params=PLACES)
def plant(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Plant:
    return Plant(tmp_path_factory.mktemp(request.param), request.param)


@pytest.fixture(autouse=True)
def seoul(plant: Plant) -> None:
    plant.zone(SEOUL)


def grouped(key: Callable[[Measurement], Any], value: Callable[[Measurement], float | None]) -> dict[Any, list[float]]:
    groups: dict[Any, list[float]] = {}
    for row in ROWS:
        number = value(row)
        if number is not None and math.isfinite(number):
            groups.setdefault(key(row), []).append(number)
    return groups


def near(value: float) -> Any:
    return pytest.approx(value, rel=1e-9, abs=1e-12)


# ---- trend -----------------------------------------------------------------------------------------------------------


def local_label(at: datetime, grain: str) -> str:
    if grain == "shift":
        start = at - timedelta(hours=6)
        name = ("day", "evening", "night")[start.hour // 8]
        return f"{start:%Y-%m-%d} {name}"
    if grain == "week":
        at -= timedelta(days=at.weekday())
    return at.strftime({"minute": "%Y-%m-%dT%H:%M", "hour": "%Y-%m-%dT%H:00", "month": "%Y-%m"}.get(grain, "%Y-%m-%d"))


@pytest.mark.parametrize("zone", [SEOUL, "America/New_York", "UTC"])
@pytest.mark.parametrize("grain", ["minute", "hour", "shift", "day", "week", "month"])
def test_a_trend_by_every_grain(plant: Plant, grain: str, zone: str) -> None:
    """C-50, W-4.2.1: grains are of the plant's clock, also on the day on which it changes."""
    clock = plant.zone(zone)
    rows = plant.rows(type="trend", metrics=["amount"], time_grain=grain, time_range=RANGE)
    expected = grouped(
        lambda row: local_label(row.at.astimezone(clock).replace(tzinfo=None), grain), lambda r: r.amount
    )
    assert {row["time"]: row["amount"] for row in rows} == {at: sum(values) for at, values in expected.items()}
    assert [row["time"] for row in rows] == sorted(
        expected, key=lambda at: at.replace("day", "a").replace("evening", "b")
    )


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_trend_by_every_aggregation(plant: Plant, function: str) -> None:
    """C-50: every aggregation of a value per day and line; what is no number is left out and counted."""
    clock = plant.zone(SEOUL)
    body = plant.ask(
        type="trend", metrics=["rate"], dimensions=["line_id"], time_grain="week", time_range=RANGE,
        aggregation={"rate": function},
    )  # fmt: skip
    groups = grouped(lambda r: (local_label(r.at.astimezone(clock), "week"), r.line_id), lambda r: r.rate)
    assert {(row["time"], row["line_id"]) for row in body["rows"]} == set(groups)
    for row in body["rows"]:
        assert row["rate"] == near(FUNCTIONS[function](groups[row["time"], row["line_id"]]))
    assert body["columns"] == ["time", "line_id", "rate"]


def test_a_deviation_of_one_value_is_null(plant: Plant) -> None:
    """C-50: a single value deviates from nothing, and no database says 0."""
    lone = {"field": "at", "op": "eq", "value": ROWS[0].at.strftime("%Y-%m-%dT%H:%M:%SZ")}
    (row,) = plant.rows(
        type="trend", metrics=["rate"], time_grain="day", time_range=RANGE, filters=[lone],
        aggregation={"rate": "stddev"},
    )  # fmt: skip
    assert row["rate"] is None


def test_two_metrics_and_an_expression_in_one_answer(plant: Plant) -> None:
    """C-50: a metric is a column or an expression over the columns of its table; each has its own function."""
    rows = plant.rows(
        type="trend", metrics=["rate", "amount", "double"], dimensions=["line_id"], time_grain="month",
        time_range=RANGE, aggregation={"rate": "p90"},
    )  # fmt: skip
    clock = plant.zone(SEOUL)
    key = lambda r: (local_label(r.at.astimezone(clock), "month"), r.line_id)  # noqa: E731
    rates, amounts = grouped(key, lambda r: r.rate), grouped(key, lambda r: r.amount)
    doubles = grouped(key, lambda r: r.amount * 2 + (r.line_id == "L01"))
    for row in rows:
        group = (row["time"], row["line_id"])
        assert row["rate"] == near(float(np.percentile(rates[group], 90)))
        assert (row["amount"], row["double"]) == (sum(amounts[group]), sum(doubles[group]))


def test_what_is_no_number_is_left_out_and_told(plant: Plant) -> None:
    """C-50, bad input: NaN and null in rows spoil no mean; the finding counts them, with place and hint."""
    body = plant.ask(type="trend", metrics=["rate"], time_grain="month", time_range=RANGE)
    (finding,) = body["findings"]
    assert finding["code"] == "NOT_NUMBERS" and finding["message"].startswith("2 rows")
    assert finding["at"].startswith("/analysis/metrics") and finding["hint"]
    values = [row.rate for row in ROWS if row.known]
    (row,) = plant.rows(
        type="comparison", metrics=["rate"], compare_periods=[{"label": "all", **RANGE}],
    )  # fmt: skip
    assert row["rate"] == near(float(np.mean(values)))


# ---- filters ---------------------------------------------------------------------------------------------------------

FILTERS: list[tuple[dict[str, Any], Callable[[Measurement], bool]]] = [
    ({"field": "line_id", "op": "eq", "value": "L01"}, lambda r: r.line_id == "L01"),
    ({"field": "line_id", "op": "ne", "value": "L01"}, lambda r: r.line_id != "L01"),
    ({"field": "amount", "op": "gt", "value": 25}, lambda r: r.amount > 25),
    ({"field": "amount", "op": "gte", "value": 25}, lambda r: r.amount >= 25),
    ({"field": "amount", "op": "lt", "value": 25}, lambda r: r.amount < 25),
    ({"field": "amount", "op": "lte", "value": 25}, lambda r: r.amount <= 25),
    ({"field": "LINE_ID", "op": "in", "value": ["L01", "L02"]}, lambda r: r.line_id in ("L01", "L02")),
    ({"field": "line_id", "op": "in", "value": "L02"}, lambda r: r.line_id == "L02"),
    ({"field": "line_id", "op": "in", "value": []}, lambda r: False),
    ({"field": "line_id", "op": "in", "value": None}, lambda r: False),
    ({"field": "line_id", "op": "in", "value": [None]}, lambda r: False),
    ({"field": "line_id", "op": "eq", "value": None}, lambda r: False),
    ({"field": "line_id", "op": "not_in", "value": ["L01"]}, lambda r: r.line_id != "L01"),
    ({"field": "line_id", "op": "not_in", "value": []}, lambda r: True),
    ({"field": "line_id", "op": "not_in", "value": None}, lambda r: False),
    ({"field": "amount", "op": "between", "value": [10, 20]}, lambda r: 10 <= r.amount <= 20),
    ({"field": "shift", "op": "like", "value": "%ni%"}, lambda r: "ni" in r.shift),
    ({"field": "shift", "op": "like", "value": "_ay"}, lambda r: r.shift == "day"),
    ({"field": "shift", "op": "like", "value": "DAY"}, lambda r: False),
    ({"field": "line_id", "op": "eq", "value": "L01' OR '1'='1"}, lambda r: False),
    ({"field": "line_id", "op": "like", "value": "L\\_1"}, lambda r: False),
]


@pytest.mark.parametrize(("filter", "holds"), FILTERS, ids=lambda f: f"{f['op']}-{f['value']}" if f is dict else None)
def test_filters(plant: Plant, filter: dict[str, Any], holds: Callable[[Measurement], bool]) -> None:
    """C-50, W-4.2.4: every operator; a list is bound as a list, null and an empty list let no row through."""
    rows = plant.rows(
        type="trend", metrics=["amount"], time_grain="month", time_range=RANGE, filters=[filter],
        aggregation={"amount": "count"},
    )  # fmt: skip
    assert sum(row["amount"] for row in rows) == sum(map(holds, ROWS))


def test_a_window_without_data_is_an_empty_answer_with_a_finding(plant: Plant) -> None:
    """W-4.2.4, bad input: no rows are no failure; the finding says where to look."""
    body = plant.ask(
        type="trend", metrics=["rate"], time_grain="day", time_range={"start": "2020-01-01", "end": "2020-01-31"}
    )  # fmt: skip
    assert body["rows"] == []
    (finding,) = body["findings"]
    assert (finding["code"], finding["at"]) == ("NO_DATA", "/analysis/time_range") and finding["hint"]


def test_the_time_range_has_its_start_and_not_its_end(plant: Plant) -> None:
    """C-50: from the start on, before the end; a date alone is the plant's whole day."""
    at = ROWS[5].at
    exactly = {"start": at.isoformat(), "end": (at + timedelta(seconds=1)).isoformat()}
    assert sum(row["amount"] for row in plant.rows(
        type="trend", metrics=["amount"], time_grain="day", time_range=exactly, aggregation={"amount": "count"}
    )) == sum(row.at == at for row in ROWS)  # fmt: skip
    day = at.astimezone(plant.zone(SEOUL)).date().isoformat()
    (row,) = plant.rows(
        type="trend", metrics=["amount"], time_grain="day", time_range={"start": day, "end": day},
    )  # fmt: skip
    clock = plant.zone(SEOUL)
    assert row == {
        "time": day,
        "amount": sum(r.amount for r in ROWS if r.at.astimezone(clock).date().isoformat() == day),
    }


# ---- comparison ------------------------------------------------------------------------------------------------------


def test_periods_are_compared_with_the_first(plant: Plant) -> None:
    """C-50: compare_periods, with the change in the metric's unit and in percent."""
    march = {"label": "March", "start": "2026-03-01", "end": "2026-03-15"}
    later = {"label": "later", "start": "2026-03-16", "end": "2026-04-10"}
    rows = plant.rows(type="comparison", metrics=["rate"], dimensions=["line_id"], compare_periods=[march, later])
    clock = plant.zone(SEOUL)
    days = lambda r: r.at.astimezone(clock).date().isoformat()  # noqa: E731
    name = lambda r: "March" if days(r) <= "2026-03-15" else "later" if days(r) <= "2026-04-10" else ""  # noqa: E731
    groups = grouped(lambda r: (name(r) if days(r) >= "2026-03-01" else "", r.line_id), lambda r: r.rate)
    assert [(row["period"], row["line_id"]) for row in rows] == [
        (period, line) for period in ("March", "later") for line in ("L01", "L02", "L03")
    ]
    for row in rows:
        now, before = np.mean(groups[row["period"], row["line_id"]]), np.mean(groups["March", row["line_id"]])
        assert row["rate"] == near(float(now)) and row["rate_change"] == near(float(now - before))
        assert row["rate_change_percent"] == near(float((now - before) / before * 100))


def test_groups_are_compared_in_the_order_asked(plant: Plant) -> None:
    """C-50: compare_groups {dimension, groups[]}; only those groups."""
    groups = {"dimension": "line_id", "groups": ["L03", "L01"]}
    rows = plant.rows(type="comparison", metrics=["amount"], compare_groups=groups)
    sums = {line: sum(r.amount for r in ROWS if r.line_id == line) for line in ("L01", "L03")}
    assert [(row["line_id"], row["amount"], row["amount_change"]) for row in rows] == [
        ("L03", sums["L03"], 0), ("L01", sums["L01"], sums["L01"] - sums["L03"]),
    ]  # fmt: skip
    every = plant.rows(type="comparison", metrics=["amount"], compare_groups={"dimension": "line_id"})
    assert [row["line_id"] for row in every] == ["L01", "L02", "L03"]


# ---- distribution ----------------------------------------------------------------------------------------------------

KNOWN = [row.rate for row in ROWS if row.rate is not None and row.known]


@pytest.mark.parametrize("count", [1, 4, 10])
@pytest.mark.parametrize("method", ["equal_width", "quantile"])
def test_buckets_equal_numpys(plant: Plant, method: str, count: int) -> None:
    """C-50: bucket_config by width and by quantile, as numpy.histogram counts them."""
    rows = plant.rows(type="distribution", bucket_config={"field": "rate", "count": count, "method": method})
    edges = (
        np.histogram_bin_edges(KNOWN, count)
        if method == "equal_width"
        else np.quantile(KNOWN, np.linspace(0, 1, count + 1))
    )
    counts, _ = np.histogram(KNOWN, edges)
    assert [row["from"] for row in rows] == [near(float(edge)) for edge in edges[:-1]]
    assert [row["to"] for row in rows] == [near(float(edge)) for edge in edges[1:]]
    assert [row["count"] for row in rows] == [int(n) for n in counts]
    assert math.fsum(row["share"] for row in rows) == near(1)


def test_buckets_of_own_edges_per_group(plant: Plant) -> None:
    """C-50: edges[]; what lies outside is counted in a finding, and groups have the same buckets."""
    body = plant.ask(
        type="distribution", dimensions=["line_id"], bucket_config={"field": "rate", "edges": [0.02, 0.03, 0.05]}
    )  # fmt: skip
    for line in ("L01", "L02", "L03"):
        values = [r.rate for r in ROWS if r.known and r.line_id == line]
        counts, _ = np.histogram(np.array(values, dtype=float), [0.02, 0.03, 0.05])
        assert [row["count"] for row in body["rows"] if row["line_id"] == line] == [int(n) for n in counts]
    assert body["findings"][0]["code"] == "OUTSIDE_EDGES"


# ---- correlation -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["pearson", "spearman"])
@pytest.mark.parametrize("dimensions", [[], ["line_id"]])
def test_coefficients_equal_scipys(plant: Plant, method: str, dimensions: list[str]) -> None:
    """C-50: correlation_pairs with pearson and spearman, over rows, per group; ties share their ranks."""
    rows = plant.rows(
        type="correlation", correlation_pairs=[["rate", "amount"]], method=method, dimensions=dimensions
    )  # fmt: skip
    reference = stats.pearsonr if method == "pearson" else stats.spearmanr
    assert len(rows) == (3 if dimensions else 1)
    for row in rows:
        pairs = [(r.rate, r.amount) for r in ROWS if r.known and r.line_id == row.get("line_id", r.line_id)]
        expected = reference([a for a, _ in pairs], [b for _, b in pairs])[0]
        assert row["coefficient"] == near(float(expected)) and row["count"] == len(pairs)


@pytest.mark.parametrize("method", ["pearson", "spearman"])
def test_coefficients_of_points_in_time(plant: Plant, method: str) -> None:
    """C-50: with a grain the values of a day are made one first."""
    clock = plant.zone(SEOUL)
    (row,) = plant.rows(
        type="correlation", correlation_pairs=[["rate", "amount"]], method=method, time_grain="day", time_range=RANGE
    )  # fmt: skip
    rates = grouped(lambda r: r.at.astimezone(clock).date(), lambda r: r.rate)
    amounts = grouped(lambda r: r.at.astimezone(clock).date(), lambda r: r.amount)
    both = [(float(np.mean(rates[day])), sum(amounts[day])) for day in rates]
    reference = stats.pearsonr if method == "pearson" else stats.spearmanr
    assert row["coefficient"] == near(float(reference([a for a, _ in both], [b for _, b in both])[0]))


def test_a_metric_that_never_changes_has_no_coefficient(plant: Plant) -> None:
    """C-50, bad input: no variation is a null and a finding, not a division by nought."""
    plant.metric("constant", sql="amount * 0.0", default_agg="avg")
    body = plant.ask(type="correlation", correlation_pairs=[["rate", "constant"]])
    assert body["rows"][0]["coefficient"] is None and body["findings"][0]["code"] == "NO_VARIATION"


# ---- anomaly ---------------------------------------------------------------------------------------------------------


def series(plant: Plant) -> tuple[list[str], list[float]]:
    clock = plant.zone(SEOUL)
    groups = grouped(lambda r: r.at.astimezone(clock).date().isoformat(), lambda r: r.amount)
    days = sorted(groups)
    return days, [sum(groups[day]) for day in days]


@pytest.mark.parametrize("algorithm", ["zscore", "iqr", "mad", "ewma"])
def test_outliers_equal_a_second_implementation(plant: Plant, algorithm: str) -> None:
    """C-50: anomaly_config with each algorithm; the grain is a day where none is given."""
    threshold = {"zscore": 1.5, "iqr": 0.3, "mad": 1.5, "ewma": 1.5}[algorithm]
    rows = plant.rows(
        type="anomaly", metrics=["amount"], anomaly_config={"algorithm": algorithm, "threshold": threshold}
    )  # fmt: skip
    days, values = series(plant)
    x = np.array(values, dtype=float)
    if algorithm == "zscore":
        scores = list((x - x.mean()) / x.std(ddof=1))
    elif algorithm == "mad":
        scores = list((x - np.median(x)) / (stats.median_abs_deviation(x, scale="normal")))
    elif algorithm == "iqr":
        low, high = np.quantile(x, [0.25, 0.75])
        scores = list(np.maximum(np.maximum(low - x, x - high), 0) / (high - low))
    else:
        scores = ewma(values)
    assert [row["time"] for row in rows] == days and [row["value"] for row in rows] == values
    for row, score in zip(rows, scores, strict=True):
        assert row["score"] == (None if score is None else near(float(score)))
        assert row["anomaly"] == (score is not None and abs(score) > threshold)
    assert any(row["anomaly"] for row in rows) and not all(row["anomaly"] for row in rows)


def ewma(values: list[float], alpha: float = 0.3) -> list[float | None]:
    """Weights written out: the mean and the variance of everything before, newest heaviest."""
    scores: list[float | None] = []
    for i, value in enumerate(values):
        weights = [(1 - alpha) ** (i - 1)] + [alpha * (1 - alpha) ** (i - 1 - j) for j in range(1, i)] if i else []
        mean = math.fsum(w * v for w, v in zip(weights, values[:i], strict=True))
        spread = math.sqrt(max(0.0, math.fsum(w * (v - mean) ** 2 for w, v in zip(weights, values[:i], strict=True))))
        scores.append((value - mean) / spread if i >= 2 else None)
    return scores


def test_too_few_points_are_told(plant: Plant) -> None:
    """C-50, bad input: of two points none is unusual."""
    body = plant.ask(
        type="anomaly", metrics=["amount"], time_grain="month", anomaly_config={"algorithm": "zscore", "threshold": 1}
    )  # fmt: skip
    assert [row["score"] for row in body["rows"]] == [None, None]
    assert body["findings"][0]["code"] == "TOO_FEW_POINTS"


# ---- formats ---------------------------------------------------------------------------------------------------------


def test_a_summary(plant: Plant) -> None:
    """C-50: summary {per metric: count, min, max, avg, last, change}."""
    body = plant.ask(
        format="summary", type="trend", metrics=["amount"], dimensions=["line_id"], time_grain="day", time_range=RANGE
    )  # fmt: skip
    _, values = series(plant)
    amounts = [row.amount for row in ROWS]
    assert body == {
        "amount": {
            "count": 400, "min": min(amounts), "max": max(amounts), "avg": near(float(np.mean(amounts))),
            "last": values[-1], "change": values[-1] - values[0],
        }
    }  # fmt: skip


def test_chart_data(plant: Plant) -> None:
    """C-50, W-4.2.3: chart_data {chart_type, title, x_axis, series[{name, points}]}, split by series_by alone."""
    chart = {"chart_type": "line", "title": "추이", "x_axis": "date", "y_axis": ["amount"], "series_by": "line_id"}
    body = plant.ask(
        format="chart_data", visualization=chart, type="trend", metrics=["amount", "rate"],
        dimensions=["line_id", "shift"], time_grain="day", time_range=RANGE,
    )  # fmt: skip
    assert (body["chart_type"], body["title"], body["x_axis"], body["y_axis"]) == ("line", "추이", "date", ["amount"])
    assert [series["name"] for series in body["series"]] == ["L01", "L02", "L03"]
    clock = plant.zone(SEOUL)
    for series_ in body["series"]:
        groups = grouped(lambda r: r.at.astimezone(clock).date().isoformat(), lambda r: r.amount)
        groups = {
            day: [
                r.amount
                for r in ROWS
                if r.line_id == series_["name"] and r.at.astimezone(clock).date().isoformat() == day
            ]
            for day in groups
        }
        assert series_["points"] == [{"x": day, "y": sum(v)} for day, v in sorted(groups.items()) if v]


def test_a_table_may_have_a_chart_beside_it(plant: Plant) -> None:
    """W-4.2.3: the visualization is in the result whatever its format."""
    body = plant.ask(visualization={"chart_type": "pie"}, type="trend", metrics=["amount"], dimensions=["line_id"],
                     time_grain="day", time_range=RANGE)  # fmt: skip
    (slices,) = body["visualization"]["series"]
    assert slices["points"] == [
        {"x": line, "y": sum(r.amount for r in ROWS if r.line_id == line)} for line in ("L01", "L02", "L03")
    ]


def test_nothing_is_written(plant: Plant, tmp_path: Path) -> None:
    """C-50: a name of a column, of a table and a value are never SQL."""
    evil = 'line_id" FROM facts; DROP TABLE facts; --'
    for analysis in (
        {"dimensions": [evil]},
        {"filters": [{"field": evil, "op": "eq", "value": 1}]},
    ):
        failure = plant.failure(type="trend", metrics=["rate"], time_grain="day", time_range=RANGE, **analysis)
        assert failure.code == "COLUMN_NOT_FOUND"
    plant.metric("evil", table=f'{plant.table}"; DROP TABLE facts', column="rate")
    failure = plant.failure(type="trend", metrics=["evil"], time_grain="day", time_range=RANGE)
    assert failure.code in ("TABLE_NOT_FOUND", "FILE_FORMAT", "FILE_NOT_FOUND", "PATH_REFUSED")
    assert len(plant.rows(type="comparison", metrics=["amount"], compare_groups={"dimension": "line_id"})) == 3
