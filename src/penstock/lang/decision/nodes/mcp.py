"""MCP (4.4): a tool, a resource or a prompt of an MCP server."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.lang.decision.lowering_context import LoweringContext
from penstock.lang.decision.nodes.contract import Choosing, Fragment, GuardedFields, NodeType, Part, without
from penstock.lang.decision.nodes.parts import completed, task_of
from penstock.net.model import MERGE, Edge, OnError


class Server(Part):
    id: str = ""
    version: str = ""

    REQUIRED: ClassVar[tuple[str, ...]] = ("id",)


class Operation(Choosing):
    type: Literal["tool", "resource", "prompt"] | None = None
    name: str = ""
    arguments: Annotated[dict[str, Any], Meta(description="Templates.")] = {}

    REQUIRED: ClassVar[tuple[str, ...]] = ("type", "name")


class Fallback(Part):
    on_error: Literal["skip", "fail", "default_value", "alternative_server"] = "fail"
    default: Any = None
    alternative_server: str = ""


class McpFields(GuardedFields):
    server: Server | None = None
    operation: Operation | None = None
    fallback: Fallback | None = None

    REQUIRED: ClassVar[tuple[str, ...]] = (*GuardedFields.REQUIRED, "server", "operation")


def lower(f: McpFields, site: LoweringContext) -> Fragment:
    """W-4.4.3: whatever went wrong (the call, its time, its breaker) and after the retries, the fallback counts."""
    server, operation, fallback = f.server or Server(), f.operation or Operation(), f.fallback or Fallback()
    site.depend("mcp_server", server.id, "server/id")
    args: dict[str, Any] = {
        "server": {
            "id": site.tree(server.id, "server/id"), "version": site.tree(server.version, "server/version"),
        },
        "operation": {
            "type": site.tree(operation.type, "operation/type"),
            "name": site.tree(operation.name, "operation/name"),
            "arguments": site.tree(operation.arguments, "operation/arguments", secrets=True),
        },
        "fallback": {"on_error": "fail"},
    }  # fmt: skip
    parts: dict[str, Any] = {}
    if fallback.on_error == "skip":
        parts["on_error"] = (OnError(match="*", action="skip"),)
    elif fallback.on_error == "default_value":
        if "default" not in (site.step.raw.get("fallback") or {}):
            site.error("missing_field", "«default» is missing.", "fallback", hint='Write `"default": …` beside it.')
        value = site.tree(fallback.default, "fallback/default")
        parts |= {"on_error": (OnError(match="*", action="value"),), "value": value}
    elif fallback.on_error == "alternative_server":
        if not fallback.alternative_server:
            hint = 'Write `"alternative_server": "…"`.'
            site.error("missing_field", "«alternative_server» is missing.", "fallback", hint=hint)
        parts["on_error"] = (OnError(match="*", action="port:alternative"),)
    first = task_of(f, site, "mcp", args, **parts)
    if fallback.on_error == "alternative_server":
        first = _with_alternative(first, fallback.alternative_server, args, f, site)
    return completed(first, f, site)


def _with_alternative(
    first: Fragment, other: str, args: dict[str, Any], f: McpFields, site: LoweringContext
) -> Fragment:
    """The same call on another server; its failure is the node's."""
    site.depend("mcp_server", other, "fallback/alternative_server")
    server = {"id": site.tree(other, "fallback/alternative_server"), "version": ""}
    id = f"{site.id}.alternative"
    second = task_of(f, site, "mcp", {**args, "server": server}, id=id, origin=site.step.id, join=MERGE, only_if=None)
    edges = (
        Edge(id=f"{site.core}:alternative>{id}", src=site.core, port="alternative", dst=id),
        Edge(id=f"{id}>{site.id}", src=id, dst=site.id, var="output"),
    )
    return dataclasses.replace(first, nodes=(*first.nodes, *second.nodes), edges=edges, ports=second.ports)


def _alias(id: str) -> str:
    rest = without("mcp_", id)
    return f"{rest}_data" if rest else ""


def _elsewhere(f: McpFields) -> bool:
    return f.fallback is not None and f.fallback.on_error == "alternative_server"


MCP = NodeType(
    "MCP", McpFields, lower, "Calls a tool, resource or prompt of an MCP server.", _alias, 30_000, framed=_elsewhere,
    finishes=lambda f: True,
)  # fmt: skip
