"""Metrics and charts at the command line: registered, analysed over the sample tenant, drawn."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.shell import Shell

TREND: dict[str, Any] = {
    "id": "wf_trend", "version": 1, "edges": [],
    "nodes": [{
        "id": "bi_trend", "type": "BI",
        "analysis": {
            "type": "trend", "metrics": ["defect_rate"], "dimensions": ["line_id"], "time_grain": "day",
            "time_range": {"start": "${fn.date_add(fn.now(), -30, 'day')}", "end": "${fn.now()}"},
        },
        "visualization": {"chart_type": "line", "title": "30일 불량률 추이", "series_by": "line_id"},
    }],
}  # fmt: skip


@pytest.fixture
def run(penstock: Shell) -> str:
    penstock.write("trend.json", json.dumps(TREND, ensure_ascii=False))
    body = penstock("run", "trend.json", "--json").json()
    assert body["status"] == "completed"
    result = body["output"]["trend_result"]
    assert [series["name"] for series in result["series"]] == ["L01", "L02", "L03"]
    assert all(len(series["points"]) >= 29 for series in result["series"])
    penstock.write("chart.json", json.dumps(result))
    return str(body["run_id"])


def test_the_chart_of_a_run(penstock: Shell, run: str) -> None:
    """W-4.2.3: by its node or its variable, as SVG or PNG, to a file or the screen."""
    assert "wrote" in penstock("draw", run, "--chart", "bi_trend", "-o", "a.svg").out
    assert "30일 불량률 추이" in (penstock.folder / "a.svg").read_text("utf-8")
    penstock("draw", run, "--chart", "trend_result", "--png", "-o", "a.png")
    assert (penstock.folder / "a.png").read_bytes()[:4] == b"\x89PNG"
    assert penstock("draw", run, "--chart", "bi_trend").out.startswith("<svg")
    said = penstock("draw", run, "--chart", "bi_trend", "--json").json()
    assert said["form"] == "svg" and said["picture"].startswith("<svg")
    assert penstock("draw", "chart.json").out.startswith("<svg")


def test_charts_that_are_not_there(penstock: Shell, run: str) -> None:
    """W-4.2.3, bad input: told with the charts that there are."""
    error = penstock("draw", run, "--chart", "nothing", code=2).err
    assert "bi_trend" in error and "trend_result" in error
    assert "-o" in penstock("draw", run, "--chart", "bi_trend", "--png", code=2).err
    assert "--chart" in penstock("draw", run, "--png", code=2).err


def test_metrics_are_registered_like_everything_else(penstock: Shell, run: str) -> None:
    """C-50: the catalogue is the registry's; what cannot be is told with its place."""
    assert "defect_rate" in penstock("registry", "ls", "metric").out
    body = {"connection": "default_sql", "table": "fact_daily_defect", "column": "produced", "time_column": "date"}
    penstock.write("good.json", json.dumps(body))
    penstock.write("bad.json", json.dumps({"table": "t", "sql": "sum(x)", "default_agg": "mean"}))
    penstock("registry", "put", "metric", "produced", "@good.json")
    error = penstock("registry", "put", "metric", "odd", "@bad.json", code=None)
    assert error.code != 0 and "default_agg" in error.err and "sum" in error.err
    penstock.write("made.json", json.dumps(TREND).replace('["defect_rate"]', '["produced"]'))
    assert penstock("run", "made.json", "--json").json()["status"] == "completed"
