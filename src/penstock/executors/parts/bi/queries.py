"""The statements of analyses. Values are bound, names are columns that the table really has, numbers are computed.

A source becomes a subquery `s` with columns d0, d1 … (dimensions), k (the time bucket), t (the time) and v0, v1 …
(metrics, finite or NULL). Everything else is built over it, so that an analysis knows nothing of tables.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import tzinfo
from typing import Any

import msgspec

from penstock.executors.parts.bi.catalogue import Metric, find_column, metric_sql
from penstock.executors.parts.bi.dialects import Column, Dialect, absolute
from penstock.executors.parts.bi.settings import BETWEEN, EARLIEST, LATEST, BadAnalysis, Filter, Period
from penstock.executors.parts.bi.time_grains import Offsets, Shift, bucket_sql
from penstock.executors.parts.sql.parameters import BoundStatement
from penstock.expr.calendar import BadDate, moment_of
from penstock.expr.cron import zone_of

_COMPARE = {"eq": "=", "ne": "<>", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_QUANTILES = {"median": 0.5, "p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
#: Sums, counts and extremes: every database has these.
_PLAIN = ("avg", "sum", "min", "max", "count")


class Source(msgspec.Struct, frozen=True):
    """A table whose real columns are known, and how its times are read."""

    dialect: Dialect
    table: str  # as it stands in a statement
    name: str  # as people call it
    columns: Mapping[str, str]
    zone: tzinfo
    shifts: tuple[Shift, ...]
    time_column: str = ""
    timezone: str = ""

    def column(self, name: str, at: str) -> Column:
        return find_column(name, self.columns, self.dialect, self.name, at)


class Rows(msgspec.Struct, frozen=True):
    """Which rows are read, and how they are grouped."""

    dimensions: tuple[str, ...] = ()
    grain: str = ""
    range: Period = Period()
    filters: tuple[Filter, ...] = ()


class _Binder:
    """Collects values in the order of their placeholders."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect, self.values = dialect, list[Any]()

    def put(self, value: Any) -> str:
        self.values.append(value)
        return self.dialect.mark

    def statement(self, text: str) -> BoundStatement:
        return BoundStatement(text, tuple(self.values))


def rows_sql(source: Source, metrics: Sequence[Metric], rows: Rows, binder: _Binder) -> str:
    """The subquery `s` of a source."""
    dialect = source.dialect
    dimensions = [
        f"{dialect.shown(source.column(name, '/analysis/dimensions'))} AS d{i}"
        for i, name in enumerate(rows.dimensions)
    ]
    values = [
        f"{metric_sql(metric, source.columns, dialect, '/analysis/metrics')} AS v{i}"
        for i, metric in enumerate(metrics)
    ]
    timed = bool(rows.grain or rows.range.start is not None or rows.range.end is not None)
    zone = Offsets(source.zone, rows.range)
    time = [*_time_columns(source)] if timed else []
    conditions = [_condition(item, source, zone, binder) for item in rows.filters]
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    text = f"SELECT {', '.join([*dimensions, *time, *values])} FROM {source.table}{where}"
    if not timed:
        return f"({text}) s"
    fence = dialect.fence
    kept = ", ".join([*(f"d{i}" for i in range(len(dimensions))), *(f"v{i}" for i in range(len(values)))])
    text = f"SELECT {kept}, {absolute('m', 'z', zone, _naive(source, rows.range))} AS t FROM ({text}{fence}) a"
    start = EARLIEST if rows.range.start is None else rows.range.start
    end = LATEST if rows.range.end is None else rows.range.end
    bounds = [f"t >= {binder.put(start)}", f"t < {binder.put(end)}"]  # NULL is neither
    if not rows.grain:
        return f"(SELECT {kept}, t FROM ({text}{fence}) b WHERE {' AND '.join(bounds)}) s"
    text = f"SELECT {kept}, t, {zone.added('t')} AS l FROM ({text}{fence}) b WHERE {' AND '.join(bounds)}"
    key = bucket_sql(rows.grain, "l", source.shifts, dialect.month)
    key = key.replace("%", "%%") if dialect.mark == "%s" else key
    return f"(SELECT {kept}, t, {key} AS k FROM ({text}{fence}) c) s"


def _time_columns(source: Source) -> tuple[str, str]:
    if not source.time_column:
        message = f"The metrics of «{source.name}» have no «time_column», so there is no time to group or choose by."
        raise BadAnalysis(message, "/analysis/time_range", "Register the metric with «time_column».", "METRIC_INVALID")
    column = source.column(source.time_column, "/analysis/metrics")
    if column.kind == "bool":
        message = f"The column «{column.name}» holds no times."
        raise BadAnalysis(message, "/analysis/metrics", "Name a column of times.", "METRIC_INVALID")
    millis, what = source.dialect.time(column)
    return f"{millis} AS m", f"{what} AS z"


def unreadable_times(source: Source, rows: Rows) -> BoundStatement | None:
    """How many rows have something else than a time in the time column (n); None where it can hold nothing else."""
    column = source.column(source.time_column, "/analysis/metrics")
    if column.kind not in ("any", "text") or source.dialect.name == "postgresql":
        return None  # PostgreSQL refuses a text that is no time
    binder = _Binder(source.dialect)
    conditions = [_condition(item, source, Offsets(source.zone, rows.range), binder) for item in rows.filters]
    millis, _ = source.dialect.time(column)
    name = source.dialect.quoted(column.name)
    where = " AND ".join([f"{name} IS NOT NULL", *conditions])
    text = f"SELECT {millis} AS m FROM {source.table} WHERE {where}{source.dialect.fence}"
    unreadable = f"m IS NULL OR m NOT BETWEEN {EARLIEST} AND {LATEST}"
    return binder.statement(f"SELECT count(*) AS n FROM ({text}) a WHERE {unreadable}")


def _naive(source: Source, range: Period) -> Offsets | None:
    """The offsets of times that have none themselves, where the metric says whose they are."""
    zone = zone_of(source.timezone) if source.timezone else None
    return Offsets(zone, range) if zone is not None else None


# ---- filters ---------------------------------------------------------------------------------------------------------


def _condition(item: Filter, source: Source, zone: Offsets, binder: _Binder) -> str:
    """W-4.2.4: a list is bound as a list; null or an empty list lets no row through."""
    column, value = source.column(item.field, f"{item.at}/field"), item.value
    if item.op == "not_in" and value == []:
        return "1 = 1"
    if value is None or value == [] or item.op == "between" and None in value:
        return "1 = 0"
    if item.op != "like" and (column.kind in ("date", "naive", "instant") or _holds_times(column, value, source)):
        text = absolute(*source.dialect.time(column), zone, _naive(source, Period()))
        return _compared(item, text, [_millis(entry, source, item) for entry in _entries(value)], binder)
    name = source.dialect.quoted(column.name)
    if item.op == "like":
        return source.dialect.like(name, binder.put(source.dialect.pattern(str(value))))
    return _compared(item, name, [_typed(entry, column, item) for entry in _entries(value)], binder)


def _holds_times(column: Column, value: Any, source: Source) -> bool:
    """Is it the column of times, whose type does not say so, and are these moments? As texts 09:00+09:00 and 00:00Z
    would not be the same."""
    timed = bool(source.time_column) and column.name.lower() == source.time_column.lower()
    if not timed or column.kind not in ("any", "text"):
        return False
    return all(isinstance(entry, str) and _is_moment(entry, source) for entry in _entries(value))


def _is_moment(text: str, source: Source) -> bool:
    try:
        moment_of(text, source.zone)
    except (BadDate, OverflowError):
        return False
    return True


def _entries(value: Any) -> list[Any]:
    return [entry for entry in value if entry is not None] if isinstance(value, list | tuple) else [value]


def _compared(item: Filter, text: str, values: list[Any], binder: _Binder) -> str:
    if item.op in ("in", "not_in"):
        if not values:
            return "1 = 1" if item.op == "not_in" else "1 = 0"
        marks = ", ".join(binder.put(value) for value in values)
        return f"{text} {'NOT IN' if item.op == 'not_in' else 'IN'} ({marks})"
    if item.op == "between":
        return f"{text} BETWEEN {binder.put(values[0])} AND {binder.put(values[1])}"
    return f"{text} {_COMPARE[item.op]} {binder.put(values[0])}"


def _typed(value: Any, column: Column, item: Filter) -> Any:
    """The value as the column's own type, so that every database compares alike."""
    if column.kind == "text":
        return str(value).lower() if isinstance(value, bool) else str(value)
    if column.kind == "number" and not isinstance(value, bool | int | float):
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            message = f"«{column.name}» holds numbers, and «{str(value)[:40]}» is none."
            raise BadAnalysis(message, f"{item.at}/value", "Write a number.")
        return number
    if column.kind == "bool" and not isinstance(value, bool):
        if value in (0, 1, "true", "false"):
            return value in (1, "true")
        raise BadAnalysis(f"«{column.name}» holds true or false.", f"{item.at}/value", "Write true or false.")
    return int(value) if isinstance(value, bool) and column.kind == "number" else value


def _millis(value: Any, source: Source, item: Filter) -> int:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return int(value)
    hint = "Write 2026-11-15T09:00:00+09:00."
    try:
        millis = round(moment_of(str(value), source.zone).timestamp() * 1000)
    except (BadDate, OverflowError) as error:
        message = f"«{item.field}» holds times, and «{str(value)[:40]}» is not a date: {error}."
        raise BadAnalysis(message, f"{item.at}/value", hint) from None
    if not EARLIEST <= millis <= LATEST:
        raise BadAnalysis(f"«{item.field}» is compared with «{value}»; {BETWEEN}.", f"{item.at}/value", hint)
    return millis


# ---- groups ----------------------------------------------------------------------------------------------------------


def grouped(source: Source, metrics: Sequence[tuple[Metric, str]], rows: Rows) -> list[BoundStatement]:
    """One row per group with its key (k, d0 …), then n and a value per metric; a statement per metric where a database
    has no aggregate for it. Each statement's columns: keys, then `n` and `m<i>` of the metrics that it answers."""
    native = [i for i, (_, function) in enumerate(metrics) if source.dialect.quantiles or function in _PLAIN]
    others = [i for i in range(len(metrics)) if i not in native]
    statements = []
    if native:
        binder = _Binder(source.dialect)
        inner = rows_sql(source, [metrics[i][0] for i in native], rows, binder)
        values = [
            f"{source.dialect.aggregate(metrics[i][1], f'v{place}')} AS m{i}, count(v{place}) AS n{i}"
            for place, i in enumerate(native)
        ]
        keys = _keys(rows)
        text = f"SELECT {', '.join([*keys, 'count(*) AS n', *values])} FROM {inner}{_by(keys)}"
        statements.append(binder.statement(text))
    statements += [_windowed(source, *metrics[i], rows, i) for i in others]
    return statements


def _keys(rows: Rows) -> list[str]:
    return [*(["k"] if rows.grain else []), *(f"d{i}" for i in range(len(rows.dimensions)))]


def _by(keys: list[str]) -> str:
    return f" GROUP BY {', '.join(keys)} ORDER BY {', '.join(keys)}" if keys else ""


def _over(keys: list[str], order: str = "") -> str:
    parts = [f"PARTITION BY {', '.join(keys)}" if keys else "", f"ORDER BY {order}" if order else ""]
    return f"OVER ({' '.join(part for part in parts if part)})"


def _windowed(source: Source, metric: Metric, function: str, rows: Rows, place: int) -> BoundStatement:
    """A quantile or a variance by windows; the square root of a variance is taken by the reader (`x<i>`)."""
    binder = _Binder(source.dialect)
    inner = rows_sql(source, [metric], rows, binder)
    keys = _keys(rows)
    select = ", ".join([*keys, "v0"])
    if function == "stddev":
        text = f"SELECT {select}, avg(v0) {_over(keys)} AS mean FROM {inner} WHERE v0 IS NOT NULL"
        value = f"CASE WHEN count(*) > 1 THEN sum((v0 - mean) * (v0 - mean)) / (count(*) - 1) END AS x{place}"
    else:
        text = ranked(select, keys, inner)
        value = f"{quantile_of(_QUANTILES[function])} AS m{place}"
    text = f"SELECT {', '.join([*keys, f'count(*) AS n{place}', value])} FROM ({text}) w{_by(keys)}"
    return binder.statement(text)


def ranked(select: str, keys: list[str], inner: str) -> str:
    """Values with their rank from 0 and their number, which a quantile is made of."""
    return (
        f"SELECT {select}, row_number() {_over(keys, 'v0')} - 1 AS r, count(*) {_over(keys)} AS c"
        f" FROM {inner} WHERE v0 IS NOT NULL"
    )


def quantile_of(share: float) -> str:
    """Between the two nearest values, in proportion, as PostgreSQL's percentile_cont does."""
    at = f"({share!r} * (c - 1))"
    low = f"CAST({at} AS INTEGER)"
    weight = f"CASE WHEN r = {low} THEN 1 - ({at} - {low}) WHEN r = {low} + 1 THEN {at} - {low} END"
    return f"sum(v0 * {weight})"


def extremes(source: Source, metrics: Sequence[Metric], rows: Rows) -> BoundStatement:
    """Number, least, greatest and mean of each metric's values over all rows: n<i>, lo<i>, hi<i>, mean<i>."""
    binder = _Binder(source.dialect)
    inner = rows_sql(source, metrics, rows, binder)
    values = [
        f"count(v{i}) AS n{i}, min(v{i}) AS lo{i}, max(v{i}) AS hi{i}, avg(v{i}) AS mean{i}"
        for i in range(len(metrics))
    ]
    return binder.statement(f"SELECT count(*) AS n, {', '.join(values)} FROM {inner}")


# ---- distributions ---------------------------------------------------------------------------------------------------


def quantile_edges(source: Source, metric: Metric, rows: Rows, count: int) -> BoundStatement:
    """The edges e0 … e<count> between which equally many values lie."""
    binder = _Binder(source.dialect)
    inner = rows_sql(source, [metric], rows, binder)
    dialect, shares = source.dialect, [i / count for i in range(count + 1)]
    texts = [dialect.quantile(share, "v0") if dialect.quantiles else quantile_of(share) for share in shares]
    edges = ", ".join(f"{text} AS e{i}" for i, text in enumerate(texts))
    values = inner if dialect.quantiles else f"({ranked('v0', [], inner)}) w"
    return binder.statement(f"SELECT {edges} FROM {values}")


def histogram(source: Source, metric: Metric, rows: Rows, edges: Sequence[float]) -> BoundStatement:
    """How many values lie in each bucket b (from 0; -1 below, the number of buckets above), per group. A bucket holds
    its lower edge; the last one holds its upper edge, too."""
    binder = _Binder(source.dialect)
    cases = f"WHEN v0 < {binder.put(edges[0])} THEN -1"
    for i, edge in enumerate(edges[1:-1]):
        cases += f" WHEN v0 < {binder.put(edge)} THEN {i}"
    cases += f" WHEN v0 <= {binder.put(edges[-1])} THEN {len(edges) - 2} ELSE {len(edges) - 1}"
    inner = rows_sql(source, [metric], rows, binder)
    keys = _keys(rows)
    text = f"SELECT {', '.join([*keys, f'CASE {cases} END AS b'])} FROM {inner} WHERE v0 IS NOT NULL"
    keys = [*keys, "b"]
    return binder.statement(f"SELECT {', '.join(keys)}, count(*) AS n FROM ({text}) w{_by(keys)}")


# ---- correlations ----------------------------------------------------------------------------------------------------


def correlation(source: Source, pair: tuple[Metric, Metric], rows: Rows, method: str) -> BoundStatement:
    """n, the two variances and the covariance of two metrics of the same rows, per group; for spearman of the values'
    ranks, where equal values share the mean of theirs."""
    binder = _Binder(source.dialect)
    inner = rows_sql(source, pair, rows, binder)
    keys = _keys(rows)
    select = ", ".join([*keys, "v0", "v1"])
    both = f"SELECT {select} FROM {inner} WHERE v0 IS NOT NULL AND v1 IS NOT NULL"
    if method == "spearman":
        ranks = ", ".join([*keys, *(_rank(keys, f"v{i}") for i in range(2))])
        both = f"SELECT {ranks} FROM ({both}) q"
    means = f"avg(v0) {_over(keys)} AS a, avg(v1) {_over(keys)} AS b"
    text = (
        f"SELECT {', '.join([*keys, 'count(*) AS n'])}, sum((v0 - a) * (v1 - b)) AS xy, sum((v0 - a) * (v0 - a)) AS xx,"
        f" sum((v1 - b) * (v1 - b)) AS yy FROM (SELECT {select}, {means} FROM ({both}) p) w{_by(keys)}"
    )
    return binder.statement(text)


def _rank(keys: list[str], value: str) -> str:
    return f"rank() {_over(keys, value)} + (count(*) {_over([*keys, value])} - 1) / 2.0 AS {value}"


def sample_points(source: Source, pair: tuple[Metric, Metric], rows: Rows, most: int) -> BoundStatement:
    """Some of the rows' own values, for a scatter chart."""
    binder = _Binder(source.dialect)
    inner = rows_sql(source, pair, rows, binder)
    select = ", ".join([*_keys(rows), "v0", "v1"])
    where = "WHERE v0 IS NOT NULL AND v1 IS NOT NULL"
    return binder.statement(f"SELECT {select} FROM {inner} {where} LIMIT {most}")
