"""charts: a Vega-Lite spec from chart_data alone, drawn without a network, readable in Korean."""

from __future__ import annotations

import re
import struct
import sys
from typing import Any

import pytest
from fontTools.ttLib import TTFont

from penstock.errors import ExtraMissing
from penstock.executors.parts.charts import drawing
from penstock.executors.parts.charts.drawing import to_png, to_svg
from penstock.executors.parts.charts.fonts import FONT_BOLD, FONT_FAMILY, FONT_FOLDER, FONT_REGULAR
from penstock.executors.parts.charts.vega_lite import vega_lite

#: W-4.2.3
KINDS = ("line", "bar", "pie", "heatmap", "scatter")
DAYS = [("2026-03-01", 0.02), ("2026-03-02", 0.03), ("2026-03-03", 0.09)]


def chart(kind: str, **more: Any) -> dict[str, Any]:
    points = [{"x": day, "y": rate, "anomaly": rate > 0.05} for day, rate in DAYS]
    series = [{"name": name, "points": points} for name in ("1라인", "2라인")]
    return {"chart_type": kind, "title": "30일 불량률 추이", "x_axis": "날짜", "y_axis": ["rate"], "x_type": "time",
            "labels": {"rate": "불량률"}, "series": series, **more}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_chart_is_drawn(kind: str) -> None:
    """W-4.2.3: title, axes and series stand in the picture, and it reaches for nothing outside itself."""
    spec = vega_lite(chart(kind))
    svg = to_svg(spec)
    assert "30일 불량률 추이" in svg and "1라인" in svg
    assert kind in ("pie",) or "불량률" in svg
    assert not re.search(r'(?:href|src)="(?!data:|#)|url\(http', svg)
    png = to_png(spec, 1.0)
    assert png[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">I", png[16:20])[0] > 400


def test_outliers_stand_out() -> None:
    """C-50: by shape and by colour, and only where there are some."""
    spec = vega_lite(chart("line"))
    assert spec["layer"][1]["mark"]["shape"] == "diamond" and spec["layer"][1]["transform"] == [
        {"filter": "datum.anomaly"}
    ]
    calm = chart("line", series=[{"name": "a", "points": [{"x": "2026-03-01", "y": 1}]}])
    assert "layer" not in vega_lite(calm)


@pytest.mark.parametrize(
    ("label", "moment", "format"),
    [
        ("2026-03", "2026-03-01T00:00:00Z", "%Y-%m"), ("2026-03-05", "2026-03-05T00:00:00Z", "%m-%d"),
        ("2026-03-05T09:30", "2026-03-05T09:30:00Z", "%m-%d %H:%M"),
    ],
)  # fmt: skip
def test_a_time_axis_shows_the_plants_clock(label: str, moment: str, format: str) -> None:
    """W-4.2.3: whatever zone its reader is in: local times are drawn as they are written."""
    spec = vega_lite(chart("line", series=[{"name": "a", "points": [{"x": label, "y": 1}]}]))
    x = spec["encoding"]["x"]
    assert spec["data"]["values"][0]["x"] == moment
    assert (x["type"], x["scale"]["type"], x["axis"]["format"]) == ("temporal", "utc", format)


def test_no_points_are_a_chart_too() -> None:
    """C-50: a window without data is drawn as an empty chart."""
    for kind in KINDS:
        assert to_svg(vega_lite(chart(kind, series=[]))).startswith("<svg")


def test_a_chart_reads_nothing_from_elsewhere() -> None:
    """W-4.2.3: a spec that asks for an address is refused."""
    spec = {**vega_lite(chart("bar")), "data": {"url": "http://127.0.0.1:9/rows.json"}}
    with pytest.raises(ValueError, match=r"(?i)external|denied|base url|allowed"):
        to_svg(spec)


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """W-4.2.3: what is missing is named, with how to get it."""
    drawing._converter.cache_clear()
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(ExtraMissing, match=r"penstock\[reports\]"):
        to_svg(vega_lite(chart("bar")))
    drawing._converter.cache_clear()


def test_the_font_has_every_syllable_and_its_licence() -> None:
    """W-4.2.3: all 11,172 syllables, under a name of its own as the licence asks."""
    for file in (FONT_REGULAR, FONT_BOLD):
        font = TTFont(file)
        known = font.getBestCmap()
        assert all(code in known for code in range(0xAC00, 0xD7A4)) and all(code in known for code in range(0x20, 0x7F))
        assert font["name"].getDebugName(1) == FONT_FAMILY
    licence = (FONT_FOLDER / "OFL.txt").read_text("utf-8")
    assert "SIL OPEN FONT LICENSE" in licence and "NAVER Corporation" in licence
    assert not FONT_FAMILY.startswith("Nanum")
