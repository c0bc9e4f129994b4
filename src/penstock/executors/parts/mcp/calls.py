"""Calls to a registered MCP server over stdio or streamable HTTP, with the tenant's secrets and its limits."""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any
from urllib.parse import quote

import httpx2
import msgspec

from penstock.executors.contract import Failed, Request, Services, Tenant, failed
from penstock.executors.parts.json_values import NotJson, as_text, json_value
from penstock.executors.parts.network.egress_policy import egress_policy_of
from penstock.executors.parts.network.http_call import CallRefused
from penstock.executors.parts.secrets import Secrets

TIMEOUT_MS = 30_000
_LOADS = re.compile(
    r"(LD_|DYLD_|PYTHON|NODE_|NPM_|UV_|PIP_|RUBY|PERL|JAVA|_JAVA|JDK_|CLASSPATH|BASH|GIT_|GCONV|DOTNET_|CORECLR|DENO_"
    r"|BUN_|PATH\Z|ENV\Z|IFS\Z|SHELL\Z|HOME\Z|XDG_|TMPDIR\Z|LUA|PHP|GLIBC|MALLOC|OPENSSL|SSL)", re.IGNORECASE,
)  # fmt: skip


def registered_server(tenant: Tenant, id: Any) -> Mapping[str, Any]:
    body = tenant.find("mcp_server", id) if isinstance(id, str) else None
    if body is None:
        raise CallRefused("CONNECTION_NOT_FOUND", "validation", f"There is no MCP server «{str(id)[:80]}».")
    return body


@contextlib.asynccontextmanager
async def connect(
    body: Mapping[str, Any], id: str, request: Request, services: Services, secrets: Secrets
) -> AsyncIterator[Any]:
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    from penstock.executors.parts.mcp.transport import http_client, stdio_streams

    secret = secrets.get(str(body["secret"])) if body.get("secret") else None
    if (body.get("transport") or "http") == "stdio":
        command = _command(body, id, services)
        env = _environment(body, id, secret, secrets, services.path_policy.shared)
        async with Client(stdio_streams(command, env)) as client:
            yield client
        return
    headers = {"Idempotency-Key": request.key}
    if secret is not None:
        headers["Authorization"] = f"Bearer {secret}"
    url = str(body.get("url") or "")
    if not url.startswith(("http://", "https://")):
        raise CallRefused("HTTP_URL", "validation", f"The MCP server «{id}» must have a url or the transport stdio.")
    egress = egress_policy_of(services.settings, request.tenant)
    timeout_s = (request.timeout_ms or TIMEOUT_MS) / 1000
    async with http_client(egress, headers, timeout_s, services.settings.get("http.ca_file")) as http:
        async with Client(streamable_http_client(url, http_client=http)) as client:
            yield client


def _command(body: Mapping[str, Any], id: str, services: Services) -> list[str]:
    command = body.get("command")
    if isinstance(command, str):
        command = [command]
    if not isinstance(command, list | tuple) or not command or not all(isinstance(part, str) for part in command):
        raise CallRefused("INPUT_INVALID", "validation", f"The command of «{id}» must be a list of texts.")
    allowed = services.settings.get("mcp.commands")
    lines = [allowed] if isinstance(allowed, str) else allowed
    if lines is not None and not any(_is_allowed(command, line) for line in lines):
        raise CallRefused("MCP_COMMAND", "authorization", f"The command of «{id}» does not stand in «mcp.commands».")
    return list(command)


def _is_allowed(command: list[str] | tuple[str, ...], line: Any) -> bool:
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
        raise CallRefused("MCP_COMMAND", "authorization", f"The environment of «{id}» says what a program is to load.")
    return env


# ---- operations (W-4.4.1) --------------------------------------------------------------------------------------------


async def call_tool(client: Any, name: str, arguments: dict[str, Any], key: str) -> Any:
    result = await client.call_tool(name, arguments, meta={"idempotency_key": key})
    if result.is_error:
        reason = " ".join(block.text for block in result.content if block.type == "text")
        raise CallRefused(
            "MCP_ERROR", "external", f"The tool «{name}» failed: {reason[:1000] or 'it does not say why'}"
        )
    if result.structured_content is not None:
        return result.structured_content
    return _single([_block(block) for block in result.content])


async def read_resource(client: Any, name: str, arguments: dict[str, Any], key: str) -> Any:
    uri = re.sub(r"\{(\w+)\}", lambda match: _filled(match[1], arguments), name)
    result = await client.read_resource(uri, meta={"idempotency_key": key}, cache_mode="bypass")
    return _single([_content(content) for content in result.contents])


async def get_prompt(client: Any, name: str, arguments: dict[str, Any], key: str) -> Any:
    texts = {argument: as_text(value) for argument, value in arguments.items() if value is not None}
    result = await client.get_prompt(name, texts, meta={"idempotency_key": key})
    messages = [{"role": message.role, "content": _block(message.content, False)} for message in result.messages]
    return {"description": result.description, "messages": messages}


CALLS: dict[str, Any] = {"tool": call_tool, "resource": read_resource, "prompt": get_prompt}


def _filled(name: str, arguments: Mapping[str, Any]) -> str:
    if name not in arguments:
        raise CallRefused("INPUT_INVALID", "validation", f"The resource asks for the argument «{name}».")
    return quote(as_text(arguments[name]), safe="")


def _single(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values or None


def _block(block: Any, as_json: bool = True) -> Any:
    if block.type == "text":
        return json_or_text(block.text) if as_json else block.text
    return block.model_dump(mode="json", by_alias=True, exclude_none=True)


def _content(content: Any) -> Any:
    text = getattr(content, "text", None)
    if isinstance(text, str):
        return json_or_text(text)
    return {"uri": str(content.uri), "mime_type": content.mime_type, "data": content.blob}


def json_or_text(text: str) -> Any:
    try:
        return json_value(msgspec.json.decode(text))
    except (msgspec.DecodeError, NotJson, RecursionError):
        return text


def mcp_failure(error: BaseException, id: str) -> Failed:
    """The most telling of what went wrong."""
    from mcp.shared.exceptions import MCPError

    every = list(_leaves(error))
    for cause in every:
        if isinstance(cause, CallRefused):
            return failed(cause.code, cause.category, str(cause))
    for cause in every:
        if isinstance(cause, MCPError):
            return failed("MCP_ERROR", "external", f"«{id}» answers: {cause.message[:1000]}", {"code": cause.code})
    for cause in every:
        if isinstance(cause, TimeoutError | httpx2.TimeoutException):
            return failed("NODE_TIMEOUT", "timeout", f"«{id}» did not answer in time.")
        if isinstance(cause, FileNotFoundError | PermissionError):
            return failed("MCP_ERROR", "external", f"The command of «{id}» cannot be started.")
    for cause in every:
        if isinstance(cause, OSError | httpx2.TransportError):
            return failed("CONNECTION_LOST", "transient", f"«{id}» cannot be reached ({type(cause).__name__}).")
    reason = f"{type(every[0]).__name__}: {every[0]}"[:500] if every else type(error).__name__
    return failed("MCP_ERROR", "external", f"The call to «{id}» failed: {reason}")


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error
        if error.__cause__ is not None:
            yield from _leaves(error.__cause__)
