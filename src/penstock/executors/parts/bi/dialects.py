"""What the three databases write differently: names, numbers, times and aggregates."""

from __future__ import annotations

from typing import ClassVar, Protocol

import msgspec

from penstock.executors.parts.bi.time_grains import Offsets

#: What a column holds; «any» is a column of SQLite without a type.
KINDS = ("number", "text", "bool", "date", "naive", "instant", "any")
_PERCENT = {"median": 0.5, "p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
#: What a time is: a moment, a day without a time, a time without a zone.
INSTANT, DAY, NAIVE = 0, 1, 2
_LARGEST = "1.7976931348623157e308"
#: Between seconds and milliseconds since 1970: as seconds it is the year 5138.
_SECONDS_BELOW = 100_000_000_000


_TIMES = {"date": str(DAY), "naive": str(NAIVE), "instant": str(INSTANT)}


class Column(msgspec.Struct, frozen=True):
    """A real column of a table: its name, and what it holds."""

    name: str
    kind: str


class Dialect(Protocol):
    """How statements are written for one database."""

    name: ClassVar[str]
    mark: ClassVar[str]  # a placeholder
    #: Has it aggregates for quantiles and deviations? Without them windows do it.
    quantiles: ClassVar[bool]
    #: What keeps a subquery a subquery. Merged, each use of its columns would compute them once more.
    fence: ClassVar[str]

    def kind(self, declared: str) -> str: ...

    def quoted(self, name: str) -> str:
        """A name as it stands in a statement with placeholders."""
        ...

    def number(self, value: str, kind: str) -> str:
        """A finite number, else NULL: what is not a number must not spoil a sum."""
        ...

    def time(self, column: Column) -> tuple[str, str]:
        """Milliseconds since 1970 as the column has them, and what they are: INSTANT, DAY or NAIVE."""
        ...

    def month(self, local: str) -> str:
        """The number of a local time's month since year 0."""
        ...

    def like(self, value: str, mark: str) -> str: ...

    def pattern(self, text: str) -> str: ...

    def shown(self, column: Column) -> str:
        """A column of which rows are grouped."""
        ...

    def aggregate(self, function: str, value: str) -> str: ...

    def quantile(self, share: float, value: str) -> str: ...


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def quoted_table(name: str, dialect: Dialect) -> str:
    """schema.table; both parts are quoted."""
    return ".".join(dialect.quoted(part) for part in name.split("."))


def _epoch(value: str) -> str:
    """Seconds or milliseconds, told apart by their size."""
    return f"(CASE WHEN abs({value}) < {_SECONDS_BELOW} THEN {value} * 1000 ELSE {value} END)"


def absolute(millis: str, what: str, zone: Offsets, naive: Offsets | None) -> str:
    """A time as UTC: a day alone is of the plant's zone; a time without a zone is of `naive`, else UTC already."""
    whens = f"WHEN {what} = {DAY} THEN {zone.taken(millis)}"
    if naive is not None:
        whens += f" WHEN {what} = {NAIVE} THEN {naive.taken(millis)}"
    return f"(CASE {whens} ELSE {millis} END)"


def _text_kind(value: str, zoned: str) -> str:
    return f"(CASE WHEN length({value}) = 10 THEN {DAY} WHEN {zoned} THEN {INSTANT} ELSE {NAIVE} END)"


class SqliteDialect:
    name: ClassVar[str] = "sqlite"
    mark: ClassVar[str] = "?"
    quantiles: ClassVar[bool] = False
    fence: ClassVar[str] = " LIMIT -1 OFFSET 0"

    def kind(self, declared: str) -> str:
        return "any"  # any cell of a SQLite column may hold anything

    def quoted(self, name: str) -> str:
        return quoted(name)

    def number(self, value: str, kind: str) -> str:
        real = f"CAST({value} AS REAL)"
        return f"CASE WHEN typeof({value}) IN ('integer', 'real') AND abs({real}) <= {_LARGEST} THEN {real} END"

    def time(self, column: Column) -> tuple[str, str]:
        value = quoted(column.name)
        short, bare = (f"{value} GLOB '*:[0-9]*[+-]{digits}'" for digits in ("[0-9][0-9][0-9][0-9]", "[0-9][0-9]"))
        whole = (  # SQLite reads no offset but +09:00
            f"CASE WHEN {short} THEN substr({value}, 1, length({value}) - 2) || ':' || substr({value}, -2)"
            f" WHEN {bare} THEN {value} || ':00' ELSE {value} END"
        )
        text = f"CAST(round((julianday({whole}) - 2440587.5) * 86400000.0) AS INTEGER)"
        zoned = f"{value} GLOB '*[Zz]' OR {value} GLOB '*[+-][0-9][0-9]:[0-9][0-9]' OR {short} OR {bare}"
        counted = f"typeof({value}) IN ('integer', 'real')"
        millis = f"CASE WHEN {counted} THEN CAST({_epoch(value)} AS INTEGER) ELSE {text} END"
        return millis, f"CASE WHEN {counted} THEN {INSTANT} ELSE {_text_kind(value, zoned)} END"

    def month(self, local: str) -> str:
        at = f"{local} / 1000, 'unixepoch'"
        return f"CAST(strftime('%Y', {at}) AS INTEGER) * 12 + CAST(strftime('%m', {at}) AS INTEGER) - 1"

    def like(self, value: str, mark: str) -> str:
        return f"CAST({value} AS TEXT) GLOB {mark}"

    def pattern(self, text: str) -> str:
        """LIKE ignores case in SQLite and in no other, so its pattern is written as one of GLOB."""
        made, escaped = "", False
        for sign in text:
            if escaped or sign not in "%_\\":
                made += f"[{sign}]" if sign in "*?[" else sign
                escaped = False
            elif sign == "\\":
                escaped = True
            else:
                made += "*" if sign == "%" else "?"
        return made

    def shown(self, column: Column) -> str:
        return quoted(column.name)

    def aggregate(self, function: str, value: str) -> str:
        return f"{function}({value})"

    def quantile(self, share: float, value: str) -> str:
        raise NotImplementedError("windows do it")


class PostgresDialect:
    name: ClassVar[str] = "postgresql"
    mark: ClassVar[str] = "%s"
    quantiles: ClassVar[bool] = True
    fence: ClassVar[str] = " OFFSET 0"

    def kind(self, declared: str) -> str:
        if declared in ("smallint", "integer", "bigint", "numeric", "real", "double precision"):
            return "number"
        times = {"date": "date", "timestamp without time zone": "naive", "timestamp with time zone": "instant"}
        return times.get(declared, "bool" if declared == "boolean" else "text")

    def quoted(self, name: str) -> str:
        return quoted(name).replace("%", "%%")  # a sign of a placeholder

    def number(self, value: str, kind: str) -> str:
        real = f"({value})::int::float8" if kind == "bool" else f"({value})::float8"
        return f"CASE WHEN {real} NOT IN ('NaN', 'Infinity', '-Infinity') THEN {real} END"

    def time(self, column: Column) -> tuple[str, str]:
        value = self.quoted(column.name)
        if column.kind == "number":
            return f"({_epoch(value)})::bigint", str(INSTANT)
        if column.kind == "text":
            zoned = f"{value} ~ '([Zz]|[+-][0-9]{{2}}:?[0-9]{{2}})$'"
            whole = f"(CASE WHEN length({value}) > 10 AND {zoned} THEN {value} ELSE {value} || ' UTC' END)"
            return f"floor(extract(epoch FROM {whole}::timestamptz) * 1000)::bigint", _text_kind(value, zoned)
        return f"floor(extract(epoch FROM {value}) * 1000)::bigint", _TIMES[column.kind]

    def month(self, local: str) -> str:
        at = f"(to_timestamp({local} / 1000) AT TIME ZONE 'UTC')"
        return f"(extract(year FROM {at}) * 12 + extract(month FROM {at}) - 1)::bigint"

    def like(self, value: str, mark: str) -> str:
        return f"{value}::text LIKE {mark} ESCAPE '\\'"

    def pattern(self, text: str) -> str:
        return _closed(text)

    def shown(self, column: Column) -> str:
        return self.quoted(column.name)

    def aggregate(self, function: str, value: str) -> str:
        if function in _PERCENT:
            return self.quantile(_PERCENT[function], value)
        return f"{'stddev_samp' if function == 'stddev' else function}({value})"

    def quantile(self, share: float, value: str) -> str:
        return f"percentile_cont({share!r}) WITHIN GROUP (ORDER BY {value})"


class DuckDialect:
    name: ClassVar[str] = "duckdb"
    mark: ClassVar[str] = "?"
    quantiles: ClassVar[bool] = True
    fence: ClassVar[str] = ""

    def kind(self, declared: str) -> str:
        plain = declared.partition("(")[0]
        if plain in ("DATE", "BOOLEAN"):
            return "date" if plain == "DATE" else "bool"
        if plain.startswith("TIMESTAMP"):
            return "instant" if "TIME ZONE" in plain else "naive"
        numbers = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "FLOAT", "DOUBLE", "DECIMAL")
        return "number" if plain.removeprefix("U") in numbers else "text"

    def quoted(self, name: str) -> str:
        return quoted(name)

    def number(self, value: str, kind: str) -> str:
        real = f"CAST({value} AS DOUBLE)"
        return f"CASE WHEN isfinite({real}) THEN {real} END"

    def time(self, column: Column) -> tuple[str, str]:
        value = quoted(column.name)
        if column.kind == "number":
            return f"CAST({_epoch(value)} AS BIGINT)", str(INSTANT)
        if column.kind == "text":
            zoned = f"regexp_matches({value}, '([Zz]|[+-][0-9]{{2}}:?[0-9]{{2}})$')"
            return f"epoch_ms(TRY_CAST({value} AS TIMESTAMPTZ))", _text_kind(value, zoned)
        plain = f"CAST({value} AS TIMESTAMP)" if column.kind == "date" else value
        return f"epoch_ms({plain})", _TIMES[column.kind]

    def month(self, local: str) -> str:
        at = f"make_timestamp({local} * 1000)"
        return f"year({at}) * 12 + month({at}) - 1"

    def like(self, value: str, mark: str) -> str:
        return f"CAST({value} AS VARCHAR) LIKE {mark} ESCAPE '\\'"

    def pattern(self, text: str) -> str:
        return _closed(text)

    def shown(self, column: Column) -> str:
        # a time with a zone would need another package to become a Python value
        return f"CAST({quoted(column.name)} AS VARCHAR)" if column.kind == "instant" else quoted(column.name)

    def aggregate(self, function: str, value: str) -> str:
        if function in _PERCENT:
            return self.quantile(_PERCENT[function], value)
        return f"{'stddev_samp' if function == 'stddev' else function}({value})"

    def quantile(self, share: float, value: str) -> str:
        return f"quantile_cont({value}, {share!r})"


def _closed(text: str) -> str:
    """A pattern whose last backslash escapes something."""
    trailing = len(text) - len(text.rstrip("\\"))
    return text + "\\" if trailing % 2 else text


DIALECTS: dict[str, Dialect] = {
    dialect.name: dialect for dialect in (SqliteDialect(), PostgresDialect(), DuckDialect())
}
