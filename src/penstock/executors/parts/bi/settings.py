"""The settings of an analysis, read and checked: what is asked of which metrics, over which rows (C-50)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import timedelta, tzinfo
from typing import Any

import msgspec

from penstock.executors.contract import Failed, failed
from penstock.expr.calendar import BadDate, moment_of
from penstock.lang.analysis_settings import (
    AGGREGATIONS,
    ALGORITHMS,
    BUCKETS,
    CHARTS,
    COEFFICIENTS,
    GRAINS,
    MOST_BUCKETS,
    OPERATORS,
    REQUIRED,
    TYPES,
)

MOST_NAMES, MOST_VALUES, MOST_PERIODS = 50, 10_000, 50
#: Moments of plants, in milliseconds since 1970: from 1900 on and before 2200.
EARLIEST, LATEST = -2_208_988_800_000, 7_258_118_400_000
BETWEEN = "it must lie between the years 1900 and 2200"


class BadAnalysis(ValueError):
    """Settings or names that cannot be used; `at` is the pointer below the node."""

    def __init__(self, message: str, at: str, hint: str, code: str = "INPUT_INVALID") -> None:
        self.at, self.hint, self.code = at, hint, code
        super().__init__(message)

    def outcome(self) -> Failed:
        return failed(self.code, "validation", str(self), {"at": self.at, "hint": self.hint})


class Period(msgspec.Struct, frozen=True):
    """Rows from `start` on and before `end`, in milliseconds since 1970; None: without that end."""

    start: int | None = None
    end: int | None = None
    label: str = ""


class Filter(msgspec.Struct, frozen=True):
    field: str
    op: str
    value: Any
    at: str


class Buckets(msgspec.Struct, frozen=True):
    field: str = ""
    count: int = 10
    edges: tuple[float, ...] = ()
    method: str = "equal_width"


class AnomalyRule(msgspec.Struct, frozen=True):
    algorithm: str
    threshold: float
    alpha: float = 0.3  # ewma: the weight of the newest value


class Groups(msgspec.Struct, frozen=True):
    dimension: str
    groups: tuple[Any, ...] = ()


class Chart(msgspec.Struct, frozen=True):
    """`visualization`; what it leaves out follows from the analysis."""

    chart_type: str = ""
    title: str = ""
    x_axis: str = ""
    y_axis: tuple[str, ...] = ()
    series_by: str = ""


class Analysis(msgspec.Struct, frozen=True):
    """Everything that one node asks."""

    type: str
    metrics: tuple[str, ...] = ()
    dimensions: tuple[str, ...] = ()
    time_grain: str = ""
    time_range: Period = Period()
    filters: tuple[Filter, ...] = ()
    aggregation: Mapping[str, str] = {}
    periods: tuple[Period, ...] = ()
    groups: Groups | None = None
    buckets: Buckets | None = None
    pairs: tuple[tuple[str, str], ...] = ()
    method: str = "pearson"
    anomaly: AnomalyRule | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Every metric that is asked about, each once."""
        field = (self.buckets.field,) if self.buckets is not None and self.buckets.field else ()
        asked = {"distribution": field or self.metrics, "correlation": sum(self.pairs, ())}
        return tuple(dict.fromkeys(asked.get(self.type, self.metrics)))


def read_analysis(given: Any, zone: tzinfo) -> Analysis:
    """The analysis of a node. Raises BadAnalysis at the first thing that is wrong."""
    analysis = _Reader(given, "/analysis")
    type = analysis.choice("type", TYPES)
    if not type:
        raise analysis.wrong("type", "is missing", f"Write one of {', '.join(TYPES)}.")
    read = Analysis(
        type=type,
        metrics=analysis.names("metrics"),
        dimensions=analysis.names("dimensions"),
        time_grain=analysis.choice("time_grain", GRAINS),
        time_range=_period(analysis.part("time_range"), zone),
        filters=tuple(_filter(item) for item in analysis.parts("filters")),
        aggregation=_aggregation(analysis.part("aggregation")),
        periods=tuple(_period(item, zone) for item in analysis.parts("compare_periods", MOST_PERIODS)),
        groups=_groups(analysis.part("compare_groups")),
        buckets=_buckets(analysis.part("bucket_config")),
        pairs=_pairs(analysis),
        method=analysis.choice("method", COEFFICIENTS) or "pearson",
        anomaly=_anomaly(analysis.part("anomaly_config")),
    )
    _check_required(read, analysis)
    return read


def read_chart(given: Any) -> Chart:
    chart = _Reader(given, "/visualization")
    if given is None:
        return Chart()
    y_axis = given.get("y_axis") if isinstance(given, Mapping) else None
    return Chart(
        chart_type=chart.choice("chart_type", CHARTS), title=chart.text("title"), x_axis=chart.text("x_axis"),
        y_axis=(y_axis,) if isinstance(y_axis, str) and y_axis else chart.names("y_axis"),
        series_by=chart.text("series_by"),
    )  # fmt: skip


def _check_required(read: Analysis, analysis: _Reader) -> None:
    for names in REQUIRED[read.type]:
        if not any(analysis.given.get(name) for name in names):
            what = " or ".join(f"«{name}»" for name in names)
            raise BadAnalysis(f"A {read.type} needs {what}.", "/analysis", f"Write {what} below «analysis».")
    if read.type == "trend" and (read.time_range.start is None or read.time_range.end is None):
        raise analysis.wrong("time_range", "needs «start» and «end»", 'Write {"start": …, "end": …}.')
    if not read.names:
        raise BadAnalysis("It names no metric.", "/analysis/metrics", 'Write `"metrics": ["…"]`.')


class _Reader:
    """One map of the settings, and where it stands."""

    def __init__(self, given: Any, at: str) -> None:
        self.at = at
        if given is not None and not isinstance(given, Mapping):
            raise BadAnalysis(f"«{at.rpartition('/')[2]}» must be a map.", at, "Write { … }.")
        self.given: Mapping[str, Any] = given or {}

    def wrong(self, name: str, why: str, hint: str) -> BadAnalysis:
        return BadAnalysis(f"«{name}» {why}.", f"{self.at}/{name}", hint)

    def choice(self, name: str, known: Sequence[str]) -> str:
        value = self.given.get(name)
        if value is None or value == "":
            return ""
        if value not in known:
            raise self.wrong(name, f"is «{str(value)[:40]}»; it can be {', '.join(known)}", "Choose one of them.")
        return str(value)

    def text(self, name: str) -> str:
        value = self.given.get(name)
        if value is not None and not isinstance(value, str):
            raise self.wrong(name, "must be a text", "Put it in quotes.")
        return value or ""

    def names(self, name: str) -> tuple[str, ...]:
        value = self.given.get(name)
        if value is None:
            return ()
        if not isinstance(value, list | tuple) or not all(isinstance(item, str) and item for item in value):
            raise self.wrong(name, "must be a list of names", f'Write `"{name}": ["…"]`.')
        if len(value) > MOST_NAMES:
            raise self.wrong(name, f"has more than {MOST_NAMES} names", "Ask in several nodes.")
        return tuple(dict.fromkeys(value))

    def number(self, name: str, otherwise: float | None = None) -> float:
        value = self.given.get(name, otherwise)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise self.wrong(name, "must be a number", f'Write `"{name}": 3`.')
        return float(value)

    def part(self, name: str) -> _Reader:
        return _Reader(self.given.get(name), f"{self.at}/{name}")

    def parts(self, name: str, most: int = MOST_NAMES) -> list[_Reader]:
        value = self.given.get(name)
        if value is None:
            return []
        if not isinstance(value, list | tuple):
            raise self.wrong(name, "must be a list", f'Write `"{name}": [ … ]`.')
        if len(value) > most:
            raise self.wrong(name, f"has more than {most} entries", "Ask in several nodes.")
        return [_Reader(item, f"{self.at}/{name}/{i}") for i, item in enumerate(value)]


def _period(period: _Reader, zone: tzinfo) -> Period:
    start, end = _moment(period, "start", zone), _moment(period, "end", zone, whole_day=True)
    if start is not None and end is not None and start >= end:
        message = f"The time range ends ({period.given['end']}) before it begins ({period.given['start']})."
        raise BadAnalysis(message, period.at, "Let «start» be before «end».")
    label = period.given.get("label")
    if period.at.rpartition("/")[2].isdigit() and (start is None or end is None):
        raise BadAnalysis("A period needs «start» and «end».", period.at, 'Write {"label": …, "start": …, "end": …}.')
    return Period(start, end, str(label) if label is not None else f"{period.given.get('start')}")


def _moment(period: _Reader, name: str, zone: tzinfo, whole_day: bool = False) -> int | None:
    """Milliseconds since 1970. An end that is a date without a time is the end of that day."""
    value = period.given.get(name)
    if value is None:
        return None
    hint = "Write 2026-11-15 or 2026-11-15T09:00:00+09:00."
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return _within(int(value), period, name, hint)
    try:
        moment = moment_of(str(value), zone)
        if whole_day and len(str(value)) == len("2026-11-15"):
            moment = (moment.replace(tzinfo=None) + timedelta(days=1)).replace(tzinfo=zone)
    except OverflowError:
        raise period.wrong(name, f"is «{str(value)[:40]}»; {BETWEEN}", hint) from None
    except BadDate as error:
        why = f"«{str(value)[:40]}» is not a date: {error}"
        raise period.wrong(name, f"cannot be read: {why}", hint) from None
    return _within(round(moment.timestamp() * 1000), period, name, hint)


def _within(millis: int, period: _Reader, name: str, hint: str) -> int:
    if not EARLIEST <= millis <= LATEST:
        raise period.wrong(name, f"is «{str(period.given[name])[:40]}»; {BETWEEN}", hint)
    return millis


def _filter(item: _Reader) -> Filter:
    field, op = item.text("field"), item.choice("op", OPERATORS) or "eq"
    if not field:
        raise item.wrong("field", "is missing", 'Write {"field": "line_id", "op": "eq", "value": "L01"}.')
    value = item.given.get("value")
    if op in ("in", "not_in"):
        value = list(value) if isinstance(value, list | tuple) else value if value is None else [value]
    elif op == "between" and value is not None and (not isinstance(value, list | tuple) or len(value) != 2):
        raise item.wrong("value", "must be a list of two", 'Write `"value": [1, 5]`.')
    elif op != "between" and isinstance(value, list | tuple):
        raise item.wrong("value", f"is a list, which «{op}» does not take", 'Write `"op": "in"`.')
    if isinstance(value, list | tuple) and len(value) > MOST_VALUES:
        raise item.wrong("value", f"has more than {MOST_VALUES} entries", "Ask for fewer.")
    for entry in value if isinstance(value, list | tuple) else [value]:
        _check_value(entry, item)
    return Filter(field, op, value, item.at)


def _check_value(value: Any, item: _Reader) -> None:
    if value is not None and not isinstance(value, str | int | float | bool):
        raise item.wrong("value", "must hold texts, numbers, true or false", 'Write `"value": "L01"`.')
    if isinstance(value, float) and not math.isfinite(value) or isinstance(value, int) and abs(value) >= 2**63:
        raise item.wrong("value", "holds a number that is too large", "Write a smaller one.")
    if isinstance(value, str) and "\0" in value:
        raise item.wrong("value", "holds a NUL character", "Leave it out.")


def _aggregation(part: _Reader) -> dict[str, str]:
    return {name: part.choice(name, AGGREGATIONS) for name in part.given if part.given[name] is not None}


def _groups(part: _Reader) -> Groups | None:
    if not part.given:
        return None
    dimension, groups = part.text("dimension"), part.given.get("groups")
    if not dimension:
        raise part.wrong("dimension", "is missing", 'Write {"dimension": "line_id", "groups": ["L01", "L02"]}.')
    if groups is not None and not isinstance(groups, list | tuple):
        raise part.wrong("groups", "must be a list", 'Write `"groups": ["L01", "L02"]`.')
    for entry in groups or ():
        if entry is None or isinstance(entry, Mapping | list | tuple):
            raise part.wrong("groups", "must hold texts or numbers", 'Write `"groups": ["L01", "L02"]`.')
    return Groups(dimension, tuple(dict.fromkeys(groups or ())))


def _buckets(part: _Reader) -> Buckets | None:
    if not part.given:
        return None
    count = part.number("count", 10)
    if count != int(count) or not 1 <= count <= MOST_BUCKETS:
        raise part.wrong("count", f"must be a whole number from 1 to {MOST_BUCKETS}", 'Write `"count": 10`.')
    edges = part.given.get("edges")
    if edges is not None:
        hint = 'Write `"edges": [0, 0.02, 0.05]`: numbers that grow, at least two.'
        numbers = isinstance(edges, list | tuple) and all(
            isinstance(edge, int | float) and not isinstance(edge, bool) and math.isfinite(edge) for edge in edges
        )
        if not numbers or not 2 <= len(edges) <= MOST_BUCKETS + 1:
            raise part.wrong("edges", f"must be a list of 2 to {MOST_BUCKETS + 1} numbers", hint)
        if any(after <= before for before, after in zip(edges, edges[1:], strict=False)):
            raise part.wrong("edges", "must grow", hint)
    method = part.choice("method", BUCKETS) or "equal_width"
    return Buckets(part.text("field"), int(count), tuple(float(edge) for edge in edges or ()), method)


def _pairs(analysis: _Reader) -> tuple[tuple[str, str], ...]:
    given = analysis.given.get("correlation_pairs")
    hint = 'Write `"correlation_pairs": [["defect_rate", "temperature"]]`.'
    if given is None:
        return ()
    if not isinstance(given, list | tuple) or len(given) > MOST_NAMES:
        raise analysis.wrong("correlation_pairs", f"must be a list of at most {MOST_NAMES} pairs", hint)
    for i, pair in enumerate(given):
        two = isinstance(pair, list | tuple) and len(pair) == 2 and all(isinstance(n, str) and n for n in pair)
        if not two:
            raise analysis.wrong(f"correlation_pairs/{i}", "must be two names of metrics", hint)
    return tuple((first, second) for first, second in given)


def _anomaly(part: _Reader) -> AnomalyRule | None:
    if not part.given:
        return None
    algorithm = part.choice("algorithm", ALGORITHMS)
    if not algorithm or part.given.get("threshold") is None:
        name = "threshold" if algorithm else "algorithm"
        raise part.wrong(name, "is missing", 'Write {"algorithm": "zscore", "threshold": 3}.')
    threshold, alpha = part.number("threshold"), part.number("alpha", 0.3)
    if threshold <= 0:
        raise part.wrong("threshold", "must be more than 0", 'Write `"threshold": 3`.')
    if not 0 < alpha <= 1:
        raise part.wrong("alpha", "must be more than 0 and at most 1", 'Write `"alpha": 0.3`.')
    return AnomalyRule(algorithm, threshold, alpha)
