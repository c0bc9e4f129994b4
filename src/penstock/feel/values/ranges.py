"""Ranges: two ends, each inside or outside; an end that is null is open without bound."""

from __future__ import annotations

from typing import Any, NamedTuple


class Range(NamedTuple):
    """`[low..high]`; `low_closed` and `high_closed` say whether the ends belong to it. `bounded` is false where an end
    stands for no bound, as in `(< 5)`."""

    low: Any
    high: Any
    low_closed: bool = True
    high_closed: bool = True
