"""Tools by name, for agents and for compensation (P-X.3): the caller's own functions, registered HTTP tools, MCP tools.

A name is looked up in this order: a function that the program has registered, a tool that the tenant has registered,
`server/tool` of a registered MCP server, and at last the one MCP server that has a tool of that name.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

import msgspec

from penstock.executors.contract import Done, Failed, Request, Services, Tenant, failed
from penstock.executors.parts.connections import tenant_of
from penstock.executors.parts.exceptions import scrub_failure
from penstock.executors.parts.extras import extra_missing
from penstock.executors.parts.json_values import NotJson, json_value
from penstock.executors.parts.mcp.calls import call_tool, connect, json_or_text, mcp_failure, registered_server
from penstock.executors.parts.network.egress_policy import egress_policy_of
from penstock.executors.parts.network.http_call import HttpCall
from penstock.executors.parts.network.http_client import send
from penstock.executors.parts.network.http_failures import CALL_ERRORS, call_failure
from penstock.executors.parts.network.http_failures import status_failure as http_failure
from penstock.executors.parts.secrets import SecretMissing, Secrets
from penstock.executors.parts.threads import in_thread

TIMEOUT_MS = 30_000
#: seconds that each MCP server has to say which tools it has, when a tool is looked for by its bare name
_SEARCH_S = 8.0
_ANY = {"type": "object", "additionalProperties": True}


class ToolFailed(Exception):
    """A tool gave no result; `outcome` says why."""

    def __init__(self, outcome: Failed) -> None:
        self.outcome = outcome
        super().__init__(outcome.failure.message)


class Tool(msgspec.Struct, frozen=True):
    """`call` takes the arguments and the key of this one call; it raises ToolFailed."""

    name: str
    description: str
    schema: Mapping[str, Any]
    call: Callable[[dict[str, Any], str], Awaitable[Any]]


class Toolbox:
    """The tools of one attempt. Connections to MCP servers stay open until it is closed, by the task that opened it."""

    def __init__(self, request: Request, services: Services) -> None:
        self.request, self.services = request, services
        self.tenant: Tenant | None = services.tenant(request.tenant) if services.tenant is not None else None
        self.secrets = Secrets(self.tenant.secret if self.tenant is not None else None)
        self._open = contextlib.AsyncExitStack()
        self._clients: dict[str, Any] = {}
        self._called: dict[str, int] = {}

    async def __aenter__(self) -> Toolbox:
        return self

    async def __aexit__(self, *raised: Any) -> None:
        with contextlib.suppress(Exception):  # an answer that is there is not lost because a server ends badly
            await self._open.aclose()

    async def find(self, name: str) -> Tool:
        """Raises ToolFailed where nobody has it, or where two MCP servers have."""
        if f"tool:{name}" in self.services.executors:
            return self._program_tool(name)
        body = self.tenant.find("tool", name) if self.tenant is not None else None
        if body is not None:
            if body.get("type") == "mcp":
                await self._ensure_connected(str(body.get("server") or ""))
            return self._registered_tool(name, body)
        server, slash, inner = name.partition("/")
        if slash and self.tenant is not None and self.tenant.find("mcp_server", server) is not None:
            return await self._server_tool(server, inner, name)
        having, away = await self._search_servers(name)
        if len(having) == 1:
            return having[0]
        if having:
            names = ", ".join(tool.name for tool in having)
            raise ToolFailed(failed("TOOL_AMBIGUOUS", "validation", f"«{name[:80]}» may be one of {names[:300]}."))
        if away:  # it may be there again later, so this is not for ever
            message = f"No MCP server that answers has a tool «{name[:80]}»; {', '.join(away)[:300]} did not answer."
            raise ToolFailed(failed("CONNECTION_LOST", "transient", message))
        raise ToolFailed(failed("TOOL_NOT_FOUND", "validation", f"There is no tool «{name[:80]}»."))

    async def _search_servers(self, name: str) -> tuple[list[Tool], list[str]]:
        """Who has a tool of this bare name, and which servers cannot be asked: one that is down hides no other's."""
        having: list[Tool] = []
        away: list[str] = []
        for id in self._servers():
            try:
                async with asyncio.timeout(_SEARCH_S):
                    having += [tool for tool in await self._list_tools(id) if tool.name == f"{id}/{name}"]
            except (ToolFailed, TimeoutError):
                away.append(id)
        return having, away

    async def allowed(self, names: list[str]) -> list[Tool]:
        """The tools of an allow-list; `server/*` stands for all of a server's. Their servers are reached already."""
        tools = await self.by_name(names)
        return list({tool.name: tool for tool in tools.values()}.values())

    async def by_name(self, names: list[str]) -> dict[str, Tool]:
        """The same under the names by which they were asked for, and under their own."""
        tools: dict[str, Tool] = {}
        for name in names:
            if name.endswith("/*"):
                tools |= {tool.name: tool for tool in await self._list_tools(name[:-2])}
            else:
                tool = await self.find(name)
                tools |= {name: tool, tool.name: tool}
        return tools

    def key(self, name: str, arguments: Mapping[str, Any]) -> str:
        """The key of one call. A later attempt that calls the same has the same; no other call ever has it."""
        content = name.encode() + b"\0" + msgspec.json.encode(arguments, order="sorted")
        call = hashlib.sha256(content).hexdigest()[:16]
        self._called[call] = self._called.get(call, 0) + 1
        return f"{self.request.key}#{call}.{self._called[call]}"

    # -- where tools come from -----------------------------------------------------------------------------------------

    def _servers(self) -> list[str]:
        return sorted(self.tenant.each("mcp_server")) if self.tenant is not None else []

    def _program_tool(self, name: str) -> Tool:
        executor = self.services.executors[f"tool:{name}"]

        async def call(arguments: dict[str, Any], key: str) -> Any:
            asked = msgspec.structs.replace(self.request, args=arguments, inputs=(), key=key, executor=f"tool:{name}")
            outcome = await executor.run(asked, self.services)
            if isinstance(outcome, Failed):
                raise ToolFailed(outcome)
            return outcome.body if isinstance(outcome, Done) else None

        return Tool(name, str(getattr(executor, "description", "")), getattr(executor, "schema", _ANY), call)

    def _registered_tool(self, name: str, body: Mapping[str, Any]) -> Tool:
        schema = body.get("parameters") if isinstance(body.get("parameters"), Mapping) else _ANY
        about = str(body.get("description") or "")
        if body.get("type") == "mcp":
            server, inner = str(body.get("server") or ""), str(body.get("tool") or name)

            async def through(arguments: dict[str, Any], key: str) -> Any:
                return await self._call_mcp(server, inner, arguments, key)

            return Tool(name, about, schema or _ANY, through)

        async def call(arguments: dict[str, Any], key: str) -> Any:
            if body.get("type") == "outbox" and self.tenant is not None:  # a stand-in, kept for people to look at
                self.tenant.keep(key, "tool", f"outbox:{name}", json_value(arguments), self.request.run)
                return body.get("reply")
            return await self._call_http(name, body, arguments, key)

        return Tool(name, about, schema or _ANY, call)

    async def _server_tool(self, server: str, inner: str, name: str) -> Tool:
        for tool in await self._list_tools(server):
            if tool.name == name:
                return tool
        raise ToolFailed(failed("TOOL_NOT_FOUND", "validation", f"«{server[:80]}» has no tool «{inner[:80]}»."))

    async def _list_tools(self, server: str) -> list[Tool]:
        with self._as_tool_failure(server):
            listing = await (await self._client(server)).list_tools()
        return [self._mcp_tool(server, tool) for tool in listing.tools]

    async def _ensure_connected(self, server: str) -> None:
        with self._as_tool_failure(server):
            await self._client(server)

    def _mcp_tool(self, server: str, tool: Any) -> Tool:
        async def call(arguments: dict[str, Any], key: str) -> Any:
            return await self._call_mcp(server, tool.name, arguments, key)

        return Tool(f"{server}/{tool.name}", tool.description or "", tool.input_schema or _ANY, call)

    # -- calls ---------------------------------------------------------------------------------------------------------

    async def _client(self, server: str) -> Any:
        if server not in self._clients:
            try:
                await in_thread(import_module, "mcp")  # takes a second, which the loop does not have
            except ImportError:
                raise ToolFailed(extra_missing("MCP servers need", "mcp")) from None
            body = registered_server(tenant_of(self.request, self.services), server)
            opening = connect(body, server, self.request, self.services, self.secrets)
            self._clients[server] = await self._open.enter_async_context(opening)
        return self._clients[server]

    async def _call_mcp(self, server: str, name: str, arguments: dict[str, Any], key: str) -> Any:
        with self._as_tool_failure(server):
            client = await self._client(server)
            return self.secrets.scrub(json_value(await call_tool(client, name, arguments, key)))

    @contextlib.contextmanager
    def _as_tool_failure(self, server: str) -> Iterator[None]:
        """Whatever goes wrong with a server is a ToolFailed that says so."""
        try:
            yield
        except ToolFailed:
            raise
        except SecretMissing as error:
            raise ToolFailed(failed("SECRET_NOT_FOUND", "authorization", str(error))) from None
        except Exception as error:  # the SDK raises groups of whatever its tasks have met
            raise ToolFailed(scrub_failure(mcp_failure(error, server), self.secrets)) from None

    async def _call_http(self, name: str, body: Mapping[str, Any], arguments: dict[str, Any], key: str) -> Any:
        settings = self.services.settings
        try:
            headers = [("Content-Type", "application/json"), ("Idempotency-Key", key)]
            if body.get("secret"):
                headers.append(("Authorization", f"Bearer {self.secrets.get(str(body['secret']))}"))
            call = HttpCall(
                method=str(body.get("method") or "POST"), url=str(body.get("url") or ""), headers=tuple(headers),
                content=msgspec.json.encode(arguments), timeout_s=(self.request.timeout_ms or TIMEOUT_MS) / 1000,
                ca_file=settings.get("http.ca_file"),
            )  # fmt: skip
            reply = await send(call, egress_policy_of(settings, self.request.tenant))
        except CALL_ERRORS as error:
            raise ToolFailed(call_failure(error, self.secrets)) from None
        if (wrong := http_failure(reply)) is not None:
            raise ToolFailed(scrub_failure(wrong, self.secrets))
        try:
            return (
                self.secrets.scrub(json_value(json_or_text(reply.body.decode(errors="replace"))))
                if reply.body
                else None
            )
        except NotJson as error:
            raise ToolFailed(failed("TOOL_ERROR", "external", f"«{name}» answered no value: {error}.")) from None


def reported_failure(name: str, result: Any) -> Failed | None:
    """P-X.36: a reply that says of itself that it has failed. An empty one is a success."""
    if isinstance(result, Mapping) and (result.get("isError") is True or result.get("ok") is False):
        reason = result.get("error") or result.get("message") or "it does not say why"
        return failed("TOOL_ERROR", "external", f"The tool «{name[:80]}» failed: {str(reason)[:1000]}", dict(result))
    return None
