"""MCP (4.4): a tool, a resource or a prompt of an MCP server."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.lang.decision.lowering_context import LoweringContext
from penstock.lang.decision.node_fields import GuardedFields, OpenFields, TemplatedFields
from penstock.lang.decision.nodes.contract import Fragment, NodeType, alias_from
from penstock.lang.decision.nodes.fragments import complete_fragment, port_edge, task_fragment
from penstock.net.model import MERGE, Edge, OnError


class McpServer(OpenFields):
    id: str = ""
    version: str = ""

    REQUIRED: ClassVar[tuple[str, ...]] = ("id",)


class McpOperation(TemplatedFields):
    type: Literal["tool", "resource", "prompt"] | None = None
    name: str = ""
    arguments: Annotated[dict[str, Any], Meta(description="Templates.")] = {}

    REQUIRED: ClassVar[tuple[str, ...]] = ("type", "name")


class McpFallback(OpenFields):
    on_error: Literal["skip", "fail", "default_value", "alternative_server"] = "fail"
    default: Any = None
    alternative_server: str = ""


class McpFields(GuardedFields):
    server: McpServer | None = None
    operation: McpOperation | None = None
    fallback: McpFallback | None = None

    REQUIRED: ClassVar[tuple[str, ...]] = (*GuardedFields.REQUIRED, "server", "operation")


def lower(f: McpFields, context: LoweringContext) -> Fragment:
    """W-4.4.3: the fallback takes any failure (call, timeout, open breaker) that the retries did not mend."""
    server, operation, fallback = f.server or McpServer(), f.operation or McpOperation(), f.fallback or McpFallback()
    context.depend("mcp_server", server.id, "server/id")
    args: dict[str, Any] = {
        "server": {
            "id": context.template_tree(server.id, "server/id"),
            "version": context.template_tree(server.version, "server/version"),
        },
        "operation": {
            "type": context.template_tree(operation.type, "operation/type"),
            "name": context.template_tree(operation.name, "operation/name"),
            "arguments": context.template_tree(operation.arguments, "operation/arguments", secrets=True),
        },
        "fallback": {"on_error": "fail"},
    }  # fmt: skip
    parts: dict[str, Any] = {}
    if fallback.on_error == "skip":
        parts["on_error"] = (OnError(match="*", action="skip"),)
    elif fallback.on_error == "default_value":
        if "default" not in (context.node.raw.get("fallback") or {}):
            context.error("missing_field", "«default» is missing.", "fallback", hint='Write `"default": …` beside it.')
        value = context.template_tree(fallback.default, "fallback/default")
        parts |= {"on_error": (OnError(match="*", action="value"),), "value": value}
    elif fallback.on_error == "alternative_server":
        if not fallback.alternative_server:
            hint = 'Write `"alternative_server": "…"`.'
            context.error("missing_field", "«alternative_server» is missing.", "fallback", hint=hint)
        parts["on_error"] = (OnError(match="*", action="port:alternative"),)
    fragment = task_fragment(f, context, "mcp", args, **parts)
    if fallback.on_error == "alternative_server":
        fragment = _with_alternative(fragment, fallback.alternative_server, args, f, context)
    return complete_fragment(fragment, f, context)


def _with_alternative(
    fragment: Fragment, alternative: str, args: dict[str, Any], f: McpFields, context: LoweringContext
) -> Fragment:
    """The same call on another server; its failure is the node's."""
    context.depend("mcp_server", alternative, "fallback/alternative_server")
    server = {"id": context.template_tree(alternative, "fallback/alternative_server"), "version": ""}
    id = f"{context.id}.alternative"
    second = task_fragment(
        f, context, "mcp", {**args, "server": server}, id=id, origin=context.node.id, join=MERGE, only_if=None
    )
    edges = (
        port_edge(context.core, "alternative", id),
        Edge(id=f"{id}>{context.id}", src=id, dst=context.id, var="output"),
    )
    return dataclasses.replace(fragment, nodes=(*fragment.nodes, *second.nodes), edges=edges, ports=second.ports)


def _has_alternative(f: McpFields) -> bool:
    return f.fallback is not None and f.fallback.on_error == "alternative_server"


MCP = NodeType(
    "MCP", McpFields, "Calls a tool, resource or prompt of an MCP server.", lower=lower,
    alias=alias_from("mcp_", "_data"), timeout_ms=30_000, wrapped=_has_alternative, shapes_output=lambda f: True,
)  # fmt: skip
