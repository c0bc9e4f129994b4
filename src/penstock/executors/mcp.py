"""mcp: one operation of a registered MCP server: a tool, a resource or a prompt (MCP nodes)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from penstock.executors.contract import Done, Failed, Outcome, Request, Services, Skipped, failed
from penstock.executors.parts.connections import tenant_of, tenant_secrets
from penstock.executors.parts.exceptions import scrub_failure
from penstock.executors.parts.extras import extra_missing
from penstock.executors.parts.json_values import NotJson, json_value
from penstock.executors.parts.mcp.calls import CALLS, TIMEOUT_MS, connect, mcp_failure, registered_server
from penstock.executors.parts.network.http_call import CallRefused
from penstock.executors.parts.node_output import finish_output
from penstock.executors.parts.secrets import SecretMissing
from penstock.executors.parts.threads import in_thread

OPERATIONS = ("tool", "resource", "prompt")
FALLBACKS = ("fail", "skip", "default_value", "alternative_server")
_VERSION = re.compile(r"(\d+)(?:\.(\d+))?(?:\.(\d+))?(-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?\Z", re.ASCII)


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
        outcome = await _call_server(wanted.get("id"), wanted.get("version"), args, request, services)
        if not isinstance(outcome, Failed) or not isinstance(fallback, Mapping):
            return outcome
        on_error = fallback.get("on_error") or "fail"
        if on_error == "alternative_server":
            other = fallback.get("alternative_server")
            second = await _call_server(other, wanted.get("version"), args, request, services)
            return _fallback_outcome(second, outcome, str(other))
        if not _is_last_attempt(args, fallback, request):
            return outcome
        if on_error == "skip":
            return Skipped("fallback")
        if on_error == "default_value":
            about = {"_fallback": True, "error": outcome.failure.code, "message": outcome.failure.message}
            return Done(fallback.get("default"), about)
        return outcome


def _is_last_attempt(args: Mapping[str, Any], fallback: Mapping[str, Any], request: Request) -> bool:
    most = fallback.get("max_attempts")
    if isinstance(most, int) and not isinstance(most, bool):
        return request.attempt >= most
    return bool(fallback.get("apply", "retries_left" not in args))


def _fallback_outcome(second: Outcome, first: Failed, server: str) -> Outcome:
    why = {"error": first.failure.code, "message": first.failure.message}
    if isinstance(second, Done):
        return Done(
            second.body, {**(second.meta or {}), "_fallback": True, "server": server, **why}, second.content_type
        )
    if isinstance(second, Failed):
        detail = {"server": server, "first": why, "detail": second.failure.detail}
        return failed(second.failure.code, second.failure.category, second.failure.message, detail)
    return second


async def _call_server(id: Any, version: Any, args: Mapping[str, Any], request: Request, services: Services) -> Outcome:
    secrets = tenant_secrets(request, services)
    try:
        await in_thread(import_module, "mcp")  # takes a second, which the loop does not have
    except ImportError:
        return extra_missing("MCP servers need", "mcp")
    try:
        tenant = tenant_of(request, services)
        kind, name, arguments = _operation(secrets.fill_marked(args.get("operation"), request.mark))
        body = registered_server(tenant, id)
        if body.get("version"):  # before anything is started
            _require_version(version, body["version"], str(id))
        async with asyncio.timeout((request.timeout_ms or TIMEOUT_MS) / 1000):
            async with connect(body, str(id), request, services, secrets) as client:
                if not body.get("version"):
                    server_info = client.server_info
                    _require_version(version, server_info.version if server_info else None, str(id))
                result = await CALLS[kind](client, name, arguments, request.key)
        return await finish_output(request, secrets.scrub(json_value(result)), {"server": str(id)})
    except SecretMissing as error:
        return failed("SECRET_NOT_FOUND", "authorization", str(error))
    except NotJson as error:
        return failed("MCP_ERROR", "external", f"«{id}» answered no value that JSON can hold: {error}.")
    except Exception as error:  # the SDK raises groups of whatever its tasks have met
        return scrub_failure(mcp_failure(error, str(id)), secrets)


def _operation(given: Any) -> tuple[str, str, dict[str, Any]]:
    operation = given if isinstance(given, Mapping) else {}
    kind, name, arguments = operation.get("type"), operation.get("name"), operation.get("arguments")
    if kind not in OPERATIONS:
        raise CallRefused("INPUT_INVALID", "validation", f"«operation.type» must be one of {', '.join(OPERATIONS)}.")
    if not isinstance(name, str) or not name:
        raise CallRefused("INPUT_INVALID", "validation", "«operation.name» must be a text.")
    if arguments is not None and not isinstance(arguments, Mapping):
        raise CallRefused("INPUT_INVALID", "validation", "«operation.arguments» must be an object.")
    return str(kind), name, dict(arguments or {})


def _require_version(wanted: Any, declared: Any, id: str) -> None:
    """The same major version, and none newer than the server's (C-54). No version asked for fits every server."""
    if wanted in (None, ""):
        return
    asked, has = _version_parts(wanted), _version_parts(declared)
    if asked is None:
        raise CallRefused("MCP_VERSION", "permanent", f"«{str(wanted)[:40]}» is no version such as 1.0.0.")
    if has is None:
        raise CallRefused(
            "MCP_VERSION", "permanent", f"The version of «{id}» is not known; register it with its version."
        )
    if asked[0] != has[0] or asked > has:
        message = f"Version {wanted} of «{id}» is asked for, but it is {declared}: the major version must be the same"
        raise CallRefused("MCP_VERSION", "permanent", f"{message} and the server's no older.")


def _version_parts(version: Any) -> tuple[int, int, int, bool] | None:
    match = _VERSION.match(str(version)) if isinstance(version, str | int | float) else None
    return (int(match[1]), int(match[2] or 0), int(match[3] or 0), match[4] is None) if match else None
