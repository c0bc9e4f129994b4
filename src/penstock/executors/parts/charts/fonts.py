"""The font of charts and reports: shipped with the package, so that Korean is readable on every machine."""

from __future__ import annotations

from pathlib import Path

FONT_FOLDER = Path(__file__).resolve().parents[3] / "fonts"
FONT_FAMILY = "Penstock Sans KR"
FONT_REGULAR = FONT_FOLDER / "PenstockSansKR-Regular.ttf"
FONT_BOLD = FONT_FOLDER / "PenstockSansKR-Bold.ttf"
