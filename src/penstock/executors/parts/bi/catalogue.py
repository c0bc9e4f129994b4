"""The metric catalogue: what a name such as `defect_rate` means in a tenant's databases (C-50)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.executors.contract import Tenant
from penstock.executors.parts.bi.dialects import Column, Dialect, quoted
from penstock.executors.parts.bi.settings import BadAnalysis
from penstock.expr.cron import zone_of
from penstock.lang.analysis_settings import AGGREGATIONS
from penstock.lang.report import did_you_mean
from penstock.lang.sqltext import Unreadable, read_tokens

_TEXTS = ("connection", "table", "column", "sql", "time_column", "timezone", "label", "unit", "description")
_SIGNS = frozenset("+-*/%(),<>=!|")
#: What an expression may hold besides columns, numbers and texts: no statement, no function that reaches anything.
_WORDS = frozenset(
    "AND OR NOT NULL IS IN BETWEEN LIKE CASE WHEN THEN ELSE END CAST AS REAL INTEGER BIGINT NUMERIC DOUBLE PRECISION"
    " TRUE FALSE ABS COALESCE NULLIF ROUND LOWER UPPER LENGTH SUBSTR TRIM".split()
)


class Metric(msgspec.Struct, frozen=True):
    """One entry: a column, or an expression over the columns of its table, and how rows become one number."""

    name: str
    connection: str
    table: str
    column: str = ""
    sql: str = ""
    default_agg: str = "avg"
    time_column: str = ""
    timezone: str = ""  # of times in the table that have none
    label: str = ""
    unit: str = ""

    @property
    def source(self) -> tuple[str, str, str, str]:
        """Metrics of one source are asked in one statement."""
        return self.connection, self.table, self.time_column, self.timezone


class MetricProblem(msgspec.Struct, frozen=True):
    """What is wrong with an entry of the catalogue."""

    rule: str
    message: str
    at: str
    hint: str


def metric_problems(body: Mapping[str, Any]) -> list[MetricProblem]:
    """Everything that is wrong with the body of a metric, as far as its database is not needed to know it."""
    hint = 'Write {"connection": "default_sql", "table": "fact_daily_defect", "column": "defect_rate", …}.'
    problems = [
        MetricProblem("wrong_type", f"«{name}» must be a text.", f"/{name}", hint)
        for name in _TEXTS
        if body.get(name) is not None and not isinstance(body[name], str)
    ]
    if not body.get("table"):
        problems.append(MetricProblem("missing_field", "«table» is missing.", "", hint))
    if bool(body.get("column")) == bool(body.get("sql")):
        message = "It needs «column» or «sql», and not both."
        problems.append(MetricProblem("metric_source", message, "", hint))
    aggregate = body.get("default_agg", "avg")
    if aggregate not in AGGREGATIONS:
        message = f"«default_agg» must be one of {', '.join(AGGREGATIONS)}."
        near = did_you_mean(str(aggregate), AGGREGATIONS, "Choose one of them.")
        problems.append(MetricProblem("wrong_type", message, "/default_agg", near))
    zone = body.get("timezone")
    if isinstance(zone, str) and zone and zone_of(zone) is None:
        message = f"There is no time zone «{zone[:40]}»."
        problems.append(MetricProblem("timezone_known", message, "/timezone", "Write a name such as Asia/Seoul."))
    if isinstance(body.get("sql"), str) and body["sql"] and (why := _expression_problem(body["sql"])):
        rule_hint = "Write an expression over columns, such as 1.0 * defect_count / produced."
        problems.append(MetricProblem("metric_sql", f"«sql» cannot be used: {why}.", "/sql", rule_hint))
    return problems


def find_metric(name: str, tenant: Tenant, at: str) -> Metric:
    """The metric of that name. Raises BadAnalysis."""
    body = tenant.find("metric", name)
    if body is None:
        known = sorted(tenant.each("metric"))
        listed = f"There are {', '.join(known[:20])}." if known else "Register it: penstock registry put metric NAME."
        hint = did_you_mean(name, known, listed)
        raise BadAnalysis(f"There is no metric «{name[:80]}».", at, hint, "METRIC_NOT_FOUND")
    problems = metric_problems(body)
    if problems:
        message = f"The metric «{name}» cannot be used: {problems[0].message}"
        raise BadAnalysis(message, at, problems[0].hint, "METRIC_INVALID")
    texts = {key: str(body.get(key) or "") for key in ("table", "column", "sql", "time_column", "timezone")}
    return Metric(
        name=name, connection=str(body.get("connection") or "default_sql"), **texts,
        default_agg=body.get("default_agg") or "avg", label=str(body.get("label") or ""),
        unit=str(body.get("unit") or ""),
    )  # fmt: skip


def find_column(name: str, columns: Mapping[str, str], dialect: Dialect, table: str, at: str) -> Column:
    """A column as the table really has it, whatever its case was written as. Raises BadAnalysis."""
    real = name if name in columns else next((known for known in columns if known.lower() == name.lower()), None)
    if real is None:
        hint = did_you_mean(name, list(columns), f"It has {', '.join(list(columns)[:20])}.")
        raise BadAnalysis(f"The table «{table}» has no column «{name[:80]}».", at, hint, "COLUMN_NOT_FOUND")
    return Column(real, dialect.kind(columns[real]))


def metric_sql(metric: Metric, columns: Mapping[str, str], dialect: Dialect, at: str) -> str:
    """The finite number of a row that the metric is about."""
    if metric.column:
        column = find_column(metric.column, columns, dialect, metric.table, at)
        if column.kind in ("text", "date", "naive", "instant"):
            message = f"The column «{column.name}» of the metric «{metric.name}» holds no numbers."
            raise BadAnalysis(message, at, "Name a column of numbers, or an expression.", "METRIC_INVALID")
        return dialect.number(dialect.quoted(column.name), column.kind)
    return dialect.number(_expression(metric, columns, dialect, at), "number")


def _expression(metric: Metric, columns: Mapping[str, str], dialect: Dialect, at: str) -> str:
    """Written anew from its tokens: columns quoted by their real names, nothing else let through."""
    parts = []
    for token in read_tokens(metric.sql, "postgresql"):
        if token.kind == "name" or token.kind == "word" and token.text.upper() not in _WORDS:
            name = token.text[1:-1].replace('""', '"') if token.kind == "name" else token.text
            parts.append(quoted(find_column(name, columns, dialect, metric.table, at).name))
        else:
            parts.append(token.text)
    text = " ".join(parts)
    for sign in ("< =", "> =", "! =", "< >", "| |"):
        text = text.replace(sign, sign.replace(" ", ""))
    return f"({text})" if dialect.name != "postgresql" else f"({text.replace('%', '%%')})"


def _expression_problem(text: str) -> str | None:
    try:
        tokens = read_tokens(text, "postgresql")
    except Unreadable as error:
        return str(error)
    if not tokens:
        return "it is empty"
    depth = 0
    for token in tokens:
        if token.kind == "param" or token.kind == "sign" and token.text not in _SIGNS:
            return f"«{token.text}» cannot stand in it"
        if token.kind == "text" and not token.text.startswith("'"):
            return "a text is written in single quotes"
        depth += {"(": 1, ")": -1}.get(token.text, 0) if token.kind == "sign" else 0
        if depth < 0:
            return "a bracket closes nothing"
    if depth:
        return "a bracket is not closed"
    for word, after in zip(tokens, tokens[1:], strict=False):
        called = after.kind == "sign" and after.text == "(" and word.kind in ("word", "name")
        if called and word.text.upper() not in _WORDS:
            return f"«{word.text}» is no function that may be called here"
    return None
