"""The five analyses: statements for the database, and the frame that its answers make (W-4.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from penstock.executors.parts.bi import queries
from penstock.executors.parts.bi.anomalies import LEAST_POINTS, scores
from penstock.executors.parts.bi.catalogue import Metric
from penstock.executors.parts.bi.frames import Frame, Remark
from penstock.executors.parts.bi.queries import Rows, Source
from penstock.executors.parts.bi.settings import Analysis, BadAnalysis, Filter, Period
from penstock.executors.parts.bi.sources import Sources
from penstock.executors.parts.bi.time_grains import label_of

#: Points of a scatter chart; more of them are a blot.
MOST_DOTS = 1000
#: The grain of outliers over time where none is given.
_ANOMALY_GRAIN = "day"


class Analyst:
    """One analysis over the sources of its metrics."""

    def __init__(self, analysis: Analysis, metrics: dict[str, Metric], sources: Sources) -> None:
        self.analysis, self.metrics, self.sources = analysis, metrics, sources
        self.remarks: dict[str, Remark] = {}
        self.ignored: dict[str, int] = {}
        self.looked_at: set[tuple[str, ...]] = set()  # sources whose times were counted

    def remark(self, code: str, message: str, at: str, hint: str) -> None:
        self.remarks.setdefault(code + at, Remark(code, message, at, hint))

    @property
    def grain(self) -> str:
        timed = all(metric.time_column for metric in self.metrics.values())
        if self.analysis.type == "anomaly" and not self.analysis.time_grain and timed:
            return _ANOMALY_GRAIN
        return self.analysis.time_grain

    @property
    def labels(self) -> dict[str, str]:
        return {
            name: f"{metric.label or name} ({metric.unit})" if metric.unit else metric.label or name
            for name, metric in self.metrics.items()
        }

    def rows(self, dimensions: tuple[str, ...], grain: str = "", range: Period | None = None, *more: Filter) -> Rows:
        asked = self.analysis.time_range if range is None else range
        return Rows(dimensions, grain, asked, (*self.analysis.filters, *more))

    async def frame(self, dimensions: tuple[str, ...], timed: bool = True) -> Frame:
        """The result, its rows told apart by these dimensions; not `timed`: over the whole time range."""
        make = {
            "trend": self._trend, "comparison": self._comparison, "distribution": self._distribution,
            "correlation": self._correlation, "anomaly": self._anomaly,
        }  # fmt: skip
        frame = await make[self.analysis.type](dimensions, timed)
        frame.labels = self.labels
        if not frame.rows:
            at = "/analysis/time_range" if self.analysis.time_range.start is not None else "/analysis/filters"
            hint = "Widen the time range, or look at what the filters leave."
            self.remark("NO_DATA", "There are no rows in this window.", at, hint)
        for name, count in self.ignored.items():
            message = f"{count} rows have no number for «{name}» and were left out."
            self.remark("NOT_NUMBERS", message, f"/analysis/metrics/{name}", "Look for null, NaN or texts there.")
        await self._count_unreadable_times(timed)
        return frame

    async def _count_unreadable_times(self, timed: bool) -> None:
        """Rows whose time is none are in no window; each table is asked once."""
        ranged = self.analysis.time_range.start is not None or self.analysis.time_range.end is not None
        if not (ranged or self.analysis.periods or timed and self.grain):
            return
        for name in self.analysis.names:
            metric = self.metrics[name]
            if metric.source in self.looked_at or not metric.time_column:
                continue
            self.looked_at.add(metric.source)
            statement = queries.unreadable_times(await self._source(name), self.rows(()))
            if statement is None:
                continue
            (row,) = await self.sources.read(metric, statement)
            if row["n"]:
                message = f"{row['n']} rows have no time in «{metric.time_column}» that can be read, and were left out."
                hint = "Write times as 2026-11-15T09:00:00+09:00, or as seconds or milliseconds since 1970."
                self.remark("NOT_TIMES", message, f"/analysis/metrics/{name}", hint)

    # -- groups --------------------------------------------------------------------------------------------------------

    async def groups(self, names: Sequence[str], rows: Rows) -> dict[tuple[Any, ...], dict[str, float | None]]:
        """The aggregated values of metrics by group: (bucket, dimensions …), in order."""
        by_source: dict[tuple[str, ...], list[str]] = {}
        for name in names:
            by_source.setdefault(self.metrics[name].source, []).append(name)
        groups: dict[tuple[Any, ...], dict[str, float | None]] = {}
        for members in by_source.values():
            first = self.metrics[members[0]]
            source = await self.sources.of(first, "/analysis/metrics")
            asked = [(self.metrics[name], self._function(name)) for name in members]
            for statement in queries.grouped(source, asked, rows):
                for row in await self.sources.read(first, statement):
                    values = groups.setdefault(_key(row, rows), dict.fromkeys(names))
                    self._take(row, members, values)
        return dict(sorted(groups.items(), key=lambda item: _order(item[0])))

    def _take(self, row: dict[str, Any], members: list[str], values: dict[str, float | None]) -> None:
        for i, name in enumerate(members):
            if f"x{i}" in row:
                variance = row[f"x{i}"]
                values[name] = None if variance is None else math.sqrt(max(0.0, variance))
            elif f"m{i}" in row:
                values[name] = row[f"m{i}"]
            if "n" in row and f"n{i}" in row and row["n"] > row[f"n{i}"]:
                self.ignored[name] = self.ignored.get(name, 0) + row["n"] - row[f"n{i}"]

    def _function(self, name: str) -> str:
        return self.analysis.aggregation.get(name) or self.metrics[name].default_agg

    async def _source(self, name: str) -> Source:
        return await self.sources.of(self.metrics[name], "/analysis/metrics")

    async def extremes(self) -> dict[str, dict[str, Any]]:
        """Number, least, greatest and mean of each metric's values, over the rows themselves."""
        numbers: dict[str, dict[str, Any]] = {}
        compares = self.analysis.type == "comparison"
        only = self._only_groups() if compares else ()
        periods = self.analysis.periods if compares and self.analysis.periods else (self.analysis.time_range,)
        for name in self.analysis.names:
            metric, source = self.metrics[name], await self._source(name)
            parts = []
            for period in periods:
                statement = queries.extremes(source, [metric], self.rows((), "", period, *only))
                parts += await self.sources.read(metric, statement)
            numbers[name] = _merged([part for part in parts if part["n0"]])
        return numbers

    def _only_groups(self) -> tuple[Filter, ...]:
        compared = self.analysis.groups
        if compared is None or not compared.groups:
            return ()
        return (Filter(compared.dimension, "in", list(compared.groups), "/analysis/compare_groups"),)

    # -- trend and comparison ------------------------------------------------------------------------------------------

    async def _trend(self, dimensions: tuple[str, ...], timed: bool) -> Frame:
        grain = self.grain if timed else ""
        groups = await self.groups(self.analysis.names, self.rows(dimensions, grain))
        if not grain:
            return _untimed(groups, dimensions, self.analysis.names)
        labels = await self._labels({key[0] for key in groups}, grain)
        rows = [
            {"time": labels[key[0]], **dict(zip(dimensions, key[1:], strict=True)), **values}
            for key, values in groups.items()
        ]
        return Frame(
            x="time", x_kind="ordinal" if grain == "shift" else "time", groups=dimensions, values=self.analysis.names,
            rows=rows,
        )  # fmt: skip

    async def _labels(self, keys: set[int], grain: str) -> dict[int, str]:
        source = await self._source(self.analysis.names[0])
        return {key: label_of(int(key), grain, source.shifts) for key in keys}

    async def _comparison(self, dimensions: tuple[str, ...], timed: bool) -> Frame:
        """Each period, or each group, beside the first one."""
        compared, names = self.analysis.groups, self.analysis.names
        others = tuple(name for name in dimensions if compared is None or name != compared.dimension)
        dimensions = (*((compared.dimension,) if compared is not None else ()), *others)
        wanted, only = compared.groups if compared is not None else (), self._only_groups()
        periods = self.analysis.periods or (self.analysis.time_range,)
        rows: list[dict[str, Any]] = []
        for period in periods:
            groups = await self.groups(names, self.rows(dimensions, "", period, *only))
            named = {"period": period.label} if self.analysis.periods else {}
            made = [{**named, **dict(zip(dimensions, key, strict=True)), **values} for key, values in groups.items()]
            rows += sorted(made, key=lambda row: _place(row, compared.dimension, wanted)) if compared else made
        axis = "period" if self.analysis.periods else dimensions[0]
        self._add_changes(rows, axis)
        more = tuple(f"{name}_{what}" for name in names for what in ("change", "change_percent"))
        series = tuple(name for name in dimensions if name != axis)
        return Frame(x=axis, groups=series, values=names, more=more, rows=rows)

    def _add_changes(self, rows: list[dict[str, Any]], axis: str) -> None:
        """Against the period, or the group, that was asked for first, of the same other dimensions. Nothing else takes
        its place: a change against whatever row comes first would look like any other."""
        compared, names = self.analysis.groups, self.analysis.names
        asked = [period.label for period in self.analysis.periods] or list(compared.groups if compared else ())
        base = asked[0] if asked else rows[0][axis] if rows else None
        bases: dict[str, dict[str, Any]] = {}
        for row in rows:
            if row[axis] == base or str(row[axis]) == str(base):
                bases.setdefault(_others(row, axis, names), dict(row))
        for row in rows:
            first = bases.get(_others(row, axis, names))
            if first is None:
                at = "/analysis/compare_periods/0" if axis == "period" else "/analysis/compare_groups"
                message = f"Some rows have no «{base}» to be compared with, so they have no change."
                self.remark("NO_BASE", message, at, "Let the first one be one that has rows.")
            for name in names:
                before, now = None if first is None else first[name], row[name]
                change = None if before is None or now is None else now - before
                row[f"{name}_change"] = change
                row[f"{name}_change_percent"] = change / abs(before) * 100 if change is not None and before else None

    # -- distribution --------------------------------------------------------------------------------------------------

    async def _distribution(self, dimensions: tuple[str, ...], timed: bool) -> Frame:
        assert self.analysis.buckets is not None, "checked when the settings were read"
        rows: list[dict[str, Any]] = []
        names = self.analysis.names
        for name in names:
            metric, source = self.metrics[name], await self._source(name)
            edges = await self._edges(metric, source)
            if not edges:
                continue
            statement = queries.histogram(source, metric, self.rows(dimensions), edges)
            counts: dict[tuple[Any, ...], dict[int, int]] = {}
            for row in await self.sources.read(metric, statement):
                group = tuple(row[f"d{i}"] for i in range(len(dimensions)))
                counts.setdefault(group, {})[row["b"]] = row["n"]
            for group, by_bucket in counts.items():
                rows += _histogram_rows(name, dict(zip(dimensions, group, strict=True)), by_bucket, edges)
                self._remark_outside(name, by_bucket, len(edges) - 1)
        groups = (*(("metric",) if len(names) > 1 else ()), *dimensions)
        return Frame(x="bucket", groups=groups, values=("count",), more=("metric", "from", "to", "share"), rows=rows)

    async def _edges(self, metric: Metric, source: Source) -> list[float]:
        """The edges of the buckets, the same for every group so that groups can be compared; empty without values."""
        buckets = self.analysis.buckets
        assert buckets is not None, "asked for by a distribution only"
        if buckets.edges:
            return list(buckets.edges)
        if buckets.method == "quantile":
            statement = queries.quantile_edges(source, metric, self.rows(()), buckets.count)
            (row,) = await self.sources.read(metric, statement)
            quantiles = [row[f"e{i}"] for i in range(buckets.count + 1)]
            edges = sorted({edge for edge in quantiles if edge is not None})
            return [edges[0], edges[0]] if len(edges) == 1 else edges
        (row,) = await self.sources.read(metric, queries.extremes(source, [metric], self.rows(())))
        low, high = row["lo0"], row["hi0"]
        if low is None:
            return []
        if low == high:
            low, high = low - 0.5, high + 0.5
        width = (high - low) / buckets.count
        return [*(low + width * i for i in range(buckets.count)), high]

    def _remark_outside(self, name: str, by_bucket: dict[int, int], count: int) -> None:
        outside = by_bucket.get(-1, 0) + by_bucket.get(count, 0)
        if outside:
            message = f"{outside} values of «{name}» lie outside the edges."
            hint = "Widen «edges», or leave them out."
            self.remark("OUTSIDE_EDGES", message, "/analysis/bucket_config/edges", hint)

    # -- correlation ---------------------------------------------------------------------------------------------------

    async def _correlation(self, dimensions: tuple[str, ...], timed: bool) -> Frame:
        rows: list[dict[str, Any]] = []
        for i, (first, second) in enumerate(self.analysis.pairs):
            at = f"/analysis/correlation_pairs/{i}"
            pair = self.metrics[first], self.metrics[second]
            if self.analysis.time_grain:
                sums_by_group = await self._of_points(pair, dimensions)
            elif pair[0].source == pair[1].source:
                source = await self._source(first)
                statement = queries.correlation(source, pair, self.rows(dimensions), self.analysis.method)
                answers = await self.sources.read(pair[0], statement)
                sums_by_group = [(_key(row, self.rows(dimensions)), row) for row in answers]
            else:
                message = f"«{first}» and «{second}» are in different tables, so their rows have no pairs."
                raise BadAnalysis(message, at, 'Write "time_grain": "day": values of the same day are compared.')
            for key, sums in sums_by_group:
                coefficient = _coefficient(sums)
                if coefficient is None:
                    message = f"«{first}» and «{second}» have no coefficient: fewer than two pairs, or no variation."
                    self.remark("NO_VARIATION", message, at, "Widen the time range.")
                row = {"pair": f"{first} × {second}", "a": first, "b": second}
                row |= {**dict(zip(dimensions, key, strict=True)), "method": self.analysis.method}
                rows.append({**row, "coefficient": coefficient, "count": sums["n"]})
        return Frame(
            x="pair", groups=dimensions, values=("coefficient",), more=("a", "b", "method", "count"), rows=rows
        )

    async def _of_points(
        self, pair: tuple[Metric, Metric], dimensions: tuple[str, ...]
    ) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
        """Sums over values that were aggregated by time first: the two may be in different tables."""
        names = (pair[0].name, pair[1].name)
        groups = await self.groups(names, self.rows(dimensions, self.analysis.time_grain))
        by_group: dict[tuple[Any, ...], list[tuple[float, float]]] = {}
        for key, values in groups.items():
            x, y = values[names[0]], values[names[1]]
            if x is not None and y is not None:
                by_group.setdefault(key[1:], []).append((x, y))
        return [(key, _sums(points, self.analysis.method)) for key, points in by_group.items()]

    async def dots(self, dimensions: tuple[str, ...]) -> Frame:
        """The pairs of values themselves, for a scatter chart: those of the first pair's rows, or of its points."""
        first, second = self.analysis.pairs[0]
        pair = self.metrics[first], self.metrics[second]
        rows: list[dict[str, Any]] = []
        if self.analysis.time_grain or pair[0].source != pair[1].source:
            groups = await self.groups((first, second), self.rows(dimensions, self.analysis.time_grain))
            rows = [{**dict(zip(dimensions, key[1:], strict=True)), **values} for key, values in groups.items()]
        else:
            source = await self._source(first)
            statement = queries.sample_points(source, pair, self.rows(dimensions), MOST_DOTS)
            rows = [
                {**{name: row[f"d{i}"] for i, name in enumerate(dimensions)}, first: row["v0"], second: row["v1"]}
                for row in await self.sources.read(pair[0], statement)
            ]
        rows = [row for row in rows if row[first] is not None and row[second] is not None][:MOST_DOTS]
        return Frame(x=first, x_kind="number", groups=dimensions, values=(second,), rows=rows, labels=self.labels)

    # -- anomaly -------------------------------------------------------------------------------------------------------

    async def _anomaly(self, dimensions: tuple[str, ...], timed: bool) -> Frame:
        """Outliers of each series over time; without time, of the groups beside each other."""
        rule, names, grain = self.analysis.anomaly, self.analysis.names, self.grain
        assert rule is not None, "checked when the settings were read"
        groups = await self.groups(names, self.rows(dimensions, grain))
        labels = await self._labels({key[0] for key in groups}, grain) if grain else {}
        rows: list[dict[str, Any]] = []
        for name in names:
            series: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
            for key in groups:
                series.setdefault(key[1:] if grain else (), []).append(key)
            for keys in series.values():
                values = [groups[key][name] for key in keys]
                if sum(value is not None for value in values) < LEAST_POINTS:
                    message = f"«{name}» has fewer than {LEAST_POINTS} points, too few to call one unusual."
                    self.remark("TOO_FEW_POINTS", message, "/analysis/time_range", "Widen it, or use a finer grain.")
                for key, value, score in zip(keys, values, scores(values, rule), strict=True):
                    named = dict(zip(dimensions, key[1:] if grain else key, strict=True))
                    time = {"time": labels[key[0]]} if grain else {"group": _name(key)}
                    rows.append({**time, **named, "metric": name, "value": value, "score": score.score,
                                 "anomaly": score.anomaly, "expected": score.expected})  # fmt: skip
        x_kind = "time" if grain and grain != "shift" else "ordinal"
        tells_apart = (*(("metric",) if len(names) > 1 else ()), *(dimensions if grain else ()))
        return Frame(
            x="time" if grain else "group", x_kind=x_kind, groups=tells_apart, values=("value",),
            more=("metric", *dimensions, "score", "anomaly", "expected"), rows=rows,
        )  # fmt: skip


# ---- what answers become ---------------------------------------------------------------------------------------------


def _key(row: dict[str, Any], rows: Rows) -> tuple[Any, ...]:
    bucket = (row["k"],) if rows.grain else ()
    return (*bucket, *(row[f"d{i}"] for i in range(len(rows.dimensions))))


def _order(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """Numbers before texts, nothing last: a column of SQLite may hold all of them."""
    return tuple(
        (2, "") if part is None else (0, part) if isinstance(part, int | float) else (1, str(part)) for part in key
    )


def _name(key: Sequence[Any]) -> str:
    return " · ".join("–" if part is None else str(part) for part in key)


def _merged(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """The extremes of several periods as those of all their rows."""
    count = sum(part["n0"] for part in parts)
    if not count:
        return {"count": 0, "min": None, "max": None, "avg": None}
    mean = math.fsum(part["mean0"] * part["n0"] for part in parts) / count
    return {"count": count, "min": min(p["lo0"] for p in parts), "max": max(p["hi0"] for p in parts), "avg": mean}


def _untimed(
    groups: dict[tuple[Any, ...], dict[str, float | None]], dimensions: tuple[str, ...], names: tuple[str, ...]
) -> Frame:
    axis = dimensions[0] if dimensions else "all"
    rows = [
        {**({} if dimensions else {"all": "all"}), **dict(zip(dimensions, key, strict=True)), **values}
        for key, values in groups.items()
    ]
    return Frame(x=axis, groups=dimensions[1:], values=names, rows=rows)


def _place(row: dict[str, Any], dimension: str, wanted: tuple[Any, ...]) -> int:
    value = row[dimension]
    return wanted.index(value) if value in wanted else len(wanted)


def _others(row: dict[str, Any], axis: str, names: tuple[str, ...]) -> str:
    """What tells apart rows of the same period, or of the same group."""
    values = {name for metric in names for name in (metric, f"{metric}_change", f"{metric}_change_percent")}
    return repr([value for name, value in row.items() if name != axis and name not in values])


def _histogram_rows(
    name: str, named: dict[str, Any], by_bucket: dict[int, int], edges: list[float]
) -> list[dict[str, Any]]:
    total = sum(by_bucket.values())
    return [
        {"bucket": f"{_short(low)}–{_short(high)}", "metric": name, **named, "from": low, "to": high,
         "count": by_bucket.get(i, 0), "share": by_bucket.get(i, 0) / total}
        for i, (low, high) in enumerate(zip(edges, edges[1:], strict=False))
    ]  # fmt: skip


def _short(number: float) -> str:
    return f"{number:.6g}"


def _coefficient(sums: dict[str, Any]) -> float | None:
    if sums["n"] < 2 or not sums["xx"] or not sums["yy"]:
        return None
    return max(-1.0, min(1.0, float(sums["xy"]) / math.sqrt(float(sums["xx"]) * float(sums["yy"]))))


def _sums(points: list[tuple[float, float]], method: str) -> dict[str, Any]:
    xs, ys = [x for x, _ in points], [y for _, y in points]
    if method == "spearman":
        xs, ys = _ranks(xs), _ranks(ys)
    a, b = math.fsum(xs) / len(xs), math.fsum(ys) / len(ys)
    return {
        "n": len(points),
        "xy": math.fsum((x - a) * (y - b) for x, y in zip(xs, ys, strict=True)),
        "xx": math.fsum((x - a) ** 2 for x in xs),
        "yy": math.fsum((y - b) ** 2 for y in ys),
    }


def _ranks(values: list[float]) -> list[float]:
    """Ranks from 1; equal values share the mean of theirs."""
    places: dict[float, list[int]] = {}
    for rank, value in enumerate(sorted(values), 1):
        places.setdefault(value, []).append(rank)
    return [sum(places[value]) / len(places[value]) for value in values]
