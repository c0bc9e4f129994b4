"""The sample of 4.2 as it runs: every type of analysis, format and chart, over rows worked out by hand."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.decision.harness import Sample, leaves, shows
from tests.conformance.decision.make import document, found
from tests.conformance.decision.test_tc_wf import play
from tests.conformance.decision.world import HOUR, T0, Door, Wire, World, moment

DAY = 24 * HOUR
#: line, how long before now, shift, defect rate, yield rate. Now is 2 March 2026, 10:00 in Seoul.
ROWS = [
    ("L01", 1 * DAY, "day", 0.02, 0.98), ("L01", 1 * DAY - HOUR, "night", 0.04, 0.95),
    ("L01", 2 * DAY, "day", 0.01, 0.99), ("L01", 2 * DAY - HOUR, "night", 0.03, 0.96),
    ("L01", 3 * DAY, "day", 0.02, 0.97), ("L01", 29 * DAY, "day", 0.06, 0.93),
    ("L01", 31 * DAY, "day", 0.90, 0.10), ("L02", 1 * DAY, "day", 0.50, 0.50),
]  # fmt: skip
#: The mean per day of L01 within the last 30 days, worked out by hand.
MEANS = [("2026-02-01", 0.06), ("2026-02-27", 0.02), ("2026-02-28", 0.02), ("2026-03-01", 0.03)]


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    wire = Wire()
    yield wire
    wire.close()


@pytest.fixture
def world(tmp_path: Path, wire: Wire) -> World:
    world = World(tmp_path, wire)
    with contextlib.closing(sqlite3.connect(tmp_path / "plant.db")) as base:
        base.execute("CREATE TABLE fact_daily_defect (line_id, date, shift, defect_rate REAL, yield_rate REAL)")
        rows = [(line, moment(T0 - ago), *rest) for line, ago, *rest in ROWS]
        base.executemany("INSERT INTO fact_daily_defect VALUES (?, ?, ?, ?, ?)", rows)
        base.commit()
    return world


async def result(door: Door, one: Sample) -> Any:
    run = await one.run(door)
    look = door.view(run)
    assert look.status == "completed", look.failure
    assert [(each.node, each.type) for each in look.firings] == [("bi_trend", "BI")]
    return look.variables["trend_result"]


def near(points: Any) -> list[tuple[Any, Any]]:
    return [(point["x"], pytest.approx(point["y"])) for point in points]


@shows("4.2", "analysis/type", "trend", "comparison", "distribution", "correlation", "anomaly")
@leaves("4.2", "id", "type", "name", "analysis/metrics", "analysis/time_grain", "analysis/time_range/start",
        "analysis/time_range/end", "analysis/filters/0/field", "analysis/filters/0/op", "analysis/filters/0/value",
        "analysis/aggregation/defect_rate", "output/variable")  # fmt: skip
def test_types(world: World, one: Sample) -> None:
    """W-4.2.1, W-4.14.1, C-50: the last 30 days of the lines asked for; the other line and the day before count not."""
    if one.alternative == "correlation":  # of the values of the rows, not of the days
        del one.node["analysis"]["time_grain"]

    async def scene(door: Door) -> None:
        body = await result(door, one)
        (series,) = body["series"]
        expected: dict[str, list[tuple[Any, Any]]] = {
            "trend": MEANS,
            "comparison": [("L01", 0.03)],  # (0.02 + 0.04 + 0.01 + 0.03 + 0.02 + 0.06) / 6
            "distribution": [("0.01–0.0225", 3), ("0.0225–0.035", 1), ("0.035–0.0475", 1), ("0.0475–0.06", 1)],
            "correlation": [(rate, rest) for _, ago, _, rate, rest in ROWS[:6] if ago < 30 * DAY],
            "anomaly": MEANS,
        }
        assert near(series["points"]) == expected[one.alternative]
        if one.alternative == "anomaly":
            assert not any(point["anomaly"] for point in series["points"])

    play(world, scene)


@shows("4.2", "output/format", "chart_data", "table", "summary")
@leaves("4.2", "analysis/dimensions", "analysis/aggregation/yield_rate")
def test_formats(world: World, one: Sample) -> None:
    """W-4.2.1, C-50: series of points; rows by every dimension; per metric count, min, max, avg, last and change."""

    async def scene(door: Door) -> None:
        body = await result(door, one)
        if one.alternative == "chart_data":
            assert {"chart_type", "title", "x_axis", "series"} <= body.keys()
            assert [series["name"] for series in body["series"]] == ["L01"]
        elif one.alternative == "table":
            assert body["columns"] == ["time", "line_id", "shift", "defect_rate", "yield_rate"]
            rows = [tuple(row.values()) for row in body["rows"]]
            assert rows[-2:] == [
                ("2026-03-01", "L01", "day", 0.02, 0.98), ("2026-03-01", "L01", "night", 0.04, 0.95),
            ]  # fmt: skip
            assert len(rows) == 6 and body["visualization"]["chart_type"] == "line"
        else:
            assert body["defect_rate"] == {
                "count": 6, "min": 0.01, "max": 0.06, "avg": pytest.approx(0.03), "last": pytest.approx(0.03),
                "change": pytest.approx(-0.03),
            }  # fmt: skip
            assert body["yield_rate"]["avg"] == pytest.approx((0.98 + 0.95 + 0.99 + 0.96 + 0.97 + 0.93) / 6)

    play(world, scene)


@shows("4.2", "visualization/chart_type", "line", "bar", "pie", "heatmap", "scatter")
@leaves("4.2", "visualization/title", "visualization/x_axis", "visualization/y_axis", "visualization/series_by")
def test_charts(world: World, one: Sample) -> None:
    """W-4.2.3: chart_type, title, axes and series are in the result, and a Vega-Lite spec that draws them."""

    async def scene(door: Door) -> None:
        body = await result(door, one)
        assert (body["chart_type"], body["title"]) == (one.alternative, "30일 불량률 추이")
        assert (body["x_axis"], body["y_axis"], body["series_by"]) == ("date", ["defect_rate"], "line_id")
        spec = body["vega_lite"]
        assert "vega-lite" in spec["$schema"] and spec["title"] == "30일 불량률 추이"
        marks = {"line": "line", "bar": "bar", "pie": "arc", "heatmap": "rect", "scatter": "point"}
        assert spec["mark"]["type"] == marks[one.alternative]
        shown = [row["y"] for row in spec["data"]["values"]]
        assert shown == pytest.approx([0.03] if one.alternative == "pie" else [mean for _, mean in MEANS])

    play(world, scene)


def test_a_metric_that_does_not_exist_is_told_before_and_in_the_run(world: World) -> None:
    """W-4.2.4, W-9.2.2, C-50: a warning at its place when the document is checked, a typed failure in the run."""
    node = {"id": "bi_x", "type": "BI", "analysis": {
        "type": "trend", "metrics": ["defect_rat"], "time_grain": "day",
        "time_range": {"start": "2026-01-01", "end": "2026-02-01"}}}  # fmt: skip

    async def scene(door: Door) -> None:
        run = await door.start(door.release(_bytes(document([node]))), {})
        await door.quiet()
        failure = door.view(run).failure
        assert failure is not None and (failure["code"], failure["category"]) == ("METRIC_NOT_FOUND", "validation")
        assert "defect_rat" in failure["message"] and failure["detail"]["at"] == "/analysis/metrics/0"
        assert "defect_rate" in failure["detail"]["hint"]

    play(world, scene)


def _bytes(whole: Any) -> bytes:
    import json

    return json.dumps(whole).encode()


NEEDS = [
    ("trend", "metrics"), ("trend", "time_grain"), ("trend", "time_range"), ("comparison", "metrics"),
    ("comparison", "compare_groups"), ("distribution", "bucket_config"), ("correlation", "correlation_pairs"),
    ("anomaly", "metrics"), ("anomaly", "anomaly_config"),
]  # fmt: skip
WHOLE: dict[str, dict[str, Any]] = {
    "trend": {"metrics": ["m"], "time_grain": "day", "time_range": {"start": "2026-01-01", "end": "2026-02-01"}},
    "comparison": {"metrics": ["m"], "compare_groups": {"dimension": "line_id"}},
    "distribution": {"bucket_config": {"field": "m"}},
    "correlation": {"correlation_pairs": [["m", "n"]]},
    "anomaly": {"metrics": ["m"], "anomaly_config": {"algorithm": "iqr", "threshold": 1.5}},
}


@pytest.mark.parametrize(("type", "name"), NEEDS)
def test_a_required_setting_is_missing(type: str, name: str) -> None:
    """W-4.2.2, W-9.2.2: `bi_required_settings` at the analysis, with what to write; whole, nothing is found."""
    whole = {"id": "bi_x", "type": "BI", "analysis": {"type": type, **WHOLE[type]}}
    assert found(document([whole])) == []
    for empty in ("gone", None, [], {}):
        analysis = {key: value for key, value in whole["analysis"].items() if key != name}
        if empty != "gone":
            analysis[name] = empty
        told = [f for f in found(document([{**whole, "analysis": analysis}])) if f.rule == "bi_required_settings"]
        if empty == "gone" or empty is None or empty == []:
            assert [(f.severity, f.where.pointer) for f in told] == [("error", "/nodes/0/analysis")]
            assert f"«{name}»" in told[0].message and f'"{name}"' in told[0].hint


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"type": "trend", **WHOLE["trend"], "aggregation": {"m": "mean"}}, "/nodes/0/analysis/aggregation/m"),
    ({"type": "trend", **WHOLE["trend"], "aggregation": {"m": 5}}, "/nodes/0/analysis/aggregation/m"),
    ({"type": "trend", **WHOLE["trend"], "time_range": {"start": "yesterday", "end": "2026-01-01"}},
     "/nodes/0/analysis/time_range/start"),
    ({"type": "distribution", "bucket_config": {"field": "m", "edges": [3, 1]}},
     "/nodes/0/analysis/bucket_config/edges"),
    ({"type": "distribution", "bucket_config": {"field": "m", "edges": [1]}}, "/nodes/0/analysis/bucket_config/edges"),
    ({"type": "distribution", "bucket_config": {"field": "m", "count": 201}}, "/nodes/0/analysis/bucket_config/count"),
    ({"type": "correlation", "correlation_pairs": [["m"]]}, "/nodes/0/analysis/correlation_pairs/0"),
    ({"type": "correlation", "correlation_pairs": ["m"]}, "/nodes/0/analysis/correlation_pairs/0"),
    ({"type": "anomaly", "metrics": ["m"], "anomaly_config": {"algorithm": "iqr", "threshold": 0}},
     "/nodes/0/analysis/anomaly_config/threshold"),
]  # fmt: skip


@pytest.mark.parametrize(("analysis", "at"), WRONG, ids=[at for _, at in WRONG])
def test_a_value_that_cannot_be(analysis: dict[str, Any], at: str) -> None:
    """C-50, bad input: told at its place, with a hint."""
    told = found(document([{"id": "bi_x", "type": "BI", "analysis": analysis}]))
    assert [(f.rule, f.where.pointer) for f in told] == [("wrong_type", at)] and told[0].hint


def test_a_series_must_be_a_dimension() -> None:
    """W-4.2.3: told where the chart names it."""
    node = {"id": "bi_x", "type": "BI", "analysis": {"type": "trend", **WHOLE["trend"], "dimensions": ["line_id"]},
            "visualization": {"series_by": "line"}}  # fmt: skip
    (told,) = found(document([node]))
    assert (told.rule, told.where.pointer) == ("wrong_type", "/nodes/0/visualization/series_by")
