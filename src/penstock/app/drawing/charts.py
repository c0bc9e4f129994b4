"""Charts in the results of a run: found by the name of their node or variable, drawn as SVG or PNG."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from penstock.app.runs.queries import Queries
from penstock.errors import BadInput
from penstock.executors.parts.charts.drawing import to_png, to_svg
from penstock.executors.parts.charts.vega_lite import vega_lite

Chart = Mapping[str, Any]


def chart_in(value: Any) -> Chart | None:
    """The chart that a value is, or has beside a table: chart_type, and series of points."""
    for chart in (value, value.get("visualization") if isinstance(value, Mapping) else None):
        if isinstance(chart, Mapping) and isinstance(chart.get("chart_type"), str) and _readable(chart.get("series")):
            return chart
    return None


def _readable(series: Any) -> bool:
    return isinstance(series, list) and all(
        isinstance(entry, Mapping)
        and isinstance(entry.get("name"), str)
        and isinstance(entry.get("points"), list)
        and all(isinstance(point, Mapping) and {"x", "y"} <= point.keys() for point in entry["points"])
        for entry in series
    )


def charts_of(door: Queries, run: str) -> dict[str, Chart]:
    """Every chart of a run by the name of its variable, and by the node that made it."""
    reading = door.reading(run)
    view = door.view_of(reading)
    values = {**view.variables, **view.outputs}
    charts = {name: chart for name, value in values.items() if (chart := chart_in(reading.resolve(value))) is not None}
    for node in reading.net.net.nodes:
        for name in node.out:
            if name in charts:
                charts[node.origin or node.id] = charts[name]
    return charts


def chart_of(door: Queries, run: str, name: str) -> Chart:
    """Raises BadInput, which lists the charts that there are."""
    charts = charts_of(door, run)
    if name not in charts:
        known = ", ".join(charts) or "none"
        raise BadInput(what="the chart", why=f"«{name}» is none of this run's", hint=f"It has: {known}.")
    return charts[name]


def chart_file(file: Path) -> Chart | None:
    """The chart in a JSON file; None when it holds something else."""
    try:
        return chart_in(msgspec.json.decode(file.read_bytes()))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def svg_of(chart: Chart) -> str:
    return to_svg(vega_lite(chart))


def png_of(chart: Chart) -> bytes:
    return to_png(vega_lite(chart))
