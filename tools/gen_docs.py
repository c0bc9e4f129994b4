"""Writes docs/reference from the code, so that a page cannot say something else than the program does.

    python -m tools.gen_docs            writes the pages
    python -m tools.gen_docs --check    writes nothing, exits 1 when a page is not what would be written

A page is one line in PAGES: a file, the module it is made from, the function that writes it and the function that lists
what a reader must find in it. A page whose module is not there yet is not written.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec

from tools import read_source

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs/reference"
MENU = ROOT / "mkdocs.yml"
sys.path.insert(0, str(ROOT / "src"))  # this tree's package, not one that happens to be installed


class Page(NamedTuple):
    file: str
    title: str
    module: str
    make: Callable[[ModuleType], Iterable[str]]
    names: Callable[[ModuleType], Iterable[str]]


# ---- errors ----------------------------------------------------------------------------------------------------------


def error_classes(module: ModuleType) -> list[type[Exception]]:
    """By subject, and in the order of the source."""
    classes = [one for one in vars(module).values() if isinstance(one, type) and issubclass(one, module.PenstockError)]
    return sorted(classes, key=lambda one: (one.__module__, inspect.getsourcelines(one)[1]))


def errors(module: ModuleType) -> Iterator[str]:
    yield "Every error has a code, a message, and where it helps a hint. `{…}` stands for what is filled in. Over"
    yield "HTTP it is a problem document with the status named here; on the command line the exit code is the one"
    yield "named here."
    yield ""
    yield from table_head("code", "class", "http", "exit", "message", "hint")
    for one in error_classes(module):
        found: Any = one
        yield row(code(found.code), code(one.__name__), found.http, found.exit_code, first_line(one), found.hint)


# ---- the net ---------------------------------------------------------------------------------------------------------


def structs(module: ModuleType) -> list[type[msgspec.Struct]]:
    """The public structs of a module, in the order of its source."""
    return [
        one
        for name, one in vars(module).items()
        if isinstance(one, type)
        and issubclass(one, msgspec.Struct)
        and one.__module__ == module.__name__
        and not name.startswith("_")
    ]


def net(module: ModuleType) -> Iterator[str]:
    yield f"{paragraph(module)}\n"
    yield "Fields without a default must be given. *value* means a value tree, *expression* a text of the"
    yield "expression language."
    yield from struct_sections(module)


def struct_sections(module: ModuleType) -> Iterator[str]:
    written = written_fields(module)
    for one in structs(module):
        yield f"\n## {one.__name__}\n"
        if doc := own_doc(one):
            yield f"{doc}\n"
        yield from table_head("field", "type", "default", "meaning")
        for field in one.__struct_fields__:
            kind, default, comment = written.get((one.__name__, field), ("", "", ""))
            yield row(code(field), code(kind), code(default), comment)


def written_fields(module: ModuleType) -> dict[tuple[str, str], tuple[str, str, str]]:
    """(class, field) → type, default and comment, as they stand in the source."""
    source = inspect.getsource(module)
    lines, found = source.splitlines(), {}
    for cls in ast.walk(ast.parse(source)):
        if not isinstance(cls, ast.ClassDef):
            continue
        for node in cls.body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                default = ast.unparse(node.value) if node.value else ""
                after = lines[(node.end_lineno or 1) - 1][node.end_col_offset :]
                comment = after.partition("#")[2].strip()
                found[cls.name, node.target.id] = (ast.unparse(node.annotation), default, comment)
    return found


def kinds(module: ModuleType) -> Iterator[str]:
    yield "A node is join, work, split. These are all the kinds of work there are; every language is lowered to"
    yield "them. The fields of a node are in [the net](net.md)."
    yield ""
    yield from table_head("kind", "what it does")
    for kind in module.KINDS:
        yield row(code(kind), doc_of_module(f"penstock.kernel.kinds.{kind}").removeprefix(f"{kind}: "))


# ---- languages -------------------------------------------------------------------------------------------------------


def diagram(module: ModuleType) -> Iterator[str]:
    schema = importlib.import_module("penstock.lang.diagram.schema")
    contract = importlib.import_module("penstock.lang.diagram.nodes.contract")
    yield "A diagram is YAML or JSON. The properties of a node stand under `props` or beside `label` and `type`; a"
    yield "connection from a condition names its handle: `Check[condtrue]`. This is the light form; the native (JSON"
    yield "with `nodes`, `arrows` and `handles`) and the readable one (`nodes` by label, and a `flow`) have the same"
    yield "fields."
    yield from field_section("The document", schema.TopFields)
    yield "| `persons` | map |  | Who answers, by name; see below. |"
    yield "| `nodes` | list |  | The nodes; see below. |"
    yield "| `connections` | list |  | The connections; see below. |"
    yield from field_section("A connection", schema.ConnectionFields)
    yield from field_section("A person", schema.Person)
    yield from field_section("Every node", contract.NodeFields)
    yield from field_section("Every node that does work", contract.WorkFields, contract.NodeFields)
    yield from field_section("retry", contract.RetryFields)
    for name, kind in module.NODE_TYPES.items():
        base = contract.WorkFields if issubclass(kind.fields, contract.WorkFields) else contract.NodeFields
        also = "" if base is contract.NodeFields else " It does work."
        yield from field_section(name, kind.fields, base, f"{kind.doc}{also}")
    hook = importlib.import_module("penstock.lang.diagram.nodes.hook")
    yield from field_section("config of a hook", hook.HookConfig)
    yield from field_section("subscribe_to of a hook", hook.SubscribeFields)
    providers = importlib.import_module("penstock.lang.diagram.providers").PROVIDERS
    yield "\n## Providers of integrated_api\n"
    yield from table_head("provider", "operations")
    for name, provider in providers.items():
        yield row(code(name), ", ".join(code(operation) for operation in provider.operations))
    yield "\n## Not run here\n"
    yield from table_head("type", "instead")
    for name, instead in module.REFUSED.items():
        yield row(code(name), instead)


def process(module: ModuleType) -> Iterator[str]:
    fields = importlib.import_module("penstock.lang.process.fields")
    yield "A process definition is JSON or YAML with these fields, or a BPMN 2.0 file, which is read to the same."
    yield "Conditions are expressions over the instance's variables: what it was started with, what activities gave."
    yield from field_section("The document", fields.TopFields)
    for name, kind in fields.COLLECTIONS.items():
        yield row(code(name), "list", "", f"Entries: see {kind.__name__.removesuffix('Fields')}.")
    for title, kind in {one.__name__.removesuffix("Fields"): one for one in fields.COLLECTIONS.values()}.items():
        yield from field_section(title, kind)
    for kind in (fields.Orchestration, fields.Compensation, fields.Multi, fields.TimerFields):
        yield from field_section(kind.__name__.removesuffix("Fields"), kind)
    yield "\n## What is run\n"
    yield from table_head("element", "what it does", "work item")
    for name, kind in module.ELEMENT_TYPES.items():
        yield row(code(name), kind.doc, "yes" if kind.work else "")


def field_section(title: str, struct: Any, base: Any = None, doc: str | None = None) -> Iterator[str]:
    """A table of the fields a document may have; those of `base` are told elsewhere."""
    inherited = set(base.__struct_fields__) if base else set()
    hints = get_type_hints(struct, include_extras=True)
    own = [one for one in msgspec.structs.fields(struct) if one.name not in inherited]
    aliases = {name: other for other, name in struct.ALIASES.items()}
    yield f"\n## {title}\n"
    if text := own_doc(struct) if doc is None else doc:
        yield f"{text}\n"
    if not own:
        return
    yield from table_head("field", "type", "default", "meaning")
    for one in own:
        kind, meaning = described(hints[one.name])
        default = "" if one.default in (None, "", msgspec.NODEFAULT) else one.default
        told = [meaning or ("Read and ignored." if one.name in struct.IDLE else "")]
        told += ["Required."] if one.encode_name in struct.REQUIRED else []
        told += [f"Also read as `{aliases[one.encode_name]}`."] if one.encode_name in aliases else []
        yield row(code(one.encode_name), kind, code(yaml_word(default)), " ".join(filter(None, told)))


def described(hint: Any) -> tuple[str, str]:
    """The type in words, with its bounds, and the description that stands with it."""
    meaning, bounds = "", ""
    while get_origin(hint) is Annotated:
        for meta in hint.__metadata__:
            meaning = meaning or getattr(meta, "description", None) or ""
            bounds += "".join(
                f", {word} {getattr(meta, name)}"
                for name, word in (("ge", "≥"), ("gt", ">"), ("le", "≤"), ("lt", "<"), ("max_length", "length ≤"))
                if getattr(meta, name, None) is not None
            )
        hint = hint.__origin__
    return type_words(hint) + bounds, meaning


def type_words(hint: Any) -> str:
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return described(hint)[0]
    if origin is Literal:
        return ", ".join(code(one) for one in inner)
    if origin in (Union, UnionType):
        return " or ".join(type_words(one) for one in inner if one is not type(None))
    plain = {str: "text", int: "whole number", float: "number", bool: "true or false", list: "list", dict: "map"}
    name = plain.get(origin or hint)
    return name or ("anything" if hint is Any else getattr(hint, "__name__", str(hint)).removesuffix("Fields").lower())


def yaml_word(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


# ---- expressions -----------------------------------------------------------------------------------------------------


def functions(module: ModuleType) -> Iterator[str]:
    yield "Every function of the expression language. A question mark means that an argument may be left out. Nothing"
    yield "here reads a clock, a file or the network: what an expression may know comes in with it."
    for name in dict.fromkeys(function.family for function in module.FUNCTIONS.values()):
        yield f"\n## {name}\n"
        yield from table_head("function", "arguments", "gives", "what it does")
        for function in module.FUNCTIONS.values():
            if function.family == name:
                yield row(code(f"fn.{function.name}"), code(function.arguments), function.returns, function.doc)


FEEL = """\
All of FEEL, the expression language of DMN 1.5: in decision tables and models, in conditions of processes (`=amount >
1000`), on the command line (`penstock feel`) and in Python (`from penstock import feel`). What has no result is null,
with a warning that says where and why; strict mode fails instead. [How it works](../explanation/feel.md) says how names
are found, how null spreads and where decimals round.

## Values

| kind | what is held | as JSON |
| --- | --- | --- |
| number | decimals of 34 digits, rounding half to even: `0.1 + 0.2 = 0.3` | a number |
| string, boolean, null, list, context | as the standard has them; `"…"` with `\\n`, `\\u0041`, and `'…'` | the same |
| date, time, date and time | nine digits of a year and of a second, offsets, zones by name | ISO 8601 |
| days and time duration | nanoseconds | ISO 8601 |
| years and months duration | whole months | ISO 8601 |
| range, function | `[1..5)`, `(< 5)`, `function(x) x + 1` | as text |

## Operators and forms

`+ - * / **`, `= != < <= > >=`, `and or`, `between … and …`, `in`, `instance of`, `if … then … else …`,
`for … in … return …` with `partial`, `some`/`every … satisfies …`, `function(a: number) …`, `list[condition]`,
`list[-1]`, `context.member`, `{a: 1, b: a + 1}`, `[1..5]`, `@"2026-01-01"`, `f(name: value)`, comments. Unary tests:
`-`, `< 5, [10..20)`, `not("a", "b")`, `? > limit`. Functions of other programs (`external`) are refused by name.

Members of dates and times: `year`, `month`, `day`, `weekday`, `hour`, `minute`, `second`, `time offset`, `timezone`; of
durations: `days`, `hours`, `minutes`, `seconds`, `years`, `months`; of ranges: `start`, `end`, `start included`,
`end included`.

## Functions

A parameter with a question mark may be left out, `...` stands for any number of arguments. Named arguments have the
names of the parameters.
"""


def feel(module: ModuleType) -> Iterator[str]:
    yield FEEL
    yield from table_head("function", "family", "signatures")
    for name, function in module.FUNCTIONS.items():
        if name != "@":  # how a literal `@"…"` is evaluated
            shown = "<br>".join(code(signature.text).replace("|", "\\|") for signature in function.signatures)
            yield row(code(name), function.family, shown)
    yield "\n## In Python\n"
    yield from table_head("name", "what it is")
    for name in module.__all__:
        text = (getattr(module, name).__doc__ or "").strip().split("\n\n")[0].replace("\n", " ")
        if name != "FUNCTIONS":
            yield row(code(f"feel.{name}"), " ".join(text.split()))


# ---- lifecycles, facts, tables ---------------------------------------------------------------------------------------


def lifecycles(module: ModuleType) -> Iterator[str]:
    yield "Every status of the house and every way from one to another. What a table does not name is refused; a"
    yield "status with a way to the end mark is final but for the rows that name it as source."
    for name, machine in module.MACHINES.items():
        yield f"\n## {name}\n"
        yield f"{doc_of_module(f'{module.__name__}.{name}')}\n"
        yield f"```mermaid\n{machine.mermaid().rstrip()}\n```\n"
        yield from table_head("from", "event", "to", "because")
        for one in machine.rows:
            yield row(code(one.src), code(one.event), code(one.dst), one.source)


def facts(module: ModuleType) -> Iterator[str]:
    yield f"{paragraph(module)}\n"
    yield "The journal keeps the number and the values in this order; `penstock trace RUN --json` shows names"
    yield "instead."
    yield ""
    yield from table_head("number", "fact", "fields")
    for tag, (name, fields) in enumerate(module.FIELDS):
        yield row(tag, code(name), ", ".join(map(code, fields)))


def tables(module: ModuleType) -> Iterator[str]:
    yield "What the store holds. The journal is the truth; a projection can be dropped and made again (`penstock"
    yield "rebuild`). A key column is in bold."
    for one in (*module.TABLES, *module.SERVER_TABLES):
        yield f"\n## {one.name}\n"
        yield f"{one.comment}{' *Projection.*' if one.projection else ''}\n"
        yield from table_head("column", "type", "meaning")
        for column in one.columns:
            name = f"**{code(column.name)}**" if column.key else code(column.name)
            yield row(name, column.type + (" or null" if column.null else ""), column.comment)
        for index in one.indexes:
            where = f" where {code(index.where)}" if index.where else ""
            unique = "unique " if index.unique else ""
            yield f"\nIndex {code(index.name)}: {unique}{', '.join(map(code, index.columns))}{where}."


# ---- executors, settings, commands, the public names -----------------------------------------------------------------


def shelf(module: ModuleType) -> list[str]:
    """The members of a folder with one file per member: every file beside the contract."""
    return [one.name for one in pkgutil.iter_modules(module.__path__) if not one.ispkg and one.name != "contract"]


def executors(module: ModuleType) -> Iterator[str]:
    yield "An executor gets one attempt of one effect and gives one outcome. It takes no token, commits nothing and"
    yield "does not retry by itself."
    yield ""
    yield from table_head("executor", "what it does")
    told = {file: doc_of_module(f"{module.__name__}.{file}").partition(": ") for file in shelf(module)}
    for file, (name, _, about) in sorted(told.items(), key=lambda pair: pair[1][0]):
        yield row(code(name), about if name == file else f"{about} File: `{file}`.")


def settings(module: ModuleType) -> Iterator[str]:
    yield "What a machine has of its own. The command line reads `settings.toml` beside the store, tables becoming"
    yield "dotted names; a Python program hands them in: `Penstock(…, settings={…})`."
    yield ""
    yield (module.__doc__ or "").partition("\n\n")[2].rpartition("\n\n")[0]
    yield ""
    yield from table_head("setting", "default", "meaning")
    for name, (default, meaning) in SETTINGS.items():
        yield row(code(name), code(constant(default)), meaning)
    yield "\n## Environment variables\n"
    yield from table_head("variable", "meaning")
    for name, meaning in VARIABLES.items():
        yield row(code(name), meaning)


def constant(name: str) -> str:
    """The value of `module:NAME` below the executors; what has no colon is the value itself."""
    if ":" not in name:
        return name
    room, _, found = name.partition(":")
    value = getattr(importlib.import_module(f"penstock.executors.{room}"), found)
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


#: Where the default of every setting stands, and its meaning; the names are compared with those that are really read.
SETTINGS = {
    "llm.base_url": (
        "parts.llm.services:BASE_URL", "The OpenAI-compatible service for persons that name none; trusted."
    ),
    "llm.model": ("parts.llm.services:MODEL", "The model for persons that name none."),
    "llm.ollama_url": ("parts.llm.services:OLLAMA_URL", "Where persons of the service ollama are; trusted."),
    "llm.claude_code": ("", "May persons of the service claude-code start the program? true, or its command line."),
    "hooks.commands": ("", "Programs that hooks of diagrams may start; not set: none."),
    "llm.api_key": ("", "The key for that service, as a reference: `${secrets.NAME}`. Never sent anywhere else."),
    "http.allow": (
        "", "What may be called beyond public addresses: host, `*.suffix`, address or network, with a port or without."
    ),
    "http.ports": ("parts.network.egress_policy:PORTS", "Ports that may be called at public addresses."),
    "http.max_bytes": ("parts.network.http_call:MAX_BYTES", "The largest answer that is read."),
    "http.ca_file": ("", "Certificates to trust instead of the usual ones."),
    "file.max_bytes": ("parts.files.sandboxed_files:MAX_BYTES", "The largest file that is read or written."),
    "sql.root": ("", "Where a SQLite connection with a relative path lies; the command line: beside the store."),
    "notify.max_bytes": ("channels.contract:MAX_BYTES", "The largest message that a channel sends."),
    "notify.max_attachment_bytes": ("channels.contract:MAX_ATTACHED", "The largest attachment of a mail."),
    "sql.roots": ("", "`penstock serve`: where everybody's SQLite databases may lie, beyond the tenant's own folder."),
    "file.roots": ("", "`penstock serve`: where everybody's file connections may lie, beyond the tenant's own folder."),
    "mcp.commands": (
        "", "What may start as an MCP server: programs, or lists with arguments. Not set: all; under `serve`, none."
    ),
    "pipelines.buckets.NAME": (
        "", "A bucket of pipelines: `file:///folder`, a path, or `s3://bucket/prefix?endpoint=…&region=…`."
    ),
    "pipelines.bucket_tenants.NAME": (
        "", "The tenant whose files lie in bucket NAME; nobody else's executions read it. Not set: every tenant's may."
    ),
    "pipelines.watch.NAME": ("", "The tenant whose files lie in bucket NAME, a folder that `serve` and `dev` watch."),
    "pipelines.memory_mb": ("processor:MEMORY_MB", "Memory of a stage's process that says nothing, in MiB."),
    "pipelines.max_memory_mb": ("", "The most that a stage may ask for, in MiB. Not set: what it asks for."),
    "pipelines.cpu_seconds": ("processor:CPU_SECONDS", "Processor time of a stage's process that says nothing."),
    "pipelines.max_output_bytes": ("processor:OUTPUT_BYTES", "The largest file that a stage's process may write."),
    "pipelines.labels": ("", "Labels of this machine's workers; a stage that asks for others fails."),
    "pipelines.commands": ("", "Programs that the processor Command may start. Not set: none."),
    "pipelines.clamd": ("", "Where clamd listens, for VirusScan: a path, or `host:port`."),
    "pipelines.max_pixels": ("processors.images:MAX_PIXELS", "Pixels of a picture that is decoded."),
    "pipelines.max_pages": ("processors.pdfs:MAX_PAGES", "Pages of a PDF that is read."),
    "pipelines.max_rows": ("processors.sheets:MAX_ROWS", "Rows of a table that is read."),
    "pipelines.max_text_bytes": ("processors.texts:MAX_TEXT_BYTES", "Size of a file that is read as text."),
    "pipelines.max_unpacked_bytes": ("processors.zip_limits:MAX_UNPACKED_BYTES", "What an archive may unfold to."),
    "pipelines.max_ratio": ("processors.zip_limits:MAX_RATIO", "How many times its size an archive may unfold to."),
    "pipelines.max_entries": ("processors.zip_limits:MAX_ENTRIES", "Entries of an archive."),
    "pipelines.events.url": ("", "An address that takes events of pipelines, as `extraction.completed`, by POST."),
    "pipelines.events.sqs_url": ("", "The URL of an SQS queue that takes them."),
    "pipelines.events.endpoint": ("", "Where that SQS is, if it is not AWS."),
    "agents.env": ("", "Names of variables that every agent of a plan sees, beside the few that all see."),
    "agents.writable": ("", "Paths that agents may write beside their worktree, as `~/.claude`."),
    "plans.roots": ("", "Folders below which tenants that share the machine have their projects."),
    "plans.collect_s": ("3600", "Seconds between two reports about a project."),
    "plans.reports_kept_days": ("30", "Days that a report is listed; then it is archived."),
    "plans.heartbeat_s": ("300", "Seconds that an agent may be silent; here and below a plan may say its own."),
    "plans.term_s": ("30", "Seconds that an agent has to end after SIGTERM; then it gets SIGKILL."),
    "plans.kill_s": ("10", "Seconds in which it must be gone after that."),
    "plans.stuck_s": ("3600", "Seconds after which a task that is in progress counts as stuck."),
    "plans.wait_s": ("30", "Seconds after which a workflow that goes on with nobody at work is looked at again."),
    "plans.autosave_s": ("300", "Seconds between two saves of a workflow's state, beside those at every change."),
    "pipelines.events.region": ("us-east-1", "Its region."),
    "pipelines.queues": ("ff-pipeline-ingest", "Built-in queues that are consumed beside the first."),
    "pipelines.max_pending": ("200000", "With so many PENDING executions no more messages are taken."),
    "pipelines.sqs.url": ("", "The URL of an SQS queue whose messages `serve`, `work` and `pipeline watch` take."),
    "pipelines.sqs.dead_url": ("", "Where messages go that cannot be read; `ff-pipeline-ingest-dlq` beside it."),
    "pipelines.sqs.endpoint": ("", "Where SQS is, if it is not AWS."),
    "pipelines.sqs.region": ("us-east-1", "Its region."),
    "pipelines.sqs.visibility_s": ("300", "Seconds for which a message is invisible to others; longer while in work."),
    "pipelines.sqs.threads": ("1", "How many threads receive."),
    "pipelines.allow_cancel_pending": ("false", "An execution that has not begun may be cancelled, too."),
    "pipelines.alarms.success_rate": ("0.95", "An alarm where fewer executions of an hour are completed."),
    "pipelines.alarms.pending_seconds": ("300", "An alarm where an execution waits longer to be picked up."),
    "pipelines.alarms.retry_rate": ("0.2", "An alarm where more executions of an hour needed another attempt."),
    "pipelines.alarms.dlq_messages": ("0", "An alarm where more messages could not be taken."),
    "pipelines.rates.NAME": ("", "What one of `wall_ms`, `cpu_ms`, `bytes_in`, `bytes_out`, `llm_tokens` costs."),
    "tenants.NAME.secrets": (
        "",
        (
            "`penstock serve`: which of the operator's secrets one tenant may use; `\"*\"`: all. Not set: none; the"
            " server's own tenant, all."
        ),
    ),
    "tenants.NAME.sql.roots": ("", "`sql.roots` for one tenant, besides."),
    "tenants.NAME.file.roots": ("", "`file.roots` for one tenant, besides."),
    "tenants.NAME.mcp.commands": ("", "`mcp.commands` for one tenant, besides."),
    "tenants.NAME.http.allow": ("", "`http.allow` for one tenant, besides."),
    "agent.commands.NAME": ("", "A program that agents of kind `process` may start, as a list of texts."),
    "code.timeout_ms": ("code:TIMEOUT_MS", "How long a script may run that does not say."),
    "code.max_ms": ("code:TIMEOUT_MAX_MS", "How long a script may run at most."),
    "code.memory_bytes": ("code:MEMORY_BYTES", "How much memory a script may use."),
    "workers.total": ("", "How many effects may be on their way at once, of all tenants; no limit when it is not set."),
    "workers.per_tenant": ("", "The same for each tenant; those of others are not held up by one that has much to do."),
    "limits.fan_items": ("10000", "Items of one fan or multi-instance; with more it fails, `FAN_LIMIT`."),
    "limits.children_per_run": ("10000", "Called runs of one run that have not ended; one more call fails."),
    "limits.call_depth": ("32", "Runs that call each other, one below the other; a deeper call fails."),
    "limits.starts_per_minute": ("600", "Runs that one run starts in a minute; others wait."),
    "limits.open_runs": ("200000", "Runs of a tenant that have not ended; starts are refused with 429, events wait."),
    "limits.open_work_items": ("200000", "Work items of a tenant that nobody has done yet; the same."),
    "limits.facts_warning": ("100000", "Facts of one run after which it has an incident."),
    "limits.facts_per_run": ("2000000", "Facts of one run after which it is paused."),
    "tenants.NAME.limits.LIMIT": ("", "The same limit for one tenant."),
    "environment": ("production", "Where runs are at work when nobody says otherwise (C-82)."),
    "tenants.NAME.environment": ("", "The same for one tenant."),
    "tenants.NAME.share": ("1", "How much of turns, effects, events and requests it has, compared with others."),
    "workers.tenants.NAME": ("", "The same for one tenant, instead of `workers.per_tenant`."),
    "metrics.token": ("", "A scraper's bearer token for `/metrics`: with it the numbers of all tenants are seen."),
    "otel.endpoint": ("", "An OpenTelemetry collector (OTLP over HTTP) that gets a span for every run and node."),
    "otel.service": ("", "What the server is called there; penstock."),
    "otel.headers.NAME": ("", "A header that the collector asks for."),
    "log.format": ("", "text, or `json`: one object per line, for every request and every end of a run."),
    "autonomy.evaluate_s": ("600", "Seconds between two looks at what became of agents' drafts. 0: never."),
    "conformance.follow_s": ("60", "Seconds between two looks at how ended processes fit their versions. 0: never."),
    "audit.keep_days": ("1095", "Days that the audit is kept; of what is pruned a hash stays. 0: for ever."),
    "drafts.keep_days": ("90", "Days that a draft is kept which nobody touches, also one of a drawing. 0: for ever."),
    "remarks.keep_days": ("365", "Days that remarks about an item are kept, and until its run has ended. 0: for ever."),
    "simulations.keep_days": ("365", "Days that a simulation is kept, and until its run has ended. 0: for ever."),
    "uses.keep_days": ("365", "Days that uses of deployed things are kept, and until their rollout ends. 0: for ever."),
    "serve.drain_s": ("", "Seconds in which a server that is to stop still answers, while `/ready` says 503; 1."),
    "audit.key_file": ("", "What the audit is sealed with; beside the store when it is not set."),
    "secrets.key_file": ("", "What the tenants' secrets are sealed with; beside the store when it is not set."),
    "server.secure": ("false", "Behind TLS: the cookie is `Secure`, and browsers are told to use HTTPS."),
    "server.origins": ("", "Pages of other sites that may call the API (CORS), as `https://host`; none by default."),
    "sizes.body_bytes": ("1048576", "The largest body of a request; then 413."),
    "sizes.document_bytes": ("5242880", "The largest document that is sent; then 413. No larger ones are read."),
    "sizes.inline_bytes": ("65536", "A value that takes more is kept beside its row, and its row has a reference."),
    "waits.timeout_s": (
        "86400", "Seconds after which a wait fails that says none, if not for a moment; for what is released later."
    ),
    "reads.loop_facts": (
        "2000", "A run with more facts is read by a process beside the engine, which is started when it is needed."
    ),
    "server.strangers": (
        "300", "`penstock serve`: calls per minute of one address that are not let in; then 429. 0: no limit."
    ),
    "server.account_tries": (
        "20", "Calls per minute with a wrong secret for one key, from all strange addresses together. 0: no limit."
    ),
    "server.allowed_hosts": (
        "", 'Names that requests may be for, as `--name`; `"*"`: any. Not set: its own and addresses; on loopback any.'
    ),
    "server.proxies": (
        "", "Addresses and networks of the proxies in front: their `X-Forwarded-For` is believed, nobody else's."
    ),
    "server.connections_per_address": ("64", "Connections of one address at once, but of the proxies."),
    "server.connections": ("0", "Connections in all. 0: as many as the system has handles, less the reserve."),
    "server.handles_reserve": ("64", "Handles of the system that connections never take: the engine needs them."),
    "server.header_s": ("10", "Seconds in which the head of a request must have come."),
    "server.header_bytes": ("16384", "Bytes that it may have."),
    "server.body_idle_s": ("30", "Seconds that a body may rest on its way."),
    "server.body_s": ("600", "Seconds in which all of it must have come."),
    "server.write_idle_s": ("60", "Seconds that an answer, or a stream, may lie there without being read."),
    "server.keep_alive_s": ("30", "Seconds that a connection may rest between two requests."),
    "server.keep_alive_requests": ("1000", "Requests of one connection; then it is closed."),
    "jwt.issuer": ("", "Whose tokens are taken (`iss`). With `jwt.audience` and `jwt.jwks` it lets people in by JWT."),
    "jwt.audience": ("", "For whom they must be (`aud`)."),
    "jwt.jwks": ("", "The issuer's public keys: a file beside the store, or a URL."),
    "jwt.algorithms": ("", "Which signatures are taken, of RS256, ES256 and EdDSA; all of them by default."),
    "jwt.tenant": ("", "Everybody's tenant; where it is not set, a claim says it."),
    "jwt.tenant_claim": ("", "The claim with the tenant, `tenant` by default. A path such as `a.b` will do."),
    "jwt.user_claim": ("", "The claim with the user, `sub` by default."),
    "jwt.roles_claim": ("", "The claim with the roles, `roles` by default."),
    "jwt.permissions_claim": ("", "The claim with the only permissions that may be used; none by default."),
    "jwt.organization_claim": ("", "The claim with the one organisation that the token is for; none by default."),
    "jwt.leeway_s": ("", "By how many seconds clocks may differ, 30 by default."),
    "python.modules": (
        "", "Modules of your own, by name or as files `*.py` beside the settings, imported when a store is driven."
    ),
    "secrets": ("", "Names and values, or a function from name to value. On the command line the table `[secrets]`."),
    "services": ("", "Python only: what the program lends to handlers (`context.service(name)`)."),
}  # fmt: skip
VARIABLES = {
    "PENSTOCK_STORE": "The store, where `--store` is not given.",
    "PENSTOCK_TENANT": "The tenant, where `--tenant` is not given.",
    "PENSTOCK_ROOT": "Where paths in documents begin, where `--root` is not given.",
    "PENSTOCK_SECRET_NAME": "The secret NAME; looked at before `settings.toml`.",
    "PENSTOCK_LOG": "`json` or `text`; goes before the setting `log.format`.",
    "PENSTOCK_DEBUG": "When set, an unexpected error shows where it came from.",
}


# ---- the Python door, commands of the kernel, codes ------------------------------------------------------------------


def python(module: ModuleType) -> Iterator[str]:
    yield "`Penstock` is for programs with an event loop, `Blocking` has the same words without `await`; what it does"
    yield "not have is reached through `.inner`. Both are context managers: while one is open it drives the runs of"
    yield "its store. A run is named by its id, by a beginning of it that no other run has, or by its key."
    yield "[Stability](stability.md) says which names are promised."
    for one in (module.Penstock, module.Blocking):
        yield f"\n## {one.__name__}\n"
        yield f"`{one.__name__}{signature(one)}`\n"
        yield f"{own_doc(one)}\n"
        yield from table_head("method", "what it does")
        for name, method in public_methods(one):
            waits = "await " if inspect.iscoroutinefunction(method) else ""
            said = own_doc(method) or own_doc(getattr(module.Penstock, name, None)) or SAID.get(name, "")
            yield row(code(f"{waits}{name}{signature(method)}"), said)
        for name, held in inherited(one).items():  # what else a tenant has: releases, schedules, the inbox
            if isinstance(held, property) and own_doc(held.fget):
                yield row(code(name), own_doc(held.fget))
    yield from struct_table(module.RunView)
    yield "\n## penstock.diagram\n"
    handlers = importlib.import_module("penstock.diagram")
    yield f"{first_line(handlers)}\n"
    yield from table_head("name", "what it is")
    for name in handlers.__all__:
        found = getattr(handlers, name)
        documented = inspect.isclass(found) and not name[0].islower() or inspect.isfunction(found)
        yield row(code(name), first_line(found) if documented else HERE[name])


def testing(module: ModuleType) -> Iterator[str]:
    yield "In pytest the fixture `penstock_test` is an open `BlockingVirtualPenstock` that finds documents beside the"
    yield "test, and `async_penstock_test` a `VirtualPenstock` to be opened with `async with`;"
    yield "`--penstock-update` writes snapshots anew. [Test your workflow](../tutorial/testing.md) shows them at work,"
    yield "[Scenarios](scenarios.md) has the words that `expect` takes."
    for one in (module.VirtualPenstock, module.BlockingVirtualPenstock, module.Person, module.TestedRun,
                module.ManualClock):  # fmt: skip
        yield f"\n## {one.__name__}\n"
        yield f"`{one.__name__}{signature(one)}`\n"
        yield f"{own_doc(one)}\n"
        yield from table_head("name", "what it does")
        for name, method in public_methods(one):
            waits = "await " if inspect.iscoroutinefunction(method) else ""
            same = getattr(module.VirtualPenstock, name, None) if one is module.BlockingVirtualPenstock else None
            yield row(code(f"{waits}{name}{signature(method)}"), own_doc(method) or own_doc(same) or SAID.get(name, ""))
        for name, held in inherited(one).items():
            if isinstance(held, property) and not name.startswith("_"):
                yield row(code(name), own_doc(held.fget) or SAID.get(name, ""))
    for one in (module.OpenWait, module.SentMessage):
        yield from struct_table(one)
    yield "\n## What a stub does\n"
    yield from table_head("function", "what it does")
    for name in ("answer", "fails", "never", "call", "real"):
        yield row(code(f"{name}{signature(getattr(module, name))}"), own_doc(getattr(module, name)))


def scenarios(module: ModuleType) -> Iterator[str]:
    yield "A scenario file ends with `.scenario.yaml` and is played by `penstock test`. `penstock test --schema` prints"
    yield "the JSON Schema of the form, for editors. Times are spans (90s, 30m, 2h, 1h30m, 1d, PT2H) or moments of"
    yield "ISO 8601; `+2h` is a moment since the beginning."
    properties_of = importlib.import_module("penstock.lang.editors").properties_of
    for title, kind in module.FORMS.items():
        yield f"\n## {title}\n"
        yield f"{own_doc(kind)}\n"
        yield from table_head("field", "what it is")
        for name, shape in properties_of(kind).items():
            needed = " It must be there." if name in kind.REQUIRED else ""
            yield row(code(name), f"{shape.get('description', '')}{needed}")
    yield "\n## What is refused\n"
    yield "Nothing of a file is played while one of these is found in it, but warnings; each has its line and column.\n"
    yield from table_head("rule", "what it says", "hint")
    for one in read_source.rules(rooms=("testing",)):
        warning = "A warning: " if one.severity == "warning" else ""
        yield row(code(one.rule), f"{warning}{one.message}", one.hint)
    yield "\n## Settings\n"
    yield "`given.settings` has some of these; all others are for whoever runs the machine.\n"
    yield from table_head("setting", "type")
    for name, kind in importlib.import_module("penstock.testing.scenario.settings").OPEN.items():
        yield row(code(name), kind.__name__)


#: What methods do whose names say it all, for readers of the page.
SAID = {
    "aclose": "Stop driving and close the store; runs stay as they are.",
    "close": "Close the store.",
    "add_executor": "An executor of your own, by its name; it takes the place of a built-in one.",
    "compile": "Read and lower a document without keeping it.",
    "signal": "News for a run; an id that was seen before changes nothing.",
    "pause": "Nothing new is started until `resume`.",
    "resume": "Let a paused run go on.",
    "retry": "Try a failed run again: `here` where it failed, `restart` from its start nodes.",
    "watcher": "A folded run that can be looked at in detail.",
    "net_of": "The compiled net with this content hash.",
    "state_bytes": "The same, in its canonical form.",
    "runs": "The newest runs of the store, as rows.",
    "now": "The time, in milliseconds since 1970.",
    "open": "Make the store and open it, without driving it.",
    "cancel": "End a run.",
    "approve": "Approve what waits at a node, or a draft.",
    "reject": "Reject what waits at a node, or a draft.",
    "run": "The run with this id.",
    "clock": "The clock that only `advance` moves.",
    "ended": "Whether the run has come to an end.",
    "output": "What the run has come to.",
    "variables": "Its variables by name.",
    "failure": "Why it failed: code, node, category, message.",
    "waits": "What it waits for now.",
    "net": "Its compiled net.",
    "began_at": "When the test began.",
    "judge": "Give a review its verdict.",
    "answer": "Answer what asks for a value, or hand in work.",
    "claim": "Take it, so that nobody else does.",
}
HERE = {"context": "The run around the handler that works now.", "node_id": "The node whose handler works now."}


def public_methods(cls: type) -> list[tuple[str, Any]]:
    """In the order of the source, those of base classes last."""
    members = inherited(cls).items()
    return [(name, method) for name, method in members if not name.startswith("_") and inspect.isfunction(method)]


def inherited(cls: type) -> dict[str, Any]:
    """The members of a class by name, in the order of the source, those of base classes last."""
    members: dict[str, Any] = {}
    for owner in cls.__mro__[:-1]:
        for name, member in vars(owner).items():
            members.setdefault(name, member)
    return members


def signature(thing: Any) -> str:
    """As one writes a call: names and defaults, without types and without self."""
    found = [one for one in inspect.signature(thing).parameters.values() if one.name != "self"]
    shown = inspect.Signature([one.replace(annotation=inspect.Parameter.empty) for one in found])
    return str(shown)


def struct_table(struct: Any) -> Iterator[str]:
    yield f"\n## {struct.__name__}\n"
    yield f"{own_doc(struct) or 'What `view` and `wait` return: a run in the words of its language.'}\n"
    yield from table_head("field", "type")
    for name in struct.__struct_fields__:
        yield row(code(name), code(str(inspect.get_annotations(struct)[name])))


def run_commands(module: ModuleType) -> Iterator[str]:
    yield "What may be asked of a run. The host gives `start`, `outcome`, `tick`, `nudge` and `doubt`; the others come"
    yield "from people and programs, through the command line, the Python door or the store's inbox."
    yield ""
    yield from table_head("command", "made by", "what it asks")
    for name, made in command_makers(module):
        yield row(code(name), code(f"{made.__name__}{signature(made)}"), own_doc(made) or ASKED.get(made.__name__, ""))


ASKED = {
    "done": "The world has answered: it is done.",
    "failed": "The world has answered: it failed.",
    "skipped": "The gate or an executor has decided that it is not needed.",
    "pause": "Fire nothing new until `resume`; answers and timers are recorded.",
    "resume": "Go on.",
    "compensate": "Undo what was done, all of it or some nodes only.",
    "cancel_firing": "End one firing; it leaves by its port `cancelled`.",
    "migrate": "Move to another net, by the author's table where ids differ.",
    "set_variable": "Write one variable of the run.",
}


def command_makers(module: ModuleType) -> list[tuple[str, Any]]:
    """(name in the journal, function) of every command."""
    names = {"done": "outcome", "failed": "outcome", "skipped": "outcome", "set_variable": "set"}
    makers = [one for one in vars(module).values() if inspect.isfunction(one)]
    return [(names.get(one.__name__, one.__name__), one) for one in makers]


def failures(module: ModuleType) -> Iterator[str]:
    yield "A failure is a value in the journal: a code, a category, a message and the node. The category decides"
    yield "whether `retry` may help; an executor of your own may use codes of its own. `…` stands for what is"
    yield "filled in."
    yield ""
    yield f"Retried: {', '.join(map(code, module.Retry().on))}. Everything else is not."
    yield ""
    yield from table_head("code", "category", "said by", "message")
    for one in read_source.failures():
        yield row(code(one.code), one.category, code(one.room), told(one.message))
    yield row(code(module.Trigger().code), "timeout", code("kernel"), "nothing came in time for «…»")
    yield "\nExpressions fail with the codes of [errors](errors.md) that begin with `EXPR_`, category validation."
    yield "\n## Incidents\n"
    yield "What an operator should look at; the run may go on. `penstock show` lists them as warnings."
    yield ""
    yield from (f"- {code(one)}" for one in read_source.incidents())


def rules(_: ModuleType) -> Iterator[str]:
    yield "Everything `penstock check` may say about a document, by rule. An error keeps a document from being"
    yield "released, a warning does not. `…` stands for what is filled in."
    yield ""
    yield from table_head("rule", "severity", "message", "hint")
    for one in read_source.rules():
        yield row(code(one.rule), one.severity, told(one.message), told(one.hint))


def told(text: str) -> str:
    """A text in which something is said; not one that is filled in whole."""
    return text if any(c.isalnum() for c in text) else ""


def cli(module: ModuleType) -> Iterator[str]:
    yield "Exit codes: 0 done, 2 the document or the call is wrong, 3 the run failed, 4 the run waits."
    for path, command in commands(module):
        yield f"\n## penstock {path}\n"
        yield f"{inspect.cleandoc(command.help or '').split(chr(12))[0]}\n"
        shown = [one for one in command.params if not getattr(one, "hidden", False) and one.name != "help"]
        if shown:
            yield from table_head("argument or option", "default", "meaning")
        for one in shown:
            opts = " / ".join([*one.opts, *one.secondary_opts]) if one.param_type_name == "option" else one.name.upper()
            given = "" if callable(one.default) or one.default in (None, False, ()) else str(one.default)
            yield row(code(opts), code(given), getattr(one, "help", "") or "")


def commands(module: ModuleType) -> list[tuple[str, Any]]:
    """(path, command) of every command of the program, groups opened, hidden ones left out."""
    import typer.main

    def walk(path: str, command: Any) -> Iterator[tuple[str, Any]]:
        if inner := getattr(command, "commands", None):
            for name, one in inner.items():
                yield from walk(f"{path} {name}".strip(), one)
        elif not command.hidden:
            yield path, command

    return list(walk("", typer.main.get_command(module.app)))


def http(module: ModuleType) -> Iterator[str]:
    """From the description that the server gives out, and the permissions from the routes themselves."""
    served = application(module)
    said, needed = served.openapi(), permissions(module)
    yield "Every route, with the permission that it asks for. `-` asks for none (a webhook looks at its caller itself),"
    yield "*somebody* only for a caller who is known. Bodies, answers and examples are in the description:"
    yield "`GET /api/v1/openapi.json`, `/api/docs` in a browser, `penstock serve --openapi` without a server. `/api` is"
    yield "an alias of `/api/v1`. [Use the API](../howto/use-the-api.md) says what all of them have in common."
    about = {one["name"]: one["description"] for one in said["tags"]}
    for tag in dict.fromkeys(operation["tags"][0] for _, _, operation in operations(said)):
        yield f"\n## {tag.capitalize()}\n"
        yield f"{about.get(tag, '')}\n"
        yield from table_head("route", "permission", "what it does")
        for method, path, operation in operations(said):
            if operation["tags"][0] == tag:
                shown = f"{method} {path.removeprefix('/api/v1')}"
                yield row(code(shown), needed.get((method, path), "-"), operation["summary"])
    yield "\n## Not yet\n"
    yield "Routes that C-66 names and this version does not serve: they answer 404, and nothing pretends.\n"
    yield from table_head("route", "comes with")
    for route, part in NOT_YET.items():
        yield row(code(route), part)


NOT_YET = {
    "POST /workflows/{workflow_id}/versions/{version}/simulate": "SIMULATE",
    "GET /deploy/{deployment_id}/status": "DEPLOY",
    "POST /deploy/{deployment_id}/rollback": "DEPLOY",
}


def application(module: ModuleType) -> Any:
    """The application over a store that is never opened."""
    door = importlib.import_module("penstock.app.penstock").Penstock
    return module.create(door(":memory:", drive=False))


def operations(said: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(method.upper(), path, one) for path, ways in said["paths"].items() for method, one in ways.items()]


def permissions(module: ModuleType) -> dict[tuple[str, str], str]:
    """(method, path) → the permission, where one is asked for."""
    from fastapi.routing import APIRoute

    def walk(dependant: Any) -> Iterator[str]:
        if found := getattr(dependant.call, "permission", ""):
            yield code(found)
        elif getattr(dependant.call, "__name__", "") == "caller_of":
            yield "*somebody*"
        for inner in dependant.dependencies:
            yield from walk(inner)

    asked = {}
    for one in (route for router in module.ROUTES for route in router.routes):
        if isinstance(one, APIRoute) and (found := sorted(walk(one.dependant), reverse=True)):
            asked |= {(method, f"/api/v1{one.path_format}"): found[0] for method in one.methods or ()}
    return asked


def routes(module: ModuleType) -> list[str]:
    return [f"{way} {path.removeprefix('/api/v1')}" for way, path, _ in operations(application(module).openapi())]


def stability(module: ModuleType) -> Iterator[str]:
    yield "What may not change without a major version: the names below, the `contract.py` files, the documents"
    yield "that `penstock check` accepts, the exit codes and the `--json` output. Everything else may change at any"
    yield "time."
    yield ""
    yield from table_head("name", "what it is")
    for name in module.__all__:
        yield row(code(f"penstock.{name}"), own_doc(getattr(module, name)))


# ---- how pages are written -------------------------------------------------------------------------------------------


def row(*cells: Any) -> str:
    return f"| {' | '.join(str(cell).replace('|', chr(92) + '|').replace(chr(10), ' ') for cell in cells)} |"


def table_head(*titles: str) -> tuple[str, str]:
    return row(*titles), row(*("---" for _ in titles))


def code(text: Any) -> str:
    return f"`{text}`" if str(text) else ""


def own_doc(thing: Any) -> str:
    """The docstring written for this thing itself, not an inherited or a generated one."""
    doc = vars(thing).get("__doc__") if isinstance(thing, type) else getattr(thing, "__doc__", None)
    return " ".join(inspect.cleandoc(doc or "").split())


def first_line(thing: Any) -> str:
    return own_doc(thing) and inspect.cleandoc(thing.__doc__).splitlines()[0]


def paragraph(module: ModuleType) -> str:
    """What a module says about itself below its first line."""
    return inspect.cleandoc(module.__doc__ or "").partition("\n\n")[2]


def doc_of_module(name: str) -> str:
    found = load(name)
    return first_line(found) if found else ""


def load(name: str) -> ModuleType | None:
    """The module, or None where it does not exist yet; a module that exists and breaks is an error."""
    try:
        spec = importlib.util.find_spec(name)
    except ModuleNotFoundError:
        return None
    return importlib.import_module(name) if spec and spec.origin else None


PAGES = (
    Page("cli", "Commands", "penstock.cli.main", cli, lambda module: [path for path, _ in commands(module)]),
    Page("process", "Processes", "penstock.lang.process.nodes", process, lambda module: list(module.ELEMENT_TYPES)),
    Page("diagram", "Diagrams", "penstock.lang.diagram.nodes", diagram, lambda module: list(module.NODE_TYPES)),
    Page("errors", "Errors", "penstock.errors", errors, lambda module: [one.__name__ for one in error_classes(module)]),
    Page("executors", "Executors", "penstock.executors", executors, shelf),
    Page("facts", "Facts", "penstock.kernel.fact", facts, lambda module: [name for name, _ in module.FIELDS]),
    Page("failures", "Failures", "penstock.net.model", failures, lambda _: [f.code for f in read_source.failures()]),
    Page("feel", "FEEL", "penstock.feel", feel, lambda module: [n for n in module.FUNCTIONS if n != "@"]),
    Page("functions", "Functions", "penstock.expr.functions", functions, lambda module: list(module.FUNCTIONS)),
    Page("http", "HTTP", "penstock.api.server", http, routes),
    Page("kinds", "Kinds", "penstock.net.model", kinds, lambda module: module.KINDS),
    Page("lifecycles", "Lifecycles", "penstock.lifecycle", lifecycles, lambda module: list(module.MACHINES)),
    Page("net", "The net", "penstock.net.model", net, lambda module: [one.__name__ for one in structs(module)]),
    Page("python", "Python", "penstock", python, lambda module: ["Penstock", "Blocking", "RunView"]),
    Page("rules", "Rules", "penstock.lang.compile", rules, lambda _: [one.rule for one in read_source.rules()]),
    Page("run-commands", "What may be asked of a run", "penstock.kernel.command", run_commands, lambda m: m.NAMES),
    Page("scenarios", "Scenarios", "penstock.testing.scenario.form", scenarios, lambda module: list(module.FORMS)),
    Page("settings", "Settings", "penstock.cli.settings", settings, lambda _: read_source.settings()),
    Page("stability", "What is stable", "penstock", stability, lambda module: module.__all__),
    Page("testing", "Testing", "penstock.testing", testing, lambda module: ["VirtualPenstock", "TestedRun"]),
    Page(
        "tables",
        "Tables",
        "penstock.store.tables",
        tables,
        lambda module: [t.name for t in (*module.TABLES, *module.SERVER_TABLES)],
    ),
)


INDEX = """# Reference

> made from the list of pages by `tools/gen_docs.py`

Every page here is written by the code it describes; the tests fail when one differs.

"""


def pages() -> dict[str, str]:
    """File name → text of every page that can be made, and of the index that lists them."""
    made = {}
    for page in PAGES:
        if module := load(page.module):
            head = f"# {page.title}\n\n> made from `{page.module}` by `tools/gen_docs.py`\n\n"
            made[f"{page.file}.md"] = head + "\n".join(page.make(module)).rstrip() + "\n"
    listed = [f"- [{page.title}]({page.file}.md)" for page in PAGES if f"{page.file}.md" in made]
    made["index.md"] = INDEX + "\n".join(listed) + "\n"
    return made


def menu(known: str, made: Iterable[str]) -> str:
    """mkdocs.yml with its lines about the reference written again, the index first."""
    lines = known.splitlines(keepends=True)
    old = [number for number, line in enumerate(lines) if line.strip().startswith("- reference/")]
    indent = lines[old[0]].partition("-")[0]
    new = [f"{indent}- reference/{name}\n" for name in sorted(made, key=lambda name: (name != "index.md", name))]
    return "".join([*lines[: old[0]], *new, *lines[old[-1] + 1 :]])


def fresh() -> dict[Path, str]:
    """Every file this program writes, as it should be."""
    made = pages()
    found = {FOLDER / name: text for name, text in made.items()}
    return {**found, MENU: menu(MENU.read_text("utf-8"), made)}


def stale() -> list[str]:
    """The files that are missing, different, or left over from a module that is gone."""
    made = fresh()
    there = {file: file.read_text("utf-8") for file in [MENU, *FOLDER.glob("*.md")]}
    changed = [file for file in made.keys() | there.keys() if made.get(file) != there.get(file)]
    return sorted(file.relative_to(ROOT).as_posix() for file in changed)


def main(arguments: list[str]) -> int:
    made, old = fresh(), stale()
    for name in old:
        if arguments == ["--check"]:
            print(f"{name} is stale: python -m tools.gen_docs")
        elif ROOT / name in made:
            (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / name).write_text(made[ROOT / name], "utf-8")
            print(f"wrote {name}")
        else:
            (ROOT / name).unlink()
            print(f"removed {name}")
    return 1 if old and arguments == ["--check"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
