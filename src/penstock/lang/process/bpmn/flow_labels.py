"""Where the name of a flow stands in an automatic layout: on the last long part that runs across, above its line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from unicodedata import east_asian_width

#: modelers break names at this width; of a letter, wide and narrow, and of a line
_WIDTH, _WIDE, _NARROW, _LINE, _ABOVE = 90, 12.0, 6.4, 14, 4


def label_of(points: Sequence[Sequence[float]], name: str) -> dict[str, list[float]]:
    """{label: bounds}; nothing for a flow without a name."""
    across = [(x1, x2, y1) for (x1, y1), (x2, y2) in pairwise(points) if y1 == y2]
    if not name or not across:
        return {}
    longest = max(abs(x2 - x1) for x1, x2, _ in across)
    start, end, y = [part for part in across if abs(part[1] - part[0]) >= min(longest, _WIDTH)][-1]
    text = sum(_WIDE if east_asian_width(letter) in "WF" else _NARROW for letter in name)
    height = _LINE * max(1, math.ceil(text / (_WIDTH - _WIDE)))
    return {"label": [(start + end - _WIDTH) / 2, y - _ABOVE - height, _WIDTH, height]}
