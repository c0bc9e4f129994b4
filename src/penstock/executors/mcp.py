"""mcp: one operation of a registered MCP server: a tool, a resource or a prompt (MCP nodes)."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from importlib import import_module
from typing import Any
from urllib.parse import quote

import httpx2
import msgspec

from penstock.executors.contract import Done, Failed, Outcome, Request, Services, Skipped, Tenant, failed
from penstock.executors.parts.addresses import reach_of
from penstock.executors.parts.connections import tenant_of
from penstock.executors.parts.finish import finish
from penstock.executors.parts.outbound import Refused
from penstock.executors.parts.raised import scrubbed
from penstock.executors.parts.secret import SecretMissing, Secrets
from penstock.executors.parts.threads import in_thread
from penstock.executors.parts.values import NotPlain, as_text, plain

TIMEOUT_MS = 30_000
OPERATIONS = ("tool", "resource", "prompt")
FALLBACKS = ("fail", "skip", "default_value", "alternative_server")
_VERSION = re.compile(r"(\d+)(?:\.(\d+))?(?:\.(\d+))?(-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?\Z", re.ASCII)

_LOADS = re.compile(
    r"(LD_|DYLD_|PYTHON|NODE_|NPM_|UV_|PIP_|RUBY|PERL|JAVA|_JAVA|JDK_|CLASSPATH|BASH|GIT_|GCONV|DOTNET_|CORECLR|DENO_"
    r"|BUN_|PATH\Z|ENV\Z|IFS\Z|SHELL\Z|HOME\Z|XDG_|TMPDIR\Z|LUA|PHP|GLIBC|MALLOC|OPENSSL|SSL)", re.IGNORECASE,
)  # fmt: skip


class McpExecutor:
    """args: server {id, version}, operation {type: tool, resource or prompt, name, arguments}, fallback.

    A registered server is {transport: stdio, command, env, secret} or {transport: http, url, secret}, with its version.
    The secret is the bearer of HTTP requests; a process gets it as MCP_SECRET (or what `secret_env` says). A process
    sees no other environment than its `env`, in which ${secrets.NAME} is filled, and is started for each call.

    A tool answers its structured content, else its text as JSON, else its text. A resource's name is its URI, in which
    {name} stands for an argument. `alternative_server` is asked in the same attempt; skip and default_value hold when
    the last attempt has failed: with `fallback.max_attempts` in that one, with `retries_left` only if `fallback.apply`.
    """

    name = "mcp"

    async def run(self, request: Request, services: Services) -> Outcome:
        args: Mapping[str, Any] = request.args if isinstance(request.args, Mapping) else {}
        server = args.get("server")
        wanted = server if isinstance(server, Mapping) else {"id": server}
        fallback = args.get("fallback") if isinstance(args.get("fallback"), Mapping) else {}
        outcome = await _asked(wanted.get("id"), wanted.get("version"), args, request, services)
        if not isinstance(outcome, Failed) or not isinstance(fallback, Mapping):
            return outcome
        on_error = fallback.get("on_error") or "fail"
        if on_error == "alternative_server":
            other = fallback.get("alternative_server")
            second = await _asked(other, wanted.get("version"), args, request, services)
            return _instead(second, outcome, str(other))
        if not _last(args, fallback, request):
            return outcome
        if on_error == "skip":
            return Skipped("fallback")
        if on_error == "default_value":
            about = {"_fallback": True, "error": outcome.failure.code, "message": outcome.failure.message}
            return Done(fallback.get("default"), about)
        return outcome


def _last(args: Mapping[str, Any], fallback: Mapping[str, Any], request: Request) -> bool:
    most = fallback.get("max_attempts")
    if isinstance(most, int) and not isinstance(most, bool):
        return request.attempt >= most
    return bool(fallback.get("apply", "retries_left" not in args))


def _instead(second: Outcome, first: Failed, server: str) -> Outcome:
    why = {"error": first.failure.code, "message": first.failure.message}
    if isinstance(second, Done):
        return Done(
            second.body, {**(second.meta or {}), "_fallback": True, "server": server, **why}, second.content_type
        )
    if isinstance(second, Failed):
        detail = {"server": server, "first": why, "detail": second.failure.detail}
        return failed(second.failure.code, second.failure.category, second.failure.message, detail)
    return second


async def _asked(id: Any, version: Any, args: Mapping[str, Any], request: Request, services: Services) -> Outcome:
    secrets = Secrets(None)
    try:
        await in_thread(import_module, "mcp")  # takes a second, which the loop does not have
    except ImportError:
        message = "MCP servers need the extra «mcp»: pip install 'penstock[mcp]'."
        return failed("EXTRA_MISSING", "permanent", message, {"extra": "mcp"})
    try:
        tenant = tenant_of(request, services)
        secrets = Secrets(tenant.secret)
        kind, name, arguments = _operation(secrets.fill_marked(args.get("operation"), request.mark))
        body = _registered(tenant, id)
        if body.get("version"):  # before anything is started
            _fits(version, body["version"], str(id))
        async with asyncio.timeout((request.timeout_ms or TIMEOUT_MS) / 1000):
            async with _connected(body, str(id), request, services, secrets) as client:
                if not body.get("version"):
                    told = client.server_info
                    _fits(version, told.version if told else None, str(id))
                found = await _CALLS[kind](client, name, arguments, request.key)
        return await finish(request, secrets.scrub(plain(found)), {"server": str(id)})
    except SecretMissing as error:
        return failed("SECRET_NOT_FOUND", "authorization", str(error))
    except NotPlain as error:
        return failed("MCP_ERROR", "external", f"«{id}» answered no value that JSON can hold: {error}.")
    except Exception as error:  # the SDK raises groups of whatever its tasks have met
        return scrubbed(_failure(error, str(id)), secrets)


def _registered(tenant: Tenant, id: Any) -> Mapping[str, Any]:
    body = tenant.find("mcp_server", id) if isinstance(id, str) else None
    if body is None:
        raise Refused("CONNECTION_NOT_FOUND", "validation", f"There is no MCP server «{str(id)[:80]}».")
    return body


def _operation(given: Any) -> tuple[str, str, dict[str, Any]]:
    operation = given if isinstance(given, Mapping) else {}
    kind, name, arguments = operation.get("type"), operation.get("name"), operation.get("arguments")
    if kind not in OPERATIONS:
        raise Refused("INPUT_INVALID", "validation", f"«operation.type» must be one of {', '.join(OPERATIONS)}.")
    if not isinstance(name, str) or not name:
        raise Refused("INPUT_INVALID", "validation", "«operation.name» must be a text.")
    if arguments is not None and not isinstance(arguments, Mapping):
        raise Refused("INPUT_INVALID", "validation", "«operation.arguments» must be an object.")
    return str(kind), name, dict(arguments or {})


def _fits(wanted: Any, declared: Any, id: str) -> None:
    """The same major version, and none newer than the server's (C-54). No version asked for fits every server."""
    if wanted in (None, ""):
        return
    asked, has = _parts(wanted), _parts(declared)
    if asked is None:
        raise Refused("MCP_VERSION", "permanent", f"«{str(wanted)[:40]}» is no version such as 1.0.0.")
    if has is None:
        raise Refused("MCP_VERSION", "permanent", f"The version of «{id}» is not known; register it with its version.")
    if asked[0] != has[0] or asked > has:
        message = f"Version {wanted} of «{id}» is asked for, but it is {declared}: the major version must be the same"
        raise Refused("MCP_VERSION", "permanent", f"{message} and the server's no older.")


def _parts(version: Any) -> tuple[int, int, int, bool] | None:
    found = _VERSION.match(str(version)) if isinstance(version, str | int | float) else None
    return (int(found[1]), int(found[2] or 0), int(found[3] or 0), found[4] is None) if found else None


@contextlib.asynccontextmanager
async def _connected(
    body: Mapping[str, Any], id: str, request: Request, services: Services, secrets: Secrets
) -> AsyncIterator[Any]:
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    from penstock.executors.parts.mcp_wire import http_client, spoken_to

    secret = secrets.get(str(body["secret"])) if body.get("secret") else None
    if (body.get("transport") or "http") == "stdio":
        command = _command(body, id, services)
        env = _environment(body, id, secret, secrets, services.fence.shared)
        async with Client(spoken_to(command, env)) as client:
            yield client
        return
    headers = {"Idempotency-Key": request.key}
    if secret is not None:
        headers["Authorization"] = f"Bearer {secret}"
    url = str(body.get("url") or "")
    if not url.startswith(("http://", "https://")):
        raise Refused("HTTP_URL", "validation", f"The MCP server «{id}» must have a url or the transport stdio.")
    reach = reach_of(services.settings, request.tenant)
    timeout_s = (request.timeout_ms or TIMEOUT_MS) / 1000
    async with http_client(reach, headers, timeout_s, services.settings.get("http.ca_file")) as http:
        async with Client(streamable_http_client(url, http_client=http)) as client:
            yield client


def _command(body: Mapping[str, Any], id: str, services: Services) -> list[str]:
    command = body.get("command")
    if isinstance(command, str):
        command = [command]
    if not isinstance(command, list | tuple) or not command or not all(isinstance(part, str) for part in command):
        raise Refused("INPUT_INVALID", "validation", f"The command of «{id}» must be a list of texts.")
    allowed = services.settings.get("mcp.commands")
    lines = [allowed] if isinstance(allowed, str) else allowed
    if lines is not None and not any(_is(command, line) for line in lines):
        raise Refused("MCP_COMMAND", "authorization", f"The command of «{id}» does not stand in «mcp.commands».")
    return list(command)


def _is(command: list[str] | tuple[str, ...], line: Any) -> bool:
    """A text allows a program with whatever arguments, a list these and no others."""
    return list(command) == list(line) if isinstance(line, list | tuple) else command[0] == line


def _environment(
    body: Mapping[str, Any], id: str, secret: str | None, secrets: Secrets, shared: bool
) -> dict[str, str]:
    given = body.get("env") if isinstance(body.get("env"), Mapping) else {}
    env = {str(name): secrets.fill(str(value)) for name, value in dict(given or {}).items()}
    if secret is not None:
        env[str(body.get("secret_env") or "MCP_SECRET")] = secret
    if shared and any(_LOADS.match(name) for name in env):  # they make another program of the one that is allowed
        raise Refused("MCP_COMMAND", "authorization", f"The environment of «{id}» says what a program is to load.")
    return env


# ---- operations (W-4.4.1) --------------------------------------------------------------------------------------------


async def _tool(client: Any, name: str, arguments: dict[str, Any], key: str) -> Any:
    result = await client.call_tool(name, arguments, meta={"idempotency_key": key})
    if result.is_error:
        said = " ".join(block.text for block in result.content if block.type == "text")
        raise Refused("MCP_ERROR", "external", f"The tool «{name}» failed: {said[:1000] or 'it does not say why'}")
    if result.structured_content is not None:
        return result.structured_content
    return _one([_block(block) for block in result.content])


async def _resource(client: Any, name: str, arguments: dict[str, Any], key: str) -> Any:
    uri = re.sub(r"\{(\w+)\}", lambda found: _filled(found[1], arguments), name)
    result = await client.read_resource(uri, meta={"idempotency_key": key}, cache_mode="bypass")
    return _one([_content(one) for one in result.contents])


async def _prompt(client: Any, name: str, arguments: dict[str, Any], key: str) -> Any:
    texts = {one: as_text(value) for one, value in arguments.items() if value is not None}
    result = await client.get_prompt(name, texts, meta={"idempotency_key": key})
    messages = [{"role": message.role, "content": _block(message.content, False)} for message in result.messages]
    return {"description": result.description, "messages": messages}


_CALLS: dict[str, Any] = {"tool": _tool, "resource": _resource, "prompt": _prompt}


def _filled(name: str, arguments: Mapping[str, Any]) -> str:
    if name not in arguments:
        raise Refused("INPUT_INVALID", "validation", f"The resource asks for the argument «{name}».")
    return quote(as_text(arguments[name]), safe="")


def _one(found: list[Any]) -> Any:
    return found[0] if len(found) == 1 else found or None


def _block(block: Any, parsed: bool = True) -> Any:
    if block.type == "text":
        return _parsed(block.text) if parsed else block.text
    return block.model_dump(mode="json", by_alias=True, exclude_none=True)


def _content(content: Any) -> Any:
    text = getattr(content, "text", None)
    if isinstance(text, str):
        return _parsed(text)
    return {"uri": str(content.uri), "mime_type": content.mime_type, "data": content.blob}


def _parsed(text: str) -> Any:
    try:
        return plain(msgspec.json.decode(text))
    except (msgspec.DecodeError, NotPlain, RecursionError):
        return text


def _failure(error: BaseException, id: str) -> Failed:
    """The most telling of what went wrong."""
    from mcp.shared.exceptions import MCPError

    every = list(_leaves(error))
    for one in every:
        if isinstance(one, Refused):
            return failed(one.code, one.category, str(one))
    for one in every:
        if isinstance(one, MCPError):
            return failed("MCP_ERROR", "external", f"«{id}» answers: {one.message[:1000]}", {"code": one.code})
    for one in every:
        if isinstance(one, TimeoutError | httpx2.TimeoutException):
            return failed("NODE_TIMEOUT", "timeout", f"«{id}» did not answer in time.")
        if isinstance(one, FileNotFoundError | PermissionError):
            return failed("MCP_ERROR", "external", f"The command of «{id}» cannot be started.")
    for one in every:
        if isinstance(one, OSError | httpx2.TransportError):
            return failed("CONNECTION_LOST", "transient", f"«{id}» cannot be reached ({type(one).__name__}).")
    said = f"{type(every[0]).__name__}: {every[0]}"[:500] if every else type(error).__name__
    return failed("MCP_ERROR", "external", f"The call to «{id}» failed: {said}")


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _leaves(one)
    else:
        yield error
        if error.__cause__ is not None:
            yield from _leaves(error.__cause__)
