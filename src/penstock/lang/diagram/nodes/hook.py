"""hook: calls something outside: a webhook, a Python function in the sandbox, a file, or a program of the operator's.

What a hook needs stands under `config` or beside the label. A webhook with `subscribe_to` waits for an event instead
of sending one. There is no shell: a command is a program and its arguments, and only programs that the operator has
listed are started.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.lang.diagram.file_names import code_names
from penstock.lang.diagram.lowering_context import LoweringContext
from penstock.lang.diagram.nodes.contract import (
    Fragment,
    NodeType,
    WorkFields,
    milliseconds,
    net_node,
    single_node,
    task_node,
    work_parts,
)
from penstock.lang.document import child_pointer
from penstock.lang.fields import Fields, read_fields, unknown_fields
from penstock.lang.python_scripts import check_script
from penstock.lang.report import PlaceReport
from penstock.net.model import Node, Retry, Trigger

Text = str | int | float | bool
_SHELL = re.compile(r"[|&;<>`]|\$\(")
_SUBSCRIBED_S = 60.0
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")


class SubscribeFields(Fields):
    """The event that a hook waits for."""

    provider: Annotated[str, Meta(description="Who sends it, such as github.")] = ""
    event_name: Annotated[str, Meta(description="Which event; without it every one of the provider.")] = ""
    timeout: Annotated[float, Meta(gt=0, le=31_536_000, description="Seconds; then the hook says that none came.")] = 60
    filters: Annotated[dict[str, Any], Meta(description="Members of the payload and what they must be.")] = {}

    REQUIRED: ClassVar[tuple[str, ...]] = ("provider",)


class HookConfig(Fields):
    """What a hook needs, by its type."""

    command: Annotated[str | list[str], Meta(description="shell: the program and its arguments.")] = ""
    args: Annotated[
        list[Text] | dict[str, Any], Meta(description="shell: more arguments. python: more inputs by name.")
    ] = []
    url: Annotated[str, Meta(description="webhook: where it is sent.")] = ""
    method: Annotated[str, Meta(description="webhook: the HTTP method, POST if it says nothing.")] = "POST"
    headers: Annotated[dict[str, Text], Meta(description="webhook: headers; secrets as ${secrets.NAME}.")] = {}
    body: Annotated[Any, Meta(description="webhook: what is sent; else the inputs and the node's label.")] = None
    subscribe_to: Annotated[SubscribeFields | None, Meta(description="webhook: wait for an event instead.")] = None
    script: Annotated[str, Meta(description="python: the code, or the path of a .py file.")] = ""
    function_name: Annotated[str, Meta(description="python: the function to call, `hook` if it says nothing.")] = ""
    file_path: Annotated[str, Meta(description="file: where the inputs are written.")] = ""
    format: Annotated[Literal["json", "yaml", "text"], Meta(description="file: how.")] = "json"
    timeout: Annotated[
        Annotated[float, Meta(gt=0, le=31_536_000)] | None, Meta(description="Seconds one attempt may take.")
    ] = None
    retry_count: Annotated[int, Meta(ge=0, le=1000, description="Retries of an attempt whose failure may pass.")] = 0
    retry_delay: Annotated[float, Meta(ge=0, le=86_400, description="Seconds between them.")] = 1
    env: Any = None
    cwd: Any = None

    ALIASES: ClassVar[dict[str, str]] = {"function": "function_name"}
    IDLE: ClassVar[tuple[str, ...]] = ("env", "cwd")


class HookFields(WorkFields):
    hook_type: Annotated[Literal["webhook", "python", "file", "shell"] | None, Meta(description="What is called.")] = (
        None
    )
    config: Annotated[dict[str, Any], Meta(description="What it needs; may stand beside the label as well.")] = {}

    REQUIRED: ClassVar[tuple[str, ...]] = ("hook_type",)


def lower(f: HookFields, context: LoweringContext) -> Fragment:
    config, context = _config(f, context)
    if f.hook_type == "webhook" and config.subscribe_to is not None:
        return single_node(_subscription(f, config.subscribe_to, context))
    make = {"webhook": _webhook, "python": _python, "file": _file, "shell": _shell}.get(f.hook_type or "")
    if make is None:
        return single_node(task_node(f, context, "http", {}))
    executor, args = make(config, context)
    parts: dict[str, Any] = {}
    if config.timeout is not None:
        parts["timeout_ms"] = milliseconds(config.timeout)
    if config.retry_count and f.retry is None:
        parts["retry"] = Retry(max=config.retry_count, base_ms=max(0, round(config.retry_delay * 1000)))
    return single_node(task_node(f, context, executor, args, **parts))


def _config(f: HookFields, context: LoweringContext) -> tuple[HookConfig, LoweringContext]:
    """The fields of `config`, and below them those that stand beside the label; and the context that knows where."""
    at = context.at("config")
    where = {name: context.at(name) for name in context.rest} | {name: child_pointer(at, name) for name in f.config}
    written = {**context.rest, **f.config}
    config, rest = read_fields(HookConfig, written, at, context.report, where=where, node=context.label)
    unknown_fields(rest, HookConfig, at, context.report, where=where, node=context.label)
    if f.timeout is not None and config.timeout is None:
        config.timeout = f.timeout
    return config, replace(context, where={**context.where, **where})


def _needs(name: str, hook: str, context: LoweringContext) -> None:
    message = f"A hook of the type {hook} needs «{name}»."
    context.error("missing_field", message, "config", hint=f"Write `config: {{{name}: …}}`.")


def _inputs(context: LoweringContext) -> dict[str, Any]:
    """Every input by its name."""
    return {name: f"{{{{{name}}}}}" for name in sorted(context.names)}


def _webhook(config: HookConfig, context: LoweringContext) -> tuple[str, dict[str, Any]]:
    if not config.url:
        _needs("url", "webhook", context)
    elif not config.url.lower().startswith(("http://", "https://", "{{")):
        hint = "Write it out, with http:// or https:// before the host."
        context.error("wrong_url", f"«{config.url}» is not an http or https address.", "url", hint=hint)
    if config.method.upper() not in _METHODS:
        hint = f"Known are: {', '.join(_METHODS)}."
        context.error("wrong_method", f"«{config.method[:40]}» is not a method of HTTP.", "method", hint=hint)
    context.warn_of_secrets(config.headers, "headers")
    context.warn_of_secrets(config.body, "body")
    usual = {"inputs": _inputs(context), "hook_type": "hook_node", "node_id": context.label}
    body = context.checked_literal(config.body) if config.body is not None else usual
    args: dict[str, Any] = {"method": config.method.upper(), "url": config.url, "body": body}
    if config.headers:
        args["headers"] = config.headers
    return "http", args | context.variables(args)


def _python(config: HookConfig, context: LoweringContext) -> tuple[str, dict[str, Any]]:
    if not config.script.strip():
        _needs("script", "python", context)
    is_file = "\n" not in config.script.strip() and config.script.strip().endswith(".py")
    code = context.file(config.script.strip(), "script", code_names) if is_file else config.script
    function = config.function_name or "hook"
    given = config.args if isinstance(config.args, dict) else {}
    known = {*context.names, *context.shared, *given, "default", "inputs", "input_data", "node_id"}
    check_script(code, known, PlaceReport(context.report, context.at("script"), context.label), function)
    args: dict[str, Any] = {"language": "python", "code": code, "function": function}
    if given:
        args |= {"inputs": context.checked_literal(given), "render": True}
    return "code", args | context.variables(given)


def _file(config: HookConfig, context: LoweringContext) -> tuple[str, dict[str, Any]]:
    if not config.file_path:
        _needs("file_path", "file", context)
    else:
        context.check_inside(config.file_path, "file_path")
    content = {"inputs": _inputs(context), "node_id": context.label}
    args: dict[str, Any] = {
        "operation": "write", "file": config.file_path, "format": config.format, "content": content, "render": True,
    }  # fmt: skip
    return "file", args | context.variables(config.file_path)


def _shell(config: HookConfig, context: LoweringContext) -> tuple[str, dict[str, Any]]:
    """A program and its arguments; each stays one argument, whatever is filled into it."""
    words = _words(config.command, context)
    if not words:
        _needs("command", "shell", context)
    elif "{{" in words[0]:
        hint = "Write the program's name; its arguments may be filled in."
        context.error("hook_command", "A hook names its program itself.", "command", hint=hint)
    if isinstance(config.args, dict):
        hint = "Write a list: `args: [one, two]`."
        context.error("hook_command", "The arguments of a program have no names.", "args", hint=hint)
    more = [str(word) for word in config.args] if isinstance(config.args, list) else []
    args: dict[str, Any] = {"command": [*words, *more]}
    return "command", args | context.variables(args)


def _words(command: str | list[str], context: LoweringContext) -> list[str]:
    if isinstance(command, list):
        return command
    if _SHELL.search(re.sub(r"\{\{[^{}]*\}\}", "", command)):
        hint = "Put the steps into a script, and name that: `command: tools/report.sh`."
        message = "There is no shell: a command is a program and its arguments, without pipes and redirections."
        context.error("hook_command", message, "command", hint=hint)
        return ["-"]
    try:
        return shlex.split(command)
    except ValueError as error:
        hint = "Close the quotes, or write the command as a list."
        context.error("hook_command", f"The command cannot be read: {error}.", "command", hint=hint)
        return ["-"]


def _subscription(f: HookFields, asked: SubscribeFields, context: LoweringContext) -> Node:
    """Waits for `webhook.PROVIDER.EVENT`; when none comes in time, the hook says so and the run goes on."""
    name = ".".join(word for word in ("webhook", asked.provider, asked.event_name) if word)
    filters = context.checked_literal(asked.filters) or None
    late = {
        "status": "timeout", "provider": asked.provider,
        "message": f"No matching event came within {asked.timeout:g} seconds",
    }  # fmt: skip
    triggers = (
        Trigger(
            kind="signal", name=name, filter=filters, match="fn.matches_filter(event, filter)" if filters else None
        ),
        Trigger(kind="timer", after_ms=milliseconds(asked.timeout), action="value", value=late),
    )
    parts = {part: value for part, value in work_parts(f).items() if part in ("max_iter", "on_error")}
    return net_node(f, context, kind="wait", triggers=triggers, **parts)


HOOK = NodeType("hook", HookFields, lower, "Calls something outside, or waits for its event.", open=True)
