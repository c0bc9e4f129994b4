"""COMPENSATION (4.10): how the work of a node is undone."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.lang.decision import literals
from penstock.lang.decision.lowering_context import LoweringContext
from penstock.lang.decision.nodes.contract import Fragment, NodeFields, NodeType, Part, RetryFields
from penstock.lang.decision.nodes.parts import idle
from penstock.lang.decision.policies import retry_of
from penstock.net.model import Effect, Node

#: C-45: what a compensation without `retry` has.
USUAL_RETRY = RetryFields(max=5, backoff_ms=2000)
ON = {"node_failure": "failure", "workflow_cancel": "cancel", "manual": "manual"}


class TriggerFields(Part):
    on: list[Literal["node_failure", "workflow_cancel", "manual"]] | None = None
    conditions: str | None = None


class ActionFields(Part):
    type: Literal["api", "notification"] | None = None
    endpoint: str = ""
    method: str = "POST"
    connection: str = "default_api"
    headers: dict[str, Any] = {}
    body: Any = None
    channel: str = ""
    message: str = ""

    REQUIRED: ClassVar[tuple[str, ...]] = ("type",)


class AuditFields(Part):
    log_reason: bool = True
    log_result: bool = True


class CompensationFields(NodeFields):
    for_node: Annotated[str, Meta(description="The node whose work is undone.")] = ""
    trigger: TriggerFields | None = None
    actions: list[ActionFields] = []
    audit: AuditFields | None = None

    REQUIRED: ClassVar[tuple[str, ...]] = (*NodeFields.REQUIRED, "for_node", "actions")


def lower(f: CompensationFields, site: LoweringContext) -> Fragment:
    """Actions run in the order of the list; each is a node of its own, so a crash goes on at the right one."""
    actions = [one for one in f.actions if one is not None]
    if not actions:
        site.error("missing_field", "There is nothing to do: «actions» is empty.", "actions", hint="Write an action.")
    ids = [site.id if i == len(actions) - 1 else f"{site.id}.{i + 1}" for i in range(len(actions))]
    nodes = tuple(_action(one, i, ids[i], f, site) for i, one in enumerate(actions))
    idle(f, site, "output", "side_effects", "idempotency", "circuit_breaker", "notification")
    if site.needs:
        hint = "Read it in a node before, and keep what you need in a variable."
        site.error("outside_not_here", "A compensation cannot fetch from aas or rag.", "actions", hint=hint)
    return Fragment(nodes, nodes[0].id if nodes else site.id, site.id, site.id)


def _action(one: ActionFields, i: int, id: str, f: CompensationFields, site: LoweringContext) -> Node:
    at = f"actions/{i}"
    if one.type == "notification":
        executor, args = "notify", _notification(one, at, site)
    else:
        executor, args = "api", _api(one, at, site)
    return Node(
        id=id, kind="task", type="COMPENSATION", origin="" if id == site.id else site.id, label=f.name, off_path=True,
        effect=Effect(executor=executor, args=args, sees_run=executor == "notify"),
        retry=retry_of(f.retry if f.retry is not None else USUAL_RETRY), timeout_ms=f.timeout_ms or 30_000,
    )  # fmt: skip


def _api(one: ActionFields, at: str, site: LoweringContext) -> dict[str, Any]:
    if not one.endpoint:
        site.error("missing_field", "«endpoint» is missing.", at, hint='Write `"endpoint": "/api/…"`.')
    literals.one_of(one.method.upper(), literals.API_METHODS, "HTTP method", f"{at}/method", site)
    args: dict[str, Any] = {
        "connection": site.tree(one.connection, f"{at}/connection"),
        "method": one.method.upper(),
        "path": site.address(one.endpoint, f"{at}/endpoint"),
    }
    site.depend("connection", one.connection, at)
    if one.headers:
        args["headers"] = site.tree(one.headers, f"{at}/headers", secrets=True)
    if one.body is not None:
        args["body"] = site.tree(one.body, f"{at}/body", secrets=True)
    return args


def _notification(one: ActionFields, at: str, site: LoweringContext) -> dict[str, Any]:
    for name in ("channel", "message"):
        if not getattr(one, name):
            site.error("missing_field", f"«{name}» is missing.", at, hint=f'Write `"{name}": "…"`.')
    site.depend("channel", one.channel, f"{at}/channel")
    return {
        "channel": site.tree(one.channel, f"{at}/channel"), "config": {},
        "message": site.tree(one.message, f"{at}/message"),
    }  # fmt: skip


COMPENSATION = NodeType("COMPENSATION", CompensationFields, lower, "Undoes the work of a node.", effect=False)
