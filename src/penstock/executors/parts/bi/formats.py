"""The three formats of a result: chart_data, table and summary (C-50, W-4.2.1, W-4.2.3)."""

from __future__ import annotations

from typing import Any

from penstock.executors.parts.bi.analyses import Analyst
from penstock.executors.parts.bi.frames import Frame
from penstock.executors.parts.bi.settings import BadAnalysis, Chart
from penstock.executors.parts.charts.vega_lite import vega_lite

#: How an analysis is drawn where nobody says it.
_CHARTS = {"trend": "line", "comparison": "bar", "distribution": "bar", "correlation": "scatter", "anomaly": "line"}

#: Columns that a point of a chart has beside its place.
_BESIDE = ("anomaly", "score", "share")


async def formatted(analyst: Analyst, format: str, chart: Chart, wanted: bool) -> dict[str, Any]:
    """The result in its format; a chart beside a table or a summary where the node has a `visualization`."""
    if format == "chart_data":
        return await chart_data(analyst, chart)
    frame = await analyst.frame(analyst.analysis.dimensions)
    body = await _summary(analyst, frame) if format == "summary" else _table(frame)
    if wanted:
        body["visualization"] = await chart_data(analyst, chart)
    return body


def _table(frame: Frame) -> dict[str, Any]:
    columns = frame.columns
    return {"columns": columns, "rows": [{name: row.get(name) for name in columns} for row in frame.rows]}


# ---- charts ----------------------------------------------------------------------------------------------------------


async def chart_data(analyst: Analyst, chart: Chart) -> dict[str, Any]:
    """Series of points, and the Vega-Lite spec that draws them."""
    kind = chart.chart_type or _CHARTS[analyst.analysis.type]
    frame = await _chart_frame(analyst, chart, kind)
    values = _values(frame, chart)
    body: dict[str, Any] = {
        "chart_type": kind,
        "title": chart.title or _title(analyst),
        "x_axis": chart.x_axis or frame.x,
        "y_axis": list(values),
        "labels": _labels(analyst, frame, values),
        "x_type": frame.x_kind,
        "series_by": chart.series_by or None,
        "series": _series(frame, values, chart),
    }
    body["vega_lite"] = vega_lite(body)
    return body


async def _chart_frame(analyst: Analyst, chart: Chart, kind: str) -> Frame:
    """The rows that the chart shows: told apart by `series_by`, else by every dimension. A pie, and an axis that is a
    dimension, have no time."""
    asked = analyst.analysis
    axis = (chart.x_axis,) if chart.x_axis in asked.dimensions and asked.type == "trend" else ()
    series = (chart.series_by,) if chart.series_by else tuple(d for d in asked.dimensions if d not in axis)
    if chart.series_by and chart.series_by not in asked.dimensions and chart.series_by != "metric":
        known = ", ".join(asked.dimensions) or "none"
        message = f"«series_by» is «{chart.series_by[:40]}», which is no dimension of the analysis; there are {known}."
        raise BadAnalysis(message, "/visualization/series_by", "Write it into «analysis.dimensions», too.")
    if chart.series_by == "metric":
        series = ()
    if asked.type == "correlation" and kind not in ("heatmap", "bar"):
        return await analyst.dots(series)
    timed = not axis and kind != "pie"
    return await analyst.frame(tuple(dict.fromkeys((*axis, *series))), timed)


def _values(frame: Frame, chart: Chart) -> tuple[str, ...]:
    chosen = tuple(name for name in chart.y_axis if name in frame.values)
    return chosen or frame.values


def _series(frame: Frame, values: tuple[str, ...], chart: Chart) -> list[dict[str, Any]]:
    by_key: dict[tuple[Any, ...], dict[str, Any]] = {}
    chosen = set(chart.y_axis) & {str(row.get("metric")) for row in frame.rows} if "metric" in frame.more else None
    for row in frame.rows:
        if chosen and row.get("metric") not in chosen:
            continue
        group = tuple(row[name] for name in frame.groups)
        for value in values:
            series = by_key.get((value, *group))
            if series is None:
                named = dict(zip(frame.groups, group, strict=True))
                name = _name(frame, value, group, len(values) > 1)
                series = {"name": name, "metric": row.get("metric", value), "group": named, "points": []}
                by_key[value, *group] = series
            point = {"x": row[frame.x], "y": row[value]}
            series["points"].append(point | {name: row[name] for name in _BESIDE if name in frame.more})
    return [by_key[key] for key in sorted(by_key, key=lambda key: (values.index(key[0]), *map(str, key[1:])))]


def _name(frame: Frame, value: str, group: tuple[Any, ...], several: bool) -> str:
    parts = [str(part) if part is not None else "–" for part in group]
    named = [frame.labels.get(value, value)] if several or not parts else []
    return " · ".join([*named, *parts])


def _labels(analyst: Analyst, frame: Frame, values: tuple[str, ...]) -> dict[str, str]:
    """What the axes are called: outliers of one metric are that metric's."""
    names = analyst.analysis.names
    metric = {"value": frame.labels[names[0]]} if len(names) == 1 else {}
    known = {**frame.labels, **metric}
    return {name: known[name] for name in (frame.x, *values) if name in known}


def _title(analyst: Analyst) -> str:
    labels = analyst.labels
    return f"{', '.join(labels[name] for name in analyst.analysis.names)}: {analyst.analysis.type}"


# ---- summary ---------------------------------------------------------------------------------------------------------


async def _summary(analyst: Analyst, frame: Frame) -> dict[str, Any]:
    """Per metric: count, min, max and avg of the rows' own values; last and change of the points over time."""
    body: dict[str, Any] = {}
    overall = await analyst.frame(()) if analyst.analysis.dimensions else frame
    for name, numbers in (await analyst.extremes()).items():
        points = _points(analyst, overall, name)
        change = points[-1] - points[0] if len(points) > 1 else None
        body[name] = {**numbers, "last": points[-1] if points else None, "change": change}
        if analyst.analysis.type == "anomaly":
            body[name]["anomalies"] = sum(row["anomaly"] for row in frame.rows if row["metric"] == name)
    for row in overall.rows if analyst.analysis.type == "correlation" else ():
        for name, other in ((row["a"], row["b"]), (row["b"], row["a"])):
            body[name].setdefault("correlations", {})[other] = row["coefficient"]
    return body


def _points(analyst: Analyst, frame: Frame, name: str) -> list[float]:
    if analyst.analysis.type in ("distribution", "correlation"):
        return []
    if analyst.analysis.type == "anomaly":
        return [row["value"] for row in frame.rows if row["metric"] == name and row["value"] is not None]
    return [row[name] for row in frame.rows if row[name] is not None]
