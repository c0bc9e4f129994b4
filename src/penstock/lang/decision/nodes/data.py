"""DATA (4.1): reads rows, documents, messages, or computes a value."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.lang.decision import bounds, literals
from penstock.lang.decision.lowering_context import LoweringContext
from penstock.lang.decision.nodes.contract import Fragment, GuardedFields, NodeType, Part, without
from penstock.lang.decision.nodes.parts import completed, idle, node_of, plain, task_of
from penstock.lang.sqltext import check_statement, parameters
from penstock.net.model import Cache


class Source(Part):
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


class CacheFields(Part):
    enabled: bool = True
    ttl_sec: Annotated[int, Meta(ge=1, le=bounds.SECONDS)] = 300
    key: Annotated[str | None, Meta(description="A template; by default the source and its parameters.")] = None


class DataFields(GuardedFields):
    source: Source | None = None
    params: Annotated[dict[str, Any], Meta(description="The same as source.params, which wins.")] = {}
    cache: CacheFields | None = None

    REQUIRED: ClassVar[tuple[str, ...]] = (*GuardedFields.REQUIRED, "source")


def lower(f: DataFields, site: LoweringContext) -> Fragment:
    source = f.source or Source()
    if source.type == "expression":
        return _computed(f, site)
    params = {**f.params, **source.params}
    if source.type in ("sql", "api", "file", "stream") and not source.query:
        word = {"sql": "SELECT … WHERE line_id = :line_id", "api": "/path", "file": "rows.csv"}.get(source.type, "name")
        site.error("missing_field", "«query» is missing.", "source", hint=f'Write `"query": "{word}"`.')
    given = {
        **{name: site.tree(value, f"params/{name}") for name, value in f.params.items()},
        **{name: site.tree(value, f"source/params/{name}") for name, value in source.params.items()},
    }
    executor, args = _SOURCES.get(str(source.type), _sql)(source, params, given, site)
    connection = source.connection or f"default_{source.type}"
    site.depend("connection", connection, "source/connection" if source.connection else "source")
    args["connection"] = site.tree(connection, "source/connection")
    gates = {"cache": _cache(f.cache, source, args, site)} if f.cache is not None and f.cache.enabled else {}
    return completed(task_of(f, site, executor, args, gates=gates), f, site)


def _computed(f: DataFields, site: LoweringContext) -> Fragment:
    """W-4.1.5: nothing is asked of the world."""
    text = f.output.expression if f.output is not None else None
    if text is None:
        hint = "Write `output: {variable: …, expression: …}`."
        site.error("missing_field", "«output.expression» is missing.", "output", hint=hint)
    value = site.expression(text, "output/expression")
    idle(f, site, "circuit_breaker", "idempotency", "cache", "timeout_ms", "retry")
    return completed(plain(node_of(f, site, kind="route", value={"$expr": value or "null"})), f, site)


def _sql(
    source: Source, params: dict[str, Any], given: dict[str, Any], site: LoweringContext
) -> tuple[str, dict[str, Any]]:
    if "${" in source.query:
        message = "SQL text holds ${…}: values are never written into a statement."
        site.error("sql_interpolation", message, "source/query", hint="Write :name, and the value under `params`.")
    else:
        for problem in {one.code: one for one in reversed(list(check_statement(source.query)))}.values():
            hint = "Write one statement that only reads: SELECT … or WITH … SELECT …."
            site.error(problem.code.lower(), problem.message, "source/query", hint=hint)
        for name in parameters(source.query):
            if name not in params:
                hint = f'Write `"params": {{"{name}": …}}`.'
                site.error("sql_parameter", f"Nothing is given for :{name}.", "source/query", hint=hint)
    return "sql", {"query": source.query, "params": given}


def _api(
    source: Source, params: dict[str, Any], given: dict[str, Any], site: LoweringContext
) -> tuple[str, dict[str, Any]]:
    at = "source/endpoint" if "endpoint" in site.step.raw["source"] else "source/query"
    literals.one_of(source.method.upper(), literals.API_METHODS, "HTTP method", "source/method", site)
    args: dict[str, Any] = {"method": source.method.upper(), "path": site.address(source.query, at)}
    if given:
        args["params"] = given
    if source.headers:
        args["headers"] = site.tree(source.headers, "source/headers", secrets=True)
    if source.body is not None:
        args["body"] = site.tree(source.body, "source/body", secrets=True)
    return "api", args


def _file(
    source: Source, params: dict[str, Any], given: dict[str, Any], site: LoweringContext
) -> tuple[str, dict[str, Any]]:
    plain_path = re.sub(r"\$\{[^{}]*\}", "x", source.query).replace("\\", "/")
    if plain_path.startswith("/") or ".." in plain_path.split("/") or re.match(r"[A-Za-z]:", plain_path):
        hint = "Write a path below the connection's folder, such as 2024/rows.csv."
        site.error("path_outside", f"The path «{source.query}» leaves its folder.", "source/query", hint=hint)
    literals.file_ending(source.query, "source/query", site)
    named = set(_PLACEHOLDER.findall(re.sub(r"\$\{[^{}]*\}", "", source.query)))
    _unused(site, named, "Its path does not name it; write {line_id} there, or leave the parameter out.")
    args: dict[str, Any] = {"path": site.tree(source.query, "source/query")}
    filled = {name: value for name, value in given.items() if name in named}
    return "dataset", {**args, "params": filled} if filled else args


def _stream(
    source: Source, params: dict[str, Any], given: dict[str, Any], site: LoweringContext
) -> tuple[str, dict[str, Any]]:
    args = {"name": site.tree(source.query, "source/query"), "max_messages": 100, "max_wait_ms": 1000}
    _unused(site, set(_STREAM_PARAMS), f"Known are {' and '.join(_STREAM_PARAMS)}.")
    for name, (least, most) in _STREAM_PARAMS.items():
        value = params.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and not least <= value <= most:
            hint = f"Write a number from {least} to {most}."
            at = f"source/params/{name}" if name in source.params else f"params/{name}"
            site.error("wrong_type", f"«{name}» must be from {least} to {most}.", at, hint=hint)
    return "stream", {**args, **{name: given[name] for name in _STREAM_PARAMS if name in given}}


def _unused(site: LoweringContext, known: set[str], hint: str) -> None:
    """Parameters change nothing where nobody asks for them; they may stand in two places (C-26)."""
    source = site.step.raw.get("source")
    inner = source.get("params") if isinstance(source, dict) else None
    for at, some in (("params", site.step.raw.get("params")), ("source/params", inner)):
        for name in some if isinstance(some, dict) else ():
            if name not in known:
                site.info("idle_setting", f"The parameter «{name}» changes nothing here.", f"{at}/{name}", hint=hint)


#: what a parameter is put for in the path of a file
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_STREAM_PARAMS = {"max_messages": (1, bounds.COUNT), "max_wait_ms": (0, bounds.MS)}
_SOURCES = {"sql": _sql, "api": _api, "file": _file, "stream": _stream}


def _cache(f: CacheFields, source: Source, args: dict[str, Any], site: LoweringContext) -> Cache:
    """W-4.1.7: scope is tenant and connection; by default the key is the whole question."""
    own = site.tree(f.key, "cache/key") if f.key is not None else {**args}
    return Cache(key={"connection": source.connection, "key": own}, ttl_ms=f.ttl_sec * 1000, shared=True)


def _alias(id: str) -> str:
    rest = without("data_", id)
    return f"{rest}_data" if rest else ""


def _computes(f: DataFields) -> bool:
    return f.source is not None and f.source.type == "expression"


DATA = NodeType(
    "DATA", DataFields, lower, "Reads data from a source into the context.", _alias, 30_000, computed=_computes,
    finishes=lambda f: not _computes(f),
)  # fmt: skip
