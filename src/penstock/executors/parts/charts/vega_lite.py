"""The Vega-Lite spec of a chart: made from chart_data and from nothing else, so that whoever has that can draw it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.executors.parts.charts.fonts import FONT_FAMILY

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
WIDTH, HEIGHT = 560, 280
_FONT = f"{FONT_FAMILY}, Noto Sans KR, sans-serif"
#: Told apart by people who see red and green alike (Okabe and Ito).
_COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#4D4D4D"]
_ALARM = "#C4281C"
#: What a label of a time axis lacks to be a moment. Local times are drawn as if they were UTC, so that a chart shows
#: the plant's clock whatever zone its reader is in.
_REST = {7: "-01T00:00:00Z", 10: "T00:00:00Z", 16: ":00Z"}

#: How a time axis is written, by the length of its labels.
_AXIS = {7: "%Y-%m", 10: "%m-%d"}
#: So many labels stand level below an axis.
_LEVEL = 6


def vega_lite(chart: Mapping[str, Any]) -> dict[str, Any]:
    """The spec of chart_data {chart_type, title, x_axis, y_axis, x_type, series[{name, points[{x, y}]}]}."""
    rows = _values(chart)
    kind = str(chart.get("chart_type") or "line")
    several = len({row["series"] for row in rows}) > 1
    return {
        "$schema": SCHEMA,
        "title": str(chart.get("title") or ""),
        "width": WIDTH,
        "height": HEIGHT,
        "data": {"values": rows},
        **_DRAWN.get(kind, _line)(chart, several),
        "config": {
            "font": _FONT, "background": "white", "view": {"stroke": None}, "range": {"category": _COLOURS},
            "axis": {"grid": True, "gridColor": "#E6E6E6", "labelFontSize": 11, "titleFontSize": 12},
            "title": {"fontSize": 15, "anchor": "start"}, "legend": {"labelFontSize": 11},
        },
    }  # fmt: skip


def _values(chart: Mapping[str, Any]) -> list[dict[str, Any]]:
    timed = _drawn_as_time(chart)
    rows = []
    for series in chart.get("series") or ():
        for point in series["points"]:
            x = point["x"]
            if timed and isinstance(x, str):
                x += _REST.get(len(x), "")
            rows.append({**point, "x": x, "series": series["name"]})
    return rows


def _drawn_as_time(chart: Mapping[str, Any]) -> bool:
    return chart.get("x_type") == "time" and chart.get("chart_type") in ("line", "scatter", None, "")


def _x(chart: Mapping[str, Any]) -> dict[str, Any]:
    labels, name = chart.get("labels") or {}, str(chart.get("x_axis") or "")
    title = {"title": str(labels.get(name, name))}
    texts = {point["x"] for series in chart.get("series") or () for point in series["points"]}
    if _drawn_as_time(chart):
        longest = max((len(str(text)) for text in texts), default=10)
        format = {"format": _AXIS.get(longest, "%m-%d %H:%M"), "labelOverlap": True}
        return {"field": "x", "type": "temporal", "scale": {"type": "utc"}, "axis": format, **title}
    if chart.get("x_type") == "number":
        return {"field": "x", "type": "quantitative", "scale": {"zero": False}, **title}
    axis = {"labelAngle": -40 if len(texts) > _LEVEL else 0, "labelOverlap": True}
    return {"field": "x", "type": "ordinal", "sort": None, "axis": axis, **title}


def _y(chart: Mapping[str, Any], zero: bool = True) -> dict[str, Any]:
    labels = chart.get("labels") or {}
    title = ", ".join(str(labels.get(name, name)) for name in chart.get("y_axis") or ())
    return {"field": "y", "type": "quantitative", "title": title, "scale": {"zero": zero}}


def _colour(several: bool) -> dict[str, Any]:
    return {"color": {"field": "series", "type": "nominal", "title": None}} if several else {}


_TOOLTIP = [
    {"field": "series", "type": "nominal"}, {"field": "x", "type": "nominal"}, {"field": "y", "type": "quantitative"},
]  # fmt: skip


def _line(chart: Mapping[str, Any], several: bool) -> dict[str, Any]:
    encoding = {"x": _x(chart), "y": _y(chart, zero=False), **_colour(several), "tooltip": _TOOLTIP}
    marked = any(point.get("anomaly") for series in chart.get("series") or () for point in series["points"])
    line = {"mark": {"type": "line", "point": {"size": 24}, "interpolate": "linear"}, "encoding": encoding}
    return _with_alarms(line, encoding) if marked else line


def _with_alarms(chart: dict[str, Any], encoding: dict[str, Any]) -> dict[str, Any]:
    """Outliers stand out by shape and by colour."""
    place = {name: encoding[name] for name in ("x", "y", "tooltip")}
    alarm = {"type": "point", "shape": "diamond", "filled": True, "size": 140, "color": _ALARM}
    return {"layer": [chart, {"transform": [{"filter": "datum.anomaly"}], "mark": alarm, "encoding": place}]}


def _bar(chart: Mapping[str, Any], several: bool) -> dict[str, Any]:
    beside = {"xOffset": {"field": "series"}} if several else {}
    encoding = {"x": _x(chart), "y": _y(chart), **beside, **_colour(several), "tooltip": _TOOLTIP}
    return {"mark": {"type": "bar"}, "encoding": encoding}


def _pie(chart: Mapping[str, Any], several: bool) -> dict[str, Any]:
    colour = {"field": "x", "type": "nominal", "title": str(chart.get("x_axis") or "")}
    encoding = {"theta": {"field": "y", "type": "quantitative", "stack": True}, "color": colour}
    beside = {"column": {"field": "series", "type": "nominal", "title": None}} if several else {}
    return {"mark": {"type": "arc", "stroke": "white"}, "encoding": {**encoding, **beside, "tooltip": _TOOLTIP}}


def _heatmap(chart: Mapping[str, Any], several: bool) -> dict[str, Any]:
    encoding = {
        "x": _x(chart), "y": {"field": "series", "type": "nominal", "title": None},
        "color": {"field": "y", "type": "quantitative", "title": _y(chart)["title"], "scale": {"scheme": "viridis"}},
        "tooltip": _TOOLTIP,
    }  # fmt: skip
    return {"mark": {"type": "rect"}, "encoding": encoding}


def _scatter(chart: Mapping[str, Any], several: bool) -> dict[str, Any]:
    encoding = {"x": _x(chart), "y": _y(chart, zero=False), **_colour(several), "tooltip": _TOOLTIP}
    return {"mark": {"type": "point", "filled": True, "opacity": 0.7}, "encoding": encoding}


_DRAWN = {"line": _line, "bar": _bar, "pie": _pie, "heatmap": _heatmap, "scatter": _scatter}
