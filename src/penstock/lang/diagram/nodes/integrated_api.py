"""integrated_api: one operation of a known provider, such as `github` and `create_issue`.

It becomes one HTTP request. What the config brings into its path is one segment each, whatever it holds, and the key
stays a reference to a secret.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar

from msgspec import Meta

from penstock.lang.diagram.lowering_context import LoweringContext
from penstock.lang.diagram.nodes.contract import Fragment, NodeType, WorkFields, single_node, task_node
from penstock.lang.diagram.persons import SECRET_NAME, SECRET_REFERENCE
from penstock.lang.diagram.providers import PROVIDERS, RENAMED, Operation, Provider
from penstock.lang.report import did_you_mean
from penstock.net.model import Retry

#: providers of the original that are tools of its own machine, and what there is instead
_INSTEAD = {
    "mcp_filesystem": "Read and write files with db nodes.",
    "mcp_browser": "Fetch pages with an api_job; there is no browser.",
}
_ADDRESS = re.compile(r"(?P<scheme>https?)://(?P<host>\[[0-9a-f:.]+\]|[\w.-]+)(?::\d+)?(?:[/?#][^\\]*)?\Z", re.I)
_THIS_MACHINE = re.compile(r"localhost|\[::1\]|127(?:\.\d{1,3}){3}", re.I)
_PARAMETER = re.compile(r"\{([\w|]+)\}\Z")


class IntegratedApiFields(WorkFields):
    provider: Annotated[str, Meta(description=f"Whose service: {', '.join(PROVIDERS)}.")] = ""
    operation: Annotated[str, Meta(description="What is asked of it, such as create_issue.")] = ""
    config: Annotated[dict[str, Any], Meta(description="What the operation needs; {{name}} stands for an input.")] = {}
    resource_id: Annotated[str, Meta(description="The page, channel or issue, where the config does not name it.")] = ""
    api_key_id: Annotated[
        str,
        Meta(
            description="The name of the secret that holds the key; else PROVIDER_API_KEY, such as GITHUB_API_KEY. "
            "With a base_url it must be named."
        ),
    ] = ""
    api_key: Annotated[str, Meta(description="The same as a reference: ${secrets.NAME}.")] = ""
    base_url: Annotated[
        str, Meta(description="Where the service is, if not at its usual place: https, without {{name}}.")
    ] = ""
    max_retries: Annotated[
        Annotated[int, Meta(ge=0, le=1000)] | None, Meta(description="The same as `retry: {max: …}`.")
    ] = None

    REQUIRED: ClassVar[tuple[str, ...]] = ("provider", "operation")


def lower(f: IntegratedApiFields, context: LoweringContext) -> Fragment:
    provider = PROVIDERS.get(f.provider.lower())
    if provider is None:
        if f.provider:
            hint = _INSTEAD.get(f.provider) or did_you_mean(f.provider, PROVIDERS, f"Known: {', '.join(PROVIDERS)}.")
            context.error("unknown_provider", f"There is no provider «{f.provider}».", "provider", hint=hint)
        return single_node(task_node(f, context, "http", {}))
    operation = provider.operations.get(provider.aliases.get(f.operation, f.operation))
    if operation is None:
        if f.operation:
            known = [*provider.operations, *provider.aliases]
            hint = did_you_mean(f.operation, known, f"Known: {', '.join(provider.operations)}.")
            message = f"«{f.provider}» has no operation «{f.operation}»."
            context.error("unknown_operation", message, "operation", hint=hint)
        return single_node(task_node(f, context, "http", {}))
    context.checked_literal(f.config)
    context.warn_of_secrets(f.config, "config")
    args = _request(f, provider, operation, context)
    args |= context.variables(args)
    parts = {"retry": Retry(max=f.max_retries, kind="exponential")} if f.max_retries and f.retry is None else {}
    return single_node(task_node(f, context, "http", args, **parts))


def _request(
    f: IntegratedApiFields, provider: Provider, operation: Operation, context: LoweringContext
) -> dict[str, Any]:
    config = {RENAMED.get((f.provider.lower(), name), name): value for name, value in f.config.items()}
    if operation.path == ("pages",) and "database_id" in config:
        config["parent"] = {"database_id": config.pop("database_id")}
    path = [_segment(part, config, f, context) for part in operation.path]
    _check_config(config, operation, context)
    base = f.base_url or provider.base_url
    _check_address(f, base, context)
    body = {**operation.fixed, **{name: config[name] for name in operation.body if name in config}}
    query = {**operation.fixed, **{name: config[name] for name in operation.query if name in config}}
    args: dict[str, Any] = {"method": operation.method, "url": base.rstrip("/"), "path": path}
    if operation.method == "GET":
        args["params"] = {name: ",".join(map(str, v)) if isinstance(v, list) else v for name, v in query.items()}
    elif body:
        args["body"] = {operation.wrap: [body]} if operation.wrap else body
    if provider.holds:
        args["holds"] = provider.holds
    if f.timeout is not None:
        args["timeout"] = f.timeout
    _add_key(args, f, provider, config, context)
    return args


def _check_address(f: IntegratedApiFields, base: str, context: LoweringContext) -> None:
    """The document says where the key goes, and it goes there encrypted, or stays on this machine."""
    address = _ADDRESS.match(base)
    if "{{" in base:
        message = "«base_url» cannot be filled in: a value would choose the host that is called."
        hint = "Write the host out; what the config brings may be filled in."
        context.error("address_outside", message, "base_url", hint=hint)
    elif address is None:
        hint = "Write `base_url: https://your-site.example`."
        context.error("wrong_url", f"«{f.provider}» needs the address of your site.", "base_url", hint=hint)
    elif address["scheme"].lower() == "http" and not _THIS_MACHINE.fullmatch(address["host"]):
        message = f"«{base}» is not encrypted: who listens would have the key and the data."
        context.error("insecure_url", message, "base_url", hint="Write https:// before the host.")


def _segment(part: str, config: dict[str, Any], f: IntegratedApiFields, context: LoweringContext) -> str:
    """A segment of the path: itself, or what the config or `resource_id` says."""
    parameter = _PARAMETER.match(part)
    if parameter is None:
        return part
    names = parameter[1].split("|")
    value = config.get(names[0], f.resource_id if "resource_id" in names else None)
    if value in (None, ""):
        other = " or «resource_id»" if "resource_id" in names else ""
        hint = f"Write `config: {{{names[0]}: …}}`."
        context.error("missing_field", f"«{f.operation}» needs «{names[0]}»{other}.", "config", hint=hint)
    return str(value)


def _check_config(config: dict[str, Any], operation: Operation, context: LoweringContext) -> None:
    in_path = {name for part in operation.path if (found := _PARAMETER.match(part)) for name in found[1].split("|")}
    known = {*operation.query, *operation.body, *in_path, "email"}
    for name in operation.required:
        if config.get(name) in (None, "") and name not in in_path:
            context.error(
                "missing_field", f"«config» needs «{name}».", "config", hint=f"Write `config: {{{name}: …}}`."
            )
    for name in config:
        if name not in known:
            hint = did_you_mean(name, known, "Correct its name, or remove it.")
            context.error("unknown_field", f"The operation does not read «{name}» of «config».", "config", hint=hint)


def _add_key(
    args: dict[str, Any], f: IntegratedApiFields, provider: Provider, config: dict[str, Any], context: LoweringContext
) -> None:
    """The key as a reference, and the headers that the provider wants."""
    headers = dict(provider.headers)
    if provider.auth:
        name = f.api_key_id or f"{f.provider.upper()}_API_KEY"
        elsewhere = f.base_url.rstrip("/") not in ("", provider.base_url)
        if elsewhere and not f.api_key_id and not f.api_key:
            message = (
                f"«{f.provider}» at an address of your own needs «api_key_id»: the usual key is for the usual place."
            )
            context.error("missing_field", message, "base_url", hint=f"Name the secret: `api_key_id: {name}`.")
            return
        if f.api_key and not SECRET_REFERENCE.fullmatch(f.api_key):
            hint = "Write a reference: `api_key: ${secrets.NAME}`."
            context.error("hardcoded_secret", "The key is written out.", "api_key", hint=hint)
            return
        if not SECRET_NAME.fullmatch(name):
            hint = "Write the name only, such as GITHUB_API_KEY; the key itself stays with the host."
            context.error("wrong_type", "«api_key_id» is the name of a secret.", "api_key_id", hint=hint)
            return
        key = f.api_key or f"${{secrets.{name}}}"
        if provider.auth == "basic":
            args |= {"auth_type": "basic", "auth_config": {"username": config.get("email", ""), "password": key}}
        elif provider.auth.startswith("query:"):
            args.setdefault("params", {})[provider.auth.removeprefix("query:")] = key
        else:
            headers["Authorization"] = provider.auth.replace("{key}", key)
    if headers:
        args["headers"] = headers


INTEGRATED_API = NodeType("integrated_api", IntegratedApiFields, lower, "Does one operation of a known service.")
