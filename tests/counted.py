"""Work, counted instead of timed: lines of the package that are executed, which no busy machine changes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def lines_of(run: Callable[[], Any], below: str = "/penstock/") -> int:
    """A loop counts once per turn of it. What a library does in C is not seen."""
    count = 0

    def inside(frame: Any, event: str, arg: Any) -> Any:
        nonlocal count
        count += event == "line"
        return inside

    def watch(frame: Any, event: str, arg: Any) -> Any:
        return inside if below in frame.f_code.co_filename.replace("\\", "/") else None

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        run()
    finally:
        sys.settrace(before)
    return count


def grows_evenly(make: Callable[[int], Callable[[], Any]], size: int, factor: int = 3) -> bool:
    """Is the work for `factor` times as much about `factor` times the work? Squared, it would be far more."""
    make(size)()  # what is made once and kept
    small, large = lines_of(make(size)), lines_of(make(size * factor))
    return large < small * factor * 1.5
