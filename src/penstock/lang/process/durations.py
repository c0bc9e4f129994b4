"""Durations and cycles as BPMN writes them (ISO 8601), in milliseconds."""

from __future__ import annotations

import re

_DURATION = re.compile(
    r"P(?:(?P<years>\d+)Y)?(?:(?P<months>\d+)M)?(?:(?P<weeks>\d+)W)?(?:(?P<days>\d+)D)?"
    r"(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?\Z"
)
_CYCLE = re.compile(r"R(?P<times>\d*)/(?P<interval>P[^/]+)\Z")
_DAY = 86_400
_SECONDS = {
    "years": 365 * _DAY, "months": 30 * _DAY, "weeks": 7 * _DAY, "days": _DAY, "hours": 3600, "minutes": 60,
    "seconds": 1,
}  # fmt: skip
_MOST_MS = 100 * 365 * _DAY * 1000
_MOST_TIMES = 1_000_000


def milliseconds(text: str) -> int | None:
    """P1DT2H as milliseconds; a year has 365 days and a month 30. None when it is no duration."""
    match = _DURATION.match(text.strip())
    if match is None or text.strip() in ("P", "PT") or text.strip().endswith("T"):
        return None
    total = sum(float(value) * _SECONDS[name] for name, value in match.groupdict().items() if value is not None)
    return round(min(total * 1000, _MOST_MS))  # also cuts what overflows a float


def seconds_of(expr: str) -> str:
    """The expression that gives the seconds of what another gives: seconds, or an ISO 8601 duration."""
    duration = f"fn.feel('duration(d) / duration(\"PT1S\")', {{'d': {expr}}})"
    return f"fn.if(fn.type_of({expr}) == 'string', {duration}, {expr})"


def is_rough(text: str) -> bool:
    """Does a duration count in years or months, which are not all as long?"""
    match = _DURATION.match(text.strip())
    return match is not None and (match["years"] is not None or match["months"] is not None)


def cycle(text: str) -> tuple[int, int] | None:
    """R3/PT10M as (times, milliseconds); R/PT10M has no end, and 0 times. None when it is no cycle, or never comes."""
    match = _CYCLE.match(text.strip())
    if match is None:
        return None
    interval, times = milliseconds(match["interval"]), match["times"]
    if not interval or times and not int(times[:7]):
        return None
    return (int(times or 0) if len(times) < 7 else _MOST_TIMES), interval
