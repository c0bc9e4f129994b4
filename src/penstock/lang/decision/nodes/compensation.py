"""COMPENSATION (4.10): undoes the work of a node."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.lang.decision import literal_checks
from penstock.lang.decision.lowering_context import LoweringContext
from penstock.lang.decision.node_fields import NodeFields, OpenFields, RetryFields
from penstock.lang.decision.nodes.contract import Fragment, NodeType
from penstock.lang.decision.nodes.fragments import report_unused_fields
from penstock.lang.decision.policies import retry_of
from penstock.net.model import Effect, Node

#: C-45: the retries of a compensation that states none.
DEFAULT_RETRY = RetryFields(max=5, backoff_ms=2000)
#: The document's triggers, and the kernel's reasons for undoing.
UNDO_REASONS = {"node_failure": "failure", "workflow_cancel": "cancel", "manual": "manual"}


class CompensationTrigger(OpenFields):
    on: list[Literal["node_failure", "workflow_cancel", "manual"]] | None = None
    conditions: str | None = None


class CompensationAction(OpenFields):
    type: Literal["api", "notification"] | None = None
    endpoint: str = ""
    method: str = "POST"
    connection: str = "default_api"
    headers: dict[str, Any] = {}
    body: Any = None
    channel: str = ""
    message: str = ""

    REQUIRED: ClassVar[tuple[str, ...]] = ("type",)


class CompensationAudit(OpenFields):
    log_reason: bool = True
    log_result: bool = True


class CompensationFields(NodeFields):
    for_node: Annotated[str, Meta(description="The node whose work is undone.")] = ""
    trigger: CompensationTrigger | None = None
    actions: list[CompensationAction] = []
    audit: CompensationAudit | None = None

    REQUIRED: ClassVar[tuple[str, ...]] = (*NodeFields.REQUIRED, "for_node", "actions")


def lower(f: CompensationFields, context: LoweringContext) -> Fragment:
    """Actions run in the order of the list. Each is a node of its own, so that a run resumes at the right one."""
    actions = [action for action in f.actions if action is not None]
    if not actions:
        context.error(
            "missing_field", "There is nothing to do: «actions» is empty.", "actions", hint="Write an action."
        )
    ids = [context.id if i == len(actions) - 1 else f"{context.id}.{i + 1}" for i in range(len(actions))]
    nodes = tuple(_action(action, i, ids[i], f, context) for i, action in enumerate(actions))
    report_unused_fields(f, context, "output", "side_effects", "idempotency", "circuit_breaker", "notification")
    if context.external_reads:
        hint = "Read it in a node before, and keep what you need in a variable."
        context.error("outside_not_here", "A compensation cannot fetch from aas or rag.", "actions", hint=hint)
    return Fragment(nodes, nodes[0].id if nodes else context.id, context.id, context.id)


def _action(action: CompensationAction, i: int, id: str, f: CompensationFields, context: LoweringContext) -> Node:
    at = f"actions/{i}"
    if action.type == "notification":
        executor, args = "notify", _notification(action, at, context)
    else:
        executor, args = "api", _api(action, at, context)
    return Node(
        id=id, kind="task", type="COMPENSATION", origin="" if id == context.id else context.id,
        label=f.name, off_path=True, effect=Effect(executor=executor, args=args, sees_run=executor == "notify"),
        retry=retry_of(f.retry if f.retry is not None else DEFAULT_RETRY), timeout_ms=f.timeout_ms or 30_000,
    )  # fmt: skip


def _api(action: CompensationAction, at: str, context: LoweringContext) -> dict[str, Any]:
    if not action.endpoint:
        context.error("missing_field", "«endpoint» is missing.", at, hint='Write `"endpoint": "/api/…"`.')
    literal_checks.check_choice(
        action.method.upper(), literal_checks.API_METHODS, "HTTP method", f"{at}/method", context
    )
    args: dict[str, Any] = {
        "connection": context.template_tree(action.connection, f"{at}/connection"),
        "method": action.method.upper(),
        "path": context.url_expression(action.endpoint, f"{at}/endpoint"),
    }
    context.depend("connection", action.connection, at)
    if action.headers:
        args["headers"] = context.template_tree(action.headers, f"{at}/headers", secrets=True)
    if action.body is not None:
        args["body"] = context.template_tree(action.body, f"{at}/body", secrets=True)
    return args


def _notification(action: CompensationAction, at: str, context: LoweringContext) -> dict[str, Any]:
    for name in ("channel", "message"):
        if not getattr(action, name):
            context.error("missing_field", f"«{name}» is missing.", at, hint=f'Write `"{name}": "…"`.')
    context.depend("channel", action.channel, f"{at}/channel")
    return {
        "channel": context.template_tree(action.channel, f"{at}/channel"), "config": {},
        "message": context.template_tree(action.message, f"{at}/message"),
    }  # fmt: skip


COMPENSATION = NodeType("COMPENSATION", CompensationFields, "Undoes the work of a node.", lower=lower, effect=False)
