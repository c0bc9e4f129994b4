"""Pictures of Vega-Lite specs, without a browser and without a network."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from penstock.errors import ExtraMissing
from penstock.executors.parts.charts.fonts import FONT_FOLDER


def to_svg(spec: Mapping[str, Any]) -> str:
    """The chart as SVG. Raises ExtraMissing where vl-convert is not installed."""
    svg: str = _converter().vegalite_to_svg(dict(spec), allowed_base_urls=[])
    return svg


def to_png(spec: Mapping[str, Any], scale: float = 2.0) -> bytes:
    """The chart as PNG, so many dots per pixel. Raises ExtraMissing where vl-convert is not installed."""
    png: bytes = _converter().vegalite_to_png(dict(spec), scale=scale, allowed_base_urls=[])
    return png


@functools.cache
def _converter() -> Any:
    try:
        import vl_convert
    except ImportError:
        raise ExtraMissing(extra="reports") from None
    vl_convert.register_font_directory(str(FONT_FOLDER))
    return vl_convert
