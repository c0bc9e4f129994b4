"""DATA (4.1): reads rows, documents, messages, or computes a value."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.lang.decision import limits, literal_checks
from penstock.lang.decision.lowering_context import LoweringContext
from penstock.lang.decision.node_fields import GuardedFields, OpenFields
from penstock.lang.decision.nodes.contract import Fragment, NodeType, alias_from
from penstock.lang.decision.nodes.fragments import (
    complete_fragment,
    net_node,
    report_unused_fields,
    single_node,
    task_fragment,
)
from penstock.lang.sqltext import check_statement, parameters
from penstock.net.model import Cache


class DataSource(OpenFields):
    """Where the data comes from (C-24)."""

    type: Annotated[Literal["sql", "api", "file", "stream", "expression"] | None, Meta(description="Its kind.")] = None
    connection: Annotated[str, Meta(description="A registered connection; default_<type> when absent.")] = ""
    query: Annotated[str, Meta(description="SQL, a path, a file name, or the name of a stream.")] = ""
    params: Annotated[
        dict[str, Any], Meta(description="Bound parameters, the query of the address, or what a path's {name} is.")
    ] = {}
    method: Annotated[str, Meta(description="api: the HTTP method.")] = "GET"
    headers: dict[str, Any] = {}
    body: Any = None

    ALIASES: ClassVar[dict[str, str]] = {"endpoint": "query"}
    REQUIRED: ClassVar[tuple[str, ...]] = ("type",)


class CacheFields(OpenFields):
    enabled: bool = True
    ttl_sec: Annotated[int, Meta(ge=1, le=limits.SECONDS)] = 300
    key: Annotated[str | None, Meta(description="A template; by default the source and its parameters.")] = None


class DataFields(GuardedFields):
    source: DataSource | None = None
    params: Annotated[dict[str, Any], Meta(description="The same as source.params, which wins.")] = {}
    cache: CacheFields | None = None

    REQUIRED: ClassVar[tuple[str, ...]] = (*GuardedFields.REQUIRED, "source")


def lower(f: DataFields, context: LoweringContext) -> Fragment:
    source = f.source or DataSource()
    if source.type == "expression":
        return _computed(f, context)
    params = {**f.params, **source.params}
    if source.type in ("sql", "api", "file", "stream") and not source.query:
        word = {"sql": "SELECT … WHERE line_id = :line_id", "api": "/path", "file": "rows.csv"}.get(source.type, "name")
        context.error("missing_field", "«query» is missing.", "source", hint=f'Write `"query": "{word}"`.')
    values = {
        **{name: context.template_tree(value, f"params/{name}") for name, value in f.params.items()},
        **{name: context.template_tree(value, f"source/params/{name}") for name, value in source.params.items()},
    }
    executor, args = _SOURCES.get(str(source.type), _sql)(source, params, values, context)
    connection = source.connection or f"default_{source.type}"
    context.depend("connection", connection, "source/connection" if source.connection else "source")
    args["connection"] = context.template_tree(connection, "source/connection")
    gates = {"cache": _cache(f.cache, source, args, context)} if f.cache is not None and f.cache.enabled else {}
    return complete_fragment(task_fragment(f, context, executor, args, gates=gates), f, context)


def _computed(f: DataFields, context: LoweringContext) -> Fragment:
    """W-4.1.5: an expression is computed; no effect is needed."""
    text = f.output.expression if f.output is not None else None
    if text is None:
        hint = "Write `output: {variable: …, expression: …}`."
        context.error("missing_field", "«output.expression» is missing.", "output", hint=hint)
    value = context.expression(text, "output/expression")
    report_unused_fields(f, context, "circuit_breaker", "idempotency", "cache", "timeout_ms", "retry")
    return complete_fragment(
        single_node(net_node(f, context, kind="route", value={"$expr": value or "null"})), f, context
    )


def _sql(
    source: DataSource, params: dict[str, Any], values: dict[str, Any], context: LoweringContext
) -> tuple[str, dict[str, Any]]:
    if "${" in source.query:
        message = "SQL text holds ${…}: values are never written into a statement."
        context.error("sql_interpolation", message, "source/query", hint="Write :name, and the value under `params`.")
    else:
        for problem in {problem.code: problem for problem in reversed(list(check_statement(source.query)))}.values():
            hint = "Write one statement that only reads: SELECT … or WITH … SELECT …."
            context.error(problem.code.lower(), problem.message, "source/query", hint=hint)
        for name in parameters(source.query):
            if name not in params:
                hint = f'Write `"params": {{"{name}": …}}`.'
                context.error("sql_parameter", f"Nothing is given for :{name}.", "source/query", hint=hint)
    return "sql", {"query": source.query, "params": values}


def _api(
    source: DataSource, params: dict[str, Any], values: dict[str, Any], context: LoweringContext
) -> tuple[str, dict[str, Any]]:
    at = "source/endpoint" if "endpoint" in context.node.raw["source"] else "source/query"
    literal_checks.check_choice(
        source.method.upper(), literal_checks.API_METHODS, "HTTP method", "source/method", context
    )
    args: dict[str, Any] = {"method": source.method.upper(), "path": context.url_expression(source.query, at)}
    if values:
        args["params"] = values
    if source.headers:
        args["headers"] = context.template_tree(source.headers, "source/headers", secrets=True)
    if source.body is not None:
        args["body"] = context.template_tree(source.body, "source/body", secrets=True)
    return "api", args


def _file(
    source: DataSource, params: dict[str, Any], values: dict[str, Any], context: LoweringContext
) -> tuple[str, dict[str, Any]]:
    plain_path = re.sub(r"\$\{[^{}]*\}", "x", source.query).replace("\\", "/")
    if plain_path.startswith("/") or ".." in plain_path.split("/") or re.match(r"[A-Za-z]:", plain_path):
        hint = "Write a path below the connection's folder, such as 2024/rows.csv."
        context.error("path_outside", f"The path «{source.query}» leaves its folder.", "source/query", hint=hint)
    literal_checks.check_file_extension(source.query, "source/query", context)
    named = set(_PLACEHOLDER.findall(re.sub(r"\$\{[^{}]*\}", "", source.query)))
    _report_unused_params(
        context, named, "Its path does not name it; write {line_id} there, or leave the parameter out."
    )
    args: dict[str, Any] = {"path": context.template_tree(source.query, "source/query")}
    filled = {name: value for name, value in values.items() if name in named}
    return "dataset", {**args, "params": filled} if filled else args


def _stream(
    source: DataSource, params: dict[str, Any], values: dict[str, Any], context: LoweringContext
) -> tuple[str, dict[str, Any]]:
    args = {"name": context.template_tree(source.query, "source/query"), "max_messages": 100, "max_wait_ms": 1000}
    _report_unused_params(context, set(_STREAM_PARAMS), f"Known are {' and '.join(_STREAM_PARAMS)}.")
    for name, (least, most) in _STREAM_PARAMS.items():
        value = params.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and not least <= value <= most:
            hint = f"Write a number from {least} to {most}."
            at = f"source/params/{name}" if name in source.params else f"params/{name}"
            context.error("wrong_type", f"«{name}» must be from {least} to {most}.", at, hint=hint)
    return "stream", {**args, **{name: values[name] for name in _STREAM_PARAMS if name in values}}


def _report_unused_params(context: LoweringContext, known: set[str], hint: str) -> None:
    """Reports parameters that the source does not use; they may stand in two places (C-26)."""
    source = context.node.raw.get("source")
    inner = source.get("params") if isinstance(source, dict) else None
    for at, params in (("params", context.node.raw.get("params")), ("source/params", inner)):
        for name in params if isinstance(params, dict) else ():
            if name not in known:
                context.info("idle_setting", f"The parameter «{name}» changes nothing here.", f"{at}/{name}", hint=hint)


#: A placeholder for a parameter in the path of a file.
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_STREAM_PARAMS = {"max_messages": (1, limits.COUNT), "max_wait_ms": (0, limits.MS)}
_SOURCES = {"sql": _sql, "api": _api, "file": _file, "stream": _stream}


def _cache(f: CacheFields, source: DataSource, args: dict[str, Any], context: LoweringContext) -> Cache:
    """W-4.1.7: the cache is per tenant and connection; its key is by default everything that is asked."""
    own = context.template_tree(f.key, "cache/key") if f.key is not None else {**args}
    return Cache(key={"connection": source.connection, "key": own}, ttl_ms=f.ttl_sec * 1000, shared=True)


def _computes(f: DataFields) -> bool:
    return f.source is not None and f.source.type == "expression"


DATA = NodeType(
    "DATA", DataFields, "Reads data from a source into the context.", lower=lower,
    alias=alias_from("data_", "_data"), timeout_ms=30_000, computes_output=_computes,
    shapes_output=lambda f: not _computes(f),
)  # fmt: skip
