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
from penstock.executors.parts.addresses import reach_of
from penstock.executors.parts.connections import tenant_of
from penstock.executors.parts.mcp_calls import connected, failure_of, parsed, registered, tool
from penstock.executors.parts.outbound import Call, Refused, send
from penstock.executors.parts.outbound import failure_of as http_failure
from penstock.executors.parts.raised import scrubbed
from penstock.executors.parts.secret import SecretMissing, Secrets
from penstock.executors.parts.threads import in_thread
from penstock.executors.parts.values import NotPlain, plain

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
            return self._own(name)
        body = self.tenant.find("tool", name) if self.tenant is not None else None
        if body is not None:
            if body.get("type") == "mcp":
                await self._reached(str(body.get("server") or ""))
            return self._registered(name, body)
        server, slash, inner = name.partition("/")
        if slash and self.tenant is not None and self.tenant.find("mcp_server", server) is not None:
            return await self._of(server, inner, name)
        having, away = await self._searched(name)
        if len(having) == 1:
            return having[0]
        if having:
            said = ", ".join(one.name for one in having)
            raise ToolFailed(failed("TOOL_AMBIGUOUS", "validation", f"«{name[:80]}» may be one of {said[:300]}."))
        if away:  # it may be there again later, so this is not for ever
            message = f"No MCP server that answers has a tool «{name[:80]}»; {', '.join(away)[:300]} did not answer."
            raise ToolFailed(failed("CONNECTION_LOST", "transient", message))
        raise ToolFailed(failed("TOOL_NOT_FOUND", "validation", f"There is no tool «{name[:80]}»."))

    async def _searched(self, name: str) -> tuple[list[Tool], list[str]]:
        """Who has a tool of this bare name, and which servers cannot be asked: one that is down hides no other's."""
        having: list[Tool] = []
        away: list[str] = []
        for id in self._servers():
            try:
                async with asyncio.timeout(_SEARCH_S):
                    having += [one for one in await self._listed(id) if one.name == f"{id}/{name}"]
            except (ToolFailed, TimeoutError):
                away.append(id)
        return having, away

    async def allowed(self, names: list[str]) -> list[Tool]:
        """The tools of an allow-list; `server/*` stands for all of a server's. Their servers are reached already."""
        found = await self.by_name(names)
        return list({one.name: one for one in found.values()}.values())

    async def by_name(self, names: list[str]) -> dict[str, Tool]:
        """The same under the names by which they were asked for, and under their own."""
        found: dict[str, Tool] = {}
        for name in names:
            if name.endswith("/*"):
                found |= {one.name: one for one in await self._listed(name[:-2])}
            else:
                one = await self.find(name)
                found |= {name: one, one.name: one}
        return found

    def key(self, name: str, arguments: Mapping[str, Any]) -> str:
        """The key of one call. A later attempt that calls the same has the same; no other call ever has it."""
        said = name.encode() + b"\0" + msgspec.json.encode(arguments, order="sorted")
        call = hashlib.sha256(said).hexdigest()[:16]
        self._called[call] = self._called.get(call, 0) + 1
        return f"{self.request.key}#{call}.{self._called[call]}"

    # -- where tools come from -----------------------------------------------------------------------------------------

    def _servers(self) -> list[str]:
        return sorted(self.tenant.each("mcp_server")) if self.tenant is not None else []

    def _own(self, name: str) -> Tool:
        executor = self.services.executors[f"tool:{name}"]

        async def call(arguments: dict[str, Any], key: str) -> Any:
            asked = msgspec.structs.replace(self.request, args=arguments, inputs=(), key=key, executor=f"tool:{name}")
            outcome = await executor.run(asked, self.services)
            if isinstance(outcome, Failed):
                raise ToolFailed(outcome)
            return outcome.body if isinstance(outcome, Done) else None

        return Tool(name, str(getattr(executor, "description", "")), getattr(executor, "schema", _ANY), call)

    def _registered(self, name: str, body: Mapping[str, Any]) -> Tool:
        schema = body.get("parameters") if isinstance(body.get("parameters"), Mapping) else _ANY
        about = str(body.get("description") or "")
        if body.get("type") == "mcp":
            server, inner = str(body.get("server") or ""), str(body.get("tool") or name)

            async def through(arguments: dict[str, Any], key: str) -> Any:
                return await self._mcp(server, inner, arguments, key)

            return Tool(name, about, schema or _ANY, through)

        async def call(arguments: dict[str, Any], key: str) -> Any:
            if body.get("type") == "outbox" and self.tenant is not None:  # a stand-in, kept for people to look at
                self.tenant.keep(key, "tool", f"outbox:{name}", plain(arguments), self.request.run)
                return body.get("reply")
            return await self._http(name, body, arguments, key)

        return Tool(name, about, schema or _ANY, call)

    async def _of(self, server: str, inner: str, name: str) -> Tool:
        for one in await self._listed(server):
            if one.name == name:
                return one
        raise ToolFailed(failed("TOOL_NOT_FOUND", "validation", f"«{server[:80]}» has no tool «{inner[:80]}»."))

    async def _listed(self, server: str) -> list[Tool]:
        with self._telling(server):
            told = await (await self._client(server)).list_tools()
        return [self._tool(server, one) for one in told.tools]

    async def _reached(self, server: str) -> None:
        with self._telling(server):
            await self._client(server)

    def _tool(self, server: str, one: Any) -> Tool:
        async def call(arguments: dict[str, Any], key: str) -> Any:
            return await self._mcp(server, one.name, arguments, key)

        return Tool(f"{server}/{one.name}", one.description or "", one.input_schema or _ANY, call)

    # -- calls ---------------------------------------------------------------------------------------------------------

    async def _client(self, server: str) -> Any:
        if server not in self._clients:
            try:
                await in_thread(import_module, "mcp")  # takes a second, which the loop does not have
            except ImportError:
                message = "MCP servers need the extra «mcp»: pip install 'penstock[mcp]'."
                raise ToolFailed(failed("EXTRA_MISSING", "permanent", message, {"extra": "mcp"})) from None
            body = registered(tenant_of(self.request, self.services), server)
            opening = connected(body, server, self.request, self.services, self.secrets)
            self._clients[server] = await self._open.enter_async_context(opening)
        return self._clients[server]

    async def _mcp(self, server: str, name: str, arguments: dict[str, Any], key: str) -> Any:
        with self._telling(server):
            client = await self._client(server)
            return self.secrets.scrub(plain(await tool(client, name, arguments, key)))

    @contextlib.contextmanager
    def _telling(self, server: str) -> Iterator[None]:
        """Whatever goes wrong with a server is a ToolFailed that says so."""
        try:
            yield
        except ToolFailed:
            raise
        except SecretMissing as error:
            raise ToolFailed(failed("SECRET_NOT_FOUND", "authorization", str(error))) from None
        except Exception as error:  # the SDK raises groups of whatever its tasks have met
            raise ToolFailed(scrubbed(failure_of(error, server), self.secrets)) from None

    async def _http(self, name: str, body: Mapping[str, Any], arguments: dict[str, Any], key: str) -> Any:
        settings = self.services.settings
        try:
            headers = [("Content-Type", "application/json"), ("Idempotency-Key", key)]
            if body.get("secret"):
                headers.append(("Authorization", f"Bearer {self.secrets.get(str(body['secret']))}"))
            call = Call(
                method=str(body.get("method") or "POST"), url=str(body.get("url") or ""), headers=tuple(headers),
                content=msgspec.json.encode(arguments), timeout_s=(self.request.timeout_ms or TIMEOUT_MS) / 1000,
                ca_file=settings.get("http.ca_file"),
            )  # fmt: skip
            reply = await send(call, reach_of(settings, self.request.tenant))
        except SecretMissing as error:
            raise ToolFailed(failed("SECRET_NOT_FOUND", "authorization", str(error))) from None
        except Refused as error:
            raise ToolFailed(failed(error.code, error.category, self.secrets.scrub_message(str(error)))) from None
        except TimeoutError as error:
            raise ToolFailed(failed("NODE_TIMEOUT", "timeout", self.secrets.scrub_message(str(error)))) from None
        except ConnectionError as error:
            raise ToolFailed(failed("CONNECTION_LOST", "transient", self.secrets.scrub_message(str(error)))) from None
        if (wrong := http_failure(reply)) is not None:
            raise ToolFailed(scrubbed(wrong, self.secrets))
        try:
            return self.secrets.scrub(plain(parsed(reply.body.decode(errors="replace")))) if reply.body else None
        except NotPlain as error:
            raise ToolFailed(failed("TOOL_ERROR", "external", f"«{name}» answered no value: {error}.")) from None


def refused(name: str, result: Any) -> Failed | None:
    """P-X.36: a reply that says of itself that it has failed. An empty one is a success."""
    if isinstance(result, Mapping) and (result.get("isError") is True or result.get("ok") is False):
        said = result.get("error") or result.get("message") or "it does not say why"
        return failed("TOOL_ERROR", "external", f"The tool «{name[:80]}» failed: {str(said)[:1000]}", dict(result))
    return None
