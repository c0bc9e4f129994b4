"""APPROVAL (4.6): asks people to decide, with reminders, escalation and a timeout."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from penstock.lang.decision import limits
from penstock.lang.decision.expression_literals import expression_literal
from penstock.lang.decision.lowering_context import LoweringContext
from penstock.lang.decision.node_fields import GuardedFields, OpenFields, TemplatedFields
from penstock.lang.decision.nodes.contract import Fragment, NodeType
from penstock.lang.decision.nodes.fragments import (
    HOUR,
    complete_fragment,
    net_node,
    notification_node,
    port_edge,
    read_duration,
    report_unused_fields,
)
from penstock.lang.decision.shapes import Shape, one_of
from penstock.net.model import Trigger, Work

#: W-4.6.6: the timeout of an approval that states none.
DEFAULT_MS = 24 * HOUR
#: C-34: how often an approval is escalated before it times out.
ESCALATION_LEVELS = 3
_TYPES = ("user", "role", "group")
_PREFIX = re.compile("^(user|role|group):")


class Approvers(OpenFields):
    type: Literal["user", "role", "group", "any_of", "all_of"] | None = None
    targets: list[str] = []
    min_approvals: Annotated[int, Meta(ge=1, le=limits.COUNT)] | None = None
    allow_self_approval: bool = True

    REQUIRED: ClassVar[tuple[str, ...]] = ("type", "targets")


class ApprovalRequest(TemplatedFields):
    title: str = ""
    description: str = ""
    priority: Literal["high", "normal", "low"] = "normal"
    approvers: Approvers | None = None
    data: Annotated[Any, Meta(description="Shown to those who decide.")] = None

    REQUIRED: ClassVar[tuple[str, ...]] = ("approvers",)


class ApprovalTimeout(OpenFields):
    on_timeout: Literal["reject", "escalate", "auto_approve"] = "reject"
    reminder_intervals: list[Annotated[float, Meta(ge=0, le=limits.HOURS)]] = []
    escalate_to: list[str] = []
    duration_ms: Any = None
    duration_seconds: Any = None
    duration_minutes: Any = None
    duration_hours: Any = None
    duration_days: Any = None


#: W-4.6, W-4.6.7; a form may ask for more.
_OUTCOME = Shape({
    "status": one_of("approved", "rejected", "timeout", "escalated"), "approver": None, "comment": None,
    "approved_at": None, "approvals": None, "timed_out": None, "escalation_level": None, "request_id": None,
})  # fmt: skip
#: Stands in where the form is broken, which is reported elsewhere.
_NOBODY = Approvers(targets=["role:nobody"])


class ApprovalFields(GuardedFields):
    request: ApprovalRequest | None = None
    timeout: ApprovalTimeout | None = None
    on_reject: Literal["cancel", "continue"] = "cancel"

    REQUIRED: ClassVar[tuple[str, ...]] = (*GuardedFields.REQUIRED, "request")


def lower(f: ApprovalFields, context: LoweringContext) -> Fragment:
    request, timeout = f.request or ApprovalRequest(approvers=_NOBODY), f.timeout or ApprovalTimeout()
    approvers = request.approvers or _NOBODY
    candidates = {
        "type": approvers.type,
        "targets": [candidate(name, str(approvers.type), context, f"request/approvers/targets/{i}")
                    for i, name in enumerate(approvers.targets)],
        "allow_self_approval": approvers.allow_self_approval,
    }  # fmt: skip
    if not approvers.targets and context.node.raw["request"]["approvers"].get("targets") == []:
        hint = 'Write `"targets": ["role:quality_manager"]`.'
        context.error("missing_field", "Nobody may decide: «targets» is empty.", "request/approvers", hint=hint)
    prompt = {
        "kind": "approval",
        "title": context.template_tree(request.title, "request/title") or f.name or context.node.id,
        "description": context.template_tree(request.description, "request/description"),
        "priority": context.template_tree(request.priority, "request/priority"),
        "data": context.template_tree(request.data, "request/data"),
    }
    block = (context.node.raw.get("timeout") or {}) if isinstance(context.node.raw.get("timeout"), dict) else {}
    after = read_duration(block, context, "timeout")
    after = DEFAULT_MS if after is None else after
    everybody = approvers.type == "all_of"
    report_unused_fields(f, context, "retry", "timeout_ms", "circuit_breaker", "idempotency")
    name = context.shared.symbols.outputs[context.node.id]
    node = net_node(
        f, context, kind="work", out=(name,) if name else (),
        work=Work(quorum=approvers.min_approvals or (0 if everybody else 1), all_of=everybody, candidates=candidates,
                  prompt=prompt),
        triggers=(_notify_on_open(), *_reminders(timeout, after), _timeout_trigger(timeout, after, approvers, context)),
    )  # fmt: skip
    notification = f.notification if isinstance(f.notification, dict) else {}
    params = {name: value for name, value in prompt.items() if name != "kind"}
    params |= {"approvers": candidates["targets"], "node_id": context.node.id}
    notifier = notification_node(notification, params, context, template="approval_request_v1")
    notify_on = ("notify", "remind") if timeout.reminder_intervals else ("notify",)
    edges = tuple(port_edge(node.id, port, notifier.id) for port in notify_on)
    ports = {"failed": ((node.id, "failed"),), "rejected": ((node.id, "rejected"),), "timeout": ((node.id, "timeout"),)}
    return complete_fragment(Fragment((node, notifier), node.id, node.id, node.id, edges, ports), f, context)


def candidate(text: str, type: str, context: LoweringContext, path: str) -> Any:
    """C-32: a candidate with its prefix: user, role or group. Without one, the type says which, or an @ in the name; a
    template gets its prefix at run time."""
    if "${" in text:
        return {"$expr": f"fn.first({prefixed(f'[{context.template_expression(text, path)}]', type)})"}
    if _PREFIX.match(text):
        return text
    kind = type if type in _TYPES else "user" if "@" in text else "role"
    return f"{kind}:{text}"


def prefixed(targets: str, type: str = "") -> str:
    """The same rule (C-32) as an expression over a list of candidates."""
    kind = expression_literal(type) if type in _TYPES else "fn.if(fn.contains(t, '@'), 'user', 'role')"
    known = f"fn.type_of(t) != 'string' || fn.regex_match(t, {expression_literal(_PREFIX.pattern)})"
    return f"fn.map({targets}, t => fn.if({known}, t, fn.concat({kind}, ':', t)))"


def _notify_on_open() -> Trigger:
    """Notifies the approvers when the request opens, and again when it is escalated."""
    value = {"event": "requested", "escalation_level": {"$expr": "escalation_level"}}
    return Trigger(kind="opened", interrupting=False, port="notify", action="value", value=value)


def _reminders(timeout: ApprovalTimeout, after: int) -> list[Trigger]:
    """W-4.6.3, C-33: one reminder per interval, in hours since the request; those after the timeout are left out."""
    reminders = []
    for hours in timeout.reminder_intervals:
        if 0 < hours * HOUR < after:
            at = round(hours * HOUR)
            value = {"event": "reminder", "after_hours": hours, "escalation_level": {"$expr": "escalation_level"}}
            reminders.append(Trigger(after_ms=at, interrupting=False, port="remind", action="value", value=value))
    return reminders


def _timeout_trigger(timeout: ApprovalTimeout, after: int, approvers: Approvers, context: LoweringContext) -> Trigger:
    if timeout.on_timeout == "escalate":
        targets = [
            candidate(name, "", context, f"timeout/escalate_to/{i}") for i, name in enumerate(timeout.escalate_to)
        ]
        if not targets:
            context.shared.carried.add("tenant_config")
        escalated = {
            "type": "any_of", "targets": targets or {"$expr": _ESCALATION},
            "allow_self_approval": approvers.allow_self_approval,
        }  # fmt: skip
        return Trigger(
            after_ms=after,
            action="reopen",
            times=ESCALATION_LEVELS,
            value=escalated,
            code="APPROVAL_TIMEOUT",
            port="timeout",
        )
    approved = timeout.on_timeout == "auto_approve"
    decided = {
        "status": "approved" if approved else "rejected",
        "approver": None,
        "comment": None,
        "approved_at": {"$expr": "fn.now()"} if approved else None,
        "approvals": {"$expr": "approvals"},
        "timed_out": True,
        "escalation_level": {"$expr": "escalation_level"},
        "request_id": {"$expr": "request_id"},
    }
    return Trigger(after_ms=after, action="value", value=decided, port="done" if approved else "rejected")


#: C-34: the tenant's escalation targets, else the role admin; an empty list names nobody and is as good as none.
_OTHERS = "fn.get_tenant_config('approval.escalation_targets')"
_LISTED = f"fn.if(fn.type_of({_OTHERS}) == 'array', {_OTHERS}, [{_OTHERS}])"
_ESCALATION = f"fn.if(fn.is_empty({_OTHERS}), ['role:admin'], {prefixed(_LISTED)})"


APPROVAL = NodeType(
    "APPROVAL",
    ApprovalFields,
    "Asks people to decide.",
    lower=lower,
    alias=lambda node: "approval_result",
    effect=False,
    output_shape=lambda f: _OUTCOME,
)
